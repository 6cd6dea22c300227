"""Derivatives of the logarithm of the gamma function, for kernels that need them in their loops."""

import math

from cofactor.kernels.compile import kernel

_FAR = 10.0  #: from here on the asymptotic series below are exact to working precision


@kernel
def digamma(x):  # type: ignore[no-untyped-def]
    """Return ψ(x) = d ln Γ(x) / dx for x > 0: recurrence ψ(x) = ψ(x + 1) - 1/x, then the asymptotic series."""
    total = 0.0
    while x < _FAR:
        total -= 1 / x
        x += 1
    s = 1 / (x * x)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - s * (691 / 32760 - s / 12))))))
    return total + math.log(x) - 0.5 / x - series


@kernel
def trigamma(x):  # type: ignore[no-untyped-def]
    """Return ψ'(x) for x > 0: recurrence ψ'(x) = ψ'(x + 1) + 1/x², then the asymptotic series."""
    total = 0.0
    while x < _FAR:
        total += 1 / (x * x)
        x += 1
    s = 1 / (x * x)
    series = s * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s * (1 / 30 - s * (5 / 66 - s * (691 / 2730 - s * 7 / 6))))))
    return total + (1 + 0.5 / x + series) / x
