"""Variational bounds of user profiles: users as mixtures of attitudes (`URP`), or as sets of factors (`Attitude`).

Of `Attitude` each factor that a user expresses multiplies the odds of levels; its bound is that of the mean field.
"""

import numpy as np
from scipy.special import expit, gammaln, logit, polygamma, psi

from cofactor.kernels import mixtures, products
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.penalties import L2
from cofactor.problems.base import PenalizedProblem
from cofactor.problems.observed import Entries

_ENTRIES_PER_BLOCK = 5_000
_HALVINGS = 30  # at most, of a Newton step that leaves the domain or lowers the bound


class ProfileProblem(PenalizedProblem):
    r"""Minus the variational bound of URP at the best shares ϕ of attitudes for every rating.

    .. math::

        J(\gamma, \beta, a) = - \sum_i \Big[ \ln\Gamma(\textstyle\sum_k a_k) - \ln\Gamma(\sum_k \gamma_{ik})
        + \sum_k \big( \ln\Gamma(\gamma_{ik}) - \ln\Gamma(a_k) + (a_k - \gamma_{ik}) \ln e_{ik} \big)
        + \sum_{j \in \Omega_i} \ln \sum_k e_{ik} \beta_{j y_{ij} k} \Big]
        - \sum_{jrk} c_{jr} \ln \beta_{jrk} - \sum_k (\ln a_k - a_k)

    with :math:`\ln e_{ik} = \psi(\gamma_{ik}) - \psi(\sum_k \gamma_{ik})`. The parameters are ln γ (n × K), the
    logarithms of β (m × R × K) up to a constant for each item and attitude, and ln a (K). The last term, a Gamma prior
    with shape 2 and rate 1, counts no more than one or two users; without it the best a of few users may be 0.

    `update` is a step of variational EM: from the best shares at the present point it computes a better a (by a Newton
    step), the best γ for this a, and the best β. None of them raises J. All need one pass over users and one over
    items, the same as J itself.

    Parameters
    ----------
    entries : Entries
        Where the ratings are.
    levels : ndarray of shape (n_entries,)
        Levels 1..R in row order.
    prior : ndarray of shape (m, R)
        c, above 0: how many ratings of each level are added to those of every item under every attitude.
    n_factors : int
        K.
    warm_up : int, default=0
        Number of updates before the first step of a.
    """

    def __init__(
        self, entries: Entries, levels: np.ndarray, prior: np.ndarray, n_factors: int, warm_up: int = 0
    ) -> None:
        n, m = entries.shape
        K = n_factors
        shapes = {"gamma": (n, K), "beta": (m, prior.shape[1], K), "concentration": (K,)}
        super().__init__(shapes, {}, True, np.float64)
        self.entries, self.levels, self.prior, self.warm_up = entries, levels, prior, warm_up
        self.n_updates = 0
        self._column_levels = levels[entries.to_csr]
        self._row_cuts = cut_rows(entries.indptr, _ENTRIES_PER_BLOCK)
        self._col_cuts = cut_rows(entries.col_indptr, _ENTRIES_PER_BLOCK)
        self._log_e, self._sums, self._bounds = np.empty((n, K)), np.empty((n, K)), np.empty(n)
        self._counts = np.empty(shapes["beta"])
        self._at = np.full(self.size, np.nan)
        self._value = np.nan

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return γ, β and a."""
        logs = self.layout.views(x)
        beta = np.exp(logs["beta"])
        beta /= _sum_of_levels(beta)
        return {"gamma": np.exp(logs["gamma"]), "beta": beta, "concentration": np.exp(logs["concentration"])}

    def start(self, gamma: np.ndarray, concentration: np.ndarray) -> np.ndarray:
        """Return the vector with these parameters and the same β for all attitudes: γ alone sets the first shares."""
        beta = np.broadcast_to(np.log(self.prior)[:, :, None], self.layout.shapes["beta"])
        return self.pack({"gamma": np.log(gamma), "beta": beta, "concentration": np.log(concentration)})

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, out = self._visit(x), self.layout.views(gradient)
        gamma, beta, a = arrays["gamma"], arrays["beta"], arrays["concentration"]
        target = self._sums + a
        slopes = np.empty_like(gamma)
        cuts = self._row_cuts
        parallel_for(lambda k: mixtures.user_slopes(cuts[k], cuts[k + 1], gamma, target, slopes), len(cuts) - 1)
        out["gamma"][...] = -slopes
        out["beta"][...] = _sum_of_levels(self._counts) * beta - self._counts
        sums = np.add.reduce(self._log_e, axis=0)
        out["concentration"][...] = -a * (len(gamma) * (psi(a.sum()) - psi(a)) + sums + 1 / a - 1)
        return self._value

    def update(self, x: np.ndarray) -> None:
        """Take a step of variational EM, in place."""
        a, logs = self._visit(x)["concentration"], self.layout.views(x)
        self.n_updates += 1
        if self.n_updates > self.warm_up:
            a = newton_step(a, np.add.reduce(self._log_e, axis=0), len(self._log_e))
            logs["concentration"][...] = np.log(a)
        logs["gamma"][...] = np.log(self._sums + a)
        logs["beta"][...] = np.log(self._counts / _sum_of_levels(self._counts))

    def _visit(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Pass over users and items at `x`, unless the last pass was there."""
        arrays = self.arrays(x)
        if np.array_equal(x, self._at):
            return arrays
        gamma, beta, a = arrays["gamma"], arrays["beta"], arrays["concentration"]
        e, rows, columns = self.entries, self._row_cuts, self._col_cuts

        def users(k: int) -> None:
            entries = (e.indptr, e.indices, self.levels)
            results = (self._log_e, self._sums, self._bounds)
            mixtures.user_pass(rows[k], rows[k + 1], *entries, gamma, beta, *results)

        def items(k: int) -> None:
            entries = (e.col_indptr, e.col_indices, self._column_levels)
            mixtures.item_pass(columns[k], columns[k + 1], *entries, weights, beta, self.prior, self._counts)

        parallel_for(users, len(rows) - 1)
        weights = np.exp(self._log_e)
        parallel_for(items, len(columns) - 1)
        of_a = concentration_bound(a, np.add.reduce(self._log_e, axis=0), len(gamma))
        of_beta = np.add.reduce(self.prior * np.add.reduce(np.log(beta), axis=2), axis=None)
        self._value = -float(np.add.reduce(self._bounds) + of_a + of_beta)
        self._at = x.copy()
        return arrays


def concentration_bound(a: np.ndarray, sums: np.ndarray, n: int) -> float:
    """Return n (ln Γ(Σ a) - Σ ln Γ(a_k)) + Σ (a_k sums_k + ln a_k - a_k), the part of the bound that depends on a."""
    return float(n * (gammaln(a.sum()) - gammaln(a).sum()) + (a * sums + np.log(a) - a).sum())


def newton_step(a: np.ndarray, sums: np.ndarray, n: int) -> np.ndarray:
    """Return a after one Newton step towards the maximum of `concentration_bound`.

    The Hessian is diagonal plus a multiple of the matrix of ones (Minka 2000), so a step costs O(K). It is halved
    until a stays above 0 and the bound does not fall.
    """
    gradient = n * (psi(a.sum()) - psi(a)) + sums + 1 / a - 1
    h, z = -n * polygamma(1, a) - 1 / a**2, n * polygamma(1, a.sum())
    b = (gradient / h).sum() / (1 / z + (1 / h).sum())
    step, before = (gradient - b) / h, concentration_bound(a, sums, n)
    for _ in range(_HALVINGS):
        if (a > step).all() and concentration_bound(a - step, sums, n) >= before:
            return np.asarray(a - step)
        step = step / 2
    return a


def _sum_of_levels(table: np.ndarray) -> np.ndarray:
    return np.add.reduce(table, axis=1, keepdims=True)


_ENTRIES_PER_TASK = 2_000
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
        self._row_cuts = cut_rows(entries.indptr, _ENTRIES_PER_TASK)
        self._col_cuts = cut_rows(entries.col_indptr, _ENTRIES_PER_TASK)
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
