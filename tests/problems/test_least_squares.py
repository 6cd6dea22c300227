"""Regularized least squares: objective from its formula, and updates that end where the gradient is zero."""

import numpy as np
import pytest
from tests.together import together

from cofactor.kernels.threads import thread_limit
from cofactor.problems import LeastSquaresProblem

from ..kernels.reference import Pattern, random_pattern

ALPHA, ALPHA_BIAS = 0.6, 0.25


def setting(
    biases: bool, row_solver: str, dtype: type = np.float64
) -> tuple[LeastSquaresProblem, Pattern, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = random_pattern(rng, 15, 11, 0.5)
    y = rng.normal(size=len(p.indices))
    problem = LeastSquaresProblem(
        p, y, 3, ALPHA, ALPHA_BIAS if biases else None, row_solver, dtype=dtype  # type: ignore[arg-type]
    )  # fmt: skip
    return problem, p, y, rng.normal(size=problem.size).astype(dtype)


@together("biases", [False, True])
def test_objective(biases: bool) -> None:
    problem, p, y, x = setting(biases, "exact")
    a = problem.arrays(x)
    gaps = y - (a["U"] @ a["V"].T + a["b"][:, None] + a["c"])[p.rows, p.indices]
    expected = (gaps**2).sum() + ALPHA * ((a["U"] ** 2).sum() + (a["V"] ** 2).sum())
    expected += ALPHA_BIAS * ((a["b"] ** 2).sum() + (a["c"] ** 2).sum())
    assert problem.value_gradient(x, np.empty_like(x)) == pytest.approx(expected, rel=1e-13)


@together("biases", [False, True])
@together("rows", [True, False])
def test_exact_updates_end_where_their_gradient_is_zero(biases: bool, rows: bool) -> None:
    problem, _, _, x = setting(biases, "exact")
    start, g = x.copy(), np.empty_like(x)
    (problem.update_rows if rows else problem.update_columns)(x)
    problem.value_gradient(x, g)
    slopes, before, after = problem.layout.views(g), problem.layout.views(start), problem.layout.views(x)
    moved = {"U", "b"} if rows else {"V", "c"}
    for name, slope in slopes.items():
        if name in moved:
            np.testing.assert_allclose(slope, 0, atol=1e-11)
            assert not np.array_equal(before[name], after[name])
        else:
            assert np.abs(slope).max() > 0.1
            assert np.array_equal(before[name], after[name])


@together("biases", [False, True])
@together("row_solver", ["exact", "cg"])
def test_no_update_raises_the_objective(biases: bool, row_solver: str) -> None:
    problem, _, _, x = setting(biases, row_solver)
    g = np.empty_like(x)
    objectives = [problem.value_gradient(x, g)]
    for _ in range(10):
        for update in (problem.update_rows, problem.update_columns):
            update(x)
            objectives.append(problem.value_gradient(x, g))
    assert np.all(np.diff(objectives) <= 1e-12)
    assert objectives[-1] < 0.5 * objectives[0]


@together("row_solver", ["exact", "cg"])
@together("dtype", [np.float32, np.float64])
def test_bits_do_not_depend_on_threads(row_solver: str, dtype: type) -> None:
    rng = np.random.default_rng(1)
    p = random_pattern(rng, 300, 250, 0.8)
    y = rng.normal(size=len(p.indices))
    results = []
    for limit in (1, 2, 3):
        problem = LeastSquaresProblem(p, y, 6, ALPHA, ALPHA_BIAS, row_solver, dtype=dtype)  # type: ignore[arg-type]
        x = np.random.default_rng(2).normal(size=problem.size).astype(dtype)
        with thread_limit(limit):
            problem.update_rows(x)
            problem.update_columns(x)
        results.append(x)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
