"""Sixteen numbers at a time: what NumPy says of each."""

import numpy as np

from cofactor.kernels.compile import ordered
from cofactor.kernels.lanes import LANES, any_nonzero, doubled, filled, load, spread, store, total, where_positive


@ordered
def work(table, out):
    x, y = load(table, 0), load(table, 1)
    store(out, 0, x + y)
    store(out, 1, x - y)
    store(out, 2, x * y)
    store(out, 3, x / y)
    store(out, 4, max(x, y))
    store(out, 5, min(x, y))
    store(out, 6, where_positive(x, y, filled(np.float32(7))))
    x += y
    x *= y
    store(out, 7, x)
    return any_nonzero(y - y), any_nonzero(load(table, 2))


def test_operations_are_those_of_numpy():
    table = np.random.default_rng(0).normal(size=(3, LANES)).astype(np.float32)
    table[0, 2] = 0
    table[2] = np.eye(1, LANES, 11)
    x, y, _ = table
    out = np.empty((8, LANES), np.float32)
    assert work(table, out) == (False, True)
    chosen = np.where(x > 0, y, np.float32(7))
    np.testing.assert_array_equal(out[:7], [x + y, x - y, x * y, x / y, np.maximum(x, y), np.minimum(x, y), chosen])
    np.testing.assert_allclose(out[7], (x + y) * y, rtol=1e-6, atol=1e-6)


def test_what_is_not_a_number_counts_as_nonzero_and_is_not_positive():
    table = np.zeros((3, LANES), np.float32)
    table[2, 3] = table[0, 5] = np.nan
    table[1] = 1
    out = np.empty((8, LANES), np.float32)
    assert work(table, out)[1]
    assert out[6, 5] == 7


@ordered
def sums(table, out):
    for k in range(len(table)):
        out[k] = total(load(table, k))


def test_sums_are_those_of_all_numbers():
    table = np.random.default_rng(1).normal(size=(3, LANES)).astype(np.float32)
    out = np.empty(3, np.float32)
    sums(table, out)
    np.testing.assert_allclose(out, table.sum(axis=1, dtype=np.float64), rtol=1e-5, atol=1e-6)


@ordered
def mixed(table, wide, out):
    x = doubled(load(table, 1)) * load(wide, 0) + filled(0.1)
    store(out, 0, x - doubled(spread(table, 1, 3)))
    store(out, 1, doubled(load(wide, 1)) / spread(wide, 0, 17))
    return total(x)


def test_double_precision_and_what_comes_to_it():
    rng = np.random.default_rng(2)
    table, wide = rng.normal(size=(2, LANES)).astype(np.float32), rng.normal(size=(2, LANES))
    out = np.empty((2, LANES))
    x = table[1].astype(float) * wide[0] + 0.1
    assert abs(mixed(table, wide, out) - x.sum()) < 1e-14
    np.testing.assert_allclose(out, [x - table[1, 3].astype(float), wide[1] / wide[1, 1]], rtol=1e-14, atol=1e-15)
