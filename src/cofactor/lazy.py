"""Names that are loaded when they are used, so that to import a package costs little."""

from __future__ import annotations

import ast
import gc
import sys
from collections import UserDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Self, TypeVar, cast

_Value = TypeVar("_Value")


def exports(package: str, *, before: str = "") -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, which loads a name when it is used.

    Public are the names that the package imports as themselves below ``if TYPE_CHECKING:``, in the form which says so
    to type checkers and editors too, and what it defines itself without a leading underscore.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    before : str, optional
        A module that is imported before any of those in the package that names come from, which need it. Their imports
        reach it many calls deep, and there it may take longer: Python 3.11 and later keep the frames of calls in chunks
        of 16 KB, and a loop at the end of one asks the system for another, and gives it back, in each turn.

    Examples
    --------
    A package has these lines::

        if TYPE_CHECKING:
            from package.module import Model as Model

        __getattr__, __dir__, __all__ = exports(__name__)
    """
    module = sys.modules[package]
    spec = module.__spec__
    source = ast.parse(spec.loader.get_source(package))  # type: ignore[union-attr]  # an imported package has both
    origins = {
        alias.name: str(node.module)
        for block in source.body
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    defined = [node.name for node in source.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    defined += [ast.unparse(node.target) for node in source.body if isinstance(node, ast.AnnAssign)]
    names = sorted({*origins, *(name for name in defined if not name.startswith("_"))})

    def load(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with gc_disabled(lasting=True):
            if origins[name] == package:
                value = import_module(f"{package}.{name}")
            else:
                if before:
                    import_module(before)
                value = getattr(import_module(origins[name]), name)
        setattr(module, name, value)
        return value

    return load, lambda: sorted({*vars(module), *names}), names


class Registry(UserDict[str, _Value]):
    """What a package has by name, such as models: a value that is the name of a package is asked of it when it is used.

    Examples
    --------
    >>> solvers = Registry.of("cofactor.solvers", "lbfgs")
    >>> list(solvers), solvers["lbfgs"].__module__
    (['lbfgs'], 'cofactor.solvers.lbfgs')
    """

    data: dict[str, Any]

    @classmethod
    def of(cls, package: str, *names: str) -> Self:
        """Return a registry of what a package has by these names."""
        return cls(dict.fromkeys(names, cast(Any, package)))

    def __getitem__(self, name: str) -> _Value:
        """Return a value; it is loaded the first time."""
        value = self.data[name]
        if isinstance(value, str):
            value = self.data[name] = getattr(import_module(value), name)
        return value


@contextmanager
def gc_disabled(*, lasting: bool = False) -> Iterator[None]:
    """Collect no garbage within the block: for compilers and imports, a tenth and a sixth of whose time it takes.

    Parameters
    ----------
    lasting : bool, default=False
        Whether what the block makes stays, as modules do: all objects then count as old, and the next search for
        garbage among young ones, which would look at each of them, has nothing to do.

    Examples
    --------
    >>> import gc
    >>> with gc_disabled():
    ...     gc.isenabled()
    False
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            # Few objects cost the next search nothing. Who froze objects wants them to stay; to count them takes long.
            if lasting and gc.get_count()[0] > gc.get_threshold()[0] and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()  # puts them among the oldest
            gc.enable()
