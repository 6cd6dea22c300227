"""Features of users and items in evaluations and comparisons."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from cofactor.datasets import RatingDataset
from cofactor.errors import InvalidInputError
from cofactor.evaluation import compare, evaluate
from cofactor.evaluation.run.sources import sources_of
from cofactor.ratings import ALS, PMF

MODEL = ALS(2, 1.0, random_state=0)


@lru_cache
def data() -> RatingDataset:
    """Return ratings that depend on a feature of the items."""
    rng = np.random.default_rng(0)
    X = np.argwhere(rng.random((30, 40)) < 0.5)
    noir = rng.random(40) < 0.5
    y = np.clip(np.round(2 + 2.0 * noir[X[:, 1]] + rng.normal(0, 0.5, len(X))), 1, 5)
    genres = (range(40), {"genre": np.where(noir, "noir", "drama")})
    return RatingDataset("noir", X, y, np.arange(1.0, 6.0), features={"item_features": genres})


#: Items of the test part are not in training.
COLD = [(np.flatnonzero(data().X[:, 1] < 30), np.flatnonzero(data().X[:, 1] >= 30))]


def test_cold_items_of_the_test_part_are_known_by_features() -> None:
    known = data()
    plain, rich = (evaluate(MODEL, known.X, known.y, COLD, **given)[0]["mae"] for given in ({}, known.features))
    assert rich < plain - 0.4


def test_users_who_are_folded_in_bring_their_features() -> None:
    known = data()
    old = (range(30), {"kind": np.where(np.arange(30) % 2, "a", "b")})
    (found,) = evaluate(MODEL, known.X, known.y, "strong", 1, test_users=15, user_features=old, **known.features)
    assert found["mae"] < 0.8
    with pytest.raises(TypeError, match="PMF takes no features: leave out item_features"):
        evaluate(PMF(2, 1.0), known.X, known.y, **known.features)


def test_comparisons_give_them_to_those_who_take_them() -> None:
    known = data()
    bare = replace(known, features={})
    methods = {"als": MODEL, "pmf": PMF(2, 1.0, random_state=0)}
    with_them, without = (compare(methods, one, splits=COLD, metrics=["mae"]).records() for one in (known, bare))
    one, other = (
        {record["method"]: record["value"] for record in found if record["metric"] == "mae"}
        for found in (with_them, without)
    )
    assert one["als"] < other["als"] - 0.4
    assert one["pmf"] == other["pmf"]
    assert sources_of(known)[0].checksum != sources_of(bare)[0].checksum
    with pytest.raises(InvalidInputError, match="has item features, and no method here takes any; leave them out"):
        compare({"pmf": methods["pmf"]}, known)
    with pytest.raises(InvalidInputError, match="a search fits als without them; leave the grid out"):
        compare(methods, known, grids={"als": {"n_factors": [1, 2]}})
