"""The posterior of Bayesian probabilistic matrix factorization, drawn from step by step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.gibbs import squared_errors
from cofactor.problems.least_squares import LeastSquaresProblem
from cofactor.problems.observed import Entries
from cofactor.problems.priors import NormalWishartPrior
from cofactor.problems.rows import Array, Rows
from cofactor.samplers import Key, State, Step
from cofactor.solvers import alternating_least_squares

#: Rounds of alternating least squares at the start.
_ALS_ROUNDS = 5

_ONE = np.ones(1)


class GaussianPosterior:
    r"""Factorization of observed entries with Gaussian noise, and rows under a normal-Wishart prior each.

    .. math::

        t_{ij} \sim N(u_i \cdot v_j, \alpha^{-1}), \quad u_i \sim N(\mu_U + f_i W_U, \Lambda_U^{-1}), \quad
        v_j \sim N(\mu_V + g_j W_V, \Lambda_V^{-1}),

    with features f and g where the priors have some,
    and, where asked for, :math:`\alpha \sim \mathrm{Gamma}(a, b)` (shape and rate). A sweep draws the priors, the rows
    of users, those of items, and the precision of the noise.

    Parameters
    ----------
    entries : Entries
        Where the observed entries are.
    targets : ndarray of shape (n_entries,)
        t in row order.
    users, items : NormalWishartPrior
    precision : float or None
        α; None to draw it.
    shape, rate : float, default=1.0
        a and b.
    weights : ndarray of shape (n_entries,), above 0, or None
        Powers of the entries' likelihoods, in row order: what their precisions are multiplied by.
    """

    kept = (
        "U", "V", "user_mean", "user_precision", "user_weights", "item_mean", "item_precision", "item_weights",
        "noise_precision",
    )  # fmt: skip

    def __init__(
        self,
        entries: Entries,
        targets: NDArray[np.float64],
        users: NormalWishartPrior,
        items: NormalWishartPrior,
        precision: float | None,
        *,
        shape: float = 1.0,
        rate: float = 1.0,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.entries, self.targets, self.users, self.items = entries, targets, users, items
        self.precision, self.shape, self.rate = precision, shape, rate
        self.weights = weights
        self.mass = float(len(targets) if weights is None else weights.sum())
        self.user_rows, self.item_rows = Rows.of_users(entries), Rows.of_items(entries)
        self.steps: Mapping[str, Step] = {
            "user prior": lambda state, key: self.users.draw(state, state["U"], key),
            "item prior": lambda state, key: self.items.draw(state, state["V"], key),
            "users": self.draw_users,
            "items": self.draw_items,
            "noise": self.draw_noise,
        }

    def start(self, key: Key) -> State:
        """Return small random factors."""
        random, (n, m), d = key.generator(), self.entries.shape, self.users.n_columns
        return {
            "U": random.normal(0, 0.1, (n, d)),
            "V": random.normal(0, 0.1, (m, d)),
            "noise_precision": np.full(1, 2.0 if self.precision is None else self.precision),
            "errors": np.zeros(n),
            **self.users.start(),
            **self.items.start(),
        }

    def settle(self, state: State) -> None:
        """Improve the factors by a few rounds of alternating least squares."""
        # A ridge of d is about right for any d where the noise has variance one half: it corresponds to entries of u
        # and v with variance 1 / (2 d), and so to scores whose variance does not grow with d.
        d = self.users.n_columns
        problem = LeastSquaresProblem(
            self.entries, self.targets, d, float(d), None, "exact", np.float64, weights=self.weights
        )
        first = problem.pack({name: state[name] for name in ("U", "V")})
        found = problem.arrays(alternating_least_squares(problem, first, max_iter=_ALS_ROUNDS, tol=0).x)
        state["U"][:], state["V"][:] = found["U"], found["V"]

    def log_likelihood(self, state: State) -> float:
        """Return the log-likelihood of the targets."""
        alpha = float(state["noise_precision"][0])
        return 0.5 * float(self.mass * np.log(alpha / (2 * np.pi)) - alpha * state["errors"].sum())

    def tune(self, state: State, sweep: int) -> None:
        """Do nothing: there is nothing to tune."""

    def draw_users(self, state: State, key: Key) -> None:
        """Draw the rows of users given the items."""
        self._draw_rows(self.user_rows, self.users, state["U"], state["V"], state, key)

    def draw_items(self, state: State, key: Key) -> None:
        """Draw the rows of items given the users."""
        self._draw_rows(self.item_rows, self.items, state["V"], state["U"], state, key)

    def _draw_rows(
        self, rows: Rows, prior: NormalWishartPrior, own: Array, other: Array, state: State, key: Key
    ) -> None:
        shift, precision = prior.shifts(state, rows.n), prior.precision(state)
        noise = state["noise_precision"] if self.weights is None else state["noise_precision"] * self.weights
        rows.draw(key, self.targets, noise, other, precision, shift, False, own)

    def draw_noise(self, state: State, key: Key) -> None:
        """Sum the squared errors of each row, and draw α if it is not given."""
        e, U, V = self.entries, state["U"], state["V"]
        weights = _ONE if self.weights is None else self.weights
        self.user_rows.each(
            lambda lo, hi: squared_errors(lo, hi, e.indptr, e.indices, self.targets, weights, U, V, state["errors"])
        )
        if self.precision is None:
            rate = self.rate + 0.5 * state["errors"].sum()
            state["noise_precision"][:] = key.generator().gamma(self.shape + 0.5 * self.mass, 1 / rate)
