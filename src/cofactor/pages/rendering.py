"""The templates of this package, with escaping always on."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

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
