r"""How well scores rank the labels of a row: one-error, coverage, ranking loss, average precision, precision@k.

Notation: :math:`Y_i` is the set of relevant labels of row i, :math:`s_{il}` the score of label l, and

.. math:: \mathrm{rank}_i(l) = |\{k : s_{ik} \ge s_{il}\}|

its place, 1 for the largest score. **Ties**: coverage, ranking loss and average precision count a tie against
the prediction (all tied labels take the last of their places), as scikit-learn does; one-error, precision@k and
nDCG@k take the mean over all orders of the tied labels, as scikit-learn's ``ndcg_score``. Infinite scores are
ordinary ones (a label which is always on has +∞).

**Rows without a value**, such as those without relevant labels, count as ``undefined``: 0, 1, or "skip" to leave
them out (if all are left out, the result is NaN).

Scores are dense; rows are ranked in blocks, so that ranking needs little memory compared with the scores themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.errors import InvalidInputError
from cofactor.metrics.ranked import (
    Measure,
    Undefined,
    average_precisions,
    check_k,
    coverages,
    labels_and_scores,
    mean_defined,
    mean_over_rows,
    ndcgs_at,
    one_errors,
    precisions_at,
    ranked_blocks,
    ranking_losses,
)
from cofactor.metrics.tables import as_label_sets

__all__ = [
    "average_precision",
    "coverage",
    "label_propensities",
    "ndcg_at_k",
    "one_error",
    "precision_at_k",
    "propensity_scored_precision_at_k",
    "ranking_loss",
    "ranking_report",
]


def one_error(Y: Any, scores: ArrayLike, undefined: Undefined = 1) -> float:
    r"""Share of rows whose highest label is wrong, :math:`\frac{1}{n}\sum_i [\arg\max_l s_{il} \notin Y_i]`.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        True labels: booleans, 0 and 1, or -1 and 1.
    scores : array-like of shape (n, L)
        Real scores; of several largest ones, each is the first with the same probability.
    undefined : {1, 0, "skip"}, default=1
        What a row without relevant labels counts as; by the formula 1.

    Returns
    -------
    float
        The error, 0 to 1; 0 is best.

    Examples
    --------
    >>> one_error([[1, 0], [0, 1]], [[2.0, 1.0], [2.0, 1.0]])
    0.5
    """
    return mean_over_rows(Y, scores, one_errors, undefined)


def coverage(Y: Any, scores: ArrayLike, undefined: Undefined = 0) -> float:
    r"""Steps down the ranking until all relevant labels are seen, :math:`\frac{1}{n}\sum_i \max_{l \in Y_i} \mathrm{rank}_i(l) - 1`.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        True labels: booleans, 0 and 1, or -1 and 1.
    scores : array-like of shape (n, L)
        Real scores; ties count against them.
    undefined : {0, 1, "skip"}, default=0
        What a row without relevant labels counts as.

    Returns
    -------
    float
        The mean number of steps, 0 to L - 1; the best is the mean number of relevant labels minus 1.

    Notes
    -----
    Zhang and Zhou (2007). It is scikit-learn's ``coverage_error`` minus 1, except that a row without relevant
    labels counts as 0 and not as -1.

    Examples
    --------
    >>> coverage([[1, 0, 1], [1, 0, 0]], [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    1.0
    """  # noqa: E501
    return mean_over_rows(Y, scores, coverages, undefined)


def ranking_loss(Y: Any, scores: ArrayLike, undefined: Undefined = 0) -> float:
    r"""Share of pairs in the wrong order, :math:`\frac{1}{n}\sum_i \frac{|\{(l, k) \in Y_i \times \bar Y_i : s_{il} \le s_{ik}\}|}{|Y_i|\,|\bar Y_i|}`.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        True labels: booleans, 0 and 1, or -1 and 1.
    scores : array-like of shape (n, L)
        Real scores; a tied pair is wrong.
    undefined : {0, 1, "skip"}, default=0
        What a row without relevant labels, or without irrelevant ones, counts as.

    Returns
    -------
    float
        The loss, 0 to 1; 0 is best.

    Notes
    -----
    Equal to scikit-learn's ``label_ranking_loss``.

    Examples
    --------
    >>> ranking_loss([[1, 0, 1]], [[3.0, 2.0, 1.0]])
    0.5
    """  # noqa: E501
    return mean_over_rows(Y, scores, ranking_losses, undefined)


def average_precision(Y: Any, scores: ArrayLike, undefined: Undefined = 1) -> float:
    r"""Mean precision at the places of the relevant labels in the ranking.

    .. math:: \frac{1}{n}\sum_i \frac{1}{|Y_i|} \sum_{l \in Y_i}
              \frac{|\{k \in Y_i : \mathrm{rank}_i(k) \le \mathrm{rank}_i(l)\}|}{\mathrm{rank}_i(l)}

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        True labels: booleans, 0 and 1, or -1 and 1.
    scores : array-like of shape (n, L)
        Real scores; ties count against them.
    undefined : {1, 0, "skip"}, default=1
        What a row without relevant labels counts as.

    Returns
    -------
    float
        The mean precision, 0 to 1; 1 is best.

    Notes
    -----
    Equal to scikit-learn's ``label_ranking_average_precision_score``. The measure of this name in table 2 of Kimura,
    Kudo and Sun (`cofactor.labels.MNMTF`) is another one (``docs/corrections.md``, C58).

    Examples
    --------
    >>> round(average_precision([[1, 0, 1]], [[3.0, 2.0, 1.0]]), 4)
    0.8333
    """
    return mean_over_rows(Y, scores, average_precisions, undefined)


def precision_at_k(Y: Any, scores: ArrayLike, k: int = 5) -> float:
    r"""Share of relevant labels among the first k, :math:`\frac{1}{nk}\sum_i |Y_i \cap \mathrm{top}_k(s_i)|`.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        True labels: booleans, 0 and 1, or -1 and 1.
    scores : array-like of shape (n, L)
        Real scores; ties are broken at random, and the mean over all ways is taken.
    k : int, default=5
        Number of labels, 1 to L. A row with fewer than k relevant labels cannot reach 1.

    Returns
    -------
    float
        The precision, 0 to 1.

    Examples
    --------
    >>> precision_at_k([[1, 0, 1], [0, 0, 1]], [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], k=2)
    0.5
    """
    return mean_over_rows(Y, scores, precisions_at(k), 0)


def ndcg_at_k(Y: Any, scores: ArrayLike, k: int = 5, undefined: Undefined = 0) -> float:
    r"""Normalized discounted cumulative gain of the first k labels.

    .. math:: \frac{1}{n}\sum_i \sum_{r=1}^{k} \frac{[l_{ir} \in Y_i]}{\log_2(r + 1)} \Big/
              \sum_{r=1}^{\min(k, |Y_i|)} \frac{1}{\log_2(r + 1)}

    :math:`l_{ir}` is the label at place r.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        True labels: booleans, 0 and 1, or -1 and 1.
    scores : array-like of shape (n, L)
        Real scores; ties are broken at random, and the mean over all ways is taken.
    k : int, default=5
        Number of labels, 1 to L.
    undefined : {0, 1, "skip"}, default=0
        What a row without relevant labels counts as.

    Returns
    -------
    float
        The gain, 0 to 1; 1 is best.

    Notes
    -----
    Equal to scikit-learn's ``ndcg_score`` with 0/1 relevance.

    Examples
    --------
    >>> ndcg_at_k([[1, 0, 1], [0, 0, 1]], [[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]], k=2)
    1.0
    """
    return mean_over_rows(Y, scores, ndcgs_at(k), undefined)


def label_propensities(Y: Any, a: float = 0.55, b: float = 1.5) -> NDArray[np.float64]:
    r"""Probability that a relevant label was written down, from its frequency.

    .. math:: p_l = \frac{1}{1 + C e^{-a \log(N_l + b)}}, \qquad C = (\log N - 1)(b + 1)^a

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (N, L)
        Labels of the *training* rows; :math:`N_l` of them have label l.
    a, b : float, default=0.55 and 1.5
        Shape of the curve. The defaults are those of Jain et al.; they use 0.5 and 0.4 for Wikipedia data and
        0.6 and 2.6 for Amazon's.

    Returns
    -------
    ndarray of shape (L,)
        Propensities in (0, 1]; 0 for a label without rows if b is 0. All are 1 where N is so small that C would not
        be positive.

    Notes
    -----
    Jain, Prabhu and Varma, Extreme multi-label loss functions (KDD 2016).

    Examples
    --------
    >>> label_propensities([[1, 0]] * 90 + [[1, 1]] * 10).round(3)
    array([0.68 , 0.391])
    """
    if not (a > 0 and b >= 0):
        raise InvalidInputError(f"a must be positive and b must not be negative, found a={a!r}, b={b!r}", argument="a")
    labels = as_label_sets(Y)
    n, n_labels = labels.shape
    frequencies = np.bincount(labels.indices, minlength=n_labels) + b
    c = max(np.log(n) - 1, 0.0) * (b + 1) ** a
    if c == 0:
        return np.ones(n_labels)
    with np.errstate(divide="ignore"):  # b = 0 and a label that never occurs: propensity 0
        return 1 / (1 + c * frequencies**-a)


def propensity_scored_precision_at_k(
    Y: Any, scores: ArrayLike, propensities: ArrayLike, k: int = 5, normalize: bool = True
) -> float:
    r"""Precision@k in which a rare label weighs more, :math:`\frac{1}{nk}\sum_i \sum_{l \in Y_i \cap \mathrm{top}_k(s_i)} 1/p_l`.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        True labels: booleans, 0 and 1, or -1 and 1.
    scores : array-like of shape (n, L)
        Real scores; ties are broken at random, and the mean over all ways is taken.
    propensities : array-like of shape (L,)
        Of each label, from the training rows (`label_propensities`); positive.
    k : int, default=5
        Number of labels, 1 to L.
    normalize : bool, default=True
        Whether to divide by the largest value that any scores can reach on these rows, as the published tables do. If
        not, the value can be larger than 1.

    Returns
    -------
    float
        The weighted precision; if normalized and no row has a relevant label, NaN.

    Notes
    -----
    Jain, Prabhu and Varma (KDD 2016). With all propensities 1 and ``normalize=False`` it is `precision_at_k`.

    Examples
    --------
    >>> Y, scores = [[1, 0, 1], [0, 0, 1]], [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]
    >>> propensity_scored_precision_at_k(Y, scores, [0.5, 0.5, 0.25], k=1)
    0.75
    """  # noqa: E501
    labels, table = labels_and_scores(Y, scores)
    n, n_labels = labels.shape
    check_k(k, n_labels)
    weights = _inverse_propensities(propensities, n_labels)
    reached = largest = 0.0
    for block in ranked_blocks(labels, table):
        reached += block.gains(weights)[:, :k].sum()
        relevant_weights = block.truth * weights
        largest += np.partition(relevant_weights, n_labels - k, axis=1)[:, n_labels - k :].sum()
    if not normalize:
        return float(reached / (n * k))
    return float(reached / largest) if largest else float("nan")


def ranking_report(Y: Any, scores: ArrayLike) -> dict[str, float]:
    """Return all ranking metrics with the default of `undefined` of each; every block of rows is ranked only once.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        True labels: booleans, 0 and 1, or -1 and 1.
    scores : array-like of shape (n, L)
        Real scores.

    Returns
    -------
    dict of str to float
        ``one_error``, ``coverage``, ``ranking_loss``, ``average_precision``, ``precision_at_1``, and where there
        are that many labels ``precision_at_3``, ``ndcg_at_3``, ``precision_at_5``, ``ndcg_at_5``.

    Examples
    --------
    >>> ranking_report([[1, 0], [0, 1]], [[2.0, 1.0], [1.0, 2.0]])["average_precision"]
    1.0
    """
    labels, table = labels_and_scores(Y, scores)
    measures: dict[str, tuple[Measure, Undefined]] = {
        "one_error": (one_errors, 1),
        "coverage": (coverages, 0),
        "ranking_loss": (ranking_losses, 0),
        "average_precision": (average_precisions, 1),
        "precision_at_1": (precisions_at(1), 0),
    }
    for k in (3, 5):
        if k <= labels.shape[1]:
            measures |= {f"precision_at_{k}": (precisions_at(k), 0), f"ndcg_at_{k}": (ndcgs_at(k), 0)}
    found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in measures}
    for block in ranked_blocks(labels, table):
        for name, (measure, _) in measures.items():
            found[name].append(measure(block))
    return {name: mean_defined(np.concatenate(found[name]), measures[name][1]) for name in measures}


def _inverse_propensities(propensities: ArrayLike, n_labels: int) -> NDArray[np.float64]:
    """Return 1 / p_l of each label: its weight."""
    values = np.asarray(propensities, dtype=np.float64)
    if values.shape != (n_labels,) or not (values > 0).all():
        raise InvalidInputError(
            f"propensities must be {n_labels} positive numbers, one per label, found shape {values.shape}",
            argument="propensities",
        )
    return 1 / values
