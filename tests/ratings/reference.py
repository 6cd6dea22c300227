"""Objectives of the thesis in plain NumPy, float64, from a model's learned arrays; and small planted data."""

from typing import Any

import numpy as np

MARGINS = {
    "smooth-hinge": lambda z: np.where(z >= 1, 0.0, np.where(z <= 0, 0.5 - z, (1 - z) ** 2 / 2)),
    "modified-square": lambda z: np.maximum(0, 1 - z) ** 2,
    "logistic": lambda z: np.log1p(np.exp(-z)),
}
SLOPES = {
    "smooth-hinge": lambda z: np.where(z >= 1, 0.0, np.where(z <= 0, -1.0, z - 1)),
    "modified-square": lambda z: -2 * np.maximum(0, 1 - z),
    "logistic": lambda z: -1 / (1 + np.exp(z)),
}


def planted(
    n_users: int = 40, n_items: int = 30, n_levels: int = 5, density: float = 0.5, seed: int = 0, noise: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs sorted by user and item, and levels 1..R of a noisy matrix of rank 2."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items)) + noise * rng.normal(size=(n_users, n_items))
    levels = 1 + np.searchsorted(np.quantile(scores, np.arange(1, n_levels) / n_levels), scores)
    X = np.argwhere(rng.random(scores.shape) < density)
    return X, levels[X[:, 0], X[:, 1]].astype(float)


def factors(model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return U, V, b, c in float64."""
    return tuple(np.asarray(a, dtype=float) for a in (model.U_, model.V_, model.user_bias_, model.item_bias_))


def scores_of(model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return users, levels and scores x = U V^T + b + c of the training ratings."""
    U, V, b, c = factors(model)
    users, items = model.ratings_.pairs()
    x = np.einsum("kd,kd->k", U[users], V[items]) + b[users] + c[items]
    return users, model.ratings_.levels.astype(int), x


def ridge(model: Any) -> float:
    """Return ½ α (‖U‖² + ‖V‖²) + ½ α_b (‖b‖² + ‖c‖²)."""
    U, V, b, c = factors(model)
    total = model.alpha_ * (np.sum(U**2) + np.sum(V**2))
    return 0.5 * float(total + (model.alpha_bias or 0) * (np.sum(b**2) + np.sum(c**2)))


def binary_objective(model: Any) -> float:
    """(3.7)."""
    _, levels, x = scores_of(model)
    return float(MARGINS[model.margin](np.where(levels == 2, 1, -1) * x).sum()) + ridge(model)


def ordinal_objective(model: Any, thresholds: np.ndarray | None = None) -> float:
    """(3.12), (3.13) with the pull of thresholds to their mean; immediate thresholds by (2.7)."""
    users, levels, x = scores_of(model)
    theta = np.asarray(model.thresholds_ if thresholds is None else thresholds, dtype=float)
    h, R, total = MARGINS[model.margin], len(model.scale_), 0.0
    for r in range(1, R):
        gap = theta[users, r - 1] - x
        if model.construction == "all":
            total += h(np.where(r >= levels, gap, -gap)).sum()
        else:
            total += h(gap[levels == r]).sum() + h(-gap[levels == r + 1]).sum()
    spread = theta - theta.mean(axis=0)
    return float(total) + ridge(model) + 0.5 * model.alpha_thresholds * float(np.sum(spread**2))


def planes_of(model: Any) -> np.ndarray:
    """Return the mean score of each user's ratings of each level, NaN where there is none."""
    users, levels, x = scores_of(model)
    planes = np.full((len(model.users_), len(model.scale_)), np.nan)
    for i, r in set(zip(users.tolist(), levels.tolist(), strict=True)):
        planes[i, r - 1] = x[(users == i) & (levels == r)].mean()
    return planes


def proximal_objective(model: Any) -> float:
    """(4.2), with planes only where a user has ratings (corrections.md, C17)."""
    users, levels, x = scores_of(model)
    planes, h, total = planes_of(model), MARGINS[model.margin], 0.0
    for i, level, score in zip(users, levels, x, strict=True):
        for r in range(1, len(model.scale_) + 1):
            gap = score - planes[i, r - 1]
            if r == level:
                total += gap**2
            elif not np.isnan(gap):
                total += float(h(gap if r < level else -gap))
    return total + ridge(model)
