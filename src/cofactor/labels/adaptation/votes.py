"""How nearest neighbours vote for labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.labels.adaptation.neighbour_model import NeighbourModel
from cofactor.labels.base import CheckedFeatures, FitInput
from cofactor.labels.explaining import ScoreParts, VotePart
from cofactor.labels.features import squared_lengths

#: Half of the least difference between a share of votes and a half: with it, exactly half the votes are enough.
_QUARTER = 0.25
_NARROW = 1e-6  # relative difference below which squared lengths of rows are equal


def priors(data: FitInput) -> NDArray[np.float64]:
    """Return the share of the instances that have each label."""
    return np.bincount(data.labels.indices, minlength=data.labels.shape[1]) / data.n_instances


def vote_shares(
    model: NeighbourModel, prior: NDArray[np.float64], counts: sparse.csr_array, X: CheckedFeatures
) -> NDArray[np.float64]:
    """Return the share of the neighbours that have each label, shape (n, L).

    Rows without a value have the prior where the others have one length: all instances are as near to them.
    """
    shares = counts.toarray() / max(1, model.n_neighbors_)
    shares[_bare(model, X)] = prior
    return np.asarray(shares)


def vote_scores(
    model: NeighbourModel, prior: NDArray[np.float64], counts: sparse.csr_array, X: CheckedFeatures
) -> NDArray[np.float64]:
    """Return what votes are above a half, shape (n, L); exactly half of them are."""
    return vote_shares(model, prior, counts, X) + _at_half(model)


def vote_parts(model: NeighbourModel, prior: NDArray[np.float64], X: CheckedFeatures) -> ScoreParts:
    """Return the scores as sums over neighbours."""
    neighbours, has = model._having(X)
    votes = ~_bare(model, X)
    intercept = np.where(votes[:, None], 0.0, prior) + _at_half(model)

    def weigh(label: int, row: int) -> NDArray[Any]:
        return has(label, row) * (votes[row] / max(1, model.n_neighbors_))

    return ScoreParts((VotePart(neighbours, weigh),), intercept, model._names)


def _at_half(model: NeighbourModel) -> float:
    return _QUARTER / max(1, model.n_neighbors_) - 0.5


def _bare(model: NeighbourModel, X: CheckedFeatures) -> NDArray[np.bool_]:
    """Return which rows have no value, where the rows of training that have one have the same length."""
    bare, squares = squared_lengths(X) == 0, squared_lengths(model.X_)
    some = squares[squares > 0]
    of_one_length = len(some) > 1 and float(some.max() - some.min()) <= _NARROW * float(some.max())
    return bare & of_one_length
