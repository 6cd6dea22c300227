"""Margin losses h(z) of z = y·x for targets y = ±1 (Kumar's thesis, section 2.2.1; numbers in brackets are its)."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from cofactor.kernels import margins
from cofactor.kernels.compile import kernel
from cofactor.losses.base import EntryLoss, LossArrays


class MarginLoss(EntryLoss):
    """A loss of the margin z = y·x, where x is the score and y = ±1 the target.

    Subclasses name their kernel, which turns margins into losses and slopes in place. Losses on levels
    (`AllThreshold`, `ImmediateThreshold`, `Proximal`) are built on any of them.

    Examples
    --------
    >>> from cofactor.losses import Hinge
    >>> Hinge().value([-1.0, 2.0]).tolist(), Hinge().derivative([-1.0, 2.0]).tolist()
    ([2.0, 0.0], [-1.0, 0.0])
    """

    target: ClassVar[Literal["sign", "ordinal", "real", "nonneg"]] = "sign"
    convex = True
    in_place: ClassVar[Callable[[np.ndarray, np.ndarray], None]]

    def _apply(self, z: Any) -> tuple[np.ndarray, np.ndarray]:
        z = np.asarray(z)
        flat = z.astype(z.dtype if z.dtype.kind == "f" else float).ravel()
        slope = np.empty_like(flat)
        type(self).in_place(flat, slope)
        return flat.reshape(z.shape), slope.reshape(z.shape)

    def value(self, z: Any) -> np.ndarray:
        """Return h(z) for margins of any shape."""
        return self._apply(z)[0]

    def derivative(self, z: Any) -> np.ndarray:
        """Return h'(z) for margins of any shape."""
        return self._apply(z)[1]

    def curvature(self, z: Any) -> np.ndarray:
        """Return h''(z) where it exists, 0 at isolated points where it does not."""
        return np.zeros_like(np.asarray(z, dtype=float))

    def evaluate(self, lo: int, hi: int, arrays: LossArrays) -> None:  # noqa: D102
        entries = slice(arrays.indptr[lo], arrays.indptr[hi])
        z = arrays.targets[entries] * arrays.scores[entries]
        slope = arrays.d_scores[entries]
        type(self).in_place(z, slope)
        slope *= arrays.targets[entries]
        arrays.weigh(lo, hi, z, slope)
        row_losses(lo, hi, arrays.indptr, z, arrays.losses)


@kernel
def row_losses(lo, hi, indptr, z, losses):  # type: ignore[no-untyped-def]
    """Sum the losses of each row's entries; `z` holds the losses of the entries from row lo on."""
    first = indptr[lo]
    for i in range(lo, hi):
        total = 0.0
        for k in range(indptr[i] - first, indptr[i + 1] - first):
            total += z[k]
        losses[i] = total


class ZeroOne(MarginLoss):
    """Zero-one loss: h(z) = 0 for z >= 0, 1 otherwise (2.2). Its slope is 0, so it cannot be minimised by gradients.

    Examples
    --------
    >>> ZeroOne().value([-0.5, 0.0, 2.0])
    array([1., 0., 0.])
    """

    smooth = False
    convex = False
    curvature_bound = None
    in_place = margins.zero_one


class Hinge(MarginLoss):
    """Hinge loss: h(z) = max(0, 1 - z) (2.3), (3.5).

    Examples
    --------
    >>> Hinge().value([-0.5, 0.0, 2.0])
    array([1.5, 1. , 0. ])
    """

    smooth = False
    curvature_bound = None
    in_place = margins.hinge


class SmoothHinge(MarginLoss):
    """Smooth hinge loss (2.4), (3.6), with derivative (3.10).

    h(z) = 0 for z >= 1; (1 - z)²/2 for 0 < z < 1; 1/2 - z for z <= 0.

    Examples
    --------
    >>> SmoothHinge().value([-0.5, 0.5, 2.0])
    array([1.   , 0.125, 0.   ])
    """

    smooth = True
    curvature_bound = 1.0
    in_place = margins.smooth_hinge

    def curvature(self, z: Any) -> np.ndarray:  # noqa: D102
        z = np.asarray(z, dtype=float)
        return ((z > 0) & (z < 1)).astype(float)


class ModifiedSquare(MarginLoss):
    """Modified square loss: h(z) = max(0, 1 - z)² (2.5).

    Examples
    --------
    >>> ModifiedSquare().value([-0.5, 0.5, 2.0])
    array([2.25, 0.25, 0.  ])
    """

    smooth = True
    curvature_bound = 2.0
    in_place = margins.modified_square

    def curvature(self, z: Any) -> np.ndarray:  # noqa: D102
        return 2.0 * (np.asarray(z, dtype=float) < 1)


class Logistic(MarginLoss):
    """Logistic loss: h(z) = log(1 + exp(-z)) (2.6).

    Examples
    --------
    >>> Logistic().value([0.0]).round(4)
    array([0.6931])
    """

    smooth = True
    curvature_bound = 0.25
    in_place = margins.logistic

    def curvature(self, z: Any) -> np.ndarray:  # noqa: D102
        e = np.exp(-np.abs(np.asarray(z, dtype=float)))
        return np.asarray(e / (1 + e) ** 2)


#: Margin losses by the names that estimators take.
MARGIN_LOSSES: dict[str, type[MarginLoss]] = {
    "zero-one": ZeroOne,
    "hinge": Hinge,
    "smooth-hinge": SmoothHinge,
    "modified-square": ModifiedSquare,
    "logistic": Logistic,
}
