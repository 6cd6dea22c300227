"""Linear regression of several targets at once, with a quadratic coupling of the targets and a penalty."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from cofactor.kernels import vectors
from cofactor.penalties import Penalty
from cofactor.problems.penalized import PenalizedProblem

_DENSE_EIGENVALUES = 400  # columns up to which computing all eigenvalues is faster than the largest one alone
#: Multiplications with a dense matrix which take as long as one with a stored entry of a sparse matrix.
_SPARSE_COST = 32


class RegressionProblem(PenalizedProblem):
    r"""Penalized least squares with coupled targets.

    .. math:: J(W) = \|A W - B\|_F^2 + \alpha \operatorname{tr}(W R W^\top) + p(W)

    The problem sees A and B through AᵀA, AᵀB and ‖B‖² alone, so an evaluation costs O(D² d + D d²), whatever the
    number of rows. Both convex steps of GroPLE (Kumar's thesis, chapter 6) are of this form: (6.4) with A = U and no
    coupling, (6.11) with A = X, B = U and R the dissimilarities of the columns of U, where the sum must run over both i
    and j (corrections.md, C33). The gradient is :math:`2 (A^\top A W - A^\top B + \alpha W R)` (corrections.md, C29,
    C34).

    J is convex if :math:`\lambda_{\min}(A^\top A) + \alpha \lambda_{\min}(R) \ge 0`, and unbounded below if this number
    is negative (corrections.md, C35).

    Parameters
    ----------
    gram : ndarray or LinearOperator of shape (D, D)
        AᵀA.
    cross : ndarray of shape (D, d)
        AᵀB.
    norm : float
        ‖B‖²; a constant that makes values those of J.
    penalty : Penalty, optional
        The penalty p.
    alpha : float, default=0
        Weight of the coupling, not negative.
    coupling : ndarray of shape (d, d), optional
        R, symmetric; None for no coupling.
    dtype : dtype, default=float64
        Of the vector of parameters.

    Examples
    --------
    A lasso with one feature and one target, ‖A‖² = 4, A·B = 6: w = (6 - 4/2) / 4.

    >>> from cofactor.penalties import L1
    >>> from cofactor.solvers import proximal_gradient
    >>> problem = RegressionProblem(np.array([[4.0]]), np.array([[6.0]]), 10.0, L1(4.0))
    >>> proximal_gradient(problem, np.zeros(1), step=1 / problem.lipschitz()).x
    array([1.])
    """

    def __init__(
        self,
        gram: Any,
        cross: np.ndarray,
        norm: float,
        penalty: Penalty | None = None,
        *,
        alpha: float = 0.0,
        coupling: np.ndarray | None = None,
        dtype: np.typing.DTypeLike = np.float64,
    ) -> None:
        super().__init__({"W": cross.shape}, {} if penalty is None else {"W": penalty}, True, dtype)
        self._gram = np.asarray(gram, dtype=self.dtype) if isinstance(gram, np.ndarray) else gram
        self._cross = np.asarray(cross, dtype=self.dtype)
        self._norm = norm
        self._coupling = None
        if coupling is not None and alpha > 0:
            self._coupling = np.asarray(alpha * coupling, dtype=self.dtype)

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the smooth part of J at `x` and write its gradient."""
        W = self.layout.views(x)["W"]
        product = np.asarray(self._gram @ W)
        if self._coupling is not None:
            product += W @ self._coupling
        product -= self._cross
        np.multiply(product, 2, out=self.layout.views(gradient)["W"])
        product -= self._cross
        value = self._norm + vectors.dot(x, product.reshape(-1))  # <W, G W + α W R - 2 AᵀB>
        return value + self.add_penalties(x, gradient)

    def lipschitz(self) -> float:
        r"""Return :math:`2 (\sigma_{\max}(A)^2 + \alpha \|R\|_2)`, which bounds the slope of the gradient.

        The operator of the gradient is a Kronecker sum, its eigenvalues are
        :math:`2 (\lambda_i(A^\top A) + \alpha \lambda_j(R))`; so the bound is the true constant where R is positive
        semidefinite. The Frobenius norms of (6.6) and (6.14) are loose in the first case, and no bound in the second
        (corrections.md, C30, C37).
        """
        largest = largest_eigenvalue(self._gram)
        if self._coupling is not None:
            largest += float(np.abs(np.linalg.eigvalsh(self._coupling)).max())
        return 2 * largest


def largest_eigenvalue(gram: Any) -> float:
    """Return the largest eigenvalue of a positive semidefinite matrix or operator.

    Examples
    --------
    >>> largest_eigenvalue(np.diag([1.0, 3.0]))
    3.0
    """
    n = gram.shape[0]
    if n < 3 or (isinstance(gram, np.ndarray) and n <= _DENSE_EIGENVALUES):
        dense = gram if isinstance(gram, np.ndarray) else gram @ np.eye(n)
        return max(float(np.linalg.eigvalsh(dense)[-1]), 0.0)
    start = np.random.default_rng(0).normal(size=n)  # the same number on every call
    if not np.any(gram @ start):
        return 0.0
    return float(eigsh(gram, k=1, v0=start, return_eigenvectors=False)[0])


def feature_gram(X: np.ndarray | sparse.csr_array, mean: np.ndarray | None = None) -> Any:
    """Return XᵀX for centred columns of X, as a matrix or, where that is cheaper to use, as an operator.

    A sparse X is never centred in memory. The matrix needs D² numbers and is made where products with it cost less
    than products with X and Xᵀ; so it is never much larger than X itself.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
    mean : ndarray of shape (D,), optional
        What is subtracted from each row; None for X as it is.

    Returns
    -------
    ndarray or LinearOperator of shape (D, D)

    Examples
    --------
    >>> feature_gram(np.array([[1.0], [3.0], [5.0]]), np.array([3.0]))
    array([[8.]])
    """
    n, D = X.shape
    if sparse.issparse(X):
        if 2 * _SPARSE_COST * X.nnz >= D * D:
            gram = np.asarray((X.T @ X).toarray(), dtype=np.float64)
            return gram if mean is None else gram - n * np.outer(mean, mean)
    elif 2 * n >= D:
        centred = np.asarray(X, dtype=np.float64) if mean is None else X - mean
        return centred.T @ centred
    X = X.astype(np.float64, copy=False)
    Xt = X.T.tocsr() if sparse.issparse(X) else X.T

    def product(W: np.ndarray) -> np.ndarray:
        image = X @ W
        if mean is not None:
            image -= mean @ W  # its columns now sum to 0, so Xᵀ needs no centring
        return np.asarray(Xt @ image)

    return LinearOperator((D, D), matvec=product, matmat=product, dtype=np.float64)
