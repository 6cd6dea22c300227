"""Convex problems of one row under hinges at every threshold: linear score, binary features, thresholds.

A rating of level y and score x costs φ(x) = C Σ_r max(0, ℓ - T_r (θ_r - x)), with T_r = +1 where y <= r and -1 below:
convex, piecewise linear, with one kink per threshold. Rows are solved by coordinate ascent on their duals, one rating
at a time. A row's result is written only where it lowers the row's objective, so no call ever raises it.
"""

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import kernel

_PASSES_PER_CHECK = 4  #: the duality gap costs about as much as a pass


@kernel
def all_hinges(x, theta, y, width):  # type: ignore[no-untyped-def]
    """Return Σ_r max(0, ℓ - T_r (θ_r - x))."""
    total = 0.0
    for r in range(len(theta)):
        gap = theta[r] - x if y <= r + 1 else x - theta[r]
        total += max(0.0, width - gap)
    return total


@kernel
def sorted_kinks(theta, y, width, out):  # type: ignore[no-untyped-def]
    """Write the scores where a hinge of a rating of level y begins or ends, increasing."""
    for r in range(len(theta)):
        kink = theta[r] - width if y <= r + 1 else theta[r] + width
        k = r
        while k > 0 and out[k - 1] > kink:
            out[k] = out[k - 1]
            k -= 1
        out[k] = kink


@kernel
def descend_kinks(centre, variance, slope, step, kinks):  # type: ignore[no-untyped-def]
    """Return the x that minimises (x - centre)² / (2 variance) + f(x).

    f is piecewise linear and convex: its slope is `slope` below all kinks, and `step` more after each of them.
    """
    for k in range(len(kinks)):
        x = centre - variance * (slope + step * k)
        if x <= kinks[k]:
            return max(x, kinks[k - 1]) if k > 0 else x
    x = centre - variance * (slope + step * len(kinks))
    return max(x, kinks[-1]) if len(kinks) > 0 else x


@kernel
def shuffle(order, state):  # type: ignore[no-untyped-def]
    """Permute `order` in place; return the state of the generator, which is a small congruential one."""
    for k in range(len(order) - 1, 0, -1):
        state = (1103515245 * state + 12345) & 0x7FFFFFFF
        other = (state >> 7) % (k + 1)
        order[k], order[other] = order[other], order[k]
    return state


@kernel
def _copy(values, out):  # type: ignore[no-untyped-def]
    for f in range(len(out)):
        out[f] = values[f]


@kernel
def _dot(a, b):  # type: ignore[no-untyped-def]
    s = 0.0
    for f in range(len(a)):
        s += a[f] * b[f]
    return s


@kernel
def _conjugate(slope, theta, y, width, cost, kinks):  # type: ignore[no-untyped-def]
    """Return φ*(slope) = max_x slope x - φ(x), for a slope that φ takes."""
    k = int(np.ceil(slope / cost + (y - 1))) - 1
    x = kinks[min(max(k, 0), len(kinks) - 1)]
    return slope * x - cost * all_hinges(x, theta, y, width)


@kernel
def linear_rows(  # type: ignore[no-untyped-def]
    lo, hi, indptr, indices, levels, features, offsets, thetas, width, cost, tol, max_passes, duals, out, gaps
):
    """Lower ½ |w|² + Σ_k φ_k(o_i + F_i·w) for the rows lo..hi of `out`, i being the k-th index of a row.

    Minus the dual of a rating is the slope of φ at its score; w = Σ_k dual_k F_i. Ends where the gap is at most `tol`
    of the objective, or after `max_passes`. `gaps` gets how far each row may still be above its minimum.
    """
    d = features.shape[1]
    w = empty(d)
    for j in range(lo, hi):
        start = indptr[j]
        n = indptr[j + 1] - start
        if n == 0:
            out[j] = 0
            continue
        F = empty((n, d))
        x = empty(n)
        squares = empty(n)
        kinks = empty((n, thetas.shape[1]))
        before = 0.5 * _dot(out[j], out[j])
        w[:] = 0
        for k in range(n):
            i = indices[start + k]
            y = levels[start + k]
            _copy(features[i], F[k])
            squares[k] = _dot(F[k], F[k])
            sorted_kinks(thetas[i], y, width, kinks[k])
            before += cost * all_hinges(offsets[i] + _dot(F[k], out[j]), thetas[i], y, width)
            for f in range(d):
                w[f] += duals[start + k] * F[k, f]
        order = np.arange(n)
        state = 1
        done = 0
        while True:
            after = 0.5 * _dot(w, w)
            gap = 0.0
            for k in range(n):
                i = indices[start + k]
                y = levels[start + k]
                a = duals[start + k]
                x[k] = offsets[i] + _dot(F[k], w)
                loss = cost * all_hinges(x[k], thetas[i], y, width)
                after += loss
                gap += loss + _conjugate(-a, thetas[i], y, width, cost, kinks[k]) + a * x[k]
            if gap <= tol * after or done >= max_passes:
                break
            for _ in range(_PASSES_PER_CHECK):
                state = shuffle(order, state)
                for k in order:
                    if squares[k] <= 1e-300:
                        continue
                    i = indices[start + k]
                    a = duals[start + k]
                    centre = offsets[i] + _dot(F[k], w) - squares[k] * a
                    least = -cost * (levels[start + k] - 1)
                    best = descend_kinks(centre, squares[k], least, cost, kinks[k])
                    following = (best - centre) / squares[k]
                    following = min(max(following, -least - cost * kinks.shape[1]), -least)
                    if following != a:
                        duals[start + k] = following
                        for f in range(d):
                            w[f] += (following - a) * F[k, f]
            done += _PASSES_PER_CHECK
        gaps[j] = max(0.0, min(before, after) - (after - gap))
        if after < before:
            _copy(w, out[j])


@kernel
def _sort(numbers):  # type: ignore[no-untyped-def]
    """Sort numbers in place, by Shell's method."""
    gap = len(numbers)
    while gap > 1:
        gap = max(1, (5 * gap - 1) // 11)
        for a in range(gap, len(numbers)):
            number, b = numbers[a], a
            while b >= gap and numbers[b - gap] > number:
                numbers[b] = numbers[b - gap]
                b -= gap
            numbers[b] = number


@kernel
def best_thresholds(scores, levels, centres, variance, width, cost, out):  # type: ignore[no-untyped-def]
    """Write the thresholds that minimise Σ_r (θ_r - centre_r)² / (2 variance) + Σ_k φ_k(x_k)."""
    n = len(scores)
    kinks = empty(n)
    for r in range(len(out)):
        above = 0
        for k in range(n):
            if levels[k] <= r + 1:
                kinks[k] = scores[k] + width
                above += 1
            else:
                kinks[k] = scores[k] - width
        _sort(kinks)
        out[r] = descend_kinks(centres[r], variance, -cost * above, cost, kinks)


@kernel
def _divergence(psi, prior, theta, centre, variance):  # type: ignore[no-untyped-def]
    """Return KL(ψ | prior) + |θ - centre|² / (2 variance); the prior is given by its logits."""
    total = 0.0
    for f in range(len(psi)):
        p = psi[f]
        a = prior[f]
        total += max(a, 0.0) + np.log1p(np.exp(-abs(a))) - p * a
        if 0 < p < 1:
            total += p * np.log(p) + (1 - p) * np.log1p(-p)
    for r in range(len(theta)):
        total += (theta[r] - centre[r]) ** 2 / (2 * variance)
    return total


@kernel
def _user_objective(x, levels, psi, prior, theta, centre, variance, width, cost):  # type: ignore[no-untyped-def]
    """Return what the row of a user adds to the objective at scores x."""
    total = _divergence(psi, prior, theta, centre, variance)
    for k in range(len(x)):
        total += cost * all_hinges(x[k], theta, levels[k], width)
    return total


@kernel
def _set_probabilities(logits, out):  # type: ignore[no-untyped-def]
    for f in range(len(logits)):
        out[f] = 1 / (1 + np.exp(-logits[f]))


@kernel
def _try_step(x, y, curvature, variance, width, cost, theta, beta):  # type: ignore[no-untyped-def]
    """Improve the duals of a rating in turn, for a score of constant curvature; return its shift and the largest."""
    shift = 0.0
    largest = 0.0
    for r in range(len(theta)):
        sign = 1.0 if y <= r + 1 else -1.0
        g = width - sign * (theta[r] - (x + curvature * shift))
        b = min(max(beta[r] + g / (curvature + variance), 0.0), cost)
        theta[r] += variance * sign * (b - beta[r])
        shift -= sign * (b - beta[r])
        beta[r] = b
        largest = max(largest, abs(shift))
    return shift, largest


@kernel
def _can_move(x, y, theta, beta, width, cost):  # type: ignore[no-untyped-def]
    """Return whether a dual of a rating is not where it must be given everything else."""
    for r in range(len(theta)):
        g = width - (theta[r] - x if y <= r + 1 else x - theta[r])
        if (g > 0 and beta[r] < cost) or (g < 0 and beta[r] > 0):
            return True
    return False


@kernel
def _ascend(F, offsets, levels, squares, longest, logits, psi, theta, beta, order, variance, width, cost):  # type: ignore[no-untyped-def]
    """One pass of dual ascent over a user's ratings; changes logits, psi, theta, beta.

    Where the logits move by t F_k, the curvature of Σ ln(1 + e^s) grows by no more than e^{M t}, M being the largest
    entry of F_k, and never beyond |F_k|² / 4. So a step is tried with the curvature at hand, and made with the largest
    that it could have met: then the dual rises.
    """
    old_theta = empty(len(theta))
    old_beta = empty(len(theta))
    for k in order:
        f_k = F[k]
        y = levels[k]
        x = offsets[k] + _dot(f_k, psi)
        if not _can_move(x, y, theta, beta[k], width, cost):
            continue
        h = 0.0
        for f in range(len(psi)):
            h += psi[f] * (1 - psi[f]) * f_k[f] * f_k[f]
        _copy(theta, old_theta)
        _copy(beta[k], old_beta)
        _, reach = _try_step(x, y, h, variance, width, cost, theta, beta[k])
        h = min(0.25 * squares[k], h * np.exp(min(50.0, longest[k] * reach)))
        _copy(old_theta, theta)
        _copy(old_beta, beta[k])
        t, largest = _try_step(x, y, h, variance, width, cost, theta, beta[k])
        if largest > reach:
            _copy(old_theta, theta)
            _copy(old_beta, beta[k])
            t, _ = _try_step(x, y, 0.25 * squares[k], variance, width, cost, theta, beta[k])
        if t != 0:
            for f in range(len(psi)):
                logits[f] += t * f_k[f]
            _set_probabilities(logits, psi)


@kernel
def binary_rows(  # type: ignore[no-untyped-def]
    lo, hi, indptr, indices, levels, V, c, prior, centres, variance, width, cost, tol, max_passes, duals, psis, thetas,
    gaps,
):  # fmt: skip
    """Lower the objective of the users lo..hi over their ψ and θ together: see `_user_objective`.

    By ascent on the duals in [0, C], one for each rating and threshold; θ is then set to its minimiser given ψ.
    """
    d = V.shape[1]
    R = thetas.shape[1] + 1
    psi = empty(d)
    logits = empty(d)
    theta = empty(R - 1)
    best = empty(R - 1)
    for i in range(lo, hi):
        start = indptr[i]
        n = indptr[i + 1] - start
        centre = centres[i]
        y = levels[start : start + n]
        beta = duals[start : start + n]
        F = empty((n, d))
        x = empty(n)
        offsets = empty(n)
        squares = empty(n)
        longest = zeros(n)
        _copy(prior, logits)
        _copy(centre, theta)
        for k in range(n):
            j = indices[start + k]
            _copy(V[j], F[k])
            offsets[k] = c[j]
            squares[k] = _dot(F[k], F[k])
            x[k] = c[j] + _dot(F[k], psis[i])
            t = 0.0
            for r in range(R - 1):
                sign = 1.0 if y[k] <= r + 1 else -1.0
                theta[r] += variance * sign * beta[k, r]
            for r in range(R - 1):  # apart from what is stored: see `compile.FASTMATH`
                t -= beta[k, r] if y[k] <= r + 1 else -beta[k, r]
            for f in range(d):
                logits[f] += t * F[k, f]
                longest[k] = max(longest[k], abs(F[k, f]))
        before = _user_objective(x, y, psis[i], prior, thetas[i], centre, variance, width, cost)
        _set_probabilities(logits, psi)
        order = np.arange(n)
        state = 1  # the same for every row, whose bits do not depend on its place
        done = 0
        while True:
            gap = 0.0
            for k in range(n):
                x[k] = offsets[k] + _dot(F[k], psi)
                for r in range(R - 1):
                    g = width - (theta[r] - x[k] if y[k] <= r + 1 else x[k] - theta[r])
                    gap += cost * max(g, 0.0) - beta[k, r] * g
            dual = _user_objective(x, y, psi, prior, theta, centre, variance, width, cost) - gap
            best_thresholds(x, y, centre, variance, width, cost, best)
            after = _user_objective(x, y, psi, prior, best, centre, variance, width, cost)
            if after - dual <= tol * after or done >= max_passes:
                break
            for _ in range(_PASSES_PER_CHECK):
                state = shuffle(order, state)
                _ascend(F, offsets, y, squares, longest, logits, psi, theta, beta, order, variance, width, cost)
            done += _PASSES_PER_CHECK
        gaps[i] = max(0.0, min(before, after) - dual)
        if after < before:
            _copy(psi, psis[i])
            _copy(best, thetas[i])


@kernel
def row_losses(  # type: ignore[no-untyped-def]
    lo, hi, indptr, indices, levels, V, c, prior, centres, variance, width, psis, thetas, divergences, hinges
):
    """Write the divergence of each user's ψ and θ from the prior, and the sum of their hinges."""
    for i in range(lo, hi):
        divergences[i] = _divergence(psis[i], prior, thetas[i], centres[i], variance)
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            total += all_hinges(c[j] + _dot(V[j], psis[i]), thetas[i], levels[k], width)
        hinges[i] = total
