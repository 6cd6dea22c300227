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
    model : RatingModel, ImplicitModel or Recommender
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
        asked |= {"groups": _by_item(request.groups, request, "group", model, new), "at_most": request.per_group}
    if request.boost is not None:
        boost = _by_item(request.boost, request, "boost", model, new)
        asked |= {"boost": {item: _number(text, item, request.boost) for item, text in boost.items()}}
    if folding and request.diversity and hasattr(model, "item_vectors") and model.updates_ is not None:
        asked |= {"vectors": model.item_vectors()}
    return {"rules": Rules(**asked)} if asked else {}


def _by_item(path: str, request: Request, what: str, model: Any, new: FeatureTable | None) -> dict[Any, str]:
    """Return what a table says of items that a model knows, or that are ranked among those, by their ids."""
    by_text = rating_files.read_titles(path, request.encoding, what)
    items = [*model.items_.ids.tolist(), *([] if new is None else new.ids.ids.tolist())]
    found = {item: by_text[str(item)] for item in items if str(item) in by_text}
    if not found:
        raise InvalidInputError(f"has the {what} of no item that was in training", place=Place(path))
    return found


def _number(text: str, item: Any, path: str) -> float:
    """Return a number that a table says of an item."""
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"item {item!r} has the boost {text!r}, expected a number", place=Place(path)) from None
