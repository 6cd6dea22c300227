"""Users as sets of factors, each of which multiplies the odds of levels: the mean-field bound of Attitude."""

import numpy as np
from scipy.special import expit, logit

from cofactor.kernels import products
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.penalties import L2
from cofactor.problems.observed import Entries
from cofactor.problems.penalized import PenalizedProblem

_ENTRIES_PER_BLOCK = 2_000
#: About what one rating adds to the curvature of J in the parameters that its term depends on.
CURVATURES = {"logits": 0.005, "shift": 0.16, "factors": 0.1}


class AttitudeProblem(PenalizedProblem):
    r"""Minus the mean-field bound of Attitude at the best frequencies π of factors, plus penalties.

    .. math::

        J(x, b, c) = \sum_{(i,j) \in \Omega} \Big[ \ln \sum_r t_{ijr} - b^0_{j y_{ij}} - \sum_k \mu_{ik} b_{j y_{ij} k}
        \Big] + \sum_{ik} \mathrm{KL}(\mu_{ik} \,\|\, \pi_k) - \sum_k \ln \pi_k (1 - \pi_k)
        + \tfrac{\alpha}{2} (\|b\|^2 + \|c\|^2)

    .. math::

        t_{ijr} = e^{b^0_{jr}} \prod_k (1 - \mu_{ik} + \mu_{ik} e^{b_{jrk}}), \qquad
        \pi_k = \frac{1 + \sum_i \mu_{ik}}{n + 2}

    with μ the logistic function of x (n × K), b⁰ = base + c, c (m × R) and b (m × R × K).

    Parameters
    ----------
    entries : Entries
        Where the ratings are.
    levels : ndarray of shape (n_entries,)
        Levels 1..R in row order.
    base : ndarray of shape (m, R)
        Logarithms of the shares of levels towards which the penalty pulls each item.
    n_factors : int
        K.
    alpha : float
        Weight of the penalties.
    """

    def __init__(self, entries: Entries, levels: np.ndarray, base: np.ndarray, n_factors: int, alpha: float) -> None:
        n, m = entries.shape
        R = base.shape[1]
        shapes = {"logits": (n, n_factors), "shift": (m, R), "factors": (m, R, n_factors)}
        super().__init__(shapes, {"shift": L2(alpha), "factors": L2(alpha)}, True, np.float64)
        self.entries, self.levels, self.base = entries, levels, base
        self.alpha = float(alpha)
        self._column_levels = levels[entries.to_csr]
        self._row_cuts = cut_rows(entries.indptr, _ENTRIES_PER_BLOCK)
        self._col_cuts = cut_rows(entries.col_indptr, _ENTRIES_PER_BLOCK)
        self._losses = np.empty(n)

    def frequencies(self, x: np.ndarray) -> np.ndarray:
        """Return π (K)."""
        mu = expit(self.layout.views(x)["logits"])
        return np.asarray((1 + np.add.reduce(mu, axis=0)) / (len(mu) + 2))

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        logits, factors = arrays["logits"], arrays["factors"]
        mu, odds, growth = expit(logits), odds_of(self.base + arrays["shift"]), np.expm1(factors)
        e, rows, columns = self.entries, self._row_cuts, self._col_cuts

        def users(k: int) -> None:
            entries = (e.indptr, e.indices, self.levels)
            products.user_pass(rows[k], rows[k + 1], *entries, mu, odds, factors, growth, self._losses, out["logits"])

        def items(k: int) -> None:
            entries = (e.col_indptr, e.col_indices, self._column_levels)
            products.item_pass(columns[k], columns[k + 1], *entries, mu, odds, growth, out["shift"], out["factors"])

        parallel_for(users, len(rows) - 1)
        parallel_for(items, len(columns) - 1)
        pi = self.frequencies(x)
        out["logits"] += logits - logit(pi)
        out["logits"] *= mu * (1 - mu)
        divergence = mu * (logits - logit(pi)) - np.logaddexp(0, logits) - np.log1p(-pi)
        value = np.add.reduce(self._losses) + np.add.reduce(np.add.reduce(divergence, axis=1))
        return float(value - np.log(pi * (1 - pi)).sum()) + self.add_penalties(x, gradient)

    def inverse_curvatures(self, x: np.ndarray) -> np.ndarray:
        """Return a rough guess of 1 / (second derivative of J) for each parameter: solvers scale their steps by it."""
        scale = np.empty(self.size)
        views = self.layout.views(scale)
        n_row, n_column = np.diff(self.entries.indptr), np.diff(self.entries.col_indptr)
        for name, counts, rest in (
            ("logits", n_row, 0.25),
            ("shift", n_column, self.alpha),
            ("factors", n_column, self.alpha),
        ):
            own = rest + CURVATURES[name] * counts
            views[name][...] = (1 / own).reshape(-1, *[1] * (views[name].ndim - 1))
        return scale


def odds_of(base: np.ndarray) -> np.ndarray:
    """Return exp(b⁰) (m × R), scaled so that each item's largest is 1."""
    return np.asarray(np.exp(base - base.max(axis=1, keepdims=True)))
