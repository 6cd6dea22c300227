"""Tables to CSV, TSV and Parquet files, and into databases."""

import csv
import gzip
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.datasets.readers import databases, parquet
from cofactor.errors import Argument, InvalidInputError, InvalidTypeError, Place
from cofactor.files import PathLike, is_database, replacing, without_password
from cofactor.frames import as_array, as_frame, collect
from cofactor.text import one_line
from cofactor.typing import Frame

#: By these a reader may guess the separator from the first line, where they stand outside quotation marks.
_SEPARATORS = (",", ";", "|", "\t", "::")

#: With these a formula begins, in some spreadsheets also after blanks, and in full width.
_FORMULAS = tuple("=+-@\t\r\n＝＋－＠")


def write_table(path: PathLike, columns: Mapping[str, ArrayLike] | Frame, *, safe_csv: bool = False) -> None:
    """Write columns as CSV, TSV or Parquet, by the suffix of the file.

    The file has its name only when it is complete: after an error or an interruption an earlier file of this
    name is as it was. Numbers are written so that they are read back unchanged, NaN as an empty cell of CSV; and so is
    text, which may come from others: a spreadsheet takes text that begins as a formula for one, and may run it. Write
    with ``safe_csv=True`` what is to be opened in a spreadsheet.

    Parameters
    ----------
    path : str or path-like
        With the suffix ``.csv``, ``.tsv``, ``.parquet`` or ``.pq``; for text ``.gz`` may follow. ``"-"`` writes
        CSV to standard output. The address of a database, with the name of a table after ``#``, writes that in one
        transaction: ``sqlite:///shop.db?if_exists=replace#lists``. A table that exists is an error, or its rows are
        replaced, or with ``if_exists=append`` kept.
    columns : mapping from name to array-like, or frame
        Columns of equal length, in this order; also a frame of pandas, polars or Arrow, or a lazy one.
    safe_csv : bool, default=False
        Write CSV and TSV so that spreadsheets take no text for a formula: text in cells and names of columns which
        begins with =, +, -, @, tab or a line break gets an apostrophe before it, control characters become spaces, and
        all text is quoted. Numbers stay as they are.

    Raises
    ------
    ValueError
        If the suffix is unknown, the columns differ in length, or Parquet is to be `safe_csv`.
    FileNotFoundError
        If the folder does not exist.

    Examples
    --------
    >>> from cofactor.datasets import write_table
    >>> write_table("-", {"user": ["ann", "bob"], "rating": [3.5, 4.0]})
    user,rating
    ann,3.5
    bob,4.0
    >>> write_table("-", {"user": ["=1+1"], "rating": [-3.5]}, safe_csv=True)
    "user","rating"
    "'=1+1",-3.5
    """
    found: Any = columns
    if not hasattr(columns, "items"):  # which mappings have, and frames of pandas
        frame = as_frame(collect(columns, "columns"), "columns")
        if frame is None:
            problem = f"is a {type(columns).__name__}, expected a mapping from names to columns, or a frame"
            raise InvalidTypeError(problem, argument="columns")
        found = {name: as_array(frame[name]) for name in frame.columns}
    write_blocks(path, [found], safe_csv=safe_csv)


def write_blocks(path: PathLike, blocks: Iterable[Mapping[str, ArrayLike]], *, safe_csv: bool = False) -> int:
    """Write a table that comes in blocks of rows, with one of them in memory at a time; see `write_table`.

    Parameters
    ----------
    path : str or path-like
        As in `write_table`.
    blocks : iterable of mapping from name to array-like
        At least one, all with the columns of the first. A column of Parquet has the type that it has in the first.
    safe_csv : bool, default=False
        As in `write_table`.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    ValueError
        As in `write_table`.

    Examples
    --------
    >>> write_blocks("-", ({"user": [k], "square": [k * k]} for k in (2, 3)))
    user,square
    2,4
    3,9
    2
    """
    arrays, kind, zipped = map(_checked, blocks), *check_suffix(path, safe_csv=safe_csv)
    if kind == "database":
        return databases.write_blocks(without_password(os.fspath(path)), arrays)
    if kind == "-":
        return _write_lines(arrays, ",", safe_csv, sys.stdout.write)
    if kind == ".parquet":
        with replacing(path) as stream:
            return parquet.write_blocks(stream, arrays)
    with replacing(path) as stream, gzip.GzipFile("", "wb", fileobj=stream, mtime=0) if zipped else nullcontext() as gz:
        into: Any = stream if gz is None else gz
        return _write_lines(arrays, "," if kind == ".csv" else "\t", safe_csv, lambda lines: into.write(lines.encode()))


def check_suffix(path: PathLike, *, safe_csv: bool = False) -> tuple[str, bool]:
    """Return the format of a table by the suffix of its file, and whether it is compressed; refuse any other.

    Examples
    --------
    >>> check_suffix("lists.TSV.gz"), check_suffix("lists.pq"), check_suffix("-")
    (('.tsv', True), ('.parquet', False), ('-', False))
    """
    if os.fspath(path) == "-":
        return "-", False
    if is_database(path):
        return "database", False
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    zipped = bool(suffixes) and suffixes[-1] == ".gz"
    kind = "".join((suffixes[:-1] if zipped else suffixes)[-1:])
    place = Place(os.fspath(path))
    if kind in (".parquet", ".pq") and not zipped:
        if safe_csv:
            raise InvalidInputError(
                "is Parquet, in which no text is taken for a formula",
                advice=("leave out ", Argument("safe_csv", True), ", or write CSV"),
                place=place,
            )
        return ".parquet", False
    if kind not in (".csv", ".tsv"):
        raise InvalidInputError(
            "cannot tell the format from the suffix",
            advice="use .csv, .tsv, .csv.gz, .tsv.gz or .parquet",
            place=place,
        )
    return kind, zipped


def _checked(columns: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    """Return columns of one length."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    if not arrays:
        raise InvalidInputError((Argument("columns"), " is empty, expected at least one column"), argument="columns")
    for name, values in arrays.items():
        if values.ndim != 1:
            raise InvalidInputError(f"column {name!r} has shape {values.shape}, expected one dimension")
    if len({len(values) for values in arrays.values()}) > 1:
        sizes = ", ".join(f"{name}: {len(values)}" for name, values in arrays.items())
        raise InvalidInputError((Argument("columns"), f" must have the same length, found {sizes}"), argument="columns")
    return arrays


def _write_lines(
    blocks: Iterable[dict[str, NDArray[Any]]], sep: str, safe: bool, write: Callable[[str], object]
) -> int:
    """Write blocks as text below one header; return the number of rows."""
    n_rows = 0
    for number, arrays in enumerate(blocks):
        write(_delimited(arrays, sep, safe, header=number == 0))
        n_rows += len(next(iter(arrays.values())))
    return n_rows


def _delimited(arrays: Mapping[str, NDArray], sep: str, safe: bool, header: bool) -> str:
    buffer = _Lines()
    # Quoted text stays one cell also where a spreadsheet expects another separator.
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if safe else csv.QUOTE_MINIMAL
    writer = csv.writer(buffer, delimiter=sep, lineterminator=_Lines.END, quoting=quoting)
    rows = zip(*map(_cells, arrays.values()), strict=True)
    if header:
        unclear = not safe and any(mark in name for mark in _SEPARATORS for name in arrays)
        quoted = csv.writer(buffer, delimiter=sep, lineterminator=_Lines.END, quoting=csv.QUOTE_ALL)
        (quoted if unclear else writer).writerow(map(_harmless, arrays) if safe else arrays)
    writer.writerows((map(_harmless, row) for row in rows) if safe else rows)
    return buffer.getvalue()


def _cells(values: NDArray) -> list[object]:
    """Return the cells of a column: empty ones where a number is missing."""
    cells = values.tolist()
    if values.dtype.kind == "f" and np.isnan(values).any():
        return [None if cell != cell else cell for cell in cells]
    return cells


class _Lines(io.StringIO):
    """Lines that end with a line feed. A writer quotes what stands in its own line ends; so it must know both."""

    END = "\r\n"

    def write(self, line: str, /) -> int:
        """Write a whole line, as `csv.writer` does."""
        return super().write(line.removesuffix(self.END) + "\n")


def _harmless(cell: object) -> object:
    """Return a cell that no spreadsheet takes for a formula; numbers are as they were."""
    if cell is None or isinstance(cell, int | float):
        return cell
    text = str(cell)
    return ("'" if text.lstrip(" ").startswith(_FORMULAS) else "") + one_line(text)
