"""Features of users or items that the caller knows: read from whatever holds them, checked, standardized."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import listed
from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.model.callers import callers_level
from cofactor.model.state import check_array
from cofactor.ratings.ids import IdMap
from cofactor.text import counted, some_of

_FORMS = (
    "a mapping from ids to sequences of numbers, a frame with the ids in its first column (or in a named or "
    "non-integer pandas index), or a tuple (ids, array)"
)


_TOO_LARGE = 1e100  #: its square, of which there are sums, is still a number


@dataclass(frozen=True)
class FeatureTable:
    """Features of some users, or items.

    Attributes
    ----------
    argument : str
        Name of the argument they came as, for messages.
    ids : IdMap
        Whose they are.
    values : ndarray of shape (n, c), float64
        In the order of `ids`; all finite.
    names : tuple of str
        Of the columns.
    """

    argument: str
    ids: IdMap
    values: NDArray[np.float64]
    names: tuple[str, ...]

    @property
    def checksum(self) -> int:
        """A number that is the same for the same features, in whatever order they came."""
        ids = "\n".join(map(repr, self.ids.ids.tolist()))
        return zlib.crc32(self.values.tobytes(), zlib.crc32(ids.encode()))

    @classmethod
    def read(cls, table: Any, argument: str) -> FeatureTable:
        """Read features from a mapping, a frame, or a pair of ids and an array; take those that were read as they are.

        Examples
        --------
        >>> FeatureTable.read({"bob": [31, 0], "ann": [25, 1]}, "user_features").values.tolist()
        [[25.0, 1.0], [31.0, 0.0]]
        """
        if isinstance(table, FeatureTable):
            return replace(table, argument=argument)
        frame = nw.from_native(table, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            ids, columns = _of_frame(frame, argument)
        elif isinstance(table, Mapping):
            ids = list(table)
            columns = _of_rows([np.atleast_1d(np.asarray(row)) for row in table.values()], ids, argument)
        elif isinstance(table, tuple) and len(table) == 2:
            if sparse.issparse(table[1]):
                raise InvalidTypeError(
                    f"{argument} holds a sparse matrix, expected an array: give it with .toarray()", argument=argument
                )
            ids, values = listed(table[0], f"the first of {argument}"), np.asarray(table[1])
            values = values[:, None] if values.ndim == 1 else values
            if values.ndim != 2 or len(values) != len(ids):
                raise InvalidInputError(
                    f"{argument} has {len(ids)} ids but an array of shape {values.shape}: expected a row for each",
                    argument=argument,
                )
            columns = {f"column {k}": values[:, k] for k in range(values.shape[1])}
        else:
            raise InvalidTypeError(f"{argument} is a {type(table).__name__}, expected {_FORMS}", argument=argument)
        if not columns or not len(ids):
            raise InvalidInputError(f"{argument} holds no features: expected {_FORMS}", argument=argument)
        known = IdMap(ids, f"the ids of {argument}")
        where = known.index(ids)
        if len(known) < len(where):
            twice = known.ids[np.bincount(where) > 1]
            raise InvalidInputError(
                f"{argument} has several rows for {some_of(twice, 3)}: leave one for each id", argument=argument
            )
        values = np.empty((len(known), len(columns)))
        for k, (name, column) in enumerate(columns.items()):
            values[where, k] = _numbers(column, name, ids, argument)
        return cls(argument, known, values, tuple(columns))


def unknown_features(argument: str) -> InvalidInputError:
    """Return the error for features of a kind that a model was not fitted with."""
    return InvalidInputError(
        (Argument(argument), " was not given in training, so nothing is known about what it says"),
        argument=argument,
        advice="leave it out, or fit an OrdinalProbit with such features",
    )


def _of_frame(frame: nw.DataFrame[Any], argument: str) -> tuple[Any, dict[str, NDArray[Any]]]:
    names = list(frame.columns)
    columns = {str(column.name): column.to_numpy() for column in frame.iter_columns()}
    index = nw.maybe_get_index(frame)
    if index is not None and (index.name is not None or np.asarray(index).dtype.kind not in "iu"):
        return np.asarray(index), columns
    if len(names) < 2:
        raise InvalidInputError(
            f"{argument} has the column {names} only: expected ids and at least one feature", argument=argument
        )
    return columns.pop(str(names[0])), columns


def _of_rows(rows: Sequence[NDArray[Any]], ids: Sequence[Any], argument: str) -> dict[str, NDArray[Any]]:
    if not rows:
        return {}
    odd = next((k for k, row in enumerate(rows) if row.shape != (len(rows[0]),)), None)
    if odd is not None:
        raise InvalidInputError(
            f"{argument} has features of shape {rows[odd].shape} for {ids[odd]!r} but {rows[0].shape} for {ids[0]!r}: "
            "expected as many numbers for each",
            argument=argument,
        )
    return {f"column {k}": np.array([row[k] for row in rows]) for k in range(len(rows[0]))}


def _numbers(column: NDArray[Any], name: str, ids: Any, argument: str) -> NDArray[np.float64]:
    texts = [value for value in column.tolist() if isinstance(value, str)] if column.dtype.kind in "OUST" else []
    try:
        if texts or column.dtype.kind in "Mmc":
            raise TypeError
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):
        found = repr(texts[0] if texts else column.tolist()[0])
        raise InvalidTypeError(
            f"{argument}: {name} holds {found}, expected numbers; make a column of 0 and 1 for each of its values",
            argument=argument,
        ) from None
    bad = np.flatnonzero(~(np.abs(numbers) < _TOO_LARGE))
    if bad.size:
        whose = np.asarray(ids, dtype=object)[bad].tolist()[0]
        raise InvalidInputError(
            f"{argument}: {name} is {numbers[bad[0]]:g} for {whose!r}, one of {counted(bad.size, 'value')} there that "
            f"cannot be used: fill them in, or leave out these rows (ids without a row get the column means)",
            argument=argument,
        )
    return numbers


@dataclass(frozen=True)
class Standardization:
    """How features are brought to mean 0 and standard deviation 1 over the rows of training.

    Attributes
    ----------
    names : tuple of str
    means, scales : ndarray of shape (c,), float64
        A scale of infinity stands for a column that was constant in training: it says nothing, and is left out.
    """

    names: tuple[str, ...]
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    @classmethod
    def of(cls, table: FeatureTable, ids: IdMap) -> Self:
        """Learn from the rows of these ids; columns that are constant there are dropped with a warning."""
        found = table.ids.index(ids.ids)
        known = table.values[found[found >= 0]]
        if not len(known):
            raise InvalidInputError(
                f"{table.argument} has no row for any of the {len(ids)} ids of the ratings, such as "
                f"{some_of(ids.ids, 3)}; it has rows for {some_of(table.ids.ids, 3)}",
                argument=table.argument,
            )
        means, scales = known.mean(axis=0), known.std(axis=0)
        constant = scales <= 1e-12 * np.maximum(np.abs(means), np.abs(known).max(axis=0))
        if constant.any():
            names = ", ".join(np.array(table.names, dtype=object)[constant].tolist())
            verb = "are" if constant.sum() > 1 else "is"
            warnings.warn(
                f"{table.argument}: {names} {verb} the same for all in training: dropped",
                UserWarning,
                stacklevel=callers_level(),
            )
        return cls(table.names, means, np.where(constant, np.inf, scales))

    @property
    def n_columns(self) -> int:
        """Number of columns that were not constant."""
        return int(np.isfinite(self.scales).sum())

    def rows(self, table: FeatureTable | None, ids: IdMap) -> NDArray[np.float64]:
        """Return standardized features of these ids, without constant columns; zeros (the means) for ids without."""
        varies = np.isfinite(self.scales)
        out = np.zeros((len(ids), self.n_columns))
        if table is None:
            return out
        if table.names != self.names:
            raise InvalidInputError(
                f"{table.argument} has the columns {', '.join(table.names)}, but those of training were "
                f"{', '.join(self.names)}: give the same in the same order",
                argument=table.argument,
            )
        found = table.ids.index(ids.ids)
        known = found >= 0
        out[known] = (table.values[found[known]][:, varies] - self.means[varies]) / self.scales[varies]
        return out

    def to_state(self) -> dict[str, Any]:
        """Return the names, means and scales as a dictionary."""
        return {"names": list(self.names), "means": self.means, "scales": self.scales}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild it from what `to_state` returned; what does not fit together is refused."""
        names = tuple(str(name) for name in state["names"])
        for key in ("means", "scales"):
            check_array(f"{key} of features", state[key], (len(names),), np.float64, finite=False)
        if not np.isfinite(state["means"]).all() or not (state["scales"] > 0).all():
            raise InvalidInputError("means of features must be finite, and their scales positive")
        return cls(names, state["means"], state["scales"])
