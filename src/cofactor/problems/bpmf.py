"""The posterior of Bayesian probabilistic matrix factorization, drawn from step by step, users first.

Where one level ends and the next begins is an ordered probit regression on the score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from cofactor.kernels.gibbs import level_moments
from cofactor.problems.least_squares import ColumnsInShards, LeastSquaresPart, LeastSquaresProblem, ShardLeastSquares
from cofactor.problems.observed import LevelData
from cofactor.problems.priors import NormalWishartPrior, RowSums
from cofactor.problems.rows import Array
from cofactor.problems.users import USER_PRIOR, EntryUsers, ShardedUsers, Users
from cofactor.samplers import Key, State, Step
from cofactor.solvers import alternating_least_squares
from cofactor.solvers.descent import descend
from cofactor.solvers.parts import Answer, Question, Then
from cofactor.solvers.result import Trace

_FAR = 37.0  #: deviations beyond which a normal tail has no mass in double precision
_ITERATIONS = 100
_TOL = 1e-10  #: fall of the mean loss that a step must promise


def fit_ordered_probit(
    levels: NDArray[np.int64], scores: Array, weights: Array, thresholds: Array, slope: float
) -> tuple[Array, float]:
    r"""Return the thresholds and the slope that are likeliest, by Newton's method from those given.

    .. math:: P(y \le r \mid x) = \Phi(c_r - s x)

    Parameters
    ----------
    levels : ndarray of shape (n,)
        y, from 1. Every level has some weight.
    scores, weights : ndarray of shape (n,)
        x, and how much each counts.
    thresholds : ndarray of shape (R - 1,)
        c, increasing.
    slope : float
        s.

    Examples
    --------
    Half of what has the score 0 is of level 1, a sixth of what has the score 1:

    >>> levels, scores = np.array([1, 2, 1, 2]), np.array([0.0, 0.0, 1.0, 1.0])
    >>> c, s = fit_ordered_probit(levels, scores, np.array([3.0, 3.0, 1.0, 5.0]), np.zeros(1), 1.0)
    >>> bool(abs(c[0]) < 1e-5), ndtr(c - s).round(3)
    (True, array([0.167]))
    """
    now = np.append(thresholds, slope)
    value, gradient, hessian = _loss(levels, scores, weights, now)
    for _ in range(_ITERATIONS):
        step = np.linalg.solve(hessian, -gradient)
        if -gradient @ step <= 2 * _TOL * weights.sum():
            break
        length, trial, new = 1.0, now + step, _loss(levels, scores, weights, now + step)
        while not new[0] <= value + 1e-4 * length * (gradient @ step) and length > 1e-9:
            length /= 2
            trial = now + length * step
            new = _loss(levels, scores, weights, trial)
        if not new[0] < value:
            break
        now, (value, gradient, hessian) = trial, new
    return now[:-1], float(now[-1])


def _loss(levels: NDArray[np.int64], x: Array, weights: Array, point: Array) -> tuple[float, Array, Array]:
    """Return minus the log-likelihood at (c, s), its gradient and its Hessian; infinity where c does not increase."""
    n = len(point)
    if np.any(np.diff(point[:-1]) <= 0):
        return np.inf, point, np.eye(n)
    ends = np.concatenate([[-np.inf], point[:-1], [np.inf]])
    low, high = (np.clip(ends[y] - point[-1] * x, -_FAR, _FAR) for y in (levels - 1, levels))
    right = low + high > 0  # both tails are taken on the left, where they are precise
    mass = np.where(right, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    if np.any(mass <= 0):
        return np.inf, point, np.eye(n)
    at_low, at_high = (_density(z) / mass for z in (low, high))
    ll, hh, lh = at_low * (at_low - low), at_high * (at_high + high), -at_low * at_high

    def below(of: Array) -> Array:
        """Sum, for each threshold, over the level below it."""
        return np.asarray(np.bincount(levels, weights * of, n + 1)[1:n], dtype=np.float64)

    def above(of: Array) -> Array:
        return np.asarray(np.bincount(levels, weights * of, n + 1)[2:], dtype=np.float64)

    gradient = np.append(above(at_low) - below(at_high), (weights * x) @ (at_high - at_low))
    hessian = np.diag(np.append(below(hh) + above(ll), (weights * x * x) @ (hh + 2 * lh + ll)))
    pairs = np.arange(n - 2)
    hessian[pairs, pairs + 1] = hessian[pairs + 1, pairs] = below(lh)[1:]
    hessian[:-1, -1] = hessian[-1, :-1] = -below(x * (hh + lh)) - above(x * (ll + lh))
    return -float(weights @ np.log(mass)), gradient, hessian


def _density(z: NDArray[Any]) -> Array:
    return np.where(np.abs(z) < _FAR, np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), 0.0)


_ONE = np.ones(1)

#: What users are drawn given, besides their own arrays.
_GIVEN = ("V", "noise_precision", *USER_PRIOR)

#: Rounds of alternating least squares at the start.
_ALS_ROUNDS = 5


class GaussianUsers(EntryUsers):
    """Rows of users, drawn given the items and the parameters of priors and noise.

    Parameters
    ----------
    opened : callable
        Returns their levels.
    values : ndarray of shape (R + 1,)
        Targets of the levels; the first one is of no level.
    prior : NormalWishartPrior
        Of their rows.
    weights : ndarray of shape (n_entries,), above 0, or None
        Powers of the entries' likelihoods.
    problem : ShardLeastSquares, optional
        What rows of users and items begin with, where users are in shards; its ridge is given later.
    k : int, default=0
        Number of the shard.
    """

    sampled: ClassVar[tuple[str, ...]] = ("U",)
    opens: ClassVar[tuple[str, ...]] = (*EntryUsers.opens, "targets")

    def __init__(
        self,
        opened: Callable[[], LevelData],
        values: Array,
        prior: NormalWishartPrior,
        weights: Array | None = None,
        problem: ShardLeastSquares | None = None,
        k: int = 0,
    ) -> None:
        super().__init__(opened, prior)
        self.values, self.n_levels, self.weights = values, len(values) - 1, weights
        self._problem, self._k = problem, k

    @staticmethod
    def summed(n_levels: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of the moments of scores by level."""
        return {"moments": (n_levels, 3)}

    @cached_property
    def targets(self) -> Array:
        """Targets of the entries."""
        return self.values[self.data.levels]

    def begin(self, random: np.random.Generator, *start: Array) -> State:
        """Return their part of the state at the start: small random rows."""
        return {"U": random.normal(0, 0.1, (self.n, self.prior.n_columns)), "moments": np.zeros((self.n_levels, 3))}

    def initialize(self, state: State, ridge: float, n_rounds: int) -> None:
        """Improve rows of users and items by alternating least squares."""
        d = self.prior.n_columns
        problem = LeastSquaresProblem(
            self.data, self.targets, d, ridge, None, "exact", np.float64, weights=self.weights
        )
        first = problem.pack({name: state[name] for name in ("U", "V")})
        found = problem.arrays(alternating_least_squares(problem, first, max_iter=n_rounds, tol=0).x)
        state["U"][:], state["V"][:] = found["U"], found["V"]

    def least_squares(self, state: State, ridge: float, question: Question) -> Answer:
        """Answer a question of least squares about the rows of a shard."""
        assert self._problem is not None
        start = {"U": state["U"], "b": np.zeros(len(state["U"]))}
        part = LeastSquaresPart(self._k, self._problem.with_ridge(ridge), start)
        answer = part.answer(question)
        state["U"][:] = part.arrays["U"]
        return answer

    def draw(self, state: State, key: Key) -> None:
        """Draw the rows given the items."""
        precision, shifts = self.prior.precision(state), self.prior.shifts(state, self.n)
        self.rows.draw(key, self.targets, self._noise(state), state["V"], precision, shifts, False, state["U"])

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array) -> Answer:
        """Return the equations of the items first..last-1."""
        given = self.targets, self._noise(state), state["U"], precision, shift, False
        return {"equations": self.items.equations(first, last, *given)}

    def sums(self, state: State) -> Answer:
        """Return sums over rows."""
        n, total, products = self.prior.row_sums(state, state["U"])
        return {"n": np.array(n), "total": total, "products": products}

    def spread(self, state: State, mean: Array, weights: Array) -> Answer:
        """Return how rows are spread about a mean and weights."""
        return {"spread": self.prior.spread(state["U"], mean, weights)}

    def moments(self, state: State) -> Answer:
        """Sum the scores of each level, and their squares; return them, and what the next draw of the prior needs."""
        e, weights = self.data, _ONE if self.weights is None else self.weights
        state["moments"][:] = self.rows.total(
            (self.n_levels, 3),
            lambda lo, hi, out: level_moments(
                lo, hi, e.indptr, e.indices, e.levels, weights, state["U"], state["V"], out
            ),
        )
        return self.sums(state) | {"moments": state["moments"].copy()}

    def _noise(self, state: State) -> Array:
        """Return the precision of each entry, or a single one for all."""
        noise: Array = state["noise_precision"]
        return noise if self.weights is None else noise * self.weights


def initialize_in_shards(
    users: ShardedUsers, problem: ShardLeastSquares, state: State, ridge: float, n_rounds: int
) -> None:
    """Do what `GaussianUsers.initialize` does, by rounds."""
    columns = ColumnsInShards(_Initialization(users, ridge), problem.with_ridge(ridge))
    result = descend(columns, columns.pack({"V": state["V"]}), columns.update, Trace(columns, n_rounds, 0, None))
    state["V"][:] = columns.arrays(result.x)["V"]


@dataclass(frozen=True)
class _Initialization:
    """Parts that answer questions of least squares."""

    users: ShardedUsers
    ridge: float

    def total(self, question: Question, then: Then | None = None) -> Answer:
        return self.users.ask("least_squares", {}, (), then, question=question, ridge=self.ridge)

    def query(self, question: Callable[[], Question]) -> Answer:
        return self.users.query("least_squares", lambda: {"question": question(), "ridge": self.ridge})

    def each(self, question: Question) -> Iterator[Answer]:
        for U in self.users.arrays("U"):
            yield {"U": U, "b": np.zeros(len(U))}

    def done(self) -> None:
        """Keep all: a chain goes on with these parts."""


class GaussianPosterior:
    r"""Factorization of observed entries with Gaussian noise, and rows under a normal-Wishart prior each.

    .. math::

        t_{ij} \sim N(u_i \cdot v_j, \alpha^{-1}), \quad u_i \sim N(\mu_U + f_i W_U, \Lambda_U^{-1}), \quad
        v_j \sim N(\mu_V + g_j W_V, \Lambda_V^{-1}),

    with features f and g where the priors have some,
    and, where asked for, :math:`\alpha \sim \mathrm{Gamma}(a, b)` (shape and rate). A sweep draws the priors, the rows
    of users, those of items, and the precision of the noise. Targets are the values of a few levels; "moments" are
    Σ 1, Σ x and Σ x² of the scores x = u·v of each level, (R, 3).

    Parameters
    ----------
    users : Users
        Of `GaussianUsers`.
    initialize : callable
        Improves rows of users and items by alternating least squares, with a ridge, in so many rounds.
    mass : float
        Number of entries, or sum of their weights.
    values : ndarray of shape (R + 1,)
        Targets of the levels; the first one is of no level.
    n_items : int
    items : NormalWishartPrior
    precision : float or None
        α; None to draw it.
    shape, rate : float, default=1.0
        a and b.
    """

    kept: tuple[str, ...] = (
        "U", "V", "user_mean", "user_precision", "user_weights", "item_mean", "item_precision", "item_weights",
        "noise_precision", "moments",
    )  # fmt: skip

    def __init__(
        self,
        users: Users,
        initialize: Callable[[State, float, int], None],
        mass: float,
        values: Array,
        n_items: int,
        items: NormalWishartPrior,
        precision: float | None,
        *,
        shape: float = 1.0,
        rate: float = 1.0,
    ) -> None:
        self.users, self.values, self.n_items, self.items = users, values, n_items, items
        self.precision, self.shape, self.rate = precision, shape, rate
        self.mass, self._initialize = mass, initialize
        #: Sums over all users, as the last draw of rows left them.
        self._sums: Answer | None = None
        self.kept = tuple(name for name in self.kept if name not in users.elsewhere)
        self.steps: Mapping[str, Step] = {
            "user prior": self.draw_user_prior,
            "item prior": lambda state, key: self.items.draw(state, state["V"], key),
            "users": lambda state, key: users.do("draw", state, key=key),
            "items": lambda state, key: users.draw_items(state, key, items, _GIVEN),
            "noise": self.draw_noise,
        }

    def start(self, key: Key) -> State:
        """Return small random factors."""
        random = key.generator()
        users = self.users.begin(random)
        return {
            **users,
            "V": random.normal(0, 0.1, (self.n_items, self.items.n_columns)),
            "noise_precision": np.full(1, 2.0 if self.precision is None else self.precision),
            **self.users.prior.start(),
            **self.items.start(),
        }

    def initialize(self, state: State) -> None:
        """Improve the factors by a few rounds of alternating least squares."""
        # A ridge of d is about right for any d where the noise has variance one half: it corresponds to entries of u
        # and v with variance 1 / (2 d), and so to scores whose variance does not grow with d.
        self._initialize(state, float(self.items.n_columns), _ALS_ROUNDS)

    def log_likelihood(self, state: State) -> float:
        """Return the log-likelihood of the targets."""
        alpha = float(state["noise_precision"][0])
        return 0.5 * float(self.mass * np.log(alpha / (2 * np.pi)) - alpha * self._squared_error(state))

    def tune(self, state: State, sweep: int) -> None:
        """Do nothing: there is nothing to tune."""

    def draw_user_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of users' rows."""
        if self._sums is None:  # later they come with the moments
            self._sums = self.users.ask("sums", state)
        sums = RowSums(int(self._sums["n"]), self._sums["total"], self._sums["products"])

        def spread(mean: Array, weights: Array) -> Array:
            return self.users.ask("spread", state, mean=mean, weights=weights)["spread"]

        self.users.prior.draw_from(key.generator(), state, sums, spread)

    def draw_noise(self, state: State, key: Key) -> None:
        """Sum the scores of each level, and draw α if it is not given."""
        self._sums = self.users.ask("moments", state, ("V",))
        if self.precision is None:
            rate = self.rate + 0.5 * self._squared_error(state)
            state["noise_precision"][:] = key.generator().gamma(self.shape + 0.5 * self.mass, 1 / rate)

    def _squared_error(self, state: State) -> float:
        """Return Σ (t - x)²."""
        t, (n, total, squares) = self.values[1:], state["moments"].T
        return float((t * t * n - 2 * t * total + squares).sum())
