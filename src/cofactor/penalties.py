"""Penalties on factor matrices (thesis, section 2.3): value, gradient where smooth, proximal map.

The weight `alpha` multiplies the penalty exactly as its formula shows. The proximal map of step t is
prox(A) = argmin_B penalty(B) + ‖B - A‖²_F / (2t).
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from cofactor.errors import InvalidInputError
from cofactor.kernels import vectors

__all__ = [
    "L1",
    "L2",
    "L21",
    "AroundL2",
    "CentredL2",
    "GraphL2",
    "GroupL21",
    "NonNegative",
    "Penalty",
    "RegressedL2",
    "RowL2",
    "SmoothPenalty",
]


class Penalty(ABC):
    """A convex penalty on a matrix.

    Parameters
    ----------
    alpha : float
        Weight, at least 0.

    Attributes
    ----------
    smooth : bool
        Whether it has a gradient everywhere; if not, only solvers with proximal steps can minimise it.

    Examples
    --------
    >>> from cofactor.penalties import L1
    >>> L1(0.5).value(np.array([[1.0, -2.0]])), L1(0.5).prox(np.array([[1.0, -0.2]]), 1.0).tolist()
    (1.5, [[0.5, -0.0]])
    """

    smooth: ClassVar[bool]

    def __init__(self, alpha: float = 1.0) -> None:
        if not (np.isfinite(alpha) and alpha >= 0):
            raise InvalidInputError(
                "the weight of a penalty must be a finite number of at least 0", argument="alpha", found=alpha
            )
        self.alpha = float(alpha)

    @abstractmethod
    def value(self, A: np.ndarray) -> float:
        """Return the penalty of A (+∞ outside its domain)."""

    @abstractmethod
    def prox(self, A: np.ndarray, step: float) -> np.ndarray:
        """Return the proximal map of A for a step t > 0."""

    @abstractmethod
    def distance(self, A: np.ndarray, gradient: np.ndarray) -> float:
        """Return the Euclidean distance from -gradient to the subdifferential at A: 0 at a stationary point."""


class SmoothPenalty(Penalty):
    """A penalty with a gradient.

    Examples
    --------
    >>> from cofactor.penalties import L2
    >>> gradient = np.zeros((1, 2))
    >>> L2(0.5).add_gradient(np.array([[1.0, -2.0]]), gradient), gradient.tolist()
    (1.25, [[0.5, -1.0]])
    """

    smooth = True

    @abstractmethod
    def add_gradient(self, A: np.ndarray, gradient: np.ndarray) -> float:
        """Add the gradient at A to `gradient` in place; return the penalty of A."""

    def distance(self, A: np.ndarray, gradient: np.ndarray) -> float:  # noqa: D102
        total = np.array(gradient, copy=True)
        self.add_gradient(A, total)
        return float(np.linalg.norm(total))


class L2(SmoothPenalty):
    """Squared Frobenius norm (2.14), with the ½ of (3.7), (3.13), (4.2): alpha/2 Σ a².

    Examples
    --------
    >>> L2(2.0).value(np.array([[3.0, 4.0]]))
    25.0
    """

    def value(self, A: np.ndarray) -> float:  # noqa: D102
        flat = np.ravel(A)
        return 0.5 * self.alpha * vectors.dot(flat, flat)

    def add_gradient(self, A: np.ndarray, gradient: np.ndarray) -> float:  # noqa: D102
        if not (A.flags.c_contiguous and gradient.flags.c_contiguous):  # flattening them would make copies
            gradient += self.alpha * A
            return self.value(A)
        return vectors.add_ridge(self.alpha, A.reshape(-1), gradient.reshape(-1))

    def prox(self, A: np.ndarray, step: float) -> np.ndarray:  # noqa: D102
        return np.asarray(A / (1 + step * self.alpha), dtype=A.dtype)

    def centres(self, A: np.ndarray) -> np.ndarray | None:
        """Return where the penalty draws the rows of A, given all of them; None for zero."""
        return None


class AroundL2(L2):
    """Squared distance from given centres: alpha/2 ‖A - M‖²_F.

    Parameters
    ----------
    alpha : float
        Weight.
    given : ndarray
        M, of the shape of A.

    Examples
    --------
    >>> AroundL2(2.0, np.array([[1.0, 1.0]])).value(np.array([[3.0, 4.0]]))
    13.0
    """

    def __init__(self, alpha: float, given: np.ndarray) -> None:
        super().__init__(alpha)
        self.given = given

    def value(self, A: np.ndarray) -> float:  # noqa: D102
        return 0.5 * self.alpha * float(np.sum((A - self.given) ** 2, dtype=float))

    def add_gradient(self, A: np.ndarray, gradient: np.ndarray) -> float:  # noqa: D102
        rest = A - self.given
        gradient += self.alpha * rest
        return 0.5 * self.alpha * float(np.sum(rest * rest, dtype=float))

    def prox(self, A: np.ndarray, step: float) -> np.ndarray:  # noqa: D102
        return np.asarray(self.given + (A - self.given) / (1 + step * self.alpha), dtype=A.dtype)

    def centres(self, A: np.ndarray) -> np.ndarray | None:  # noqa: D102
        return self.given


class RegressedL2(L2):
    r"""Squared distance of rows from their regression on features, with the weights G that make the penalty least.

    .. math::

        \frac{\alpha}{2} \min_G \Big(\|A - F G\|_F^2 + \sum_k \rho_k \|G_k\|^2\Big)
        = \frac{\alpha}{2} \operatorname{tr}(A^\top (A - F G)), \quad
        G_k = \frac{F_k^\top A}{\|F_k\|^2 + \rho_k}

    for orthogonal columns :math:`F_k`. Where rows are normal around F G, and G is normal too, this is minus the
    logarithm of the density of A. Its gradient is :math:`\alpha (A - F G)`, since G is the best one.

    Parameters
    ----------
    alpha : float
        Weight.
    features : ndarray of shape (n, K)
        F, with orthogonal columns.
    rho : ndarray of shape (K,), default=1.0
        ρ: 0 for a feature whose weights cost nothing.

    Examples
    --------
    >>> penalty = RegressedL2(2.0, np.array([[1.0], [-1.0]]))
    >>> A = np.array([[3.0], [-3.0]])
    >>> penalty.weights(A), penalty.centres(A), penalty.value(A)
    (array([[2.]]), array([[ 2.],
           [-2.]]), 6.0)
    """

    def __init__(self, alpha: float, features: np.ndarray, rho: np.ndarray | float = 1.0) -> None:
        super().__init__(alpha)
        self.features = np.ascontiguousarray(features, dtype=np.float64)
        self.columns = np.ascontiguousarray(self.features.T)
        self.rho = np.broadcast_to(np.asarray(rho, dtype=np.float64), len(self.columns))
        self.squares = (self.columns**2).sum(axis=1)

    def weights(self, A: np.ndarray) -> np.ndarray:
        """Return G, of shape (K, p), or (K,) if A has one axis."""
        from cofactor.kernels.regression import products_with

        rows = A.reshape(len(A), -1).astype(np.float64)
        total = np.maximum(self.squares + self.rho, np.finfo(float).tiny)
        found = products_with(self.features, rows, np.zeros(rows.shape[1])) / total[:, None]
        return found.reshape(-1, *A.shape[1:])

    def centres(self, A: np.ndarray) -> np.ndarray:
        """Return F G."""
        return self._by(self.weights(A)).reshape(A.shape).astype(A.dtype)

    def _by(self, weights: np.ndarray) -> np.ndarray:
        from cofactor.kernels.regression import means_by

        table = weights.reshape(len(weights), -1)
        return means_by(self.columns, table, np.zeros(table.shape[1]))

    def value(self, A: np.ndarray) -> float:  # noqa: D102
        return self._parts(A)[1]

    def add_gradient(self, A: np.ndarray, gradient: np.ndarray) -> float:  # noqa: D102
        rest, value = self._parts(A)
        gradient += (self.alpha * rest).astype(gradient.dtype)
        return value

    def _parts(self, A: np.ndarray) -> tuple[np.ndarray, float]:
        """Return A - F G, and the penalty."""
        weights = self.weights(A)
        rest = A - self._by(weights).reshape(A.shape)
        shrunk = (weights**2).reshape(len(weights), -1).sum(axis=1) @ self.rho
        return rest, 0.5 * self.alpha * float(np.sum(rest * rest) + shrunk)

    def prox(self, A: np.ndarray, step: float) -> np.ndarray:  # noqa: D102
        raise NotImplementedError("solvers for smooth penalties need no proximal map of it")


class GraphL2(SmoothPenalty):
    r"""Ridge, and squared differences of the rows of X A that a graph connects.

    .. math:: \frac{\alpha}{2} \|A\|_F^2 + \gamma \operatorname{tr}(A^\top X^\top \Lambda X A)

    With :math:`\Lambda = \operatorname{diag}(E 1) - E` the second term is :math:`\frac{\gamma}{2} \sum_{ij} e_{ij}
    \|(X A)_i - (X A)_j\|^2`.

    Parameters
    ----------
    alpha : float
        Weight of the ridge.
    gamma : float
        Weight of the graph.
    X : ndarray or csr_array of shape (n, D)
    laplacian : csr_array of shape (n, n)
        Λ, symmetric.

    Examples
    --------
    >>> laplacian = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> GraphL2(2.0, 0.5, np.array([[1.0], [3.0]]), laplacian).value(np.array([[3.0]]))
    27.0
    """

    def __init__(self, alpha: float, gamma: float, X: Any, laplacian: Any) -> None:
        super().__init__(alpha)
        self.gamma, self.X, self.laplacian = gamma, X, laplacian
        self._transposed = X.T

    def value(self, A: np.ndarray) -> float:  # noqa: D102
        return self.add_gradient(A, np.zeros_like(A))

    def add_gradient(self, A: np.ndarray, gradient: np.ndarray) -> float:  # noqa: D102
        slope = self.alpha * A
        if self.gamma:
            slope += 2 * self.gamma * np.asarray(self._transposed @ (self.laplacian @ (self.X @ A)))
        gradient += slope
        return 0.5 * float(np.sum(slope * A, dtype=float))

    def prox(self, A: np.ndarray, step: float) -> np.ndarray:  # noqa: D102
        raise NotImplementedError("solvers for smooth penalties need no proximal map of it")


class RowL2(SmoothPenalty):
    """Squared norms of rows, each with a weight of its own: alpha/2 Σ_i c_i ‖A_i‖².

    Parameters
    ----------
    alpha : float
        Weight.
    shares : ndarray of shape (n,)
        c, at least 0.

    Examples
    --------
    >>> RowL2(2.0, np.array([1, 0])).value(np.array([[3.0], [4.0]]))
    9.0
    """

    def __init__(self, alpha: float, shares: np.ndarray) -> None:
        super().__init__(alpha)
        self.shares = shares

    def value(self, A: np.ndarray) -> float:  # noqa: D102
        return 0.5 * float(np.sum(self._weights(A) * A * A, dtype=float))

    def add_gradient(self, A: np.ndarray, gradient: np.ndarray) -> float:  # noqa: D102
        slope = self._weights(A) * A
        gradient += slope
        return 0.5 * float(np.sum(slope * A, dtype=float))

    def prox(self, A: np.ndarray, step: float) -> np.ndarray:  # noqa: D102
        return np.asarray(A / (1 + step * self._weights(A)))

    def _weights(self, A: np.ndarray) -> np.ndarray:
        weights = (self.alpha * self.shares).astype(A.dtype)
        return weights.reshape(-1, *[1] * (A.ndim - 1))


class CentredL2(SmoothPenalty):
    """Squared distance of the rows from their mean: alpha/2 Σ_i ‖A_i - mean(A)‖².

    It draws the rows towards each other, wherever their mean is. A common row as a further variable would give the same
    optimum, but a problem whose condition is much worse.

    Examples
    --------
    >>> CentredL2(2.0).value(np.array([[3.0], [5.0]]))
    2.0
    """

    def value(self, A: np.ndarray) -> float:  # noqa: D102
        gap = self._gap(A)
        return 0.5 * self.alpha * float(np.sum(gap * gap, dtype=float))

    def add_gradient(self, A: np.ndarray, gradient: np.ndarray) -> float:  # noqa: D102
        gap = self._gap(A)
        gradient += self.alpha * gap
        return 0.5 * self.alpha * float(np.sum(gap * gap, dtype=float))

    def prox(self, A: np.ndarray, step: float) -> np.ndarray:  # noqa: D102
        return np.asarray(A - self._gap(A) * (step * self.alpha / (1 + step * self.alpha)), dtype=A.dtype)

    @staticmethod
    def _gap(A: np.ndarray) -> np.ndarray:
        return np.asarray(A - A.mean(axis=0, dtype=float).astype(A.dtype))


class L1(Penalty):
    """Sum of absolute values (2.13): alpha Σ abs(a); prox is soft thresholding.

    Examples
    --------
    >>> L1(1.0).prox(np.array([[3.0, -0.5]]), 1.0)
    array([[ 2., -0.]])
    """

    smooth = False

    def value(self, A: np.ndarray) -> float:  # noqa: D102
        return self.alpha * float(np.abs(A).sum(dtype=float))

    def prox(self, A: np.ndarray, step: float) -> np.ndarray:  # noqa: D102
        return np.asarray(np.copysign(np.maximum(np.abs(A) - step * self.alpha, 0), A), dtype=A.dtype)

    def distance(self, A: np.ndarray, gradient: np.ndarray) -> float:  # noqa: D102
        active = gradient + self.alpha * np.sign(A)
        idle = np.maximum(np.abs(gradient) - self.alpha, 0)
        return float(np.linalg.norm(np.where(A != 0, active, idle)))


class L21(Penalty):
    """Sum of the lengths of the rows (2.15): alpha Σ_i ‖A_i‖; prox shrinks whole rows (6.10), 0 for a zero row.

    Examples
    --------
    >>> L21(1.0).prox(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    array([[2.4, 3.2],
           [0. , 0. ]])
    """

    smooth = False

    def value(self, A: np.ndarray) -> float:  # noqa: D102
        return self.alpha * float(np.linalg.norm(A, axis=1).sum(dtype=float))

    def prox(self, A: np.ndarray, step: float) -> np.ndarray:  # noqa: D102
        length = np.linalg.norm(A, axis=1, keepdims=True)
        shrink = np.maximum(1 - step * self.alpha / np.where(length > 0, length, 1), 0)
        return np.asarray(A * shrink, dtype=A.dtype)

    def distance(self, A: np.ndarray, gradient: np.ndarray) -> float:  # noqa: D102
        length = np.linalg.norm(A, axis=1, keepdims=True)
        active = np.linalg.norm(gradient + self.alpha * A / np.where(length > 0, length, 1), axis=1)
        idle = np.maximum(np.linalg.norm(gradient, axis=1) - self.alpha, 0)
        return float(np.linalg.norm(np.where(length[:, 0] > 0, active, idle)))


class GroupL21(Penalty):
    """Sum over blocks of columns of the lengths of their rows: alpha Σ_k ‖V^k‖₂,₁, see `L21`.

    Parameters
    ----------
    alpha : float
        Weight.
    sizes : ndarray of shape (K,)
        Numbers of columns in the blocks, all above 0.

    Examples
    --------
    >>> penalty = GroupL21(1.0, np.array([2, 1]))
    >>> penalty.value(np.array([[3.0, 4.0, -2.0]]))
    7.0
    >>> penalty.prox(np.array([[3.0, 4.0, -0.5]]), 1.0)
    array([[ 2.4,  3.2, -0. ]])
    """

    smooth = False

    def __init__(self, alpha: float, sizes: np.ndarray) -> None:
        super().__init__(alpha)
        self.sizes = sizes
        self._starts = np.cumsum(sizes) - sizes

    def lengths(self, A: np.ndarray) -> np.ndarray:
        """Return the lengths of the rows in each block, shape (d, K)."""
        return np.asarray(np.sqrt(np.add.reduceat(A * A, self._starts, axis=1)))

    def value(self, A: np.ndarray) -> float:  # noqa: D102
        return self.alpha * float(self.lengths(A).sum(dtype=float))

    def prox(self, A: np.ndarray, step: float) -> np.ndarray:  # noqa: D102
        length = self.lengths(A)
        shrink = np.maximum(1 - step * self.alpha / np.where(length > 0, length, 1), 0)
        return np.asarray(A * np.repeat(shrink, self.sizes, axis=1), dtype=A.dtype)

    def distance(self, A: np.ndarray, gradient: np.ndarray) -> float:  # noqa: D102
        blocks = zip(np.split(A, self._starts[1:], axis=1), np.split(gradient, self._starts[1:], axis=1), strict=True)
        row = L21(self.alpha)
        return float(np.linalg.norm([row.distance(V, slope) for V, slope in blocks]))


class NonNegative(Penalty):
    """Constraint A >= 0 as a penalty: 0 inside, +∞ outside; prox is the projection. `alpha` has no effect.

    Examples
    --------
    >>> NonNegative().prox(np.array([[3.0, -4.0]]), 1.0)
    array([[3., 0.]])
    """

    smooth = False

    def value(self, A: np.ndarray) -> float:  # noqa: D102
        return 0.0 if np.all(A >= 0) else np.inf

    def prox(self, A: np.ndarray, step: float) -> np.ndarray:  # noqa: D102
        return np.maximum(A, 0)

    def distance(self, A: np.ndarray, gradient: np.ndarray) -> float:  # noqa: D102
        return float(np.linalg.norm(np.where(A > 0, gradient, np.minimum(gradient, 0))))
