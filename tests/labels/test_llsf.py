"""LLSF and LLSF-DL against the lasso and their own objectives, and what LLSF does where that has no minimum."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.metrics.pairwise import cosine_similarity
from tests.together import together

from cofactor.labels import LLSF, LLSFDL
from cofactor.labels.regression import FeatureSpace

from .test_mlknn import toy

EXACT: dict[str, Any] = {"tol": 1e-12, "max_iter": 5000}
CONVEX: dict[str, Any] = {"correlation": "psd", "fit_intercept": True}


def slope(X: np.ndarray, Y: np.ndarray, W: np.ndarray, alpha: float, R: np.ndarray) -> np.ndarray:
    """Gradient of the objective without its absolute values, for centred features and labels."""
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    return Xc.T @ (Xc @ W - Yc) + alpha * W @ R


def coupling(Y: np.ndarray, correlation: str = "psd") -> np.ndarray:
    """Return R of the papers, or its positive part."""
    R = 1 - cosine_similarity(Y.T)
    values, vectors = np.linalg.eigh(R)
    assert values[0] < -0.1
    return R if correlation == "original" else (vectors * np.maximum(values, 0)) @ vectors.T


@together("fit_intercept", [True, False])
def test_without_coupling_each_label_is_a_lasso(fit_intercept: bool) -> None:
    X, Y, new = toy()
    model = LLSF.paper(0.0, 2.0, correlation="psd", fit_intercept=fit_intercept, **EXACT).fit(X, Y)
    oracle = Lasso(2.0 / len(X), tol=1e-12, fit_intercept=fit_intercept).fit(X, Y.astype(float))
    np.testing.assert_allclose(model.coef_, oracle.coef_.T, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(new), oracle.predict(new) - 0.5, atol=1e-6)


@together("correlation", ["psd", "original"])
def test_the_end_is_the_minimum(correlation: str) -> None:
    """With few features R itself has a minimum too, if alpha is small."""
    X, Y, _ = toy(60)
    model = LLSF.paper(3.0, 1.0, correlation=correlation, fit_intercept=True, **EXACT).fit(X, Y)
    W, R = model.coef_, coupling(Y, correlation)
    gradient = slope(X, Y, W, 3.0, R)
    tolerance = 1e-4 if correlation == "psd" else 0.1
    np.testing.assert_allclose(gradient[W != 0], -np.sign(W[W != 0]), atol=tolerance)
    assert (np.abs(gradient[W == 0]) <= 1 + tolerance).all()
    errors = (X - X.mean(axis=0)) @ W - (Y - Y.mean(axis=0))
    expected = np.sum(errors**2) / 2 + 1.5 * np.sum(W @ R * W) + np.abs(W).sum()
    assert model.objective_ == pytest.approx(expected)


def test_an_objective_without_a_minimum_is_noticed() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 40)), (rng.random((20, 4)) < 0.4).astype(int)
    with pytest.warns(ConvergenceWarning, match="sinks without end.*take correlation='psd'"):
        model = LLSF.paper(50.0, 0.1).fit(X, Y)
    assert model.n_iter_ < 100
    assert np.isfinite(model.coef_).all()
    bounded = LLSF.paper(50.0, 0.1, **CONVEX, tol=1e-10, max_iter=3000).fit(X, Y)
    assert bounded.objective_ > 0


def test_many_sparse_features_give_the_same_without_their_products(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((12, 500)) * (rng.random((12, 500)) < 0.02)
    Y = (rng.random((12, 3)) < 0.4).astype(int)
    coefs = [LLSF.paper(1.0, 0.05, **CONVEX, tol=1e-10).fit(table, Y).coef_ for table in (X, sparse.csr_array(X))]
    np.testing.assert_allclose(*coefs, atol=1e-4)
    monkeypatch.setattr(FeatureSpace, "too_large", staticmethod(lambda X: True))
    monkeypatch.setattr(FeatureSpace, "ridge", lambda *given: pytest.fail("regressed"))
    np.testing.assert_allclose(
        LLSF.paper(1.0, 0.05, **CONVEX, tol=1e-10).fit(sparse.csr_array(X), Y).coef_, coefs[0], atol=1e-4
    )


def test_chosen_weights_follow_the_scale_of_the_features() -> None:
    X, Y, new = toy()
    one, other = (LLSF(scale="none", threshold=0, tol=1e-10).fit(factor * X, Y) for factor in (1.0, 100.0))
    assert other.alpha_ == pytest.approx(1e4 * one.alpha_, rel=0.01)
    np.testing.assert_allclose(other.decision_function(100 * new), one.decision_function(new), atol=1e-2)


@together("fit_intercept", [True, False])
@together("other_labels", ["predicted", "true"])
def test_labels_are_regressed_on_labels(other_labels: str, fit_intercept: bool) -> None:
    X, Y, new = toy()
    X, new = (np.hstack([table, np.sin(3 * table)]) for table in (X, new))
    alpha, beta, gamma = 0.5, 2.0, 0.05
    model = LLSFDL.paper(alpha, beta, gamma, other_labels=other_labels, fit_intercept=fit_intercept, **EXACT).fit(X, Y)
    base = LLSF.paper(alpha, beta, correlation="psd", fit_intercept=fit_intercept, **EXACT).fit(X, Y)
    np.testing.assert_allclose(model.base_coef_, base.coef_, atol=1e-6)
    W, S = model.coef_, model.label_coef_
    np.testing.assert_allclose(np.diag(S), 0)
    assert np.abs(S).max() > 0.05
    said = np.clip(X @ model.base_coef_ + model.base_intercept_ + 0.5, 0, 1)
    seen = Y if other_labels == "true" else said
    errors = X @ W + seen @ S + model.intercept_ + 0.5 - Y
    R = coupling(Y)
    if fit_intercept:
        np.testing.assert_allclose(errors.mean(axis=0), 0, atol=1e-9)
        X, seen = X - X.mean(axis=0), seen - seen.mean(axis=0)
    for coef, gradient, weight in ((W, X.T @ errors + alpha * W @ R, beta), (S, seen.T @ errors, gamma)):
        np.testing.assert_allclose(gradient[coef != 0], -weight * np.sign(coef[coef != 0]), atol=1e-3)
        free = (coef == 0) & ((coef is W) | ~np.eye(len(coef), dtype=bool)[:, : coef.shape[1]])
        assert (np.abs(gradient[free]) <= weight + 1e-3).all()
    expected = np.sum(errors**2) / 2 + alpha / 2 * np.sum(W @ R * W) + beta * np.abs(W).sum() + gamma * np.abs(S).sum()
    assert model.label_objective_ == pytest.approx(expected)
    said = np.clip(new @ model.base_coef_ + model.base_intercept_ + 0.5, 0, 1)
    np.testing.assert_allclose(model.decision_function(new), new @ W + said @ S + model.intercept_, atol=1e-9)


def test_labels_that_cost_too_much_are_not_used() -> None:
    X, Y, new = toy()
    model = LLSFDL.paper(gamma=1e3, fit_intercept=True, **EXACT).fit(sparse.csr_array(X), Y)
    plain = LLSF.paper(**CONVEX, **EXACT).fit(X, Y)
    assert not model.label_coef_.any()
    np.testing.assert_allclose(model.decision_function(new), plain.decision_function(new), atol=1e-6)
