"""Weights of entries: a whole weight is as many entries, in the value, the gradient, and in every draw."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.together import together

from cofactor.losses import AllThreshold, ImmediateThreshold, LogisticSquared, Proximal, SmoothHinge, Squared
from cofactor.problems import ObservedProblem
from cofactor.problems.bpmf import GaussianPosterior, GaussianUsers
from cofactor.problems.joint import LinkedProblem
from cofactor.problems.least_squares import LeastSquaresProblem
from cofactor.problems.priors import NormalWishartPrior
from cofactor.problems.users import LocalUsers
from cofactor.samplers import Key

from ..kernels.reference import Pattern, random_pattern

N, M, D, R = 9, 7, 2, 4
RNG = np.random.default_rng(0)
ONCE = random_pattern(RNG, N, M, 0.6)
WEIGHTS = RNG.integers(1, 4, len(ONCE.indices))


def repeated(p: Pattern, times: np.ndarray) -> Pattern:
    """Return the pattern with each entry as many times."""
    rows, columns = np.repeat(p.rows, times), np.repeat(p.indices, times)
    order = np.lexsort((rows, columns))
    return Pattern(
        np.searchsorted(rows, np.arange(N + 1)), columns, np.searchsorted(columns[order], np.arange(M + 1)),
        rows[order].astype(np.int32), order.astype(np.int32), p.shape,
    )  # fmt: skip


OFTEN = repeated(ONCE, WEIGHTS)


def targets(target: str) -> np.ndarray:
    rng, n = np.random.default_rng(1), len(WEIGHTS)
    if target == "sign":
        return rng.choice([-1.0, 1.0], n)
    return rng.integers(1, R + 1, n).astype(np.uint8) if target == "ordinal" else rng.normal(size=n)


@pytest.mark.parametrize(
    "loss",
    [SmoothHinge(), Squared(), LogisticSquared(-2, 2), AllThreshold(), ImmediateThreshold(), Proximal(n_levels=R)],
    ids=lambda loss: type(loss).__name__,
)
def test_value_and_gradient(loss):
    shapes: dict[str, tuple[int, ...]] = {"U": (N, D), "V": (M, D), "b": (N,), "c": (M,)}
    if loss.target == "ordinal" and not isinstance(loss, Proximal):
        shapes["own"] = (N, R - 1)
    y = targets(loss.target)
    weighted = ObservedProblem(ONCE, y, loss, shapes, {}, dtype=np.float64, weights=WEIGHTS)
    plain = ObservedProblem(OFTEN, np.repeat(y, WEIGHTS), loss, shapes, {}, dtype=np.float64)
    x = np.random.default_rng(2).normal(size=weighted.size)
    found, expected = np.empty_like(x), np.empty_like(x)
    assert weighted.value_gradient(x, found) == pytest.approx(plain.value_gradient(x, expected))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(weighted.inverse_curvatures(x), plain.inverse_curvatures(x))


@together("by_count", [False, True])
@together("row_solver", ["exact", "cg"])
def test_rows_and_columns_of_least_squares(row_solver, by_count):
    y = targets("real")
    settings = (D, 0.7, 0.3, row_solver, np.float64, by_count)
    weighted = LeastSquaresProblem(ONCE, y, *settings, weights=WEIGHTS)
    plain = LeastSquaresProblem(OFTEN, np.repeat(y, WEIGHTS), *settings)
    x = np.random.default_rng(2).normal(size=weighted.size)
    again, gradient = x.copy(), np.empty_like(x)
    for problem, point in ((weighted, x), (plain, again)):
        problem.update_rows(point)
        problem.update_columns(point)
    np.testing.assert_allclose(x, again, atol=1e-10)
    assert weighted.value_gradient(x, gradient) == pytest.approx(plain.value_gradient(again, gradient))


def test_penalties_by_count_of_a_linked_problem():
    y = targets("real")
    settings = (D, 0.7, LogisticSquared(-2, 2), True, None, np.float64)
    weighted, plain = LinkedProblem(ONCE, y, *settings, WEIGHTS), LinkedProblem(OFTEN, np.repeat(y, WEIGHTS), *settings)
    x = np.random.default_rng(2).normal(size=weighted.size)
    found, expected = np.empty_like(x), np.empty_like(x)
    assert weighted.value_gradient(x, found) == pytest.approx(plain.value_gradient(x, expected))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_draws_of_bpmf():
    def after_two_sweeps(entries: Pattern, levels: np.ndarray, weights: np.ndarray | None) -> tuple[dict, float]:
        users, items = (NormalWishartPrior(name, D) for name in ("user", "item"))
        own = GaussianUsers(lambda: SimpleNamespace(**vars(entries), levels=levels), values, users, weights)
        mass = float(len(levels) if weights is None else weights.sum())
        posterior = GaussianPosterior(LocalUsers(own), own.initialize, mass, values, own.items.n, items, None)
        state = posterior.start(Key(0, 0, 0, 0))
        posterior.initialize(state)
        for sweep in (1, 2):
            for k, step in enumerate(posterior.steps.values()):
                step(state, Key(0, 0, sweep, k))
        return state, posterior.log_likelihood(state)

    values, levels = np.append(0, targets("real")), np.arange(1, len(ONCE.indices) + 1)
    found, likelihood = after_two_sweeps(ONCE, levels, WEIGHTS.astype(float))
    expected, other = after_two_sweeps(OFTEN, np.repeat(levels, WEIGHTS), None)
    assert likelihood == pytest.approx(other)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, atol=1e-8, err_msg=name)
