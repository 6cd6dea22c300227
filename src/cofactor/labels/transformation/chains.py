"""Classifier chains, their ensembles, and the orders of labels in them.

Each classifier of a chain sees the labels before it; chains of several random orders vote.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold

from cofactor.checks import make_generator, one_of, whole
from cofactor.correlation import MEASURES, measured
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.base import CheckedFeatures, TrainingData
from cofactor.labels.learners.base import Learner, Subproblem
from cofactor.labels.learners.chain import ChainLearner, chain_of, with_labels
from cofactor.labels.transformation.base import LearnerModel
from cofactor.labels.transformation.powersets import VOTING
from cofactor.model.estimator import learned, param
from cofactor.text import did_you_mean, first_repeated, nearest

#: Where the labels before a label come from in training.
EARLIER = ("true", "predicted", "out-of-fold")

#: Names of orders.
ORDERS = ("given", "random", *MEASURES)


def check_order(name: str, order: Any, also: Sequence[str] = ()) -> None:
    """Refuse an order that is neither known by a name, nor a permutation, nor a list of labels.

    Examples
    --------
    >>> check_order("order", [0, 0])
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: order=[0, 0]: expected each of the numbers 0 to 1 once, but 1 is not there; whole
    numbers are positions, whatever labels are called
    """
    if isinstance(order, str) and order in (*ORDERS, *also):
        return
    places = np.asarray(order) if order is not None else np.empty(0)
    truths = isinstance(order, list | tuple) and any(isinstance(place, bool) for place in order)
    if places.ndim != 1 or not len(places) or places.dtype.kind not in "iuU" or truths:
        kind = InvalidInputError if isinstance(order, str) else InvalidTypeError
        known = (*ORDERS, *also)
        raise kind(
            f"expected one of {', '.join(map(repr, known))}, or a list of the positions, or the names, of all labels",
            argument=name,
            found=order,
            advice=_advice(order, places, known),
        )
    if places.dtype.kind == "U":
        repeated = first_repeated(places)
        if repeated is not None:
            raise InvalidInputError(f"{repeated} is there twice", argument=name, found=order)
        return
    missing = np.setdiff1d(np.arange(len(places)), places)
    if len(missing):
        problem = f"expected each of the numbers 0 to {len(places) - 1} once, but {missing[0]} is not there"
        advice = "whole numbers are positions, whatever labels are called"
        raise InvalidInputError(problem, argument=name, found=order, advice=advice)


def _advice(order: Any, places: NDArray[Any], known: Sequence[str]) -> str:
    """Return what to do about an order that is none."""
    if isinstance(order, str):
        return did_you_mean(order, known) if nearest(order, known) else ""
    return "positions are whole numbers" if places.dtype.kind == "f" and places.size else ""


def order_of(model: Any, data: TrainingData, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the positions of the labels that vary, among themselves, in the order of a chain.

    Parameters
    ----------
    model : LabelModel
        In a fit. Its parameter `order` holds positions among all labels, or names.
    data : TrainingData
        With the labels that vary.
    generator : Generator
        Draws a random order.
    """
    n_labels, order, constant = data.labels.shape[1], model.order, model.constant_
    if not isinstance(order, str):
        if len(order) != len(constant):
            problem = f"it has {len(order)} of {len(constant)} labels"
            raise InvalidInputError(problem, argument="order", found=order)
        return _among_varying(label_places(order, model.label_names_.tolist(), "order"), constant)
    if order == "given":
        return np.arange(n_labels)
    if order == "random":
        return generator.permutation(n_labels)
    similar = measured(order, data.features, data.labels, data.weights)
    return np.argsort(-np.abs(similar).sum(axis=0), kind="stable")


def label_places(given: ArrayLike, names: list[Any], argument: str) -> NDArray[Any]:
    """Return positions of labels, of any shape, which an argument gives as such, or by their names.

    Examples
    --------
    >>> label_places(["sun", "sea"], ["sea", "sand", "sun"], "order")
    array([2, 0])
    """
    places = np.asarray(given)
    if places.dtype.kind != "U":
        return places
    unknown = next((name for name in places.ravel().tolist() if name not in names), None)
    if unknown is not None:
        hint = did_you_mean(unknown, map(str, names))
        if all(isinstance(name, int | np.integer) for name in names):
            hint = "labels have numbers here: their names come from label_names of fit, or from a frame"
        raise InvalidInputError(f"no label is called {unknown!r}", argument=argument, found=given, advice=hint)
    return np.array([names.index(name) for name in places.ravel().tolist()]).reshape(places.shape)


def _among_varying(order: NDArray[Any], constant: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return an order of all labels as one of those that vary.

    Examples
    --------
    >>> _among_varying(np.array([2, 0, 1]), np.array([0, 1, 0]))
    array([1, 0])
    """
    place = np.cumsum(constant == 0) - 1
    return np.asarray(place[order[constant[order] == 0]], dtype=np.int64)


def refuse_order(order: Any, n_labels: int) -> None:
    """Refuse an order read from a file that is no permutation of the labels."""
    if order.dtype.kind not in "iu" or not np.array_equal(np.sort(order), np.arange(n_labels)):
        raise InvalidInputError(f"an order of {n_labels} labels must hold each of them once")


def chain_bytes(data: TrainingData, n_chains: int = 1) -> int:
    """Return what chains take at least: coefficients of features and of labels, and the labels of all instances."""
    (n, D), L = data.features.shape, data.labels.shape[1]
    return 8 * n_chains * L * (D + L) + n * L


def fit_chain(
    fit_tasks: Callable[..., list[Learner]],
    estimator: BaseEstimator,
    data: TrainingData,
    order: NDArray[np.int64],
    generator: np.random.Generator,
    *,
    earlier: str = "true",
    n_folds: int = 5,
    done: int = 0,
    most: int | None = None,
) -> ChainLearner:
    """Fit the learners of a chain.

    Parameters
    ----------
    fit_tasks : callable
        `LearnerModel._fit_tasks` of the model.
    estimator : BaseEstimator
    data : TrainingData
    order : ndarray of shape (T,)
        Labels of the data in the order of the chain.
    generator : Generator
        Draws the seeds of the learners.
    earlier : {"true", "predicted", "out-of-fold"}, default="true"
        Where the labels before a label come from.
    n_folds : int, default=5
        Number of folds of "out-of-fold".
    done, most : int, optional
        How many labels were fitted before these, of how many.
    """
    Y = np.asarray(data.labels[:, order].toarray() > 0, dtype=np.int8, order="F")
    n, T = Y.shape
    D, most = data.features.shape[1], T if most is None else most
    if earlier == "true":
        tasks = [Subproblem(Y[:, t], n_features=D + t) for t in range(T)]
        X = with_labels(data.features, Y[:, :-1])
        return chain_of(fit_tasks(estimator, X, tasks, data, generator, done=done, most=most))
    learners: list[Learner] = []
    before = np.zeros((n, T))
    for t in range(T):
        X, y = with_labels(data.features, before[:, :t]), Y[:, t]
        folds = _folds(y, n_folds) if earlier == "out-of-fold" and t < T - 1 else []
        tasks = [Subproblem(y), *(Subproblem(y[train], train) for train, _ in folds if 0 < y[train].sum() < len(train))]
        first, *others = fit_tasks(estimator, X, tasks, data, generator, what=f"label {done + t + 1} of {most}")
        learners.append(first)
        before[:, t] = first.predict(X) if earlier == "predicted" else 0
        for train, test in folds:
            varies = 0 < y[train].sum() < len(train)
            before[test, t] = others.pop(0).predict(X[test]) if varies else y[train[0]]
    return chain_of(learners)


def _folds(y: NDArray[np.int8], n_folds: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the folds that scikit-learn takes for a label, fewer where fewer instances are on or off."""
    most = min(n_folds, max(int(y.sum()), int(len(y) - y.sum())))
    if most < 2:
        return [(np.arange(len(y)), np.arange(len(y)))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class has fewer members than there are folds
        return list(StratifiedKFold(most).split(np.zeros(len(y)), y))


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
    chain_ : ChainLearner
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
    chain_: ChainLearner = learned(kind=ChainLearner)

    def _fit_bytes(self, data: TrainingData) -> int:
        return chain_bytes(data)

    def _fit(self, data: TrainingData) -> None:
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


def check_chain(chain: ChainLearner, order: Any, n_labels: int, n_features: int) -> None:
    """Refuse a chain read from a file that does not fit the labels and features."""
    if (chain.n_labels, chain.n_features) != (n_labels, n_features):
        raise InvalidInputError(f"expected a chain of {n_labels} labels and {n_features} features")
    refuse_order(order, n_labels)


class EnsembleOfChains(LearnerModel):
    r"""Classifier chains of random orders, which vote for each label.

    .. math:: f_l(x) = \frac1C \sum_{c = 1}^C \hat y_l^{(c)}(x) - \frac12

    with the labels that chain c predicts, or, by "soft" voting, the mean of the chains' scores. All chains learn from
    all instances; only their orders differ.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn, optional
        As in `ClassifierChain`.
    n_estimators : int, default=10
        Number C of chains.
    voting : {"soft", "hard"}, default="soft"
        Whether scores are averaged, which tells more, or labels are counted, as in the paper. Exactly half of the
        votes are too few.
    {n_jobs}
    {scale}
        With an estimator that is given, "auto" is "none": some want features as they are.
    {threshold}
    {decide_for}
    {random_state}
        It draws the orders, a seed for each estimator, if that has a ``random_state``, and the quarter of the
        instances on which probabilities are learned.
    {callback}
        Labels that are still to be fitted get one iteration each if the estimator has a ``max_iter``.
    {verbose}

    Attributes
    ----------
    orders_ : ndarray of shape (C, L')
        Order of the L' labels that vary in training in each chain: their positions among these.
    chains_ : list of ChainLearner
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes & E. Frank, "Classifier chains for multi-label classification", Machine Learning
    85, 2011, doi:10.1007/s10994-011-5256-5.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> model = EnsembleOfChains.paper(n_estimators=4, random_state=0).fit(X, y)
    >>> model.decision_function([[0.0], [7.0]])
    array([[-0.5,  0.5, -0.5],
           [ 0.5, -0.5,  0.5]])
    """

    n_estimators: int = param(whole(), default=10)
    voting: str = param(one_of(VOTING), default="soft")

    orders_: NDArray[np.int64] = learned("chains labels", dtype=int)
    chains_: list[ChainLearner] = learned(kind=ChainLearner, many=True)

    _paper: ClassVar[Mapping[str, Any]] = {"voting": "hard"}

    def _fit_bytes(self, data: TrainingData) -> int:
        return chain_bytes(data, self.n_estimators)

    def _fit(self, data: TrainingData) -> None:
        generator = make_generator(self.random_state)
        estimator, L = self._chosen_estimator(data), data.labels.shape[1]
        self.orders_ = np.stack([generator.permutation(L) for _ in range(self.n_estimators)])
        self.chains_ = [
            fit_chain(self._fit_tasks, estimator, data, order, generator, done=c * L, most=self.n_estimators * L)
            for c, order in enumerate(self.orders_)
        ]

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        total = np.zeros((X.shape[0], self.orders_.shape[1]))
        for order, chain in zip(self.orders_, self.chains_, strict=True):
            scores, labels = chain.decide(X)
            total[:, order] += scores if self.voting == "soft" else labels - 0.5
        return total / len(self.chains_)

    def _check_learned(self) -> None:
        super()._check_learned()
        chains = self.chains_
        if not chains or len(chains) != len(self.orders_):
            raise InvalidInputError(f"expected {len(self.orders_)} chains, at least one")
        for chain, order in zip(chains, self.orders_, strict=True):
            check_chain(chain, order, self._n_varying, self.n_features_in_)
