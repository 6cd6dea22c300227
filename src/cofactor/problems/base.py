"""The base class of objectives: penalized arrays, which lie in one flat vector, and some of which may stay fixed."""

import math
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from cofactor.penalties import Penalty, SmoothPenalty


class Layout:
    """Where named arrays stand in a flat vector of parameters.

    Parameters
    ----------
    shapes : mapping from str to tuple of int
        Name and shape of each array, in their order in the vector.

    Attributes
    ----------
    size : int
        Length of the vector.

    Examples
    --------
    >>> layout = Layout({"U": (2, 2), "b": (2,)})
    >>> layout.size
    6
    >>> layout.views(np.arange(6.0))["b"]
    array([4., 5.])
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.shapes = dict(shapes)
        self.slices: dict[str, slice] = {}
        start = 0
        for name, shape in self.shapes.items():
            stop = start + math.prod(shape)
            self.slices[name] = slice(start, stop)
            start = stop
        self.size = start

    def views(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the named arrays as views of the vector `x`."""
        return {name: x[where].reshape(self.shapes[name]) for name, where in self.slices.items()}

    def pack(self, arrays: Mapping[str, np.ndarray], dtype: np.typing.DTypeLike) -> np.ndarray:
        """Return a new vector holding the named arrays."""
        x = np.empty(self.size, dtype=dtype)
        for name, view in self.views(x).items():
            view[...] = arrays[name]
        return x


class PenalizedProblem:
    """Named arrays in one vector, each with its penalty: J = loss + Σ_A p_A(A).

    Subclasses add `value_gradient`, which ends with `add_penalties`. Everything else that solvers need is here.

    Parameters
    ----------
    shapes : mapping from str to tuple of int
        The free arrays.
    penalties : mapping from str to Penalty
        Penalties of free arrays; an array without one is not penalized.
    smooth_loss : bool
        Whether the loss has a gradient everywhere.
    dtype : dtype
        Of the vector of parameters.

    Attributes
    ----------
    layout : Layout
        Where each free array stands in the vector of parameters.
    smooth : bool
        Whether loss and penalties all have gradients.
    """

    def __init__(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        penalties: Mapping[str, Penalty],
        smooth_loss: bool,
        dtype: np.typing.DTypeLike,
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.layout = Layout(shapes)
        self.penalties = {name: penalties[name] for name in shapes if name in penalties}
        self.smooth = smooth_loss and all(p.smooth for p in self.penalties.values())

    @property
    def size(self) -> int:
        """Number of free parameters."""
        return self.layout.size

    @property
    def smooth_penalties(self) -> dict[str, SmoothPenalty]:
        """The penalties with a gradient."""
        return {name: p for name, p in self.penalties.items() if isinstance(p, SmoothPenalty)}

    def pack(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the vector of parameters which holds the free arrays given."""
        return self.layout.pack(arrays, self.dtype)

    def add_penalties(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Add the gradients of the smooth penalties at `x` in place; return the sum of these penalties."""
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        return sum((p.add_gradient(arrays[name], out[name]) for name, p in self.smooth_penalties.items()), 0.0)

    def smooth_value(self, x: np.ndarray) -> float:
        """Return the penalties with a gradient at `x`."""
        arrays = self.layout.views(x)
        return sum((p.value(arrays[name]) for name, p in self.penalties.items() if p.smooth), 0.0)

    def nonsmooth_value(self, x: np.ndarray) -> float:
        """Return the penalties without a gradient at `x`."""
        arrays = self.layout.views(x)
        return sum((p.value(arrays[name]) for name, p in self.penalties.items() if not p.smooth), 0.0)

    def prox(self, x: np.ndarray, step: float, out: np.ndarray) -> None:
        """Write the proximal map of the penalties without a gradient."""
        arrays, results = self.layout.views(x), self.layout.views(out)
        for name, array in arrays.items():
            penalty = self.penalties.get(name)
            results[name][...] = array if penalty is None or penalty.smooth else penalty.prox(array, step)

    def certificate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the distance from stationarity at `x`, where `gradient` is that of the smooth part."""
        arrays, slopes = self.layout.views(x), self.layout.views(gradient)
        squares = 0.0
        for name, array in arrays.items():
            penalty = self.penalties.get(name)
            if penalty is None or penalty.smooth:
                squares += float(np.linalg.norm(slopes[name])) ** 2
            else:
                squares += penalty.distance(array, slopes[name]) ** 2
        return float(np.sqrt(squares))


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
