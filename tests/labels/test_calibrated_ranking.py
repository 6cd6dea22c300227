"""Votes of pairs of labels, counted one by one."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from cofactor.errors import InvalidInputError
from cofactor.kernels.voting import quick_votes
from cofactor.labels import BinaryRelevance, CalibratedLabelRanking

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = (X @ rng.normal(size=(4, 4)) + 0.3 * rng.normal(size=(60, 4)) > 0.4).astype(int)
Y = np.column_stack([Y, Y[:, 0], Y[:, 1] * Y[:, 0]])  # two labels alike; one that never is without another


def voted(estimator):
    """Return votes of each label and of the virtual one."""
    n, n_labels = Y.shape
    votes, own = np.zeros((n, n_labels)), np.zeros((n, n_labels))
    for j in range(n_labels):
        own[:, j] = estimator.fit(X, Y[:, j]).predict(X)
        for k in range(j):
            differs = Y[:, j] != Y[:, k]
            kinds = np.unique(Y[differs, j])
            if len(kinds) == 2:
                prefers = estimator.fit(X[differs], Y[differs, j]).predict(X)
            else:
                prefers = np.full(n, kinds[0] if len(kinds) else 0.5)
            votes[:, j] += prefers
            votes[:, k] += 1 - prefers
    return votes + own, n_labels - own.sum(axis=1), own


@pytest.mark.parametrize("estimator", [LogisticRegression(C=5.0), DecisionTreeClassifier(random_state=0)])
def test_votes_are_those_of_all_pairs(estimator):
    votes, virtual, own = voted(estimator)
    n_labels = Y.shape[1]
    assert np.allclose(votes.sum(axis=1) + virtual, n_labels * (n_labels + 1) / 2)
    model = CalibratedLabelRanking.paper(estimator).fit(X, sparse.csr_array(Y))
    assert np.array_equal(model.predict(X).toarray(), votes > virtual[:, None])
    scores = model.decision_function(X)
    assert np.array_equal(np.round(2 * (scores + 0.25)) / 2, votes - virtual[:, None])
    each = BinaryRelevance.paper(estimator).fit(X, Y)
    assert np.array_equal(each.predict(X), own)
    np.testing.assert_allclose(
        scores - (votes - virtual[:, None]), 0.2 * np.tanh(each.decision_function(X)) - 0.25, atol=1e-9
    )


@pytest.mark.parametrize("estimator", [LogisticRegression(C=5.0), DecisionTreeClassifier(random_state=0)])
def test_quick_voting_finds_the_labels_of_all_votes(estimator):
    quick = CalibratedLabelRanking.paper(estimator, threshold="joint").fit(X, sparse.csr_array(Y))
    assert np.array_equal(quick.predict(X).toarray(), quick.decision_function(X) > 0)


def test_quick_voting_asks_few():
    n_labels = 40
    coef = np.random.default_rng(1).normal(size=(n_labels * (n_labels + 1) // 2, 4))
    coef[-n_labels:, 0] += 3  # against the virtual label
    intercept, on, asked = np.zeros(len(coef)), np.zeros((60, n_labels), np.uint8), np.zeros(60, np.int64)
    quick_votes(X, coef, intercept, on, asked)
    scores, votes = X @ coef.T, np.zeros((60, n_labels))
    for p, (j, k) in enumerate(zip(*np.triu_indices(n_labels, 1), strict=True)):
        votes[:, j] += scores[:, p] > 0
        votes[:, k] += scores[:, p] < 0
    own = scores[:, -n_labels:] > 0
    assert np.array_equal(on > 0, votes + own > (n_labels - own.sum(axis=1))[:, None])
    assert on.any()
    assert n_labels <= asked.min()
    assert asked.mean() < 0.9 * len(coef)


def test_one_label_is_binary_relevance():
    one = CalibratedLabelRanking.paper(LogisticRegression()).fit(X, Y[:, :1])
    assert np.array_equal(one.predict(X), BinaryRelevance.paper(LogisticRegression()).fit(X, Y[:, :1]).predict(X))


def test_too_many_labels_are_refused():
    table = sparse.csr_array(np.random.default_rng(0).random((20, 600)) < 0.5)
    with pytest.raises(InvalidInputError, match=r"labels are 179,700 pairs, and more than 100,000.*RAkEL"):
        CalibratedLabelRanking.paper().fit(np.eye(20), table)
