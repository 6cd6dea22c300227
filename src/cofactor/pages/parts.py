"""The parts of a page: paragraphs, lists, tables, pictures, notes.

A part is `Html`. All that it is made of is text, which is escaped, or `Html`, which is kept.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from cofactor.errors import InvalidInputError
from cofactor.files import PathLike
from cofactor.pages.page import Html, write_part

__all__ = [
    "attachment",
    "bar",
    "block",
    "bullets",
    "code",
    "figure",
    "fold",
    "good",
    "highlights",
    "link",
    "measured",
    "paragraph",
    "preformatted",
    "scrolling",
    "side_by_side",
    "strong",
    "table",
]

_TYPES = {"png": "image/png", "svg": "image/svg+xml"}
_PIXELS_PER_INCH = 96  # of CSS


def paragraph(*content: object, soft: bool = False) -> Html:
    """Return a paragraph; a `soft` one is a remark in smaller and paler letters.

    Examples
    --------
    >>> print(paragraph("Bold: the best of its column, R² > ", strong(0.5), soft=True))
    <p class="soft">Bold: the best of its column, R² &gt; <b>0.5</b></p>
    """
    return write_part("paragraph", content, soft)


def bullets(lines: Iterable[object]) -> Html:
    """Return a list of lines; nothing, if there are none.

    Examples
    --------
    >>> print(bullets(["one", "two"]))
    <ul><li>one</li><li>two</li></ul>
    """
    items = list(lines)
    return write_part("bullets", items) if items else Html("")


def preformatted(text: object) -> Html:
    """Return text as it is, such as a command.

    Examples
    --------
    >>> print(preformatted("cofactor demo"))
    <pre tabindex="0">cofactor demo</pre>
    """
    return write_part("preformatted", text)


def strong(text: object) -> Html:
    """Return text in bold; in a table, the best of its column.

    Examples
    --------
    >>> print(strong("a < b"))
    <b>a &lt; b</b>
    """
    return write_part("strong", text)


def code(text: object) -> Html:
    """Return a command or a name inside a text.

    Examples
    --------
    >>> print(code("cofactor --help"))
    <code>cofactor --help</code>
    """
    return write_part("code", text)


def good(text: object) -> Html:
    """Return a text in the colour of what is best.

    Examples
    --------
    >>> print(good(5))
    <span class="good">5</span>
    """
    return write_part("good", text)


def bar(text: object, share: float) -> Html:
    """Return a number on a bar that is as long as a share.

    Examples
    --------
    >>> print(bar(".81", 0.81))
    <span class="bar"><i style="--share: 81%"></i>.81</span>
    """
    return write_part("bar", text, f"{100 * min(max(share, 0), 1):.0f}%")


def link(text: object, target: str) -> Html:
    """Return a link, to a part of the page as ``#name``.

    Examples
    --------
    >>> print(link("2 cells failed", "#failed-cells"))
    <a href="#failed-cells">2 cells failed</a>
    """
    return write_part("link", text, target)


def fold(summary: object, *parts: object) -> Html:
    """Return parts which are hidden until the reader opens them.

    Examples
    --------
    >>> print(fold("Details", paragraph("More.")))
    <details><summary>Details</summary><p>More.</p></details>
    """
    return write_part("fold", summary, parts)


def highlights(figures: Iterable[tuple[object, object]]) -> Html:
    """Return a few numbers in large letters, each with its meaning.

    Examples
    --------
    >>> print(highlights([("0.665", "test MAE of HMF")]))
    <div class="big"><div><b>0.665</b>test MAE of HMF</div></div>
    """
    return write_part("highlights", list(figures))


def side_by_side(*parts: object) -> Html:
    """Return parts beside each other where the screen is wide enough, and below each other where it is not.

    Examples
    --------
    >>> print(side_by_side(paragraph("left"), paragraph("right")))
    <div class="two"><p>left</p><p>right</p></div>
    """
    return write_part("side_by_side", parts)


def block(title: object, *parts: object) -> Html:
    """Return parts below a small heading that no table of contents names.

    Examples
    --------
    >>> print(block("User 1", paragraph("Likes: Alien.")))
    <section><h3>User 1</h3><p>Likes: Alien.</p></section>
    """
    return write_part("block", title, parts)


def scrolling(content: object, name: str) -> Html:
    """Return content that may be wider than the screen, in a frame which scrolls sideways.

    Screen readers read `name` out.

    Examples
    --------
    >>> print(scrolling("wide", "Errors"))
    <div class="scroll" role="region" tabindex="0" aria-label="Errors">wide</div>
    """
    return write_part("scrolling", content, name)


def table(
    heads: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: str = "",
    name: str = "",
    text: Collection[int] = (),
    soft: Collection[int] = (),
    words: bool = False,
    framed: bool = True,
    stacked: bool = False,
) -> Html:
    """Return a table whose first column names the rows.

    Parameters
    ----------
    heads : sequence
        Headings of the columns.
    rows : iterable of sequences
        Cells; the best of a column is `strong`.
    caption, name : str
        What the table shows: `caption` is a line above it, `name` is only read out by screen readers.
    text : collection of int
        Columns of words, whose lines may break. The others are numbers, aligned to the right.
    soft : collection of int
        Rows which are for comparison only, in a paler colour.
    words : bool, default=False
        Whether all columns are words.
    framed : bool, default=True
        Whether the table scrolls in a frame of its own. A table without a frame has no caption.
    stacked : bool, default=False
        Whether on a narrow screen the first cell of each row stands above the others.

    Raises
    ------
    InvalidInputError
        If a row has another number of cells than there are headings.

    Examples
    --------
    >>> print(table(["", "MAE"], [["HMF", strong("0.665")], ["ALS", "0.690"]], name="Errors"))
    <div class="scroll" role="region" tabindex="0" aria-label="Errors"><table><thead><tr><th scope="col"></th><th
    scope="col">MAE</th></tr></thead><tbody><tr><th scope="row">HMF</th><td><b>0.665</b></td></tr>
    <tr><th scope="row">ALS</th><td>0.690</td></tr></tbody></table></div>
    """
    lines = [list(row) for row in rows]
    kind = "words" if words else "stacked" if stacked else ""
    for k, line in enumerate(lines):
        if len(line) != len(heads):
            raise InvalidInputError(f"row {k} of a table has {len(line)} cells, expected {len(heads)}")
    if not framed:
        return write_part("plain_table", heads, lines, text, soft, kind)
    return write_part("table", heads, lines, caption, name or caption or "Table", text, soft, kind)


def measured(value: object, spread: str = "", *, best: bool = False, mark: str = "") -> Html:
    """Return the content of a cell: a number, below it its spread, and the mark of a footnote.

    Examples
    --------
    >>> print(measured("0.665", "± 0.002", best=True, mark="a"))
    <b>0.665</b><sup>a</sup><span class="spread">± 0.002</span>
    """
    return write_part("measured", value, spread, best, mark)


def figure(
    picture: PathLike | bytes, caption: str, *, alt: str = "", form: str | None = None, inches: float | None = None
) -> Html:
    """Return a picture inside the page, with its caption.

    Parameters
    ----------
    picture : path-like or bytes
        A file ending in ``.png`` or ``.svg``, or the content of one.
    caption : str
        Stands below the picture.
    alt : str
        What the picture shows, for readers who cannot see it; by default the caption.
    form : {"svg", "png"}, optional
        Which of the two the content is; by default by the ending of the file's name.
    inches : float, optional
        Natural width of the picture; by default the one that a PNG file states.

    Raises
    ------
    InvalidInputError
        If the picture is neither PNG nor SVG.

    Examples
    --------
    >>> print(figure(b"<svg/>", "A picture.", form="svg"))
    <figure><div class="scroll" role="region" tabindex="0" aria-label="Picture"><img alt="A picture."
    src="data:image/svg+xml;base64,PHN2Zy8+"></div><figcaption>A picture.</figcaption></figure>
    """
    if isinstance(picture, bytes):
        content = picture
    else:
        form = form or Path(picture).suffix.lower().removeprefix(".")
    if form not in _TYPES:
        raise InvalidInputError("pictures in a page are png or svg", argument="form", found=form)
    if not isinstance(picture, bytes):
        content = Path(picture).read_bytes()
    if inches is None and form == "png":
        inches = _png_width(content)
    width = None if inches is None else round(inches * _PIXELS_PER_INCH)
    return write_part("figure", _data(_TYPES[form], content), caption, alt or caption, width)


def attachment(text: object, file_name: str, content: str, kind: str = "text/csv") -> Html:
    """Return a link which saves a file that is inside the page.

    Examples
    --------
    >>> print(attachment("all results", "results.csv", "a,b"))
    <a download="results.csv" href="data:text/csv;base64,YSxi">all results</a>
    """
    return write_part("attachment", text, file_name, _data(kind, content.encode()))


def _data(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _png_width(content: bytes) -> float | None:
    """Return the width of a PNG file in inches, or None if it does not state how large a pixel is."""
    start = content.find(b"pHYs") + 4
    per_metre = int.from_bytes(content[start : start + 4], "big")
    return int.from_bytes(content[16:20], "big") / (per_metre * 0.0254) if start > 4 and per_metre else None
