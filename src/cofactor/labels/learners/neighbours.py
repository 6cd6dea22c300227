"""k nearest neighbours: training instances, and the index of scikit-learn that searches among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from cofactor.checks import check_choice, number, one_of, whole
from cofactor.chunked import is_sparse
from cofactor.errors import InvalidInputError
from cofactor.labels.features import CheckedFeatures
from cofactor.labels.learners.base import Learner, Stored, scores_of, wrong_state
from cofactor.model.estimator import learned

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


class NeighbourIndex(Stored):
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

    rows: CheckedFeatures = learned("instances features")
    n_neighbors: int = learned(check=whole())
    weights: str = learned(check=one_of(_WEIGHTS))
    algorithm: str = learned(check=one_of(_ALGORITHMS))
    leaf_size: int = learned(check=whole(high=1 << 31))
    p: float = learned(check=number(low=0, inclusive=False))
    metric: str = learned(check=one_of(METRICS))

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
        self.rows, self.n_neighbors, self.algorithm, self.metric = rows, n_neighbors, algorithm, metric
        self.leaf_size, self.p = leaf_size, p
        self.weights = "uniform" if weights is None else weights
        check_choice("weights", self.weights, _WEIGHTS)
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

    def _check(self) -> None:
        n, n_features = self.rows.shape
        if not n or not n_features or self.n_neighbors > n:
            raise wrong_state(f"expected features of {self.n_neighbors} or more instances")


class NeighboursLearner(Learner):
    """Vote of the nearest training instances; labels share these, and one search.

    The probability of a class is its share in the total weight of the neighbours; that of a label the share of the
    neighbours which have it. Scores are probabilities - 1/2; of two classes only that of the second one.

    Parameters
    ----------
    index : NeighbourIndex
        The N training instances.
    votes : csr_array of shape (N, K) or (N, L)
        Ones where a training instance is of a class, or has a label.
    classes : ndarray of shape (K,), optional
        The classes, increasing; by default votes are for labels.

    Examples
    --------
    >>> index = NeighbourIndex(np.array([[0.0], [1.0], [3.0]]), n_neighbors=2)
    >>> votes = sparse.csr_array([[1, 0], [1, 0], [0, 1]])
    >>> NeighboursLearner(index, votes).probabilities(np.array([[0.4], [2.5]]))
    array([[1. , 0. ],
           [0.5, 0.5]])
    >>> NeighboursLearner(index, votes, np.array([0, 1])).scores(np.array([[0.4], [2.5]]))
    array([-0.5,  0. ])
    """

    index: NeighbourIndex = learned(kind=NeighbourIndex)
    votes: sparse.csr_array = learned("instances outputs", dtype=None)
    classes: Any = learned("outputs", dtype=np.int64, optional=True)

    def __init__(
        self, index: NeighbourIndex, votes: sparse.csr_array, classes: NDArray[np.int64] | None = None
    ) -> None:
        self.index, self.votes, self.classes = index, votes, classes
        self.n_labels, self.n_features = votes.shape[1] if classes is None else 1, index.rows.shape[1]

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return the share of each class or label in the total weight of the neighbours."""
        places, weights = self.index.nearest(X)
        on = np.zeros((X.shape[0], self.votes.shape[1]))
        off = np.zeros_like(on)
        for place, weight in zip(places.T, weights.T[:, :, None], strict=True):
            has = self.votes[place].toarray() > 0
            on += weight * has
            off += weight * ~has
        return on / (on + off if self.classes is None else on.sum(axis=1, keepdims=True))

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return probabilities - 1/2; of two classes only that of the second one."""
        found = self.probabilities(X)
        return found - 0.5 if self.classes is None else scores_of(found)

    def _check(self) -> None:
        super()._check()
        votes = self.votes
        if not sparse.issparse(votes) or votes.shape[0] != self.index.rows.shape[0] or not (votes.data == 1).all():
            raise wrong_state("votes must be a sparse table of ones")
        if self.classes is not None and (
            (np.diff(votes.indptr) != 1).any() or not np.bincount(votes.indices, minlength=len(self.classes)).all()
        ):
            raise wrong_state("expected instances of each class, and a class of each instance")
