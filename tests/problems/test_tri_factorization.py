"""Tri-factorization with labels: value, gradient, the identities behind the penalty, monotone updates."""

import numpy as np
import pytest
from tests.together import together

from cofactor.problems.nonnegative import TriFactorizationProblem
from cofactor.solvers.descent import repeat_updates

from ..losses.reference import gradient

N, D, L, J = 30, 8, 5, 4
RULES = together("invariant", [True, False], ids=["scale-invariant", "printed"])


def setting(
    invariant: bool, alpha: float = 0.3, seed: int = 0, never: bool = False
) -> tuple[TriFactorizationProblem, np.ndarray, np.ndarray, np.ndarray]:
    """Return a problem, X, Y and a starting point; with `never`, the last label is never on."""
    rng = np.random.default_rng(seed)
    X, Y = rng.random((N, D)), (rng.random((N, L)) < 0.4).astype(float)
    if never:
        Y[:, -1] = 0
    problem = TriFactorizationProblem(Y.T @ X, Y.T @ Y, float(np.sum(X * X)), J, alpha, invariant)
    return problem, X, Y, rng.random(problem.size) + 0.1


def total(problem: TriFactorizationProblem, x: np.ndarray) -> float:
    return problem.value_gradient(x, np.empty_like(x))


@RULES
def test_objective_in_words(invariant: bool) -> None:
    """The penalty is ½ Σ K_lm ‖s_l - s_m‖² >= 0: the paper's Laplacian has the other sign (corrections.md, C52)."""
    problem, X, Y, x = setting(invariant)
    B, S = x[: J * D].reshape(J, D), x[J * D :].reshape(L, J)
    K = Y.T @ Y
    weights = np.sum(B**2, axis=1) if invariant else np.ones(J)
    penalty = sum(
        K[i, k] * weights[j] * (S[i, j] - S[k, j]) ** 2 / 2 for i in range(L) for k in range(L) for j in range(J)
    )
    assert penalty > 0
    assert total(problem, x) == pytest.approx(np.sum((X - Y @ S @ B) ** 2) + 0.3 * penalty, rel=1e-12)


@RULES
def test_gradient(invariant: bool) -> None:
    problem, _, _, x = setting(invariant)
    g = np.empty_like(x)
    problem.value_gradient(x, g)
    np.testing.assert_allclose(g, gradient(lambda y: total(problem, y), x), rtol=1e-6, atol=1e-5)


@RULES
@together("alpha", [0.0, 0.1, 10.0])
@together("seed", [0, 1])
def test_neither_half_of_an_update_raises_the_objective(invariant: bool, alpha: float, seed: int) -> None:
    problem, _, _, x = setting(invariant, alpha, seed)
    objectives = [total(problem, x)]
    for _ in range(100):
        following = x.copy()
        problem.update(following)
        half = np.concatenate([following[: J * D], x[J * D :]])
        objectives += [total(problem, half), total(problem, following)]
        x = following
    assert np.all(np.diff(objectives) <= 1e-11 * objectives[0])
    assert x.min() >= 0


@RULES
def test_updates_come_to_rest_where_no_feasible_direction_descends(invariant: bool) -> None:
    problem, _, _, x = setting(invariant, alpha=0.1)
    start = problem.certificate(x, slopes(problem, x))
    result = repeat_updates(problem, x, max_iter=2_000, tol=0)
    assert result.certificate < 0.02 * start


def slopes(problem: TriFactorizationProblem, x: np.ndarray) -> np.ndarray:
    g = np.empty_like(x)
    problem.value_gradient(x, g)
    return g


def test_scaling_removes_the_printed_penalty_only() -> None:
    """J of (cB, S/c): the printed penalty falls as 1/c², the scale-invariant one stays (corrections.md, C54)."""
    for invariant in (True, False):
        problem, X, Y, x = setting(invariant, alpha=5.0)
        B, S = x[: J * D].reshape(J, D), x[J * D :].reshape(L, J)
        fit = np.sum((X - Y @ S @ B) ** 2)
        penalties = [
            total(problem, np.concatenate([(c * B).ravel(), (S / c).ravel()])) - fit for c in (1.0, 10.0, 100.0)
        ]
        expected = [1.0, 1.0, 1.0] if invariant else [1.0, 1e-2, 1e-4]
        np.testing.assert_allclose(np.array(penalties) / penalties[0], expected, rtol=1e-6)


def test_descent_does_not_scale_the_invariant_penalty_away() -> None:
    """By the printed rule B grows and the penalty goes towards 0 with the number of steps, by the other it does not."""
    share, n_steps = {}, 2_000
    for invariant in (True, False):
        problem, X, Y, x = setting(invariant, 1.0)
        for steps, more in ((100, 100), (n_steps, n_steps - 100)):
            x = repeat_updates(problem, x, max_iter=more, tol=0).x
            B, S = x[: J * D].reshape(J, D), x[J * D :].reshape(L, J)
            share[invariant, steps] = total(problem, x) - np.sum((X - Y @ S @ B) ** 2), np.linalg.norm(B)
    assert share[False, n_steps][0] < 0.3 * share[False, 100][0]
    assert share[False, n_steps][1] > 1.5 * share[False, 100][1]
    assert share[True, n_steps][1] < 1.5 * share[True, 100][1]
    assert share[True, n_steps][0] > 0.3 * share[True, 100][0]


@RULES
def test_a_label_that_is_never_on(invariant: bool) -> None:
    """Its code is 0/0 in the printed update; here it becomes 0 (corrections.md, C53)."""
    problem, _, _, x = setting(invariant, never=True)
    problem.update(x)
    assert np.isfinite(x).all()
    assert not x[J * D :].reshape(L, J)[-1].any()
