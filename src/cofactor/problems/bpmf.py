"""The posterior of Bayesian probabilistic matrix factorization, drawn from step by step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.problems.gaussian_users import GaussianUsers
from cofactor.problems.observed import Entries
from cofactor.problems.priors import NormalWishartPrior
from cofactor.problems.rows import Array, draw_from_sums
from cofactor.samplers import Key, State, Step
from cofactor.solvers.parts import Answer, Then

__all__ = ["GaussianPosterior", "UsersWithNoise"]

#: Rounds of alternating least squares at the start.
_ALS_ROUNDS = 5


class UsersWithNoise(Protocol):
    """Users wherever they are: `GaussianUsers` in this process, or `GaussianUsersInShards`.

    Attributes
    ----------
    mass : float
        Number of entries, or sum of their weights.
    """

    prior: NormalWishartPrior
    mass: float
    elsewhere: ClassVar[tuple[str, ...]]

    def begin(self, random: np.random.Generator) -> State:
        """Return their part of the state at the start."""

    def settle(self, state: State, ridge: float, n_rounds: int) -> None:
        """Improve rows of users and items."""

    def draw_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of rows."""

    def draw(self, state: State, key: Key) -> None:
        """Draw rows."""

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array, then: Then) -> Answer:
        """Return `then` of the equations of some items."""

    def set_moments(self, state: State) -> None:
        """Sum the scores of each level, and their squares."""


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
    users : UsersWithNoise
        With their entries, and the prior of their rows.
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
        users: UsersWithNoise,
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
        self.kept = tuple(name for name in self.kept if name not in users.elsewhere)
        self.steps: Mapping[str, Step] = {
            "user prior": self.users.draw_prior,
            "item prior": lambda state, key: self.items.draw(state, state["V"], key),
            "users": self.users.draw,
            "items": self.draw_items,
            "noise": self.draw_noise,
        }

    @classmethod
    def of(
        cls,
        entries: Entries,
        levels: NDArray[Any],
        values: Array,
        users: NormalWishartPrior,
        items: NormalWishartPrior,
        precision: float | None,
        *,
        shape: float = 1.0,
        rate: float = 1.0,
        weights: Array | None = None,
    ) -> Self:
        """Return the posterior of entries in this process.

        Parameters
        ----------
        entries : Entries
            Where the observed entries are.
        levels : ndarray of shape (n_entries,)
            Counted from 1, in row order.
        values : ndarray of shape (R + 1,)
            Targets of the levels; the first one is of no level.
        users, items : NormalWishartPrior
        precision, shape, rate
            As of the class.
        weights : ndarray of shape (n_entries,), above 0, or None
            Powers of the entries' likelihoods, in row order: what their precisions are multiplied by.
        """
        own = GaussianUsers(entries, levels, values, users, weights)
        return cls(own, values, own.items.n, items, precision, shape=shape, rate=rate)

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

    def settle(self, state: State) -> None:
        """Improve the factors by a few rounds of alternating least squares."""
        # A ridge of d is about right for any d where the noise has variance one half: it corresponds to entries of u
        # and v with variance 1 / (2 d), and so to scores whose variance does not grow with d.
        self.users.settle(state, float(self.items.n_columns), _ALS_ROUNDS)

    def log_likelihood(self, state: State) -> float:
        """Return the log-likelihood of the targets."""
        alpha = float(state["noise_precision"][0])
        return 0.5 * float(self.users.mass * np.log(alpha / (2 * np.pi)) - alpha * self._squared_error(state))

    def tune(self, state: State, sweep: int) -> None:
        """Do nothing: there is nothing to tune."""

    def draw_items(self, state: State, key: Key) -> None:
        """Draw the rows of items given the users."""
        precision, shifts = self.items.precision(state), self.items.shifts(state, self.n_items)
        draw_from_sums(partial(self.users.item_equations, state), key, precision, shifts, state["V"])

    def draw_noise(self, state: State, key: Key) -> None:
        """Sum the scores of each level, and draw α if it is not given."""
        self.users.set_moments(state)
        if self.precision is None:
            rate = self.rate + 0.5 * self._squared_error(state)
            state["noise_precision"][:] = key.generator().gamma(self.shape + 0.5 * self.users.mass, 1 / rate)

    def _squared_error(self, state: State) -> float:
        """Return Σ (t - x)²."""
        t, (n, total, squares) = self.values[1:], state["moments"].T
        return float((t * t * n - 2 * t * total + squares).sum())
