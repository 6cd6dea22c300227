"""Distributions of label sets given features: over some label sets, or over all where pairs of labels form a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp, softmax

from cofactor.labels.features import CheckedFeatures
from cofactor.labels.fit_input import FitInput
from cofactor.passes import batches
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
    tree_sums,
    with_context,
)
from cofactor.solvers import lbfgs
from cofactor.solvers.result import Result

#: Steps and gradients that L-BFGS keeps: with 4 it takes half as many iterations more.
_MEMORY = 10


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

    def learn(self, data: FitInput, alpha: float, max_iter: int, tol: float) -> tuple[Result, Weights]:
        """Return how a fit went, and the weights."""

    def marginals(self, X: CheckedFeatures, weights: Weights) -> Floats:
        """Return the probability of each label, shape (n, L)."""

    def likeliest(self, X: CheckedFeatures, weights: Weights) -> NDArray[np.bool_]:
        """Return the label set of the largest probability, shape (n, L)."""


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

    def learn(self, data: FitInput, alpha: float, max_iter: int, tol: float) -> tuple[Result, Weights]:
        """Return how a fit went, and the weights."""
        return by_lbfgs(self.problem(data, alpha), data, max_iter, tol)

    def problem(self, data: FitInput, alpha: float) -> SetLikelihoodProblem:
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

    def mean_loss(self, data: FitInput, weights: Weights) -> float:
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

    def likeliest(self, X: CheckedFeatures, weights: Weights) -> NDArray[np.bool_]:
        """Return the label set of the largest probability, shape (n, L)."""
        best = np.concatenate([np.argmax(scores, axis=1) for scores in self._scores(X, weights)])
        return np.asarray(self._table()[best] > 0)

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

    def learn(self, data: FitInput, alpha: float, max_iter: int, tol: float) -> tuple[Result, Weights]:
        """Return how a fit went, and the weights."""
        penalties = {"W": L2(alpha), "V": L2(alpha)}
        problem = TreeLikelihoodProblem(data.features, data.labels, self.tree, penalties, weights=data.weights)
        return by_lbfgs(problem, data, max_iter, tol)

    def marginals(self, X: CheckedFeatures, weights: Weights) -> Floats:
        """Return the probability of each label, shape (n, L)."""
        F, a = self._scores(X, weights)
        return tree_sums(F, self.tree, a, np.ones(len(F)))[1]

    def likeliest(self, X: CheckedFeatures, weights: Weights) -> NDArray[np.bool_]:
        """Return the label set of the largest probability, shape (n, L)."""
        F, a = self._scores(X, weights)
        return tree_best(F, self.tree, a)

    def _scores(self, X: CheckedFeatures, weights: Weights) -> tuple[Floats, Floats]:
        """Return scores of labels that are on, and what one has more that is on with its parent."""
        a, first, second = self.pairs.parts(weights.V[0])
        return weights.scores(X) + self.pairs.by_label(first, second), self.tree.of_edges(a)


def by_lbfgs(
    problem: SetLikelihoodProblem | TreeLikelihoodProblem, data: FitInput, max_iter: int, tol: float
) -> tuple[Result, Weights]:
    """Return how L-BFGS went from zero, and the weights."""
    settings: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "memory": _MEMORY}
    result = lbfgs(problem, np.zeros(problem.size), **settings, callback=data.monitor.stage("likelihood"))
    return result, Weights(**problem.arrays(result.x))
