"""Lines ``1,3 5:0.2 7:1`` as arrays: a fast way for plain lines, a careful one for everything else.

Both ways accept the same lines and give the same arrays. The fast one is a compiled loop, which stops at anything
unusual; then the careful one reads word by word, and names the line of an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError, Place

BLOCK_BYTES = 1 << 21

_EXACT_POWER = 22  # the largest power of ten which is exact in float64
_POWERS = np.array([float(f"1e{k}") for k in range(_EXACT_POWER + 1)])
_LARGEST_INDEX = 2**31 - 2
_MOST_DIGITS = 18  # of a number of rows, features or labels


@dataclass(frozen=True)
class Block:
    """Some rows of a file.

    For each row the number of its labels, the number of its entries and its line; and the labels, the indices and the
    values of all rows, one row after the other.
    """

    n_labels: NDArray[np.int64]
    labels: NDArray[np.int64]
    n_entries: NDArray[np.int64]
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    lines: NDArray[np.int64]


@dataclass(frozen=True)
class Sizes:
    """First line ``N D L`` of the extreme-classification format."""

    n_rows: int
    n_features: int
    n_labels: int


def sizes_of(line: bytes) -> Sizes | None:
    """Sizes if a line holds three numbers, otherwise None; a row of labels and entries never looks like this."""
    words = line.split()
    if len(words) == 3 and all(word.isdigit() and len(word) <= _MOST_DIGITS for word in words):
        return Sizes(*map(int, words))
    return None


def read_blocks(stream: IO[bytes], name: str, size: int = BLOCK_BYTES) -> tuple[Sizes | None, Iterator[Block]]:
    """Return the sizes if the first line has them, and the rows, some at a time.

    In a file with sizes each line is a row, and there must be as many rows as they say; otherwise blank lines are no
    rows.
    """
    first = stream.readline()
    sizes = sizes_of(first)
    found = _blocks(stream, b"" if sizes else first, 2 if sizes else 1, name, size, keep_blank=sizes is not None)
    return sizes, found if sizes is None else _counted(found, sizes.n_rows, name)


def _blocks(stream: IO[bytes], rest: bytes, number: int, name: str, size: int, keep_blank: bool) -> Iterator[Block]:
    parts = [rest]  # of a line which may go on
    while data := stream.read(size):
        cut = data.rfind(b"\n") + 1
        if not cut:
            parts.append(data)
            continue
        whole, parts = b"".join([*parts, data[:cut]]), [data[cut:]]
        yield parse(whole, number, name, keep_blank)
        number += whole.count(b"\n")
    rest = b"".join(parts)
    if rest:
        yield parse(rest, number, name, keep_blank)


def _counted(blocks: Iterator[Block], n_rows: int, name: str) -> Iterator[Block]:
    """Yield the same blocks without the blank lines after the last row; a wrong number of rows is an error."""
    missing = n_rows
    for block in blocks:
        extra = len(block.lines) - missing
        if extra > 0:
            beyond = np.flatnonzero((block.n_labels + block.n_entries)[missing:])
            if len(beyond):
                line = block.lines[missing + beyond[0]]
                raise InvalidInputError(
                    f"more rows than the {n_rows} which the first line announces", place=Place(name, int(line))
                )
            block = replace(
                block,
                n_labels=block.n_labels[:missing],
                n_entries=block.n_entries[:missing],
                lines=block.lines[:missing],
            )
        missing -= len(block.lines)
        yield block
    if missing:
        raise InvalidInputError(
            f"the first line announces {n_rows} rows, found {n_rows - missing}",
            advice="is the file cut short?",
            place=Place(name),
        )


def parse(data: bytes, number: int, name: str, keep_blank: bool) -> Block:
    """Rows of some whole lines; `number` is the number of the first line."""
    if not data.endswith(b"\n"):
        data += b"\n"
    block = _fast(data, number, keep_blank)
    return _careful(data, number, name, keep_blank) if block is None else block


# ------------------------------------------------------------------------------------------ the fast way


def _fast(data: bytes, number: int, keep_blank: bool) -> Block | None:
    """Parse all lines by a compiled loop, or return None if they have to be looked at one by one."""
    from cofactor.kernels.svmlight import scan_rows  # only here, since Numba takes long to import

    codes = np.frombuffer(data, dtype=np.uint8)
    n, colons, commas = (np.count_nonzero(codes == ord(sign)) for sign in "\n:,")
    n_labels, n_entries = np.zeros((2, n), dtype=np.int64)
    labels = np.empty(commas + n, dtype=np.int64)
    indices, mantissas, exponents = np.empty((3, colons), dtype=np.int64)
    spans = np.empty((colons, 2), dtype=np.int64)
    n_filled, m_filled = scan_rows(codes, n_labels, labels, n_entries, indices, mantissas, exponents, spans)
    if n_filled < 0:
        return None
    values = _values(data, mantissas[:m_filled], exponents[:m_filled], spans)
    if not np.isfinite(values).all():
        return None
    rows = np.arange(n) if keep_blank else np.flatnonzero(n_labels + n_entries)
    return Block(n_labels[rows], labels[:n_filled], n_entries[rows], indices[:m_filled], values, rows + number)


def _values(
    data: bytes, mantissas: NDArray[np.int64], exponents: NDArray[np.int64], spans: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Values from mantissas and powers of ten. Both are exact in float64, so each value is rounded only once."""
    clipped = np.clip(exponents, -_EXACT_POWER, _EXACT_POWER)
    powers = _POWERS[np.abs(clipped)]
    values: NDArray[np.float64] = np.where(clipped < 0, mantissas / powers, mantissas * powers)
    hard = np.flatnonzero(clipped != exponents)  # also where there are too many digits
    values[hard] = [float(data[start:stop]) for start, stop in spans[hard].tolist()]
    return values


# --------------------------------------------------------------------------------------- the careful way


def _careful(data: bytes, number: int, name: str, keep_blank: bool) -> Block:
    labels: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    counts: list[tuple[int, int, int]] = []
    for at, raw in enumerate(data.split(b"\n")[:-1], start=number):
        place = Place(name, at)
        words = _text(raw, place).partition("#")[0].split()
        if not words and not keep_blank:
            continue
        before = len(labels), len(indices)
        if words and ":" not in words[0]:
            labels += [_integer(word, "label", place) for word in words.pop(0).split(",")]
        for word in words:
            index, colon, value = word.partition(":")
            if not colon:
                raise InvalidInputError(
                    f"expected index:value, found {word[:40]!r}", advice="labels are joined by commas", place=place
                )
            indices.append(_integer(index, "index", place))
            values.append(_number(value, place))
        counts.append((len(labels) - before[0], len(indices) - before[1], at))
    table = np.array(counts, dtype=np.int64).reshape(-1, 3)
    return Block(
        table[:, 0],
        np.array(labels, dtype=np.int64),
        table[:, 1],
        np.array(indices, dtype=np.int64),
        np.array(values, dtype=np.float64),
        table[:, 2],
    )


def _text(raw: bytes, place: Place) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise InvalidInputError("is no text", place=place) from None


def _integer(word: str, what: str, place: Place) -> int:
    if not (word.isascii() and word.isdigit()):
        found = repr(word[:40]) if word else "none"
        article = "an" if what == "index" else "a"
        raise InvalidInputError(f"expected {article} {what}, which is an integer from 0, found {found}", place=place)
    number = int(word[-_MOST_DIGITS:])
    if number > _LARGEST_INDEX or word[:-_MOST_DIGITS].strip("0"):
        raise InvalidInputError(f"the {what} {word[:40]} is larger than {_LARGEST_INDEX}", place=place)
    return number


def _number(word: str, place: Place) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if "_" in word or not math.isfinite(value):
        raise InvalidInputError(f"expected a finite number after the colon, found {word[:40]!r}", place=place)
    return value
