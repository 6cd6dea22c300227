"""The pseudo-posterior of max-margin matrix factorization, drawn from step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol

import numpy as np

from cofactor.problems.hinge_users import FixedPrior, HingeUsers
from cofactor.problems.ordinal_users import LevelData
from cofactor.problems.priors import LinkedPrior, Moments, RowPrior, draw_normal_gamma_by
from cofactor.problems.rows import Array, draw_from_sums
from cofactor.samplers import Key, State, Step
from cofactor.solvers.parts import Answer, Then

__all__ = ["FixedPrior", "HingePosterior", "ThresholdPrior", "UsersOfHinges"]


@dataclass(frozen=True)
class ThresholdPrior:
    r"""Thresholds :math:`\theta_{ir} \sim N(\rho_r, 1 / \tau_r)`, where :math:`\rho_r` begins at ``spacing (r - R/2)``.

    With `learned`, ρ and τ have a normal-gamma prior of this `shape`, `rate` and `strength`, and are drawn.
    """

    spacing: float
    deviation: float
    learned: bool = True
    shape: float = 1.0
    rate: float = 0.1
    strength: float = 0.01

    def start(self, n_levels: int) -> State:
        """Return ρ and τ."""
        return {
            "threshold_mean": self.spacing * (np.arange(1, n_levels) - n_levels / 2),
            "threshold_precision": np.full(n_levels - 1, self.deviation**-2),
        }

    def draw(self, state: State, key: Key, thresholds: Moments) -> None:
        """Draw ρ and τ given the moments of the thresholds of all users."""
        state["threshold_mean"][:], state["threshold_precision"][:] = draw_normal_gamma_by(
            key.generator(), thresholds, self.shape, self.rate, self.strength
        )


class UsersOfHinges(Protocol):
    """Users wherever they are: `HingeUsers` in this process, or `HingeUsersInShards`."""

    prior: LinkedPrior | FixedPrior
    elsewhere: ClassVar[tuple[str, ...]]

    def begin(self, random: np.random.Generator, thresholds: Array) -> State:
        """Return their part of the state at the start."""

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw the scales of hinges, then thresholds."""

    def draw(self, state: State, key: Key) -> None:
        """Draw rows."""

    def draw_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of rows."""

    def threshold_moments(self, state: State) -> Moments:
        """Return the moments of thresholds."""

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array, then: Then) -> Answer:
        """Return `then` of the equations of some items."""


class HingePosterior:
    r"""Max-margin factorization as a distribution: hinges at all thresholds of every user, times priors.

    .. math::

        p \propto \exp\Bigl(-2c \sum_{(i,j) \in \Omega} \sum_{r=1}^{R-1} \max\bigl(0, \ell - T^r_{ij}
        (\theta_{ir} - x_{ij})\bigr)\Bigr) \cdot p(U) \, p(V) \, p(\theta), \quad
        x_{ij} = u_i \cdot v_j \; (+ b_i + c_j)

    A sweep

    1. draws the scales λ, which turn hinges into squares, and given these the thresholds (`thresholds`: weights and
       targets of ratings are valid only after it),
    2. the rows of users given both (`users`), and their prior (`user prior`),
    3. the rows of items and their prior likewise,
    4. means and precisions of the thresholds (`threshold prior`).

    Parameters
    ----------
    users : UsersOfHinges
        With their ratings, and the prior of their rows.
    n_items : int
    n_levels : int
        R.
    items : RowPrior
    threshold_prior : ThresholdPrior
    """

    kept: tuple[str, ...] = (
        "U", "V", "thresholds", "user_mean", "user_precision", "user_weights", "item_mean", "item_precision",
        "item_weights", "threshold_mean", "threshold_precision",
    )  # fmt: skip

    def __init__(
        self,
        users: UsersOfHinges,
        n_items: int,
        n_levels: int,
        items: RowPrior,
        threshold_prior: ThresholdPrior,
    ) -> None:
        self.users, self.m, self.n_levels, self.items = users, n_items, n_levels, items
        self.threshold_prior = threshold_prior
        self.kept = tuple(name for name in self.kept if name not in users.elsewhere)
        self.steps: Mapping[str, Step] = {
            "thresholds": self.users.draw_thresholds,
            "users": self.users.draw,
            "user prior": self.users.draw_prior,
            "items": self.draw_items,
            "item prior": lambda state, key: self.items.draw(state, state["V"], key),
            "threshold prior": self.draw_threshold_prior,
        }

    @classmethod
    def of(
        cls,
        data: LevelData,
        n_levels: int,
        users: LinkedPrior | FixedPrior,
        items: RowPrior,
        threshold_prior: ThresholdPrior,
        *,
        c: float,
        width: float,
        biased: bool,
    ) -> HingePosterior:
        """Return the pseudo-posterior of ratings in this process.

        Parameters
        ----------
        data : Ratings
            Or any object with the arrays of `LevelData`.
        n_levels : int
            R.
        users, items : RowPrior
        threshold_prior : ThresholdPrior
        c : float
            Half the weight of the loss.
        width : float
            ℓ.
        biased : bool
            Whether the last column of rows is a bias, which is added to the score.
        """
        own = HingeUsers(data, users, c=c, width=width, biased=biased)
        return HingePosterior(own, own.items.n, n_levels, items, threshold_prior)

    def start(self, key: Key) -> State:
        """Return small random factors, and for every user the thresholds that the prior expects."""
        random = key.generator()
        prior = self.threshold_prior.start(self.n_levels)
        users = self.users.begin(random, prior["threshold_mean"])
        return {
            **users,
            "V": random.normal(0, 0.1, (self.m, self.items.n_columns)),
            **prior,
            **self.users.prior.start(),
            **self.items.start(),
        }

    def settle(self, state: State) -> None:
        """Do nothing: a start is good enough."""

    def log_likelihood(self, state: State) -> float:
        """Return minus the weighted loss, λ integrated out: a log-likelihood, except for its normalization."""
        return float(state["value"].sum())

    def tune(self, state: State, sweep: int) -> None:
        """Do nothing: there is nothing to tune."""

    def draw_items(self, state: State, key: Key) -> None:
        """Draw the rows of items given scales, thresholds and users."""
        precision, shifts = self.items.precision(state), self.items.shifts(state, self.m)
        draw_from_sums(partial(self.users.item_equations, state), key, precision, shifts, state["V"])

    def draw_threshold_prior(self, state: State, key: Key) -> None:
        """Draw means and precisions of thresholds, if they are learned."""
        if self.threshold_prior.learned:
            self.threshold_prior.draw(state, key, self.users.threshold_moments(state))
