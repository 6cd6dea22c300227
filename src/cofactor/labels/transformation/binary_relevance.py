"""Binary relevance: one linear model for each label, the common baseline."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.base import LabelModel
from cofactor.labels.regression import FeatureSpace, feature_space, linear
from cofactor.model.checks import check_jobs, make_generator
from cofactor.model.progress import Monitor
from cofactor.solvers.result import Callback

_ESTIMATORS = (LinearSVC, LogisticRegression, Ridge, RidgeClassifier, SGDClassifier)


class BinaryRelevance(LabelModel):
    r"""One linear model for each label, regardless of all other labels.

    With the default, a support vector machine of scikit-learn,

    .. math:: \min_{w_l, b_l} \tfrac12 (\|w_l\|^2 + b_l^2)
        + C \sum_i \max(0, 1 - z_{il} (x_i w_l + b_l))^2, \qquad z_{il} = 2 y_{il} - 1

    for each label l, in parallel. `sklearn.linear_model.Ridge` regresses all labels, coded in 0 and 1, at once on one
    decomposition of the features; its scores are the regression minus 1/2. Follows METHODS-LABELS 1.1; labels that are
    constant in training are not fitted.

    Parameters
    ----------
    estimator : LinearSVC, LogisticRegression, Ridge, RidgeClassifier or SGDClassifier of scikit-learn, optional
        What is fitted to each label; by default ``LinearSVC()``. Of a Ridge only ``alpha`` and ``fit_intercept`` count.
    n_jobs : int, optional
        Number of processes, as joblib understands it. Not threads: those of liblinear would share one stream of random
        numbers.
    {threshold}
    {random_state}
        From it each label's estimator gets its own, if it has a ``random_state`` (the solver of LinearSVC draws); it
        also draws the folds on which a threshold is learned.
    {callback}
        A step is a label; its objective is the number of labels still to fit.
    {verbose}

    Attributes
    ----------
    coef_ : ndarray of shape (D, L)
        Weights; only labels that are not constant in training have a column.
    intercept_ : ndarray of shape (L,)
        Intercepts.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        Once, with the number of labels whose solver stopped early.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X > 3, X < 2])
    >>> BinaryRelevance(LogisticRegression(C=10)).fit(X, Y).predict([[0.0], [7.0]])
    array([[False, False,  True],
           [ True,  True, False]])
    """

    _learned = ("coef_", "intercept_")
    _components: ClassVar[Mapping[str, type[BaseEstimator]]] = {kind.__name__: kind for kind in _ESTIMATORS}

    coef_: NDArray[Any]
    intercept_: NDArray[Any]

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        n_jobs: int | None = None,
        threshold: Any = 0,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.threshold = threshold
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def default_grid(self) -> dict[str, list[Any]]:
        """Return support vector machines of several C, unless the estimator is given; see `LabelModel.default_grid`."""
        return {} if self.estimator is not None else {"estimator": [LinearSVC(C=cost) for cost in (0.01, 0.1, 1.0)]}

    def _feature_space(self, varied: Collection[str]) -> Callable[[Any], FeatureSpace] | None:
        if not isinstance(self.estimator, Ridge) or any("fit_intercept" in n or n == "estimator" for n in varied):
            return None
        return partial(FeatureSpace, fit_intercept=bool(self.estimator.fit_intercept))

    def _check_params(self) -> None:
        super()._check_params()
        if self.estimator is not None and type(self.estimator) not in _ESTIMATORS:
            known = ", ".join(self._components)
            raise InvalidTypeError(
                f"expected one of scikit-learn's {known}", argument="estimator", found=self.estimator
            )
        check_jobs(self.n_jobs)
        if isinstance(getattr(self.estimator, "class_weight", None), dict):
            raise InvalidInputError("class_weight of the estimator must be None or 'balanced': one for all labels")

    def _fit(self, X: NDArray[Any] | sparse.csr_array, Y: sparse.csr_array, monitor: Monitor) -> None:
        estimator = LinearSVC() if self.estimator is None else self.estimator
        if isinstance(estimator, Ridge):
            space = feature_space(X, bool(estimator.fit_intercept))
            self.coef_, self.intercept_ = space.ridge(Y, estimator.alpha)
            self.intercept_ = self.intercept_ - 0.5
            return
        columns, n_labels = sparse.csc_array(Y), Y.shape[1]
        seeds = make_generator(self.random_state).integers(np.iinfo(np.int32).max, size=n_labels)
        tasks = (delayed(_fit_label)(estimator, X, columns[:, [k]], int(seeds[k])) for k in range(n_labels))
        self.coef_, self.intercept_ = np.empty((X.shape[1], n_labels)), np.empty(n_labels)
        stopped = 0
        for k, fitted in enumerate(Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks)):
            self.coef_[:, k], self.intercept_[k], converged = fitted
            stopped += not converged
            monitor.note("labels", k + 1, float(n_labels - k - 1))
        if stopped:
            warnings.warn(
                f"the solver of {type(estimator).__name__} stopped early for {stopped} of {n_labels} labels: raise its "
                "max_iter, lower its C, or scale the features",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _scores(self, X: NDArray[Any] | sparse.csr_array) -> NDArray[Any]:
        return linear(X, self.coef_, self.intercept_)


def _fit_label(
    estimator: BaseEstimator, X: NDArray[Any] | sparse.csr_array, column: sparse.csc_array, seed: int
) -> tuple[NDArray[Any], float, bool]:
    """Return weights and intercept of one label, and whether the solver converged."""
    model = clone(estimator)
    if "random_state" in model.get_params() and model.random_state is None:
        model.set_params(random_state=seed)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, column.toarray().ravel())
    for warning in raised:
        if not issubclass(warning.category, ConvergenceWarning):
            warnings.warn(warning.message, stacklevel=2)
    converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in raised)
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), converged
