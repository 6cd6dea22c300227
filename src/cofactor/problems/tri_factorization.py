"""Features explained by labels through non-negative bases."""

import numpy as np

from cofactor.penalties import NonNegative
from cofactor.problems.penalized import PenalizedProblem
from cofactor.solvers.multiplicative import scale_by_ratio


class TriFactorizationProblem(PenalizedProblem):
    r"""Objective of non-negative matrix tri-factorization with labels, (3) of Kimura, Kudo and Sun; rows are instances.

    .. math:: J(B, S) = \|X - Y S B\|_F^2 + \lambda \sum_{j=1}^{J} w_j \, s_j^\top (D - K) s_j,
        \qquad K = Y^\top Y, \quad D = \operatorname{diag}(K 1)

    over bases B (J × D, the rows are Uᵀ of the paper) and codes of labels S (L × J, Sᵀ of the paper; s_j is its column
    j), both non-negative; X (n × D) non-negative, Y (n × L) of 0 and 1. The penalty is
    :math:`\frac{\lambda}{2} \sum_j w_j \sum_{l,m} K_{lm} (S_{lj} - S_{mj})^2`: labels that occur together should have
    similar codes. The paper prints the Laplacian with the wrong sign and K with the wrong size (corrections.md, C52).

    =================  ==============================================================================================
    scale-invariant    w_j = ‖b_j‖²: J does not change under (c b_j, s_j / c), and is (3) for bases of length 1
    printed            w_j = 1: by (cB, S/c) the penalty can be made as small as one likes, so the infimum is that of
                       λ = 0, and results depend on the start and on the number of steps (corrections.md, C54)
    =================  ==============================================================================================

    `update` multiplies B, then S, by the ratio of the two parts of their gradients; neither raises J. It needs XᵀY and
    YᵀY only, which are computed once: a step costs O(D L J + D J² + L² J).

    Parameters
    ----------
    cross : ndarray of shape (L, D)
        YᵀX.
    together : ndarray of shape (L, L)
        K = YᵀY.
    norm : float
        ‖X‖².
    n_components : int
        J.
    alpha : float
        λ, not negative.
    scale_invariant : bool, default=True
        Which w.
    """

    def __init__(
        self,
        cross: np.ndarray,
        together: np.ndarray,
        norm: float,
        n_components: int,
        alpha: float,
        scale_invariant: bool = True,
    ) -> None:
        L, D = cross.shape
        super().__init__({"B": (n_components, D), "S": (L, n_components)}, {}, True, np.float64)
        self.alpha, self.scale_invariant = alpha, scale_invariant
        self._cross, self._together, self._norm = cross, together, norm
        self._degree = together.sum(axis=1, keepdims=True)

    def update(self, x: np.ndarray) -> None:
        """Multiply B, then S, by the ratio of the parts of their gradients, in place.

        Algorithm 1 with corrections.md, C53 and C54.
        """
        arrays = self.layout.views(x)
        B, S = arrays["B"], arrays["S"]
        positive = (S.T @ self._together @ S) @ B
        negative = S.T @ self._cross
        if self.scale_invariant:  # the penalty's weight on ‖b_j‖² is not negative, as D - K is semidefinite
            positive += self.alpha * np.maximum(self._roughness(S), 0)[:, None] * B
        scale_by_ratio(B, negative, positive)
        weight = self.alpha * self._weights(B)
        negative = self._cross @ B.T + (self._together @ S) * weight
        positive = self._together @ (S @ (B @ B.T)) + (self._degree * S) * weight
        scale_by_ratio(S, negative, positive)

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, slopes = self.layout.views(x), self.layout.views(gradient)
        B, S = arrays["B"], arrays["S"]
        codes, bases = S.T @ self._together @ S, B @ B.T
        roughness, weight = self._roughness(S), self._weights(B)
        slopes["B"][...] = 2 * (codes @ B - S.T @ self._cross)
        if self.scale_invariant:
            slopes["B"] += 2 * self.alpha * roughness[:, None] * B
        laplacian = self._degree * S - self._together @ S
        slopes["S"][...] = 2 * (self._together @ (S @ bases) - self._cross @ B.T + self.alpha * weight * laplacian)
        fit = self._norm - 2 * float(np.vdot(S.T @ self._cross, B)) + float(np.vdot(codes, bases))
        return fit + self.alpha * float(weight @ roughness)

    def certificate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the distance from stationarity under B, S >= 0."""
        return NonNegative().distance(x, gradient)

    def _weights(self, B: np.ndarray) -> np.ndarray:
        return np.einsum("jd,jd->j", B, B) if self.scale_invariant else np.ones(len(B))

    def _roughness(self, S: np.ndarray) -> np.ndarray:
        """Return s_jᵀ (D - K) s_j for each j."""
        return np.asarray(np.einsum("lj,lj->j", S, self._degree * S - self._together @ S))
