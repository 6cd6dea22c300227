"""Plain rows of an ARFF file, read by Arrow; None for all others, which liac-arff reads.

Plain rows are dense rows of numbers and of nominal values without quotation marks, and sparse rows of numbers. Both
ways give the same columns. Arrow makes no Python object for a cell, and is several times as fast; it does not say in
which line something is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from cofactor.datasets.table import Words, numpy_of

__all__ = ["dense_columns", "sparse_numbers"]

_BLOCK = 1 << 22  # bytes; a file with a longer row is left to liac-arff
_WORDS = pa.dictionary(pa.int32(), pa.string())
_PLAIN = re.compile(r"[\w.+-]+")  # values which are the same in the header and in rows


def dense_columns(rows: Sequence[str], values: Sequence[Sequence[str]]) -> list[NDArray[Any]] | None:
    """Columns of dense rows.

    Parameters
    ----------
    rows : sequence of str
        Such as ``"1.5,grey,1"``.
    values : sequence of sequences of str
        For each attribute its values, empty for numbers.

    Returns
    -------
    list of ndarray, or None
        Numbers, or for an attribute with values the position of each cell among them.
    """
    table = _read("\n".join(rows), ",", [_WORDS if known else pa.float64() for known in values])
    if table is None or table.num_rows != len(rows):
        return None
    columns = []
    for column, known in zip(table.columns, values, strict=True):
        found = _codes(column, known) if known else numpy_of(column)
        if found is None:
            return None
        columns.append(found)
    return columns


def _codes(column: Any, values: Sequence[str]) -> NDArray[np.int32] | None:
    """Position of each cell among the values; None if it holds anything but plain values."""
    words = Words.of(column)
    position = {value: k for k, value in enumerate(values) if _PLAIN.fullmatch(value)}
    if not position.keys() >= set(words.values):
        return None
    return np.array([position[word] for word in words.values], dtype=np.int32)[words.codes]


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
    table = _read(text, " ", [pa.int32(), pa.float64()])
    if table is None or table.num_rows != lengths.sum():
        return None
    attributes, values = map(numpy_of, table.columns)
    starts = (np.cumsum(lengths) - lengths)[lengths > 0]
    increases = np.diff(attributes, prepend=-1) > 0
    increases[starts] = True
    if not increases.all() or attributes.min() < 0 or attributes.max() >= n:
        return None
    return lengths, attributes, values


def _read(text: str, separator: str, kinds: Sequence[Any]) -> Any:
    """Table of lines with columns of these types; None if there is anything else in it."""
    names = [str(k) for k in range(len(kinds))]
    read = pyarrow.csv.ReadOptions(column_names=names, block_size=_BLOCK, use_threads=False)
    parse = pyarrow.csv.ParseOptions(delimiter=separator, quote_char=False, ignore_empty_lines=False)
    convert = pyarrow.csv.ConvertOptions(column_types=dict(zip(names, kinds, strict=True)), null_values=[])
    try:
        return pyarrow.csv.read_csv(pa.py_buffer(text.encode()), read, parse, convert)
    except pa.ArrowInvalid:
        return None
