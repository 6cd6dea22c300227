"""Invented films, and ratings of them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.together import together

from cofactor.datasets import make_movies
from cofactor.errors import InvalidInputError
from cofactor.ratings import OrdinalProbit


@pytest.fixture(scope="module")
def movies():
    return make_movies(random_state=0)


def by(keys, values):
    """Return the keys, and the mean of the values of each."""
    ids, places = np.unique(keys, return_inverse=True)
    return ids, np.bincount(places, values) / np.bincount(places)


def test_sizes_are_those_asked_for(movies) -> None:
    data, (ids, films) = movies
    assert (data.n_users, data.n_ratings) == (943, 100_000)
    assert 1500 < data.n_items <= 1682 == len(ids)
    assert f"1,682 invented films ({data.n_items:,} with ratings)" in data.description
    assert len(np.unique(data.X, axis=0)) == 100_000  # nobody rates a film twice
    assert data.scale.tolist() == [1, 2, 3, 4, 5]
    assert set(np.unique(data.y)) == {1, 2, 3, 4, 5}
    assert all(len(column) == 1682 for column in films.values())
    assert set(data.X[:, 1]) <= set(ids.tolist()) == set(data.item_names)


def test_films_have_titles_of_their_own_years_and_genres(movies) -> None:
    data, (ids, films) = movies
    titles = [data.item_names[item] for item in ids.tolist()]
    assert len({title.rpartition(" (")[0] for title in titles}) == 1682
    assert all(title.endswith(f" ({year:.0f})") for title, year in zip(titles, films["year"], strict=True))
    genres = np.column_stack([films[name] for name in films if name not in ("year", "director")])
    assert set(genres.sum(axis=1)) == {1, 2, 3}
    assert 200 < len(set(films["director"])) < 800


def test_more_films_than_titles_get_numbers() -> None:
    data, _ = make_movies(30, 60_000, 30, random_state=0)
    assert len({title.rpartition(" (")[0] for title in data.item_names.values()}) == 60_000


def test_marginals_are_like_those_of_movielens(movies) -> None:
    """Of MovieLens 100K, for the same: .061 .114 .271 .342 .212; 20 to 737, median 65; up to 583, median 27."""
    data, _ = movies
    np.testing.assert_allclose(data.level_counts() / 1e5, [0.061, 0.114, 0.271, 0.342, 0.212], atol=0.015)
    of_user, of_item = (np.unique(column, return_counts=True)[1] for column in data.X.T)
    assert 18 <= of_user.min() <= 25
    assert 55 < np.median(of_user) < 75
    assert 550 < of_user.max() < 800
    assert 20 < np.median(of_item) < 32
    assert 450 < of_item.max() < 700
    (_, user_means), (_, item_means) = (by(column, data.y) for column in data.X.T)
    assert 0.38 < user_means.std() < 0.52  # .445
    often = of_item >= 20
    assert 0.45 < item_means[often].std() < 0.6  # .533
    assert 0.45 < np.corrcoef(item_means, np.log(of_item))[0, 1] < 0.65  # .516: what is good is watched more


def test_time_stamps_come_in_sessions(movies) -> None:
    data, _ = movies
    assert (np.diff(data.timestamps) >= 0).all()
    order = np.lexsort((data.timestamps, data.X[:, 0]))
    same = np.diff(data.X[order, 0]) == 0
    gaps = np.diff(data.timestamps[order])[same]
    assert np.median(gaps) < 60
    assert 1.5 < 1 + (gaps > 3600).sum() / 943 < 4  # sessions of a user: 2.85


def test_ratings_are_as_hard_to_predict_as_those_of_movielens(movies) -> None:
    """RMSE of user means 1.05, of item means 1.03, MAE of OrdinalProbit .634."""
    data, _ = movies
    order = np.random.default_rng(0).permutation(100_000)
    train, test = order[:80_000], order[80_000:]
    for column, rmse in ((0, 1.04), (1, 1.03)):
        ids, means = by(data.X[train, column], data.y[train])
        known = test[np.isin(data.X[test, column], ids)]
        predicted = means[np.searchsorted(ids, data.X[known, column])]
        assert np.sqrt(np.mean((predicted - data.y[known]) ** 2)) == pytest.approx(rmse, abs=0.03)
    model = OrdinalProbit(10, n_sweeps=50, burn_in=20, random_state=0).fit(data.X[train], data.y[train])
    assert -model.score(data.X[test], data.y[test]) == pytest.approx(0.634, abs=0.025)


def test_a_seed_gives_the_same_movies() -> None:
    (first, films), (again, same), (other, _) = (make_movies(50, 80, 900, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    np.testing.assert_array_equal(first.timestamps, again.timestamps)
    assert first.item_names == again.item_names != other.item_names
    assert films[1]["director"].tolist() == same[1]["director"].tolist()


@together(("sizes", "word"), [((0, 5, 5), "n_users"), ((9, 9, 8), "n_ratings"), ((9, 9, 50), "n_ratings")])
def test_impossible_sizes_are_refused(sizes, word) -> None:
    with pytest.raises(InvalidInputError, match=word):
        make_movies(*sizes)


@together("sizes", [(1, 3, 1), (3, 100, 120), (200, 5, 200)])
def test_small_sizes(sizes) -> None:
    data, _ = make_movies(*sizes, random_state=0)
    assert data.n_ratings == sizes[2]


def test_the_example_of_the_documentation_runs() -> None:
    page = Path(__file__).parents[2] / "docs" / "data-sets.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    scope: dict[str, Any] = {}
    exec(block, scope)  # our own documentation
    assert len(scope["model"].predict(scope["data"].X)) == 6000
