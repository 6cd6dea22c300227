"""Where code comes from, and what it is where it may change at any time: in a script, a notebook, a module at hand."""

from __future__ import annotations

import dis
import hashlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator
from functools import cache, cached_property, lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["Code", "closure", "facts", "is_wrapper", "module_of", "origin", "wrapped"]

Code = FunctionType | type | ModuleType
"""What may change when somebody edits a file."""

_STANDARD = Path(os.__file__).parent
_SITES = {"site-packages", "dist-packages"}

#: What holds functions, and under which names.
_WRAPPERS: dict[type, tuple[str, ...]] = {
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    cached_property: ("func",),
    type(lru_cache(len)): ("__wrapped__",),
}

#: Of a code object all but its constants, its file and its lines.
_CODE = (
    "co_code",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_flags",
    "co_exceptiontable",
)

_READS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}


@cache
def origin(module: str) -> str | None:
    """Return the version of the package that a module comes from, None if its code may change while that does not.

    It is empty for Python itself, and for this package, whose version is in each key anyhow.

    Examples
    --------
    >>> origin("cofactor.ratings"), origin("pathlib"), origin("__main__")
    ('', '', None)
    >>> origin("sklearn.dummy").split()[0]
    'scikit-learn'
    """
    top = module.partition(".")[0]
    loaded = sys.modules.get(module) or sys.modules.get(top)
    file = getattr(loaded, "__file__", None)
    inside = Path(file) if file else None
    if top == "cofactor":
        return ""
    if inside is None:
        return "" if top in sys.stdlib_module_names else None
    if _SITES & set(inside.parts):
        found = sorted(set(_distributions().get(top, [])))
        return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in found) or None
    return "" if inside.is_relative_to(_STANDARD) else None


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(importlib.metadata.packages_distributions())


def module_of(code: Any) -> str:
    """Return the name of the module which a function, a class or a module is written in.

    A wrapper calls itself like the function inside of it; its globals tell where it is written.
    """
    if isinstance(code, FunctionType):
        return str(code.__globals__.get("__name__", ""))
    return code.__name__ if isinstance(code, ModuleType) else str(code.__module__)


def is_wrapper(value: Any) -> bool:
    """Whether this is a property, a cached function or the like: nothing but the functions it holds."""
    return type(value) in _WRAPPERS or _is_compiled(value)


def wrapped(value: Any) -> dict[str, Any]:
    """Return what a wrapper holds, by name."""
    names = ("py_func", "targetoptions") if _is_compiled(value) else _WRAPPERS[type(value)]
    return {name: getattr(value, name) for name in names}


def _is_compiled(value: Any) -> bool:
    """Whether this is a function compiled by Numba; such ones say of themselves when they were made."""
    kind = type(value)
    return kind.__module__.startswith("numba.") and isinstance(getattr(value, "py_func", None), FunctionType)


def facts(code: Code) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a function, a class or a module holds of its own, and what else it uses, by name."""
    if isinstance(code, ModuleType):
        return _module_facts(code)
    if isinstance(code, type):
        return {"bases": list(code.__bases__)}, dict(_members(code))
    own = {
        "code": _instructions(code.__code__),
        "closure": closure(code),
        "defaults": code.__defaults__,
        "keywords": code.__kwdefaults__,
    }
    attributes = {name: value for name, value in vars(code).items() if name != "__wrapped__"}
    return own, {"attributes": attributes, "globals": _globals(code)}


def closure(function: FunctionType) -> list[Any]:
    """Return the values which a function took along from where it was made; empty places as None."""
    return [_content(cell) for cell in function.__closure__ or ()]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _instructions(code: CodeType) -> dict[str, Any]:
    """Return a code object in parts, those of functions inside of it as well."""
    constants = [_instructions(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return {"constants": constants, **{name: getattr(code, name) for name in _CODE}}


def _globals(function: FunctionType) -> dict[str, Any]:
    """Return the globals which a function reads."""
    space = function.__globals__
    return {name: space[name] for name in sorted(set(_global_names(function.__code__))) if name in space}


def _global_names(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in _READS:
            yield step.argval
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _global_names(one)


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield methods and attributes of a class, without what Python notes about it."""
    for name, value in vars(kind).items():
        noted = name.startswith("__") and name.endswith("__") and not isinstance(value, FunctionType)
        if name != "_abc_impl" and not (noted and not is_wrapper(value)):
            yield name, value


def _module_facts(module: ModuleType) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the text of a module, and what else of one's own it takes from others."""
    file = getattr(module, "__file__", None)
    text = Path(file).read_bytes() if file and Path(file).is_file() else b""
    others = {
        name: value
        for name, value in sorted(vars(module).items())
        if isinstance(value, FunctionType | type | ModuleType) and module_of(value) != module.__name__
    }
    return {"text": hashlib.sha256(text).hexdigest()}, others
