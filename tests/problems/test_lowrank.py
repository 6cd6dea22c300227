"""The low-rank map of features to labels against brute force over dense scores, its gradient by differences."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.together import together

from cofactor.kernels.threads import thread_limit
from cofactor.losses import Hinge, KullbackLeibler, Logistic, MarginLoss, ModifiedSquare, SmoothHinge, Squared
from cofactor.penalties import L1, L2, Penalty
from cofactor.problems import LowRankProblem
from cofactor.solvers import SOLVERS, SolverMismatchError, lbfgs

from ..losses.reference import MARGINS, gradient

N, D, L, RANK = 11, 6, 5, 3
SHAPES: dict[str, tuple[int, ...]] = {"U": (D, RANK), "V": (RANK, L), "c": (L,)}
PENALTIES: dict[str, Penalty] = {"U": L2(0.7), "V": L2(1.3), "c": L2(0.2)}
LOSSES: list[MarginLoss | Squared] = [SmoothHinge(), Logistic(), ModifiedSquare(), Squared()]
NAMES = [type(loss).__name__ for loss in LOSSES]


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6)
    return X, (rng.random((N, L)) < 0.3).astype(float)


def arrays(seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape) for name, shape in SHAPES.items()}


def brute(loss: Any, X: np.ndarray, Y: np.ndarray, a: dict[str, np.ndarray], free: tuple[str, ...]) -> float:
    """The objective from its formula, over the dense matrix of scores."""
    scores = X @ a["U"] @ a["V"] + a.get("c", 0)
    if isinstance(loss, Squared):
        total = float(((Y - scores) ** 2).sum())
    else:
        total = float(MARGINS[type(loss)][0](np.where(Y > 0, 1, -1) * scores).sum())
    return total + sum(0.5 * PENALTIES[name].alpha * float((a[name] ** 2).sum()) for name in free)


@together("fixed", [(), ("V",), ("U",), ("U", "c")], ids=lambda f: "+".join(f) or "none")
@together("fit_intercept", [False, True])
@together("loss", LOSSES, ids=NAMES)
def test_objective_and_gradient(loss: Any, fit_intercept: bool, fixed: tuple[str, ...]) -> None:
    X, Y = data()
    a = arrays()
    if not fit_intercept:
        fixed = tuple(name for name in fixed if name != "c")
        del a["c"]
    free = tuple(name for name in a if name not in fixed)
    problem = LowRankProblem(
        X, Y, loss, RANK, PENALTIES, fit_intercept=fit_intercept, fixed={f: a[f] for f in fixed}, dtype=float
    )  # fmt: skip
    x = problem.pack(a)
    g = np.full_like(x, np.nan)
    assert problem.value_gradient(x, g) == pytest.approx(brute(loss, X, Y, a, free), rel=1e-12)
    expected = gradient(lambda t: brute(loss, X, Y, a | problem.layout.views(t), free), x)
    # Kinks of the second derivative inside a difference stencil cost accuracy.
    np.testing.assert_allclose(g, expected, atol=1e-8 if isinstance(loss, Logistic | Squared) else 2e-3)


@together("per_block", [1, 1 << 20])
@together("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@together("loss", LOSSES, ids=NAMES)
def test_a_weight_is_a_number_of_rows(loss: Any, form: Any, per_block: int) -> None:
    X, Y = data()
    counts = np.random.default_rng(4).integers(0, 4, N)
    options: dict[str, Any] = {"fit_intercept": True, "dtype": float, "scores_per_block": per_block}
    weighted = LowRankProblem(form(X), sparse.csr_array(Y), loss, RANK, PENALTIES, weights=counts, **options)
    rows = np.repeat(np.arange(N), counts)
    repeated = LowRankProblem(form(X[rows]), sparse.csr_array(Y[rows]), loss, RANK, PENALTIES, **options)
    for x in (weighted.pack(arrays()), weighted.start()):
        g, expected = np.full((2, len(x)), np.nan)
        assert weighted.value_gradient(x, g) == pytest.approx(repeated.value_gradient(x, expected), rel=1e-12)
        np.testing.assert_allclose(g, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(np.abs(weighted.start()), np.abs(repeated.start()), rtol=1e-8, atol=1e-10)
    with pytest.raises(ValueError, match="weights have shape"):
        LowRankProblem(X, Y, loss, RANK, PENALTIES, weights=counts[1:])


@together("loss", LOSSES, ids=NAMES)
@together("per_block", [1, 3 * L, 4 * L + 1, 10**6])
@together("sparse_X", [False, True])
@together("sparse_Y", [False, True])
def test_blocks_and_sparsity_change_nothing(loss: Any, per_block: int, sparse_X: bool, sparse_Y: bool) -> None:
    X, Y = data()
    Y[3] = 0  # an instance without labels
    reference = LowRankProblem(X, Y, loss, RANK, PENALTIES, fit_intercept=True, dtype=float)
    X_given = sparse.csr_array(X) if sparse_X else X
    Y_given = sparse.csr_array(Y) if sparse_Y else Y
    problem = LowRankProblem(
        X_given, Y_given, loss, RANK, PENALTIES, fit_intercept=True, dtype=float, scores_per_block=per_block
    )  # fmt: skip
    x = problem.pack(arrays())
    g, g_reference = np.empty_like(x), np.empty_like(x)
    assert problem.value_gradient(x, g) == pytest.approx(reference.value_gradient(x, g_reference), rel=1e-13)
    np.testing.assert_allclose(g, g_reference, atol=1e-12)


def test_stored_zeros_and_old_matrices() -> None:
    """A stored zero is no label, and csr_matrix means the same as csr_array."""
    X, Y = data()
    Y_sparse = sparse.csr_matrix(np.ones_like(Y))
    Y_sparse.data[:] = Y.ravel()
    values = []
    for Z, W in ((X, Y), (sparse.csr_matrix(X), Y_sparse)):
        problem = LowRankProblem(Z, W, Logistic(), RANK, PENALTIES, dtype=float)
        x = problem.pack(arrays())
        g = np.empty_like(x)
        values.append((problem.value_gradient(x, g), *g))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-12)


@together("loss", LOSSES, ids=NAMES)
def test_float32_is_near_float64(loss: Any) -> None:
    X, Y = data()
    values, slopes = [], []
    for dtype in (np.float32, np.float64):
        problem = LowRankProblem(X, Y, loss, RANK, PENALTIES, fit_intercept=True, dtype=dtype)
        x = problem.pack(arrays())
        g = np.empty_like(x)
        values.append(problem.value_gradient(x, g))
        slopes.append(g)
        assert g.dtype == dtype
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    np.testing.assert_allclose(slopes[0], slopes[1], atol=1e-4)


def test_squared_loss_is_exact_where_the_fit_is_nearly_perfect() -> None:
    """The value is a difference of inner products: float32 for these would leave nothing of it."""
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(200, D)), arrays()
    Y = X @ a["U"] @ a["V"] + 1e-3 * rng.normal(size=(200, L))
    problem = LowRankProblem(X, Y, Squared(), RANK, {})
    x = problem.pack({name: a[name] for name in ("U", "V")})
    value = problem.value_gradient(x, np.empty_like(x))
    assert value == pytest.approx(1e-6 * 200 * L, rel=0.1)


def test_no_score_matrix_stands_in_memory() -> None:
    n, n_labels = 2_000, 6_000
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, 50), density=0.1, rng=rng, format="csr")
    Y = sparse.random_array((n, n_labels), density=0.001, rng=rng, format="csr")
    for loss in (Squared(), SmoothHinge()):
        tracemalloc.start()
        problem = LowRankProblem(X, Y, loss, 5, {}, dtype=np.float32)
        x = np.zeros(problem.size, np.float32)
        problem.value_gradient(x, np.empty_like(x))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < n * n_labels, "an N × L array of single bytes would be larger"


@together("loss", LOSSES, ids=NAMES)
def test_lbfgs_finds_a_stationary_point(loss: Any) -> None:
    X, Y = data()
    problem = LowRankProblem(X, Y, loss, RANK, PENALTIES, fit_intercept=True, dtype=float)
    result = lbfgs(problem, 0.3 * problem.pack(arrays()), tol=1e-13, max_iter=3000)
    assert result.certificate < 1e-4
    assert np.all(np.diff(result.history) <= 0)


def test_squared_loss_at_full_rank_is_trace_norm_regression() -> None:
    """With d >= min(D, L), ridge on both factors is the trace norm of U V; with V fixed at I it is ridge regression."""
    X, Y = data()
    fixed = LowRankProblem(X, Y, Squared(), L, {"U": L2(0.8)}, fixed={"V": np.eye(L)}, dtype=float)
    x = lbfgs(fixed, np.zeros(fixed.size), tol=1e-15).x
    ridge = np.linalg.solve(X.T @ X + 0.4 * np.eye(D), X.T @ Y)
    np.testing.assert_allclose(fixed.arrays(x)["U"], ridge, atol=1e-5)

    free = LowRankProblem(X, Y, Squared(), L, {"U": L2(0.8), "V": L2(0.8)}, dtype=float)
    found = lbfgs(free, np.random.default_rng(0).normal(size=free.size), tol=1e-14, max_iter=3000)
    a = free.arrays(found.x)
    W = a["U"] @ a["V"]
    trace_norm = np.linalg.svd(W, compute_uv=False).sum()
    assert found.objective == pytest.approx(((Y - X @ W) ** 2).sum() + 0.8 * trace_norm, rel=1e-6)
    # Optimality over all matrices W: ‖∇‖₂ <= alpha, and <∇, W> = -alpha ‖W‖_*.
    slope = 2 * X.T @ (X @ W - Y)
    assert np.linalg.norm(slope, 2) <= 0.8 * (1 + 1e-4)
    assert float((slope * W).sum()) == pytest.approx(-0.8 * trace_norm, rel=1e-4)


def test_penalties_without_gradient_go_to_the_proximal_solver() -> None:
    X, Y = data()
    problem = LowRankProblem(X, Y, Logistic(), RANK, {"U": L1(1.0), "V": L2(0.5)}, dtype=float)
    x = problem.pack({name: arrays()[name] for name in ("U", "V")})
    with pytest.raises(SolverMismatchError, match="apg"):
        lbfgs(problem, x)
    result = SOLVERS["apg"](problem, x, max_iter=3000, tol=1e-10)
    assert result.certificate < 1e-3
    assert np.count_nonzero(problem.arrays(result.x)["U"] == 0) > 0
    assert not LowRankProblem(X, Y, Hinge(), RANK, {}).smooth


@together("sparse_X", [False, True])
@together("fit_intercept", [False, True])
@together("loss", LOSSES, ids=NAMES)
def test_start_is_a_good_one(loss: Any, fit_intercept: bool, sparse_X: bool) -> None:
    """It lies below zero factors and below random ones, spans the steepest directions, and needs no seed."""
    X, Y = data()
    given = sparse.csr_array(X) if sparse_X else X
    problem = LowRankProblem(given, Y, loss, RANK, PENALTIES, fit_intercept=fit_intercept, dtype=float)
    x, g = problem.start(), np.empty(problem.size)
    objective = problem.value_gradient(x, g)
    a = problem.arrays(x)
    zero = x.copy()
    for name in ("U", "V"):
        problem.arrays(zero)[name][...] = 0
    assert objective < problem.value_gradient(zero, g)
    random = 0.1 * np.random.default_rng(0).normal(size=problem.size)
    assert objective < problem.value_gradient(random, g)
    Z = Y if isinstance(loss, Squared) else np.where(Y > 0, 1, -1)
    if fit_intercept:
        np.testing.assert_allclose(a["c"], Z.mean(axis=0), atol=1e-12)
        Z = Z - Z.mean(axis=0)
    right = np.linalg.svd(X.T @ Z)[2]
    directions = a["V"] / np.linalg.norm(a["V"], axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(np.sum(directions * right[:RANK], axis=1)), 1, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(a["U"], axis=0), np.linalg.norm(a["V"], axis=1), rtol=1e-10)


def test_start_beyond_the_rank_and_without_features() -> None:
    X, Y = data()
    problem = LowRankProblem(X[:, :2], Y, SmoothHinge(), 4, {}, dtype=float)
    a = problem.arrays(problem.start())
    assert np.all(a["U"][:, 2:] == 0)
    assert np.all(np.linalg.norm(a["U"][:, :2], axis=0) > 0)
    empty = LowRankProblem(np.zeros((N, 2)), Y, SmoothHinge(), 2, {}, dtype=float)
    assert np.all(np.isfinite(empty.start()))


@pytest.mark.parametrize("loss", [SmoothHinge(), Logistic()], ids=NAMES[:2])
def test_bits_do_not_depend_on_kernel_threads(loss: Any) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(400, D)), sparse.csr_array(rng.random((400, 300)) < 0.1)
    results = []
    for limit in (1, 2, 3):
        problem = LowRankProblem(X, Y, loss, 4, {"U": L2(1), "V": L2(1)})
        x = np.random.default_rng(1).normal(size=problem.size).astype(np.float32)
        g = np.empty_like(x)
        with thread_limit(limit):
            results.append((problem.value_gradient(x, g), g))
    for value, g in results[1:]:
        assert value == results[0][0]
        assert np.array_equal(g, results[0][1])


def test_inputs_are_not_changed() -> None:
    X, Y = data()
    X_sparse, Y_sparse = sparse.csr_array(X), sparse.csr_array(Y.astype(bool))
    problem = LowRankProblem(X_sparse, Y_sparse, SmoothHinge(), RANK, PENALTIES)
    x = np.ones(problem.size, np.float32)
    problem.value_gradient(x, np.empty_like(x))
    assert np.array_equal(X_sparse.toarray(), X)
    assert np.array_equal(Y_sparse.toarray(), Y > 0)
    assert np.all(x == 1)


def test_mismatches_are_refused() -> None:
    X, Y = data()
    with pytest.raises(ValueError, match=f"X has {N - 1} rows and Y has {N}"):
        LowRankProblem(X[1:], Y, SmoothHinge(), 2, {})
    with pytest.raises(ValueError, match="n_factors=0"):
        LowRankProblem(X, Y, SmoothHinge(), 0, {})
    with pytest.raises(ValueError, match=r"fixed V has shape \(5, 2\), expected \(2, 5\)"):
        LowRankProblem(X, Y, SmoothHinge(), 2, {}, fixed={"V": np.zeros((5, 2))})
    with pytest.raises(ValueError, match="fixed c has shape"):
        LowRankProblem(X, Y, SmoothHinge(), 2, {}, fixed={"c": np.zeros(L)})
    with pytest.raises(TypeError, match="margin loss or the squared one"):
        LowRankProblem(X, Y, KullbackLeibler(), 2, {})  # type: ignore[arg-type]
