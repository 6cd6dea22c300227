"""Binary relevance: one learner for each label; the usual baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from cofactor.checks import make_generator
from cofactor.errors import InvalidInputError
from cofactor.labels.base import Capabilities, CheckedFeatures, TrainingData
from cofactor.labels.class_weights import check_class_weight, class_weights, resolved_weights
from cofactor.labels.data import check_missing
from cofactor.labels.explaining import LinearPart, ScoreParts
from cofactor.labels.filling import known_ridge
from cofactor.labels.learners.base import Learner, SeparateLearners, check_label_learners, give_probabilities
from cofactor.labels.learners.fitting import fit_label_learners, takes_chunks
from cofactor.labels.learners.linear import LinearLearner, binarized
from cofactor.labels.learners.machines import machine_bytes, suits_logistics, together_bytes
from cofactor.labels.transformation.base import LearnerModel
from cofactor.model.estimator import learned, param


class BinaryRelevance(LearnerModel):
    r"""One learner for each label, independent of all other labels.

    The default learner is a support vector machine of scikit-learn,

    .. math:: \min_{w_l, b_l} \tfrac12 (\|w_l\|^2 + b_l^2)
        + C \sum_i \max(0, 1 - z_{il} (x_i w_l + b_l))^2, \qquad z_{il} = 2 y_{il} - 1

    for each label l. Any other classifier of scikit-learn can be used, and any regressor, which then regresses the
    labels coded as 0 and 1. Labels that are constant in training are not fitted.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn, optional
        A copy of it is fitted to each label; by default ``LinearSVC(C=cost_)``, where the cost is
        :math:`1/(2 \alpha^*)`, with :math:`\alpha^*` the weight of least exact leave-one-out error of ridge regression
        of the labels: both penalize the same norm. `paper` takes C = 1 and the hinge loss, see the notes.
        `sklearn.linear_model.Ridge` is fitted to all labels at once, with one decomposition of the features; only its
        parameters ``alpha`` and ``fit_intercept`` are used then.
    n_jobs : int, optional
        Number of processes, as in joblib. They are not threads, since threads of liblinear would draw from a single
        stream of random numbers. ``LinearSVC`` with the squared hinge is fitted without them, by kernels in threads,
        where features are sparse, or at most 900: six times as fast as by liblinear on bibtex, and as near to the
        minimum; to 32 labels or more together where at least 200 features are dense. ``LogisticRegression()``, with any
        C up to 1,000, is fitted to 32 labels or more together, in threads,
        unless features are many: twenty times as fast as one by one on cal500, and nearer to the minimum.
    {scale}
        With an estimator that is given, "auto" is "none": some want features as they are.
    {missing}
    {class_weight}
        The estimator must take weights of instances.
    {threshold}
    {decide_for}
    {random_state}
        It draws a seed for each label's estimator, if that has a ``random_state``, and
        the quarter of the instances on which probabilities are learned.
    {callback}
        Labels that are still to be fitted get one iteration each if the estimator has a ``max_iter``, and are fitted as
        they are otherwise.
        A step is a label; its objective is the number of labels that are not fitted yet.
    {verbose}

    Attributes
    ----------
    learners_ : Learner
        The learners of the labels that are not constant in training.
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    coef_ : ndarray of shape (D, L)
        Coefficients of linear learners. Labels that are constant in training have no column.
    intercept_ : ndarray of shape (L,)
        Intercepts of linear learners.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped early for some labels; one warning, with their number.

    Notes
    -----
    Each label is learned from the instances for which it is known (`missing`, or `mask` of `fit`).

    The studies that compare with binary relevance fit linear support vector machines of the plain hinge loss by LIBSVM,
    features as they are, and state no C; LIBSVM has C = 1 by default. `paper` takes the same loss and C by liblinear,
    which penalizes the intercept too: that changes some predictions where features lie far from 0 beside their spread.
    ``SVC(kernel="linear")`` as the estimator is LIBSVM itself. It takes time by the square of the number of instances,
    may not end on features of unlike sizes, and cannot be saved.

    A fit to chunks takes the default estimator, ``LinearSVC(C=C)`` and ``LogisticRegression(C=C)``, which are fitted to
    all labels together with a pass over the chunks for each step of L-BFGS, and `sklearn.linear_model.Ridge`.

    The score depends on the learner; its plain cut is always 0. It is the decision function of linear models (log-odds
    for logistic regression), the log-odds of naive Bayes, and the prediction - 1/2 of regressors. Trees, forests and
    nearest neighbours have only probabilities P; their score is P - 1/2, since log-odds would often be infinite.

    Models with linear learners, naive Bayes, decision trees, forests or nearest neighbours can be saved (see
    `cofactor.labels.learners`). With any other estimator `save` raises an error. A pipeline as the estimator is one of
    these; the model as the last step of a pipeline is not, `cofactor.save` takes that.

    References
    ----------
    M. R. Boutell, J. Luo, X. Shen & C. M. Brown, "Learning multi-label scene classification", Pattern Recognition 37,
    2004, doi:10.1016/j.patcog.2004.03.009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X > 3, X < 2])
    >>> model = BinaryRelevance.paper(LogisticRegression(C=10)).fit(X, y)
    >>> model.predict([[0.0], [7.0]])
    array([[False, False,  True],
           [ True,  True, False]])
    >>> model.predict_proba([[3.5]]).round(2)
    array([[0.5, 0.5, 0. ]])
    """

    missing: str = param(check_missing, default="error")
    class_weight: Any = param(check_class_weight, default=None)

    learners_: Learner = learned(kind=Learner)

    _paper: ClassVar[Mapping[str, Any]] = {"estimator": LinearSVC(loss="hinge", max_iter=10_000)}

    def _capabilities(self) -> Capabilities:
        """See `LabelModel`.

        Chunks go with the default estimator, ``LinearSVC`` with the squared hinge, ``LogisticRegression`` with no other
        setting than C, and ``Ridge``; probabilities follow the learners, before `fit` the estimator.
        """
        given: Any = self.estimator
        learners, ridge = getattr(self, "learners_", None), type(given) is Ridge
        return replace(
            super()._capabilities(),
            chunks=given is None or ridge or takes_chunks(given),
            probabilities=give_probabilities(learners, given),
            explanations=learners is None or isinstance(learners, LinearLearner),
            separate_labels=learners is None or isinstance(learners, LinearLearner | SeparateLearners),
            shared_space=bool(given.fit_intercept) if ridge else None,
        )

    def _check_together(self) -> None:
        super()._check_together()
        if self.class_weight is not None and self.capabilities.weights != "any":
            raise InvalidInputError(
                f"{type(self.estimator).__name__} takes no weights of instances", argument="class_weight"
            )

    @property
    def coef_(self) -> NDArray[Any]:
        """Coefficients of linear learners, shape (D, L)."""
        return self._linear.coef

    @property
    def intercept_(self) -> NDArray[Any]:
        """Intercepts of linear learners, shape (L,)."""
        return self._linear.intercept

    @property
    def _linear(self) -> LinearLearner:
        learners = getattr(self, "learners_", None)
        if isinstance(learners, LinearLearner):
            return learners
        raise AttributeError(f"only linear learners have coefficients, and only after fit: {self!r}")

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        return self.learners_.probabilities(X)

    def _fit_bytes(self, data: TrainingData) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        if suits_logistics(self.estimator, (n, D), L):
            return 8 * D * L + together_bytes((n, D))
        linear = self.estimator is None or type(self.estimator) is Ridge
        return 8 * D * L * linear + machine_bytes(self.estimator, data.features, L)

    def _fit(self, data: TrainingData) -> None:
        estimator, classes = self._chosen_estimator(data), class_weights(self, data)
        if type(estimator) is Ridge:
            space = data.feature_space(bool(estimator.fit_intercept))
            if data.known is None and classes is None:
                coef, intercept = space.ridge(data.labels, estimator.alpha)
            else:
                known = np.ones(data.labels.shape, dtype=bool) if data.known is None else data.known
                coef, intercept = known_ridge(space, data.labels, known, estimator.alpha, classes=classes)
            self.learners_ = LinearLearner(coef, intercept - 0.5)
            return
        self.learners_ = fit_label_learners(
            estimator,
            data.features,
            data.labels,
            data.weights,
            known=data.known,
            classes=classes,
            seeds=make_generator(self.random_state).integers(np.iinfo(np.int32).max, size=data.labels.shape[1]),
            n_jobs=self.n_jobs,
            monitor=data.monitor,
        )

    def _resolved_params(self) -> dict[str, Any]:
        return super()._resolved_params() | resolved_weights(self)

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return self.learners_.scores(X)

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        assert isinstance(self.learners_, LinearLearner)
        seen = binarized(X, self.learners_.binarize)
        return ScoreParts((LinearPart(seen, self.learners_.coef),), self.learners_.intercept)

    def _check_learned(self) -> None:
        super()._check_learned()
        check_label_learners(self.learners_, self._n_varying, self.n_features_in_)
