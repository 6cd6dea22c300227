"""Gaussian processes of users over latent positions of items (Lawrence & Urtasun 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from cofactor.checks import check_flag, make_generator, number, one_of, positive_weight, whole
from cofactor.errors import InvalidTypeError
from cofactor.kernels import gaussian_processes as kernels
from cofactor.model.estimator import learned, param
from cofactor.model.selection.path import hold_out_one_per_user
from cofactor.model.state import check_array
from cofactor.problems.base import PartialProblem
from cofactor.problems.gaussian_processes import HeldOutProcesses, LatentProcesses
from cofactor.ratings.base import RatingModel, outcome
from cofactor.ratings.blocks import Pairwise, each_cut
from cofactor.ratings.data import Ratings, check_rows
from cofactor.ratings.interaction_model import FitInput, RowMerge, Tags
from cofactor.ratings.scoring import PROBABILITY_DECISIONS, CommonBoundaries, ProbabilityScorer, midpoints, of_all_pairs
from cofactor.solvers.lbfgs import lbfgs
from cofactor.solvers.sgd import stochastic_gradient

#: Standard deviation of positions at the start. At zero the gradient vanishes; distances should be about one.
START_SCALE = 0.3

#: κ = (s, γ, l, b, σ²) at the start, for each kernel, in units of the variance of ratings around their items' means.
START = {
    "rbf": (0.4, 1.0, 0.0, 0.15, 0.8),
    "linear": (0.0, 1.0, 0.4, 0.15, 0.8),
    "sum": (0.2, 1.0, 0.2, 0.15, 0.8),
}

#: Which of κ are learned. The scale of V says the same as γ, or as l where it stands alone; these are fixed, otherwise
#: V could shrink and the penalty vanish while they grow.
FREE = {
    "rbf": (True, False, False, True, True),
    "linear": (False, False, False, True, True),
    "sum": (True, False, True, True, True),
}

_ENTRIES_PER_BLOCK = 1 << 12
_ITEM_STEPS = 20  #: most L-BFGS iterations for the positions of new items, and of those with new ratings
_NO_SPREAD = 1e-6  #: share of the scale below which a standard deviation is rounding


@dataclass(frozen=True, eq=False)
class GPLVMScorer(ProbabilityScorer):
    """Normal distributions of ratings by the arrays of `GPLVM`.

    Attributes
    ----------
    indptr, rated, weights : ndarray
        Items that each user rated, and their weights in the mean of the user's process.
    V, kernel, mean, item_bias, boundaries
        See `GPLVM`.
    by_mean : bool
        Whether levels are medians, which a normal distribution has at its mean: no variance is needed.
    """

    indptr: NDArray[np.int64]
    rated: NDArray[np.int32]
    weights: NDArray[Any]
    V: NDArray[Any]
    kernel: NDArray[np.float64]
    mean: float
    item_bias: NDArray[np.float64]
    boundaries: NDArray[np.float64]
    by_mean: bool

    def scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return means."""
        return self._by_user(self._means, users, items)

    def all_probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `ProbabilityScorer`."""
        return self._by_user(self.probabilities, users, items)

    def block(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        return of_all_pairs(self._means, users, items)

    def margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        if self.by_mean:
            return CommonBoundaries(self.boundaries).margins(self.scores(users, items), users)
        return super().margins(users, items)

    def probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `ProbabilityScorer`."""
        variances = np.empty(len(users))
        kernels.pair_variances(users, items, self.indptr, self.rated, self.V, self._kappa, variances)
        means = self._means(users, items).astype(np.float64)
        below = ndtr((self.boundaries - means[:, None]) / np.sqrt(variances)[:, None])
        return np.diff(below, axis=1, prepend=0, append=1)

    def _means(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        own = np.empty(len(users), dtype=self.V.dtype)
        kernels.pair_means(users, items, self.indptr, self.rated, self.weights, self.V, self._kappa, own)
        prior = self.mean + np.where(items < 0, 0, self.item_bias[items])
        return (prior + own).astype(own.dtype, copy=False)

    @property
    def _kappa(self) -> NDArray[Any]:
        return self.kernel.astype(self.V.dtype)

    def _by_user(self, function: Pairwise, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return a function of many pairs, block by block; pairs of one user share what that user's process costs."""
        order = np.argsort(users, kind="stable")
        found = self.in_blocks(function, users[order], items[order])
        values = np.empty_like(found)
        values[order] = found
        return values


class GPLVM(RatingModel):
    r"""Gaussian processes of the users over latent positions of the items (Lawrence & Urtasun 2009).

    .. math::

        J(V, \kappa) = - \sum_i \log N(y_i - \mu - c; \, 0, K_i) + \tfrac{\alpha}{2} \|V\|_F^2, \qquad
        (K_i)_{jk} = s \, e^{-\gamma \|V_j - V_k\|^2 / 2} + l \, V_j \cdot V_k + b + \sigma^2 [j = k]

    over the items j, k which user i rated. Each user likes items as a random function of their positions V, the same
    kind of function for all users: items close to each other get similar ratings, b is the variance of users' means and
    σ² that of noise. Users have no factors of their own; these are integrated out. With the linear kernel (s = 0) this
    is factorization with a Gaussian prior on the users' factors, with "rbf" (l = 0) a non-linear one.

    A rating is predicted from all others of its user: its mean, which `decision_function` returns, is

    .. math:: \mu + c_j + \sum_k K_{jk} a_k, \qquad a = K_i^{-1} (y_i - \mu - c),

    and the density between the points half way to the neighbouring levels is the probability of a level. A new user is
    one more process, so `fold_in` has nothing to learn.

    J is minimised by stochastic gradients with momentum, one user after the other in random order. V is a point
    estimate and begins to fit single ratings long before J settles. So with ``early_stopping`` one rating of each user
    who has two is held out, and what counts is their perplexity, one over the geometric mean of their densities: a pass
    over the users that does not lower it is undone, and steps are halved. Predictions use all ratings.

    **Probabilities** are not calibrated at the ends of a scale: they are those of a Gaussian cut half way between
    ratings. The top level had .160 on test ratings of Flixster, of which .216 gave it, and intervals of 90 % covered
    .842 (Douban: .182 for .207, and .900). Take those of `OrdinalProbit` where they matter.

    Parameters
    ----------
    n_factors : int, default=10
        Number d of coordinates of a position; at most the number of items counts. On validation ratings of MovieLens
        100K, 5, 10 and 20 are alike.
    alpha : float, default=30.0
        Weight α of the penalty, above 0 and at most 1e12. The paper has none, and makes a set number of passes. On
        validation ratings of MovieLens 100K, 20 and 30 are alike, 10 and 60 worse by .005.
    kernel : {"rbf", "linear", "sum"}, default="rbf"
        Covariance: l = 0, s = 0, or both. Of s, γ and l, one that the scale of V makes redundant stays as it is.
    alpha_bias : float or None, default=5.0
        Weight of the penalty with which the items' means c are shrunk to zero; None for c = 0, as in the paper.
    eta0 : float, default=0.01
        First step length, for ratings of unit variance; logarithms of κ take steps a hundred times shorter.
    momentum : float, default=0.9
        Share of a step which the next one repeats, below 1; as in the paper.
    early_stopping : bool, default=True
        Whether ratings are held out to tell when to stop; if no user has two, nothing is learned but the items' means.
        If not, J of all ratings itself counts.
    max_iter : int, default=100
        Largest number of passes over the users.
    tol : float, default=1e-3
        Converged when the objective fell by less than this share of itself per pass over five passes.
    {decision}
        The median needs no variances: it is the level nearest to the mean, of two the
        upper one, and `margins` are then the means less the points half way between levels.
    dtype : {"float32", "float64"}, default="float32"
        Precision of positions, and of sums within a user while they are learned.
    {levels}
    {duplicates}
    {unknown}
    {random_state}
        It is the seed of the start, of the ratings held out and of the order of users.
    {callback}
    {verbose}

    Attributes
    ----------
    V_ : ndarray of shape (n_items, d)
        Positions of the items; zero, the likeliest one, for an item without ratings.
    kernel_ : ndarray of shape (5,)
        κ = (s, γ, l, b, σ²); s, l, b and σ² are variances of ratings.
    mean_ : float
        Mean rating µ.
    item_bias_ : ndarray of shape (n_items,)
        c.
    rated_indptr_, rated_, weights_ : ndarray
        Row pointers and item indices of the users' ratings, and their weights a. They are part of the model and are
        saved also with ``ratings=False``; the levels are not, but they can be computed from a.
    boundaries_
        Half way between neighbouring levels.
    objective_ : float
        Objective reached: perplexity or J, of ratings divided by their standard deviation.
    history_, seconds_ : list of float
        Objective at the start and after every pass, and when (the latter is not saved).
    certificate_ : float
        Norm of the gradient of J.
    n_iter_ : int
        Number of passes.

    Notes
    -----
    A user with n ratings costs n³ operations per pass. One with more than 1,000 counts as several users while positions
    are learned, as in the paper, but as one in predictions; these take memory for n² numbers at a time.
    Means cost O(n d) for each pair; variances, for `predict_proba` and other decisions than the median, O(n²), and n³/3
    once per user.

    References
    ----------
    N. Lawrence and R. Urtasun, "Non-linear matrix factorization with Gaussian processes", ICML 2009.

    Examples
    --------
    >>> X = [(u, i) for u in range(20) for i in range(8) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 4) for u, i in X]
    >>> model = GPLVM(n_factors=2, alpha=1.0, tol=0.01, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    >>> model.fold_in([("new", 0), ("new", 1)], [2, 4]).predict([("new", 2), ("new", 3)])
    array([2., 4.])
    """

    #: What it says of a user follows from the positions of all items that the user rated.
    tags = Tags(probabilities=True, fold_in_items=False)

    n_factors: int = param(whole(), default=10, kw_only=False)
    alpha: float = param(positive_weight(), default=30.0, kw_only=False, grid=[10.0, 20.0, 30.0, 60.0])
    kernel: str = param(one_of(START), default="rbf")
    alpha_bias: float | None = param(positive_weight(None), default=5.0)
    eta0: float = param(number(low=0, inclusive=False), default=0.01)
    momentum: float = param(number(low=0, high=0.99), default=0.9)
    early_stopping: bool = param(check_flag, default=True)
    max_iter: int = param(whole(), default=100)
    tol: float = param(number(low=0), default=1e-3)
    dtype: str = param(one_of(["float32", "float64"]), default="float32")
    decision: str = param(one_of(PROBABILITY_DECISIONS), default="median")

    boundaries_: NDArray[np.float64] = learned("levels-1")
    V_: NDArray[Any] = learned("items d")
    kernel_: NDArray[np.float64] = learned(f"{kernels.N_KAPPA}", dtype=np.float64)
    mean_: float = learned(check=number(low=-np.inf))
    item_bias_: NDArray[np.float64] = learned("items", dtype=np.float64)
    rated_indptr_: NDArray[np.int64] = learned()
    rated_: NDArray[np.int32] = learned()
    weights_: NDArray[Any] = learned()
    objective_, history_, certificate_, n_iter_ = outcome()

    # ---------------------------------------------------------------- learning

    def _fit(self, given: FitInput) -> None:
        ratings, monitor = given.ratings, given.monitor
        self.boundaries_ = midpoints(self.scale_)
        generator = make_generator(self.random_state)
        held_out = hold_out_one_per_user(ratings, generator) if self.early_stopping else np.empty(0, dtype=np.int64)
        problem, start, unit = self._problem(ratings, held_out, generator)
        learned = start
        if len(held_out) or not self.early_stopping:
            result = stochastic_gradient(
                problem,
                start,
                max_iter=self.max_iter,
                tol=self.tol,
                eta0=self.eta0,
                rng=generator,
                callback=monitor.stage(type(self).__name__),
            )
            learned = result.x
            self._set_result(result)
        else:
            gradient = np.empty_like(start)
            self.objective_ = problem.value_gradient(start, gradient)
            self.certificate_ = problem.certificate(start, gradient)
            self.history_, self.seconds_, self.n_iter_ = [self.objective_], [0.0], 0
        V, kappa = problem.arrays(learned)
        self.V_, self.kernel_ = np.array(V), kappa * np.array([unit**2, 1, unit**2, unit**2, unit**2])
        self._centre(ratings)
        self._set_weights(ratings)

    def _problem(
        self, ratings: Ratings, held_out: NDArray[np.int64], generator: np.random.Generator
    ) -> tuple[LatentProcesses, NDArray[Any], float]:
        """Return the problem, where to start, and the standard deviation of ratings, which is the problem's unit."""
        keep = np.ones(ratings.n_ratings, dtype=np.bool_)
        keep[held_out] = False
        part = ratings.subset(keep)
        self._centre(part)
        residuals = self._residuals(ratings)
        unit = float(residuals[keep].std())
        if not unit > _NO_SPREAD * (self.scale_[-1] - self.scale_[0]):
            unit = 1.0
        residuals /= unit
        m = len(ratings.items)
        shape = m, min(self.n_factors, m)
        kappa = np.array(START[self.kernel])
        settings: dict[str, Any] = {
            "shape": shape,
            "alpha": self.alpha,
            "present": kappa > 0,
            "free": FREE[self.kernel],
            "momentum": self.momentum,
            "dtype": self.dtype,
        }
        if len(held_out):
            settings["held_out"] = ratings.row_of_entry[held_out], ratings.indices[held_out], residuals[held_out]
        kind = HeldOutProcesses if len(held_out) else LatentProcesses
        problem = kind(part.indptr, part.indices, residuals[keep], **settings)
        V = generator.normal(0, START_SCALE, shape) * (part.item_counts > 0)[:, None]
        start = {"V": V, "kernel": np.log(np.where(kappa > 0, kappa, 1))}
        return problem, problem.layout.pack(start, self.dtype), unit

    def _centre(self, ratings: Ratings) -> None:
        """Set the mean rating, and the shrunken means of the items around it."""
        self.mean_ = float(ratings.values.mean())
        self.item_bias_ = self._item_biases(ratings)

    def _item_biases(self, ratings: Ratings) -> NDArray[np.float64]:
        """Return the shrunken means of the items around the mean rating."""
        if self.alpha_bias is None:
            return np.zeros(len(ratings.items))
        sums = np.bincount(ratings.indices, ratings.values - self.mean_, len(ratings.items))
        return np.asarray(sums / (ratings.item_counts + self.alpha_bias))

    def _residuals(self, ratings: Ratings) -> NDArray[np.float64]:
        return ratings.values - self.mean_ - self.item_bias_[ratings.indices]

    def _set_weights(self, ratings: Ratings) -> None:
        """Solve for the weights a of the users' ratings."""
        self.rated_indptr_, self.rated_ = ratings.indptr, ratings.indices
        V, kappa = self.V_, self.kernel_.astype(self.V_.dtype)
        residuals, self.weights_ = self._residuals(ratings).astype(V.dtype), np.empty(ratings.n_ratings, V.dtype)
        given_to_all = ratings.indptr, ratings.indices, residuals, V, kappa, self.weights_
        each_cut(lambda lo, hi: kernels.weights(lo, hi, *given_to_all), ratings.indptr, _ENTRIES_PER_BLOCK)

    def _fold_in(self, given: FitInput) -> None:
        """Take the new users' processes; there is nothing to learn."""
        self._set_weights(given.ratings)

    def _fold_in_items(self, given: FitInput) -> None:
        """Minimise J over the items' positions; those of other items are fixed, and users who rated none of them out.

        The ratings of other items by the same users take part. Weights of users belong to all ratings, see
        `_merge_rows`.
        """
        ratings, before = given.ratings, cast(GPLVM, given.before)
        whole = ratings if given.whole is None else given.whole
        biases = self._item_biases(ratings)
        users = np.flatnonzero(ratings.user_counts)
        mine, known = (whole.items.index(ids) for ids in (ratings.items.ids, before.items_.ids))
        V, bias = np.zeros((len(whole.items), self.V_.shape[1])), np.zeros(len(whole.items))
        V[known], bias[known] = before.V_, before.item_bias_
        bias[mine] = biases
        free = np.zeros(V.shape, dtype=np.bool_)
        free[mine] = True
        indptr, items, levels = whole.rows(users)
        targets = self.scale_[levels - 1] - self.mean_ - bias[items]
        present = self.kernel_ > 0
        problem = LatentProcesses(
            indptr, items, targets, shape=V.shape, alpha=self.alpha, present=present.tolist(),
            free=[False] * len(present), dtype=self.dtype,
        )  # fmt: skip
        x = problem.pack({"V": V, "kernel": np.log(np.where(present, self.kernel_, 1))})
        part = PartialProblem(problem, x, {"V": free})
        result = lbfgs(part, part.start, max_iter=_ITEM_STEPS, tol=self.tol)
        self.V_ = problem.arrays(part.filled(result.x))[0][mine].copy()
        self.item_bias_ = biases

    def _merge_rows(self, part: Self, merge: RowMerge) -> None:
        super()._merge_rows(part, merge)
        if merge.whole is not None:  # of all users, whose items may have moved
            self._set_weights(merge.whole)

    @property
    def scorer_(self) -> GPLVMScorer:
        """See `RatingModel`."""
        rated = self.rated_indptr_, self.rated_, self.weights_
        return GPLVMScorer(
            self.scale_, PROBABILITY_DECISIONS[self.decision], *rated, self.V_, self.kernel_, self.mean_,
            self.item_bias_, self.boundaries_, self.decision == "median",
        )  # fmt: skip

    def _check_learned(self) -> None:
        super()._check_learned()
        n, m = len(self.users_), len(self.items_)
        for array in (self.rated_indptr_, self.rated_):
            if not isinstance(array, np.ndarray):
                raise InvalidTypeError(f"expected arrays of the users' ratings, found a {type(array).__name__}")
        check_rows(n, m, 1, self.rated_indptr_, self.rated_, np.ones(len(self.rated_), dtype=np.uint8))
        check_array("weights_", self.weights_, self.rated_.shape, self.V_.dtype)
