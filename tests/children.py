"""Processes of their own which need not import everything anew: forked from a server that has done so once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection, Pipe
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

IMPORTED = [
    *("typer", "rich.progress", "distributed"),
    *("cofactor.service.ratings", "cofactor.service.labels", "cofactor.evaluation"),
]


def forking() -> ForkServerContext:
    """Return the context of `multiprocessing` whose processes have the package imported when they start."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", *IMPORTED])
    return context


def start_server() -> None:
    """Start the server of `forking` for others who take the method "forkserver": a process has one such server."""
    forking()
    forkserver.ensure_running()


def answer_of(code: str, **names: Any) -> Any:
    """Run some lines in a process of its own, with names given to them; return what they send by ``answer.send``."""
    ours, theirs = Pipe(duplex=False)
    process = forking().Process(target=exec, args=(code, {**names, "answer": theirs}))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    finally:
        process.kill()
        process.join()
        ours.close()


class Command:
    """The command `cofactor` in a process of its own, with the part of `subprocess.Popen` that tests need.

    A function of a module to `prepare` it is called in its process first.
    """

    def __init__(
        self,
        arguments: list[str],
        folder: Path,
        environment: Mapping[str, str],
        prepare: Callable[[], object] | None = None,
    ) -> None:
        pipes = [Pipe(duplex=False) for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        given = (arguments, folder, dict(environment), prepare)
        self.process = forking().Process(target=_run, args=(*given, *theirs))
        self.process.start()
        for end in theirs:
            end.close()
        self.stdin = _file(pipes[0][1], "wb")
        self.stdout, self.stderr = _file(pipes[1][0], "rb"), _file(pipes[2][0], "rb")

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    poll = returncode.fget

    def send_signal(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def let_work(self, seconds: float = 0.6) -> None:
        """Wait until it has worked so long, by the time of the processor where it can be read, or has ended."""
        own = Path(f"/proc/{self.process.pid}/stat")
        if not own.exists():
            time.sleep(2)
            return
        while self.process.exitcode is None:
            times = own.read_text().rpartition(")")[2].split()[11:13]  # of its own and of the system for it
            if sum(map(int, times)) >= seconds * os.sysconf("SC_CLK_TCK"):
                return
            time.sleep(0.01)

    def communicate(self, content: bytes = b"", timeout: float = 60) -> tuple[bytes, bytes]:
        """Write standard input, and return all of standard output and standard error when the process has ended."""
        with ThreadPoolExecutor(2) as threads:
            out, err = threads.submit(self.stdout.read), threads.submit(self.stderr.read)
            with suppress(BrokenPipeError), self.stdin:
                self.stdin.write(content)
            self.end(timeout)
            return out.result(), err.result()

    def end(self, timeout: float = 60) -> None:
        """Wait until it has ended; it is an error if that takes longer than `timeout` seconds."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            self.process.kill()
            raise TimeoutError(f"the command still ran after {timeout} s")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.join()
        for file in (self.stdin, self.stdout, self.stderr):
            file.close()


def _file(end: Connection, mode: str) -> BinaryIO:
    """Make a file of one end of a pipe."""
    file = cast(BinaryIO, os.fdopen(os.dup(end.fileno()), mode))
    end.close()
    return file


def _run(
    arguments: list[str],
    folder: Path,
    environment: dict[str, str],
    prepare: Callable[[], object] | None,
    *streams: Connection,
) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    unbuffered = 1 if environment.get("PYTHONUNBUFFERED") else -1
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", unbuffered), open(2, "w", 1)  # noqa: SIM115
    os.chdir(folder)
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from cofactor.cli import main
    from cofactor.kernels import threads

    threads._default_threads.cache_clear()  # the server has read its own environment
    if prepare is not None:
        prepare()
    sys.exit(main(arguments))
