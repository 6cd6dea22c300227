"""Instances that are copies of others: held-out scores say too much of those that are not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.errors import InputWarning
from cofactor.labels.features import CheckedFeatures, is_sparse
from cofactor.model.convergence import callers_level
from cofactor.passes import batches, stacked, together

_FEWEST = 100  # instances below which copies are not worth a word
_MANY = 0.1  # share of copies from which they are
_CELLS = 1 << 20
_SAME = 1e-12  # share of the largest product up to which two differ by rounding alone


def n_distinct(X: CheckedFeatures, Y: sparse.csr_array) -> int:
    """Return how many instances differ in their features or labels.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
    Y : csr_array of shape (n, L)

    Notes
    -----
    Instances are compared by sums, modulo 2⁶⁴, of random numbers for what each cell holds: two of a million differ and
    count as one in about one of 40 million tables.

    Examples
    --------
    >>> n_distinct(np.array([[0.5, 1.0], [0.5, 1.0], [0.5, 1.0]]), sparse.csr_array([[1.0], [1.0], [0.0]]))
    2
    """
    generator = np.random.default_rng(0)
    total = np.zeros(X.shape[0], dtype=np.uint64)
    for table in (X, Y):
        keys = generator.integers(0, 1 << 64, (table.shape[1],), dtype=np.uint64)
        total += stacked(_sums(part, keys) for (part,) in together(table))
    return len(np.unique(total))


def warn_of_copies(X: CheckedFeatures, Y: sparse.csr_array) -> None:
    """Warn if more than a tenth of 100 instances or more are copies of others.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
    Y : csr_array of shape (n, L)

    Warns
    -----
    InputWarning
        It says how many of them are distinct.
    """
    n = X.shape[0]
    if n < _FEWEST:
        return
    distinct = n_distinct(X, Y)
    if n - distinct > _MANY * n:
        warnings.warn(
            InputWarning(
                f"only {distinct:,} of {n:,} instances are distinct: settings, probabilities and decisions learned "
                "from instances that are left out are too optimistic for new ones without copies; if copies are no "
                "new evidence, give each once, and their number as sample_weight"
            ),
            stacklevel=callers_level(),
        )


def dealt(X: CheckedFeatures, n_parts: int, generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """Deal instances to random parts, copies to the same one, so that the parts do not depend on their order.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
    n_parts : int
        Fewer are returned where there are not two distinct instances for each, to tell one from another.
    generator : Generator

    Returns
    -------
    list of ndarray
        The rows of each part.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [1.0], [3.0], [4.0]])
    >>> [rows.tolist() for rows in dealt(X, 2, np.random.default_rng(0))]
    [[3, 4], [0, 1, 2]]
    """
    n, D = X.shape
    keys = generator.standard_normal((D,))
    blocks = batches(n, max(1, _CELLS // max(1, D)))
    products = np.concatenate([np.asarray(X[rows].astype(np.float64) @ keys) for rows in blocks])
    order = np.argsort(products, kind="stable")
    differ = np.diff(products[order]) > _SAME * np.abs(products).max()
    number = np.empty(n, dtype=np.int64)
    number[order] = np.append(0, np.cumsum(differ))
    n_numbers = int(number.max()) + 1
    parts = np.array_split(generator.permutation(n_numbers), max(1, min(n_parts, n_numbers // 2)))
    return [np.flatnonzero(np.isin(number, part)) for part in parts]


def _sums(table: CheckedFeatures, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return for each row the sum of keys times its numbers, stirred; numbers that are 0 add nothing."""
    n = table.shape[0]
    if is_sparse(table):
        ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_stirred(table.data) * keys[table.indices])])
        return np.asarray(ends[table.indptr[1:]] - ends[table.indptr[:-1]], dtype=np.uint64)
    dense: Any = table
    sums = np.empty(n, dtype=np.uint64)
    for rows in batches(n, max(1, _CELLS // max(1, len(keys)))):
        sums[rows] = (_stirred(dense[rows]) * keys).sum(axis=1, dtype=np.uint64)
    return sums


def _stirred(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the bits of numbers as integers whose low bits depend on the high ones; 0 stays 0."""
    bits = (np.asarray(numbers, dtype=np.float64) + 0.0).view(np.uint64)  # -0.0 is 0 too
    bits ^= bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    return bits
