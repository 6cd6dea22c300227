"""Rank by how likely users are to interact with an item and to like it then."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_callback, check_choice, make_generator, number
from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.frames import collect
from cofactor.interrupts import propagates_interrupt
from cofactor.kernels.choice import add_bent
from cofactor.kernels.threads import library_limit
from cofactor.limits import MAX_LEVELS
from cofactor.model.commit import committed, learned_names
from cofactor.model.estimator import learned, param
from cofactor.model.offered import offered_if
from cofactor.model.progress import Monitor
from cofactor.progress import log_line
from cofactor.ratings.base import RatingModel
from cofactor.ratings.data import Ratings
from cofactor.ratings.features import FeatureTable, tables_of, unknown_features
from cofactor.ratings.interaction_model import FitInput, InteractionModel, Tags, Updates, warn_of_lost_times
from cofactor.ratings.lookup import Lookup
from cofactor.ratings.ranking.base import ImplicitFactorModel, ImplicitModel, new_interactions
from cofactor.ratings.ranking.choosing import (
    ColdItems,
    Offer,
    RecommendOptions,
    liked_from,
    recommended,
    seen_by,
)
from cofactor.ratings.ranking.counts import (
    INTERACTED,
    as_interactions,
    holds_kinds,
    holds_no_ratings,
    joined_interactions,
    ratings_in,
    warn_of_all_again,
    warn_of_dominant_user,
)
from cofactor.ratings.ranking.ease import EASE
from cofactor.ratings.ranking.held_out import HeldOut
from cofactor.ratings.ranking.implicit_als import ImplicitALS
from cofactor.ratings.ranking.logistic_mf import LogisticMF
from cofactor.ratings.ranking.neighbours import RP3beta
from cofactor.ratings.ranking.popularity import Popularity
from cofactor.ratings.reasons import Reasons
from cofactor.ratings.reranking import Rules
from cofactor.ratings.sampled.ordinal_probit import OrdinalProbit
from cofactor.ratings.scoring import ProbabilityScorer, expected
from cofactor.ratings.sharded import ShardedRatings
from cofactor.ratings.similar import Embeddings, directions_of_interactions
from cofactor.ratings.topn import Exclusion, Recommendations
from cofactor.solvers.result import Callback, Progress
from cofactor.typing import Ids, Pairs, RandomState, RatingValues, SideFeatures, SparseTable

#: Users by whose utilities it is learned what features of items say.
_USERS_OF_FEATURES = 256

#: Users times items up to which `LogisticMF`, whose time goes with them, is tried by default: some 4 s of a core.
_CELLS = 25_000_000

#: Share of `max_seconds` in which something is tried, and fitted; the rest is for weights.
_FOR_TRIALS = 0.9

#: Operations per second that are counted on for an inverse: of two cores, half of what they do.
_SPEED = 4e10

#: Of the rating model: lists are as good as with 300 sweeps (nDCG@10 within .003 on eight splits), and come sooner.
_SWEEPS: dict[str, Any] = {"n_sweeps": 150, "burn_in": 50}


class Recommender(InteractionModel):
    r"""Recommendations of items that users would choose and like: P(interact) × P(like | interaction).

    Ranking by predicted rating loses to plain popularity, since what people choose and what they then like are two
    things. Here implicit-feedback models say the first and a rating model the second:

    .. math::

        P(j \mid u) = \frac{e^{c_u \cdot \ell_{uj}}}{\sum_{k \notin S_u} e^{c_u \cdot \ell_{uk}}}, \qquad
        \text{like: } P(j \mid u)\, P(y_{uj} \ge r), \quad \text{gain: } P(j \mid u)\, E[2^{\mathrm{level}} - 1]

    is the probability that j is the next item that u interacts with, of those not in :math:`S_u`, the items of u so
    far. Scores are logarithms of these, the gain as a share of :math:`2^R`. The features :math:`\ell` are logarithms of
    the scores of implicit-feedback models (for `EASE` :math:`\log(\epsilon \log(1 + e^{s / \epsilon}))` with ε = .02),
    and :math:`c_u = (n_u / n)^\delta c` with :math:`n_u` the number of interactions of the user, n what is usual. A
    tenth of the interactions of each user is held out at random, or the latest fifth, the implicit-feedback models are
    fitted to the rest, and c and δ maximise the likelihood of what was held out (`ChoiceProblem`), each feature with
    one slope below the median of what was held out and another above. Which models are worth it depends on the data: by
    default the best of five is taken, and others as long as lists of what was held out become better by more than
    chance (`tried_`). Popularity counts by :math:`n_u^{-1}` more the less is known of a user: lists of users with one
    interaction were worse than popularity without, on a made-up shop, and are better with it. The models of the end are
    fitted to all interactions, whose features hold less noise, and c is multiplied by what lets their utilities expect
    what those before them do. `predict` and `predict_proba` are those of the rating model; one that was fitted to
    interactions alone has no such methods.

    P(interact) holds about. A random fifth of each user held out, all items that were not in training sorted by the
    probability to be in it (from .01, .03, .1, .2, .4 and .7 on), these were further from what was seen than a tenth of
    that and two standard errors over users: none on a split of MovieLens 100K, .4 on one of two of latest-small (.510
    for .575), .7 on one of two of Douban (.86 for .60), and .01, .2 and .4 on Epinions (.017 for .016, .254 for .291,
    .45 for .13 of a few pairs). In lists of ten as many were right as expected, within a tenth, on all. The tenth that
    is held out to learn c is a sample, too. What is expected of the likeliest is a curve with one bend; a second hardly
    helps.

    Parameters
    ----------
    interactions : ImplicitModel, or list of them, optional
        Who interacts with what. Those given are all used; by default it is chosen from `Popularity`, `RP3beta`, `EASE`,
        `ImplicitALS` and, where users times items are at most 25 million, `LogisticMF`, whose time goes with them. With
        times and ``[EASE(recency=10), LogisticMF()]`` what is held out is the latest fifth: nDCG@10 of what was liked
        in the last fifth of each user of MovieLens 100K, where the question is what comes next, was .230 for .202.
    ratings : RatingModel or "auto" or None, default="auto"
        What is liked, given an interaction: a model with `predict_proba`. "auto" is `OrdinalProbit` with 10 factors,
        150 sweeps, and without time, where the ratings have two levels or more; None for interactions alone, and
        counts.
    levels : array-like of shape (R,), optional
        The values a rating can take, increasing; by default those of `ratings`, else the distinct ones in y.
    duplicates : {"error", "last", "mean"}, optional
        What to do with several ratings of one user for one item; by default what `ratings` does, else an error.
        Interactions of one pair add up.
    max_seconds : float, optional
        Seconds that a fit may take. The rating model is fitted first, and not cut short. Then settings and models are
        tried as long as there is time for one more trial as the last one, and to fit what was tried to all
        interactions. What there was no time for is told. 0 leaves `Popularity`. Models given as `interactions` are all
        fitted, with fewer settings tried. Without a limit a seed gives the same bits on any machine. Ctrl-C during the
        choice ends it likewise in Python; in a shell it ends the command, and no file is written.
    {random_state}
        It is the seed of what is held out, and of parts which have none.
    {callback}
    {verbose}

    Attributes
    ----------
    implicit_models_ : list of ImplicitModel
        Fitted to all interactions.
    rating_model_ : RatingModel or None
    weights_ : ndarray of shape (n_models, 2)
        c: slopes of features below their knots, and how much larger these are above; for fits to all interactions.
    knots_ : ndarray of shape (n_models,)
        Medians of features of what was held out.
    exponent_ : float
        δ; on MovieLens it is about -.2: the more interactions a user has, the less sure it is what comes next.
    tried_ : dict of str to list
        What was tried, a table: "model", its chosen "settings", the "gain" of its lists alone (the mean of
        1 / log2(1 + rank) of what was held out), and its "weight", the mean of its two slopes, 0 where it was left out.
        Where nothing can be held out, it is `Popularity` alone, without a gain.
    usual_interactions_ : float
        n, the geometric mean over the users of training.
    users_, items_ : IdMap
    ratings_ : Ratings or None
        The ratings, or interactions, of training.
    cold_ : ColdItems or None
        What features of items say of how likely users interact with them.
    kind_weights_ : dict of str to float
        What an event of each kind counts, that of the target 1; empty where there were no kinds.
    refit_due_ : bool
        Whether a tenth of the ratings came after the last fit.

    References
    ----------
    D. McFadden, "Conditional logit analysis of qualitative choice behavior", 1974.
    H. Steck, "Embarrassingly shallow autoencoders for sparse data", WWW 2019, doi:10.1145/3308558.3313710.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u + i) % 3]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = Recommender(random_state=0).fit(X, y)
    >>> found = model.recommend([0], n=2)
    >>> sorted(found.items[0].tolist()), bool(np.isclose(found.p_interact.sum(), 1))
    ([0, 3], True)
    >>> new = model.fold_in([("new", 1), ("new", 2)], [1, 4])
    >>> new.recommend(["new"], n=1, rank_by="interaction").items.shape
    (1, 1)
    """

    tags = Tags(
        similar=True,
        features=lambda model: model.rating_kind().can("features"),
        explain=lambda model: all(part.can("explain") for part in model._parts()),
    )

    interactions: ImplicitModel | Sequence[ImplicitModel] | None = param(default=None, kw_only=False)
    ratings: RatingModel | str | None = param(default="auto", kw_only=False)
    levels: ArrayLike | None = param(default=None)
    duplicates: str | None = param(default=None)
    max_seconds: float | None = param(number(low=0, inclusive=False, also=[None]), default=None)
    random_state: RandomState = param(default=None)
    callback: Callback | None = param(check_callback, default=None)
    verbose: int = param(default=0)

    implicit_models_: list[ImplicitModel] = learned(kind=ImplicitModel, many=True)
    rating_model_: RatingModel | None = learned(optional=True)
    knots_: NDArray[np.float64] = learned("models", dtype=np.float64)
    weights_: NDArray[np.float64] = learned("models 2", dtype=np.float64)
    exponent_: float = learned(check=number(low=-np.inf))
    usual_interactions_: float = learned(check=number(low=0, inclusive=False))
    tried_: dict[str, list[Any]] = learned()
    cold_: ColdItems | None = learned(kind=ColdItems, optional=True, default=None)
    kind_weights_: dict[str, float] = learned()

    def _check_together(self) -> None:
        for part in self._implicit_models():
            if not isinstance(part, ImplicitModel):
                raise InvalidTypeError(
                    "expected an implicit-feedback model such as EASE(), or a list of implicit-feedback models",
                    argument="interactions",
                    found=self.interactions,
                )
            part.check_params()
        if isinstance(self.ratings, str):
            check_choice("ratings", self.ratings, ("auto",))
        elif self.ratings is not None and not (
            isinstance(self.ratings, RatingModel) and self.ratings.can("probabilities")
        ):
            raise InvalidTypeError(
                "expected a rating model with predict_proba, such as OrdinalProbit(), 'auto' or None",
                argument="ratings",
                found=self.ratings,
            )
        self.rating_kind().check_params()

    def _implicit_models(self, n_cells: int = 0) -> list[Any]:
        """Return unfitted implicit-feedback models, by default those to choose from for so many users times items."""
        if self.interactions is None:
            return [
                Popularity(),
                RP3beta(popularity_weight=0.0),  # popularity joins as a model of its own
                EASE(popularity_weight=0.0),
                ImplicitALS(solver="cg", popularity_weight=0.0),  # as good, in a third of the time
                *([LogisticMF(alpha=3.0)] if n_cells <= _CELLS else []),
            ]
        given = self.interactions
        parts = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        if not parts:
            raise InvalidInputError(
                "expected at least one implicit-feedback model", argument="interactions", found=given
            )
        return parts

    def rating_kind(self) -> Any:
        """Return the unfitted rating model.

        Returns
        -------
        RatingModel
        """
        kind = clone(self.ratings) if isinstance(self.ratings, RatingModel) else OrdinalProbit(10, **_SWEEPS)
        return kind.set_params(**self._of_ratings)

    @property
    def _of_ratings(self) -> dict[str, Any]:
        """Parameters that the rating model has from this one."""
        given = {"levels": self.levels, "duplicates": self.duplicates}
        return {name: value for name, value in given.items() if value is not None}

    def _parts(self) -> list[InteractionModel]:
        """Return the implicit-feedback models, and the rating model if there is one, unfitted before a fit."""
        fitted = hasattr(self, "implicit_models_")
        rated = self.rating_model_ if fitted else None if self.ratings is None else self.rating_kind()
        of_interactions = self.implicit_models_ if fitted else self._implicit_models()
        return [*of_interactions, *([] if rated is None else [rated])]

    def require(self, tag: str, argument: str | None = None) -> None:
        """Refuse what the recommender cannot do, see `RatingModel.require`; what its parts cannot explain is theirs."""
        if tag != "explain":
            super().require(tag, argument)
            return
        for part in self._parts():
            part.require(tag)

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
        user_features: SideFeatures | None = None,
        item_features: SideFeatures | None = None,
    ) -> Self:
        """Learn from ratings, or from interactions alone.

        Parameters
        ----------
        X, y
            Ratings as in `RatingModel.fit`. Pairs without y, and whatever has one level only, are interactions, of
            which no rating model can learn; with ``ratings=None`` y, and the entries of a sparse matrix, are counts.
        {time}
        sample_weight : array-like of shape (n,), or sparse matrix of the shape of X, optional
            How much each interaction counts; with a rating model only one that takes weights of ratings, such as
            `BPMF`.
        {kind}
        {target}
        {side_features}
            Those of items say how likely users interact with new items (see `recommend`), and how they like them if the
            rating model takes features, as `OrdinalProbit` does; those of users are for the rating model alone.

        Returns
        -------
        self
        """
        self.check_params()
        if isinstance(X, ShardedRatings):
            self.require("shards")
        X = collect(X)
        of_users, of_items = tables_of(X, user_features, item_features)
        rated = None
        has_kinds = target is not None or kind is not None or holds_kinds(X)
        if self.ratings is None or has_kinds or holds_no_ratings(X, y):
            if isinstance(self.ratings, RatingModel):
                raise InvalidInputError(
                    "these are interactions of one level, from which no rating model can learn",
                    argument="ratings",
                    advice="leave it at 'auto', or set it to None",
                )
            interactions = as_interactions(X, y, times=time, sample_weight=sample_weight, kind=kind, target=target)
        else:
            _refuse_counts(X, y)
            model = self.rating_kind()
            rated = FitInput(model.read(X, y, time, sample_weight))
            if model.can("features"):
                rated = replace(rated, user_features=of_users, item_features=of_items)
            interactions = as_interactions(rated.ratings)
        _refuse_unused(user_features, rated)
        warn_of_dominant_user(interactions)
        show = bool(self.verbose)
        with committed(self) as fitted, Monitor(self.callback, show, type(self).__name__) as monitor:
            fitted._fit(interactions, rated, monitor, of_items)
        return self

    def _fit(
        self, interactions: Ratings, rated: FitInput | None, monitor: Monitor, of_items: FeatureTable | None
    ) -> None:
        end = np.inf if self.max_seconds is None else time.perf_counter() + _FOR_TRIALS * self.max_seconds
        generator = make_generator(self.random_state)
        models = self._implicit_models(len(interactions.users) * len(interactions.items))
        seed, *seeds = (int(s) for s in generator.integers(2**31, size=len(models) + 2))
        models = [_seeded(clone(part), s) for part, s in zip(models, seeds[1:], strict=True)]
        self.rating_model_ = None
        if rated is not None and self.max_seconds is not None:
            self.rating_model_ = self._learn_ratings(rated, seeds[0], monitor)
        held_out = HeldOut.of(interactions, seed, latest=any(model.asks_what_is_next for model in models))
        self.usual_interactions_ = held_out.usual
        parts, tables, solutions = map(list, zip(*self._try(models, held_out, monitor, end), strict=True))
        kept = list(range(len(tables)))
        if self.interactions is None and len(held_out.users):
            kept = held_out.forward_select(tables)
        self.knots_, self.weights_ = np.zeros(len(kept)), np.tile([1 / len(kept), 0.0], (len(kept), 1))
        self.exponent_ = 0.0
        while len(held_out.users):
            straight = [k for k, part in enumerate(kept) if parts[part].evidence]
            best, self.knots_ = held_out.best([tables[k] for k in kept], straight)
            self.weights_, self.exponent_ = best.weights.reshape(len(kept), -1), best.exponent
            if self.interactions is not None or self.weights_[:, 0].min() >= 0:
                break
            if len(kept) == 1:  # what says nothing, or the contrary, gives way to popularity, which stays as it is
                kept, self.weights_, self.knots_, self.exponent_ = [0], np.array([[1.0, 0.0]]), np.zeros(1), 0.0
                break
            kept.pop(int(np.argmin(self.weights_[:, 0])))  # what is not so, the higher it is
        before = self._log_odds([tables[k] for k in kept], held_out.counts)
        del tables
        self.implicit_models_ = [
            parts[k].learn(FitInput(interactions, solution=solutions[k]), monitor.stage(type(parts[k]).__name__))
            for k in kept
        ]
        del solutions
        if rated is not None and self.rating_model_ is None:
            self.rating_model_ = self._learn_ratings(rated, seeds[0], monitor)
        given = interactions if rated is None else rated.ratings
        self.users_, self.items_, self.scale_ = given.users, given.items, given.scale
        self.ratings_, self.rating_scale_, self.updates_ = given, given.rating_scale, Updates(given.n_ratings)
        self.kind_weights_ = dict(interactions.kind_weights or {})
        if len(held_out.users) and not held_out.latest:  # of which what comes then is no random part
            with library_limit(1, "blas"):
                self.weights_ *= held_out.sharpening(before, self._utilities(held_out.users))
        means = dict(zip(kept, self.weights_[:, 0] + self.weights_[:, 1] / 2, strict=True))
        self.tried_["weight"] = [float(means.get(k, 0.0)) for k in range(len(parts))]
        self.cold_ = None
        if of_items is not None:
            some = np.flatnonzero(interactions.user_counts)[:_USERS_OF_FEATURES]
            with library_limit(1, "blas"):
                self.cold_ = ColdItems.of(of_items, self.items_, self._utilities(some))

    def _learn_ratings(self, rated: FitInput, seed: int, monitor: Monitor) -> RatingModel:
        kind = self.rating_kind()
        try:
            return cast(RatingModel, _seeded(kind, seed).learn(rated, monitor.stage(type(kind).__name__)))
        except InvalidInputError as error:
            raise _ended_early(monitor, type(kind).__name__) or error from None

    def _try(
        self, parts: list[Any], held_out: HeldOut, monitor: Monitor, end: float
    ) -> list[tuple[Any, NDArray[np.float32], Any]]:
        """Let parts choose settings until time is up, and note what they gain.

        Return those that did, with their features, and what they solved for all interactions.
        """
        took, mark = dict[str, float](), time.perf_counter()  # the last trial of each, which is the time of its fit

        def is_over(progress: Progress) -> bool:
            nonlocal mark
            monitor.note(progress.stage, progress.iteration, progress.max_iter, progress.objective)
            name, before, mark = progress.stage.partition(",")[0], mark, time.perf_counter()
            took[name] = mark - before
            return monitor.stopped or mark + took[name] + sum(took.values()) > end

        choosing, tried = Monitor(is_over, False), list[tuple[Any, NDArray[np.float32], Any]]()
        self.tried_ = {"model": [], "settings": [], "gain": []}
        without = list[str]()
        try:
            for part in parts:
                name, mark = type(part).__name__, time.perf_counter()
                needed = sum(took.values()) + part.n_operations(held_out.whole) / _SPEED
                if tried and self.interactions is None and not len(held_out.users):
                    break
                if tried and self.interactions is None and (choosing.stopped or mark + needed > end):
                    without.append(name)
                    continue
                choices, table, solution = part.tune(held_out, choosing.inside(name))
                if solution is not None:
                    took[name] = 0.0
                part.set_params(**choices)
                tried.append((part, self._feature(part, table, held_out.counts), solution))
                self.tried_["model"].append(name)
                self.tried_["settings"].append(choices)
                self.tried_["gain"].append(held_out.gain(table))
        except KeyboardInterrupt:
            if not tried or self.interactions is not None or propagates_interrupt():
                raise
            log_line(f"{type(self).__name__}: interrupted; it goes on with the best so far, and Ctrl-C again ends it")
        if self.max_seconds is not None and not monitor.stopped and (choosing.stopped or without):
            last, rest = self.tried_["model"][-1], f", without {', '.join(without)}" if without else ""
            log_line(f"{type(self).__name__}: max_seconds={self.max_seconds:g} ended the choice at {last}{rest}")
        return tried

    # ---------------------------------------------------------------- recommending

    def recommend(
        self,
        users: Ids | None = None,
        n: int = 10,
        *,
        rank_by: str = "auto",
        at_least: float | None = None,
        quantile: float | None = None,
        exclude_seen: bool = True,
        exclude: Exclusion = None,
        candidates: Iterable[Any] | None = None,
        time: ArrayLike | None = None,
        rules: Rules | None = None,
        new_items: SideFeatures | None = None,
    ) -> Recommendations:
        """Recommend items to users.

        Parameters
        ----------
        users : array-like of shape (k,), optional
            User ids, in the order of the result; by default all users of the model.
        n : int, default=10
            Number of items for each user.
        rank_by : {"auto", "like", "interaction", "gain", "rating"}, default="auto"
            P(interact) × P(like | interaction), P(interact) alone, or P(interact) × the expected gain :math:`2^r - 1`
            of the level r, of :math:`2^R`. "auto" is "like" with a rating model and "interaction" without. "rating" is
            how well an item is liked given an interaction, whatever the chance of that: what
            ``rating_model_.recommend`` returns. It loses to popularity.
        at_least : float, optional
            The rating from which on an item is liked, for "like" and for `p_like`; by default the first of the upper
            quarter of the levels, such as 4 of 1 to 5. With "rating" it is what items are ranked by, if it is given.
        quantile : float, optional
            With ``rank_by="rating"`` alone: rank by this quantile of the rating, see `RatingModel.recommend`.
        exclude_seen : bool, default=True
            Leave out what a user interacted with, or rated, in training. P(interact) is a share among the items left
            then.
        exclude : iterable of item ids, or mapping of user ids to such, optional
            Items to leave out: for all, or for each user. They keep their share of P(interact).
        candidates : iterable of item ids, optional
            The items to choose from; by default all. P(interact) is a share among all items nevertheless.
        time : number, date, or array-like of shape (k,), optional
            When users are to like the items, where the rating model knows time.
        rules : Rules, optional
            What lists must be like: supported by interactions, diverse, novel, with quotas of groups. See `Rules`.
            Scores and probabilities stay what they are without.
        new_items : mapping, frame, or tuple, optional
            Features of items that were not in training, which are recommended among the others: the same columns as
            `item_features` of the fit. P(interact) of a new item is what such features say of the items of training,
            for each user: a new comedy is as likely as known comedies are on average, and likelier for who watches
            comedies. That is right for an item which users can find as they find the others. P(like) is that of the
            rating model where it takes features of items, else of an average item. Rules with `min_support` leave new
            items out.

        Returns
        -------
        Recommendations
            Users without interactions are recommended what is popular, and liked.
        """
        check_is_fitted(self)
        if rank_by == "rating":
            how: dict[str, Any] = {"exclude_seen": exclude_seen, "exclude": exclude, "candidates": candidates}
            how |= {"at_least": at_least, "quantile": quantile, "time": time, "rules": rules, "new_items": new_items}
            return self._predicting().recommend(users, n, **how)
        if quantile is not None:
            raise InvalidInputError(
                (Argument("quantile", quantile), " is of the predicted rating"),
                argument="quantile",
                advice=("rank by it with ", Argument("rank_by", "rating")),
            )
        options = RecommendOptions(n, rank_by, at_least, exclude_seen, exclude, candidates, time, rules)
        options.check(knows_ratings=self.rating_model_ is not None)
        offer = self._offer()
        if new_items is not None:
            table = FeatureTable.read(new_items, "new_items")
            offer = offer.with_new_items(self.cold_, self.rating_model_, table)
        with library_limit(1, "blas"):
            return recommended(offer, users, options)

    def _offer(self) -> Offer:
        """Return the items of training, and how likely users interact with and like them."""
        model: Any = self.rating_model_
        self.require_ratings(("fold new users in, or ",))
        return Offer(
            self._catalog(),
            None if model is None else self.scale_,
            timed_users=lambda users, time: None if model is None else model.scorer_.at(users, time),
            utilities=lambda users, seen: self._utilities(users),
            probabilities=lambda timed_users, items: model.scorer_.all_probabilities(timed_users, items),
        )

    def utilities(self, users: Ids | None = None) -> NDArray[np.float32]:
        r"""Return the utilities :math:`c_u \cdot \ell_{uj}` of all items, logarithms of P(interact) but for its sum.

        Parameters
        ----------
        users : array-like of shape (k,), optional
            User ids; by default all users of the model.

        Returns
        -------
        ndarray of shape (k, n_items), float32
            Also of items that users have. Those of a user without interactions are those of popularity.
        """
        check_is_fitted(self)
        with library_limit(1, "blas"):
            return self._utilities(Lookup(self.users_, self.items_).asked(users))

    def _utilities(self, users: NDArray[Any]) -> NDArray[np.float32]:
        """Return the utilities of all items for users by index."""
        parts, counts = self.implicit_models_, self.require_ratings().user_counts[users]
        warm = counts > 0
        some = users if warm.all() else users[warm]
        total = self._log_odds((self._feature(p, p.log_table(some), counts[warm]) for p in parts), counts[warm])
        if warm.all():
            return total
        out = np.empty((len(users), len(self.items_)), dtype=np.float32)
        out[warm] = total
        out[~warm] = np.log(np.maximum(parts[0].popularity_, 0.5 / max(parts[0].n_trained_, 1)))
        return out

    @property
    def counted_(self) -> bool:
        """Whether interactions of training had counts or weights; if not, counts of new users say nothing."""
        return self.implicit_models_[0].counted_

    def _feature(self, part: ImplicitModel, log_interactions: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
        """Return the feature ℓ of an implicit-feedback model for users with so many interactions."""
        power = part.evidence
        return (
            log_interactions * ((counts / self.usual_interactions_) ** power).astype(np.float32)[:, None]
            if power
            else log_interactions
        )

    def _log_odds(self, tables: Iterable[NDArray[np.float32]], counts: NDArray[Any]) -> NDArray[np.float32]:
        """Return c · ℓ, given ℓ of each model, for users with so many interactions."""
        total = None
        outer = ((counts / self.usual_interactions_) ** self.exponent_).astype(np.float32)
        for table, weights, knot in zip(tables, self.weights_, self.knots_, strict=True):
            total = np.zeros(table.shape, dtype=np.float32) if total is None else total
            add_bent(np.ascontiguousarray(table), outer, *weights.astype(np.float32), np.float32(knot), total)
        return cast(Any, total)

    def _support(self, otherwise: tuple[str | Argument, ...] = ()) -> tuple[NDArray[Any], int]:
        """See `InteractionModel`."""
        return self.implicit_models_[0]._support()

    # ---------------------------------------------------------------- ratings, as the rating model predicts them

    @property
    def predicts_ratings(self) -> bool:
        """See `InteractionModel`."""
        return self.rating_model_ is not None

    def _check_predicts(self) -> None:
        if hasattr(self, "implicit_models_"):
            self._predicting()
        elif self.ratings is None:
            raise AttributeError("a Recommender with ratings=None predicts no ratings")

    @offered_if(_check_predicts)
    def predict(self, X: Pairs, *, time: ArrayLike | None = None) -> NDArray[np.float64]:
        """Predict ratings, as `RatingModel.predict` of the rating model does.

        Parameters
        ----------
        X, time
            As there.

        Returns
        -------
        ndarray of shape (n,), float64
            Ratings on the original scale.
        """
        return self._predicting().predict(X, time=time)

    @offered_if(_check_predicts)
    def predict_proba(self, X: Pairs, *, time: ArrayLike | None = None) -> NDArray[Any]:
        """Return the probability of every level, given an interaction.

        Parameters
        ----------
        X, time
            As in `RatingModel.predict_proba`.

        Returns
        -------
        ndarray of shape (n, R)
        """
        return np.asarray(self._predicting().predict_proba(X, time=time))

    @offered_if(_check_predicts)
    def decision_function(self, X: Pairs, *, time: ArrayLike | None = None) -> NDArray[Any]:
        """Return scores of the rating model: for one user, a higher one means an item that is liked better.

        Parameters
        ----------
        X, time
            As in `RatingModel.decision_function`.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._predicting().decision_function(X, time=time)

    def score(self, X: Any, y: RatingValues = None, *, time: ArrayLike | None = None) -> float:
        """Return nDCG@10 of lists, see `ranking_score`; of a fit to ratings minus the mean absolute error of `predict`.

        X may hold the ratings, see `RatingModel.score`.
        """
        check_is_fitted(self)
        if not self.predicts_ratings:
            return self.ranking_score(X, y)
        return self._predicting().score(X, y, time=time)

    def _predicting(self) -> RatingModel:
        """Return the rating model, or refuse to predict without."""
        check_is_fitted(self)
        if self.rating_model_ is None:
            raise InvalidInputError(
                "this Recommender was fitted to interactions alone, and predicts no ratings",
                advice="recommend ranks items by P(interact); fit it to ratings to predict them",
            )
        return self.rating_model_

    # ---------------------------------------------------------------- reasons

    def effort(self) -> dict[str, Any]:
        """Return what the recommender is made of, and what was tried.

        Returns
        -------
        dict of str to object
        """
        return {"parts": [type(part).__name__ for part in self._parts()], "tried": self.tried_}

    @offered_if(lambda model: model.require("explain"))
    def explain(self, user: Any, items: Ids, *, at_least: float | None = None) -> Reasons:
        r"""Return which of a user's own ratings make it likely that they interact with items, and like them.

        Where a part cannot explain, such as `BPR`, there is no such method.

        Parameters
        ----------
        user : hashable
            A user's id.
        items : array-like of shape (k,)
            Item ids, also of what the user rated.
        at_least : float, optional
            The rating from which on an item is liked, as in `recommend`.

        Returns
        -------
        Reasons
            With `parts` "interaction" and, with a rating model, "like", whose sum contributions are. Scores are those
            of `recommend`, without a rating model of "interaction", and for items that the user has those they would
            have among what is open; contributions do not sum to them.

        Raises
        ------
        InvalidInputError
            As `RatingModel.explain` does.

        Notes
        -----
        A reason for an interaction is by how much the weighted sum :math:`c_u \cdot \ell` of the logarithms of the
        implicit-feedback models' scores falls where an earlier interaction's contribution to each score (see
        `RatingModel.explain`) is taken away: for `EASE` exactly what the user would have without the earlier one. A
        reason for liking is the change of the logarithm of the probability to like the item, to first order.

        Examples
        --------
        >>> from cofactor.ratings import EASE, Recommender
        >>> X = [(u, i) for u in range(6) for i in range(6) if u % 2 == i % 2 and (u, i) != (0, 4)]
        >>> model = Recommender(EASE(1.0), random_state=0).fit(X)
        >>> why = model.explain(0, [4])
        >>> why.own_items.tolist(), bool((why.parts["interaction"] > 0).all())
        ([0, 2], True)
        """
        ratings, row, columns = self._asked_why(user, items)
        with library_limit(1, "blas"):
            rows = np.array([row])
            whole, open_ = self._utilities(rows)[0].astype(np.float64), ~seen_by(ratings, rows, len(self.items_))[0]
            scores = whole[columns] - (np.logaddexp.reduce(whole[open_]) if open_.any() else 0.0)
            parts = {"interaction": self._why_interact(row, columns)}
            if self.rating_model_ is not None:
                liked, scorer = liked_from(self.scale_, at_least), cast(ProbabilityScorer, self.rating_model_.scorer_)
                now = scorer.all_probabilities(np.full(len(columns), row, dtype=np.int32), columns)
                chances = np.maximum(expected(now, liked), 1e-300)
                scores, parts["like"] = scores + np.log(chances), self._why_liked(row, columns, liked, chances)
        rated = None if self.rating_model_ is None else self.rating_model_.ratings_
        kind = (
            "rating" if rated is not None and rated.n_ratings else "interaction"
        )  # or folded in by interactions alone
        own = self._own_entries(ratings, row, kind)
        total = sum(parts.values(), np.zeros((len(columns), len(own[0]))))
        return Reasons(user, self.items_.ids[columns], scores, *own, total, None, kind, parts)

    def _why_interact(self, row: int, columns: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return by how much c · ℓ falls without what an interaction adds to the scores of implicit-feedback models."""
        counts = np.repeat(self.require_ratings().user_counts[row], len(columns))
        now, without = [], []
        for part in self.implicit_models_:
            scores = part.explained_scores(row, columns).astype(np.float64)[:, None]
            now.append(self._feature(part, part.log_interactions(scores), counts))
            less = part.log_interactions(scores - part.contributions(row, columns))
            without.append(self._feature(part, less, counts))
        return self._log_odds(now, counts).astype(np.float64) - self._log_odds(without, counts)

    def _why_liked(
        self, row: int, columns: NDArray[np.int32], liked: NDArray[Any], chances: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return the change of the logarithm of the probability to be liked, to first order."""
        rating_model: Any = self.rating_model_
        counts = rating_model.require_ratings(()).user_counts
        if not counts[row]:  # folded in by interactions alone
            return np.zeros((len(columns), int(self.require_ratings().user_counts[row])))
        return np.asarray(rating_model.contributions(row, columns, liked) / chances[:, None])

    # ---------------------------------------------------------------- similar items and users

    def with_new_items(self, new_items: SideFeatures) -> Any:
        """Refuse items that only features describe: `recommend` knows them, and `similar_items` of the rating model.

        Parameters
        ----------
        new_items : mapping, frame, tuple or FeatureTable
        """
        self.require("features", "new_items")
        raise InvalidInputError(
            "a Recommender compares items by who interacts with them, which features of new ones do not say",
            argument="new_items",
        )

    def _item_directions(self) -> NDArray[np.float64]:
        """See `InteractionModel`: those of the first implicit-feedback model with factors, else of the interactions."""
        with_factors = self._first_with_factors()
        return super()._item_directions() if with_factors is None else with_factors._item_directions()

    def similar_users(
        self, users: Ids, n: int = 10, *, candidates: Iterable[Any] | None = None, min_ratings: int = 5
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Find the users with similar interactions, by factors where an implicit-feedback model has some.

        See `ALS.similar_users`.

        Parameters
        ----------
        users, n, candidates, min_ratings
            As there.

        Returns
        -------
        ids : ndarray of shape (k, n)
        similarities : ndarray of shape (k, n)

        Examples
        --------
        >>> from cofactor.ratings import Recommender
        >>> X = [(u, i) for u in range(8) for i in range(8) if u % 2 == i % 2 and u != i]
        >>> model = Recommender(random_state=0).fit(X)
        >>> sorted(model.similar_users([1], 3, min_ratings=0)[0][0].tolist())
        [3, 5, 7]
        """
        check_is_fitted(self)
        return self._similar("user", self._user_directions, users, n, candidates, min_ratings)

    def user_vectors(self) -> Embeddings:
        """Return a vector of length 1 of each user, whose inner products are the similarities of `similar_users`."""
        check_is_fitted(self)
        return Embeddings(self.users_.ids, self._user_directions().astype(np.float32))

    def _user_directions(self) -> NDArray[np.float64]:
        """Return those of the first implicit-feedback model that has factors, else of the interactions."""
        part = self._first_with_factors()
        if part is not None:
            return part._user_directions()
        return directions_of_interactions(self.require_ratings(()), "user")

    def _first_with_factors(self) -> ImplicitFactorModel | None:
        return next((part for part in self.implicit_models_ if isinstance(part, ImplicitFactorModel)), None)

    # ---------------------------------------------------------------- new users, new ratings

    def fold_in(
        self,
        X: Pairs | None = None,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
        kind: ArrayLike | None = None,
        user_features: SideFeatures | None = None,
        known: str = "error",
    ) -> Self:
        """Return a recommender for users who were not in training.

        Parameters
        ----------
        X, y
            Their ratings as in `fit`. Without ratings they are interactions, and what they like is that of the average
            user; counts say something only where the recommender was fitted with counts.
        {time}
        sample_weight : array-like of shape (n,), or sparse matrix of the shape of X, optional
            As in `fit`.
        {kind}
        user_features : mapping, frame, or tuple, optional
            Features of the new users, if the rating model was fitted with such: see `RatingModel.fold_in`. Users known
            by them alone, for whom X is not needed, interact with what is popular.
        {known}

        Returns
        -------
        Recommender
            Knowing the users given here only.
        """
        check_is_fitted(self)
        X, new = collect(X), copy.copy(self)
        if user_features is not None and self.rating_model_ is None:
            raise unknown_features("user_features")
        if user_features is None and (self.rating_model_ is None or kind is not None or ratings_in(X, y) is None):
            given = interactions = new_interactions(self, X, y, time, sample_weight, known, kind)
            if self.rating_model_ is not None:
                none = np.zeros(interactions.n_ratings, dtype=np.bool_)
                unrated = FitInput(_on_scale(interactions.subset(none), self.scale_))
                new.rating_model_ = self.rating_model_.folded_in(unrated)
        else:
            model = copy.copy(cast(RatingModel, self.rating_model_)).set_params(**self._of_ratings)
            fresh = model.new_users(X, y, user_features, known, time, sample_weight)
            given = fresh.ratings
            interactions = as_interactions(given) if given.n_ratings else _on_scale(given, INTERACTED)
            new.rating_model_ = model.folded_in(fresh)
        new.users_, new.ratings_, new.updates_ = given.users, given, None
        new.implicit_models_ = [part.folded_in(interactions) for part in self.implicit_models_]
        return new

    def update(
        self,
        X: Pairs,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
        kind: ArrayLike | None = None,
        user_features: SideFeatures | None = None,
        item_features: SideFeatures | None = None,
        again: bool = False,
    ) -> Self:
        """Take new ratings, or interactions where it was fitted to these, with new users and items, into the model.

        Implicit-feedback models learn from all interactions, with the choices and weights of the fit
        (`ImplicitModel.update`), the rating model as `RatingModel.update` does.

        Parameters
        ----------
        X, y
            As in `fit`; a model that learned from ratings takes ratings alone.
        {time}
        sample_weight : array-like of shape (n,), or sparse matrix of the shape of X, optional
            As in `fit`.
        {kind}
        user_features, item_features : mapping, frame, or tuple, optional
            For the rating model, if it was fitted with such: see `RatingModel.update`. What features of items say of
            interactions stays as it was.
        {again}

        Returns
        -------
        self
        """
        check_is_fitted(self)
        X = collect(X)
        if self.rating_model_ is not None and (kind is not None or ratings_in(X, y) is None):
            raise InvalidInputError(
                "these are interactions without ratings, and this Recommender learned from ratings",
                argument="y",
                advice=("give the ratings, or fit one with ", Argument("ratings", None), " to all interactions"),
            )
        known, earlier = self._fitted_on()
        if self.rating_model_ is None:
            how: dict[str, Any] = {"kind": kind, "kind_weights": self.kind_weights_}
            new = as_interactions(X, y, times=time, sample_weight=sample_weight, **how)
        else:
            model = copy.copy(self.rating_model_).set_params(**self._of_ratings)
            both, new = model.new_ratings(X, y, time, sample_weight)
        if self._came_before(new, None if self.rating_model_ is None else both, again):
            return self
        with committed(self, keep=learned_names(self)) as grown:
            if self.rating_model_ is None:
                warn_of_lost_times(earlier, new, those="interactions")
                if not again:
                    warn_of_all_again(earlier, new)
                both = joined_interactions(earlier, new)
            else:
                rating_model = copy.copy(self.rating_model_)
                grown.rating_model_ = rating_model.apply_update(both, new, user_features, item_features)
            interactions = as_interactions(both)
            grown.implicit_models_ = []
            for part in self.implicit_models_:
                later = copy.copy(part)
                later.set_interactions(interactions, None)
                later.refit(FitInput(interactions), part)
                grown.implicit_models_.append(later)
            grown.cold_ = None if self.cold_ is None else self.cold_.reindex(self.items_, both.items)
            grown.users_, grown.items_, grown.ratings_ = both.users, both.items, both
            grown.updates_ = known.after(new, earlier)
        return self

    # ---------------------------------------------------------------- files

    def _check_learned(self) -> None:
        """Refuse what was read from a file if it does not fit together."""
        parts = self.implicit_models_
        if not isinstance(parts, list) or not parts or not all(isinstance(part, ImplicitModel) for part in parts):
            raise InvalidInputError("the implicit-feedback models of a Recommender must be such")
        if self.rating_model_ is not None and not isinstance(self.rating_model_, RatingModel):
            raise InvalidInputError("the rating model of a Recommender must be one")
        models: list[Any] = [*parts, *([] if self.rating_model_ is None else [self.rating_model_])]
        if any(model.users_ != self.users_ or model.items_ != self.items_ for model in models):
            raise InvalidInputError("the parts of a Recommender must have its users and items")
        scale = INTERACTED if self.rating_model_ is None else self.rating_model_.scale_
        if not np.array_equal(scale, self.scale_):
            raise InvalidInputError("the parts of a Recommender must have its scale")
        super()._check_learned()
        if len(self.knots_) != len(parts):
            raise InvalidInputError("the parts of a Recommender must have a weight each")
        if not isinstance(self.tried_, dict) or set(self.tried_) != {"model", "settings", "gain", "weight"}:
            raise InvalidInputError("what a Recommender tried must be a table")
        if not all(isinstance(column, list) for column in self.tried_.values()):
            raise InvalidInputError("what a Recommender tried must be lists")
        if self.cold_ is not None:
            self.cold_.check(len(self.items_))

    @classmethod
    def _from_state(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], models: Mapping[str, Any]) -> Self:
        new = super()._from_state(header, arrays, models)
        if new.ratings_ is not None:
            interactions = as_interactions(new.ratings_)
            for part in new.implicit_models_:
                part.ratings_ = interactions
            if new.rating_model_ is not None:
                new.rating_model_.ratings_ = new.ratings_
        return new


def _seeded(part: Any, seed: int) -> Any:
    """Return an unfitted part with a seed, where it takes one and has none."""
    return part.set_params(random_state=seed) if part.get_params().get("random_state", 0) is None else part


def _on_scale(nothing: Ratings, scale: NDArray[np.float64]) -> Ratings:
    """Return no ratings of the same users and items, on a scale."""
    return Ratings.from_csr(nothing.users, nothing.items, scale, nothing.indptr, nothing.indices, nothing.levels)


def _refuse_counts(X: Any, y: Any) -> None:
    """Refuse more distinct numbers than ratings may have, and say what learns from counts."""
    n = len(set(ratings_in(X, y) or ()))
    if n > MAX_LEVELS:
        raise InvalidInputError(
            f"y holds {n:,} distinct values, and ratings have at most {MAX_LEVELS} levels",
            argument="y",
            advice=(
                "where they are counts (plays, clicks, purchases) set ",
                Argument("ratings", None),
                (
                    ", or fit an implicit-feedback model such as EASE; "
                    "bin continuous ratings with cofactor.datasets.bin_ratings"
                ),
            ),
        )


def _refuse_unused(of_users: SideFeatures | None, rated: FitInput | None) -> None:
    """Refuse features of users which no rating model is to learn from."""
    if of_users is not None and (rated is None or rated.user_features is None):
        raise InvalidInputError(
            (Argument("user_features"), " are for a rating model that takes features, and there is none"),
            argument="user_features",
            advice="leave them out",
        )


def _ended_early(monitor: Monitor, name: str) -> InvalidInputError | None:
    """Return what to say where a callback ended the fit before its rating model had learned anything."""
    if not monitor.stopped:
        return None
    return InvalidInputError(
        f"the callback ended the fit before its rating model, {name}, had learned anything",
        argument="callback",
        advice=("let it go on for longer, or leave the rating model out with ", Argument("ratings", None)),
    )
