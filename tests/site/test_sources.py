"""The sources of the site: every public name has an example, every method a paragraph, every call exists."""

import ast
import importlib
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import cofactor

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))

#: Packages that belong to shells and to the engine: whoever uses the package does not meet them.
INTERNAL = {
    *("checks", "chunked", "cli", "columns", "files", "frames", "headers", "interrupts", "kernels", "lazy", "limits"),
    *("model", "pages", "persistence", "problems", "progress", "published", "rating_scale", "reports", "samplers"),
    *("schema", "server", "service", "text", "typing", "version", "warming"),
}


@pytest.fixture(scope="module")
def extension() -> Any:
    pytest.importorskip("sphinx", reason="the site needs the extra docs")
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        yield importlib.import_module("extension")
    finally:
        sys.path.remove(str(ROOT / "docs"))


def used_names(path: Path) -> set[str]:
    """Return the names that an example imports, and those that its text refers to."""
    text = path.read_text(encoding="utf-8")
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    imported = {name.name for node in nodes if (node.module or "").startswith("cofactor") for name in node.names}
    attributes = {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    return imported | attributes | set(re.findall(r"`~cofactor\.(?:\w+\.)*(\w+)`", text))


def has_doctest(thing: Any) -> bool:
    """Whether a docstring that the site shows in full tells how something is used."""
    return ">>>" in (thing.__doc__ or "") and getattr(thing, "__module__", "cofactor").startswith("cofactor")


def test_every_package_is_public_or_internal(extension: Any) -> None:
    folder = Path(cofactor.__file__).parent
    known = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    public = {package.split(".")[1] for package in extension.PACKAGES if "." in package}
    assert known - {"__init__", "__main__"} == public | INTERNAL
    assert not public & INTERNAL


def test_every_public_name_has_an_example(extension: Any) -> None:
    shown = set().union(*(used_names(path) for path in EXAMPLES))
    missing = [
        f"{package}.{name}"
        for package, names in extension.public_names().items()
        for name in names
        if name not in shown and not has_doctest(getattr(importlib.import_module(package), name))
    ]
    assert missing == []


def test_every_method_has_its_paragraph(extension: Any) -> None:
    when = tomllib.loads((ROOT / "docs" / "guide" / "methods.toml").read_text(encoding="utf-8"))
    assert set(when) == set(extension.REGISTRIES)
    for part, (package, registry, _) in extension.REGISTRIES.items():
        names = set(getattr(importlib.import_module(package), registry))
        assert set(when[part]) == names, f"each model needs a line in docs/guide/methods.toml, [{part}]"
        assert all(len(halves) == 2 and all(halves) for halves in when[part].values())


@pytest.mark.parametrize("page", ["ratings", "labels"])
def test_every_method_has_a_row_in_its_guide(extension: Any, page: str) -> None:
    lines = (ROOT / "docs" / "guide" / f"{page}.md").read_text(encoding="utf-8").splitlines()
    rows = {name for line in lines if line.startswith("|") for name in re.findall(r"`(\w+)", line.split("|")[1])}
    parts = [of for part, of in extension.REGISTRIES.items() if part.partition(".")[0] == page]
    names = {name for package, registry, _ in parts for name in getattr(importlib.import_module(package), registry)}
    assert len(names) > 20
    assert names <= rows, f"each model needs a row in docs/guide/{page}.md"


def test_the_pictures_are_those_of_their_script() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        pictures = importlib.import_module("pictures")
    finally:
        sys.path.remove(str(ROOT / "docs"))
    for name, text in (("chooser.svg", pictures.chooser()), ("front.svg", pictures.front())):
        assert (ROOT / "docs" / "_static" / name).read_text(encoding="utf-8") == text, "run python docs/pictures.py"


def test_models_of_the_chooser_exist(extension: Any) -> None:
    from cofactor import labels, ratings

    pages = (ROOT / "docs" / "guide" / "choosing.md").read_text(encoding="utf-8")
    named = re.findall(r"\[(\w+)\]\(\.\./api/cofactor\.(\w+)\.(\w+)\)", pages)
    assert len(named) > 25
    for shown, package, name in named:
        assert shown == name
        assert name in {"ratings": ratings, "labels": labels}[package].__all__


def test_there_are_enough_examples() -> None:
    assert len(EXAMPLES) >= 24


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_a_text_and_a_picture(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    title, line, _, *rest = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert "".join(rest).strip()
    assert re.search(r"\bplot_\w+\(|plt\.subplots", text)
    private = re.findall(r"cofactor\.(?:\w+\.)*_\w+", text)
    assert private == []
    modules = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert all(module.count(".") < 2 for module in modules if module.startswith("cofactor")), "public packages only"


def test_calls_beside_those_of_other_libraries_exist() -> None:
    from cofactor import datasets, evaluation, labels, ratings

    table = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8").splitlines()
    how_to = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "how-to").glob("*.md")]
    ours = [row.split(" | ")[1] for row in table if row.startswith("| `")]
    told = [re.sub(r"(?s)```.*?```", "", page) for page in how_to]
    calls = {
        name
        for text in (*ours, *told)
        for code in re.findall(r"`([^`]+)`", text)
        for name in re.findall(r"(?<![.\w])([A-Z]\w+)\(", code)
    }
    assert len(calls) > 30
    foreign = {"DecisionTreeClassifier", "GridSearchCV", "KFold", "LinearSVC", "LogisticRegression", "MultinomialNB"}
    foreign |= {"SUM", "SVC", "TfidfVectorizer"}
    packages = (datasets, evaluation, labels, ratings)
    assert sorted(name for name in calls - foreign if not any(hasattr(one, name) for one in packages)) == []
