"""Measures of how labels go together beyond what the features say of each: by residuals, and by likelihoods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit

from cofactor.correlation.dependence import check_binary, squared_pearson
from cofactor.correlation.logistic import Rotated, fit_labels, fit_pairs, in_blocks, inverse_hessians, rotated
from cofactor.correlation.similarities import Floats, is_sparse, weights_of
from cofactor.errors import InvalidInputError
from cofactor.limits import CELLS

__all__ = ["check_instances", "likelihood_gain", "partial_correlation", "varying"]


_MOST_INVERSES = 1 << 25  #: numbers of inverse Hessians that are kept


def check_instances(X: Any, Y: Any) -> None:
    """Refuse features and labels that are not tables of the same instances."""
    check_binary(Y)
    if len(np.shape(X)) != 2 or np.shape(X)[0] != np.shape(Y)[0]:
        raise InvalidInputError(
            f"expected features of the {np.shape(Y)[0]} instances of Y, found shape {np.shape(X)}", argument="X"
        )


def varying(Y: Any, weights: Floats | None) -> NDArray[np.int64]:
    """Return which labels are on somewhere and off somewhere, among instances with a weight above 0."""
    kept = slice(None) if weights is None else np.flatnonzero(weights)
    table = sparse.csr_array(Y)[kept] if is_sparse(Y) else np.asarray(Y)[kept]
    on = np.asarray(table.sum(axis=0)).ravel()
    return np.flatnonzero((on > 0) & (on < table.shape[0]))


def _prepared(
    X: Any, Y: Any, alpha: float, sample_weight: ArrayLike | None
) -> tuple[Rotated, sparse.csc_array, NDArray[np.int64], Floats | None]:
    """Return rotated features, the labels that vary, and which these are; instances without weight are left out."""
    check_instances(X, Y)
    if isinstance(alpha, bool) or not isinstance(alpha, int | float | np.number) or not 0 < alpha < np.inf:
        raise InvalidInputError("expected a number above 0", argument="alpha", found=alpha)
    weights = weights_of(sample_weight, np.shape(Y)[0])
    vary = varying(Y, weights)
    labels = sparse.csc_array(Y, dtype=np.float64)[:, vary]
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        X, labels, weights = (X.tocsr() if is_sparse(X) else np.asarray(X))[kept], labels[kept], weights[kept]
    return rotated(X, weights), sparse.csc_array(labels), vary, weights


def partial_correlation(X: Any, Y: Any, *, alpha: float = 1.0, sample_weight: ArrayLike | None = None) -> Floats:
    r"""Return squared correlations of the residuals of two logistic regressions; 0 with a constant label.

    A residual is :math:`\sigma(s) - 1/2` where the regression predicts the label wrongly, with its score s, and 0
    elsewhere. Two labels are similar where predictions from the features are wrong for the same instances.

    Parameters
    ----------
    X : ndarray, or sparse array or matrix, of shape (n, D)
        Features; their scale counts, as in all regressions with a penalty.
    Y : ndarray, or sparse array or matrix, of shape (n, L)
        0 and 1.
    alpha : float, default=1.0
        Weight of the penalty :math:`\alpha/2\,\|w\|^2`, above 0: 1/C of scikit-learn's ``LogisticRegression``.
        Intercepts are not penalized.
    sample_weight : array-like of shape (n,), optional
        Weights of the instances, at least 0.

    Returns
    -------
    ndarray of shape (L, L)
        From 0 to 1, zeros on the diagonal. A label that is predicted without errors has 0 with all others.

    Notes
    -----
    All labels are fitted together, by products of matrices. Features become dense.

    References
    ----------
    Section 3.2.2 of C.-X. Li's thesis (2011).

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> partial_correlation(X, np.array([[0, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1]])).round(3)
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    L = np.shape(Y)[1]
    CELLS.check(L**2, f"similarities of {L:,} labels are {L**2:,} numbers")
    features, labels, vary, weights = _prepared(X, Y, alpha, sample_weight)
    blocks: dict[int, sparse.csc_array] = {}

    def fit(some: slice) -> None:
        y = labels[:, some].toarray()
        theta, _ = fit_labels(features, y, alpha)
        scores = features.table @ theta[:, :-1].T + theta[:, -1]
        blocks[some.start] = sparse.csc_array(np.where((scores >= 0) == (y > 0), 0, expit(scores) - 0.5))

    in_blocks(fit, len(vary), len(features.table))
    result = np.zeros((L, L))
    if len(vary):
        residuals = sparse.hstack([blocks[start] for start in sorted(blocks)], format="csr")
        result[np.ix_(vary, vary)] = squared_pearson(residuals, weights)
    return result


def likelihood_gain(X: Any, Y: Any, *, alpha: float = 1.0, sample_weight: ArrayLike | None = None) -> Floats:
    r"""Return how much a model of two labels explains beyond a model of each; 0 with a constant label.

    .. math:: \ell(y_i, y_j) - \left(\ell(y_i) + \ell(y_j)\right), \qquad
        P(y_i, y_j | x) \propto \exp\left(s_i(x) y_i + s_j(x) y_j + v\,[y_i = y_j]\right)

    with linear functions :math:`s_i`, and the largest log-likelihoods :math:`\ell` of this conditional random field
    and of logistic regressions, which are its special case v = 0. From each log-likelihood the penalties
    :math:`\alpha/2\,\|w\|^2` and :math:`\alpha/2\,v^2` are subtracted: so the gain is never negative.

    Parameters
    ----------
    X : ndarray, or sparse array or matrix, of shape (n, D)
        Features; their scale counts, as in all regressions with a penalty.
    Y : ndarray, or sparse array or matrix, of shape (n, L)
        0 and 1.
    alpha : float, default=1.0
        α, above 0: 1/C of scikit-learn's ``LogisticRegression``. Intercepts are not penalized.
    sample_weight : array-like of shape (n,), optional
        Weights of the instances, at least 0.

    Returns
    -------
    ndarray of shape (L, L)
        In nats, zeros on the diagonal.

    Notes
    -----
    There are L(L - 1)/2 models of pairs. Hundreds of them are fitted at a time, by Newton's method, whose steps are
    products of matrices. Each starts from its logistic regressions. Features become dense.

    References
    ----------
    Section 7.3.2 of C.-X. Li's thesis (2011).

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> likelihood_gain(X, np.array([[0, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1]])).round(3)
    array([[0.   , 0.931, 0.   ],
           [0.931, 0.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """
    L = np.shape(Y)[1]
    CELLS.check(L**2, f"similarities of {L:,} labels are {L**2:,} numbers")
    features, labels, vary, _ = _prepared(X, Y, alpha, sample_weight)
    n = len(features.table)
    p = features.table.shape[1] + 1
    theta, alone = np.empty((len(vary), p)), np.empty(len(vary))
    inverses = np.empty((len(vary), p, p)) if len(vary) * p * p <= _MOST_INVERSES else None

    def fit_one(some: slice) -> None:
        theta[some], alone[some] = fit_labels(features, labels[:, some].toarray(), alpha)
        if inverses is not None:
            inverses[some] = inverse_hessians(features, theta[some], alpha)

    in_blocks(fit_one, len(vary), n)
    i, j = np.triu_indices(len(vary), k=1)
    gain = np.empty(len(i))

    def fit_two(some: slice) -> None:
        one, other = i[some], j[some]
        gain[some] = (
            alone[one]
            + alone[other]
            - fit_pairs(
                features,
                labels[:, one].toarray(),
                labels[:, other].toarray(),
                (theta[one], theta[other]),
                alpha,
                None if inverses is None else (inverses, one, other),
            )
        )

    in_blocks(fit_two, len(i), n)
    result = np.zeros((L, L))
    result[vary[i], vary[j]] = gain
    return np.asarray(np.maximum(result + result.T, 0))
