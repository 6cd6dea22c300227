"""Views, carts and purchases in one fit: what each kind counts, and what becomes of kinds later."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cofactor
from cofactor.datasets import InteractionDataset, make_events, read_interactions
from cofactor.errors import InvalidInputError
from cofactor.ratings import Popularity, Recommender, RP3beta

EVENTS, _ = make_events(800, 200, 40_000, random_state=0)


def held_out() -> tuple[InteractionDataset, dict[int, set[int]]]:
    """Return events without those of three tenths of the pairs that came to a purchase, and these."""
    pairs = EVENTS.X[:, 0] * 200 + EVENTS.X[:, 1]
    bought = np.unique(pairs[EVENTS.kinds == "purchase"])
    out = bought[np.random.default_rng(0).random(len(bought)) < 0.3]
    left, wanted = ~np.isin(pairs, out), dict[int, set[int]]()
    for pair in out.tolist():
        wanted.setdefault(pair // 200, set()).add(pair % 200)
    return InteractionDataset("rest", EVENTS.X[left], EVENTS.y[left], None, kinds=EVENTS.kinds[left]), wanted


def gains(model: RP3beta, wanted: dict[int, set[int]]) -> np.ndarray:
    """Return the DCG@10 of each user; none of whom the model does not know."""
    known = [user for user in wanted if model.users_.index([user])[0] >= 0]
    lists = dict(zip(known, model.recommend(known)[0].tolist(), strict=True))
    discounts = 1 / np.log2(np.arange(2, 12))
    return np.array([np.isin(lists.get(u, [-1] * 10), list(own)) @ discounts for u, own in wanted.items()])


def test_together_they_say_more_of_purchases_than_these_alone_or_all_alike() -> None:
    rest, wanted = held_out()
    model = RP3beta().fit(rest)
    assert next(iter(model.kind_weights_)) == "purchase"
    assert 0 < model.kind_weights_["view"] < model.kind_weights_["cart"] <= 1
    found, bought = gains(model, wanted), rest.kinds == "purchase"
    for other in (RP3beta().fit(rest.X[bought]), RP3beta().fit(rest.X)):
        risen = found - gains(other, wanted)
        assert risen.mean() > 2 * risen.std() / np.sqrt(len(risen))


def test_kinds_are_a_column_a_data_set_or_given() -> None:
    X, y, kinds = EVENTS.X[:4000], EVENTS.y[:4000], EVENTS.kinds[:4000]
    frame = pl.DataFrame({"visitorid": X[:, 0], "event": kinds, "itemid": X[:, 1]})
    expected, data = Popularity().fit(X, kind=kinds), InteractionDataset("some", X, y, None, kinds=kinds)
    beside = Popularity().fit(frame, np.ones(len(frame)))
    for model in (Recommender(Popularity()).fit(frame), Popularity().fit(data), beside, Popularity().fit(frame)):
        assert model.kind_weights_ == expected.kind_weights_
    assert np.array_equal(model.scores_, expected.scores_)


def test_the_target_is_the_rarest_of_many_or_given() -> None:
    assert next(iter(Popularity().fit(EVENTS, target="cart").kind_weights_)) == "cart"
    few = Popularity().fit(EVENTS.X[:500], kind=EVENTS.kinds[:500])
    assert next(iter(few.kind_weights_)) == "view"
    with pytest.raises(InvalidInputError, match="no event is of this kind"):
        Popularity().fit(EVENTS, target="buy")
    with pytest.raises(InvalidInputError, match="there are no kinds of events"):
        Popularity().fit(EVENTS.X, target="buy")


def test_one_kind_alone_is_as_none() -> None:
    alone = Popularity().fit(EVENTS.X, kind=np.full(len(EVENTS), "click"))
    assert alone.kind_weights_ == {"click": 1.0}
    assert np.array_equal(alone.scores_, Popularity().fit(EVENTS.X).scores_)


@pytest.mark.parametrize("kind", [["view"], [None, "view"], ["", "view"]])
def test_each_event_has_a_kind(kind: list[str | None]) -> None:
    with pytest.raises(InvalidInputError, match="kind"):
        Popularity().fit([("ann", "Up"), ("bob", "Up")], kind=kind)


@pytest.mark.parametrize("make", [Popularity, lambda: Recommender(Popularity())])
def test_later_events_count_as_in_the_fit(make, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = make().fit(EVENTS)
    model.save(tmp_path / "shop.cofactor")
    model = cofactor.load(tmp_path / "shop.cofactor")
    view = model.kind_weights_["view"]
    new = model.fold_in([("new", 3), ("new", 5)], kind=["view", "purchase"])
    assert new.ratings_.weights.tolist() == pytest.approx([view, 1.0])
    for call in (model.fold_in, model.update):
        with pytest.raises(InvalidInputError, match="no event in training: 'wish'"):
            call([("new", 3)], kind=["wish"])
    model.update([(9999, 3)], kind=["view"], time=[2e9])
    row = model.users_.index([9999])[0]
    assert model.ratings_.weights[model.ratings_.indptr[row]] == pytest.approx(view)
    with pytest.raises(InvalidInputError, match="without kinds"):
        make().fit(EVENTS.X).update([(9999, 3)], kind=["view"])


def test_a_file_with_the_names_of_retailrocket_is_read(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    rows = "1433221332117,257597,view,355908,\n1433224214164,992329,addtocart,248676,\n"
    path.write_text("timestamp,visitorid,event,itemid,transactionid\n" + rows)
    data = read_interactions(path)
    assert data.X.tolist() == [[257597, 355908], [992329, 248676]]
    assert data.kinds.tolist() == ["view", "addtocart"]
    assert data.timestamps.tolist() == [1433221332117, 1433224214164]
