"""Features of users and items in evaluations and comparisons."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from cofactor.datasets import RatingDataset
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.evaluation import compare, evaluate, evaluate_recommendations
from cofactor.evaluation.comparison import sources_of
from cofactor.ratings import ALS, EASE, PMF, OrdinalProbit, Recommender

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


def test_a_data_set_brings_its_features() -> None:
    known = data()
    parts = evaluate(MODEL, known.X, known.y, COLD, **known.features)[0]["mae"]
    assert evaluate(MODEL, known, protocol=COLD)[0]["mae"] == parts
    bare = replace(known, features={})
    results = [evaluate(PMF(2, 1.0, random_state=0), one, protocol=COLD)[0]["mae"] for one in (known, bare)]
    assert results[0] == results[1]  # it takes none
    whole, in_parts = (ALS(2, 1.0, random_state=0) for _ in range(2))
    whole.fit(known)
    in_parts.fit(known.X, known.y, **known.features)
    np.testing.assert_array_equal(whole.predict(known.X), in_parts.predict(known.X))
    assert Recommender([EASE(alpha=10.0)], ratings=None).fit(known.X, **known.features).cold_ is not None


def test_items_that_are_new_in_the_test_part_are_recommended_by_features() -> None:
    rng = np.random.default_rng(0)
    X = np.argwhere(rng.random((30, 40)) < np.where(np.add.outer(np.arange(30), np.arange(40)) % 2, 0.9, 0.05))
    genres = (range(40), {"genre": np.where(np.arange(40) % 2, "noir", "drama")})
    cold = [(np.flatnonzero(X[:, 1] < 30), np.flatnonzero(X[:, 1] >= 30))]
    models = {"rich": Recommender([EASE(alpha=10.0)], ratings=None, random_state=0), "ease": EASE(alpha=10.0)}
    plain = evaluate_recommendations(models, X, None, cold, at=5)
    rich = evaluate_recommendations(models, X, None, cold, at=5, auc=True, item_features=genres)
    assert plain.mean("rich", "hit_rate@5").mean == 0
    assert rich.mean("rich", "hit_rate@5").mean > 0.9
    assert rich.mean("rich", "auc").mean > 0.8
    assert 0.25 < rich.of_lists["rich"]["coverage@5"][0] <= 1
    assert rich.mean("ease", "hit_rate@5").mean == 0  # it takes none


def test_new_users_of_lists_bring_their_features() -> None:
    known = data()
    kinds = (range(30), {"kind": np.where(np.arange(30) % 2, "a", "b")})
    model = Recommender([EASE(alpha=10.0)], OrdinalProbit(2, n_sweeps=8, burn_in=4), random_state=0)
    found = evaluate_recommendations(model, known.X, known.y, "new-users", user_features=kinds, test_users=0.3)
    assert found.mean("Recommender", "ndcg@10").n == 9


def test_models_of_lists_without_features_are_refused_them() -> None:
    known = data()
    with pytest.raises(InvalidTypeError, match="EASE takes no features"):
        evaluate_recommendations(EASE(alpha=10.0), known.X, known.y, **known.features)
