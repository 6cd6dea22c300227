"""Cells of the features of a table, and what is known of users, or of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets.formats import open_data
from cofactor.datasets.readers.matrices import generic_names
from cofactor.datasets.table import (
    IdMode,
    Table,
    TableOptions,
    feature_cells,
    header_or_numbers,
    ids_of,
    numbers_of,
)
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike
from cofactor.schema import Cells, Schema, Words
from cofactor.text import is_number


def cells_of(
    table: Table, features: Mapping[str, int], texts: Sequence[str] = (), schema: Schema | None = None
) -> dict[str, Cells]:
    """Return the cells of features: as a schema has them, or as they are.

    Parameters
    ----------
    table : Table
        What was read.
    features : mapping from str to int
        Names and positions of columns.
    texts : sequence of str, default=()
        Which of them are free text, where there is no schema.
    schema : Schema, optional
        What is known of them.
    """
    if schema is not None:
        return {name: _as_in(table, j, name, schema) for name, j in features.items()}
    return {name: _text_cells(table, j) if name in texts else feature_cells(table, j) for name, j in features.items()}


def _text_cells(table: Table, j: int) -> Words:
    """Return the cells of free text; a column of numbers is none."""
    found = table.cells(j, gaps=True)
    if isinstance(found, Words) and not _all_numbers(found):
        return found
    place = table.column_place(j)
    raise InvalidInputError(
        "holds numbers, which are a feature as they are",
        advice=("leave it out of ", Argument("text")),
        place=place,
    )


def _all_numbers(found: Words) -> bool:
    """Return whether all cells that are not empty are numbers."""
    some = [cell for cell in found.values if cell]
    return bool(some) and all(map(is_number, some))


def _as_in(table: Table, j: int, name: str, schema: Schema) -> Cells:
    if name in schema.vocabularies or name in schema.words:
        return table.words(j, gaps=True)
    found = feature_cells(table, j)
    if not isinstance(found, Words):
        return found
    if not any(found.values):  # no row has a value
        return np.full(len(found.codes), np.nan)
    if {word.lower() for word in found.values} <= {"", "false", "true"}:  # truth values of a file with types
        truth = {"": np.nan, "false": 0.0, "true": 1.0}
        return np.array([truth[word.lower()] for word in found.values])[found.codes]
    return numbers_of(table, j)  # whose error says which cell is no number


#: Ids, and columns of numbers and of texts by their names: what `fit` takes as ``user_features`` and ``item_features``.
SideTable = tuple[NDArray[Any], dict[str, NDArray[Any]]]


def read_side_features(
    path: PathLike,
    *,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    ids: IdMode = "auto",
) -> SideTable:
    r"""Read what is known of users, or of items, beside their ratings.

    Parameters
    ----------
    path : str or path-like
        Text (plain or gzip) or Parquet. ``"-"`` is standard input.
    sep : str, optional
        Separator of a text file; by default found from the first line.
    header : bool, optional
        Whether the first line names the columns; by default it does if it holds no number.
    encoding : str, default "utf-8"
        Encoding of a text file.
    ids : {"auto", "int", "str", "each"}, default "auto"
        As in `read_ratings`.

    Returns
    -------
    ids : ndarray of shape (n,)
        The first column.
    columns : dict from str to ndarray
        The others by their names: finite numbers where all cells are numbers; texts, and None for empty cells, where
        none is.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    InvalidInputError
        A ValueError, if there are no features, or a column holds numbers and other cells too; the message names the
        line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "users.csv")
    >>> _ = path.write_text("user,age,trade\nann,25,poet\nbob,31,cook\n")
    >>> ids, columns = read_side_features(path)
    >>> ids.tolist(), {name: column.tolist() for name, column in columns.items()}
    (['ann', 'bob'], {'age': [25.0, 31.0], 'trade': ['poet', 'cook']})
    >>> folder.cleanup()
    """
    table = open_data(path).table(TableOptions(header_or_numbers(header), "an id and features", sep, encoding))
    if table.n_columns < 2:
        message = "has a single column, expected ids in the first one and features in the others"
        raise InvalidInputError(message, place=Place(table.file))
    table.load(range(table.n_columns))
    names = table.names or generic_names("c", table.n_columns)
    return ids_of(table, 0, ids), {names[j]: _column(table, j) for j in range(1, table.n_columns)}


def _column(table: Table, position: int) -> NDArray[Any]:
    """Return finite numbers, or texts with None for empty cells."""
    found = feature_cells(table, position)
    if not isinstance(found, Words):
        gap = np.flatnonzero(np.isnan(found))
        if len(gap):
            raise InvalidInputError(
                "expected a number, found no value",
                place=table.place(int(gap[0]), position),
                advice="fill it in, or leave out the row",
            )
        return found
    if not table.typed and any(map(is_number, found.values)):
        row = found.first_row(lambda cell: not is_number(cell))
        assert row is not None
        raise InvalidInputError(
            f"expected a number as in other rows, found {repr(found.at(row)) if found.at(row) else 'an empty cell'}",
            place=table.place(row, position),
            advice="write a number, or words in all rows",
        )
    words = np.empty(len(found.values), dtype=object)
    words[:] = [word or None for word in found.values]
    return np.asarray(words[found.codes])
