r"""How good predicted label sets are; with `cofactor.metrics.ranking`, all measures for label data.

All functions take the true labels first and the predicted ones second, so that they work with scikit-learn's
``make_scorer``. Labels are booleans, 0 and 1, or -1 and 1, in an array, a frame or a sparse matrix; true and
predicted ones may differ in form and coding. Sparse labels are never made dense: everything follows from the
number of true, predicted and common labels of each row and of each column.

True labels that are NaN are not known, and do not count; rows and labels of which nothing is known are left out.

Notation: :math:`Y_i` and :math:`\hat Y_i` are the sets of true and of predicted labels of row i (n rows),
:math:`Y^l` and :math:`\hat Y^l` the sets of rows which have label l (L labels).

A row with neither true nor predicted labels, and a label with neither, has no F1: both parts of the ratio are 0.
The argument ``undefined`` says what it counts as: 0, 1, or "skip" to leave it out of the mean (NaN if nothing
remains). The documents differ: Kumar's thesis reports macro-F1 at the level that 0 gives, Li's thesis skips such labels
(``docs/corrections.md``, C61). Where many labels are rare, the choice can change macro-F1 by a factor of three. 0 and 1
are scikit-learn's ``zero_division``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import check_choice, check_number
from cofactor.errors import InvalidInputError
from cofactor.metrics.probabilities import label_calibration_error, label_log_loss
from cofactor.metrics.ranking import (
    Undefined,
    average_precision,
    coverage,
    divided,
    mean_defined,
    ndcg_at_k,
    one_error,
    precision_at_k,
    ranking_loss,
    ranking_report,
)
from cofactor.metrics.tables import as_label_sets, as_scores, check_columns, check_same_shape, of_known, split_unknown


class Totals(NamedTuple):
    """Number of true, of predicted and of common labels, and of known entries, for each row (or label)."""

    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    common: NDArray[np.int64]
    known: NDArray[np.int64]

    def f1(self, beta: float = 1.0) -> NDArray[np.float64]:
        """Return (1 + β²) common / (β² true + predicted), NaN where that is 0 / 0."""
        return divided((1 + beta**2) * self.common, beta**2 * self.true + self.predicted)


@dataclass(frozen=True)
class LabelCounts:
    """All that the set measures need: totals of rows and of labels."""

    rows: Totals
    labels: Totals

    def totals(self) -> Totals:
        """Return the totals of all entries, as those of a single row."""
        return Totals(*[part.sum(keepdims=True) for part in self.rows])


def label_counts(Y: Any, predicted: Any) -> LabelCounts:
    """Count labels; sparse throughout, unless some are not known.

    Examples
    --------
    >>> label_counts([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]]).rows.common
    array([1, 1])
    """
    check_columns(Y, predicted, ("Y", "predicted"))
    Y, known = split_unknown(Y)
    true, found = as_label_sets(Y), as_label_sets(predicted, "predicted")
    check_same_shape(true.shape, found.shape, ("Y", "predicted"))
    n, n_labels = true.shape
    entries = np.full(n, n_labels), np.full(n_labels, n)
    if known is not None:
        rows, columns = (np.flatnonzero(known.any(axis=axis)) for axis in (1, 0))
        if not known.any():
            raise InvalidInputError("holds no label that is known", argument="Y")
        entries = known.sum(axis=1)[rows], known.sum(axis=0)[columns]
        true, found = true[rows][:, columns], of_known(found, known)[rows][:, columns]
    tables = (true, found, true.multiply(found).tocsr())

    def totals(count: Callable[[sparse.csr_array], NDArray[np.int64]], known: NDArray[np.int64]) -> Totals:
        on, predicted, common = map(count, tables)
        return Totals(on, predicted, common, known)

    return LabelCounts(
        rows=totals(lambda table: np.diff(table.indptr).astype(np.int64), entries[0]),
        labels=totals(lambda table: np.bincount(table.indices, minlength=table.shape[1]), entries[1]),
    )


def micro_mcc(Y: Any, predicted: Any) -> float:
    """Matthews correlation of all entries together.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.

    Returns
    -------
    float
        The correlation, -1 to 1; 1 is best, and 0 is what chance gives with one rate for all labels. Equal to
        scikit-learn's ``matthews_corrcoef`` of the entries.

    Examples
    --------
    >>> round(micro_mcc([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]]), 4)
    0.3333
    """
    return matthews(label_counts(Y, predicted).totals())


def macro_mcc(Y: Any, predicted: Any) -> float:
    """Mean of the Matthews correlations of the labels.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.

    Returns
    -------
    float
        The mean, -1 to 1; 1 is best. A label that all or no rows have, or were predicted to have, counts as 0.

    Examples
    --------
    >>> macro_mcc([[1, 0], [0, 1], [1, 0]], [[1, 0], [0, 0], [1, 0]])
    0.5
    """
    return matthews(label_counts(Y, predicted).labels)


def example_mcc(Y: Any, predicted: Any) -> float:
    """Mean of the Matthews correlations of the rows.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.

    Returns
    -------
    float
        The mean, -1 to 1; 1 is best. A row that has all or none of the labels, or was predicted to, counts as 0.

    Notes
    -----
    The "macro-averaged MCC" of Li's thesis.

    Examples
    --------
    >>> example_mcc([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]])
    0.25
    """
    return matthews(label_counts(Y, predicted).rows)


def matthews(totals: Totals) -> float:
    """Return the mean correlation of rows or labels with these totals.

    Examples
    --------
    >>> matthews(Totals(*(np.array([number]) for number in (2, 2, 1, 4))))
    0.0
    """
    true, found, common, n = (part.astype(np.float64) for part in totals)
    scale = np.sqrt(true * (n - true) * found * (n - found))
    top = n * common - true * found
    return float(np.divide(top, scale, out=np.zeros_like(scale), where=scale > 0).mean())


def hamming_loss(Y: Any, predicted: Any) -> float:
    r"""Share of wrong entries, :math:`\frac{1}{nL} \sum_i |Y_i \,\triangle\, \hat Y_i|`.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.

    Returns
    -------
    float
        The loss, 0 to 1; 0 is best. Predicting no label at all has the density of the labels.

    Examples
    --------
    >>> hamming_loss([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]])
    0.3333333333333333
    """
    return _hamming(label_counts(Y, predicted))


def label_accuracy(Y: Any, predicted: Any) -> float:
    """Share of entries that are right: 1 - `hamming_loss`.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.

    Returns
    -------
    float
        The share, 0 to 1; 1 is best. Where few labels are on it is high even if none is predicted.

    Notes
    -----
    The "average accuracy" of Li's thesis, section 6.2.

    Examples
    --------
    >>> label_accuracy([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]])
    0.6666666666666667
    """
    return 1 - _hamming(label_counts(Y, predicted))


def accuracy(Y: Any, predicted: Any, undefined: Undefined = 1) -> float:
    r"""Mean Jaccard index of the label sets, :math:`\frac{1}{n} \sum_i |Y_i \cap \hat Y_i| / |Y_i \cup \hat Y_i|`.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.
    undefined : {1, 0, "skip"}, default=1
        What a row with neither true nor predicted labels counts as (``docs/corrections.md``, C61: 1).

    Returns
    -------
    float
        The mean, 0 to 1; 1 is best.

    Notes
    -----
    The "accuracy" of thesis section 5.6.2. Equal to scikit-learn's ``jaccard_score(average="samples")`` with
    ``zero_division=undefined``.

    Examples
    --------
    >>> accuracy([[1, 0, 1], [0, 0, 0]], [[1, 1, 0], [0, 0, 0]])
    0.6666666666666666
    """
    return _accuracy(label_counts(Y, predicted), undefined)


def subset_accuracy(Y: Any, predicted: Any) -> float:
    r"""Share of rows whose labels are all right, :math:`\frac{1}{n} \sum_i [Y_i = \hat Y_i]`.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.

    Returns
    -------
    float
        The share, 0 to 1; 1 is best.

    Notes
    -----
    "Exact match" of thesis section 5.6.2, whose sum runs over the n rows (``docs/corrections.md``, C28).

    Examples
    --------
    >>> subset_accuracy([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]])
    0.5
    """
    return _subset_accuracy(label_counts(Y, predicted))


def example_f1(Y: Any, predicted: Any, undefined: Undefined = 1) -> float:
    r"""Mean F1 of the rows, :math:`\frac{1}{n} \sum_i 2|Y_i \cap \hat Y_i| / (|Y_i| + |\hat Y_i|)`.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.
    undefined : {1, 0, "skip"}, default=1
        What a row with neither true nor predicted labels counts as (``docs/corrections.md``, C61: 1).

    Returns
    -------
    float
        The mean, 0 to 1; 1 is best.

    Notes
    -----
    Thesis section 5.6.2. Equal to scikit-learn's ``f1_score(average="samples")`` with
    ``zero_division=undefined``.

    Examples
    --------
    >>> example_f1([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]])
    0.75
    """
    return _example_f1(label_counts(Y, predicted), undefined)


def macro_f1(Y: Any, predicted: Any, undefined: Undefined = 0) -> float:
    r"""Mean F1 of the labels, :math:`\frac{1}{L} \sum_l 2|Y^l \cap \hat Y^l| / (|Y^l| + |\hat Y^l|)`.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.
    undefined : {0, 1, "skip"}, default=0
        What a label counts as that no row has and that was predicted for no row. 0 gives the level of Kumar's thesis;
        Li's thesis skips such labels (``docs/corrections.md``, C61).

    Returns
    -------
    float
        The mean, 0 to 1; 1 is best (unless ``undefined=0`` and there are such labels).

    Notes
    -----
    Thesis section 5.6.2. Equal to scikit-learn's ``f1_score(average="macro")`` with ``zero_division=undefined``.

    Examples
    --------
    >>> Y, predicted = [[1, 0, 1], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]]
    >>> [round(macro_f1(Y, predicted, undefined), 4) for undefined in (0, "skip", 1)]
    [0.5556, 0.8333, 0.8889]
    """
    return _macro_f1(label_counts(Y, predicted), undefined)


def micro_f1(Y: Any, predicted: Any, undefined: Undefined = 0) -> float:
    r"""F1 of all entries together, :math:`2 \sum_i |Y_i \cap \hat Y_i| \big/ \sum_i (|Y_i| + |\hat Y_i|)`.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.
    undefined : {0, 1, "skip"}, default=0
        Value if there is neither a true nor a predicted label at all ("skip": NaN).

    Returns
    -------
    float
        F1, 0 to 1; 1 is best.

    Notes
    -----
    Thesis section 5.6.2. Equal to scikit-learn's ``f1_score(average="micro")`` with ``zero_division=undefined``.

    Examples
    --------
    >>> micro_f1([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]])
    0.6666666666666666
    """
    return _micro_f1(label_counts(Y, predicted), undefined)


def micro_precision(Y: Any, predicted: Any, undefined: Undefined = 0) -> float:
    r"""Share of the predicted labels that are right, :math:`\sum_i |Y_i \cap \hat Y_i| \big/ \sum_i |\hat Y_i|`.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.
    undefined : {0, 1, "skip"}, default=0
        Value if no label is predicted at all ("skip": NaN).

    Returns
    -------
    float
        0 to 1; 1 is best.

    Examples
    --------
    >>> micro_precision([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 0]])
    0.5
    """
    return _micro_precision(label_counts(Y, predicted), undefined)


def micro_recall(Y: Any, predicted: Any, undefined: Undefined = 0) -> float:
    r"""Share of the labels that are on which are predicted, :math:`\sum_i |Y_i \cap \hat Y_i| \big/ \sum_i |Y_i|`.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.
    undefined : {0, 1, "skip"}, default=0
        Value if no label is on at all ("skip": NaN).

    Returns
    -------
    float
        0 to 1; 1 is best.

    Examples
    --------
    >>> micro_recall([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 0]]).__round__(2)
    0.33
    """
    return _micro_recall(label_counts(Y, predicted), undefined)


def f_beta(
    Y: Any,
    predicted: Any,
    beta: float,
    *,
    average: Literal["micro", "macro", "example"] = "micro",
    undefined: Undefined = 0,
) -> float:
    r"""F_β, :math:`(1 + \beta^2) p r / (\beta^2 p + r)` of precision p and recall r.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.
    beta : float
        How many times as much recall weighs as precision, at least 0; with 1 it is F1, with 0 precision.
    average : {"micro", "macro", "example"}, default="micro"
        Whether it is that of all entries together, or the mean of those of labels, or of instances.
    undefined : {0, 1, "skip"}, default=0
        What counts where there is neither a true nor a predicted label.

    Returns
    -------
    float
        0 to 1; 1 is best.

    Raises
    ------
    InvalidInputError
        If `beta` is negative or no number, or the average is not known.

    Notes
    -----
    Li's thesis, section 6.2. Equal to scikit-learn's ``fbeta_score`` with the averages "micro", "macro" and "samples"
    and ``zero_division=undefined``.

    Examples
    --------
    >>> f_beta([[1, 0, 1], [0, 0, 1]], [[1, 1, 1], [0, 1, 1]], beta=2)
    0.8823529411764706
    """
    check_number("beta", beta, low=0)
    check_choice("average", average, ["micro", "macro", "example"])
    counts = label_counts(Y, predicted)
    totals = counts.totals() if average == "micro" else counts.labels if average == "macro" else counts.rows
    return mean_defined(totals.f1(beta), undefined)


def label_report(
    Y: Any,
    predicted: Any,
    scores: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    undefined: Undefined = 0,
    empty: Undefined = 1,
) -> dict[str, float]:
    """Return all measures of predicted labels, and of scores and probabilities where given.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.
    scores : array-like of shape (n, L), optional
        Real scores, for the ranking measures.
    probabilities : array-like of shape (n, L), optional
        Probability of each label, for the log-loss and the calibration error.
    undefined : {0, 1, "skip"}, default=0
        What a label without true and predicted rows counts as in macro-F1; and what micro-F1 is if all labels are
        without.
    empty : {1, 0, "skip"}, default=1
        What a row without true and predicted labels counts as in accuracy and example F1.

    Returns
    -------
    dict of str to float
        ``hamming``, ``label_accuracy``, ``accuracy``, ``subset_accuracy``, ``example_f1``, ``macro_f1``, ``micro_f1``,
        ``example_mcc``, ``macro_mcc``, ``micro_mcc``; with scores also ``one_error``, ``coverage``, ``ranking_loss``,
        ``average_precision``, ``precision_at_1`` and, where there are that many labels, ``precision_at_3``,
        ``ndcg_at_3``, ``precision_at_5``, ``ndcg_at_5``; with probabilities also ``log_loss`` and ``ece`` (expected
        calibration error); and all others in `LABEL_METRICS`.
        Where labels of Y are not known, ranks are those among the known ones, and there is no ``ranking_loss``.

    Examples
    --------
    >>> report = label_report([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]])
    >>> round(report["hamming"], 4), report["subset_accuracy"], round(report["micro_f1"], 4)
    (0.3333, 0.5, 0.6667)
    """
    counts = label_counts(Y, predicted)
    report = {
        "hamming": _hamming(counts),
        "label_accuracy": 1 - _hamming(counts),
        "accuracy": _accuracy(counts, empty),
        "subset_accuracy": _subset_accuracy(counts),
        "example_f1": _example_f1(counts, empty),
        "macro_f1": _macro_f1(counts, undefined),
        "micro_f1": _micro_f1(counts, undefined),
        "micro_precision": _micro_precision(counts, undefined),
        "micro_recall": _micro_recall(counts, undefined),
        "example_mcc": matthews(counts.rows),
        "macro_mcc": matthews(counts.labels),
        "micro_mcc": matthews(counts.totals()),
    }
    if probabilities is not None:
        report |= {"log_loss": label_log_loss(Y, probabilities), "ece": label_calibration_error(Y, probabilities)}
    Y, known = split_unknown(Y)
    if known is not None:  # unknown labels come last, and are off
        rows = np.flatnonzero(known.any(axis=1))
        Y, predicted = Y[rows], of_known(as_label_sets(predicted, "predicted"), known)[rows]
        scores = None if scores is None else np.where(known, as_scores(scores), -np.inf)[rows]
    if scores is not None:
        report |= ranking_report(Y, scores)
    for name in LABEL_METRICS.keys() - _AT_ONCE:
        metric = LABEL_METRICS[name]
        if metric.takes == "labels":
            report[name] = metric(Y, predicted)
        elif metric.takes == "scores" and scores is not None:
            report[name] = metric(Y, scores)
    if known is not None:
        report.pop("ranking_loss", None)  # its pairs would count unknown labels as off
    return {name: report[name] for name in LABEL_METRICS if name in report}


def _hamming(counts: LabelCounts) -> float:
    true, found, common, known = counts.rows
    return float((true + found - 2 * common).sum() / known.sum())


def _accuracy(counts: LabelCounts, undefined: Undefined) -> float:
    true, found, common, _ = counts.rows
    return mean_defined(divided(common, true + found - common), undefined)


def _subset_accuracy(counts: LabelCounts) -> float:
    true, found, common, _ = counts.rows
    return float(np.mean((true == common) & (found == common)))


def _example_f1(counts: LabelCounts, undefined: Undefined) -> float:
    return mean_defined(counts.rows.f1(), undefined)


def _macro_f1(counts: LabelCounts, undefined: Undefined) -> float:
    return mean_defined(counts.labels.f1(), undefined)


def _micro_f1(counts: LabelCounts, undefined: Undefined) -> float:
    return mean_defined(counts.totals().f1(), undefined)


def _micro_precision(counts: LabelCounts, undefined: Undefined) -> float:
    every = counts.totals()
    return mean_defined(divided(every.common, every.predicted), undefined)


def _micro_recall(counts: LabelCounts, undefined: Undefined) -> float:
    every = counts.totals()
    return mean_defined(divided(every.common, every.true), undefined)


@dataclass(frozen=True)
class LabelMetric:
    """A measure by name: what it compares with the true labels, and which direction is better.

    Examples
    --------
    >>> from cofactor.metrics import LABEL_METRICS
    >>> hamming = LABEL_METRICS["hamming"]
    >>> hamming.greater_is_better, hamming([[1, 0]], [[1, 1]])
    (False, 0.5)
    """

    function: Callable[..., float]
    takes: Literal["labels", "scores", "probabilities"]
    greater_is_better: bool

    def __call__(self, Y: Any, values: Any) -> float:
        """Return the measure of predicted labels, scores or probabilities, with its own default of ``undefined``."""
        return self.function(Y, values)


def _at(function: Callable[..., float], k: int) -> LabelMetric:
    return LabelMetric(lambda Y, scores: function(Y, scores, k), "scores", greater_is_better=True)


LABEL_METRICS: dict[str, LabelMetric] = {
    "hamming": LabelMetric(hamming_loss, "labels", greater_is_better=False),
    "label_accuracy": LabelMetric(label_accuracy, "labels", greater_is_better=True),
    "accuracy": LabelMetric(accuracy, "labels", greater_is_better=True),
    "subset_accuracy": LabelMetric(subset_accuracy, "labels", greater_is_better=True),
    "example_f1": LabelMetric(example_f1, "labels", greater_is_better=True),
    "macro_f1": LabelMetric(macro_f1, "labels", greater_is_better=True),
    "micro_f1": LabelMetric(micro_f1, "labels", greater_is_better=True),
    "micro_precision": LabelMetric(micro_precision, "labels", greater_is_better=True),
    "micro_recall": LabelMetric(micro_recall, "labels", greater_is_better=True),
    "example_mcc": LabelMetric(example_mcc, "labels", greater_is_better=True),
    "macro_mcc": LabelMetric(macro_mcc, "labels", greater_is_better=True),
    "micro_mcc": LabelMetric(micro_mcc, "labels", greater_is_better=True),
    "one_error": LabelMetric(one_error, "scores", greater_is_better=False),
    "coverage": LabelMetric(coverage, "scores", greater_is_better=False),
    "ranking_loss": LabelMetric(ranking_loss, "scores", greater_is_better=False),
    "average_precision": LabelMetric(average_precision, "scores", greater_is_better=True),
    "precision_at_1": _at(precision_at_k, 1),
    "precision_at_3": _at(precision_at_k, 3),
    "ndcg_at_3": _at(ndcg_at_k, 3),
    "precision_at_5": _at(precision_at_k, 5),
    "ndcg_at_5": _at(ndcg_at_k, 5),
    "log_loss": LabelMetric(label_log_loss, "probabilities", greater_is_better=False),
    "ece": LabelMetric(label_calibration_error, "probabilities", greater_is_better=False),
}
"""Metric of each name, as in `label_report`."""

#: The metrics that `label_report` computes together, from shared counts and ranks; it calls every other one by itself.
_AT_ONCE = frozenset(LABEL_METRICS)
