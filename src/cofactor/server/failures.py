"""Errors in the one form that all of them have."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from cofactor.errors import MISSING, Argument, InvalidInputError
from cofactor.server.schemas import Failure, Failures
from cofactor.service.rating_files import NotInTrainingError

Struct = TypeVar("Struct", bound=msgspec.Struct)

_LONGEST = 200  #: characters of what was found that an answer repeats
#: msgspec names the place of a fault at the end of its message, and a field that is missing or not known within it.
_PLACE = re.compile(r" - at `\$\.?(?P<place>.*)`$")
_FIELD = re.compile(r"field `(?P<name>[^`]*)`")
#: Types, as msgspec names what it expected and what it got.
_TYPES = re.compile(r"(Expected|got) `([^`]*)`")
_NAMES = {
    "int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false", "array": "a list",
    "object": "an object", "null": "null",
}  # fmt: skip


@dataclass(eq=False)
class RefusalError(Exception):
    """A request that is not answered.

    Attributes
    ----------
    status : int
        That of HTTP.
    problem : str
        What is wrong.
    argument : str, optional
        What of the request is wrong.
    found : object, optional
        What was there.
    advice : str, optional
        What to do.
    headers : mapping from str to str
        Of the answer.
    """

    status: int
    problem: str
    argument: str | None = None
    found: Any = None
    advice: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def message(self) -> str:
        """Return all in one line."""
        about = "" if self.argument is None else f"{self.argument}: "
        return f"{about}{self.problem}" + (f"; {self.advice}" if self.advice else "")


class NotFoundError(InvalidInputError):
    """Something that a request names is not there."""


def failures_of(refusal: RefusalError, request_id: str) -> Failures:
    """Return the body of an answer.

    Parameters
    ----------
    refusal : RefusalError
        Why there is no answer.
    request_id : str
        Of the request.
    """
    found = _short(refusal.found)
    return Failures(Failure(refusal.status, refusal.message(), refusal.argument, found, refusal.advice, request_id))


def refusal_of(error: InvalidInputError) -> RefusalError:
    """Return an error of the library as one of HTTP: 404 for what was not in training, else 422.

    Parameters
    ----------
    error : InvalidInputError
        Raised by a task, or by a limit.

    Examples
    --------
    >>> refusal_of(InvalidInputError("expected a number above 0", argument="n", found=-1)).message()
    'n: expected a number above 0'
    """
    status = 404 if isinstance(error, NotInTrainingError | NotFoundError) else 422
    found = None if error.found is MISSING else error.found
    problem = _text(error.problem) if error.place is None else f"{error.place}: {_text(error.problem)}"
    return RefusalError(status, problem, error.argument, found, _text(error.advice) or None)


def parsed(content: bytes | Mapping[str, Any], schema: type[Struct]) -> Struct:
    """Return a request as its class; refuse one that does not fit.

    Parameters
    ----------
    content : bytes or mapping
        JSON; or the query of an address, whose values are texts.
    schema : type
        One of `cofactor.server.schemas`.

    Examples
    --------
    >>> from cofactor.server.schemas import SimilarQuery
    >>> parsed({"n": "3"}, SimilarQuery).n
    3
    >>> parsed({"n": "0"}, SimilarQuery)
    Traceback (most recent call last):
    cofactor.server.failures.RefusalError: ...
    """
    try:
        if not isinstance(content, bytes):
            return _converted(content, schema)
        found = msgspec.json.decode(content, type=schema)
        _UNREPEATED.decode(content.decode())
        return found
    except msgspec.ValidationError as error:
        raise _misfit(str(error), content) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusalError(422, f"is not JSON: {error}", "body", advice="send a JSON object, in UTF-8") from error


_NO_DIGIT = re.compile(r"([+-]?)\.(?=\d)")


def _converted(query: Mapping[str, Any], schema: type[Struct]) -> Struct:
    """Return the query of an address as its class; numbers may begin with a point.

    Examples
    --------
    >>> from cofactor.server.schemas import FromOne
    >>> _converted({"quantile": ".9"}, FromOne).quantile
    0.9
    """
    try:
        return msgspec.convert(query, schema, strict=False)
    except msgspec.ValidationError:
        read = {one: _NO_DIGIT.sub(r"\g<1>0.", v, 1) if isinstance(v, str) else v for one, v in query.items()}
        if read == query:
            raise
        return msgspec.convert(read, schema, strict=False)


def _misfit(message: str, content: bytes | Mapping[str, Any]) -> RefusalError:
    """Return what does not fit, with its place and what was found there."""
    place, field_ = _PLACE.search(message), _FIELD.search(message)
    path = "" if place is None else place["place"]
    name = ".".join(part for part in (path, "" if field_ is None else field_["name"]) if part)
    found = _within(_raw(content), name)
    problem = _TYPES.sub(_in_words, _PLACE.sub("", message))
    return RefusalError(422, problem, name or None, found, "see /openapi.json")


def _in_words(types: re.Match[str]) -> str:
    """Return a type of msgspec in words.

    Examples
    --------
    >>> _TYPES.sub(_in_words, "Expected `int | float | str | null`, got `array`")
    'Expected a number, a text or null, got a list'
    """
    names = types[2].split(" | ")
    *others, last = [_NAMES.get(name, name) for name in names if name != "int" or "float" not in names]
    return f"{types[1]} {', '.join(others)}{' or ' if others else ''}{last}"


def _unrepeated(members: list[tuple[str, Any]]) -> None:
    """Refuse an object of JSON with two members of one name, of which every reader takes another."""
    if len(dict(members)) < len(members):
        twice, _ = Counter(name for name, _ in members).most_common(1)[0]
        raise RefusalError(422, "stands twice in an object", twice, advice="give it once")


_UNREPEATED = json.JSONDecoder(object_pairs_hook=_unrepeated, parse_int=float)


def _raw(content: bytes | Mapping[str, Any]) -> Any:
    """Return a request as it is, None where what follows the fault cannot be read."""
    try:
        return msgspec.json.decode(content) if isinstance(content, bytes) else content
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _within(raw: Any, path: str) -> Any:
    """Return what stands at a place of JSON, None where nothing does.

    Examples
    --------
    >>> _within({"users": [1, {"ratings": {}}]}, "users[1].ratings"), _within([], "users")
    ({}, None)
    """
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        try:
            raw = raw[name] if isinstance(raw, Mapping) and name else raw[int(index)]
        except (LookupError, TypeError, ValueError):
            return None
    return raw


def _text(parts: tuple[str | Argument, ...]) -> str:
    return "".join(map(str, parts))


def _short(found: Any) -> Any:
    """Return what was found, or the beginning of its text where that is long, or where it has no JSON."""
    if found is None or isinstance(found, bool | int | float):
        return found
    text = found if isinstance(found, str) else str(found)
    if len(text) > _LONGEST:
        return f"{text[:_LONGEST]}…"
    return found if isinstance(found, str | list | dict) else text
