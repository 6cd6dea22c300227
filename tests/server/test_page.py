"""The page in a browser: a person rates films and sees the recommendations move, with mouse, keyboard or phone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from tests.browsing import DESK, PHONE, SEEN, emulate
from tests.children import Command
from tests.server.conftest import Client

import cofactor
from cofactor.datasets import load_labels, write_table
from cofactor.labels import LabelRidge

TITLES = (
    *("Amélie (2001)", "Alien (1979)", "Aliens (1986)", "Schindler's List (1993)", "Star Wars (1977)", "Fargo (1996)"),
    *('<b>Heat</b> & "Dust" (1983)', "Cité des enfants perdus, La (1995)", "8½ (1963)", "Stardust (2007)"),
    *(f"A film with a title that is long enough to be broken into lines, part {k}" for k in range(10)),
)
STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
KEY = "a-key-of-24-letters-or-so"
#: What a reader would see of the page, with what is drawn and what stands in empty fields.
LOOK = f"""
{SEEN}
const star = document.querySelector('.stars label');
const field = document.getElementById('search');
return {{
  ...seen,
  small: Array.from(document.querySelectorAll('button, .stars label, input[type=search]'))
    .filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect())
    .filter((box) => box.height < 24 || box.width < 24).length,
  star: contrast(getComputedStyle(star, '::before').backgroundColor, star),
  placeholder: contrast(getComputedStyle(field, '::placeholder').color, field),
  nameless: Array.from(document.querySelectorAll('input, select, button'))
    .filter((one) => one.checkVisibility() && !one.labels?.length && !one.textContent.trim() && !one.ariaLabel).length,
}};
"""


class Site:
    """A server with three models, which can be stopped and started again at the same address."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self.arguments, self.folder, self.port = arguments, folder, 0
        self.running = ExitStack()
        self.start()

    def start(self) -> None:
        child = Command(["serve", *self.arguments, "--port", str(self.port)], self.folder, {})
        self.client = Client(self.running.enter_context(child))
        self.port = self.client.port

    def stop(self) -> None:
        self.running.close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


@pytest.fixture(scope="module")
def site(models) -> Iterator[Site]:
    ids = [str(one) for one in models.named.items_.ids.tolist()]
    titles = models.folder / "titles.csv"
    write_table(titles, {"id": ids[: len(TITLES)], "title": list(TITLES)})
    stars, named, interactions = models.arguments
    wind, rain = [3.0, 0.0, 1.0, 4.0], [0.0, 1.0, 1.0, 0.0]
    says = pd.DataFrame({"sail": [1, 0, 0, 1], "read <i>": [0, 1, 1, 0]})
    cofactor.save(LabelRidge.paper().fit(pd.DataFrame({"wind": wind, "rain": rain}), says), models.folder / "sky")
    texts = 12 * ["storm at sea", "rain all day", "rain and fog", "storm and wind"]
    tagger = make_pipeline(TfidfVectorizer(), LabelRidge(random_state=0))
    with_errors = pd.concat([*11 * [says], 1 - says], ignore_index=True)
    cofactor.save(tagger.fit(texts, with_errors), models.folder / "texts")
    notes = load_labels(pd.DataFrame({"body": texts}).join(with_errors), list(says), text="body")
    LabelRidge(random_state=0).fit(notes).save(models.folder / "notes")
    of_labels = [f"{name}={models.folder / name}" for name in ("sky", "texts", "notes")]
    of_ratings = [named.removeprefix("named="), f"stars={stars}", interactions]
    served = Site([*of_ratings, *of_labels, "--titles", str(titles)], models.folder)
    yield served
    served.stop()


class Page:
    """The page, and what a person does there."""

    def __init__(self, browser: webdriver.Chrome, site: Site) -> None:
        self.browser, self.site = browser, site

    def open(self, state: str = "", width: int = DESK, scheme: str = "light") -> None:
        emulate(self.browser, width, scheme, prefers_reduced_motion="reduce")
        self.browser.get("about:blank")  # else another fragment would not load the page
        for log in ("performance", "browser"):
            self.browser.get_log(log)  # of the page before
        self.browser.get(self.site.address + (f"#{state}" if state else ""))
        self.until(lambda: self.parts("found", "li") or self.parts("text", "textarea"))

    def until(self, holds: Callable[[], Any]) -> Any:
        return WebDriverWait(self.browser, 20, 0.1).until(lambda _: holds())

    def parts(self, name: str, within: str = "") -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, f'main [data-part="{name}"] {within}')

    def part(self, name: str, within: str = "") -> WebElement:
        return self.parts(name, within)[0]

    def texts(self, name: str, within: str) -> list[str]:
        """Return the texts of elements as they are at one moment."""
        script = "return Array.from(document.querySelectorAll(arguments[0]), (one) => one.textContent)"
        return self.browser.execute_script(script, f'main [data-part="{name}"] {within}')

    @property
    def found(self) -> list[str]:
        return self.texts("found", "[data-part=title]")

    @property
    def own(self) -> list[str]:
        return self.texts("chosen", "[data-part=title]")

    @property
    def recommended(self) -> list[str]:
        return self.texts("results", "h3")

    @property
    def focused(self) -> WebElement:
        return self.browser.switch_to.active_element

    def value(self, key: str, part: str = "chosen") -> str | None:
        script = "return document.querySelector(arguments[0])?.querySelector(':checked')?.value ?? null"
        return self.browser.execute_script(script, f'[data-part="{part}"] [data-key="{key}"] [data-key-of]')

    def rate(self, key: str, stars: int, part: str = "found") -> None:
        """Press a star of an item."""
        css = f'[data-part="{part}"] [data-key="{key}"] label:nth-of-type({stars})'
        self.browser.find_element(By.CSS_SELECTOR, css).click()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.focused.send_keys(key)

    def search(self, text: str) -> None:
        field = self.browser.find_element(By.ID, "search")
        field.clear()
        field.send_keys(text)

    def messages(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def requests(self) -> list[str]:
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        asked = [
            event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith(("data:", "chrome:", "about:"))]


@pytest.fixture(scope="module")
def page(browser: webdriver.Chrome, site: Site) -> Iterator[Page]:
    yield Page(browser, site)
    browser.get("about:blank")  # else a page whose server has ended would ask for it again and again


def film(models, k: int) -> str:
    return str(models.named.items_.ids[k])


def title(models, item: Any) -> str:
    ids = models.named.items_.ids.tolist()
    return TITLES[ids.index(item)] if ids.index(item) < len(TITLES) else str(item)


def advised(models, ratings: dict[str, float]) -> tuple[Any, list[str]]:
    """Return the model of a new user with ratings, and the titles that the library recommends."""
    folded = models.named.fold_in([("a", item) for item in ratings], list(ratings.values()))
    return folded, [title(models, item) for item in folded.recommend(["a"], 10)[0][0].tolist()]


def test_a_person_rates_and_sees_what_the_library_recommends(page: Page, models) -> None:
    page.open()
    ids = page.until(lambda: [one.get_attribute("data-key") for one in page.parts("found", "> li")])
    counts = models.named.ratings_.item_counts
    order = sorted(range(len(counts)), key=lambda k: (-counts[k], k))
    assert ids == [film(models, k) for k in order[:6]]
    assert page.found == [title(models, one) for one in ids]
    page.rate(ids[0], 5)
    page.rate(ids[3], 2)
    folded, expected = advised(models, {ids[0]: 5, ids[3]: 2})
    page.until(lambda: page.recommended == expected)
    assert page.own == [title(models, ids[3]), title(models, ids[0])]
    assert (page.value(ids[3]), page.value(ids[0])) == ("2", "5")
    (best,) = [item for item in folded.items_.ids.tolist() if title(models, item) == expected[0]]
    bars = page.until(lambda: page.part("results", "li [role=img]").get_attribute("aria-label"))
    shares = [float(share) / 100 for share in re.findall(r"([\d.]+)\s%", bars)]
    assert shares == pytest.approx(folded.predict_proba([("a", best)])[0].tolist(), abs=0.006)
    assert page.part("results", "li b").text == f"{folded.decision_function([('a', best)])[0]:.1f}"
    status = page.browser.find_element(By.CSS_SELECTOR, "[data-part=status]").get_attribute("textContent")
    assert status == f"Recommended: {'; '.join(expected[:3])}; and more."


def test_what_is_removed_comes_back_by_undo_and_by_going_back(page: Page, models) -> None:
    first, second = film(models, 1), film(models, 4)
    page.open(f"ratings={quote(first, safe='')}:4,{quote(second, safe='')}:1")
    page.until(lambda: page.recommended)
    both = page.own
    assert both == [title(models, second), title(models, first)]
    page.part("chosen", f'[data-key="{second}"] button').click()
    assert page.own == both[1:]
    assert page.part("removed").text == f"Removed {both[0]}."
    assert page.focused.text == "Undo"
    page.press(Keys.ENTER)
    assert page.own == both
    page.part("clear").click()
    page.until(lambda: not page.recommended)
    assert page.own == []
    page.browser.back()
    page.until(lambda: page.own == both and page.recommended == advised(models, {first: 4, second: 1})[1])
    page.browser.back()
    page.until(lambda: page.own == both[1:])
    page.browser.forward()
    page.until(lambda: page.own == both)
    page.browser.refresh()
    page.until(lambda: page.own == both and page.recommended)
    assert (page.value(first), page.value(second)) == ("4", "1")


def test_films_are_found_by_words_of_their_titles(page: Page) -> None:
    page.open()
    page.search("ALI")
    page.until(lambda: sorted(page.found) == ["Alien (1979)", "Aliens (1986)"])
    page.search("amelie 2001")
    page.until(lambda: page.found == ["Amélie (2001)"])
    page.search("dust hea")
    page.until(lambda: page.found == ['<b>Heat</b> & "Dust" (1983)'])
    page.browser.refresh()
    page.until(lambda: page.found == ['<b>Heat</b> & "Dust" (1983)'])
    page.search("zzz")
    page.until(lambda: page.part("said").text == "Nothing found")
    page.search("part")
    page.until(lambda: len(page.found) == 6)
    page.part("more").click()
    page.until(lambda: len(page.found) == 10)
    assert not page.part("more").is_displayed()


def test_all_of_it_by_keyboard(page: Page, models) -> None:
    page.open()
    page.press(Keys.TAB)
    assert page.focused.text == "Skip to the results"
    for _ in range(6):
        page.press(Keys.TAB)
        if page.focused.get_attribute("id") == "search":
            break
    page.press("star wars")
    page.until(lambda: page.found == ["Star Wars (1977)"])
    page.press(Keys.TAB, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    item = film(models, TITLES.index("Star Wars (1977)"))
    assert page.value(item, "found") == "3"
    page.until(lambda: page.recommended == advised(models, {item: 3})[1])
    page.press(Keys.ARROW_RIGHT)
    page.until(lambda: page.recommended == advised(models, {item: 4})[1])
    assert page.browser.execute_script("return history.length") <= 50
    # What is rated among recommendations is none any more; the focus is with its rating.
    best = page.part("results", "> li").get_attribute("data-key")
    page.browser.execute_script("document.querySelector('[data-part=results] input').focus()")
    page.press(Keys.SPACE)
    page.until(lambda: page.recommended == advised(models, {item: 4, best: 1})[1])
    assert page.own == [title(models, best), "Star Wars (1977)"]
    page.press(Keys.ARROW_RIGHT)
    page.until(lambda: page.recommended == advised(models, {item: 4, best: 2})[1])
    page.press(Keys.TAB, Keys.ENTER, Keys.ENTER)  # removes, and takes that back
    page.until(lambda: page.own == [title(models, best), "Star Wars (1977)"])


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (DESK, "light")])
def test_it_is_readable_and_asks_nobody_else(page: Page, models, width: int, scheme: str) -> None:
    rated = ",".join(f"{quote(film(models, k), safe='')}:{k % 5 + 1}" for k in range(8))
    page.open(f"ratings={rated}", width, scheme)
    page.until(lambda: len(page.parts("results", "[role=img]:not([hidden])")) == 10)
    page.browser.execute_script("document.querySelector('[data-part=chosen] button').click()")
    page.browser.execute_script("document.querySelector('[data-part=similar]').click()")
    page.until(lambda: page.parts("alike", "li"))
    seen = page.browser.execute_script(LOOK)
    assert seen["width"] <= width
    assert seen["lang"] == "en"
    assert (seen["background"] < 0.05) == (scheme == "dark")
    assert min(size for _, size, _ in seen["texts"]) >= 12
    assert [text for text in seen["texts"] if text[2] < 4.5] == []
    assert seen["placeholder"] >= 4.5
    assert seen["star"] >= 3
    assert (seen["small"], seen["nameless"]) == (0, 0)
    assert {url.startswith(page.site.address) for url in page.requests()} == {True}
    assert page.messages() == []


def test_a_server_that_stops_is_asked_again_until_it_is_back(page: Page, models) -> None:
    page.open()
    first = page.part("found", "> li").get_attribute("data-key")
    page.site.stop()
    page.rate(first, 5)
    trouble = page.browser.find_element(By.CSS_SELECTOR, "[role=alert]")
    page.until(trouble.is_displayed)
    assert trouble.text.startswith("The server does not answer. Trying again …")
    page.site.start()
    page.until(lambda: page.recommended == advised(models, {first: 5})[1])
    assert not trouble.is_displayed()


@pytest.fixture
def locked(models) -> Iterator[Site]:
    """A server that answers those who have a key."""
    file = models.folder / "keys"
    file.write_text(f"{KEY}\n")
    file.chmod(0o600)
    served = Site(
        [f"interactions={models.folder / 'interactions.cofactor'}", "--api-key-file", str(file)], models.folder
    )
    yield served
    served.stop()


def test_a_page_behind_a_key(browser: webdriver.Chrome, locked: Site) -> None:
    """It asks for a key, and again where that is wrong; a reload keeps the right one, and another tab has none."""
    page = Page(browser, locked)
    for log in ("performance", "browser"):
        browser.get_log(log)  # of the page before

    def asks() -> str:
        found = browser.find_element(By.CSS_SELECTOR, "[data-part=locked]")
        return found.find_element(By.TAG_NAME, "label").text if found.is_displayed() else ""

    def give(key: str) -> None:
        field = browser.find_element(By.ID, "key")
        field.clear()
        field.send_keys(key, Keys.ENTER)

    browser.get(locked.address)
    page.until(lambda: asks() == "This server asks for a key")
    for wrong in ("not-the-key-that-is-needed", "…that no header can hold…", KEY[:-1]):
        give(wrong)
        page.until(lambda: asks() == "This key is not known")
        assert not browser.find_element(By.CSS_SELECTOR, "[role=alert]").is_displayed()
        assert not page.found
    give(KEY)
    page.until(lambda: page.found)
    assert not asks()
    page.part("found", "label").click()
    page.until(lambda: page.recommended)
    browser.refresh()
    page.until(lambda: page.found and page.own and page.recommended)
    assert not asks()
    kept = browser.execute_script("return [document.cookie, localStorage.length, Object.values(sessionStorage)]")
    assert kept == ["", 0, [KEY]]
    assert "key" not in browser.current_url
    assert not [url for url in page.requests() if not url.startswith(locked.address) or "key" in url]
    assert {one["status"] for one in locked.client.events if one["event"] == "request"} == {200, 401}
    assert not [one for one in locked.client.events if "key" in json.dumps(one).casefold()]
    assert all("status of 401" in message for message in page.messages())
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(locked.address)
    page.until(lambda: asks() == "This server asks for a key")
    browser.close()
    browser.switch_to.window(first)


def test_a_model_of_interactions_asks_for_no_ratings(page: Page, models) -> None:
    page.open("model=interactions")
    assert page.browser.find_element(By.TAG_NAME, "h1").text == "Mark a few, and see what follows"
    page.part("found", "label").click()
    (mine,) = page.until(lambda: page.parts("chosen", "> li"))
    item = int(mine.get_attribute("data-key"))
    expected = models.interactions.fold_in([("a", item)]).recommend(["a"], 10)[0][0].tolist()
    page.until(lambda: page.recommended == [f"Item {one}" for one in expected])
    page.part("chosen", "input").click()
    page.until(lambda: not page.recommended)


def test_a_row_gets_labels_and_what_speaks_for_them(page: Page) -> None:
    page.open("model=sky")
    assert page.found == ["wind", "rain"]
    page.search("WIN")
    page.until(lambda: page.found == ["wind"])
    page.part("found", "input").send_keys("4")
    page.until(lambda: page.parts("results", ".for"))
    assert page.recommended == ["sail", "read <i>"]
    assert page.texts("results", ".most h3") == ["sail"]
    assert page.texts("results", "li:first-child .for")[0].startswith("for it: wind+")
    page.browser.refresh()
    page.until(lambda: page.parts("results", ".for"))
    assert page.own == ["wind"]
    page.part("chosen", "button").click()
    page.until(lambda: not page.recommended)
    assert page.messages() == []


def test_a_text_gets_labels_and_what_speaks_for_them(page: Page, site: Site) -> None:
    page.open("model=texts", PHONE, "dark")
    page.browser.find_element(By.ID, "text").send_keys("A storm & <b>rain</b>, and rain")
    page.until(lambda: page.parts("results", ".for"))
    asked = {"rows": ["A storm & <b>rain</b>, and rain"], "model": "texts"}
    for share in ("precision", "recall"):
        (found,) = site.client.post("/v1/tags", {**asked, "decision": {share: 0.9}})["tags"]
        Select(page.browser.find_element(By.ID, "decision")).select_by_value(share)
        page.until(lambda labels=found["labels"]: sorted(page.texts("results", ".most h3")) == sorted(labels))
        page.until(lambda none=not found["labels"]: page.part("no-label").is_displayed() == none)
    page.browser.refresh()
    page.until(lambda: page.parts("results", ".for"))
    assert page.browser.find_element(By.ID, "text").get_attribute("value") == "A storm & <b>rain</b>, and rain"
    seen = page.browser.execute_script(f"{SEEN} return seen")
    assert seen["width"] <= PHONE
    assert [text for text in seen["texts"] if text[2] < 4.5 or text[1] < 12] == []
    assert page.messages() == []


def test_a_table_of_one_column_of_text_asks_for_a_text(page: Page) -> None:
    """It asked for a row."""
    page.open("model=notes")
    page.until(lambda: "Paste a text" in page.browser.find_element(By.TAG_NAME, "main").text)
    page.browser.find_element(By.ID, "text").send_keys("a storm")
    page.until(lambda: "sail" in page.texts("results", ".most h3"))
    assert page.messages() == []


def test_models_are_chosen_by_name(page: Page) -> None:
    page.open()
    choice = page.browser.find_element(By.ID, "model")
    assert choice.get_attribute("value") == "default"
    choice.send_keys("stars")
    page.until(lambda: [name[:5] for name in page.found[:1]] == ["Item "])
    page.browser.back()
    page.until(lambda: {name[:5] for name in page.found} - {"Item "})
    assert choice.get_attribute("value") == "default"


def test_answers_have_titles(site: Site, models) -> None:
    counts = models.named.ratings_.item_counts.tolist()
    aliens = sorted((k for k, one in enumerate(TITLES) if one.startswith("Alien")), key=lambda k: -counts[k])
    expected = [{"item": film(models, k), "ratings": counts[k], "title": TITLES[k]} for k in aliens]
    assert site.client.get("/v1/items?search=alien")["items"] == expected
    assert site.client.get(f"/v1/items?ids={quote(film(models, aliens[1]))}&ids=none")["items"] == expected[1:]
    listed = site.client.get(f"/v1/users/{quote('user 3')}/recommendations?n=30")["items"]
    similar = site.client.get(f"/v1/items/{quote(film(models, 0), safe='')}/similar?n=30&min_ratings=0")["similar"]
    for one in listed + similar:
        assert one.get("title", one["item"]) == title(models, one["item"])
    other = site.client.get("/v1/users/3/recommendations?model=interactions")
    assert "title" not in str(other)


def test_files_of_the_page_are_strict(site: Site) -> None:
    page = site.client.ask("GET", "/")
    text = page.body.decode()
    assert page.headers["content-security-policy"] == STRICT
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert not re.search(r"<style|<script(?![^>]*src=)|\sstyle=|\son\w+=|https?:", text)
    names = re.findall(r'(?:src|href)="(/[^"]*)"', text)
    assert {"/colours.css", "/page.css", "/page.js", "/icon.svg"} <= set(names)
    scripts = ["/page.js", "/docs.js"]
    for one in scripts:  # which grows
        answer = site.client.ask("GET", one)
        assert (answer.status, answer.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
        assert (answer.headers["x-content-type-options"], answer.headers["referrer-policy"]) == (
            "nosniff",
            "no-referrer",
        )
        code = answer.body.decode()
        assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|\beval\(|https?:", code)
        scripts += [f"/{name}" for name in re.findall(r'from "\./([\w.]+)"', code) if f"/{name}" not in scripts]
    assert {f"/{path.name}" for path in Path(__file__).parents[2].glob("src/cofactor/server/page/*.js")} == set(scripts)


def test_what_a_model_offers_and_which_features_it_has(site: Site) -> None:
    named = ("default", "interactions", "sky", "texts")
    offers = {name: site.client.get(f"/v1/model?model={name}")["offers"] for name in named}
    of_ratings, of_labels = ["predictions", "similar", "explanations"], ["explanations", "decisions"]
    assert offers == {
        "default": of_ratings, "interactions": of_ratings[1:], "sky": of_labels[:1], "texts": of_labels,
    }  # fmt: skip
    (rain,) = site.client.get("/v1/features?model=sky&search=AI")["features"]
    assert rain["name"] == "rain"
    named = site.client.get("/v1/features?model=sky&names=wind&names=snow")
    assert [one["name"] for one in named["features"]] == ["wind"]


@pytest.mark.parametrize(("width", "scheme"), [(DESK, "light"), (PHONE, "dark")])
def test_the_interface_is_shown_from_files_of_our_own(page, site, width, scheme) -> None:
    """Each request with a command that asks so, legible, and nothing loaded from elsewhere."""
    page.open(width=width, scheme=scheme)
    for log in ("performance", "browser"):
        page.browser.get_log(log)
    page.browser.get(f"{site.address}docs")
    requests = page.until(lambda: page.browser.find_elements(By.CSS_SELECTOR, "[data-part=requests] section"))
    described = [
        f"{method.upper()} {path}"
        for path, methods in site.client.get("/openapi.json")["paths"].items()
        for method in methods
    ]
    assert [one.find_element(By.TAG_NAME, "h2").text for one in requests] == described
    body = next(one for one in requests if one.find_element(By.TAG_NAME, "h2").text == "POST /v1/recommendations")
    assert body.find_element(By.TAG_NAME, "pre").text.startswith(f"curl '{site.address}v1/recommendations' -d '{{")
    for one in body.find_elements(By.TAG_NAME, "summary"):
        one.click()
    assert "new_items" in body.text
    seen = page.browser.execute_script(f"{SEEN} return seen;")
    assert seen["width"] <= width
    assert [text for text in seen["texts"] if text[2] < 4.5] == []
    assert [url for url in page.requests() if not url.startswith(site.address)] == []
    assert page.messages() == []
