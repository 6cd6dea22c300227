"""Popularity: what most users interact with, lately if wanted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import number
from cofactor.errors import Argument, InvalidInputError
from cofactor.model.estimator import learned, param
from cofactor.ratings.interaction_model import FitInput, Tags
from cofactor.ratings.ranking.base import ImplicitModel
from cofactor.ratings.ranking.counts import strengths

_DAY = 86_400.0


class Popularity(ImplicitModel):
    r"""What most users interacted with, the same for all: what every other model must beat.

    .. math:: s_j = \frac{1}{n} \sum_{u : (u, j)} w_{uj}\, 2^{-(t - t_{uj}) / h}

    with w = 1, or more for large `counts`, t the latest time of training and h the half-life.

    Parameters
    ----------
    half_life : float, optional
        In days: an interaction that old counts half as much as one of now; needs times. By default all count alike.
    {counts}

    Attributes
    ----------
    scores_ : ndarray of shape (n_items,)
        The s_j.
    users_, items_, ratings_, popularity_, updates_
        See `ImplicitModel`.

    Examples
    --------
    >>> X = [("ann", "Up"), ("bob", "Up"), ("bob", "Alien"), ("eve", "Heat")]
    >>> Popularity().fit(X).recommend(["eve"], n=2)[0].tolist()
    [['Up', 'Alien']]
    >>> days = np.array(["2000-01-01", "2000-01-01", "2000-01-03", "2000-01-01"], dtype="datetime64[D]")
    >>> Popularity(half_life=1).fit(X, time=days).scores_.round(3)
    array([0.333, 0.083, 0.167])
    """

    tags = Tags(similar=True, explain=True)

    half_life: float | None = param(number(low=0, inclusive=False, also=[None]), default=None, kw_only=False)

    scores_: NDArray[np.float64] = learned("items", dtype=np.float64)

    #: The fewer interactions there are of a user, the more it says beside what is learned from these.
    evidence: ClassVar[float] = -1.0

    def _fit(self, given: FitInput) -> None:
        interactions = given.ratings
        weights = strengths(interactions, self.counts)
        if self.half_life is not None:
            if interactions.times is None:
                raise InvalidInputError(
                    (Argument("half_life", self.half_life), " needs the time of each interaction"), argument="time"
                )
            weights = weights * np.exp2((interactions.times - interactions.times.max()) / (self.half_life * _DAY))
        self.scores_ = np.bincount(interactions.indices, weights, minlength=len(interactions.items)) / max(
            len(interactions.users), 1
        )

    def _score_range(self, users: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        return np.tile(self.scores_[first:last], (len(users), 1))

    def contributions(self, user: int, items: NDArray[Any]) -> NDArray[Any]:
        """See `InteractionModel`: zeros, no interaction of a user matters."""
        return np.zeros((len(items), int(self.require_ratings(()).user_counts[user])))

    def log_table(self, users: NDArray[Any]) -> NDArray[np.float32]:
        """See `ImplicitModel`."""
        return np.tile(self.log_interactions(self.scores_), (len(users), 1))

    def log_interactions(self, scores: NDArray[Any]) -> NDArray[np.float32]:
        """Return the logarithm, an item without interactions counting as half an interaction."""
        return np.log(np.maximum(scores, 0.5 / max(self.n_trained_, 1))).astype(np.float32)
