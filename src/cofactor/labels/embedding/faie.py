"""Feature-aware implicit encoding: codes that fit both the labels and the features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import AUTO, number
from cofactor.labels.base import Capabilities, TrainingData
from cofactor.labels.embedding.code import Code, CodeModel, check_coding, coded, n_wanted, top_eigenvectors
from cofactor.labels.penalty import penalty
from cofactor.labels.regression import FeatureSpace
from cofactor.model.estimator import learned, param


class FAiE(CodeModel):
    r"""Feature-aware implicit label space encoding (Lin, Ding, Hu & Wang 2014).

    .. math:: \max_{U^T U = I} \mathrm{tr}\, U^T (Z Z^T + \beta H_\alpha) U, \qquad
        \min_{W, b} \|U - X W - 1 b^T\|_F^2 + \alpha \|W\|_F^2, \qquad \hat z = (x W + b)\, U^T Z

    with Z the coded labels, not centred, and :math:`H_\alpha` the hat matrix of the same ridge regression. With β = 0
    this is PLST without centring; with a large β, U holds the principal components of the features. By default labels
    are coded as -1 and 1, as in the released code, but not in the paper. With this coding, and not with 0 and 1, the
    figures of other papers are reproduced (corrections.md, C74).

    Parameters
    ----------
    {n_components}
    alpha : float or "auto", default="auto"
        Weight of the penalty in the regression and in the hat matrix, at least 0; "auto" takes the one with the least
        exact leave-one-out error of ridge regression of the labels. `paper` takes 1.
    beta : float or "auto", default="auto"
        Weight of the features in the choice of the code, at least 0; the paper calls it α. "auto" is the mean weight of
        the instances, 1 without weights.
    {coding}
    {fit_intercept}
    {scale}
    {missing}
    {threshold}
    {decide_for}
    {random_state}
        It draws the quarter of the instances on which probabilities are learned.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    alpha_, n_components_, coef_, intercept_, decoder_, offset_
        See `CodeModel`; `decoder_` is :math:`U^T Z`.
    beta_ : float
        β: the parameter `beta`, or the mean weight.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    With :math:`H = B B^T` (`FeatureSpace.hat_factor`, n × r), U holds the left singular vectors of
    :math:`[Z, \sqrt\beta B]`, from the Gram matrix of its shorter side. For n instances that is 24 n² bytes, and Z is
    not formed; for fewer labels and features together it takes 16 n (L + r).

    References
    ----------
    Z. Lin, G. Ding, M. Hu & J. Wang, "Multi-label classification via feature-aware implicit label space encoding",
    ICML 2014.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X > 3, X < 4])
    >>> FAiE(n_components=1, alpha=0.1).fit(X, Y).predict([[0.0], [7.0]])
    array([[False, False,  True],
           [ True,  True, False]])
    """

    beta: float | str = param(penalty(), default="auto", kw_only=False)
    coding: str = param(check_coding, default="-1/1")

    beta_: float = learned(check=number(low=0))

    _paper: ClassVar[Mapping[str, Any]] = {"beta": 1.0}

    def _fit_bytes(self, data: TrainingData) -> int:
        n, L = data.labels.shape
        r = min(data.features.shape) if self.beta != 0 else 0
        if n <= L + r:
            return super()._fit_bytes(data) + 8 * (3 * n * n + n * r + min(n_wanted(self.n_components, L), n) * L)
        return super()._fit_bytes(data) + 8 * (2 * n * (L + r) + 2 * (L + r) ** 2)

    def _resolved_params(self) -> dict[str, Any]:
        return {**super()._resolved_params(), "beta": self.beta_}

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), chunks=False)  # codes are eigenvectors with a number for each instance

    def _encode(self, Y: sparse.csr_array, d: int, space: FeatureSpace) -> Code:
        heavy = 1.0 if space.weights is None else float(space.weights.mean())
        self.beta_ = heavy if self.beta == AUTO else float(self.beta)
        B = np.sqrt(self.beta_) * space.hat_factor(self.alpha_) if self.beta_ else np.zeros((Y.shape[0], 0))
        if len(B) <= Y.shape[1] + B.shape[1]:
            U = top_eigenvectors(_inner_products(Y, self.coding, space) + B @ B.T, min(d, len(B)))[1]
            return Code(space.unweighted(U), *_products(U, Y, self.coding, space))
        Z, offset = coded(Y, self.coding, space)
        stack = np.hstack([Z, B])
        squares, right = top_eigenvectors(stack.T @ stack, min(d, stack.shape[1]))
        U = stack @ (right / np.sqrt(squares))
        return Code(space.unweighted(U), U.T @ Z, offset)


def _inner_products(Y: sparse.csr_array, coding: str, space: FeatureSpace) -> NDArray[np.float64]:
    """Return ZZᵀ of shape (n, n), with the labels Z that `coded` returns, which are not formed."""
    Y = Y.astype(np.float64)
    found = np.asarray((Y @ Y.T).toarray())
    if coding == "-1/1":
        count = np.asarray(Y.sum(axis=1))
        found = 4 * found - 2 * (count[:, None] + count) + Y.shape[1]
    return np.asarray(space.weighted(space.weighted(found).T))


def _products(
    U: NDArray[np.float64], Y: sparse.csr_array, coding: str, space: FeatureSpace
) -> tuple[NDArray[np.float64], float]:
    """Return UᵀZ of shape (d, L), with the labels Z that `coded` returns, and the offset that it returns."""
    U = space.weighted(U)
    found = np.asarray((Y.T @ U).T, dtype=np.float64)
    return (2 * found - U.sum(axis=0)[:, None], 0.0) if coding == "-1/1" else (found, -0.5)
