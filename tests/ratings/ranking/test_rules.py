"""Lists by rules, against brute force over all lists of all items; quotas, similarity, and what is refused."""

import itertools
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from tests.together import together

from cofactor.errors import InputWarning, InvalidInputError, InvalidTypeError
from cofactor.ratings import ALS, EASE, ImplicitALS, OrdinalProbit, Popularity, Recommender, Rules, reranking
from cofactor.ratings.reranking import Quotas, RerankPlan, rerank
from cofactor.ratings.similar import Embeddings

from .models import MODELS_UNDER_TEST, fitted, interactions_of
from .test_recommender import fitted as fitted_recommender

GROUPS = {item: "abc"[item // 7 % 3] for item in range(0, 210, 7) if item != 77}


def search_of(scores: np.ndarray, bonus: np.ndarray) -> Any:
    """Return a search in a table of scores."""

    def search(rows: np.ndarray, width: int) -> tuple[np.ndarray, ...]:
        value = scores[rows] + bonus
        order = np.argsort(-value, axis=1, kind="stable")[:, :width]
        found = np.take_along_axis(scores[rows], order, axis=1)
        return np.where(np.isfinite(found), order, -1), found, 10.0 * order

    return search


@pytest.mark.parametrize("seed", range(6))
def test_quotas_give_the_best_of_all_lists(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reranking, "_CELLS", 200)  # several blocks of users
    rng = np.random.default_rng(seed)
    k, m, n = 12, 9, 4
    scores = rng.standard_normal((k, m)).round(1)
    scores[rng.random((k, m)) < 0.3] = -np.inf  # hidden from the user
    group = rng.integers(4, size=m)
    most, fewest = rng.integers(1, 4, size=4), np.array([1, rng.integers(3), 0, 0])
    most = np.maximum(most, fewest)
    bonus = rng.standard_normal(m)
    plan = RerankPlan(bonus, Quotas(group, most, fewest), 0.0, np.zeros((m, 0), np.float32))
    items, found, other = rerank(search_of(scores, bonus), plan, k, m, n)
    for row in range(k):
        left = np.flatnonzero(np.isfinite(scores[row]))
        owed = np.minimum(fewest, np.bincount(group[left], minlength=4))
        best: tuple[int, float] = (0, 0.0)
        for size in range(n + 1):
            for chosen in itertools.combinations(left.tolist(), size):
                counts = np.bincount(group[list(chosen)], minlength=4) if chosen else np.zeros(4, int)
                if (counts <= most).all() and (counts >= owed).all():
                    best = max(best, (size, float((scores[row] + bonus)[list(chosen)].sum())))
        mine = items[row][items[row] >= 0]
        assert (len(mine), pytest.approx((scores[row] + bonus)[mine].sum())) == best
        assert (np.diff((scores[row] + bonus)[mine]) <= 1e-12).all()
        assert np.array_equal(found[row, : len(mine)], scores[row, mine])
        assert np.array_equal(other[row, : len(mine)], 10.0 * mine)
        assert np.isneginf(found[row, len(mine) :]).all()
        assert np.isnan(other[row, len(mine) :]).all()


def slow(scores: np.ndarray, vectors: np.ndarray, n: int, diversity: float) -> list[int]:
    """Return maximal marginal relevance over all items, one by one."""
    chosen: list[int] = []
    while len(chosen) < n:
        worth = scores - diversity * np.array([max([*(vectors[chosen] @ one), 0.0]) for one in vectors])
        worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
    return chosen


@together("diversity", [0.3, 3.0])
def test_diversity_looks_at_all_items(diversity: float) -> None:
    rng = np.random.default_rng(0)
    k, m, n = 5, 400, 6
    vectors = rng.standard_normal((m, 3))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    scores = 2 * vectors[:, 0] + 0.05 * rng.standard_normal((k, m))  # the best are all alike
    none = Quotas(np.zeros(m, int), np.array([n]), np.array([0]))
    items = rerank(search_of(scores, np.zeros(m)), RerankPlan(np.zeros(m), none, diversity, vectors), k, m, n)[0]
    assert items.tolist() == [slow(row, vectors, n, diversity) for row in scores]


def lists_of(model: Any, *users: Any, n: int = 6, **asked: Any) -> tuple[list[list[Any]], np.ndarray]:
    items, scores = model.recommend(list(users) or None, n, **asked)
    return [[item for item in row if item is not None] for row in items.tolist()], scores


@together("name", MODELS_UNDER_TEST)
def test_every_model_keeps_to_rules(name: str) -> None:
    model = fitted(name)
    counts = dict(zip(model.items_.ids.tolist(), model.ratings_.item_counts.tolist(), strict=True))
    full, scores = lists_of(model, 100, 103, n=30)
    kept, _ = lists_of(model, 100, 103, rules=Rules(min_support=8))
    assert kept == [[i for i in row if counts[i] >= 8][:6] for row in full]
    capped, of_capped = lists_of(model, 100, rules=Rules(groups=GROUPS, at_most=1))
    of_groups = [GROUPS[item] for item in capped[0] if item in GROUPS]
    assert sorted(of_groups) == sorted({GROUPS[item] for item in full[0] if item in GROUPS})
    by_item = dict(zip(full[0], scores[0].tolist(), strict=False))
    np.testing.assert_allclose(of_capped[0, : len(capped[0])], [by_item[item] for item in capped[0]], rtol=1e-5)
    forced, _ = lists_of(model, 100, n=4, rules=Rules(groups=GROUPS, at_least={"c": 2}))
    assert [GROUPS.get(item) for item in forced[0]].count("c") >= 2
    novel, _ = lists_of(model, 100, 103, rules=Rules(novelty=100.0))
    rarest = sorted(full[0], key=lambda i: counts[i])[:6]
    assert [counts[i] for i in novel[0]] == [counts[i] for i in rarest]
    assert lists_of(model, 100, rules=Rules())[0] == lists_of(model, 100)[0]
    other = lists_of(model, 103)[0]
    own = lists_of(model, 103, 100, exclude={100: full[0][:2], 103: []})[0]
    assert own == [*other, full[0][2:8]]
    assert lists_of(model, 100, exclude=full[0][:2])[0] == [full[0][2:8]]


@together("name", MODELS_UNDER_TEST)
def test_diverse_lists_are_less_alike(name: str) -> None:
    model = fitted(name)
    vectors = model._item_directions()

    def alike(rules: Rules | None) -> float:
        places = model.items_.index(np.ravel(lists_of(model, 100, n=5, rules=rules)[0]))
        similarities = (vectors[places] @ vectors[places].T)[np.triu_indices(5, 1)]
        return float(np.maximum(similarities, 0).mean())  # to a rule, opposites are as unlike as strangers

    assert alike(Rules(diversity=20.0)) < alike(None)


def test_new_users_have_rules_too() -> None:
    model, X = fitted_recommender(), [("new", 0), ("new", 21)]
    new = model.fold_in(X, [5, 4])
    rules = Rules(min_support=8, diversity=2.0, novelty=0.1)
    found = new.recommend(["new"], 3, rules=rules)
    counts = model.ratings_.item_counts[model.items_.index(found.items[0])]
    assert (counts >= 8).all()
    assert np.array_equal(new._item_directions(), model._item_directions())
    plain = new.recommend(["new"], 30)
    for column in ("scores", "p_interact", "p_like"):
        by_item = dict(zip(plain.items[0].tolist(), getattr(plain, column)[0].tolist(), strict=True))
        expected = [by_item[item] for item in found.items[0]]
        np.testing.assert_allclose(getattr(found, column)[0], expected, rtol=1e-5)
    alone = fitted("EASE").fold_in([pair[:2] for pair in X])
    with pytest.raises(InvalidInputError, match="comes from a fold-in, and knows too few users.*vectors"):
        alone.recommend(["new"], rules=Rules(diversity=1.0))
    directions = Embeddings(model.items_.ids, fitted("EASE")._item_directions().astype(np.float32))
    given = alone.recommend(["new"], 4, rules=Rules(diversity=1.0, vectors=directions))[0]
    assert len(set(given[0].tolist())) == 4


@lru_cache
def factors() -> ALS:
    X = interactions_of()
    return ALS(2, 0.1, random_state=0).fit(X, 1 + (X[:, 0] + X[:, 1]) % 5)


def test_rating_models_keep_to_rules_in_units_of_ratings() -> None:
    model = factors()
    full, scores = lists_of(model, 100, n=30)
    found, _ = lists_of(model, 100, rules=Rules(diversity=0.7))
    left = full[0]
    places = model.items_.index(left)
    vectors = model._item_directions()[places]
    assert found[0] == [left[k] for k in slow(scores[0, : len(left)], vectors, 6, 0.7)]
    assert lists_of(model)[0][0] == lists_of(model, 100)[0][0]  # all users
    assert lists_of(model, 100, exclude=full[0][:1])[0][0] == full[0][1:7]
    with pytest.raises(InvalidInputError, match="candidates can leave out"):
        model.fold_in([("new", 0), ("new", 7)], [3, 4]).recommend(["new"], rules=Rules(min_support=2))


@together(
    ("asked", "message"),
    [
        ({"min_support": -1}, "min_support=-1: expected a whole number of at least 0"),
        ({"diversity": -0.1}, "diversity=-0.1"),
        ({"novelty": np.inf}, "novelty"),
        ({"at_most": 2}, "at_most needs groups"),
        ({"groups": GROUPS}, "say nothing without at_most or at_least"),
        ({"groups": ["a"], "at_most": 1}, "mapping from item id to group"),
        ({"groups": GROUPS, "at_most": {"z": 1}}, "no item has the group 'z': there are 'a', 'b', 'c'"),
        ({"groups": GROUPS, "at_least": -2}, "at_least=-2"),
        ({"groups": GROUPS, "at_least": 2, "at_most": 1}, "no more than 1 item of the group 'a'"),
        ({"groups": GROUPS, "at_least": 4}, r"lists of 10 items cannot have 12 of these groups; raise n"),
        ({"groups": {0: "a", 7: "b"}, "at_least": {"b": 2}}, "only 1 item of the group 'b'"),
        ({"diversity": 1.0, "vectors": np.eye(3)}, "expected Embeddings"),
        ({"diversity": 1.0, "vectors": Embeddings(np.array([-1]), np.ones((1, 2), np.float32))}, "of no item"),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(asked: dict[str, Any], message: str) -> None:
    for model in (fitted("Popularity"), fitted_recommender()):
        with pytest.raises(InvalidInputError, match=message):
            model.recommend([100], rules=Rules(**asked))
    with pytest.raises(InvalidInputError, match=r"expected Rules\(...\)"):
        fitted("Popularity").recommend([100], rules={"min_support": 3})


def test_the_same_lists_for_users_alone_and_among_others() -> None:
    model = Recommender([EASE(3.0), ImplicitALS(2)], OrdinalProbit(2, n_sweeps=10, burn_in=5), random_state=0)
    X = interactions_of()
    model.fit(X, 1 + (X[:, 0] + X[:, 1]) % 5)
    rules = Rules(diversity=1.0, novelty=0.2, groups=GROUPS, at_most=2, at_least={"c": 1})
    together = model.recommend(n=5, rules=rules)
    for row in (0, 17):
        alone = model.recommend(together.users[row : row + 1], n=5, rules=rules)
        assert np.array_equal(alone.items[0], together.items[row])
        assert np.array_equal(alone.scores[0], together.scores[row])


def test_a_user_with_nothing_left_has_an_empty_list() -> None:
    X = [(u, i) for u in range(4) for i in range(5) if u != 1 or i < 3]
    model = Popularity().fit(X)
    items, scores = model.recommend([0, 1], 3, rules=Rules(groups={3: "new", 4: "new"}, at_least={"new": 1}))
    assert items.tolist() == [[None] * 3, [3, 4, None]]
    assert np.isneginf(scores[0]).all()


def test_with_all_items_left_out_lists_are_empty() -> None:
    X = interactions_of()
    for model in (fitted("EASE"), fitted("Recommender"), factors()):
        everything, one = model.items_.ids.tolist(), {100: model.items_.ids.tolist()}
        for asked in ({"exclude": everything}, {"exclude": one}, {"rules": Rules(min_support=1000)}):
            items, scores = model.recommend([100], 3, **asked)
            assert items.tolist() == [[None] * 3]
            assert np.isneginf(scores).all()
    full = type(fitted("EASE"))(3.0).fit([*X.tolist(), *((100, item) for item in np.unique(X[:, 1]).tolist())])
    assert full.recommend([100], 2)[0].tolist() == [[None, None]]  # a user who interacted with everything


def test_items_without_a_group_are_in_none() -> None:
    model = Popularity().fit([(u, i) for u in range(9) for i in range(u % 5 + 1)] + [("new", 9)])
    groups = {0: "a", 1: "a", 2: None, 3: float("nan"), 4: None}
    assert model.recommend(["new"], n=4, rules=Rules(groups=groups, at_most=1))[0].tolist() == [[0, 2, 3, 4]]
    with pytest.raises(InvalidTypeError, match="one group for each item, and item 0 has several"):
        Rules(groups={0: ["a", "b"]}, at_most=1)
    with pytest.raises(InvalidInputError, match="none of the items of groups was in training: '0'"):
        model.recommend(["new"], n=4, rules=Rules(groups={"0": "a"}, at_most=1))


def test_groups_may_be_a_series_and_unknown_items_are_told() -> None:
    pd = pytest.importorskip("pandas")
    model, quota = fitted("EASE"), {"a": 1}
    expected = model.recommend([100], 4, rules=Rules(groups=GROUPS, at_most=quota))[0]
    series = pd.Series(GROUPS)
    assert np.array_equal(model.recommend([100], 4, rules=Rules(groups=series, at_most=quota))[0], expected)
    with pytest.warns(InputWarning, match="groups holds 2 items that were not in training: 'x', 'y'"):
        model.recommend([100], rules=Rules(groups={**GROUPS, "x": "a", "y": "b"}, at_most=quota))
    with pytest.raises(InvalidInputError, match="groups has several groups for one item: 7"):
        Rules(groups=pd.concat([series, series[[7]]]), at_most=1)
    for odd, found in ((series.to_frame("of"), "DataFrame with the columns of"), (list(GROUPS), "list")):
        with pytest.raises(InvalidTypeError, match=f"or a frame of both, found {found}$"):
            Rules(groups=odd, at_most=1)


@together("name", ["pandas", "polars"])
def test_groups_and_boosts_may_be_frames(name: str) -> None:
    package = pytest.importorskip(name)
    model, of_items = fitted("EASE"), {7: 0.5, 14: -0.25}
    frames = [package.DataFrame({"item": list(table), "said": list(table.values())}) for table in (GROUPS, of_items)]
    asked = [{"groups": g, "at_most": 2, "boost": b} for g, b in ((GROUPS, of_items), frames)]
    first, second = (model.recommend([100, 101], 6, rules=Rules(**one)) for one in asked)
    assert np.array_equal(first.items, second.items)
    turned = (
        [frame[["said", "item"]] for frame in frames]
        if name == "pandas"
        else [f.select("said", "item") for f in frames]
    )
    third = model.recommend([100, 101], 6, rules=Rules(groups=turned[0], at_most=2, boost=turned[1]))
    assert np.array_equal(first.items, third.items)


def test_a_boost_is_added_to_scores() -> None:
    """Lists are in the order of boosted scores, in every kind of model, and show the scores themselves."""
    for model in (fitted("EASE"), fitted("Recommender"), factors()):
        plain = model.recommend([100], 40)
        scores = dict(zip(plain.items[0].tolist(), plain.scores[0].tolist(), strict=True))
        if model is fitted("EASE"):  # on a logarithmic scale, as with any rule that weighs scores
            tiny = model.recommend([100], 40, rules=Rules(novelty=1e-12))
            scores = dict(zip(tiny.items[0].tolist(), tiny.scores[0].tolist(), strict=True))
        items = [item for item in scores if item is not None]
        boost = {items[-1]: 2.0 * (scores[items[0]] - scores[items[-1]]) + 1, items[0]: -0.5}
        found = model.recommend([100], 40, rules=Rules(boost=boost))
        assert found.items[0, 0] == items[-1]
        shown = dict(zip(found.items[0].tolist(), found.scores[0].tolist(), strict=True))
        assert {item: shown[item] for item in items} == pytest.approx({item: scores[item] for item in items}, abs=1e-5)
        worth = [shown[item] + boost.get(item, 0) for item in found.items[0].tolist() if item is not None]
        assert worth == sorted(worth, reverse=True)
    with pytest.raises(InvalidInputError, match="boost of 7"):
        Rules(boost={7: np.nan})
    with pytest.raises(InvalidInputError, match="none of the items of boost was in training: 'x'"):
        fitted("EASE").recommend([100], rules=Rules(boost={"x": 1}))


def test_support_leaves_out_new_items() -> None:
    model, X = Recommender(EASE(3.0), None, random_state=0), interactions_of()
    model.fit(X, item_features={item: [item] for item in range(0, 210, 7)})
    new = {"film": [100]}
    assert "film" in model.recommend([100], 40, new_items=new).items
    assert "film" not in model.recommend([100], 40, new_items=new, rules=Rules(min_support=1)).items


@pytest.mark.parametrize("model", [ALS(2, 1.0, random_state=0), EASE(3.0)], ids=repr)
def test_diversity_after_a_fold_in_takes_the_vectors_that_the_error_names(model: Any) -> None:
    X = interactions_of()
    model.fit(X, 1 + X[:, 1] % 3) if isinstance(model, ALS) else model.fit(X)
    new = model.fold_in([("new", 0), ("new", 21)], *([[1, 3]] if isinstance(model, ALS) else []))
    with pytest.raises(InvalidInputError, match=r"give Rules the vectors=model.item_vectors\(\) of that one$"):
        new.recommend(n=3, rules=Rules(diversity=1))
    items = new.recommend(n=3, rules=Rules(diversity=1, vectors=model.item_vectors()))[0]
    assert len(set(items[0].tolist())) == 3
