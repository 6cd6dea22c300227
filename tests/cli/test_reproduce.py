"""reproduce: what is listed, run, kept, shown and written; what cannot be."""

import json
from pathlib import Path

import pytest

from cofactor.evaluation import ResultStore, RunProgress
from cofactor.experiments import experiments, reproduction

GEOMETRY = "thesis-figure-3.1"  # made of printed factors: in a moment, and without a data set
STARTS = "thesis-figure-3.4"


def test_list_tells_every_experiment_and_its_cells(run):
    outcome = run("reproduce", "list", "--json")
    assert outcome.status == 0
    listed = {row["name"]: row for row in json.loads(outcome.out)}
    assert list(listed) == list(experiments())
    for row in listed.values():
        assert row["quick"] <= row["normal"] <= row["full"]
    assert GEOMETRY in run("reproduce", "list").out


def test_run_is_kept_shown_and_written(run, tmp_path: Path):
    store, document = tmp_path / "kept.sqlite", tmp_path / "book.md"
    arguments = ("reproduce", GEOMETRY, STARTS, "--quick", "--store", store)
    outcome = run(*arguments, "--document", document)
    assert outcome.status == 0
    assert "✓ holds" in outcome.out
    assert f"wrote {document}" in outcome.err
    text = document.read_text()
    assert f"## {GEOMETRY}" in text
    assert (tmp_path / "book" / f"{GEOMETRY}.png").stat().st_size > 1000
    again = run("reproduce", GEOMETRY, STARTS, "--quick", "--from-store", "--store", store, "--json")
    found = json.loads(again.out)
    assert [one["name"] for one in found] == [GEOMETRY, STARTS]
    assert all(claim["holds"] for claim in found[0]["claims_told"])
    assert found[0]["errors"] == []


def test_what_has_not_run_claims_nothing(run, tmp_path: Path):
    with ResultStore(tmp_path / "empty.sqlite"):
        pass
    outcome = run("reproduce", STARTS, "--from-store", "--store", tmp_path / "empty.sqlite", "--json")
    (found,) = json.loads(outcome.out)
    assert found["cells"] > 0
    assert found["held"] == found["compared"] == 0
    assert found["unknown"] == found["claims"] > 0


def test_ctrl_c_says_what_is_kept(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def stopped(progress: RunProgress) -> None:
        if progress.done == 2:
            raise KeyboardInterrupt

    def running(*given, on_progress, **options):
        return complete(*given, on_progress=stopped, **options)

    complete, store = reproduction.reproduce, tmp_path / "kept.sqlite"
    monkeypatch.setattr(reproduction, "reproduce", running)
    outcome = run("reproduce", STARTS, "--quick", "--store", store)
    assert outcome.status == 130
    assert f"2 of 3 cells are done and are kept in {store}" in outcome.err
    with ResultStore(store) as kept:
        assert len(kept) == 2


def test_missing_data_fail_cells_and_the_command(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COFACTOR_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outcome = run("reproduce", "thesis-figure-6.1", "--quick", "--store", tmp_path / "kept.sqlite")
    assert outcome.status == 1
    assert "DatasetNotFoundError" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("thesis-table-3.91",), "did you mean thesis-table-3.19"),
        (("thesis-table-3.19", "--quick", "--full"), "--quick and --full exclude each other"),
        ((GEOMETRY, "--document", "book.html"), "expected a Markdown file, ending in .md"),
        ((GEOMETRY, "--quick", "--jobs", "0"), "--jobs 0: expected a positive number"),
        ((GEOMETRY, "--from-store"), "kept.sqlite yet: without this option it is made and filled"),
    ],
)
def test_bad_input(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in run("reproduce", *arguments, "--store", tmp_path / "kept.sqlite").error
