"""What the site needs beside Sphinx's own: pages of the API, formulas without scripts, links out of docs/."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import tomllib
from collections.abc import Iterator
from html import escape
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, get_origin

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from jinja2 import FileSystemLoader
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx.util import logging
from sphinx.util.inspect import stringify_signature

logger = logging.getLogger(__name__)

#: Packages whose names are public, each with what it is for.
PACKAGES = {
    "cofactor": "Load, save, compile ahead",
    "cofactor.ratings": "Models of ratings",
    "cofactor.ratings.ranking": "Models of interactions",
    "cofactor.labels": "Models of labels",
    "cofactor.datasets": "Data sets, files, synthetic data",
    "cofactor.evaluation": "Splits, evaluation, comparison, tests",
    "cofactor.metrics": "Metrics",
    "cofactor.correlation": "Correlations and clusters of labels",
    "cofactor.plots": "Pictures",
    "cofactor.errors": "Errors and warnings",
    "cofactor.losses": "Losses",
    "cofactor.penalties": "Penalties",
    "cofactor.solvers": "Solvers",
    "cofactor.experiments": "The published tables and figures",
}

#: What lies outside docs/, and the page that shows it.
OUTSIDE = {
    "../benchmarks/README.md": "benchmarks.md",
    "../CHANGELOG.md": "changelog.md",
    "../CONTRIBUTING.md": "contributing.md",
}


def public_names() -> dict[str, list[str]]:
    """Return the public names of each package, but for names of types; what two offer is shown in the first."""
    found, seen = {}, set()
    for package in PACKAGES:
        module = import_module(package)
        names = sorted(module.__all__, key=str.casefold)
        things = {name: getattr(module, name) for name in names}
        shown = [name for name in names if not inspect.ismodule(things[name]) and get_origin(things[name]) is None]
        found[package] = [name for name in shown if id(things[name]) not in seen]
        seen |= {id(thing) for thing in things.values() if inspect.isclass(thing) or inspect.isfunction(thing)}
    return found


def summary(thing: Any) -> str:
    """Return the first paragraph of a docstring, for a table of names."""
    if not (inspect.isclass(thing) or callable(thing)):
        return f"``{type(thing).__name__}``"
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def page_of(package: str, name: str) -> str:
    """Return the page of one name: its docstring, its methods, and the examples that use it."""
    thing = getattr(import_module(package), name)
    full = f"{package}.{name}"
    lines = [name, "=" * len(name), "", f".. currentmodule:: {package}", ""]
    if not getattr(thing, "__module__", "cofactor").startswith("cofactor") and inspect.isclass(thing):
        lines += [f".. py:class:: {name}", "", f"   That of ``{thing.__module__.split('.')[0]}``: {summary(thing)}", ""]
    elif inspect.isclass(thing):
        lines += [f".. autoclass:: {name}", "   :members:", "   :show-inheritance:", ""]
        lines += inherited(thing)
    elif callable(thing):
        lines += [f".. autofunction:: {name}", ""]
    else:
        lines += [f".. autodata:: {name}", "   :no-value:", "", *held(thing)]
    return "\n".join([*lines, f".. minigallery:: {full}", "   :add-heading: Examples", "   :heading-level: -", ""])


def held(thing: Any) -> list[str]:
    """Say which names a registry has."""
    several = isinstance(thing, dict | tuple | list | frozenset)
    keys = [f"``{key}``" for key in thing] if several else [f"``{thing!r}``"]
    return [", ".join(keys), ""]


def methods_from_others(kind: type) -> Iterator[tuple[str, type]]:
    """Yield the methods that a class has from others of the package, each with the class on whose page it is shown.

    That is the furthest of its public bases which has it, or the class itself where none has.
    """
    for name in dir(kind):
        method = inspect.getattr_static(kind, name)
        base = next(one for one in kind.__mro__ if name in vars(one))
        ours = base is not kind and base.__module__.startswith("cofactor")
        if ours and not name.startswith("_") and isinstance(method, FunctionType | classmethod | staticmethod):
            same = [one for one in kind.__mro__ if inspect.getattr_static(one, name, None) is method]
            yield name, [one for one in same if public_place(one)][-1]


def inherited(kind: type) -> list[str]:
    """Return the methods that a class has from others: in full where no public base shows them, else as links."""
    own, links = [], {}
    for name, shown in methods_from_others(kind):
        if shown is kind:
            own += [f"   .. automethod:: {name}", ""]
        else:
            place = f"{public_place(shown)}.{shown.__name__}"
            links.setdefault(place, []).append(f":py:meth:`~{place}.{name}`")
    return [*own, *(f"From :py:class:`~{place}`: {', '.join(found)}.\n" for place, found in links.items())]


def public_place(kind: type) -> str | None:
    """Return the package on whose pages a class is shown."""
    offered = (place for place in PACKAGES if kind.__name__ in import_module(place).__all__)
    return next((place for place in offered if getattr(import_module(place), kind.__name__) is kind), None)


def write_api(app: Any) -> None:
    """Write a page for each public name, one for each package, and their index."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    wanted = {"index.rst": api_index()}
    for package, names in public_names().items():
        wanted[f"{package}.rst"] = package_page(package, names)
        wanted |= {f"{package}.{name}.rst": page_of(package, name) for name in names}
    for name, text in wanted.items():  # a page that did not change is not read again
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in set(folder.glob("*.rst")) - {folder / name for name in wanted}:
        path.unlink()


def api_index() -> str:
    """Return the page that lists the packages."""
    lines = ["API", "===", "", "Every public name, by package.", "", ".. list-table::", "   :widths: 40 60", ""]
    for package, what in PACKAGES.items():
        lines += [f"   * - :doc:`{package}`", f"     - {what}"]
    return "\n".join([*lines, "", ".. toctree::", "   :hidden:", "", *(f"   {package}" for package in PACKAGES), ""])


def package_page(package: str, names: list[str]) -> str:
    """Return the table of the names of one package."""
    module = import_module(package)
    text = " ".join((inspect.getdoc(module) or "").split("\n\n")[0].split())
    lines = [package, "=" * len(package), "", f".. currentmodule:: {package}", "", text, ""]
    lines += [".. list-table::", "   :widths: 40 60", ""]
    for name in names:
        lines += [f"   * - :doc:`{name} <{package}.{name}>`", f"     - {summary(getattr(module, name))}"]
    return "\n".join([*lines, "", ".. toctree::", "   :hidden:", "", *(f"   {package}.{name}" for name in names), ""])


#: Parts of the page of methods: the registry of each, and its title.
REGISTRIES = {
    "ratings": ("cofactor.ratings", "MODELS", "Ratings"),
    "ratings.ranking": ("cofactor.ratings.ranking", "MODELS", "Interactions"),
    "labels": ("cofactor.labels", "MODELS", "Labels"),
    "labels.transformers": ("cofactor.labels", "TRANSFORMERS", "Features before a label model"),
}


def write_methods(app: Any) -> None:
    """Write the page of methods: of each the objective in its docstring, and when to take it."""
    folder = Path(app.srcdir) / "guide"
    when = tomllib.loads((folder / "methods.toml").read_text(encoding="utf-8"))
    lines = ["Methods", "=======", "", METHODS, ""]
    for part, (package, registry, title) in REGISTRIES.items():
        lines += [title, "-" * len(title), ""]
        for name, kind in getattr(import_module(package), registry).items():
            take, leave = when[part][name]
            lines += [name, "^" * len(name), "", *objective(kind), ""]
            link = f":py:class:`~{public_place(kind)}.{name}`"
            lines += [f"**Take it** where {take}. **Not** where {leave}. More: {link}.", ""]
    text = "\n".join(lines)
    path = folder / "methods.rst"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


METHODS = """What each method minimises or draws, when to take it and when not. Symbols are those of :doc:`../notation`;
the whole model, with its corrections and references, stands on its page. Not sure? :doc:`choosing` is shorter."""


def objective(kind: type) -> list[str]:
    """Return the first paragraph of a docstring, and its first formula."""
    text = (inspect.getdoc(kind) or "").split("\nParameters\n")[0]
    formula = re.search(r"^([ ]*)\.\. math::.*\n(?:\1[ ]+.*\n|[ ]*\n)+", text + "\n", re.M)
    return [text.split("\n\n")[0], "", *([textwrap.dedent(formula[0])] if formula else [])]


def skip_foreign(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out methods of scikit-learn, whose docstrings refer to its own pages."""
    return True if (getattr(thing, "__module__", None) or "").startswith("sklearn") else None


def true_signature(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str, str] | None:
    """Show the parameters of a model's constructor: Sphinx sees those of what checks their names before it."""
    if what != "class" or signature is None or not re.fullmatch(r"\(\*args, \*\*\w+\)", signature):
        return None
    true = inspect.signature(thing)
    if all(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in true.parameters.values()):
        return "", ""  # a base class, which is not called
    return stringify_signature(true, show_annotation=False, show_return_annotation=False), ""


def without_builtin(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Leave out what Python says of a number, a text or a tuple where it was asked about one of ours."""
    if what in ("data", "attribute") and lines and inspect.getdoc(type(thing)) == inspect.getdoc(thing):
        lines.clear()


def lead_to_corrections(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Make links of the corrections of the papers that a docstring cites."""

    def linked(cited: re.Match[str]) -> str:
        return "correction " + re.sub(r"C(\d+)(a?)", r"`C\1\2 <../corrections.html#c\1>`__", cited[1])

    lines[:] = [
        re.sub(r"(?:``docs/)?corrections\.md(?:``)?, (C\d+a?(?:(?:, | and | to )C\d+a?)*)", linked, line)
        for line in lines
    ]


def lead_inside(app: Any, name: str, source: list[str]) -> None:
    """Let links of Markdown pages to files beside docs/ lead to the pages that show them."""
    for outside, page in OUTSIDE.items():
        up = "../" * name.count("/")
        source[0] = source[0].replace(f"]({up}{outside}", f"]({up}{page}")
    source[0] = re.sub(r"\]\(docs/", "](", source[0])


def keep_together(app: Any, document: nodes.document) -> None:
    """Let no line of a table end between a number and its deviation."""
    for cell in document.findall(nodes.entry):
        for text in list(cell.findall(nodes.Text)):
            if " ± " in text:
                text.parent.replace(text, nodes.Text(text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")))


def returned_picture(block: Any, script: Any, gallery: Any) -> str:
    """Show the picture that a block of an example ends with: pyplot does not know of those of the package."""
    from matplotlib.axes import Axes
    from sphinx_gallery.scrapers import figure_rst

    last_line = ast.parse(block.content).body[-1:]
    returned = script["example_globals"].get("___")  # of this block, or of the last one that ends in an expression
    if not (last_line and isinstance(last_line[0], ast.Expr) and isinstance(returned, Axes)):
        return ""
    path = next(script["image_path_iterator"])
    returned.figure.savefig(path)
    return str(figure_rst([path], gallery["src_dir"]))


def quiet_look(gallery: Any, example: Any) -> None:
    """Give what examples draw themselves the look of the pictures of the package."""
    import matplotlib

    from cofactor.plots import OKABE_ITO

    matplotlib.rcParams.update(
        {
            "axes.edgecolor": "#8C8C8C",
            "axes.prop_cycle": matplotlib.cycler(color=OKABE_ITO),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.dpi": 150,
            "legend.frameon": False,
        }
    )


def visit_inline(self: Any, node: nodes.Element) -> None:
    """Write a formula in a line as MathML."""
    self.body.append(mathml(node, block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.Element) -> None:
    """Write a formula on its own as MathML, in a box that scrolls."""
    self.body.append(f'<div class="math" tabindex="0">{mathml(node, block=True)}</div>')
    raise nodes.SkipNode


#: What the translator to MathML does not know, in words that it knows.
SAID_OTHERWISE = (
    (r"\\iff(?![a-z])", r"\\Longleftrightarrow"),
    (r"\\[d]?dots(?![a-z])", r"\\ldots"),
    (r"\\tag\{([^}]*)\}", r"\\qquad (\1)"),
    (r"\\([td]?frac) ?(\w) ?(\w)", r"\\\1{\2}{\3}"),
    (r"\\texttt\{", r"\\mathrm{"),
    (r"\\(?:[bB]igg?|textstyle)(?![a-zA-Z])", ""),
)


def mathml(node: nodes.Element, *, block: bool) -> str:
    """Return a formula as MathML."""
    text = node.astext()
    for said, otherwise in SAID_OTHERWISE:
        text = re.sub(said, otherwise, text)
    if block and r"\\" in text and r"\begin" not in text:
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    try:
        return str(tex2mathml(text, as_block=block))
    except MathError as error:
        logger.warning("formula: %s in %s", error, text, location=node)
        return f"<code>{escape(text)}</code>"


def compile_template_once() -> None:
    """Lend numpydoc one environment of templates: it makes one for each docstring, a twelfth of a build."""
    templates = FileSystemLoader(Path(docscrape_sphinx.__file__).parent / "templates")
    environment = SandboxedEnvironment(loader=templates)
    docscrape_sphinx.SandboxedEnvironment = lambda loader: environment


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of all this."""
    compile_template_once()
    app.connect("builder-inited", write_api)
    app.connect("builder-inited", write_methods)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-signature", true_signature)
    app.connect("autodoc-process-docstring", without_builtin, priority=100)  # before numpydoc rewrites docstrings
    app.connect("autodoc-process-docstring", lead_to_corrections)
    app.connect("source-read", lead_inside)
    app.connect("doctree-read", keep_together)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
