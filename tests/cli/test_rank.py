"""evaluate --rank: lists of recommendations, as the library measures them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cofactor.datasets import RatingDataset
from cofactor.evaluation import evaluate_recommendations
from cofactor.ratings import ALS

OPTIONS = ["-m", "als", "--alpha", 3, "--factors", 4, "--rank"]


def test_numbers_equal_the_library(run, data: RatingDataset, csv: Path) -> None:
    given = ["--at", "5,10", "--likes", 4, "--seed", 5, "--auc", "--splits", 2, "--json"]
    outcome = run("evaluate", csv, *OPTIONS, *given)
    found = outcome.json
    model = ALS(4, 3.0, levels=data.scale, random_state=5)
    direct = evaluate_recommendations(model, data.X, data.y, "per-user", 2, 5, at=(5, 10), likes=4, auc=True).summary()
    assert list(found["summary"]) == ["popularity", "ALS"]
    assert found["at"] == [5, 10]
    for metric in ("ndcg@5", "recall@10", "auc", "distinct@10"):
        assert found["summary"]["ALS"][metric] == json.loads(json.dumps(direct["ALS"][metric]))
    assert found["summary"]["ALS"]["ndcg@5"]["above_popularity"]["clear"] in (True, False)


def test_table(run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = run("evaluate", csv, *OPTIONS, "--at", 5)
    lines = outcome.out.splitlines()
    assert lines[0] == "ratings.csv: per-user, 1 split, seed 0"
    assert lines[1].split() == ["popularity", "ALS"]
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("ndcg@5 ") for line in lines) == 1
    assert "every item with an interaction is relevant; --likes counts only what was liked" in outcome.err


@pytest.mark.parametrize("protocol", ["new-users", "strong"])
def test_protocols(run, csv: Path, protocol: str) -> None:
    found = run("evaluate", csv, *OPTIONS, "-p", protocol, "--test-users", 0.2, "--json").json
    assert found["protocol"] == protocol
    assert found["summary"]["ALS"]["ndcg@10"]["users"] == 12


def test_compare(run, csv: Path) -> None:
    outcome = run("compare", csv, *OPTIONS, "--at", 5, "--likes", 4, "--splits", 2)
    lines = outcome.out.splitlines()
    assert outcome.status == 0
    assert [line.split()[0] for line in lines if line.endswith("ALS") and "↑" in line] == [
        "ndcg@5",
        "recall@5",
        "coverage@5",
    ]
    error = run("compare", csv, "-m", "als", "--alpha", 1, "--at", 5).error
    assert error == "--at is for lists of recommendations: give --rank too"


def test_labels_have_no_lists(run) -> None:
    assert "--rank is for ratings" in run("evaluate", "emotions", "--rank").error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rank", "--at", "ten"], "--at ten: not lengths of lists; write whole numbers from 1, such as 10 or 10,20"),
        (["--rank", "--likes", 9], "--likes 9: no rating is that high"),
        (["--at", 5], "--at is for lists of recommendations: give --rank too"),
        (["--likes", 4], "--likes is for lists of recommendations: give --rank too"),
    ],
)
def test_bad_options(run, csv: Path, options: list[object], message: str) -> None:
    assert message in run("evaluate", csv, "-m", "als", "--alpha", 1, *options).error
