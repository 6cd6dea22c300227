"""Ratings appended to a folder are those which all rows give together; a call that is ended changes nothing."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.children import forking
from tests.ratings.same import assert_same
from tests.ratings.sharding.files import ended_append, rows, small, write

from cofactor.errors import InvalidInputError
from cofactor.ratings import Ratings, ShardedRatings, append_files, shard_files

SCALE = [0.5, 1, 1.5, 2, 2.5]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch) -> None:
    small(monkeypatch.setattr)


def all_rows(tables: list[dict[str, list]], duplicates: str = "last") -> Ratings:
    joined = {name: [one for table in tables for one in table[name]] for name in tables[0]}
    pairs = list(zip(joined["user"], joined["movie"], strict=True))
    return Ratings.from_pairs(
        pairs, joined["rating"], scale=SCALE, duplicates=duplicates, times=joined.get("timestamp")
    )


def folder_of(table: dict[str, list], tmp_path: Path, n_shards: int = 5) -> Path:
    shard_files(write(tmp_path / "a.csv", table), tmp_path / "big", n_shards, scale=SCALE)
    return tmp_path / "big"


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(("kind", "timed"), [("int", False), ("text", True), ("mixed", True)])
def test_days_are_appended(tmp_path, kind, timed) -> None:
    days = [rows(seed, 100, kind, timed=timed) for seed in range(3)]
    folder = folder_of(days[0], tmp_path)
    for k in (1, 2):
        found = append_files(write(tmp_path / f"{k}.parquet", days[k]), folder, duplicates="last")
        found.verify()
        assert_same(found.to_ratings(), all_rows(days[: k + 1]))
        np.testing.assert_array_equal(found.item_counts, found.to_ratings().item_counts)
        np.testing.assert_array_equal(found.level_counts, found.to_ratings().level_counts)
        n_shards = len(found)
        del found  # else its shards stay
    assert len(list((folder / "shards").iterdir())) == n_shards
    assert sorted(one.name for one in folder.iterdir()) == ["items", "manifest.json", "shards"]


cells = st.lists(st.tuples(st.integers(0, 9), st.integers(-4, 5)), min_size=2, max_size=40, unique=True)


@settings(max_examples=12)
@given(cells, cells, st.sampled_from(["last", "mean"]), st.data())
def test_whatever_is_appended(before, after, duplicates, data) -> None:
    tables = [
        {
            "user": [user for user, _ in pairs],
            "movie": [item for _, item in pairs],
            "rating": data.draw(st.lists(st.sampled_from(SCALE), min_size=len(pairs), max_size=len(pairs))),
        }
        for pairs in (before, after)
    ]
    with tempfile.TemporaryDirectory() as place:
        folder = folder_of(tables[0], Path(place), data.draw(st.integers(1, len(set(tables[0]["user"])))))
        found = append_files(write(Path(place, "b.csv"), tables[1]), folder, duplicates=duplicates)
        assert_same(found.to_ratings(), all_rows(tables, duplicates))


def test_shards_without_new_ratings_stay_where_new_items_come_last(tmp_path) -> None:
    folder = folder_of(rows(), tmp_path)
    before = ShardedRatings.open(folder)
    user = before.source.users(2).ids[0]
    del before
    new = {"user": [user, user], "movie": [500, 501], "rating": [1.0, 2.5]}
    stamps = {path: path.stat().st_mtime_ns for path in folder.rglob("*.npy") if path.parent.parent.name == "shards"}
    found = append_files(write(tmp_path / "b.csv", new), folder)
    assert_same(found.to_ratings(), all_rows([rows(), new]))
    kept = {path for path, stamp in stamps.items() if path.exists() and path.stat().st_mtime_ns == stamp}
    assert {path.parent.name for path in kept} == {"0000", "0001", "0003", "0004"}
    assert found.shard(0).col_indptr.shape == (len(found.items) + 1,)
    for ours, theirs in zip(found, ShardedRatings.from_ratings(found.to_ratings(), 5), strict=True):
        assert ours.items == theirs.items


def test_many_new_users_behind_the_last_get_a_shard_of_their_own(tmp_path) -> None:
    folder = folder_of(rows(), tmp_path)
    new = rows(1) | {"user": [user + 1000 for user in rows(1)["user"]]}
    found = append_files(write(tmp_path / "b.csv", new), folder)
    assert len(found) == 6
    assert found.bounds.tolist()[:6] == ShardedRatings.open(folder).bounds.tolist()[:6]
    assert_same(found.to_ratings(), all_rows([rows(), new]))


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        (["7,1,3.5"], ("b.csv, line 2", "not on the scale")),
        (["x,1,1"], ("b.csv, line 2", "user 'x' is no whole number")),
        (["900,1,1", "900,2,1", "900,1,2"], ("b.csv, line 4", "user 900 has rated item 1 before; leave", "duplicates")),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(tmp_path, lines, parts) -> None:
    folder = folder_of(rows(), tmp_path)
    before = content(folder)
    (tmp_path / "b.csv").write_text("\n".join(["user,movie,rating", *lines]) + "\n")
    with pytest.raises(InvalidInputError) as caught:
        append_files(tmp_path / "b.csv", folder)
    for part in parts:
        assert part in str(caught.value)
    assert content(folder) == before


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_numbers_are_refused_among_text_of_which_none_is_a_number(tmp_path, suffix) -> None:
    folder, other = folder_of(rows(kind="text"), tmp_path), rows(1)
    users = write(tmp_path / f"b{suffix}", other | {"movie": rows(1, kind="text")["movie"]})
    items = write(tmp_path / f"c{suffix}", other | {"user": rows(1, kind="text")["user"]})
    for path, role in ((users, "user"), (items, "item")):
        message = rf"(line 2|row 1): {role} \d+ is a whole number, and all {role}s .*'ü"
        with pytest.raises(InvalidInputError, match=message):
            append_files(path, folder, duplicates="last")


def test_numbers_are_text_among_text_of_which_some_is_a_number(tmp_path) -> None:
    folder, other = folder_of(rows(kind="mixed"), tmp_path), rows(1)
    found = append_files(write(tmp_path / "b.parquet", other), folder, duplicates="last")
    as_text = other | {name: [str(one) for one in other[name]] for name in ("user", "movie")}
    assert_same(found.to_ratings(), all_rows([rows(kind="mixed"), as_text]))


def test_text_that_is_written_as_a_number_is_one_among_numbers(tmp_path) -> None:
    folder, other = folder_of(rows(), tmp_path), rows(1)
    as_text = other | {name: [str(one) for one in other[name]] for name in ("user", "movie")}
    found = append_files(write(tmp_path / "b.parquet", as_text), folder, duplicates="last")
    assert_same(found.to_ratings(), all_rows([rows(), other]))


def test_a_pair_that_is_there_is_refused(tmp_path) -> None:
    folder = folder_of(rows(), tmp_path)
    again = {name: values[7:8] for name, values in rows().items()}
    with pytest.raises(InvalidInputError, match=r"b.parquet, row 1: user .* has rated item .* before"):
        append_files(write(tmp_path / "b.parquet", again), folder)


def test_times_must_be_in_both_or_in_none(tmp_path) -> None:
    folder = folder_of(rows(), tmp_path)
    with pytest.raises(InvalidInputError, match="b.csv: has times, and the ratings in .* have none"):
        append_files(write(tmp_path / "b.csv", rows(1, timed=True)), folder)


@pytest.mark.parametrize(
    ("function", "call", "done"),
    [
        *(("write_shard", 4, False), ("write_common", 1, False), ("replace", 2, False), ("remove_old", 2, True)),
    ],
)
@pytest.mark.processes
def test_a_killed_process_leaves_all_or_nothing(tmp_path, function, call, done) -> None:
    days = [rows(seed, 150) for seed in range(2)]
    folder, path = folder_of(days[0], tmp_path), write(tmp_path / "b.csv", days[1])
    process = forking().Process(target=ended_append, args=(path, folder, function, call))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    found = ShardedRatings.open(folder)
    found.verify()
    assert_same(found.to_ratings(), all_rows(days if done else days[:1]))
    del found
    again = append_files(path, folder, duplicates="last")
    assert_same(again.to_ratings(), all_rows(days))
    assert sorted(one.name for one in folder.iterdir()) == ["items", "manifest.json", "shards"]
    assert len(list((folder / "shards").iterdir())) == len(again)
