r"""Sums over instances from which ridge regression of labels follows, and to which those of new instances are added.

With :math:`X_c = X - 1 \bar x^T`, the coefficients are :math:`(X_c^T X_c + \alpha I)^{-1} X_c^T Y`. Of two sets of n
and m instances, whose means differ by d (features) and e (labels), together

.. math:: X_c^T X_c = X_{c1}^T X_{c1} + X_{c2}^T X_{c2} + \tfrac{nm}{n + m} d d^T, \qquad
    X_c^T Y = X_{c1}^T Y_1 + X_{c2}^T Y_2 + \tfrac{nm}{n + m} d e^T

so that nothing is lost in rounding where features are far from 0 (Chan, Golub & LeVeque 1983). With weights of the
instances all sums are weighted, and n and m are sums of weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse

from cofactor.errors import InvalidInputError
from cofactor.labels.features import CheckedFeatures, column_means, cross_products
from cofactor.labels.leave_one_out import centred_gram, lost_in_rounding
from cofactor.model.state import check_array

#: Share of the weight of all instances from which those that came after the fit make another one due.
DUE = 0.1


@dataclass(frozen=True, eq=False)
class RidgeSums:
    """Sums over the instances on which some labels are known.

    Parameters
    ----------
    labels : ndarray of shape (k,), int64
        Which of the labels of a model they are.
    weight : float
        Number of the instances, or sum of their weights.
    new_weight : float
        That of the instances which came after the fit.
    mean : ndarray of shape (D,)
        Of the features.
    gram : ndarray of shape (D (D + 1) / 2,)
        The rows of the upper triangle of XcᵀXc, one after the other.
    label_mean : ndarray of shape (k,)
        Share of the instances that have each label.
    cross : ndarray of shape (D, k)
        XcᵀY.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [5.0]]), sparse.csr_array([[0.0], [0.0], [1.0], [1.0]])
    >>> sums = RidgeSums.of(X[:3], Y[:3]).plus(RidgeSums.of(X[3:], Y[3:]))
    >>> sums.weight, sums.new_weight, sums.cross, RidgeSums.of(X, Y).cross
    (4.0, 1.0, array([[3.]]), array([[3.]]))
    >>> [part.round(3).tolist() for part in sums.solve(1.0)]
    [[[0.2]], [0.1]]
    """

    labels: NDArray[np.int64]
    weight: float
    new_weight: float
    mean: NDArray[np.float64]
    gram: NDArray[np.float64]
    label_mean: NDArray[np.float64]
    cross: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        X: CheckedFeatures,
        Y: sparse.csr_array,
        weights: NDArray[np.float64] | None = None,
        gram: NDArray[np.float64] | None = None,
    ) -> RidgeSums:
        """Return the sums over instances.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, D)
            Features, scaled.
        Y : csr_array of shape (n, k)
        weights : ndarray of shape (n,), optional
        gram : ndarray of shape (D, D), optional
            XcᵀXc, if it is known.
        """
        X = X.astype(np.float64, copy=False)
        mean, weight = column_means(X, weights), float(X.shape[0] if weights is None else weights.sum())
        product, sums = cross_products(X, Y.astype(np.float64), weights)
        gram = centred_gram(X, mean, weights) if gram is None else gram
        cross = np.asarray(product) - np.outer(mean, sums)
        return cls(np.arange(Y.shape[1]), weight, 0.0, mean, _packed(gram), sums / weight, cross)

    def plus(self, new: RidgeSums) -> RidgeSums:
        """Return the sums over these and new instances, with the same labels."""
        weight = self.weight + new.weight
        step, label_step = new.mean - self.mean, new.label_mean - self.label_mean
        share, both = new.weight / weight, self.weight * new.weight / weight
        gram, at = self.gram + new.gram, 0
        for k in range(len(step)):
            row = gram[at : at + len(step) - k]
            row += both * step[k] * step[k:]
            at += len(row)
        return replace(
            self,
            weight=weight,
            new_weight=self.new_weight + new.weight,
            mean=self.mean + share * step,
            gram=gram,
            label_mean=self.label_mean + share * label_step,
            cross=self.cross + new.cross + both * np.outer(step, label_step),
        )

    def solve(self, alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return coefficients (D, k) and intercepts (k,) with a penalty above 0."""
        D, at = len(self.mean), 0
        matrix = np.zeros((D, D))
        for k in range(D):
            matrix[k, k:] = self.gram[at : at + D - k]
            at += D - k
        matrix[np.diag_indices(D)] += alpha
        try:
            factor = scipy.linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            raise lost_in_rounding(alpha) from None
        coef = scipy.linalg.cho_solve(factor, self.cross, check_finite=False)
        return coef, self.label_mean - self.mean @ coef

    @property
    def due(self) -> bool:
        """Whether so much came after the fit that another one is due."""
        return self.new_weight >= DUE * self.weight

    def is_of_same_instances(self, other: RidgeSums) -> bool:
        """Whether sums are those of the same instances, but for rounding."""
        same = self.weight == other.weight and np.allclose(self.mean, other.mean, rtol=1e-9, atol=1e-12)
        return same and bool(np.allclose(self.gram, other.gram, rtol=1e-9, atol=1e-9 * float(np.abs(other.gram).max())))

    def select(self, kept: Mapping[str, NDArray[np.int64]]) -> RidgeSums:
        """Return the sums of some of the labels of the model, under "names" of `kept`, by their places among these."""
        some = np.flatnonzero(np.isin(self.labels, kept["names"]))
        places = np.searchsorted(kept["names"], self.labels[some])
        return replace(self, labels=places, label_mean=self.label_mean[some], cross=self.cross[:, some])

    def to_state(self) -> dict[str, Any]:
        """Return what a file holds."""
        return dict(vars(self))

    @classmethod
    def from_state(cls, state: Any) -> RidgeSums:
        """Return the sums that a file holds."""
        return cls(**state)

    def check(self, n_features: int, n_labels: int) -> None:
        """Refuse sums, read from a file, that are not those of so many features, and of labels of a model."""
        labels = self.labels
        if not isinstance(labels, np.ndarray) or labels.dtype != np.int64 or labels.ndim != 1:
            raise InvalidInputError("sums must say which labels they are of")
        if len(np.unique(labels)) < len(labels) or not ((labels >= 0) & (labels < n_labels)).all():
            raise InvalidInputError("sums must be those of labels of the model")
        shapes: dict[str, tuple[int, ...]] = {
            "mean": (n_features,),
            "gram": (n_features * (n_features + 1) // 2,),
            "label_mean": labels.shape,
            "cross": (n_features, len(labels)),
        }
        for name, shape in shapes.items():
            check_array(f"{name} of the sums", getattr(self, name), shape, np.float64)
        weights = self.weight, self.new_weight
        if not all(isinstance(one, int | float) for one in weights) or not 0 <= self.new_weight <= self.weight < np.inf:
            raise InvalidInputError("weights of the sums must be numbers of at least 0")


def joined(known: Sequence[RidgeSums], new: RidgeSums, n_labels: int) -> tuple[RidgeSums, ...]:
    """Return sums with those of new labels, which come after the `n_labels` labels of a model.

    Labels that are known on the same instances share a Gram matrix.
    """
    new = replace(new, labels=new.labels + n_labels)
    for k, sums in enumerate(known):
        if sums.is_of_same_instances(new):
            both = replace(
                sums,
                labels=np.append(sums.labels, new.labels),
                label_mean=np.append(sums.label_mean, new.label_mean),
                cross=np.hstack([sums.cross, new.cross]),
            )
            return (*known[:k], both, *known[k + 1 :])
    return (*known, new)


def _packed(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows of the upper triangle, one after the other: half of a symmetric matrix is enough for a file."""
    return np.concatenate([gram[k, k:] for k in range(len(gram))])
