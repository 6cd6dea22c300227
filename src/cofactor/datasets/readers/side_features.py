"""Features of users, or of items: a table with ids in its first column, and numbers in the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets.cells import IdMode, finite_cells, ids_of, numbers_of
from cofactor.datasets.formats import read_table
from cofactor.datasets.readers.matrices import generic_names
from cofactor.datasets.table import TableOptions, Words
from cofactor.errors import InvalidInputError, Place
from cofactor.files import PathLike
from cofactor.text import is_number

__all__ = ["read_side_features"]


def read_side_features(
    path: PathLike,
    *,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    ids: IdMode = "auto",
) -> tuple[NDArray[np.int64] | NDArray[np.object_], NDArray[np.float64], tuple[str, ...]]:
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
    values : ndarray of shape (n, c)
        The others, finite numbers.
    names : tuple of str
        Of these columns.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    InvalidInputError
        A ValueError, if there are no features, or a cell is not a finite number; the message names the line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "users.csv")
    >>> _ = path.write_text("user,age,student\nann,25,1\nbob,31,0\n")
    >>> ids, values, names = read_side_features(path)
    >>> ids.tolist(), values.tolist(), names
    (['ann', 'bob'], [[25.0, 1.0], [31.0, 0.0]], ('age', 'student'))
    >>> folder.cleanup()
    """

    def is_header(first: Sequence[str], _: Sequence[str]) -> bool:
        return not any(map(is_number, first)) if header is None else header

    table = read_table(path, TableOptions(is_header, "an id and features", sep, encoding))
    if table.n_columns < 2:
        message = "has a single column, expected ids in the first one and numbers in the others"
        raise InvalidInputError(message, place=Place(table.file))
    table.load(range(table.n_columns))
    columns = []
    for j in range(1, table.n_columns):
        found = finite_cells(table, j)
        columns.append(numbers_of(table, j) if isinstance(found, Words) else found)
    names = table.names or generic_names("c", table.n_columns)
    return ids_of(table, 0, ids), np.column_stack(columns).astype(np.float64), tuple(names[1:])
