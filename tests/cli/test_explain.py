"""explain: what speaks for predicted labels, by the names of the files, equal to what the library finds."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest

import cofactor
from cofactor.datasets import write_table

WORDS = ["été", "a, b", "=love", "sun", "f=1", "sea"]
TAGS = ["tag rock", "tag pop"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    X = np.random.default_rng(0).normal(size=(60, len(WORDS))).round(3)
    Y = (X[:, :2] + X[:, 2:4] > 0.3).astype(int)
    columns = dict(zip(WORDS, X.T, strict=True)) | dict(zip(TAGS, Y.T, strict=True))
    write_table(tmp_path / "songs.csv", {"song": [f"s{k}" for k in range(60)], **columns})
    return tmp_path / "songs.csv"


@pytest.fixture
def tags(fit_once, table: Path) -> Path:
    options = ("-m", "plst", "--labels", "tag", "--id", "song", "--threshold", "0", "--alpha", "1")
    return fit_once(table, *options, out=table.with_name("tags.cofactor"))


def test_csv_and_json_are_what_the_library_finds(run, table: Path, tags: Path) -> None:
    model = cofactor.load(tags)
    data = cofactor.datasets.load_labels(table, [], schema=model.schema_)
    X = np.asarray(data.X)
    del model.feature_names_in_
    found = model.explain(X, n_terms=3)
    rows = run("explain", tags, table, "-n", "3").rows
    assert [float(row["contribution"]) for row in rows] == found.columns["contribution"].tolist()
    assert [row["song"] for row in rows] == [f"s{k}" for k in found.columns["instance"]]
    assert {row["term"] for row in rows if row["kind"] == "feature"} <= set(WORDS)
    lines = run("explain", tags, table, "-n", "3", "--json").json_lines
    assert [line["song"] for line in lines] == [f"s{k}" for k in range(60)]
    on = model.predict(X)
    for line, here in zip(lines, np.asarray(on.toarray() if hasattr(on, "toarray") else on) > 0, strict=True):
        assert {label["label"] for label in line["labels"]} == {
            name for name, one in zip(TAGS, here, strict=True) if one
        }
        for label in line["labels"]:
            assert sum(term["contribution"] for term in label["terms"]) == pytest.approx(label["score"])


def test_training_instances_have_their_ids_or_are_rows_of_the_file_counted_from_one(run, table: Path) -> None:
    out = table.with_name("neighbours.cofactor")
    assert run("fit", table, "--labels", "tag", "--drop", "song", "-m", "mlknn", "-o", out).status == 0
    model = cofactor.load(out)
    data = cofactor.datasets.load_labels(table, [], schema=model.schema_)
    del model.feature_names_in_
    found = [row["term"] for row in model.explain(np.asarray(data.X)).records() if row["kind"] == "instance"]
    rows = run("explain", out, table).rows
    assert {row["value"] for row in rows} == {""}  # only features have values
    terms = [row["term"] for row in rows if row["kind"] == "instance"]
    assert terms == [f"training instance {term + 1}" for term in found]
    assert "training instance 60" in terms
    assert run("fit", table, "--labels", "tag", "--id", "song", "-m", "mlknn", "-o", out).status == 0
    rows = run("explain", out, table).rows
    assert [row["term"] for row in rows if row["kind"] == "instance"] == [
        f"training instance s{term}" for term in found
    ]


def test_a_kernel_that_names_no_features_says_what_does(run, table: Path) -> None:
    out = table.with_name("ridge.cofactor")
    for kernel, there in (("rbf", True), ("linear", False)):
        options = ("--labels", "tag", "--id", "song", "--param", f"kernel={kernel}")
        assert run("fit", table, *options, "-o", out).status == 0
        found = run("explain", out, table, "-n", 2)
        assert ("instance" in {row["kind"] for row in found.rows}) == there
        assert ("fit with --param kernel=linear, and all terms are features" in found.err) == there


def test_a_terminal_shows_them_one_below_the_other(
    run, table: Path, tags: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    assert run("explain", tags, table, "--label", TAGS[0], "-n", "2").status == 0
    lines = screen.getvalue().splitlines()
    assert lines[0].startswith("instance s0: tag rock, score ")
    assert lines[4].endswith("intercept")
    assert lines[-1] == "... and 40 more labels: --out FILE writes them all"


def test_what_cannot_be_explained_is_refused(run, table: Path, tags: Path, model: Path) -> None:
    assert "--label jazz: no label of the model: expected one" in run("explain", tags, table, "--label", "jazz").error
    assert "FILE does not go with" in run("explain", model, table).error
    assert "is a model of labels: say what to explain, with FILE" in run("explain", tags).error
    assert "--item does not go with" in run("explain", tags, table, "--item", "3").error
    assert run("explain", "-", "-").error.startswith("MODEL and FILE cannot both be standard input")
