"""How many principal components of the labels predictions should have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.labels.embedding.code import label_means
from cofactor.labels.embedding.principal import principal_directions
from cofactor.model.checks import resolve_size

__all__ = ["chosen_code"]

_MOST = 1000  # labels whose principal components are computed without being asked for
_WORTH = 0.005  # share of the squared error by which fewer components must be better than all: of ten sets only cal500
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
    The components are those of all labels, also of the instance that is left out. The error falls apart into one for
    each component, so all numbers are compared by one product. Fewer than
    all must be better by half a percent, and by three standard errors.
    """
    L = Y.shape[1]
    d = L if n_components == "auto" else min(resolve_size(n_components, L), L)
    if (n_components == "auto" and not 1 < L <= _MOST) or (n_components != "auto" and d == L):
        return None
    V = principal_directions(Y, d, weights)
    if n_components != "auto":
        return V
    mean = label_means(Y, weights)
    w = np.ones(len(rows)) if weights is None else weights[rows]
    true, found = Y[rows] @ V - mean @ V, held_out @ V - mean @ V
    gains = 2 * true * found - found**2  # what each component takes off the squared error of each instance
    best = int(np.argmax(np.cumsum(w @ gains)))
    lost = w * gains[:, best + 1 :].sum(axis=1)
    left = float(w @ ((true - found) ** 2).sum(axis=1))
    worth = max(_WORTH * left, _SURE * np.sqrt(len(lost)) * float(lost.std()))
    return V[:, : best + 1] if -lost.sum() > worth else None
