"""Frames with a column of ratings, and data sets, are measured as they are fitted."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV

from cofactor.datasets import TakeDataset, make_ratings
from cofactor.errors import InvalidInputError
from cofactor.evaluation import evaluate, evaluate_recommendations
from cofactor.ratings import ALS, EASE

DATA = make_ratings(60, 40, 3, density=0.4, random_state=0)
COLUMNS = {"stars": DATA.y, "item": DATA.X[:, 1], "user": DATA.X[:, 0]}
MODEL = ALS(3, 3.0, random_state=0)


@pytest.mark.parametrize("whole", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), DATA], ids=["pandas", "polars", "set"])
def test_the_whole_is_measured_as_its_parts(whole) -> None:
    parts = evaluate(MODEL, DATA.X, DATA.y, n_splits=1)[0]
    assert evaluate(MODEL, whole, n_splits=1)[0]["mae"] == parts["mae"]
    lists = evaluate_recommendations(MODEL, DATA.X, DATA.y, likes=4)
    assert evaluate_recommendations(MODEL, whole, likes=4).mean("ALS", "ndcg@10") == lists.mean("ALS", "ndcg@10")
    model = MODEL.fit(DATA.X, DATA.y)
    assert model.score(whole) == model.score(DATA.X, DATA.y)


def test_a_search_over_a_frame_has_scores() -> None:
    grid = {"alpha": [1.0, 3.0]}
    found = GridSearchCV(MODEL, grid, cv=3).fit(pd.DataFrame(COLUMNS)).cv_results_["mean_test_score"]
    parts = GridSearchCV(MODEL, grid, cv=3).fit(DATA.X, DATA.y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(found, parts)


def test_takes_are_measured_by_their_lists_alone() -> None:
    takes = TakeDataset("plays", DATA.X, DATA.y, None)
    found = evaluate_recommendations(EASE(alpha=100.0), takes).mean("EASE", "ndcg@10")
    assert found == evaluate_recommendations(EASE(alpha=100.0), DATA.X, counts=DATA.y).mean("EASE", "ndcg@10")
    pairs = pd.DataFrame(DATA.X, columns=["user", "item"])
    assert evaluate_recommendations(EASE(alpha=100.0), pairs).mean("EASE", "ndcg@10").n == found.n
    for whole in (takes, pairs, DATA.X):
        with pytest.raises(InvalidInputError, match="X holds no ratings"):
            evaluate(MODEL, whole)
    with pytest.raises(InvalidInputError, match="X holds no ratings"):
        MODEL.fit(DATA.X, DATA.y).score(DATA.X)


@pytest.mark.parametrize("measure", [evaluate, evaluate_recommendations])
def test_a_protocol_in_the_place_of_ratings_is_told(measure) -> None:
    with pytest.raises(
        InvalidInputError, match="y='kfold': expected ratings; .* name what comes next: protocol='kfold'"
    ):
        measure(MODEL, DATA, "kfold")
