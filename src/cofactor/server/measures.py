"""What Prometheus reads: figures in memory which all processes of a server share, and which no file holds."""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

__all__ = ["Measures", "Row"]

_METHODS = ("GET", "HEAD", "POST", "other")
_STATUSES = ("200", "304", "400", "401", "404", "405", "408", "413", "421", "422", "431", "500", "503", "other")
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  #: seconds
_BUCKETS = (*map(str, _BOUNDS), "+Inf")
_OTHER = "none"  #: the route of requests that have none
_OUTCOMES = ("loaded", "refused")


class Measures:
    """Figures of a server. Every process that answers writes a row of its own, so that none waits for another.

    What is read is the sum of all rows. A process that takes the place of one that ended goes on with its row, so that
    no count ever falls.

    Parameters
    ----------
    routes : sequence of str
        Of requests that are told apart; all others count as one.
    models : sequence of str, default=()
        Names of the models.
    n_rows : int, default=1
        Processes that may answer at the same time.

    Examples
    --------
    >>> measures = Measures(["/v1/model"], n_rows=2)
    >>> for k in range(2):
    ...     measures.row(k).note("GET", "/v1/model", 200, 0.004)
    >>> print(measures.text().decode().splitlines()[2])
    cofactor_requests_total{method="GET",route="/v1/model",status="200"} 2.0
    """

    def __init__(self, routes: Sequence[str], models: Sequence[str] = (), n_rows: int = 1) -> None:
        self.routes, self.models = (*routes, _OTHER), tuple(models)
        kinds = (len(_METHODS), len(self.routes))
        row: list[Any] = [("requests", "f8", (*kinds, len(_STATUSES)))]
        row += [("seconds", "f8", (*kinds, len(_BUCKETS) + 1)), ("now", "f8")]  # a count for each bucket, and the sum
        whole: list[Any] = [("workers", "f8"), ("deaths", "f8"), ("reloads", "f8", (len(models) or 1, len(_OUTCOMES)))]
        self.rows, self._whole = _shared(n_rows, row), _shared(1, whole)[0]
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def row(self, k: int) -> Row:
        """Return one of the rows, for the process that writes it."""
        return Row(self.rows[k : k + 1], self.routes)

    def set_workers(self, n: int) -> None:
        """Say how many processes take requests."""
        self._whole["workers"] = n

    def count_death(self) -> None:
        """Count a process that ended unasked."""
        self._whole["deaths"] += 1

    def count_reload(self, model: str, outcome: Literal["loaded", "refused"]) -> None:
        """Count a changed file of a model that was loaded, or refused."""
        self._whole["reloads"][self.models.index(model), _OUTCOMES.index(outcome)] += 1

    def text(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Return all figures as the library of Prometheus takes them."""
        requests = CounterMetricFamily("cofactor_requests", "Requests", labels=("method", "route", "status"))
        counts = self.rows["requests"].sum(axis=0)
        for m, r, s in np.argwhere(counts):
            requests.add_metric((_METHODS[m], self.routes[r], _STATUSES[s]), counts[m, r, s])
        yield requests
        seconds = HistogramMetricFamily("cofactor_request_seconds", "Time of a request", labels=("method", "route"))
        times = self.rows["seconds"].sum(axis=0)
        for m, r in np.argwhere(times[..., :-1].any(axis=-1)):
            buckets = list(zip(_BUCKETS, times[m, r, :-1].cumsum(), strict=True))
            seconds.add_metric((_METHODS[m], self.routes[r]), buckets, times[m, r, -1])
        yield seconds
        now = float(self.rows["now"].sum())
        yield GaugeMetricFamily("cofactor_requests_now", "Requests that are answered or wait", now)
        workers, deaths = float(self._whole["workers"]), float(self._whole["deaths"])
        yield GaugeMetricFamily("cofactor_workers", "Processes that take requests", workers)
        yield CounterMetricFamily("cofactor_worker_deaths", "Processes that ended unasked", deaths)
        reloads = CounterMetricFamily("cofactor_reloads", "Changed files of models", labels=("model", "outcome"))
        for model, counts in zip(self.models, self._whole["reloads"], strict=False):
            for outcome, count in zip(_OUTCOMES, counts, strict=True):
                reloads.add_metric((model, outcome), count)
        yield reloads


class Row:
    """The figures of one process.

    Parameters
    ----------
    memory : ndarray of shape (1,)
        The row of `Measures`.
    routes : sequence of str
        All routes.
    """

    def __init__(self, memory: NDArray[Any], routes: Sequence[str]) -> None:
        self._requests, self._seconds, self._now = memory["requests"][0], memory["seconds"][0], memory["now"]
        self._methods, self._routes, self._statuses = (
            {name: k for k, name in enumerate(names)} for names in (_METHODS, routes, _STATUSES)
        )

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered, and its time."""
        m, r = self._count(method, route, status)
        times = self._seconds[m, r]
        times[bisect_left(_BOUNDS, seconds)] += 1
        times[-1] += seconds

    def refuse(self, status: int) -> None:
        """Count what was refused before it was a whole request: nobody knows its method, nor when it began."""
        self._count("", "", status)

    def _count(self, method: str, route: str, status: int) -> tuple[int, int]:
        m, r = self._methods.get(method, len(_METHODS) - 1), self._routes.get(route, len(self._routes) - 1)
        self._requests[m, r, self._statuses.get(str(status), len(_STATUSES) - 1)] += 1
        return m, r

    def set_now(self, n: int) -> None:
        """Say how many requests are answered or wait."""
        self._now[0] = n


def _shared(n: int, kind: list[Any]) -> NDArray[Any]:
    """Return records of zeros in memory that belongs to no file, and that processes forked from here share."""
    dtype = np.dtype(kind)
    return np.frombuffer(mmap.mmap(-1, n * dtype.itemsize), dtype, n)
