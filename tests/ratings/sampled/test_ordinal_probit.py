"""OrdinalProbit: what it gains and from what, chains that go on or end early, decisions, calibration, odd input."""

import itertools
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from tests.together import together

import cofactor
from cofactor.datasets import load_ratings
from cofactor.errors import InvalidInputError
from cofactor.ratings import OrdinalProbit, side_information
from cofactor.ratings.data import Ratings
from cofactor.ratings.sampled.ordinal_probit import Rank
from cofactor.ratings.side_information import MaskSVD, RowPattern, project_rows

SCALE = np.arange(1.0, 6.0)


@lru_cache
def planted(seed: int = 2, n: int = 150, m: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs and ratings of rank 2 with thresholds of every user, who rate rather what they like."""
    rng = np.random.default_rng(seed)
    product = rng.normal(size=(n, 2)) @ rng.normal(size=(m, 2)).T
    x = product + 0.5 * rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=m) + rng.normal(size=(n, m))
    thresholds = np.sort(rng.normal([-1.5, -0.5, 0.5, 1.5], 0.3, (n, 4)), axis=1)
    levels = 1.0 + (x[..., None] > thresholds[:, None]).sum(axis=2)
    X = rng.permutation(np.argwhere(rng.random((n, m)) < 1 / (1 + np.exp(1 - 1.5 * product))))
    return X, levels[X[:, 0], X[:, 1]]


@lru_cache
def halves() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return three quarters of the planted data to learn from, and one to predict."""
    X, y = planted()
    k = len(y) // 4
    return X[k:], y[k:], X[:k], y[:k]


def model(**params: Any) -> OrdinalProbit:
    """Return an unfitted model of small size."""
    defaults = {"n_factors": 2, "n_implicit": 4, "n_sweeps": 90, "burn_in": 30, "random_state": 0}
    return OrdinalProbit(**(defaults | params))


#: Of chains whose samples tell errors to a hundredth.
LONG = {"n_sweeps": 150, "burn_in": 50}


@lru_cache
def fitted() -> OrdinalProbit:
    X, y, _, _ = halves()
    return model(**LONG).fit(X, y)


@lru_cache
def small() -> tuple[np.ndarray, np.ndarray]:
    X, y = planted()
    few = (X[:, 0] < 20) & (X[:, 1] < 15)
    return X[few], y[few]


def error(m: OrdinalProbit) -> float:
    _, _, X, y = halves()
    return float(np.abs(m.predict(X) - y).mean())


def same(a: OrdinalProbit, b: OrdinalProbit) -> bool:
    one, other = (model.samples_ | model.means_.to_state() for model in (a, b))
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


# ---------------------------------------------------------------- who rated what


def test_passes_over_a_large_mask_find_what_an_exact_decomposition_does(monkeypatch):
    data = load_ratings("ml-100k")
    ratings = Ratings.from_pairs(data.X, data.y)
    exact = MaskSVD.of(ratings, 12)
    monkeypatch.setattr(side_information, "_EXACT", 0)
    found = MaskSVD.of(ratings, 12)
    for name in ("users", "items"):
        squares = (getattr(found, name) ** 2).sum(axis=0)
        np.testing.assert_allclose(squares, (getattr(exact, name) ** 2).sum(axis=0), rtol=0.006)
        products = getattr(found, name).T @ getattr(found, name)
        np.testing.assert_allclose(products, np.diag(squares), atol=3e-8 * squares[0])  # single precision
    np.testing.assert_allclose(abs(found.users[:, :4]), abs(exact.users[:, :4]), atol=0.02)
    seen = project_rows(ratings.indptr, ratings.indices, found.projection)
    np.testing.assert_allclose(seen, found.users, atol=0.02)


# ---------------------------------------------------------------- accuracy


def test_beats_medians_of_items():
    X, y, test, expected = halves()
    medians = np.array([np.median(y[X[:, 1] == j]) for j in range(80)])
    assert error(fitted()) < 0.8 * np.abs(medians[test[:, 1]] - expected).mean()


def test_gain_comes_from_who_rated_what_and_not_from_more_parameters(monkeypatch):
    X, y, _, _ = halves()
    true, seeds = error(fitted()), range(2)
    without = np.mean([error(model(implicit=None, random_state=seed, **LONG).fit(X, y)) for seed in seeds])

    def permuted(ratings: Ratings, n_columns: int) -> MaskSVD:
        link, rng = of(ratings, n_columns), np.random.default_rng(0)
        return replace(link, users=rng.permutation(link.users), items=rng.permutation(link.items))

    of = MaskSVD.of
    monkeypatch.setattr(MaskSVD, "of", permuted)
    control = np.mean([error(model(random_state=seed, **LONG).fit(X, y)) for seed in seeds])
    assert true < min(without, control) - 0.03
    assert without - control < 0.3 * (without - true)  # two seeds part errors by .02


def test_probabilities_are_calibrated():
    """Of pairs whose rating exceeds a level with a probability of about p, a share of about p does."""
    _, _, X, y = halves()
    p = fitted().predict_proba(X)
    above = np.cumsum(p[:, ::-1], axis=1)[:, -2::-1].ravel()
    truth = (y[:, None] > SCALE[:-1]).ravel()
    bins = np.digitize(above, [0.1, 0.3, 0.5, 0.7, 0.9])
    for k in range(6):
        here = bins == k
        assert abs(above[here].mean() - truth[here].mean()) < 3 * np.sqrt(0.25 / here.sum()) + 0.01


# ---------------------------------------------------------------- numbers of factors


@together(
    ("n", "m", "share", "expected"),
    [(3, 2, 1.0, (1, 2)), (2, 2000, 1.0, (2, 4)), (100, 90, 0.9, (6, 12)), (1200, 1000, 0.9, (48, 96))],
)
def test_the_rule_takes_as_many_factors_as_ratings_are_worth(n, m, share, expected):
    """A root of their number, but no more than a product of such a shape has, and no more than 48."""
    pairs = np.argwhere(np.random.default_rng(0).random((n, m)) < share)
    ratings = Ratings.from_pairs(pairs, 1.0 + pairs.sum(axis=1) % 2)
    rank = Rank.of(ratings, "auto", "auto")
    assert (rank.factors, rank.implicit) == expected
    assert Rank.of(ratings, 7, 9) == Rank(7, 9)


def test_auto_is_the_number_it_comes_to():
    X, y = small()
    auto = model(n_factors="auto", n_implicit="auto", n_sweeps=8, burn_in=4).fit(X, y)
    d, K = auto.n_factors_, auto.n_implicit_
    assert auto.samples_["U"].shape[2] == d + 1
    given = model(n_factors=d, n_implicit=K, n_sweeps=8, burn_in=4).fit(X, y)
    assert (given.n_factors_, given.n_implicit_) == (d, K)
    assert same(auto, given)
    assert OrdinalProbit().get_params()["n_factors"] == OrdinalProbit().get_params()["n_implicit"] == "auto"
    # a warm start goes on with what "auto" came to
    longer = auto.set_params(warm_start=True, n_sweeps=4, n_factors=d, n_implicit=K).fit(X, y)
    assert same(longer, model(n_factors=d, n_implicit=K, n_sweeps=12, burn_in=4).fit(X, y))


def test_what_is_added_later_has_the_factors_of_training(tmp_path: Path):
    """Many new ratings would be worth more factors than the model has."""
    X, y, more, of_more = halves()
    few = (X[:, 0] < 30) & (X[:, 1] < 30)
    m = model(n_factors="auto", n_implicit="auto", n_sweeps=8, burn_in=4).fit(X[few], y[few])
    assert m.n_factors_ < Rank.of(Ratings.from_pairs(X, y), "auto", "auto").factors
    new = X[:, 0] >= 30
    folded = m.fold_in(X[new & (X[:, 1] < 30)], y[new & (X[:, 1] < 30)])
    m.save(tmp_path / "model")
    updated = cofactor.load(tmp_path / "model").update(more, of_more)
    for one in (folded, updated, m.set_params(n_factors=9)):
        assert one.samples_["V"].shape[2] == one.n_factors_ + 1 == m.n_factors_ + 1
        assert one.U_.shape == (len(one.users_), m.n_factors_)
    updated.save(tmp_path / "again")
    again = cofactor.load(tmp_path / "again")
    np.testing.assert_array_equal(again.decision_function(more), updated.decision_function(more))


# ---------------------------------------------------------------- decisions


def test_decisions_follow_from_probabilities():
    _, _, X, _ = halves()
    m = model(n_sweeps=20, burn_in=10).fit(*small())
    p = m.predict_proba(X)
    expected = {
        "median": SCALE[(np.cumsum(p, axis=1) < 0.5 - 1e-9).sum(axis=1)],
        "mode": SCALE[p.argmax(axis=1)],
        "mean": np.round(p @ SCALE),
    }
    for decision, value in expected.items():
        np.testing.assert_array_equal(m.set_params(decision=decision).predict(X), value)
    np.testing.assert_allclose(m.decision_function(X), p @ SCALE, rtol=1e-12)
    with pytest.raises(ValueError, match="decision='best'"):
        m.set_params(decision="best").fit(*small())


def test_median_has_the_least_error_and_mode_is_right_most_often():
    _, _, X, y = halves()
    m = fitted()
    predicted = {}
    try:
        for decision in ("median", "mode", "mean"):
            predicted[decision] = m.set_params(decision=decision).predict(X)
    finally:
        m.set_params(decision="median")
    errors = {d: (np.abs(v - y).mean(), (v != y).mean()) for d, v in predicted.items()}
    assert errors["median"][0] <= min(e[0] for e in errors.values()) + 0.005
    assert errors["mode"][1] <= min(e[1] for e in errors.values()) + 0.005


def test_recommend_by_probability_and_by_quantile():
    m, users = fitted(), [3, 5, 140]
    every = np.arange(80)
    items, scores = m.recommend(users, 80, exclude_seen=False, at_least=4)
    for user, row, score in zip(users, items, scores, strict=True):
        p = m.predict_proba([(user, j) for j in row])
        np.testing.assert_allclose(score, p[:, 3:].sum(axis=1), rtol=1e-12)
        assert (np.diff(score) <= 0).all()
        assert set(row) == set(every)
    low, _ = m.recommend(users, 5, quantile=0.1)
    high, _ = m.recommend(users, 5, quantile=0.9)
    assert (low != high).any()
    _, scores = m.recommend(users, 80, exclude_seen=False, quantile=0.5)
    assert ((scores >= 1) & (scores <= 5)).all()
    with pytest.raises(ValueError, match="give one of them"):
        m.recommend(users, 5, at_least=4, quantile=0.5)
    with pytest.raises(ValueError, match="above the highest rating, 5"):
        m.recommend(users, 5, at_least=6)
    with pytest.raises(ValueError, match="quantile=2"):
        m.recommend(users, 5, quantile=2)


# ---------------------------------------------------------------- chains


def test_going_on_is_one_longer_fit_to_the_bit(tmp_path: Path):
    X, y = small()
    whole = model(n_sweeps=30, burn_in=8, thin=2, n_chains=2).fit(X, y)
    model(n_sweeps=19, burn_in=8, thin=2, n_chains=2).fit(X, y).save(tmp_path / "model")
    parts = cofactor.load(tmp_path / "model")
    parts.set_params(n_sweeps=11, warm_start=True).fit(X, y)
    assert same(whole, parts)
    assert whole.n_iter_ == parts.n_iter_ == 30
    assert [c.log_likelihood for c in whole.chains_] == [c.log_likelihood for c in parts.chains_]


def test_chains_are_pooled_and_differ():
    X, y = small()
    m = model(n_sweeps=20, burn_in=10, n_chains=3).fit(X, y)
    assert m.samples_["U"].shape == (30, 21, 3)
    assert len({chain.log_likelihood[-1] for chain in m.chains_}) == 3
    alone = model(n_sweeps=20, burn_in=10).fit(X, y)
    np.testing.assert_array_equal(alone.samples_["V"], m.samples_["V"][:10])


def test_an_interrupted_fit_keeps_its_samples_and_says_how_many():
    X, y = small()

    def stop(progress: Any) -> None:
        if progress.iteration == 17:
            raise KeyboardInterrupt

    m = model(n_sweeps=40, burn_in=10, callback=stop)
    with pytest.warns(ConvergenceWarning, match="interrupted after 17 sweeps: the 7 samples kept so far are used"):
        m.fit(X, y)
    assert len(m.samples_["U"]) == 7
    assert np.isfinite(m.decision_function(X)).all()
    m.set_params(callback=None, warm_start=True, n_sweeps=13).fit(X, y)
    assert same(m, model(n_sweeps=30, burn_in=10).fit(X, y))


def test_time_is_that_of_all_chains(monkeypatch):
    """By a clock that goes on by a fiftieth of a second whenever somebody looks at it."""
    X, y = small()
    m = model(n_sweeps=10**6, burn_in=0, thin=10, n_chains=3, n_jobs=1, max_seconds=3.0)
    looks = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: next(looks) / 50)
    m.fit(X, y)
    assert all(1 < chain.seconds[-1] < 1.2 for chain in m.chains_)


def test_chains_that_were_ended_early_catch_up():
    X, y = small()
    whole = model(n_sweeps=18, burn_in=3, n_chains=2, n_jobs=1).fit(X, y)
    m = model(n_sweeps=8, burn_in=3, n_chains=2, n_jobs=1, warm_start=True).fit(X, y)
    m.chains_[1] = model(n_sweeps=5, burn_in=3, n_chains=2, n_jobs=1).fit(X, y).chains_[1]
    m.set_params(n_sweeps=10).fit(X, y)
    assert [chain.n_sweeps for chain in m.chains_] == [18, 18]
    assert same(m, whole)


def test_saved_with_fewer_samples(tmp_path: Path):
    fitted().save(tmp_path / "all")
    fitted().save(tmp_path / "few", n_samples=20)
    few = cofactor.load(tmp_path / "few")
    assert len(few.samples_["U"]) == 20
    assert len(fitted().samples_["U"]) == 100
    np.testing.assert_array_equal(few.samples_["U"][[0, -1]], fitted().samples_["U"][[0, -1]])
    assert abs(error(few) - error(fitted())) < 0.03
    assert (tmp_path / "few").stat().st_size < 0.4 * (tmp_path / "all").stat().st_size
    for wrong in (0, -1, 1.5, True):
        with pytest.raises((ValueError, TypeError), match=f"n_samples={wrong}"):
            fitted().save(tmp_path / "none", n_samples=wrong)
    assert not (tmp_path / "none").exists()


# ---------------------------------------------------------------- odd input


def test_levels_nobody_used_are_improbable():
    X, y = small()
    odd = np.where(y < 3, 1.0, np.where(y < 5, 3.0, 5.0))
    p = model(levels=SCALE).fit(X, odd).predict_proba(X)
    assert np.isfinite(p).all()
    assert p[:, [1, 3]].mean() < 0.3 * p[:, [0, 2, 4]].mean()


@together("value", [1.0, 3.0])
def test_users_of_one_rating_and_of_one_level(value):
    X, y = small()
    X = np.vstack([X, [[50, 3]], [[60, j] for j in range(15)]])
    y = np.append(y, np.full(16, value))
    m = model().fit(X, y)
    p = m.predict_proba([(50, 3), (60, 3)])
    assert np.isfinite(p).all()
    assert p[1, int(value) - 1] > 0.5
    assert p[0, int(value) - 1] < p[1, int(value) - 1]


def test_two_levels():
    X, y, test, truth = halves()
    m = model().fit(X, np.where(y > 3, 1.0, -1.0))
    assert (m.predict(test) == np.where(truth > 3, 1.0, -1.0)).mean() > 0.7
    assert m.samples_["thresholds"].shape[2] == 1


def test_no_more_link_columns_than_the_mask_has_rank():
    X, y = small()
    m = model(n_implicit=500, n_sweeps=6, burn_in=3).fit(X, y)
    assert m.links_[0].n_features <= 15
    full = np.array(list(itertools.product(range(6), range(5))))
    m = model(n_implicit=500, n_sweeps=6, burn_in=3).fit(full, 1.0 + full.sum(axis=1) % 3)
    assert [link.n_features for link in m.links_] == [1, 1]
    assert np.isfinite(m.predict_proba(full)).all()


# ---------------------------------------------------------------- features of users and items


@lru_cache
def described() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs, ratings, and features of users and items that tell most of what they like."""
    rng = np.random.default_rng(4)
    F, G = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    score = F @ G.T + 0.3 * rng.normal(size=(60, 1)) + 0.3 * rng.normal(size=(60, 40))
    y = 1.0 + (score[..., None] > [-1.2, -0.4, 0.4, 1.2]).sum(axis=2)
    X = rng.permutation(np.argwhere(rng.random(y.shape) < 0.25))
    mixed = np.array([[1.0, 0.5], [-0.4, 2.0]])
    return X, y[X[:, 0], X[:, 1]], 30 + 7 * F @ mixed, G @ mixed


@lru_cache
def rich(implicit: str | None = "low-rank") -> OrdinalProbit:
    """Return a model of all of them."""
    X, y, F, G = described()
    return model(implicit=implicit).fit(X, y, user_features=table(F), item_features=table(G))


def table(values: np.ndarray, ids: Any = None) -> dict[Any, list[float]]:
    return dict(zip(range(len(values)) if ids is None else ids, values.tolist(), strict=True))


def test_features_lower_the_error_and_help_new_users_and_items():
    """With all of who rated what as features; with those of low rank: tests/ratings/test_described.py."""
    X, y, F, G = described()
    old = (X[:, 0] < 45) & (X[:, 1] < 30)
    new_users = (X[:, 0] >= 45) & (X[:, 1] < 30)
    new_items = (X[:, 0] < 45) & (X[:, 1] >= 30)
    plain = model(implicit="sparse").fit(X[old], y[old])
    rich = model(implicit="sparse").fit(X[old], y[old], user_features=table(F), item_features=table(G))
    first = np.zeros(len(X), dtype=bool)
    first[np.unique(X[:, 0], return_index=True)[1]] = True  # one rating for each, the others are to be predicted
    errors = {}
    for name, m in (("plain", plain), ("rich", rich)):
        given = {} if m is plain else {"user_features": table(F)}
        folded = m.fold_in(X[new_users & first], y[new_users & first], **given)
        asked = new_users & ~first & np.isin(X[:, 0], folded.users_.ids)
        errors[name, "users"] = np.abs(folded.predict(X[asked]) - y[asked]).mean()
        first_of_item = np.zeros(len(X), dtype=bool)
        at = np.flatnonzero(new_items)
        first_of_item[at[np.unique(X[at, 1], return_index=True)[1]]] = True
        given = {} if m is plain else {"item_features": table(G[30:], range(30, 40))}
        folded = m.fold_in_items(X[first_of_item], y[first_of_item], **given)
        asked = new_items & ~first_of_item
        errors[name, "items"] = np.abs(folded.predict(X[asked]) - y[asked]).mean()
    assert errors["rich", "users"] < errors["plain", "users"] - 0.1
    assert errors["rich", "items"] < errors["plain", "items"] - 0.1


@pytest.mark.parametrize("implicit", ["sparse", None])
def test_features_are_saved_and_folding_in_is_the_same_alone_and_among_others(implicit, tmp_path: Path):
    X, y, F, G = described()
    m = model(implicit=implicit, n_sweeps=10, burn_in=5).fit(X, y, user_features=table(F), item_features=table(G))
    m.save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    some = X[:, 0] < 3
    users, items = table(F), table(G)
    for fold, other in ((m.fold_in, loaded.fold_in), (m.fold_in_items, loaded.fold_in_items)):
        given = {"user_features": users} if fold == m.fold_in else {"item_features": items}
        given["known"] = "replace"
        whole, again = fold(X[some], y[some], **given), other(X[some], y[some], **given)
        assert same(whole, again)
        name, ids, column = ("U", whole.users_, 0) if fold == m.fold_in else ("V", whole.items_, 1)
        one = X[some][0, column]
        alone = fold(X[some & (X[:, column] == one)], y[some & (X[:, column] == one)], **given)
        where = (alone.users_ if column == 0 else alone.items_).index([one])[0]
        np.testing.assert_array_equal(alone.samples_[name][:, where], whole.samples_[name][:, ids.index([one])[0]])
    whole = model(implicit=implicit, n_sweeps=16, burn_in=5).fit(X, y, user_features=users, item_features=items)
    loaded.set_params(warm_start=True, n_sweeps=6).fit(X, y, user_features=users, item_features=items)
    assert same(loaded, whole)
    with pytest.raises(ValueError, match="since then the features of users changed"):
        loaded.fit(X, y, item_features=items)
    with pytest.raises(ValueError, match="since then the features of users changed"):
        loaded.fit(X, y, user_features=table(-F), item_features=items)


def test_items_nobody_rated_are_known_by_their_features():
    (X, y, _, G), m = described(), rich()
    twins = m.fold_in_items(item_features=table(G, [f"like {k}" for k in range(40)]))
    pairs = [(i, f"like {j}") for i, j in X.tolist()]
    assert np.corrcoef(twins.decision_function(pairs), y)[0, 1] > 0.6
    with pytest.raises(ValueError, match="came from folding in items"):
        twins.fold_in([("new", "like 3")], [4.0])
    folded = m.fold_in([("new", 3)], [4.0])
    with pytest.raises(ValueError, match="came from folding in users.* fit a new model, or one with implicit=None"):
        folded.fold_in_items([("new", "film")], [4.0])
    both = model(implicit=None).fit(X, y).fold_in([("new", 3), ("new", 4)], [4.0, 5.0])
    assert both.fold_in_items([("new", "film")], [5.0]).predict([("new", "film")]) >= 3


def test_users_without_ratings_are_known_by_their_features_where_ids_are_words():
    X, y, F, G = described()
    pairs, names = [(f"u{i}", f"f{j}") for i, j in X.tolist()], [f"u{i}" for i in range(60)]
    m = model().fit(pairs, y, user_features=table(F, names), item_features=table(G, [f"f{j}" for j in range(40)]))
    twins = m.fold_in(user_features=table(F, [f"like u{i}" for i in range(60)]))
    assert np.corrcoef(twins.decision_function([(f"like {u}", f) for u, f in pairs]), y)[0, 1] > 0.6
    items, _ = twins.recommend(["like u3"], 5)
    assert len(set(items[0].tolist())) == 5
    # With ratings of others beside them; users of training who only have a row stay out.
    features = table(F, names) | {"quiet": F[3].tolist(), "new": F[4].tolist()}
    both = m.fold_in([("new", "f3")], [4.0], user_features=features)
    assert both.users_.ids.tolist() == ["new", "quiet"]
    assert both.ratings_.user_counts.tolist() == [1, 0]
    films = m.fold_in_items([("u3", "hit")], [4.0], item_features={"f3": G[3], "quiet": G[4]})
    assert films.items_.ids.tolist() == ["hit", "quiet"]
    for fold, given in (
        (m.fold_in, {"user_features": {"u3": F[3]}}),
        (m.fold_in_items, {"item_features": {"f3": G[3]}}),
    ):
        with pytest.raises(InvalidInputError, match=r"1 (user|item) is known to this model, such as '[uf]3'"):
            fold(**given)
        with pytest.raises(InvalidInputError, match="X is missing: give ratings, or features"):
            fold()
        assert fold(**given, known="merge").ratings_.n_ratings > 0
        assert fold(**given, known="replace").ratings_.n_ratings == 0


def test_new_items_that_nobody_rated_yet_are_usual_and_not_unpopular():
    """Items with many ratings are liked here; a new one of which nothing is known is as those of training are."""
    rng = np.random.default_rng(0)
    X = np.argwhere(rng.random((60, 40)) < np.linspace(0.05, 0.7, 40))
    y = 1.0 + np.clip((X[:, 1] + rng.normal(0, 6, len(X))) // 10, 0, 3)
    kinds = rng.choice(["a", "b"], 40)
    m = model().fit(X, y, item_features=(range(40), {"kind": kinds}))
    of_training = m.links_[1].features(RowPattern.items(m.ratings_), None)[:-1]
    np.testing.assert_allclose(of_training.mean(axis=0), m.links_[1].usual[0], atol=1e-6)
    new = m.fold_in_items(item_features=(["new"], {"kind": ["a"]}))
    found = new.decision_function([(i, "new") for i in range(60)]).mean()
    everywhere = m.decision_function([(i, j) for i in range(60) for j in range(40)]).mean()
    assert found == pytest.approx(everywhere, abs=0.25)
    rare = m.decision_function([(i, 0) for i in range(60)]).mean()
    assert rare < found - 0.5


def test_users_nobody_heard_of_are_known_by_their_features():
    X, y, F, _ = described()
    matrix = sparse.csr_array((y, X.T), shape=(60, 40))[:50].tolil()
    matrix[45:] = 0
    rated = sparse.csr_array(matrix)
    rated.eliminate_zeros()
    silent = X[:, 0] >= 45
    m = model().fit(rated, user_features=table(F))
    there = silent & (X[:, 0] < 50)
    assert np.corrcoef(m.decision_function(X[there]), y[there])[0, 1] > 0.5
    assert (m.samples_["U"][:, 45] != m.samples_["U"][:, 46]).any()
    plain = model(n_sweeps=6, burn_in=3).fit(rated)
    np.testing.assert_array_equal(plain.samples_["U"][:, 45], plain.samples_["U"][:, 46])
