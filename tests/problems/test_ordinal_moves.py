"""Moves which leave the likelihood as it is: that they do, and draw from the priors' density times the Jacobian."""

import numpy as np
import pytest
from scipy import stats

from cofactor.problems.ordinal_moves import OrdinalMoves, _draw_shares
from cofactor.problems.ordinal_probit import GapPrior
from cofactor.problems.priors import LinkedPrior
from cofactor.samplers import Key, State

N, M, R = 5, 4, 3
GAPS = GapPrior(2.0, 0.7, 0.3)
F = np.array([[1.0, 0.2], [-0.5, 1.0], [0.3, -0.4], [0.8, 0.1], [-1.2, 0.6]])


def moves_and_state(d: int, linked: bool = True) -> tuple[OrdinalMoves, State]:
    """Return moves for users with features and items with or without, and a state that has nothing special."""
    random = np.random.default_rng(0)
    users = LinkedPrior("user", d + 1, F, shape=1.5, rate=0.8, strength=0.6)
    items = LinkedPrior("item", d + 1, F[:M] if linked else None, shape=2.5, rate=1.3, strength=1.7)
    state = users.start() | items.start()
    for name, array in state.items():
        if linked or name != "item_weight_precision":
            array[:] = random.gamma(4.0, 0.3, array.shape) if "precision" in name else random.normal(size=array.shape)
    state |= {"U": random.normal(size=(N, d + 1)), "V": random.normal(size=(M, d + 1))}
    state |= {"shadow_U": random.normal(size=(2, d + 1))}
    for prefix, n in (("", N), ("shadow_", 2)):
        gaps = random.normal(size=(n, R - 1))
        first, other = gaps[:, :1], gaps[:, :1] + np.exp(gaps[:, 1:])
        state |= {prefix + "gaps": gaps, prefix + "thresholds": np.hstack([first, other])}
    state |= {"gap_mean": random.normal(size=R - 1), "gap_precision": random.gamma(4.0, 0.3, R - 1)}
    return OrdinalMoves(users, items, GAPS, ("", "shadow_")), state


def copied(state: State) -> State:
    return {name: array.copy() for name, array in state.items()}


def log_prior(moves: OrdinalMoves, state: State) -> float:
    """Return the log-density of all that is drawn, but for the levels and shadow users."""
    gap_sd = state["gap_precision"] ** -0.5
    total = stats.norm.logpdf(state["gaps"], state["gap_mean"], gap_sd).sum()
    total += stats.norm.logpdf(state["gap_mean"], 0, gap_sd / np.sqrt(GAPS.strength)).sum()
    total += stats.gamma.logpdf(state["gap_precision"], GAPS.shape, scale=1 / GAPS.rate).sum()
    for prior, rows in ((moves.users, state["U"]), (moves.items, state["V"])):
        mean, tau, weights, omega = (
            state[f"{prior.name}_{name}"] for name in ("mean", "precision", "weights", "weight_precision")
        )
        centre = mean if prior.features is None else mean + prior.features @ weights
        total += stats.norm.logpdf(rows, centre, tau**-0.5).sum()
        total += stats.norm.logpdf(mean, 0, (prior.strength * tau) ** -0.5).sum()
        total += stats.gamma.logpdf(tau, prior.shape, scale=1 / prior.rate).sum()
        if prior.linked:
            total += stats.norm.logpdf(weights, 0, omega**-0.5).sum()
            total += stats.gamma.logpdf(omega, prior.shape, scale=1 / prior.rate).sum()
    return float(total)


def below(state: State, prefix: str = "") -> np.ndarray:
    """Return what the levels depend on: thresholds less scores, for all users, items and levels."""
    U, V = state[prefix + "U"], state["V"]
    x = U[:, :-1] @ V[:, :-1].T + U[:, -1:] + V[:, -1]
    return state[prefix + "thresholds"][:, None] - x[:, :, None]


@pytest.mark.parametrize("name", ["offsets", "user shift", "item shift", "scales"])
def test_levels_are_as_likely_as_before(name):
    moves, state = moves_and_state(3)
    before = copied(state)
    moves.steps[name](state, Key(1, 0, 0, 0))
    changed = {name for name in state if not np.array_equal(state[name], before[name])}
    assert len(changed) >= 5
    np.testing.assert_allclose(below(state), below(before), atol=1e-12)
    np.testing.assert_allclose(below(state, "shadow_"), below(before, "shadow_"), atol=1e-12)
    gaps = state["gaps"]
    np.testing.assert_allclose(state["thresholds"], np.c_[gaps[:, 0], gaps[:, 0] + np.exp(gaps[:, 1])])


def shifted(state: State, side: str, delta: np.ndarray, t: float) -> State:
    """Return a state with δ added to the factors of one side, and t to all thresholds."""
    new, d = copied(state), len(delta)
    other, rows = ("item", "V") if side == "user" else ("user", "U")
    new["U" if side == "user" else "V"][:, :d] += delta
    new[f"{side}_mean"][:d] += delta
    new[rows][:, d] += t - state[rows][:, :d] @ delta
    new[f"{other}_mean"][d] += t - state[f"{other}_mean"][:d] @ delta
    new[f"{other}_weights"][:, d] -= state[f"{other}_weights"][:, :d] @ delta
    new["gaps"][:, 0] += t
    new["gap_mean"][0] += t
    return new


@pytest.mark.parametrize("side", ["user", "item"])
@pytest.mark.parametrize("linked", [True, False])
def test_shifts_are_normal_draws(side, linked):
    """The density along a shift, whose Jacobian is one, is normal: its mean and precision come from differences."""
    d, key = 2, Key(3, 0, 0, 0)
    moves, state = moves_and_state(d, linked)
    unit = np.eye(d + 1)

    def log_density(x: np.ndarray) -> float:
        return log_prior(moves, shifted(state, side, x[:d], x[d]))

    f0 = log_density(np.zeros(d + 1))
    up, down = (np.array([log_density(sign * e) for e in unit]) for sign in (1, -1))
    precision = np.array([[f0 + log_density(e + g) - log_density(e) - log_density(g) for g in unit] for e in unit])
    precision = -(precision + precision.T) / 2
    np.fill_diagonal(precision, 2 * f0 - up - down)
    mean = np.linalg.solve(precision, (up - down) / 2)
    noise = key.generator().normal(size=d + 1)
    x = mean + np.linalg.solve(np.linalg.cholesky(precision).T, noise)
    expected = shifted(state, side, x[:d], x[d])
    moves.steps[f"{side} shift"](state, key)
    for name in expected.keys() - {"shadow_U", "shadow_gaps", "shadow_thresholds", "thresholds"}:
        np.testing.assert_allclose(state[name], expected[name], rtol=1e-8, atol=1e-8, err_msg=name)


def on_grid(values: np.ndarray, log_density: np.ndarray):
    """Return the distribution function of a density on a grid."""
    cumulated = np.cumsum(np.exp(log_density - log_density.max()))
    return lambda x: np.interp(x, values, cumulated / cumulated[-1])


@pytest.mark.parametrize("linked", [True, False])
def test_scales_follow_their_density(linked):
    """Many equal factors at once are many draws; the Jacobian is that of the arrays which are multiplied."""
    moves, state = moves_and_state(1, linked)
    grid = np.linspace(-4, 4, 801)
    log_density = np.empty_like(grid)
    scaled = ["user_precision", "user_weight_precision", "item_precision", "item_weight_precision"]
    for k, log_q in enumerate(grid):
        new, log_jacobian = copied(state), 0.0
        for name, sign in (("U", 1), ("user_mean", 1), ("user_weights", 1), ("V", -1), ("item_mean", -1),
                           ("item_weights", -1), *zip(scaled, (-2, -2, 2, 2), strict=True)):  # fmt: skip
            if not linked and name == "item_weight_precision":
                continue
            array = new[name]
            array[..., 0] *= np.exp(sign * log_q / 2)
            log_jacobian += sign * log_q / 2 * array[..., 0].size
        log_density[k] = log_prior(moves, new) + log_jacobian
    n = 3000
    wide, many = moves_and_state(n, linked)
    for name in many.keys() - {"gaps", "thresholds", "gap_mean", "gap_precision"}:
        if not name.startswith("shadow"):
            many[name] = np.concatenate([np.repeat(state[name][..., :1], n, axis=-1), state[name][..., 1:]], axis=-1)
    wide.draw_scales(many, Key(0, 0, 0, 0))
    log_q = 2 * np.log(many["U"][0, :-1] / state["U"][0, 0])
    assert stats.kstest(log_q, on_grid(grid + 0.005, log_density)).pvalue > 1e-3
    np.testing.assert_allclose(many["item_precision"][:-1], state["item_precision"][0] * np.exp(log_q))


def test_offsets_are_normal_draws():
    moves, state = moves_and_state(2)
    before, key = copied(state), Key(2, 0, 0, 0)
    moves.draw_offsets(state, key)
    random = key.generator()
    random.normal(size=20), random.random(20)  # of the share
    noise = random.normal(size=N)
    a, b = state["user_precision"][2], state["gap_precision"][0]
    centre = state["user_mean"][2] + F @ state["user_weights"][:, 2]
    mean = (a * (centre - before["U"][:, 2]) + b * (before["gap_mean"][0] - before["gaps"][:, 0])) / (a + b)
    np.testing.assert_allclose(state["U"][:, 2] - before["U"][:, 2], mean + noise / np.sqrt(a + b))
    assert 1 / a + 1 / b == pytest.approx(1 / before["user_precision"][2] + 1 / before["gap_precision"][0])


def test_shares_follow_their_density():
    """Precisions with a given sum of variances, where the offsets of users are integrated out."""
    priors, means = (LinkedPrior("user", 1, shape=1.5, rate=0.8, strength=0.6), GAPS), (0.7, -1.1)
    random, pair, total, draws = np.random.default_rng(1), (2.0, 1.0), 1.5, []
    for _ in range(1500):
        pair = _draw_shares(random, priors, means, pair)
        draws.append(1 / pair[0] / total)
    share = np.linspace(5e-4, 1 - 5e-4, 1000)
    log_density = np.zeros_like(share)
    for prior, mean, variance in zip(priors, means, (total * share, total * (1 - share)), strict=True):
        tau = 1 / variance
        log_density += stats.gamma.logpdf(tau, prior.shape, scale=1 / prior.rate) + 2 * np.log(tau)  # dτ = τ² dv
        log_density += stats.norm.logpdf(mean, 0, (prior.strength * tau) ** -0.5)
    assert stats.kstest(draws[::3], on_grid(share + 5e-4, log_density)).pvalue > 1e-3
