"""Several processes answer for models whose files change, and are replaced when they die."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.children import Command
from tests.server.conftest import Client, Models

from cofactor.datasets import make_ratings
from cofactor.ratings import ALS

KEY = "q2PzN0v7cY4m9XbTnR8k"
BEARER = {"Authorization": f"Bearer {KEY}"}
PATH, ROUTE = "/v1/users/7/recommendations", "/v1/users/{id}/recommendations"


@dataclass
class Changing:
    """A server of two processes, whose model comes from a file that changes."""

    client: Client
    file: Path
    versions: dict[str, Path] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)

    def change(self, version: str) -> None:
        """Let another file take the place of the one that is served, at once."""
        copy = self.file.with_suffix(".new")
        shutil.copy(self.versions[version], copy)
        copy.rename(self.file)

    def number(self, event: str) -> int:
        return sum(one["event"] == event for one in self.client.events)

    def until(self, event: str, number: int) -> dict[str, Any]:
        """Return what the log says when an event has come so many times."""
        for _ in range(3000):
            found = [one for one in self.client.events if one["event"] == event]
            if len(found) >= number:
                return found[number - 1]
            time.sleep(0.01)
        raise AssertionError(self.client.events)

    def swap(self, version: str) -> None:
        """Change the file, and wait until all requests get the new model."""
        number = self.number("ready")
        self.change(version)
        self.until("ready", number + 1)

    def workers(self) -> list[int]:
        """Return the two processes that answer, when others have ended."""
        supervisor = psutil.Process(self.client.child.process.pid)
        for _ in range(3000):
            found = [child.pid for child in supervisor.children()]
            if len(found) == 2:
                return found
            time.sleep(0.01)
        raise AssertionError(found)

    def measure(self, name: str) -> float:
        text = self.client.ask("GET", "/metrics").body.decode()
        found = re.search(rf"^{re.escape(name)} (.+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def wait_until(self, name: str, value: float) -> None:
        for _ in range(1000):
            if self.measure(name) == value:
                return
            time.sleep(0.01)
        raise AssertionError(name, self.measure(name), value)


@pytest.fixture(scope="module")
def changing(models: Models, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changing]:
    folder = tmp_path_factory.mktemp("changing")
    data = make_ratings(943, 1682, 3, density=0.063, random_state=0)
    other = ALS(4, alpha=5.0, random_state=1).fit(data.X, data.y)
    other.save(folder / "other.cofactor")
    whole = (models.folder / "stars.cofactor").read_bytes()
    (folder / "damaged.cofactor").write_bytes(whole[: len(whole) // 2] + b"\1" + whole[len(whole) // 2 + 1 :])
    versions = {name: folder / f"{name}.cofactor" for name in ("other", "damaged")}
    versions |= {name: models.folder / f"{name}.cofactor" for name in ("stars", "takes")}
    file, keys = folder / "served.cofactor", folder / "keys"
    shutil.copy(versions["stars"], file)
    keys.write_text(f"# of the tests\n{KEY}\n")
    keys.chmod(0o600)
    arguments = ["serve", str(file), "--port", "0", "--workers", "2", "--api-key-file", str(keys)]
    with Command(arguments, folder, {}) as child:
        one = Changing(Client(child, BEARER), file, versions)
        for name, model in (("stars", models.stars), ("other", other)):
            items, scores = model.recommend([7], 10)
            one.answers[name] = list(zip(items[0].tolist(), scores[0].tolist(), strict=True))
        yield one


@contextmanager
def asking(changing: Changing, n: int = 3) -> Iterator[list[Any]]:
    """Within the block, threads ask without end over connections that stay open; return what was answered."""
    answers: list[Any] = []
    ended = threading.Event()

    def ask() -> None:
        connection = HTTPConnection("127.0.0.1", changing.client.port, timeout=60)
        while not ended.is_set():
            try:
                connection.request("GET", PATH, headers=BEARER)
                answer = connection.getresponse()
                answers.append((answer.status, json.loads(answer.read())))
            except Exception as error:
                answers.append((0, repr(error)))
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(n)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def rows(answer: Any) -> list[tuple[Any, float]]:
    return [(one["item"], one["score"]) for one in answer["items"]]


def test_a_model_is_swapped_between_requests(changing) -> None:
    """Each answer is wholly of one of both models, and none is lost; then old processes end."""
    before = changing.workers()
    with asking(changing) as answers:
        changing.swap("other")
        time.sleep(0.3)
        changing.swap("stars")
    assert {status for status, _ in answers} == {200}
    seen = [rows(answer) for _, answer in answers]
    known = [changing.answers["stars"], changing.answers["other"]]
    assert all(one in known for one in seen)
    assert all(one in seen for one in known)
    assert rows(changing.client.get(PATH)) == known[0]
    assert set(before).isdisjoint(changing.workers())
    assert changing.measure('cofactor_reloads_total{model="default",outcome="loaded"}') == 2


def test_what_cannot_be_served_is_refused_and_the_old_one_stays(changing) -> None:
    workers = changing.workers()
    for number, (version, message) in enumerate(
        [
            ("damaged", "its checksum does not match: it was damaged after it was written"),
            ("takes", "it holds a model of class EASE, and one of ALS is served; start the server anew to serve it"),
        ],
        1,
    ):
        changing.change(version)
        event = changing.until("refused", number)
        assert event["error"].endswith(message)
        assert rows(changing.client.get(PATH)) == changing.answers["stars"]
        assert changing.measure('cofactor_reloads_total{model="default",outcome="refused"}') == number
    assert changing.workers() == workers
    changing.file.unlink()
    time.sleep(1.2)
    assert rows(changing.client.get(PATH)) == changing.answers["stars"]
    changing.swap("stars")


def test_sighup_asks_that_files_be_read_again(changing) -> None:
    number = changing.number("ready")
    changing.client.child.send_signal(signal.SIGHUP)
    changing.until("ready", number + 1)
    assert rows(changing.client.get(PATH)) == changing.answers["stars"]


def test_a_worker_that_dies_is_replaced(changing) -> None:
    """Requests which it has not begun are answered by others."""
    changing.wait_until("cofactor_workers", 2)
    deaths = changing.measure("cofactor_worker_deaths_total")
    served = changing.measure(f'cofactor_requests_total{{method="GET",route="{ROUTE}",status="200"}}')
    for k in range(2):
        killed = changing.workers()[0]
        os.kill(killed, signal.SIGKILL)
        psutil.Process(killed).wait(10)
        for _ in range(20):
            assert rows(changing.client.get(PATH)) == changing.answers["stars"]
        assert changing.client.wait_for("worker died", pid=killed)["status"] == -signal.SIGKILL
        changing.wait_until("cofactor_worker_deaths_total", deaths + k + 1)
        changing.wait_until("cofactor_workers", 2)
    counted = changing.measure(f'cofactor_requests_total{{method="GET",route="{ROUTE}",status="200"}}')
    assert counted == served + 40  # also those of processes that are no more


def test_workers_share_one_copy_of_all(changing) -> None:
    for _ in range(20):
        changing.client.get(PATH)
    for pid in changing.workers():
        assert psutil.Process(pid).memory_full_info().uss < 150e6
        assert changing.file.name not in Path(f"/proc/{pid}/maps").read_text()


def test_a_request_needs_a_key(changing) -> None:
    client = changing.client
    for headers, message in (
        ({}, "a key is needed"),
        ({"Authorization": f"Basic {KEY}"}, "a key is needed"),
        ({"Authorization": f"Bearer {KEY}x"}, "the key is not known"),
        ({"X-API-Key": "é"}, "the key is not known"),
    ):
        for path in (PATH, "/metrics", "/openapi.json", "/nowhere"):
            answer = client.ask("GET", path, headers=headers)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert message in answer.json["error"]["message"]
            assert answer.json["error"]["found"] is None
    assert client.ask("GET", PATH, headers={"X-API-Key": KEY}).status == 200
    assert client.ask("POST", "/v1/predictions", b"x" * 100_000, headers={}).status == 401
    for path in ("/health/live", "/health/ready"):
        assert client.ask("GET", path, headers={}).status == 200
    assert KEY not in str(client.events)


def test_other_names_are_not_served(changing) -> None:
    """As a page has them whose name was made to lead to this machine."""
    client = changing.client
    for host, status in (
        ("evil.example", 421),
        (f"evil.example:{client.port}", 421),
        ("LOCALHOST:1", 200),
        ("[::1]", 200),
    ):
        assert client.ask("GET", PATH, headers=BEARER | {"Host": host}).status == status
    (error,) = client.ask("GET", PATH, headers=BEARER | {"Host": "evil.example"}).json.values()
    assert (error["argument"], error["found"]) == ("Host", "evil.example")
    assert client.ask("GET", "/health/live", headers={"Host": "10.0.0.1"}).status == 200


def test_what_is_no_http_is_told_to_the_log(changing) -> None:
    with changing.client.begin("/v1/model", 0) as opened:
        opened.sendall(b"\0\1\2 nonsense\r\n\r\n")
        while opened.recv(4096):
            pass
    assert changing.client.wait_for("server")["message"] == "Invalid HTTP request received."


def test_many_wait_and_none_without_end(changing) -> None:
    """Beyond the limit of each process, requests are told to come again."""
    with ExitStack() as stack:
        connections = []
        for _ in range(150):
            connection = HTTPConnection("127.0.0.1", changing.client.port, timeout=60)
            stack.callback(connection.close)
            connection.putrequest("POST", "/v1/predictions")
            for name, value in (*BEARER.items(), ("Content-Length", "3")):
                connection.putheader(name, value)
            connection.endheaders()
            connections.append(connection)
        changing.wait_until("cofactor_requests_now", 128)
        for connection in connections:
            connection.send(b"[ ]")
        statuses = [connection.getresponse().status for connection in connections]
    assert (statuses.count(422), statuses.count(503)) == (128, 22)


def test_all_processes_end_together(changing) -> None:
    changing.wait_until("cofactor_workers", 2)
    pids = changing.workers()
    changing.client.child.send_signal(signal.SIGTERM)
    changing.client.wait_for("ended")
    changing.client.child.end()
    assert changing.client.child.returncode == 0
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert not [event for event in changing.client.events if event["event"] in ("error", "text")]


def test_workers_end_with_their_supervisor(models) -> None:
    with Command(["serve", models.arguments[0], "--port", "0"], models.folder, {}) as child:
        client = Client(child)
        (worker,) = psutil.Process(child.process.pid).children()
        child.send_signal(signal.SIGKILL)
        worker.wait(10)
        with pytest.raises(ConnectionRefusedError):
            client.ask("GET", "/health/live")
