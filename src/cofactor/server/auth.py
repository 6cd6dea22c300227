"""Who may ask: those who name a host that is served, and bring a key where keys are needed."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
import warnings
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from cofactor.errors import InputWarning, InvalidInputError, Place
from cofactor.server.failures import RefusalError
from cofactor.server.monitoring import KEY, refused

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(?:\[([^\]]*)\]|([^:@/\s]*))(?::\d*)?")
_LEAST = 16  #: characters of a key
_ANY = "*"


class Keys:
    """Keys of which a request must bring one. Only their checksums are kept.

    Parameters
    ----------
    keys : iterable of str

    Examples
    --------
    >>> keys = Keys(["correct horse battery"])
    >>> keys.has("correct horse battery"), keys.has("correct horse")
    (True, False)
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._checksums = [_checksum(key) for key in keys]

    @classmethod
    def read(cls, file: str) -> Self:
        """Return the keys in a file, one a line; empty lines and those that begin with ``#`` are left out.

        Parameters
        ----------
        file : str
            Path. It is warned of one that all users of the machine may read.

        Raises
        ------
        FileNotFoundError, IsADirectoryError
            If there is no such file.
        InvalidInputError
            If a line is no key, or none is one.
        """
        if not os.path.exists(file):
            raise FileNotFoundError(f"{file}: no such file")
        if os.path.isdir(file):
            raise IsADirectoryError(f"{file}: is a folder, expected a file of keys")
        with open(file, "rb") as stream:
            if os.name == "posix" and os.fstat(stream.fileno()).st_mode & stat.S_IROTH:
                warnings.warn(
                    InputWarning(f"{file}: all users of this machine may read the keys; chmod o-r {file}"), stacklevel=2
                )
            lines = [line.strip() for line in stream.read().splitlines()]
        keys = []
        for k, line in enumerate(lines, 1):
            if line and not line.startswith(b"#"):
                keys.append(_checked(line, Place(file, k)))
        if not keys:
            raise InvalidInputError("holds no key", advice="write one a line", place=Place(file))
        return cls(keys)

    def has(self, given: str) -> bool:
        """Return whether it is one of the keys, in a time that tells nothing of any of them."""
        checksum, found = _checksum(given), False
        for one in self._checksums:
            found |= hmac.compare_digest(one, checksum)
        return found


def _checksum(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _checked(line: bytes, place: Place) -> str:
    """Return a key; refuse what a header cannot hold, or what can be guessed. No message repeats it."""
    advice = "make one by: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
    if not line.isascii() or any(not 32 < byte < 127 for byte in line):
        raise InvalidInputError("a key may have no spaces, and no characters beyond ASCII", advice=advice, place=place)
    if len(line) < _LEAST:
        raise InvalidInputError(f"a key must have at least {_LEAST} characters", advice=advice, place=place)
    return line.decode("ascii")


@dataclass(frozen=True)
class Access:
    """What a request must have to be answered.

    Parameters
    ----------
    hosts : frozenset of str, optional
        Names by which the server may be asked; by default any. A page of another site that has its name lead to this
        machine, so that a browser lets it ask, is refused by this.
    keys : Keys, optional
        One of which it must bring; by default none is needed.
    """

    hosts: frozenset[str] | None = None
    keys: Keys | None = None

    def refusal(self, headers: Headers) -> RefusalError | None:
        """Return why a request is not answered; None if it may be.

        Parameters
        ----------
        headers : Headers
            Of the request.
        """
        # Browsers always say which host they mean, and only they can be led astray.
        for host in headers.getlist("host"):
            if self.hosts is not None and _name_of(host) not in self.hosts:
                advice = "ask by a name of this server, or start it with --allowed-host NAME"
                return RefusalError(421, "is not served here", "Host", host, advice)
        if self.keys is None or self.keys.has(_key_of(headers)):
            return None
        advice = "send a header Authorization: Bearer KEY, or X-API-Key: KEY"
        problem = "the key is not known" if _key_of(headers) else "a key is needed"
        return RefusalError(401, problem, "Authorization", None, advice, {"WWW-Authenticate": "Bearer"})


def _key_of(headers: Headers) -> str:
    """Return the key that a request brings; nothing if it brings none.

    Examples
    --------
    >>> _key_of(Headers({"Authorization": "bearer one"})), _key_of(Headers({"X-API-Key": "two"})), _key_of(Headers())
    ('one', 'two', '')
    """
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")


def _name_of(host: str) -> str:
    """Return the name in a Host header, without a port; nothing if it is none.

    Examples
    --------
    >>> _name_of("LocalHost:8000"), _name_of("[::1]:8000"), _name_of("films.example.org"), _name_of("localhost:1@there")
    ('localhost', '::1', 'films.example.org', '')
    """
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "0.0.0.0", "films.example.org")]
    [True, True, False, False]
    """
    return host in _LOOPBACK or host.startswith("127.")


def served_hosts(bound: str, allowed: Sequence[str] = ()) -> frozenset[str] | None:
    """Return the names by which a server may be asked; None if by any.

    Parameters
    ----------
    bound : str
        Address to which it is bound.
    allowed : sequence of str, default=()
        Names which its owner gave, ``*`` for any.

    Examples
    --------
    >>> sorted(served_hosts("127.0.0.1", ["films.example.org"]))
    ['127.0.0.1', '::1', 'films.example.org', 'localhost']
    >>> served_hosts("0.0.0.0") is None
    True
    """
    if _ANY in allowed or not (allowed or is_loopback(bound)):
        return None
    return frozenset({*_LOOPBACK, bound.lower(), *(name.lower() for name in allowed)})


class Guarded:
    """An ASGI application that only those who may can ask.

    Parameters
    ----------
    app : callable
        The application.
    access : Access
    """

    def __init__(self, app: ASGIApp, access: Access, is_open: Container[str] = ()) -> None:
        self.app, self.access, self.is_open = app, access, is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as an ASGI application does."""
        answered = self.app
        if scope["type"] == "http" and scope["path"] not in self.is_open:
            refusal = self.access.refusal(Headers(scope=scope))
            if refusal is not None:
                answered = refused(refusal, scope[KEY]["id"])
        await answered(scope, receive, send)
