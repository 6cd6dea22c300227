"""MLSI: directions that keep both features and labels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cofactor.checks import check_flag, number
from cofactor.labels.penalty import penalty
from cofactor.labels.reduction.linear import Directions, LinearReduction, leading_directions
from cofactor.labels.regression import FeatureSpace
from cofactor.model.estimator import param


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
