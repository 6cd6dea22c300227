"""Losses on real targets against the formulas (2.9)-(2.12), limits included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.together import together

from cofactor.losses import (
    BetaDivergence,
    EntryLoss,
    ItakuraSaito,
    KullbackLeibler,
    LogisticSquared,
    LossArrays,
    Squared,
)

from .reference import slope

BETAS = [0, 0.5, 1, 1.5, 2, 3]
Y = np.array([0.3, 1.0, 2.5, 4.0])[:, None]
X = np.linspace(0.2, 6, 59)[None, :]
positive = st.floats(1e-2, 1e2)


def divergence(beta: float, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(2.12); at β = 0 without the superfluous y before the logarithm."""
    if beta == 0:
        return y / x - np.log(y / x) - 1
    if beta == 1:
        return y * np.log(y / x) - y + x
    return y**beta / (beta * (beta - 1)) + x**beta / beta - y * x ** (beta - 1) / (beta - 1)


CASES: list[tuple[EntryLoss, object]] = [
    (Squared(), lambda y, x: (y - x) ** 2),
    (KullbackLeibler(), lambda y, x: divergence(1, y, x)),
    (ItakuraSaito(), lambda y, x: divergence(0, y, x)),
    (LogisticSquared(1, 5, -2), lambda y, x: (y - 1 - 4 / (1 + np.exp(2 - x))) ** 2),
    *((BetaDivergence(b), lambda y, x, b=b: divergence(b, y, x)) for b in BETAS),
]
IDS = ["squared", "kl", "is", "logistic squared", *(f"beta={b}" for b in BETAS)]


@together(("loss", "formula"), CASES, ids=IDS)
def test_value_derivative_and_curvature(loss, formula) -> None:  # type: ignore[no-untyped-def]
    np.testing.assert_allclose(loss.value(Y, X), formula(Y, X), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(loss.derivative(Y, X), slope(lambda x: formula(Y, x), X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(loss.curvature(Y, X), slope(lambda x: loss.derivative(Y, x), X), rtol=1e-6, atol=1e-8)


@together(("loss", "formula"), CASES, ids=IDS)
def test_single_precision(loss, formula) -> None:  # type: ignore[no-untyped-def]
    y, x = Y.astype(np.float32), X.astype(np.float32)
    value = loss.value(y, x)
    assert value.dtype == loss.derivative(y, x).dtype == np.float32
    np.testing.assert_allclose(value, formula(Y, X), rtol=1e-4, atol=1e-5)


@together(("loss", "formula"), CASES, ids=IDS)
def test_plain_numbers_are_taken_in_double_precision(loss, formula) -> None:  # type: ignore[no-untyped-def]
    assert float(loss.value(0.7, 0.3)) == pytest.approx(float(formula(0.7, 0.3)), rel=1e-13)
    assert float(loss.value(2, 3)) == pytest.approx(float(formula(2, 3)), rel=1e-13)


@given(y=positive, x=positive)
def test_divergences_are_zero_at_the_target_and_positive_elsewhere(y: float, x: float) -> None:
    scale = float(np.max(np.abs([y**2, y**3, x**3, y / x, 1])))
    for loss in (Squared(), KullbackLeibler(), ItakuraSaito(), *map(BetaDivergence, BETAS)):
        assert abs(float(loss.value(y, y))) <= 1e-13 * scale * 10
        assert float(loss.value(y, x)) >= -1e-13 * scale * 10
        assert float(loss.derivative(y, y)) == pytest.approx(0, abs=1e-13 * scale)
        assert float(loss.derivative(y, x)) * (x - y) >= 0


@together(("limit", "loss"), [(0.0, ItakuraSaito()), (1.0, KullbackLeibler())])
def test_divergences_are_continuous_in_beta(limit: float, loss: EntryLoss) -> None:
    """The limit β → 0 of (2.12) is y/x - ln(y/x) - 1: the printed (2.11) has a factor y too many."""
    for e in (1e-3, 1e-5):
        beyond = BetaDivergence(limit + e).value(Y, X)
        before = 2 * loss.value(Y, X) - beyond if limit == 0 else BetaDivergence(limit - e).value(Y, X)
        scale = 30 * e
        np.testing.assert_allclose(beyond, loss.value(Y, X), atol=scale)
        np.testing.assert_allclose(before, loss.value(Y, X), atol=scale)
    printed = Y / X - Y * np.log(Y / X) - 1
    assert np.abs(BetaDivergence(1e-5).value(Y, X) - printed).max() > 1


def test_beta_two_is_half_the_squared_loss() -> None:
    np.testing.assert_allclose(BetaDivergence(2.0).value(Y, X), Squared().value(Y, X) / 2, atol=1e-13)


def test_itakura_saito_does_not_depend_on_scale() -> None:
    np.testing.assert_allclose(ItakuraSaito().value(7 * Y, 7 * X), ItakuraSaito().value(Y, X), atol=1e-13)


def test_zero_targets() -> None:
    x = np.array([0.5, 2.0])
    np.testing.assert_allclose(KullbackLeibler().value(0.0, x), x)  # 0 ln 0 = 0
    np.testing.assert_allclose(BetaDivergence(1.5).value(0.0, x), x**1.5 / 1.5)
    assert np.all(ItakuraSaito().value(0.0, x) == np.inf)


@together("dtype", [np.float32, np.float64])
@together("beta", BETAS)
def test_scores_outside_the_domain_cost_infinitely_much(beta: float, dtype: type) -> None:
    x = np.array([-1e20, -1.0, 0.0, np.nan], dtype)
    loss = BetaDivergence(beta)
    assert np.all(loss.value(dtype(3), x) == np.inf)
    slopes = loss.derivative(dtype(3), x[:3])
    assert np.all(np.isfinite(slopes))
    assert np.all(slopes < 0)  # back towards the domain


@together("dtype", [np.float32, np.float64])
@together("loss", [Squared(), KullbackLeibler(), ItakuraSaito(), LogisticSquared(1, 5), *map(BetaDivergence, BETAS)])
def test_extreme_scores_are_never_nan(loss, dtype: type) -> None:  # type: ignore[no-untyped-def]
    x = np.array([-1e20, 1e-20, 1e20], dtype)
    for result in (loss.value(dtype(3), x), loss.derivative(dtype(3), x), loss.curvature(dtype(3), x)):
        assert not np.any(np.isnan(result))


def test_extreme_values_are_exact() -> None:
    assert Squared().value(0.0, 1e20) == 1e40
    assert Squared().value(np.float32(0), np.float32(1e20)) == np.inf
    assert Squared().derivative(0.0, -1e20) == -2e20
    assert float(KullbackLeibler().value(0.0, 1e20)) == 1e20
    assert float(KullbackLeibler().derivative(3.0, 1e20)) == 1.0
    assert float(ItakuraSaito().value(1.0, 1e20)) == pytest.approx(20 * np.log(10) - 1, rel=1e-15)


@together("loss", [Squared(), KullbackLeibler(), ItakuraSaito(), *map(BetaDivergence, BETAS)])
def test_convexity_is_declared_where_the_curvature_is_never_negative(loss) -> None:  # type: ignore[no-untyped-def]
    y, x = np.meshgrid(np.geomspace(1e-2, 1e2, 40), np.geomspace(1e-2, 1e2, 40))
    curvature = loss.curvature(y, x)
    assert loss.convex == bool(np.all(curvature >= 0))
    if loss.curvature_bound is None:
        assert curvature.max() > 50
    else:
        assert curvature.max() == loss.curvature_bound


def test_declared_targets() -> None:
    assert Squared().target == "real"
    assert BetaDivergence().target == "nonneg"


def test_a_score_mapped_into_an_interval() -> None:
    loss = LogisticSquared(1, 5, 0.5)
    np.testing.assert_allclose(loss.estimate(np.array([-1e20, -0.5, 1e20])), [1, 3, 5])
    with pytest.raises(ValueError, match="length above 0"):
        LogisticSquared(5, 5)


@together("beta", [-0.5, np.nan])
def test_bad_orders_are_refused(beta: float) -> None:
    with pytest.raises(ValueError, match="beta="):
        BetaDivergence(beta)


@together("dtype", [np.float32, np.float64])
def test_evaluate_sums_rows_and_touches_nothing_else(dtype: type) -> None:
    rng = np.random.default_rng(1)
    indptr = np.array([0, 2, 2, 5, 6])
    y, x = (rng.uniform(1, 5, size=(2, 6))).astype(dtype)
    none = np.empty((4, 0), dtype)
    for loss in (Squared(), KullbackLeibler()):
        slopes, losses = np.full(6, 77, dtype), np.full(4, 77.0)
        loss.evaluate(1, 3, LossArrays(indptr, y, x, none, slopes, none, losses))
        np.testing.assert_allclose(losses, [77, 0, loss.value(y[2:5], x[2:5]).sum(dtype=float), 77], rtol=1e-6)
        np.testing.assert_array_equal(slopes[2:5], loss.derivative(y[2:5], x[2:5]))
        assert np.all(slopes[[0, 1, 5]] == 77)
