"""What to say where a recommender is given what it cannot learn from."""

from __future__ import annotations

from typing import Any

from cofactor.errors import Argument, InvalidInputError
from cofactor.limits import MAX_LEVELS
from cofactor.model.progress import Monitor
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.ranking.takes import ratings_in
from cofactor.typing import SideFeatures

__all__ = ["ended_early", "refuse_counts", "refuse_unused"]


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


def refuse_unused(of_users: SideFeatures | None, rated: FitInput | None) -> None:
    """Refuse features of users which no rating model is to learn from."""
    if of_users is not None and (rated is None or rated.user_features is None):
        raise InvalidInputError(
            (Argument("user_features"), " are for a rating model that takes features, and there is none"),
            argument="user_features",
            advice="leave them out",
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
