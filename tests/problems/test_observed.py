"""The observed-entries objective against brute force over a dense matrix, its gradient by differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.together import together

from cofactor.kernels.threads import thread_limit
from cofactor.losses import (
    AllThreshold,
    EntryLoss,
    ImmediateThreshold,
    KullbackLeibler,
    Logistic,
    MarginLoss,
    ModifiedSquare,
    Proximal,
    SmoothHinge,
    Squared,
)
from cofactor.penalties import L1, L2, L21, CentredL2, NonNegative, Penalty
from cofactor.problems import ObservedProblem, observed

from ..kernels.reference import Pattern, random_pattern
from ..losses.reference import MARGINS, gradient, proximal_loss, threshold_loss

N, M, D, R = 6, 5, 2, 4
SHAPES: dict[str, tuple[int, ...]] = {
    "U": (N, D), "V": (M, D), "b": (N,), "c": (M,), "common": (R - 1,), "own": (N, R - 1),
}  # fmt: skip
PENALTIES: dict[str, Penalty] = {
    "U": L2(0.7),
    "V": L2(1.3),
    "b": L2(0.2),
    "c": L2(0.4),
    "own": CentredL2(0.9),
}

FACTORS = [("U", "V"), ("U", "V", "b", "c"), ("U", "V", "c")]
THRESHOLDS = [("own",), ("common",), ("common", "own")]
#: Free arrays of a fold-in of rows, of columns, and of single arrays; the others are fixed.
FOLDS = [("U",), ("U", "b"), ("V", "c"), ("b",), ("c",)]
ORDINAL_FOLDS = [("U", "own"), ("U", "b", "own"), ("own",), ("common",), ("V",)]


def loss_name(loss: EntryLoss) -> str:
    margin = getattr(loss, "margin", None)
    return type(loss).__name__ + (f"-{type(margin).__name__}" if margin is not None else "")


def entries(seed: int = 0) -> Pattern:
    return random_pattern(np.random.default_rng(seed), N, M, 0.6)


def targets(loss: EntryLoss, p: Pattern, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    n = len(p.indices)
    if loss.target == "sign":
        return rng.choice([-1, 1], n)
    if loss.target == "ordinal":
        return rng.integers(1, R + 1, n).astype(np.uint8)
    return rng.uniform(0.5, 4, n)


def values(loss: EntryLoss, seed: int = 2) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    arrays = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    if loss.target == "nonneg":  # positive scores
        arrays = {name: 0.5 + np.abs(a) for name, a in arrays.items()}
    return arrays


def formula(loss: EntryLoss) -> Callable[[Pattern, np.ndarray, np.ndarray, np.ndarray], float]:
    """The loss summed over all entries, from formulas alone: f(pattern, targets, scores, thresholds)."""
    margin: Any = loss if isinstance(loss, MarginLoss) else getattr(loss, "margin", None)
    h = MARGINS[type(margin)][0] if margin is not None else None

    def total(p: Pattern, y: np.ndarray, X: np.ndarray, theta: np.ndarray) -> float:
        x = X[p.rows, p.indices]
        if isinstance(loss, MarginLoss):
            return float(h(y * x).sum())  # type: ignore[misc]
        if isinstance(loss, Squared):
            return float(((y - x) ** 2).sum())
        if isinstance(loss, KullbackLeibler):
            return float((y * np.log(y / x) - y + x).sum())
        if isinstance(loss, Proximal):
            return sum(proximal_loss(h, y[p.rows == i], x[p.rows == i], R) for i in range(N))  # type: ignore[arg-type]
        construction = "all" if isinstance(loss, AllThreshold) else "immediate"
        return sum(
            threshold_loss(h, int(level), score, theta[i], construction)  # type: ignore[arg-type]
            for level, score, i in zip(y, x, p.rows, strict=True)
        )

    return total


def brute(loss: EntryLoss, p: Pattern, y: np.ndarray, arrays: dict[str, np.ndarray], free: tuple[str, ...]) -> float:
    zeros = {name: np.zeros(shape) for name, shape in SHAPES.items()}
    a = zeros | arrays
    X = a["U"] @ a["V"].T + a["b"][:, None] + a["c"]
    total = formula(loss)(p, y, X, a["common"] + a["own"])
    for name in free:
        A = a[name]
        if name == "own":
            total += 0.5 * 0.9 * float(((A - A.mean(axis=0)) ** 2).sum())
        elif name in PENALTIES:
            total += 0.5 * PENALTIES[name].alpha * float((A**2).sum())
    return total


CASES = [
    *((loss, free, ()) for loss in (SmoothHinge(), ModifiedSquare(), Logistic()) for free in FACTORS),
    *((loss, free, ()) for loss in (Squared(), KullbackLeibler()) for free in FACTORS),
    *((loss, free, ()) for loss in (Proximal(Logistic(), R), Proximal(n_levels=R)) for free in FACTORS),
    *(
        (loss, free + thresholds, ())
        for construction in (AllThreshold, ImmediateThreshold)
        for loss in (construction(Logistic()), construction())
        for free in FACTORS
        for thresholds in THRESHOLDS
    ),
    *(
        (loss, free, ("U", "V", "b", "c"))
        for loss in (Logistic(), Squared(), Proximal(Logistic(), R))
        for free in FOLDS
    ),
    *(
        (loss, free, ("U", "V", "b", "c", "common"))
        for loss in (AllThreshold(Logistic()), ImmediateThreshold(Logistic()))
        for free in ORDINAL_FOLDS
    ),
]  # fmt: skip
IDS = [f"{loss_name(loss)} {'+'.join(free)}{' folded' if fixed else ''}" for loss, free, fixed in CASES]


@together(("loss", "free", "fixed"), CASES, ids=IDS)
def test_objective_and_gradient(loss: EntryLoss, free: tuple[str, ...], fixed: tuple[str, ...]) -> None:
    p, arrays = entries(), values(loss)
    y = targets(loss, p)
    problem = ObservedProblem(
        p, y, loss, {name: SHAPES[name] for name in free}, PENALTIES,
        fixed={name: arrays[name] for name in fixed if name not in free},
        dtype=np.float64,
    )  # fmt: skip
    used = {name: arrays[name] for name in {*free, *fixed}}
    x = problem.pack(used)
    assert x.shape == (problem.size,) == (sum(arrays[name].size for name in free),)
    g = np.full_like(x, np.nan)
    value = problem.value_gradient(x, g)
    assert value == pytest.approx(brute(loss, p, y, used, free), rel=1e-12)
    assert problem.nonsmooth_value(x) == 0
    # The second derivative of the smooth hinge and of the modified square jumps: shorter steps, fewer digits.
    margin = loss if isinstance(loss, MarginLoss) else getattr(loss, "margin", None)
    rough = isinstance(margin, SmoothHinge | ModifiedSquare)
    numeric = gradient(lambda at: problem.value_gradient(at, np.empty_like(at)), x, 1e-6 if rough else 1e-4)
    np.testing.assert_allclose(g, numeric, rtol=1e-5 if rough else 1e-7, atol=2e-5 if rough else 1e-7)
    assert problem.certificate(x, g) == pytest.approx(float(np.linalg.norm(g)), rel=1e-12)
    for name, array in problem.arrays(x).items():
        if name in used:
            np.testing.assert_allclose(array, used[name], rtol=1e-15)


@together(
    "loss",
    [SmoothHinge(), AllThreshold(), ImmediateThreshold(), Proximal(n_levels=R), Squared()],
    ids=loss_name,
)
def test_single_precision_agrees(loss: EntryLoss) -> None:
    p, arrays = entries(), values(loss)
    y = targets(loss, p)
    free = (
        "U",
        "V",
        "b",
        "c",
        *(("common", "own") if isinstance(loss, AllThreshold | ImmediateThreshold) else ()),
    )
    results = []
    for dtype in (np.float32, np.float64):
        problem = ObservedProblem(p, y, loss, {name: SHAPES[name] for name in free}, PENALTIES, dtype=dtype)
        x = problem.pack(arrays)
        assert x.dtype == dtype
        g = np.empty_like(x)
        results.append((problem.value_gradient(x, g), g))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-6)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=2e-5)


def large(loss: EntryLoss, dtype: type) -> tuple[ObservedProblem, np.ndarray]:
    """Return a problem of several blocks of rows and of columns."""
    rng = np.random.default_rng(3)
    n, m, d = 300, 250, 5
    p = random_pattern(rng, n, m, 0.8)
    shapes: dict[str, tuple[int, ...]] = {"U": (n, d), "V": (m, d), "b": (n,), "c": (m,)}
    if isinstance(loss, AllThreshold):
        shapes |= {"common": (R - 1,), "own": (n, R - 1)}
    problem = ObservedProblem(p, targets(loss, p), loss, shapes, PENALTIES, dtype=dtype)
    return problem, rng.normal(size=problem.size).astype(dtype)


@pytest.mark.parametrize("loss", [SmoothHinge(), AllThreshold(), Proximal(n_levels=R), Squared()], ids=loss_name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_depend_neither_on_threads_nor_on_blocks(
    loss: EntryLoss, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for limit, entries_per_block in ((1, 16384), (2, 16384), (3, 16384), (3, 1000), (1, 10**9)):
        monkeypatch.setattr(observed, "ENTRIES_PER_BLOCK", entries_per_block)
        problem, x = large(loss, dtype)
        g = np.empty_like(x)
        with thread_limit(limit):
            results.append((problem.value_gradient(x, g), g))
    for value, g in results[1:]:
        assert value == results[0][0]
        assert np.array_equal(g, results[0][1])


def test_evaluations_do_not_depend_on_earlier_ones() -> None:
    """Work arrays are shared between evaluations; columns even write where rows read before."""
    problem, x = large(AllThreshold(), np.float32)
    first, again = np.empty_like(x), np.empty_like(x)
    value = problem.value_gradient(x, first)
    problem.value_gradient(2 * x, again)
    assert problem.value_gradient(x, again) == value
    assert np.array_equal(first, again)


def test_nothing_given_is_changed() -> None:
    p, arrays = entries(), values(AllThreshold())
    y = targets(AllThreshold(), p)
    before = {name: a.copy() for name, a in arrays.items()}, y.copy()
    problem = ObservedProblem(
        p, y, AllThreshold(), {"U": (N, D), "own": (N, R - 1)}, PENALTIES,
        fixed={name: arrays[name] for name in ("V", "c", "common")}, dtype=np.float64,
    )  # fmt: skip
    x = problem.pack(arrays)
    start = x.copy()
    problem.value_gradient(x, np.empty_like(x))
    assert np.array_equal(x, start)
    assert np.array_equal(y, before[1])
    assert all(np.array_equal(arrays[name], before[0][name]) for name in arrays)


def test_penalties_without_gradient() -> None:
    """They are left out of the smooth part; value, prox and certificate go array by array."""
    p, arrays = entries(), values(Squared())
    shapes = {name: SHAPES[name] for name in ("U", "V", "b")}
    penalties = {"U": L1(0.3), "V": L21(0.5), "b": L2(0.8)}
    problem = ObservedProblem(p, targets(Squared(), p), Squared(), shapes, penalties, dtype=np.float64)
    plain = ObservedProblem(p, targets(Squared(), p), Squared(), shapes, {"b": L2(0.8)}, dtype=np.float64)
    assert not problem.smooth
    assert plain.smooth
    x = problem.pack(arrays)
    g, g_plain, out = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    assert problem.value_gradient(x, g) == plain.value_gradient(x, g_plain)
    assert np.array_equal(g, g_plain)
    rows = np.sqrt((arrays["V"] ** 2).sum(axis=1)).sum()
    assert problem.nonsmooth_value(x) == pytest.approx(0.3 * np.abs(arrays["U"]).sum() + 0.5 * rows, rel=1e-14)
    problem.prox(x, 0.7, out)
    result = problem.arrays(out)
    assert np.array_equal(result["U"], L1(0.3).prox(arrays["U"], 0.7))
    assert np.array_equal(result["V"], L21(0.5).prox(arrays["V"], 0.7))
    assert np.array_equal(result["b"], arrays["b"])
    slopes = problem.layout.views(g)
    parts = [
        L1(0.3).distance(arrays["U"], slopes["U"]), L21(0.5).distance(arrays["V"], slopes["V"]),
        float(np.linalg.norm(slopes["b"])),
    ]  # fmt: skip
    assert problem.certificate(x, g) == pytest.approx(float(np.linalg.norm(parts)), rel=1e-13)


def test_nonnegativity_makes_the_objective_infinite_outside() -> None:
    p, arrays = entries(), values(Squared())
    problem = ObservedProblem(
        p,
        targets(Squared(), p),
        Squared(),
        {"U": (N, D), "V": (M, D)},
        {"U": NonNegative()},
        dtype=np.float64,
    )
    x = problem.pack(arrays)
    assert problem.nonsmooth_value(x) == np.inf
    problem.prox(x, 1.0, x)
    assert problem.nonsmooth_value(x) == 0


def test_huge_scores_give_a_huge_objective_not_nan() -> None:
    for loss in (SmoothHinge(), Logistic(), AllThreshold(), ImmediateThreshold()):
        p = entries()
        shapes = {"U": (N, D), "V": (M, D), "own": (N, R - 1)}
        if loss.target == "sign":
            del shapes["own"]
        problem = ObservedProblem(p, targets(loss, p), loss, shapes, {}, dtype=np.float32)
        x = np.full(problem.size, 1e10, np.float32)
        g = np.empty_like(x)
        assert 1e19 < problem.value_gradient(x, g) < 1e23
        assert np.all(np.isfinite(g))


def test_rows_and_columns_without_entries_have_only_their_penalty() -> None:
    p, arrays = entries(), values(SmoothHinge())
    problem = ObservedProblem(
        p, targets(SmoothHinge(), p), SmoothHinge(), {name: SHAPES[name] for name in ("U", "V", "b", "c")},
        PENALTIES, dtype=np.float64,
    )  # fmt: skip
    x = problem.pack(arrays)
    g = np.empty_like(x)
    problem.value_gradient(x, g)
    slopes = problem.layout.views(g)
    (row,), (column,) = np.nonzero(np.diff(p.indptr) == 0), np.nonzero(np.diff(p.col_indptr) == 0)
    assert len(row) >= 1
    assert len(column) >= 1
    np.testing.assert_allclose(slopes["U"][row], 0.7 * arrays["U"][row], rtol=1e-15)
    np.testing.assert_allclose(slopes["V"][column], 1.3 * arrays["V"][column], rtol=1e-15)
    np.testing.assert_allclose(slopes["b"][row], 0.2 * arrays["b"][row], rtol=1e-15)
    np.testing.assert_allclose(slopes["c"][column], 0.4 * arrays["c"][column], rtol=1e-15)


def test_fixed_own_thresholds_without_common_ones() -> None:
    p, arrays, loss = entries(), values(AllThreshold()), AllThreshold()
    y = targets(loss, p)
    problem = ObservedProblem(
        p, y, loss, {"U": (N, D)}, {}, fixed={"V": arrays["V"], "own": arrays["own"]}, dtype=np.float64
    )
    used = {name: arrays[name] for name in ("U", "V", "own")}
    x = problem.pack(used)
    assert problem.value_gradient(x, np.empty_like(x)) == pytest.approx(brute(loss, p, y, used, ()), rel=1e-12)


@together("name", ["U", "V", "b", "c", "common", "own"])
def test_arrays_that_do_not_fit_are_refused(name: str) -> None:
    """The kernels do not check their indices, so with a wrong shape they would read beyond the arrays."""
    p, loss = entries(), AllThreshold()
    shapes = {**SHAPES, name: (SHAPES[name][0] - 1, *SHAPES[name][1:])}
    with pytest.raises(ValueError, match="has shape"):
        ObservedProblem(p, targets(loss, p), loss, shapes, {})


def small_factorization(d: int = 3, **penalties: Penalty) -> tuple[ObservedProblem, np.ndarray]:
    rng = np.random.default_rng(3)
    n, m = 40, 30
    p = random_pattern(rng, n, m, 0.7)
    given: dict[str, Penalty] = {"U": L2(0.7), "V": L2(1.3)}
    shapes: dict[str, tuple[int, ...]] = {"U": (n, d), "V": (m, d), "c": (m,)}
    y = rng.choice([-1, 1], len(p.indices))
    problem = ObservedProblem(p, y, SmoothHinge(), shapes, given | penalties, dtype=np.float64)
    return problem, rng.normal(size=problem.size)


def test_rotation_keeps_the_objective_and_finds_the_axes() -> None:
    problem, x = small_factorization()
    lengths = np.array([[4.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.0, 1.0, 0.5]])
    for name in ("U", "V"):
        problem.layout.views(x)[name][...] @= lengths
    gradient = np.empty_like(x)
    before, arrays = problem.value_gradient(x, gradient), problem.arrays(x.copy())
    problem.rotate(x)
    turned = problem.arrays(x)
    assert problem.value_gradient(x, gradient) == pytest.approx(before, rel=1e-12)
    np.testing.assert_allclose(turned["U"] @ turned["V"].T, arrays["U"] @ arrays["V"].T, atol=1e-12)
    assert np.array_equal(turned["c"], arrays["c"])
    gram = turned["U"].T @ turned["U"] + turned["V"].T @ turned["V"]
    old = arrays["U"].T @ arrays["U"] + arrays["V"].T @ arrays["V"]
    assert np.abs(np.triu(gram, 1)).max() < 0.2 * np.abs(np.triu(old, 1)).max()


@together("penalty", [L1(0.1), L21(0.1), NonNegative(), CentredL2(0.1)])
def test_no_rotation_where_a_penalty_depends_on_the_axes(penalty: Penalty) -> None:
    problem, x = small_factorization(V=penalty)
    before = x.copy()
    problem.rotate(x)
    assert np.array_equal(x, before)


def test_no_rotation_of_what_is_fixed_or_too_wide() -> None:
    wide, x = small_factorization(d=100)
    before = x.copy()
    wide.rotate(x)
    assert np.array_equal(x, before)
    problem, x = small_factorization()
    arrays = problem.arrays(x)
    fold = ObservedProblem(
        problem.entries, problem.targets, SmoothHinge(), {"U": arrays["U"].shape}, {"U": L2(0.7)},
        {"V": arrays["V"], "c": arrays["c"]}, np.float64,
    )  # fmt: skip
    u = fold.pack(arrays)
    before = u.copy()
    fold.rotate(u)
    assert np.array_equal(u, before)


def test_the_guess_of_curvatures_is_close_for_squares_and_positive_without_ratings() -> None:
    """Squared loss has the curvatures 2 Σ V_jf² + alpha: the guess is 1 / (½ of that), up to how V varies by user."""
    rng = np.random.default_rng(0)
    p = random_pattern(rng, 200, 150, 0.6)
    shapes: dict[str, tuple[int, ...]] = {"U": (200, 2), "V": (150, 2), "b": (200,)}
    y = rng.normal(size=len(p.indices))
    problem = ObservedProblem(p, y, Squared(), shapes, {"U": L2(3.0)}, dtype=np.float64)
    x = rng.normal(size=problem.size)
    guess = problem.layout.views(problem.inverse_curvatures(x))
    V = problem.arrays(x)["V"]
    exact = np.array([np.sum(V[p.indices[p.indptr[i] : p.indptr[i + 1]]] ** 2, axis=0) for i in range(200)]) + 3.0
    assert np.corrcoef(1 / guess["U"].ravel(), exact.ravel())[0, 1] > 0.8
    np.testing.assert_allclose(np.mean(1 / guess["U"]), np.mean(exact), rtol=0.05)
    np.testing.assert_allclose(1 / guess["b"], np.maximum(np.diff(p.indptr), 0.1))
    assert np.all(np.isfinite(problem.inverse_curvatures(np.zeros_like(x))))


def test_biases_alone_are_a_factorization_without_factors() -> None:
    pattern = entries()
    loss = Squared()
    y = targets(loss, pattern)
    shapes = {"U": (N, 0), "V": (M, 0), "b": (N,), "c": (M,)}
    problem = ObservedProblem(pattern, y, loss, shapes, {}, dtype=np.float64)
    x = np.random.default_rng(3).normal(size=problem.size)
    slopes = np.empty_like(x)
    value = problem.value_gradient(x, slopes)
    arrays, found = problem.arrays(x), problem.layout.views(slopes)
    rows = np.repeat(np.arange(N), np.diff(pattern.indptr))
    errors = arrays["b"][rows] + arrays["c"][pattern.indices] - y
    assert value == pytest.approx(loss.value(y, y + errors).sum())
    derivatives = loss.derivative(y, y + errors)
    np.testing.assert_allclose(found["b"], np.bincount(rows, derivatives, N), atol=1e-12)
    np.testing.assert_allclose(found["c"], np.bincount(pattern.indices, derivatives, M), atol=1e-12)
