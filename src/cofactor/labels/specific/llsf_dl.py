"""LLSF where each label is regressed on what LLSF says of the other labels too: LLSF-DL."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import number, one_of
from cofactor.correlation import cosine, positive_part
from cofactor.labels.base import CheckedFeatures, FitInput, LabelModel
from cofactor.labels.features import as_dense, column_means
from cofactor.labels.penalty import AUTO, penalty
from cofactor.labels.regression import linear
from cofactor.labels.specific.llsf import LLSF, PSD, Products, descended, products_of
from cofactor.model.convergence import warn_if_unfinished
from cofactor.model.estimator import learned, param
from cofactor.penalties import L1
from cofactor.problems.regression import LabelFeatureProblem

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

    def _fit_bytes(self, data: FitInput) -> int:
        n, L = data.labels.shape
        return super()._fit_bytes(data) + 8 * (2 * n * L + 8 * L * L)

    def _resolved_params(self) -> dict[str, Any]:
        return {
            **super()._resolved_params(),
            "gamma": self.gamma_,
            "max_iter": max(1, self.n_iter_, self.n_label_iter_),
        }

    def _fit(self, data: FitInput) -> None:
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

    def _second(self, data: FitInput, products: Products) -> tuple[LabelFeatureProblem, NDArray[np.float64]]:
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
