"""The likelihood of label sets over all of them, whose gradient is estimated by some that are drawn."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.penalties import Penalty
from cofactor.problems.pair_likelihood import PairLikelihoodProblem
from cofactor.problems.pairs import Floats, PairForm


class SampledLikelihoodProblem(PairLikelihoodProblem):
    r"""Negative log-likelihood of the label sets of instances among all label sets: estimates of its gradient.

    .. math::

        J = \sum_i \Bigl[\log \sum_t e^{s_i(t)} - s_i(y_i)\Bigr] + p_W(W) + p_V(V), \qquad
        \nabla J = \sum_i \bigl(E_i[f(x_i, t)] - f(x_i, y_i)\bigr) + \nabla p_W + \nabla p_V

    with the scores s of `SetLikelihoodProblem` and their derivatives f. J itself is too much to compute.

    Parameters
    ----------
    X : ndarray or csr_array of shape (N, D)
        Features.
    truth : ndarray of shape (N, L), bool
        Labels.
    pairs : PairForm
    penalties : mapping from str to Penalty
        Penalties of W and V.
    with_features : bool, default=False
        Whether pairs have a weight for each feature, beside a constant one.
    """

    def __init__(
        self,
        X: Any,
        truth: NDArray[np.bool_],
        pairs: PairForm,
        penalties: Mapping[str, Penalty],
        *,
        with_features: bool = False,
    ) -> None:
        more, penalties = {}, dict(penalties)
        if with_features:
            more["F"] = (X.shape[1], pairs.n_states, len(pairs.first))
            penalties |= {"F": penalties["V"]} if "V" in penalties else {}
        super().__init__(X, truth.mean(axis=0), pairs, penalties, np.ones(len(truth)), more)
        self._truth = truth

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return W, b and V, of features and labels that are not centred."""
        arrays = super().arrays(x)
        if "F" in arrays:
            arrays["V"] = np.concatenate([arrays.pop("F"), arrays["V"]])
        return arrays

    def gradient(self, x: np.ndarray, rows: NDArray[np.int64], drawn: NDArray[np.bool_], out: np.ndarray) -> None:
        """Write an estimate of the gradient of J at `x`, by some instances and label sets drawn of these.

        Parameters
        ----------
        x : ndarray
        rows : ndarray of shape (m,), int64
        drawn : ndarray of shape (C, m, L), bool
        out : ndarray
        """
        views, X, truth, pairs = self.layout.views(out), self._X[rows], self._truth[rows], self._pairs
        slopes = drawn.mean(axis=0) - truth
        self._put_gradient(X, slopes, views)
        centred, own, L = drawn - self._share, truth - self._share, truth.shape[1]
        pooled = centred.reshape(-1, L)
        products = pooled.T @ pooled / len(drawn) - own.T @ own
        views["V"][0] = pairs.quadratic_gradient(products, np.zeros(L))
        if "F" in views:
            both = np.mean([each[:, pairs.first] & each[:, pairs.second] for each in drawn], axis=0)
            both -= truth[:, pairs.first] & truth[:, pairs.second]
            of_labels = np.asarray(X.T @ slopes)
            found = pairs.gradient(X.T @ both, of_labels[:, pairs.first], of_labels[:, pairs.second])
            views["F"][...] = np.moveaxis(found, 0, 1)
        out *= len(self._truth) / len(rows)
        self.add_penalties(x, out)

    def _put_curvatures(self, squares: Floats, out: Mapping[str, np.ndarray]) -> None:
        """Write second derivatives by the weights of features."""
        if "F" in out:
            of_pairs = (out["V"] - self._weight_of("V")) / len(self._truth)
            out["F"][...] = squares[:, None, None] * of_pairs + self._weight_of("V")
