"""Features of each label's own: distances from clusters of the instances that have it, and that do not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.svm import LinearSVC

from cofactor.checks import check_jobs, make_generator, number
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import library_limit
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.clusters import k_means, squared_distances
from cofactor.labels.learners.base import Learner, Subproblem, give_probabilities
from cofactor.labels.learners.fitting import check_estimator, fit_each, fit_learner, warn_of_stopped
from cofactor.labels.learners.linear import LinearLearner
from cofactor.model.estimator import learned, param
from cofactor.model.parallel import in_processes

_COST = 10.0  #: where the mean squared length of centred distances is 1
_MAX_ITER = 100  #: of k-means, as in the released code
_SHARED = 3  #: labels with clusters of one size from which it takes less time to cluster all instances once for them
_DISTANCES_PER_BLOCK = 1 << 22


class _FittedLabel(NamedTuple):
    centres: NDArray[Any]  # (c, D)
    means: NDArray[np.float64]  # (c,), of the distances in training
    learner: Learner
    converged: bool


class LIFT(LabelModel):
    r"""A learner for each label, which sees how far an instance is from clusters made for this label.

    For label l, with P the instances that have it and Q those that do not,

    .. math:: \phi_l(x) = (\|x - p_1\|, \ldots, \|x - p_m\|, \|x - q_1\|, \ldots, \|x - q_m\|),
        \qquad m = \lceil r \min(|P|, |Q|) \rceil

    where p and q are the centres of m clusters of P and of Q by k-means. A linear support vector machine on
    :math:`\phi_l`, less its mean over the training instances, scores the label. Where three labels or more have
    the same m, k-means of the more frequent of P and Q starts from clusters of all instances, which they share.

    Parameters
    ----------
    ratio : float, default=0.1
        r, in (0, 1]: how many clusters there are of each kind beside the instances of the rarer kind. Zhang & Wu take
        0.1, and found little difference beyond. No kind has more clusters than distinct instances.
    estimator : classifier or regressor of scikit-learn, optional
        A copy of it is fitted to each label; by default ``LinearSVC(C=10)``, which sees centred distances divided by
        the root of their mean squared length, so that the scale of the features does not count. The 10 was searched on
        parts of the training instances of emotions, scene, yeast and medical. `paper` takes C = 1, the hinge loss, and
        centred distances as they are.
    n_jobs : int, optional
        Number of processes, as in joblib.
    {scale}
    {threshold}
    {decide_for}
    {random_state}
        It draws a seed for each label's estimator, if that has a ``random_state`` and uses it, and the quarter of the
        instances on which probabilities are learned. The clusters do not depend on it.
    {callback}
        A step is a label; its objective is the number of labels that are not fitted yet. Labels that are still to be
        fitted get a single cluster of each kind.
    {verbose}

    Attributes
    ----------
    centres_ : ndarray of shape (c, D)
        Centres of the clusters, label after label, of P before those of Q.
    n_centres_ : ndarray of shape (L',), int64
        How many of them belong to each of the L' labels that vary in training.
    distance_means_ : ndarray of shape (c,)
        Mean distances from them in training.
    learners_ : list of Learner
        The learner of each of these labels.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped early for some labels; one warning, with their number.

    Notes
    -----
    The text has k-means start at random. Here it starts as in `MLCHMF`, from parts cut at their means across their
    longest axes, so a fit is the same for any seed and any order of the instances, but for rounding errors. A kind of
    one instance is its own cluster. Labels that are constant in training are not fitted; the released code makes up to
    50 clusters of all instances for them.

    Distances are centred since liblinear penalizes the intercept. The paper has LIBSVM, which does not, so that scores
    of `paper` differ a little from those of ``SVC(kernel="linear")`` as the estimator. The scale of distances matters
    with a given C: on medical, C = 1 suits counts of words (accuracy .69) and not rows of length 1 (.49).

    A label takes O(m n D) for each iteration of k-means. The model holds all centres, about :math:`2 r` times as many
    as there are labels of instances in all.

    References
    ----------
    M.-L. Zhang & L. Wu, "LIFT: multi-label learning with label-specific features", IEEE Transactions on Pattern
    Analysis and Machine Intelligence 37, 2015, doi:10.1109/TPAMI.2014.2339815.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 0], [0, 1], [1, 1], [1, 1]])
    >>> model = LIFT(0.5, scale="none", threshold=0).fit(X, Y)
    >>> model.predict([[0.5], [2.5], [4.5]])
    array([[1, 0],
           [0, 0],
           [1, 1]])
    >>> model.n_centres_, model.centres_[2:].ravel()
    (array([2, 4]), array([3.5, 5. , 0.5, 2. ]))
    """

    ratio: float = param(number(low=0, high=1, inclusive=False), default=0.1, kw_only=False, grid=[0.05, 0.1, 0.2])
    estimator: BaseEstimator | None = param(check_estimator, default=None, kw_only=False)
    n_jobs: int | None = param(check_jobs, default=None)

    centres_: NDArray[Any] = learned("centres features")
    n_centres_: NDArray[np.int64] = learned("labels", dtype=int)
    distance_means_: NDArray[np.float64] = learned("centres")
    learners_: list[Learner] = learned(kind=Learner, many=True)

    _paper: ClassVar[Mapping[str, Any]] = {"estimator": LinearSVC(loss="hinge", max_iter=10_000)}

    def _capabilities(self) -> Capabilities:
        own = give_probabilities(getattr(self, "learners_", None), self.estimator)
        return replace(super()._capabilities(), probabilities=own)

    def _fit_bytes(self, data: TrainingData) -> int:
        count = np.bincount(data.labels.indices, minlength=data.labels.shape[1])
        rarer = np.minimum(count, data.n_instances - count)
        return 16 * data.features.shape[1] * int(np.ceil(self.ratio * rarer).sum())

    def _fit(self, data: TrainingData) -> None:
        X, columns, (n, L) = data.features, sparse.csc_array(data.labels), data.labels.shape
        count = np.diff(columns.indptr)
        sizes = np.maximum(1, np.ceil(self.ratio * np.minimum(count, n - count)).astype(int))
        shared = np.bincount(sizes) >= _SHARED
        starts: dict[int, NDArray[np.int64]] = {}  # clusters of all instances, for each size that labels share
        seeds = make_generator(self.random_state).integers(np.iinfo(np.int32).max, size=L)

        def tasks() -> Iterator[tuple[Any, ...]]:
            for k in range(L):
                m = 1 if data.monitor.stopped else int(sizes[k])
                if shared[m] and m not in starts:
                    starts[m] = k_means(X, m, max_iter=_MAX_ITER)[1]
                yield self.estimator, X, columns[:, [k]], m, starts.get(m), int(seeds[k])

        fitted: list[_FittedLabel] = []
        for label in in_processes(_fit_label, tasks(), self.n_jobs):
            fitted.append(label)
            data.monitor.note("labels", len(fitted), L, float(L - len(fitted)))
        self.centres_ = np.concatenate([label.centres for label in fitted])
        self.n_centres_ = np.array([len(label.centres) for label in fitted])
        self.distance_means_ = np.concatenate([label.means for label in fitted])
        self.learners_ = [label.learner for label in fitted]
        if not data.monitor.stopped:
            warn_of_stopped(self.estimator or LinearSVC(), sum(not label.converged for label in fitted), L)

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return np.column_stack([learner.scores(own) for learner, own in self._own_features(X)])

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        return np.column_stack([learner.probabilities(own)[:, 1] for learner, own in self._own_features(X)])

    def _own_features(self, X: CheckedFeatures) -> Iterator[tuple[Learner, NDArray[np.float64]]]:
        """Yield the learner of each label, and what it sees; distances for several labels are computed at once."""
        ends = np.cumsum(self.n_centres_)
        starts = ends - self.n_centres_
        per_block = max(1, _DISTANCES_PER_BLOCK // max(1, X.shape[0]))
        first = 0
        while first < len(ends):
            last = max(first + 1, int(np.searchsorted(ends, starts[first] + per_block, side="right")))
            part = slice(starts[first], ends[last - 1])
            seen = np.sqrt(squared_distances(X, self.centres_[part])) - self.distance_means_[part]
            for k in range(first, last):
                yield self.learners_[k], seen[:, starts[k] - part.start : ends[k] - part.start]
            first = last

    def _check_learned(self) -> None:
        super()._check_learned()
        L = self._n_varying
        counts, learners = self.n_centres_, self.learners_
        if (counts < 1).any() or int(counts.sum()) != len(self.centres_):
            raise InvalidInputError(f"n_centres_ must be whole numbers above 0 that sum to {len(self.centres_)}")
        if len(learners) != L:
            raise InvalidInputError(f"expected learners of {L} labels, found {len(learners)}")
        for learner, count in zip(learners, counts, strict=True):
            if learner.n_features != count or learner.classes is None or learner.classes.tolist() != [0, 1]:
                raise InvalidInputError(f"expected a learner of classes 0 and 1 of {count} features for each label")


def _fit_label(
    estimator: Any, X: CheckedFeatures, column: sparse.csc_array, m: int, start: NDArray[np.int64] | None, seed: int
) -> _FittedLabel:
    """Cluster the instances that have a label, and that do not, and fit an estimator to distances from the centres."""
    y = column.toarray().ravel() > 0
    few = np.count_nonzero(y) < np.count_nonzero(~y)
    with library_limit(1):  # with several threads, sums would depend on the order in which these end
        clusters = [
            k_means(X[kind], m, max_iter=_MAX_ITER, start=start[kind] if many and start is not None else None)[0]
            for kind, many in ((np.flatnonzero(y), not few), (np.flatnonzero(~y), few))
        ]
        centres = np.concatenate(clusters)
        seen = np.sqrt(squared_distances(X, centres))
        means = seen.mean(axis=0)
        seen -= means
        if estimator is not None:
            learner, converged = fit_learner(estimator, seen, y.astype(np.int64), seed=seed)
        else:
            size = math.sqrt(float(np.einsum("ij,ij->", seen, seen)) / len(seen)) or 1.0
            machine, task = LinearSVC(C=_COST, dual=False), Subproblem(y.astype(np.int64))
            scaled, converged = next(iter(fit_each(machine, seen / size, [task], seeds=[seed])))
            assert isinstance(scaled, LinearLearner)
            learner = LinearLearner(scaled.coef / size, scaled.intercept, scaled.classes)
    return _FittedLabel(centres, means, learner, converged)
