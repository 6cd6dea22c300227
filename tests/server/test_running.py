"""How the server begins and ends."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import re
import select
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.request import urlopen

import pytest
from tests.children import Command
from tests.server.conftest import Client, answer_from

from cofactor import save
from cofactor.cli import main
from cofactor.datasets import make_labels
from cofactor.errors import InputWarning
from cofactor.labels import MNMTF
from cofactor.ratings import ALS
from cofactor.server import Limits, Served, application, run
from cofactor.server.monitoring import StandardError, line_of
from cofactor.server.supervisor import Watch
from cofactor.server.worker import Listening, Worker
from cofactor.service.rating_service import RatingService
from cofactor.service.served import Content, ModelFile

pytestmark = pytest.mark.processes

BODY = b'{"pairs": [{"user": 7, "item": 3}]}'


def test_sigterm_lets_requests_end(models) -> None:
    with Command(["serve", models.arguments[0], "--port", "0"], models.folder, {}) as child:
        server = Client(child)
        with server.begin("/v1/predictions", len(BODY)) as opened:
            while b"cofactor_requests_now 1.0" not in server.ask("GET", "/metrics").body:
                pass
            child.send_signal(signal.SIGTERM)
            opened.sendall(BODY)
            assert answer_from(opened).status == 200
        server.wait_for("ended")
        child.end()
        assert child.returncode == 0
    assert not [event for event in server.events if event["event"] == "error"]


class Fake:
    """Stands for a model."""

    kind = "ratings"

    def __init__(self, fault: Exception | None = None, *, fails_at_once: bool = False) -> None:
        self.fault, self.fails_at_once = fault, fails_at_once

    def example(self) -> dict[str, Any]:
        return {"kind": self.kind, "user": 1, "item": 2, "rating": 3.0}

    def warm_up(self) -> None:
        if self.fails_at_once and self.fault is not None:
            raise self.fault

    def predict(self, pairs: Any) -> Any:
        assert self.fault is not None
        raise self.fault


async def asked(app: Any, method: str, path: str, body: bytes = b"", *, whole: bool = True) -> tuple[int, Any]:
    """Ask an application; what follows a body that is not whole never comes."""
    messages = iter([{"type": "http.request", "body": body, "more_body": not whole}])
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        for message in messages:
            return message
        await asyncio.sleep(60)
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": [], "scheme": "http"}
    await app(scope | {"root_path": ""}, receive, send)
    return sent[0]["status"], json.loads(b"".join(one.get("body", b"") for one in sent))


async def started(app: Any) -> None:
    """Begin an application, and wait until it is ready."""

    async def receive() -> dict[str, Any]:
        if not begun:
            begun.append(True)
            return {"type": "lifespan.startup"}
        await asyncio.sleep(60)
        raise AssertionError

    async def send(message: Any) -> None:
        pass

    begun: list[bool] = []
    running.append(asyncio.create_task(app({"type": "lifespan"}, receive, send)))
    for _ in range(10_000):
        if (await asked(app, "GET", "/health/ready"))[0] == 200:
            return
        await asyncio.sleep(0.01)


running: list[Any] = []  # tasks that must not be collected


def app_of(answers: Fake, **more: Any) -> Any:
    return application({"default": Served("default", answers)}, **more)


def test_a_body_must_come_in_time() -> None:
    async def slowly() -> tuple[int, Any]:
        app = app_of(Fake(), limits=Limits(seconds=0.05))
        await started(app)
        return await asked(app, "POST", "/v1/predictions", b"{", whole=False)

    status, body = asyncio.run(slowly())
    assert (status, body["error"]["message"]) == (408, "body: did not come within 0.05 seconds")


def answers_of_worker(client: Callable[[int, Worker], Awaitable[list[bytes]]], limits: Limits) -> list[bytes]:
    """Return what a client gets from a worker that knows some limits, given its port, and the worker itself."""

    async def both() -> list[bytes]:
        with Listening("127.0.0.1", 0) as listening:
            listening.open()
            worker = Worker(app_of(Fake()), limits=limits)
            serving = asyncio.create_task(worker.serve([listening]))
            found = await client(listening.getsockname()[1], worker)
            while streams:
                streams.pop().close()
            worker.should_exit = True
            await serving
        return found

    return asyncio.run(both())


async def connected(port: int, content: bytes) -> asyncio.StreamReader:
    """Send bytes over a new connection; return where to read the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    streams.append(writer)
    writer.write(content)
    await writer.drain()
    return reader


streams: list[asyncio.StreamWriter] = []  # connections that must stay open


def test_headers_must_come_in_time() -> None:
    async def slow(port: int, _: Worker) -> list[bytes]:
        readers = [await connected(port, b"GET / HTTP/1.1\r\nA: "), await connected(port, b"")]
        return [await reader.read() for reader in readers]

    begun, silent = answers_of_worker(slow, Limits(seconds=0.2))
    assert begun.startswith(b"HTTP/1.1 408 ")
    assert b"headers: did not come within 0.2 seconds" in begun
    assert silent == b""


def test_too_many_connections_close_those_that_wait_longest() -> None:
    async def many(port: int, _: Worker) -> list[bytes]:
        first = [await connected(port, b"GET / HTTP/1.1\r\n") for _ in range(3)]
        last = await connected(port, b"GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n")
        found = [await last.read(), await first[0].read()]
        assert not any(one.at_eof() for one in first[1:])
        return found

    answer, nothing = answers_of_worker(many, Limits(connections=3))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert nothing == b""


LIVE = b"GET /health/live HTTP/1.1\r\n\r\n"


def test_those_that_have_not_sent_all_are_closed_first() -> None:
    async def many(port: int, worker: Worker) -> list[bytes]:
        idle = await connected(port, LIVE)
        found = [await idle.readuntil(b'{"live":true}')]
        half_open = [await connected(port, b"GET / HTTP/1.1\r\n") for _ in range(9)]
        assert await half_open[0].read() == b""
        streams[0].write(LIVE)
        return [*found, await idle.readuntil(b'{"live":true}')]

    assert len(answers_of_worker(many, Limits(connections=3))) == 2


@pytest.mark.skipif(not hasattr(select, "poll"), reason="this system does not say what was not read")
@pytest.mark.parametrize(
    "end",
    [
        lambda worker: worker.all.expire(asyncio.get_running_loop().time() + 60),
        lambda worker: worker.all.make_room(10**6),
        lambda worker: [one.timeout_keep_alive_handler() for one in worker.server_state.connections],
        lambda worker: [one.shutdown() for one in worker.server_state.connections],
    ],
    ids=["their time is over", "no room", "kept alive long enough", "the server ends"],
)
def test_a_request_that_came_is_answered_whatever_ends_its_connection(end) -> None:
    """It has not been read yet: this process was busy with something else."""

    async def at_last(port: int, worker: Worker) -> list[bytes]:
        reader = await connected(port, LIVE)
        found = [await reader.readuntil(b'{"live":true}')]
        streams[0].write(LIVE)
        end(worker)
        return [*found, await reader.readuntil(b'{"live":true}')]

    assert [one[:13] for one in answers_of_worker(at_last, Limits())] == [b"HTTP/1.1 200 "] * 2


class Stalled(ModelFile):
    """The file of a model on a disk that does not answer."""

    def content(self) -> Content:
        may_answer.wait(120)
        return Content(memoryview(b""), "", None)


may_answer = threading.Event()


def test_a_disk_that_does_not_answer_is_not_waited_for(tmp_path) -> None:
    sources = [kind(str(k), str(tmp_path / str(k)), Fake) for k, kind in enumerate((Stalled, ModelFile))]
    watch = Watch({one.name: Served(one.name, Fake(), source=one) for one in sources}, patience=0.0)
    found = dict(watch.changed(all_of_them=True))
    assert [type(found[one]) for one in sources] == [TimeoutError, FileNotFoundError]
    assert watch.changed() == []
    may_answer.set()
    while not (late := watch.changed()):
        pass
    assert [(source, type(content)) for source, content in late] == [(sources[0], Content)]


def test_a_mistake_of_ours_tells_the_log_alone(caplog) -> None:
    async def broken() -> tuple[int, Any]:
        app = app_of(Fake(RuntimeError("the secret")))
        await started(app)
        return await asked(app, "POST", "/v1/predictions", BODY)

    with caplog.at_level(logging.ERROR, "cofactor.server"):
        status, body = asyncio.run(broken())
    message = "the server made a mistake; its log says more under this request_id"
    assert (status, body["error"]["message"]) == (500, message)
    (line,) = [json.loads(record.message) for record in caplog.records]
    assert line["request_id"] == body["error"]["request_id"]
    assert "RuntimeError: the secret" in line["traceback"][-1]


class Slow(Fake):
    """Answers when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.n_asked, self.may_answer = 0, threading.Event()

    def predict(self, pairs: Any) -> Any:
        self.n_asked += 1
        assert self.may_answer.wait(120)
        return {"user": []}


def test_an_answer_must_come_in_time() -> None:
    """The thread ends what it has begun; who waits for it in vain is not asked for any more."""

    async def late() -> list[tuple[int, Any]]:
        app = app_of(slow, limits=Limits(answer=0.1))
        await started(app)
        found = await asyncio.gather(*(asked(app, "POST", "/v1/predictions", BODY) for _ in range(3)))
        slow.may_answer.set()
        while slow.n_asked < 2:
            await asked(app, "POST", "/v1/predictions", BODY)
        return [*found, await asked(app, "GET", "/v1/models")]

    slow = Slow()
    *refused, (status, body) = asyncio.run(late())
    message = "there was no answer within 0.1 seconds; ask for less, or try again"
    assert [(status, body["error"]["message"]) for status, body in refused] == [(503, message)] * 3
    assert (status, body) == (200, {"models": ["default"]})
    assert slow.n_asked == 2


def test_a_model_that_cannot_answer_ends_the_server() -> None:
    with pytest.raises(ValueError, match="damaged"):
        run({"default": Served("default", Fake(ValueError("damaged"), fails_at_once=True))}, port=0)


def test_who_serves_is_told_when_and_where(capfd) -> None:
    """Once, when requests are answered; of the log no more than was asked for is written."""
    told: list[tuple[str, dict[str, bool]]] = []

    def begun(address: str) -> None:
        with urlopen(f"{address}health/ready") as answer:
            told.append((address, json.load(answer)))
        os.kill(os.getpid(), signal.SIGTERM)

    run({"default": Served("default", Fake())}, port=0, n_workers=2, begun=begun, log_level=logging.WARNING)
    ((address, answer),) = told
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
    assert answer == {"ready": True}
    assert capfd.readouterr().err == ""


def test_the_command_says_what_is_missing(models, monkeypatch, capsys) -> None:
    for name in [name for name in sys.modules if name.startswith("cofactor.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("cofactor.server", raising=False)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    assert main(["serve", models.arguments[0]]) == 2
    message = "cofactor serve needs starlette, which is not installed: pip install 'cofactor[serve]'"
    assert capsys.readouterr().err == f"cofactor: error: {message}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{stars}", "{stars}"], "{stars}: has no name; write NAME={stars}"),
        (["a={stars}", "a={stars}"], "a={stars}: two models are called a; give each another name"),
        (
            ["{parts}"],
            "{parts}: MNMTF is no model of ratings or labels; use transformers, and pipelines with them, from Python",
        ),
        (["none.cofactor"], "none.cofactor: no such file"),
        (
            ["{stars}", "--titles", "song=none.csv"],
            "--titles song=none.csv: no model is called song: expected one of default",
        ),
        (["{stars}", "--titles", "none.csv"], "none.csv: no such file"),
        (["{stars}", "--port", "{taken}"], "nobody can listen at 127.0.0.1:{taken}: {in_use}; give another port"),
        (
            ["{stars}", "--host", "192.0.2.1"],
            "nobody can listen at 192.0.2.1:8000: {not_here}; give one of this machine",
        ),
    ],
)
def test_the_command_refuses(arguments, message, models, capsys) -> None:
    files = {"stars": models.arguments[0], "parts": str(models.folder / "parts.cofactor")}
    data, _ = make_labels(60, 5, 3, n_groups=1, n_factors=2, random_state=0)
    save(MNMTF(2, random_state=0).fit(abs(data.X), data.Y), files["parts"])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        known = files | {"taken": taken.getsockname()[1]}
        known |= {"in_use": os.strerror(errno.EADDRINUSE), "not_here": os.strerror(errno.EADDRNOTAVAIL)}
        assert main(["serve", *(one.format(**known) for one in arguments)]) == 2
    assert capsys.readouterr().err == f"cofactor: error: {message.format(**known)}\n"


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="pipes are opened anew by /proc")
def test_a_log_that_nobody_reads_holds_up_nobody(monkeypatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe, os.fdopen(writing, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        handler = StandardError()
        lines = [line_of("request", {"number": k, "path": "/" + "x" * (9_000 if k == 7 else 90)}) for k in range(2_000)]
        for line in lines:
            handler.emit(logging.makeLogRecord({"msg": line}))
        n_read = pipe.read1(1 << 16).count(b"\n")
        handler.emit(logging.makeLogRecord({"msg": lines[0]}))
        handler.close()
        stderr.close()
        told, last = map(json.loads, pipe.read().splitlines()[-2:])
    assert n_read > 100
    assert told["event"] == "lines lost"
    assert told["number"] >= 2_000 - n_read - 1
    assert last == json.loads(lines[0])


def test_titles_of_other_items_are_warned_of() -> None:
    model = ALS(n_factors=1, alpha=1.0, random_state=0).fit([(1, "Up"), (2, "Heat")], [5, 1])
    with pytest.warns(InputWarning, match="no item has one of the 1 titles: they are of '50', and the model knows "):
        RatingService(model, titles={"50": "Star Wars"})
