"""Collective multi-label classifier with features: they weigh the pairs of labels too."""

from __future__ import annotations

from typing import ClassVar

from cofactor.labels.crf.cml import CML


class CMLF(CML):
    r"""Collective multi-label classifier with features: a pair of labels has a weight for each feature.

    .. math:: s(x, t) = (x W + b) \, t^\top + \sum_{j < k} (x v_{jk} + v^0_{jk}) \, I(t_j = t_k)

    with P and its maximum as in `CML`: whether two labels go together may depend on the features. A model has
    (D + 1) L (L - 1) / 2 weights of pairs, or four times as many.

    Parameters
    ----------
    alpha, pairs, inference, update, stopping, n_sweeps, burn_in, n_chains, max_iter, tol
        See `CML`.
    {scale}
    {field_threshold}
    {decide_for}
    {random_state}
        It draws the quarter of the instances on which probabilities are learned, and all that "gibbs" draws.
    {callback}
    {verbose}

    Attributes
    ----------
    alpha_, coef_, intercept_, sets_, seed_, objective_, history_, certificate_, n_iter_
        See `CML`.
    pair_coef_ : ndarray of shape (D + 1, q, P)
        Weights of pairs for each feature, then those for none.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    Label sets depend on combinations of the weights of pairs alone, at most S of them, which are fitted: a gradient
    costs O(n D L + n S (D + L) + D S² + S L²), an epoch of "gibbs" O(n D L²), by matrix products.

    Features may be far from 0, but not with "gibbs", which warns of them: the penalty is that of the weights above, and
    the solver sees centred features. The gradient grows with the distance, however near the maximum is.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, sections 4.1.2 and 4.3.
    N. Ghamrawi & A. McCallum, "Collective multi-label classification", CIKM 2005, doi:10.1145/1099554.1099591.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0.0], [1.0]], 4, axis=0)
    >>> y = np.array([[0, 0], [1, 1], [0, 0], [1, 1], [0, 1], [1, 0], [0, 1], [1, 0]])  # alike if x is 0, else not
    >>> sets = CMLF.paper(0.01, threshold="joint").fit(X, y).predict([[0.0], [1.0]])
    >>> sets[:, 0] == sets[:, 1]
    array([ True, False])
    """

    _with_features: ClassVar[bool] = True
