"""Linear reductions of features: directions in which features tell labels, found by one eigenproblem.

It is max tr(PᵀAP) subject to PᵀBP = I, with A = MMᵀ.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import check_flag, resolve_size, size
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels.base import CheckedFeatures
from cofactor.labels.reduction.base import FeatureReduction
from cofactor.labels.regression import FeatureSpace, linear
from cofactor.labels.scaling import AUTO, check_scale, choose_scaling
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import learned, param
from cofactor.model.size import refuse_too_large

__all__ = ["Directions", "LinearReduction", "leading_directions"]


_NULL = 1e-12  #: an eigenvalue of this share of the largest, or less, is rounding errors
_NOISE = 1e-24  #: as is one of this share of what it could be, since M then is


class Directions(NamedTuple):
    """Solutions: AP = BP diag(values), PᵀBP = I."""

    values: NDArray[np.float64]  # (d,), the largest first
    vectors: NDArray[np.float64]  # P, (r, d)


def leading_directions(root: NDArray[np.float64], metric: NDArray[np.float64], bound: float = 0.0) -> Directions:
    r"""Return all directions of eigenvalues above 0.

    With :math:`B = G G^T`, the left singular vectors U of :math:`G^{-1} M` give :math:`P = G^{-T} U`; A is never formed
    if M has fewer columns than rows. There are at most as many directions as the rank of M: any others would be
    arbitrary.

    Parameters
    ----------
    root : ndarray of shape (r, q)
        M, with A = MMᵀ.
    metric : ndarray of shape (r,) or (r, r)
        B, or its diagonal if it has no other entries. Where B is 0 there are no directions.
    bound : float, default=0.0
        What eigenvalues cannot exceed for any labels, if that is known.

    Examples
    --------
    >>> leading_directions(np.array([[3.0], [4.0]]), np.array([1.0, 4.0]))
    Directions(values=array([13.]), vectors=array([[0.83205029],
           [0.2773501 ]]))
    """
    if metric.ndim == 1:
        sizes, turn = metric, None
    else:
        sizes, turn = scipy.linalg.eigh(metric, driver="evd", check_finite=False)
        root = turn.T @ root
    kept = sizes > _NULL * sizes.max(initial=0.0)
    inverse = np.where(kept, 1 / np.sqrt(np.where(kept, sizes, 1.0)), 0.0)[:, None]
    white = inverse * root
    if white.shape[1] <= white.shape[0]:
        vectors, lengths, _ = scipy.linalg.svd(white, full_matrices=False, check_finite=False)
        values = lengths**2
    else:
        values, vectors = scipy.linalg.eigh(white @ white.T, driver="evd", check_finite=False)
        values, vectors = values[::-1], vectors[:, ::-1]
    some = values > max(_NULL * float(values.max(initial=0.0)), _NOISE * bound)
    found = inverse * vectors[:, some]
    return Directions(values[some], found if turn is None else turn @ found)


_EXPLAINED = 0.999  #: share of the sum of the eigenvalues that "auto" keeps


class LinearReduction(FeatureReduction):
    """New features are (x - x̄) Pᵀ, where the rows of P solve a generalized eigenproblem in the space of the features.

    Subclasses state the problem in the principal coordinates of the features (`_directions`), which a `FeatureSpace`
    has. There are no more directions than the rank of the problem, mostly the number of labels: with more, the others
    would be arbitrary vectors of eigenvalue 0, which only disturb neighbours.

    Attributes
    ----------
    components_ : ndarray of shape (d, D)
        Directions P, those of the largest eigenvalues first; the number of the largest absolute value of each is above
        0.
    eigenvalues_ : ndarray of shape (d,)
        Their eigenvalues.
    mean_ : ndarray of shape (D,)
        Means x̄ of the scaled features.
    n_components_ : int
        Number d of directions.
    n_features_in_ : int
        Number D of features.
    scaling_ : Scaling
        How features are scaled.
    """

    n_components: int | float | str = param(size(also=[AUTO]), default="auto", kw_only=False)
    whiten: bool = param(check_flag, default=False)
    scale: str = param(check_scale, default="auto")

    components_: NDArray[np.float64] = learned("components features")
    eigenvalues_: NDArray[np.float64] = learned("components")
    mean_: NDArray[np.float64] = learned("features")

    _no_direction: ClassVar[str] = "no feature varies with a label"

    @abstractmethod
    def _directions(self, Y: sparse.csr_array, space: FeatureSpace) -> Directions:
        """Return all directions in principal coordinates of the features; each label of Y is on and off somewhere."""

    @property
    def n_components_(self) -> int:
        """Number d of directions."""
        return len(self.eigenvalues_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _fit(self, X: CheckedFeatures, Y: sparse.csr_array, space: FeatureSpace | None) -> None:
        varying = varying_labels(Y)
        r, L = min(X.shape), varying.shape[1]
        refuse_too_large(self, 8 * (r * r + 2 * r * L + X.shape[1] * min(self._wanted(X.shape[1]), r)), X.size)
        if space is None:
            space = FeatureSpace(X, scale=choose_scaling(X, varying, scale=self.scale))
        elif not space.fit_intercept:
            raise InvalidInputError("features must be centred", argument="X", advice="FeatureSpace(fit_intercept=True)")
        self.scaling_ = space.scaling_for(self.scale)
        values, vectors = self._kept(self._directions(varying, space), X.shape[1])
        P = space.lift(vectors).T
        if not self.whiten:
            P /= np.linalg.norm(P, axis=1, keepdims=True)
        largest = np.argmax(np.abs(P).round(9), axis=1)
        self.components_ = np.ascontiguousarray(P * np.sign(P[np.arange(len(P)), largest])[:, None])
        self.eigenvalues_, self.mean_ = values, space.mean

    def _wanted(self, D: int) -> int:
        """Return how many directions are asked for; D where the fit chooses."""
        return D if isinstance(self.n_components, str) else resolve_size(self.n_components, D)

    def _kept(self, found: Directions, D: int) -> Directions:
        """Return as many directions as `n_components` says; warn if there are fewer."""
        values, rank = found.values, len(found.values)
        if not rank:
            raise InvalidInputError(f"{type(self).__name__} found no direction: {self._no_direction}", argument="X")
        if isinstance(self.n_components, str):
            total = np.cumsum(values)
            d = min(1 + int(np.searchsorted(total, _EXPLAINED * total[-1])), rank)
        else:
            d = min(self._wanted(D), rank)
            if d < self._wanted(D):
                warnings.warn(
                    InputWarning(
                        f"{type(self).__name__}: {self._wanted(D)} directions were asked for, but labels and features "
                        f"have {rank}, all others would be arbitrary; {rank} are taken"
                    ),
                    stacklevel=callers_level(),
                )
        return Directions(values[:d], found.vectors[:, :d])

    def _transformed(self, X: CheckedFeatures) -> NDArray[np.float64]:
        return linear(X, self.components_.T, -(self.components_ @ self.mean_))

    def _check_learned(self) -> None:
        super()._check_learned()
        if not hasattr(self, "scaling_"):
            raise InvalidInputError("scaling is missing")


def varying_labels(Y: sparse.csr_array) -> sparse.csr_array:
    """Return the labels that are on for some instances and off for others.

    Raises
    ------
    InvalidInputError
        If there are none.
    """
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    varying = np.flatnonzero((counts > 0) & (counts < Y.shape[0]))
    if not len(varying):
        raise InvalidInputError("no label is on for some instances and off for others", argument="y")
    return Y if len(varying) == Y.shape[1] else sparse.csr_array(Y[:, varying])
