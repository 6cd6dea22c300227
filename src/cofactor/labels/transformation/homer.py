"""A hierarchy of labels: learners decide which groups of labels an instance has, then which labels of these groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import make_generator, one_of, whole
from cofactor.correlation import co_occurrence
from cofactor.errors import InvalidInputError
from cofactor.labels.base import CheckedFeatures, TrainingData
from cofactor.labels.learners.base import Learner, Subproblem, check_label_learners
from cofactor.labels.transformation.base import LearnerModel
from cofactor.model.estimator import learned, param

#: How labels are grouped.
GROUPS = ("balanced", "random")

_MAX_ITER = 20  # of k-means


class HOMER(LearnerModel):
    r"""A hierarchy of multi-label learners (HOMER): groups of labels first, then the labels of these groups.

    The labels are split into k groups of nearly equal size, and each group again, down to single labels. A node has a
    learner, which learns from the instances with a label of its parent whether they have one of its own. A label is on
    if all learners from the root to it say so:

    .. math:: f_l(x) = \min_{v \in \text{path to } l} h_v(x)

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn, optional
        A copy of it is fitted to each node; by default ``LinearSVC(C=cost_)`` with the cost of `BinaryRelevance`, and
        ``C=1`` in `paper`.
    n_groups : int, default=3
        k, at least 2. With as many groups as labels it is `BinaryRelevance`.
    grouping : {"balanced", "random"}, default="balanced"
        Balanced k-means, by which labels that occur together are in one group; or groups drawn by `random_state`.
    {n_jobs}
    {scale}
        With an estimator that is given, "auto" is "none": some want features as they are.
    {threshold}
    {decide_for}
    {random_state}
        It draws where k-means begins, a seed for each estimator, if that has a ``random_state``, and the quarter of the
        instances on which probabilities are learned.
    {callback}
        Nodes that are still to be fitted get one iteration each if the estimator has a ``max_iter``.
    {verbose}

    Attributes
    ----------
    parents_ : ndarray of shape (M,)
        The parent of each node; -1 for those below the root. Parents come before their children.
    leaves_ : ndarray of shape (L',)
        The node of each of the L' labels that vary in training.
    learners_ : Learner
        The learners of the M nodes.
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    A node which all instances of its parent have is on for all of them. Nodes below the root learn from few instances,
    so a fit takes about as long as L learners of the instances with their labels, and not of all instances. Groups need
    a table of labels × labels. All nodes score by one product.

    References
    ----------
    G. Tsoumakas, I. Katakis & I. Vlahavas, "Effective and efficient multilabel classification in domains with large
    number of labels", ECML/PKDD workshop on mining multidimensional data, 2008.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5, X < 2])
    >>> model = HOMER.paper(n_groups=2, random_state=0).fit(X, y)
    >>> model.predict([[0.0], [7.0]])
    array([[False,  True, False,  True],
           [ True, False,  True, False]])
    """

    n_groups: int = param(whole(2), default=3)
    grouping: str = param(one_of(GROUPS), default="balanced")

    parents_: NDArray[np.int64] = learned("nodes", dtype=int)
    leaves_: NDArray[np.int64] = learned("labels", dtype=int)
    learners_: Learner = learned(kind=Learner)

    def _fit_bytes(self, data: TrainingData) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        return 8 * (2 * D * L + L * L * (self.grouping == "balanced")) + n * L

    def _fit(self, data: TrainingData) -> None:
        generator = make_generator(self.random_state)
        Y = np.asarray(data.labels.toarray() > 0, dtype=np.int8, order="F")
        groups, parents = self._groups(data, generator)
        problems = []
        for group, parent in zip(groups, parents, strict=True):
            rows = np.arange(len(Y)) if parent < 0 else np.flatnonzero(Y[:, groups[parent]].any(axis=1))
            problems.append(Subproblem(np.max(Y[np.ix_(rows, group)], axis=1), rows))
        self.parents_ = np.array(parents, dtype=np.int64)
        single = {int(group[0]): node for node, group in enumerate(groups) if len(group) == 1}
        self.leaves_ = np.array([single[label] for label in range(Y.shape[1])], dtype=np.int64)
        self.learners_ = self._fit_binary(
            self._chosen_estimator(data), data.features, problems, data, generator, what="groups of labels"
        )

    def _groups(self, data: TrainingData, generator: np.random.Generator) -> tuple[list[NDArray[np.int64]], list[int]]:
        """Return the labels of each node, and its parent; parents come first."""
        L = data.labels.shape[1]
        weights = None if data.weights is None else np.sqrt(data.weights)[:, None]
        Y = data.labels if weights is None else data.labels.multiply(weights)
        gram = co_occurrence(Y) if self.grouping == "balanced" else np.zeros((0, 0))
        groups: list[NDArray[np.int64]] = []
        parents: list[int] = []
        queue = [(np.arange(L), -1)]
        while queue:
            labels, parent = queue.pop(0)
            for part in self._parts(labels, gram, generator):
                groups.append(part)
                parents.append(parent)
                if len(part) > 1:
                    queue.append((part, len(groups) - 1))
        return groups, parents

    def _parts(
        self, labels: NDArray[np.int64], gram: NDArray[np.float64], generator: np.random.Generator
    ) -> list[NDArray[np.int64]]:
        """Return labels in groups, of which none is all of them."""
        k = min(self.n_groups, len(labels))
        if k == len(labels):
            return list(labels[:, None])
        if self.grouping == "random":
            return [np.sort(part) for part in np.array_split(generator.permutation(labels), k)]
        group = balanced_groups(gram[np.ix_(labels, labels)], k, generator)
        return [labels[group == g] for g in range(k)]

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        scores = self.learners_.scores(X)
        for node, parent in enumerate(self.parents_.tolist()):
            if parent >= 0:
                np.minimum(scores[:, node], scores[:, parent], out=scores[:, node])
        return np.asarray(scores[:, self.leaves_])

    def _check_learned(self) -> None:
        super()._check_learned()
        n_nodes = len(self.parents_)
        check_label_learners(self.learners_, n_nodes, self.n_features_in_)
        if (self.parents_ < -1).any() or (self.parents_ >= np.arange(n_nodes)).any():
            raise InvalidInputError("each node must have a parent before it, or -1")
        if (self.leaves_ < 0).any() or (self.leaves_ >= n_nodes).any():
            raise InvalidInputError(f"labels must have one of the nodes 0 to {n_nodes - 1}")


def balanced_groups(gram: NDArray[np.float64], n_groups: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the group of each of m points, by k-means with at most ⌈m / k⌉ points in a group.

    Parameters
    ----------
    gram : ndarray of shape (m, m)
        Inner products of the points.
    n_groups : int
        k, at most m; no group stays empty.
    generator : Generator
        Draws the points at which the groups begin.

    Examples
    --------
    >>> points = np.array([[0.0], [9.0], [0.1], [9.1]])
    >>> balanced_groups(points @ points.T, 2, np.random.default_rng(0)).tolist()
    [0, 1, 0, 1]
    """
    m = len(gram)
    squares = np.diag(gram)
    first = generator.choice(m, n_groups, replace=False)
    distances = squares[:, None] - 2 * gram[:, first] + squares[first]
    group = _in_groups(distances)
    for _ in range(_MAX_ITER):
        share = np.eye(n_groups)[group] / np.bincount(group, minlength=n_groups)
        inner = gram @ share
        found = _in_groups(squares[:, None] - 2 * inner + np.einsum("ig,ig->g", share, inner))
        if np.array_equal(found, group):
            break
        group = found
    return group


def _in_groups(distances: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give each point the nearest group with room, in the order of the distances; sizes differ by one at most."""
    m, n_groups = distances.shape
    room = np.full(n_groups, m // n_groups)
    n_larger = m % n_groups  # groups that may still take one more
    group = np.full(m, -1)
    for place in np.argsort(distances, axis=None, kind="stable").tolist():
        point, g = divmod(place, n_groups)
        if group[point] >= 0 or room[g] < 0 or (room[g] == 0 and not n_larger):
            continue
        n_larger -= int(room[g] == 0)
        room[g] -= 1
        group[point] = g
    return group
