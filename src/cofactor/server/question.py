"""A question that a client asks, and what one thing that can be asked is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from cofactor.errors import InvalidInputError
from cofactor.server.limits import Limits
from cofactor.tasks.served import Served, chosen

__all__ = ["Operation", "Question"]


@dataclass(frozen=True)
class Question:
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
        That in the address, if it has one.
    """

    models: Mapping[str, Served]
    limits: Limits
    asked: Any
    id: str = ""

    @property
    def answers(self) -> Any:
        """What answers for the model that is asked for."""
        return chosen(self.models, self.asked.model).answers


@dataclass(frozen=True)
class Operation:
    """One thing that can be asked.

    Parameters
    ----------
    method, path : str
        Where; ``{id:path}`` in it stands for an id.
    summary : str
        What it does.
    asked, answer : type
        Classes of the query, or with POST of the body, and of the answer.
    reply : callable
        Returns the answer to a `Question`.
    example : callable, optional
        Returns an example of the body from what ``answers.example()`` returned.
    kind : {"ratings", "labels"}, optional
        Which models can be asked; by default all.
    together : callable, optional
        Returns the answers to some questions which differ in nothing but their ids: what `reply` returns for each, to
        the bit, in less time.
    """

    method: str
    path: str
    summary: str
    asked: type[Any]
    answer: type[Any]
    reply: Callable[[Question], Any]
    example: Callable[[Mapping[str, Any]], Any] | None = None
    kind: str | None = None
    together: Callable[[Sequence[Question]], list[Any]] | None = None

    @property
    def public_path(self) -> str:
        """The address as documents and measures have it."""
        return self.path.replace("{id:path}", "{id}")

    def likeness(self, question: Question) -> Hashable:
        """Return what questions that are answered together have in common; None for one that is answered alone.

        Parameters
        ----------
        question : Question
        """
        return None if self.together is None else (self.path, msgspec.json.encode(question.asked))

    def answers_to(self, questions: Sequence[Question]) -> list[Any]:
        """Return the answers to questions that are alike; refuse those to a model that cannot be asked.

        Parameters
        ----------
        questions : sequence of Question
            One, or several of the same `likeness`.
        """
        if self.kind is not None:
            served = chosen(questions[0].models, questions[0].asked.model)
            if served.answers.kind != self.kind:
                raise _other_kind(self, served, questions[0].models)
        if self.together is not None and len(questions) > 1:
            return self.together(questions)
        return [self.reply(question) for question in questions]


def _other_kind(operation: Operation, served: Served, models: Mapping[str, Served]) -> InvalidInputError:
    """Return the error for a question to a model of another kind, with the models that can be asked."""
    able = [name for name, one in models.items() if one.answers.kind == operation.kind]
    asks = f"{operation.method} {operation.public_path} asks models of {operation.kind}"
    advice = f"name one of them: {', '.join(able)}" if able else "none is served here"
    problem = f"{served.name} is a model of {served.answers.kind}, and {asks}"
    return InvalidInputError(problem, argument="model", found=served.name, advice=advice)
