"""Metrics of probabilities against scikit-learn, loops and values worked out by hand."""

import numpy as np
import pytest
from sklearn import metrics as sk
from tests.together import together

from cofactor.metrics import (
    PROBABILITY_METRICS,
    calibration_bins,
    expected_calibration_error,
    log_loss,
    probability_report,
    ranked_probability_score,
)

HALVES = np.arange(1, 11) / 2
STARS = [1, 2, 3, 4, 5]


def predicted(n, scale, seed):
    """Ratings, and probabilities that know something about them."""
    random = np.random.default_rng(seed)
    p = random.dirichlet(np.full(len(scale), 0.5), n)
    levels = np.array([random.choice(len(scale), p=row) for row in 0.7 * p + 0.3 / len(scale)])
    return np.asarray(scale, dtype=float)[levels], p


@together("scale", [[-1, 1], STARS, HALVES], ids=len)
@together("seed", [0, 1])
def test_log_loss_is_that_of_scikit_learn(scale, seed):
    y, p = predicted(300, scale, seed)
    names = [f"{level:05.1f}" for level in np.asarray(scale) + 100]
    true = np.array([f"{level:05.1f}" for level in y + 100])
    assert log_loss(y, p, scale) == pytest.approx(sk.log_loss(true, p, labels=names), rel=1e-12)


def test_an_impossible_rating_costs_the_same_as_in_scikit_learn():
    y, p = [1, 2, 3], [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.25, 0.25]]
    assert log_loss(y, p, [1, 2, 3]) == pytest.approx(sk.log_loss(y, p), rel=1e-12)
    assert log_loss([1], p[:1], [1, 2, 3]) == pytest.approx(52 * np.log(2))


def test_ranked_probability_score_is_a_sum_over_boundaries():
    y, p = predicted(50, STARS, 3)
    direct = np.mean(
        [sum((row[:r].sum() - (truth <= r)) ** 2 for r in range(1, 5)) for truth, row in zip(y, p, strict=True)]
    )
    assert ranked_probability_score(y, p, STARS) == pytest.approx(direct, rel=1e-12)


def test_ranked_probability_score_of_sure_predictions_is_the_error_in_levels():
    truth, guess = np.divmod(np.arange(100), 10)
    assert ranked_probability_score(HALVES[truth], np.eye(10)[guess], HALVES) == np.abs(truth - guess).mean()


@together("n_bins", [1, 10, 15])
@together("over", ["top", "all"])
def test_calibration_error_by_loops(n_bins, over):
    y, p = predicted(200, STARS, 5)
    events = []
    for truth, row in zip(y, p, strict=True):
        for level in [int(np.argmax(row))] if over == "top" else range(5):
            events.append((row[level], truth == STARS[level]))
    error = 0.0
    for b in range(n_bins):
        inside = [(q, hit) for q, hit in events if b / n_bins < q <= (b + 1) / n_bins or (q == 0 and b == 0)]
        if inside:
            q, hit = np.mean(inside, axis=0)
            error += len(inside) / len(events) * abs(q - hit)
    assert expected_calibration_error(y, p, STARS, n_bins=n_bins, over=over) == pytest.approx(error, rel=1e-12)
    assert calibration_bins(y, p, STARS, n_bins=n_bins, over=over).counts.sum() == len(events)


def test_edges_belong_to_the_lower_bin():
    bins = calibration_bins([1, 2, 2], [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]], [1, 2], n_bins=2, over="all")
    assert bins.edges.tolist() == [0, 0.5, 1]
    assert bins.counts.tolist() == [4, 2]  # both halves, the 0 and 0.4 below; 0.6 and the 1 above
    np.testing.assert_allclose(bins.predicted, [1.4 / 4, 0.8])
    np.testing.assert_allclose(bins.observed, [2 / 4, 0.5])


def test_of_equal_probabilities_the_lowest_level_is_the_predicted_one():
    assert expected_calibration_error([1, 1], [[0.5, 0.5], [0.5, 0.5]], [1, 2]) == 0.5
    assert expected_calibration_error([2, 2], [[0.5, 0.5], [0.5, 0.5]], [1, 2]) == 0.5
    assert expected_calibration_error([2, 1], [[0.5, 0.5], [0.5, 0.5]], [1, 2]) == 0
    assert calibration_bins([2], [[0.5, 0.5]], [1, 2], n_bins=1).observed.tolist() == [0]


def test_true_probabilities_are_calibrated_and_sharpened_ones_are_not():
    random = np.random.default_rng(0)
    p = random.dirichlet(np.ones(5), 40_000)
    y = 1 + (random.random(len(p))[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
    for over in ("top", "all"):
        assert expected_calibration_error(y, p, STARS, over=over) < 0.01
        assert expected_calibration_error(y, sharp, STARS, over=over) > 0.04
    for metric in (log_loss, ranked_probability_score):  # proper scores: nothing is better than the truth
        assert metric(y, p, STARS) < min(metric(y, sharp, STARS), metric(y, 0.8 * p + 0.04, STARS))


def test_report():
    y, p = predicted(100, STARS, 0)
    report = probability_report(y, p, STARS)
    assert list(report) == list(PROBABILITY_METRICS) == ["log_loss", "rps", "ece"]
    assert report["ece"] == expected_calibration_error(y, p, STARS, n_bins=15, over="top")
    assert probability_report(y, np.float32(p), STARS) == pytest.approx(report, rel=1e-3)


@together("metric", PROBABILITY_METRICS.values())
@together(
    ("y", "p", "message"),
    [
        ([], np.empty((0, 2)), r"y must be a non-empty one-dimensional array, found shape \(0,\)"),
        ([3], [[0.5, 0.5]], "1 rating is not on the scale 1.0, 2.0|not on the scale 1, 2"),
        ([1], [0.5, 0.5], r"a row for each of 1 rating and a column for each of 2 levels of scale, found shape \(2,\)"),
        ([1, 2], [[0.5, 0.5]], r"each of 2 ratings .* found shape \(1, 2\)"),
        ([1], [[0.5, 0.4]], "probabilities of each row must sum to 1, found 0.9 in row 0"),
        ([1], [[-0.1, 1.1]], "must lie between 0 and 1, found -0.1 in row 0"),
        ([1, 1], [[0.5, 0.5], [np.nan, 1]], "must lie between 0 and 1, found nan in row 1"),
    ],
)
def test_bad_probabilities(metric, y, p, message):
    with pytest.raises(ValueError, match=message):
        metric(y, p, [1, 2])


@together(
    ("settings", "message"),
    [
        ({"n_bins": 0}, "n_bins=0: expected a whole number"),
        ({"over": "each"}, "over='each': expected one of 'top', 'all'"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        expected_calibration_error([1], [[0.5, 0.5]], [1, 2], **settings)
