r"""Ridge regression: one decomposition of the features serves all penalties and all targets.

**Leave-one-out errors** are exact, without a fit for each instance. With :math:`e_i` the error of instance i in a fit
to all instances, and :math:`h_i` its leverage, its error in a fit to all other instances is :math:`e_i / (1 - h_i)`
(Allen 1974). Both follow from one inverse matrix for each penalty, of the smaller side of the features: :math:`(X_c^T
X_c + \alpha I)^{-1}` or :math:`(X_c X_c^T + \alpha I)^{-1}`. An inverse by Cholesky factors takes a sixth of the time
of a decomposition into eigenvectors, and about six penalties are tried of 19.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from cofactor.checks import check_choice, check_number
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.kernels.regression import quadratic_forms
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.labels.features import (
    CheckedFeatures,
    as_dense,
    as_features,
    column_means,
    column_squares,
    cross_products,
    dwarfed,
    is_sparse,
    named_column,
    scaled_rows,
)
from cofactor.labels.scaling import SCALES, Scaling, learn_scaling
from cofactor.model.convergence import callers_level
from cofactor.passes import Mapped, added, batches, in_parts, rows_of, stacked, together
from cofactor.solvers.linear import solve_positive
from cofactor.typing import Features
from cofactor.weights import as_weights, relative_weights

__all__ = [
    "GRID",
    "LARGEST_IN_PASSES",
    "BestAlpha",
    "DualRidge",
    "FeatureSpace",
    "PrimalRidge",
    "RidgeAt",
    "RidgeProblem",
    "linear",
    "ridge_problem",
    "sketched",
]


#: Penalties that are tried, in units of the mean squared length of the centred instances times their weights.
GRID = 10.0 ** np.linspace(-3, 3, 19)

_CELLS = 1 << 22  # numbers of a block of errors
_FEW = 0.03  # share of targets that are not 0 up to which a sparse product is faster than a dense one
_HIGHEST = 1 - 1e-6  # leverages above it are rounding errors, or of instances that nothing else is like
_SKETCH = 256  # combinations of labels that stand for all, where there are too many
_LARGE_TABLE = 1 << 25  # errors of more instances × labels, or of more than
_MANY = 2048  # labels, are estimated from the combinations
_SINGLE = 1500  # sides above which inverses for the choice of a penalty are in single precision
_SAFE = 1e-3  # relative error of such an inverse up to which it will do
_ROUNDED = 10  # epsilons of a column's square: what rounding leaves of one that others say already


class BestAlpha(NamedTuple):
    """A chosen penalty: its value, its place in `GRID`, and its mean squared leave-one-out error of an instance."""

    alpha: float
    place: int
    error: float


class RidgeAt:
    """Ridge regression with one penalty: what it says of the instances that it learned from.

    Parameters
    ----------
    problem : RidgeProblem
    alpha : float
        The penalty, above 0.
    inverse : ndarray of shape (m, m)
        Of the Gram matrix plus alpha times the identity.
    """

    def __init__(self, problem: RidgeProblem, alpha: float, inverse: NDArray[Any]) -> None:
        self.problem, self.alpha, self.inverse = problem, alpha, inverse

    @cached_property
    def leverage(self) -> NDArray[np.float64]:
        """Leverages h of the instances, shape (n,), at most 1 - 1e-6."""
        return np.clip(self.problem.leverage(self.inverse, self.alpha), 0.0, _HIGHEST)

    def coefficients(self, T: CheckedFeatures) -> NDArray[Any]:
        """Return coefficients of targets T (n, k): of the features (D, k), or of the instances of a kernel (n, k)."""
        return self.problem.coefficients(self.inverse, T)

    def held_out(
        self, T: CheckedFeatures, rows: NDArray[Any] | None = None, coef: NDArray[Any] | None = None
    ) -> NDArray[np.float64]:
        """Return leave-one-out predictions of targets T, for all instances or for some of them.

        Parameters
        ----------
        T : ndarray or csr_array of shape (n, k)
        rows : ndarray of int, optional
        coef : ndarray, optional
            What `coefficients` returned of these targets, if that is known.
        """
        part: Any = (stacked(T) if in_parts(T) else T) if rows is None else T[rows]
        return np.asarray((part.toarray() if is_sparse(part) else part) - self.errors(T, rows, coef))

    def errors(
        self, T: CheckedFeatures, rows: NDArray[Any] | None = None, coef: NDArray[Any] | None = None
    ) -> NDArray[np.float64]:
        """Return targets less their leave-one-out predictions; see `held_out`."""
        return stacked(self.errors_in_parts(T, rows, coef))

    def errors_in_parts(
        self, T: CheckedFeatures, rows: NDArray[Any] | None = None, coef: NDArray[Any] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Yield what `errors` returns, the rows of a part of the features at a time."""
        coef = self.coefficients(T) if coef is None else coef
        left_over = 1 - (self.leverage if rows is None else self.leverage[rows])[:, None]
        at = 0
        for left in self.problem.residuals(coef, self.alpha, T, rows):
            left /= left_over[at : at + len(left)]
            at += len(left)
            yield left

    def error(self, T: CheckedFeatures) -> float:
        """Return the mean over the instances of the squared leave-one-out errors, summed over the targets."""
        weights = self.problem.weights
        share = 1 / (1 - self.leverage) ** 2
        if weights is not None:
            share = share * weights
        total = 0.0
        height = self.problem.n_at_once(T)
        for block in batches(T.shape[1], height):
            some, at = (T if height >= T.shape[1] else T[:, block]), 0
            for left in self.problem.residuals(self.coefficients(some), self.alpha, some):
                total += float(np.einsum("ij,ij->i", left, left) @ share[at : at + len(left)])
                at += len(left)
        return total / self.problem.total


class RidgeProblem(ABC):
    """Ridge regression whose smaller Gram matrix is at hand.

    Attributes
    ----------
    gram : ndarray of shape (m, m), float64
    weights : ndarray of shape (n,) or None
    total : float
        Sum of the weights.
    unit : float
        Mean squared length of the centred instances, times their weights; 1 if all are 0. Penalties are tried around
        it, so that weights count by their ratios alone.
    """

    gram: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    fit_intercept: bool

    def __init__(self, gram: NDArray[np.float64], n: int, weights: Any, fit_intercept: bool) -> None:
        self.gram, self.weights, self.fit_intercept = gram, weights, fit_intercept
        self.root = None if weights is None else np.sqrt(weights)
        self.total = float(n if weights is None else weights.sum())
        self.unit = float(np.trace(gram)) / n
        if not self.unit > np.finfo(float).tiny:
            self.unit = 1.0
        self._largest: float | None = None

    @abstractmethod
    def leverage(self, inverse: NDArray[Any], alpha: float) -> NDArray[np.float64]:
        """Return the leverages of the instances."""

    @abstractmethod
    def coefficients(self, inverse: NDArray[Any], T: CheckedFeatures) -> NDArray[Any]:
        """Return coefficients of targets."""

    @abstractmethod
    def residuals(
        self, coef: NDArray[Any], alpha: float, T: CheckedFeatures, rows: NDArray[Any] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Yield T minus its fit, of shape (n, k), or of some rows, in parts."""

    def n_at_once(self, T: CheckedFeatures) -> int:
        """Return of how many targets residuals are computed at a time."""
        return max(1, _CELLS // T.shape[0])

    def at(self, alpha: float, dtype: Any = np.float64) -> RidgeAt:
        """Return the regression with a penalty above 0.

        Raises
        ------
        InvalidInputError
            If the penalty is so small that rounding makes the matrix singular.
        """
        found = _inverse(self.gram, alpha, dtype)
        if found is None and dtype != np.float64:
            found = _inverse(self.gram, alpha, np.float64)
        if found is None:
            raise InvalidInputError(
                "so small a penalty is lost in rounding", argument="alpha", found=alpha, advice="raise it"
            )
        return RidgeAt(self, alpha, found)

    def best_alpha(self, T: CheckedFeatures, start: int = 9, steps: tuple[int, ...] = (4, 2, 1)) -> BestAlpha:
        """Choose the penalty with the least squared leave-one-out error of targets T, of `GRID` times `unit`.

        From place `start`, steps of four places, then of two, then of one, are taken for as long as the error falls.
        Where T has more than 2,048 columns or 33 million numbers, 256 seeded combinations of its columns with signs at
        random stand for them: their squared errors have the same expectation.
        """
        few = self._sketched(T) if T.shape[1] > _MANY or T.shape[0] * T.shape[1] > _LARGE_TABLE else T
        known: dict[int, float] = {}

        def error(place: int) -> float:
            if place not in known:
                alpha = self.unit * float(GRID[place])
                known[place] = self.at(alpha, self.precision(alpha)).error(few)
            return known[place]

        best = min(max(start, 0), len(GRID) - 1)
        for step in steps:
            moved = True
            while moved:
                near = [k for k in (best, best - step, best + step) if 0 <= k < len(GRID)]
                better = min(near, key=error)
                moved, best = better != best, better
        return BestAlpha(self.unit * float(GRID[best]), best, known[best])

    def _sketched(self, T: CheckedFeatures) -> Any:
        return sketched(T)

    def precision(self, alpha: float) -> Any:
        """Return the precision that will do for comparing penalties: the relative error of an inverse is eps λ₁/α."""
        if len(self.gram) <= _SINGLE:
            return np.float64
        if self._largest is None:
            v = np.ones(len(self.gram)) + np.linspace(0, 1, len(self.gram))
            for _ in range(8):
                v = self.gram @ v
                size = float(np.linalg.norm(v))
                v /= size or 1.0
            self._largest = size
        return np.float32 if float(np.finfo(np.float32).eps) * self._largest <= _SAFE * alpha else np.float64


class PrimalRidge(RidgeProblem):
    """Ridge regression by the Gram matrix of the features, for no more features than instances."""

    def __init__(
        self, X: CheckedFeatures, weights: NDArray[np.float64] | None = None, fit_intercept: bool = True
    ) -> None:
        X = X.astype(np.float64, copy=False)
        n, D = X.shape
        self.X, self.mean = X, column_means(X, weights) if fit_intercept else np.zeros(D)
        self._last: tuple[Any, NDArray[np.float64]] | None = None
        super().__init__(_centred_gram(X, self.mean, weights), n, weights, fit_intercept)

    def leverage(self, inverse: NDArray[Any], alpha: float) -> NDArray[np.float64]:
        """See `RidgeProblem.leverage`."""
        h = _forms(self.X, self.mean, inverse) + (1 / self.total if self.fit_intercept else 0.0)
        return h if self.weights is None else h * self.weights

    def coefficients(self, inverse: NDArray[Any], T: CheckedFeatures) -> NDArray[Any]:
        """See `RidgeProblem.coefficients`."""
        return np.asarray(inverse @ self._cross(T).astype(inverse.dtype, copy=False))

    def residuals(
        self, coef: NDArray[Any], alpha: float, T: CheckedFeatures, rows: NDArray[Any] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """See `RidgeProblem.residuals`."""
        mean = column_means(T, self.weights) if self.fit_intercept else np.zeros(T.shape[1])
        X: Any = self.X
        if rows is not None:
            X, T = rows_of(X, rows), T[rows]
        for part, targets in together(X, T):
            fitted = np.asarray(part @ coef, dtype=np.float64)
            fitted += mean - self.mean @ coef
            yield _minus(targets, fitted)

    def n_at_once(self, T: CheckedFeatures) -> int:
        """See `RidgeProblem.n_at_once`: of all, where they are seen in parts."""
        return T.shape[1] if in_parts(self.X) else super().n_at_once(T)

    def _sketched(self, T: CheckedFeatures) -> Any:
        return Mapped(T, sketched, _SKETCH) if in_parts(self.X) else sketched(T)

    def _cross(self, T: CheckedFeatures) -> NDArray[np.float64]:
        """Return XcᵀTc; that of the last targets is kept where it takes a pass, since penalties are tried in turn."""
        if self._last is not None and self._last[0] is T:
            return self._last[1]
        product, sums = cross_products(self.X, T, self.weights)
        product -= np.outer(self.mean, sums)
        self._last = (T, product) if in_parts(self.X) else None
        return product


class DualRidge(RidgeProblem):
    """Ridge regression by the kernel of the instances: their inner products, or any other kernel.

    Parameters
    ----------
    kernel : ndarray of shape (n, n), float64
        Is overwritten: centred, and weighted.
    weights : ndarray of shape (n,), optional
    fit_intercept : bool, default=True
        Whether the kernel is centred.
    """

    def __init__(
        self, kernel: NDArray[np.float64], weights: NDArray[np.float64] | None = None, fit_intercept: bool = True
    ) -> None:
        n = len(kernel)
        if fit_intercept:
            means = kernel.mean(axis=0) if weights is None else kernel @ weights / weights.sum()
            middle = means.mean() if weights is None else float(means @ weights) / weights.sum()
            kernel -= means
            kernel -= (means - middle)[:, None]
        if weights is not None:
            root = np.sqrt(weights)
            kernel *= root
            kernel *= root[:, None]
        super().__init__(kernel, n, weights, fit_intercept)

    def leverage(self, inverse: NDArray[Any], alpha: float) -> NDArray[np.float64]:
        """See `RidgeProblem.leverage`."""
        h = 1 - alpha * np.diagonal(inverse).astype(np.float64)
        if not self.fit_intercept:
            return h
        return h + (1 if self.weights is None else self.weights) / self.total

    def coefficients(self, inverse: NDArray[Any], T: CheckedFeatures) -> NDArray[Any]:
        """Return A of shape (n, k): an instance has the prediction t̄ + (its kernel with all - their means) A.

        With features X they have the coefficients XᵀA, since the columns of A sum to 0 if there is an intercept.
        """
        A = _symmetric_product(inverse, scaled_rows(T, self.root))
        if self.root is not None:
            A *= self.root[:, None]
        if self.fit_intercept:
            A -= (1 if self.weights is None else self.weights[:, None]) * (A.sum(axis=0) / self.total)
        return A

    def residuals(
        self, coef: NDArray[Any], alpha: float, T: CheckedFeatures, rows: NDArray[Any] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """See `RidgeProblem.residuals`: they are α times the coefficients, by weight."""
        left = alpha * (coef if rows is None else coef[rows])
        if self.weights is not None:
            left /= (self.weights if rows is None else self.weights[rows])[:, None]
        yield left


def ridge_problem(
    X: CheckedFeatures, weights: NDArray[np.float64] | None = None, fit_intercept: bool = True
) -> RidgeProblem:
    """Return the problem of features X by the smaller of its Gram matrices.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> problem = ridge_problem(X)
    >>> problem.at(1.0).held_out(X).round(3).ravel()  # of x from x itself
    array([0.412, 1.111, 1.966, 3.   ])
    """
    if X.shape[0] >= X.shape[1] or in_parts(X):
        return PrimalRidge(X, weights, fit_intercept)
    X = X.astype(np.float64, copy=False)
    if fit_intercept and not is_sparse(X):
        X = X - column_means(X, weights)  # what is far from the origin would be lost in rounding
    product: Any = X @ X.T
    return DualRidge(product.toarray() if is_sparse(product) else product, weights, fit_intercept)


def sketched(T: CheckedFeatures, n_columns: int = _SKETCH, seed: int = 0) -> NDArray[np.float64]:
    """Return combinations of the columns of T with random signs; sums of squared errors keep their expectation."""
    signs = np.random.default_rng(seed).integers(0, 2, (T.shape[1], n_columns)) * 2.0 - 1
    return np.asarray(T @ signs) / np.sqrt(n_columns)


def _centred_gram(
    X: CheckedFeatures, mean: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return XcᵀWXc of features in memory or in parts."""
    D = X.shape[1]
    gram: Any = None
    shift = 0.0  # weight of the rows that were not centred
    for part, some in together(X, weights):
        root = None if some is None else np.sqrt(some)
        if not is_sparse(part):
            centred = scaled_rows(part - mean, root)
            gram = added(gram, centred.T @ centred)
            continue
        scaled: Any = scaled_rows(part, root)
        turned: Any = scaled.T.tocsr()
        gram = np.zeros((D, D)) if gram is None else gram
        shift += part.shape[0] if some is None else some.sum()
        for rows in batches(D, max(1, _CELLS // D)):  # the sparse product would take more than the dense one
            gram[rows] += (turned[rows] @ scaled).toarray()
    for rows in batches(D, max(1, _CELLS // D)) if shift else ():
        gram[rows] -= shift * np.outer(mean[rows], mean)
    return np.asarray(gram)


def _inverse(gram: NDArray[np.float64], alpha: float, dtype: Any) -> NDArray[Any] | None:
    """Return the inverse of gram + alpha I by Cholesky factors; None if rounding makes it singular."""
    factor = np.array(gram, dtype=dtype, order="F")
    factor[np.diag_indices(len(factor))] += alpha
    lost = _ROUNDED * np.finfo(dtype).eps * factor.diagonal()
    single = dtype == np.float32
    potrf, potri = (lapack.spotrf, lapack.spotri) if single else (lapack.dpotrf, lapack.dpotri)
    factor, failed = potrf(factor, lower=1, clean=0, overwrite_a=1)
    if failed or (factor.diagonal() ** 2 <= lost).any():
        return None
    factor, failed = potri(factor, lower=1, overwrite_c=1)
    if failed:
        return None
    full = factor.T  # C order: its upper triangle is right
    for rows in batches(len(full), 256):
        full[rows.stop :, rows] = full[rows, rows.stop :].T
        corner = full[rows, rows]
        full[rows, rows] = np.triu(corner) + np.triu(corner, 1).T
    return full if np.isfinite(np.trace(full)) else None


def _forms(X: CheckedFeatures, mean: NDArray[np.float64], M: NDArray[Any]) -> NDArray[np.float64]:
    """Return (x - mean)ᵀ M (x - mean) for each row x."""
    n = X.shape[0]
    out = np.empty(n)
    if in_parts(X):
        return np.concatenate([_forms(part, mean, M) for (part,) in together(X)])
    if is_sparse(X):
        shift = M @ mean.astype(M.dtype)
        cuts = cut_rows(X.indptr, 1 << 14)
        parallel_for(
            lambda k: quadratic_forms(cuts[k], cuts[k + 1], X.indptr, X.indices, X.data, M, out), len(cuts) - 1
        )
        return out - 2 * np.asarray(X @ shift) + float(mean @ shift)
    for rows in batches(n, max(1, _CELLS // X.shape[1])):
        part = (X[rows] - mean).astype(M.dtype, copy=False)
        out[rows] = np.einsum("ij,ij->i", part @ M, part)
    return out


def _symmetric_product(M: NDArray[Any], T: CheckedFeatures) -> NDArray[np.float64]:
    """Return MT in double precision for M with rows of a symmetric matrix, dense or sparse T."""
    if is_sparse(T) and T.nnz < _FEW * T.shape[0] * T.shape[1]:
        return np.asarray((T.T @ M.T).T, dtype=np.float64, order="C")
    targets: Any = T.toarray() if is_sparse(T) else T
    return np.asarray(M @ targets.astype(M.dtype, copy=False), dtype=np.float64)


def _minus(T: CheckedFeatures, fitted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return T - fitted, in the memory of the latter."""
    np.negative(fitted, out=fitted)
    if is_sparse(T):
        rows = np.repeat(np.arange(T.shape[0]), np.diff(T.indptr))
        fitted[rows, T.indices] += T.data
    else:
        fitted += np.asarray(T)
    return fitted


_LARGEST = 5000  # rows of the largest Gram matrix: 200 MB, and about 20 s to decompose
#: Columns of features in passes up to which their Gram matrix is formed: 3.2 GB.
LARGEST_IN_PASSES = 20_000
_EAGER = 2000  # rows of the largest one that is decomposed even if an inverse, a sixth of the time, will do
_LEAST = 1e-8  # share of the sum of eigenvalues above which a penalty makes an inverse exact enough
_CONSTANT = 1e-12  # share of a column's squares up to which what is left by centring them may be rounding errors


def linear(X: CheckedFeatures, coef: NDArray[Any], intercept: NDArray[Any] | float = 0.0) -> NDArray[Any]:
    """Return X coef + intercept as a dense array, for dense and sparse X.

    Examples
    --------
    >>> from scipy import sparse
    >>> linear(sparse.csr_array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0], [4.0]]), np.array([1.0]))
    array([[4.],
           [9.]])
    """
    return np.asarray(X @ coef) + intercept


class FeatureSpace:
    r"""Centred features, decomposed once for ridge regressions with any penalty.

    With :math:`X_c = X - 1 \bar x^T = U S V^T`, the minimiser of

    .. math:: \|T - X W - 1 b^T\|_F^2 + \alpha \|W\|_F^2

    is :math:`W = V (S^2 + \alpha I)^{-1} S\, U^T T_c`, :math:`b = \bar t - W^T \bar x`: the intercept is not
    penalized, though the released code of the embedding methods penalizes it. Only the smaller of U and V is kept; the
    other one follows from X. With weights w of the instances all sums over instances are weighted: the means are
    weighted, and the rows of X_c and T_c are multiplied by √w.

    Parameters
    ----------
    X : array-like, sparse matrix or array, or frame, of shape (n, D)
        Features. They are not copied, so do not change them while the space is in use.
    fit_intercept : bool, default=True
        Whether there is an intercept b; without it :math:`\bar x = \bar t = 0` above.
    sample_weight : array-like of shape (n,), optional
        Weights of the instances, above 0; by default all are 1. A model fitted to the space has these weights.
    scale : str or Scaling, default="none"
        How the features are scaled first: one of `cofactor.labels.scaling.SCALES`, learned from X, or what
        `cofactor.labels.scaling.choose_scaling` returned. A model fitted to the space scales new features so.
    feature_names : sequence of str, optional
        What warnings call the features; by default the columns of a frame.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, D)
        The features, scaled.
    scaling : Scaling
        How they were scaled.
    mean : ndarray of shape (D,)
        Column means; 0 without an intercept.
    fit_intercept : bool
        As given.
    weights : ndarray of shape (n,) or None
        Weights of the instances; None if all are 1.
    neighbours : ndarray of shape (n, k), int64, or None
        The nearest other instances of each, the nearest first, once a model of neighbours was fitted to the space.

    Raises
    ------
    InvalidInputError
        If X is not a table of finite numbers, or a weight is not above 0.

    Warns
    -----
    InputWarning
        If a cell is so large that the other features hardly count, or columns vary so little beside another one that
        they are dropped (see the notes) and count for nothing.

    Notes
    -----
    Dense X: QR factorization, then the SVD of the triangular factor; O(n D min(n, D)). Directions with a singular
    value below 1e-9 of the largest are dropped. Sparse X is never made dense: the Gram matrix of the shorter side
    (D × D or n × n, 8 bytes a number) is formed by a sparse product, centred by a rank-one term, and decomposed. Then
    directions below about 1e-6 of the largest singular value are rounding errors, and dropped. A sparse X with more
    than 5,000 rows and more than 5,000 columns is not decomposed: `ridge` uses conjugate gradients on products with X.
    One with more than 2,000 of both is decomposed when that is needed: `ridge` with a penalty above 0 and leave-one-out
    share an inverse of the Gram matrix, in single precision where that will do.

    Features of a fit to chunks are read again for each sum over the instances. Their Gram matrix is formed up to 20,000
    columns, and decomposed at once up to 2,000; beyond 20,000, each step of conjugate gradients is a pass.

    Examples
    --------
    >>> space = FeatureSpace([[0.0], [1.0], [2.0], [3.0]])
    >>> coef, intercept = space.ridge(np.array([[1.0], [3.0], [5.0], [7.0]]), alpha=0)
    >>> coef.round(6), intercept.round(6)
    (array([[2.]]), array([1.]))
    """

    def __init__(
        self,
        X: Features,
        *,
        fit_intercept: bool = True,
        sample_weight: ArrayLike | None = None,
        scale: str | Scaling = "none",
        feature_names: Sequence[str] | NDArray[Any] | None = None,
    ) -> None:
        features = as_features(X, names=feature_names)
        self._names = getattr(X, "columns", None) if feature_names is None else feature_names
        self.fit_intercept = fit_intercept
        n, D = features.shape
        self.weights = as_weights(sample_weight, n)
        if self.weights is not None and not (self.weights > 0).all():
            raise InvalidInputError(
                "weights must be above 0", argument="sample_weight", advice="leave out instances which weigh nothing"
            )
        self._root = None if self.weights is None else np.sqrt(self.weights)
        if not isinstance(scale, Scaling):
            check_choice("scale", scale, SCALES)
            scale = learn_scaling(scale, features, relative_weights(self.weights))
        self.scaling, self.X = scale, scale.apply(features)
        self.neighbours: NDArray[np.int64] | None = None
        self._problem: RidgeProblem | None = None
        self._last: RidgeAt | None = None
        self.mean = column_means(self.X, self.weights) if fit_intercept else np.zeros(D)
        self._by_columns = n >= D or in_parts(self.X)
        self._basis: NDArray[np.float64] | None = None
        self._singular: NDArray[np.float64] = np.zeros(0)
        self._iterative = self.too_large(self.X)
        side = D if in_parts(self.X) else min(n, D)
        dense = not is_sparse(self.X) and not in_parts(self.X)
        if not self._iterative and (dense or side <= _EAGER):
            self._decompose()

    def other(self, X: Features) -> CheckedFeatures:
        """Return other features for models that were fitted to this space: checked, and without names."""
        return as_features(X, reset=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns of X."""
        return self.X.shape

    @staticmethod
    def too_large(X: CheckedFeatures) -> bool:
        """Whether features have too many rows and columns for a decomposition, unless it is needed.

        Sparse ones in memory have more than 5,000 of both, features in passes more than 20,000 columns: there a product
        with X takes a pass, and conjugate gradients take many.
        """
        return X.shape[1] > LARGEST_IN_PASSES if in_parts(X) else is_sparse(X) and min(X.shape) > _LARGEST

    def scaling_for(self, scale: str) -> Scaling:
        """Return how the features of this space are scaled; refuse a model that wants them scaled in another way."""
        if scale not in ("auto", self.scaling.kind):
            raise InvalidInputError(
                f"the FeatureSpace given as X has scale={self.scaling.kind!r}, the model {scale!r}",
                advice="give both the same",
            )
        return self.scaling

    def _decompose(self) -> NDArray[np.float64]:
        """Return V if there are no more columns than rows, otherwise U; compute it and the singular values once."""
        if self._basis is None:
            X: Any = self.X
            if is_sparse(X) or in_parts(X):
                self._basis, self._singular, least = _gram_factor(self.problem().gram, max(X.shape))
            else:
                self._basis, self._singular, least = _triangular_factor(X, self.mean, self._by_columns, self._root)
            _warn_of_lost_columns(X, self.mean, self.weights, least, self._names)
        return self._basis

    def weighted(self, table: Any) -> Any:
        """Return a dense or sparse table of n rows, each multiplied by the square root of its instance's weight."""
        return scaled_rows(table, self._root)

    def unweighted(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a table of n rows, each divided by the square root of its instance's weight."""
        return table if self._root is None else table / self._root[:, None]

    def cross(self, T: CheckedFeatures) -> NDArray[np.float64]:
        """Return XcᵀTc of shape (D, d), for dense or sparse targets T of shape (n, d)."""
        if is_sparse(T) or in_parts(self.X):
            product, sums = cross_products(self.X.astype(np.float64, copy=False), T, self.weights)
            return np.asarray(product - np.outer(self.mean, sums))
        return self._transposed(self._centred_targets(T))

    def inverts(self, alpha: float) -> bool:
        """Whether `ridge` goes by the inverse that leave-one-out has, which a small penalty would lose in rounding."""
        lazy = not self._iterative and self._basis is None
        return lazy and alpha > _LEAST * float(np.trace(self.problem().gram))

    def ridge(
        self, T: CheckedFeatures, alpha: float, *, tol: float = 1e-12, solved: NDArray[Any] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Regress targets on the features.

        Parameters
        ----------
        T : ndarray or csr_array of shape (n, d)
            Targets.
        alpha : float
            Weight of the penalty, at least 0; with 0 the solution of least norm.
        tol : float, default=1e-12
            Relative residual at which conjugate gradients end, where X is too large to be decomposed.
        solved : ndarray of shape (m, d), optional
            What ``leave_one_out(alpha).coefficients(T)`` returned, if that is known: it is taken where the space
            `inverts`.

        Returns
        -------
        coef : ndarray of shape (D, d), float64
        intercept : ndarray of shape (d,), float64
            0 without an intercept.

        Raises
        ------
        InvalidInputError
            If T has another number of rows than X, or alpha is negative.
        """
        self._check(T, alpha)
        if self._iterative:
            coef = self._solve(T, alpha, tol)
        elif self.inverts(alpha):
            found = self.leave_one_out(alpha).coefficients(T) if solved is None else solved
            coef = found if self._by_columns else np.asarray(self.X.T @ found)
        else:
            s, targets = self.principal(T)
            coef = self.lift(targets * (s / (s**2 + alpha))[:, None])
        target_mean = column_means(T, self.weights) if self.fit_intercept else 0.0
        return coef, target_mean - self.mean @ coef

    def problem(self) -> RidgeProblem:
        """Return the regression for leave-one-out: predictions, errors, and the choice of a penalty, all exact.

        Its Gram matrix, of the shorter side of X, is computed once.

        Examples
        --------
        >>> X, T = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([[0.0], [1.0], [1.0], [1.0]])
        >>> problem = FeatureSpace(X).problem()
        >>> best = problem.best_alpha(T)
        >>> problem.at(best.alpha).held_out(T).round(2).ravel()
        array([1.  , 0.56, 0.7 , 0.91])
        """
        if self._problem is None:
            self._problem = ridge_problem(self.X, self.weights, self.fit_intercept)
        return self._problem

    def leave_one_out(self, alpha: float) -> RidgeAt:
        """Return the regression with a penalty, for its leave-one-out predictions; the last one is kept."""
        if self._last is None or self._last.alpha != alpha:
            problem = self.problem()
            self._last = problem.at(alpha, problem.precision(alpha) if self.inverts(alpha) else np.float64)
        return self._last

    def principal(self, T: CheckedFeatures) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the singular values s and UᵀTc, which are the regression in principal coordinates of the features.

        Parameters
        ----------
        T : ndarray or csr_array of shape (n, d)
            Targets.

        Returns
        -------
        s : ndarray of shape (r,)
        targets : ndarray of shape (r, d)
            For W = ``lift(A)``, ‖XcW - Tc‖² is ‖diag(s)A - targets‖² plus a constant, and ‖W‖ is ‖A‖.
        """
        basis = self._decompose()
        if self._by_columns:
            return self._singular, (basis.T @ self.cross(T)) / self._singular[:, None]
        # U is orthogonal to 1, or √w, so T need not be centred.
        return self._singular, _product(basis.T, scaled_rows(T, self._root))

    def lift(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return VA of shape (D, d), the coefficients of features from those of principal coordinates (r, d)."""
        basis = self._decompose()
        return basis @ A if self._by_columns else self._transposed(basis @ (A / self._singular[:, None]))

    def coordinates(self) -> tuple[Callable[..., Any], Callable[..., Any], NDArray[np.float64]]:
        """Return products with the features in principal coordinates, and the squared lengths of their columns.

        Returns
        -------
        forward, back : callable
            Z A for A of shape (r, d), and ZᵀR for R of shape (n, d), where Z = U diag(s), which takes 8 n r bytes. A
            space too large for a decomposition has Z = Xc.
        squares : ndarray of shape (r,)
        """
        if self._iterative:
            weights = np.ones(self.shape[0]) if self.weights is None else self.weights
            squares = column_squares(self.X, weights) - weights.sum() * self.mean**2
            return self._centred, self._transposed, np.maximum(squares, 0.0)
        basis = self._decompose()
        Z = self._centred(basis) if self._by_columns else basis * self._singular
        return (lambda A: Z @ A), (lambda R: Z.T @ R), self._singular**2

    def lift_coordinates(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return coefficients of features from those of `coordinates`."""
        return A if self._iterative else self.lift(A)

    def predict(self, coef: NDArray[Any], intercept: NDArray[Any]) -> NDArray[np.float64]:
        """Return X coef + intercept, of shape (n, d)."""
        return linear(self.X, coef, intercept)

    def hat_factor(self, alpha: float) -> NDArray[np.float64]:
        r"""Return B, with BBᵀ the hat matrix of ridge regression.

        .. math:: H_\alpha = X_c (X_c^T X_c + \alpha I)^{-1} X_c^T = B B^T,
            \quad B = U\, \mathrm{diag}\bigl(s / \sqrt{s^2 + \alpha}\bigr)

        Parameters
        ----------
        alpha : float
            Weight of the penalty, at least 0.

        Returns
        -------
        ndarray of shape (n, r), float64
            r is the rank of Xc; B takes 8 n r bytes, and its columns are orthogonal. A space that was too large to be
            decomposed is decomposed for this, which takes 8 min(n, D)² bytes.
        """
        check_number("alpha", alpha, low=0)
        basis = self._decompose()
        shrunk = np.sqrt(self._singular**2 + alpha)
        return self._centred(basis / shrunk) if self._by_columns else basis * (self._singular / shrunk)

    def explained(self, T: CheckedFeatures, alpha: float) -> NDArray[np.float64]:
        """Return TcᵀHTc of shape (d, d): the part of the targets' scatter that ridge regression explains.

        Parameters
        ----------
        T : ndarray or csr_array of shape (n, d)
            Targets.
        alpha : float
            Weight of the penalty, at least 0.
        """
        self._check(T, alpha)
        if self.by_coefficients(alpha):
            product = self.cross(T).T @ (self._solve(T, alpha) if self._iterative else self.ridge(T, alpha)[0])
            return (product + product.T) / 2
        root = self.explained_root(T, alpha)
        return root.T @ root

    def by_coefficients(self, alpha: float) -> bool:
        """Whether `explained` goes by coefficients, since the space is not decomposed."""
        return self._iterative or (in_parts(self.X) and self.inverts(alpha))

    def explained_root(self, T: CheckedFeatures, alpha: float) -> NDArray[np.float64]:
        """Return A of shape (r, d), with AᵀA what `explained` returns; r is the rank of the features.

        Parameters
        ----------
        T : ndarray or csr_array of shape (n, d)
            Targets.
        alpha : float
            Weight of the penalty, at least 0.
        """
        self._check(T, alpha)
        s, targets = self.principal(T)
        return targets * (s / np.sqrt(s**2 + alpha))[:, None]

    def _check(self, T: Any, alpha: float) -> None:
        check_number("alpha", alpha, low=0)
        if T.shape[0] != self.shape[0]:
            raise InvalidInputError(f"the targets have {T.shape[0]} rows, the features {self.shape[0]}")

    def _centred_targets(self, T: CheckedFeatures) -> NDArray[np.float64]:
        """Return Tc, dense."""
        targets = as_dense(T)
        if self.fit_intercept:
            targets = targets - (targets.mean(axis=0) if self.weights is None else column_means(targets, self.weights))
        return scaled_rows(targets, self._root)

    def _centred(self, W: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Xc W."""
        return scaled_rows(linear(self.X, W, -(self.mean @ W)), self._root)

    def _transposed(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Xcᵀ A."""
        A = scaled_rows(A, self._root)
        return np.asarray(self.X.T @ A) - np.outer(self.mean, A.sum(axis=0))

    def _forth_and_back(self, W: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return XcᵀXc W, in one pass."""
        found: Any = None
        for part, root in together(self.X, self._root):
            A = scaled_rows(scaled_rows(linear(part, W, -(self.mean @ W)), root), root)
            found = added(found, np.asarray(part.T @ A) - np.outer(self.mean, A.sum(axis=0)))
        return np.asarray(found)

    def _solve(self, T: CheckedFeatures, alpha: float, tol: float = 1e-12) -> NDArray[np.float64]:
        """Return the ridge coefficients by conjugate gradients on the shorter side, from products with X alone."""
        if self._by_columns:
            return solve_positive(lambda W: self._forth_and_back(W) + alpha * W, self.cross(T), tol=tol)
        targets = self._centred_targets(T)
        dual = solve_positive(lambda A: self._centred(self._transposed(A)) + alpha * A, targets, tol=tol)
        return self._transposed(dual)


def _product(left: NDArray[np.float64], T: CheckedFeatures) -> NDArray[np.float64]:
    """Return left T for dense or sparse T."""
    return np.asarray((T.T @ left.T).T if is_sparse(T) else left @ T, dtype=np.float64)


def _triangular_factor(
    X: NDArray[Any], mean: NDArray[np.float64], by_columns: bool, root: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return V (or U) and the singular values of dense centred features above a least one, by the SVD of R of QR."""
    centred = scaled_rows(X - mean, root)
    R = np.linalg.qr(centred if by_columns else centred.T, mode="r")
    _, s, basis = scipy.linalg.svd(R, check_finite=False)
    least = 1e-9 * s[0]
    kept = s > least
    return np.ascontiguousarray(basis[kept].T), s[kept], float(least)


def _gram_factor(gram: NDArray[np.float64], longer: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return V (or U) and the singular values of features above a least one, by the smaller Gram matrix."""
    squares, basis = scipy.linalg.eigh(gram, driver="evd", check_finite=False)
    squares, basis = squares[::-1], basis[:, ::-1]
    least = longer * np.finfo(np.float64).eps * squares[0]
    kept = squares > least
    return np.ascontiguousarray(basis[:, kept]), np.sqrt(squares[kept]), float(np.sqrt(max(least, 0.0)))


def _warn_of_lost_columns(
    X: CheckedFeatures, mean: NDArray[np.float64], weights: NDArray[np.float64] | None, least: float, names: Any
) -> None:
    """Warn if columns vary, but no more than the directions that were dropped, so that they count for nothing.

    Columns which are constant up to rounding, or depend on others, are dropped without a loss.
    """
    n, D = X.shape
    weight: Any = np.ones(n) if weights is None else weights
    total = column_squares(X, weight)
    squares = total - weight.sum() * mean**2
    lost = np.flatnonzero((squares > _CONSTANT * total) & (squares <= least**2))
    if not len(lost) or (not in_parts(X) and dwarfed(X)):  # `as_features` has warned of a single cell
        return
    widest = int(np.argmax(squares))
    column = np.concatenate([as_dense(part[:, [widest]]).ravel() for (part,) in together(X)])
    furthest = column[np.argmax(np.abs(column - mean[widest]))]
    warnings.warn(
        InputWarning(
            f"{len(lost)} of {D} features (the first in {named_column(int(lost[0]), names)}) vary so little beside "
            f"{named_column(widest, names)}, which holds {furthest:g}, that the regression leaves them out: leave out "
            "its row if that is an error, or scale the features, for example with sklearn.preprocessing.MaxAbsScaler"
        ),
        stacklevel=callers_level(),
    )
