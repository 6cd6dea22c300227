"""Tables to CSV, TSV and Parquet files."""

import csv
import gzip
import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.datasets.readers import parquet
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike, replacing

__all__ = ["write_table"]


def write_table(path: PathLike, columns: Mapping[str, ArrayLike]) -> None:
    """Write columns as CSV, TSV or Parquet, by the suffix of the file.

    The file has its name only when it is complete: after an error or an interruption an earlier file of this
    name is as it was. Numbers are written so that they are read back unchanged.

    Parameters
    ----------
    path : str or path-like
        With the suffix ``.csv``, ``.tsv``, ``.parquet`` or ``.pq``; for text ``.gz`` may follow. ``"-"`` writes
        CSV to standard output.
    columns : mapping from name to array-like
        Columns of equal length, in this order.

    Raises
    ------
    ValueError
        If the suffix is unknown or the columns differ in length.
    FileNotFoundError
        If the folder does not exist.

    Examples
    --------
    >>> from cofactor.datasets import write_table
    >>> write_table("-", {"user": ["ann", "bob"], "rating": [3.5, 4.0]})
    user,rating
    ann,3.5
    bob,4.0
    """
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    if not arrays:
        raise InvalidInputError((Argument("columns"), " is empty, expected at least one column"), argument="columns")
    for name, values in arrays.items():
        if values.ndim != 1:
            raise InvalidInputError(f"column {name!r} has shape {values.shape}, expected one dimension")
    if len({len(values) for values in arrays.values()}) > 1:
        sizes = ", ".join(f"{name}: {len(values)}" for name, values in arrays.items())
        raise InvalidInputError((Argument("columns"), f" must have the same length, found {sizes}"), argument="columns")
    if os.fspath(path) == "-":
        sys.stdout.write(_delimited(arrays, ","))
        return
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    zipped = bool(suffixes) and suffixes[-1] == ".gz"
    kind = (suffixes[:-1] if zipped else suffixes)[-1:]
    if kind in ([".parquet"], [".pq"]) and not zipped:
        content = parquet.encode(arrays)
    elif kind in ([".csv"], [".tsv"]):
        content = _delimited(arrays, "," if kind == [".csv"] else "\t").encode()
        content = gzip.compress(content, mtime=0) if zipped else content
    else:
        raise InvalidInputError(
            "cannot tell the format from the suffix",
            advice="use .csv, .tsv, .csv.gz, .tsv.gz or .parquet",
            place=Place(os.fspath(path)),
        )
    with replacing(path) as stream:
        stream.write(content)


def _delimited(arrays: Mapping[str, NDArray], sep: str) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=sep, lineterminator="\n")
    writer.writerow(arrays)
    writer.writerows(zip(*(values.tolist() for values in arrays.values()), strict=True))
    return buffer.getvalue()
