"""Frames of pandas and polars as tables, so that they are read as files are."""

from __future__ import annotations

import os
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
from narwhals.stable.v2.dependencies import is_pandas_like_dataframe

from cofactor.datasets.table import ArrowTable
from cofactor.errors import InvalidInputError, Place
from cofactor.frames import as_frame
from cofactor.text import first_repeated

__all__ = ["is_frame", "table_of_frame"]

_FRAME = "the frame"  #: what messages call it


def is_frame(value: Any) -> bool:
    """Return whether it is a frame of pandas or polars, or one that narwhals knows."""
    if isinstance(value, str | os.PathLike):
        return False
    return bool(is_pandas_like_dataframe(value)) or as_frame(value) is not None


def table_of_frame(value: Any) -> ArrowTable | None:
    """Return a frame, or a table of Arrow, as a table; None for anything else. Rows are counted from 1 in messages.

    Parameters
    ----------
    value : object
        A frame of pandas or polars, a table of Arrow, or a path.

    Raises
    ------
    InvalidInputError
        If it has no rows, two columns of one name, or a column of values of several kinds.
    """
    if isinstance(value, str | os.PathLike):
        return None
    is_pandas = is_pandas_like_dataframe(value)
    if not is_pandas and not is_frame(value):
        return None
    names = value.column_names if isinstance(value, pa.Table) else value.columns
    twice = first_repeated(map(str, names))
    if twice is not None:
        raise InvalidInputError(f"two columns are named {twice!r}", place=Place(_FRAME))
    try:
        if is_pandas:
            table = pa.Table.from_pandas(value, preserve_index=False)
        else:
            table = nw.from_native(value, eager_only=True).to_arrow()
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = str(error.args[0] if error.args else error).splitlines()[0]
        raise InvalidInputError(f"a column holds values of several kinds ({reason})", place=Place(_FRAME)) from None
    if table.num_rows == 0:
        raise InvalidInputError("has no rows, expected features and labels", place=Place(_FRAME))
    return ArrowTable(_FRAME, table)
