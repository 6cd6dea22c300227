"""Linear regression of labels on features and on labels: Y against X W + P S."""

from typing import Any

import numpy as np

from cofactor.kernels import vectors
from cofactor.penalties import Penalty
from cofactor.problems.penalized import PenalizedProblem
from cofactor.problems.regression import largest_eigenvalue


class LabelFeatureProblem(PenalizedProblem):
    r"""Penalized least squares in which each target is regressed on features and on the other labels.

    .. math:: J(W, S) = \|X W + P S - Y\|_F^2 + \alpha \operatorname{tr}(W R W^\top) + p_W(W) + p_S(S),
        \qquad S_{jj} = 0

    P holds a column for each label: Y itself, or something that is known of it. The problem sees the data through inner
    products alone, so an evaluation costs O(D² L + D L²), whatever the number of rows.

    Parameters
    ----------
    gram : ndarray or LinearOperator of shape (D, D)
        XᵀX.
    between : ndarray of shape (D, L)
        XᵀP.
    label_gram : ndarray of shape (L, L)
        PᵀP.
    cross : ndarray of shape (D, L)
        XᵀY.
    label_cross : ndarray of shape (L, L)
        PᵀY.
    norm : float
        ‖Y‖².
    penalties : tuple of Penalty
        Those of W and of S.
    alpha : float
        Weight of the coupling, not negative.
    coupling : ndarray of shape (L, L)
        R, symmetric and positive semidefinite.

    Examples
    --------
    Two labels which are the same, and a feature that says nothing: each label is the other one.

    >>> from cofactor.penalties import L1
    >>> from cofactor.solvers import proximal_gradient
    >>> ones, zeros = np.ones((2, 2)), np.zeros((1, 2))
    >>> problem = LabelFeatureProblem(
    ...     np.array([[1.0]]), zeros, 4 * ones, zeros, 4 * ones, 8.0, (L1(1.0), L1(0.0)), 0.0, np.zeros((2, 2))
    ... )
    >>> x = proximal_gradient(problem, np.zeros(6), step=1 / problem.lipschitz(), tol=1e-12).x
    >>> problem.layout.views(x)["S"].round(3)
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(
        self,
        gram: Any,
        between: np.ndarray,
        label_gram: np.ndarray,
        cross: np.ndarray,
        label_cross: np.ndarray,
        norm: float,
        penalties: tuple[Penalty, Penalty],
        alpha: float,
        coupling: np.ndarray,
    ) -> None:
        shapes = {"W": cross.shape, "S": label_cross.shape}
        super().__init__(shapes, dict(zip("WS", penalties, strict=True)), True, np.float64)
        self._gram, self._between, self._label_gram = gram, between, label_gram
        self._cross, self._label_cross, self._norm = cross, label_cross, norm
        self._coupling = alpha * coupling

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the smooth part of J at `x` and write its gradient; the diagonal of S has none, and stays 0."""
        arrays, slopes = self.layout.views(x), self.layout.views(gradient)
        W, S = arrays["W"], arrays["S"]
        slopes["W"][...] = self._gram @ W
        slopes["W"] += self._between @ S
        slopes["W"] += W @ self._coupling
        slopes["W"] -= 2 * self._cross
        slopes["S"][...] = self._between.T @ W
        slopes["S"] += self._label_gram @ S
        slopes["S"] -= 2 * self._label_cross
        value = self._norm + vectors.dot(x, gradient)
        slopes["W"] += self._cross
        slopes["S"] += self._label_cross
        gradient *= 2
        np.fill_diagonal(slopes["S"], 0)
        return value + self.add_penalties(x, gradient)

    def lipschitz(self) -> float:
        """Return a bound of the slope of the gradient, at most twice the least one."""
        largest = largest_eigenvalue(self._gram) + float(np.linalg.eigvalsh(self._coupling)[-1])
        return 2 * (largest + float(np.linalg.eigvalsh(self._label_gram)[-1]))
