"""Posterior means of factors and biases: draws in frames of their own are turned into one."""

import copy

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import cofactor
from cofactor.persistence import ModelFileError, read_model, write_model
from cofactor.ratings import BPMF, OrdinalProbit, RatingModel
from cofactor.ratings.sampled import probit
from cofactor.ratings.sampled.probit import PosteriorMeans
from cofactor.ratings.sampled.samples import evenly_spaced

N, M, D, S = 40, 30, 3, 25
RNG = np.random.default_rng(0)
PAIRS = np.argwhere(RNG.random((N, M)) < 0.5)
_X = 1.5 * RNG.normal(size=(N, 2)) @ RNG.normal(size=(2, M)) + RNG.normal(size=M)
Y = np.clip(np.rint(3 + _X[tuple(PAIRS.T)]), 1, 5)
MODELS = {
    "OrdinalProbit": OrdinalProbit(2, n_implicit=3, n_sweeps=150, burn_in=50, random_state=0),
    "BPMF": BPMF(2, n_sweeps=150, burn_in=50, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request: pytest.FixtureRequest) -> RatingModel:
    return MODELS[request.param].fit(PAIRS, Y)


def score_draws(model: RatingModel) -> np.ndarray:
    """Return the scores of all users and items in every draw, (S, n, m)."""
    U, V = (model.samples_[name][:, :-1].astype(float) for name in "UV")
    if isinstance(model, BPMF):
        return U @ V.transpose(0, 2, 1)
    return U[..., :-1] @ V[..., :-1].transpose(0, 2, 1) + U[..., -1:] + V[:, None, :, -1]


def centred(scores: np.ndarray) -> np.ndarray:
    """Return scores (n, m) less what belongs to users, or to items, alone."""
    return scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()


def with_cold(*columns: np.ndarray) -> np.ndarray:
    rows = np.hstack(columns)
    return np.vstack([rows, np.full(rows.shape[1], 9.0)])[None].astype(np.float32)


def planted(noise: float = 0.0) -> tuple[np.ndarray, ...]:
    """Return U, V, b and c, without a cold row, in S draws that differ by noise alone."""
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=shape) * [3, 2, 1][: shape[1]] for shape in ((N, D), (M, D), (N, 1), (M, 1))]
    return tuple(array + noise * rng.normal(size=(S, *array.shape)) for array in arrays)


def means(U, V, b, c) -> PosteriorMeans:
    draws = zip(U, V, b, c, strict=True)
    pairs = [(with_cold(u, own), with_cold(v, its)) for u, v, own, its in draws]
    U, V = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return PosteriorMeans({"U": U, "V": V}, True, None)


def test_draws_that_say_the_same_are_brought_to_the_same():
    """Any invertible map of the factors, and any exchange between factors and biases, is undone."""
    rng = np.random.default_rng(2)
    U, V, b, c = planted()
    scores = U[0] @ V[0].T + b[0] + c[0].T
    for s in range(S):
        A = np.linalg.qr(rng.normal(size=(D, D)))[0] * rng.uniform(0.5, 2, D)
        by_user, by_item, constant = rng.normal(size=D), rng.normal(size=D), rng.normal()
        b[s] += U[s] @ by_item[:, None] + constant - by_user @ by_item
        c[s] += V[s] @ by_user[:, None] - constant
        U[s], V[s] = (U[s] - by_user) @ A, (V[s] - by_item) @ np.linalg.inv(A).T
        np.testing.assert_allclose(U[s] @ V[s].T + b[s] + c[s].T, scores, atol=1e-9)
    found = means(U, V, b, c)
    np.testing.assert_allclose(found.users @ found.items.T, scores, atol=1e-4)
    np.testing.assert_allclose(found.users[:, :D] @ found.items[:, :D].T, centred(scores), atol=1e-4)
    np.testing.assert_allclose(found.users.std(axis=0)[:D], found.items.std(axis=0)[:D], rtol=1e-4)
    squares = found.users[:, :D].T @ found.users[:, :D]
    np.testing.assert_allclose(squares, np.diag(np.diag(squares)), atol=1e-3)


@pytest.mark.parametrize("turn", ["rotation", "signs", "permutation"])
def test_means_do_not_depend_on_how_draws_are_turned(turn):
    rng = np.random.default_rng(3)
    U, V, b, c = planted(0.3)
    straight = means(U, V, b, c)
    for s in range(S):
        Q = {
            "rotation": np.linalg.qr(rng.normal(size=(D, D)))[0],
            "signs": np.diag(rng.choice([-1, 1], D)),
            "permutation": np.eye(D)[rng.permutation(D)],
        }[turn]
        U[s], V[s] = U[s] @ Q, V[s] @ Q
    turned = means(U, V, b, c)
    np.testing.assert_allclose(turned.users, straight.users, atol=2e-4)
    np.testing.assert_allclose(turned.items, straight.items, atol=2e-4)


def test_biases_are_those_of_the_mean_scores(fitted):
    scores = score_draws(fitted).mean(axis=0)
    np.testing.assert_allclose(fitted.user_bias_, scores.mean(axis=1), atol=1e-5)
    np.testing.assert_allclose(fitted.item_bias_, scores.mean(axis=0) - scores.mean(), atol=1e-5)
    assert fitted.U_.shape == (N, 2)
    assert fitted.V_.shape == (M, 2)
    np.testing.assert_allclose(fitted.U_.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(fitted.V_.mean(axis=0), 0, atol=1e-5)


def test_products_of_means_are_nearly_the_mean_interaction(fitted):
    interaction = centred(score_draws(fitted).mean(axis=0))
    product = fitted.U_ @ fitted.V_.T
    assert np.corrcoef(product.ravel(), interaction.ravel())[0, 1] > 0.99
    raw = fitted.samples_["U"][:, :-1, :2].mean(axis=0) @ fitted.samples_["V"][:, :-1, :2].mean(axis=0).T
    assert ((product - interaction) ** 2).sum() < 0.5 * ((centred(raw) - interaction) ** 2).sum()


def test_thresholds_are_their_means_and_increase():
    model = OrdinalProbit(2, implicit=None, n_sweeps=20, burn_in=10, random_state=0).fit(PAIRS, Y)
    assert model.thresholds_.shape == (N, 4)
    assert (np.diff(model.thresholds_) > 0).all()
    np.testing.assert_allclose(model.thresholds_, model.samples_["thresholds"][:, :-1].mean(axis=0), rtol=1e-5)


def test_new_users_are_seen_in_the_frame_of_training(fitted, tmp_path):
    new = np.array([("new", *pair) for pair in PAIRS], dtype=object)
    folded = fitted.fold_in([(f"new {u}", i) for _, u, i in new], Y)
    scores = score_draws(folded).mean(axis=0)
    np.testing.assert_allclose(folded.user_bias_, scores.mean(axis=1), atol=1e-4)
    order = folded.users_.index([f"new {u}" for u in fitted.users_.ids])
    assert np.corrcoef(folded.U_[order].ravel(), fitted.U_.ravel())[0, 1] > 0.95
    assert np.corrcoef(folded.V_.ravel(), fitted.V_.ravel())[0, 1] > 0.99
    again = folded.fold_in([("one", 3), ("one", 4)], [1, 5])
    assert np.array_equal(again.V_, folded.V_)
    folded.save(tmp_path / "folded.cofactor")
    loaded = cofactor.load(tmp_path / "folded.cofactor")
    for name in ("U_", "V_", "user_bias_", "item_bias_"):
        assert np.array_equal(getattr(loaded, name), getattr(folded, name))


def test_new_items_are_seen_in_the_frame_of_training():
    model = OrdinalProbit(2, implicit=None, n_sweeps=60, burn_in=30, random_state=0).fit(PAIRS, Y)
    folded = model.fold_in_items([(u, f"new {i}") for u, i in PAIRS], Y)
    order = folded.items_.index([f"new {i}" for i in model.items_.ids])
    assert np.corrcoef(folded.V_[order].ravel(), model.V_.ravel())[0, 1] > 0.95
    assert np.corrcoef(folded.item_bias_[order], model.item_bias_)[0, 1] > 0.95


def test_users_who_are_not_learned_from_change_nothing():
    model = OrdinalProbit(2, implicit=None, n_sweeps=12, burn_in=4, random_state=0)
    alone = model.fit(PAIRS, Y)
    U, V = alone.U_, alone.V_
    model.fit(PAIRS, Y, shadow=([("a", 0), ("a", 1)], [1, 5]))
    assert np.array_equal(model.U_[~model.is_shadow_], U[alone.users_.index(model.users_.ids[~model.is_shadow_])])
    assert np.array_equal(model.V_, V)


def test_means_are_those_of_the_last_fit():
    model = BPMF(2, n_sweeps=12, burn_in=4, random_state=0)
    with pytest.raises(NotFittedError):
        _ = model.U_
    first = model.fit(PAIRS, Y).V_
    second = model.fit(PAIRS, 6 - Y).V_
    assert not np.array_equal(first, second)
    assert np.array_equal(second, BPMF(2, n_sweeps=12, burn_in=4, random_state=0).fit(PAIRS, 6 - Y).V_)


def test_factors_beyond_the_rank_are_no_trouble():
    model = BPMF(7, n_sweeps=8, burn_in=4, random_state=0).fit([(0, 0), (0, 1), (1, 0), (2, 1)], [1, 5, 2, 4])
    assert np.isfinite(model.U_).all()
    assert np.isfinite(model.V_).all()


def test_a_fold_in_finds_no_frames_until_means_are_asked_for(monkeypatch, fitted):
    """They take as long as a hundred fold-ins, and serving needs none; nor are they found for each fold-in again."""
    model = copy.copy(fitted)
    model._means = None
    calls, reference = [], probit._reference
    monkeypatch.setattr(probit, "_reference", lambda draws: calls.append(1) or reference(draws))
    folded = [model.fold_in([("new", i) for i in range(k)], [2, 3, 5, 1][:k]) for k in (3, 4)]
    folded[0].predict([("new", 5)])
    assert not calls
    assert np.array_equal(folded[0].V_, folded[1].V_)
    assert len(calls) == 1


def test_a_file_holds_the_means(monkeypatch, tmp_path, fitted):
    """A server that starts is asked for similar items at once; for these it would search a frame for each draw."""
    folded = fitted.fold_in([("new", 0), ("new", 1)], [2, 5])
    expected = fitted.U_, fitted.V_, fitted.user_bias_, fitted.item_bias_, folded.U_
    fitted.save(tmp_path / "model")
    monkeypatch.setattr(probit, "_reference", lambda _: pytest.fail("frames are searched again"))
    loaded = cofactor.load(tmp_path / "model")
    folded = loaded.fold_in([("new", 0), ("new", 1)], [2, 5])
    found = loaded.U_, loaded.V_, loaded.user_bias_, loaded.item_bias_, folded.U_
    assert all(map(np.array_equal, found, expected))


def test_few_samples_are_saved_in_the_frames_of_all(tmp_path, fitted):
    fitted.save(tmp_path / "few", n_samples=3)
    few, frames = cofactor.load(tmp_path / "few"), fitted.means_.frames
    assert np.array_equal(few.means_.frames, frames[evenly_spaced(len(frames), 3)])


def test_new_samples_have_new_means(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    grown, expected = (model.update([("new", 0), ("new", 1)], [2, 5]) for model in (loaded, fitted))
    assert grown.U_.shape == (N + 1, 2)
    assert np.array_equal(grown.U_, expected.U_)


def test_means_that_are_not_those_of_the_samples_are_refused(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    name = next(name for name in arrays if name.endswith("frames"))
    write_model(tmp_path / "model", header, arrays | {name: arrays[name][1:]})
    with pytest.raises(ModelFileError, match="frames of means_ must have shape"):
        cofactor.load(tmp_path / "model")
