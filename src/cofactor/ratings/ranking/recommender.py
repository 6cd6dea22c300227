"""Rank by how likely users are to take an item and to like it then."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_callback, check_choice, make_generator
from cofactor.coding import Coding
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.kernels.threads import library_limit
from cofactor.model.commit import committed, learned_names
from cofactor.model.docs import fill_docs
from cofactor.model.parameters import refuses_unknown_parameters
from cofactor.model.progress import Monitor
from cofactor.model.state import check_array
from cofactor.ratings.base import RatingModel
from cofactor.ratings.data import Ratings
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.folding import new_ratings, new_users
from cofactor.ratings.ids import IdMap
from cofactor.ratings.ranking.base import ExposureModel, new_takes
from cofactor.ratings.ranking.choosing import Wish, recommended
from cofactor.ratings.ranking.ease import EASE
from cofactor.ratings.ranking.held_out import HeldOut
from cofactor.ratings.ranking.logistic_mf import LogisticMF
from cofactor.ratings.ranking.predicting import PredictsByItsPart
from cofactor.ratings.ranking.results import Recommendations
from cofactor.ratings.ranking.takes import TAKEN, as_takes, holds_no_ratings, joined_takes, ratings_in
from cofactor.ratings.sampled.ordinal_probit import OrdinalProbit
from cofactor.ratings.saving import Saved, without_ratings_of
from cofactor.ratings.updating import Updates, refit_due, updates_of
from cofactor.solvers.result import Callback
from cofactor.typing import Ids, Pairs, RandomState, RatingValues

__all__ = ["Recommender"]


@fill_docs
@refuses_unknown_parameters
class Recommender(PredictsByItsPart, Saved, BaseEstimator):
    r"""Recommendations that people would take: P(take) × P(like | taken).

    Ranking by predicted rating loses to plain popularity, since what people take and what they like once taken are two
    things. Here exposure models say the first and a rating model the second:

    .. math::

        P(j \mid u) = \frac{e^{c \cdot \ell_{uj}}}{\sum_{k \notin S_u} e^{c \cdot \ell_{uk}}}, \qquad
        \text{like: } P(j \mid u)\, P(y_{uj} \ge r), \quad \text{gain: } P(j \mid u)\, E[2^{\mathrm{level}} - 1]

    is the probability that j is the next item which u takes, of those not in :math:`S_u`, what u took already. Scores
    are logarithms of these, the gain as a share of :math:`2^R`. The features :math:`\ell` are logarithms of the scores
    of exposure models (for `EASE` :math:`\log(\epsilon \log(1 + e^{s / \epsilon}))` with ε = .02). A fifth of the
    takes of each user is held out, the exposure models are fitted to the rest, and c maximises the likelihood of what
    was held out, a conditional logit: what belongs to a user alone cancels. By the same likelihood `EASE` chooses its
    penalty. The models of the end are fitted to all takes. `predict` and `predict_proba` are those of the rating model.

    Parameters
    ----------
    exposure : ExposureModel, or list of them, optional
        Who takes what; by default `EASE` and `LogisticMF`. On MovieLens 100K (80/20 of each user, three
        splits) nDCG@10 of what was liked was .405 with `EASE`, .400 with `LogisticMF` and .413 with both; .406 with
        `EASE` and `ImplicitALS`, .409 with all three. On four other splits it was .400 with `EASE` and .407 with both,
        more in each; on MovieLens 1M .393 and .394, on latest-small .331 with either.
    ratings : RatingModel or "auto" or None, default="auto"
        What is liked once taken, a model with `predict_proba`. "auto" is ``OrdinalProbit(n_factors=10)``, without time,
        where the ratings have two levels or more; None for takes alone, and counts.
    {random_state}
        It is the seed of what is held out, and of parts which have none.
    {callback}
    {verbose}

    Attributes
    ----------
    exposures_ : list of ExposureModel
        Fitted to all takes.
    rating_model_ : RatingModel or None
    weights_ : ndarray of shape (n_exposures,)
        c.
    users_, items_ : IdMap
    ratings_ : Ratings or None
        The ratings, or takes, of training.
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
    >>> sorted(found.items[0].tolist()), bool(np.isclose(found.p_take.sum(), 1))
    ([0, 3], True)
    >>> new = model.fold_in([("new", 1), ("new", 2)], [1, 4])
    >>> new.recommend(["new"], n=1, rank_by="take").items.shape
    (1, 1)
    """

    _learned: ClassVar[tuple[str, ...]] = ("exposures_", "rating_model_", "weights_")

    users_: IdMap
    items_: IdMap
    scale_: NDArray[np.float64]
    ratings_: Ratings | None
    exposures_: list[ExposureModel]
    rating_model_: RatingModel | None
    weights_: NDArray[np.float64]
    updates_: Updates | None = None
    coding_: Coding | None = None

    def __init__(
        self,
        exposure: ExposureModel | Sequence[ExposureModel] | None = None,
        ratings: RatingModel | str | None = "auto",
        *,
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.exposure = exposure
        self.ratings = ratings
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _check_params(self) -> None:
        for part in self._exposure():
            if not isinstance(part, ExposureModel):
                raise InvalidTypeError("expected exposure models such as EASE()", argument="exposure", found=part)
            part._check_params()
        if isinstance(self.ratings, str):
            check_choice("ratings", self.ratings, ("auto",))
        elif self.ratings is not None:
            if not isinstance(self.ratings, RatingModel) or not self.ratings._gives_probabilities():
                raise InvalidTypeError(
                    "expected a rating model with predict_proba, such as OrdinalProbit(), 'auto' or None",
                    argument="ratings",
                    found=self.ratings,
                )
            self.ratings._check_params()
        check_callback(self.callback)

    def _exposure(self) -> list[Any]:
        """Return unfitted exposure models."""
        if self.exposure is None:
            return [EASE(), LogisticMF()]
        given = self.exposure
        parts = list(given) if isinstance(given, Sequence) else [given]
        if not parts:
            raise InvalidInputError("expected at least one exposure model", argument="exposure", found=given)
        return parts

    def _rating_kind(self) -> Any:
        """Return the unfitted rating model."""
        return clone(self.ratings) if isinstance(self.ratings, RatingModel) else OrdinalProbit(n_factors=10)

    # ---------------------------------------------------------------- learning

    def fit(
        self,
        X: Pairs,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from ratings, or from takes alone.

        Parameters
        ----------
        X, y
            Ratings as in `RatingModel.fit`. Pairs without y, and whatever has one level only, are takes, of which no
            rating model can learn; with ``ratings=None`` y, and the entries of a sparse matrix, are counts.
        {time}
        sample_weight : array-like of shape (n,), optional
            How much each take counts; with a rating model only one that takes weights of ratings, such as `BPMF`.

        Returns
        -------
        self
        """
        self._check_params()
        rated = None
        if self.ratings is None or holds_no_ratings(X, y):
            if isinstance(self.ratings, RatingModel):
                raise InvalidInputError(
                    "these are takes of one level, from which no rating model can learn",
                    argument="ratings",
                    advice="leave it at 'auto', or set it to None",
                )
            takes = as_takes(X, y, times=time, sample_weight=sample_weight)
        else:
            rated = self._rating_kind()._read(X, y, time, sample_weight)
            takes = as_takes(rated)
        show = bool(self.verbose)
        with committed(self) as fitted, Monitor(self.callback, show, type(self).__name__) as monitor:
            fitted._fit(takes, rated, monitor)
        return self

    def _fit(self, takes: Ratings, rated: Ratings | None, monitor: Monitor) -> None:
        generator = make_generator(self.random_state)
        seed, *seeds = (int(s) for s in generator.integers(2**31, size=len(self._exposure()) + 2))
        parts = [_seeded(clone(part), s) for part, s in zip(self._exposure(), seeds[1:], strict=True)]
        held_out = HeldOut.of(takes, seed)
        tables: list[NDArray[np.float32]] = []
        for k, part in enumerate(parts):
            choices, table = part._tried(held_out)
            parts[k], tables = part.set_params(**choices), [*tables, table]
        self.weights_ = np.full(len(parts), 1 / len(parts))
        if len(held_out.users):
            self.weights_, _ = held_out.problem(tables).maximize(self.weights_)
        del tables
        self.exposures_ = [part._learn(FitInput(takes), monitor.stage(type(part).__name__)) for part in parts]
        self.rating_model_ = None
        if rated is not None:
            kind = self._rating_kind()
            self.rating_model_ = _seeded(kind, seeds[0])._learn(FitInput(rated), monitor.stage(type(kind).__name__))
        given = takes if rated is None else rated
        self.users_, self.items_, self.scale_ = given.users, given.items, given.scale
        self.ratings_, self.coding_, self.updates_ = given, given.coding, Updates(given.n_ratings)

    # ---------------------------------------------------------------- recommending

    def recommend(
        self,
        users: Ids | None = None,
        n: int = 10,
        *,
        rank_by: str = "auto",
        at_least: float | None = None,
        exclude_seen: bool = True,
        exclude: Iterable[Any] | Mapping[Any, Iterable[Any]] | None = None,
        candidates: Iterable[Any] | None = None,
        time: ArrayLike | None = None,
    ) -> Recommendations:
        """Recommend items to users.

        Parameters
        ----------
        users : array-like of shape (k,), optional
            User ids, in the order of the result; by default all users of the model.
        n : int, default=10
            Number of items for each user.
        rank_by : {"auto", "like", "take", "gain"}, default="auto"
            P(take) × P(like | taken), P(take) alone, or P(take) × the expected gain :math:`2^r - 1` of the level r.
            "auto" is "like" with a rating model and "take" without. How well an item is liked if it is taken, whatever
            the chance of that, is what ``rating_model_.recommend`` ranks by; it loses to popularity.
        at_least : float, optional
            The rating from which on an item is liked, for "like" and for `p_like`; by default the first of the upper
            quarter of the levels, such as 4 of 1 to 5.
        exclude_seen : bool, default=True
            Leave out what a user took, or rated, in training. P(take) is a share among the items left then.
        exclude : iterable of item ids, or mapping of user ids to such, optional
            Items to leave out: for all, or for each user. They keep their share of P(take).
        candidates : iterable of item ids, optional
            The items to choose from; by default all. P(take) is a share among all items nevertheless.
        time : number, date, or array-like of shape (k,), optional
            When users are to like the items, where the rating model knows time.

        Returns
        -------
        Recommendations
            Users who took nothing are recommended what is popular, and liked.
        """
        check_is_fitted(self)
        wish = Wish(n, rank_by, at_least, exclude_seen, exclude, candidates, time)
        with library_limit(1, "blas"):
            return recommended(self, users, wish)

    def _require_ratings(self, advice: tuple[Any, ...] = ()) -> Ratings:
        """Return the ratings, or refuse to go on without them."""
        if self.ratings_ is None:
            raise InvalidInputError(("this Recommender was saved without its ratings: ", *advice))
        return self.ratings_

    # ---------------------------------------------------------------- new users, new ratings

    def fold_in(self, X: Pairs, y: RatingValues = None, *, time: ArrayLike | None = None, known: str = "error") -> Self:
        """Return a recommender for users who were not in training.

        Parameters
        ----------
        X, y
            Their ratings as in `fit`. Without ratings they are takes, and what they like is that of the average user.
        {time}
        {known}

        Returns
        -------
        Recommender
            Knowing the users given here only.
        """
        check_is_fitted(self)
        new = copy.copy(self)
        if self.rating_model_ is None or ratings_in(X, y) is None:
            given = takes = new_takes(self, X, y, time, None, known)
            if self.rating_model_ is not None:
                none = np.zeros(takes.n_ratings, dtype=np.bool_)
                unrated = FitInput(_on_scale(takes.subset(none), self.scale_))
                new.rating_model_ = self.rating_model_._folded_in(unrated)
        else:
            fresh = new_users(self.rating_model_, X, y, None, known, time)
            given, takes = fresh.ratings, as_takes(fresh.ratings)
            new.rating_model_ = self.rating_model_._folded_in(fresh)
        new.users_, new.ratings_, new.updates_ = given.users, given, None
        new.exposures_ = [part._folded_in(takes) for part in self.exposures_]
        return new

    def update(self, X: Pairs, y: RatingValues = None, *, time: ArrayLike | None = None) -> Self:
        """Take new ratings, or takes, and with them new users and items, into the model.

        Exposure models learn from all takes, with the choices and weights of the fit (`ExposureModel.update`), the
        rating model as `RatingModel.update` does.

        Parameters
        ----------
        X, y
            As in `fit`.
        {time}

        Returns
        -------
        self
        """
        check_is_fitted(self)
        known, earlier = updates_of(self)
        with committed(self, keep=learned_names(self)) as grown:
            if self.rating_model_ is None:
                new = as_takes(X, y, times=time)
                both = joined_takes(earlier, new)
            else:
                both, new = new_ratings(self.rating_model_, X, y, time)
                grown.rating_model_ = copy.copy(self.rating_model_).update(X, y, time=time)
            takes = as_takes(both)
            grown.exposures_ = []
            for part in self.exposures_:
                later = copy.copy(part)
                later._take(takes, None)
                later._refit(FitInput(takes), part)
                grown.exposures_.append(later)
            grown.users_, grown.items_, grown.ratings_ = both.users, both.items, both
            grown.updates_ = known.after(new.n_ratings)
        return self

    refit_due_ = property(refit_due)

    # ---------------------------------------------------------------- saving

    def _saved(self) -> dict[str, Any]:
        """Return what a file holds; the ratings stand in it once, not in each part."""
        whole = super()._saved()
        whole["exposures_"] = [without_ratings_of(part) for part in self.exposures_]
        if self.rating_model_ is not None:
            whole["rating_model_"] = without_ratings_of(self.rating_model_)
        return whole

    def _check_learned(self) -> None:
        """Refuse what was read from a file if it does not fit together."""
        parts = self.exposures_
        if not isinstance(parts, list) or not parts or not all(isinstance(part, ExposureModel) for part in parts):
            raise InvalidInputError("the exposures of a Recommender must be models of exposure")
        if self.rating_model_ is not None and not isinstance(self.rating_model_, RatingModel):
            raise InvalidInputError("the rating model of a Recommender must be one")
        models: list[Any] = [*parts, *([] if self.rating_model_ is None else [self.rating_model_])]
        if any(model.users_ != self.users_ or model.items_ != self.items_ for model in models):
            raise InvalidInputError("the parts of a Recommender must have its users and items")
        scale = TAKEN if self.rating_model_ is None else self.rating_model_.scale_
        if not np.array_equal(scale, self.scale_):
            raise InvalidInputError("the parts of a Recommender must have its scale")
        check_array("weights_", self.weights_, (len(parts),), np.float64)

    @classmethod
    def _from_state(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], models: Mapping[str, Any]) -> Self:
        new = super()._from_state(header, arrays, models)
        if new.ratings_ is not None:
            takes = as_takes(new.ratings_)
            for part in new.exposures_:
                part.ratings_ = takes
            if new.rating_model_ is not None:
                new.rating_model_.ratings_ = new.ratings_
        return new


def _seeded(part: Any, seed: int) -> Any:
    """Return an unfitted part with a seed, where it takes one and has none."""
    return part.set_params(random_state=seed) if part.get_params().get("random_state", 0) is None else part


def _on_scale(nothing: Ratings, scale: NDArray[np.float64]) -> Ratings:
    """Return no ratings of the same users and items, on a scale."""
    return Ratings.from_csr(nothing.users, nothing.items, scale, nothing.indptr, nothing.indices, nothing.levels)
