"""The blocks of max-margin factorization with binary features, one by one, against brute force and convex solvers."""

import numpy as np
import pytest
from scipy.special import gammaln, multigammaln
from scipy.stats import wishart
from sklearn.svm import LinearSVC
from tests.together import together

from cofactor.kernels import maxmargin
from cofactor.problems.max_entropy import (
    MaxEntropyProblem,
    best_gaussian,
    best_sticks,
    expected_logs,
    gaussian_divergence,
    log_bounds,
    prior_logits,
    root,
    sticks_divergence,
    threshold_centres,
    threshold_variance,
)
from cofactor.ratings import as_ratings

cvxpy = pytest.importorskip("cvxpy")

R, K, WIDTH = 5, 4, 2.0
RNG = np.random.default_rng(0)


def hinge(x, theta, y):
    """Σ_r max(0, ℓ - T (θ_r - x)) in plain NumPy."""
    sign = np.where(y <= np.arange(1, len(theta) + 1), 1, -1)
    return np.maximum(0, WIDTH - sign * (theta - x)).sum()


def problem(alpha=0.7, alpha_bias=None, learn_items=False, n=25, m=18, tol=1e-4, seed=0):
    """Return a problem, and a random point far from its minimum."""
    rng = np.random.default_rng(seed)
    X = np.argwhere(rng.random((n, m)) < 0.5)
    ratings = as_ratings(X, rng.integers(1, R + 1, len(X)), scale=range(1, R + 1))
    n, m = ratings.shape
    p = MaxEntropyProblem(ratings, ratings.levels, R, K, alpha, alpha_bias, WIDTH, 3.0, learn_items, tol)
    arrays = {
        "U": rng.uniform(0.05, 0.95, (n, K)), "V": rng.normal(0, 2, (m, K)), "own": rng.normal(0, 4, (n, R - 1)),
        "gamma": rng.uniform(1, 9, (2, K)), "c": rng.normal(size=m), "mean": rng.normal(size=K),
        "scatter": wishart(m + K, np.eye(K)).rvs(random_state=1),
    }  # fmt: skip
    return p, p.pack({name: arrays[name] for name in p.layout.shapes})


def objective(p, x):
    return p.value_gradient(x, np.empty_like(x)) + p.nonsmooth_value(x)


def numpy_objective(p, x):
    """J of the docstring without a learned Gaussian, entry by entry."""
    a, e = p.arrays(x), p.entries
    c = a.get("c", np.zeros(len(a["V"])))
    users, items = e.pairs()
    total = sum(
        hinge(a["U"][i] @ a["V"][j] + c[j], a["own"][i], y) for i, j, y in zip(users, items, p.levels, strict=True)
    )
    on, off, _ = log_bounds(a["gamma"])
    psi = a["U"]
    kl = (psi * np.log(psi) + (1 - psi) * np.log(1 - psi) - psi * on - (1 - psi) * off).sum()
    (g, h), (log_on, log_off) = a["gamma"], expected_logs(a["gamma"])
    beta = gammaln(g) + gammaln(h) - gammaln(g + h)
    kl += (-beta + (g - 1) * log_on + (h - 1) * log_off - (np.log(3.0) + 2 * log_on)).sum()
    kl += 0.5 * (a["V"] ** 2).sum() + ((a["own"] - p.centres) ** 2).sum() / (2 * p.variance)
    return total + p.alpha * kl + 0.5 * (p.alpha_bias or 0) * (c**2).sum()


@together("alpha_bias", [None, 0.4])
def test_the_objective_is_the_one_of_the_formula(alpha_bias):
    p, x = problem(alpha_bias=alpha_bias)
    assert objective(p, x) == pytest.approx(numpy_objective(p, x), rel=1e-12)


@together("learn_items", [False, True])
@together("alpha_bias", [None, 0.4])
@together("alpha", [0.02, 0.7, 30.0])
@together("passes", [0, 4, 40])
def test_no_block_ever_raises_the_objective(learn_items, alpha_bias, alpha, passes):
    """Also from a random point, with few passes, and with blocks in any order."""
    p, x = problem(alpha, alpha_bias, learn_items)
    blocks = [p.update_items, p.update_sticks, p.update_users] + [p.update_gaussian] * learn_items
    history = [objective(p, x)]
    for k in np.random.default_rng(3).integers(len(blocks), size=40):
        if blocks[k] in (p.update_items, p.update_users):
            blocks[k](x, passes)
        else:
            blocks[k](x)
        history.append(objective(p, x))
        assert history[-1] <= history[-2] + 1e-11 * history[0]
    assert history[-1] < (0.9 if passes else 1) * history[0]


def test_gaps_bound_what_is_left():
    p, x = problem(tol=1e-12)
    p.update_items(x, 4), p.update_users(x, 4)
    for update, gaps in ((p.update_items, p._item_gaps), (p.update_users, p._user_gaps)):
        update(x, 4)
        before, claimed = objective(p, x), p.alpha * gaps.sum()
        update(x, 20_000)
        fell = before - objective(p, x)
        assert 0 <= fell <= claimed + 1e-9
        assert p.alpha * gaps.sum() < 1e-4 * before


@together("alpha_bias", [None, 0.4])
def test_items_are_the_minimum_of_a_convex_solver(alpha_bias):
    p, x = problem(alpha_bias=alpha_bias, n=12, m=6, tol=1e-10)
    p.update_items(x, 20_000)
    a, e = p.arrays(x), p.entries
    users, items = e.pairs()
    for j in range(3):
        v, c = cvxpy.Variable(K), cvxpy.Variable()
        total = 0.5 * p.alpha * cvxpy.sum_squares(v)
        total += 0.5 * alpha_bias * c**2 if alpha_bias else 0
        for k in np.flatnonzero(items == j):
            score = a["U"][users[k]] @ v + (c if alpha_bias else 0)
            sign = np.where(p.levels[k] <= np.arange(1, R), 1, -1)
            total += cvxpy.sum(cvxpy.pos(WIDTH - cvxpy.multiply(sign, a["own"][users[k]] - score)))
        cvxpy.Problem(cvxpy.Minimize(total)).solve(solver="CLARABEL")
        np.testing.assert_allclose(a["V"][j], v.value, atol=1e-3)
        if alpha_bias:
            assert a["c"][j] == pytest.approx(float(c.value), abs=1e-3)


def test_with_two_levels_an_item_is_a_linear_svm():
    X, y = RNG.normal(size=(60, 3)), RNG.choice([1, 2], 60)
    svm = LinearSVC(C=0.3, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6).fit(X, y)
    w, gaps = np.zeros((1, 3)), np.zeros(1)
    maxmargin.linear_rows(
        0, 1, np.array([0, 60]), np.arange(60, dtype=np.int32), y.astype(np.uint8), X, np.zeros(60), np.zeros((60, 1)),
        1.0, 0.3, 1e-10, 10**5, np.zeros(60), w, gaps,
    )  # fmt: skip
    np.testing.assert_allclose(w, svm.coef_, atol=1e-4)


@together("alpha", [0.1, 2.0])
def test_users_are_the_minimum_of_a_convex_solver(alpha):
    p, x = problem(alpha, n=5, m=18, tol=1e-10)
    p.update_users(x, 50_000)
    a, e = p.arrays(x), p.entries
    logits = prior_logits(a["gamma"])
    for i in range(3):
        here = slice(e.indptr[i], e.indptr[i + 1])
        psi, theta = cvxpy.Variable(K), cvxpy.Variable(R - 1)
        total = -cvxpy.sum(cvxpy.entr(psi)) - cvxpy.sum(cvxpy.entr(1 - psi)) - logits @ psi
        total += cvxpy.sum_squares(theta - p.centres[i]) / (2 * p.variance)
        for j, y in zip(e.indices[here], p.levels[here], strict=True):
            sign = np.where(y <= np.arange(1, R), 1, -1)
            total += cvxpy.sum(cvxpy.pos(WIDTH - cvxpy.multiply(sign, theta - a["V"][j] @ psi))) / alpha
        cvxpy.Problem(cvxpy.Minimize(total)).solve(solver="CLARABEL")
        np.testing.assert_allclose(a["U"][i], psi.value, atol=2e-3)
        np.testing.assert_allclose(a["own"][i], theta.value, atol=2e-2)


def test_thresholds_are_exact():
    """Between two kinks J is a parabola, so the least of all parabolas' minima and all kinks is the minimum."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = rng.integers(0, 8)
        x, y = rng.normal(0, 3, n), rng.integers(1, R + 1, n).astype(np.uint8)
        centres, variance, cost, theta = threshold_centres(R, WIDTH), threshold_variance(WIDTH), 0.4, np.empty(R - 1)
        maxmargin.best_thresholds(x, y, centres, variance, WIDTH, cost, theta)
        for r in range(R - 1):
            sign = np.where(y <= r + 1, 1, -1)
            minima = centres[r] - variance * cost * np.arange(-n, n + 1)
            points = np.concatenate([theta[r : r + 1], x + sign * WIDTH, minima])
            hinges = np.maximum(0, WIDTH - sign * (points[:, None] - x)).sum(axis=1)
            values = (points - centres[r]) ** 2 / (2 * variance) + cost * hinges
            assert values[0] <= values.min() + 1e-12


def test_a_user_without_ratings_is_the_prior():
    p, x = problem()
    e = as_ratings([(0, 0), (1, 1)], [1, 5], scale=range(1, R + 1)).subset(np.array([True, False]))
    lonely = MaxEntropyProblem(e, e.levels, R, K, 0.7, None, WIDTH, 3.0, False, 1e-4)
    start = p.arrays(x)
    x = lonely.pack({"U": start["U"][:2], "V": start["V"][:2], "own": start["own"][:2], "gamma": start["gamma"]})
    lonely.update_users(x)
    np.testing.assert_allclose(lonely.arrays(x)["U"][1], 1 / (1 + np.exp(-prior_logits(start["gamma"]))))
    np.testing.assert_allclose(lonely.arrays(x)["own"][1], threshold_centres(R, WIDTH))


# ---------------------------------------------------------------- sticks


def test_the_bound_lies_below_what_it_bounds():
    gamma = RNG.uniform(0.5, 5, (2, 6))
    sticks = RNG.beta(*gamma, size=(200_000, 6))
    pi = np.cumprod(sticks, axis=1)
    on, off, _ = log_bounds(gamma)
    np.testing.assert_allclose(on, np.log(pi).mean(axis=0), rtol=0.02)
    exact = np.log1p(-pi).mean(axis=0)
    assert off[0] == pytest.approx(exact[0], rel=0.02)
    assert np.all(off <= exact + 0.01)


def test_sticks_settle_where_no_change_lowers_the_bound():
    ones, n = np.array([30.0, 12.0, 25.0, 3.0]), 40

    def bound(gamma):
        on, off, _ = log_bounds(gamma)
        users = -(ones * on + (n - ones) * off).sum() + n * np.logaddexp(on, off).sum()
        return users + sticks_divergence(gamma, n, 3.0)

    gamma, history = np.ones((2, 4)), []
    for _ in range(300):
        history.append(bound(gamma))
        gamma = best_sticks(gamma, ones, n, 3.0)
    assert np.all(np.diff(history) <= 1e-10)
    for _ in range(50):
        assert bound(gamma * np.exp(1e-3 * RNG.normal(size=gamma.shape))) >= bound(gamma)


# ---------------------------------------------------------------- the items' Gaussian


def test_divergence_of_the_gaussian_by_sampling():
    """KL of q(µ, Ω) ∏ q(v_j) from its definition, against the closed form."""
    m, d = 7, 2
    rows = RNG.normal(size=(m, d)) * [1, 2]
    mean, scatter = best_gaussian(rows, (d + m) * np.eye(d))
    tau, beta = d + m, 1 + m
    omegas = wishart(tau, np.linalg.inv(scatter)).rvs(20_000, random_state=0)
    covariance = scatter / tau
    logdet = np.linalg.slogdet(omegas)[1]
    # given Ω the rest has a closed form; only Ω is sampled
    trace = np.einsum("skl,lk->s", omegas, covariance)
    gap = np.einsum("jk,skl,jl->s", rows - mean, omegas, rows - mean)
    each = 0.5 * (m * (trace - d + d / beta - np.linalg.slogdet(covariance)[1] - logdet) + gap)
    each += 0.5 * (d * np.log(beta) - d + d / beta + np.einsum("k,skl,l->s", mean, omegas, mean))
    S = np.linalg.inv(scatter)
    log_q = 0.5 * (tau - d - 1) * logdet - 0.5 * np.einsum("kl,slk->s", scatter, omegas)
    log_q -= 0.5 * tau * d * np.log(2) + 0.5 * tau * np.linalg.slogdet(S)[1] + multigammaln(tau / 2, d)
    log_p = 0.5 * (d - d - 1) * logdet - 0.5 * np.einsum("skk->s", omegas)
    log_p -= 0.5 * d * d * np.log(2) + multigammaln(d / 2, d)
    each += log_q - log_p
    whitened = (rows - mean) @ np.linalg.inv(root(scatter, m)).T
    closed = gaussian_divergence(mean, scatter, m) + 0.5 * (whitened**2).sum()
    assert closed == pytest.approx(each.mean(), abs=5 * each.std() / np.sqrt(len(each)))


def test_the_gaussian_settles_at_its_minimum():
    m, d = 30, 3
    rows = RNG.normal(size=(m, d)) @ RNG.normal(size=(d, d)) + [1, 2, 3]

    def bound(mean, scatter):
        whitened = (rows - mean) @ np.linalg.inv(root(scatter, m)).T
        return gaussian_divergence(mean, scatter, m) + 0.5 * (whitened**2).sum()

    mean, scatter, history = np.zeros(d), np.eye(d) * (d + m), []
    for _ in range(300):
        history.append(bound(mean, scatter))
        mean, scatter = best_gaussian(rows, scatter)
    assert np.all(np.diff(history) <= 1e-10)
    for _ in range(30):
        change = np.eye(d) + 1e-3 * RNG.normal(size=(d, d))
        assert bound(mean + 1e-3 * RNG.normal(size=d), change @ scatter @ change.T) >= bound(mean, scatter) - 1e-9
