"""Binary relevance twice: a second layer sees the scores of all labels."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from cofactor.checks import check_flag, make_generator, number, whole
from cofactor.labels.base import Capabilities, CheckedFeatures, TrainingData
from cofactor.labels.features import grouped_folds
from cofactor.labels.learners.base import Learner, check_label_learners, give_probabilities
from cofactor.labels.learners.chain import with_labels
from cofactor.labels.learners.fitting import fit_label_learners
from cofactor.labels.learners.machines import machine_bytes
from cofactor.labels.transformation.base import LearnerModel
from cofactor.model.estimator import learned, param


class Stacked2BR(LearnerModel):
    r"""Two layers of binary relevance: the second one learns each label from the scores of all labels.

    .. math:: f_l(x) = h_l\bigl(g_1(x), \ldots, g_L(x)\bigr)

    with the first layer :math:`g` and the second one :math:`h`, each with a learner for each label. So a label may
    speak for or against another one, wherever it comes in an order. The second layer learns from scores of instances
    that the first one did not learn from: instances are dealt to folds, and those of a fold are scored by learners of
    the others. To predict, the first layer has learned from all.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn, optional
        As in `BinaryRelevance`, for both layers. The cost of the default one is chosen for each layer.
    with_features : bool, default=False
        Whether the second layer sees the features beside the scores. On five public sets this was no better, or worse.
    n_folds : int, default=5
        Number of folds, at least 2; fewer if there are not two distinct instances for each. Copies come to one fold.
    {n_jobs}
    {scale}
        With an estimator that is given, "auto" is "none": some want features as they are.
    {threshold}
    {decide_for}
    {random_state}
        It deals the folds, and draws a seed for each estimator, if that has a ``random_state``, and the quarter of the
        instances on which probabilities are learned.
    {callback}
        Labels that are still to be fitted get one iteration each if the estimator has a ``max_iter``.
    {verbose}

    Attributes
    ----------
    first_learners_ : Learner
        The first layer, of the L' labels that vary in training.
    learners_ : Learner
        The second layer: its columns are the features, if it sees them, and then the scores of these labels.
    cost_, second_cost_ : float or None
        C of the default estimator of the first and of the second layer; None where the estimator was given.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    A fit takes about `n_folds` + 2 times as long as that of `BinaryRelevance`, and the learners of the second layer
    have coefficients of labels × labels: they take time in proportion to the square of the number of labels, as do
    support vector machines, which are fitted together (see `BinaryRelevance`), or more. Where a label is constant in
    what a fold learns from, its scores are those of learners of all instances, and so are all scores if there are fewer
    than four distinct instances: others would say the opposite of what these have.

    References
    ----------
    S. Godbole & S. Sarawagi, "Discriminative methods for multi-labeled classification", PAKDD 2004,
    doi:10.1007/978-3-540-24775-3_5.
    G. Tsoumakas, A. Dimou, E. Spyromitros, V. Mezaris, I. Kompatsiaris & I. Vlahavas, "Correlation-based pruning of
    stacked binary relevance models for multi-label learning", MLD workshop at ECML PKDD 2009.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> model = Stacked2BR.paper(LogisticRegression(C=10), random_state=0).fit(X, y)
    >>> model.predict([[0.0], [7.0]])
    array([[False,  True, False],
           [ True, False,  True]])
    """

    with_features: bool = param(check_flag, default=False)
    n_folds: int = param(whole(2), default=5)

    first_learners_: Learner = learned(kind=Learner)
    learners_: Learner = learned(kind=Learner)
    second_cost_: float | None = learned(check=number(low=0, inclusive=False), optional=True)

    def _capabilities(self) -> Capabilities:
        own = give_probabilities(getattr(self, "learners_", None), self.estimator)
        return replace(super()._capabilities(), probabilities=own)

    def _fit_bytes(self, data: TrainingData) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        second = np.broadcast_to(np.float64(0), (n, L + D * bool(self.with_features)))
        layers = (machine_bytes(self.estimator, X, L) for X in (data.features, second))
        return 8 * (L * (2 * D + L) + n * L) + max(layers)

    def _fit(self, data: TrainingData) -> None:
        generator = make_generator(self.random_state)
        estimator = self._chosen_estimator(data)
        self.first_learners_ = self._layer(estimator, data, generator, "labels of the first layer")
        scores = self.first_learners_.scores(data.features)
        folds = grouped_folds(data.features, self.n_folds, generator)
        for k, test in enumerate(folds if len(folds) > 1 else []):
            self._write_scores_of_others(scores, estimator, data, test, generator, f"labels of fold {k + 1}")
        seen = TrainingData(self._columns(data.features, scores), data.labels, data.weights, data.monitor)
        self.second_cost_ = None
        if self.cost_ is not None:
            self.second_cost_ = self._cost(seen)
            estimator = self._of_cost(self.second_cost_)
        self.learners_ = self._layer(estimator, seen, generator, "labels of the second layer")

    def _write_scores_of_others(
        self,
        scores: NDArray[Any],
        estimator: BaseEstimator,
        data: TrainingData,
        test: NDArray[np.int64],
        generator: np.random.Generator,
        what: str,
    ) -> None:
        """Write scores of the instances `test` by learners of the others, but of labels that are constant there."""
        train = data.rows(np.setdiff1d(np.arange(data.n_instances), test))
        counts = np.bincount(train.labels.indices, minlength=data.labels.shape[1])
        vary = np.flatnonzero((counts > 0) & (counts < train.n_instances))
        if len(vary):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the first layer tells
                learners = self._layer(estimator, train.of_labels(vary), generator, what)
            scores[np.ix_(test, vary)] = learners.scores(data.features[test])

    def _layer(
        self, estimator: BaseEstimator, data: TrainingData, generator: np.random.Generator, what: str
    ) -> Learner:
        """Return a learner for each label of the data."""
        return fit_label_learners(
            estimator,
            data.features,
            data.labels,
            data.weights,
            seeds=generator.integers(np.iinfo(np.int32).max, size=data.labels.shape[1]),
            n_jobs=self.n_jobs,
            monitor=data.monitor,
            what=what,
        )

    def _columns(self, X: CheckedFeatures, scores: NDArray[Any]) -> CheckedFeatures:
        """Return what the second layer sees."""
        return with_labels(X, scores) if self.with_features else scores

    def _resolved_params(self) -> dict[str, Any]:
        return {}  # each layer chooses a cost of its own

    def _seen(self, X: CheckedFeatures) -> CheckedFeatures:
        return self._columns(X, self.first_learners_.scores(X))

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return self.learners_.scores(self._seen(X))

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        return self.learners_.probabilities(self._seen(X))

    def _check_learned(self) -> None:
        super()._check_learned()
        L = self._n_varying
        check_label_learners(self.first_learners_, L, self.n_features_in_)
        check_label_learners(self.learners_, L, L + self.n_features_in_ * bool(self.with_features))
