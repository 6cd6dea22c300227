"""Which code a result depends on: the sources of all modules that take part, found by what they import.

A key must change when a changed estimator, metric, splitter or reader could give another figure, and must not when a
picture or a page does. So the modules of this package, and those of the user, are followed from import to import, by
their text alone; of other packages the version stands for the code.

* ``from package import name`` leads to the module which defines the name, and not to all that the package re-exports.
  The ``__init__`` of a package takes part only where the name is defined there, and then with what it uses itself.
* Imports inside functions count, those under ``if TYPE_CHECKING:`` do not, and neither does a bare
  ``import cofactor``. In the ``__init__`` of a package the latter say where its names come from, see
  `cofactor.lazy.exports`.
* Files of data beside a module of this package, such as the published matrices, count with it.
* What only shows results (`SHOWN`) never takes part, whoever imports it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from cofactor.errors import InvalidTypeError

__all__ = ["SHOWN", "UnsourcedError", "closure", "code_digest"]

SHOWN = frozenset({"__main__", "cli", "docs", "pages", "plots", "reports", "server", "tasks", "version"})
"""Parts of this package which show results, or name its version, and do not influence them."""

_ALWAYS = ("numpy", "scipy", "scikit-learn", "numba")  #: packages whose versions are in every key
_REGISTRIES = frozenset({"cofactor.ratings", "cofactor.labels"})
_PACKAGE = "cofactor"
_ROOT = Path(__file__).parents[2]
_STANDARD = Path(os.__file__).parent
_SITES = {"site-packages", "dist-packages"}
_CODE = {".py", ".pyc", ".pyi", ".typed"}
_COMPILED = {"__pycache__", "prebuilt"}  #: folders of what is compiled from sources, which count already


class UnsourcedError(InvalidTypeError):
    """Code without a source file, so that changes of it would not be seen."""


def code_digest(modules: Iterable[str], version: str = "", *, registries: bool = True) -> str:
    """Return a digest of the sources which take part in what some modules compute, and of the versions of packages.

    Parameters
    ----------
    modules : iterable of str
        Names of the modules where it begins.
    version : str, default=""
        Stands for code of the user: with it, their modules are not looked at.
    registries : bool, default=True
        Whether to follow the registries, `cofactor.ratings.MODELS` and those of labels, to all models; not where the
        models that take part are among `modules`.

    Raises
    ------
    UnsourcedError
        If a module has no source file, and there is no version.

    Examples
    --------
    >>> first = code_digest(["cofactor.ratings.factors.als"])
    >>> first == code_digest(["cofactor.ratings.factors.als", "pathlib"]) != code_digest(["cofactor.metrics.ratings"])
    True
    """
    return _digest(frozenset(modules), version, registries)


@cache
def _digest(modules: frozenset[str], version: str, registries: bool) -> str:
    ours = frozenset(name for name in modules if _is_ours(name))
    given = [f"version {version}"] if version else []
    followed, packages = closure(ours if version else modules, registries=registries)
    packages |= {found for name in modules if (found := _distribution(name))}
    sources = [f"{name} {_source(name).digest}" for name in sorted(followed)]
    versions = [f"{name} {_version(name)}" for name in sorted({*_ALWAYS, *packages})]
    return hashlib.sha256("\n".join([*given, *sources, *versions]).encode()).hexdigest()


def closure(modules: Iterable[str], *, registries: bool = True) -> tuple[set[str], set[str]]:
    """Return the modules that take part with their sources, and the packages that do with their versions.

    Parameters
    ----------
    modules : iterable of str
        Names of modules; those of Python itself are left out.
    registries : bool, default=True
        Whether to follow the registries to all models.

    Returns
    -------
    sources : set of str
        Modules of this package and of the user.
    packages : set of str
        Installed packages that modules of the user import.

    Examples
    --------
    >>> sources, _ = closure(["cofactor.ratings.factors.als"])
    >>> "cofactor.problems.base" in sources, "cofactor.plots" in sources, "cofactor.labels.base" in sources
    (True, False, False)
    """
    sources: set[str] = set()
    packages: set[str] = set()
    waiting = [name for name in modules if _is_followed(name)]
    while waiting:
        name = waiting.pop()
        if name in sources:
            continue
        sources.add(name)
        if name in _REGISTRIES and not registries:
            continue
        for target in _source(name).imports:
            if _is_followed(target):
                waiting += [target] if _file(target) else []  # nothing is known of what is not installed
            elif not _is_ours(name) and (found := _distribution(target)):
                packages.add(found)
    return sources, packages


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE


def _is_followed(module: str) -> bool:
    """Whether the source of a module takes part: of this package but for what shows, and of the user."""
    parts = module.split(".")
    if parts[0] == _PACKAGE:
        return len(parts) == 1 or parts[1] not in SHOWN
    return parts[0] not in sys.stdlib_module_names and not _distribution(module)


@cache
def _distribution(module: str) -> str:
    """Return the package, as pip knows it, that a module was installed with; empty for Python, us and the user."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in (_PACKAGE, "__main__"):
        return ""
    file = _file(top)
    if file is None:
        return ""
    return ", ".join(sorted(set(_distributions().get(top, [])))) if _SITES & set(file.parts) else ""


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(importlib.metadata.packages_distributions())


def _version(packages: str) -> str:
    return " ".join(importlib.metadata.version(name) for name in packages.split(", "))


# ---------------------------------------------------------------- one module


class _Source(NamedTuple):
    """What the text of a module says."""

    digest: str
    imports: frozenset[str]  #: modules that it uses


@cache
def _source(module: str) -> _Source:
    file = _file(module)
    if file is None or not file.is_file():
        where = "this session" if module == "__main__" else f"the module {module}"
        raise UnsourcedError(
            f"{where} has no source file, so that changes of its code would not be seen",
            advice="keep the code in a file and import it, or pass a version, and another one after each change",
        )
    text = file.read_bytes()
    digest = hashlib.sha256(text + _data_beside(file.parent) if _is_ours(module) else text).hexdigest()
    if file.suffix != ".py":  # compiled
        return _Source(digest, frozenset())
    tree = ast.parse(text)
    if _is_package(module):  # with what is imported there only to be found there, nothing is done
        used = _used(tree)
        found = frozenset(target for target, bound in _imported(module, ast.walk(tree)) if bound in used)
    else:
        found = frozenset(target for target, _ in _imported(module, _without_types(tree)))
    return _Source(digest, found - {module})


def _used(tree: ast.Module) -> set[str]:
    """Return the names that a package uses or lists in a registry: all strings but those of ``__all__``."""
    exported = {node for one in tree.body if _is_list_of_names(one) for node in ast.walk(one)}
    return {
        str(getattr(node, "id", None) or getattr(node, "value", None))
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Constant) and node not in exported
    }


def _is_list_of_names(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == "__all__"


@cache
def _data_beside(folder: Path) -> bytes:
    """Return a digest of the files of data in a folder of this package, and in those below it without modules."""
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name not in _COMPILED and not (path / "__init__.py").exists():
            total.update(path.name.encode() + _data_beside(path))
        elif path.is_file() and path.suffix not in _CODE:
            total.update(path.name.encode() + path.read_bytes())
    return total.digest()


def _imported(module: str, nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield each module that is imported, and the name which stands for it."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name != _PACKAGE:
                    yield alias.name, alias.asname or alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            for alias in node.names:
                yield _definer(base, alias.name), alias.asname or alias.name


def _without_types(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements but those under ``if TYPE_CHECKING:``; most nodes are expressions, which import nothing."""
    waiting: deque[ast.AST] = deque([tree])
    while waiting:
        node = waiting.popleft()
        yield node
        if isinstance(node, ast.If) and any(map(_is_type_checking, ast.walk(node.test))):
            waiting.extend(node.orelse)
        else:
            waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


def _is_type_checking(node: ast.AST) -> bool:
    return "TYPE_CHECKING" in (getattr(node, "id", None), getattr(node, "attr", None))


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """Return the module that an import names, also where it begins with dots."""
    if not node.level:
        return node.module or ""
    package = module.split(".") if _is_package(module) else module.split(".")[:-1]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


@cache
def _definer(module: str, name: str) -> str:
    """Return the module in which a name is defined that is imported from a module."""
    if not _is_followed(module) or not _is_package(module):
        return module
    if _file(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    file = _file(module)
    assert file is not None  # a package has one
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _definer(_absolute(module, node), alias.name)
    return _of_lazy(module, name, tree)


def _of_lazy(module: str, name: str, tree: ast.Module) -> str:
    """Return the module of a name which a package fetches when it is asked for it, by ``__getattr__``."""
    if any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body):
        value = getattr(importlib.import_module(module), name, None)
        if isinstance(value, ModuleType):
            return value.__name__
        written = getattr(value, "__module__", None) if callable(value) else None
        if isinstance(written, str) and written != module:
            return written
    return module


@cache
def _file(module: str) -> Path | None:
    """Return the file of a module, None where there is none."""
    parts = module.split(".")
    if parts[0] == _PACKAGE:
        path = _ROOT.joinpath(*parts[1:])
        found = path / "__init__.py" if path.is_dir() else path.with_name(path.name + ".py")
        return found if found.is_file() else None
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if loaded is None:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            return None
        file = spec.origin if spec is not None and spec.has_location else None
    return Path(file) if file else None


def _is_package(module: str) -> bool:
    file = _file(module)
    return file is not None and file.name == "__init__.py"
