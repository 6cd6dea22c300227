"""Linear conjugate gradients for several right-hand sides at once."""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

__all__ = ["solve_positive"]


def solve_positive(
    apply: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    right: NDArray[np.float64],
    *,
    tol: float = 1e-12,
    max_iter: int = 1000,
) -> NDArray[np.float64]:
    r"""Solve AX = B for a symmetric positive definite operator A by conjugate gradients, each column on its own.

    A is applied to all columns at once, and each column has its own step length; columns that have converged no longer
    change.

    Parameters
    ----------
    apply : callable
        Returns A times an array of shape (m, d).
    right : ndarray of shape (m, d)
        B.
    tol : float, default=1e-12
        A column has converged when its residual is this share of its right-hand side.
    max_iter : int, default=1000
        Largest number of iterations.

    Returns
    -------
    ndarray of shape (m, d)

    Warns
    -----
    ConvergenceWarning
        If a column has not converged after `max_iter` iterations.

    Examples
    --------
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> solve_positive(lambda V: A @ V, np.array([[1.0], [2.0]])).round(4).ravel()
    array([0.0909, 0.6364])
    """
    x = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    square = np.einsum("ij,ij->j", residual, residual)
    goal = tol**2 * square
    for _ in range(max_iter):
        active = ~(square <= goal)  # also where it is NaN
        if not active.any():
            return x
        moved = apply(direction)
        curvature = np.einsum("ij,ij->j", direction, moved)
        step = np.divide(square, curvature, out=np.zeros_like(square), where=active & (curvature > 0))
        x += step * direction
        residual -= step * moved
        before, square = square, np.einsum("ij,ij->j", residual, residual)
        ratio = np.divide(square, before, out=np.zeros_like(square), where=active)
        direction = residual + ratio * direction
    left = ~(square <= goal)
    if left.any():
        worst = float(np.sqrt(np.max(square[left] / goal[left])) * tol)
        warnings.warn(
            f"conjugate gradients stopped at max_iter={max_iter} with a relative residual of {worst:.1g}: "
            "raise the weight of the penalty, or scale the features",
            ConvergenceWarning,
            stacklevel=2,
        )
    return x
