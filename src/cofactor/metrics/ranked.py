"""Rows of labels in the order of their scores, and what each row contributes to a ranking measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.errors import InvalidInputError
from cofactor.metrics.tables import as_label_sets, as_scores, check_columns, check_same_shape

__all__ = [
    "Measure",
    "Ranked",
    "Undefined",
    "average_precisions",
    "check_k",
    "coverages",
    "divided",
    "labels_and_scores",
    "mean_defined",
    "mean_over_rows",
    "ndcgs_at",
    "one_errors",
    "precisions_at",
    "ranked_blocks",
    "ranking_losses",
]

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
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= n_labels:
        raise InvalidInputError(
            f"k must be an integer from 1 to the number of labels, {n_labels}, found {k!r}", argument="k"
        )
