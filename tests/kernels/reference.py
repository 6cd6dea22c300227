"""Patterns of observed entries, and plain NumPy references of the kernels."""

from dataclasses import dataclass

import numpy as np

from cofactor.kernels.random import fold, stream

KEY = fold(3, 1, 4)


@dataclass
class Pattern:
    """Observed entries by rows and by columns."""

    indptr: np.ndarray
    indices: np.ndarray
    col_indptr: np.ndarray
    col_indices: np.ndarray
    to_csr: np.ndarray
    shape: tuple[int, int]

    @property
    def rows(self) -> np.ndarray:
        """Row of every entry, in row order."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))


def pattern(mask: np.ndarray) -> Pattern:
    """Return the pattern of the true cells of a mask."""
    rows, columns = np.nonzero(mask)
    order = np.lexsort((rows, columns))
    return Pattern(
        indptr=np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int64),
        indices=columns.astype(np.int32),
        col_indptr=np.concatenate([[0], np.cumsum(mask.sum(axis=0))]).astype(np.int64),
        col_indices=rows[order].astype(np.int32),
        to_csr=order.astype(np.int32),
        shape=mask.shape,
    )


def random_pattern(rng: np.random.Generator, n: int, m: int, density: float = 0.4) -> Pattern:
    """Return a random pattern; where there are several rows and columns, one of each is empty."""
    mask = rng.random((n, m)) < density
    if n > 1:
        mask[n // 2] = False
    if m > 1:
        mask[:, m // 3] = False
    return pattern(mask)


def scores(p: Pattern, U: np.ndarray, V: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    dense = U.astype(float) @ V.astype(float).T + b.astype(float)[:, None] + c.astype(float)
    return dense[p.rows, p.indices]


def dense_weights(p: Pattern, weights: np.ndarray) -> np.ndarray:
    """Return the weights of the entries as a matrix with zeros elsewhere."""
    dense = np.zeros(p.shape)
    dense[p.rows, p.indices] = weights
    return dense


def cuttings(n: int) -> list[list[int]]:
    """Several ways to cut n rows into ranges."""
    return [[0, n], list(range(n + 1)), [0, n // 3, n // 3, n], sorted({0, 1, n // 2, n})]


def positive_definite(rng: np.random.Generator, p: int) -> np.ndarray:
    B = rng.normal(size=(p, p + 2))
    return B @ B.T


def begun(row: int) -> np.uint64:
    """Return the stream of a row; Numba hands it back as Python's int."""
    return np.uint64(stream(KEY, row))
