"""Trees that all labels share; a leaf knows the share of its training instances that have each label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import xlogy

from cofactor.kernels.trees import Room, grow
from cofactor.labels.features import is_sparse
from cofactor.labels.learners.base import Arrays, CheckedFeatures, StateReader, put_pattern, wrong_state
from cofactor.labels.learners.per_label import LabelLearners
from cofactor.labels.learners.trees import Nodes

__all__ = ["GrownTree", "TreeData", "TreeLabelLearners", "TreeSettings", "grow_tree"]


class TreeLabelLearners(LabelLearners):
    """Decision trees that all labels share; probabilities are means over the trees.

    Parameters
    ----------
    nodes : Nodes
        The nodes of T trees.
    shares : csr_array of shape (N, L)
        Share of the training instances in a leaf that have each label; shares of 0 are not stored, so that many labels
        take little room. Other nodes have empty rows.
    n_features : int
        Number of features D.

    Examples
    --------
    >>> nodes = Nodes(
    ...     roots=np.array([0]),
    ...     left=np.array([1, -1, -1], dtype=np.int32),
    ...     right=np.array([2, -1, -1], dtype=np.int32),
    ...     feature=np.array([0, -1, -1], dtype=np.int32),
    ...     threshold=np.array([0.5, 0.0, 0.0]),
    ... )
    >>> learners = TreeLabelLearners(nodes, sparse.csr_array([[0.0, 0.0], [0.9, 0.2], [0.0, 1.0]]), 1)
    >>> learners.probabilities(np.array([[0.0], [1.0]]))
    array([[0.9, 0.2],
           [0. , 1. ]])
    """

    def __init__(self, nodes: Nodes, shares: sparse.csr_array, n_features: int) -> None:
        self.nodes, self.shares, self.n_features = nodes, shares, n_features
        self.n_labels = shares.shape[1]

    @classmethod
    def of_trees(cls, grown: Iterable[GrownTree], n_features: int) -> Self:
        """Return the learners of several trees."""
        trees = list(grown)
        shares = sparse.vstack([tree.shares for tree in trees], format="csr")
        return cls(Nodes.stacked([tree.nodes for tree in trees]), sparse.csr_array(shares), n_features)

    @property
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works."""
        return True

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return P(label is on | features) - 1/2 of shape (n, L)."""
        return self.probabilities(X) - 0.5

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return the mean share of each label in the leaves that an instance reaches, of shape (n, L)."""
        if X.shape[1] != self.n_features:  # the kernel would read beyond the rows
            raise wrong_state(f"X has {X.shape[1]} features, but the learners expect {self.n_features}")
        return np.asarray((_indicator(self.nodes.leaves(X), len(self.nodes)) @ self.shares).toarray())

    def _to_state(self) -> tuple[dict[str, Any], Arrays]:
        arrays = self.nodes.arrays() | {"shares.data": self.shares.data}
        put_pattern("shares", self.shares, arrays)
        header = {"n_features": self.n_features, "n_labels": self.n_labels, "sklearn": sklearn.__version__}
        return header, arrays

    @classmethod
    def _from_state(
        cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        state = StateReader(header, arrays)
        n_features, n_labels = state.whole("n_features", low=1), state.whole("n_labels", low=1)
        nodes = Nodes.read(state, n_features)
        pointers, columns = state.pattern("shares", len(nodes), n_labels)
        data = state.floats("shares.data", (len(columns),))
        if len(data) and not 0 < data.min() <= data.max() <= 1:
            raise wrong_state("shares of labels must lie above 0 and not above 1")
        return cls(nodes, sparse.csr_array((data, columns, pointers), shape=(len(nodes), n_labels)), n_features)


class GrownTree(NamedTuple):
    """A tree, and the shares of the labels in its leaves."""

    nodes: Nodes
    shares: sparse.csr_array


class TreeSettings(NamedTuple):
    """How trees are grown; as parameters of scikit-learn's trees."""

    criterion: str = "entropy"
    max_features: int = 1
    max_depth: int | None = None
    min_samples_leaf: int = 1
    ccp_alpha: float = 0.0
    random_places: bool = False  #: whether a split is the best of one at a random place for each feature


class TreeData(NamedTuple):
    """Features by columns and labels by rows, of which trees are grown."""

    columns: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]
    labels: sparse.csr_array

    @classmethod
    def of(cls, X: CheckedFeatures, labels: sparse.csr_array) -> Self:
        """Return the data for checked features and labels."""
        n, D = X.shape
        if is_sparse(X):
            by_column = sparse.csc_array(X, dtype=np.float32)
            pointers, rows, values = by_column.indptr, by_column.indices.astype(np.int32), by_column.data
        else:  # rows are not needed where no value is missing
            values = np.asarray(X, dtype=np.float32).ravel(order="F")
            pointers, rows = n * np.arange(D + 1), np.empty(0, np.int32)
        return cls((pointers.astype(np.int64), rows, values), labels.astype(np.float64))


def grow_tree(data: TreeData, settings: TreeSettings, seed: int, counts: NDArray[np.int64] | None = None) -> GrownTree:
    """Grow the tree for all labels at once that scikit-learn grows with the same settings.

    Parameters
    ----------
    data : TreeData
        n instances.
    settings : TreeSettings
    seed : int
        ``random_state`` of scikit-learn's tree.
    counts : ndarray of shape (n,), optional
        How often each instance counts; by default once.
    """
    n, L = data.labels.shape
    room = Room.of(n, len(data.columns[0]) - 1, L)
    room.counts[:] = 1 if counts is None else counts
    heavy = int(room.counts.sum())
    gini = settings.criterion == "gini"
    room.pure[0] = _impurity(room.counts @ data.labels / heavy, gini)
    depth = n if settings.max_depth is None else settings.max_depth
    limits = np.array([settings.max_features, depth, settings.min_samples_leaf, settings.random_places, gini])
    state = np.array([np.random.RandomState(seed).randint(0, np.iinfo(np.int32).max)], np.int64)
    left, right, feature = (np.empty(2 * n, np.int32) for _ in range(3))
    threshold, impurity, weight = (np.empty(2 * n) for _ in range(3))
    leaf_of = np.zeros(n, np.int32)
    rows = data.labels.indptr.astype(np.int64), data.labels.indices.astype(np.int32, copy=False)
    nodes = left, right, feature, threshold, impurity, weight
    size = grow(data.columns, rows, room, limits, state, nodes, leaf_of)
    found = Nodes(np.zeros(1, np.int64), left[:size], right[:size], feature[:size], threshold[:size])
    if settings.ccp_alpha > 0:
        found, leaf_of = _pruned(found, leaf_of, weight[:size] * impurity[:size] / heavy, settings.ccp_alpha)
    share = room.counts / np.maximum(np.bincount(leaf_of, room.counts, len(found)), 1)[leaf_of]
    at = sparse.csr_array((share, (leaf_of, np.arange(n))), (len(found), n))
    at.eliminate_zeros()
    shares = sparse.csr_array(at @ data.labels)
    shares.sort_indices()
    np.minimum(shares.data, 1.0, out=shares.data)  # sums of weights may exceed 1 by a rounding error
    return GrownTree(Nodes(*(part.copy() for part in found.arrays().values())), shares)


def _impurity(p: NDArray[np.float64], gini: bool) -> float:
    """Return the mean impurity of labels that have the shares p in a node."""
    if gini:
        return float(2 * np.mean(p * (1 - p)))
    return float(-np.mean(xlogy(p, p) + xlogy(1 - p, 1 - p)) / np.log(2))


def _pruned(
    nodes: Nodes, leaf_of: NDArray[np.int32], cost: NDArray[np.float64], alpha: float
) -> tuple[Nodes, NDArray[np.int32]]:
    """Take splits back that lower the cost by at most alpha for each leaf, from below; return leaves of instances."""
    left, right, size = nodes.left, nodes.right, len(nodes)
    below, n_leaves, leaf = cost.copy(), np.ones(size, np.int64), left < 0
    for t in np.flatnonzero(~leaf)[::-1]:
        branch, count = below[left[t]] + below[right[t]], n_leaves[left[t]] + n_leaves[right[t]]
        if (cost[t] - branch) / (count - 1) <= alpha:
            leaf[t] = True
        else:
            below[t], n_leaves[t] = branch, count
    top = np.arange(size)  # the node that stands for each
    for t in np.flatnonzero(left >= 0):
        if leaf[top[t]]:
            top[left[t]] = top[right[t]] = top[t]
    kept = top == np.arange(size)
    number = np.cumsum(kept, dtype=np.int32) - 1
    leaf = leaf[kept]
    left, right = (np.where(leaf, -1, number[each[kept]]).astype(np.int32) for each in (left, right))
    feature = np.where(leaf, -1, nodes.feature[kept]).astype(np.int32)
    return Nodes(nodes.roots, left, right, feature, np.where(leaf, 0.0, nodes.threshold[kept])), number[top[leaf_of]]


def _indicator(leaves: NDArray[np.int32], n_nodes: int) -> sparse.csr_array:
    """Return for each instance 1 / T in the columns of its T leaves."""
    n, n_trees = leaves.shape
    data = np.full(n * n_trees, 1 / n_trees)
    return sparse.csr_array((data, leaves.ravel(), n_trees * np.arange(n + 1)), shape=(n, n_nodes))
