"""What messages advise is there, and works: at each door, in Python, in a shell and over HTTP."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import re
import shlex
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from tests import advice, advice_data, advice_doors, advice_ratings
from tests.advice import SERVED
from tests.advising import Advice, advice_of_source, functions_called, given_in

from cofactor.cli import main
from cofactor.progress import when_compiling
from cofactor.server.app import application
from cofactor.server.limits import Limits
from cofactor.tasks import answers_of
from cofactor.tasks.served import Served

_PARTS = (advice, advice_ratings, advice_data, advice_doors)
NAMES = {name: code for part in _PARTS for name, code in part.NAMES.items()}
FILES = {name: content for part in _PARTS for name, content in part.FILES.items()}
CASES = [case for part in _PARTS for case in part.CASES]


class Doors:
    """Ways to call: Python, with names each of which is made when it is first used, a shell, and HTTP."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def make(self, code: str) -> None:
        """Make the names that some Python uses."""
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Name) and node.id in NAMES and node.id not in self.names:
                self.make(NAMES[node.id])
                self.names[node.id] = eval(NAMES[node.id], self.names)

    def call(self, what: str) -> str:
        """Return what a call says, an error, warnings or notes, or nothing where all is well."""
        self._make_for(what)
        return " ".join(self._said(what).split())

    def watched(self, what: str) -> tuple[str, set[tuple[str, str]]]:
        """Return what a call says, and what it called."""
        self._make_for(what)
        with functions_called() as called:
            return self.call(what), called

    def _make_for(self, what: str) -> None:
        is_python = what.split(" ", 1)[0] not in ("GET", "POST", "cofactor")
        self.make(what if is_python else ",".join(SERVED))

    def _said(self, what: str) -> str:
        first, _, rest = what.partition(" ")
        if first in ("GET", "POST"):
            return self._ask(first, *rest.split(" ", 1))
        if first == "cofactor":
            return _run(shlex.split(rest))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                exec(what, dict(self.names))
            except Exception as error:
                return str(error)
        return "\n".join(str(one.message) for one in caught)

    def _ask(self, method: str, path: str, body: str = "") -> str:
        models = {name: Served(name, answers_of(self.names[name])) for name in SERVED}
        app = application(models, Limits(n=50, batch=20, rows=100, body=2000))
        status, answer = asyncio.run(_answer(app, method, path, body.encode()))
        return "" if status == 200 else json.loads(answer)["error"]["message"]


def _run(arguments: list[str]) -> str:
    said = io.StringIO()
    with warnings.catch_warnings(), redirect_stderr(said), redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        status = main(arguments)
    return "" if status == 0 and "warning" not in said.getvalue() and "note" not in said.getvalue() else said.getvalue()


async def _answer(app: Any, method: str, address: str, body: bytes) -> tuple[int, bytes]:
    """Return status and body of the answer of an ASGI application."""
    path, _, query = address.partition("?")
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": []}
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
    start, *parts = [message for message in sent if message["type"].startswith("http.")]
    return start["status"], b"".join(part["body"] for part in parts)


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    folder = tmp_path_factory.mktemp("advice")
    for name, content in FILES.items():
        (folder / name).write_text(content)
    with pytest.MonkeyPatch.context() as patch, when_compiling(lambda: None):
        patch.chdir(folder)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        doors = Doors()
        doors.make(",".join(SERVED))
        for name in SERVED:
            doors.names[name].save(f"{name}.cofactor")
        yield doors


#: How many pieces of advice no case provokes yet, by file and function. The list may lose lines, and gets none.
UNTRIED = Path(__file__).parent / "advice_untried.txt"
MOST_UNTRIED = 537

#: What advice names: options, commands, addresses and parameters.
_NAMED = re.compile(r"(?<!\w)--[a-z][a-z-]*|\bcofactor [a-z]+|/v1/[a-z]+|\b[a-z_]+(?==[^=])|\b[a-z_]+(?=\()")


def test_what_is_advised_works_and_all_advice_is_tried(doors: Doors) -> None:
    """One test: all cases together say which advice of the source none has provoked."""
    source, tried, wrong = list(advice_of_source()), set[Advice](), []
    for call, advised in CASES:
        message, called = doors.watched(call)
        given = set(given_in(message, called, source))
        tried |= given
        if not given:
            wrong.append(f"{call}\n  gives no advice: {message}")
        follow = [advised] if isinstance(advised, str) else advised
        untried = [name for name in _NAMED.findall(message) if name not in " ".join([call, *follow])]
        if untried:
            wrong.append(f"{call}\n  says: {message}\n  but no call tries {untried}")
        for one in follow:
            still = doors.call(one)
            if still:
                wrong.append(f"{call}\n  says: {message}\n  but {one}\n  says: {still}")
    assert not wrong, "\n\n".join(wrong)
    listed = {place: int(n) for n, place in (line.split(" ", 1) for line in UNTRIED.read_text().splitlines())}
    left = Counter(one.place for one in source if one not in tried)
    assert not left - Counter(listed), "advice without a case"
    assert not Counter(listed) - left, "no longer without a case: take these off the list"
    assert left.total() <= MOST_UNTRIED
