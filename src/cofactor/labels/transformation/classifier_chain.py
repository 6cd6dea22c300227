"""A chain of classifiers: each sees the labels before it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.checks import make_generator, one_of, whole
from cofactor.errors import InvalidInputError
from cofactor.labels.base import CheckedFeatures, FitInput
from cofactor.labels.learners.chain import Chain
from cofactor.labels.transformation.base import LearnerModel
from cofactor.labels.transformation.chains import (
    EARLIER,
    chain_bytes,
    check_order,
    fit_chain,
    order_of,
    refuse_order,
)
from cofactor.model.estimator import learned, param


class ClassifierChain(LearnerModel):
    r"""A learner for each label, which sees the features and the labels before it in a chain.

    .. math:: \hat y_{\pi(t)} = h_t\bigl(x, \hat y_{\pi(1)}, \dots, \hat y_{\pi(t - 1)}\bigr)

    with an order :math:`\pi` of the labels. The learners see the true earlier labels in training, by default, and the
    predicted ones later. Of one label it is binary relevance.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn, optional
        A copy of it is fitted to each label; by default ``LinearSVC(C=cost_)`` as in `BinaryRelevance`, and ``C=1`` in
        `paper`. Labels join the features as 0 and 1, after these were scaled.
    order : str or array-like of shape (L,), default="random"
        Order of the labels: drawn by `random_state`; "given", as in y; by a measure of `cofactor.correlation.MEASURES`,
        the label first whose similarities with all others have the largest sum of absolute values (of equal ones the
        first in y); or the positions of the labels, or their names (whole numbers are positions, whatever labels are
        called).
    earlier : {"true", "predicted", "out-of-fold"}, default="true"
        Which earlier labels the learners see in training: those of y; what the learners before predict for the very
        instances that they learned from; or what copies of these predict for folds that they did not learn from, as
        the ``cv`` of scikit-learn's chain does.
    n_folds : int, default=5
        Number of folds of "out-of-fold", at least 2, fewer for a label which fewer instances have.
    {n_jobs}
    {scale}
        With an estimator that is given, "auto" is "none": some want features as they are.
    {threshold}
    {decide_for}
    {random_state}
        It draws the order, a seed for each label's estimator, if that has a ``random_state``, and the quarter of the
        instances on which probabilities are learned.
    {callback}
        Labels that are still to be fitted get one iteration each if the estimator has a ``max_iter``.
    {verbose}

    Attributes
    ----------
    order_ : ndarray of shape (L',)
        Order of the L' labels that vary in training: their positions among these.
    chain_ : Chain
        Their learners in this order.
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped early for some labels.

    Notes
    -----
    Scores are those of the learners, given the earlier labels as the plain cut 0 decides them; another threshold cuts
    the same scores. An error early in the chain is passed on, and differs from order to order: `EnsembleOfChains`
    averages over orders, `ProbabilisticChain` looks at more than one set of labels.

    Predicting takes one product for all learners, and L²/2 operations for each instance. Coefficients of labels are a
    table of L × L numbers.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes & E. Frank, "Classifier chains for multi-label classification", Machine Learning
    85, 2011, doi:10.1007/s10994-011-5256-5.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> model = ClassifierChain.paper(order="given").fit(X, y)
    >>> model.predict([[0.0], [7.0]])
    array([[False,  True, False],
           [ True, False,  True]])
    """

    order: str | ArrayLike = param(check_order, default="random")
    earlier: str = param(one_of(EARLIER), default="true")
    n_folds: int = param(whole(2), default=5)

    order_: NDArray[np.int64] = learned("labels", dtype=int)
    chain_: Chain = learned()

    def _fit_bytes(self, data: FitInput) -> int:
        return chain_bytes(data)

    def _fit(self, data: FitInput) -> None:
        estimator, generator = self._chosen_estimator(data), make_generator(self.random_state)
        self.order_ = order_of(self, data, generator)
        self.chain_ = fit_chain(
            self._fit_tasks, estimator, data, self.order_, generator, earlier=self.earlier, n_folds=self.n_folds
        )

    def _resolved_params(self) -> dict[str, Any]:
        return super()._resolved_params() | {"order": self.order_}

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        scores = np.empty((X.shape[0], len(self.order_)))
        scores[:, self.order_] = self.chain_.decide(X)[0]
        return scores

    def _check_learned(self) -> None:
        super()._check_learned()
        check_chain(self.chain_, self.order_, self._n_varying, self.n_features_in_)


def check_chain(chain: Any, order: Any, n_labels: int, n_features: int) -> None:
    """Refuse a chain read from a file that does not fit the labels and features."""
    if not isinstance(chain, Chain) or (chain.n_labels, chain.n_features) != (n_labels, n_features):
        raise InvalidInputError(f"expected a chain of {n_labels} labels and {n_features} features")
    refuse_order(order, n_labels)
