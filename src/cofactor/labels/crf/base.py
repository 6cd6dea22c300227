"""What conditional random fields of labels share: distributions of label sets, how they are trained and predict."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit, logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_choice, number, whole
from cofactor.chunked import batches
from cofactor.correlation import maximum_spanning_tree
from cofactor.errors import Argument, InvalidInputError
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.decisions import JOINT
from cofactor.labels.features import column_means
from cofactor.labels.penalty import penalty, ridge_penalty
from cofactor.model.convergence import warn_if_unfinished
from cofactor.model.estimator import learned, param
from cofactor.penalties import L2
from cofactor.problems.random_fields import (
    SCORES_PER_BLOCK,
    Floats,
    LabelTree,
    PairForm,
    SetLikelihoodProblem,
    TreeLikelihoodProblem,
    pair_scores,
    tree_best,
    tree_best_of_sizes,
    tree_sums,
    with_context,
)
from cofactor.solvers import lbfgs
from cofactor.solvers.result import Result

#: Steps and gradients that L-BFGS keeps: with 4 it takes half as many iterations more.
_MEMORY = 10

#: The least and the largest number of labels of a set; None for any.
Sizes = NDArray[np.int64] | None


class Weights(NamedTuple):
    """Weights of features (D, L), of labels (L,), and of pairs (M, q, P); see `PairForm`."""

    W: Floats
    b: Floats
    V: Floats

    def scores(self, X: CheckedFeatures) -> Floats:
        """Return x W + b."""
        return np.asarray(X @ self.W + self.b, dtype=np.float64)


class Field(Protocol):
    """Which label sets there are, and which pairs have weights."""

    @property
    def pairs(self) -> PairForm:
        """Return the pairs."""

    @property
    def with_features(self) -> bool:
        """Return whether a pair has a weight for each feature, beside a constant one."""

    def learn(self, data: TrainingData, alpha: float, max_iter: int, tol: float) -> tuple[Result, Weights]:
        """Return how a fit went, and the weights."""

    def marginals(self, X: CheckedFeatures, weights: Weights) -> Floats:
        """Return the probability of each label, shape (n, L)."""

    def likeliest(self, X: CheckedFeatures, weights: Weights, sizes: Sizes = None) -> NDArray[np.bool_]:
        """Return the label set of the largest probability, shape (n, L), of those with so many labels."""


@dataclass(frozen=True)
class SetField:
    """Some label sets, and weights of all pairs.

    Parameters
    ----------
    sets : csr_array of shape (S, L)
        Distinct.
    pairs : PairForm
    with_features : bool
    """

    sets: sparse.csr_array
    pairs: PairForm
    with_features: bool

    def learn(self, data: TrainingData, alpha: float, max_iter: int, tol: float) -> tuple[Result, Weights]:
        """Return how a fit went, and the weights."""
        return by_lbfgs(self.problem(data, alpha), data, max_iter, tol)

    def problem(self, data: TrainingData, alpha: float) -> SetLikelihoodProblem:
        """Return the problem of a fit."""
        return SetLikelihoodProblem(
            data.features,
            self._table(),
            self._own(data.labels),
            self.pairs,
            {"W": L2(alpha), "V": L2(alpha)},
            with_features=self.with_features,
            weights=data.weights,
        )

    def mean_loss(self, data: TrainingData, weights: Weights) -> float:
        """Return the mean of -log P over instances."""
        total, done, own = 0.0, 0, self._own(data.labels)
        for scores in self._scores(data.features, weights):
            chosen = own[done : done + len(scores), None]
            total += float(np.sum(logsumexp(scores, axis=1) - np.take_along_axis(scores, chosen, axis=1)[:, 0]))
            done += len(scores)
        return total / done

    def marginals(self, X: CheckedFeatures, weights: Weights) -> Floats:
        """Return the probability of each label, shape (n, L)."""
        table = self._table()
        return np.concatenate([softmax(scores, axis=1) @ table for scores in self._scores(X, weights)])

    def likeliest(self, X: CheckedFeatures, weights: Weights, sizes: Sizes = None) -> NDArray[np.bool_]:
        """Return the label set of the largest probability, shape (n, L), of those with so many labels."""
        bar = np.where(self.of_sizes(sizes), 0.0, -np.inf)
        best = np.concatenate([np.argmax(scores + bar, axis=1) for scores in self._scores(X, weights)])
        return np.asarray(self._table()[best] > 0)

    def of_sizes(self, sizes: Sizes) -> NDArray[np.bool_]:
        """Return which of the sets have so many labels."""
        counts = np.diff(self.sets.indptr)
        return np.ones(len(counts), dtype=bool) if sizes is None else (counts >= sizes[0]) & (counts <= sizes[1])

    def _table(self) -> Floats:
        return np.asarray(self.sets.toarray(), dtype=np.float64)

    def _own(self, Y: sparse.csr_array) -> NDArray[np.int64]:
        """Return which of the sets each row of Y is."""
        both = np.packbits(np.concatenate([self.sets.toarray(), Y.toarray()]) > 0, axis=1)
        whole = np.ascontiguousarray(both).view(np.dtype((np.void, both.shape[1]))).ravel()
        _, classes = np.unique(whole, return_inverse=True)
        place = np.empty(len(whole), dtype=np.int64)
        place[classes[: self.sets.shape[0]]] = np.arange(self.sets.shape[0])
        return place[classes[self.sets.shape[0] :]]

    def _scores(self, X: CheckedFeatures, weights: Weights) -> Iterator[Floats]:
        """Yield the scores of the sets, (n, S), for blocks of instances."""
        table = self._table()
        of_pairs = pair_scores(weights.V, table, self.pairs)
        for rows in batches(X.shape[0], max(1, SCORES_PER_BLOCK // len(table))):
            yield weights.scores(X[rows]) @ table.T + with_context(X[rows], of_pairs)


@dataclass(frozen=True)
class TreeField:
    """All label sets, and weights of labels with their parents in a tree.

    Parameters
    ----------
    tree : LabelTree
    """

    tree: LabelTree
    with_features: bool = False

    @property
    def pairs(self) -> PairForm:
        """Return the pairs."""
        return self.tree.pairs()

    def learn(self, data: TrainingData, alpha: float, max_iter: int, tol: float) -> tuple[Result, Weights]:
        """Return how a fit went, and the weights."""
        penalties = {"W": L2(alpha), "V": L2(alpha)}
        problem = TreeLikelihoodProblem(data.features, data.labels, self.tree, penalties, weights=data.weights)
        return by_lbfgs(problem, data, max_iter, tol)

    def marginals(self, X: CheckedFeatures, weights: Weights) -> Floats:
        """Return the probability of each label, shape (n, L)."""
        F, a = self._scores(X, weights)
        return tree_sums(F, self.tree, a, np.ones(len(F)))[1]

    def likeliest(self, X: CheckedFeatures, weights: Weights, sizes: Sizes = None) -> NDArray[np.bool_]:
        """Return the label set of the largest probability, shape (n, L), of those with so many labels."""
        F, a = self._scores(X, weights)
        return tree_best(F, self.tree, a) if sizes is None else tree_best_of_sizes(F, self.tree, a, *sizes.tolist())

    def _scores(self, X: CheckedFeatures, weights: Weights) -> tuple[Floats, Floats]:
        """Return scores of labels that are on, and what one has more that is on with its parent."""
        a, first, second = self.pairs.parts(weights.V[0])
        return weights.scores(X) + self.pairs.by_label(first, second), self.tree.of_edges(a)


def by_lbfgs(
    problem: SetLikelihoodProblem | TreeLikelihoodProblem, data: TrainingData, max_iter: int, tol: float
) -> tuple[Result, Weights]:
    """Return how L-BFGS went from zero, and the weights."""
    settings: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "memory": _MEMORY}
    result = lbfgs(problem, np.zeros(problem.size), **settings, callback=data.monitor.stage("likelihood"))
    return result, Weights(**problem.arrays(result.x))


def strongest_edges(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the edges of the tree of labels whose weights are furthest from 0, among weights (L, L) of pairs.

    Examples
    --------
    >>> strongest_edges(np.array([[0.0, 0.1, -0.3], [0.1, 0.0, 0.2], [-0.3, 0.2, 0.0]]))
    array([[0, 2],
           [1, 2]])
    """
    return maximum_spanning_tree(np.abs(table))


def table_of_all(table: NDArray[np.float64], constant: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return weights of pairs of the labels that vary as weights of pairs of all, 0 for constant ones.

    Examples
    --------
    >>> table_of_all(np.array([[0.0, 0.5], [0.5, 0.0]]), np.array([0, 1, 0]))
    array([[0. , 0. , 0.5],
           [0. , 0. , 0. ],
           [0.5, 0. , 0. ]])
    """
    varying = np.flatnonzero(constant == 0)
    whole = np.zeros((len(constant), len(constant)))
    whole[np.ix_(varying, varying)] = table
    return whole


#: `set_sizes` that are about as large as the label sets of training.
TRAINING = "training"


def _check_sizes(name: str, value: Any) -> None:
    """Refuse what is neither None, nor "training", nor the least and the largest number of labels."""
    if value is None or isinstance(value, str):
        check_choice(name, value, [TRAINING, None])
        return
    whole_ = isinstance(value, Sequence | np.ndarray) and len(value) == 2
    if not whole_ or not all(isinstance(k, Integral) and int(k) >= 0 for k in value) or value[0] > value[1]:
        problem = "expected None, 'training', or the least and the largest number of labels, such as (1, 3)"
        raise InvalidInputError(problem, argument=name, found=value)


LEAST = 1e-9  # probabilities stay this far from 0 and 1


class CRF(LabelModel):
    """A log-linear model of label sets; see `CML` for its parameters. A subclass makes a `Field`."""

    alpha: float | str = param(penalty(inclusive=False), default="auto", kw_only=False)
    max_iter: int = param(whole(), default=2000)
    tol: float = param(number(low=0), default=1e-6)
    set_sizes: str | tuple[int, int] | None = param(_check_sizes, default=None)

    alpha_: float = learned(check=number(low=0))
    coef_: NDArray[np.float64] = learned("features labels")
    intercept_: NDArray[np.float64] = learned("labels")
    pair_coef_: NDArray[np.float64] = learned("inputs states pairs")
    objective_: float = learned()
    history_: list[float] = learned()
    certificate_: float = learned()
    n_iter_: int = learned()
    set_sizes_: NDArray[np.int64] = learned("2", dtype=int, optional=True)

    _paper: ClassVar[Mapping[str, Any]] = {"alpha": 1.0, "threshold": JOINT}

    @abstractmethod
    def _choose(self, data: TrainingData) -> None:
        """Choose the attributes that the field is made of."""

    @abstractmethod
    def _field(self) -> Field:
        """Return the field of a fitted model."""

    @abstractmethod
    def _check_field(self) -> None:
        """Refuse attributes of a file of which no field can be made."""

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), weights="any")

    def _fit(self, data: TrainingData) -> None:
        self.alpha_ = chosen_alpha(self.alpha, data)
        self._choose(data)
        if self.set_sizes is not None:
            self.set_sizes_ = self._resolved_sizes(data)
        self._learn(data)

    def _check_together(self) -> None:
        super()._check_together()
        if self.set_sizes is not None and self.threshold != JOINT:
            raise InvalidInputError(
                ("the likeliest label set is not asked for with ", Argument("threshold", self.threshold)),
                argument="set_sizes",
                found=self.set_sizes,
                advice=("leave it out, or take ", Argument("threshold", JOINT)),
            )

    def _resolved_sizes(self, data: TrainingData) -> NDArray[np.int64]:
        """Return the least and the largest number of the labels that vary."""
        counts, always = np.diff(data.labels.indptr), int(np.count_nonzero(self.constant_ == 1))
        if isinstance(self.set_sizes, str):
            mean = np.average(counts, weights=data.weights)
            deviation = math.sqrt(np.average((counts - mean) ** 2, weights=data.weights))
            least, most = math.floor(mean - deviation), math.ceil(mean + deviation)
        else:
            assert self.set_sizes is not None
            least, most = (int(k) - always for k in self.set_sizes)
        sizes = np.clip([least, most], 0, data.labels.shape[1])
        field = self._field()
        possible = field.of_sizes(sizes).any() if isinstance(field, SetField) else True
        if most < 0 or least > data.labels.shape[1] or not possible:
            n = f"{always} to {len(self.constant_) - int(np.count_nonzero(self.constant_ == -1))}"
            raise InvalidInputError(
                f"no label set that is possible has so many labels; sets may have {n}",
                argument="set_sizes",
                found=self.set_sizes,
            )
        return np.asarray(sizes, dtype=np.int64)

    def _learn(self, data: TrainingData) -> None:
        """Learn the weights of the field that was chosen."""
        result, weights = self._field().learn(data, self.alpha_, self.max_iter, self.tol)
        warn_if_unfinished(result, self)
        self.objective_, self.certificate_ = result.objective, result.certificate
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.coef_, self.intercept_, self.pair_coef_ = weights

    def _resolved_params(self) -> dict[str, Any]:
        return {"alpha": self.alpha_}

    def pair_weights(self) -> NDArray[np.float64]:
        """Return what each pair of labels adds to the score of a label set where both are alike.

        Returns
        -------
        ndarray of shape (L, L)
            Symmetric, 0 on the diagonal, for pairs without a weight, and for labels that are constant in training.
            Where features weigh the pairs, these are the weights for features of 0. With four states it is what the
            weights say beyond those of single labels: (v00 + v11 - v10 - v01) / 2.

        Examples
        --------
        >>> from cofactor.labels import CML
        >>> X = np.repeat([[0.0], [1.0]], 4, axis=0)
        >>> CML.paper(2.0).fit(X, X.repeat(2, axis=1)).pair_weights().round(2)
        array([[0.  , 1.01],
               [1.01, 0.  ]])
        """
        check_is_fitted(self)
        none = np.zeros((0, 0))
        return table_of_all(none if self.constant_.all() else self._pair_table(), self.constant_)

    def edges(self) -> NDArray[np.int64]:
        """Return the edges of the tree of labels, as `cofactor.plots.plot_label_structure` takes them.

        Returns
        -------
        ndarray of shape (L' - 1, 2)
            Pairs of positions among all labels: of a tree or chain each label but the root and its parent; else the
            tree of the pairs whose weights (`pair_weights`) are furthest from 0, the first one of all furthest. Labels
            that are constant in training have no edges.

        Examples
        --------
        >>> from cofactor.labels import CML, ChainCRF
        >>> X = np.arange(8.0)[:, None]
        >>> y = np.hstack([X > 3, X < 5, X > 5])
        >>> ChainCRF.paper(order=[2, 0, 1]).fit(X, y).edges()
        array([[0, 2],
               [1, 0]])
        >>> CML.paper().fit(X, y).edges()
        array([[0, 1],
               [1, 2]])
        """
        check_is_fitted(self)
        varying = np.flatnonzero(self.constant_ == 0)
        return varying[self._tree_edges()] if len(varying) else np.empty((0, 2), dtype=np.int64)

    def _pair_table(self) -> NDArray[np.float64]:
        """Return the weights of pairs of the labels that vary, shape (L', L')."""
        pairs, table = self._field().pairs, np.zeros((len(self.intercept_), len(self.intercept_)))
        both, _, _ = pairs.parts(self.pair_coef_[-1])
        table[pairs.first, pairs.second] = table[pairs.second, pairs.first] = both / 2
        return table

    def _tree_edges(self) -> NDArray[np.int64]:
        """Return the edges of a tree of the labels that vary: of the model's, or of the weightiest pairs."""
        field = self._field()
        return field.tree.edges() if isinstance(field, TreeField) else strongest_edges(self._pair_table())

    def _weights(self) -> Weights:
        return Weights(self.coef_, self.intercept_, self.pair_coef_)

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return np.asarray(logit(self._probabilities(X)))

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        return np.clip(self._field().marginals(X, self._weights()), LEAST, 1 - LEAST)

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        return self._field().likeliest(X, self._weights(), getattr(self, "set_sizes_", None))

    def _check_learned(self) -> None:
        super()._check_learned()
        self._check_field()
        field = self._field()
        n_features = self.n_features_in_ + 1 if field.with_features else 1
        expected = (n_features, field.pairs.n_states, len(field.pairs.first))
        if self.pair_coef_.shape != expected:
            raise InvalidInputError(f"expected weights of pairs of shape {expected}, found {self.pair_coef_.shape}")


def chosen_alpha(alpha: float | str, data: TrainingData) -> float:
    """Return the weight of the penalty: the given one, or one that suits the data.

    This is as heavy beside logistic losses as the best one of ridge regression, which grows with the weights of the
    instances as the losses do, beside squared ones.
    """
    if not isinstance(alpha, str):
        return float(alpha)
    share = column_means(data.labels, data.weights)
    return float(ridge_penalty(data) * np.mean(share * (1 - share)))
