"""Drift is drawn from its posterior: a joint-distribution test, and the same bits on any number of threads."""

from functools import cache

import numpy as np
import pytest

from cofactor.kernels.threads import thread_limit
from cofactor.problems.drift import Drift, DriftPrior, RatingMoments
from cofactor.samplers import Key, State

#: Light tails, so that statistics mix within seconds.
PRIOR = DriftPrior(0.5, (2.0, 60.0, 3000.0), 0.4, 6.0, 3.0)

#: Users with ratings that share moments, with a single one, and without any.
INDPTR = np.array([0, 6, 7, 7, 11])
TIMES = np.array([5.0, 1.0, 5.5, 90.0, 91.0, 4000.0, 3.0, 0.0, 0.9, 1.0, 100.0])


def prior_draw(drift: Drift, random: np.random.Generator) -> State:
    """Draw everything from the prior."""
    state, prior, moments = drift.start(), drift.prior, drift.moments
    state["drift_scale"] = np.abs(random.normal(0, prior.scale, 3))
    state["drift_time"] = np.array(prior.times) * np.exp(prior.time_spread * random.normal(size=3))
    state["drift_spread"][:] = prior.rate / random.gamma(prior.shape)
    state["drift_multiplier"] = np.exp(np.sqrt(state["drift_spread"]) * random.normal(size=drift.rows.n))
    for i, (lo, hi) in enumerate(zip(moments.indptr, moments.indptr[1:], strict=False)):
        distance = np.abs(moments.seconds[lo:hi, None] - moments.seconds[lo:hi])
        L = np.linalg.cholesky(np.exp(-distance / state["drift_time"][:, None, None]))
        own = np.sqrt(state["drift_multiplier"][i]) * state["drift_scale"]
        state["drift"][lo:hi] = own * np.einsum("kab,kb->ak", L, random.normal(size=(3, hi - lo)))
    return state


def statistics(state: State) -> np.ndarray:
    s = state["drift"]
    logs = [np.log(state[name]) for name in ("drift_scale", "drift_time", "drift_spread", "drift_multiplier")]
    return np.concatenate([*logs, np.tanh(s).mean(axis=0), np.tanh(s**2).mean(axis=0), np.tanh(s[1] * s[2])])


@cache
def from_the_prior() -> np.ndarray:
    """Return statistics of many draws from the prior."""
    random, drift = np.random.default_rng(2), Drift(RatingMoments.of(INDPTR, TIMES), PRIOR)
    return np.array([statistics(prior_draw(drift, random)) for _ in range(1500)])


def scores(draw_times: int, prior: DriftPrior = PRIOR) -> np.ndarray:
    """Return z-scores of statistics: many short chains which begin with the prior, against means under the prior."""
    random, moments = np.random.default_rng(3), RatingMoments.of(INDPTR, TIMES)
    true, drift = Drift(moments, PRIOR), Drift(moments, prior)
    expected, found = from_the_prior(), []
    for chain in range(160):
        state = prior_draw(true, random)
        total = 0.0
        for sweep in range(draw_times):
            drift.means[:] = state["drift"].sum(axis=1) + random.normal(size=len(drift.counts)) / np.sqrt(drift.counts)
            state["drift_reach"][:], state["drift_multiplier_reach"][:] = 0.8, 1.0
            drift.draw(state, Key(0, chain, sweep, 1))
            total += statistics(state)
        found.append(total / draw_times)
    found = np.array(found)
    error = np.sqrt(found.var(axis=0) / len(found) + expected.var(axis=0) / len(expected))
    return (found.mean(axis=0) - expected.mean(axis=0)) / error


def test_joint_distribution_stays_the_prior():
    assert np.abs(scores(20)).max() < 4


def test_joint_test_can_fail():
    assert np.abs(scores(8, DriftPrior(0.5, (2.0, 60.0, 3000.0), 0.4, 7.5, 3.0))).max() > 5


def test_same_bits_on_any_number_of_threads():
    random = np.random.default_rng(0)
    indptr = np.append(0, np.cumsum(random.integers(0, 200, 60)))
    moments = RatingMoments.of(indptr, random.integers(0, 10**5, indptr[-1]).astype(float))
    states = []
    for n_threads in (1, 2):
        drift = Drift(moments)
        drift.means[:] = np.sin(np.arange(len(drift.means)))
        state = drift.start()
        with thread_limit(n_threads):
            for sweep in range(4):
                drift.draw(state, Key(0, 0, sweep, 0))
                drift.tune(state, sweep + 1)
        states.append(state)
    for name in states[0]:
        np.testing.assert_array_equal(states[0][name], states[1][name])
    assert set(Drift.kept) <= states[0].keys()


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_moments_share_seconds(order):
    moments = RatingMoments.of(np.array([0, 5, 6]), np.append(np.array([3.2, 1.0, 3.9, 8.0, 1.0])[order], 3.0))
    assert moments.seconds.tolist() == [1, 3, 8, 3]
    assert moments.counts.tolist() == [2, 2, 1, 1]
    assert moments.gaps.tolist() == [np.inf, 2, 5, np.inf]
    assert moments.indptr.tolist() == [0, 3, 4]
    assert moments.of_entry[:5][order].tolist() == [1, 0, 1, 2, 0]
