"""Rows of masked non-negative factorizations, and steps of single entries, against NumPy and SciPy."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq, nnls
from tests.together import together

from cofactor.kernels.nonnegative import coordinate_rows, multiplicative_rows, ratio_root
from cofactor.kernels.sgd import entry_steps

from .reference import Pattern, cuttings, random_pattern

BETAS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]


def setting(dtype: type = np.float64) -> tuple[Pattern, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = random_pattern(rng, 12, 9, 0.7)
    targets = rng.uniform(1, 5, len(p.indices))
    return p, targets.astype(dtype), rng.random((12, 3)).astype(dtype), rng.random((9, 3)).astype(dtype)


@together("beta", BETAS)
@together("dtype", [np.float32, np.float64])
def test_a_sweep_without_penalty_is_the_published_update(beta: float, dtype: type) -> None:
    p, targets, U, V = setting(dtype)
    results = []
    for cuts in cuttings(12):
        out = U.copy()
        for lo, hi in pairwise(cuts):
            multiplicative_rows(lo, hi, p.indptr, p.indices, targets, V, 0.0, beta, 1e-9, 0.0, 1, out)
        results.append(out)
    mask, Y = np.zeros(p.shape), np.ones(p.shape)
    mask[p.rows, p.indices], Y[p.rows, p.indices] = 1, targets
    X = U.astype(float) @ V.astype(float).T
    ratio = ((mask * Y * X ** (beta - 2)) @ V) / np.maximum((mask * X ** (beta - 1)) @ V, 1e-30)
    exponent = 1 / (2 - beta) if beta < 1 else 1 / (beta - 1) if beta > 2 else 1
    expected = U * ratio**exponent
    expected[np.diff(p.indptr) == 0] = 1e-9
    np.testing.assert_allclose(results[0], expected, rtol=1e-5 if dtype is np.float32 else 1e-10)
    assert all(np.array_equal(results[0], other) for other in results[1:])


@together("beta", BETAS)
@together("pull", [0.0, 1e-8, 0.7, 1e6])
@together(("positive", "negative"), [(2.0, 3.0), (3.0, 2e-5), (1e5, 4e-5), (1e-9, 5.0)])
def test_root_by_bisection(beta: float, pull: float, positive: float, negative: float) -> None:
    a, b = max(beta - 1, 0), min(beta - 2, 0)

    def excess(s: float) -> float:
        return float(np.log(positive * np.exp(a * s) + pull * np.exp(s)) - np.log(negative) - b * s)

    expected = np.exp(brentq(excess, -60, 60, xtol=1e-13))
    assert ratio_root(positive, negative, pull, beta) == pytest.approx(expected, rel=1e-8)
    assert ratio_root(positive, 0.0, pull, beta) == 0


@together("ridge", [0.0, 0.6])
def test_coordinate_steps_end_at_non_negative_least_squares(ridge: float) -> None:
    p, targets, U, V = setting()
    targets -= 3  # so that some coordinates end at zero
    results = []
    for cuts in cuttings(12):
        out = U.copy()
        for lo, hi in pairwise(cuts):
            assert coordinate_rows(lo, hi, p.indptr, p.indices, targets, V, ridge, 1e-12, 10_000, out) == 0
        results.append(out)
    for i in range(12):
        own = slice(p.indptr[i], p.indptr[i + 1])
        rows = np.vstack([V[p.indices[own]], np.sqrt(ridge) * np.eye(3)])
        expected = nnls(rows, np.append(targets[own], np.zeros(3)))[0]
        np.testing.assert_allclose(results[0][i], expected, atol=1e-8)
    assert np.any(results[0][np.diff(p.indptr) > 0] == 0)
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_unfinished_rows_are_counted() -> None:
    p, targets, U, V = setting()
    n = np.count_nonzero(np.diff(p.indptr))
    assert coordinate_rows(0, 12, p.indptr, p.indices, targets, V, 0.1, 1e-12, 1, U.copy()) == n
    assert multiplicative_rows(0, 12, p.indptr, p.indices, targets, V, 0.1, 1.0, 1e-9, 1e-12, 1, U.copy()) == n


@together("link", [(0.0, 0.0, 0.0), (1.0, 4.0, 0.3)])
def test_a_step_goes_along_the_gradient_of_an_entry_s_share(link: tuple[float, float, float]) -> None:
    p, targets, U, V = setting()
    ridges = np.linspace(0.1, 0.3, 12), np.linspace(0.2, 0.1, 9)
    rows = p.rows.astype(np.int32)

    def share(u: np.ndarray, v: np.ndarray, k: int) -> float:
        x = float(u @ v)
        g = link[0] + link[1] / (1 + np.exp(-x - link[2])) if link[1] else x
        ridge = ridges[0][rows[k]] * u @ u + ridges[1][p.indices[k]] * v @ v
        return float((targets[k] - g) ** 2 + ridge) / 2

    for k in (0, 5, 17):
        i, j, step = rows[k], p.indices[k], 1e-3
        moved_u, moved_v = U.copy(), V.copy()
        entry_steps(np.array([k]), rows, p.indices, targets, link, moved_u, moved_v, *ridges, step)
        for f in range(3):
            h = np.eye(3)[f] * 1e-5
            by_u = (share(U[i] + h, V[j], k) - share(U[i] - h, V[j], k)) / 2e-5
            by_v = (share(U[i], V[j] + h, k) - share(U[i], V[j] - h, k)) / 2e-5
            assert moved_u[i, f] == pytest.approx(U[i, f] - step * by_u, abs=1e-9)
            assert moved_v[j, f] == pytest.approx(V[j, f] - step * by_v, abs=1e-9)
        assert np.count_nonzero(moved_u != U) == np.count_nonzero(moved_v != V) == 3


def test_a_long_step_does_not_overshoot() -> None:
    p, targets, U, V = setting()
    rows = p.rows.astype(np.int32)
    entry_steps(np.array([3]), rows, p.indices, targets, (0.0, 0.0, 0.0), U, V, np.zeros(12), np.zeros(9), 1e9)
    assert 0 < U[rows[3]] @ V[p.indices[3]] < 2 * targets[3]
