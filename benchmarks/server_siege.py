"""What clients that send headers without end, or open connections and send next to nothing, take from the others.

    python benchmarks/server_siege.py MODEL [RATE]    of ratings; 50 requests a second by default

The others ask for recommendations at a rate, from a process of their own; each siege is one too, on the same cores.
Memory is that of all processes of the server, the most of it while the siege lasts.
"""

import asyncio
import contextlib
import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Callable

import numpy as np
from common import publish, table
from under_load import Load, Question, Serving, known_users

import cofactor

SECONDS, ROUNDS = 10.0, 3
HEAD = b"GET /v1/model HTTP/1.1\r\nHost: localhost\r\nX: "
GIGABYTE = 1_000_000_000


def gigabyte(port: int) -> None:
    """Send a gigabyte of headers a second, over a new connection whenever one is closed."""
    part, sent, began = b"x" * 1_000_000, 0, time.perf_counter()
    while True:
        with socket.create_connection(("127.0.0.1", port)) as opened, contextlib.suppress(OSError):
            opened.sendall(HEAD)
            while True:
                sent += opened.send(part)
                time.sleep(max(0.0, sent / GIGABYTE - (time.perf_counter() - began)))


def half_open(port: int) -> None:
    """Hold 2,000 connections, each with a part of a head, and open a new one for each that is closed."""
    hold(port, 2000, [HEAD + b"x" * 1000], pause=0.0)


def byte_by_byte(port: int) -> None:
    """Send a byte a second over each of 200 connections."""
    hold(port, 200, [bytes([one]) for one in HEAD], pause=1.0)


def hold(port: int, n: int, parts: list[bytes], pause: float) -> None:
    """Send parts over n connections, again and again."""

    async def one() -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                for part in parts:
                    writer.write(part)
                    await asyncio.sleep(pause)
                await reader.read()
                writer.close()

    async def all_of_them() -> None:
        await asyncio.gather(*(one() for _ in range(n)))

    asyncio.run(all_of_them())


def apart(siege: Callable[[int], None], port: int) -> None:
    """Run a siege behind all others: its processor is another one elsewhere."""
    os.nice(5)
    siege(port)


SIEGES: dict[str, tuple[Callable[[int], None], ...]] = {
    "none": (),
    "1 GB of headers a second": (gigabyte,),
    "2,000 half-open connections": (half_open,),
    "200 connections, a byte a second": (byte_by_byte,),
    "all of these": (gigabyte, half_open, byte_by_byte),
}


def besieged(serving: Serving, questions: list[Question], rate: float, siege: tuple[Callable[[int], None], ...]):
    """Return what other clients found during a siege, and the memory of the server at its most."""
    most = 0.0
    processes = [multiprocessing.Process(target=apart, args=(one, serving.port), daemon=True) for one in siege]
    for process in processes:
        process.start()
    time.sleep(2.0)  # until all connections are there
    load = Load(serving.port, questions)

    async def ask() -> None:
        nonlocal most
        asking = asyncio.create_task(load.at_rate(rate, SECONDS))
        while not asking.done():
            most = max(most, await asyncio.to_thread(serving.memory))
            await asyncio.sleep(0.5)
        await asking

    asyncio.run(ask())
    for process in processes:
        process.kill()
        process.join()
    return load.found, most


def main(file: str, rate: float) -> None:
    model = cofactor.load(file)
    questions = known_users({"a": model}, 200)
    measured: dict[str, list[tuple[float, ...]]] = {name: [] for name in SIEGES}
    with Serving.started(file, "--max-concurrent", "1000") as serving:
        memory = serving.memory()
        asyncio.run(Load(serving.port, questions).at_rate(rate, 2.0))
        for name, siege in [*SIEGES.items()] * ROUNDS:
            found, most = besieged(serving, questions, rate, siege)
            died = serving.number("worker died")
            if found.wrong or found.lost or set(found.statuses) != {200} or died:
                raise RuntimeError(
                    f"{name}: {found.wrong} wrong, {len(found.lost)} lost, {found.statuses}, {died} died"
                )
            measured[name].append((found.late(0.5), found.late(), most - memory))
            print(name, *(f"{one:.1f}" for one in measured[name][-1]), flush=True)
    rows = []
    for name, rounds in measured.items():
        median, late, more = zip(*rounds, strict=True)
        each = ", ".join(f"{one:.0f}" for one in sorted(late))
        rows.append([name, f"{np.median(median):.1f}", each, f"{max(more):.0f}"])
    head = ["siege", "median ms", "p99 of each round (asked: 50)", "MB more (asked: 100)"]
    text = (
        f"One process answers for {type(model).__name__} of {len(model.users_):,} users, {rate:g} requests a second "
        f"for {ROUNDS} rounds of {SECONDS:.0f} s; every answer is compared with the library's. At the beginning its "
        f"processes take {memory:.0f} MB.\n\n"
    )
    publish("sieges", text + table(head, rows))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 50.0)
