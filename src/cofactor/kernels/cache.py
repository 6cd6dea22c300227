"""Compiled kernels on disk: one file for each specialisation, named by a hash of all that its code depends on.

The name covers versions and settings of the compiler, the processor, the signature, what a closure holds, and the
sources of all modules of ours that the kernel's module imports, directly or not. So a file is right wherever its name
fits: clones and environments of a user share one folder, and an upgrade that leaves kernels alone compiles nothing.
There is no index and no lock: files are written whole, under their final name, or not at all. The file of a kernel
holds the code of all that it calls.

A wheel may hold kernels that were compiled ahead, for any processor of the level x86-64-v3 (AVX2 and fused products).
They are taken first; what is not among them is taken from the user's folder, or compiled and put there.

Files are unpickled, so only those that the user or root wrote are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import stat
import sys
import time
import uuid
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import compiler, event, types
from numba.core.caching import _Cache
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from cofactor.files import cache_dir
from cofactor.progress import Compilation, log_line

#: Processors for which kernels are built ahead, and what one of them must have.
BASELINE = "x86-64-v3"
_BASELINE_FEATURES = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "xsave")

#: Numba's own types do not know what it sets.
config: Any = numba.config
_CompileResult: Any = compiler.CompileResult
_dumps: Any = dumps

_FORMAT = 2
_SUFFIX = ".kernel"
_LIST = ".list"
_PACKAGE = Path(__file__).parents[1]
_COMPRESSION = 1  #: more takes longer than it saves


# ---------------------------------------------------------------- what a kernel depends on


@cache
def _module(path: Path) -> tuple[bytes, frozenset[Path]]:
    """Return the hash of a source file, and the files of this package that it imports.

    What it imports is read from its bytecode, which is there once a module has been imported: to parse the sources of a
    kernel would take as long as to load it. Of a package, what has the name of any text in a tuple is taken too.
    """
    code: Any = SourceFileLoader(path.stem, str(path)).get_code(path.stem)
    imported, waiting = set[Path](), [code]
    while waiting:
        code = waiting.pop()
        waiting += [one for one in code.co_consts if isinstance(one, CodeType)]
        texts = (one for one in code.co_consts if isinstance(one, tuple) for one in one if isinstance(one, str))
        listed = set(filter(str.isidentifier, texts))
        for name in code.co_names:
            package, *parts = name.split(".")
            if package == _PACKAGE.name:
                place = _PACKAGE.joinpath(*parts)
                places = [place, *map(place.joinpath, listed)] if place.is_dir() else [place]
                files = (file for one in places for file in (one.with_suffix(".py"), one / "__init__.py"))
                imported.update(file for file in files if file.is_file())
    return hashlib.sha256(path.read_bytes()).digest(), frozenset(imported)


@cache
def _sources(path: Path) -> str:
    """Return the hash of a source file and of all of this package that it imports, directly or not."""
    found, waiting = set[Path](), [path]
    while waiting:
        one = waiting.pop()
        if one not in found and one != Path(__file__):  # which says how kernels are kept, not what they do
            found.add(one)
            waiting += _module(one)[1]
    total = hashlib.sha256()
    for one in sorted(found):
        # The name within the package: a clone elsewhere has the same.
        name = one.relative_to(_PACKAGE).as_posix() if one.is_relative_to(_PACKAGE) else one.name
        total.update(name.encode() + b"\0" + _module(one)[0])
    return total.hexdigest()


@cache
def _compiler() -> dict[str, str]:
    """Return the versions and settings on which compiled code depends."""
    settings = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "USING_SVML")
    return {
        "format": str(_FORMAT),
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "Python": f"{sys.implementation.cache_tag}{sys.abiflags}" if hasattr(sys, "abiflags") else sys.version,
        "NumPy": np.__version__.partition(".")[0],
        "settings": " ".join(f"{name}={getattr(config, name, None)}" for name in settings),
    }


def _identity(function: Any) -> list[Any]:
    """Return what a kernel is: its name, the sources, and what its closure holds."""
    cells = [_value(cell.cell_contents) for cell in function.__closure__ or ()]
    return [function.__module__, function.__qualname__, _sources(Path(function.__code__.co_filename)), cells]


def _value(value: Any) -> Any:
    """Return something of a closure by which it is known in every process."""
    if hasattr(value, "py_func"):
        return _identity(value.py_func)
    if value is None or isinstance(value, (bool, int, float, str, np.dtype)):
        return repr(value)
    raise TypeError(f"a kernel's closure may hold numbers, texts and kernels; found {type(value).__name__}")


def closure_digest(function: Any) -> str:
    """Return a hash of what a function's closure holds; empty without one.

    Examples
    --------
    >>> def power(n):
    ...     return lambda x: x**n
    >>> closure_digest(power(2)) == closure_digest(power(2)) != closure_digest(power(3))
    True
    >>> closure_digest(power)
    ''
    """
    cells = [_value(cell.cell_contents) for cell in function.__closure__ or ()]
    return hashlib.sha256(repr(cells).encode()).hexdigest()[:12] if cells else ""


def _signature(kinds: Any) -> str:
    """Return the types of arguments; kernels among them by what they are, as their own text has an address."""
    if isinstance(kinds, types.Dispatcher):
        return repr(_identity(kinds.dispatcher.py_func))
    return f"({', '.join(map(_signature, kinds))})" if isinstance(kinds, tuple) else str(kinds)


# ---------------------------------------------------------------- folders


class Unusable(Exception):  # noqa: N818  it is no error for the user: kernels are compiled
    """A folder in which compiled kernels cannot be kept."""


def user_folder() -> Path:
    """Return the folder of compiled kernels of this user, whether or not it is there.

    It is ``kernels`` in ``COFACTOR_CACHE``; where only ``NUMBA_CACHE_DIR`` is set, ``cofactor`` in that; otherwise
    ``kernels`` in the cache folder of the operating system.

    Examples
    --------
    >>> user_folder().name in ("kernels", "cofactor")
    True
    """
    numba = os.environ.get("NUMBA_CACHE_DIR")
    if numba and not os.environ.get("COFACTOR_CACHE"):
        return Path(numba) / "cofactor"
    return cache_dir() / "kernels"


def prebuilt_folder() -> Path | None:
    """Return the folder of kernels that came with this package; None without one, or if they are not to be used.

    ``COFACTOR_PREBUILT=0`` leaves them unused, so that all is compiled for exactly this processor; so does a processor
    below the baseline, or another one named by ``NUMBA_CPU_NAME``.

    Examples
    --------
    >>> prebuilt_folder() is None or prebuilt_folder().is_dir()
    True
    """
    folder = Path(__file__).parent / "prebuilt"
    wanted = os.environ.get("COFACTOR_PREBUILT", "1") != "0" and config.CPU_NAME in (None, BASELINE)
    fits = all(map(_host_features().get, _BASELINE_FEATURES))
    return folder if wanted and fits and folder.is_dir() else None


@cache
def _host_features() -> dict[str, bool]:
    """Return what this processor has and has not; nothing if that is not known."""
    try:
        return dict(llvm.get_host_cpu_features())
    except RuntimeError:
        return {}


@cache
def _checked(folder: Path) -> Path:
    """Make the user's folder if it is not there, and return it.

    Raises
    ------
    Unusable
        If it cannot be made or read, or if another user could put files into it.
    """
    if not folder.is_absolute():
        raise Unusable("there is no home folder")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise Unusable(error.strerror or str(error)) from None
    if _of_others(found):
        raise Unusable("it belongs to another user, or others may write to it")
    return folder


def _of_others(found: os.stat_result) -> bool:
    """Return whether another user than this one and root may have written a folder or file."""
    if not hasattr(os, "geteuid"):  # Windows, where a user's folders are closed to others
        return False
    return found.st_uid not in (0, os.geteuid()) or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _read(path: Path, *, own: bool) -> tuple[dict[str, Any], bytes]:
    """Return the header of a file and its contents, which are as they were written; see `_write`.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    OSError, ValueError
        If it cannot be read, is damaged, or, of the user's own files, is not the user's.
    """
    with path.open("rb") as file:
        if own and _of_others(os.fstat(file.fileno())):
            raise ValueError("others may have written it")
        first, contents = file.readline(), file.read()
    try:
        header = json.loads(first)
    except ValueError:
        raise ValueError("it is damaged") from None
    if not isinstance(header, dict) or header.get("name") != path.stem:
        raise ValueError("it is that of another kernel")
    if header.get("sha256") != hashlib.sha256(contents).hexdigest():
        raise ValueError("it is damaged")
    return header, contents


def _write(path: Path, header: dict[str, Any], contents: bytes) -> None:
    """Write a file, which gets its name when it is whole."""
    header = {"name": path.stem, "sha256": hashlib.sha256(contents).hexdigest(), **header}
    temporary = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(json.dumps(header).encode() + b"\n" + contents)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


class StoredKernel(NamedTuple):
    """A compiled kernel on disk."""

    path: Path
    size: int  #: bytes
    current: bool  #: whether this installation uses it


def stored() -> Iterator[StoredKernel]:
    """Yield what is in the user's folder, files that were never finished included; nothing if it is unusable."""
    try:
        folder = _checked(user_folder())
    except Unusable:
        return
    for path in sorted(folder.glob("*")):
        with suppress(OSError):
            unfinished = path.suffix == ".part" and time.time() - path.stat().st_mtime > 3600
            if path.suffix in (_SUFFIX, _LIST) or unfinished:
                yield StoredKernel(path, path.stat().st_size, _is_current(path))


def _is_current(path: Path) -> bool:
    try:
        header, _ = _read(path, own=True)
    except (OSError, ValueError):
        return False
    if header["compiler"] != _compiler():
        return False
    source = _PACKAGE / header.get("file", "__init__.py")
    return source.is_file() and header.get("sources", _sources(source)) == _sources(source)


def fault() -> str:
    """Return why kernels cannot be kept in the user's folder; empty if they can."""
    try:
        return "" if os.access(_checked(user_folder()), os.W_OK) else "it cannot be written to"
    except Unusable as reason:
        return str(reason)


def clear() -> list[StoredKernel]:
    """Remove what this installation does not use from the user's folder, and return it."""
    removed = []
    for one in stored():
        if not one.current:
            with suppress(OSError):
                one.path.unlink()
                removed.append(one)
    return removed


# ---------------------------------------------------------------- Numba's side of it


class Counts(NamedTuple):
    """Where the kernels of this process came from."""

    prebuilt: int
    cached: int
    compiled: int


_names: dict[str, set[str]] = {"prebuilt": set(), "cached": set(), "compiled": set()}
_said = set[str]()
_compilation = Compilation(lambda: "folder" not in _said and not fault())


def counts() -> Counts:
    """Return how many kernels this process has loaded and compiled so far.

    Examples
    --------
    >>> min(counts()) >= 0
    True
    """
    return Counts(**{where: len(names) for where, names in _names.items()})


def names_used() -> set[str]:
    """Return the names of the files of all kernels that this process has used so far."""
    return set().union(*_names.values())


def keep_list(name: str, kernels: set[str]) -> None:
    """Keep a list of kernels, by the names of their files; see `has_all_of`."""
    with suppress(Unusable, OSError):
        path = _checked(user_folder()) / f"{_list_name(name, _target())}{_LIST}"
        _write(path, {"compiler": _compiler()}, json.dumps(sorted(kernels)).encode())


def has_all_of(name: str) -> bool:
    """Return whether a list of kernels was kept, and all of them can be loaded."""
    there, lists = set[str](), list[list[str]]()
    for folder, target, own in _places():
        with suppress(OSError, ValueError):
            there |= {path.stem for path in folder.iterdir() if path.suffix == _SUFFIX}
            lists.append(json.loads(_read(folder / f"{_list_name(name, target)}{_LIST}", own=own)[1]))
    return any(there.issuperset(one) for one in lists)


def _list_name(name: str, target: str) -> str:
    return hashlib.sha256(repr([name, target, _compiler()]).encode()).hexdigest()[:40]


def _target() -> str:
    """Return the processor that kernels are compiled for, in a word."""
    if config.CPU_NAME is not None:
        return f"{config.CPU_NAME} {config.CPU_FEATURES or ''}"
    return f"{llvm.get_host_cpu_name()} {sorted(_host_features().items())}"


def _places() -> Iterator[tuple[Path, str, bool]]:
    """Yield the folders in which kernels are, each with the processor they are for and whether it is the user's own."""
    if (prebuilt := prebuilt_folder()) is not None:
        yield prebuilt, f"{BASELINE} ", False
    with suppress(Unusable):
        yield _checked(user_folder()), _target(), True


def all_sources() -> str:
    """Return the hashes of all kernels' sources."""
    return repr([_sources(path) for path in sorted(Path(__file__).parent.glob("*.py"))])


class _Listener(event.Listener):
    """Tells of kernels that are compiled; those that are loaded are not."""

    def on_start(self, event: Any) -> None:
        """Take the beginning of a kernel."""
        if _is_ours(event):
            _compilation.begin()

    def on_end(self, event: Any) -> None:
        """Take its end, also by an error."""
        if _is_ours(event):
            _compilation.end()


def _is_ours(event: Any) -> bool:
    return bool(event.data["dispatcher"].py_func.__module__.startswith("cofactor."))


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]


def _say_once(subject: str, text: str) -> None:
    if subject not in _said:
        _said.add(subject)
        log_line(text)


#: Instructions of a kernel from which on those that call it hold no copy of it: LLVM would not make it a part of
#: their own code, but compile it once more in each.
_LONG = 300

#: Long kernels that are loaded, by the names of their functions.
_long: dict[str, Any] = {}


def _called_by(library: Any) -> dict[str, Any]:
    """Return the code of the long kernels that one calls, directly or not, each after those that it calls itself."""
    return {name: code for one in library._linking_libraries for name, code in getattr(one, "called", {}).items()}


def _offer(data: Any, called: dict[str, Any], code: Any | None) -> None:
    """Note what kernels need besides themselves if they call this one; `code` is its own, if it is long."""
    name = data.fndesc.mangled_name
    if code is not None:
        _long[name] = data.library
    data.library.called = called if code is None else {**called, name: code}


class KernelCache(_Cache):
    """The cache of one kernel, in place of Numba's.

    Numba's own lies beside each source, for each clone and environment anew, and is right only until a kernel that
    this one calls, in another file, changes.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._function = dispatcher.py_func
        self._options = repr(sorted((name, _plain(value)) for name, value in dispatcher.targetoptions.items()))
        self._is_for_kernels = dispatcher.targetoptions.get("no_cpython_wrapper", False)
        self._is_on = True

    @property
    def cache_path(self) -> str:
        """The user's folder, where what is compiled is kept."""
        return str(user_folder())

    def enable(self) -> None:
        """Read and write files."""
        self._is_on = True

    def disable(self) -> None:
        """Neither read nor write files."""
        self._is_on = False

    def flush(self) -> None:
        """Leave files as they are: they are right whatever happens in this process."""

    def load_overload(self, sig: Any, target_context: Any) -> Any | None:
        """Return the compiled code for a signature; None if it must be compiled."""
        if not self._is_on:
            return None
        # Numba itself would load here all that it compiles with, which takes as long as to load twenty kernels.
        rtsys.initialize(target_context)
        target = target_context.codegen().magic_tuple()
        found = None
        if (prebuilt := prebuilt_folder()) is not None:
            built = self._file(sig, (target[0], BASELINE, ""))
            found = self._rebuilt(prebuilt / built, "prebuilt", target_context)
            if found is None:
                _explain(prebuilt)
        if found is None:
            with suppress(Unusable):
                found = self._rebuilt(_checked(user_folder()) / self._file(sig, target), "cached", target_context)
        return found

    def _rebuilt(self, path: Path, where: str, target_context: Any) -> Any | None:
        """Return the compiled code in a file; None if there is no such file, or none that can be used."""
        try:
            _, contents = _read(path, own=where == "cached")
            called, is_long, compiled = pickle.loads(zlib.decompress(contents))
            for name, code in called.items():
                if name not in _long:
                    _long[name] = target_context.codegen().unserialize_library(code)
            found = _CompileResult._rebuild(target_context, *compiled)
            _offer(found, called, compiled[0] if is_long else None)
        except FileNotFoundError:
            return None
        except Exception as error:  # whatever a damaged file, or one of a strange Numba, may lead to
            _say_once("file", f"the kernel in {path} is compiled anew, since the file cannot be used: {error}")
            return None
        _names[where].add(path.stem)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code."""
        if not self._is_on or data.library.has_dynamic_globals or data.lifted:
            return
        target = data.codegen.magic_tuple()
        file = self._file(sig, target)
        _names["compiled"].add(Path(file).stem)
        called = _called_by(data.library)
        is_long = self._leave_out(data)
        compiled = data._reduce()
        _offer(data, called, compiled[0] if is_long else None)
        source = Path(self._function.__code__.co_filename)
        header = {
            "kernel": f"{self._function.__module__}.{self._function.__qualname__}",
            "signature": _signature(sig),
            "target": target,
            "compiler": _compiler(),
            "file": source.relative_to(_PACKAGE).as_posix() if source.is_relative_to(_PACKAGE) else str(source),
            "sources": _sources(source),
        }
        folder = user_folder()
        try:
            contents = zlib.compress(_dumps((called, is_long, compiled)), _COMPRESSION)
            _write(_checked(folder) / file, header, contents)
        except (Unusable, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            _say_once(
                "folder",
                f"compiled kernels cannot be kept in {folder} ({reason}): each process compiles them anew. "
                "Set COFACTOR_CACHE to a folder of your own",
            )

    def _leave_out(self, data: Any) -> bool:
        """Take a long kernel out of what is copied into those that call it; return whether it is one that they call.

        What Python calls is called by no kernel.
        """
        library, own = data.library, data.fndesc
        if not self._is_for_kernels:  # all that Numba asks for is the name of its wrapper
            names = f'define void @"{own.llvm_cpython_wrapper_name}"() {{ ret void }}'
            library._shared_module = llvm.parse_assembly(names)
            return False
        blocks = library.get_function(own.mangled_name).blocks
        is_long = sum(1 for block in blocks for _ in block.instructions) >= _LONG
        if is_long:
            library._shared_module = llvm.parse_assembly("")
        return is_long

    @cached_property
    def _about(self) -> list[Any]:
        return [_compiler(), _identity(self._function), self._options]

    def _file(self, sig: Any, target: tuple[str, ...]) -> str:
        """Return the name of the file for a signature and a processor: a hash of all that the code in it depends on."""
        what = [*self._about, _signature(sig), list(target)]
        return f"{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:40]}{_SUFFIX}"


def _plain(value: Any) -> Any:
    """Return the value of an option as a text that is the same in every process."""
    return repr(sorted(value) if isinstance(value, (set, frozenset)) else value)


@cache
def _explain(prebuilt: Path) -> None:
    """Say why kernels that were built ahead are not used, if all of them are for something else."""
    with suppress(OSError, ValueError, StopIteration):
        header, _ = _read(next(prebuilt.glob(f"*{_SUFFIX}")), own=False)
        ours, theirs = _compiler(), header["compiler"]
        other = [f"{name} {theirs.get(name)} (here {ours[name]})" for name in ours if ours[name] != theirs.get(name)]
        if other:
            log_line(f"kernels built ahead are for {', '.join(other)}: they are compiled here instead")
