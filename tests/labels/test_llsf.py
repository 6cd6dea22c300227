"""LLSF against the lasso and its own objective, and what it does where that has no minimum."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from cofactor.correlation import cosine, positive_part
from cofactor.labels import LLSF
from cofactor.labels.regression import FeatureSpace

from .test_mlknn import toy

EXACT: dict[str, Any] = {"tol": 1e-12, "max_iter": 5000}


def slope(X: np.ndarray, Y: np.ndarray, W: np.ndarray, alpha: float, R: np.ndarray) -> np.ndarray:
    """Gradient of the objective without its absolute values, for centred features and labels."""
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    return Xc.T @ (Xc @ W - Yc) + alpha * W @ R


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_coupling_each_label_is_a_lasso(fit_intercept: bool) -> None:
    X, Y, new = toy()
    model = LLSF.paper(0.0, 2.0, fit_intercept=fit_intercept, **EXACT).fit(X, Y)
    oracle = Lasso(2.0 / len(X), tol=1e-12, fit_intercept=fit_intercept).fit(X, Y.astype(float))
    np.testing.assert_allclose(model.coef_, oracle.coef_.T, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(new), oracle.predict(new) - 0.5, atol=1e-6)


@pytest.mark.parametrize("correlation", ["psd", "original"])
def test_the_end_is_the_minimum(correlation: str) -> None:
    """With few features R itself has a minimum too, if alpha is small."""
    X, Y, _ = toy(60)
    model = LLSF.paper(3.0, 1.0, correlation=correlation, **EXACT).fit(X, Y)
    R = 1 - cosine(Y)
    assert np.linalg.eigvalsh(R)[0] < -0.1
    W, R = model.coef_, positive_part(R) if correlation == "psd" else R
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
        model = LLSF.paper(50.0, 0.1, correlation="original").fit(X, Y)
    assert model.n_iter_ < 100
    assert np.isfinite(model.coef_).all()
    bounded = LLSF.paper(50.0, 0.1, tol=1e-10, max_iter=3000).fit(X, Y)
    assert bounded.objective_ > 0


def test_many_sparse_features_give_the_same_without_their_products(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((12, 500)) * (rng.random((12, 500)) < 0.02)
    Y = (rng.random((12, 3)) < 0.4).astype(int)
    coefs = [LLSF.paper(1.0, 0.05, tol=1e-10).fit(table, Y).coef_ for table in (X, sparse.csr_array(X))]
    np.testing.assert_allclose(*coefs, atol=1e-4)
    monkeypatch.setattr(FeatureSpace, "too_large", staticmethod(lambda X: True))
    monkeypatch.setattr(FeatureSpace, "ridge", lambda *given: pytest.fail("regressed"))
    np.testing.assert_allclose(LLSF.paper(1.0, 0.05, tol=1e-10).fit(sparse.csr_array(X), Y).coef_, coefs[0], atol=1e-4)


def test_chosen_weights_follow_the_scale_of_the_features() -> None:
    X, Y, new = toy()
    one, other = (LLSF(scale="none", threshold=0, tol=1e-10).fit(factor * X, Y) for factor in (1.0, 100.0))
    assert other.alpha_ == pytest.approx(1e4 * one.alpha_, rel=0.01)
    np.testing.assert_allclose(other.decision_function(100 * new), one.decision_function(new), atol=1e-2)
