"""Connections, and how much of a request they may bring before it is whole."""

from __future__ import annotations

import select
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from cofactor.server.failures import RefusalError, failures_of
from cofactor.server.monitoring import new_id

HEAD = 1 << 16  #: bytes of the line and the headers of a request, and of what stands between the parts of a body
HEADERS = 100  #: of a request
_HEADS = 1 << 24  #: bytes that all connections of a process may hold of requests whose head is not whole
_UNREAD = 1 << 26  #: bytes of answers that wait for clients to read them, in a process
_READING = 30.0  #: seconds in which a client must have read an answer
_PASSED_OVER = 1 << 24  #: bytes that are read after an answer: many clients hear nothing before they have sent all
_AT_A_TIME = 64  #: connections that are closed at a time, ten times a second
_CHUNK = 1 << 13  #: bytes that are parsed at a time


@dataclass(eq=False)
class Connections:
    """Those of a process. The ones from which no whole request has come are closed in time, or sooner for want of room.

    Parameters
    ----------
    seconds : float, default=10.0
        In which the head of a request must have come.
    most : int, default=2048
        How many there may be; for a new one another one is closed: that which began a request first and has not sent
        it all, else that which has waited longest for one.
    refused : callable, optional
        Called with the status of a refusal of what is no whole request.
    """

    seconds: float = 10.0
    most: int = 2048
    refused: Callable[[int], object] = int
    waiting: dict[Connection, float] = field(default_factory=dict)  #: no request is answered; until when, soonest first
    unread: dict[Connection, float] = field(default_factory=dict)  #: an answer is not read; until when, soonest first
    n_bytes: int = 0  #: of heads that are not whole

    @property
    def protocol(self) -> Callable[..., Connection]:
        """What makes a connection, for uvicorn."""
        return partial(Connection, connections=self)

    def wait(self, connection: Connection) -> None:
        """Note that a connection waits for a request from now on."""
        self.waiting.pop(connection, None)
        self.waiting[connection] = connection.loop.time() + self.seconds

    def make_room(self, n: int) -> None:
        """End connections that wait for a request, if there are n, which is too many, or they hold too much."""
        if n <= self.most and self.n_bytes <= _HEADS:
            return
        for one in sorted(self.waiting, key=lambda one: not one.is_in_head):  # the oldest of either first
            if (n > self.most and not one.has_unread()) or (self.n_bytes > _HEADS and one.n_held):
                one.transport.abort()
                one.leave()
                n -= 1

    def expire(self, now: float) -> None:
        """End connections that had their time, a few of them: others wait meanwhile."""
        for one in [one for one, end in islice(self.waiting.items(), _AT_A_TIME) if end < now]:
            one.expire(f"did not come within {self.seconds:g} seconds")
        n_bytes = sum(one.transport.get_write_buffer_size() for one in self.unread)
        for one, end in self.unread.items():  # they leave it later
            if end < now or n_bytes > _UNREAD:
                n_bytes -= one.transport.get_write_buffer_size()
                one.transport.abort()


class Connection(HttpToolsProtocol):
    """A connection as uvicorn has it, whose requests are limited before they are whole.

    What comes while a request is answered waits for its turn. So requests before bytes that are no HTTP are answered,
    and so is a client that sends no more.
    """

    def __init__(self, *args: Any, connections: Connections, **more: Any) -> None:
        super().__init__(*args, **more)
        self.all = connections
        self.rest = bytearray()  # is parsed when what came before is answered
        self.n_held = self.n_passed_over = 0  # bytes that were parsed: of nothing that is whole yet, and in vain
        self.is_in_head = self.is_ahead = self.is_ended = False
        self.before: Any = None  # the request before the last one
        self.refusal: RefusalError | None = None  # after which nothing is heard

    @property
    def is_answering(self) -> bool:
        """Whether the answer to a request is not complete."""
        last = self.cycle
        return bool(self.pipeline) or not (last is None or last.response_complete or last.disconnected)

    def has_unread(self) -> bool:
        """Whether something came between two requests that was not read yet, and may be a whole one."""
        if self.is_in_head or self.refusal is not None or self.transport.is_closing() or not hasattr(select, "poll"):
            return False
        unread = select.poll()
        unread.register(self.transport.get_extra_info("socket"), select.POLLIN)
        return bool(unread.poll(0))

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.all.wait(self)
        self.all.make_room(len(self.connections))

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave nothing."""
        super().connection_lost(exc)
        self.leave()

    def leave(self) -> None:
        """Take part in nothing any more."""
        self.connections.discard(self)
        self.rest.clear()
        self.pipeline.clear()
        self._hold(0)
        self.all.waiting.pop(self, None)
        self.all.unread.pop(self, None)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        self._unset_keepalive_if_required()
        if self.refusal is not None:
            self._pass_over(len(data))
            return
        self.rest += data
        self._go_on()

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn always closes the connection
        """Return whether a client that sends no more is to be answered."""
        self.is_ended = self.is_answering and (bool(self.pipeline) or not self.cycle.more_body)
        return self.is_ended

    def on_response_complete(self) -> None:
        """Take the next request, or close the connection where there can be none."""
        super().on_response_complete()
        if self.is_answering:
            return
        self.all.wait(self)
        if self.transport.is_closing():
            return
        if self.refusal is not None:
            self._end(self.refusal)
            return
        self._go_on()
        if self.is_ended and not self.is_answering:
            self.transport.close()

    def expire(self, problem: str) -> None:
        """End the wait for a request, or for the client to take what is written."""
        if self.has_unread():
            return
        self.all.waiting.pop(self, None)
        if self.transport.is_closing():
            if self not in self.all.unread:
                self.transport.abort()
        elif self.is_in_head and self.refusal is None:
            self._refuse(RefusalError(408, problem, "headers"))
        else:
            self.transport.close()
            self.all.wait(self)

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection, between two requests."""
        if not self.has_unread():
            super().timeout_keep_alive_handler()

    def shutdown(self) -> None:
        """Close the connection when what came is answered."""
        if self.is_answering or not self.has_unread():
            super().shutdown()
        else:
            self.loop.call_soon(self.shutdown)  # it is read before

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        super().pause_writing()
        self.all.unread.setdefault(self, self.loop.time() + _READING)

    def resume_writing(self) -> None:
        """Note that it has read."""
        super().resume_writing()
        self.all.unread.pop(self, None)
        if not self.is_answering:
            self.all.wait(self)

    # ---------------------------------------------------------------- the parser calls these

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.is_in_head, self.n_passed_over = True, 0
        if self in self.all.waiting:
            self.all.wait(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what follows a body in parts is none."""
        if self.is_in_head:
            super().on_header(name, value)
            if len(self.headers) > HEADERS:
                raise _too_large(f"more than {HEADERS}")

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self.is_in_head, self.is_ahead = False, True
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > HEAD:
            raise _too_large(f"more than {HEAD:,} bytes")
        self.before = self.cycle
        super().on_headers_complete()
        self.all.waiting.pop(self, None)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self.is_ahead = True
        super().on_body(body)
        if self.cycle.response_complete:
            self._pass_over(len(body))

    def on_message_complete(self) -> None:
        """End a request."""
        self.is_ahead = True
        super().on_message_complete()

    # ---------------------------------------------------------------- within

    def _go_on(self) -> None:
        """Parse what came, until a request must wait for the answers before it."""
        while self.rest and not (self.pipeline or self.refusal or self.transport.is_closing()):
            self._unset_keepalive_if_required()
            piece = bytes(self.rest[:_CHUNK])
            del self.rest[:_CHUNK]
            self._parse(piece)
        if self.rest:
            self.flow.pause_reading()
        self.all.make_room(len(self.connections))

    def _parse(self, piece: bytes) -> None:
        self.is_ahead = False
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as other:  # than HTTP/1.1, which it stays
            self.rest[:0] = piece[other.args[0] :]
        except httptools.HttpParserError as error:
            ours = error.__context__
            self._refuse(ours if isinstance(ours, RefusalError) else RefusalError(400, "these bytes are no HTTP"))
            return
        self._hold(0 if self.is_ahead else self.n_held + len(piece))
        if self.n_held > HEAD:
            self._refuse(_too_large(f"more than {HEAD:,} bytes"))

    def _hold(self, n: int) -> None:
        self.all.n_bytes += n - self.n_held
        self.n_held = n

    def _pass_over(self, n: int) -> None:
        """Note bytes that nobody reads; close the connection where more have come."""
        self.n_passed_over += n
        if self.n_passed_over > _PASSED_OVER:
            self.transport.close()

    def _refuse(self, refusal: RefusalError) -> None:
        """Hear no more, and answer a refusal when what came before is answered."""
        self.refusal = refusal
        self.rest.clear()
        self._hold(0)
        if self.is_answering and self.cycle.more_body and not self.cycle.response_started:  # its body is what is wrong
            if self.pipeline:
                self.pipeline.popleft()
                self.cycle = self.before
            else:
                self.cycle.disconnected = True
                self.cycle.message_event.set()
        if not self.is_answering:
            self._end(refusal)

    def _end(self, refusal: RefusalError) -> None:
        """Answer a refusal; close the connection when the client has, or after a while, so that the answer is read."""
        self.all.refused(refusal.status)
        self.logger.warning(refusal.message())
        body = msgspec.json.encode(failures_of(refusal, new_id()))
        headers = [*self.server_state.default_headers, (b"content-type", b"application/json")]
        headers += [(b"content-length", b"%d" % len(body)), (b"connection", b"close")]
        lines = b"".join(b"%b: %b\r\n" % one for one in headers)
        self.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[refusal.status], lines, body))
        with suppress(OSError):  # the client has gone this moment
            self.transport.write_eof()
        self.flow.resume_reading()  # to hear that the client has closed it
        self.all.wait(self)


def _too_large(problem: str) -> RefusalError:
    return RefusalError(431, f"{problem} are refused", "headers", advice="send fewer or shorter ones")
