"""What to say where a recommender is given what it cannot learn from."""

from __future__ import annotations

from typing import Any

from cofactor.errors import Argument, InvalidInputError
from cofactor.limits import MAX_LEVELS
from cofactor.model.progress import Monitor
from cofactor.ratings.ranking.takes import ratings_in

__all__ = ["ended_early", "refuse_counts"]


def refuse_counts(X: Any, y: Any) -> None:
    """Refuse more distinct numbers than ratings may have, and say what learns from counts."""
    n = len(set(ratings_in(X, y) or ()))
    if n > MAX_LEVELS:
        raise InvalidInputError(
            f"y holds {n:,} distinct values, and ratings have at most {MAX_LEVELS} levels",
            argument="y",
            advice=(
                "where they are counts (plays, clicks, purchases) set ",
                Argument("ratings", None),
                ", or fit an exposure model such as EASE; bin continuous ratings with cofactor.datasets.bin_ratings",
            ),
        )


def ended_early(monitor: Monitor, name: str) -> InvalidInputError | None:
    """Return what to say where a callback ended the fit before its rating model had learned anything."""
    if not monitor.stopped:
        return None
    return InvalidInputError(
        f"the callback ended the fit before its rating model, {name}, had learned anything",
        argument="callback",
        advice=("let it go on for longer, or leave the rating model out with ", Argument("ratings", None)),
    )
