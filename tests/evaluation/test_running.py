"""Runs of cells: each once, whatever fails, dies or is interrupted."""

from __future__ import annotations

import gc
import itertools
import json
import multiprocessing
import os
import re
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TextIO

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

import cofactor
from cofactor.evaluation import Cell, Interrupted, ResultStore, Run, RunProgress, StoreError, run_cells, running
from cofactor.interrupts import begin_worker
from cofactor.kernels.threads import n_threads, thread_limit
from cofactor.model import parallel
from cofactor.ratings import GibbsMMMF

pytestmark = pytest.mark.processes

Start = Callable[..., BaseProcess]


def make_cells(n: int, work: Callable[[int], Any]) -> list[Cell]:
    return [Cell(work=partial(work, k), method=f"method {k % 2}", data="toy", split=str(k)) for k in range(n)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results"


def write_line(log: Path, k: int) -> dict[str, int]:
    """Measure nothing, but leave a trace."""
    with log.open("a") as stream:
        stream.write(f"{k}\n")
    return {"k": k}


def traces(log: Path) -> Counter[int]:
    return Counter(map(int, log.read_text().split()))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_the_order_of_the_cells(n_jobs: int, path: Path) -> None:
    cells = make_cells(30, lambda k: {"k": k, "pid": os.getpid()})
    results = run_cells(cells, path, n_jobs=n_jobs)
    assert [result.key for result in results] == [cell.key for cell in cells]
    assert [result.measures["k"] for result in results] == list(range(30))
    assert {(r.status, r.error, r.method, r.version) for r in results} >= {
        ("done", "", "method 1", cofactor.__version__)
    }
    assert ({result.measures["pid"] for result in results} == {os.getpid()}) is (n_jobs == 1)
    assert sorted(ResultStore(path).results(), key=lambda r: int(r.split)) == results


def test_what_is_stored_is_not_computed_again(path: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = run_cells(make_cells(4, partial(write_line, log)), path)
    cells = make_cells(6, partial(write_line, log))
    assert run_cells([*cells, cells[0]], path)[:4] == first
    assert traces(log) == dict.fromkeys(range(6), 1)


def test_measures_are_the_same_with_and_without_a_store(path: Path) -> None:
    def measure(k: int) -> dict[str, Any]:
        return {"mae": np.float32(0.1), "list": np.arange(2), "nested": {"a": np.int64(k)}, "none": None}

    cells = make_cells(2, measure)
    expected = {"mae": float(np.float32(0.1)), "list": [0, 1], "nested": {"a": 1}, "none": None}
    assert run_cells(cells)[1].measures == run_cells(cells, path)[1].measures == expected


# ---------------------------------------------------------------- failures


def fail(k: int) -> dict[str, Any]:
    if k == 1:
        error = ValueError("alpha must be above 0\nfound -1")
        error.add_note("while trying {'alpha': -1}")
        raise error
    return {"model": object()} if k == 2 else {"k": k}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_cell_that_fails_does_not_stop_the_others(n_jobs: int, path: Path) -> None:
    results = run_cells(make_cells(6, fail), path, n_jobs=n_jobs)
    assert [result.status for result in results] == ["done", "failed", "failed", *["done"] * 3]
    lines = results[1].error.splitlines()
    assert lines[:3] == ["ValueError: alpha must be above 0", "found -1", "while trying {'alpha': -1}"]
    assert "test_running.py" in lines[-2]
    assert lines[-1].strip() == "raise error"
    assert results[2].error.startswith("InvalidTypeError: a measure is a object: expected numbers, strings, lists")
    assert results[1].measures == {}


def test_failed_cells_are_computed_again_on_request(path: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.touch()

    def measure(k: int) -> dict[str, Any]:
        write_line(tmp_path / "log", k)
        return {"k": 1 / 0} if k == 2 and wrong.exists() else {"k": k}

    cells = make_cells(4, measure)
    assert [r.status for r in run_cells(cells, path)] == ["done", "done", "failed", "done"]
    wrong.unlink()
    assert [r.status for r in run_cells(cells, path)] == ["done", "done", "failed", "done"]
    assert [r.status for r in run_cells(cells, path, retry_failed=True)] == ["done"] * 4
    assert traces(tmp_path / "log") == {0: 1, 1: 1, 2: 2, 3: 1}


def test_warnings_are_kept_as_a_measure() -> None:
    def warn(k: int) -> dict[str, Any]:
        for _ in range(3):
            warnings.warn(f"stopped after {k} iterations", stacklevel=1)
        return {"k": k}

    for n_jobs in (1, 2):
        (result,) = run_cells(make_cells(1, warn), n_jobs=n_jobs)
        assert result.measures == {"k": 0, "warnings": ["stopped after 0 iterations"]}


# ---------------------------------------------------------------- threads


def threads_here(k: int) -> dict[str, Any]:
    return {"kernels": n_threads(), "libraries": sorted({pool["num_threads"] for pool in threadpool_info()})}


def test_workers_spare_the_garbage_collector_what_they_imported() -> None:
    before = gc.get_freeze_count()
    results = run_cells(make_cells(2, lambda k: {"frozen": gc.get_freeze_count(), "pid": os.getpid()}), n_jobs=2)
    assert all(result.measures["frozen"] > 10_000 for result in results)
    assert gc.get_freeze_count() <= before  # it falls as frozen objects go


@pytest.mark.parametrize(("n_jobs", "share"), [(1, 4), (2, 2)])
def test_cells_share_the_threads(n_jobs: int, share: int) -> None:
    with thread_limit(4):
        results = run_cells(make_cells(4, threads_here), n_jobs=n_jobs)
    assert [result.measures for result in results] == [{"kernels": share, "libraries": [1]}] * 4


def test_any_backend_of_joblib_will_do(path: Path) -> None:
    with joblib.parallel_config(backend="threading", n_jobs=2), thread_limit(4):
        cells = make_cells(20, lambda k: {**threads_here(k), "pid": os.getpid()})
        results = run_cells(cells, path, n_jobs=None)
    assert {json.dumps(result.measures) for result in results} == {
        json.dumps({"kernels": 2, "libraries": [1], "pid": os.getpid()})
    }


# ---------------------------------------------------------------- workers that work in threads, as those of Dask do


def in_threads(works: list[Callable[[], Any]]) -> list[dict[str, Any]]:
    """Do works as threads of a worker process would, all at once."""

    def attempted(work: Callable[[], Any]) -> dict[str, Any]:
        with joblib.parallel_config(backend="loky", n_jobs=2):
            return dict(running._attempt("key", 1, (0, 0), work).measures)

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(attempted, works))


def test_a_worker_with_one_thread_keeps_warnings() -> None:
    def warn() -> dict[str, int]:
        warnings.warn("slow", stacklevel=1)
        return {"k": 0}

    assert in_threads([warn]) == [{"k": 0, "warnings": ["slow"]}]


def test_what_a_cell_does_side_by_side_stays_in_its_worker() -> None:
    def backend() -> dict[str, Any]:
        with joblib.Parallel(n_jobs=2) as parallel:
            return {
                "jobs": joblib.effective_n_jobs(None),
                "pids": parallel(joblib.delayed(os.getpid)() for _ in range(2)),
            }

    assert in_threads([backend]) == [{"jobs": 1, "pids": [os.getpid()] * 2}]


# ---------------------------------------------------------------- progress


def test_progress_counts_and_looks_ahead(path: Path) -> None:
    def nap(k: int) -> dict[str, Any]:
        time.sleep(0.02 if k % 2 else 0.001)
        return {"k": k} if k != 2 else {"k": 1 / 0}

    run_cells(make_cells(2, nap), path)
    seen: list[RunProgress] = []
    results = run_cells(make_cells(10, nap), path, on_progress=seen.append)
    assert [progress.done for progress in seen] == list(range(1, 11))
    assert [progress.computed for progress in seen] == [0, 0, *range(1, 9)]
    assert [progress.failed for progress in seen] == [0, 0, *[1] * 8]
    assert {progress.total for progress in seen} == {10}
    assert [progress.result for progress in seen] == results
    assert [progress.seconds_left for progress in seen[:2]] == [None, None]
    # The times of both kinds are known from the store; four of one are left then, and three of the other.
    short, long, other = (result.seconds for result in results[:3])
    assert seen[2].seconds_left == pytest.approx(4 * long + 3 * (short + other) / 2)
    assert seen[-1].seconds_left == 0
    assert all(a.seconds <= b.seconds for a, b in itertools.pairwise(seen))


# ---------------------------------------------------------------- several processes, and sudden ends

RUN = """
from functools import partial
from pathlib import Path
import time
import cofactor
from cofactor.evaluation import Cell, run_cells

def work(k):
    time.sleep(nap)
    with open(log, "a") as stream:
        stream.write(f"{k}\\n")
    return {"k": k}

def tell(progress):
    if answer is not None:
        answer.send(progress.done)

cells = [Cell(work=partial(work, k), method=f"method {k % 2}", data="toy", split=str(k)) for k in range(n)]
if gate is not None:
    gate.wait()
results = run_cells(cells, store, on_progress=tell)
assert [result.measures["k"] for result in results] == list(range(n))
if answer is not None:
    answer.send("all")
"""


def test_a_killed_run_goes_on_where_it_was(path: Path, tmp_path: Path, start: Start) -> None:
    ours, theirs = multiprocessing.Pipe()
    settings = {"log": str(tmp_path / "log"), "store": str(path), "n": 30, "gate": None}
    child = start(RUN, nap=0.02, answer=theirs, **settings)
    while ours.recv() != 8:
        pass
    child.kill()
    child.join()
    done = {int(result.split) for result in ResultStore(path).results()}
    assert 8 <= len(done) < 30
    again = start(RUN, nap=0, answer=None, **settings)
    again.join()
    assert again.exitcode == 0
    counts = traces(tmp_path / "log")
    assert set(counts) == set(range(30))
    assert all(counts[k] == 1 for k in done)
    assert counts.total() <= 31  # the one that was being computed may have left its trace


def test_two_processes_spoil_nothing(path: Path, tmp_path: Path, start: Start) -> None:
    gate = multiprocessing.get_context("forkserver").Barrier(2)
    settings = {"log": str(tmp_path / "log"), "store": str(path), "n": 40, "gate": gate, "nap": 0.005}
    children = [start(RUN, answer=None, **settings) for _ in range(2)]
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0]  # both have all results
    assert set(traces(tmp_path / "log")) == set(range(40))
    assert len(ResultStore(path).results()) == 40


def test_processes_are_sent_data_once(path: Path) -> None:
    """Arrays that works are given apart lie in memory once, for all processes and cells."""
    data = np.arange(300_000)
    cells = [Cell(work=partial(backed, data, k), method="sum", split=str(k)) for k in range(6)]
    results = run_cells(cells, path, n_jobs=2)
    assert [result.measures["total"] for result in results] == [k * int(data.sum()) for k in range(6)]
    assert len({result.measures["file"] for result in results}) == 1


def backed(data: np.ndarray, k: int) -> dict[str, Any]:
    return {"total": k * int(data.sum()), "file": str(data.filename)}


def test_an_interruption_keeps_what_is_done(path: Path) -> None:
    def stop(progress: RunProgress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"interrupted: 3 of 9 cells are done and are kept in .*results") as e:
        run_cells(make_cells(9, lambda k: {"k": k}), path, on_progress=stop)
    assert [result.measures["k"] for result in e.value.results] == [0, 1, 2]
    assert len(ResultStore(path)) == 3
    with pytest.raises(Interrupted, match="3 of 9 cells are done and are lost, since there is no store"):
        run_cells(make_cells(9, lambda k: {"k": k}), on_progress=stop)


def test_a_store_that_fails_stops_the_run(path: Path) -> None:
    def remove(progress: RunProgress) -> None:
        if progress.done == 3:
            path.rename(path.with_name(f"away {n_jobs}"))

    for n_jobs in (1, 2):
        with (
            joblib.parallel_config(backend="threading"),  # processes would end, and new ones take seconds to start
            pytest.raises(StoreError, match="its folder must exist"),
        ):
            run_cells(make_cells(20, lambda k: {"k": k}), path, n_jobs=n_jobs, on_progress=remove)
        assert len(ResultStore(path.with_name(f"away {n_jobs}"))) == 3


@pytest.mark.processes(ends_workers=True)
@pytest.mark.evidence
def test_a_cell_that_kills_its_process_fails_alone(path: Path) -> None:
    def die(k: int) -> dict[str, Any]:
        if k == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"k": k}

    results = run_cells(make_cells(3, die), path, n_jobs=2)
    assert [result.status for result in results] == ["done", "failed", "done"]
    assert results[1].error.startswith("TerminatedWorkerError: ")


@pytest.mark.processes(ends_workers=True)
def test_a_cell_that_cannot_be_sent_fails() -> None:
    lock = threading.Lock()
    (result,) = run_cells([Cell(work=lambda: {"held": lock.locked()}, method="unsendable")], n_jobs=2)
    assert result.status == "failed"
    assert "pickle" in result.error


def test_what_was_stored_when_the_interruption_came_is_counted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: ResultStore, result: Run) -> None:
        put(self, result)
        if result.measures["k"] == 2:
            raise KeyboardInterrupt

    put = ResultStore.put
    monkeypatch.setattr(ResultStore, "put", interrupted)
    with pytest.raises(Interrupted, match="interrupted: 3 of 9 cells are done and are kept"):
        run_cells(make_cells(9, lambda k: {"k": k}), path)
    assert len(ResultStore(path)) == 3


def test_a_fit_that_was_interrupted_is_no_result(path: Path) -> None:
    """A sampler would end with the samples it has, and be measured as if it had all."""

    def work(k: int) -> dict[str, Any]:
        model = GibbsMMMF(2, n_sweeps=20, burn_in=2, callback=press_ctrl_c, random_state=0)
        return {"n": model.fit([(1, 1), (1, 2), (2, 1), (2, 2)], [1, 2, 2, 1]).n_iter_}

    def press_ctrl_c(progress: Any) -> None:
        if progress.iteration == 8:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="interrupted: 0 of 2 cells are done"):
        run_cells(make_cells(2, work), path)
    assert len(ResultStore(path)) == 0


NAPPING = """
import atexit, os, signal, sys, threading, time
from cofactor.evaluation import Cell, Interrupted, run_cells

def nap(k):
    time.sleep(0.02)
    return {"pid": os.getpid()}

def tell(progress):
    os.write(1, f"{progress.result.measures['pid']}\\n".encode())  # whole: Ctrl-C comes between two writes of print

os.setsid()
for number, stream in enumerate((out, err), 1):
    os.dup2(stream.fileno(), number)
    stream.close()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has been told to ignore it
cells = [Cell(work=lambda k=k: nap(k), method="m", split=str(k)) for k in range(2000)]
try:
    run_cells(cells, store, n_jobs=2, on_progress=tell)
except Interrupted as stop:
    print(stop, flush=True)
threading._shutdown()  # as at the end of any program; multiprocessing leaves it out
atexit._run_exitfuncs()
"""


@dataclass
class Napping:
    """A run of two jobs in a group of its own."""

    process: BaseProcess
    out: TextIO
    err: TextIO
    told: list[int] = field(default_factory=list)  #: whose cells have been reported and read

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid


@pytest.fixture
def napping(start: Start, path: Path) -> Iterator[Napping]:
    """Start a run of two jobs."""
    pipes = [multiprocessing.Pipe(duplex=False) for _ in range(2)]
    process = start(NAPPING, store=str(path), out=pipes[0][1], err=pipes[1][1])
    streams = []
    for ours, theirs in pipes:
        theirs.close()
        streams.append(os.fdopen(os.dup(ours.fileno()), "r"))
        ours.close()
    with streams[0], streams[1]:
        yield Napping(process, *streams)


def workers_of(child: Napping) -> set[int]:
    while len(set(child.told)) < 2:
        child.told.append(int(child.out.readline()))
    return set(child.told)


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended: one that nobody waits for stays as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


#: joblib's thread which feeds workers may still unlink a lock, without having said so, when the program ends.
OF_THE_TRACKER = re.compile(r"resource_tracker|^ *warnings\.warn\($")


@pytest.mark.evidence
def test_ctrl_c_pressed_twice_ends_a_run_and_all_its_processes(napping: Napping, path: Path) -> None:
    """As once does: programs that are interrupted once, and go on from their store, are tests of their own."""
    workers = workers_of(napping)
    os.killpg(napping.pid, signal.SIGINT)  # as a terminal does: to the workers too
    time.sleep(0.04)
    os.killpg(napping.pid, signal.SIGINT)
    napping.process.join(240)
    *told, said = napping.out.read().splitlines()
    assert [line for line in napping.err if not OF_THE_TRACKER.search(line)] == []
    assert napping.process.exitcode == 0
    assert not any(map(is_running, workers))
    store = ResultStore(path)
    assert len(store) >= len(napping.told) + len(told)  # one may have been stored that was not told any more
    assert said == f"interrupted: {len(store)} of 2,000 cells are done and are kept in {path}"


def starting(child: Napping) -> set[int]:
    """Return a worker that a run has started, which has loaded something, but has not done any work."""
    listed = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    while True:
        for pid in listed.read_text().split():
            files = Path(f"/proc/{pid}")
            if b"popen_loky" in (files / "cmdline").read_bytes() and "/numpy/" in (files / "maps").read_text():
                return {int(pid)}
        time.sleep(0.02)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="tells whether processes run by what Linux says")
@pytest.mark.parametrize("found", [workers_of, starting])
@pytest.mark.evidence
def test_workers_end_with_a_parent_that_is_killed(napping: Napping, found: Callable[..., set[int]]) -> None:
    """Also those which have not done anything yet: they would wait for five minutes."""
    workers = found(napping)
    assert all(map(is_running, workers))
    napping.process.kill()
    until = time.monotonic() + 200  # five seconds where nothing else runs
    while any(map(is_running, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(is_running, workers))


def test_an_interruption_leaves_ctrl_c_as_it_was() -> None:
    def stop(progress: RunProgress) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGINT)  # pressed again: what ends the run is not broken off
            again.append(progress.done)

    again: list[int] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(Interrupted, match="1 of 3 cells"):
            run_cells(make_cells(3, lambda k: {"k": k}), on_progress=stop)
        assert again == [1]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_concerns_the_parent_of_workers_alone() -> None:
    results = run_cells(make_cells(2, lambda k: {"k": signal.getsignal(signal.SIGINT) is signal.SIG_IGN}), n_jobs=2)
    assert [result.measures["k"] for result in results] == [True, True]


def test_processes_are_told_the_same_whatever_they_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else joblib would end them, and start others, whenever tasks of another kind come."""

    class Recorder:
        def __init__(self, **options: Any) -> None:
            told.append((options.get("initializer"), options.get("initargs")))

        def __call__(self, tasks: Any) -> Any:
            return (None for _ in ())

    told: list[Any] = []
    monkeypatch.setattr(parallel, "Parallel", Recorder)
    parallel.run_parallel(print, [(1,)], 1, 2)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        parallel.run_parallel(print, [(1,)], 1, None)
        list(parallel.in_workers([], None))
    list(parallel.in_workers([], 2))
    assert told == [(None, None), *[(begin_worker, (os.getpid(),))] * 3]
