"""What is asked of models of ratings and of labels alike: why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from cofactor.errors import InvalidInputError
from cofactor.server.limits import Limits
from cofactor.server.question import Question
from cofactor.server.schemas import NewUser
from cofactor.tasks import answers

__all__ = ["example_reasons", "explanations", "given_user"]

#: What is explained, and whose it is, by the kind of the model; and whether it must be said.
_ASKED = {"ratings": {"user": True, "items": True}, "labels": {"row": True, "labels": False}}


def explanations(question: Question) -> dict[str, Any]:
    """Return reasons for items of a user, or for labels of a row.

    Parameters
    ----------
    question : Question
        Of a `cofactor.server.reason_schemas.Asked`.
    """
    asked, limits, of = question.asked, question.limits, question.answers
    _check_kind(asked, of.kind)
    whose, what = (getattr(asked, name) for name in _ASKED[of.kind])
    called = list(_ASKED[of.kind])[1]
    n_asked = 1 if what is UNSET else len(what)
    limits.check(asked.n, "n", "n")
    limits.check(n_asked, "batch", called)
    limits.check(asked.n * n_asked, "rows", f"n × {called}", f"ask for fewer reasons, or for fewer {called}")
    if of.kind == "ratings":
        return {"explanations": of.explain(given_user(whose, limits, "user"), what, asked.n)}
    return {"explanations": of.explain(whose, None if what is UNSET else what, asked.n)}


def _check_kind(asked: Any, kind: str) -> None:
    """Refuse a question without what a kind of model needs, or with what another kind needs."""
    for of, names in _ASKED.items():
        for name, is_needed in names.items():
            is_given = getattr(asked, name) is not UNSET
            if of == kind and is_needed and not is_given:
                raise InvalidInputError(f"is needed: the model is one of {kind}", argument=name)
            if of != kind and is_given:
                mine = " and ".join(_ASKED[kind])
                raise InvalidInputError(
                    f"is for models of {of}: the model is one of {kind}", argument=name, advice=f"give {mine}"
                )


def given_user(user: Any, limits: Limits, place: str) -> Any:
    """Return a user as tasks know one: an id as it is, or a new one with ratings, if these are not too many.

    Parameters
    ----------
    user : id or NewUser
        As a request has it.
    limits : Limits
        The most it may ask for.
    place : str
        Where it stands in the request.
    """
    if not isinstance(user, NewUser):
        return user
    limits.check(len(user.ratings), "batch", f"{place}.ratings")
    return answers.NewUser([(one.item, one.rating) for one in user.ratings])


def example_reasons(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return an example of a question for reasons, of the kind of the model that is known.

    Parameters
    ----------
    known : mapping from str to object
        What ``answers.example()`` returns.
    """
    if known["kind"] == "labels":
        return {"row": known["row"], "labels": [known["label"]], "n": 3}
    return {"user": known["user"], "items": [known["item"]], "n": 3}
