"""Ridge regression with a radial basis kernel: exact for few instances, by landmarks for many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse

from cofactor.labels.clusters import squared_distances
from cofactor.labels.embedding.code import label_means
from cofactor.labels.leave_one_out import DualRidge, PrimalRidge
from cofactor.passes import InPasses, batches

__all__ = ["EXACT", "KernelFit", "fit_kernel", "kernel", "shared_out"]

#: Instances up to which the kernel of all of them is used; beyond, that of all with `_LANDMARKS` of them.
EXACT = 3000

_LANDMARKS = 1000
_CELLS = 1 << 26  # numbers of the kernel of all instances with landmarks: half a gigabyte
_FEWEST = 100  # landmarks that are worth it
_ROWS = 400  # on which widths are compared
_WIDTHS = 2.0 ** np.arange(-3, 3)  # times the squared distance of the median, the inverse of a width
_BLOCK = 1 << 22


class KernelFit(NamedTuple):
    """A fit with a kernel: scores of x are intercept + Σ_j exp(-gamma ‖x - z_j‖²) coef_j."""

    gamma: float
    instances: NDArray[np.int64]  # (m,), which the landmarks are
    landmarks: NDArray[np.float64]  # (m, D)
    coef: NDArray[np.float64]  # (m, L)
    intercept: NDArray[np.float64]  # (L,)
    alpha: float
    held_out: NDArray[np.float64]  # (n, L), or of some instances


def kernel(X: NDArray[np.float64], Z: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Return exp(-gamma ‖x - z‖²) for rows x of X and z of Z.

    Examples
    --------
    >>> kernel(np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]]), 1.0).round(3)
    array([[1.   , 0.368],
           [0.018, 0.368]])
    """
    values = squared_distances(X, Z)
    values *= -gamma
    return np.asarray(np.exp(values, out=values))


def shared_out(
    similar: NDArray[np.float64], K: NDArray[np.float64], alpha: float, coef: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how much landmarks count for instances, shape (n, m), and their values, (m, L): the sums are similar coef.

    The coefficients themselves explain nothing: where landmarks lie near each other they are large and alternate in
    sign, with terms of thousands for a score of one half. With M = K + δI, landmarks count by the entries of
    similar M⁻¹, and their values are the rows of M coef. If the landmarks are all instances, and δ is the penalty of
    the fit, values are labels minus the intercept. δ is less where δ coef would be above 1: then values are about
    what the kernel fits to the landmarks.

    Parameters
    ----------
    similar : ndarray of shape (n, m)
        Kernel of the instances with the landmarks.
    K : ndarray of shape (m, m)
        Kernel of the landmarks with each other; overwritten.
    alpha : float
        Penalty of the fit, above 0.
    coef : ndarray of shape (m, L)

    Examples
    --------
    >>> counts, values = shared_out(np.array([[0.5, 0.4]]), np.eye(2), 1.0, np.array([[0.3], [-0.2]]))
    >>> counts, values.T
    (array([[0.25, 0.2 ]]), array([[ 0.6, -0.4]]))
    """
    least = 1e-12 * len(K)  # what a file says may be singular
    K[np.diag_indices_from(K)] += max(min(alpha, 1 / max(float(np.abs(coef).max(initial=0.0)), 1e-300)), least)
    return np.ascontiguousarray(scipy.linalg.solve(K, similar.T, assume_a="pos").T), K @ coef


def fit_kernel(
    X: NDArray[np.float64] | InPasses,
    Y: sparse.csr_array,
    weights: NDArray[np.float64] | None = None,
    rows: NDArray[np.int64] | None = None,
) -> KernelFit | None:
    """Fit with the width and the penalty of least squared leave-one-out error.

    Parameters
    ----------
    X : ndarray or InPasses of shape (n, D)
        Features, scaled.
    Y : csr_array of shape (n, L)
    weights : ndarray of shape (n,), optional
    rows : ndarray of int, optional
        Instances that shall have leave-one-out predictions; by default all.

    Returns
    -------
    KernelFit or None
        None if all distances are 0, or there are so many instances that there is no room for 100 landmarks.

    Notes
    -----
    The width is chosen on at most 400 instances of a fixed seed: the kernel is exp(-g ‖x - z‖² / median), with g from
    1/8 to 4. With more than 3,000 instances, their kernel with 1,000 of them, the landmarks, makes new features
    (Nyström): leave-one-out is exact for these features, as if landmarks had not been chosen among the instances.
    """
    n = X.shape[0]
    generator = np.random.default_rng(0)
    few = np.arange(n) if n <= _ROWS else np.sort(generator.choice(n, _ROWS, replace=False))
    distances = squared_distances(X[few], X[few])
    middle = float(np.median(distances[np.triu_indices(len(few), 1)])) if len(few) > 1 else 0.0
    if not middle > 0:
        return None
    some = None if weights is None else weights[few]
    g, place = _best_width(distances / middle, Y[few], some)
    gamma = g / middle
    if n <= EXACT:
        return _exact(X[np.arange(n)] if isinstance(X, InPasses) else X, Y, weights, rows, gamma, place)
    m = min(_LANDMARKS, _CELLS // n)
    if m < _FEWEST:
        return None
    return _by_landmarks(X, np.sort(generator.choice(n, m, replace=False)), Y, weights, rows, gamma, place)


def _best_width(
    distances: NDArray[np.float64], Y: sparse.csr_array, weights: NDArray[np.float64] | None
) -> tuple[float, int]:
    """Return the width of least error and the place of its penalty, by steps from the middle one."""
    known: dict[int, tuple[float, int]] = {}
    best, moved = 3, True
    while moved:
        for k in (best, best - 1, best + 1):
            if 0 <= k < len(_WIDTHS) and k not in known:
                start = known[best][1] if known else 9
                problem = DualRidge(np.exp(-_WIDTHS[k] * distances), weights)
                found = problem.best_alpha(Y, start, (2, 1))
                known[k] = found.error, found.place
        better = min((k for k in (best, best - 1, best + 1) if k in known), key=lambda k: known[k][0])
        moved, best = better != best, better
    return float(_WIDTHS[best]), known[best][1]


def _exact(
    X: NDArray[np.float64],
    Y: sparse.csr_array,
    weights: NDArray[np.float64] | None,
    rows: NDArray[np.int64] | None,
    gamma: float,
    place: int,
) -> KernelFit:
    table = kernel(X, X, gamma)
    means = table.mean(axis=0) if weights is None else weights @ table / weights.sum()
    problem = DualRidge(table, weights)
    alpha = problem.best_alpha(Y, place, (1,)).alpha
    fitted = problem.at(alpha)
    coef = fitted.coefficients(Y)
    return KernelFit(
        gamma,
        np.arange(len(X)),
        X.copy(),
        coef,
        label_means(Y, weights) - means @ coef,
        alpha,
        fitted.held_out(Y, rows, coef),
    )


def _features(X: Any, Z: NDArray[np.float64], gamma: float, root: NDArray[np.float64]) -> Any:
    """Return the kernel of instances with landmarks times a root; of instances in passes it is computed in each."""
    if isinstance(X, InPasses):
        return X.map(lambda part: _features(part, Z, gamma, root), root.shape[1])
    features = np.empty((len(X), root.shape[1]))
    for block in batches(len(X), max(1, _BLOCK // len(Z))):
        features[block] = kernel(X[block], Z, gamma) @ root
    return features


def _by_landmarks(
    X: Any,
    chosen: NDArray[np.int64],
    Y: sparse.csr_array,
    weights: NDArray[np.float64] | None,
    rows: NDArray[np.int64] | None,
    gamma: float,
    place: int,
) -> KernelFit:
    Z = X[chosen]
    squares, basis = scipy.linalg.eigh(kernel(Z, Z, gamma), driver="evd", check_finite=False)
    kept = squares > 1e-10 * squares[-1]
    root = basis[:, kept] / np.sqrt(squares[kept])
    problem = PrimalRidge(_features(X, Z, gamma, root), weights)
    alpha = problem.best_alpha(Y, place, (2, 1)).alpha
    fitted = problem.at(alpha)
    coef = fitted.coefficients(Y)
    held_out = fitted.held_out(Y, rows, coef)
    intercept = label_means(Y, weights) - problem.mean @ coef
    return KernelFit(gamma, chosen, Z, root @ coef, intercept, alpha, held_out)
