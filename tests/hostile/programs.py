"""Runs of the program in process groups of their own, which are killed, interrupted, or short of rights and room."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import NamedTuple

from tests.children import IMPORTED, forking

_WARM = "tests.hostile.warm"  #: takes seconds, and counts if no process has been forked before
_KEEP_CAPABILITIES, _READ_ANYWHERE = 8, 1 << 2  # of prctl; CAP_DAC_READ_SEARCH


class Ended(NamedTuple):
    """How a run ended."""

    status: int
    out: str
    err: str
    began: float  #: when it began to work, and when it ended, by `time.monotonic`
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    @property
    def last(self) -> str:
        """The last line on standard error."""
        return self.err.splitlines()[-1] if self.err else ""


class Program:
    """The command `cofactor` as a terminal runs it: what it starts is in its group.

    Parameters
    ----------
    folder : Path
        Where it runs, and where what it says is kept while it runs.
    user : int, optional
        Whose rights to write it has; it may read everything, so that it finds the package.
    prepare : callable, optional
        A function of a module, which is called in its process first.
    """

    def __init__(
        self,
        arguments: list[str],
        folder: Path,
        said: Path,
        environment: Mapping[str, str],
        user: int | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.said = said
        IMPORTED.extend({_WARM} - {*IMPORTED})
        ours, theirs = Pipe(duplex=False)
        self.process = forking().Process(
            target=_run, args=(arguments, folder, said, dict(environment), user, prepare, theirs), daemon=False
        )
        self.process.start()
        theirs.close()
        ours.recv()
        ours.close()
        self.began = time.monotonic()
        assert self.process.pid is not None
        self.group = self.process.pid

    def send(self, number: int) -> None:
        """Send a signal: Ctrl-C goes to all processes of the group, as from a terminal."""
        if self.process.exitcode is None:
            (os.killpg if number == signal.SIGINT else os.kill)(self.group, number)

    def end(self, timeout: float = 300) -> Ended:
        """Wait until it has ended."""
        self.process.join(timeout)
        ended = time.monotonic()
        assert self.process.exitcode is not None, "it still runs"
        out, err = ((self.said / name).read_text() for name in ("out", "err"))
        return Ended(self.process.exitcode, out, err, self.began, ended)

    def left(self) -> list[str]:
        """Return the processes of the group which still run."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                state, _, group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
                if int(group) == self.group and state not in "ZX":
                    found.append((folder / "cmdline").read_text().replace("\0", " "))
            except (OSError, ValueError):  # it is no process, or has ended just now
                continue
        return found

    def seconds_until_alone(self, longest: float) -> float:
        """Return how long processes of the group are still there, at most this long."""
        began = time.monotonic()
        while self.left() and time.monotonic() - began < longest:
            time.sleep(0.05)
        return time.monotonic() - began


def _run(
    arguments: list[str],
    folder: Path,
    said: Path,
    environment: dict[str, str],
    user: int | None,
    prepare: Callable[[], None] | None,
    ready: Connection,
) -> None:
    from cofactor.cli import main

    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDONLY)
    files = [os.open(said / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666) for name in ("out", "err")]
    for number, file in enumerate([nothing, *files]):
        os.dup2(file, number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", 1)  # noqa: SIM115
    if user is not None:
        _become(user)
    os.chdir(folder)
    os.environ.update(environment)
    sys.argv = ["cofactor", *arguments]
    if prepare is not None:
        prepare()
    ready.send(True)
    ready.close()
    status = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what follows is not the program's
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()  # after the threads, as at the end of any program; multiprocessing leaves this out
    sys.exit(status)


def _become(user: int) -> None:
    """Take the rights of a user, and keep that to read everything."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(_READ_ANYWHERE, _READ_ANYWHERE, 0, 0, 0, 0)
    if libc.capset(header, data):
        raise OSError(ctypes.get_errno(), "capset")
