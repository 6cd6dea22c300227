"""What readers of tables in pieces share: pieces, and how far reading has come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cofactor.datasets.table import Table

__all__ = ["Choose", "Mark", "Piece"]

#: From a table of the first rows to the positions of the columns that are wanted, by role.
Choose: TypeAlias = Callable[[Table], Mapping[str, int]]


@dataclass(frozen=True)
class Mark:
    """How far a file was read.

    Attributes
    ----------
    rows : int
        Rows of data before it; only Parquet is read on from there.
    bytes : int
        Bytes before it, after unpacking and decoding; of Parquet about so many.
    lines : int
        Lines before it.
    """

    rows: int = 0
    bytes: int = 0
    lines: int = 0


@dataclass(frozen=True)
class Piece:
    """Some rows of a file.

    Attributes
    ----------
    table : Table
        Whose columns are loaded.
    positions : mapping of str to int
        Where the columns that were chosen are in it.
    after : Mark
        Where reading goes on.
    """

    table: Table
    positions: Mapping[str, int]
    after: Mark
