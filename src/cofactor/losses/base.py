"""The base class of losses on observed entries, and the arrays that they share with a problem."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from cofactor.errors import InvalidInputError


@dataclass(frozen=True)
class LossArrays:
    """Arrays between a problem and its loss.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,)
        Where each row's entries stand in the arrays over entries. The loss reads it.
    targets, scores : ndarray of shape (n_entries,)
        Target and score of every entry. The loss reads them.
    thresholds : ndarray of shape (n, n_thresholds)
        Thresholds of every row; without columns if the loss has no thresholds. The loss reads them.
    d_scores : ndarray of shape (n_entries,)
        Derivative by each score. The loss writes it.
    d_thresholds : ndarray of shape (n, n_thresholds)
        Derivative by each threshold. The loss writes it.
    losses : ndarray of shape (n,)
        Sum of the losses of each row, float64. The loss writes it.
    weights : ndarray of shape (n_entries,) or None
        What the loss of each entry is multiplied by. The loss reads it, through `weigh`.

    Examples
    --------
    >>> from cofactor.losses import LossArrays, SmoothHinge
    >>> one, none = np.zeros(1), np.zeros((1, 0))
    >>> work = LossArrays(np.array([0, 1]), np.ones(1), np.zeros(1), none, one, none, np.zeros(1))
    >>> SmoothHinge().evaluate(0, 1, work)
    >>> work.losses.tolist(), work.d_scores.tolist()
    ([0.5], [-1.0])
    """

    indptr: np.ndarray
    targets: np.ndarray
    scores: np.ndarray
    thresholds: np.ndarray
    d_scores: np.ndarray
    d_thresholds: np.ndarray
    losses: np.ndarray
    weights: np.ndarray | None = None

    def weigh(self, lo: int, hi: int, *arrays: np.ndarray) -> None:
        """Multiply by the weights, in place, what the entries of rows lo..hi-1 have; each has as many numbers."""
        if self.weights is None:
            return
        own = self.weights[self.indptr[lo] : self.indptr[hi]]
        for array in arrays:
            array *= np.repeat(own, len(array) // max(len(own), 1))


class EntryLoss(ABC):
    """A loss which is a sum over rows, each row depending on its own scores, targets and thresholds only.

    Attributes
    ----------
    smooth : bool
        Whether the derivative is continuous.
    convex : bool
        Whether the loss is convex in scores and thresholds together.
    curvature_bound : float or None
        A bound of the second derivative by one score, None where there is none.
    target : {"sign", "ordinal", "real", "nonneg"}
        What the targets must be: ±1, levels 1..R, any real numbers, numbers which are not negative.

    Examples
    --------
    >>> from cofactor.losses import EntryLoss, SmoothHinge
    >>> isinstance(SmoothHinge(), EntryLoss), SmoothHinge.target, SmoothHinge.smooth
    (True, 'sign', True)
    """

    smooth: ClassVar[bool]
    convex: ClassVar[bool]
    target: ClassVar[Literal["sign", "ordinal", "real", "nonneg"]]
    curvature_bound: float | None

    def check_targets(self, targets: np.ndarray, n_thresholds: int) -> None:
        """Refuse targets that the loss does not accept: kernels would read beyond their arrays.

        Parameters
        ----------
        targets : ndarray of shape (n_entries,)
            Targets.
        n_thresholds : int
            Number of thresholds of each row.
        """
        if not len(targets):
            return
        low, high = targets.min(), targets.max()
        if self.target == "sign" and not np.all(np.abs(targets) == 1):
            raise InvalidInputError(f"{type(self).__name__} takes targets -1 and +1, found values from {low} to {high}")
        if self.target == "ordinal" and not (
            targets.dtype.kind in "iu" and low >= 1 and high <= self.levels(n_thresholds)
        ):
            raise InvalidInputError(
                f"{type(self).__name__} takes whole levels from 1 to {self.levels(n_thresholds)}, "
                f"found {targets.dtype} from {low} to {high}"
            )
        if self.target == "nonneg" and not low >= 0:
            raise InvalidInputError(f"{type(self).__name__} takes targets of at least 0, found {low}")

    def levels(self, n_thresholds: int) -> int:
        """Return the number of levels that go with a number of thresholds."""
        return n_thresholds + 1

    @abstractmethod
    def evaluate(self, lo: int, hi: int, arrays: LossArrays) -> None:
        """Write losses and derivatives of the rows lo..hi-1 into `arrays`; other rows are neither read nor written.

        Parameters
        ----------
        lo, hi : int
            First row, and the row after the last one.
        arrays : LossArrays
            What to read and where to write.
        """
