"""The pseudo-posterior of max-margin matrix factorization, drawn from step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.hinges import draw_hinge_rows
from cofactor.problems.ordinal_probit import LevelData
from cofactor.problems.priors import LinkedPrior, RowPrior, draw_normal_gamma
from cofactor.problems.rows import Array, Rows
from cofactor.samplers import Key, State, Step


class FixedPrior:
    """Rows N(0, I): a prior without parameters, in place of a `LinkedPrior`.

    Parameters
    ----------
    name : str
        Prefix of the arrays in the state.
    n_columns : int
        Length of a row.
    """

    def __init__(self, name: str, n_columns: int) -> None:
        self.name, self.n_columns = name, n_columns

    def start(self) -> State:
        """Return the arrays that a `LinkedPrior` without features has."""
        return LinkedPrior(self.name, self.n_columns).start()

    def means(self, state: State, n: int) -> NDArray[np.float64]:
        """Return the prior means (n, p) of the rows."""
        return np.zeros((n, self.n_columns))

    def precision(self, state: State) -> NDArray[np.float64]:
        """Return the identity."""
        return np.eye(self.n_columns)

    def shifts(self, state: State, n: int) -> NDArray[np.float64]:
        """Return the prior means again: the precision is one."""
        return self.means(state, n)

    def draw(self, state: State, rows: NDArray[np.float64], key: Key) -> None:
        """Do nothing: this prior has no parameters."""


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

    def draw(self, state: State, key: Key) -> None:
        """Draw ρ and τ given the thresholds of all users, if they are learned."""
        if not self.learned:
            return
        state["threshold_mean"][:], state["threshold_precision"][:] = draw_normal_gamma(
            key.generator(), state["thresholds"], self.shape, self.rate, self.strength
        )


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

    kept: tuple[str, ...] = (
        "U", "V", "thresholds", "user_mean", "user_precision", "user_weights", "item_mean", "item_precision",
        "item_weights", "threshold_mean", "threshold_precision",
    )  # fmt: skip

    def __init__(
        self,
        data: LevelData,
        n_levels: int,
        users: RowPrior,
        items: RowPrior,
        threshold_prior: ThresholdPrior,
        *,
        c: float,
        width: float,
        biased: bool,
    ) -> None:
        self.data, self.n_levels, self.users, self.items = data, n_levels, users, items
        self.threshold_prior, self.c, self.width, self.biased = threshold_prior, float(c), float(width), biased
        self.user_rows, self.item_rows = Rows.of_users(data), Rows.of_items(data)
        self.n, self.m = self.user_rows.n, self.item_rows.n
        self.weights, self.targets = np.empty(len(data.levels)), np.empty(len(data.levels))
        self.steps: Mapping[str, Step] = {
            "thresholds": self.draw_thresholds,
            "users": self.draw_users,
            "user prior": lambda state, key: self.users.draw(state, state["U"], key),
            "items": self.draw_items,
            "item prior": lambda state, key: self.items.draw(state, state["V"], key),
            "threshold prior": self.threshold_prior.draw,
        }

    def start(self, key: Key) -> State:
        """Return small random factors, and for every user the thresholds that the prior expects."""
        random, p = key.generator(), self.users.n_columns
        prior = self.threshold_prior.start(self.n_levels)
        return {
            "U": random.normal(0, 0.1, (self.n, p)),
            "V": random.normal(0, 0.1, (self.m, p)),
            "thresholds": np.tile(prior["threshold_mean"], (self.n, 1)),
            "value": np.zeros(self.n),
            **prior,
            **self.users.start(),
            **self.items.start(),
        }

    def settle(self, state: State) -> None:
        """Do nothing: a start is good enough."""

    def log_likelihood(self, state: State) -> float:
        """Return minus the weighted loss, λ integrated out: a log-likelihood, except for its normalization."""
        return float(state["value"].sum())

    def tune(self, state: State, sweep: int) -> None:
        """Do nothing: there is nothing to tune."""

    def factors(self, state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the columns of U and V that scores depend on."""
        return state["U"], state["V"]

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw the scales of hinges, then thresholds."""
        data, rows = self.data, key.rows()
        U, V = self.factors(state)

        def block(lo: int, hi: int) -> None:
            draw_hinge_rows(
                lo, hi, rows, data.indptr, data.indices, data.levels,
                U, V, self.biased, state["threshold_mean"], state["threshold_precision"],
                self.c, self.width, state["thresholds"], self.weights, self.targets, state["value"],
            )  # fmt: skip

        self.user_rows.each(block)

    def draw_users(self, state: State, key: Key) -> None:
        """Draw the rows of users given scales, thresholds and items."""
        precision, shifts = self.users.precision(state), self.users.shifts(state, self.n)
        self._draw_rows(self.user_rows, state["U"], state["V"], precision, shifts, key)

    def draw_items(self, state: State, key: Key) -> None:
        """Draw the rows of items given scales, thresholds and users."""
        precision, shifts = self.items.precision(state), self.items.shifts(state, self.m)
        self._draw_rows(self.item_rows, state["V"], state["U"], precision, shifts, key)

    def _draw_rows(self, rows: Rows, own: Array, other: Array, precision: Array, shifts: Array, key: Key) -> None:
        rows.draw(key, self.targets, self.weights, other, precision, shifts, self.biased, own)
