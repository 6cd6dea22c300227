"""Coefficients of instances on non-negative bases: new features of reductions, and codes of models."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cofactor.model.convergence import callers_level
from cofactor.solvers.linear import nonnegative_least_squares


def coefficients_on(
    gram: NDArray[np.float64], cross: NDArray[np.float64], owner: Any, *, ridge: float = 0.0, tol: float = 1e-8
) -> NDArray[np.float64]:
    """Return the non-negative coefficients of least squared error of each row on bases B, from inner products.

    Parameters
    ----------
    gram : ndarray of shape (J, J)
        BBᵀ.
    cross : ndarray of shape (n, J)
        XBᵀ.
    owner : estimator
        Whose bases they are.
    ridge : float, default=0.0
        Weight of the squares of the coefficients, as a share of the mean squared length of the bases.
    tol : float, default=1e-8
        As for `nonnegative_least_squares`.

    Warns
    -----
    ConvergenceWarning
        If the coefficients of some rows cannot be found exactly.
    """
    if ridge:
        gram = gram + ridge * np.trace(gram) / len(gram) * np.eye(len(gram))
    V, unfinished = nonnegative_least_squares(gram, cross, tol=tol)
    if unfinished:
        warnings.warn(
            f"{type(owner).__name__}: {unfinished} of {len(V)} rows have inexact coefficients, since the bases are "
            "nearly linearly dependent: take a smaller n_components",
            ConvergenceWarning,
            stacklevel=callers_level(),
        )
    return V
