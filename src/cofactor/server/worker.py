"""A process that answers requests."""

from __future__ import annotations

import asyncio
import errno
import math
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from cofactor.errors import InvalidInputError
from cofactor.server.connections import Connections
from cofactor.server.operations import Limits

GRACE = 30.0  #: seconds which requests and connections have to end
READY, DRAIN = b"r", b"d"  #: what a worker and its supervisor tell each other

_QUEUE = 2048  #: connections that wait to be taken
_OTHER_FILES = 64  #: descriptors that a process needs beside those of connections
_ENDING = (signal.SIGTERM, signal.SIGINT)


class Listening(socket.socket):
    """A socket that is bound, from which several processes take connections.

    One queue serves all of them, so that a process which ends leaves nothing in it: with one for each (SO_REUSEPORT),
    connections that wait in its own would be lost.

    Parameters
    ----------
    host : str
    port : int

    Raises
    ------
    InvalidInputError
        If the address cannot be bound.
    """

    def __init__(self, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # asyncio sets TCP_NODELAY where the protocol is said: without it, the second part of an answer waits for 40 ms.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            if sys.platform != "win32":  # where it means that others may take the port away
                self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self.family == socket.AF_INET6:
                self.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            self.bind((host, port))
        except OSError as error:
            self.close()
            problem = f"nobody can listen at {host}:{port}: {error.strerror}"
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                raise InvalidInputError(problem, argument="port", advice="give another port") from None
            raise InvalidInputError(problem, argument="host", advice="give one of this machine") from None

    @property
    def address(self) -> str:
        """Where the page is, on this machine if it is bound to all addresses."""
        host, port = self.getsockname()[:2]
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    def open(self) -> None:
        """Let connections come."""
        super().listen(_QUEUE)

    def listen(self, backlog: int = 0, /) -> None:
        """Leave the queue as it is.

        asyncio sets its length to the number of connections that it takes at a time. These must be few, or the first
        process that wakes up takes all.
        """


class Worker(uvicorn.Server):
    """Answers until a signal ends it, or its supervisor does, or says that others do now.

    In the last case it takes no more connections. Those that it has are closed each with its next answer, so that no
    request comes to a closed one, or by the client.

    Parameters
    ----------
    app : callable
        The ASGI application.
    channel : socket, optional
        To the supervisor. It is told when connections are taken, and has ended where the channel has.
    limits : Limits, optional
        The most that connections may ask for.
    refused : callable, optional
        Called with the status of a refusal of what is no whole request.
    """

    def __init__(
        self,
        app: ASGIApp,
        channel: socket.socket | None = None,
        limits: Limits | None = None,
        refused: Callable[[int], object] = int,
    ) -> None:
        limits = limits or Limits()
        self.all = Connections(limits.seconds, _descriptors(limits.connections), refused)
        config = uvicorn.Config(
            app,
            http=self.all.protocol,  # type: ignore[arg-type]  # it makes a protocol as a class does
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(GRACE),
            lifespan="on",
            ws="none",
            loop="asyncio",
            backlog=1,  # see `Listening.listen`
        )
        super().__init__(config)
        self.channel, self.drained_until = channel, math.inf

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take connections, and say so."""
        await super().startup(sockets)
        if self.channel is not None:
            asyncio.get_running_loop().add_reader(self.channel, self._hear, self.channel)
            self.channel.send(READY)

    def _hear(self, channel: socket.socket) -> None:
        """Obey the supervisor; end if it has ended."""
        if channel.recv(1) == DRAIN:
            self._drain()
        else:
            asyncio.get_running_loop().remove_reader(channel)
            self.should_exit = True

    def _drain(self) -> None:
        """Take no more connections, and close each after an answer."""
        for server in self.servers:
            server.close()
        close = (b"connection", b"close")
        self.config.encoded_headers.append(close)
        self.server_state.default_headers = [*self.server_state.default_headers, close]
        self.drained_until = time.monotonic() + GRACE

    async def on_tick(self, counter: int) -> bool:
        """End connections that had their time; return whether to end now, ten times a second."""
        self.all.expire(asyncio.get_running_loop().time())
        is_drained = math.isfinite(self.drained_until) and not self.server_state.connections
        return await super().on_tick(counter) or is_drained or time.monotonic() > self.drained_until

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Within the block, signals end this server, and nothing else."""
        before: dict[signal.Signals, Any] = {one: signal.signal(one, self.handle_exit) for one in _ENDING}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def _descriptors(n: int) -> int:
    """Return how many connections this process may have, at most n, having asked the system for as many."""
    try:
        import resource
    except ImportError:  # Windows
        return n
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < n + _OTHER_FILES:
        soft = n + _OTHER_FILES if hard == resource.RLIM_INFINITY else min(n + _OTHER_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, min(n, soft - _OTHER_FILES))
    return n
