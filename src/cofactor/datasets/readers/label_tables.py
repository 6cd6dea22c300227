"""Features and labels in CSV, TSV and Parquet tables, one row for each instance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets.cells import finite_cells, label_of, truth_of
from cofactor.datasets.formats import read_table
from cofactor.datasets.readers.label_columns import (
    LabelColumns,
    label_roles,
    warn_of_row_names,
)
from cofactor.datasets.readers.matrices import Form, generic_names, in_form, indicator
from cofactor.datasets.readers.parquet_labels import is_list_layout, read_whole_lists, stored_labels
from cofactor.datasets.table import ArrowTable, Table, TableOptions, Words
from cofactor.datasets.types import LabelDataset
from cofactor.files import PathLike, data_name
from cofactor.limits import CELLS
from cofactor.text import counted, is_number

__all__ = ["read_label_table"]


def read_label_table(
    path: PathLike,
    labels: LabelColumns = None,
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
        Columns which are neither features nor labels, such as row names.
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
        A column of text with two words for off and on (no/yes, false/true, ...) becomes one column of 0 and 1, any
        other text a column ``name=value`` for each value that occurs, in alphabetical order; `LabelDataset.align`
        gives another file the same columns. Labels may be 0/1, -1/+1, booleans or such words.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the file is empty or malformed, a label or a value is missing, or a label is neither on nor off; the
        message names the line (in Parquet files the row) and the column.

    Warns
    -----
    UserWarning
        If a column of text has a different value in each of 20 or more rows: then it names the rows, and should be
        dropped.

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

    def is_header(first: Sequence[str], _: Sequence[str]) -> bool:
        return not any(map(is_number, first)) if header is None else header

    table = read_table(path, TableOptions(is_header, "features and labels", sep, encoding))
    title = name or data_name(path)
    if isinstance(table, ArrowTable):
        if labels is None and is_list_layout(table.table.schema):
            return read_whole_lists(table.table, table.file, sparse, title)
        labels = stored_labels(table.table.schema) if labels is None else labels
    names = table.names or generic_names("c", table.n_columns)
    targets, features = label_roles(names, labels, drop, table.file)
    table.load([*targets, *features])
    X, feature_names, nominal = _features(table, names, features)
    Y = np.column_stack([label_of(table, j) for j in targets]) if targets else np.zeros((len(X), 0))
    return LabelDataset(
        name=title,
        X=in_form(X, sparse, table.file),
        Y=indicator(Y, table.file),
        feature_names=feature_names,
        label_names=tuple(names[j] for j in targets),
        nominal=nominal,
        description=f"{counted(len(X), 'instance')} read from {table.file}",
    )


def _features(
    table: Table, names: Sequence[str], features: Sequence[int]
) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...]]:
    """X, the names of its columns, and the names of the columns of the table which became several."""
    columns: list[NDArray] = []
    new_names: list[str] = []
    nominal: list[str] = []
    for j in features:
        for column_name, column in _coded(table, names[j], j):
            new_names.append(column_name)
            columns.append(column)
            cells = len(column) * len(columns)
            many = f"values of column {names[j]!r} make more than {counted(len(columns), 'column')}"
            CELLS.check(cells, many, table.column_place(j), size=len(column) * table.n_columns)
        if new_names[-1] != names[j]:
            nominal.append(names[j])
    return np.column_stack(columns).astype(np.float64, copy=False), tuple(new_names), tuple(nominal)


def _coded(table: Table, name: str, j: int) -> Iterator[tuple[str, NDArray]]:
    """Names and values of the column or columns for one column of the table."""
    found = finite_cells(table, j)
    if not isinstance(found, Words):
        yield name, found
        return
    truth = truth_of(tuple(found.values))
    if truth is not None:
        yield name, np.array(truth, dtype=np.float64)[found.codes]
        return
    warn_of_row_names(table.file, "column", name, found.codes)
    for k, value in sorted(enumerate(found.values), key=lambda pair: pair[1]):
        yield f"{name}={value}", (found.codes == k).astype(np.int8)
