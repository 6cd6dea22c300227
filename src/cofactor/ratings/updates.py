"""What a model took in since it was fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from cofactor.errors import InvalidInputError
from cofactor.model.state import member

__all__ = ["Updates"]

#: Share of ratings that came since the last fit from which another fit is due. On MovieLens 100K daily updates by a
#: sixth of the ratings still cost nothing that could be measured: RMSE of `OrdinalProbit` .004 below that of a refit,
#: with a standard error of .003, of `ALS` .000 ± .003.
_DUE = 0.1


@dataclass(frozen=True)
class Updates:
    """What was taken into a model since it was fitted.

    Attributes
    ----------
    n_fitted : int
        Ratings of the last fit.
    n_updates : int
        Updates since.
    n_new : int
        Ratings that these gave, those which took the place of earlier ones too.

    Examples
    --------
    >>> Updates(90).after(5), Updates(90).after(5).due, Updates(90).after(5).after(5).due
    (Updates(n_fitted=90, n_updates=1, n_new=5), False, True)
    """

    n_fitted: int
    n_updates: int = 0
    n_new: int = 0

    def after(self, n_ratings: int) -> Self:
        """Return what it is after another update."""
        return replace(self, n_updates=self.n_updates + 1, n_new=self.n_new + n_ratings)

    @property
    def due(self) -> bool:
        """Whether a tenth or more of all ratings are new."""
        return self.n_new >= _DUE * (self.n_fitted + self.n_new)

    def to_state(self) -> dict[str, int]:
        """Return the attributes as a dictionary."""
        return {"n_fitted": self.n_fitted, "n_updates": self.n_updates, "n_new": self.n_new}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild it from what `to_state` returned; what is no number of ratings or updates is refused."""
        found = {name: member(dict(state), name, int) for name in ("n_fitted", "n_updates", "n_new")}
        if min(found.values()) < 0 or found["n_fitted"] < 1:
            raise InvalidInputError(f"numbers of ratings and updates must not be negative, found {found}")
        return cls(**found)
