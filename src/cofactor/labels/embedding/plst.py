"""Principal label space transformation: the principal components of the labels as their code."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from cofactor.checks import AUTO, size
from cofactor.chunked import batches, is_chunked
from cofactor.labels.base import TrainingData
from cofactor.labels.embedding.code import (
    Code,
    CodeModel,
    centred_codes,
    label_means,
    n_wanted,
    principal_bytes,
    principal_directions,
)
from cofactor.labels.regression import FeatureSpace
from cofactor.model.estimator import param

_BLOCK = 256  #: components at a time, whose errors are compared


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

    def _fit_bytes(self, data: TrainingData) -> int:
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
        for some in batches(d, d if is_chunked(space.X) else _BLOCK):
            codes, at = code.codes[:, some], 0
            for left in fitted.errors_in_chunks(codes, coef=solved[:, some]):
                rows = slice(at, at + len(left))
                at = rows.stop
                for k, each in enumerate((left, codes[rows] * (n / (n - 1)))):  # the mean of the others is predicted
                    errors[k, some] += np.einsum("ij,ij,i->j", each, each, weights[rows])
        d = 1 + int(np.argmin(np.cumsum(errors[0] - errors[1])))
        return Code(code.codes[:, :d], code.decoder[:d], code.offset, solved[:, :d])

    def _codes_of(self, Y: sparse.csr_array, space: FeatureSpace) -> Any:
        return centred_codes(Y, self.decoder_.T, self.offset_ + 0.5, space)
