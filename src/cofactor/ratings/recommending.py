"""`recommend`: what ranks items, and the search for the best of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_flag, check_number
from cofactor.errors import Argument, InvalidInputError
from cofactor.ratings.best import Closer, Hidden, Ranking, best_items, ids_of
from cofactor.ratings.blocks import pairs_per_block
from cofactor.ratings.exclusion import Excluded, Exclusion
from cofactor.ratings.lookup import Lookup
from cofactor.ratings.probability import Criterion, Expectation, quantiles
from cofactor.ratings.reranking import Arrangement, arranged, check_rules
from cofactor.ratings.rules import Rules
from cofactor.ratings.visits import visits_of
from cofactor.typing import Ids

if TYPE_CHECKING:
    from cofactor.ratings.base import RatingModel
    from cofactor.ratings.ranking.base import ExposureModel

__all__ = ["Asked", "asked_users", "best_lists", "recommend"]


def recommend(
    model: RatingModel,
    users: Ids | None,
    n: int,
    exclude_seen: bool,
    exclude: Exclusion,
    candidates: Iterable[Any] | None,
    at_least: float | None,
    quantile: float | None,
    time: ArrayLike | None,
    rules: Rules | None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """See `RatingModel.recommend`."""
    check_is_fitted(model)
    check_number("n", n, low=1, whole=True)
    check_flag("exclude_seen", exclude_seen)
    check_rules(rules)
    if exclude_seen:
        model._require_ratings(("pass ", Argument("exclude_seen", False), ", or "))
    criterion = _criterion(model, at_least, quantile)
    known = Lookup(model.users_, model.items_)
    visitors = visits_of(model, asked_users(known, users), time)
    what = Asked(known, visitors, int(n), exclude_seen, exclude, candidates, rules)
    best, scores = best_lists(model, _ranking(model, criterion), what)
    return ids_of(model.items_, best), scores


def asked_users(known: Lookup, users: Ids | None) -> NDArray[np.int32]:
    """Return the indices of users; of all where none are named."""
    return np.arange(len(known.users), dtype=np.int32) if users is None else known.known(users)


@dataclass(frozen=True, eq=False)
class Asked:
    """What is to be recommended, and to whom: users by index or `Visits`, the rest as in `recommend`."""

    known: Lookup
    users: Any
    n: int
    exclude_seen: bool
    exclude: Exclusion
    candidates: Iterable[Any] | None
    rules: Rules | None


def best_lists(
    model: RatingModel | ExposureModel, ranking: Ranking, asked: Asked
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the best items that may be recommended, by index, and their scores, arranged by rules if there are any.

    Parameters
    ----------
    model : RatingModel or ExposureModel
    ranking : Ranking
    asked : Asked
    """
    columns, excluded = asked.known.candidates(asked.candidates), Excluded.of(asked.known, asked.exclude)
    if len(excluded.everywhere):
        columns = np.setdiff1d(columns, excluded.everywhere)
    columns = columns.astype(np.int32)
    hidden = Hidden(model.ratings_ if asked.exclude_seen else None, excluded)
    if asked.rules is None:
        return best_items(ranking, asked.users, columns, asked.n, hidden)
    allowed = np.zeros(len(model.items_), dtype=np.bool_)
    allowed[columns] = True
    arrangement, allowed = Arrangement.of(
        asked.rules, model.items_, allowed, asked.n, model._support, model._item_directions
    )
    left, bonus, users = np.flatnonzero(allowed).astype(np.int32), arrangement.bonus, asked.users
    raised = ranking.raised(bonus) if bonus.any() else ranking

    def search(rows: NDArray[Any], width: int) -> tuple[NDArray[Any], ...]:
        found, values = best_items(raised, users[rows], left, width, hidden)
        return found, values - bonus[found]

    best, scores = arranged(search, arrangement, len(users), len(left), asked.n)
    return best, scores


def _ranking(model: RatingModel, criterion: Criterion | None) -> Ranking:
    """Return what ranks items: scores, or a criterion."""
    block = model._score_block if criterion is None else partial(model._criterion_block, criterion=criterion)
    n_pairs = pairs_per_block(len(model.scale_))
    if not model._ranks_roughly():
        return Ranking(block, n_pairs)

    def exact(users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        if criterion is None:
            return model._scores(users, items)
        return model._in_blocks(lambda *pairs: criterion(model._probabilities(*pairs)), users, items)

    return Ranking(block, n_pairs, Closer(partial(model._nearly, criterion=criterion), exact))


def _criterion(model: RatingModel, at_least: float | None, quantile: float | None) -> Criterion | None:
    """Return what ranks items: a function of probabilities, or None for a model's own scores.

    Parameters
    ----------
    model : RatingModel
        Fitted; with probabilities of levels, unless both others are None.
    at_least : float or None
        Rank by the probability of this rating or a higher one.
    quantile : float or None
        Rank by this quantile of the rating.
    """
    if at_least is None and quantile is None:
        return None
    if at_least is not None and quantile is not None:
        raise InvalidInputError(
            (Argument("at_least"), " and ", Argument("quantile"), " both say how to rank: give one of them")
        )
    name, value = ("at_least", at_least) if at_least is not None else ("quantile", quantile)
    if not model._gives_probabilities():
        raise InvalidInputError(
            (Argument(name, value), f" needs probabilities of levels, which {type(model).__name__} does not have"),
            argument=name,
        )
    if at_least is not None:
        return _share_from(model.scale_, at_least)
    return None if quantile is None else _quantile(model.scale_, quantile)


def _share_from(scale: NDArray[np.float64], at_least: float) -> Criterion:
    check_number("at_least", at_least, low=-np.inf)
    liked = scale >= at_least
    if not liked.any():
        raise InvalidInputError(
            (Argument("at_least", at_least), f" is above the highest rating, {scale[-1]:g}"), argument="at_least"
        )
    if liked.all():
        raise InvalidInputError(
            (Argument("at_least", at_least), f" says nothing: every rating is at least {scale[0]:g}"),
            argument="at_least",
        )
    return Expectation(liked.astype(float))


def _quantile(scale: NDArray[np.float64], quantile: float) -> Criterion:
    check_number("quantile", quantile, low=0, high=1)
    if quantile in (0, 1):
        raise InvalidInputError(
            (Argument("quantile", quantile), " says nothing: expected a number between 0 and 1, such as 0.9"),
            argument="quantile",
        )
    half_way = (scale[1:] + scale[:-1]) / 2
    edges = np.concatenate([scale[:1], half_way, scale[-1:]])
    return lambda p: quantiles(p, edges, quantile)
