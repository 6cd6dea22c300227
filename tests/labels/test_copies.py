"""Instances that are copies of others are counted, and warned of where something is learned from held-out instances."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from cofactor.errors import InputWarning
from cofactor.labels import CPLST, PLST, LabelRidge, MLkNN
from cofactor.labels.features import n_distinct
from cofactor.labels.leave_one_out import ridge_problem


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distinct_instances_are_counted(dtype):
    rng = np.random.default_rng(0)
    for n, D in ((300, 2), (300, 9), (40, 3000), (5, 1)):
        X = rng.integers(-1, 2, (n, D)).astype(dtype)
        X[: n // 2] = X[n - n // 2 :]
        X[X == 0] *= -1  # -0.0 is 0
        Y = sparse.csr_array(rng.integers(0, 2, (n, 2)))
        expected = len(np.unique(np.hstack([X, Y.toarray()]) + 0.0, axis=0))
        assert n_distinct(X, Y) == n_distinct(sparse.csr_array(X), Y) == expected
    assert n_distinct(sparse.csr_array((4, 3)), sparse.csr_array((4, 2))) == 1


def repeated(n, n_copies):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 6))
    Y = (X[:, :3] + rng.normal(size=(n, 3)) > 0).astype(int)
    rows = np.append(np.arange(n), np.arange(n_copies))
    return X[rows], Y[rows]


@pytest.mark.parametrize("kind", [LabelRidge, PLST, CPLST, MLkNN], ids=lambda kind: kind.__name__)
def test_many_copies_are_warned_of(kind):
    with pytest.warns(InputWarning, match="^only 120 of 140 instances are distinct: .* as sample_weight$"):
        kind(random_state=0).fit(*repeated(120, 20))


def test_few_copies_are_not_worth_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PLST().fit(*repeated(120, 12))
        PLST().fit(*repeated(60, 39))  # too few instances to say anything
        PLST.paper().fit(*repeated(120, 60))  # learns nothing from held-out instances


def test_a_weight_in_place_of_copies_leaves_all_of_them_out():
    X, Y = repeated(30, 10)
    weights = np.where(np.arange(30) < 10, 2.0, 1.0)
    found = ridge_problem(X[:30], weights).at(2.0).held_out(Y[:30])
    for i in (3, 20):
        others = np.setdiff1d(np.arange(40), [i, i + 30])
        problem = ridge_problem(X[others])
        coef = problem.at(2.0).coefficients(Y[others])
        np.testing.assert_allclose(found[i], Y[others].mean(axis=0) + (X[i] - problem.mean) @ coef)
