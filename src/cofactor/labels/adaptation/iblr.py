"""Logistic regression on the labels of the nearest neighbours: IBLR, and IBLR+ with the features beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from cofactor.checks import check_flag, check_jobs, make_generator, number
from cofactor.chunked import is_sparse
from cofactor.labels.adaptation.neighbours import NeighbourModel
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.explaining import LinearPart, ScorePart, ScoreParts, VotePart
from cofactor.labels.learners.base import Learner, check_label_learners, give_probabilities
from cofactor.labels.learners.fitting import check_estimator, fit_label_learners, takes_sparse
from cofactor.labels.learners.linear import LinearLearner, binarized
from cofactor.labels.learners.machines import suits_logistics, together_bytes
from cofactor.labels.penalty import ridge_penalty
from cofactor.model.estimator import learned, param


class IBLR(NeighbourModel):
    r"""Logistic regression of each label on the shares of all labels among the nearest neighbours.

    .. math:: \log \frac{P(y_l = 1 \mid x)}{P(y_l = 0 \mid x)} = b_l + \sum_m w_{lm} \frac{c_m(x)}{k}
        \; \Bigl( + \sum_f v_{lf} \, x_f \Bigr),

    where :math:`c_m(x)` of the k nearest training instances have label m. So a label may speak for or against another
    one. The term in parentheses is that of IBLR+. In training an instance is not its own neighbour.

    Parameters
    ----------
    {n_neighbors}
        The paper takes 10.
    with_features : bool, default=False
        Whether the features stand beside the shares: IBLR+.
    estimator : classifier or regressor of scikit-learn, optional
        A copy of it is fitted to each label; by default ``LogisticRegression(C=cost_)``, where the cost is
        :math:`4/\alpha^*`, with :math:`\alpha^*` the weight of least exact leave-one-out error of ridge regression of
        the labels on the same columns: there both penalize the same norm, as far as log-odds are 4 (p - ½). The
        regressions of the paper have no penalty, and diverge where labels can be separated; `paper` takes C = 1e4.
    n_jobs : int, optional
        Number of processes, as in joblib; of threads for the default estimator.
    {neighbour_scale}
    {threshold}
    {decide_for}
    {random_state}
        It draws a seed for each label's estimator, if that has a ``random_state``, and the quarter of the instances
        on which probabilities are learned.
    {callback}
        A step is a label; its objective is the number of labels that are not fitted yet. Labels that are still to be
        fitted get one iteration each.
    {verbose}

    Attributes
    ----------
    learners_ : Learner
        The learners of the L' labels that vary in training; their columns are the shares of these labels, and with
        `with_features` the features after them.
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    n_neighbors_, X_, Y_, instances_, instance_ids_
        See `NeighbourModel`.

    Notes
    -----
    How neighbours are found: see `NeighbourModel`. The coefficients are a table of labels × labels. Regressions
    ``LogisticRegression(C=C)`` of 32 labels or more with C up to 1,000, as the default is, are fitted together, to a
    millionth of the objective, unless the columns are more than 3,000.

    References
    ----------
    W. Cheng & E. Hüllermeier, "Combining instance-based learning and logistic regression for multilabel
    classification", Machine Learning 76, 2009, doi:10.1007/s10994-009-5127-5.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [0, 1]])
    >>> IBLR(2, random_state=0, threshold=0).fit(X, Y).predict([[0.05], [1.05]])
    array([[1, 0],
           [0, 1]])
    """

    with_features: bool = param(check_flag, default=False)
    estimator: BaseEstimator | None = param(check_estimator, default=None)
    n_jobs: int | None = param(check_jobs, default=None)

    learners_: Learner = learned(kind=Learner)
    cost_: float | None = learned(check=number(low=0, inclusive=False), optional=True)

    _paper: ClassVar[Mapping[str, Any]] = {
        "n_neighbors": 10,
        "estimator": LogisticRegression(C=1e4, max_iter=1000),  # nearly no penalty
    }

    def _capabilities(self) -> Capabilities:
        learners = getattr(self, "learners_", None)
        linear = learners is None or (isinstance(learners, LinearLearner) and learners.binarize is None)
        fitted = LogisticRegression() if self.estimator is None else self.estimator
        probabilities = give_probabilities(learners, fitted)
        return replace(super()._capabilities(), probabilities=probabilities, explanations=linear, separate_labels=False)

    def _fit_bytes(self, data: TrainingData) -> int:
        n, L = data.labels.shape
        D = L + (data.features.shape[1] if self.with_features else 0)
        regression = LogisticRegression() if self.estimator is None else self.estimator
        together = suits_logistics(regression, (n, D), L)
        return 8 * L * D + (together_bytes((n, D)) if together else 0)

    def _learn(self, counts: Callable[[], sparse.csr_array], data: TrainingData) -> None:
        columns, L = self._columns(counts(), data.features), data.labels.shape[1]
        estimator, self.cost_ = self.estimator, None
        if estimator is None:
            self.cost_ = 4 / ridge_penalty(TrainingData(columns, data.labels))
            estimator = LogisticRegression(C=self.cost_, max_iter=1000)
        if is_sparse(columns) and not self.with_features and not takes_sparse(estimator):
            columns = columns.toarray()
        self.learners_ = fit_label_learners(
            estimator,
            columns,
            data.labels,
            seeds=make_generator(self.random_state).integers(np.iinfo(np.int32).max, size=L),
            n_jobs=self.n_jobs,
            monitor=data.monitor,
        )

    def _resolved_params(self) -> dict[str, Any]:
        chosen = {} if self.cost_ is None else {"estimator": LogisticRegression(C=self.cost_, max_iter=1000)}
        return super()._resolved_params() | chosen

    def _held_out(self, data: TrainingData) -> tuple[NDArray[np.int64], NDArray[Any]]:
        return LabelModel._held_out(self, data)  # the regressions have learned from all instances

    def _columns(self, counts: sparse.csr_array, X: CheckedFeatures) -> CheckedFeatures:
        """Return what the regressions see: shares of labels, and perhaps the features after them."""
        shares = sparse.csr_array(counts * (1 / max(1, self.n_neighbors_)))
        shares.sort_indices()
        if not self.with_features:
            return shares
        if is_sparse(X):
            return sparse.csr_array(sparse.hstack([shares, X], format="csr"))
        return np.hstack([shares.toarray(), np.asarray(X)])

    def _of_counts(self, counts: sparse.csr_array, X: CheckedFeatures) -> NDArray[Any]:
        return self.learners_.scores(self._columns(counts, X))

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        return self.learners_.probabilities(self._columns(self._counts(X), X))

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        learners = self.learners_
        assert isinstance(learners, LinearLearner)
        neighbours, _ = self._having(X)
        L = learners.n_labels

        def weigh(label: int, row: int) -> NDArray[np.float64]:
            votes = self.Y_[neighbours[row]] @ learners.coef[:L, label]
            return np.asarray(votes / max(1, self.n_neighbors_), dtype=np.float64)

        parts: list[ScorePart] = [VotePart(neighbours, weigh)]
        if self.with_features:
            parts.append(LinearPart(binarized(X, None), learners.coef[L:]))
        return ScoreParts(tuple(parts), learners.intercept, self._names)

    def _check_learned(self) -> None:
        super()._check_learned()
        n_features = self._n_varying + (self.n_features_in_ if self.with_features else 0)
        check_label_learners(self.learners_, self._n_varying, n_features)
