"""Random numbers that depend on nothing but their key, so that any number of threads draws the same ones.

A stream is a 64-bit state, begun by hashing a key such as (seed, chain, sweep, step, row) and moved on by the
generator SplitMix64 (Steele, Lea & Flood 2014). Each function takes a state and returns the next one with its draw.
"""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import exact, inlined, kernel
from cofactor.kernels.normal import quantile, quantiles

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_SHIFT = (np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11))
_UNIT = 2.0**-53
_SINGLE, _HALF = np.float32(2.0**-23), np.float32(0.5)
_HIGH, _LOW, _BITS = np.uint64(41), np.uint64(9), np.uint64(0xFFFFFFFF)


@inlined
def mix(x):  # type: ignore[no-untyped-def]
    """Return a hash of 64 bits: every bit of `x` changes about half of those returned."""
    x = (x ^ (x >> _SHIFT[0])) * _MIX1
    x = (x ^ (x >> _SHIFT[1])) * _MIX2
    return x ^ (x >> _SHIFT[2])


@kernel
def stream(key, number):  # type: ignore[no-untyped-def]
    """Return the stream of a row, or the key of a part: a hash of `key` and `number`."""
    return mix(key + _STEP * (np.uint64(number) + np.uint64(1)))


def advance(key: np.uint64, n: int) -> np.uint64:
    """Return the key whose stream of row i is that of row n + i of this one.

    Examples
    --------
    >>> key = fold(1, 2)
    >>> bool(stream(advance(key, 40), 2) == stream(key, 42))
    True
    """
    return np.uint64((int(key) + int(_STEP) * n) & 0xFFFFFFFFFFFFFFFF)


@kernel
def uniform(state):  # type: ignore[no-untyped-def]
    """Draw from the open interval (0, 1)."""
    state += _STEP
    return state, (np.float64(mix(state) >> _SHIFT[3]) + 0.5) * _UNIT


@kernel
def normal(state):  # type: ignore[no-untyped-def]
    """Draw from N(0, 1)."""
    state, u = uniform(state)
    return state, quantile(u)


@exact
def uniforms(state, out):  # type: ignore[no-untyped-def]
    """Fill an array as so many calls of `uniform` would, and return the next state."""
    for k in range(len(out)):
        out[k] = (np.float64(mix(state + _STEP * np.uint64(k + 1)) >> _SHIFT[3]) + 0.5) * _UNIT
    return state + _STEP * np.uint64(len(out))


@exact
def single_uniforms(state, out):  # type: ignore[no-untyped-def]
    """Fill an array of single precision with draws from (0, 1), two from each number of the stream; return the next.

    They are the odd multiples of 2⁻²⁴: none of them is rounded to 1.
    """
    half = (len(out) + 1) // 2
    for k in range(half):
        bits = mix(state + _STEP * np.uint64(k + 1)) >> _HIGH
        out[k] = (np.float32(np.int32(bits)) + _HALF) * _SINGLE
    for k in range(len(out) - half):
        bits = (mix(state + _STEP * np.uint64(k + 1)) & _BITS) >> _LOW
        out[half + k] = (np.float32(np.int32(bits)) + _HALF) * _SINGLE
    return state + _STEP * np.uint64(half)


@exact
def inverse_gaussians(state, mean, out, room):  # type: ignore[no-untyped-def]
    """Fill an array with draws of inverse Gaussian distributions of these means and shape 1; return the next state.

    By the transformation of Michael, Schucany & Haas (1976), the smaller root written without the difference of nearly
    equal numbers. `out` may be `mean` itself. A mean of more than 1e8 counts as 1e8. `room` is an array of that length
    to work in.
    """
    n = len(mean)
    second = empty(n)
    state = uniforms(state, second)
    quantiles(second, room)
    state = uniforms(state, second)
    for k in range(n):
        m = min(mean[k], 1e8)
        my = m * (room[k] * room[k])
        x = 2 * m / (2 + my + np.sqrt(4 * my + my * my))
        out[k] = x if second[k] * (m + x) <= m else m * m / x
    return state


def fold(*parts: int) -> np.uint64:
    """Return a key made of whole numbers, for kernels.

    Examples
    --------
    >>> len({int(key) for key in (fold(1, 2), fold(1, 2), fold(2, 1))})
    2
    """
    key = np.uint64(0)
    for part in parts:
        key = np.uint64(stream(key, np.uint64(part & 0xFFFFFFFFFFFFFFFF)))
    return key


def generator(*parts: int) -> np.random.Generator:
    """Return NumPy's counter-based generator for a key, for the few draws that belong to no row."""
    return np.random.Generator(np.random.Philox(key=int(fold(*parts))))
