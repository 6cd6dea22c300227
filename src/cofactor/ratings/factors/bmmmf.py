"""Bi-level maximum margin matrix factorization (Kumar 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags, Tags

from cofactor.checks import number
from cofactor.errors import InvalidInputError
from cofactor.losses import MARGIN_LOSSES, EntryLoss
from cofactor.model.estimator import param
from cofactor.penalties import L2, Penalty
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.loss_fit import LossFactorization
from cofactor.ratings.scoring import Count, FactorScorer


class BinaryMMMF(LossFactorization):
    r"""Maximum margin matrix factorization of ratings with two levels, -1 and +1.

    .. math::

        J(U, V) = \sum_{(i,j) \in \Omega} h(y_{ij} (U_i V_j^T + b_i + c_j))
        + \frac{\alpha}{2} (\|U\|_F^2 + \|V\|_F^2) + \frac{\alpha_b}{2} (\|b\|^2 + \|c\|^2)

    where h is by default the smooth hinge: Kumar's equations (3.6) and (3.7), with biases b and c, which
    ``alpha_bias=None`` leaves out as Kumar does. A score below `threshold` means the lower level, as in equation (3.4).
    A score exactly there means the level that most ratings of the user have (for an unknown user, most ratings of all;
    the upper level where both are equally frequent).

    The default solver is L-BFGS; ``solver="gd"`` is Kumar's algorithm 2, whose printed loop runs *while* its stopping
    criterion holds, and uses iterates before they exist (corrections.md, C1).

    Parameters
    ----------
    n_factors : int, default=100
        Number d of factors; Kumar's. It bounds the rank only: the penalty on U and V acts as a trace norm, so a
        larger d costs time and seldom accuracy.
    {validated_alpha}
    alpha_bias : float or None, default=3.0
        Weight of the biases' penalty; None for no biases, as Kumar has it.
    margin : {"smooth-hinge", "modified-square", "logistic", "hinge", "zero-one"}, default="smooth-hinge"
        Margin loss h; the last two have no gradient and no solver here takes them.
    threshold : float, default=0.0
        The threshold of Kumar's equation (3.4).
    solver : {"lbfgs", "cg", "gd", "apg"}, default="lbfgs"
        Solver.
    {max_iter}
    {tol}
    {dtype}
    levels : array-like of shape (2,), optional
        The two ratings, increasing; by default the distinct ones in y.
    {duplicates}
    {unknown}
    {random_state}
        It is the seed of the start and of validation splits.
    {callback}
    {verbose}

    Attributes
    ----------
    U_, V_, user_bias_, item_bias_, thresholds_
        See `FactorModel`.
    alpha_, validation_, objective_, history_, certificate_, n_iter_
        See `FactorModel`.

    References
    ----------
    V. Kumar, "Collaborative Filtering and Multi-Label Classification with Matrix Factorization", PhD thesis, University
    of Hyderabad, 2018, section 3.2.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 if u % 2 == i % 2 else -1 for u, i in X]
    >>> model = BinaryMMMF(n_factors=2, alpha=0.1, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4)])
    array([-1.,  1.])
    """

    threshold: float = param(number(low=-np.inf), default=0.0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)  # two levels only
        return tags

    def _loss(self, n_levels: int) -> EntryLoss:
        if n_levels != 2:
            raise InvalidInputError(
                f"y has {n_levels} distinct ratings but BinaryMMMF takes two: "
                "use MMMF, HMF or PMMMF, or map the ratings to two levels"
            )
        return MARGIN_LOSSES[self.margin]()

    def _targets(self, ratings: Ratings) -> NDArray[Any]:
        return 2.0 * ratings.levels - 3.0

    def _user_penalties(self) -> dict[str, Penalty | None]:
        return {} if self.alpha_bias is None else {"b": L2(self.alpha_bias)}

    @property
    def scorer_(self) -> FactorScorer:
        """See `RatingModel`."""
        return replace(super().scorer_, decision=Count(ties_up=True))  # the upper level from the threshold on

    def _user_thresholds(self, ratings: Ratings, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        n_low = np.bincount(ratings.row_of_entry, ratings.levels == 1, minlength=len(ratings.users))
        return self._boundary(2 * n_low > ratings.user_counts)[:, None]

    def _common_thresholds(self, level_counts: NDArray[np.int64], sums: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        n_low, n_high = level_counts
        return self._boundary(np.array([n_low > n_high]))

    def _boundary(self, tie_is_low: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the threshold, or the next number above it where a score exactly there shall mean the lower level."""
        at = np.array(self.threshold, dtype=self.dtype)
        return np.where(tie_is_low, at + max(np.spacing(abs(at)), np.finfo(self.dtype).tiny), at)
