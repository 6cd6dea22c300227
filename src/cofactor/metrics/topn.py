r"""How good recommended lists are: precision, recall, nDCG, average precision, first hit, hit rate, AUC.

All functions take lists of items, `recommended`, and the held-out items of users, `relevant`. Row i of both is
the same user. `recommended` has shape (n, K): numbers of items, best first, and -1 after the last one where a list is
shorter. `relevant` is sparse, users × items; its positive entries are the relevant items, and their values say *how*
relevant, where a measure asks for it (a rating, or any gain).

Notation: :math:`R_u` is the set of relevant items of user u, :math:`h_{ui} = 1` if the item at place i of the list is
in it, otherwise 0, and :math:`H_u(k) = \sum_{i \le k} h_{ui}` the number of hits up to place k.

Every function returns **one value for each user**, so that means come with their error (`user_mean`) and methods can be
compared user by user (`user_difference`). A user without relevant items has no value, NaN: nothing that is recommended
could be a hit. `user_mean` leaves these users out, or counts them as 0.

Nothing is sampled: a list comes from all items that a user could be recommended. What lists say beside hits (how many
items they reach, how new, how different, how popular these are) is in `cofactor.metrics.catalogue`; measures of ranked
*labels* are in `cofactor.metrics.ranking`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import check_choice, check_number
from cofactor.errors import InvalidInputError
from cofactor.metrics.ranking import divided

Values = NDArray[np.float64]

GAINS = ("binary", "exponential", "given")
"""What an item with the value r in `relevant` is worth in nDCG: 1, 2^r - 1, or r."""
LIST_METRICS = (
    "ndcg", "precision", "recall", "capped_recall", "map", "mrr", "hit_rate", "any_ndcg", "graded_ndcg", "auc",
    "novelty", "diversity", "popularity_lift", "distinct", "coverage",
)  # fmt: skip
"""Names of measures of recommended lists, without their length, such as the ``@10`` of ``ndcg@10``."""


# ---------------------------------------------------------------- input


def relevant_items(relevant: Any) -> sparse.csr_array:
    """Return the relevant items as CSR with sorted rows and positive entries alone; refuse what is no such table.

    Parameters
    ----------
    relevant : sparse matrix or array, or array-like of shape (n, n_items)
        Positive where an item is relevant.

    Examples
    --------
    >>> relevant_items([[0, 3, 1]]).indices.tolist()
    [1, 2]
    """
    table = sparse.csr_array(relevant, dtype=np.float64, copy=True)
    if table.ndim != 2:
        raise InvalidInputError("relevant must have a row for each user and a column for each item")
    if not np.isfinite(table.data).all():
        raise InvalidInputError("relevant holds values that are NaN or infinite", argument="relevant")
    table.sum_duplicates()
    table.data[table.data < 0] = 0
    table.eliminate_zeros()
    return table


def checked_lists(
    recommended: Any, n_items: int, k: int | None = None, n_users: int | None = None
) -> NDArray[np.int64]:
    """Return the first k columns of recommended lists, checked.

    Parameters
    ----------
    recommended : array-like of shape (n, K)
        Numbers of items, best first, -1 where there are no more.
    n_items : int
        Number of items that there are.
    k : int, optional
        By default K.
    n_users : int, optional
        The number of rows that there must be.

    Raises
    ------
    InvalidInputError
        If lists are shorter than k, hold an item twice or one that does not exist, or go on after an end.

    Examples
    --------
    >>> checked_lists([[2, 0, -1]], n_items=3, k=2)
    array([[2, 0]])
    """
    lists = np.asarray(recommended)
    if lists.ndim != 2 or lists.dtype.kind not in "iu":
        raise InvalidInputError(
            f"expected numbers of items, shape (n, K), found {lists.dtype} of shape {lists.shape}",
            argument="recommended",
        )
    if n_users is not None and len(lists) != n_users:
        raise InvalidInputError(f"recommended has {len(lists)} users and relevant {n_users}: they must agree")
    if k is not None:
        check_number("k", k, low=1, whole=True)
        if k > lists.shape[1]:
            raise InvalidInputError(f"lists have {lists.shape[1]} places", argument="k", found=k)
    lists = lists[:, :k].astype(np.int64, copy=False)
    if lists.size and not -1 <= lists.min() <= lists.max() < n_items:
        raise InvalidInputError(f"items must be numbers from 0 to {n_items - 1}, or -1", argument="recommended")
    if ((lists[:, 1:] >= 0) & (lists[:, :-1] < 0)).any():
        raise InvalidInputError("a list goes on after -1, which ends it", argument="recommended")
    ordered = np.sort(lists, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise InvalidInputError("a list holds an item twice", argument="recommended")
    return lists


def _values_at(recommended: Any, relevant: Any, k: int | None) -> tuple[Values, sparse.csr_array]:
    """Return the value in `relevant` of the item at each place, shape (n, k), 0 where it is not relevant; and it."""
    table = relevant_items(relevant)
    lists = checked_lists(recommended, table.shape[1], k, table.shape[0])
    found = np.zeros(lists.shape)
    if not table.nnz:
        return found, table
    # Pairs of user and item as one number each: rows are in order, and sorted within.
    width = np.int64(table.shape[1])
    rows = np.repeat(np.arange(table.shape[0], dtype=np.int64), np.diff(table.indptr))
    known = rows * width + table.indices
    asked = np.arange(len(lists), dtype=np.int64)[:, None] * width + np.maximum(lists, 0)
    place = np.minimum(np.searchsorted(known, asked), known.size - 1)
    hit = (known[place] == asked) & (lists >= 0)
    found[hit] = table.data[place[hit]]
    return found, table


def _hits_at(recommended: Any, relevant: Any, k: int | None) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return whether the item at each place is relevant, and the number of relevant items of each user."""
    values, table = _values_at(recommended, relevant, k)
    return values > 0, np.diff(table.indptr).astype(np.int64)


def _of_users(values: Any, n_relevant: NDArray[Any]) -> Values:
    """Return values, NaN for users without relevant items."""
    return np.where(n_relevant > 0, values, np.nan)


# ---------------------------------------------------------------- measures


def user_precisions(recommended: ArrayLike, relevant: Any, k: int | None = None) -> Values:
    r"""Share of the first k items that are hits, :math:`H_u(k) / k`.

    Parameters
    ----------
    recommended : array-like of shape (n, K)
        Numbers of items, best first, -1 where there are no more: a shorter list is divided by k all the same.
    relevant : sparse matrix of shape (n, n_items)
        Positive where an item is relevant.
    k : int, optional
        By default K.

    Returns
    -------
    ndarray of shape (n,)
        0 to 1; NaN for users without relevant items. A user with fewer than k relevant items cannot reach 1.

    Examples
    --------
    >>> user_precisions([[2, 0, 1]], [[1, 1, 0, 1]], k=2)
    array([0.5])
    """
    hits, n_relevant = _hits_at(recommended, relevant, k)
    return _of_users(hits.mean(axis=1), n_relevant)


def user_recalls(recommended: ArrayLike, relevant: Any, k: int | None = None, *, capped: bool = False) -> Values:
    r"""Share of the relevant items that are among the first k, :math:`H_u(k) / |R_u|`.

    Parameters
    ----------
    recommended, relevant, k
        As in `user_precisions`.
    capped : bool, default=False
        Divide by :math:`\min(k, |R_u|)` instead, so that 1 can be reached where there are more than k relevant items.
        Papers on implicit data (Liang et al. 2018) call this Recall@k; the two are often mixed up.

    Returns
    -------
    ndarray of shape (n,)
        0 to 1; NaN for users without relevant items.

    Examples
    --------
    >>> relevant = [[1, 1, 0, 1]]
    >>> user_recalls([[2, 0, 1]], relevant, k=2).round(3), user_recalls([[2, 0, 1]], relevant, k=2, capped=True)
    (array([0.333]), array([0.5]))
    """
    hits, n_relevant = _hits_at(recommended, relevant, k)
    return divided(hits.sum(axis=1), np.minimum(n_relevant, hits.shape[1]) if capped else n_relevant)


def user_ndcgs(recommended: ArrayLike, relevant: Any, k: int | None = None, *, gains: str = "binary") -> Values:
    r"""Discounted gain of the first k items, divided by the best, :math:`\mathrm{DCG}_u / \mathrm{IDCG}_u`.

    .. math:: \mathrm{DCG}_u = \sum_{i \le k} \frac{g_{ui}}{\log_2(i + 1)}

    :math:`g_{ui}` is the gain of the item at place i, 0 if it is not relevant, and IDCG the same sum for the
    :math:`\min(k, |R_u|)` items of the largest gain in order.

    Parameters
    ----------
    recommended, relevant, k
        As in `user_precisions`.
    gains : {"binary", "exponential", "given"}, default="binary"
        What an item of value r in `relevant` is worth: 1; :math:`2^r - 1`, for ratings; or r itself.

    Returns
    -------
    ndarray of shape (n,)
        0 to 1; NaN for users without relevant items.

    Notes
    -----
    With "given" equal to scikit-learn's ``ndcg_score`` of the dense values, for scores without ties.

    Examples
    --------
    >>> relevant = [[4, 1, 0, 5]]
    >>> user_ndcgs([[2, 0, 1]], relevant, k=2).round(3), user_ndcgs([[2, 0, 1]], relevant, k=2, gains="given").round(3)
    (array([0.387]), array([0.335]))
    """
    check_choice("gains", gains, GAINS)
    values, table = _values_at(recommended, relevant, k)
    width = values.shape[1]
    discounts = 1 / np.log2(np.arange(2, width + 2))
    counts = np.diff(table.indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    highest = np.zeros(len(counts))
    np.maximum.at(highest, rows, table.data)
    best = _worth(table.data, gains, highest[rows])[np.lexsort((-table.data, rows))]
    place = np.arange(len(rows)) - table.indptr[:-1][rows]
    among = place < width
    ideal = np.bincount(rows[among], best[among] * discounts[place[among]], len(counts))
    return divided(_worth(values, gains, highest[:, None]) @ discounts, ideal)


def _worth(values: Values, gains: str, highest: Values) -> Values:
    """Return the gain of items with these values; 2^r - 1 as a share of 2 to the user's highest r: it may be huge."""
    if gains == "binary":
        return np.sign(values)
    return np.exp2(values - highest) - np.exp2(-highest) if gains == "exponential" else values


def user_average_precisions(recommended: ArrayLike, relevant: Any, k: int | None = None) -> Values:
    r"""Mean precision at the hits, :math:`\frac{1}{\min(k, |R_u|)} \sum_{i \le k} h_{ui} H_u(i) / i`.

    The mean is MAP@k.

    Parameters
    ----------
    recommended, relevant, k
        As in `user_precisions`.

    Returns
    -------
    ndarray of shape (n,)
        0 to 1; NaN for users without relevant items. Some authors divide by :math:`|R_u|`, or by the number of hits.

    Examples
    --------
    >>> user_average_precisions([[2, 0, 1]], [[1, 1, 0, 1]]).round(3)
    array([0.389])
    """
    hits, n_relevant = _hits_at(recommended, relevant, k)
    precisions = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    return divided((precisions * hits).sum(axis=1), np.minimum(n_relevant, hits.shape[1]))


def user_reciprocal_ranks(recommended: ArrayLike, relevant: Any, k: int | None = None) -> Values:
    r"""One divided by the place of the first hit, :math:`1 / \min\{i \le k : h_{ui} = 1\}`, 0 without one.

    The mean is MRR@k.

    Parameters
    ----------
    recommended, relevant, k
        As in `user_precisions`.

    Returns
    -------
    ndarray of shape (n,)
        0 to 1; NaN for users without relevant items.

    Examples
    --------
    >>> user_reciprocal_ranks([[2, 0, 1], [2, 1, 0]], [[1, 1, 0, 1], [0, 0, 0, 1]])
    array([0.5, 0. ])
    """
    hits, n_relevant = _hits_at(recommended, relevant, k)
    first, found = np.zeros(len(hits)), hits.any(axis=1)
    first[found] = 1 / (1 + hits[found].argmax(axis=1))
    return _of_users(first, n_relevant)


def user_hits(recommended: ArrayLike, relevant: Any, k: int | None = None) -> Values:
    r"""Whether there is a hit among the first k, :math:`[H_u(k) > 0]`; its mean is the hit rate.

    Parameters
    ----------
    recommended, relevant, k
        As in `user_precisions`.

    Returns
    -------
    ndarray of shape (n,)
        0 or 1; NaN for users without relevant items.

    Examples
    --------
    >>> user_hits([[2, 0], [2, 1]], [[1, 1, 0, 1], [0, 0, 0, 1]])
    array([1., 0.])
    """
    hits, n_relevant = _hits_at(recommended, relevant, k)
    return _of_users(hits.any(axis=1).astype(np.float64), n_relevant)


def user_aucs(ranking: ArrayLike, relevant: Any, *, scores: ArrayLike | None = None, seen: Any = None) -> Values:
    r"""Share of pairs of a relevant and another unseen item in the right order: the area under the ROC curve.

    .. math:: \mathrm{AUC}_u = \frac{1}{|R_u|\,|O_u|} \sum_{j \in R_u} \sum_{l \in O_u}
              [s_{uj} > s_{ul}] + \tfrac12 [s_{uj} = s_{ul}]

    where :math:`O_u` are all ranked items that are neither seen nor relevant: none is sampled. It is computed from the
    ranks of the relevant items. Relevant items that are not ranked come after all others.

    Parameters
    ----------
    ranking : array-like of shape (n, K)
        *All* items that the user could be recommended, best first, -1 where there are no more.
    relevant : sparse matrix of shape (n, n_items)
        Positive where an item is relevant.
    scores : array-like of shape (n, K), optional
        Scores of the ranking, never increasing, so that ties count half; by default there are none.
    seen : sparse matrix of shape (n, n_items), optional
        Items that do not count wherever they stand, such as those of training.

    Returns
    -------
    ndarray of shape (n,)
        0 to 1, .5 for a random order; NaN for users without relevant, or without other, items.

    Notes
    -----
    Equal to scikit-learn's ``roc_auc_score`` for each user.

    Examples
    --------
    >>> user_aucs([[0, 3, 1, 2]], [[0, 1, 0, 1]])
    array([0.5])
    >>> user_aucs([[0, 3, 1, 2]], [[0, 1, 0, 1]], seen=[[1, 0, 0, 0]])
    array([1.])
    """
    table = relevant_items(relevant)
    n_users, n_items = table.shape
    lists = checked_lists(ranking, n_items, None, n_users)
    passed = sparse.csr_array(table.shape) if seen is None else relevant_items(seen)
    worth = None if scores is None else np.asarray(scores, dtype=np.float64)
    found = np.full(n_users, np.nan)
    hidden, wanted = (np.zeros(n_items + 1, dtype=np.bool_) for _ in range(2))  # the last cell is for -1
    hidden[-1] = True
    for u in range(n_users):
        own, other = (part.indices[part.indptr[u] : part.indptr[u + 1]] for part in (table, passed))
        hidden[other], wanted[own] = True, True
        counts = ~hidden[lists[u]]
        places = np.flatnonzero(wanted[lists[u][counts]])
        falling = None if worth is None else -worth[u][counts]
        found[u] = _auc(places, int(counts.sum()), own.size, falling)
        hidden[other], wanted[own] = False, False
    return found


def _auc(places: NDArray[Any], n_ranked: int, n_relevant: int, falling: Values | None) -> float:
    """Return the AUC from the places, from 0, of relevant items among the ranked ones, some of which may be missing."""
    others, missing = n_ranked - places.size, n_relevant - places.size
    if not n_relevant or not others:
        return np.nan
    ranks = places + 1.0
    if falling is not None:
        first, last = (np.searchsorted(falling, falling[places], side) for side in ("left", "right"))
        ranks = (first + last + 1) / 2
    # Others before ranked relevant items are in the wrong order, and all are before the missing ones.
    before = ranks.sum() - places.size * (places.size + 1) / 2
    return 1 - (before + missing * others) / (n_relevant * others)


# ---------------------------------------------------------------- by name


LIST_MEASURES: Mapping[str, Callable[[ArrayLike, Any, int], Values]] = {
    "ndcg": user_ndcgs,
    "precision": user_precisions,
    "recall": user_recalls,
    "capped_recall": partial(user_recalls, capped=True),
    "map": user_average_precisions,
    "mrr": user_reciprocal_ranks,
    "hit_rate": user_hits,
}
"""Measures of lists against held-out items, by their names in `LIST_METRICS`: higher is better."""


def list_measure(metric: str) -> tuple[Callable[[ArrayLike, Any, int], Values], int]:
    """Return the measure that a name such as ``ndcg@10`` stands for, and the length of the lists.

    Parameters
    ----------
    metric : str
        A name in `LIST_MEASURES`, ``@``, and a length.

    Raises
    ------
    InvalidInputError
        If it is no such name.

    Examples
    --------
    >>> measure, k = list_measure("recall@2")
    >>> k, measure([[2, 0, 1]], [[1, 0, 1, 0]], k)
    (2, array([1.]))
    """
    name, _, length = metric.partition("@") if isinstance(metric, str) else ("", "", "")
    if name not in LIST_MEASURES or not (length.isascii() and length.isdigit() and int(length)):
        raise InvalidInputError(
            f"expected one of {', '.join(LIST_MEASURES)} with a length",
            argument="metric",
            found=metric,
            advice="write it as 'ndcg@10'",
        )
    return LIST_MEASURES[name], int(length)
