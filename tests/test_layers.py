"""Imports go only downward, and importing the package stays light."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import cofactor

ROOT = Path(cofactor.__file__).parent

#: From the lowest to the highest. A package may import those below it, and its neighbours in the same layer.
LAYERS = (
    {"errors", "text", "typing", "files", "pages", "published"},
    {"kernels"},
    {"losses", "penalties"},
    {"solvers", "samplers"},
    {"problems"},
    {"metrics", "datasets", "persistence", "correlation"},
    {"model"},
    {"ratings", "labels"},
    {"plots"},
    {"evaluation"},
    {"reports"},
    {"experiments"},
    {"cli"},
)
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
#: What `cofactor` itself offers: its version to everyone, the rest to those above the estimators.
FACADE = dict.fromkeys(cofactor.__all__, HEIGHT["ratings"]) | {"__version__": -1}
#: Neighbours that must not know of each other.
STRANGERS = {("ratings", "labels"), ("labels", "ratings")}

HEAVY = (
    *("matplotlib", "pandas", "polars", "pooch", "typer", "rich", "arff", "cvxpy", "arviz", "xarray"),
    *("scikit_posthocs", "seaborn", "statsmodels"),
)


def modules() -> list[Path]:
    return sorted(
        path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem not in {"__init__", "__main__"}
    )


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(source: str, path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and top-level name below `cofactor` of everything imported, also inside functions."""
    parents = ["cofactor", *path.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name != "cofactor"]
        elif isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from cofactor import kernels` names the package among the names.
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "cofactor" else [module]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "cofactor":
            if node.attr.startswith("__"):  # cofactor.__version__, cofactor.__file__
                continue
            names = [f"cofactor.{node.attr}"]  # after `import cofactor`
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "cofactor":
                yield node.lineno, parts[1]


def violations(source: str, path: Path) -> list[str]:
    here = package_of(path)
    found = []
    for line, target in imports(source, path):
        height = (HEIGHT | FACADE).get(target, len(LAYERS))
        if target != here and (height > HEIGHT[here] or (here, target) in STRANGERS):
            found.append(f"{path.relative_to(ROOT)}:{line} imports {target}")
    return found


def test_every_module_has_a_layer() -> None:
    unknown = {package_of(path) for path in modules()} - set(HEIGHT)
    assert not unknown, f"give {sorted(unknown)} a place in LAYERS"
    assert {"kernels", "losses", "penalties", "solvers", "problems", "ratings"} <= {package_of(p) for p in modules()}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_only_downward(path: Path) -> None:
    assert violations(path.read_text(encoding="utf-8"), path) == []


@pytest.mark.parametrize(
    ("where", "source"),
    [
        ("kernels/a.py", "from cofactor.losses import Squared"),
        ("solvers/a.py", "import cofactor.problems.observed"),
        ("datasets/a.py", "def f():\n    from cofactor.ratings.data import Ratings"),
        ("labels/a.py", "from cofactor import ratings"),
        ("losses/a.py", "from .. import problems"),
        ("losses/a.py", "from ..solvers.result import Result"),
        ("metrics/a.py", "import cofactor\nx = cofactor.ratings.MMMF"),
        ("persistence.py", "from cofactor import load"),
        ("penalties.py", "from .problems import Layout"),
    ],
)
def test_an_upward_import_is_found(where: str, source: str) -> None:
    assert len(violations(source, ROOT / where)) == 1


@pytest.mark.parametrize(
    ("where", "source"),
    [
        (
            "problems/a.py",
            "from cofactor.solvers import lbfgs\nfrom cofactor.penalties import L2\nimport numpy",
        ),
        (
            "kernels/a.py",
            "from . import threads\nfrom .compile import kernel\nfrom cofactor import __version__",
        ),
        ("evaluation/a.py", "from cofactor.metrics import ratings"),
        ("persistence.py", "import cofactor\nx = cofactor.__version__"),
        ("cli/main.py", "from cofactor import load"),
    ],
)
def test_a_downward_import_is_allowed(where: str, source: str) -> None:
    assert violations(source, ROOT / where) == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, cofactor; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    assert run(code).split() == []


def test_no_module_but_the_command_line_needs_heavy_packages() -> None:
    """Every other module imports where they cannot be imported (scikit-learn itself takes pandas)."""
    names = []
    for path in modules():
        parts = ["cofactor", *path.relative_to(ROOT).with_suffix("").parts]
        if parts[1] != "cli":
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    assert "cofactor.ratings" in names
    lines = ["import importlib, sys", f"sys.modules.update(dict.fromkeys({HEAVY!r}))"]
    lines += [f"for name in {names!r}: importlib.import_module(name)", "print('imported')"]
    assert run("\n".join(lines)) == "imported\n"


def run(code: str) -> str:
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout
