"""Users who drift in time: when they rated, samples of their drift, and predictions at times from these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.drift import K, drift_of_visits, drifting_probabilities, neighbours
from cofactor.kernels.gibbs_users import fold_ordinal_rows
from cofactor.model.state import check_array, member
from cofactor.problems.drift import Moments
from cofactor.ratings.data import Ratings
from cofactor.ratings.merging import RowMerge
from cofactor.ratings.probability import Criterion, Expectation
from cofactor.ratings.sampled.fold_in import ConditionalChains
from cofactor.ratings.sampled.padded import PaddedRatings
from cofactor.ratings.sampled.probit import ProbitDraws
from cofactor.ratings.sampled.samples import Samples
from cofactor.ratings.timed_users import TimedUsers

__all__ = [
    "DRIFT",
    "DRIFT_OF_STATE",
    "DriftDraws",
    "DriftIndex",
    "FoldInDrift",
    "RatingTimes",
    "moments_of",
    "times_of",
]


#: Arrays of a sample, and of the state of a chain besides, and the names of their axes: see `SampledModel`.
DRIFT = {
    "drift_scale": "process", "drift_time": "process", "drift": "moment process", "drift_multiplier": "user",
    "drift_spread": "1",
}  # fmt: skip
DRIFT_OF_STATE = {
    "drift_reach": "2 process", "drift_accepted": "2 process",
    "drift_multiplier_reach": "training", "drift_multiplier_accepted": "training",
}  # fmt: skip

#: Those of a sample which predictions need.
_PREDICTING = "drift", "drift_multiplier", "drift_scale", "drift_time"


class DriftIndex(NamedTuple):
    """Users at times: their indices, the moments around them, and the seconds between."""

    users: NDArray[np.int32]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]

    def under(self, sample: Samples) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Return mean m and :math:`1 / \sqrt{1 + v}` of the drift of each under a sample, v its variance."""
        means, roots = np.empty(len(self.users)), np.empty(len(self.users))
        drift_of_visits(*self, *(sample[name] for name in _PREDICTING), means, roots)
        return means, roots

    def under_each(self, samples: Samples) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the same under each of S samples, (S, n)."""
        drifts = [self.under({name: samples[name][s] for name in _PREDICTING}) for s in range(len(samples["drift"]))]
        return np.array([means for means, _ in drifts]), np.array([roots for _, roots in drifts])


@dataclass(frozen=True)
class RatingTimes:
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

    @property
    def lengths(self) -> dict[str, int]:
        """Lengths of the axes of `DRIFT`."""
        return {"moment": len(self.seconds), "process": K}

    @classmethod
    def of(cls, moments: Moments, now: float = -np.inf) -> Self:
        """Return the past of ratings, which ended `now` or later."""
        return cls(moments.indptr, moments.seconds, float(max(moments.seconds.max(initial=now), now)))

    def index(self, users: NDArray[np.int32] | TimedUsers) -> DriftIndex:
        """Return where users at times stand among their moments; plain indices are users at the end of training."""
        if not isinstance(users, TimedUsers):
            users = TimedUsers(users, np.full(len(users), self.now))
        n = len(users)
        around = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
        neighbours(users.users, np.floor(users.seconds), self.indptr, self.seconds, *around)
        return DriftIndex(users.users, *around)

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

    def joined(
        self, other: RatingTimes, merge: RowMerge, drift: NDArray[np.float32], of_other: NDArray[np.float32]
    ) -> tuple[RatingTimes, NDArray[np.float32]]:
        """Return the past of the users of both, and samples of their drift at these moments."""
        ours, theirs = ((one.indptr[:-1], one.seconds) for one in (self, other))
        indptr, seconds = merge.ragged(ours, theirs)
        _, drift = merge.ragged((ours[0], drift), (theirs[0], of_other), axis=1)
        return RatingTimes(np.append(indptr, indptr[-1]), seconds, max(self.now, other.now)), drift


def moments_of(ratings: Ratings) -> Moments:
    """Return the moments of ratings, with a cold user at the end."""
    return Moments.of(PaddedRatings.of(ratings).indptr, times_of(ratings))


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
    past : RatingTimes
    drifts : mapping of str to ndarray
        Samples of ``drift``, and of what it depends on.
    """

    past: RatingTimes
    drifts: Samples

    def probabilities(
        self, users: NDArray[Any] | TimedUsers, items: NDArray[Any], samples: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """See `Draws`."""
        out = np.empty((len(users), self.thresholds.shape[2] + 1))
        drifts = (self.drifts[name] for name in _PREDICTING)
        drifting_probabilities(*self.past.index(users), items, samples, self.U, self.V, self.thresholds, *drifts, out)
        return out

    def coarse_scores(
        self, users: NDArray[Any] | TimedUsers, items: NDArray[Any], criterion: Criterion, samples: NDArray[np.int64]
    ) -> NDArray[Any]:
        """See `Draws`."""
        if not isinstance(criterion, Expectation):
            return super().coarse_scores(users, items, criterion, samples)
        places = self.past.index(users)
        thresholds = self.thresholds[:, places.users].astype(np.float64)
        means, roots = np.empty(thresholds.shape[1]), np.ones(thresholds.shape[:2])
        drifts = [self.drifts[name] for name in _PREDICTING]
        for s in samples:
            drift_of_visits(*places, *(array[s] for array in drifts), means, roots[s])
            thresholds[s] -= means[:, None]
        numbers, U = np.arange(len(users), dtype=np.int32), self.U.take(places.users, axis=1)
        own = thresholds.astype(np.float32, order="C")
        return self._expectations(numbers, items, samples, criterion, U, own, roots)


class FoldInDrift:
    """What `kernels.gibbs_users.fold_ordinal_rows` needs for the drift of new users; for none, of a model without.

    Parameters
    ----------
    past : RatingTimes or None
        Of the model.
    ratings : Ratings
        Of the new users.
    chains : ConditionalChains
        Of theirs.

    Attributes
    ----------
    past : RatingTimes or None
        Of the new users.
    times : tuple of ndarray
        What is known of their moments.
    prior : tuple of ndarray
        Variances and times of the processes under each sample, and the variances of log-multipliers.
    first : tuple
        Where chains begin: the drift in each rating, and the multipliers, under each sample.
    shapes : dict of str to tuple
        What is drawn besides multipliers.
    """

    def __init__(self, past: RatingTimes | None, ratings: Ratings, chains: ConditionalChains) -> None:
        samples, S = chains.samples, len(chains.samples)
        self.past, self.shapes = past, dict[str, tuple[int, ...]]()
        self.prior: tuple[NDArray[np.float64], ...] = np.zeros((S, 0)), np.zeros((S, 0)), np.ones(S)
        drifts, multipliers = [np.zeros(ratings.n_ratings)] * S, np.ones((S, len(chains.before)))
        moments = Moments.of(np.zeros(1, dtype=np.int64), np.zeros(0))
        if past is not None:
            moments = moments_of(ratings)
            self.past = RatingTimes.of(moments, past.now)
            self.shapes = {"drift": (len(moments.seconds), K)}
            scales, times, spread = (
                samples[f"drift_{name}"].astype(np.float64) for name in ("scale", "time", "spread")
            )
            self.prior = scales**2, times, spread[:, 0]
            if chains.update:
                places = past.index(TimedUsers(chains.before[ratings.row_of_entry], times_of(ratings)))
                drifts = [places.under(sample)[0] for sample in samples]
                multipliers = chains.begin(samples.whole["drift_multiplier"], multipliers, axis=1)
        self.first = drifts, multipliers
        self.times = moments.indptr, moments.of_entry, moments.counts, moments.gaps

    def kernel(self, *arguments: Any) -> None:
        """Call the kernel, which writes multipliers, and what `shapes` says, after rows and thresholds."""
        unused = (np.zeros(0, dtype=np.float32), np.zeros((0, K), dtype=np.float32)) if self.past is None else ()
        fold_ordinal_rows(*arguments, *unused)
