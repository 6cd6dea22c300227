"""What answers of all fitted models have in common: what they say of the model, and the form of explanations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from cofactor.errors import InvalidInputError
from cofactor.model.explanations import Explanation

__all__ = ["ModelAnswers", "plain", "told"]

#: What a term of each kind is called, and its value; the value of an instance says nothing.
_WORDS = {
    "rating": ("item", "rating"),
    "interaction": ("item", "times"),
    "feature": ("feature", "value"),
    "instance": ("instance", None),
}


class ModelAnswers(ABC):
    """What a server may ask a fitted model. The model is not changed.

    Attributes
    ----------
    kind : str
        Name of the task whose model it is: "ratings" or "labels".
    model : estimator
        Fitted.
    """

    kind: ClassVar[str]
    model: Any

    def describe(self) -> dict[str, Any]:
        """Return kind, class, sizes and settings of the model, and what it offers, as JSON has them."""
        return {"kind": self.kind, **plain(self.facts()), "offers": self.offers, "settings": _settings(self.model)}

    @cached_property
    def offers(self) -> list[str]:
        """Names of `questions` that the model answers."""
        answered = []
        for name, ask in self.questions().items():
            with suppress(InvalidInputError):
                ask()
                answered.append(name)
        return answered

    @abstractmethod
    def questions(self) -> Mapping[str, Callable[[], object]]:
        """Return small questions that not every model of the kind answers, by name."""

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """Return class and sizes of the model, and what else there is to say of it."""

    @abstractmethod
    def example(self) -> dict[str, Any]:
        """Return what the model knows, for examples of questions."""

    @abstractmethod
    def rehearse(self) -> None:
        """Answer one question of each kind that the model can answer, so that all it needs is compiled."""


def told(found: Explanation, what: str, named: Callable[[Any], Any] = lambda term: term) -> list[dict[str, Any]]:
    """Return an explanation as JSON has it: an object for each item, or label, with the list of its reasons.

    Parameters
    ----------
    found : Explanation
    what : {"item", "label"}
        What is explained.
    named : callable, optional
        Returns the name of a feature, for its number.

    Examples
    --------
    >>> rows = [("anna", "Up", 0.75, "rating", "Heat", 4.0, 0.5), ("anna", "Up", 0.75, "intercept", None, np.nan, 0.25)]
    >>> names = ("user", "item", "score", "kind", "term", "value", "contribution")
    >>> columns = dict(zip(names, map(np.array, zip(*rows)), strict=True))
    >>> columns |= {"term": np.array(["Heat", None], dtype=object)}
    >>> told(Explanation(columns), "item")
    [{'item': 'Up', 'score': 0.75, 'reasons': [{'item': 'Heat', 'rating': 4.0, 'contribution': 0.5}],
      'intercept': 0.25}]
    """
    return [_group(group, what, named) for group in found.groups()]


def _group(group: Mapping[str, Any], what: str, named: Callable[[Any], Any]) -> dict[str, Any]:
    made: dict[str, Any] = {what: group[what], "score": group["score"], "reasons": []}
    for term in group["terms"]:
        kind, name, value = term["kind"], term["term"], term["value"]
        amounts = {key: one for key, one in term.items() if key not in ("kind", "term", "value") and one is not None}
        if kind == "intercept":
            made["intercept"] = amounts["contribution"]
        elif kind == "rest":
            made["rest"] = {"reasons": name, "contribution": amounts["contribution"]}
        else:
            called, of_value = _WORDS[kind]
            valued = {} if of_value is None else {of_value: value}
            made["reasons"].append({called: named(name) if kind == "feature" else name, **valued, **amounts})
    return made


def _settings(model: Any) -> Any:
    settings = {key: one for key, one in model.get_params(deep=False).items() if key not in ("callback", "verbose")}
    return plain(settings)


def plain(value: Any) -> Any:
    """Return a value as JSON has it; a model within another as its class and settings.

    Examples
    --------
    >>> plain({"cut": np.float64(0.5), "alpha": np.array([1, 2]), "dtype": np.float32})
    {'cut': 0.5, 'alpha': [1, 2], 'dtype': "<class 'numpy.float32'>"}
    """
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {"model": type(value).__name__, **_settings(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
