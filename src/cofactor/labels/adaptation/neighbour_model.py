"""What models have in common that look at the labels of the nearest training instances."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import make_generator, whole
from cofactor.errors import InvalidInputError
from cofactor.labels.adaptation.neighbours import nearest_rows
from cofactor.labels.base import CheckedFeatures, FitInput, LabelModel
from cofactor.labels.explaining import ScoreParts, VotePart
from cofactor.labels.features import is_sparse, squared_lengths
from cofactor.labels.fit_input import sampled
from cofactor.labels.scaling import AUTO, candidate_scalings, rows_to_compare
from cofactor.model.estimator import learned, param

__all__ = ["NeighbourModel", "bare_rows", "label_counts", "priors", "vote_parts", "vote_scores", "vote_shares"]


#: Half of the least difference between a share of votes and a half: with it, exactly half the votes are enough.
_QUARTER = 0.25
_NARROW = 1e-6  # relative difference below which squared lengths of rows are equal


def priors(data: FitInput) -> NDArray[np.float64]:
    """Return the share of the instances that have each label."""
    return np.bincount(data.labels.indices, minlength=data.labels.shape[1]) / data.n_instances


def bare_rows(X: CheckedFeatures, training: CheckedFeatures) -> NDArray[np.bool_]:
    """Return which rows have no value, where the rows of training that have one have the same length.

    All instances of training are as near to them, so that no neighbour votes.
    """
    bare, squares = squared_lengths(X) == 0, squared_lengths(training)
    some = squares[squares > 0]
    of_one_length = len(some) > 1 and float(some.max() - some.min()) <= _NARROW * float(some.max())
    return bare & of_one_length


def vote_shares(
    counts: sparse.csr_array, k: int, prior: NDArray[np.float64], bare: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the share of the k neighbours that have each label, shape (n, L); bare rows have the prior."""
    shares = counts.toarray() / max(1, k)
    shares[bare] = prior
    return np.asarray(shares)


def vote_scores(
    counts: sparse.csr_array, k: int, prior: NDArray[np.float64], bare: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return what votes are above a half, shape (n, L); exactly half of them are."""
    return vote_shares(counts, k, prior, bare) + _at_half(k)


def vote_parts(
    neighbours: NDArray[np.int64],
    has: Callable[[int, int], NDArray[np.bool_]],
    k: int,
    prior: NDArray[np.float64],
    bare: NDArray[np.bool_],
    names: NDArray[Any],
) -> ScoreParts:
    """Return the scores as sums over neighbours, of which a function says which of a row have a label."""
    intercept = np.where(bare[:, None], prior, 0.0) + _at_half(k)
    votes = VotePart(neighbours, lambda label, row: has(label, row) * (~bare[row] / max(1, k)))
    return ScoreParts((votes,), intercept, names)


def _at_half(k: int) -> float:
    return _QUARTER / max(1, k) - 0.5


#: Share of the instances that the numbers of neighbours are at most among which "auto" chooses.
_LARGEST_SHARE = 1 / 8


class NeighbourModel(LabelModel):
    """A model which looks at how many of the k nearest training instances have each label.

    A subclass says what it learns from these counts (`_learn`), and what scores follow from them (`_of_counts`).

    Attributes
    ----------
    n_neighbors_ : int
        Number k of neighbours.
    X_ : ndarray or csr_array of shape (N, D)
        Features of the training instances, scaled.
    Y_ : csr_array of shape (N, L')
        Labels of the training instances, without those that are constant.
    instances_ : ndarray of shape (N,)
        Their rows in what `fit` was given.
    instance_ids_ : ndarray of shape (N,) or None
        Their ids, if it was a data set with ids.

    Notes
    -----
    Distances are Euclidean. Of equally near neighbours, such as duplicates or rows of a binary table, the first in the
    training data is taken (`cofactor.labels.adaptation.neighbours.nearest_rows`). An instance is not a neighbour
    of itself, but its duplicates are. Distances depend on the scale of the features: see `scale`.

    Weights of instances must be whole numbers: an instance is repeated as often. The model holds the training data;
    sparse data stay sparse. Where anything is learned from the neighbours of training instances, a fit computes the
    distances between all instances in blocks of 16 MB, in O(N² D) operations or fewer for sparse rows. Models which
    are fitted to one `cofactor.labels.FeatureSpace` find the neighbours of its instances once, if the first asks for
    the most.
    """

    n_neighbors: int | str = param(whole(also=[AUTO]), default="auto", kw_only=False, grid=[5, 10, 20])

    n_neighbors_: int = learned(check=whole(0))
    X_: Any = learned("instances features")
    Y_: sparse.csr_array = learned("instances labels", dtype=None)
    instances_: NDArray[np.int64] = learned("instances", dtype=int)
    instance_ids_: NDArray[Any] | None = learned("instances", dtype=object, optional=True)

    #: Numbers of neighbours among which "auto" chooses.
    _sizes: ClassVar[tuple[int, ...]] = (5, 10, 20, 50)

    @abstractmethod
    def _learn(self, counts: Callable[[], sparse.csr_array], data: FitInput) -> None:
        """Learn from how many neighbours of each training instance have each label; `n_neighbors_` is set.

        They are searched where `counts` is called.
        """

    @abstractmethod
    def _of_counts(self, counts: sparse.csr_array, X: CheckedFeatures) -> NDArray[Any]:
        """Return scores of instances with features X from how many of their neighbours have each label."""

    def _with_scaling(self, data: FitInput, *, stream: bool = False) -> FitInput:
        if self.scale != AUTO or data.space is not None or data.n_instances < 3:
            return super()._with_scaling(data, stream=stream)
        candidates, rows = candidate_scalings(data.features, data.weights), rows_to_compare(data.n_instances)
        X, Y = data.features[rows], data.labels[rows]
        k = min(max(self._sizes_for(len(rows))), len(rows) - 1)
        graphs = ((nearest_rows(x, x, k, exclude_self=True)) for x in (scaling.apply(X) for scaling in candidates))
        errors = [min(self._errors(near, Y).values()) for near in graphs]
        self.scaling_ = candidates[int(np.argmin(errors))]
        return data.scaled(self.scaling_)

    def _fit(self, data: FitInput) -> None:
        n, given = data.n_instances, self.n_neighbors != AUTO
        most = self._at_most(min(int(self.n_neighbors) if given else max(self._sizes_for(n)), n - 1))
        graph = cache(partial(_graph, data, most))
        errors = {most: 0.0} if given else self._errors(graph(), data.labels)
        self.n_neighbors_ = k = min(errors, key=errors.__getitem__)

        def neighbours() -> NDArray[np.int64]:
            return np.ascontiguousarray(graph()[:, :k])

        data.cache.neighbours = neighbours
        self.X_, self.Y_ = data.features.copy(), data.labels
        self.instances_, self.instance_ids_ = data.called(np.arange(n))
        self._learn(lambda: label_counts(neighbours(), data.labels), data)

    def _at_most(self, k: int) -> int:
        """Return the largest number of neighbours up to k that the model takes."""
        return k

    def _sizes_for(self, n: int) -> tuple[int, ...]:
        """Return the numbers of neighbours that "auto" compares.

        An instance is not its own neighbour, so of a label that many neighbours share it counts one less where it has
        the label. With neighbours from a large part of all instances this alone tells on from off in training, not
        later.
        """
        most = self._at_most(max(1, int(n * _LARGEST_SHARE)))
        return tuple(dict.fromkeys(min(size, most) for size in self._sizes))

    def _errors(self, near: NDArray[np.int64], Y: sparse.csr_array) -> dict[int, float]:
        """Return for numbers of neighbours the error of their leave-one-out counts."""
        sizes = dict.fromkeys(min(size, near.shape[1]) for size in self._sizes)
        return {k: self._error(label_counts(np.ascontiguousarray(near[:, :k]), Y), k, Y) for k in sizes}

    def _error(self, counts: sparse.csr_array, k: int, Y: sparse.csr_array) -> float:
        """Return the squared error of the shares of k neighbours which have each label, less the number of ones."""
        return float(np.square(counts.data / k).sum()) - 2 * float(counts.multiply(Y).sum()) / k

    def _resolved_params(self) -> dict[str, Any]:
        return {"n_neighbors": max(1, self.n_neighbors_)}

    def _held_out(self, data: FitInput) -> tuple[NDArray[np.int64], NDArray[Any]]:
        neighbours = data.cache.neighbours
        if neighbours is None or data.weights is not None or data.n_instances < 3:  # its copy would be a neighbour
            return super()._held_out(data)
        n, L = data.labels.shape
        rows = sampled(np.arange(n), L, make_generator(self.random_state))
        return rows, self._of_counts(label_counts(neighbours()[rows], data.labels), data.features[rows])

    def _counts(self, X: CheckedFeatures) -> sparse.csr_array:
        """Return how many of the nearest training instances of each instance have each label."""
        return label_counts(nearest_rows(self.X_, X, self.n_neighbors_), self.Y_)

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return self._of_counts(self._counts(X), X)

    def _having(self, X: CheckedFeatures) -> tuple[NDArray[np.int64], Callable[[int, int], NDArray[np.bool_]]]:
        """Return the neighbours of each instance, and a function: which of those of a row have a label."""
        neighbours = nearest_rows(self.X_, X, self.n_neighbors_)
        columns = sparse.csc_array(self.Y_)

        def has(label: int, row: int) -> NDArray[np.bool_]:
            having = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
            return np.isin(neighbours[row], having)

        return neighbours, has

    @property
    def _names(self) -> NDArray[Any]:
        """What explanations call the training instances."""
        return self.instances_ if self.instance_ids_ is None else self.instance_ids_

    def _check_learned(self) -> None:
        super()._check_learned()
        once = sparse.csr_array(self.Y_, copy=True)
        once.sum_duplicates()
        if not is_sparse(self.Y_) or not (once.data == 1).all():
            raise InvalidInputError("Y_ must be a sparse table of ones")
        k, n = self.n_neighbors_, self.Y_.shape[0]
        if k > n:
            raise InvalidInputError(f"n_neighbors_ is {k}, expected a whole number from 0 to {n}")


def label_counts(neighbours: NDArray[np.int64], Y: sparse.csr_array) -> sparse.csr_array:
    """Return how many neighbours of each instance have each label, shape (n, L); counts of 0 are not stored.

    Examples
    --------
    >>> label_counts(np.array([[0, 1], [1, 2]]), sparse.csr_array([[1, 0], [1, 1], [0, 1]])).toarray()
    array([[2, 1],
           [1, 2]])
    """
    n, k = neighbours.shape
    # Some learners take no wider indices than they need.
    width = np.int32 if max(n * k, Y.shape[0]) <= np.iinfo(np.int32).max else np.int64
    indices, indptr = neighbours.ravel().astype(width), k * np.arange(n + 1, dtype=width)
    near = sparse.csr_array((np.ones(n * k, np.int64), indices, indptr), shape=(n, Y.shape[0]))
    return sparse.csr_array(near @ Y.astype(np.int64))


def _graph(data: FitInput, k: int) -> NDArray[np.int64]:
    """Return the k nearest other instances of each, or all others; a `FeatureSpace` keeps those that were found."""
    k = min(k, data.n_instances - 1)
    near = None if data.space is None else data.space.neighbours
    if near is None or near.shape[1] < k:
        near = nearest_rows(data.features, data.features, k, exclude_self=True)
        if data.space is not None:
            data.space.neighbours = near
    return np.ascontiguousarray(near[:, :k])
