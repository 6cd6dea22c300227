"""Ids as numbers, in the order in which they come, without a Python object for each row."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from cofactor.datasets.table import is_text, numpy_of
from cofactor.errors import InvalidInputError, Place
from cofactor.files import naming_file
from cofactor.ratings.ids import IdMap

__all__ = ["IdEncoder"]

_INTEGER = "^(-?[1-9][0-9]{0,18}|0)$"  # as `cofactor.datasets.cells` reads integers


class IdEncoder:
    """Numbers ids 0, 1, 2, ... as they come.

    As `read_ratings` does, it takes text for integers as long as all ids are written as integers; from the first one on
    that is not, all are text.

    Parameters
    ----------
    role : {"user", "item"}
        What the ids stand for.
    known : pyarrow.Array, optional
        Ids that have numbers already, of type int64 or large_string.

    Examples
    --------
    >>> films = IdEncoder("item")
    >>> films.codes(pa.array([12, 7, 12])).tolist(), films.codes(pa.array(["007", "7"])).tolist()
    ([0, 1, 0], [2, 1])
    >>> films.known.to_pylist()
    ['12', '7', '007']
    """

    def __init__(self, role: str, known: Any = None) -> None:
        self.role = role
        self.known = pa.array([], pa.int64()) if known is None else known
        self._fresh: list[Any] = []

    def __len__(self) -> int:
        return len(self.known)

    def codes(self, column: Any, empty: Callable[[int], NoReturn] | None = None) -> NDArray[np.int32]:
        """Return the number of each id.

        Parameters
        ----------
        column : pyarrow.Array or pyarrow.ChunkedArray
            Integers or text, also as a dictionary. Blanks around text are left out.
        empty : callable, optional
            Raises the error for an empty id in this row.
        """
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        places = numpy_of(encoded.indices)
        used = np.bincount(places, minlength=len(encoded.dictionary)) > 0
        values = encoded.dictionary
        if not used.all():
            values, places = values.filter(pa.array(used)), (np.cumsum(used) - 1)[places]
        if is_text(values.type):
            values = compute.utf8_trim_whitespace(values.cast(pa.large_string()))
            gaps = compute.equal(values, "").to_numpy(zero_copy_only=False)
            if gaps.any() and empty is not None:
                empty(int(np.flatnonzero(gaps[places])[0]))
        return self._codes_of(values)[places]

    def _codes_of(self, values: Any) -> NDArray[np.int32]:
        """Return the numbers of distinct cells; new ones are added."""
        values = self._alike(values)
        found = compute.index_in(values, value_set=self.known)
        if found.null_count:
            new = values.filter(found.is_null()).unique()
            if len(self) + len(new) > np.iinfo(np.int32).max:
                raise InvalidInputError(f"there are more than 2,147,483,647 {self.role}s")
            self.known = pa.concat_arrays([self.known, new])
            self._fresh.append(new)
            found = compute.index_in(values, value_set=self.known)
        return numpy_of(found)

    def _alike(self, values: Any) -> Any:
        """Return cells in the type of the known ids, which become text if these are no integers."""
        if pa.types.is_int64(self.known.type):
            if pa.types.is_int64(values.type):
                return values
            if compute.all(compute.match_substring_regex(values, _INTEGER), min_count=0).as_py():
                with suppress(pa.ArrowInvalid):  # beyond 64 bits
                    return values.cast(pa.int64())
            self.known, self._fresh = self._as_text().known, []
        return values.cast(pa.large_string())

    def _as_text(self) -> IdEncoder:
        """Return the same ids as text."""
        return IdEncoder(self.role, self.known.cast(pa.large_string()))

    def _first_text(self) -> int | None:
        """Return the number of the first id that is written as no integer; None if all are integers."""
        if pa.types.is_int64(self.known.type):
            return None
        numbers = compute.match_substring_regex(self.known, _INTEGER)
        return max(compute.index(numbers, False).as_py(), 0)  # the first one if they are beyond 64 bits

    def sorted(self) -> tuple[IdMap, NDArray[np.int32]]:
        """Return the map of all ids, as `IdMap` sorts them, and where each stands in it, by its number."""
        order = numpy_of(compute.sort_indices(self.known)).astype(np.int64)
        index = np.empty(len(order), dtype=np.int32)
        index[order] = np.arange(len(order), dtype=np.int32)
        ids = self.known.take(pa.array(order))
        if pa.types.is_int64(ids.type):
            return IdMap.of_sorted(numpy_of(ids).copy()), index
        return IdMap.of_sorted(np.fromiter(ids.to_pylist(), dtype=object, count=len(ids))), index

    def sorted_like(
        self, known: Iterator[IdMap], place: Callable[[str, int], Place]
    ) -> tuple[IdMap, NDArray[np.int32]]:
        """Return the map of all ids, in the type of others, and where each stands in it, as `sorted` does.

        Whole numbers are text among text where some known id is written as a whole number too, as in files of which one
        has numbers alone. Where none is, they are of another kind, and refused, as is text among numbers.

        Parameters
        ----------
        known : iterator of IdMap
            Those that are there, in parts; one part at least.
        place : callable
            From "user" or "item" and the number of a new id to where it stands first.
        """
        role, first, odd = self.role, next(known), self._first_text()
        if first.ids.dtype == object and not all(isinstance(one, str) for one in first.ids.tolist()):
            raise InvalidInputError(
                f"the ids of {role}s are of several types, so that nothing can be appended from files"
            )
        if first.ids.dtype == object:
            if odd is None and not any(_has_integers(part.ids) for part in chain([first], known)):
                message = f"{role} {self.known[0].as_py()} is a whole number, and all {role}s that are there are "
                message += f"text, such as {first.ids[0]!r}"
                raise InvalidInputError(message, advice="is it the column?", place=place(role, 0))
            return self._as_text().sorted()
        if odd is not None:
            message = f"{role} {self.known[odd].as_py()!r} is no whole number, as the {role}s are that are there"
            raise InvalidInputError(message, advice="is it the column?", place=place(role, odd))
        return self.sorted()

    def append_to(self, folder: Path, lengths: dict[str, int]) -> None:
        """Write the ids that came since the last call; all of them if they became text, to another file.

        Parameters
        ----------
        folder : Path
        lengths : dict of str to int
            Bytes that count of each file; those of this one are brought up to date.
        """
        name = _file_of(self.role, pa.types.is_int64(self.known.type))
        fresh = self._fresh if name in lengths else [self.known]
        path = folder / name
        with naming_file(path), open(path, "r+b" if name in lengths else "wb") as stream:
            stream.seek(lengths.get(name, 0))
            stream.truncate()
            for part in fresh:
                batch = pa.record_batch([part], names=["ids"])
                with pa.ipc.new_stream(stream, batch.schema) as writer:
                    writer.write_batch(batch)
            stream.flush()
            os.fsync(stream.fileno())
            lengths[name] = stream.tell()
        self._fresh = []

    @classmethod
    def read(cls, role: str, folder: Path, lengths: Mapping[str, int]) -> IdEncoder:
        """Return the encoder that `append_to` has written."""
        names = [_file_of(role, numbers) for numbers in (False, True)]
        name = next((name for name in names if name in lengths), None)  # text comes after numbers
        if name is None:
            return cls(role)
        data = pa.py_buffer((folder / name).read_bytes()[: lengths[name]])
        source, parts = pa.BufferReader(data), []
        while source.tell() < len(data):
            parts += pa.ipc.open_stream(source).read_all().column("ids").chunks
        return cls(role, pa.concat_arrays(parts))


def _has_integers(ids: NDArray[Any]) -> bool:
    """Return whether some of these texts is written as an integer.

    Examples
    --------
    >>> _has_integers(np.array(["ann", "007"], dtype=object)), _has_integers(np.array(["ann", "7"], dtype=object))
    (False, True)
    """
    written = compute.match_substring_regex(pa.array(ids, pa.large_string()), _INTEGER)
    return bool(compute.any(written, min_count=0).as_py())


def _file_of(role: str, numbers: bool) -> str:
    return f"{role}s.{'numbers' if numbers else 'text'}"
