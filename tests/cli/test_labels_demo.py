"""demo labels: on real data, without data, and its report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from cofactor.cli.demo import TerminalReporter
from cofactor.datasets import make_labels
from cofactor.experiments.demos import labels as demo_of_labels
from cofactor.experiments.demos.base import Extent, Finding, Trial, run_demo
from cofactor.experiments.demos.labels import SHOWN, LabelDemo
from cofactor.metrics import LABEL_METRICS, micro_f1

PICTURES = {"labels.png", "sparsity.png", "thresholds.png", "tree.png"}
METHODS = [*SHOWN, "MNMTF + MLkNN", "BinaryRelevance"]


def check_tables(results: dict, text: str) -> None:
    """Check that every method is there, and that the best of each column has a star."""
    parts = re.split(r"Plain cut at 0|Learned threshold", text)[1:]
    shown = iter(parts)
    for table in results["tables"]:
        assert sorted(row["name"] for row in table["rows"]) == sorted(METHODS)
        assert table["rows"][-1]["name"] == "BinaryRelevance"
        for kind in ("plain", "learned"):
            part = next(shown)
            for key, measure in LABEL_METRICS.items():
                if key in table["rows"][0][kind]:
                    values = [round(row[kind][key], 3) for row in table["rows"]]
                    best = max(values) if measure.greater_is_better else min(values)
                    assert f"{best:.3f}*" in part or len(set(values)) == 1


@pytest.mark.evidence
def test_quick_demo_on_emotions(
    run, check_report, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    outcome = run("demo", "labels", "--out", "report")
    assert outcome.status == 0
    assert re.fullmatch(r"(cofactor: .+ \(\d+ s\)\n)*", outcome.err)  # progress, on a slow machine
    assert max(map(len, outcome.out.splitlines())) <= 96  # the line of the files is not broken
    results, page = check_report(tmp_path / "report", PICTURES)
    check_tables(results, outcome.out)
    (table,) = results["tables"]
    rows = {row["name"]: row for row in table["rows"]}
    assert rows["MLCHMF"]["published"]["micro_f1"] == 0.682
    assert rows["MLCHMF"]["plain"]["micro_f1"] > 0.64  # .702 at seed 0, one fold
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
    last = outcome.out.partition("What next:")[2]
    assert [line.strip() for line in last.splitlines() if line.strip().startswith("cofactor ")] == results["next_steps"]


@pytest.mark.evidence
@pytest.mark.filterwarnings("default:COFACTOR_DATA")
def test_demo_without_data_is_synthetic(
    run, check_report, without_data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in without_data(tmp_path).items():
        monkeypatch.setenv(name, value)
    # Those of which the pictures are made, and two at the end; all of them are compared on emotions.
    monkeypatch.setattr(demo_of_labels, "SHOWN", ("MLCHMF", "GroPLE", "MLkNN"))
    monkeypatch.chdir(tmp_path)
    outcome = run("demo", "labels", "--json")
    results = json.loads(outcome.out)
    assert [table["name"] for table in results["tables"]] == ["synthetic"]
    assert "emotions" in results["missing"][0]
    report, page = check_report(tmp_path / "demo-report", PICTURES)
    assert report == results
    assert "published" not in page.text.lower()
    rows = {row["name"]: row["plain"]["micro_f1"] for row in results["tables"][0]["rows"]}
    assert max(rows.values()) > 0.6


@pytest.mark.evidence
def test_the_commands_at_the_end_work(run, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trial = Trial(SimpleNamespace(name="emotions"), [], {})
    for command, _ in LabelDemo().next_steps(Finding(Extent(), [trial])):
        assert run(*command.split()[1:]).status == 0, command


def test_published_figures_are_those_of_the_tables() -> None:
    """Range, number, and a few looked up by hand in the documents."""
    demo = LabelDemo()
    sets = [SimpleNamespace(name=name) for name in ("emotions", "medical", "cal500")]
    known = {(data.name, name): demo.published(data, name) for data in sets for name in METHODS}
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


class Small(LabelDemo):
    """A demo of one model on few instances."""

    def data(self, extent, report):
        return [make_labels(100, 10, 5, n_groups=2, n_factors=2, random_state=0)[0]], []

    def methods(self, data, extent):
        return {"PLST": super().methods(data, extent)["PLST"]}


def test_nothing_is_chosen_on_the_test_part() -> None:
    """The figures of a method are those of a choice which saw the training part only."""
    (trial,) = run_demo(Small(), Extent(), TerminalReporter(quiet=True)).trials
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
