"""Small problems that solvers are tried on."""

from collections.abc import Callable

import numpy as np

from cofactor.losses import AllThreshold, EntryLoss, Logistic, Proximal, SmoothHinge, Squared
from cofactor.penalties import L2, Penalty
from cofactor.problems import ObservedProblem

from ..kernels.reference import pattern, random_pattern


class Function:
    """A smooth function of a vector as a problem, in float64."""

    smooth = True
    dtype = np.dtype(float)

    def __init__(self, size: int, value_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]]) -> None:
        self.size = size
        self.function = value_gradient

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        value, gradient[...] = self.function(x)
        return float(value)

    def nonsmooth_value(self, x: np.ndarray) -> float:
        return 0.0

    def prox(self, x: np.ndarray, step: float, out: np.ndarray) -> None:
        out[...] = x

    def certificate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        return float(np.linalg.norm(gradient))


def quadratic(size: int = 30, condition: float = 1e3, seed: int = 0) -> tuple[Function, np.ndarray]:
    """Return ½ (x - x*)ᵀ A (x - x*) + 1 and its minimiser x*."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(size, size)))
    A = Q @ np.diag(np.geomspace(1, condition, size)) @ Q.T
    best = rng.normal(size=size)
    return Function(size, lambda x: (0.5 * (x - best) @ A @ (x - best) + 1, A @ (x - best))), best


def rosenbrock() -> Function:
    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        a, b = x
        slope = np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])
        return (1 - a) ** 2 + 100 * (b - a * a) ** 2, slope

    return Function(2, f)


def barrier() -> Function:
    """Σ (x - k log x) with minimiser x_k = k; NaN for x < 0, +∞ at 0."""
    k = np.arange(1.0, 6.0)

    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.sum(x - k * np.log(x))), 1 - k / x

    return Function(5, f)


def factorization(
    loss: EntryLoss, dtype: type = np.float64, penalty: Penalty | None = None, seed: int = 0
) -> tuple[ObservedProblem, np.ndarray]:
    """Return a factorization of random observed entries with biases (and thresholds), and a start."""
    rng = np.random.default_rng(seed)
    n, m, d = 25, 20, 3
    p = random_pattern(rng, n, m, 0.5)
    shapes: dict[str, tuple[int, ...]] = {"U": (n, d), "V": (m, d), "b": (n,), "c": (m,)}
    weak = L2(0.05)
    penalties: dict[str, Penalty] = {"U": penalty or L2(0.5), "V": penalty or L2(0.5), "b": weak, "c": weak}
    if loss.target == "ordinal":
        y = rng.integers(1, 6, len(p.indices)).astype(np.uint8)
    else:
        y = rng.choice([-1.0, 1.0], len(p.indices))
    if isinstance(loss, AllThreshold):
        shapes |= {"own": (n, 4)}
        penalties |= {"own": weak}
    problem = ObservedProblem(p, y, loss, shapes, penalties, dtype=dtype)
    return problem, (0.3 * rng.normal(size=problem.size)).astype(dtype)


FACTORIZATIONS: dict[str, EntryLoss] = {
    "smooth hinge": SmoothHinge(),
    "logistic": Logistic(),
    "all thresholds": AllThreshold(),
    "proximal": Proximal(n_levels=5),
    "squared": Squared(),
}


def fold_in(loss: EntryLoss, penalties: dict[str, Penalty], seed: int = 0) -> tuple[ObservedProblem, np.ndarray]:
    """Return a convex problem: factors and thresholds of the rows, with V fixed; and V."""
    rng = np.random.default_rng(seed)
    n, m, d = 12, 15, 3
    p = random_pattern(rng, n, m, 0.7)
    V = rng.normal(size=(m, d))
    shapes: dict[str, tuple[int, ...]] = {"U": (n, d)}
    if loss.target == "ordinal":
        y = rng.integers(1, 6, len(p.indices)).astype(np.uint8)
        if isinstance(loss, AllThreshold):
            shapes |= {"own": (n, 4)}
    else:
        y = rng.choice([-1.0, 1.0], len(p.indices))
    return ObservedProblem(p, y, loss, shapes, penalties, fixed={"V": V}, dtype=np.float64), V


def regression(
    penalty: Penalty, n: int = 4, m: int = 40, d: int = 8, orthonormal: bool = False
) -> tuple[ObservedProblem, np.ndarray, np.ndarray]:
    """Return n regressions Σ_j (y_ij - U_i·V_j)² + penalty(U) with common features V; and V, Y."""
    rng = np.random.default_rng(5)
    V = rng.normal(size=(m, d))
    if orthonormal:
        V, _ = np.linalg.qr(V)
    truth = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    Y = truth @ V.T + 0.1 * rng.normal(size=(n, m))
    everything = pattern(np.ones((n, m), bool))
    problem = ObservedProblem(
        everything, Y.ravel(), Squared(), {"U": (n, d)}, {"U": penalty}, fixed={"V": V}, dtype=np.float64
    )
    return problem, V, Y


def soft_thresholded(n: int = 14, m: int = 11, d: int = 3, alpha: float = 2.0) -> tuple[np.ndarray, float]:
    """Return a matrix whose best factorization under ‖Y - UVᵀ‖² + α/2 (‖U‖² + ‖V‖²) is known, and its cost.

    With Y = P (S + α/2 I) Qᵀ the optimum is U = P √S, V = Q √S: there 2 (Y - UVᵀ) V = α P Qᵀ V = α U.
    """
    rng = np.random.default_rng(4)
    P, _ = np.linalg.qr(rng.normal(size=(n, d)))
    Q, _ = np.linalg.qr(rng.normal(size=(m, d)))
    S = np.linspace(3, 8, d)
    Y = P @ np.diag(S + alpha / 2) @ Q.T
    return Y, float(d * (alpha / 2) ** 2 + alpha * S.sum())
