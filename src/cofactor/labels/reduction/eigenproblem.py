"""The generalized eigenproblem of all linear reductions: max tr(PᵀAP) subject to PᵀBP = I, with A = MMᵀ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

__all__ = ["Directions", "leading_directions"]

_NULL = 1e-12  #: an eigenvalue of this share of the largest, or less, is rounding errors
_NOISE = 1e-24  #: as is one of this share of what it could be, since M then is


class Directions(NamedTuple):
    """Solutions: AP = BP diag(values), PᵀBP = I."""

    values: NDArray[np.float64]  # (d,), the largest first
    vectors: NDArray[np.float64]  # P, (r, d)


def leading_directions(root: NDArray[np.float64], metric: NDArray[np.float64], bound: float = 0.0) -> Directions:
    r"""Return all directions of eigenvalues above 0.

    With :math:`B = G G^T`, the left singular vectors U of :math:`G^{-1} M` give :math:`P = G^{-T} U`; A is never formed
    if M has fewer columns than rows. There are at most as many directions as the rank of M: any others would be
    arbitrary.

    Parameters
    ----------
    root : ndarray of shape (r, q)
        M, with A = MMᵀ.
    metric : ndarray of shape (r,) or (r, r)
        B, or its diagonal if it has no other entries. Where B is 0 there are no directions.
    bound : float, default=0.0
        What eigenvalues cannot exceed for any labels, if that is known.

    Examples
    --------
    >>> leading_directions(np.array([[3.0], [4.0]]), np.array([1.0, 4.0]))
    Directions(values=array([13.]), vectors=array([[0.83205029],
           [0.2773501 ]]))
    """
    if metric.ndim == 1:
        sizes, turn = metric, None
    else:
        sizes, turn = scipy.linalg.eigh(metric, driver="evd", check_finite=False)
        root = turn.T @ root
    kept = sizes > _NULL * sizes.max(initial=0.0)
    inverse = np.where(kept, 1 / np.sqrt(np.where(kept, sizes, 1.0)), 0.0)[:, None]
    white = inverse * root
    if white.shape[1] <= white.shape[0]:
        vectors, lengths, _ = scipy.linalg.svd(white, full_matrices=False, check_finite=False)
        values = lengths**2
    else:
        values, vectors = scipy.linalg.eigh(white @ white.T, driver="evd", check_finite=False)
        values, vectors = values[::-1], vectors[:, ::-1]
    some = values > max(_NULL * float(values.max(initial=0.0)), _NOISE * bound)
    found = inverse * vectors[:, some]
    return Directions(values[some], found if turn is None else turn @ found)
