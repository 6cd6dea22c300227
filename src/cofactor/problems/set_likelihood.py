"""The likelihood of label sets, of a conditional random field with weights of pairs of labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import logsumexp

from cofactor.penalties import Penalty
from cofactor.problems.pair_likelihood import PairLikelihoodProblem
from cofactor.problems.pairs import Floats, PairForm

_SCORES_PER_BLOCK = 1 << 21  # scores of label sets in memory at a time


class SetLikelihoodProblem(PairLikelihoodProblem):
    r"""Negative log-likelihood of the label sets of instances among some label sets.

    .. math::

        J = \sum_i c_i \Bigl[\log \sum_{t \in S} e^{s_i(t)} - s_i(y_i)\Bigr] + p_W(W) + p_V(V), \qquad
        s_i(t) = (x_i W + b) \, t^\top + \sum_{j < k} \sum_q z_i v_{q, jk} f_q(t_j, t_k)

    with the indicators f of a `PairForm`, and z = 1, or z = (x, 1) where features weigh the pairs. The gradient takes
    matrix products over instances × label sets: with M entries of z, an evaluation costs
    O(nnz(X) L + N |S| (L + M) + M |S| L²), and not the product of all of these.

    Parameters
    ----------
    X : ndarray or csr_array of shape (N, D)
        Features.
    sets : ndarray of shape (S, L)
        Label sets, of zeros and ones, as float64.
    own : ndarray of shape (N,), int64
        Which of the sets each instance has.
    pairs : PairForm
    penalties : mapping from str to Penalty
        Penalties of W and V.
    with_features : bool, default=False
        Whether pairs have a weight for each feature, beside a constant one.
    weights : ndarray of shape (N,), optional
        c; 1 by default.
    """

    def __init__(
        self,
        X: Any,
        sets: Floats,
        own: np.ndarray,
        pairs: PairForm,
        penalties: Mapping[str, Penalty],
        *,
        with_features: bool = False,
        weights: np.ndarray | None = None,
    ) -> None:
        weights = np.ones(X.shape[0]) if weights is None else weights
        share = sets[own].T @ (weights / weights.sum())
        n_weights = X.shape[1] + 1 if with_features else 1
        super().__init__(X, share, pairs, n_weights, penalties, weights)
        self._sets, self._own = sets, own
        self._centred = sets - self._share
        self._observed = np.zeros((n_weights, len(sets)))
        self._add_to_sets(self._observed, slice(None), weights[:, None] * _one_hot(own, len(sets)))

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        base = self._base(arrays)
        of_pairs = pair_scores(arrays["V"], self._sets, self._pairs)
        table, _ = self._pairs.quadratic(arrays["V"][-1])
        of_pairs[-1] = np.einsum("sl,sl->s", self._centred @ table, self._centred)
        slopes, expected, total = np.empty_like(base), -self._observed, 0.0
        step = max(1, _SCORES_PER_BLOCK // len(self._sets))
        for first in range(0, len(base), step):
            rows = slice(first, first + step)
            scores = base[rows] @ self._sets.T + with_context(self._X[rows], of_pairs)
            own, weights = self._own[rows], self._weights[rows]
            logs = logsumexp(scores, axis=1)
            total += float(weights @ (logs - scores[np.arange(len(own)), own]))
            chances = weights[:, None] * np.exp(scores - logs[:, None])
            slopes[rows] = chances @ self._sets - weights[:, None] * self._sets[own]
            self._add_to_sets(expected, rows, chances)
        self._put_gradient(slopes, out)
        for m, each in enumerate(expected[:-1]):
            weighed = each[:, None] * self._sets
            out["V"][m] = self._pairs.quadratic_gradient(self._sets.T @ weighed, weighed.sum(axis=0))
        products = self._centred.T @ (expected[-1][:, None] * self._centred)
        out["V"][-1] = self._pairs.quadratic_gradient(products, np.zeros(len(products)))
        return total + self.add_penalties(x, gradient)

    def _add_to_sets(self, sums: Floats, rows: slice, table: Floats) -> None:
        """Add z' T for a table T of some instances and all sets."""
        if len(sums) > 1:
            sums[:-1] += self._X[rows].T @ table
        sums[-1] += table.sum(axis=0)


def pair_scores(V: Floats, sets: Floats, pairs: PairForm) -> Floats:
    """Return what the weights V (M, k, P) of pairs give each set, shape (M, S)."""
    found = np.empty((len(V), len(sets)))
    for m, weights in enumerate(V):
        table, linear = pairs.quadratic(weights)
        found[m] = np.einsum("sl,sl->s", sets @ table + linear, sets)
    return found


def with_context(X: Any, of_pairs: Floats) -> Floats:
    """Return z G for what pairs give the sets, G (M, S), and z = 1 or (x, 1)."""
    return of_pairs[-1:] if len(of_pairs) == 1 else X @ of_pairs[:-1] + of_pairs[-1]


def _one_hot(own: np.ndarray, n_sets: int) -> Floats:
    table = np.zeros((len(own), n_sets))
    table[np.arange(len(own)), own] = 1
    return table
