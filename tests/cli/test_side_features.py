"""Features of users and items on the command line: fit, and answers about those whom they alone describe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cofactor
from cofactor.datasets import RatingDataset
from cofactor.ratings import OrdinalProbit
from cofactor.ratings.features import FeatureTable
from cofactor.ratings.ranking import Recommender

SWEEPS = ["--param", "n_sweeps=20", "--param", "burn_in=8", "--param", "n_implicit=3"]
F, G = np.random.default_rng(0).normal(size=(2, 60, 2)).round(3)


def write(path: Path, ids: list[object], values: np.ndarray) -> Path:
    lines = [f"{who},{a},{b}" for who, (a, b) in zip(ids, values.tolist(), strict=True)]
    path.write_text("\n".join(["id,height,age", *lines]))
    return path


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """Features of all users and items, and of ann, bob and two films."""
    users = write(tmp_path / "users.csv", ["ann", *range(58), "bob"], F)
    return users, write(tmp_path / "items.csv", [*range(58), "up", 900], G)


@pytest.fixture
def probit(fit_once, csv: Path, tables: tuple[Path, Path], tmp_path: Path) -> Path:
    arguments = ["-m", "ordinal-probit", "--factors", 2, *SWEEPS, "--user-features", tables[0]]
    return fit_once(csv, *arguments, "--item-features", tables[1], out=tmp_path / "probit.cofactor")


def test_a_fit_uses_them(run, data: RatingDataset, probit: Path) -> None:
    users = dict(zip(range(58), F[1:59], strict=True))
    expected = OrdinalProbit(2, n_implicit=3, n_sweeps=20, burn_in=8, random_state=0, levels=data.scale)
    expected.fit(data.X, data.y, user_features=users, item_features=dict(zip(range(58), G[:58], strict=True)))
    assert np.array_equal(cofactor.load(probit).decision_function(data.X), expected.decision_function(data.X))


def test_new_users_get_recommendations_by_their_features(run, probit: Path, tables: tuple[Path, Path]) -> None:
    found = run("recommend", probit, "--user-features", tables[0], "-n", 3, "--json").json
    model = cofactor.load(probit)
    assert model.links_[0].standard.names == ("height", "age")
    features = FeatureTable.read((["ann", "bob"], F[[0, 59]]), "user_features")
    new = model.fold_in(user_features=replace(features, names=("height", "age")))
    assert [row["item"] for row in found] == new.recommend(["ann", "bob"], 3)[0].ravel().tolist()
    only = run("recommend", probit, "--user-features", tables[0], "--user", "bob", "-n", 3, "--json").json
    assert only == [row for row in found if row["user"] == "bob"]
    # With ratings of some of them.
    ratings = b"user,item,rating\nann,3,5\nann,7,1\n"
    arguments = ["recommend", probit, "--ratings", "-", "--user-features", tables[0], "-n", 40, "--json"]
    both = run(*arguments, stdin=ratings).json
    assert {row["user"] for row in both} == {"ann", "bob"}
    assert not {row["item"] for row in both if row["user"] == "ann"} & {3, 7}


def test_new_items_are_recommended_by_their_features(run, probit: Path, tables: tuple[Path, Path]) -> None:
    found = run("recommend", probit, "--user", 5, "--item-features", tables[1], "--json").json
    assert len(found) == 10
    assert {row["item"] for row in found} <= {*map(str, range(40, 58)), "up", "900"}


@pytest.fixture
def recommender(fit_once, csv: Path, tables: tuple[Path, Path], tmp_path: Path) -> Path:
    """The default model, fitted with features."""
    options = ["--param", "n_sweeps=20", "--param", "burn_in=8", "--user-features", tables[0]]
    path = fit_once(csv, *options, "--item-features", tables[1], out=tmp_path / "recommender.cofactor")
    assert isinstance(cofactor.load(path), Recommender)
    return path


def test_quotas_hold_for_new_items_too(run, recommender: Path, tables, tmp_path: Path) -> None:
    groups = tmp_path / "groups.csv"
    groups.write_text("".join(f"{item},x\n" for item in [*range(40, 58), "up", "900"]))
    asked = ["recommend", recommender, "--user", 5, "-n", 4, "--item-features", tables[1], "--json"]
    found = run(*asked, "--groups", groups, "--per-group", 1).json
    assert sum(str(row["item"]) in {*map(str, range(40, 58)), "up", "900"} for row in found) <= 1


def test_a_recommender_ranks_new_items_among_the_others(run, recommender: Path, tables, tmp_path: Path) -> None:
    model = cofactor.load(recommender)
    features = FeatureTable.read((["up", "900"], G[[58, 59]]), "item_features")
    features = replace(features, names=("height", "age"))
    expected = model.recommend([5], 50, new_items=features)
    found = run("recommend", recommender, "--user", 5, "-n", 50, "--item-features", tables[1], "--json").json
    there = np.isfinite(expected.scores[0])
    new = {*map(str, range(40, 58)), "up", "900"}
    assert new < {str(row["item"]) for row in found}  # beside known ones
    of_two = [row for row in found if row["item"] in ("up", "900")]
    liked = dict(zip(map(str, expected.items[0][there]), expected.p_like[0][there], strict=True))
    assert [row["p_like"] for row in of_two] == pytest.approx([liked[row["item"]] for row in of_two], rel=1e-4)
    by_features = model.rating_model_.fold_in_items(item_features=features).predict(
        [(5, row["item"]) for row in of_two]
    )
    assert [row["prediction"] for row in of_two] == by_features.tolist()
    only = tmp_path / "only.csv"
    only.write_text("up\n3\n900\n")
    some = ["--item-features", tables[1], "--candidates", only, "--why", "--json"]
    rows = run("recommend", recommender, "--user", 7, *some).json
    assert {str(row["item"]) for row in rows} <= {"up", "3", "900"}
    assert [row["because"] for row in rows if row["item"] in ("up", "900")] == ["", ""]
    told = run("recommend", recommender, "--user-features", tables[0], "--user", "bob", "-n", 2, "--json")
    assert [row["user"] for row in told.json] == ["bob", "bob"]


def test_a_recommender_without_features_names_the_option(run, csv: Path, tables, tmp_path: Path) -> None:
    path = tmp_path / "plain.cofactor"
    assert run("fit", csv, "--implicit", "-o", path).status == 0
    error = run("recommend", path, "--user", 5, "--item-features", tables[1]).error
    assert error.startswith("--item-features needs a Recommender that was fitted with features of items; give")
    assert run("fit", csv, "--implicit", "-o", path, "--item-features", tables[1]).status == 0
    found = run("recommend", path, "--user", 5, "-n", 60, "--item-features", tables[1], "--json").json
    assert {"up", "900"} < {row["item"] for row in found}


def test_pairs_of_old_and_new_users_and_items(run, probit: Path, tables: tuple[Path, Path], tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("user,item\n5,3\nann,3\n5,up\nbob,900\nnobody,3\n")
    arguments = ["--user-features", tables[0], "--item-features", tables[1], "--proba"]
    outcome = run("predict", probit, pairs, *arguments, "--out", "-")
    found = outcome.rows
    assert [(row["user"], row["item"]) for row in found] == [
        ("5", "3"), ("ann", "3"), ("5", "up"), ("bob", "900"), ("nobody", "3"),
    ]  # fmt: skip
    assert "not in training: 1 of 5" in outcome.said
    alone = run("predict", probit, pairs, "--out", "-").rows
    same = [one["score"] == other["score"] for one, other in zip(found, alone, strict=True)]
    assert same == [True, False, False, False, True]
    assert all(abs(sum(float(row[f"p_{r}"]) for r in range(1, 6)) - 1) < 1e-6 for row in found)


def test_what_is_wrong_with_them(run, csv: Path, model: Path, probit: Path, tables: tuple[Path, Path]) -> None:
    users, _ = tables
    assert run("fit", csv, "-m", "urp", "--user-features", users).error == (
        "--user-features: URP takes no features; recommender, mmmf, als, bpmf, ordinal-probit do"
    )
    unknown = "was not given in training, so nothing is known"
    assert run("recommend", model, "--user-features", users).error.startswith(f"--user-features {unknown}")
    of_items = ["--user", 5, "--item-features", users]
    assert run("recommend", model, *of_items).error.startswith(f"--item-features {unknown}")
    write(users, list(range(10)), F[:10])
    assert run("recommend", probit, "--user-features", users).error == (
        "--user-features holds only users that were in training"
    )
    users.write_text("id,height,age\nann,1.5,3\nbob,1.5,x\n")
    assert run("recommend", probit, "--user-features", users).error.startswith(f"{users}, line 3, column 'age'")
    users.write_text("id,height,age\nann,1.5,x\n")
    assert "age holds 'x', expected numbers as in" in run("recommend", probit, "--user-features", users).error
    users.write_text("id,age,height\nann,1.5,2\n")
    assert "but those of training were height, age" in run("recommend", probit, "--user-features", users).error
    users.write_text("ann\nbob\n")
    assert run("recommend", probit, "--user-features", users).error.startswith(f"{users}: has a single column")
    assert "--all and --user-features exclude" in run("recommend", probit, "--all", "--user-features", users).error


def test_evaluate_knows_new_items_by_their_features(run, csv: Path, tables: tuple[Path, Path]) -> None:
    arguments = ["evaluate", csv, "-m", "als", "-m", "urp", "--alpha", 1, "--factors", 2, "--splits", 1, "--json"]
    plain, rich = run(*arguments), run(*arguments, "--item-features", tables[1])
    assert rich.status == 0, rich.err
    assert "URP takes no features, and is fitted to the ratings alone" in rich.said
    one, other = (outcome.json["summary"] for outcome in (plain, rich))
    assert one["ALS"] != other["ALS"]
    assert one["URP"]["mae"] == other["URP"]["mae"]


@pytest.mark.filterwarnings("default:.*did not occur in training")  # which the command shows
def test_words_are_categories(run, csv: Path, tmp_path: Path) -> None:
    path, model = tmp_path / "items.csv", tmp_path / "als.cofactor"
    path.write_text("\n".join(["film,genre", *(f"{i},{'noir' if i % 2 else 'drama'}" for i in range(58))]))
    assert run("fit", csv, "-m", "als", "--alpha", 1, "-o", model, "--item-features", path).status == 0
    assert cofactor.load(model).links_[1].link.standard.categories == (("drama", "noir"),)
    path.write_text("film,genre\nup,noir\nheat,western\nold,\n")
    outcome = run("recommend", model, "--user", 5, "--item-features", path, "--json")
    assert {row["item"] for row in outcome.json} == {"up", "heat", "old"}
    assert "'western' of genre did not occur in training" in outcome.said


@pytest.mark.usefixtures("data_dir")
def test_known_data_sets_have_features(run, tmp_path: Path) -> None:
    model = tmp_path / "als.cofactor"
    given = ["--user-features", "ml-100k", "--item-features", "ml-100k"]
    settings = ["-m", "als", "--alpha", 10, "--factors", 2, "--param", "max_iter=200"]
    outcome = run("fit", "ml-100k", *settings, "-o", model, *given)
    assert outcome.status == 0, outcome.err
    users, items = (link.link.standard for link in cofactor.load(model).links_)
    assert users.names == ("age", "gender", "occupation")
    assert items.names[:2] == ("year", "Action")
    error = run("fit", "ml-100k", "-m", "als", "-o", model, "--user-features", "ml-latest-small").error
    assert error == "ml-latest-small: has no user features"


def test_compare_gives_them_to_the_models_that_take_them(run, csv: Path, tables: tuple[Path, Path]) -> None:
    arguments = ["-m", "als", "-m", "urp", "--alpha", 1, "--factors", 2, "--splits", 1, "--seeds", "0,1", "--json"]
    plain, rich = (run("compare", csv, *arguments, *more) for more in ([], ["--item-features", tables[1]]))
    assert rich.status == 0, rich.err
    one, other = (outcome.json for outcome in (plain, rich))
    ((before, after),) = zip(*(found["metrics"]["mae"]["data"].values() for found in (one, other)), strict=True)
    assert before["ALS"]["mean"] != after["ALS"]["mean"]
    assert before["URP"]["mean"] == after["URP"]["mean"]
    assert "item features" in str(other["facts"])
    nobody = run("compare", csv, "-m", "urp", "-m", "hmf", "--item-features", tables[1])
    assert "has item features, and no method here takes any" in nobody.error


def test_lists_are_measured_with_features(run, csv: Path, tables) -> None:
    asked = ["evaluate", csv, "--rank", "--seed", 1, "-m", "recommender", "--param", "ratings__n_sweeps=9"]
    asked += ["--param", "ratings__burn_in=4", "--json", "--likes", 4]
    found = [run(*asked, *given) for given in ([], ["--item-features", tables[1]])]
    without, with_them = (one.json["summary"]["Recommender"]["ndcg@10"]["mean"] for one in found)
    assert without != with_them
    error = run("evaluate", csv, "--rank", "-m", "ease", "--item-features", tables[1]).error
    assert error.startswith("--item-features: EASE takes no features; recommender, ")
