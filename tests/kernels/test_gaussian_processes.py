"""Gaussian processes of one user against NumPy's dense algebra."""

import numpy as np
import pytest
from tests.together import together

from cofactor.kernels import gaussian_processes as kernels

KAPPA = np.array([0.5, 1.3, 0.2, 0.15, 0.6])
RNG = np.random.default_rng(0)
V = RNG.normal(0, 0.7, (60, 3))


def covariance(a: np.ndarray, b: np.ndarray, kappa: np.ndarray = KAPPA) -> np.ndarray:
    """K of the docstring without noise."""
    squared = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    return kappa[0] * np.exp(-kappa[1] * squared / 2) + kappa[2] * a @ b.T + kappa[3]


def users(*sizes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row pointers, items and targets of users with so many ratings."""
    items = [np.sort(RNG.choice(len(V), size, replace=False)) for size in sizes]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return indptr, np.concatenate(items).astype(np.int32), RNG.normal(size=indptr[-1])


@together(("dtype", "precision"), [(np.float32, 2e-5), (np.float64, 1e-12)])
@together("n", [1, 2, 7, 8, 9, 16, 23, 50])
@together("extra", [0, 1, 2, 5])
def test_elimination(n, extra, dtype, precision):
    K = covariance(V[:n], V[:n]) + 0.6 * np.eye(n)
    Z = RNG.normal(size=(extra, n))
    S = RNG.normal(size=(extra, extra))
    whole = np.block([[K, Z.T], [Z, S + S.T]])
    inverse, solution = np.linalg.inv(K), np.linalg.solve(K, Z.T).T
    for inverted in (True, False):
        A = np.full((kernels.padded(n + extra),) * 2, 99, dtype)
        A[n + extra :] = 0
        A[: n + extra, : n + extra] = np.where(np.tri(n + extra), whole, 99)  # above the diagonal nothing counts
        logdet = kernels.eliminate(A, n, inverted)
        assert logdet == pytest.approx(np.linalg.slogdet(K)[1], abs=precision * n)
        corner = A[n : n + extra, n : n + extra]
        np.testing.assert_allclose(np.tril(corner), np.tril(S + S.T - solution @ Z.T), atol=precision * n)
        if inverted:
            np.testing.assert_allclose(np.tril(A[:n, :n]), -np.tril(inverse), atol=precision)
            np.testing.assert_allclose(A[n : n + extra, :n], solution, atol=precision)
            continue
        block = np.arange(n) // 8
        L = np.where(block[:, None] > block, A[:n, :n], np.eye(n))
        D = np.where(block[:, None] == block, np.tril(A[:n, :n]) + np.tril(A[:n, :n], -1).T, 0)
        np.testing.assert_allclose(L @ np.linalg.inv(D) @ L.T, K, atol=10 * precision)
        np.testing.assert_allclose(A[n : n + extra, :n] @ np.linalg.inv(D) @ L.T, Z, atol=20 * precision)


def test_weights_means_and_variances():
    indptr, items, y = users(13, 0, 1, 40)
    found = np.empty(len(y))
    kernels.weights(0, 4, indptr, items, y, V, KAPPA, found)
    for k in range(4):
        own = slice(indptr[k], indptr[k + 1])
        K = covariance(V[items[own]], V[items[own]]) + 0.6 * np.eye(own.stop - own.start)
        np.testing.assert_allclose(found[own], np.linalg.solve(K, y[own]), atol=1e-12)
    pairs = np.array([(u, i) for u in (3, -1, 0, 1, 2, 0) for i in [*range(20), -1]], dtype=np.int32)
    means, variances = np.empty(len(pairs)), np.empty(len(pairs))
    asked = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    kernels.pair_means(*asked, indptr, items, found, V, KAPPA, means)
    kernels.pair_variances(*asked, indptr, items, V, KAPPA, variances)
    for (u, i), mean, variance in zip(pairs, means, variances, strict=True):
        x = V[i : i + 1] if i >= 0 else np.zeros((1, 3))
        own = slice(indptr[u], indptr[u + 1]) if u >= 0 else slice(0, 0)
        K = covariance(V[items[own]], V[items[own]]) + 0.6 * np.eye(own.stop - own.start)
        k = covariance(x, V[items[own]])[0]
        assert mean == pytest.approx(k @ np.linalg.solve(K, y[own]), abs=1e-12)
        assert variance == pytest.approx(covariance(x, x)[0, 0] + 0.6 - k @ np.linalg.solve(K, k), abs=1e-12)


def test_loss_of_held_out_ratings():
    indptr, items, y = users(13, 0, 40)
    held_out = np.array([2, 0, 1], np.int32), np.array([5, 6, 7], np.int32), np.array([0.3, -1.2, 2.0])
    losses = np.full(3, np.nan)
    kernels.held_out_losses(1, 3, *held_out, indptr, items, y, V, KAPPA, losses)
    assert np.isnan(losses[0])
    for u, i, target, loss in list(zip(*held_out, losses, strict=True))[1:]:
        own = slice(indptr[u], indptr[u + 1])
        joint = covariance(V[[*items[own], i]], V[[*items[own], i]]) + 0.6 * np.eye(own.stop - own.start + 1)
        both = [
            0.5 * (t @ np.linalg.solve(K, t) + np.linalg.slogdet(2 * np.pi * K)[1])
            for K, t in ((joint, np.append(y[own], target)), (joint[:-1, :-1], y[own]))
        ]
        assert loss == pytest.approx(both[0] - both[1])  # p(t | y) = p(y, t) / p(y)
