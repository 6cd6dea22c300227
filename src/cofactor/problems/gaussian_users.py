"""Users of a factorization with Gaussian noise, drawn given all else."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.gibbs import level_moments
from cofactor.problems.least_squares import LeastSquaresProblem
from cofactor.problems.observed import Entries
from cofactor.problems.priors import NormalWishartPrior
from cofactor.problems.rows import Array, Rows
from cofactor.samplers import Key, State
from cofactor.solvers import alternating_least_squares
from cofactor.solvers.parts import Answer, Then

__all__ = ["GaussianUsers"]

_ONE = np.ones(1)


class GaussianUsers:
    """Rows of users, drawn given the items and the parameters of priors and noise.

    Parameters
    ----------
    entries : Entries
        Where the observed entries are.
    levels : ndarray of shape (n_entries,)
        Counted from 1, in row order.
    values : ndarray of shape (R + 1,)
        Targets of the levels; the first one is of no level.
    prior : NormalWishartPrior
        Of their rows.
    weights : ndarray of shape (n_entries,), above 0, or None
        Powers of the entries' likelihoods.
    """

    #: Arrays of a sample that are not in the state.
    elsewhere: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        entries: Entries,
        levels: NDArray[Any],
        values: Array,
        prior: NormalWishartPrior,
        weights: Array | None = None,
    ) -> None:
        self.entries, self.levels, self.n_levels, self.weights = entries, levels, len(values) - 1, weights
        self.targets, self.prior = values[levels], prior
        self.rows, self.items = Rows.of_users(entries), Rows.of_items(entries)
        self.mass = float(len(levels) if weights is None else weights.sum())

    def begin(self, random: np.random.Generator) -> State:
        """Return their part of the state at the start: small random rows."""
        n = self.rows.n
        return {"U": random.normal(0, 0.1, (n, self.prior.n_columns)), "moments": np.zeros((self.n_levels, 3))}

    def settle(self, state: State, ridge: float, n_rounds: int) -> None:
        """Improve rows of users and items by alternating least squares."""
        d = self.prior.n_columns
        problem = LeastSquaresProblem(
            self.entries, self.targets, d, ridge, None, "exact", np.float64, weights=self.weights
        )
        first = problem.pack({name: state[name] for name in ("U", "V")})
        found = problem.arrays(alternating_least_squares(problem, first, max_iter=n_rounds, tol=0).x)
        state["U"][:], state["V"][:] = found["U"], found["V"]

    def draw_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of rows."""
        self.prior.draw(state, state["U"], key)

    def draw(self, state: State, key: Key) -> None:
        """Draw the rows given the items."""
        precision, shifts = self.prior.precision(state), self.prior.shifts(state, self.rows.n)
        self.rows.draw(key, self.targets, self._noise(state), state["V"], precision, shifts, False, state["U"])

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array, then: Then) -> Answer:
        """Return `then` of the equations of the items first..last-1: see `draw_from_sums`."""
        given = self.targets, self._noise(state), state["U"], precision, shift, False
        return then({"equations": self.items.equations(first, last, *given)})

    def set_moments(self, state: State) -> None:
        """Sum the scores of each level, and their squares."""
        e, weights = self.entries, _ONE if self.weights is None else self.weights
        state["moments"][:] = self.rows.total(
            (self.n_levels, 3),
            lambda lo, hi, out: level_moments(
                lo, hi, e.indptr, e.indices, self.levels, weights, state["U"], state["V"], out
            ),
        )

    def _noise(self, state: State) -> Array:
        """Return the precision of each entry, or a single one for all."""
        noise: Array = state["noise_precision"]
        return noise if self.weights is None else noise * self.weights
