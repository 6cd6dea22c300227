"""The sampler of ordinal probit factorization draws from its posterior: joint-distribution test, quadrature."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import ndtr

from cofactor.kernels.compile import exact
from cofactor.kernels.gibbs import SINGLE, draw_ordinal_rows
from cofactor.kernels.gibbs_rows import draw_rows, own_table
from cofactor.problems.ordinal_probit import GapPrior, OrdinalProbitPosterior, OrdinalUsers
from cofactor.problems.priors import BiasedPrior, Moments, draw_normal_gamma, moments
from cofactor.problems.users import LocalUsers
from cofactor.samplers import Key, State

# Light tails: with heavier ones, statistics of scale mix too slowly for a test of seconds.
GAPS, EXCESS = GapPrior(8.0, 8.0, 1.0), 16.0
N, M, P, R = 5, 4, 3, 3
STEPS = ("thresholds", "users", "user prior", "items", "item prior", "gap prior")

#: By how much the steps of proposals of thresholds are longer than `set_scales` says.
PROPOSAL_SCALE = 1.8

#: Those that follow in a sweep, and are tested apart.
MOVES = ("offsets", "user shift", "item shift", "scales")

#: All pairs but a few; the last user rated nothing.
MASK = np.ones((N, M), dtype=bool)
MASK[-1] = MASK[0, 1] = MASK[2, 3] = False

#: One link column for each side.
F = np.array([[1.0], [-0.5], [0.3], [0.8], [-1.2]])
G = np.array([[-0.7], [0.4], [1.1], [0.2]])


def level_data(mask: np.ndarray, levels: np.ndarray) -> SimpleNamespace:
    """Return levels of the pairs in a mask by rows and by columns, in the form that the posterior needs."""
    csr = sparse.csr_array(mask.astype(float))
    csr.data = np.arange(csr.nnz, dtype=float)
    csc = csr.tocsc()
    return SimpleNamespace(
        indptr=csr.indptr.astype(np.int64),
        indices=csr.indices.astype(np.int32),
        levels=np.asarray(levels, dtype=np.uint8),
        col_indptr=csc.indptr.astype(np.int64),
        col_indices=csc.indices.astype(np.int32),
        to_csr=csc.data.astype(np.int32),
    )


# Numba compiles what a function calls anew for each constant of Python among its arguments.
BIASED, FIRST, TRIES = np.bool_(True), np.array([0]), np.array([3])


@exact
def _latent_of_all(key, indptr, indices, levels, U, V, gaps, gap_mean, gap_precision, reach, thresholds, z, extra):
    items = np.arange(V.shape[1])
    for b in range(len(U)):
        table, _ = own_table(items, V[b], BIASED, SINGLE)
        draw_ordinal_rows(
            FIRST[0], U.shape[1], key + np.uint64(b), indptr, indices, levels[b], U[b], table, extra[:0], gaps[b],
            gap_mean[b], gap_precision[b], reach[b], TRIES[0], thresholds[b], z[b], extra, extra,
        )  # fmt: skip


@exact
def _rows_of_all(key, indptr, indices, position, z, other, precision, shift, out):
    one, rows = np.ones(1, np.float32), np.arange(other.shape[1])
    for b in range(len(out)):
        table, _ = own_table(rows, other[b], BIASED, SINGLE)
        draw_rows(
            FIRST[0], out.shape[1], key + np.uint64(b), indptr, indices, position, z[b], one, table, precision[b],
            shift[b], out[b],
        )  # fmt: skip


class Blocks:
    """B copies of a `BiasedPrior` drawn at once: what it does, written down for many by NumPy alone."""

    def __init__(self, B: int, features: np.ndarray, excess: float) -> None:
        self.B, self.features, self.excess = B, features, excess
        self.mean, self.precision = np.zeros((B, P)), np.zeros((B, P, P))
        self.weights, self.omega = np.zeros((B, features.shape[1], P)), np.ones((B, 2))

    def start(self, random: np.random.Generator) -> np.ndarray:
        """Draw all parameters, and return rows."""
        (n, K), noises = self.features.shape, []
        for k, columns in enumerate(BLOCKS):
            p = len(range(P)[columns])
            A = random.normal(size=(self.B, p, int(p - 1 + self.excess)))
            self.precision[:, columns, columns] = A @ A.swapaxes(1, 2)
            root = np.linalg.cholesky(np.linalg.inv(self.precision[:, columns, columns]))
            self.omega[:, k] = random.gamma(1.0, 1.0, self.B)
            noise = root @ random.normal(size=(self.B, p, 1 + K + n))
            self.mean[:, columns] = noise[..., 0]
            self.weights[:, :, columns] = noise[..., 1 : 1 + K].swapaxes(1, 2) / np.sqrt(self.omega[:, k, None, None])
            noises.append(noise[..., 1 + K :].swapaxes(1, 2))
        return self.means() + np.concatenate(noises, axis=2)

    def means(self) -> np.ndarray:
        return self.mean[:, None] + self.features @ self.weights

    def shifts(self) -> np.ndarray:
        return self.means() @ self.precision

    def draw(self, random: np.random.Generator, rows: np.ndarray) -> None:
        """Draw all parameters given rows (B, n, P): see `NormalWishartPrior`; the strength is one."""
        for k, columns in enumerate(BLOCKS):
            self.mean[:, columns], self.precision[:, columns, columns], self.weights[..., columns], self.omega[:, k] = (
                self._drawn(random, rows[..., columns], self.omega[:, k])
            )

    def _drawn(self, random: np.random.Generator, rows: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, ...]:
        (B, n, p), F = rows.shape, self.features
        design = np.c_[np.ones(n), F]
        penalty = np.concatenate([np.ones((B, 1)), np.tile(omega[:, None], F.shape[1])], axis=1)
        A = design.T @ design + penalty[:, None] * np.eye(penalty.shape[1])
        best = np.linalg.solve(A, design.T @ rows)
        rest = rows - design @ best
        inverse = np.eye(p) + rest.swapaxes(1, 2) @ rest + best.swapaxes(1, 2) @ (penalty[..., None] * best)
        bartlett = np.tril(random.normal(size=(B, p, p)), -1)
        degrees = p - 1 + self.excess + n - np.arange(p)
        bartlett += np.sqrt(random.chisquare(degrees, (B, p)))[:, None] * np.eye(p)
        root = np.linalg.cholesky(inverse)
        T = np.linalg.solve(root.swapaxes(1, 2), bartlett)
        precision = T @ T.swapaxes(1, 2)
        of_mean = np.linalg.inv(A)[:, 0, 0]
        shift = np.linalg.solve(T.swapaxes(1, 2), random.normal(size=(B, p, 1)))[..., 0]
        mean = best[:, 0] + shift * np.sqrt(of_mean)[:, None]
        total, noise = omega[:, None] + (F**2).sum(axis=0), random.normal(size=(B, F.shape[1], p))
        noise = np.linalg.solve(np.linalg.cholesky(precision).swapaxes(1, 2), noise.swapaxes(1, 2)).swapaxes(1, 2)
        weights = (F.T @ (rows - mean[:, None])) / total[..., None] + noise / np.sqrt(total)[..., None]
        rate = 1 + 0.5 * (weights @ precision * weights).sum(axis=(1, 2))
        return mean, precision, weights, random.gamma(1 + 0.5 * F.shape[1] * p, 1 / rate)


#: Factors, and the bias.
BLOCKS = (slice(0, P - 1), slice(P - 1, P))


class Replicates:
    """B independent copies of the model and of its sampler, at once.

    That a single copy does what `OrdinalProbitPosterior` does is tested first.
    """

    def __init__(self, B: int, excess: float = EXCESS) -> None:
        self.B, self.data = B, level_data(MASK, np.ones(MASK.sum()))
        self.users, self.items = Blocks(B, F, excess), Blocks(B, G, excess)
        self.state: State = {}

    def start(self, random: np.random.Generator) -> None:
        """Draw everything from the prior."""
        B, state = self.B, self.state
        state["U"], state["V"] = self.users.start(random), self.items.start(random)
        state["gap_precision"] = random.gamma(GAPS.shape, 1 / GAPS.rate, (B, R - 1))
        state["gap_mean"] = random.normal(size=(B, R - 1)) / np.sqrt(GAPS.strength * state["gap_precision"])
        noise = random.normal(size=(B, N, R - 1)) / np.sqrt(state["gap_precision"])[:, None]
        state["gaps"] = state["gap_mean"][:, None] + noise
        state["thresholds"] = thresholds_of(state["gaps"])
        self.draw_levels(random)

    def draw_levels(self, random: np.random.Generator) -> None:
        """Draw z and levels given the rest."""
        x, thresholds = self.scores()
        self.state["z"] = (x + random.normal(size=x.shape)).astype(np.float32)
        self.state["levels"] = 1 + (self.state["z"][..., None] > thresholds).sum(axis=2).astype(np.uint8)

    def scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the score of each pair, and its user's thresholds."""
        i, j = np.nonzero(MASK)
        U, V = self.state["U"][:, i], self.state["V"][:, j]
        return (U[..., :-1] * V[..., :-1]).sum(axis=-1) + U[..., -1] + V[..., -1], self.state["thresholds"][:, i]

    def step(self, name: str, key: Key) -> None:
        """Do one of the steps of a sweep."""
        data, state, B = self.data, self.state, self.B
        if name == "thresholds":
            reach = np.full((B, N), PROPOSAL_SCALE)
            _latent_of_all(
                key.rows(), data.indptr, data.indices, state["levels"], state["U"], state["V"], state["gaps"],
                state["gap_mean"], state["gap_precision"], reach, state["thresholds"], state["z"], np.empty(N),
            )  # fmt: skip
        elif name in ("users", "items"):
            users = name == "users"
            prior, own, other = (self.users, "U", "V") if users else (self.items, "V", "U")
            position = np.zeros(0, dtype=np.int32) if users else data.to_csr
            indptr, indices = (data.indptr, data.indices) if users else (data.col_indptr, data.col_indices)
            _rows_of_all(
                key.rows(), indptr, indices, position, state["z"], state[other], prior.precision, prior.shifts(),
                state[own],
            )  # fmt: skip
        elif name == "gap prior":
            gaps = state["gaps"].swapaxes(0, 1).reshape(N, -1)
            m, s = draw_normal_gamma(key.generator(), Moments(N, *moments(gaps)), GAPS.shape, GAPS.rate, GAPS.strength)
            state["gap_mean"], state["gap_precision"] = m.reshape(B, -1), s.reshape(B, -1)
        else:
            prior, own = (self.users, "U") if name == "user prior" else (self.items, "V")
            prior.draw(key.generator(), state[own])

    def statistics(self) -> np.ndarray:
        """Return (B, 76) functions of parameters and data."""
        state = self.state
        columns = [state["gap_mean"], np.log(state["gap_precision"]), state["thresholds"].mean(axis=1)]
        for prior, own, side in ((self.users, "U", F), (self.items, "V", G)):
            rows, weights, mean = state[own], prior.weights[:, 0], prior.mean
            precisions = np.diagonal(prior.precision, axis1=1, axis2=2)
            columns += [mean, np.log(precisions), np.tanh(prior.precision[:, :1, 1]), np.log(prior.omega)]
            columns += [
                np.tanh(mean[:, :1] * mean[:, 1:2]),
                np.tanh(weights),
                np.tanh(weights[:, :1] * weights[:, 1:2]),
            ]
            columns += [np.tanh((rows[..., :1] * rows[..., 1:2]).mean(axis=1))]
            columns += [np.log1p((rows**2).mean(axis=1)), np.tanh((side * rows).mean(axis=1))]
            columns += [np.tanh(weights * (side * rows).mean(axis=1))]
        x, thresholds = self.scores()
        p = np.tanh(x[..., None] - thresholds)
        columns += [p.mean(axis=1), (p**2).mean(axis=1)]
        above = state["levels"][..., None] > np.arange(1, R)  # as z lies to the thresholds
        columns += [np.tanh(10 * (state["z"][..., None] - thresholds) * np.where(above, 1, -1)).mean(axis=1)]
        spread = np.tanh(state["gaps"][:, :, 0] * state["U"][:, :, -1]).mean(axis=1)
        columns += [state["levels"].mean(axis=1)[:, None], (state["levels"] == 2).mean(axis=1)[:, None]]
        columns += [spread[:, None], np.tanh(state["gaps"] - state["gap_mean"][:, None])[:, :, 1] ** 2]
        return np.hstack(columns)


def thresholds_of(gaps: np.ndarray) -> np.ndarray:
    """Return θ_1 = a_1, θ_r = θ_{r-1} + exp(a_r)."""
    return np.concatenate([gaps[..., :1], gaps[..., :1] + np.cumsum(np.exp(gaps[..., 1:]), axis=-1)], axis=-1)


@cache
def from_the_prior() -> np.ndarray:
    """Return statistics of many replicates under the prior."""
    prior = Replicates(17_500)
    prior.start(np.random.default_rng(3))
    return prior.statistics()


def joint_test(n_sweeps: int, B: int, wrong: str = "") -> np.ndarray:
    """Return z-scores of statistics: means over sweeps that start from the prior, against means under the prior.

    Each sweep draws parameters given data and data given parameters, so that the prior stays what it is. Replicates
    are independent of each other: their standard deviation gives the error of the mean, even if sweeps mix slowly.
    """
    random, expected = np.random.default_rng(7), from_the_prior()
    model = Replicates(B)
    model.start(random)
    if wrong == "degrees":
        model.users.excess = model.items.excess = EXCESS - 1
    total = 0.0
    for sweep in range(1, n_sweeps + 1):
        for number, name in enumerate(STEPS, 1):
            before = model.state["z"].copy()
            model.step(name, Key(0, 0, sweep, number))
            if wrong == "stale z" and name == "thresholds":
                model.state["z"] = before
        total += model.statistics()  # before z is drawn anew: it must agree with the parameters
        model.draw_levels(random)
    found = total / n_sweeps
    error = np.sqrt(found.var(axis=0) / B + expected.var(axis=0) / len(expected))
    return (found.mean(axis=0) - expected.mean(axis=0)) / error


def test_joint_distribution_stays_the_prior():
    assert np.abs(joint_test(60, 350)).max() < 4


@pytest.mark.parametrize("wrong", ["stale z", "degrees"])
def test_joint_test_can_fail(wrong):
    # z drawn before the thresholds it depends on; a precision drawn with one degree of freedom too few
    assert np.abs(joint_test(30, 350, wrong)).max() > 5


def posterior(levels: np.ndarray) -> OrdinalProbitPosterior:
    users, items = (BiasedPrior(name, P, table, excess=EXCESS) for name, table in (("user", F), ("item", G)))
    return posterior_of(level_data(MASK, levels), R, users, items, GAPS)


def posterior_of(data, n_levels: int, users: BiasedPrior, items: BiasedPrior, *gaps) -> OrdinalProbitPosterior:
    own, counts = LocalUsers(OrdinalUsers(lambda: data, users)), np.bincount(data.levels, minlength=n_levels + 1)[1:]
    return OrdinalProbitPosterior(own, counts, len(data.col_indptr) - 1, items, *gaps)


def test_one_replicate_is_the_posterior():
    """What the joint-distribution test tests is what `OrdinalProbit` samples from."""
    model = Replicates(1)
    model.start(np.random.default_rng(0))
    own = posterior(model.state["levels"][0])
    assert tuple(own.steps) == STEPS + MOVES
    state = own.start(Key(0, 0, 0, 0))
    for name in ("U", "V", "gaps", "gap_mean", "gap_precision", "thresholds"):
        state[name] = model.state[name][0].copy()
    state["reach"][:] = PROPOSAL_SCALE
    pairs = [(prior, side, name) for prior, side in ((model.users, "user"), (model.items, "item")) for name in PARTS]
    for prior, side, name in pairs:
        state[f"{side}_{PARTS[name]}"] = getattr(prior, name)[0].copy()
    for sweep in range(3):
        for number, name in enumerate(STEPS, 1):
            key = Key(5, 0, sweep, number)
            own.steps[name](state, key)
            model.step(name, key)
    for name in model.state.keys() & state.keys():
        np.testing.assert_allclose(model.state[name][0], state[name], rtol=1e-9, atol=1e-9, err_msg=name)
    for prior, side, name in pairs:
        found = state[f"{side}_{PARTS[name]}"]
        np.testing.assert_allclose(getattr(prior, name)[0], found, rtol=1e-9, atol=1e-9, err_msg=name)


#: Parameters of `Blocks`, and what they are called in the state.
PARTS = {"mean": "mean", "precision": "precision", "weights": "weights", "omega": "weight_precision"}


def weighted(values: np.ndarray, log_weights: np.ndarray) -> tuple[float, float]:
    """Return mean and standard deviation of values on a grid."""
    w = np.exp(log_weights - log_weights.max())
    mean = (w * values).sum() / w.sum()
    return mean, np.sqrt((w * (values - mean) ** 2).sum() / w.sum())


def test_two_levels_without_factors_against_quadrature():
    """One user, two items, biases only: a probit model, whose posterior is an integral over two scores.

    Given the priors, copies of it side by side are independent of each other.
    """
    copies = 500
    data = level_data(np.repeat(np.eye(copies, dtype=bool), 2, axis=1), np.tile([1, 2], copies))
    model = posterior_of(data, 2, BiasedPrior("user", 1), BiasedPrior("item", 1))
    state = model.start(Key(1, 0, 0, 0))
    state["user_precision"][:], state["item_precision"][:] = 2.0, 0.7
    state["user_mean"][:], state["item_mean"][:], state["gap_mean"][:] = 0.3, -0.2, 0.5
    draws = []
    for sweep in range(1, 151):
        for number, name in enumerate(("thresholds", "users", "items")):
            model.steps[name](state, Key(1, 0, sweep, number))
        if sweep > 50:
            draws.append(np.c_[state["U"][:, 0], state["V"][:, 0].reshape(-1, 2), state["gaps"][:, 0]])
    # (b, c_1, c_2, a) are normal; the scores s_j = b + c_j - a alone meet the data
    mean, var = np.array([0.3, -0.2, -0.2, 0.5]), np.array([1 / 2.0, 1 / 0.7, 1 / 0.7, 1 / 4.0])
    A = np.array([[1.0, 1, 0, -1], [1, 0, 1, -1]])
    cov = A * var @ A.T
    grid = np.linspace(-9, 9, 361)
    s = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1) - 0.1
    rest = s - A @ mean
    log_weight = -0.5 * np.einsum("...a,ab,...b", rest, np.linalg.inv(cov), rest)
    log_weight += np.log(ndtr(-s[..., 0]) * ndtr(s[..., 1]))
    expected = mean + (rest @ np.linalg.solve(cov, A * var))
    for k, means in enumerate(np.mean(draws, axis=0).T):
        error = means.std() / np.sqrt(copies)
        assert error < 0.04
        assert abs(means.mean() - weighted(expected[..., k], log_weight)[0]) < 4 * error


def test_log_likelihood_is_that_of_the_levels():
    rng = np.random.default_rng(1)
    levels = rng.integers(1, R + 1, MASK.sum())
    model = posterior(levels)
    state = model.start(Key(2, 0, 0, 0))
    model.steps["thresholds"](state, Key(2, 0, 1, 1))
    i, j = np.nonzero(MASK)
    U, V = state["U"][i], state["V"][j]
    x = (U[:, :-1] * V[:, :-1]).sum(axis=1) + U[:, -1] + V[:, -1]
    edges = np.pad(state["thresholds"], ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
    here = np.arange(len(i))
    p = ndtr(edges[i, levels][here] - x) - ndtr(edges[i, levels - 1][here] - x)
    assert model.log_likelihood(state) == pytest.approx(np.log(p).sum(), rel=1e-6)  # in single precision
