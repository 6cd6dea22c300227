"""Lists of recommendations as tables, whatever model ranks the items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InvalidInputError, Text
from cofactor.model.times import pairs_for
from cofactor.ratings import ImplicitModel, Recommender
from cofactor.ratings.facts import predicts_ratings
from cofactor.ratings.features import FeatureTable, PairQuery
from cofactor.tasks.matching import hint
from cofactor.tasks.plain import RANKINGS, Request
from cofactor.tasks.rating_facts import rating_model_of
from cofactor.tasks.words import shortest
from cofactor.text import counted

__all__ = [
    "Lists",
    "at_latest",
    "check_users",
    "latest_times",
    "ranking_model",
    "recommendations",
    "with_meaning",
]

#: Items in lists that are made before they are written: some hundred megabytes as objects of Python.
_ITEMS_PER_BLOCK = 500_000


def ranking_model(model: Any, request: Request) -> Any:
    """Return the model that ranks: of a `Recommender` its rating model, where items are to be ranked by that alone.

    Parameters
    ----------
    model : RatingModel, ImplicitModel or Recommender
        Fitted.
    request : Request
        What is asked for.

    Raises
    ------
    InvalidInputError
        If the model cannot rank so.
    """
    asked, kind = request.rank_by, type(model).__name__
    if asked is not None and asked not in RANKINGS:
        wanted = f"expected one of {', '.join(map(repr, RANKINGS))}"
        raise InvalidInputError(wanted, argument="rank_by", found=asked)
    both = [name for name in ("at_least", "quantile") if getattr(request, name) is not None]
    if len(both) > 1:
        named = (Argument("at_least"), " and ", Argument("quantile"))
        raise InvalidInputError((*named, " both say how to rank: give one of them"))
    if isinstance(model, Recommender):
        if asked == "rating" and predicts_ratings(model):
            return model.rating_model_
        if request.quantile is not None:
            advice: Any = ("rank by it with ", Argument("rank_by", "rating"))
            raise InvalidInputError(
                "is of the predicted rating", argument="quantile", found=request.quantile, advice=advice
            )
    of_ratings = [name for name in ("at_least", "quantile") if getattr(request, name) is not None]
    if not predicts_ratings(model) and (of_ratings or asked not in (None, "interaction")):
        option = of_ratings[0] if of_ratings else "rank_by"
        does = "says who interacts with what" if isinstance(model, ImplicitModel) else "was fitted to interactions"
        problem = f"{kind} {does}, and knows nothing of ratings"
        advice = "fit a recommender to ratings"
        raise InvalidInputError(problem, argument=option, found=getattr(request, option), advice=advice)
    if not isinstance(model, Recommender | ImplicitModel) and asked not in (None, "rating"):
        problem = f"{kind} says what users like, and not what they interact with"
        raise InvalidInputError(problem, argument="rank_by", found=asked, advice="fit a recommender")
    return model


@dataclass(frozen=True)
class Lists:
    """Makes recommendations for users.

    Parameters
    ----------
    request : Request
        What is asked for.
    new : FeatureTable, optional
        Features of new items, which a `Recommender` ranks among the others.
    how : dict
        More arguments of ``recommend``.
    """

    request: Request
    new: FeatureTable | None
    how: dict[str, Any]

    @classmethod
    def asked(
        cls,
        request: Request,
        allowed: Sequence[Any] | None,
        new: FeatureTable | None,
        rules: dict[str, Any],
    ) -> Lists:
        """Return what makes the lists that a request asks for, of allowed items alone, which obey rules."""
        given = {name: getattr(request, name) for name in ("at_least", "quantile")}
        how = {name: value for name, value in given.items() if value is not None}
        return cls(request, new, rules | how | {"exclude_seen": not request.include_seen, "candidates": allowed})

    def __call__(self, model: Any, ids: Sequence[Any]) -> tuple[dict[str, Any], NDArray[Any]]:
        """Return the columns for some users, in the form of id which the model knows, and how many items each gets."""
        request, how = self.request, self.how
        model = ranking_model(model, request)
        if isinstance(model, Recommender):
            how = how | {"rank_by": request.rank_by or "auto", "new_items": self.new}
        found = model.recommend(ids, request.n, **how)
        chances = {name: table for name in ("p_interact", "p_like") if (table := getattr(found, name)) is not None}
        there = np.isfinite(found.scores)
        lengths, of_lists = there.sum(axis=1), found.items[there]
        columns = {
            "user": [one for one, n in zip(ids, lengths.tolist(), strict=True) for _ in range(n)],
            "rank": np.nonzero(there)[1] + 1,
            "item": of_lists.tolist(),
            "score": shortest(found.scores[there]),
            **{name: shortest(values[there].astype(np.float32)) for name, values in chances.items()},
            **_predicted(model, ids, lengths, of_lists, self.new),
        }
        return columns, lengths


def recommendations(
    each: Callable[[Iterable[Sequence[Any]]], Iterator[tuple[dict[str, Any], NDArray[Any]]]],
    ids: NDArray[Any],
    request: Request,
) -> Iterator[tuple[dict[str, Any], tuple[Text, ...]]]:
    """Yield the columns of recommendations for some users after others, the last with notes on lists of fewer items.

    Parameters
    ----------
    each : callable
        Makes what `Lists` does for each of some blocks of users, in their order.
    ids : ndarray of shape (n,)
        Users, in the form of id which the model knows.
    request : Request
        What is asked for.

    Yields
    ------
    columns : dict
        user, rank, item, score; of a `Recommender` p_interact and p_like; where the model predicts ratings, prediction.
    notes : tuple of Text
    """
    size = max(1, _ITEMS_PER_BLOCK // request.n)
    firsts, lengths = range(0, max(len(ids), 1), size), []
    made = each(ids[first : first + size].tolist() for first in firsts)
    for first, (columns, own) in zip(firsts, made, strict=True):
        lengths.append(own)
        yield columns, _short_lists(np.concatenate(lengths), request) if first == firsts[-1] else ()


def _short_lists(lengths: NDArray[Any], request: Request) -> tuple[Text, ...]:
    """Say how many users get fewer items than were asked for, and what leaves no more."""
    short, empty = int((lengths < request.n).sum()), int((lengths == 0).sum())
    if not short:
        return ()
    whom = f"{counted(short, 'user gets', 'users get', form=',')} fewer than {counted(request.n, 'item', form=',')}"
    none = f", {empty:,} of them none" if empty else ""
    limits: list[Text] = [] if request.include_seen else [(Argument("exclude_seen", False), " adds what users know")]
    asked = ("candidates", "exclude", "min_support", "per_group")
    limits += [(Argument(name), " leaves fewer") for name in asked if getattr(request, name) is not None]
    why: list[str | Argument] = []
    for limit in limits:
        why += [", " if why else ": ", *limit]
    return ((f"{whom}{none}, since no more are left", *why),)


def _predicted(
    model: Any, ids: Sequence[Any], lengths: NDArray[Any], items: NDArray[Any], new: FeatureTable | None
) -> dict[str, Any]:
    """Return the column of predicted ratings of some users' lists of items, one after the other, if there are any."""
    if not predicts_ratings(model):
        return {}
    rating_model = rating_model_of(model)
    if not len(items):
        return with_meaning(rating_model, np.empty(0))
    if new is not None:
        pairs = np.column_stack([np.repeat(np.array([*ids, None], dtype=object)[:-1], lengths), items.astype(object)])
        described = new if rating_model.knows_features("item") else None
        latest = latest_times(rating_model, len(pairs))
        return with_meaning(rating_model, PairQuery.of(rating_model, pairs, None, described, latest).answers("predict"))
    users = np.repeat(rating_model.users_.index(ids), lengths)
    scorer = rating_model.scorer_
    return with_meaning(rating_model, scorer.ratings(scorer.at(users, scorer.now), rating_model.items_.index(items)))


def latest_times(model: Any, n: int) -> NDArray[Any] | None:
    """Return the latest time that a rating model knows, n times; None where it knows none.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    n : int
        How many times.
    """
    now = model.scorer_.now
    return None if now is None else np.full(n, now)


def at_latest(model: Any, pairs: NDArray[Any]) -> Any:
    """Return pairs as a rating model takes them, at the latest time that it knows, if it knows time.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    pairs : ndarray of shape (n, 2)
        Ids of users and items.
    """
    return pairs_for(model, pairs, latest_times(model, len(pairs)))


def with_meaning(model: Any, found: NDArray[Any]) -> dict[str, Any]:
    """Return the columns of predictions: ratings, and what they stand for where the model knows it.

    Parameters
    ----------
    model : RatingModel or Recommender
        Fitted.
    found : ndarray of shape (n,)
        Predicted ratings.
    """
    meaning = {} if model.coding_ is None else {"meaning": model.coding_.named(found)}
    return {"prediction": found, **meaning}


def check_users(ids: list[Any], model: Any, file: str | None) -> None:
    """Refuse users that a model does not know.

    Parameters
    ----------
    ids : list
        Users.
    model : RatingModel, ImplicitModel or Recommender
        Fitted.
    file : str or None
        From which they were folded in.
    """
    known = model.users_.index(ids)
    if (known < 0).any():
        unknown = ids[int((known < 0).argmax())]
        if file is not None:
            raise InvalidInputError(f"is not in {file}", argument="users", found=unknown)
        advice = (hint(unknown, model.users_, "give ratings of new users with "), Argument("ratings"))
        raise InvalidInputError("was not in training", argument="users", found=unknown, advice=advice)
