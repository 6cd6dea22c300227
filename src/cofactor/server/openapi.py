"""The document of the interface, made of the operations and their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cofactor.server.question import Operation
from cofactor.server.schemas import Failures
from cofactor.version import __version__

__all__ = ["document"]

_REFUSED = {
    "401": "No key, or one that is not known, where keys are needed",
    "404": "A user or an item was not in training",
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


def document(operations: Sequence[Operation], known: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI document.

    Parameters
    ----------
    operations : sequence of Operation
    known : dict
        Kind of the first model, and what it knows, for examples, as ``answers.example()`` returns it.
    """
    known = _GENERIC | known
    types = [*{kind for one in operations for kind in (one.asked, one.answer)}, Failures]
    _, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    paths: dict[str, Any] = {
        f"/health/{name}": {"get": {"summary": summary, "responses": {"200": {"description": "Yes"}}, "security": []}}
        for name, summary in (
            ("live", "Whether the process answers"),
            ("ready", "Whether models answer"),
        )
    }
    paths["/metrics"] = {"get": {"summary": "Measures for Prometheus", "responses": {"200": {"description": "Text"}}}}
    for one in operations:
        paths.setdefault(one.public_path, {})[one.method.lower()] = _described(one, components, known)
    return {
        "openapi": "3.1.0",
        "info": {"title": "cofactor serve", "version": __version__},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"key": []}],
    }


def _described(one: Operation, components: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    refused = {status: _answer(text, "Failures") for status, text in _REFUSED.items()}
    described: dict[str, Any] = {
        "summary": one.summary if one.kind is None else f"{one.summary} (models of {one.kind})",
        "responses": {"200": _answer("The answer", one.answer.__name__), **refused},
    }
    if one.method == "POST":
        content: dict[str, Any] = {"schema": _reference(one.asked.__name__)}
        if one.example is not None:
            content["example"] = one.example(known)
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
        return described
    parameters = [
        {"name": name, "in": "query", "schema": schema}
        for name, schema in components[one.asked.__name__]["properties"].items()
    ]
    if "{id}" in one.public_path:
        example = known["user" if "/users/" in one.path else "item"]
        schema = {"type": ["string", "number"]}
        parameters.insert(0, {"name": "id", "in": "path", "required": True, "schema": schema, "example": example})
    described["parameters"] = parameters
    return described


def _answer(description: str, name: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": _reference(name)}}}


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
