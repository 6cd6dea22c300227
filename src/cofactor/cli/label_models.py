"""Label models by their names on the command line, and what is tried where nothing is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cofactor.cli.errors import InputError
from cofactor.cli.models import find_model, known_parameter, model_names, parse_alpha, split_parameter
from cofactor.cli.tables import note
from cofactor.text import folded

if TYPE_CHECKING:
    from cofactor.labels import LabelModel

__all__ = [
    "DEFAULT",
    "build_label_model",
    "grid_of",
    "label_model_names",
    "parameter_names",
    "parse_threshold",
    "refuse_label_model",
    "rules_of",
]

#: On emotions, medical, cal500 and bibtex as accurate as the best of the fast ones, within .012 micro-F1 with a learned
#: threshold, and the fastest of them.
DEFAULT = "plst"

_FACTORS = ("n_components",)


def label_model_names() -> dict[str, type[LabelModel]]:
    """Return the label models by their names on the command line.

    Examples
    --------
    >>> "binary-relevance" in label_model_names()
    True
    """
    from cofactor.labels import MODELS

    return {re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "-", name).lower(): model for name, model in MODELS.items()}


def parse_threshold(text: str) -> float | str:
    """Return a number, or the name of a rule.

    Examples
    --------
    >>> parse_threshold("0"), parse_threshold("per-label")
    (0.0, 'per-label')
    """
    from cofactor.labels.decoding import RULES

    if text in RULES:
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--threshold {text}: expected a number, or one of {', '.join(RULES)}") from None


def build_label_model(
    name: str,
    *,
    alpha: str = "auto",
    factors: int | None = None,
    seed: int | None = 0,
    threshold: str = "0",
    params: Sequence[str] | None = None,
    where_it_has: bool = False,
) -> LabelModel:
    """Return the unfitted model which the options describe.

    Parameters
    ----------
    name : str
        Name of the model; case, hyphens and underscores do not matter.
    alpha, factors, seed, threshold
        As on the command line. ``alpha="auto"`` leaves the parameter at its default: see `grid_of`.
    params : sequence of str, optional
        Other parameters, each ``name=value``; the estimator of binary relevance by its class name.
    where_it_has : bool, default=False
        Leave alpha or factors out, with a note, where the model has no such parameter; by default that is an error.

    Raises
    ------
    InputError
        If the model or a parameter is unknown.
    """
    model = _kind(name)()
    known = model.get_params(deep=False)
    given = [split_parameter(text) for text in params or ()]
    for key, value in given:
        if key == "estimator" and key in known:
            model.set_params(estimator=_component(model, str(value)))
    values: dict[str, Any] = {"random_state": seed, "threshold": parse_threshold(threshold)}
    if alpha != "auto" and (own := _one_of(model, f"--alpha {alpha}", ("alpha",), where_it_has)):
        values[own] = parse_alpha(alpha)
    if factors is not None and (own := _one_of(model, f"--factors {factors}", _FACTORS, where_it_has)):
        values[own] = factors
    for key, value in given:
        if not (key == "estimator" and key in known):
            values[known_parameter(model, key)] = value
    return model.set_params(**values)


def parameter_names(params: Sequence[str] | None) -> dict[str, str]:
    """Return what messages are to call each parameter which was given by ``--param``.

    Examples
    --------
    >>> parameter_names(["n_components=3"])
    {'scale': '--param scale=', 'n_components': '--param n_components='}
    """
    # `--levels` is for ratings: the only `scale` of labels is a parameter of MLC-HMF.
    return {key: f"--param {key}=" for key in ("scale", *(split_parameter(text)[0] for text in params or ()))}


def _kind(name: str) -> type[LabelModel]:
    """Return the label model of a name; of other models say what they are."""
    from cofactor.labels import TRANSFORMERS

    names = label_model_names()
    plain, label = re.sub(r"[-_ ]", "", name.lower()), f"label models are {', '.join(names)}"
    if plain in {re.sub("-", "", known) for known in model_names()}:
        raise InputError(f"--model {name}: is a model of ratings; {label}")
    if plain in {known.lower() for known in TRANSFORMERS}:
        raise InputError(f"--model {name}: is a transformer of features, to be used from Python; {label}")
    return find_model(name, names)


def refuse_label_model(name: str) -> None:
    """Refuse a label model where the data are ratings, and say which models are for these."""
    if folded(name) in {folded(known) for known in label_model_names()}:
        raise InputError(f"--model {name}: is a label model; models of ratings are {', '.join(model_names())}")


def _component(model: LabelModel, name: str) -> Any:
    kinds = model._components
    if name not in kinds:
        raise InputError(f"--param estimator={name}: expected one of {', '.join(kinds)}")
    return kinds[name]()


def _one_of(model: LabelModel, option: str, names: Sequence[str], lenient: bool) -> str | None:
    """Return the parameter which an option sets; if the model has none, None with a note, or an error."""
    found = next((name for name in names if name in model.get_params(deep=False)), None)
    if found is None and lenient:
        note(f"cofactor: note: {option} does not concern {type(model).__name__}, which has no such parameter")
    elif found is None:
        hidden = {"callback", "verbose", "random_state", "threshold", "n_jobs"}
        options = ", ".join(sorted(set(model.get_params()) - hidden))
        raise InputError(f"{option}: {type(model).__name__} has no such parameter; set others with --param: {options}")
    return found


def grid_of(model: LabelModel, params: Sequence[str] | None = None, factors: int | None = None) -> dict[str, list[Any]]:
    """Return what is tried where nothing is said about the most important parameters of a model.

    Parameters
    ----------
    model : LabelModel
    params : sequence of str, optional
        Parameters given as ``name=value``: not tried.
    factors : int, optional
        Number of factors, if given: not tried.
    """
    known = model.get_params(deep=False)
    fixed = {split_parameter(text)[0] for text in params or ()}
    fixed |= set(_FACTORS) if factors is not None else set()
    return {name: values for name, values in model.default_grid().items() if name in known and name not in fixed}


def rules_of(model: LabelModel) -> tuple[str, ...]:
    """Return the rules by which the scores are cut in the choice of parameters."""
    return (model.threshold,) if isinstance(model.threshold, str) else ("plain",)
