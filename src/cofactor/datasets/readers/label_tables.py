"""Features and labels in CSV, TSV and Parquet tables, one row for each instance."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets.columns import is_number
from cofactor.datasets.readers import parquet
from cofactor.datasets.readers.arff_header import truth_of
from cofactor.datasets.readers.matrices import (
    Form,
    first_or_last,
    generic_names,
    in_form,
    indicator,
    positions_of,
    warn_of_row_names,
)
from cofactor.datasets.readers.parquet_rows import is_list_layout, read_whole_lists, stored_labels
from cofactor.datasets.readers.text_tables import TextTable, numeric_columns, split_table, text_columns
from cofactor.datasets.types import LabelDataset
from cofactor.errors import InvalidInputError
from cofactor.files import PathLike, display_name, read_bytes, to_utf8
from cofactor.text import counted

__all__ = ["read_label_table"]

#: What messages say of the lines or rows of such a file.
_CONTENT = "features and labels"


def read_label_table(
    path: PathLike,
    labels: str | int | Sequence[str] | None = None,
    *,
    drop: Sequence[str] = (),
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    sparse: Form = "auto",
    name: str | None = None,
) -> LabelDataset:
    r"""Read features and labels from a CSV, TSV or Parquet file with one row for each instance.

    Parameters
    ----------
    path : str or path-like
        Text (plain or gzip) or Parquet; the content decides which, not the suffix. ``"-"`` is standard input.
    labels : str, int or sequence of str
        Which columns are labels: those whose names begin with this string; the first n columns, or the last ones for
        n < 0; or the names. An empty sequence for a file without labels. May be left out for Parquet files which
        `write_chunks` wrote.
    drop : sequence of str, default ()
        Columns which are neither, such as row names.
    sep : str, optional
        Separator of a text file; by default found from the first line.
    header : bool, optional
        Whether the first line names the columns; by default it does if it holds no number.
    encoding : str, default "utf-8"
        Encoding of a text file.
    sparse : {"auto", True, False}, default "auto"
        As in `read_arff`.
    name : str, optional
        Name of the data set; by default the file name.

    Returns
    -------
    LabelDataset
        Columns of text with two words for off and on (no/yes, false/true, ...) become one column of 0 and 1, other
        text a column ``name=value`` for each value that occurs, in alphabetical order; `LabelDataset.align` brings
        another file to the same columns. Labels may be 0/1, -1/+1, booleans or such words.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the file is empty, malformed, lacks a label or a value, or a label is neither on nor off; the message names
        the line (of Parquet files the row) and the column.
    ImportError
        If the file is Parquet and pyarrow is not installed.

    Warns
    -----
    UserWarning
        If a column of text has another value in each of 20 or more rows: it names them, and should be dropped.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cofactor.datasets import read_label_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.csv")
    >>> _ = path.write_text('wind,sky,is_sea,"is_sun, or sol"\n3.5,grey,1,0\n0,blue,1,1\n')
    >>> data = read_label_table(path, "is_")
    >>> data.feature_names, data.label_names
    (('wind', 'sky=blue', 'sky=grey'), ('is_sea', 'is_sun, or sol'))
    >>> data.X.tolist(), data.Y.toarray().tolist()
    ([[3.5, 0.0, 1.0], [0.0, 1.0, 0.0]], [[1, 0], [1, 1]])
    >>> folder.cleanup()
    """
    file = display_name(path)
    data = read_bytes(path)
    title = name or ("stdin" if os.fspath(path) == "-" else Path(path).name)
    if data.startswith(parquet.MAGIC):
        table = parquet.read(data, file, _CONTENT)
        if labels is None and is_list_layout(table.table.schema):
            return read_whole_lists(table.table, file, sparse, title)
        labels = stored_labels(table.table.schema) if labels is None else labels
        source: _Source = _ParquetSource(table)
    else:
        source = _TextSource(_split(data, file, sep, header, encoding))
    targets, features = _roles(source, labels, drop)
    X, names, nominal = _features(source, features)
    return LabelDataset(
        name=title,
        X=in_form(X, sparse, file),
        Y=indicator(np.column_stack([_label(source, j) for j in targets]) if targets else np.zeros((len(X), 0)), file),
        feature_names=names,
        label_names=tuple(source.names[j] for j in targets),
        nominal=nominal,
        description=f"{counted(len(X), 'instance')} read from {file}",
    )


def _split(data: bytes, file: str, sep: str | None, header: bool | None, encoding: str) -> TextTable:
    text = to_utf8(data, file, encoding)

    def is_header(first: Sequence[str], _: Sequence[str]) -> bool:
        return not any(map(is_number, first)) if header is None else header

    return split_table(text, file, sep, is_header, _CONTENT)


def _roles(
    source: _Source, labels: str | int | Sequence[str] | None, drop: Sequence[str]
) -> tuple[list[int], list[int]]:
    """Positions of labels and of features."""
    n = len(source.names)
    if labels is None:
        raise InvalidInputError(
            f"{source.file}: which of the {counted(n, 'column')} are labels? Give labels= the beginning of "
            "their names, their names, or their number (n: the first n; -n: the last)"
        )
    if isinstance(labels, int | np.integer):
        targets = first_or_last(int(labels), n, source.file, "column")
    elif isinstance(labels, str):
        targets = [j for j, column in enumerate(source.names) if column.startswith(labels)]
        if not targets or not labels:
            raise InvalidInputError(
                f"{source.file}: no column begins with labels={labels!r}; there are {_some(source.names)}"
            )
    else:
        targets = positions_of(source.names, labels, source.file, "column", "labels")
    dropped = positions_of(source.names, drop, source.file, "column", "drop")
    features = [j for j in range(n) if j not in {*targets, *dropped}]
    if not features:
        raise InvalidInputError(
            f"{source.file}: all {counted(n, 'column')} are labels or dropped; none is left as a feature"
        )
    return targets, features


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


# ---------------------------------------------------------------------------------- columns of text and Parquet


@dataclass
class _Source:
    """Columns by position, as numbers where they are numbers and otherwise as text."""

    file: str
    names: tuple[str, ...]

    def column(self, j: int) -> NDArray[np.float64] | list[str]:
        raise NotImplementedError

    def where(self, row: int) -> str:
        raise NotImplementedError


class _TextSource(_Source):
    def __init__(self, table: TextTable):
        names = tuple(table.header) if table.header else generic_names("c", table.n_columns)
        super().__init__(table.name, names)
        _check_distinct(self)
        positions = range(table.n_columns)
        numbers = numeric_columns(table, positions, ["f8"] * table.n_columns)
        self.columns: Sequence[Any]
        if numbers is not None:
            self.columns = numbers
            self.lines: Sequence[int] = range(table.first_line, table.first_line + len(numbers[0]))
        else:
            self.columns, lines = text_columns(table, positions)
            self.lines = lines.tolist()

    def column(self, j: int) -> NDArray[np.float64] | list[str]:
        found = self.columns[j]
        if isinstance(found, list):
            if "" in found:
                raise InvalidInputError(f"{self.where(found.index(''))}: no value in column {self.names[j]!r}")
            return np.array(found, dtype=np.float64) if all(map(is_number, set(found))) else found
        return found

    def where(self, row: int) -> str:
        return f"{self.file}, line {self.lines[row]}"


class _ParquetSource(_Source):
    def __init__(self, table: parquet.ParquetTable):
        super().__init__(table.name, table.names)
        _check_distinct(self)
        self.table = table

    def column(self, j: int) -> NDArray[np.float64] | list[str]:
        column = self.table.column(j)
        kind = str(column.type)
        if kind in ("string", "large_string", "string_view"):
            return column.to_pylist()
        if kind == "bool":
            return column.to_numpy(zero_copy_only=False).astype(np.float64)
        return parquet.numbers(self.table, j)

    def where(self, row: int) -> str:
        return f"{self.file}, row {row + 1}"


def _check_distinct(source: _Source) -> None:
    if len(set(source.names)) < len(source.names):
        twice = next(column for column in source.names if source.names.count(column) > 1)
        raise InvalidInputError(f"{source.file}: two columns are named {twice!r}")


def _features(source: _Source, features: Sequence[int]) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...]]:
    """X, the names of its columns, and those of the columns which were spread over several."""
    columns: list[NDArray] = []
    names: list[str] = []
    nominal: list[str] = []
    for j in features:
        for column_name, column in _coded(source, j):
            names.append(column_name)
            columns.append(column)
        if names[-1] != source.names[j]:
            nominal.append(source.names[j])
    return np.column_stack(columns).astype(np.float64, copy=False), tuple(names), tuple(nominal)


def _coded(source: _Source, j: int) -> Iterator[tuple[str, NDArray]]:
    """Names and values of the column or columns for one column of the table."""
    found, name = source.column(j), source.names[j]
    if not isinstance(found, list):
        bad = np.flatnonzero(~np.isfinite(found))
        if len(bad):
            raise InvalidInputError(
                f"{source.where(int(bad[0]))}: {found[bad[0]]} in column {name!r}, expected a finite number"
            )
        yield name, found
        return
    values, codes = np.unique(np.array(found, dtype=object), return_inverse=True)
    truth = truth_of(tuple(values))
    if truth is not None:
        yield name, np.array(truth, dtype=np.float64)[codes]
        return
    warn_of_row_names(source.file, "column", name, codes)
    for k, value in enumerate(values):
        yield f"{name}={value}", (codes == k).astype(np.int8)


def _label(source: _Source, j: int) -> NDArray[np.bool_]:
    """One column of labels, on or off."""
    found, name = source.column(j), source.names[j]
    expected = f"in label {name!r}, expected 0/1, -1/+1 or words such as no/yes"
    if isinstance(found, list):
        values, codes = np.unique(np.array(found, dtype=object), return_inverse=True)
        truth = truth_of(tuple(values))
        if truth is not None:
            return np.array(truth, dtype=bool)[codes]
        odd = next(row for row, value in enumerate(found) if truth_of((value,)) is None or row == len(found) - 1)
        raise InvalidInputError(f"{source.where(odd)}: {found[odd]!r} {expected}")
    allowed = (0, 1) if (found == 0).any() else (-1, 1)
    odd_rows = np.flatnonzero(~np.isin(found, allowed))
    if len(odd_rows):
        raise InvalidInputError(f"{source.where(int(odd_rows[0]))}: {found[odd_rows[0]]:g} {expected}")
    return found > 0
