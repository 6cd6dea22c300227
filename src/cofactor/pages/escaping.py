r"""Escaping of text from elsewhere, for the formats in which results are written.

Names of methods and data, messages of errors and titles may contain any characters. Readers must see them as they are,
and they must not change the text around them.

=============  =====================================================
`one_line`     plain text: no line breaks, nothing that moves a cursor
`in_markdown`  Markdown, in a cell of a table or in a paragraph
`in_latex`     LaTeX, in a cell of a table or in a paragraph
=============  =====================================================
"""

from __future__ import annotations

import re

from cofactor.text import one_line

#: Characters with a meaning in Markdown. An underscore inside a word, as in ``micro_f1``, has none.
_MARKDOWN = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
#: Characters with a meaning at the beginning of a paragraph: headings, lists, lines.
_BEGINNING = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[#=]|[+-](?:[\s-]|$)))")
_HTML = {"<": "&lt;", ">": "&gt;"}

_LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    # At the beginning of a table's row, LaTeX would read brackets and stars as arguments of the line break before.
    **{character: f"{{{character}}}" for character in "[]*"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\textquotedbl{}",
    "-": "-{}",
    "–": "--",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}
#: Only a hyphen before another hyphen is escaped: LaTeX would make one dash of two.
_IN_LATEX = re.compile("-(?=-)|[" + re.escape("".join(set(_LATEX) - {"-"})) + "]")


def in_markdown(text: str) -> str:
    r"""Return Markdown which shows a text as it is.

    Examples
    --------
    >>> print(in_markdown("a|b *c* toy_1 _d_ <script>\nmore"))
    a\|b \*c\* toy_1 \_d\_ &lt;script&gt; more
    >>> print(in_markdown("# no heading"))
    \# no heading
    """
    written = re.sub(r"&(?=#?\w+;)", "&amp;", one_line(text).strip())  # first: the lines below make ampersands
    written = _MARKDOWN.sub(lambda found: f"\\{found[0]}", written)
    written = re.sub("[<>]", lambda found: _HTML[found[0]], written)
    return _BEGINNING.sub(r"\1\\", written)


def in_latex(text: str) -> str:
    r"""Return LaTeX which shows a text as it is.

    Examples
    --------
    >>> print(in_latex("[a] & 100% of --alpha"))
    {[}a{]} \& 100\% of -{}-alpha
    """
    return _IN_LATEX.sub(lambda found: _LATEX[found[0]], one_line(text))
