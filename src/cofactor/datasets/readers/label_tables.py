"""Features and labels in CSV, TSV and Parquet tables, one row for each instance."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets.cells import finite_cells, ids_of, label_of, numbers_of
from cofactor.datasets.formats import read_table
from cofactor.datasets.readers.label_columns import LabelColumns, check_words, features_as_in, label_roles
from cofactor.datasets.readers.matrices import Form, generic_names, in_form, indicator
from cofactor.datasets.readers.parquet_labels import is_list_layout, read_whole_lists, stored_labels
from cofactor.datasets.table import ArrowTable, Cells, Table, TableOptions, Words
from cofactor.datasets.types import LabelDataset
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.files import PathLike, data_name
from cofactor.limits import CELLS
from cofactor.recipe import Recipe, truth_of
from cofactor.text import counted, few, is_number

__all__ = ["read_label_table"]

_NUMBERED = re.compile(r"c\d+")  # names of the columns of a table without header


def read_label_table(
    path: PathLike,
    labels: LabelColumns = None,
    *,
    drop: Sequence[str] = (),
    id: str | None = None,
    max_values: int | None = None,
    recipe: Recipe | None = None,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
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
        n < 0; or the names. Neither the id nor columns of `drop` count among these, so that a name which is in both is
        an error. An empty sequence for a file without labels. May be left out for Parquet files which `write_chunks`
        wrote.
    drop : sequence of str, default ()
        Columns which are neither features nor labels, such as remarks, or labels of no interest.
    id : str, optional
        The column which names the rows; it is no feature.
    max_values : int, optional
        How many different values a feature of text may have. By default 250, and in a table of 20 or more rows less
        than nine tenths of the rows, since others are free text, or name the rows.
    recipe : Recipe, optional
        The ``recipe`` of data which were read before: the features become the same ones, and what was left out or
        named the rows then, does so again. Without `labels` the labels are the same too, unless the file has none of
        them; an empty sequence leaves them out. `sep`, `header` and `encoding` are those that were given then.
    sep : str, optional
        Separator of a text file; by default found from the first line.
    header : bool, optional
        Whether the first line names the columns; by default it does if it holds no number.
    encoding : str, optional
        Encoding of a text file; by default utf-8.
    sparse : {"auto", True, False}, default "auto"
        As in `read_arff`.
    name : str, optional
        Name of the data set; by default the file name.

    Returns
    -------
    LabelDataset
        A column of text with two words for off and on (no/yes, false/true, ...) becomes one column of 0 and 1, any
        other text a column ``name=value`` for each value that occurs, in alphabetical order; its ``recipe`` says so,
        and gives another file the same columns. Labels may be 0/1, -1/+1, booleans or such words.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the file is empty or malformed, a label or a value is missing, a label is neither on nor off, a column of
        text has too many values, or a file has not the features of the recipe; the message names the line (in Parquet
        files the row) and the column.

    Warns
    -----
    UserWarning
        If a feature of text has a value which the recipe does not know: all its columns are 0 in such rows.

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
    given = {"sep": sep, "header": header, "encoding": encoding}
    text = {**(recipe.text if recipe else {}), **{key: value for key, value in given.items() if value is not None}}

    def is_header(first: Sequence[str], _: Sequence[str]) -> bool:
        return text.get("header", not any(map(is_number, first)))

    options = TableOptions(is_header, "features and labels", text.get("sep"), text.get("encoding", "utf-8"))
    table = read_table(path, options)
    title = name or data_name(path)
    if isinstance(table, ArrowTable) and recipe is None:
        none_wanted = isinstance(labels, Sequence) and len(labels) == 0
        if (labels is None or none_wanted) and is_list_layout(table.table.schema):
            data = read_whole_lists(table.table, table.file, sparse, title)
            return replace(data, Y=data.Y[:, :0], label_names=()) if none_wanted else data
        labels = stored_labels(table.table.schema, drop) if labels is None else labels
    names = _names(table, recipe)
    if recipe is not None:
        labels, drop, id = recipe.roles(names, labels, drop, id)
    targets, features, id_at = label_roles(names, labels, drop, table.file, id)
    if recipe is not None:
        features = features_as_in(recipe, names, features, table.file, has_names=table.names is not None)
    table.load([*targets, *features, *([] if id_at is None else [id_at])])
    ids = None if id_at is None else ids_of(table, id_at, "auto")
    X, words = _features(table, names, features, recipe.words if recipe else {}, max_values, recipe is None)
    Y = np.column_stack([label_of(table, j) for j in targets]) if targets else np.zeros((len(X), 0))
    label_names = tuple(names[j] for j in targets)
    done = recipe or Recipe(tuple(names[j] for j in features), label_names, tuple(drop), id, words, text)
    return LabelDataset(
        name=title,
        X=in_form(X, sparse, table.file),
        Y=indicator(Y, table.file),
        feature_names=done.feature_names,
        label_names=label_names,
        nominal=tuple(filter(done.spread, words)),
        description=f"{counted(len(X), 'instance')} read from {table.file}",
        ids=ids,
        recipe=done,
    )


def _names(table: Table, recipe: Recipe | None) -> Sequence[str]:
    """Names of the columns; a table without header may hold just the features of a recipe of such a table."""
    fits = table.names is None and recipe is not None and table.n_columns == len(recipe.features)
    if fits and recipe is not None and all(map(_NUMBERED.fullmatch, recipe.features)):
        return recipe.features
    return table.names or generic_names("c", table.n_columns)


def _features(
    table: Table,
    names: Sequence[str],
    features: Sequence[int],
    known: Mapping[str, tuple[str, ...]],
    most: int | None,
    is_new: bool,
) -> tuple[NDArray[np.float64], dict[str, tuple[str, ...]]]:
    """X, and the values of each feature of text; `known` are those of a recipe, and `is_new` says there is none."""
    columns: list[NDArray] = []
    words: dict[str, tuple[str, ...]] = {}
    cells = {j: finite_cells(table, j) if is_new else _cells_as_in(table, j, known.get(names[j])) for j in features}
    if is_new:
        text = {j: found for j, found in cells.items() if isinstance(found, Words) and truth_of(found.values) is None}
        sizes = [(names[j], len(found.values), table.column_place(j)) for j, found in text.items()]
        check_words(sizes, max((len(found.codes) for found in text.values()), default=0), most)
    for j in features:
        name, found = names[j], cells.pop(j)
        if not isinstance(found, Words):
            columns.append(found)
            continue
        words[name] = tuple(sorted(found.values)) if is_new else known[name]
        for column in _coded(table, j, found, words[name]):
            columns.append(column)
            size = len(column) * len(columns)
            many = f"values of column {name!r} make more than {counted(len(columns), 'column')}"
            CELLS.check(size, many, table.column_place(j), size=len(column) * table.n_columns)
    return np.column_stack(columns).astype(np.float64, copy=False), words


def _cells_as_in(table: Table, j: int, words: tuple[str, ...] | None) -> Cells:
    """Cells of a feature as a recipe has them: numbers, or text."""
    if words is None:
        cells = finite_cells(table, j)
        return numbers_of(table, j) if isinstance(cells, Words) else cells  # whose error says which cell is no number
    found = table.words(j)
    gap = found.first_row(lambda cell: not cell)
    if gap is not None:
        raise InvalidInputError("no value", place=table.place(gap, j))
    return found


def _coded(table: Table, j: int, found: Words, words: tuple[str, ...]) -> Iterator[NDArray]:
    """The column, or the columns, of 0 and 1 for a column of text with these words."""
    if truth_of(words) is not None:
        yield _truth(table, j, found, words)
        return
    unseen = sorted(set(found.values).difference(words))
    if unseen:
        rows = int(np.isin(found.codes, [found.values.index(word) for word in unseen]).sum())
        warnings.warn(
            InputWarning(
                f"{table.column_place(j)}: {few(unseen)} did not occur in training; all columns of this feature are 0 "
                f"in {counted(rows, 'row')}"
            ),
            stacklevel=4,
        )
    position = {word: k for k, word in enumerate(found.values)}
    for word in words:
        yield (found.codes == position.get(word, -1)).astype(np.int8)


def _truth(table: Table, j: int, found: Words, words: tuple[str, ...]) -> NDArray[np.float64]:
    """A column of words for off and on as 0 and 1."""
    truth = truth_of(found.values)
    if truth is None:
        row = found.first_row(lambda word: word.lower() not in {known.lower() for known in words})
        assert row is not None
        raise InvalidInputError(
            f"expected {' or '.join(words)} as in training, found {found.at(row)!r}", place=table.place(row, j)
        )
    return np.array(truth, dtype=np.float64)[found.codes]
