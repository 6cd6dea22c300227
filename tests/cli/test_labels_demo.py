"""demo labels: on real data, without data, in full, and its report."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from cofactor.cli.demo import TerminalReporter
from cofactor.datasets import load_labels, make_labels
from cofactor.experiments.demos import Extent, Finding, Trial, run_demo
from cofactor.experiments.demos import labels as demo_of_labels
from cofactor.experiments.demos.labels import SHOWN, FullLabelDemo, LabelDemo, made_up
from cofactor.metrics import LABEL_METRICS, micro_f1

PICTURES = {"sure.png", "together.png"}
MODELS = ["LabelRidge", "OMF", "PLST", "MLkNN", "binary relevance", "frequent tags"]
FULL_PICTURES = {"labels.png", "sparsity.png", "thresholds.png", "tree.png"}
FULL = [*SHOWN, "MNMTF + MLkNN", "BinaryRelevance"]
SOME = ["MLCHMF", "GroPLE", "PLST", "MNMTF + MLkNN", "BinaryRelevance"]  #: with pictures, with figures, and a pipeline


def check_short(results: dict, text: str, page) -> dict[str, dict]:
    """Check what is shown whatever the data are; return the rows by name."""
    rows = {row["name"]: row for row in results["rows"]}
    assert list(rows) == MODELS
    assert all(0 <= row[key] <= 1 for row in rows.values() for key in ("micro_f1", "macro_f1", "precision_at_1"))
    assert all(rows[name]["micro_f1"] > 2 * rows["frequent tags"]["micro_f1"] for name in MODELS[:-1])
    best = max(row["micro_f1"] for row in rows.values())
    assert f"{best:.3f}*" in text
    assert len(results["examples"]) == 3
    for example in results["examples"]:
        assert example["text"] in " ".join(page.text.split())
        chances = [said["probability"] for said in example["said"]]
        assert chances == sorted(chances, reverse=True)
        for said in example["said"]:
            assert said["tag"] in page.text
            assert said["tag"] in text
            assert set(said["because"]) <= set(re.findall(r"\w+", example["text"].lower()))
            assert bool(said["because"]) == (said["verdict"] != "missed")
    *sure, decided = results["sure"]
    assert [one["found"] for one in sure] == sorted(one["found"] for one in sure)
    of_many = [one["right"] for one in sure if one["per_text"] * results["data"]["sizes"]["test"] > 30]
    assert of_many == sorted(of_many, reverse=True)
    assert min(sure[0]["right"], of_many[0]) > decided["right"] + 0.05
    assert sum(band["n_tags"] for band in results["bands"]) <= results["data"]["sizes"]["labels"]
    return rows


@pytest.mark.evidence
@pytest.mark.filterwarnings("default:COFACTOR_DATA")
def test_without_data_articles_are_made_up_and_the_commands_work(
    run, check_report, without_data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in without_data(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(demo_of_labels, "made_up", lambda n, seed: made_up(500, seed))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    outcome = run("demo", "labels", "--out", "report")
    assert outcome.status == 0
    results, page = check_report(tmp_path / "report", PICTURES, {"articles.csv", "new-articles.csv"})
    rows = check_short(results, outcome.out, page)
    assert results["data"]["name"] == "articles"
    assert "medical" in results["missing"][0]
    assert "published" not in page.text.lower()
    assert 0.5 < rows["LabelRidge"]["micro_f1"] < 0.7
    assert rows["LabelRidge"]["micro_f1"] > rows["MLkNN"]["micro_f1"]
    sizes = results["data"]["sizes"]
    written = [
        load_labels(f"report/{name}.csv", labels="tags", label_sep=",", text="text")
        for name in ("articles", "new-articles")
    ]
    assert list(map(len, written)) == [sizes["train"], sizes["test"]]
    assert len({name for data in written for name in data.label_names}) == sizes["labels"]
    last = outcome.out.partition("What next:")[2]
    shown = [line.strip() for line in last.splitlines() if line.strip().startswith("cofactor ")]
    assert shown == results["next_steps"]
    for command in shown:
        quick = command.replace('","', ",").replace("evaluate ", "evaluate --splits 2 ")
        assert run(*quick.split()[1:]).status == 0, command


@pytest.mark.evidence
def test_demo_on_medical(run, check_report, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With those methods whose figures are looked at."""
    methods, some = LabelDemo.methods, ("LabelRidge", "MLkNN", "binary relevance")
    monkeypatch.setattr(LabelDemo, "methods", lambda *given: {name: methods(*given)[name] for name in some})
    monkeypatch.chdir(tmp_path)
    outcome = run("demo", "labels", "--json")
    results = outcome.json
    report, page = check_report(tmp_path / "demo-labels-report", PICTURES)
    assert report == results
    rows = {row["name"]: row for row in results["rows"]}
    assert results["data"]["name"] == "medical"
    assert rows["MLkNN"]["published"] == {"micro_f1": 0.676, "macro_f1": 0.206}
    assert rows["LabelRidge"]["published"] is None
    assert "0.676" in page.text
    assert rows["LabelRidge"]["micro_f1"] > 0.8
    assert rows["LabelRidge"]["macro_f1"] > rows["binary relevance"]["macro_f1"]
    (cough,) = {said["verdict"] for said in results["examples"][0]["said"] if said["tag"] == "cough"}
    assert cough == "right"


def check_tables(results: dict, text: str) -> None:
    """Check that every method is there, and that the best of each column has a star."""
    parts = re.split(r"Plain cut at 0|Learned threshold", text)[1:]
    shown = iter(parts)
    for table in results["tables"]:
        assert sorted(row["name"] for row in table["rows"]) == sorted(SOME)
        assert table["rows"][-1]["name"] == "BinaryRelevance"
        for kind in ("plain", "learned"):
            part = next(shown)
            for key, measure in LABEL_METRICS.items():
                if key in table["rows"][0][kind]:
                    values = [round(row[kind][key], 3) for row in table["rows"]]
                    best = max(values) if measure.greater_is_better else min(values)
                    assert f"{best:.3f}*" in part or len(set(values)) == 1


@pytest.mark.evidence
def test_full_demo_on_emotions(
    run, check_report, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = FullLabelDemo().methods(load_labels("flags"), Extent(full=True))
    assert list(methods) == FULL
    methods["MLCHMF"].search.set_params(grid={"alpha": [50.0]})  # each takes longest of all
    monkeypatch.setattr(FullLabelDemo, "methods", lambda *_: {name: methods[name] for name in SOME})
    few = load_labels("emotions").take(np.arange(0, 593, 3))
    monkeypatch.setattr(FullLabelDemo, "data", lambda *_: ([few], []))
    parts = FullLabelDemo.parts
    monkeypatch.setattr(FullLabelDemo, "parts", lambda *given: parts(*given)[:1])  # one fold
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    outcome = run("demo", "labels", "--full", "--out", "report")
    assert outcome.status == 0
    results, page = check_report(tmp_path / "report", FULL_PICTURES)
    check_tables(results, outcome.out)
    (table,) = results["tables"]
    rows = {row["name"]: row for row in table["rows"]}
    assert rows["MLCHMF"]["published"]["micro_f1"] == 0.682
    assert rows["MLCHMF"]["plain"]["micro_f1"] > 0.64  # .671 at seed 0, one fold of a third of the songs
    assert rows["PLST"]["published"] is None
    assert "0.682" in outcome.out
    assert "0.682" in page.text
    # A learned threshold pays off where labels are missed.
    assert np.mean([row["learned"]["micro_f1"] - row["plain"]["micro_f1"] for row in table["rows"]]) > 0
    example = results["example"]
    assert (example["data"], len(example["instances"])) == ("emotions", 5)
    for instance in example["instances"]:
        for name in instance["true"]:
            assert name in page.text


@pytest.mark.evidence
def test_the_commands_at_the_end_of_the_full_demo_work(
    run, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trial = Trial(SimpleNamespace(name="emotions"), [], {})
    for command, _ in FullLabelDemo().next_steps(Finding(Extent(full=True), [trial])):
        assert run(*command.split()[1:]).status == 0, command


def test_published_figures_are_those_of_the_tables() -> None:
    """Range, number, and a few looked up by hand in the documents."""
    demo = FullLabelDemo()
    sets = [SimpleNamespace(name=name) for name in ("emotions", "medical", "cal500")]
    known = {(data.name, name): demo.published(data, name) for data in sets for name in FULL}
    printed = {place: figures for place, figures in known.items() if figures}
    assert all(0 <= figure <= 1 for figures in printed.values() for figure in figures.values())
    assert printed["medical", "GroPLE"] == {
        "accuracy": 0.769,
        "example_f1": 0.800,
        "macro_f1": 0.374,
        "micro_f1": 0.821,
    }
    assert (printed["cal500", "MLkNN"]["macro_f1"], printed["cal500", "MLkNN"]["micro_f1"]) == (0.053, 0.320)
    assert len(printed) == 22


class Small(FullLabelDemo):
    """A demo of one model on few instances."""

    def data(self, extent, report):
        return [make_labels(100, 10, 5, n_groups=2, n_factors=2, random_state=0)[0]], []

    def methods(self, data, extent):
        return {"PLST": super().methods(data, extent)["PLST"]}

    def parts(self, data, extent):
        return super().parts(data, extent)[:1]


def test_nothing_is_chosen_on_the_test_part() -> None:
    """The figures of a method are those of a choice which saw the training part only."""
    (trial,) = run_demo(Small(), Extent(full=True), TerminalReporter(quiet=True)).trials
    data, (train, test) = trial.data, trial.parts[0]
    assert sorted([*train, *test]) == list(range(100))
    X = trial.prepared("PLST").X
    np.testing.assert_allclose(X[train].mean(axis=0), 0, atol=1e-12)
    alone = clone(trial.methods["PLST"].search).fit(X[train], data.Y[train])
    (row,) = trial.rows
    for way, kind in (("", "plain"), ("learned", "learned")):
        predicted = alone.estimators_[kind].predict(X[test])
        assert row.measures[way]["micro_f1"] == micro_f1(data.Y[test], predicted)


def test_bad_task(run) -> None:
    assert run("demo", "nonsense").error == "task nonsense: expected one of 'ratings', 'labels'"
