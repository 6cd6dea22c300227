"""``cofactor info``, the list of commands, and completion."""

import json
from pathlib import Path

import pytest

from cofactor.cli import main
from cofactor.cli.app import EXAMPLES, SUMMARIES
from cofactor.datasets import make_labels, make_ratings
from cofactor.labels import PLST
from cofactor.ratings import ALS


def test_a_model_of_ratings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = make_ratings(20, 15, 2, density=0.5, random_state=0)
    path = tmp_path / "model.cofactor"
    ALS(2, alpha=1.0, random_state=0).fit(data.X, data.y).save(path)
    assert main(["info", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("ALS\n")
    assert "ALS(alpha=1.0, n_factors=2, random_state=0)" in out
    assert main(["info", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["users"], found["items"]) == ("ratings", 20, 15)
    assert found["settings"]["n_factors"] == 2
    assert found["bytes"] == path.stat().st_size


def test_a_model_of_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, _ = make_labels(60, 12, 4, random_state=0)
    path = tmp_path / "tags.cofactor"
    PLST(random_state=0).fit(data.X, data.Y).save(path)
    assert main(["info", str(path)]) == 0
    assert "PLST(random_state=0)" in capsys.readouterr().out


def test_what_is_no_model_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.csv").write_text("user,item\n")
    assert main(["info", str(tmp_path / "x.csv")]) == 2
    assert "x.csv" in capsys.readouterr().err


def test_the_list_of_commands_fits_a_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 42
    for name, summary in SUMMARIES.items():
        assert sum(summary in line and f" {name} " in line for line in lines) == 1
    assert set(EXAMPLES) <= set(SUMMARIES)


def test_shells_complete_commands(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_COFACTOR_COMPLETE": "complete_bash", "COMP_WORDS": "cofactor re", "COMP_CWORD": "1"}.items():
        monkeypatch.setenv(name, value)
    assert main([]) == 0
    assert capsys.readouterr().out.split() == ["recommend", "reproduce"]
