"""Entries by column: made when they are asked for and no sooner, once, and shared by copies."""

import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
from tests.ratings.same import assert_same

import cofactor
from cofactor.model.splits import WeakGeneralization
from cofactor.ratings import ALS, Ratings, ShardedRatings, as_ratings
from cofactor.ratings.data import observed


def some_ratings(n_users: int = 400, n_items: int = 500, n_ratings: int = 100_000) -> Ratings:
    rng = np.random.default_rng(0)
    pairs = np.column_stack(np.divmod(rng.choice(n_users * n_items, n_ratings, replace=False), n_items))
    return as_ratings(pairs, rng.integers(1, 6, n_ratings), scale=[1, 2, 3, 4, 5])


def held_by(made: Callable[[], object]) -> int:
    """Return the bytes that are held after a call, whose result must be kept by whoever calls."""
    tracemalloc.start()
    try:
        made()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@contextmanager
def never_made(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*arrays: object) -> None:
        raise AssertionError("entries by column were asked for")

    with monkeypatch.context() as patch:
        patch.setattr(observed, "by_column", refuse)
        yield


def test_ratings_take_5_bytes_each_and_8_more_by_column() -> None:
    kept: list[Ratings] = [some_ratings()]  # what is imported and compiled is there from now on
    n, ids = kept[0].n_ratings, 40_000
    assert 5 * n <= held_by(lambda: kept.append(some_ratings())) < 5 * n + ids
    assert 8 * n <= held_by(lambda: kept[1].to_csr) < 8 * n + ids
    assert held_by(lambda: (kept[1].col_indices, kept[1].at_boundary(3).to_csr, kept[1].item_counts)) < ids


def test_nobody_asks_who_needs_rows_only(monkeypatch, tmp_path) -> None:
    fitted = ALS(2, alpha=1.0, tol=1e-2, random_state=0).fit(some_ratings(40, 50, 500))
    fitted.save(tmp_path / "model.cofactor")
    with never_made(monkeypatch):
        ratings = some_ratings(40, 50, 500)
        assert "40 users, 50 items" in repr(ratings)
        assert ratings.item_counts.sum() == ratings.subset(ratings.levels > 1).n_ratings + ratings.level_counts[0]
        ShardedRatings.from_ratings(ratings, 3)
        pickle.loads(pickle.dumps(ratings))
        X = np.column_stack([ratings.users.ids[ratings.row_of_entry], ratings.items.ids[ratings.indices]])
        assert len(list(WeakGeneralization(2, random_state=0).split(X))) == 2
        model = cofactor.load(tmp_path / "model.cofactor")
        model.predict(X)
        model.recommend([1, 2], 3)
        model.fold_in([("new", 1), ("new", 2)], [5, 1]).recommend(["new"], 3)
        with pytest.raises(AssertionError, match="were asked for"):
            ratings.col_indices.sum()


def test_copies_share_what_is_made() -> None:
    ratings = some_ratings(40, 50, 500)
    boundary = ratings.at_boundary(2)
    assert boundary.to_csr is ratings.to_csr
    assert ratings.at_boundary(3).col_indices is ratings.col_indices
    assert boundary.at_boundary(1).col_indptr is ratings.col_indptr


def test_threads_that_ask_at_once_get_the_same() -> None:
    for _ in range(5):
        ratings = some_ratings(400, 500, 50_000)
        with ThreadPool(4) as pool:
            found = pool.map(lambda _, ratings=ratings: ratings.to_csr, range(8), chunksize=1)
        assert all(one is found[0] for one in found)


@pytest.mark.parametrize("asked", [False, True])
def test_they_are_the_same_after_pickling_and_from_files(asked, tmp_path) -> None:
    ratings = some_ratings(40, 50, 500)
    if asked:
        assert ratings.to_csr.size == 500
    assert_same(pickle.loads(pickle.dumps(ratings)), ratings)
    ShardedRatings.from_ratings(ratings, 1).save(tmp_path / "big")
    assert_same(ShardedRatings.open(tmp_path / "big").shard(0), ratings)
