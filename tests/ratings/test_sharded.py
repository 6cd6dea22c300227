"""Ratings in shards are the same ratings, in memory and in a folder; what is not whole is refused."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ratings.same import ARRAYS, assert_same
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.model.state import is_mapped
from cofactor.rating_scale import RatingScale
from cofactor.ratings import Ratings, ShardedRatings
from cofactor.ratings.sharded import shard_bounds


def some_ratings(seed: int = 0, n: int = 60, m: int = 25, n_ratings: int = 400, *, text: bool = False) -> Ratings:
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(n * m)[:n_ratings]
    X = np.column_stack([pairs // m + 5, pairs % m * 3])
    if text:
        X = np.array([[f"u{a}", f"ü{b}"] for a, b in X], dtype=object)
    y, times = rng.integers(1, 6, n_ratings), rng.integers(0, 1000, n_ratings)
    return Ratings.from_pairs(X, y, scale=[1, 2, 3, 4, 5], times=times)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Ratings, int]:
    cells = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(-3, 9)), min_size=1, max_size=60, unique=True))
    stars = draw(st.lists(st.integers(1, 4), min_size=len(cells), max_size=len(cells)))
    ratings = Ratings.from_pairs(cells, stars, scale=[1, 2, 3, 4])
    return ratings, draw(st.integers(1, len(ratings.users)))


@given(plans())
def test_shards_are_the_rows_of_the_whole(plan: tuple[Ratings, int]) -> None:
    ratings, n_shards = plan
    sharded = ShardedRatings.from_ratings(ratings, n_shards)
    assert len(sharded) == n_shards
    assert sharded.shape == ratings.shape
    assert (np.diff(sharded.bounds) > 0).all()
    assert sharded.users == ratings.users
    for k, shard in enumerate(sharded):
        here = np.arange(sharded.bounds[k], sharded.bounds[k + 1])
        indptr, indices, levels = ratings.rows(here)
        assert shard.items == ratings.items
        alone = Ratings.from_csr(ratings.users.part(here[0], here[-1] + 1), *_of(ratings, indptr, indices, levels))
        assert_same(shard, alone)
    np.testing.assert_array_equal(sum(shard.level_counts for shard in sharded), sharded.level_counts)
    np.testing.assert_array_equal(sum(shard.item_counts for shard in sharded), sharded.item_counts)
    assert_same(sharded.to_ratings(), ratings)


def _of(ratings: Ratings, *arrays: np.ndarray) -> tuple:
    return ratings.items, ratings.scale, *arrays


@settings(max_examples=8)
@given(plans())
def test_a_folder_gives_back_the_same_shards(plan: tuple[Ratings, int]) -> None:
    ratings, n_shards = plan
    sharded = ShardedRatings.from_ratings(ratings, n_shards)
    with tempfile.TemporaryDirectory() as folder:
        sharded.save(Path(folder, "big"))
        again = ShardedRatings.open(Path(folder, "big"))
        again.verify()
        assert again.n_ratings == ratings.n_ratings
        np.testing.assert_array_equal(again.bounds, sharded.bounds)
        np.testing.assert_array_equal(again.level_counts, ratings.level_counts)
        np.testing.assert_array_equal(again.item_counts, ratings.item_counts)
        for ours, theirs in zip(again, sharded, strict=True):
            assert_same(ours, theirs)
        assert_same(again.to_ratings(), ratings)


def test_times_weights_coding_and_text_go_to_a_folder(tmp_path) -> None:
    ratings = some_ratings(text=True)
    rating_scale = RatingScale((1.0, 2.0, 3.0, 4.0, 5.0), words=("a", "b", "c", "d", "e"))
    ratings = replace(ratings, rating_scale=rating_scale, weights=np.linspace(1, 2, ratings.n_ratings))
    ShardedRatings.from_ratings(ratings, 7).save(tmp_path / "big")
    again = ShardedRatings.open(tmp_path / "big")
    assert again.has_times
    assert again.rating_scale == rating_scale
    assert_same(again.to_ratings(), ratings)


def test_one_shard_is_the_ratings_themselves() -> None:
    ratings = some_ratings()
    assert ShardedRatings.from_ratings(ratings, 1).shard(0) is ratings


def test_rows_of_shards_in_memory_are_views() -> None:
    ratings = some_ratings()
    for shard in ShardedRatings.from_ratings(ratings, 4):
        assert np.shares_memory(shard.indices, ratings.indices)
        assert np.shares_memory(shard.levels, ratings.levels)


def test_opened_arrays_and_files_cannot_change_each_other(tmp_path) -> None:
    ratings = some_ratings()
    ShardedRatings.from_ratings(ratings, 3).save(tmp_path / "big")
    sharded = ShardedRatings.open(tmp_path / "big")
    shard = sharded.shard(1)
    shard.levels[:] = 1
    shard.times[:] = 1
    assert not any(is_mapped(getattr(shard, name)) for name in ARRAYS[:6])
    sharded.verify()
    assert_same(sharded.to_ratings(), ratings)


def test_sharded_ratings_can_be_pickled(tmp_path) -> None:
    ratings = some_ratings()
    ShardedRatings.from_ratings(ratings, 3).save(tmp_path / "big")
    assert_same(pickle.loads(pickle.dumps(ShardedRatings.open(tmp_path / "big"))).to_ratings(), ratings)


@pytest.mark.parametrize("in_folder", [False, True])
def test_a_boundary_of_shards_is_that_of_all_ratings(tmp_path, in_folder: bool) -> None:
    ratings = some_ratings()
    sharded, whole = ShardedRatings.from_ratings(ratings, 3), ratings.at_boundary(2)
    if in_folder:
        sharded.save(tmp_path / "big")
        sharded = pickle.loads(pickle.dumps(ShardedRatings.open(tmp_path / "big").at_boundary(2)))
    bilevel = sharded.at_boundary(1 if in_folder else 2)  # two levels have one boundary, where they are cut already
    assert_same(bilevel.to_ratings(), whole)
    np.testing.assert_array_equal(bilevel.level_counts, whole.level_counts)
    for _ in range(2):  # the second time from what was read before
        for ours, theirs in zip(bilevel.rows([50, 3, 3, 20]), whole.rows([50, 3, 3, 20]), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    levels = np.concatenate([bilevel.of_items(k, 4, 9)[2] for k in range(3)])
    assert (
        np.bincount(levels).tolist() == np.bincount(whole.levels[(whole.indices >= 4) & (whole.indices < 9)]).tolist()
    )
    np.testing.assert_array_equal(ShardedRatings.from_ratings(whole, 2).at_boundary(1).level_counts, whole.level_counts)


def test_shards_hold_about_the_same_number_of_ratings() -> None:
    counts = np.random.default_rng(0).pareto(1.5, 5000).astype(int) % 300 + 1
    indptr = np.append(0, np.cumsum(counts))
    sizes = np.diff(indptr[shard_bounds(indptr, 16)])
    assert abs(sizes - indptr[-1] / 16).max() <= counts.max()


@together("indptr", [[0, 9, 9, 9], [0, 0, 0, 9], [0, 0, 9, 9]])
def test_each_shard_has_a_user(indptr) -> None:
    assert shard_bounds(np.array(indptr), 3).tolist() == [0, 1, 2, 3]


@together("n_shards", [0, -1, 61, 2.0, True, "4"])
def test_numbers_of_shards_that_cannot_be(n_shards) -> None:
    with pytest.raises(InvalidInputError, match=r"n_shards="):
        ShardedRatings.from_ratings(some_ratings(), n_shards)


def test_some_shards_in_memory() -> None:
    sharded = ShardedRatings.from_ratings(some_ratings(), 4)
    found, last = sharded.to_ratings([3, 1]), sharded.shard(3)
    n = sharded.shard(1).n_ratings
    np.testing.assert_array_equal(found.users.ids, np.concatenate([sharded.shard(1).users.ids, last.users.ids]))
    np.testing.assert_array_equal(found.indices[n:], last.indices)
    np.testing.assert_array_equal(found.levels[n:], last.levels)
    with pytest.raises(InvalidInputError, match="one shard at least"):
        sharded.to_ratings([])


def test_a_shard_that_is_not_there() -> None:
    with pytest.raises(InvalidInputError, match="k=4: expected 0 to 3"):
        ShardedRatings.from_ratings(some_ratings(), 4).shard(4)


# ---------------------------------------------------------------------------------------------- bad folders


@pytest.fixture
def folder(tmp_path) -> Path:
    ShardedRatings.from_ratings(some_ratings(), 3).save(tmp_path / "big")
    return tmp_path / "big"


def refused(folder: Path, *parts: str, verify: bool = False) -> None:
    with pytest.raises(InvalidInputError) as caught:
        ShardedRatings.open(folder).verify() if verify else ShardedRatings.open(folder)
    for part in parts:
        assert part in str(caught.value)


def test_no_folder_and_no_manifest(folder) -> None:
    refused(folder / "not", "no such folder", "cofactor shard")
    (folder / "manifest.json").unlink()
    refused(folder, "no manifest.json")


def test_a_manifest_edited_by_hand(folder) -> None:
    path = folder / "manifest.json"
    path.write_text(re.sub(r'"n_items": \d+', '"n_items": 7', path.read_text()))
    refused(folder, "manifest.json", "was changed after it was written")


def test_a_manifest_that_is_no_json_or_not_ours(folder) -> None:
    path = folder / "manifest.json"
    odd = {"{": " (", "[]": ": found [], expected an object", "{}": ": it has no 'format'", "\xff": " ("}
    for text, what in odd.items():
        path.write_text(text, encoding="latin-1")
        refused(folder, "manifest.json", f"is no manifest{what}")


def test_a_manifest_of_another_version(folder) -> None:
    path = folder / "manifest.json"
    there = json.loads(path.read_text())
    path.write_text(json.dumps({**there, "format": 2, "cofactor": "9.0"}))
    refused(folder, "manifest.json", "is of format 2, written by cofactor 9.0", "reads format 1")
    path.write_text(json.dumps({**there, "format": 2}))
    refused(folder, "manifest.json", "was changed after it was written")


def test_missing_and_cut_off_shards(folder) -> None:
    name = "shards/0001/levels.npy"
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:-5])
    refused(folder, name, "cut off")
    (folder / name).write_bytes(data + b"x")
    refused(folder, name, "too long")
    (folder / name).unlink()
    refused(folder, name, "missing")
    shutil.rmtree(folder / "shards" / "0001")
    refused(folder, "shards/0001", "missing")


def test_a_shard_that_is_lost_after_opening(folder) -> None:
    opened = ShardedRatings.open(folder)
    (folder / "shards/0002/indices.npy").unlink()
    with pytest.raises(InvalidInputError, match="indices.npy: is missing"):
        opened.shard(2)


def test_a_damaged_byte_is_found_on_demand(folder) -> None:
    path = folder / "shards/0002/indices.npy"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    ShardedRatings.open(folder)
    refused(folder, "shards/0002/indices.npy", "checksum", verify=True)


@pytest.mark.parametrize("name", ["indptr", "indices", "levels", "col_indices", "to_csr", "times"])
def test_damaged_arrays_are_refused_when_they_are_read(folder, name) -> None:
    opened = ShardedRatings.open(folder)
    for k in (2, 1):
        path = folder / f"shards/000{k}/{name}.npy"
        path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
        for _ in range(2):
            with pytest.raises(InvalidInputError, match=rf"shards/000{k}/{name}.npy: its checksum"):
                opened.shard(k)
    opened.shard(0)


def test_a_folder_is_not_overwritten(folder) -> None:
    with pytest.raises(InvalidInputError, match="holds shards that are complete"):
        ShardedRatings.from_ratings(some_ratings(), 2).save(folder)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        ShardedRatings.from_ratings(some_ratings(), 2).save(folder / "a" / "b")


def test_nothing_is_left_of_a_save_that_fails(tmp_path, monkeypatch) -> None:
    from cofactor.ratings import shard_folder

    def full(path: Path, array: np.ndarray) -> None:
        if path.name == "to_csr.npy":
            raise OSError(28, "No space left on device", str(path))
        write(path, array)

    write = shard_folder.write_array
    monkeypatch.setattr(shard_folder, "write_array", full)
    with pytest.raises(OSError, match="No space left"):
        ShardedRatings.from_ratings(some_ratings(), 2).save(tmp_path / "big")
    assert list(tmp_path.iterdir()) == []
