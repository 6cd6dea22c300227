r"""Tables of means: data sets × methods, as text, Markdown or LaTeX.

=============  ====================================================================
`mean_table`   mean ± standard deviation (rank) of one measure, from tidy records
`split_scores` the scores on each split of one data set, for tests over splits
=============  ====================================================================

A record is a dict with ``method``, ``data``, ``split``, ``seed``, ``metric``, ``value``, as `cofactor.evaluation.tidy`
returns them; ``seconds``, ``status``, ``error`` and ``parameters`` are used where there are such.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.evaluation.significance import Scores
from cofactor.metrics import greater_is_better
from cofactor.pages.escaping import in_latex, in_markdown
from cofactor.text import one_line

Record = Mapping[str, Any]
Split = tuple[str, int]

_DASH = "–"
BEST = "the best, to the digits shown"  #: what is marked: all that print alike, whatever their ranks


@dataclass(frozen=True, eq=False)
class MeanTable:
    """Means of one measure over splits, with their spread, and what is missing.

    Attributes
    ----------
    metric : str
        Name of the measure.
    scores : Scores
        Means of the methods on the data sets, NaN where a method has no number on some split: these are compared.
    means, stds : ndarray of shape (n_data, n_methods)
        Mean and standard deviation (of n - 1) over the splits that there are; NaN where there are none, or one.
    n_splits : tuple of int
        Number of splits of each data set.
    seconds : ndarray of shape (n_data, n_methods)
        Mean seconds of a split, NaN where they are not known.
    notes : dict of (int, int) to str
        What is wrong with a cell, by row and column: splits that are missing, and the first error.
    absent : dict of str to str
        Methods that are not in the table, and why: named below it.
    protocol : str
        What the splits are called, if anything.

    Examples
    --------
    >>> from cofactor.evaluation import mean_table
    >>> record = {"method": "HMF", "data": "toy", "split": "", "seed": 0, "metric": "mae", "value": 0.7}
    >>> mean_table([record], "mae").metric
    'mae'
    """

    metric: str
    scores: Scores
    means: NDArray[np.float64]
    stds: NDArray[np.float64]
    n_splits: tuple[int, ...]
    seconds: NDArray[np.float64]
    notes: Mapping[tuple[int, int], str]
    absent: Mapping[str, str] = field(default_factory=dict)
    protocol: str = ""

    def text(self, digits: int = 3, width: int | None = None) -> str:
        """Return the table in aligned columns; a star marks the best on each data set, and those equal as printed.

        Where it would be wider than `width` characters, methods become rows, and data sets columns; where that is too
        wide as well, as many columns as there is room for stand side by side, and the others below them.
        """
        grid, notes = self.grid(digits)
        turned = list(zip(*grid, strict=True))
        lines = aligned_lines(grid)
        if width is not None and len(lines[1]) > width:
            lines = [line for part in side_by_side(turned, width) for line in ("", *aligned_lines(part))][1:]
        return "\n".join([*lines, "", f"{self.legend()}; * {BEST}", *map(one_line, notes)])

    def markdown(self, digits: int = 3) -> str:
        """Return the table in Markdown; the best of each row, and those equal as printed, in bold."""
        grid, notes = self.grid(digits)
        head, *rows = ["| " + " | ".join(cell.markdown() for cell in row) + " |" for row in grid]
        rule = "|:---|" + "---:|" * len(self.scores.methods)
        below = [f"\n{in_markdown(note)}" for note in notes]
        return "\n".join([head, rule, *rows, "", f"{self.legend()}; bold: {BEST}", *below])

    def latex(self, digits: int = 3) -> str:
        r"""Return a ``tabular`` in LaTeX, which needs ``\usepackage{booktabs}``; bold as in `markdown`."""
        grid, notes = self.grid(digits)
        head, *rows = [" & ".join(cell.latex() for cell in row) + r" \\" for row in grid]
        n = len(self.scores.data)
        width = len(self.scores.methods) + 1
        below = [rf"\multicolumn{{{width}}}{{l}}{{\footnotesize {in_latex(note)}}} \\" for note in notes]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}",
                r"\toprule",
                head,
                r"\midrule",
                *rows[:n],
                *([r"\midrule", *rows[n:]] if rows[n:] else []),
                r"\bottomrule",
                *below,
                r"\end{tabular}",
            ]
        )

    def __str__(self) -> str:
        return self.text()

    def grid(self, digits: int) -> tuple[list[list[TableCell]], list[str]]:
        """Return head, data sets, average ranks and seconds, cell by cell; and the footnotes."""
        if digits < 0:
            raise InvalidInputError(f"digits must not be negative, found {digits}", argument="digits")
        marks = {
            place: chr(ord("a") + k) if len(self.notes) <= 26 else str(k + 1) for k, place in enumerate(self.notes)
        }
        names = [f"{self.scores.methods[j]} on {self.scores.data[i]}" for i, j in self.notes]
        footnotes = [
            f"{mark}: {name}: {note}"
            for mark, name, note in zip(marks.values(), names, self.notes.values(), strict=True)
        ]
        arrow = "↑" if self.scores.greater_is_better else "↓"
        grid = [[TableCell(name) for name in (f"{self.metric} {arrow}", *self.scores.methods)]]
        for i, data in enumerate(self.scores.data):
            bold = _best(self.scores.values[i], digits, self.scores.greater_is_better)
            cells = [self._cell(i, j, digits, best=bool(bold[j]), mark=marks.get((i, j), "")) for j in range(len(bold))]
            grid.append([TableCell(data), *cells])
        kept = [name not in self.scores.left_out for name in self.scores.data]
        absent = [f"{method} {why}" for method, why in self.absent.items()]
        if not any(kept):
            return grid, footnotes + absent
        if len(kept) > 1:
            average = self.scores.ranks[kept].mean(axis=0)
            bold = _best(average, 2, greater_is_better=False)
            ranks = [TableCell(f"{rank:.2f}", best=bool(best)) for rank, best in zip(average, bold, strict=True)]
            grid.append([TableCell("average rank"), *ranks])
        if not np.isnan(self.seconds[kept]).any():
            grid.append([TableCell("seconds"), *(TableCell(_short(mean)) for mean in self.seconds[kept].mean(axis=0))])
        if self.scores.left_out:
            over = f"{sum(kept)} of {len(kept)} data sets"
            footnotes.append(f"Average rank and seconds over {over}, without {', '.join(self.scores.left_out)}")
        return grid, footnotes + absent

    def _cell(self, i: int, j: int, digits: int, *, best: bool, mark: str) -> TableCell:
        mean, std, rank = self.means[i, j], self.stds[i, j], self.scores.ranks[i, j]
        if np.isnan(mean):
            return TableCell(_DASH, mark=mark)
        return TableCell(
            f"{mean:.{digits}f}",
            std="" if np.isnan(std) else f"{std:.{digits}f}",
            rank="" if np.isnan(rank) else f"{rank:g}",
            best=best,
            mark=mark,
        )

    def legend(self) -> str:
        """Return what the cells hold, in words."""
        low, high = min(self.n_splits), max(self.n_splits)
        called = f"{self.protocol} " if self.protocol else ""
        if high == 1:
            return f"one {called}split (rank)" if called else "(rank)"
        return f"mean ± standard deviation over {low if low == high else f'{low} to {high}'} {called}splits (rank)"


def mean_table(
    records: Iterable[Record],
    metric: str,
    *,
    methods: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
    greater: bool | None = None,
    absent: Mapping[str, str] | None = None,
) -> MeanTable:
    """Return the means of a measure over splits, for each data set and method.

    Parameters
    ----------
    records : iterable of dict
        Tidy records; see the top of this page.
    metric : str
        Name of the measure.
    methods, data : sequence of str, optional
        Names of the columns and of the rows; by default all that occur, in that order. One without
        records has dashes.
    greater : bool, optional
        Whether a greater value is better; by default what `cofactor.metrics.greater_is_better` says.
    absent : mapping of str to str, optional
        Methods that were left out, and why: named below the table.

    Returns
    -------
    MeanTable
        A method that has no number on some split of a data set is not ranked there.

    Raises
    ------
    ValueError
        If nothing was measured under this name, or a method has two values for one split and seed.

    Examples
    --------
    >>> errors = {("HMF", "toy"): [0.70, 0.72], ("ALS", "toy"): [0.75, 0.74], ("HMF", "ml-100k"): [0.68, 0.69]}
    >>> records = [
    ...     {"method": method, "data": data, "split": f"fold {k}", "seed": 0, "metric": "mae", "value": value}
    ...     for (method, data), values in errors.items()
    ...     for k, value in enumerate(values)
    ... ]
    >>> print(mean_table(records, "mae"))
    mae ↓                        HMF                ALS
    ---------------------------------------------------
    toy           *0.710 ± 0.014 (1)  0.745 ± 0.007 (2)
    ml-100k       *0.685 ± 0.007                  – [a]
    average rank           *1.00               2.00
    <BLANKLINE>
    mean ± standard deviation over 2 splits (rank); * the best, to the digits shown
    a: ALS on ml-100k: 0 of 2 splits
    Average rank and seconds over 1 of 2 data sets, without ml-100k
    """
    kept = list(records)
    values, splits = _values(kept, metric)
    columns = _names(kept, "method") if methods is None else list(methods)
    rows = _names(kept, "data") if data is None else list(data)
    errors: dict[tuple[str, str], str] = {}
    seconds: dict[tuple[str, str], dict[Split, float]] = defaultdict(dict)
    for record in kept:
        place = record["data"], record["method"]
        if record.get("status") == "failed":
            errors.setdefault(place, _first_error(record))
        elif record.get("seconds") is not None:
            seconds[place][_split(record)] = record["seconds"]
    shape = len(rows), len(columns)
    compared, means, stds, spent = (np.full(shape, np.nan) for _ in range(4))
    notes = {}
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            found = list(values.get((row, column), {}).values())
            if found:
                means[i, j] = np.mean(found)
                stds[i, j] = np.std(found, ddof=1) if len(found) > 1 else np.nan
                spent[i, j] = np.mean(list(seconds[row, column].values())) if seconds[row, column] else np.nan
            if found and len(found) == len(splits[row]):
                compared[i, j] = means[i, j]
            else:
                missing = f"{len(found)} of {len(splits[row])} splits"
                notes[i, j] = ", ".join(filter(None, (missing, errors.get((row, column)))))
    better = greater_is_better(metric) if greater is None else greater
    return MeanTable(
        metric=metric,
        scores=Scores(compared, columns, rows, greater_is_better=better),
        means=means,
        stds=stds,
        n_splits=tuple(len(splits[row]) for row in rows),
        seconds=spent,
        notes=notes,
        absent=absent or {},
    )


def split_scores(records: Iterable[Record], metric: str, data: str, *, greater: bool | None = None) -> Scores:
    """Return the scores of all methods on each split of one data set, for `correlated_t`.

    Parameters
    ----------
    records : iterable of dict
        Tidy records; see the top of this page.
    metric, data : str
        Names of the measure and of the data set.
    greater : bool, optional
        Whether a greater value is better; by default what `cofactor.metrics.greater_is_better` says.

    Returns
    -------
    Scores
        One row for each split and seed.

    Raises
    ------
    ValueError
        If nothing was measured under this name on this data set, or a method has two values for one split and seed.

    Examples
    --------
    >>> records = [
    ...     {"method": method, "data": "toy", "split": f"fold {k}", "seed": 0, "metric": "mae", "value": value}
    ...     for method, values in {"HMF": [0.70, 0.72], "ALS": [0.75, 0.74]}.items()
    ...     for k, value in enumerate(values)
    ... ]
    >>> split_scores(records, "mae", "toy").values.tolist()
    [[0.7, 0.75], [0.72, 0.74]]
    """
    kept = [record for record in records if record["data"] == data]
    if not kept:
        raise InvalidInputError(f"there are no records of {data!r}")
    values, splits = _values(kept, metric)
    methods = _names(kept, "method")
    table = [[values.get((data, method), {}).get(split, np.nan) for method in methods] for split in splits[data]]
    names = [f"{split}, seed {seed}" for split, seed in splits[data]]
    return Scores(table, methods, names, greater_is_better=greater_is_better(metric) if greater is None else greater)


def _values(
    records: Iterable[Record], metric: str
) -> tuple[dict[tuple[str, str], dict[Split, float]], dict[str, dict[Split, None]]]:
    """Return the finite values by data set and method, then by split; and the splits of each data set, in order."""
    values: dict[tuple[str, str], dict[Split, float]] = defaultdict(dict)
    splits: dict[str, dict[Split, None]] = defaultdict(dict)
    others, failures = set(), ""
    for record in records:
        place, split = (record["data"], record["method"]), _split(record)
        if record.get("status") == "failed":
            failures = failures or f"failures, first of {place[1]} on {place[0]}: {_first_error(record)}"
        elif record["metric"] != metric:
            others.add(record["metric"])
            continue
        splits[place[0]][split] = None
        if record["value"] is None or not np.isfinite(record["value"]):
            continue
        if split in values[place]:
            raise InvalidInputError(
                f"{place[1]} has two values of {metric} on {place[0]}, split {split[0]!r}, seed {split[1]}: "
                "give methods with other parameters names of their own"
            )
        values[place][split] = float(record["value"])
    if not values:
        raise InvalidInputError(
            f"nothing was measured under {metric!r}, only {', '.join(sorted(others)) or failures or 'failures'}"
        )
    return values, splits


def _split(record: Record) -> Split:
    return str(record.get("split", "")), int(record.get("seed", 0))


def _first_error(record: Record) -> str:
    return str(record.get("error", "")).partition("\n")[0]


def _names(records: Iterable[Record], key: str) -> list[str]:
    return list(dict.fromkeys(record[key] for record in records))


def _best(values: NDArray[np.float64], digits: int, greater_is_better: bool) -> NDArray[np.bool_]:
    """Return which values are the best, or printed like the best."""
    if np.isnan(values).all():
        return np.zeros(values.shape, dtype=bool)
    best = np.nanmax(values) if greater_is_better else np.nanmin(values)
    return np.array([f"{value:.{digits}f}" == f"{best:.{digits}f}" for value in values])


def _short(seconds: float) -> str:
    """Write seconds to about three digits."""
    if seconds < 10:
        return f"{seconds:.2f}"
    return f"{seconds:.1f}" if seconds < 100 else f"{seconds:,.0f}"


@dataclass(frozen=True)
class TableCell:
    """A word or number, with its standard deviation and rank where it has them, as each format writes it."""

    mean: str
    std: str = ""
    rank: str = ""
    best: bool = False
    mark: str = ""

    def _joined(self, plus_minus: str) -> str:
        spread = f" {plus_minus} {self.std}" if self.std else ""
        return self.mean + spread + (f" ({self.rank})" if self.rank else "")

    def plain(self) -> tuple[str, str]:
        """Return number and deviation, then rank and mark."""
        rank, mark = f" ({self.rank})" if self.rank else "", f" [{self.mark}]" if self.mark else ""
        return ("*" if self.best else "") + TableCell(one_line(self.mean), self.std)._joined("±"), rank + mark

    def markdown(self) -> str:
        """Return the cell in Markdown."""
        written = in_markdown(self.mean) + TableCell("", self.std, self.rank)._joined("±")
        return (f"**{written}**" if self.best else written) + (f" <sup>{self.mark}</sup>" if self.mark else "")

    def latex(self) -> str:
        """Return the cell in LaTeX."""
        written = in_latex(self.mean) + TableCell("", self.std, self.rank)._joined(r"$\pm$")
        return (rf"\textbf{{{written}}}" if self.best else written) + (f"$^{{{self.mark}}}$" if self.mark else "")


def aligned_lines(grid: Sequence[Sequence[TableCell]]) -> list[str]:
    """Return head, rule and rows in aligned columns."""
    names, *columns = zip(*grid, strict=True)
    aligned = [_names_aligned(names), *map(_aligned, columns)]
    head, *rows = ["  ".join(line).rstrip() for line in zip(*aligned, strict=True)]
    return [head, "-" * len("  ".join(column[0] for column in aligned)), *rows]


def side_by_side(grid: Sequence[Sequence[TableCell]], width: int) -> Iterator[list[tuple[TableCell, ...]]]:
    """Yield parts of a table, each with the names of the rows and as many columns as there is room for."""
    names, *columns = zip(*grid, strict=True)
    room = width - len(_names_aligned(names)[0])
    part: list[Sequence[TableCell]] = []
    taken = 0
    for column in columns:
        own = len(_aligned(column)[0]) + 2
        if part and taken + own > room:
            yield list(zip(names, *part, strict=True))
            part, taken = [], 0
        part.append(column)
        taken += own
    yield list(zip(names, *part, strict=True))


def _names_aligned(column: Sequence[TableCell]) -> list[str]:
    """Return the names of the rows, to the left."""
    names = [one_line(cell.mean) for cell in column]
    width = max(map(len, names))
    return [name.ljust(width) for name in names]


def _aligned(column: Sequence[TableCell]) -> list[str]:
    """Return a column of numbers in plain text, to the right; their ranks and marks behind them, to the left."""
    head, *cells = column
    numbers, ranks = zip(*(cell.plain() for cell in cells), strict=True)
    left, right = max(map(len, numbers)), max(map(len, ranks))
    name = one_line(head.mean)
    width = max(len(name), left + right)
    body = [number.rjust(left) + rank.ljust(right) for number, rank in zip(numbers, ranks, strict=True)]
    return [line.rjust(width) for line in (name, *body)]
