"""New items by their features: what P(interact) says of them, on planted data; users by features; files and updates."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cofactor
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.ratings import EASE, ImplicitALS, OrdinalProbit, Recommender, Rules

from .models import bits, interactions_of

SMALL = OrdinalProbit(2, n_implicit=2, n_sweeps=30, burn_in=10)


def kinds(items: Any) -> dict[int, list[Any]]:
    """Return the features of items of `interactions_of`: which of three kinds they are of, and where they stand."""
    return {item: ["abc"[item // 7 % 3], item / 210] for item in items}


@lru_cache
def planted(rating: bool) -> tuple[Recommender, np.ndarray, list[int]]:
    """Return a recommender that knows four fifths of the items, the interactions with all, and the other items."""
    X = interactions_of(120, 60, seed=1)
    new = list(range(21, 420, 35))
    kept = X[~np.isin(X[:, 1], new)]
    y = 1 + (kept[:, 0] + kept[:, 1] // 7) % 3 * 2 if rating else None
    model = Recommender([EASE(), ImplicitALS(3)], SMALL if rating else None, random_state=0)
    return model.fit(kept, y, item_features=kinds(range(0, 420, 7))), X, new


@pytest.mark.parametrize("rating", [True, False])
def test_new_items_are_found_by_those_whom_they_suit(rating: bool) -> None:
    model, X, new = planted(rating)
    found = model.recommend(n=60, rank_by="interaction", new_items=kinds(new))
    assert set(new) <= set(found.items.ravel().tolist())
    total = np.where(np.isfinite(found.scores), found.p_interact, 0)
    assert total.sum(axis=1) == pytest.approx(1, abs=1e-4)
    places = np.where(np.isfinite(found.scores), found.items, -7).astype(int) // 7
    suits, is_new = places % 3 == ((found.users - 100) % 3)[:, None], np.isin(places * 7, new)
    # Most users whom the popular half of known ones suits have it already, so that the other half is left.
    for kind, least in ((suits, 1.0), (~suits, 0.9)):
        ours, others = total[is_new & kind].mean(), total[~is_new & kind & (places >= 0)].mean()
        assert least < ours / others < 2
    assert total[is_new & suits].mean() > 2 * total[is_new & ~suits].mean()
    users, items = X[np.isin(X[:, 1], new)].T  # the true interactions with them
    mine = np.zeros(places.shape, dtype=bool)
    for row, user in enumerate(found.users.tolist()):
        mine[row] = np.isin(places[row] * 7, items[users == user])
    assert total[is_new & mine].mean() > 1.5 * total[is_new & ~mine].mean()


def test_known_items_keep_their_odds_and_order() -> None:
    model, _, new = planted(True)
    plain, both = model.recommend([100], 80), model.recommend([100], 80, new_items=kinds(new))
    known, every = ([item for item in one.items[0].tolist() if item is not None] for one in (plain, both))
    assert [item for item in every if item not in new] == known
    shares = dict(zip(both.items[0].tolist(), both.p_interact[0].tolist(), strict=True))
    ratio = np.array([shares[item] for item in known]) / plain.p_interact[0, : len(known)]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)
    likes = dict(zip(both.items[0].tolist(), both.p_like[0].tolist(), strict=True))
    part = model.rating_model_.fold_in_items(item_features=kinds(new))
    p = part.predict_proba([(100, item) for item in new])[:, 2]
    np.testing.assert_allclose([likes[item] for item in new], p, rtol=1e-4)
    assert not np.allclose(p, p[0])


def test_rules_and_lists_know_new_items() -> None:
    model, _, new = planted(True)
    features = kinds(new)
    first = model.recommend([100], 3, candidates=new, new_items=features).items[0].tolist()
    assert set(first) <= set(new)
    assert first[0] not in model.recommend([100], 80, exclude=first[:1], new_items=features).items
    rules = Rules(groups=dict.fromkeys(new, "new"), at_least=1, at_most=2)
    assert 1 <= np.isin(model.recommend([100], 10, rules=rules, new_items=features).items, new).sum() <= 2
    assert not np.isin(model.recommend([100], 80, rules=Rules(min_support=1), new_items=features).items, new).any()
    rules = Rules(diversity=1.0, novelty=0.1)
    assert np.isfinite(model.recommend([100], 10, rules=rules, new_items=features).scores).all()
    folded = model.fold_in([("me", 0), ("me", 42)], [5, 5])
    assert folded.recommend(["me"], 5, new_items=features).items.shape == (1, 5)


def test_files_and_updates_keep_what_features_say(tmp_path: Path) -> None:
    model, _, new = planted(True)
    model.save(tmp_path / "model.cofactor")
    again = cofactor.load(tmp_path / "model.cofactor")
    assert bits(again) == bits(model)
    one, other = (m.recommend([100, 101], 9, new_items=kinds(new)) for m in (model, again))
    assert np.array_equal(one.items, other.items)
    assert np.array_equal(one.scores, other.scores)
    with pytest.raises(InvalidInputError, match="does not keep them; give item_features of the items"):
        again.update([("me", 0), ("me", "film")], [5, 3])
    later = again.update([("me", 0), ("me", "film")], [5, 3], item_features={"film": ["a", 0.3], 0: ["a", 0.0]})
    assert np.isin(later.recommend(["me"], 80, new_items=kinds(new)).items, new).sum() == len(new)


def test_what_features_cannot_say_is_refused() -> None:
    model, X, new = planted(False)
    plain = Recommender(EASE(1.0), None).fit(X)
    with pytest.raises(InvalidInputError, match="new_items needs a Recommender that was fitted with features of items"):
        plain.recommend([100], new_items=kinds(new))
    with pytest.raises(InvalidInputError, match="new_items holds no item that is new"):
        model.recommend([100], new_items=kinds([0, 7]))
    with pytest.raises(InvalidInputError, match="new_items has the columns column 0, but those of training were"):
        model.recommend([100], new_items={"film": ["a"]})
    with pytest.warns(InputWarning, match="new_items"):  # a kind that training did not have says nothing
        model.recommend([100], new_items={"film": ["z", 0.5]})
    with pytest.raises(InvalidInputError, match="user_features are for a rating model that takes features"):
        Recommender(EASE(1.0), None).fit(X, user_features={100: [1.0], 101: [2.0]})
    with pytest.raises(InvalidInputError, match="user_features was not given in training"):
        model.fold_in(user_features={"me": [1.0]})
    with pytest.raises(InvalidInputError, match="X is empty"):
        model.fold_in()


def test_features_do_not_say_which_items_are_interacted_with_alike() -> None:
    model, _, new = planted(True)
    with pytest.raises(InvalidInputError) as error:
        model.similar_items(new[:1], 2, new_items=kinds(new))
    assert error.value.argument == "new_items"


def test_users_by_features_interact_with_what_is_popular_and_like_what_such_users_like() -> None:
    X = interactions_of()
    y = 1 + 4 * (X[:, 0] % 2 == X[:, 1] // 7 % 2)
    features = {user: [float(user % 2)] for user in range(100, 140)}
    model = Recommender(EASE(3.0), OrdinalProbit(2, n_implicit=2, n_sweeps=60, burn_in=30), random_state=0)
    model.fit(X, y, user_features=features)
    new = model.fold_in(user_features={"even": [0.0], "odd": [1.0]})
    even, odd = (new.recommend([user], 30, rank_by="interaction") for user in ("even", "odd"))
    popular = np.argsort(-model.ratings_.item_counts, kind="stable")
    assert even.items[0].tolist() == odd.items[0].tolist() == model.items_.ids[popular].tolist()
    is_even = even.items[0].astype(int) // 7 % 2 == 0
    assert (even.p_like - odd.p_like)[0][is_even].mean() > 0.05
    assert (even.p_like - odd.p_like)[0][~is_even].mean() < -0.05
