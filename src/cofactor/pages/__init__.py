"""Pages which need no other files: one HTML file with its style, its tables and its pictures inside.

A page opens from disk, in any browser and without a network. It can be read on a phone, and is dark if the browser asks
for dark pages. It loads no fonts, scripts or images from elsewhere, and its content security policy forbids them. All
text is escaped, unless it is `Html`, which only the templates of this package make.

A page is a `document` of parts and sections::

    page = document("Comparison", paragraph("Two methods."), section("Errors", table(["", "MAE"], rows)))
    write_page("comparison.html", page)
"""

from cofactor.pages.page import Html, Section, document, section, write_page
from cofactor.pages.parts import (
    attachment,
    bar,
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

__all__ = [
    "Html",
    "Section",
    "attachment",
    "bar",
    "block",
    "bullets",
    "code",
    "document",
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
