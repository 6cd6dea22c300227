"""Models of nearest neighbours: ML-kNN, BR-kNN with its extensions, and an odd number of neighbours that vote.

The neighbours of dense or sparse instances are found exactly, block by block.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import AUTO, check_number, make_generator, number, one_of, whole
from cofactor.chunked import is_sparse
from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.kernels.nearest import nearest, sparse_products
from cofactor.kernels.threads import parallel_for
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.decisions import JOINT
from cofactor.labels.explaining import ScoreParts, VotePart
from cofactor.labels.features import squared_lengths
from cofactor.labels.training_data import sampled
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import learned, param

_PRODUCTS_PER_BLOCK = 1 << 21  #: inner products in memory at the same time: 16 MB
_ROWS_PER_TASK = 16


def warn_of_neighbours(model: Any, n: int) -> None:
    """Warn if `n_neighbors` of a model asks for more than the other ones of n training instances."""
    k = model.n_neighbors
    if isinstance(k, int | np.integer) and k > n - 1 and k != type(model)().n_neighbors:
        what = f" is more than the {n - 1} other training instances: all of them are neighbours"
        warnings.warn(InputWarning((Argument("n_neighbors", k), what)), stacklevel=callers_level())


def nearest_rows(
    known: Any, queries: Any, k: int, *, exclude_self: bool = False, products_per_block: int = _PRODUCTS_PER_BLOCK
) -> NDArray[np.int64]:
    r"""Return the k nearest rows of `known` for every row of `queries`, in Euclidean distance.

    Rows are centred, which changes no distance. Then :math:`\|t\|^2 - 2 \, x \cdot t` is compared: the squared distance
    of x and t without :math:`\|x\|^2`. Products are computed in float64 and compared in float32. So rows whose squared
    distances differ by less than about 1e-7 ‖x‖², such as duplicates, are equally near in any order of summation, and
    dense and sparse features have the same neighbours. Of equally near rows the one with the lower number comes first.

    Parameters
    ----------
    known, queries : ndarray or csr_array of shape (n, D), (m, D)
        Features. If the known rows are sparse, this takes O(Σ_f n_f m_f) operations, where feature f has n_f and m_f
        stored entries. If they are dense, sparse queries are made dense block by block.
    k : int
        Number of neighbours, 0 <= k <= n, or n - 1 with `exclude_self`.
    exclude_self : bool, default=False
        Whether `queries` are the known rows, so that no row is its own neighbour. A duplicate of a row may be its
        neighbour: rows are left out by their numbers, not by a distance of 0.
    products_per_block : int, default=2097152
        Largest number of inner products in memory at the same time, but at least one row.

    Returns
    -------
    ndarray of shape (m, k), int64
        Row numbers, the nearest first.

    Raises
    ------
    InvalidInputError
        If there are not k rows to choose from.

    Examples
    --------
    >>> known = np.array([[0.0], [1.0], [3.0], [1.0]])
    >>> nearest_rows(known, np.array([[0.9]]), 3)
    array([[1, 3, 0]])
    >>> nearest_rows(known, known, 1, exclude_self=True).ravel()
    array([1, 3, 1, 1])
    """
    n, m = known.shape[0], queries.shape[0]
    if not 0 <= k <= n - exclude_self:
        raise InvalidInputError(f"there are {n - exclude_self} rows to choose neighbours from", argument="k", found=k)
    found = np.empty((m, k), np.int64)
    if k == 0:
        return found
    if is_sparse(known):
        squares, write_products = _sparse(known, queries)
    else:
        squares, write_products = _dense(known, queries)
    skip = np.arange(m) if exclude_self else np.full(m, -1)
    per_block = max(1, products_per_block // n)
    products = np.empty((min(per_block, m), n))
    for first in range(0, m, per_block):
        block = slice(first, min(first + per_block, m))
        here = products[: block.stop - first]
        write_products(block, here)
        _select(here, squares, skip[block], found[block])
    return found


def _select(products: NDArray[Any], squares: NDArray[Any], skip: NDArray[Any], found: NDArray[Any]) -> None:
    """Write the numbers of the nearest rows of a block of queries to `found`."""

    def task(t: int) -> None:
        part = slice(t * _ROWS_PER_TASK, (t + 1) * _ROWS_PER_TASK)
        nearest(products[part], squares, skip[part], found[part])

    parallel_for(task, -(-len(products) // _ROWS_PER_TASK))


def _dense(known: NDArray[Any], queries: Any) -> tuple[NDArray[Any], Any]:
    """Return the squared lengths of the centred known rows, and a function that writes a block of inner products."""
    centre = known.mean(axis=0, dtype=np.float64)
    T = known - centre

    def write(block: slice, out: NDArray[Any]) -> None:
        rows = queries[block].toarray() if is_sparse(queries) else queries[block]
        np.matmul(rows - centre, T.T, out=out)

    return np.einsum("ij,ij->i", T, T), write


def _sparse(known: Any, queries: Any) -> tuple[NDArray[Any], Any]:
    """Return what `_dense` does without centring the rows, so that they stay sparse; this changes no comparison."""
    T = known.astype(np.float64).tocsc()
    Q = sparse.csr_array(queries, dtype=np.float64)
    centre = T.mean(axis=0)
    # With this term the compared values differ as those of centred rows do, so they are rounded in the same way.
    start = 0.5 * (centre @ centre) - Q @ centre
    squares = np.bincount(T.indices, weights=T.data**2, minlength=T.shape[0])

    def write(block: slice, out: NDArray[Any]) -> None:
        def task(t: int) -> None:
            lo, hi = block.start + t * _ROWS_PER_TASK, min(block.start + (t + 1) * _ROWS_PER_TASK, block.stop)
            part = out[lo - block.start : hi - block.start]
            sparse_products(lo, hi, start, Q.indptr, Q.indices, Q.data, T.indptr, T.indices, T.data, part)

        parallel_for(task, -(-len(out) // _ROWS_PER_TASK))

    return squares, write


#: Half of the least difference between a share of votes and a half: with it, exactly half the votes are enough.
_QUARTER = 0.25
_NARROW = 1e-6  # relative difference below which squared lengths of rows are equal


def priors(data: TrainingData) -> NDArray[np.float64]:
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
    _numbers_tried: ClassVar[tuple[int, ...]] = (5, 10, 20, 50)

    @abstractmethod
    def _learn(self, counts: Callable[[], sparse.csr_array], data: TrainingData) -> None:
        """Learn from how many neighbours of each training instance have each label; `n_neighbors_` is set.

        They are searched where `counts` is called.
        """

    @abstractmethod
    def _of_counts(self, counts: sparse.csr_array, X: CheckedFeatures) -> NDArray[Any]:
        """Return scores of instances with features X from how many of their neighbours have each label."""

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), scale_error=self._least_error, separate_labels=True)

    def _least_error(self, X: CheckedFeatures, Y: sparse.csr_array) -> float:
        """Return the least error of votes of other instances, among the numbers of neighbours that "auto" tries."""
        n = X.shape[0]
        return min(self._errors(nearest_rows(X, X, min(max(self._sizes_for(n)), n - 1), exclude_self=True), Y).values())

    def _fit(self, data: TrainingData) -> None:
        n, given = data.n_instances, self.n_neighbors != AUTO
        warn_of_neighbours(self, n)
        most = self._at_most(min(int(self.n_neighbors) if given else max(self._sizes_for(n)), n - 1))
        graph = cache(partial(_graph, data, most))
        errors = {most: 0.0} if given else self._errors(graph(), data.labels)
        self.n_neighbors_ = k = min(errors, key=errors.__getitem__)

        def neighbours() -> NDArray[np.int64]:
            return np.ascontiguousarray(graph()[:, :k])

        data.cache.neighbours = neighbours
        self.X_, self.Y_ = data.features.copy(), data.labels
        self.instances_, self.instance_ids_ = data.instance_ids(np.arange(n))
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
        return tuple(dict.fromkeys(min(size, most) for size in self._numbers_tried))

    def _errors(self, near: NDArray[np.int64], Y: sparse.csr_array) -> dict[int, float]:
        """Return for numbers of neighbours the error of their leave-one-out counts."""
        sizes = dict.fromkeys(min(size, near.shape[1]) for size in self._numbers_tried)
        return {k: self._error(label_counts(np.ascontiguousarray(near[:, :k]), Y), k, Y) for k in sizes}

    def _error(self, counts: sparse.csr_array, k: int, Y: sparse.csr_array) -> float:
        """Return the squared error of the shares of k neighbours which have each label, less the number of ones."""
        return float(np.square(counts.data / k).sum()) - 2 * float(counts.multiply(Y).sum()) / k

    def _resolved_params(self) -> dict[str, Any]:
        return {"n_neighbors": max(1, self.n_neighbors_)}

    def _held_out(self, data: TrainingData) -> tuple[NDArray[np.int64], NDArray[Any]]:
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


def _graph(data: TrainingData, k: int) -> NDArray[np.int64]:
    """Return the k nearest other instances of each, or all others; a `FeatureSpace` keeps those that were found."""
    k = min(k, data.n_instances - 1)
    near = None if data.space is None else data.space.neighbours
    if near is None or near.shape[1] < k:
        near = nearest_rows(data.features, data.features, k, exclude_self=True)
        if data.space is not None:
            data.space.neighbours = near
    return np.ascontiguousarray(near[:, :k])


class MLkNN(NeighbourModel):
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
    {n_neighbors}
        The paper takes 10.
    smoothing : float, default=1.0
        s, above 0: how many times each number j is assumed to have been counted before. For s → ∞ every probability
        is ½.
    {neighbour_scale}
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
    n_neighbors_, X_, Y_, instances_, instance_ids_
        See `NeighbourModel`.

    Notes
    -----
    How neighbours are found: see `NeighbourModel`. Where many instances are equally near, as with constant features,
    all have nearly the same neighbours, and probabilities are about the shares of the labels. If `n_neighbors` is
    nearly the number of instances, probabilities are useless: in training an instance that has a label finds it once
    less among the others; new instances do not.

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

    smoothing: float = param(number(low=0, inclusive=False), default=1.0)

    posteriors_: NDArray[np.float64] = learned("labels counts")

    _paper: ClassVar[Mapping[str, Any]] = {"n_neighbors": 10}

    def _learn(self, counts: Callable[[], sparse.csr_array], data: TrainingData) -> None:
        Y, n, k, found = data.labels, data.n_instances, self.n_neighbors_, counts()
        n_on = np.bincount(Y.indices, minlength=Y.shape[1])
        on = _histogram(found * Y.astype(np.int64), n_on, k)  # the product keeps instances with the label
        off = _histogram(found, np.full(Y.shape[1], n), k) - on
        s = self.smoothing
        prior = ((s + n_on) / (2 * s + n))[:, None]
        likely_on = prior * (s + on) / (s * (k + 1) + n_on[:, None])
        likely_off = (1 - prior) * (s + off) / (s * (k + 1) + (n - n_on)[:, None])
        self.posteriors_ = likely_on / (likely_on + likely_off)

    def _of_counts(self, counts: sparse.csr_array, X: CheckedFeatures) -> NDArray[Any]:
        scores = np.tile(self.posteriors_[:, 0], (counts.shape[0], 1))
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        scores[rows, counts.indices] = self.posteriors_[counts.indices, counts.data]
        return scores - 0.5

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        return self._scores(X) + 0.5

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        neighbours, has = self._having(X)

        def weigh(label: int, row: int) -> NDArray[np.float64]:
            on = has(label, row)
            posterior, count = self.posteriors_[label], int(on.sum())
            return on * ((posterior[count] - posterior[0]) / max(count, 1))

        return ScoreParts((VotePart(neighbours, weigh),), self.posteriors_[:, 0] - 0.5, self._names)

    def _check_learned(self) -> None:
        super()._check_learned()
        if self.posteriors_.shape[1] != self.n_neighbors_ + 1:
            raise InvalidInputError(f"posteriors_ are those of {self.posteriors_.shape[1] - 1} neighbours")


def _histogram(counts: sparse.csr_array, n_rows: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Return for each label how many of its `n_rows` instances have each count from 0 to k, shape (L, k + 1)."""
    histogram = np.zeros((counts.shape[1], k + 1), np.int64)
    np.add.at(histogram, (counts.indices, counts.data), 1)
    histogram[:, 0] += n_rows - histogram.sum(axis=1)  # counts that are not stored are 0
    return histogram


class BRkNN(NeighbourModel):
    r"""Nearest neighbours that vote: a label is on if at least half of them have it.

    .. math:: s_l(x) = \frac{c_l(x) + 1/4}{k} - \frac12,

    where :math:`c_l(x)` of the k nearest training instances have label l; a quarter of a vote breaks ties, and is too
    little for anything else. This is binary relevance with nearest neighbours, which all labels share.

    Parameters
    ----------
    {n_neighbors}
        The paper tries several; 10 is usual.
    extension : {"a", "b"}, optional
        How `predict` makes label sets with ``threshold="joint"``, which it needs. "a": the labels with at least half
        of the votes; if there is none, the one with the most. "b": the s labels with the most votes, where s is the
        mean number of labels of the neighbours, rounded, a half up. Of labels with as many votes the one that more
        training instances have comes first, then the one with the lower number. By default there is no extension.
    {neighbour_scale}
    {set_threshold}
        "joint" decides as `extension` says.
    {decide_for}
    {random_state}
        It draws the held-out instances, where there are too many scores to learn probabilities from all.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    prior_ : ndarray of shape (L',)
        Share of the training instances that have each label, of the L' labels that vary in training.
    n_neighbors_, X_, Y_, instances_, instance_ids_
        See `NeighbourModel`.

    Notes
    -----
    How neighbours are found: see `NeighbourModel`. Where all training instances that have any features have them in
    rows of one length, as with ``scale="rows"``, an instance without any feature is as near to one as to another: the
    shares of the labels among all training instances stand in place of its votes.

    The shares of the neighbours are often 0 or 1, so they are no probabilities; those of ``threshold="auto"`` are
    calibrated.

    References
    ----------
    E. Spyromitros, G. Tsoumakas & I. Vlahavas, "An empirical study of lazy multilabel classification algorithms",
    SETN 2008, doi:10.1007/978-3-540-87881-0_40.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [0, 0], [0, 0], [0, 1], [1, 1], [0, 0]])
    >>> BRkNN.paper(2).fit(X, Y).predict([[0.05], [1.15], [1.4]])
    array([[1, 0],
           [1, 1],
           [1, 1]])
    >>> BRkNN.paper(4, extension="a").fit(X, Y).predict([[0.7]])
    array([[1, 0]])
    """

    extension: str | None = param(one_of(["a", "b", None]), default=None)

    prior_: NDArray[np.float64] = learned("labels")

    _paper: ClassVar[Mapping[str, Any]] = {
        "n_neighbors": 10,
        "threshold": lambda _, given: 0 if given.get("extension") is None else JOINT,
    }

    def _check_together(self) -> None:
        super()._check_together()
        if self.extension is not None and self.threshold != JOINT:
            raise InvalidInputError(
                "an extension makes label sets by itself",
                argument="extension",
                found=self.extension,
                advice=("it needs ", Argument("threshold", JOINT)),
            )

    def _learn(self, counts: Callable[[], sparse.csr_array], data: TrainingData) -> None:
        self.prior_ = priors(data)

    def _of_counts(self, counts: sparse.csr_array, X: CheckedFeatures) -> NDArray[Any]:
        return vote_scores(counts, self.n_neighbors_, self.prior_, bare_rows(X, self.X_))

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        shares = vote_shares(self._counts(X), self.n_neighbors_, self.prior_, bare_rows(X, self.X_))
        by_prior = np.argsort(-self.prior_, kind="stable")
        votes = shares[:, by_prior]
        if self.extension == "b":
            wanted = np.floor(shares.sum(axis=1) + 0.5)
            places = np.argsort(np.argsort(-votes, axis=1, kind="stable"), axis=1)
            on = places < wanted[:, None]
        else:
            on = votes >= 0.5
            if self.extension == "a" and not (self.constant_ > 0).any():  # else no set is empty
                empty = np.flatnonzero(~on.any(axis=1))
                on[empty, np.argmax(votes[empty], axis=1)] = True
        sets = np.empty_like(on)
        sets[:, by_prior] = on
        return sets

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        return vote_parts(*self._having(X), self.n_neighbors_, self.prior_, bare_rows(X, self.X_), self._names)


def _check_odd(name: str, value: Any) -> None:
    """Refuse a number of neighbours whose votes may be equal, and what is no number."""
    check_number(name, value, low=1, whole=True, also=[AUTO])
    if not isinstance(value, str) and value % 2 == 0:
        raise InvalidInputError(
            "with an even number of neighbours votes can be equal",
            argument=name,
            found=value,
            advice="give an odd one, or take BRkNN, where half of the votes are enough",
        )


class KNNVote(NeighbourModel):
    r"""An odd number of nearest neighbours vote: a label is on if most of them have it (Li 2011, section 5.2).

    It is `BRkNN` where no vote can end in a tie, so with k given the scores are the same. What differs is how k is
    chosen: for the votes themselves, where they decide.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Odd number k of neighbours; an even one is refused. Where there are fewer other instances, the largest odd
        number of them. "auto" takes that one of 1, 3, 5, 9, 15, 25 and 51, at most an eighth of the instances, whose
        leave-one-out votes have the highest micro-F1 where `threshold` is a number. Otherwise the cut is learned, and
        it is that whose shares have the least squared error, as in `BRkNN`.
    {neighbour_scale}
        `paper` takes "rows", which the thesis found best.
    {threshold}
        0 is the vote, and so is `paper`.
    {decide_for}
    {random_state}
        It draws the held-out instances, where there are too many scores to learn probabilities from all.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    prior_, n_neighbors_, X_, Y_, instances_, instance_ids_
        See `BRkNN`.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [0, 0], [0, 0], [0, 1], [1, 1], [0, 0]])
    >>> KNNVote(3, scale="none", threshold=0).fit(X, Y).predict([[0.05], [1.15], [1.4]])
    array([[1, 0],
           [0, 1],
           [0, 1]])
    """

    n_neighbors: int | str = param(_check_odd, default="auto", grid=[1, 3, 5, 9, 15, 25])

    prior_: NDArray[np.float64] = learned("labels")

    _paper: ClassVar[Mapping[str, Any]] = {"scale": "rows"}
    _numbers_tried: ClassVar[tuple[int, ...]] = (1, 3, 5, 9, 15, 25, 51)

    def _learn(self, counts: Callable[[], sparse.csr_array], data: TrainingData) -> None:
        self.prior_ = priors(data)

    def _of_counts(self, counts: sparse.csr_array, X: CheckedFeatures) -> NDArray[Any]:
        return vote_scores(counts, self.n_neighbors_, self.prior_, bare_rows(X, self.X_))

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        return vote_parts(*self._having(X), self.n_neighbors_, self.prior_, bare_rows(X, self.X_), self._names)

    def _at_most(self, k: int) -> int:
        return max(0, k - (k % 2 == 0))

    def _error(self, counts: sparse.csr_array, k: int, Y: sparse.csr_array) -> float:
        if isinstance(self.threshold, str):
            return super()._error(counts, k, Y)
        most = counts.data > k * (0.5 + self.threshold) - 0.25  # as the scores are cut
        on = sparse.csr_array((most, counts.indices, counts.indptr), counts.shape)
        return -2 * float(on.multiply(Y).sum()) / max(1.0, float(np.count_nonzero(most) + Y.sum()))
