"""Models by their names, and their parameters as shells give them."""

from __future__ import annotations

import re
from collections.abc import Mapping
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


#: Names that general settings have in models.
_SETTINGS = {"alpha": ("alpha",), "factors": ("n_factors", "n_components")}


def assemble(
    model: Any,
    settings: Settings,
    fixed: Mapping[str, Any],
    inner: str = "",
    lacking: Mapping[str, str] | None = None,
) -> Built:
    """Set the parameters of a model that settings ask for.

    Parameters
    ----------
    model : estimator
        New; it is changed.
    settings : Settings
        What was asked for. A parameter ``estimator`` must have been set already.
    fixed : mapping from str to object
        Parameters that the task sets.
    inner : str, default=""
        Prefix of the parameters of an inner model, such as ``"estimator__"``.
    lacking : mapping from str to str, optional
        What messages say that a model without a setting lacks.

    Raises
    ------
    InvalidInputError
        If the model has no such parameter, or one is set twice.
    """
    values: dict[str, Any] = dict(fixed)
    notes: list[Text] = []
    given = {"alpha": settings.alpha if settings.alpha != "auto" else None, "factors": settings.factors}
    for setting, value in given.items():
        if value is None:
            continue
        what = (lacking or {}).get(setting, "such parameter")
        names = [inner + name for name in _SETTINGS[setting]]
        own = next((name for name in names if name in model.get_params()), None)
        if own is not None:
            values[own] = value
            continue
        kind = type(model if not inner else getattr(model, "estimator", model)).__name__
        if not settings.lenient:
            advice = ("leave the option out. With ", Argument("param"), f" it takes {', '.join(parameters_of(model))}")
            raise InvalidInputError(f"{kind} has no {what}", argument=setting, found=value, advice=advice)
        notes.append((Argument(setting, value), f" does not concern {kind}, which has no {what}"))
    for key, value in settings.params.items():
        own = _own_name(model, key, value, inner)
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
