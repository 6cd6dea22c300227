"""The posterior of BPMF with features of users, by the joint distribution test of Geweke (2004)."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import wishart

from cofactor.problems.bpmf import GaussianPosterior, GaussianUsers
from cofactor.problems.priors import NormalWishartPrior
from cofactor.problems.users import LocalUsers
from cofactor.samplers import Key

from ..kernels.reference import pattern

N, M, D = 4, 3, 2
DEGREES, STRENGTH, SHAPE, RATE = 6.0, 2.0, 6.0, 4.0
FEATURES = np.array([[0.9, 0.5], [-0.9, 0.5], [0.0, -1.2], [0.0, 0.7]])  # orthogonal columns
ENTRIES = pattern(np.array([[1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0]], dtype=bool))


def statistics(U, V, user_mean, user_precision, weights, omega, item_precision, alpha, targets) -> np.ndarray:
    """Return functions of states and data whose moments exist, one row for each draw."""
    x = np.einsum("...kf,...kf->...k", U[..., ENTRIES.rows, :], V[..., ENTRIES.indices, :])
    return np.stack(
        [
            np.tanh(x).mean(axis=-1),
            np.log1p((U**2).mean(axis=(-2, -1))),
            np.log1p((V**2).mean(axis=(-2, -1))),
            np.tanh(U[..., 3, 0]),  # a row without entries
            np.tanh(user_mean[..., 0] * user_mean[..., 1]),
            np.log(np.linalg.det(user_precision)),
            np.tanh(weights[..., 0, 0]),
            np.tanh(weights[..., 0, 0] * weights[..., 1, 0]),
            np.tanh((weights[..., 1, None, :] @ user_precision @ weights[..., 1, :, None])[..., 0, 0]),
            np.log(omega),
            np.log(item_precision[..., 0, 0]),
            np.tanh(item_precision[..., 0, 1]),
            np.log(alpha),
            np.log1p((targets**2).mean(axis=-1)),
            np.tanh(targets * x).mean(axis=-1),
        ],
        axis=-1,
    )


def from_the_prior(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return statistics of independent draws of everything, made by SciPy and NumPy."""

    def side(count: int, features: np.ndarray) -> tuple[np.ndarray, ...]:
        precision = wishart.rvs(DEGREES, np.eye(D), size=n, random_state=rng)
        root = np.linalg.cholesky(np.linalg.inv(precision))
        mean = np.einsum("kab,kb->ka", root, rng.normal(size=(n, D))) / np.sqrt(STRENGTH)
        omega, K = rng.gamma(1.0, 1.0, n), features.shape[1]
        weights = np.einsum("kab,kcb->kca", root, rng.normal(size=(n, K, D))) / np.sqrt(omega)[:, None, None]
        rows = mean[:, None] + np.einsum("kab,kib->kia", root, rng.normal(size=(n, count, D))) + features @ weights
        return mean, precision, weights, omega, rows

    user_mean, user_precision, weights, omega, U = side(N, FEATURES)
    _, item_precision, _, _, V = side(M, np.zeros((M, 0)))
    alphas = rng.gamma(SHAPE, 1 / RATE, n)
    x = np.einsum("skf,skf->sk", U[:, ENTRIES.rows], V[:, ENTRIES.indices])
    targets = x + rng.normal(size=x.shape) / np.sqrt(alphas)[:, None]
    return statistics(U, V, user_mean, user_precision, weights, omega, item_precision, alphas, targets)


def posterior_of(entries, levels, values, users, items, *noise, **more) -> GaussianPosterior:
    own = GaussianUsers(lambda: SimpleNamespace(**vars(entries), levels=levels), values, users)
    mass = float(len(levels))
    return GaussianPosterior(LocalUsers(own), own.initialize, mass, values, own.items.n, items, *noise, **more)


def by_sweeps(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return statistics along a chain which draws parameters given data by a sweep, and data given parameters."""
    users = NormalWishartPrior("user", D, FEATURES, strength=STRENGTH, degrees=DEGREES)
    items = NormalWishartPrior("item", D, strength=STRENGTH, degrees=DEGREES)
    levels = np.arange(1, len(ENTRIES.indices) + 1)  # targets are real numbers: each has a level
    values = np.append(0, rng.normal(size=len(levels)))
    posterior = posterior_of(ENTRIES, levels, values, users, items, None, shape=SHAPE, rate=RATE)
    state = posterior.start(Key(1, 0, 0, 0))
    posterior.initialize(state)
    found = []
    for sweep in range(1, n + 1):
        for number, step in enumerate(posterior.steps.values()):
            step(state, Key(1, 0, sweep, number))
        x = np.einsum("kf,kf->k", state["U"][ENTRIES.rows], state["V"][ENTRIES.indices])
        noise = state["noise_precision"][0]
        if sweep % 100 == 0:
            errors = (posterior.users.own.targets - x) ** 2
            expected = 0.5 * (len(x) * np.log(noise / (2 * np.pi)) - noise * errors.sum())
            assert posterior.log_likelihood(state) == pytest.approx(expected)
        values[1:] = x + rng.normal(size=len(x)) / np.sqrt(noise)
        posterior.users.own.targets[:] = values[1:]
        names = ("U", "V", "user_mean", "user_precision", "user_weights")
        own = [state[name].copy() for name in names] + [state["user_weight_precision"][0]]
        found.append([*own, state["item_precision"].copy(), noise, posterior.users.own.targets.copy()])
    return statistics(*(np.array(arrays) for arrays in zip(*found, strict=True)))


def test_sweeps_leave_the_joint_distribution_as_it_is():
    """Means and squares of all statistics agree; errors of the chain by batches."""
    rng = np.random.default_rng(3)
    n, n_batches = 3000, 20
    independent, chain = from_the_prior(rng, 40_000), by_sweeps(rng, n)
    for power in (1, 2):
        a, b = independent**power, chain**power
        batches = b.reshape(n_batches, -1, b.shape[1]).mean(axis=1)
        error = np.sqrt(a.var(axis=0) / len(a) + batches.var(axis=0, ddof=1) / n_batches)
        z = (b.mean(axis=0) - a.mean(axis=0)) / error
        assert np.abs(z).max() < 4, z.round(1)


def test_a_given_precision_stays():
    users, items = (NormalWishartPrior(name, D) for name in ("user", "item"))
    posterior = posterior_of(ENTRIES, np.ones(7, np.uint8), np.arange(2.0), users, items, 3.5)
    state = posterior.start(Key(1, 0, 0, 0))
    posterior.initialize(state)
    for number, step in enumerate(posterior.steps.values()):
        step(state, Key(1, 0, 1, number))
    assert state["noise_precision"].tolist() == [3.5]
    x = np.einsum("kf,kf->k", state["U"][ENTRIES.rows], state["V"][ENTRIES.indices])
    expected = 0.5 * (7 * np.log(3.5 / (2 * np.pi)) - 3.5 * np.sum((1 - x) ** 2))
    assert posterior.log_likelihood(state) == pytest.approx(expected)
