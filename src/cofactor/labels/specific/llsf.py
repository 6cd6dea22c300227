"""Label-specific features by sparse linear maps: LLSF and LLSF-DL.

LLSF keeps the coefficients of unlike labels unlike; LLSF-DL also regresses each label on what LLSF says of the others.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cofactor.checks import AUTO, check_flag, number, one_of, whole
from cofactor.chunked import as_dense
from cofactor.correlation import cosine, positive_part
from cofactor.labels.base import CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.explaining import LinearPart, ScoreParts
from cofactor.labels.features import column_means
from cofactor.labels.penalty import penalty, ridge_penalty
from cofactor.labels.regression import FeatureSpace, linear
from cofactor.model.convergence import callers_level, warn_if_unfinished
from cofactor.model.estimator import learned, param
from cofactor.penalties import L1
from cofactor.problems.regression import LabelFeatureProblem, RegressionProblem, feature_gram
from cofactor.solvers import Result, proximal_gradient
from cofactor.solvers.result import Callback, Progress
from cofactor.text import plural

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
        "psd" takes the positive part of R. "original" takes R itself, as the paper and `paper` do, and ends early:
        after 100 iterations, or when the objective falls by less than 1e-4 of itself per iteration, whatever `max_iter`
        and `tol` are. What it reaches depends on where it ends.
    {fit_intercept}
        The papers, and `paper`, have none; without one, features should not be centred, since scores would be far too
        low.
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

    _paper: ClassVar[Mapping[str, Any]] = {"alpha": 0.1, "beta": 0.1, "correlation": ORIGINAL, "fit_intercept": False}

    def _fit_bytes(self, data: TrainingData) -> int:
        D, L = data.features.shape[1], data.labels.shape[1]
        return 8 * (3 * L * L + 8 * D * L)

    def _resolved_params(self) -> dict[str, Any]:
        return {"alpha": self.alpha_, "beta": self.beta_, "max_iter": max(1, self.n_iter_)}

    def _fit(self, data: TrainingData) -> None:
        self._regress(data, products_of(data, bool(self.fit_intercept)))

    def _regress(self, data: TrainingData, products: Products) -> None:
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

    def _start(self, data: TrainingData, products: Products) -> NDArray[np.float64]:
        """Return the coefficients of ridge regression, or zeros where they would take long."""
        if FeatureSpace.too_large(data.features):
            return np.zeros(products.cross.size)
        coef, _ = data.feature_space(bool(self.fit_intercept)).ridge(data.labels, _START)
        return coef.ravel()

    def _solve(self, problem: _Watched, start: NDArray[np.float64], data: TrainingData) -> Result:
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
                f"{type(self).__name__} stopped after {plural(result.n_iter, 'iteration')}, since its objective sinks "
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


def products_of(data: TrainingData, fit_intercept: bool) -> Products:
    """Return the inner products of features and labels, which are centred if there is an intercept."""
    X, Y, n = data.features, data.labels, data.n_instances
    mean = column_means(X, None) if fit_intercept else np.zeros(X.shape[1])
    share = column_means(Y, None) if fit_intercept else np.zeros(Y.shape[1])
    cross = as_dense(X.T @ Y) - n * np.outer(mean, share)
    norm = float(Y.nnz - n * (share @ share))
    return Products(feature_gram(X, mean if fit_intercept else None), cross, norm, mean, share)


PREDICTED, TRUE = "predicted", "true"

_GAMMA = 0.02  #: beside the root of the number of instances, searched on parts of the training instances


class LLSFDL(LLSF):
    r"""Sparse regression of all labels on the features, and on the other labels.

    .. math:: \min_{W, S, b} \; \tfrac{1}{2} \|X W + P S + 1 b^\top - Y\|_F^2
        + \tfrac{\alpha}{2} \operatorname{tr}(W R_+ W^\top) + \beta \|W\|_1 + \gamma \|S\|_1, \qquad S_{ll} = 0

    where P holds what `LLSF` says of the labels, its scores plus ½, from 0 to 1, and R₊ is the positive part of R of
    `LLSF`. In the paper training sees the true labels instead, P = Y, which are not known of new instances.

    Parameters
    ----------
    alpha, beta : float or "auto", default="auto"
        See `LLSF`; both regressions have the same.
    gamma : float or "auto", default="auto"
        Weight γ of the absolute values of the coefficients of labels, at least 0. "auto" takes
        :math:`0.02 \sqrt{n}` for n instances. `paper` takes 0.1.
    other_labels : {"predicted", "true"}, default="predicted"
        What training sees of the other labels: what LLSF predicts for the training instances, as for new ones, or
        "true", as in the paper. With these, S may hold rules of the labels that predictions do not obey.
    {fit_intercept}
    {scale}
    {threshold}
    {decide_for}
    max_iter : int, default=1000
        Largest number of iterations, of each regression.
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
    label_coef_ : ndarray of shape (L, L)
        S: what label j, in the row, says for label k, in the column.
    intercept_ : ndarray of shape (L,)
        b - ½, so that the plain cut is 0.
    base_coef_, base_intercept_ : ndarray of shapes (D, L) and (L,)
        Those of LLSF.
    alpha_, beta_, gamma_ : float
        Weights of the penalties: the parameters, or what was chosen.
    objective_, history_, certificate_, n_iter_
        Of LLSF.
    label_objective_, label_history_, label_certificate_, n_label_iter_
        The same of the regression on features and labels.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        If a solver stopped at `max_iter`.

    Notes
    -----
    The text of the paper was not at hand: whether R couples the rows of S too is not known; here it does not. γ does
    not follow the scale of the features, since P lies between 0 and 1 whatever that is. On held-out quarters of
    training parts of emotions, scene, yeast, cal500 and medical, :math:`0.02 \sqrt{n}` and predicted labels gave a
    squared error of .96 to 1.00 of that of `LLSF`, true labels .97 to 1.03 for any γ that was tried.

    There are two tables of instance × label in a fit.

    References
    ----------
    J. Huang, G. Li, Q. Huang & X. Wu, "Learning label-specific features and class-dependent labels for multi-label
    classification", IEEE Transactions on Knowledge and Data Engineering 28, 2016, doi:10.1109/TKDE.2016.2608339.

    Examples
    --------
    The third label is on where the first is off, and the second is part of the first.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> first = X[:, 0] > 0
    >>> Y = np.column_stack([first, first & (X[:, 1] > 0), ~first]).astype(int)
    >>> LLSFDL(1.0, 10.0, 1.0, scale="none").fit(X, Y).label_coef_.round(2) + 0.0
    array([[ 0.  ,  0.33, -1.34],
           [ 0.  ,  0.  ,  0.  ],
           [-1.34, -0.33,  0.  ]])
    """

    gamma: float | str = param(penalty(), default="auto", kw_only=False)
    other_labels: str = param(one_of([PREDICTED, TRUE]), default="predicted")

    label_coef_: NDArray[np.float64] = learned("labels labels")
    base_coef_: NDArray[np.float64] = learned("features labels")
    base_intercept_: NDArray[np.float64] = learned("labels")
    gamma_: float = learned(check=number(low=0))
    label_objective_: float = learned()
    label_history_: list[float] = learned()
    label_certificate_: float = learned()
    n_label_iter_: int = learned()

    _paper: ClassVar[Mapping[str, Any]] = {"gamma": 0.1, "other_labels": TRUE}
    correlation = PSD

    def _fit_bytes(self, data: TrainingData) -> int:
        n, L = data.labels.shape
        return super()._fit_bytes(data) + 8 * (2 * n * L + 8 * L * L)

    def _resolved_params(self) -> dict[str, Any]:
        return {
            **super()._resolved_params(),
            "gamma": self.gamma_,
            "max_iter": max(1, self.n_iter_, self.n_label_iter_),
        }

    def _fit(self, data: TrainingData) -> None:
        products = products_of(data, bool(self.fit_intercept))
        self._regress(data, products)
        self.base_coef_, self.base_intercept_ = self.coef_, self.intercept_
        self.gamma_ = _GAMMA * math.sqrt(data.n_instances) if self.gamma == AUTO else float(self.gamma)
        problem, seen_mean = self._second(data, products)
        start = problem.pack({"W": self.base_coef_, "S": np.zeros((len(products.share), len(products.share)))})
        result = descended(problem, start, self.max_iter, self.tol, data.monitor.stage("with labels"))
        warn_if_unfinished(result, self)
        arrays = problem.layout.views(result.x)
        self.coef_, self.label_coef_ = arrays["W"].copy(), arrays["S"].copy()
        self.intercept_ = products.share - products.mean @ self.coef_ - seen_mean @ self.label_coef_ - 0.5
        self.label_objective_, self.label_history_ = result.objective / 2, [value / 2 for value in result.history]
        self.label_certificate_, self.n_label_iter_ = result.certificate / 2, result.n_iter

    def _second(self, data: TrainingData, products: Products) -> tuple[LabelFeatureProblem, NDArray[np.float64]]:
        """Return the regression on features and labels, and the means of what it sees of the labels."""
        Y = data.labels
        seen: Any = Y if self.other_labels == TRUE else self._predicted(data.features)
        n, centred = data.n_instances, bool(self.fit_intercept)
        seen_mean = column_means(seen, None) if centred else np.zeros(Y.shape[1])
        between, label_gram, label_cross = (
            as_dense(a.T @ b) - n * np.outer(first, second)
            for a, b, first, second in (
                (data.features, seen, products.mean, seen_mean),
                (seen, seen, seen_mean, seen_mean),
                (seen, Y, seen_mean, products.share),
            )
        )
        problem = LabelFeatureProblem(
            products.gram,
            between,
            label_gram,
            products.cross,
            label_cross,
            products.norm,
            (L1(2 * self.beta_), L1(2 * self.gamma_)),
            self.alpha_,
            positive_part(1 - cosine(Y)),
        )
        return problem, seen_mean

    def _predicted(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return what LLSF says of the labels, from 0 to 1."""
        return np.clip(linear(X, self.base_coef_, self.base_intercept_) + 0.5, 0, 1)

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return linear(X, self.coef_, self.intercept_) + self._predicted(X) @ self.label_coef_

    _score_parts = LabelModel._score_parts
