"""Label PCA of Li's thesis: `PLST` under another name, without a penalty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from cofactor.labels.embedding.plst import PLST


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
