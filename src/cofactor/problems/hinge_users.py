"""Users of max-margin matrix factorization as a distribution: their rows, thresholds and scales of hinges."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.hinges import draw_hinge_rows
from cofactor.problems.ordinal_users import LevelData
from cofactor.problems.priors import LinkedPrior, Moments, RowSquares, moments
from cofactor.problems.rows import Array, Rows, table_of
from cofactor.samplers import Key, State
from cofactor.solvers.parts import Answer, Then

__all__ = ["FixedPrior", "HingeUsers"]


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

    def draw_by(self, state: State, key: Key, sums: Answer, squares: RowSquares) -> None:
        """Do nothing, likewise."""

    def row_sums(self, state: State, rows: NDArray[np.float64]) -> Answer:
        """Return nothing: nothing is drawn from it."""
        return {}

    def row_squares(self, state: State, rows: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return nothing, likewise."""
        return np.zeros(0)


class HingeUsers:
    """Scales of hinges, thresholds and rows of users, drawn given the items and the parameters of all priors.

    Parameters
    ----------
    data : Ratings
        Their levels.
    prior : LinkedPrior or FixedPrior
        Of their rows.
    c, width : float
        Half the weight of the loss, and ℓ.
    biased : bool
        Whether the last column of rows is a bias.
    weights, targets : ndarray of shape (n_entries,), optional
        What was drawn for ratings before.

    Attributes
    ----------
    weights, targets : ndarray of shape (n_entries,)
        Of the ratings, for the draws of rows; valid after a draw of scales only.
    """

    #: Arrays of a sample that are not in the state.
    elsewhere: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        data: LevelData,
        prior: LinkedPrior | FixedPrior,
        *,
        c: float,
        width: float,
        biased: bool,
        weights: Array | None = None,
        targets: Array | None = None,
    ) -> None:
        self.data, self.prior, self.c, self.width, self.biased = data, prior, float(c), float(width), biased
        self.rows, self.items = Rows.of_users(data), Rows.of_items(data)
        self.n = self.rows.n
        self.weights, self.targets = (
            np.empty(len(data.levels)) if array is None else array for array in (weights, targets)
        )

    def begin(self, random: np.random.Generator, thresholds: Array) -> State:
        """Return their part of the state at the start, with small random rows, and these thresholds for all users."""
        return {
            "U": random.normal(0, 0.1, (self.n, self.prior.n_columns)),
            "thresholds": np.tile(thresholds, (self.n, 1)),
            "value": np.zeros(self.n),
        }

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw the scales of hinges, then thresholds."""
        data, rows, table = self.data, key.rows(), table_of(state["V"], self.biased)

        def block(lo: int, hi: int) -> None:
            draw_hinge_rows(
                lo, hi, rows, data.indptr, data.indices, data.levels, state["U"], table,
                state["threshold_mean"], state["threshold_precision"], self.c, self.width, state["thresholds"],
                self.weights, self.targets, state["value"],
            )  # fmt: skip

        self.rows.each(block)

    def draw(self, state: State, key: Key) -> None:
        """Draw rows given scales, thresholds and items."""
        precision, shifts = self.prior.precision(state), self.prior.shifts(state, self.n)
        self.rows.draw(key, self.targets, self.weights, state["V"], precision, shifts, self.biased, state["U"])

    # ---------------------------------------------------------------- what others are drawn from

    def draw_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of rows."""
        self.prior.draw(state, state["U"], key)

    def threshold_moments(self, state: State) -> Moments:
        """Return the moments of thresholds."""
        return Moments(self.n, *moments(state["thresholds"]))

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array, then: Then) -> Answer:
        """Return `then` of the equations of the items first..last-1: see `draw_from_sums`."""
        given = self.targets, self.weights, state["U"], precision, shift, self.biased
        return then({"equations": self.items.equations(first, last, *given)})
