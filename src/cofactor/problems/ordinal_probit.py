"""The posterior of ordinal probit factorization, drawn from step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from cofactor.kernels.gibbs import draw_ordinal_rows, draw_rows
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.problems.priors import LinkedPrior, draw_normal_gamma
from cofactor.samplers import Key, State, Step

#: Ratings in one task of a thread.
_ENTRIES = 2048

_ONE = np.ones(1)
_IN_PLACE = np.zeros(0, dtype=np.int32)


class LevelData(Protocol):
    """Levels of pairs by rows and by columns, as `Ratings` has them."""

    @property
    def indptr(self) -> NDArray[np.int64]:
        """Offsets of rows."""

    @property
    def indices(self) -> NDArray[np.int32]:
        """Column of each entry."""

    @property
    def levels(self) -> NDArray[np.uint8]:
        """Level of each entry, 1..R."""

    @property
    def col_indptr(self) -> NDArray[np.int64]:
        """Offsets of columns."""

    @property
    def col_indices(self) -> NDArray[np.int32]:
        """Row of each column entry."""

    @property
    def to_csr(self) -> NDArray[np.int32] | NDArray[np.int64]:
        """Position of each column entry among the entries by row."""


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
        self.n, self.m = len(data.indptr) - 1, len(data.col_indptr) - 1
        self.counts = np.diff(data.indptr)
        self.z = np.empty(len(data.levels))
        self._row_cuts = cut_rows(data.indptr, _ENTRIES)
        self._col_cuts = cut_rows(data.col_indptr, _ENTRIES)
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

        def block(k: int) -> None:
            draw_ordinal_rows(
                self._row_cuts[k], self._row_cuts[k + 1], rows, data.indptr, data.indices, data.levels,
                state["U"], state["V"], state["gaps"], state["gap_mean"], state["gap_precision"], proposal,
                self.n_tries, state["thresholds"], self.z, state["accepted"], state["value"],
            )  # fmt: skip

        parallel_for(block, len(self._row_cuts) - 1)

    def draw_users(self, state: State, key: Key) -> None:
        """Draw the rows of users given z and the items."""
        data = self.data
        self._draw_side(self.users, data.indptr, data.indices, _IN_PLACE, self._row_cuts, "U", "V", state, key)

    def draw_items(self, state: State, key: Key) -> None:
        """Draw the rows of items given z and the users."""
        data = self.data
        self._draw_side(
            self.items, data.col_indptr, data.col_indices, data.to_csr, self._col_cuts, "V", "U", state, key
        )

    def _draw_side(
        self,
        prior: LinkedPrior,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        position: NDArray[Any],
        cuts: NDArray[np.int64],
        own: str,
        other: str,
        state: State,
        key: Key,
    ) -> None:
        tau = state[f"{prior.name}_precision"]
        shift = prior.means(state, len(indptr) - 1) * tau
        precision, rows = np.diag(tau), key.rows()

        def block(k: int) -> None:
            draw_rows(
                cuts[k], cuts[k + 1], rows, indptr, indices, position, self.z, _ONE, state[other],
                precision, shift, True, state[own],
            )  # fmt: skip

        parallel_for(block, len(cuts) - 1)

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
