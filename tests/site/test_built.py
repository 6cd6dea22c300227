"""The built site as readers meet it: links, pictures, headings, search; and in Chromium, on a phone too."""

import inspect
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from lxml import html
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait
from tests.browsing import PHONE, SEEN, emulate

import cofactor
from cofactor import labels
from cofactor.ratings import ranking

#: Pages of each kind, which are opened in a browser.
OPENED = (
    "index.html",
    "guide/choosing.html",
    "guide/methods.html",
    "guide/ratings.html",
    "how-to/recommend.html",
    "coming-from.html",
    "gallery/index.html",
    "gallery/start/plot_first_recommendations.html",
    "api/index.html",
    "api/cofactor.ratings.html",
    "api/cofactor.ratings.OrdinalProbit.html",
    "notation.html",
    "reproduction/kumar-4.html",
)

#: Words of tables, but for code, that a line ends within.
BROKEN = """
const broken = [], range = document.createRange();
for (const cell of document.querySelectorAll("th, td")) {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (text.parentElement.closest("code")) continue;
    for (const word of text.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (range.getClientRects().length > 1) broken.push(word[0]);
    }
  }
}
return broken;
"""


class Page:
    """Links, anchors, headings and pictures of a page."""

    def __init__(self, path: Path) -> None:
        page = html.fromstring(path.read_bytes())
        self.lang = page.get("lang", "")
        self.anchors = set(page.xpath("//@id | //@name"))
        self.links = page.xpath("//a/@href | //link/@href | //img/@src | //script/@src")
        self.headings = [int(one.tag[1]) for one in page.iter(*(f"h{level}" for level in range(1, 7)))]
        wordless = page.xpath("//img[not(normalize-space(@alt))]")
        decorates = page.xpath("//img[@alt = '' and contains(@src, '_thumb.')]")  # beside the title of its example
        self.mute = [one.get("src", "") for one in wordless if one not in decorates]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_no_link_inside_is_broken(site: Path, pages: dict[Path, Page]) -> None:
    files, broken = set(site.rglob("*")), []
    for path, page in pages.items():
        for link in set(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link in ("", "#"):
                continue
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            target = target if target.suffix else target / "index.html"
            found = target in files
            if found and parts.fragment and target in pages:
                found = unquote(parts.fragment) in pages[target].anchors
            if not found:
                broken.append(f"{path.name}: {link}")
    assert broken == []


MODELS = (*cofactor.ratings.MODELS.values(), *ranking.MODELS.values(), *labels.MODELS.values())


@pytest.mark.parametrize("kind", [*dict.fromkeys(MODELS), *labels.TRANSFORMERS.values()])
def test_every_method_of_a_model_is_on_its_page_or_linked_from_it(pages: dict[Path, Page], kind: type) -> None:
    page = next(page for path, page in pages.items() if path.match(f"api/cofactor.*.{kind.__name__}.html"))
    shown = {anchor.rpartition(".")[2] for anchor in (*page.anchors, *page.links)}
    methods = {
        name
        for base in kind.__mro__
        for name, value in vars(base).items()
        if base.__module__.startswith("cofactor") and inspect.isfunction(value) and not name.startswith("_")
    }
    assert {"fit", "save"} <= methods
    assert methods - shown == set()


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r'<(?:script|img|iframe|link rel="stylesheet")[^>]*(?:src|href)="https?://')
    assert [path.name for path in site.rglob("*.html") if loaded.search(path.read_text(encoding="utf-8"))] == []


def test_every_page_has_a_language_one_title_and_pictures_with_words(pages: dict[Path, Page]) -> None:
    articles = {
        path: page
        for path, page in pages.items()
        if path.name not in ("search.html", "genindex.html", "py-modindex.html", "benchmarks.html")
    }
    assert {page.lang for page in articles.values()} == {"en"}
    assert [path.name for path, page in articles.items() if page.headings.count(1) != 1] == []
    assert [(path.name, page.mute) for path, page in articles.items() if page.mute] == []


def test_the_version_is_shown(site: Path) -> None:
    assert f"cofactor {cofactor.__version__}" in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", ["start/plot_first_tags", "ratings/plot_similar_items", "evaluation/plot_compare"])
def test_examples_have_pictures(site: Path, example: str) -> None:
    """By the package, by pyplot, and by another package: these three are executed in every build."""
    name = f"sphx_glr_{example.rpartition('/')[2]}_001.png"
    assert name in (site / "gallery" / f"{example}.html").read_text(encoding="utf-8")
    assert (site / "_images" / name).stat().st_size > 0


def test_models_show_the_names_of_their_parameters(site: Path) -> None:
    shown = {path.stem: path.read_text(encoding="utf-8") for path in (site / "api").glob("*.html")}
    heads = {name: text.partition('<dt class="sig')[2].partition("</dt>")[0] for name, text in shown.items()}
    assert '<span class="pre">n_sweeps' in heads["cofactor.ratings.OrdinalProbit"]
    assert [name for name, head in heads.items() if '<span class="pre">args</span>' in head] == []


def test_examples_are_linked_with_what_they_use(site: Path) -> None:
    shown = (site / "api" / "cofactor.ratings.Recommender.html").read_text(encoding="utf-8")
    assert "plot_first_recommendations" in shown
    example = (site / "gallery" / "start" / "plot_first_recommendations.html").read_text(encoding="utf-8")
    assert "cofactor.ratings.Recommender" in example
    assert "plot_first_recommendations.ipynb" in example


def seen(browser: webdriver.Chrome, scheme: str) -> Any:
    """Return what a reader sees as soon as the page has taken a scheme."""

    def found(_: Any) -> Any:
        now = browser.execute_script(SEEN + "return seen;")
        return now if (now["background"] < 0.05) == (scheme == "dark") else None

    return WebDriverWait(browser, 20, 0.05).until(found)


@pytest.mark.parametrize("name", OPENED)
def test_a_page_reads_on_a_phone(site: Path, browser: webdriver.Chrome, name: str) -> None:
    """In light, and when it gets dark."""
    emulate(browser, PHONE, "light")
    browser.get((site / name).as_uri())
    for scheme in ("light", "dark"):
        emulate(browser, PHONE, scheme)
        found = seen(browser, scheme)
        assert found["width"] <= PHONE
        least = [(text[:40], round(ratio, 2), 3 if size >= 24 else 4.5) for text, size, ratio in found["texts"]]
        assert [(text, ratio) for text, ratio, needed in least if ratio < needed] == []
    assert browser.execute_script(BROKEN) == []


def test_search_finds_a_method(site: Path, browser: webdriver.Chrome) -> None:
    emulate(browser)
    browser.get(f"{(site / 'search.html').as_uri()}?q=OrdinalProbit")
    WebDriverWait(browser, 20).until(lambda one: one.find_elements("css selector", "#search-results li a"))
    links = [one.get_attribute("href") for one in browser.find_elements("css selector", "#search-results li a")]
    assert any("OrdinalProbit" in link for link in links)


def test_nothing_fails_in_the_console(site: Path, browser: webdriver.Chrome) -> None:
    """On the front page, and in the scripts of the theme on all that were opened before it."""
    address, scripts = (site / "index.html").as_uri(), (site / "_static" / "scripts").as_uri()
    browser.get(address)
    logged = [entry for entry in browser.get_log("browser") if entry["message"].startswith((address, scripts))]
    assert [entry["message"] for entry in logged if entry["level"] == "SEVERE"] == []
