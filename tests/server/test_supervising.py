"""Several processes answer for models whose files change, and are replaced when they die."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.children import Command
from tests.server.conftest import Client, Models

from cofactor.datasets import make_ratings
from cofactor.ratings import ALS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
KEY = "q2PzN0v7cY4m9XbTnR8k"
PATH, ROUTE = "/v1/users/7/recommendations", "/v1/users/{id}/recommendations"


@dataclass
class Changing:
    """A server of two processes, whose model comes from a file that changes."""

    client: Client
    file: Path
    versions: dict[str, Path]
    models: dict[str, Any]

    def is_as_before(self) -> bool:
        """Return whether the first model answers."""
        items, scores = self.models["a"].recommend([7], 10)
        answer = self.client.get(PATH)
        expected = zip(items[0].tolist(), scores[0].tolist(), strict=True)
        return [(one["item"], one["score"]) for one in answer["items"]] == list(expected)

    def change(self, version: str) -> None:
        """Let another file take the place of the one that is served, at once."""
        copy = self.file.with_suffix(".new")
        shutil.copy(self.versions[version], copy)
        copy.rename(self.file)

    def number(self, event: str) -> int:
        return sum(one["event"] == event for one in self.client.events)

    def until(self, event: str, number: int) -> dict[str, Any]:
        """Return what the log says when an event has come so many times."""
        for _ in range(10_000):
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
        for _ in range(10_000):
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
        for _ in range(10_000):
            if self.measure(name) == value:
                return
            time.sleep(0.01)
        raise AssertionError(name, self.measure(name), value)


@contextmanager
def serving(models: Models, folder: Path) -> Iterator[Changing]:
    data = make_ratings(400, 300, 3, density=0.2, random_state=0)
    other = ALS(4, alpha=5.0, random_state=1).fit(data.X, data.y)
    other.save(folder / "other.cofactor")
    whole = (models.folder / "stars.cofactor").read_bytes()
    (folder / "damaged.cofactor").write_bytes(whole[: len(whole) // 2] + b"\1" + whole[len(whole) // 2 + 1 :])
    versions = {"a": models.folder / "stars.cofactor", "b": folder / "other.cofactor"}
    versions |= {"damaged": folder / "damaged.cofactor", "interactions": models.folder / "interactions.cofactor"}
    file = folder / "served.cofactor"
    shutil.copy(versions["a"], file)
    with Command(["serve", str(file), "--port", "0", "--workers", "2"], folder, {}) as child:
        yield Changing(Client(child), file, versions, {"a": models.stars, "b": other})


@pytest.fixture(scope="module")
def changing(models: Models, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changing]:
    with serving(models, tmp_path_factory.mktemp("changing")) as found:
        yield found


def test_nothing_is_lost_or_wrong_while_models_change_and_a_process_dies(changing, monkeypatch) -> None:
    """Some seconds of what `benchmarks/serving.py` does for ten minutes."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import under_load

    asked = under_load.Serving(changing.client.child.process.pid, changing.client)
    questions = [*under_load.known_users(changing.models, 30), *under_load.new_users(changing.models, 10)]
    versions = {name: changing.versions[name] for name in ("a", "b")}
    ordeal = under_load.Ordeal(asked, changing.file, versions, questions)
    endured = asyncio.run(ordeal.endure(60.0, 4.0, n_reloads=2, n_malformed=60, n_kills=1))
    found = endured.found
    assert (found.wrong, endured.lost, endured.reloads) == (0, 0, 2)
    assert set(found.statuses) == {200}
    assert set(endured.malformed) == {"as it must be"}
    assert sum(found.statuses.values()) + endured.lost_to_kills == 240
    assert changing.is_as_before()
    assert changing.measure('cofactor_reloads_total{model="default",outcome="loaded"}') == 2


def test_what_cannot_be_served_is_refused_and_the_old_one_stays(changing) -> None:
    workers = changing.workers()
    for number, (version, message) in enumerate(
        [
            ("damaged", "its checksum does not match: it was damaged after it was written"),
            (
                "interactions",
                "it holds a model of class EASE, and one of ALS is served; start the server anew to serve it",
            ),
        ],
        1,
    ):
        changing.change(version)
        event = changing.until("refused", number)
        assert event["error"].endswith(message)
        assert changing.is_as_before()
        assert changing.measure('cofactor_reloads_total{model="default",outcome="refused"}') == number
    assert changing.workers() == workers
    changing.file.unlink()
    assert changing.until("refused", 3)["error"].endswith("no such file")
    assert changing.is_as_before()
    changing.swap("a")


def test_a_pipe_in_place_of_a_model_holds_up_nothing(changing) -> None:
    """Nobody ever writes into it; signals are obeyed, and processes that die are replaced."""
    number = changing.number("refused")
    pipe = changing.file.with_suffix(".new")
    os.mkfifo(pipe)
    pipe.rename(changing.file)
    assert changing.until("refused", number + 1)["error"].endswith("is a pipe or a device, expected a model file")
    changing.client.child.send_signal(signal.SIGHUP)
    changing.until("refused", number + 2)
    killed = changing.workers()[0]
    os.kill(killed, signal.SIGKILL)
    psutil.Process(killed).wait(10)
    changing.client.wait_for("worker died", pid=killed)
    assert len(changing.workers()) == 2
    assert changing.is_as_before()
    changing.swap("a")


def test_sighup_asks_that_files_be_read_again(changing) -> None:
    number = changing.number("ready")
    changing.client.child.send_signal(signal.SIGHUP)
    changing.until("ready", number + 1)
    assert changing.is_as_before()


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
            assert changing.is_as_before()
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


def test_other_names_are_not_served(changing) -> None:
    """As a page has them whose name was made to lead to this machine."""
    client = changing.client
    for host, status in (
        ("evil.example", 421),
        (f"evil.example:{client.port}", 421),
        ("LOCALHOST:1", 200),
        ("localhost:1@evil.example", 421),
        ("[::1]", 200),
    ):
        assert client.ask("GET", PATH, headers={"Host": host}).status == status
    (error,) = client.ask("GET", PATH, headers={"Host": "evil.example"}).json.values()
    assert (error["argument"], error["found"]) == ("Host", "evil.example")
    assert client.ask("GET", "/health/live", headers={"Host": "10.0.0.1"}).status == 200


def test_many_wait_and_none_without_end(changing) -> None:
    """Beyond the limit of each process, requests are told to come again."""
    with ExitStack() as stack:
        connections = []
        for _ in range(200):
            connection = HTTPConnection("127.0.0.1", changing.client.port, timeout=240)
            stack.callback(connection.close)
            connection.putrequest("POST", "/v1/predictions")
            connection.putheader("Content-Length", "3")
            connection.endheaders()
            connections.append(connection)
        refused = 'cofactor_requests_total{method="POST",route="/v1/predictions",status="503"}'
        changing.wait_until(refused, 72)
        assert changing.measure("cofactor_requests_now") == 128
        for connection in connections:
            connection.send(b"[ ]")
        statuses = [connection.getresponse().status for connection in connections]
    assert (statuses.count(422), statuses.count(503)) == (128, 72)


def test_all_processes_end_together(models: Models, tmp_path: Path) -> None:
    """A server of its own, since with several processes of tests others may come after this one."""
    with serving(models, tmp_path) as server:
        server.wait_until("cofactor_workers", 2)
        pids = server.workers()
        server.client.child.send_signal(signal.SIGTERM)
        server.client.wait_for("ended")
        server.client.child.end()
        assert server.client.child.returncode == 0
        assert not any(psutil.pid_exists(pid) for pid in pids)
        assert not [event for event in server.client.events if event["event"] in ("error", "text")]


@pytest.fixture
def guarded(models: Models, tmp_path: Path) -> Iterator[Client]:
    """A server that needs a key."""
    keys = tmp_path / "keys"
    keys.write_text(f"# of the tests\n{KEY}\n")
    keys.chmod(0o600)
    arguments = ["serve", models.arguments[0], "--port", "0", "--api-key-file", str(keys)]
    with Command(arguments, models.folder, {}) as child:
        yield Client(child, {"Authorization": f"Bearer {KEY}"})


def test_a_request_needs_a_key(guarded) -> None:
    for headers, message in (
        ({}, "a key is needed"),
        ({"Authorization": f"Basic {KEY}"}, "a key is needed"),
        ({"Authorization": f"Bearer {KEY}x"}, "the key is not known"),
        ({"X-API-Key": "é"}, "the key is not known"),
    ):
        for path in (PATH, "/metrics", "/openapi.json", "/nowhere"):
            answer = guarded.ask("GET", path, headers=headers)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert message in answer.json["error"]["message"]
            assert answer.json["error"]["found"] is None
    assert guarded.get(PATH)
    assert guarded.ask("GET", PATH, headers={"X-API-Key": KEY}).status == 200
    assert guarded.ask("POST", "/v1/predictions", b"x" * 100_000, headers={}).status == 401
    for path in ("/health/live", "/health/ready"):
        assert guarded.ask("GET", path, headers={}).status == 200
    assert KEY not in str(guarded.events)


def test_workers_end_with_their_supervisor(guarded) -> None:
    (worker,) = psutil.Process(guarded.child.process.pid).children()
    guarded.child.send_signal(signal.SIGKILL)
    worker.wait(10)
    with pytest.raises(ConnectionRefusedError):
        guarded.ask("GET", "/health/live")
