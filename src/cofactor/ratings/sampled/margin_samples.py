"""What models share whose samples are scores and boundaries of every user, drawn under hinge losses."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.hinges import hinge_probabilities, mean_margins
from cofactor.model.checks import check_choice, check_flag, check_number
from cofactor.problems.hinge_posterior import ThresholdPrior
from cofactor.ratings.sampled.base import SampledModel

#: Distance of the fixed prior's thresholds, and their deviation, in margins.
_SPACING, _DEVIATION = 3.0, 1.5

#: Largest margin and weight of the loss, far above any that makes sense.
_MOST = 1e6


class MarginSamples(SampledModel):
    r"""A `SampledModel` of scores :math:`x_{ij}` and boundaries :math:`\theta_{ir}` that no likelihood ties to levels.

    With ``decision="count"``, `predict` counts the boundaries below the score in the mean over samples,
    :math:`1 + \#\{r : E[x_{ij} - \theta_{ir}] > 0\}`, and `margins` returns these means. Probabilities are means over
    samples of :math:`\exp(-C \sum_r \max(0, \ell - T^r (\theta_{ir} - x_{ij})))`, made to sum to one over levels.
    """

    DECISIONS: ClassVar[tuple[str, ...]] = ("count", *SampledModel.DECISIONS)

    _sampled: ClassVar[dict[str, str]] = {"U": "user", "V": "item", "thresholds": "user"}

    n_factors: int
    hinge_weight: float
    biases: bool
    prior: str
    width: float

    def _check_params(self) -> None:
        super()._check_params()
        check_number("n_factors", self.n_factors, low=1, whole=True)
        check_flag("biases", self.biases)
        check_choice("prior", self.prior, ("learned", "fixed"))
        for name in ("hinge_weight", "width"):
            check_number(name, getattr(self, name), low=0, inclusive=False, high=_MOST)

    def _threshold_prior(self) -> ThresholdPrior:
        return ThresholdPrior(_SPACING * self.width, _DEVIATION * self.width, self.prior == "learned")

    def _margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return the mean over samples of x - θ_r; for other decisions, what their probabilities say."""
        if self.decision != "count":
            return super()._margins(users, items)
        out = np.empty((len(users), len(self.scale_) - 1))
        U, V, thresholds = (self.samples_[name] for name in ("U", "V", "thresholds"))
        mean_margins(0, len(users), users, items, U, V, thresholds, self.biases, out)
        return out

    def _decode(self, margins: NDArray[Any]) -> NDArray[np.int64]:
        if self.decision != "count":
            return super()._decode(margins)
        return 1 + np.count_nonzero(margins > 0, axis=1)

    def _probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        out = np.empty((len(users), len(self.scale_)))
        U, V, thresholds = (self.samples_[name] for name in ("U", "V", "thresholds"))
        hinge_probabilities(
            0, len(users), users, items, U, V, thresholds, self.biases, self.hinge_weight / 2, self.width, out
        )
        return out
