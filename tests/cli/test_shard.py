"""shard: files into shards and more of them, as the library does it; what is refused, what an interruption keeps."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.ratings.same import assert_same
from tests.ratings.sharding.files import rows, small, write

from cofactor.datasets import read_ratings
from cofactor.datasets.formats import open_data
from cofactor.ratings import ShardedRatings, as_ratings, sharding


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "a.csv", rows())


def test_shards_of_files(run, file: Path, tmp_path: Path) -> None:
    facts = run("shard", file, "--out", tmp_path / "big", "--shards", "4", "--json").json
    found = ShardedRatings.open(tmp_path / "big")
    assert_same(found.to_ratings(), as_ratings(read_ratings(file)))
    assert (facts["shards"], facts["ratings"], facts["users"]) == (4, 300, len(found.users))
    assert facts["level_counts"] == found.level_counts.tolist()
    assert facts["bytes"] == sum(path.stat().st_size for path in (tmp_path / "big" / "shards").rglob("*.*")) + sum(
        path.stat().st_size for path in (tmp_path / "big" / "items").rglob("*.*")
    )


def test_what_is_shown(run, file: Path, tmp_path: Path) -> None:
    shown = run("shard", file, "--out", tmp_path / "big", "--shards", "4").out
    assert "40 × 30" in shown
    assert "4 shards of " in shown
    verified = run("shard", "--verify", tmp_path / "big").out
    assert verified.splitlines()[:5] == shown.splitlines()[:5]
    assert "all checksums agree" in verified


def test_one_shard_has_one_size(run, tmp_path: Path) -> None:
    few = write(tmp_path / "few.csv", {"user": [1, 1, 2], "item": [1, 2, 1], "rating": [3, 4, 5]})
    shown = run("shard", few, "--out", tmp_path / "big", "--shards", "1").out
    assert "1 shard of 3 ratings" in shown
    assert " 0.0 MB" not in shown


def test_refused_duplicates_say_what_is_kept(run, tmp_path: Path) -> None:
    table, big = {"user": [1, 1, 2, 1], "item": [1, 2, 1, 2], "rating": [3, 4, 5, 1]}, tmp_path / "big"
    file = write(tmp_path / "a.csv", table)
    error = run("shard", file, "--out", big).error
    assert "a.csv, line 5: user 1 has rated item 2 before, in " in error
    assert "a.csv, line 3;" in error
    assert f"choose with --duplicates last or mean; what was read is kept in {big}, and is not read again" in error
    write(file, {name: values[:3] for name, values in table.items()})
    error = run("shard", file, "--out", big).error
    assert f"{big}: holds the beginning of shards of {file}, which has changed since" in error
    assert run("shard", file, "--out", big, "--restart").status == 0
    error = run("shard", file, "--out", big, "--restart").error
    assert f"{big}: holds shards that are complete" in error


def test_interactions_are_sent_to_the_command_that_learns_from_them(run, tmp_path: Path) -> None:
    file = write(tmp_path / "plays.csv", {"user": [1, 1, 2], "song": [1, 2, 1], "plays": [3, 400, 5]})
    error = run("shard", file, "--out", tmp_path / "big").error
    assert "holds interactions and no ratings, since there is a column 'plays'" in error
    assert "give the file itself to cofactor fit" in error
    assert "name it with --rating" in error


def test_options_of_reading(run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a;b;c\nx;1;up\ny;1;down\ny;2;up\ny;2;down\n", encoding="utf-16")
    columns = ("--user", "a", "--item", "1", "--rating", "c", "--sep", ";", "--encoding", "utf-16")
    arguments = (*columns, "--levels", "down,up", "--duplicates", "last", "--shards", "2")
    assert run("shard", tmp_path / "a.csv", "--out", tmp_path / "big", *arguments).status == 0
    found = ShardedRatings.open(tmp_path / "big")
    assert found.rating_scale.words == ("down", "up")
    assert found.to_ratings().values.tolist() == [2, 1, 1]


def test_another_day(run, file: Path, tmp_path: Path) -> None:
    run("shard", file, "--out", tmp_path / "big", "--shards", "4")
    new = write(tmp_path / "b.parquet", {"user": [7, 9999], "movie": [500, 3], "rating": [1.0, 2.5]})
    facts = run("shard", new, "--into", tmp_path / "big", "--json").json
    assert (facts["new_ratings"], facts["new_users"], facts["new_items"], facts["ratings"]) == (2, 1, 1, 302)
    later = write(tmp_path / "c.csv", {"user": [9999], "movie": [4], "rating": [1.0]})
    assert "1 ratings, 0 users, 0 items" in run("shard", later, "--into", tmp_path / "big").out
    error = run("shard", later, "--into", tmp_path / "big").error
    assert "rated item 4 before, among the ratings that are there; the file may have been appended already" in error


def test_what_is_refused(run, file: Path, tmp_path: Path) -> None:
    big = tmp_path / "big"
    for arguments, part in (
        ((), "give one of --out FOLDER"),
        ((file,), "give one of --out FOLDER"),
        ((file, "--out", big, "--into", big), "give one of --out FOLDER"),
        (("--out", big), "give files of ratings"),
        ((file, "--verify", big), "--verify takes no files"),
        ((file, "--into", big, "--shards", "3"), "--shards is for new shards"),
        ((file, "--into", big), f"{big}: no such folder; make one with cofactor shard"),
        (("-", "--out", big), "not of standard input"),
        ((tmp_path / "x.csv", "--out", big), "x.csv: no such file"),
        ((file, "--out", big, "--shards", "99"), "--shards 99: expected at most one shard for each of the 40 users"),
    ):
        assert part in run("shard", *arguments).error


def test_other_options_than_those_of_the_beginning(run, file: Path, tmp_path: Path) -> None:
    big = tmp_path / "big"
    assert "--shards 99" in run("shard", file, "--out", big, "--shards", "99").error
    error = run("shard", file, "--out", big, "--drop-rating", "1").error
    assert "begin anew with --restart" in error
    assert run("shard", file, "--out", big, "--drop-rating", "1", "--restart").status == 0


def test_damage_is_found(run, file: Path, tmp_path: Path) -> None:
    run("shard", file, "--out", tmp_path / "big", "--shards", "4")
    path = tmp_path / "big" / "shards" / "0002" / "levels.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x07")
    assert f"{path}: its checksum is not that of the manifest" in run("shard", "--verify", tmp_path / "big").error


def test_other_commands_say_that_they_do_not_take_shards(run, file: Path, tmp_path: Path) -> None:
    run("shard", file, "--out", tmp_path / "big", "--shards", "4")
    found = open_data(tmp_path / "big")
    assert (found.kind, found.format, found.holds) == ("folder", "shards", "ratings")
    for arguments in (("evaluate",), ("compare",)):
        assert "is a folder of sharded ratings" in run(*arguments, tmp_path / "big").err


def test_an_interruption_keeps_what_was_done(run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch.setattr)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted(*arguments: object) -> None:
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(sharding.Plan, "route", interrupted)
        outcome = run("shard", file, "--out", tmp_path / "big", "--shards", "4")
    signal.signal(signal.SIGINT, handler)
    kept = f"cofactor: interrupted: what was done is kept in {tmp_path / 'big'}, and the same command goes on\n"
    assert (outcome.status, outcome.err) == (130, kept)
    assert run("shard", file, "--out", tmp_path / "big", "--shards", "4").status == 0
    assert_same(ShardedRatings.open(tmp_path / "big").to_ratings(), as_ratings(read_ratings(file)))


def test_a_header_with_fewer_names_than_columns(run, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("user,m\n252,28,0.5\n2,3,4\n")
    outcome = run("shard", tmp_path / "r.csv", "--out", tmp_path / "shards")
    assert outcome.error.startswith(f"{tmp_path / 'r.csv'}: ")
