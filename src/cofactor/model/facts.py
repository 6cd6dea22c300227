"""What there is to say of a fitted model, for machines and for people; its file says it too."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cofactor.errors import Text


@dataclass(frozen=True)
class Facts:
    """Names and values, for machines and for people.

    Attributes
    ----------
    title : str
        What they are about.
    values : mapping from str to object
        Numbers and texts as they are.
    shown : mapping from str to str
        Some of them, as people read them.
    notes : tuple of Text
        What the user should also know.
    """

    title: str
    values: Mapping[str, Any]
    shown: Mapping[str, str]
    notes: tuple[Text, ...] = ()


def chosen_alpha(model: Any) -> float | list[float] | None:
    """Return the penalty weight of a fitted model: one number, one for each stage, or that of the first member."""
    members = getattr(model, "members_", None)
    if members:
        return chosen_alpha(members[0])
    stages: list[float] | None = getattr(model, "alphas_", None)
    return stages if stages is not None else getattr(model, "alpha_", None)


def settings_of(model: Any) -> str:
    """Return a model as it is written, with the settings that are not the defaults."""
    return " ".join(repr(model).split())


def summary(model: Any, facts: Facts) -> dict[str, Any]:
    """Return what a file says of its model to those who do not load it.

    Generators of random numbers and callbacks are left out, since the file does not hold them.
    """
    from cofactor.model.state import to_plain  # loads scikit-learn, which readers of facts do not need

    bare = copy.copy(model)
    for name, value in model.get_params(deep=False).items():
        if name == "callback" or to_plain(value) is None:
            setattr(bare, name, None)
    return {"title": facts.title, "shown": dict(facts.shown), "settings": settings_of(bare)}
