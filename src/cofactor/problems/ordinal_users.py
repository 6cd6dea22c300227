"""Users of an ordinal probit factorization: their rows, thresholds and latent scores, drawn given all else."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.drift import moment_means
from cofactor.kernels.gibbs import draw_ordinal_rows
from cofactor.problems.biased_prior import BiasedPrior
from cofactor.problems.drift import Drift
from cofactor.problems.observed import Entries
from cofactor.problems.ordinal_moves import pay_for_factors, products
from cofactor.problems.priors import Moments, moments
from cofactor.problems.rows import Array, Rows, table_of
from cofactor.samplers import Key, State
from cofactor.solvers.parts import Answer, Then

__all__ = ["LevelData", "OrdinalRows", "OrdinalUsers", "log_gaps"]

_ONE, _NONE = np.ones(1, np.float32), np.zeros(0)

#: Least distance of two thresholds: samples are in single precision, where they may coincide.
_LEAST_GAP = 1e-6


class LevelData(Entries, Protocol):
    """Levels of pairs by rows and by columns, as `Ratings` has them."""

    @property
    def levels(self) -> NDArray[np.uint8]:
        """Level of each entry, 1..R."""


class OrdinalRows:
    """Rows and thresholds of users, without their ratings.

    Parameters
    ----------
    prior : BiasedPrior
        Of their rows.
    prefix : str, default=""
        Of the names of their arrays in the state.
    """

    def __init__(self, prior: BiasedPrior, prefix: str = "") -> None:
        self.prior, self.prefix = prior, prefix

    def _of(self, state: State, *names: str) -> tuple[Array, ...]:
        return tuple(state[self.prefix + name] for name in names)

    def start(self, rows: Array, thresholds: Array) -> State:
        """Return their part of the state, with these rows, and these thresholds for all users."""
        n = len(rows)
        arrays = {
            "U": rows,
            "gaps": np.tile(log_gaps(thresholds), (n, 1)),
            "thresholds": np.tile(thresholds, (n, 1)),
            "reach": np.ones(n),
            "accepted": np.zeros(n),
            "value": np.zeros(n),
        }
        return {self.prefix + name: array for name, array in arrays.items()}

    def tune(self, state: State, sweep: int) -> None:
        """Change the reach of the proposals so that about 30 % of them are accepted."""
        reach, accepted = self._of(state, "reach", "accepted")
        reach *= np.exp((accepted - 0.3) / np.sqrt(sweep))

    # ---------------------------------------------------------------- moves, see `OrdinalMoves`

    def draw_offsets(
        self, state: State, random: np.random.Generator, precisions: tuple[float, float], mean: Array, weights: Array,
        gap_mean: float,
    ) -> None:  # fmt: skip
        """Draw by how much each bias and all thresholds of a user grow.

        Parameters
        ----------
        state : State
        random : Generator
        precisions : tuple of two floats
            Of biases and of the lowest thresholds.
        mean, weights : ndarray of shape (1,), (K, 1)
            Of biases.
        gap_mean : float
            Of the lowest thresholds.
        """
        U, gaps, thresholds = self._of(state, "U", "gaps", "thresholds")
        bias, first = U[:, -1], gaps[:, 0]
        of_bias, of_first = precisions
        expected = self.prior.bias.regressed(weights, mean, len(bias))[:, 0]
        pull = of_bias * (expected - bias) + of_first * (gap_mean - first)
        s = pull / (of_bias + of_first) + random.normal(size=len(bias)) / np.sqrt(of_bias + of_first)
        bias += s
        first += s
        thresholds += s[:, None]

    def add_to_factors(self, state: State, delta: Array, t: float) -> None:
        """Add δ to factors and t to thresholds."""
        [U] = self._of(state, "U")
        U[:, :-1] += delta
        self._raise(state, t)

    def pay_for_factors(self, state: State, delta: Array, t: float) -> None:
        """Take from biases what δ adds to scores, and add t to them and to thresholds."""
        [U] = self._of(state, "U")
        pay_for_factors((U,), delta)
        U[:, -1] += t
        self._raise(state, t)

    def _raise(self, state: State, t: float) -> None:
        gaps, thresholds = self._of(state, "gaps", "thresholds")
        gaps[:, 0] += t
        thresholds += t

    def stretch(self, state: State, root: Array) -> None:
        """Multiply factors."""
        [U] = self._of(state, "U")
        U[:, :-1] *= root

    def rest_products(self, state: State) -> Array:
        """Return the products of all columns of rows less their prior means."""
        [U] = self._of(state, "U")
        return products(U - self.prior.means(state, len(U)))


class OrdinalUsers(OrdinalRows):
    """Thresholds, latent scores, rows and drift of users, drawn given the items and the parameters of all priors.

    Parameters
    ----------
    data : Ratings
        Their levels.
    prior : BiasedPrior
        Of their rows.
    n_tries : int
        Metropolis steps for each user and sweep.
    prefix : str, default=""
        Of the names of their arrays in the state.
    drift : Drift, optional
        What moves their scores with time.
    z : ndarray of shape (n_entries,), float32, optional
        Latent scores that were drawn before.

    Attributes
    ----------
    z : ndarray of shape (n_entries,), float32
        Latent scores of the ratings.
    rest : ndarray of shape (n_entries,)
        Latent scores less the drift: z itself if there is none.
    """

    #: Arrays of a sample that are not in the state.
    elsewhere: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        data: LevelData,
        prior: BiasedPrior,
        n_tries: int,
        prefix: str = "",
        drift: Drift | None = None,
        z: NDArray[np.float32] | None = None,
    ) -> None:
        super().__init__(prior, prefix)
        self.data, self.n_tries, self.drift = data, n_tries, drift
        self.rows = Rows.of_users(data)
        self.n = self.rows.n
        self.z = np.empty(len(data.levels), np.float32) if z is None else z
        self.rest = self.z if drift is None else np.empty_like(self.z)

    def level_counts(self, n_levels: int) -> NDArray[np.int64]:
        """Return how many ratings there are of each level."""
        return np.bincount(self.data.levels, minlength=n_levels + 1)[1:]

    def begin(self, random: np.random.Generator, thresholds: Array) -> State:
        """Return their part of the state at the start, with small random rows."""
        return self.start(random.normal(0, 0.1, (self.n, self.prior.n_columns)), thresholds)

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw log-gaps, then z."""
        data, rows = self.data, key.rows()
        own = {name: state[self.prefix + name] for name in ("U", "gaps", "thresholds", "reach", "accepted", "value")}
        drift, table = (
            _NONE if self.drift is None else self.drift.of_entries(state),
            table_of(state["V"], True, self.z.dtype),
        )

        def block(lo: int, hi: int) -> None:
            draw_ordinal_rows(
                lo, hi, rows, data.indptr, data.indices, data.levels,
                own["U"], table, drift, own["gaps"], state["gap_mean"], state["gap_precision"],
                own["reach"], self.n_tries, own["thresholds"], self.z, own["accepted"], own["value"],
            )  # fmt: skip

        self.rows.each(block)
        if self.drift is not None:
            np.subtract(self.z, drift, out=self.rest)

    def draw(self, state: State, key: Key) -> None:
        """Draw rows given z, the drift and the items."""
        precision, shifts = self.prior.precision(state), self.prior.shifts(state, self.n)
        self.rows.draw(key, self.rest, _ONE, state["V"], precision, shifts, True, state[self.prefix + "U"])

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

    # ---------------------------------------------------------------- what others are drawn from

    def draw_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of rows."""
        self.prior.draw(state, state[self.prefix + "U"], key)

    def gap_moments(self, state: State) -> Moments:
        """Return the moments of log-gaps."""
        [gaps] = self._of(state, "gaps")
        return Moments(len(gaps), *moments(gaps))

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array, then: Then) -> Answer:
        """Return `then` of the equations of the items first..last-1, given z and rows: see `draw_from_sums`."""
        rows, [U] = Rows.of_items(self.data), self._of(state, "U")
        return then({"equations": rows.equations(first, last, self.rest, _ONE, U, precision, shift, True)})


def log_gaps(thresholds: NDArray[Any]) -> Array:
    r"""Return the a with :math:`\theta_1 = a_1, \theta_r = \theta_{r-1} + e^{a_r}`, along the last axis.

    Examples
    --------
    >>> log_gaps(np.array([[-1.0, 0.0, 1.0]]))
    array([[-1.,  0.,  0.]])
    """
    theta = thresholds.astype(np.float64)
    return np.concatenate([theta[..., :1], np.log(np.maximum(np.diff(theta), _LEAST_GAP))], axis=-1)
