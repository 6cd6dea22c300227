"""Label sets explained by features: the set of an instance against those of the others."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from cofactor.penalties import Penalty
from cofactor.problems.base import PenalizedProblem

_SCORES_PER_BLOCK = 1 << 20  # scores of label sets in memory at a time


class LabelSetProblem(PenalizedProblem):
    r"""Margins between the label set of an instance and all others, of a linear map of rank d.

    .. math::

        J = \sum_{i=1}^{N} \tau \log \sum_{k=1}^{K} \exp \frac{\Delta(y_i, t_k) + f_i (t_k - y_i)^\top}{\tau}
        + p_U(U) + p_V(V), \qquad f_i = x_i U V + c

    over the K distinct label sets t, with Δ the number of labels in which two sets differ. As τ falls to 0 a term goes
    to the margin loss :math:`\max_k [\Delta(y_i, t_k) - f_i (y_i - t_k)^\top]_+`, and it is never below. An evaluation
    costs O(nnz(X) d + N d L + nnz(t) N).

    Parameters
    ----------
    X : ndarray or csr_array of shape (N, D)
        Features.
    sets : csr_array of shape (K, L)
        Ones where a label is in a set.
    own : ndarray of shape (N,)
        Which of the sets each instance has.
    n_factors : int
        d.
    penalties : mapping from str to Penalty
        Penalties of U, V, c; an array without one is not penalized.
    temperature : float, default=1.0
        τ, above 0.
    weights : ndarray of shape (N,), optional
        Weights of the instances.
    """

    def __init__(
        self,
        X: Any,
        sets: sparse.csr_array,
        own: np.ndarray,
        n_factors: int,
        penalties: Mapping[str, Penalty],
        *,
        temperature: float = 1.0,
        weights: np.ndarray | None = None,
    ) -> None:
        n_labels = sets.shape[1]
        shapes = {"U": (X.shape[1], n_factors), "V": (n_factors, n_labels), "c": (n_labels,)}
        super().__init__(shapes, penalties, True, np.float64)
        self._X, self._sets, self._own = X, sets.astype(np.float64), own
        self._labels = sparse.csr_array(self._sets[own])
        self._sizes = np.asarray(self._sets.sum(axis=1)).ravel()
        self._temperature = temperature
        self._weights = np.ones(X.shape[0]) if weights is None else weights

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        U, V, c = arrays["U"], arrays["V"], arrays["c"]
        E = self._X @ U
        slopes = np.empty((len(E), V.shape[1]))
        total, step = 0.0, max(1, _SCORES_PER_BLOCK // max(self._sets.shape))
        for first in range(0, len(E), step):
            rows = slice(first, first + step)
            value, slopes[rows] = self._margins(E[rows] @ V + c, rows)
            total += value
        out["U"][...] = self._X.T @ (slopes @ V.T)
        out["V"][...] = E.T @ slopes
        out["c"][...] = slopes.sum(axis=0)
        return total + self.add_penalties(x, gradient)

    def _margins(self, F: np.ndarray, rows: slice) -> tuple[float, np.ndarray]:
        """Return the sum of the losses of scores F (n, L) of labels, and its derivatives by them."""
        Y, own = self._labels[rows], self._own[rows]
        shared = np.asarray((Y @ self._sets.T).toarray())
        violated = np.asarray((self._sets @ F.T).T) + self._sizes[own][:, None] + self._sizes - 2 * shared
        violated -= np.take_along_axis(violated, own[:, None], axis=1)
        losses = self._temperature * logsumexp(violated / self._temperature, axis=1)
        shares = np.exp((violated - losses[:, None]) / self._temperature)
        weights = self._weights[rows]
        slopes = np.asarray((self._sets.T @ shares.T).T) - Y.toarray()
        return float(weights @ losses), weights[:, None] * slopes
