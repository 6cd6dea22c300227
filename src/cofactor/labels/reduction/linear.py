"""Linear reductions of the features by eigenvectors: CCA, MLDA and MLSI.

Each maximises tr(PᵀAP) subject to PᵀBP = I, with A = MMᵀ, by one eigenproblem.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import AUTO, check_flag, number, resolve_size, size
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels.base import CheckedFeatures
from cofactor.labels.embedding.code import scatter
from cofactor.labels.features import scaled_rows
from cofactor.labels.penalty import penalty
from cofactor.labels.reduction.base import FeatureReduction
from cofactor.labels.regression import FeatureSpace, linear
from cofactor.labels.scaling import Scaling, check_scale, choose_scaling
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import learned, param
from cofactor.model.size import refuse_too_large

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
    scaling_: Scaling = learned(kind=Scaling)

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
        self.scaling_.check(self.n_features_in_)


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


_NO_SCATTER = 1e-9  #: an eigenvalue of the labels' scatter of this share of the largest, or less, counts as 0


class CCA(LinearReduction):
    r"""Regularised canonical correlation analysis of features and labels (Sun, Ji & Ye 2011).

    .. math:: S_{xy} S_{yy}^{+} S_{xy}^\top p = \nu (S_{xx} + \gamma I) p

    with :math:`S_{xx} = X_c^\top X_c`, :math:`S_{xy} = X_c^\top Y_c`, :math:`S_{yy} = Y_c^\top Y_c`: the directions of
    the features that correlate most with combinations of the labels. The eigenvalues ν are squared correlations if
    γ = 0. Labels are not decoded: a model comes after it.

    Parameters
    ----------
    n_components : int, float or "auto", default="auto"
        Number d of directions, or its share of the number of features, in (0, 1]. At most as many are taken as
        :math:`S_{xy}` has rank, so at most as many as there are labels; a warning says so. "auto" takes the first
        whose eigenvalues make .999 of the sum of all.
    gamma : float, default=1.0
        γ, at least 0. With as many features as instances and γ = 0 all correlations are 1, and mean nothing.
    whiten : bool, default=False
        Whether :math:`P^\top (S_{xx} + \gamma I) P = I`; otherwise their length is 1, as in
        the released code. Neighbours depend on it.
    {scale}

    Attributes
    ----------
    components_, eigenvalues_, mean_, n_components_, n_features_in_, scaling_
        See `LinearReduction`.

    Raises
    ------
    InvalidInputError
        If no label varies, or no feature varies with one.

    Notes
    -----
    It takes 8 L² bytes for L labels. Labels that depend linearly on others add nothing, and those that never or always
    occur do not count. `sklearn.cross_decomposition.CCA` is not regularised, and finds the directions one by one.

    References
    ----------
    L. Sun, S. Ji & J. Ye, "Canonical correlation analysis for multilabel classification: a least-squares formulation,
    extensions, and analysis", IEEE Transactions on Pattern Analysis and Machine Intelligence 33, 2011,
    doi:10.1109/TPAMI.2010.160.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 1.0], [1.0, 3.0]])
    >>> y = np.array([[0], [0], [1], [1]])
    >>> model = CCA(gamma=0.0, scale="none").fit(X, y)
    >>> model.eigenvalues_.round(6), model.transform(X).ravel().round(6)
    (array([1.]), array([-0.5, -0.5,  0.5,  0.5]))
    """

    gamma: float = param(penalty(also=()), default=1.0)

    def _directions(self, Y: sparse.csr_array, space: FeatureSpace) -> Directions:
        s, targets = space.principal(Y)
        sizes, turn = scipy.linalg.eigh(scatter(Y, space.weights), driver="evd", check_finite=False)
        kept = sizes > _NO_SCATTER * sizes[-1]
        white = targets @ (turn[:, kept] / np.sqrt(sizes[kept]))
        metric = s**2 + self.gamma
        return leading_directions(s[:, None] * white, metric, bound=float((s**2 / metric).max(initial=0.0)))


class MLDA(LinearReduction):
    r"""Multi-label linear discriminant analysis (Wang, Ding & Huang 2010).

    .. math:: S_b p = \nu (S_t + \gamma I) p, \qquad S_b = \sum_k n_k (m_k - m)(m_k - m)^\top, \qquad
        S_t = \sum_{ik} Q_{ik} (x_i - m)(x_i - m)^\top

    Instance i belongs to label k with the weight :math:`Q_{ik} = (Y C)_{ik} / |y_i|`, where C holds the cosines of the
    labels; :math:`n_k = \sum_i Q_{ik}`, m_k is the mean of a label by these weights, and m the mean of all. If each
    instance has one label, this is Fisher's linear discriminant analysis, regularised by γ.

    Parameters
    ----------
    n_components : int, float or "auto", default="auto"
        Number d of directions, or its share of the number of features, in (0, 1]. At most as many are taken as S_b has
        rank, so fewer than there are labels; a warning says so. "auto" takes the first whose eigenvalues make .999 of
        the sum of all.
    gamma : float, default=1.0
        γ, at least 0.
    whiten : bool, default=False
        Whether :math:`P^\top (S_t + \gamma I) P = I`; otherwise their length is 1, as in
        the released code. Neighbours depend on it.
    {scale}

    Attributes
    ----------
    components_, eigenvalues_, mean_, n_components_, n_features_in_, scaling_
        See `LinearReduction`. The new features are centred by the plain mean of the instances.

    Raises
    ------
    InvalidInputError
        If no label varies, or the means of all labels are the same, as with a single label.

    Notes
    -----
    The released code takes YC in place of Q for m; with Q, S_t is the sum of S_b and of the scatter within labels.
    Instances without a label weigh nothing. Labels that never or always occur do not count. A single label has the
    mean m; give it with its opposite, in two columns, for Fisher's discriminant of two classes.

    References
    ----------
    H. Wang, C. Ding & H. Huang, "Multi-label linear discriminant analysis", ECCV 2010,
    doi:10.1007/978-3-642-15567-3_10.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 1.0], [1.0, 3.0]])
    >>> y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> MLDA(scale="none").fit_transform(X, y)
    array([[-0.5],
           [-0.5],
           [ 0.5],
           [ 0.5]])
    """

    gamma: float = param(penalty(also=()), default=1.0)

    _no_direction: ClassVar[str] = (
        "no feature varies with a label, or labels are all alike (MLDA needs two that differ)"
    )

    def _directions(self, Y: sparse.csr_array, space: FeatureSpace) -> Directions:
        s, _ = space.principal(Y)
        forward, _, _ = space.coordinates()
        Z = space.unweighted(forward(np.eye(len(s))))
        Q = _memberships(Y, space.weights)
        weights, sizes = Q.sum(axis=1), Q.sum(axis=0)
        Z -= weights @ Z / weights.sum()
        scatter = Z.T @ (weights[:, None] * Z)
        spread = float(np.trace(scatter))
        scatter[np.diag_indices_from(scatter)] += self.gamma
        bound = spread / (spread + self.gamma) if spread > 0 else 0.0
        return leading_directions(Z.T @ (Q / np.sqrt(sizes)), scatter, bound)


def _memberships(Y: sparse.csr_array, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return how much each instance belongs to each label, times its weight, shape (n, L).

    Examples
    --------
    >>> _memberships(sparse.csr_array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])).round(3)
    array([[1.   , 0.577],
           [0.789, 0.789],
           [0.   , 0.   ],
           [1.   , 0.577]])
    """
    w = np.ones(Y.shape[0]) if weights is None else weights
    lengths = np.sqrt(Y.T @ w)
    cosines = (Y.T @ scaled_rows(Y, w)).toarray() / np.outer(lengths, lengths)
    return np.asarray(Y @ cosines) * (w / np.maximum(np.diff(Y.indptr), 1))[:, None]


class MLSI(LinearReduction):
    r"""Multi-label informed latent semantic indexing (Yu, Yu & Tresp 2005).

    .. math:: \min_{T, A, B} \; (1 - \beta) \|X_c - T A\|_F^2 + \beta \|Y_c - T B\|_F^2
        \quad \text{subject to} \quad T = X_c P, \; T^\top T = I

    which is :math:`\bigl((1 - \beta) S_{xx}^2 + \beta S_{xy} S_{xy}^\top\bigr) p = \nu (S_{xx} + \gamma I) p`, with
    :math:`S_{xx} = X_c^\top X_c`, :math:`S_{xy} = X_c^\top Y_c`, and the constraint regularised by γ. With β = 0 it is
    the principal components of the features; with β = 1 it is `MDDM` with ``form="features"`` and
    :math:`\mu = 1 / (1 + \gamma)`.

    Parameters
    ----------
    n_components : int, float or "auto", default="auto"
        Number d of directions, or its share of the number of features, in (0, 1]. At most as many are taken as the
        features have rank; with β = 1, as :math:`S_{xy}` has. A warning says so. "auto" takes the first whose
        eigenvalues make .999 of the sum of all.
    beta : float, default=0.5
        β, from 0 to 1: how much labels count.
    gamma : float, default=1.0
        γ, at least 0.
    balance : bool, default=False
        Whether both terms are divided by their traces first. As they are, they are not commensurate: on emotions,
        standardised, the features' is 79 times the labels', and β = ½ is the principal components to three digits.
    whiten : bool, default=False
        Whether the directions satisfy the constraint; otherwise their length is 1, as in
        the released code. Neighbours depend on it.
    {scale}

    Attributes
    ----------
    components_, eigenvalues_, mean_, n_components_, n_features_in_, scaling_
        See `LinearReduction`.

    Raises
    ------
    InvalidInputError
        If no label varies, or no feature does.

    References
    ----------
    K. Yu, S. Yu & V. Tresp, "Multi-label informed latent semantic indexing", SIGIR 2005,
    doi:10.1145/1076034.1076080.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 1.0], [1.0, 3.0]])
    >>> y = np.array([[0], [0], [1], [1]])
    >>> MLSI(1, beta=0.0, scale="none").fit(X, y).components_.round(6) + 0.0
    array([[0., 1.]])
    >>> MLSI(1, beta=1.0, scale="none").fit(X, y).components_.round(6) + 0.0
    array([[1., 0.]])
    """

    beta: float = param(number(low=0, high=1), default=0.5)
    gamma: float = param(penalty(also=()), default=1.0)
    balance: bool = param(check_flag, default=False)

    def _directions(self, Y: sparse.csr_array, space: FeatureSpace) -> Directions:
        s, targets = space.principal(Y)
        of_features, of_labels = np.diag(s**2), s[:, None] * targets
        if self.balance:
            of_features /= max(float(np.linalg.norm(s**2)), 1e-300)
            of_labels /= max(float(np.linalg.norm(of_labels)), 1e-300)
        terms = [np.sqrt(weight) * term for weight, term in ((1 - self.beta, of_features), (self.beta, of_labels))]
        root = np.hstack([term for term, weight in zip(terms, (1 - self.beta, self.beta), strict=True) if weight])
        return leading_directions(root, s**2 + self.gamma)
