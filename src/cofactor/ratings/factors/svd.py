"""Singular value decomposition of a filled matrix of ratings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import make_generator, number, one_of, whole
from cofactor.kernels.observed import row_sums
from cofactor.model.estimator import learned, param
from cofactor.problems import PatchedMatrix, SingularProblem
from cofactor.problems.singular import orthonormal
from cofactor.ratings.base import RatingModel, factor_arrays, outcome
from cofactor.ratings.data import Ratings
from cofactor.ratings.interaction_model import FitInput, Tags
from cofactor.ratings.scoring import COUNT, CommonBoundaries, FactorScorer, FactorScores, midpoints
from cofactor.solvers.descent import repeat_updates

_MORE_VECTORS = 10  #: columns of the subspace beyond those kept; the last of these then settle sooner


class RatingSVD(RatingModel):
    r"""Truncated singular value decomposition of the matrix of ratings, with missing ones filled in.

    .. math::

        \min_{\operatorname{rank} B = d} \|A - B\|_F^2, \qquad
        A_{ij} = \begin{cases} y_{ij} - s_i & (i,j) \in \Omega \\ f_{ij} - s_i & \text{otherwise} \end{cases}

    The estimated rating is s_i + B_ij or, with the baseline, f_ij + B_ij; `predict` takes the nearest level of the
    scale. Factors are U = P √Σ and V = Q √Σ for the leading singular triplets A ≈ P Σ Qᵀ.

    ===================  ============================================================================================
    fill="item-mean"     f_ij is the mean rating of the item, s_i that of the user: Sarwar, Karypis, Konstan & Riedl
                         (2000). Which of the two comes first is open there; here users' means are those of their
                         ratings, not of the filled rows
    fill="baseline"      f_ij = s_i = µ + b_i + c_j by item and user, so that A is zero where ratings are missing, with
                         c_j = Σ_i (y_ij - µ) / (m_j + damping) and b_i = Σ_j (y_ij - µ - c_j) / (n_i + damping)
    ===================  ============================================================================================

    A is a sparse matrix plus one of rank two and never stands in memory. A user is folded in by projection on the
    items' factors (Sarwar, Karypis, Konstan & Riedl 2002), which gives users of the training their own factors again.
    Once many users have been folded in, fit anew: their ratings do not change V.

    Parameters
    ----------
    n_factors : int, default=14
        Number d of factors; the paper's choice on MovieLens 100K.
    fill : {"baseline", "item-mean"}, default="baseline"
        What stands for missing ratings. The paper's is "item-mean".
    damping : float, default=5.0
        Number of average ratings by which baselines of items and users are drawn to zero, at least 0; unused with item
        means.
    max_iter : int, default=200
        Largest number of steps of subspace iteration.
    tol : float, default=1e-5
        Converged when ‖A - B‖² fell by less than this share of itself per step.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the factors; they are computed in float64.
    {levels}
    {duplicates}
    {unknown}
        A user counts as one without ratings, an item as one whose residuals are zero.
    {random_state}
        It is the seed of the first subspace; the result depends on it by no more than `tol` allows.
    {callback}
    {verbose}

    Attributes
    ----------
    U_, V_, user_bias_, item_bias_
        See `FactorModel`. With item means there are no biases of items.
    singular_values_ : ndarray of shape (d,)
        Leading singular values of A.
    item_means_ : ndarray of shape (n_items,)
        What is filled in for items, less the mean rating.
    origin_ : float
        Mean rating µ.
    objective_ : float
        ‖A - B‖².
    history_, certificate_, n_iter_
        ‖A - B‖² after every step, the norm of its gradient at the end, and the number of steps.

    References
    ----------
    B. Sarwar, G. Karypis, J. Konstan and J. Riedl, "Application of dimensionality reduction in recommender system: a
    case study", WebKDD 2000.
    B. Sarwar, G. Karypis, J. Konstan and J. Riedl, "Incremental singular value decomposition algorithms for highly
    scalable recommender systems", ICCIT 2002.
    N. Halko, P.-G. Martinsson and J. Tropp, "Finding structure with randomness: probabilistic algorithms for
    constructing approximate matrix decompositions", SIAM Review 53 (2), 2011.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = RatingSVD(n_factors=2, random_state=0).fit(X, y)
    >>> model.predict([(0, 4), (0, 1), (1, 1)])
    array([3., 2., 4.])
    """

    tags = Tags(similar=True, vectors=True)

    n_factors: int = param(whole(), default=14, kw_only=False, grid=[6, 10, 14, 20])
    fill: str = param(one_of(["baseline", "item-mean"]), default="baseline")
    damping: float = param(number(low=0), default=5.0)
    max_iter: int = param(whole(), default=200)
    tol: float = param(number(low=0), default=1e-5)
    dtype: str = param(one_of(["float32", "float64"]), default="float32")

    U_, V_, user_bias_, item_bias_ = factor_arrays()
    boundaries_: NDArray[np.float64] = learned("levels-1")
    origin_: float = learned()
    common_user_: NDArray[Any] = learned("d")
    common_item_: NDArray[Any] = learned("d")
    singular_values_: NDArray[np.float64] = learned("d", dtype=np.float64)
    item_means_: NDArray[np.float64] = learned("items", dtype=np.float64)
    objective_, history_, certificate_, n_iter_ = outcome()

    @property
    def _factor_scores(self) -> FactorScores:
        """Estimated ratings."""
        return FactorScores(
            self.U_, self.V_, self.user_bias_, self.item_bias_, self.origin_, self.common_user_, self.common_item_
        )

    @property
    def scorer_(self) -> FactorScorer:
        """See `RatingModel`."""
        return FactorScorer(self.scale_, COUNT, self._factor_scores, CommonBoundaries(self.boundaries_))

    def _fit(self, given: FitInput) -> None:
        ratings = given.ratings
        generator = make_generator(self.random_state)
        self.boundaries_ = midpoints(self.scale_)
        self.origin_ = float(ratings.values.mean())
        by_item = (ratings.values - self.origin_)[ratings.to_csr]
        self.item_means_ = _row_means(ratings.col_indptr, by_item, self._item_damping)
        matrix = self._matrix(ratings, self._user_means(ratings))
        n, m = ratings.shape
        d = min(self.n_factors, n, m)
        problem = SingularProblem(matrix, d, min(d + _MORE_VECTORS, n, m))
        start = orthonormal(generator.normal(size=problem.layout.shapes["V"]))
        callback = given.monitor.stage(type(self).__name__)
        settings: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol, "callback": callback}
        result = repeat_updates(problem, problem.pack({"V": start}), **settings)
        self.singular_values_, vectors = problem.leading(result.x)
        self.V_ = (vectors * np.sqrt(self.singular_values_)).astype(self.dtype)
        self.item_bias_ = (self.item_means_ * (self.fill == "baseline")).astype(self.dtype)
        self.common_item_ = np.zeros(d, self.dtype)
        self._project(ratings)
        self._set_result(result)

    def _fold_in(self, given: FitInput) -> None:
        """Project the new users' filled rows on the items' factors."""
        self._project(given.ratings)

    def _fold_in_items(self, given: FitInput) -> None:
        """Project the items' filled columns on the users' factors, likewise: V = Aᵀ U / Σ."""
        ratings = given.ratings
        by_item = (ratings.values - self.origin_)[ratings.to_csr]
        self.item_means_ = _row_means(ratings.col_indptr, by_item, self._item_damping)
        matrix = self._matrix(ratings, self.user_bias_.astype(np.float64))
        self.V_ = (matrix.transposed_times(self.U_.astype(np.float64)) * self._inverses()).astype(self.dtype)
        self.item_bias_ = (self.item_means_ * (self.fill == "baseline")).astype(self.dtype)

    @property
    def _item_damping(self) -> float:
        """What is added to the number of ratings of an item, by which their sum is divided."""
        return self.damping if self.fill == "baseline" else 0.0

    def _inverses(self) -> NDArray[np.float64]:
        """Return 1 / Σ, with 0 for a direction without variance in training: it says nothing about anybody."""
        held = self.singular_values_ > 1e-10 * max(float(self.singular_values_[0]), 1.0)
        return np.asarray(np.where(held, 1 / np.where(held, self.singular_values_, 1), 0))

    def _user_means(self, ratings: Ratings) -> NDArray[np.float64]:
        """Return the users' offsets: mean ratings less µ, and less what items explain if there is a baseline."""
        targets = ratings.values - self.origin_
        if self.fill == "item-mean":
            return _row_means(ratings.indptr, targets, 0.0)
        return _row_means(ratings.indptr, targets - self.item_means_[ratings.indices], self.damping)

    def _matrix(self, ratings: Ratings, user_means: NDArray[np.float64]) -> PatchedMatrix:
        """Return A: what ratings differ by from what is filled in, and what that differs by from the users' means."""
        n, m = ratings.shape
        users, items = ratings.pairs()
        gaps = ratings.values - self.origin_ - self.item_means_[items]
        if self.fill == "baseline":
            return PatchedMatrix(ratings, gaps - user_means[users], np.zeros((n, 0)), np.zeros((m, 0)))
        left, right = np.stack([np.ones(n), -user_means], axis=1), np.stack([self.item_means_, np.ones(m)], axis=1)
        return PatchedMatrix(ratings, gaps, left, right)

    def _project(self, ratings: Ratings) -> None:
        """Set offsets and factors of the users in `ratings`, and of those without: U = A V / Σ."""
        d = len(self.singular_values_)
        means = self._user_means(ratings)
        inverse = self._inverses()
        V = self.V_.astype(np.float64)
        self.U_ = (self._matrix(ratings, means).times(V) * inverse).astype(self.dtype)
        self.user_bias_ = means.astype(self.dtype)
        common = np.zeros(d) if self.fill == "baseline" else np.einsum("j,jf->f", self.item_means_, V) * inverse
        self.common_user_ = common.astype(self.dtype)
        self.U_[ratings.user_counts == 0] = self.common_user_

    def _check_learned(self) -> None:
        super()._check_learned()
        self._factor_scores.check()


def _row_means(indptr: NDArray[Any], values: NDArray[Any], damping: float) -> NDArray[np.float64]:
    """Return sums of the entries of each row, divided by their number and `damping` more; 0 for a row without."""
    sums = np.empty(len(indptr) - 1)
    row_sums(0, len(sums), indptr, values, sums)
    return np.asarray(sums / np.maximum(np.diff(indptr) + damping, 1e-300))
