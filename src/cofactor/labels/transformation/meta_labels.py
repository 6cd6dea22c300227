"""Meta-labels with features of their own (MLSF): groups of labels, a choice of features and a chain for each."""

from __future__ import annotations

import warnings
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from cofactor.checks import make_generator, number, whole
from cofactor.chunked import as_dense, is_sparse
from cofactor.correlation import jaccard, spectral_groups
from cofactor.errors import InvalidInputError
from cofactor.labels.base import CheckedFeatures, TrainingData
from cofactor.labels.features import scaled_rows
from cofactor.labels.learners.chain import ChainLearner
from cofactor.labels.penalty import penalty
from cofactor.labels.training_data import FitCache
from cofactor.labels.transformation.base import LearnerModel
from cofactor.labels.transformation.chains import chain_bytes, check_chain, fit_chain, refuse_order
from cofactor.labels.transformation.powersets import distinct_sets
from cofactor.model.estimator import learned, param

_SMALLEST = 0.01  # affinities below are none


class MetaLabels(LearnerModel):
    r"""Groups of labels, each with its own features and a chain of classifiers (MLSF: meta-label-specific features).

    Labels are grouped by spectral clustering of the affinities

    .. math:: A_{jk} = w \frac{|Y_j \cap Y_k|}{|Y_j \cup Y_k|} + (1 - w) \exp(-\|\mu_j - \mu_k\|)

    with :math:`\mu_l` the mean features of the instances with label l. The labels of a group make a number of each
    instance: its set of them, read as binary digits with the last label first, is the i-th of the distinct ones, and
    q is i over the largest i. The features that

    .. math:: \min_v \tfrac12 \|X v - q\|^2 + \gamma \|v\|_1

    keeps are those of the group. A classifier chain of random order learns its labels from them.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn, optional
        As in `ClassifierChain`.
    group_size : int, default=5
        Labels in a group, on average: there are ⌈L / group_size⌉ groups. The paper tries 5, 10, 15 and 20, and
        so does `Search` without a grid.
    gamma : float, default=0.1
        Weight of the lasso, at least 0: the larger, the fewer features. Where none is left, all are taken; with 0 all
        are taken, and with a single group the model is `ClassifierChain`.
    jaccard_weight : float, default=0.8
        w, from 0 to 1.
    {n_jobs}
    {scale}
        With an estimator that is given, "auto" is "none": some want features as they are.
    {threshold}
    {decide_for}
    {random_state}
        It draws where k-means begins, the orders, a seed for each label's estimator, if that has a ``random_state``,
        and the quarter of the instances on which probabilities are learned.
    {callback}
        Labels that are still to be fitted get one iteration each if the estimator has a ``max_iter``.
    {verbose}

    Attributes
    ----------
    groups_ : ndarray of shape (L',)
        The group of each of the L' labels that vary in training.
    features_ : csr_array of shape (K, D)
        Ones where a group keeps a feature.
    order_ : ndarray of shape (L',)
        Labels in the order of the chains, group after group.
    chains_ : list of ChainLearner
        The chain of each group.
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    The numbers of label sets depend on the order of the labels, and the last label of a group counts most in them; this
    is the method. Its authors solve the lasso by ADMM of 100 steps at most, whose weight ρ then acts as an early stop;
    here it is solved until it converges, or for 10,000 passes. Affinities below 0.01 count as none. Groups need a table
    of labels × labels.

    References
    ----------
    L. Sun, M. Kudo & K. Kimura, "Multi-label classification with meta-label-specific features", ICPR 2016,
    doi:10.1109/ICPR.2016.7899869.

    Examples
    --------
    >>> X = np.column_stack([np.arange(8.0), np.arange(8.0) % 2])
    >>> y = np.column_stack([X[:, 0] > 3, X[:, 0] > 4, X[:, 1] > 0, X[:, 1] > 0])
    >>> model = MetaLabels.paper(group_size=2, random_state=0).fit(X, y)
    >>> model.groups_
    array([0, 0, 1, 1])
    >>> model.predict([[0.0, 1.0], [7.0, 0.0]])
    array([[False, False,  True,  True],
           [ True,  True, False, False]])
    """

    estimator: BaseEstimator | None = param(default=None, kw_only=False, grid=lambda _: [])  # as it is
    group_size: int = param(whole(), default=5, grid=[5, 10, 15, 20])
    gamma: float = param(penalty(also=()), default=0.1, grid=[0.001, 0.01, 0.1, 1.0])
    jaccard_weight: float = param(number(low=0, high=1), default=0.8)

    groups_: NDArray[np.int64] = learned("labels", dtype=int)
    features_: sparse.csr_array = learned("groups features", dtype=None)
    order_: NDArray[np.int64] = learned("labels", dtype=int)
    chains_: list[ChainLearner] = learned(kind=ChainLearner, many=True)

    def _fit_bytes(self, data: TrainingData) -> int:
        D, L = data.features.shape[1], data.labels.shape[1]
        return chain_bytes(data) + 8 * (3 * L * L + D * L)

    def _fit(self, data: TrainingData) -> None:
        generator, L = make_generator(self.random_state), data.labels.shape[1]
        n_groups = ceil(L / self.group_size)
        affinity = affinities(data, self.jaccard_weight)
        self.groups_ = spectral_groups(affinity, n_groups, int(generator.integers(1 << 31))).astype(np.int64)
        estimator = self._chosen_estimator(data)
        kept: list[NDArray[np.bool_]] = []
        orders: list[NDArray[np.int64]] = []
        self.chains_ = []
        for g in range(int(self.groups_.max()) + 1):
            labels = np.flatnonzero(self.groups_ == g)
            part = data.of_labels(labels)
            kept.append(specific_features(part, self.gamma))
            features = part.features if kept[-1].all() else part.features[:, np.flatnonzero(kept[-1])]
            own = replace(part, features=features, space=None, cache=FitCache())
            order = generator.permutation(len(labels))
            done = sum(len(one) for one in orders)
            self.chains_.append(fit_chain(self._fit_tasks, estimator, own, order, generator, done=done, most=L))
            orders.append(labels[order])
        self.features_ = sparse.csr_array(np.stack(kept).astype(np.float32))
        self.order_ = np.concatenate(orders)

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        scores = np.empty((X.shape[0], len(self.order_)))
        done = 0
        for g, chain in enumerate(self.chains_):
            columns = np.sort(self.features_.indices[self.features_.indptr[g] : self.features_.indptr[g + 1]])
            own = X if len(columns) == X.shape[1] else X[:, columns]
            scores[:, self.order_[done : done + chain.n_labels]] = chain.decide(own)[0]
            done += chain.n_labels
        return scores

    def _check_learned(self) -> None:
        super()._check_learned()
        n_labels = self._n_varying
        chains = self.chains_
        if not is_sparse(self.features_) or self.features_.shape[0] != len(chains):
            raise InvalidInputError("expected a list of chains, and the features of each")
        sizes = [chain.n_labels for chain in chains]
        if sum(sizes) != n_labels:
            raise InvalidInputError(f"expected chains of {n_labels} labels")
        refuse_order(self.order_, n_labels)
        for g, (chain, size) in enumerate(zip(chains, sizes, strict=True)):
            columns = self.features_.indices[self.features_.indptr[g] : self.features_.indptr[g + 1]]
            if len(set(columns.tolist())) != len(columns):
                raise InvalidInputError("a group keeps a feature twice")
            check_chain(chain, np.arange(size), size, len(columns))


def affinities(data: TrainingData, jaccard_weight: float) -> NDArray[np.float64]:
    """Return how much labels belong together, shape (L, L), with zeros on the diagonal.

    Examples
    --------
    >>> data = TrainingData(np.array([[0.0], [0.0], [1.0]]), sparse.csr_array([[1, 1], [1, 0], [0, 1]]))
    >>> affinities(data, 0.5).round(3)
    array([[0.  , 0.47],
           [0.47, 0.  ]])
    """
    Y, X = data.labels, data.features
    counted = scaled_rows(Y, data.weights)
    means = as_dense(counted.T @ X)
    means /= np.asarray(counted.sum(axis=0)).ravel()[:, None]
    inner = means @ means.T
    squares = np.diag(inner)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * inner, 0))
    found = jaccard_weight * jaccard(Y, data.weights) + (1 - jaccard_weight) * np.exp(-distances)
    found[found < _SMALLEST] = 0
    np.fill_diagonal(found, 0)
    return found


def specific_features(data: TrainingData, gamma: float) -> NDArray[np.bool_]:
    """Return which features the lasso keeps for the label sets of the data; all, if it would keep none."""
    D = data.features.shape[1]
    if gamma == 0:
        return np.ones(D, dtype=bool)
    _, classes = distinct_sets(sparse.csr_array(data.labels[:, ::-1]))
    total = data.n_instances if data.weights is None else float(data.weights.sum())
    lasso = Lasso(alpha=gamma / total, fit_intercept=False, max_iter=10_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # which features it holds then is a choice of them as well
        lasso.fit(data.features, classes / classes.max(), data.weights)
    kept = lasso.coef_ != 0
    return kept if kept.any() else np.ones(D, dtype=bool)
