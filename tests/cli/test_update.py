"""update: new ratings from a file into a model, as the library does it, and what is refused."""

from __future__ import annotations

from copy import copy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cofactor
from cofactor.datasets import RatingDataset, load_labels, make_labels, write_table

QUICK = ["--alpha", 3, "--factors", 2]


def written(path: Path, X: np.ndarray, y: np.ndarray) -> Path:
    write_table(path, {"user": X[:, 0], "item": X[:, 1], "rating": y})
    return path


def test_update_equals_the_library(run, data: RatingDataset, model: Path, tmp_path: Path) -> None:
    X, y = np.array([[1000, 3], [1000, 5], [7, 999], [2, 3]]), np.array([5.0, 4.0, 1.0, 2.0])
    before, new = cofactor.load(model), written(tmp_path / "new.csv", X, y)
    direct = copy(before).update(X, y)
    facts = run("update", model, new, "--out", tmp_path / "updated.cofactor", "--json").json
    found = cofactor.load(tmp_path / "updated.cofactor")
    pairs = [*X.tolist(), *data.X[:50].tolist()]
    assert np.array_equal(found.decision_function(pairs), direct.decision_function(pairs))
    assert (facts["users"], facts["items"], facts["new_ratings"], facts["refit_due"]) == (61, 41, 4, False)
    assert facts["out"] == str(tmp_path / "updated.cofactor")
    assert len(cofactor.load(model).users_) == 60
    assert set(found.recommend([1000], 39)[0][0]) == set(found.items_.ids) - {3, 5}


def test_in_its_place_until_a_fit_is_due(run, data: RatingDataset, model: Path, tmp_path: Path) -> None:
    new = written(tmp_path / "new.csv", data.X[:60] + np.array([100, 0]), data.y[:60])
    first = run("update", model, new)
    assert "since the fit  60 ratings in 1 update" in first.out
    assert "fit a model to all" not in first.err
    second = run("update", model, written(tmp_path / "more.csv", data.X[60:120] + np.array([100, 0]), data.y[60:120]))
    assert "120 ratings in 2 updates" in second.out
    assert "a tenth or more of the ratings came after the fit: fit a model to all of them" in second.err
    assert cofactor.load(model).updates_.n_updates == 2


@pytest.mark.filterwarnings("default:.*an earlier update took in")
def test_a_job_that_runs_twice_says_so(run, data: RatingDataset, model: Path, tmp_path: Path) -> None:
    new = written(tmp_path / "new.csv", data.X[:20] + np.array([100, 0]), data.y[:20])
    run("update", model, new)
    twice = run("update", model, new)
    assert "20 ratings are what an earlier update took in" in twice.err
    assert "--again does it" in twice.err
    assert "20 ratings in 1 update" in twice.out
    assert "40 ratings in 2 updates" in run("update", model, new, "--again").out


@pytest.mark.filterwarnings("default:.*took in, and not taken in twice")
def test_json_says_what_was_warned_of(run, tmp_path: Path) -> None:
    """Also after a command that warned of something else."""
    clicks, model = tmp_path / "clicks.csv", tmp_path / "m.cofactor"
    clicks.write_text("user,item\n" + "".join(f"{k % 9},{k % 7}\n" for k in range(40)))
    fitted = run("fit", clicks, "-m", "ease", "--out", model, "--json").json
    assert fitted["warnings"] == []
    assert "no column beside users and items" in fitted["notes"][0]
    twice = run("update", model, clicks, "--json").json
    assert twice["warnings"] == ["40 interactions are what the fit took in, and not taken in twice; --again does it"]
    assert run("update", model, clicks, "--again", "--json").json["warnings"] == []
    lists = run("recommend", model, "--all", "--out", tmp_path / "lists.csv", "--json").json
    assert set(lists) == {"out", "rows", "warnings", "notes"}
    assert "get fewer than 10 items" in lists["notes"][0]


def test_what_is_refused_leaves_the_file_as_it_was(run, data: RatingDataset, model: Path, tmp_path: Path) -> None:
    before = model.read_bytes()
    other_scale = written(tmp_path / "ten.csv", data.X[:3], np.array([10.0, 1.0, 2.0]))
    assert "ten.csv, line 2, column 'rating': the rating 10 is not on the" in run("update", model, other_scale).error
    twice = written(tmp_path / "twice.csv", data.X[[0, 0]], np.array([1.0, 2.0]))
    assert "has rated item" in run("update", model, twice).error
    named = tmp_path / "named.csv"
    named.write_text("user,item,rating\nbob,3,4\n")
    assert run("update", model, named).error == (
        f"{named}: user 'bob' is not a whole number, as all users that the model knows are: is it the column?"
    )
    assert "cannot both be standard input" in run("update", "-", "-").error
    lean = tmp_path / "lean.cofactor"
    cofactor.load(model).save(lean, ratings=False)
    assert "saved without its ratings" in run("update", lean, written(tmp_path / "a.csv", data.X[:3], data.y[:3])).error
    assert model.read_bytes() == before
    assert run("update", model, twice, "--duplicates", "last").status == 0


@pytest.mark.filterwarnings("default:the update forgets")  # which the command shows
@pytest.mark.parametrize(
    ("fit", "those"), [(["-m", "als", *QUICK], "ratings"), (["--implicit", "-m", "ease"], "interactions")]
)
def test_times_whose_column_was_named_are_missed(run, tmp_path: Path, fit: list[str], those: str) -> None:
    old, new, model = tmp_path / "old.csv", tmp_path / "new.csv", tmp_path / "m.cofactor"
    old.write_text("user,item,rating,seen\n" + "".join(f"{k},{k % 7},{1 + k % 5},2020-01-02\n" for k in range(40)))
    new.write_text("user,item,rating,seen\n100,3,5,2020-03-01\n")
    assert run("fit", old, *fit, "--time", "seen", "--out", model).status == 0
    kept = run("update", model, new, "--time", "seen", "--out", tmp_path / "kept.cofactor")
    assert (kept.err, cofactor.load(tmp_path / "kept.cofactor").ratings_.times.max()) == ("", 1583020800)
    assert run("update", model, new).err == (
        f"cofactor: warning: the update forgets all times, since the new {those} have none; "
        "give times to both, with --time, or to none\n"
    )


def test_a_label_model_goes_on_with_more_instances(run, tmp_path: Path) -> None:
    data, _ = make_labels(90, 6, 4, n_groups=1, n_factors=2, random_state=0)
    X, Y = np.asarray(data.X), data.Y.toarray()
    columns = {f"f{j}": X[:, j] for j in range(6)} | {f"tag{k}": Y[:, k] for k in range(4)}
    for name, rows in (("first.csv", slice(60)), ("second.csv", slice(60, None))):
        write_table(tmp_path / name, {key: column[rows] for key, column in columns.items()})
    path = tmp_path / "omf.cofactor"
    arguments = ["--labels", "tag", "--model", "omf", "--alpha", 0.1, "--factors", 3, "--out", path]
    assert run("fit", tmp_path / "first.csv", *arguments).status == 0
    assert run("update", path, tmp_path / "second.csv").status == 0  # the model knows which columns are labels
    assert cofactor.load(path).n_rows_seen_ == 90
    run("fit", tmp_path / "first.csv", "--labels", "tag", "--model", "plst", "--alpha", 0.1, "--out", path)
    assert "PLST learns from all instances at once" in run("update", path, tmp_path / "second.csv").error


def test_a_ridge_takes_instances_into_its_sums(run, tmp_path: Path) -> None:
    texts = np.array(["waves at the beach", "snow on the slope", "beach and waves", "rain and snow", "high waves"] * 9)
    tags = np.array(["sea", "ski", "sea", "ski|rain", "sea"] * 9)
    for name, rows in (("old.csv", slice(30)), ("new.csv", slice(30, 32)), ("more.csv", slice(32, None))):
        write_table(tmp_path / name, {"text": texts[rows], "tags": tags[rows]})
    path, columns = tmp_path / "tags.cofactor", ["--labels", "tags", "--label-sep", "|", "--text", "text"]
    fit = ["fit", tmp_path / "old.csv", *columns, "--out", path]
    assert run(*fit).status == 0
    error = run("update", path, tmp_path / "new.csv").error
    assert "kept no sums" in error
    assert "--param updatable=true" in error
    assert run(*fit, "--param", "updatable=true").status == 0
    model = cofactor.load(path)
    first = run("update", path, tmp_path / "new.csv", "--json").json
    assert (first["new_instances"], first["refit_due"]) == (2, False)
    assert cofactor.load(path).sums_[0].weight == 32
    second = run("update", path, tmp_path / "more.csv")
    assert " ".join(second.out.split()).count("since the fit 15 new instances") == 1
    assert "a tenth or more of the instances came after the fit: fit a model to all of them" in second.err
    direct = model.update(load_labels(tmp_path / "new.csv", schema=model.schema_))
    direct.update(load_labels(tmp_path / "more.csv", schema=model.schema_))
    frame = pd.DataFrame({"text": texts[:5]})
    assert np.array_equal(cofactor.load(path).decision_function(frame), direct.decision_function(frame))


def test_features_of_new_users_are_found_by_their_ids(run, data: RatingDataset, csv: Path, tmp_path: Path) -> None:
    users = np.arange(60)
    write_table(tmp_path / "ages.csv", {"user": users, "age": users % 7, "group": users % 2})
    path, short = tmp_path / "probit.cofactor", ["--param", "n_sweeps=16", "--param", "burn_in=8"]
    features = ["--user-features", tmp_path / "ages.csv"]
    assert run("fit", csv, "-m", "ordinal-probit", "--factors", 2, *short, *features, "--out", path).status == 0
    before = cofactor.load(path)
    new = written(tmp_path / "new.csv", np.array([[1000, 3], [7, 3]]), np.array([5.0, 1.0]))
    assert "was fitted with features of users, and does not keep them" in run("update", path, new).error
    write_table(tmp_path / "more.csv", {"user": [1000, 7], "age": [3, 0], "group": [1, 1]})
    said = run("update", path, new, "--user-features", tmp_path / "more.csv").out
    assert "sweeps" in said
    assert "chains" not in said
    table = {1000: [3, 1], 7: [0, 1]}
    direct = before.update([[1000, 3], [7, 3]], [5.0, 1.0], user_features=_named(table))
    assert np.array_equal(cofactor.load(path).predict_proba([[1000, 5]]), direct.predict_proba([[1000, 5]]))


def _named(table: dict[int, list[int]]) -> pd.DataFrame:
    return pd.DataFrame.from_dict(table, orient="index", columns=["age", "group"]).rename_axis("user")
