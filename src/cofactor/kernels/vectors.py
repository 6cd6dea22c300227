"""Sums, products and combinations of long flat vectors, the same to the bit for any number of threads.

All vector arithmetic of the solvers is here, so that another array library can stand in for it.
Sums run in float64 over blocks of fixed length; the sums of the blocks are added in their order.
"""

from collections.abc import Callable

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import kernel
from cofactor.kernels.threads import parallel_for

BLOCK = 4096  #: elements in a block: a dozen float32 vectors of this length fit a second-level cache
RUN = 512  #: elements whose sum stays in the vectors' own precision
_TASK = 16  #: blocks in a unit of work for one thread


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Return the inner product of two vectors, in float64."""
    n_blocks = -(-len(a) // BLOCK)
    partial = np.empty(n_blocks)
    per_task = 4 * _TASK  # waking a thread takes longer than a million products
    parallel_for(
        lambda t: _dot(t * per_task, min((t + 1) * per_task, n_blocks), a, b, partial), -(-n_blocks // per_task)
    )
    return float(np.add.reduce(partial))


def products(
    x: np.ndarray,
    x_new: np.ndarray,
    g: np.ndarray,
    g_new: np.ndarray,
    pairs: np.ndarray,
    scale: np.ndarray,
    newest: int,
) -> np.ndarray:
    """Store the newest pair of a quasi-Newton method, and return its inner products, in one pass over memory.

    The first half of the rows of `pairs` holds steps s, the second half differences y of gradients, in the same order.
    Sets row `newest` of each half to x_new - x and g_new - g.

    Returns
    -------
    ndarray of shape (2m + 1, 3)
        Products of every row of `pairs`, and of g_new, with the newest s, with the newest y, and with g_new: plain ones
        where a step is involved, otherwise weighted by `scale`. Products of steps with steps are left 0, since they are
        not needed.
    """
    return _sum_blocks(
        lambda first, last, out: _products(first, last, x, x_new, g, g_new, pairs, scale, newest, out),
        len(x),
        (len(pairs) + 1, 3),
    )


def _sum_blocks(task: Callable[[int, int, np.ndarray], None], n: int, shape: tuple[int, int]) -> np.ndarray:
    """Let `task` write one sum per block of a vector of length n; add them up in order."""
    n_blocks = -(-n // BLOCK)
    partial = np.empty((n_blocks, *shape))
    parallel_for(lambda t: task(t * _TASK, min((t + 1) * _TASK, n_blocks), partial), -(-n_blocks // _TASK))
    return np.add.reduce(partial, axis=0)


def combine(coefficients: np.ndarray, pairs: np.ndarray, g: np.ndarray, scale: np.ndarray, out: np.ndarray) -> None:
    """Write out = Σ_{k<m} c_k s_k + scale ∘ (Σ_{k<m} c_{m+k} y_k + c_{2m} g), with s and y as in `products`."""
    c = np.asarray(coefficients, dtype=pairs.dtype)
    n_blocks = -(-len(out) // BLOCK)
    parallel_for(
        lambda t: _combine(t * _TASK, min((t + 1) * _TASK, n_blocks), c, pairs, g, scale, out),
        -(-n_blocks // _TASK),
    )


def step(x: np.ndarray, t: float, direction: np.ndarray, out: np.ndarray) -> None:
    """Write out = x + t · direction."""
    _step(x, x.dtype.type(t), direction, out)


def add_ridge(weight: float, x: np.ndarray, gradient: np.ndarray) -> float:
    """Add weight · x to the gradient; return weight/2 ‖x‖² (float64)."""
    return 0.5 * weight * _add_ridge(x.dtype.type(weight), x, gradient)


# The loops below run over slices from 0 on: of an index which might be negative the compiler must assume that it
# counts from the end, and then it does not vectorize.


@kernel
def _run_dot(a, b):  # type: ignore[no-untyped-def]
    q = a.dtype.type(0)
    for k in range(len(a)):
        q += a[k] * b[k]
    return q


@kernel
def _block_dot(a, b):  # type: ignore[no-untyped-def]
    """Short runs in the vectors' own precision (fast), their sums in float64 (exact enough)."""
    total = 0.0
    for run in range(0, len(a), RUN):
        total += _run_dot(a[run : run + RUN], b[run : run + RUN])
    return total


@kernel
def _dot(first, last, a, b, partial):  # type: ignore[no-untyped-def]
    for block in range(first, last):
        here = slice(block * BLOCK, (block + 1) * BLOCK)
        partial[block] = _block_dot(a[here], b[here])


@kernel
def _subtract(a, b, out):  # type: ignore[no-untyped-def]
    for k in range(len(out)):
        out[k] = a[k] - b[k]


@kernel
def _run_dot2(a, y, g):  # type: ignore[no-untyped-def]
    """Two products with one vector in one sweep over it."""
    by_y = a.dtype.type(0)
    by_g = a.dtype.type(0)
    for k in range(len(a)):
        by_y += a[k] * y[k]
        by_g += a[k] * g[k]
    return by_y, by_g


@kernel
def _run_dot3(a, s, y, g):  # type: ignore[no-untyped-def]
    """Three products with one vector in one sweep over it."""
    by_s = a.dtype.type(0)
    by_y = a.dtype.type(0)
    by_g = a.dtype.type(0)
    for k in range(len(a)):
        by_s += a[k] * s[k]
        by_y += a[k] * y[k]
        by_g += a[k] * g[k]
    return by_s, by_y, by_g


@kernel
def _multiply(a, b, out):  # type: ignore[no-untyped-def]
    for k in range(len(a)):
        out[k] = a[k] * b[k]


@kernel
def _products(first, last, x, x_new, g, g_new, pairs, scale, newest, partial):  # type: ignore[no-untyped-def]
    m = len(pairs) // 2
    scaled_y = empty(BLOCK, x.dtype)
    scaled_g = empty(BLOCK, x.dtype)
    for block in range(first, last):
        here = slice(block * BLOCK, (block + 1) * BLOCK)
        s = pairs[newest][here]
        y = pairs[m + newest][here]
        following = g_new[here]
        _subtract(x_new[here], x[here], s)
        _subtract(following, g[here], y)
        dy = scaled_y[: len(s)]
        dg = scaled_g[: len(s)]
        _multiply(scale[here], y, dy)
        _multiply(scale[here], following, dg)
        partial[block] = 0
        for a in range(2 * m + 1):
            row = pairs[a][here] if a < 2 * m else following
            for run in range(0, len(row), RUN):
                part = slice(run, run + RUN)
                if a < m:
                    by_y, by_g = _run_dot2(row[part], y[part], following[part])
                else:
                    by_s, by_y, by_g = _run_dot3(row[part], s[part], dy[part], dg[part])
                    partial[block, a, 0] += by_s
                partial[block, a, 1] += by_y
                partial[block, a, 2] += by_g


@kernel
def _scale(c, x, out):  # type: ignore[no-untyped-def]
    for k in range(len(x)):
        out[k] = c * x[k]


@kernel
def _add_scaled(c, x, out):  # type: ignore[no-untyped-def]
    for k in range(len(x)):
        out[k] += c * x[k]


@kernel
def _combine(first, last, coefficients, pairs, g, scale, out):  # type: ignore[no-untyped-def]
    m = len(pairs) // 2
    for block in range(first, last):
        here = slice(block * BLOCK, (block + 1) * BLOCK)
        o = out[here]
        o[:] = 0
        _add_scaled(coefficients[2 * m], g[here], o)
        for a in range(2 * m - 1, -1, -1):
            if coefficients[a] != 0:
                _add_scaled(coefficients[a], pairs[a][here], o)
            if a == m:
                _multiply(scale[here], o, o)


@kernel
def _step(x, t, direction, out):  # type: ignore[no-untyped-def]
    for k in range(len(x)):
        out[k] = x[k] + t * direction[k]


@kernel
def _add_ridge(weight, x, gradient):  # type: ignore[no-untyped-def]
    total = 0.0
    for run in range(0, len(x), RUN):
        part = x[run : run + RUN]
        _add_scaled(weight, part, gradient[run : run + RUN])
        total += _run_dot(part, part)
    return total
