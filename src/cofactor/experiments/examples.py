"""Small matrices printed in Kumar's thesis, as they are printed: 0 stands for what is not observed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MATRICES", "TABLE_3_2", "observed"]


def _matrix(text: str) -> NDArray[np.float64]:
    return np.array([[float(word) for word in line.split()] for line in text.strip().splitlines()])


MATRICES: dict[str, NDArray[np.float64]] = {
    "table 3.1": _matrix("""
         0  1  0  0  1  0 -1
        -1  0  1  1  1  0 -1
         0  1 -1  0  0  1 -1
        -1  1 -1  1 -1  1  0
        -1  0 -1  1  1  0  0
         0 -1  0  1  0  1  1
         1  1  0 -1  0  0  0
    """),
    "table 3.6": _matrix("""
        1 2 4 3 5 2 1 4 3 0
        0 4 5 3 2 4 1 1 3 2
        4 3 5 5 2 0 2 3 1 4
        5 0 1 2 3 1 4 3 5 2
        2 5 3 4 2 4 0 3 1 1
        0 1 5 3 1 5 3 2 4 4
        4 2 5 1 4 3 2 5 0 3
        2 2 3 1 3 4 5 0 5 4
        5 4 5 2 3 1 4 0 1 2
        3 0 4 5 1 2 1 5 3 4
    """),
}
"""Users × items: two levels, and five."""

TABLE_3_2: tuple[NDArray[np.float64], NDArray[np.float64]] = (
    _matrix("""
        -0.63 -0.50
        -0.69 -0.96
         0.27 -1.09
         0.63 -0.84
        -0.02 -1.03
         1.19 -0.03
        -1.11  0.21
    """),
    _matrix("""
        -0.37  0.94
        -0.70 -1.02
        -1.06  0.42
         0.55 -0.97
        -1.04 -0.36
         0.67 -0.58
         0.65  0.81
    """),
)
"""U and V, the factors printed for table 3.1."""


def observed(name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs and ratings of a printed matrix.

    Examples
    --------
    >>> X, y = observed("table 3.1")
    >>> X[:2].tolist(), y[:2].tolist(), len(y)
    ([[0, 1], [0, 4]], [1.0, 1.0], 29)
    """
    matrix = MATRICES[name]
    X = np.argwhere(matrix != 0)
    return X, matrix[X[:, 0], X[:, 1]]
