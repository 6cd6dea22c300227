"""Results as rows of a table, each with a digest of what it holds, and what can be read of a damaged table."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from cofactor.evaluation.run.cells import Result

__all__ = ["COLUMNS", "check", "digest", "readable", "result_of", "row_of", "text"]

_FIELDS = tuple(field.name for field in fields(Result))
_JSON = ("parameters", "measures")
_DAMAGED = "a result is not as it was written"
COLUMNS = (*_FIELDS, "digest")  #: of a row

#: Ways through the table, and through its index, which is another part of the file.
_WAYS = tuple(
    f"SELECT number FROM results {way} {direction}"
    for way in ("NOT INDEXED ORDER BY number", "INDEXED BY sqlite_autoindex_results_1 ORDER BY key")
    for direction in ("ASC", "DESC")
)


def row_of(result: Result) -> list[Any]:
    """Return the values of the columns."""
    values = {
        **{name: getattr(result, name) for name in _FIELDS},
        **{name: json.dumps(getattr(result, name), ensure_ascii=False) for name in _JSON},
        "seed": int(result.seed),
        "seconds": float(result.seconds),
    }
    return [*values.values(), digest(list(values.values()))]


def result_of(row: Sequence[Any]) -> Result:
    """Return the result which a row holds; ValueError if the row is not as it was written."""
    values = check(row)
    named = dict(zip(_FIELDS, values, strict=True))
    return Result(**{name: json.loads(value) if name in _JSON else value for name, value in named.items()})


def check(row: Sequence[Any]) -> list[Any]:
    """Return the values of a row without their digest; ValueError if the row is not as it was written."""
    *values, said = row
    if digest(values) != said:
        raise ValueError(_DAMAGED)
    return values


def digest(values: Sequence[Any]) -> str:
    """Return the digest of the values of a row; ValueError if some are of no kind that is written."""
    try:
        whole = json.dumps(values, ensure_ascii=False).encode()
    except (TypeError, UnicodeEncodeError):  # bytes, or text which is not UTF-8
        raise ValueError(_DAMAGED) from None
    return hashlib.blake2b(whole, digest_size=16).hexdigest()


def text(raw: bytes) -> str:
    """Return text as SQLite holds it; what is not UTF-8 is no error here, and has no digest."""
    return raw.decode("utf-8", "surrogateescape")


def readable(path: Path) -> tuple[list[Result], int]:
    """Return the results of a damaged table that are as they were written, in order, and the number of the others.

    The file is only read.
    """
    found: dict[int, Result] = {}
    numbers: set[int] = set()
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = text
        for way in _WAYS:
            numbers.update(_numbers(connection, way))
        query = f"SELECT {', '.join(COLUMNS)} FROM results NOT INDEXED WHERE number = ?"
        for number in sorted(numbers):
            with suppress(sqlite3.Error, MemoryError, ValueError):
                found[number] = result_of(connection.execute(query, (number,)).fetchone() or ("",))
    last = {result.key: number for number, result in found.items()}
    return [found[number] for number in last.values()], len(numbers) - len(found)


def _numbers(connection: sqlite3.Connection, way: str) -> Iterator[int]:
    """Yield the numbers of rows in an order, as far as it can be gone."""
    with suppress(sqlite3.Error, MemoryError):
        yield from (number for (number,) in connection.execute(way) if isinstance(number, int))
