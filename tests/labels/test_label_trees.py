"""Trees and forests for all labels are those of scikit-learn; files with other nodes or shares are refused."""

from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from cofactor.errors import InputWarning
from cofactor.labels import MLDecisionTree, MLForest
from cofactor.labels.learners.trees import TreeData, TreeSettings, grow_tree


def toy(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, new = (rng.normal(size=(m, 5)) * (rng.random((m, 5)) < 0.7) for m in (n, 20))
    return X, (X @ rng.normal(size=(5, 3)) + 0.5 * rng.normal(size=(n, 3)) > 0.3).astype(int), new


def shares(theirs: Any, new: np.ndarray) -> np.ndarray:
    return np.column_stack([p[:, 1] for p in theirs.predict_proba(new)])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (MLDecisionTree.paper(min_samples_leaf=2, random_state=3), DecisionTreeClassifier(
            criterion="entropy", min_samples_leaf=2, random_state=3)),
        (MLDecisionTree.paper(ccp_alpha=0.05, random_state=3), DecisionTreeClassifier(
            criterion="entropy", ccp_alpha=0.05, random_state=3)),
        (MLForest.paper(7, random_state=3), RandomForestClassifier(7, criterion="entropy", random_state=3)),
        (MLForest.paper(7, trees="extra-trees", criterion="gini", max_depth=4, max_features=2, random_state=3),
         ExtraTreesClassifier(7, max_depth=4, max_features=2, random_state=3)),
    ],
    ids=["tree", "pruned tree", "random forest", "extra trees"],
)  # fmt: skip
def test_as_scikit_learn_grows_them(ours: Any, theirs: Any) -> None:
    X, Y, new = toy()
    expected = shares(theirs.fit(X, Y), new)
    for form in (np.asarray, sparse.csr_array):
        model = ours.fit(form(X), Y)
        np.testing.assert_allclose(model.decision_function(form(new)), expected - 0.5, atol=1e-12)
    assert np.array_equal(model.predict(new), expected - 0.5 > 1e-12)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_many_instances_with_sparse_features_give_each_node_of_scikit_learn(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(700, 12, 0.15, "csr", np.float32, rng, lambda n: rng.choice([-2.5, -1, 1, 1, 1.25, 3], n))
    Y = sparse.csr_array((rng.random((700, 30)) < 0.04 + 0.2 * (X[:, :1].toarray() > 0)).astype(float))
    counts = np.bincount(rng.integers(0, 700, 700), minlength=700)
    theirs = kind(criterion="entropy", max_features=4, random_state=5).fit(X, Y.toarray(), sample_weight=counts).tree_
    settings = TreeSettings("entropy", 4, random_places=kind is ExtraTreeClassifier)
    ours = grow_tree(TreeData.of(sparse.csr_array(X), Y), settings, 5, counts).nodes
    inner = theirs.children_left >= 0
    assert np.array_equal(ours.left, theirs.children_left)
    assert np.array_equal(ours.feature[inner], theirs.feature[inner])
    assert np.array_equal(ours.threshold[inner], theirs.threshold[inner])


def test_the_first_split_has_the_least_entropy_of_all() -> None:
    X, Y, _ = toy(25)

    def entropy(rows: np.ndarray) -> float:
        p = np.clip(Y[rows].mean(axis=0), 1e-300, 1 - 1e-16)
        return float(rows.sum() * -(p * np.log(p) + (1 - p) * np.log1p(-p)).sum())

    values = [np.unique(X[:, f]) for f in range(5)]
    found = {
        (f, cut): entropy(X[:, f] <= cut) + entropy(X[:, f] > cut)
        for f in range(5) for cut in (values[f][1:] + values[f][:-1]) / 2
    }  # fmt: skip
    nodes = MLDecisionTree.paper(max_depth=1, random_state=0).fit(X, Y).learners_.nodes
    best = min(found, key=found.__getitem__)
    assert (nodes.feature[0], nodes.threshold[0]) == (best[0], pytest.approx(best[1], rel=1e-6))


def test_the_size_of_leaves_is_chosen_on_instances_that_are_held_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    noisy = (X[:, :1] + 3 * rng.normal(size=(120, 2)) > 0).astype(int)
    assert MLDecisionTree(random_state=0).fit(X, noisy).min_samples_leaf_ == 10
    assert MLDecisionTree(random_state=0).fit(X, (X > 0).astype(int)).min_samples_leaf_ <= 2


def test_workers_change_nothing_and_a_callback_ends_a_forest() -> None:
    X, Y, new = toy()
    one = MLForest.paper(4, random_state=0).fit(X, Y).decision_function(new)
    with joblib.parallel_config("threading"):  # processes would take seconds to begin
        assert np.array_equal(MLForest.paper(4, n_jobs=2, random_state=0).fit(X, Y).decision_function(new), one)
    short = MLForest.paper(4, random_state=0, callback=lambda progress: progress.iteration == 2).fit(X, Y)
    assert len(short.learners_.nodes.roots) == 2


def test_shares_of_many_labels_take_room_for_those_that_are_on() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 3)), sparse.random(80, 500, 0.01, "csr", random_state=0, data_rvs=np.ones)
    model = MLForest.paper(5, random_state=0).fit(X, Y)
    assert model.learners_.values.nnz <= 5 * Y.nnz


def test_a_leaf_for_all_instances_is_warned_of():
    X = np.linspace(0, 1, 120)[:, None]
    with pytest.warns(InputWarning, match="MLDecisionTree predicts the same for all 90 instances .*, 1 label: its set"):
        MLDecisionTree(min_samples_leaf=100).fit(X, np.hstack([X > 0.2, X > 0.9]))
