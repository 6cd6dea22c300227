"""Measures of pairs of labels that look at the features too, and all measures by name.

They compare residuals of labels, or likelihoods. For likelihoods, logistic regressions of many labels, and models of
many pairs of labels, are each fitted to all of them at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from scipy.special import expit

from cofactor.checks import as_weights, check_choice, check_number, relative_weights
from cofactor.chunked import as_dense, is_sparse
from cofactor.correlation.similarities import (
    CONSTANT,
    Floats,
    as_features_of,
    as_numbers,
    as_zeros_and_ones,
    chi_squared,
    co_occurrence,
    cosine,
    jaccard,
    mutual_information,
    pearson,
    squared_pearson,
)
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import library_limit, parallel_for
from cofactor.limits import CELLS
from cofactor.problems.classifiers import LogisticProblems, RotatedFeatures, rotate_features
from cofactor.solvers.lbfgs import lbfgs_each

RELEVANCES = ("pearson", "fisher")
SIMILARITIES = ("correlation", "overlap", "euclidean")

#: Largest Fisher score. Means that are ten standard deviations apart separate a label; no score shall outweigh all.
_LARGEST_SCORE = 100.0

#: A feature whose squared deviations from its mean are this share of its squares, or less, holds equal numbers but for
#: their rounding.
_SAME = 1e-28


def feature_correlation(
    X: Any,
    Y: Any,
    *,
    relevance: str = "pearson",
    similarity: str = "correlation",
    k: int = 10,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    r"""Return how similar the features are that tell about two labels (Algorithm 1); 0 with a constant label.

    Parameters
    ----------
    X : array-like, or sparse array or matrix, of shape (n, D)
        Features.
    Y : array-like, or sparse array or matrix, of shape (n, L)
        0 and 1.
    relevance : {"pearson", "fisher"}, default="pearson"
        What a feature tells about a label: the square of their correlation, or the score

        .. math:: \frac{(\mu^+ - \mu^-)^2}{(\sigma^+)^2 + (\sigma^-)^2}

        with means and population variances of the feature where the label is on, and off. A score is 100 at most, also
        where both variances are 0, and 0 where both means are equal. It does not depend on the scale of the features.
    similarity : {"correlation", "overlap", "euclidean"}, default="correlation"
        How the relevances of all features for two labels are compared: by their correlation, by how many features
        are among the `k` most relevant ones of both, or by their distance, times -1.
    k : int, default=10
        At least 1; only with "overlap". Features without relevance do not count, and of equally relevant ones the first
        come first.
    sample_weight : array-like of shape (n,), optional
        Weights of the instances, at least 0.

    Returns
    -------
    ndarray of shape (L, L)
        From -1 to 1, from 0 to `k`, or at most 0; zeros on the diagonal. A constant label has relevances of 0: it has 0
        with all others, but for "euclidean", where 0 would call them equal: there it has its distance from them.

    References
    ----------
    Section 3.2.1 of C.-X. Li's thesis (2011).

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> Y = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1]])
    >>> feature_correlation(X, Y).round(3)
    array([[ 0.,  0., -1.],
           [ 0.,  0.,  0.],
           [-1.,  0.,  0.]])
    >>> feature_correlation(X, Y, similarity="overlap", k=1)
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    for name, value, known in (("relevance", relevance, RELEVANCES), ("similarity", similarity, SIMILARITIES)):
        check_choice(name, value, known)
    check_number("k", k, low=1, whole=True)
    relevances = feature_relevance(X, Y, relevance, sample_weight)
    if similarity == "correlation":
        result = pearson(relevances.T)
    elif similarity == "overlap":
        result = _overlaps(relevances, k)
    else:
        squares = np.einsum("ld,ld->l", relevances, relevances)
        result = -np.sqrt(np.maximum(squares[:, None] + squares - 2 * relevances @ relevances.T, 0))
        result = (result + result.T) / 2
    np.fill_diagonal(result, 0)
    return result


def feature_relevance(X: Any, Y: Any, relevance: str = "pearson", sample_weight: ArrayLike | None = None) -> Floats:
    """Return what each feature tells about each label, shape (L, D); see `feature_correlation`.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([[0], [0], [1], [1]])
    >>> feature_relevance(X, Y).round(3), feature_relevance(X, Y, "fisher")
    (array([[0.714]]), array([[5.]]))
    """
    Y = as_zeros_and_ones(Y)
    features = _of_one_size(as_features_of(X, Y.shape[0]))
    weights = as_weights(sample_weight, Y.shape[0])
    if weights is None:
        weights = np.ones(Y.shape[0])
    n = weights.sum()
    squares = features * features
    size = weights @ squares / n
    if not is_sparse(features):
        for _ in range(2):  # the mean of a large offset is rounded, that of what is left is exact
            features = features - weights @ features / n
        squares = features * features
    rounding = np.maximum(_SAME * size, CONSTANT * (weights @ squares) / n)
    labels = sparse.csr_array(sparse.csr_array(Y, dtype=np.float64).multiply(weights[:, None]).T)
    on = np.asarray(labels.sum(axis=1), dtype=np.float64).ravel()
    total, total_squares = weights @ features, weights @ squares
    first, second = as_dense(labels @ features), as_dense(labels @ squares)
    variance = total_squares / n - (total / n) ** 2
    variance[variance <= rounding] = 0
    vary = (on > 0) & (n - on > 1e-12 * n)
    if relevance == "pearson":
        covariance = first / n - np.outer(on / n, total / n)
        scale = np.outer(np.where(vary, on / n * (1 - on / n), 0), variance)
        result = np.divide(covariance**2, scale, out=np.zeros_like(first), where=scale > 0)
        return np.asarray(np.minimum(result, 1))
    off = n - on
    result = np.zeros_like(first)
    first, second = first[vary], second[vary]
    mean, other = first / on[vary, None], (total - first) / off[vary, None]
    variances = second / on[vary, None] - mean**2 + (total_squares - second) / off[vary, None] - other**2
    variances[variances <= rounding] = 0
    distance = np.where(variance > 0, (mean - other) ** 2, 0)
    distance[distance <= rounding] = 0
    score = np.divide(distance, variances, out=np.full_like(distance, np.inf), where=variances > 0)
    result[vary] = np.where(distance > 0, np.minimum(score, _LARGEST_SCORE), 0)
    return result


def _of_one_size(features: Any) -> Any:
    """Return columns times powers of two, after which the largest number of each is near 1: no square is too small."""
    largest = np.asarray(abs(features).max(axis=0).toarray() if is_sparse(features) else np.abs(features).max(axis=0))
    factors = np.ldexp(1.0, np.clip(-np.frexp(largest.ravel())[1], -1000, 1000))
    return features.multiply(factors).tocsr() if is_sparse(features) else features * factors


def _overlaps(relevances: NDArray[np.float64], k: int) -> Floats:
    """Return how many features two labels have in common among the k most relevant ones of each."""
    best = np.argsort(-relevances, axis=1, kind="stable")[:, :k]
    chosen = np.zeros(relevances.shape)
    np.put_along_axis(chosen, best, 1, axis=1)
    chosen[relevances <= 0] = 0
    return np.asarray(chosen @ chosen.T)


Indices = NDArray[np.int64]

_BLOCK = 1 << 15  #: instances × problems that are in memory together, as many of several tables: a cache holds them
_MOST = 1 << 21  #: the same where there are more instances, and a few problems share each pass over the features
_FEW = 32
_MOST_INVERSES = 1 << 25  #: numbers of inverse Hessians that are kept
_FAR = 1e8  #: mean logarithms of sums over states beyond which objectives have no digits left: no step goes there
_LEAST_VARIANCE = 1e-8  #: of a label that features separate: with less, steps would be too long for any digits


def in_blocks(task: Callable[[slice], None], n_problems: int, n_rows: int) -> None:
    """Call a task for blocks of problems, in threads; the blocks do not depend on how many these are."""
    n_rows = max(n_rows, 1)
    size = max(1, _BLOCK // n_rows, min(_FEW, _MOST // n_rows))
    with library_limit(1, "blas"):
        parallel_for(lambda k: task(slice(k * size, min((k + 1) * size, n_problems))), -(-n_problems // size))


def fit_labels(X: RotatedFeatures, Y: Floats, alpha: float, weights: Floats) -> tuple[Floats, Floats]:
    """Return coefficients of labels that vary, intercepts as the last, and minima; see `LogisticProblems`."""
    problems = LogisticProblems(X, Y, alpha, weights)
    theta, value, _ = lbfgs_each(problems, problems.start())
    return theta, value


class Singles:
    """Logistic regressions of all labels, from which models of pairs start.

    Parameters
    ----------
    X : RotatedFeatures
    n_labels : int
        Of labels that vary.
    alpha : float
        Above 0.
    weights : ndarray of shape (n,)
        Of the instances.
    """

    def __init__(self, X: RotatedFeatures, n_labels: int, alpha: float, weights: Floats) -> None:
        p = len(X.squares) + 1
        self.X, self.alpha, self.weights = X, alpha, weights
        self.theta, self.value = np.empty((n_labels, p)), np.empty(n_labels)
        self.observed = np.empty((n_labels, p))  # sums of features where labels are on
        self.curvature = np.empty((n_labels, p))
        self.inverses = np.empty((n_labels, p, p)) if n_labels * p * p <= _MOST_INVERSES else None

    def fit(self, some: slice, Y: Floats) -> None:
        """Fit some of the labels."""
        self.theta[some], self.value[some] = fit_labels(self.X, Y, self.alpha, self.weights)
        self.observed[some] = self.X.back(self.weights[:, None] * Y)
        chances = expit(self.X.scores(self.theta[some]))
        varying = self.weights[:, None] * np.maximum(chances * (1 - chances), _LEAST_VARIANCE)
        total = varying.sum(axis=0)[:, None]
        slopes = total * self.X.squares / len(Y) + self.alpha
        self.curvature[some] = np.hstack([slopes, np.maximum(total, np.finfo(float).tiny)])
        if self.inverses is not None:
            for inverse, each in zip(self.inverses[some], varying.T, strict=True):
                inverse[:] = _inverse_hessian(self.X, each, self.alpha)

    def scaled(self, gradient: Floats, labels: Indices) -> Floats:
        """Return the inverse Hessians of labels, or guesses of them, times the rows of a table."""
        if self.inverses is None:
            return gradient / self.curvature[labels]
        result = np.empty_like(gradient)
        for label in np.unique(labels):
            rows = np.flatnonzero(labels == label)
            result[rows] = gradient[rows] @ self.inverses[label]
        return result


def _inverse_hessian(X: RotatedFeatures, curvature: Floats, alpha: float) -> Floats:
    """Return the inverse Hessian of a logistic regression whose losses have these curvatures."""
    table = np.hstack([X.table, np.ones((len(X.table), 1))])
    hessian = table.T @ (table * curvature[:, None])
    hessian[np.diag_indices(len(X.squares))] += alpha
    scale = 1 / np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    inverse = linalg.solve(hessian * scale[:, None] * scale, np.eye(len(scale)), assume_a="pos")
    return np.asarray(inverse * scale[:, None] * scale)


def fit_pairs(singles: Singles, first: Indices, second: Indices, alike: Floats) -> Floats:
    r"""Return minima of the negative log-likelihoods of pairs of labels, with penalties.

    .. math:: P(y, z | x) \propto \exp(s y + t z + v\, [y = z])

    with linear functions s and t of x, whose coefficients are penalized as those of a label, and v likewise. They start
    at the logistic regressions of both labels, the minima for v = 0. So no minimum is above the sum of theirs.

    Parameters
    ----------
    singles : Singles
    first, second : ndarray of shape (B,)
        The labels of each pair.
    alike : ndarray of shape (B,)
        The sum of the weights of instances where both are equal.

    Returns
    -------
    ndarray of shape (B,)
    """
    start = np.hstack([singles.theta[first], singles.theta[second], np.zeros((len(first), 1))])
    _, value, _ = lbfgs_each(_Pairs(singles, first, second, alike), start)
    return value


class _Pairs:
    """The problems of `fit_pairs`; a row of parameters holds those of s, of t, and v."""

    def __init__(self, singles: Singles, first: Indices, second: Indices, alike: Floats) -> None:
        self.singles, self.first, self.second = singles, first, second
        observed = singles.observed
        self.observed = np.hstack([observed[first], observed[second], alike[:, None]])
        self.n_each = n_each = observed.shape[1]
        self.penalties = np.full(2 * n_each + 1, singles.alpha)
        self.penalties[[n_each - 1, 2 * n_each - 1]] = 0  # intercepts
        total = singles.weights.sum()
        same = np.clip(alike / total, 0, 1)
        self.of_v = (total * same * (1 - same) + singles.alpha)[:, None]

    def evaluate(self, theta: Floats, which: Indices) -> tuple[Floats, Floats]:
        """Return objectives and gradients; states of pairs are weighed by e to their scores less the largest parts."""
        X, weights, k = self.singles.X, self.singles.weights, self.n_each
        s, t, v = X.scores(theta[:, :k]), X.scores(theta[:, k:-1]), theta[:, -1]
        first_on, first_off, s_top = _weighed(s)
        second_on, second_off, t_top = _weighed(t)
        v_top = np.maximum(v, 0)
        both, neither = np.exp(v - v_top) * first_on * second_on, np.exp(v - v_top) * first_off * second_off
        first, second = np.exp(-v_top) * first_on * second_off, np.exp(-v_top) * first_off * second_on
        total = both + neither + first + second
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a step that leads there is cut
            logs = weights @ (np.log(total) + s_top + t_top) + weights.sum() * v_top
            share = weights[:, None] / total
            same = np.einsum("ib,ib->b", both + neither, share)[:, None]
            gradient = np.hstack([X.back((both + first) * share), X.back((both + second) * share), same])
        value = logs - np.einsum("bp,bp->b", theta, self.observed[which])
        value += 0.5 * (theta**2 @ self.penalties)
        value[~(np.abs(logs) < _FAR * weights.sum()) | ~np.isfinite(gradient).all(axis=1)] = np.inf
        return value, gradient - self.observed[which] + self.penalties * theta

    def scaled(self, gradient: Floats, which: Indices) -> Floats:
        """Return gradients times the inverse Hessians at v = 0, where the two labels are independent."""
        k = self.n_each
        parts = gradient[:, :k], gradient[:, k:-1]
        labels = self.first[which], self.second[which]
        both = [self.singles.scaled(part, each) for part, each in zip(parts, labels, strict=True)]
        return np.hstack([*both, gradient[:, -1:] / self.of_v[which]])


def _weighed(scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Return e^s and 1, each divided by the larger of both, and the logarithm of that."""
    small = np.exp(-np.abs(scores))
    on = scores > 0
    return np.where(on, 1, small), np.where(on, small, 1), np.maximum(scores, 0)


_MOST_PRODUCTS = 6 * 10**10  #: pairs of labels × instances × features that are compared without being asked for


def _varying(Y: Any, weights: Floats | None) -> NDArray[np.int64]:
    """Return which labels are on somewhere and off somewhere, among instances with a weight above 0."""
    kept = slice(None) if weights is None else np.flatnonzero(weights)
    table = Y[kept]
    on = np.asarray(table.sum(axis=0)).ravel()
    return np.flatnonzero((on > 0) & (on < table.shape[0]))


class _Prepared(NamedTuple):
    """Instances with a weight above 0, and the labels that vary among them."""

    features: RotatedFeatures
    labels: sparse.csc_array
    weights: Floats
    vary: NDArray[np.int64]


def _prepared(X: Any, Y: Any, alpha: float, sample_weight: ArrayLike | None) -> _Prepared:
    features = as_features_of(X, Y.shape[0])
    check_number("alpha", alpha, low=0, inclusive=False)
    n, D = features.shape
    CELLS.check(n * D, f"features of {n:,} instances as a dense table are {n * D:,} numbers")
    labels = sparse.csc_array(Y, dtype=np.float64)
    weights = as_weights(sample_weight, n)
    vary = _varying(Y, weights)
    weights = np.ones(n) if weights is None else weights
    kept = np.flatnonzero(weights)
    return _Prepared(
        rotate_features(as_dense(features[kept])), sparse.csc_array(labels[kept][:, vary]), weights[kept], vary
    )


def partial_correlation(X: Any, Y: Any, *, alpha: float = 1.0, sample_weight: ArrayLike | None = None) -> Floats:
    r"""Return squared correlations of the residuals of two logistic regressions; 0 with a constant label.

    A residual is :math:`\sigma(s) - 1/2` where the regression predicts the label wrongly, with its score s, and 0
    elsewhere. Two labels are similar where predictions from the features are wrong for the same instances.

    Parameters
    ----------
    X : array-like, or sparse array or matrix, of shape (n, D)
        Features; their scale counts, as in all regressions with a penalty.
    Y : array-like, or sparse array or matrix, of shape (n, L)
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
    Y = as_zeros_and_ones(Y)
    L = Y.shape[1]
    features, labels, weights, vary = _prepared(X, Y, alpha, sample_weight)
    blocks: dict[int, sparse.csc_array] = {}

    def fit(some: slice) -> None:
        y = labels[:, some].toarray()
        theta, _ = fit_labels(features, y, alpha, weights)
        scores = features.scores(theta)
        blocks[some.start] = sparse.csc_array(np.where((scores >= 0) == (y > 0), 0, expit(scores) - 0.5))

    in_blocks(fit, len(vary), len(features.table))
    result = np.zeros((L, L))
    if len(vary):
        residuals = sparse.hstack([blocks[start] for start in sorted(blocks)], format="csr")
        result[np.ix_(vary, vary)] = squared_pearson(residuals, weights)
    return result


def likelihood_gain(
    X: Any, Y: Any, *, alpha: float = 1.0, pairs: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> Floats:
    r"""Return how much a model of two labels explains beyond a model of each; 0 with a constant label.

    .. math:: \ell(y_i, y_j) - \left(\ell(y_i) + \ell(y_j)\right), \qquad
        P(y_i, y_j | x) \propto \exp\left(s_i(x) y_i + s_j(x) y_j + v\,[y_i = y_j]\right)

    with linear functions :math:`s_i`, and the largest log-likelihoods :math:`\ell` of this conditional random field
    and of logistic regressions, which are its special case v = 0. From each log-likelihood the penalties
    :math:`\alpha/2\,\|w\|^2` and :math:`\alpha/2\,v^2` are subtracted: so the gain is never negative.

    Parameters
    ----------
    X : array-like, or sparse array or matrix, of shape (n, D)
        Features; their scale counts, as in all regressions with a penalty.
    Y : array-like, or sparse array or matrix, of shape (n, L)
        0 and 1.
    alpha : float, default=1.0
        α, above 0: 1/C of scikit-learn's ``LogisticRegression``. Intercepts are not penalized.
    pairs : array-like of shape (P, 2), optional
        Pairs of different labels to be compared; others have 0. By default all are, unless that takes too long.
    sample_weight : array-like of shape (n,), optional
        Weights of the instances, at least 0.

    Returns
    -------
    ndarray of shape (L, L)
        In nats, zeros on the diagonal.

    Raises
    ------
    InvalidInputError
        If all pairs of labels times the features of all instances are more than 6·10¹⁰, some minutes.

    Notes
    -----
    There are L(L - 1)/2 models of pairs. Many of them are fitted at a time, by L-BFGS, whose steps are products of
    matrices. Each starts from its logistic regressions, and from their second derivatives. Features become dense. A fit
    ends after 500 iterations, which those of labels that features separate take with a penalty near 0: so these are
    slow, and their gains are not exact.

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
    Y, X = as_zeros_and_ones(Y), as_numbers(X, "X")
    L = Y.shape[1]
    chosen = _chosen(pairs, X.shape, L)
    features, labels, weights, vary = _prepared(X, Y, alpha, sample_weight)
    if not len(vary):
        return np.zeros((L, L))
    n = len(features.table)
    singles = Singles(features, len(vary), alpha, weights)
    in_blocks(lambda some: singles.fit(some, labels[:, some].toarray()), len(vary), n)
    i, j = np.nonzero(np.triu(chosen[np.ix_(vary, vary)], k=1))
    alike = _alike(labels, weights)[i, j]
    gain = np.empty(len(i))

    def fit(some: slice) -> None:
        one, other = i[some], j[some]
        gain[some] = singles.value[one] + singles.value[other] - fit_pairs(singles, one, other, alike[some])

    in_blocks(fit, len(i), n)
    result = np.zeros((L, L))
    result[vary[i], vary[j]] = gain
    return np.asarray(np.maximum(result + result.T, 0))


def _chosen(pairs: ArrayLike | None, of_features: tuple[int, ...], L: int) -> NDArray[np.bool_]:
    """Return which pairs of labels are compared, a symmetric table; refuse all pairs where these are too many."""
    if pairs is None:
        n_pairs = L * (L - 1) // 2
        if n_pairs * math.prod(of_features) > _MOST_PRODUCTS:
            n, D = of_features
            raise InvalidInputError(
                f"models of {n_pairs:,} pairs of labels, of {n:,} instances with {D:,} features each, need hours",
                advice="take partial correlation, which looks at features too, or mutual information; or compare some "
                "pairs alone, with likelihood_gain(X, Y, pairs=...)",
            )
        return np.ones((L, L), dtype=bool)
    found = as_numbers(pairs, "pairs")
    if not found.size:
        raise InvalidInputError("pairs: expected at least one pair of labels, found none", argument="pairs")
    if found.dtype.kind not in "iu":
        raise InvalidInputError(f"pairs: expected whole numbers, found {found.dtype.name}", argument="pairs")
    if found.ndim != 2 or found.shape[1:] != (2,):
        raise InvalidInputError(f"pairs: expected pairs of labels, found shape {found.shape}", argument="pairs")
    if not (found.min() >= 0 and found.max() < L):
        raise InvalidInputError(f"pairs: expected pairs of labels from 0 to {L - 1}", argument="pairs")
    same = found[found[:, 0] == found[:, 1]]
    if len(same):
        raise InvalidInputError(
            f"pairs: expected pairs of different labels, found {same[0].tolist()}", argument="pairs"
        )
    chosen = np.zeros((L, L), dtype=bool)
    chosen[found[:, 0], found[:, 1]] = chosen[found[:, 1], found[:, 0]] = True
    return chosen


def _alike(labels: sparse.csc_array, weights: Floats) -> Floats:
    """Return the sum of the weights of instances where two labels are equal, shape (L, L)."""
    both = co_occurrence(labels, weights)
    on = np.diag(both)
    return np.asarray(weights.sum() - on[:, None] - on + 2 * both)


#: Measures that look at labels alone.
LABEL_MEASURES: dict[str, Callable[..., Floats]] = {
    "pearson": pearson,
    "cosine": cosine,
    "jaccard": jaccard,
    "squared-pearson": squared_pearson,
    "mutual-information": mutual_information,
    "chi-squared": chi_squared,
}

#: Measures that look at the features too.
_CONDITIONAL: dict[str, Callable[..., Floats]] = {
    "feature-correlation": feature_correlation,
    "partial-correlation": partial_correlation,
    "likelihood-gain": likelihood_gain,
}

#: Names of all measures.
MEASURES: tuple[str, ...] = (*LABEL_MEASURES, *_CONDITIONAL)


def measured(measure: str, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> Floats:
    """Return a measure of each pair of labels, by its name.

    Parameters
    ----------
    measure : str
        One of `MEASURES`.
    X : array-like, or sparse array or matrix, of shape (n, D)
        Features, for those measures that look at them; others take None.
    Y : array-like, or sparse array or matrix, of shape (n, L)
        0 and 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the instances, at least 0, of which only the ratios count: the penalties of those measures that have
        one stand beside weights of mean 1.

    Returns
    -------
    ndarray of shape (L, L)

    Examples
    --------
    >>> import numpy as np
    >>> measured("chi-squared", None, np.array([[0, 0], [1, 1], [0, 0], [1, 1]]))
    array([[0., 4.],
           [4., 0.]])
    """
    check_choice("measure", measure, MEASURES)
    if measure in LABEL_MEASURES:
        return LABEL_MEASURES[measure](as_zeros_and_ones(Y), sample_weight)
    if X is None:
        raise InvalidInputError(f"{measure!r} looks at the features of the instances", argument="X", found=None)
    if sample_weight is not None:
        sample_weight = relative_weights(as_weights(sample_weight, as_zeros_and_ones(Y).shape[0]))
    return _CONDITIONAL[measure](X, Y, sample_weight=sample_weight)
