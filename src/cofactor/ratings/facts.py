"""What there is to say of a fitted model of ratings, or of interactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cofactor.model.facts import Facts, chosen_alpha
from cofactor.text import plural

_TRIED = ("model", "settings", "gain", "weight")


def facts_of(model: Any) -> Facts:
    """Return sizes, scale and effort of a fitted model.

    Parameters
    ----------
    model : RatingModel, ImplicitModel or Recommender
        Fitted.
    """
    rated, taken = model.predicts_ratings, model.updates_
    since: dict[str, Any] = {}
    if taken is not None and taken.n_updates:
        since = {"updates": taken.n_updates, "new_ratings": taken.n_new, "refit_due": model.refit_due_}
    values = {
        "model": type(model).__name__,
        "users": len(model.users_),
        "items": len(model.items_),
        **({"levels": model.scale_.tolist()} if rated else {}),
        **({} if model.rating_scale_ is None else {"meanings": model.rating_scale_.names()}),
        **model.effort(),
        "alpha": chosen_alpha(model),
        **({"kind_weights": dict(kinds)} if (kinds := getattr(model, "kind_weights_", None)) else {}),
        **since,
    }
    shown = {
        "users": f"{values['users']:,}",
        "items": f"{values['items']:,}",
        **({"levels": numbers(values["levels"], "g")} if rated else {}),
        **_meanings(values),
        **_effort_in_words(values),
        **({"kinds": _kinds_in_words(values["kind_weights"])} if "kind_weights" in values else {}),
        **_updates_in_words(values, "rating" if rated else "interaction"),
    }
    what = "ratings" if rated else "interactions"
    due = (f"a tenth or more of the {what} came after the fit: fit a model to all of them",)
    return Facts(values["model"], values, shown, due if values.get("refit_due") else ())


def numbers(values: Sequence[float], form: str = ".3g") -> str:
    """Write numbers with commas between them.

    Examples
    --------
    >>> numbers([1.0, 2.5])
    '1, 2.5'
    """
    return ", ".join(format(value, form) for value in values)


def _kinds_in_words(weights: Mapping[str, float]) -> str:
    """Return what an event of each kind counts.

    Examples
    --------
    >>> _kinds_in_words({"purchase": 1.0, "view": 0.03})
    'purchase 1, view 0.03'
    """
    return ", ".join(f"{kind} {weight:g}" for kind, weight in weights.items())


def _meanings(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what the levels stand for, where the model knows it."""
    if "meanings" not in values:
        return {}
    pairs = zip(values["levels"], values["meanings"], strict=True)
    return {"meaning": ", ".join(f"{level:g} = {meaning}" for level, meaning in pairs)}


def _updates_in_words(values: Mapping[str, Any], one: str) -> dict[str, str]:
    if "updates" not in values:
        return {}
    news = f"{plural(values['new_ratings'], one, form=',')} in {plural(values['updates'], 'update')}"
    return {"since the fit": news}


def _tried_in_words(tried: Mapping[str, Sequence[Any]]) -> str:
    """Write a line for each model that was tried.

    Examples
    --------
    >>> found = {"model": ["EASE", "RP3beta"], "settings": [{"alpha": 400.0}, {}], "gain": [0.2, 0.1], "weight": [1, 0]}
    >>> print(_tried_in_words(found))
    EASE (alpha 400): 0.2000, weight 1.00
    RP3beta: 0.1000, left out
    """
    lines = []
    for name, settings, gain, weight in zip(*(tried[key] for key in _TRIED), strict=True):
        chosen = ", ".join(f"{key} {value:.3g}" for key, value in settings.items())
        used = f"weight {weight:.2f}" if weight else "left out"
        lines.append(f"{name}{f' ({chosen})' if chosen else ''}: {gain:.4f}, {used}")
    return "\n".join(lines)


def _effort_in_words(values: Mapping[str, Any]) -> dict[str, str]:
    words = {"parts": ", ".join(values["parts"])} if "parts" in values else {}
    if "tried" in values:
        words["held-out gain"] = _tried_in_words(values["tried"])
    if "factors" in values:
        words["factors"] = str(values["factors"])
    if "sweeps" in values:
        chains = f" of {values['chains']} chains" if values["chains"] > 1 else ""  # after an update they are gone
        words["sweeps"] = f"{values['sweeps']:,}{chains}, the first {values['burn_in']:,} burn-in"
        words["samples kept"] = f"{values['samples']:,} ({values['sample_bytes'] / 1e6:,.1f} MB of memory)"
    elif "iterations" in values:
        words["iterations"] = numbers(values["iterations"], ",")
    alpha = values["alpha"]
    if alpha is not None:  # not every model has a penalty
        words["alpha"] = numbers(alpha, ".4g") if isinstance(alpha, list) else f"{alpha:.4g}"
    return words
