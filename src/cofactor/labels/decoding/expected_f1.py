r"""Label sets of the largest expected F1: from a joint distribution of label sets, or of independent labels.

The expected F1 of a set h of k labels is a sum over its labels,

.. math:: E[F_1(h)] = \sum_{l \in h} \Delta_{lk}, \qquad \Delta_{lk} = \sum_s P(y_l = 1, |y| = s) \frac{2}{s + k},

so for each k the best labels are those of the k largest :math:`\Delta_{lk}` (Waegeman et al. 2014). The empty set has
F1 = 1 where no label is on, and 0 elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.errors import InvalidInputError
from cofactor.passes import batches

__all__ = ["f1_sets", "f1_sets_of_draws"]

_PER_BLOCK = 1 << 22


def f1_sets_of_draws(sets: ArrayLike, weights: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Return for each instance the label set with the largest expected F1, by label sets drawn for it.

    Parameters
    ----------
    sets : array-like of shape (n, S, L)
        S label sets of each instance, of 0 and 1: drawn from a joint distribution, or the likely ones.
    weights : array-like of shape (n, S), optional
        How probable each set is, not negative; by default all are equally probable.

    Returns
    -------
    ndarray of shape (n, L), bool

    Notes
    -----
    Exact for these sets, in O(S L²) operations for each instance.

    References
    ----------
    W. Waegeman, K. Dembczyński, A. Jachnik, W. Cheng & E. Hüllermeier, "On the Bayes-optimality of F-measure
    maximizers", Journal of Machine Learning Research 15, 2014.

    Examples
    --------
    >>> f1_sets_of_draws([[[1, 0, 0], [1, 1, 0], [0, 1, 1]]])
    array([[ True,  True, False]])
    """
    table = np.asarray(sets, dtype=np.float64)
    if table.ndim != 3 or not table.shape[1]:
        raise InvalidInputError(f"sets has shape {table.shape}, expected (n, S, L) with S of at least 1")
    n, n_sets, n_labels = table.shape
    shares = np.full((n, n_sets), 1 / n_sets) if weights is None else np.asarray(weights, dtype=np.float64)
    if shares.shape != (n, n_sets) or not (shares >= 0).all():
        raise InvalidInputError(f"weights has shape {shares.shape}, expected numbers of at least 0, {(n, n_sets)}")
    on = np.zeros((n, n_labels), dtype=bool)
    k = np.arange(1, n_labels + 1)
    for rows in batches(n, max(1, _PER_BLOCK // (n_labels * max(n_labels, n_sets)))):
        size, share = table[rows].sum(axis=2), shares[rows]
        gains = share[:, :, None] * 2 / (size[:, :, None] + k)
        delta = np.swapaxes(table[rows], 1, 2) @ gains
        on[rows] = _best(delta, np.sum(share * (size == 0), axis=1))
    return on


def f1_sets(probabilities: ArrayLike) -> NDArray[np.bool_]:
    """Return for each instance the label set with the largest expected F1, if labels are independent of each other.

    Parameters
    ----------
    probabilities : array-like of shape (n, L)
        How probable each label is, from 0 to 1.

    Returns
    -------
    ndarray of shape (n, L), bool

    Notes
    -----
    Exact, in O(L³) operations for each instance. `decide_for="example"` of a label model takes the ratio of expected
    numbers instead, in O(L log L).

    Examples
    --------
    >>> f1_sets([[0.4, 0.3, 0.1], [0.1, 0.1, 0.1]])
    array([[ True,  True, False],
           [False, False, False]])
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or not ((p >= 0) & (p <= 1)).all():
        raise InvalidInputError("probabilities must be a table of numbers from 0 to 1")
    n, n_labels = p.shape
    on = np.zeros((n, n_labels), dtype=bool)
    k = np.arange(1, n_labels + 1)
    gains = 2 / (k[:, None] + k)  # a label that is on, with m others: its set has m + 1 labels
    for rows in batches(n, max(1, _PER_BLOCK // n_labels**2)):
        number = _numbers_on(p[rows])
        delta = p[rows][:, :, None] * (_without_each(p[rows], number) @ gains)
        on[rows] = _best(delta, number[:, 0])
    return on


def _best(delta: NDArray[np.float64], none: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the best sets, shape (n, L), from the gains of labels in sets of each size, and the chance of none."""
    n_labels = delta.shape[1]
    order = np.argsort(-delta, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(delta, order, axis=1), axis=1)
    values = np.column_stack([none, np.diagonal(sums, axis1=1, axis2=2)])
    size = np.argmax(values, axis=1)
    chosen = np.take_along_axis(order, np.maximum(size - 1, 0)[:, None, None], axis=2)[:, :, 0]
    on = np.zeros(delta.shape[:2], dtype=bool)
    np.put_along_axis(on, chosen, np.arange(n_labels) < size[:, None], axis=1)
    return on


def _numbers_on(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how probable it is that 0, 1, ..., L labels are on, shape (n, L + 1)."""
    number = np.zeros((len(p), p.shape[1] + 1))
    number[:, 0] = 1
    for column in p.T[:, :, None]:
        number[:, 1:] = number[:, 1:] * (1 - column) + number[:, :-1] * column
        number[:, :1] *= 1 - column
    return number


def _without_each(p: NDArray[np.float64], number: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same of all labels but one, for each label: shape (n, L, L).

    The division that takes a label out of the product loses no digits in the direction where it divides by more than
    a half.
    """
    n, n_labels = p.shape
    upward, downward = np.zeros((n, n_labels, n_labels)), np.zeros((n, n_labels, n_labels))
    few, many = np.minimum(p, 0.5), np.maximum(p, 0.5)
    last_up, last_down = np.zeros((n, n_labels)), np.zeros((n, n_labels))
    for m in range(n_labels):
        last_up = (number[:, m : m + 1] - few * last_up) / (1 - few)
        upward[:, :, m] = last_up
        down = n_labels - 1 - m
        last_down = (number[:, down + 1 : down + 2] - (1 - many) * last_down) / many
        downward[:, :, down] = last_down
    return np.where((p > 0.5)[:, :, None], downward, upward)
