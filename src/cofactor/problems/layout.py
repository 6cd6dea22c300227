"""Named arrays in one flat vector."""

import math
from collections.abc import Mapping

import numpy as np


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
