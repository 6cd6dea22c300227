"""What can be asked: one declaration makes the address, the checks, the answer and its description."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from cofactor.errors import InvalidInputError
from cofactor.server import schemas
from cofactor.server.filters import FilterFolder, ItemFilter
from cofactor.service.rating_files import NotInTrainingError
from cofactor.service.served import Served, chosen
from cofactor.version import __version__


@dataclass(frozen=True)
class Limits:
    """The most that a request, and all requests at a time, may ask for.

    Parameters
    ----------
    body : int, default=1048576
        Bytes of a body.
    batch : int, default=1000
        Users, pairs, or ratings of a new user, in a request.
    items : int, default=100000
        Items that a request names: candidates, those to leave out, and those with a group or a boost.
    n : int, default=1000
        Items in a list.
    rows : int, default=100000
        Items in all lists of a request.
    filter : int, default=67108864
        Bytes of the body that puts a filter: a million ids of 64 characters.
    concurrent : int, default=64
        Requests that are answered or wait at a time; more get 503.
    connections : int, default=2048
        Connections of each process; for one more, one that has not sent a whole request is closed.
    seconds : float, default=10.0
        In which the headers must have come, and then a body.
    answer : float, default=30.0
        Seconds in which a request must be answered once its body is there; if it is not, it gets 503.

    Examples
    --------
    >>> Limits(n=20).check(21, "n", "n")
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: n=21: more than 20 are refused; ask for fewer
    """

    body: int = 1 << 20
    batch: int = 1000
    items: int = 100_000
    n: int = 1000
    rows: int = 100_000
    filter: int = 1 << 26
    concurrent: int = 64
    connections: int = 2048
    seconds: float = 10.0
    answer: float = 30.0

    def check(self, asked: int, limit: str, argument: str, advice: str = "ask for fewer") -> None:
        """Refuse more than a limit.

        Parameters
        ----------
        asked : int
            How many.
        limit : {"batch", "items", "n", "rows"}
            Which limit.
        argument : str
            What asks for so many.
        advice : str, default="ask for fewer"
            What to do.
        """
        most: int = getattr(self, limit)
        if asked > most:
            raise InvalidInputError(f"more than {most:,} are refused", argument=argument, found=asked, advice=advice)


@dataclass(frozen=True)
class Query:
    """A request that was parsed.

    Attributes
    ----------
    models : mapping from str to Served
        All models.
    limits : Limits
        The most it may ask for.
    asked : Struct
        Its body or query, of the class which the operation declares.
    id : str
        That in the address, or the name there, if it has one.
    folder : FilterFolder, optional
        Of the filters, where there are some.
    """

    models: Mapping[str, Served]
    limits: Limits
    asked: Any
    id: str = ""
    folder: FilterFolder | None = None

    @property
    def filters(self) -> FilterFolder:
        """The filters; where none are kept, the request is refused."""
        if self.folder is None:
            raise InvalidInputError("no filters are kept here", advice="start the server with --filters FOLDER")
        return self.folder

    @property
    def service(self) -> Any:
        """The service of the model that is asked for."""
        return chosen(self.models, self.asked.model).service


_Reply: TypeAlias = Callable[[Query], Any]
_Example: TypeAlias = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Operation:
    """One thing that can be asked.

    Parameters
    ----------
    route : str
        Method and address; ``{id:path}`` in it stands for an id, and ``{name}`` for a name.
    summary : str
        What it does.
    asked, answer : type
        Classes of the query, or with POST and PUT of the body, and of the answer.
    reply : callable
        Returns the answer to a `Query`.
    kind : {"ratings", "labels"}, optional
        Which models can be asked; by default all.
    example : callable, optional
        Returns an example of the body from what ``service.example()`` returned.
    reply_many : callable, optional
        Returns the answers to some questions which differ in nothing but their ids: what `reply` returns for each, to
        the bit, in less time.
    apart : bool, default=False
        Whether it asks no model, and so need not wait until other requests are answered.
    """

    route: str
    summary: str
    asked: type[Any]
    answer: type[Any]
    reply: _Reply
    kind: str | None = None
    example: _Example | None = None
    reply_many: Callable[[Sequence[Query]], list[Any]] | None = None
    apart: bool = False

    @property
    def has_body(self) -> bool:
        """Whether what is asked stands in a body."""
        return self.method in ("POST", "PUT")

    @property
    def method(self) -> str:
        """GET, POST, PUT or DELETE."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """The address as Starlette has it."""
        return self.route.partition(" ")[2]

    @property
    def public_path(self) -> str:
        """The address as documents and measures have it."""
        return self.path.replace("{id:path}", "{id}")

    def batch_key(self, query: Query) -> Hashable:
        """Return what queries that are answered together have in common; None for one that is answered alone.

        Parameters
        ----------
        query : Query
        """
        return None if self.reply_many is None else (self.path, msgspec.json.encode(query.asked))

    def answer_all(self, queries: Sequence[Query]) -> list[Any]:
        """Return the answers to queries that are alike; refuse those to a model that cannot be asked.

        Parameters
        ----------
        queries : sequence of Query
            One, or several of the same `batch_key`.
        """
        first = queries[0]
        if self.kind is not None and first.service.kind != self.kind:
            able = [name for name, one in first.models.items() if one.service.kind == self.kind]
            asks = f"{self.method} {self.public_path} asks models of {self.kind}"
            otherwise = f"give cofactor serve a model of {self.kind} too, as NAME=FILE"
            advice = f"name one of them: {', '.join(able)}" if able else otherwise
            name = chosen(first.models, first.asked.model).name
            problem = f"{name} is a model of {first.service.kind}, and {asks}"
            raise InvalidInputError(problem, argument="model", found=name, advice=advice)
        if self.reply_many is not None and len(queries) > 1:
            return self.reply_many(queries)
        return [self.reply(query) for query in queries]


OPERATIONS: list[Operation] = []


def _operation(
    route: str, summary: str, asked: type[Any], answer: type[Any], **more: Any
) -> Callable[[_Reply], _Reply]:
    """Declare what a function answers; see `Operation`."""

    def declare(reply: _Reply) -> _Reply:
        OPERATIONS.append(Operation(route, summary, asked, answer, reply, **more))
        return reply

    return declare


# -------------------------------------------------------------------- models of ratings, or of interactions


def _user(user: Any, limits: Limits, place: str) -> Any:
    """Return a user as services know one: an id as it is, or a new one with ratings, if these are not too many."""
    if not isinstance(user, schemas.NewUser):
        return user
    limits.check(len(user.ratings), "batch", f"{place}.ratings")
    return [(one.item, one.rating) for one in user.ratings]


def _items_asked(query: Query, name: str) -> Any:
    """Return items that a request names, as services take them: ids, those of each user, or those of a filter."""
    asked, by_name = query.asked, f"{name}_filter"
    given, named = getattr(asked, name), getattr(asked, by_name, None)
    if given is not None and named is not None:
        raise InvalidInputError(f"excludes {name}: give one of them", argument=by_name, found=named)
    if isinstance(given, str):
        by_name, named = name, given
    if named is not None:
        return query.filters.get(named, by_name).selected(query.service)
    of_each: Iterable[Any] = given.values() if isinstance(given, dict) else [given or ()]
    advice = f"put them under /v1/filters/NAME, and give the name as {name}"
    query.limits.check(sum(map(len, of_each)), "items", name, advice)
    return given


def _rules_asked(query: Query) -> dict[str, Any] | None:
    """Return the rules that a request gives, as services take them."""
    given = getattr(query.asked, "rules", None)
    if given is None:
        return None
    rules = {name: value for name, value in msgspec.structs.asdict(given).items() if value is not None}
    for name in ("groups", "boost"):
        argument = f"rules.{name}"
        if isinstance(rules.get(name), str):
            rules[name] = query.filters.get(rules[name], argument).by_item(query.service, argument)
        elif name in rules:
            advice = f"put them under /v1/filters/NAME, and give the name as {name}"
            query.limits.check(len(rules[name]), "items", argument, advice)
            rules[name] = query.service.by_item(rules[name], argument)
    return rules


@contextmanager
def _warned() -> Iterator[list[str]]:
    """Within the block, warnings of what a caller gives go into a list, each once."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield told
    told += dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning))


def _recommended(query: Query, users: list[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a list for each user, with the id by which the model knows the user, None for a new one; and warnings, if
    there are any.
    """
    asked, limits, service = query.asked, query.limits, query.service
    limits.check(asked.n, "n", "n")
    limits.check(asked.n * len(users), "rows", "n × users", "ask for fewer items, or for fewer users in a request")
    how = {name: getattr(asked, name) for name in ("exclude_seen", "rank_by", "at_least", "quantile")}
    more = {name: found for name in ("candidates", "exclude") if (found := _items_asked(query, name)) is not None}
    if (rules := _rules_asked(query)) is not None:
        more["rules"] = rules
    if (new_items := getattr(asked, "new_items", None)) is not None:
        limits.check(len(new_items), "batch", "new_items")
        more["new_items"] = new_items
    told: list[str] = []
    with _warned() if more else nullcontext(told) as told:
        found = service.recommend(users, asked.n, **how, **more)
    ids = [None if isinstance(user, list) else service.users.match(user) for user in users]
    lists = [{"user": one, "items": items} for one, items in zip(ids, found, strict=True)]
    return lists, {"warnings": told} if told else {}


def _for_each(queries: Sequence[Query]) -> list[dict[str, Any]]:
    lists, told = _recommended(queries[0], [query.id for query in queries])
    return [one | told for one in lists] if told else lists


@_operation(
    "GET /v1/users/{id:path}/recommendations",
    "Recommend items to a user who was in training",
    schemas.FromOne,
    schemas.List,
    kind="ratings",
    reply_many=_for_each,
)
def _for_one(query: Query) -> dict[str, Any]:
    try:
        (found,) = _for_each([query])
    except NotInTrainingError as error:
        if error.argument != "users[0]":
            raise
        advice = "fold new users in with POST /v1/recommendations"
        raise NotInTrainingError(error.problem, argument="id", found=error.found, advice=advice) from None
    except InvalidInputError as error:
        name = next((one for one in query.asked.candidates or () if one in query.filters.names()), None)
        if error.argument != "candidates" or name is None:
            raise
        advice = f"name a filter by candidates_filter={name}"
        raise InvalidInputError(error.problem, argument="candidates", found=name, advice=advice) from None
    return found


def _example_lists(known: Mapping[str, Any]) -> Any:
    rating = {} if known["rating"] is None else {"rating": known["rating"]}
    return {"users": [known["user"], {"ratings": [{"item": known["item"], **rating}]}], "n": 3}


@_operation(
    "POST /v1/recommendations",
    "Recommend items to several users, known or new ones with their ratings",
    schemas.FromSome,
    schemas.Lists,
    kind="ratings",
    example=_example_lists,
)
def _for_some(query: Query) -> dict[str, Any]:
    users, limits = query.asked.users, query.limits
    limits.check(len(users), "batch", "users")
    given = [_user(user, limits, f"users[{k}]") for k, user in enumerate(users)]
    lists, told = _recommended(query, given)
    return {"lists": lists, **told}


@_operation(
    "POST /v1/predictions",
    "Predict the ratings of pairs of user and item, of known users or of new ones with their ratings",
    schemas.Some,
    schemas.Predictions,
    kind="ratings",
    example=lambda known: {"pairs": [{"user": known["user"], "item": known["item"]}]},
)
def _predicted(query: Query) -> dict[str, Any]:
    pairs, service = query.asked.pairs, query.service
    query.limits.check(len(pairs), "batch", "pairs")
    users = [_user(pair.user, query.limits, f"pairs[{k}].user") for k, pair in enumerate(pairs)]
    found = service.predict([(user, pair.item) for user, pair in zip(users, pairs, strict=True)])
    return {"levels": service.levels, "predictions": found}


@_operation(
    "GET /v1/items/{id:path}/similar",
    "List the items that users like as they like this one",
    schemas.SimilarQuery,
    schemas.SimilarItems,
    kind="ratings",
)
def _similar(query: Query) -> dict[str, Any]:
    asked, service = query.asked, query.service
    query.limits.check(asked.n, "n", "n")
    try:
        similar = service.similar(query.id, asked.n, asked.min_ratings)
    except NotInTrainingError as error:
        advice = "find items with GET /v1/items"
        raise NotInTrainingError(error.problem, argument="id", found=error.found, advice=advice) from None
    return {"item": service.items.match(query.id), "similar": similar}


@_operation("GET /v1/items", "Find items by words of their titles", schemas.ItemsQuery, schemas.Items, kind="ratings")
def _items(query: Query) -> dict[str, Any]:
    asked, service = query.asked, query.service
    query.limits.check(asked.n, "n", "n")
    query.limits.check(len(asked.ids or ()), "batch", "ids")
    found = service.titles.found(asked.search, asked.n) if asked.ids is None else service.items_of(asked.ids)
    return {"items": found}


# -------------------------------------------------------------------- filters

_FIRST_UNKNOWN = 5  #: ids of a filter that no model knows which an answer names


def _unknown(query: Query, found: ItemFilter) -> list[dict[str, Any]]:
    """Return how many items of a filter each model of ratings does not know, and the first of them."""
    selected = {
        name: found.selected(one.service) for name, one in query.models.items() if one.service.kind == "ratings"
    }
    if found.items and selected and not any(len(one.places) for one in selected.values()):
        advice = "give ids as in training; nothing was changed"
        first = next(iter(selected.values())).unknown[0]
        raise InvalidInputError("no item was in training of any model", argument="items", found=first, advice=advice)
    return [
        {"model": name, "total": len(one.unknown), "first": one.unknown[:_FIRST_UNKNOWN]}
        for name, one in selected.items()
    ]


@_operation(
    "PUT /v1/filters/{name}",
    "Keep items by name, such as all in stock, in the place of what the name stood for",
    schemas.FilterItems,
    schemas.Filter,
    example=lambda known: {"items": [known["item"]]},
    apart=True,
)
def _put_filter(query: Query) -> dict[str, Any]:
    name, items = query.id, query.asked.items
    unknown = _unknown(query, ItemFilter(name, items))
    query.filters.put(name, items)
    return {"name": name, "total": len(items), "unknown": unknown}


@_operation("GET /v1/filters/{name}", "List the items of a filter", schemas.FilterQuery, schemas.Filter, apart=True)
def _filter(query: Query) -> dict[str, Any]:
    asked, found = query.asked, query.filters.get(query.id, "name")
    query.limits.check(asked.n, "rows", "n")
    here: Any = islice(found.items, asked.first, asked.first + asked.n)
    items = {one: found.items[one] for one in here} if isinstance(found.items, dict) else list(here)
    return {"name": found.name, "total": len(found.items), "unknown": _unknown(query, found), "items": items}


@_operation("DELETE /v1/filters/{name}", "Forget a filter", schemas.NoQuery, schemas.FilterNames, apart=True)
def _delete_filter(query: Query) -> dict[str, Any]:
    query.filters.delete(query.id)
    return {"filters": query.filters.names()}


@_operation("GET /v1/filters", "List the names of filters", schemas.NoQuery, schemas.FilterNames, apart=True)
def _filters(query: Query) -> dict[str, Any]:
    return {"filters": query.filters.names()}


# -------------------------------------------------------------------- models of labels


@_operation(
    "POST /v1/tags",
    "Tell the labels of rows: vectors, values by name, rows of a table, or texts",
    schemas.Tagging,
    schemas.TaggedRows,
    kind="labels",
    example=lambda known: {"rows": [known["row"]], "top": 3},
)
def _tags(query: Query) -> dict[str, Any]:
    asked, limits = query.asked, query.limits
    limits.check(len(asked.rows), "batch", "rows")
    if asked.top is not None:
        limits.check(asked.top, "n", "top")
        advice = "ask for fewer labels, or for fewer rows in a request"
        limits.check(asked.top * len(asked.rows), "rows", "top × rows", advice)
    how = {name: getattr(asked, name) for name in ("top", "threshold", "coverage")}
    if asked.decision is not None:
        how["decision"] = msgspec.to_builtins(asked.decision)  # without what was not given
    return {"tags": query.service.tag(asked.rows, **how, most=limits.rows)}


#: What is explained, and whose it is, by the kind of the model; and whether it must be said.
_EXPLAINED = {"ratings": {"user": True, "items": True}, "labels": {"row": True, "labels": False}}


def _example_reasons(known: Mapping[str, Any]) -> dict[str, Any]:
    if known["kind"] == "labels":
        return {"row": known["row"], "labels": [known["label"]], "n": 3}
    return {"user": known["user"], "items": [known["item"]], "n": 3}


@_operation(
    "POST /v1/explanations",
    "Tell what speaks for and against items of a user, or labels of a row",
    schemas.ExplanationQuery,
    schemas.Explanations,
    example=_example_reasons,
)
def _explanations(query: Query) -> dict[str, Any]:
    asked, limits, service = query.asked, query.limits, query.service
    for kind, names in _EXPLAINED.items():
        for name, is_needed in names.items():
            is_given = getattr(asked, name) is not UNSET
            if kind == service.kind and is_needed and not is_given:
                raise InvalidInputError(f"is needed: the model is one of {kind}", argument=name)
            if kind != service.kind and is_given:
                problem = f"is for models of {kind}: the model is one of {service.kind}"
                advice = f"give {' and '.join(_EXPLAINED[service.kind])}"
                raise InvalidInputError(problem, argument=name, advice=advice)
    of, called = _EXPLAINED[service.kind]
    whose, what = getattr(asked, of), getattr(asked, called)
    n_asked = 1 if what is UNSET else len(what)
    limits.check(asked.n, "n", "n")
    limits.check(n_asked, "batch", called)
    limits.check(asked.n * n_asked, "rows", f"n × {called}", f"ask for fewer reasons, or for fewer {called}")
    found = service.explain(_user(whose, limits, of), None if what is UNSET else what, asked.n)
    return {"explanations": found}


def _page(query: Query, names: list[Any]) -> list[Any]:
    asked = query.asked
    query.limits.check(asked.n, "n", "n")
    return names[asked.first : asked.first + asked.n]


@_operation("GET /v1/labels", "List the names of labels", schemas.Names, schemas.Labels, kind="labels")
def _labels(query: Query) -> dict[str, Any]:
    names = query.service.labels
    return {"total": len(names), "labels": _page(query, names)}


@_operation(
    "GET /v1/features",
    "List what rows may name: features, or columns",
    schemas.FeatureNames,
    schemas.Features,
    kind="labels",
)
def _features(query: Query) -> dict[str, Any]:
    asked, rows = query.asked, query.service.rows
    names, search = rows.names, asked.search.casefold()
    if asked.names is not None:
        query.limits.check(len(asked.names), "batch", "names")
        known = set(names)
        names = [name for name in dict.fromkeys(asked.names) if name in known]
    if search:
        names = [name for name in names if search in name.casefold()]
    return {"total": len(names), "features": rows.described(_page(query, names))}


@_operation("GET /v1/model", "Describe a model", schemas.ModelQuery, schemas.Model)
def _model(query: Query) -> dict[str, Any]:
    return chosen(query.models, query.asked.model).facts()


@_operation("GET /v1/models", "List the models", schemas.ModelQuery, schemas.Models)
def _models(query: Query) -> dict[str, Any]:
    return {"models": list(query.models)}


# -------------------------------------------------------------------- the document of the interface

_REFUSED = {
    "401": "No key, or one that is not known, where keys are needed",
    "404": "A user or an item was not in training, or there is no such filter",
    "408": "The body did not come in time",
    "413": "The body is too large",
    "421": "Asked by a name that is not served",
    "422": "The request is invalid",
    "503": "Too many requests, or no answer in time; Retry-After says after how many seconds to ask again",
}
#: Examples for models of another kind than the one that is known.
_GENERIC: dict[str, Any] = {
    "user": 42,
    "item": 50,
    "rating": 5.0,
    "row": {"first feature": 1, "second feature": 0.5},
    "label": "a label",
}


def document(known: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI document.

    Parameters
    ----------
    known : dict
        Values for examples, as ``service.example()`` returns them.
    """
    known = _GENERIC | known
    types = [*{kind for one in OPERATIONS for kind in (one.asked, one.answer)}, schemas.Failures]
    _, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    paths: dict[str, Any] = {
        f"/health/{name}": {"get": {"summary": summary, "responses": {"200": {"description": "Yes"}}, "security": []}}
        for name, summary in (("live", "Whether the process answers"), ("ready", "Whether models answer"))
    }
    paths["/metrics"] = {"get": {"summary": "Measures for Prometheus", "responses": {"200": {"description": "Text"}}}}
    for one in OPERATIONS:
        paths.setdefault(one.public_path, {})[one.method.lower()] = _described(one, components, known)
    return {
        "openapi": "3.1.0",
        "info": {"title": "cofactor serve", "version": __version__},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"key": []}],
    }


def _described(one: Operation, components: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": one.summary if one.kind is None else f"{one.summary} (models of {one.kind})",
        "responses": {"200": {"description": "The answer", "content": _content(one.answer.__name__)}}
        | {status: {"description": text, "content": _content("Failures")} for status, text in _REFUSED.items()},
    }
    parameters: list[dict[str, Any]] = []
    if one.has_body:
        example = {} if one.example is None else {"example": one.example(known)}
        described["requestBody"] = {"required": True, "content": _content(one.asked.__name__, **example)}
    else:
        parameters = [
            {"name": name, "in": "query", "schema": schema}
            for name, schema in components[one.asked.__name__]["properties"].items()
        ]
    for name in re.findall(r"{(\w+)}", one.public_path):
        shown = "stock" if name == "name" else known["user" if "/users/" in one.path else "item"]
        schema = {"type": ["string", "number"]}
        parameters.insert(0, {"name": name, "in": "path", "required": True, "schema": schema, "example": shown})
    return described | {"parameters": parameters}


def _content(name: str, **more: Any) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}, **more}}
