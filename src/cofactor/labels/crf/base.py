"""What conditional random fields of labels share: how they are trained, and how they predict."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from cofactor.checks import check_number
from cofactor.errors import InvalidInputError
from cofactor.labels.base import CheckedFeatures, FitInput, LabelModel
from cofactor.labels.crf.fields import Field, Weights
from cofactor.labels.crf.pairs import edges, pair_weights
from cofactor.labels.features import column_means
from cofactor.labels.penalty import AUTO, check_penalty, ridge_penalty
from cofactor.model.convergence import warn_if_unfinished

LEAST = 1e-9  # probabilities stay this far from 0 and 1


class Structure(Protocol):
    """Which label sets the field of a model is over: what depends on it."""

    def check_params(self, model: Any) -> None:
        """Refuse parameters out of their range."""

    def takes_weights(self, model: Any) -> str:
        """Return which weights of instances the model takes; see `LabelModel.takes_weights`."""

    def has_probabilities(self, model: Any) -> bool:
        """Return whether the marginals are those of the most likely weights."""

    def fit_bytes(self, model: Any, data: FitInput) -> int:
        """Return how many bytes a fit takes at least."""

    def settled(self, model: Any) -> dict[str, Any]:
        """Return parameters with which a part of the data is fitted."""

    def field(self, model: Any) -> Field:
        """Return the field of a fitted model."""

    def edges(self, model: Any) -> NDArray[np.int64]:
        """Return the edges of a tree of the labels that vary: of the model's, or of the weightiest pairs."""

    def check(self, model: Any) -> None:
        """Refuse attributes of a file of which no field can be made."""


class CRF(LabelModel):
    """A log-linear model of label sets; see `CML` for its parameters. A subclass has a `Structure`."""

    _structure: ClassVar[Structure]
    _sizes: ClassVar[tuple[str, ...]] = ()  # chains that draw label sets are short beside the weights

    _learned: ClassVar[tuple[str, ...]] = (
        "alpha_",
        "coef_",
        "intercept_",
        "pair_coef_",
        "objective_",
        "history_",
        "certificate_",
        "n_iter_",
    )
    _shapes: ClassVar[Mapping[str, str]] = {"coef_": "DL", "intercept_": "L", "pair_coef_": "mqp"}
    _paper: ClassVar[Mapping[str, Any]] = {"alpha": 1.0}

    alpha: float | str
    max_iter: int
    tol: float

    alpha_: float
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    pair_coef_: NDArray[np.float64]
    objective_: float
    history_: list[float]
    certificate_: float
    n_iter_: int

    @abstractmethod
    def _choose(self, data: FitInput) -> None:
        """Choose the attributes that the field is made of."""

    @property
    def takes_weights(self) -> str:
        """Which weights the model takes: "any", since they multiply losses, but "whole" numbers with Gibbs sampling."""
        return self._structure.takes_weights(self)

    def _field(self) -> Field:
        """Return the field of a fitted model."""
        return self._structure.field(self)

    def _has_probabilities(self) -> bool:
        return self._structure.has_probabilities(self)

    def _fit_bytes(self, data: FitInput) -> int:
        return self._structure.fit_bytes(self, data)

    def _check_params(self) -> None:
        super()._check_params()
        self._structure.check_params(self)
        check_learning(self)

    def _fit(self, data: FitInput) -> None:
        self.alpha_ = penalty_of(self, data)
        self._choose(data)
        self._learn(data)

    def _learn(self, data: FitInput) -> None:
        """Learn the weights of the field that was chosen."""
        result, weights = self._field().learn(data, self.alpha_, self.max_iter, self.tol)
        warn_if_unfinished(result, self)
        self.objective_, self.certificate_ = result.objective, result.certificate
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.coef_, self.intercept_, self.pair_coef_ = weights

    def _settled(self) -> dict[str, Any]:
        return {"alpha": self.alpha_, **self._structure.settled(self)}

    pair_weights = pair_weights
    edges = edges

    def _pair_table(self) -> NDArray[np.float64]:
        """Return the weights of pairs of the labels that vary, shape (L', L')."""
        pairs, table = self._field().pairs, np.zeros((len(self.intercept_), len(self.intercept_)))
        both, _, _ = pairs.parts(self.pair_coef_[-1])
        table[pairs.first, pairs.second] = table[pairs.second, pairs.first] = both / 2
        return table

    def _tree_edges(self) -> NDArray[np.int64]:
        """Return the edges of a tree of the labels that vary."""
        return self._structure.edges(self)

    def _weights(self) -> Weights:
        return Weights(self.coef_, self.intercept_, self.pair_coef_)

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return np.asarray(logit(self._probabilities(X)))

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        return np.clip(self._field().marginals(X, self._weights()), LEAST, 1 - LEAST)

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        return self._field().likeliest(X, self._weights())

    def _check_learned(self) -> None:
        super()._check_learned()
        if not np.any(self.constant_ == 0):
            return
        self._structure.check(self)
        field = self._field()
        n_features = self.n_features_in_ + 1 if field.with_features else 1
        expected = (n_features, field.pairs.n_states, len(field.pairs.first))
        if self.pair_coef_.shape != expected:
            raise InvalidInputError(f"expected weights of pairs of shape {expected}, found {self.pair_coef_.shape}")


def check_learning(model: Any) -> None:
    """Refuse parameters of the penalized likelihood, and of how it is maximized, out of their range."""
    check_penalty("alpha", model.alpha, inclusive=False)
    check_number("max_iter", model.max_iter, low=1, whole=True)
    check_number("tol", model.tol, low=0)


def penalty_of(model: Any, data: FitInput) -> float:
    """Return the weight of the penalty: the given one, or one that suits the data.

    This is as heavy beside logistic losses as the best one of ridge regression, which grows with the weights of the
    instances as the losses do, beside squared ones.
    """
    if model.alpha != AUTO:
        return float(model.alpha)
    share = column_means(data.labels, data.weights)
    return float(ridge_penalty(data) * np.mean(share * (1 - share)))
