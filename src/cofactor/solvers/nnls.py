"""Non-negative least squares of many rows at once."""

import numpy as np

from cofactor.kernels.nonnegative import nonnegative_rows
from cofactor.kernels.threads import parallel_for

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
