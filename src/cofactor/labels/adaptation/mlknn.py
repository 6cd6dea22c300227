"""Multi-label k nearest neighbours: ML-kNN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.errors import InvalidInputError
from cofactor.labels.adaptation.neighbours import nearest_rows
from cofactor.labels.base import CheckedFeatures, FitInput, LabelModel
from cofactor.labels.explaining import ScoreParts, VotePart
from cofactor.labels.features import is_sparse
from cofactor.labels.held_out import sampled
from cofactor.labels.scaling import AUTO, candidate_scalings, rows_to_compare
from cofactor.model.checks import check_number, make_generator
from cofactor.solvers.result import Callback
from cofactor.typing import RandomState

#: Numbers of neighbours among which "auto" chooses, and the share of the instances that they are at most.
_SIZES = (5, 10, 20, 50)
_LARGEST_SHARE = 1 / 8


class MLkNN(LabelModel):
    r"""Bayes' rule applied to the number of nearest neighbours that have a label.

    For each label l separately: if j of the k nearest neighbours of an instance have the label, then

    .. math:: P(y_l = 1 \mid j) = \frac{P_1 \, p_1(j)}{P_1 \, p_1(j) + P_0 \, p_0(j)}, \qquad
        P_1 = \frac{s + \sum_i y_{il}}{2 s + N}, \qquad
        p_b(j) = \frac{s + c_b(j)}{s (k + 1) + \sum_{j'} c_b(j')},

    where P_0 = 1 - P_1, and c_b(j) is the number of training instances with y_l = b which have j neighbours with the
    label; an instance is not its own neighbour. The score is P(y_l = 1 | j) - ½, so a label is on if its probability is
    above ½, and off if it is exactly ½.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        k; all other instances if there are fewer. "auto" takes that one of 5, 10, 20 and 50, at most an eighth of the
        instances, whose leave-one-out shares of neighbours have the least squared error. The paper takes 10.
    smoothing : float, default=1.0
        s, above 0: how many times each number j is assumed to have been counted before. For s → ∞ every probability
        is ½.
    {scale}
        Here "auto" takes the scale in which the shares of neighbours have the least leave-one-out error.
    {threshold}
    {decide_for}
    {random_state}
        It draws the held-out instances, where there are too many scores to learn probabilities from all.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    posteriors_ : ndarray of shape (L', k + 1)
        P(y_l = 1 | j) for the L' labels that vary in training.
    X_ : ndarray or csr_array of shape (N, D)
        Features of the training instances.
    Y_ : csr_array of shape (N, L')
        Labels of the training instances.
    instances_ : ndarray of shape (N,)
        Their rows in what `fit` was given.
    instance_ids_ : ndarray of shape (N,) or None
        Their ids, if it was a data set with ids.

    Notes
    -----
    Distances are Euclidean. Of equally near neighbours, such as duplicates or rows of a binary table, the first in the
    training data is taken (`cofactor.labels.adaptation.neighbours.nearest_rows`). An instance is not a neighbour
    of itself, but its duplicates are. Distances depend on the scale of the features: see `scale`.

    Where many instances are equally near, as with constant features, all have nearly the same neighbours, and
    probabilities are about the shares of the labels. If `n_neighbors` is nearly the number of instances, probabilities
    are useless: in training an instance that has a label finds it once less among the others; new instances do not.

    Weights of instances must be whole numbers: an instance is repeated as often. The model holds the training data;
    sparse data stay sparse. A fit computes the distances between all instances in
    blocks of 16 MB, in O(N² D) operations or fewer for sparse rows.

    References
    ----------
    M.-L. Zhang & Z.-H. Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern Recognition 40, 2007,
    doi:10.1016/j.patcog.2006.12.019.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [0, 1]])
    >>> model = MLkNN.paper(n_neighbors=3).fit(X, Y)
    >>> model.predict([[0.05], [1.25]])
    array([[1, 0],
           [0, 1]])
    >>> model.predict_proba([[0.05], [1.25]]).round(2)
    array([[0.85, 0.17],
           [0.23, 0.83]])
    """

    _learned: ClassVar[tuple[str, ...]] = ("posteriors_", "X_", "Y_", "instances_", "instance_ids_")
    _shapes: ClassVar[Mapping[str, str]] = {
        "posteriors_": "Lk", "X_": "ND", "Y_": "NL", "instances_": "N", "instance_ids_": "N",
    }  # fmt: skip

    posteriors_: NDArray[np.float64]
    _paper: ClassVar[Mapping[str, Any]] = {"n_neighbors": 10}

    X_: Any
    Y_: sparse.csr_array
    instances_: NDArray[np.int64]
    instance_ids_: NDArray[Any] | None

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        smoothing: float = 1.0,
        scale: str = "auto",
        threshold: float | str = "auto",
        decide_for: str = "micro",
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.scale = scale
        self.threshold = threshold
        self.decide_for = decide_for
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _check_params(self) -> None:
        super()._check_params()
        if not (isinstance(self.n_neighbors, str) and self.n_neighbors == AUTO):
            check_number("n_neighbors", self.n_neighbors, low=1, whole=True)
        check_number("smoothing", self.smoothing, low=0, inclusive=False)

    def default_grid(self) -> dict[str, list[Any]]:
        """See `LabelModel.default_grid`."""
        return {"n_neighbors": [5, 10, 20]}

    def _with_scaling(self, data: FitInput, *, stream: bool = False) -> FitInput:
        if self.scale != AUTO or data.space is not None or data.n_instances < 3:
            return super()._with_scaling(data, stream=stream)
        candidates, rows = candidate_scalings(data.features, data.weights), rows_to_compare(data.n_instances)
        X, Y = data.features[rows], data.labels[rows]
        sizes = _sizes(len(rows))
        errors = [min(_errors(_neighbours(scaling.apply(X), sizes), Y).values()) for scaling in candidates]
        self.scaling_ = candidates[int(np.argmin(errors))]
        return data.scaled(self.scaling_)

    def _fit(self, data: FitInput) -> None:
        X, Y = data.features, data.labels
        n = data.n_instances
        near = _neighbours(X, _sizes(n) if self.n_neighbors == AUTO else (int(self.n_neighbors),))
        data.by_products.neighbours = near
        if self.n_neighbors == AUTO:
            errors = _errors(near, Y)
            near = np.ascontiguousarray(near[:, : min(errors, key=errors.__getitem__)])
        k = near.shape[1]
        counts = _label_counts(near, Y)
        n_on = np.bincount(Y.indices, minlength=Y.shape[1])
        on = _histogram(counts * Y.astype(np.int64), n_on, k)  # the product keeps instances with the label
        off = _histogram(counts, np.full(Y.shape[1], n), k) - on
        s = self.smoothing
        prior = ((s + n_on) / (2 * s + n))[:, None]
        likely_on = prior * (s + on) / (s * (k + 1) + n_on[:, None])
        likely_off = (1 - prior) * (s + off) / (s * (k + 1) + (n - n_on)[:, None])
        self.posteriors_ = likely_on / (likely_on + likely_off)
        self.X_, self.Y_ = X.copy(), Y
        self.instances_, self.instance_ids_ = data.called(np.arange(n))

    def _settled(self) -> dict[str, Any]:
        return {"n_neighbors": max(1, self.posteriors_.shape[1] - 1)}

    def _held_out(self, data: FitInput) -> tuple[NDArray[np.int64], NDArray[Any]]:
        near = data.by_products.neighbours
        if near is None or data.weights is not None or data.n_instances < 3:  # its copy would be a neighbour
            return super()._held_out(data)
        n, L = data.labels.shape
        rows = sampled(np.arange(n), L, make_generator(self.random_state))
        near = np.ascontiguousarray(near[rows, : self.posteriors_.shape[1] - 1])
        return rows, self._of_counts(_label_counts(near, data.labels))

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        counts = _label_counts(nearest_rows(self.X_, X, self.posteriors_.shape[1] - 1), self.Y_)
        return self._of_counts(counts)

    def _of_counts(self, counts: sparse.csr_array) -> NDArray[Any]:
        """Return scores of instances from how many neighbours have each label."""
        scores = np.tile(self.posteriors_[:, 0], (counts.shape[0], 1))
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        scores[rows, counts.indices] = self.posteriors_[counts.indices, counts.data]
        return scores - 0.5

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        return self._scores(X) + 0.5

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        k = self.posteriors_.shape[1] - 1
        neighbours = nearest_rows(self.X_, X, k)
        columns = sparse.csc_array(self.Y_)

        def weigh(label: int, row: int) -> NDArray[np.float64]:
            having = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
            has = np.isin(neighbours[row], having)
            posterior, count = self.posteriors_[label], int(has.sum())
            return has * ((posterior[count] - posterior[0]) / max(count, 1))

        names = self.instances_ if self.instance_ids_ is None else self.instance_ids_
        return ScoreParts((VotePart(neighbours, weigh),), self.posteriors_[:, 0] - 0.5, names)

    def _check_learned(self) -> None:
        super()._check_learned()
        if not np.any(self.constant_ == 0):
            return
        once = sparse.csr_array(self.Y_, copy=True)
        once.sum_duplicates()
        if not is_sparse(self.Y_) or not (once.data == 1).all():
            raise InvalidInputError("Y_ must be a sparse table of ones")
        if not 1 <= self.posteriors_.shape[1] <= len(self.Y_.indptr):
            raise InvalidInputError(f"posteriors_ are those of {self.posteriors_.shape[1] - 1} neighbours")


def _sizes(n: int) -> tuple[int, ...]:
    """Return the numbers of neighbours that "auto" compares.

    An instance is not its own neighbour, so of a label that many neighbours share it counts one less where it has the
    label. With neighbours from a large part of all instances this alone tells on from off in training, not later.
    """
    most = max(1, int(n * _LARGEST_SHARE))
    return tuple(dict.fromkeys(min(size, most) for size in _SIZES))


def _neighbours(X: CheckedFeatures, sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the nearest other instances of each, as many as the largest size."""
    return nearest_rows(X, X, min(max(sizes), X.shape[0] - 1), exclude_self=True)


def _errors(near: NDArray[np.int64], Y: sparse.csr_array) -> dict[int, float]:
    """Return for numbers of neighbours the squared error of their shares which have each label."""
    errors = {}
    for k in dict.fromkeys(min(size, near.shape[1]) for size in _SIZES):
        counts = _label_counts(np.ascontiguousarray(near[:, :k]), Y)
        hits = float(counts.multiply(Y).sum())
        errors[k] = float(np.square(counts.data / k).sum()) - 2 * hits / k  # and the number of ones
    return errors


def _label_counts(neighbours: NDArray[np.int64], Y: sparse.csr_array) -> sparse.csr_array:
    """Return how many neighbours of each instance have each label, shape (n, L); counts of 0 are not stored."""
    n, k = neighbours.shape
    indptr = k * np.arange(n + 1)
    near = sparse.csr_array((np.ones(n * k, np.int64), neighbours.ravel(), indptr), shape=(n, Y.shape[0]))
    return sparse.csr_array(near @ Y.astype(np.int64))


def _histogram(counts: sparse.csr_array, n_rows: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Return for each label how many of its `n_rows` instances have each count from 0 to k, shape (L, k + 1)."""
    histogram = np.zeros((counts.shape[1], k + 1), np.int64)
    np.add.at(histogram, (counts.indices, counts.data), 1)
    histogram[:, 0] += n_rows - histogram.sum(axis=1)  # counts that are not stored are 0
    return histogram
