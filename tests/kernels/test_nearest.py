"""Selection of nearest rows, and inner products of sparse ones, against NumPy."""

import numpy as np
import pytest
from scipy import sparse

from cofactor.kernels.nearest import nearest, sparse_products


@pytest.mark.parametrize("k", [1, 3, 7])
def test_nearest_is_a_stable_sort(k: int) -> None:
    rng = np.random.default_rng(0)
    squares = rng.integers(0, 4, 12).astype(float)
    products = rng.integers(0, 3, (20, 12)) / 2
    found = np.empty((20, k), np.int64)
    nearest(products, squares, np.full(20, -1), found)
    expected = np.argsort(squares - 2 * products, axis=1, kind="stable")[:, :k]
    assert np.array_equal(found, expected)


def test_nearest_leaves_out_what_it_is_told() -> None:
    found = np.empty((2, 2), np.int64)
    nearest(np.zeros((2, 3)), np.array([0.0, 1.0, 2.0]), np.array([0, 1]), found)
    assert found.tolist() == [[1, 2], [0, 2]]


def test_differences_below_single_precision_are_ties() -> None:
    found = np.empty((1, 2), np.int64)
    nearest(np.zeros((1, 3)), np.array([1 + 1e-12, 1.0, 2.0]), np.array([-1]), found)
    assert found.tolist() == [[0, 1]]


def test_infinite_distances_are_found_too() -> None:
    found = np.empty((1, 3), np.int64)
    nearest(np.zeros((1, 3)), np.array([np.inf, np.inf, 0.0]), np.array([-1]), found)
    assert found.tolist() == [[2, 0, 1]]


def test_sparse_products() -> None:
    rng = np.random.default_rng(0)
    A, B = (sparse.random_array((n, 9), density=0.3, rng=rng, format="csr") for n in (8, 6))
    columns = B.tocsc()
    start = rng.normal(size=8)
    out = np.full((3, 6), np.nan)
    where = (columns.indptr, columns.indices, columns.data)
    sparse_products(2, 5, start, A.indptr, A.indices, A.data, *where, out)
    np.testing.assert_allclose(out, (A @ B.T).toarray()[2:5] + start[2:5, None], atol=1e-14)
