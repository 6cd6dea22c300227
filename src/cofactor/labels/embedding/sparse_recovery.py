"""Sparse vectors from few measurements, for many of them at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cofactor.passes import batches
from cofactor.solvers.linear import nonnegative_least_squares

__all__ = ["DECODERS", "cosamp", "lasso", "matching_pursuit"]

_BLOCK = 1 << 22  # numbers of the largest array of a block of rows
_RIDGE = 1e-10  # share of the diagonal: columns that depend on others get coefficients of least norm
_PURSUITS = 10  # rounds of CoSaMP

Decoder = Callable[[NDArray[np.float64], NDArray[np.float64], int], NDArray[np.float64]]


def matching_pursuit(A: NDArray[np.float64], Z: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return vectors with k numbers that are not 0, by orthogonal matching pursuit.

    k times the column is taken that correlates most with what is left, and all coefficients are fitted again.

    Parameters
    ----------
    A : ndarray of shape (m, L)
        Measurements.
    Z : ndarray of shape (n, m)
        What was measured.
    k : int
        At most L.

    Returns
    -------
    ndarray of shape (n, L)

    Examples
    --------
    >>> A = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> matching_pursuit(A, np.array([[2.0, 0.0], [1.2, 1.6]]), 1).round(6)
    array([[2., 0., 0.],
           [0., 0., 2.]])
    """
    gram, lengths = A.T @ A, np.linalg.norm(A, axis=0)
    lengths = np.where(lengths > 0, lengths, np.inf)
    V = np.zeros((len(Z), A.shape[1]))
    for rows in _blocks(A, len(Z), k):
        z = Z[rows]
        left, found, products = z, np.empty((len(z), 0), dtype=np.int64), z @ A
        every = np.arange(len(z))[:, None]
        coef = np.empty((len(z), 0))
        for _ in range(k):
            likely = np.abs(left @ A) / lengths
            likely[every, found] = -1.0
            found = np.hstack([found, np.argmax(likely, axis=1)[:, None]])
            coef = _fitted(gram, products, found)
            left = z - _measured(A, found, coef)
        V[rows][every, found] = coef
    return V


def cosamp(A: NDArray[np.float64], Z: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return vectors with k numbers that are not 0, by compressive sampling matching pursuit (CoSaMP).

    In each of at most ten rounds the 2 k columns that correlate most with what is left join the k of before; all are
    fitted, and the k largest are kept. A vector is done when what is left falls no more.

    Parameters
    ----------
    A, Z, k
        As for `matching_pursuit`.

    Examples
    --------
    >>> A = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> cosamp(A, np.array([[2.0, 0.0]]), 1).round(6)
    array([[2., 0., 0.]])
    """
    gram, L = A.T @ A, A.shape[1]
    more = min(2 * k, L - k)
    V = np.zeros((len(Z), L))
    for rows in _blocks(A, len(Z), k + more):
        z, block = Z[rows], V[rows]
        products, left = z @ A, z.copy()
        squares = np.einsum("ij,ij->i", z, z)
        active = np.flatnonzero(squares > 0)
        kept = np.empty((len(z), 0), dtype=np.int64)
        for _ in range(_PURSUITS):
            likely = np.abs(left[active] @ A)
            likely[np.arange(len(active))[:, None], kept[active]] = -1.0
            joined = np.hstack([kept[active], _largest(likely, more if kept.shape[1] else min(2 * k, L))])
            coef = _fitted(gram, products[active], joined)
            chosen = _largest(np.abs(coef), k)
            support = np.take_along_axis(joined, chosen, axis=1)
            values = np.take_along_axis(coef, chosen, axis=1)
            rest = z[active] - _measured(A, support, values)
            falls = np.einsum("ij,ij->i", rest, rest) < squares[active] * (1 - 1e-9)
            active, support, values, rest = active[falls], support[falls], values[falls], rest[falls]
            if not len(active):
                break
            if not kept.shape[1]:
                kept = np.tile(np.arange(k), (len(z), 1))
            kept[active], left[active] = support, rest
            squares[active] = np.einsum("ij,ij->i", rest, rest)
            block[active] = 0
            block[active[:, None], support] = values
    return V


def lasso(A: NDArray[np.float64], Z: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    r"""Return the minimisers of ½‖z - A v‖² + penalty Σ v over v ≥ 0, since labels are not negative.

    Parameters
    ----------
    A, Z
        As for `matching_pursuit`.
    penalty : float

    Examples
    --------
    >>> lasso(np.eye(2), np.array([[2.0, -1.0]]), 0.5)
    array([[1.5, 0. ]])
    """
    return nonnegative_least_squares(A.T @ A, Z @ A - penalty, tol=1e-6, max_sweeps=500)[0]


DECODERS: dict[str, Decoder] = {"omp": matching_pursuit, "cosamp": cosamp}


def _blocks(A: NDArray[np.float64], n: int, k: int) -> list[slice]:
    """Return blocks of rows whose arrays, of k columns or squares of k for each, stay small."""
    m, L = A.shape
    return list(batches(n, max(1, _BLOCK // max(k * max(m, k), L))))


def _largest(values: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return where the k largest numbers of each row stand."""
    return np.argpartition(-values, k - 1, axis=1)[:, :k]


def _fitted(gram: NDArray[np.float64], products: NDArray[np.float64], found: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the coefficients of least squares of the columns found for each row."""
    grams = gram[found[:, :, None], found[:, None, :]]
    diagonal = np.arange(found.shape[1])
    grams[:, diagonal, diagonal] *= 1 + _RIDGE
    grams[:, diagonal, diagonal] += np.finfo(np.float64).tiny
    solved = np.linalg.solve(grams, np.take_along_axis(products, found, axis=1)[:, :, None])
    return np.asarray(solved[:, :, 0], dtype=np.float64)


def _measured(A: NDArray[np.float64], found: NDArray[np.int64], coef: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of the columns found for each row times their coefficients."""
    return np.asarray(np.matmul(coef[:, None, :], A.T[found])[:, 0])
