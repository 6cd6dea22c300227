"""Column subset selection: some of the labels are the code of all labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import make_generator
from cofactor.labels.base import Capabilities, TrainingData
from cofactor.labels.embedding.code import (
    Code,
    CodeModel,
    check_coding,
    coded_by,
    coded_gram,
    n_wanted,
    top_eigenvectors,
)
from cofactor.labels.regression import FeatureSpace
from cofactor.model.estimator import learned, param


class CSSP(CodeModel):
    r"""Multi-label classification by column subset selection (ML-CSSP; Bi & Kwok 2013).

    A set C of d labels is drawn, with probabilities p given by their leverage. These labels are regressed on the
    features by ridge regression, and all labels Z are reconstructed from the predictions:

    .. math:: p_l = \|V_{l \cdot}\|^2 / d, \qquad
        \min_{W, b} \|Z_C - X W - 1 b^T\|_F^2 + \alpha \|W\|_F^2, \qquad \hat z = (x W + b)\, Z_C^+ Z

    with V the first d right singular vectors of Z, which is not centred. By default labels are coded as -1 and 1, as in
    the code that the authors released, but not in the paper. With this coding, and not with 0 and 1, the figures of
    other papers are reproduced, since it puts an intercept into the decoder (corrections.md, C74).

    Parameters
    ----------
    n_components : int or float, default=1.0
        Number d of labels to draw, or its share of the number of labels, in (0, 1]. Only labels with a leverage above
        0 are drawn.
    alpha : float or "auto", default="auto"
        Weight of the penalty of the regression, at least 0; "auto" takes the one with the least exact leave-one-out
        error of ridge regression of the labels. `paper` takes 1.
    {coding}
    {fit_intercept}
    {scale}
    {missing}
    {threshold}
    {decide_for}
    {random_state}
        It draws the labels. With fewer than all, accuracy depends much on the draw: report means over several seeds.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    columns_ : ndarray of shape (d,)
        The drawn labels: their positions among the labels that are not constant in training, increasing.
    alpha_, n_components_, coef_, intercept_, decoder_, offset_
        See `CodeModel`; `decoder_` is :math:`Z_C^+ Z`.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    References
    ----------
    W. Bi & J. T. Kwok, "Efficient multi-label classification with many labels", ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X > 3, X < 4])
    >>> CSSP(n_components=1, alpha=0.1, random_state=0).fit(X, Y).predict([[0.0], [7.0]])
    array([[False, False,  True],
           [ True,  True, False]])
    """

    coding: str = param(check_coding, default="-1/1")

    columns_: NDArray[np.int64] = learned("components", dtype=int)

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), separate_labels=False)  # `columns_` are places among them

    def _fit_bytes(self, data: TrainingData) -> int:
        n, L = data.labels.shape
        d = n_wanted(self.n_components, L)
        return super()._fit_bytes(data) + 8 * (n * d + 2 * L * L + d * L)

    def _encode(self, Y: sparse.csr_array, d: int, space: FeatureSpace) -> Code:
        gram = coded_gram(Y, self.coding, space.weights)  # exact without weights: sums of whole numbers
        _, V = top_eigenvectors(gram, d)
        leverage = np.einsum("ij,ij->i", V, V) / V.shape[1]
        leverage[leverage < 1e-12] = 0
        rng = make_generator(self.random_state)
        drawn = min(d, int(np.count_nonzero(leverage)))
        C = np.sort(rng.choice(len(gram), drawn, replace=False, p=leverage / leverage.sum()))
        self.columns_ = C
        # Z_C⁺ = (Z_Cᵀ Z_C)⁺ Z_Cᵀ; with duplicate columns, eigenvalues that should be 0 are rounding errors.
        decoder = np.linalg.pinv(gram[np.ix_(C, C)], rcond=1e-11, hermitian=True) @ gram[C]
        return Code(self._codes_of(Y, space), decoder, -0.5 if self.coding == "0/1" else 0.0)

    def _codes_of(self, Y: sparse.csr_array, space: FeatureSpace) -> Any:
        scale, shift = (1.0, 0.0) if self.coding == "0/1" else (2.0, -1.0)
        drawn = Y[:, self.columns_]
        return coded_by(lambda some: scale * some.toarray().astype(np.float64) + shift, drawn, drawn.shape[1], space)
