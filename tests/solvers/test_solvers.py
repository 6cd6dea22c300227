"""What holds for every solver: descent, known optima, certificates, history, callbacks and errors."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.together import together

from cofactor.kernels.threads import thread_limit
from cofactor.losses import AllThreshold, EntryLoss, Hinge, Logistic, Proximal, SmoothHinge, Squared, ZeroOne
from cofactor.penalties import L1, L2, L21, NonNegative
from cofactor.problems import LeastSquaresProblem, ObservedProblem
from cofactor.solvers import SOLVERS, Progress, Result, SolverMismatchError, alternating_least_squares

from ..kernels.reference import pattern, random_pattern
from . import problems
from .problems import FACTORIZATIONS, Function, factorization, fold_in, quadratic, regression

Solver = Callable[..., Result]
solvers = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
smooth_solvers = pytest.mark.parametrize("name", ["lbfgs", "cg", "gd"])


def gradient_at(problem: ObservedProblem, x: np.ndarray) -> np.ndarray:
    g = np.empty_like(x)
    problem.value_gradient(x, g)
    return g


def check_history(problem: ObservedProblem, result: Result) -> None:
    """History never rises, and objective and certificate are those of the point returned."""
    assert np.all(np.diff(result.history) <= 0)
    assert np.all(np.diff(result.seconds) >= 0)
    assert len(result.history) == len(result.seconds) == result.n_iter + 1
    g = np.empty_like(result.x)
    value = problem.value_gradient(result.x, g) + problem.nonsmooth_value(result.x)
    assert result.objective == result.history[-1] == value
    assert result.certificate == problem.certificate(result.x, g)
    assert result.message


@solvers
@pytest.mark.parametrize("loss", FACTORIZATIONS.values(), ids=FACTORIZATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_objective_never_rises(solver: Solver, loss: EntryLoss, dtype: type) -> None:
    problem, x0 = factorization(loss, dtype)
    before = x0.copy()
    result = solver(problem, x0, max_iter=60, tol=0)
    assert result.x.dtype == dtype
    assert result.objective < 0.7 * result.history[0]
    assert np.array_equal(x0, before)
    assert not np.shares_memory(result.x, x0)
    check_history(problem, result)


@together("penalty", [L1(0.3), L21(0.3), NonNegative()], ids=["l1", "l21", "nonnegative"])
@together("dtype", [np.float32, np.float64])
def test_objective_never_rises_with_proximal_steps(penalty: L1 | L21 | NonNegative, dtype: type) -> None:
    problem, x0 = factorization(SmoothHinge(), dtype, penalty)
    if isinstance(penalty, NonNegative):
        x0 = np.abs(x0)
    result = SOLVERS["apg"](problem, x0, max_iter=100, tol=0)
    assert result.history[0] == problem.value_gradient(x0, np.empty_like(x0)) + problem.nonsmooth_value(x0)
    assert result.objective < 0.9 * result.history[0]
    assert np.any(problem.arrays(result.x)["U"])
    check_history(problem, result)


def test_proximal_gradients_project_a_start_outside_the_domain() -> None:
    problem, x0 = factorization(Squared(), np.float64, NonNegative())
    assert problem.nonsmooth_value(x0) == np.inf
    result = SOLVERS["apg"](problem, x0)
    assert np.isfinite(result.history[0])
    assert problem.nonsmooth_value(result.x) == 0


@together("row_solver", ["exact", "cg"])
@together("dtype", [np.float32, np.float64])
def test_alternating_least_squares_never_rises(row_solver: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    p = random_pattern(rng, 25, 20, 0.5)
    y = rng.normal(size=len(p.indices))
    problem = LeastSquaresProblem(p, y, 3, 0.5, 0.1, row_solver, dtype=dtype)  # type: ignore[arg-type]
    x0 = rng.normal(size=problem.size)
    before = x0.copy()
    result = alternating_least_squares(problem, x0, max_iter=30, tol=1e-6)
    assert np.array_equal(x0, before)
    check_history(problem, result)


@together("seed", range(3))
def test_alternating_least_squares_ends_before_rounding_lets_it_rise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = random_pattern(rng, 25, 20, 0.5)
    problem = LeastSquaresProblem(p, rng.normal(size=len(p.indices)), 3, 0.5, 0.1, "exact")
    result = alternating_least_squares(problem, rng.normal(size=problem.size), max_iter=2000, tol=0)
    assert result.converged
    check_history(problem, result)


@solvers
def test_minimiser_of_a_quadratic(solver: Solver) -> None:
    problem, best = quadratic(condition=50)
    result = solver(problem, np.zeros(problem.size), tol=1e-14, max_iter=5000)
    assert result.converged
    np.testing.assert_allclose(result.x, best, atol=1e-5)
    assert result.objective == pytest.approx(1, abs=1e-9)
    assert result.certificate < 1e-3


@together("name", ["lbfgs", "cg"])
def test_valley_of_rosenbrock(name: str) -> None:
    result = SOLVERS[name](problems.rosenbrock(), np.array([-1.2, 1.0]), tol=0, max_iter=60_000)
    np.testing.assert_allclose(result.x, [1, 1], atol=1e-3)
    assert result.n_iter < 200


@solvers
def test_line_searches_shorten_steps_to_nan_and_infinity(solver: Solver) -> None:
    result = solver(problems.barrier(), np.full(5, 0.01), tol=1e-13, max_iter=5000)
    np.testing.assert_allclose(result.x, np.arange(1, 6), atol=1e-4)


@solvers
def test_ridge_regression(solver: Solver) -> None:
    """With V fixed, squared loss and a ridge: U = 2 Y V (2 VᵀV + αI)⁻¹."""
    problem, V, Y = regression(L2(3.0))
    result = solver(problem, np.zeros(problem.size), tol=1e-13, max_iter=3000)
    expected = 2 * Y @ V @ np.linalg.inv(2 * V.T @ V + 3 * np.eye(V.shape[1]))
    np.testing.assert_allclose(problem.arrays(result.x)["U"], expected, atol=1e-5)


@solvers
def test_known_optimum_of_a_factorization(solver: Solver) -> None:
    alpha = 2.0
    Y, best = problems.soft_thresholded(alpha=alpha)
    shapes = {"U": (Y.shape[0], 3), "V": (Y.shape[1], 3)}
    penalties = {"U": L2(alpha), "V": L2(alpha)}
    problem = ObservedProblem(
        pattern(np.ones(Y.shape, bool)), Y.ravel(), Squared(), shapes, penalties, dtype=np.float64
    )
    result = solver(problem, np.random.default_rng(0).normal(size=problem.size), tol=1e-12, max_iter=5000)
    assert result.objective == pytest.approx(best, rel=1e-8)
    assert result.certificate < 1e-2
    arrays = problem.arrays(result.x)
    U, S, Vt = np.linalg.svd(Y, full_matrices=False)
    expected = (U * np.maximum(S - alpha / 2, 0)) @ Vt
    np.testing.assert_allclose(arrays["U"] @ arrays["V"].T, expected, atol=1e-3)


@together("row_solver", ["exact", "cg"])
def test_known_optimum_by_alternating_least_squares(row_solver: str) -> None:
    Y, best = problems.soft_thresholded(alpha=2.0)
    problem = LeastSquaresProblem(
        pattern(np.ones(Y.shape, bool)), Y.ravel(), 3, 1.0, None, row_solver, dtype=np.float64  # type: ignore[arg-type]
    )  # fmt: skip
    x0 = np.random.default_rng(0).normal(size=problem.size)
    result = alternating_least_squares(problem, x0, tol=1e-12, max_iter=1000)
    assert result.converged
    assert result.objective == pytest.approx(best, rel=1e-9)


@together("loss", [SmoothHinge(), Logistic(), AllThreshold(Logistic()), AllThreshold(), Proximal(n_levels=5)])
def test_all_solvers_and_scipy_find_one_optimum_of_a_convex_problem(loss: EntryLoss) -> None:
    penalties = {"U": L2(0.5), "own": L2(0.1)}
    problem, _ = fold_in(loss, penalties)
    x0 = np.zeros(problem.size)
    oracle = minimize(
        lambda x: (problem.value_gradient(x, g := np.empty_like(x)), g),
        x0, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    for name, solver in SOLVERS.items():
        result = solver(problem, x0, tol=1e-13, max_iter=20_000)
        assert result.converged
        assert result.objective == pytest.approx(oracle.fun, rel=1e-9), name
        assert result.certificate < 1e-3 * np.linalg.norm(gradient_at(problem, x0)), name
        np.testing.assert_allclose(result.x, oracle.x, atol=1e-3)


def test_lbfgs_and_scipy_reach_one_optimum_of_a_factorization() -> None:
    """With full rank the factorization has no worse local minima, so both must end at the same objective."""
    problem, x0 = factorization(Logistic(), penalty=L2(2.0))
    oracle = minimize(
        lambda x: (problem.value_gradient(x, g := np.empty_like(x)), g),
        x0, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    result = SOLVERS["lbfgs"](problem, x0, tol=1e-12, max_iter=3000)
    assert result.objective == pytest.approx(oracle.fun, rel=1e-7)


@together("name", SOLVERS)
def test_bits_do_not_depend_on_threads(name: str) -> None:
    rng = np.random.default_rng(3)
    p = random_pattern(rng, 250, 200, 0.8)
    y = rng.choice([-1.0, 1.0], len(p.indices))
    shapes = {"U": (250, 5), "V": (200, 5)}
    problem = ObservedProblem(p, y, SmoothHinge(), shapes, {"U": L2(5.0), "V": L2(5.0)})
    x0 = rng.normal(size=problem.size).astype(np.float32)
    results = []
    for limit in (1, 2, 3):
        with thread_limit(limit):
            results.append(SOLVERS[name](problem, x0, max_iter=12))
    for other in results[1:]:
        assert np.array_equal(other.x, results[0].x)
        assert other.history == results[0].history


class Untouchable(ObservedProblem):
    """A problem which must be refused before it is evaluated."""

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        raise AssertionError("evaluated before it was refused")


def untouchable(loss: EntryLoss, penalty: L1 | L2 | L21 | NonNegative) -> Untouchable:
    p = random_pattern(np.random.default_rng(0), 6, 5)
    targets = np.ones(len(p.indices), dtype=np.uint8 if loss.target == "ordinal" else float)
    return Untouchable(p, targets, loss, {"U": (6, 2), "V": (5, 2)}, {"U": penalty})


@smooth_solvers
@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        (Hinge(), L2()),
        (ZeroOne(), L2()),
        (SmoothHinge(), L1()),
        (Squared(), L21()),
        (Squared(), NonNegative()),
    ],
)
def test_smooth_solvers_refuse_kinks_before_the_first_evaluation(
    name: str, loss: EntryLoss, penalty: L1 | L2 | L21 | NonNegative
) -> None:
    with pytest.raises(SolverMismatchError, match=rf"solver '{name}' needs a gradient.*solver='apg'.*smooth-hinge"):
        SOLVERS[name](untouchable(loss, penalty), np.zeros(22))


@together("loss", [Hinge(), ZeroOne(), AllThreshold(Hinge())])
def test_proximal_gradients_refuse_losses_with_kinks(loss: EntryLoss) -> None:
    with pytest.raises(SolverMismatchError, match=r"'apg' needs a smooth loss, but \w+ has kinks: .*smooth-hinge"):
        SOLVERS["apg"](untouchable(loss, L2()), np.zeros(22))


@solvers
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_start_is_an_error(solver: Solver, bad: float) -> None:
    problem, x0 = factorization(Squared())
    x0[3] = bad
    with pytest.raises(ValueError, match=r"the objective is (nan|inf) at the starting point"):
        solver(problem, x0)


def only_defined_at_zero(objective: float, slope: float) -> Function:
    """A function with value 1 and slopes 1 at 0, and this value with this slope at all other finite points."""
    return Function(3, lambda x: (objective + 0 * x.sum(), np.full(3, slope)) if x.any() else (1.0, np.ones(3)))


@solvers
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_an_objective_that_is_not_finite_is_no_convergence(solver: Solver, bad: float) -> None:
    result = solver(only_defined_at_zero(bad, 1.0), np.zeros(3))
    assert not result.converged
    assert str(bad) in result.message


@smooth_solvers
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_gradient_that_is_not_finite_is_no_convergence(name: str, bad: float) -> None:
    result = SOLVERS[name](only_defined_at_zero(0.5, bad), np.zeros(3))
    assert not result.converged
    assert "the objective or its gradient became" in result.message


def test_proximal_gradients_return_from_beyond_the_domain() -> None:
    """Where momentum leaves the domain of f, the next step starts from the best point."""
    result = SOLVERS["apg"](problems.barrier(), np.array([50.0, 0.01, 40.0, 0.01, 30.0]), tol=1e-13, max_iter=5000)
    assert result.converged
    np.testing.assert_allclose(result.x, np.arange(1, 6), atol=1e-4)


@solvers
@pytest.mark.parametrize("options", [{"max_iter": 0}, {"tol": -1e-3}, {"tol": np.nan}])
def test_bad_options_are_refused(solver: Solver, options: dict[str, float]) -> None:
    problem, x0 = factorization(Squared())
    with pytest.raises(ValueError, match="expected max_iter >= 1 and tol >= 0"):
        solver(problem, x0, **options)


@solvers
def test_callback_is_called_for_every_iteration(solver: Solver) -> None:
    problem, x0 = factorization(SmoothHinge())
    seen: list[Progress] = []
    result = solver(problem, x0, max_iter=20, tol=0, callback=seen.append)
    assert [p.iteration for p in seen] == list(range(1, result.n_iter + 1))
    assert [p.objective for p in seen] == result.history[1:]
    assert [p.elapsed for p in seen] == result.seconds[1:]
    assert all(p.max_iter == 20 for p in seen)


@solvers
def test_an_exception_of_the_callback_ends_the_run(solver: Solver) -> None:
    problem, x0 = factorization(SmoothHinge())

    def stop_at_three(progress: Progress) -> None:
        if progress.iteration == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solver(problem, x0, callback=stop_at_three, tol=0)


@solvers
def test_max_iter_ends_a_run_without_convergence(solver: Solver) -> None:
    problem, x0 = factorization(SmoothHinge())
    result = solver(problem, x0, max_iter=4, tol=0)
    assert result.n_iter == 4
    assert not result.converged
    assert "max_iter=4" in result.message


@solvers
def test_a_looser_tolerance_ends_earlier(solver: Solver) -> None:
    problem, x0 = factorization(SmoothHinge())
    loose, tight = (solver(problem, x0, max_iter=5000, tol=tol) for tol in (1e-2, 1e-6))
    assert loose.converged
    assert tight.converged
    assert loose.n_iter < tight.n_iter
    assert tight.objective < loose.objective
    assert tight.history[: len(loose.history)] == loose.history
    # The rule itself: over the last five iterations the drop is at most tol per iteration, and not before.
    for result, tol in ((loose, 1e-2), (tight, 1e-6)):
        history = np.array(result.history)
        drops = history[:-5] - history[5:]
        settled = drops <= 5 * tol * np.abs(history[5:])
        assert settled[-1]
        assert not settled[:-1].any()


@solvers
def test_a_start_at_the_optimum_is_returned(solver: Solver) -> None:
    problem, best = quadratic()
    result = solver(problem, best)
    assert result.converged
    np.testing.assert_allclose(result.x, best, atol=1e-8)
    assert result.objective == 1
    assert result.certificate < 1e-5


@solvers
def test_a_start_in_another_precision_is_taken(solver: Solver) -> None:
    problem, x0 = factorization(SmoothHinge(), np.float32)
    result = solver(problem, x0.astype(np.float64), max_iter=3)
    assert result.x.dtype == np.float32
    assert np.array_equal(result.x, solver(problem, x0, max_iter=3).x)
