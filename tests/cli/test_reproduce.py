"""reproduce: what is listed, run, kept, shown and written; what cannot be."""

from dataclasses import fields
from pathlib import Path

import pytest

import cofactor
from cofactor.evaluation import ResultStore, RunProgress
from cofactor.evaluation.store import Run
from cofactor.experiments import experiments, reproduction

GEOMETRY = "thesis-figure-3.1"  # made of printed factors: in a moment, and without a data set
STARTS = "thesis-figure-3.4"


def test_list_tells_every_experiment_and_its_cells(run):
    outcome = run("reproduce", "list", "--json")
    assert outcome.status == 0
    listed = {row["name"]: row for row in outcome.json}
    assert list(listed) == list(experiments())
    for row in listed.values():
        assert row["quick"] <= row["normal"] <= row["full"]


def test_run_is_kept_shown_and_written(run, tmp_path: Path):
    store, document = tmp_path / "kept", tmp_path / "book"
    arguments = ("reproduce", GEOMETRY, STARTS, "--quick", "--store", store)
    outcome = run(*arguments, "--document", document)
    assert outcome.status == 0
    assert "✓ holds" in outcome.out
    assert f"wrote {document / 'README.md'}" in outcome.err
    assert f"[{GEOMETRY}](kumar-3.md#thesis-figure-31)" in (document / "README.md").read_text()
    assert f"## {GEOMETRY}" in (document / "kumar-3.md").read_text()
    assert (document / "pictures" / f"{GEOMETRY}.png").stat().st_size > 1000
    again = run("reproduce", GEOMETRY, STARTS, "--quick", "--from-store", "--store", store, "--json")
    found = again.json
    assert [one["name"] for one in found] == [GEOMETRY, STARTS]
    assert all(claim["holds"] for claim in found[0]["claims_told"])
    assert found[0]["errors"] == []


def test_what_has_not_run_claims_nothing(run, tmp_path: Path):
    ResultStore(tmp_path / "empty")
    outcome = run("reproduce", STARTS, "--from-store", "--store", tmp_path / "empty", "--json")
    (found,) = outcome.json
    assert found["cells"] > 0
    assert found["held"] == found["compared"] == 0
    assert found["unknown"] == found["claims"] > 0


def test_ctrl_c_says_what_is_kept(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def stopped(progress: RunProgress) -> None:
        if progress.done == 2:
            raise KeyboardInterrupt

    def running(*given, on_progress, **options):
        return complete(*given, on_progress=stopped, **options)

    complete, store = reproduction.reproduce, tmp_path / "kept"
    monkeypatch.setattr(reproduction, "reproduce", running)
    outcome = run("reproduce", STARTS, "--quick", "--store", store)
    assert outcome.status == 130
    assert f"2 of 3 cells are done and are kept in {store}" in outcome.err
    assert len(ResultStore(store)) == 2


def test_results_are_found_without_the_data(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A store tells its results on a machine that lacks the data sets, too."""
    store = tmp_path / "kept"
    (one,) = [cell for cell in experiments()["thesis-table-4.1"].cells("quick") if cell.method == "ALS"]
    facts = {field.name: getattr(one, field.name) for field in fields(Run) if hasattr(one, field.name)}
    measures = {"mae": 0.7, "rmse": 1.0, "train_mae": 0.08}
    done = Run(**facts, version=cofactor.__version__, status="done", measures=measures, error="", seconds=1.0)
    ResultStore(store).put(done)
    monkeypatch.setattr("cofactor.experiments.papers.checksum", lambda name: "")
    (found,) = run("reproduce", "thesis-table-4.1", "--quick", "--from-store", "--store", store, "--json").json
    assert (found["cells"], found["compared"]) == (3, 2)


def test_what_is_published_only_is_shown(run, tmp_path: Path):
    outcome = run("reproduce", "li-table-7.5", "--quick", "--from-store", "--store", filled(tmp_path))
    assert "published only" in outcome.out
    assert ".4775" in outcome.out


@pytest.mark.parametrize("width", [40, 80])
def test_numbers_are_whole_in_narrow_terminals(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = run("reproduce", "thesis-table-5.11", "--quick", "--from-store", "--store", filled(tmp_path))
    assert "…" not in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= width
    assert ("published 5.730" in outcome.out) == (width == 40)


def filled(folder: Path) -> Path:
    return ResultStore(folder / "kept").path


def test_missing_data_fail_cells_and_the_command(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COFACTOR_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outcome = run("reproduce", "thesis-figure-6.1", "--quick", "--store", tmp_path / "kept")
    assert outcome.status == 1
    assert outcome.out.count("DatasetNotFoundError") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("thesis-table-3.91",), "did you mean thesis-table-3.19"),
        (("thesis-table-3.19", "--quick", "--full"), "--quick and --full exclude each other"),
        ((GEOMETRY, "--document", "book.md"), "expected the name of a folder; its first page will be book/README.md"),
        ((GEOMETRY, "--document", "book", "--words", "words.html"), "expected a Markdown file, ending in .md"),
        ((GEOMETRY, "--quick", "--jobs", "0"), "--jobs 0: expected a whole number other than 0"),
        ((GEOMETRY, "--from-store"), "kept yet: without this option it is made and filled"),
        ((GEOMETRY, "--from-store", "--retry"), "--retry has nothing to run again"),
        ((GEOMETRY, "all"), "all stands alone"),
        ((GEOMETRY, "--words", "words.md"), "say with --document where it goes"),
        ((GEOMETRY, "--document", "nowhere/book"), "the folder nowhere does not exist"),
        ((GEOMETRY, "--document", "book", "--words", "latin.md"), "latin.md: is not UTF-8"),
        ((GEOMETRY, "--document", "taken"), "taken: is a file, expected a folder"),
    ],
)
def test_bad_input(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("latin.md").write_bytes("Zürich".encode("latin-1"))
    Path("taken").touch()
    assert message in run("reproduce", *arguments, "--store", tmp_path / "kept").error
