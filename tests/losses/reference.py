"""Plain formulas of Kumar's thesis, section 2.2, and numeric derivatives of fourth order."""

from collections.abc import Callable

import numpy as np

from cofactor.losses import Hinge, Logistic, ModifiedSquare, SmoothHinge, ZeroOne

Function = Callable[[np.ndarray], np.ndarray]


def zero_one(z: np.ndarray) -> np.ndarray:  # (2.2)
    return np.where(z >= 0, 0.0, 1.0)


def hinge(z: np.ndarray) -> np.ndarray:  # (2.3)
    return np.where(z >= 1, 0.0, 1 - z)


def smooth_hinge(z: np.ndarray) -> np.ndarray:  # (2.4)
    return np.where(z >= 1, 0.0, np.where(z > 0, 0.5 * (1 - z) ** 2, 0.5 - z))


def modified_square(z: np.ndarray) -> np.ndarray:  # (2.5)
    return np.where(z >= 1, 0.0, (1 - z) ** 2)


def logistic(z: np.ndarray) -> np.ndarray:  # (2.6); np.logaddexp is log(e^a + e^b)
    return np.logaddexp(0.0, -z)


#: Each margin loss with its formula and its kinks: where h' jumps, where h'' jumps.
MARGINS = {
    ZeroOne: (zero_one, [0.0], []),
    Hinge: (hinge, [1.0], []),
    SmoothHinge: (smooth_hinge, [], [0.0, 1.0]),
    ModifiedSquare: (modified_square, [], [1.0]),
    Logistic: (logistic, [], []),
}


def slope(f: Function, x: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """Derivative by the five-point rule, whose error is of order h⁴."""
    return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h)


def gradient(f: Callable[[np.ndarray], float], x: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """Gradient of a function of an array by the five-point rule."""
    out = np.empty_like(x)
    for at in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[at] = 1.0
        out[at] = slope(lambda t, step=step: f(x + t * step), 0.0, h)  # type: ignore[misc]
    return out


def threshold_loss(h: Function, y: int, x: float, theta: np.ndarray, construction: str) -> float:
    """Loss (2.7) or (2.8) of one entry of level y, from its words: θ_0 = -∞, θ_R = +∞."""
    n_levels = len(theta) + 1
    bounds = {r: theta[r - 1] for r in range(1, n_levels)}
    if construction == "immediate":
        below, above = [y - 1], [y]
    else:
        below, above = list(range(1, y)), list(range(y, n_levels))
    total = sum(float(h(np.asarray(x - bounds[r]))) for r in below if r in bounds)
    return total + sum(float(h(np.asarray(bounds[r] - x))) for r in above if r in bounds)


def proximal_loss(h: Function, levels: np.ndarray, x: np.ndarray, n_levels: int) -> float:
    """Loss (4.2) of one user, planes recomputed from the scores; unused levels have no term (corrections.md, C17)."""
    theta = {r: x[levels == r].mean() for r in range(1, n_levels + 1) if np.any(levels == r)}
    total = 0.0
    for y, score in zip(levels, x, strict=True):
        for r, plane in theta.items():
            gap = score - plane
            if r == y:
                total += gap**2
            else:
                total += float(h(np.asarray(gap if r < y else -gap)))
    return total
