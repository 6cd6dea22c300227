"""What commands print and write of ids and names that are made to harm."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

from cofactor.cli.output import human_console, show_facts, show_measured, write_table
from cofactor.datasets import make_ratings
from cofactor.datasets import write_table as write_file
from cofactor.model.facts import Facts
from cofactor.ratings import ALS
from cofactor.service.results import AnswerTable, Column, EvaluationResult

EVIL = "a\x1b[2J\x1b]0;title\x07\x9b31m\r\x08[bold]b"
CLEAN = "a [2J ]0;title  31m  [bold]b"


def obeyed(text: str) -> set[str]:
    """Characters that a terminal obeys, but for line breaks."""
    return {character for character in text if character != "\n" and not character.isprintable()}


def be_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")  # so that the console itself writes no escapes


def test_tables_on_a_terminal_hold_no_control_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    be_a_terminal(monkeypatch)
    write_table(AnswerTable(EVIL, {"user": [EVIL, "b"], EVIL: ["x", EVIL], "n": [1, 2]}), None, as_json=False)
    show_facts(Facts(EVIL, {}, {EVIL: EVIL}), {"model file": EVIL})
    results = {EVIL: [{"mae": 0.5}], "als": [{"mae": 0.6}]}
    show_measured(EvaluationResult(EVIL, {}, results, (Column("mae", EVIL, 4),), "mae"))
    human_console().print(EVIL, markup=False)
    found = capsys.readouterr().out
    assert CLEAN in found
    assert not obeyed(found)
    user, *_ = (line for line in found.splitlines() if line.split()[-1:] == ["1"])
    assert len(user) == len(next(line for line in found.splitlines() if line.split()[-1:] == ["2"]))


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, Path]:
    """Ratings whose users have hostile names, and a model of them."""
    data = make_ratings(8, 6, density=0.8, random_state=0)
    X = np.array([(f"={user}\x1b[31m", f"@{item}") for user, item in data.X.tolist()], dtype=object)
    file, model = tmp_path / "r.csv", tmp_path / "m.cofactor"
    write_file(file, {"user": X[:, 0], "item": X[:, 1], "rating": data.y})
    ALS(2, 1.0, random_state=0).fit(X, data.y).save(model)
    return file, model


def test_commands_write_exactly_or_for_spreadsheets(run, hostile: tuple[Path, Path], tmp_path: Path) -> None:
    file, model = hostile
    for command in (["predict", model, file], ["recommend", model, "--all"]):
        exact, safe = tmp_path / "exact.csv", tmp_path / "safe.csv"
        assert run(*command, "-o", exact).status == run(*command, "--safe-csv", "-o", safe).status == 0
        one, other = (list(csv.DictReader(path.read_text().splitlines())) for path in (exact, safe))
        assert one[0]["user"].startswith("=")
        assert one[0]["user"].endswith("\x1b[31m")
        users, items = (["'" + row[name].replace("\x1b", " ") for row in one] for name in ("user", "item"))
        assert [row["user"] for row in other] == users
        assert [row["item"] for row in other] == items
        assert [row["score"] for row in other] == [row["score"] for row in one]
    error = run("predict", model, file, "--safe-csv", "-o", tmp_path / "p.parquet").error
    assert error.endswith("in which no text is taken for a formula; leave out --safe-csv, or write CSV")


def test_commands_print_no_control_characters(run, hostile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    be_a_terminal(monkeypatch)
    file, model = hostile
    evil = tmp_path / "\x1b[31mr.csv"
    evil.write_bytes(file.read_bytes())
    for command in (
        ["predict", model, file],
        ["recommend", model, "--all"],
        ["fit", evil, "--model", "als", "--alpha", 1, "-o", tmp_path / "o"],
        ["evaluate", evil, "--model", "als", "--alpha", 1, "--splits", 1],
        ["compare", evil, "--model", "als", "--alpha", 1, "--splits", 1],
        ["recommend", model, "--user", "x\x1b[31m"],
        ["fit", tmp_path / "\x1b[31m"],
    ):
        outcome = run(*command)
        assert outcome.out + outcome.err
        assert not obeyed(outcome.out + outcome.err), command


def test_results_of_a_comparison_for_spreadsheets(run, hostile: tuple[Path, Path], tmp_path: Path) -> None:
    evil = tmp_path / "@evil.csv"
    evil.write_bytes(hostile[0].read_bytes())
    outcome = run(
        "compare", evil, "--model", "als", "--alpha", 1, "--splits", 1, "--safe-csv", "--json", "-o", tmp_path
    )
    assert outcome.json["cells"] == 3  # of two baselines too
    assert '"\'@evil.csv"' in (tmp_path / "results.csv").read_text()
