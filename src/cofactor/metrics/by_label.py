r"""Which labels are bad: a row of measures for each label, those that cost most first.

Notation: label l is on in the rows :math:`Y^l` and predicted in the rows :math:`\hat Y^l`. Sparse labels are never made
dense as a whole, and scores and probabilities are worked on in blocks of labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import check_number
from cofactor.chunked import batches
from cofactor.errors import InvalidInputError
from cofactor.metrics.probabilities import check_chances
from cofactor.metrics.ranking import divided
from cofactor.metrics.tables import as_label_sets, as_scores, check_same_shape, of_known, split_unknown
from cofactor.text import did_you_mean, plural, shorten

_CELLS = 1 << 22  #: cells of dense blocks: 32 MB in float64
_LEAST = float(np.finfo(np.float64).eps)  # what a probability of 0 counts as, as in `log_loss` of ratings
_N_BINS = 15

#: Columns whose smallest values are the worst.
_GOOD = frozenset({"precision", "recall", "f1", "average_precision"})
_HEADINGS = {
    "average_precision": "AP",
    "f1": "F1",
    "calibration_error": "ECE",
    "log_loss": "log-loss",
    "confused_with": "confused with",
}
_WIDEST = 28  #: characters of a name in texts


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Measures of labels, a row for each label; see `report_by_label`.

    Attributes
    ----------
    columns : dict of str to ndarray of shape (L,)
        The columns by name. ``pandas.DataFrame`` and ``polars.DataFrame`` take this dict.
    n_rows : int
        Number of instances behind it.

    Examples
    --------
    >>> table = report_by_label([[1, 0], [1, 1]], [[0, 1], [1, 1]], label_names=["sea", "sun"])
    >>> table.columns["label"].tolist(), table.sort("precision").columns["label"].tolist()
    (['sea', 'sun'], ['sun', 'sea'])
    """

    columns: Mapping[str, NDArray[Any]]
    n_rows: int

    def __len__(self) -> int:
        return len(self.columns["label"])

    def __str__(self) -> str:
        return self.text()

    def sort(self, by: str = "errors", *, descending: bool | None = None) -> LabelTable:
        """Return the table with its rows in another order; equal ones keep theirs.

        Parameters
        ----------
        by : str, default="errors"
            Name of a column.
        descending : bool, optional
            Whether large values come first; by default the worst come first: small precision, recall, F1 and average
            precision, large numbers of anything else; names by the alphabet. Rows without a value are always last.

        Raises
        ------
        InvalidInputError
            If there is no such column.
        """
        if by not in self.columns:
            raise InvalidInputError(did_you_mean(by, self.columns), argument="by", found=by)
        values = self.columns[by]
        words = values.dtype == object
        falling = (not words and by not in _GOOD) if descending is None else descending
        if words:
            _, keys = np.unique(values.astype(str), return_inverse=True)
            missing = np.array([value is None for value in values])
        else:
            keys, missing = values, np.isnan(values.astype(np.float64))
        order = np.argsort(-keys if falling else keys, kind="stable")
        return self.take(np.concatenate([order[~missing[order]], order[missing[order]]]))

    def head(self, n: int) -> LabelTable:
        """Return the first n rows."""
        return self.take(np.arange(min(n, len(self))))

    def take(self, rows: NDArray[Any]) -> LabelTable:
        """Return some rows, in this order."""
        return LabelTable({name: values[rows] for name, values in self.columns.items()}, self.n_rows)

    def records(self) -> list[dict[str, Any]]:
        """Return a dict for each label, None where there is no value; JSON can hold them, frames take the list."""
        names = list(self.columns)
        return [
            dict(zip(names, row, strict=True)) for row in zip(*map(plain_values, self.columns.values()), strict=True)
        ]

    def text(self, n: int | None = 20) -> str:
        """Return the first rows in aligned columns, a dash where there is no value.

        Parameters
        ----------
        n : int or None, default=20
            How many labels to show; None for all.
        """
        shown = self if n is None else self.head(n)
        cells = [[heading(name), *written(values)] for name, values in shown.columns.items()]
        widths = [max(map(len, column)) for column in cells]
        left = [values.dtype == object for values in shown.columns.values()]
        lines = [
            "  ".join(
                cell.ljust(width) if flush else cell.rjust(width)
                for cell, width, flush in zip(row, widths, left, strict=True)
            ).rstrip()
            for row in zip(*cells, strict=True)
        ]
        rest = len(self) - len(shown)
        return "\n".join([*lines, *([f"... and {plural(rest, 'more label')}"] if rest else [])])


def heading(name: str) -> str:
    """Return what stands above a column in texts and pages.

    Examples
    --------
    >>> heading("average_precision"), heading("support")
    ('AP', 'support')
    """
    return _HEADINGS.get(name, name)


def written(values: NDArray[Any], widest: int = _WIDEST, digits: int = 3) -> list[str]:
    """Return the cells of a column as people read them, long names cut.

    Examples
    --------
    >>> written(np.array([0.5, np.nan])), written(np.array([3, 1000])), written(np.array(["sea", None], dtype=object))
    (['0.500', '–'], ['3', '1,000'], ['sea', '–'])
    """
    if values.dtype.kind == "f":
        return ["–" if np.isnan(value) else f"{value:.{digits}f}" for value in values]
    if values.dtype != object:
        return [f"{value:,}" for value in values]
    names = ["–" if value is None else " ".join(str(value).split()) for value in values]
    return [name if len(name) <= widest else f"{name[: widest - 1]}…" for name in names]


def report_by_label(
    Y: Any,
    predicted: Any,
    scores: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    label_names: Iterable[Any] | None = None,
    n_bins: int = _N_BINS,
) -> LabelTable:
    r"""Return measures of each label, the labels that cost most first.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1. What is NaN in Y is not known, and does not count.
    scores : array-like of shape (n, L), optional
        Real scores, for the average precision.
    probabilities : array-like of shape (n, L), optional
        Probability of each label, 0 to 1, for the calibration error and the log-loss.
    label_names : iterable of length L, optional
        Names of the labels; by default the columns of `Y` or `predicted` if one is a frame, else 0 to L - 1.
    n_bins : int, default=15
        Number of bins of the calibration error.

    Returns
    -------
    LabelTable
        With the columns

        ================= ================================================================================
        label             its name
        support           number of rows that have it, :math:`|Y^l|`
        predicted         number of rows for which it was predicted, :math:`|\hat Y^l|`
        errors            rows in which it is missed or wrong, :math:`|Y^l \triangle \hat Y^l|`
        precision         :math:`|Y^l \cap \hat Y^l| / |\hat Y^l|`
        recall            :math:`|Y^l \cap \hat Y^l| / |Y^l|`
        f1                :math:`2 |Y^l \cap \hat Y^l| / (|Y^l| + |\hat Y^l|)`
        average_precision mean, over the rows i that have it, of the share of rows with it among all
                          rows whose score is at least that of i (with `scores`)
        calibration_error expected calibration error of its probabilities in bins of equal width: mean
                          distance between a bin's mean probability and the share of its rows that have
                          the label, weighted by the size of the bin (with `probabilities`)
        log_loss          mean of -ln of the probability of what is true (with `probabilities`)
        confused_with     the label most often predicted in its place: the k which is predicted and not
                          true in most of the rows where this label is true and not predicted; of several
                          the first; None if there is none
        confused          number of these rows
        ================= ================================================================================

        A measure that would be 0/0 is NaN. Rows are sorted by `errors`, which is
        :math:`(|Y^l| + |\hat Y^l|)(1 - F_1)`: how bad a label is, times how much it matters. Of several with the same
        number the one with the smaller F1 comes first, then the order of the labels decides.

    Raises
    ------
    InvalidInputError
        If shapes differ, names are not as many as labels, two frames have other columns, or a probability is not from
        0 to 1.

    Examples
    --------
    >>> Y, predicted = [[1, 0, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> print(report_by_label(Y, predicted, label_names=["sea", "sun", "sky"]))
    label  support  predicted  errors  precision  recall     F1  confused with  confused
    sea          2          1       1      1.000   0.500  0.667  sun                   1
    sun          1          2       1      0.500   1.000  0.667  –                     0
    sky          1          1       0      1.000   1.000  1.000  –                     0
    """
    tally = LabelTally(label_names, n_bins=n_bins)
    tally.add(Y, predicted, scores, probabilities)
    return tally.table()


class LabelTally:
    """Adds up what `report_by_label` needs over parts of the data, such as the test parts of folds.

    Counts and calibration bins are those of all parts together. The average precision is computed in each part, since
    scores of different fits need not be comparable; the mean is weighted by the label's support. Scores and
    probabilities must be given for all parts or for none.

    Parameters
    ----------
    label_names, n_bins
        As in `report_by_label`.

    Examples
    --------
    >>> tally = LabelTally(["sea", "sun"])
    >>> tally.add([[1, 0]], [[0, 1]])
    >>> tally.add([[1, 1]], [[1, 1]])
    >>> tally.table().columns["recall"].tolist()
    [0.5, 1.0]
    """

    def __init__(self, label_names: Iterable[Any] | None = None, *, n_bins: int = _N_BINS) -> None:
        check_number("n_bins", n_bins, low=1, whole=True)
        self._names = None if label_names is None else list(label_names)
        self._columns: list[Any] | None = None  # of frames
        self._n_bins = int(n_bins)
        self._missed: list[sparse.csr_array] = []
        self._wrong: list[sparse.csr_array] = []
        self._n_rows = 0
        self._counts: dict[str, NDArray[Any]] = {}
        self._sums: dict[str, NDArray[np.float64]] = {}

    def add(
        self, Y: Any, predicted: Any, scores: ArrayLike | None = None, probabilities: ArrayLike | None = None
    ) -> None:
        """Add a part of the data.

        Parameters
        ----------
        Y, predicted, scores, probabilities
            As in `report_by_label`.
        """
        self._name_by_frames({"Y": Y, "predicted": predicted})
        Y, known = split_unknown(Y)
        true, found = as_label_sets(Y), as_label_sets(predicted, "predicted")
        check_same_shape(true.shape, found.shape, ("Y", "predicted"))
        found = of_known(found, known)
        self._check_width(true.shape[1])
        common = sparse.csr_array(true.multiply(found))
        support, n_found = _column_counts(true), _column_counts(found)
        parts: dict[str, NDArray[Any]] = {"support": support, "predicted": n_found, "common": _column_counts(common)}
        parts["known"] = np.full(true.shape[1], true.shape[0]) if known is None else known.sum(axis=0)
        sums: dict[str, NDArray[np.float64]] = {}
        if scores is not None:
            table = as_scores(scores)
            check_same_shape(true.shape, table.shape, ("Y", "scores"))
            table = table if known is None else np.where(known, table, -np.inf)  # unknown labels come last
            sums["average_precision"] = np.nan_to_num(_average_precisions(true, table)) * support
        if probabilities is not None:
            chances = as_scores(probabilities, "probabilities")
            check_same_shape(true.shape, chances.shape, ("Y", "probabilities"))
            check_chances(chances)
            sums |= _calibration(true, chances, self._n_bins, known)
        self._add(true.shape[0], parts, sums, [_without(true, common)], [_without(found, common)])

    def merge(self, other: LabelTally) -> None:
        """Add all parts of another tally.

        Parameters
        ----------
        other : LabelTally
            Of the same labels. It is not changed.
        """
        if other._n_rows:
            self._check_width(len(other._counts["support"]))
            self._add(other._n_rows, other._counts, other._sums, other._missed, other._wrong)

    def _add(
        self,
        n_rows: int,
        counts: Mapping[str, NDArray[Any]],
        sums: Mapping[str, NDArray[np.float64]],
        missed: list[sparse.csr_array],
        wrong: list[sparse.csr_array],
    ) -> None:
        if self._n_rows and sums.keys() != self._sums.keys():
            raise InvalidInputError("give scores and probabilities for all parts, or for none", argument="scores")
        for name, values in counts.items():
            self._counts[name] = self._counts.get(name, 0) + values
        for name, values in sums.items():
            self._sums[name] = self._sums.get(name, 0) + values
        self._missed += missed
        self._wrong += wrong
        self._n_rows += n_rows

    def table(self) -> LabelTable:
        """Return the measures of all parts, sorted as in `report_by_label`."""
        if not self._n_rows:
            raise InvalidInputError("there are no rows to report on", advice="call add first")
        support, predicted, common = (self._counts[name] for name in ("support", "predicted", "common"))
        names = self._name_array(len(support))
        columns: dict[str, NDArray[Any]] = {
            "label": names,
            "support": support,
            "predicted": predicted,
            "errors": support + predicted - 2 * common,
            "precision": divided(common, predicted),
            "recall": divided(common, support),
            "f1": divided(2 * common, support + predicted),
        }
        if "average_precision" in self._sums:
            columns["average_precision"] = divided(self._sums["average_precision"], support)
        if "log_loss" in self._sums:
            distance = np.abs(self._sums["binned"] - self._sums["came_true"]).sum(axis=1)
            columns["calibration_error"] = divided(distance, self._counts["known"])
            columns["log_loss"] = divided(self._sums["log_loss"], self._counts["known"])
        other, n_other = _most_confused(sparse.vstack(self._missed), sparse.vstack(self._wrong))
        columns["confused_with"] = names[other]
        columns["confused_with"][n_other == 0] = None
        columns["confused"] = n_other
        return LabelTable(columns, self._n_rows).sort("f1").sort("errors")

    def _name_by_frames(self, tables: Mapping[str, Any]) -> None:
        """Take names of labels from the first frame; the others must have the same columns, in the same order."""
        for name, table in tables.items():
            columns = getattr(table, "columns", None)
            if columns is None:
                continue
            if self._columns is not None and list(columns) != self._columns:
                problem = f"the columns of {name} must be those of Y, in the same order: {shorten(self._columns)}"
                raise InvalidInputError(problem, argument=name)
            self._columns = list(columns)

    def _check_width(self, n_labels: int) -> None:
        if self._names is not None and len(self._names) != n_labels:
            raise InvalidInputError(
                f"label_names holds {plural(len(self._names), 'name')} for {plural(n_labels, 'label')}",
                argument="label_names",
            )
        if self._n_rows and len(self._counts["support"]) != n_labels:
            raise InvalidInputError(f"this part has {n_labels} labels, those before {len(self._counts['support'])}")

    def _name_array(self, n_labels: int) -> NDArray[Any]:
        names = np.empty(n_labels, dtype=object)
        known = self._columns if self._names is None else self._names
        names[:] = range(n_labels) if known is None else known
        return names


def plain_values(values: NDArray[Any]) -> list[Any]:
    """Return values as JSON can hold them: None in place of NaN."""
    if values.dtype.kind == "f":
        return [None if value != value else value for value in values.tolist()]
    return [value.item() if isinstance(value, np.generic) else value for value in values.tolist()]


def _column_counts(table: sparse.csr_array) -> NDArray[np.int64]:
    return np.bincount(table.indices, minlength=table.shape[1])


def _without(table: sparse.csr_array, common: sparse.csr_array) -> sparse.csr_array:
    """Return the ones of a table that another one, which is part of it, has not."""
    rest = sparse.csr_array(table - common)
    rest.eliminate_zeros()
    return rest


def _most_confused(missed: sparse.csr_array, wrong: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each label which one is most often wrong where it is missed, and in how many rows."""
    n_labels = missed.shape[1]
    other, n_other = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    by_label = sparse.csr_array(missed.T)
    there = np.flatnonzero(np.diff(by_label.indptr))
    for block in batches(len(there), max(1, _CELLS // n_labels)):
        together = (by_label[there[block]] @ wrong).toarray()  # block × L
        best = np.argmax(together, axis=1)
        other[there[block]], n_other[there[block]] = best, together[np.arange(len(best)), best]
    return other, n_other


def _average_precisions(true: sparse.csr_array, scores: NDArray[Any]) -> NDArray[np.float64]:
    """Return the average precision of each label over the rows; NaN without support. A tie counts against it."""
    n, n_labels = true.shape
    columns = sparse.csc_array(true)
    found = np.full(n_labels, np.nan)
    for block in batches(n_labels, max(1, _CELLS // n)):
        table = np.ascontiguousarray(scores[:, block].T)
        for values, label in zip(table, range(block.start, block.stop), strict=True):
            rows = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
            if not len(rows):
                continue
            own = np.sort(values[rows])
            hits = len(own) - np.searchsorted(own, own)
            found[label] = np.mean(hits / (n - np.searchsorted(np.sort(values), own)))
    return found


def _calibration(
    true: sparse.csr_array, chances: NDArray[Any], n_bins: int, known: NDArray[np.bool_] | None
) -> dict[str, NDArray[np.float64]]:
    """Return sums over rows, for each label: its log-losses; in each bin its probabilities, and how many came true."""
    n, n_labels = true.shape
    columns = sparse.csc_array(true)
    inner = np.linspace(0, 1, n_bins + 1)[1:-1]
    loss = np.empty(n_labels)
    binned, came_true = np.empty((n_labels, n_bins)), np.empty((n_labels, n_bins))
    for block in batches(n_labels, max(1, _CELLS // n)):
        width = block.stop - block.start
        p = chances[:, block].astype(np.float64)
        on = columns[:, block].toarray().astype(bool)
        losses = -np.log(np.maximum(np.where(on, p, 1 - p), _LEAST))
        if known is not None:  # what is not known adds nothing
            losses, p = losses * known[:, block], p * known[:, block]
        loss[block] = losses.sum(axis=0)
        bins = np.searchsorted(inner, p, side="left") + n_bins * np.arange(width)  # a bin has its upper edge
        size = (width, n_bins)
        binned[block] = np.bincount(bins.ravel(), p.ravel(), width * n_bins).reshape(size)
        came_true[block] = np.bincount(bins[on], minlength=width * n_bins).reshape(size)
    return {"log_loss": loss, "binned": binned, "came_true": came_true}
