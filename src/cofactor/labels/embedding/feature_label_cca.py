"""Feature/label CCA of Li's thesis: the labels' canonical variables as their code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import AUTO, number, one_of
from cofactor.labels.base import TrainingData
from cofactor.labels.embedding.code import Code, CodeModel, centred_codes, label_means, scatter, top_eigenvectors
from cofactor.labels.penalty import penalty
from cofactor.labels.reduction.linear import leading_directions
from cofactor.labels.regression import FeatureSpace
from cofactor.model.estimator import learned, param


class FeatureLabelCCA(CodeModel):
    r"""Feature/label CCA (Li 2011, section 5.3.2): combinations of labels that correlate most with the features.

    .. math:: S_{yx} (S_{xx} + \alpha I)^{-1} S_{xy} \, p = \nu \, (S_{yy} + \kappa I) \, p

    with :math:`S_{xy} = X_c^T Y_c` and so on of centred features and labels. The code of a label set is
    :math:`r = P^T (y - \bar y)` with the first d eigenvectors, scaled so that :math:`P^T (S_{yy} + \kappa I) P = I`. It
    is regressed on the features, and decoded to :math:`(S_{yy} + \kappa I) P \hat r + \bar y`, which inverts it where
    P is square; a label is on where this exceeds 1/2. So it is reduced-rank ridge regression of the labels, with
    errors weighted by the inverse of their scatter; with as many components as there are, and κ = 0, it is ridge
    regression of each label.

    Parameters
    ----------
    {n_components}
        At most as many are used as the features can predict, and as the labels have rank. `paper` takes 50.
    alpha : float or "auto", default="auto"
        α, the weight of the penalty in the regression and in the eigenproblem, at least 0; "auto" takes the one with
        the least exact leave-one-out error of ridge regression of the labels. With 0 the inverse is the pseudo-inverse;
        `paper` takes it.
    label_penalty : float or "auto", default="auto"
        κ as a share of the mean of the diagonal of :math:`S_{yy}`, at least 0: rare labels are combined less with it.
        "auto" takes what Ledoit & Wolf (2004) found to bring the scatter of a sample nearest to that of all: .001 more
        micro-F1 on cal500 with 50 components, and the cut 1/2. With 0 combinations of labels that do not vary, as with
        two equal labels, are left out; `paper` takes it.
    decoding : {"inverse", "printed"}, default="inverse"
        How codes become scores: "printed" is that of the thesis, :math:`P \hat r + \bar y` with columns of P of length
        1. It does not invert the code, since P is not orthogonal, and predicts little but how frequent labels are.
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
    directions_ : ndarray of shape (L, d)
        P. Labels that are constant in training have no row.
    correlations_ : ndarray of shape (d,)
        √ν: the canonical correlations of features and labels if α = κ = 0.
    label_penalty_ : float
        The share that was taken.
    alpha_, n_components_, coef_, intercept_, decoder_, offset_
        See `CodeModel`; `decoder_` is :math:`P^T (S_{yy} + \kappa I)`.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    It takes tables of labels × labels. To reduce features by the same analysis, see `CCA`.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, algorithms 4 and 5; for their decoding see ``docs/corrections.md``, C68.
    O. Ledoit & M. Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", Journal of
    Multivariate Analysis 88, 2004, doi:10.1016/S0047-259X(03)00096-4.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X > 3, X < 4])
    >>> model = FeatureLabelCCA.paper(n_components=1).fit(X, Y)
    >>> model.predict([[0.0], [7.0]])
    array([[False, False,  True],
           [ True,  True, False]])
    >>> model.correlations_.round(3)
    array([0.873])
    """

    label_penalty: float | str = param(penalty(), default="auto")
    decoding: str = param(one_of(["inverse", "printed"]), default="inverse")

    directions_: NDArray[np.float64] = learned("labels components")
    correlations_: NDArray[np.float64] = learned("components")
    label_penalty_: float = learned(check=number(low=0))

    _paper: ClassVar[Mapping[str, Any]] = {"n_components": 50, "alpha": 0.0, "label_penalty": 0.0}

    def _fit_bytes(self, data: TrainingData) -> int:
        L, r = data.labels.shape[1], min(data.features.shape)
        return super()._fit_bytes(data) + 8 * (2 * r * L + 3 * L**2)

    def _encode(self, Y: sparse.csr_array, d: int, space: FeatureSpace) -> Code:
        metric = scatter(Y, space.weights)
        given = self.label_penalty
        self.label_penalty_ = shrinkage(Y, metric, space.weights) if given == AUTO else float(given)
        if self.label_penalty_:
            metric += self.label_penalty_ * metric.trace() / len(metric) * np.eye(len(metric))
        if space.by_coefficients(self.alpha_):
            values, vectors = top_eigenvectors(space.explained(Y, self.alpha_), len(metric))
            root = vectors * np.sqrt(values)
        else:
            root = space.explained_root(Y, self.alpha_).T
        found = leading_directions(root, metric, bound=1.0)
        P, mean = found.vectors[:, :d], label_means(Y, space.weights)
        self.correlations_ = np.sqrt(found.values[:d])
        decoder = P.T @ metric
        if self.decoding == "printed":
            P = P / np.linalg.norm(P, axis=0)
            decoder = P.T
        self.directions_ = P
        return Code(centred_codes(Y, P, mean, space), decoder, mean - 0.5)

    def _codes_of(self, Y: sparse.csr_array, space: FeatureSpace) -> Any:
        return centred_codes(Y, self.directions_, self.offset_ + 0.5, space)

    def _resolved_params(self) -> dict[str, Any]:
        return {**super()._resolved_params(), "label_penalty": self.label_penalty_}


def shrinkage(Y: sparse.csr_array, scatter: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> float:
    """Return the share of its mean diagonal that, added to the scatter of labels, is nearest to that of all instances.

    It is ρ / (1 - ρ) for the shrinkage ρ of Ledoit & Wolf, which is taken as .99 at most.

    Examples
    --------
    >>> Y = sparse.csr_array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    >>> round(shrinkage(Y, np.array([[1.0, 0.5], [0.5, 0.75]])), 3)
    4.667
    """
    weights = np.ones(Y.shape[0]) if weights is None else weights
    total, mean = weights.sum(), label_means(Y, weights)
    lengths = np.asarray(Y.multiply(Y).sum(axis=1)).ravel() - 2 * (Y @ mean) + mean @ mean
    size = float((scatter**2).sum()) / total**2
    apart = size - (scatter.trace() / total) ** 2 / len(scatter)  # from its mean diagonal
    if apart <= 0:
        return 0.0
    noise = max((weights @ lengths**2 / total - size) / total, 0.0)
    rho = min(noise / apart, 0.99)
    return float(rho / (1 - rho))
