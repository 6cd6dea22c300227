"""MDDM: directions in which features depend on labels most."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from cofactor.checks import AUTO, number, one_of
from cofactor.chunked import as_dense, batches
from cofactor.errors import InvalidInputError
from cofactor.labels.base import CheckedFeatures
from cofactor.labels.embedding.code import label_means
from cofactor.labels.penalty import penalty
from cofactor.labels.reduction.linear import Directions, LinearReduction, leading_directions, varying_labels
from cofactor.labels.regression import FeatureSpace
from cofactor.labels.scaling import choose_scaling, rows_to_compare
from cofactor.model.estimator import learned, param
from cofactor.model.size import refuse_too_large

_CELLS = 1 << 22  # numbers of the kernel that are in memory while features are transformed


class MDDM(LinearReduction):
    r"""Multi-label dimensionality reduction by dependence maximization (Zhang & Zhou 2010).

    .. math:: \max_P \; \operatorname{tr}(P^\top X_c^\top Y_c Y_c^\top X_c P) \quad \text{subject to} \quad
        P^\top \bigl(\mu X_c^\top X_c + (1 - \mu) I\bigr) P = I

    The objective is the Hilbert-Schmidt independence criterion of the new features and the labels, with a linear kernel
    of the labels. With ``form="projection"`` μ = 0: the directions are orthogonal, and are the left singular vectors
    of :math:`X_c^\top Y_c`. With ``form="features"`` the new features are nearly uncorrelated.

    Parameters
    ----------
    n_components : int, float or "auto", default="auto"
        Number d of directions, or its share of the number of features, in (0, 1]. At most as many are taken as
        :math:`X_c^\top Y_c` has rank, so at most as many as there are labels; a warning says so. "auto" takes the
        first whose eigenvalues make .999 of the sum of all.
    form : {"projection", "features"}, default="projection"
        Which constraint.
    mu : float, default=0.5
        μ of ``form="features"``, from 0 to 1.
    kernel : {"linear", "rbf"}, default="linear"
        "rbf" finds directions in the space of the kernel :math:`\exp(-\gamma \|x - x'\|^2)`. It keeps the training
        instances, and takes O(n³) operations and 8 n² bytes for n of them.
    gamma : float or "auto", default="auto"
        γ of ``kernel="rbf"``, above 0; "auto" is 1 / the median squared distance of at most 1,200 instances.
    whiten : bool, default=False
        Whether the directions satisfy the constraint, as in the paper; otherwise their length is 1, with which
        neighbours were better on inner splits of medical and emotions. With ``form="projection"`` both are the same.
    {scale}

    Attributes
    ----------
    components_ : ndarray of shape (d, D)
        Directions, those of the largest eigenvalues first. With ``kernel="rbf"`` of shape (d, n): coefficients of the
        training instances.
    eigenvalues_ : ndarray of shape (d,)
        Their eigenvalues.
    mean_ : ndarray of shape (D,)
        Means of the scaled features. With ``kernel="rbf"`` of shape (n,): means of the kernel with each training
        instance.
    X_ : ndarray or csr_array of shape (n, D), or None
        Scaled features of the training instances, for ``kernel="rbf"``.
    gamma_ : float or None
        γ, for ``kernel="rbf"``.
    n_components_, n_features_in_, scaling_
        See `LinearReduction`.

    Raises
    ------
    InvalidInputError
        If no label varies, or no feature varies with one.

    Notes
    -----
    Labels that never or always occur do not count. Instances without a label count as others do.

    References
    ----------
    Y. Zhang & Z.-H. Zhou, "Multilabel dimensionality reduction via dependence maximization", ACM Transactions on
    Knowledge Discovery from Data 4, 2010, doi:10.1145/1839490.1839495.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 1.0], [1.0, 3.0]])
    >>> y = np.array([[0], [0], [1], [1]])
    >>> MDDM(scale="none").fit_transform(X, y)
    array([[-0.5],
           [-0.5],
           [ 0.5],
           [ 0.5]])
    """

    form: str = param(one_of(["projection", "features"]), default="projection")
    mu: float = param(number(low=0, high=1), default=0.5)
    kernel: str = param(one_of(["linear", "rbf"]), default="linear")
    gamma: float | str = param(penalty(inclusive=False), default="auto")

    X_: Any = learned("inputs features", optional=True)
    gamma_: float | None = learned(check=number(low=0), optional=True)
    components_: NDArray[np.float64] = learned("components inputs")
    eigenvalues_: NDArray[np.float64] = learned("components")
    mean_: NDArray[np.float64] = learned("inputs")

    def _metric(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the constraint in principal coordinates with singular values s."""
        return np.ones_like(s) if self.form == "projection" else self.mu * s**2 + (1 - self.mu)

    def _dependent(self, s: NDArray[np.float64], targets: NDArray[np.float64], Y: sparse.csr_array) -> Directions:
        """Return directions in principal coordinates with singular values s, from the labels in these."""
        metric = self._metric(s)
        return leading_directions(s[:, None] * targets, metric, float((s**2 / metric).max(initial=0.0)) * Y.nnz)

    def _directions(self, Y: sparse.csr_array, space: FeatureSpace) -> Directions:
        return self._dependent(*space.principal(Y), Y)

    def _fit(self, X: CheckedFeatures, Y: sparse.csr_array, space: FeatureSpace | None) -> None:
        self.X_, self.gamma_ = None, None
        if self.kernel == "linear":
            super()._fit(X, Y, space)
        else:
            self._fit_kernel(X, varying_labels(Y), space)

    def _fit_kernel(self, X: CheckedFeatures, Y: sparse.csr_array, space: FeatureSpace | None) -> None:
        """Find directions in the space of the kernel, from the decomposition of its centred matrix."""
        n = X.shape[0]
        refuse_too_large(self, 16 * n * n + 8 * n * min(self._wanted(n), n), X.size)
        if space is None:
            self.scaling_ = choose_scaling(X, Y, scale=self.scale)
            X = self.scaling_.apply(X)
        else:
            self.scaling_ = space.scaling_for(self.scale)
        self.X_ = X.copy()
        self.gamma_ = _width(X) if isinstance(self.gamma, str) else float(self.gamma)
        K = rbf_kernel(X, gamma=self.gamma_).astype(np.float64)
        self.mean_ = K.mean(axis=0)
        K += self.mean_.mean() - self.mean_ - self.mean_[:, None]
        squares, basis = scipy.linalg.eigh(K, driver="evd", check_finite=False)
        kept = squares > n * np.finfo(np.float64).eps * max(float(squares[-1]), 1.0)
        if not kept.any() and self.gamma != AUTO:
            raise InvalidInputError(
                "all instances are alike in this kernel",
                argument="gamma",
                found=self.gamma,
                advice="take a larger one, 'auto', or features that vary",
            )
        s, basis = np.sqrt(squares[kept]), basis[:, kept]
        targets = np.asarray((Y.T @ basis).T) - np.outer(basis.sum(axis=0), label_means(Y))
        self.eigenvalues_, vectors = self._kept(self._dependent(s, targets, Y), n)
        if not self.whiten:
            vectors = vectors / np.linalg.norm(vectors, axis=0)
        P = (basis @ (vectors / s[:, None])).T
        P -= P.mean(axis=1, keepdims=True)  # centred kernels need no means of rows then
        largest = np.argmax(np.abs(P).round(9), axis=1)
        self.components_ = np.ascontiguousarray(P * np.sign(P[np.arange(len(P)), largest])[:, None])

    def _transformed(self, X: CheckedFeatures) -> NDArray[np.float64]:
        if self.X_ is None:
            return super()._transformed(X)
        n = X.shape[0]
        out = np.empty((n, len(self.components_)))
        for rows in batches(n, max(1, _CELLS // self.X_.shape[0])):
            out[rows] = rbf_kernel(X[rows], self.X_, gamma=self.gamma_) @ self.components_.T
        return out - self.components_ @ self.mean_

    def _check_learned(self) -> None:
        if self.kernel == "linear":
            self.X_ = self.gamma_ = None
        super()._check_learned()
        if self.kernel == "linear" and self.components_.shape[1] != self.n_features_in_:
            raise InvalidInputError(f"components_ have {self.components_.shape[1]} columns")
        if self.kernel != "linear" and (self.X_ is None or self.gamma_ is None):
            raise InvalidInputError("the training instances of the kernel are missing")


def _width(X: CheckedFeatures) -> float:
    """Return the inverse of the median squared distance of instances; 1 if they are all the same."""
    some = X[rows_to_compare(X.shape[0])]
    dense = as_dense(some)
    squares = np.einsum("ij,ij->i", dense, dense)
    distances = squares[:, None] + squares - 2 * dense @ dense.T
    middle = float(np.median(distances[np.triu_indices(len(dense), 1)])) if len(dense) > 1 else 0.0
    return 1 / middle if middle > 0 else 1.0
