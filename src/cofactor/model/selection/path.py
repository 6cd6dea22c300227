"""Choice of the penalty weight of a rating model by validation, as in V. Kumar's thesis (section 3.6.5)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InvalidInputError
from cofactor.model.progress import Monitor
from cofactor.solvers import Result

#: Exponents i of the candidates 10^(i/16).
EXPONENTS = range(4, 41)
_COARSE = 4  #: first every fourth candidate, then those around the best one: three above it, two below
_MOST = len(EXPONENTS[::_COARSE]) + _COARSE - 1 + _COARSE // 2  #: most candidates that are tried
_ENOUGH = 3000  #: held-out ratings after which a further repetition adds little
_REPEATS = 3  #: most repetitions
_ALIVE = 0.05  #: size of entries of U from which a solution counts as more than nearly zero
PATH_TOL = 1e-5  #: tolerance of fits that are compared


Arrays = Mapping[str, NDArray[Any]]


class RatingsByUser(Protocol):
    """Observed ratings by user, as `cofactor.ratings.Ratings` holds them."""

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""

    @property
    def user_counts(self) -> NDArray[Any]:
        """Number of ratings of each user."""

    @property
    def indptr(self) -> NDArray[Any]:
        """Where the ratings of each user begin."""

    @property
    def indices(self) -> NDArray[Any]:
        """The item of each rating."""

    @property
    def row_of_entry(self) -> NDArray[Any]:
        """The user of each rating."""

    @property
    def levels(self) -> NDArray[Any]:
        """The level of each rating."""

    def subset(self, keep: NDArray[np.bool_], /) -> Any:
        """Return some of the ratings."""


class PenaltyModel(Protocol):
    """A model which can be fitted at a given alpha from a given start."""

    def solve(self, ratings: Any, alpha: float, start: Arrays, *, tol: float | None = None) -> tuple[Result, Arrays]:
        """Fit."""

    def _held_out_errors(self, users: NDArray[Any], items: NDArray[Any], levels: NDArray[Any]) -> NDArray[Any]: ...


@dataclass(frozen=True)
class Validation:
    """Validation errors along alpha.

    Attributes
    ----------
    alphas : ndarray of shape (k,)
        The candidates tried, increasing.
    errors : ndarray of shape (k,)
        Their validation errors, mean over repetitions: shares of wrong levels, or what the model counts instead.
    deviations : ndarray of shape (k,)
        Standard deviations over repetitions.
    best : float
        The alpha chosen.

    Examples
    --------
    >>> from cofactor.datasets import make_ratings
    >>> from cofactor.ratings import ALS
    >>> data = make_ratings(40, 30, 2, density=0.4, random_state=0)
    >>> found = ALS(2, random_state=0).fit(data.X, data.y).validation_
    >>> bool(found.best in found.alphas)
    True
    """

    alphas: NDArray[np.float64]
    errors: NDArray[np.float64]
    deviations: NDArray[np.float64]
    best: float

    @classmethod
    def from_plain(cls, values: Any) -> Self:
        """Rebuild from a mapping of the attributes to lists and numbers, as a saved model holds it."""
        arrays = {key: np.asarray(values[key], dtype=np.float64) for key in ("alphas", "errors", "deviations")}
        return cls(**arrays, best=float(values["best"]))


def hold_out_one_per_user(ratings: RatingsByUser, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the positions of one random entry of every user who has at least two."""
    counts = ratings.user_counts
    users = np.flatnonzero(counts >= 2)
    return np.asarray(ratings.indptr[users] + generator.integers(counts[users]))


@dataclass(frozen=True)
class Tried:
    """What came out of a candidate on one split.

    Attributes
    ----------
    errors : ndarray
        Of each held-out rating.
    solution : object
        Where the fit of a neighbour may begin.
    size : float
        Mean square of the factors of users.
    """

    errors: NDArray[Any]
    solution: Any
    size: float


class ValidationSplit(Protocol):
    """One validation split."""

    @property
    def n_held_out(self) -> int:
        """Number of ratings that are held out."""

    def fit(self, alpha: float, start: Any) -> Tried:
        """Fit at `alpha` from `start`."""


class _Repetition:
    """One validation split of ratings in memory."""

    def __init__(self, model: PenaltyModel, ratings: RatingsByUser, held_out: NDArray[np.int64]) -> None:
        keep = np.ones(ratings.n_ratings, dtype=bool)
        keep[held_out] = False
        self.model, self.train = model, ratings.subset(keep)
        self.users, self.items = ratings.row_of_entry[held_out], ratings.indices[held_out]
        self.levels = ratings.levels[held_out]

    @property
    def n_held_out(self) -> int:
        """Number of ratings that are held out."""
        return len(self.levels)

    def fit(self, alpha: float, start: Arrays) -> Tried:
        """Fit at `alpha` from `start`."""
        _, arrays = self.model.solve(self.train, alpha, start, tol=PATH_TOL)
        errors = self.model._held_out_errors(self.users, self.items, self.levels)
        return Tried(errors, arrays, float(np.square(arrays["U"]).mean()))


def select_alpha(
    model: PenaltyModel,
    ratings: RatingsByUser,
    start: Arrays,
    generator: np.random.Generator,
    monitor: Monitor,
    unit: float = 1.0,
) -> Validation:
    """Choose alpha by the zero-one error on one held-out rating per user (thesis, section 3.6.5).

    A model may count another error, between 0 and 1 too.

    Candidates are 10^(i/16), i = 4..40. First every fourth candidate is tried, from the strongest penalty down until
    the error is two standard errors above the lowest, each from the same start: the solution at a strong penalty is
    zero, where no other fit can begin. Then the candidates around the best one are tried, half way down and up to the
    next stronger, each from the solution of its neighbour, and of these the strongest is chosen whose error is within
    one standard error of the lowest: neighbours differ by less than their noise, and too weak a penalty costs more
    than too strong a one.
    Standard errors are those of the difference on the same held-out ratings. The split is repeated until 3,000
    ratings have been held out, at most three times. A callback that returns True ends the search for candidates.

    Parameters
    ----------
    model : PenaltyModel
        The model; copies of it are fitted.
    ratings : RatingsByUser
        Training ratings.
    start : mapping
        Arrays to start from.
    generator : Generator
        Source of the splits.
    monitor : Monitor
        Told about each candidate.
    unit : float, default=1.0
        What candidates are multiples of, where the objective is on another scale.

    Returns
    -------
    Validation

    Raises
    ------
    ValueError
        If no user has two ratings.

    Examples
    --------
    Models call it where ``alpha="auto"``:

    >>> from cofactor.datasets import make_ratings
    >>> from cofactor.ratings import ALS
    >>> data = make_ratings(40, 30, 2, density=0.4, random_state=0)
    >>> model = ALS(2, random_state=0).fit(data.X, data.y)
    >>> bool(model.alpha_ == model.validation_.best)
    True
    """

    def split() -> _Repetition:
        return _Repetition(copy.copy(model), ratings, hold_out_one_per_user(ratings, generator))

    return search_alpha(repeated(split), start, monitor, unit)


_Split = TypeVar("_Split", bound=ValidationSplit)


def repeated(split: Callable[[], _Split]) -> list[_Split]:
    """Return as many splits as give enough held-out ratings, see `select_alpha`."""
    splits: list[_Split] = []
    while sum(one.n_held_out for one in splits) < _ENOUGH and len(splits) < _REPEATS:
        splits.append(split())
        if not splits[-1].n_held_out:
            few = " needs users with at least two ratings to hold one out, but there are none"
            raise InvalidInputError((Argument("alpha", "auto"), few), advice=("give a number as ", Argument("alpha")))
    return splits


def search_alpha(splits: Sequence[ValidationSplit], start: Any, monitor: Monitor, unit: float = 1.0) -> Validation:
    """Choose alpha as `select_alpha` does, whatever splits fit, and wherever.

    Parameters
    ----------
    splits : sequence of ValidationSplit
    start : object
        Where the first fit of each begins.
    monitor : Monitor
    unit : float, default=1.0
    """
    path = _Path(splits, monitor, unit)
    best, solutions = -1, [start] * len(splits)
    for exponent in reversed(EXPONENTS[::_COARSE]):
        tried = path.try_candidate(exponent, [start] * len(splits))
        if best < 0 or path.mean(exponent) < path.mean(best):
            best, solutions = exponent, [one.solution for one in tried]
        # Above the best penalty the error may rise and fall again, where the solution is nearly zero.
        elif path.rise(exponent, best) > 2 and tried[0].size > _ALIVE**2:
            break
        if monitor.stopped:
            break
    for steps in (range(1, _COARSE), range(-1, -_COARSE // 2 - 1, -1)):
        starts = solutions
        for step in steps:
            if best + step in EXPONENTS and not monitor.stopped:
                starts = [one.solution for one in path.try_candidate(best + step, starts)]
    fine = [i for i in range(best - _COARSE // 2, best + _COARSE + 1) if i in path.errors]
    lowest = min(fine, key=path.mean)
    return path.validation(max(i for i in fine if path.rise(i, lowest) <= 1))


class _Path:
    """Errors of the candidates tried so far, by their exponents."""

    def __init__(self, splits: Sequence[ValidationSplit], monitor: Monitor, unit: float) -> None:
        self.splits, self.monitor, self.unit = splits, monitor, unit
        self.errors: dict[int, list[NDArray[Any]]] = {}

    def mean(self, exponent: int) -> float:
        """Return the mean error of a candidate."""
        return float(np.mean(np.concatenate(self.errors[exponent])))

    def rise(self, exponent: int, best: int) -> float:
        """Return how many standard errors a candidate's error lies above that of the best one."""
        difference = np.concatenate(self.errors[exponent]).astype(float) - np.concatenate(self.errors[best])
        deviation = float(difference.std())
        return float(difference.mean()) / deviation * np.sqrt(len(difference)) if deviation > 0 else 0.0

    def try_candidate(self, exponent: int, starts: list[Any]) -> list[Tried]:
        """Note the errors of a candidate; return what came out on each split."""
        alpha = self.unit * candidate(exponent)
        tried = [split.fit(alpha, start) for split, start in zip(self.splits, starts, strict=True)]
        self.errors[exponent] = [one.errors for one in tried]
        self.monitor.note(f"validation, alpha {alpha:.3g}", len(self.errors), _MOST, self.mean(exponent))
        return tried

    def validation(self, chosen: int) -> Validation:
        """Return all errors along alpha, and the candidate chosen."""
        exponents = sorted(self.errors)
        return Validation(
            alphas=self.unit * np.array([candidate(i) for i in exponents]),
            errors=np.array([self.mean(i) for i in exponents]),
            deviations=np.array([np.std([np.mean(errors) for errors in self.errors[i]]) for i in exponents]),
            best=self.unit * candidate(chosen),
        )


def candidate(exponent: int) -> float:
    """Return 10^(i/16)."""
    return float(10 ** (exponent / 16))
