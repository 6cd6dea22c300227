"""Ways to bring about what seldom goes wrong, and to see whether the advice that is given then helps."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import logging
import os
import re
import resource
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout, suppress
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import cofactor
from cofactor.datasets import make_ratings, write_table
from cofactor.errors import LostRatingsWarning
from cofactor.evaluation import Cell, run_cells
from cofactor.plots import plot_splits
from cofactor.plots.figures import draw
from cofactor.ratings import OrdinalProbit, Ratings, ShardedRatings, shard_files
from cofactor.server import Keys
from cofactor.server.worker import Listening, Worker
from cofactor.service.rating_service import RatingService

NOBODY = 65534


def same(values: Any) -> Any:
    """Return what it is given; a function with a name of its own."""
    return values


def unsourced(**where: Any) -> dict[str, float]:
    """Measure something, by code that was typed by hand."""
    return {"mae": 0.7}


unsourced.__module__ = "nowhere"


def stored(path: str, *, newer: bool = False) -> str:
    """Make a store of one result, perhaps of a newer version; return its path."""
    run_cells([Cell(work=lambda: {"mae": 0.7}, method="ALS", data="toy", split="weak 1/3")], path)
    if newer:
        Path(path, "cofactor-results-99").touch()
    return path


def old_store(path: str) -> str:
    """Make a store as earlier versions made them, which were one file; return its path."""
    Path(path).write_bytes(b"SQLite format 3\0")
    return path


def writable(make: Callable[[str], Any], mode: int = 0o755) -> None:
    """Make a store, as another user than root, in a folder of this mode."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        if not user:
            os.chown(folder, NOBODY, NOBODY)
        os.chmod(folder, mode)
        try:
            if not user:
                os.seteuid(NOBODY)
            make(f"{folder}/results")
        finally:
            os.seteuid(user)
            os.chmod(folder, 0o755)


def unwritable(make: Callable[[str], Any]) -> None:
    """Make a store in a folder in which nothing may be written."""
    writable(make, 0o555)


class Broken(RatingService):
    """Answers with a mistake of ours."""

    def facts(self) -> Any:
        raise RuntimeError("a mistake")


class Slow(RatingService):
    """Answers after a while."""

    def facts(self) -> Any:
        time.sleep(0.1)
        return super().facts()


@contextmanager
def log_of(part: str) -> Iterator[list[str]]:
    """Within the block, collect what a part of the package logs."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger(part)
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)


@contextmanager
def logged(text: str) -> Iterator[None]:
    """Within the block, an error is one that the log names by a text."""
    with log_of("cofactor.server") as lines, suppress(ValueError):
        yield
    assert any(text in line for line in lines), lines


def private(path: str, key: str) -> None:
    """Read the keys of a file that nobody else may read, with one key."""
    Path(path).touch(mode=0o600)
    Path(path).write_text(f"{key}\n")
    Keys.read(path)


def changed_file(path: str) -> None:
    """Write another digit in the last line of a file, or the one that was there."""
    *lines, last = Path(path).read_text().splitlines()
    Path(path).write_text("\n".join([*lines, last.translate(str.maketrans("89", "98"))]) + "\n")


@contextmanager
def touched(file: str) -> Iterator[None]:
    """Within the block, a file is written again and again."""
    over = threading.Event()

    def write() -> None:
        for k in itertools.count():
            os.utime(file, ns=(k, k))
            if over.is_set():
                return

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def send(app: Any, *headers: str) -> None:
    """Send a request with headers over a connection; raise an error where it is refused."""
    lines = ["GET /v1/model HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", ""]

    def ask(listening: Listening, worker: Worker) -> bytes:
        try:
            with socket.create_connection(listening.getsockname()) as connection:
                connection.sendall("\r\n".join(lines).encode())
                return b"".join(iter(lambda: connection.recv(65536), b""))
        finally:
            worker.should_exit = True

    async def serve() -> bytes:
        with Listening("127.0.0.1", 0) as listening:
            worker = Worker(app)
            listening.open()
            asked = asyncio.to_thread(ask, listening, worker)
            answer, _ = await asyncio.gather(asked, worker.serve([listening]))
        return answer

    begun, _, body = asyncio.run(serve()).partition(b"\r\n\r\n")
    if b" 200 " not in begun:
        raise ValueError(json.loads(body)["error"]["message"])


@contextmanager
def cluster(n_workers: int, mishap: Callable[[Any], object] = id) -> Iterator[str]:
    """Within the block, there is a cluster of Dask, by its address; a mishap befalls it when it begins to work."""
    import dask
    from distributed import LocalCluster
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Watching(SchedulerPlugin):
        def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
            if finish == "processing":
                mishap(scheduler)

    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(n_workers=n_workers, **options) as made:
        scheduler = made.scheduler
        scheduler.add_plugin(Watching())
        try:
            yield made.scheduler_address
        finally:
            with dask.config.set({"distributed.comm.timeouts.connect": 0.1}):  # for one that is gone
                made.close()


def kill_worker(scheduler: Any) -> None:
    """Let a worker of a cluster die, once too often."""
    scheduler.allowed_failures = 0
    address = next(iter(scheduler.workers))
    scheduler.loop.add_callback(scheduler.remove_worker, address, stimulus_id="mishap")


def end_cluster(scheduler: Any) -> None:
    """Let the scheduler of a cluster end."""
    scheduler.loop.add_callback(scheduler.close)


@contextmanager
def absent(*packages: str) -> Iterator[None]:
    """Within the block, packages are not installed."""
    version = metadata.version

    def known(name: str) -> str:
        if name in packages:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    with mock.patch.dict(sys.modules, dict.fromkeys(packages)), mock.patch.object(metadata, "version", known):
        yield


def installed(package: str, extra: str = "") -> None:
    """Check that what installs a package, by itself or with an extra of ours, is there to be installed."""
    metadata.version(package)
    if extra:
        wanted = [line for line in metadata.requires("cofactor") or () if line.endswith(f"extra == '{extra}'")]
        assert any(re.match(rf"{package}\b", line) for line in wanted), wanted


@contextmanager
def broken_installation(folder: str) -> Iterator[None]:
    """Within the block, all is wrong that an installation can have."""
    wrong = {"NUM_THREADS": "many", "CACHE": f"{folder}/pairs.csv/cache", "DATA": f"{folder}/nowhere"}
    lacking = absent("numpy", "matplotlib", "scikit-posthocs", "arviz", "pandas", "polars")
    with lacking, mock.patch.dict(os.environ, {f"COFACTOR_{name}": value for name, value in wrong.items()}):
        yield


def printed(call: Callable[[], object]) -> None:
    """Raise an error with what a call prints."""
    with redirect_stdout(io.StringIO()) as out:
        call()
    if out.getvalue():
        raise ValueError(out.getvalue())


def drawn(text: str) -> None:
    """Draw a picture with a title; raise an error with what is logged of it."""
    with log_of("cofactor.plots") as lines:
        draw(plot_splits({"ALS": [1.0, 2.0]}, title=text), "png")
    if lines:
        raise ValueError(*lines)


def reheaded(path: str, **members: Any) -> None:
    """Change members of the header of a model file."""
    data = Path(path).read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    outer = json.loads(data[8:end])
    outer["__metadata__"]["cofactor"] = json.dumps(json.loads(outer["__metadata__"]["cofactor"]) | members)
    written = json.dumps(outer).encode()
    Path(path).write_bytes(len(written).to_bytes(8, "little") + written + data[end:])


@contextmanager
def environment(**variables: Any) -> Iterator[None]:
    """Set variables of the environment within the block."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, str(value))
        yield


def in_memory(values: Any = None, times: Any = None) -> ShardedRatings:
    """Return shards in memory."""
    data = make_ratings(30, 20, 2, density=0.5, random_state=0)
    found = Ratings.from_pairs(data.X, data.y if values is None else values, times=times)
    return ShardedRatings.from_ratings(found, 3)


def shards(folder: str) -> ShardedRatings:
    """Write a folder of shards, and return it."""
    if not Path("shards-for-all").exists():
        in_memory().save("shards-for-all")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree("shards-for-all", folder)
    return ShardedRatings.open(folder)


def worded_shards(folder: str) -> None:
    """Write a folder of shards whose users are words."""
    shutil.rmtree(folder, ignore_errors=True)
    found = Ratings.from_pairs([("eve", 1), ("eve", 2), ("dan", 1)], [4, 5, 4])
    ShardedRatings.from_ratings(found, 2).save(folder)


def half_sharded(folder: str) -> None:
    """Begin to shard a file, and be interrupted."""

    def interrupt(phase: str, done: float, total: float) -> None:
        if phase == "routing":
            raise KeyboardInterrupt

    shutil.rmtree(folder, ignore_errors=True)
    with suppress(KeyboardInterrupt):
        shard_files("many.csv", folder, callback=interrupt)


def linked(path: str, *, back: bool = False) -> None:
    """Replace a file or a folder by a link to it elsewhere, and that by itself again."""
    there, elsewhere = Path(path), Path("elsewhere")
    if elsewhere.exists():
        shutil.rmtree(elsewhere) if elsewhere.is_dir() else elsewhere.unlink()
    there.rename(elsewhere)
    there.symlink_to(elsewhere.absolute())
    if back:
        there.unlink()
        elsewhere.rename(there)


def lost(what: str, back: str = "") -> Any:
    """Return a model that moved away from its folder, which is gone, or back there or where the file stands now."""
    for place in ("first", "second", "elsewhere"):
        shutil.rmtree(place, ignore_errors=True)
        Path(place).mkdir()
    found = shards("first/s").on(users="folder" if what == "users" else "memory")
    model = OrdinalProbit(1, n_sweeps=2, burn_in=1, random_state=0).fit(found)
    model.save("first/model.cofactor")
    del model, found
    Path("first/model.cofactor").rename("second/model.cofactor")
    Path("first/s").rename({"there": "first/s", "relative": "second/s"}.get(back, "elsewhere/s"))
    with warnings.catch_warnings(action="ignore", category=LostRatingsWarning):
        return cofactor.load("second/model.cofactor")


class Drift:
    """A posterior whose only step sets a number to a power of another."""

    kept = ("x",)

    def __init__(self, base: float, n_factors: int) -> None:
        self.base, self.n_factors = base, n_factors
        self.steps = {"set": self.set}

    def start(self, key: Any) -> Any:
        return {"x": np.zeros(1, np.float32)}

    def initialize(self, state: Any) -> None:
        """It is where it is."""

    def set(self, state: Any, key: Any) -> None:
        state["x"][:] = np.prod(np.full(self.n_factors, self.base))

    def log_likelihood(self, state: Any) -> float:
        return 0.0

    def tune(self, state: Any, sweep: int) -> None:
        """Nothing is to be tuned."""


@contextmanager
def small_files(n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a number of bytes within the block."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Client:
    """The client of a cluster without workers that are up, one of which answers with an error if there is one."""

    def __init__(self, error: Exception | None = None, status: str = "running") -> None:
        self.error, self.status = error, status

    def nthreads(self) -> dict[str, int]:
        return {}

    def run(self, *asked: Any, **how: Any) -> dict[str, Any]:
        return {} if self.error is None else {"tcp://worker": self.error}


@contextmanager
def one_worker() -> Iterator[Any]:
    """Give the client of a cluster within this process."""
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(n_workers=1, **options) as cluster, Client(cluster) as client:
        yield client


class Part:
    """A part that knows its number."""

    def __init__(self, k: int) -> None:
        self.k = k

    def answer(self, question: Any) -> dict[str, Any]:
        return {"k": np.array(float(self.k))}


def dying(k: int) -> Any:
    """End as a worker does that is killed."""
    raise OSError("connection lost")


def extras() -> list[str]:
    """Return the extras that `pip` finds."""
    return metadata.metadata("cofactor").get_all("Provides-Extra") or []


def append_while_another_writes() -> None:
    with closing(sqlite3.connect("shop.db")) as other:
        other.execute("begin immediate")
        write_table("sqlite:///shop.db?if_exists=append#r", {"user": [1], "item": [7], "rating": [5]})
