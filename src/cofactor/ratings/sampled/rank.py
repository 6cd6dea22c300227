"""How many factors, and features of who rated what, ratings are worth: a rule by their number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

from cofactor.ratings.data import Ratings

__all__ = ["Rank"]

#: Root of the number of ratings for each factor, and the most factors.
_ROOT, _MOST = 16.0, 48

#: Features of the mask for each factor.
_FEATURES = 2


@dataclass(frozen=True)
class Rank:
    """Numbers of factors, and of features that tell who rated what.

    Attributes
    ----------
    factors, implicit : int
    """

    factors: int
    implicit: int

    @classmethod
    def of(cls, ratings: Ratings, n_factors: int | str, n_implicit: int | str) -> Self:
        """Return the numbers given, and instead of "auto" those that the ratings are worth.

        That is the root of the number of ratings divided by 16, but no more factors than 48, or than there are users
        or items; and twice as many features.

        Examples
        --------
        >>> ratings = Ratings.from_pairs([(u, i) for u in range(30) for i in range(60)], [1, 2, 3] * 600)
        >>> Rank.of(ratings, "auto", "auto"), Rank.of(ratings, 8, "auto"), Rank.of(ratings, "auto", 5)
        (Rank(factors=3, implicit=6), Rank(factors=8, implicit=6), Rank(factors=3, implicit=5))
        """
        most = min(_MOST, *ratings.shape)
        worth = max(min(round(math.sqrt(ratings.n_ratings) / _ROOT), most), 1)
        factors: Any = worth if n_factors == "auto" else n_factors
        implicit: Any = _FEATURES * worth if n_implicit == "auto" else n_implicit
        return cls(int(factors), int(implicit))
