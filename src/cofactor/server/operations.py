"""What can be asked: one declaration makes the address, the checks, the answer and its description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cofactor.server import label_schemas, labelling, reason_schemas, schemas
from cofactor.server.explaining import example_reasons, explanations, given_user
from cofactor.server.question import Operation, Question
from cofactor.tasks.answers import NewUser
from cofactor.tasks.matching import NotInTrainingError
from cofactor.tasks.plain import Request
from cofactor.tasks.served import chosen

__all__ = ["OPERATIONS"]


def _for_one(question: Question) -> dict[str, Any]:
    try:
        (found,) = _for_each([question])
    except NotInTrainingError as error:
        if error.argument != "users[0]":
            raise
        advice = "fold new users in with POST /v1/recommendations"
        raise NotInTrainingError(error.problem, argument="id", found=error.found, advice=advice) from None
    return found


def _for_each(questions: Sequence[Question]) -> list[dict[str, Any]]:
    first, users = questions[0], [question.id for question in questions]
    match = first.answers.users.match
    found = _recommended(first, users, first.asked.candidates)
    return [{"user": match(user), "items": items} for user, items in zip(users, found, strict=True)]


def _for_some(question: Question) -> dict[str, Any]:
    asked, limits = question.asked, question.limits
    limits.check(len(asked.users), "batch", "users")
    users = [given_user(user, limits, f"users[{k}]") for k, user in enumerate(asked.users)]
    found = _recommended(question, users, asked.candidates)
    match = question.answers.users.match
    ids = [None if isinstance(user, NewUser) else match(user) for user in users]
    return {"lists": [{"user": one, "items": items} for one, items in zip(ids, found, strict=True)]}


def _recommended(question: Question, users: list[Any], candidates: list[Any] | None) -> Any:
    asked, limits = question.asked, question.limits
    limits.check(asked.n, "n", "n")
    limits.check(asked.n * len(users), "rows", "n × users", "ask for fewer items, or for fewer users in a request")
    limits.check(len(candidates or ()), "batch", "candidates")
    wish = Request(
        n=asked.n,
        include_seen=not asked.exclude_seen,
        rank_by=asked.rank_by,
        at_least=asked.at_least,
        quantile=asked.quantile,
    )
    return question.answers.recommend(users, wish, candidates)


def _predicted(question: Question) -> dict[str, Any]:
    pairs, answers = question.asked.pairs, question.answers
    question.limits.check(len(pairs), "batch", "pairs")
    users = [given_user(pair.user, question.limits, f"pairs[{k}].user") for k, pair in enumerate(pairs)]
    columns = answers.predict([(user, pair.item) for user, pair in zip(users, pairs, strict=True)])
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {"levels": answers.model.scale_.tolist(), "predictions": rows}


def _similar(question: Question) -> dict[str, Any]:
    asked, answers = question.asked, question.answers
    question.limits.check(asked.n, "n", "n")
    try:
        similar = answers.similar(question.id, asked.n, asked.min_ratings)
    except NotInTrainingError as error:
        advice = "find items with GET /v1/items"
        raise NotInTrainingError(error.problem, argument="id", found=error.found, advice=advice) from None
    return {"item": answers.items.match(question.id), "similar": similar}


def _items(question: Question) -> dict[str, Any]:
    asked, limits = question.asked, question.limits
    limits.check(asked.n, "n", "n")
    limits.check(len(asked.ids or ()), "batch", "ids")
    if asked.ids is not None:
        return {"items": question.answers.items_of(asked.ids)}
    return {"items": question.answers.catalogue.found(asked.search, asked.n)}


def _model(question: Question) -> dict[str, Any]:
    return chosen(question.models, question.asked.model).facts()


def _models(question: Question) -> dict[str, Any]:
    return {"models": list(question.models)}


def _example_lists(known: Mapping[str, Any]) -> Any:
    rating = {} if known["rating"] is None else {"rating": known["rating"]}
    return {"users": [known["user"], {"ratings": [{"item": known["item"], **rating}]}], "n": 3}


def _example_pairs(known: Mapping[str, Any]) -> Any:
    return {"pairs": [{"user": known["user"], "item": known["item"]}]}


OPERATIONS = (
    Operation(
        "GET",
        "/v1/users/{id:path}/recommendations",
        "Recommend items to a user who was in training",
        schemas.FromOne,
        schemas.List,
        _for_one,
        kind="ratings",
        together=_for_each,
    ),
    Operation(
        "POST",
        "/v1/recommendations",
        "Recommend items to several users, known or new ones with their ratings",
        schemas.FromSome,
        schemas.Lists,
        _for_some,
        _example_lists,
        "ratings",
    ),
    Operation(
        "POST",
        "/v1/predictions",
        "Predict the ratings of pairs of user and item, of known users or of new ones with their ratings",
        schemas.Some,
        schemas.Predictions,
        _predicted,
        _example_pairs,
        "ratings",
    ),
    Operation(
        "GET",
        "/v1/items/{id:path}/similar",
        "List the items that users like as they like this one",
        schemas.SimilarQuery,
        schemas.SimilarItems,
        _similar,
        kind="ratings",
    ),
    Operation(
        "GET",
        "/v1/items",
        "Find items by words of their titles",
        schemas.ItemsQuery,
        schemas.Items,
        _items,
        kind="ratings",
    ),
    Operation(
        "POST",
        "/v1/tags",
        "Tell the labels of rows: vectors, values by name, rows of a table, or texts",
        label_schemas.Tagging,
        label_schemas.Tags,
        labelling.tags,
        labelling.example_tags,
        "labels",
    ),
    Operation(
        "POST",
        "/v1/explanations",
        "Tell what speaks for and against items of a user, or labels of a row",
        reason_schemas.Asked,
        reason_schemas.Explanations,
        explanations,
        example_reasons,
    ),
    Operation(
        "GET",
        "/v1/labels",
        "List the names of labels",
        label_schemas.Names,
        label_schemas.Labels,
        labelling.labels,
        kind="labels",
    ),
    Operation(
        "GET",
        "/v1/features",
        "List what rows may name: features, or columns",
        label_schemas.FeatureNames,
        label_schemas.Features,
        labelling.features,
        kind="labels",
    ),
    Operation("GET", "/v1/model", "Describe a model", schemas.ModelQuery, schemas.Model, _model),
    Operation("GET", "/v1/models", "List the models", schemas.ModelQuery, schemas.Models, _models),
)
