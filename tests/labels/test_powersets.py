"""Label sets as classes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from cofactor.errors import InvalidInputError
from cofactor.labels import BinaryRelevance, LabelPowerset, RAkEL
from cofactor.labels.transformation.powersets import distinct_sets, random_sets

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 5))
Y = (X @ rng.normal(size=(5, 4)) + 0.3 * rng.normal(size=(90, 4)) > 0.4).astype(int)


def test_label_sets_are_classes():
    sets, classes = np.unique(Y, axis=0, return_inverse=True)
    for estimator in (LinearSVC(C=0.3, tol=1e-8, max_iter=50_000), DecisionTreeClassifier(random_state=0)):
        expected = sets[estimator.fit(X, classes.ravel()).predict(X)]
        for threshold in ("joint", 0):
            model = LabelPowerset.paper(estimator, threshold=threshold).fit(X, sparse.csr_array(Y))
            assert np.array_equal(model.predict(X).toarray(), expected)
        assert np.array_equal(model.sets_.toarray(), sets)


def test_distinct_sets_of_many_labels():
    table = rng.integers(2, size=(40, 3))[:, rng.integers(3, size=20)]
    sets, classes = np.unique(table, axis=0, return_inverse=True)
    rows, found = distinct_sets(sparse.csr_array(table))
    assert np.array_equal(table[rows], sets)
    assert np.array_equal(found, classes.ravel())


@pytest.mark.parametrize(
    ("n_labels", "size", "n_sets"), [(6, 3, 12), (6, 3, 20), (7, 3, 3), (7, 3, 1), (5, 1, 5), (40, 3, 80)]
)
def test_random_sets(n_labels, size, n_sets):
    for seed in range(5):
        sets = [one.tolist() for one in random_sets(n_labels, size, n_sets, True, np.random.default_rng(seed))]
        assert len({tuple(one) for one in sets}) == len(sets)
        assert {label for one in sets for label in one} == set(range(n_labels))
        assert all(len(set(one)) == size and one == sorted(one) for one in sets[:n_sets])
        assert all(len(one) == 1 for one in sets[n_sets:])
    cut = random_sets(n_labels, size, 0, False, np.random.default_rng(0))
    assert sorted(np.concatenate(cut).tolist()) == list(range(n_labels))


def test_rakel_votes():
    """Of each set of labels, scikit-learn's classifier of its label sets votes; half of the votes are enough."""
    estimator = LinearSVC(C=0.3, tol=1e-8, max_iter=50_000)
    model = RAkEL.paper(estimator, labelset_size=2, n_estimators=3, random_state=1).fit(X, Y)
    votes, counts = np.zeros(Y.shape), np.zeros(4)
    for labels in (np.flatnonzero(row) for row in model.labelsets_.toarray()):
        sets, classes = np.unique(Y[:, labels], axis=0, return_inverse=True)
        votes[:, labels] += sets[estimator.fit(X, classes.ravel()).predict(X)]
        counts[labels] += 1
    assert len(set(counts)) > 1
    assert np.array_equal(model.predict(X), 2 * votes >= counts)
    np.testing.assert_allclose(model.decision_function(X), votes / counts - 0.5 + 0.25 / counts)


def test_sizes_of_sets():
    whole = LabelPowerset.paper().fit(X, Y)
    for overlapping in (True, False):
        of_all = RAkEL.paper(labelset_size=9, overlapping=overlapping, voting="soft").fit(X, Y)
        np.testing.assert_allclose(of_all.decision_function(X), whole.decision_function(X), atol=1e-9)
    single = RAkEL.paper(DecisionTreeClassifier(random_state=0), labelset_size=1).fit(X, Y)
    each = BinaryRelevance.paper(DecisionTreeClassifier(random_state=0)).fit(X, Y)
    assert np.array_equal(single.predict(X), each.predict(X))
    with pytest.raises(InvalidInputError, match="n_estimators=3: disjoint sets are as many as it takes"):
        RAkEL(n_estimators=3, overlapping=False).fit(X, Y)
    with pytest.raises(InvalidInputError, match="labelset_size=61: .* at most 60"):
        RAkEL(labelset_size=61).fit(X, Y)
