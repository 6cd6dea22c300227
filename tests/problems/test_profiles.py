"""The bound of user rating profiles: formula, gradient, and steps which never raise it."""

import numpy as np
import pytest
from scipy.special import gammaln, psi

from cofactor.problems.profiles import ProfileProblem, concentration_bound, newton_step
from cofactor.ratings import Ratings
from cofactor.solvers.descent import repeat_updates

from ..losses.reference import gradient
from ..ratings.reference import planted

K = 3


def setting(n_users: int = 12, n_items: int = 9, warm_up: int = 0) -> tuple[Ratings, ProfileProblem, np.ndarray]:
    ratings = Ratings.from_pairs(*planted(n_users, n_items, 4))
    rng = np.random.default_rng(1)
    prior = rng.uniform(0.2, 2, (n_items, 4))
    return ratings, ProfileProblem(ratings, ratings.levels, prior, K, warm_up), rng


def formula(ratings: Ratings, problem: ProfileProblem, x: np.ndarray) -> float:
    """J of the docstring, user by user and rating by rating."""
    arrays = problem.arrays(x)
    gamma, beta, a = arrays["gamma"], arrays["beta"], arrays["concentration"]
    total = np.sum(problem.prior[:, :, None] * np.log(beta)) + np.sum(np.log(a) - a)
    for i, g in enumerate(gamma):
        log_e = psi(g) - psi(g.sum())
        total += gammaln(a.sum()) - gammaln(a).sum() - gammaln(g.sum()) + gammaln(g).sum() + (a - g) @ log_e
        for k in range(ratings.indptr[i], ratings.indptr[i + 1]):
            total += np.log(np.exp(log_e) @ beta[ratings.indices[k], ratings.levels[k] - 1])
    return -total


def test_value_and_gradient():
    ratings, problem, rng = setting()
    x, slopes = rng.normal(size=problem.size), np.empty(problem.size)
    assert problem.value_gradient(x, slopes) == pytest.approx(formula(ratings, problem, x), rel=1e-12)
    directions = rng.normal(size=(5, problem.size))
    numeric = [
        gradient(lambda t, d=d: problem.value_gradient(x + t[0] * d, slopes.copy()), np.zeros(1)) for d in directions
    ]
    np.testing.assert_allclose(np.ravel(numeric), directions @ slopes, rtol=1e-7)


def test_no_update_raises_the_objective():
    """Also not those which learn the concentrations, from the first on."""
    for warm_up in (0, 5, 10**6):
        _, problem, rng = setting(40, 30, warm_up)
        x, slopes = rng.normal(size=problem.size), np.empty(problem.size)
        values = [problem.value_gradient(x, slopes)]
        for _ in range(60):
            problem.update(x)
            values.append(problem.value_gradient(x, slopes))
        assert np.all(np.diff(values) <= 1e-10 * values[0])
        assert values[-1] < 0.9 * values[0]


def test_updates_lead_to_a_stationary_point():
    _, problem, rng = setting()
    result = repeat_updates(problem, rng.normal(size=problem.size), max_iter=20000, tol=1e-15)
    assert result.certificate < 1e-4


def test_newton_steps_find_the_concentrations_that_drew_the_shares():
    rng, a = np.random.default_rng(0), np.array([0.5, 2.0, 7.0])
    sums = np.log(rng.dirichlet(a, 20000)).sum(axis=0)
    found = np.full(3, 40.0)
    values = [concentration_bound(found, sums, 20000)]
    for _ in range(30):
        found = newton_step(found, sums, 20000)
        values.append(concentration_bound(found, sums, 20000))
    np.testing.assert_allclose(found, a, rtol=0.03)
    assert np.all(np.diff(values) >= 0)
    slopes = gradient(lambda b: concentration_bound(b, sums, 20000), found)
    np.testing.assert_allclose(slopes, 0, atol=1e-2)
