"""Requests that no client should send: made from the OpenAPI document by schemathesis, and raw bytes.

    python benchmarks/server_fuzz.py MODEL [REQUESTS]    a hundred thousand requests by default
    (pip install schemathesis)

Three tenths are made from the document, some thirty a second and half of them against its rules; the others are bytes:
requests cut off, with headers of all kinds, with bodies that are no JSON, or no requests at all. The server may refuse,
but not fail: no status of 500 and above but 503 with Retry-After, the same processes at the end, and an answer to a
good request after it.
"""

import os
import random
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from urllib.request import urlopen

from common import publish, table
from under_load import Serving

STATUS = re.compile(rb"^HTTP/1\.[01] (\d{3})[^\r\n]*\r\n(.*?)\r\n\r\n", re.S)
METHODS = (b"GET", b"POST", b"PUT", b"HEAD", b"OPTIONS", b"\x00", b"G E T", b"")
PATHS = (
    b"/v1/model",
    b"/v1/predictions",
    b"/v1/recommendations",
    b"/v1/tags",
    b"/v1/users/%ff%fe/recommendations",
    b"/v1/users/1/recommendations?n=1&n=2",
    b"/v1/users/" + b"a" * 70_000,
    b"http://elsewhere/",
    b"/../etc/passwd",
    b"/\xff",
    b"//",
    b"*",
)
HEADERS = (
    b"Host: localhost",
    b"Host",
    b"Content-Length: -1",
    b"Content-Length: 10\r\nContent-Length: 11",
    b"Content-Length: 99999999999999999999",
    b"Transfer-Encoding: chunked",
    b"Content-Encoding: gzip",
    b"Expect: 100-continue",
    b"Connection: Upgrade\r\nUpgrade: websocket",
    b"X: " + b"y" * 70_000,
    b"\xff: \x00",
)
BODIES = (
    b"",
    b"{",
    b"nul",
    b"\xff\xfe\x00",
    b"[" * 5_000,
    b'{"pairs":' + b"[" * 9_000,
    b'{"pairs": [{"user": 1e999, "item": NaN}]}',
    b'{"users": [{"ratings": [{"item": "\\ud800", "rating": 1}]}]}',
    b"5\r\nabcde\r\n0\r\n\r\n",
    b"zz\r\n",
)


def from_document(port: int, n: int, seed: int) -> int:
    """Let schemathesis make at least n requests, and end with an error if one fails; return how many it made."""
    made = 0
    while made < n:
        address = f"http://127.0.0.1:{port}/openapi.json"
        what = ["--checks", "not_a_server_error", "--phases", "fuzzing", "--mode", "all", "--max-examples", "200"]
        command = ["schemathesis", "run", address, *what, "--seed", str(seed), "--workers", "2"]
        before = served(port)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        made, seed = made + served(port) - before, seed + 1
        print(f"{made:,} of {n:,} requests from the document", flush=True)
    return made


def served(port: int) -> int:
    """Return how many requests were answered, by the server's own measures."""
    text = urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    found = re.findall(r"^cofactor_requests_total\{[^}]*\} ([\d.e+]+)$", text, re.M)
    return int(sum(map(float, found)))


def raw(port: int, n: int, seed: int) -> Counter[str]:
    """Send bytes; return how they were answered."""
    rng, answers = random.Random(seed), Counter[str]()
    for _ in range(n):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            with suppress(OSError):  # it may have answered, and closed, before it had all
                connection.sendall(message(rng))
                connection.shutdown(socket.SHUT_WR)
            answers[answer(connection)] += 1
    return answers


def message(rng: random.Random) -> bytes:
    """Return a request that is wrong somewhere."""
    kind = rng.random()
    if kind < 0.2:
        return rng.randbytes(rng.randrange(1, 2_000))
    headers = b"".join(b"%b\r\n" % rng.choice(HEADERS) for _ in range(rng.randrange(4)))
    whole = b"%b %b HTTP/1.1\r\n%b\r\n%b" % (rng.choice(METHODS), rng.choice(PATHS), headers, rng.choice(BODIES))
    if kind < 0.5:
        whole = whole[: rng.randrange(len(whole) + 1)]
    elif kind < 0.7:
        at = rng.randrange(len(whole))
        whole = whole[:at] + rng.randbytes(3) + whole[at + 1 :]
    return whole


def answer(connection: socket.socket) -> str:
    """Return the status of the first answer; refuse a failure."""
    got = b""
    try:
        while (part := connection.recv(65_536)) and len(got) < 1_000_000:
            got += part
    except ConnectionResetError:
        return "closed" if not got else _status(got)
    return _status(got) if got else "closed"


def _status(got: bytes) -> str:
    found = STATUS.match(got)
    if not found:
        raise RuntimeError(f"no answer in HTTP: {got[:200]!r}")
    status = int(found[1])
    if status >= 500 and not (status == 503 and b"retry-after" in found[2].lower()):
        raise RuntimeError(f"{got[:2000]!r}")
    return str(status)


def main(model: str, n: int) -> None:
    rows = []
    with Serving.started(model) as serving:
        port, worker = serving.port, serving.workers()
        began = time.perf_counter()
        made = from_document(port, 3 * n // 10, 0)
        rows.append(["from the document", f"{made:,}", f"{time.perf_counter() - began:.0f}", "none of 5xx"])
        began = time.perf_counter()
        answers = raw(port, n - 3 * n // 10, 0)
        found = ", ".join(f"{status}: {count:,}" for status, count in sorted(answers.items()))
        rows.append(["bytes", f"{n - 3 * n // 10:,}", f"{time.perf_counter() - began:.0f}", found])
        urlopen(f"http://127.0.0.1:{port}/v1/model").read()
        if serving.workers() != worker:
            raise RuntimeError("a process ended")
    publish("requests that are wrong", table(["kind", "requests", "s", "answers"], rows))


if __name__ == "__main__":
    os.environ.setdefault("COFACTOR_NUM_THREADS", "1")
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
