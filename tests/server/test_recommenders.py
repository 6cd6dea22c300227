"""Recommenders, and models that know times, over HTTP: answers are those of the library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.children import Command
from tests.server.conftest import Client
from tests.server.said import reasons, rows, rows_of, told

from cofactor.datasets import make_ratings
from cofactor.ratings import OrdinalProbit, Recommender
from cofactor.ratings.ranking import EASE

pytestmark = pytest.mark.processes

OWN = [(3, 5.0), (11, 1.0), (4, 4.0)]
NEW = {"ratings": [{"item": item, "rating": rating} for item, rating in OWN]}
MODELS = ("recommender", "drifting", "both")


@dataclass(frozen=True)
class Fitted:
    """A server of models: a recommender, one of drift, both in one, and one that knows a user without ratings."""

    client: Client
    models: dict[str, Any]
    latest: float

    def new(self, name: str) -> Any:
        """Return a model of one new user, "a", whose ratings were given at the latest time where it knows times."""
        X, y = [("a", item) for item, _ in OWN], [rating for _, rating in OWN]
        return self.models[name].fold_in(X, y, **self.at_latest(name, len(X)))

    def at_latest(self, name: str, n: int) -> dict[str, Any]:
        return {} if name == "recommender" else {"time": np.full(n, self.latest)}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fitted]:
    folder = tmp_path_factory.mktemp("recommenders")
    data = make_ratings(40, 30, 2, density=0.4, random_state=0)
    times = 1e9 + np.random.default_rng(0).integers(0, 10**7, data.n_ratings).astype(float)
    plain = OrdinalProbit(2, n_sweeps=12, burn_in=4, random_state=0)
    drifting = OrdinalProbit(2, n_sweeps=12, burn_in=4, random_state=0, time=True)
    models = {
        "recommender": Recommender(EASE(), plain, random_state=0).fit(data.X, data.y),
        "drifting": drifting.fit(data.X, data.y, time=times),
        "both": Recommender(EASE(), drifting, random_state=0).fit(data.X, data.y, time=times),
    }
    models["silent"] = models["drifting"].fold_in([(100, 999), (101, 3)], [1, 2], time=[1e9, 1e9])
    files = {name: folder / f"{name}.cofactor" for name in models}
    for name, file in files.items():
        models[name].save(file)
    arguments = [f"{name}={file}" for name, file in files.items()]
    with Command(["serve", *arguments, "--port", "0"], folder, {}) as child:
        yield Fitted(Client(child), models, times.max())


def numbers(answer: Any, key: str) -> list[Any]:
    return np.array([one[key] for one in answer]).astype(np.float32).tolist()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"n": 4, "exclude_seen": False},
        {"at_least": 3},
        {"candidates": [3, 5, 11, 12, 20]},
        {"rank_by": "interaction"},
        {"rank_by": "gain"},
        {"rank_by": "rating", "quantile": 0.8},
    ],
    ids=str,
)
def test_lists(fitted: Fitted, name: str, how: dict[str, Any]) -> None:
    """Of known users, in one batch, and of a new one."""
    model, how = fitted.models[name], {"n": 8, **how}
    asked = {"users": [7, NEW, "9"], "model": name, **how}
    if name == "drifting" and how.get("rank_by") in ("interaction", "gain"):
        error = fitted.client.ask("POST", "/v1/recommendations", asked).json["error"]
        assert (error["status"], error["argument"]) == (422, "rank_by")
        return
    first, new, second = fitted.client.post("/v1/recommendations", asked)["lists"]
    assert [first["user"], new["user"], second["user"]] == [7, None, 9]
    if "quantile" in how and name != "drifting":
        model, folded = model.rating_model_, fitted.new(name).rating_model_
    else:
        folded = fitted.new(name)
    given = {key: value for key, value in how.items() if not (key == "rank_by" and value == "rating")}
    known, own = model.recommend([7, 9], **given), folded.recommend(["a"], **given)
    assert [rows(one) for one in (first, second, new)] == [*(rows_of(known, k) for k in (0, 1)), rows_of(own, 0)]
    for answer, found, row, ids, whose in ((first, known, 0, 7, model), (new, own, 0, "a", folded)):
        pairs = [(ids, one["item"]) for one in answer["items"]]
        expected = whose.predict(pairs, **fitted.at_latest(name, len(pairs)))
        assert [one["prediction"] for one in answer["items"]] == expected.tolist()
        for part in ("p_interact", "p_like"):
            there = getattr(found, part, None)
            assert (there is not None) == (part in answer["items"][0])
            if there is not None:
                assert numbers(answer["items"], part) == there[row][: len(pairs)].astype(np.float32).tolist()


@pytest.mark.parametrize("name", MODELS)
def test_predictions(fitted: Fitted, name: str) -> None:
    """Of known users and of new ones in one request, each kind in one batch."""
    model, folded, at = fitted.models[name], fitted.new(name), fitted.at_latest(name, 2)
    items = [5, 20]
    pairs = [{"user": user, "item": item} for item in items for user in (7, NEW)]
    answer = fitted.client.post("/v1/predictions", {"pairs": pairs, "model": name})
    assert answer["levels"] == model.scale_.tolist()
    for user, whose, found in ((7, model, answer["predictions"][::2]), ("a", folded, answer["predictions"][1::2])):
        asked = [(user, item) for item in items]
        assert [one["prediction"] for one in found] == whose.predict(asked, **at).tolist()
        assert numbers(found, "probabilities") == whose.predict_proba(asked, **at).astype(np.float32).tolist()
        ratings = getattr(whose, "rating_model_", whose)
        assert numbers(found, "score") == ratings.decision_function(asked, **at).astype(np.float32).tolist()


@pytest.mark.parametrize("name", MODELS)
def test_reasons(fitted: Fitted, name: str) -> None:
    for user, whose, mine in ((7, fitted.models[name], 7), (NEW, fitted.new(name), "a")):
        answer = fitted.client.post("/v1/explanations", {"user": user, "items": [5, 20], "n": 3, "model": name})
        assert told(answer, "item") == reasons(whose.explain(mine, [5, 20]).explanation(3), "item")


def test_a_user_without_ratings_gives_no_reasons(fitted: Fitted) -> None:
    answer = fitted.client.ask("POST", "/v1/explanations", {"user": 100, "items": [5], "model": "silent"})
    error = answer.json["error"]
    assert (answer.status, error["argument"]) == (422, "user")
    assert error["message"].startswith("user: user 100 has no ratings, of which one could raise or lower a score")
    assert fitted.client.post("/v1/explanations", {"user": 101, "items": [5], "model": "silent"})["explanations"]


def test_no_mistakes_were_made(fitted: Fitted) -> None:
    assert not [event for event in fitted.client.events if event["event"] == "error"]
