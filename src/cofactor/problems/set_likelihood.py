"""The likelihood of label sets, of a conditional random field with weights of pairs of labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cofactor.penalties import Penalty
from cofactor.problems.pair_basis import PairBasis
from cofactor.problems.pair_likelihood import PairLikelihoodProblem
from cofactor.problems.pairs import Floats, PairForm

SCORES_PER_BLOCK = 1 << 21  #: scores of label sets in memory at a time


class SetLikelihoodProblem(PairLikelihoodProblem):
    r"""Negative log-likelihood of the label sets of instances among some label sets.

    .. math::

        J = \sum_i c_i \Bigl[\log \sum_{t \in S} e^{s_i(t)} - s_i(y_i)\Bigr] + p_W(W) + p_V(V), \qquad
        s_i(t) = (x_i W + b) \, t^\top + \sum_{j < k} \sum_q z_i v_{q, jk} f_q(t_j, t_k)

    with the indicators f of a `PairForm`, and z = 1, or z = (x, 1) where features weigh the pairs. The gradient takes
    matrix products over instances × label sets: an evaluation costs O(nnz(X) L + N |S| L + |S| L²), and with features
    O(nnz(X) |S| + D |S| r) more, or O(nnz(X) r + N |S| r) if that is less. For a solver sees their weights as B (D, r)
    in a `PairBasis`, with r no larger than |S|.

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
        counts = np.bincount(own, weights, len(sets))
        share, (N, D) = counts @ sets / counts.sum(), X.shape
        more, penalties = {}, dict(penalties)
        if with_features:
            self._basis = PairBasis.of_sets(sets, pairs, counts / counts.sum())
            more["B"] = (D, len(self._basis.variances))
            penalties |= {"B": penalties["V"]} if "V" in penalties else {}
        super().__init__(X, share, pairs, penalties, weights, more)
        self._sets, self._own, self._counts, self._centred = sets, own, counts, sets - share
        if with_features:
            r, S = len(self._basis.variances), len(sets)
            self._instances_first = N * r * (D + S) < D * S * (r + N)
            self._observed = np.asarray(X.T @ (weights[:, None] * self._basis.scores[own]))

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return W, b and V, of features and labels that are not centred."""
        arrays = super().arrays(x)
        B = arrays.pop("B", None)
        if B is not None:
            of_features = (B @ self._basis.directions).reshape(len(B), *arrays["V"].shape[1:])
            arrays["V"] = np.concatenate([of_features, arrays["V"]])
        return arrays

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        base, B = self._base(arrays), arrays.get("B")
        table, _ = self._pairs.quadratic(arrays["V"][0])
        of_pairs = np.einsum("sl,sl->s", self._centred @ table, self._centred)
        of_sets = None if B is None or self._instances_first else B @ self._basis.scores.T
        slopes, expected, total = np.empty_like(base), -self._counts, 0.0
        if B is not None:
            out["B"][...] = -self._observed
        step = max(1, SCORES_PER_BLOCK // len(self._sets))
        for first in range(0, len(base), step):
            rows = slice(first, first + step)
            scores = base[rows] @ self._sets.T + of_pairs
            if B is not None:
                scores += self._X[rows] @ of_sets if of_sets is not None else (self._X[rows] @ B) @ self._basis.scores.T
            own, weights = self._own[rows], self._weights[rows]
            scores -= scores.max(axis=1, keepdims=True)
            of_own = scores[np.arange(len(own)), own]
            chances = np.exp(scores, out=scores)
            sums = chances.sum(axis=1)
            total += float(weights @ (np.log(sums) - of_own))
            chances *= (weights / sums)[:, None]
            slopes[rows] = chances @ self._sets - weights[:, None] * self._sets[own]
            expected += chances.sum(axis=0)
            if B is not None:
                self._add_features(out["B"], self._X[rows], chances)
        self._put_gradient(self._X, slopes, out)
        products = self._centred.T @ (expected[:, None] * self._centred)
        out["V"][0] = self._pairs.quadratic_gradient(products, np.zeros(len(products)))
        return total + self.add_penalties(x, gradient)

    def _add_features(self, sums: Floats, X: Any, chances: Floats) -> None:
        """Add X' C R for the chances C of sets, and the scores R of the basis."""
        R = self._basis.scores
        sums += X.T @ (chances @ R) if self._instances_first else (X.T @ chances) @ R

    def _put_curvatures(self, squares: Floats, out: Mapping[str, np.ndarray]) -> None:
        """Write second derivatives by the weights of features."""
        if "B" in out:
            out["B"][...] = np.outer(squares, self._basis.variances) + self._weight_of("V")


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
