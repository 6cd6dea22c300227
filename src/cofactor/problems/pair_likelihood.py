"""What likelihoods of label sets with weights of pairs have in common."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cofactor.penalties import Penalty
from cofactor.problems.pairs import Floats, PairForm
from cofactor.problems.penalized import PenalizedProblem

_LEAST_CURVATURE = 1e-3


class PairLikelihoodProblem(PenalizedProblem):
    """Weights W of features, b of labels, and V of pairs of labels.

    A solver sees other coordinates than b, which has no penalty, so that the minimum is the same: scores of centred
    features, and of pairs of centred labels where pairs have a constant weight. It then takes a quarter of the steps.

    Parameters
    ----------
    X : ndarray or csr_array of shape (N, D)
        Features.
    share : ndarray of shape (L,)
        The weighted share of the instances that have each label.
    pairs : PairForm
    penalties : mapping from str to Penalty
        Penalties of W and V.
    weights : ndarray of shape (N,)
        Weights of the instances.
    more : mapping from str to tuple of int, optional
        Shapes of other arrays.
    """

    def __init__(
        self,
        X: Any,
        share: Floats,
        pairs: PairForm,
        penalties: Mapping[str, Penalty],
        weights: np.ndarray,
        more: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        L = len(share)
        shapes = {"W": (X.shape[1], L), "b": (L,), "V": (1, pairs.n_states, len(pairs.first)), **(more or {})}
        super().__init__(shapes, penalties, True, np.float64)
        self._X, self._pairs, self._weights, self._share = X, pairs, weights, share
        self._mean = np.asarray(X.T @ (weights / weights.sum())).ravel()

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return W, b and V, of features and labels that are not centred."""
        arrays = {name: array.copy() for name, array in self.layout.views(x).items()}
        _, first, second = self._pairs.parts(arrays["V"][0])
        arrays["b"] -= self._mean @ arrays["W"] + self._shift(arrays["V"][0]) + self._pairs.by_label(first, second)
        return arrays

    def inverse_curvatures(self, x: np.ndarray) -> np.ndarray:
        """Return a rough guess of 1 / (second derivative of J) for each parameter: that of independent labels."""
        scale, total = np.empty(self.size), self._weights.sum()
        views, varying = self.layout.views(scale), self._share * (1 - self._share)
        squares = self._squares()
        views["b"][...] = total * varying
        views["W"][...] = np.outer(squares - total * self._mean**2, varying) + self._weight_of("W")
        of_pairs = varying[self._pairs.first] * varying[self._pairs.second] * (4 if self._pairs.n_states == 1 else 1)
        views["V"][...] = total * of_pairs + self._weight_of("V")
        self._put_curvatures(squares, views)
        return 1 / np.maximum(scale, _LEAST_CURVATURE * self._weights.mean())

    def _put_curvatures(self, squares: Floats, out: Mapping[str, np.ndarray]) -> None:
        """Write second derivatives by other arrays; `squares` are the sums of squares of the features."""

    def _squares(self) -> Floats:
        table: Any = self._X
        squared = table.multiply(table) if hasattr(table, "multiply") else table**2
        return np.asarray(squared.T @ self._weights)

    def _weight_of(self, name: str) -> float:
        return float(getattr(self.penalties.get(name), "alpha", 0.0))

    def _base(self, arrays: Mapping[str, np.ndarray]) -> Floats:
        """Return scores of labels by centred features, shape (N, L)."""
        return np.asarray(self._X @ arrays["W"] + (arrays["b"] - self._mean @ arrays["W"]))

    def _shift(self, V: Floats) -> Floats:
        """Return what a label has less where those of its pairs are centred: the shares times a."""
        a, _, _ = self._pairs.parts(V)
        return self._pairs.by_label(a * self._share[self._pairs.second], a * self._share[self._pairs.first])

    def _put_gradient(self, X: Any, slopes: Floats, out: Mapping[str, np.ndarray]) -> None:
        """Write the derivatives by W and b of those by the scores of labels, for instances with features X."""
        out["b"][...] = slopes.sum(axis=0)
        out["W"][...] = X.T @ slopes - np.outer(self._mean, out["b"])
