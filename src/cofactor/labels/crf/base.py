"""What conditional random fields of labels share: how they are trained, and how they predict."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import number, whole
from cofactor.correlation import maximum_spanning_tree
from cofactor.errors import InvalidInputError
from cofactor.labels.base import Capabilities, CheckedFeatures, FitInput, LabelModel
from cofactor.labels.crf.fields import Field, TreeField, Weights
from cofactor.labels.features import column_means
from cofactor.labels.penalty import penalty, ridge_penalty
from cofactor.model.convergence import warn_if_unfinished
from cofactor.model.estimator import learned, param


def strongest_edges(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the edges of the tree of labels whose weights are furthest from 0, among weights (L, L) of pairs.

    Examples
    --------
    >>> strongest_edges(np.array([[0.0, 0.1, -0.3], [0.1, 0.0, 0.2], [-0.3, 0.2, 0.0]]))
    array([[0, 2],
           [1, 2]])
    """
    return maximum_spanning_tree(np.abs(table))


def table_of_all(table: NDArray[np.float64], constant: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return weights of pairs of the labels that vary as weights of pairs of all, 0 for constant ones.

    Examples
    --------
    >>> table_of_all(np.array([[0.0, 0.5], [0.5, 0.0]]), np.array([0, 1, 0]))
    array([[0. , 0. , 0.5],
           [0. , 0. , 0. ],
           [0.5, 0. , 0. ]])
    """
    varying = np.flatnonzero(constant == 0)
    whole = np.zeros((len(constant), len(constant)))
    whole[np.ix_(varying, varying)] = table
    return whole


LEAST = 1e-9  # probabilities stay this far from 0 and 1


class CRF(LabelModel):
    """A log-linear model of label sets; see `CML` for its parameters. A subclass makes a `Field`."""

    alpha: float | str = param(penalty(inclusive=False), default="auto", kw_only=False)
    max_iter: int = param(whole(), default=2000)
    tol: float = param(number(low=0), default=1e-6)

    alpha_: float = learned(check=number(low=0))
    coef_: NDArray[np.float64] = learned("features labels")
    intercept_: NDArray[np.float64] = learned("labels")
    pair_coef_: NDArray[np.float64] = learned("inputs states pairs")
    objective_: float = learned()
    history_: list[float] = learned()
    certificate_: float = learned()
    n_iter_: int = learned()

    _sizes: ClassVar[tuple[str, ...]] = ()  # chains that draw label sets are short beside the weights

    _paper: ClassVar[Mapping[str, Any]] = {"alpha": 1.0}

    @abstractmethod
    def _choose(self, data: FitInput) -> None:
        """Choose the attributes that the field is made of."""

    @abstractmethod
    def _field(self) -> Field:
        """Return the field of a fitted model."""

    @abstractmethod
    def _check_field(self) -> None:
        """Refuse attributes of a file of which no field can be made."""

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), weights="any")

    def _fit(self, data: FitInput) -> None:
        self.alpha_ = chosen_alpha(self.alpha, data)
        self._choose(data)
        self._learn(data)

    def _learn(self, data: FitInput) -> None:
        """Learn the weights of the field that was chosen."""
        result, weights = self._field().learn(data, self.alpha_, self.max_iter, self.tol)
        warn_if_unfinished(result, self)
        self.objective_, self.certificate_ = result.objective, result.certificate
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.coef_, self.intercept_, self.pair_coef_ = weights

    def _resolved_params(self) -> dict[str, Any]:
        return {"alpha": self.alpha_}

    def pair_weights(self) -> NDArray[np.float64]:
        """Return what each pair of labels adds to the score of a label set where both are alike.

        Returns
        -------
        ndarray of shape (L, L)
            Symmetric, 0 on the diagonal, for pairs without a weight, and for labels that are constant in training.
            Where features weigh the pairs, these are the weights for features of 0. With four states it is what the
            weights say beyond those of single labels: (v00 + v11 - v10 - v01) / 2.

        Examples
        --------
        >>> from cofactor.labels import CML
        >>> X = np.repeat([[0.0], [1.0]], 4, axis=0)
        >>> CML.paper(2.0).fit(X, X.repeat(2, axis=1)).pair_weights().round(2)
        array([[0.  , 1.01],
               [1.01, 0.  ]])
        """
        check_is_fitted(self)
        none = np.zeros((0, 0))
        return table_of_all(none if self.constant_.all() else self._pair_table(), self.constant_)

    def edges(self) -> NDArray[np.int64]:
        """Return the edges of the tree of labels, as `cofactor.plots.plot_label_structure` takes them.

        Returns
        -------
        ndarray of shape (L' - 1, 2)
            Pairs of positions among all labels: of a tree or chain each label but the root and its parent; else the
            tree of the pairs whose weights (`pair_weights`) are furthest from 0, the first one of all furthest. Labels
            that are constant in training have no edges.

        Examples
        --------
        >>> from cofactor.labels import CML, ChainCRF
        >>> X = np.arange(8.0)[:, None]
        >>> y = np.hstack([X > 3, X < 5, X > 5])
        >>> ChainCRF.paper(order=[2, 0, 1]).fit(X, y).edges()
        array([[0, 2],
               [1, 0]])
        >>> CML.paper().fit(X, y).edges()
        array([[0, 1],
               [1, 2]])
        """
        check_is_fitted(self)
        varying = np.flatnonzero(self.constant_ == 0)
        return varying[self._tree_edges()] if len(varying) else np.empty((0, 2), dtype=np.int64)

    def _pair_table(self) -> NDArray[np.float64]:
        """Return the weights of pairs of the labels that vary, shape (L', L')."""
        pairs, table = self._field().pairs, np.zeros((len(self.intercept_), len(self.intercept_)))
        both, _, _ = pairs.parts(self.pair_coef_[-1])
        table[pairs.first, pairs.second] = table[pairs.second, pairs.first] = both / 2
        return table

    def _tree_edges(self) -> NDArray[np.int64]:
        """Return the edges of a tree of the labels that vary: of the model's, or of the weightiest pairs."""
        field = self._field()
        return field.tree.edges() if isinstance(field, TreeField) else strongest_edges(self._pair_table())

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
        self._check_field()
        field = self._field()
        n_features = self.n_features_in_ + 1 if field.with_features else 1
        expected = (n_features, field.pairs.n_states, len(field.pairs.first))
        if self.pair_coef_.shape != expected:
            raise InvalidInputError(f"expected weights of pairs of shape {expected}, found {self.pair_coef_.shape}")


def chosen_alpha(alpha: float | str, data: FitInput) -> float:
    """Return the weight of the penalty: the given one, or one that suits the data.

    This is as heavy beside logistic losses as the best one of ridge regression, which grows with the weights of the
    instances as the losses do, beside squared ones.
    """
    if not isinstance(alpha, str):
        return float(alpha)
    share = column_means(data.labels, data.weights)
    return float(ridge_penalty(data) * np.mean(share * (1 - share)))
