"""Non-negative factorizations: of observed entries, of a whole table, and of features through bases of labels."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.utils.extmath import randomized_svd

from cofactor.kernels.nonnegative import coordinate_rows, multiplicative_rows
from cofactor.kernels.threads import parallel_for
from cofactor.losses import BetaDivergence, Squared
from cofactor.penalties import L2, NonNegative
from cofactor.problems.base import PenalizedProblem
from cofactor.problems.observed import Entries, ObservedProblem, factor_shapes
from cofactor.solvers.descent import scale_by_ratio
from cofactor.solvers.linear import nonnegative_least_squares

#: Least value of a factor where the loss is a divergence: a score of 0 has an infinite loss, and multiplication could
#: never leave 0.
LEAST_FACTOR = 1e-6

#: Sweeps over the coordinates of a row in one update, by `multiplicative`. Multiplication reads the entries in each
#: sweep, coordinate descent only before the first. On MovieLens 100K these numbers take the least time.
_SWEEPS = {True: 2, False: 8}


class NonnegativeProblem(ObservedProblem):
    r"""A loss of non-negative products, with ridge penalties.

    .. math:: J = \sum_{(i,j) \in \Omega} \ell(y_{ij}, U_i \cdot V_j) + \alpha (\|U\|_F^2 + \|V\|_F^2),
        \qquad U, V \ge 0

    Entries that are not observed have no term. `update` renews U, then V, each row on its own; neither raises J.

    Parameters
    ----------
    entries : Entries
        Where the observed entries are.
    targets : ndarray of shape (n_entries,)
        y in row order, not negative.
    n_factors : int
        d.
    alpha : float
        Weight of the penalty, at least 0.
    loss : Squared or BetaDivergence
        ℓ.
    multiplicative : bool
        Whether rows are updated by multiplication; if not, by coordinate descent ("HALS", for the squared loss only).
    fixed : mapping from str to ndarray, optional
        V, or U, for fold-in.
    dtype : dtype, default=float32
        Of the vector of parameters.
    """

    def __init__(
        self,
        entries: Entries,
        targets: np.ndarray,
        n_factors: int,
        alpha: float,
        loss: Squared | BetaDivergence,
        multiplicative: bool,
        fixed: Mapping[str, np.ndarray] | None = None,
        dtype: np.typing.DTypeLike = np.float32,
    ) -> None:
        shapes = factor_shapes(entries, n_factors, fixed)
        # The penalty carries a factor ½ of its own.
        super().__init__(entries, targets, loss, shapes, {name: L2(2 * alpha) for name in shapes}, fixed, dtype)
        self.multiplicative = multiplicative
        # The β-divergence at 2 is half the squared loss.
        self._beta, self._ridge = (loss.beta, 2 * alpha) if isinstance(loss, BetaDivergence) else (2.0, alpha)
        self.least = LEAST_FACTOR if isinstance(loss, BetaDivergence) else 0.0

    @cached_property
    def _targets_by_column(self) -> np.ndarray:
        return self.targets[self.entries.to_csr]

    def update(self, x: np.ndarray) -> None:
        """Renew U, then V, in place."""
        self.update_rows(x)
        self.update_columns(x)

    def update_rows(self, x: np.ndarray, tol: float = 0.0, max_sweeps: int | None = None) -> int:
        """Renew U in place until a sweep moves no row by more than `tol`; return how many rows still moved."""
        arrays, e = self.arrays(x), self.entries
        pattern = (e.indptr, e.indices, self.targets)
        return self._renew(
            self._row_cuts, pattern, arrays["V"], arrays["U"], tol, max_sweeps or _SWEEPS[self.multiplicative]
        )

    def update_columns(self, x: np.ndarray, tol: float = 0.0, max_sweeps: int | None = None) -> int:
        """Renew V likewise."""
        arrays, e = self.arrays(x), self.entries
        pattern = (e.col_indptr, e.col_indices, self._targets_by_column)
        return self._renew(
            self._col_cuts, pattern, arrays["U"], arrays["V"], tol, max_sweeps or _SWEEPS[self.multiplicative]
        )

    def certificate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the distance from stationarity under U, V >= 0."""
        return float(np.linalg.norm(np.where(x > self.least, gradient, np.minimum(gradient, 0))))

    def _renew(
        self,
        cuts: np.ndarray,
        pattern: tuple[np.ndarray, np.ndarray, np.ndarray],
        features: np.ndarray,
        out: np.ndarray,
        tol: float,
        max_sweeps: int,
    ) -> int:
        unfinished = np.zeros(len(cuts) - 1, dtype=np.int64)

        def block(k: int) -> None:
            here, stop = (cuts[k], cuts[k + 1], *pattern, features), (tol, max_sweeps, out)
            if self.multiplicative:
                unfinished[k] = multiplicative_rows(*here, self._ridge, self._beta, self.least, *stop)
            else:
                unfinished[k] = coordinate_rows(*here, self._ridge, *stop)

        parallel_for(block, len(unfinished))
        return int(unfinished.sum())


_TABLE_SWEEPS = 4  # over the coordinates of a row in one update
_LARGEST = 3000  # rows of the largest matrix of which all eigenvectors are computed
_NULL = 1e-10  # an eigenvalue which is this share of the largest one, or less, counts as 0


class NonnegativeTableProblem(PenalizedProblem):
    r"""The squared error of a product of non-negative matrices.

    .. math:: J(H, B) = \|T - H B\|_F^2, \qquad H, B \ge 0

    `update` goes over the coordinates of each row of H, then of each column of B; neither raises J. It takes
    O(nnz(T) d + (n + p) d²) operations.

    Parameters
    ----------
    table : ndarray or csr_array of shape (n, p)
        T, not negative.
    n_components : int
        d; fewer are taken if T has a lower rank.
    """

    def __init__(self, table: Any, n_components: int) -> None:
        self._table = table
        self._start = _first_bases(table, n_components)
        super().__init__({"H": (table.shape[0], len(self._start)), "B": self._start.shape}, {}, True, np.float64)
        values = table if isinstance(table, np.ndarray) else table.data
        self._norm = float(np.sum(np.square(values, dtype=np.float64)))

    def start(self) -> np.ndarray:
        """Return bases that are the positive, or the negative, parts of singular vectors (NNDSVD), with H = 0."""
        return self.pack({"H": np.zeros(self.layout.shapes["H"]), "B": self._start})

    def update(self, x: np.ndarray) -> None:
        """Improve H, then B, in place."""
        arrays = self.layout.views(x)
        H, B = arrays["H"], arrays["B"]
        H[...] = _improved(B @ B.T, self._table @ B.T, H)
        B[...] = _improved(H.T @ H, self._table.T @ H, B.T).T

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, slopes = self.layout.views(x), self.layout.views(gradient)
        H, B = arrays["H"], arrays["B"]
        codes, bases, cross = H.T @ H, B @ B.T, (self._table.T @ H).T
        slopes["H"][...] = 2 * (H @ bases - self._table @ B.T)
        slopes["B"][...] = 2 * (codes @ B - cross)
        return self._norm - 2 * float(np.vdot(cross, B)) + float(np.vdot(codes, bases))

    def certificate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the distance from stationarity under H, B >= 0."""
        return NonNegative().distance(x, gradient)


def _improved(gram: np.ndarray, cross: np.ndarray, start: np.ndarray) -> np.ndarray:
    return nonnegative_least_squares(gram, cross, tol=0.0, max_sweeps=_TABLE_SWEEPS, start=start)[0]


def _first_bases(table: Any, d: int) -> np.ndarray:
    """Return for each of the first d pairs of singular vectors the part of the right one that says more of the table.

    Of the positive parts of both and their negative parts, the pair with the larger product of lengths is taken
    (Boutsidis & Gallopoulos 2008).
    """
    left, right = _singular_vectors(table, d)
    bases = np.empty_like(right)
    for k, (u, v) in enumerate(zip(left.T, right, strict=True)):
        sizes = [np.linalg.norm(np.maximum(sign * u, 0)) * np.linalg.norm(np.maximum(sign * v, 0)) for sign in (1, -1)]
        bases[k] = np.maximum(v if sizes[0] >= sizes[1] else -v, 0)
    return bases


def _singular_vectors(table: Any, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return at most d left singular vectors, shape (n, d), and right ones, shape (d, p)."""
    n, p = table.shape
    if min(n, p) > _LARGEST:
        left, _, right = randomized_svd(table, d, random_state=0)
        return left, right
    narrow = n >= p
    gram: Any = table.T @ table if narrow else table @ table.T
    gram = gram if isinstance(gram, np.ndarray) else gram.toarray()
    values, vectors = scipy.linalg.eigh(gram, subset_by_index=(len(gram) - d, len(gram) - 1), check_finite=False)
    kept = values > _NULL * values[-1]
    vectors = vectors[:, kept][:, ::-1]
    other = np.asarray((table if narrow else table.T) @ vectors) / np.sqrt(values[kept][::-1])
    return (other, vectors.T) if narrow else (vectors, other.T)


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
