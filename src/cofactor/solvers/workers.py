"""Parts on the workers of a Dask cluster, which may come and go."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cofactor.errors import Argument, InvalidInputError
from cofactor.files import is_full
from cofactor.kernels.threads import thread_limit
from cofactor.progress import log_line
from cofactor.solvers.parts import Answer, Executor, Journal, Part, Question, TreeSum, remake, write_state
from cofactor.text import plural
from cofactor.version import __version__

#: Seconds between two looks at which workers are there.
_LOOK = 0.5

#: Seconds after which an answer that does not arrive is asked for again; twice as many each time.
_FETCH = 2.0

#: Seconds after which a worker to which nothing can be sent counts as gone.
_GONE = 5
_CONNECT = {"distributed.comm.timeouts.connect": f"{_GONE}s"}

#: Seconds in which a client notices that the connection to its scheduler is closed.
_NOTICED = 2.0

#: Workers that may die over the same parts in a round.
_DEATHS = 3

_RESUME = Argument("resume", True)
_FOR_MEMORY = (
    *("give workers more memory and go on with ", _RESUME),
    "; or cut ratings into more shards, or take fewer factors, and begin anew",
)

#: Parts that live in this process, by the run they belong to, with the last round they answered in.
_held: dict[str, dict[int, tuple[int, Part]]] = {}


class _OutOfStepError(Exception):
    """A worker has not the parts as they were after the last round."""


@dataclass
class _Group:
    """Neighbouring parts that live on one worker.

    Attributes
    ----------
    first, last : int
        Parts first..last-1.
    worker : str
        Address; empty if their worker is gone.
    placed : bool
        Whether they are there.
    future : Any
        Their answer in the present round.
    patience : float
        Seconds to wait for an answer that is ready.
    deaths : int
        How many workers died over it in the present round.
    """

    first: int
    last: int
    worker: str = ""
    placed: bool = False
    future: Any = None
    patience: float = _FETCH
    deaths: int = 0


class DaskExecutor(Executor):
    """Parts on the workers of a Dask client, neighbouring ones on the same worker.

    A round is one task for each group of parts. Its sums are those of `TreeSum`: workers add what lies within their
    group, the client adds the rest, so that the result does not depend on who had which part. When a worker is lost,
    its parts are made anew on another one, from the last states and the questions after them.

    Parameters
    ----------
    client : distributed.Client
    make : callable
        ``make(k)`` returns part k; it travels to the workers.
    n_parts : int
    journal : Journal, optional
        In a folder that all workers see.
    name : str, default="fit"
        Of the tasks, on the dashboard.
    n_ratings : int, default=0
        See `Executor`.
    """

    #: Seconds to wait for another worker when all are gone, or have paused.
    patience = 60.0

    def __init__(
        self,
        client: Any,
        make: Callable[[int], Part],
        n_parts: int,
        journal: Journal | None = None,
        name: str = "fit",
        n_ratings: int = 0,
    ) -> None:
        super().__init__(n_parts, journal, n_ratings)
        self.client, self.make, self.name = client, make, name
        self._run = uuid.uuid4().hex
        self._paused: dict[str, float] = {}
        workers = self._workers()
        check_packages(client)
        n_groups = max(1, min(n_parts, len(workers)))
        ends = np.linspace(0, n_parts, n_groups + 1).round().astype(int).tolist()
        self._groups = [_Group(a, b) for a, b in itertools.pairwise(ends)]

    def _ask(self, question: Question) -> Answer:
        sums = TreeSum()
        for nodes in self._round(_summed, question, self.number):
            for first, level, answer in nodes:
                sums.add(first, answer, level)
        return sums.total()

    def each(self, question: Question) -> Iterator[Answer]:
        """Ask all parts what changes nothing; return their answers one by one."""
        for group in self._round(_listed, question, None):
            yield from group

    def _living(self) -> bool:
        return all(group.placed for group in self._groups)

    def _save(self, folder: Path) -> None:
        self._round(_saved, {"folder": str(folder)}, None)

    def done(self) -> None:
        """Forget the parts, and what was kept for going on."""
        super().done()
        self.client.run(_forget, self._run)

    # ---------------------------------------------------------------- a round

    def _round(self, task: Callable[..., Any], question: Question, number: int | None) -> list[Any]:
        """Let all groups do a task, again where one gets lost; return what they return, in their order."""
        try:
            return self._answers(task, question, number)
        except Exception as error:  # what a client says that lost its scheduler depends on what it was about to do
            if self._has_scheduler(error):
                raise
            raise _scheduler_gone() from error

    def _has_scheduler(self, error: Exception) -> bool:
        """Return whether the client has its scheduler after an error: it may notice a moment later that it has not."""
        until = time.monotonic() + (_NOTICED if isinstance(error, OSError) else 0)
        while self.client.status == "running" and time.monotonic() < until:
            time.sleep(_NOTICED / 100)
        return bool(self.client.status == "running")

    def _answers(self, task: Callable[..., Any], question: Question, number: int | None) -> list[Any]:
        answers: dict[int, Any] = {}
        began = looked = time.perf_counter()
        for group in self._groups:
            group.deaths = 0
        while len(answers) < len(self._groups):
            self._reassign()
            for group in self._groups:
                if group.first not in answers and group.future is None:
                    self._submit(group, task, question, number)
            self._collect(answers)
            self._tell(began, sum(group.last - group.first for group in self._groups if group.first in answers))
            if len(answers) < len(self._groups) and time.perf_counter() - looked > _FETCH:
                self._refuse_paused()
                looked = time.perf_counter()
        return [answers[group.first] for group in self._groups]

    def _submit(self, group: _Group, task: Callable[..., Any], question: Question, number: int | None) -> None:
        """Send the question, and what parts are made of anew, straight to a worker; the task through the scheduler."""
        from dask import config  # an extra

        sent: list[Any] = [dict(question)]
        if not group.placed:
            sent.append((self.make, self.states, list(self.replay), __version__))
        try:
            with config.set(_CONNECT):
                shared, *anew = self.client.scatter(
                    sent, workers=[group.worker], direct=True, hash=False, timeout=_GONE
                )
        except (OSError, TimeoutError):
            group.worker, group.placed = "", False
            return
        before = self.number if number is None else number - 1
        what = task_name(self.name, question)
        label = f"{what}-round {self.number}, shards {group.first} to {group.last - 1}"
        group.future = self.client.submit(
            _work, self._run, group.first, group.last, before, number, task, shared, *anew,
            key=f"{label}-{uuid.uuid4().hex}", workers=[group.worker], allow_other_workers=False, pure=False,
        )  # fmt: skip

    def _collect(self, answers: dict[int, Any]) -> None:
        """Take the answers that are there; wait a moment if there are none."""
        from distributed import CancelledError, wait  # an extra

        wait_for: Any = wait
        waiting = [group for group in self._groups if group.future is not None]
        try:
            wait_for([group.future for group in waiting], timeout=_LOOK, return_when="FIRST_COMPLETED")
        except TimeoutError:
            return
        except CancelledError:
            pass  # one of them, whose question was lost with its worker: it is found below
        for group in waiting:
            if group.future.status == "pending":
                continue
            future, group.future = group.future, None
            try:
                answers[group.first] = self.client.sync(_fetched, self.client, future, callback_timeout=group.patience)
                group.placed = True
            except TimeoutError:  # the worker may have died with its answer
                group.future, group.patience = future, 2 * group.patience
            except _OutOfStepError:
                group.placed = False
            except Exception as error:
                self._judge(group, error)

    def _judge(self, group: _Group, error: Exception) -> None:
        """Go on after an error that comes from losing a worker; raise any other."""
        from distributed import CancelledError, KilledWorker  # an extra

        if is_full(error) or not isinstance(error, CancelledError | KilledWorker | OSError):
            raise error
        self._lose(group)

    def _lose(self, group: _Group) -> None:
        """Take note that the worker of a group died; end where that happens again and again in a round."""
        group.worker, group.placed, group.deaths = "", False, group.deaths + 1
        if group.deaths > _DEATHS:
            what = f"workers died again and again over shards {group.first} to {group.last - 1}"
            raise InvalidInputError(f"{what}, perhaps for lack of memory", advice=_FOR_MEMORY)

    def _refuse_paused(self) -> None:
        """Tell of workers that do nothing because their memory is used up; end where that does not pass."""
        paused = self.client.run_on_scheduler(_finds_paused())
        for worker in sorted(set(paused) - set(self._paused)):
            log_line(f"worker {worker} has paused: its memory is used up")
        now = time.perf_counter()
        self._paused = {worker: self._paused.get(worker, now) for worker in paused}
        if any(now - since > self.patience for since in self._paused.values()):
            what = f"no memory is left on {', '.join(sorted(paused))}: paused for {self.patience:g} seconds"
            raise InvalidInputError(what, advice=_FOR_MEMORY)

    def _reassign(self) -> None:
        """Give the parts of workers that are gone to others."""
        workers = self._workers()
        lost = [group for group in self._groups if group.worker not in workers]
        if not lost:
            return
        if not workers:
            workers = self._wait_for_workers()
        for group in lost:
            if group.worker:
                log_line(f"worker {group.worker} is lost: its shards are made anew on another one")
                self._lose(group)
            load = {worker: sum(g.last - g.first for g in self._groups if g.worker == worker) for worker in workers}
            group.worker, group.placed = min(sorted(load), key=lambda worker: load[worker]), False
            if group.future is not None:
                group.future.cancel()
                group.future = None

    def _workers(self) -> list[str]:
        """Return the addresses of all workers."""
        if self.client.status != "running":
            raise _scheduler_gone()
        return list(self.client.nthreads())

    def _wait_for_workers(self) -> list[str]:
        log_line(f"all workers are gone: waiting {self.patience:g} seconds for another one")
        until = time.monotonic() + self.patience
        while not (found := self._workers()):
            if time.monotonic() > until:
                raise InvalidInputError(
                    "the cluster has no workers", advice=("start some; a fit of a folder goes on with ", _RESUME)
                )
            time.sleep(_LOOK)
        return found


def _scheduler_gone() -> InvalidInputError:
    advice = ("a fit of a folder goes on with ", _RESUME, ", with a scheduler or without, to the same bits")
    return InvalidInputError("the scheduler is gone", advice=advice)


def _finds_paused() -> Callable[..., list[str]]:
    """Return what says, on a scheduler, which workers may do nothing more.

    It is made anew so that it travels whole: a scheduler need not have this package.
    """

    def paused_workers(dask_scheduler: Any) -> list[str]:
        return [worker.address for worker in dask_scheduler.workers.values() if worker.status.name == "paused"]

    return paused_workers


def task_name(name: str, question: Question) -> str:
    """Return what tasks are called together on the dashboard, which takes words of letters between dashes.

    Examples
    --------
    >>> task_name("MMMF", {"op": "squared_gradient"}), task_name("ALS", {"folder": "big"})
    ('MMMF-squared-gradient', 'ALS-save')
    """
    return f"{name}-{question.get('op', 'save').replace('_', '-')}"


def check_packages(client: Any) -> None:
    """Refuse workers that have not this package, or another version of it."""
    for worker, found in sorted(client.run(_version, on_error="return").items()):
        if isinstance(found, Exception):
            what = f"the worker {worker} cannot import this package: {found}"
            raise InvalidInputError(what, advice=_install(__version__)) from found
        _check_version(found)


def _check_version(found: str, own: str = __version__) -> None:
    """Refuse a worker of another version than the client."""
    if found != own:
        raise InvalidInputError(f"a worker has cofactor {found} and the client has {own}", advice=_install(own))


def _install(version: str) -> str:
    return f"install cofactor {version} and the same packages on the scheduler and all workers"


async def _fetched(client: Any, future: Any) -> Any:
    """Return an answer straight from its worker: results go through the scheduler otherwise."""
    [answer] = await client.gather([future], direct=True, asynchronous=True)
    return answer


# ---------------------------------------------------------------- on the workers


def _version() -> str:
    """Return the version that a worker has."""
    return __version__


def _work(
    run: str,
    first: int,
    last: int,
    before: int,
    number: int | None,
    task: Callable[..., Any],
    question: Question,
    anew: tuple[Callable[[int], Part], Path | None, list[Question], str] | None = None,
) -> Any:
    """Do a task with parts first..last-1 after round `before`; `number` is the round that it makes, if it makes one."""
    from distributed import get_worker  # an extra

    with thread_limit(get_worker().state.nthreads):
        if anew is not None:
            make, states, replay, version = anew
            _check_version(__version__, version)
            _held.setdefault(run, {}).update({k: (before, remake(make, k, states, replay)) for k in range(first, last)})
        held = _held.get(run, {})
        if any(k not in held or held[k][0] != before for k in range(first, last)):
            raise _OutOfStepError
        parts = {k: held[k][1] for k in range(first, last)}
        answer = task(parts, question)
        if number is not None:
            held.update({k: (number, part) for k, part in parts.items()})
        return answer


def _summed(parts: dict[int, Part], question: Question) -> list[tuple[int, int, Answer]]:
    """Return the nodes of the tree of sums that these parts make up."""
    sums = TreeSum()
    for k, part in parts.items():
        sums.add(k, part.answer(question))
    return sums.nodes


def _listed(parts: dict[int, Part], question: Question) -> list[Answer]:
    """Return the answers."""
    return [part.answer(question) for part in parts.values()]


def _saved(parts: dict[int, Part], question: Question) -> str:
    """Write the states; return what was written, in words."""
    for k, part in parts.items():
        write_state(Path(question["folder"]), k, part.state())
    return plural(len(parts), "state")


def _forget(run: str) -> None:
    """Let the parts of a run go."""
    _held.pop(run, None)
