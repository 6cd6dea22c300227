"""A kernel holds a copy of each short kernel it calls, and a process uses the first one loaded: all give the same bits.

Where kernels were compiled just now it is the inner kernel itself; where they come from the cache, the copy.
"""

import pytest
from tests.children import answer_of

pytestmark = pytest.mark.processes

SCRIPT = """
import zlib
import numpy as np
from cofactor.kernels import gaussian_processes, mixtures

def single(*shape):
    return np.zeros(shape, np.float32)

if first == "inner":
    gaussian_processes._subtract(single(8, 8), 0, single(8, 8), single(8, 8))
    mixtures._add_shares(np.ones(2), np.ones(2), np.ones(2))

rng, found = np.random.default_rng(0), []
V, kappa = rng.normal(size=(60, 3)).astype("f4"), np.array([0.5, 1.3, 0.2, 0.15, 0.6], "f4")
items, y = np.arange(60, dtype=np.int32), rng.normal(size=60).astype("f4")
for n in (5, 17, 31, 60):
    rows, dlog = single(n, 3), np.empty(5)
    gaussian_processes.user_gradient(V, items[:n], y[:n], kappa, rows, dlog)
    found.append(("user_gradient", n, zlib.crc32(rows.tobytes() + dlog.tobytes())))
for K in (4, 9, 20):
    indptr, levels = np.array([0, 40]), rng.integers(1, 6, 40).astype(np.uint8)
    beta, sums, bound = rng.random((60, 5, K)), np.empty((1, K)), np.empty(1)
    mixtures.user_pass(0, 1, indptr, items, levels, 1 + rng.random((1, K)), beta, np.empty((1, K)), sums, bound)
    found.append(("user_pass", K, zlib.crc32(sums.tobytes() + bound.tobytes())))
answer.send(found)
"""


@pytest.fixture(scope="module")
def bits() -> dict[str, list[tuple[str, int, int]]]:
    """Return what processes find which have loaded no such kernel yet; one begins with the inner ones."""
    return {first: answer_of(SCRIPT, first=first) for first in ("inner", "outer")}


@pytest.mark.parametrize("name", ["user_gradient", "user_pass"])
def test_copies_of_inner_kernels_give_the_same_bits(name: str, bits: dict[str, list[tuple[str, int, int]]]) -> None:
    inner, outer = ([one for one in bits[first] if one[0] == name] for first in ("inner", "outer"))
    assert inner
    assert inner == outer
