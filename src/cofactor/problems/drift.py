"""How the ratings of a user drift with time: sums of Ornstein–Uhlenbeck processes, one part of a posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.drift import draw_drift_rows, fades, filter_rows
from cofactor.problems.rows import Array, Rows
from cofactor.samplers import Key, State

_DAY = 86400.0


@dataclass(frozen=True)
class RatingMoments:
    """The seconds in which users rated: ratings of one user within one second share a *moment*.

    Attributes
    ----------
    indptr : ndarray of shape (n_users + 1,), int64
        The moments of user i are ``indptr[i]:indptr[i + 1]``.
    seconds : ndarray of shape (n_moments,), float64
        When they were, in whole seconds, increasing within a user.
    of_entry : ndarray of shape (n_entries,), int64
        The moment of each rating.
    """

    indptr: NDArray[np.int64]
    seconds: NDArray[np.float64]
    of_entry: NDArray[np.int64]

    @classmethod
    def of(cls, indptr: NDArray[np.int64], times: NDArray[np.float64]) -> RatingMoments:
        """Return the moments of ratings by user, given the time of each in seconds.

        Examples
        --------
        >>> moments = RatingMoments.of(np.array([0, 3, 3, 4]), np.array([60.0, 7.2, 60.5, 8.0]))
        >>> moments.indptr.tolist(), moments.seconds.tolist(), moments.of_entry.tolist()
        ([0, 2, 2, 3], [7.0, 60.0, 8.0], [1, 0, 1, 2])
        """
        rows, seconds = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), np.floor(times)
        order = np.lexsort((seconds, rows))
        rows, seconds = rows[order], seconds[order]
        first = np.append(True, (np.diff(rows) > 0) | (np.diff(seconds) > 0))[: len(rows)]
        of_entry = np.empty(len(rows), dtype=np.int64)
        of_entry[order] = np.cumsum(first) - 1
        counts = np.bincount(rows[first], minlength=len(indptr) - 1)
        return cls(np.append(0, np.cumsum(counts)), seconds[first], of_entry)

    @property
    def counts(self) -> Array:
        """Number of ratings of each moment."""
        return np.bincount(self.of_entry, minlength=len(self.seconds)).astype(np.float64)

    @property
    def gaps(self) -> Array:
        """Seconds since the moment before, infinite at a user's first one."""
        gaps = np.diff(self.seconds, prepend=-np.inf)
        gaps[self.indptr[:-1][np.diff(self.indptr) > 0]] = np.inf
        return gaps


@dataclass(frozen=True)
class DriftPrior:
    """Prior of the processes' deviations and times, and of what multiplies the variances of each user.

    Attributes
    ----------
    scale : float
        Deviations are half-normal with this parameter.
    times : tuple of float
        Medians of the times, in seconds.
    time_spread : float
        Standard deviation of the logarithms of the times.
    shape, rate : float
        Of the inverse gamma distribution of the variance of the logarithms of users' multipliers.
    """

    scale: float = 0.5
    times: tuple[float, float, float] = (20.0, 7200.0, 60 * _DAY)
    time_spread: float = 1.5
    shape: float = 2.0
    rate: float = 2.0

    def log_density(self, scales: Array, times: Array) -> float:
        """Return the log-density of the logarithms of deviations and times, up to a constant."""
        distance = (np.log(times) - np.log(self.times)) / self.time_spread
        return float((np.log(scales) - 0.5 * (scales / self.scale) ** 2 - 0.5 * distance**2).sum())


class Drift:
    r"""A part of latent scores that moves with time, for every user a sum of Ornstein–Uhlenbeck processes.

    .. math::

        s_i(t) = \sum_{k=1}^{3} s_{ik}(t), \quad
        \mathrm{Cov}(s_{ik}(t), s_{ik}(t')) = g_i \sigma_k^2 e^{-|t - t'| / \ell_k}

    .. math::

        \sigma_k \sim N^+(0, .5^2), \quad \log \ell_k \sim N(\log \lambda_k, 1.5^2), \quad
        \log g_i \sim N(0, \omega^2), \quad \omega^2 \sim \mathrm{InvGamma}(2, 2)

    with :math:`\lambda` 20 seconds, two hours and 60 days, and t the moments of a user's ratings. What a rating says
    about s is the residual of its latent score, with noise of variance one; so ratings of one moment say the mean of
    theirs. A draw, all of it given these means,

    1. moves each :math:`\log \sigma_k` and :math:`\log \ell_k` by a Metropolis step with s integrated out: the
       likelihood is that of Kalman's filter, and a step takes time linear in the number of moments,
    2. moves :math:`\log g_i` of each user likewise, then draws their s, backwards from what was filtered,
    3. draws :math:`\omega^2`.

    Parameters
    ----------
    moments : RatingMoments
    prior : DriftPrior, optional
    n_tries : int, default=2
        Metropolis steps for each user's multiplier in a draw.

    Attributes
    ----------
    means : ndarray of shape (n_moments,)
        Mean residual of each moment, to be written before a draw.

    References
    ----------
    C. Carter and R. Kohn, "On Gibbs sampling for state space models", Biometrika 81 (3), 1994,
    doi:10.1093/biomet/81.3.541.
    S. Frühwirth-Schnatter, "Data augmentation and dynamic linear models", Journal of Time Series Analysis 15 (2), 1994,
    doi:10.1111/j.1467-9892.1994.tb00184.x.
    """

    kept = ("drift", "drift_multiplier", "drift_scale", "drift_time", "drift_spread")

    def __init__(self, moments: RatingMoments, prior: DriftPrior | None = None, n_tries: int = 2) -> None:
        self.moments, self.prior, self.n_tries = moments, prior or DriftPrior(), n_tries
        self.rows = Rows(moments.indptr, np.zeros(0, dtype=np.int32))  # in blocks of moments; they have no columns
        self.counts, self.gaps = moments.counts, moments.gaps
        self.means = np.empty(len(self.gaps))

    def start(self) -> State:
        """Return its part of the state: no drift yet, times as the prior expects them."""
        n, K = self.rows.n, len(self.prior.times)
        return {
            "drift": np.zeros((len(self.gaps), K)),
            "drift_multiplier": np.ones(n),
            "drift_scale": np.full(K, 0.3),
            "drift_time": np.array(self.prior.times),
            "drift_spread": np.ones(1),
            "drift_reach": np.full((2, K), 0.2),
            "drift_accepted": np.zeros((2, K)),
            "drift_multiplier_reach": np.ones(n),
            "drift_multiplier_accepted": np.zeros(n),
        }

    def tune(self, state: State, sweep: int) -> None:
        """Change the reach of the proposals so that about 40 % of them are accepted."""
        for name in ("drift", "drift_multiplier"):
            state[f"{name}_reach"] *= np.exp((state[f"{name}_accepted"] - 0.4) / np.sqrt(sweep))

    def of_entries(self, state: State) -> Array:
        """Return the drift of each rating."""
        return np.asarray(state["drift"].sum(axis=1)[self.moments.of_entry])

    def draw(self, state: State, key: Key) -> None:
        """Draw all of it, given the mean residuals of the moments (`means`)."""
        random = key.generator()
        fade, value = self._draw_prior(state, random)
        rows, squares, spread = key.rows(), state["drift_scale"] ** 2, state["drift_spread"]

        def block(lo: int, hi: int) -> None:
            draw_drift_rows(
                lo, hi, rows, self.rows.indptr, fade, self.counts, self.means, squares, spread[0],
                state["drift_multiplier_reach"], self.n_tries, state["drift_multiplier"], value,
                state["drift_multiplier_accepted"], state["drift"],
            )  # fmt: skip

        self.rows.each(block)
        squared = np.log(state["drift_multiplier"]) ** 2
        prior = self.prior
        spread[0] = (prior.rate + 0.5 * np.add.reduce(squared)) / random.gamma(prior.shape + 0.5 * len(squared))

    def _draw_prior(self, state: State, random: np.random.Generator) -> tuple[Array, Array]:
        """Draw deviations and times; return the fades that belong to them, and the log-likelihood of each user."""
        now = np.log([state["drift_scale"], state["drift_time"]])
        fade, value = self._fades(np.exp(now[1])), np.empty(self.rows.n)
        density = self._log_density(now, state, fade, value)
        for place in np.ndindex(now.shape):
            trial, value1 = now.copy(), np.empty_like(value)
            trial[place] += state["drift_reach"][place] * random.normal()
            fade1 = fade if place[0] == 0 else self._fades(np.exp(trial[1]))
            density1 = self._log_density(trial, state, fade1, value1)
            accepted = np.log(random.random()) < density1 - density
            state["drift_accepted"][place] = accepted
            if accepted:
                now, fade, value, density = trial, fade1, value1, density1
        state["drift_scale"][:], state["drift_time"][:] = np.exp(now)
        return fade, value

    def _fades(self, times: Array) -> Array:
        fade = np.empty((len(self.gaps), len(times)))
        indptr = self.rows.indptr
        self.rows.each(lambda lo, hi: fades(indptr[lo], indptr[hi], self.gaps, times, fade))
        return fade

    def _log_density(self, logarithms: Array, state: State, fade: Array, value: Array) -> float:
        """Return the log-density of deviations and times given by their logarithms; write the users' likelihoods."""
        scales, times = np.exp(logarithms)
        indptr, squares = self.rows.indptr, scales**2

        def block(lo: int, hi: int) -> None:
            filter_rows(lo, hi, indptr, fade, self.counts, self.means, squares, state["drift_multiplier"], value)

        self.rows.each(block)
        return float(np.add.reduce(value)) + self.prior.log_density(scales, times)
