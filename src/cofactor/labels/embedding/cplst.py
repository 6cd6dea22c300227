"""Conditional principal label space transformation: a code that the features can predict."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from cofactor.labels.base import TrainingData
from cofactor.labels.embedding.code import (
    LARGEST,
    Code,
    CodeModel,
    centred_codes,
    label_means,
    right_singular_vectors,
    top_eigenvectors,
)
from cofactor.labels.regression import FeatureSpace


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

    def _fit_bytes(self, data: TrainingData) -> int:
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
