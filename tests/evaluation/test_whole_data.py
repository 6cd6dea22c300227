"""Frames with a column of ratings, and data sets, are measured as they are fitted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from tests.together import together

from cofactor.datasets import InteractionDataset, make_labels, make_ratings
from cofactor.errors import InvalidInputError
from cofactor.evaluation import evaluate, evaluate_labels, evaluate_recommendations
from cofactor.labels import PLST
from cofactor.ratings import ALS, EASE

DATA = make_ratings(60, 40, 3, density=0.4, random_state=0)
COLUMNS = {"stars": DATA.y, "item": DATA.X[:, 1], "user": DATA.X[:, 0]}
MODEL = ALS(3, 3.0, random_state=0)


@together("whole", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), DATA], ids=["pandas", "polars", "set"])
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
    interactions = InteractionDataset("plays", DATA.X, DATA.y, None)
    found = evaluate_recommendations(EASE(alpha=100.0, random_state=0), interactions).mean("EASE", "ndcg@10")
    assert found == evaluate_recommendations(EASE(alpha=100.0, random_state=0), DATA.X, counts=DATA.y).mean(
        "EASE", "ndcg@10"
    )
    pairs = pd.DataFrame(DATA.X, columns=["user", "item"])
    assert evaluate_recommendations(EASE(alpha=100.0, random_state=0), pairs).mean("EASE", "ndcg@10").n == found.n
    for whole in (interactions, pairs, DATA.X):
        with pytest.raises(InvalidInputError, match="X holds no ratings"):
            evaluate(MODEL, whole)
    with pytest.raises(InvalidInputError, match="X holds no ratings"):
        MODEL.fit(DATA.X, DATA.y).score(DATA.X)


@together("measure", [evaluate, evaluate_recommendations])
def test_a_protocol_in_the_place_of_ratings_is_told(measure) -> None:
    with pytest.raises(
        InvalidInputError, match="y='kfold': expected ratings; .* name what comes next: protocol='kfold'"
    ):
        measure(MODEL, DATA, "kfold")


def test_frames_and_matrices_of_counts_are_measured_as_counts() -> None:
    model = EASE(alpha=100.0, counts="linear", random_state=0)
    plays = np.random.default_rng(0).geometric(0.1, len(DATA.y)).astype(float)
    told = evaluate_recommendations(model, DATA.X, counts=plays).mean("EASE", "ndcg@10")
    assert told != evaluate_recommendations(model, DATA.X).mean("EASE", "ndcg@10")
    columns = {"user": DATA.X[:, 0], "item": DATA.X[:, 1], "plays": plays}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        assert evaluate_recommendations(model, frame).mean("EASE", "ndcg@10") == told
    matrix = sparse.coo_array((plays, DATA.X.T), shape=(60, 40))
    assert evaluate_recommendations(model, matrix).mean("EASE", "ndcg@10") == told
    interactions = sparse.coo_array((np.ones(len(plays)), DATA.X.T), shape=(60, 40))
    assert evaluate_recommendations(model, interactions).mean("EASE", "ndcg@10").n == told.n
    stars = sparse.csr_array((DATA.y, DATA.X.T), shape=(60, 40))
    with pytest.raises(InvalidInputError, match=r"may be ratings or counts: 1, 2, 3, 4, 5; with m = X.tocoo\(\)"):
        evaluate_recommendations(model, stars)


def test_label_data_are_measured_as_their_parts_and_what_is_not_known_does_not_count() -> None:
    data = make_labels(80, 8, 3, n_groups=1, random_state=0)[0]
    gaps = replace(data, known=np.random.default_rng(0).random(data.Y.shape) < 0.7)
    for whole, Y in ((data, data.Y), (gaps, gaps.targets)):
        model = PLST(missing="ignore", random_state=0)
        found, parts = (evaluate_labels(model, *given, splitter=3) for given in ((whole,), (whole.X, Y)))
        assert [row["micro_f1"] for row in found] == [row["micro_f1"] for row in parts]
    with pytest.raises(InvalidInputError, match="Y is missing; give the labels, or a label data set as X"):
        evaluate_labels(PLST(), data.X)
