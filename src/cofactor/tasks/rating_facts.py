"""What there is to say of a fitted model of ratings, or of interactions."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.errors import InvalidInputError
from cofactor.model.times import pairs_for
from cofactor.ratings import Recommender
from cofactor.ratings.facts import facts_of, predicts_ratings
from cofactor.tasks.plain import Facts, Loaded

__all__ = ["fit_facts", "rating_model_of"]


def rating_model_of(model: Any, called: str = "the model") -> Any:
    """Return what predicts ratings: a model itself, or the part of a recommender.

    Parameters
    ----------
    model : RatingModel, ImplicitModel or Recommender
        Fitted.
    called : str, default="the model"
        What messages call the model.

    Raises
    ------
    InvalidInputError
        If nothing does.
    """
    if not predicts_ratings(model):
        kind = (
            "was fitted to interactions, and" if isinstance(model, Recommender) else "says who interacts with what, and"
        )
        advice = "ask it for recommendations, or predict with a recommender that was fitted to ratings"
        raise InvalidInputError(f"{called}: {type(model).__name__} {kind} predicts no ratings", advice=advice)
    return model.rating_model_ if isinstance(model, Recommender) else model


def fit_facts(model: Any, loaded: Loaded, seconds: float, notes: tuple[Any, ...]) -> Facts:
    """Describe a model that was just fitted.

    Parameters
    ----------
    model : RatingModel, ImplicitModel or Recommender
        Fitted.
    loaded : Loaded
        To what.
    seconds : float
        How long it took.
    notes : tuple of Text
        What the user should also know.
    """
    data, about_it = loaded.data, facts_of(model)
    what = "interactions" if data.holds_interactions else "ratings"
    dropped = {"dropped": data.n_dropped} if data.n_dropped and not data.holds_interactions else {}
    error = _training_error(model, data)
    values = {
        **about_it.values,
        "data": data.name,
        what: model.ratings_.n_ratings,
        **dropped,
        "seconds": round(seconds, 3),
        **({} if error is None else {"train_mae": error}),
    }
    shown = {
        **about_it.shown,
        what: f"{values[what]:,}",
        **{name: f"{n:,} ratings" for name, n in dropped.items()},
        "seconds": f"{seconds:.2f}",
        **({} if error is None else {"training MAE": f"{error:.4f}"}),
    }
    first = ("users", "items", what, "dropped", "levels", "meaning", "seconds")
    order = [name for name in first if name in shown]
    ordered = {name: shown[name] for name in (*order, *(name for name in shown if name not in order))}
    return Facts(f"{values['model']} fitted to {data.name}", values, ordered, notes)


def _training_error(model: Any, data: Any) -> float | None:
    """Return the mean absolute error on the ratings of the fit; None of a model that predicts none."""
    if not predicts_ratings(model):
        return None
    times = None if data.timestamps is None else data.timestamps.astype(np.float64)
    return float(-model.score(pairs_for(model, data.X, times), data.y))
