"""How often each level occurs, smoothed: what models of levels begin with, and fall back to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.data import Ratings

_WEIGHT = 5.0  #: ratings that the marginal of all items counts in that of one


def level_marginal(ratings: Ratings) -> NDArray[np.float64]:
    """Return the share of every level among all ratings, shape (R,), one more of each counted, so none is 0."""
    return (ratings.level_counts + 1.0) / (ratings.n_ratings + ratings.n_levels)


def item_marginals(ratings: Ratings, marginal: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the share of every level among each item's ratings, shape (m, R), five with the shares of all items added.

    Parameters
    ----------
    ratings : Ratings
    marginal : ndarray of shape (R,), optional
        The shares of all items; by default those of these.

    Examples
    --------
    >>> ratings = Ratings.from_pairs([(0, 0), (1, 0), (0, 1)], [1, 2, 2])
    >>> level_marginal(ratings)
    array([0.4, 0.6])
    >>> item_marginals(ratings)[1]
    array([0.33333333, 0.66666667])
    """
    m, R = len(ratings.items), ratings.n_levels
    cells = ratings.indices.astype(np.int64) * R + ratings.levels - 1
    counts = np.bincount(cells, minlength=m * R).reshape(m, R)
    shares = level_marginal(ratings) if marginal is None else marginal
    return (counts + _WEIGHT * shares) / (ratings.item_counts + _WEIGHT)[:, None]
