"""The posterior of ordinal probit factorization, drawn from step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from cofactor.kernels.gibbs import draw_ordinal_rows
from cofactor.problems.observed import Entries
from cofactor.problems.priors import LinkedPrior, draw_normal_gamma
from cofactor.problems.rows import Array, Rows
from cofactor.samplers import Key, State, Step

_ONE = np.ones(1)


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


class OrdinalProbitPosterior:
    r"""Ordinal probit factorization with biases, thresholds of every user, and priors regressed on features.

    .. math::

        z_{ij} \sim N(x_{ij}, 1), \quad x_{ij} = u_i \cdot v_j + b_i + c_j, \quad
        y_{ij} = r \iff \theta_{i,r-1} < z_{ij} \le \theta_{ir}

    with rows :math:`(u_i, b_i)` and :math:`(v_j, c_j)` under a `LinkedPrior` each, and
    :math:`\theta_{i1} = a_{i1}, \theta_{ir} = \theta_{i,r-1} + e^{a_{ir}}, a_{ir} \sim N(m_r, s_r^2)`. A sweep

    1. draws the log-gaps a by Metropolis steps with z integrated out, then z (`thresholds`: z is valid only after it),
    2. the rows of users given z and items (`users`), and their prior (`user prior`),
    3. the rows of items and their prior likewise,
    4. m and s (`gap prior`).

    Parameters
    ----------
    data : Ratings
        Anything with its arrays.
    n_levels : int
        R.
    users, items : LinkedPrior
    gap_prior : GapPrior, optional
    n_tries : int, default=3
        Metropolis steps for each user and sweep.
    """

    kept = (
        "U", "V", "thresholds", "user_mean", "user_precision", "user_weights", "item_mean", "item_precision",
        "item_weights", "gap_mean", "gap_precision",
    )  # fmt: skip

    def __init__(
        self,
        data: LevelData,
        n_levels: int,
        users: LinkedPrior,
        items: LinkedPrior,
        gap_prior: GapPrior | None = None,
        n_tries: int = 3,
    ) -> None:
        self.data, self.n_levels, self.users, self.items = data, n_levels, users, items
        self.gap_prior, self.n_tries = gap_prior or GapPrior(), n_tries
        self.user_rows, self.item_rows = Rows.of_users(data), Rows.of_items(data)
        self.n, self.m = self.user_rows.n, self.item_rows.n
        self.counts = np.diff(data.indptr)
        self.z = np.empty(len(data.levels))
        self.steps: Mapping[str, Step] = {
            "thresholds": self.draw_thresholds,
            "users": self.draw_users,
            "user prior": lambda state, key: self.users.draw(state, state["U"], key),
            "items": self.draw_items,
            "item prior": lambda state, key: self.items.draw(state, state["V"], key),
            "gap prior": self.draw_gap_prior,
        }

    def start(self, key: Key) -> State:
        """Return small random factors, and for every user the thresholds that fit the frequencies of the levels."""
        random, p = key.generator(), self.users.n_columns
        counts = np.bincount(self.data.levels, minlength=self.n_levels + 1)[1:] + 1.0
        theta = ndtri(np.cumsum(counts)[:-1] / counts.sum()) * np.sqrt(2)
        gaps = np.concatenate([theta[:1], np.log(np.diff(theta))])
        return {
            "U": random.normal(0, 0.1, (self.n, p)),
            "V": random.normal(0, 0.1, (self.m, p)),
            "gaps": np.tile(gaps, (self.n, 1)),
            "thresholds": np.tile(theta, (self.n, 1)),
            "gap_mean": gaps,
            "gap_precision": np.full(len(gaps), 4.0),
            "reach": np.ones(self.n),
            "accepted": np.zeros(self.n),
            "value": np.zeros(self.n),
            **self.users.start(),
            **self.items.start(),
        }

    def log_likelihood(self, state: State) -> float:
        """Return the log-likelihood of all levels, z integrated out."""
        return float(state["value"].sum())

    def tune(self, state: State, sweep: int) -> None:
        """Move the reach of the proposals towards 30 % of them being accepted."""
        state["reach"] *= np.exp((state["accepted"] - 0.3) / np.sqrt(sweep))

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw log-gaps, then z."""
        data, rows = self.data, key.rows()
        proposal = state["reach"] / np.sqrt(state["gap_precision"].mean() + 0.3 * self.counts)

        def block(lo: int, hi: int) -> None:
            draw_ordinal_rows(
                lo, hi, rows, data.indptr, data.indices, data.levels,
                state["U"], state["V"], state["gaps"], state["gap_mean"], state["gap_precision"], proposal,
                self.n_tries, state["thresholds"], self.z, state["accepted"], state["value"],
            )  # fmt: skip

        self.user_rows.each(block)

    def draw_users(self, state: State, key: Key) -> None:
        """Draw the rows of users given z and the items."""
        self._draw_rows(self.user_rows, self.users, state["U"], state["V"], state, key)

    def draw_items(self, state: State, key: Key) -> None:
        """Draw the rows of items given z and the users."""
        self._draw_rows(self.item_rows, self.items, state["V"], state["U"], state, key)

    def _draw_rows(self, rows: Rows, prior: LinkedPrior, own: Array, other: Array, state: State, key: Key) -> None:
        tau = state[f"{prior.name}_precision"]
        rows.draw(key, self.z, _ONE, other, np.diag(tau), prior.means(state, rows.n) * tau, True, own)

    def draw_gap_prior(self, state: State, key: Key) -> None:
        """Draw means and precisions of the log-gaps."""
        gaps, prior = state["gaps"], self.gap_prior
        state["gap_mean"][:], state["gap_precision"][:] = draw_normal_gamma(
            key.generator(),
            self.n,
            gaps.mean(axis=0),
            gaps.var(axis=0) * self.n,
            prior.shape,
            prior.rate,
            prior.strength,
        )
