"""How the server begins and ends."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from typing import Any

import pytest
from tests.children import Command
from tests.server.conftest import Client, answer_from

from cofactor.cli import main
from cofactor.datasets import make_labels
from cofactor.labels import PLST
from cofactor.server import Limits, Served, application

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

    def __init__(self, fault: Exception | None = None, *, fails_at_once: bool = False) -> None:
        self.fault, self.fails_at_once = fault, fails_at_once

    def example(self) -> dict[str, Any]:
        return {"user": 1, "item": 2, "rating": 3.0}

    def rehearse(self) -> None:
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
    for _ in range(200):
        if (await asked(app, "GET", "/health/ready"))[0] == 200:
            return
        await asyncio.sleep(0.01)


running: list[Any] = []  # tasks that must not be collected


def app_of(answers: Fake, **more: Any) -> Any:
    return application({"default": Served("default", answers)}, **more)


def test_models_answer_when_they_are_ready() -> None:
    app = app_of(Fake())
    assert asyncio.run(asked(app, "GET", "/health/live"))[0] == 200
    for path in ("/health/ready", "/v1/model"):
        status, body = asyncio.run(asked(app, "GET", path))
        assert (status, body["error"]["message"]) == (503, "models are made ready; try again")


def test_a_body_must_come_in_time() -> None:
    async def slowly() -> tuple[int, Any]:
        app = app_of(Fake(), limits=Limits(seconds=0.05))
        await started(app)
        return await asked(app, "POST", "/v1/predictions", b"{", whole=False)

    status, body = asyncio.run(slowly())
    assert (status, body["error"]["message"]) == (408, "body: did not come within 0.05 seconds")


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


def test_a_model_that_cannot_answer_ends_the_server() -> None:
    async def begun() -> list[BaseException]:
        failures: list[BaseException] = []
        app = app_of(Fake(ValueError("damaged"), fails_at_once=True), on_failure=failures.append)
        running.append(asyncio.create_task(started(app)))
        for _ in range(200):
            await asyncio.sleep(0.01)
            if failures:
                break
        return failures

    assert [str(error) for error in asyncio.run(begun())] == ["damaged"]


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
        (["{tags}"], "{tags}: is a model of labels, which cannot be served"),
        (["none.cofactor"], "none.cofactor: no such file"),
    ],
)
def test_the_command_refuses(arguments, message, models, capsys) -> None:
    files = {"stars": models.arguments[0], "tags": str(models.folder / "tags.cofactor")}
    data, _ = make_labels(60, 5, 3, n_groups=1, n_factors=2, random_state=0)
    PLST(2).fit(data.X, data.Y).save(files["tags"])
    assert main(["serve", *(one.format(**files) for one in arguments)]) == 2
    assert capsys.readouterr().err == f"cofactor: error: {message.format(**files)}\n"
