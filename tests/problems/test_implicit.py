"""Least squares over all cells: J, its gradient, and what each step tells of J."""

import numpy as np
import pytest
from tests.together import together

from cofactor.problems.implicit import ImplicitProblem
from cofactor.ratings.ranking.counts import as_interactions

rng = np.random.default_rng(0)
X = np.argwhere(rng.random((30, 21)) < 0.3) + np.array([0, 3])
INTERACTIONS = as_interactions([(29, 99), *map(tuple, X[X[:, 0] != 4].tolist()), (4, 3)])
WEIGHTS = rng.uniform(0.5, 3, INTERACTIONS.n_ratings).astype(np.float32)


def objective(U: np.ndarray, V: np.ndarray, weights: np.ndarray, alpha: float, unobserved: float) -> float:
    """Return J, cell by cell."""
    w = np.zeros(INTERACTIONS.shape)
    w[INTERACTIONS.row_of_entry, INTERACTIONS.indices] = weights
    n, m = INTERACTIONS.shape
    scores = U @ V.T
    rows, columns = w.sum(axis=1) + unobserved * m, w.sum(axis=0) + unobserved * n
    fit = (w * (1 - scores) ** 2).sum() + unobserved * (scores**2).sum()
    return float(fit + alpha * (rows @ (U**2).sum(axis=1) + columns @ (V**2).sum(axis=1)))


@together("d", [1, 5, 16, 19])
def test_value_and_gradient_are_those_of_all_cells(d: int) -> None:
    problem = ImplicitProblem(INTERACTIONS, WEIGHTS, d, 0.1, 0.3, "cg")
    x = rng.normal(0, 0.5, problem.size).astype(np.float32)
    gradient = np.empty_like(x)

    def at(point: np.ndarray) -> float:
        arrays = problem.layout.views(point)
        return objective(arrays["U"], arrays["V"], WEIGHTS.astype(float), 0.1, 0.3)

    wide = x.astype(np.float64)
    assert problem.value_gradient(x, gradient) == pytest.approx(at(wide), rel=1e-5)
    for k in rng.choice(len(x), 10, replace=False):
        step = np.zeros_like(wide)
        step[k] = 1e-4
        slope = (at(wide + step) - at(wide - step)) / 2e-4
        assert gradient[k] == pytest.approx(slope, rel=1e-3, abs=1e-2)


@together("solver", ["exact", "normal", "cg"])
def test_a_step_over_rows_or_columns_tells_j(solver: str) -> None:
    problem = ImplicitProblem(INTERACTIONS, WEIGHTS, 19, 0.05, 0.2, solver)
    x = rng.normal(0, 0.3, problem.size).astype(np.float32)
    last, gradient = problem.value_gradient(x, np.empty_like(x)), np.empty_like(x)
    for step in (problem.update_rows, problem.update_columns) * 4:
        told = step(x)
        assert told == pytest.approx(problem.value_gradient(x, gradient), rel=1e-5)
        assert told < last + 1e-4
        last = told


def test_conjugate_gradients_come_to_the_normal_equations() -> None:
    found = []
    for solver in ("exact", "cg"):
        problem = ImplicitProblem(INTERACTIONS, None, 5, 0.05, 0.2, solver)
        x = np.random.default_rng(1).normal(0, 0.3, problem.size).astype(np.float32)
        for _ in range(6):  # of three steps each
            problem.update_rows(x)
        found.append(x)
    np.testing.assert_allclose(found[1], found[0], atol=1e-4)


def test_no_weights_are_weights_of_one() -> None:
    some = [ImplicitProblem(INTERACTIONS, w, 3, 0.1, 0.3, "cg") for w in (None, np.ones(INTERACTIONS.n_ratings))]
    points = [np.random.default_rng(2).normal(size=one.size).astype(np.float32) for one in some]
    told = [one.update_columns(x) for one, x in zip(some, points, strict=True)]
    assert told[0] == told[1]
    assert points[0].tobytes() == points[1].tobytes()


@together("weights", [None, WEIGHTS], ids=["alike", "weighed"])
@together("d", [5, 16, 40])  # rows with half as many entries are solved in the number of these
def test_rows_with_few_entries_are_those_of_the_normal_equations(d: int, weights: np.ndarray | None) -> None:
    found, told = [], []
    for solver in ("exact", "normal"):
        problem = ImplicitProblem(INTERACTIONS, weights, d, 0.05, 0.2, solver)
        x = np.random.default_rng(1).normal(0, 0.3, problem.size).astype(np.float32)
        told.append([problem.update_rows(x), problem.update_columns(x), problem.update_rows(x)])
        found.append(x)
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    assert told[1] == pytest.approx(told[0], rel=1e-6)
