"""A whole page: its templates, with escaping always on, its sections, its table of contents, and the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from cofactor.files import PathLike, replacing

_FOLDER = Path(__file__).parent

#: The style sheet of the colours, which all that a browser shows of this package has in common.
COLOURS = _FOLDER / "colours.css"

#: Text that is HTML already and is not escaped again. Only templates make it.
Html = Markup


@cache
def environment() -> Environment:
    """Return Jinja's environment of the templates; a template that uses an unknown name is an error."""
    found = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"), autoescape=True, undefined=StrictUndefined, auto_reload=False
    )
    found.tests["section"] = lambda part: not isinstance(part, str)
    return found


@cache
def style_sheet() -> Html:
    """Return the style of all pages: colours first."""
    return Html("\n".join(file.read_text(encoding="utf-8") for file in (COLOURS, _FOLDER / "style.css")))


def write_part(name: str, /, *arguments: object) -> Html:
    """Return a part of a page, as a macro of ``parts.html`` writes it."""
    macro = getattr(environment().get_template("parts.html").module, name)
    return Html(macro(*arguments))


_MIN_CONTENTS = 3  # A page with this number of sections or more has a table of contents.


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading, which the table of contents lists.

    Parameters
    ----------
    title : str
        The heading.
    parts : tuple
        What stands below it; sections may stand in sections.
    anchor : str
        Its name in links. A page gives each section a name of its own.
    """

    title: str
    parts: tuple[str | Section, ...]
    anchor: str = ""


Part = str | Section


def section(title: str, *parts: Part) -> Section:
    """Return parts below a heading; empty ones are left out, and sections may stand in sections.

    Examples
    --------
    >>> section("Data", "MovieLens.", "").parts
    ('MovieLens.',)
    """
    return Section(title, tuple(part for part in parts if part))


def document(title: str, *parts: Part, contents: bool = True) -> str:
    """Return a page: its title, its parts, and with `contents` a table of them if there are three sections or more.

    Examples
    --------
    >>> page = document("Comparison", "Two methods.", section("Errors", "None."))
    >>> "<h1>Comparison</h1>" in page, '<h2 id="errors">Errors</h2>' in page
    (True, True)
    """
    named = _with_anchors([part for part in parts if part], set())
    first = next((k for k, part in enumerate(named) if isinstance(part, Section)), len(named))
    return (
        environment()
        .get_template("page.html")
        .render(
            title=title,
            style=style_sheet(),
            lead=named[:first],
            sections=named[first:],
            with_contents=contents and sum(isinstance(part, Section) for part in named) >= _MIN_CONTENTS,
        )
    )


def write_page(path: PathLike, page: str) -> None:
    """Write a page to a file, whole or not at all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> write_page(pathlib.Path(folder.name, "page.html"), document("Nothing yet"))
    >>> folder.cleanup()
    """
    with replacing(path) as stream:
        stream.write(page.encode())


def _with_anchors(parts: Iterable[Part], taken: set[str]) -> list[Part]:
    """Return the parts, each section with an anchor of its own, which is added to `taken`."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Section):
            anchor = next(name for name in _names(part.title) if name not in taken)
            taken.add(anchor)
            found.append(Section(part.title, tuple(_with_anchors(part.parts, taken)), anchor))
        else:
            found.append(part)
    return found


def _names(title: str) -> Iterator[str]:
    """Yield possible anchors of a section: its title in small letters, then the same with numbers."""
    plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
    yield plain
    number = 2
    while True:
        yield f"{plain}-{number}"
        number += 1
