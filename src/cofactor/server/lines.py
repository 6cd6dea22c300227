"""Lines of the log on standard error, for which no request waits."""

from __future__ import annotations

import json
import logging
import os
import stat
import sys
import time
from collections.abc import Mapping
from typing import Any

__all__ = ["AT_A_TIME", "StandardError", "line_of"]

AT_A_TIME = 4096  #: bytes which Linux writes to a pipe as one
_JSON = json.JSONEncoder(default=str)


def line_of(event: str, facts: Mapping[str, Any]) -> str:
    """Return an event as a line of JSON.

    Parameters
    ----------
    event : str
        What happened.
    facts : mapping from str to object
        What there is to say of it.
    """
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return _JSON.encode({"time": now, "event": event, **facts})


class StandardError(logging.Handler):
    """Writes lines to standard error; those that a pipe does not take at once are counted, and their number is told.

    Whoever does not read the pipe to its end would else hold up all requests, and the end of the server.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pipe, self.n_lost, self.is_cut = _opened_anew(), 0, False

    def emit(self, record: logging.LogRecord) -> None:
        """Write what was said."""
        said = record.getMessage()
        if self.pipe is None:
            print(said, file=sys.stderr, flush=True)
            return
        if self.n_lost and self._is_taken(self.pipe, line_of("lines lost", {"number": self.n_lost})):
            self.n_lost = 0
        if self.n_lost or not self._is_taken(self.pipe, said):
            self.n_lost += said.count("\n") + 1

    def close(self) -> None:
        """Close the pipe that was opened here."""
        if self.pipe is not None:
            os.close(self.pipe)
            self.pipe = None
        super().close()

    def _is_taken(self, pipe: int, lines: str) -> bool:
        """Write lines to a pipe; return whether it took all of them."""
        whole = b"\n" * self.is_cut + lines.encode() + b"\n"
        for first in range(0, len(whole), AT_A_TIME):
            try:
                os.write(pipe, whole[first : first + AT_A_TIME])
            except OSError:  # it is full, or nobody has the other end any more
                self.is_cut |= first > 0
                return False
        self.is_cut = False
        return True


def _opened_anew() -> int | None:
    """Return standard error, opened anew so that nothing waits for it, if it is a pipe; None if it is none.

    Those who share the pipe have it as it was.
    """
    try:
        own = sys.stderr.fileno()
        if stat.S_ISFIFO(os.fstat(own).st_mode):
            return os.open(f"/proc/self/fd/{own}", os.O_WRONLY | os.O_NONBLOCK)
    except (OSError, ValueError, AttributeError):  # it is no file, or this is another system than Linux
        pass
    return None
