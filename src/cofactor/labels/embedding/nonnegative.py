"""Non-negative factorizations of features and labels with the same coefficients: what ANMF and MNMF share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import number, resolve_size, size, whole
from cofactor.errors import InvalidInputError
from cofactor.labels.base import CheckedFeatures, FitInput, LabelModel
from cofactor.labels.bases import coefficients_on
from cofactor.labels.features import is_sparse
from cofactor.model.convergence import warn_if_unfinished
from cofactor.model.estimator import learned, param
from cofactor.problems import NonnegativeTableProblem
from cofactor.solvers.descent import repeat_updates

_RIDGE = 1e-6  # bases that depend on others, or say next to nothing, have small coefficients
_TOL = 1e-6  # below it slopes are those of this ridge, along which coordinate descent is slow


class NonnegativeModel(LabelModel):
    """Features are approximated by H P and labels by H Q, with the same H ≥ 0, and P, Q ≥ 0; subclasses learn them.

    A new instance has the coefficients h ≥ 0 with the least ‖x - h P‖² + ε ‖h‖², and its scores are h Q - ½; ε is 1e-6
    of the mean ‖p_j‖², where the mean square of each coefficient is 1 in training, so that components without features
    count as none. Dense features
    below 0 are shifted: the training minimum of each such column is subtracted, and what is below it later counts as 0.

    Attributes
    ----------
    P_ : ndarray of shape (d, D)
        Bases of the features.
    Q_ : ndarray of shape (d, L)
        Bases of the labels. Labels that are constant in training have no column.
    shift_ : ndarray of shape (D,)
        What is subtracted from the scaled features.
    objective_ : float
        Objective of the factorization at the end.
    history_ : list of float
        Objective at the start and after every iteration; it never rises.
    n_iter_ : int
        Number of iterations.
    """

    n_components: int | float = param(size(), default=1.0, kw_only=False, grid=[0.25, 0.5, 1.0])
    max_iter: int = param(whole(), default=300)
    tol: float = param(number(low=0), default=1e-4)

    P_: NDArray[np.float64] = learned("components features")
    Q_: NDArray[np.float64] = learned("components labels")
    shift_: NDArray[np.float64] = learned("features")
    objective_: float = learned()
    history_: list[float] = learned()
    n_iter_: int = learned()

    _paper: ClassVar[Mapping[str, Any]] = {"threshold": "global"}

    @abstractmethod
    def _factorize(self, X: CheckedFeatures, data: FitInput) -> None:
        """Learn from features that are not negative, and the labels of the data."""

    @abstractmethod
    def _most(self, data: FitInput) -> int:
        """Return the largest number of components."""

    def _size(self, data: FitInput) -> int:
        return min(resolve_size(self.n_components, data.labels.shape[1]), self._most(data))

    def _fit_bytes(self, data: FitInput) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        return 8 * 3 * self._size(data) * (n + D + L)

    def _fit(self, data: FitInput) -> None:
        X = data.features
        if is_sparse(X):
            if float(X.data.min(initial=0)) < 0:
                raise InvalidInputError(
                    f"{type(self).__name__} shifts negative features, and then no zeros are left: sparse X must not "
                    "hold numbers below 0",
                    argument="X",
                    advice="make it dense",
                )
            self.shift_ = np.zeros(X.shape[1])
        else:
            self.shift_ = np.minimum(np.asarray(X.min(axis=0), dtype=np.float64), 0)
        self._factorize(self._shifted(X), data)

    def _shifted(self, X: CheckedFeatures) -> CheckedFeatures:
        """Return features that are not negative, in double precision."""
        if not is_sparse(X):
            return np.asarray(np.maximum(X - self.shift_, 0))
        return sparse.csr_array((np.maximum(X.data, 0.0), X.indices, X.indptr), shape=X.shape)

    def _solved(self, table: Any, data: FitInput) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return H and B with the least ‖T - H B‖²; the mean square of each column of H is 1, or 0."""
        problem = NonnegativeTableProblem(table, self._size(data))
        result = repeat_updates(
            problem,
            problem.start(),
            max_iter=self.max_iter,
            tol=self.tol,
            callback=data.monitor.stage(type(self).__name__),
        )
        warn_if_unfinished(result, self)
        self.objective_, self.history_, self.n_iter_ = result.objective, result.history, result.n_iter
        arrays = problem.layout.views(result.x)
        size = np.sqrt(np.mean(arrays["H"] ** 2, axis=0))
        return arrays["H"] / np.where(size > 0, size, 1), arrays["B"] * size[:, None]

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return self._coefficients(self.P_ @ self.P_.T, np.asarray(self._shifted(X) @ self.P_.T)) @ self.Q_ - 0.5

    def _coefficients(self, gram: NDArray[np.float64], cross: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return non-negative coefficients of least squared error, from inner products."""
        return coefficients_on(gram, cross, self, ridge=_RIDGE, tol=_TOL)

    def _check_learned(self) -> None:
        super()._check_learned()
        for name in ("P_", "Q_"):
            array = getattr(self, name, None)
            if array is not None and not (array >= 0).all():
                raise InvalidInputError(f"{name} must not hold numbers below 0")
