"""What all models with one pair of factor matrices and a penalty on them share.

Factors may lie near a regression on features of users and items: then penalties of a fit, and means of new rows, follow
from these.
"""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cofactor.checks import make_generator, number, one_of, positive_weight, whole
from cofactor.errors import InvalidInputError
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import learned, param
from cofactor.model.state import check_array, last_length, to_plain
from cofactor.penalties import AroundL2, RegressedL2
from cofactor.ratings.base import RatingModel, factor_arrays, outcome
from cofactor.ratings.data import Ratings
from cofactor.ratings.interaction_model import FitInput, Tags
from cofactor.ratings.scoring import (
    COUNT,
    Boundaries,
    FactorScorer,
    FactorScores,
    UserBoundaries,
    first_items,
    first_users,
)
from cofactor.solvers import Result
from cofactor.solvers.result import Callback

if TYPE_CHECKING:
    from cofactor.model.selection.path import Validation
    from cofactor.problems.least_squares import PenaltyFactories
    from cofactor.ratings.factors.in_shards import Solved
    from cofactor.ratings.features import FeatureTable
    from cofactor.ratings.side_information import FeatureMap, RowPattern

Arrays = Mapping[str, NDArray[Any]]

#: Arguments with features of users and of items; features are named so among the arrays with which a fit starts too.
ARGUMENTS = ("user_features", "item_features")

#: Names of arrays, those of users and those of items.
Names = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class FactorRegression:
    """What features say of users, or of items: weights with which their factors are regressed on features.

    Attributes
    ----------
    link : FeatureMap
        What the features are made of.
    weights : dict from str to ndarray
        By the name of each array, (K, ...): those which make the penalty least.
    """

    link: FeatureMap
    weights: dict[str, NDArray[np.float64]]

    @classmethod
    def of(cls, link: FeatureMap, features: NDArray[np.float64] | None, arrays: Arrays, names: Iterable[str]) -> Self:
        """Return the weights of fitted arrays; none where no feature says anything."""
        if features is None:
            return cls(link, {})
        found = {name: _penalty(name, features, 1.0).weights(arrays[name]) for name in names}
        return cls(link, {name: weights[len(weights) - link.n_features :] for name, weights in found.items()})

    @property
    def is_described(self) -> bool:
        """Whether features of the caller are among those of the link."""
        return self.link.is_described

    def means(self, side: RowPattern, table: FeatureTable | None) -> dict[str, NDArray[np.float64]]:
        """Return what features say of other rows, by the name of each array; zeros for rows without."""
        from cofactor.kernels.regression import means_by

        features = self.link.features(side, table)
        if not isinstance(features, np.ndarray):
            return {}
        columns = np.ascontiguousarray(features[:-1].T)
        out = {}
        for name, weights in self.weights.items():
            rows = weights.reshape(len(weights), -1)
            out[name] = means_by(columns, rows, np.zeros(rows.shape[1])).reshape(-1, *weights.shape[1:])
        return out

    def to_state(self) -> dict[str, Any]:
        """Return the attributes as a dictionary of arrays and numbers."""
        return {"link": self.link.to_state(), "weights": self.weights}

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Rebuild it from what `to_state` returned; `check` has to follow."""
        from cofactor.ratings.side_information import FeatureMap

        return cls(FeatureMap.from_state(state["link"]), dict(state["weights"]))

    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Refuse what was read from a file, if it does not fit arrays with rows of these shapes."""
        self.link.check(0)
        wanted = set(shapes) if self.link.n_features else set()
        if set(self.weights) != wanted or self.link.tied:
            raise InvalidInputError(f"weights of features must be of {', '.join(shapes)}")
        for name, weights in self.weights.items():
            check_array(f"weights of features for {name}", weights, (self.link.n_features, *shapes[name]), np.float64)


def learned_links(given: FitInput) -> tuple[list[FeatureMap | None], dict[str, NDArray[np.float64]]]:
    """Return what the features of users and of items are made of, and these features, by their arguments."""
    links: list[FeatureMap | None] = []
    features = {}
    for argument, table in zip(ARGUMENTS, given.features, strict=True):
        link = None
        if table is not None:
            from cofactor.ratings.side_information import FeatureMap

            link, found = FeatureMap.learned(argument, pattern_of(given.ratings, argument), table, None, False)
            if isinstance(found, np.ndarray):
                features[argument] = found[:-1]
        links.append(link)
    return links, features


def linked_penalties(start: Arrays, names: Names) -> PenaltyFactories:
    """Return penalties that draw arrays to their regression on the features among the arrays of a start."""
    return {
        name: partial(_penalty, name, start[argument])
        for argument, own in zip(ARGUMENTS, names, strict=True)
        if argument in start
        for name in own
    }


def penalties_around(means: Arrays) -> PenaltyFactories:
    """Return penalties that draw arrays to given means."""
    return {name: partial(AroundL2, given=mean) for name, mean in means.items()}


def pattern_of(ratings: Ratings, argument: str) -> RowPattern:
    """Return users or items, of whom an argument has features."""
    from cofactor.ratings.side_information import RowPattern

    return RowPattern.users(ratings) if argument == "user_features" else RowPattern.items(ratings)


def _penalty(name: str, features: NDArray[np.float64], alpha: float) -> RegressedL2:
    """Return the penalty of an array; thresholds have a mean too, which costs nothing."""
    if name != "own":
        return RegressedL2(alpha, features)
    n, K = features.shape
    return RegressedL2(alpha, np.column_stack([np.ones(n), features]), np.append(0.0, np.ones(K)))


Links = tuple[FactorRegression | None, FactorRegression | None]


class _SavedValidation:
    """How a file holds a `Validation`, whose module is imported when one is read."""

    @staticmethod
    def to_state(found: Validation) -> Any:
        return to_plain(found)

    @staticmethod
    def from_state(state: Any) -> Validation:
        from cofactor.model.selection.path import Validation

        return Validation.from_plain(state)


class FactorModel(RatingModel):
    """A model x_ij = U_i·V_j + b_i + c_j with a penalty of weight `alpha`, given or chosen by validation.

    Subclasses minimise their objective (`solve`), and say where one level ends and the next begins (`_boundaries`); by
    default every user has thresholds of their own.

    Attributes
    ----------
    U_ : ndarray of shape (n_users, d)
    V_ : ndarray of shape (n_items, d)
        Factors.
    user_bias_ : ndarray of shape (n_users,)
    item_bias_ : ndarray of shape (n_items,)
        Biases; zero where the model has none.
    thresholds_ : ndarray of shape (n_users, R - 1)
        Boundaries between the levels for each user.
    common_thresholds_ : ndarray of shape (R - 1,)
        Boundaries for unknown users.
    boundaries_ : ndarray of shape (R - 1,)
        Where scores are estimated ratings, there are these instead: half way between neighbouring levels.
    alpha_ : float
        Weight of the penalty used: `alpha`, or the one chosen.
    validation_ : Validation or None
        Validation errors along alpha, where it was chosen.
    objective_ : float
        Objective at what is returned.
    history_, seconds_ : list of float
        Objective at the start and after every iteration, and when (the latter is not saved).
    certificate_ : float
        Norm of the gradient at the solution.
    n_iter_ : int
        Number of iterations.
    links_ : tuple of two FactorRegression or None
        What features say of users and of items, in models that take some.
    """

    tags = Tags(similar=True, vectors=True)

    n_factors: int = param(whole(), default=10, kw_only=False)
    alpha: Any = param(positive_weight("auto"), default="auto", kw_only=False)
    alpha_bias: float | None = param(positive_weight(None), default=3.0)
    max_iter: int = param(whole(), default=500)
    tol: float = param(number(low=0), default=1e-4)
    dtype: str = param(one_of(["float32", "float64"]), default="float32")

    U_, V_, user_bias_, item_bias_ = factor_arrays()
    alpha_: float = learned(check=number(low=0, inclusive=False))
    validation_: Validation | None = learned(kind=_SavedValidation, optional=True)
    links_: Links = learned(kind=FactorRegression, many=True, saved=False, default=(None, None))
    objective_, history_, certificate_, n_iter_ = outcome()

    # ---------------------------------------------------------------- what a subclass provides

    @abstractmethod
    def solve(
        self,
        ratings: Ratings,
        alpha: float,
        start: Mapping[str, NDArray[Any]],
        *,
        tol: float | None = None,
        callback: Callback | None = None,
    ) -> tuple[Result, dict[str, NDArray[Any]]]:
        """Minimise the objective at `alpha` from the arrays `start`; set factors, biases and boundaries."""

    @property
    def _factor_scores(self) -> FactorScores:
        """The scores of pairs."""
        return FactorScores(self.U_, self.V_, self.user_bias_, self.item_bias_)

    @property
    def scorer_(self) -> FactorScorer:
        """See `RatingModel`."""
        return FactorScorer(self.scale_, COUNT, self._factor_scores, self._boundaries)

    @property
    def _boundaries(self) -> Boundaries:
        """Where one level ends and the next begins."""
        return UserBoundaries(self.thresholds_, self.common_thresholds_)

    @property
    def _linked(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the arrays of users, and of items, of which features say something: those with a penalty."""
        return ((), ())

    def _alpha_unit(self, ratings: Ratings) -> float:
        """Return what candidates of alpha are multiples of."""
        return 1.0

    def _validation_errors(self, found: NDArray[Any], true: NDArray[Any]) -> NDArray[Any]:
        """Return the errors by which alpha is chosen, from levels found and true: here 1 for a wrong one."""
        return found != true

    def _errors_having(
        self, learned: Mapping[str, Any], users: NDArray[Any], items: NDArray[Any], levels: NDArray[Any]
    ) -> NDArray[Any]:
        """Return the errors on pairs of known levels of the model that has learned some attributes."""
        some = copy.copy(self)
        some.__dict__.update(learned)
        return some._held_out_errors(users, items, levels)

    def _held_out_errors(self, users: NDArray[Any], items: NDArray[Any], levels: NDArray[Any]) -> NDArray[Any]:
        """Return the errors by which alpha is chosen, of pairs by index, given their levels."""
        return self._validation_errors(self.scorer_.levels(users, items), levels)

    # ---------------------------------------------------------------- learning

    def _fit(self, given: FitInput) -> None:
        if given.in_shards:
            self._fit_by_parts(given)
            return
        ratings, monitor = given.ratings, given.monitor
        generator = make_generator(self.random_state)
        links, features = learned_links(given)
        start = self.first_arrays(ratings, generator) | features

        def choose() -> Validation:
            from cofactor.model.selection.path import select_alpha

            return select_alpha(self, ratings, start, generator, monitor, self._alpha_unit(ratings))

        self._set_alpha(choose)
        result, arrays = self.solve(ratings, self.alpha_, start, callback=monitor.stage(type(self).__name__))
        users, items = (
            None if link is None else FactorRegression.of(link, features.get(argument), arrays, names)
            for link, argument, names in zip(links, ARGUMENTS, self._linked, strict=True)
        )
        if users is not None or items is not None:
            self.links_ = (users, items)
        self._set_result(result, given.name)
        self._warn_if_all_alike(given)

    def _solver_by_parts(self) -> tuple[str, Callable[..., Solved]]:
        """Return how `solver` is called that learns in shards, and what solves the objective there, if the tags say so.

        That is called with a model without ids and ratings, a `Start`, ratings and an alpha.
        """
        raise NotImplementedError

    def _fit_by_parts(self, given: FitInput) -> None:
        """Fit to ratings in shards, where rows of users are; set all that a fit sets."""
        solver, solve = self._solver_by_parts()
        own = self.get_params(deep=False)["solver"]
        if own != solver:
            raise InvalidInputError(f"ratings in shards take {solver!r}", argument="solver", found=own)
        if any(table is not None for table in given.features):
            raise InvalidInputError("ratings in shards take no features of users or items", argument="X")
        from cofactor.ratings.factors.in_shards import Start, choose_alpha_in_shards

        ratings: Any = given.ratings
        monitor, generator = given.monitor, make_generator(self.random_state)
        start = Start.of(self.n_factors, ratings, generator)
        lean = clone(self).set_params(callback=None)
        lean.scale_ = ratings.scale
        ready: Any = partial(solve, lean, start)
        unit = self._alpha_unit(ratings)
        self._set_alpha(
            lambda: choose_alpha_in_shards(lean, ratings, ready, lean._errors_having, generator, monitor, unit)
        )
        found = ready(ratings, self.alpha_, callback=monitor.stage(type(self).__name__))
        self.stored_users_, users = found.users(ratings, type(self).__name__)
        self.__dict__.update(found.learned, **users)
        found.parts.done()
        self._set_result(found.result, given.name)

    def _set_alpha(self, choose: Callable[[], Validation]) -> None:
        """Set alpha, and how it was chosen if it is not given."""
        self.validation_ = choose() if self.alpha == "auto" else None
        self.alpha_ = float(self.alpha if self.validation_ is None else self.validation_.best)

    def _warn_if_all_alike(self, given: FitInput) -> None:
        """Warn about a penalty so strong that factors are zero and everybody is alike.

        With biases a model without factors is still one, and usual for rare levels.
        """
        alike = self.alpha_bias is None and not (self.U_.any() and self.V_.any())
        if alike and self.validation_ is None and np.count_nonzero(given.ratings.level_counts) > 1:
            warnings.warn(
                f"{given.called(self)}: all factors are zero: alpha={self.alpha_:g} is too large",
                UserWarning,
                stacklevel=callers_level(),
            )

    def first_arrays(self, ratings: Ratings, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return where a fit begins: small random factors, no biases, thresholds a margin of one apart.

        More factors than users or items add nothing (the product has no higher rank), so there are at most as many.
        """
        d = min(self.n_factors, *ratings.shape)
        users = first_users(ratings.user_counts, d, ratings.n_levels, generator)
        return users | first_items(ratings.item_counts, d, generator)

    def _means(self, given: FitInput, argument: str) -> Mapping[str, NDArray[Any]]:
        """Return what features say of new rows, by the name of each array; nothing without features in training."""
        number = ARGUMENTS.index(argument)
        link, table = self.links_[number], given.features[number]
        if link is not None:
            return link.means(pattern_of(given.ratings, argument), table)
        if table is not None:
            from cofactor.ratings.features import unknown_features

            raise unknown_features(argument)
        return {}

    def _shapes_of_rows(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of a row of each array."""
        d = last_length(self.V_)
        return {"U": (d,), "V": (d,), "b": (), "c": (), "own": (len(self.scale_) - 1,)}

    def _check_learned(self) -> None:
        super()._check_learned()
        if len(self.links_) != len(ARGUMENTS):
            raise InvalidInputError("links_ must be of users and of items")
        shapes = self._shapes_of_rows()
        for link, names in zip(self.links_, self._linked, strict=True):
            if link is not None:
                link.check({name: shapes[name] for name in names})
        self._factor_scores.check()
