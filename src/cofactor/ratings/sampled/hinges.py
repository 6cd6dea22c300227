"""What the models drawn under hinge losses share: samples of scores, and of thresholds of every user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_choice, check_flag, check_number
from cofactor.kernels.hinges import hinge_probabilities, mean_margins
from cofactor.problems.hinge_posterior import ThresholdPrior
from cofactor.ratings.decisions import COUNT, PROBABILITY_DECISIONS, Decision
from cofactor.ratings.probability import Criterion, of_all_pairs
from cofactor.ratings.sampled.by_user import Samples

__all__ = ["HINGE_DECISIONS", "HingeDraws", "HingeModel", "check_hinge_params", "draws_of", "threshold_prior"]

#: Distance of the fixed prior's thresholds, and their deviation, in margins.
_SPACING, _DEVIATION = 3.0, 1.5

#: Largest margin and weight of the loss, far above any that makes sense.
_MOST = 1e6

#: Rules that turn margins into levels. "count" takes the mean margins over samples, the others the probabilities.
HINGE_DECISIONS: dict[str, Decision] = {"count": COUNT, **PROBABILITY_DECISIONS}


class HingeModel(Protocol):
    """What the functions of this module need of a model."""

    n_factors: int
    hinge_weight: float
    biases: bool
    prior: str
    width: float


def check_hinge_params(model: HingeModel) -> None:
    """Refuse parameters out of their range."""
    check_number("n_factors", model.n_factors, low=1, whole=True)
    check_flag("biases", model.biases)
    check_choice("prior", model.prior, ("learned", "fixed"))
    check_number("hinge_weight", model.hinge_weight, low=0, inclusive=False, high=_MOST)
    check_number("width", model.width, low=0, inclusive=False, high=_MOST)


def threshold_prior(model: HingeModel) -> ThresholdPrior:
    """Return the prior of thresholds."""
    return ThresholdPrior(_SPACING * model.width, _DEVIATION * model.width, model.prior == "learned")


def draws_of(model: HingeModel, samples: Samples) -> HingeDraws:
    """Return samples of a fitted model."""
    U, V, thresholds = (samples[name] for name in ("U", "V", "thresholds"))
    return HingeDraws(U, V, thresholds, model.biases, model.hinge_weight / 2, float(model.width))


@dataclass(frozen=True)
class HingeDraws:
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

    def roughly(
        self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion, samples: NDArray[np.int64]
    ) -> NDArray[Any]:
        """See `Draws`."""
        return of_all_pairs(lambda u, i: criterion(self.probabilities(u, i, samples)), users, items)
