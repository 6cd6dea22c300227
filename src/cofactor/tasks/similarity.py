"""Similar items, and users, as columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cofactor.errors import InvalidInputError
from cofactor.ratings import Recommender
from cofactor.tasks.words import shortest
from cofactor.typing import SideName

__all__ = ["similar_columns", "with_similar"]


def with_similar(model: Any, side: SideName) -> Any:
    """Return a model, or the first part of a recommender, that has similar items or users.

    Parameters
    ----------
    model : RatingModel, ImplicitModel or Recommender
        Fitted.
    side : {"item", "user"}
        What are to be similar.

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    parts = [model]
    if isinstance(model, Recommender):
        parts += [part for part in (model.rating_model_, *model.implicit_models_) if part is not None]
    found = next((part for part in parts if hasattr(part, f"similar_{side}s")), None)
    if found is None:
        having = "ALS, MMMF and OrdinalProbit have" + (", and all models of interactions" if side == "item" else "")
        kind = type(model).__name__
        raise InvalidInputError(f"{kind} has no factors by which {side}s are similar: models such as {having}")
    return found


def similar_columns(model: Any, asked: Sequence[Any], n: int, side: SideName, min_ratings: int) -> dict[str, Any]:
    """Return the columns of items, or users, that are most like each of some.

    Parameters
    ----------
    model : estimator
        As `with_similar` returns it.
    asked : sequence
        Ids that the model knows.
    n : int
        How many to return for each.
    side : {"item", "user"}
        What the ids are of.
    min_ratings : int
        Fewest ratings of those that are returned.
    """
    find = model.similar_users if side == "user" else model.similar_items
    found, similarities = find(asked, n, min_ratings=min_ratings)
    there = np.isfinite(similarities)
    return {
        side: [one for one, row in zip(asked, there, strict=True) for _ in range(int(row.sum()))],
        "rank": np.broadcast_to(np.arange(1, n + 1), there.shape)[there],
        "similar": found[there].tolist(),
        "similarity": shortest(similarities[there]),
    }
