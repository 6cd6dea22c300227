"""evaluate --by-label: a row for each label, on the terminal, as JSON, as CSV and as a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import KFold

from cofactor.datasets import make_labels, write_table
from cofactor.labels import MLkNN
from cofactor.metrics import LabelTally

NAMES = ["été", "<b>sun", "a, b", "=sea", "sky"]
ASKED = ("-m", "mlknn", "--param", "n_neighbors=3", "--threshold", "0", "--folds", "2", "--by-label")


@pytest.fixture
def tags() -> tuple[np.ndarray, np.ndarray]:
    data, _ = make_labels(80, 6, 5, n_groups=2, n_factors=2, random_state=1)
    return np.asarray(data.X), data.Y.toarray()


@pytest.fixture
def file(tags: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> Path:
    X, Y = tags
    path = tmp_path / "tags.parquet"
    columns = {f"f{j}": X[:, j] for j in range(6)} | {name: Y[:, k] for k, name in enumerate(NAMES)}
    write_table(path, columns)
    return path


def test_json_is_what_the_library_finds(run, file: Path, tags: tuple[np.ndarray, np.ndarray]) -> None:
    X, Y = tags
    found = run("evaluate", file, *ASKED, "--labels", "-5", "--json").json
    tally = LabelTally(NAMES)
    for train, test in KFold(2, shuffle=True, random_state=0).split(X):
        model = MLkNN(3, threshold=0, random_state=0).fit(X[train], Y[train])
        tally.add(Y[test], model.predict(X[test]), model.decision_function(X[test]), model.predict_proba(X[test]))
    assert found["by_label"] == {"MLkNN": tally.table().records()}
    assert all("by label" not in run for runs in found["results"].values() for run in runs)
    assert "by_label" not in run("evaluate", file, *ASKED[:-1], "--labels", "-5", "--json").json


def test_a_terminal_shows_the_worst_labels(run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (80, 140):
        monkeypatch.setenv("COLUMNS", str(width))
        out = run("evaluate", file, *ASKED, "--labels", "-5").out
        table = out.partition("MLkNN, by label")[2]
        assert max(map(len, table.splitlines())) <= width
        assert all(name in table for name in NAMES)
        assert ("log-loss" in table) == (width == 140)
    monkeypatch.setattr("cofactor.cli.output._LABELS_SHOWN", 2)
    assert "... and 3 more labels: --out FILE writes them all" in run("evaluate", file, *ASKED, "--labels", "-5").out


def test_files_hold_all_labels(run, file: Path, tmp_path: Path) -> None:
    both = ("-m", "mlknn", "-m", "plst", "--alpha", "2", *ASKED[4:], "--labels", "-5")
    rows = run("evaluate", file, *both, "--out", "-").rows
    assert [row["model"] for row in rows] == ["MLkNN"] * 5 + ["PLST"] * 5
    assert {row["label"] for row in rows} == set(NAMES)
    outcome = run("evaluate", file, *both, "--out", tmp_path / "labels.html")
    assert "wrote a page on 5 labels" in outcome.err
    page = (tmp_path / "labels.html").read_text()
    assert "&lt;b&gt;sun" in page
    assert "<b>sun" not in page
    run("evaluate", file, *both, "--out", tmp_path / "labels.csv", "--safe-csv")
    assert '"\'=sea"' in (tmp_path / "labels.csv").read_text()


def test_what_does_not_fit_is_refused(run, file: Path) -> None:
    assert run("evaluate", file, "--out", "x.csv").error == "--out writes the table of --by-label: give --by-label too"
    same = run("evaluate", file, "--by-label", "--out", file).error
    assert "is read by this command" in same
