"""Label matrices explained by a few latent factors, where each group of labels uses factors of its own."""

import numpy as np

from cofactor.penalties import GroupL21
from cofactor.problems.penalized import PenalizedProblem
from cofactor.problems.regression import RegressionProblem
from cofactor.solvers.apg import proximal_gradient


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
