"""Predictions at times, from samples of how users drift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.drift import K, drift_of_visits, drifting_probabilities, neighbours
from cofactor.kernels.gibbs_users import fold_ordinal_rows
from cofactor.kernels.ranking import rough_expectations
from cofactor.model.state import check_array, member
from cofactor.problems.drift import Moments
from cofactor.ratings.data import Ratings
from cofactor.ratings.lookup import Lookup
from cofactor.ratings.probability import Criterion, Expectation, of_all_pairs
from cofactor.ratings.sampled.cold import WithCold
from cofactor.ratings.sampled.draws import ProbitDraws
from cofactor.ratings.sampled.thinned import Thinned
from cofactor.ratings.visits import Visits
from cofactor.typing import Ids

if TYPE_CHECKING:
    from cofactor.ratings.sampled.ordinal_probit import OrdinalProbit

__all__ = [
    "DriftDraws",
    "FoldInDrift",
    "Past",
    "Places",
    "drift",
    "moments_of",
    "times_of",
]


class Places(NamedTuple):
    """Users at times: their indices, the moments around them, and the seconds between."""

    users: NDArray[np.int32]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]

    def under(self, sample: Mapping[str, NDArray[np.float32]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Return mean m and :math:`1 / \sqrt{1 + v}` of the drift of each under a sample, v its variance."""
        means, roots = np.empty(len(self.users)), np.empty(len(self.users))
        drifts = (sample[f"drift{name}"] for name in ("", "_multiplier", "_scale", "_time"))
        drift_of_visits(*self, *drifts, means, roots)
        return means, roots


@dataclass(frozen=True)
class Past:
    """When users rated, which a model keeps, and the end of its training.

    Attributes
    ----------
    indptr : ndarray of shape (n_users + 2,), int64
        The moments of user i are ``indptr[i]:indptr[i + 1]``; the last user is a cold one, who has none.
    seconds : ndarray of shape (n_moments,), float64
        See `Moments`.
    now : float
        The latest time in training: that of a prediction for which no other is given.
    """

    indptr: NDArray[np.int64]
    seconds: NDArray[np.float64]
    now: float

    @classmethod
    def of(cls, moments: Moments, now: float = -np.inf) -> Self:
        """Return the past of ratings, which ended `now` or later."""
        return cls(moments.indptr, moments.seconds, float(max(moments.seconds.max(initial=now), now)))

    def places(self, users: NDArray[np.int32] | Visits) -> Places:
        """Return where users at times stand among their moments; plain indices are users at the end of training."""
        if not isinstance(users, Visits):
            users = Visits(users, np.full(len(users), self.now))
        n = len(users)
        around = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
        neighbours(users.users, np.floor(users.seconds), self.indptr, self.seconds, *around)
        return Places(users.users, *around)

    def to_state(self) -> dict[str, Any]:
        """Return the attributes as a dictionary of arrays and numbers."""
        return {"indptr": self.indptr, "seconds": self.seconds, "now": self.now}

    @classmethod
    def from_state(cls, state: dict[str, Any], n_users: int) -> Self:
        """Rebuild it from what `to_state` returned; what does not fit together is refused."""
        indptr, seconds = state["indptr"], state["seconds"]
        if not isinstance(indptr, np.ndarray) or indptr.dtype != np.int64 or indptr.shape != (n_users + 2,):
            raise InvalidInputError(f"offsets of moments must be {n_users + 2} whole numbers")
        if indptr[0] != 0 or (np.diff(indptr) < 0).any():
            raise InvalidInputError("offsets of moments must begin with 0 and not fall")
        check_array("seconds of moments", seconds, (int(indptr[-1]),), np.float64)
        return cls(indptr, seconds, member(state, "now", float))

    def sample_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each quantity of drift in a sample, or of a user's part of it where users have one."""
        each: dict[str, tuple[int, ...]] = dict.fromkeys(("drift_scale", "drift_time"), (K,))
        return each | {"drift": (len(self.seconds), K), "drift_multiplier": (), "drift_spread": (1,)}

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what the state of a chain holds of drift besides a sample."""
        n = (len(self.indptr) - 1,)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("drift_reach", "drift_accepted"), (2, K))
        return shapes | dict.fromkeys(("drift_multiplier_reach", "drift_multiplier_accepted"), n)


def moments_of(ratings: Ratings) -> Moments:
    """Return the moments of ratings, with a cold user at the end."""
    return Moments.of(WithCold.of(ratings).indptr, times_of(ratings))


def times_of(ratings: Ratings) -> NDArray[np.float64]:
    """Return the time of each rating; without times, say what to give."""
    if ratings.times is None and ratings.n_ratings:
        raise InvalidInputError(
            "a model of drift in time needs the time of each rating, and the ratings have none",
            argument="time",
            advice=("give them with ", Argument("time")),
        )
    return np.zeros(0) if ratings.times is None else ratings.times


@dataclass(frozen=True)
class DriftDraws(ProbitDraws):
    r"""Samples of scores, thresholds, and of the drift of every user, which predict for users at times.

    Between moments of training the drift has the mean and variance of `kernels.drift.bridge`, and so the probability to
    lie below :math:`\theta_r` is :math:`\Phi((\theta_r - x - m) / \sqrt{1 + v})`. Plain indices of users stand for
    these users at the end of training.

    Attributes
    ----------
    past : Past
    drift : ndarray of shape (n_samples, n_moments, 3), float32
    multipliers : ndarray of shape (n_samples, n_users + 1), float32
        Of the variances of users.
    scales, times : ndarray of shape (n_samples, 3), float32
        Standard deviations and times of the processes.
    """

    past: Past
    drift: NDArray[np.float32]
    multipliers: NDArray[np.float32]
    scales: NDArray[np.float32]
    times: NDArray[np.float32]

    def probabilities(
        self, users: NDArray[Any] | Visits, items: NDArray[Any], samples: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """See `Draws`."""
        out = np.empty((len(users), self.thresholds.shape[2] + 1))
        drifts = self.drift, self.multipliers, self.scales, self.times
        drifting_probabilities(*self.past.places(users), items, samples, self.U, self.V, self.thresholds, *drifts, out)
        return out

    def roughly(
        self, users: NDArray[Any] | Visits, items: NDArray[Any], criterion: Criterion, samples: NDArray[np.int64]
    ) -> NDArray[Any]:
        """See `Draws`."""
        if not isinstance(criterion, Expectation):
            return of_all_pairs(lambda u, i: criterion(self.probabilities(u, i, samples)), users, items)
        places = self.past.places(users)
        thresholds = self.thresholds[:, places.users].astype(np.float64)
        means, roots = np.empty(thresholds.shape[1]), np.ones(thresholds.shape[:2])
        for s in samples:
            drifts = self.drift[s], self.multipliers[s], self.scales[s], self.times[s]
            drift_of_visits(*places, *drifts, means, roots[s])
            thresholds[s] -= means[:, None]
        arrays = self.U.take(places.users, axis=1), self.V, thresholds.astype(np.float32, order="C"), roots
        items = np.atleast_2d(items)
        out = np.empty((len(users), items.shape[1]), dtype=np.float32)
        rough_expectations(
            np.arange(len(users), dtype=np.int32), items, samples, *arrays, criterion.weights, self.biased, out
        )
        return out


def drift(model: OrdinalProbit, users: Ids, time: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return how far the scores of users lie from their mean over all times: the posterior of :math:`s_i(t)`.

    Only for models with ``time=True``.

    Parameters
    ----------
    users : array-like of shape (n,)
        Ids of users whom the model knows.
    time : array-like of shape (n,), number, or date
        When, for each of them, or one time for all.

    Returns
    -------
    mean, deviation : ndarray of shape (n,)
        Posterior mean and standard deviation, in units of the noise of a rating.

    Examples
    --------
    Users who were in another mood on each of two days.

    >>> from cofactor.ratings import OrdinalProbit
    >>> X = [(u, i) for u in range(8) for i in range(12)]
    >>> day = [(u + i + i * i * u // 3) % 2 for u, i in X]
    >>> y, times = [4 - 3 * d for d in day], [86400 * d for d in day]
    >>> model = OrdinalProbit(1, implicit=None, time=True, random_state=0).fit(X, y, time=times)
    >>> first, second = (model.drift(range(8), time)[0] for time in (0, 86400))
    >>> bool(first.mean() > 0 > second.mean())
    True
    """
    check_is_fitted(model)
    if model.past_ is None:
        raise InvalidInputError(
            "this model does not know time", argument="time", advice=("fit it with ", Argument("time", True))
        )
    rows = Lookup(model.users_, model.items_).known(users)
    places = model.past_.places(model._visits(rows, time))
    total, squares = np.zeros(len(rows)), np.zeros(len(rows))
    samples = model.samples_
    for s in range(len(samples["U"])):
        means, roots = places.under({name: array[s] for name, array in samples.items()})
        total += means
        squares += means**2 + 1 / roots**2 - 1
    mean = total / len(samples["U"])
    return mean, np.sqrt(np.maximum(squares / len(samples["U"]) - mean**2, 0))


class FoldInDrift:
    """What `kernels.gibbs_users.fold_ordinal_rows` needs for the drift of new users; without moments, for none.

    Parameters
    ----------
    moments : Moments or None
        With a cold user at the end.

    Attributes
    ----------
    moments : Moments
    times : tuple of ndarray
        What is known of the moments.
    shapes : dict of str to tuple
        What is drawn.
    """

    def __init__(self, moments: Moments | None) -> None:
        self._drifts = moments is not None
        self.moments = moments or Moments.of(np.zeros(1, dtype=np.int64), np.zeros(0))
        self.times = self.moments.indptr, self.moments.of_entry, self.moments.counts, self.moments.gaps
        n, n_moments = len(self.moments.indptr) - 1, len(self.moments.seconds)
        self.shapes: dict[str, tuple[int, ...]] = {}
        if self._drifts:
            self.shapes = {"drift_multiplier": (n,), "drift": (n_moments, K)}

    def prior(self, samples: Thinned) -> tuple[NDArray[np.float64], ...]:
        """Return variances and times of the processes under each sample, and the variances of log-multipliers."""
        S = len(samples)
        if not self._drifts:
            return np.zeros((S, 0)), np.zeros((S, 0)), np.ones(S)
        scales, times, spread = (samples[f"drift_{name}"].astype(np.float64) for name in ("scale", "time", "spread"))
        return scales**2, times, spread[:, 0]

    def kernel(self, *arguments: Any) -> None:
        """Call the kernel, which writes what `shapes` says after rows and thresholds."""
        unused = () if self._drifts else (np.zeros(0, dtype=np.float32), np.zeros((0, K), dtype=np.float32))
        fold_ordinal_rows(*arguments, *unused)
