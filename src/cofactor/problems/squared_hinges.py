"""Support vector machines of many labels on the same features, as problems that are solved together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.passes import Mapped, added, together
from cofactor.problems.axes import Turned

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class SquaredHingeProblems:
    r"""Linear support vector machines of B labels with the squared hinge, as `lbfgs_each` takes them.

    .. math:: \min_w \tfrac12 \|w\|^2 + \sum_i c_i \max(0, 1 - z_i \, x_i \cdot w)^2

    Parameters
    ----------
    X : Turned
        The last feature, before it was turned, is 1: the intercept has a penalty like the other coefficients.
    Z : ndarray or Mapped of shape (n, B), float64
        1 where a label is on, -1 where it is off; each label varies.
    costs : ndarray of shape (n,)
        Above 0, or 0 for instances that do not count.
    """

    def __init__(self, X: Turned, Z: Floats | Mapped, costs: Floats) -> None:
        self.X, self.Z, self.costs = X, Z, costs
        self._curvature = 1 + 2 * costs.mean() * X.squares

    def start(self) -> Floats:
        """Return coefficients of the mean of each label, as the score of all instances: shape (B, r)."""
        total: Any = None
        for signs, costs in together(self.Z, self.costs):
            total = added(total, costs @ signs)
        return np.outer(total / self.costs.sum(), self.X.axes[-1])

    def evaluate(self, theta: Floats, which: Places) -> tuple[Floats, Floats]:
        """Return objectives and gradients of some labels; see `ManyProblems`."""
        Z = self.Z if len(which) == self.Z.shape[1] else self.Z[:, which]
        columns = self.X.of_columns(theta).T
        losses: Any = None
        back: Any = None
        for table, signs, costs in together(self.X.table, Z, self.costs):
            scores = table @ columns.astype(table.dtype)
            gaps = np.maximum(0, 1 - signs * scores)
            slopes = costs[:, None] * gaps
            losses = added(losses, np.einsum("ib,ib->b", slopes, gaps))
            slopes *= -2 * signs
            back = added(back, (slopes.T.astype(table.dtype) @ table).astype(np.float64))
        return losses + np.einsum("bp,bp->b", theta, theta) / 2, theta + self.X.of_axes(back)

    def scaled(self, gradient: Floats, which: Places) -> Floats:
        """Return gradients divided by the curvatures where all instances are within the margin."""
        return np.asarray(gradient / self._curvature)
