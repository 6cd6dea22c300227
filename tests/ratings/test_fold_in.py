"""Fold-in of users who rated items the model has never seen, as happens in every real split by users."""

from copy import copy
from pathlib import Path

import numpy as np
import pytest

from cofactor.datasets import load_ratings
from cofactor.evaluation import FoldInScorer, StrongGeneralization, evaluate
from cofactor.ratings import ALS, HMF, MMMF, PMMMF, IdMap, RatingModel, as_ratings
from cofactor.ratings.data import merged, restrict

from .reference import planted

X, Y = planted()


def test_ratings_of_unknown_items_say_nothing() -> None:
    model = MMMF(3, alpha=1.0, random_state=0).fit(X, Y)
    known = [("new", item) for item in np.unique(X[:, 1])[:5]]
    alone = model.fold_in(known, [1, 2, 3, 2, 1])
    among = model.fold_in([*known, ("new", 10**6), ("other", 10**6)], [1, 2, 3, 2, 1, 3, 3])
    assert among.users_.ids.tolist() == ["new", "other"]
    assert np.array_equal(among.U_[0], alone.U_[0])
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
    data = load_ratings("ml-100k", data_home=data_dir)
    model = ALS(alpha=10, random_state=0)
    split = StrongGeneralization(random_state=0)
    reports = evaluate(model, data.X, data.y, protocol=split)
    assert len(reports) == 3
    assert 0.6 < np.mean([report["mae"] for report in reports]) < 0.8
    train, test = next(split.split(data.X, data.y))
    model.fit(data.X[train], data.y[train])
    found = -FoldInScorer(data.X, data.y)(model, data.X[test], data.y[test])
    assert found == pytest.approx(reports[0]["mae"])


def test_parts_of_ratings_merge_to_the_whole() -> None:
    whole = as_ratings(X, Y)
    half = np.arange(len(X)) % 2 == 0
    earlier, later = as_ratings(X[half], Y[half], whole.scale), as_ratings(X, Y, whole.scale)
    other = as_ratings(X[~half], Y[~half], whole.scale)
    worse = as_ratings(X[half], np.full(half.sum(), whole.scale[0]), whole.scale)
    few = whole.users.ids[[2, 5]]
    for both in (merged(earlier, other), merged(other, earlier), merged(worse, later)):
        assert both.users == whole.users
        assert both.items == whole.items
        for name in ("indptr", "indices", "levels", "col_indptr", "col_indices", "to_csr"):
            assert np.array_equal(getattr(both, name), getattr(whole, name))
        chosen = np.isin(X[:, 0], few)
        own = as_ratings(X[chosen], Y[chosen], whole.scale, items=whole.items)
        some = restrict(both, users=IdMap([*few, -1]))
        assert (some.users, some.items, some.levels.tolist()) == (own.users, whole.items, own.levels.tolist())


@pytest.mark.filterwarnings("ignore:all ratings are")
@pytest.mark.parametrize("kind", [ALS, HMF, MMMF, PMMMF])
@pytest.mark.parametrize("level", [1, 5])
def test_where_one_level_was_seen_unknown_ids_get_it_too(kind: type[RatingModel], level: int) -> None:
    model = kind(3, alpha=5.0, levels=[1, 2, 3, 4, 5], random_state=0).fit(X, [level] * len(X))
    known = X[0].tolist()
    pairs = [known, ["new", known[1]], [known[0], "new"], ["new", "new"]]
    assert model.predict(pairs).tolist() == [level] * 4


def test_several_users_none_of_whom_is_known_give_a_warning() -> None:
    model = MMMF(3, alpha=1.0, random_state=0).fit(X, Y)
    with pytest.warns(UserWarning, match="none of the 2 users was in training.*fold_in.*FoldInScorer"):
        model.predict([(10**6, X[0, 1]), (10**6 + 1, X[0, 1])])
    model.predict([(10**6, X[0, 1]), (10**6, X[1, 1])])  # someone new
    model.predict([(10**6, X[0, 1]), (10**6 + 1, X[0, 1]), X[0]])


def test_advice_is_what_a_fold_in_can_follow() -> None:
    model = MMMF(3, alpha=1.0, random_state=0).fit(X, Y)
    item = X[0, 1]
    with pytest.raises(ValueError, match=r"1 rating repeats .*; remove them, .* set_params\(duplicates='last'\), or"):
        model.fold_in([("new", item), ("new", item)], [1, 2])
    assert copy(model).set_params(duplicates="last").fold_in([("new", item)] * 2, [1, 2]).ratings_.n_ratings == 1
    with pytest.raises(ValueError, match=r"not on the scale 1, 2, 3, 4, 5, found 7; correct them; a model .* fitted"):
        model.fold_in([("new", item)], [7])
