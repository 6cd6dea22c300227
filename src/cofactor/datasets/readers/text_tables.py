"""Delimited text as columns: a fast way for plain numbers, a careful one for everything else.

Both ways accept the same files and give the same columns. The fast one hands the work to NumPy's parser
and gives up at anything unusual; the careful one reads cell by cell and names the line of every fault.
"""

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.text import counted

_QUOTED = re.compile(r'"[^"]*"')
_QUOTES = "; is a quotation mark missing, or one too many?"
_ZERO, _NINE, _MINUS, _POINT, _NEWLINE = b"09-.\n"


@dataclass(frozen=True)
class TextTable:
    """Delimited text, cut into the header and the rest."""

    name: str
    sep: str
    header: tuple[str, ...] | None
    n_columns: int
    body: bytes
    first_line: int  # line number of the first line of the body
    width_line: int  # line number of the line which set the number of columns
    first_row: Sequence[str]  # cells of the first line of the body

    def where(self, line: int) -> str:
        """Beginning of a message about one line of this file."""
        return f"{self.name}, line {line}"

    def column_name(self, position: int) -> str:
        """Name of a column in messages: the one in the header, or its number counted from 1."""
        return repr(self.header[position]) if self.header else str(position + 1)


def split_table(
    data: bytes,
    name: str,
    sep: str | None,
    is_header: Callable[[Sequence[str], Sequence[str]], bool],
    content: str,
) -> TextTable:
    """Find separator, header and number of columns from the first lines; messages say what should be there."""
    start, line_number = _skip_blank(data, 0, 1)
    if start == len(data):
        raise InvalidInputError(f"{name}: the file is empty, expected lines with {content}")
    first, after = _line_at(data, start)
    sep = _sniff(first) if sep is None else {"\\t": "\t", "tab": "\t"}.get(sep, sep)
    if not sep or "\n" in sep or sep == '"':
        raise InvalidInputError(f"sep={sep!r} cannot separate columns; give for example ',', ';', '\\t' or '::'")
    cells = _split_line(first, sep, f"{name}, line {line_number}")
    next_start, next_line = _skip_blank(data, after, line_number + 1)
    following: list[str] = []
    if next_start < len(data):
        following = _split_line(_line_at(data, next_start)[0], sep)
    if not is_header(cells, following):
        return TextTable(name, sep, None, len(cells), data[start:], line_number, line_number, cells)
    if next_start == len(data):
        raise InvalidInputError(
            f"{name}: only a header ({first!r}), expected lines with data after it, {content} in each"
        )
    return TextTable(name, sep, tuple(cells), len(cells), data[next_start:], next_line, line_number, following)


def _skip_blank(data: bytes, start: int, line_number: int) -> tuple[int, int]:
    while start < len(data):
        line, after = _line_at(data, start)
        if line.strip():
            break
        start, line_number = after, line_number + 1
    return start, line_number


def _line_at(data: bytes, start: int) -> tuple[str, int]:
    end = data.find(b"\n", start)
    end = len(data) if end < 0 else end
    return data[start:end].decode(), min(end + 1, len(data))


def _sniff(line: str) -> str:
    """Guess the separator of a line: ``::`` or a tab wherever they occur, else the most frequent of , ; |."""
    bare = _QUOTED.sub("", line)
    for sep in ("::", "\t"):
        if sep in bare:
            return sep
    best = max(",;|", key=bare.count)
    if best not in bare and len(bare.split()) > 1:
        return " "
    return best


def separator_of(start: bytes) -> str | None:
    """Guess what separates the columns of a text from its first bytes; None where there is no line to tell it."""
    at, _ = _skip_blank(start, 0, 1) if _is_text(start) else (len(start), 1)
    return _sniff(_line_at(start, at)[0]) if at < len(start) else None


def _is_text(start: bytes) -> bool:
    line = start.lstrip().partition(b"\n")[0]
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _split_line(line: str, sep: str, where: str | None = None) -> list[str]:
    """Cells of one line; faults in its quotes are an error which begins with `where`, or pass without it."""
    if sep == " ":
        return line.split()
    if len(sep) > 1:
        return [cell.strip() for cell in line.split(sep)]
    try:
        rows = list(csv.reader([line], delimiter=sep, strict=where is not None))
    except csv.Error as error:
        raise InvalidInputError(f"{where}: {error}{_QUOTES}") from None
    return [cell.strip() for cell in rows[0]]


# ------------------------------------------------------------------------------------------ the fast way


def numeric_columns(table: TextTable, positions: Sequence[int], kinds: Sequence[str]) -> list[NDArray] | None:
    """Parse the columns at `positions` as numbers, or return None if the careful way has to look at the file.

    Row k of the result is then line ``table.first_line + k``: files with blank lines take the careful way.
    """
    body = table.body.rstrip(b"\n")
    sep = table.sep
    if len(sep) > 1 and b"\t" not in body:
        body, sep = body.replace(sep.encode(), b"\t"), "\t"
    if len(sep) != 1 or sep == " " or not body.isascii() or b'"' in body or b"+" in body:
        return None
    codes = np.frombuffer(body, dtype=np.uint8)
    if not _is_rectangular(codes, ord(sep), table.n_columns) or _has_padded_numbers(codes):
        return None
    order = np.argsort(positions)
    dtype = np.dtype([(f"c{positions[k]}", kinds[k]) for k in order])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # older NumPy only warns when it cuts 1.5 down to an integer
            rows = np.loadtxt(
                io.StringIO(body.decode("ascii")),
                dtype=dtype,
                delimiter=sep,
                usecols=[positions[k] for k in order],
                comments=None,
                ndmin=1,
            )
    except (ValueError, DeprecationWarning):
        return None
    return [np.ascontiguousarray(rows[f"c{position}"]) for position in positions]


def _is_rectangular(codes: NDArray[np.uint8], sep: int, n_columns: int) -> bool:
    """Whether each line has exactly ``n_columns - 1`` separators."""
    if n_columns < 2:
        return False
    line_ends = np.flatnonzero(codes == _NEWLINE)
    separators = np.flatnonzero(codes == sep)
    if len(separators) != (len(line_ends) + 1) * (n_columns - 1):
        return False
    by_line = separators.reshape(-1, n_columns - 1)
    return bool(np.all(by_line[:-1, -1] < line_ends) and np.all(by_line[1:, 0] > line_ends))


def _has_padded_numbers(codes: NDArray[np.uint8]) -> bool:
    """Whether some number starts with a superfluous 0 or is -0; such ids are names, 007 is not 7."""
    zeros = np.flatnonzero(codes == _ZERO)
    before = codes[np.maximum(zeros - 1, 0)]
    after = codes[np.minimum(zeros + 1, len(codes) - 1)]
    starts = ((before < _ZERO) | (before > _NINE)) & (before != _POINT) | (zeros == 0)
    goes_on = (after >= _ZERO) & (after <= _NINE) & (zeros + 1 < len(codes))
    return bool(np.any(starts & goes_on) or np.any(before == _MINUS))


# --------------------------------------------------------------------------------------- the careful way


def text_columns(table: TextTable, positions: Sequence[int]) -> tuple[list[list[str]], NDArray[np.int64]]:
    """Read the columns at `positions` as stripped text; returns them and the line number of each row."""
    lines: list[int] = []
    rows: list[list[str]] = []
    for line, row in _rows(table):
        if len(row) != table.n_columns:
            expected = counted(table.n_columns, "column")
            raise InvalidInputError(
                f"{table.where(line)}: expected {expected} as in line {table.width_line}, found {len(row)}"
            )
        lines.append(line)
        rows.append(row)
    return [[row[p].strip() for row in rows] for p in positions], np.array(lines, dtype=np.int64)


def _rows(table: TextTable) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row which is not blank."""
    text = table.body.decode()
    if table.sep == " " or len(table.sep) > 1:
        for line, content in enumerate(text.split("\n"), start=table.first_line):
            if content.strip():
                yield line, content.split() if table.sep == " " else content.split(table.sep)
        return
    reader = csv.reader(io.StringIO(text), delimiter=table.sep, strict=True)
    line = table.first_line
    try:
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                yield line, row
            line = table.first_line + reader.line_num
    except csv.Error as error:
        raise InvalidInputError(f"{table.where(line)}: {error}{_QUOTES}") from None
