"""The contract of every implicit-feedback model: who interacts with what, learned from interactions alone."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_callback, check_flag, check_number, number, one_of, whole
from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.threads import library_limit
from cofactor.model.commit import committed, learned_names
from cofactor.model.estimator import learned, param
from cofactor.model.progress import Monitor
from cofactor.problems.choice import soft_log
from cofactor.ratings.blocks import INTERACTIONS_PER_BLOCK, each_block
from cofactor.ratings.data import Ratings, entries_of_rows
from cofactor.ratings.interaction_model import (
    FitInput,
    InteractionModel,
    RowMerge,
    Tags,
    Updates,
    check_known,
    warn_of_lost_times,
)
from cofactor.ratings.lookup import Lookup
from cofactor.ratings.ranking.counts import (
    INTERACTED,
    as_interactions,
    joined_interactions,
    strengths,
    warn_of_all_again,
    warn_of_dominant_user,
)
from cofactor.ratings.ranking.held_out import TIES, HeldOut, Trials, Tuned, item_masses, popularity_prior
from cofactor.ratings.reranking import Rules, check_rules
from cofactor.ratings.scoring import FactorScores
from cofactor.ratings.sharded import ShardedRatings
from cofactor.ratings.similar import covariance, directions
from cofactor.ratings.topn import Exclusion, Ranking, Recommendations
from cofactor.solvers.result import Callback
from cofactor.typing import Ids, Pairs, RandomState, RatingValues, SideFeatures, SparseTable

#: Check of the parameter `popularity_weight`.
POPULARITY_WEIGHT = number(low=0, high=1e6, also=["auto"])


#: Offsets, items and values of rows of X.
Rows: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]]

_CELLS = 1 << 20  # of a table of a user's interactions and a range of items


class ImplicitModel(InteractionModel):
    """A model of who interacts with what: clicks, plays, purchases, or ratings whatever they say.

    Subclasses say how to learn (`_fit`), and what scores users have (`_score_range`). Those whose scores are sums over
    what a user interacted with are made of `_interaction_rows` and `single_contributions`.

    Attributes
    ----------
    users_, items_ : IdMap
        Ids of users and items.
    ratings_ : Ratings or None
        The interactions, on the scale 0, 1 and with counts as weights; None if the model was saved without.
    popularity_ : ndarray of shape (n_items,)
        Share of the users who interacted with each item, by which items are ranked for users without interactions. An
        interaction of a weight w below 1 counts as w, or of the largest weight where all are.
    n_trained_ : int
        Number of the users of training, of which these are shares.
    kind_weights_ : dict of str to float
        What an event of each kind counts, that of the target 1; empty where there were no kinds.
    counted_ : bool
        Whether interactions of training had counts or weights; if not, counts of new users say nothing.
    updates_ : Updates or None
        What `update` took in since the last fit; None for a model that comes from a fold-in.
    refit_due_ : bool
        Whether a tenth of the interactions came after the last fit.

    Examples
    --------
    >>> from cofactor.ratings import EASE, ImplicitModel
    >>> isinstance(EASE(), ImplicitModel)
    True
    """

    tags = Tags(similar=True)

    counts: str = param(one_of(["log", "linear", "binary"]), default="log")

    popularity_: NDArray[np.float64] = learned("items", dtype=np.float64)
    n_trained_: int = learned(check=whole(0))
    counted_: bool = learned(check=check_flag)
    kind_weights_: dict[str, float] = learned()

    #: What popularity adds to scores, in units of `level_`, the mean score of users' own items: see the parameter,
    #: which models have that have no bias for each item.
    popularity_weight: float | str = 0.0
    popularity_weight_: float = learned(saved=False, default=0.0)
    level_: float = learned(saved=False, default=1.0)

    #: Far below it, as a share of `level_`, a score says nothing of interactions.
    _floor: ClassVar[float] = 0.02

    _own_kind: ClassVar[str] = "interaction"

    #: To which power of the number of a user's interactions it counts in a `Recommender`, beside other models.
    evidence: ClassVar[float] = 0.0

    # ---------------------------------------------------------------- what a subclass provides

    @abstractmethod
    def _fit(self, given: FitInput) -> None:
        """Learn from checked interactions; set nothing but what is learned."""

    @abstractmethod
    def _score_range(self, users: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        """Return the scores of the items from `first` to `last` - 1 for users by index, who have interactions."""

    def _interaction_rows(self, users: NDArray[Any]) -> Rows:
        """Return the rows of X of users: what each of their interactions says."""
        interactions = self.require_ratings(())
        indptr, entries = entries_of_rows(interactions.indptr, users)
        return indptr, interactions.indices[entries], self._strengths(interactions, entries)

    def _strengths(
        self, interactions: Ratings, entries: NDArray[np.int64] | slice = slice(None)
    ) -> NDArray[np.float32]:
        """Return how much each interaction, or each of some, says."""
        return strengths(interactions, self.counts, entries).astype(np.float32)

    def _own_strengths(self, user: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the items of a user, by index, and how much each interaction says."""
        interactions = self.require_ratings(())
        own = slice(interactions.indptr[user], interactions.indptr[user + 1])
        return interactions.indices[own], self._strengths(interactions, own).astype(np.float64)

    def _fold_in(self, given: FitInput) -> None:
        """Replace what belongs to users by what interactions of those given say; nothing, where all is about items."""

    def refit(self, given: FitInput, before: Self) -> None:
        """Learn from all interactions, after some came in; what was chosen in the fit stays.

        Parameters
        ----------
        given : FitInput
            All interactions.
        before : ImplicitModel
            The model as it was.
        """
        self._fit(given)

    def tune(self, held_out: HeldOut, monitor: Monitor) -> Tuned:
        """Choose parameters by held-out interactions, if there are any to choose.

        Parameters
        ----------
        held_out : HeldOut
        monitor : Monitor
            Told about each trial.

        Returns
        -------
        Tuned
        """
        return Tuned({}, self._log_interactions_without(held_out))

    def _log_interactions_without(self, held_out: HeldOut, **settings: Any) -> NDArray[np.float32]:
        """Return `log_interactions` of held-out users, by a fit with some parameters to what was not held out."""
        inner = clone(self).set_params(**settings).learn(FitInput(held_out.train))
        return inner._all_log_interactions(held_out.users)

    def _scores_without(self, held_out: HeldOut, **settings: Any) -> NDArray[np.float32]:
        """Return `scores_in_levels` of held-out users, likewise."""
        inner = clone(self).set_params(**settings).learn(FitInput(held_out.train))
        return inner.scores_in_levels(held_out.users)

    @property
    def asks_what_is_next(self) -> bool:
        """Whether the model is about what comes next, so that the latest interactions are to be held out."""
        return False

    def log_interactions(self, scores: NDArray[Any]) -> NDArray[np.float32]:
        """Return what is linear in the logarithm of the odds of an interaction.

        Parameters
        ----------
        scores : ndarray of shape (n, m)
            Of items.

        Returns
        -------
        ndarray of shape (n, m), float32
        """
        return soft_log(scores, self._floor, self.level_)

    def _fit_bytes(self, interactions: Ratings) -> int:
        """Return what a fit takes at least."""
        return 4 * sum(interactions.shape) * getattr(self, "n_factors", 0)

    def n_operations(self, interactions: Ratings) -> float:
        """Return about how many operations a fit takes beyond what those of other models do, if many.

        Parameters
        ----------
        interactions : Ratings

        Returns
        -------
        float
        """
        return 0.0

    # ---------------------------------------------------------------- learning

    def fit(
        self,
        X: Pairs,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
        kind: ArrayLike | None = None,
        target: str | None = None,
    ) -> Self:
        """Learn from interactions.

        Parameters
        ----------
        {interactions}
        {time}
        {interaction_weight}
        {kind}
        {target}

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            A ValueError, if parameters or data are not valid; the message says what was found and what to do.
        """
        self.check_params()
        if isinstance(X, ShardedRatings):
            self.require("shards")
        interactions = as_interactions(X, y, times=time, sample_weight=sample_weight, kind=kind, target=target)
        warn_of_dominant_user(interactions)
        return self.learn(FitInput(interactions))

    def set_interactions(self, interactions: Ratings, updates: Updates | None) -> None:
        """See `InteractionModel`."""
        super().set_interactions(interactions, updates)
        if not hasattr(self, "kind_weights_"):  # an update keeps those of the fit
            self.kind_weights_ = dict(interactions.kind_weights or {})
        self.n_trained_ = len(interactions.users)
        self.popularity_ = item_masses(interactions) / max(self.n_trained_, 1)
        self.counted_ = interactions.weights is not None

    def score(self, X: Any, y: RatingValues = None) -> float:
        """Return nDCG@10 of lists of unseen items for held-out interactions; see `ranking_score`.

        Parameters
        ----------
        X, y
            As there.
        """
        return self.ranking_score(X, y)

    # ---------------------------------------------------------------- scores

    def decision_function(self, X: Pairs) -> NDArray[Any]:
        """Return real-valued scores of pairs; for one user, a higher score means that an interaction is more likely.

        A user who has no interactions, or is not known, has the popularity of items as scores; an item that was not in
        training has -inf.

        Parameters
        ----------
        {pairs}

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        users, items, _ = Lookup(self.users_, self.items_).pairs(X, "fallback")
        self.require_ratings(())
        distinct, place = np.unique(users, return_inverse=True)
        out = np.full(len(users), -np.inf)
        by_user = np.argsort(place, kind="stable")
        height = self._height()

        def block(lo: int, hi: int) -> None:
            table = self._all_scores(distinct[lo:hi], 0, len(self.items_))
            here = by_user[np.searchsorted(place[by_user], lo) : np.searchsorted(place[by_user], hi)]
            here = here[items[here] >= 0]
            out[here] = table[place[here] - lo, items[here]]

        with library_limit(1, "blas"):
            each_block(block, len(distinct), height)
        return out

    def _height(self) -> int:
        """Return for how many users the scores of all items are computed at a time."""
        return max(1, INTERACTIONS_PER_BLOCK // max(len(self.items_), 1))

    def _all_scores(self, users: NDArray[Any], first: int, last: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return scores of some items for users by index, -1 for an unknown one.

        Those of users without interactions are popularity. In single precision popularity breaks no ties.
        """
        interactions = self.require_ratings(())
        warm = (users >= 0) & (interactions.user_counts[users] > 0)
        found = self._score_range(users[warm], first, last)
        if self.popularity_weight_:
            prior = popularity_prior(self.popularity_ * self.n_trained_)[first:last]
            added = (self.level_ * self.popularity_weight_ * prior).astype(dtype)
            found = np.add(found, added, out=found if found.dtype == added.dtype else None)
        if warm.all():
            return found
        table = np.tile(self.popularity_[first:last], (len(users), 1))
        table[warm] = found
        return table

    def _all_log_interactions(self, users: NDArray[Any]) -> NDArray[np.float32]:
        """Return `log_interactions` of the scores of all items for some users, by index."""
        return self.for_all_items(users, self.log_table)

    def log_table(self, users: NDArray[Any]) -> NDArray[np.float32]:
        """Return `log_interactions` of the scores of all items for as few users as share a block.

        Parameters
        ----------
        users : ndarray of int
            Indices of users who have interactions.

        Returns
        -------
        ndarray of shape (n, n_items), float32
        """
        return self.log_interactions(self._all_scores(users, 0, len(self.items_), np.float32))

    def scores_in_levels(self, users: NDArray[Any]) -> NDArray[np.float32]:
        """Return scores of all items, without what popularity adds, as multiples of `level_`.

        Parameters
        ----------
        users : ndarray of int
            Indices of users who have interactions.

        Returns
        -------
        ndarray of shape (n, n_items), float32
        """
        return self.for_all_items(users, lambda some: self._score_range(some, 0, len(self.items_)) / self.level_)

    def _chosen(self, given: FitInput, seed: int, *names: str) -> tuple[dict[str, Any], Any]:
        """Return numbers for some parameters, those for "auto" chosen by interactions that are held out.

        The weight of popularity is always one of them. Return also what was solved with them, see `Tuned`.
        """
        settings: dict[str, Any] = {name: getattr(self, name) for name in ("popularity_weight", *names)}
        solution = given.solution
        if "auto" in settings.values():
            held_out = HeldOut.of(given.ratings, seed, self.asks_what_is_next)
            chosen, _, solution = self.tune(held_out, given.monitor)
            settings |= chosen
        self.popularity_weight_ = max(float(settings["popularity_weight"]), TIES)
        return settings, solution

    def _with_popularity(self, held_out: HeldOut, trials: Trials, solution: Any = None) -> Tuned:
        """Return what `tune` does: the best of what was tried on `scores_in_levels`, and the weight of popularity."""
        prior = popularity_prior(item_masses(held_out.train))
        weight = self.popularity_weight
        if isinstance(weight, str):
            weight = held_out.prior_weight(trials.table, prior)
        table = trials.table + (max(weight, TIES) * prior).astype(np.float32)
        return Tuned({**trials.best, "popularity_weight": weight}, soft_log(table, self._floor), solution)

    def for_all_items(self, users: NDArray[Any], table: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[np.float32]:
        """Return a table of users and all items, made block by block.

        Parameters
        ----------
        users : ndarray of int
            Indices.
        table : callable
            Returns the rows of some users.

        Returns
        -------
        ndarray of shape (n, n_items), float32
        """
        out = np.empty((len(users), len(self.items_)), dtype=np.float32)

        def block(lo: int, hi: int) -> None:
            out[lo:hi] = table(users[lo:hi])

        with library_limit(1, "blas"):
            each_block(block, len(users), self._height())
        return out

    def _block(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return the scores of items, given by increasing indices."""
        first, last = int(items[0]), int(items[-1]) + 1
        table = self._all_scores(users, first, last)
        return table if last - first == len(items) else table[:, items - first]

    def _log_block(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return what is linear in the logarithm of the odds of interactions with items."""
        return self.log_interactions(self._block(users, items))

    def _support(self, otherwise: tuple[str | Argument, ...] = ()) -> tuple[NDArray[np.float64], int]:
        """See `InteractionModel`; a fold-in knows it too."""
        return np.rint(self.popularity_ * self.n_trained_), self.n_trained_

    def recommend(
        self,
        users: Ids | None = None,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        exclude: Exclusion = None,
        candidates: Iterable[Any] | None = None,
        rules: Rules | None = None,
        new_items: SideFeatures | None = None,
    ) -> Recommendations:
        """Recommend the items that users most likely interact with next.

        Parameters
        ----------
        users : array-like of shape (k,), optional
            User ids, in the order of the result; by default all users of the model.
        n : int, default=10
            Number of items for each user. It may exceed the number of items left for a user.
        exclude_seen : bool, default=True
            Leave out the items that a user interacted with in training.
        exclude : iterable of item ids, or mapping of user ids to such, optional
            Items to leave out: for all, or for each user.
        candidates : array-like or iterable, optional
            Ids of the items to choose from; by default all.
        rules : Rules, optional
            What lists must be like: supported by interactions, diverse, novel, with quotas of groups. See `Rules`.
        new_items : mapping, frame, or tuple, optional
            Refused: a `Recommender` knows new items by their features.

        Returns
        -------
        Recommendations
            ``items, scores = model.recommend(...)``: ids, best first, ties by popularity and then by the order of
            `items_`, and their scores. A user with fewer items left than n has None in the last columns, with scores of
            -inf. With novelty or diversity scores are on the logarithmic scale that these are weighed on.
        """
        if new_items is not None:
            self.require("features", "new_items")
        check_is_fitted(self)
        check_number("n", n, low=1, whole=True)
        check_flag("exclude_seen", exclude_seen)
        check_rules(rules)
        self.require_ratings(())
        rows = Lookup(self.users_, self.items_).asked(users)
        block = self._log_block if rules is not None and rules.weighs else self._block
        ranking = Ranking(block, INTERACTIONS_PER_BLOCK, n_items=len(self.items_))
        limits: dict[str, Any] = {"exclude": exclude, "candidates": candidates, "rules": rules}
        with library_limit(1, "blas"):
            return self._catalog().best_lists(ranking, rows, int(n), exclude_seen=exclude_seen, **limits)

    def explained_scores(self, user: int, items: NDArray[np.int32]) -> NDArray[Any]:
        """See `InteractionModel`."""
        first, last = int(items.min()), int(items.max()) + 1
        return self._all_scores(np.array([user]), first, last)[0, items - first]

    # ---------------------------------------------------------------- new users, new interactions

    def fold_in(
        self,
        X: Pairs,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
        kind: ArrayLike | None = None,
        known: str = "error",
    ) -> Self:
        """Return a model for users who were not in training, items held fixed; each is learned as if alone.

        Parameters
        ----------
        {interactions}
            Items that were not in training say nothing and are left out; a user who has no others is recommended what
            is popular. Where no item at all is known, ids are likely to be wrong, and an error says so. To a model that
            was fitted without counts (`counted_`) counts say nothing: each item counts once, as in its fit.
        {time}
        {interaction_weight}
        {kind}
        {known}

        Returns
        -------
        ImplicitModel
            Of the same class, with the same methods, knowing the users given here only.
        """
        check_is_fitted(self)
        return self.folded_in(new_interactions(self, X, y, time, sample_weight, known, kind))

    def folded_in(self, interactions: Ratings) -> Self:
        """Return a copy that knows the given users instead of those of training, as a part of another model.

        Parameters
        ----------
        interactions : Ratings

        Returns
        -------
        ImplicitModel
        """
        new = copy.copy(self)
        new.users_, new.ratings_, new.updates_ = interactions.users, interactions, None
        with library_limit(1, "blas"):
            new._fold_in(FitInput(interactions))
        return new

    def update(
        self,
        X: Pairs,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
        kind: ArrayLike | None = None,
        again: bool = False,
    ) -> Self:
        """Take new interactions, and with them new users and items, into the model, as after another day.

        Counts of a pair that was there before add up. What was chosen in the fit, such as the weight of a penalty,
        stays. Models in closed form are then what a fit to all interactions with these choices would give, to the bit;
        those with factors go on from where they stood.

        Parameters
        ----------
        {interactions}
        {time}
        {interaction_weight}
        {kind}
        {again}

        Returns
        -------
        self
            An update that fails leaves the model as it was.
        """
        check_is_fitted(self)
        known, earlier = self._fitted_on()
        kinds: dict[str, Any] = {"kind": kind, "kind_weights": self.kind_weights_}
        new = as_interactions(X, y, times=time, sample_weight=sample_weight, **kinds)
        if self._came_before(new, None, again):
            return self
        both, updates = joined_interactions(earlier, new), known.after(new, earlier)
        before = copy.copy(self)
        with committed(self, keep=learned_names(self)) as grown, self._monitor() as monitor:
            grown.set_interactions(both, updates)
            grown.refit(FitInput(both, monitor=monitor), before)
        warn_of_lost_times(earlier, new, those="interactions")
        if not again:
            warn_of_all_again(earlier, new)
        return self

    # ---------------------------------------------------------------- saving

    def _check_learned(self) -> None:
        """Refuse what was read from a file if it does not fit together: kernels do not check indices."""
        if not isinstance(self.scale_, np.ndarray) or not np.array_equal(self.scale_, INTERACTED):
            raise InvalidInputError("the scale of interactions must be 0, 1")
        super()._check_learned()


def single_contributions(
    weighted_sums: Callable[[Rows, int, int], NDArray[Any]], row: Rows, items: NDArray[np.int32]
) -> NDArray[Any]:
    """Return what each interaction of a user adds to the scores of items, (k, n), where scores are weighted sums.

    Parameters
    ----------
    weighted_sums : callable
        Returns X W for rows of X, of a range of items.
    row : Rows
        That of the user.
    items : ndarray of int
    """
    _, own, values = row
    first, last = int(items.min()), int(items.max()) + 1
    step = max(1, _CELLS // (last - first))
    parts = []
    for lo in range(0, len(own), step):
        some, said = own[lo : lo + step], values[lo : lo + step]
        parts.append(weighted_sums((np.arange(len(some) + 1), some, said), first, last)[:, items - first])
    return np.concatenate(parts).T


def new_interactions(
    model: Any,
    X: Any,
    y: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    known: str = "error",
    kind: Any = None,
) -> Ratings:
    """Return the interactions of users to fold in, of the items of a model; with counts only where its fit had some."""
    check_known(X, known)
    if sparse.issparse(X):
        Lookup(model.users_, model.items_).check_columns(X)
    how: dict[str, Any] = {"items": model.items_, "unknown_items": "drop"}
    how |= {"kind": kind, "kind_weights": model.kind_weights_}
    new = as_interactions(X, y, times=time, sample_weight=sample_weight, **how)
    interactions = new if sparse.issparse(X) else model.resolve_known(new, known, "users", joined_interactions)
    return interactions if model.counted_ or sample_weight is not None else replace(interactions, weights=None)


class ImplicitFactorModel(ImplicitModel):
    r"""An implicit-feedback model whose score is :math:`U_i \cdot V_j + c_j`, so that new users are rows solved for.

    Attributes
    ----------
    U_, V_ : ndarray of shape (n_users, d) and (n_items, d), float32
    item_bias_ : ndarray of shape (n_items,), float32
    user_covariance_ : ndarray of shape (d, d)
        Of the U of users in training, by which items are alike; fold-ins keep it.
    """

    tags = Tags(similar=True, vectors=True)

    n_factors: int | str = param(whole(), default=16, kw_only=False)
    max_iter: int = param(whole(), default=15)
    random_state: RandomState = param(default=None)
    callback: Callback | None = param(check_callback, default=None)
    verbose: int = param(default=0)

    U_: NDArray[np.float32] = learned("users d", dtype=np.float32)
    V_: NDArray[np.float32] = learned("items d", dtype=np.float32)
    item_bias_: NDArray[np.float32] = learned("items", dtype=np.float32)
    user_covariance_: NDArray[np.float64] = learned("d d", dtype=np.float64)

    def _rank(self, interactions: Ratings) -> int:
        """Return the number of factors for such interactions."""
        return int(self.n_factors)

    def _fit_bytes(self, interactions: Ratings) -> int:
        return 4 * sum(interactions.shape) * self._rank(interactions)

    @abstractmethod
    def _solve(self, given: FitInput, U: NDArray[Any], V: NDArray[Any], c: NDArray[Any], max_iter: int) -> None:
        """Learn factors and biases from where they start, in so many rounds at most."""

    def _set_factors(self, U: NDArray[Any], V: NDArray[Any], c: NDArray[Any]) -> None:
        """Set what was learned of users of training, and of items."""
        self.U_, self.V_, self.item_bias_, self.user_covariance_ = U, V, c, covariance(U)

    def _item_directions(self) -> NDArray[np.float64]:
        """See `InteractionModel`: the correlation of scores over the users of training; a fold-in knows it too."""
        return directions(self.V_, self.user_covariance_)

    @abstractmethod
    def _fold_in(self, given: FitInput) -> None:
        """Solve for the rows of users, items held fixed."""

    def refit(self, given: FitInput, before: Self) -> None:
        """See `ImplicitModel`: from where rows stood, new ones from zero; half as many rounds as in a fit do."""
        interactions = given.ratings
        none = np.zeros(0, np.int32)
        users = RowMerge("user", interactions.users, interactions.users.index(before.users_.ids), none)
        items = RowMerge("item", interactions.items, interactions.items.index(before.items_.ids), none)
        U = users.rows(before.U_, before.U_[:0])
        V, c = (items.rows(rows, rows[:0]) for rows in (before.V_, before.item_bias_))
        self._solve(given, U, V, c, max(1, self.max_iter // 2))

    def _start(self, interactions: Ratings, n_factors: int, generator: np.random.Generator) -> tuple[Any, Any, Any]:
        """Return random factors, and no biases."""
        n, m = interactions.shape
        scale = np.float32(0.1 / np.sqrt(n_factors))
        U, V = (scale * generator.standard_normal((k, n_factors), dtype=np.float32) for k in (n, m))
        return U, V, np.zeros(m, dtype=np.float32)

    @property
    def _factor_scores(self) -> FactorScores:
        return FactorScores(self.U_, self.V_, np.zeros(len(self.U_), np.float32), self.item_bias_)

    def _score_range(self, users: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        return self._factor_scores.block(users, np.arange(first, last))
