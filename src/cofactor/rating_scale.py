"""How a file's ratings became levels, where they are no numbers of the scale: cut into bins, or words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.errors import InvalidInputError


@dataclass(frozen=True)
class RatingScale:
    """What each level of a scale stands for. Data sets and models keep it, so that predictions mean something.

    Parameters
    ----------
    scale : tuple of float
        The values of the levels, increasing.
    edges : tuple of float, default=()
        Where the ratings were cut: level r holds those from ``edges[r - 1]`` up to, but without, ``edges[r]``; the last
        level holds its upper edge too.
    words : tuple of str, default=()
        Where the ratings are words: one for each level.

    Raises
    ------
    InvalidInputError
        If there are not as many bins, or words, as levels, or the numbers do not increase.

    Examples
    --------
    >>> plays = RatingScale((1, 2, 3), edges=(1, 2, 5, 800))
    >>> plays.names()
    ['[1, 2)', '[2, 5)', '[5, 800]']
    >>> plays.levels_of([1, 4, 5, 2000]).tolist()
    [1.0, 2.0, 3.0, 3.0]
    >>> RatingScale((1, 2), words=("down", "up")).levels_of(["Up", "down"]).tolist()
    [2.0, 1.0]
    """

    scale: tuple[float, ...]
    edges: tuple[float, ...] = ()
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.scale)
        fits = (len(self.words) == n and not self.edges) or (len(self.edges) == n + 1 and not self.words)
        if not fits:
            raise InvalidInputError(f"a rating scale of {n} levels must have {n} words, or {n + 1} edges")
        rising = all((np.diff(numbers) > 0).all() for numbers in (self.scale, self.edges))
        if not rising or len({word.casefold() for word in self.words}) < len(self.words):
            raise InvalidInputError("the levels and edges of a rating scale must increase, and its words must differ")

    def names(self) -> list[str]:
        """Return what each level stands for: a word, or an interval of ratings."""
        if self.words:
            return list(self.words)
        ends = [f"{edge:g}" if edge < 1e6 else f"{edge:.10g}" for edge in self.edges]
        last = len(self.scale) - 1
        return [f"[{ends[k]}, {ends[k + 1]}{']' if k == last else ')'}" for k in range(last + 1)]

    def levels_of(self, ratings: ArrayLike) -> NDArray[np.float64]:
        """Return the values of the levels to which ratings belong.

        Parameters
        ----------
        ratings : array-like of shape (n,)
            Numbers, where the levels are bins; those beyond the outer edges belong to the outer bins. Words otherwise,
            in any case.

        Raises
        ------
        InvalidInputError
            If a word is not known, or a number is not finite.
        """
        scale = np.array(self.scale, dtype=np.float64)
        if self.words:
            known = {word.casefold(): k for k, word in enumerate(self.words)}
            given = [str(word).strip() for word in np.asarray(ratings, dtype=object).tolist()]
            odd = next((word for word in given if word.casefold() not in known), None)
            if odd is not None:
                raise InvalidInputError(f"the rating is {odd!r}, expected one of {', '.join(self.words)}")
            return scale[[known[word.casefold()] for word in given]]
        values = np.asarray(ratings, dtype=np.float64)
        if not np.isfinite(values).all():
            raise InvalidInputError(f"ratings must be finite, found {values[~np.isfinite(values)][0]}")
        return scale[np.searchsorted(self.edges[1:-1], values, side="right")]

    def named(self, ratings: ArrayLike) -> NDArray[Any]:
        """Return what predicted ratings stand for.

        Parameters
        ----------
        ratings : array-like of shape (n,)
            Values of levels.
        """
        levels = np.searchsorted(self.scale, np.asarray(ratings, dtype=np.float64))
        return np.array(self.names(), dtype=object)[levels]

    def to_state(self) -> dict[str, Any]:
        """Return a form that JSON can hold, which has no infinite numbers."""
        edges = [edge if abs(edge) < float("inf") else str(edge) for edge in self.edges]
        return {"scale": list(self.scale), "edges": edges, "words": list(self.words)}

    @classmethod
    def of_state(cls, state: Any) -> RatingScale:
        """Return what `to_state` gave, read from a file; anything else is refused."""
        kinds: Mapping[str, Any] = {"scale": int | float, "edges": int | float, "words": str}
        lists = isinstance(state, dict) and state.keys() == kinds.keys() and all(map(_is_list, state.values()))
        if not lists or not all(
            isinstance(one, kinds[name]) or (name == "edges" and one in ("inf", "-inf"))
            for name in kinds
            for one in state[name]
        ):
            raise InvalidInputError("the rating scale is damaged")
        scale, edges = (tuple(map(float, state[name])) for name in ("scale", "edges"))
        return cls(scale, edges, tuple(state["words"]))


def _is_list(value: object) -> bool:
    return isinstance(value, list)
