"""Label matrices explained by features through a factorized map: Y against X U V.

With ridge penalties on both factors alone, the minimum is known in the principal coordinates of the features.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import linalg, sparse

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.kernels.threads import parallel_for
from cofactor.losses import MarginLoss, Squared
from cofactor.penalties import L2, Penalty
from cofactor.problems.base import PenalizedProblem

_SCORES_PER_BLOCK = 1 << 20  # scores in memory at a time: 4 MB in float32, and as much for the slopes
_SPARE, _STEPS = 10, 4  # directions beyond those wanted, and steps, of subspace iteration
_SCORES_PER_TASK = 1 << 16  # scores that one thread turns into losses at a time


class LowRankProblem(PenalizedProblem):
    r"""Objective of a linear map of rank d from features to labels.

    .. math::

        J = \sum_{i=1}^{N} \sum_{l=1}^{L} \ell(y_{il}, s_{il}) + p_U(U) + p_V(V) + p_c(c), \qquad
        s_i = x_i U V + c

    With the smooth hinge and ridge penalties `L2(alpha)`, which carry a factor ½, this is (5.19) of the thesis; with
    the squared loss its low-rank form of (5.14). Where G is the matrix of the derivatives of the losses by the scores,

    .. math:: \partial J / \partial U = X^\top G V^\top + p_U', \qquad \partial J / \partial V = (X U)^\top G + p_V'

    (corrections.md, C21: the indices in (5.21) and (5.22) do not fit U and V of these shapes).

    An evaluation with a margin loss costs O(nnz(X) d + N d L) and goes through the rows in blocks of about a million
    scores, so an N × L array is never in memory. The squared loss needs no scores at all: with E = [X U, 1], W = [V; c]

    .. math:: \|Y - E W\|^2 = \|Y\|^2 - 2 \langle E^\top Y, W \rangle + \langle E^\top E \, W, W \rangle

    in O(nnz(X) d + nnz(Y) d + N d² + d² L). Its inner products are taken in float64.

    Parameters
    ----------
    X : ndarray or csr_array of shape (N, D)
        Features.
    Y : csr_array or ndarray of shape (N, L)
        Labels. A margin loss reads entries above 0 as +1 and all others, stored or not, as -1; the squared loss takes
        the values as they are.
    loss : MarginLoss or Squared
        The loss ℓ.
    n_factors : int
        d.
    penalties : mapping from str to Penalty
        Penalties of U, V, c; an array without one is not penalized.
    fit_intercept : bool, default=False
        Whether there is a c.
    fixed : mapping from str to ndarray, optional
        Those of U, V, c which are held fixed; with either factor fixed J is convex where loss and penalties are.
    weights : ndarray of shape (N,), optional
        Weights of the rows: the losses of row i count times w_i.
    known : ndarray of shape (N, L), bool, optional
        Which labels are known: losses of the others do not count. The squared loss then needs all scores, as the others
        do.
    positive_weights : ndarray of shape (L,), optional
        How much losses of positive labels count, for margin losses.
    dtype : dtype, default=float32
        Of the vector of parameters.
    scores_per_block : int, default=1048576
        Largest number of scores that a margin loss holds in memory at a time (but at least one row).

    Attributes
    ----------
    layout : Layout
        Where U (D, d), V (d, L) and c (L,) stand in the vector of parameters, fixed ones left out.
    smooth : bool
        Whether loss and penalties all have gradients.

    Raises
    ------
    ValueError
        If shapes do not fit each other.
    TypeError
        If the loss is neither a margin loss nor the squared one.

    Examples
    --------
    One label that is the sign of one feature. L-BFGS finds the product u v with 2 h'(u v) + alpha = 0, here 0.75:

    >>> from cofactor.losses import SmoothHinge
    >>> from cofactor.penalties import L2
    >>> from cofactor.solvers import lbfgs
    >>> X, Y = np.array([[1.0], [-1.0]]), np.array([[1], [0]])
    >>> problem = LowRankProblem(X, Y, SmoothHinge(), 1, {"U": L2(0.5), "V": L2(0.5)}, dtype=float)
    >>> x = lbfgs(problem, np.array([1.0, 0.5]), tol=1e-12).x
    >>> round(float(x[0] * x[1]), 4)
    0.75
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        loss: MarginLoss | Squared,
        n_factors: int,
        penalties: Mapping[str, Penalty],
        *,
        fit_intercept: bool = False,
        fixed: Mapping[str, np.ndarray] | None = None,
        weights: np.ndarray | None = None,
        known: np.ndarray | None = None,
        positive_weights: np.ndarray | None = None,
        dtype: np.typing.DTypeLike = np.float32,
        scores_per_block: int = _SCORES_PER_BLOCK,
    ) -> None:
        if not isinstance(loss, MarginLoss | Squared):
            raise InvalidTypeError("a low-rank map takes a margin loss or the squared one", argument="loss", found=loss)
        shapes = _shapes(X, Y, n_factors, fit_intercept)
        fixed = fixed or {}
        free = {name: shape for name, shape in shapes.items() if name not in fixed}
        super().__init__(free, penalties, loss.smooth, dtype)
        self.loss = loss
        self._fixed = {name: np.asarray(a, dtype=self.dtype) for name, a in fixed.items()}
        for name, a in self._fixed.items():
            if shapes.get(name) != a.shape:
                raise InvalidInputError(f"fixed {name} has shape {a.shape}, expected {shapes.get(name)}")
        self._X: Any = _csr(X, self.dtype) if sparse.issparse(X) else np.asarray(X, dtype=self.dtype)
        self._XT = self._X.T
        self._n, self._n_labels = Y.shape
        self._n_factors = n_factors
        self._Y = _csr(Y, np.float64) if isinstance(loss, Squared) else _csr(_csr(Y) > 0, self.dtype)
        self._weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        if self._weights is not None and self._weights.shape != (self._n,):
            raise InvalidInputError(f"weights have shape {self._weights.shape}, expected {(self._n,)}")
        self._known = known
        if known is not None and known.shape != self._Y.shape:
            raise InvalidInputError(f"known has shape {known.shape}, expected {self._Y.shape}")
        self._positive_weights = positive_weights
        if positive_weights is not None and (isinstance(loss, Squared) or positive_weights.shape != (self._n_labels,)):
            raise InvalidInputError("positive_weights are one for each label, for margin losses")
        self._closed = isinstance(loss, Squared) and known is None  # whether inner products do
        if self._closed:
            self._wY = self._weighted(self._Y)
            self._YT = self._wY.T
            self._norm = float(self._wY.data @ self._Y.data)
        else:
            self._rows_per_block = max(1, min(self._n, scores_per_block // max(self._n_labels, 1)))
            self._set_positives()
            self._scores, self._slopes = np.empty((2, self._rows_per_block, self._n_labels), self.dtype)

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return U, V and c (if there is one): free ones as views of `x`, fixed ones as they are."""
        return self._fixed | self.layout.views(x)

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the smooth part of J at `x` and write its gradient."""
        arrays, out = self.arrays(x), self.layout.views(gradient)
        evaluate = self._squared if self._closed else self._margins
        total = evaluate(self._X @ arrays["U"], arrays["V"], arrays.get("c"), out)
        return total + self.add_penalties(x, gradient)

    def start(self) -> np.ndarray:
        r"""Return a starting point: the d steepest directions from U V = 0, each with about its best length.

        With Z the signs of the labels (their values for the squared loss), less c, their mean, if there is a c, the
        steepest steps of rank one are along the singular triplets (σ, p, q) of :math:`X^\top Z`. The d largest become
        columns :math:`\sqrt{t} \, p` of U and rows :math:`\sqrt{t} \, q` of V,

        .. math:: t = \max(s \sigma - \alpha, s \sigma / 100) \, / \, (\kappa \, \|X p\|^2),

        with slope s and curvature κ of the loss and the weight α of the ridges. Factors beyond the rank of
        :math:`X^\top Z` are zero; no other factor is, since it would stay zero. On medical and genbase L-BFGS takes
        half as many iterations from here as from small random factors, and no seed is needed. U and V must both be
        free. It takes 8 D L bytes.
        """
        positives = self._XT @ self._weighted(self._Y)
        known = None if self._known is None else self._weighted(self._known.astype(np.float64))
        products = (positives.toarray() if sparse.issparse(self._X) else np.asarray(positives)).astype(np.float64)
        sums = np.asarray(self._X.sum(axis=0), np.float64)
        mean = np.asarray(self._Y.mean(axis=0), dtype=np.float64)
        if self._weights is not None:
            sums = np.asarray(self._XT @ self._weights, np.float64)
            mean = np.asarray(self._Y.T @ self._weights, np.float64) / self._weights.sum()
        if known is not None:  # sums over the known labels, each for itself
            sums = np.asarray(self._XT @ known, np.float64)
            mean = np.asarray(self._weighted(self._Y).sum(axis=0), np.float64) / np.maximum(known.sum(axis=0), 1e-300)
        slope, curvature = 2.0, 2.0  # of (y - x)²
        if isinstance(self.loss, MarginLoss):  # signs are 2 Y - 1
            products, mean = 2 * products - (sums if sums.ndim == 2 else sums[:, None]), 2 * mean - 1
            slope, curvature = -float(self.loss.derivative(0.0)), float(self.loss.curvature_bound or 1.0)
        if "c" in self.layout.shapes:
            products -= sums * mean if sums.ndim == 2 else np.outer(sums, mean)
        left, sizes, right = np.linalg.svd(products, full_matrices=False)
        d = min(self._n_factors, len(sizes))
        left, sizes, right = left[:, :d], slope * sizes[:d], right[:d]
        alpha = self._ridge()
        lengths = np.sum(self._weighted((self._X @ left) ** 2), axis=0)
        steps = np.maximum(sizes - alpha, 0.01 * sizes) / (curvature * np.where(lengths > 0, lengths, np.inf))
        U, V = np.zeros((len(left), self._n_factors)), np.zeros((self._n_factors, self._n_labels))
        U[:, :d], V[:d] = left * np.sqrt(steps), np.sqrt(steps)[:, None] * right
        return self.pack({"U": U, "V": V, "c": mean})

    def with_more(self, x: np.ndarray, n_more: int) -> dict[str, np.ndarray] | None:
        r"""Return U, V and c with components more, along which the objective falls from `x`; None where there are none.

        With R the residuals of the squared loss these are the singular triplets of :math:`X^\top R` whose σ exceeds
        the weight of the ridges, at most `n_more` of the largest, each with about its best length. Where there is none
        a stationary `x` is the minimum over any number of components, since the ridges of both factors are the trace
        norm of their product. Subspace iteration finds them nearly, from products with X and Y; components of `x` that
        are 0 are left out.
        """
        arrays = self.arrays(x)
        used = arrays["U"].any(axis=0)
        U, V, c = arrays["U"][:, used], arrays["V"][used], arrays.get("c", np.zeros(self._n_labels))
        E, ones = self._weighted(self._X @ U), self._weighted(np.ones((self._n, 1)))

        def times(Q: np.ndarray) -> np.ndarray:
            return np.asarray(self._XT @ (self._wY @ Q - E @ (V @ Q) - ones * (c @ Q)))

        def transposed(P: np.ndarray) -> np.ndarray:
            P = self._X @ P
            return np.asarray(self._YT @ P - V.T @ (E.T @ P) - np.outer(c, ones[:, 0] @ P))

        P = np.random.default_rng(0).normal(size=(len(U), min(n_more + _SPARE, len(U))))
        for _ in range(_STEPS):
            P = np.linalg.qr(times(transposed(P)))[0]
        right, sizes, turn = np.linalg.svd(transposed(P), full_matrices=False)
        alpha = self._ridge()
        found = np.flatnonzero(2 * sizes[:n_more] > alpha)
        left, right, slopes = P @ turn.T[:, found], right[:, found], 2 * sizes[found]
        lengths = np.sum(self._weighted((self._X @ left) ** 2), axis=0)
        steps = np.sqrt(np.divide(slopes - alpha, 2 * lengths, out=np.zeros(len(found)), where=lengths > 0))
        if not steps.any():
            return None
        return arrays | {"U": np.hstack([U, left * steps]), "V": np.vstack([V, (right * steps).T])}

    def _ridge(self) -> float:
        """Return the weight of the trace norm that the ridges of U and V amount to."""
        return float(np.sqrt(np.prod([getattr(self.penalties.get(name), "alpha", 0.0) for name in ("U", "V")])))

    def _margins(self, E: np.ndarray, V: np.ndarray, c: np.ndarray | None, out: Mapping[str, np.ndarray]) -> float:
        """Losses of margins and their gradients by U, V, c, where E = X U."""
        d_codes = np.empty_like(E)
        d_V, d_c = np.zeros_like(V), np.zeros(self._n_labels, self.dtype)
        total = 0.0
        for first in range(0, self._n, self._rows_per_block):
            rows = slice(first, min(first + self._rows_per_block, self._n))
            n_rows = rows.stop - first
            scores, slopes = self._scores[:n_rows], self._slopes[:n_rows]
            np.matmul(E[rows], V, out=scores)
            if c is not None:
                scores += c
            self._losses_of(scores, slopes, first)
            if self._weights is not None:
                scores *= self._weights[rows, None]
                slopes *= self._weights[rows, None]
            if self._known is not None:
                scores *= self._known[rows]
                slopes *= self._known[rows]
            if self._positive_weights is not None:
                where, heavier = (
                    self._positives_of(first, n_rows),
                    self._positive_weights[self._columns_of(first, n_rows)],
                )
                scores.reshape(-1)[where] *= heavier
                slopes.reshape(-1)[where] *= heavier
            total += float(np.add.reduce(scores, axis=None, dtype=np.float64))
            np.matmul(slopes, V.T, out=d_codes[rows])
            d_V += E[rows].T @ slopes
            d_c += slopes.sum(axis=0)
        self._write(out, d_codes, d_V, d_c)
        return total

    def _losses_of(self, scores: np.ndarray, slopes: np.ndarray, first: int) -> None:
        """Overwrite scores of a block of rows by losses, and write their derivatives by the scores."""
        if isinstance(self.loss, Squared):
            flat, where = scores.reshape(-1), self._positives_of(first, len(scores))
            flat[where] -= 1
            np.multiply(scores, 2, out=slopes)
            np.square(scores, out=scores)
            return
        self._sign(scores, first)
        self._losses(scores.reshape(-1), slopes.reshape(-1))
        self._sign(slopes, first)

    def _losses(self, margins: np.ndarray, slopes: np.ndarray) -> None:
        """Overwrite margins by losses, and write derivatives; threads share the entries, which are independent."""
        in_place = type(self.loss).in_place  # type: ignore[union-attr]

        def task(k: int) -> None:
            part = slice(k * _SCORES_PER_TASK, (k + 1) * _SCORES_PER_TASK)
            in_place(margins[part], slopes[part])

        parallel_for(task, -(-len(margins) // _SCORES_PER_TASK))

    def _set_positives(self) -> None:
        """Note where +1 stands: its positions in the flattened N × L matrix, and where those of each row begin."""
        rows = np.repeat(np.arange(self._n, dtype=np.int64), np.diff(self._Y.indptr))
        self._positives = rows * self._n_labels + self._Y.indices
        self._first_positive = self._Y.indptr

    def _sign(self, block: np.ndarray, first: int) -> None:
        """Multiply a block of rows, beginning with row `first`, by the signs of its labels."""
        flat = block.reshape(-1)
        np.negative(flat, out=flat)
        flat[self._positives_of(first, len(block))] *= -1

    def _positives_of(self, first: int, n_rows: int) -> np.ndarray:
        """Return where labels of some rows are on, in the flattened block of their scores."""
        where = slice(self._first_positive[first], self._first_positive[first + n_rows])
        return self._positives[where] - first * self._n_labels

    def _columns_of(self, first: int, n_rows: int) -> np.ndarray:
        """Return of which label each of `_positives_of` is."""
        return self._Y.indices[self._first_positive[first] : self._first_positive[first + n_rows]]

    def _squared(self, E: np.ndarray, V: np.ndarray, c: np.ndarray | None, out: Mapping[str, np.ndarray]) -> float:
        """Squared loss and its gradients by U, V, c, where E = X U, from inner products alone."""
        E, V = np.column_stack([E, np.ones(len(E))]).astype(np.float64), V.astype(np.float64)
        W = np.vstack([V, np.zeros(self._n_labels) if c is None else c])
        wE = self._weighted(E)
        products = (self._YT @ E).T
        fitted = (E.T @ wE) @ W
        d_W = 2 * (fitted - products)
        d_codes = 2 * (wE @ (W @ V.T) - self._wY @ V.T)
        self._write(out, d_codes.astype(self.dtype), d_W[:-1], d_W[-1])
        return float(self._norm + np.sum((fitted - 2 * products) * W))

    def _weighted(self, table: Any) -> Any:
        """Return a table with each row times its weight; the table itself without weights."""
        if self._weights is None:
            return table
        if isinstance(table, np.ndarray):
            return table * self._weights[:, None]
        return _csr(table.multiply(self._weights[:, None]), table.dtype)

    def _write(self, out: Mapping[str, np.ndarray], d_codes: np.ndarray, d_V: np.ndarray, d_c: np.ndarray) -> None:
        """Write the gradients of the free arrays, given those by the codes X U, by V and by c."""
        if "U" in out:
            out["U"][...] = self._XT @ d_codes
        if "V" in out:
            out["V"][...] = d_V
        if "c" in out:
            out["c"][...] = d_c


def _csr(A: Any, dtype: Any = None) -> Any:
    """Return a matrix as a CSR array; nothing is copied where it is one of this dtype."""
    return sparse.csr_array(A, dtype=dtype)


def _shapes(X: Any, Y: Any, n_factors: int, fit_intercept: bool) -> dict[str, tuple[int, ...]]:
    """Return the shapes of U, V, c; refuse X and Y that do not fit each other."""
    if X.shape[0] != Y.shape[0]:
        raise InvalidInputError(f"X has {X.shape[0]} rows and Y has {Y.shape[0]}: both have one row for each instance")
    if n_factors < 1:
        raise InvalidInputError("expected a whole number of at least 1", argument="n_factors", found=n_factors)
    shapes: dict[str, tuple[int, ...]] = {"U": (X.shape[1], n_factors), "V": (n_factors, Y.shape[1])}
    return shapes | {"c": (Y.shape[1],)} if fit_intercept else shapes


class ReducedRankProblem(PenalizedProblem):
    r"""Squared loss of a linear map of rank d, after a rotation which makes the features orthogonal.

    .. math:: J(A, V) = \tfrac{1}{2} \|T - S A V\|_F^2 + \tfrac{1}{2} \rho
        + \tfrac{\lambda}{2} (\|A\|_F^2 + \|V\|_F^2), \qquad S = \mathrm{diag}(s)

    Where X = P S Qᵀ is a singular value decomposition, T = Pᵀ Y, ρ = ‖Y‖² - ‖T‖² and U = Q A, this is
    ½ ‖Y - X U V‖² + λ/2 (‖U‖² + ‖V‖²). With V fixed and V Vᵀ = R Θ Rᵀ, A follows entry by entry,

    .. math:: (A R)_{ij} = \frac{s_i \, (T V^\top R)_{ij}}{s_i^2 \theta_j + \lambda},

    the solution of a Sylvester equation; with A fixed, V is a ridge regression.

    Parameters
    ----------
    singular : ndarray of shape (r,)
        s, above 0.
    targets : ndarray of shape (r, L)
        T.
    remainder : float
        ρ.
    n_factors : int
        d.
    alpha : float
        λ, above 0.

    Attributes
    ----------
    layout : Layout
        Where A (r, d) and V (d, L) stand in the vector of parameters.
    smooth : bool
        True.

    Examples
    --------
    With d = min(r, L) the minimum over products W = A V is that of ½ ‖T - S W‖² + λ ‖W‖_*. For one number:

    >>> from cofactor.solvers import alternating_least_squares
    >>> problem = ReducedRankProblem(np.array([2.0]), np.array([[3.0]]), 0.0, 1, 0.5)
    >>> x = alternating_least_squares(problem, problem.start(), tol=1e-12).x
    >>> round(float(x[0] * x[1]), 6)  # (2 · 3 - ½) / 2²
    1.375
    """

    def __init__(
        self, singular: np.ndarray, targets: np.ndarray, remainder: float, n_factors: int, alpha: float
    ) -> None:
        shapes = {"A": (len(singular), n_factors), "V": (n_factors, targets.shape[1])}
        super().__init__(shapes, {name: L2(alpha) for name in shapes}, True, np.float64)
        self._s = np.asarray(singular, dtype=np.float64)[:, None]
        self._T, self._remainder = np.asarray(targets, dtype=np.float64), float(remainder)
        self._alpha = float(alpha)

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        E = self._s * arrays["A"]
        gaps = E @ arrays["V"] - self._T
        out["A"][...] = self._s * (gaps @ arrays["V"].T)
        out["V"][...] = E.T @ gaps
        return 0.5 * (float(np.vdot(gaps, gaps)) + self._remainder) + self.add_penalties(x, gradient)

    def update_rows(self, x: np.ndarray) -> None:
        """Minimise over A, in place."""
        arrays = self.layout.views(x)
        V = arrays["V"]
        theta, R = linalg.eigh(V @ V.T)
        rotated = self._s * (self._T @ (V.T @ R)) / (self._s**2 * np.maximum(theta, 0) + self._alpha)
        arrays["A"][...] = rotated @ R.T

    def update_columns(self, x: np.ndarray) -> None:
        """Minimise over V, in place."""
        arrays = self.layout.views(x)
        E = self._s * arrays["A"]
        gram = E.T @ E + self._alpha * np.eye(E.shape[1])
        arrays["V"][...] = linalg.cho_solve(linalg.cho_factor(gram), E.T @ self._T)

    def start(self) -> np.ndarray:
        """Return the d leading singular directions of ridge regression, shared evenly by A and V; 0 beyond its rank.

        A = 0 and V = 0 would be no start: they are stationary, and no update would change them.
        """
        r, d = self.layout.shapes["A"]
        left, sizes, right = linalg.svd(self._s * self._T / (self._s**2 + self._alpha), full_matrices=False)
        k = min(d, len(sizes))
        A, V = np.zeros((r, d)), np.zeros((d, self._T.shape[1]))
        A[:, :k] = left[:, :k] * np.sqrt(sizes[:k])
        V[:k] = np.sqrt(sizes[:k])[:, None] * right[:k]
        return self.pack({"A": A, "V": V})
