"""A new metric is declared in one place, its registry, and `cofactor evaluate` shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofactor.cli import main
from cofactor.datasets import make_labels, make_ratings, write_libsvm, write_table
from cofactor.metrics import LABEL_METRICS, PROBABILITY_METRICS, RATING_METRICS, LabelMetric
from cofactor.service import task_named


@pytest.fixture
def ratings(tmp_path: Path) -> list[str]:
    path = tmp_path / "ratings.csv"
    data = make_ratings(30, 20, 2, density=0.5, random_state=0)
    write_table(path, {"user": data.X[:, 0], "item": data.X[:, 1], "rating": data.y})
    return [str(path), "-m", "als", "--alpha", "3", "--factors", "2"]


@pytest.fixture
def labels(tmp_path: Path) -> list[str]:
    path = tmp_path / "tags.svm"
    data, _ = make_labels(60, 5, 3, n_groups=1, n_factors=2, random_state=0)
    write_libsvm(path, data.X, data.Y)
    return [str(path), "-m", "plst", "--alpha", "1"]


def check(arguments: list[str], heading: str, digits: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Look for `mean_error`, which is always .25, in what people and machines get."""
    assert main(["evaluate", *arguments, "--splits", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(heading in line for line in lines) == 1
    assert sum(f"{0.25:.{digits}f}" in line for line in lines) >= 2
    assert main(["evaluate", *arguments, "--splits", "2", "--json"]) == 0
    for summary in json.loads(capsys.readouterr().out)["summary"].values():
        assert summary["mean_error"] == {"mean": 0.25, "std": 0.0}


def test_of_ratings(ratings: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setitem(RATING_METRICS, "mean_error", lambda y, pred, scale: 0.25)
    check(ratings, "mean-error", 4, capsys)


@pytest.mark.parametrize("takes", ["labels", "scores"])
def test_of_labels(
    labels: list[str], takes: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    metric = LabelMetric(lambda Y, values: 0.25, takes, greater_is_better=False)
    monkeypatch.setitem(LABEL_METRICS, "mean_error", metric)
    check(labels, "mean error", 3, capsys)


def test_of_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROBABILITY_METRICS, "brier", lambda y, probabilities, scale: 0.25)
    task = task_named("ratings")
    models = {name: task.models()[name]() for name in ("als", "ordinal-probit")}
    room = {column.key: column.room for column in task.metrics(models)}
    assert room["brier"] == room["log_loss"] == "any"
    del models["ordinal-probit"]
    assert {column.key: column.room for column in task.metrics(models)}["brier"] == "none"


@pytest.mark.parametrize("name", ["ratings", "labels"])
def test_every_metric_has_a_column(name: str) -> None:
    task = task_named(name)
    keys = [column.key for column in task.metrics({})]
    known = {"ratings": [*RATING_METRICS, *PROBABILITY_METRICS], "labels": [*LABEL_METRICS]}[name]
    assert keys == [*known, "seconds"]
    assert np.unique([column.heading for column in task.metrics({})]).size == len(keys)
