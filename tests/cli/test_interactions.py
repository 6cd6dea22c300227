"""Clicks, plays and purchases through every command: recognised, asked for, and refused where they are no use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cofactor
from cofactor.datasets import RatingDataset, read_interactions
from cofactor.ratings import EASE, Recommender

READ_IT = "if the file says what users interacted with, not how they liked it, read it with --implicit"
NEGATIVE = "user,item,plays\n1,2,3\n1,3,-1\n"


@pytest.fixture
def clicks(data: RatingDataset, tmp_path: Path) -> Path:
    """Users and items alone."""
    path = tmp_path / "clicks.csv"
    path.write_text("\n".join(f"{user},{item}" for user, item in data.X.tolist()))
    return path


@pytest.fixture
def plays(data: RatingDataset, tmp_path: Path) -> Path:
    """How often, with names of users and items."""
    path = tmp_path / "plays.csv"
    rows = [f"u{user},i{item},{1 + user % 7 * (item % 3)}" for user, item in data.X.tolist()]
    path.write_text("\n".join(["who,what,plays", *rows]))
    return path


def fitted(run, file: Path, *options: object) -> tuple[object, dict[str, object], str]:
    out = file.with_suffix(".cofactor")
    outcome = run("fit", file, *options, "--out", out, "--json")
    assert outcome.status == 0, outcome.err
    return cofactor.load(out), outcome.json, outcome.said


def test_users_and_items_alone_are_recognised(run, data: RatingDataset, clicks: Path) -> None:
    model, facts, told = fitted(run, clicks)
    assert (facts["model"], facts["interactions"], facts["users"]) == ("Recommender", data.n_ratings, data.n_users)
    assert "read as what users interacted with, since there is no column beside users and items" in told
    assert model.rating_model_ is None
    direct = Recommender(ratings=None, random_state=0).fit(data.X)
    found, expected = model.recommend([5], 4), direct.recommend([5], 4)
    assert np.array_equal(found.items, expected.items)
    assert np.array_equal(found.p_interact, expected.p_interact)
    rows = run("recommend", clicks.with_suffix(".cofactor"), "--user", 5, "-n", 4, "--json").json
    assert [set(row) for row in rows] == [{"user", "rank", "item", "score", "p_interact"}] * 4
    assert [row["item"] for row in rows] == found.items[0].tolist()
    assert [row["p_interact"] for row in rows] == pytest.approx(found.p_interact[0], rel=1e-5)


def test_counts_and_times_are_carried(run, plays: Path, tmp_path: Path) -> None:
    model, _, told = fitted(run, plays, "-m", "ease")
    assert "since there is a column 'plays', and none of ratings; as ratings with --bins 5" in told
    interactions = read_interactions(plays)
    assert np.array_equal(model.ratings_.weights, EASE().fit(interactions).ratings_.weights)
    assert model.ratings_.weights.max() > 1
    timed = tmp_path / "timed.csv"
    timed.write_text("user,item,timestamp\n1,2,881250949\n1,3,881250950\n2,3,881250951\n2,4,881250952\n")
    model, _, told = fitted(run, timed, "-m", "popularity", "--param", "half_life=1")
    assert model.ratings_.times.tolist() == [881250949, 881250950, 881250951, 881250952]
    assert "no column beside users, items and times" in told
    unnamed = timed.read_text().partition("\n")[2]
    assert run("fit", "-", "-m", "popularity", "--param", "half_life=1", "-o", tmp_path / "x", stdin=unnamed.encode())
    assert cofactor.load(tmp_path / "x").ratings_.times is not None
    timed.write_text(f"visitorid,itemid,timestamp\n{unnamed}")  # as a shop calls them
    _, facts, _ = fitted(run, timed, "-m", "popularity")
    assert (facts["users"], facts["items"]) == (2, 3)


def test_ratings_are_read_as_interactions_when_asked_or_equal(run, data: RatingDataset, csv: Path, tmp_path) -> None:
    model, facts, told = fitted(run, csv, "--implicit")
    assert (facts["interactions"], "levels" in facts, told) == (data.n_ratings, False, "")
    assert model.rating_model_ is None
    ones = tmp_path / "ones.csv"
    ones.write_text("\n".join(["user,item,stars", *(f"{user},{item},1" for user, item in data.X.tolist())]))
    _, _, told = fitted(run, ones, "-m", "ease")
    assert "since all ratings are 1" in told


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("1,2\n1,3\n", ["-m", "mmmf"], "holds interactions, and MMMF learns from ratings, what users like more and"),
        ("1,2,4\n1,3,4\n2,3,4\n", ["-m", "als"], "models of interactions are popularity, ease, "),
        (NEGATIVE, [], "line 3, column 'plays': the count is -1, expected a number of at least 0"),
        ("user,item,plays\n1,2,0\n", [], "column 'plays': all counts are 0"),
        ("1,2\n", ["--levels", "1:5"], "--levels says what ratings there are, but there is no column beside"),
        ("1,2,3\n", ["--implicit", "--rating", 2], "--rating is for ratings, and --implicit reads none"),
        ("1,2,3\n", ["--count", 2, "--bins", 3], "--bins is for ratings, and --count reads none"),
        ("1,2\n", ["-m", "popularity", "--param", "half_life=7"], "half_life=7 needs the time of each interaction"),
        ("user,item,plays\n1,2,3\n", ["--count", "views"], "no column 'views' (--count)"),
        ("1,2,a\n1,3,b\n", [], f"such as --levels a,b; or, {READ_IT}"),
        ("\n".join(f"1,2,page {k}" for k in range(30)), [], f"labels with --labels; or, {READ_IT}"),
        ("user,item\n1,2\n", ["--rating", "stars"], f"the columns are user, item; {READ_IT}"),
        ("1,2\n1,3\n", ["--bins", 3], f"or give --rating; or, {READ_IT}"),
        ("1,2,4\n1,3,4\n", ["--levels", "1:5"], f"--bins 5; or, {READ_IT}"),
        ("\n".join(f"{k % 9},{k},{k / 7}" for k in range(200)), [], f"--bins 5; or, {READ_IT}"),
    ],
)
def test_wrong_use_is_told(run, tmp_path: Path, content: str, options: list[object], message: str) -> None:
    file = tmp_path / "x.csv"
    file.write_text(content)
    assert message in run("fit", file, *options, "-o", tmp_path / "x.cofactor").error


def test_what_becomes_of_rows_is_told(run, tmp_path: Path) -> None:
    file = tmp_path / "plays.csv"
    file.write_text("user,item,plays\n1,a,2\n1,a,3\n1,b,0\n2,a,4\n2,c,1\n")
    model, facts, told = fitted(run, file, "-m", "popularity", "--duplicates", "last")
    assert facts["interactions"] == 3
    assert model.ratings_.weights.tolist() == [5, 4, 1]
    assert "1 interaction of a pair that occurred before: counts of a pair add up" in told
    assert "left out, since there was no interaction: 1 row with count 0" in told
    assert "--duplicates last is for ratings: counts of interactions add up" in told
    file.write_text("user,item,stars\n1,a,2\n1,a,3\n2,a,4\n2,c,1\n")
    model, _, told = fitted(run, file, "-m", "popularity", "--implicit")
    assert model.ratings_.weights is None
    assert "note: 1 rating of items rated before: each item counts once" in told


def test_factors_are_a_number_or_auto(run, clicks: Path, tmp_path: Path) -> None:
    model, facts, _ = fitted(run, clicks, "-m", "implicit-als", "--factors", "auto")
    assert model.n_factors == "auto"
    assert facts["factors"] == model.V_.shape[1]
    for given, name, message in (
        ("0", "implicit-als", "--factors 0: expected a whole number above 0, or auto"),
        ("many", "implicit-als", "--factors many: expected a whole number above 0, or auto"),
        ("auto", "bpr", "--factors auto: expected a whole number"),
    ):
        outcome = run("fit", clicks, "-m", name, "--factors", given, "-o", tmp_path / "x")
        assert (outcome.status, message in outcome.error) == (2, True), outcome.error


@pytest.mark.filterwarnings("default:.*look like counts")  # which the command shows
def test_counts_that_would_be_levels_are_told(run, data: RatingDataset, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    counts = 1 + (data.X[:, 0] * data.X[:, 1]) % 23 % np.array([2, 3, 23])[data.X[:, 1] % 3]
    file.write_text("\n".join(f"{user},{item},{n}" for (user, item), n in zip(data.X.tolist(), counts, strict=True)))
    outcome = run("fit", file, "-m", "als", "--alpha", 1, "--factors", 2, "-o", tmp_path / "x")
    assert "look like counts, with 23 distinct ones" in outcome.said
    assert "--count 2 takes them as such" in outcome.said
    _, _, told = fitted(run, file, "-m", "ease", "--count", 2)
    assert told == ""
    file.write_text("\n".join(f"{k % 20},{k},{7 * k}" for k in range(200)))
    assert "if they say how often users interacted with something, name their column with" in run("fit", file).error


def test_interactions_are_told_where_ratings_are_passed_over(run, csv: Path) -> None:
    assert "EASE learns from what users interacted with, whatever the ratings say" in fitted(run, csv, "-m", "ease")[2]
    assert "did you mean ml-100k" in run("fit", "ml-100").error


def test_short_lists_are_told(run, clicks: Path) -> None:
    fitted(run, clicks)
    file = clicks.with_suffix(".cofactor")
    outcome = run("recommend", file, "--all", "-n", 40, "--json")
    n_short = len({row["user"] for row in outcome.json})
    told = outcome.said
    assert f"note: {n_short} users get fewer than 40 items, since no more are left: --include-seen adds what" in told
    assert run("recommend", file, "--user", 5, "-n", 40, "--include-seen", "--json").err == ""
    none = run("recommend", file, "--user", 5, "--min-support", 99, "--json")
    assert none.json == []
    assert "1 user gets fewer than 10 items, 1 of them none" in none.said
    assert "--min-support leaves fewer" in none.said


def test_recommend_reads_a_file_as_fit_does(run, csv: Path, plays: Path, tmp_path: Path) -> None:
    for file, user, *options in ([csv, 5, "--implicit"], [plays, "u5", "--count", "plays"]):
        fitted(run, file, *options)
        kept = run("recommend", file.with_suffix(".cofactor"), "--user", user, "-n", 3, "--json").out
        assert run("recommend", file, "--user", user, "-n", 3, "--json", *options).out == kept
    twice = tmp_path / "twice.csv"
    twice.write_text("user,item,rating\n" + "".join(f"{u},{i},{1 + u % i}\n" for u in range(1, 9) for i in (2, 3, 3)))
    assert "or choose with --duplicates last or mean" in run("recommend", twice, "--all").error
    assert run("recommend", twice, "--all", "--duplicates", "last", "--json").status == 0
    fitted(run, csv, "-m", "ease")
    error = run("recommend", csv.with_suffix(".cofactor"), "--all", "--levels", "1:5").error
    assert "--levels says how to read ratings, and" in error


def test_ratings_given_as_counts(run, csv: Path, tmp_path: Path) -> None:
    error = run("fit", csv, "--count", "rating", "-o", tmp_path / "x").error
    assert "these look like ratings, not counts: " in error
    assert error.endswith("leave --count out")


def test_what_models_of_interactions_cannot(run, csv: Path, clicks: Path, tmp_path: Path) -> None:
    fitted(run, csv, "-m", "ease")
    ease = csv.with_suffix(".cofactor")
    assert "EASE says who interacts with what, and predicts no ratings" in run("predict", ease, clicks).error
    high = run("recommend", ease, "--user", 5, "--at-least", 4)
    assert "--at-least 4: EASE says who interacts with what" in high.error
    assert "--rank-by like: EASE says who interacts" in run("recommend", ease, "--user", 5, "--rank-by", "like").error
    assert run("recommend", ease, "--user", 5, "--rank-by", "interaction").status == 0
    assert "with --rank" in run("evaluate", csv, "-m", "ease").error
    assert "method 'EASE' ranks items, and predicts no ratings; " in run("compare", csv, "-m", "ease").error
    assert "-likes 4: there are no ratings" in run("evaluate", clicks, "-m", "ease", "--likes", 4, "--rank").error
    assert "holds interactions and ratings.csv ratings" in run("compare", clicks, csv, "-m", "ease", "--rank").error
    update = run("update", ease, csv, "--again", "--out", tmp_path / "later", "--json")
    assert update.json["new_ratings"] == 960


def test_evaluate_and_compare(run, data: RatingDataset, plays: Path) -> None:
    outcome = run("evaluate", plays, "-m", "recommender", "-m", "ease", "--at", 5, "--json")
    found = outcome.json
    assert list(found["summary"]) == ["popularity", "Recommender", "EASE"]
    n_held_out = int(np.round(0.2 * np.unique(data.X[:, 0], return_counts=True)[1]).sum())
    n_open = 60 * 40 - data.n_ratings + n_held_out  # all items that users are not known to have
    assert sum(found["summary"]["Recommender"]["p_interact"]["items"]) == n_open
    assert "p_interact" not in found["summary"]["EASE"]
    assert "P(interact) of Recommender, to be among the held-out items" in run("evaluate", plays, "--at", 5).out
    outcome = run("compare", plays, "-m", "ease", "--at", 5, "--rank", "--splits", 2)
    tested = [line for line in outcome.out.splitlines() if "over 60 users" in line]
    assert len(tested) == 2  # of two measures with a value for each user
    assert all("popularity" in line and "corrected p" in line for line in tested)


def test_recommend_from_data(run, clicks: Path) -> None:
    outcome = run("recommend", clicks, "--user", 5, "-n", 3, "--json")
    assert "a Recommender was fitted in" in outcome.err
    assert f"cofactor fit {clicks} --out model.cofactor keeps it" in outcome.said
    fitted(run, clicks)
    again = run("recommend", clicks.with_suffix(".cofactor"), "--user", 5, "-n", 3, "--json")
    assert outcome.json == again.json
    assert "holds labels, of which no items can be recommended" in run("recommend", "emotions", "--all").error


def test_a_recommender_of_ratings_recommends_and_predicts(run, csv: Path) -> None:
    few = ["--param", "n_sweeps=30", "--param", "burn_in=10", "--param", "interactions=ease"]
    model, facts, _ = fitted(run, csv, *few)
    assert facts["parts"] == ["EASE", "OrdinalProbit"]
    file = csv.with_suffix(".cofactor")
    rows = run("recommend", file, "--user", 5, "-n", 3, "--json").json
    found = model.recommend([5], 3)
    assert [row["item"] for row in rows] == found.items[0].tolist()
    for name in ("p_interact", "p_like"):
        assert [row[name] for row in rows] == pytest.approx(getattr(found, name)[0], rel=1e-5)
    pairs = [(5, row["item"]) for row in rows]
    assert [row["prediction"] for row in rows] == model.predict(pairs).tolist()
    assert model.predict(pairs).tolist() == model.rating_model_.predict(pairs).tolist()
    by_rating = run("recommend", file, "--user", 5, "-n", 3, "--rank-by", "rating", "--json").json
    assert [row["item"] for row in by_rating] == model.rating_model_.recommend([5], 3)[0][0].tolist()
    assert "--rank-by rating" in run("recommend", file, "--user", 5, "--quantile", 0.9).error
    assert "expected one of 'like'" in run("recommend", file, "--user", 5, "--rank-by", "taste").error
    new = run("recommend", file, "--ratings", "-", "-n", 2, "--json", stdin=b"ann,3\nann,7\n")
    assert [row["user"] for row in new.json] == ["ann", "ann"]
    table = csv.with_name("predicted.csv")
    assert run("predict", file, csv, "--proba", "--out", table).status == 0
    assert table.read_text().startswith("user,item,prediction,score,p_1,")
    assert run("similar", file, "--item", 3, "-n", 2).status == 0


@pytest.mark.parametrize(
    ("names", "options"),
    [("customer_id,sku,clicked_at", ()), ("who,what,stamp", ()), ("who,what,day", ("--time", "day"))],
)
def test_a_column_of_times_is_no_column_of_ratings(run, tmp_path: Path, names: str, options: tuple[str, ...]) -> None:
    days = ("2026-02-04 12:35:11", "2026-02-05", "2026-02-06") if not options else (20, 21, 22)
    rows = "".join(f"{u},s{i},{days[(u + i) % 3]}\n" for u in range(6) for i in range(5) if (u + i) % 4)
    (tmp_path / "clicks.csv").write_text(f"{names}\n{rows}")
    more = ("--model", "popularity", "--out", tmp_path / "m.cofactor")
    assert run("fit", tmp_path / "clicks.csv", *options, *more).status == 0
    interactions = cofactor.load(tmp_path / "m.cofactor").ratings_
    assert (interactions.n_ratings, interactions.times is None) == (rows.count("\n"), False)


def test_a_fit_says_which_columns_it_took_and_which_count_it_left(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = zip(rng.integers(0, 20, 300), rng.integers(0, 15, 300), rng.integers(1, 4, 300), strict=True)
    kinds = ("view", "view", "buy")
    lines = [f"{k},{user},{kinds[k % 3]},{item},{many}" for k, (user, item, many) in enumerate(rows)]
    events = tmp_path / "events.csv"
    events.write_text("\n".join(["timestamp,visitorid,event,itemid,quantity", *lines]))
    asked = ("fit", events, "-m", "ease", "--target", "buy", "--out", tmp_path / "m.cofactor")
    told = " ".join(run(*asked).err.split())
    taken = "user from column 'visitorid', item from column 'itemid', kind from column 'event', timestamp from column"
    assert taken in told
    assert "column 'quantity' is not read, and each row counts once" in told
    counted = " ".join(run(*asked, "--count", "quantity").err.split())
    assert "count from column 'quantity'" in counted
    assert "is not read" not in counted
    assert "'quantity' is not read" in read_interactions(events).description
