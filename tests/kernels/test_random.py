"""Random numbers: uniform, independent along a stream and across streams, and the distributions made of them."""

import itertools

import numpy as np
from scipy import stats
from tests.together import together

from cofactor.kernels import random
from cofactor.kernels.compile import kernel
from cofactor.kernels.normal import quantile
from cofactor.kernels.random import normal, stream, uniform

N = 200_000


@kernel
def first_draws(key, out):  # type: ignore[no-untyped-def]
    """Write two draws of each of many streams."""
    for i in range(len(out)):
        state, out[i, 0] = uniform(stream(key, i))
        _, out[i, 1] = uniform(state)


def along_a_stream() -> np.ndarray:
    """Return pairs of neighbours in one stream."""
    u = np.empty(2 * N)
    random.uniforms(random.fold(5), u)
    return u.reshape(N, 2)


def single_along_a_stream() -> np.ndarray:
    """Return pairs of neighbours in one stream of single precision."""
    u = np.empty(2 * N, np.float32)
    random.single_uniforms(random.fold(5), u)
    return u.reshape(N, 2).astype(float)


def single_of_the_same_numbers() -> np.ndarray:
    """Return pairs that are made of the same number of 64 bits."""
    u = np.empty(2 * N, np.float32)
    random.single_uniforms(random.fold(5), u)
    return u.reshape(2, N).T.astype(float)


def across_streams() -> np.ndarray:
    """Return pairs of first draws of neighbouring rows."""
    u = np.empty((2 * N, 2))
    first_draws(random.fold(5), u)
    return u[:, 0].reshape(N, 2)


def within_streams() -> np.ndarray:
    """Return the first two draws of each row."""
    u = np.empty((N, 2))
    first_draws(random.fold(6), u)
    return u


def across_keys() -> np.ndarray:
    """Return the first draw of a row in this sweep and the next, over sweeps and rows."""
    u = np.empty((501, 400, 2))
    for sweep in range(501):
        first_draws(random.fold(0, 0, sweep, 2), u[sweep])
    return np.stack([u[:-1, :, 0].ravel(), u[1:, :, 0].ravel()], axis=1)


PAIRS = [
    along_a_stream, single_along_a_stream, single_of_the_same_numbers, across_streams, within_streams, across_keys,
]  # fmt: skip


@together("pairs", PAIRS)
def test_pairs_fill_the_unit_square_evenly(pairs):
    u = pairs()
    assert u.min() > 0
    assert u.max() < 1
    counts = np.histogram2d(u[:, 0], u[:, 1], bins=20, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(counts.ravel()).pvalue > 1e-3
    assert stats.kstest(u[:, 0], "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(u.T)[0, 1]) < 4 / np.sqrt(len(u))


def test_every_bit_of_a_key_changes_half_of_the_hash():
    for number in (0, 1, 2**40 + 12345):
        whole = int(random.mix(np.uint64(number)))
        flips = [int(random.mix(np.uint64(number ^ (1 << bit)))) ^ whole for bit in range(64)]
        counts = [flip.bit_count() for flip in flips]
        assert 29 < np.mean(counts) < 35
        assert 12 < min(counts) <= max(counts) < 52


def test_uniforms_are_repeated_draws():
    state = start = random.fold(1, 2, 3)
    out, one_by_one = np.empty(1000), []
    after = random.uniforms(start, out)
    for _ in range(1000):
        state, u = uniform(np.uint64(state))  # Numba hands it back as Python's int
        one_by_one.append(u)
    assert out.tolist() == one_by_one
    assert after == state
    assert random.uniforms(start, out[:0]) == start


@together("n", [0, 1, 2, 7])
def test_single_uniforms_take_two_from_each_number(n):
    start, out = random.fold(1, 2, 3), np.full(n + 1, 9, np.float32)
    after = random.single_uniforms(start, out[:n])
    assert out[n] == 9
    assert after == random.uniforms(start, np.empty((n + 1) // 2))
    assert len(set(out.tolist())) == n + 1


def test_normal_draws_are_quantiles_of_uniform_ones():
    state = random.fold(9)
    after, g = normal(state)
    same, u = uniform(state)
    assert after == same
    assert g == quantile(u)


def test_streams_depend_on_all_parts_of_their_key_and_their_order():
    rest = [parts for n in (0, 1, 2) for parts in itertools.product((-1, 0, 1, 2**32), repeat=n)]
    keys = [int(random.fold(seed, *parts)) for seed in (0, 1, 2**63 - 1) for parts in rest]
    assert len(set(keys)) == len(keys) == 3 * (1 + 4 + 16)
    assert random.fold(4, 2) == random.fold(4, 2)
    assert random.stream(random.fold(4), np.uint64(2)) == random.fold(4, 2)
    assert random.generator(1, 2).random(3).tolist() == random.generator(1, 2).random(3).tolist()
    assert random.generator(1, 2).random() != random.generator(2, 1).random()
