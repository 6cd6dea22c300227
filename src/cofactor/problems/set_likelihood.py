"""The likelihood of label sets, of a conditional random field with weights of pairs of labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cofactor.penalties import Penalty
from cofactor.problems.mean_axis import MeanAxis
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
    O(nnz(X) |S| + D |S| r) more, or O(nnz(X) r + N |S| r) if that is less. For a solver sees V as B (D + 1, r) in a
    `PairBasis`, with r no larger than |S|, and of the features, with z, as a `MeanAxis` has them: wherever these are,
    it takes the same steps.

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
        more, penalties, self._with_features = {}, dict(penalties), with_features
        seen = PairForm(pairs.form, pairs.first[:0], pairs.second[:0], len(share)) if with_features else pairs
        if with_features:
            self._basis = PairBasis.of_sets(sets, pairs, counts / counts.sum())
            more["B"] = (D + 1, len(self._basis.variances))
            penalties |= {"B": penalties["V"]} if "V" in penalties else {}
        super().__init__(X, share, seen, penalties, weights, more)
        self._sets, self._own, self._counts, self._centred = sets, own, counts, sets - share
        if with_features:
            r, S = len(self._basis.variances), len(sets)
            self._instances_first = N * r * (D + S) < D * S * (r + N)
            self._observed = np.asarray(X.T @ (weights[:, None] * self._basis.scores[own]))
            self._axis, self._shape = MeanAxis(self._mean), (D + 1, pairs.n_states, len(pairs.first))
            beside, of_labels = self._basis.beside_labels(sets, counts / counts.sum())
            self._constant_variances, turn = np.linalg.eigh(beside.T @ (counts[:, None] * beside) / counts.sum())
            self._turn, self._constant_scores = turn, self._axis.length * beside @ turn
            self._constant_labels = self._axis.length * of_labels @ turn

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return W, b and V, of features and labels that are not centred."""
        arrays = super().arrays(x)
        if self._with_features:
            B = arrays.pop("B")
            arrays["b"] -= self._constant_labels @ B[-1]
            constant = self._turn @ B[-1]
            of_features, constant = self._axis.reflected(B[:-1], constant)
            arrays["V"] = (np.vstack([of_features, constant]) @ self._basis.directions).reshape(self._shape)
        return arrays

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        base, B = self._base(arrays), None
        if self._with_features:
            B, _ = self._axis.reflected(arrays["B"][:-1], self._turn @ arrays["B"][-1])
            of_pairs = self._constant_scores @ arrays["B"][-1] - self._basis.scores @ (self._mean @ B)
            of_B = -self._observed
        else:
            table, _ = self._pairs.quadratic(arrays["V"][0])
            of_pairs = np.einsum("sl,sl->s", self._centred @ table, self._centred)
        of_sets = None if B is None or self._instances_first else B @ self._basis.scores.T
        slopes, expected, total = np.empty_like(base), -self._counts, 0.0
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
                self._add_features(of_B, self._X[rows], chances)
        self._put_gradient(self._X, slopes, out)
        if B is not None:
            of_B -= np.outer(self._mean, expected @ self._basis.scores)
            out["B"][:-1], of_mean = self._axis.reflected(of_B, np.zeros(B.shape[1]))
            out["B"][-1] = expected @ self._constant_scores + of_mean @ self._turn
        else:
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
            total, variances = self._weights.sum(), self._basis.variances
            squares = np.maximum(squares - total * self._mean**2, 0.0)
            along, _ = self._axis.reflected(np.zeros((len(squares), 1)), np.ones(1))
            out["B"][:-1] = np.outer(squares, variances)
            out["B"][-1] = total * self._axis.length**2 * self._constant_variances
            out["B"][-1] += (squares @ along[:, 0] ** 2) * (self._turn**2).T @ variances
            out["B"] += self._weight_of("V")


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
