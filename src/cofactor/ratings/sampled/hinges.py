"""What max-margin matrix factorizations share that are drawn under hinge losses (Xu, Zhu & Zhang 2013)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_flag, number, one_of
from cofactor.kernels.hinges import fold_hinge_columns, hinge_probabilities, mean_margins
from cofactor.model.estimator import param
from cofactor.problems.hinge_posterior import ThresholdPrior
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.sampled.base import SampledModel
from cofactor.ratings.sampled.fold_in import ConditionalChains
from cofactor.ratings.sampled.padded import PaddedRatings
from cofactor.ratings.sampled.samples import Draws, Sample, SampledScorer, Samples
from cofactor.ratings.scoring import COUNT, PROBABILITY_DECISIONS

__all__ = ["HingeDraws", "HingeModel"]

#: Distance of the fixed prior's thresholds, and their deviation, in margins.
_SPACING, _DEVIATION = 3.0, 1.5

#: Largest margin and weight of the loss, far above any that makes sense.
_MOST = 1e6


class HingeModel(SampledModel):
    """A model of scores, and of thresholds of every user, drawn from a pseudo-posterior of hinge losses."""

    _sampled: ClassVar[dict[str, str]] = {
        "U": "user factor", "V": "item factor", "thresholds": "user boundary",
        "threshold_mean": "boundary", "threshold_precision": "boundary",
    }  # fmt: skip

    _state_only: ClassVar[dict[str, str]] = {"value": "training"}

    hinge_weight: float = param(number(low=0, inclusive=False, high=_MOST), default=0.6)
    biases: bool = param(check_flag, default=True)
    prior: str = param(one_of(["learned", "fixed"]), default="learned")
    width: float = param(number(low=0, inclusive=False, high=_MOST), default=1.0)
    decision: str = param(one_of(["count", *PROBABILITY_DECISIONS]), default="count")

    @property
    def _biased(self) -> bool:
        return self.biases

    @property
    def _hinges(self) -> tuple[float, float]:
        """Half the weight of the hinges, and their margin."""
        return self.hinge_weight / 2, float(self.width)

    @property
    def _threshold_prior(self) -> ThresholdPrior:
        return ThresholdPrior(_SPACING * self.width, _DEVIATION * self.width, self.prior == "learned")

    @property
    def scorer_(self) -> SampledScorer:
        """See `RatingModel`."""
        if self.decision != "count":
            return super().scorer_
        return CountScorer(self.scale_, COUNT, self.samples_, self._of_users, self._draws)

    def _draws(self, samples: Samples) -> HingeDraws:
        return HingeDraws(samples["U"], samples["V"], samples["thresholds"], self.biases, *self._hinges)

    def _draw_users(
        self,
        given: FitInput,
        chains: ConditionalChains,
        kernel: Callable[..., object],
        of_sample: Callable[[Sample], tuple[NDArray[Any], tuple[Any, Any], NDArray[Any]]],
    ) -> None:
        """Run a short chain for each new user under each of some samples.

        `of_sample` returns items, what the kernel needs of the prior of rows, and where the rows begin.
        """
        data, samples = PaddedRatings.of(given.ratings), chains.samples

        def arguments(sample: Sample) -> tuple[Any, ...]:
            items, prior, first = of_sample(sample)
            mean, precision = (sample[f"threshold_{name}"].astype(float) for name in ("mean", "precision"))
            thresholds = chains.begin(sample["thresholds"], mean[None])
            own = items, self.biases, *prior, mean, precision, *self._hinges, first, thresholds
            return data.indices, data.levels, *own, chains.n_cycles

        self._draw_rows(given, chains, kernel, map(arguments, samples))

    def _draw_items(
        self,
        given: FitInput,
        chains: ConditionalChains,
        of_sample: Callable[[Sample, NDArray[Any]], tuple[Any, ...]],
        kernel: Callable[..., object] = fold_hinge_columns,
    ) -> None:
        """Run a short chain for each new item under each of some samples, with rows and thresholds of the users.

        `of_sample` returns rows of the users, precision and means of the items' rows, where these begin, and what else
        the kernel needs.
        """
        data, samples = PaddedRatings.of(given.ratings), chains.samples
        levels = data.levels[data.to_csr]

        def arguments(sample: Sample, users: NDArray[Any], thresholds: NDArray[Any]) -> tuple[Any, ...]:
            users, precision, means, first, *more = of_sample(sample, users)
            own = users, thresholds, self.biases, precision, means, *self._hinges, first
            return data.col_indices, levels, *own, chains.n_cycles, *more

        self._draw_rows(given, chains, kernel, map(arguments, samples, samples["U"], samples["thresholds"]))


class CountScorer(SampledScorer):
    """Levels by the mean margins over samples, rather than by probabilities."""

    def margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return the mean over samples of x - θ_r."""
        return self.by_users(lambda draws, *pairs: draws.mean_margins(*pairs), users, items)


@dataclass(frozen=True)
class HingeDraws(Draws):
    r"""Samples of scores :math:`x_{ij}` and thresholds :math:`\theta_{ir}` that no likelihood ties to levels.

    Attributes
    ----------
    U, V, thresholds : ndarray, float32
        Samples along the first axis.
    biased : bool
        Whether the last columns of U and V are biases.
    c : float
        Half the weight of the hinges.
    width : float
        Their margin ℓ.
    """

    U: NDArray[np.float32]
    V: NDArray[np.float32]
    thresholds: NDArray[np.float32]
    biased: bool
    c: float
    width: float

    def mean_margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean over samples of x - θ_r, shape (n, R - 1)."""
        out = np.empty((len(users), self.thresholds.shape[2]))
        mean_margins(0, len(users), users, items, self.U, self.V, self.thresholds, self.biased, out)
        return out

    def probabilities(
        self, users: NDArray[Any], items: NDArray[Any], samples: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        r"""Return the probability of every level, shape (n, R), by samples with these numbers.

        It is the mean over them of :math:`\exp(-C \sum_r \max(0, \ell - T^r (\theta_{ir} - x_{ij})))`, made to sum
        to one over levels.
        """
        out = np.empty((len(users), self.thresholds.shape[2] + 1))
        arrays = self.U, self.V, self.thresholds
        hinge_probabilities(0, len(users), users, items, samples, *arrays, self.biased, self.c, self.width, out)
        return out
