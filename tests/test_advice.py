"""What messages advise is there, and works: at each door, in Python, in a shell and over HTTP."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import os
import re
import shlex
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cached_property
from itertools import chain
from typing import Any

import pytest
from tests import advice, advice_data, advice_doors, advice_ratings, mishaps
from tests.advising import Advice, advice_of_source, functions_called, given_in, read_cases

import cofactor
from cofactor import experiments, server
from cofactor.cli import main
from cofactor.progress import on_compile
from cofactor.server import Access
from cofactor.server.app import application
from cofactor.server.filters import FilterFolder
from cofactor.server.operations import Limits
from cofactor.server.worker import Listening
from cofactor.service import service_of
from cofactor.service.served import Served

_PARTS = (advice, advice_ratings, advice_data, advice_doors)
SERVED = (*advice.SERVED, *advice_doors.SERVED)
SAVED = (*SERVED, *advice_doors.SAVED)


def _joined(tables: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Join tables; what two of them hold must be the same in both."""
    joined: dict[str, str] = {}
    for name, value in chain.from_iterable(table.items() for table in tables):
        assert joined.setdefault(name, value) == value, f"two parts mean other things by {name}"
    return joined


NAMES = _joined(part.NAMES for part in _PARTS)
FILES = _joined(part.FILES for part in _PARTS)
CASES = [case for part in _PARTS for case in read_cases(part.CASES)]


_METHODS = ("GET", "POST", "PUT", "DELETE")


class Doors:
    """Ways to call: Python, with names each of which is made when it is first used, a shell, and HTTP."""

    def __init__(self) -> None:
        helpers = vars(mishaps).items()
        self.names = {name: one for name, one in helpers if getattr(one, "__module__", "") == mishaps.__name__}

    @cached_property
    def models(self) -> dict[str, Served]:
        return {name: Served(name, service_of(self.names[name])) for name in SERVED}

    @cached_property
    def usual(self) -> Any:
        """What answers most requests over HTTP: to describe all operations takes longer than to answer one."""
        return self.application(self.models)

    def make(self, what: str) -> None:
        """Make the names that a call uses."""
        is_python = what.split(" ", 1)[0] not in (*_METHODS, "cofactor")
        for node in ast.walk(ast.parse(what if is_python else ",".join(SERVED))):
            if isinstance(node, ast.Name) and node.id in NAMES and node.id not in self.names:
                self.make(NAMES[node.id])
                self.names[node.id] = eval(NAMES[node.id], self.names)

    def call(self, what: str) -> tuple[str, bool]:
        """Return what a call says, an error, warnings or notes, and whether it was to no avail."""
        self.make(what)
        said, failed = self._said(what)
        return " ".join(said.split()), failed

    def _said(self, what: str) -> tuple[str, bool]:
        first, _, rest = what.partition(" ")
        if first in _METHODS:
            return self._asked(what)
        if first == "cofactor":
            return _run(shlex.split(rest))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                exec(what, self.names | {"ask": self.ask, "command": _command, "__name__": "__main__"})
            except AttributeError as error:  # of what a model does not have, and the cause says why
                return f"{error}\n{error.__cause__}", True
            except Exception as error:
                return str(error), True
        return "\n".join(str(one.message) for one in caught), bool(caught)

    def ask(self, what: str, **how: Any) -> None:
        """Ask over HTTP, as `asked`; raise an error where there is no answer."""
        said, failed = self._asked(what, **how)
        if failed:
            raise ValueError(said)

    def application(
        self, models: Mapping[str, Served], access: Access | None = None, filters: bool = True, **limits: Any
    ) -> Any:
        os.makedirs("filters", exist_ok=True)
        given = Limits(**{"n": 50, "batch": 20, "rows": 100, "body": 2000, "items": 10} | limits)
        return application(models, given, access, filters=FilterFolder("filters", given.filter) if filters else None)

    def _asked(self, what: str, headers: Mapping[str, str] | None = None, **other: Any) -> tuple[str, bool]:
        """Ask models over HTTP; what is given besides is in the place of the usual."""
        method, path, *body = what.split(" ", 2)
        app = self.application(**{"models": self.models} | other) if other else self.usual
        status, answer = asyncio.run(_answer(app, method, path, "".join(body).encode(), headers or {}))
        return ("", False) if status == 200 else (json.loads(answer)["error"]["message"], True)


def _command(arguments: str) -> None:
    """Run a command; raise an error with what it says, where it fails."""
    said, failed = _run(shlex.split(arguments))
    if failed:
        raise ValueError(said)


def _listen(models: object, host: str, port: int, *_: object, **__: object) -> None:
    """Serve as `cofactor.server.run` does, and end at once."""
    Listening(host, port).close()


def _run(arguments: list[str]) -> tuple[str, bool]:
    out, said = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(), redirect_stderr(said), redirect_stdout(out):
        warnings.simplefilter("always")
        status = main(arguments)
    return said.getvalue() + (out.getvalue() if status else ""), status != 0 or "warning" in said.getvalue()


async def _answer(app: Any, method: str, address: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Return status and body of the answer of an ASGI application."""
    path, _, query = address.partition("?")
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": raw}
    sent: list[Any] = []
    begun, over = asyncio.Event(), asyncio.Event()

    async def events() -> Any:
        if begun.is_set():
            await over.wait()
            return {"type": "lifespan.shutdown"}
        begun.set()
        return {"type": "lifespan.startup"}

    async def said(message: Any) -> None:
        sent.append(message)

    async def content() -> Any:
        return {"type": "http.request", "body": body}

    life = asyncio.create_task(app({"type": "lifespan"}, events, said))
    while not sent:
        await asyncio.sleep(0)
    await app(scope, content, said)
    over.set()
    await life
    for thread in threading.enumerate():
        if thread.name == "cofactor":
            thread.join()  # else it may answer the next request, and nobody watches what it calls
    start, *parts = [message for message in sent if message["type"].startswith("http.")]
    return start["status"], b"".join(part["body"] for part in parts)


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    folder = tmp_path_factory.mktemp("advice")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    with pytest.MonkeyPatch.context() as patch, on_compile(lambda: None):
        patch.chdir(folder)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        patch.setattr(server, "run", _listen)
        one = {name: experiments.experiments()[name] for name in ("thesis-figure-3.1",)}
        patch.setattr(experiments, "experiments", lambda: one)  # to count the cells of all takes a second
        patch.setenv("COFACTOR_DATA", str(folder / "home"))
        doors = Doors()
        doors.make(",".join(SAVED))
        for name in SAVED:
            cofactor.save(doors.names[name], f"{name}.cofactor")
        yield doors


#: What advice names: options, commands, addresses and parameters.
_NAMED = re.compile(r"(?<!\w)--[a-z][a-z-]*|(?<!\.)\bcofactor [a-z]+|/v1/[a-z]+|\b[a-z_]+(?==[^=])|\b[a-z_]+(?=\()")


@pytest.mark.long
def test_what_is_advised_works_and_all_advice_is_tried(doors: Doors) -> None:
    """One test: all cases together say which advice of the source none has provoked."""
    source, tried, wrong = list(advice_of_source()), set[Advice](), []
    works: dict[str, str] = {}
    for call, follow in CASES:
        doors.make(call)
        with functions_called() as called:
            message, _ = doors.call(call)
        given = set(given_in(message, called, source))
        tried |= given
        if not given:
            wrong.append(f"{call}\n  gives no advice: {message}")
        missing = [name for name in _NAMED.findall(message) if name not in " ".join([call, *follow])]
        if missing:
            wrong.append(f"{call}\n  says: {message}\n  but no call tries {missing}")
        for one in follow:
            if one not in works:
                still, failed = doors.call(one)
                if not failed:
                    works[one] = still
            if one not in works or any(advice.words.search(works[one]) for advice in given):
                still = works.get(one, still)
                wrong.append(f"{call}\n  says: {message}\n  but {one}\n  says: {still}")
    assert not wrong, "\n\n".join(wrong)
    untried = sorted(f"{one.place}: {one.words.pattern}" for one in source if one not in tried)
    assert not untried, f"advice without a case: {untried}"
