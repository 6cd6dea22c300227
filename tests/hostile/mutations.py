"""Files changed at random, and trials of them in a process of its own, which they may crash, block or fill.

Every change follows from a seed, so that what fails can be tried again.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from tests.children import forking

_ODD = [
    *(b"", b"\0", b"\xff", b"\x80", b"\r", b"\n\n", b'"', b"'", b",", b";", b"{", b"}", b"::", b" ", b"\\", b"%", b"?"),
    *(b"-1", b"0", b"nan", b"inf", b"1e999", b"-0", b"007", b"16777216", b"4294967296", b"99999999999999999999"),
    *(b"9" * 5000, b" " * 3000, b"," * 3000, b"'" * 999, b"\\" * 999, b"(" * 999, "ü€😀".encode(), b"\xef\xbb\xbf"),
    *(b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\1\0\0\0", b"\0" * 8, b"\x0e\0\0\0", b"\x0f\0\0\0"),
]


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Change bytes in one to four places: flipped, replaced, removed, doubled, moved, or cut off."""
    for _ in range(rng.integers(1, 5)):
        n = len(data)
        start, end = sorted(rng.integers(n + 1, size=2).tolist())
        end = end if rng.random() < 0.1 else min(end, start + int(rng.integers(1, 20)))
        piece = data[start:end]
        match int(rng.integers(7)):
            case 0 if start < n:
                data = data[:start] + bytes([data[start] ^ 1 << int(rng.integers(8))]) + data[start + 1 :]
            case 1:
                data = data[:start] + _ODD[rng.integers(len(_ODD))] + data[end:]
            case 2:
                data = data[:start] + data[end:]
            case 3:
                data = data[:end] + piece * int(rng.integers(1, 5)) + data[end:]
            case 4:
                to = int(rng.integers(n + 1))
                data = data[:to] + piece + data[to + len(piece) :]
            case 5:
                data = data[:start] + rng.bytes(len(piece)) + data[end:]
            case 6 if rng.random() < 0.3:
                data = data[:start]
    return data


def failures(
    trial: Callable[[int], None], seeds: Iterable[int], *, seconds: float = 10, memory: int = 2 << 30
) -> list[str]:
    """Call ``trial(seed)`` for each seed in another process; say of each that failed what happened.

    A trial fails if it raises, takes longer than `seconds`, takes more than `memory` bytes, or ends the process, which
    is then started again for the seeds that are left.
    """
    left, found = list(seeds), []
    while left:
        ours, theirs = forking().Pipe(duplex=False)
        process = forking().Process(target=_try_all, args=(trial, left, seconds, memory, theirs))
        process.start()
        theirs.close()
        done, why = 0, ""
        try:
            while not why and done < len(left):
                if not ours.poll(seconds + 20):  # what blocks outside of Python is not interrupted
                    why = f"blocked for more than {seconds} s"
                else:
                    failed = ours.recv()
                    found += [f"seed {left[done]}: {failed}"] if failed else []
                    done += 1
        except EOFError:
            process.join()
            why = f"ended the process with {process.exitcode}"
        process.kill()
        process.join()
        if why:
            found.append(f"seed {left[done]}: {why}")
        left = left[done + 1 :]
    return found


def _try_all(trial: Callable[[int], None], seeds: list[int], seconds: float, memory: int, pipe: Connection) -> None:
    held = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (int(held.split()[1]) * 1024 + memory,) * 2)
    signal.signal(signal.SIGALRM, _too_long)
    for seed in seeds:
        failed = ""
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            trial(seed)
        except Exception as error:
            failed = f"{type(error).__name__}: {str(error)[:300]}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        pipe.send(failed)
    pipe.close()


def _too_long(*_: Any) -> None:
    raise TimeoutError("took too long")
