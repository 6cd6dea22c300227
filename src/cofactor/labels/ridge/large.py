"""Ridge regression on sparse features with too many rows and columns for an inverse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.labels.features import CheckedFeatures, is_sparse
from cofactor.labels.leave_one_out import ridge_problem
from cofactor.labels.regression import FeatureSpace
from cofactor.passes import batches, in_parts

__all__ = ["TOLERANCE", "fit_large", "rows_for_penalty", "too_large"]

_LARGEST = 6000  # rows of the largest matrix that is inverted: 288 MB
_ROWS = 4000  # on which the penalty is chosen
TOLERANCE = 1e-5  # relative residual at which conjugate gradients end; predictions change in the fifth digit
_BLOCK = 1 << 22


def too_large(X: CheckedFeatures) -> bool:
    """Whether features are sparse with too many rows and columns for an inverse, or in passes with too many columns."""
    return FeatureSpace.too_large(X) if in_parts(X) else is_sparse(X) and min(X.shape) > _LARGEST


def rows_for_penalty(n: int) -> NDArray[np.int64]:
    """Return the rows, 4,000 of a fixed seed, on which a penalty is chosen that holds for all n."""
    return np.sort(np.random.default_rng(0).choice(n, min(_ROWS, n), replace=False))


def fit_large(
    X: CheckedFeatures, Y: sparse.csr_array, weights: NDArray[np.float64] | None, alpha: float | None = None
) -> tuple[float, NDArray[Any], NDArray[np.float64]]:
    """Return the penalty, coefficients (D, L) and intercepts (L,), by conjugate gradients.

    Notes
    -----
    A penalty that is not given is the best for 4,000 instances of a fixed seed, by exact leave-one-out, and holds for
    all: it stands for the noise of the labels and the size of the coefficients, which do not depend on n.
    """
    if alpha is None:
        few = rows_for_penalty(X.shape[0])
        alpha = ridge_problem(X[few], None if weights is None else weights[few]).best_alpha(Y[few]).alpha
    space = FeatureSpace(X, sample_weight=weights)
    (n, D), L = X.shape, Y.shape[1]
    coef = np.empty((D, L), np.float32 if D * L > 1 << 26 else np.float64)
    intercept, columns = np.empty(L), Y.tocsc()
    height = L if in_parts(X) else max(1, _BLOCK // min(n, D))
    for block in batches(L, height):
        coef[:, block], intercept[block] = space.ridge(sparse.csr_array(columns[:, block]), alpha, tol=TOLERANCE)
    return alpha, coef, intercept
