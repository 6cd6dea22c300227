"""Maximum margin matrix factorization of ratings on several levels (Srebro, Rennie & Jaakkola 2004; Kumar 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import number, one_of
from cofactor.losses import MARGIN_LOSSES, AllThreshold, EntryLoss, ImmediateThreshold
from cofactor.model.estimator import learned, param
from cofactor.penalties import CentredL2, Penalty
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.base import FactorRegression, Links
from cofactor.ratings.factors.loss_fit import LossFactorization
from cofactor.ratings.interaction_model import Tags

CONSTRUCTIONS = {"all": AllThreshold, "immediate": ImmediateThreshold}


class MMMF(LossFactorization):
    r"""Maximum margin matrix factorization: scores between thresholds of each user.

    .. math::

        J(U, V, c, \theta) = \sum_{(i,j) \in \Omega} \sum_{r=1}^{R-1} h(T^r_{ij} (\theta_{i,r} - U_i V_j^T - c_j))
        + \frac{\alpha}{2} (\|U\|_F^2 + \|V\|_F^2) + \frac{\alpha_b}{2} \|c\|^2
        + \frac{\alpha_\theta}{2} \sum_i \|\theta_i - \bar\theta\|^2

    with T = +1 for r >= y and -1 for r < y: Kumar's equations (3.12) and (3.13), minimised over thresholds too
    (corrections.md, C4), with item biases c and a penalty that draws users' thresholds to their mean. A level is one
    more than the number of thresholds below the score (C6). A user bias would be the same as a shift of all thresholds
    of a user.

    With features F of users the penalty :math:`\frac{\alpha}{2} \|U\|_F^2` becomes

    .. math:: \frac{\alpha}{2} \min_G \big(\|U - F G\|_F^2 + \|G\|_F^2\big),

    a ridge regression of the factors on the features, likewise that of thresholds (around their mean), and with
    features of items those of V and c. New users and items without ratings have what the regression says.

    **Kumar's settings** are ``alpha_bias=None, alpha_thresholds=0``. Then a threshold that no rating of a user
    determines is put at the end of its half line (corrections.md, C7). The defaults are the settings that did best on
    validation ratings of MovieLens 100K: they lower the test MAE from .680 to .665 (alpha by validation, mean of three
    splits).

    Parameters
    ----------
    n_factors : int, default=100
        Number d of factors; Kumar's. It bounds the rank only: the penalty on U and V acts as a trace norm.
    {validated_alpha}
    alpha_bias : float or None, default=3.0
        Weight of the item biases' penalty; None for no biases, as Kumar has it.
    alpha_thresholds : float, default=5.0
        Weight of the penalty that draws thresholds to their mean, at least 0; Kumar has 0.
    construction : {"all", "immediate"}, default="all"
        Loss on all thresholds, Kumar's equation (2.8), or on the two next to the level, (2.7). Nothing orders the
        thresholds of the latter but `alpha_thresholds`: with a small one some users' may cross. The level is one more
        than the number of thresholds below the score, in whatever order they stand.
    margin : {"smooth-hinge", "modified-square", "logistic", "hinge", "zero-one"}, default="smooth-hinge"
        Margin loss h; the last two have no gradient and no solver here takes them.
    solver : {"lbfgs", "cg", "gd", "apg"}, default="lbfgs"
        Solver.
    {max_iter}
    {tol}
    {dtype}
    {levels}
    {duplicates}
    {unknown}
    {random_state}
        It is the seed of the start and of validation splits.
    {callback}
    {verbose}

    Attributes
    ----------
    U_, V_, item_bias_, thresholds_, common_thresholds_
        See `FactorModel`.
    alpha_, validation_, objective_, history_, certificate_, n_iter_, links_
        See `FactorModel`.

    References
    ----------
    N. Srebro, J. Rennie and T. Jaakkola, "Maximum-margin matrix factorization", NIPS 2004.
    J. Rennie and N. Srebro, "Fast maximum margin matrix factorization for collaborative prediction", ICML 2005,
    doi:10.1145/1102351.1102441.
    V. Kumar, "Collaborative Filtering and Multi-Label Classification with Matrix Factorization", PhD thesis, University
    of Hyderabad, 2018, section 3.3.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = MMMF(n_factors=2, alpha=0.1, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    """

    tags = Tags(weights=True, features=True, shards=True, similar=True, vectors=True)

    alpha_thresholds: float = param(number(low=0), default=5.0)
    construction: str = param(one_of(CONSTRUCTIONS), default="all")

    links_: Links = learned(kind=FactorRegression, many=True)

    @property
    def _linked(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        users = ("U", "own") if self.alpha_thresholds > 0 else ("U",)
        return users, ("V",) if self.alpha_bias is None else ("V", "c")

    def _loss(self, n_levels: int) -> EntryLoss:
        return CONSTRUCTIONS[self.construction](MARGIN_LOSSES[self.margin]())

    def _user_penalties(self) -> dict[str, Penalty | None]:
        return {"own": CentredL2(self.alpha_thresholds) if self.alpha_thresholds > 0 else None}

    def _user_thresholds(self, ratings: Ratings, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        thresholds = arrays["own"]
        if self.alpha_thresholds == 0:
            thresholds = self._identified(ratings, thresholds)
        # Of all thresholds, unsorted ones come from unfinished optimisation alone (corrections.md, C7).
        return np.sort(thresholds, axis=1) if self.construction == "all" else thresholds

    def _common_thresholds(self, level_counts: NDArray[np.int64], sums: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        return np.asarray(sums["sum"] / sums["users"])

    def _identified(self, ratings: Ratings, thresholds: NDArray[Any]) -> NDArray[Any]:
        """Put thresholds that no rating determines at the end of the half line on which their loss is zero."""
        thresholds = thresholds.copy()
        scores = self._factor_scores.pairs(*ratings.pairs())
        rated = np.flatnonzero(ratings.user_counts)
        first = ratings.indptr[rated]
        low, high = np.minimum.reduceat(scores, first), np.maximum.reduceat(scores, first)
        least, most = np.minimum.reduceat(ratings.levels, first), np.maximum.reduceat(ratings.levels, first)
        r = np.arange(1, ratings.n_levels)
        own = thresholds[rated]
        own = np.where(r < least[:, None], low[:, None] - 1, own)
        thresholds[rated] = np.where(r >= most[:, None], high[:, None] + 1, own)
        return thresholds
