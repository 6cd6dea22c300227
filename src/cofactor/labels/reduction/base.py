"""Reductions of features: what they share, from checked input to files."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from cofactor import persistence
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import blas_limit
from cofactor.labels.base import CheckedFeatures
from cofactor.labels.data import as_labels, label_tags
from cofactor.labels.features import as_features, check_n_features
from cofactor.labels.regression import FeatureSpace
from cofactor.labels.training_data import check_lengths
from cofactor.model.commit import committed
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import Estimator, learned
from cofactor.model.state import check_course, head_of, member, of_head, unpacked
from cofactor.solvers.linear import nonnegative_least_squares
from cofactor.typing import Features, Labels


class FeatureReduction(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator, ABC):
    """A transformer which makes fewer features of many, for use in a `Pipeline` before a label model.

    A subclass says how to learn (`_fit`) and how to transform (`_transformed`); it sees checked features, and labels as
    a sparse array of ones.
    """

    #: Whether `fit` takes sparse labels; see `LabelModel`.
    takes_sparse_labels: ClassVar[bool] = True
    #: Whether it learns from labels.
    _supervised: ClassVar[bool] = True

    n_features_in_: int = learned(saved=False)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's description of the estimator."""
        tags = label_tags(super().__sklearn_tags__())
        tags.target_tags.required = self._supervised
        return tags

    # ---------------------------------------------------------------- what a subclass provides

    @abstractmethod
    def _fit(self, X: CheckedFeatures, Y: sparse.csr_array, space: FeatureSpace | None) -> None:
        """Learn; `space` is the decomposition of the features, if the caller of `fit` gave one."""

    @abstractmethod
    def _transformed(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return the new features of instances, shape (n, J)."""

    @property
    @abstractmethod
    def _n_features_out(self) -> int:
        """Return the number J of new features."""

    def _features(self, X: Any, *, reset: bool) -> CheckedFeatures:
        """Return checked features, scaled if they are not to be learned from."""
        if isinstance(X, FeatureSpace):
            if reset:
                self.n_features_in_ = X.shape[1]
            check_n_features(X, self)
            return X.X
        features = as_features(X, self, reset=reset)
        scaling = None if reset else getattr(self, "scaling_", None)
        return features if scaling is None else scaling.apply(features)

    # ---------------------------------------------------------------- the contract

    def fit(self, X: Features | FeatureSpace, y: Labels | None = None) -> Self:
        """Learn how to reduce features.

        Parameters
        ----------
        {features}
        {labels}

        Returns
        -------
        self
        """
        self.check_params()
        with committed(self) as fitted:
            fitted._learn(X, y)
        return self

    def transform(self, X: Features) -> NDArray[np.float64]:
        """Return the new features of instances.

        Parameters
        ----------
        {features}

        Returns
        -------
        ndarray of shape (n, J)
        """
        check_is_fitted(self)
        features = self._features(X, reset=False)
        with blas_limit(*features.shape):
            return self._transformed(features)

    def _learn(self, X: Any, y: Any) -> tuple[CheckedFeatures, sparse.csr_array]:
        """Check the data and learn; return checked features and labels."""
        features = self._features(X, reset=True)
        labels = sparse.csr_array((features.shape[0], 0)) if not self._supervised else as_labels(y)[0]
        check_lengths(features, labels)
        with blas_limit(*features.shape):
            self._fit(features, labels, X if isinstance(X, FeatureSpace) else None)
        return features, labels

    # ---------------------------------------------------------------- saving

    def save(self, path: str | Path) -> None:
        """Write the transformer to a file for `cofactor.load`, which never executes anything from it.

        Parameters
        ----------
        {path}
        """
        check_is_fitted(self)
        persistence.save(path, self)

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return a header which JSON can hold, and arrays."""
        arrays: dict[str, NDArray[Any]] = {}
        return head_of(self) | {"learned": self._pack_learned(arrays, "learned.")}, arrays

    @classmethod
    def _from_state(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        """Rebuild a transformer from what `_to_state` returned, and refuse parts that do not fit together."""
        model: Self = of_head(cls, header, {})
        found = member(header, "learned", dict)
        for name, declared in cls._learned.items():
            if name not in found:
                raise InvalidInputError(f"{name} is missing")
            setattr(model, name, declared.from_plain(unpacked(found[name], arrays)))
        model._check_learned()
        return model

    def _check_learned(self) -> None:
        """Refuse what was read from a file if it does not fit together."""
        check_course(self)
        self._check_declared({"features": self.n_features_in_})


def coefficients_on(
    gram: NDArray[np.float64], cross: NDArray[np.float64], owner: Any, *, ridge: float = 0.0, tol: float = 1e-8
) -> NDArray[np.float64]:
    """Return the non-negative coefficients of least squared error of each row on bases B, from inner products.

    Parameters
    ----------
    gram : ndarray of shape (J, J)
        BBᵀ.
    cross : ndarray of shape (n, J)
        XBᵀ.
    owner : estimator
        Whose bases they are.
    ridge : float, default=0.0
        Weight of the squares of the coefficients, as a share of the mean squared length of the bases.
    tol : float, default=1e-8
        As for `nonnegative_least_squares`.

    Warns
    -----
    ConvergenceWarning
        If the coefficients of some rows cannot be found exactly.
    """
    if ridge:
        gram = gram + ridge * np.trace(gram) / len(gram) * np.eye(len(gram))
    V, unfinished = nonnegative_least_squares(gram, cross, tol=tol)
    if unfinished:
        warnings.warn(
            f"{type(owner).__name__}: {unfinished} of {len(V)} rows have inexact coefficients, since the bases are "
            "nearly linearly dependent: take a smaller n_components",
            ConvergenceWarning,
            stacklevel=callers_level(),
        )
    return V


class NonnegativeReduction(FeatureReduction):
    """New features are the non-negative coefficients of instances on the rows of `components_`, which are the bases."""

    components_: NDArray[np.float64] = learned("components features")

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's description of the estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _features(self, X: Any, *, reset: bool) -> CheckedFeatures:
        """Return checked features, none below 0."""
        table = super()._features(X, reset=reset)
        values = table.data if sparse.issparse(table) else table
        lowest = float(values.min(initial=0))
        if lowest < 0:
            raise InvalidInputError(
                f"Negative values in data passed to {type(self).__name__}: X holds {lowest:g}, but features must not "
                "be negative",
                argument="X",
                advice="put sklearn.preprocessing.MinMaxScaler(clip=True) before it, or shift them",
            )
        return table

    def _transformed(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return the coefficients of least squared error for each row."""
        B = self.components_
        return coefficients_on(B @ B.T, np.asarray(X @ B.T), self)
