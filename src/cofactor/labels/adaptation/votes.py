"""How nearest neighbours vote for labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.labels.base import CheckedFeatures, FitInput
from cofactor.labels.explaining import ScoreParts, VotePart
from cofactor.labels.features import squared_lengths

#: Half of the least difference between a share of votes and a half: with it, exactly half the votes are enough.
_QUARTER = 0.25
_NARROW = 1e-6  # relative difference below which squared lengths of rows are equal


def priors(data: FitInput) -> NDArray[np.float64]:
    """Return the share of the instances that have each label."""
    return np.bincount(data.labels.indices, minlength=data.labels.shape[1]) / data.n_instances


def bare_rows(X: CheckedFeatures, training: CheckedFeatures) -> NDArray[np.bool_]:
    """Return which rows have no value, where the rows of training that have one have the same length.

    All instances of training are as near to them, so that no neighbour votes.
    """
    bare, squares = squared_lengths(X) == 0, squared_lengths(training)
    some = squares[squares > 0]
    of_one_length = len(some) > 1 and float(some.max() - some.min()) <= _NARROW * float(some.max())
    return bare & of_one_length


def vote_shares(
    counts: sparse.csr_array, k: int, prior: NDArray[np.float64], bare: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the share of the k neighbours that have each label, shape (n, L); bare rows have the prior."""
    shares = counts.toarray() / max(1, k)
    shares[bare] = prior
    return np.asarray(shares)


def vote_scores(
    counts: sparse.csr_array, k: int, prior: NDArray[np.float64], bare: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return what votes are above a half, shape (n, L); exactly half of them are."""
    return vote_shares(counts, k, prior, bare) + _at_half(k)


def vote_parts(
    neighbours: NDArray[np.int64],
    has: Callable[[int, int], NDArray[np.bool_]],
    k: int,
    prior: NDArray[np.float64],
    bare: NDArray[np.bool_],
    names: NDArray[Any],
) -> ScoreParts:
    """Return the scores as sums over neighbours, of which a function says which of a row have a label."""
    intercept = np.where(bare[:, None], prior, 0.0) + _at_half(k)
    votes = VotePart(neighbours, lambda label, row: has(label, row) * (~bare[row] / max(1, k)))
    return ScoreParts((votes,), intercept, names)


def _at_half(k: int) -> float:
    return _QUARTER / max(1, k) - 0.5
