"""A server in processes of its own, clients which ask it as fast as they can or at a rate, and what may befall it.

Clients are coroutines over plain sockets: a request that is late is measured from when it was due, so that a server
which stops for a second is not asked less meanwhile.
"""

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import psutil


class Log:
    """What a server says beside requests, as it comes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.events: list[dict[str, Any]] = []
        self.changed = threading.Condition()
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            if b'"event": "request"' not in line:
                self._note(json.loads(line) if line.startswith(b"{") else {"event": "text", "text": line.decode()})
        self._note({"event": "end of log"})

    def _note(self, event: dict[str, Any]) -> None:
        with self.changed:
            self.events.append(event)
            self.changed.notify_all()


class Serving:
    """A server in processes of its own.

    Parameters
    ----------
    pid : int
        The process that was started, which ends the others.
    log : object
        Has `events`, a list of what the log says, and `changed`, a condition.
    """

    def __init__(self, pid: int, log: Any) -> None:
        self.pid, self.log = pid, log
        self.wait_for("ready")
        self.port: int = self.wait_for("listening")["port"]

    @classmethod
    @contextmanager
    def started(cls, *arguments: str) -> Iterator["Serving"]:
        """Within the block, `cofactor serve` runs."""
        command = [sys.executable, "-m", "cofactor", "serve", *arguments, "--port", "0"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        try:
            yield cls(process.pid, Log(process.stderr))
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        finally:
            process.kill()

    def number(self, event: str) -> int:
        """Return how many times something happened."""
        return sum(one["event"] == event for one in list(self.log.events))

    def wait_for(self, event: str, number: int = 1) -> dict[str, Any]:
        """Return what the log says when something has happened so many times."""

        def found() -> Any:
            events = self.log.events
            if events and events[-1]["event"] == "end of log":
                raise RuntimeError(f"the server ended: {events}")
            return [one for one in events if one["event"] == event][number - 1 :]

        with self.log.changed:
            if not self.log.changed.wait_for(found, timeout=300):
                raise TimeoutError(f"no {event!r} in the log: {self.log.events[-20:]}")
            return found()[0]

    def workers(self) -> list[psutil.Process]:
        """Return the processes that answer."""
        return psutil.Process(self.pid).children()

    def memory(self) -> float:
        """Return the memory of all processes in MB; what they share counts once."""
        total = 0
        for one in (psutil.Process(self.pid), *self.workers()):
            try:
                total += one.memory_full_info().pss
            except psutil.NoSuchProcess:
                continue
        return total / 1e6


@dataclass(frozen=True)
class Question:
    """A request, and the answer of each version of the model; None is not compared."""

    content: bytes
    expected: dict[str, Any] | None = None
    read: Callable[[Any], Any] | None = None

    @classmethod
    def of(cls, method: str, path: str, body: Any = None, **more: Any) -> "Question":
        sent = b"" if body is None else msgspec.json.encode(body)
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(sent)}\r\n\r\n"
        return cls(head.encode() + sent, **more)

    def is_right(self, answer: bytes, versions: Iterable[str]) -> bool:
        """Return whether one of some versions of the model answers so."""
        if self.expected is None or self.read is None:
            return True
        found = self.read(msgspec.json.decode(answer))
        return any(found == self.expected[version] for version in versions)


class Line:
    """A connection that is opened again when the server has closed it, or soon would."""

    IDLE = 2.0  #: seconds; the server closes those that ask nothing for five

    def __init__(self, port: int) -> None:
        self.port, self.used = port, 0.0
        self.reader: asyncio.StreamReader | None = None

    async def ask(self, content: bytes) -> tuple[int, bytes]:
        """Return status and body; raise ConnectionError where none comes."""
        is_idle = time.perf_counter() - self.used > self.IDLE
        if self.reader is None or self.reader.at_eof() or self.writer.is_closing() or is_idle:
            self.close()
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(content)
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = await self.reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            self.close()
            raise ConnectionError(repr(error)) from error
        self.used = time.perf_counter()
        if b"connection: close" in head:
            self.close()
        return int(head[9:12]), body

    def close(self) -> None:
        if self.reader is not None:
            self.writer.close()
        self.reader = None


@dataclass
class Found:
    """What came of requests: statuses, and seconds from when each was due to its answer."""

    statuses: Counter = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    wrong: int = 0
    lost: list[float] = field(default_factory=list)  # when

    def late(self, share: float = 0.99) -> float:
        """Return milliseconds within which a share of the answers came."""
        return 1000 * float(np.quantile(self.seconds, share)) if self.seconds else float("nan")


class Load:
    """Clients of one server.

    Attributes
    ----------
    versions : tuple of str
        Versions of the model which may answer now.
    """

    def __init__(self, port: int, questions: Sequence[Question], seed: int = 0) -> None:
        self.port, self.questions = port, questions
        self.random = random.Random(seed)
        self.versions: tuple[str, ...] = ("a",)
        self.found = Found()

    async def _ask(self, line: Line, due: float) -> None:
        question, versions = self.random.choice(self.questions), self.versions
        try:
            status, answer = await line.ask(question.content)
        except OSError:
            self.found.lost.append(time.perf_counter())
            return
        self.found.seconds.append(time.perf_counter() - due)
        self.found.statuses[status] += 1
        if status == 200 and not question.is_right(answer, {*versions, *self.versions}):
            self.found.wrong += 1

    async def closed(self, seconds: float, n_lines: int = 16) -> float:
        """Ask over some connections as fast as answers come; return requests per second."""
        end = time.perf_counter() + seconds

        async def without_end(line: Line) -> None:
            while time.perf_counter() < end:
                await self._ask(line, time.perf_counter())
            line.close()

        before = sum(self.found.statuses.values())
        await asyncio.gather(*(without_end(Line(self.port)) for _ in range(n_lines)))
        return (sum(self.found.statuses.values()) - before) / seconds

    async def at_rate(self, rate: float, seconds: float) -> None:
        """Ask so many times a second, whether answers come or not."""
        began = time.perf_counter()
        idle: list[Line] = []
        running: set[asyncio.Task[None]] = set()

        async def one(due: float) -> None:
            line = idle.pop() if idle else Line(self.port)
            await self._ask(line, due)
            idle.append(line)

        for k in range(int(rate * seconds)):
            due = began + k / rate
            if (pause := due - time.perf_counter()) > 0:
                await asyncio.sleep(pause)
            task = asyncio.create_task(one(due))
            running.add(task)
            task.add_done_callback(running.discard)
            if not pause > 0 and k % 32 == 0:
                await asyncio.sleep(0)  # it is late: let answers be read
        await asyncio.gather(*running)
        for line in idle:
            line.close()


#: Requests that are wrong, each in its own way, and the statuses they may get.
MALFORMED: tuple[tuple[bytes, tuple[int, ...]], ...] = (
    (Question.of("GET", "/v1/users/nobody/recommendations").content, (404,)),
    (Question.of("GET", "/v1/users/1/recommendations?n=-1").content, (422,)),
    (Question.of("GET", "/v1/users/1/recommendations?n=1&n=2").content, (422,)),
    (Question.of("GET", "/%ff%00/../etc/passwd").content, (400, 404)),
    (Question.of("POST", "/v1/recommendations", {"users": [{"ratings": []}]}).content, (422,)),
    (Question.of("POST", "/v1/predictions", {"pairs": [{"user": {}, "item": []}]}).content, (422,)),
    (Question.of("POST", "/v1/predictions", [1, 2, 3]).content, (422,)),
    (Question.of("DELETE", "/v1/model").content, (405,)),
    (b"POST /v1/predictions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n{\xff\xfe[}", (422,)),
    (b"POST /v1/predictions HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", (400,)),
    (b"POST /v1/predictions HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}", (421,)),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", (400,)),
    (b"GET / HTTP/9.9\r\n\r\n", (400, 404, 421)),
    (b"POST /v1/predictions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n", (413,)),
)


@dataclass
class Endured:
    """What a server went through, and how it answered meanwhile."""

    found: Found
    rate: float
    kills: list[float] = field(default_factory=list)
    reloads: int = 0
    malformed: Counter = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)

    @property
    def lost_to_kills(self) -> int:
        """Requests lost within a second of a kill."""
        return sum(any(0 <= when - kill < 1.0 for kill in self.kills) for when in self.found.lost)

    @property
    def lost(self) -> int:
        """Requests lost otherwise."""
        return len(self.found.lost) - self.lost_to_kills

    def growth(self) -> float:
        """Return by which share memory grew from the second fifth of the time to the last."""
        n = max(1, len(self.memory) // 5)
        return float(np.median(self.memory[-n:]) / np.median(self.memory[n : 2 * n]) - 1)


class Ordeal:
    """Minutes in which a server is asked at a rate, while its model changes, processes die, and nonsense is sent.

    Parameters
    ----------
    serving : Serving
        With at least two processes; its model comes from `file`, which is version "a" now.
    file : Path
    versions : dict of str to Path
        Files of the versions "a" and "b".
    questions : sequence of Question
        With the answers of both.
    """

    def __init__(
        self, serving: Serving, file: Path, versions: dict[str, Path], questions: Sequence[Question], seed: int = 0
    ) -> None:
        self.serving, self.file, self.paths = serving, file, versions
        self.load, self.random = Load(serving.port, questions, seed), random.Random(seed)

    async def endure(
        self, rate: float, seconds: float, n_reloads: int = 20, n_malformed: int = 1000, n_kills: int = 5
    ) -> Endured:
        """Return what came of it."""
        endured = Endured(self.load.found, rate)
        asked = asyncio.create_task(self.load.at_rate(rate, seconds))
        others = [
            self._spread(n_reloads, seconds, lambda: self._reload(endured)),
            self._spread(n_malformed, seconds, lambda: self._send_nonsense(endured)),
            self._spread(n_kills, seconds, lambda: self._kill(endured)),
            self._spread(max(10, int(seconds / 2)), seconds, lambda: self._weigh(endured)),
        ]
        await asyncio.gather(asked, *others)
        return endured

    async def _spread(self, n: int, seconds: float, one: Callable[[], Any]) -> None:
        """Do something so many times, at equal distances, as far as it is ready for the next."""
        began = time.perf_counter()
        for k in range(n):
            await asyncio.sleep(max(0.0, began + (k + 0.5) * seconds / n - time.perf_counter()))
            await one()

    async def _reload(self, endured: Endured) -> None:
        """Let the other version take the place of the one that is served; wait until all old processes have ended."""
        new = "b" if self.load.versions == ("a",) else "a"
        self.load.versions = (*self.load.versions, new)
        before = {one.pid for one in self.serving.workers()}
        copy = self.file.with_suffix(".new")
        shutil.copy(self.paths[new], copy)
        number = self.serving.number("ready")
        copy.replace(self.file)
        await asyncio.to_thread(self.serving.wait_for, "ready", number + 1)
        while before & {one.pid for one in self.serving.workers()}:
            await asyncio.sleep(0.05)
        self.load.versions = (new,)
        endured.reloads += 1

    async def _send_nonsense(self, endured: Endured) -> None:
        content, statuses = self.random.choice(MALFORMED)
        line = Line(self.serving.port)
        try:
            status, _ = await line.ask(content)
        except OSError:
            endured.found.lost.append(time.perf_counter())
        else:
            is_right = status in (*statuses, 503)  # which it gets where too many wait
            endured.malformed["as it must be" if is_right else f"{status}: {content[:60]!r}"] += 1
        line.close()

    async def _kill(self, endured: Endured) -> None:
        endured.kills.append(time.perf_counter())
        os.kill(self.random.choice(self.serving.workers()).pid, signal.SIGKILL)

    async def _weigh(self, endured: Endured) -> None:
        if len(self.load.versions) == 1:  # else there are two models
            endured.memory.append(await asyncio.to_thread(self.serving.memory))


def by_item(answer: Any) -> list[tuple[Any, float]]:
    """Return items and scores of a list."""
    return [(one["item"], one["score"]) for one in answer["items"]]


def known_users(models: dict[str, Any], n: int, seed: int = 0) -> list[Question]:
    """Return questions for ten recommendations, each for one user, with the answers of the library."""
    users = np.random.default_rng(seed).permutation(next(iter(models.values())).users_.ids)[:n].tolist()
    expected: dict[Any, dict[str, Any]] = defaultdict(dict)
    for version, model in models.items():
        for user in users:
            items, scores = model.recommend([user], 10)
            expected[user][version] = list(zip(items[0].tolist(), scores[0].tolist(), strict=True))
    return [
        Question.of("GET", f"/v1/users/{user}/recommendations", expected=expected[user], read=by_item) for user in users
    ]


def new_users(models: dict[str, Any], n: int, n_ratings: int = 20, seed: int = 0) -> list[Question]:
    """Return questions for ten recommendations to new users with some ratings, with the answers of the library."""
    generator = np.random.default_rng(seed)
    first = next(iter(models.values()))
    scale = first.scale_
    questions = []
    for _ in range(n):
        items = generator.permutation(first.items_.ids)[:n_ratings].tolist()
        ratings = generator.choice(scale, n_ratings).tolist()
        rated = [{"item": item, "rating": rating} for item, rating in zip(items, ratings, strict=True)]
        expected = {}
        for version, model in models.items():
            found, scores = model.fold_in([("a", item) for item in items], ratings).recommend(["a"], 10)
            expected[version] = list(zip(found[0].tolist(), scores[0].tolist(), strict=True))
        body = {"users": [{"ratings": rated}]}
        questions.append(
            Question.of(
                "POST", "/v1/recommendations", body, expected=expected, read=lambda answer: by_item(answer["lists"][0])
            )
        )
    return questions
