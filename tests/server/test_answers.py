"""Answers over HTTP are those of the library."""

from __future__ import annotations

import hashlib
import time
from http.client import HTTPConnection
from urllib.parse import quote

import msgspec
import numpy as np
import pytest
from tests.server.conftest import blocks, documented
from tests.server.said import rows, rows_of

from cofactor.server import schemas
from cofactor.server.operations import OPERATIONS

pytestmark = pytest.mark.processes


def test_lists_of_a_known_user(server, models) -> None:
    answer = server.get("/v1/users/7/recommendations?n=20")
    assert answer["user"] == 7
    assert rows(answer) == rows_of(models.stars.recommend([7], 20), 0)
    ids = [one["item"] for one in answer["items"]]
    assert [one["prediction"] for one in answer["items"]] == models.stars.predict([(7, one) for one in ids]).tolist()


def test_lists_obey_what_is_asked_for(server, models) -> None:
    seen = server.get("/v1/users/7/recommendations?exclude_seen=false&n=30")
    assert rows(seen) == rows_of(models.stars.recommend([7], 30, exclude_seen=False), 0)
    some = server.get("/v1/users/7/recommendations?candidates=3&candidates=11&candidates=5&exclude_seen=0")
    assert rows(some) == rows_of(models.stars.recommend([7], 10, candidates=[3, 11, 5], exclude_seen=False), 0)
    assert len(some["items"]) == 3
    likely = server.get(f"/v1/users/{quote('user 3')}/recommendations?model=named&at_least=4")
    assert rows(likely) == rows_of(models.named.recommend(["user 3"], 10, at_least=4), 0)
    high = server.get(f"/v1/users/{quote('user 3')}/recommendations?model=named&quantile=0.9")
    assert rows(high) == rows_of(models.named.recommend(["user 3"], 10, quantile=0.9), 0)


def test_a_batch_of_known_and_of_new_users(server, models) -> None:
    """Known ones are one batch and new ones another, each as the library answers it."""
    first, second = [(3, 5.0), (11, 1.0)], [(8, 2.0)]
    asked = [{"ratings": [{"item": i, "rating": r} for i, r in one]} for one in (first, second)]
    answer = server.post("/v1/recommendations", {"users": [9, asked[0], "7", asked[1]], "n": 15})
    known = models.stars.recommend([9, 7], 15)
    X = [("a", item) for item, _ in first] + [("b", item) for item, _ in second]
    new = models.stars.fold_in(X, [rating for _, rating in first + second]).recommend(["a", "b"], 15)
    assert [one["user"] for one in answer["lists"]] == [9, None, 7, None]
    expected = [rows_of(known, 0), rows_of(new, 0), rows_of(known, 1), rows_of(new, 1)]
    assert [rows(one) for one in answer["lists"]] == expected
    assert {3, 11}.isdisjoint(item for item, _ in expected[1])


def test_new_users_of_takes(server, models) -> None:
    asked = {"users": [{"ratings": [{"item": 3}, {"item": 5}]}], "model": "interactions"}
    (answer,) = server.post("/v1/recommendations", asked)["lists"]
    assert rows(answer) == rows_of(models.interactions.fold_in([("a", 3), ("a", 5)]).recommend(["a"], 10), 0)
    assert "prediction" not in answer["items"][0]


def test_predictions(server, models) -> None:
    model = models.named
    pairs = [("user 3", "film/4 é"), ("user 5", "film/0 é"), ("user 3", "film/7 é")]
    asked = {"pairs": [{"user": user, "item": item} for user, item in pairs], "model": "named"}
    answer = server.post("/v1/predictions", asked)
    found = answer["predictions"]
    assert answer["levels"] == model.scale_.tolist()
    assert [(one["user"], one["item"]) for one in found] == pairs
    assert [one["prediction"] for one in found] == model.predict(pairs).tolist()
    assert [model.scale_[one["level"] - 1] for one in found] == [one["prediction"] for one in found]
    scores, chances = model.decision_function(pairs), model.predict_proba(pairs)
    assert np.array_equal(np.array([one["score"] for one in found]).astype(scores.dtype), scores)
    assert np.array_equal(np.array([one["probabilities"] for one in found]).astype(chances.dtype), chances)


def test_predictions_for_new_users_beside_known_ones(server, models) -> None:
    """Users with the same ratings are folded in once, and all of them together."""
    first, second = [("film/4 é", 5.0), ("film/0 é", 1.0)], [("film/7 é", 2.0)]
    users = [{"ratings": [{"item": i, "rating": r} for i, r in one]} for one in (first, second, first)]
    items = ["film/1 é", "film/2 é", "film/7 é"]
    pairs = [{"user": user, "item": item} for user, item in zip(users, items, strict=True)]
    pairs.insert(1, {"user": "user 3", "item": "film/4 é"})
    found = server.post("/v1/predictions", {"pairs": pairs, "model": "named"})["predictions"]
    X = [("a", item) for item, _ in first] + [("b", item) for item, _ in second]
    new = models.named.fold_in(X, [rating for _, rating in first + second])
    asked = list(zip("aba", items, strict=True))
    known = models.named.predict_proba([("user 3", "film/4 é")])
    expected = np.insert(new.predict_proba(asked), 1, known, axis=0)
    assert [(one["user"], one["item"]) for one in found] == [
        (None, items[0]),
        ("user 3", "film/4 é"),
        *((None, i) for i in items[1:]),
    ]
    assert np.array_equal(np.array([one["probabilities"] for one in found]).astype(expected.dtype), expected)
    assert [one["prediction"] for one in found[2:]] == new.predict(asked[1:]).tolist()


def test_predictions_without_probabilities(server, models) -> None:
    (found,) = server.post("/v1/predictions", {"pairs": [{"user": 7, "item": "11"}]})["predictions"]
    assert (found["user"], found["item"]) == (7, 11)
    assert np.float32(found["score"]) == models.stars.decision_function([(7, 11)])[0]
    assert "probabilities" not in found


def test_similar_items(server, models) -> None:
    answer = server.get("/v1/items/11/similar?n=7")
    items, similarities = models.stars.similar_items([11], 7, min_ratings=5)
    assert answer["item"] == 11
    assert [one["item"] for one in answer["similar"]] == items[0].tolist()
    found = np.array([one["similarity"] for one in answer["similar"]]).astype(similarities.dtype)
    assert np.array_equal(found, similarities[0])


def test_items_without_titles_are_found_by_id(server, models) -> None:
    """Those with most ratings first."""
    ids, counts = models.stars.items_.ids.tolist(), models.stars.ratings_.item_counts
    best = sorted(range(len(ids)), key=lambda k: (-counts[k], k))
    expected = [{"item": ids[k], "ratings": counts[k]} for k in best]
    assert server.get("/v1/items?n=5")["items"] == expected[:5]
    found = server.get("/v1/items?search=16&n=200")["items"]
    assert found == [one for one in expected if str(one["item"]).startswith("16")]
    assert [one["item"] for one in server.get("/v1/items?ids=7&ids=none&ids=3")["items"]] == [7, 3]
    (film,) = server.get("/v1/items?model=named&search=29")["items"]
    assert film["item"] == "film/29 é"


def test_an_id_may_hold_what_addresses_do_not(server) -> None:
    item = "film/4 é"
    assert server.get(f"/v1/items/{quote(item, safe='')}/similar?model=named&min_ratings=0")["item"] == item


def test_what_is_said_of_models(server, models) -> None:
    assert server.get("/v1/models") == {"models": ["default", "named", "interactions"]}
    said = server.get("/v1/model")
    assert (said["model"], said["users"], said["items"]) == ("ALS", len(models.stars.users_), len(models.stars.items_))
    assert said["sha256"] == hashlib.sha256((models.folder / "stars.cofactor").read_bytes()).hexdigest()
    assert said["settings"]["n_factors"] == 8
    assert server.get("/v1/model?model=interactions")["model"] == "EASE"


def test_health(server) -> None:
    assert server.get("/health/live") == {"live": True}
    assert server.get("/health/ready") == {"ready": True}


@pytest.mark.parametrize("asked", documented("What can be asked"), ids=lambda one: one.path)
def test_requests_of_the_document(server, asked) -> None:
    assert server.ask(asked.method, asked.path, asked.body).status == 200


def test_python_of_the_document(server, capsys) -> None:
    (block,) = blocks("What can be asked", "python")
    exec(block.replace(":8000", f":{server.port}"), {})
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize("operation", [one for one in OPERATIONS if one.kind != "labels"], ids=lambda one: one.route)
def test_answers_are_as_the_document_says(server, operation) -> None:
    """The examples of the document work as they stand, and answers hold all that they must."""
    described = server.get("/openapi.json")["paths"][operation.public_path][operation.method.lower()]
    path = operation.public_path
    for one in described["parameters"]:
        path = path.replace(f"{{{one['name']}}}", str(one.get("example")))
    body = described["requestBody"]["content"]["application/json"]["example"] if operation.has_body else None
    answer = server.ask(operation.method, path, body)
    assert answer.status == 200, answer.body
    assert msgspec.convert(answer.json, operation.answer)


def test_the_document_knows_all_that_it_refers_to(server) -> None:
    document = server.get("/openapi.json")
    text = str(document)
    for name in text.split("#/components/schemas/")[1:]:
        assert name.partition("'")[0] in document["components"]["schemas"]
    assert schemas.Failures.__name__ in document["components"]["schemas"]


def test_answers_on_one_connection_do_not_wait_for_each_other(server) -> None:
    """Parts of an answer are sent at once: else each waits until a delayed acknowledgement, 40 ms later."""
    connection, seconds = HTTPConnection("127.0.0.1", server.port, timeout=240), []
    while len(seconds) < 40 or (min(seconds[30:]) >= 0.03 and len(seconds) < 1000):  # other work delays some of them
        began = time.perf_counter()
        connection.request("GET", "/v1/models")
        assert connection.getresponse().read()
        seconds.append(time.perf_counter() - began)
    connection.close()
    assert min(seconds[30:]) < 0.03
