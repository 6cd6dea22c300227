"""Leave-one-out predictions are those of fits to all other instances."""

import numpy as np
import pytest
from scipy import sparse

from cofactor.errors import InvalidInputError
from cofactor.kernels.regression import quadratic_forms
from cofactor.labels import FeatureSpace, leave_one_out
from cofactor.labels.leave_one_out import DualRidge, _inverse, ridge_problem, sketched

SHAPES = [(40, 9), (9, 40), (20, 20)]


def example(n, D, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.5)
    X[:, 0] += 3
    return X, (rng.random((n, 5)) < 0.4).astype(float), 1.0 + rng.integers(0, 3, n)


def refitted(X, T, alpha, weights, fit_intercept):
    found = np.empty(T.shape)
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        w = None if weights is None else weights[others]
        coef, intercept = FeatureSpace(X[others], sample_weight=w, fit_intercept=fit_intercept).ridge(T[others], alpha)
        found[i] = X[i] @ coef + intercept
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_those_of_refitting(shape, fit_intercept, weighted):
    X, T, weights = example(*shape)
    weights = weights if weighted else None
    for alpha in (0.2, 3.0):
        expected = refitted(X, T, alpha, weights, fit_intercept)
        for features in (X, sparse.csr_array(X)):
            fitted = ridge_problem(features, weights, fit_intercept).at(alpha)
            for targets in (T, sparse.csr_array(T)):
                assert np.abs(fitted.held_out(targets) - expected).max() < 1e-9
                assert np.abs(fitted.held_out(targets, np.array([4, 1])) - expected[[4, 1]]).max() < 1e-9
                coef = fitted.coefficients(targets)
                assert np.array_equal(fitted.held_out(targets, coef=coef), fitted.held_out(targets))
                w = np.ones(len(X)) if weights is None else weights
                assert fitted.error(targets) == pytest.approx(w @ ((T - expected) ** 2).sum(axis=1) / w.sum())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_are_those_of_ridge_regression(shape, weighted):
    X, T, weights = example(*shape)
    weights = weights if weighted else None
    space = FeatureSpace(X, sample_weight=weights)
    found = space.problem().at(2.0).coefficients(sparse.csr_array(T))
    coef = X.T @ found if isinstance(space.problem(), DualRidge) else found
    assert np.abs(coef - space.ridge(T, 2.0)[0]).max() < 1e-10


def test_the_best_penalty_is_the_best_of_all():
    X, T, _ = example(60, 12)
    T = np.hstack([T, (X[:, 1:4] + np.random.default_rng(1).normal(size=(60, 3)) > 0)])
    problem = ridge_problem(X)
    errors = [problem.at(problem.unit * a).error(T) for a in leave_one_out.GRID]
    for start in (0, 9, 18):
        best = problem.best_alpha(T, start)
        assert best.grid_index == int(np.argmin(errors))
        assert best.error == pytest.approx(min(errors))
        assert best.alpha == problem.unit * leave_one_out.GRID[best.grid_index]


def test_many_labels_are_stood_for_by_combinations(monkeypatch):
    X, T, _ = example(60, 12)
    T = np.hstack([T] * 200)
    problem = ridge_problem(X)
    fitted = problem.at(1.0)
    assert fitted.error(sketched(sparse.csr_array(T))) == pytest.approx(fitted.error(T), rel=0.1)
    exact = problem.best_alpha(T)
    monkeypatch.setattr(leave_one_out, "_LARGE_TABLE", 1)
    assert abs(problem.best_alpha(T).grid_index - exact.grid_index) <= 1


def test_single_precision_chooses_the_same_penalty(monkeypatch):
    X, T, _ = example(60, 70)
    exact = ridge_problem(X).best_alpha(T)
    monkeypatch.setattr(leave_one_out, "_SINGLE", 1)
    problem = ridge_problem(X)
    assert problem.precision(problem.unit) == np.float32
    assert problem.precision(1e-9) == np.float64
    assert problem.best_alpha(T).grid_index == exact.grid_index


def test_degenerate_features():
    T = np.array([[0.0], [1.0], [1.0]])
    for X in (np.zeros((3, 2)), np.ones((3, 2)), np.ones((3, 8))):
        assert np.allclose(ridge_problem(X).at(1.0).held_out(T).ravel(), [1.0, 0.5, 0.5])
        assert np.isfinite(ridge_problem(X).best_alpha(T).error)
    apart = np.diag([1e7, 1.0, 1.0])  # the first instance is like no other
    assert np.isfinite(ridge_problem(apart).at(1e-6).held_out(T)).all()
    with pytest.raises(InvalidInputError, match="lost in rounding"):
        ridge_problem(np.zeros((3, 8)), fit_intercept=False).at(0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_cannot_be_inverted_has_no_inverse(dtype):
    X = np.random.default_rng(0).normal(size=(50, 20))
    X[:, -1] = X[:, 0]
    gram = X.T @ X
    assert _inverse(gram, 1e-300, dtype) is None
    assert _inverse(-np.eye(20), 0.5, dtype) is None
    for row, column in ((0, 0), (19, 0), (19, 18)):
        for number in (np.nan, np.inf):
            damaged = gram.copy()
            damaged[row, column] = damaged[column, row] = number
            assert _inverse(damaged, 1.0, dtype) is None
    np.testing.assert_allclose(_inverse(gram, 1.0, dtype) @ (gram + np.eye(20)), np.eye(20), atol=1e-4)


def test_quadratic_forms_are_those_of_numpy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 5)) * (rng.random((7, 5)) < 0.6)
    M = rng.normal(size=(5, 5))
    M += M.T
    table, out = sparse.csr_array(X), np.zeros(7)
    quadratic_forms(1, 6, table.indptr, table.indices, table.data, M, out)
    assert np.allclose(out[1:6], np.einsum("ij,jk,ik->i", X, M, X)[1:6])
    assert out[0] == out[6] == 0
