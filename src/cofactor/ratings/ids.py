"""Ids of users and items: reading them from whatever holds them, and numbering them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import as_list, check_text
from cofactor.errors import InputWarning, InvalidInputError, InvalidTypeError
from cofactor.limits import blocks
from cofactor.model.state import member
from cofactor.text import plural, some_of
from cofactor.typing import Ids

_DENSE_TABLE = 1 << 20  # a lookup table of up to this many int32 (4 MB) is always worth it
_EXACT_FLOAT = 2.0**53  # whole floats beyond this may stand for several integers


class IdMap:
    """Two-way map between the ids of users or items and the indices 0..n-1.

    Ids are sorted, so that the index of an id depends on the set of ids alone and not on the order of the
    rows. Numbers are kept as int64 (floats that are whole numbers too) or float64; strings and other
    hashable ids as objects. Ids of several types that do not compare are sorted by type name, then by
    value; only ids which cannot be compared at all keep the order of their first appearance. Numbers and
    strings are never converted into each other: 1 and ``"1"`` are two ids.

    Parameters
    ----------
    ids : array-like of shape (n,)
        The ids; repeated ones count once.
    name : str, default="ids"
        What error messages call them.

    Raises
    ------
    ValueError
        If an id is NaN, infinite or None, or text with half a character (a lone surrogate).
    TypeError
        If an id is not hashable.

    Examples
    --------
    >>> films = IdMap(["Alien", "Up", "Alien", "Brazil"])
    >>> len(films), films.ids.tolist()
    (3, ['Alien', 'Brazil', 'Up'])
    >>> films.index(["Up", "Heat"]).tolist()
    [2, -1]
    """

    ids: NDArray[Any]

    def __init__(self, ids: Ids, name: str = "ids") -> None:
        self._set_ids(_distinct(id_column(ids, name), name))

    @classmethod
    def of_range(cls, n: int) -> Self:
        """Return the map of the integers 0..n-1 to themselves."""
        return cls.of_sorted(np.arange(n, dtype=np.int64))

    @classmethod
    def of_sorted(cls, ids: NDArray[Any]) -> Self:
        """Return the map of ids that are distinct and sorted already, as `IdMap` sorts them.

        Parameters
        ----------
        ids : ndarray of int64, float64 or objects
            They are not copied, and cannot be written to afterwards.
        """
        new = cls.__new__(cls)
        new._set_ids(ids)
        return new

    def part(self, start: int, stop: int) -> Self:
        """Return the map of the ids from index `start` on, below index `stop`; it shares their memory.

        Examples
        --------
        >>> IdMap(["Alien", "Brazil", "Up"]).part(1, 3)
        IdMap('Brazil', 'Up')
        """
        return self.of_sorted(self.ids[start:stop])

    @classmethod
    def of_parts(cls, parts: Sequence[IdMap]) -> Self:
        """Return the map which was cut into `parts`, in this order.

        Examples
        --------
        >>> films = IdMap(["Alien", "Brazil", "Up"])
        >>> IdMap.of_parts([films.part(0, 1), films.part(1, 3)]) == films
        True
        """
        return cls.of_sorted(np.concatenate([part.ids for part in parts]))

    def is_sorted(self) -> bool:
        """Whether ids increase; those of several kinds by kind, as they are saved."""
        if self.ids.dtype == object:
            return all(one < other for one, other in pairwise(self._keys(self.ids)))
        return bool((self.ids[1:] > self.ids[:-1]).all())

    def ends_before(self, other: IdMap) -> bool:
        """Whether ids of the same kind go on in another map.

        Examples
        --------
        >>> films = IdMap(["Alien", "Brazil", "Up"])
        >>> films.part(0, 2).ends_before(films.part(2, 3)), films.part(0, 2).ends_before(films.part(1, 3))
        (True, False)
        """
        if self.ids.dtype != other.ids.dtype:
            return False
        [last], [first] = self._keys(self.ids[-1:]), self._keys(other.ids[:1])
        return bool(last < first)

    @staticmethod
    def _keys(ids: NDArray[Any]) -> list[Any]:
        """Return what ids are sorted by."""
        return [(_family(key), key) for key in ids.tolist()] if ids.dtype == object else ids.tolist()

    def _set_ids(self, ids: NDArray[Any]) -> None:
        ids.setflags(write=False)
        self.ids = ids

    def __len__(self) -> int:
        return self.ids.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IdMap):
            return NotImplemented
        return self.ids.dtype == other.ids.dtype and np.array_equal(self.ids, other.ids)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"IdMap({some_of(self.ids)})"

    def index(self, values: Ids, name: str = "ids") -> NDArray[np.int32]:
        """Return the index of each id, -1 where the id is unknown.

        Parameters
        ----------
        values : array-like of shape (m,)
            Ids to look up.
        name : str, default="ids"
            What error messages call them.

        Returns
        -------
        ndarray of shape (m,), int32
            Indices in 0..n-1, or -1.
        """
        column = id_column(values, name)
        if self.ids.dtype == object or column.dtype == object:
            return self._index_objects(column)
        if self.ids.dtype == np.int64 and column.dtype == np.float64:
            whole = (column == np.floor(column)) & (np.abs(column) <= _EXACT_FLOAT)
            return np.where(whole, self._index_numbers(np.where(whole, column, 0).astype(np.int64)), np.int32(-1))
        return self._index_numbers(column.astype(self.ids.dtype, copy=False))

    def select(self, values: Ids, name: str = "ids") -> IdSelection:
        """Look ids up once, for many calls of ``recommend`` with them as `candidates` or `exclude`.

        Parameters
        ----------
        values : array-like of shape (m,)
            Ids; repeated ones count once.
        name : str, default="ids"
            What error messages call them.

        Examples
        --------
        >>> in_stock = IdMap(["Alien", "Up", "Brazil"]).select(["Up", "Heat"])
        >>> in_stock.places.tolist(), in_stock.unknown
        ([2], ['Heat'])
        """
        column = id_column(values, name)
        places = self.index(column, name)
        return IdSelection(self, np.unique(places[places >= 0]), column[places < 0].tolist())

    def _index_numbers(self, column: NDArray[Any]) -> NDArray[np.int32]:
        if not len(self):
            return np.full(column.size, -1, dtype=np.int32)
        out = np.empty(column.size, dtype=np.int32)
        for some in blocks(column.size):
            out[some] = self._index_some(column[some])
        return out

    def _index_some(self, column: NDArray[Any]) -> NDArray[np.int32]:
        if self._table is not None:
            # Where a difference overflows, it does not come out among those of the table either.
            return self._table.take(column - self.ids[0] + 1, mode="clip")
        found = np.minimum(np.searchsorted(self.ids, column), len(self) - 1).astype(np.int32)
        return np.where(self.ids[found] == column, found, np.int32(-1))

    def _index_objects(self, column: NDArray[Any]) -> NDArray[np.int32]:
        look, keys = self._positions, column.tolist()
        try:
            found = np.fromiter((look.get(key, -1) for key in keys), dtype=np.int32, count=column.size)
        except TypeError as error:
            raise InvalidTypeError(f"ids must be hashable ({error})") from error
        _reject_missing([keys[k] for k in np.flatnonzero(found < 0)], "ids")
        return found

    @cached_property
    def _table(self) -> NDArray[np.int32] | None:
        """Index of every integer from before the first id to after the last; None where that range is too wide."""
        if self.ids.dtype != np.int64:
            return None
        span = int(self.ids[-1]) - int(self.ids[0]) + 1
        if span > max(_DENSE_TABLE, 16 * len(self)):
            return None
        table = np.full(span + 2, -1, dtype=np.int32)
        table[self.ids - self.ids[0] + 1] = np.arange(len(self), dtype=np.int32)
        return table

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {key: k for k, key in enumerate(self.ids.tolist())}

    def warn_if_other_kind(self, values: NDArray[Any], role: str, stacklevel: int) -> bool:
        """Warn about ids, none of which is known, where these are numbers and the known ones text or the reverse.

        Parameters
        ----------
        values : ndarray of shape (m,)
            Unknown ids, m > 0.
        role : {"user", "item"}
            What the ids stand for.
        stacklevel : int
            As `warnings.warn` takes it, counted from the caller.

        Returns
        -------
        bool
            Whether they are of another kind.
        """
        other = {_kind(self.ids), _kind(values)} == {"numbers", "text"}
        if other:
            warnings.warn(
                f"no {role} id is known: the model has {_described(self.ids)}, but the ids given are "
                f"{_described(values)}; convert them",
                UserWarning,
                stacklevel=stacklevel + 1,
            )
        return other

    def warn_if_alike(self, values: NDArray[Any], role: str, stacklevel: int) -> None:
        """Warn about new ids which read as known ones of another type: text as a number, or a number as text.

        Parameters
        ----------
        values : ndarray of shape (m,)
            Unknown ids, each once.
        role : {"user", "item"}
            What the ids stand for.
        stacklevel : int
            As `warnings.warn` takes it, counted from the caller.
        """
        if self.ids.dtype != object and values.dtype != object:
            return
        readings = [(key, other) for key in values.tolist() if (other := _of_other_type(key)) is not None]
        found = self.index([other for _, other in readings])
        alike = np.flatnonzero(found >= 0)
        if alike.size:
            key, other = readings[alike[0]][0], self.ids[found[alike[:1]]].tolist()[0]
            those = plural(alike.size, f"such {role} counts", f"such {role}s count")
            text = f"{key!r} is not {other!r}, which this model knows: {those} as new; convert ids that mean the same"
            warnings.warn(InputWarning(text), stacklevel=stacklevel + 1)

    def to_state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the map as plain arrays and a header that JSON can hold.

        Returns
        -------
        arrays : dict of str to ndarray
            Numeric arrays.
        header : dict
            Kind of the ids, and the ids themselves where numbers and strings are mixed.

        Raises
        ------
        TypeError
            If an id is neither an integer, a float nor a string.
        """
        if self.ids.dtype != object:
            return {"ids": self.ids}, {"kind": "number"}
        ids = [key.item() if isinstance(key, np.generic) else key for key in self.ids.tolist()]
        for key in ids:
            if not isinstance(key, str | int | float):
                raise InvalidTypeError(
                    f"ids of type {type(key).__name__} cannot be saved, found {key!r}: "
                    "use integers, floats or strings as ids of users and items"
                )
        if not all(isinstance(key, str) for key in ids):
            return {}, {"kind": "mixed", "ids": ids}
        encoded = [key.encode() for key in ids]
        lengths = np.array([len(text) for text in encoded], dtype=np.int64)
        return {"text": np.frombuffer(b"".join(encoded), dtype=np.uint8), "lengths": lengths}, {"kind": "text"}

    @classmethod
    def from_state(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> Self:
        """Rebuild a map from what `to_state` returned.

        Parameters
        ----------
        arrays : dict of str to ndarray
            Numeric arrays.
        header : dict
            Kind of the ids.

        Returns
        -------
        IdMap
            Equal to the map that was saved.
        """
        kind = header.get("kind")
        if kind == "number":
            return cls.of_sorted(np.array(arrays["ids"]))
        if kind == "mixed":
            return cls.of_sorted(_object_array(header["ids"]))
        if kind != "text":
            raise InvalidInputError(f"the saved ids are of unknown kind {kind!r}: expected number, text or mixed")
        text, ends = arrays["text"].tobytes(), np.cumsum(arrays["lengths"]).tolist()
        starts = [0, *ends[:-1]]
        parts = (text[a:b].decode() for a, b in zip(starts, ends, strict=True))
        return cls.of_sorted(_object_array(list(parts)))


@dataclass(frozen=True, eq=False)
class IdSelection:
    """Some ids of a map, looked up once: what `IdMap.select` returns.

    Attributes
    ----------
    known : IdMap
        The map.
    places : ndarray of int32
        Indices of the ids in it, ascending.
    unknown : list
        Those that it does not have, in the order in which they were given.

    Examples
    --------
    >>> list(IdMap(["Alien", "Up", "Brazil"]).select(["Up", "Heat"]))
    ['Up']
    """

    known: IdMap
    places: NDArray[np.int32]
    unknown: list[Any]

    def __iter__(self) -> Iterator[Any]:
        """Yield the ids that the map has."""
        return iter(self.known.ids[self.places].tolist())

    def places_in(self, known: IdMap | ConcatIds, name: str) -> NDArray[np.int64]:
        """Return the indices in a map, which must be the one that ids were looked up in, or begin with that.

        Parameters
        ----------
        known : IdMap or ConcatIds
        name : str
            What error messages call the ids.
        """
        first = known.first if isinstance(known, ConcatIds) else known
        if first is not self.known and first != self.known:
            advice = "select them anew: model.items_.select(ids)"
            raise InvalidInputError("were selected among the items of another model", argument=name, advice=advice)
        return self.places.astype(np.int64)


def id_column(values: Any, name: str) -> NDArray[Any]:
    """Return ids as int64, float64 or objects, the same array where it is such; what can be int64 without loss is."""
    values = as_list(values, name)
    column = _object_array(values) if isinstance(values, list | tuple) else np.asarray(values)
    if column.ndim != 1:
        raise InvalidInputError(f"{name} must be one-dimensional, found shape {column.shape}")
    kind = column.dtype.kind
    if kind == "O":
        types = set(map(type, column.tolist()))
        if all(issubclass(t, int | np.integer | np.bool_) for t in types):
            kind = "i"
        elif all(issubclass(t, int | float | np.integer | np.floating) for t in types):
            kind = "f"
    if kind in "biu":
        try:
            # Through Python integers, since NumPy wraps large unsigned ones around.
            exact = column.tolist() if column.dtype == np.uint64 else column
            return np.ascontiguousarray(exact, dtype=np.int64)
        except OverflowError:
            return _object_array(column.tolist())
    if kind == "f":
        return _float_ids(column, name)
    return column if kind == "O" else _object_array(column.tolist() if kind in "UST" else list(column))


def _float_ids(column: NDArray[Any], name: str) -> NDArray[Any]:
    try:
        numbers = column.astype(np.float64)
    except OverflowError:
        return column
    missing = np.flatnonzero(~np.isfinite(numbers))
    if missing.size:
        found = plural(missing.size, "value that is", "values that are")
        raise InvalidInputError(
            f"{name} hold {found} NaN or infinite, the first in row {missing[0]}: remove these rows"
        )
    if (np.abs(numbers) > _EXACT_FLOAT).any():
        return column if column.dtype == object else numbers
    whole = numbers.astype(np.int64)
    return whole if np.array_equal(whole, numbers) else numbers


def _kind(ids: NDArray[Any]) -> str:
    """Return whether ids are numbers, text, or of several kinds."""
    if ids.dtype != object:
        return "numbers"
    return "text" if all(isinstance(key, str) for key in ids.tolist()) else "mixed"


def read_otherwise(known: Any, key: Any) -> float | str | None:
    """Return the known id that an unknown one reads as: the number of a text, or the text of a number; None without.

    Parameters
    ----------
    known : IdMap or ConcatIds
    key : hashable
        The unknown id.

    Examples
    --------
    >>> read_otherwise(IdMap([7, 1010]), "1010"), read_otherwise(IdMap(["7"]), 7), read_otherwise(IdMap(["ann"]), "7")
    (1010, '7', None)
    """
    other = _of_other_type(key)
    return None if other is None or known.index([other])[0] < 0 else other


def _of_other_type(key: Any) -> float | str | None:
    """Return the number that a text reads as, or the text of a number; None where there is no such thing."""
    if isinstance(key, int | float) and not isinstance(key, bool):
        return str(key)
    if not isinstance(key, str) or "_" in key:
        return None
    for kind in (int, float):
        try:
            number = kind(key)
        except ValueError:
            continue
        return number if math.isfinite(number) else None
    return None


def _described(ids: NDArray[Any]) -> str:
    if _kind(ids) == "text":
        return f"text such as {some_of(np.array(list(dict.fromkeys(ids.tolist()))[:2], dtype=object))}"
    return f"numbers from {ids.min()} to {ids.max()}"


def _distinct(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the distinct ids, sorted as `IdMap` documents."""
    if column.dtype != object:
        if column.dtype == np.int64 and column.size:
            low, high = int(column.min()), int(column.max())
            if high - low < max(_DENSE_TABLE, 16 * column.size):
                present = np.zeros(high - low + 1, dtype=np.bool_)
                for some in blocks(column.size):
                    present[column[some] - low] = True
                return np.flatnonzero(present) + low
        return np.unique(column)
    try:
        keys = list(dict.fromkeys(column.tolist()))
    except TypeError as error:
        raise InvalidTypeError(f"{name} must be hashable ({error})") from error
    _reject_missing(keys, name)
    check_text(keys, name)
    orders: list[Callable[[Any], Any]] = [lambda key: key, lambda key: (_family(key), key)]
    for order in orders:
        try:
            return _object_array(sorted(keys, key=order))
        except TypeError:
            continue
    return _object_array(keys)


def _family(key: Any) -> str:
    """Return what ids must have in common to be compared: 0 and 0.0 are one id, whichever came first."""
    return "number" if isinstance(key, int | float | np.number) else type(key).__qualname__


def _reject_missing(keys: Iterable[Any], name: str) -> None:
    for key in keys:
        # NaN and NaT differ from themselves; pandas.NA answers neither yes nor no.
        missing = key is None or not isinstance(key != key, bool | np.bool_) or bool(key != key)
        if missing or key in (np.inf, -np.inf):
            raise InvalidInputError(f"{name} hold a missing or infinite value, found {key!r}: remove these rows")


def _object_array(values: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def saved_ids(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], name: str) -> IdMap:
    """Return the ids of users or items which a file holds; those `IdMap` would not have built are refused."""
    own = {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}
    found = IdMap.from_state(own, member(member(header, "ids", dict), name, dict))
    ids = found.ids
    if ids.dtype == object:
        _reject_missing(ids.tolist(), f"the ids of {name}")
        check_text(ids, f"the ids of {name}")
        distinct = len(set(ids.tolist())) == len(ids)
    else:
        # No differences: those of integers more than 2**63 apart overflow.
        numbers = ids.ndim == 1 and ids.dtype in (np.int64, np.float64) and bool(np.isfinite(ids).all())
        distinct = numbers and found.is_sorted()
    if not distinct:
        raise InvalidInputError(f"the ids of {name} are not distinct and sorted")
    return found


class ConcatIds:
    """Ids of two maps, those of the second after the others; an `IdMap` would sort them.

    Examples
    --------
    >>> both = ConcatIds(IdMap(["Heat", "Up"]), IdMap(["Alien"]))
    >>> both.ids.tolist(), both.index(["Alien", "Up", "?"]).tolist()
    (['Heat', 'Up', 'Alien'], [2, 1, -1])
    """

    def __init__(self, first: IdMap, second: IdMap) -> None:
        self.first, self.second = first, second
        alike = first.ids.dtype.kind == second.ids.dtype.kind
        both = [ids if alike else ids.astype(object) for ids in (first.ids, second.ids)]
        self.ids = np.concatenate(both)

    def __len__(self) -> int:
        return len(self.ids)

    def index(self, values: Ids, name: str = "ids") -> NDArray[np.int32]:
        """See `IdMap.index`."""
        first, second = self.first.index(values, name), self.second.index(values, name)
        return np.where(first >= 0, first, np.where(second >= 0, second + len(self.first), -1)).astype(np.int32)
