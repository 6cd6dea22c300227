"""Groups of labels: a hierarchy of them, and chains of their own features."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from cofactor.labels import HOMER, BinaryRelevance, ClassifierChain, MetaLabels, TrainingData
from cofactor.labels.transformation.homer import balanced_groups
from cofactor.labels.transformation.meta_labels import affinities, specific_features

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5))
Y = (X @ rng.normal(size=(5, 7)) + 0.3 * rng.normal(size=(80, 7)) > 0.6).astype(int)


@pytest.mark.parametrize("grouping", ["balanced", "random"])
def test_the_hierarchy_decides_from_the_root_down(grouping):
    estimator = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = HOMER.paper(estimator, n_groups=2, grouping=grouping, random_state=0).fit(X, Y)

    def labels_below(node):
        below = np.flatnonzero(model.leaves_ == node).tolist()
        for child in np.flatnonzero(model.parents_ == node):
            below += labels_below(child)
        return below

    on = np.ones((len(X), len(model.parents_)), dtype=bool)
    for node, parent in enumerate(model.parents_):
        rows = Y[:, labels_below(parent)].any(axis=1) if parent >= 0 else np.ones(len(X), dtype=bool)
        target = Y[rows][:, labels_below(node)].any(axis=1)
        on[:, node] = estimator.fit(X[rows], target).predict(X)
        if parent >= 0:
            on[:, node] &= on[:, parent]
    assert np.array_equal(model.predict(X), on[:, model.leaves_])
    sizes = [len(labels_below(node)) for node in np.flatnonzero(model.parents_ == -1)]
    assert sorted(sizes) == [3, 4]


def test_as_many_groups_as_labels_are_binary_relevance():
    flat = HOMER.paper(LogisticRegression(), n_groups=7).fit(X, Y)
    each = BinaryRelevance.paper(LogisticRegression()).fit(X, Y)
    np.testing.assert_allclose(flat.decision_function(X), each.decision_function(X), atol=1e-9)


def test_labels_always_together_in_a_group():
    pairs = np.repeat(Y[:, :3], 2, axis=1)
    model = HOMER.paper(n_groups=3, random_state=0).fit(X, pairs)
    parents = model.parents_[model.leaves_]
    assert np.array_equal(parents[::2], parents[1::2])
    assert np.array_equal(model.predict(X)[:, ::2], model.predict(X)[:, 1::2])


def test_groups_are_balanced():
    points = np.random.default_rng(1).normal(size=(17, 3))
    group = balanced_groups(points @ points.T, 5, np.random.default_rng(0))
    assert sorted(np.bincount(group).tolist()) == [3, 3, 3, 4, 4]


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_a_hierarchy_are_those_of_balanced_k_means(seed):
    """A label goes to the nearest group; from one that is too large, the farthest label goes on to its next one."""
    table = np.random.default_rng(seed).random((12, 12)) < 0.5  # so few instances that groups change in each case
    points, start = table.T.astype(float), [5, 1, 0][seed]
    centres = points[np.random.default_rng(start).choice(12, 3, replace=False)]
    for _ in range(20):
        distances = ((points[:, None] - centres) ** 2).sum(axis=2)
        choices = [iter(np.argsort(row, kind="stable")) for row in distances]
        groups, waiting = [[], [], []], list(range(12))
        while waiting:
            label = waiting.pop()
            group = next(choices[label])
            groups[group].append(label)
            if len(groups[group]) > 4:
                farthest = max(groups[group], key=lambda j, group=group: (distances[j, group], j))
                groups[group].remove(farthest)
                waiting.append(farthest)
        centres = np.array([points[one].mean(axis=0) for one in groups])
    model = HOMER.paper(n_groups=3, random_state=start).fit(X[:12], table)
    tops = model.leaves_.copy()
    while (above := model.parents_[tops]).max() >= 0:
        tops = np.where(above >= 0, above, tops)
    assert {frozenset(np.flatnonzero(tops == node).tolist()) for node in range(3)} == set(map(frozenset, groups))


def test_one_group_of_all_features_is_a_chain():
    model = MetaLabels.paper(LogisticRegression(), group_size=7, gamma=0.0, random_state=0).fit(X, Y)
    chain = ClassifierChain.paper(LogisticRegression(), order=model.order_).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), chain.decision_function(X), atol=1e-9)


def test_blocks_of_labels_are_groups():
    wide = np.kron(np.eye(2), np.ones((20, 3))).astype(int)
    wide[::3, ::2] = 0
    model = MetaLabels.paper(group_size=3, random_state=0).fit(np.vstack([X[:20], X[:20] + 3]), wide)
    assert model.groups_.tolist() == [0, 0, 0, 1, 1, 1]


def test_affinities_one_by_one():
    found = affinities(TrainingData(X, sparse.csr_array(Y)), 0.8)
    j, k = 1, 4
    shared = np.sum(Y[:, j] & Y[:, k]) / np.sum(Y[:, j] | Y[:, k])
    apart = np.linalg.norm(X[Y[:, j] == 1].mean(axis=0) - X[Y[:, k] == 1].mean(axis=0))
    assert found[j, k] == pytest.approx(0.8 * shared + 0.2 * np.exp(-apart))
    weights = rng.integers(3, size=80).astype(float)
    weighted = affinities(TrainingData(X, sparse.csr_array(Y), weights), 0.8)
    rows = np.repeat(np.arange(80), weights.astype(int))
    np.testing.assert_allclose(weighted, affinities(TrainingData(X[rows], sparse.csr_array(Y[rows])), 0.8))


def test_the_lasso_chooses_features():
    labels = Y[:, :2]
    number = labels @ [1, 2]  # the last label counts most
    q = np.searchsorted(np.unique(number), number) / (len(np.unique(number)) - 1)
    for gamma, n_kept in ((3.0, None), (1e6, 5)):
        kept = specific_features(TrainingData(X, sparse.csr_array(labels)), gamma)
        expected = Lasso(alpha=gamma / 80, fit_intercept=False).fit(X, q).coef_ != 0
        assert np.array_equal(kept, expected) if n_kept is None else kept.all()
    assert expected.size > 0
    model = MetaLabels.paper(gamma=5.0, group_size=2, random_state=0).fit(X, Y)
    assert 0 < model.features_.nnz < model.features_.shape[0] * 5
    other = X.copy()
    unused = np.flatnonzero(model.features_.toarray()[0] == 0)
    other[:, unused] += 100.0
    first = model.groups_ == 0
    same = model.decision_function(other)[:, first] == model.decision_function(X)[:, first]
    assert same.all()
