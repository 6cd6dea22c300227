"""Principal label space transformation: the principal components of the labels as their code."""

from __future__ import annotations

from scipy import sparse

from cofactor.labels.base import FitInput
from cofactor.labels.embedding.code import Code, CodeModel, label_means, n_wanted
from cofactor.labels.embedding.principal import principal_bytes, principal_directions
from cofactor.labels.regression import FeatureSpace


class PLST(CodeModel):
    r"""Principal label space transformation (Tai & Lin 2012).

    .. math:: \min_{V^T V = I} \|Y_c - Y_c V V^T\|_F^2, \qquad
        \min_{W, b} \|Y_c V - X W - 1 b^T\|_F^2 + \alpha \|W\|_F^2

    with :math:`Y_c = Y - 1 \bar y^T`: V holds the first d principal components of the labels. Scores are
    :math:`(x W + b) V^T + \bar y - 1/2`. With all components it is ridge regression of each label. Coding labels in 0
    and 1 or in -1 and 1 gives the same predictions, since they are centred.

    Parameters
    ----------
    {n_components}
        At most the rank of the centred labels is used.
    alpha : float, default=1.0
        Weight of the penalty of the regression, at least 0.
    {fit_intercept}
    {scale}
    {missing}
    {threshold}
    {decide_for}
    {random_state}
        It draws only the folds on which a threshold is learned.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    n_components_, coef_, intercept_, decoder_, offset_
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
    >>> Y = np.hstack([X > 3, X > 3, X < 2])
    >>> model = PLST(n_components=2, alpha=0.1).fit(X, Y)
    >>> model.predict([[0.0], [7.0]])
    array([[False, False,  True],
           [ True,  True, False]])
    """

    def _fit_bytes(self, data: FitInput) -> int:
        n, L = data.labels.shape
        return super()._fit_bytes(data) + principal_bytes(n, L, n_wanted(self.n_components, L))

    def _encode(self, Y: sparse.csr_array, d: int, space: FeatureSpace) -> Code:
        V = principal_directions(Y, d, space.weights)
        mean = label_means(Y, space.weights)
        return Code(Y @ V - mean @ V, V.T, mean - 0.5)
