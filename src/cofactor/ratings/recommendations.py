"""What every `recommend` returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.files import PathLike
from cofactor.frames import frame_of
from cofactor.text import counted
from cofactor.typing import Frame

__all__ = ["Recommendations"]


@dataclass(frozen=True, eq=False)
class Recommendations:
    """What is recommended to users, best first: ``items, scores = model.recommend(...)``, and more by name.

    Attributes
    ----------
    users : ndarray of shape (k,)
        User ids.
    items : ndarray of shape (k, n)
        Item ids. A user with fewer items left than n has None in the last columns; the dtype is then object.
    scores : ndarray of shape (k, n), float64
        What they are ranked by, of a `Recommender` a logarithm of a probability or of an expected gain; -inf where
        there is no item.
    p_interact : ndarray of shape (k, n), float64, or None
        Of a `Recommender` the probability p that the item is the next one that the user interacts with. Among the next
        k it is with a probability of about k p, or 1 if that is less: of held-out interactions of MovieLens 100K, .505
        were where this said .477, and .242, .138, .073, .035 where it said .243, .140, .071, .032.
    p_like : ndarray of shape (k, n), float64, or None
        The probability that the user likes it, given an interaction; None without a rating model.

    Examples
    --------
    >>> items, p = np.array([["Up", None]], dtype=object), np.array([[0.5, np.nan]])
    >>> found = Recommendations(np.array([7]), items, np.array([[-0.7, -np.inf]]), p)
    >>> found.to_frame("polars").columns, len(found.to_frame("polars"))
    (['user', 'rank', 'item', 'score', 'p_interact'], 1)
    >>> items, scores = found
    >>> found[0] is items
    True
    """

    users: NDArray[Any]
    items: NDArray[Any]
    scores: NDArray[np.float64]
    p_interact: NDArray[np.float64] | None = None
    p_like: NDArray[np.float64] | None = None

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Give items and scores."""
        return iter((self.items, self.scores))

    def __getitem__(self, k: int) -> NDArray[Any]:
        """Return items for 0, and scores for 1."""
        return (self.items, self.scores)[k]

    def __len__(self) -> int:
        return 2

    def __repr__(self) -> str:
        return f"Recommendations({counted(len(self.users), 'user', form=',')}, {self.items.shape[1]} items each)"

    def __str__(self) -> str:
        return self.text()

    def text(self, n: int | None = 20) -> str:
        """Return the first rows in aligned columns.

        Parameters
        ----------
        n : int or None, default=20
            How many recommendations to show; None for all.

        Examples
        --------
        >>> items, p = np.array([["Up", "Alien"]]), np.array([[0.25, 0.125]])
        >>> print(Recommendations(np.array([7]), items, np.log(p), p).text())
        user  rank   item   score  p_interact
        -------------------------------------
           7     1     Up  -1.386       0.250
           7     2  Alien  -2.079       0.125
        """
        columns = self._columns()
        shown = len(columns["user"]) if n is None else min(n, len(columns["user"]))
        cells = [[name, *map(_cell, column[:shown].tolist())] for name, column in columns.items()]
        widths = [max(map(len, column)) for column in cells]
        lines = ["  ".join(map(str.rjust, row, widths)) for row in zip(*cells, strict=True)]
        more = len(columns["user"]) - shown
        below = [f"… and {more:,} more"] if more else []
        return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], *below])

    def to_frame(self, kind: str = "pandas") -> Frame:
        """Return a row for each recommendation: user, rank from 1, item, score; p_interact and p_like where known.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow"}, default="pandas"
            Whose frame, or table. Columns of polars and pyarrow have one type; where ids have several it is an error.
        """
        return frame_of(self._columns(), kind)

    def write(self, path: PathLike, *, safe_csv: bool = False) -> None:
        """Write the columns of `to_frame` to a file, which has its name only when it is whole.

        Parameters
        ----------
        path : str or path-like
            Its suffix says the format: ``.parquet``, ``.csv``, ``.tsv``, and of text also ``.gz`` after these.
        safe_csv : bool, default=False
            Write text so that no spreadsheet takes it for a formula, see `cofactor.datasets.write_table`.

        Raises
        ------
        InvalidInputError
            If the suffix is another one, or Parquet is to hold ids of several types.
        """
        from cofactor.datasets.write import write_table

        write_table(path, self._columns(), safe_csv=safe_csv)

    def _columns(self) -> dict[str, NDArray[Any]]:
        """Return a column for each thing that is known of a recommendation."""
        k, n = self.items.shape
        there = np.isfinite(self.scores).ravel()
        columns: dict[str, NDArray[Any]] = {
            "user": np.repeat(self.users, n),
            "rank": np.tile(np.arange(1, n + 1), k),
            "item": self.items.ravel(),
            "score": self.scores.ravel(),
        }
        chances = {"p_interact": self.p_interact, "p_like": self.p_like}
        columns |= {name: table.ravel() for name, table in chances.items() if table is not None}
        return {name: column[there] for name, column in columns.items()}


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
