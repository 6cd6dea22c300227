"""Features of each label's own by sparse regression, which keeps the coefficients of unlike labels unlike: LLSF."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cofactor.checks import check_flag, number, one_of, whole
from cofactor.correlation import cosine, positive_part
from cofactor.labels.base import CheckedFeatures, FitInput, LabelModel
from cofactor.labels.explaining import LinearPart, ScoreParts
from cofactor.labels.features import as_dense, column_means
from cofactor.labels.penalty import AUTO, penalty, ridge_penalty
from cofactor.labels.regression import FeatureSpace, linear
from cofactor.model.convergence import callers_level, warn_if_unfinished
from cofactor.model.estimator import learned, param
from cofactor.penalties import L1
from cofactor.problems.regression import RegressionProblem, feature_gram
from cofactor.solvers import Result, proximal_gradient
from cofactor.solvers.result import Callback, Progress
from cofactor.text import counted

PSD, ORIGINAL = "psd", "original"

_START = 0.01  #: weight of the ridge regression where the search begins, as in the released code
_STEPS, _TOL, _GROWTH = 100, 1e-4, 20.0  #: where it ends if there may be no minimum
#: Weights beside those of ridge regression, searched on parts of the training instances of seven data sets.
_ALPHA, _BETA = 0.3, 0.2


class Products(NamedTuple):
    """What the regression of the labels sees of the data."""

    gram: Any  # XcᵀXc, a matrix or an operator
    cross: NDArray[np.float64]  # XcᵀYc
    norm: float  # ‖Yc‖²
    mean: NDArray[np.float64]  # of the features; 0 without an intercept
    share: NDArray[np.float64]  # of the instances that have each label; 0 without an intercept


class LLSF(LabelModel):
    r"""Sparse regression of all labels, where labels that seldom occur together use different features.

    .. math:: \min_{W, b} \; \tfrac{1}{2} \|X W + 1 b^\top - Y\|_F^2
        + \tfrac{\alpha}{2} \operatorname{tr}(W R W^\top) + \beta \|W\|_1, \qquad R_{jk} = 1 - \cos(Y_j, Y_k)

    The features of label l are those with coefficients in column l of W; its score is :math:`x W_l + b_l - 1/2`. With
    α = 0 each label is a lasso of its own. R has negative eigenvalues, so that the objective has no minimum where X has
    a null space; by default it is replaced by its positive part, with which the objective is convex. The positive part
    has a diagonal, so the coupling then shrinks the coefficients too.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Weight α of the coupling of the labels, at least 0. "auto" takes :math:`0.3 \alpha^*`, where :math:`\alpha^*` is
        the weight with the least exact leave-one-out error of ridge regression of the labels. `paper` takes 0.1.
    beta : float or "auto", default="auto"
        Weight β of the absolute values, at least 0; the larger, the fewer features a label has. "auto" takes
        :math:`0.2 \sqrt{\alpha^*}`. `paper` takes 0.1.
    correlation : {"psd", "original"}, default="psd"
        "psd" takes the positive part of R. "original" takes R itself, as the paper does, and ends early: after 100
        iterations, or when the objective falls by less than 1e-4 of itself per iteration, whatever `max_iter` and `tol`
        are. What it reaches depends on where it ends.
    {fit_intercept}
        The papers have none; without one, features should not be centred, since scores would be far too low.
    {scale}
    {threshold}
    {decide_for}
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-5
        Converged when the objective falls by less than this share of itself per iteration, over five iterations.
    {random_state}
        It draws the quarter of the instances on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    coef_ : ndarray of shape (D, L)
        W. Labels that are constant in training have no column.
    intercept_ : ndarray of shape (L,)
        b - ½, so that the plain cut is 0.
    alpha_, beta_ : float
        Weights of the penalties: the parameters, or what was chosen.
    objective_ : float
        Objective at the end.
    history_ : list of float
        Objective at the start and after every iteration.
    certificate_ : float
        Distance from stationarity at the end.
    n_iter_ : int
        Number of iterations.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped at `max_iter`. With ``correlation="original"``, if the objective became negative or the
        coefficients grew twentyfold, and the search was ended for that: a sign that there is no minimum.

    Notes
    -----
    Minimised by accelerated proximal gradients. The search begins at ridge regression with the weight 0.01, as in the
    released code, or at 0 where sparse X has more than 5,000 rows and columns. The cosines are those of the labels as
    they are, 0 and 1. An iteration takes O(D²L + DL²), or O(nnz(X) L + DL²) for sparse X with many more features than
    instances, where XᵀX is never formed. There is a table of label × label.

    The 0.3 and 0.2 were searched on held-out quarters of training parts of emotions, scene, yeast, cal500, medical,
    genbase and corel5k; half or twice as much changed the squared error by less than 2 in 100.

    References
    ----------
    J. Huang, G. Li, Q. Huang & X. Wu, "Learning label specific features for multi-label classification", ICDM 2015,
    pages 181-190.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4))
    >>> Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)
    >>> LLSF(alpha=1.0, beta=10.0, scale="none").fit(X, Y).coef_.round(2) + 0.0
    array([[0.31, 0.  ],
           [0.  , 0.35],
           [0.  , 0.  ],
           [0.  , 0.  ]])
    """

    alpha: float | str = param(penalty(), default="auto", kw_only=False, grid=[0.1, 1.0, 10.0, 100.0])
    beta: float | str = param(penalty(), default="auto", kw_only=False, grid=[0.1, 1.0, 10.0])
    correlation: str = param(one_of([PSD, ORIGINAL]), default="psd")
    fit_intercept: bool = param(check_flag, default=True)
    max_iter: int = param(whole(), default=1000)
    tol: float = param(number(low=0), default=1e-5)

    coef_: NDArray[np.float64] = learned("features labels")
    intercept_: NDArray[np.float64] = learned("labels")
    alpha_: float = learned(check=number(low=0))
    beta_: float = learned(check=number(low=0))
    objective_: float = learned()
    history_: list[float] = learned()
    certificate_: float = learned()
    n_iter_: int = learned()

    _paper: ClassVar[Mapping[str, Any]] = {"alpha": 0.1, "beta": 0.1}

    def _fit_bytes(self, data: FitInput) -> int:
        D, L = data.features.shape[1], data.labels.shape[1]
        return 8 * (3 * L * L + 8 * D * L)

    def _resolved_params(self) -> dict[str, Any]:
        return {"alpha": self.alpha_, "beta": self.beta_, "max_iter": max(1, self.n_iter_)}

    def _fit(self, data: FitInput) -> None:
        self._regress(data, products_of(data, bool(self.fit_intercept)))

    def _regress(self, data: FitInput, products: Products) -> None:
        """Choose the weights, and minimise."""
        best = ridge_penalty(data, bool(self.fit_intercept)) if AUTO in (self.alpha, self.beta) else 0.0
        self.alpha_ = _ALPHA * best if self.alpha == AUTO else float(self.alpha)
        self.beta_ = _BETA * math.sqrt(best) if self.beta == AUTO else float(self.beta)
        R = 1 - cosine(data.labels)
        problem = _Watched(
            products.gram,
            products.cross,
            products.norm,
            L1(2 * self.beta_),  # the problem is twice the objective
            alpha=self.alpha_,
            coupling=R if self.correlation == ORIGINAL else positive_part(R),
        )
        result = self._solve(problem, self._start(data, products), data)
        self.coef_ = result.x.reshape(products.cross.shape)
        self.intercept_ = products.share - products.mean @ self.coef_ - 0.5
        self.objective_, self.history_ = result.objective / 2, [value / 2 for value in result.history]
        self.certificate_, self.n_iter_ = result.certificate / 2, result.n_iter

    def _start(self, data: FitInput, products: Products) -> NDArray[np.float64]:
        """Return the coefficients of ridge regression, or zeros where they would take long."""
        if FeatureSpace.too_large(data.features):
            return np.zeros(products.cross.size)
        coef, _ = data.feature_space(bool(self.fit_intercept)).ridge(data.labels, _START)
        return coef.ravel()

    def _solve(self, problem: _Watched, start: NDArray[np.float64], data: FitInput) -> Result:
        """Minimise; end and warn if the objective seems to have no minimum."""
        tell = data.monitor.stage("regression")
        if self.correlation == PSD:
            result = descended(problem, start, self.max_iter, self.tol, tell)
            warn_if_unfinished(result, self)
            return result
        longest = _GROWTH * float(np.linalg.norm(start)) or math.inf
        sinking = False

        def watch(progress: Progress) -> bool:
            nonlocal sinking
            sinking = progress.objective < 0 or problem.length > longest
            asked = tell is not None and tell(progress)
            return sinking or asked

        result = descended(problem, start, _STEPS, _TOL, watch)
        if sinking:
            warnings.warn(
                f"{type(self).__name__} stopped after {counted(result.n_iter, 'iteration')}, since its objective sinks "
                "without end: R has negative eigenvalues and the features are dependent: take correlation='psd'",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )
        return result

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return linear(X, self.coef_, self.intercept_)

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        return ScoreParts((LinearPart(X, self.coef_),), self.intercept_)


class _Watched(RegressionProblem):
    """A regression which notes how long the last point was whose penalty was asked for."""

    length = 0.0

    def nonsmooth_value(self, x: NDArray[np.float64]) -> float:
        self.length = float(np.linalg.norm(x))
        return super().nonsmooth_value(x)


def descended(problem: Any, start: NDArray[np.float64], max_iter: int, tol: float, callback: Callback | None) -> Result:
    """Minimise by accelerated proximal gradients, with steps as long as the problem allows."""
    lipschitz = problem.lipschitz()
    step = 1 / lipschitz if lipschitz > 0 else 1.0
    return proximal_gradient(problem, start, max_iter=max_iter, tol=tol, step=step, callback=callback)


def products_of(data: FitInput, fit_intercept: bool) -> Products:
    """Return the inner products of features and labels, which are centred if there is an intercept."""
    X, Y, n = data.features, data.labels, data.n_instances
    mean = column_means(X, None) if fit_intercept else np.zeros(X.shape[1])
    share = column_means(Y, None) if fit_intercept else np.zeros(Y.shape[1])
    cross = as_dense(X.T @ Y) - n * np.outer(mean, share)
    norm = float(Y.nnz - n * (share @ share))
    return Products(feature_gram(X, mean if fit_intercept else None), cross, norm, mean, share)
