"""Low-rank empirical risk minimisation for multi-label learning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import AUTO, check_flag, number, one_of, resolve_size, size, whole
from cofactor.chunked import is_chunked
from cofactor.errors import Argument, InvalidInputError
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.data import check_missing
from cofactor.labels.embedding.code import label_means
from cofactor.labels.explaining import LinearPart, ScoreParts
from cofactor.labels.features import check_chunked
from cofactor.labels.penalty import penalty, ridge_penalty
from cofactor.labels.regression import FeatureSpace, linear
from cofactor.losses import Logistic, MarginLoss, SmoothHinge, Squared
from cofactor.model.convergence import warn_if_unfinished
from cofactor.model.estimator import learned, param
from cofactor.penalties import L2, Penalty
from cofactor.problems import LowRankProblem
from cofactor.problems.lowrank import ReducedRankProblem
from cofactor.solvers import Result, alternating_least_squares, lbfgs

_LOSSES: dict[str, type[MarginLoss] | type[Squared]] = {
    "squared": Squared,
    "logistic": Logistic,
    "smooth-hinge": SmoothHinge,
}

_LARGE = 1 << 22  # parameters of all components beyond which L-BFGS begins with few of them,
_FIRST = 32  # at most so many
_DOUBLE = 1 << 22  # scores up to which margins are in double precision,
_SINGLE_TOL = 1e-6  # or where the objective shall be so exact
_DECOMPOSED = 1 << 23  # rank of the features times labels up to which "auto" alternates


class LEML(LabelModel):
    r"""Low-rank empirical risk minimisation (Yu, Jain, Kar & Dhillon 2014).

    .. math:: \min_{U, V, b} \; \sum_{i=1}^{N} \sum_{l=1}^{L} \ell(y_{il}, \, x_i U V_l + b_l)
        + \frac{\alpha}{2} (\|U\|_F^2 + \|V\|_F^2)

    where U has d columns, and the intercept b is not penalized. The squared loss is :math:`\frac{1}{2} (y - s)^2` with
    labels 0 and 1; the other losses are margin losses with labels -1 and 1. If the loss is squared, and d is at least
    the number of features or the number of labels, this is regression with the trace norm :math:`\alpha \|W\|_*` as
    penalty, W = U V.

    Parameters
    ----------
    {n_components}
    alpha : float or "auto", default="auto"
        Weight of the penalties, above 0. "auto" takes :math:`2 \sqrt{\alpha^* \bar w}`, where :math:`\alpha^*` is the
        weight with the least exact leave-one-out error of ridge regression of the labels, and :math:`\bar w` the mean
        weight of the instances, 1 without weights; for the 2 see `cofactor.labels.penalty`. With the squared loss no
        component is used if alpha exceeds the largest singular value of XcᵀYc, the product of centred features and
        centred labels.
    loss : {"squared", "logistic", "smooth-hinge"}, default="squared"
        The loss ℓ.
    solver : {"auto", "als", "lbfgs"}, default="auto"
        "als" minimises exactly over U and over V in turn, after one decomposition of the features; only for the
        squared loss. "lbfgs" is L-BFGS, for all losses. "auto" takes "als" for the squared loss, unless its
        decomposition would take much time and memory: if X is sparse with more than 5,000 rows and columns, or if its
        shorter side times the number of labels is above 8 million.
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    max_iter : int, default=500
        Largest number of rounds or iterations.
    tol : float, default=1e-5
        Converged when the objective falls by less than this share of itself per iteration, over five iterations.
    {scale}
    {missing}
    {threshold}
    {decide_for}
    {random_state}
        It draws the quarter of the instances on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    alpha_ : float
        Weight of the penalties: the parameter `alpha`, or the one that was chosen.
    U_ : ndarray of shape (D, d)
        Maps features to codes.
    V_ : ndarray of shape (d, L)
        Maps codes to scores. Labels that are constant in training have no column.
    intercept_ : ndarray of shape (L,)
        b; for the squared loss b - ½, so that the plain cut is 0.
    objective_ : float
        Objective at the end.
    history_ : list of float
        Objective at the start and after every iteration.
    certificate_ : float
        Norm of its gradient at the end.
    n_iter_ : int
        Number of iterations.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped at `max_iter`.

    Notes
    -----
    Losses of labels that are not known (`missing`, or `mask` of `fit`) do not count, as in the paper; the solver is
    then "lbfgs", since the closed forms of "als" need all labels.

    With "als" the decomposition takes 8 r min(N, D) bytes, where r is the rank of X, at most min(N, D), and there are
    two arrays of shape (r, L). L-BFGS never forms an array of shape (N, L). With the squared loss, and more than four
    million parameters for d components, it begins with those singular triplets of XcᵀYc that exceed alpha, and adds
    others for as long as the objective falls: 20,000 labels may need five components, of 5,000 that are allowed.

    References
    ----------
    H.-F. Yu, P. Jain, P. Kar & I. S. Dhillon, "Large-scale multi-label learning with missing labels", ICML 2014.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X > 3, X < 4])
    >>> for loss in ("squared", "logistic", "smooth-hinge"):
    ...     print(LEML(2, 0.1, loss=loss).fit(X, Y).predict([[0.0], [7.0]]).astype(int).tolist())
    [[0, 0, 1], [1, 1, 0]]
    [[0, 0, 1], [1, 1, 0]]
    [[0, 0, 1], [1, 1, 0]]
    """

    n_components: int | float = param(size(), default=1.0, kw_only=False)
    alpha: float | str = param(penalty(inclusive=False), default="auto", kw_only=False, grid=[1.0, 10.0, 100.0, 1000.0])
    loss: str = param(one_of(_LOSSES), default="squared")
    solver: str = param(one_of(["auto", "als", "lbfgs"]), default="auto")
    fit_intercept: bool = param(check_flag, default=True)
    max_iter: int = param(whole(), default=500)
    tol: float = param(number(low=0), default=1e-5)
    missing: str = param(check_missing, default="error")

    alpha_: float = learned(check=number(low=0))
    U_: NDArray[np.float64] = learned("features components")
    V_: NDArray[np.float64] = learned("components labels")
    intercept_: NDArray[np.float64] = learned("labels")
    objective_: float = learned()
    history_: list[float] = learned()
    certificate_: float = learned()
    n_iter_: int = learned()

    _paper: ClassVar[Mapping[str, Any]] = {"n_components": 0.5, "alpha": 1.0}

    def _check_together(self) -> None:
        super()._check_together()
        if self.solver == "als" and self.loss != "squared":
            raise InvalidInputError(
                ("it needs ", Argument("loss", "squared"), f", not {self.loss!r}"),
                argument="solver",
                found=self.solver,
                advice="take 'lbfgs' or 'auto'",
            )

    def _capabilities(self) -> Capabilities:
        alternates = self.loss == "squared" and self.solver != "lbfgs"
        return replace(super()._capabilities(), weights="any", chunks=alternates, separate_labels=True)

    def _fit_bytes(self, data: TrainingData) -> int:
        r, L = min(data.features.shape), data.labels.shape[1]
        if self._decomposes(data):
            return super()._fit_bytes(data) + 8 * (2 * r * L + r * r)
        d = self._n_wanted(data)
        return data.bytes_of(min(_FIRST, d)) if self._grows(data, d) else super()._fit_bytes(data)

    def _n_wanted(self, data: TrainingData) -> int:
        """Return d, of which there are at most as many as features or labels."""
        L = data.labels.shape[1]
        return min(resolve_size(self.n_components, L), data.features.shape[1], L)

    def _fit(self, data: TrainingData) -> None:
        self.alpha_ = self._penalty(data) if self.alpha == AUTO else float(self.alpha)
        d = self._n_wanted(data)
        settings: dict[str, Any] = {
            "max_iter": self.max_iter,
            "tol": self.tol,
            "callback": data.monitor.stage(self.loss),
        }
        space = data.feature_space(self.fit_intercept) if self._decomposes(data) else None
        result = (
            self._alternate(space, data.labels, d, settings) if space is not None else self._descend(data, d, settings)
        )
        warn_if_unfinished(result, self)
        scale = unit_of(data) if space is None else 1.0
        scale *= 0.5 if self.loss == "squared" and space is None else 1.0  # the problem has the loss without its ½
        self.objective_, self.certificate_ = scale * result.objective, scale * result.certificate
        self.history_, self.n_iter_ = [scale * value for value in result.history], result.n_iter

    def _penalty(self, data: TrainingData) -> float:
        """Return the weight of the penalties that "auto" takes."""
        # The losses grow with the weights w as the penalty must, and α* does: √(α* w̄).
        return 2 * math.sqrt(ridge_penalty(data, bool(self.fit_intercept)) * data.mean_weight)

    def _resolved_params(self) -> dict[str, Any]:
        return {"alpha": self.alpha_}

    def _decomposes(self, data: TrainingData) -> bool:
        """Whether to alternate, in principal coordinates of the features."""
        if data.known is not None and self.solver == "als":
            raise InvalidInputError(
                "it needs all labels", argument="solver", found=self.solver, advice="take 'lbfgs' or 'auto'"
            )
        if is_chunked(data.features):
            check_chunked(data.features.shape[1])
            return True
        if self.solver == "auto":
            (n, D), L = data.features.shape, data.labels.shape[1]
            return (
                self.loss == "squared"
                and data.known is None
                and not FeatureSpace.too_large(data.features)
                and min(n, D) * L <= _DECOMPOSED
            )
        return self.solver == "als"

    def _alternate(self, space: FeatureSpace, Y: sparse.csr_array, d: int, settings: dict[str, Any]) -> Result:
        """Minimise over U and V in turn, in the principal coordinates of the features."""
        singular, targets = space.principal(Y)
        mean = label_means(Y, space.weights) if self.fit_intercept else np.zeros(Y.shape[1])
        n, n_on = float(space.shape[0]), float(Y.nnz)
        if space.weights is not None:
            n, n_on = float(space.weights.sum()), float(space.weights @ np.diff(Y.indptr))
        remainder = n_on - n * float(mean @ mean) - float(np.vdot(targets, targets))
        turn = None
        if targets.shape[1] > len(singular):  # the rows of V are among those of the targets, of which there are fewer
            turn, corner = np.linalg.qr(targets.T)
            targets = corner.T
        d = min(d, len(singular))  # there is nothing for more
        problem = ReducedRankProblem(singular, targets, max(remainder, 0.0), d, self.alpha_)
        result = alternating_least_squares(problem, problem.start(), **settings)
        arrays = problem.layout.views(result.x)
        self.U_, self.V_ = space.lift(arrays["A"]), arrays["V"].copy() if turn is None else arrays["V"] @ turn.T
        self.intercept_ = mean - (space.mean @ self.U_) @ self.V_ - 0.5
        return result

    def _descend(self, data: TrainingData, d: int, settings: dict[str, Any]) -> Result:
        """Minimise by L-BFGS."""
        squared = self.loss == "squared"
        if self._grows(data, d):
            problem, result = self._grow(data, d, settings)
        else:
            problem = self._problem(data, d)
            result = lbfgs(problem, problem.start(), **settings)
        arrays = problem.arrays(result.x)
        self.U_, self.V_ = (arrays[name].astype(np.float64) for name in ("U", "V"))
        self.intercept_ = arrays.get("c", np.zeros(data.labels.shape[1])).astype(np.float64) - (0.5 if squared else 0.0)
        return result

    def _problem(self, data: TrainingData, d: int) -> LowRankProblem:
        """Return the objective of d components; in single precision where a margin loss has many scores."""
        unit, squared = unit_of(data), self.loss == "squared"
        single = not squared and data.labels.shape[0] * data.labels.shape[1] > _DOUBLE and self.tol >= _SINGLE_TOL
        ridge = L2((2 if squared else 1) * self.alpha_ / unit)
        return LowRankProblem(
            data.features,
            data.labels,
            _LOSSES[self.loss](),
            d,
            self._penalties(data, ridge),
            fit_intercept=self.fit_intercept,
            weights=None if data.weights is None else data.weights / unit,
            known=data.known,
            positive_weights=self._positive_weights(data),
            dtype=np.float32 if single else np.float64,
        )

    def _penalties(self, data: TrainingData, ridge: L2) -> dict[str, Penalty]:
        """Return the penalties of both factors."""
        return {"U": ridge, "V": ridge}

    def _grows(self, data: TrainingData, d: int) -> bool:
        """Whether L-BFGS begins with few components, since all that may be wanted would take much memory."""
        size = d * (data.features.shape[1] + data.labels.shape[1])
        return self.loss == "squared" and data.known is None and size > _LARGE

    def _grow(self, data: TrainingData, d: int, settings: dict[str, Any]) -> tuple[LowRankProblem, Result]:
        """Minimise over few components, then over more, until more would lower the objective by next to nothing.

        Where fewer than d are used then, the minimum is that of d components.
        """
        shapes = {"U": (data.features.shape[1], 1), "V": (1, data.labels.shape[1])}
        start = {name: np.zeros(shape) for name, shape in shapes.items()}
        problem = self._problem(data, 1)
        result = lbfgs(problem, problem.pack(start | {"c": label_means(data.labels, data.weights)}), **settings)
        more, history, n_iter = _FIRST, result.history, result.n_iter
        while n_iter < self.max_iter and not result.stopped:
            used = int(np.count_nonzero(problem.arrays(result.x)["U"].any(axis=0)))
            arrays = problem.with_more(result.x, min(more, d - used)) if used < d else None
            if arrays is None:
                break
            found, before = arrays["U"].shape[1], result.objective
            problem = self._problem(data, found)
            result = lbfgs(problem, problem.pack(arrays), **settings | {"max_iter": self.max_iter - n_iter})
            history, n_iter = history + result.history[1:], n_iter + result.n_iter
            if before - result.objective <= self.tol * abs(before):
                break
            more *= 2 if found - used == more else 1
        return problem, replace(result, history=history, n_iter=n_iter)

    def _positive_weights(self, data: TrainingData) -> NDArray[np.float64] | None:
        """Return for each label how much an instance that has it counts; None if all count alike."""
        return None

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return linear(X, self.U_) @ self.V_ + self.intercept_

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        return ScoreParts((LinearPart(X, self.U_, self.V_),), self.intercept_)


def unit_of(data: TrainingData) -> float:
    """Return what L-BFGS has the objective divided by, since its steps depend on the scale of fractional weights.

    Whole weights count instances: they are taken as they are, with the same steps as instances that are repeated.
    """
    return 1.0 if data.weights is None or not (data.weights % 1).any() else data.mean_weight
