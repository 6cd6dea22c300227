"""One epoch of a network with a hidden layer, trained on one instance after the other to rank labels (see `BPMLL`)."""

import math

import numpy as np

from cofactor.kernels.compile import kernel

_LEAST = 1e-6  #: share by which the weights of features may have shrunk before they are multiplied out


@kernel
def ranking_epoch(  # type: ignore[no-untyped-def]
    order, indptr, indices, data, y_indptr, y_indices, W, b, V, c, rate, decay
):
    """Take a step for each instance, in this order, and change the weights; return the sum of their errors.

    Outputs are o = tanh(V' tanh(W' x + b) + c). With labels y on and z off, an instance has the error Σ_y Σ_z exp(o_z -
    o_y) / (|y| |z|). A step follows its negative gradient, and all weights lose the share `decay`. Those of features
    are W times a number, so that a step changes only the rows of features that are not 0.
    """
    H, L = V.shape
    hidden = np.empty(H)
    back = np.empty(H)
    out = np.empty(L)
    slope = np.empty(L)
    is_on = np.zeros(L, np.uint8)
    size = 1.0
    keep = 1 - decay
    total = 0.0
    for i in order:
        n_on = y_indptr[i + 1] - y_indptr[i]
        if n_on == 0 or n_on == L:
            continue
        hidden[:] = 0.0
        for a in range(indptr[i], indptr[i + 1]):
            f = indices[a]
            x = data[a]
            for j in range(H):
                hidden[j] += x * W[f, j]
        for j in range(H):
            hidden[j] = math.tanh(size * hidden[j] + b[j])
        for k in range(L):
            out[k] = c[k]
        for j in range(H):
            h = hidden[j]
            for k in range(L):
                out[k] += h * V[j, k]
        for k in range(L):
            out[k] = math.tanh(out[k])
        for a in range(y_indptr[i], y_indptr[i + 1]):
            is_on[y_indices[a]] = 1
        on_sum = 0.0
        off_sum = 0.0
        for k in range(L):
            if is_on[k]:
                on_sum += math.exp(-out[k])
            else:
                off_sum += math.exp(out[k])
        share = 1.0 / (n_on * (L - n_on))
        total += share * on_sum * off_sum
        for k in range(L):
            pull = math.exp(-out[k]) * off_sum if is_on[k] else -math.exp(out[k]) * on_sum
            slope[k] = share * pull * (1 - out[k] * out[k])
        for a in range(y_indptr[i], y_indptr[i + 1]):
            is_on[y_indices[a]] = 0
        for j in range(H):
            push = 0.0
            for k in range(L):
                push += V[j, k] * slope[k]
            back[j] = push * (1 - hidden[j] * hidden[j])
        for j in range(H):
            step = rate * hidden[j]
            for k in range(L):
                V[j, k] = keep * V[j, k] + step * slope[k]
        for k in range(L):
            c[k] = keep * c[k] + rate * slope[k]
        size *= keep
        if size < _LEAST:
            W *= size
            size = 1.0
        for a in range(indptr[i], indptr[i + 1]):
            f = indices[a]
            step = rate * data[a] / size
            for j in range(H):
                W[f, j] += step * back[j]
        for j in range(H):
            b[j] = keep * b[j] + rate * back[j]
    W *= size
    return total
