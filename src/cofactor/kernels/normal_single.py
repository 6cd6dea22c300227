"""The standard normal distribution in single precision, on whole arrays: draws of latent scores need no more.

Twice as many numbers fit into a register as in double precision, and polynomials are half as long: see `normal`, whose
ways these are. Their coefficients were fitted here, for the least greatest relative error.
"""

import math

import numpy as np

from cofactor.kernels.compile import exact, fused, inlined
from cofactor.kernels.normal import parts, quantile

#: Φ of less than minus this counts as that of it: it is the least that a normal number holds.
FARTHEST = np.float32(12.8)

_TOGETHER = 24  #: of which no more than eight are multiplied

LEAST = np.float32(1.2e-38)  #: the least probability: its logarithm is still that of a normal number


def _singles(*numbers: float) -> tuple[np.float32, ...]:
    return tuple(np.float32(x) for x in numbers)


_ZERO, _HALF, _ONE, _TWO, _FOUR = _singles(0.0, 0.5, 1.0, 2.0, 4.0)
_LOG2E, _LN2_HIGH, _LN2_LOW, _LN2 = _singles(1 / math.log(2), 0.693359375, -2.12194440e-4, math.log(2))
_ROOT_HALF, _CENTRE = _singles(math.sqrt(0.5), 3.0)

# (1 + 2t) erfcx(t) as a polynomial in s = (t - 3) / (t + 3), t from 0 to 9.2: relative error 5e-8.
_TAIL = _singles(
    0.0025859454181045294, 0.0023554866202175617, -0.024167582392692566, 0.06826791167259216, -0.11920204013586044,
    0.1296558529138565, -0.04756675660610199, -0.13562153279781342, 1.2530081272125244,
)  # fmt: skip
# exp(r), |r| < ln 2 / 2: 2e-9.
_EXP = _singles(
    0.0013836834114044905, 0.008374822326004505, 0.04166822507977486, 0.16666419804096222, 0.49999991059303284, 1.0, 1.0
)
# log(1 + f) / f, f from -.293 to .414: 3e-8.
_LOG = _singles(
    0.08719993382692337, -0.14366187155246735, 0.14952753484249115, -0.16562499105930328, 0.1995680034160614,
    -0.25002068281173706, 0.3333418667316437, -0.49999988079071045, 1.0,
)  # fmt: skip
# (artanh(t) / t - 1) / t² as a polynomial in t², t up to 1/3: its Taylor series.
_ODD = _singles(1 / 15, 1 / 13, 1 / 11, 1 / 9, 1 / 7, 1 / 5, 1 / 3)
_LINEAR, _FLAT = _singles(16.0, -80.0)
# Φ⁻¹(p) / (2p - 1) as a polynomial in w - 2.5 and √w - 3.3, w = -log(4p (1 - p)) up to 5 and from there to 20: 2e-7.
_NEAR = _singles(
    4.0354287023092184e-08, 4.861034881287196e-07, -4.990561137674376e-06, -6.217987902346067e-06,
    0.00030915020033717155, -0.0017730101244524121, -0.005908171180635691, 0.3488026559352875, 2.1233136653900146,
)  # fmt: skip
_FAR = _singles(
    -6.844002200523391e-05, -0.0002385546686127782, 0.0013103729579597712, -0.0022446420043706894,
    0.0029135188087821007, -0.0045752511359751225, 0.006861436180770397, 1.4223648309707642, 4.432373523712158,
)  # fmt: skip
_NEAR_CENTRE, _FAR_CENTRE, _TURN = _singles(2.5, 3.3, 5.0)
_BEYOND = np.float32(5.1e-10)  # exp(-20) / 4


@inlined
def _sixth(c, x):  # type: ignore[no-untyped-def]
    """Return a polynomial of degree 6, the highest power first."""
    s = fused(fused(fused(c[0], x, c[1]), x, c[2]), x, c[3])
    return fused(fused(fused(s, x, c[4]), x, c[5]), x, c[6])


@inlined
def _eighth(c, x):  # type: ignore[no-untyped-def]
    """Return a polynomial of degree 8."""
    s = fused(fused(fused(fused(c[0], x, c[1]), x, c[2]), x, c[3]), x, c[4])
    return fused(fused(fused(fused(s, x, c[5]), x, c[6]), x, c[7]), x, c[8])


@inlined
def exponential(y):  # type: ignore[no-untyped-def]
    """Return exp(y) for -87 ≤ y ≤ 88, relative error 1e-7."""
    k = np.floor(fused(y, _LOG2E, _HALF))
    r = fused(k, -_LN2_LOW, fused(k, -_LN2_HIGH, y))
    return _sixth(_EXP, r) * np.int32((np.int32(k) + 127) << 23).view(np.float32)


@inlined
def _parts(x):  # type: ignore[no-untyped-def]
    """Return m, from .707 to 1.414, and the whole number e with x = m 2ᵉ."""
    bits = np.float32(x).view(np.int32)
    e = np.int32((bits - 0x3F3504F3) >> 23)
    return np.int32(bits - (e << 23)).view(np.float32), e


@inlined
def logarithm(x):  # type: ignore[no-untyped-def]
    """Return log(x) for a normal number x > 0, absolute error 1e-7 near 1."""
    m, e = _parts(x)
    f = m - _ONE
    return fused(np.float32(e), _LN2, f * _eighth(_LOG, f))


@inlined
def log_of_one_and(x):  # type: ignore[no-untyped-def]
    """Return log(1 + x) for x from 0 to 1, relative error 1e-7: it is 2 artanh(x / (2 + x))."""
    t = x / (_TWO + x)
    s = t * t
    return _TWO * t * fused(_sixth(_ODD, s), s, _ONE)


@inlined
def below(x):  # type: ignore[no-untyped-def]
    """Return Φ(x) for -`FARTHEST` ≤ x ≤ 0, relative error 4e-7."""
    t = -x * _ROOT_HALF
    wide = fused(_TWO, t, _ONE)
    r = _ONE / ((t + _CENTRE) * wide)  # for two divisions
    s = (t - _CENTRE) * wide * r
    square = x * x
    e = exponential(-_HALF * square)
    e = fused(-_HALF * fused(x, x, -square), e, e)  # what the square is rounded by
    return _HALF * _eighth(_TAIL, s) * (t + _CENTRE) * r * e


@exact
def soft_logarithms(x, floor, shift, out):  # type: ignore[no-untyped-def]
    """Write log(log(1 + exp(x / floor))) + shift."""
    for k in range(len(x)):
        t = x[k] / floor
        soft = max(t, _ZERO) + log_of_one_and(exponential(max(-abs(t), _FLAT)))
        out[k] = shift + (logarithm(soft) if t >= -_LINEAR else t)  # far below, log(1 + eᵗ) is eᵗ; NaN is NaN


@exact
def sum_of_logarithms(x):  # type: ignore[no-untyped-def]
    """Return Σ log x of normal numbers, from the logarithm of their product.

    In double precision eight of them have a product that is a normal number. Four products are made at once.
    """
    product, exponents = 1.0, 0
    for first in range(0, len(x), _TOGETHER):
        last = min(first + _TOGETHER, len(x))
        p0, p1, p2, p3, k = 1.0, 1.0, 1.0, 1.0, first
        while k + 3 < last:
            p0 *= np.float64(x[k])
            p1 *= np.float64(x[k + 1])
            p2 *= np.float64(x[k + 2])
            p3 *= np.float64(x[k + 3])
            k += 4
        while k < last:
            p0 *= np.float64(x[k])
            k += 1
        m0, e0 = parts(p0)
        m1, e1 = parts(p1)
        m2, e2 = parts(p2)
        m3, e3 = parts(p3)
        product, e = parts(product * ((m0 * m1) * (m2 * m3)))
        exponents += e + e0 + e1 + e2 + e3
    return np.log(product) + exponents * math.log(2)


@exact
def quantiles(p, out):  # type: ignore[no-untyped-def]
    """Write x with Φ(x) = p for every p, relative error 5e-7; from 1 - 3e-8 on, that of 1 - 3e-8."""
    for k in range(len(p)):
        rest = max(_ONE - p[k], np.float32(3e-8))
        w = max(-logarithm(max(_FOUR * p[k] * rest, _BEYOND)), _ZERO)
        root = np.sqrt(w)
        x = _eighth(_NEAR, w - _NEAR_CENTRE) if w < _TURN else _eighth(_FAR, root - _FAR_CENTRE)
        out[k] = x * (p[k] - rest)
    beyond = 0
    for k in range(len(p)):
        beyond += p[k] < _BEYOND
    if beyond > 0:  # few
        for k in range(len(p)):
            if p[k] < _BEYOND:
                out[k] = quantile(np.float64(p[k]))
