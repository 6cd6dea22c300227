"""Samples of some users, from where they lie user by user."""

import numpy as np

from cofactor.kernels.gibbs import samples_of


def test_samples_of_rows_are_those_of_numpy() -> None:
    table = np.random.default_rng(0).normal(size=(7, 5, 3)).astype(np.float32)
    rows = np.array([6, 0, -1, 0], dtype=np.int32)
    out = np.empty((5, 4, 3), dtype=np.float32)
    samples_of(table, rows, out)
    np.testing.assert_array_equal(out, table[rows].swapaxes(0, 1))
