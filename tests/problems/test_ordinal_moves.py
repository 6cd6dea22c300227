"""Moves which leave the likelihood as it is: that they do, and draw from the priors' density times the Jacobian."""

import numpy as np
import pytest
from scipy import stats
from tests.together import together

from cofactor.problems.ordinal_probit import GapPrior, OrdinalMoves, OrdinalUsers
from cofactor.problems.priors import BiasedPrior
from cofactor.problems.users import LocalUsers
from cofactor.samplers import Key, State

N, M, R = 5, 4, 3
GAPS = GapPrior(2.0, 0.7, 0.3)
F = np.array([[1.0, 0.2], [-0.5, 1.0], [0.3, -0.4], [0.8, 0.1], [-1.2, 0.6]])


def moves_and_state(d: int, linked: bool = True) -> tuple[OrdinalMoves, State]:
    """Return moves for users with features and items with or without, and a state that has nothing special."""
    random = np.random.default_rng(0)
    users = BiasedPrior("user", d + 1, F, strength=0.6, excess=2.5)
    items = BiasedPrior("item", d + 1, F[:M] if linked else None, strength=1.7, excess=1.5)
    state = users.start() | items.start()
    for prior in (users, items):
        for name in ("mean", "weights"):
            array = state[f"{prior.name}_{name}"]
            array[:] = random.normal(size=array.shape)
        root = random.normal(size=(d, d))
        state[f"{prior.name}_precision"][:d, :d] = root @ root.T + 0.5 * np.eye(d)
        state[f"{prior.name}_precision"][d, d] = random.gamma(4.0, 0.3)
        if linked or prior is users:
            state[f"{prior.name}_weight_precision"][:] = random.gamma(4.0, 0.3, 2)
    state |= {"U": random.normal(size=(N, d + 1)), "V": random.normal(size=(M, d + 1))}
    state |= {"shadow_U": random.normal(size=(2, d + 1))}
    for prefix, n in (("", N), ("shadow_", 2)):
        gaps = random.normal(size=(n, R - 1))
        first, other = gaps[:, :1], gaps[:, :1] + np.exp(gaps[:, 1:])
        state |= {prefix + "gaps": gaps, prefix + "thresholds": np.hstack([first, other])}
    state |= {"gap_mean": random.normal(size=R - 1), "gap_precision": random.gamma(4.0, 0.3, R - 1)}
    sides = [LocalUsers(OrdinalUsers(lambda: None, users, prefix)) for prefix in ("", "shadow_")]
    return OrdinalMoves(items, GAPS, sides), state


def copied(state: State) -> State:
    return {name: array.copy() for name, array in state.items()}


def log_prior(moves: OrdinalMoves, state: State) -> float:
    """Return the log-density of all that is drawn, but for the levels and shadow users."""
    gap_sd = state["gap_precision"] ** -0.5
    total = stats.norm.logpdf(state["gaps"], state["gap_mean"], gap_sd).sum()
    total += stats.norm.logpdf(state["gap_mean"], 0, gap_sd / np.sqrt(GAPS.strength)).sum()
    total += stats.gamma.logpdf(state["gap_precision"], GAPS.shape, scale=1 / GAPS.rate).sum()
    for prior, rows in ((moves.users, state["U"]), (moves.items, state["V"])):
        mean, precision, weights, omega = (
            state[f"{prior.name}_{name}"] for name in ("mean", "precision", "weights", "weight_precision")
        )
        features = np.zeros((len(rows), 0)) if prior is moves.items and not len(weights) else F[: len(rows)]
        total += part_of_prior(prior.factors, rows - features @ weights, mean, precision, weights, omega[0], slice(-1))
        total += part_of_prior(
            prior.bias, rows - features @ weights, mean, precision, weights, omega[1], slice(-1, None)
        )
    return float(total)


def part_of_prior(prior, rest, mean, precision, weights, omega, columns) -> float:
    """Return the log-density of rows less their regression, and of all parameters, in some columns."""
    rest, mean, weights, P = rest[:, columns], mean[columns], weights[:, columns], precision[columns, columns]
    cov = np.linalg.inv(P)
    total = stats.multivariate_normal.logpdf(rest, mean, cov).sum()
    total += stats.multivariate_normal.logpdf(mean, np.zeros_like(mean), cov / prior.strength)
    total += stats.wishart.logpdf(P, prior.degrees, np.eye(len(P)))
    if len(weights):
        total += stats.multivariate_normal.logpdf(weights, np.zeros_like(mean), cov / omega).sum()
        total += stats.gamma.logpdf(omega, 1.0)
    return float(total)


def below(state: State, prefix: str = "") -> np.ndarray:
    """Return what the levels depend on: thresholds less scores, for all users, items and levels."""
    U, V = state[prefix + "U"], state["V"]
    x = U[:, :-1] @ V[:, :-1].T + U[:, -1:] + V[:, -1]
    return state[prefix + "thresholds"][:, None] - x[:, :, None]


@together("name", ["offsets", "user shift", "item shift", "scales"])
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


@together("side", ["user", "item"])
@together("linked", [True, False])
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


def test_scales_follow_their_density():
    """The Jacobian is that of all numbers which are multiplied, of a symmetric matrix those on one side."""
    moves, state = moves_and_state(2)
    grid, factor = np.linspace(-4, 4, 101), 1
    log_density = np.empty_like(grid)
    for k, log_q in enumerate(grid):
        new, log_jacobian = copied(state), 0.0
        for name, sign in (("U", 1), ("user_mean", 1), ("user_weights", 1), ("V", -1), ("item_mean", -1),
                           ("item_weights", -1)):  # fmt: skip
            new[name][..., factor] *= np.exp(sign * log_q / 2)
            log_jacobian += sign * log_q / 2 * new[name][..., factor].size
        for name, sign in (("user_precision", -1), ("item_precision", 1)):
            new[name][factor, :2] *= np.exp(sign * log_q / 2)
            new[name][:2, factor] *= np.exp(sign * log_q / 2)
            log_jacobian += sign * log_q * (1 + 1 / 2)
        log_density[k] = log_prior(moves, new) + log_jacobian
    drawn = []
    for sweep in range(1500):
        new = copied(state)
        moves.draw_scales(new, Key(0, 0, sweep, 0))
        drawn.append(2 * np.log(new["U"][0, factor] / state["U"][0, factor]))
    assert stats.kstest(drawn, on_grid(grid + 0.04, log_density)).pvalue > 1e-3
    for name, sign in (("user", -1), ("item", 1)):
        roots = (new["U"][0] / state["U"][0]) ** sign
        roots[-1] = 1
        np.testing.assert_allclose(new[f"{name}_precision"], state[f"{name}_precision"] * np.outer(roots, roots))


def test_offsets_are_normal_draws():
    moves, state = moves_and_state(2)
    before, key = copied(state), Key(2, 0, 0, 0)
    moves.draw_offsets(state, key)
    random = key.generator()
    random.normal(size=20), random.random(20)  # of the share
    noise = random.normal(size=N)
    a, b = state["user_precision"][2, 2], state["gap_precision"][0]
    centre = state["user_mean"][2] + F @ state["user_weights"][:, 2]
    mean = (a * (centre - before["U"][:, 2]) + b * (before["gap_mean"][0] - before["gaps"][:, 0])) / (a + b)
    np.testing.assert_allclose(state["U"][:, 2] - before["U"][:, 2], mean + noise / np.sqrt(a + b))
    assert 1 / a + 1 / b == pytest.approx(1 / before["user_precision"][2, 2] + 1 / before["gap_precision"][0])


def test_share_of_biases_follows_its_density():
    """Precisions with a given sum of variances, where the offsets of users are integrated out."""
    moves, state = moves_and_state(2)
    total = 1 / state["user_precision"][2, 2] + 1 / state["gap_precision"][0]
    drawn = []
    for sweep in range(1500):
        new = copied(state)
        for _ in range(3):
            moves.draw_offsets(new, Key(sweep, 0, 0, _))
        drawn.append(1 / new["user_precision"][2, 2] / total)
    share = np.linspace(2e-3, 1 - 2e-3, 250)
    mean, weights, omega = (state[f"user_{name}"] for name in ("mean", "weights", "weight_precision"))
    tau, of_gap = 1 / (total * share), 1 / (total * (1 - share))
    log_density = 2 * np.log(tau) + 2 * np.log(of_gap)  # dτ = τ² dv
    log_density += stats.chi2.logpdf(tau, moves.users.bias.degrees)
    log_density += stats.norm.logpdf(mean[2], 0, (0.6 * tau) ** -0.5)
    log_density += stats.norm.logpdf(weights[:, 2, None], 0, (omega[1] * tau) ** -0.5).sum(axis=0)
    log_density += stats.gamma.logpdf(of_gap, GAPS.shape, scale=1 / GAPS.rate)
    log_density += stats.norm.logpdf(state["gap_mean"][0], 0, (GAPS.strength * of_gap) ** -0.5)
    assert stats.kstest(drawn, on_grid(share + 2e-3, log_density)).pvalue > 1e-3
