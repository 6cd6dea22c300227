"""The posterior of ordinal probit factorization, drawn from step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from cofactor.kernels.drift import moment_means
from cofactor.kernels.gibbs import draw_ordinal_rows
from cofactor.problems.biased_prior import BiasedPrior
from cofactor.problems.drift import Drift
from cofactor.problems.observed import Entries
from cofactor.problems.ordinal_moves import OrdinalMoves
from cofactor.problems.priors import RowPrior, draw_normal_gamma
from cofactor.problems.rows import Array, Rows
from cofactor.samplers import Key, State, Step

_ONE, _NONE = np.ones(1), np.zeros(0)

#: Least distance of two thresholds: samples are in single precision, where they may coincide.
_LEAST_GAP = 1e-6


class LevelData(Entries, Protocol):
    """Levels of pairs by rows and by columns, as `Ratings` has them."""

    @property
    def levels(self) -> NDArray[np.uint8]:
        """Level of each entry, 1..R."""


@dataclass(frozen=True)
class GapPrior:
    """Normal-gamma prior of the means and precisions of log-gaps between thresholds."""

    shape: float = 1.0
    rate: float = 0.1
    strength: float = 0.01


class OrdinalUsers:
    """Thresholds, latent scores, rows and drift of users, drawn given the items and the parameters of all priors.

    Parameters
    ----------
    data : Ratings
        Their levels.
    prior : RowPrior
        Of their rows.
    n_tries : int
        Metropolis steps for each user and sweep.
    prefix : str, default=""
        Of the names of their arrays in the state.
    drift : Drift, optional
        What moves their scores with time.

    Attributes
    ----------
    z : ndarray of shape (n_entries,)
        Latent scores of the ratings.
    rest : ndarray of shape (n_entries,)
        Latent scores less the drift: z itself if there is none.
    """

    def __init__(
        self, data: LevelData, prior: RowPrior, n_tries: int, prefix: str = "", drift: Drift | None = None
    ) -> None:
        self.data, self.prior, self.n_tries, self.prefix, self.drift = data, prior, n_tries, prefix, drift
        self.rows = Rows.of_users(data)
        self.n = self.rows.n
        self.z = np.empty(len(data.levels))
        self.rest = self.z if drift is None else np.empty_like(self.z)

    def start(self, rows: Array, thresholds: Array) -> State:
        """Return their part of the state, with these rows, and these thresholds for all users."""
        arrays = {
            "U": rows,
            "gaps": np.tile(log_gaps(thresholds), (self.n, 1)),
            "thresholds": np.tile(thresholds, (self.n, 1)),
            "reach": np.ones(self.n),
            "accepted": np.zeros(self.n),
            "value": np.zeros(self.n),
        }
        return {self.prefix + name: array for name, array in arrays.items()}

    def tune(self, state: State, sweep: int) -> None:
        """Change the reach of the proposals so that about 30 % of them are accepted."""
        state[self.prefix + "reach"] *= np.exp((state[self.prefix + "accepted"] - 0.3) / np.sqrt(sweep))

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw log-gaps, then z."""
        data, rows = self.data, key.rows()
        own = {name: state[self.prefix + name] for name in ("U", "gaps", "thresholds", "reach", "accepted", "value")}
        drift = _NONE if self.drift is None else self.drift.of_entries(state)

        def block(lo: int, hi: int) -> None:
            draw_ordinal_rows(
                lo, hi, rows, data.indptr, data.indices, data.levels,
                own["U"], state["V"], drift, own["gaps"], state["gap_mean"], state["gap_precision"],
                own["reach"], self.n_tries, own["thresholds"], self.z, own["accepted"], own["value"],
            )  # fmt: skip

        self.rows.each(block)
        if self.drift is not None:
            np.subtract(self.z, drift, out=self.rest)

    def draw(self, state: State, key: Key) -> None:
        """Draw rows given z, the drift and the items."""
        draw_rows(self.rows, self.prior, self.rest, state[self.prefix + "U"], state["V"], state, key)

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
    data : Ratings
        Or any object with the arrays of `LevelData`.
    n_levels : int
        R.
    users, items : BiasedPrior
    gap_prior : GapPrior, optional
    n_tries : int, default=3
        Metropolis steps for each user and sweep.
    shadow : tuple of Ratings and BiasedPrior, optional
        Levels of shadow users for the same items, and the prior of users with their features.
    drift : Drift, optional
        Over the moments of the ratings.
    """

    kept: tuple[str, ...] = (
        "U", "V", "thresholds", "user_mean", "user_precision", "user_weights", "item_mean", "item_precision",
        "item_weights", "gap_mean", "gap_precision",
    )  # fmt: skip

    def __init__(
        self,
        data: LevelData,
        n_levels: int,
        users: BiasedPrior,
        items: BiasedPrior,
        gap_prior: GapPrior | None = None,
        n_tries: int = 3,
        shadow: tuple[LevelData, BiasedPrior] | None = None,
        drift: Drift | None = None,
    ) -> None:
        self.data, self.n_levels, self.items, self.drift = data, n_levels, items, drift
        self.users = OrdinalUsers(data, users, n_tries, drift=drift)
        self.gap_prior = gap_prior or GapPrior()
        self.item_rows = Rows.of_items(data)
        moves = OrdinalMoves(users, items, self.gap_prior, ("",) if shadow is None else ("", "shadow_"))
        self.steps: dict[str, Step] = {
            "thresholds": self.users.draw_thresholds,
            "users": self.users.draw,
            "user prior": lambda state, key: users.draw(state, state["U"], key),
            "items": self.draw_items,
            "item prior": lambda state, key: items.draw(state, state["V"], key),
            "gap prior": self.draw_gap_prior,
        }
        if drift is not None:
            self.kept += drift.kept
            self.steps["drift"] = self.users.draw_drift
        self.shadow = None if shadow is None else OrdinalUsers(*shadow, n_tries, "shadow_")
        self.steps |= moves.steps
        if self.shadow is not None:
            self.kept += ("shadow_U", "shadow_thresholds")
            self.steps |= {"shadow thresholds": self.shadow.draw_thresholds, "shadow users": self.shadow.draw}

    def start(self, key: Key) -> State:
        """Return small random factors, and for every user the thresholds that fit the frequencies of the levels."""
        random, p = key.generator(), self.items.n_columns
        counts = np.bincount(self.data.levels, minlength=self.n_levels + 1)[1:] + 1.0
        theta = ndtri(np.cumsum(counts)[:-1] / counts.sum()) * np.sqrt(2)
        U, V = random.normal(0, 0.1, (self.users.n, p)), random.normal(0, 0.1, (self.item_rows.n, p))
        shadow = {} if self.shadow is None else self.shadow.start(np.zeros((self.shadow.n, p)), theta)
        drift = {} if self.drift is None else self.drift.start()
        return {
            **self.users.start(U, theta),
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
        self.users.tune(state, sweep)
        if self.drift is not None:
            self.drift.tune(state, sweep)
        if self.shadow is not None:
            self.shadow.tune(state, sweep)

    def draw_items(self, state: State, key: Key) -> None:
        """Draw the rows of items given z and the users."""
        draw_rows(self.item_rows, self.items, self.users.rest, state["V"], state["U"], state, key)

    def draw_gap_prior(self, state: State, key: Key) -> None:
        """Draw means and precisions of the log-gaps."""
        prior = self.gap_prior
        state["gap_mean"][:], state["gap_precision"][:] = draw_normal_gamma(
            key.generator(), state["gaps"], prior.shape, prior.rate, prior.strength
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


def draw_rows(rows: Rows, prior: RowPrior, z: Array, own: Array, other: Array, state: State, key: Key) -> None:
    """Draw the rows of one side, with their biases, given z and the other side."""
    rows.draw(key, z, _ONE, other, prior.precision(state), prior.shifts(state, rows.n), True, own)
