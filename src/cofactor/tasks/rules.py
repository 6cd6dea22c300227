"""What lists of recommendations must be like, from a request."""

from __future__ import annotations

from typing import Any

from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.ratings import Rules
from cofactor.ratings.features import FeatureTable
from cofactor.tasks import rating_files
from cofactor.tasks.plain import Request

__all__ = ["rules_of"]


def rules_of(
    model: Any, request: Request, *, folding: bool = False, new: FeatureTable | None = None
) -> dict[str, Rules]:
    """Return the argument ``rules`` of ``recommend``; nothing where none are asked for.

    Parameters
    ----------
    model : RatingModel, ExposureModel or Recommender
        Fitted.
    request : Request
        What is asked for.
    new : FeatureTable, optional
        Of items that are ranked among those of training.
    folding : bool, default=False
        Whether the lists are for users who are folded in: the model itself says then which items are alike, since a
        fold-in may not know.
    """
    asked: dict[str, Any] = {name: getattr(request, name) for name in ("min_support", "diversity", "novelty")}
    asked = {name: value for name, value in asked.items() if value is not None}
    if (request.groups is None) != (request.per_group is None):
        both = (Argument("groups"), " and ", Argument("per_group"))
        raise InvalidInputError((*both, " go together: the group of each item, and how many of each a list may have"))
    if request.groups is not None:
        by_text = rating_files.read_titles(request.groups, request.encoding, "group")
        items = [*model.items_.ids.tolist(), *([] if new is None else new.ids.ids.tolist())]
        groups = {item: by_text[str(item)] for item in items if str(item) in by_text}
        if not groups:
            raise InvalidInputError("has the group of no item that was in training", place=Place(request.groups))
        asked |= {"groups": groups, "at_most": request.per_group}
    if folding and request.diversity and hasattr(model, "item_vectors") and model.updates_ is not None:
        asked |= {"vectors": model.item_vectors()}
    return {"rules": Rules(**asked)} if asked else {}
