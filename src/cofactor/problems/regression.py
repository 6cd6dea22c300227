"""Linear regressions of several targets at once: of labels on features, on other labels, and through few factors.

A quadratic form may couple targets; of `GroupEmbeddingProblem` each group of labels uses factors of its own.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from cofactor.kernels import vectors
from cofactor.penalties import GroupL21, Penalty
from cofactor.problems.base import PenalizedProblem
from cofactor.solvers.apg import proximal_gradient

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


class LabelFeatureProblem(PenalizedProblem):
    r"""Penalized least squares in which each target is regressed on features and on the other labels.

    .. math:: J(W, S) = \|X W + P S - Y\|_F^2 + \alpha \operatorname{tr}(W R W^\top) + p_W(W) + p_S(S),
        \qquad S_{jj} = 0

    P holds a column for each label: Y itself, or something that is known of it. The problem sees the data through inner
    products alone, so an evaluation costs O(D² L + D L²), whatever the number of rows.

    Parameters
    ----------
    gram : ndarray or LinearOperator of shape (D, D)
        XᵀX.
    between : ndarray of shape (D, L)
        XᵀP.
    label_gram : ndarray of shape (L, L)
        PᵀP.
    cross : ndarray of shape (D, L)
        XᵀY.
    label_cross : ndarray of shape (L, L)
        PᵀY.
    norm : float
        ‖Y‖².
    penalties : tuple of Penalty
        Those of W and of S.
    alpha : float
        Weight of the coupling, not negative.
    coupling : ndarray of shape (L, L)
        R, symmetric and positive semidefinite.

    Examples
    --------
    Two labels which are the same, and a feature that says nothing: each label is the other one.

    >>> from cofactor.penalties import L1
    >>> from cofactor.solvers import proximal_gradient
    >>> ones, zeros = np.ones((2, 2)), np.zeros((1, 2))
    >>> problem = LabelFeatureProblem(
    ...     np.array([[1.0]]), zeros, 4 * ones, zeros, 4 * ones, 8.0, (L1(1.0), L1(0.0)), 0.0, np.zeros((2, 2))
    ... )
    >>> x = proximal_gradient(problem, np.zeros(6), step=1 / problem.lipschitz(), tol=1e-12).x
    >>> problem.layout.views(x)["S"].round(3)
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(
        self,
        gram: Any,
        between: np.ndarray,
        label_gram: np.ndarray,
        cross: np.ndarray,
        label_cross: np.ndarray,
        norm: float,
        penalties: tuple[Penalty, Penalty],
        alpha: float,
        coupling: np.ndarray,
    ) -> None:
        shapes = {"W": cross.shape, "S": label_cross.shape}
        super().__init__(shapes, dict(zip("WS", penalties, strict=True)), True, np.float64)
        self._gram, self._between, self._label_gram = gram, between, label_gram
        self._cross, self._label_cross, self._norm = cross, label_cross, norm
        self._coupling = alpha * coupling

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the smooth part of J at `x` and write its gradient; the diagonal of S has none, and stays 0."""
        arrays, slopes = self.layout.views(x), self.layout.views(gradient)
        W, S = arrays["W"], arrays["S"]
        slopes["W"][...] = self._gram @ W
        slopes["W"] += self._between @ S
        slopes["W"] += W @ self._coupling
        slopes["W"] -= 2 * self._cross
        slopes["S"][...] = self._between.T @ W
        slopes["S"] += self._label_gram @ S
        slopes["S"] -= 2 * self._label_cross
        value = self._norm + vectors.dot(x, gradient)
        slopes["W"] += self._cross
        slopes["S"] += self._label_cross
        gradient *= 2
        np.fill_diagonal(slopes["S"], 0)
        return value + self.add_penalties(x, gradient)

    def lipschitz(self) -> float:
        """Return a bound of the slope of the gradient, at most twice the least one."""
        largest = largest_eigenvalue(self._gram) + float(np.linalg.eigvalsh(self._coupling)[-1])
        return 2 * (largest + float(np.linalg.eigvalsh(self._label_gram)[-1]))


class GroupEmbeddingProblem(PenalizedProblem):
    r"""Objective of GroPLE's embedding of labels, (6.1) of Kumar's thesis.

    .. math:: J(U, V) = \|Y - U V\|_F^2 + \lambda_1 \|U\|_F^2 + \lambda_2 \sum_{k=1}^{K} \|V^k\|_{2,1}

    with Y in {-1, 1} and V^k the columns of V which belong to the labels of group k. For any V, the best U is
    :math:`Y W` with :math:`W = V^\top (V V^\top + \lambda_1 I)^{-1}` (6.3). So the free arrays are W (L × d) and V
    (d × L), and of Y only YᵀY is needed: a round costs O(L² d) for any number of instances.

    `update` minimises over V by accelerated proximal gradients from the present V, whose first step length is one over
    :math:`2 \sigma_{\max}(U)^2` (corrections.md, C30), then over the scales of the factors, then over U. None of these
    raises J, even if the first is not finished (corrections.md, C31). The scales are no part of algorithm 6 of the
    thesis, but save most of its rounds: J(U diag(c), diag(c)⁻¹V) is least where
    :math:`2 \lambda_1 c_j^3 \|U_j\|^2 = \lambda_2 \sum_k \|V^k_j\|` for each factor j.

    Parameters
    ----------
    gram : ndarray of shape (L, L)
        YᵀY, labels ordered by group.
    n_factors : int
        d.
    alpha_u, alpha_v : float
        λ₁ and λ₂.
    sizes : ndarray of shape (K,)
        Numbers of labels in the groups.
    inner_steps : int, default=10
        Proximal steps in one update.
    """

    def __init__(
        self,
        gram: np.ndarray,
        n_factors: int,
        alpha_u: float,
        alpha_v: float,
        sizes: np.ndarray,
        inner_steps: int = 10,
    ) -> None:
        L = len(gram)
        self.groups = GroupL21(alpha_v, sizes)
        super().__init__({"W": (L, n_factors), "V": (n_factors, L)}, {"V": self.groups}, True, np.float64)
        self.alpha_u, self.inner_steps = alpha_u, inner_steps
        self._gram = gram
        self._norm = float(np.trace(gram))

    def start(self, V: np.ndarray) -> np.ndarray:
        """Return the vector of parameters with this V, at the best scales, and the best U for it."""
        V = self._balanced(self._best(V), V)
        return self.pack({"W": self._best(V), "V": V})

    def update(self, x: np.ndarray) -> None:
        """Lower J over V, then minimise it over W, in place."""
        arrays = self.layout.views(x)
        W, V = arrays["W"], arrays["V"]
        cross = W.T @ self._gram  # UᵀY
        step = RegressionProblem(cross @ W, cross, self._norm, self.groups)
        lipschitz = step.lipschitz()
        if lipschitz > 0:
            result = proximal_gradient(step, V.ravel(), max_iter=self.inner_steps, step=1 / lipschitz)
            V[...] = result.x.reshape(V.shape)
        else:  # U = 0
            V[...] = 0
        V[...] = self._balanced(W, V)
        W[...] = self._best(V)

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the smooth part of J at `x` and write its gradient by W and V."""
        arrays, slopes = self.layout.views(x), self.layout.views(gradient)
        W, V = arrays["W"], arrays["V"]
        GW = self._gram @ W  # YᵀU
        square, outer = W.T @ GW, V @ V.T  # UᵀU
        outer[np.diag_indices_from(outer)] += self.alpha_u
        slopes["V"][...] = 2 * (square @ V - GW.T)
        slopes["W"][...] = 2 * (GW @ outer - self._gram @ V.T)
        return self._norm - 2 * float(np.vdot(GW.T, V)) + float(np.vdot(square, outer))

    def _balanced(self, W: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return V with its rows at the best scales, given that those of U are rescaled inversely."""
        square = 2 * self.alpha_u * np.einsum("lj,lj->j", W, self._gram @ W)
        length = self.groups.alpha * self.groups.lengths(V).sum(axis=1)
        used = (square > 0) & (length > 0)
        scale = np.cbrt(np.divide(length, square, out=np.ones(len(V)), where=used))
        return np.asarray(V / scale[:, None])

    def _best(self, V: np.ndarray) -> np.ndarray:
        """Return the W of the best U for this V, (6.3)."""
        outer = V @ V.T
        outer[np.diag_indices_from(outer)] += self.alpha_u
        return np.asarray(np.linalg.solve(outer, V).T)
