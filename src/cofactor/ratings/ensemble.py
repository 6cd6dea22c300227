"""Ensembles of rating models (DeCoste 2006)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cofactor.checks import check_jobs, make_generator, number, one_of, whole
from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.interrupts import propagate_interrupt
from cofactor.model.estimator import learned, param
from cofactor.model.parallel import run_parallel
from cofactor.model.progress import Monitor
from cofactor.ratings.base import RatingModel
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.mmmf import MMMF
from cofactor.ratings.interaction_model import FitInput, Tag, Tags
from cofactor.ratings.scoring import Criterion, ProbabilityScorer

_FAR = 10.0  #: largest margin of a member in an average; infinite ones count as this


def _as_members(tag: str) -> Tag:
    """Return what an ensemble is asked for a tag that its members have or have not."""

    def ask(model: Ensemble) -> bool:
        return model._member().can(tag)

    return ask


class Ensemble(RatingModel):
    r"""Average of several models of one kind: the level is decoded from the mean of scores minus thresholds.

    .. math:: \hat y_{ij} = 1 + \#\{r : \tfrac{1}{K} \sum_{k=1}^{K} (x^{(k)}_{ij} - \theta^{(k)}_{i,r}) > 0\}

    The members differ by their random starts, and by the ratings they see if ``method="bagging"``. Random starts need
    few factors: with many, every start reaches the same optimum, and the members agree.

    Members with probabilities of levels, such as `OrdinalProbit`, give the ensemble a `predict_proba`: the mean of
    theirs, which pools samples if they are drawn from a posterior. As a rule margins are then probabilities less one
    half, and `predict` decides by the mean of the probabilities.

    Parameters
    ----------
    estimator : RatingModel, optional
        The kind of the members; by default ``MMMF(n_factors=8)``, the best of 4 to 100 factors in an ensemble of
        eight on MovieLens 100K. Its `random_state` is replaced. If its alpha is "auto", it is chosen once, on all
        ratings, and all members use it.
    n_members : int, default=8
        Number K of members.
    method : {"starts", "bagging"}, default="starts"
        All ratings from different starts, or a random part of the ratings for each member.
    max_samples : float, default=0.9
        Part of the ratings each member sees with "bagging", drawn without replacement.
    n_jobs : int, optional
        Members to fit side by side through joblib; by default as many as there are threads.
    {levels}
    {duplicates}
    {unknown}
    {random_state}
        It is the seed of members' starts and of the parts they see.
    {callback}
        Members call it possibly from several threads; those which joblib sends to other processes do not.
    {verbose}

    Attributes
    ----------
    members_ : list of RatingModel
        The fitted members.
    n_iter_ : int
        Number of iterations of all members together.

    References
    ----------
    D. DeCoste, "Collaborative prediction using ensembles of maximum margin matrix factorizations", ICML 2006, pages
    249-256.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = Ensemble(MMMF(n_factors=2, alpha=0.1), n_members=3, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    """

    tags = Tags(**{tag: _as_members(tag) for tag in ("weights", "probabilities", "fold_in_items")})

    estimator: RatingModel | None = param(default=None, kw_only=False)
    n_members: int = param(whole(), default=8, kw_only=False)
    method: str = param(one_of(["starts", "bagging"]), default="starts")
    max_samples: float = param(number(low=0, inclusive=False, high=1), default=0.9)
    n_jobs: int | None = param(check_jobs, default=None)

    members_: list[RatingModel] = learned(kind=RatingModel, many=True)

    def _check_together(self) -> None:
        if self.estimator is None:
            return
        if not isinstance(self.estimator, RatingModel):
            raise InvalidTypeError(
                "expected a rating model such as MMMF(n_factors=8)", argument="estimator", found=self.estimator
            )
        own = self.estimator.levels
        if own is not None and (self.levels is None or not np.array_equal(np.asarray(own), np.asarray(self.levels))):
            raise InvalidInputError(
                (Argument("levels", self.levels), f", but the estimator has levels={own!r}: pass them to Ensemble"),
                argument="levels",
            )
        self.estimator.check_params()  # before memory is reckoned from them

    def _member(self) -> RatingModel:
        """Return the first member, unfitted before a fit."""
        of_fit: list[RatingModel] = getattr(self, "members_", [])
        return of_fit[0] if of_fit else self._kind()

    def _kind(self) -> RatingModel:
        """Return an unfitted member."""
        return MMMF(n_factors=8) if self.estimator is None else clone(self.estimator)

    def _fit_bytes(self, ratings: Ratings) -> int:
        return self.n_members * max(self._kind()._fit_bytes(ratings), 1)

    def _fit(self, given: FitInput) -> None:
        ratings, monitor = given.ratings, given.monitor
        generator = make_generator(self.random_state)
        seeds = generator.integers(2**31, size=self.n_members)
        kind = self._with_alpha(self._kind(), ratings, int(seeds[0]), monitor)
        tasks = (
            (
                clone(kind).set_params(random_state=int(seed), callback=None),
                partial(_sample, ratings, chosen),
                monitor.stage(f"member {k}"),
                "",
            )
            for k, (seed, chosen) in enumerate(zip(seeds, self._samples(ratings, generator), strict=True), 1)
        )
        with propagate_interrupt():
            self.members_ = run_parallel(RatingModel.learn_in_share, tasks, self.n_members, self.n_jobs)

    @staticmethod
    def _with_alpha(kind: RatingModel, ratings: Ratings, seed: int, monitor: Monitor) -> RatingModel:
        """Choose alpha once for all members where it is "auto"."""
        if not isinstance(getattr(kind, "alpha", None), str):
            return kind
        first = clone(kind).set_params(random_state=seed, callback=None)
        first.learn_as_part(ratings, monitor.stage("choice of alpha"))
        chosen = getattr(first, "alphas_", None) or first.alpha_
        return kind.set_params(alpha=chosen)

    def _samples(self, ratings: Ratings, generator: np.random.Generator) -> list[NDArray[np.bool_] | None]:
        if self.method == "starts":
            return [None] * self.n_members
        n_drawn = max(1, round(self.max_samples * ratings.n_ratings))
        parts: list[NDArray[np.bool_] | None] = []
        for _ in range(self.n_members):
            mask = np.zeros(ratings.n_ratings, dtype=bool)
            mask[generator.permutation(ratings.n_ratings)[:n_drawn]] = True
            parts.append(mask)
        return parts

    @property
    def n_iter_(self) -> int:
        """Number of iterations of all members together."""
        members: list[Any] = list(self.members_)
        return sum(member.n_iter_ for member in members)

    def _fold_in(self, given: FitInput) -> None:
        self.members_ = [member.folded_in(given).without_ratings() for member in self.members_]

    def _fold_in_items(self, given: FitInput) -> None:
        self.members_ = [member.items_folded_in(given).without_ratings() for member in self.members_]

    @property
    def scorer_(self) -> MeanScorer:
        """See `RatingModel`."""
        parts = [member.scorer_ for member in self.members_]
        return MeanScorer(self.scale_, parts[0].decision, parts, now=parts[0].now)

    def _check_learned(self) -> None:
        super()._check_learned()
        if any(not np.array_equal(member.scale_, self.scale_) for member in self.members_):
            raise InvalidInputError("the parts of an Ensemble must have its scale")


@dataclass(frozen=True, eq=False)
class MeanScorer(ProbabilityScorer):
    """Means of several scorers; of probabilities, where they have these.

    Attributes
    ----------
    parts : list of Scorer
    """

    parts: list[Any]

    @property
    def rough(self) -> bool:
        """See `ProbabilityScorer`."""
        return any(getattr(part, "rough", False) for part in self.parts)

    def probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `ProbabilityScorer`."""
        return self._mean(part.probabilities(users, items) for part in self.parts)

    def all_probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `ProbabilityScorer`."""
        return self._mean(part.all_probabilities(users, items) for part in self.parts)

    def margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        return self._mean(np.clip(part.margins(users, items), -_FAR, _FAR) for part in self.parts)

    def scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        return self._mean(part.scores(users, items) for part in self.parts)

    def block(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        return self._mean(part.block(users, items) for part in self.parts)

    def rescore(self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion | None) -> NDArray[Any]:
        """See `ProbabilityScorer`."""
        if criterion is not None or not all(isinstance(part, ProbabilityScorer) for part in self.parts):
            return super().rescore(users, items, criterion)
        return self._mean(part.rescore(users, items, None) for part in self.parts)

    def _mean(self, tables: Iterable[Any]) -> NDArray[Any]:
        return np.asarray(sum(tables) / len(self.parts))


def _sample(ratings: Ratings, chosen: NDArray[np.bool_] | None) -> Ratings:
    return ratings if chosen is None else ratings.subset(chosen)
