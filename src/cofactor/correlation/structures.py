"""Trees and chains of labels with similar neighbours, and how well their weights tell which likelihood is larger."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from cofactor.checks import check_number, make_generator
from cofactor.correlation.checks import as_numbers, as_similarities, dense
from cofactor.errors import InvalidInputError
from cofactor.typing import RandomState

__all__ = [
    "greedy_chain",
    "maximum_spanning_tree",
    "normalized_inversions",
    "random_chain",
    "ranked_pairs",
]

Integers = NDArray[np.int64]


def ranked_pairs(C: NDArray[np.float64]) -> Integers:
    """Return all pairs i < j, those with the largest similarity first, of equal ones the first in the table.

    Examples
    --------
    >>> ranked_pairs(np.array([[0.0, 0.1, 0.3], [0.1, 0.0, 0.3], [0.3, 0.3, 0.0]])).tolist()
    [[0, 2], [1, 2], [0, 1]]
    """
    i, j = np.triu_indices(len(C), k=1)
    return np.column_stack([i, j])[np.argsort(-C[i, j], kind="stable")]


def maximum_spanning_tree(C: ArrayLike) -> Integers:
    """Return the tree of all labels whose edges have the largest sum of similarities.

    Parameters
    ----------
    C : array-like, or sparse array or matrix, of shape (L, L)
        Symmetric similarities, of any sign; the diagonal does not count.

    Returns
    -------
    ndarray of shape (L - 1, 2)
        The labels i < j of each edge, the edge with the largest similarity first. Of edges with equal similarities the
        first in C is taken first. Pairs with similarity 0 are edges like all others.

    Examples
    --------
    >>> maximum_spanning_tree([[0.0, 0.1, 0.3], [0.1, 0.0, 0.2], [0.3, 0.2, 0.0]])
    array([[0, 2],
           [1, 2]])
    """
    table = as_similarities(C)
    pairs = ranked_pairs(table)
    place = np.zeros(table.shape)
    place[pairs[:, 0], pairs[:, 1]] = np.arange(1, len(pairs) + 1)  # never 0, which SciPy takes for no edge
    kept = np.sort(minimum_spanning_tree(place).data.astype(np.int64))
    return np.asarray(pairs[kept - 1])


def greedy_chain(C: ArrayLike, start: int | None = None) -> Integers:
    """Return an order of the labels in which each is followed by the most similar one that is left.

    Parameters
    ----------
    C : array-like, or sparse array or matrix, of shape (L, L)
        Symmetric similarities, of any sign; the diagonal does not count.
    start : int, optional
        The first label; by default the chain starts with the two labels of the largest similarity.

    Returns
    -------
    ndarray of shape (L,)
        Of equally similar labels the first one comes first.

    Examples
    --------
    >>> greedy_chain([[0.0, 0.1, 0.3], [0.1, 0.0, 0.2], [0.3, 0.2, 0.0]])
    array([0, 2, 1])
    """
    table = as_similarities(C)
    L = len(table)
    if start is None:
        start = int(ranked_pairs(table)[0, 0]) if L > 1 else 0
    else:
        check_number("start", start, low=0, high=L - 1, whole=True)
    left = np.ones(L, dtype=bool)
    order = np.empty(L, dtype=np.int64)
    order[0] = start
    for k in range(1, L):
        left[order[k - 1]] = False
        order[k] = np.argmax(np.where(left, table[order[k - 1]], -np.inf))
    return order


def random_chain(n_labels: int, random_state: RandomState = None) -> Integers:
    """Return a random order of labels; all orders are equally likely.

    Parameters
    ----------
    n_labels : int
        At least 1.
    random_state : int, Generator, RandomState, optional
        Seed, or generator.

    Returns
    -------
    ndarray of shape (n_labels,)

    Examples
    --------
    >>> random_chain(5, 0)
    array([2, 4, 3, 0, 1])
    """
    check_number("n_labels", n_labels, low=1, whole=True)
    return make_generator(random_state).permutation(n_labels)


def normalized_inversions(weights: ArrayLike, likelihoods: ArrayLike) -> float:
    """Return the share of pairs in which the one with the larger likelihood has the smaller weight.

    Parameters
    ----------
    weights : array-like of shape (n,)
        Of chains or trees, such as the sums of similarities of their edges.
    likelihoods : array-like of shape (n,)
        Likelihoods of the models with these chains or trees, or their logarithms.

    Returns
    -------
    float
        0 if both order them alike, 1 if in opposite ways, near ½ if the weights say nothing. A pair with equal weights
        or equal likelihoods counts as in order.

    References
    ----------
    Section 7.3.2 of C.-X. Li's thesis (2011).

    Examples
    --------
    >>> normalized_inversions([3.0, 1.0, 2.0], [-1.0, -2.0, -3.0]).__round__(3)
    0.333
    """
    weight, likelihood = dense(as_numbers(weights, "weights")), dense(as_numbers(likelihoods, "likelihoods"))
    if weight.ndim != 1 or weight.shape != likelihood.shape or len(weight) < 2:
        raise InvalidInputError(
            f"expected at least two weights and as many likelihoods, found shapes {weight.shape} and {likelihood.shape}"
        )
    if np.isnan(weight).any() or np.isnan(likelihood).any():
        raise InvalidInputError("expected weights and likelihoods without NaN")
    n = len(weight)
    return _inversions(weight[np.lexsort((-weight, -likelihood))]) / (n * (n - 1) / 2)


def _inversions(values: NDArray[np.float64]) -> int:
    """Return the number of pairs in which the later value is larger, by a merge sort of all blocks of a size at a time.

    Examples
    --------
    >>> _inversions(np.array([3.0, 1.0, 2.0, 2.0, 4.0]))
    6
    """
    n = len(values)
    ranks = np.unique(-values, return_inverse=True)[1]  # the larger value has the smaller rank
    count, size, place = 0, 1, np.arange(n)
    while size < n:
        block, late = place // (2 * size), place // size % 2 == 1
        order = np.lexsort((late, ranks, block))  # of equal ranks the earlier comes first
        passed = np.cumsum(late[order]) - block * size  # all blocks before are full
        count += int(passed[~late[order]].sum())
        ranks, size = ranks[order], 2 * size
    return count
