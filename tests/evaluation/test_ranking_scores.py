"""Models of interactions are scored, and tuned, by the lists that they recommend for held-out interactions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GridSearchCV, cross_validate

from cofactor.datasets import InteractionDataset, make_ratings
from cofactor.errors import InvalidInputError
from cofactor.evaluation import PerUserHoldout, Search, evaluate_recommendations, ranking_scorer
from cofactor.ratings import ALS, EASE, Popularity, Recommender

DATA = make_ratings(80, 50, 3, density=0.4, random_state=0)
CLICKS = DATA.X
BY_USER = PerUserHoldout(0.2, n_splits=2, random_state=0)


def parts() -> tuple[np.ndarray, np.ndarray]:
    train, test = next(iter(BY_USER.split(CLICKS)))
    return CLICKS[train], CLICKS[test]


def test_the_score_is_what_an_evaluation_of_recommendations_says() -> None:
    names = ("ndcg@10", "recall@20", "precision@10", "map@20", "mrr@10", "hit_rate@10", "capped_recall@20")
    counts = InteractionDataset("clicks", CLICKS, np.ones(len(CLICKS)), None)
    expected = evaluate_recommendations(EASE(random_state=0), counts, at=(10, 20), protocol=BY_USER)
    found = cross_validate(
        EASE(random_state=0), CLICKS, cv=BY_USER, scoring={name: ranking_scorer(name) for name in names}
    )
    own = cross_validate(EASE(random_state=0), CLICKS, cv=BY_USER)["test_score"]
    np.testing.assert_allclose(own, found["test_ndcg@10"])
    for name in names:
        assert found[f"test_{name}"].mean() == pytest.approx(expected.mean("EASE", name).mean, abs=0.01)
    model = EASE(random_state=0).fit(parts()[0])
    frame = pd.DataFrame(parts()[1], columns=["user", "item"])
    assert model.score(frame) == model.score(parts()[1]) == pytest.approx(own[0])


def test_users_unknown_to_the_fit_and_what_was_seen_are_left_out() -> None:
    train, test = parts()
    model = EASE(random_state=0).fit(train)
    value = model.score(test)
    strangers = np.column_stack([test[:, 0] + 1000, test[:, 1]])
    assert model.score(np.concatenate([test, strangers, train])) == value
    assert model.score(np.concatenate([test, train]), [1] * len(test) + [0] * len(train)) == value
    missed = np.array([[user, 999] for user in np.unique(test[:, 0])])  # an item of which training had nothing
    assert model.ranking_score(np.concatenate([test, missed]), metric="recall@20") < model.ranking_score(
        test, metric="recall@20"
    )
    for nothing in (strangers, train):
        with pytest.raises(InvalidInputError, match="nothing that is new to a user of training"):
            model.score(nothing)


def test_a_recommender_of_interactions_is_scored_by_its_lists() -> None:
    train, test = parts()
    model = Recommender(ratings=None, random_state=0).fit(train)
    assert 0 < model.score(test) == model.ranking_score(test, metric="ndcg@10") <= 1
    split = next(iter(BY_USER.split(CLICKS)))
    fitted = Recommender(random_state=0).fit(*(of[split[0]] for of in (DATA.X, DATA.y)))
    held_out = tuple(of[split[1]] for of in (DATA.X, DATA.y))
    assert fitted.score(*held_out) < 0 < fitted.ranking_score(*held_out)


def test_searches_choose_by_lists() -> None:
    grid = {"alpha": [1e-3, 30.0, 1e7]}
    tuned = GridSearchCV(EASE(random_state=0), grid, cv=BY_USER, scoring=ranking_scorer("recall@10")).fit(CLICKS)
    search = Search(EASE(random_state=0), grid, metric="recall@10", validation=BY_USER).fit(CLICKS)
    assert search.best_params_ == tuned.best_params_
    assert search.results_[0].value == pytest.approx(tuned.best_score_)
    assert Search(EASE(random_state=0), grid).fit(CLICKS, np.ones(len(CLICKS))).best_params_["alpha"] in grid["alpha"]
    train, test = parts()
    inner = Search(EASE(random_state=0), grid, metric="recall@10").fit(train)
    assert inner.score(test) == inner.best_estimator_.score(test)
    assert ranking_scorer("recall@10")(inner, test) == inner.best_estimator_.ranking_score(test, metric="recall@10")
    rated = Search(ALS(2, random_state=0), {"alpha": [1.0, 100.0]}, metric="ndcg@10").fit(DATA.X, DATA.y)
    assert 0 < rated.results_[1].value <= rated.results_[0].value <= 1


def test_what_is_no_measure_of_lists() -> None:
    for wrong in ("ndcg", "ndcg@0", "mae@10", "auc@10", 10):
        with pytest.raises(InvalidInputError, match="ndcg@10"):
            ranking_scorer(wrong)
    with pytest.raises(InvalidInputError, match="ndcg@10"):
        Search(Popularity(), {}, metric="ndgc@10").fit(CLICKS)
    with pytest.raises(InvalidInputError, match="DummyRegressor makes none"):
        Search(DummyRegressor(), {}, metric="ndcg@10").fit(CLICKS, DATA.y)
    with pytest.raises(InvalidInputError, match="ndcg@10"):
        Search(Recommender(), {}).fit(CLICKS)
