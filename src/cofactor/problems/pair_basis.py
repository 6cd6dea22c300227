"""Coordinates of the weights that pairs of labels have, in which label sets differ."""

from typing import NamedTuple

import numpy as np

from cofactor.problems.pairs import Floats, PairForm

_LEAST = 1e-10  # of the largest eigenvalue, below which a direction is rounding errors


class PairBasis(NamedTuple):
    r"""Orthonormal combinations of weights V (k, P) of pairs, of which alone the scores of S label sets depend.

    Scores are :math:`\Phi v` with the indicators Φ (S, k P), so the part of v outside the rows of Φ only costs penalty.
    What remains has min(S, k P) numbers at most, often far fewer than there are pairs, and the same length. The
    combinations are turned to the principal axes of the label sets, so that a solver meets hardly any correlations.

    Parameters
    ----------
    scores : ndarray of shape (S, r)
        What a unit of each combination gives each set.
    directions : ndarray of shape (r, k P)
        The combinations.
    variances : ndarray of shape (r,)
        Variances of the scores.

    Examples
    --------
    >>> sets = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    >>> basis = PairBasis.of_sets(sets, PairForm.of_all("two-state", 3), np.ones(3) / 3)
    >>> (basis.scores @ basis.directions).round(6)  # which pairs are alike in each set
    array([[1., 1., 1.],
           [1., 1., 1.],
           [0., 1., 0.]])
    """

    scores: Floats
    directions: Floats
    variances: Floats

    def beside_labels(self, sets: Floats, share: Floats) -> tuple[Floats, Floats]:
        """Return the scores (S, r) without what single labels explain of them, and what these weigh there, (L, r)."""
        roots = np.sqrt(share)[:, None]
        table = np.column_stack([np.ones(len(sets)), sets])
        explained = np.linalg.lstsq(roots * table, roots * self.scores, rcond=None)[0]
        return self.scores - table @ explained, explained[1:]

    @classmethod
    def of_sets(cls, sets: Floats, pairs: PairForm, share: Floats) -> "PairBasis":
        """Return the basis of label sets (S, L), which have these shares (S,) of the instances."""
        indicators = pairs.indicators(sets)
        scores, n_sets = indicators, len(sets)
        if n_sets < indicators.shape[1]:
            squares, axes = np.linalg.eigh(indicators @ indicators.T)
            kept = squares > _LEAST * squares[-1]
            axes, roots = axes[:, kept], np.sqrt(squares[kept])
            scores = axes * roots
        centred = scores - share @ scores
        variances, turn = np.linalg.eigh(centred.T @ (share[:, None] * centred))
        if n_sets < indicators.shape[1]:
            directions = ((axes / roots) @ turn).T @ indicators
        else:
            directions = np.ascontiguousarray(turn.T)
        return cls(scores @ turn, directions, np.maximum(variances, 0.0))
