"""Nearest rows against a sort of all distances."""

import numpy as np
import pytest
from scipy import sparse
from tests.together import together

from cofactor.kernels.threads import thread_limit
from cofactor.labels.adaptation.neighbours import nearest_rows


def by_sorting(known: np.ndarray, queries: np.ndarray, k: int, exclude_self: bool = False) -> np.ndarray:
    distances = ((queries[:, None] - known[None]) ** 2).sum(axis=-1)
    if exclude_self:
        np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def many_ties(n: int, seed: int) -> np.ndarray:
    """Small whole numbers, so that most distances occur more than once, and some rows too."""
    return np.random.default_rng(seed).integers(0, 3, (n, 4)).astype(float)


@together("seed", range(3))
@together("exclude_self", [False, True])
@together("per_block", [1, 100, 10**6])
def test_all_distances_sorted_ties_by_number(seed: int, exclude_self: bool, per_block: int) -> None:
    known = many_ties(60, seed)
    queries = known if exclude_self else many_ties(41, seed + 10)
    expected = by_sorting(known, queries, 7, exclude_self)
    for form in (np.asarray, sparse.csr_array):
        found = nearest_rows(form(known), form(queries), 7, exclude_self=exclude_self, products_per_block=per_block)
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_and_sparse_rows_have_the_same_neighbours(dtype: type) -> None:
    rng = np.random.default_rng(0)
    known, queries = (rng.normal(size=(n, 20)).astype(dtype) * (rng.random((n, 20)) < 0.2) for n in (300, 50))
    known[7] = known[3]
    reference = nearest_rows(known, queries, 10)
    assert np.array_equal(reference, by_sorting(known.astype(float), queries.astype(float), 10))
    for a in (known, sparse.csr_array(known)):
        for b in (queries, sparse.csr_array(queries)):
            assert np.array_equal(nearest_rows(a, b, 10), reference)


def test_an_offset_costs_no_accuracy() -> None:
    """With features such as years or pixels, large squares would hide the distances without centring."""
    rng = np.random.default_rng(0)
    known, queries = rng.normal(size=(200, 3)), rng.normal(size=(30, 3))
    assert np.array_equal(nearest_rows(known + 1e5, queries + 1e5, 5), by_sorting(known, queries, 5))


def test_a_duplicate_is_a_neighbour_a_row_itself_is_not() -> None:
    known = np.array([[1.0], [5.0], [1.0]])
    assert nearest_rows(known, known, 1, exclude_self=True).ravel().tolist() == [2, 0, 0]
    assert nearest_rows(known, known, 1).ravel().tolist() == [0, 1, 0]


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(0)
    known = sparse.csr_array(rng.normal(size=(300, 30)) * (rng.random((300, 30)) < 0.3))
    with thread_limit(1):
        one = nearest_rows(known, known, 9, exclude_self=True)
    with thread_limit(3):
        assert np.array_equal(nearest_rows(known, known, 9, exclude_self=True), one)


def test_how_many_there_are() -> None:
    known = np.eye(3)
    assert nearest_rows(known, known, 0).shape == (3, 0)
    assert nearest_rows(known, known[:0], 2).shape == (0, 2)
    assert nearest_rows(sparse.csr_array(known), sparse.csr_array(np.zeros((1, 3))), 3).tolist() == [[0, 1, 2]]
    with pytest.raises(ValueError, match="k=4: there are 3 rows"):
        nearest_rows(known, known, 4)
    with pytest.raises(ValueError, match="k=3: there are 2 rows"):
        nearest_rows(known, known, 3, exclude_self=True)
