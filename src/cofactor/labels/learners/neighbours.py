"""k nearest neighbours: training instances, and the index of scikit-learn that searches among them."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from cofactor.errors import InvalidInputError
from cofactor.labels.features import is_sparse
from cofactor.labels.learners.base import (
    Arrays,
    CheckedFeatures,
    Learner,
    StateReader,
    put_rows,
    scores_of,
    wrong_state,
)

__all__ = ["METRICS", "NeighbourIndex", "NeighboursLearner", "is_plain"]

#: Distances that are known by their name; "minkowski" also has the parameter p.
METRICS = (
    "braycurtis",
    "canberra",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "hamming",
    "l1",
    "l2",
    "manhattan",
    "minkowski",
    "sqeuclidean",
)
_ALGORITHMS = ("auto", "ball_tree", "brute", "kd_tree")
_WEIGHTS = ("uniform", "distance")


def is_plain(estimator: KNeighborsClassifier) -> bool:
    """Whether names and numbers describe a classifier: it has no functions, and no parameters of the distance."""
    return (
        (estimator.weights is None or isinstance(estimator.weights, str))
        and estimator.metric in METRICS
        and not estimator.metric_params
    )


class NeighbourIndex:
    """Training instances, and how their nearest neighbours vote.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (N, D)
        Features of the training instances. The index keeps them, so the caller must not change them.
    n_neighbors, weights, algorithm, leaf_size, p, metric, n_jobs
        As in `sklearn.neighbors.KNeighborsClassifier`.

    Examples
    --------
    >>> index = NeighbourIndex(np.array([[0.0], [1.0], [3.0]]), n_neighbors=2, weights="distance")
    >>> places, weights = index.nearest(np.array([[2.5]]))
    >>> places, weights.round(2)
    (array([[2, 1]]), array([[2.  , 0.67]]))
    """

    def __init__(
        self,
        rows: CheckedFeatures,
        *,
        n_neighbors: int = 5,
        weights: str | None = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: str = "minkowski",
        n_jobs: int | None = None,
    ) -> None:
        self.rows = rows
        self.weights = "uniform" if weights is None else weights
        if self.weights not in _WEIGHTS:
            raise InvalidInputError(
                f"expected one of {', '.join(map(repr, _WEIGHTS))}", argument="weights", found=weights
            )
        self._search = NearestNeighbors(
            n_neighbors=n_neighbors, algorithm=algorithm, leaf_size=leaf_size, metric=metric, p=p, n_jobs=n_jobs
        ).fit(rows)
        if n_neighbors > rows.shape[0]:
            raise InvalidInputError(
                f"there are {rows.shape[0]} training instances",
                argument="n_neighbors",
                found=n_neighbors,
                advice="take fewer neighbours, or give more instances",
            )

    def nearest(self, X: CheckedFeatures) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the numbers of the k training instances that are nearest to each row, and the weight of each.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, D)
            Checked features.

        Returns
        -------
        places : ndarray of shape (n, k)
            The nearest first.
        weights : ndarray of shape (n, k)
            1, or the inverse distance. If some neighbours have distance 0, these weigh 1 and all others 0.
        """
        if is_sparse(X) and not is_sparse(self.rows):  # the trees of dense rows take dense queries only
            X = X.toarray()
        distances, places = self._search.kneighbors(X.astype(self.rows.dtype, copy=False))
        if self.weights == "uniform":
            return places, np.ones(places.shape)
        with np.errstate(divide="ignore"):
            weights = 1.0 / distances
        same = np.isinf(weights)
        some = same.any(axis=1)
        weights[some] = same[some]
        return places, weights

    def put(self, arrays: Arrays) -> dict[str, Any]:
        """Add the rows to the arrays of a state; return its JSON values."""
        put_rows("rows", self.rows, arrays)
        names = ("n_neighbors", "algorithm", "leaf_size", "p", "metric")
        found = {name: getattr(self._search, name) for name in names} | {"weights": self.weights}
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in found.items()}

    @classmethod
    def rebuilt(cls, state: StateReader, n_features: int) -> Self:
        """Return the index that `put` described, or refuse the state."""
        rows = state.rows("rows", n_features)
        return cls(
            rows,
            n_neighbors=state.whole("n_neighbors", low=1, high=rows.shape[0]),
            weights=state.choice("weights", _WEIGHTS),
            algorithm=state.choice("algorithm", _ALGORITHMS),
            leaf_size=state.whole("leaf_size", low=1, high=1 << 31),
            p=state.number("p", above=0),
            metric=state.choice("metric", METRICS),
        )


class NeighboursLearner(Learner):
    """Vote of the nearest training instances; the probability of a class is its share of the votes.

    Parameters
    ----------
    index : NeighbourIndex
        Training instances.
    codes : ndarray of shape (N,)
        Position in `classes` of the class of each training instance.
    classes : ndarray of shape (K,)
        The classes, increasing.

    Examples
    --------
    >>> index = NeighbourIndex(np.array([[0.0], [1.0], [2.0], [3.0]]), n_neighbors=2)
    >>> learner = NeighboursLearner(index, np.array([0, 1, 1, 1]), np.array([0, 1]))
    >>> learner.probabilities(np.array([[0.4], [2.6]]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """

    kind: ClassVar[str] = "neighbours"

    def __init__(self, index: NeighbourIndex, codes: NDArray[Any], classes: NDArray[np.int64]) -> None:
        self.index = index
        self.codes = codes.astype(np.int32)
        self.classes = classes
        self.n_features = index.rows.shape[1]

    @property
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works."""
        return True

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return the share of each class in the total weight of the neighbours, of shape (n, K)."""
        places, weights = self.index.nearest(X)
        votes = np.zeros((X.shape[0], len(self.classes)))
        every = np.arange(X.shape[0])
        for codes, weight in zip(self.codes[places].T, weights.T, strict=True):
            votes[every, codes] += weight
        return votes / votes.sum(axis=1, keepdims=True)

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return P(class) - 1/2; of two classes only that of the second one."""
        return scores_of(self.probabilities(X))

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        arrays: Arrays = {"codes": self.codes}
        return self.index.put(arrays), arrays

    @classmethod
    def _rebuilt(cls, state: StateReader, n_features: int, classes: NDArray[np.int64]) -> Self:
        index = NeighbourIndex.rebuilt(state, n_features)
        codes = state.positions("codes", np.int32, (index.rows.shape[0],), len(classes))
        if len(np.unique(codes)) < len(classes):
            raise wrong_state("a class has no instance")
        return cls(index, codes, classes)
