"""How many factors, and features of who rated what, ratings are worth: a rule by their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from cofactor.ratings.data import Ratings

__all__ = ["Rank"]

#: Ratings of a row, on the average of both sides, for each factor; the fewest and the most factors.
_RATINGS, _FEWEST, _MOST = 3.5, 4, 48

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
    def of(cls, ratings: Ratings, n_factors: Any, n_implicit: Any) -> Self:
        """Return the numbers given, and instead of "auto" those that the ratings are worth.

        Examples
        --------
        >>> ratings = Ratings.from_pairs([(u, i) for u in range(30) for i in range(30)], [1, 2, 3] * 300)
        >>> Rank.of(ratings, "auto", "auto"), Rank.of(ratings, "auto", 5)
        (Rank(factors=8, implicit=16), Rank(factors=8, implicit=5))
        """
        each = ratings.n_ratings / max(ratings.shape)
        own = min(max(int(each / _RATINGS), _FEWEST), _MOST)
        factors = own if n_factors == "auto" else int(n_factors)
        return cls(factors, _FEATURES * own if n_implicit == "auto" else int(n_implicit))
