"""Penalties: formulas, proximal maps by search, distances to the subdifferential."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from tests.together import together

from cofactor.penalties import (
    L1,
    L2,
    L21,
    AroundL2,
    CentredL2,
    NonNegative,
    Penalty,
    RegressedL2,
    RowL2,
    SmoothPenalty,
)
from cofactor.problems.priors import turned

FACTORIES = [L2, CentredL2, L1, L21, NonNegative]
numbers = st.floats(-5, 5)
steps = st.floats(0.05, 3)


def entries(seed: int = 0, shape: tuple[int, int] = (6, 3)) -> np.ndarray:
    A = np.random.default_rng(seed).normal(size=shape) * 2
    A[1] = 0
    A[2, 0] = 0
    return A


def objective(penalty: Penalty, B: np.ndarray, A: np.ndarray, step: float) -> float:
    return penalty.value(B) + float(np.sum((B - A) ** 2)) / (2 * step)


def search(penalty: Penalty, A: np.ndarray, step: float) -> np.ndarray:
    """Minimise the definition of the proximal map numerically, one entry at a time.

    For the penalties tested so, a point that no single entry can improve is the minimiser.
    """
    B = np.maximum(A, 0) if isinstance(penalty, NonNegative) else A.copy()
    low = 0.0 if isinstance(penalty, NonNegative) else -10.0
    for _ in range(60 if isinstance(penalty, CentredL2) else 2):
        for at in np.ndindex(*A.shape):

            def along(t: float, at: tuple = at) -> float:
                B[at] = t
                return objective(penalty, B, A, step)

            B[at] = minimize_scalar(along, bounds=(low, 10), method="bounded", options={"xatol": 1e-10}).x
    return B


def test_value_formulas() -> None:
    A = entries()
    assert L2(3.0).value(A) == pytest.approx(1.5 * np.sum(A**2), rel=1e-14)
    assert L1(3.0).value(A) == pytest.approx(3 * np.sum(np.abs(A)), rel=1e-14)
    assert L21(3.0).value(A) == pytest.approx(3 * np.sum(np.sqrt(np.sum(A**2, axis=1))), rel=1e-14)
    centred = sum(float(np.sum((row - A.mean(axis=0)) ** 2)) for row in A)
    assert CentredL2(3.0).value(A) == pytest.approx(1.5 * centred, rel=1e-14)
    assert RowL2(3.0, np.arange(6)).value(A) == pytest.approx(1.5 * np.sum(np.arange(6)[:, None] * A**2), rel=1e-14)
    assert RowL2(3.0, np.arange(6)).value(A[:, 0]) == pytest.approx(
        1.5 * np.sum(np.arange(6) * A[:, 0] ** 2), rel=1e-14
    )
    assert NonNegative().value(np.abs(A)) == 0
    assert NonNegative().value(A) == np.inf
    assert NonNegative().value(np.array([[0.0, np.nan]])) == np.inf


@together(
    "penalty",
    [
        *(L2(0.7), L1(0.7), NonNegative(), CentredL2(0.7), RowL2(0.7, np.arange(4))),
        AroundL2(0.7, np.arange(8.0).reshape(4, 2) / 2),
    ],
)
@together("step", [0.3, 2.0])
def test_prox_minimises_its_definition(penalty: Penalty, step: float) -> None:
    A = entries(1, (4, 2))
    np.testing.assert_allclose(penalty.prox(A, step), search(penalty, A, step), atol=1e-6)


@together("step", [0.3, 2.0])
def test_prox_of_l21_by_a_grid_over_the_plane(step: float) -> None:
    """For a row of two entries all candidates on a fine grid are tried."""
    grid = np.linspace(-4, 4, 801)
    candidates = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    penalty = L21(0.7)
    for row in ([3.0, -1.0], [0.3, 0.1], [0.0, 0.0], [-1.5, 2.5]):
        A = np.array([row])
        costs = 0.7 * np.hypot(*candidates.T) + np.sum((candidates - A) ** 2, axis=1) / (2 * step)
        found = penalty.prox(A, step)
        np.testing.assert_allclose(found[0], candidates[np.argmin(costs)], atol=0.0071)
        assert objective(penalty, found, A, step) <= costs.min() + 1e-12


@given(a=st.lists(numbers, min_size=6, max_size=6), b=st.lists(numbers, min_size=6, max_size=6), step=steps)
def test_no_other_point_beats_the_prox(a: list, b: list, step: float) -> None:
    A, B = np.array(a).reshape(3, 2), np.array(b).reshape(3, 2)
    for penalty in (factory(0.9) for factory in FACTORIES):
        best = penalty.prox(A, step)
        # Strong convexity: any B costs at least ‖B - prox‖²/(2t) more.
        margin = objective(penalty, B, A, step) - objective(penalty, best, A, step)
        assert margin >= np.sum((B - best) ** 2) / (2 * step) - 1e-9


@together("factory", FACTORIES)
@together("seed", range(5))
@together("step", [0.2, 1.0, 4.0])
def test_distance_is_zero_exactly_at_the_minimiser(factory: type[Penalty], seed: int, step: float) -> None:
    """prox_t(A) minimises penalty + ‖B - A‖²/(2t), whose smooth part has gradient (B - A)/t."""
    penalty, A = factory(0.8), entries(seed)
    B = penalty.prox(A, step)
    assert penalty.distance(B, (B - A) / step) <= 1e-13
    off = B + 0.1 * np.abs(np.random.default_rng(seed).normal(size=B.shape))
    assert penalty.distance(off, (off - A) / step) > 1e-2


def test_distance_by_hand() -> None:
    A = np.array([[2.0, 0.0, 0.0]])
    gradient = np.array([[1.0, 0.5, -3.0]])
    assert L1(1.0).distance(A, gradient) == pytest.approx(np.hypot(1 + 1, 3 - 1))
    assert NonNegative().distance(A, gradient) == pytest.approx(np.hypot(1, 3))
    rows, slopes = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 4.0]])
    assert L21(2.0).distance(rows, slopes) == pytest.approx(np.hypot(2, 5 - 2))
    assert L2(2.0).distance(A, gradient) == pytest.approx(np.linalg.norm(gradient + 2 * A))


def around(alpha: float) -> AroundL2:
    return AroundL2(alpha, entries(5, (700, 3)))


def regressed(alpha: float) -> RegressedL2:
    return RegressedL2(alpha, turned(entries(6, (700, 3))), np.array([1.0, 0.0, 1.0]))


@together("factory", [L2, CentredL2, around, regressed])
@together("dtype", [np.float32, np.float64])
def test_gradient_by_differences(factory: type[SmoothPenalty], dtype: type) -> None:
    penalty = factory(1.7)
    A = entries(2, (700, 3))
    start = np.random.default_rng(3).normal(size=A.shape)
    gradient = start.astype(dtype)
    value = penalty.add_gradient(A.astype(dtype), gradient)
    assert value == pytest.approx(penalty.value(A), rel=1e-14 if dtype is np.float64 else 1e-6)
    tolerance = 1e-6 if dtype is np.float64 else 1e-4
    for at in [(0, 0), (1, 1), (350, 2), (699, 0)]:
        ends = []
        for sign in (1, -1):
            moved = A.copy()
            moved[at] += sign * 1e-3
            ends.append(penalty.value(moved))
        assert gradient[at] - start[at] == pytest.approx((ends[0] - ends[1]) / 2e-3, abs=tolerance)


@together("factory", [L2, CentredL2])
def test_gradient_arrives_in_arrays_of_any_layout(factory: type[SmoothPenalty]) -> None:
    A, gradient = entries(), np.ones((6, 3))
    value = factory(1.7).add_gradient(A, gradient)
    for other, out in [(A, np.ones((3, 6)).T), (np.asfortranarray(A), np.ones((6, 3)))]:
        assert factory(1.7).add_gradient(other, out) == pytest.approx(value, rel=1e-14)
        np.testing.assert_allclose(out, gradient, rtol=1e-14)


@together("factory", FACTORIES)
@together("dtype", [np.float32, np.float64])
def test_precision_is_kept_and_the_argument_unchanged(factory: type[Penalty], dtype: type) -> None:
    A = entries().astype(dtype)
    before = A.copy()
    result = factory(0.5).prox(A, 0.5)
    assert result.dtype == dtype
    assert result.shape == A.shape
    factory(0.5).distance(A, A)
    assert np.array_equal(A, before)
    np.testing.assert_allclose(result, factory(0.5).prox(A.astype(float), 0.5), atol=1e-6)


@together("factory", [L2, CentredL2, L1, L21])
def test_weight_zero_is_no_penalty(factory: type[Penalty]) -> None:
    A = entries()
    assert factory(0.0).value(A) == 0
    np.testing.assert_allclose(factory(0.0).prox(A, 2.0), A)
    assert factory(0.0).distance(A, np.ones_like(A)) == pytest.approx(np.sqrt(A.size))


@together("factory", FACTORIES)
@together("alpha", [-1.0, np.nan, np.inf])
def test_bad_weights_are_refused(factory: type[Penalty], alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha="):
        factory(alpha)


def test_centres_are_where_a_penalty_draws_to() -> None:
    """The gradient points away from them, and given them the penalty is a squared distance plus what they cost."""
    A = entries(2, (700, 3))
    for penalty in (around(1.7), regressed(1.7)):
        centres, gradient = penalty.centres(A), np.zeros_like(A)
        assert centres is not None
        penalty.add_gradient(A, gradient)
        np.testing.assert_allclose(gradient, 1.7 * (A - centres), atol=1e-12)
        assert penalty.value(A) >= 0.85 * np.sum((A - centres) ** 2) * (1 - 1e-12)
    assert L2(1.7).centres(A) is None
    own = regressed(1.7)
    weights = own.weights(A)
    for moved in np.eye(3)[:, :, None] * [0.1, -0.1, 0.2]:  # no other weights make it smaller
        other = weights + moved
        cost = np.sum((A - own.features @ other) ** 2) + np.sum(own.rho[:, None] * other**2)
        assert 0.85 * cost > own.value(A)


def test_facts() -> None:
    assert [factory.smooth for factory in FACTORIES] == [True, True, False, False, False]
