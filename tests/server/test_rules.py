"""A shop's rules over HTTP: answers are those of the library, and filters are seen by all processes."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.children import Command
from tests.server.conftest import Client, asked_by
from tests.server.said import rows, rows_of

from cofactor.datasets import make_ratings
from cofactor.ratings import ALS, EASE, OrdinalProbit, Recommender, Rules
from cofactor.server import schemas

pytestmark = pytest.mark.processes

ASK = "/v1/recommendations"
GENRES = {item: "abc"[item % 3] for item in range(30)}


@dataclass(frozen=True)
class Shop:
    """A server of two processes: a recommender, a model of ratings by features, one of interactions of named items."""

    client: Client
    models: dict[str, Any]
    filters: Path

    def lists(self, **body: Any) -> Any:
        return self.client.post(ASK, body)["lists"]

    def refused(self, method: str, path: str, body: Any = None, status: int = 422) -> Any:
        answer = self.client.ask(method, path, body)
        assert answer.status == status, answer.body
        return answer.json["error"]

    def put(self, name: str, items: Any) -> Any:
        answer = self.client.ask("PUT", f"/v1/filters/{name}", {"items": items})
        assert answer.status == 200, answer.body
        return answer.json


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    data = make_ratings(40, 30, 2, density=0.4, random_state=0)
    features = (np.arange(30), {"size": np.arange(30) % 5, "colour": np.array(["red", "blue"])[np.arange(30) % 2]})
    probit = OrdinalProbit(2, n_sweeps=12, burn_in=4, random_state=0)
    named = [(user, f"item {item}") for user, item in data.X.tolist()]
    models: dict[str, Any] = {
        "shop": Recommender(EASE(), probit, random_state=0).fit(data.X, data.y, item_features=features),
        "stars": ALS(2, alpha=2.0, random_state=0).fit(data.X, data.y, item_features=features),
        "clicks": EASE().fit(named),
    }
    for name, model in models.items():
        model.save(folder / f"{name}.cofactor")
    (folder / "filters").mkdir()
    arguments = [f"{name}={folder / name}.cofactor" for name in models]
    given = ["serve", *arguments, "--port", "0", "--workers", "2", "--filters", str(folder / "filters")]
    with Command([*given, "--max-items", "1000", "--max-seconds", "240"], folder, {}) as child:
        yield Shop(Client(child), models, folder / "filters")


@pytest.mark.parametrize(
    ("over_http", "in_python"),
    [
        ({"exclude": [1, "2"]}, {"exclude": [1, 2]}),
        ({"exclude": {"7": [1, 2], "8": [3]}}, {"exclude": {7: [1, 2], 8: [3]}}),
        ({"candidates": [1, "2", 5, 9]}, {"candidates": [1, 2, 5, 9]}),
        ({"rules": {"min_support": 15}}, {"rules": Rules(min_support=15)}),
        ({"rules": {"diversity": 0.5}}, {"rules": Rules(diversity=0.5)}),
        ({"rules": {"novelty": 0.5}}, {"rules": Rules(novelty=0.5)}),
        ({"rules": {"boost": {"3": 2, "11": -1.5}}}, {"rules": Rules(boost={3: 2, 11: -1.5})}),
        ({"rules": {"groups": GENRES, "at_most": 2}}, {"rules": Rules(groups=GENRES, at_most=2)}),
        (
            {"rules": {"groups": GENRES, "at_least": {"b": 3}, "at_most": {"a": 0}}},
            {"rules": Rules(groups=GENRES, at_least={"b": 3}, at_most={"a": 0})},
        ),
    ],
    ids=lambda one: "" if "rules" in one and isinstance(one["rules"], Rules) else str(one)[:50],
)
def test_lists_are_those_of_the_library(shop, over_http, in_python) -> None:
    for name in ("shop", "stars"):
        expected = shop.models[name].recommend([7, 8], 6, **in_python)
        found = shop.lists(users=[7, 8], n=6, model=name, **over_http)
        assert [rows(one) for one in found] == [rows_of(expected, k) for k in (0, 1)]


def test_requests_have_every_rule_of_the_library() -> None:
    """Vectors for diversity are those of the model that was fitted."""
    rules = {one.name for one in fields(Rules)} - {"vectors"}
    assert set(schemas.Rules.__struct_fields__) == rules, "each rule needs a member in Rules of server/schemas.py"


def test_rules_hold_for_new_users_too(shop) -> None:
    """Lists are diverse by the vectors of the model that was fitted."""
    model = shop.models["shop"]
    new = {"ratings": [{"item": 3, "rating": 5}, {"item": 4, "rating": 1}]}
    rules = {"diversity": 0.5, "boost": {"9": 1.0}, "groups": GENRES, "at_most": 2}
    (found,) = shop.lists(users=[new], n=5, rules=rules, exclude=[1])
    folded = model.fold_in([("me", 3), ("me", 4)], [5, 1])
    vectors = {"vectors": model.item_vectors()} if hasattr(model, "item_vectors") else {}
    own = Rules(**{**rules, "boost": {9: 1.0}}, **vectors)
    assert rows(found) == rows_of(folded.recommend(["me"], 5, rules=own, exclude=[1]), 0)


def test_new_users_of_a_recommender_may_bring_clicks_alone(shop) -> None:
    """Beside users with ratings; within a user it is one or the other."""
    model = shop.models["shop"]
    clicks, rated = {"ratings": [{"item": 3}, {"item": 4}]}, {"ratings": [{"item": 3, "rating": 5}]}
    found = shop.lists(users=[clicks, 7, rated, clicks], n=5)
    by_clicks = rows_of(model.fold_in([("me", 3), ("me", 4)]).recommend(["me"], 5), 0)
    by_rating = rows_of(model.fold_in([("me", 3)], [5]).recommend(["me"], 5), 0)
    assert [rows(one) for one in found] == [by_clicks, rows_of(model.recommend([7], 5), 0), by_rating, by_clicks]
    pairs = [{"user": clicks, "item": 5}, {"user": rated, "item": 5}, {"user": clicks, "item": 6}]
    predicted = [one["prediction"] for one in shop.client.post("/v1/predictions", {"pairs": pairs})["predictions"]]
    of_clicks = model.fold_in([("me", 3), ("me", 4)]).predict([("me", 5), ("me", 6)]).tolist()
    assert predicted == [of_clicks[0], model.fold_in([("me", 3)], [5]).predict([("me", 5)])[0], of_clicks[1]]
    assert shop.client.post("/v1/explanations", {"user": clicks, "items": [5]})["explanations"]
    mixed = {"ratings": [{"item": 3}, {"item": 4, "rating": 5}]}
    for name, user, otherwise in (("shop", mixed, True), ("stars", clicks, False)):
        error = shop.refused("POST", ASK, {"users": [user], "model": name})
        assert error["argument"] == "users[0].ratings[0].rating"
        assert '{"item": 3, "rating": 5}' in error["advice"]
        assert ("leave out the ratings of all" in error["advice"]) == otherwise


def test_new_items_are_ranked_among_the_others(shop) -> None:
    fresh = [{"id": "new 1", "size": 1, "colour": "red"}, {"id": 101, "size": 4, "colour": "blue"}]
    frame = (["new 1", 101], {"size": [1, 4], "colour": ["red", "blue"]})
    for name in ("shop", "stars"):
        found = shop.lists(users=[7], n=20, new_items=fresh, model=name)[0]
        assert rows(found) == rows_of(shop.models[name].recommend([7], 20, new_items=frame), 0)
    (some,) = shop.lists(users=[7], new_items=fresh, candidates=["new 1", "101", 5])
    expected = shop.models["shop"].recommend([7], new_items=frame, candidates=["new 1", 101, 5])
    assert rows(some) == rows_of(expected, 0)
    assert {one["item"] for one in some["items"]} >= {"new 1", 101}
    error = shop.refused("POST", ASK, {"users": [7], "new_items": [fresh[0], {"id": 3}]})
    assert error["argument"] == "new_items[1]"
    for bad in ([], [{"id": 5, "size": 1, "colour": "red"}]):  # the latter was in training
        assert shop.refused("POST", ASK, {"users": [7], "new_items": bad})
    assert "features" in shop.refused("POST", ASK, {"users": [7], "new_items": fresh, "model": "clicks"})["message"]


def test_items_that_are_not_known_are_left_out_and_said(shop) -> None:
    """In an address, too; of a filter its own answer says so."""
    answer = shop.client.post(ASK, {"users": [7], "candidates": [1, 2, "none"], "exclude": ["no", 2], "n": 3})
    assert [one["item"] for one in answer["lists"][0]["items"]] == [1]
    assert [text.partition(" ")[0] for text in answer["warnings"]] == ["candidates", "exclude"]
    assert "'none'" in answer["warnings"][0]
    one = shop.client.get("/v1/users/7/recommendations?candidates=1&candidates=none&exclude=2")
    assert len(one["items"]) == 1
    assert len(one["warnings"]) == 1
    boosted = shop.client.post(ASK, {"users": [7], "rules": {"boost": {"1": 1, "none": 1}}})
    assert "'none'" in boosted["warnings"][0]
    assert "warnings" not in shop.client.post(ASK, {"users": [7], "candidates": [1, 2]})
    error = shop.refused("POST", ASK, {"users": [7], "candidates": ["none"]})
    assert error["argument"] == "candidates"


def test_a_filter_is_put_read_and_forgotten(shop) -> None:
    stock = [1, 2, "3", 5, 8, "none"]
    put = shop.put("stock", stock)
    assert put["total"] == 6
    assert put["unknown"][0] == {"model": "shop", "total": 1, "first": ["none"]}
    assert put["unknown"][2]["total"] == 6  # of the model whose items have other ids
    expected = shop.models["shop"].recommend([7], 4, candidates=[1, 2, 3, 5, 8], exclude_seen=False)
    for _ in range(8):  # whichever process answers
        for found in (
            shop.lists(users=[7], n=4, candidates="stock", exclude_seen=False)[0],
            shop.client.get("/v1/users/7/recommendations?candidates_filter=stock&n=4&exclude_seen=false"),
        ):
            assert rows(found) == rows_of(expected, 0)
            assert "warnings" not in found
    without = shop.models["shop"].recommend([7], 4, exclude=[1, 2, 3, 5, 8])
    assert rows(shop.lists(users=[7], n=4, exclude="stock")[0]) == rows_of(without, 0)
    address = "/v1/users/7/recommendations?exclude_filter=stock&n=4"
    assert rows(shop.client.get(address)) == rows_of(without, 0)
    error = shop.refused("GET", "/v1/users/7/recommendations?candidates=stock")
    assert (error["argument"], error["advice"]) == ("candidates", "name a filter by candidates_filter=stock")
    page = shop.client.get("/v1/filters/stock?first=2&n=2")
    assert (page["total"], page["items"], page["unknown"]) == (6, ["3", 5], put["unknown"])
    shop.put("stock", [4])
    for _ in range(8):
        assert [one["item"] for one in shop.lists(users=[7], candidates="stock", exclude_seen=False)[0]["items"]] == [4]
    assert "stock" in shop.client.get("/v1/filters")["filters"]
    assert shop.client.ask("DELETE", "/v1/filters/stock").status == 200
    for _ in range(8):
        error = shop.refused("POST", ASK, {"users": [7], "candidates": "stock"}, status=404)
        assert (error["argument"], error["found"]) == ("candidates", "stock")
    assert shop.refused("DELETE", "/v1/filters/stock", status=404)
    assert shop.refused("GET", "/v1/filters/stock", status=404)


def test_a_filter_says_groups_and_boosts(shop) -> None:
    shop.put("genres", {str(item): group for item, group in GENRES.items()} | {"none": "a"})
    shop.put("promoted", {"3": 2, "11": -1.5})
    rules = {"groups": "genres", "at_most": 2, "boost": "promoted"}
    expected = shop.models["shop"].recommend([7], 6, rules=Rules(groups=GENRES, at_most=2, boost={3: 2, 11: -1.5}))
    assert rows(shop.lists(users=[7], n=6, rules=rules)[0]) == rows_of(expected, 0)
    assert shop.client.get("/v1/filters/promoted")["items"] == {"3": 2, "11": -1.5}
    (found,) = shop.lists(users=[7], candidates="promoted", exclude_seen=False)
    assert {one["item"] for one in found["items"]} == {3, 11}
    shop.put("ids", [1, 2])
    error = shop.refused("POST", ASK, {"users": [7], "rules": {"boost": "ids"}})
    assert (error["argument"], error["found"]) == ("rules.boost", "ids")


def test_a_file_in_the_folder_is_a_filter(shop) -> None:
    """Whole, or an error: no list is better than one of what is not there."""
    (shop.filters / "night.part").write_text('{"items": [1, 5]}')
    (shop.filters / "night.part").rename(shop.filters / "night.json")
    asked = {"users": [7], "candidates": "night", "exclude_seen": False}
    for _ in range(4):
        assert {one["item"] for one in shop.lists(**asked)[0]["items"]} == {1, 5}
    for damaged in ('{"items": [1, 5', "", "[1]", '{"items": [null]}'):
        (shop.filters / "night.json").write_text(damaged)
        for _ in range(4):
            error = shop.refused("POST", ASK, asked)
            assert error["found"] == "night"
            assert "/v1/filters/night" in error["advice"]
    (shop.filters / "night.json").unlink()
    os.mkfifo(shop.filters / "night.json")
    assert "pipe" in shop.refused("POST", ASK, asked)["message"]
    (shop.filters / "night.json").unlink()
    shop.put("night", [1])
    assert [one["item"] for one in shop.lists(**asked)[0]["items"]] == [1]


def test_a_filter_that_cannot_be_is_refused_and_changes_nothing(shop) -> None:
    shop.put("kept", [1, 2])
    for body, argument in (
        ({"items": ["x", "y"]}, "items"),
        ({"items": [1, None]}, "items[1]"),
        ({"items": [1], "model": "shop"}, "model"),
        ({"items": {"1": []}}, None),
        (b'{"items": [1', "body"),
        (b"", "body"),
    ):
        error = shop.refused("PUT", "/v1/filters/kept", body)
        assert argument is None or error["argument"] == argument
    assert shop.refused("PUT", "/v1/filters/kept?n=1", {"items": [1]})["argument"] == "n"
    assert shop.client.get("/v1/filters/kept")["items"] == [1, 2]
    for name in (".hidden", "..%2Fout", "a%20b", "x" * 65):
        shop.client.ask("PUT", f"/v1/filters/{name}", {"items": [1]})
    assert not [one for one in shop.filters.parent.rglob("*") if one.stem in (".hidden", "out", "a b", "x" * 65)]
    shop.put("empty", [])
    expected = rows_of(shop.models["shop"].recommend([7]), 0)
    assert rows(shop.lists(users=[7], exclude="empty")[0]) == expected
    assert shop.refused("POST", ASK, {"users": [7], "candidates": "empty"})["argument"] == "candidates"
    assert not list(shop.filters.glob("*.part"))


@pytest.mark.parametrize(
    ("body", "argument"),
    [
        ({"rules": {"diversity": -1}}, "rules.diversity"),
        ({"rules": {"luck": 1}}, "rules.luck"),
        ({"rules": {"groups": {"1": "a"}}}, "rules.groups"),
        ({"rules": {"at_most": 1}}, "rules.groups"),
        ({"rules": {"groups": {"1": "a"}, "at_least": 2}}, "rules.at_least"),
        ({"rules": {"boost": {"1": 1, "1.0": 2}}}, "rules.boost"),
        ({"rules": {"boost": {"1": "much"}}}, None),
        ({"rules": {"boost": {str(item): 1 for item in range(1001)}}}, "rules.boost"),
        ({"candidates": list(range(1001))}, "candidates"),
        ({"exclude": {"7": list(range(600)), "8": list(range(600))}}, "exclude"),
        ({"exclude": [True]}, "exclude[0]"),
    ],
    ids=str,
)
def test_rules_that_cannot_be_are_refused(shop, body, argument) -> None:
    error = shop.refused("POST", ASK, {"users": [7], **body})
    assert argument is None or error["argument"] == argument


def test_a_filter_of_very_many_items(shop) -> None:
    """Those that are unknown are counted; a body beyond the limit changes nothing."""
    many = list(range(10, 200_010))
    found = shop.put("many", many)
    assert found["total"] == 200_000
    assert found["unknown"][0]["total"] == 200_000 - 20
    assert found["unknown"][0]["first"] == [30, 31, 32, 33, 34]
    for _ in range(4):
        (one,) = shop.lists(users=[7], candidates="many", n=30)
        assert rows(one) == rows_of(shop.models["shop"].recommend([7], 30, candidates=range(10, 30)), 0)
    body = b'{"items": [' + b"1," * (1 << 25) + b"1]}"
    assert shop.client.ask("PUT", "/v1/filters/many", body).status == 413
    assert shop.client.get("/v1/filters/many?n=1")["total"] == 200_000
    assert shop.refused("GET", "/v1/filters/many?n=100001")["argument"] == "n"


def test_numbers_of_an_address_may_begin_with_a_point(shop) -> None:
    asked = "/v1/users/7/recommendations?rank_by=rating&quantile="
    assert rows(shop.client.get(f"{asked}.9")) == rows(shop.client.get(f"{asked}0.9"))
    for bad in ("2", "-.5", "1"):
        assert shop.refused("GET", f"{asked}{bad}")["argument"] == "quantile"


def test_filters_need_a_folder_and_a_key(shop, tmp_path) -> None:
    (tmp_path / "keys").write_text("a key of many characters\n".replace(" ", "-"))
    (tmp_path / "keys").chmod(0o600)
    (tmp_path / "filters").mkdir()
    model = str(shop.filters.parent / "shop.cofactor")
    with Command(
        ["serve", model, "--port", "0", "--api-key-file", "keys", "--filters", "filters"], tmp_path, {}
    ) as child:
        client = Client(child)
        for method in ("PUT", "GET", "DELETE"):
            assert client.ask(method, "/v1/filters/stock", {"items": [1]}).status == 401
        assert not list((tmp_path / "filters").iterdir())
        client.headers["X-API-Key"] = "a-key-of-many-characters"
        assert client.ask("PUT", "/v1/filters/stock", {"items": [1]}).status == 200
        assert json.loads((tmp_path / "filters" / "stock.json").read_text()) == {"items": [1]}
        shutil.rmtree(tmp_path / "filters")
        for method, path in (("GET", "/v1/filters"), ("GET", "/v1/filters/stock"), ("DELETE", "/v1/filters/stock")):
            answer = client.ask(method, path)
            assert answer.status == 422
            assert "folder" in answer.json["error"]["message"]
    with Command(["serve", model, "--port", "0"], tmp_path, {}) as child:
        client = Client(child)
        for method, path, body in (
            ("PUT", "/v1/filters/stock", {"items": [1]}),
            ("GET", "/v1/filters", None),
            ("POST", ASK, {"users": [7], "candidates": "stock"}),
        ):
            assert "--filters FOLDER" in client.ask(method, path, body).json["error"]["advice"]
    with Command(["serve", model, "--port", "0", "--filters", "nowhere"], tmp_path, {}) as child:
        child.process.join()
        assert child.returncode == 2


def test_commands_of_the_how_to(shop) -> None:
    """From top to bottom."""
    page = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"
    commands = asked_by("\n".join(re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)))
    assert len(commands) > 10
    answers = [shop.client.ask(one.method, one.path, one.body) for one in commands]
    assert [one.json for one in answers if one.status != 200] == []


def test_no_mistakes_were_made(shop) -> None:
    assert not [event for event in shop.client.events if event["event"] == "error"]
