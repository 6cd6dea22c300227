"""Small tables of ids and what stands beside them: titles, groups, items to leave out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from cofactor.datasets.readers.parquet import looks_like_parquet, read_parquet, refuse_lost_beginning
from cofactor.datasets.table import TableOptions
from cofactor.errors import InvalidInputError, Place
from cofactor.files import START, display_name, read_bytes, to_utf8

__all__ = ["SmallTable", "read_small_table"]


@dataclass(frozen=True)
class SmallTable:
    """Rows of cells, all of them text, which need not be equally long.

    Attributes
    ----------
    file : str
        What messages call it.
    names : tuple of str or None
        Of the columns, where the format has names; the first line of a text may hold names, or be data.
    rows : list of list of str
        Cells without blanks around them; a blank line has none.
    """

    file: str
    names: tuple[str, ...] | None
    rows: list[list[str]]

    def numbered(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows that hold something, with their numbers from 1."""
        return ((k, row) for k, row in enumerate(self.rows, 1) if any(row))

    @property
    def one(self) -> str:
        """What messages call a row: a line of a text."""
        return "line" if self.names is None else "row"

    def place(self, number: int) -> Place:
        """Return the place of a row.

        Parameters
        ----------
        number : int
            From 1.
        """
        return Place(self.file, number) if self.names is None else Place(self.file, column=f"row {number}")


def read_small_table(source: str, encoding: str, most: int | None = None) -> SmallTable:
    """Read a small table: text, whatever separates its cells, or Parquet.

    Parameters
    ----------
    source : str
        Path, or ``-``. It may be compressed with gzip.
    encoding : str
        Of a text.
    most : int, optional
        Number of columns that are wanted, from the first one on: others of Parquet may have any type.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    InvalidInputError
        If it is damaged, in another encoding, or a column of Parquet holds neither integers nor text.
    """
    file, content = display_name(source), read_bytes(source)
    refuse_lost_beginning(content[:START], content[-4:], file)
    if not looks_like_parquet(content):
        rows = _split(to_utf8(content, file, encoding).decode(), file)
        return SmallTable(file, None, [[cell.strip() for cell in row] for row in rows])
    table = read_parquet(content, file, TableOptions(lambda *_: True, "ids"))
    assert table.names is not None
    columns = [table.words(j, gaps=True) for j in range(table.n_columns)[:most]]
    texts = [[column.values[code] for code in column.codes.tolist()] for column in columns]
    return SmallTable(file, table.names, [list(row) for row in zip(*texts, strict=True)])


def _split(text: str, file: str) -> list[list[str]]:
    """Return the cells of a text by lines."""
    first, _, _ = text.partition("\n")
    sep = next((sep for sep in ("::", "\t", "|") if sep in first), ";" if ";" in first and "," not in first else ",")
    try:
        return list(csv.reader(io.StringIO(text))) if sep == "," else [line.split(sep) for line in text.splitlines()]
    except csv.Error as error:
        raise InvalidInputError(str(error), advice="is a quotation mark missing?", place=Place(file)) from None
