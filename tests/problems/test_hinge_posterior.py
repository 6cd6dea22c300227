"""Samplers of hinge losses draw from their pseudo-posteriors: against quadrature, brute force and references."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse, stats

from cofactor.kernels import hinges
from cofactor.kernels.random import fold, inverse_gaussians
from cofactor.problems.max_margin import FixedPrior, HingePosterior, HingeUsers, ThresholdPrior
from cofactor.problems.priors import Moments, moments
from cofactor.problems.users import LocalUsers
from cofactor.samplers import Chain, Key, run

C, WIDTH = 0.25, 1.0


def level_data(pairs: np.ndarray, levels: np.ndarray, shape: tuple[int, int]) -> SimpleNamespace:
    """Return levels of pairs by rows and by columns."""
    rows = sparse.csr_array((np.arange(len(pairs)) + 1, pairs.T), shape=shape)
    rows.sort_indices()
    order = rows.data - 1
    rows.data = np.arange(len(pairs))
    columns = rows.tocsc()
    return SimpleNamespace(
        indptr=rows.indptr.astype(np.int64),
        indices=rows.indices.astype(np.int32),
        levels=np.asarray(levels, dtype=np.uint8)[order],
        col_indptr=columns.indptr.astype(np.int64),
        col_indices=columns.indices.astype(np.int32),
        to_csr=columns.data.astype(np.int32),
    )


def loss(x: np.ndarray, theta: np.ndarray, levels: np.ndarray, width: float = WIDTH) -> np.ndarray:
    """Return the sum of hinges at all thresholds for each rating, by the definition."""
    sign = np.where(levels[:, None] <= np.arange(1, theta.shape[-1] + 1), 1.0, -1.0)
    return np.maximum(0, width - sign * (theta - x[..., None])).sum(axis=-1)


@pytest.mark.parametrize("mean", [0.3, 1.0, 5.0])
def test_inverse_gaussian(mean):
    n = 50_000
    x = np.empty(n)
    inverse_gaussians(fold(1), np.full(n, mean), x, np.empty(n))
    assert stats.kstest(x, stats.invgauss(mean).cdf).pvalue > 1e-3
    assert x.mean() == pytest.approx(mean, abs=5 * np.sqrt(mean**3 / n))
    assert x.var() == pytest.approx(mean**3, rel=0.2)


def test_inverse_gaussian_of_an_infinite_mean_is_one_over_a_squared_normal():
    n = 100_000
    x = np.empty(n)
    inverse_gaussians(fold(2), np.full(n, np.inf), x, np.empty(n))
    assert np.isfinite(x).all()
    assert stats.kstest(1 / x, stats.chi2(1).cdf).pvalue > 1e-3


def drawn(seed: int, x: np.ndarray, levels: np.ndarray, theta: np.ndarray) -> tuple:
    """Return thresholds, weights, targets, ω and minus the loss after one draw."""
    theta, n = theta.copy(), len(x)
    W, t, room = np.empty(n), np.empty(n), np.empty((len(theta) + 2, n))
    centre, precision = np.zeros(len(theta)), np.full(len(theta), 0.1)
    _, value = hinges.draw_scales_and_thresholds(fold(seed), x, levels, centre, precision, C, WIDTH, theta, W, t, room)
    return theta, W, t, room[:-2], value


def test_weights_and_targets_are_those_of_completed_squares():
    rng = np.random.default_rng(0)
    x, levels = rng.normal(size=7), rng.integers(1, 6, 7).astype(np.uint8)
    theta, W, t, omega, value = drawn(3, x, levels, np.array([-1.5, -0.5, 0.5, 1.5]))
    sign = np.where(levels <= np.arange(1, 5)[:, None], 1.0, -1.0)
    e = theta[:, None] - sign * WIDTH - sign * C / omega
    np.testing.assert_allclose(W, omega.sum(axis=0))
    np.testing.assert_allclose(t, (omega * e).sum(axis=0) / omega.sum(axis=0))
    assert value == pytest.approx(-2 * C * loss(x, theta, levels).sum())


def grid_moments(levels: np.ndarray, weights: np.ndarray, centre: np.ndarray, deviation: float) -> np.ndarray:
    """Return moments of u and θ of a user by quadrature: N(0, 1) and N(centre, deviation²) times hinges, x = u v."""
    u, theta = np.linspace(-6, 6, 301), np.linspace(-12, 12, 601)
    density = np.exp(-0.5 * u**2)
    means = []
    for r in range(len(centre)):
        sign = np.where(levels <= r + 1, 1.0, -1.0)
        zeta = WIDTH - sign * (theta[:, None, None] - u[:, None] * weights)
        joint = np.exp(-0.5 * ((theta - centre[r]) / deviation) ** 2)[:, None] * np.exp(
            -2 * C * np.maximum(0, zeta).sum(axis=2)
        )
        mass = joint.sum(axis=0)
        density *= mass
        means.append((theta[:, None] * joint).sum(axis=0) / mass)
    density /= density.sum()
    mean = (u * density).sum()
    return np.array([mean, np.sqrt(((u - mean) ** 2 * density).sum()), *(m @ density for m in means)])


def test_a_new_user_is_drawn_from_the_pseudo_posterior():
    levels, v = np.array([1, 3, 4, 4, 5], dtype=np.uint8), np.array([0.5, 1.0, -1.5, 1.0, 2.0])
    centre, deviation, n = np.array([-2.0, -1.0, 1.0, 2.0]), 1.5, 8000
    u, theta = np.empty((n, 1, 1), np.float32), np.empty((n, 1, 4), np.float32)
    indptr, items, table = np.array([0, 5]), np.arange(5, dtype=np.int32), v[:, None].astype(np.float32)
    for k in range(n):
        hinges.fold_hinge_rows(
            0, 1, fold(7, k), indptr, items, levels, table, False, np.ones(1), np.zeros((1, 1)), centre,
            np.full(4, deviation**-2), C, WIDTH, np.zeros((1, 1)), centre[None], 25, u[k], theta[k],
        )  # fmt: skip
    expected = grid_moments(levels, v, centre, deviation)
    found = np.array([u.mean(), u.std(), *theta[:, 0].mean(axis=0)])
    assert np.abs(found - expected).max() < 0.06


def test_a_new_item_is_drawn_from_the_pseudo_posterior():
    """Given rows and thresholds of its users: compared with quadrature over its one weight."""
    rng = np.random.default_rng(3)
    levels, u, theta = np.array([1, 3, 4, 5], dtype=np.uint8), np.array([0.5, 1.0, -1.5, 1.0]), rng.normal(size=(4, 4))
    theta, n = (np.sort(theta, axis=1) * 2).astype(np.float32), 4000
    drawn = np.empty((n, 1, 1), np.float32)
    for k in range(n):
        hinges.fold_hinge_columns(
            0, 1, fold(7, k), np.array([0, 4]), np.arange(4, dtype=np.int32), levels, u[:, None], theta, False,
            np.ones(1), np.full((1, 1), 0.3), C, WIDTH, np.zeros((1, 1)), 25, drawn[k],
        )  # fmt: skip
    v = np.linspace(-6, 7, 2001)
    sign = np.where(levels[:, None] <= np.arange(1, 5), 1.0, -1.0)
    zeta = WIDTH - sign[:, :, None] * (theta[:, :, None] - u[:, None, None] * v)
    density = np.exp(-0.5 * (v - 0.3) ** 2 - 2 * C * np.maximum(0, zeta).sum(axis=(0, 1)))
    density /= density.sum()
    mean = (v * density).sum()
    deviation = np.sqrt(((v - mean) ** 2 * density).sum())
    assert abs(drawn.mean() - mean) < 4 * deviation / np.sqrt(n)
    assert abs(drawn.std() / deviation - 1) < 0.06


def test_all_blocks_together_draw_from_the_pseudo_posterior():
    """Two users, two items, three ratings; many independent copies at once, as blocks of one table."""
    copies, levels = 1500, [1, 3, 2]
    base = 2 * np.arange(copies)[:, None, None]
    pairs = (base + np.array([[0, 0], [0, 1], [1, 1]])).reshape(-1, 2)
    data = level_data(pairs, np.tile(levels, copies), (2 * copies, 2 * copies))
    prior = ThresholdPrior(2.0, 1.5, learned=False)
    users = HingeUsers(lambda: data, FixedPrior("user", 1), c=C, width=WIDTH, biased=False)
    posterior = HingePosterior(LocalUsers(users), users.items.n, 3, FixedPrior("item", 1), prior)
    chain = run(posterior, Chain(0, 5), 150, burn_in=50, thin=2)
    U, V, theta = (chain.samples[name].reshape(-1, copies, 2, k) for name, k in (("U", 1), ("V", 1), ("thresholds", 2)))
    u, v = U[..., 0], V[..., 0]
    statistics = [
        u[..., 0] * v[..., 0], u[..., 0] * v[..., 1], u[..., 1] * v[..., 1], u[..., 0] ** 2, v[..., 1] ** 2,
        theta[..., 0, 0], theta[..., 0, 1], theta[..., 1, 0],
    ]  # fmt: skip
    found = np.array([s.mean(axis=0) for s in statistics])
    expected = two_by_two(np.array(levels), np.array([-1.0, 1.0]), 1.5)
    z = (found.mean(axis=1) - expected) / (found.std(axis=1) / np.sqrt(copies))
    assert np.abs(z).max() < 4, z


def two_by_two(levels: np.ndarray, centre: np.ndarray, deviation: float) -> np.ndarray:
    """Return the means of those statistics by quadrature over both items, each user, and each threshold."""
    v, u, theta = np.linspace(-4, 4, 49), np.linspace(-4, 4, 49), np.linspace(-8, 10, 181)
    x = np.linspace(-16, 16, 641)  # all products u v, to the nearest

    def factor(level: int, r: int) -> np.ndarray:  # exp(-2c hinge) over θ and x
        sign = 1.0 if level <= r + 1 else -1.0
        return np.exp(-2 * C * np.maximum(0, WIDTH - sign * (theta[:, None] - x)))

    def user(own: list[int]) -> tuple[np.ndarray, ...]:
        """Return mass and first moments over u of its items' products, and of θ, for pairs of item values."""
        mass = np.exp(-0.5 * u**2)[:, None, None] * np.ones((len(u), len(v), len(v)))
        at = np.rint((u[:, None] * v + 16) / (x[1] - x[0])).astype(int)
        means = []
        for r in range(2):
            g = np.exp(-0.5 * ((theta - centre[r]) / deviation) ** 2)[:, None]
            factors = [factor(level, r) for level in own]
            if len(own) == 2:
                total = np.einsum("tx,ty->xy", g * factors[0], factors[1])
                first = np.einsum("tx,ty->xy", theta[:, None] * g * factors[0], factors[1])
                where = (at[:, :, None], at[:, None, :])
            else:  # the second item alone
                total, first = (np.tile((w * g * factors[0]).sum(axis=0), (1, 1)) for w in (1.0, theta[:, None]))
                where = (np.zeros_like(at)[:, None, :], np.broadcast_to(at[:, None, :], (len(u), 1, len(v))))
            mass = mass * total[where]
            means.append((first / total)[where])
        return mass, *means

    a, b = user([levels[0], levels[1]]), user([levels[2]])
    items = np.exp(-0.5 * v**2)[:, None] * np.exp(-0.5 * v**2)
    A, B = a[0].sum(axis=0), b[0].sum(axis=0)
    whole = (items * A * B).sum()

    def of(first: np.ndarray, second: np.ndarray) -> float:
        return float((items * first * second).sum() / whole)

    U3 = u[:, None, None]
    return np.array(
        [
            of((U3 * a[0]).sum(axis=0) * v[:, None], B), of((U3 * a[0]).sum(axis=0) * v, B),
            of(A, (U3 * b[0]).sum(axis=0) * v), of((U3**2 * a[0]).sum(axis=0), B), of(A * v**2, B),
            of((a[1] * a[0]).sum(axis=0), B), of((a[2] * a[0]).sum(axis=0), B), of(A, (b[1] * b[0]).sum(axis=0)),
        ]
    )  # fmt: skip


def test_predictions_are_means_over_samples():
    rng = np.random.default_rng(0)
    S, n, m, d, R = 6, 5, 4, 3, 5
    # Eighths: their sums of products are exact in single precision, which the kernels are compiled for.
    U, V, theta = (rng.integers(-16, 17, size) / 8 for size in ((S, n, d), (S, m, d), (S, n, R - 1)))
    single = [array.astype(np.float32) for array in (U, V, theta)]
    users, items = (rng.integers(-1, size, 30, dtype=np.int32) for size in (n, m))
    for biased in (False, True):
        x = (U[:, users] * V[:, items]).sum(axis=2)
        if biased:
            x = (U[:, users, :-1] * V[:, items, :-1]).sum(axis=2) + U[:, users, -1] + V[:, items, -1]
        margins, p = np.empty((30, R - 1)), np.empty((30, R))
        hinges.mean_margins(0, 30, users, items, *single, biased, margins)
        np.testing.assert_allclose(margins, (x[..., None] - theta[:, users]).mean(axis=0))
        hinges.hinge_probabilities(0, 30, users, items, np.arange(S), *single, biased, C, WIDTH, p)
        flat = theta[:, users].reshape(-1, R - 1)
        e = np.stack([np.exp(-2 * C * loss(x.ravel(), flat, np.full(x.size, r))) for r in range(1, R + 1)], axis=1)
        expected = (e / e.sum(axis=1, keepdims=True)).reshape(S, 30, R).mean(axis=0)
        np.testing.assert_allclose(p, expected, atol=1e-10)


def test_learned_thresholds_follow_their_users():
    rng = np.random.default_rng(0)
    state = ThresholdPrior(3.0, 1.5).start(4)
    assert state["threshold_mean"].tolist() == [-3.0, 0.0, 3.0]
    thresholds = rng.normal([-1.0, 0.5, 4.0], [0.5, 1.0, 2.0], size=(4000, 3))
    ThresholdPrior(3.0, 1.5).draw(state, Key(0, 0, 1, 1), Moments(4000, *moments(thresholds)))
    np.testing.assert_allclose(state["threshold_mean"], [-1.0, 0.5, 4.0], atol=0.15)
    np.testing.assert_allclose(state["threshold_precision"], [4.0, 1.0, 0.25], rtol=0.1)


def test_thresholds_that_are_not_learned_stay():
    data = level_data(np.array([[0, 0], [1, 0], [0, 1]]), [1, 3, 2], (2, 2))
    users = HingeUsers(lambda: data, FixedPrior("user", 1), c=C, width=WIDTH, biased=False)
    prior = ThresholdPrior(2.0, 1.5, learned=False)
    posterior = HingePosterior(LocalUsers(users), 2, 3, FixedPrior("item", 1), prior)
    state = posterior.start(Key(0, 0, 0, 0))
    for number, step in enumerate(posterior.steps.values()):
        step(state, Key(0, 0, 1, number))
    assert state["threshold_mean"].tolist() == [-1.0, 1.0]
    assert state["threshold_precision"].tolist() == [1.5**-2] * 2
