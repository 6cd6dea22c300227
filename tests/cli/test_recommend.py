"""recommend: known users, everyone, new users by fold-in, candidates and titles."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from pandas import read_csv, read_parquet
from pandas.testing import assert_frame_equal

import cofactor
from cofactor.datasets import RatingDataset, write_table
from cofactor.ratings import Rules
from cofactor.service import rating_service

NEW = "user,item,rating\nann,3,5\nann,7,1\nbob,3,2\nbob,9,4\nbob,11,5\n"


def test_known_users_get_what_the_library_recommends(run, model: Path) -> None:
    found = run("recommend", model, "--user", 5, "--user", 2, "-n", 3, "--json").json
    fitted = cofactor.load(model)
    items, scores = fitted.recommend([5, 2], 3)
    assert [row["user"] for row in found] == [5, 5, 5, 2, 2, 2]
    assert [row["rank"] for row in found] == [1, 2, 3, 1, 2, 3]
    assert [row["item"] for row in found] == items.ravel().tolist()
    assert np.array_equal(np.float32([row["score"] for row in found]), scores.ravel().astype(np.float32))
    predicted = fitted.predict([(row["user"], row["item"]) for row in found])
    assert [row["prediction"] for row in found] == predicted.tolist()


def test_everyone(run, data: RatingDataset, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "all.csv"
    assert run("recommend", model, "--all", "-n", 2, "--out", out).status == 0
    lines = out.read_text().splitlines()
    assert lines[0] == "user,rank,item,score,prediction"
    assert len(lines) == 1 + 2 * len(np.unique(data.X[:, 0]))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_lists_are_written_a_few_users_at_a_time(run, model: Path, tmp_path: Path, monkeypatch, suffix: str) -> None:
    def written(name: str) -> Any:
        assert (found := run("recommend", model, "--all", "-n", 40, "--out", tmp_path / name)).status == 0
        assert "get fewer than 40 items" in found.err
        assert found.err.count("fewer than") == 1  # about all users
        return read_csv(tmp_path / name) if "csv" in suffix else read_parquet(tmp_path / name)

    whole = written(f"whole{suffix}")
    monkeypatch.setattr(rating_service, "_ITEMS_PER_BLOCK", 120)
    assert_frame_equal(written(f"blocks{suffix}"), whole)


def test_seen_items_are_left_out_unless_asked_for(run, data: RatingDataset, model: Path) -> None:
    def items(*options: str) -> set[int]:
        found = run("recommend", model, "--user", 5, "-n", 40, "--json", *options).json
        return {row["item"] for row in found}

    seen = set(data.X[data.X[:, 0] == 5, 1].tolist())
    assert items("--include-seen") == set(data.X[:, 1].tolist())
    assert items() == items("--include-seen") - seen


def test_candidates(run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "candidates.txt"
    file.write_text("item\n3\n8\n\n12\n")
    found = run("recommend", model, "--user", 5, "--include-seen", "--candidates", file, "--json").json
    assert {row["item"] for row in found} == {3, 8, 12}
    outcome = run("recommend", model, "--user", 5, "--candidates", "-", "--include-seen", stdin=b"3\n8\n\n999\n1000\n")
    note = "standard input: items that were not in training are left out: 2 of 4, the first is '999' in line 4"
    assert note in outcome.said
    error = run("recommend", model, "--user", 5, "--candidates", "-", stdin=b"\n998\n999\n").error
    assert error.startswith("standard input, line 2: item '998' was not in training, and no other one")
    assert "holds no item ids" in run("recommend", model, "--user", 5, "--candidates", "-").error


def test_items_are_left_out(run, model: Path, tmp_path: Path) -> None:
    def items(content: str) -> dict[int, set[int]]:
        (tmp_path / "out.csv").write_text(content)
        options = ("--user", 5, "--user", 2, "-n", 40, "--include-seen", "--json")
        found = run("recommend", model, *options, "--exclude", tmp_path / "out.csv").json
        return {user: {row["item"] for row in found if row["user"] == user} for user in (5, 2)}

    everything = items("999\n")
    assert items("item\n3\n8\n") == {user: found - {3, 8} for user, found in everything.items()}
    assert items("user,item\n5,3\n5,8\n2,3\n77777,4\n") == {5: everything[5] - {3, 8}, 2: everything[2] - {3}}
    assert items("item,user\n3,5\n8,5\n3,2\n") == {5: everything[5] - {3, 8}, 2: everything[2] - {3}}
    assert items("5;3\n5;8\n2;3\n") == {5: everything[5] - {3, 8}, 2: everything[2] - {3}}
    assert items("user,item\n") == items("") == everything
    (tmp_path / "out.csv").write_text("5,3\n8\n999,3\n")
    error = run("recommend", model, "--all", "--exclude", tmp_path / "out.csv").error
    assert "out.csv, line 2: expected user and item, and nothing else, found 8" in error
    outcome = run("recommend", model, "--user", 5, "--exclude", "-", stdin=b"3\n999\n")
    assert "1 line names what the model does not know" in outcome.said
    assert "the first is line 2, 999" in outcome.said
    damaged = "standard input: the Parquet file is damaged or cut short"
    assert run("recommend", model, "-u", 5, "--exclude", "-", stdin=b"PAR1\x80").error.startswith(damaged)
    for options, message in (
        (("--exclude", tmp_path / "none"), "no such file"),
        (("--out", tmp_path / "a.xlsx"), "cannot tell the format"),
    ):
        assert message in run("recommend", tmp_path / "no-model", "--all", *options).error  # before the model is read


def test_rules_of_lists(run, data: RatingDataset, model: Path, tmp_path: Path) -> None:
    def items(*options: object) -> list[int]:
        found = run("recommend", model, "--user", 5, "-n", 8, "--json", *options).json
        return [row["item"] for row in found]

    fitted, groups = cofactor.load(model), tmp_path / "groups.csv"
    counts = dict(zip(fitted.items_.ids.tolist(), fitted.ratings_.item_counts.tolist(), strict=True))
    least = sorted(counts.values())[len(counts) // 2]
    assert min(counts[item] for item in items("--min-support", least)) >= least
    rules = Rules(diversity=0.5, novelty=0.1)
    expected = fitted.recommend([5], 8, rules=rules)[0][0].tolist()
    assert items("--diversity", 0.5, "--novelty", 0.1) == expected
    groups.write_text("item,group\n" + "".join(f"{item},{'even' if item % 2 == 0 else 'odd'}\n" for item in counts))
    found = items("--groups", groups, "--per-group", 2)
    assert sorted(item % 2 for item in found) == [0, 0, 1, 1]
    found = items("--groups", groups, "--min-per-group", "even=7", "--per-group", "odd=1")
    assert sorted(item % 2 for item in found) == [*[0] * 7, 1]
    last, boosts = items("-n", 40)[-1], tmp_path / "boosts.csv"
    boosts.write_text(f"item,boost\n{last},100\n")
    assert items("--boost", boosts)[0] == last
    boosts.write_text(f",boost,title,item\n0,100,x,{last}\n")  # by names, with an index as pandas writes one
    assert items("--boost", boosts)[0] == last
    boosts.write_text(f"item,boost\n{last},much\n")
    error = run("recommend", model, "--user", 5, "--boost", boosts).error
    assert f"boosts.csv: item {last} has the boost 'much', expected a number" in error
    for wrong, message in (
        (("--per-group", 2), "--groups and --per-group or --min-per-group go together"),
        (("--groups", groups, "--per-group", -1), "--per-group -1: expected a whole number of at least 0"),
        (("--groups", groups, "--min-per-group", 6), "--min-per-group 6: lists of 10 items cannot have 12"),
        (("--groups", groups, "--min-per-group", "old=1"), "no item has the group 'old'"),
        (
            ("--groups", groups, "--min-per-group", "even"),
            "--min-per-group even: expected a whole number, or GROUP=K,GROUP=K",
        ),
        (("--min-support", -3), "--min-support -3: expected a whole number"),
        (("--novelty", -1), "--novelty -1"),
    ):
        outcome = run("recommend", model, "--user", 5, *wrong)
        assert outcome.status == 2
        assert message in outcome.said
    (tmp_path / "none.csv").write_text("item,group\nx,y\n")
    error = run("recommend", model, "--user", 5, "--groups", tmp_path / "none.csv", "--per-group", 1).error
    assert "has the group of no item that was in training" in error
    (tmp_path / "one.csv").write_text("x\n")
    error = run("recommend", model, "--user", 5, "--groups", tmp_path / "one.csv", "--per-group", 1).error
    assert "expected an item id and a group, found 'x'" in error
    (tmp_path / "two.csv").write_text("5,x\n6,x\n5,y\n")
    error = run("recommend", model, "--user", 5, "--groups", tmp_path / "two.csv", "--per-group", 1).error
    assert "two.csv, line 3: item '5' has a second group, expected one for each item" in error


def test_new_users_are_folded_in(run, model: Path) -> None:
    found = run("recommend", model, "--ratings", "-", "-n", 4, "--json", stdin=NEW.encode()).json
    pairs = [("ann", 3), ("ann", 7), ("bob", 3), ("bob", 9), ("bob", 11)]
    items, _ = cofactor.load(model).fold_in(pairs, [5, 1, 2, 4, 5]).recommend(["ann", "bob"], 4)
    assert [row["user"] for row in found] == ["ann"] * 4 + ["bob"] * 4
    assert [row["item"] for row in found] == items.ravel().tolist()


def test_one_of_the_new_users(run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text(NEW)
    found = run("recommend", model, "--ratings", file, "--user", "bob", "--json").json
    assert {row["user"] for row in found} == {"bob"}
    assert not {row["item"] for row in found} & {3, 9, 11}
    assert run("recommend", model, "--ratings", file, "--user", "eve").error == f"--user eve: is not in {file}"


def test_users_of_training_are_folded_in_as_the_caller_says(run, data: RatingDataset, model: Path) -> None:
    new = b"user,item,rating\n5,3,5\nann,3,5\n"
    error = run("recommend", model, "--ratings", "-", stdin=new).error
    assert error.startswith("standard input: 1 user is known to this model, such as 5: their ratings there")
    assert "--known merge adds" in error
    assert "--known replace lets" in error
    assert run("recommend", model, "--ratings", "-", stdin=new.replace(b"5,3,5", b"5.0,3.0,5")).error == error
    history = set(data.X[data.X[:, 0] == 5, 1].tolist())
    for known, seen in (("merge", history | {3}), ("replace", {3})):
        arguments = ["recommend", model, "--ratings", "-", "--known", known, "--user", 5, "-n", 40, "--json"]
        found = run(*arguments, stdin=new).json
        assert {row["item"] for row in found} == set(data.X[:, 1].tolist()) - seen
    lean = model.with_name("lean.cofactor")
    cofactor.load(model).save(lean, ratings=False)
    error = run("recommend", lean, "--ratings", "-", "--known", "merge", stdin=new).error
    assert "saved without its ratings" in error
    assert "give --known replace" in error
    assert run("recommend", model, "--ratings", "-", "--known", "both", stdin=new).error.startswith("--known both: ")
    assert run("recommend", model, "--user", 5, "--known", "merge").error.startswith("--known says what becomes of")


def test_titles(run, model: Path, tmp_path: Path) -> None:
    titles = tmp_path / "titles.csv"
    titles.write_text("id,title\n" + "".join(f'{i},"Film, number {i}"\n' for i in range(40)))
    found = run("recommend", model, "--user", 5, "--titles", titles, "--json").json
    assert [row["title"] for row in found] == [f"Film, number {row['item']}" for row in found]
    titles.write_text("id,title\n1,Up\n2,Heat\n")
    other = tmp_path / "other.csv"
    other.write_text("Up,1\nHeat,2\n")
    for asked in (["recommend", model, "--user", 5], ["similar", model, "--item", 3]):
        outcome = run(*asked, "--titles", titles)
        assert (outcome.status, outcome.err) == (0, f"cofactor: note: {titles}: has no title of 38 of 40 items\n")
        error = run(*asked, "--titles", other).error
        assert error.startswith(f"{other}: has the title of no item that was in training, such as 0, 1, 2")
        assert "but that of 'Heat'" in error
    turned = tmp_path / "turned.csv"
    turned.write_text("title,id\nUp,1\nHeat,2\n")  # columns are found by their names
    assert run("recommend", model, "--user", 5, "--titles", turned).status == 0
    titles.write_text("1::Toy Story\n2\n")
    assert run("recommend", model, "--user", 5, "--titles", titles).error.startswith(f"{titles}, line 2: expected")


def test_tables_beside_the_model_may_be_parquet(run, model: Path, tmp_path: Path) -> None:
    """Titles, groups and items to leave out are what the same table is as text."""
    asked = ("recommend", model, "--user", 5, "-n", 8, "--json")
    ids = np.arange(40)
    odd = np.array(["even", "odd"], dtype=object)[ids % 2]
    tables = {
        "titles": {"id": ids, "title": np.array([f"Film, number {k}" for k in ids], dtype=object), "year": ids / 7},
        "groups": {"item": ids, "group": odd},
        "out": {"film": ids[:20], "user": np.full(20, 5)},
    }
    for suffix in ("csv", "parquet"):
        for name, columns in tables.items():
            write_table(tmp_path / f"{name}.{suffix}", columns)

    def answer(suffix: str) -> list[dict[str, Any]]:
        rules = ("--groups", tmp_path / f"groups.{suffix}", "--per-group", 3)
        files = ("--titles", tmp_path / f"titles.{suffix}", "--exclude", tmp_path / f"out.{suffix}")
        return run(*asked, *rules, *files).json

    found = answer("parquet")
    assert found == answer("csv")
    assert [row["title"] for row in found] == [f"Film, number {row['item']}" for row in found]
    assert len(found) == 6
    assert min(row["item"] for row in found) >= 20


def test_boosts_may_be_fractions_in_tables_with_types(run, model: Path, tmp_path: Path) -> None:
    """A boost is a number and no id, in Parquet, SQLite and DuckDB as in CSV, and wherever its column stands."""
    columns = {"boost": [0.75, -0.5, 3.0], "title": [[1], [2], [3]], "item": [7, 8, 9]}
    text, parquet, base = tmp_path / "b.csv", tmp_path / "b.parquet", tmp_path / "b.db"
    text.write_text("item,boost\n7,0.75\n8,-0.5\n9,3\n")
    pyarrow.parquet.write_table(pa.table(columns), parquet)
    rows = list(zip(columns["item"], columns["boost"], strict=True))
    with closing(sqlite3.connect(base)) as connection, connection:
        connection.execute("create table boosts (item integer, boost real)")
        connection.executemany("insert into boosts values (?, ?)", rows)
    with closing(duckdb.connect(tmp_path / "b.duckdb")) as connection:
        connection.execute("create table boosts (item integer, boost decimal(6, 2))")
        connection.executemany("insert into boosts values (?, ?)", rows)
    query = f"sqlite:///{base}#select item, 0.7 + boost - 0.7 as boost from boosts"
    asked = ("recommend", model, "--user", 5, "-n", 20, "--json", "--boost")
    expected = run(*asked, text).json
    assert expected != run(*asked[:-1]).json
    for source in (parquet, f"sqlite:///{base}#boosts", f"duckdb:///{tmp_path / 'b.duckdb'}#boosts"):
        assert run(*asked, source).json == expected
    assert [row["item"] for row in run(*asked, query).json] == [row["item"] for row in expected]
    pyarrow.parquet.write_table(pa.table({"item": [7, 8], "boost": [0.5, None]}), parquet)
    assert "item 8 has the boost '', expected a number" in run(*asked[:-2], "--boost", parquet).error


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": [1, 2]}, "row 1: expected an item id and a title, found '1'"),
        ({"id": [1.5, 2.0], "title": ["a", "b"]}, "row 1, column 'id': the id 1.5 is no whole number; store ids as"),
        ({"id": [1, 2], "title": [["a"], ["b"]]}, "column 'title': has type list<element: string>, expected integers"),
    ],
)
def test_titles_in_parquet_that_are_none(columns, message, run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "titles.parquet"
    pyarrow.parquet.write_table(pa.table(columns), file)
    error = run("recommend", model, "--user", 5, "--titles", file).error
    assert error.startswith(f"{file}, {message}")
    content = file.read_bytes()
    file.write_bytes(b"\0" * 4 + content[4:])
    assert "it does not begin with PAR1" in run("recommend", model, "--user", 5, "--titles", file).error
    file.write_bytes(content[:-20])
    assert "is damaged or cut short" in run("recommend", model, "--user", 5, "--titles", file).error


def test_a_title_may_be_missing_in_parquet(run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "titles.parquet"
    pyarrow.parquet.write_table(pa.table({"id": list(range(40)), "title": [None, "Up", *[None] * 38]}), file)
    found = run("recommend", model, "-u", 5, "-n", 40, "--include-seen", "--titles", file, "--json").json
    assert {row["item"]: row["title"] for row in found} == {row["item"]: "Up" * (row["item"] == 1) for row in found}


def test_titles_and_candidates_in_another_encoding(run, model: Path, tmp_path: Path) -> None:
    titles = tmp_path / "titles.csv"
    titles.write_text("id,title\n" + "".join(f"{i},Amélie {i}\n" for i in range(40)), encoding="latin-1")
    candidates = tmp_path / "candidates.txt"
    candidates.write_text("item\n3\n8\n", encoding="utf-16")
    arguments = ["recommend", model, "--user", 5, "--include-seen", "--json"]
    assert "give the right one with --encoding" in run(*arguments, "--titles", titles).error
    found = run(*arguments, "--titles", titles, "--encoding", "latin-1").json
    assert [row["title"] for row in found] == [f"Amélie {row['item']}" for row in found]
    found = run(*arguments, "--candidates", candidates, "--encoding", "utf-16").json
    assert {row["item"] for row in found} == {3, 8}


def test_titles_of_a_known_data_set(run, data_dir: Path, model: Path) -> None:
    found = run("recommend", model, "--user", 5, "-n", 40, "--include-seen", "--titles", "ml-100k", "--json").json
    assert {row["item"]: row["title"] for row in found}[1] == "Toy Story (1995)"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("user,item,rating\nann,3,9\n", "line 2, column 'rating': the rating 9 is not on the scale 1, 2, 3, 4, 5"),
        ("user,item,rating\nann,999,5\n", "holds only items that were not in training: 999"),
        ("user,item,rating\nann,3,5\nann,3,4\n", "user ann has rated item 3 more than once (ratings 1 and 2 of the"),
        ("user,item,rating\n", "standard input"),
        ("rating,x,item\n5,ann,3\n", "say which with --user-column"),
    ],
)
def test_bad_ratings_of_new_users(run, model: Path, content: str, message: str) -> None:
    error = run("recommend", model, "--ratings", "-", stdin=content.encode()).error
    assert message in error
    assert error.startswith("standard input")


def test_an_unknown_user_with_a_name_is_told_similar_ones(run, named_csv: Path, tmp_path: Path, fit_once) -> None:
    columns = ("--user", "who", "--item", "film", "--rating", "stars given")
    model = fit_once(named_csv, "-m", "als", "--alpha", 3, *columns, out=tmp_path / "named.cofactor")
    for command in (("recommend", model, "--user", "user_07"), ("similar", model, "--user", "user_07")):
        assert "did you mean user 07" in run(*command).error


def test_bad_requests(run, model: Path) -> None:
    assert run("recommend", model).error.startswith("say for whom: --user ID")
    assert (
        run("recommend", model, "--user", 5, "--all").error == "--user and --all exclude each other: give one of them"
    )
    assert run("recommend", model, "--user", "nobody").error.startswith("--user nobody: was not in training")
    assert run("recommend", "-", "--ratings", "-").error.startswith("MODEL and --ratings cannot both be standard input")
    assert run("recommend", model, "--user", 5, "-n", 0).error.startswith("-n 0: expected a number of at least 1; see ")
    assert run("recommend", model, "--user", 5, "-n", 10**9).error.startswith("-n 1000000000 for 1 user asks for 1,000")


def test_a_model_without_ratings_says_what_to_do(run, model: Path) -> None:
    lean = model.with_name("lean.cofactor")
    cofactor.load(model).save(lean, ratings=False)
    assert "--include-seen" in run("recommend", lean, "--user", 5).error
    assert run("recommend", lean, "--user", 5, "--include-seen").status == 0


def test_ratings_of_unknown_items_are_left_out_with_a_note(run, model: Path) -> None:
    outcome = run("recommend", model, "--ratings", "-", "--json", stdin=(NEW + "ann,999,5\n").encode())
    assert outcome.out == run("recommend", model, "--ratings", "-", "--json", stdin=NEW.encode()).out
    assert "items that were not in training are left out: 1 of 6, such as those of 999" in outcome.err


def test_everyone_and_new_users_exclude_each_other(run, model: Path) -> None:
    assert "--all and --ratings exclude each other" in run("recommend", model, "--all", "--ratings", "new.csv").error
