"""Rough expectations against exact ones, and the best of a row against a sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cofactor.kernels import gibbs, ranking


@pytest.mark.parametrize("biased", [False, True])
def test_rough_expectations_are_nearly_those_of_the_probabilities(biased):
    rng = np.random.default_rng(0)
    S, n, m, p, R = 6, 5, 700, 8, 4  # more items than a block of the kernel has, and factors in fours and alone
    U, V = rng.normal(size=(S, n, p)).astype(np.float32), rng.normal(size=(S, m, p)).astype(np.float32)
    thresholds = np.sort(2 * rng.normal(size=(S, n, R - 1))).astype(np.float32)
    roots, draws, weights = rng.gamma(3, 1, (S, n)), np.array([1, 2, 5]), np.array([0.5, 1.0, 1.0, 4.0])
    users, items = np.array([3, 0, 3], dtype=np.int32), rng.permutation(m)[:600].astype(np.int32)
    out = np.full((3, 600), np.nan, dtype=np.float32)
    ranking.rough_expectations(users, items[None], draws, U, V, thresholds, roots, weights, biased, out)
    probabilities = np.empty((3, 600, R))
    for row, user in enumerate(users):
        own, here = np.full(600, user), roots[:, user].copy()
        gibbs.level_probabilities(0, 600, own, items, draws, U, V, thresholds, here, biased, probabilities[row])
    np.testing.assert_allclose(out, probabilities @ weights, atol=1.7e-4 * 3.5 + 1e-5)
    # The same bits for an item wherever it stands.
    own = np.stack([items[500:537], items[3:40], items[37:0:-1]])
    alone = np.empty((3, 37), dtype=np.float32)
    ranking.rough_expectations(users, own, draws, U, V, thresholds, roots, weights, biased, alone)
    assert np.array_equal(alone, np.stack([out[0, 500:537], out[1, 3:40], out[2, 37:0:-1]]))


@given(
    hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.integers(-2, 2)),
    st.integers(1, 12),
    st.integers(1, 12),
)
def test_the_best_of_a_row_are_the_first_of_a_stable_sort(table, n, width):
    table = np.where(table == -2, -np.inf, table).astype(np.float32)
    best, where = np.full((len(table), n), -np.inf), np.full((len(table), n), -1)
    for start in range(0, table.shape[1], width):
        ranking.keep_best(np.ascontiguousarray(table[:, start : start + width]), start, best, where)
    for row, values, columns in zip(table, best, where, strict=True):
        expected = sorted(np.flatnonzero(row > -np.inf), key=lambda j: (-row[j], j))[:n]
        assert sorted(columns[columns >= 0], key=lambda j: (-row[j], j)) == expected
        assert np.array_equal(values[columns >= 0], row[columns[columns >= 0]])
        assert np.count_nonzero(columns < 0) == n - len(expected)
