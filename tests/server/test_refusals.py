"""Requests that cannot be answered get the one form of error, and never break the server."""

from __future__ import annotations

import json
import re
import socket
from contextlib import ExitStack, suppress
from typing import Any

import psutil
import pytest
from tests.server.conftest import Answer, answer_from

pytestmark = pytest.mark.processes

RECOMMEND, PREDICT = "/v1/recommendations", "/v1/predictions"
NEW = {"item": 3, "rating": 5}


@pytest.mark.parametrize(
    ("path", "body", "status", "argument", "found"),
    [
        ("/v1/users/none/recommendations", None, 404, "id", "none"),
        ("/v1/users//recommendations", None, 404, "id", ""),
        ("/v1/users/7/recommendations?n=0", None, 422, "n", "0"),
        ("/v1/users/7/recommendations?n=1001", None, 422, "n", 1001),
        ("/v1/users/7/recommendations?n=1&n=2", None, 422, "n", "2"),
        ("/v1/users/7/recommendations?exclude_seen=perhaps", None, 422, "exclude_seen", "perhaps"),
        ("/v1/users/7/recommendations?m=1", None, 422, "m", "1"),
        ("/v1/users/7/recommendations?candidates=x", None, 422, "candidates", None),
        ("/v1/users/7/recommendations?at_least=4", None, 422, "at_least", None),
        ("/v1/users/7/recommendations?rank_by=luck", None, 422, "rank_by", "luck"),
        ("/v1/users/7/recommendations?model=none", None, 422, "model", "none"),
        ("/v1/items/none/similar", None, 404, "id", "none"),
        ("/v1/items/3/similar?n=1e9", None, 422, "n", 10**9),
        ("/v2/users", None, 404, "path", "/v2/users"),
        (PREDICT, None, 405, "method", "GET"),
        (RECOMMEND, b"", 422, "body", None),
        (RECOMMEND, b"\xff{}", 422, "body", None),
        (RECOMMEND, b'{"users": [NaN]}', 422, "body", None),
        (RECOMMEND, b"[" * 100_000, 422, None, None),
        (RECOMMEND, [], 422, None, []),
        (RECOMMEND, {"n": 3}, 422, "users", None),
        (RECOMMEND, {"users": []}, 422, "users", []),
        (RECOMMEND, {"users": [7, True]}, 422, "users[1]", True),
        (RECOMMEND, {"users": [7, 10**30]}, 404, "users[1]", 10**30),
        (RECOMMEND, {"users": [7, "\u0000"]}, 404, "users[1]", "\u0000"),
        (RECOMMEND, {"users": [7] * 51}, 422, "users", 51),
        (RECOMMEND, {"users": [{"ratings": []}]}, 422, "users[0].ratings", []),
        (RECOMMEND, {"users": [{"ratings": [{"item": "none", "rating": 5}]}]}, 404, "users[0].ratings[0].item", "none"),
        (RECOMMEND, {"users": [{"ratings": [{**NEW, "rating": 9}]}]}, 422, "users[0].ratings[0].rating", 9.0),
        (RECOMMEND, {"users": [{"ratings": [{"item": 3}]}]}, 422, "users[0].ratings[0].rating", None),
        (RECOMMEND, {"users": [{"ratings": [NEW, NEW]}]}, 422, "users[0].ratings[1].item", 3),
        (RECOMMEND, {"users": [{"ratings": [NEW]}], "model": "interactions"}, 422, "users[0].ratings[0].rating", 5.0),
        (RECOMMEND, {"users": [7], "candidates": []}, 422, "candidates", None),
        (PREDICT, {"pairs": [{"user": 7}]}, 422, "pairs[0].item", None),
        (f"{PREDICT}?model=interactions", {"pairs": [{"user": 7, "item": 3}]}, 422, "model", "interactions"),
        (f"{RECOMMEND}?n=2&n=3", {"users": [7]}, 422, "n", "2"),
        (PREDICT, {"pairs": [{"user": 7, "item": 3}, {"user": 7, "item": "none"}]}, 404, "pairs[1].item", "none"),
        (PREDICT, {"pairs": [{"user": 7, "item": 3}], "model": "interactions"}, 422, None, None),
        (PREDICT, b" " * (1 << 20) + b"{}", 413, "body", None),
        (RECOMMEND, b'{"users": [7], "n": 3, "\\u006e": 4}', 422, "n", None),
        (RECOMMEND, b'{"users": [{"ratings": [{"item": 3, "item": 4, "rating": 5}]}]}', 422, "item", None),
        (RECOMMEND, b'{"users": ["\\ud800"]}', 422, "body", None),
    ],
)
def test_a_refusal_says_what_is_wrong(server, path, body, status, argument, found) -> None:
    answer = server.ask("GET" if body is None else "POST", path, body)
    assert answer.status == status
    (error,) = answer.json.values()
    assert set(error) == {"status", "message", "argument", "found", "advice", "request_id"}
    assert (error["status"], error["argument"], error["found"]) == (status, argument, found)
    assert error["request_id"] == answer.headers["x-request-id"]
    assert error["message"]
    server.wait_for("request", request_id=error["request_id"], status=status)


def test_what_was_found_is_not_repeated_at_length(server) -> None:
    error = server.ask("GET", f"/v1/users/{'x' * 3000}/recommendations").json["error"]
    assert error["found"] == "x" * 200 + "…"


def test_a_body_without_a_length_is_limited_too(server) -> None:
    with server.begin(PREDICT, 0) as opened:
        answer_from(opened)
        opened.sendall(f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        part = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        for _ in range(17):
            opened.sendall(part)
        opened.sendall(b"0\r\n\r\n")
        assert answer_from(opened).status == 413


def test_a_body_that_is_far_too_large_is_not_waited_for(server) -> None:
    with server.begin(PREDICT, 1 << 40) as opened:
        answer = answer_from(opened)
    assert (answer.status, answer.headers["connection"]) == (413, "close")


def test_types_are_told_in_words(server) -> None:
    for body, message in (
        ({"users": [7, True]}, "users[1]: Expected a number, a text or an object, got true or false"),
        ({"users": 7}, "users: Expected a list, got a whole number"),
        ([], "Expected an object, got a list"),
    ):
        assert server.ask("POST", RECOMMEND, body).json["error"]["message"] == f"{message}; see /openapi.json"


NONSENSE = b"\x00\x01\x02 nonsense\r\n\r\n"
ASKED = b"GET /v1/users/%d/recommendations HTTP/1.1\r\nHost: localhost\r\n\r\n"
SENT = b"POST /v1/predictions HTTP/1.1\r\nHost: localhost\r\n"


def answers_to(port: int, *parts: bytes) -> list[Answer]:
    """Send bytes, and no more; return all answers until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=240) as opened:
        with suppress(OSError):  # it may have answered, and closed, before it had all
            for part in parts:
                opened.sendall(part)
            opened.shutdown(socket.SHUT_WR)
        with opened.makefile("rb") as stream:
            content = stream.read()
    found = []
    while content:
        head, _, rest = content.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        size = int(headers["content-length"])
        found.append(Answer(int(status.split()[1]), headers, rest[:size]))
        content = rest[size:]
    return found


def test_a_client_that_sends_no_more_is_answered(server) -> None:
    asked = [ASKED % user for user in range(300)]
    for answers in (answers_to(server.port, b"".join(asked)), answers_to(server.port, *asked)):
        assert [one.json["user"] for one in answers] == list(range(300))


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (NONSENSE, 400),
        (b"GET http://[ HTTP/1.1\r\n\r\n", 400),
        (SENT + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{    zz", 400),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 101 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 70_000 + b"\r\n\r\n", 431),
        (b"GET /" + b"b" * 70_000 + b" HTTP/1.1\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 1_000_000, 431),
        (b"\r\n" * 1_000_000, 431),
        (SENT + b"Transfer-Encoding: chunked\r\n\r\n5;" + b"b" * 1_000_000, 431),
        (SENT + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + b"A: b\r\n" * 100_000, 431),
    ],
    ids=range(10),
)
def test_requests_before_one_that_cannot_be_read_are_answered(server, bad, status) -> None:
    line = f'cofactor_requests_total{{method="other",route="none",status="{status}"}} '
    before = _figure(server, line)
    *answers, last = answers_to(server.port, b"".join(ASKED % user for user in range(3)) + bad)
    assert _figure(server, line) == before + 1
    assert [one.json["user"] for one in answers] == [0, 1, 2]
    assert (last.status, last.headers["connection"], last.json["error"]["status"]) == (status, "close", status)
    server.wait_for("server", message=last.json["error"]["message"])


def test_what_follows_a_body_is_no_header(server) -> None:
    body = b'{"pairs": [{"user": 7, "item": 3}]}'
    chunked = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\nX-Request-Id: other\r\n\r\n" % (len(body), body)
    first, second = answers_to(server.port, SENT + b"X-Request-Id: one\r\n" + chunked + ASKED % 7)
    assert (first.status, first.headers["x-request-id"]) == (200, "one")
    assert second.json["user"] == 7


def test_a_hundred_headers_are_taken(server) -> None:
    (answer,) = answers_to(server.port, b"GET /v1/models HTTP/1.1\r\n" + b"A: b\r\n" * 100 + b"\r\n")
    assert answer.status == 200


def test_headers_that_never_end_take_no_memory(server) -> None:
    worker = psutil.Process(server.child.process.pid).children()[0]
    before = worker.memory_info().rss
    with ExitStack() as stack:
        for _ in range(200):
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=240))
            opened.sendall(b"GET / HTTP/1.1\r\nA: " + b"b" * 60_000)
        (answer,) = answers_to(server.port, b"GET / HTTP/1.1\r\nA: ", *[b"b" * 1_000_000] * 100)
        assert answer.status == 431
        assert worker.memory_info().rss - before < 100e6
        assert server.get("/health/live")


def test_too_many_requests_are_told_to_come_again(server) -> None:
    body = b'{"pairs": [{"user": 7, "item": 3}]}'
    with ExitStack() as stack:
        waiting = [stack.enter_context(server.begin(PREDICT, len(body))) for _ in range(4)]
        _until(lambda: "cofactor_requests_now 4.0" in server.ask("GET", "/metrics").body.decode())
        answer = server.ask("POST", PREDICT, body)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert server.get("/health/ready")
        for opened in waiting:
            opened.sendall(body)
            assert answer_from(opened).status == 200
    assert server.ask("POST", PREDICT, body).status == 200


def test_a_client_that_goes_away_leaves_its_place(server) -> None:
    for _ in range(8):
        server.begin(PREDICT, 5).close()
    _until(lambda: "cofactor_requests_now 0.0" in server.ask("GET", "/metrics").body.decode())


def test_requests_keep_the_id_they_bring(server) -> None:
    given = server.ask("GET", "/v1/models", headers={"X-Request-Id": "mine-1"})
    assert given.headers["x-request-id"] == "mine-1"
    line = server.wait_for("request", request_id="mine-1")
    assert {name: line[name] for name in ("method", "path", "route", "status", "bytes")} == {
        "method": "GET",
        "path": "/v1/models",
        "route": "/v1/models",
        "status": 200,
        "bytes": len(given.body),
    }
    other = server.ask("GET", "/v1/models", headers={"X-Request-Id": "not one"})
    assert re.fullmatch("[0-9a-f]{32}", other.headers["x-request-id"])


def _figure(server, line: str) -> float:
    """Return what measures say in a line that begins so."""
    lines = server.ask("GET", "/metrics").body.decode().splitlines()
    return next((float(one.removeprefix(line)) for one in lines if one.startswith(line)), 0.0)


def test_nothing_but_the_server_of_origin_may_read_answers(server) -> None:
    answer = server.ask("GET", "/v1/models", headers={"Origin": "http://elsewhere"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def _until(holds: Any) -> None:
    for _ in range(2000):
        if holds():
            return
    raise AssertionError(json.dumps("does not become true"))
