"""SVD of filled ratings against NumPy's on the filled matrix."""

import numpy as np
import pytest
from tests.together import together

from cofactor.ratings import RatingSVD

from ..reference import planted

X, Y = planted()


def filled(model: RatingSVD, pairs: np.ndarray, y: np.ndarray, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return A of the docstring, and what is added to estimates, with the model's means of items."""
    mean, c = model.origin_, model.item_means_
    counts = np.bincount(pairs[:, 0], minlength=n)
    if model.fill == "item-mean":
        s = np.bincount(pairs[:, 0], y, n) / counts
        A = np.tile(mean + c, (n, 1))
        A[pairs[:, 0], pairs[:, 1]] = y
        return A - s[:, None], np.tile(s[:, None], (1, len(c)))
    s = np.bincount(pairs[:, 0], y - mean - c[pairs[:, 1]], n) / (counts + model.damping)
    base = mean + s[:, None] + c
    A = np.zeros((n, len(c)))
    A[pairs[:, 0], pairs[:, 1]] = y - base[pairs[:, 0], pairs[:, 1]]
    return A, base


@together("fill", ["baseline", "item-mean"])
@together(("dtype", "precision"), [("float32", 1e-4), ("float64", 1e-6)])
def test_it_is_numpy_s_decomposition_of_the_filled_matrix(fill, dtype, precision):
    model = RatingSVD(5, fill=fill, tol=1e-15, max_iter=3000, dtype=dtype, random_state=0).fit(X, Y)
    A, base = filled(model, X, Y)
    P, sigma, Qt = np.linalg.svd(A, full_matrices=False)
    np.testing.assert_allclose(model.singular_values_, sigma[:5], rtol=1e-7)
    np.testing.assert_allclose(model.U_ @ model.V_.T, (P[:, :5] * sigma[:5]) @ Qt[:5], atol=precision)
    estimates = base + (P[:, :5] * sigma[:5]) @ Qt[:5]
    found = model.decision_function(np.argwhere(np.ones((40, 30)))).reshape(40, 30)
    np.testing.assert_allclose(found, estimates, atol=precision)
    assert model.objective_ == pytest.approx(np.sum(sigma[5:] ** 2), rel=1e-7)
    assert np.all(np.diff(model.history_) <= 0)


def test_means_of_items():
    mean = Y.mean()
    gaps, counts = np.bincount(X[:, 1], Y - mean), np.bincount(X[:, 1])
    plain = RatingSVD(2, fill="item-mean", random_state=0).fit(X, Y)
    np.testing.assert_allclose(plain.item_means_, gaps / counts, atol=1e-12)
    assert not plain.item_bias_.any()
    damped = RatingSVD(2, damping=3.0, random_state=0).fit(X, Y)
    np.testing.assert_allclose(damped.item_means_, gaps / (counts + 3), atol=1e-12)


@together("fill", ["baseline", "item-mean"])
@together("tol", [1e-1, 1e-6])
def test_a_user_of_the_training_folded_in_gets_the_same_factors(fill, tol):
    """Also where the subspace has not settled: factors of users are projections of their rows by definition."""
    model = RatingSVD(4, fill=fill, tol=tol, random_state=0).fit(X, Y)
    some = np.isin(X[:, 0], [3, 17, 30])
    folded = model.fold_in(X[some], Y[some], known="replace")
    np.testing.assert_array_equal(folded.U_, model.U_[[3, 17, 30]])
    np.testing.assert_array_equal(folded.user_bias_, model.user_bias_[[3, 17, 30]])


@together("fill", ["baseline", "item-mean"])
def test_a_new_user_is_projected(fill):
    model = RatingSVD(4, fill=fill, dtype="float64", random_state=0).fit(X, Y)
    pairs, y = np.array([(0, 2), (0, 5), (0, 11)]), np.array([5.0, 1.0, 4.0])
    A, base = filled(model, pairs, y, 1)
    Q = model.V_ / np.sqrt(model.singular_values_)
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-9)
    expected = base + A @ Q @ Q.T
    found = model.fold_in(pairs, y, known="replace").decision_function([(0, j) for j in range(30)])
    np.testing.assert_allclose(found, expected[0], atol=1e-9)


@together("fill", ["baseline", "item-mean"])
def test_cold_users_are_rows_of_what_is_filled_in(fill):
    model = RatingSVD(4, fill=fill, dtype="float64", random_state=0).fit(X, Y)
    Q = model.V_ / np.sqrt(model.singular_values_)
    c = model.item_means_
    expected = model.origin_ + (c if fill == "baseline" else c @ Q @ Q.T)
    np.testing.assert_allclose(model.decision_function([("nobody", j) for j in range(30)]), expected, atol=1e-9)
    item = model.decision_function([(5, "nothing")])
    assert item[0] == pytest.approx(model.origin_ + model.user_bias_[5])


def test_rank_one_ratings_leave_the_other_directions_empty():
    pairs = np.argwhere(np.ones((8, 6)))
    y = np.where((pairs[:, 0] % 2) == (pairs[:, 1] % 2), 5.0, 1.0)
    model = RatingSVD(4, damping=0, random_state=0).fit(pairs, y)
    np.testing.assert_allclose(model.singular_values_, [2 * np.sqrt(48), 0, 0, 0], atol=1e-6)
    assert np.isfinite(model.U_).all()
    assert np.array_equal(model.predict(pairs), y)


def test_the_start_does_not_matter_but_for_tol():
    first, second = (RatingSVD(4, tol=1e-14, max_iter=2000, random_state=s).fit(X, Y) for s in (0, 1))
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(X), atol=1e-4)
