"""The posterior of ordinal probit factorization, drawn from step by step, users first.

Draws along which the likelihood stays as it is make its chains mix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from cofactor.kernels.cholesky import draw_normal
from cofactor.kernels.drift import moment_means
from cofactor.kernels.gibbs import draw_ordinal_rows
from cofactor.problems.drift import Drift
from cofactor.problems.observed import LevelData
from cofactor.problems.priors import (
    BiasedPrior,
    Moments,
    draw_normal_gamma,
    scatter,
    squares_of_columns,
    sums_of_columns,
)
from cofactor.problems.rows import Array, table_of
from cofactor.problems.users import USER_PRIOR, EntryUsers, LocalUsers, Users
from cofactor.samplers import Key, State, Step
from cofactor.solvers.parts import Answer

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


_ONE, _NONE = np.ones(1, np.float32), np.zeros(0)

#: Least distance of two thresholds: samples are in single precision, where they may coincide.
_LEAST_GAP = 1e-6

#: Metropolis steps for each user and sweep.
N_TRIES = 3

#: What users are drawn given, besides their own arrays.
_GIVEN = ("V", "gap_mean", "gap_precision", *USER_PRIOR)


@dataclass(frozen=True)
class GapPrior:
    """Normal-gamma prior of the means and precisions of log-gaps between thresholds."""

    shape: float = 1.0
    rate: float = 0.1
    strength: float = 0.01


class OrdinalUsers(EntryUsers):
    """Thresholds, latent scores, rows and drift of users, drawn given the items and the parameters of all priors.

    Parameters
    ----------
    opened : callable
        Returns their levels.
    prior : BiasedPrior
        Of their rows.
    prefix : str, default=""
        Of the names of their arrays in the state.
    drift : Drift, optional
        What moves their scores with time.

    Attributes
    ----------
    z : ndarray of shape (n_entries,), float32
        Latent scores of the ratings, drawn with thresholds.
    """

    sampled: ClassVar[tuple[str, ...]] = ("U", "thresholds")
    of_entries: ClassVar[tuple[str, ...]] = ("z",)

    z: Any

    def __init__(
        self, opened: Callable[[], LevelData], prior: BiasedPrior, prefix: str = "", drift: Drift | None = None
    ) -> None:
        super().__init__(opened, prior)
        self.prefix, self.drift = prefix, drift
        #: Latent scores less the drift, if there is one.
        self._rest = np.zeros(0, np.float32)

    @property
    def rest(self) -> Any:
        """Latent scores less the drift."""
        return self.z if self.drift is None else self._rest

    def _of(self, state: State, *names: str) -> tuple[Array, ...]:
        return tuple(state[self.prefix + name] for name in names)

    def start(self, rows: Array, thresholds: Array) -> State:
        """Return their part of the state, with these rows, and these thresholds for all users."""
        n = len(rows)
        arrays = {
            "U": rows,
            "gaps": np.tile(log_gaps(thresholds), (n, 1)),
            "thresholds": np.tile(thresholds, (n, 1)),
            "reach": np.ones(n),
            "accepted": np.zeros(n),
            "value": np.zeros(n),
        }
        return {self.prefix + name: array for name, array in arrays.items()}

    def begin(self, random: np.random.Generator, *start: Array) -> State:
        """Return their part of the state at the start, with small random rows."""
        return self.start(random.normal(0, 0.1, (self.n, self.prior.n_columns)), *start)

    def tune(self, state: State, sweep: int) -> None:
        """Change the reach of the proposals so that about 30 % of them are accepted."""
        reach, accepted = self._of(state, "reach", "accepted")
        reach *= np.exp((accepted - 0.3) / np.sqrt(sweep))

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw log-gaps, then z."""
        data, rows = self.data, key.rows()
        if self.z is None:
            self.z = np.empty(len(data.levels), np.float32)
            self._rest = np.empty(0 if self.drift is None else len(self.z), np.float32)
        own = {name: state[self.prefix + name] for name in ("U", "gaps", "thresholds", "reach", "accepted", "value")}
        drift, table = (
            _NONE if self.drift is None else self.drift.of_entries(state),
            table_of(state["V"], True, self.z.dtype),
        )

        def block(lo: int, hi: int) -> None:
            draw_ordinal_rows(
                lo, hi, rows, data.indptr, data.indices, data.levels,
                own["U"], table, drift, own["gaps"], state["gap_mean"], state["gap_precision"],
                own["reach"], N_TRIES, own["thresholds"], self.z, own["accepted"], own["value"],
            )  # fmt: skip

        self.rows.each(block)
        if self.drift is not None:
            np.subtract(self.z, drift, out=self._rest)

    def draw(self, state: State, key: Key) -> None:
        """Draw rows given z, the drift and the items."""
        precision, shifts = self.prior.precision(state), self.prior.shifts(state, self.n)
        self.rows.draw(key, self.rest, _ONE, state["V"], precision, shifts, True, state[self.prefix + "U"])

    def draw_drift(self, state: State, key: Key) -> None:
        """Draw the drift and the parameters of its prior, given z, rows and items."""
        data, drift = self.data, self.drift
        assert drift is not None
        moments, U = drift.moments, state[self.prefix + "U"]

        def block(lo: int, hi: int) -> None:
            moment_means(
                lo, hi, data.indptr, data.indices, U, state["V"], self.z,
                moments.of_entry, moments.indptr, drift.counts, drift.means,
            )  # fmt: skip

        self.rows.each(block)
        drift.draw(state, key)

    # ---------------------------------------------------------------- what others are drawn from

    def sums(self, state: State) -> Answer:
        """Return sums over rows and over log-gaps, and the value of all users."""
        U, gaps, value = self._of(state, "U", "gaps", "value")
        return self.prior.row_sums(state, U) | {"gaps": sums_of_columns(gaps), "value": value.sum(keepdims=True)}

    def spreads(self, state: State, mean: Array, weights: Array, gap_mean: Array) -> Answer:
        """Return how rows are spread about their regression, and log-gaps about their mean."""
        U, gaps = self._of(state, "U", "gaps")
        return self.prior.spreads(U, mean, weights) | {"gap_squares": squares_of_columns(gaps, gap_mean)}

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array) -> Answer:
        """Return the equations of the items first..last-1, given z and rows."""
        [U] = self._of(state, "U")
        return {"equations": self.items.equations(first, last, self.rest, _ONE, U, precision, shift, True)}

    # ---------------------------------------------------------------- moves, see `OrdinalMoves`

    def draw_offsets(
        self, state: State, random: np.random.Generator, precisions: tuple[float, float], mean: Array, weights: Array,
        gap_mean: float,
    ) -> None:  # fmt: skip
        """Draw by how much each bias and all thresholds of a user grow.

        Parameters
        ----------
        state : State
        random : Generator
        precisions : tuple of two floats
            Of biases and of the lowest thresholds.
        mean, weights : ndarray of shape (1,), (K, 1)
            Of biases.
        gap_mean : float
            Of the lowest thresholds.
        """
        U, gaps, thresholds = self._of(state, "U", "gaps", "thresholds")
        bias, first = U[:, -1], gaps[:, 0]
        of_bias, of_first = precisions
        expected = self.prior.bias.regressed(weights, mean, len(bias))[:, 0]
        pull = of_bias * (expected - bias) + of_first * (gap_mean - first)
        s = pull / (of_bias + of_first) + random.normal(size=len(bias)) / np.sqrt(of_bias + of_first)
        bias += s
        first += s
        thresholds += s[:, None]

    def add_to_factors(self, state: State, delta: Array, t: float) -> None:
        """Add δ to factors and t to thresholds."""
        [U] = self._of(state, "U")
        U[:, :-1] += delta
        self._raise(state, t)

    def pay_for_factors(self, state: State, delta: Array, t: float) -> None:
        """Take from biases what δ adds to scores, and add t to them and to thresholds."""
        [U] = self._of(state, "U")
        pay_for_factors((U,), delta)
        U[:, -1] += t
        self._raise(state, t)

    def _raise(self, state: State, t: float) -> None:
        gaps, thresholds = self._of(state, "gaps", "thresholds")
        gaps[:, 0] += t
        thresholds += t

    def stretch(self, state: State, root: Array) -> None:
        """Multiply factors."""
        [U] = self._of(state, "U")
        U[:, :-1] *= root

    def rest_products(self, state: State) -> Answer:
        """Return the products of all columns of rows less their prior means."""
        [U] = self._of(state, "U")
        return {"products": products(U - self.prior.means(state, len(U)))}


class OrdinalProbitPosterior:
    r"""Ordinal probit factorization with biases, thresholds of every user, and priors regressed on features.

    .. math::

        z_{ij} \sim N(x_{ij}, 1), \quad x_{ij} = u_i \cdot v_j + b_i + c_j, \quad
        y_{ij} = r \iff \theta_{i,r-1} < z_{ij} \le \theta_{ir}

    with rows :math:`(u_i, b_i)` and :math:`(v_j, c_j)` under a `BiasedPrior` each, and
    :math:`\theta_{i1} = a_{i1}, \theta_{ir} = \theta_{i,r-1} + e^{a_{ir}}, a_{ir} \sim N(m_r, s_r^2)`. A sweep

    1. draws the log-gaps a by Metropolis steps with z integrated out, then z (`thresholds`: z is valid only after it),
    2. the rows of users given z and items (`users`), and their prior (`user prior`),
    3. the rows of items and their prior likewise,
    4. m and s (`gap prior`),
    5. the drift, if there is one, and its prior (`drift`), given z and the rows of both,
    6. along which the likelihood stays as it is (`offsets`, `user shift`, `item shift`, `scales`: see `OrdinalMoves`),
    7. a, z and the rows of *shadow users*, if there are any, given all of the above. Nothing of the above depends on
       them.

    With a `Drift`, z has the mean :math:`x_{ij} + s_i(t_{ij})`, where s stays as it is until 5.

    Parameters
    ----------
    users : Users
        Of `OrdinalUsers`.
    level_counts : ndarray of shape (R,)
        How many ratings there are of each level.
    n_items : int
    items : BiasedPrior
    gap_prior : GapPrior, optional
    shadow : OrdinalUsers, optional
        Shadow users, with ratings of the same items.
    """

    #: Moments of the log-gaps of all users.
    gaps: Moments

    kept: tuple[str, ...] = (
        "U", "V", "thresholds", "user_mean", "user_precision", "user_weights", "item_mean", "item_precision",
        "item_weights", "gap_mean", "gap_precision",
    )  # fmt: skip

    def __init__(
        self,
        users: Users,
        level_counts: NDArray[np.int64],
        n_items: int,
        items: BiasedPrior,
        gap_prior: GapPrior | None = None,
        shadow: OrdinalUsers | None = None,
    ) -> None:
        self.users, self.level_counts, self.n_items, self.items = users, level_counts, n_items, items
        self.shadow, self.gap_prior = shadow, gap_prior or GapPrior()
        self.kept = tuple(name for name in self.kept if name not in users.elsewhere)
        self.drift: Drift | None = None
        moves = OrdinalMoves(items, self.gap_prior, (users,) if shadow is None else (users, LocalUsers(shadow)))
        self.steps: dict[str, Step] = {
            "thresholds": lambda state, key: users.do("draw_thresholds", state, key=key),
            "users": lambda state, key: users.do("draw", state, key=key),
            "user prior": self.draw_user_prior,
            "items": lambda state, key: users.draw_items(state, key, items),
            "item prior": lambda state, key: items.draw(state, state["V"], key),
            "gap prior": self.draw_gap_prior,
        }
        if isinstance(users, LocalUsers) and users.own.drift is not None:
            self.drift = users.own.drift
            self.kept += self.drift.kept
            self.steps["drift"] = users.own.draw_drift
        self.steps |= moves.steps
        if shadow is not None:
            self.kept += ("shadow_U", "shadow_thresholds")
            self.steps |= {"shadow thresholds": shadow.draw_thresholds, "shadow users": shadow.draw}

    def start(self, key: Key) -> State:
        """Return small random factors, and for every user the thresholds that fit the frequencies of the levels."""
        random, p = key.generator(), self.items.n_columns
        counts = self.level_counts + 1.0
        theta = ndtri(np.cumsum(counts)[:-1] / counts.sum()) * np.sqrt(2)
        users = self.users.begin(random, theta)
        V = random.normal(0, 0.1, (self.n_items, p))
        shadow = {} if self.shadow is None else self.shadow.start(np.zeros((self.shadow.n, p)), theta)
        drift = {} if self.drift is None else self.drift.start()
        return {
            **users,
            "V": V,
            "gap_mean": log_gaps(theta),
            "gap_precision": np.full(len(theta), 4.0),
            **self.users.prior.start(),
            **self.items.start(),
            **drift,
            **shadow,
        }

    def initialize(self, state: State) -> None:
        """Do nothing: a start is good enough."""

    def log_likelihood(self, state: State) -> float:
        """Return the log-likelihood of all levels, z integrated out; those of shadow users do not count."""
        return float(state["value"].sum())

    def tune(self, state: State, sweep: int) -> None:
        """Adapt the reach of the proposals."""
        self.users.do("tune", state, sweep=sweep)
        if self.drift is not None:
            self.drift.tune(state, sweep)
        if self.shadow is not None:
            self.shadow.tune(state, sweep)

    def draw_user_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of users' rows; find out how log-gaps are spread with it."""
        sums = self.users.ask("sums", state, _GIVEN)
        n, gap_mean = int(sums["n"]), sums["gaps"] / sums["n"]

        def spreads(mean: Array, weights: Array) -> Answer:
            found = self.users.ask("spreads", state, mean=mean, weights=weights, gap_mean=gap_mean)
            self.gaps = Moments(n, gap_mean, found["gap_squares"] / n)
            return found

        self.users.prior.draw_by(state, key, sums, spreads)

    def draw_gap_prior(self, state: State, key: Key) -> None:
        """Draw means and precisions of the log-gaps."""
        prior = self.gap_prior
        state["gap_mean"][:], state["gap_precision"][:] = draw_normal_gamma(
            key.generator(), self.gaps, prior.shape, prior.rate, prior.strength
        )


def log_gaps(thresholds: NDArray[Any]) -> Array:
    r"""Return the a with :math:`\theta_1 = a_1, \theta_r = \theta_{r-1} + e^{a_r}`, along the last axis.

    Examples
    --------
    >>> log_gaps(np.array([[-1.0, 0.0, 1.0]]))
    array([[-1.,  0.,  0.]])
    """
    theta = thresholds.astype(np.float64)
    return np.concatenate([theta[..., :1], np.log(np.maximum(np.diff(theta), _LEAST_GAP))], axis=-1)
