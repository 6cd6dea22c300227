"""Canonical correlation analysis of features and labels."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy import sparse

from cofactor.labels.embedding.code import scatter
from cofactor.labels.penalty import penalty
from cofactor.labels.reduction.linear import Directions, LinearReduction, leading_directions
from cofactor.labels.regression import FeatureSpace
from cofactor.model.estimator import param

_NULL = 1e-9  #: an eigenvalue of the labels' scatter of this share of the largest, or less, counts as 0


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
        kept = sizes > _NULL * sizes[-1]
        white = targets @ (turn[:, kept] / np.sqrt(sizes[kept]))
        metric = s**2 + self.gamma
        return leading_directions(s[:, None] * white, metric, bound=float((s**2 / metric).max(initial=0.0)))
