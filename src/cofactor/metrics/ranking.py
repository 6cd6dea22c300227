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

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import check_number
from cofactor.errors import InvalidInputError
from cofactor.metrics.tables import as_label_sets, as_scores, check_columns, check_same_shape

Undefined = Literal[0, 1, "skip"]
"""What a row or label without a value counts as."""

_BLOCK = 1 << 18  # scores ranked at a time


def mean_defined(values: NDArray[np.float64], undefined: Undefined) -> float:
    """Return the mean of values, in which NaN (undefined) counts as 0 or 1 or is left out.

    Examples
    --------
    >>> mean_defined(np.array([0.5, np.nan]), 0), mean_defined(np.array([0.5, np.nan]), "skip")
    (0.25, 0.5)
    """
    if not (isinstance(undefined, str) and undefined == "skip") and undefined not in (0, 1):
        raise InvalidInputError(f'undefined must be 0, 1 or "skip", found {undefined!r}', argument="undefined")
    missing = np.isnan(values)
    if undefined != "skip":
        return float(np.where(missing, float(undefined), values).mean())
    return float("nan") if missing.all() else float(values[~missing].mean())


class Ranked:
    """Labels of a block of rows, from the largest score to the smallest.

    ``first`` and ``last`` (b, L) are the places, from 0, at which the run of tied scores begins and ends.
    """

    def __init__(self, truth: NDArray[np.bool_], scores: NDArray[Any]) -> None:
        self.truth = truth
        self.order = np.argsort(-scores, axis=1, kind="stable")
        placed = np.take_along_axis(scores, self.order, axis=1)
        changes = placed[:, 1:] != placed[:, :-1]
        n_labels = truth.shape[1]
        starts = np.zeros(truth.shape, dtype=np.int64)
        starts[:, 1:] = np.where(changes, np.arange(1, n_labels), 0)
        ends = np.full(truth.shape, n_labels - 1)
        ends[:, :-1] = np.where(changes, np.arange(n_labels - 1), n_labels - 1)
        self.first = np.maximum.accumulate(starts, axis=1)
        self.last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        """Whether the label at each place is relevant."""
        return np.take_along_axis(self.truth, self.order, axis=1)

    @cached_property
    def n_relevant(self) -> NDArray[np.int64]:
        """Relevant labels of each row."""
        return np.count_nonzero(self.truth, axis=1)

    @cached_property
    def hits(self) -> NDArray[np.int64]:
        """Relevant labels whose score is at least that of each place."""
        return np.take_along_axis(np.cumsum(self.relevant, axis=1), self.last, axis=1)

    def gains(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the expected weight of the relevant label at each place, ties in random order."""
        placed = self.relevant if weights is None else self.relevant * weights[self.order]
        before = np.zeros((placed.shape[0], placed.shape[1] + 1))
        np.cumsum(placed, axis=1, out=before[:, 1:])
        in_run = np.take_along_axis(before, self.last + 1, axis=1) - np.take_along_axis(before, self.first, axis=1)
        return in_run / (self.last - self.first + 1)


Measure = Callable[[Ranked], NDArray[np.float64]]  # a value for each row, NaN where undefined


def one_errors(block: Ranked) -> NDArray[np.float64]:
    """Return for each row whether its highest label is irrelevant; with ties, the share of irrelevant ones."""
    return np.where(block.n_relevant > 0, 1 - block.gains()[:, 0], np.nan)


def coverages(block: Ranked) -> NDArray[np.float64]:
    """Return for each row how far down the ranking one must go to meet all its labels, from 0."""
    return np.where(block.n_relevant > 0, np.where(block.relevant, block.last, 0).max(axis=1), np.nan)


def ranking_losses(block: Ranked) -> NDArray[np.float64]:
    """Return for each row the share of pairs whose irrelevant label is at least as high as the relevant one."""
    others = block.last + 1 - block.hits  # irrelevant labels at least as high as each place
    pairs = block.n_relevant * (block.truth.shape[1] - block.n_relevant)
    return divided((others * block.relevant).sum(axis=1), pairs)


def average_precisions(block: Ranked) -> NDArray[np.float64]:
    """Return the average precision of each row."""
    return divided((block.hits / (block.last + 1) * block.relevant).sum(axis=1), block.n_relevant)


def precisions_at(k: int) -> Measure:
    """Return the measure: the share of relevant labels among the k highest of each row."""

    def precisions(block: Ranked) -> NDArray[np.float64]:
        check_k(k, block.truth.shape[1])
        return block.gains()[:, :k].sum(axis=1) / k

    return precisions


def ndcgs_at(k: int) -> Measure:
    """Return the measure: the discounted gain of the k highest labels of each row, divided by the largest possible."""

    def ndcgs(block: Ranked) -> NDArray[np.float64]:
        check_k(k, block.truth.shape[1])
        discounts = 1 / np.log2(np.arange(2, k + 2))
        ideal = np.append(0, np.cumsum(discounts))[np.minimum(block.n_relevant, k)]
        return divided(block.gains()[:, :k] @ discounts, ideal)

    return ndcgs


def divided(top: NDArray[Any], bottom: NDArray[Any]) -> NDArray[np.float64]:
    """Divide, NaN where the divisor is 0."""
    return np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)


def mean_over_rows(Y: Any, scores: Any, measure: Measure, undefined: Undefined) -> float:
    """Return the mean of a measure over all rows."""
    values = [measure(block) for block in ranked_blocks(*labels_and_scores(Y, scores))]
    return mean_defined(np.concatenate(values), undefined)


def labels_and_scores(Y: Any, scores: Any) -> tuple[sparse.csr_array, NDArray[Any]]:
    """Return true labels and scores, checked."""
    check_columns(Y, scores, ("Y", "scores"))
    labels, table = as_label_sets(Y), as_scores(scores)
    check_same_shape(labels.shape, table.shape, ("Y", "scores"))
    return labels, table


def ranked_blocks(labels: sparse.csr_array, scores: NDArray[Any]) -> Iterator[Ranked]:
    """Rank the rows, some at a time."""
    n, n_labels = labels.shape
    step = max(1, _BLOCK // n_labels)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        yield Ranked(labels[rows].toarray().astype(bool), scores[rows])


def check_k(k: int, n_labels: int) -> None:
    """Refuse a k that is not a whole number from 1 to the number of labels."""
    check_number("k", k, low=1, high=n_labels, whole=True)


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
