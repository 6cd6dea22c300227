"""Draws of rows against closed forms."""

import numpy as np
from tests.together import together

from cofactor.kernels import gibbs_rows
from cofactor.kernels.random import normal
from cofactor.problems.rows import table_of

from .reference import KEY, begun, positive_definite, random_pattern

NOWHERE = np.zeros(0, dtype=np.int32)


def noise(row: int, p: int) -> np.ndarray:
    """Return the first standard normal draws of a row's stream."""
    state, out = begun(row), np.empty(p)
    for a in range(p):
        state, out[a] = normal(np.uint64(state))
    return out


def conditional(features, targets, weights, precision, shift, biased) -> tuple[np.ndarray, np.ndarray]:
    """Return A and A⁻¹ b of a row, by NumPy."""
    features = features.astype(float)
    if biased:
        targets = targets - features[:, -1]
        features[:, -1] = 1
    A = precision + features.T @ (weights[:, None] * features)
    return A, np.linalg.solve(A, shift + features.T @ (weights * targets))


@together("biased", [False, True])
@together("weighted", [False, True])
@together("by_column", [False, True])
@together(("p", "dtype"), [(1, np.float64), (4, np.float32), (6, np.float64), (9, np.float64)])
def test_rows_are_their_mean_plus_noise_of_their_covariance(biased, weighted, by_column, p, dtype):
    """L⁻ᵀ ξ with A = L Lᵀ, and ξ the first draws of the row's stream."""
    rng = np.random.default_rng(p)
    e = random_pattern(rng, 40, 50)
    targets, weights = rng.normal(size=len(e.indices)), rng.gamma(1, 1, len(e.indices)) if weighted else np.full(1, 1.7)
    indptr, indices = (e.col_indptr, e.col_indices) if by_column else (e.indptr, e.indices)
    position = e.to_csr if by_column else NOWHERE
    n = len(indptr) - 1
    other, precision = rng.normal(size=(50, p)).astype(dtype), positive_definite(rng, p)
    shift, out = rng.normal(size=(n, p)), np.full((n, p), np.nan)
    half = (indptr, indices, position, targets, np.sqrt(weights), table_of(other, biased), precision, shift, out)
    gibbs_rows.draw_rows(0, 17, KEY, *half)
    assert np.isnan(out[17:]).all()
    gibbs_rows.draw_rows(17, n, KEY, *half)
    order = e.to_csr if by_column else np.arange(len(targets))
    assert any(indptr[i] == indptr[i + 1] for i in range(n))
    for i in range(n):
        here = order[indptr[i] : indptr[i + 1]]
        w = weights[here] if weighted else np.full(len(here), 1.7)
        features = other[indices[indptr[i] : indptr[i + 1]]]
        A, mean = conditional(features, targets[here], w, precision, shift[i], biased)
        expected = mean + np.linalg.solve(np.linalg.cholesky(A).T, noise(i, p))
        np.testing.assert_allclose(out[i], expected, atol=2e-5 if dtype is np.float32 else 1e-9)


@together(("p", "n"), [(1, 5000), (9, 1000), (60, 65), (200, 70)])
def test_entries_of_a_row_are_taken_piece_by_piece(p, n):
    rng = np.random.default_rng(n)
    other, precision, shift, out = rng.normal(size=(n, p)), positive_definite(rng, p), rng.normal(size=p), np.empty(p)
    targets, weights, indices = rng.normal(size=n), rng.gamma(1, 1, n), rng.permutation(n).astype(np.int32)
    table, prior, room = table_of(other, True), gibbs_rows.prior_equations(precision), gibbs_rows.room_of_rows(p, 0.0)
    given = targets, np.sqrt(weights), table, prior, shift
    gibbs_rows.draw_row(begun(3), 0, n, indices, NOWHERE, *given, room, out)
    A, mean = conditional(other[indices], targets, weights, precision, shift, True)
    np.testing.assert_allclose(out, mean + np.linalg.solve(np.linalg.cholesky(A).T, noise(3, p)), atol=1e-9)


def test_mean_and_covariance_of_many_draws():
    rng = np.random.default_rng(0)
    n, m, p = 40_000, 5, 3
    other, precision = rng.normal(size=(m, p)), positive_definite(rng, p)
    targets, shift, out = rng.normal(size=m), rng.normal(size=p), np.empty((n, p))
    weights = rng.gamma(2, 1, m)
    items = np.tile(np.arange(m, dtype=np.int32), n)
    gibbs_rows.draw_rows(
        0, n, KEY, np.arange(n + 1) * m, items, NOWHERE, np.tile(targets, n), np.tile(np.sqrt(weights), n),
        table_of(other, True), precision, np.tile(shift, (n, 1)), out,
    )  # fmt: skip
    A, mean = conditional(other, targets, weights, precision, shift, True)
    covariance = np.linalg.inv(A)
    spread = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(out.mean(axis=0) - mean) < 4 * spread / np.sqrt(n))
    assert np.all(np.abs(np.cov(out.T) - covariance) < 6 * np.outer(spread, spread) / np.sqrt(n))


def test_new_users_are_drawn_alike_alone_and_among_others():
    rng = np.random.default_rng(1)
    e = random_pattern(rng, 20, 15)
    targets, other, precision = rng.normal(size=len(e.indices)), rng.normal(size=(15, 3)), positive_definite(rng, 3)
    shift, out, roots = rng.normal(size=(20, 3)), np.empty((20, 3)), np.full(1, 1.4)
    gibbs_rows.fold_rows(0, 20, KEY, e.indptr, e.indices, targets, roots, other, precision, shift, out)
    for i in range(20):
        here = slice(e.indptr[i], e.indptr[i + 1])
        alone, indptr = np.empty((1, 3)), np.array([0, here.stop - here.start])
        gibbs_rows.draw_rows(
            0, 1, KEY, indptr, e.indices[here], NOWHERE, targets[here], roots, table_of(other, False), precision,
            shift[i : i + 1], alone,
        )  # fmt: skip
        assert np.array_equal(out[i], alone[0])


@together("p", [1, 3, 11, 15, 16, 20])
@together("biased", [False, True])
def test_scores(p, biased):
    rng = np.random.default_rng(p)
    other, own, items = rng.normal(size=(40, p)), rng.normal(size=p), rng.integers(40, size=70, dtype=np.int32)
    x, near = np.empty(50), np.empty(50)
    gibbs_rows.set_scores(10, 60, items, table_of(other, biased), own, x)
    d = p - biased
    expected = other[items[10:60], :d] @ own[:d]
    np.testing.assert_allclose(x, expected + own[-1] + other[items[10:60], -1] if biased else expected, atol=1e-13)
    table, rows = gibbs_rows.own_table(items[10:60], other, biased, 0.0)
    gibbs_rows.set_scores(0, 50, rows, table, own, near)
    assert np.array_equal(near, x)


def test_equations_that_travel_are_those_of_rows():
    rng = np.random.default_rng(5)
    e, p = random_pattern(rng, 30, 20), 5
    other, precision, n = rng.normal(size=(30, p)), positive_definite(rng, p), 20
    targets, roots, shift = rng.normal(size=len(e.indices)), rng.gamma(2, 1, len(e.indices)), rng.normal(size=(n, p))
    entries = e.col_indptr, e.col_indices, e.to_csr, targets, roots, table_of(other, True), precision
    here, there, equations = np.empty((n, p)), np.empty((n, p)), np.empty((n, p * (p + 3) // 2))
    gibbs_rows.draw_rows(0, n, KEY, *entries, shift, here)
    gibbs_rows.column_equations(0, 9, 0, *entries, shift, equations)
    gibbs_rows.column_equations(9, n, 9, *entries, shift[9:], equations[9:])
    gibbs_rows.draw_solutions(0, n, KEY, equations, there)
    assert np.array_equal(here, there)


@together("weighted", [False, True])
@together(("p", "n"), [(1, 3), (9, 5), (15, 200), (16, 40), (49, 20)])
def test_later_draws_from_the_same_equations_are_those_of_a_row(p, n, weighted):
    rng = np.random.default_rng(n)
    other, precision, shift = rng.normal(size=(n, p)), positive_definite(rng, p), rng.normal(size=p)
    roots = rng.gamma(2, 1, n) if weighted else np.full(1, 1.3)
    prior, room = gibbs_rows.prior_equations(precision), gibbs_rows.room_of_rows(p, 0.0)
    table, rows = gibbs_rows.own_table(np.arange(n, dtype=np.int32), other, True, 0.0)
    expected, out = np.empty(p), np.empty(p)
    gibbs_rows.begin_draws(roots, table, prior, shift, room)
    for row in range(3):
        targets = rng.normal(size=n)
        after = gibbs_rows.draw_again(begun(row), targets, roots, table, shift, room, out)
        others = gibbs_rows.prior_equations(precision), shift, gibbs_rows.room_of_rows(p, 0.0)
        same = gibbs_rows.draw_row(begun(row), 0, n, rows, NOWHERE, targets, roots, table, *others, expected)
        assert after == same
        np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-9)
