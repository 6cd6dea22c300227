"""An experiment, run, kept, and written down."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cofactor.evaluation.running import cell
from cofactor.evaluation.store import ResultStore
from cofactor.experiments import experiments
from cofactor.experiments.document import FRONT, PICTURES, WORDS, page_of, pages, write_document
from cofactor.experiments.reproduction import Claim, Drawing, Experiment, Outcome, Row, Sample, reproduce, stored
from cofactor.plots import plot_tradeoff


def toss(method, data, split, seed, bias):
    if method == "broken":
        raise ValueError("a coin | that | fell")
    return {"mae": bias + int(split) / 100}


def cells(extent):
    splits = 1 if extent == "quick" else 3
    return [
        cell(toss, method=m, data="coins", split=str(k), bias=0.5) for m in ("fair", "broken") for k in range(splits)
    ]


def outcome(results):
    values = [result.measures["mae"] for result in results if result.status == "done"]
    here = Sample.of(values) if values else None
    rows = [
        Row(data="coins", method="fair", metric="mae", published=Sample(0.7, 0.01), here=here, reason="a | fair coin"),
        Row(data="coins", method="bent", metric="mae", published=Sample(0.9, 0.01), here=None, reason="melted"),
    ]
    claim = Claim("coins fall", len(values) > 1 if values else None, f"{len(values)} fell")
    picture = Drawing("coins", "Coins, falling", lambda: plot_tradeoff({"fair": ([0.1, 0.2], [0.3, 0.4])}))
    return Outcome(rows=rows, claims=[claim], pictures=[picture], notes=["Coins only."])


DOCUMENT = Path(__file__).parents[2] / "docs" / "reproduction"

COINS = Experiment(
    name="coins-table-1", title="Coins", cells=cells, outcome=outcome, missing=["dice: lost"]
)  # fmt: skip


def test_tally_counts_what_agrees_and_what_failed():
    (quick,) = reproduce([COINS], "quick")
    (normal,) = reproduce([COINS])
    assert (quick.n_cells, len(quick.results), quick.tally.failed) == (2, 2, 1)
    assert (normal.tally.compared, normal.tally.better, normal.tally.worse, normal.tally.held) == (1, 1, 0, 1)
    assert quick.tally.held == 0


def test_store_serves_all_extents(tmp_path):
    store = ResultStore(tmp_path / "results")
    (empty,) = stored([COINS], "normal", store)
    assert (len(empty.results), empty.tally.compared, empty.tally.unknown) == (0, 0, 1)
    reproduce([COINS], "quick", store=store)
    (part,) = stored([COINS], "normal", store)
    assert (len(part.results), part.n_cells) == (2, 6)


def test_results_of_other_code_are_shown_and_called_so(tmp_path):
    store = ResultStore(tmp_path / "results")
    (done,) = reproduce([COINS], store=store)
    for result in done.results:
        store.forget([result.key])
        store.put(replace(result, key=f"{result.key[::-1]}", code="other"))
    (found,) = stored([COINS], "normal", store)
    assert {result.code for result in found.results} == {"other"}
    assert found.outcome.notes[-1] == "6 of 6 results were computed by other code of cofactor"


def test_document_holds_numbers_claims_pictures_and_what_is_missing(tmp_path):
    book = tmp_path / "book"
    write_document(book, reproduce([COINS]), "All coins fell.")
    front, text = (book / FRONT).read_text(), (book / "others.md").read_text()
    assert "| coins | fair | .700 ± .010 | .510 ± .010 | -0.190 | ▲ better [1] |" in text
    assert "\n[1] a \\| fair coin\n" in text
    assert "| coins | .900 ± .010 |\n\nbent: melted.\n" in text  # published only
    assert "| coins fall | **holds** | 3 fell |" in text
    counts = "Coins | 1 | 0 | 1 | 0 | 0 | 1 of 1 | 6 of 6, 3 failed | 0.0 |"
    assert f"| [coins-table-1](others.md#coins-table-1) | {counts}" in front
    assert (book / WORDS).read_text() == "All coins fell.\n"
    assert f"- [In words]({WORDS})" in front
    for line in ("- dice: lost", "- Coins only.\n- 3 of 6 cells failed on coins: ValueError: a coin | that | fell"):
        assert line in text
    (picture,) = re.findall(r"!\[Coins, falling\]\((.*)\)", text)
    assert (book / picture).read_bytes().startswith(b"\x89PNG")


def test_what_has_not_run_is_said_and_not_drawn(tmp_path):
    write_document(tmp_path / "book", stored([COINS], "normal", ResultStore(tmp_path / "results")))
    text = (tmp_path / "book" / "others.md").read_text()
    assert "Has not been run yet." in text
    assert "![" not in text
    assert WORDS not in (tmp_path / "book" / FRONT).read_text()


def test_every_experiment_has_a_page():
    assert {page_of(name) for name in experiments()} == set(pages())


# The document in docs/ ------------------------------------------------------------------------------------------------


def test_the_document_in_docs_is_divided_as_the_generator_divides(tmp_path):
    """Pages, their headings and their experiments, in the same order; the numbers are those of a run in full."""
    store = ResultStore(tmp_path / "results")
    write_document(tmp_path / "book", stored(experiments().values(), "quick", store), "In words.")
    written = {path.name: headings(path) for path in (tmp_path / "book").glob("*.md") if path.name != WORDS}
    assert {path.name: headings(path) for path in DOCUMENT.glob("*.md") if path.name != WORDS} == written


def test_links_and_pictures_of_the_document_are_there():
    pages = {path.name: path.read_text(encoding="utf-8") for path in DOCUMENT.glob("*.md")}
    shown = set()
    for name, text in pages.items():
        for target in re.findall(r"\]\(([^)]+)\)", text):
            page, _, place = target.partition("#")
            assert (DOCUMENT / page).exists(), f"{name}: {target}"
            if place:
                anchors = {slug(line) for line in headings(DOCUMENT / (page or name)) if line.startswith("## ")}
                assert place in anchors, f"{name}: {target}"
            if page.endswith(".png"):
                shown.add(page)
    assert shown == {f"{PICTURES}/{path.name}" for path in (DOCUMENT / PICTURES).iterdir()}


def slug(heading):
    """Return the anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w -]", "", heading.lstrip("# ").lower()).replace(" ", "-")


def headings(path):
    """Return the title of a page, its line of links, and its headings."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if re.match(r"#+ |\[[a-z]+ [^]]*\]\(#|- \[", line)]


@pytest.mark.parametrize("extent", ["quick", "normal"])
def test_cells_of_two_experiments_run_once(extent):
    twin = Experiment(name="twin", title="", cells=cells, outcome=outcome)
    calls = []
    first, second = reproduce([COINS, twin], extent, on_progress=lambda progress: calls.append(progress.total))
    assert [one.key for one in first.results] == [one.key for one in second.results]
    assert set(calls) == {len(cells(extent))}
