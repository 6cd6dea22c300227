"""Rows of an ARFF file which hold nothing but numbers, read by Arrow; None for all others, which liac-arff reads.

Both ways give the same numbers. Arrow makes no Python object for a cell, and is some 10 times as fast; it does not say
in which line something is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from cofactor.datasets.table import numpy_of

__all__ = ["dense_numbers", "sparse_numbers"]

_BLOCK = 1 << 22  # bytes; a file with a longer row is left to liac-arff


def dense_numbers(rows: Sequence[str], n: int) -> NDArray[np.float64] | None:
    """Numbers of dense rows with n values each.

    Parameters
    ----------
    rows : sequence of str
        Such as ``"1.5,0,1"``.
    n : int
        Number of attributes.

    Returns
    -------
    ndarray of shape (len(rows), n), or None
    """
    found = _columns("\n".join(rows), ",", [pa.float64()] * n)
    if found is None or len(found[0]) != len(rows):
        return None
    return np.column_stack(found)


def sparse_numbers(
    rows: Sequence[str], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]] | None:
    """Numbers of sparse rows whose attributes increase.

    Parameters
    ----------
    rows : sequence of str
        Such as ``"{0 1.5,2 1}"``.
    n : int
        Number of attributes.

    Returns
    -------
    tuple of ndarrays, or None
        Number of entries of each row; attribute and value of each entry.
    """
    if not all(row.startswith("{") and row.endswith("}") for row in rows):
        return None
    bodies = [row[1:-1].strip() for row in rows]
    lengths = np.array([body.count(",") + 1 if body else 0 for body in bodies], dtype=np.int64)
    text = ",".join(filter(None, bodies)).replace(", ", "\n").replace(",", "\n")
    if "x" in text or "X" in text:  # Arrow would take 0x1F for an integer
        return None
    found = _columns(text, " ", [pa.int32(), pa.float64()])
    if found is None or len(found[0]) != lengths.sum():
        return None
    attributes, values = found
    starts = (np.cumsum(lengths) - lengths)[lengths > 0]
    increases = np.diff(attributes, prepend=-1) > 0
    increases[starts] = True
    if not increases.all() or attributes.min() < 0 or attributes.max() >= n:
        return None
    return lengths, attributes, values


def _columns(text: str, separator: str, kinds: Sequence[Any]) -> list[NDArray[Any]] | None:
    """Columns of lines of numbers, of the given types; None if there is anything else in it."""
    names = [str(k) for k in range(len(kinds))]
    read = pyarrow.csv.ReadOptions(column_names=names, block_size=_BLOCK, use_threads=False)
    parse = pyarrow.csv.ParseOptions(delimiter=separator, quote_char=False, ignore_empty_lines=False)
    convert = pyarrow.csv.ConvertOptions(column_types=dict(zip(names, kinds, strict=True)), null_values=[])
    try:
        table = pyarrow.csv.read_csv(pa.py_buffer(text.encode()), read, parse, convert)
    except pa.ArrowInvalid:
        return None
    return [numpy_of(column) for column in table.columns]
