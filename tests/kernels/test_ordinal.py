"""Margins of levels: where they stand, and the means of levels. (Sums are tested with the losses.)"""

import numpy as np
from tests.together import together

from cofactor.kernels import margins

INDPTR = np.array([0, 2, 2, 5])
LEVELS = np.array([1, 3, 2, 2, 4], np.uint8)
dtypes = together("dtype", [np.float32, np.float64])


def scores(dtype: type) -> np.ndarray:
    return np.array([0.5, -1.0, 2.0, 0.25, -0.75], dtype)


def thresholds(dtype: type) -> np.ndarray:
    return np.array([[-1, 0, 1], [9, 9, 9], [-2, 0.5, 1.5]], dtype)


@dtypes
def test_margins_to_all_thresholds(dtype: type) -> None:
    x, theta, z = scores(dtype), thresholds(dtype), np.empty(9, dtype)
    margins.expand_all(1, 3, INDPTR, LEVELS, x, theta, z)
    rows = np.array([2, 2, 2])
    above = np.arange(1, 4) >= LEVELS[2:, None]
    expected = np.where(above, theta[rows] - x[2:, None], x[2:, None] - theta[rows])
    assert np.array_equal(z, expected.ravel())


@dtypes
def test_margins_to_immediate_thresholds(dtype: type) -> None:
    x, theta, z = scores(dtype), thresholds(dtype), np.empty(10, dtype)
    margins.expand_immediate(0, 3, INDPTR, LEVELS, x, theta, z)
    huge = dtype(1e20)
    # Levels 1, 3 of row 0; 2, 2, 4 of row 2. The lowest has no threshold below, the highest none above.
    expected = [
        huge,
        -1 - 0.5,
        -1 - 0.0,
        1 + 1.0,
        2 + 2.0,
        0.5 - 2.0,
        0.25 + 2.0,
        0.5 - 0.25,
        -0.75 - 1.5,
        huge,
    ]
    assert np.array_equal(z, np.array(expected, dtype))


@dtypes
def test_level_means(dtype: type) -> None:
    x, means, counts = scores(dtype), np.empty((3, 4), dtype), np.empty((3, 4))
    margins.level_means(0, 3, INDPTR, LEVELS, np.ones(1, dtype), x, means, counts)
    assert np.array_equal(counts, [[1, 0, 1, 0], [0, 0, 0, 0], [0, 2, 0, 1]])
    nan = np.nan
    expected = np.array([[0.5, nan, -1, nan], [nan] * 4, [nan, 1.125, nan, -0.75]], dtype)
    assert np.array_equal(means, expected, equal_nan=True)
