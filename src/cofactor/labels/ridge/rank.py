"""How many principal components of the labels predictions should have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import resolve_size
from cofactor.labels.embedding.code import label_means
from cofactor.labels.embedding.principal import principal_directions

__all__ = ["chosen_code"]

_MOST = 1000  # labels whose principal components are computed without being asked for
_PARTS = 4  # of the instances: components of three are tried on the fourth
_WORTH = 0.002  # share of the squared error by which fewer components must be better than all
_SURE = 3.0  # standard errors by which fewer components must be better than all


def chosen_code(
    n_components: int | float | str,
    Y: sparse.csr_array,
    weights: NDArray[np.float64] | None,
    rows: NDArray[np.int64],
    held_out: NDArray[Any],
) -> NDArray[np.float64] | None:
    r"""Return orthonormal components V of the labels, on which predictions are projected: :math:`\hat y V V^T`.

    Parameters
    ----------
    n_components : int, float or "auto"
        Their number, or share; "auto" takes as many as give the least squared error.
    Y : csr_array of shape (n, L)
    weights : ndarray of shape (n,), optional
    rows : ndarray of shape (m,)
        Instances that have leave-one-out predictions.
    held_out : ndarray of shape (m, L)
        These predictions.

    Returns
    -------
    ndarray of shape (L, d), or None
        None where all components are taken.

    Notes
    -----
    How many are taken is tried on components of other instances, three quarters of them each: those of all instances
    know the labels of the instance that is left out, so that fewer seem better than they are. The error falls apart
    into one for each component, so all numbers are compared by one product. Fewer than all must be better by two
    thousandths, and by three standard errors.
    """
    L = Y.shape[1]
    d = L if n_components == "auto" else min(resolve_size(n_components, L), L)
    if n_components != "auto":
        return None if d == L else principal_directions(Y, d, weights)
    if not 1 < L <= _MOST or len(rows) < 2 * _PARTS:
        return None
    best = _best_number(Y, weights, rows, held_out)
    return None if best is None else principal_directions(Y, best, weights)


def _best_number(
    Y: sparse.csr_array, weights: NDArray[np.float64] | None, rows: NDArray[np.int64], held_out: NDArray[Any]
) -> int | None:
    """Return the number of components with the least squared error, None if it is not surely less than that of all."""
    (n, L), w = Y.shape, np.ones(len(rows)) if weights is None else weights[rows]
    part = np.random.default_rng(0).permutation(len(rows)) % _PARTS
    taken, left = np.zeros((len(rows), L)), 0.0  # off the squared error of an instance, by the first d components
    for k in range(_PARTS):
        test = part == k
        train = np.ones(n, dtype=bool)
        train[rows[test]] = False
        some = None if weights is None else weights[train]
        V, mean = principal_directions(Y[train], L, some), label_means(Y[train], some)
        true, found = Y[rows[test]].toarray() - mean, held_out[test] - mean
        left += float(w[test] @ ((true - found) ** 2).sum(axis=1))
        taken[test] = (2 * true * found - found**2).sum(axis=1)[:, None]  # what all labels take off
        true, found = true @ V, found @ V
        taken[test, : min(V.shape[1], L - 1)] = np.cumsum(2 * true * found - found**2, axis=1)[:, : L - 1]
    best = int(np.argmax(w @ taken))
    gain = w * (taken[:, best] - taken[:, -1])
    worth = max(_WORTH * left, _SURE * np.sqrt(len(gain)) * float(gain.std()))
    return best + 1 if gain.sum() > worth else None
