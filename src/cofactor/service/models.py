"""Models by their names, and their parameters as shells give them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cofactor.errors import Argument, InvalidInputError, Text
from cofactor.service.results import Built, Settings

#: Parameters for which there is a setting or an option of their own.
WITH_OPTION = frozenset({"random_state", "levels", "duplicates", "threshold", "decide_for"})

#: Parameters which users do not set by name: a task sets them, or there is an option for them.
HIDDEN = WITH_OPTION | {"callback", "verbose", "estimator"}


#: Where a name has hyphens: before a word, after an abbreviation of several letters, and before one that ends the name
#: or that a word follows.
_PARTING = re.compile(
    r"(?<=[a-z])(?=[A-Z][a-z])|(?<=[A-Z]{2})(?=[A-Z][a-z]{2})|(?<=[a-z]{3})(?=[A-Z]+$|[A-Z]{2,}[A-Z][a-z]{2})"
)


def short_names(kinds: Mapping[str, type[Any]]) -> dict[str, type[Any]]:
    """Return classes by names in lower case with hyphens.

    Parameters
    ----------
    kinds : mapping from str to type
        Classes by their own names.

    Examples
    --------
    >>> list(short_names(dict.fromkeys(["BinaryMMMF", "ChainCRFEnsemble", "MLForest", "GroPLE", "RAkEL"], object)))
    ['binary-mmmf', 'chain-crf-ensemble', 'ml-forest', 'grople', 'rakel']
    """
    return {_PARTING.sub("-", name).lower(): kind for name, kind in kinds.items()}


@dataclass(frozen=True)
class Wanted:
    """The names that general settings have in the models of a task.

    Attributes
    ----------
    inner : str
        Prefix of the parameters of an inner model, such as ``"estimator__"``.
    alpha, factors : tuple of str
        Names which the parameter may have.
    no_alpha, no_factors : str
        What messages say that a model without such a parameter lacks.
    fixed : mapping from str to object
        Parameters that the task sets.
    """

    inner: str = ""
    alpha: tuple[str, ...] = ("alpha",)
    factors: tuple[str, ...] = ("n_factors", "n_components")
    no_alpha: str = "such parameter"
    no_factors: str = "such parameter"
    fixed: Mapping[str, Any] = field(default_factory=dict)


def assemble(model: Any, settings: Settings, wanted: Wanted) -> Built:
    """Set the parameters of a model that settings ask for.

    Parameters
    ----------
    model : estimator
        New; it is changed.
    settings : Settings
        What was asked for. A parameter ``estimator`` must have been set already.
    wanted : Wanted
        What the parameters are called.

    Raises
    ------
    InvalidInputError
        If the model has no such parameter, or one is set twice.
    """
    values: dict[str, Any] = dict(wanted.fixed)
    notes: list[Text] = []
    asked: list[tuple[str, Any, tuple[str, ...], str]] = []
    if settings.alpha != "auto":
        asked.append(("alpha", settings.alpha, wanted.alpha, wanted.no_alpha))
    if settings.factors is not None:
        asked.append(("factors", settings.factors, wanted.factors, wanted.no_factors))
    for setting, value, names, lacking in asked:
        own = next((wanted.inner + name for name in names if wanted.inner + name in model.get_params()), None)
        if own is not None:
            values[own] = value
            continue
        kind = type(model if not wanted.inner else getattr(model, "estimator", model)).__name__
        if not settings.lenient:
            advice = ("leave the option out. With ", Argument("param"), f" it takes {', '.join(parameters_of(model))}")
            raise InvalidInputError(f"{kind} has no {lacking}", argument=setting, found=value, advice=advice)
        notes.append((Argument(setting, value), f" does not concern {kind}, which has no {lacking}"))
    for key, value in settings.params.items():
        own = _own_name(model, key, value, wanted.inner)
        if own in values:
            message = f"{key} is set twice, here and by another option; give it once"
            raise InvalidInputError(message, argument=key, found=value)
        values[own] = value
    return Built(model.set_params(**values), tuple(notes))


def _own_name(model: Any, key: str, value: Any, inner: str) -> str:
    """Return the name under which `set_params` takes a parameter."""
    names = [name for name in (key, inner + key) if name in model.get_params()]
    for name in names:
        if name.split("__")[-1] not in HIDDEN:
            return name
    if key in WITH_OPTION and names:
        raise InvalidInputError(("write ", Argument(key, value)), argument="param", found=key)
    message = f"{type(model).__name__} has no such parameter; it has {', '.join(parameters_of(model))}"
    raise InvalidInputError(message, argument="param", found=key)


def parameters_of(model: Any) -> list[str]:
    """Return the parameters which a user may set by name.

    Examples
    --------
    >>> from cofactor.ratings import RatingSVD
    >>> "max_iter" in parameters_of(RatingSVD())
    True
    """
    return sorted(name for name in model.get_params() if name.split("__")[-1] not in HIDDEN)
