"""One epoch of a network with a hidden layer, trained on one instance after the other to rank labels (see `BPMLL`)."""

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import inlined, kernel

_LEAST = 1e-6  #: share to which the weights may have shrunk before they are multiplied out
_FAR = 20.0  #: where tanh is 1 to working precision


@kernel
def ranking_epoch(  # type: ignore[no-untyped-def]
    order, indptr, indices, data, y_indptr, y_indices, W, b, V, c, rate, decay
):
    """Take a step for each instance, in this order, and change the weights; return the sum of their errors.

    Outputs are o = tanh(V' tanh(W' x + b) + c). With labels y on and z off, an instance has the error Σ_y Σ_z exp(o_z -
    o_y) / (|y| |z|). A step follows its negative gradient, and all weights lose the share `decay`. So they are kept as
    numbers times one that all share, and which alone shrinks: a step changes only the rows of features that are not 0,
    and single precision does not round a small decay away. Products with weights have the precision of W.
    """
    H, L = V.shape
    hidden = empty(H, W.dtype)
    back = empty(H, W.dtype)
    out = empty(L, W.dtype)
    slope = empty(L, W.dtype)
    grown = empty(L)
    zero = W.dtype.type(0)
    size = 1.0
    total = 0.0
    for i in order:
        on = y_indices[y_indptr[i] : y_indptr[i + 1]]
        if len(on) == 0 or len(on) == L:
            continue
        for j in range(H):
            hidden[j] = b[j]
        for a in range(indptr[i], indptr[i + 1]):
            f = indices[a]
            x = data[a]
            for j in range(H):
                hidden[j] += x * W[f, j]
        for j in range(H):
            hidden[j] = _tanh(size * hidden[j])
        _sums(hidden, V, c, out)
        total += _slopes(out, size, on, grown, slope)
        last = size
        size *= 1 - decay
        rise = W.dtype.type(rate / size)
        for j in range(H):
            push = zero
            for k in range(L):
                push += V[j, k] * slope[k]
            back[j] = rise * last * push * (1 - hidden[j] * hidden[j])
            step = rise * hidden[j]
            for k in range(L):
                V[j, k] += step * slope[k]
        for k in range(L):
            c[k] += rise * slope[k]
        for a in range(indptr[i], indptr[i + 1]):
            f = indices[a]
            x = data[a]
            for j in range(H):
                W[f, j] += x * back[j]
        for j in range(H):
            b[j] += back[j]
        if size < _LEAST:
            _multiply(size, W, b, V, c)
            size = 1.0
    _multiply(size, W, b, V, c)
    return total


@inlined
def _sums(hidden, V, c, out):  # type: ignore[no-untyped-def]
    """Set `out` to V' hidden + c, four units at a time."""
    H, L = V.shape
    for k in range(L):
        out[k] = c[k]
    for j in range(H % 4):
        h0 = hidden[j]
        for k in range(L):
            out[k] += h0 * V[j, k]
    for j in range(H % 4, H, 4):
        h0, h1, h2, h3 = hidden[j], hidden[j + 1], hidden[j + 2], hidden[j + 3]
        for k in range(L):
            out[k] += h0 * V[j, k] + h1 * V[j + 1, k] + h2 * V[j + 2, k] + h3 * V[j + 3, k]


@inlined
def _slopes(out, size, on, grown, slope):  # type: ignore[no-untyped-def]
    """Return the error of an instance, outputs being tanh(size out), and set `slope` to its slopes by size out."""
    L = len(out)
    off_sum = 0.0
    on_sum = 0.0
    for k in range(L):
        o = _tanh(size * out[k])
        even, odd = _halves(o / 2)
        grown[k] = (even + odd) / (even - odd)  # exp(o)
        slope[k] = 1 - o * o
    for k in range(L):
        off_sum += grown[k]
    for k in on:
        off_sum -= grown[k]
        on_sum += 1 / grown[k]
    for k in on:
        grown[k] = -off_sum / (on_sum * grown[k])
    share = 1.0 / (len(on) * (L - len(on)))
    for k in range(L):
        slope[k] *= -share * on_sum * grown[k]
    return share * on_sum * off_sum


@inlined
def _tanh(x):  # type: ignore[no-untyped-def]
    """Return tanh(x) by arithmetic alone, so that a loop of it is vectorized."""
    even, odd = _halves(min(max(x, -_FAR), _FAR) / 16)
    t = odd / even
    t = 2 * t / (1 + t * t)
    t = 2 * t / (1 + t * t)
    t = 2 * t / (1 + t * t)
    return 2 * t / (1 + t * t)


@inlined
def _halves(x):  # type: ignore[no-untyped-def]
    """Return a multiple of cosh(x) and one of sinh(x), by Lambert's fraction, to working precision for |x| <= 1.3."""
    y = x * x
    even = 34459425.0 + y * (16216200.0 + y * (945945.0 + y * (13860.0 + y * 45.0)))
    return even, x * (34459425.0 + y * (4729725.0 + y * (135135.0 + y * (990.0 + y))))


@kernel
def _multiply(size, W, b, V, c):  # type: ignore[no-untyped-def]
    """Multiply all weights by a number."""
    for weights in (W, V):
        for i in range(len(weights)):
            for j in range(weights.shape[1]):
                weights[i, j] *= size
    for weights in (b, c):
        for j in range(len(weights)):
            weights[j] *= size
