"""Objective and gradient of latent processes against definitions and differences; what a pass does."""

from typing import Any

import numpy as np
import pytest
from tests.together import together

from cofactor.problems.gaussian_processes import HeldOutProcesses, LatentProcesses

RNG = np.random.default_rng(0)
COUNTS = (3, 12, 9, 0, 1, 11)
INDPTR = np.concatenate([[0], np.cumsum(COUNTS)])
ITEMS = np.concatenate([np.sort(RNG.choice(12, n, replace=False)) for n in COUNTS]).astype(np.int32)
Y = RNG.normal(size=len(ITEMS))
PRESENT = {"rbf": (1, 1, 0, 1, 1), "linear": (0, 0, 1, 1, 1), "sum": (1, 1, 1, 1, 1)}


def problem(kernel: str = "sum", **settings: Any) -> LatentProcesses:
    present = np.array(PRESENT[kernel], dtype=bool)
    given: dict[str, Any] = {"shape": (12, 3), "alpha": 3.0, "present": present, "free": present, "dtype": np.float64}
    return LatentProcesses(INDPTR, ITEMS, Y, **(given | settings))


def objective(x: np.ndarray, one: LatentProcesses, groups: list[np.ndarray]) -> float:
    """J of the docstring; each group holds the entries of a process."""
    V, (s, gamma, linear, b, noise) = one.arrays(x)
    total = 0.5 * one.alpha * np.sum(V**2)
    for entries in groups:
        X, y = V[ITEMS[entries]], Y[entries]
        squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        K = s * np.exp(-gamma * squared / 2) + linear * X @ X.T + b + noise * np.eye(len(y))
        total += 0.5 * (y @ np.linalg.solve(K, y) + np.linalg.slogdet(2 * np.pi * K)[1])
    return float(total)


@together("kernel", PRESENT)
@together("most", [1000, 5])
def test_gradient_by_differences(kernel, most):
    one = problem(kernel, most_ratings=most)
    x = RNG.normal(0, 0.5, one.size)
    gradient, other = np.empty(one.size), np.empty(one.size)
    value = one.value_gradient(x, gradient)
    rows = [np.arange(INDPTR[u], INDPTR[u + 1]) for u in range(len(COUNTS))]
    groups = [row[k :: -(-len(row) // most)] for row in rows for k in range(-(-len(row) // most))]
    assert one.n_rows == len(groups)
    assert max(map(len, groups)) <= most
    assert value == pytest.approx(objective(x, one, groups), rel=1e-12)
    for i in range(one.size):
        step = np.zeros(one.size)
        step[i] = 1e-4
        ahead = [one.value_gradient(x + k * step, other) for k in (-2, -1, 1, 2)]
        slope = (ahead[0] - 8 * ahead[1] + 8 * ahead[2] - ahead[3]) / 12e-4
        assert gradient[i] == pytest.approx(slope, abs=1e-8)


def test_what_is_not_free_stays():
    one = problem(free=(True, False, False, True, False))
    x = RNG.normal(0, 0.5, one.size)
    gradient = np.empty(one.size)
    one.value_gradient(x, gradient)
    assert np.flatnonzero(gradient[-5:]).tolist() == [0, 3]
    moved = x.copy()
    one.stochastic_pass(moved, np.arange(one.n_rows), 100.0)
    assert np.flatnonzero(moved[-5:] != x[-5:]).tolist() == [0, 3]


@together("momentum", [0.0, 0.9])
def test_a_pass_of_short_steps_goes_along_the_gradient(momentum):
    """In any order of the users; logarithms of the kernel's parameters take steps a hundred times shorter."""
    one = problem(momentum=momentum)
    x = RNG.normal(0, 0.5, one.size)
    gradient = np.empty(one.size)
    one.value_gradient(x, gradient)
    moved = x.copy()
    assert one.stochastic_pass(moved, RNG.permutation(one.n_rows), 1e8) == 1e8
    scale = np.where(np.arange(one.size) < one.size - 5, 1, 100) * (1 - momentum)
    np.testing.assert_allclose(1e8 * scale * (x - moved), gradient, atol=1e-4)


@together("alpha", [1e3, 1e12])
def test_strong_penalties_do_not_overshoot(alpha):
    one = problem(alpha=alpha)
    x = RNG.normal(0, 0.5, one.size)
    for _ in range(60):
        one.stochastic_pass(x, np.arange(one.n_rows), 10.0)
    assert np.abs(x[:-5]).max() < 0.01


def test_held_out_ratings_are_watched():
    last = INDPTR[1:][np.array(COUNTS) > 1] - 1
    keep = np.ones(len(Y), dtype=bool)
    keep[last] = False
    users = np.flatnonzero(np.array(COUNTS) > 1).astype(np.int32)
    counts = np.bincount(np.repeat(np.arange(6), COUNTS)[keep], minlength=6)
    part = np.concatenate([[0], np.cumsum(counts)]), ITEMS[keep], Y[keep]
    settings = {"shape": (12, 3), "alpha": 3.0, "present": [True] * 5, "free": [True] * 5, "dtype": np.float64}
    watched = HeldOutProcesses(*part, held_out=(users, ITEMS[last], Y[last]), **settings)
    x, gradient = RNG.normal(0, 0.5, watched.size), np.empty(watched.size)
    rows = [np.arange(INDPTR[u], INDPTR[u + 1]) for u in users]
    # p(held out | others) is a ratio of densities, where the penalty of J cancels.
    loss = objective(x, watched, rows) - objective(x, watched, [row[:-1] for row in rows])
    assert watched.value_gradient(x, gradient) == pytest.approx(np.exp(loss / len(users)))
    assert not gradient.any()
    expected = np.empty(watched.size)
    LatentProcesses(*part, **settings).value_gradient(x, expected)
    assert watched.certificate(x, gradient) == pytest.approx(np.linalg.norm(expected))
