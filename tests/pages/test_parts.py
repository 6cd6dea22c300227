"""The templates of pages: what they escape, what they refuse, and that they come with the package."""

from __future__ import annotations

import inspect
import re
from importlib.resources import files

import pytest
from jinja2 import UndefinedError
from tests.together import together

from cofactor import pages
from cofactor.pages import Html, Section, document, parts, section, table
from cofactor.pages.page import environment, style_sheet

HOSTILE = "<script>alert('1')</script> & \"2\""


def test_templates_and_style_come_with_the_package() -> None:
    folder = files("cofactor.pages")
    assert {file.name for file in folder.joinpath("templates").iterdir()} == {"page.html", "parts.html"}
    colours, style = (folder.joinpath(f"{name}.css").read_text(encoding="utf-8") for name in ("colours", "style"))
    assert style_sheet() == f"{colours}\n{style}"


def test_colours_are_written_once() -> None:
    """Style sheets name colours, all of which one file gives; those of light and dark are the same ones."""
    folder = files("cofactor")
    colours = folder.joinpath("pages", "colours.css").read_text(encoding="utf-8")
    light, dark = (re.findall(r"--(\w+):", part) for part in colours.split("@media"))
    assert light == dark
    places = ("pages/style.css", "server/page/page.css", "server/page/parts.css")
    sheets = [folder.joinpath(*place.split("/")).read_text(encoding="utf-8") for place in places]
    used = {name for sheet in sheets for name in re.findall(r"var\(--(\w+)\)", sheet)}
    assert used - {"natural", "share"} == set(light)  # those are of single elements
    assert not [sheet for sheet in sheets if re.search(r"^\s*--\w+:|prefers-color-scheme", sheet, re.MULTILINE)]


def test_escaping_is_on_and_unknown_names_are_errors() -> None:
    assert environment().autoescape is True
    with pytest.raises(UndefinedError):
        environment().get_template("page.html").render(title="without a style")


#: Arguments that hold a hostile text wherever one may stand.
CALLS = {
    "attachment": (HOSTILE, HOSTILE, "a,b"),
    "bar": (HOSTILE, 0.5),
    "block": (HOSTILE, HOSTILE),
    "bullets": ([HOSTILE],),
    "code": (HOSTILE,),
    "fold": (HOSTILE, HOSTILE),
    "good": (HOSTILE,),
    "highlights": ([(HOSTILE, HOSTILE)],),
    "link": (HOSTILE, HOSTILE),
    "measured": (HOSTILE, HOSTILE),
    "paragraph": (HOSTILE,),
    "preformatted": (HOSTILE,),
    "scrolling": (HOSTILE, HOSTILE),
    "side_by_side": (HOSTILE,),
    "strong": (HOSTILE,),
    "table": ([HOSTILE], [[HOSTILE]]),
}


@together("name", sorted(set(parts.__all__) - {"figure"}))
def test_every_part_escapes_text_and_keeps_html(name: str) -> None:
    written = getattr(pages, name)(*CALLS[name])
    assert isinstance(written, Html)
    assert "<script" not in written
    assert "&lt;script&gt;" in written
    if name not in ("attachment", "link", "scrolling"):  # there text stands in attributes, too
        again = getattr(pages, name)(*_with_html(CALLS[name]))
        assert "<i>kept</i>" in again


def _with_html(value: object) -> object:
    if isinstance(value, str):
        return Html("<i>kept</i>")
    return type(value)(_with_html(part) for part in value) if isinstance(value, list | tuple) else value


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="row 1 of a table has 3 cells, expected 2"):
        table(["", "MAE"], [["HMF", "0.7"], ["ALS", "0.7", "0.8"]])


def test_a_table_says_how_it_is_shown_on_a_narrow_screen() -> None:
    assert '<table class="stacked">' in table(["", "MAE"], [["HMF", "0.7"]], stacked=True)
    assert '<table class="words">' in table(["", "MAE"], [["HMF", "0.7"]], words=True)


def test_a_page_has_contents_if_they_are_wanted() -> None:
    parts = [section(name, "x") for name in "abc"]
    assert "<nav" in document("Page", *parts)
    assert "<nav" not in document("Page", *parts, contents=False)


def test_sections_have_anchors_of_their_own() -> None:
    page = document("Page", section("Errors", section("Errors", "deep")), section("Errors!", "x"), section("–", "y"))
    assert [f'id="{name}"' in page for name in ("errors", "errors-2", "errors-3", "section")] == [True] * 4
    assert page.count('href="#errors-2"') == 1
    assert "<h3" in page


def test_every_public_part_has_an_example() -> None:
    for name in parts.__all__:
        assert ">>>" in inspect.getdoc(getattr(parts, name)), name
    assert Section("", ()).anchor == ""
