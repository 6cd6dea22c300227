r"""What lists of items are like beside their hits: how many items they reach; how new, different and popular these are.

`recommended` is as in `cofactor.metrics.topn`: numbers of items of shape (n, K), best first, -1 where a list ends.
`interactions` is a sparse table users × items of the training part: an entry for each item that a user interacted with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import check_number
from cofactor.errors import InvalidInputError
from cofactor.metrics.probabilities import CalibrationBins
from cofactor.metrics.ranking import divided
from cofactor.metrics.topn import checked_lists

Values = NDArray[np.float64]

_BLOCK = 1 << 22  #: cells of sums of vectors at a time
_WIDE = 1.96  #: standard errors of an interval of 95 %


def item_popularity(interactions: Any) -> Values:
    r"""Share of the users who interacted with each item, :math:`p_j = |\{u : j \in T_u\}| / n`.

    Parameters
    ----------
    interactions : sparse matrix of shape (n, n_items)
        An entry for each item that a user interacted with.

    Examples
    --------
    >>> item_popularity([[1, 0, 1], [1, 0, 0]])
    array([1. , 0. , 0.5])
    """
    table = sparse.csc_array(interactions)
    return np.diff(table.indptr) / max(table.shape[0], 1)


def distinct_items(recommended: ArrayLike, n_items: int, k: int | None = None) -> int:
    """Return how many different items are in the lists of all users.

    Parameters
    ----------
    recommended : array-like of shape (n, K)
        Numbers of items, -1 where there are no more.
    n_items : int
        Number of items that could be recommended.
    k : int, optional
        How many of each list; by default all.

    Examples
    --------
    >>> distinct_items([[0, 1], [0, 2]], n_items=10)
    3
    """
    lists = checked_lists(recommended, n_items, k)
    return int(np.unique(lists[lists >= 0]).size)


def catalogue_coverage(recommended: ArrayLike, n_items: int, k: int | None = None) -> float:
    """Share of all items that are recommended to anyone, ``distinct_items / n_items``.

    Parameters
    ----------
    recommended, n_items, k
        As in `distinct_items`. It grows with the number of users: compare only lists of the same users.

    Examples
    --------
    >>> catalogue_coverage([[0, 1], [0, 2]], n_items=10)
    0.3
    """
    return distinct_items(recommended, n_items, k) / n_items


def user_novelties(recommended: ArrayLike, popularity: ArrayLike, k: int | None = None, *, n_users: int) -> Values:
    r"""Mean self-information of the recommended items, :math:`\frac{1}{k} \sum_{i \le k} -\log_2 p_{j_i}`, in bits.

    Parameters
    ----------
    recommended : array-like of shape (n, K)
        Numbers of items, -1 where there are no more.
    popularity : array-like of shape (n_items,)
        Share of the users who interacted with each item, see `item_popularity`.
    k : int, optional
        By default K.
    n_users : int, keyword
        The number of users that the popularity is a share of: an item without interactions counts as if it had one.

    Returns
    -------
    ndarray of shape (n,)
        0 or more; a list of items that half of the users interacted with has 1. NaN for an empty list.

    Examples
    --------
    >>> user_novelties([[0, 1], [1, -1]], [0.5, 0.25], n_users=4)
    array([1.5, 2. ])
    """
    shares = np.maximum(np.asarray(popularity, dtype=np.float64), 1 / n_users)
    return _mean_of_items(recommended, -np.log2(shares), k)


def user_popularities(recommended: ArrayLike, popularity: ArrayLike, k: int | None = None) -> Values:
    r"""Mean popularity of the recommended items, :math:`\frac{1}{k} \sum_{i \le k} p_{j_i}`.

    Parameters
    ----------
    recommended, popularity, k
        As in `user_novelties`.

    Returns
    -------
    ndarray of shape (n,)
        0 to 1; NaN for an empty list.

    Examples
    --------
    >>> user_popularities([[0, 1]], [0.5, 0.25])
    array([0.375])
    """
    return _mean_of_items(recommended, np.asarray(popularity, dtype=np.float64), k)


def user_popularity_lifts(
    recommended: ArrayLike, interactions: Any, k: int | None = None, *, popularity: Any = None
) -> Values:
    r"""Popularity bias: by how much recommended items are more popular than the user's own items, as a share.

    .. math:: \frac{\frac{1}{k}\sum_{i \le k} p_{j_i}}{\frac{1}{|T_u|}\sum_{j \in T_u} p_j} - 1

    Parameters
    ----------
    recommended : array-like of shape (n, K)
        Numbers of items, -1 where there are no more.
    interactions : sparse matrix of shape (n, n_items)
        The items :math:`T_u` that each of these users interacted with in training.
    k : int, optional
        By default K.
    popularity : array-like of shape (n_items,), optional
        By default that among the users of `interactions`.

    Returns
    -------
    ndarray of shape (n,)
        0: as popular as the user's own items; 1: twice as popular. NaN for users without
        interactions, or with an empty list.

    References
    ----------
    Abdollahpouri, Mansoury, Burke & Mobasher, "The unfairness of popularity bias in recommendation", 2019; there the
    ratio is of means over groups of users, here of each user.

    Examples
    --------
    >>> user_popularity_lifts([[0], [0]], [[0, 1, 1], [1, 1, 0]])
    array([-0.33333333, -0.33333333])
    """
    table = sparse.csr_array(interactions, dtype=np.float64, copy=True)
    table.data[:] = 1
    shares = item_popularity(table) if popularity is None else np.asarray(popularity, dtype=np.float64)
    own = divided(table @ shares, np.diff(table.indptr))
    return divided(user_popularities(recommended, shares, k), own) - 1


def user_diversities(recommended: ArrayLike, vectors: Any, k: int | None = None) -> Values:
    r"""Intra-list diversity: one minus the mean cosine of two items of a list.

    .. math:: 1 - \frac{2}{k(k-1)} \sum_{i < i' \le k} \frac{v_{j_i} \cdot v_{j_{i'}}}{|v_{j_i}|\,|v_{j_{i'}}|}

    Parameters
    ----------
    recommended : array-like of shape (n, K)
        Numbers of items, -1 where there are no more.
    vectors : sparse matrix or array of shape (n_items, d)
        A vector for each item: the users who interacted with it (the transpose of `interactions`), its factors, or its
        features. An item without one, all zeros, is like no other.
    k : int, optional
        By default K.

    Returns
    -------
    ndarray of shape (n,)
        0 for a list of equal vectors, 1 if no two have anything in common; NaN for fewer than two items.

    Notes
    -----
    Of unit vectors the sum over pairs follows from the length of their sum, so that no table of items × items is
    needed.

    Examples
    --------
    >>> user_diversities([[0, 1], [0, 2]], [[1, 0], [0, 2], [3, 0]]).round(3)
    array([1., 0.])
    """
    table = sparse.csr_array(vectors, dtype=np.float64)
    lists = checked_lists(recommended, table.shape[0], k)
    squares = np.asarray(table.multiply(table).sum(axis=1)).ravel()
    ones = (squares > 0).astype(np.float64)  # of vectors that have a direction
    units = sparse.csr_array(sparse.diags_array(ones / np.sqrt(np.where(squares > 0, squares, 1.0))) @ table)
    found = np.full(len(lists), np.nan)
    step = max(1, _BLOCK // max(1, table.shape[1]))
    for start in range(0, len(lists), step):
        block = lists[start : start + step]
        rows, places = np.nonzero(block >= 0)
        items = block[rows, places]
        member = sparse.csr_array((np.ones(rows.size), (rows, items)), (len(block), table.shape[0]))
        sums = member @ units
        sums.data *= sums.data
        lengths: Values = np.asarray(sums.sum(axis=1)).ravel()
        counts = np.bincount(rows, minlength=len(block))
        cosines = divided(lengths - member @ ones, counts * (counts - 1))
        found[start : start + step] = 1 - cosines
    return found


def interaction_calibration_bins(
    probabilities: ArrayLike,
    interactions: ArrayLike,
    *,
    edges: ArrayLike | None = None,
    n_bins: int = 6,
    users: ArrayLike | None = None,
) -> CalibrationBins:
    r"""Return predicted probabilities of interactions, and how often these occurred, in bins.

    Probabilities of interactions are small: bins of equal width would hold nearly all of them in the first one.

    Parameters
    ----------
    probabilities : array-like
        Of pairs of user and item, in any shape.
    interactions : array-like
        Whether the user interacted with the item, of the same shape.
    edges : array-like of shape (n_bins + 1,), optional
        Edges of the bins, increasing from 0 to 1; by default quantiles of the probabilities, so that each bin holds
        about the same number of pairs. A bin includes its upper edge and not its lower one; the first bin also includes
        0.
    n_bins : int, default=6
        Number of bins, where no edges are given; fewer where quantiles agree.
    users : array-like, optional
        Numbers of the users, of the same shape, from 0. Interactions of one user depend on each other, so that errors
        are to be taken over users, not over pairs: with :math:`d_u` the sum of interactions less p over the pairs of u
        in a bin of n pairs, :math:`\sqrt{\sum_u d_u^2} / n`.

    Returns
    -------
    CalibrationBins
        See also `share_interval`, for the interval of each observed share.

    Examples
    --------
    >>> bins = interaction_calibration_bins([0.1, 0.1, 0.2, 0.6], [0, 0, 1, 1], edges=[0, 0.15, 1])
    >>> bins.counts.tolist(), bins.predicted.round(2).tolist(), bins.observed.tolist()
    ([2, 2], [0.1, 0.4], [0.0, 1.0])
    """
    p, came = np.asarray(probabilities, dtype=np.float64).ravel(), np.asarray(interactions, dtype=np.float64).ravel()
    if p.shape != came.shape or not p.size:
        raise InvalidInputError(f"found {p.size} probabilities and {came.size} outcomes: give as many of both")
    if not ((p >= 0) & (p <= 1)).all():
        raise InvalidInputError("must lie between 0 and 1", argument="probabilities")
    if edges is None:
        check_number("n_bins", n_bins, low=1, whole=True)
        inner = np.unique(np.quantile(p, np.linspace(0, 1, n_bins + 1)[1:-1]))
        bounds = np.concatenate([[0.0], inner[(inner > 0) & (inner < 1)], [1.0]])
    else:
        bounds = np.asarray(edges, dtype=np.float64)
        if bounds.ndim != 1 or len(bounds) < 2 or bounds[0] != 0 or bounds[-1] != 1 or (np.diff(bounds) <= 0).any():
            raise InvalidInputError("expected numbers that increase from 0 to 1", argument="edges")
    places = np.clip(np.searchsorted(bounds, p, side="left") - 1, 0, len(bounds) - 2)
    counts, chances, outcomes = (np.bincount(places, part, len(bounds) - 1) for part in (None, p, came))
    errors = None
    if users is not None:
        owner = np.asarray(users).ravel()
        if owner.shape != p.shape:
            raise InvalidInputError("expected one for each probability", argument="users", found=owner.shape)
        sums = np.bincount(owner * len(counts) + places, came - p, len(counts) * (int(owner.max()) + 1))
        errors = divided(np.sqrt((sums.reshape(-1, len(counts)) ** 2).sum(axis=0)), counts)
    means = divided(chances, counts), divided(outcomes, counts)
    return CalibrationBins(bounds, counts.astype(np.int64), *means, errors)


def share_interval(bins: CalibrationBins) -> tuple[Values, Values]:
    """Return the ends of the interval of 95 % of each observed share, by Wilson.

    Parameters
    ----------
    bins : CalibrationBins
        As `interaction_calibration_bins` returns them. If it was told the users, the number of pairs counts as the
        number of independent ones that would have the same standard error; else all pairs count as independent.

    Examples
    --------
    >>> low, high = share_interval(interaction_calibration_bins([0.5] * 10, [1] * 5 + [0] * 5, edges=[0, 1]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.237], [0.763])
    """
    n, share, z = np.where(bins.counts, bins.counts, np.nan), bins.observed, _WIDE
    if bins.errors is not None:
        variance = share * (1 - share)
        known = (bins.errors > 0) & (variance > 0)
        np.divide(variance, bins.errors**2, out=n, where=known)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return middle - reach, middle + reach


def _mean_of_items(recommended: ArrayLike, values: Values, k: int | None) -> Values:
    """Return the mean of a number of each item over each list."""
    lists = checked_lists(recommended, len(values), k)
    there = lists >= 0
    return divided(np.where(there, values[np.maximum(lists, 0)], 0).sum(axis=1), there.sum(axis=1))
