"""fit and predict: the same results as the library, from all kinds of files and streams."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.children import answer_of

import cofactor
from cofactor.cli.interrupts import INTERRUPTED
from cofactor.datasets import RatingDataset
from cofactor.progress import Display
from cofactor.ratings import ALS, HMF, MMMF, MODELS, Ensemble, ranking
from cofactor.service import task_named
from cofactor.service.results import Settings


def built(name: str, **settings: Any) -> Any:
    return task_named("ratings").build(name, Settings(**settings)).model


def test_fit_and_predict_equal_the_library(run, data: RatingDataset, csv: Path, model: Path) -> None:
    direct = MMMF(5, 3.0, levels=data.scale, random_state=0).fit(data.X, data.y)
    found = run("predict", model, csv, "--out", "-").rows
    assert [int(row["user"]) for row in found] == data.X[:, 0].tolist()
    assert [int(row["item"]) for row in found] == data.X[:, 1].tolist()
    assert [float(row["prediction"]) for row in found] == direct.predict(data.X).tolist()
    scores = np.array([float(row["score"]) for row in found], dtype=np.float32)
    assert np.array_equal(scores, direct.decision_function(data.X))


@pytest.mark.parametrize("name", ["PMMMF", "ensemble"])
def test_every_model_makes_the_round_trip(run, data: RatingDataset, csv: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.cofactor"
    outcome = run("fit", csv, "-m", name, "--alpha", 3, "--factors", 4, "-o", path, "--seed", 7, "--json")
    facts = outcome.json
    direct = built(name, alpha=3.0, factors=4, seed=7).set_params(levels=data.scale).fit(data.X, data.y)
    assert np.array_equal(cofactor.load(path).predict(data.X), direct.predict(data.X))
    assert facts["model"] == type(direct).__name__
    assert (facts["users"], facts["items"], facts["ratings"]) == (60, 40, 960)
    assert facts["train_mae"] == pytest.approx(-direct.score(data.X, data.y))


def test_binary_model(run, data: RatingDataset, tmp_path: Path) -> None:
    lines = [f"{u},{i},{'1' if y > 3 else '-1'}" for (u, i), y in zip(data.X.tolist(), data.y, strict=True)]
    outcome = run(
        "fit", "-", "-m", "binary_MMMF", "--alpha", 2, "-o", tmp_path / "b.cofactor", stdin="\n".join(lines).encode()
    )
    assert outcome.status == 0
    assert "-1, 1" in outcome.out


def test_the_registry_is_on_the_command_line() -> None:
    assert set(task_named("ratings").models().values()) == {*MODELS.values(), *ranking.MODELS.values()}


def test_alpha_for_each_stage_and_parameters(run, csv: Path, tmp_path: Path) -> None:
    path = tmp_path / "h.cofactor"
    arguments = ["--alpha", "2,3,4,5", "--param", "alpha_bias=None", "--param", "decoding=count", "--threads", 1]
    assert run("fit", csv, "-m", "hmf", *arguments, "-o", path).status == 0
    fitted = cofactor.load(path)
    assert isinstance(fitted, HMF)
    assert fitted.alphas_ == [2.0, 3.0, 4.0, 5.0]
    assert (fitted.alpha_bias, fitted.decoding) == (None, "count")


def test_members_of_an_ensemble_are_set_by_name() -> None:
    params = {"n_members": 4, "estimator": "als", "max_iter": 7, "method": "bagging"}
    model = built("ensemble", alpha=2.0, factors=3, params=params)
    assert isinstance(model, Ensemble)
    assert isinstance(model.estimator, ALS)
    assert (model.n_members, model.method) == (4, "bagging")
    assert (model.estimator.alpha, model.estimator.n_factors, model.estimator.max_iter) == (2.0, 3, 7)


def test_alpha_is_chosen_by_validation(run, csv: Path, tmp_path: Path) -> None:
    path = tmp_path / "auto.cofactor"
    facts = run("fit", csv, "--factors", 3, "-o", path, "--json").json
    assert facts["alpha"] == cofactor.load(path).alpha_
    exponent = 16 * np.log10(facts["alpha"])
    assert exponent == pytest.approx(round(exponent))


def test_columns_by_name_and_names_as_ids(run, data: RatingDataset, csv: Path, named_csv: Path, model: Path) -> None:
    columns = ["--user", "who", "--item", "film", "--rating", "stars given"]
    path = named_csv.with_suffix(".cofactor")
    assert run("fit", named_csv, *columns, "--alpha", 3, "--factors", 5, "-o", path).status == 0
    named = run("predict", path, named_csv, *columns[:4], "-o", "-").rows
    plain = run("predict", model, csv, "-o", "-").rows
    assert [row["score"] for row in named] == [row["score"] for row in plain]
    assert named[0]["user"] == f"user {data.X[0, 0]:02}"


def test_text_ids_that_look_like_numbers(run, tmp_path: Path) -> None:
    """One odd id turns a column into text; pairs of numbers alone must still be found."""
    ratings = "user,item,rating\n" + "".join(f"{u},{i},{1 + (u + i) % 3}\n" for u in range(6) for i in range(5))
    path = tmp_path / "t.cofactor"
    assert run("fit", "-", "--alpha", 1, "-o", path, stdin=(ratings + "x,1,3\nx,2,1\n").encode()).status == 0
    outcome = run("predict", path, "-", stdin=b"user,item\n3,4\n007,4\n")
    assert outcome.err.startswith("cofactor: note: pairs with a user or an item that was not in training: 1 of 2; ")
    direct = cofactor.load(path)
    assert direct.users_.ids.tolist()[-1] == "x"
    assert float(outcome.rows[0]["prediction"]) == direct.predict([("3", 4)])[0]


@pytest.mark.processes
def test_model_through_standard_streams(start, csv: Path, tmp_path: Path, model: Path) -> None:
    child = start("fit", "-", "--alpha", 3, "--factors", 5, "--out", "-")
    out, err = child.communicate(csv.read_bytes(), timeout=240)
    assert child.returncode == 0
    assert b"training MAE" in err
    child = start("predict", "-", csv)
    predicted, err = child.communicate(out, timeout=240)
    assert (child.returncode, err) == (0, b"")
    child = start("predict", model, "-")
    assert child.communicate(csv.read_bytes(), timeout=240)[0] == predicted
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.cofactor", "ratings.csv"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet"])
def test_predictions_into_files(run, data: RatingDataset, csv: Path, model: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"predictions.{suffix}"
    outcome = run("predict", model, csv, "--out", out)
    assert (outcome.status, outcome.out, outcome.err) == (0, "", f"wrote 960 rows to {out}\n")
    if suffix == "parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(out).to_pydict()
        assert list(table) == ["user", "item", "prediction", "score"]
        assert table["user"] == data.X[:, 0].tolist()
    else:
        text = gzip.decompress(out.read_bytes()).decode() if suffix.endswith("gz") else out.read_text()
        assert text.splitlines()[0] == ("\t" if suffix == "tsv" else ",").join(["user", "item", "prediction", "score"])
        assert len(text.splitlines()) == 961


def test_json_of_predictions(run, csv: Path, model: Path, tmp_path: Path) -> None:
    found = run("predict", model, csv, "--json").json
    assert set(found[0]) == {"user", "item", "prediction", "score"}
    assert isinstance(found[0]["user"], int)
    out = tmp_path / "p.csv"
    written = run("predict", model, csv, "--json", "--out", out).json
    assert written == {"out": str(out), "rows": 960, "warnings": [], "notes": []}


def test_duplicates(run, tmp_path: Path) -> None:
    file = tmp_path / "twice.csv"
    file.write_text("user,item,rating\n1,2,5\n1,3,4\n2,2,1\n2,3,2\n1,2,3\n")
    error = run("fit", file).error
    assert error.startswith(f"{file}: user 1 has rated item 2 more than once (ratings 1 and 5 of the file): ")
    out = tmp_path / "d.cofactor"
    last = run("fit", file, "--alpha", 1, "--duplicates", "last", "-o", out)
    assert last.status == 0
    assert "1 rating of a pair that was rated before: kept is the last one of the file, which has no column" in last.err
    assert cofactor.load(out).ratings_.values.tolist() == [3.0, 4.0, 1.0, 2.0]
    assert run("fit", file, "--alpha", 1, "--duplicates", "mean", "-o", out).status == 0
    assert cofactor.load(out).ratings_.values.tolist() == [4.0, 4.0, 1.0, 2.0]


def test_the_last_of_duplicates_is_the_latest_by_time(run, tmp_path: Path) -> None:
    file, out = tmp_path / "twice.csv", tmp_path / "d.cofactor"
    file.write_text(
        "user,item,rating,when,time\n1,2,5,9,30\n1,3,4,9,10\n2,2,1,9,10\n2,3,2,9,5\n1,2,3,9,20\n2,3,1,9,5\n"
    )
    last = run("fit", file, "--alpha", 1, "--duplicates", "last", "-o", out)
    assert last.status == 0
    assert "2 ratings of a pair that was rated before: kept is the latest one by its time" in last.err
    assert "timestamp from column 'time'" in last.err
    assert cofactor.load(out).ratings_.values.tolist() == [5.0, 4.0, 1.0, 1.0]


def test_levels_and_bins(run, csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.cofactor"
    facts = run("fit", csv, "--alpha", 3, "--levels", "0:6", "-o", out, "--json").json
    assert facts["levels"] == [0, 1, 2, 3, 4, 5, 6]
    lines = "\n".join(f"{u},{i},{(u * 31 + i * 17) % 997 / 100}" for u in range(30) for i in range(20))
    continuous = tmp_path / "continuous.csv"
    continuous.write_text(lines)
    assert "more than 101 distinct ones from 0 to 9.9" in run("fit", continuous).error
    facts = run("fit", continuous, "--alpha", 3, "--bins", 4, "-o", out, "--json").json
    assert facts["levels"] == [1, 2, 3, 4]


def test_bins_are_told_kept_and_used_again(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{u},{i},{int(np.ceil(rng.pareto(0.9) + 0.01))}" for u in range(30) for i in range(20)]
    file, out = tmp_path / "plays.csv", tmp_path / "m.cofactor"
    file.write_text("\n".join([*lines, "31,1,90000"]))
    fit = run("fit", file, "--alpha", 3, "--bins", 3, "-o", out)
    edges = cofactor.load(out).rating_scale_.edges
    assert "levels of the ratings: 1 for [1, 2) (" in fit.err
    assert "(for equal width: --bin-by width)" in fit.err
    assert f"1 = [1, 2), 2 = [2, {edges[2]:g}), 3 = [{edges[2]:g}, 90000]" in " ".join(fit.out.split())
    logs = run("fit", file, "--alpha", 3, "--bins", "1,10,90000", "-o", tmp_path / "l", "--json")
    assert logs.json["meanings"] == ["[1, 10)", "[10, 90000]"]
    rows = run("predict", out, file, "--json").json
    assert {row["meaning"] for row in rows if row["prediction"] == 1} == {"[1, 2)"}
    new = tmp_path / "new.csv"
    new.write_text("ann,1,200000\nann,2,1\n")  # counts, as in training, one of them beyond the last edge
    recommended = run("recommend", out, "--ratings", new, "-n", 2, "--json")
    assert all(row["meaning"].startswith("[") for row in recommended.json)
    assert run("fit", file, "--bins", 3, "--levels", "1:5").error == (
        "--levels and --bins exclude each other: give one of them"
    )


@pytest.mark.filterwarnings("default:.*no rating is left out")
def test_words_and_dropped_ratings(run, tmp_path: Path) -> None:
    file, out = tmp_path / "votes.csv", tmp_path / "m.cofactor"
    file.write_text("\n".join(f"{u},{i},{'up' if (u + i) % 3 else 'down'}" for u in range(9) for i in range(6)))
    assert "give them in order from low to high, such as --levels down,up; or, if the file" in run("fit", file).error
    assert run("fit", file, "--alpha", 1, "--levels", "down,up", "-o", out).status == 0
    rows = run("predict", out, file, "--json").json
    assert {(row["prediction"], row["meaning"]) for row in rows} == {(1.0, "down"), (2.0, "up")}
    file.write_text("\n".join(f"{u},{i},{(u * i) % 4}" for u in range(9) for i in range(6)))
    facts = run("fit", file, "--alpha", 1, "--drop-rating", 0, "-o", out, "--json").json
    assert facts["levels"] == [1, 2, 3]
    assert facts["dropped"] + facts["ratings"] == 54
    new = tmp_path / "new.csv"
    new.write_text("ann,1,3\nann,2,0\n")
    assert "the rating 0 is not on the scale 1, 2, 3" in run("recommend", out, "--ratings", new).error
    for text in ("ann,1,3\nann,2,0\n", "ann,1,3\n"):  # zeros need not be there
        new.write_text(text)
        assert run("recommend", out, "--ratings", new, "--drop-rating", 0).status == 0


def test_evaluation_of_data_whose_first_ratings_are_of_one_level(run, tmp_path: Path) -> None:
    file = tmp_path / "sorted.csv"
    file.write_text("\n".join(f"{k % 20},{k // 20},{1 + k // 210}" for k in range(400)))
    assert run("evaluate", file, "--alpha", 1, "--model", "als", "--splits", 1).status == 0


BAD_FILES = [
    (b"user,item,rating\n1,2,5\n1,3,x\n", "line 3, column 'rating': expected a number, found 'x'"),
    (b"user,item,rating\n1,2,5\n1,3,nan\n", "line 3, column 'rating': the rating is nan, expected a finite number"),
    (b"user,item,rating\n1,2,5\n1,3\n", "line 3: "),
    (b"a\xff,b,3\n", "line 1, byte 2: 0xff is not valid utf-8; give the right one with --encoding"),
    (b"user,rating\n1,2\n", "cannot tell which column holds the item; the columns are user, rating"),
    (b"", "the file is empty"),
    (gzip.compress(b"1,2,3\n" * 1000)[:40], "the gzip file is cut short (40 bytes"),
]


@pytest.mark.parametrize(("content", "message"), BAD_FILES, ids=range(len(BAD_FILES)))
def test_bad_files_are_named_with_line_and_expectation(run, tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_bytes(content)
    for command in ("fit", "evaluate"):
        error = run(command, file).error
        assert error.startswith(str(file))
        assert message in error
    assert message in run("fit", "-", stdin=content).error
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "svd"], "--model svd: not a known model (did you mean rating-svd?); expected one of"),
        (["--alpha", "x"], "--alpha x: expected a number above 0, auto, or a comma-separated list of these"),
        (["-m", "rating-svd", "--alpha", "3"], "--alpha 3: RatingSVD has no penalty to weigh; leave the option out."),
        (["--alpha=-1"], "alpha -1"),
        (["--alpha=0"], "alpha 0"),
        (["--alpha", "8,9"], "--alpha 8,9: expected a number above 0"),
        (["--model", "hmf", "--alpha", "1,2"], "alpha has 2 values but the 5 levels make 4 stages"),
        (["--factors", "0"], "--factors 0: expected a whole number above 0, or auto"),
        (["--factors", "1.5"], "--factors 1.5: expected a whole number above 0, or auto"),
        (["--bins", "0"], "--bins 0: must be at least 2"),
        (["--threads", "0"], "--threads 0: expected a number of at least 1; see cofactor fit --help"),
        (["--duplicates", "frist"], "--duplicates frist: expected one of 'error', 'last', 'mean'"),
        (["--task", "rating"], "task rating: expected one of 'ratings', 'labels'"),
        (["-m", "mmmf", "--param", "margins=logistic"], "--param margins: MMMF has no such parameter; it has alpha, "),
        (["--param", "margin"], "--param margin: expected NAME=VALUE"),
        (["--param", "max_iter=10", "--param", "max_iter=20"], "--param max_iter=20: max_iter is given twice"),
        (["-m", "mmmf", "--param", "max_iter=10.0"], "--param max_iter=10.0: expected a whole number of at least 1"),
        (["-m", "mmmf", "--param", "max_iter=1.5e0"], "--param max_iter=1.5: expected a whole number of at least 1"),
        (["-m", "mmmf", "--param", "max_iter=true"], "--param max_iter=True: expected a whole number of at least 1"),
        (["-m", "mmmf", "--param", "margin=square"], "--param margin=square: "),
        (["--param", "levels=3"], "--param levels: write --levels 3"),
        (["--param", "random_state=3"], "--param random_state: write --seed 3"),
        (["--levels", "5,4"], "--levels 5,4: levels must increase, but 4 follows 5; write levels as "),
        (["--levels", "1,2,3"], "is not on the scale 1, 2, 3"),
        (["--user", "who"], "no column 'who' (--user); the columns are user, item, rating"),
        (["--user", "item", "--item", "item"], "--user and --item name the same column"),
        (["--rating", "9"], "--rating 9 is out of range; the file has 3 columns"),
        (["--sep", ";"], "check the separator (--sep)"),
        (["--model", "binary-mmmf", "--alpha", "2"], "y has 5 distinct ratings but BinaryMMMF takes two"),
        (["--out", "nowhere/x.cofactor"], "nowhere/x.cofactor: the folder nowhere does not exist; make it first"),
    ],
)
def test_bad_options_are_one_line(run, csv: Path, options: list[str], message: str) -> None:
    assert message in run("fit", csv, *options).error
    assert not Path("model.cofactor").exists()


def test_bad_models(run, csv: Path, model: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.cofactor"
    cut.write_bytes(model.read_bytes()[:-100])
    assert run("predict", cut, csv).error.startswith(f"{cut}: ")
    no_model = "is not a model file (no safetensors file): cofactor fit, or save of a fitted model, writes one"
    assert run("predict", csv, csv).error == f"{csv}: {no_model}"
    assert run("predict", tmp_path / "none", csv).error == f"{tmp_path / 'none'}: no such file"
    assert run("predict", "-", csv).error.startswith("standard input: is not a whole model file")
    assert run("predict", "-", "-").error.startswith("MODEL and FILE cannot both be standard input")
    assert run("fit", "-", "--user-features", "-").error.startswith("FILE and --user-features cannot both be")


def test_bad_pairs(run, csv: Path, model: Path, tmp_path: Path) -> None:
    turned = "item,user\n41,1\n"
    assert run("predict", model, "-", stdin=turned.encode()).status == 0
    assert "no column for the item" in run("predict", model, "-", stdin=b"1\n2\n").error
    unnamed = run("predict", model, "-", stdin=b"user,rating\n1,2\n").error
    assert unnamed.startswith("standard input: cannot tell which column holds the item; the columns are user, rating")
    assert run("predict", model, csv, "--out", tmp_path / "x.doc").error.startswith(
        f"{tmp_path / 'x.doc'}: cannot tell"
    )
    assert "is a folder" in run("predict", model, csv, "--out", tmp_path).error


@pytest.mark.filterwarnings("default::UserWarning")
def test_ids_of_another_kind(run, csv: Path, named_csv: Path, model: Path, tmp_path: Path) -> None:
    outcome = run("predict", model, "-", stdin=b"user,item\nann,Up\nbob,Alien\n")
    first, second, third = outcome.err.splitlines()
    assert first == (
        "cofactor: warning: no user id is known: the model has numbers from 0 to 59, but the ids given are "
        "text such as 'ann', 'bob'; convert them"
    )
    assert second.startswith("cofactor: warning: no item id is known: ")
    assert third.startswith("cofactor: note: pairs with a user or an item that was not in training: 2 of 2; ")
    columns = ["--user", "who", "--item", "film"]
    named = tmp_path / "n.cofactor"
    assert run("fit", named_csv, *columns, "--rating", "stars given", "--alpha", 3, "-o", named).status == 0
    outcome = run("predict", named, csv)
    assert "the model has text such as 'user 00', 'user 01', but the ids given are numbers from 0 to 59" in outcome.err


def test_a_matrix_is_refused_with_what_to_do(run, model: Path) -> None:
    content = b"user,Alien,Up,Brazil,Heat\nann,1,,3,4\n"
    for arguments in (["fit", "-"], ["evaluate", "-"], ["predict", model, "-"]):
        error = run(*arguments, stdin=content).error
        assert "looks like a matrix, one row for each user" in error
        assert "table.melt(table.columns[0], var_name='item', value_name='rating')" in error
        assert "--user, --item" in error


def test_odd_names_of_files(run, csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a\nb.csv", "-x.csv", "*.csv", "q'\"$x.csv"):
        Path(name).write_bytes(csv.read_bytes())
        found = run("fit", "--model", "als", "--alpha", 1, "--out", f"./{name}.cofactor", "--", name)
        assert (found.status, found.err) == (0, ""), name
        assert run("predict", "--out", f"./{name}", "--", f"{name}.cofactor", csv).status == 0
        assert Path(name).read_text().count("\n") == csv.read_text().count("\n")


@pytest.mark.processes
def test_a_name_that_is_no_text_is_printed_as_it_is(csv: Path) -> None:
    code = """
import io, sys
sys.argv = ["cofactor", "fit", csv, "--model", "als", "--alpha", "1", "--out", out]
printed = io.BytesIO()
sys.stdout = io.TextIOWrapper(printed, "utf-8")  # which is strict, as in most locales but C
from cofactor.cli import main
status = main()
sys.stdout.flush()
answer.send((status, printed.getvalue()))
"""
    status, printed = answer_of(code, csv=str(csv), out=str(csv.with_name(os.fsdecode(b"\xff.cofactor"))))
    assert status == 0
    assert b"\xff.cofactor (" in printed


def test_nothing_is_written_onto_an_input(run, csv: Path, model: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(csv)
    before = csv.read_bytes(), model.read_bytes()
    for arguments in (
        ["fit", csv, "--out", csv],
        ["predict", model, csv, "--out", link],
        ["predict", model, csv, "--out", model],
        ["recommend", model, "--ratings", csv, "--out", csv],
        ["recommend", model, "--all", "--titles", csv, "--out", csv],
    ):
        assert run(*arguments).error == (
            f"{arguments[-1]}: is read by this command, so nothing can be written there; take another name"
        )
    assert (csv.read_bytes(), model.read_bytes()) == before


def test_a_model_is_not_written_over_data(run, csv: Path, tmp_path: Path) -> None:
    other, model = tmp_path / "other.csv", tmp_path / "m.cofactor"
    other.write_bytes(csv.read_bytes())
    model.touch()
    for _ in range(2):
        assert run("fit", csv, "--model", "als", "--alpha", 3, "--out", model).status == 0
    for arguments in (["fit", csv], ["update", model, csv]):
        assert run(*arguments, "--out", other).error == f"{other}: holds something else than a model; take another name"
    assert other.read_bytes() == csv.read_bytes()


def test_more_factors_than_the_smaller_side(run, csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.cofactor"
    arguments = ["fit", csv, "--alpha", 3, "--json", "--out", out]
    assert run(*arguments, "--factors", 41).err == (
        "cofactor: note: --factors 41 is more than the smaller side of 60 users × 40 items; at most 40 are used\n"
    )
    assert cofactor.load(out).V_.shape[1] == 40
    assert run(*arguments, "--factors", 40).err == ""


def test_wrong_columns_show_as_many_duplicates(run, csv: Path) -> None:
    error = run("fit", csv, "--item", "rating", "--rating", "item").error
    assert "ratings repeat a pair, so perhaps the columns are wrong: 960 ratings read from" in error
    assert error.endswith("user from column 'user', item from column 'rating', rating from column 'item'")


def test_one_row(run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.csv"
    assert run("predict", model, "-", "--out", out, stdin=b"1,2\n").err == f"wrote 1 row to {out}\n"


@pytest.mark.parametrize(
    ("arguments", "moment"),
    [(["-m", "ordinal-probit", "--param", "burn_in=5"], "sweep 12 "), (["-m", "recommender"], "EASE, trying")],
)
def test_ctrl_c_keeps_the_model_also_where_a_fit_could_end_with_what_it_has(
    run, csv: Path, model: Path, arguments: list[str], moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = model.read_bytes()

    def stopping(_: Display, name: str = "", detail: str = "", **__: object) -> None:
        if detail.startswith(moment):
            raise KeyboardInterrupt

    monkeypatch.setattr(Display, "show", stopping)
    outcome = run("fit", csv, *arguments, "--out", model)
    assert (outcome.status, outcome.out, outcome.err) == (130, "", f"{INTERRUPTED}\n")
    assert model.read_bytes() == before


def test_an_older_model_survives_a_failure(run, csv: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = model.read_bytes()

    def fails(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", fails)
    outcome = run("fit", csv, "--alpha", 5, "--out", model)
    assert (outcome.status, outcome.err) == (130, f"{INTERRUPTED}\n")
    assert model.read_bytes() == before
    assert sorted(path.name for path in model.parent.iterdir()) == ["model.cofactor", "ratings.csv"]


def test_a_parameter_is_given_once(run, csv: Path, tmp_path: Path) -> None:
    outcome = run("fit", csv, "--param", "alpha=3", "--alpha", 2, "-o", tmp_path / "x.cofactor")
    assert outcome.status != 0
    assert "--param alpha=3: alpha is set twice" in outcome.error


@pytest.mark.parametrize("text", ["", "user,item\n"])
def test_predict_asks_an_empty_file_for_users_and_items_only(run, model: Path, text: str) -> None:
    error = run("predict", model, "-", stdin=text.encode()).error
    assert "a user and an item" in error
    assert "rating" not in error
