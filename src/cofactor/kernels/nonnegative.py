"""Non-negative least squares for many right-hand sides which share one matrix."""

import numpy as np

from cofactor.kernels.compile import kernel


@kernel
def nonnegative_rows(lo, hi, gram, cross, tol, max_sweeps, out):  # type: ignore[no-untyped-def]
    """Improve rows lo..hi of `out` until they minimise ½ v·Gv - q·v over v >= 0, q the same row of `cross`.

    Cyclic coordinate descent which keeps the slope Gv - q current: a coordinate which stays at 0 costs one comparison.
    A row is done when no slope of a free coordinate, and no negative slope of a coordinate at 0, exceeds `tol` times
    the largest |q|. Coordinates without curvature stay 0. Returns how many rows were not done after `max_sweeps`.
    """
    J = gram.shape[0]
    slope = np.empty(J)
    unfinished = 0
    for i in range(lo, hi):
        v = out[i]
        size = 0.0
        for j in range(J):
            slope[j] = -cross[i, j]
            size = max(size, abs(cross[i, j]))
            if gram[j, j] <= 0:
                v[j] = 0
        for j in range(J):
            if v[j] != 0:
                row = gram[j]
                for k in range(J):
                    slope[k] += v[j] * row[k]
        done = False
        for _ in range(max_sweeps):
            worst = 0.0
            for j in range(J):
                s = slope[j]
                curvature = gram[j, j]
                if curvature <= 0 or (v[j] == 0 and s >= 0):
                    continue
                worst = max(worst, abs(s))
                following = max(v[j] - s / curvature, 0.0)
                move = following - v[j]
                if move != 0:
                    v[j] = following
                    row = gram[j]
                    for k in range(J):
                        slope[k] += move * row[k]
            if worst <= tol * size:
                done = True
                break
        if not done:
            unfinished += 1
    return unfinished
