"""What the small pictures of Kumar's thesis measure: fits in the plane, to printed matrices and to made ones.

The key of a cell holds the source of this module and of all that it imports, so no claims or pictures are imported
here.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cofactor.datasets import make_ratings
from cofactor.experiments.rating_work import IN_PLANE
from cofactor.published import matrix
from cofactor.ratings import MODELS


def observed(name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs and ratings of a published matrix, where 0 stands for what is not observed.

    Parameters
    ----------
    name : str
        As `cofactor.published.matrix` knows it.

    Examples
    --------
    >>> X, y = observed("thesis-3.1")
    >>> X[:2].tolist(), y[:2].tolist(), len(y)
    ([[0, 1], [0, 4]], [1.0, 1.0], 29)
    """
    printed = matrix(name)
    X = np.argwhere(printed != 0)
    return X, printed[X[:, 0], X[:, 1]]


def published_factors() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return U and V of table 3.2, the factors printed for table 3.1."""
    return matrix("thesis-3.2-U"), matrix("thesis-3.2-V")


def sides(method: str, data: str, split: str, seed: int, *, threshold: float, alpha: float) -> dict[str, Any]:
    """Return the scores of the printed factors, and the share of entries on their side for these and for a fit."""
    U, V = published_factors()
    X, y = observed(data)
    scores = U @ V.T - threshold
    fitted = MODELS[method](alpha=alpha, random_state=seed, **IN_PLANE[method]).fit(X, y)
    return {
        "scores": scores.tolist(),
        "printed_right": float(np.mean(np.sign(scores[X[:, 0], X[:, 1]]) == y)),
        "fitted_right": float(np.mean(fitted.predict(X) == y)),
    }


def convergence(method: str, data: str, split: str, seed: int, *, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Fit to a printed matrix from a random start; return the objective at the start and after every iteration."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # with tol=0, all allowed iterations are done
        fitted: Any = MODELS[method](random_state=seed, **settings).fit(*observed(data))
    return {"objective": [float(value) for value in fitted.history_], "last": float(fitted.objective_)}


def regions(
    method: str,
    data: str,
    split: str,
    seed: int,
    *,
    made: Mapping[str, Any],
    share: float,
    frequencies: Sequence[float],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Fit in the plane to a share of the entries of a made matrix, levels drawn as often as `frequencies` say.

    Returns
    -------
    dict
        ``right``, the share of training entries predicted right; ``users``, of each user with ratings of all levels
        their ``counts``, the ``gaps`` between their lines (MMMF's thresholds, PMMMF's planes), the signed distance
        ``margin`` of their items from the border of their region, and the share ``nearest`` of them to the line of
        their level; and ``drawn``, the picture of the one of them whose rarest level is the least rare.
    """
    _, complete = make_ratings(**made, random_state=seed, return_complete=True)
    X = _entries(complete, share, np.array(frequencies), np.random.default_rng(seed))
    y = complete[X[:, 0], X[:, 1]]
    fitted: Any = MODELS[method](random_state=seed, **settings).fit(X, y)
    lines = fitted.planes_ if method == "PMMMF" else fitted.thresholds_
    level, user, score = y.astype(int), fitted.users_.index(X[:, 0]), fitted.decision_function(X)
    counts = np.array([np.bincount(level[user == k], minlength=6)[1:] for k in range(len(lines))])
    full = np.flatnonzero(counts.min(axis=1) > 0)
    best = max(full, key=lambda k: counts[k].min(), default=None)
    points = fitted.V_[fitted.items_.index(X[user == best, 1])] if best is not None else np.empty((0, 2))
    return {
        "right": float(np.mean(fitted.predict(X) == y)),
        "users": [
            {
                "counts": counts[k].tolist(),
                "gaps": np.diff(lines[k]).tolist(),
                "margin": _margins(score[user == k], level[user == k], fitted.thresholds_[k]).tolist(),
                "nearest": _nearest(score[user == k], level[user == k], lines[k]),
            }
            for k in full
        ],
        "drawn": {}
        if best is None
        else {
            "V": points.tolist(),
            "U_row": fitted.U_[best].tolist(),
            "thresholds": lines[best].tolist(),
            "levels": level[user == best].tolist(),
        },
    }


def _entries(
    complete: NDArray[np.float64], share: float, frequencies: NDArray[np.float64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Draw pairs, each level about as often as its frequency says."""
    levels = complete.ravel().astype(int)
    counts = np.bincount(levels, minlength=len(frequencies) + 1)[1:]
    weights = (frequencies / np.maximum(counts, 1))[levels - 1]
    places = generator.choice(levels.size, round(share * levels.size), replace=False, p=weights / weights.sum())
    return np.column_stack(np.unravel_index(np.sort(places), complete.shape)).astype(np.int64)


def _margins(scores: NDArray[Any], levels: NDArray[Any], thresholds: NDArray[Any]) -> NDArray[Any]:
    """Return how far inside the region of its level each score lies."""
    ends = np.concatenate(([-np.inf], thresholds, [np.inf]))
    return np.minimum(scores - ends[levels - 1], ends[levels] - scores)


def _nearest(scores: NDArray[Any], levels: NDArray[Any], lines: NDArray[Any]) -> float:
    """Return the share of items whose nearest line is the one with the number of their level."""
    return float(np.mean(np.abs(scores[:, None] - lines).argmin(axis=1) == levels - 1))
