"""Choice of alpha by validation: the path, the choice, the split."""

import copy

import numpy as np
import pytest
from tests.together import together

from cofactor.model.progress import Monitor
from cofactor.model.selection.path import EXPONENTS, candidate, hold_out_one_per_user, select_alpha
from cofactor.ratings import ALS, HMF, MMMF, BinaryMMMF
from cofactor.ratings.data import as_ratings

from .reference import planted

X, Y = planted()
RATINGS = as_ratings(X, Y)
QUIET = Monitor(None, show=False)


class Stub:
    """A model which gets a known share of the held-out ratings wrong at each alpha."""

    def __init__(self, ratings, error, size=1.0):
        self.truth = {}
        users, items = ratings.pairs()
        for u, i, level in zip(users.tolist(), items.tolist(), ratings.levels.tolist(), strict=True):
            self.truth[u, i] = level
        self.error, self.size = error, size
        self.calls = []

    def solve(self, ratings, alpha, start, *, tol=None):
        self.alpha = alpha
        self.calls.append((alpha, start["origin"], ratings))
        return None, {"U": np.full((3, 2), self.size), "origin": alpha}

    def _held_out_errors(self, users, items, levels):
        truth = [self.truth[u, i] for u, i in zip(users.tolist(), items.tolist(), strict=True)]
        np.testing.assert_array_equal(levels, truth)
        wrong = round(self.error(16 * np.log10(self.alpha)) * len(levels))
        return np.arange(len(levels)) < wrong


def exponents(validation):
    return np.rint(16 * np.log10(validation.alphas)).astype(int).tolist()


def choose(error, seed=0, ratings=RATINGS, **stub):
    model = Stub(ratings, error, **stub)
    return model, select_alpha(model, ratings, {"origin": "start"}, np.random.default_rng(seed), QUIET)


@together("best", [8, 10, 13, 16, 20, 27, 30, 33])
def test_a_clear_minimum_is_found(best):
    _, validation = choose(lambda i: min(1.0, abs(i - best) / 20))
    assert validation.best == pytest.approx(10 ** (best / 16))
    tried = exponents(validation)
    assert tried == sorted(set(tried))
    assert {best, best + 1} <= set(tried) <= set(EXPONENTS)
    expected = [round(min(1.0, abs(i - best) / 20) * 40) / 40 for i in tried]
    np.testing.assert_allclose(validation.errors, expected)
    np.testing.assert_allclose(validation.deviations, 0, atol=1e-15)


def test_the_choice_is_the_strongest_within_one_standard_error():
    """A penalty three steps stronger is taken if it gets hardly more wrong, but not one that gets much more wrong."""
    rises = {20: 0.2, 21: 0.2, 22: 0.21, 23: 0.205, 24: 0.4}  # of 120 ratings: one more wrong is within the error
    _, validation = choose(lambda i: rises.get(round(i), 0.6))
    assert validation.best == pytest.approx(candidate(23))
    _, equal = choose(lambda i: 0.3)
    assert equal.best == pytest.approx(candidate(max(EXPONENTS)))


def test_the_path_goes_down_from_the_strongest_penalty_and_stops():
    model, validation = choose(lambda i: min(1.0, abs(i - 32) / 20))
    coarse = [round(16 * np.log10(alpha)) for alpha, origin, _ in model.calls if origin == "start"]
    assert coarse[::3] == [40, 36, 32, 28]  # three repetitions of each
    assert min(exponents(validation)) == 28  # its error is more than two standard errors above the lowest
    to_the_end, _ = choose(lambda i: min(1.0, abs(i - 32) / 20), size=0.01)  # a solution that is nearly zero
    assert min(alpha for alpha, _, _ in to_the_end.calls) == pytest.approx(candidate(4))


def test_neighbours_are_warm_started():
    model, _ = choose(lambda i: min(1.0, abs(i - 20) / 20))
    origins = {round(16 * np.log10(a)): o for a, o, _ in model.calls if o != "start"}
    assert {i: round(16 * np.log10(o)) for i, o in origins.items()} == {
        21: 20, 22: 21, 23: 22, 19: 20, 18: 19
    }  # fmt: skip


def test_what_is_held_out_is_not_trained_on():
    model, _ = choose(lambda i: 0.5)
    sizes = {ratings.n_ratings for _, _, ratings in model.calls}
    assert sizes == {len(Y) - 40}
    assert len({id(ratings) for _, _, ratings in model.calls}) == 3  # repetitions


@together(("n_users", "repetitions"), [(1000, 3), (1600, 2), (3000, 1), (40, 3)])
def test_repetitions_until_3000_ratings_were_held_out(n_users, repetitions):
    pairs = np.array([(u, i) for u in range(n_users) for i in range(2)])
    ratings = as_ratings(pairs, np.tile([1.0, 2.0], n_users))
    model, _ = choose(lambda i: 0.5, ratings=ratings)
    assert len({id(part) for _, _, part in model.calls}) == repetitions


def test_one_rating_is_held_out_of_each_user_who_has_two():
    pairs = [(0, 5), (1, 5), (1, 6), (2, 5), (2, 6), (2, 7), (3, 9)]
    ratings = as_ratings(pairs, [1, 2, 3, 4, 5, 1, 2])
    counts = np.zeros(7, dtype=int)
    for seed in range(300):
        held = hold_out_one_per_user(ratings, np.random.default_rng(seed))
        assert ratings.row_of_entry[held].tolist() == [1, 2]
        counts[held] += 1
    assert counts[[0, 6]].tolist() == [0, 0]
    assert np.all(counts[1:3] > 110)
    assert np.all(counts[3:6] > 70)


@pytest.mark.parametrize("model", [MMMF(2), ALS(2), HMF(2)], ids=repr)
def test_users_with_one_rating_each(model):
    pairs, y = [(u, u % 3) for u in range(10)], [1 + u % 4 for u in range(10)]
    with pytest.raises(ValueError, match=r"alpha='auto' needs users with at least two ratings .* give a number"):
        copy.deepcopy(model).fit(pairs, y)
    if not isinstance(model, HMF):
        model.set_params(random_state=0).fit([*pairs, (0, 1), (0, 2)], [*y, 1, 4])  # one user is enough


def test_the_choice_is_seeded_and_kept():
    model, (pairs, y) = ALS(3, random_state=1), planted(25, 20)
    first, second = (copy.deepcopy(model).fit(pairs, y) for _ in range(2))
    a, b = first.validation_, second.validation_
    assert all(np.array_equal(getattr(a, k), getattr(b, k)) for k in ("alphas", "errors", "deviations", "best"))
    assert first.alpha_ == a.best
    assert a.best in a.alphas
    assert len(a.alphas) == len(a.errors) == len(a.deviations) >= 9
    assert np.all(np.diff(a.alphas) > 0)
    assert np.all((a.errors >= 0) & (a.errors <= 1))
    assert np.all((a.deviations >= 0) & (a.deviations <= 0.5))
    other = copy.deepcopy(model).set_params(random_state=2).fit(pairs, y).validation_
    assert not np.array_equal(a.errors, other.errors)
    given = copy.deepcopy(model).set_params(alpha=first.alpha_).fit(pairs, y)
    assert np.array_equal(given.V_, first.V_)
    assert given.validation_ is None


def test_noise_wants_a_strong_penalty_and_structure_a_weak_one():
    rng = np.random.default_rng(0)
    pairs, structured = planted(100, 80, 2, density=0.5, noise=0.0)
    noise = np.where(rng.random(len(structured)) < 0.75, 1.0, 2.0)
    chosen = {}
    for name, y in (("structure", structured), ("noise", noise)):
        chosen[name] = BinaryMMMF(10, random_state=0).fit(pairs, y).alpha_
    assert chosen["structure"] < 10 < chosen["noise"]


@pytest.mark.filterwarnings("ignore:.*all factors are zero")
def test_the_chosen_weight_is_nearly_the_best_on_new_ratings():
    pairs, y = planted(100, 80, density=0.4, noise=1.0)
    test = np.random.default_rng(0).random(len(y)) < 0.3

    def error(alpha):
        model = MMMF(10, alpha, random_state=0).fit(pairs[~test], y[~test])
        return np.mean(model.predict(pairs[test]) != y[test]), model

    found, model = error("auto")
    others = {i: error(candidate(i))[0] for i in range(4, 41, 6)}
    assert found < min(others.values()) + 0.02
    assert found < max(others.values()) - 0.05
    assert 1.7 < model.alpha_ < 320
