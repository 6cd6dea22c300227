"""How much lower an expected rating would be without one of the user's ratings, by the Gaussian of the user's row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from cofactor.ratings.explaining import products, with_constant, without_each
from cofactor.ratings.visits import Visits

if TYPE_CHECKING:
    from cofactor.ratings.sampled.bpmf import BPMF
    from cofactor.ratings.sampled.ordinal_probit import OrdinalProbit

__all__ = ["gaussian_reasons", "ordinal_reasons"]

_FAR = 40.0  # an infinite threshold
_LOG_ROOT = 0.5 * np.log(2 * np.pi)


def gaussian_reasons(model: BPMF, user: int, items: NDArray[Any], numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return how much lower the mean of a number that belongs to each level would be without each rating.

    Parameters
    ----------
    model : BPMF
    user : int
        Index.
    items : ndarray of shape (k,)
        Indices.
    numbers : ndarray of shape (R,)

    Returns
    -------
    ndarray of shape (k, n)
    """
    ratings, samples = model._require_ratings(()), model.samples_
    entries = slice(ratings.indptr[user], ratings.indptr[user + 1])
    own, U, V = ratings.indices[entries], samples["U"][:, user, :, None].astype(np.float64), samples["V"]
    noise = samples["noise_precision"].astype(np.float64)
    weights = noise * (np.ones(len(own)) if ratings.weights is None else ratings.weights[entries])
    known, wanted = (V[:, which].astype(np.float64) for which in (own, items))
    targets = ratings.levels[entries] - model.mean_ - (known @ U)[..., 0]
    between, leverages = products(samples["user_precision"].astype(np.float64), known, weights, wanted)
    changes = without_each(between, leverages, weights * targets, weights)
    slopes = _slopes(
        (wanted @ U)[..., 0], model.boundaries_[None], np.full((1, 1), np.sqrt(model.level_precision_)), numbers
    )
    return np.asarray((slopes[..., None] * changes).mean(axis=0))


def ordinal_reasons(model: OrdinalProbit, user: int, items: NDArray[Any], numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the same of an `OrdinalProbit`: its thresholds and its drift stay as they are."""
    ratings, samples = model._require_ratings(()), model.samples_
    entries = slice(ratings.indptr[user], ratings.indptr[user + 1])
    own, levels = ratings.indices[entries], ratings.levels[entries].astype(np.int64)
    U, V = samples["U"][:, user, :, None].astype(np.float64), samples["V"]
    thresholds = samples["thresholds"][:, user].astype(np.float64)
    known, wanted = (V[:, which].astype(np.float64) for which in (own, items))
    F, G = with_constant(known, in_place=True), with_constant(wanted, in_place=True)
    x, scores = (F @ U)[..., 0] + known[..., -1], (G @ U)[..., 0] + wanted[..., -1]
    roots = np.ones((len(scores), 1))
    if model.past_ is not None and ratings.times is not None:
        then = _drifts(model, user, ratings.times[entries])
        now = _drifts(model, user, np.full(1, model.past_.now))
        x, scores, roots = x + then[0], scores + now[0], now[1]
    gradients, informations = _of_levels(x, levels, thresholds)
    between, leverages = products(samples["user_precision"].astype(np.float64), F, informations, G)
    changes = without_each(between, leverages, gradients, informations)
    slopes = _slopes(scores, thresholds, roots, numbers)
    return np.asarray((slopes[..., None] * changes).mean(axis=0))


def _drifts(model: OrdinalProbit, user: int, seconds: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return mean and 1/√(1 + v) of the drift of a user at times under each sample."""
    assert model.past_ is not None
    samples = model.samples_
    places = model.past_.places(Visits(np.full(len(seconds), user, dtype=np.int32), seconds))
    names = ("drift", "drift_multiplier", "drift_scale", "drift_time")
    found = [places.under({name: samples[name][s] for name in names}) for s in range(len(samples["U"]))]
    return np.array([means for means, _ in found]), np.array([roots for _, roots in found])


def _of_levels(
    x: NDArray[Any], levels: NDArray[np.int64], thresholds: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first derivative by x of log(Φ(θ_y - x) - Φ(θ_{y-1} - x)), and minus the second one.

    Examples
    --------
    >>> g, w = _of_levels(np.zeros((1, 2)), np.array([1, 2]), np.zeros((1, 1)))
    >>> g.round(4).tolist(), w.round(4).tolist()
    ([[-0.7979, 0.7979]], [[0.6366, 0.6366]])
    """
    far = np.full((len(thresholds), 1), _FAR)
    ends = np.concatenate([-far, thresholds, far], axis=1)
    low, high = np.clip(ends[:, levels - 1] - x, -_FAR, _FAR), np.clip(ends[:, levels] - x, -_FAR, _FAR)
    turned = low + high > 0  # both tails are taken on the left, where they are precise
    a, b = np.where(turned, -high, low), np.where(turned, -low, high)
    upper, gap = log_ndtr(b), log_ndtr(a) - log_ndtr(b)
    log_mass = upper + np.log(-np.expm1(np.minimum(gap, -1e-12)))
    at_low, at_high = (np.exp(-0.5 * z * z - _LOG_ROOT - log_mass) for z in (low, high))
    gradients = at_low - at_high
    informations = gradients**2 - low * at_low + high * at_high
    return gradients, np.clip(informations, 1e-9, 1 - 1e-9)


def _slopes(
    scores: NDArray[Any], thresholds: NDArray[Any], roots: NDArray[Any], numbers: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the derivative by the score of the mean number of a level, of shape (S, k)."""
    z = roots[..., None] * (thresholds[:, None, :] - scores[..., None])
    densities = np.exp(-0.5 * z * z - _LOG_ROOT)
    return np.asarray(roots * (densities * np.diff(numbers)).sum(axis=-1))
