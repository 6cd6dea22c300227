"""The base class of objectives with penalized arrays."""

from collections.abc import Mapping

import numpy as np

from cofactor.penalties import Penalty, SmoothPenalty
from cofactor.problems.layout import Layout


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

    def pack(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the vector of parameters which holds the free arrays given."""
        return self.layout.pack(arrays, self.dtype)

    def add_penalties(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Add the gradients of the smooth penalties at `x` in place; return the sum of these penalties."""
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        return sum(
            (
                p.add_gradient(arrays[name], out[name])
                for name, p in self.penalties.items()
                if isinstance(p, SmoothPenalty)
            ),
            0.0,
        )

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
