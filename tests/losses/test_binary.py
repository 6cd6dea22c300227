"""Margin losses against the formulas of Kumar's thesis, section 2.2.1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.together import together

from cofactor.losses import MARGIN_LOSSES, Hinge, Logistic, LossArrays, MarginLoss, ModifiedSquare, SmoothHinge, ZeroOne

from .reference import MARGINS, slope

ALL = list(MARGINS)
GRID = np.unique(np.concatenate([np.linspace(-3, 4, 701), [0.0, 1.0], np.nextafter([0.0, 1.0], 2)]))
finite = st.floats(-50, 50)


def away(grid: np.ndarray, kinks: list[float], by: float) -> np.ndarray:
    return grid[np.all([np.abs(grid - kink) > by for kink in kinks], axis=0)] if kinks else grid


@together("loss", ALL)
def test_values_are_those_of_the_formula(loss: type[MarginLoss]) -> None:
    np.testing.assert_allclose(loss().value(GRID), MARGINS[loss][0](GRID), rtol=1e-14, atol=1e-15)
    single = GRID.astype(np.float32)
    result = loss().value(single)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, MARGINS[loss][0](single.astype(float)), rtol=3e-7, atol=2e-7)


@together("loss", ALL)
def test_derivatives_are_those_of_the_formula(loss: type[MarginLoss]) -> None:
    formula, jumps, bends = MARGINS[loss]
    z = away(GRID, jumps + bends, 2.5e-3)
    expected = slope(formula, z)
    np.testing.assert_allclose(loss().derivative(z), expected, atol=1e-10)
    np.testing.assert_allclose(loss().derivative(z.astype(np.float32)), expected, atol=1e-6)


@together("loss", ALL)
def test_curvature_is_the_derivative_of_the_derivative(loss: type[MarginLoss]) -> None:
    _, jumps, bends = MARGINS[loss]
    z = away(GRID, jumps + bends, 2.5e-3)
    np.testing.assert_allclose(loss().curvature(z), slope(loss().derivative, z), atol=1e-10)


@together("dtype", [np.float32, np.float64])
@together(
    ("loss", "values", "slopes"),
    [
        (ZeroOne, (1, 0), (0, 0)),
        (Hinge, (1e20, 0), (-1, 0)),
        (SmoothHinge, (1e20, 0), (-1, 0)),
        (ModifiedSquare, (1e40, 0), (-2e20, 0)),
        (Logistic, (1e20, 0), (-1, 0)),
    ],
)
def test_extreme_margins(loss: type[MarginLoss], values: tuple, slopes: tuple, dtype: type) -> None:
    z = np.array([-1e20, 1e20], dtype=dtype)
    with np.errstate(over="ignore"):  # 1e40 is +∞ in float32: the loss itself must not warn, but this line would
        expected = np.array(values, dtype=float).astype(dtype)
    assert np.array_equal(loss().value(z), expected)
    assert np.array_equal(loss().derivative(z), np.array(slopes, dtype=float).astype(dtype))
    assert np.all(np.isfinite(loss().curvature(z)))


@together("loss", ALL)
def test_infinite_margins(loss: type[MarginLoss]) -> None:
    low, high = loss().value(np.array([-np.inf, np.inf]))
    assert low == (1 if loss is ZeroOne else np.inf)
    assert high == 0
    assert loss().derivative(np.array([np.inf])) == 0


@together("loss", [Hinge, SmoothHinge, ModifiedSquare, Logistic])
@together("dtype", [np.float32, np.float64])
def test_nan_is_not_swallowed(loss: type[MarginLoss], dtype: type) -> None:
    assert np.isnan(loss().value(np.array([np.nan], dtype=dtype)))


@given(a=finite, b=finite, t=st.floats(0, 1))
def test_convex_losses_lie_below_their_chords(a: float, b: float, t: float) -> None:
    for loss in (loss for loss in ALL if loss.convex):
        at_a, at_b, between = loss().value([a, b, t * a + (1 - t) * b])
        assert between <= t * at_a + (1 - t) * at_b + 1e-9 * (1 + at_a + at_b)


def test_zero_one_is_declared_not_convex_and_is_not() -> None:
    assert not ZeroOne.convex
    left, middle, right = ZeroOne().value([-2.0, -0.5, 1.0])
    assert middle > (left + right) / 2


@together(("loss", "attained"), [(SmoothHinge, 1.0), (ModifiedSquare, 2.0), (Logistic, 0.25)])
def test_curvature_bound_is_the_largest_curvature(loss: type[MarginLoss], attained: float) -> None:
    steps = np.diff(loss().derivative(GRID)) / np.diff(GRID)  # mean curvature on every interval
    wide = np.diff(GRID) > 1e-6
    assert loss.curvature_bound == attained
    assert steps[wide].max() <= attained + 1e-9
    assert steps[wide].max() >= attained * (1 - 1e-4)
    assert loss().curvature(GRID).max() == pytest.approx(attained, rel=1e-4)


@together("loss", ALL)
def test_smooth_is_declared_where_the_derivative_is_continuous(loss: type[MarginLoss]) -> None:
    e = 1e-9
    # A jump of h' shows as a finite change over a tiny step, a jump of h as a huge difference quotient.
    change = np.abs(loss().derivative(GRID + e) - loss().derivative(GRID - e)).max()
    quotient = np.abs((loss().value(GRID + e) - loss().value(GRID - e)) / (2 * e)).max()
    assert loss.smooth == (change < 1e-6 and quotient < 1e3)
    assert (loss.curvature_bound is not None) == loss.smooth


def test_at_a_kink_the_derivative_is_a_subgradient() -> None:
    for loss, (_, jumps, _) in MARGINS.items():
        if not loss.convex:
            continue
        for kink in jumps:
            left, here, right = loss().value([kink - 1e-6, kink, kink + 1e-6])
            at_kink = loss().derivative([kink])[0]
            assert (here - left) / 1e-6 - 1e-9 <= at_kink <= (right - here) / 1e-6 + 1e-9


@together("loss", ALL)
def test_any_shape_and_integers_are_taken_and_left_unchanged(loss: type[MarginLoss]) -> None:
    z = np.array([[-1, 0, 1], [2, -3, 1]])
    before = z.copy()
    value, derivative = loss().value(z), loss().derivative(z)
    assert value.shape == derivative.shape == (2, 3)
    assert value.dtype == derivative.dtype == float
    np.testing.assert_array_equal(value, loss().value(z.astype(float)))
    z_float = z.astype(float)
    loss().value(z_float)
    assert np.array_equal(z, before)
    assert np.array_equal(z_float, before)
    assert loss().value(2.0).shape == ()


@together("loss", ALL)
@together("dtype", [np.float32, np.float64])
def test_evaluate_sums_rows_and_touches_nothing_else(loss: type[MarginLoss], dtype: type) -> None:
    rng = np.random.default_rng(0)
    indptr = np.array([0, 3, 3, 7, 8, 12])
    y = rng.choice([-1.0, 1.0], 12).astype(dtype)
    x = rng.normal(size=12).astype(dtype)
    slopes, losses = np.full(12, 77, dtype), np.full(5, 77.0)
    none = np.empty((5, 0), dtype)
    loss().evaluate(1, 4, LossArrays(indptr, y, x, none, slopes, none, losses))
    formula = MARGINS[loss][0]
    tolerance = 1e-12 if dtype is np.float64 else 1e-5
    expected = [
        77,
        0,
        formula(y[3:7] * x[3:7].astype(float)).sum(),
        formula(y[7:8] * x[7:8].astype(float)).sum(),
        77,
    ]
    np.testing.assert_allclose(losses, expected, rtol=tolerance)
    np.testing.assert_allclose(slopes[3:8], y[3:8] * loss().derivative(y[3:8] * x[3:8]))
    assert np.all(slopes[:3] == 77)
    assert np.all(slopes[8:] == 77)


def test_registry_names_every_margin_loss_once() -> None:
    assert set(MARGIN_LOSSES.values()) == set(ALL)
    assert MARGIN_LOSSES["smooth-hinge"] is SmoothHinge
    assert all(loss.target == "sign" for loss in MARGIN_LOSSES.values())
