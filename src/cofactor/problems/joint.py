"""Least squares with steps for single entries, through an optional logistic map, and two matrices with common codes."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from cofactor.chunked import batches
from cofactor.kernels import sgd
from cofactor.kernels.sgd import entry_steps
from cofactor.kernels.threads import library_limit
from cofactor.losses import LogisticSquared, Squared
from cofactor.penalties import L2, RowL2
from cofactor.problems.base import PenalizedProblem
from cofactor.problems.observed import Entries, ObservedProblem, factor_shapes, masses

_GROWTH = 1.05  # of step lengths from pass to pass


class LinkedProblem(ObservedProblem):
    r"""Squared loss of scores, or of mapped scores, with ridge penalties.

    .. math:: J = \sum_{(i,j) \in \Omega} (y_{ij} - g(U_i \cdot V_j))^2
        + \alpha \Big(\sum_i n_i \|U_i\|^2 + \sum_j m_j \|V_j\|^2\Big)

    with g the identity or the map of `LogisticSquared`, and n_i, m_j the numbers of entries of row i and column j, or
    sums of their weights; 1 without `by_count`.

    Parameters
    ----------
    entries : Entries
        Where the observed entries are.
    targets : ndarray of shape (n_entries,)
        y in row order.
    n_factors : int
        d.
    alpha : float
        Weight of the penalty.
    loss : Squared or LogisticSquared
        The loss, which holds g.
    by_count : bool
        Whether penalties of rows and columns are multiplied by their numbers of entries.
    fixed : mapping from str to ndarray, optional
        V, for fold-in.
    dtype : dtype, default=float32
        Of the vector of parameters.
    weights : ndarray of shape (n_entries,), above 0, or None
        What the loss of each entry is multiplied by, in row order; steps for single entries take none.

    Attributes
    ----------
    n_rows : int
        Number of entries: terms of the sum for `stochastic_gradient`.
    """

    def __init__(
        self,
        entries: Entries,
        targets: np.ndarray,
        n_factors: int,
        alpha: float,
        loss: Squared | LogisticSquared,
        by_count: bool,
        fixed: Mapping[str, np.ndarray] | None = None,
        dtype: np.typing.DTypeLike = np.float32,
        weights: np.ndarray | None = None,
    ) -> None:
        shapes = factor_shapes(entries, n_factors, fixed)
        self._counts = dict(zip("UV", masses(entries, weights), strict=True))
        shares = {name: counts if by_count else np.ones(len(counts)) for name, counts in self._counts.items()}
        penalties = {name: RowL2(2 * alpha, shares[name]) for name in shapes}
        super().__init__(entries, targets, loss, shapes, penalties, fixed, dtype, weights)
        self.n_rows = len(entries.indices)
        self._link = (loss.low, loss.high - loss.low, loss.offset) if isinstance(loss, LogisticSquared) else (0.0,) * 3
        # The penalty of a row is divided among its entries.
        self._ridges = [alpha * shares[name] / np.maximum(self._counts[name], 1) for name in "UV"]

    def stochastic_pass(self, x: np.ndarray, order: np.ndarray, inverse_step: float) -> float:
        """Take a step for each entry of `order`, in place; return 1 / step length of the next pass.

        Steps grow a little from pass to pass, and the solver halves them when a pass raises J. On MovieLens 100K,
        schedules whose steps only become shorter ended farther from the optimum.
        """
        arrays, e = self.layout.views(x), self.entries
        rows = np.repeat(np.arange(e.shape[0], dtype=np.int32), self._counts["U"])
        factors = (arrays["U"], arrays["V"])
        entry_steps(order, rows, e.indices, self.targets, self._link, *factors, *self._ridges, 1 / inverse_step)
        return inverse_step / _GROWTH


_WORST_CONDITION = 1e8  # of the small matrix that collects stochastic steps: there it loses eight of sixteen digits
_POWER_STEPS = 2  # a third one costs more time than it saves in ALS
_DENSE_ROWS = 1024  # rows of dense features that are in memory in sparse form at a time


class JointLeastSquaresProblem(PenalizedProblem):
    r"""Features and labels, both approximated from the same codes.

    .. math::

        J(P, Q) = \min_H \; (1 - a) \|X - H P^\top\|_F^2 + a \|Y - H Q^\top\|_F^2
        + \lambda (\|P\|_F^2 + \|Q\|_F^2 + \|H\|_F^2)

    which is (1) of the paper on online matrix factorization (Otálora-Montenegro et al. 2013) with the codes eliminated:
    they are

    .. math:: H = B \left((1-a) P^\top P + a Q^\top Q + \lambda I\right)^{-1}, \qquad B = (1-a) X P + a Y Q,

    and J = (1-a) ‖X‖² + a ‖Y‖² - ⟨B, H⟩ + λ (‖P‖² + ‖Q‖²). Neither X - H Pᵀ nor Y - H Qᵀ is ever formed: an
    evaluation costs O((nnz(X) + nnz(Y)) s + (N + D + L) s²).

    Parameters
    ----------
    X : ndarray or csr_array of shape (N, D)
        Features.
    Y : csr_array of shape (N, L)
        Labels.
    n_components : int
        s.
    label_weight : float
        a, between 0 and 1.
    alpha : float
        λ, above 0.
    batch_size : int, default=1
        Rows that share a stochastic step.

    Attributes
    ----------
    layout : Layout
        Where P (D, s) and Q (L, s) stand in the vector of parameters.
    n_rows : int
        N.
    smooth : bool
        True.

    Examples
    --------
    >>> from cofactor.solvers import alternating_least_squares
    >>> X, Y = np.array([[2.0, 0.0], [0.0, 2.0]]), sparse.csr_array([[1.0], [0.0]])
    >>> problem = JointLeastSquaresProblem(X, Y, 1, 0.5, 0.1)
    >>> result = alternating_least_squares(problem, problem.spectral_start(np.random.default_rng(0)))
    >>> P = problem.layout.views(result.x)["P"]
    >>> abs(P).round(1)  # the feature that goes with the label is kept
    array([[1.3],
           [0. ]])
    """

    def __init__(
        self, X: Any, Y: Any, n_components: int, label_weight: float, alpha: float, batch_size: int = 1
    ) -> None:
        shapes = {"P": (X.shape[1], n_components), "Q": (Y.shape[1], n_components)}
        # The penalties carry a factor ½ of their own.
        super().__init__(shapes, {name: L2(2 * alpha) for name in shapes}, True, np.float64)
        self.label_weight, self.alpha = float(label_weight), float(alpha)
        self.n_rows, self.batch_size = X.shape[0], batch_size
        self._X: Any = _csr(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        self._Y: Any = _csr(Y)
        self._ridge = alpha * np.eye(n_components)
        self._at, self._codes = np.full(self.size, np.nan), np.empty((X.shape[0], n_components))
        self._products = 0.0

    @cached_property
    def _transposed(self) -> tuple[Any, Any]:
        """Xᵀ and Yᵀ; sparse ones are stored by rows, which doubles the speed of their products."""
        return _transpose(self._X), _transpose(self._Y)

    @cached_property
    def _norm(self) -> float:
        return (1 - self.label_weight) * _squares(self._X) + self.label_weight * _squares(self._Y)

    def codes(self, x: np.ndarray) -> np.ndarray:
        """Return the best codes H (N, s) for the matrices in `x`; those of the last `x` are kept."""
        if not np.array_equal(x, self._at):
            a = self.label_weight
            arrays = self.layout.views(x)
            P, Q = arrays["P"], arrays["Q"]
            B = (1 - a) * (self._X @ P) + a * (self._Y @ Q)
            self._codes = _solve((1 - a) * (P.T @ P) + a * (Q.T @ Q) + self._ridge, B)
            self._products = float(np.vdot(B, self._codes))
            self._at = x.copy()
        return self._codes

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        a, H = self.label_weight, self.codes(x)
        gram = H.T @ H
        XT, YT = self._transposed
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        out["P"][...] = 2 * (1 - a) * (arrays["P"] @ gram - XT @ H)
        out["Q"][...] = 2 * a * (arrays["Q"] @ gram - YT @ H)
        return self._norm - self._products + self.add_penalties(x, gradient)

    def update_rows(self, x: np.ndarray) -> None:
        """Minimise over the codes (corrections.md, C45, C51)."""
        self.codes(x)

    def update_columns(self, x: np.ndarray) -> None:
        """Minimise over P and Q with the codes that belong to `x` held fixed, in place (corrections.md, C51)."""
        a, H = self.label_weight, self.codes(x)
        gram = H.T @ H
        XT, YT = self._transposed
        arrays = self.layout.views(x)
        arrays["P"][...] = _solve((1 - a) * gram + self._ridge, (1 - a) * (XT @ H))
        arrays["Q"][...] = _solve(a * gram + self._ridge, a * (YT @ H))

    def spectral_start(self, rng: np.random.Generator) -> np.ndarray:
        """Return P and Q spanning about the leading singular subspace of [√(1-a) X, √a Y]; halves the rounds of ALS."""
        D, s = self.layout.shapes["P"]
        XT, YT = self._transposed
        scale_X, scale_Y = np.sqrt(1 - self.label_weight), np.sqrt(self.label_weight)
        W = rng.normal(size=(D + self.layout.shapes["Q"][0], s))
        for _ in range(_POWER_STEPS):
            B = linalg.orth(scale_X * (self._X @ W[:D]) + scale_Y * (self._Y @ W[D:]))
            W = np.vstack([scale_X * (XT @ B), scale_Y * (YT @ B)])
        left, values, _ = linalg.svd(W, full_matrices=False)
        W = np.zeros((len(W), s))
        W[:, : left.shape[1]] = left * np.sqrt(values)
        return self.pack({"P": W[:D] / scale_X, "Q": W[D:] / scale_Y})

    def stochastic_pass(
        self, x: np.ndarray, order: np.ndarray, inverse_step: float, n_rows: float | None = None
    ) -> float:
        r"""Take a stochastic gradient step for each row of `order`, in place; return the new `inverse_step`.

        Row i has its code h computed first, then moves P and Q along the negative gradient of

        .. math:: f_i = (1-a) \|x_i - P h\|^2 + a \|y_i - Q h\|^2 + \tfrac{\lambda}{n} (\|P\|_F^2 + \|Q\|_F^2)
            + \lambda \|h\|^2

        by half of γ = 1 / `inverse_step`, but no further than where x_i or y_i is fitted nearly exactly
        (corrections.md, C43 to C47). After each row `inverse_step` grows by λ / n. A row with k stored entries costs
        O(k s + s³), however many columns there are; every hundred rows or so, P and Q are multiplied by s × s matrices.
        With a larger `batch_size`, the codes of so many rows come first, and P and Q move by the sum of their steps.

        Parameters
        ----------
        x : ndarray
            P and Q.
        order : ndarray of int
            Rows, in the order of their steps.
        inverse_step : float
            1/γ at the first of them.
        n_rows : float, optional
            n; by default N. If X and Y hold only a part of the rows, the number of all of them.
        """
        arrays = self.layout.views(x)
        if self.batch_size > 1:
            return self._batches(arrays["P"], arrays["Q"], order, inverse_step, self.alpha / (n_rows or self.n_rows))
        sides, conditions = (_Lazy(arrays["P"]), _Lazy(arrays["Q"])), np.ones(2)
        decay = self.alpha / (n_rows or self.n_rows)
        size = _DENSE_ROWS if isinstance(self._X, np.ndarray) else max(len(order), 1)
        with library_limit(1, "blas"):  # the products are too small, and too many, to wait for threads
            for first in range(0, len(order), size):
                X, Y, rows = self._triplets(order[first : first + size])
                k = 0
                while k < len(rows):
                    state = (sides[0].parts, sides[1].parts, conditions, self.label_weight, self.alpha, decay)
                    k, inverse_step = sgd.sweep(rows, k, X, Y, *state, inverse_step, _WORST_CONDITION)
                    for worn in np.flatnonzero(~(conditions < _WORST_CONDITION)):  # NaN too: a sweep stops there
                        sides[worn].gather()
                        conditions[worn] = 1.0
            for side in sides:
                side.gather()
        arrays["P"][...], arrays["Q"][...] = sides[0].matrix, sides[1].matrix
        return float(inverse_step)

    def _batches(self, P: np.ndarray, Q: np.ndarray, order: np.ndarray, inverse_step: float, decay: float) -> float:
        """Take a step for each mini-batch of rows, in place; return the new `inverse_step`."""
        a = self.label_weight
        for batch in batches(len(order), self.batch_size):
            X, Y = self._X[order[batch]], self._Y[order[batch]]
            gram = (1 - a) * (P.T @ P) + a * (Q.T @ Q) + self._ridge
            H = _solve(gram, (1 - a) * (X @ P) + a * (Y @ Q))
            inner = H.T @ H
            kept = 1 - min(len(H) * decay / inverse_step, 0.5)
            longest = sgd.LARGEST_SHARE * kept / max(float(np.linalg.eigvalsh(inner)[-1]), 1e-300)
            for matrix, table, weight in ((P, X, 1 - a), (Q, Y, a)):
                step = min(weight / inverse_step, longest)
                matrix[...] = kept * matrix + step * (table.T @ H - matrix @ inner)
            inverse_step += len(H) * decay
        return inverse_step

    def _triplets(self, order: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        """Return X and Y as (indptr, indices, values), and where the rows of `order` stand in them."""
        if not isinstance(self._X, np.ndarray):
            return _parts(self._X), _parts(self._Y), np.asarray(order, dtype=np.int64)
        block = self._X[order]
        n, D = block.shape
        X = (np.arange(n + 1, dtype=np.int64) * D, np.tile(np.arange(D, dtype=np.int32), n), block.reshape(-1))
        return X, _parts(self._Y[order]), np.arange(n)


class _Lazy:
    """A matrix kept as A M during stochastic steps, with N = M⁻¹ and the Gram matrix; see `kernels.sgd`."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix.copy()
        self._reset()

    def _reset(self) -> None:
        eye = np.eye(self.matrix.shape[1])
        self.parts = (self.matrix, eye, eye.copy(), self.matrix.T @ self.matrix)

    def gather(self) -> None:
        """Multiply A by M, and form the Gram matrix anew."""
        self.matrix = self.matrix @ self.parts[1]
        self._reset()


def _csr(A: Any) -> Any:
    return sparse.csr_array(A, dtype=np.float64)


def _transpose(A: Any) -> Any:
    return A.T if isinstance(A, np.ndarray) else A.T.tocsr()


def _parts(A: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of a CSR array, indices of one integer type each so that kernels are compiled once."""
    return A.indptr.astype(np.int64), A.indices.astype(np.int32, copy=False), A.data


def _squares(A: Any) -> float:
    """Return ‖A‖²_F."""
    values = A.reshape(-1) if isinstance(A, np.ndarray) else A.data
    return float(values @ values)


def _solve(gram: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return B gram⁻¹ for a positive definite Gram matrix."""
    return np.ascontiguousarray(linalg.cho_solve(linalg.cho_factor(gram), B.T).T)
