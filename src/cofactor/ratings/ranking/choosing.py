"""The search for the items with the highest P(interact) × P(like), which looks only at items that can be among them.

Items without interactions, known by their features, stand beside all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_choice, check_flag, check_number
from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.ranking import keep_best
from cofactor.kernels.threads import library_limit, thread_limit
from cofactor.limits import CELLS
from cofactor.model.state import check_array
from cofactor.problems.choice import log_shares
from cofactor.ratings.blocks import INTERACTIONS_PER_BLOCK, each_block, products_of_rows
from cofactor.ratings.data import Ratings
from cofactor.ratings.features import FeatureTable, Standardization
from cofactor.ratings.ids import IdMap
from cofactor.ratings.reranking import Rules, check_rules, rerank
from cofactor.ratings.scoring import expected
from cofactor.ratings.topn import Catalog, Exclusion, Recommendations, highest, ids_of
from cofactor.text import plural

#: Items whose probability of being liked is looked at first, beyond those asked for, and then at a time.
_MORE = 10


@dataclass(frozen=True, eq=False)
class Offer:
    """What there is to recommend: all that the search for lists asks of a model.

    Attributes
    ----------
    catalog : Catalog
    scale : ndarray of shape (R,), or None
        The levels of ratings, None where nothing says how items are liked.
    timed_users : callable
        Returns what `probabilities` takes for users by index, given a time, or None.
    utilities : callable
        Returns c · ℓ of all items for users by index, given the items that they have seen.
    probabilities : callable
        Returns the probabilities of the levels of pairs, given an interaction.
    """

    catalog: Catalog
    scale: NDArray[np.float64] | None
    timed_users: Callable[[NDArray[np.int32], Any], Any]
    utilities: Callable[[NDArray[Any], NDArray[np.bool_]], NDArray[np.float32]]
    probabilities: Callable[[Any, NDArray[np.int32]], NDArray[Any]]

    def with_new_items(self, cold: ColdItems | None, rating_model: Any, table: FeatureTable) -> Self:
        """Return an offer with new items too, known by their features, after the known ones.

        Their probabilities to be liked are those of the rating model where it knows features of items, and of an
        average item otherwise.

        Parameters
        ----------
        cold : ColdItems or None
            What features of items say; None where a fit was given none.
        rating_model : RatingModel or None
        table : FeatureTable
            Rows of known items are passed over.
        """
        if cold is None:
            raise InvalidInputError(
                (Argument("new_items"), " needs a Recommender that was fitted with features of items"),
                argument="new_items",
                advice=("give ", Argument("item_features"), " to fit"),
            )
        n_known, new = len(self.catalog.items), table.without(self.catalog.items)
        if not len(new.ids):
            raise InvalidInputError((Argument("new_items"), " holds no item that is new"), argument="new_items")
        catalog = self.catalog.with_items(new.ids)
        features = cold.coding.rows(new, new.ids)
        part: Any = None
        if rating_model is not None and rating_model.knows_features("item"):
            part = rating_model.fold_in_items(item_features=new)

        def utilities(users: NDArray[Any], seen: NDArray[np.bool_]) -> NDArray[np.float32]:
            known = self.utilities(users, seen[:, :n_known])
            return np.hstack([known, cold.utilities(known, seen[:, :n_known], features)])

        def probabilities(timed_users: Any, asked: NDArray[np.int32]) -> NDArray[Any]:
            is_new = asked >= n_known
            out = np.empty((len(asked), len(cast(Any, self.scale))))
            if not is_new.all():
                out[~is_new] = self.probabilities(timed_users[np.flatnonzero(~is_new)], asked[~is_new])
            if is_new.any():
                model, place = rating_model, np.full(int(is_new.sum()), -1, dtype=np.int32)  # an average item
                if part is not None:
                    model, place = part, part.items_.index(catalog.items.ids[asked[is_new]])
                out[is_new] = model.scorer_.all_probabilities(timed_users[np.flatnonzero(is_new)], place)
            return out

        return replace(self, catalog=catalog, utilities=utilities, probabilities=probabilities)


@dataclass(frozen=True)
class RecommendOptions:
    """What a caller asks to be recommended: see `Recommender.recommend`."""

    n: int
    rank_by: str
    at_least: float | None
    exclude_seen: bool
    exclude: Exclusion
    candidates: Iterable[Any] | None
    time: Any
    rules: Rules | None = None

    def check(self, knows_ratings: bool) -> None:
        """Refuse what cannot be had."""
        check_number("n", self.n, low=1, whole=True)
        check_choice("rank_by", self.rank_by, ("auto", "like", "interaction", "gain", "rating"))
        check_flag("exclude_seen", self.exclude_seen)
        check_rules(self.rules)
        if knows_ratings:
            return
        for name, value in (("rank_by", self.rank_by), ("at_least", self.at_least), ("time", self.time)):
            if value not in (None, "auto", "interaction"):
                raise InvalidInputError(
                    (Argument(name, value), " needs a rating model, and there is none"),
                    argument=name,
                    advice="fit to ratings, not to interactions alone",
                )


@dataclass(frozen=True)
class _Gain:
    """What is liked: numbers for each level, and what the score adds of it, at most 0."""

    liked: NDArray[np.float64]
    gains: NDArray[np.float64]

    def log_gain(self, p: NDArray[Any]) -> NDArray[np.float64]:
        """Return the logarithm of the share of the highest gain that is expected."""
        return np.log(np.maximum(expected(p, self.gains), 1e-300))


def recommended(offer: Offer, users: Any, options: RecommendOptions) -> Recommendations:
    """Return the best items of an offer."""
    catalog = offer.catalog
    rows, m = catalog.lookup.asked(users), len(catalog.items)
    k, n = len(rows), min(options.n, m)
    what = (Argument("n", int(options.n)), f" for {plural(k, 'user', form=',')} asks for {options.n * k:,} items")
    CELLS.check(options.n * k, what, size=n * k)
    allowed, own = catalog.allowed(options.candidates, options.exclude)
    gain, timed_users = _gain(offer.scale, options), offer.timed_users(rows, options.time)
    bonus = np.zeros(0)
    if options.rules is not None:
        plan, allowed = catalog.rerank_plan(options.rules, allowed, options.n)
        bonus = plan.bonus if plan.bonus.any() else bonus

    def search(asked: NDArray[Any], n: int) -> tuple[NDArray[Any], ...]:
        """Return the best n items, scores, shares, and, unless items are ranked by something else, likes."""
        shape = (len(asked), n)
        best, scores, shares = np.full(shape, -1, dtype=np.int64), np.full(shape, -np.inf), np.full(shape, np.nan)
        likes = np.full(shape, np.nan)

        def block(lo: int, hi: int) -> None:
            here = rows[asked[lo:hi]]
            seen = seen_by(catalog.seen, here, m)
            log_share = log_shares(offer.utilities(here, seen), seen if options.exclude_seen else None)
            open_ = log_share.copy()
            open_[:, ~allowed] = -np.inf
            open_[own.rows(here)] = -np.inf
            if len(bonus):
                open_ += bonus.astype(np.float32)
            by_share = gain is None or options.rank_by == "interaction"
            found, total = _best(open_, n, None if by_share else _gains_of(offer, timed_users[asked[lo:hi]], gain))
            there = np.nonzero(found >= 0)
            log_shares_found = log_share[there[0], found[there]].astype(np.float64)
            if len(bonus):
                total[there] -= bonus.astype(np.float32)[found[there]]
            best[lo:hi], scores[lo:hi] = found, total
            shares[lo:hi][there] = np.exp(log_shares_found)
            likes[lo:hi][there] = np.exp(total[there] - log_shares_found)

        each_block(block, len(asked), max(1, INTERACTIONS_PER_BLOCK // max(m, 1)))
        return best, scores, shares, likes

    if options.rules is None:
        empty = (-1, -np.inf, np.nan, np.nan)
        whole = zip(search(np.arange(k), n), empty, strict=True)
        best, scores, shares, likes = (_widened(array, options.n, value) for array, value in whole)
    else:
        best, scores, shares, likes = rerank(search, plan, k, m, options.n)
    if gain is not None and options.rank_by in ("interaction", "gain"):
        there = np.nonzero(best >= 0)
        p = offer.probabilities(timed_users[there[0]], best[there].astype(np.int32))
        likes[there] = expected(p, gain.liked)
    found = ids_of(catalog.items, best)
    return Recommendations(catalog.users.ids[rows], found, scores, shares, None if gain is None else likes)


def _widened(array: NDArray[Any], n: int, empty: float) -> NDArray[Any]:
    """Return an array of n columns, those beyond its own without items."""
    return array if array.shape[1] == n else np.pad(array, ((0, 0), (0, n - array.shape[1])), constant_values=empty)


def _best(
    log_share: NDArray[Any], n: int, gains: Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best items of each row, -1 where fewer are left, and their scores.

    Gains are at most 0: so once n items are at hand which are better than the highest share of those not looked at, no
    other item can be among the best. Items are looked at by falling shares, a few at a time.
    """
    k, m = log_share.shape
    found, scores = np.full((k, n), -1, dtype=np.int64), np.full((k, n), -np.inf)
    rows, width = np.arange(k), min(m, n if gains is None else 8 * (n + _MORE))
    while len(rows):
        order, shares = _highest(log_share[rows], width)
        total = shares if gains is None else _with_gains(rows, order, shares, n, gains)
        ranked = np.lexsort((order, -total), axis=1)[:, :n]
        top = np.take_along_axis(total, ranked, axis=1)
        done = (top[:, -1] >= shares[:, -1]) | (width == m) | (gains is None)
        chosen = np.where(np.isfinite(top), np.take_along_axis(order, ranked, axis=1), -1)
        found[rows[done]], scores[rows[done]] = chosen[done], top[done]
        rows, width = rows[~done], min(m, 8 * width)
    return found, scores


def _highest(table: NDArray[Any], width: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the columns of the highest numbers of each row, best first, and these; see `best.highest`."""
    best, where = np.full((len(table), width), -np.inf), np.full((len(table), width), -1, dtype=np.int64)
    keep_best(table, 0, best, where)
    return highest(where, best, width)


def _with_gains(
    rows: NDArray[Any],
    order: NDArray[np.int64],
    shares: NDArray[np.float64],
    n: int,
    gains: Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return shares and gains together where they can be among the n best, elsewhere -inf."""
    total = np.full(shares.shape, -np.inf)
    threshold = np.full(len(rows), -np.inf)
    lo, width = 0, shares.shape[1]
    while lo < width:
        hi = min(width, lo + max(_MORE, lo // 2) if lo else n + _MORE)  # few steps where hundreds are looked at
        where = np.nonzero(shares[:, lo:hi] > threshold[:, None])  # shares fall, and -inf is never above
        if not len(where[0]):
            break
        at = (where[0], where[1] + lo)
        total[at] = shares[at] + gains(rows[at[0]], order[at])
        if hi >= n:
            threshold = -np.partition(-total[:, :hi], n - 1, axis=1)[:, n - 1]
        lo = hi
    return total


def _gains_of(offer: Offer, timed_users: Any, gain: Any) -> Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]]:
    def gains(rows: NDArray[Any], items: NDArray[Any]) -> NDArray[np.float64]:
        with thread_limit(1):  # the other threads have blocks of their own
            return gain.log_gain(offer.probabilities(timed_users[rows], items.astype(np.int32)))

    return gains


def _gain(scale: NDArray[np.float64] | None, options: RecommendOptions) -> _Gain | None:
    """Return what is liked, and what is gained."""
    if scale is None:
        return None
    liked = liked_from(scale, options.at_least)
    if options.rank_by != "gain":
        return _Gain(liked, liked)
    levels = np.arange(1, len(scale) + 1) - len(scale)
    gains = np.exp2(levels) - np.exp2(-len(scale))  # 2^level - 1 as a share of 2^R
    return _Gain(liked, gains)


def liked_from(scale: NDArray[np.float64], at_least: float | None) -> NDArray[np.float64]:
    """Return 1 for each level that is liked, else 0: by default those of the upper quarter.

    Examples
    --------
    >>> liked_from(np.arange(1.0, 6.0), None).tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0]
    """
    least = scale[3 * len(scale) // 4] if at_least is None else at_least
    check_number("at_least", least, low=-np.inf)
    liked = (scale >= least).astype(float)
    if not 0 < liked.sum() < len(liked):
        raise InvalidInputError(
            (Argument("at_least", least), f" says nothing on the scale {scale[0]:g} to {scale[-1]:g}"),
            argument="at_least",
        )
    return liked


def seen_by(ratings: Ratings, users: NDArray[Any], n_items: int) -> NDArray[np.bool_]:
    """Return which items users, given by index, interacted with."""
    indptr, items, _ = ratings.rows(users)
    seen = np.zeros((len(users), n_items), dtype=np.bool_)
    seen[np.repeat(np.arange(len(users)), np.diff(indptr)), items] = True
    return seen


#: Weights of the penalty that are tried, for each item with features.
_PENALTIES = 10.0 ** np.arange(-5, 2)


@dataclass(frozen=True, eq=False)
class ColdItems:
    r"""What features say of utilities, the logarithms of how likely users interact with items.

    For each user a ridge regression of the utilities z of known items on their features F gives those of new ones,

    .. math:: \hat z = \bar z + f^\top (F^\top F + \lambda I)^{-1} F^\top (z - \bar z) + s

    with λ chosen by leave-one-out error over users, and s such that known items, predicted so, would have as many
    interactions in sum as they have: a regression of logarithms alone would give a typical share, not a mean one.

    Attributes
    ----------
    coding : Standardization
        Of the columns.
    features : ndarray of shape (n_items, p), float32
        F; rows of 0 for items without features.
    projection : ndarray of shape (p, n_items), float32
        :math:`(F^\top F + \lambda I)^{-1} F^\top`.
    described : ndarray of shape (n_items,), bool
        Which known items have features.
    """

    coding: Standardization
    features: NDArray[np.float32]
    projection: NDArray[np.float32]
    described: NDArray[np.bool_]

    @classmethod
    def of(cls, table: FeatureTable, items: IdMap, utilities: NDArray[np.floating]) -> Self:
        """Learn from the features of known items, and the utilities (k, n_items) of some users."""
        coding = Standardization.of(table, items)
        F = coding.rows(table, items)
        described = table.ids.index(items.ids) >= 0
        z = np.asarray(utilities, dtype=np.float64)[:, described].T
        z = z - z.mean(axis=0)
        known = F[described]
        with library_limit(1, "blas"):
            squares, axes = np.linalg.eigh(known.T @ known)
            turned = known @ axes
            pulled = turned.T @ z
            best, least = 0.0, np.inf
            for penalty in _PENALTIES * len(known):
                shrunk = 1 / (np.maximum(squares, 0) + penalty)
                leverage = (turned**2) @ shrunk + 1 / len(known)
                left = (z - turned @ (shrunk[:, None] * pulled)) / np.maximum(1 - leverage, 1e-3)[:, None]
                error = float((left**2).sum())
                if error < least:
                    best, least = float(penalty), error
            projection = (axes / (np.maximum(squares, 0) + best)) @ (axes.T @ F.T)
        return cls(coding, F.astype(np.float32), projection.astype(np.float32), described)

    def utilities(self, known: NDArray[np.float32], seen: NDArray[np.bool_], new: NDArray[Any]) -> NDArray[np.float32]:
        """Return the utilities of new items for users, given those of known items, the items seen, and new features."""
        means = np.compress(self.described, known, axis=1).mean(axis=1, keepdims=True)
        slopes = products_of_rows(known - means, self.projection)
        fitted = means + products_of_rows(slopes, self.features)
        out = seen | ~self.described
        shift = _log_sums(known, out) - _log_sums(fitted, out)
        return np.asarray(means + products_of_rows(slopes, new.astype(np.float32)) + shift, dtype=np.float32)

    def reindex(self, before: IdMap, items: IdMap) -> Self:
        """Return the same for more items, of which these say nothing that are not among those before."""
        at = items.index(before.ids)
        n = len(items)
        described, features = np.zeros(n, dtype=np.bool_), np.zeros((n, self.features.shape[1]), dtype=np.float32)
        described[at], features[at] = self.described, self.features
        projection = np.zeros((len(self.projection), n), dtype=np.float32)
        projection[:, at] = self.projection
        return type(self)(self.coding, features, projection, described)

    def to_state(self) -> dict[str, Any]:
        """Return what a file holds."""
        arrays = {"features": self.features, "projection": self.projection}
        return {"coding": self.coding.to_state(), **arrays, "described": self.described.astype(np.uint8)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild it from what `to_state` returned."""
        described = state["described"].astype(np.bool_)
        return cls(Standardization.from_state(state["coding"]), state["features"], state["projection"], described)

    def check(self, n_items: int) -> None:
        """Refuse what does not fit together."""
        p = self.coding.n_columns
        check_array("features", self.features, (n_items, p), np.float32)
        check_array("projection", self.projection, (p, n_items), np.float32)
        if self.described.shape != (n_items,) or not self.described.any():
            raise InvalidInputError(f"described must have shape {(n_items,)}, and hold some item")


def _log_sums(z: NDArray[np.floating], out: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the logarithm of the sum of exponentials of each row, but for what is left out, as a column."""
    masked = np.where(out, -np.inf, z)
    if not masked.size:
        return np.zeros((len(z), 1), dtype=np.float32)
    highest = masked.max(axis=1, keepdims=True)
    none = ~np.isfinite(highest)
    total = np.exp(np.where(out, -np.inf, z - np.where(none, 0, highest))).sum(axis=1, keepdims=True)
    return np.where(none, 0, highest + np.log(np.where(none, 1, total))).astype(np.float32)
