"""Calibrated label ranking: a classifier for each pair of labels, and each label against a virtual one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import make_generator
from cofactor.chunked import batches, is_sparse
from cofactor.errors import InvalidInputError
from cofactor.kernels.voting import quick_votes
from cofactor.labels.base import CheckedFeatures, TrainingData
from cofactor.labels.learners.base import Learner, Subproblem, check_label_learners
from cofactor.labels.learners.linear import LinearLearner, binarized
from cofactor.labels.transformation.base import LearnerModel
from cofactor.model.estimator import learned

#: Most pairs of labels, those of 447 labels, and most of their scores in memory.
_MOST_PAIRS = 100_000
_SCORES = 1 << 22


class CalibratedLabelRanking(LearnerModel):
    r"""A classifier for each pair of labels, which votes for one of them; a virtual label marks where to cut.

    .. math:: v_j = \sum_{k \ne j} [h_{jk}(x) \text{ prefers } j] + [h_{j0}(x) > 0], \qquad
        v_0 = \sum_j [h_{j0}(x) \le 0], \qquad \hat y = \{j : v_j > v_0\}

    :math:`h_{jk}` learns from the instances that have one of the two labels and not the other, and :math:`h_{j0}`,
    label j against the virtual label 0, from all of them: it is the classifier of binary relevance.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn, optional
        By default ``LinearSVC(C=cost_)`` with the cost of `BinaryRelevance`; ``C=1`` in `paper`.
    {n_jobs}
    {scale}
        With an estimator that is given, "auto" is "none": some want features as they are.
    {set_threshold}
        "joint" finds :math:`\hat y` by quick weighted voting, where learners are linear: the label that has lost the
        fewest votes meets those which have lost few, until no other can have more votes than the virtual label.
    {decide_for}
    {random_state}
        It draws a seed for each estimator, if that has a ``random_state``, and the quarter of the instances on which
        probabilities are learned.
    {callback}
        Pairs that are still to be fitted get one iteration each if the estimator has a ``max_iter``.
    {verbose}

    Attributes
    ----------
    pairs_ : Learner
        The learners of the pairs (0, 1), (0, 2), ..., (1, 2), ... of the L' labels that vary in training; above 0 for
        the first label. Then those of each label against the virtual one.
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    The score of a label is :math:`v_j - v_0 - \tfrac14 + \tfrac15 \tanh h_{j0}(x)`. It is above 0 exactly if
    :math:`v_j > v_0` (equal votes are too few; MULAN takes them as enough), and labels of equal votes are ranked by
    :math:`h_{j0}`. Where no instance tells two labels apart, each gets half a vote; where only one of them ever occurs
    without the other, it gets the vote.

    Labels are L (L - 1) / 2 pairs, 15,051 of 174 labels, so more than 447 labels are refused: a pair of delicious,
    of 10,737 instances, took 7 ms to learn, and 983 labels would take an hour. The instances that they learn from are
    about as many as the labels of all instances times L. All classifiers score by one product.
    Quick voting asked 13 of 21 of them on emotions, 86 of 946 on medical and 3,389 of 15,225 on cal500, and yet took
    two to nine times as long as the product on the latter two; the labels are the same.

    References
    ----------
    J. Fürnkranz, E. Hüllermeier, E. Loza Mencía & K. Brinker, "Multilabel classification via calibrated label ranking",
    Machine Learning 73, 2008, doi:10.1007/s10994-008-5064-8.

    E. Loza Mencía, S.-H. Park & J. Fürnkranz, "Efficient voting prediction for pairwise multilabel classification",
    Neurocomputing 73, 2010, doi:10.1016/j.neucom.2009.11.024.

    Examples
    --------
    >>> X = np.arange(9.0)[:, None]
    >>> y = np.hstack([X > 2, X > 5, X < 4])
    >>> model = CalibratedLabelRanking.paper().fit(X, y)
    >>> model.predict([[0.0], [8.0]])
    array([[False, False,  True],
           [ True,  True, False]])
    """

    pairs_: Learner = learned(kind=Learner)

    def _fit_bytes(self, data: TrainingData) -> int:
        L = data.labels.shape[1]
        if L * (L - 1) // 2 > _MOST_PAIRS:
            raise InvalidInputError(
                f"{L:,} labels are {L * (L - 1) // 2:,} pairs, and more than {_MOST_PAIRS:,} are refused",
                advice="take a method which does not grow with pairs of labels, such as RAkEL, HOMER or "
                "BinaryRelevance",
            )
        return 8 * data.features.shape[1] * (L * (L + 1) // 2)

    def _fit(self, data: TrainingData) -> None:
        Y = np.asarray(data.labels.toarray() > 0, dtype=np.int8, order="F")
        problems = []
        for j, k in zip(*(one.tolist() for one in np.triu_indices(Y.shape[1], 1)), strict=True):
            rows = np.flatnonzero(Y[:, j] != Y[:, k])
            problems.append(Subproblem(Y[rows, j], rows))
        problems += [Subproblem(column) for column in Y.T]
        estimator, generator = self._chosen_estimator(data), make_generator(self.random_state)
        self.pairs_ = self._fit_binary(estimator, data.features, problems, data, generator, what="pairs of labels")

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        blocks = batches(X.shape[0], max(1, _SCORES // self.pairs_.n_labels))
        return np.concatenate([self._votes(X[rows]) for rows in blocks])

    def _votes(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return scores of a block of instances."""
        scores = self.pairs_.scores(X)
        n_labels = _n_labels(self.pairs_.n_labels)
        n_pairs = self.pairs_.n_labels - n_labels
        first, second = np.triu_indices(n_labels, 1)
        signs = sparse.csr_array(
            (np.tile([0.5, -0.5], n_pairs), np.column_stack([first, second]).ravel(), 2 * np.arange(n_pairs + 1)),
            shape=(n_pairs, n_labels),
        )
        own = scores[:, n_pairs:]
        votes = np.sign(scores[:, :n_pairs]) @ signs + (n_labels - 1) / 2 + (own > 0)
        virtual = n_labels - np.count_nonzero(own > 0, axis=1)
        return np.asarray(votes - virtual[:, None] - 0.25 + 0.2 * np.tanh(own))

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        pairs = self.pairs_
        if not isinstance(pairs, LinearLearner):
            return self._scores(X) > 0
        coef, on = np.ascontiguousarray(pairs.coef.T), np.zeros((X.shape[0], _n_labels(pairs.n_labels)), np.uint8)
        for rows in batches(X.shape[0], max(1, _SCORES // pairs.n_features)):
            seen: Any = binarized(X[rows], pairs.binarize)
            dense = np.ascontiguousarray(seen.toarray() if is_sparse(seen) else seen, dtype=np.float64)
            quick_votes(dense, coef, pairs.intercept, on[rows], np.zeros(len(dense), np.int64))
        return on > 0

    def _check_learned(self) -> None:
        super()._check_learned()
        check_label_learners(self.pairs_, self._n_varying * (self._n_varying + 1) // 2, self.n_features_in_)


def _n_labels(n_learners: int) -> int:
    """Return L, where there are L (L + 1) / 2 learners.

    Examples
    --------
    >>> _n_labels(15_225)
    174
    """
    return round(((8 * n_learners + 1) ** 0.5 - 1) / 2)
