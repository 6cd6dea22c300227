"""Ridge regression: one decomposition of the features serves all penalties and all targets.

A `FeatureSpace` can be given in place of X to the `fit` of any label model::

    space = FeatureSpace(X)
    for alpha in grid:
        PLST(alpha=alpha).fit(space, Y)

A model that regresses calls `TrainingData.feature_space`, which returns the space that the caller gave, or a new one.
Models that do not regress use the features of the space alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from cofactor.checks import as_weights, check_choice, check_number, relative_weights
from cofactor.chunked import accumulate, as_dense, is_chunked, is_sparse, zip_chunks
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels.features import (
    CheckedFeatures,
    as_features,
    column_means,
    column_squares,
    cross_products,
    has_huge_cell,
    named_column,
    scaled_rows,
)
from cofactor.labels.leave_one_out import RidgeLOO, RidgeProblem, ridge_problem
from cofactor.labels.scaling import SCALES, Scaling, learn_scaling
from cofactor.model.convergence import callers_level
from cofactor.solvers.linear import solve_positive
from cofactor.typing import Features

#: Columns of chunked features up to which their Gram matrix is formed: 3.2 GB.
LARGEST_CHUNKED = 20_000
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

    #: Sparse features with more rows and more columns have no Gram matrix: one of 5,000 rows has 200 MB,
    #: and takes about 20 s to decompose.
    largest: ClassVar[int] = 5000

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
        self._last: RidgeLOO | None = None
        self.mean = column_means(self.X, self.weights) if fit_intercept else np.zeros(D)
        self._by_columns = n >= D or is_chunked(self.X)
        self._basis: NDArray[np.float64] | None = None
        self._singular: NDArray[np.float64] = np.zeros(0)
        self._iterative = self.too_large(self.X)
        side = D if is_chunked(self.X) else min(n, D)
        dense = not is_sparse(self.X) and not is_chunked(self.X)
        if not self._iterative and (dense or side <= _EAGER):
            self._decompose()

    def other(self, X: Features) -> CheckedFeatures:
        """Return other features for models that were fitted to this space: checked, and without names."""
        return as_features(X, reset=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns of X."""
        return self.X.shape

    @classmethod
    def too_large(cls, X: CheckedFeatures) -> bool:
        """Whether features have too many rows and columns for a decomposition or an inverse, unless it is needed.

        Sparse ones in memory have more than 5,000 of both, chunked features more than 20,000 columns: there a product
        with X takes a pass, and conjugate gradients take many.
        """
        return X.shape[1] > LARGEST_CHUNKED if is_chunked(X) else is_sparse(X) and min(X.shape) > cls.largest

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
            if is_sparse(X) or is_chunked(X):
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
        if is_sparse(T) or is_chunked(self.X):
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

    def leave_one_out(self, alpha: float) -> RidgeLOO:
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
        return self._iterative or (is_chunked(self.X) and self.inverts(alpha))

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
        for chunk, root in zip_chunks(self.X, self._root):
            A = scaled_rows(scaled_rows(linear(chunk, W, -(self.mean @ W)), root), root)
            found = accumulate(found, np.asarray(chunk.T @ A) - np.outer(self.mean, A.sum(axis=0)))
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
    if not len(lost) or (not is_chunked(X) and has_huge_cell(X)):  # `as_features` has warned of a single cell
        return
    widest = int(np.argmax(squares))
    column = np.concatenate([as_dense(chunk[:, [widest]]).ravel() for (chunk,) in zip_chunks(X)])
    furthest = column[np.argmax(np.abs(column - mean[widest]))]
    warnings.warn(
        InputWarning(
            f"{len(lost)} of {D} features (the first in {named_column(int(lost[0]), names)}) vary so little beside "
            f"{named_column(widest, names)}, which holds {furthest:g}, that the regression leaves them out: leave out "
            "its row if that is an error, or scale the features, for example with sklearn.preprocessing.MaxAbsScaler"
        ),
        stacklevel=callers_level(),
    )
