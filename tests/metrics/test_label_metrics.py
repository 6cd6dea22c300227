"""Label metrics against hand-computed values, loops over all orders, and scikit-learn."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn import metrics as sk
from sklearn.dummy import DummyClassifier
from tests.together import together

from cofactor.metrics import (
    LABEL_METRICS,
    accuracy,
    average_precision,
    coverage,
    example_f1,
    example_mcc,
    f_beta,
    hamming_loss,
    label_accuracy,
    label_propensities,
    label_report,
    macro_f1,
    macro_mcc,
    micro_f1,
    micro_mcc,
    ndcg_at_k,
    one_error,
    precision_at_k,
    propensity_scored_precision_at_k,
    ranking,
    ranking_loss,
    subset_accuracy,
)
from cofactor.metrics.labels import LabelMetric
from cofactor.metrics.tables import as_label_sets

Y = np.array([[1, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 0]])
PREDICTED = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]])
RANKING_METRICS = (one_error, coverage, ranking_loss, average_precision)


@st.composite
def pairs(draw):
    """True and predicted labels of the same shape."""
    shape = draw(st.tuples(st.integers(1, 8), st.integers(2, 6)))
    return [draw(hnp.arrays(np.int8, shape, elements=st.integers(0, 1))) for _ in range(2)]


@st.composite
def scored(draw):
    """Labels and scores of few values, so that ties are common."""
    Y, _ = draw(pairs())
    values = st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 7.0])
    return Y, draw(hnp.arrays(np.float64, Y.shape, elements=values))


def test_tables_of_labels_count_beyond_127() -> None:
    on = np.ones((300, 200), dtype=np.int8)
    for form in (np.asarray, sparse.csr_array):
        table = as_label_sets(form(on))
        assert (table.T @ table).max() == 300
        assert (table @ table.T).max() == 200


def test_hand_computed_values():
    # Rows: common 1, 1, 1 of true 2, 1, 2 and predicted 2, 1, 1; labels: F1 1, 0, 2/3, undefined.
    expected = {
        "hamming": pytest.approx(3 / 12, rel=1e-15),
        "accuracy": pytest.approx((1 / 3 + 1 + 1 / 2) / 3, rel=1e-15),
        "subset_accuracy": pytest.approx(1 / 3, rel=1e-15),
        "example_f1": pytest.approx((1 / 2 + 1 + 2 / 3) / 3, rel=1e-15),
        "macro_f1": pytest.approx((1 + 0 + 2 / 3 + 0) / 4, rel=1e-15),
        "micro_f1": pytest.approx(6 / 9, rel=1e-15),
    }
    report = label_report(Y, PREDICTED)
    assert {name: report[name] for name in expected} == expected


def test_undefined_labels_and_rows():
    assert macro_f1(Y, PREDICTED, "skip") == pytest.approx((1 + 2 / 3) / 3, rel=1e-15)
    assert macro_f1(Y, PREDICTED, 1) == pytest.approx((2 + 2 / 3) / 4, rel=1e-15)
    true, found = [[0, 0], [1, 0]], [[0, 0], [1, 0]]
    for metric in (accuracy, example_f1):
        assert [metric(true, found, undefined) for undefined in (0, "skip", 1)] == [0.5, 1.0, 1.0]
        assert metric(true, found) == 1.0
    report = label_report(true, found, undefined="skip", empty=0)
    assert (report["macro_f1"], report["example_f1"], report["accuracy"]) == (1.0, 0.5, 0.5)


def test_nothing_at_all():
    nothing = np.zeros((2, 3), dtype=bool)
    assert micro_f1(nothing, nothing) == macro_f1(nothing, nothing) == 0
    assert micro_f1(nothing, nothing, 1) == accuracy(nothing, nothing) == subset_accuracy(nothing, nothing) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(micro_f1(nothing, nothing, "skip"))
        assert math.isnan(coverage(nothing, np.zeros((2, 3)), "skip"))
    for bad in (2, "zero", None):
        with pytest.raises(ValueError, match='undefined must be 0, 1 or "skip"'):
            macro_f1(nothing, nothing, bad)


@settings(max_examples=25)
@given(pairs(), st.sampled_from([0, 1]))
def test_set_metrics_equal_scikit_learn(case, zero):
    Y, found = case
    options = {"zero_division": float(zero)}
    assert hamming_loss(Y, found) == pytest.approx(sk.hamming_loss(Y, found), abs=1e-14)
    assert subset_accuracy(Y, found) == pytest.approx(sk.accuracy_score(Y, found), abs=1e-14)
    assert accuracy(Y, found, zero) == pytest.approx(sk.jaccard_score(Y, found, average="samples", **options))
    for metric, average in ((example_f1, "samples"), (macro_f1, "macro"), (micro_f1, "micro")):
        assert metric(Y, found, zero) == pytest.approx(sk.f1_score(Y, found, average=average, **options), abs=1e-14)
    for ours, average, beta in (("example", "samples", 0.5), ("macro", "macro", 2), ("micro", "micro", 2)):
        expected = sk.fbeta_score(Y, found, beta=beta, average=average, **options)
        assert f_beta(Y, found, beta, average=ours, undefined=zero) == pytest.approx(expected, abs=1e-14)


@settings(max_examples=25)
@given(pairs())
def test_skipping_equals_scikit_learn_on_the_rest(case):
    Y, found = case
    labels = (Y | found).any(axis=0)
    rows = (Y | found).any(axis=1)
    if labels.any():
        # scikit-learn wants two columns to see label indicators.
        each = [sk.f1_score(Y[:, label], found[:, label]) for label in np.flatnonzero(labels)]
        assert macro_f1(Y, found, "skip") == pytest.approx(np.mean(each))
        expected = sk.jaccard_score(Y[rows], found[rows], average="samples")
        assert accuracy(Y, found, "skip") == pytest.approx(expected)
        assert micro_f1(Y, found, "skip") == micro_f1(Y, found)
    else:
        assert math.isnan(macro_f1(Y, found, "skip"))


def test_correlations_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    true, found = rng.integers(2, size=(2, 40, 9))
    found[3], true[4], true[:, 2] = 0, 1, 0  # no correlation is defined: 0
    for metric, pairs_ in ((example_mcc, (true, found)), (macro_mcc, (true.T, found.T))):
        expected = np.mean([sk.matthews_corrcoef(*pair) for pair in zip(*pairs_, strict=True)])
        assert metric(true, found) == pytest.approx(expected, abs=1e-14)
        assert metric(sparse.csr_array(true), sparse.csr_array(found)) == metric(true, found)
    assert micro_mcc(true, found) == pytest.approx(sk.matthews_corrcoef(true.ravel(), found.ravel()), abs=1e-14)
    assert label_accuracy(true, found) == pytest.approx(np.mean(true == found), abs=1e-14)
    assert micro_mcc(true[:, :3], 1 - true[:, :3]) == pytest.approx(-1, abs=1e-14)


def test_correlations_of_known_labels_alone():
    rng = np.random.default_rng(1)
    true, found = rng.integers(2, size=(2, 30, 4)).astype(float)
    true[rng.random(true.shape) < 0.3] = np.nan
    known = ~np.isnan(true)
    each = [sk.matthews_corrcoef(true[on, k], found[on, k]) for k, on in enumerate(known.T)]
    assert macro_mcc(true, found) == pytest.approx(np.mean(each), abs=1e-14)
    assert micro_mcc(true, found) == pytest.approx(sk.matthews_corrcoef(true[known], found[known]), abs=1e-14)


@settings(max_examples=25)
@given(scored())
def test_ranking_metrics_equal_scikit_learn(case):
    Y, scores = case
    some = Y.any(axis=1)
    assert ranking_loss(Y, scores) == pytest.approx(sk.label_ranking_loss(Y, scores))
    assert average_precision(Y, scores) == pytest.approx(sk.label_ranking_average_precision_score(Y, scores))
    for k in range(1, Y.shape[1] + 1):
        assert ndcg_at_k(Y, scores, k) == pytest.approx(sk.ndcg_score(Y, scores, k=k), abs=1e-12)
    if some.any():
        assert coverage(Y, scores, "skip") == pytest.approx(sk.coverage_error(Y[some], scores[some]) - 1)
        assert coverage(Y, scores) == pytest.approx(coverage(Y, scores, "skip") * some.mean())


@settings(max_examples=25)
@given(scored(), st.integers(1, 2))
def test_ties_are_broken_in_every_way(case, k):
    """One-error and precisions are means over all orders of the labels in which scores do not increase."""
    Y, scores = case
    weights = np.linspace(1, 3, Y.shape[1])
    errors, precisions, weighted = [], [], []
    for truth, row in zip(Y[:3], scores[:3], strict=True):
        orders = [o for o in itertools.permutations(range(row.size)) if (np.diff(row[list(o)]) <= 0).all()]
        errors.append(np.mean([1 - truth[o[0]] for o in orders]))
        precisions.append(np.mean([truth[list(o[:k])].mean() for o in orders]))
        weighted.append(np.mean([(truth * weights)[list(o[:k])].mean() for o in orders]))
    assert one_error(Y[:3], scores[:3]) == pytest.approx(np.mean(errors))
    assert precision_at_k(Y[:3], scores[:3], k) == pytest.approx(np.mean(precisions))
    found = propensity_scored_precision_at_k(Y[:3], scores[:3], 1 / weights, k, normalize=False)
    assert found == pytest.approx(np.mean(weighted))


@settings(max_examples=25)
@given(scored())
def test_only_the_order_of_scores_matters(case):
    Y, scores = case
    for metric in (*RANKING_METRICS, lambda Y, s: ndcg_at_k(Y, s, 2), lambda Y, s: precision_at_k(Y, s, 2)):
        assert metric(Y, np.exp(scores) * 3 - 8) == pytest.approx(metric(Y, scores), abs=1e-14)


def test_one_error_of_a_row_without_labels():
    true, scores = [[0, 0], [1, 0]], [[1.0, 0.0], [1.0, 0.0]]
    assert [one_error(true, scores, undefined) for undefined in (0, 1, "skip")] == [0, 0.5, 0]
    assert one_error(true, scores) == 0.5
    assert precision_at_k(true, scores, 1) == 0.5
    assert [average_precision(true, scores, undefined) for undefined in (0, 1, "skip")] == [0.5, 1, 1]


def test_infinite_scores_are_ordinary_ones():
    """Labels which are always (never) on have scores of plus (minus) infinity."""
    scores = np.array([[np.inf, 0.5, -np.inf, -np.inf], [np.inf, 2.0, 3.0, -np.inf], [np.inf, 9.0, 9.0, -np.inf]])
    finite = np.clip(scores, -100, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, metric in LABEL_METRICS.items():
            if metric.takes == "scores" and not name.endswith("5"):
                assert metric(Y, scores) == metric(Y, finite), name


def test_propensities_of_jain_and_others():
    labels = sparse.random_array((500, 6), density=0.2, rng=np.random.default_rng(0), format="csr")
    labels.data[:] = 1
    counts = labels.sum(axis=0)
    c = (math.log(500) - 1) * 2.5**0.55
    expected = [1 / (1 + c * math.exp(-0.55 * math.log(count + 1.5))) for count in counts]
    assert label_propensities(labels) == pytest.approx(expected, rel=1e-12)
    assert (label_propensities([[1, 0]]) == 1).all()  # one row: log N - 1 is negative
    assert (label_propensities([[1, 0]], b=0) == 1).all()  # also for a label without rows
    assert label_propensities([[1, 0]] * 3, b=0)[1] == 0
    with pytest.raises(ValueError, match="a must be positive"):
        label_propensities(labels, a=0)


def test_propensity_scored_precision():
    propensities = np.array([0.9, 0.5, 0.2, 0.7])
    scores = np.array([[4.0, 3, 2, 1], [4, 3, 2, 1], [1, 2, 3, 4]])
    # Reached: row 0 label 0, row 1 none, row 2 none of (3, 2); best: (0, 2), (2), (1, 0).
    reached = 1 / 0.9
    best = (1 / 0.9 + 1 / 0.2) + 1 / 0.2 + (1 / 0.5 + 1 / 0.9)
    assert propensity_scored_precision_at_k(Y, scores, propensities, 2) == pytest.approx(reached / best)
    found = propensity_scored_precision_at_k(Y, scores, propensities, 2, normalize=False)
    assert found == pytest.approx(reached / 6)
    ones = np.ones(4)
    found = propensity_scored_precision_at_k(Y, scores, ones, 2, normalize=False)
    assert found == pytest.approx(precision_at_k(Y, scores, 2))
    assert propensity_scored_precision_at_k(Y, Y * 1.0, propensities, 3) == pytest.approx(1)
    assert math.isnan(propensity_scored_precision_at_k(np.zeros((1, 4)), scores[:1], propensities, 2))
    for bad in ([1.0], [0.0, 1, 1, 1]):
        with pytest.raises(ValueError, match="4 positive numbers"):
            propensity_scored_precision_at_k(Y, scores, bad, 2)


FORMS = {
    "bool": lambda Y: Y.astype(bool),
    "float": lambda Y: Y.astype(np.float32),
    "signs": lambda Y: 2 * Y.astype(np.int8) - 1,
    "list": lambda Y: Y.tolist(),
    "object": lambda Y: Y.astype(object),
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "coo_array": lambda Y: sparse.coo_array(Y.astype(bool)),
    "sparse signs": lambda Y: sparse.csr_array(2 * Y.astype(np.int8) - 1),
    "stored zeros": lambda Y: sparse.csr_array((Y.ravel(), np.tile(np.arange(4), 3), [0, 4, 8, 12]), shape=(3, 4)),
    "pandas": lambda Y: pd.DataFrame(Y, columns=list("abcd")),
    "polars": lambda Y: pl.DataFrame(Y.astype(bool)),
}


@together("form", FORMS)
def test_every_form_and_coding(form):
    scores = PREDICTED + 0.1 * np.arange(4)
    expected = label_report(Y, PREDICTED, scores)
    assert label_report(FORMS[form](Y), PREDICTED, scores) == expected
    assert label_report(Y, FORMS[form](PREDICTED), scores) == expected


def test_masked_labels_are_not_known():
    with pytest.raises(ValueError, match="Y is a masked array without a value in row 0, column"):
        label_report(np.ma.masked_array(Y, mask=PREDICTED == 1), PREDICTED)
    with pytest.raises(ValueError, match="scores is a masked array"):
        label_report(Y, PREDICTED, np.ma.masked_array(PREDICTED + 0.5, Y == 1))


def test_arguments_are_not_changed():
    table = sparse.csr_array((np.array([1, 0, -1]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    with pytest.raises(ValueError, match="labels"):
        as_label_sets(table)
    assert table.data.tolist() == [1, 0, -1]
    assert table.nnz == 3


def test_sparse_predictions_are_never_made_dense():
    """A million rows of a million labels, in place of 10^12 entries."""
    n = 1_000_000
    diagonal = sparse.eye_array(n, format="csr")
    half = sparse.csr_array((np.ones(n // 2), (np.arange(n // 2), np.arange(n // 2))), shape=(n, n))
    report = label_report(diagonal, half)
    assert report["hamming"] == pytest.approx(0.5 / n)
    assert report["micro_f1"] == pytest.approx(2 / 3)
    assert report["macro_f1"] == report["example_f1"] == report["accuracy"] == report["subset_accuracy"] == 0.5


def test_blocks_of_rows_do_not_change_the_values(monkeypatch):
    rng = np.random.default_rng(3)
    labels, scores = rng.random((50, 7)) < 0.3, rng.normal(size=(50, 7)).round(1)
    whole = label_report(labels, scores > 0.4, scores)
    monkeypatch.setattr(ranking, "_BLOCK", 20)
    assert label_report(labels, scores > 0.4, scores) == whole
    assert len(list(ranking.ranked_blocks(as_label_sets(labels), scores))) == 25


def test_report_has_every_metric_with_its_default():
    scores = np.random.default_rng(0).normal(size=(3, 6))
    labels = np.hstack([Y, Y[:, :2]])
    given = {"labels": scores > 0, "scores": scores, "probabilities": 1 / (1 + np.exp(-scores))}
    report = label_report(labels, *given.values())
    assert list(report) == list(LABEL_METRICS)
    for name, metric in LABEL_METRICS.items():
        assert report[name] == pytest.approx(metric(labels, given[metric.takes]))
    assert "precision_at_5" not in label_report(Y, PREDICTED, PREDICTED)


def test_a_metric_needs_one_line_in_the_table(monkeypatch):
    def jaccard_micro(Y, predicted):
        true, found = as_label_sets(Y), as_label_sets(predicted)
        return true.multiply(found).nnz / (true + found).nnz

    def spread(Y, scores):
        return float(np.ptp(scores))

    monkeypatch.setitem(LABEL_METRICS, "jaccard_micro", LabelMetric(jaccard_micro, "labels", greater_is_better=True))
    monkeypatch.setitem(LABEL_METRICS, "spread", LabelMetric(spread, "scores", greater_is_better=True))
    report = label_report([[1, 0], [1, 1]], [[1, 0], [0, 1]], [[2.0, -1.0], [0.0, 1.0]])
    assert (report["jaccard_micro"], report["spread"]) == (2 / 3, 3.0)
    assert "spread" not in label_report([[1, 0]], [[1, 0]])


def test_directions():
    perfect = {name: metric(Y, Y) for name, metric in LABEL_METRICS.items() if not name.endswith("5")}
    wrong = {name: metric(Y, 1 - Y) for name, metric in LABEL_METRICS.items() if not name.endswith("5")}
    for name, value in perfect.items():
        assert (value > wrong[name]) == LABEL_METRICS[name].greater_is_better, name


def test_scorers_of_scikit_learn():
    model = DummyClassifier(strategy="constant", constant=PREDICTED[0]).fit(np.zeros((3, 1)), Y)
    expected = micro_f1(Y, np.tile(PREDICTED[0], (3, 1)))
    assert sk.make_scorer(micro_f1)(model, np.zeros((3, 1)), Y) == expected
    assert sk.make_scorer(hamming_loss, greater_is_better=False)(model, np.zeros((3, 1)), Y) < 0


@together(
    ("labels", "message"),
    [
        ([1, 0, 1], r"Y must be a non-empty array of shape \(rows, labels\), found shape \(3,\)"),
        (np.zeros((0, 3)), "non-empty"),
        ([[1.0, np.nan]], "predicted must hold labels.*found 1.0, nan"),  # in Y it is an unknown label
        ([[0.5, 1.0]], "found 0.5, 1.0"),
        ([[0, 1, -1]], "found -1, 0, 1"),
        ([[1, 2]], "found 1, 2"),
        ([["yes", "no"]], "found no, yes"),
        (np.array([[object(), 1]], dtype=object), "must hold numbers"),
        (sparse.csr_array([[1, 0, -1]]), "found -1, 0, 1"),
        (sparse.csr_array([[1.0, np.nan]]), "Y must hold labels"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        micro_f1(labels, labels)


def test_bad_scores_and_shapes():
    with pytest.raises(ValueError, match=r"Y has shape \(3, 4\) but predicted has \(3, 3\)"):
        micro_f1(Y, PREDICTED[:, :3])
    with pytest.raises(ValueError, match=r"Y has shape \(3, 4\) but scores has \(2, 4\)"):
        one_error(Y, PREDICTED[:2])
    scores = Y.astype(float)
    scores[1, 2] = np.nan
    with pytest.raises(ValueError, match="1 NaN, the first in row 1, column 2"):
        coverage(Y, scores)
    with pytest.raises(TypeError, match="must be dense"):
        coverage(Y, sparse.csr_array(Y))
    for k in (0, 5, 1.0, True):
        with pytest.raises(ValueError, match="k=.*: expected a whole number of at least 1 and at most 4"):
            precision_at_k(Y, PREDICTED, k)
        with pytest.raises(ValueError, match="k=.*: expected a whole number"):
            ndcg_at_k(Y, PREDICTED, k)
        with pytest.raises(ValueError, match="k=.*: expected a whole number"):
            propensity_scored_precision_at_k(Y, PREDICTED, np.ones(4), k)


@together("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_columns_in_another_order_are_refused(frame):
    true, other = frame(dict(zip("abcd", Y.T, strict=True))), frame(dict(zip("bacd", Y.T, strict=True)))
    for metric in (micro_f1, subset_accuracy, one_error, average_precision):
        with pytest.raises(ValueError, match=r"same columns in another order; take \w+\[list\(Y.columns\)\]"):
            metric(true, other)
        metric(true, true)
    assert micro_f1(true, frame(dict(zip("wxyz", PREDICTED.T, strict=True)))) == micro_f1(Y, PREDICTED)
