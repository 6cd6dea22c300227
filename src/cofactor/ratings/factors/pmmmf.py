"""Proximal maximum margin matrix factorization (Kumar 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels import margins
from cofactor.losses import MARGIN_LOSSES, EntryLoss, Proximal, ToPlanes
from cofactor.model.estimator import learned
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.loss_fit import LossFactorization, mean_thresholds
from cofactor.ratings.interaction_model import FitInput

#: How far boundaries lie from planes that coincide, where the margin is 1.
_NEXT_TO = 1e-6


class PMMMF(LossFactorization):
    r"""Proximal maximum margin matrix factorization: scores near the plane of their level, planes in closed form.

    .. math::

        J(U, V, c) = \sum_{(i,j) \in \Omega} \Bigl( D_{ij,y_{ij}}^2 + \sum_{r \ne y_{ij}} h(T^r_{ij} D_{ijr}) \Bigr)
        + \frac{\alpha}{2} (\|U\|_F^2 + \|V\|_F^2) + \frac{\alpha_b}{2} \|c\|^2, \qquad
        D_{ijr} = U_i V_j^T + c_j - \theta^*_{i,r}

    with θ*_{i,r} the mean score of user i's items of level r, T = +1 for r < y and -1 for r > y: Kumar's equations
    (4.2) and (4.3). The derivative goes through θ* (corrections.md, C16). A level that a user never used has no plane
    for them, no loss, and is never predicted for them (C17). Between neighbouring planes of a user the boundary lies
    nearer to the level with fewer ratings, b_k = θ_k + n_k / (n_k + n_{k+1}) (θ_{k+1} - θ_k), with θ sorted by running
    maximum (C18). Where planes coincide, a score there gets the median level of the user's ratings. A user bias would
    change nothing, since the planes move with it.

    Unlike in the other models, accuracy depends strongly on `n_factors`: at ``alpha=24`` the test MAE on MovieLens
    100K is .798 with 10 factors, .775 with 20, .724 with 50 and .692 with 100.

    **Kumar's settings** are ``alpha_bias=None``.

    Parameters
    ----------
    n_factors : int, default=100
        Number d of factors; Kumar's.
    {validated_alpha}
    alpha_bias : float or None, default=3.0
        Weight of the item biases' penalty; None for no biases, as Kumar has it.
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
        See `FactorModel`; a boundary is infinite where no level of the user lies on its far side.
    planes_ : ndarray of shape (n_users, R)
        The planes θ*, NaN where a user never used a level.
    alpha_, validation_, objective_, history_, certificate_, n_iter_
        See `FactorModel`.

    References
    ----------
    V. Kumar, "Collaborative Filtering and Multi-Label Classification with Matrix Factorization", PhD thesis, University
    of Hyderabad, 2018, chapter 4.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = PMMMF(n_factors=2, alpha=0.1, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    """

    planes_: NDArray[Any] = learned("users levels", finite=False)

    def _fold_in_items(self, given: FitInput) -> None:
        """Minimise J over the items' arrays; what belongs to users is fixed, their planes too."""
        ratings, loss = given.ratings, ToPlanes(MARGIN_LOSSES[self.margin](), self.planes_)
        # A rating of a level without a plane has no loss, until the user's own row is learned anew.
        ratings = ratings.subset(np.isfinite(self.planes_[ratings.row_of_entry, ratings.levels - 1]))
        self._fold_items_in_by(replace(given, ratings=ratings), loss)

    def _loss(self, n_levels: int) -> EntryLoss:
        return Proximal(MARGIN_LOSSES[self.margin](), n_levels)

    def _user_thresholds(self, ratings: Ratings, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        n, R = len(ratings.users), ratings.n_levels
        scores = self._factor_scores.pairs(*ratings.pairs())
        planes, counts = np.empty((n, R), dtype=scores.dtype), np.empty((n, R))
        weights = (np.ones(1) if ratings.weights is None else ratings.weights).astype(scores.dtype)
        margins.level_means(0, n, ratings.indptr, ratings.levels, weights, scores, planes, counts)
        self.planes_ = planes
        return boundaries(planes, counts)

    def _common_thresholds(self, level_counts: NDArray[np.int64], sums: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        return mean_thresholds(sums)


def boundaries(planes: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Return the boundaries between levels for planes of each user.

    This is the rule after equation (4.7) of Kumar (2018), as corrections.md, C18, corrects it.

    Parameters
    ----------
    planes : ndarray of shape (n, R)
        Planes; any value where `counts` is 0.
    counts : ndarray of shape (n, R)
        Number of ratings of each level, or sum of their weights.

    Returns
    -------
    ndarray of shape (n, R - 1)
        Boundary r separates the nearest used levels on its two sides; -inf or +inf where one side has none. So
        1 + #{r : x > boundary_r} is always a level that the user has used.

        Where the planes of all levels of a user coincide, boundaries lie just below them up to the user's median
        level, and just above from there.

    Examples
    --------
    Levels 1 and 3 are used, by one and by three ratings; level 2 can never come out:

    >>> boundaries(np.array([[0.0, np.nan, 1.0]]), np.array([[1, 0, 3]]))
    array([[0.25, 0.25]])
    """
    used = counts > 0
    R = planes.shape[1]
    own = np.where(used, planes, np.nan)
    theta = np.fmax.accumulate(own, axis=1)
    below = np.maximum.accumulate(np.where(used, np.arange(R), -1), axis=1)[:, :-1]
    above = np.minimum.accumulate(np.where(used, np.arange(R), R)[:, ::-1], axis=1)[:, ::-1][:, 1:]
    between = (below >= 0) & (above < R)
    low, high = np.where(between, below, 0), np.where(between, above, 0)

    def at(table: NDArray[Any], level: NDArray[Any]) -> NDArray[Any]:
        return np.take_along_axis(table, level, axis=1)

    n_low, n_high = at(counts, low), np.where(between, at(counts, high), 1)
    inside = at(theta, low) + n_low / (n_low + n_high) * (at(theta, high) - at(theta, low))
    cumulative = np.cumsum(counts, axis=1)
    past_median = 2 * cumulative[:, :-1] > cumulative[:, -1:]
    tied = np.fmax.reduce(own, axis=1, keepdims=True) == np.fmin.reduce(own, axis=1, keepdims=True)
    inside = inside + np.where(tied, np.where(past_median, _NEXT_TO, -_NEXT_TO), 0)
    return np.where(between, inside, np.where(below < 0, -np.inf, np.inf))
