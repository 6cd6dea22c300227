"""Pages which need nothing from elsewhere: one HTML file with its style, its tables and its pictures inside.

A page opens from disk, in any browser and without a network, is readable on a phone, and follows the browser into dark
mode. It asks for nothing: no fonts, no scripts, no images, and its content security policy forbids them. Text is
escaped wherever it goes in, unless it is `Html`, which only the functions of this module make.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.errors import InvalidInputError
from cofactor.files import PathLike, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Html",
    "Section",
    "attachment",
    "bullets",
    "document",
    "escape",
    "figure",
    "fold",
    "highlights",
    "paragraph",
    "preformatted",
    "scrolling",
    "section",
    "side_by_side",
    "table",
    "tag",
    "write_page",
]

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --back: #ffffff; --card: #f6f8fa;
  --accent: #0072b2; --good: #00704f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --line: #30363d; --back: #0d1117;
  --card: #161b22; --accent: #56b4e9; --good: #2fbf8f; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--back); color: var(--ink); overflow-wrap: break-word;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0 .25rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: .75rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; }
p, ul { margin: .5rem 0; max-width: 46rem; } ul { padding-left: 1.25rem; } li { margin: .2rem 0; }
.soft { color: var(--soft); font-size: .9rem; }
a { color: var(--accent); }
nav { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem;
  margin: 1.25rem 0; }
nav ol { list-style: none; margin: 0; padding: 0; columns: 16rem; column-gap: 2rem; }
nav li { break-inside: avoid; padding: .15rem 0; } nav ol ol { columns: auto; padding-left: 1rem; font-size: .9rem; }
nav a { text-decoration: none; } nav a:hover { text-decoration: underline; }
.caption { margin: 1.25rem 0 .25rem; font-weight: 600; font-size: .95rem; }
.scroll { overflow-x: auto; -webkit-overflow-scrolling: touch; margin: .5rem 0 .75rem; }
.caption + .scroll { margin-top: 0; }
table { border-collapse: collapse; min-width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
thead th { font-weight: 600; color: var(--soft); font-size: .85rem; white-space: normal; vertical-align: bottom; }
tbody th { font-weight: 400; }
th:first-child, td:first-child, .text { text-align: left; }
.words :is(th, td) { text-align: left; white-space: normal; }
tbody .text { white-space: normal; } tbody td.text { min-width: 12rem; overflow-wrap: anywhere; }
.scroll th:first-child { position: sticky; left: 0; background: var(--back); }
.scroll tbody th { white-space: normal; overflow-wrap: break-word; min-width: 6rem; max-width: 24rem; }
td b { color: var(--good); }
sup { font-size: .8rem; line-height: 0; }
.spread { display: block; color: var(--soft); font-weight: 400; font-size: .8rem; }
tr.rule > * { color: var(--soft); }
.two { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); }
.two h3 { font-size: 1rem; margin: .5rem 0; }
figure { margin: 1rem 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .75rem; }
figure .scroll, .two figure { margin: 0; }
figure img { display: block; width: 100%; min-width: calc(.54 * var(--natural, 38rem));
  max-width: calc(1.15 * var(--natural, 38rem)); height: auto; margin: 0 auto; padding: .5rem; background: #fff;
  border-radius: .25rem; }
figcaption { color: var(--soft); font-size: .9rem; padding-top: .5rem; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; overflow-x: auto;
  font: .85rem/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
details { border: 1px solid var(--line); border-radius: .5rem; padding: 0 .75rem; margin: .75rem 0; }
details[open] { padding-bottom: .75rem; }
summary { cursor: pointer; padding: .6rem 0; font-weight: 600; }
.big { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.big div { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
.big b { display: block; font-size: 1.35rem; line-height: 1.3; color: var(--accent); }
.held { color: var(--good); font-weight: 600; }
@media (max-width: 30rem) { .scroll tbody th { max-width: 9rem; }
  figure, figure img { padding: .25rem; } figcaption { padding: .5rem .25rem .25rem; } }
@media print { nav { display: none; } .scroll { overflow: visible; } figure, tr { break-inside: avoid; } }
"""

#: Everything is inside the page; whatever would be fetched from elsewhere, or would run, is refused.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_VOID = {"img", "link", "meta"}
_TYPES = {"png": "image/png", "svg": "image/svg+xml"}
_PIXELS_PER_INCH = 96  # of CSS
_MIN_CONTENTS = 3  #: sections, from which on a page has a table of contents


class Html(str):
    """Text which is HTML already, and is not escaped again."""

    __slots__ = ()


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading, which its table of contents names."""

    title: str
    parts: tuple[str | Section, ...]


Part = str | Section


def escape(value: object) -> Html:
    """Return a value as HTML shows it; `Html` stays as it is.

    Examples
    --------
    >>> escape("a < b"), escape(Html("<b>a</b>"))
    ('a &lt; b', '<b>a</b>')
    """
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def tag(name: str, /, *content: object, **attributes: str | bool | None) -> Html:
    """Return an element.

    Parameters
    ----------
    name : str
        Of the element.
    *content
        What stands in it, escaped unless it is `Html`.
    **attributes
        ``class_`` is written ``class``, other underscores are hyphens; True is written without a value, and False,
        None and the empty class are left out.

    Examples
    --------
    >>> tag("p", "R² > ", tag("b", 0.5), class_="soft")
    '<p class="soft">R² &gt; <b>0.5</b></p>'
    """
    written = ""
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            written += f" {key}"
        elif value not in (None, False) and (key, value) != ("class", ""):
            written += f' {key}="{html.escape(str(value))}"'
    start = f"<{name}{written}>"
    return Html(start if name in _VOID else f"{start}{_join(content)}</{name}>")


def paragraph(*content: object, soft: bool = False) -> Html:
    """Return a paragraph; a `soft` one is a remark, smaller and paler.

    Examples
    --------
    >>> paragraph("Bold: the best of its column.", soft=True)
    '<p class="soft">Bold: the best of its column.</p>'
    """
    return tag("p", *content, class_="soft" if soft else "")


def bullets(lines: Iterable[object]) -> Html:
    """Return a list of lines; nothing, if there are none.

    Examples
    --------
    >>> bullets(["one", "two"])
    '<ul><li>one</li><li>two</li></ul>'
    """
    items = [tag("li", line) for line in lines]
    return tag("ul", *items) if items else Html("")


def preformatted(text: object) -> Html:
    """Return text as it is, such as a command.

    Examples
    --------
    >>> preformatted("cofactor demo")
    '<pre tabindex="0">cofactor demo</pre>'
    """
    return tag("pre", text, tabindex="0")  # by the keyboard, too, it can be scrolled


def section(title: str, *parts: Part) -> Section:
    """Return parts below a heading; empty ones are left out, and sections may stand in sections.

    Examples
    --------
    >>> section("Data", paragraph("MovieLens."), "").parts
    ('<p>MovieLens.</p>',)
    """
    return Section(title, tuple(part for part in parts if part))


def fold(summary: object, *parts: object, unfolded: bool = False) -> Html:
    """Return parts which show when the reader asks for them.

    Examples
    --------
    >>> fold("Details", paragraph("More."))
    '<details><summary>Details</summary><p>More.</p></details>'
    """
    return tag("details", tag("summary", summary), *parts, open=unfolded)


def highlights(figures: Iterable[tuple[object, object]]) -> Html:
    """Return a few figures in large type, each with its meaning.

    Examples
    --------
    >>> highlights([("0.665", "test MAE of HMF")])
    '<div class="big"><div><b>0.665</b>test MAE of HMF</div></div>'
    """
    return tag("div", *(tag("div", tag("b", figure), meaning) for figure, meaning in figures), class_="big")


def side_by_side(*parts: object) -> Html:
    """Return parts beside each other where the screen is wide enough, and below each other where it is not.

    Examples
    --------
    >>> side_by_side(paragraph("left"), paragraph("right"))
    '<div class="two"><p>left</p><p>right</p></div>'
    """
    return tag("div", *parts, class_="two")


def scrolling(content: object, name: str) -> Html:
    """Return what may be wider than the screen, in a frame which scrolls sideways; `name` is read out.

    Examples
    --------
    >>> scrolling("wide", "Errors")
    '<div class="scroll" role="region" tabindex="0" aria-label="Errors">wide</div>'
    """
    return tag("div", content, class_="scroll", role="region", tabindex="0", aria_label=name)


def table(
    heads: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: str = "",
    name: str = "",
    text: Collection[int] = (),
    soft: Collection[int] = (),
) -> Html:
    """Return a table whose first column names the rows.

    Parameters
    ----------
    heads : sequence
        Headings of the columns.
    rows : iterable of sequences
        Cells; the best of a column is ``tag("b", text)``.
    caption, name : str
        What the table shows: a line above it, or only read out.
    text : collection of int
        Columns of words, which may break; the others are figures, to the right.
    soft : collection of int
        Rows which are for comparison only, and paler.

    Examples
    --------
    >>> print(table(["", "MAE"], [["HMF", tag("b", "0.665")], ["ALS", "0.690"]], name="Errors"))
    <div class="scroll" role="region" tabindex="0" aria-label="Errors"><table><thead><tr><th scope="col"></th><th
    scope="col">MAE</th></tr></thead><tbody><tr><th scope="row">HMF</th><td><b>0.665</b></td></tr>
    <tr><th scope="row">ALS</th><td>0.690</td></tr></tbody></table></div>
    """
    kinds = ["text" if k in text else "" for k in range(len(heads))]
    head = tag("tr", *(tag("th", cell, scope="col", class_=kind) for cell, kind in zip(heads, kinds, strict=True)))
    lines = []
    for k, (first, *others) in enumerate(rows):
        cells = [tag("td", cell, class_=kind) for cell, kind in zip(others, kinds[1:], strict=True)]
        lines.append(
            tag("tr", tag("th", first, scope="row", class_=kinds[0]), *cells, class_="rule" if k in soft else "")
        )
    whole = tag("table", tag("thead", head), tag("tbody", Html("\n".join(lines))))
    above = tag("p", caption, class_="caption") if caption else Html("")
    return Html(above + scrolling(whole, name or caption or "Table"))


def figure(picture: Axes | Figure | PathLike, caption: str, *, alt: str = "", form: str = "svg") -> Html:
    """Return a picture inside the page, with its caption.

    Parameters
    ----------
    picture : matplotlib Axes or Figure, or path-like
        A picture, or a file ending in ``.png`` or ``.svg``. No file is written.
    caption : str
        Stands below the picture.
    alt : str
        What the picture shows, for those who do not see it; by default what the axes say, or the caption.
    form : {"svg", "png"}, default="svg"
        How `picture` is drawn. SVG is sharp at any size, PNG is smaller where there are thousands of points.

    Examples
    --------
    >>> from cofactor.plots import plot_tradeoff
    >>> ax = plot_tradeoff({"ALS": ([0.6, 0.4], [0.75, 0.72])})
    >>> figure(ax, "The trade-off.").startswith('<figure><div class="scroll" role="region"')
    True
    """
    if isinstance(picture, str) or hasattr(picture, "__fspath__"):
        form = Path(picture).suffix.lower().removeprefix(".")
        content = Path(picture).read_bytes()
        inches = _png_width(content)
    else:
        from cofactor.plots.figures import draw, root_figure

        content, inches = draw(picture, form), root_figure(picture).get_figwidth()
        alt = alt or _described(picture)
    if form not in _TYPES:
        raise InvalidInputError(f"pictures in a page are png or svg, found {form!r}")
    # Much below its own size its text could not be read: there the picture scrolls.
    natural = None if inches is None else f"--natural: {round(inches * _PIXELS_PER_INCH)}px"
    image = tag("img", alt=alt or caption, src=_data(_TYPES[form], content), style=natural)
    return tag("figure", scrolling(image, "Picture"), tag("figcaption", caption))


def attachment(text: str, file_name: str, content: str, kind: str = "text/csv") -> Html:
    """Return a link which saves a file that is inside the page.

    Examples
    --------
    >>> attachment("all results", "results.csv", "a,b")
    '<a download="results.csv" href="data:text/csv;base64,YSxi">all results</a>'
    """
    return tag("a", text, download=file_name, href=_data(kind, content.encode()))


def document(title: str, *parts: Part) -> str:
    """Return a page: its title, its parts, and a table of contents if there are three sections or more.

    Examples
    --------
    >>> page = document("Comparison", paragraph("Two methods."), section("Errors", paragraph("None.")))
    >>> "<h1>Comparison</h1>" in page, '<h2 id="errors">Errors</h2>' in page
    (True, True)
    """
    parts = tuple(part for part in parts if part)
    anchors = _anchors(parts)
    first = next((k for k, part in enumerate(parts) if isinstance(part, Section)), len(parts))
    many = sum(isinstance(part, Section) for part in parts) >= _MIN_CONTENTS
    body = [
        tag("h1", title),
        *map(escape, parts[:first]),
        tag("nav", _contents(parts, anchors), aria_label="Contents") if many else "",
        *_bodies(parts[first:], anchors, level=2),
    ]
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(_STYLE)),
    ]
    main = tag("main", "\n", Html("\n".join(part for part in body if part)), "\n")
    lines = ["<!doctype html>", '<html lang="en">', tag("head", "\n", Html("\n".join(head)), "\n"), tag("body", main)]
    return "\n".join([*lines, "</html>", ""])


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


def _join(content: Iterable[object]) -> Html:
    return Html("".join(map(escape, content)))


def _data(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _png_width(content: bytes) -> float | None:
    """Return the width of a PNG file in inches, or None where it does not say how large a pixel is."""
    start = content.find(b"pHYs") + 4
    per_metre = int.from_bytes(content[start : start + 4], "big")
    return int.from_bytes(content[16:20], "big") / (per_metre * 0.0254) if start > 4 and per_metre else None


def _sections(parts: Iterable[Part]) -> Iterator[Section]:
    """Yield all sections, as they come on the page."""
    for part in parts:
        if isinstance(part, Section):
            yield part
            yield from _sections(part.parts)


def _anchors(parts: Iterable[Part]) -> dict[int, str]:
    """Return a name for each section (by identity) which no other has."""
    names: dict[int, str] = {}
    for one in _sections(parts):
        name = re.sub(r"[^a-z0-9]+", "-", one.title.lower()).strip("-") or "section"
        taken = set(names.values())
        names[id(one)] = next(n for n in (name, *(f"{name}-{k}" for k in range(2, len(taken) + 3))) if n not in taken)
    return names


def _contents(parts: Iterable[Part], anchors: dict[int, str]) -> Html:
    items = []
    for one in parts:
        if isinstance(one, Section):
            below = _contents(one.parts, anchors)
            items.append(tag("li", tag("a", one.title, href=f"#{anchors[id(one)]}"), below))
    return tag("ol", *items) if items else Html("")


def _bodies(parts: Iterable[Part], anchors: dict[int, str], level: int) -> Iterator[Html]:
    for part in parts:
        if isinstance(part, Section):
            yield tag(f"h{level}", part.title, id=anchors[id(part)])
            yield from _bodies(part.parts, anchors, level + 1)
        else:
            yield escape(part)


def _described(picture: Any) -> str:
    """Return in words what the axes of a picture show."""
    from cofactor.plots.figures import root_figure

    texts = []
    for ax in root_figure(picture).axes:
        title = ax.get_title(loc="left") or ax.get_title()
        labels = " against ".join(label for label in (ax.get_ylabel(), ax.get_xlabel()) if label)
        legend = ax.get_legend()
        names = ", ".join(text.get_text() for text in legend.get_texts()) if legend else ""
        texts.append(": ".join(part for part in (title, labels, names) if part))
    return "; ".join(filter(None, texts))
