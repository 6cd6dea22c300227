"""Logistic regressions of rows: losses and derivatives, minimisers of plain NumPy, extreme scores, rows alone."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from tests.together import together

from cofactor.kernels.logistic_rows import logistic_rows, set_losses, set_scores

from .reference import Pattern, random_pattern

Array = NDArray[np.float64]


def objective(u: Array, observed: Array, weights: Array, F: Array, c: Array, alpha: float) -> tuple[float, Array]:
    """Return J and its gradient, column by column."""
    x = c + u @ F
    loss = np.where(observed, weights * np.logaddexp(0, -x), np.logaddexp(0, x)).sum()
    slopes = np.where(observed, weights * (expit(x) - 1), expit(x))
    return float(loss + 0.5 * alpha * u @ u), F @ slopes + alpha * u


def problem(seed: int, n: int, m: int, p: int, spread: float = 1.0) -> tuple[Pattern, Array, Array, Array]:
    """Return entries and their weights, features and offsets, in the precision that models have."""
    rng = np.random.default_rng(seed)
    entries = random_pattern(rng, n, m, 0.2)
    weights, F, c = rng.uniform(0, 4, len(entries.indices)), rng.normal(0, spread, (p, m)), rng.normal(-1, 1, m)
    return entries, *(array.astype(np.float32) for array in (weights, F, c))


def dense(entries: Pattern, weights: Array, i: int) -> tuple[Array, Array]:
    """Return in which columns row i has entries, and the weights there."""
    here, observed, w = slice(*entries.indptr[i : i + 2]), np.zeros(entries.shape[1], bool), np.zeros(entries.shape[1])
    observed[entries.indices[here]], w[entries.indices[here]] = True, weights[here]
    return observed, w


@together(("p", "m"), [(1, 7), (4, 128), (6, 40), (13, 300)])
def test_rows_are_minimisers(p: int, m: int) -> None:
    entries, weights, F, c = problem(p, 9, m, p)
    weights[::5] = 0
    rows = np.zeros((9, p))
    logistic_rows(0, 9, entries.indptr, entries.indices, weights, F, c, 0.7, 40, 1e-6, rows)
    for i in range(9):
        given = (*dense(entries, weights, i), F.astype(float), c.astype(float), 0.7)
        best = minimize(objective, np.zeros(p), given, jac=True, method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose(rows[i], best.x, atol=1e-5)
        assert objective(rows[i], *given)[0] == pytest.approx(best.fun, rel=1e-10)


def test_a_row_is_the_same_alone_and_goes_on_from_where_it_is() -> None:
    entries, weights, F, c = problem(0, 6, 150, 5)
    both, alone, twice = (np.zeros((6, 5)) for _ in range(3))
    settings = (entries.indptr, entries.indices, weights, F, c, 0.7)
    logistic_rows(0, 6, *settings, 40, 1e-9, both)
    for i in range(6):
        logistic_rows(i, i + 1, *settings, 40, 1e-9, alone)
    assert np.array_equal(both, alone)
    for _ in range(2):
        logistic_rows(0, 6, *settings, 1, 0.0, twice)
    once = np.zeros((6, 5))
    logistic_rows(0, 6, *settings, 2, 0.0, once)
    assert np.array_equal(once, twice)


@together("start", [-80.0, 80.0])
def test_the_objective_falls_at_every_step_from_far_away(start: float) -> None:
    """There Newton's step is far too long: it is halved until J falls."""
    entries, weights, F, c = problem(2, 5, 60, 3, 3.0)
    rows = np.full((5, 3), start)
    given = [(*dense(entries, weights, i), F.astype(float), c.astype(float), 1e-3) for i in range(5)]
    values = np.array([objective(row, *those)[0] for row, those in zip(rows, given, strict=True)])
    for _ in range(40):
        logistic_rows(0, 5, entries.indptr, entries.indices, weights, F, c, 1e-3, 1, 0.0, rows)
        now = np.array([objective(row, *those)[0] for row, those in zip(rows, given, strict=True)])
        assert (now <= values * (1 + 1e-12)).all()
        values = now
    for row, those in zip(rows, given, strict=True):
        np.testing.assert_allclose(objective(row, *those)[1], 0, atol=1e-6)


def test_losses_and_derivatives_of_extreme_scores() -> None:
    x = np.array([-1e20, -800.0, -30.0, -1e-9, 0.0, 2.0, 40.0, 1e20])
    losses, slopes, curvatures = (np.empty(8) for _ in range(3))
    set_losses(np.zeros(0, np.int32), np.zeros(0, np.float32), x, losses, slopes, curvatures)
    np.testing.assert_allclose(losses, np.logaddexp(0, x), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(slopes, expit(x), rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(curvatures, expit(x) * expit(-x), rtol=1e-11, atol=1e-300)
    every = np.arange(8, dtype=np.int32)
    set_losses(every, np.full(8, 2.0, np.float32), x, losses, slopes, curvatures)
    np.testing.assert_allclose(losses, 2 * np.logaddexp(0, -x), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(slopes, -2 * expit(-x), rtol=1e-11, atol=1e-12)


@together("p", [1, 3, 4, 11])
def test_scores(p: int) -> None:
    rng = np.random.default_rng(p)
    F, c, u, x = rng.normal(size=(p, 37)), rng.normal(size=37), rng.normal(size=p), np.empty(37)
    set_scores(F, c, u, x)
    np.testing.assert_allclose(x, c + u @ F, rtol=1e-12, atol=1e-12)
