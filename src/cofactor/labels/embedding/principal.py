"""Principal directions of labels, and the embeddings by them: PLST, label PCA and CPLST.

Principal directions of labels, from products with the shorter side of their table.

Principal label space transformation: the principal components of the labels as their code.

Label PCA of Li's thesis: `PLST` under another name, without a penalty.

Conditional principal label space transformation: a code that the features can predict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import size
from cofactor.labels.base import FitInput
from cofactor.labels.embedding.code import (
    Code,
    CodeModel,
    centred_codes,
    label_means,
    n_wanted,
    scatter,
    top_eigenvectors,
)
from cofactor.labels.penalty import AUTO
from cofactor.labels.regression import FeatureSpace
from cofactor.model.estimator import param
from cofactor.passes import batches, in_parts

LARGEST = 3000  #: rows of the largest matrix of which all eigenvectors are computed: some 10 s
_STEPS = 4  #: of subspace iteration
_MORE = 20  #: directions beyond d, which make those up to d more exact
_DOUBLE = 1 << 24  #: numbers up to which they are in double precision, of directions found by subspace iteration
_NULL = {np.float64: 1e-10, np.float32: 1e-5}  #: share of the largest eigenvalue up to which another counts as 0
_BLOCK = 128  #: directions at a time


def principal_directions(
    Y: sparse.csr_array, d: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    r"""Return the first d right singular vectors of the centred labels, with rows weighted by √w.

    Parameters
    ----------
    Y : csr_array of shape (n, L)
    d : int
        Fewer are returned if the centred labels have a lower rank.
    weights : ndarray of shape (n,), optional
        Weights w of the instances.

    Returns
    -------
    ndarray of shape (L, d')
        Orthonormal; the component of each with the largest absolute value is positive.

    Notes
    -----
    With at most 3,000 labels they are eigenvectors of :math:`Y_c^T Y_c`; otherwise, with at most 3,000 instances, they
    follow from those of :math:`Y_c Y_c^T`. Beyond both, subspace iteration on products with the sparse Y finds them
    nearly, at most half as many as there are instances or labels; more than 16 million numbers in single precision.

    References
    ----------
    N. Halko, P. G. Martinsson & J. A. Tropp, "Finding structure with randomness", SIAM Review 53, 2011.

    Examples
    --------
    >>> Y = sparse.csr_array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    >>> principal_directions(Y, 2).round(3)
    array([[ 0.577],
           [ 0.577],
           [-0.577]])
    """
    n, L = Y.shape
    if L <= LARGEST:
        return top_eigenvectors(scatter(Y, weights), d)[1]
    if n <= LARGEST:
        centred = _Centred(Y, weights)
        values, left = top_eigenvectors(centred.gram(), min(d, n))
    else:
        d = min(d, min(n, L) // 2)
        centred = _Centred(Y, weights, np.float32 if L * d > _DOUBLE else np.float64)
        values, left = _top_by_subspace(centred, d)
    return _turned(centred.transposed(left), values)


def right_singular_vectors(A: NDArray[np.float64], d: int) -> NDArray[np.float64]:
    """Return the first d right singular vectors of a dense A, or as many as its rank, from its smaller Gram matrix.

    Examples
    --------
    >>> right_singular_vectors(np.array([[3.0, 0.0, 4.0], [0.0, 1.0, 0.0]]), 1).round(3) + 0.0
    array([[0.6],
           [0. ],
           [0.8]])
    """
    r, L = A.shape
    if r >= L:
        return top_eigenvectors(A.T @ A, min(d, L))[1]
    values, left = top_eigenvectors(A @ A.T, min(d, r))
    return _turned(A.T @ left, values)


def principal_bytes(n: int, L: int, d: int) -> int:
    """Return how many bytes `principal_directions` takes at least.

    Examples
    --------
    >>> principal_bytes(10_000, 20_000, 1_000) / 1e6
    200.0
    """
    side = L if L <= LARGEST else n
    if side <= LARGEST:
        return 8 * (3 * side * side + L * min(d, side))
    d = min(d, min(n, L) // 2)
    return (4 if L * d > _DOUBLE else 8) * (3 * n + L) * d


class _Centred:
    """Products with centred labels whose rows are multiplied by √w, without forming them."""

    def __init__(
        self, Y: sparse.csr_array, weights: NDArray[np.float64] | None, dtype: type[np.floating[Any]] = np.float64
    ) -> None:
        self.Y, self.dtype = Y.astype(dtype), dtype
        self.mean = label_means(Y, weights).astype(dtype)
        self.root = np.ones(Y.shape[0], dtype) if weights is None else np.sqrt(weights).astype(dtype)

    def times(self, V: NDArray[Any]) -> NDArray[Any]:
        out = np.asarray(self.Y @ V)
        out -= self.mean @ V
        out *= self.root[:, None]
        return out

    def transposed(self, U: NDArray[Any]) -> NDArray[Any]:
        out = np.empty((self.Y.shape[1], U.shape[1]), self.dtype)
        for some in batches(U.shape[1], _BLOCK):
            scaled = self.root[:, None] * U[:, some]
            out[:, some] = self.Y.T @ scaled
            out[:, some] -= np.outer(self.mean, scaled.sum(axis=0))
        return out

    def forth_and_back(self, U: NDArray[Any]) -> NDArray[Any]:
        """Return AAᵀU, of which AᵀU is never whole in memory."""
        out = np.empty_like(U)
        for some in batches(U.shape[1], _BLOCK):
            out[:, some] = self.times(self.transposed(U[:, some]))
        return out

    def gram(self) -> NDArray[np.float64]:
        """Return the inner products of its rows."""
        shift = self.Y @ self.mean
        products = (self.Y @ self.Y.T).toarray() - shift[:, None] - shift + self.mean @ self.mean
        return self.root[:, None] * products * self.root


def _top_by_subspace(A: _Centred, d: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return about the d largest eigenvalues of AAᵀ, the largest first, and their eigenvectors."""
    n = len(A.root)
    Q: NDArray[Any] = np.random.default_rng(0).standard_normal((n, min(d + _MORE, n)), A.dtype)
    for _ in range(_STEPS):
        Q = _orthonormal(A.forth_and_back(Q))
    inner = (Q.T @ A.forth_and_back(Q)).astype(np.float64)
    values, turn = top_eigenvectors((inner + inner.T) / 2, d)
    return values.astype(A.dtype), Q @ turn.astype(A.dtype)


def _orthonormal(Z: NDArray[Any]) -> NDArray[Any]:
    """Return an orthonormal basis of the columns, by Cholesky factors where they will do: a third of the time."""
    try:
        R = np.linalg.cholesky((Z.T @ Z).astype(np.float64))
    except np.linalg.LinAlgError:
        R = np.zeros((1, 1))
    sizes = R.diagonal()
    if sizes.min() <= np.finfo(Z.dtype).eps ** 0.4 * sizes.max():  # cond(Z)² would be lost in rounding
        return np.asarray(scipy.linalg.qr(Z, mode="economic", overwrite_a=True, check_finite=False)[0])
    R = R.astype(Z.dtype)
    return np.asarray(scipy.linalg.solve_triangular(R, Z.T, lower=True, overwrite_b=True, check_finite=False).T)


def _turned(V: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return right singular vectors from those times singular values, without those that count as 0, with signs."""
    kept = values > _NULL[V.dtype.type] * values.max(initial=0.0)
    if not kept.all():
        V = V[:, kept]
    for some in batches(V.shape[1], _BLOCK):
        part = V[:, some]
        part /= np.sqrt(values[kept][some])
        largest = np.argmax(np.abs(part).round(9), axis=0)
        part *= np.sign(part[largest, np.arange(part.shape[1])])
    return V


_COMPONENTS = 256  #: components at a time, whose errors are compared


class PLST(CodeModel):
    r"""Principal label space transformation (Tai & Lin 2012).

    .. math:: \min_{V^T V = I} \|Y_c - Y_c V V^T\|_F^2, \qquad
        \min_{W, b} \|Y_c V - X W - 1 b^T\|_F^2 + \alpha \|W\|_F^2

    with :math:`Y_c = Y - 1 \bar y^T`: V holds the first d principal components of the labels. Scores are
    :math:`(x W + b) V^T + \bar y - 1/2`. With all components it is ridge regression of each label. Coding labels in 0
    and 1 or in -1 and 1 gives the same predictions, since they are centred.

    Parameters
    ----------
    n_components : int, float or "auto", default="auto"
        Number d of components, or its share of the number of labels, in (0, 1]; at most the rank of the centred labels
        is used. "auto" takes the d of at most 1,000 with the least leave-one-out error, V held fixed.
    alpha : float or "auto", default="auto"
        Weight of the penalty of the regression, at least 0; "auto" takes the one with the least exact leave-one-out
        error of ridge regression of the labels. `paper` takes 1.
    {fit_intercept}
    {scale}
    {missing}
    {threshold}
    {decide_for}
    {random_state}
        It draws the held-out instances, where there are too many scores to learn probabilities from all.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    alpha_, n_components_, coef_, intercept_, decoder_, offset_
        See `CodeModel`; `decoder_` is Vᵀ.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    References
    ----------
    F. Tai & H.-T. Lin, "Multilabel classification with principal label space transformation", Neural Computation 24,
    2012, doi:10.1162/NECO_a_00320.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X > 3, X < 4])
    >>> model = PLST(n_components=2, alpha=0.1).fit(X, Y)
    >>> model.predict([[0.0], [7.0]])
    array([[False, False,  True],
           [ True,  True, False]])
    """

    n_components: int | float | str = param(size(also=[AUTO]), default="auto")

    def _fit_bytes(self, data: FitInput) -> int:
        n, L = data.labels.shape
        return super()._fit_bytes(data) + principal_bytes(n, L, n_wanted(self.n_components, L))

    def _encode(self, Y: sparse.csr_array, d: int, space: FeatureSpace) -> Code:
        V = principal_directions(Y, d, space.weights)
        mean = label_means(Y, space.weights)
        return Code(centred_codes(Y, V, mean, space), V.T, mean - 0.5)

    def _shortened(self, code: Code, space: FeatureSpace) -> Code:
        if self.alpha_ == 0 or space.shape[0] < 3 or FeatureSpace.too_large(space.X):
            return code
        n, d = code.codes.shape
        weights = np.ones(n) if space.weights is None else space.weights
        fitted, errors = space.leave_one_out(self.alpha_), np.zeros((2, d))
        solved = fitted.coefficients(code.codes)
        for some in batches(d, d if in_parts(space.X) else _COMPONENTS):
            codes, at = code.codes[:, some], 0
            for left in fitted.errors_in_parts(codes, coef=solved[:, some]):
                rows = slice(at, at + len(left))
                at = rows.stop
                for k, each in enumerate((left, codes[rows] * (n / (n - 1)))):  # the mean of the others is predicted
                    errors[k, some] += np.einsum("ij,ij,i->j", each, each, weights[rows])
        d = 1 + int(np.argmin(np.cumsum(errors[0] - errors[1])))
        return Code(code.codes[:, :d], code.decoder[:d], code.offset, solved[:, :d])

    def _codes_of(self, Y: sparse.csr_array, space: FeatureSpace) -> Any:
        return centred_codes(Y, self.decoder_.T, self.offset_ + 0.5, space)


class LabelPCA(PLST):
    r"""Label PCA (Li 2011, section 5.3.1): principal components of the labels, regressed on the features.

    It is `PLST`: the code is :math:`r = V^T (y - \bar y)`, with the first d principal components V of the labels, and a
    label is on where :math:`V \hat r + \bar y` exceeds 1/2. The thesis regresses the code without a penalty: that is
    `paper`, with 50 components; with as many as there are labels it is least squares of each label. By default
    components and penalty are chosen as by `PLST`, and the predictions are the same.

    Parameters
    ----------
    n_components : int, float or "auto", default="auto"
        As in `PLST`; `paper` takes 50.
    alpha : float or "auto", default="auto"
        As in `PLST`; `paper` takes 0.
    {fit_intercept}
    {scale}
    {missing}
    {threshold}
    {decide_for}
    {random_state}
        It draws the held-out instances from which probabilities are learned, as far as it needs them.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    alpha_, n_components_, coef_, intercept_, decoder_, offset_
        See `CodeModel`; `decoder_` is Vᵀ.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, algorithms 2 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X > 3, X < 4])
    >>> LabelPCA.paper(n_components=1).fit(X, Y).predict([[0.0], [7.0]])
    array([[False, False,  True],
           [ True,  True, False]])
    """

    _paper: ClassVar[Mapping[str, Any]] = {"n_components": 50, "alpha": 0.0}


class CPLST(CodeModel):
    r"""Conditional principal label space transformation (Chen & Lin 2012).

    .. math:: \min_{W,\, V^T V = I} \|Y_c V - X_c W\|_F^2 + \|Y_c - Y_c V V^T\|_F^2

    with :math:`Y_c = Y - 1 \bar y^T`. This is an upper bound of the Hamming loss. V holds the first d eigenvectors of
    :math:`Y_c^T H_\alpha Y_c`, where :math:`H_\alpha` is the hat matrix of ridge regression with weight α on the
    centred features; W is that ridge regression of :math:`Y_c V`. So CPLST is reduced-rank ridge regression of the
    labels. Scores are :math:`(x W + b) V^T + \bar y - 1/2`.

    The paper uses the pseudo-inverse in place of the ridge hat matrix. The released code centres the features in the
    regression, but not in the hat matrix; here they are centred in both.

    Parameters
    ----------
    {n_components}
        At most as many are used as the features can predict.
    alpha : float or "auto", default="auto"
        Weight of the penalty in the regression and in the hat matrix, at least 0; "auto" takes the one with the least
        exact leave-one-out error of ridge regression of the labels. `paper` takes 1.
    {fit_intercept}
    {scale}
    {missing}
    {threshold}
    {decide_for}
    {random_state}
        It draws the held-out instances, where there are too many scores to learn probabilities from all.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    alpha_, n_components_, coef_, intercept_, decoder_, offset_
        See `CodeModel`; `decoder_` is Vᵀ.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    References
    ----------
    Y.-N. Chen & H.-T. Lin, "Feature-aware label space dimension reduction for multi-label classification", NIPS 2012.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X > 3, X < 4])
    >>> CPLST(n_components=1, alpha=0.1).fit(X, Y).predict([[0.0], [7.0]])
    array([[False, False,  True],
           [ True,  True, False]])
    """

    def _fit_bytes(self, data: FitInput) -> int:
        L, r = data.labels.shape[1], min(data.features.shape)
        n_side = L if L <= LARGEST or FeatureSpace.too_large(data.features) else r
        return super()._fit_bytes(data) + 8 * (2 * r * L + 3 * n_side**2)

    def _encode(self, Y: sparse.csr_array, d: int, space: FeatureSpace) -> Code:
        if Y.shape[1] <= LARGEST or space.by_coefficients(self.alpha_):
            V = top_eigenvectors(space.explained(Y, self.alpha_), d)[1]
        else:
            V = right_singular_vectors(space.explained_root(Y, self.alpha_), d)
        mean = label_means(Y, space.weights)
        return Code(centred_codes(Y, V, mean, space), V.T, mean - 0.5)

    def _codes_of(self, Y: sparse.csr_array, space: FeatureSpace) -> Any:
        return centred_codes(Y, self.decoder_.T, self.offset_ + 0.5, space)
