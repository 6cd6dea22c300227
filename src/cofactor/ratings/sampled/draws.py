"""What predictions need of the samples of a model, and how roughly a ranking may look at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.gibbs import level_probabilities
from cofactor.kernels.ranking import rough_expectations
from cofactor.ratings.probability import Criterion, Expectation, of_all_pairs

__all__ = ["Draws", "ProbitDraws", "spaced"]


def spaced(n_samples: int, n: int) -> NDArray[np.int64]:
    """Return the numbers of n samples, or of all if there are not so many, evenly spaced.

    Examples
    --------
    >>> spaced(9, 3), spaced(2, 3)
    (array([0, 4, 8]), array([0, 1]))
    """
    return np.unique(np.linspace(0, n_samples - 1, min(n, n_samples)).round().astype(np.int64))


class Draws(Protocol):
    """The samples of a model."""

    def probabilities(
        self, users: NDArray[Any], items: NDArray[Any], samples: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the probability of every level for each pair, (n, R), by samples with these numbers."""

    def roughly(
        self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion, samples: NDArray[np.int64]
    ) -> NDArray[Any]:
        """Return how good some items are for some users, by samples with these numbers.

        Items are those of all users, shape (m,), or of each, shape (len(users), m); the result is (len(users), m).
        """


@dataclass(frozen=True)
class ProbitDraws:
    r"""Samples of scores :math:`x_{ij}` and thresholds with levels by normal noise of precision :math:`\alpha`.

    Attributes
    ----------
    U, V, thresholds : ndarray, float32
        Samples along the first axis; thresholds of each user, or one row for all.
    roots : ndarray of shape (n_samples,)
        :math:`\sqrt\alpha`.
    biased : bool
        Whether the last columns of U and V are biases.
    """

    U: NDArray[np.float32]
    V: NDArray[np.float32]
    thresholds: NDArray[np.float32]
    roots: NDArray[np.float64]
    biased: bool

    def probabilities(
        self, users: NDArray[Any], items: NDArray[Any], samples: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """See `Draws`."""
        out = np.empty((len(users), self.thresholds.shape[2] + 1))
        arrays = self.U, self.V, self.thresholds, self.roots
        level_probabilities(0, len(users), users, items, samples, *arrays, self.biased, out)
        return out

    def roughly(
        self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion, samples: NDArray[np.int64]
    ) -> NDArray[Any]:
        """See `Draws`."""
        if not isinstance(criterion, Expectation):
            return of_all_pairs(lambda u, i: criterion(self.probabilities(u, i, samples)), users, items)
        items = np.atleast_2d(items)
        out = np.empty((len(users), items.shape[1]), dtype=np.float32)
        arrays = self.U, self.V, self.thresholds, self.roots[:, None]
        rough_expectations(users, items, samples, *arrays, criterion.weights, self.biased, out)
        return out
