"""Names that are not ours, in every form: seen as they are, and without effect on what stands beside them."""

from __future__ import annotations

import html
import re

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.together import together

from cofactor.evaluation import mean_table
from cofactor.pages.escaping import in_latex, in_markdown
from cofactor.text import one_line

ODD = [
    *("a|b", "*a*", "a*b*c", "_a_", "__init__", "a_b", "`a`", "``", "<script>alert(1)</script>", "&lt;", "a & b"),
    *("two\nlines", "[a]", "[a](b)", "![a](b)", "# a", "- a", "+ a", "1. a", "2) a", "> a", "---", "===", "~~a~~"),
    *("$x$", "\\", "\\*", "a\\", "{x}", "%", "^", "~", "--", "---", '"', "\x1b[31mred", "a\tb", "a\u2028b", "a ** b"),
]
SPECIAL = st.text(alphabet="ab_*`|<>&;[]()!#+-=1. ~$\\\n", max_size=12)


def rendered(markdown: str) -> str:
    """Return the text that a reader of Markdown sees, with the tags that are not paragraphs."""
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    return html.unescape(re.sub("</?p>", "", page)).strip()


def read_latex(written: str) -> str:
    """Return the text that LaTeX prints, as far as it is made of what `in_latex` makes; refuse all else."""
    words = {
        "textbackslash": "\\",
        "textasciitilde": "~",
        "textasciicircum": "^",
        "textless": "<",
        "textgreater": ">",
        "textbar": "|",
        "textasciigrave": "`",
        "textquotedbl": '"',
    }
    found, place = [], 0
    token = re.compile(r"\\([a-z]+)\{\}|\\([&%$#_{}])|\{([\[\]*])\}|(-)(?!-)\{\}|(-(?!-)|[^\\&%$#_{}~^<>|`\"\[\]*-])")
    while place < len(written):
        match = token.match(written, place)
        assert match, f"{written!r} at {place}"
        found.append(words[match[1]] if match[1] else next(filter(None, match.groups())))
        place = match.end()
    return "".join(found)


@together("text", ODD)
def test_odd_names_are_seen_as_they_are(text: str) -> None:
    seen = one_line(text).strip()
    assert rendered(in_markdown(text)) == seen
    assert rendered("- " + in_markdown(text)) == f"<ul>\n<li>{seen}</li>\n</ul>"
    assert rendered(f"## {in_markdown(text)} ##") == f"<h2>{seen}</h2>"
    assert rendered(f"**{in_markdown(f'x{text}x')}**") == f"<strong>x{one_line(text)}x</strong>"
    assert read_latex(in_latex(text)) == one_line(text)


@given(SPECIAL.filter(str.strip))
@example("a_ _b_c")
@example("1.\n2")
def test_any_text_is_seen_as_it_is(text: str) -> None:
    seen = one_line(text).strip()
    assert rendered(in_markdown(text)) == seen
    assert read_latex(in_latex(text)) == one_line(text)


def table_of(method: str, data: str) -> object:
    names = ("method", "data", "split", "seed", "metric", "value")
    rows = [(method, data, 0.5), ("B", data, 0.25), (method, "other", 0.5)]
    records = [dict(zip(names, (m, d, "kfold 1/2", 0, "mae", value), strict=True)) for m, d, value in rows]
    return mean_table(records, "mae", absent={f"lost {method}": "failed"})


@together("text", ODD)
def test_tables_keep_their_form_whatever_the_names(text: str) -> None:
    table, plain = table_of(f"m {text}", text), table_of("m x", "x")
    shown = {form: (getattr(table, form)(), getattr(plain, form)()) for form in ("text", "markdown", "latex")}
    for odd, usual in shown.values():
        assert len(odd.splitlines()) == len(usual.splitlines())
    seen = one_line(text)
    page = MarkdownIt("commonmark").enable("table").render(shown["markdown"][0])
    cells = [html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", page)]
    assert len(cells) == 3 * 4
    assert cells[1] == f"m {seen}"
    assert cells[3] == seen.strip()
    assert f"lost m {seen} failed" in html.unescape(page)
    rows = [line for line in shown["latex"][0].splitlines() if line.endswith(r"\\")]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [2] * 4 + [0] * 3
    assert not any(re.match(r"\s*[\[*]", line) for line in shown["latex"][0].splitlines())
