"""Multi-label linear discriminant analysis."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.labels.features import scaled_rows
from cofactor.labels.penalty import penalty
from cofactor.labels.reduction.linear import Directions, LinearReduction, leading_directions
from cofactor.labels.regression import FeatureSpace
from cofactor.model.estimator import param


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
