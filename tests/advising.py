"""All advice that messages of the source give, and which of it came with a message."""

from __future__ import annotations

import ast
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from cProfile import Profile
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import cofactor

SOURCE = Path(cofactor.__file__).parent

#: Files whose texts are no messages: examples and pages, papers, help of commands.
_OTHER_FILES = ("cli/app.py", "experiments/", "model/docs.py", "published/", "reports/")
#: Calls whose texts are no messages: `typer` and `msgspec` take help, SQL is no English, an `Argument` is a name.
_OTHER_CALLS = (
    *("Argument", "Claim", "Column", "Meta", "Operation", "Option", "Typer", "compile", "execute", "executemany"),
    *("getattr", "hasattr"),
)

#: An imperative where a clause begins.
_ADVISES = re.compile(
    r"(?:^|[;:,(] |\b(?:or|and|then|else) )"
    r"(?:add|allow|ask|begin|bin|build|call|check|choose|convert|copy|correct|declare|do|download|encode|expand|export|fill|"
    r"finish|fit|fold|free|give|go|install|join|keep|learn|leave|let|look|lower|make|map|merge|move|multiply|name|open|pass|pip|"
    r"plot|put|quote|raise|rank|read|rebuild|remove|rename|repeat|replace|restart|run|save|say|scale|see|select|send|set|"
    r"shard|spell|start|store|take|transpose|try|turn|unpack|update|upgrade|use|wait|write) "
)


#: What begins so is SQL, and advises nobody.
_SQL = re.compile(r"select .+ from |set (?:local|transaction|enable_external_access) |begin immediate")


@dataclass(frozen=True)
class Advice:
    """A piece of advice: the file and the function that give it, and a pattern of its words."""

    file: str
    function: str
    words: re.Pattern[str]

    @property
    def place(self) -> str:
        return f"{self.file} {self.function}".rstrip()


def advice_of_source() -> Iterator[Advice]:
    """Yield every text that is given as ``advice``, or has an imperative where a clause begins."""
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        if not file.startswith(_OTHER_FILES):
            found: list[Advice] = []
            _within(ast.parse(path.read_text(encoding="utf-8")), file, "", False, found)
            yield from found


_TEXTS = (ast.Constant, ast.JoinedStr, ast.Starred, ast.Tuple)
_TEXTLESS = (ast.Name, ast.arg, ast.expr_context, ast.operator)
_NAMESPACES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ASSIGNMENTS = (ast.AnnAssign, ast.Assign)


def _parts(node: ast.AST) -> list[str | None]:
    """Return the parts of a text, None for what stands between them; nothing where it is no text."""
    if isinstance(node, ast.Starred):
        return _parts(node.value)
    if isinstance(node, ast.JoinedStr | ast.Tuple):
        pieces = node.values if isinstance(node, ast.JoinedStr) else node.elts
        parts = [part for piece in pieces for part in _parts(piece) or [None]]
        return parts if any(parts) and (None in parts or isinstance(node, ast.JoinedStr)) else []
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _within(node: ast.AST, file: str, function: str, is_advice: bool, found: list[Advice]) -> None:
    """Append what is advised within a node; lists, since so many generators in each other take twice the time."""
    if parts := _parts(node) if isinstance(node, _TEXTS) else []:
        written = "".join("…" if part is None else part for part in parts)
        advises = not _SQL.match(written) and any(map(_ADVISES.search, {written, *filter(None, parts)}))
        if (is_advice and len(written) > 2) or advises:
            words = (".*" if part is None else re.escape(" ".join(f"_{part}_".split()))[1:-1] for part in parts)
            found.append(Advice(file, function, re.compile("".join(words), re.DOTALL)))
        for piece in node.elts if isinstance(node, ast.Tuple) else ():
            if not _parts(piece):
                _within(piece, file, function, is_advice, found)
        return
    if isinstance(node, ast.Compare):
        return  # what is compared is not said
    if isinstance(node, ast.Call) and _name(node.func) in _OTHER_CALLS:
        return
    for child in node.values if isinstance(node, ast.Dict) else ast.iter_child_nodes(node):
        if isinstance(child, _TEXTLESS):
            continue
        if isinstance(node, ast.Expr) and isinstance(child, ast.Constant):
            continue  # documentation
        if isinstance(child, ast.FunctionDef) and child.name == "__repr__":
            continue  # it shows an object
        inner = function
        if isinstance(child, _NAMESPACES):
            within = ".<locals>." if isinstance(node, ast.FunctionDef) else "."
            inner = f"{function}{within}{child.name}" if function else child.name
        given = is_advice or (isinstance(child, ast.keyword) and child.arg == "advice")
        if isinstance(child, _ASSIGNMENTS):
            target = child.targets[0] if isinstance(child, ast.Assign) else child.target
            given = given or any("advice" in _name(part).lower() for part in ast.walk(target))
        _within(child, file, inner, given, found)


def _name(node: ast.AST) -> str:
    """Return the name, or the last part of it, that an expression is; empty if it is none."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def read_cases(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield calls that go wrong, each with the calls below it, indented, that follow what it advises.

    A line that begins with dots continues the call before it, one that begins with # is a comment.
    """
    found: list[tuple[str, list[str]]] = []
    for line in text.strip("\n").split("\n"):
        call, is_indented = line.strip(), line.startswith(" ")
        if call.startswith("... ") and is_indented:
            found[-1][1][-1] += "\n" + call[4:]
        elif call.startswith("... "):
            found[-1] = (found[-1][0] + "\n" + call[4:], found[-1][1])
        elif is_indented:
            found[-1][1].append(call)
        elif not call.startswith("# "):
            found.append((call, []))
    return iter(found)


@contextmanager
def functions_called() -> Iterator[set[tuple[str, str]]]:
    """Within the block, collect file and name of each function of the source that this process calls."""
    called: set[CodeType] = set()
    found: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.add(frame.f_code)

    profile = Profile(subcalls=False, builtins=False)  # of this thread, and faster than `note` of all others
    threading.setprofile(note)
    profile.enable()
    try:
        yield found
    finally:
        profile.disable()
        threading.setprofile(None)
        entries = (entry.code for entry in profile.getstats())
        for code in [*entries, *called]:  # threads that began in the block may still call
            if isinstance(code, CodeType) and code.co_filename.startswith(f"{SOURCE}{os.sep}"):
                file = code.co_filename[len(f"{SOURCE}{os.sep}") :].replace(os.sep, "/")
                found |= {(file, code.co_qualname), (file, "")}
                # A part of a class, or of a function, stands for the whole.
                found |= {
                    (file, code.co_qualname.rpartition(".<locals>")[0]),
                    (file, code.co_qualname.rpartition(".")[0]),
                }


def given_in(message: str, called: set[tuple[str, str]], among: list[Advice]) -> Iterator[Advice]:
    """Yield the advice that a message gives, which came from one of these functions."""
    for one in among:
        if (one.file, one.function) in called and one.words.search(message):
            yield one
