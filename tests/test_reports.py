"""Pages which need nothing from elsewhere, opened from disk in a browser, on a phone and on a desk."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse
from selenium import webdriver
from selenium.webdriver.common.by import By
from tests.browsing import DESK, PHONE, SEEN, emulate

from cofactor import pages
from cofactor.evaluation.comparison import Comparison
from cofactor.evaluation.store import Run
from cofactor.metrics import report_by_label
from cofactor.pages import Html, document, figure, link, paragraph, section, table, write_page
from cofactor.plots import plot_tradeoff, save_figure
from cofactor.reports.comparison import comparison_page, write_report
from cofactor.reports.labels import label_page, write_label_report
from cofactor.reports.pictures import drawn

METHODS = ("MMMF", "HMF", "ALS", "a method with a <b>long</b> & hostile name")
DATA = ("ml-100k", "jester-1", "jester-2", "toy", "synthetic-1000x1000", "my own ratings")
DRAWN = DATA[:3]  #: of which pictures are drawn, and cells of the third fail
HOSTILE = "ValueError: alpha <script>document.title = 'run'</script>\n  File model.py, line 7, in fit"

#: What a reader would see, all that is folded included.
LOOK = f"""
for (const one of document.querySelectorAll('details')) one.open = true;
{SEEN}
return {{
  ...seen,
  pictures: Array.from(document.images, (one) => [one.complete, one.naturalWidth, one.alt]),
  headings: Array.from(document.querySelectorAll('h1, h2'), (one) => one.textContent),
  dead: Array.from(document.querySelectorAll('nav a'), (one) => one.hash.slice(1))
    .filter((id) => !document.getElementById(id)),
  loose: Array.from(document.querySelectorAll('table')).filter((one) => !one.closest('.scroll')).length,
}};
"""


Open = Callable[..., dict]


@pytest.fixture
def opened(browser: webdriver.Chrome) -> Open:
    """Open a file; return what the page requested, the messages of the console, and what a reader would see."""

    def opened(path: Path, width: int = DESK, scheme: str = "light") -> dict:
        emulate(browser, width, scheme)
        for log in ("performance", "browser"):
            browser.get_log(log)  # of the page before
        browser.get(path.as_uri())
        seen = browser.execute_script(LOOK)
        events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        asked = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        # The browser's own first page may still be loading its parts (chrome://).
        inside = ("data:", "chrome:")
        return {
            **seen,
            "requests": [one["request"]["url"] for one in asked if not one["request"]["url"].startswith(inside)],
            "console": [entry["message"] for entry in browser.get_log("browser")],
        }

    return opened


def compared(methods: tuple[str, ...] = METHODS, data: tuple[str, ...] = DATA, folds: int = 5) -> Comparison:
    """Return a comparison: the earlier a method, the better its results; two cells have failed."""
    rng = np.random.default_rng(0)
    results = []
    for (i, where), (j, method), k in product(enumerate(data), enumerate(methods), range(folds)):
        fails = (i, j) == (2, 1) and k < 2
        error, f1 = 0.6 + 0.03 * i + 0.02 * j + 0.001 * rng.normal(), 0.6 - 0.02 * j + 0.001 * rng.normal()
        results.append(
            Run(
                key=f"{i} {j} {k}",
                method=method,
                data=where,
                split=f"kfold {k + 1}/{folds}",
                seed=0,
                parameters={},
                checksum="",
                measure="",
                version="0.1",
                status="failed" if fails else "done",
                measures={} if fails else {"mae": error, "micro_f1": f1, "n_train": 80, "n_test": 20},
                error=HOSTILE if fails else "",
                seconds=0.5 + j,
            )
        )
    return Comparison(results, ("mae", "micro_f1", "rmse"), "ratings", {"machine": "2 cores", "cofactor": "0.1"})


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a comparison with all that can be in one, of few data sets: each is drawn."""
    path = tmp_path_factory.mktemp("report") / "comparison.html"
    write_report(path, compared(data=DRAWN), "Four methods")
    return path


@pytest.fixture(scope="module")
def plain_comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same report without pictures, for tests of its tables and numbers."""
    path = tmp_path_factory.mktemp("report") / "plain.html"
    with pytest.MonkeyPatch.context() as patch:
        leave_pictures_out(patch)
        write_report(path, compared(), "Four methods")
    return path


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without pictures, for tests of their words."""
    leave_pictures_out(monkeypatch)


def leave_pictures_out(patch: pytest.MonkeyPatch) -> None:
    """Make reports as where matplotlib is missing: drawing would take most of the time."""
    patch.setattr("cofactor.reports.comparison._installed", lambda *packages: False)


# ---------------------------------------------------------------- in the browser


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (DESK, "light")])
def test_a_report_is_readable_and_asks_for_nothing(opened: Open, comparison: Path, width: int, scheme: str) -> None:
    seen = opened(comparison, width, scheme)
    assert seen["requests"] == [comparison.as_uri()]
    assert seen["console"] == []
    assert seen["width"] <= width
    assert seen["lang"] == "en"
    assert (seen["background"] < 0.05) == (scheme == "dark")
    assert min(size for _, size, _ in seen["texts"]) >= 12
    assert [text for text in seen["texts"] if text[2] < 4.5] == []
    assert len(seen["pictures"]) == 2 * (len(DRAWN) + 1)  # each data set, and the critical difference
    assert all(complete and natural > 100 and alt for complete, natural, alt in seen["pictures"])
    parts = ["MAE", "micro f1", "Time", "Failed cells", "All results", "How it was measured"]
    assert seen["headings"] == ["Four methods", *parts]
    assert seen["dead"] == []
    assert seen["loose"] == 0


def test_the_tables_of_a_report_show_means_ranks_and_the_best(
    opened: Open, browser: webdriver.Chrome, plain_comparison: Path
) -> None:
    opened(plain_comparison)
    found = {key: browser.find_element(By.CSS_SELECTOR, f'[aria-label="{key}"] table') for key in ("MAE", "micro f1")}
    for metric, name in {"mae": "MAE", "micro_f1": "micro f1"}.items():
        heads, *rows = [
            [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "th, td")]
            for row in found[name].find_elements(By.TAG_NAME, "tr")
        ]
        assert heads == ["", *METHODS]
        assert [row[0] for row in rows] == [*DATA, "average rank", "seconds"]
        values = [r.measures[metric] for r in compared().results if (r.method, r.data) == ("ALS", "toy")]
        assert rows[3][3] == f"{np.mean(values):.3f}\n± {np.std(values, ddof=1):.3f} (3)"
        # The first method is the best throughout; where a method misses a split, nobody has a rank.
        assert rows[2][2].partition("\n")[0].endswith("a")
        assert "(" not in "".join(rows[2])
        bold = [cell.text for cell in found[name].find_elements(By.CSS_SELECTOR, "td b")]
        assert bold == [row[1].partition("\n")[0] for row in rows if row[0] != "seconds"]
        assert rows[-2][1:] == ["1.00", "2.00", "3.00", "4.00"]
        assert rows[-1][1:] == ["0.50", "1.50", "2.50", "3.50"]
    footnotes = browser.find_element(By.CSS_SELECTOR, ".scroll + p.soft").text
    assert footnotes.startswith("a: HMF on jester-2: 3 of 5 splits")


def test_the_numbers_can_be_saved_from_the_page(
    opened: Open, browser: webdriver.Chrome, plain_comparison: Path
) -> None:
    opened(plain_comparison)
    link = browser.find_element(By.CSS_SELECTOR, "a[download]").get_attribute("href")
    text = base64.b64decode(link.removeprefix("data:text/csv;base64,")).decode()
    saved = list(csv.DictReader(io.StringIO(text)))
    numbers = [(row["method"], row["metric"], float(row["value"])) for row in saved if row["value"]]
    assert numbers == [(r["method"], r["metric"], r["value"]) for r in compared().records() if r["status"] == "done"]


def test_building_blocks_on_a_phone(opened: Open, tmp_path: Path) -> None:
    """Whatever is too wide scrolls in its own frame: tables, pictures, commands and words without spaces."""
    long = "a" * 200
    save_figure(plot_tradeoff({"ALS": ([0.6, 0.4], [0.75, 0.72])}), tmp_path / "a.png")
    page = document(
        long,
        pages.highlights([(long, long)]),
        section(long, table(["", *"abcdefgh"], [[long] * 9], caption=long, text=[3]), pages.preformatted(long)),
        section("Pictures", figure(tmp_path / "a.png", long), pages.fold(long, paragraph(long))),
        section("Pictures", pages.bullets([long]), pages.side_by_side(paragraph(long), paragraph(long))),
    )
    write_page(tmp_path / "page.html", page)
    seen = opened(tmp_path / "page.html", PHONE)
    assert seen["width"] <= PHONE
    assert "--natural: 614px" in page  # 6.4 inches
    assert (seen["pictures"][0][:2], seen["dead"], seen["console"]) == ([True, 960], [], [])
    assert page.count('id="pictures') == 2


def test_the_browser_would_report_a_request_and_a_wide_page(opened: Open, tmp_path: Path) -> None:
    """These tests can fail; and the policy of our pages refuses what a page without it asks for."""
    foreign = Html('<img src="http://127.0.0.1:9/a.png" alt="">')
    (tmp_path / "loose.html").write_text(f"<!doctype html><p style='width: 900px'>wide {foreign}</p>")
    loose = opened(tmp_path / "loose.html", PHONE)
    assert loose["requests"][1:] == ["http://127.0.0.1:9/a.png"]
    assert loose["width"] > PHONE
    script = Html("<script>document.title = 'run'</script>")
    write_page(tmp_path / "strict.html", document("Strict", foreign, script))
    strict = opened(tmp_path / "strict.html", PHONE)
    assert all("Content Security Policy" in message for message in strict["console"])
    assert len(strict["console"]) == 2


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (DESK, "light")])
def test_a_report_by_label_is_readable(
    opened: Open, browser: webdriver.Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, scheme: str
) -> None:
    """Of 300 labels 50 are shown, 150 folded, and all are in the file inside the page."""
    monkeypatch.setattr("cofactor.reports.labels._MOST", 200)
    rng = np.random.default_rng(0)
    Y, predicted = (sparse.random_array((100, 300), density=0.02, format="csr", random_state=rng) > 0 for _ in "ab")
    names = [f"label {k} <i>" if k % 7 else "a" * 100 + str(k) for k in range(300)]
    tables = {one: report_by_label(Y, predicted, label_names=names) for one in ("PLST", "<script>")}
    write_label_report(tmp_path / "labels.html", tables, title="tags & more", lead="Two folds.")
    seen = opened(tmp_path / "labels.html", width, scheme)
    assert seen["requests"] == [(tmp_path / "labels.html").as_uri()]
    assert (seen["console"], seen["dead"], seen["loose"]) == ([], [], 0)
    assert seen["width"] <= width
    assert min(size for _, size, _ in seen["texts"]) >= 12
    assert [text for text in seen["texts"] if text[2] < 4.5] == []
    assert seen["headings"] == ["tags & more", "PLST", "<script>"]
    shown, folded = (
        browser.execute_script(
            "return Array.from(document.querySelectorAll(`[aria-label='${arguments[0]}'] tbody tr`), "
            "(row) => [row.cells[0].textContent, row.cells[3].textContent])",
            name,
        )
        for name in ("Labels by PLST", "More labels by PLST")
    )
    assert (len(shown), len(folded)) == (50, 150)
    first = tables["PLST"].records()[0]
    assert shown[0] == [
        first["label"] if len(first["label"]) <= 60 else f"{first['label'][:59]}…",
        str(first["errors"]),
    ]
    errors = [int(row[1]) for row in shown + folded]
    assert errors == sorted(errors, reverse=True)
    link = browser.find_element(By.CSS_SELECTOR, "a[download]").get_attribute("href")
    saved = list(csv.DictReader(io.StringIO(base64.b64decode(link.removeprefix("data:text/csv;base64,")).decode())))
    assert [row["label"] for row in saved] == tables["PLST"].columns["label"].tolist()


# ---------------------------------------------------------------- the page as text


def test_text_is_escaped_once_wherever_it_goes_in() -> None:
    hostile = '<i a="1">&</i>'
    page = document(hostile, section(hostile, table([hostile], [[hostile]], caption=hostile), hostile))
    assert hostile not in page
    assert page.count("&lt;i a=&#34;1&#34;&gt;&amp;&lt;/i&gt;") == 8
    assert 'href="&lt;i a=&#34;1&#34;&gt;&amp;&lt;/i&gt;"' in link("there", hostile)
    assert 'alt="&lt;i a=&#34;1&#34;&gt;&amp;&lt;/i&gt;"' in figure(b"", "caption", alt=hostile, form="png")


def test_pictures_are_drawn_without_a_file_and_say_what_they_show() -> None:
    ax = plot_tradeoff({"ALS": ([0.6, 0.4], [0.75, 0.72])}, title="ml-100k")
    svg, png = drawn(ax, "caption"), drawn(ax.figure, "caption", form="png", alt="alt")
    assert 'src="data:image/svg+xml;base64,' in svg
    assert 'src="data:image/png;base64,iVBOR' in png
    assert re.search(r'alt="ml-100k: test MAE against training MAE[^"]*"', svg)
    assert 'alt="alt"' in png
    with pytest.raises(ValueError, match="form='pdf': pictures in a page are png or svg"):
        drawn(ax, "", form="pdf")
    with pytest.raises(ValueError, match="form='gif': pictures in a page are png or svg"):
        figure("a.gif", "")
    with pytest.raises(TypeError, match="must be an Axes or a Figure"):
        drawn(3, "")
    assert 'alt="caption"' in drawn(Figure(), "caption")


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.html"
    write_page(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_page(path, "new\ud800")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.usefixtures("without_pictures")
def test_a_report_says_which_tests_make_no_sense() -> None:
    several = comparison_page(compared())
    assert "Friedman: chi² = " in several
    assert "Wilcoxon’s signed-rank test of each pair" not in several
    assert "5 data sets are too few" in several
    one = comparison_page(compared(data=DATA[:1]))
    assert "with one data set nothing can be said about others" in one
    assert "chi²" not in one
    two = comparison_page(compared(METHODS[:2], DATA[:1]))
    assert "ml-100k: Bayesian correlated t-test over 5 splits: probability that MMMF is better 1.000" in two
    alone = comparison_page(compared(METHODS[:1], DATA[:1]))
    assert "there is only one method, and nothing to compare it with" in alone


@pytest.mark.usefixtures("without_pictures")
def test_a_report_lists_failed_cells_with_their_errors() -> None:
    everything = compared()
    page = comparison_page(everything)
    assert '<a href="#failed-cells">2 of 120 cells failed</a>' in page
    assert "jester-2 (2 cells)" in page
    assert "alpha &lt;script&gt;" in page
    assert "line 7, in fit" in page
    assert "2 of 2 cells failed" in comparison_page(replace(everything, results=everything.failed))
    with pytest.raises(ValueError, match="no results to report"):
        comparison_page(replace(everything, results=[]))


@pytest.mark.usefixtures("without_pictures")
def test_a_report_says_which_parameters_were_chosen_and_how_often() -> None:
    everything = compared(METHODS[:2], DATA[:1], folds=3)
    assert "Parameters chosen" not in comparison_page(everything)
    chosen = [{"alpha": 8.0}, {"alpha": [4.87968, 15.4]}, {"alpha": 8.0}, {"inner": "<b>"}, {}, {}]
    results = [
        replace(one, measures={**one.measures, "parameters": parameters})
        for one, parameters in zip(everything.results, chosen, strict=True)
    ]
    page = comparison_page(replace(everything, results=results))
    assert "alpha 8 (2×); alpha 4.88 / 15.4 (1×)" in page
    assert "inner &lt;b&gt; (1×)" in page


@pytest.mark.usefixtures("without_pictures")
def test_a_method_that_always_fails_does_not_keep_the_others_from_being_compared() -> None:
    found = compared(METHODS[:3])
    results = [
        replace(r, status="failed", measures={}, error=HOSTILE) if r.method == "ALS" else r for r in found.results
    ]
    page = comparison_page(replace(found, results=results))
    assert "Without any result, and not compared: ALS." in page
    assert "The Bayesian signed-rank test is not done: 5 data sets are too few" in page
    assert "jester-1: Bayesian correlated t-test over 5 splits: probability that MMMF is better 1.000" in page


def test_the_same_results_give_the_same_page() -> None:
    found = replace(compared(METHODS[:3], DATA[:2], folds=3), metrics=("mae",))
    page = comparison_page(found)
    assert page.count("<figure>") == 2  # each data set
    assert comparison_page(found) == page


def test_a_report_by_label_needs_a_table() -> None:
    with pytest.raises(ValueError, match="there are no tables to report"):
        label_page({})
