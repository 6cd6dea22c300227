"""The tree of labels that a conditional random field has: how it is drawn, chosen and read. A chain is a tree."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from cofactor.correlation import maximum_spanning_tree, measured, random_chain
from cofactor.errors import InvalidInputError
from cofactor.labels.base import FitInput
from cofactor.labels.crf.fields import TreeField
from cofactor.problems.random_fields import LabelTree

BY_CORRELATION, BY_LIKELIHOOD = "sampled-correlation", "sampled-likelihood"
SAMPLED = (BY_CORRELATION, BY_LIKELIHOOD)  #: how the best of some random trees is told


def chain_tree(order: NDArray[np.int64]) -> LabelTree:
    """Return a chain as a tree, whose root is the first label.

    Examples
    --------
    >>> chain_tree(np.array([2, 0, 1]))
    LabelTree(order=array([2, 0, 1]), parents=array([ 2,  0, -1]))
    """
    parents = np.empty(len(order), dtype=np.int64)
    parents[order] = np.append(-1, order[:-1])
    return LabelTree(order, parents)


def tree_of_edges(edges: NDArray[np.int64], n_labels: int) -> LabelTree:
    """Return edges, shape (L - 1, 2), as a tree whose root is label 0.

    Examples
    --------
    >>> tree_of_edges(np.array([[0, 2], [1, 2]]), 3)
    LabelTree(order=array([0, 2, 1]), parents=array([-1,  2,  0]))
    """
    graph = sparse.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n_labels, n_labels))
    order, before = breadth_first_order(graph, 0, directed=False)
    return LabelTree(order.astype(np.int64), np.where(before < 0, -1, before).astype(np.int64))


def drawn_chain(n_labels: int, generator: np.random.Generator) -> LabelTree:
    """Return a random chain."""
    return chain_tree(random_chain(n_labels, generator))


def drawn_tree(n_labels: int, generator: np.random.Generator) -> LabelTree:
    """Return the maximum spanning tree of random numbers."""
    table = generator.random((n_labels, n_labels))
    return tree_of_edges(maximum_spanning_tree(table + table.T), n_labels)


def best_of(
    trees: Iterable[LabelTree], by: str, data: FitInput, *, measure: str, learning: tuple[float, int, float]
) -> LabelTree:
    """Return the best of some trees, of equally good ones the first.

    Parameters
    ----------
    trees : iterable of LabelTree
    by : {"sampled-correlation", "sampled-likelihood"}
        Whether the best one has the largest sum of a measure over its edges, or the least objective.
    data : FitInput
        With the labels that vary.
    measure : str
        Of "sampled-correlation".
    learning : tuple
        Penalty, iterations and tolerance of "sampled-likelihood".
    """
    if by == BY_CORRELATION:
        table = measured(measure, data.features, data.labels, data.weights)
        return max(trees, key=lambda tree: float(table[tuple(tree.edges().T)].sum()))
    return min(distinct(trees).values(), key=lambda tree: TreeField(tree).learn(data, *learning)[0].objective)


def tree_bytes(data: FitInput) -> int:
    """Return how many bytes a fit takes at least."""
    (n, D), L = data.features.shape, data.labels.shape[1]
    return 8 * (5 * n * L + 25 * D * L + L * L)


def undirected(tree: LabelTree) -> frozenset[frozenset[int]]:
    """Return the edges of a tree without a direction.

    Trees that have the same are one model, such as a chain and its reverse.

    Examples
    --------
    >>> undirected(chain_tree(np.array([2, 0, 1]))) == undirected(chain_tree(np.array([1, 0, 2])))
    True
    """
    return frozenset(map(frozenset, tree.edges().tolist()))


def distinct(trees: Iterable[LabelTree]) -> dict[frozenset[frozenset[int]], LabelTree]:
    """Return the trees that are different models, by their edges: of few labels, many that are drawn are the same."""
    found: dict[frozenset[frozenset[int]], LabelTree] = {}
    for tree in trees:
        found.setdefault(undirected(tree), tree)
    return found


def of_varying(tree: LabelTree, constant: NDArray[np.int8]) -> LabelTree:
    """Return a tree of all labels as one of those that vary, of which there is one at least.

    What hangs on a constant label hangs on the next label above it that varies; without one, on the new root.

    Examples
    --------
    >>> of_varying(chain_tree(np.array([3, 0, 1, 2])), np.array([0, 1, 0, 0]))
    LabelTree(order=array([2, 0, 1]), parents=array([ 2,  0, -1]))
    """
    varies, above = constant == 0, tree.parents.copy()
    for label in tree.order[1:]:
        if not varies[above[label]]:
            above[label] = above[above[label]]
    order = tree.order[varies[tree.order]]
    above[above < 0] = order[0]
    above[order[0]] = -1
    place = np.append(np.cumsum(varies) - 1, -1)  # the last one for "no label", -1
    return LabelTree(place[order], place[above[varies]])


def check_tree(order: NDArray[np.int64], parents: NDArray[np.int64], n_labels: int) -> None:
    """Refuse what is no tree of the labels, such as in a file: kernels do not check."""
    if np.array_equal(np.sort(order), np.arange(n_labels)) and parents.shape == order.shape:
        place, above = np.argsort(order), parents[order[1:]]
        root = parents[order[0]] == -1
        if root and np.all((above >= 0) & (above < n_labels)) and np.all(place[above] < np.arange(1, n_labels)):
            return
    raise InvalidInputError("expected a tree of the labels, in which each comes after its parent")
