"""Chains, trees and clusters of labels, from similarities of these.

Chains and trees place similar labels beside each other; clusters come from spectral clustering.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.cluster import KMeans

from cofactor.checks import check_flag, check_number, make_generator
from cofactor.chunked import as_dense
from cofactor.correlation.similarities import CONSTANT, Floats, as_numbers, as_similarities, co_occurrence
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import library_limit
from cofactor.typing import RandomState

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
    weight, likelihood = as_dense(as_numbers(weights, "weights")), as_dense(as_numbers(likelihoods, "likelihoods"))
    if weight.ndim != 1 or weight.shape != likelihood.shape or len(weight) < 2:
        raise InvalidInputError(
            f"expected at least two weights and as many likelihoods, found shapes {weight.shape} and {likelihood.shape}"
        )
    if np.isnan(weight).any() or np.isnan(likelihood).any():
        raise InvalidInputError("expected weights and likelihoods without NaN")
    n = len(weight)
    return _inversions(weight[np.lexsort((-weight, -likelihood))]) / (n * (n - 1) / 2)


def _inversions(values: NDArray[np.float64]) -> int:
    """Return the number of pairs in which the later value is larger.

    Examples
    --------
    >>> _inversions(np.array([3.0, 1.0, 2.0, 2.0, 4.0]))
    6
    """
    count, earlier = 0, list[float]()
    for value in values.tolist():
        count += bisect_left(earlier, value)
        insort(earlier, value)
    return count


def positive_part(R: NDArray[Any]) -> Floats:
    """Return the nearest positive semidefinite matrix: R with its negative eigenvalues set to 0.

    Parameters
    ----------
    R : ndarray of shape (d, d)
        A symmetric matrix.

    Returns
    -------
    ndarray of shape (d, d)

    Examples
    --------
    >>> positive_part(np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    values, vectors = np.linalg.eigh(R)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)


def self_tuning_affinity(Y: Any, neighbour: int = 7) -> Floats:
    r"""Return affinities of columns, each measured on its own scale.

    .. math:: A_{ij} = \exp\left(-\frac{\|Y_i - Y_j\|^2}{s_i s_j}\right), \qquad A_{ii} = 0

    with s_i the distance of column i from its k-th nearest other column (from the farthest one, if there are fewer
    than k). Zelnik-Manor and Perona ("Self-tuning spectral clustering", NIPS 2004) call it self-tuning. Where k columns
    equal column i, s_i would be 0, and is the distance of the nearest different column instead; if all columns are
    equal, all affinities are 1 (corrections.md, C41).

    Parameters
    ----------
    Y : array-like, or sparse array or matrix, of shape (n, L)
        Columns of any numbers.
    neighbour : int, default=7
        k, which neighbour sets the scale; 7 is the choice of these authors.

    Returns
    -------
    ndarray of shape (L, L)
        Symmetric, from 0 to 1. The same for labels coded 0/1 and ±1.

    Examples
    --------
    >>> Y = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]])
    >>> self_tuning_affinity(Y).round(3)
    array([[0.   , 0.749, 0.368],
           [0.749, 0.   , 0.421],
           [0.368, 0.421, 0.   ]])
    """
    gram = co_occurrence(Y)
    n_columns = len(gram)
    if n_columns == 1:
        return np.zeros((1, 1))
    squares = np.diag(gram)
    distances = np.maximum(squares[:, None] + squares - 2 * gram, 0)  # squared, as are the scales
    distances[distances <= CONSTANT * (squares[:, None] + squares)] = 0
    others = np.sort(distances + np.diag(np.full(n_columns, np.inf)), axis=1)[:, :-1]
    scale = others[:, min(neighbour, n_columns - 1) - 1]
    nearest = np.min(others, axis=1, initial=np.inf, where=others > 0)
    scale = np.where(scale > 0, scale, np.where(np.isfinite(nearest), nearest, 1.0))
    affinity = np.exp(-distances / np.sqrt(scale[:, None] * scale))
    np.fill_diagonal(affinity, 0)
    return np.asarray(affinity)


def spectral_groups(affinity: NDArray[Any], n_groups: int, random_state: int = 0) -> NDArray[np.intp]:
    r"""Group columns by spectral clustering of their affinities.

    The K leading eigenvectors of :math:`D^{-1/2} A D^{-1/2}`, D = diag(A 1), are the columns of a matrix. Its rows, one
    for each column of the data, are scaled to length 1 and clustered by k-means (corrections.md, C41).

    Parameters
    ----------
    affinity : ndarray of shape (L, L)
        Symmetric, not negative.
    n_groups : int
        Number K of groups, at least 1; if it is above L, there are L groups.
    random_state : int, default=0
        Seed of k-means, which runs from ten starting points and keeps the best result.

    Returns
    -------
    ndarray of shape (L,)
        Group of each column, 0, 1, ... in the order in which they first occur.

    Examples
    --------
    >>> A = np.kron(np.eye(2), np.ones((2, 2)))[[0, 2, 1, 3]][:, [0, 2, 1, 3]]
    >>> spectral_groups(A, 2)
    array([0, 1, 0, 1])
    """
    check_number("n_groups", n_groups, low=1, whole=True)
    n_columns = len(affinity)
    n_groups = min(n_groups, n_columns)
    if n_groups == 1:
        return np.zeros(n_columns, dtype=np.intp)
    scale = 1 / np.sqrt(np.maximum(affinity.sum(axis=1), np.finfo(float).eps))  # an isolated column has no affinity
    laplacian = affinity * scale[:, None] * scale
    _, vectors = linalg.eigh(laplacian, subset_by_index=[n_columns - n_groups, n_columns - 1])
    points = vectors * np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(n_groups)])
    length = np.linalg.norm(points, axis=1, keepdims=True)
    points = points / np.where(length > 0, length, 1)
    with library_limit(1):  # with several threads, its sums would depend on the order in which these end
        clusters = KMeans(n_groups, n_init=10, random_state=random_state).fit_predict(points)
    _, first, group = np.unique(clusters, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[group], dtype=np.intp)


Clusters = list[NDArray[np.int64]]

_LEAST_SHARE = 4  #: a cut leaves at least one label in so many on each side


def _sorted(clusters: Any) -> Clusters:
    """Return clusters with their labels in increasing order, the one with the first label first."""
    found = [np.sort(np.asarray(one, dtype=np.int64)) for one in clusters]
    return sorted(found, key=lambda one: tuple(one.tolist()))


def disjoint_clusters(C: ArrayLike, max_size: int, *, wait: bool = True, least: float | None = None) -> Clusters:
    r"""Merge labels by single linkage into clusters of limited size.

    Pairs are taken by decreasing similarity, as Kruskal's algorithm takes edges, and the clusters P and Q of the two
    labels are merged if :math:`|P| + |Q|` is at most `max_size`. So clusters are linked by
    :math:`\max_{p \in P, q \in Q} C_{pq}`.

    Parameters
    ----------
    C : array-like, or sparse array or matrix, of shape (L, L)
        Symmetric similarities; the diagonal does not count.
    max_size : int
        Most labels in a cluster, at least 1; if there are fewer labels, all can be in one.
    wait : bool, default=True
        Whether clusters that are too large to be merged wait, while others still are. Otherwise the first merge that
        would be too large ends all, which leaves many clusters of one or two labels.
    least : float, optional
        Pairs with a smaller similarity are not merged; by default all are.

    Returns
    -------
    list of ndarray
        The labels of each cluster, in increasing order; the cluster with the first label comes first.

    References
    ----------
    Section 5.4 of C.-X. Li's thesis (2011).

    Examples
    --------
    >>> C = [[0.0, 0.9, 0.8, 0.1], [0.9, 0.0, 0.2, 0.1], [0.8, 0.2, 0.0, 0.5], [0.1, 0.1, 0.5, 0.0]]
    >>> disjoint_clusters(C, 2)
    [array([0, 1]), array([2, 3])]
    >>> disjoint_clusters(C, 2, wait=False)
    [array([0, 1]), array([2]), array([3])]
    """
    check_number("max_size", max_size, low=1, whole=True)
    check_flag("wait", wait)
    check_number("least", least, low=-np.inf, also=[None])
    table = as_similarities(C)
    cluster_of = np.arange(len(table))
    members: dict[int, list[int]] = {k: [k] for k in range(len(table))}
    pairs = ranked_pairs(table)
    if least is not None:
        pairs = pairs[table[pairs[:, 0], pairs[:, 1]] >= least]
    for i, j in pairs.tolist():
        one, other = int(cluster_of[i]), int(cluster_of[j])
        if one == other:
            continue
        if len(members[one]) + len(members[other]) > max_size:
            if wait:
                continue
            break
        moved = members.pop(other)
        cluster_of[moved] = one
        members[one] += moved
    return _sorted(members.values())


def overlapping_clusters(C: ArrayLike, max_size: int, *, least: float | None = None) -> Clusters:
    """Grow a cluster from each label; each cluster is kept once.

    The label that is most similar to any in the cluster joins it, as Prim's algorithm grows a tree, until the cluster
    has `max_size` labels, or that similarity is below `least`.

    Parameters
    ----------
    C : array-like, or sparse array or matrix, of shape (L, L)
        Symmetric similarities; the diagonal does not count.
    max_size : int
        Most labels in a cluster, at least 1; if there are fewer labels, all can be in one.
    least : float, optional
        Labels with a smaller similarity do not join; by default all do.

    Returns
    -------
    list of ndarray
        The labels of each cluster, in increasing order; each label is in one at least. Of equally similar labels the
        first one joins first.

    References
    ----------
    Section 5.4 of C.-X. Li's thesis (2011).

    Examples
    --------
    >>> C = [[0.0, 0.9, 0.8, 0.1], [0.9, 0.0, 0.2, 0.1], [0.8, 0.2, 0.0, 0.5], [0.1, 0.1, 0.5, 0.0]]
    >>> overlapping_clusters(C, 2)
    [array([0, 1]), array([0, 2]), array([2, 3])]
    """
    check_number("max_size", max_size, low=1, whole=True)
    check_number("least", least, low=-np.inf, also=[None])
    table = as_similarities(C)
    every = np.arange(len(table))
    inside = np.eye(len(table), dtype=bool)  # row s: the cluster that starts with label s
    nearest = table.copy()  # its similarity with each other label
    for _ in range(min(max_size, len(table)) - 1):
        nearest[inside] = -np.inf
        joins = np.argmax(nearest, axis=1)
        grows = nearest[every, joins] > -np.inf if least is None else nearest[every, joins] >= least
        inside[every[grows], joins[grows]] = True
        nearest[grows] = np.maximum(nearest[grows], table[joins[grows]])
    return _sorted(np.flatnonzero(row) for row in np.unique(inside, axis=0))


def normalized_cut_clusters(C: ArrayLike, max_size: int) -> Clusters:
    r"""Cut the labels in two by the normalized cut, and the parts again, until all are small enough.

    Labels are sorted by the second eigenvector of :math:`D^{-1/2} C D^{-1/2}`, D = diag(C 1), scaled by
    :math:`D^{-1/2}`, and are cut in that order where

    .. math:: \frac{\sum_{p \in P, q \in Q} C_{pq}}{\sum_{p \in P} D_{pp}} +
        \frac{\sum_{p \in P, q \in Q} C_{pq}}{\sum_{q \in Q} D_{qq}}

    is least, of all cuts that leave a quarter of the labels, rounded down, and one at least, on each side.

    Parameters
    ----------
    C : array-like, or sparse array or matrix, of shape (L, L)
        Symmetric similarities; the diagonal does not count. If any is negative, the least one is subtracted from all.
    max_size : int
        Most labels in a cluster, at least 1; with L or more, there is no cut.

    Returns
    -------
    list of ndarray
        The labels of each cluster, in increasing order; the cluster with the first label comes first.

    References
    ----------
    J. Shi & J. Malik, "Normalized cuts and image segmentation", IEEE Transactions on Pattern Analysis and Machine
    Intelligence 22, 2000, doi:10.1109/34.868688; for labels, section 5.4 of C.-X. Li's thesis (2011).

    Examples
    --------
    >>> C = np.kron(np.eye(2), np.ones((2, 2)))[[0, 2, 1, 3]][:, [0, 2, 1, 3]] + 0.1
    >>> normalized_cut_clusters(C, 2)
    [array([0, 2]), array([1, 3])]
    """
    check_number("max_size", max_size, low=1, whole=True)
    table = as_similarities(C).copy()
    table -= min(0.0, float(table.min()))
    np.fill_diagonal(table, 0)
    table = np.ldexp(table, -np.frexp(table.max())[1])  # the largest one is near 1: nothing is lost, or too small
    done, waiting = [], [np.arange(len(table))]
    with library_limit(1):  # with several threads, eigenvectors would depend on the order of sums
        while waiting:
            part = waiting.pop()
            if len(part) <= max_size:
                done.append(part)
            else:
                waiting += [part[side] for side in _cut(table[np.ix_(part, part)])]
    return _sorted(done)


def _cut(affinity: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two sides of the least normalized cut along the second eigenvector."""
    n, sums = len(affinity), affinity.sum(axis=1)
    degree = np.maximum(sums, np.finfo(float).eps)  # a label that is like no other has none
    scale = 1 / np.sqrt(degree)
    _, vectors = linalg.eigh(affinity * scale[:, None] * scale, subset_by_index=[n - 2, n - 1])
    place = vectors[:, 0] * scale
    order = np.argsort(place * np.sign(place[np.argmax(np.abs(place))]), kind="stable")
    within = np.cumsum(np.tril(affinity[np.ix_(order, order)], -1).sum(axis=1))  # pairs among the first labels
    crossing = np.maximum(np.cumsum(sums[order]) - 2 * within, 0.0)
    first, second = np.cumsum(degree[order]), np.cumsum(degree[order[::-1]])[::-1]
    fewest = max(1, n // _LEAST_SHARE)
    cuts = np.arange(fewest, n - fewest + 1)  # numbers of labels on the first side
    cost = crossing[cuts - 1] * (1 / first[cuts - 1] + 1 / second[cuts])
    size = int(cuts[np.argmin(cost)])
    return order[:size], order[size:]


def random_clusters(n_labels: int, max_size: int, random_state: RandomState = None) -> Clusters:
    """Deal labels at random into the fewest clusters of at most `max_size` labels, whose sizes differ by one at most.

    Parameters
    ----------
    n_labels, max_size : int
        At least 1 each.
    random_state : int, Generator, RandomState, optional
        Seed, or generator.

    Returns
    -------
    list of ndarray
        The labels of each cluster, in increasing order; the cluster with the first label comes first.

    Examples
    --------
    >>> random_clusters(5, 2, 0)
    [array([0, 3]), array([1]), array([2, 4])]
    """
    check_number("n_labels", n_labels, low=1, whole=True)
    check_number("max_size", max_size, low=1, whole=True)
    return _sorted(np.array_split(make_generator(random_state).permutation(n_labels), -(-n_labels // max_size)))
