"""What one entry adds to the row of a user that is a ridge regression, or nearly one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    pass

__all__ = ["products", "with_constant", "without_each"]


def products(
    precision: NDArray[Any], own: NDArray[Any], weights: NDArray[Any], wanted: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return f_j·A⁻¹f_i with A = P + Σ_i w_i f_i f_iᵀ, for items j and own entries i, and f_i·A⁻¹f_i.

    Parameters
    ----------
    precision : ndarray of shape (..., d, d)
        P, regular.
    own : ndarray of shape (..., n, d)
        The rows f_i.
    weights : ndarray of shape (..., n)
    wanted : ndarray of shape (..., k, d)
        The rows f_j.

    Returns
    -------
    between : ndarray of shape (..., k, n)
    leverages : ndarray of shape (..., n)

    Examples
    --------
    >>> products(np.eye(1), np.ones((3, 1)), np.ones(3), np.full((1, 1), 2.0))
    (array([[0.5, 0.5, 0.5]]), array([0.25, 0.25, 0.25]))
    """
    own, wanted = own.astype(np.float64), wanted.astype(np.float64)
    turned = np.swapaxes(own, -1, -2)
    A = precision + (turned * weights[..., None, :]) @ own
    solved = np.linalg.solve(A, turned)
    return wanted @ solved, (turned * solved).sum(axis=-2)


def without_each(
    between: NDArray[Any], leverages: NDArray[Any], gradients: NDArray[Any], weights: NDArray[Any]
) -> NDArray[Any]:
    """Return how much lower scores are without each entry: of log-likelihoods with these derivatives and curvatures.

    Examples
    --------
    >>> without_each(np.full((1, 1), 0.5), np.array([0.5]), np.array([1.0]), np.array([1.0]))
    array([[1.]])
    """
    return np.asarray(between * (gradients / (1 - weights * leverages))[..., None, :])


def with_constant(rows: NDArray[Any], *, in_place: bool = False) -> NDArray[np.float64]:
    """Return rows of features with a one as their last column, in place of the bias there if `in_place`.

    Examples
    --------
    >>> with_constant(np.array([[2.0, 3.0]])).tolist(), with_constant(np.array([[2.0, 3.0]]), in_place=True).tolist()
    ([[2.0, 3.0, 1.0]], [[2.0, 1.0]])
    """
    ones = np.ones((*rows.shape[:-1], 1))
    return np.concatenate([rows[..., :-1] if in_place else rows, ones], axis=-1, dtype=np.float64)
