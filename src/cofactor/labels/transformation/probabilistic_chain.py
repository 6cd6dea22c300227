"""Probabilistic classifier chains: a joint distribution of the labels, and the label set that is best by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.base import BaseEstimator, is_regressor
from sklearn.linear_model import LogisticRegression

from cofactor.checks import AUTO, make_generator, one_of, whole
from cofactor.chunked import batches
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.base import CheckedFeatures, TrainingData
from cofactor.labels.decisions import f1_sets_of_draws
from cofactor.labels.features import column_means
from cofactor.labels.learners.chain import ChainLearner, clip_probabilities
from cofactor.labels.learners.fitting import check_estimator
from cofactor.labels.penalty import ridge_penalty
from cofactor.labels.transformation.base import LearnerModel
from cofactor.labels.transformation.chains import chain_bytes, check_chain, check_order, fit_chain, order_of
from cofactor.model.estimator import learned, param

INFERENCES = (AUTO, "exact", "beam", "monte-carlo")
MEASURES = {"subset": "subset accuracy", "hamming": "Hamming loss", "example": "F1 of each instance"}

#: Most labels whose sets are all looked at, and how many numbers are in memory while sets are sought.
_MOST_EXACT = 12
_CELLS = 1 << 22
_LEAST = 1e-6  # probabilities stay this far from 0 and 1


class Sets(NamedTuple):
    """Label sets of some instances.

    Parameters
    ----------
    labels : ndarray of shape (n, S, L), bool
    weights : ndarray of shape (n, S)
        How much each set counts; the sum is 1.
    logs : ndarray of shape (n, S)
        Logarithm of the probability of each set.
    """

    labels: NDArray[np.bool_]
    weights: NDArray[np.float64]
    logs: NDArray[np.float64]


def _check_probable(name: str, value: Any) -> None:
    """Refuse what is no classifier with probabilities; None stands for the default."""
    check_estimator(name, value)
    if value is not None and (is_regressor(value) or not hasattr(value, "predict_proba")):
        raise InvalidTypeError(
            "expected a classifier with probabilities, such as LogisticRegression()", argument=name, found=value
        )


class ProbabilisticChain(LearnerModel):
    r"""A chain of probabilistic classifiers, which is a joint distribution of the labels.

    .. math:: P(y \mid x) = \prod_t P\bigl(y_{\pi(t)} \mid x, y_{\pi(1)}, \dots, y_{\pi(t - 1)}\bigr)

    From it follow the probability of each label, and by ``threshold="joint"`` the label set that is best for a measure:
    the likeliest one for subset accuracy, the labels that are more likely than not for Hamming loss, and the set of the
    largest expected F1 (`cofactor.labels.decisions.f1_sets_of_draws`).

    Parameters
    ----------
    estimator : classifier of scikit-learn, optional
        One with probabilities; by default ``LogisticRegression(C=cost_)``, whose penalty weighs as much beside its loss
        as that of the best ridge regression of the labels; ``C=1`` in `paper`.
    order : str or array-like of shape (L,), default="random"
        See `ClassifierChain`.
    inference : {"auto", "exact", "beam", "monte-carlo"}, default="auto"
        Which label sets are looked at: all of them, of 12 labels at most; those that a beam search finds likeliest; or
        sets that are drawn from the distribution. "auto" looks at all of 12 labels or fewer, and draws otherwise.
    beam_width : int, default=20
        How many of the likeliest beginnings a beam search keeps, at least 1; with 1 it decides as `ClassifierChain`.
    n_draws : int, default=100
        How many label sets are drawn for each instance; by the same random numbers for all instances, which `fit`
        draws.
    best_for : {"subset", "hamming", "example"}, default="example"
        Which measure the label sets of ``threshold="joint"`` are best for: subset accuracy, Hamming loss, or mean F1 of
        the instances.
    {n_jobs}
    {scale}
        With an estimator that is given, "auto" is "none": some want features as they are.
    {set_threshold}
        "joint" predicts as `best_for` says.
    {decide_for}
    {random_state}
        It draws the order, seeds, the label sets, and the quarter of the instances on which probabilities are learned.
    {callback}
        Labels that are still to be fitted get one iteration each if the estimator has a ``max_iter``.
    {verbose}

    Attributes
    ----------
    order_ : ndarray of shape (L',)
        Order of the L' labels that vary in training: their positions among these.
    chain_ : ChainLearner
        Their learners in this order.
    uniforms_ : ndarray of shape (n_draws, L')
        Random numbers by which label sets are drawn, spread evenly for each label.
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    Scores are log-odds of the labels. Probabilities are exact with all label sets; those of a beam are the shares of
    the sets that it kept, and those of n draws with a label in s of them are (s + 1/2) / (n + 1).

    References
    ----------
    K. Dembczyński, W. Cheng & E. Hüllermeier, "Bayes optimal multilabel classification via probabilistic classifier
    chains", ICML 2010. A. Kumar, S. Vembu, A. K. Menon & C. Elkan, "Beam search algorithms for multilabel learning",
    Machine Learning 92, 2013, doi:10.1007/s10994-013-5371-6.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> model = ProbabilisticChain.paper(order="given").fit(X, y)
    >>> model.predict_proba([[0.0], [7.0]]).round(2)
    array([[0.02, 0.98, 0.  ],
           [0.98, 0.02, 0.82]])
    """

    estimator: BaseEstimator | None = param(_check_probable, default=None)
    order: str | ArrayLike = param(check_order, default="random")
    inference: str = param(one_of(INFERENCES), default="auto")
    beam_width: int = param(whole(), default=20)
    n_draws: int = param(whole(), default=100)
    best_for: str = param(one_of(MEASURES), default="example")

    order_: NDArray[np.int64] = learned("labels", dtype=int)
    chain_: ChainLearner = learned(kind=ChainLearner)
    uniforms_: NDArray[np.float64] = learned("draws labels")

    _paper: ClassVar[Mapping[str, Any]] = {"best_for": "subset"}

    @staticmethod
    def _of_cost(cost: float) -> BaseEstimator:
        return LogisticRegression(C=cost, max_iter=1000)

    def _cost(self, data: TrainingData) -> float:
        share = column_means(data.labels, data.weights)
        return float(1 / (ridge_penalty(data) * np.mean(share * (1 - share))))

    def _fit_bytes(self, data: TrainingData) -> int:
        L = data.labels.shape[1]
        if self.inference == "exact" and L > _MOST_EXACT:
            raise InvalidInputError(
                f"{L} labels have 2**{L} label sets, and all are looked at of {_MOST_EXACT} labels at most",
                argument="inference",
                found=self.inference,
                advice="take 'beam' or 'monte-carlo'",
            )
        return chain_bytes(data)

    def _fit(self, data: TrainingData) -> None:
        generator, L = make_generator(self.random_state), data.labels.shape[1]
        self.order_ = order_of(self, data, generator)
        self.chain_ = fit_chain(self._fit_tasks, self._chosen_estimator(data), data, self.order_, generator)
        places = generator.permuted(np.tile(np.arange(self.n_draws)[:, None], L), axis=0)
        self.uniforms_ = (places + generator.random((self.n_draws, L))) / self.n_draws

    def _resolved_params(self) -> dict[str, Any]:
        return super()._resolved_params() | {"order": self.order_}

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return np.asarray(logit(self._probabilities(X)))

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        p = np.empty((X.shape[0], len(self.order_)))
        for rows in self._row_blocks(X.shape[0]):
            sets = self._sets(X[rows])
            p[rows] = np.einsum("is,isl->il", sets.weights, sets.labels)
        if self._way() == "monte-carlo":
            n = len(self.uniforms_)
            p = (p * n + 0.5) / (n + 1)
        return np.clip(p, _LEAST, 1 - _LEAST)

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        if self.best_for == "hamming":
            return np.asarray(self._probabilities(X) > 0.5)
        return np.concatenate([self._best_sets(X[rows]) for rows in self._row_blocks(X.shape[0])])

    def _best_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        sets = self._sets(X)
        if self.best_for == "example":
            return f1_sets_of_draws(sets.labels, sets.weights)
        return np.asarray(sets.labels[np.arange(len(sets.labels)), np.argmax(sets.logs, axis=1)])

    # ---------------------------------------------------------------- label sets of instances

    def _way(self) -> str:
        """Return how label sets are found."""
        if self.inference != AUTO:
            return self.inference
        return "exact" if len(self.order_) <= _MOST_EXACT else "monte-carlo"

    def _row_blocks(self, n: int) -> Any:
        """Return blocks of instances whose label sets are in memory together."""
        L = len(self.order_)
        n_sets = {"exact": 1 << min(L, _MOST_EXACT), "beam": 2 * self.beam_width, "monte-carlo": len(self.uniforms_)}
        return batches(n, max(1, _CELLS // (n_sets[self._way()] * L)))

    def _sets(self, X: CheckedFeatures) -> Sets:
        """Return label sets of instances; each label at a time is put to all sets that were begun."""
        chain, way, (n, L) = self.chain_, self._way(), (X.shape[0], len(self.order_))
        seen = chain.seen(X)
        if way == "monte-carlo":
            drawn, logs = chain.draw(seen, n, self.uniforms_)
            return Sets(self._placed(drawn), np.full(logs.shape, 1 / logs.shape[1]), logs)
        labels, logs = np.zeros((n, 1, 0)), np.zeros((n, 1))
        for t in range(L):
            n_sets = labels.shape[1]
            again = chain.repeated(seen, np.repeat(np.arange(n), n_sets))
            p = chain.link_probabilities(again, labels.reshape(n * n_sets, t), t).reshape(n, n_sets)
            p = clip_probabilities(p)
            labels, logs = _both(labels, logs, p)
            if way == "beam" and logs.shape[1] > self.beam_width:
                best = np.sort(np.argsort(-logs, axis=1, kind="stable")[:, : self.beam_width], axis=1)
                labels = np.take_along_axis(labels, best[:, :, None], axis=1)
                logs = np.take_along_axis(logs, best, axis=1)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return Sets(self._placed(labels > 0), weights / weights.sum(axis=1, keepdims=True), logs)

    def _placed(self, labels: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return labels of the chain at their own places."""
        found = np.empty_like(labels)
        found[:, :, self.order_] = labels
        return found

    def _check_learned(self) -> None:
        super()._check_learned()
        n_labels = self._n_varying
        check_chain(self.chain_, self.order_, n_labels, self.n_features_in_)
        if not self.chain_.has_probabilities or not len(self.uniforms_):
            raise InvalidInputError("expected learners with probabilities, and random numbers")
        if self.inference == "exact" and n_labels > _MOST_EXACT:
            raise InvalidInputError(f"inference 'exact' is for {_MOST_EXACT} labels at most, found {n_labels}")


def _both(
    labels: NDArray[np.float64], logs: NDArray[np.float64], p: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return all sets with the next label off, then all with it on, and the logarithms of their probabilities."""
    n, n_sets, _ = labels.shape
    off, on = np.zeros((n, n_sets, 1)), np.ones((n, n_sets, 1))
    longer = np.concatenate([np.concatenate([labels, off], axis=2), np.concatenate([labels, on], axis=2)], axis=1)
    return longer, np.concatenate([logs + np.log1p(-p), logs + np.log(p)], axis=1)
