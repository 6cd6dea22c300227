"""An odd number of nearest neighbours that vote for each label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import check_number
from cofactor.errors import InvalidInputError
from cofactor.labels.adaptation.neighbour_model import NeighbourModel, bare_rows, priors, vote_parts, vote_scores
from cofactor.labels.base import CheckedFeatures, FitInput
from cofactor.labels.explaining import ScoreParts
from cofactor.labels.penalty import AUTO
from cofactor.model.estimator import learned, param


def _check_odd(name: str, value: Any) -> None:
    """Refuse a number of neighbours whose votes may be equal, and what is no number."""
    check_number(name, value, low=1, whole=True, also=[AUTO])
    if not isinstance(value, str) and value % 2 == 0:
        raise InvalidInputError(
            "with an even number of neighbours votes can be equal",
            argument=name,
            found=value,
            advice="give an odd one, or take BRkNN, where half of the votes are enough",
        )


class KNNVote(NeighbourModel):
    r"""An odd number of nearest neighbours vote: a label is on if most of them have it (Li 2011, section 5.2).

    It is `BRkNN` where no vote can end in a tie, so with k given the scores are the same. What differs is how k is
    chosen: for the votes themselves, where they decide.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Odd number k of neighbours; an even one is refused. Where there are fewer other instances, the largest odd
        number of them. "auto" takes that one of 1, 3, 5, 9, 15, 25 and 51, at most an eighth of the instances, whose
        leave-one-out votes have the highest micro-F1 where `threshold` is a number. Otherwise the cut is learned, and
        it is that whose shares have the least squared error, as in `BRkNN`.
    {neighbour_scale}
        `paper` takes "rows", which the thesis found best.
    {threshold}
        0 is the vote, and so is `paper`.
    {decide_for}
    {random_state}
        It draws the held-out instances, where there are too many scores to learn probabilities from all.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    prior_, n_neighbors_, X_, Y_, instances_, instance_ids_
        See `BRkNN`.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [0, 0], [0, 0], [0, 1], [1, 1], [0, 0]])
    >>> KNNVote(3, scale="none", threshold=0).fit(X, Y).predict([[0.05], [1.15], [1.4]])
    array([[1, 0],
           [0, 1],
           [0, 1]])
    """

    n_neighbors: int | str = param(_check_odd, default="auto", grid=[1, 3, 5, 9, 15, 25])

    prior_: NDArray[np.float64] = learned("labels")

    _paper: ClassVar[Mapping[str, Any]] = {"scale": "rows"}
    _sizes: ClassVar[tuple[int, ...]] = (1, 3, 5, 9, 15, 25, 51)

    def _learn(self, counts: Callable[[], sparse.csr_array], data: FitInput) -> None:
        self.prior_ = priors(data)

    def _of_counts(self, counts: sparse.csr_array, X: CheckedFeatures) -> NDArray[Any]:
        return vote_scores(counts, self.n_neighbors_, self.prior_, bare_rows(X, self.X_))

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        return vote_parts(*self._having(X), self.n_neighbors_, self.prior_, bare_rows(X, self.X_), self._names)

    def _at_most(self, k: int) -> int:
        return max(0, k - (k % 2 == 0))

    def _error(self, counts: sparse.csr_array, k: int, Y: sparse.csr_array) -> float:
        if isinstance(self.threshold, str):
            return super()._error(counts, k, Y)
        most = counts.data > k * (0.5 + self.threshold) - 0.25  # as the scores are cut
        on = sparse.csr_array((most, counts.indices, counts.indptr), counts.shape)
        return -2 * float(on.multiply(Y).sum()) / max(1.0, float(np.count_nonzero(most) + Y.sum()))
