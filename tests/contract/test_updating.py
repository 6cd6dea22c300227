"""What an update does to every model: new ratings, users and items come in, and nothing else changes."""

from copy import copy
from functools import lru_cache

import numpy as np
import pytest

import cofactor
from cofactor.ratings import GPLVM, RatingModel
from cofactor.ratings.sampled.base import SampledModel

from .models import bits, data, every_class, fresh, simple_models

NEW_USER, CHANGED_USER, NEW_ITEM = 129, 101, 7 * 23


@lru_cache
def days(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs, ratings, and which of them are of the second day: a new user's, a new item's, and some others."""
    X, y = data(name)
    few = X[:, 1] <= 7 * 11
    late = ((X[:, 0] == NEW_USER) & few) | (X[:, 1] == NEW_ITEM)
    late &= (X[:, 0] < 110) | (X[:, 0] == NEW_USER)
    late[np.flatnonzero((X[:, 0] == CHANGED_USER) & few)[::2]] = True
    return X, y, late


@lru_cache
def yesterday(name: str) -> RatingModel:
    """Return the model of the first day; not to be changed."""
    X, y, late = days(name)
    early = ~late & (X[:, 0] != NEW_USER) & (X[:, 1] != NEW_ITEM)
    return fresh(name, n_sweeps=28).fit(X[early], y[early])  # so many samples that means of them agree


@lru_cache
def today(name: str) -> RatingModel:
    """Return the model updated with the second day; not to be changed."""
    X, y, late = days(name)
    return copy(yesterday(name)).update(X[late], y[late])


@every_class
def test_an_update_knows_all_and_predicts_better(name):
    X, y, late = days(name)
    before, model = yesterday(name), today(name)
    assert set(model.users_.ids) == {*before.users_.ids, NEW_USER}
    assert set(model.items_.ids) == {*before.items_.ids, NEW_ITEM}
    assert model.ratings_.n_ratings == before.ratings_.n_ratings + late.sum()
    assert NEW_ITEM not in model.recommend([X[late][X[late][:, 1] == NEW_ITEM][0, 0]], 30)[0]
    assert model.score(X[late], y[late]) > before.score(X[late], y[late])


@every_class
def test_rows_without_new_ratings_stay_to_the_bit(name):
    X, _, late = days(name)
    before, model = yesterday(name), today(name)
    users, items = (np.setdiff1d(ids.ids, X[late, k]) for k, ids in enumerate((before.users_, before.items_)))
    pairs = [(user, item) for user in users[:8] for item in items]
    assert len(users) > 10
    assert len(items) > 5
    if isinstance(model, GPLVM):  # predictions are made of positions of items, and of all the ratings
        where = [m.items_.index(items) for m in (model, before)]
        assert np.array_equal(model.V_[where[0]], before.V_[where[1]])
    else:
        assert np.array_equal(model.decision_function(pairs), before.decision_function(pairs))
        assert np.array_equal(model.margins(pairs), before.margins(pairs))


@every_class
def test_a_loaded_model_updates_to_the_same_bits(name, tmp_path):
    X, y, late = days(name)
    yesterday(name).save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    assert bits(loaded.update(X[late][::-1], y[late][::-1])) == bits(today(name))
    loaded.save(tmp_path / "model")
    again = cofactor.load(tmp_path / "model")
    assert again.updates_ == today(name).updates_
    assert np.array_equal(again.predict(X), today(name).predict(X))


@every_class
def test_rows_of_users_are_those_of_a_fold_in(name):
    """Of users with new ratings, from all ratings of theirs; draws differ by chance."""
    model = today(name)
    X, y, _ = days(name)
    for user in (NEW_USER, CHANGED_USER):
        rated = model.items_.ids[model.ratings_.seen(int(model.users_.index([user])[0]))]
        own = (X[:, 0] == user) & np.isin(X[:, 1], rated)
        folded = model.fold_in(X[own], y[own], known="replace")
        pairs = [(user, item) for item in model.items_.ids]
        found, margins = (np.clip(one.margins(pairs), -9, 9) for one in (model, folded))
        spread = 0.25 * np.abs(margins).mean() if _is_drawn(model) else 0
        assert np.abs(found - margins).mean() <= 2e-3 * np.abs(margins).max() + spread


@every_class
def test_a_model_without_its_ratings_refuses(name, tmp_path):
    X, y, late = days(name)
    yesterday(name).save(tmp_path / "model", ratings=False)
    lean = cofactor.load(tmp_path / "model")
    before = bits(lean)
    with pytest.raises(ValueError, match="saved without its ratings: .*save the fitted model with ratings=True"):
        lean.update(X[late], y[late])
    assert bits(lean) == before


def _is_drawn(model: RatingModel) -> bool:
    return any(isinstance(part, SampledModel) for part in simple_models(model))
