"""Clusters of Dask for tests: two processes of this machine, forked from a server that has imported the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster
from tests.children import start_server


@contextmanager
def two_workers() -> Iterator[Client]:
    """Give the client of a cluster of two processes with a thread each."""
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    start_server()  # else that of Dask, which has not imported this package
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        LocalCluster(n_workers=2, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client
