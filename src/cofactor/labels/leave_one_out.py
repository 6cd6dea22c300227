r"""Exact leave-one-out of ridge regression, for any penalty, without a fit for each instance.

With :math:`e_i` the error of instance i in a fit to all instances, and :math:`h_i` its leverage, its error in a fit to
all other instances is :math:`e_i / (1 - h_i)` (Allen 1974). Both follow from one inverse matrix for each penalty, of
the smaller side of the features: :math:`(X_c^T X_c + \alpha I)^{-1}` or :math:`(X_c X_c^T + \alpha I)^{-1}`. An
inverse by Cholesky factors takes a sixth of the time of a decomposition into eigenvectors, and about six penalties are
tried of 19.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from cofactor.chunked import MappedTable, accumulate, batches, is_chunked, is_sparse, take_rows, vstack, zip_chunks
from cofactor.errors import InvalidInputError
from cofactor.kernels.regression import quadratic_forms
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.labels.features import CheckedFeatures, column_means, cross_products, scaled_rows

#: Penalties that are tried, in units of the mean squared length of the centred instances times their weights.
GRID = 10.0 ** np.linspace(-3, 3, 19)

_CELLS = 1 << 22  # numbers of a block of errors
_SPARSE_SHARE = 0.03  # share of targets that are not 0 up to which a sparse product is faster than a dense one
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
    grid_index: int
    error: float


def least_error(error: Callable[[int], float], start: int, ends: tuple[int, int], steps: Iterable[int]) -> int:
    """Return the place from which no step lowers the error: steps of each length are taken for as long as it falls.

    Parameters
    ----------
    error : callable
        Returns the error of a place; it is kept, so that no place is asked for twice.
    start : int
    ends : tuple of int
        First and last place.
    steps : iterable of int
        Lengths, one after the other.

    Examples
    --------
    >>> least_error(lambda place: abs(place - 5), 0, (0, 9), (4, 2, 1))
    5
    """
    known, best = cache(error), start
    for step in steps:
        before = None
        while before != best:
            before = best
            near = (best, best - step, best + step)
            best = min((place for place in near if ends[0] <= place <= ends[1]), key=known)
    return best


class RidgeLOO:
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
        part: Any = (vstack(T) if is_chunked(T) else T) if rows is None else T[rows]
        return np.asarray((part.toarray() if is_sparse(part) else part) - self.errors(T, rows, coef))

    def errors(
        self, T: CheckedFeatures, rows: NDArray[Any] | None = None, coef: NDArray[Any] | None = None
    ) -> NDArray[np.float64]:
        """Return targets less their leave-one-out predictions; see `held_out`."""
        return vstack(self.errors_in_chunks(T, rows, coef))

    def errors_in_chunks(
        self, T: CheckedFeatures, rows: NDArray[Any] | None = None, coef: NDArray[Any] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Yield what `errors` returns, the rows of a chunk of the features at a time."""
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

    def at(self, alpha: float, dtype: Any = np.float64) -> RidgeLOO:
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
            raise lost_in_rounding(alpha)
        return RidgeLOO(self, alpha, found)

    def best_alpha(self, T: CheckedFeatures, start: int = 9, steps: tuple[int, ...] = (4, 2, 1)) -> BestAlpha:
        """Choose the penalty with the least squared leave-one-out error of targets T, of `GRID` times `unit`.

        From place `start`, steps of four places, then of two, then of one, are taken for as long as the error falls.
        Where T has more than 2,048 columns or 33 million numbers, 256 seeded combinations of its columns with signs at
        random stand for them: their squared errors have the same expectation.
        """
        few = self._sketched(T) if T.shape[1] > _MANY or T.shape[0] * T.shape[1] > _LARGE_TABLE else T

        @cache
        def error(index: int) -> float:
            alpha = self.unit * float(GRID[index])
            return self.at(alpha, self.precision(alpha)).error(few)

        best = least_error(error, min(max(start, 0), len(GRID) - 1), (0, len(GRID) - 1), steps)
        return BestAlpha(self.unit * float(GRID[best]), best, error(best))

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
        super().__init__(centred_gram(X, self.mean, weights), n, weights, fit_intercept)

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
            X, T = take_rows(X, rows), T[rows]
        for chunk, targets in zip_chunks(X, T):
            fitted = np.asarray(chunk @ coef, dtype=np.float64)
            fitted += mean - self.mean @ coef
            yield _minus(targets, fitted)

    def n_at_once(self, T: CheckedFeatures) -> int:
        """See `RidgeProblem.n_at_once`: of all, where they are chunked."""
        return T.shape[1] if is_chunked(self.X) else super().n_at_once(T)

    def _sketched(self, T: CheckedFeatures) -> Any:
        return MappedTable(T, sketched, _SKETCH) if is_chunked(self.X) else sketched(T)

    def _cross(self, T: CheckedFeatures) -> NDArray[np.float64]:
        """Return XcᵀTc; that of the last targets is kept where it takes a pass, since penalties are tried in turn."""
        if self._last is not None and self._last[0] is T:
            return self._last[1]
        product, sums = cross_products(self.X, T, self.weights)
        product -= np.outer(self.mean, sums)
        self._last = (T, product) if is_chunked(self.X) else None
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
    if X.shape[0] >= X.shape[1] or is_chunked(X):
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


def centred_gram(
    X: CheckedFeatures, mean: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return XcᵀWXc of features in memory or in parts."""
    D = X.shape[1]
    gram: Any = None
    shift = 0.0  # weight of the rows that were not centred
    for chunk, some in zip_chunks(X, weights):
        root = None if some is None else np.sqrt(some)
        if not is_sparse(chunk):
            centred = scaled_rows(chunk - mean, root)
            gram = accumulate(gram, centred.T @ centred)
            continue
        scaled: Any = scaled_rows(chunk, root)
        turned: Any = scaled.T.tocsr()
        gram = np.zeros((D, D)) if gram is None else gram
        shift += chunk.shape[0] if some is None else some.sum()
        for rows in batches(D, max(1, _CELLS // D)):  # the sparse product would take more than the dense one
            gram[rows] += (turned[rows] @ scaled).toarray()
    for rows in batches(D, max(1, _CELLS // D)) if shift else ():
        gram[rows] -= shift * np.outer(mean[rows], mean)
    return np.asarray(gram)


def lost_in_rounding(alpha: float) -> InvalidInputError:
    """Return the error for a penalty so small that rounding makes the matrix singular."""
    return InvalidInputError("so small a penalty is lost in rounding", argument="alpha", found=alpha, advice="raise it")


def _inverse(gram: NDArray[np.float64], alpha: float, dtype: Any) -> NDArray[Any] | None:
    """Return the inverse of gram + alpha I by Cholesky factors; None if rounding makes it singular."""
    factor = np.array(gram, dtype=dtype, order="F")
    factor[np.diag_indices(len(factor))] += alpha
    lost = _ROUNDED * np.finfo(dtype).eps * factor.diagonal()
    single = dtype == np.float32
    potrf, potri = (lapack.spotrf, lapack.spotri) if single else (lapack.dpotrf, lapack.dpotri)
    factor, failed = potrf(factor, lower=1, clean=0, overwrite_a=1)
    if failed or not (factor.diagonal() ** 2 > lost).all():  # on some processors NaN is no failure
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
    if is_chunked(X):
        return np.concatenate([_forms(chunk, mean, M) for (chunk,) in zip_chunks(X)])
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
    if is_sparse(T) and T.nnz < _SPARSE_SHARE * T.shape[0] * T.shape[1]:
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
