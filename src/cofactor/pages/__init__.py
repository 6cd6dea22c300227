"""Pages which need nothing from elsewhere: one HTML file with its style, its tables and its pictures inside.

A page opens from disk, in any browser and without a network, is readable on a phone, and follows the browser into dark
mode. It asks for nothing: no fonts, no scripts, no images, and its content security policy forbids them. Text is
escaped wherever it goes in, unless it is `Html`, which only the templates of this package make.

A page is a `document` of parts and sections::

    page = document("Comparison", paragraph("Two methods."), section("Errors", table(["", "MAE"], rows)))
    write_page("comparison.html", page)
"""

from cofactor.pages.page import Section, document, section, write_page
from cofactor.pages.parts import (
    attachment,
    block,
    bullets,
    code,
    figure,
    fold,
    good,
    highlights,
    link,
    measured,
    paragraph,
    preformatted,
    scrolling,
    side_by_side,
    strong,
    table,
)
from cofactor.pages.rendering import Html, escape

__all__ = [
    "Html",
    "Section",
    "attachment",
    "block",
    "bullets",
    "code",
    "document",
    "escape",
    "figure",
    "fold",
    "good",
    "highlights",
    "link",
    "measured",
    "paragraph",
    "preformatted",
    "scrolling",
    "section",
    "side_by_side",
    "strong",
    "table",
    "write_page",
]
