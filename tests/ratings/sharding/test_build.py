"""Shards of files are the ratings that all rows give; what no `Ratings` takes is refused, by file and line."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ratings.same import assert_same
from tests.ratings.sharding.files import rows, small, write

from cofactor.datasets import read_ratings
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.files import lock_folder
from cofactor.rating_scale import RatingScale
from cofactor.ratings import Ratings, ShardedRatings, append_files, as_ratings, shard_files, sharding


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch) -> None:
    small(monkeypatch.setattr)


def same_as_reading(path: Path, folder: Path, n_shards: int | None = 4, **options) -> ShardedRatings:
    duplicates = options.pop("duplicates", "error")
    sharded = shard_files(path, folder, n_shards, duplicates=duplicates, **options)
    assert_same(sharded.to_ratings(), as_ratings(read_ratings(path, **options), duplicates=duplicates))
    sharded.verify()
    return sharded


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [*(("int", s) for s in (".csv", ".tsv", ".csv.gz", ".parquet")), ("text", ".csv"), ("mixed", ".parquet")],
)
def test_shards_of_a_file_are_what_reading_gives(tmp_path, kind, suffix) -> None:
    table = rows(n=150, kind=kind, timed=True)
    path = write(tmp_path / f"a{suffix}", table, sep="\t" if suffix == ".tsv" else ",")
    sharded = same_as_reading(path, tmp_path / "big")
    assert len(sharded) == 4
    assert sharded.has_times
    assert sorted(one.name for one in (tmp_path / "big").iterdir()) == [
        "items", "manifest.json", "shards",
    ]  # fmt: skip


def test_bounds_are_those_of_shards_in_memory(tmp_path) -> None:
    sharded = shard_files(write(tmp_path / "a.csv", rows()), tmp_path / "big", 5)
    plan = ShardedRatings.from_ratings(sharded.to_ratings(), 5)
    np.testing.assert_array_equal(sharded.bounds, plan.bounds)
    np.testing.assert_array_equal(sharded.item_counts, plan.item_counts)
    np.testing.assert_array_equal(sharded.level_counts, plan.level_counts)
    for ours, theirs in zip(sharded, plan, strict=True):
        assert_same(ours, theirs)


cells = st.lists(st.tuples(st.integers(0, 9), st.integers(-4, 5)), min_size=2, max_size=80)


@settings(max_examples=12)
@given(cells, st.data(), st.sampled_from(["last", "mean"]), st.booleans(), st.sampled_from([".csv", ".parquet"]))
def test_repeated_pairs_count_as_in_memory(pairs, data, duplicates, timed, suffix) -> None:
    n = len(pairs)
    stars = data.draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))
    times = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)) if timed else None
    n_users = len({user for user, _ in pairs})
    n_shards = data.draw(st.integers(1, n_users))
    with tempfile.TemporaryDirectory() as folder:
        table = {"user": [u for u, _ in pairs], "item": [i for _, i in pairs], "rating": stars}
        path = write(Path(folder, f"a{suffix}"), table | ({} if times is None else {"time": times}))
        scale = [1, 2, 3, 4, 5]
        sharded = shard_files(path, Path(folder, "big"), n_shards, duplicates=duplicates, scale=scale)
        expected = Ratings.from_pairs(pairs, stars, scale=scale, duplicates=duplicates, times=times)
        assert_same(sharded.to_ratings(), expected)


def test_several_files_of_several_formats(tmp_path) -> None:
    parts = [rows(seed, 80) for seed in (1, 2, 3)]
    names = ("a.csv", "b.parquet", "c.csv.gz")
    files = [write(tmp_path / name, part) for name, part in zip(names, parts, strict=True)]
    sharded = shard_files(files, tmp_path / "big", 3, duplicates="last")
    pairs = [pair for part in parts for pair in zip(part["user"], part["movie"], strict=True)]
    stars = [star for part in parts for star in part["rating"]]
    assert_same(sharded.to_ratings(), Ratings.from_pairs(pairs, stars, duplicates="last"))


def test_ids_that_are_integers_in_one_file_and_text_in_another_are_text(tmp_path) -> None:
    numbers, text = rows(0, 60), rows(1, 60, "mixed")
    files = [write(tmp_path / "a.parquet", numbers), write(tmp_path / "b.parquet", text)]
    sharded = shard_files(files, tmp_path / "big", 3, duplicates="last")
    users = [str(one) for one in numbers["user"]] + text["user"]
    items = [str(one) for one in numbers["movie"]] + text["movie"]
    expected = Ratings.from_pairs(
        list(zip(users, items, strict=True)), numbers["rating"] + text["rating"], duplicates="last"
    )
    assert_same(sharded.to_ratings(), expected)


def test_odd_texts_of_files(tmp_path) -> None:
    lines = [f'"u {k}"; m{k % 3} ;{k % 4}\r\n' for k in range(60)]
    (tmp_path / "a.csv").write_bytes("".join(["wer;was;sterne\r\n", *lines, "\r\n\r\n"]).encode("latin-1"))
    same_as_reading(tmp_path / "a.csv", tmp_path / "big", user="wer", item="was", rating="sterne", encoding="latin-1")
    (tmp_path / "b.dat").write_text("".join(f"00{k}::{k % 3}::{k % 4}\n\n" for k in range(60)))
    same_as_reading(tmp_path / "b.dat", tmp_path / "big b")
    (tmp_path / "c.csv").write_bytes("".join(f"{k},{k % 3},{k % 4}\n" for k in range(60)).encode("utf-16"))
    same_as_reading(tmp_path / "c.csv", tmp_path / "big c", encoding="utf-16")
    (tmp_path / "d.csv").write_text("user,item,rating\n" + "".join(f'"{k}\n,",{k % 3},{k % 4}\n' for k in range(60)))
    same_as_reading(tmp_path / "d.csv", tmp_path / "big d")


def test_scale_words_and_dropped_ratings(tmp_path) -> None:
    path = write(tmp_path / "a.csv", rows())
    same_as_reading(path, tmp_path / "big", scale=np.arange(0, 3.5, 0.5))
    same_as_reading(path, tmp_path / "dropped", drop_rating=0.5)
    words = rows() | {"rating": [("down", "so", "up")[k % 3] for k in range(300)]}
    sharded = same_as_reading(write(tmp_path / "b.csv", words), tmp_path / "words", scale=["down", "so", "up"])
    assert sharded.rating_scale == RatingScale((1, 2, 3), words=("down", "so", "up"))
    again = same_as_reading(tmp_path / "b.csv", tmp_path / "rating_scale", scale=sharded.rating_scale)
    assert again.rating_scale == sharded.rating_scale


def test_the_usual_number_of_shards(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sharding, "_USUAL", 40)
    assert len(shard_files(write(tmp_path / "a.csv", rows()), tmp_path / "big")) == 8


# ------------------------------------------------------------------------------------------------ refusals


def refused(tmp_path: Path, lines: list[str], *parts: str, n_shards: int = 2, **options) -> None:
    """Each line refused names the file and the line; nothing is left of the folder."""
    good = [f"{k},{k % 7},{k % 4}" for k in range(100)]
    (tmp_path / "good.csv").write_text("\n".join(["user,item,rating", *good]) + "\n")
    (tmp_path / "bad.csv").write_text("\n".join(["user,item,rating", *good, *lines]) + "\n")
    with pytest.raises(InvalidInputError) as caught:
        shard_files([tmp_path / "bad.csv"], tmp_path / "big", n_shards, **options)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("1,2,nan", ("the rating is nan", "line 102")),
        ("1,2,inf", ("the rating is inf", "line 102")),
        ("1,2,x", ("expected a number, found 'x'", "line 102")),
        (",2,1", ("user id is empty", "line 102", "'user'")),
        ("1, ,1", ("item id is empty", "line 102", "'item'")),
        ("1,2", ("expected 3 columns", "line 102")),
        ('1,"2,3', ("quotation mark", "bad.csv")),
    ],
)
def test_rows_that_ratings_cannot_have(tmp_path, line, parts) -> None:
    refused(tmp_path, [line], "bad.csv", *parts)


def test_ratings_off_the_scale(tmp_path) -> None:
    refused(tmp_path, ["200,2,4"], "bad.csv, line 102", "not on the scale", scale=[0, 1, 2, 3])


def test_continuous_ratings(tmp_path) -> None:
    lines = [f"{200 + k},1,{k / 7}" for k in range(200)]
    refused(tmp_path, lines, "bad.csv, line", "continuous", "distinct ones from 0 to ", "bin_ratings")
    with pytest.raises(InvalidInputError) as caught:
        shard_files(tmp_path / "bad.csv", tmp_path / "big")
    assert "cofactor fit" not in str(caught.value), "fractions are no counts"


def test_counts_are_sent_to_models_of_interactions(tmp_path) -> None:
    lines = [f"{200 + k},1,{1 + 25 * k}" for k in range(200)]
    refused(tmp_path, lines, "distinct ones from 0 to ", "give the file itself to cofactor fit", "count")


@pytest.mark.parametrize(
    ("column", "why"),
    [("plays", "there is a column 'plays', and none of ratings"), (None, "no column beside users and items")],
)
def test_interactions_are_refused_unless_somebody_says_that_they_are_ratings(tmp_path, column, why) -> None:
    table = rows()
    counts = [int(2 * one) for one in table.pop("rating")]
    path = write(tmp_path / "a.csv", table | ({} if column is None else {column: counts}))
    told = rf"a\.csv: holds interactions and no ratings, since .*{why}.*cofactor fit"
    with pytest.raises(InvalidInputError, match=told):
        shard_files(path, tmp_path / "big", 2)
    assert not (tmp_path / "big").exists()
    if column is not None:
        assert shard_files(path, tmp_path / "big", 2, rating=column).n_levels == 5


def test_ratings_of_one_level(tmp_path) -> None:
    path = write(tmp_path / "a.csv", rows() | {"rating": [3] * 300})
    with pytest.raises(InvalidInputError, match=r"a\.csv: all ratings are 3, .* cofactor fit"):
        shard_files(path, tmp_path / "big", 2)
    assert shard_files(path, tmp_path / "big", 2, scale=[1, 2, 3]).level_counts.tolist() == [0, 0, 300]


@pytest.mark.parametrize("lost", [slice(0, 4), slice(0, 100)])
def test_parquet_without_its_beginning_is_no_text(tmp_path, lost) -> None:
    path = write(tmp_path / "a.parquet", rows())
    data = bytearray(path.read_bytes())
    data[lost] = b"\0" * (lost.stop - lost.start)
    for name in ("b.parquet", "b"):
        (tmp_path / name).write_bytes(data)
        for read in (read_ratings, lambda path: shard_files(path, tmp_path / "big", 2)):
            with pytest.raises(InvalidInputError, match=f"{name}: the Parquet file is damaged"):
                read(tmp_path / name)
    (tmp_path / "c.parquet").write_bytes(data[:-50])
    with pytest.raises(InvalidInputError, match=r"c\.parquet: the Parquet file is damaged"):
        shard_files(tmp_path / "c.parquet", tmp_path / "big", 2)


def test_missing_values_of_parquet(tmp_path) -> None:
    table = rows()
    table["user"][123] = None
    with pytest.raises(InvalidInputError, match=r"a.parquet, row 124, column 'user': no value"):
        shard_files(write(tmp_path / "a.parquet", table), tmp_path / "big", 2)
    assert not (tmp_path / "big").exists()


def test_a_repeated_pair_names_both_places(tmp_path) -> None:
    refused(tmp_path, ["", "33,5,3"], "bad.csv, line 103", "user 33 has rated item 5 before", "line 35", "duplicates")
    sharded = shard_files([tmp_path / "bad.csv"], tmp_path / "big", 2, duplicates="last")  # it need not read again
    expected = as_ratings(read_ratings(tmp_path / "bad.csv"), duplicates="last")
    assert_same(sharded.to_ratings(), expected)


def test_a_repeated_pair_in_another_file(tmp_path) -> None:
    files = [write(tmp_path / "a.parquet", rows()), write(tmp_path / "b.csv", {k: v[9:10] for k, v in rows().items()})]
    with pytest.raises(InvalidInputError, match=r"b\.csv, line 2: .*a\.parquet, row 10;"):
        shard_files(files, tmp_path / "big", 2)


def test_times_in_one_file_only(tmp_path) -> None:
    files = [write(tmp_path / "a.csv", rows(timed=True)), write(tmp_path / "b.csv", rows(5))]
    with pytest.raises(InvalidInputError, match="b.csv, line 2: has no times"):
        shard_files(files, tmp_path / "big", 2, duplicates="last")


def test_what_is_no_time(tmp_path) -> None:
    table = rows(timed=True)
    table["timestamp"][250] = "soon"
    with pytest.raises(InvalidInputError, match=r"a.csv, line 252, column 'timestamp': a time must be .* found 'soon'"):
        shard_files(write(tmp_path / "a.csv", table), tmp_path / "big", 2)
    table["timestamp"][1] = "soon"
    write(tmp_path / "a.csv", table)
    with pytest.warns(InputWarning, match="so that no times are used"):
        sharded = shard_files(tmp_path / "a.csv", tmp_path / "big", 2)
    assert not sharded.has_times


def test_files_that_are_not_there_or_empty(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file"):
        shard_files(tmp_path / "a.csv", tmp_path / "big", 2)
    (tmp_path / "a.csv").write_text("user,item,rating\n")
    with pytest.raises(InvalidInputError, match="a.csv: only a header"):
        shard_files(tmp_path / "a.csv", tmp_path / "big", 2)
    (tmp_path / "a.csv").write_text("user,item,rating\n1,2,0\n2,3,0\n")
    with pytest.raises(InvalidInputError, match="no ratings"):
        shard_files(tmp_path / "a.csv", tmp_path / "big", 2, drop_rating=0)
    assert not (tmp_path / "big").exists()


def test_a_folder_that_another_process_changes(tmp_path) -> None:
    path, folder = write(tmp_path / "a.csv", rows()), tmp_path / "big"
    folder.mkdir()
    with lock_folder(folder), pytest.raises(InvalidInputError, match="another process is changing this folder"):
        shard_files(path, folder, 2)
    assert list(folder.iterdir()) == []
    shard_files(path, folder, 2)
    with lock_folder(folder), pytest.raises(InvalidInputError, match="another process is changing this folder"):
        append_files(path, folder)
    assert ShardedRatings.open(folder).n_ratings == len(rows()["user"])


def test_more_shards_than_users(tmp_path) -> None:
    with pytest.raises(InvalidInputError, match="n_shards=99"):
        shard_files(write(tmp_path / "a.csv", rows()), tmp_path / "big", 99)
    assert len(shard_files(tmp_path / "a.csv", tmp_path / "big", 3)) == 3
