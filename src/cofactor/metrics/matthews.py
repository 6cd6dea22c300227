r"""Matthews correlation of predicted labels with the true ones, of all entries, by label, or by row.

Of n entries t are on, p are predicted to be on, and c are both. Their correlation is

.. math:: \frac{n c - t p}{\sqrt{t p (n - t)(n - p)}},

which is that of the thesis of Li, section 6.2, in other letters. Where all or none of the entries are on, or are
predicted to be, it is 0, as there and in scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.metrics.label_counts import Totals, label_counts

__all__ = ["example_mcc", "macro_mcc", "matthews", "micro_mcc"]


def micro_mcc(Y: Any, predicted: Any) -> float:
    """Matthews correlation of all entries together.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.

    Returns
    -------
    float
        The correlation, -1 to 1; 1 is best, and 0 is what chance gives with one rate for all labels. Equal to
        scikit-learn's ``matthews_corrcoef`` of the entries.

    Examples
    --------
    >>> round(micro_mcc([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]]), 4)
    0.3333
    """
    return matthews(label_counts(Y, predicted).together())


def macro_mcc(Y: Any, predicted: Any) -> float:
    """Mean of the Matthews correlations of the labels.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.

    Returns
    -------
    float
        The mean, -1 to 1; 1 is best. A label that all or no rows have, or were predicted to have, counts as 0.

    Examples
    --------
    >>> macro_mcc([[1, 0], [0, 1], [1, 0]], [[1, 0], [0, 0], [1, 0]])
    0.5
    """
    return matthews(label_counts(Y, predicted).labels)


def example_mcc(Y: Any, predicted: Any) -> float:
    """Mean of the Matthews correlations of the rows.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels: booleans, 0 and 1, or -1 and 1.

    Returns
    -------
    float
        The mean, -1 to 1; 1 is best. A row that has all or none of the labels, or was predicted to, counts as 0.

    Notes
    -----
    The "macro-averaged MCC" of Li's thesis.

    Examples
    --------
    >>> example_mcc([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]])
    0.25
    """
    return matthews(label_counts(Y, predicted).rows)


def matthews(totals: Totals) -> float:
    """Return the mean correlation of rows or labels with these totals.

    Examples
    --------
    >>> matthews(Totals(*(np.array([number]) for number in (2, 2, 1, 4))))
    0.0
    """
    true, found, common, n = (part.astype(np.float64) for part in totals)
    scale = np.sqrt(true * (n - true) * found * (n - found))
    top = n * common - true * found
    return float(np.divide(top, scale, out=np.zeros_like(scale), where=scale > 0).mean())
