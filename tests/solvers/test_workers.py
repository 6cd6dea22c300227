"""Parts on workers of a cluster: what is lost on the way is asked again."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError

from cofactor.errors import InvalidInputError
from cofactor.solvers import workers
from cofactor.solvers.workers import DaskExecutor


class Counting:
    """A part that answers with its number, and says how often it was asked."""

    def __init__(self, k: int) -> None:
        self.k, self.asked = k, np.zeros(1)

    def answer(self, question: dict[str, Any]) -> dict[str, np.ndarray]:
        self.asked += 1
        return {"k": np.array(float(self.k)), "asked": self.asked.copy()}

    def state(self) -> dict[str, np.ndarray]:
        return {"asked": self.asked}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.asked[...] = state["asked"]


def test_a_task_that_the_cluster_forgets_is_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a worker dies with the question: the client then says that the future was cancelled."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    forgotten: list[int] = []
    submit = DaskExecutor._submit

    def forgetting(self: DaskExecutor, group: Any, *more: Any) -> None:
        submit(self, group, *more)
        if self.number in (2, 3) and len(forgotten) < 3:
            forgotten.append(group.first)
            group.future.cancel()

    monkeypatch.setattr(DaskExecutor, "_submit", forgetting)
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        parts = DaskExecutor(client, Counting, 4)
        answers = [parts.total({"op": "count"}) for _ in range(4)]
        parts.done()
    assert len(forgotten) == 3
    assert [float(answer["k"]) for answer in answers] == [6.0] * 4
    assert [float(answer["asked"][0]) for answer in answers] == [4.0, 8.0, 12.0, 16.0]


@pytest.mark.parametrize(("notices", "expected"), [(True, InvalidInputError), (False, CommClosedError)])
def test_a_client_may_notice_late_that_its_scheduler_is_gone(
    notices: bool, expected: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it was about to ask fails first; where it keeps its scheduler, the error is one of its own."""
    seen: list[str] = []

    class Late:
        @property
        def status(self) -> str:
            seen.append("connecting" if notices and len(seen) > 3 else "running")
            return seen[-1]

        def nthreads(self) -> dict[str, int]:
            raise CommClosedError("connection reset by peer")

    monkeypatch.setattr(workers, "_NOTICED", 0.2)
    parts = DaskExecutor.__new__(DaskExecutor)
    parts.client, parts._groups = Late(), []
    monkeypatch.setattr(parts, "_answers", lambda *asked: parts._workers())
    with pytest.raises(expected, match="scheduler is gone|reset by peer"):
        parts.each({}).__next__()
    assert len(seen) > 4


def test_workers_without_memory_are_named() -> None:
    """Dask pauses a worker at 80 % of its memory, and it is never heard of again where nothing can be freed."""
    full = {f"distributed.worker.memory.{name}": share for name, share in {"pause": 1e-4, "terminate": False}.items()}
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with dask.config.set(full), LocalCluster(memory_limit="1GB", **options) as cluster, Client(cluster) as client:
        parts = DaskExecutor(client, Counting, 2)
        parts.patience = 0.5
        with pytest.raises(InvalidInputError, match=r"no memory is left on .*; give workers more memory"):
            [parts.total({"op": "count"}) for _ in range(1000)]
