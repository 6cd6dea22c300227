"""Low-rank regression with ridge penalties on both factors, in the principal coordinates of the features."""

import numpy as np
from scipy import linalg

from cofactor.penalties import L2
from cofactor.problems.penalized import PenalizedProblem


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
