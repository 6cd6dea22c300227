"""Tables of delimited text that are too large to read at once: piece by piece, each as `text` reads a whole file."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

from cofactor.datasets.readers.pieces import Choose, Mark, Piece
from cofactor.datasets.readers.text import Body, TextTable, read_text, skip_blank
from cofactor.datasets.table import TableOptions
from cofactor.errors import InvalidInputError, Place
from cofactor.files import PathLike, display_name, is_utf8, not_decoded, opened, to_utf8

__all__ = ["pieces"]

PIECE = 1 << 24  #: bytes read at a time
_LONGEST = 8  # pieces that one line, or one cell in quotation marks, may take


def pieces(path: PathLike, options: TableOptions, choose: Choose, after: Mark) -> Iterator[Piece]:
    """Yield the rows of a file some at a time; see `cofactor.datasets.formats.read_pieces`."""
    file = display_name(path)
    with opened(path) as stream:
        first = next(_whole_lines(_blocks(stream, file, options.encoding), file), b"")
    # The first rows say what separates columns, and whether they have names.
    head = read_text(first, file, replace(options, encoding="utf-8"))
    positions = choose(head)
    with opened(path) as stream:
        mark = Mark()
        if is_utf8(options.encoding) and stream.seekable():
            stream.seek(after.bytes)
            mark = after
        for data in _whole_lines(_blocks(stream, file, options.encoding), file):
            end = Mark(0, mark.bytes + len(data), mark.lines + data.count(b"\n"))
            if end.bytes > after.bytes:
                table = _going_on(head, data, mark.lines) if mark.bytes else head
                if table is not None:
                    table.load(list(positions.values()))
                    yield Piece(table, positions, end)
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
        while data := stream.read(PIECE):
            yield data
        return
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        while data := stream.read(PIECE):
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
        if not cut and len(data) > _LONGEST * PIECE:
            raise InvalidInputError(f"has a line of more than {len(data):,} bytes", place=Place(file))
        # A mark which is missing is told by the reader of the piece.
        goes_on = data.count(b'"', 0, cut) % 2 and len(data) <= _LONGEST * PIECE
        if not cut or goes_on:
            rest = data
            continue
        yield data[:cut]
        rest = data[cut:]
    if rest:
        yield rest
