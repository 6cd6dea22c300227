"""The contract of every rating model: predict, recommend, fold in, complete, score, save."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_callback, check_flag, check_number, one_of
from cofactor.errors import Argument, InvalidInputError
from cofactor.frames import collect
from cofactor.kernels.threads import thread_limit
from cofactor.metrics.scale import as_scale
from cofactor.model.commit import committed, learned_names
from cofactor.model.convergence import callers_level, warn_if_unfinished
from cofactor.model.estimator import learned, param
from cofactor.model.size import refuse_too_large
from cofactor.ratings.blocks import each_block, pairs_per_block
from cofactor.ratings.data import (
    Ratings,
    as_ratings,
    check_levels,
    check_variety,
    merged,
    refuse_interactions,
    restrict,
    without_ratings,
)
from cofactor.ratings.ids import IdMap
from cofactor.ratings.interaction_model import (
    FitInput,
    InteractionModel,
    RowMerge,
    Updates,
    advise_fold_in,
    available_with,
    check_known,
    warn_of_lost_times,
)
from cofactor.ratings.interactions import Interactions, as_numbers, rating_values, recoded, split_xy
from cofactor.ratings.lookup import Lookup
from cofactor.ratings.scoring import ProbabilityScorer, Scorer, criterion_of
from cofactor.ratings.topn import Ranking
from cofactor.solvers.result import Callback, Result
from cofactor.text import plural, some_of
from cofactor.typing import Ids, Pairs, RandomState, RatingValues, SideFeatures, SideName, SparseTable

if TYPE_CHECKING:
    from cofactor.ratings.features import FeatureTable
    from cofactor.ratings.reranking import Rules
    from cofactor.ratings.sharded import ShardedRatings
    from cofactor.ratings.topn import Exclusion, Recommendations


def outcome() -> tuple[float, list[float], float, int]:
    """Declare what a model learns that a solver fits: objective, history, certificate and number of iterations."""
    return learned(), learned(), learned(), learned()


def factor_arrays() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Declare factors and biases of users and items."""
    return learned("users d"), learned("items d"), learned("users"), learned("items")


class RatingModel(InteractionModel):
    """A model of users' ratings of items on a discrete scale.

    Subclasses say how to learn (`_fit`), how to find the state of users who were not in training, items held fixed
    (`_fold_in`), and of items likewise (`_fold_in_items`), what they predict with (`scorer_`), and what they can do
    (`tags`).

    Attributes
    ----------
    users_, items_ : IdMap
        Ids of users and items.
    scale_ : ndarray of shape (R,)
        The values a rating can take.
    ratings_ : Ratings or None
        The ratings the model was fitted on, for `recommend` and `complete`; None if it was saved without.
    rating_scale_ : RatingScale or None
        What the levels stand for, if the model was fitted to a data set that says so: intervals of counts, or words.
    stored_users_ : StoredUsers or None
        Where a fit left what it found for users, if that is the folder of shards; see `ShardedRatings.on`.
    updates_ : Updates or None
        What `update` took in since the last fit; None for a model that comes from a fold-in.
    refit_due_ : bool
        Whether so much was taken in that a fit of all ratings is worth its time, see `update`.
    scorer_ : Scorer
        What the fit produced to predict with, for pairs by index.

    Examples
    --------
    >>> from cofactor.ratings import ALS, RatingModel
    >>> model = ALS(1, alpha=1.0, random_state=0).fit([("ann", "Up"), ("ann", "Heat"), ("bob", "Up")], [4, 2, 5])
    >>> isinstance(model, RatingModel), model.fold_in([("eve", "Up")], [5]).predict([("eve", "Heat")]).shape
    (True, (1,))
    """

    # What only a call of a method needs is imported by the call: who imports a model seldom calls all of them.

    levels: ArrayLike | None = param(check_levels, default=None)
    duplicates: str = param(one_of(["error", "last", "mean"]), default="error")
    unknown: str = param(one_of(["fallback", "error"]), default="fallback")
    random_state: RandomState = param(default=None)
    callback: Callback | None = param(check_callback, default=None)
    verbose: int = param(default=0)

    # ---------------------------------------------------------------- what a subclass provides

    @abstractmethod
    def _fit(self, given: FitInput) -> None:
        """Learn from checked ratings, in shards too where the tags say so; set nothing but what is learned."""

    @abstractmethod
    def _fold_in(self, given: FitInput) -> None:
        """Replace what belongs to users by what the given users' ratings say; items stay."""

    @abstractmethod
    def _fold_in_items(self, given: FitInput) -> None:
        """Replace what belongs to items by what the given items' ratings, by all users, say; users stay."""

    def _merge_rows(self, part: Self, merge: RowMerge) -> None:
        """Put the rows of a part, which knows some users or items, among one's own, or in their place.

        What follows from all ratings of a model is made good where the merge has them, see `RowMerge`.
        """
        for name, field in self._learned.items():
            if field.axes and field.axes[0] == f"{merge.side}s":
                setattr(self, name, merge.rows(getattr(self, name), getattr(part, name)))
            elif field.holds(RatingModel):
                setattr(self, name, _merged_parts(getattr(self, name), getattr(part, name), merge))

    def _fit_bytes(self, ratings: Any) -> int:
        """Return what a fit takes at least: factors in float32, of which there are no more than users or items."""
        n, m = ratings.shape
        elsewhere = not isinstance(ratings, Ratings) and ratings.work.client is not None
        return 4 * (m if elsewhere else n + m) * min(getattr(self, "n_factors", 0), n, m)

    @property
    @abstractmethod
    def scorer_(self) -> Scorer:
        """What the fit produced to predict with."""

    @property
    def predicts_ratings(self) -> bool:
        """See `InteractionModel`."""
        return True

    def knows_features(self, side: SideName) -> bool:
        """Return whether features of users, or of items, were given in training.

        Parameters
        ----------
        side : {"user", "item"}

        Returns
        -------
        bool
        """
        link = getattr(self, "links_", (None, None))[0 if side == "user" else 1]
        return link is not None and link.is_described

    # ---------------------------------------------------------------- learning

    def fit(
        self,
        X: Pairs,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
        user_features: SideFeatures | None = None,
        item_features: SideFeatures | None = None,
    ) -> Self:
        """Learn from ratings, and from what else is known of users and items.

        Parameters
        ----------
        {ratings}
        {time}
        {rating_weight}
        {side_features}
            `ALS`, `MMMF`, `OrdinalProbit` and `BPMF` take such.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            A ValueError, if parameters or data are not valid; the message says what was found and what to do.
        """
        return self.learn(self._given(X, y, time, sample_weight, user_features, item_features))

    def _given(self, X: Any, y: Any, time: Any, sample_weight: Any, user_features: Any, item_features: Any) -> FitInput:
        """Return what to learn from, checked as the parameters are."""
        for argument, features in (("user_features", user_features), ("item_features", item_features)):
            if features is not None:
                self.require("features", argument)
        tables: tuple[FeatureTable | None, FeatureTable | None] = (None, None)
        if self.can("features"):
            from cofactor.ratings.features import tables_of

            tables = tables_of(X, user_features, item_features)
        self.check_params()
        return FitInput(self.read(X, y, time, sample_weight), user_features=tables[0], item_features=tables[1])

    def read(self, X: Any, y: Any, time: Any = None, sample_weight: Any = None) -> Ratings:
        """Return the ratings to learn from, checked.

        Parameters
        ----------
        X, y, time, sample_weight
            As in `fit`.

        Returns
        -------
        Ratings
            Or `ShardedRatings`.
        """
        from cofactor.ratings.sharded import ShardedRatings

        if isinstance(X, ShardedRatings):
            return self._read_shards(X, y, time, sample_weight)
        duplicates: Any = self.duplicates
        X = collect(X)
        refuse_interactions(X, type(self).__name__)
        given = as_ratings(X, y, self.levels, duplicates, times=time, sample_weight=sample_weight)
        ratings = check_variety(given)
        if ratings.weights is not None:
            self.require("weights")
        return ratings

    def _read_shards(self, ratings: ShardedRatings, y: Any, time: Any, sample_weight: Any) -> Any:
        """Return ratings in shards to learn from, or say why the model cannot."""
        self.require("shards")
        for argument, given in (("y", y), ("time", time), ("sample_weight", sample_weight)):
            if given is not None:
                raise InvalidInputError(
                    "ratings in shards hold all that there is", argument=argument, advice="leave it out"
                )
        if self.levels is not None and not np.array_equal(as_scale(self.levels), ratings.scale):
            raise InvalidInputError(
                f"the shards have the scale {some_of(ratings.scale, 10)}", argument="levels", found=self.levels
            )
        if ratings.work.resume and self.random_state is None:
            raise InvalidInputError(
                (Argument("resume", True), " needs the seed that the fit began with"),
                argument="random_state",
                found=None,
                advice="give a seed to fits that may have to go on",
            )
        return check_variety(ratings).of_fit(self)

    def _check_new(self, new: Ratings) -> None:
        """Refuse new ratings whose levels stand for something else, or whose weights the model cannot take."""
        new.check_rating_scale(self.rating_scale_)
        if new.weights is not None:
            self.require("weights")

    def set_interactions(self, interactions: Ratings, updates: Updates | None) -> None:
        """See `InteractionModel`."""
        super().set_interactions(interactions, updates)
        self.rating_scale_ = interactions.rating_scale

    def _set_result(self, result: Result, name: str = "") -> None:
        """Set what a solver says of its solution, and warn if it has not finished; `name` is what to call the model."""
        model: Any = self
        model.objective_, model.certificate_, model.n_iter_ = result.objective, result.certificate, result.n_iter
        model.history_, model.seconds_ = result.history, result.seconds
        warn_if_unfinished(result, self, name=name)

    def learn_as_part(self, ratings: Ratings, listener: Callback | None, name: str = "") -> Self:
        """Learn as a part of another model, which keeps the ratings.

        Parameters
        ----------
        ratings : Ratings
        listener : callable or None
            Called with progress.
        name : str, optional
            What warnings call the part.

        Returns
        -------
        self
        """
        self.check_params()
        self.learn(FitInput(ratings, name=name), listener)
        self.ratings_ = None
        return self

    def learn_in_share(
        self, ratings: Callable[[], Ratings], listener: Callback | None, name: str, n_threads: int
    ) -> Self:
        """Learn as a part, by a share of the threads; see `learn_as_part`.

        Parameters
        ----------
        ratings : callable
            Makes the ratings, when it is the turn of this part.
        listener, name
            As there.
        n_threads : int

        Returns
        -------
        self
        """
        with thread_limit(n_threads):
            return self.learn_as_part(ratings(), listener, name)

    # ---------------------------------------------------------------- predictions

    def predict(self, X: Pairs, *, time: ArrayLike | None = None) -> NDArray[np.float64]:
        """Predict ratings.

        An unknown user counts as the average one and an unknown item as a neutral one, unless ``unknown="error"``.
        A warning says so if none of several users was in training, or if all ids are unknown because they are numbers
        where those of training are text, or the reverse.

        Parameters
        ----------
        {pairs}
        {time_of_pairs}

        Returns
        -------
        ndarray of shape (n,), float64
            Ratings on the original scale.
        """
        pairs = self._asked(X, time)
        return self.scorer_.ratings(*pairs)

    def _asked(self, X: Pairs, time: ArrayLike | None) -> tuple[Any, NDArray[np.int32]]:
        """Return users, or their `TimedUsers`, and items of pairs by index."""
        check_is_fitted(self)
        users, items, times = Lookup(self.users_, self.items_).pairs(X, self.unknown, time)
        scorer = self.scorer_
        if scorer.now is None and time is None:
            return users, items
        if times is None:
            raise InvalidInputError(
                f"this {type(self).__name__} was fitted with times, and its predictions depend on them",
                argument="time",
                advice=("give the time of each pair with ", Argument("time")),
            )
        return scorer.at(users, times), items

    def decision_function(self, X: Pairs, *, time: ArrayLike | None = None) -> NDArray[Any]:
        """Return real-valued scores of pairs; for one user, a higher score means a better liked item.

        Parameters
        ----------
        {pairs}
        {time_of_pairs}

        Returns
        -------
        ndarray of shape (n,)
        """
        pairs = self._asked(X, time)
        return self.scorer_.scores(*pairs)

    def margins(self, X: Pairs, *, time: ArrayLike | None = None) -> NDArray[Any]:
        """Return how far the score of each pair lies above each boundary between two levels.

        Parameters
        ----------
        {pairs}
        {time_of_pairs}

        Returns
        -------
        ndarray of shape (n, R - 1)
            Column r - 1 belongs to the boundary between the levels r and r + 1.
        """
        pairs = self._asked(X, time)
        return self.scorer_.margins(*pairs)

    @available_with("probabilities")
    def predict_proba(self, X: Pairs, *, time: ArrayLike | None = None) -> NDArray[Any]:
        """Return the probability of every level; only models that have such probabilities have this method.

        Parameters
        ----------
        {pairs}
        {time_of_pairs}

        Returns
        -------
        ndarray of shape (n, R)
            Rows sum to one; column r - 1 is the level r, the rating ``scale_[r - 1]``.
        """
        pairs, scorer = self._asked(X, time), cast(ProbabilityScorer, self.scorer_)
        return scorer.all_probabilities(*pairs)

    def recommend(
        self,
        users: Ids | None = None,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        exclude: Exclusion = None,
        candidates: Iterable[Any] | None = None,
        at_least: float | None = None,
        quantile: float | None = None,
        time: ArrayLike | None = None,
        rules: Rules | None = None,
        new_items: SideFeatures | None = None,
    ) -> Recommendations:
        """Recommend the items with the highest scores, or those that most likely are liked.

        This ranks items by how well they would be liked *if* users interacted with them, and what it costs is large:
        few of the best are items that users interact with. On MovieLens 100K (80/20 of each user) nDCG@10 of what was
        liked is .148 so (`OrdinalProbit`, ``at_least=4``), .173 for plain popularity, and .408 for `Recommender`, which
        also asks how likely an interaction is. For an order of items that a user is about to see in any case, it is the
        right one.

        It works in blocks of a few users and items, so that memory does not grow with their number: each thread takes
        about 8 MB. Models drawn from a posterior look at all items with some of their samples only (see
        `SampledModel`); the scores that are returned are those of all samples.

        Parameters
        ----------
        users : array-like of shape (k,), optional
            User ids, in the order of the result; not a set, which has none. By default all users of the model, in the
            order of ``users_.ids``.
        n : int, default=10
            Number of items for each user. It may exceed the number of items left for a user, not what memory holds.
        exclude_seen : bool, default=True
            Leave out the items that a user rated in training.
        exclude : iterable of item ids, or mapping of user ids to such, optional
            Items to leave out: for all, or for each user.
        candidates : array-like or iterable, optional
            Ids of the items to choose from; by default all. Those that were not in training are left out with a
            warning; at least one must have been.
        at_least : float, optional
            Rank by the probability of this rating or a higher one, and return it as score. Only for models with
            `predict_proba`.
        quantile : float, optional
            Rank by this quantile of the rating, between 0 and 1; a high one, as 0.9, favours items whose rating is
            uncertain. Between levels it is interpolated, the probability of each spread evenly up to half way to its
            neighbours. Only for models with `predict_proba`.
        time : number, date, or array-like of shape (k,), optional
            When users are to like the items, one time for all or one for each; only for models that know time. By
            default the latest time in training; of a model that `fold_in` returned the latest of training and of the
            new ratings.
        rules : Rules, optional
            What lists must be like: supported by ratings, diverse, novel, with quotas of groups. See `Rules`.
        new_items : mapping, frame, or tuple, optional
            Features of items that were not in training, which are recommended among the others: the same columns as
            `item_features` of the fit, of models that take such. Rules with `min_support` leave new items out.

        Returns
        -------
        Recommendations
            ``items, scores = model.recommend(...)``: ids, best first, and their scores. A user with fewer items left
            than n has None in the last columns, with scores of -inf.
        """
        from cofactor.ratings.reranking import check_rules

        check_is_fitted(self)
        check_number("n", n, low=1, whole=True)
        check_flag("exclude_seen", exclude_seen)
        check_rules(rules)
        if exclude_seen:
            self.require_ratings(("pass ", Argument("exclude_seen", False), ", or "))
        catalog, ranking = self._catalog(), self._ranking(at_least, quantile)
        if new_items is not None:
            part = self.with_new_items(new_items)
            if not len(part.items_):
                raise InvalidInputError((Argument("new_items"), " holds no item that is new"), argument="new_items")
            catalog = catalog.with_items(part.items_)
            ranking = ranking.beside(part._ranking(at_least, quantile), len(self.items_))
        timed_users = self.scorer_.at(Lookup(self.users_, self.items_).asked(users), time)
        limits: dict[str, Any] = {"exclude": exclude, "candidates": candidates, "rules": rules}
        return catalog.best_lists(ranking, timed_users, int(n), exclude_seen=exclude_seen, **limits)

    def _ranking(self, at_least: float | None, quantile: float | None) -> Ranking:
        """Return what items are ranked by: scores, or another measure of the probabilities of levels."""
        criterion = criterion_of(self.scale_, at_least, quantile)
        if criterion is not None and not self.can("probabilities"):
            name, value = ("at_least", at_least) if at_least is not None else ("quantile", quantile)
            raise InvalidInputError(
                (Argument(name, value), f" needs probabilities of levels, which {type(self).__name__} does not have"),
                argument=name,
            )
        return self.scorer_.ranking(criterion)

    def explained_scores(self, user: int, items: NDArray[np.int32]) -> NDArray[Any]:
        """See `InteractionModel`."""
        return self.scorer_.scores(np.full(len(items), user, dtype=np.int32), items)

    def complete(self) -> NDArray[np.float32]:
        """Return the full matrix of ratings: observed entries as they are, predictions elsewhere.

        Returns
        -------
        ndarray of shape (n_users, n_items), float32
            It takes 4 bytes for each user and item.
        """
        check_is_fitted(self)
        ratings = self._ratings_in_memory("complete")
        n, m = len(self.users_), len(self.items_)
        full = np.empty((n, m), dtype=np.float32)
        cells, scorer = full.reshape(-1), self.scorer_

        def block(lo: int, hi: int) -> None:
            users, items = np.divmod(np.arange(lo, hi), m)
            levels = scorer.levels(users.astype(np.int32), items.astype(np.int32))
            cells[lo:hi] = self.scale_[levels - 1]

        each_block(block, n * m, pairs_per_block(len(self.scale_)))
        full[ratings.pairs()] = ratings.values
        return full

    def score(self, X: Any, y: ArrayLike | None = None, *, time: ArrayLike | None = None) -> float:
        """Return minus the mean absolute error of `predict`, so that higher is better as scikit-learn expects.

        X may hold the ratings too, as in `fit`, if it is a frame or a data set.
        """
        from cofactor.metrics.ratings import mean_absolute_error

        check_is_fitted(self)
        if y is None:
            X, y, own = split_xy(X, time)
            time = time if self.scorer_.now is None else own
        if y is None:
            raise InvalidInputError("X holds no ratings", argument="X", advice="give them as y")
        return -mean_absolute_error(as_numbers(y, self.rating_scale_), self.predict(X, time=time))

    # ---------------------------------------------------------------- new users

    def fold_in(
        self,
        X: Pairs | None = None,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
        user_features: SideFeatures | None = None,
        known: str = "error",
    ) -> Self:
        """Return a model for users who were not in training, items held fixed; each is learned as if alone.

        Parameters
        ----------
        X, y : optional
            Ratings of the new users, as in `fit`; ids of users are free. Ratings of items that were not in training
            say nothing to the model and are left out, unless ``unknown="error"``; a user who rated no others counts as
            the average one. Where no item at all is known, ids are likely to be wrong, and an error says so.
        {time}
        sample_weight : array-like of shape (n,), or sparse matrix of the shape of X, optional
            How often each rating counts, as in `fit`, of models that take weights there.
        user_features : mapping, frame, or tuple (ids, array), optional
            Features of the new users, only for models that were fitted with such: the same columns. Users without
            ratings are known by them alone, X is not needed then. Of users of training only those count who are in X
            too; users without a row get the column means of training. In a sparse matrix X the rows are all users.
        {known}
            Without X it is about the users of `user_features`. A model does not keep features: give them again.

        Returns
        -------
        RatingModel
            Of the same class, with the same methods, knowing the users given here only, and of their ratings those it
            was given here or merged.
        """
        return self.folded_in(self.new_users(X, y, user_features, known, time, sample_weight))

    @available_with("fold_in_items")
    def fold_in_items(
        self,
        X: Pairs | None = None,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
        item_features: SideFeatures | None = None,
        known: str = "error",
    ) -> Self:
        """Return a model for items which were not in training, users held fixed.

        Parameters
        ----------
        X, y : optional
            Ratings of the new items by users of this model, as in `fit`. Ratings by others are left out, unless
            ``unknown="error"``.
        time, sample_weight : array-like of shape (n,), optional
            As in `fit`.
        item_features : mapping, frame, or tuple, optional
            Only for models that were fitted with such: the same columns, of new items. Items without ratings are known
            by them alone (where priors know who rated what, that is guessed from the features too), but for those of
            training, whose rows count only if they are in X too. Items without a row get the column means of training.
        known : {"error", "merge", "replace"}, default="error"
            As in `fold_in`, of items in X, or without X of those in `item_features`.

        Returns
        -------
        RatingModel
            Of the same class, with the same methods, knowing the same users and the new items only.

        Examples
        --------
        >>> from cofactor.ratings import OrdinalProbit
        >>> X = [(u, i) for u in range(8) for i in range(6)]
        >>> y = [1 + 3 * (u % 2 == i % 2) for u, i in X]
        >>> genres = {i: ["drama" if i % 2 else "comedy"] for i in range(6)}
        >>> model = OrdinalProbit(2, n_sweeps=80, burn_in=20, implicit=None, random_state=0)
        >>> model = model.fit(X, y, item_features=genres)
        >>> model.fold_in_items(item_features={"new": ["drama"]}).predict([(0, "new"), (1, "new")])
        array([1., 4.])
        """
        check_is_fitted(self)
        table = self._new_features("item", item_features)
        ratings = self._new_items(X, y, known, table, time, sample_weight)
        return self.items_folded_in(FitInput(ratings, item_features=table))

    def new_users(
        self,
        X: Any,
        y: Any,
        user_features: SideFeatures | None,
        known: str,
        time: Any = None,
        sample_weight: Any = None,
    ) -> FitInput:
        """Return what the users to fold in are known by.

        Parameters
        ----------
        X, y
            Ratings as in `RatingModel.fold_in`; both None where users are known by features alone.
        user_features : mapping, frame, or tuple (ids, array), or None
            Their features.
        known : {"error", "merge", "replace"}
            What to do with users that were in training.
        time, sample_weight : array-like, optional
            Of the ratings.

        Returns
        -------
        FitInput
        """
        check_is_fitted(self)
        table = self._new_features("user", user_features)
        _check_given(X, y, known, table, sample_weight)
        items, scale = self.items_, self.scale_
        if sparse.issparse(X):
            Lookup(self.users_, items).check_columns(X)
        if X is None and table is not None:
            new = self.resolve_known(without_ratings(table.ids, items, scale), known, "users")
            return FitInput(new, user_features=table)
        with advise_fold_in():
            new = as_ratings(
                X,
                y,
                scale=self.rating_scale_ or scale,
                duplicates=self.duplicates,  # type: ignore[arg-type]
                items=items,
                unknown_items="error" if self.unknown == "error" else "drop",
                times=time,
                sample_weight=sample_weight,
            )
        self._check_new(new)
        if not sparse.issparse(X):  # whose rows have no ids, so they are new users
            if table is not None:
                new = merged(without_ratings(_others(table.ids, self.users_), items, scale), new)
            new = self.resolve_known(new, known, "users")
        return FitInput(new, user_features=table)

    def _new_features(self, side: SideName, given: SideFeatures | None) -> FeatureTable | None:
        """Return features of those who are new, of a model that was fitted with such; None without."""
        from cofactor.ratings.features import table_of, unknown_features

        table = table_of(given, f"{side}_features")
        if table is not None and not self.knows_features(side):
            raise unknown_features(table.argument)
        return table

    def _new_items(
        self,
        X: Any,
        y: Any,
        known: str,
        table: FeatureTable | None = None,
        time: Any = None,
        sample_weight: Any = None,
    ) -> Ratings:
        """Return the ratings of the items to fold in, by the users of the model.

        Parameters
        ----------
        X, y
            As in `Ratings.from_pairs`, or a sparse matrix of users × new items, whose ids are column numbers; both None
            where items are known by features alone.
        known : {"error", "merge", "replace"}
            What to do with items that were in training.
        table : FeatureTable, optional
            Features of items.
        time, sample_weight : array-like, optional
            Of the ratings.
        """
        check_is_fitted(self)
        _check_given(X, y, known, table, sample_weight)
        users, scale = self.users_, self.scale_
        if X is None and table is not None:
            return self.resolve_known(without_ratings(users, table.ids, scale), known, "items")
        given = Interactions.read(X, y, time, sample_weight)
        items = IdMap(given.items, "the item ids of X")
        rows, columns = users.index(given.users), items.index(given.items)
        own = self.rating_scale_
        coded = given.values if own is None else recoded(given.values, given.rating_scale, own)
        values, ours = rating_values(coded, len(rows)), rows >= 0
        if not ours.any() or (self.unknown == "error" and not ours.all()):
            bad = np.asarray(given.users, dtype=object)[~ours].tolist()
            raise InvalidInputError(
                f"{plural(len(bad), 'rating')} of X by users that were not in training, the first by "
                f"{bad[0]!r}: leave them out, or fit a new model"
                if bad
                else "X is empty: at least one rating, or an item with features, is needed",
                argument="X",
            )
        duplicates: Any = self.duplicates
        seconds, weights = (None if one is None else one[ours] for one in (given.times, given.weights))
        with advise_fold_in():
            entries = rows[ours], columns[ours], values[ours]
            new = Ratings.from_entries(users, items, *entries, scale, duplicates, seconds, weights)
        new = new.reweighted(new.weights)  # of those of weight 0 the items remain
        self._check_new(new)
        if table is not None:
            new = merged(without_ratings(users, _others(table.ids, self.items_), scale), new)
        return new if sparse.issparse(X) else self.resolve_known(new, known, "items")

    def folded_in(self, given: FitInput) -> Self:
        """Return a copy that knows the given users instead of those of training; see `learn`.

        Parameters
        ----------
        given : FitInput

        Returns
        -------
        RatingModel
        """
        new = copy.copy(self)
        new.users_, new.ratings_, new.updates_ = given.ratings.users, given.ratings, None
        new._fold_in(replace(given, before=self))
        return new

    def items_folded_in(self, given: FitInput) -> Self:
        """Return a copy that knows the given items instead of those of training; see `learn`.

        Parameters
        ----------
        given : FitInput

        Returns
        -------
        RatingModel
        """
        new = copy.copy(self)
        new.items_, new.ratings_, new.updates_ = given.ratings.items, given.ratings, None
        new._fold_in_items(replace(given, before=self))
        return new

    def update(
        self,
        X: Pairs,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
        user_features: SideFeatures | None = None,
        item_features: SideFeatures | None = None,
        again: bool = False,
    ) -> Self:
        """Take new ratings, and with them new users and items, into the model, as after another day.

        New users are folded in from their ratings of items that the model knows, then new items from the ratings by
        all; then the rows of all items with new ratings are learned anew from all ratings of theirs, users held fixed,
        and last the rows of all users with new ratings, items held fixed. All other rows, and what all rows share (the
        weight of a penalty, priors, means), stay what they were, to the bit (users of a `GPLVM` have no rows of their
        own: what it predicts for them moves with the items they rated). So a user's row is that of a fold-in with the
        new items: ``fold_in(X, known="merge")``. Of a model with samples every sample is updated.

        `ratings_` are all ratings then, of a pair that was rated before the new one alone, whatever their times are.
        Several updates are not the same as one with all their ratings, nor does their order say nothing: each learns
        from what the ones before it left. The same updates in the same order give the same model.

        What all rows share is still that of the ratings of the fit, so one day a fit to all is due:
        ``model.fit(model.ratings_)``. `refit_due_` is True from where a tenth of all ratings came after the fit. That
        is on the safe side: on MovieLens 100K thirty daily updates, with a sixth of the ratings, lost nothing against a
        refit that could be measured (``benchmarks/updates.py``). Of `OrdinalProbit` a day's update took a quarter of
        the time of a refit there, of `ALS` and `MMMF` a tenth.

        Parameters
        ----------
        X, y
            New ratings as in `fit`, on the model's scale, by users and of items it knows or not. Rows and columns of a
            sparse matrix are the users and items of those numbers, if the model was fitted to such a matrix.
        {time}
            A model that knows time needs them.
        sample_weight : array-like of shape (n,), or sparse matrix of the shape of X, optional
            How often each new rating counts, as in `fit`, of models that take weights there.
        user_features, item_features : mapping, frame, or tuple (ids, array), optional
            Features of the users, and items, with new ratings, in the columns of `fit`, where the model was fitted with
            such: it does not keep them. Those without a row get the column means of training.
        {again}

        Returns
        -------
        self
            An update that fails leaves the model as it was.

        Raises
        ------
        InvalidInputError
            If the model was saved without its ratings, comes from a fold-in, or if the ratings are not valid.

        Examples
        --------
        >>> from cofactor.ratings import ALS
        >>> X = [(u, i) for u in range(6) for i in range(6)]
        >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
        >>> model = ALS(n_factors=2, alpha=0.1, random_state=0).fit(X, y)
        >>> model.update([("new", 0), ("new", 1), (1, "film"), (3, "film"), (2, "film")], [2, 4, 3, 3, 1]).predict(
        ...     [("new", 3), ("new", "film"), (5, "film"), (0, "film")]
        ... )
        array([3., 3., 3., 1.])
        >>> model.refit_due_, model.ratings_.n_ratings
        (True, 41)
        """
        check_is_fitted(self)
        self._fitted_on()
        both, new = self.new_ratings(X, y, time, sample_weight)
        if self._came_before(new, both, again):
            return self
        return self.apply_update(both, new, user_features, item_features)

    def new_ratings(self, X: Any, y: Any, time: Any = None, sample_weight: Any = None) -> tuple[Ratings, Ratings]:
        """Return all ratings of the model, once it takes in new ones, and the new ones.

        Parameters
        ----------
        X, y
            New ratings as in `RatingModel.update`.
        time, sample_weight : array-like, optional
            Their times and weights.

        Returns
        -------
        both, new : Ratings
        """
        earlier = self._ratings_in_memory("update", ("there is nothing to merge with; ",))
        ranges = all(ids == IdMap.of_range(len(ids)) for ids in (self.users_, self.items_))
        if sparse.issparse(X) and not ranges:
            raise InvalidInputError(
                "rows and columns of a sparse matrix are users and items 0, 1, 2, ..., but those of the model have "
                f"other ids, such as {some_of(self.users_.ids, 3)} and {some_of(self.items_.ids, 3)}",
                argument="X",
                advice="pass pairs of user id and item id",
            )
        with advise_fold_in():
            scale, duplicates = self.rating_scale_ or self.scale_, cast(Any, self.duplicates)
            new = as_ratings(X, y, scale, duplicates, times=time, sample_weight=sample_weight)
        self._check_new(new)
        for ours, given, word in ((self.users_, new.users, "user"), (self.items_, new.items, "item")):
            ours.warn_if_alike(given.ids[ours.index(given.ids) < 0], word, callers_level())
        if self.scorer_.now is not None and new.times is None:
            raise InvalidInputError(
                f"this {type(self).__name__} was fitted with times, and the new ratings have none",
                argument="time",
                advice=("give the time of each rating with ", Argument("time")),
            )
        warn_of_lost_times(earlier, new)
        return merged(earlier, new), new

    def apply_update(
        self,
        both: Ratings,
        new: Ratings,
        user_features: SideFeatures | None = None,
        item_features: SideFeatures | None = None,
    ) -> Self:
        """Take new ratings into the model, as `update` does, given what `new_ratings` returned.

        Parameters
        ----------
        both, new : Ratings
        user_features, item_features
            As in `update`.

        Returns
        -------
        self
        """
        known, earlier = self._fitted_on()
        of_users = self._features_of("user", user_features, both.users)
        of_items = self._features_of("item", item_features, both.items)
        given = FitInput(both, whole=both, update=known.n_updates + 1, user_features=of_users, item_features=of_items)
        refuse_too_large(self, self._fit_bytes(both), both.n_ratings)
        with committed(self, keep=learned_names(self)) as grown:
            grown._renew_rows(both, new, given)
            grown.ratings_, grown.updates_ = both, known.after(new, earlier)
        return self

    def _features_of(self, side: SideName, given: SideFeatures | None, ids: IdMap) -> FeatureTable | None:
        """Return a table of features, where the model was fitted with such; there it is needed, for some of the ids."""
        from cofactor.ratings.features import FeatureTable, refuse_foreign, unknown_features

        name = f"{side}_features"
        if given is None and self.knows_features(side):
            raise InvalidInputError(
                f"this model was fitted with features of {side}s, and does not keep them",
                argument=name,
                advice=("give ", Argument(name), f" of the {side}s with new ratings"),
            )
        if given is not None and not self.knows_features(side):
            raise unknown_features(name)
        if given is None:
            return None
        table = FeatureTable.read(given, name)
        refuse_foreign(table, ids)
        return table

    def _renew_rows(self, both: Ratings, new: Ratings, given: FitInput) -> None:
        """Join new users and items to the model, and learn their rows, and all that have new ratings, anew."""
        new_users = IdMap(new.users.ids[self.users_.index(new.users.ids) < 0])
        new_items = IdMap(new.items.ids[self.items_.index(new.items.ids) < 0])
        users = IdMap(new.users.ids[(new.user_counts > 0) | (new_users.index(new.users.ids) >= 0)])
        items = IdMap(new.items.ids[(new.item_counts > 0) | (new_items.index(new.items.ids) >= 0)])

        def of(**ids: IdMap) -> FitInput:
            return replace(given, ratings=restrict(both, **ids))

        if len(new_users):
            self._merge_part(self.folded_in(of(users=new_users, items=self.items_)), "user", both.users)
        if len(new_items):
            self._merge_part(self.items_folded_in(of(items=new_items)), "item", both.items)
        self._merge_part(self.items_folded_in(of(items=items)), "item", both.items)
        self._merge_part(self.folded_in(of(users=users)), "user", both.users, both)

    def _merge_part(self, part: Self, side: SideName, ids: IdMap, whole: Ratings | None = None) -> None:
        """Join a part, by the ids of both; with all ratings, if it is the last."""
        ours, theirs = (getattr(each, f"{side}s_").ids for each in (self, part))
        self._merge_rows(part, RowMerge(side, ids, ids.index(ours), ids.index(theirs), whole))
        setattr(self, f"{side}s_", ids)

    # ---------------------------------------------------------------- files

    def _check_learned(self) -> None:
        """Refuse what was read from a file if it does not fit together: kernels do not check indices."""
        self.scale_ = as_scale(self.scale_)
        super()._check_learned()
        for name, field in self._learned.items():
            if field.holds(RatingModel):
                self._check_parts(getattr(self, name))

    def _check_parts(self, parts: Sequence[RatingModel]) -> None:
        """Refuse models as parts of this one that are not of one class, or have other users and items."""
        name = type(self).__name__
        if len({type(part) for part in parts}) != 1:
            raise InvalidInputError(f"the parts of this {name} must be models of one class")
        for part in parts:
            if part.users_ != self.users_ or part.items_ != self.items_ or part.ratings_ is not None:
                raise InvalidInputError(f"the parts of this {name} must have its users and items")
            part.users_, part.items_ = self.users_, self.items_


def _merged_parts(ours: Sequence[Any], theirs: Sequence[Any], merge: RowMerge) -> list[Any]:
    """Return copies of the parts of a model, to each of which that of another one is joined."""
    joined = [copy.copy(part) for part in ours]
    for part, other in zip(joined, theirs, strict=True):
        part._merge_rows(other, merge)
        setattr(part, f"{merge.side}s_", merge.ids)
    return joined


def _check_given(X: Any, y: Any, known: str, table: FeatureTable | None, sample_weight: Any) -> None:
    """Refuse to fold in nobody, and to merge or replace what has no ids."""
    if X is None and (table is None or y is not None or sample_weight is not None):
        raise InvalidInputError("X is missing: give ratings, or features of those without ratings", argument="X")
    check_known(X, known)


def _others(ids: IdMap, known: IdMap) -> IdMap:
    """Return the ids which are not known."""
    return IdMap(ids.ids[known.index(ids.ids) < 0])
