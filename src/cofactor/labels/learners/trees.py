"""Decision trees and forests as plain arrays, from which a kernel of this package predicts.

scikit-learn is not needed for that. A tree of scikit-learn could only be rebuilt with a private class: its layout
changes between versions, and it follows the children of a node without checking them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble, tree

from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import parallel_for
from cofactor.kernels.trees import add_leaf_values, add_leaf_values_of_sparse, find_leaves, find_leaves_of_sparse
from cofactor.labels.learners.base import Arrays, CheckedFeatures, Learner, StateReader, scores_of, wrong_state

__all__ = ["FORESTS", "TREES", "Nodes", "TreesLearner"]

#: Decision trees of scikit-learn that become a `TreesLearner`.
TREES: tuple[type[Any], ...] = (tree.DecisionTreeClassifier, tree.ExtraTreeClassifier)

#: Forests of scikit-learn that become a `TreesLearner`.
FORESTS: tuple[type[Any], ...] = (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier)

_ROWS_PER_TASK = 256


def _rounded(x: NDArray[Any]) -> NDArray[np.float32]:
    """Return features as training rounds them; what is too large becomes infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(x, np.float32)


@dataclass(frozen=True)
class Nodes:
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

    roots: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]

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

    @classmethod
    def read(cls, state: StateReader, n_features: int) -> Self:
        """Return the nodes that a state holds, or refuse them."""
        left = state.array("left", (np.int32,), (None,))
        n = len(left)
        if not 1 <= n < 1 << 31:
            raise wrong_state(f"expected 1 to {(1 << 31) - 1} nodes, found {n}")
        nodes = cls(
            state.positions("roots", np.int64, (None,), n),
            left,
            state.array("right", (np.int32,), (n,)),
            state.array("feature", (np.int32,), (n,)),
            state.floats("threshold", (n,)),
        )
        nodes._check(n_features)
        return nodes

    def arrays(self) -> Arrays:
        """Return the arrays of a state."""
        return {name: getattr(self, name) for name in ("roots", "left", "right", "feature", "threshold")}

    def leaves(self, X: CheckedFeatures) -> NDArray[np.int32]:
        """Return the leaf of each tree that each instance reaches, shape (n, T)."""
        found = np.empty((X.shape[0], len(self.roots)), np.int32)
        nodes = (self.roots, self.left, self.right, self.feature, self.threshold)
        values = None if isinstance(X, np.ndarray) else _rounded(X.data)

        def task(t: int) -> None:
            lo, hi = t * _ROWS_PER_TASK, (t + 1) * _ROWS_PER_TASK
            if isinstance(X, np.ndarray):
                find_leaves(_rounded(X[lo:hi]), *nodes, found[lo:hi])
            else:
                find_leaves_of_sparse(X.indptr[lo : hi + 1], X.indices, values, X.shape[1], *nodes, found[lo:hi])

        parallel_for(task, -(-X.shape[0] // _ROWS_PER_TASK))
        return found

    def _check(self, n_features: int) -> None:
        """Refuse nodes that do not form trees: the kernel follows children without a check."""
        if self.threshold.dtype != np.float64:
            raise wrong_state("thresholds must be float64")
        if not len(self.roots) or self.roots[0] != 0 or (np.diff(self.roots) <= 0).any():
            raise wrong_state("the roots must rise from 0")
        n = len(self.left)
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
    """The mean of the predictions of one or more trees.

    Scores are P(class) - 1/2; of two classes only that of the second one.

    Parameters
    ----------
    roots : ndarray of shape (T,), int64
        The first node of each tree. The other nodes of the tree follow it, up to the next root.
    left, right : ndarray of shape (N,), int32
        Children of a node, which come after it in the same tree; both are -1 for a leaf.
    feature : ndarray of shape (N,), int32
        The feature that a node compares; -1 for a leaf.
    threshold : ndarray of shape (N,), float64
        A row goes to the left child if the feature is at most this; 0 for a leaf.
    values : ndarray of shape (N, K), float64
        Share of each class among the training instances of a node.
    classes : ndarray of shape (K,)
        The classes, increasing.
    n_features : int
        Number of features D.

    Examples
    --------
    >>> stump = TreesLearner(
    ...     roots=np.array([0]),
    ...     left=np.array([1, -1, -1], dtype=np.int32),
    ...     right=np.array([2, -1, -1], dtype=np.int32),
    ...     feature=np.array([0, -1, -1], dtype=np.int32),
    ...     threshold=np.array([0.5, 0.0, 0.0]),
    ...     values=np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]]),
    ...     classes=np.array([0, 1]),
    ...     n_features=1,
    ... )
    >>> stump.scores(np.array([[0.0], [1.0]]))
    array([-0.4,  0.4])
    """

    kind: ClassVar[str] = "trees"

    def __init__(
        self,
        roots: NDArray[np.int64],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        values: NDArray[np.float64],
        classes: NDArray[np.int64],
        n_features: int,
    ) -> None:
        self.nodes = Nodes(roots, left, right, feature, threshold)
        self.values, self.classes, self.n_features = values, classes, n_features

    @classmethod
    def from_estimator(cls, fitted: Any, classes: NDArray[np.int64]) -> Self:
        """Return the learner of a fitted tree or forest of scikit-learn."""
        trees = [each.tree_ for each in getattr(fitted, "estimators_", [fitted])]
        values = np.ascontiguousarray(np.concatenate([each.value[:, 0, :] for each in trees]))
        return cls(
            **Nodes.of_trees(trees).arrays(), values=values, classes=classes, n_features=int(fitted.n_features_in_)
        )

    @property
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works."""
        return True

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return the mean share of each class in the leaves that an instance reaches, of shape (n, K)."""
        if X.shape[1] != self.n_features:  # the kernel would read beyond the rows
            raise InvalidInputError(f"X has {X.shape[1]} features, but the learner expects {self.n_features}")
        found = np.zeros((X.shape[0], len(self.classes)))
        nodes = (*self.nodes.arrays().values(), self.values)
        values = None if isinstance(X, np.ndarray) else _rounded(X.data)

        def task(t: int) -> None:
            lo, hi = t * _ROWS_PER_TASK, (t + 1) * _ROWS_PER_TASK
            if isinstance(X, np.ndarray):
                add_leaf_values(_rounded(X[lo:hi]), *nodes, found[lo:hi])
            else:
                add_leaf_values_of_sparse(X.indptr[lo : hi + 1], X.indices, values, X.shape[1], *nodes, found[lo:hi])

        parallel_for(task, -(-X.shape[0] // _ROWS_PER_TASK))
        found /= len(self.nodes.roots)
        return found

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return P(class) - 1/2; of two classes only that of the second one."""
        return scores_of(self.probabilities(X))

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, self.nodes.arrays() | {"values": self.values}

    @classmethod
    def _rebuilt(cls, state: StateReader, n_features: int, classes: NDArray[np.int64]) -> Self:
        nodes = Nodes.read(state, n_features)
        values = state.floats("values", (len(nodes), len(classes)))
        if values.dtype != np.float64:
            raise wrong_state("values must be float64")
        off = (values < 0).any(axis=1) | (np.abs(values.sum(axis=1) - 1) > 1e-6)
        if off.any():
            raise wrong_state(f"the values of node {np.argmax(off)} must be at least 0 and have the sum 1")
        return cls(**nodes.arrays(), values=values, classes=classes, n_features=n_features)
