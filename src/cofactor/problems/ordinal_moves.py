"""Draws along which the likelihood of ordinal probit factorization stays as it is: they make its chains mix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from cofactor.kernels.cholesky import draw_normal
from cofactor.problems.biased_prior import BiasedPrior
from cofactor.problems.priors import scatter
from cofactor.problems.rows import Array
from cofactor.problems.users import USER_PRIOR, Users
from cofactor.samplers import Key, State, Step

#: Steps with which the share of biases is drawn: they cost next to nothing.
_N_SHARES = 20


class NormalGamma(Protocol):
    """Parameters of a normal-gamma prior: see `draw_normal_gamma`."""

    @property
    def shape(self) -> float:
        """Of the precision's gamma distribution."""

    @property
    def rate(self) -> float:
        """Of the precision's gamma distribution."""

    @property
    def strength(self) -> float:
        """Precision of the mean, in units of the rows' precision."""


class OrdinalMoves:
    r"""Trades between factors, biases and thresholds that leave every :math:`x_{ij} - \theta_{ir}` as it is.

    For all :math:`\delta, \epsilon, t, s_i` and :math:`q_k > 0`, the scores and thresholds

    .. math::

        \begin{array}{lll}
        u_i + \delta, & c_j - v_j \cdot \delta + t, & \theta_i + t, \\
        v_j + \epsilon, & b_i - u_i \cdot \epsilon + t, & \theta_i + t, \\
        & b_i + s_i, & \theta_i + s_i, \\
        u_{ik} \sqrt{q_k}, & v_{jk} / \sqrt{q_k}
        \end{array}

    say the same of the ratings as those without. A sweep that draws users given items and items given users goes along
    these lines in short steps. Here a point is drawn on each of them, from the posterior's density times the Jacobian
    of getting there, which is a Gibbs step (Liu & Sabatti 2000), and since the likelihood is the same everywhere on the
    line, it depends on the priors alone: the first three are normal. The parameters of the priors move along, so that
    the rows that are moved stay as far from their prior means as they are. Latent scores do not move: they are valid
    only before.

    Parameters
    ----------
    items : BiasedPrior
    gaps : GapPrior
    users : sequence of Users
        Of `OrdinalUsers`. All but the first follow what is drawn without a say.

    Notes
    -----
    Four chains of 900 sweeps, 100 of them burn-in, on 80 % of the ratings of MovieLens 100K, with ten factors of
    independent precisions, in 56 s of CPU without moves and 61 s with them (effective draws, and R-hat):

    =====================================  =============  =============
    quantity                               without moves  with moves
    =====================================  =============  =============
    interaction (see `to_arviz`)           16, 1.18       120, 1.04
    mean of the lowest threshold           5, 2.41        2015, 1.00
    precision of the lowest threshold      6, 1.86        2347, 1.00
    precisions of users                    12, 1.27       546, 1.01
    precisions of items                    15, 1.18       494, 1.01
    log-likelihood                         199, 1.01      167, 1.02
    =====================================  =============  =============

    With 18 factors of correlated precisions, as they are now by default, in 79 s of CPU on a busier machine:
    interaction 106, 1.03; precisions of users 146, 1.02, of items 39, 1.09; lowest threshold 1346, 1.00; log-likelihood
    50, 1.09. What is slowest there is how small the factors are that the ratings hardly tell.

    The interaction is slow in its parts with the mean user and the mean item: without moves, a draw of the part of both
    is worth a 258th of an independent one, with them a twelfth. What is left is slow since the biases of items and
    their factors explain the same, so that V leaves little room for δ. Draws of δ and of precisions with the rows of
    items, or users, integrated out made this faster, but not the interaction, for a fifth more time; drawing items
    several times in a sweep cost more than it brought.

    References
    ----------
    J. S. Liu and C. Sabatti, "Generalised Gibbs sampler and multigrid Monte Carlo for Bayesian computation",
    Biometrika 87 (2), 2000.
    """

    def __init__(self, items: BiasedPrior, gaps: NormalGamma, users: Sequence[Users]) -> None:
        self.items, self.gap_prior, self.sides, self.users = items, gaps, users, users[0].prior
        self.n_factors = items.n_columns - 1

    @property
    def steps(self) -> dict[str, Step]:
        """The moves, in the order of a sweep."""
        return {
            "offsets": self.draw_offsets,
            "user shift": lambda state, key: self.draw_shift(state, key, self.users, self.items),
            "item shift": lambda state, key: self.draw_shift(state, key, self.items, self.users),
            "scales": self.draw_scales,
        }

    def draw_offsets(self, state: State, key: Key) -> None:
        r"""Draw how much of how high users rate is in their biases, and how much in their thresholds: every s.

        First comes, with all s integrated out, the share :math:`\rho` of the biases in the variance of both:
        precisions :math:`1 / (\rho v)` and :math:`1 / ((1 - \rho) v)` of b and of :math:`\theta_1`, for the same v.
        """
        d, random = self.n_factors, key.generator()
        mean, precision, weights, _ = _parameters(self.users, state)
        densities = self._bias_density(state), _normal_gamma_density(self.gap_prior, state["gap_mean"][0])
        drawn = _draw_shares(random, densities, (precision[d, d], state["gap_precision"][0]))
        precision[d, d], state["gap_precision"][0] = drawn
        given = {"precisions": drawn, "mean": mean[d:], "weights": weights[:, d:], "gap_mean": state["gap_mean"][0]}
        self.sides[0].do("draw_offsets", state, random=random, **given)

    def _bias_density(self, state: State) -> tuple[float, float]:
        r"""Return the powers p and r of the density :math:`\tau^p e^{-r \tau}` of log τ, that of users' biases.

        The rows are left out; τ has a Wishart prior of one dimension, and mean and weights are known in units of it.
        """
        d, prior = self.n_factors, self.users.bias
        mean, _, weights, omega = _parameters(self.users, state)
        squares = prior.strength * mean[d] ** 2 + omega[1] * np.add.reduce(weights[:, d] ** 2)
        return 0.5 * (prior.degrees + 1 + len(weights)), 0.5 * (1 + float(squares))

    def draw_shift(self, state: State, key: Key, moved: BiasedPrior, paying: BiasedPrior) -> None:
        """Draw δ and t, where factors of one side are moved, and the biases of the other one pay for it."""
        d = self.n_factors
        mean, of_rows, weights, omega = _parameters(paying, state)
        own_mean, own_precision, *_ = _parameters(moved, state)
        tau, own = of_rows[d, d], moved.strength * own_precision[:d, :d]
        of_mean, of_gap = paying.strength * tau, self.gap_prior.strength * state["gap_precision"][0]
        along = np.append(-mean[:d], 1.0)
        if paying is self.items:
            rest = products(state["V"] - paying.means(state, len(state["V"])))
        else:
            rest = self.sides[0].ask("rest_products", state, USER_PRIOR)["products"]
        total = tau * (rest + omega[1] * products(weights))
        precision = of_mean * np.outer(along, along)
        precision[:d, :d] += own + total[:d, :d]
        precision[d, d] += of_gap
        drawn = -of_mean * mean[d] * along
        drawn[:d] += total[d, :d] - np.einsum("ab,b->a", own, own_mean[:d])
        drawn[d] -= of_gap * state["gap_mean"][0]
        draw_normal(precision, drawn, key.generator().normal(size=d + 1))
        self._shift(state, moved, paying, drawn[:d], drawn[d])

    def _shift(self, state: State, moved: BiasedPrior, paying: BiasedPrior, delta: Array, t: float) -> None:
        """Add δ to the factors of one side, for which the biases of the other one pay, and t to thresholds."""
        d = self.n_factors
        mean, _, weights, _ = _parameters(paying, state)
        _parameters(moved, state)[0][:d] += delta
        if moved is self.items:
            state["V"][:, :d] += delta
        else:
            pay_for_factors((state["V"],), delta)
            state["V"][:, d] += t
        for side in self.sides:
            side.do("pay_for_factors" if moved is self.items else "add_to_factors", state, delta=delta, t=t)
        pay_for_factors((mean[None], weights), delta)
        mean[d] += t
        state["gap_mean"][0] += t

    def draw_scales(self, state: State, key: Key) -> None:
        r"""Draw every q: how large a factor is for users rather than for items.

        Precisions :math:`\Lambda` become :math:`D^{-1/2} \Lambda D^{-1/2}` of users, :math:`D^{1/2} \Lambda D^{1/2}` of
        items, with q on the diagonal of D. Rows, means and weights are as likely as before, but for powers of a
        determinant, which the Jacobian cancels. What is left of the Wishart priors are a power of each q and the
        traces, :math:`A / q + B q`, where A and B are halves of both :math:`\Lambda_{kk}`. So log q has a density
        proportional to :math:`\exp(p t - k \cosh t)`, where :math:`e^t = q \sqrt{B / A}, k = 2 \sqrt{A B}`, and p is
        half the difference of the degrees of freedom.
        """
        d = self.n_factors
        A, B = (0.5 * np.diag(_parameters(prior, state)[1])[:d] for prior in (self.users, self.items))
        power = 0.5 * (self.items.factors.degrees - self.users.factors.degrees)
        q = np.sqrt(A / B) * np.exp(_draw_by_cosh(key.generator(), power, 2 * np.sqrt(A * B)))
        for prior, root in ((self.users, np.sqrt(q)), (self.items, np.sqrt(1 / q))):
            mean, precision, weights, _ = _parameters(prior, state)
            for array in (mean[None], weights):
                array[:, :d] *= root
            precision[:d, :d] /= np.outer(root, root)
        for side in self.sides:
            side.do("stretch", state, root=np.sqrt(q))
        state["V"][:, :d] *= np.sqrt(1 / q)


def pay_for_factors(arrays: Sequence[Array], delta: Array) -> None:
    """Take from the last column of arrays what it adds to scores that δ is added to the factors of the other side."""
    for array in arrays:
        array[:, -1] -= np.einsum("nk,k->n", array[:, :-1], delta)


def products(rows: Array) -> Array:
    """Return the products of all columns, the same on any number of threads."""
    lower = scatter(rows, np.zeros(rows.shape[1]))
    return np.asarray(lower + np.tril(lower, -1).T)


def _parameters(prior: BiasedPrior, state: State) -> tuple[Array, Array, Array, Array]:
    """Return µ, Λ, W and ω, of factors and the bias each."""
    mean, precision, weights, omega = (
        state[f"{prior.name}_{name}"] for name in ("mean", "precision", "weights", "weight_precision")
    )
    return mean, precision, weights, omega


def _normal_gamma_density(prior: NormalGamma, mean: float) -> tuple[float, float]:
    """Return p and r of the density of log τ, a precision of this prior, given the mean that belongs to it."""
    return prior.shape + 0.5, prior.rate + 0.5 * prior.strength * mean**2


def _draw_by_cosh(random: np.random.Generator, p: float, k: Array) -> Array:
    """Draw numbers t with densities proportional to exp(p t - k cosh t).

    Their logarithms have second derivatives of -k and less, so that normal densities of variance 1 / k lie above them.
    """
    peak = np.arcsinh(p / k)
    t, open_ = np.empty_like(k), np.ones(len(k), dtype=bool)
    while open_.any():
        step, u = random.normal(size=len(k)) / np.sqrt(k), random.random(len(k))
        trial = peak + step
        excess = p * step - k * (np.cosh(trial) - np.cosh(peak)) + 0.5 * k * step**2
        taken = open_ & ~(np.log1p(-u) >= excess)  # a chain that has diverged is not kept here
        t[taken] = trial[taken]
        open_ &= ~taken
    return t


def _draw_shares(
    random: np.random.Generator, densities: tuple[tuple[float, float], ...], precisions: tuple[float, float]
) -> tuple[float, float]:
    r"""Draw two precisions, given the sum of their variances, by Metropolis steps.

    The logarithm of each has a density proportional to :math:`\tau^p e^{-r \tau}`, of which p and r are given. The
    logit of one variance's share in the sum goes, with a Jacobian of one, to the logarithms of the precisions.
    """
    total = 1 / precisions[0] + 1 / precisions[1]

    def parted(logit: float) -> tuple[float, float]:
        return (1 + math.exp(-logit)) / total, (1 + math.exp(logit)) / total

    def log_density(logit: float) -> float:
        return sum(p * math.log(tau) - r * tau for (p, r), tau in zip(densities, parted(logit), strict=True))

    logit = math.log(precisions[1] / precisions[0])
    now = log_density(logit)
    steps, u = random.normal(size=_N_SHARES), random.random(_N_SHARES)
    for step, chance in zip(steps.tolist(), u.tolist(), strict=True):
        new = log_density(logit + step)
        if math.log1p(-chance) < new - now:
            logit, now = logit + step, new
    return parted(logit)
