"""Times on the command line: columns of them, splits by them, and models that keep them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cofactor
from cofactor.datasets import RatingDataset, read_ratings
from cofactor.evaluation import evaluate
from cofactor.ratings import ALS

QUICK = ["--alpha", 3, "--factors", 2]


@pytest.fixture
def timed(data: RatingDataset, tmp_path: Path) -> Path:
    """Return the ratings as a file whose column of dates has an unusual name."""
    days = np.datetime64("2020-01-01") + np.random.default_rng(0).integers(0, 30, data.n_ratings)
    path = tmp_path / "timed.csv"
    lines = (f"{u},{i},{y},{day}" for (u, i), y, day in zip(data.X.tolist(), data.y, days, strict=True))
    path.write_text("\n".join(["user,item,rating,seen", *lines]) + "\n")
    return path


@pytest.mark.parametrize("protocol", ["time", "user-last"])
def test_evaluate_by_time(run, timed: Path, protocol: str) -> None:
    options = ["-m", "als", "-p", protocol, "--splits", 2, "--time", "seen", *QUICK, "--json"]
    found = run("evaluate", timed, *options).json
    data = read_ratings(timed, timestamp="seen")
    assert data.timestamps is not None
    model = ALS(2, 3.0, levels=data.scale, random_state=0)
    direct = evaluate(model, data.X, data.y, protocol, 2, time=data.timestamps)
    assert [one["mae"] for one in found["results"]["ALS"]] == [one["mae"] for one in direct]
    assert found["splits"] == len(direct) == (2 if protocol == "time" else 1)


def test_a_file_without_times_cannot_be_split_by_them(run, timed: Path) -> None:
    for command, *more in (["evaluate"], ["compare"], ["evaluate", "--rank"]):
        error = run(command, timed, "-m", "als", "-p", "user-last", *more).error
        assert timed.name in error.split(" has no times")[0]
        assert "has no times, by which user-last splits; give them with --time, or choose another --protocol" in error
    assert run("fit", timed, "--time", "when").error == (
        f"{timed}: no column 'when' (--time); the columns are user, item, rating, seen"
    )
    assert run("evaluate", timed, "-m", "als", "--time", "rating").status == 2


def test_a_model_of_drift_needs_times(run, timed: Path, tmp_path: Path) -> None:
    drifts = ["--param", "time=True", "--param", "n_sweeps=4", "--param", "burn_in=2", "--factors", 1]
    error = run("fit", timed, "-m", "ordinal-probit", *drifts).error
    assert "a model of drift in time needs the time of each rating, and the ratings have none; give them with" in error
    model, pairs = tmp_path / "m.cofactor", tmp_path / "pairs.csv"
    assert run("fit", timed, "-m", "ordinal-probit", *drifts, "--time", "seen", "-o", model).status == 0
    pairs.write_text("user,item\n1,1\n")
    error = run("predict", model, pairs).error
    assert "its predictions depend on them; give the time of each pair with --time" in error


def test_compare_by_time(run, timed: Path) -> None:
    outcome = run("compare", timed, "-m", "als", "-m", "rating-svd", "-p", "user-last", "--time", "seen", *QUICK)
    assert "one user-last split (rank)" in outcome.out


def test_models_keep_times_and_new_users_bring_theirs(run, timed: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.cofactor"
    assert run("fit", timed, "-m", "als", "--time", "seen", *QUICK, "-o", model).status == 0
    ratings = cofactor.load(model).ratings_
    assert np.array_equal(ratings.times, np.sort(ratings.times)) is False
    assert ratings.times.min() >= np.datetime64("2020-01-01").astype("datetime64[s]").astype(int)
    new = tmp_path / "new.csv"
    items = ratings.items.ids[:2].tolist()
    new.write_text(f"user,item,rating,at\nzoe,{items[0]},5,2020-02-03\nzoe,{items[1]},1,2020-02-04\n")
    assert run("recommend", model, "--ratings", new, "--time-column", "at", "-n", 2).status == 0
    error = run("recommend", model, "--ratings", new, "--time-column", "user").error
    assert "a time must be a number of seconds since 1970, or a date such as" in error
    assert run("predict", model, new, "--time", "at").status == 0
    assert run("predict", model, new, "--time", "on").error.startswith(f"{new}: no column 'on' (--time)")


def test_recommendations_are_predicted_for_the_time_they_are_ranked_at(run, timed: Path, tmp_path: Path) -> None:
    path, users = tmp_path / "m.cofactor", tmp_path / "users.csv"
    users.write_text("user,age\n" + "".join(f"{user},{user % 7}\n" for user in range(60)))
    short = ["--factors", 2, "--param", "n_sweeps=16", "--param", "burn_in=8", "--param", "time=True"]
    features = ["--user-features", users]
    assert run("fit", timed, "-m", "ordinal-probit", "--time", "seen", *short, *features, "-o", path).status == 0
    model, old = cofactor.load(path), tmp_path / "old.csv"
    old.write_text("user,item,rating,at\nzoe,3,5,2010-02-03\nzoe,5,1,2010-02-04\n")
    rows = run("recommend", path, "--ratings", old, "--time-column", "at", "-n", 20, "--json").json
    days = [np.datetime64(f"2010-02-0{k}") for k in (3, 4)]
    folded = model.fold_in([("zoe", 3), ("zoe", 5)], [5, 1], time=days)
    pairs, latest = [("zoe", row["item"]) for row in rows], model.ratings_.times.max()
    assert [row["prediction"] for row in rows] == folded.predict(pairs, time=np.full(20, latest)).tolist()
    users.write_text("user,age\n1000,3\n")
    alone = run("recommend", path, *features, "-n", 2, "--json")
    assert [row["user"] for row in alone.json] == ["1000", "1000"]
