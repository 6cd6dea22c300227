"""Losses for levels 1..R: margins to thresholds, or distances to proximal planes.

They are from Kumar's thesis, sections 2.2.2 and 4.2; numbers in brackets are its equations.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels import margins
from cofactor.losses.base import EntryLoss, LossArrays
from cofactor.losses.binary import MarginLoss, SmoothHinge

#: Number of scores of which a fixed plane is the mean: with so many, none of them moves it.
_FIXED = 1 << 62


class _OnMargins(EntryLoss):
    """A loss on levels built on a margin loss."""

    target: ClassVar[Literal["sign", "ordinal", "real", "nonneg"]] = "ordinal"

    def __init__(self, margin: MarginLoss | None = None) -> None:
        self.margin = SmoothHinge() if margin is None else margin
        self.smooth = self.margin.smooth  # type: ignore[misc]
        self.convex = self.margin.convex  # type: ignore[misc]
        self.curvature_bound = None


class _Thresholded(_OnMargins):
    """A loss on levels as a sum of margin losses to thresholds."""

    _expand: ClassVar[Callable[..., None]]
    _reduce: ClassVar[Callable[..., None]]

    def _n_margins(self, n_thresholds: int) -> int:
        return n_thresholds

    def value(self, level: int, score: float, thresholds: Any) -> float:
        """Return the loss of one entry.

        Parameters
        ----------
        level : int
            The level y, from 1.
        score : float
            The score x.
        thresholds : array-like of shape (R - 1,)
            The thresholds θ_1..θ_{R-1}.
        """
        theta = np.atleast_2d(np.asarray(thresholds, dtype=float))
        arrays = LossArrays(
            indptr=np.array([0, 1]),
            targets=np.array([level], np.uint8),
            scores=np.array([float(score)]),
            thresholds=theta,
            d_scores=np.empty(1),
            d_thresholds=np.empty_like(theta),
            losses=np.empty(1),
        )
        self.evaluate(0, 1, arrays)
        return float(arrays.losses[0])

    def evaluate(self, lo: int, hi: int, arrays: LossArrays) -> None:
        w = arrays
        n_entries = int(w.indptr[hi] - w.indptr[lo])
        z = np.empty(n_entries * self._n_margins(w.thresholds.shape[1]), dtype=w.scores.dtype)
        slope = np.empty_like(z)
        type(self)._expand(lo, hi, w.indptr, w.targets, w.scores, w.thresholds, z)
        type(self.margin).in_place(z, slope)
        w.weigh(lo, hi, z, slope)
        type(self)._reduce(lo, hi, w.indptr, w.targets, z, slope, w.d_scores, w.d_thresholds, w.losses)


class AllThreshold(_Thresholded):
    """All-threshold loss (2.8), (3.11): Σ_{r<y} h(x - θ_r) + Σ_{r>=y} h(θ_r - x).

    Every threshold on the wrong side of the score adds to the loss, so it grows with the distance between levels.

    Parameters
    ----------
    margin : MarginLoss, default=SmoothHinge()
        The margin loss h.

    Examples
    --------
    The worked example of thesis section 3.3 (level 4, score .37), which gives 0.75:

    >>> round(AllThreshold().value(4, 0.37, [-0.61, -0.18, 0.51, 1.21]), 2)
    0.75
    """

    _expand = margins.expand_all
    _reduce = margins.reduce_all


class ImmediateThreshold(_Thresholded):
    """Immediate-threshold loss (2.7): h(x - θ_{y-1}) + h(θ_y - x), with θ_0 = -∞ and θ_R = +∞.

    Parameters
    ----------
    margin : MarginLoss, default=SmoothHinge()
        The margin loss h.

    Examples
    --------
    The worked example of thesis section 3.3 (level 4, score .37), which gives 0.65:

    >>> round(ImmediateThreshold().value(4, 0.37, [-0.61, -0.18, 0.51, 1.21]), 2)
    0.65
    """

    _expand = margins.expand_immediate
    _reduce = margins.reduce_immediate

    def _n_margins(self, n_thresholds: int) -> int:
        return 2


class Proximal(_OnMargins):
    r"""Proximal loss (4.2): squared distance to the plane of the own level, margin losses to the planes of the others.

    .. math:: \sum_{ij} (x_{ij} - \theta^*_{i,y_{ij}})^2
        + \sum_{ij} \sum_{r \ne y_{ij}} h(T^r_{ij} (x_{ij} - \theta^*_{i,r}))

    with θ*_{i,r} the mean score of user i's entries of level r, T = +1 for r < y and -1 for r > y (4.3). The planes
    are functions of the scores, so the derivative includes theirs (corrections.md, C16). They are linear, so the loss
    is convex where h is. A level that a user never used has no plane, and no term in the loss (corrections.md, C17).

    Parameters
    ----------
    margin : MarginLoss, default=SmoothHinge()
        The margin loss h.
    n_levels : int
        The number R of levels.

    Examples
    --------
    Two entries of one level lie 1 apart, so each is 1/2 away from their mean:

    >>> none = np.empty((1, 0))
    >>> work = LossArrays(np.array([0, 2]), np.ones(2, np.uint8), np.arange(2.0), none, np.empty(2), none, np.empty(1))
    >>> Proximal(n_levels=2).evaluate(0, 1, work)
    >>> float(work.losses[0]), work.d_scores
    (0.5, array([-1.,  1.]))
    """

    def __init__(self, margin: MarginLoss | None = None, n_levels: int = 5) -> None:
        super().__init__(margin)
        self.n_levels = n_levels

    def levels(self, n_thresholds: int) -> int:  # noqa: D102
        return self.n_levels

    def evaluate(self, lo: int, hi: int, arrays: LossArrays) -> None:  # noqa: D102
        # The kernels get the rows and entries of this block only, so the arrays below are no larger than the block.
        first, last = int(arrays.indptr[lo]), int(arrays.indptr[hi])
        rows, local = hi - lo, arrays.indptr[lo : hi + 1] - first
        levels, x, slopes = arrays.targets[first:last], arrays.scores[first:last], arrays.d_scores[first:last]
        means = np.empty((rows, self.n_levels), dtype=x.dtype)
        counts = np.empty(means.shape)
        weights = np.ones(1, dtype=x.dtype) if arrays.weights is None else arrays.weights[first:last]
        d_means = np.empty_like(means)
        self._set_planes(lo, hi, local, levels, weights, x, means, counts)
        z = np.empty((last - first) * self.n_levels, dtype=x.dtype)
        slope = np.empty_like(z)
        margins.expand_proximal(0, rows, local, levels, x, means, counts, z)
        type(self.margin).in_place(z, slope)
        arrays.weigh(lo, hi, z, slope)
        losses = arrays.losses[lo:hi]
        margins.reduce_proximal(0, rows, local, levels, weights, x, means, counts, z, slope, slopes, d_means, losses)

    def _set_planes(
        self, lo: int, hi: int, indptr: Any, levels: Any, weights: Any, scores: Any, means: Any, counts: Any
    ) -> None:
        """Write the planes of the rows lo..hi, and of how many scores each is the mean."""
        margins.level_means(0, hi - lo, indptr, levels, weights, scores, means, counts)


class ToPlanes(Proximal):
    """Proximal loss to planes that are given, and do not move with the scores.

    Parameters
    ----------
    margin : MarginLoss
        The margin loss h.
    planes : ndarray of shape (n, R)
        θ* of each row; NaN where a level has none, and then no entry.

    Examples
    --------
    >>> none = np.empty((1, 0))
    >>> work = LossArrays(np.array([0, 2]), np.ones(2, np.uint8), np.arange(2.0), none, np.empty(2), none, np.empty(1))
    >>> ToPlanes(SmoothHinge(), np.array([[1.0, np.nan]])).evaluate(0, 1, work)
    >>> float(work.losses[0]), work.d_scores
    (1.0, array([-2.,  0.]))
    """

    def __init__(self, margin: MarginLoss, planes: NDArray[Any]) -> None:
        super().__init__(margin, planes.shape[1])
        self.planes = planes

    def _set_planes(
        self, lo: int, hi: int, indptr: Any, levels: Any, weights: Any, scores: Any, means: Any, counts: Any
    ) -> None:
        means[:] = self.planes[lo:hi]
        counts[:] = np.where(np.isfinite(means), _FIXED, 0)
