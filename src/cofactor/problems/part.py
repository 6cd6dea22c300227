"""A problem some of whose parameters are free, while the others stay what they are."""

from typing import Protocol

import numpy as np

from cofactor.problems.layout import Layout

__all__ = ["PartialProblem"]


class SmoothProblem(Protocol):
    """What is needed of the whole problem."""

    dtype: np.dtype
    layout: Layout
    smooth: bool

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the objective at `x` and write its gradient."""


class PartialProblem:
    """A smooth problem in some of its parameters, the others held fixed.

    Parameters
    ----------
    whole : SmoothProblem
        Smooth.
    x : ndarray
        Its parameters, which give the fixed ones their values.
    free : mapping from str to ndarray of bool
        Which entries of its arrays are free; of arrays that are not named none is.

    Attributes
    ----------
    dtype, smooth, size
        See `Problem`.
    start : ndarray
        The free parameters at `x`.
    """

    def __init__(self, whole: SmoothProblem, x: np.ndarray, free: dict[str, np.ndarray]) -> None:
        marks = whole.layout.pack(
            {name: free.get(name, np.zeros(shape)) for name, shape in whole.layout.shapes.items()}, np.bool_
        )
        self.dtype, self.smooth = whole.dtype, whole.smooth
        self._whole, self._x, self._where = whole, x.copy(), np.flatnonzero(marks)
        self._gradient = np.empty_like(x)
        self.start = x[self._where]

    @property
    def size(self) -> int:
        """Number of free parameters."""
        return len(self._where)

    def filled(self, part: np.ndarray) -> np.ndarray:
        """Return all parameters, with these free ones."""
        self._x[self._where] = part
        return self._x

    def value_gradient(self, part: np.ndarray, gradient: np.ndarray) -> float:
        """Return the objective and write its gradient."""
        value = self._whole.value_gradient(self.filled(part), self._gradient)
        gradient[...] = self._gradient[self._where]
        return value

    def nonsmooth_value(self, part: np.ndarray) -> float:
        """Return 0: the problem is smooth."""
        return 0.0

    def prox(self, part: np.ndarray, step: float, out: np.ndarray) -> None:
        """Write the point itself, for the same reason."""
        out[...] = part

    def certificate(self, part: np.ndarray, gradient: np.ndarray) -> float:
        """Return the norm of the gradient."""
        return float(np.linalg.norm(gradient))
