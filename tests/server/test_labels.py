"""Models of labels over HTTP: tags and reasons are those of the library, for rows of every form."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.children import Command
from tests.server.conftest import Client, Models, blocks, documented
from tests.server.said import reasons, told

import cofactor
from cofactor.datasets import LabelDataset, make_labels, read_label_table
from cofactor.labels import PLST, LabelPowerset, LabelRidge
from cofactor.server.operations import OPERATIONS
from cofactor.service import service_of
from cofactor.service.label_service import without_names

TAGS, WHY = "/v1/tags", "/v1/explanations"
CLICKED = {"ratings": [{"item": 3}]}
WORDS = ("cough", "fever", "chest", "kidney", "reflux", "pain")


@dataclass(frozen=True)
class Tagging:
    """Fitted models of labels, and a server of them.

    `reports` learned from sparse features with names, `numbers` from arrays, `sets` decides about label sets as a
    whole, `table` learned from a table with words and text, and `scaled` and `texts` are pipelines.
    """

    client: Client
    reports: LabelRidge
    numbers: LabelRidge
    sets: LabelPowerset
    table: LabelRidge
    scaled: Any
    texts: Any
    sky: pd.DataFrame


def reports_of(rng: np.random.Generator) -> LabelDataset:
    """Return a sparse table of words, three of which say most of the labels."""
    X = rng.random((400, 150)) < 0.05
    noise = rng.random((400, 3)) < 0.03
    Y = (X[:, :3] | X[:, 3:6]) ^ noise
    names = (*WORDS, *(f"word {k}" for k in range(len(WORDS), 150)))
    return LabelDataset("reports", csr_array(X * 1.0), csr_array(Y * 1), names, ("influenza", "asthma", "nephritis"))


def sky_of(rng: np.random.Generator) -> pd.DataFrame:
    """Return a table of numbers, words, truth values and texts, of which the first two lack some cells."""
    n = 160
    wind, sky = rng.random(n) * 9, rng.choice(["blue", "grey", "red"], n)
    warm = rng.choice(["no", "yes"], n)
    other = rng.choice([f"day{k}" for k in range(30)], (n, 3))
    said = np.where(wind > 5, "storm and rain", "calm sea") + np.where(sky == "red", " at night ", " ")
    body = [f"{some}{' '.join(words)}" for some, words in zip(said, other, strict=True)]
    on = np.column_stack([wind > 5, sky == "red"]).astype(int)
    frame = pd.DataFrame(
        {"wind": wind, "sky": sky, "warm": warm, "body": body, "is_sail": on[:, 0], "is_red": on[:, 1]}
    )
    return frame.assign(wind=frame.wind.where(rng.random(n) > 0.1), sky=frame.sky.where(rng.random(n) > 0.1))


@pytest.fixture(scope="module")
def tagging(models: Models) -> Iterator[Tagging]:
    rng = np.random.default_rng(0)
    data, _ = make_labels(150, 6, 4, n_groups=2, n_factors=2, random_state=0)
    X, Y, sky = np.asarray(data.X), data.Y.toarray(), sky_of(rng)
    bodies = sky.body.tolist()
    fitted = {
        "reports": LabelRidge(random_state=0).fit(reports_of(rng)),
        "numbers": LabelRidge(random_state=0).fit(X, Y),
        "sets": LabelPowerset(random_state=0).fit(X, Y),
        "table": LabelRidge(random_state=0).fit(read_label_table(sky, "is_", text="body")),
        "scaled": make_pipeline(StandardScaler(), PLST(2, random_state=0)).fit(X, Y),
        "texts": make_pipeline(TfidfVectorizer(), PLST(1, alpha=0.1)).fit(
            bodies, sky[["is_sail", "is_red"]].to_numpy()
        ),
    }
    for name, model in fitted.items():
        cofactor.save(model, models.folder / f"{name}.cofactor")
    first, *others = (models.folder / f"{name}.cofactor" for name in fitted)
    named = [
        f"{path.stem}={path}"
        for path in (*others, models.folder / "stars.cofactor", models.folder / "interactions.cofactor")
    ]
    with Command(["serve", str(first), *named, "--port", "0", "--max-batch", "50"], models.folder, {}) as child:
        yield Tagging(Client(child), **fitted, sky=sky)


def tables(answer: Any, names: list[Any]) -> dict[str, Any]:
    """Return labels that are on, scores and probabilities of all labels as tables, of an answer with all in `top`."""
    place = {name: j for j, name in enumerate(names)}
    shape = (len(answer), len(names))
    found = {"on": np.zeros(shape, dtype=bool), "score": np.full(shape, np.nan), "probability": np.full(shape, np.nan)}
    for k, row in enumerate(answer):
        found["on"][k, [place[name] for name in row["labels"]]] = True
        for one in row["top"]:
            for key in one.keys() & found.keys():
                found[key][k, place[one["label"]]] = one[key]
    return found


def assert_said(answer: Any, model: Any, X: Any) -> None:
    """Check an answer with all labels in `top` against the methods of a model."""
    names = [name.item() if isinstance(name, np.generic) else name for name in model.label_names_]
    found = tables(answer["tags"], names)
    plain = without_names(model)
    assert np.array_equal(found["on"], np.asarray(_dense(plain.predict(X))) > 0)
    scores = plain.decision_function(X)
    assert np.array_equal(found["score"].astype(scores.dtype), scores)
    if hasattr(model, "predict_proba"):
        chances = plain.predict_proba(X)
        assert np.array_equal(found["probability"].astype(chances.dtype), chances)
    else:
        assert np.isnan(found["probability"]).all()


def _dense(Y: Any) -> Any:
    return Y.toarray() if hasattr(Y, "toarray") else Y


def test_features_by_name(tagging: Tagging) -> None:
    rng, model = np.random.default_rng(1), tagging.reports
    for n in (1, 2, 50):
        X = csr_array((rng.random((n, 150)) < 0.06) * rng.choice([1.0, 0.5, 1 / 3], (n, 150)))
        rows = [{str(model.feature_names_in_[j]): value for j, value in entries(X, k)} for k in range(n)]
        assert_said(tagging.client.post(TAGS, {"rows": rows, "top": 3}), model, X)
    assert tagging.client.post(TAGS, {"rows": [{}]}) == tagging.client.post(TAGS, {"rows": [{"cough": 0}]})


def entries(X: csr_array, row: int) -> list[tuple[int, float]]:
    """Return columns and values of a row in an order that is not theirs."""
    here = slice(X.indptr[row], X.indptr[row + 1])
    return list(zip(X.indices[here].tolist(), X.data[here].tolist(), strict=True))[::-1]


def test_vectors(tagging: Tagging) -> None:
    X = np.random.default_rng(2).normal(size=(20, 6))
    for name in ("numbers", "sets"):
        asked = {"rows": X.tolist(), "top": 9, "model": name}
        assert_said(tagging.client.post(TAGS, asked), getattr(tagging, name), X)
    by_position = [{str(j): value for j, value in enumerate(row)} for row in X.tolist()]
    assert_said(
        tagging.client.post(TAGS, {"rows": by_position, "top": 4, "model": "numbers"}), tagging.numbers, csr_array(X)
    )
    answer = tagging.client.post(TAGS, {"rows": X.tolist(), "top": 4, "model": "scaled"})
    assert_said(answer, tagging.scaled[-1], tagging.scaled[:-1].transform(X))


def test_rows_of_a_table(tagging: Tagging) -> None:
    """Cells without a value may be null, or not there; columns that are no features do not matter."""
    frame = tagging.sky.head(50)
    columns = json.loads(frame.to_json(orient="records", double_precision=15))
    rows = [{name: value for name, value in row.items() if value is not None or k % 2} for k, row in enumerate(columns)]
    answer = tagging.client.post(TAGS, {"rows": rows, "top": 2, "model": "table"})
    wind = [np.nan if row["wind"] is None else row["wind"] for row in columns]
    X = read_label_table(frame.assign(wind=wind), [], schema=tagging.table.schema_).X
    assert_said(answer, tagging.table, X)
    (told,) = tagging.client.post(TAGS, {"rows": [{"sky": "green", "warm": True}], "model": "table"})["tags"]
    assert told["unknown"] == ["sky"]
    given, same = ({"rows": [{"warm": warm}], "model": "table", "top": 2} for warm in (True, "yes"))
    assert tagging.client.post(TAGS, given) == tagging.client.post(TAGS, same)


def test_texts(tagging: Tagging) -> None:
    texts = ["a storm at night", "calm", "nothing known", ""]
    answer = tagging.client.post(TAGS, {"rows": texts, "top": 2, "model": "texts"})
    assert_said(answer, tagging.texts[-1], tagging.texts[:-1].transform(texts))
    answer = tagging.client.post(TAGS, {"rows": texts, "top": 2, "model": "table"})
    frame = pd.DataFrame({"wind": np.nan, "sky": None, "warm": None, "body": texts}).astype({"sky": str, "warm": str})
    frame = frame.assign(sky="", warm="")
    assert_said(answer, tagging.table, read_label_table(frame, [], schema=tagging.table.schema_).X)


def test_other_decisions(tagging: Tagging) -> None:
    X = np.random.default_rng(3).normal(size=(30, 6))
    asked = {"rows": X.tolist(), "model": "numbers"}

    def on(**how: Any) -> Any:
        answer = tagging.client.post(TAGS, {**asked, **how})["tags"]
        return np.array([[j in row["labels"] for j in range(4)] for row in answer])

    assert np.array_equal(on(threshold=0.3), tagging.numbers.predict_proba(X) > 0.3)
    assert np.array_equal(on(coverage=0.95), tagging.numbers.predict_set(X, coverage=0.95) > 0)
    asked_for = copy.copy(tagging.numbers)
    for decision in ({"precision": 0.8, "at_most": 2}, {"costs": [1, 4]}, {"cuts": {"0": 0.9}, "at_least": 1}):
        assert np.array_equal(on(decision=decision), asked_for.set_decision(**decision).predict(X) > 0)
        asked_for = copy.copy(tagging.numbers)
    (row,) = tagging.client.post(TAGS, {"rows": X[:1].tolist(), "model": "numbers", "top": 2})["tags"]
    chances = tagging.numbers.predict_proba(X[:1])[0]
    assert [one["label"] for one in row["top"]] == np.argsort(-chances, kind="stable")[:2].tolist()


def test_reasons_for_labels(tagging: Tagging) -> None:
    model, row = tagging.reports, {"fever": 1, "chest": 0.5, "word 9": 2}
    names = list(map(str, model.feature_names_in_))
    X = csr_array(np.array([[row.get(name, 0.0) for name in names]]))
    answer = tagging.client.post(WHY, {"row": row, "labels": ["asthma", "nephritis"], "n": 2})
    expected = without_names(model).explain(X, ["asthma", "nephritis"], n_terms=2)
    assert told(answer, "label") == reasons(expected, "label", names)
    values = {one["feature"]: one["value"] for one in answer["explanations"][0]["reasons"]}
    assert values.items() <= row.items()
    predicted = tagging.client.post(WHY, {"row": row})
    assert told(predicted, "label") == reasons(without_names(model).explain(X, n_terms=10), "label", names)


def test_reasons_of_other_models(tagging: Tagging) -> None:
    x = [0.5, -1.0, 2.0, 0.0, 0.3, 1.0]
    answer = tagging.client.post(WHY, {"row": x, "labels": [0], "n": 3, "model": "numbers"})
    assert told(answer, "label") == reasons(tagging.numbers.explain([x], [0], n_terms=3), "label")
    text = "storm at night"
    answer = tagging.client.post(WHY, {"row": text, "labels": ["0"], "model": "texts"})
    words = tagging.texts[0].get_feature_names_out()
    expected = tagging.texts[-1].explain(tagging.texts[:-1].transform([text]), [0])
    assert told(answer, "label") == reasons(expected, "label", words)
    refused = tagging.client.ask("POST", WHY, {"row": x, "labels": [0], "model": "sets"})
    error = refused.json["error"]
    assert refused.status == 422
    assert "LabelPowerset are no sum over features or instances, and cannot be explained" in error["message"]
    assert "LabelRidge" in error["advice"]


def test_reasons_for_items(tagging: Tagging, models: Models) -> None:
    answer = tagging.client.post(WHY, {"user": 7, "items": [3, "11", 3], "n": 4, "model": "stars"})
    expected = reasons(models.stars.explain(7, [3, 11]).explanation(4), "item")
    assert told(answer, "item") == [*expected, expected[0]]
    rated = {"ratings": [{"item": 50, "rating": 5}, {"item": 181, "rating": 1}]}
    (one,) = tagging.client.post(WHY, {"user": rated, "items": [3], "model": "stars"})["explanations"]
    new = models.stars.fold_in([("a", 50), ("a", 181)], [5.0, 1.0])
    assert told({"explanations": [one]}, "item") == reasons(new.explain("a", [3]).explanation(10), "item")
    assert {reason["item"]: reason["rating"] for reason in one["reasons"]} == {50: 5, 181: 1}
    chosen = {"user": {"ratings": [{"item": 3}, {"item": 5}]}, "items": [8], "model": "interactions"}
    (one,) = tagging.client.post(WHY, chosen)["explanations"]
    assert [sorted(reason) for reason in one["reasons"]] == [["contribution", "item", "times"]] * 2


@pytest.mark.parametrize(
    ("path", "body", "status", "argument", "found"),
    [
        (TAGS, {"rows": []}, 422, "rows", []),
        (TAGS, {"rows": [3]}, 422, "rows[0]", 3),
        (TAGS, {"rows": [{}] * 51}, 422, "rows", 51),
        (TAGS, {"rows": [{"fevr": 1}]}, 422, "rows[0].fevr", 1),
        (TAGS, {"rows": [{}, {"fever": "high"}]}, 422, "rows[1].fever", "high"),
        (TAGS, {"rows": [{"fever": None}]}, 422, "rows[0].fever", None),
        (TAGS, {"rows": [{"fever": 1e300}]}, 422, "rows[0].fever", 1e300),
        (TAGS, {"rows": [{"fever": 10**400}]}, 422, "rows[0].fever", 10**400),
        (TAGS, {"rows": [[1, 2]]}, 422, "rows[0]", 2),
        (TAGS, {"rows": [[0] * 149 + [-1e16]]}, 422, "rows[0][149]", -1e16),
        (TAGS, {"rows": ["a cough"]}, 422, "rows[0]", None),
        (TAGS, {"rows": [{}, [0] * 150]}, 422, "rows[1]", None),
        (TAGS, {"rows": [{}], "top": 0}, 422, "top", 0),
        (TAGS, {"rows": [{}], "top": 1001}, 422, "top", 1001),
        (TAGS, {"rows": [{}], "coverage": 2}, 422, "coverage", 2),
        (TAGS, {"rows": [{}], "coverage": 0.9, "threshold": 0.1}, 422, "threshold", None),
        (TAGS, {"rows": [{}], "coverage": 0.9, "decision": {"precision": 0.9}}, 422, "coverage", None),
        (TAGS, {"rows": [{}], "decision": {"precision": 2}}, 422, "precision", 2),
        (TAGS, {"rows": [{}], "decision": {"presicion": 0.9}}, 422, "decision.presicion", 0.9),
        (TAGS, {"rows": [{"6": 1}], "model": "numbers"}, 422, "rows[0].6", 1),
        (TAGS, {"rows": [{"sky=red": 1}], "model": "table"}, 422, "rows[0].sky=red", 1),
        (TAGS, {"rows": [{"warm": "perhaps"}], "model": "table"}, 422, "rows[0].warm", "perhaps"),
        (TAGS, {"rows": [{"warm": 2}], "model": "table"}, 422, "rows[0].warm", 2),
        (TAGS, {"rows": [{"storm": 1}], "model": "texts"}, 422, "rows[0]", None),
        (TAGS, {"rows": [{}], "model": "stars"}, 422, "model", "stars"),
        (WHY, {"row": {"fevr": 1}}, 422, "row.fevr", 1),
        (WHY, {"row": {}, "labels": ["astma"]}, 422, "labels[0]", "astma"),
        (WHY, {"row": {}, "n": 0}, 422, "n", 0),
        (WHY, {"labels": ["asthma"]}, 422, "row", None),
        (WHY, {"row": {}, "user": 7}, 422, "user", None),
        (WHY, {"user": 7, "model": "stars"}, 422, "items", None),
        (WHY, {"user": 7, "items": [3], "row": {}, "model": "stars"}, 422, "row", None),
        (WHY, {"user": "none", "items": [3], "model": "stars"}, 404, "user", "none"),
        (WHY, {"user": 7, "items": [3, "none"], "model": "stars"}, 404, "items[1]", "none"),
        (WHY, {"user": CLICKED, "items": [5], "model": "stars"}, 422, "user.ratings[0].rating", None),
        ("/v1/recommendations", {"users": [7]}, 422, "model", "default"),
        ("/v1/predictions", {"pairs": [{"user": 7, "item": 3}], "model": "texts"}, 422, "model", "texts"),
        ("/v1/users/7/recommendations", None, 422, "model", "default"),
        ("/v1/labels?first=-1", None, 422, "first", "-1"),
        ("/v1/features?n=1001", None, 422, "n", 1001),
        ("/v1/labels?model=stars", None, 422, "model", "stars"),
    ],
)
def test_a_refusal_says_what_is_wrong(tagging: Tagging, path, body, status, argument, found) -> None:
    answer = tagging.client.ask("GET" if body is None else "POST", path, body)
    error = answer.json["error"]
    assert (answer.status, error["argument"], error["found"]) == (status, argument, found)
    assert error["message"]


def test_hints(tagging: Tagging) -> None:
    def message(path: str, body: Any) -> str:
        return str(tagging.client.ask("POST", path, body).json["error"]["message"])

    assert "did you mean fever" in message(TAGS, {"rows": [{"fevr": 1}]})
    assert "did you mean asthma" in message(WHY, {"row": {}, "labels": ["astma"]})
    assert message("/v1/recommendations", {"users": [7]}) == (
        "model: default is a model of labels, and POST /v1/recommendations asks models of ratings; "
        "name one of them: stars, interactions"
    )
    assert message(TAGS, {"rows": [[]], "model": "texts"}) == (
        "rows[0]: is of the form numbers, and this model takes a text"
    )


def test_what_is_said_of_models(tagging: Tagging) -> None:
    said = tagging.client.get("/v1/model")
    sizes = {"kind": "labels", "model": "LabelRidge", "features": 150, "labels": 3, "rows": ["numbers", "names"]}
    assert said.items() >= sizes.items()
    assert said["label_names"] == ["influenza", "asthma", "nephritis"]
    assert "row_names" not in said  # too many
    assert said["settings"]["alpha"] == "auto"
    assert tagging.client.get("/v1/labels?first=1&n=1") == {"total": 3, "labels": ["asthma"]}
    page = tagging.client.get("/v1/features?first=4&n=2")
    assert page == {"total": 150, "features": [{"name": name, "kind": "number"} for name in WORDS[4:]]}
    table = tagging.client.get("/v1/features?model=table")
    assert [(one["name"], one["kind"]) for one in table["features"]] == [
        ("wind", "number"),
        ("sky", "words"),
        ("warm", "words"),
        ("body", "text"),
    ]
    assert table["features"][1]["words"] == ["blue", "grey", "red"]
    assert tagging.client.get("/v1/model?model=table")["rows"] == ["numbers", "table", "text"]
    said = tagging.client.get("/v1/model?model=texts")
    assert (said["steps"], said["rows"]) == (["TfidfVectorizer", "PLST"], ["text"])
    assert tagging.client.get("/v1/model?model=stars")["kind"] == "ratings"


@pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if one.kind != "ratings" and "filters" not in one.route],
    ids=lambda one: one.public_path,
)
def test_answers_are_as_the_document_says(tagging: Tagging, operation) -> None:
    """The examples of the document work as they stand, and answers hold all that they must."""
    described = tagging.client.get("/openapi.json")["paths"][operation.public_path][operation.method.lower()]
    if operation.method == "POST":
        example = described["requestBody"]["content"]["application/json"]["example"]
        answer = tagging.client.post(operation.public_path, example)
    else:
        answer = tagging.client.get(operation.public_path)
    assert msgspec.convert(answer, operation.answer)


@pytest.mark.parametrize("asked", [*documented("Labels"), *documented("Reasons")], ids=lambda one: one.path)
def test_requests_of_the_document(tagging: Tagging, asked) -> None:
    of_ratings = {"model": "stars"} if asked.body and "user" in asked.body else {}
    answer = tagging.client.ask(asked.method, asked.path, asked.body and asked.body | of_ratings)
    assert answer.status == 200, answer.body


def test_python_of_the_document(tagging: Tagging, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    asking, saving = blocks("Labels", "python")
    exec(asking.replace(":8000", f":{tagging.client.port}"), {})
    assert "['influenza', 'asthma']" in capsys.readouterr().out
    exec(saving, {})
    assert service_of(cofactor.load("tagger.cofactor")).tag(["cats"]) == [{"labels": ["cat"]}]


def test_no_mistakes_were_made(tagging: Tagging) -> None:
    assert not [event for event in tagging.client.events if event["event"] in ("error", "text")]
