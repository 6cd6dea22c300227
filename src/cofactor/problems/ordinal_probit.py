"""The posterior of ordinal probit factorization, drawn from step by step, users first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from cofactor.kernels.drift import moment_means
from cofactor.kernels.gibbs import draw_ordinal_rows
from cofactor.problems.biased_prior import BiasedPrior
from cofactor.problems.drift import Drift
from cofactor.problems.observed import LevelData
from cofactor.problems.ordinal_moves import OrdinalMoves, pay_for_factors, products
from cofactor.problems.priors import Moments, draw_normal_gamma_by, squares_of_columns, sums_of_columns
from cofactor.problems.rows import Array, table_of
from cofactor.problems.users import USER_PRIOR, EntryUsers, Users, UsersHere
from cofactor.samplers import Key, State, Step
from cofactor.solvers.parts import Answer

__all__ = ["GapPrior", "OrdinalProbitPosterior", "OrdinalUsers", "log_gaps"]

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
        moves = OrdinalMoves(items, self.gap_prior, (users,) if shadow is None else (users, UsersHere(shadow)))
        self.steps: dict[str, Step] = {
            "thresholds": lambda state, key: users.do("draw_thresholds", state, key=key),
            "users": lambda state, key: users.do("draw", state, key=key),
            "user prior": self.draw_user_prior,
            "items": lambda state, key: users.draw_items(state, key, items),
            "item prior": lambda state, key: items.draw(state, state["V"], key),
            "gap prior": self.draw_gap_prior,
        }
        if isinstance(users, UsersHere) and users.own.drift is not None:
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

    def settle(self, state: State) -> None:
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
        state["gap_mean"][:], state["gap_precision"][:] = draw_normal_gamma_by(
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
