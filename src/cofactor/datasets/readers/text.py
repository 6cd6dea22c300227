"""CSV, TSV, ``::`` and the like, read by Arrow; read cell by cell where an error needs its line, or Arrow cannot.

Arrow's reader makes no Python object for a row, finds out which columns are numbers, and is 5 to 30 times as fast as
reading cell by cell (`benchmarks/reading.py`). It cannot read everything that we accept:

* separators of several characters, such as ``::``, become tabs before, if the text has none;
* blank lines are removed before, and counted when a message needs the number of a line;
* for lines of different lengths and stray quotation marks it says that something is wrong, but not in which line. Such
  a text is read cell by cell, which names the line.

Both ways accept the same files and give the same columns. Files too large to read at once are read in chunks.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from cofactor.datasets.table import Choose, Offset, Table, TableChunk, TableOptions, numpy_of, words_of
from cofactor.errors import InvalidInputError, Place
from cofactor.files import PathLike, display_name, is_utf8, not_decoded, opened, to_utf8
from cofactor.limits import COLUMNS
from cofactor.schema import Cells, Words
from cofactor.text import is_number, plural

_QUOTED = re.compile(r'"[^"]*"')
#: Advice for cells that cannot be told apart.
QUOTES = "is a quotation mark missing, or one too many?"
_NAMES = {"\\t": "\t", "tab": "\t"}
_BLANK_LINE = re.compile(rb"\n *(?=\n|\Z)")
_ODD_BLANKS = re.compile(rb"[ \n] | \n|[\x0b\x0c\x1c-\x1f]")  # anything but one blank between two cells
_BLOCK = 1 << 22  # bytes; a longer line is read cell by cell
_PARALLEL = 1 << 24  # bytes from which threads make reading faster
_CHUNK = 1 << 18  # bytes examined at a time


def separator_of(start: bytes) -> str | None:
    """Guess what separates the columns of a text from its first bytes; None where they hold no line of text."""
    line = start.lstrip().partition(b"\n")[0]
    try:
        return _sniff(line.decode()) if line else None
    except UnicodeDecodeError:
        return None


def read_text(data: bytes, file: str, options: TableOptions) -> TextTable:
    """Find separator, header and number of columns of a text; its columns are read when they are asked for.

    Parameters
    ----------
    data : bytes
        The text.
    file : str
        What messages call it.
    options : TableOptions
        How to read it.
    """
    text = to_utf8(data, file, options.encoding)
    start, number = skip_blank(text, 0, 1)
    if start == len(text):
        raise InvalidInputError(f"the file is empty, expected lines with {options.content}", place=Place(file))
    first, after = _line_at(text, start)
    sep = _sniff(first) if options.sep is None else _NAMES.get(options.sep, options.sep)
    if not sep or "\n" in sep or sep == '"':
        raise InvalidInputError(
            "cannot separate columns", argument="sep", found=sep, advice="give for example ',', ';', '\\t' or '::'"
        )
    cells = _split_line(first, sep, Place(file, number))
    next_start, next_number = skip_blank(text, after, number + 1)
    COLUMNS.check(len(cells), f"has {len(cells)} columns", Place(file, number))
    second = _line_at(text, next_start)[0]
    with _limit_of_cells(len(second) if options.long_cells else 0):
        following = _split_line(second, sep, Place(file, next_number), strict=False) if second else []
    if not options.is_header(cells, following):
        return TextTable(file, None, cells, Body(text, start, number, sep, len(cells), number, options.long_cells))
    if next_start == len(text):
        raise InvalidInputError(
            f"only a header ({first!r}), expected lines with data after it, {options.content} in each",
            place=Place(file),
        )
    return TextTable(
        file, tuple(cells), following, Body(text, next_start, next_number, sep, len(cells), number, options.long_cells)
    )


def skip_blank(data: bytes, start: int, line_number: int) -> tuple[int, int]:
    """Return where the next line begins that is not blank, and its number."""
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
    """Guess the separator of a line: ``::`` or a tab if it occurs, otherwise the most frequent of , ; |, or blanks."""
    bare = _QUOTED.sub("", line)
    for sep in ("::", "\t"):
        if sep in bare:
            return sep
    best = max(",;|", key=bare.count)
    if best not in bare and len(bare.split()) > 1:
        return " "
    return best


def _split_line(line: str, sep: str, place: Place, strict: bool = True) -> list[str]:
    """Cells of one line; wrong quotation marks are an error at `place` where it is strict."""
    if sep == " ":
        return line.split()
    if len(sep) > 1:
        return [cell.strip() for cell in line.split(sep)]
    try:
        rows = list(csv.reader([line], delimiter=sep, strict=strict))
    except csv.Error as error:
        raise InvalidInputError(str(error), advice=QUOTES, place=place) from None
    return [cell.strip() for cell in rows[0]]


@contextmanager
def _limit_of_cells(length: int) -> Iterator[None]:
    """Let Python's reader take cells up to a length, if that is more than its limit of 131,072 characters."""
    before = csv.field_size_limit()
    csv.field_size_limit(max(before, length))
    try:
        yield
    finally:
        csv.field_size_limit(before)


@dataclass(frozen=True)
class Body:
    """The lines of a text which hold data."""

    data: bytes
    start: int  # of the first line
    first_line: int  # its number
    sep: str
    n_columns: int
    width_line: int  # number of the line which set the number of columns
    long_cells: bool  # whether cells may be longer than Python's reader takes by itself


class TextTable(Table):
    """A table of text; its places are lines.

    Parameters
    ----------
    file, names, first_row
        As in `Table`.
    body : Body
        The lines after the header.
    """

    def __init__(self, file: str, names: tuple[str, ...] | None, first_row: Sequence[str], body: Body) -> None:
        super().__init__(file, names, body.n_columns, first_row)
        self.body = body
        self._columns: dict[int, Any] = {}
        self._lines: NDArray[np.int64] | None = None

    def load(self, positions: Sequence[int]) -> None:
        """Read these columns, by Arrow if it can."""
        found = _by_arrow(self.body, positions, as_text=())
        if found is None:
            found, self._lines = _by_cells(self.body, positions, self.file)
        self._columns = found

    def words(self, position: int, *, gaps: bool = False) -> Words:
        """Return the cells as text; a cell may be empty, whether gaps are wanted or not."""
        text = self._text(position)
        return Words.of(text) if isinstance(text, list) else words_of(text)

    def id_cells(self, position: int) -> Any:
        """Return integers if all cells are written as integers, otherwise text."""
        column = self._columns[position]
        if not _is_words(column) and pa.types.is_int64(column.type) and not self._has_odd_integers:
            return column
        text = self._text(position)
        return pa.array(text, pa.string()) if isinstance(text, list) else text

    def _text(self, position: int) -> Any:
        """Return a column as text, of Arrow or a list."""
        column = self._columns[position]
        if _is_words(column):
            return column
        again = _by_arrow(self.body, [position], as_text=[position])
        assert again is not None
        return again[position]

    def cells(self, position: int, *, gaps: bool = False) -> Cells:
        """Return numbers if all cells are numbers, otherwise text."""
        column = self._columns[position]
        is_hex = not _is_words(column) and pa.types.is_int64(column.type) and self._has_hexadecimals
        if not _is_words(column) and not is_hex:
            return numpy_of(column, np.float64)
        words = self.words(position)
        if not all(map(is_number, words.values)):
            return words
        return np.array([float(value) for value in words.values], dtype=np.float64)[words.codes]

    @cached_property
    def _has_odd_integers(self) -> bool:
        return _has_odd_integers(self.body)

    @cached_property
    def _has_hexadecimals(self) -> bool:
        """Whether 0x occurs in the text: Arrow takes 0x1F for an integer."""
        body = self.body
        return body.data.find(b"0x", body.start) >= 0 or body.data.find(b"0X", body.start) >= 0

    def seconds(self, position: int) -> NDArray[np.int64] | Words:
        """Return integers if all cells are integers, otherwise text."""
        return self.ids(position)

    def place(self, row: int, position: int | None = None) -> Place:
        """Return the line of a row, and a column in it, for errors."""
        line = _line_of(self.body, row) if self._lines is None else int(self._lines[row])
        return Place(self.file, line, self._column(position))


# ------------------------------------------------------------------------------------------------- by Arrow


def _by_arrow(body: Body, positions: Sequence[int], as_text: Sequence[int]) -> dict[int, Any] | None:
    """Columns as Arrow reads them, as int64, float64 or text; None if it cannot read them.

    Each row is one line then, see `_line_of`.
    """
    prepared = _prepared(body)
    if prepared is None:
        return None
    text, n_lines, delimiter, quote = prepared
    names = [f"c{k}" for k in range(body.n_columns)]
    read = pyarrow.csv.ReadOptions(column_names=names, block_size=_BLOCK, use_threads=len(text) > _PARALLEL)
    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=quote, ignore_empty_lines=False)
    kinds = {names[k]: _WORDS for k in as_text}
    while True:
        convert = pyarrow.csv.ConvertOptions(
            include_columns=[names[k] for k in dict.fromkeys(positions)],
            column_types=kinds,
            null_values=[],
            true_values=[],
            false_values=[],
            auto_dict_encode=True,
            auto_dict_max_cardinality=np.iinfo(np.int32).max,
        )
        try:
            table = pyarrow.csv.read_csv(pa.py_buffer(text), read, parse, convert)
        except pa.ArrowInvalid:
            return None
        if table.num_rows != n_lines:
            return None
        # For us dates, times and the like are text: read these columns again, as text.
        odd = {field.name: _WORDS for field in table.schema if field.type not in _KINDS}
        if not odd:
            return {k: table.column(names[k]) for k in positions}
        kinds = kinds | odd


_WORDS = pa.dictionary(pa.int32(), pa.string())
_KINDS = (pa.int64(), pa.float64(), _WORDS)


def _is_words(column: Any) -> bool:
    return isinstance(column, list) or column.type == _WORDS


def _prepared(body: Body) -> tuple[memoryview, int, str, str | bool] | None:
    """The text as Arrow can read it, its number of rows, its separator and its quotation mark; None if it cannot."""
    data, start, sep = body.data, body.start, body.sep
    end = len(data)
    while end > start and data[end - 1 : end] == b"\n":
        end -= 1
    if body.n_columns < 2 or data.find(b"\0", start, end) >= 0:
        return None
    if data.find(b"\n\n", start, end) >= 0 or data.find(b"\n ", start, end) >= 0:
        data = _BLANK_LINE.sub(b"", data[start:end])
        start, end = 0, len(data)
    n_lines = data.count(b"\n", start, end) + 1
    if len(sep) == 1 and sep != " ":
        if len(sep.encode()) > 1 or not _quotes_are_plain(data, start, end, sep):
            return None
        return memoryview(data)[start:end], n_lines, sep, '"'
    if data.find(b"\t", start, end) >= 0:
        return None
    if sep == " ":
        text = data[start:end]
        if not text.isascii() or text[:1] == b" " or text[-1:] == b" " or _ODD_BLANKS.search(text):
            return None
        return memoryview(text), n_lines, " ", False
    return memoryview(data[start:end].replace(sep.encode(), b"\t")), n_lines, "\t", False


def _quotes_are_plain(data: bytes, start: int, end: int, sep: str) -> bool:
    """Whether quotation marks are only in pairs, at the two ends of a cell."""
    if data.find(b'"', start, end) < 0:
        return True
    if data.find(b'""', start, end) >= 0:
        return False
    text = np.frombuffer(data, np.uint8)[start:end]
    marks = np.flatnonzero(text == ord('"'))
    if len(marks) % 2:
        return False
    opening, closing = marks[::2], marks[1::2]
    around = np.concatenate([text[opening[opening > 0] - 1], text[closing[closing < len(text) - 1] + 1]])
    return bool(np.isin(around, [ord(sep), ord("\n")]).all())


def _line_of(body: Body, row: int) -> int:
    """Number of the line of a row that Arrow read: the lines which are not blank are the rows."""
    lines = enumerate(io.BytesIO(body.data[body.start :]), start=body.first_line)
    rows = (number for number, line in lines if line.strip(b" \n"))
    return next(islice(rows, row, None))


def _has_odd_integers(body: Body) -> bool:
    """Whether some number begins with a superfluous 0, or is -0 or 0x1: such ids are text, since 007 is not 7."""
    for start in range(body.start, len(body.data), _CHUNK):
        before = b"\n" if start == body.start else b""
        codes = np.frombuffer(before + body.data[start : start + _CHUNK + 2] + b"\n", np.uint8)
        last, this, following = codes[:-2], codes[1:-1] == ord("0"), codes[2:]
        digit = (last >= ord("0")) & (last <= ord("9"))
        goes_on = (following >= ord("0")) & (following <= ord("9")) | ((following | 32) == ord("x"))
        padded = this & goes_on & ~digit & (last != ord("."))
        minus = this & (last == ord("-")) & (following != ord("."))
        if padded.any() or minus.any():
            return True
    return False


# ------------------------------------------------------------------------------------------------ by cells


def _by_cells(body: Body, positions: Sequence[int], file: str) -> tuple[dict[int, Any], NDArray[np.int64]]:
    """Columns as text, and the number of the line of each row."""
    lines: list[int] = []
    cells: dict[int, list[str]] = {k: [] for k in positions}
    with _limit_of_cells(len(body.data) if body.long_cells else 0):
        for line, row in _rows(body, file):
            if len(row) != body.n_columns:
                expected = plural(body.n_columns, "column")
                raise InvalidInputError(
                    f"expected {expected} as in line {body.width_line}, found {len(row)}", place=Place(file, line)
                )
            lines.append(line)
            for k, column in cells.items():
                column.append(row[k])
    return cells, np.array(lines, dtype=np.int64)


def _rows(body: Body, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row which is not blank."""
    text = body.data[body.start :].decode()
    sep, line = body.sep, body.first_line
    if sep == " " or len(sep) > 1:
        for number, content in enumerate(text.split("\n"), start=line):
            if content.strip():
                yield number, content.split() if sep == " " else content.split(sep)
        return
    reader = csv.reader(io.StringIO(text), delimiter=sep, strict=True)
    try:
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                yield line, row
            line = body.first_line + reader.line_num
    except csv.Error as error:
        raise InvalidInputError(str(error), advice=QUOTES, place=Place(file, line)) from None


CHUNK_BYTES = 1 << 24  #: bytes read at a time
_LONGEST = 8  # chunks that one line, or one cell in quotation marks, may take


def chunks(path: PathLike, options: TableOptions, choose: Choose, after: Offset) -> Iterator[TableChunk]:
    """Yield the rows of a file some at a time; see `cofactor.datasets.formats.Source.table_chunks`."""
    file = display_name(path)
    with opened(path) as stream:
        first = next(_whole_lines(_blocks(stream, file, options.encoding), file), b"")
    # The first rows say what separates columns, and whether they have names.
    head = read_text(first, file, replace(options, encoding="utf-8"))
    positions = choose(head)
    with opened(path) as stream:
        mark = Offset()
        if is_utf8(options.encoding) and stream.seekable():
            stream.seek(after.bytes)
            mark = after
        for data in _whole_lines(_blocks(stream, file, options.encoding), file):
            end = Offset(0, mark.bytes + len(data), mark.lines + data.count(b"\n"))
            if end.bytes > after.bytes:
                table = _going_on(head, data, mark.lines) if mark.bytes else head
                if table is not None:
                    table.load(list(positions.values()))
                    yield TableChunk(table, positions, end)
            mark = end


def _going_on(head: TextTable, data: bytes, lines: int) -> TextTable | None:
    """Return the table of further lines of a file, before which others stand; None if all of them are blank."""
    try:
        text = to_utf8(data, head.file)
    except InvalidInputError as error:
        if error.place is None or error.place.line is None:
            raise
        raise error.at(replace(error.place, line=error.place.line + lines)) from None
    start, line = skip_blank(text, 0, lines + 1)
    if start == len(text):
        return None
    body: Body = replace(head.body, data=text, start=start, first_line=line)
    return TextTable(head.file, head.names, (), body)


def _blocks(stream: IO[bytes], file: str, encoding: str) -> Iterator[bytes]:
    """Yield the content of a file, as UTF-8."""
    if is_utf8(encoding):
        while data := stream.read(CHUNK_BYTES):
            yield data
        return
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        while data := stream.read(CHUNK_BYTES):
            yield decoder.decode(data).encode()
        yield decoder.decode(b"", final=True).encode()
    except (LookupError, ValueError) as error:
        raise not_decoded(error, encoding, Place(file)) from None


def _whole_lines(blocks: Iterator[bytes], file: str) -> Iterator[bytes]:
    """Cut where lines end, and no cell in quotation marks goes on in the next line."""
    rest = b""
    for block in blocks:
        data = rest + block
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) > _LONGEST * CHUNK_BYTES:
            raise InvalidInputError(f"has a line of more than {len(data):,} bytes", place=Place(file))
        # A mark which is missing is told by the reader of the chunk.
        goes_on = data.count(b'"', 0, cut) % 2 and len(data) <= _LONGEST * CHUNK_BYTES
        if not cut or goes_on:
            rest = data
            continue
        yield data[:cut]
        rest = data[cut:]
    if rest:
        yield rest
