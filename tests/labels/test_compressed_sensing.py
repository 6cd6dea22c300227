"""Sparse recovery against scikit-learn and exact cases; compressed sensing of labels."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso, orthogonal_mp
from tests.together import together

from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels import PLST, CompressedSensing
from cofactor.labels.embedding.compressed_sensing import _measurements, cosamp, lasso, matching_pursuit
from cofactor.metrics.labels import accuracy


def sparse_vectors(n: int, L: int, k: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    V = np.zeros((n, L))
    for v in V:
        v[rng.choice(L, k, replace=False)] = 1 + rng.random(k)
    return V


def labelled(n: int = 60, L: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels, three of an instance, that are linear in them."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n, L), dtype=int)
    for y in Y:
        y[rng.choice(L, 3, replace=False)] = 1
    return Y @ rng.normal(size=(L, L)) + 0.05 * rng.normal(size=(n, L)), Y


@together("kind", ["hadamard", "gaussian"])
@together("decode", [matching_pursuit, cosamp])
def test_sparse_vectors_are_recovered(decode, kind: str) -> None:
    V = sparse_vectors(200, 45, 3)
    A = _measurements(32, 45, kind, np.random.default_rng(1))
    np.testing.assert_allclose(decode(A, V @ A.T, 3), V, atol=1e-7)


def test_matching_pursuit_is_scikit_learns() -> None:
    rng = np.random.default_rng(2)
    A = rng.normal(size=(10, 20))
    A /= np.linalg.norm(A, axis=0)
    Z = rng.normal(size=(30, 10))
    np.testing.assert_allclose(matching_pursuit(A, Z, 4), orthogonal_mp(A, Z.T, n_nonzero_coefs=4).T, atol=1e-8)


def test_the_lasso_is_scikit_learns() -> None:
    rng = np.random.default_rng(3)
    A, Z = rng.normal(size=(10, 15)), rng.normal(size=(5, 10))
    expected = [
        Lasso(0.3 / 10, fit_intercept=False, positive=True, tol=1e-12, max_iter=10**5).fit(A, z).coef_ for z in Z
    ]
    np.testing.assert_allclose(lasso(A, Z, 0.3), expected, atol=1e-4)


def test_nothing_measured_and_labels_of_one_code() -> None:
    A = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    Z = np.array([[0.0, 0.0], [2.0, 0.0]])
    for decode in (matching_pursuit, cosamp):
        V = decode(A, Z, 2)
        assert not V[0].any()
        np.testing.assert_allclose(V @ A.T, Z, atol=1e-8)


def test_hadamard_matrices() -> None:
    A = _measurements(8, 8, "hadamard", np.random.default_rng(0))
    np.testing.assert_allclose(A.T @ A, np.eye(8), atol=1e-12)
    assert len(np.unique(_measurements(4, 15, "hadamard", np.random.default_rng(0)), axis=1).T) == 15


@together("decoder", ["omp", "cosamp", "lasso"])
def test_labels_are_decoded(decoder: str) -> None:
    X, Y = labelled()
    model = CompressedSensing.paper(10, decoder=decoder, alpha=0.01, random_state=0).fit(X, Y)
    assert np.mean(model.predict(X) == Y) > 0.95
    if decoder != "lasso":
        assert model.n_nonzero_ in (3, 4)
        assert ((model.decision_function(X) != -0.5).sum(axis=1) <= model.n_nonzero_).all()


@together("L", [6, 8])
def test_all_measurements_of_all_labels_are_ridge_regression(L: int) -> None:
    X, Y = labelled(L=L)
    model = CompressedSensing.paper(1.0, alpha=1.0, n_nonzero=L, random_state=0).fit(X, Y)
    assert model.n_components_ == 8
    ridge = PLST.paper(1.0, alpha=1.0).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), ridge.decision_function(X), atol=1e-7)


def test_too_few_measurements_are_warned_of() -> None:
    X, Y = labelled()
    with pytest.warns(InputWarning, match=r"4 measurements of labels cannot tell 3 of 12 .* to 6 at least"):
        CompressedSensing.paper(4, n_nonzero=3, random_state=0).fit(sparse.csr_array(X), sparse.csr_array(Y))
    with pytest.raises(InvalidInputError, match="decoder='best'"):
        CompressedSensing(decoder="best").fit(X, Y)
    with pytest.raises(InvalidInputError, match="n_nonzero=0"):
        CompressedSensing(n_nonzero=0).fit(X, Y)


def test_the_penalty_serves_a_plain_cut() -> None:
    X, Y = labelled(14)
    X = X + 8 * np.random.default_rng(1).normal(size=X.shape)
    settings = {"scale": "none", "n_nonzero": 3, "random_state": 0}
    plain = CompressedSensing(threshold=0, **settings).fit(X, Y)
    found, highest = [], PLST(scale="none", threshold=0).fit(X, Y).alpha_
    for alpha in highest * 10.0 ** np.arange(0, -4.5, -0.5):
        predicted = []
        for i in range(len(X)):
            rest = np.arange(len(X)) != i
            model = CompressedSensing(alpha=alpha, threshold=0, **settings).fit(X[rest], Y[rest])
            predicted.append(model.predict(X[[i]])[0])
        found.append((accuracy(Y, np.array(predicted)), alpha))
    assert plain.alpha_ == pytest.approx(max(found, key=lambda pair: pair[0])[1])
    same = CompressedSensing(alpha=plain.alpha_, threshold=0, **settings).fit(X, Y)
    np.testing.assert_allclose(plain.decision_function(X), same.decision_function(X), atol=1e-10)
