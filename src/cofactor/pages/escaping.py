r"""Text that is not ours, in the forms in which results are written.

Names of methods and data, messages of errors and titles may hold anything; whatever they hold, a reader must see them
as they are, and they must not change what stands beside them.

=============  =====================================================
`one_line`     plain text: no line breaks, nothing that moves a cursor
`in_markdown`  Markdown, in a cell of a table or in a paragraph
`in_latex`     LaTeX, in a cell of a table or in a paragraph
=============  =====================================================
"""

from __future__ import annotations

import re

__all__ = ["in_latex", "in_markdown", "one_line"]

#: Line breaks, and all else that a terminal or a table would obey instead of showing it.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")

#: What means something in Markdown; an underscore inside a word does not, as in ``micro_f1``.
_MARKDOWN = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
#: What means something where a paragraph begins: headings, lists, quotations, lines.
_BEGINNING = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[#=]|[+-](?:[\s-]|$)))")
_HTML = {"<": "&lt;", ">": "&gt;"}

_LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    # After the end of a line of a table, brackets and stars would be its arguments.
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
#: Of hyphens only those before another one: they would become one dash.
_IN_LATEX = re.compile("-(?=-)|[" + re.escape("".join(set(_LATEX) - {"-"})) + "]")


def one_line(text: str) -> str:
    r"""Return a text in one line, without control characters.

    Examples
    --------
    >>> one_line("two\nlines, \x1b[31mred")
    'two lines,  [31mred'
    """
    return _CONTROL.sub(" ", text)


def in_markdown(text: str) -> str:
    r"""Return Markdown which shows a text as it is.

    Examples
    --------
    >>> print(in_markdown("a|b *c* toy_1 _d_ <script>\nmore"))
    a\|b \*c\* toy_1 \_d\_ &lt;script&gt; more
    >>> print(in_markdown("# no heading"))
    \# no heading
    """
    written = re.sub(r"&(?=#?\w+;)", "&amp;", one_line(text).strip())  # before others are made
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
