"""Multi-label k nearest neighbours: ML-kNN."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import number
from cofactor.errors import InvalidInputError
from cofactor.labels.adaptation.neighbour_model import NeighbourModel
from cofactor.labels.base import CheckedFeatures, FitInput
from cofactor.labels.explaining import ScoreParts, VotePart
from cofactor.model.estimator import learned, param


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

    def _learn(self, counts: Callable[[], sparse.csr_array], data: FitInput) -> None:
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
