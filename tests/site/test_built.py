"""The built site as readers meet it: links, pictures, headings, search; and in Chromium, on a phone too."""

import inspect
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from selenium import webdriver
from tests.browsing import PHONE, SEEN, chromium, emulate

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


class Page(HTMLParser):
    """Links, anchors, headings and pictures of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.headings: list[int] = []
        self.mute: list[str] = []
        self.lang = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        have = {name: value or "" for name, value in attrs}
        self.anchors |= {have[name] for name in ("id", "name") if name in have}
        if tag == "html":
            self.lang = have.get("lang", "")
        if tag in ("a", "link") and "href" in have:
            self.links.append(have["href"])
        if tag in ("img", "script") and "src" in have:
            self.links.append(have["src"])
        decorates = have.get("alt") == "" and "_thumb." in have.get("src", "")  # beside the title of its example
        if tag == "img" and not have.get("alt", "").strip() and not decorates:
            self.mute.append(have.get("src", ""))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_no_link_inside_is_broken(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in set(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link in ("", "#"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            found = target.exists()
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


@pytest.fixture(scope="module")
def browser(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


def seen(browser: webdriver.Chrome) -> Any:
    return browser.execute_script(SEEN + "return seen;")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", OPENED)
def test_a_page_reads_on_a_phone(browser: webdriver.Chrome, site: Path, name: str, scheme: str) -> None:
    emulate(browser, PHONE, scheme)
    browser.get((site / name).as_uri())
    found = seen(browser)
    assert found["width"] <= PHONE
    faint = [(text[:40], round(ratio, 2)) for text, size, ratio in found["texts"] if ratio < (3 if size >= 24 else 4.5)]
    assert faint == []


def test_search_finds_a_method(browser: webdriver.Chrome, site: Path) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    emulate(browser)
    browser.get(f"{(site / 'search.html').as_uri()}?q=OrdinalProbit")
    WebDriverWait(browser, 20).until(lambda one: one.find_elements("css selector", "#search-results li a"))
    links = [one.get_attribute("href") for one in browser.find_elements("css selector", "#search-results li a")]
    assert any("OrdinalProbit" in link for link in links)


def test_nothing_fails_in_the_console(browser: webdriver.Chrome, site: Path) -> None:
    address = (site / "index.html").as_uri()
    browser.get(address)
    logged = [entry for entry in browser.get_log("browser") if entry["message"].startswith(address)]
    assert [entry["message"] for entry in logged if entry["level"] == "SEVERE"] == []
