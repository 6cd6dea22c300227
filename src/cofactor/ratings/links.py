"""What is known of users and items besides ratings, as features of their factors: above all, who rated what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds

from cofactor.kernels.threads import library_limit
from cofactor.ratings.data import Ratings

#: Added to the number of ratings of a user and of an item, so that a single rating says little.
SHRINKAGE = 10.0

#: Singular values below this share of the largest are rounding.
_RANK = 1e-7


@dataclass(frozen=True)
class MaskLink:
    r"""Features of users and items from the pattern of ratings alone: a truncated SVD of the scaled 0/1 mask.

    .. math::

        B_{ij} = \frac{1}{\sqrt{(n_i + 10)(m_j + 10)}} \text{ where i rated j}, \quad B \approx A S Q^T, \quad
        F = \sqrt n A S / S_1, \quad G = \sqrt m Q S / S_1

    with :math:`n_i` and :math:`m_j` the numbers of ratings of user and item.

    Attributes
    ----------
    users : ndarray of shape (n, K)
        F, with orthogonal columns.
    items : ndarray of shape (m, K)
        G, with orthogonal columns.
    projection : ndarray of shape (m, K), float32
        What a rating of an item adds to the features of a new user, before these are divided by
        :math:`\sqrt{n_i + 10}`; it gives users of the training data the features they have.
    """

    users: NDArray[np.float64]
    items: NDArray[np.float64]
    projection: NDArray[np.float32]

    @classmethod
    def of(cls, ratings: Ratings, n_columns: int) -> MaskLink:
        """Return the link with at most `n_columns` columns: no more than the mask's rank."""
        n, m = ratings.shape
        by_item = 1 / np.sqrt(ratings.item_counts + SHRINKAGE)
        by_user = 1 / np.sqrt(ratings.user_counts + SHRINKAGE)
        values = by_user[ratings.row_of_entry] * by_item[ratings.indices]
        A, S, Q = _leading(sparse.csr_array((values, ratings.indices, ratings.indptr), shape=(n, m)), n_columns)
        share = S / S[0]
        projection = np.sqrt(n) / S[0] * by_item[:, None] * Q
        return cls(np.sqrt(n) * A * share, np.sqrt(m) * Q * share, projection.astype(np.float32))


def project(ratings: Ratings, projection: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the features of new users from the items they rated."""
    ones = np.ones(ratings.n_ratings)
    mask = sparse.csr_array((ones, ratings.indices, ratings.indptr), shape=(len(ratings.users), len(projection)))
    return np.asarray(mask @ projection.astype(np.float64)) / np.sqrt(ratings.user_counts + SHRINKAGE)[:, None]


def _leading(B: sparse.csr_array, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return A, S, Q of the k largest singular values, or of as many as are not rounding; the same every time."""
    small = min(B.shape)
    with library_limit(1, "blas"):
        if k >= small or small <= 100:
            A, S, Qt = np.linalg.svd(B.toarray(), full_matrices=False)
            A, S, Qt = A[:, :k], S[:k], Qt[:k]
        else:
            A, S, Qt = svds(B, k=k, v0=np.ones(small))
            A, S, Qt = A[:, ::-1], S[::-1], Qt[::-1]
    real = S / S[0] > _RANK
    turn = np.sign(Qt[np.arange(len(Qt)), np.abs(Qt).argmax(axis=1)])  # signs are free: largest entry positive
    return (A * turn)[:, real], S[real], (Qt * turn[:, None])[real].T
