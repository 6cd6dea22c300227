"""Threads for kernels: every task once, errors raised, limits nested, and callers that come all at once."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from tests.children import answer_of
from tests.together import together
from threadpoolctl import threadpool_info, threadpool_limits

from cofactor.errors import InvalidInputError
from cofactor.kernels import threads
from cofactor.kernels.threads import blas_limit, cut_rows, library_limit, n_threads, parallel_for, thread_limit


@together("limit", [1, 2, 3, 50])
@together("n_tasks", [0, 1, 2, 100])
def test_every_task_runs_once(limit: int, n_tasks: int) -> None:
    counts = np.zeros(n_tasks, int)

    def task(k: int) -> None:
        counts[k] += 1

    with thread_limit(limit):
        parallel_for(task, n_tasks)
    assert_array_equal(counts, 1)


def test_the_limit_is_kept_and_several_threads_take_part() -> None:
    barrier = threading.Barrier(3)  # passes only when three tasks are under way at the same time
    names = set()

    def task(k: int) -> None:
        barrier.wait(timeout=240)
        names.add(threading.current_thread().name)

    with thread_limit(3):
        parallel_for(task, 6)
    assert len(names) == 3
    assert threading.current_thread().name in names


@together("limit", [1, 2, 3])
@together("bad", [0, 7, 19])
def test_an_exception_of_a_task_is_raised(limit: int, bad: int) -> None:
    def task(k: int) -> None:
        if k == bad:
            raise ArithmeticError(f"task {k}")

    with thread_limit(limit), pytest.raises(ArithmeticError, match=f"task {bad}"):
        parallel_for(task, 20)
    parallel_for(lambda k: None, 20)  # the threads are still there


def test_an_exception_of_another_thread_is_raised_in_the_caller() -> None:
    caller, both = threading.current_thread(), threading.Barrier(2)

    def task(k: int) -> None:
        both.wait(timeout=240)  # so that each of the two threads has a task
        if threading.current_thread() is not caller:
            raise ArithmeticError("elsewhere")

    with thread_limit(2), pytest.raises(ArithmeticError, match="elsewhere"):
        parallel_for(task, 2)


def test_an_exception_is_raised_after_all_threads_have_ended() -> None:
    started, finished = threading.Event(), []

    def task(k: int) -> None:
        if k == 0:
            started.wait(60)
            raise ArithmeticError
        started.set()
        for _ in range(1000):
            pass
        finished.append(k)

    with thread_limit(2), pytest.raises(ArithmeticError):
        parallel_for(task, 20)
    assert sorted(finished) == list(range(1, 20))


def test_limits_nest_and_are_restored() -> None:
    outside = n_threads()
    with thread_limit(3):
        assert n_threads() == 3
        with thread_limit(None):
            assert n_threads() == 3
        with thread_limit(1):
            assert n_threads() == 1
        assert n_threads() == 3
    assert n_threads() == outside


def test_a_limit_ends_with_an_exception() -> None:
    outside = n_threads()
    limit = thread_limit(outside + 1)
    with pytest.raises(KeyError), limit:
        raise KeyError
    assert n_threads() == outside


def test_a_limit_holds_in_its_own_thread_only() -> None:
    seen = []
    with thread_limit(5):
        other = threading.Thread(target=lambda: seen.append(n_threads()))
        other.start()
        other.join()
        assert n_threads() == 5
    assert seen == [n_threads()]


def test_many_callers_at_once() -> None:
    """More callers than the pool has threads: nobody waits for ever, nobody's tasks get mixed up."""
    n_callers, n_tasks = 4 * (os.cpu_count() or 1) + 4, 300
    barrier = threading.Barrier(n_callers)
    results = np.zeros((n_callers, n_tasks), int)

    def call(caller: int) -> None:
        barrier.wait(timeout=240)
        with thread_limit(4):
            for _ in range(5):
                parallel_for(lambda k: results.__setitem__((caller, k), results[caller, k] + caller), n_tasks)

    threads = [threading.Thread(target=call, args=(caller,), daemon=True) for caller in range(n_callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=240)
        assert not thread.is_alive()
    assert_array_equal(results, 5 * np.repeat(np.arange(n_callers)[:, None], n_tasks, axis=1))


SHOW = """
import os
os.environ["COFACTOR_NUM_THREADS"] = "3"
from cofactor.kernels import threads
threads._default_threads.cache_clear()  # the server of processes has read its own environment
answer.send(threads.n_threads())
"""


@pytest.mark.processes
def test_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer_of(SHOW) == 3
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    monkeypatch.setenv("COFACTOR_NUM_THREADS", "")
    assert threads._default_threads.__wrapped__() == available  # what is remembered for the process is left alone
    monkeypatch.delenv("COFACTOR_NUM_THREADS")
    assert threads._default_threads.__wrapped__() == available


@pytest.mark.parametrize("value", ["0", "two", "-1", "²", "1" * 5000])
def test_bad_environment_variable_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COFACTOR_NUM_THREADS", value)
    with pytest.raises(InvalidInputError, match=f"COFACTOR_NUM_THREADS='{value}': expected a whole number"):
        threads._default_threads.__wrapped__()  # what is remembered for the process is left alone


SCRIPT = """
import multiprocessing, sys
import numpy as np
from cofactor.kernels import vectors
from cofactor.kernels.threads import thread_limit

def total(seed):
    x = np.random.default_rng(seed).normal(size=1_000_000).astype(np.float32)
    with thread_limit(3):
        return vectors.dot(x, x)

if __name__ == "__main__":
    here = [total(seed) for seed in range(3)]  # the parent's threads exist before the children do
    for method in sys.argv[1:]:
        # A forked child costs nothing; each of the others imports everything anew.
        with multiprocessing.get_context(method).Pool(2 if method == "fork" else 1) as pool:
            there = pool.map(total, range(3))
        assert here == there, (method, here, there)
        assert here == [total(seed) for seed in range(3)]
    print("same")
"""


def test_kernels_work_in_child_processes(tmp_path: Path) -> None:
    script = tmp_path / "children.py"
    script.write_text(SCRIPT, encoding="utf-8")
    methods = {"fork", "spawn"} & set(multiprocessing.get_all_start_methods())
    outcome = subprocess.run(
        [sys.executable, str(script), *sorted(methods)], capture_output=True, text=True, timeout=120
    )
    assert outcome.stdout == "same\n", outcome.stderr


@given(counts=st.lists(st.integers(0, 50), min_size=1, max_size=60), wanted=st.integers(1, 200))
def test_cuts_cover_all_rows_in_blocks_of_about_the_wanted_size(counts: list[int], wanted: int) -> None:
    indptr = np.concatenate([[0], np.cumsum(counts)])
    cuts = cut_rows(indptr, wanted)
    assert cuts[0] == 0
    assert cuts[-1] == len(counts)
    assert np.all(np.diff(cuts) > 0)
    # An empty row counts as one entry, and a row is never cut.
    assert np.diff((indptr + np.arange(len(indptr)))[cuts]).max() <= 2 * (wanted + 1) + max(counts) + 1


def test_no_rows_give_no_blocks() -> None:
    assert cut_rows(np.array([0]), 10).tolist() == [0]


def numbers(api: str = "blas") -> set[int]:
    """Return the limits of the libraries that are loaded."""
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == api}


def test_library_limit_is_set_and_lifted() -> None:
    with threadpool_limits(2):
        before = numbers()
        assert 2 in before  # some library that another package brings along may have been built for one thread
        with library_limit(1):
            assert (numbers(), numbers("openmp") - {1}) == ({1}, set())
            with library_limit(3, "openmp"):
                assert numbers() == {1}
        assert numbers() == before


def test_small_problems_get_one_blas_thread_and_large_ones_all() -> None:
    with threadpool_limits(2):
        before = numbers()
        with blas_limit(1572, 3730):
            assert numbers() == {1}
            with blas_limit(10_000, 10_000):
                assert numbers() == {1}
        assert numbers() == before
        with blas_limit(10_000, 10_000):
            assert numbers() == before


def test_a_limit_holds_in_any_thread_until_the_last_that_holds_it_is_done() -> None:
    """Each restoring what it found would leave one thread behind for good, or lift the limit of others."""
    inside, first_out, seen = threading.Barrier(2), threading.Event(), {}

    def first() -> None:
        with library_limit(1, "blas"):
            seen["first"] = numbers()
            inside.wait()
        first_out.set()

    def second() -> None:
        with library_limit(1, "blas"):
            inside.wait()
            first_out.wait()
            seen["second"] = numbers()

    with threadpool_limits(2):
        before = numbers()
        with library_limit(1, "blas"):  # threadpoolctl would hear of OpenBLAS this thread alone from now on
            pass
        threads = [threading.Thread(target=task) for task in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == {"first": {1}, "second": {1}}
        assert numbers() == before


@pytest.mark.evidence
def test_library_limit_holds_for_libraries_that_were_loaded_late() -> None:
    code = (
        "from cofactor.kernels.threads import library_limit\n"
        "from threadpoolctl import threadpool_info\n"
        "with library_limit(1): early = len(threadpool_info())\n"
        "import scipy.linalg\n"
        "with library_limit(1): late = [pool['num_threads'] for pool in threadpool_info()]\n"
        "print(early < len(late), set(late))"
    )
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["True", "{1}"]


def test_loops_may_stand_inside_loops() -> None:
    seen = np.zeros((8, 8), dtype=int)

    def inner(i: int) -> None:
        parallel_for(lambda j: seen.__setitem__((i, j), seen[i, j] + 1), 8)

    with thread_limit(3):
        for _ in range(50):
            parallel_for(inner, 8)
    assert np.all(seen == 50)


def test_loops_in_quick_succession_from_several_threads() -> None:
    """Workers that stay awake are handed from one caller to another."""
    sums = np.zeros((4, 300), dtype=int)

    def caller(row: int) -> None:
        with thread_limit(2):
            for k in range(300):
                parts = np.zeros(5, dtype=int)
                parallel_for(lambda t, parts=parts, k=k: parts.__setitem__(t, k), 5)
                sums[row, k] = parts.sum()

    callers = [threading.Thread(target=caller, args=(row,)) for row in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join(60)
    assert np.array_equal(sums, np.tile(5 * np.arange(300), (4, 1)))


def test_an_exception_ends_the_loop_early() -> None:
    done: list[int] = []

    def task(k: int) -> None:
        if k == 3:
            raise ValueError("three")
        done.append(k)
        time.sleep(0.001)

    with thread_limit(2), pytest.raises(ValueError, match="three"):
        parallel_for(task, 10_000)
    assert len(done) < 9_999


@pytest.mark.evidence
def test_daemon_threads_are_quiet_when_the_interpreter_ends() -> None:
    code = (
        "import threading, time, numpy as np\n"
        "from cofactor.kernels.threads import parallel_for, thread_limit\n"
        "def work():\n"
        "    with thread_limit(4):\n"
        "        while True: parallel_for(lambda k: np.ones(10).sum(), 8)\n"
        "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.3)\n"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert (outcome.returncode, outcome.stderr) == (0, "")
