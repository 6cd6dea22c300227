"""Decision trees and forests as plain arrays: of classes, or of labels that share all trees, whose shares leaves know.

Kernels of this package predict from them, so scikit-learn is not needed for that. A tree of scikit-learn could only be
rebuilt with a private class: its layout changes between versions, and it follows the children of a node without
checking them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import xlogy
from sklearn import ensemble, tree

from cofactor.checks import whole
from cofactor.chunked import is_sparse
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import parallel_for
from cofactor.kernels.trees import (
    TreeWorkspace,
    add_leaf_values,
    add_leaf_values_of_sparse,
    find_leaves,
    find_leaves_of_sparse,
    grow,
)
from cofactor.labels.features import CheckedFeatures
from cofactor.labels.learners.base import Learner, Stored, scores_of, wrong_state
from cofactor.model.estimator import learned

#: Decision trees of scikit-learn that become a `TreesLearner`.
TREES: tuple[type[Any], ...] = (tree.DecisionTreeClassifier, tree.ExtraTreeClassifier)

#: Forests of scikit-learn that become a `TreesLearner`.
FORESTS: tuple[type[Any], ...] = (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier)

_ROWS_PER_TASK = 256


def _rounded(x: NDArray[Any]) -> NDArray[np.float32]:
    """Return features as training rounds them; what is too large becomes infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(x, np.float32)


class Nodes(Stored):
    """The nodes of one or more trees; what they say is kept beside them.

    Parameters
    ----------
    roots : ndarray of shape (T,), int64
        The first node of each tree. The other nodes of the tree follow it, up to the next root.
    left, right : ndarray of shape (N,), int32
        Children of a node, which come after it in the same tree; both are -1 for a leaf.
    feature : ndarray of shape (N,), int32
        The feature that a node compares; -1 for a leaf.
    threshold : ndarray of shape (N,), float64
        A row goes to the left child if the feature, rounded to float32, is at most this; 0 for a leaf.
    """

    roots: NDArray[np.int64] = learned("trees", dtype=np.int64)
    left: NDArray[np.int32] = learned("nodes", dtype=np.int32)
    right: NDArray[np.int32] = learned("nodes", dtype=np.int32)
    feature: NDArray[np.int32] = learned("nodes", dtype=np.int32)
    threshold: NDArray[np.float64] = learned("nodes", dtype=np.float64)

    def __init__(
        self,
        roots: NDArray[np.int64],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
    ) -> None:
        self.roots, self.left, self.right, self.feature, self.threshold = roots, left, right, feature, threshold

    def __len__(self) -> int:
        return len(self.left)

    @classmethod
    def of_trees(cls, trees: Sequence[Any]) -> Self:
        """Return the nodes of trees of scikit-learn, its ``tree_``."""
        sizes = np.array([each.node_count for each in trees])
        roots = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        shift = np.repeat(roots, sizes)
        left, right, feature, threshold = (
            np.concatenate([getattr(each, name) for each in trees])
            for name in ("children_left", "children_right", "feature", "threshold")
        )
        leaf = left < 0
        return cls(
            roots.astype(np.int64),
            np.where(leaf, -1, left + shift).astype(np.int32),
            np.where(leaf, -1, right + shift).astype(np.int32),
            np.where(leaf, -1, feature).astype(np.int32),
            np.where(leaf, 0.0, threshold),
        )

    @classmethod
    def stacked(cls, parts: Sequence[Nodes]) -> Self:
        """Return the nodes of several trees, one after the other."""
        shifts = np.concatenate(([0], np.cumsum([len(part) for part in parts])[:-1]))

        def moved(name: str) -> NDArray[np.int32]:
            children = [(getattr(part, name), shift) for part, shift in zip(parts, shifts, strict=True)]
            return np.concatenate([np.where(each < 0, -1, each + shift) for each, shift in children]).astype(np.int32)

        return cls(
            np.concatenate([part.roots + shift for part, shift in zip(parts, shifts, strict=True)]),
            moved("left"),
            moved("right"),
            np.concatenate([part.feature for part in parts]),
            np.concatenate([part.threshold for part in parts]),
        )

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays as kernels take them."""
        return self.roots, self.left, self.right, self.feature, self.threshold

    def leaves(self, X: CheckedFeatures) -> NDArray[np.int32]:
        """Return the leaf of each tree that each instance reaches, shape (n, T)."""
        found = np.empty((X.shape[0], len(self.roots)), np.int32)
        self.walk(X, found, find_leaves, find_leaves_of_sparse)
        return found

    def walk(self, X: CheckedFeatures, out: NDArray[Any], dense: Any, of_sparse: Any, *more: NDArray[Any]) -> None:
        """Let a kernel, one for dense rows or one for sparse ones, write what it finds in the trees of each row."""
        nodes = (*self.arrays(), *more)
        values = None if isinstance(X, np.ndarray) else _rounded(X.data)

        def task(t: int) -> None:
            lo, hi = t * _ROWS_PER_TASK, (t + 1) * _ROWS_PER_TASK
            if isinstance(X, np.ndarray):
                dense(_rounded(X[lo:hi]), *nodes, out[lo:hi])
            else:
                of_sparse(X.indptr[lo : hi + 1], X.indices, values, X.shape[1], *nodes, out[lo:hi])

        parallel_for(task, -(-X.shape[0] // _ROWS_PER_TASK))

    def check(self, n_features: int) -> None:
        """Refuse nodes that do not form trees: the kernel follows children without a check."""
        n = len(self.left)
        if not 1 <= n < 1 << 31:
            raise wrong_state(f"expected 1 to {(1 << 31) - 1} nodes, found {n}")
        if not len(self.roots) or self.roots[0] != 0 or (np.diff(self.roots) <= 0).any() or self.roots[-1] >= n:
            raise wrong_state("the roots must rise from 0, each a node")
        nodes = np.arange(n)
        leaf = self.left == -1
        inner = nodes[~leaf]
        odd = leaf & ((self.right != -1) | (self.feature != -1))
        if odd.any():
            raise wrong_state(
                f"node {np.argmax(odd)} has no left child, so it must have no right child, and feature -1"
            )
        tree_of = np.searchsorted(self.roots, nodes, side="right") - 1
        for child in (self.left[inner], self.right[inner]):
            after = (child > inner) & (child < n)
            if not after.all():
                at = int(np.argmin(after))
                raise wrong_state(f"node {inner[at]} has the child {child[at]}, expected one after it and below {n}")
            same = tree_of[child] == tree_of[inner]
            if not same.all():
                raise wrong_state(f"node {inner[np.argmin(same)]} has a child in another tree")
        parents = np.bincount(np.concatenate((self.left[inner], self.right[inner])), minlength=n)
        expected = np.ones(n, dtype=parents.dtype)
        expected[self.roots] = 0
        if (parents != expected).any():
            at = int(np.argmax(parents != expected))
            raise wrong_state(f"node {at} has {parents[at]} parents, expected {expected[at]}")
        compared = self.feature[inner]
        unknown = (compared < 0) | (compared >= n_features)
        if unknown.any():
            at = int(np.argmax(unknown))
            raise wrong_state(f"node {inner[at]} compares feature {compared[at]} of {n_features}")


class TreesLearner(Learner):
    """The mean of what the leaves of one or more trees say; labels share all trees.

    Scores are P(class) - 1/2, of two classes only that of the second one; or P(label is on) - 1/2.

    Parameters
    ----------
    nodes : Nodes
        The nodes of T trees.
    values : ndarray of shape (N, K), or csr_array of shape (N, L)
        Share of each class among the training instances of a node. Or share of the training instances in a leaf that
        have each label; shares of 0 are not stored, so that many labels take little room, and other nodes have empty
        rows.
    classes : ndarray of shape (K,), optional
        The classes, increasing; by default values are those of labels.
    n_features : int
        Number of features D.

    Examples
    --------
    >>> stump = Nodes(
    ...     roots=np.array([0]),
    ...     left=np.array([1, -1, -1], dtype=np.int32),
    ...     right=np.array([2, -1, -1], dtype=np.int32),
    ...     feature=np.array([0, -1, -1], dtype=np.int32),
    ...     threshold=np.array([0.5, 0.0, 0.0]),
    ... )
    >>> learner = TreesLearner(stump, np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]]), np.array([0, 1]), n_features=1)
    >>> learner.scores(np.array([[0.0], [1.0]]))
    array([-0.4,  0.4])
    >>> shares = sparse.csr_array([[0.0, 0.0], [0.9, 0.2], [0.0, 1.0]])
    >>> TreesLearner(stump, shares, n_features=1).probabilities(np.array([[0.0], [1.0]]))
    array([[0.9, 0.2],
           [0. , 1. ]])
    """

    nodes: Nodes = learned(kind=Nodes)
    values: Any = learned("nodes outputs", dtype=np.float64)
    classes: Any = learned("outputs", dtype=np.int64, optional=True)
    n_features: int = learned(check=whole())

    def __init__(self, nodes: Nodes, values: Any, classes: NDArray[np.int64] | None = None, *, n_features: int) -> None:
        self.nodes, self.values, self.classes, self.n_features = nodes, values, classes, n_features
        self.n_labels = values.shape[1] if classes is None else 1

    @classmethod
    def from_estimator(cls, fitted: Any, classes: NDArray[np.int64]) -> Self:
        """Return the learner of a fitted tree or forest of scikit-learn."""
        trees = [each.tree_ for each in getattr(fitted, "estimators_", [fitted])]
        values = np.ascontiguousarray(np.concatenate([each.value[:, 0, :] for each in trees]))
        return cls(Nodes.of_trees(trees), values, classes, n_features=int(fitted.n_features_in_))

    @classmethod
    def of_grown(cls, grown: Iterable[GrownTree], n_features: int) -> Self:
        """Return the learner of labels of several trees."""
        trees = list(grown)
        shares = sparse.csr_array(sparse.vstack([tree.shares for tree in trees], format="csr"))
        return cls(Nodes.stacked([tree.nodes for tree in trees]), shares, n_features=n_features)

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return the mean share of each class or label in the leaves that an instance reaches."""
        if X.shape[1] != self.n_features:  # the kernel would read beyond the rows
            raise InvalidInputError(f"X has {X.shape[1]} features, but the learner expects {self.n_features}")
        if self.classes is None:
            return np.asarray((_indicator(self.nodes.leaves(X), len(self.nodes)) @ self.values).toarray())
        found = np.zeros((X.shape[0], len(self.classes)))
        self.nodes.walk(X, found, add_leaf_values, add_leaf_values_of_sparse, self.values)
        found /= len(self.nodes.roots)
        return found

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return probabilities - 1/2; of two classes only that of the second one."""
        found = self.probabilities(X)
        return found - 0.5 if self.classes is None else scores_of(found)

    def _check(self) -> None:
        super()._check()
        self.nodes.check(self.n_features)
        if self.values.shape[0] != len(self.nodes) or sparse.issparse(self.values) != (self.classes is None):
            raise wrong_state(f"expected values of {len(self.nodes)} nodes")
        if self.classes is None:
            if not self.values.shape[1] or ((self.values.data <= 0) | (self.values.data > 1)).any():
                raise wrong_state("shares of labels must lie above 0 and not above 1")
            return
        off = (self.values < 0).any(axis=1) | (np.abs(self.values.sum(axis=1) - 1) > 1e-6)
        if off.any():
            raise wrong_state(f"the values of node {np.argmax(off)} must be at least 0 and have the sum 1")


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
    room = TreeWorkspace.of(n, len(data.columns[0]) - 1, L)
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
    return GrownTree(Nodes(*(part.copy() for part in found.arrays())), shares)


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
