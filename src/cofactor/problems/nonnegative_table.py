"""Non-negative factorization of a table all of whose entries are known."""

from typing import Any

import numpy as np
import scipy.linalg
from sklearn.utils.extmath import randomized_svd

from cofactor.penalties import NonNegative
from cofactor.problems.penalized import PenalizedProblem
from cofactor.solvers.nnls import nonnegative_least_squares

_SWEEPS = 4  # over the coordinates of a row in one update
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
    return nonnegative_least_squares(gram, cross, tol=0.0, max_sweeps=_SWEEPS, start=start)[0]


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
