"""OrdinalProbit with time: what it gains and from what, predictions at times, going on, saving, odd input."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import cofactor
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import thread_limit
from cofactor.persistence import ModelFileError, read_model, write_model
from cofactor.ratings import MMMF, Ensemble, OrdinalProbit

HOUR = 3600.0


@lru_cache
def sessions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs, ratings and times of users whose mood changes from session to session."""
    rng = np.random.default_rng(0)
    n, m, n_sessions = 60, 40, 6
    X = rng.permutation(np.argwhere(rng.random((n, m)) < 0.75))
    session = rng.integers(0, n_sessions, len(X))
    mood = rng.normal(0, 1.2, (n, n_sessions))
    x = 0.8 * rng.normal(size=m)[X[:, 1]] + mood[X[:, 0], session] + 0.7 * rng.normal(size=len(X))
    y = 1.0 + (x[:, None] > [-1.5, -0.5, 0.5, 1.5]).sum(axis=1)
    return X, y, 1e9 + 40 * 24 * HOUR * session + np.floor(600 * rng.random(len(X)))


def model(**params: Any) -> OrdinalProbit:
    """Return an unfitted model of small size."""
    return OrdinalProbit(
        2, **({"n_implicit": 2, "n_sweeps": 60, "burn_in": 30, "random_state": 0, "time": True} | params)
    )


@lru_cache
def fitted() -> OrdinalProbit:
    X, y, time = sessions()
    return model().fit(X[300:], y[300:], time=time[300:])


@lru_cache
def small() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, time = sessions()
    few = (X[:, 0] < 12) & (X[:, 1] < 12)
    return X[few], y[few], time[few]


def brief(**params: Any) -> OrdinalProbit:
    return model(**({"n_sweeps": 12, "burn_in": 4} | params))


def same(a: OrdinalProbit, b: OrdinalProbit) -> bool:
    return a.samples_.keys() == b.samples_.keys() and all(
        np.array_equal(a.samples_[k], b.samples_[k]) for k in a.samples_
    )


# ---------------------------------------------------------------- what it gains


def test_the_gain_comes_from_the_times():
    X, y, time = sessions()
    test, train = slice(300), slice(300, None)
    rng = np.random.default_rng(1)
    shuffled = time[train].copy()
    for user in range(60):
        own = np.flatnonzero(X[train, 0] == user)
        shuffled[own] = rng.permutation(shuffled[own])
    plain = model(time=False).fit(X[train], y[train])
    moved = model().fit(X[train], y[train], time=shuffled)
    errors = {
        "time": np.abs(fitted().predict(X[test], time=time[test]) - y[test]).mean(),
        "plain": np.abs(plain.predict(X[test]) - y[test]).mean(),
        "shuffled": np.abs(moved.predict(X[test], time=time[test]) - y[test]).mean(),
    }
    assert errors["time"] < errors["plain"] - 0.15
    assert errors["shuffled"] > errors["plain"] - 0.03


def test_long_after_training_drift_is_forgotten():
    X, last = sessions()[0], fitted().past_.now
    soon, far, farther = (fitted().predict_proba(X[:50], time=last + wait) for wait in (0.0, 5e9, 6e9))
    np.testing.assert_allclose(far, farther, atol=1e-6)
    assert np.abs(far - soon).max() > 0.05


# ---------------------------------------------------------------- predictions


def test_all_predictions_follow_from_probabilities():
    X, y, time = sessions()
    m, X, y, time = fitted(), X[:80], y[:80], time[:80]
    p = m.predict_proba(X, time=time)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(m.decision_function(X, time=time), p @ np.arange(1.0, 6), rtol=1e-12)
    median = 1.0 + (np.cumsum(p, axis=1)[:, :-1] < 0.5).sum(axis=1)
    np.testing.assert_array_equal(m.predict(X, time=time), median)
    assert m.score(X, y, time=time) == -np.abs(median - y).mean()
    np.testing.assert_allclose(m.margins(X, time=time), 0.5 - np.cumsum(p, axis=1)[:, :-1], rtol=1e-12)
    # Times in a third column, dates, one time for all; each pair alone.
    np.testing.assert_array_equal(m.predict_proba(np.column_stack([X, time])), p)
    np.testing.assert_array_equal(m.predict_proba(X, time=time.astype("datetime64[s]")), p)
    np.testing.assert_array_equal(m.predict_proba(X[:1], time=time[0]), p[:1])
    assert (m.predict_proba(X[:1], time=time[1]) != p[:1]).any()


def test_probabilities_are_means_over_samples_of_the_bridge():
    X, _, time = sessions()
    m, samples = fitted(), fitted().samples_
    (i, j), t = X[0], np.floor(time[0])
    lo, hi = m.past_.indptr[i], m.past_.indptr[i + 1]
    place = lo + np.searchsorted(m.past_.seconds[lo:hi], t, "right")
    around = [k for k in (place - 1, place) if lo <= k < hi]
    expected = np.zeros(4)
    for s in range(len(samples["U"])):
        u, v = samples["U"][s, i].astype(float), samples["V"][s, j].astype(float)
        variances = samples["drift_multiplier"][s, i] * samples["drift_scale"][s].astype(float) ** 2
        mean, variance = 0.0, 1.0
        for k in range(3):
            seconds = np.append(m.past_.seconds[around], t)
            C = np.exp(-np.abs(seconds[:, None] - seconds) / samples["drift_time"][s, k])
            w = np.linalg.solve(C[:-1, :-1], C[:-1, -1])
            mean += w @ samples["drift"][s, around, k]
            variance += variances[k] * (1 - w @ C[:-1, -1])
        x = u[:2] @ v[:2] + u[2] + v[2] + mean
        expected += ndtr((samples["thresholds"][s, i] - x) / np.sqrt(variance)) / len(samples["U"])
    np.testing.assert_allclose(np.cumsum(m.predict_proba(X[:1], time=t))[:-1], expected, atol=1e-5)


def test_recommendations_are_for_a_time():
    X, _, time = sessions()
    m, users = fitted(), [3, 7, 3]
    times = np.array([time[5], time[6], time[7]])
    items, scores = m.recommend(users, 6, time=times)
    for user, t, row, score in zip(users, times, items, scores, strict=True):
        pairs = [(user, j) for j in row]
        np.testing.assert_allclose(score, m.decision_function(pairs, time=t), rtol=1e-12)
        assert not set(row) & set(X[300:][X[300:, 0] == user, 1])
    items, scores = m.recommend(users[:2], 6, at_least=4, exclude_seen=False)
    now = m.past_.now
    assert now == time[300:].max()
    p = m.predict_proba([(3, j) for j in items[0]], time=now)
    np.testing.assert_allclose(scores[0], p[:, 3:].sum(axis=1), rtol=1e-12)
    _, high = m.recommend(users[:2], 6, quantile=0.9, time=now)
    assert (high > 3).all()
    exact = m.decision_function([(3, j) for j in range(40)], time=now)
    best, _ = m.recommend([3], 3, exclude_seen=False)
    assert set(best[0]) == set(np.argsort(-exact)[:3])
    assert m.complete().shape == (60, 40)


def test_unknown_users_and_items_are_as_uncertain_as_the_prior():
    time = sessions()[2]
    p = fitted().predict_proba([("nobody", 3), ("nobody", 3)], time=[time[0], 0.0])
    np.testing.assert_array_equal(p[0], p[1])
    assert np.isfinite(fitted().predict_proba([(3, "none")], time=0.0)).all()


# ---------------------------------------------------------------- new users


def test_new_users_drift_as_those_of_training():
    X, y, time = sessions()
    old, first = X[:, 0] < 45, np.arange(len(y)) % 4 > 0
    m = model().fit(X[old], y[old], time=time[old])
    plain = model(time=False).fit(X[old], y[old])
    given, asked = ~old & first, ~old & ~first
    folded = m.fold_in(X[given], y[given], time=time[given])
    error = np.abs(folded.predict(X[asked], time=time[asked]) - y[asked]).mean()
    assert error < np.abs(plain.fold_in(X[given], y[given]).predict(X[asked]) - y[asked]).mean() - 0.1
    assert folded.past_.now == m.past_.now
    # The same alone as among others, and whatever the order.
    one = X[:, 0] == 50
    alone = m.fold_in(X[given & one][::-1], y[given & one][::-1], time=time[given & one][::-1])
    there = asked & one
    p = folded.predict_proba(X[there], time=time[there])
    np.testing.assert_array_equal(p, alone.predict_proba(X[there], time=time[there]))
    assert folded.samples_["drift"].shape[1] == folded.past_.indptr[-1]


def test_fold_in_draws_from_the_posterior_of_training():
    """Users of training, folded in again from their own ratings, have nearly the predictions that they had."""
    X, y, time = sessions()
    train = slice(300, None)
    again = fitted().fold_in(X[train], y[train], time=time[train], known="replace")
    before, after = (m.decision_function(X[:300], time=time[:300]) for m in (fitted(), again))
    assert np.abs(before - after).mean() < 0.12
    drifts = [np.log(m.samples_["drift_multiplier"][:, :-1]).mean() for m in (fitted(), again)]
    assert abs(drifts[0] - drifts[1]) < 0.2


def test_new_items_are_seen_through_the_drift_of_users():
    X, y, time = sessions()
    old, first = X[:, 1] < 30, np.arange(len(y)) % 2 > 0
    m = model().fit(X[old], y[old], time=time[old])
    given, asked = ~old & first, ~old & ~first
    folded = m.fold_in_items(X[given], y[given], time=time[given])
    wrong = m.fold_in_items(X[given], y[given], time=time[given][::-1])
    errors = [np.abs(k.decision_function(X[asked], time=time[asked]) - y[asked]).mean() for k in (folded, wrong)]
    assert errors[0] < 0.75
    assert errors[0] < errors[1] - 0.01


def test_members_of_an_ensemble_may_know_time():
    X, y, time = small()
    m = Ensemble(brief(), n_members=2, method="bagging", random_state=0).fit(X, y, time=time)
    p = [member.predict_proba(X, time=time) for member in m.members_]
    np.testing.assert_allclose(m.predict_proba(X, time=time), np.mean(p, axis=0), rtol=1e-12)
    with pytest.raises(InvalidInputError, match="this Ensemble was fitted with times"):
        m.predict(X)


def test_folding_in_asks_for_times(tmp_path: Path):
    X, y, time = small()
    m = brief(implicit=None).fit(X, y, time=time, user_features={user: [user % 3] for user in range(12)})
    with pytest.raises(InvalidInputError, match="needs the time of each rating"):
        m.fold_in([("new", 3)], [4.0])
    quiet = m.fold_in(user_features={"quiet": [1]})
    assert np.isfinite(quiet.predict_proba([("quiet", 3)], time=time[0])).all()
    quiet.save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    assert loaded.predict([("quiet", 3)], time=0.0) == quiet.predict([("quiet", 3)], time=0.0)
    both = m.fold_in(X[:1], [4.0], time=[time.max() + HOUR], known="merge")
    assert both.past_.now == time.max() + HOUR
    with pytest.raises(InvalidInputError, match="needs the time of each rating"):
        m.fold_in_items([(0, "new")], [4.0])
    with pytest.raises(InvalidInputError, match="shadow users do not go with time=True: fold them in"):
        brief().fit(X, y, time=time, shadow=([("new", 3)], [4.0]))


# ---------------------------------------------------------------- chains and files


def test_going_on_is_one_longer_fit_to_the_bit(tmp_path: Path):
    X, y, time = small()
    whole = brief(n_sweeps=20, n_chains=2).fit(X, y, time=time)
    parts = brief(n_sweeps=13, n_chains=2).fit(X, y, time=time)
    parts.save(tmp_path / "model")
    parts = cofactor.load(tmp_path / "model")
    np.testing.assert_array_equal(parts.past_.seconds, whole.past_.seconds)
    parts.set_params(n_sweeps=7, warm_start=True).fit(X, y, time=time)
    assert same(whole, parts)
    assert [c.log_likelihood for c in whole.chains_] == [c.log_likelihood for c in parts.chains_]
    with pytest.raises(ValueError, match="since then the times changed"):
        parts.fit(X, y, time=time + 1)
    with pytest.raises(ValueError, match="since then .*time changed"):
        parts.set_params(time=False).fit(X, y)


def test_threads_order_of_rows_and_origin_of_time_do_not_matter():
    X, y, time = sessions()
    twice = np.concatenate([X, X + np.array([60, 0])]), np.tile(y, 2)  # more than a block has
    models = []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            models.append(brief(n_sweeps=6).fit(*twice, time=np.tile(time, 2)))
    assert same(*models)
    X, y, time = small()
    first = brief().fit(X, y, time=time)
    order = np.random.default_rng(0).permutation(len(y))
    assert same(first, brief().fit(X[order], y[order], time=time[order]))
    assert same(first, brief().fit(X, y, time=time - 1e9))
    assert same(first, brief().fit(np.column_stack([X, time]), y))


@pytest.mark.parametrize("key", ["indptr", "seconds"])
def test_crafted_files_are_refused(key, tmp_path: Path):
    X, y, time = small()
    brief(n_sweeps=6).fit(X, y, time=time).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    (name,) = (name for name in arrays if name.endswith(f"past_.{key}"))
    for odd in (arrays[name][:-1].copy(), -arrays[name], arrays[name].astype(np.float32)):
        if key == "seconds" and len(odd) == len(arrays[name]) and odd.dtype == np.float64:
            continue  # other times are times too
        write_model(tmp_path / "crafted", header, arrays | {name: odd})
        with pytest.raises(ModelFileError, match="moments"):
            cofactor.load(tmp_path / "crafted")


# ---------------------------------------------------------------- odd input


def test_times_are_asked_for_and_refused():
    X, y, time = small()
    with pytest.raises(
        InvalidInputError, match="needs the time of each rating, and the ratings have none; give them with time"
    ):
        brief().fit(X, y)
    m = fitted()
    for call in (m.predict, m.predict_proba, m.decision_function, m.margins):
        with pytest.raises(InvalidInputError, match="was fitted with times.*give the time of each pair"):
            call(X)
    with pytest.raises(InvalidInputError, match="was fitted with times"):
        m.score(X, y)
    with pytest.raises(InvalidInputError, match="time must be of shape"):
        m.predict(X, time=time[:-1])
    with pytest.raises(InvalidInputError, match="time is missing for 1"):
        m.predict(X, time=np.append(time[:-1], np.nan))
    plain = MMMF(2, 1.0, random_state=0).fit(X, y, time=time)
    for call in (plain.predict, plain.decision_function, plain.margins):
        with pytest.raises(InvalidInputError, match=r"predicts the same at any time.*OrdinalProbit\(time=True\)"):
            call(X, time=time)
    with pytest.raises(InvalidInputError, match="predicts the same at any time"):
        plain.recommend([0], 3, time=time[0])
    with pytest.raises(InvalidInputError, match="time=3"):
        brief(time=3).fit(X, y, time=time)


def test_odd_times():
    X, y, time = small()
    for odd in (np.zeros(len(y)), 1e15 * np.arange(len(y)), -time, 1e-3 * np.arange(len(y))):
        m = brief().fit(X, y, time=odd)
        assert np.isfinite(m.predict_proba(X, time=odd)).all()
    assert (np.diff(brief().fit(X, y, time=np.zeros(len(y))).past_.indptr)[:-1] <= 1).all()


# ---------------------------------------------------------------- the drift itself


def test_drift_is_mean_and_deviation_over_samples():
    m, time = fitted(), sessions()[2]
    mean, deviation = m.drift([3] * 3, [time[0], m.past_.seconds[m.past_.indptr[3]], 5e9])
    samples = m.samples_
    first = samples["drift"][:, m.past_.indptr[3]].astype(float).sum(axis=1)
    np.testing.assert_allclose([mean[1], deviation[1]], [first.mean(), first.std()], rtol=1e-5)
    variances = (samples["drift_multiplier"][:, 3:4] * samples["drift_scale"].astype(float) ** 2).sum(axis=1)
    np.testing.assert_allclose([mean[2], deviation[2]], [0, np.sqrt(variances.mean())], rtol=1e-5, atol=1e-5)
    assert not hasattr(brief(time=False).fit(*small()[:2]), "drift")
    with pytest.raises(InvalidInputError, match="'nobody' was not in training"):
        m.drift(["nobody"], 0.0)
