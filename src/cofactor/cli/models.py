"""Models by their names on the command line, and what to tell about a fitted one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cofactor.cli.errors import InputError
from cofactor.cli.tables import note
from cofactor.text import folded, nearest

if TYPE_CHECKING:
    from cofactor.ratings import RatingModel

__all__ = [
    "build_model",
    "find_model",
    "iterations",
    "known_parameter",
    "model_names",
    "note_factors",
    "parse_alpha",
    "require_probabilities",
    "split_parameter",
]

Model = TypeVar("Model")

#: Parameters which the command line sets by itself, or by options of their own.
_HIDDEN = {"callback", "verbose", "random_state", "levels", "duplicates", "estimator", "threshold"}


def model_names() -> dict[str, type[RatingModel]]:
    """Return the models by their names on the command line.

    Examples
    --------
    >>> {"als", "binary-mmmf", "gibbs-mmmf"} <= set(model_names())
    True
    """
    from cofactor.ratings import MODELS

    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower(): model for name, model in MODELS.items()}


def parse_alpha(text: str) -> Any:
    """Return a number, ``"auto"``, or a list of these.

    Examples
    --------
    >>> parse_alpha("8"), parse_alpha("auto"), parse_alpha("8,auto,12.5")
    (8.0, 'auto', [8.0, 'auto', 12.5])
    """
    try:
        parts = [part if part == "auto" else float(part) for part in text.replace(" ", "").split(",")]
    except ValueError:
        raise InputError(
            f"--alpha {text}: expected a number above 0, auto, or a comma-separated list of these"
        ) from None
    return parts[0] if len(parts) == 1 else parts


def build_model(
    name: str,
    *,
    alpha: str = "auto",
    factors: int | None = None,
    seed: int | None = 0,
    params: Sequence[str] | None = None,
    where_it_has: bool = False,
    **settings: Any,
) -> RatingModel:
    """Return the unfitted model which the options describe.

    Parameters
    ----------
    name : str
        Name of the model; case, hyphens and underscores do not matter.
    alpha, factors, seed
        As on the command line. For an ensemble, alpha and factors are those of its members.
    params : sequence of str, optional
        Other parameters, each ``name=value``.
    where_it_has : bool, default=False
        Leave alpha or factors out, with a note, where the model has no such parameter; by default that is an error.
    **settings
        Further parameters, as Python values.

    Returns
    -------
    RatingModel

    Raises
    ------
    InputError
        If the model or a parameter is unknown.
    """
    kind = find_model(name, model_names())
    model = kind(**_of_ensemble(kind.__name__, params), random_state=seed, **settings)
    inner = "estimator__" if kind.__name__ == "Ensemble" else ""
    # An ensemble's own default members have a small d and alpha="auto"; nothing to set where nothing was asked.
    values: dict[str, Any] = {}
    if alpha != "auto" and _takes(model, f"{inner}alpha", f"--alpha {alpha}", "penalty to weigh", where_it_has):
        values[f"{inner}alpha"] = parse_alpha(alpha)
    if factors is not None and _takes(
        model, f"{inner}n_factors", f"--factors {factors}", "number of factors", where_it_has
    ):
        values[f"{inner}n_factors"] = factors
    for text in params or ():
        key, value = split_parameter(text)
        if key != "estimator":
            name = known_parameter(model, key, inner)
            if name in values:
                raise InputError(f"--param {text}: {key} is set twice, here and by another option; give it once")
            values[name] = value
    model.set_params(**values)
    return model


def _takes(model: RatingModel, parameter: str, option: str, what: str, lenient: bool) -> bool:
    """Whether the model has the parameter which an option sets; a note, or an error, if not."""
    if parameter in model.get_params():
        return True
    name = type(getattr(model, "estimator", model)).__name__
    if lenient:
        note(f"cofactor: note: {option} does not concern {name}, which has no {what}")
        return False
    own = ", ".join(parameters_of(model))
    raise InputError(f"{option}: {name} has no {what}; leave the option out. With --param it takes {own}")


def note_factors(factors: int | None, models: Iterable[Any], n_users: int, n_items: int) -> None:
    """Say how many factors are used where more were asked for than a product of factors can have.

    Models with probabilities use all: their factors are more than a product.
    """
    most = min(n_users, n_items)
    if factors is not None and factors > most and not all(hasattr(model, "predict_proba") for model in models):
        note(
            f"cofactor: note: --factors {factors} is more than the smaller side of {n_users:,} users × {n_items:,} "
            f"items; at most {most:,} are used"
        )


def find_model(name: str, names: Mapping[str, Model]) -> Model:
    """Return the model of that name; case, hyphens and underscores do not matter."""
    kind = {folded(known): model for known, model in names.items()}.get(folded(name))
    if kind is None:
        near = nearest(name, names)
        hint = f" (did you mean {', '.join(near)}?)" if near else ""
        raise InputError(f"--model {name}: not a known model{hint}; expected one of {', '.join(names)}")
    return kind


def _of_ensemble(kind: str, params: Sequence[str] | None) -> dict[str, Any]:
    """Return the members' kind, so that their parameters can be set by name."""
    if kind != "Ensemble":
        return {}
    from cofactor.ratings import MMMF

    asked = [value for key, value in map(split_parameter, params or ()) if key == "estimator"]
    if not asked:
        return {"estimator": MMMF(n_factors=8)}
    member = find_model(str(asked[-1]), model_names())
    return {"estimator": member(n_factors=8) if "n_factors" in member().get_params() else member()}


def split_parameter(text: str) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE; the value as a number, a truth value, None, a list of these, or the text."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--param {text}: expected NAME=VALUE, such as max_iter=200")
    return key.strip(), _value(value.strip())


def _value(text: str) -> Any:
    """Return a number, a truth value, None, a list of these, or the text."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return json.loads(text)
    except ValueError:
        return text


def known_parameter(model: Any, key: str, inner: str = "") -> str:
    """Return the name under which `set_params` takes a parameter."""
    for name in (key, inner + key):
        if name in model.get_params() and name not in _HIDDEN:
            return name
    options = ", ".join(parameters_of(model))
    raise InputError(f"--param {key}: {type(model).__name__} has no such parameter; it has {options}")


def parameters_of(model: Any) -> list[str]:
    """Return the parameters which --param can set."""
    return sorted(name for name in model.get_params() if name.split("__")[-1] not in _HIDDEN)


def require_probabilities(model: RatingModel, file: str, option: str) -> None:
    """Refuse a model that gives levels no probability, with names of those that do."""
    if not hasattr(model, "predict_proba"):
        having = ", ".join(name for name, kind in model_names().items() if hasattr(kind(), "predict_proba"))
        raise InputError(
            f"{option}: {file} is a model of {type(model).__name__}, without probabilities; {having} have them"
        )


def iterations(model: RatingModel) -> list[int]:
    """Return the iterations, or sweeps, of a fitted model: one number, or one for each stage or member."""
    parts = getattr(model, "members_", None) or getattr(model, "stages_", None)
    if parts:
        return [sum(iterations(part)) for part in parts]
    return [int(model.n_iter_)]
