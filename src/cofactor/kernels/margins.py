"""Margin losses on flat arrays: each overwrites margins z by losses h(z) and writes derivatives h'(z)."""

import numpy as np

from cofactor.kernels.compile import kernel


@kernel
def zero_one(z, slope):  # type: ignore[no-untyped-def]
    """h(z) = 1 for z < 0, else 0; the derivative is 0 wherever it exists."""
    for k in range(len(z)):
        slope[k] = 0
        z[k] = 1 if z[k] < 0 else 0


@kernel
def hinge(z, slope):  # type: ignore[no-untyped-def]
    """h(z) = max(0, 1 - z); at the kink the derivative is taken as 0."""
    for k in range(len(z)):
        gap = 1 - z[k]
        slope[k] = -1 if gap > 0 else 0
        z[k] = max(gap, 0)


@kernel
def smooth_hinge(z, slope):  # type: ignore[no-untyped-def]
    """With g = max(1 - z, 0) and t = min(g, 1): h(z) = t g - t²/2, h'(z) = -t. No branches, so it vectorizes."""
    zero = z.dtype.type(0)
    one = z.dtype.type(1)
    half = z.dtype.type(0.5)
    for k in range(len(z)):
        gap = max(one - z[k], zero)
        t = min(gap, one)
        slope[k] = -t
        z[k] = t * (gap - half * t)


@kernel
def modified_square(z, slope):  # type: ignore[no-untyped-def]
    """h(z) = max(0, 1 - z)²."""
    zero = z.dtype.type(0)
    for k in range(len(z)):
        gap = max(z.dtype.type(1) - z[k], zero)
        slope[k] = -2 * gap
        z[k] = gap * gap


@kernel
def logistic(z, slope):  # type: ignore[no-untyped-def]
    """h(z) = log(1 + exp(-z)), by exp(-abs(z)), which cannot overflow."""
    zero = z.dtype.type(0)
    one = z.dtype.type(1)
    for k in range(len(z)):
        e = np.exp(-abs(z[k]))
        slope[k] = -(e if z[k] >= 0 else one) / (one + e)
        z[k] = max(-z[k], zero) + np.log1p(e)
