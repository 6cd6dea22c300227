"""Linear conjugate gradients, and non-negative least squares, for several right-hand sides at once."""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cofactor.kernels.nonnegative import nonnegative_rows
from cofactor.kernels.threads import parallel_for


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


_ROWS = 64  # rows in one task of a thread


def nonnegative_least_squares(
    gram: np.ndarray,
    cross: np.ndarray,
    *,
    tol: float = 1e-8,
    max_sweeps: int = 10_000,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, int]:
    r"""Minimise :math:`\|x_i - v_i B\|^2` over :math:`v_i \ge 0` for every row, from inner products alone.

    Parameters
    ----------
    gram : ndarray of shape (J, J)
        BBᵀ.
    cross : ndarray of shape (n, J)
        XBᵀ.
    tol : float, default=1e-8
        A row is done when its distance from stationarity, in the largest norm, is this share of max |x_i Bᵀ|.
    max_sweeps : int, default=10000
        Largest number of passes over the coordinates of one row. Bases that are nearly linearly dependent need many.
    start : ndarray of shape (n, J), optional
        Where coordinate descent starts, at least 0; by default at 0.

    Returns
    -------
    V : ndarray of shape (n, J)
        Solutions, by coordinate descent; the same to the bit for any number of threads.
    n_unfinished : int
        Number of rows that were not done after `max_sweeps` passes.

    Examples
    --------
    >>> B = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> X = np.array([[3.0, 2.0], [3.0, -1.0]])
    >>> nonnegative_least_squares(B @ B.T, X @ B.T)[0].round(6)
    array([[1., 2.],
           [3., 0.]])
    """
    gram = np.ascontiguousarray(gram, dtype=np.float64)
    cross = np.ascontiguousarray(cross, dtype=np.float64)
    n = len(cross)
    V = np.zeros(cross.shape) if start is None else np.array(start, dtype=np.float64, order="C")
    n_blocks = -(-n // _ROWS)
    unfinished = np.zeros(n_blocks, dtype=np.int64)

    def block(k: int) -> None:
        lo, hi = k * _ROWS, min((k + 1) * _ROWS, n)
        unfinished[k] = nonnegative_rows(lo, hi, gram, cross, tol, max_sweeps, V)

    parallel_for(block, n_blocks)
    return V, int(unfinished.sum())
