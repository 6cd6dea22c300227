"""Loops over observed entries against dense NumPy."""

from itertools import pairwise

import numpy as np
import pytest
from tests.together import together

from cofactor.kernels import observed
from cofactor.kernels.lanes import pad_to_lanes

from . import reference
from .reference import Pattern, cuttings, random_pattern

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}
shapes = together(("n", "m"), [(9, 7), (1, 6), (6, 1), (1, 1), (40, 30)])
widths = together("d", [1, 7, 16, 100])
dtypes = together("dtype", [np.float32, np.float64])


def setting(n: int, m: int, d: int, dtype: type) -> tuple[Pattern, dict[str, np.ndarray]]:
    rng = np.random.default_rng([n, m, d])
    p = random_pattern(rng, n, m)
    arrays = {"U": (n, d), "V": (m, d), "b": (n,), "c": (m,), "w": (len(p.indices),)}
    return p, {name: rng.normal(size=shape).astype(dtype) for name, shape in arrays.items()}


@shapes
@widths
@dtypes
def test_scores(n: int, m: int, d: int, dtype: type) -> None:
    p, a = setting(n, m, d, dtype)
    U, V = pad_to_lanes(a["U"]), pad_to_lanes(a["V"])
    results = []
    for cuts in cuttings(n):
        out = np.full(len(p.indices), np.nan, dtype)
        for lo, hi in pairwise(cuts):
            observed.scores(lo, hi, p.indptr, p.indices, U, U, V, a["b"], a["c"], out)
        results.append(out)
    expected = reference.scores(p, a["U"], a["V"], a["b"], a["c"])
    np.testing.assert_allclose(results[0], expected, rtol=0, atol=TOLERANCE[dtype] * d)
    assert all(np.array_equal(results[0], other) for other in results[1:])


@shapes
@widths
@dtypes
def test_accumulate(n: int, m: int, d: int, dtype: type) -> None:
    p, a = setting(n, m, d, dtype)
    results = []
    for cuts in cuttings(n):
        out = np.full((n, d), np.nan, dtype)
        for lo, hi in pairwise(cuts):
            observed.accumulate(
                lo, hi, p.indptr, p.indices, observed.IN_PLACE, a["w"], a["w"], pad_to_lanes(a["V"]), out
            )
        results.append(out)
    expected = reference.dense_weights(p, a["w"]) @ a["V"].astype(float)
    np.testing.assert_allclose(results[0], expected, rtol=0, atol=TOLERANCE[dtype] * m)
    assert all(np.array_equal(results[0], other) for other in results[1:])


@shapes
@dtypes
def test_row_sums(n: int, m: int, dtype: type) -> None:
    p, a = setting(n, m, 1, dtype)
    results = []
    for cuts in cuttings(n):
        out = np.full(n, np.nan, dtype)
        for lo, hi in pairwise(cuts):
            observed.row_sums(lo, hi, p.indptr, a["w"], out)
        results.append(out)
    np.testing.assert_allclose(results[0], reference.dense_weights(p, a["w"]).sum(axis=1), atol=TOLERANCE[dtype])
    assert all(np.array_equal(results[0], other) for other in results[1:])


@dtypes
def test_gather_turns_row_order_into_column_order(dtype: type) -> None:
    p, a = setting(9, 7, 1, dtype)
    out = np.full(len(a["w"]), np.nan, dtype)
    observed.gather(0, 3, p.to_csr, a["w"], out)
    assert np.all(np.isnan(out[3:]))
    observed.gather(3, len(out), p.to_csr, a["w"], out)
    columns = np.repeat(np.arange(7), np.diff(p.col_indptr))
    assert np.array_equal(out, reference.dense_weights(p, a["w"])[p.col_indices, columns].astype(dtype))


@widths
@dtypes
def test_pair_scores(d: int, dtype: type) -> None:
    _, a = setting(9, 7, d, dtype)
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 9, 50).astype(np.int32), rng.integers(0, 7, 50).astype(np.int32)
    rows[::7], columns[::5] = -1, -1
    out = np.full(50, np.nan, dtype)
    for start, stop in ((0, 20), (20, 50)):
        observed.pair_scores(start, stop, rows, columns, a["U"], a["V"], a["b"], a["c"], out)
    for k, (i, j) in enumerate(zip(rows, columns, strict=True)):
        expected = 0.0  # an unknown row or column adds nothing
        expected += float(a["b"][i]) if i >= 0 else 0
        expected += float(a["c"][j]) if j >= 0 else 0
        expected += float(a["U"][i].astype(float) @ a["V"][j]) if i >= 0 and j >= 0 else 0
        assert out[k] == pytest.approx(expected, abs=TOLERANCE[dtype] * d)


@dtypes
def test_nan_and_infinity_keep_their_meaning(dtype: type) -> None:
    """The relaxed arithmetic of the kernels must not assume them away: solvers step back from them."""
    p, a = setting(9, 7, 3, dtype)
    a["U"][0, 1], a["U"][1, 1] = np.nan, np.inf
    out = np.empty(len(p.indices), dtype)
    U, V = pad_to_lanes(a["U"]), pad_to_lanes(a["V"])
    observed.scores(0, 9, p.indptr, p.indices, U, U, V, a["b"], a["c"], out)
    assert np.all(np.isnan(out[: p.indptr[1]]))
    assert np.all(np.isinf(out[p.indptr[1] : p.indptr[2]]))
    assert np.all(np.isfinite(out[p.indptr[2] :]))
