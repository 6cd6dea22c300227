"""Trees that all labels share; a leaf knows the share of its training instances that have each label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse

from cofactor.labels.learners.base import Arrays, CheckedFeatures, StateReader, put_pattern, wrong_state
from cofactor.labels.learners.per_label import LabelLearners
from cofactor.labels.learners.trees import Nodes

__all__ = ["GrownTree", "TreeLabelLearners", "grow_tree"]


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


def grow_tree(
    estimator: Any, X: Any, Y: NDArray[Any], labels: sparse.csr_array, counts: NDArray[np.int64] | None = None
) -> GrownTree:
    """Fit a tree of scikit-learn to all labels at once, and return it without what it does not need for predictions.

    Parameters
    ----------
    estimator : DecisionTreeClassifier or ExtraTreeClassifier
        It is fitted itself.
    X : ndarray or csr_array of shape (n, D), float32
        Checked features.
    Y : ndarray of shape (n, L)
    labels : csr_array of shape (n, L)
        The same as Y.
    counts : ndarray of shape (n,), optional
        How often each instance counts; by default once.
    """
    estimator.fit(X, Y, sample_weight=counts)
    nodes = Nodes.of_trees([estimator.tree_])
    weights = np.ones(X.shape[0]) if counts is None else counts.astype(np.float64)
    leaves = nodes.leaves(X)[:, 0]
    heavy = np.bincount(leaves, weights, len(nodes))
    inverse = np.zeros(len(nodes))
    inverse[heavy > 0] = 1 / heavy[heavy > 0]
    rows = sparse.csr_array((weights * inverse[leaves], (leaves, np.arange(X.shape[0]))), (len(nodes), X.shape[0]))
    rows.eliminate_zeros()
    shares = sparse.csr_array(rows @ labels.astype(np.float64))
    shares.sort_indices()
    np.minimum(shares.data, 1.0, out=shares.data)  # sums of weights may exceed 1 by a rounding error
    return GrownTree(nodes, shares)


def _indicator(leaves: NDArray[np.int32], n_nodes: int) -> sparse.csr_array:
    """Return for each instance 1 / T in the columns of its T leaves."""
    n, n_trees = leaves.shape
    data = np.full(n * n_trees, 1 / n_trees)
    return sparse.csr_array((data, leaves.ravel(), n_trees * np.arange(n + 1)), shape=(n, n_nodes))
