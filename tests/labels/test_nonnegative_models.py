"""ANMF and MNMF against scikit-learn, SciPy and brute force; shifted features; bad input."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from cofactor.errors import InvalidInputError
from cofactor.labels import ANMF, MNMF

BOTH = pytest.mark.parametrize("kind", [ANMF, MNMF])


def made(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    Y = (rng.random((n, 3)) < 0.4).astype(int)
    Y[0] = 0
    return Y @ rng.random((3, 6)) + 0.05 * rng.random((n, 6)), Y


@BOTH
def test_scores_are_those_of_coefficients_on_the_bases(kind) -> None:
    X, Y = made()
    model = kind.paper(3, threshold=0).fit(X, Y)
    root = np.sqrt(1e-6 * np.mean(np.sum(model.P_**2, axis=1)))
    stacked = np.vstack([model.P_.T, root * np.eye(3)])
    H = np.array([nnls(stacked, np.append(x, np.zeros(3)))[0] for x in X])
    np.testing.assert_allclose(model.decision_function(X), H @ model.Q_ - 0.5, atol=1e-4)
    assert np.mean(model.predict(X) == Y) > 0.9
    assert (np.diff(model.history_) <= 0).all()
    assert len(model.history_) == model.n_iter_ + 1


def test_mnmf_is_the_factorization_of_features_beside_labels() -> None:
    X, Y = made()
    model = MNMF.paper(3, beta=0.3, threshold=0, tol=1e-9, max_iter=2000).fit(X, Y)
    table = np.hstack([0.7 * X, 0.3 * Y])
    solver = NMF(3, init="nndsvd", tol=1e-9, max_iter=5000).fit(table)
    expected, found = solver.components_, np.hstack([0.7 * model.P_, 0.3 * model.Q_])
    assert model.objective_ == pytest.approx(solver.reconstruction_err_**2, rel=1e-6)
    expected, found = (B / np.linalg.norm(B, axis=1, keepdims=True) for B in (expected, found))
    np.testing.assert_allclose((found @ expected.T).max(axis=1), 1, atol=1e-4)  # up to scale and order
    assert sum(np.linalg.norm(row - row @ np.linalg.pinv(found) @ found) ** 2 for row in table) <= model.objective_


def test_anmf_fits_features_to_coefficients_of_the_labels() -> None:
    X, Y = made()
    model = ANMF.paper(2, threshold=0, tol=1e-9, max_iter=2000).fit(X, Y)
    H = np.array([nnls(model.Q_.T, y)[0] for y in Y.astype(float)])
    assert model.objective_ == pytest.approx(np.linalg.norm(Y - H @ model.Q_) ** 2)
    solver = NMF(2, init="nndsvd", tol=1e-9, max_iter=5000).fit(Y)
    assert model.objective_ == pytest.approx(solver.reconstruction_err_**2, rel=1e-6)
    best = [nnls(H, x)[0] for x in X.T]
    np.testing.assert_allclose(model.P_.T, best, atol=1e-4)
    assert np.linalg.matrix_rank(model.P_) == 2


def test_anmf_of_all_components_has_a_base_for_each_label() -> None:
    X, Y = made()
    for given in (X, sparse.csr_array(X)):
        model = ANMF.paper(1.0, threshold=0).fit(given, Y)
        np.testing.assert_array_equal(model.Q_, np.eye(3))
        np.testing.assert_allclose(model.P_.T, [nnls(Y.astype(float), x)[0] for x in X.T], atol=1e-5)
        assert (model.objective_, model.n_iter_) == (0, 1)


@BOTH
def test_features_below_zero_are_shifted(kind) -> None:
    X, Y = made()
    model = kind.paper(3, threshold=0).fit(X - 0.5, Y)
    low = (X - 0.5).min(axis=0)
    np.testing.assert_array_equal(model.shift_, np.minimum(low, 0))
    np.testing.assert_array_equal(model.decision_function([low - 9]), model.decision_function([low]))
    with pytest.raises(InvalidInputError, match="sparse X must not hold numbers below 0"):
        kind.paper(3, threshold=0).fit(sparse.csr_array(X - 0.5), Y)
    thin = kind.paper(3, threshold=0).fit(sparse.csr_array(X), Y)
    new = sparse.csr_array(X[:1] - 0.5)
    np.testing.assert_array_equal(thin.decision_function(new), thin.decision_function(new.maximum(0)))


def test_an_early_end_is_warned_of_and_wrong_parameters_are_refused() -> None:
    X, Y = made()
    with pytest.warns(ConvergenceWarning, match=r"MNMF stopped after 2 iterations .* raise max_iter, now 2"):
        MNMF.paper(3, threshold=0, max_iter=2, tol=1e-9).fit(X, Y)
    for beta in (0, 1):
        with pytest.raises(InvalidInputError, match=f"beta={beta}"):
            MNMF(beta=beta).fit(X, Y)
