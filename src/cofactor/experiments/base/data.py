"""What all experiments know of their data: checksums, which go into the keys of cells, and printed matrices."""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cofactor import published
from cofactor.datasets import DatasetNotFoundError, verify

__all__ = ["checksum", "observed"]


@cache
def checksum(name: str) -> str:
    """Return the SHA-256 of a data set's files on this machine, or nothing where the set is not there.

    Parameters
    ----------
    name : str
        Name in the registry.

    Examples
    --------
    >>> checksum("ml-100k")[:12]
    '06416e597f82'
    """
    try:
        files = verify(name).files
    except DatasetNotFoundError:
        return ""
    found = [file.found for file in files if file.required and file.found]
    return found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode()).hexdigest()


def observed(name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs and ratings of a published matrix, where 0 stands for what is not observed.

    Parameters
    ----------
    name : str
        As `cofactor.published.matrix` knows it.

    Examples
    --------
    >>> X, y = observed("thesis-3.1")
    >>> X[:2].tolist(), y[:2].tolist(), len(y)
    ([[0, 1], [0, 4]], [1.0, 1.0], 29)
    """
    matrix = published.matrix(name)
    X = np.argwhere(matrix != 0)
    return X, matrix[X[:, 0], X[:, 1]]
