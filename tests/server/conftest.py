"""A server in a process of its own, with three models, and ways to ask it."""

from __future__ import annotations

import json
import re
import shlex
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.children import Command

from cofactor.datasets import make_ratings
from cofactor.ratings import ALS, OrdinalProbit
from cofactor.ratings.ranking import EASE


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, response: HTTPResponse) -> Answer:
        headers = {name.lower(): value for name, value in response.getheaders()}
        return cls(response.status, headers, response.read())

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """A server, and what its log says."""

    child: Command
    headers: dict[str, str] = field(default_factory=dict)  # of every request
    events: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.wait_for("ready")

    def _read(self) -> None:
        with suppress(ValueError):  # it is closed at the end
            self._note_lines()

    def _note_lines(self) -> None:
        for line in self.child.stderr:
            event = json.loads(line) if line.startswith(b"{") else {"event": "text", "text": line.decode()}
            with self.changed:
                self.events.append(event)
                self.changed.notify_all()

    def wait_for(self, event: str, **facts: Any) -> dict[str, Any]:
        """Return the first line of the log with an event, when it has come."""

        def found() -> Any:
            return next((one for one in self.events if {**one, "event": event, **facts} == one), None)

        with self.changed:
            assert self.changed.wait_for(found, timeout=120), self.events
            return found()

    @property
    def port(self) -> int:
        return int(self.wait_for("listening")["port"])

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """Ask, and return the answer; what is not bytes is sent as JSON."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=240)
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request(method, path, content, self.headers if headers is None else headers)
            return Answer.of(connection.getresponse())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.body
        return answer.json

    def post(self, path: str, body: Any) -> Any:
        answer = self.ask("POST", path, body)
        assert answer.status == 200, answer.body
        return answer.json

    def begin(self, path: str, size: int) -> socket.socket:
        """Send the head of a request whose body has a size, and leave the body for later."""
        opened = socket.create_connection(("127.0.0.1", self.port), timeout=240)
        opened.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode())
        return opened


def answer_from(opened: socket.socket) -> Answer:
    """Return the answer that comes over a connection."""
    response = HTTPResponse(opened)
    response.begin()
    return Answer.of(response)


@dataclass(frozen=True)
class Models:
    """Fitted models: of numbered users and items in stars, of named ones with probabilities, and of interactions."""

    stars: ALS
    named: OrdinalProbit
    interactions: EASE
    folder: Path

    @property
    def arguments(self) -> list[str]:
        return [
            str(self.folder / "stars.cofactor"),
            *(f"{n}={self.folder / n}.cofactor" for n in ("named", "interactions")),
        ]


@pytest.fixture(scope="package")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    folder = tmp_path_factory.mktemp("models")
    large = make_ratings(400, 300, 3, density=0.2, random_state=0)
    small = make_ratings(40, 30, 2, density=0.4, random_state=0)
    X = np.array([(f"user {u}", f"film/{i} é") for u, i in small.X.tolist()], dtype=object)
    fitted = Models(
        ALS(8, alpha=2.0, random_state=0).fit(large.X, large.y),
        OrdinalProbit(2, n_sweeps=12, burn_in=4, random_state=0).fit(X, small.y),
        EASE().fit(small.X),
        folder,
    )
    for name in ("stars", "named", "interactions"):
        getattr(fitted, name).save(folder / f"{name}.cofactor")
    return fitted


@pytest.fixture(scope="module")
def server(models: Models) -> Iterator[Client]:
    """A server that takes four requests at a time."""
    (models.folder / "filters").mkdir(exist_ok=True)
    arguments = ["serve", *models.arguments, "--port", "0", "--max-concurrent", "4", "--max-batch", "50"]
    arguments += ["--filters", str(models.folder / "filters")]
    with Command(arguments, models.folder, {}) as child:
        yield Client(child)


DOCUMENT = Path(__file__).parents[2] / "docs" / "serving.md"


@dataclass(frozen=True)
class Asked:
    """A request that the document shows."""

    method: str
    path: str
    body: Any


def documented(section: str) -> list[Asked]:
    """Return the requests by curl that a section of the document shows."""
    found = [one for block in blocks(section, "") for one in asked_by(block)]
    assert found
    return found


def asked_by(code: str) -> list[Asked]:
    """Return the requests by curl in a block of code."""
    found: list[Asked] = []
    _, *commands = re.split(r"(?:^|\n)curl ", f"\n{code}")
    for command in commands:
        words = shlex.split(command)
        method = words[1] if words[0] == "-X" else None
        address, *more = words[2:] if method else words
        assert more[::2] in ([], ["-d"])
        path = address.removeprefix("http://127.0.0.1:8000")
        body = json.loads(more[1]) if more else None
        found.append(Asked(method or ("POST" if more else "GET"), path, body))
    return found


def blocks(section: str, language: str) -> list[str]:
    """Return the blocks of code in a section of the document."""
    _, text = DOCUMENT.read_text(encoding="utf-8").split(f"\n## {section}\n")
    fenced = re.findall(r"^```(\w*)(?: not-run)?\n(.*?)^```", text.partition("\n## ")[0], re.DOTALL | re.MULTILINE)
    return [block for name, block in fenced if name == language]
