"""Measures of probabilities of labels."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import log_loss
from tests.together import together

from cofactor.evaluation import select_parameters
from cofactor.evaluation.labels import evaluate_labels
from cofactor.labels import PLST
from cofactor.metrics import (
    greater_is_better,
    label_calibration_bins,
    label_calibration_error,
    label_log_loss,
    label_report,
)
from cofactor.metrics import probabilities as module

RNG = np.random.default_rng(0)
P = RNG.random((60, 4))
Y = (RNG.random((60, 4)) < P).astype(int)


def test_the_log_loss_is_that_of_all_single_predictions():
    expected = log_loss(Y.ravel(), P.ravel())
    for labels in (Y, 2 * Y - 1, sparse.csr_array(Y), Y == 1):
        assert label_log_loss(labels, P) == pytest.approx(expected)
    assert label_log_loss([[1, 0]], [[0.0, 1.0]]) == pytest.approx(52 * np.log(2))


def test_the_calibration_error_is_that_of_bins(monkeypatch):
    place = np.minimum((P * 15).astype(int), 14)
    expected = sum(abs((P - Y)[place == k].sum()) for k in range(15)) / P.size
    assert label_calibration_error(Y, P) == pytest.approx(expected)
    monkeypatch.setattr(module, "_ROWS", 20)
    assert label_calibration_error(sparse.csr_array(Y), P.astype(np.float32)) == pytest.approx(expected, abs=1e-6)
    parts = [label_calibration_bins(Y, P, k, n_bins=5) for k in range(4)]
    whole = label_calibration_bins(Y, P, n_bins=5)
    assert np.array_equal(sum(part.counts for part in parts), whole.counts)
    assert label_calibration_error(Y, Y) == 0


def test_labels_that_are_not_known_do_not_count():
    known = np.random.default_rng(1).random(Y.shape) < 0.6
    some = np.where(known, Y, np.nan)
    assert label_log_loss(some, P) == pytest.approx(log_loss(Y[known], P[known]))
    assert label_calibration_bins(some, P).counts.sum() == known.sum()


def test_they_are_in_reports_where_there_are_probabilities():
    report = label_report(Y, P > 0.5, P, P)
    assert report["log_loss"] == label_log_loss(Y, P)
    assert report["ece"] == label_calibration_error(Y, P)
    assert not {"ece", "log_loss"} & set(label_report(Y, P > 0.5, P))
    assert not greater_is_better("ece")


def test_models_are_compared_by_their_probabilities():
    features = np.hstack([P, np.random.default_rng(2).normal(size=P.shape)])
    decided, plain = (evaluate_labels(model, features, Y, 2) for model in (PLST(1.0), PLST.paper(1.0)))
    assert [row["decoding"] for row in decided] == ["auto", "auto"]
    assert all(0 < row["ece"] < 0.25 and 0 < row["log_loss"] < 0.7 for row in decided)
    assert not any("ece" in row for row in plain)
    found = select_parameters(PLST(1.0), features, Y, {"alpha": [1.0, 1e6]}, metric="log_loss", thresholds=None)
    assert found[0].parameters == {"alpha": 1.0}
    with pytest.raises(ValueError, match="metric='ece': a cut of the scores does not change probabilities; use"):
        select_parameters(PLST(1.0), features, Y, {"alpha": [1.0]}, metric="ece", thresholds=("global",))


@together(
    ("labels", "chances", "message"),
    [
        (Y, P[:-1], "must agree"),
        (Y, P + 1, r"between 0 and 1, found .* in row 0, column 0"),
        (Y, -P, "between 0 and 1"),
        (Y, np.where(P > 2, P, np.nan), "NaN"),
        (Y + 2, P, "must hold labels"),
    ],
)
def test_what_makes_no_sense(labels, chances, message):
    for measure in (label_log_loss, label_calibration_error):
        with pytest.raises(ValueError, match=message):
            measure(labels, chances)
    with pytest.raises(ValueError, match="there are 4 labels"):
        label_calibration_bins(Y, P, 4)
