"""The posterior of ordinal probit factorization, drawn from step by step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from cofactor.problems.biased_prior import BiasedPrior
from cofactor.problems.drift import Drift
from cofactor.problems.ordinal_moves import MovedUsers, OrdinalMoves
from cofactor.problems.ordinal_users import LevelData, OrdinalUsers, log_gaps
from cofactor.problems.priors import Moments, draw_normal_gamma_by
from cofactor.problems.rows import Array, draw_from_sums
from cofactor.samplers import Key, State, Step
from cofactor.solvers.parts import Answer, Then

__all__ = ["GapPrior", "LevelData", "OrdinalProbitPosterior", "UsersOfPosterior", "log_gaps"]


#: Metropolis steps for each user and sweep.
N_TRIES = 3


@dataclass(frozen=True)
class GapPrior:
    """Normal-gamma prior of the means and precisions of log-gaps between thresholds."""

    shape: float = 1.0
    rate: float = 0.1
    strength: float = 0.01


class UsersOfPosterior(MovedUsers, Protocol):
    """Users wherever they are: `OrdinalUsers` in this process, or `OrdinalUsersInShards`."""

    elsewhere: ClassVar[tuple[str, ...]]

    def level_counts(self, n_levels: int) -> NDArray[np.int64]:
        """Return how many ratings there are of each level."""

    def begin(self, random: np.random.Generator, thresholds: Array) -> State:
        """Return their part of the state at the start."""

    def tune(self, state: State, sweep: int) -> None:
        """Adapt the reach of proposals."""

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw log-gaps, then z."""

    def draw(self, state: State, key: Key) -> None:
        """Draw rows."""

    def draw_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of rows."""

    def gap_moments(self, state: State) -> Moments:
        """Return the moments of log-gaps."""

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array, then: Then) -> Answer:
        """Return `then` of the equations of some items."""


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
    users : UsersOfPosterior
        With their ratings, and the prior of their rows.
    n_items : int
    n_levels : int
        R.
    items : BiasedPrior
    gap_prior : GapPrior, optional
    shadow : OrdinalUsers, optional
        Shadow users, with ratings of the same items.
    """

    kept: tuple[str, ...] = (
        "U", "V", "thresholds", "user_mean", "user_precision", "user_weights", "item_mean", "item_precision",
        "item_weights", "gap_mean", "gap_precision",
    )  # fmt: skip

    def __init__(
        self,
        users: UsersOfPosterior,
        n_items: int,
        n_levels: int,
        items: BiasedPrior,
        gap_prior: GapPrior | None = None,
        shadow: OrdinalUsers | None = None,
    ) -> None:
        self.users, self.n_items, self.n_levels, self.items, self.shadow = users, n_items, n_levels, items, shadow
        self.gap_prior = gap_prior or GapPrior()
        self.kept = tuple(name for name in self.kept if name not in users.elsewhere)
        self.drift: Drift | None = None
        moves = OrdinalMoves(items, self.gap_prior, (users,) if shadow is None else (users, shadow))
        self.steps: dict[str, Step] = {
            "thresholds": users.draw_thresholds,
            "users": users.draw,
            "user prior": users.draw_prior,
            "items": self.draw_items,
            "item prior": lambda state, key: items.draw(state, state["V"], key),
            "gap prior": self.draw_gap_prior,
        }
        if isinstance(users, OrdinalUsers) and users.drift is not None:
            self.drift = users.drift
            self.kept += self.drift.kept
            self.steps["drift"] = users.draw_drift
        self.steps |= moves.steps
        if shadow is not None:
            self.kept += ("shadow_U", "shadow_thresholds")
            self.steps |= {"shadow thresholds": shadow.draw_thresholds, "shadow users": shadow.draw}

    @classmethod
    def of(
        cls,
        data: LevelData,
        n_levels: int,
        users: BiasedPrior,
        items: BiasedPrior,
        gap_prior: GapPrior | None = None,
        shadow: tuple[LevelData, BiasedPrior] | None = None,
        drift: Drift | None = None,
    ) -> Self:
        """Return the posterior of ratings in this process.

        Parameters
        ----------
        data : Ratings
            Or any object with the arrays of `LevelData`.
        n_levels : int
            R.
        users, items : BiasedPrior
        gap_prior : GapPrior, optional
        shadow : tuple of Ratings and BiasedPrior, optional
            Levels of shadow users for the same items, and the prior of users with their features.
        drift : Drift, optional
            Over the moments of the ratings.
        """
        own = OrdinalUsers(data, users, N_TRIES, drift=drift)
        followers = None if shadow is None else OrdinalUsers(*shadow, N_TRIES, "shadow_")
        return cls(own, len(data.col_indptr) - 1, n_levels, items, gap_prior, followers)

    def start(self, key: Key) -> State:
        """Return small random factors, and for every user the thresholds that fit the frequencies of the levels."""
        random, p = key.generator(), self.items.n_columns
        counts = self.users.level_counts(self.n_levels) + 1.0
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
        self.users.tune(state, sweep)
        if self.drift is not None:
            self.drift.tune(state, sweep)
        if self.shadow is not None:
            self.shadow.tune(state, sweep)

    def draw_items(self, state: State, key: Key) -> None:
        """Draw the rows of items given z and the users."""
        precision, shifts = self.items.precision(state), self.items.shifts(state, self.n_items)
        draw_from_sums(partial(self.users.item_equations, state), key, precision, shifts, state["V"])

    def draw_gap_prior(self, state: State, key: Key) -> None:
        """Draw means and precisions of the log-gaps."""
        prior = self.gap_prior
        state["gap_mean"][:], state["gap_precision"][:] = draw_normal_gamma_by(
            key.generator(), self.users.gap_moments(state), prior.shape, prior.rate, prior.strength
        )
