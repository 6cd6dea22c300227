"""Shadow users of OrdinalProbit: nothing flows back, they are predicted as by fold-in, and known like any user."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.together import together

import cofactor
from cofactor.datasets import make_ratings
from cofactor.kernels.threads import thread_limit
from cofactor.persistence import ModelFileError, read_model, write_model
from cofactor.ratings import OrdinalProbit, as_ratings

DATA = make_ratings(90, 50, 3, density=0.3, random_state=1)
IS_NEW = DATA.X[:, 0] % 3 == 1  # between the others, so that rows of samples move
TRAIN = (DATA.X[~IS_NEW], DATA.y[~IS_NEW])
NEW = (DATA.X[IS_NEW], DATA.y[IS_NEW])
AGES = {user: [float(user % 7), user / 30] for user in range(90)}
GENRES = {item: [float(item % 2), item % 5] for item in range(50)}


def model(**params: Any) -> OrdinalProbit:
    defaults = {"n_implicit": 4, "n_sweeps": 24, "burn_in": 8, "thin": 2, "random_state": 0}
    return OrdinalProbit(2, **(defaults | params))


@lru_cache
def fitted(n_sweeps: int = 24) -> OrdinalProbit:
    return model(n_sweeps=n_sweeps).fit(*TRAIN, shadow=NEW)


def assert_same_but_for_shadow(with_them: OrdinalProbit, without: OrdinalProbit) -> None:
    rows = np.append(~with_them.is_shadow_, True)
    assert with_them.samples_.keys() == without.samples_.keys()
    for name, array in without.samples_.items():
        found = with_them.samples_[name]
        np.testing.assert_array_equal(found[:, rows] if name in ("U", "thresholds") else found, array)
    for chain, other in zip(with_them.chains_, without.chains_, strict=True):
        assert chain.log_likelihood == other.log_likelihood
        for name, array in other.state.items():
            np.testing.assert_array_equal(chain.state[name], array)


def same(a: OrdinalProbit, b: OrdinalProbit) -> bool:
    return a.samples_.keys() == b.samples_.keys() and all(
        np.array_equal(a.samples_[name], b.samples_[name]) for name in a.samples_
    )


@together("implicit", ["low-rank", "sparse", None])
@together("features", [{}, {"user_features": AGES, "item_features": GENRES}], ids=["plain", "features"])
def test_nothing_flows_back(implicit, features):
    own = {user: row for user, row in AGES.items() if user % 3 != 1}
    without = model(implicit=implicit, n_sweeps=8, burn_in=4).fit(
        *TRAIN, **(features and features | {"user_features": own})
    )
    with_them = model(implicit=implicit, n_sweeps=8, burn_in=4).fit(*TRAIN, shadow=NEW, **features)
    assert with_them.users_.ids.tolist() == list(range(90))
    assert np.flatnonzero(with_them.is_shadow_).tolist() == list(range(1, 90, 3))
    assert not without.is_shadow_.any()
    assert_same_but_for_shadow(with_them, without)


def test_predictions_agree_with_those_of_fold_in():
    """Differences are no larger than between parts of the shadow samples; those from other ratings are."""
    with_them = fitted(408)
    pairs, again = (np.array([(user, item) for user in range(k, k + 90, 3) for item in range(50)]) for k in (1, 1001))
    x = score(with_them, pairs)
    parts = x.reshape(10, 20, -1).mean(axis=1)  # of as many samples as fold-in visits
    sd = parts.std(axis=0, ddof=1)
    known_anew = NEW[0] + np.array([1000, 0])  # a fold-in is the same without shadow users: see below
    z = (score(with_them.fold_in(known_anew, NEW[1]), again).mean(axis=0) - x.mean(axis=0)) / sd
    assert np.sqrt(np.mean(z**2)) < 0.5
    assert abs(z.mean()) < 0.15  # it has a deviation of .045 over seeds
    turned = score(with_them.fold_in(known_anew, 6 - NEW[1]), again).mean(axis=0)
    assert np.sqrt(np.mean(((turned - x.mean(axis=0)) / sd) ** 2)) > 3


def score(m: OrdinalProbit, pairs: np.ndarray) -> np.ndarray:
    """Return how far the score of each pair lies above its user's middle threshold, for every sample."""
    users, items = (ids.index(side) for ids, side in zip((m.users_, m.items_), pairs.T, strict=True))
    U, V = m.samples_["U"][:, users], m.samples_["V"][:, items]
    x = (U[..., :-1] * V[..., :-1]).sum(axis=2) + U[..., -1] + V[..., -1]
    return x - m.samples_["thresholds"][:, users, 1]


def test_they_are_known_like_any_user():
    m = fitted()
    pairs = [(1, 0), (4, 9), (0, 3)]
    p = m.predict_proba(pairs)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert set(m.predict(pairs)) <= set(m.scale_)
    items, scores = m.recommend([1, 0], 50)
    seen = {user: set(DATA.X[DATA.X[:, 0] == user, 1].tolist()) for user in (1, 0)}
    for user, row, value in zip((1, 0), items, scores, strict=True):
        left = [item for item in row if item is not None]
        assert set(left) == set(range(50)) - seen[user]
        np.testing.assert_allclose(value[: len(left)], m.decision_function([(user, item) for item in left]))
    full = m.complete()
    assert np.array_equal(full[DATA.X[:, 0], DATA.X[:, 1]], DATA.y)
    assert m.ratings_ is not None
    assert m.ratings_.n_ratings == len(DATA.y)


def test_ids_of_other_kinds_and_other_forms_of_ratings():
    named = [(f"new {user}", item) for user, item in NEW[0].tolist()]
    m = model().fit(*TRAIN, shadow=(named, NEW[1]))
    expected = fitted().predict_proba(NEW[0])
    assert m.users_.ids[m.is_shadow_].tolist() == sorted({name for name, _ in named})
    training = fitted().items_
    for form in (as_ratings(*NEW, scale=m.scale_, items=training), NEW):
        np.testing.assert_array_equal(model().fit(*TRAIN, shadow=form).predict_proba(NEW[0]), expected)
    one = (np.array(named, dtype=object)[:, 0] == "new 1").nonzero()[0]  # the first row in both orders
    np.testing.assert_array_equal(m.predict_proba([named[k] for k in one]), expected[one])


def test_going_on_and_saving(tmp_path: Path):
    whole = model(n_chains=2).fit(*TRAIN, shadow=NEW)
    saved = model(n_chains=2, n_sweeps=15).fit(*TRAIN, shadow=NEW)
    saved.save(tmp_path / "model")
    parts = cofactor.load(tmp_path / "model")
    assert same(parts, saved)
    assert np.array_equal(parts.is_shadow_, saved.is_shadow_)
    assert np.array_equal(parts.recommend([1])[0], saved.recommend([1])[0])
    parts.set_params(n_sweeps=9, warm_start=True).fit(*TRAIN, shadow=NEW)
    assert same(parts, whole)
    with pytest.raises(ValueError, match="since then the shadow users changed"):
        parts.fit(*TRAIN)
    with pytest.raises(ValueError, match="since then the shadow users changed"):
        parts.fit(*TRAIN, shadow=(NEW[0][5:], NEW[1][5:]))
    parts.set_params(warm_start=False, n_sweeps=24).fit(*TRAIN)
    assert not parts.is_shadow_.any()
    assert same(parts, model(n_chains=2).fit(*TRAIN))


def test_any_number_of_threads():
    with thread_limit(1):
        one = model().fit(*TRAIN, shadow=NEW)
    with thread_limit(3):
        assert same(model().fit(*TRAIN, shadow=NEW), one)


@together("implicit", ["low-rank", "sparse", None])
def test_folding_in_afterwards(implicit):
    with_them = model(implicit=implicit).fit(*TRAIN, shadow=NEW)
    without = model(implicit=implicit).fit(*TRAIN)
    late = [("late", 3), ("late", 8)], [5.0, 1.0]
    folded = with_them.fold_in(*late)
    assert same(folded, without.fold_in(*late))
    assert folded.is_shadow_.tolist() == [False]
    film = [(0, "film"), (2, "film"), (8, "film")], [4.0, 5.0, 2.0]
    a, b = with_them.fold_in_items(*film), without.fold_in_items(*film)
    np.testing.assert_array_equal(a.samples_["V"], b.samples_["V"])
    np.testing.assert_array_equal(a.predict_proba(film[0]), b.predict_proba(film[0]))
    fans = [(user, "film") for user in range(1, 60, 3)]  # shadow users can rate, too
    high, low = (with_them.fold_in_items(fans, [v] * 20).decision_function([(0, "film")]) for v in (5.0, 1.0))
    assert high > low + 0.5


def test_ratings_of_items_that_nobody_rated_are_left_out():
    more = [*NEW[0].tolist(), (1, "film"), ("ann", "film")], [*NEW[1], 5.0, 5.0]
    m = model().fit(*TRAIN, shadow=more)
    np.testing.assert_array_equal(m.predict_proba(NEW[0]), fitted().predict_proba(NEW[0]))
    assert "film" not in m.items_.ids.tolist()
    assert m.ratings_ is not None
    assert m.ratings_.user_counts[m.users_.index(["ann"])] == 0
    np.testing.assert_allclose(m.predict_proba([("ann", 3)]), m.predict_proba([("nobody", 3)]), atol=0.3)
    with pytest.raises(ValueError, match="shadow: .*film"):
        model(unknown="error").fit(*TRAIN, shadow=more)


@together(
    ("shadow", "kind", "words"),
    [
        (([(1, 3), (0, 3), (2, 4)], [1.0, 2.0, 3.0]), ValueError, "shadow holds 2 users of X, the first is 0"),
        (([(1, 3)], [7.0]), ValueError, "shadow: .*7"),
        (([(1, 3)], [1.0, 2.0]), ValueError, "shadow: X has 1 row but y has 2 ratings"),
        (([(1, 3), (1, 3)], [1.0, 2.0]), ValueError, "shadow: "),
        (([(1, "film")], [1.0]), ValueError, "shadow: "),
        (NEW[0], ValueError, "shadow: y is missing"),
        (([], []), ValueError, "shadow: "),
        (as_ratings([(1, 3), (1, 4)], [1.0, 2.0]), ValueError, "shadow: X has the scale"),
        (sparse.csr_array(np.ones((2, 50))), ValueError, "shadow holds 1 user of X, the first is 0"),
    ],
)
def test_bad_shadow_users_are_refused_and_leave_the_model_as_it_was(shadow, kind, words):
    m = model(n_sweeps=10).fit(*TRAIN)
    before = dict(m.__dict__)
    with pytest.raises(kind, match=words):
        m.fit(*TRAIN, shadow=shadow)
    assert m.__dict__ == before


@pytest.mark.parametrize(
    "crafted", [np.ones(90, dtype=bool), np.zeros(89, dtype=bool), np.zeros(90), np.zeros((90, 1), dtype=bool)]
)
def test_crafted_files_are_refused(crafted, tmp_path: Path):
    fitted().save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    write_model(tmp_path / "model", header, arrays | {"learned.is_shadow_": crafted})
    with pytest.raises(ModelFileError, match="is_shadow_"):
        cofactor.load(tmp_path / "model")
