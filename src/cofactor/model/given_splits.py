"""Splits that were made before, such as those of another library, or of a paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.model.rows import Rows, n_rows

__all__ = ["GivenSplits"]


class GivenSplits(BaseCrossValidator):
    """Splits that a caller made: training and test rows of each.

    Wherever a splitter is taken, so is a list of such pairs; this class is what becomes of it.

    Parameters
    ----------
    parts : iterable of tuple (train, test), or one such tuple of arrays
        Row numbers, counted from 0, or masks of all rows. Rows in neither of the two are left out.

    Raises
    ------
    InvalidTypeError
        If these are no pairs of rows.
    InvalidInputError
        If a part is empty, or a row does not exist, is there twice, or is in both parts.

    Examples
    --------
    >>> splits = GivenSplits([([0, 1], [2]), ([True, False, True], [False, True, False])])
    >>> splits
    GivenSplits(2)
    >>> for train, test in splits.split(np.zeros(3)):
    ...     print(train, test)
    [0 1] [2]
    [0 2] [1]
    """

    def __init__(self, parts: Any) -> None:
        self.parts = [tuple(map(np.asarray, part)) for part in _listed(parts)]

    def __repr__(self) -> str:
        return f"GivenSplits({len(self.parts)})"

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits; X, y and groups are ignored."""
        return len(self.parts)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield sorted training and test rows of each split; y and groups are ignored.

        Parameters
        ----------
        X : array-like, sparse matrix or array, or frame, of n rows
            Only their number matters.
        y, groups : ignored
            For scikit-learn's interface.
        """
        n = n_rows(X)
        for k, (first, second) in enumerate(self.parts):
            train, test = _rows(first, n, f"training rows of split {k}"), _rows(second, n, f"test rows of split {k}")
            both = np.intersect1d(train, test)
            if both.size:
                raise InvalidInputError(
                    f"split {k} has {both.size} rows in both of its parts, the first is row {both[0]}",
                    argument="splits",
                )
            yield train, test


def _listed(parts: Any) -> list[Any]:
    """Return pairs as a list; refuse what does not look like pairs."""
    if isinstance(parts, tuple) and len(parts) == 2 and all(isinstance(one, np.ndarray) for one in parts):
        return [parts]
    listed = list(parts) if isinstance(parts, Iterable) and not isinstance(parts, str) else []
    if not listed or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in listed):
        raise InvalidTypeError(f"expected pairs of training and test rows, found {parts!r}", argument="splits")
    return listed


def _rows(given: NDArray[Any], n: int, name: str) -> Rows:
    """Return sorted row numbers."""
    if given.ndim != 1 or given.dtype.kind not in "biu":
        raise InvalidInputError(
            f"the {name} must be row numbers, or a mask; found {given.dtype} of shape {given.shape}", argument="splits"
        )
    if given.dtype.kind == "b":
        if given.shape != (n,):
            raise InvalidInputError(f"the {name} are a mask of {given.size} rows, and there are {n}", argument="splits")
        given = np.flatnonzero(given)
    rows: Rows = np.unique(given).astype(np.int64)
    if not rows.size or rows[0] < 0 or rows[-1] >= n:
        found = f"from {rows[0]} to {rows[-1]}" if rows.size else "none"
        raise InvalidInputError(f"expected {name} from 0 to {n - 1}, found {found}", argument="splits")
    if rows.size < given.size:
        raise InvalidInputError(f"{given.size - rows.size} of the {name} are there more than once", argument="splits")
    return rows
