"""Rating metrics against hand-computed values, brute force and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.dummy import DummyRegressor
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score
from tests.together import together

from cofactor.metrics import (
    RATING_METRICS,
    confusion_matrix,
    frobenius_relative_error,
    mean_absolute_error,
    normalized_mean_absolute_error,
    rating_report,
    root_mean_squared_error,
    zero_one_error,
)
from cofactor.metrics.ratings import rating_pair
from cofactor.metrics.scale import as_scale, nearest_levels, to_levels

STARS = [1, 2, 3, 4, 5]
HALVES = np.arange(1, 11) / 2

scales = st.lists(st.integers(-300, 300), min_size=2, max_size=30, unique=True).map(lambda v: np.sort(v) / 4)


@st.composite
def rated(draw):
    """A scale, true ratings on it and real predictions near it."""
    scale = draw(scales)
    n = draw(st.integers(1, 20))
    y = scale[draw(st.lists(st.integers(0, scale.size - 1), min_size=n, max_size=n))]
    pred = np.array(draw(st.lists(st.floats(-100, 100), min_size=n, max_size=n)))
    return scale, y, pred


def test_hand_computed_values():
    y, pred = [5, 3, 1, 4], [4, 3, 3, 2]  # errors 1, 0, 2, 2
    assert mean_absolute_error(y, pred) == 1.25
    assert normalized_mean_absolute_error(y, pred, STARS) == pytest.approx(1.25 / 1.6, rel=1e-15)
    assert root_mean_squared_error(y, pred) == 1.5
    assert frobenius_relative_error(y, pred) == pytest.approx(3 / np.sqrt(51), rel=1e-15)
    assert zero_one_error(y, pred) == 0.75
    expected = {
        "mae": 1.25,
        "nmae": pytest.approx(0.78125),
        "rmse": 1.5,
        "fre": pytest.approx(0.42008402520840293),
        "zero_one": 0.75,
    }
    report = rating_report(y, pred, STARS)
    assert list(report) == list(RATING_METRICS)
    assert {name: report[name] for name in expected} == expected


@together(("n_levels", "divisor"), [(2, 0.5), (5, 1.6), (6, 1.944), (10, 3.3)])
def test_nmae_divides_by_the_error_of_uniform_guessing(n_levels, divisor):
    levels = np.arange(1, n_levels + 1)
    brute = np.mean([abs(a - b) for a in levels for b in levels])
    assert brute == pytest.approx(divisor, abs=5e-4)
    y, pred = np.repeat(levels, n_levels), np.tile(levels, n_levels)
    assert normalized_mean_absolute_error(y, pred, levels) == pytest.approx(1, rel=1e-14)
    assert normalized_mean_absolute_error([1], [2], levels) == pytest.approx(1 / brute, rel=1e-14)


def test_nmae_counts_levels_not_stars():
    assert normalized_mean_absolute_error([3.0], [4.0], HALVES) == pytest.approx(2 / 3.3, rel=1e-14)
    assert normalized_mean_absolute_error([3.0], [3.25], HALVES) == pytest.approx(0.5 / 3.3, rel=1e-14)
    assert normalized_mean_absolute_error([1], [10], [1, 10, 11]) == pytest.approx(1 / (8 / 9), rel=1e-14)
    assert normalized_mean_absolute_error([1], [5.5], [1, 10, 11]) == pytest.approx(0.5 / (8 / 9), rel=1e-14)
    assert normalized_mean_absolute_error([11], [13], [1, 10, 11]) == pytest.approx(2 / (8 / 9), rel=1e-14)
    assert normalized_mean_absolute_error([1], [-8], [1, 10, 11]) == pytest.approx(1 / (8 / 9), rel=1e-14)


@settings(max_examples=25)
@given(rated())
def test_against_loops_and_scikit_learn(case):
    scale, y, pred = case
    assert mean_absolute_error(y, pred) == pytest.approx(sk.mean_absolute_error(y, pred), rel=1e-12)
    assert root_mean_squared_error(y, pred) == pytest.approx(sk.root_mean_squared_error(y, pred), rel=1e-12)
    assert zero_one_error(y, pred) == np.mean([a != b for a, b in zip(y, pred, strict=True)])
    if (y != 0).any():
        loop = sum((a - b) ** 2 for a, b in zip(y, pred, strict=True)) / sum(a * a for a in y)
        assert frobenius_relative_error(y, pred) == pytest.approx(np.sqrt(loop), rel=1e-12)
    nearest = nearest_levels(pred, scale)
    counts = confusion_matrix(y, pred, scale)
    loop = np.zeros((scale.size, scale.size), dtype=int)
    for value, level in zip(y, nearest, strict=True):
        loop[list(scale).index(value), level - 1] += 1
    np.testing.assert_array_equal(counts, loop)
    assert zero_one_error(y, pred, scale) == pytest.approx(1 - np.trace(loop) / y.size, abs=1e-15)
    on_scale = scale[nearest - 1]
    levels = np.abs(to_levels(y, scale).astype(int) - nearest).mean()
    divisor = np.mean([abs(a - b) for a in range(scale.size) for b in range(scale.size)])
    assert normalized_mean_absolute_error(y, on_scale, scale) == pytest.approx(levels / divisor, abs=1e-12)


@settings(max_examples=25)
@given(rated(), st.floats(0.01, 9), st.floats(-9, 9))
def test_nmae_does_not_depend_on_the_unit(case, factor, shift):
    scale, y, pred = case
    moved = [factor * values + shift for values in (y, pred, scale)]
    expected = normalized_mean_absolute_error(y, pred, scale)
    assert normalized_mean_absolute_error(*moved) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@settings(max_examples=25)
@given(rated())
def test_nearest_level_is_nearest_and_ties_go_up(case):
    scale, _, pred = case
    for value, level in zip(pred, nearest_levels(pred, scale), strict=True):
        distance = np.abs(scale - value)
        best = np.flatnonzero(distance <= distance.min() + 1e-9)
        # Just below a tie the upper level may be taken; nothing else.
        assert level - 1 in best
        if distance[best].max() == distance.min():
            assert level - 1 == best[-1]


def test_levels_of_a_scale():
    assert to_levels([0.5, 2.5, 5], HALVES).tolist() == [1, 5, 10]
    assert to_levels(np.float32([0.1, 0.2, 0.3]), [0.1, 0.2, 0.3]).tolist() == [1, 2, 3]
    assert nearest_levels([-9, 1.5, 2.499, 99], STARS).tolist() == [1, 2, 2, 5]
    assert nearest_levels([(0.1 + 0.2) / 2], [0.1, 0.2]).tolist() == [2]
    assert nearest_levels([np.nextafter(0.15, 0)], [0.1, 0.2]).tolist() == [2]
    with pytest.raises(ValueError, match=r"2 ratings are not on the scale 1, 2, 3, 4, 5, found 0, 2.5"):
        to_levels([0, 2.5, 3], STARS)
    with pytest.raises(ValueError, match=r"1 rating is not on the scale .* found nan"):
        to_levels([np.nan, 3], STARS)
    copied = np.array([1.0, 2.0])
    assert as_scale(copied) is not copied


@together("metric", list(RATING_METRICS.values()))
def test_perfect_prediction_is_zero(metric):
    assert metric(HALVES, HALVES, HALVES) == 0


@together(
    ("y", "pred", "message"),
    [
        ([1, 2], [1], "y has 2 ratings but pred has 1"),
        ([], [], "y must be a non-empty one-dimensional array"),
        ([[1]], [1], r"y must be .* found shape \(1, 1\)"),
        ([1, 2], [1, np.nan], "pred holds 1 value that is NaN or infinite, the first at 1"),
        ([np.inf, 2], [1, 1], "y holds 1 value that is"),
        (np.ma.masked_equal([2, 1], 1), [2, 1], "y is a masked array without a value in row 1: missing values are not"),
    ],
)
@together("metric", list(RATING_METRICS.values()))
def test_bad_input(metric, y, pred, message):
    with pytest.raises(ValueError, match=message):
        metric(y, pred, STARS)


def test_the_helper_of_new_metrics_is_the_one_of_all():
    y, pred = rating_pair([1, 2], [3, 4])
    assert (y.dtype, y.tolist(), pred.tolist()) == (np.float64, [1, 2], [3, 4])


def test_relative_error_of_zeros_is_refused():
    with pytest.raises(ValueError, match="only zeros"):
        frobenius_relative_error([0, 0], [1, 0])


def test_as_scorer_of_scikit_learn():
    y = np.tile([1.0, 3.0], 6)
    model = DummyRegressor(strategy="constant", constant=2.5)
    scorer = make_scorer(normalized_mean_absolute_error, greater_is_better=False, scale=STARS)
    scores = cross_val_score(model, np.zeros((12, 2)), y, scoring=scorer, cv=3)
    np.testing.assert_allclose(scores, [-1 / 1.6] * 3)
    scorer = make_scorer(root_mean_squared_error, greater_is_better=False)
    np.testing.assert_allclose(cross_val_score(model, np.zeros((12, 2)), y, scoring=scorer, cv=3), -np.sqrt(1.25))
