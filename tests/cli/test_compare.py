"""compare: the numbers of the library, files, what fails, what is kept, what cannot be."""

from __future__ import annotations

import csv as tables
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt
from rich.console import Console
from sklearn.dummy import DummyRegressor

from cofactor.cli.compare import Board
from cofactor.datasets import RatingDataset, make_labels, write_libsvm, write_table
from cofactor.errors import InvalidInputError
from cofactor.evaluation import RunProgress, compare
from cofactor.evaluation.store import ResultStore
from cofactor.experiments.declared import Declared
from cofactor.ratings import ALS, RatingSVD

BASELINES = ["most frequent", "user median"]
METHODS = ["-m", "als", "-m", "rating-svd", "--factors", 3, "--alpha", 5]
FILES = {"report.html", "results.csv", "results.parquet", "runs", "tables.md", "tables.tex"}


@pytest.fixture
def other(data: RatingDataset, tmp_path: Path) -> Path:
    """More ratings: those of half of the users, the other way round."""
    path = tmp_path / "other.csv"
    half = data.X[:, 0] < 30
    write_table(path, {"user": data.X[half, 0], "item": data.X[half, 1], "rating": 6 - data.y[half]})
    return path


def test_numbers_are_those_of_the_library(run, csv: Path, other: Path, data: RatingDataset) -> None:
    outcome = run("compare", csv, other, *METHODS, "-p", "weak", "--splits", 2, "--seeds", "0,3", "--json")
    assert outcome.status == 0
    assert outcome.err == "cofactor: note: --alpha 5 does not concern RatingSVD, which has no penalty to weigh\n"
    found = outcome.json
    half = data.X[:, 0] < 30
    sets = [
        replace(data, name="ratings.csv", item_names={}),
        replace(data, name="other.csv", X=data.X[half], y=6 - data.y[half], item_names={}),
    ]
    models = {"ALS": ALS(3, 5.0), "RatingSVD": RatingSVD(3)}
    expected = compare(models, sets, splits="weak", n_splits=2, seeds=(0, 3)).table("mae")
    assert found["cells"] == 32  # of baselines too
    assert found["failed"] == found["files"] == []
    assert list(found["metrics"]) == ["mae", "rmse", "zero_one"]
    for i, name in enumerate(("ratings.csv", "other.csv")):
        assert set(found["metrics"]["mae"]["data"][name]) == {"ALS", "RatingSVD"}
        for j, method in enumerate(("ALS", "RatingSVD")):
            values = found["metrics"]["mae"]["data"][name][method]
            assert values == {
                "mean": expected.means[i, j],
                "std": expected.stds[i, j],
                "rank": expected.scores.ranks[i, j],
            }
    assert any(
        "signed-rank test is not done: 2 data sets are too few" in line for line in found["metrics"]["mae"]["tests"]
    )


def test_tables_tests_and_files(run, csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["compare", csv, *METHODS, "-m", "pmf", "--splits", 2, "--metric", "rmse", "--out", out]
    outcome = run(*arguments)
    assert outcome.status == 0
    head, _, row, *rest = outcome.out.splitlines()
    assert head.split() == ["rmse", "↓", "ALS", "RatingSVD", "PMF"]
    assert row.startswith("ratings.csv")
    assert row.count("±") == 3
    assert sum("Friedman's test with Nemenyi's is not done: with one data set" in line for line in rest) == 1
    assert {path.name for path in out.iterdir()} == FILES
    for name in FILES - {"runs"}:
        assert f"wrote {out / name}" in outcome.err
    with (out / "results.csv").open() as stream:
        records = list(tables.DictReader(stream))
    assert {record["method"] for record in records} == {"ALS", "RatingSVD", "PMF", *BASELINES}
    assert "| ratings.csv |" in (out / "tables.md").read_text()
    assert r"\begin{tabular}" in (out / "tables.tex").read_text()
    assert "<h1>Comparison</h1>" in (out / "report.html").read_text()
    # Another metric of what is stored already: nothing is computed.
    store = ResultStore(out / "runs")
    for result in store.results():
        store.put(replace(result, seconds=1234.0))
    again = run(*arguments, "--metric", "mae", "--retry")
    assert len(re.findall("1,?234", again.out)) == 6
    assert len(store) == 10


def test_evaluate_and_compare_show_the_same_figures(run, csv: Path, tmp_path: Path) -> None:
    """By default, baselines included; these are in no rank and no test."""
    tags, _ = make_labels(60, 8, 4, n_groups=2, n_factors=2, random_state=1)
    write_libsvm(tmp_path / "tags.svm", tags.X, tags.Y)
    for file, methods, metric in ((csv, METHODS, "mae"), (tmp_path / "tags.svm", ["-m", "plst"], "micro_f1")):
        evaluated = run("evaluate", file, *methods, "--json").json["summary"]
        compared = run("compare", file, *methods, "--json").json["metrics"][metric]
        means = {name: one["mean"] for name, one in compared["data"][file.name].items()}
        means |= {name: one[file.name] for name, one in compared["baselines"].items()}
        assert means == pytest.approx({name: one[metric]["mean"] for name, one in evaluated.items()})
        for name, of_data in compared["baselines"].items():
            assert f"{name} is a baseline: {file.name} {of_data[file.name]:.4f}" in compared["tests"]
    with pytest.raises(InvalidInputError, match="'ALS' is among the methods too"):
        compare({"ALS": ALS()}, {"toy": ([(1, 1), (2, 1)] * 5, [1, 2] * 5)}, baselines={"ALS": ALS()})


def test_what_only_a_baseline_has_is_not_shown(data: RatingDataset) -> None:
    found = compare({"broken": ALS(-1)}, data, metrics=["mae"], baselines={"median": DummyRegressor()})
    assert (found.measured, list(found.baseline_means("mae"))) == ([], ["median"])
    assert set(found.absent("mae")) == {"broken", "median"}
    with pytest.raises(InvalidInputError):
        found.table("mae")


@pytest.mark.usefixtures("data_dir")
def test_labels(run) -> None:
    outcome = run("compare", "emotions", "flags", "-m", "plst", "-m", "mlknn", "--alpha", 10, "--splits", 2, "--json")
    assert outcome.status == 0
    assert outcome.err == "cofactor: note: --alpha 10 does not concern MLkNN, which has no such parameter\n"
    found = outcome.json
    assert found["facts"]["method PLST"].startswith("PLST(alpha=10")
    assert list(found["metrics"]) == ["micro_f1", "macro_f1", "hamming"]
    assert found["metrics"]["micro_f1"]["greater_is_better"] is True
    assert set(found["metrics"]["micro_f1"]["data"]) == {"emotions", "flags"}
    assert 0.5 < found["metrics"]["micro_f1"]["data"]["emotions"]["PLST"]["mean"] < 0.8


def write_toml(folder: Path, methods: str, more: str = 'metrics = ["mae"]') -> Path:
    """Declare a comparison; of one metric, since pictures of three take most of the time."""
    path = folder / "comparison.toml"
    path.write_text(
        f'title = "Stars"\ndata = ["ratings.csv"]\nsplits = "holdout"\nn_splits = 2\nmethods = [{methods}]\n{more}\n'
    )
    return path


def test_a_toml_file(run, csv: Path, tmp_path: Path) -> None:
    toml = write_toml(tmp_path, '{name = "svd", model = "rating-svd"}, {name = "ALS", grid = {alpha = [2.0, 8.0]}}')
    outcome = run("compare", toml, "--out", tmp_path / "out")
    assert outcome.status == 0
    assert outcome.out.splitlines()[0].split() == ["mae", "↓", "svd", "ALS"]
    assert "<h1>Stars</h1>" in (tmp_path / "out" / "report.html").read_text()


def test_files_are_read_as_the_options_say(run, csv: Path, tmp_path: Path) -> None:
    lines = [line.split(",") for line in csv.read_text().splitlines()[1:]]
    text = "".join(f"x;{rating};Fä{item};{user}\n" for user, item, rating in lines)
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text(text, encoding="latin-1")
    files, columns = (tmp_path / "one.txt", tmp_path / "two.txt"), ("--user", 3, "--item", 2, "--rating", 1)
    reading = (*columns, "--sep", ";", "--no-header", "--levels", "1:9", "--encoding", "latin-1")
    refused = run("compare", *files, *METHODS, *reading[:-2]).err
    assert "--encoding" in refused
    outcome = run("compare", *files, *METHODS, "--splits", 2, *reading, "--metric", "nmae", "--json")
    plain = run("compare", csv, *METHODS, "--splits", 2, "--metric", "mae", "--json")
    found, expected = (one.json["metrics"] for one in (outcome, plain))
    assert set(found["nmae"]["data"]) == {"one.txt", "two.txt"}
    # NMAE is relative to what guessing gives on the scale, here of nine levels, of which five occur.
    one, same = found["nmae"]["data"]["one.txt"], expected["mae"]["data"]["ratings.csv"]
    for method in same:
        assert one[method]["mean"] * (80 / 27) == pytest.approx(same[method]["mean"], abs=2e-4)
    toml = write_toml(tmp_path, '{name = "ALS"}')
    assert "--user: a TOML file declares all" in run("compare", toml, *columns).error


def test_what_fails_is_told_in_a_line_each(run, csv: Path, tmp_path: Path) -> None:
    ratings = csv.read_text()
    csv.write_text(ratings + "7777,8888,3\n7777,9999,3\n")  # whichever is held out, somebody does not know it
    toml = write_toml(tmp_path, '{name = "ALS"}, {name = "strict", model = "ALS", parameters = {unknown = "error"}}')
    toml.write_text(toml.read_text().replace('"holdout"', '"weak"'))
    outcome = run("compare", toml, "--out", tmp_path / "out")
    assert outcome.status == 1
    failed = [line for line in outcome.err.splitlines() if line.startswith("failed: ")]
    assert len(failed) == 2
    assert re.fullmatch(r"failed: strict, ratings\.csv, weak 1, seed 0: InvalidInputError: .*(8888|9999).*", failed[0])
    assert outcome.out.splitlines()[0].split() == ["mae", "↓", "ALS"]
    lost = "strict failed wherever it ran, and is in no table and no test: InvalidInputError: "
    assert lost in outcome.out
    assert lost in (tmp_path / "out" / "tables.md").read_text()
    assert lost in run("compare", toml, "--out", tmp_path / "out").out  # also where nothing was left to run
    found = run("compare", toml, "--out", tmp_path / "out", "--json").json
    assert [(one["method"], one["split"]) for one in found["failed"]] == [("strict", "weak 1"), ("strict", "weak 2")]
    assert "\n" not in found["failed"][0]["error"]


@pytest.mark.filterwarnings("default")
def test_pictures_that_cannot_be_drawn_cost_nothing_else(
    run, csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("\n$x: ParseSyntaxException\n^")

    monkeypatch.setattr("cofactor.reports.comparison.plot_splits", broken)
    out = tmp_path / "out"
    outcome = run("compare", csv, *METHODS, "--splits", 2, "--metric", "mae", "--out", out)
    assert outcome.status == 0
    assert {path.name for path in out.iterdir()} == FILES
    assert "warning: a picture of the report could not be drawn (ValueError" in outcome.err
    page = (out / "report.html").read_text()
    assert re.search(
        r"mean of each method: ALS \d\.\d+, RatingSVD \d\.\d+(, [a-z ]+ \d\.\d+){2}\. The picture could not be drawn",
        page,
    )


def test_a_report_that_cannot_be_written_costs_only_itself(run, csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "report.html").mkdir(parents=True)
    outcome = run("compare", csv, *METHODS, "--splits", 2, "--metric", "mae", "--out", out)
    assert outcome.status == 2
    assert "report.html" in outcome.err
    assert {path.name for path in out.iterdir()} == FILES
    assert outcome.out.startswith("mae ↓")
    assert outcome.err.count("wrote ") == 4


def test_odd_names_and_titles_keep_the_form_of_files(run, csv: Path, tmp_path: Path) -> None:
    svd = {"model": "rating-svd"}
    methods = {"a|b *c* <i>\n# d": svd, "[x]": svd, "lost $1$": {"model": "als", "parameters": {"unknown": "error"}}}
    odd = csv.with_name("[odd] | file_.csv")
    odd.write_text(csv.read_text() + "7777,8888,3\n7777,9999,3\n")  # who is held out is not known to one method
    lines = [f"{{name = {json.dumps(name)}, {_toml(known)}}}" for name, known in methods.items()]
    toml = write_toml(tmp_path, ", ".join(lines), more="")
    text = toml.read_text().replace('"ratings.csv"', json.dumps(odd.name)).replace('"Stars"', json.dumps("A\n# *b*"))
    toml.write_text(text.replace('"holdout"', '"weak"'))
    outcome = run("compare", toml, "--out", tmp_path / "out")
    assert outcome.status == 1
    written = (tmp_path / "out" / "tables.md").read_text()
    page = MarkdownIt("commonmark").enable("table").render(written)
    assert re.findall("<h1>(.*)</h1>", page) == ["A # *b*"]
    assert re.findall("<h2>(.*)</h2>", page) == ["mae", "rmse", "zero_one", "How it was measured"]
    heads = re.findall("<th[^>]*>(.*?)</th>", page)
    assert heads[:3] == ["mae ↓", "a|b *c* &lt;i&gt; # d", "[x]"]
    assert "<em>" not in page
    assert page.count("<tr>") == 3 * 3 + len(re.findall("^\\| (?!\\|)", written.split("How it was")[1], re.M)) + 1
    assert "\n[odd]" not in (tmp_path / "out" / "tables.tex").read_text()
    assert "{[}odd{]}" in (tmp_path / "out" / "tables.tex").read_text()
    assert sum(line.startswith("[odd] | file_.csv") for line in outcome.out.splitlines()) == 6  # a row, and a test
    assert "# d" not in {line.strip() for line in outcome.out.splitlines()}


def _toml(table: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} = " + (f"{{{_toml(value)}}}" if isinstance(value, dict) else json.dumps(value))
        for key, value in table.items()
    )


def test_all_that_fails_is_told_without_a_table(run, csv: Path, tmp_path: Path) -> None:
    csv.write_text(csv.read_text() + "7777,8888,3\n7777,9999,3\n")
    toml = write_toml(tmp_path, '{name = "strict", model = "ALS", parameters = {unknown = "error"}}')
    toml.write_text(toml.read_text().replace('"holdout"', '"weak"'))
    outcome = run("compare", toml, "--out", tmp_path / "out")
    assert outcome.status == 1
    assert outcome.out.startswith("strict failed wherever it ran, and is in no table and no test: InvalidInputError: ")
    assert "strict failed wherever it ran" in (tmp_path / "out" / "tables.md").read_text()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("n_splits = 0", "comparison.toml: n_splits=0: expected a whole number of at least 1 for holdout of"),
        ("seeds = [-1]", "comparison.toml: seeds=[-1]: expected a list of whole numbers"),
        ('methods = [{name = "ALS", parameters = {alpha = "x"}}]', "(ALS), parameters: alpha='x': expected a number"),
    ],
)
def test_errors_of_a_file_speak_of_its_keys(run, csv: Path, tmp_path: Path, line: str, message: str) -> None:
    toml = write_toml(tmp_path, '{name = "ALS"}')
    key = line.partition(" ")[0]
    kept = [known for known in toml.read_text().splitlines() if not known.startswith(f"{key} ")]
    toml.write_text("\n".join([*kept, line]))
    assert message in run("compare", toml).error


def test_ctrl_c_says_what_is_kept(run, csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(board: Board, progress: RunProgress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    arguments = ["compare", csv, *METHODS, "--splits", 3, "--metric", "mae"]
    with monkeypatch.context() as patch:
        patch.setattr(Board, "show", stop)
        outcome = run(*arguments, "--out", out)
        assert (outcome.status, outcome.out) == (130, "")
        said = f"cofactor: interrupted: 3 of 12 cells are done and are kept in {out / 'runs'}"
        assert outcome.err.splitlines()[-1] == said
        lost = run(*arguments)
        assert lost.err.splitlines()[-1].endswith("3 of 12 cells are done and are lost, since there is no store")
    assert {path.name for path in out.iterdir()} == {"runs"}
    assert run(*arguments, "--out", out).status == 0
    assert {path.name for path in out.iterdir()} == FILES


@pytest.mark.filterwarnings("default:.*not as written")
def test_a_damaged_result_is_computed_again(run, csv: Path, tmp_path: Path) -> None:
    store = tmp_path / "results"
    arguments = ["compare", csv, *METHODS, "--splits", 2, "--store", store, "--json"]
    first = run(*arguments).json["metrics"]["mae"]
    path = next(path for path in store.glob("*.json") if b'{"mae": 0' in path.read_bytes())
    path.write_bytes(path.read_bytes().replace(b'{"mae": 0', b'{"mae": 9', 1))
    outcome = run(*arguments)
    assert outcome.status == 0
    assert f"cofactor: warning: {store}: 1 result not as written, and computed again; the first is" in outcome.err
    assert outcome.json["metrics"]["mae"] == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "nowhere.csv: no such file, and no known data set"),
        (["ml-100k", "emotions"], "ml-100k holds ratings and emotions labels: compare each kind by itself"),
        (["FILE", "-m", "asl"], "--model asl: not a known model (did you mean als?); expected one of"),
        (["FILE", "-m", "PL-ST"], "--model PL-ST: is a label model; models of ratings are "),
        (["flags", "-m", "als"], "--model als: is a model of ratings; label models are "),
        (["FILE", "--metric", "log_loss", "-m", "als"], "no method here has log_loss, for which predict_proba is"),
        (["FILE", "--seeds", 99999999999], "--seeds 99999999999: expected a list of whole numbers from 0 to"),
        (["ml-100"], "ml-100: no such file, and no known data set; did you mean ml-100k, ml-1m?"),
        (["FILE", "--metric", "mea", "--alpha", 5], "metric 'mea' is not known; did you mean mae?"),
        (["FILE", "--metric", "micro_f1"], "metric 'micro_f1' is for labels, but the data are ratings: choose among"),
        (["FILE", "-p", "weka"], "--protocol weka is not known; did you mean weak?"),
        (["FILE", "-p", "kfold", "--splits", 1], "--splits 1: expected a whole number from 2 to 960, the number"),
        (["FILE", "--seeds", "0,1,0"], "--seeds 0,1,0: 0 is there twice; give each seed once"),
        (["FILE", "-m", "als", "-m", "ALS", "--alpha", 5], "--model ALS: ALS is given twice; give it once"),
        (["FILE", "FILE", "--alpha", 5], "ratings.csv: is given twice; give each data set once"),
        (["FILE", "--seeds", "0,x"], "--seeds 0,x: expected whole numbers with commas between, such as 0,1,2"),
        (["FILE", "--jobs", 0, "--alpha", 5], "--jobs 0: expected a whole number other than 0"),
        (["FILE", "TWIN", "--alpha", 5], "two data sets are called ratings.csv: rename a file, or name them in a TOML"),
        (["FILE", "--out", "FILE"], "is a file, expected a folder for the report"),
        (["FILE", "--store", "FILE"], "is a file: a store is a folder now; give another name"),
        (["FILE", "--store", "nowhere/s"], "nowhere/s: cannot be made or found: its folder must exist"),
        (["TOML", "-m", "als"], "--model: a TOML file declares all that is compared: put it there"),
        (["TOML", "FILE"], "a TOML file declares all that is compared: put it there"),
        (["TOML"], "comparison.toml, methods, number 1 (ASL): there is no model 'ASL'; did you mean ALS"),
    ],
)
def test_bad_input(run, csv: Path, tmp_path: Path, arguments: list[Any], message: str) -> None:
    twin = tmp_path / "folder" / csv.name
    twin.parent.mkdir()
    twin.write_bytes(csv.read_bytes())
    named = {"FILE": csv, "TWIN": twin, "TOML": write_toml(tmp_path, '{name = "ASL"}')}
    assert message in run("compare", *(named.get(argument, argument) for argument in arguments)).error


def test_stores_of_other_versions(run, csv: Path, tmp_path: Path) -> None:
    newer, older = tmp_path / "newer", tmp_path / "results.sqlite"
    assert run("compare", csv, *METHODS, "--splits", 1, "--store", newer).status == 0
    (newer / "cofactor-results-99").touch()
    older.write_bytes(b"SQLite format 3\0" + bytes(100))
    for store, said in ((newer, "a newer version of cofactor (format 99"), (older, "a store is a folder now; give")):
        assert said in run("compare", csv, "-m", "als", "--alpha", 5, "--store", store).error


def test_the_live_table(data: RatingDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = Declared(estimators={"ALS": ALS(3, 5.0), "SVD": RatingSVD(3)}, data={"a [b]": data, "c": data})
    seen: list[RunProgress] = []
    declared.compare(progress=seen.append)
    board = Board(declared)
    assert board.headline() == "beginning"
    for progress in seen[:4]:
        board.show(progress)
    monkeypatch.setattr("time.monotonic", lambda: board.noted + 3600)
    screen = io.StringIO()
    Console(file=screen, width=80).print(board.view())
    text = screen.getvalue()
    assert "4 of 12 cells, 60 min, about 0 s left" in text
    means = {
        name: np.mean([p.result.measures["mae"] for p in seen[:4] if p.result.method == name])
        for name in ("ALS", "SVD")
    }
    best = min(means, key=lambda name: means[name])
    assert re.search(rf"a \[b\] +4/6 +{best} {means[best]:.4f}", text)
    assert re.search(r"c +0/6", text)
    broken = replace(seen[4].result, status="failed", error="ValueError: bad [alpha]\n  File")
    board.console = Console(file=screen, width=30)
    board.show(replace(seen[4], result=broken, failed=1))
    assert screen.getvalue().splitlines()[-1] == (
        f"failed: {broken.method}, {broken.data}, {broken.split}, seed 0: ValueError: bad [alpha]"
    )
    assert "1 failed" in board.headline()
