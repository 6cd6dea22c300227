"""Margin losses on flat arrays, and the way from scores and levels to margins and back.

A loss overwrites margins z by h(z) and writes derivatives h'(z).

An entry of level y with score x has one margin for each threshold r = 1..R-1: θ_r - x where r >= y (the score should
lie below), x - θ_r where r < y (above). `expand` writes these margins, a loss turns them into
losses and slopes, `reduce` sums those up into row losses, derivatives by score and derivatives by threshold.
Margins of entry k stand at positions (k - first) * (R - 1) + r - 1.
"""

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


@kernel
def expand_all(lo, hi, indptr, levels, scores, thresholds, z):  # type: ignore[no-untyped-def]
    """Write the margins of the all-threshold construction, equation (2.8) of Kumar's thesis."""
    n_thresholds = thresholds.shape[1]
    p = 0
    for i in range(lo, hi):
        for k in range(indptr[i], indptr[i + 1]):
            for r in range(n_thresholds):
                gap = thresholds[i, r] - scores[k]
                z[p] = gap if r + 1 >= levels[k] else -gap
                p += 1


@kernel
def reduce_all(lo, hi, indptr, levels, z, slope, d_scores, d_thresholds, losses):  # type: ignore[no-untyped-def]
    """Sum losses and slopes of the all-threshold construction."""
    n_thresholds = d_thresholds.shape[1]
    p = 0
    for i in range(lo, hi):
        total = 0.0
        for r in range(n_thresholds):
            d_thresholds[i, r] = 0
        for k in range(indptr[i], indptr[i + 1]):
            d = slope.dtype.type(0)
            for r in range(n_thresholds):
                d_thresholds[i, r] += slope[p + r] if r + 1 >= levels[k] else -slope[p + r]
            for r in range(n_thresholds):  # apart from what is stored: see `compile.FASTMATH`
                d -= slope[p + r] if r + 1 >= levels[k] else -slope[p + r]
                total += z[p + r]
            p += n_thresholds
            d_scores[k] = d
        losses[i] = total


@kernel
def expand_immediate(lo, hi, indptr, levels, scores, thresholds, z):  # type: ignore[no-untyped-def]
    """Write two margins for each entry, x - θ_{y-1} and θ_y - x; a huge one where the threshold is infinite.

    Equation (2.7) of Kumar's thesis.
    """
    n_thresholds = thresholds.shape[1]
    huge = z.dtype.type(1e20)
    p = 0
    for i in range(lo, hi):
        for k in range(indptr[i], indptr[i + 1]):
            y = int(levels[k])
            z[p] = scores[k] - thresholds[i, y - 2] if y >= 2 else huge
            z[p + 1] = thresholds[i, y - 1] - scores[k] if y <= n_thresholds else huge
            p += 2


@kernel
def reduce_immediate(lo, hi, indptr, levels, z, slope, d_scores, d_thresholds, losses):  # type: ignore[no-untyped-def]
    """Sum losses and slopes of the immediate-threshold construction."""
    n_thresholds = d_thresholds.shape[1]
    p = 0
    for i in range(lo, hi):
        total = 0.0
        for r in range(n_thresholds):
            d_thresholds[i, r] = 0
        for k in range(indptr[i], indptr[i + 1]):
            y = int(levels[k])
            d = slope.dtype.type(0)
            if y >= 2:
                d += slope[p]
                d_thresholds[i, y - 2] -= slope[p]
                total += z[p]
            if y <= n_thresholds:
                d -= slope[p + 1]
                d_thresholds[i, y - 1] += slope[p + 1]
                total += z[p + 1]
            d_scores[k] = d
            p += 2
        losses[i] = total


@kernel
def level_means(lo, hi, indptr, levels, weights, scores, means, counts):  # type: ignore[no-untyped-def]
    """Write θ*_{i,r} = mean of the scores of user i's entries of level r, and their number; NaN where there is none.

    With weights the mean is a weighted one, and the number their sum; `weights` may be a single number for all.
    """
    n_levels = means.shape[1]
    for i in range(lo, hi):
        for r in range(n_levels):
            means[i, r] = 0
            counts[i, r] = 0
        for k in range(indptr[i], indptr[i + 1]):
            r = int(levels[k]) - 1
            w = weights[k] if len(weights) > 1 else weights[0]
            means[i, r] += w * scores[k]
            counts[i, r] += w
        for r in range(n_levels):
            means[i, r] = means[i, r] / counts[i, r] if counts[i, r] > 0 else means.dtype.type(float("nan"))


@kernel
def expand_proximal(lo, hi, indptr, levels, scores, means, counts, z):  # type: ignore[no-untyped-def]
    """Write T (x - θ*_r) for every level r: T = +1 below the entry's level, -1 above.

    Equation (4.3) of Kumar's thesis.

    Levels without a mean get a margin so large that every margin loss is zero there (corrections.md, C17);
    the entry's own level gets one too, since its loss is the square.
    """
    n_levels = means.shape[1]
    huge = z.dtype.type(1e20)
    p = 0
    for i in range(lo, hi):
        for k in range(indptr[i], indptr[i + 1]):
            y = int(levels[k])
            for r in range(1, n_levels + 1):
                if r == y or counts[i, r - 1] == 0:
                    z[p] = huge
                else:
                    gap = scores[k] - means[i, r - 1]
                    z[p] = gap if r < y else -gap
                p += 1


@kernel
def reduce_proximal(lo, hi, indptr, levels, weights, scores, means, counts, z, slope, d_scores, d_means, losses):  # type: ignore[no-untyped-def]
    """Sum the loss and its derivative by the score, the path through θ* included.

    Equations (4.2), (4.4) and (4.5) of Kumar's thesis.

    d_means collects ∂J/∂θ*_r. The squares add nothing to it, since the θ* are their means; so an entry of level r
    gets 2 (x - θ*_r) + Σ T h' directly, and ∂J/∂θ*_r / n_r through the mean. `z` and `slope` come with the entries'
    weights; the squares, and the share of an entry in its mean, get theirs here.
    """
    n_levels = means.shape[1]
    p = 0
    for i in range(lo, hi):
        total = 0.0
        for r in range(n_levels):
            d_means[i, r] = 0
        for k in range(indptr[i], indptr[i + 1]):
            y = int(levels[k])
            w = weights[k] if len(weights) > 1 else weights[0]
            gap = scores[k] - means[i, y - 1]
            total += w * gap * gap
            d = 2 * w * gap
            for r in range(1, n_levels + 1):
                if r != y:
                    d_means[i, r - 1] -= slope[p + r - 1] if r < y else -slope[p + r - 1]
            for r in range(1, n_levels + 1):  # apart from what is stored: see `compile.FASTMATH`
                if r != y:
                    d += slope[p + r - 1] if r < y else -slope[p + r - 1]
                    total += z[p + r - 1]
            p += n_levels
            d_scores[k] = d
        for r in range(n_levels):
            if counts[i, r] > 0:
                d_means[i, r] /= counts[i, r]
        for k in range(indptr[i], indptr[i + 1]):
            w = weights[k] if len(weights) > 1 else weights[0]
            d_scores[k] += w * d_means[i, int(levels[k]) - 1]
        losses[i] = total
