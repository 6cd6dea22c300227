"""Fold-in of users who rated items the model has never seen, as happens in every real split by users."""

from pathlib import Path

import numpy as np
import pytest

from cofactor.datasets import load_dataset
from cofactor.evaluation import FoldInScorer, StrongGeneralization, evaluate
from cofactor.ratings import ALS, MMMF

from .reference import planted

X, Y = planted()


def test_ratings_of_unknown_items_say_nothing() -> None:
    model = MMMF(3, alpha=1.0, random_state=0).fit(X, Y)
    known = [("new", item) for item in np.unique(X[:, 1])[:5]]
    alone = model.fold_in(known, [1, 2, 3, 2, 1])
    among = model.fold_in([*known, ("new", 10**6), ("other", 10**6)], [1, 2, 3, 2, 1, 3, 3])
    assert among.users_.ids.tolist() == ["new", "other"]
    np.testing.assert_allclose(among.U_[0], alone.U_[0], rtol=1e-4)  # one solver runs for all new users
    assert np.array_equal(among.U_[1], np.zeros(3))
    assert np.array_equal(among.thresholds_[1], model.common_thresholds_)


def test_they_are_an_error_on_request() -> None:
    model = MMMF(3, alpha=1.0, unknown="error", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="1 rating is of items which the model does not know, for example 1000000"):
        model.fold_in([("new", X[0, 1]), ("new", 10**6)], [1, 2])


def test_nothing_known_is_an_error() -> None:
    model = MMMF(3, alpha=1.0, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="2 ratings are of items which the model does not know"):
        model.fold_in([("new", 10**6), ("new", 10**6 + 1)], [1, 2])


def test_strong_generalization_on_movielens(data_dir: Path) -> None:
    """Held-out users always have rated some films that nobody else has."""
    data = load_dataset("ml-100k", data_home=data_dir)
    model = ALS(alpha=10, random_state=0)
    split = StrongGeneralization(random_state=0)
    reports = evaluate(model, data.X, data.y, protocol=split)
    assert len(reports) == 3
    assert 0.6 < np.mean([report["mae"] for report in reports]) < 0.8
    train, test = next(split.split(data.X, data.y))
    model.fit(data.X[train], data.y[train])
    found = -FoldInScorer(data.X, data.y)(model, data.X[test], data.y[test])
    assert found == pytest.approx(reports[0]["mae"])
