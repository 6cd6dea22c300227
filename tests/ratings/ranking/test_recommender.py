"""`Recommender`: shares of interactions times likes, against brute force; exclusions, fold-in, updates, files."""

import copy
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import cofactor
from cofactor.errors import InputWarning, InvalidInputError, InvalidTypeError
from cofactor.ratings import ALS, EASE, ImplicitALS, LogisticMF, OrdinalProbit, Popularity, Recommender
from cofactor.ratings.ranking import choosing
from cofactor.ratings.ranking.counts import as_interactions
from cofactor.ratings.ranking.held_out import HeldOut
from cofactor.solvers import Progress

from .models import bits, interactions_of

SMALL = OrdinalProbit(2, n_implicit=2, n_sweeps=30, burn_in=10)


@lru_cache
def rated() -> tuple[np.ndarray, np.ndarray]:
    """Return pairs, and ratings of 1 to 5 that neither users nor items alone explain."""
    X = interactions_of()
    y = 1 + (X[:, 0] * 3 + X[:, 1] // 7 * (1 + X[:, 0] % 2)) % 5
    return X, y


@lru_cache
def fitted() -> Recommender:
    return Recommender([EASE(), ImplicitALS(2)], SMALL, random_state=0).fit(*rated())


def brute_force(model: Any, at_least: float | None, gain: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shares of all items, the probabilities that they are liked, and the scores; -inf where seen."""
    n, m = len(model.users_), len(model.items_)
    rows, columns = model.ratings_.pairs()
    seen = np.zeros((n, m), dtype=bool)
    seen[rows, columns] = True
    z = model.utilities().astype(float)
    z[rows, columns] = -np.inf
    shares = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    pairs = [(u, i) for u in model.users_.ids for i in model.items_.ids]
    p = model.rating_model_.predict_proba(pairs).reshape(n, m, -1)
    likes = p[..., model.scale_ >= (at_least or 4)].sum(axis=2)
    worth = p @ (2.0 ** np.arange(1, 6) - 1) / 32 if gain else likes
    with np.errstate(divide="ignore"):
        return shares, likes, np.log(shares * (worth if gain or at_least else np.ones_like(worth)))


@pytest.mark.parametrize("more", [10, 0])
@pytest.mark.parametrize(("how", "at_least"), [("like", 4), ("like", 2), ("gain", None), ("interaction", None)])
def test_the_best_are_those_of_all_items(how: str, at_least: Any, more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "_MORE", more)
    model = fitted()
    found = model.recommend(n=3, rank_by=how, at_least=at_least)
    shares, likes, scores = brute_force(model, at_least, how == "gain")
    for row in range(len(model.users_)):
        best = np.argsort(-scores[row], kind="stable")[:3]
        assert found.items[row].tolist() == model.items_.ids[best].tolist()
        np.testing.assert_allclose(found.scores[row], scores[row, best], atol=1e-4)
        np.testing.assert_allclose(found.p_interact[row], shares[row, best], rtol=1e-4)
        np.testing.assert_allclose(found.p_like[row], likes[row, best], rtol=1e-4)


def test_users_with_little_left_get_none() -> None:
    X = [(u, i) for u in range(8) for i in range(6) if (u, i) not in {(0, 5), (1, 4), (1, 5)}]
    model = Recommender(EASE(1.0), None, random_state=0).fit(X)
    found = model.recommend([0, 1, 2], n=9)
    assert found.items.shape == (3, 9)
    assert [sum(item is not None for item in row) for row in found.items.tolist()] == [1, 2, 0]
    assert found.p_interact[0, 0] == 1
    assert np.isnan(found.p_interact[2]).all()
    assert len(found.to_frame("polars")) == 3


def test_exclusions_and_candidates_leave_shares_as_they_are() -> None:
    model = fitted()
    every = model.recommend([100, 101], n=4)
    first = every.items[:, 0]
    own = model.recommend([100, 101], n=3, exclude={100: [first[0]]})
    assert own.items[0].tolist() == every.items[0, 1:].tolist()
    assert own.items[1].tolist() == every.items[1, :3].tolist()
    assert np.array_equal(own.p_interact[0], every.p_interact[0, 1:])
    with pytest.warns(InputWarning, match="^exclude is for 1 user who was not in training: 'eve'$"):
        found = model.recommend([100], n=3, exclude={"eve": [7], 100: [first[0]], 101: [first[1]]})
    assert found.items[0].tolist() == own.items[0].tolist()
    with pytest.raises(InvalidTypeError, match="expected ids of items; of each user"):
        model.recommend([100], exclude=[(100, 0)])
    with pytest.warns(InputWarning, match="exclude holds 1 item that was not in training: 'unknown'"):
        assert first[0] not in model.recommend([100], exclude=[first[0], "unknown"]).items
    assert len(every.users) == 2
    assert np.array_equal(model.recommend([100], 3, exclude={}).items, model.recommend([100], 3).items)
    for wrong in ("50", 50, {100: "50"}):
        with pytest.raises(InvalidTypeError, match="expected ids of items, or such for each user"):
            model.recommend([100], exclude=wrong)
    two = every.items[0, 2:4]
    assert model.recommend([100], n=2, candidates=two).items[0].tolist() == two.tolist()
    seen = model.recommend([100], n=30, exclude_seen=False)
    assert set(seen.items[0].tolist()) == set(model.items_.ids.tolist())
    assert seen.p_interact.sum() == pytest.approx(1, abs=1e-5)
    assert model.recommend([100], n=2, exclude=model.items_.ids).items.tolist() == [[None, None]]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_have_a_row_for_each(kind: str) -> None:
    found = fitted().recommend([100], n=2)
    frame = found.to_frame(kind)
    assert type(frame).__module__.startswith(kind)
    columns = {name: list(map(str, frame[name].to_pylist() if kind == "pyarrow" else frame[name])) for name in ["item"]}
    assert columns["item"] == [str(item) for item in found.items[0]]


def test_ids_of_several_types_are_for_pandas(tmp_path: Path) -> None:
    model = EASE().fit([(u, i) for u in (1, 2, "new") for i in (4, 5, 6) if (u, i) != (1, 4)])
    found = model.recommend(n=1, exclude_seen=False)
    assert found.to_frame()["user"].tolist() == [1, 2, "new"]
    for kind in ("polars", "pyarrow"):
        with pytest.raises(InvalidInputError, match=f"column of {kind} has one type, and 'user' holds int and str"):
            found.to_frame(kind)
        assert len(model.explain("new", [4]).to_frame(kind)) == 4
    with pytest.raises(InvalidInputError, match="cannot hold a column of mixed types"):
        found.write(tmp_path / "lists.parquet")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".tsv.gz"])
def test_lists_go_to_files_whole_or_not_at_all(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    found, path = fitted().recommend([100, 101], n=40), tmp_path / f"lists{suffix}"
    found.write(path)
    read = (
        pandas.read_parquet(path) if suffix == ".parquet" else pandas.read_csv(path, sep="," if "c" in suffix else "\t")
    )
    pandas.testing.assert_frame_equal(read, found.to_frame())
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fitted().recommend(n=1).write(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InvalidInputError, match="cannot tell the format"):
        found.write(tmp_path / "lists.json")


def test_it_folds_in_updates_and_saves(tmp_path: Path) -> None:
    model, (X, y) = fitted(), rated()
    mine = X[:, 0] == 105
    new = model.fold_in([("new", item) for item in X[mine, 1]], y[mine])
    assert new.recommend(n=3, rank_by="interaction").p_interact == pytest.approx(
        model.recommend([105], 3, rank_by="interaction").p_interact, rel=0.02
    )
    unrated = model.fold_in([("new", 0), ("new", 21)]).recommend(n=3)
    assert np.isfinite(unrated.scores).all()
    with pytest.raises(InvalidInputError, match="known to this model"):
        model.fold_in(X[mine], y[mine])
    model.save(tmp_path / "model.cofactor")
    again = cofactor.load(tmp_path / "model.cofactor")
    assert bits(again) == bits(model)
    assert again.get_params()["ratings"].n_factors == 2
    assert [type(part) for part in again.interactions] == [EASE, ImplicitALS]
    for one, other in ((again, model), (again.fold_in([("new", 0)], [5]), model.fold_in([("new", 0)], [5]))):
        a, b = one.recommend(n=4), other.recommend(n=4)
        assert np.array_equal(a.items, b.items)
        assert np.array_equal(a.scores, b.scores)
    more = [("new", "film"), (100, 0), ("new", 7)], [5, 4, 1]
    alone = copy.copy(again.rating_model_).update(*more)
    later = again.update(*more)
    assert np.array_equal(later.rating_model_.samples_["U"], alone.samples_["U"])
    assert later.recommend(["new"], n=3).items.shape == (1, 3)
    assert len(later.items_) == len(model.items_) + 1
    assert later.rating_model_.users_ == later.users_ == later.implicit_models_[0].users_
    later.save(tmp_path / "later.cofactor")
    assert np.array_equal(cofactor.load(tmp_path / "later.cofactor").recommend(n=2).items, later.recommend(n=2).items)


def test_ratings_of_a_new_user_count_even_if_all_are_equal() -> None:
    model, items = fitted(), rated()[0][:2, 1].tolist()
    new = [("new", item) for item in items]
    low, high, none = (
        model.fold_in(new, y).recommend(["new"], 3, rank_by="interaction").p_like for y in ([1, 1], [5, 5], None)
    )
    assert not np.allclose(low, high)
    assert not np.allclose(low, none)
    with pytest.raises(InvalidInputError, match="99"):
        model.fold_in(new, [99, 99])


def test_interactions_alone_are_ranked_by_interactions_alone() -> None:
    for y in (None, np.ones(len(interactions_of()))):
        model = Recommender(EASE(3.0), random_state=0).fit(interactions_of(), y)
        assert model.rating_model_ is None
        assert model.recommend(n=2).p_like is None
    counts = np.arange(len(interactions_of())) % 3 * 50 + 1
    assert Recommender(Popularity(), None).fit(interactions_of(), counts).ratings_.weights.max() == 101
    again = Recommender(Popularity(), None).fit(interactions_of(), sample_weight=counts)
    assert again.ratings_.weights.max() == 101
    for refused in ({"rank_by": "like"}, {"at_least": 4}):
        with pytest.raises(InvalidInputError, match="needs a rating model"):
            model.recommend(n=2, **refused)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Recommender(ALS()), "expected an implicit-feedback model"),
        (Recommender("ease"), "interactions='ease': expected an implicit-feedback model such as EASE"),
        (Recommender([EASE(), "bpr"]), "interactions=.*'bpr'.: expected an implicit-feedback model such as EASE"),
        (Recommender([]), "at least one"),
        (Recommender(ratings=ALS()), "predict_proba"),
        (Recommender(ratings="best"), "auto"),
        (Recommender(ratings=SMALL), "one level"),
    ],
)
def test_parts_of_the_wrong_kind_are_refused(model: Recommender, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(interactions_of())


@pytest.mark.parametrize("asked", [{"rank_by": "stars"}, {"at_least": 9}, {"at_least": 1}, {"n": 0}, {"users": ["no"]}])
def test_what_cannot_be_had_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        fitted().recommend(**{"users": [100], **asked})


def test_ratings_are_read_as_its_parameters_say() -> None:
    """In a fit, and after it as an error advises: those of one pair, and the levels there are."""
    X, y = rated()
    twice = np.vstack([X, X[:1]]), np.append(y, 6 - y[0])
    unfitted = Recommender(Popularity(), SMALL, random_state=0)
    with pytest.raises(InvalidInputError, match="duplicates='last'"):
        unfitted.fit(*twice)
    model = clone(unfitted).set_params(duplicates="last", levels=[1, 2, 3, 4, 5, 6]).fit(*twice)
    assert model.ratings_.n_ratings == len(X)
    assert model.scale_.tolist() == [1, 2, 3, 4, 5, 6]
    model = unfitted.fit(X, y).set_params(duplicates="mean")
    assert model.fold_in([("new", X[0, 1]), ("new", X[0, 1])], [1, 5]).ratings_.values.tolist() == [3]
    assert model.update([("new", X[0, 1]), ("new", X[0, 1])], [1, 5]).ratings_.n_ratings == len(X) + 1
    with pytest.raises(InvalidInputError, match="duplicates='first'"):
        Recommender(duplicates="first").fit(X, y)


def test_a_fold_in_knows_which_items_are_alike() -> None:
    """By the support that items had in training, and not by the few interactions of those who are new."""
    X, y = rated()
    model = Recommender(ImplicitALS(2, 0.01), SMALL, random_state=0).fit(X, y)
    new = model.fold_in([("new", X[0, 1])], [5])
    assert new.similar_items([X[0, 1]], 3)[0].tolist() == model.similar_items([X[0, 1]], 3)[0].tolist()


def test_it_is_scored_on_frames_as_rating_models_are() -> None:
    X, y = rated()
    model = Recommender(Popularity(), SMALL, random_state=0).fit(X, y)
    frame = pd.DataFrame({"user": X[:, 0], "item": X[:, 1], "rating": y})
    assert model.score(frame) == model.score(X, y) == model.rating_model_.score(X, y)
    assert model.recommend([100], 3, rank_by="rating", quantile=0.9).scores.tolist() == (
        model.rating_model_.recommend([100], 3, quantile=0.9).scores.tolist()
    )


def test_every_model_returns_recommendations() -> None:
    """Of one form, whatever ranks the items: pairs of items and scores, and tables."""
    model = fitted()
    assert model.rating_model_ is not None
    by_rating = model.recommend([100, 101], 3, rank_by="rating")
    for found in (by_rating, model.rating_model_.recommend([100, 101], 3)):
        items, scores = found
        assert np.array_equal(found[0], items)
        assert np.array_equal(found[1], scores)
        assert found.users.tolist() == [100, 101]
        frame = found.to_frame()
        assert list(frame) == ["user", "rank", "item", "score"]
        assert frame["item"].tolist() == items.ravel().tolist()
    assert np.array_equal(by_rating.items, items)
    assert list(model.implicit_models_[0].recommend([100], 2).to_frame()["rank"]) == [1, 2]


def test_with_recency_the_latest_fifth_is_held_out_and_else_a_tenth() -> None:
    X = [(u, i) for u in range(4) for i in range(10)]
    times = [float((7 * u + 3 * i) % 10) for u, i in X]
    interactions = as_interactions(X, times=times)
    for latest in (True, False):
        users, items = HeldOut.of(interactions, 0, latest=latest).chosen
        out = {(interactions.users.ids[u], interactions.items.ids[i]) for u, i in zip(users, items, strict=True)}
        assert len(out) == (8 if latest else 4)
        assert (out == {pair for pair, t in zip(X, times, strict=True) if t >= 8}) is latest
    model = Recommender(EASE(10.0, recency=2.0), SMALL, random_state=0)
    y = [1 + (u + i) % 5 for u, i in X]
    assert model.fit(X[::2] + X[1::4], y[::2] + y[1::4], time=times[::2] + times[1::4]).recommend([0], n=1).items.size
    with pytest.raises(InvalidInputError, match="needs the time of each interaction"):
        model.fit(X, y)


def test_more_interactions_bear_more_logistic_factors() -> None:
    X = [(u, i) for u in range(30) for i in range(20) if (u + i) % 3]
    model = LogisticMF(alpha=3.0, max_iter=2, random_state=0).fit(X)
    assert model.V_.shape[1] == round(0.43 * len(X) ** 0.3) == 3
    with pytest.raises(InvalidInputError, match="n_factors"):
        ImplicitALS("many").fit(X)


def by_kind(n_users: int, shape: tuple[int, int] | None = None) -> Any:
    """Return interactions of users of two kinds, each with items of its own kind alone."""
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(n_users), 6)
    items = 2 * (100 * rng.random(len(users)) ** 2).astype(int) + users % 2
    return sparse.coo_array((np.ones(len(users)), (users, items)), shape or (n_users, 200))


def test_by_default_it_takes_what_makes_lists_better() -> None:
    model = Recommender(ratings=None, random_state=0).fit(by_kind(300))
    tried = model.tried_
    assert tried["model"] == ["Popularity", "RP3beta", "EASE", "ImplicitALS", "LogisticMF"]
    assert tried["gain"][0] < min(tried["gain"][1:])
    used = [name for name, weight in zip(tried["model"], tried["weight"], strict=True) if weight]
    assert {type(part).__name__ for part in model.implicit_models_} == set(used)
    best = tried["model"][int(np.argmax(tried["gain"]))]
    assert best in used
    lists = model.recommend(np.arange(300), 10).items
    assert (lists % 2 == np.arange(300)[:, None] % 2).mean() > 0.95


def test_users_with_few_interactions_have_lists_as_good_as_popularity() -> None:
    """A model of tastes knows next to nothing of them, and what it learns from others, who have more, is no help."""
    rng = np.random.default_rng(0)
    n, m = 1500, 800
    tastes = rng.normal(size=(n, 6)) @ rng.normal(size=(6, m)) * 0.4 - 0.8 * np.log(np.arange(1, m + 1))
    order = np.argsort(-(tastes + rng.gumbel(size=(n, m))), axis=1)
    known = np.where(np.arange(n) % 5 == 0, 1, rng.integers(4, 16, n))
    X = np.array([(u, i) for u in range(n) for i in order[u, : known[u]]])
    few = np.flatnonzero(known == 1)
    lists = Recommender(ratings=None, random_state=0).fit(X).recommend(few, 10).items
    popular = Popularity().fit(X).recommend(few, 10)[0]
    hits = [
        [np.isin(one, order[u, 1:11]).sum() for u, one in zip(few, found, strict=True)] for found in (lists, popular)
    ]
    assert np.mean(hits[0]) >= np.mean(hits[1])


def test_what_is_liked_by_most_comes_first_where_nothing_else_is_known() -> None:
    """Where nothing can be held out, and where held-out interactions are noise, with slopes below 0."""
    rng = np.random.default_rng(2)
    items = rng.choice(50, 500, p=np.arange(50, 0, -1) / 1275)
    once = Recommender(ratings=None, random_state=0).fit(np.column_stack([np.arange(500), items]))
    assert once.tried_["model"] == ["Popularity"]
    shares = np.bincount(items, minlength=50) / 500
    found = once.recommend([0], 49)
    others = np.delete(shares[once.items_.ids], once.items_.index([items[0]]))
    assert found.p_interact[0, :5] == pytest.approx(np.sort(others)[::-1][:5] / (1 - shares[items[0]]), rel=1e-4)
    for seed in range(6):
        few = np.argwhere(np.random.default_rng(seed).random((60, 12)) < 0.15)
        model = Recommender(ratings=None, random_state=0).fit(few)
        assert (model.weights_[:, 0] >= 0).all()
        assert (model.weights_.sum(axis=1) >= 0).all()


def test_where_pairs_are_many_nothing_takes_time_for_each() -> None:
    model = Recommender(ratings=None, random_state=0).fit(by_kind(600, (25_000, 1010)))
    assert model.tried_["model"] == ["Popularity", "RP3beta", "EASE", "ImplicitALS"]
    assert np.isfinite(model.recommend([0], 5).scores).all()


def test_without_time_to_choose_it_is_popularity() -> None:
    model = Recommender(ratings=None, max_seconds=1e-9, random_state=0).fit(by_kind(50))
    assert model.tried_["model"] == ["Popularity"]
    assert [type(part) for part in model.implicit_models_] == [Popularity]
    with pytest.raises(InvalidInputError, match="max_seconds"):
        Recommender(max_seconds=-1).fit(by_kind(50))
    given = Recommender([EASE(), ImplicitALS(2)], None, max_seconds=1e-9, random_state=0).fit(by_kind(50))
    assert [type(part) for part in given.implicit_models_] == [EASE, ImplicitALS]


def test_what_there_was_no_time_for_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "cofactor"):
        model = Recommender(ratings=SMALL, max_seconds=1e-6, random_state=0).fit(*rated())
        unlimited = Recommender([EASE()], SMALL, random_state=0).fit(*rated())
    said = [line for line in caplog.messages if "max_seconds" in line]
    assert len(said) == 1
    for name in ("1e-06", "at Popularity", "without RP3beta, EASE, ImplicitALS, LogisticMF"):
        assert name in said[0]
    assert bits(model.rating_model_) == bits(unlimited.rating_model_)  # which is not cut short


def test_settings_are_tried_while_there_is_time_for_one_more() -> None:
    """A trial that takes a third of the time is the only one: another and a fit to all would take too long."""
    trials: list[str] = []

    def slow(progress: Progress) -> None:
        if ", trying" in progress.stage:
            trials.append(progress.stage.partition(",")[0])
            time.sleep(2)

    Recommender(ratings=None, max_seconds=6, random_state=0, callback=slow).fit(by_kind(50))
    assert trials == ["RP3beta"]


def test_an_interrupted_choice_goes_on_with_the_best_so_far(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []

    def interrupt(progress: Progress) -> None:
        told.append(progress.stage)
        if progress.stage.startswith("ImplicitALS, trying"):
            raise KeyboardInterrupt

    with caplog.at_level("INFO", "cofactor"):
        model = Recommender(ratings=None, random_state=0, callback=interrupt).fit(by_kind(300))
    assert model.tried_["model"] == ["Popularity", "RP3beta", "EASE"]
    assert len(model.implicit_models_) >= 1
    assert "best so far" in caplog.text
    assert any(stage.startswith("EASE, trying alpha") for stage in told)

    def at_once(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Recommender([EASE(), ImplicitALS(2)], None, callback=at_once).fit(by_kind(50))


def test_wrong_use_says_what_would_be_right() -> None:
    model, X = fitted(), interactions_of()
    with pytest.raises(
        InvalidInputError, match=r"289 distinct values.*ratings=None.*implicit-feedback model such as EASE"
    ) as told:
        Recommender().fit(X[:289], np.arange(289) * 3)
    assert told.value.argument == "y"
    with pytest.raises(InvalidInputError, match="the callback ended the fit.*ratings=None") as told:
        Recommender(EASE(1.0), SMALL, callback=lambda progress: True).fit(*rated())
    assert "warm_start" not in str(told.value)
    with pytest.raises(InvalidInputError, match="interactions without ratings.*give the ratings"):
        model.update([("new", 0), (100, 7)])
    with pytest.raises(InvalidInputError, match="user 7 was not in training"):
        model.recommend([np.int64(7)])
    with pytest.raises(InvalidInputError, match="n=-3: expected a whole number"):
        model.recommend([100], np.int64(-3))
    with pytest.raises(InvalidInputError, match="candidates holds no items of training: 8, 'no'"):
        model.recommend([100], candidates=[np.int64(8), "no"])
    with pytest.raises(InvalidInputError, match="recency=3 needs the time of each interaction"):
        Recommender(EASE(recency=3)).fit(*rated())


def test_items_that_occur_together_are_alike() -> None:
    X = [(u, i) for u in range(30) for i in range(12) if u % 3 == i % 3]
    for model in (ImplicitALS(3, random_state=0), EASE(1.0), Recommender(EASE(1.0), random_state=0)):
        model.fit(X)
        ids, similarities = model.similar_items([0], 3)
        assert sorted(ids[0].tolist()) == [3, 6, 9]
        vectors = model.item_vectors().values
        np.testing.assert_allclose((vectors @ vectors.T)[0, ids[0].astype(int)], similarities[0], atol=1e-5)


def test_users_with_the_same_items_are_similar() -> None:
    X = [(u, i) for u in range(30) for i in range(12) if u % 3 == i % 3 and (u + i) % 5]
    models = [ImplicitALS(3, random_state=0), LogisticMF(3, random_state=0), Recommender(random_state=0)]
    for model in (*models, Recommender(EASE(1.0), random_state=0)):
        model.fit(X)
        ids, similarities = model.similar_users([0, 1], 9, min_ratings=0)
        assert {int(one) % 3 for one in ids[0]} == {0}
        assert {int(one) % 3 for one in ids[1]} == {1}
        vectors = model.user_vectors().values
        np.testing.assert_allclose((vectors @ vectors.T)[0, ids[0].astype(int)], similarities[0], atol=1e-5)


def test_products_of_vectors_are_scores() -> None:
    X = [(u, i) for u in range(30) for i in range(12) if u % 3 == i % 3]
    model = ImplicitALS(3, random_state=0).fit(X)
    scores = model.decision_function([(u, i) for u in range(30) for i in range(12)]).reshape(30, 12)
    rest = scores - model.user_vectors("scores").values @ model.item_vectors("scores").values.T
    np.testing.assert_allclose(rest, np.repeat(rest[:, :1], 12, axis=1), atol=1e-5)
