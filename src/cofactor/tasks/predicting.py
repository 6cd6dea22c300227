"""Predicted ratings of pairs as tables, one block of pairs after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from cofactor.errors import Argument, InvalidInputError, Text
from cofactor.tasks.plain import Table
from cofactor.tasks.rating_facts import rating_model_of
from cofactor.tasks.recommending import with_meaning
from cofactor.tasks.side_features import SIDES, asked
from cofactor.tasks.words import shortest

__all__ = ["answers_of", "check_predicts_on_workers", "predictions"]

#: Pairs that are predicted before they are written: a few megabytes to send to a worker.
_PAIRS_PER_BLOCK = 100_000

#: Pairs of user and item, and their times if there are any.
_Pairs: TypeAlias = tuple[NDArray[Any], NDArray[Any] | None]
#: What a model says of pairs: prediction, score, perhaps chances; and how many pairs it does not know.
_Answers: TypeAlias = tuple[dict[str, NDArray[Any]], int]


def check_predicts_on_workers(options: Mapping[str, Any], called: str) -> None:
    """Refuse what workers cannot have: features of new users or items, and a model that is no file."""
    for name in SIDES:
        if options[name] is not None:
            why = " exclude each other: those who are new are folded in here, and not by workers"
            raise InvalidInputError((Argument("scheduler"), " and ", Argument(name), why))
    if not Path(called).is_file():
        raise InvalidInputError((Argument("scheduler"), f" is for the file of a model, and {called} is none"))


def answers_of(options: Mapping[str, Any], model: Any, pairs: _Pairs) -> _Answers:
    """Return what a model says of some pairs.

    Parameters
    ----------
    options : mapping from str to object
        proba, user_features, item_features and encoding.
    model : RatingModel or Recommender
        Fitted.
    pairs : tuple of two arrays
        Users and items of shape (n, 2), in the form of id which the model knows, and times of shape (n,) or None.
    """
    asking = asked(rating_model_of(model), pairs[0], options, pairs[1])
    found = {"prediction": asking.answers("predict"), "score": shortest(asking.answers("decision_function"))}
    if options["proba"]:
        found["chances"] = asking.answers("predict_proba")
    return found, asking.n_unknown()


def predictions(
    each: Callable[[Iterable[_Pairs]], Iterator[_Answers]],
    model: Any,
    X: NDArray[Any],
    times: NDArray[Any] | None,
    options: Mapping[str, Any],
) -> Iterator[Table]:
    """Yield tables of predictions for some pairs after others, the last with a note on pairs that are not known.

    Parameters
    ----------
    each : callable
        Makes what `answers_of` does for each of some blocks, in their order.
    model : RatingModel
        Fitted.
    X, times : ndarray of shape (n, 2) and of shape (n,), or None
        As `answers_of` takes them.
    options : mapping from str to object
        As for `answers_of`. With features there is one block, since those who are new are folded in for each.
    """
    described = any(options[name] is not None for name in SIDES)
    size = len(X) if described else _PAIRS_PER_BLOCK
    blocks = [slice(first, first + size) for first in range(0, len(X), size)]
    n_unknown = 0
    made = each((X[here], None if times is None else times[here]) for here in blocks)
    for here, (found, unknown) in zip(blocks, made, strict=True):
        n_unknown += unknown
        columns: dict[str, Any] = {
            "user": X[here, 0],
            "item": X[here, 1],
            **with_meaning(model, found["prediction"]),
            "score": found["score"],
        }
        if options["proba"]:
            chances = zip(model.scale_.tolist(), found["chances"].T, strict=True)
            columns |= {f"p_{level:g}": column for level, column in chances}
        yield Table("Predictions", columns, notes=_unknown(n_unknown, len(X)) if here is blocks[-1] else ())


def _unknown(n_unknown: int, n_pairs: int) -> tuple[Text, ...]:
    """Say how many pairs a model does not know."""
    if not n_unknown:
        return ()
    share = f"{n_unknown:,} of {n_pairs:,}; they are predicted as for an average one"
    return (f"pairs with a user or an item that was not in training: {share}",)
