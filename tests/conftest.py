"""Fixtures shared by all tests, their order and their workers."""

from __future__ import annotations

import gc
import linecache
import os
import shutil
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from joblib import cpu_count
from tests.needs import LackingError

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

# Importing and collecting leave little garbage, and searching for it takes a sixth of their time.
gc.disable()

# Tests write 20,000 files that must last. A disk takes a sixth of the time of such tests, and lets them wait.
if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 1 << 32:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")

# No test depends on how fast a machine is.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets."""
    value = os.environ.get("COFACTOR_DATA")
    if not value:
        raise LackingError("real data (COFACTOR_DATA)")
    path = Path(value)
    assert (path / "movielens").is_dir(), f"COFACTOR_DATA={path} holds no folder 'movielens'"
    return path


@pytest.fixture
def little_movielens(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave of MovieLens 100K the users and films below 200: a fit of all takes twenty times as long."""
    from cofactor import datasets

    data = datasets.load_ratings("ml-100k")
    kept = (data.X < 200).all(axis=1)
    little = replace(data, X=data.X[kept], y=data.y[kept], timestamps=data.timestamps[kept])
    monkeypatch.setattr(datasets, "load_ratings", lambda name: {"ml-100k": little}[name])


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Chromium: to start it takes four seconds of CPU."""
    from tests.browsing import chromium

    with chromium(tmp_path_factory.mktemp("browser")) as chrome:
        yield chrome


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests in no module of tests: it takes a tenth of collecting, and helpers would be imported for it."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that start processes first: one worker takes them, and others have none of their pools and servers.

    They also take long, and wait: at the end no core would have anything else to do. Those whose server loads more are
    the first of them, and those that end joblib's workers, which take seconds to start, the last. A test that takes
    long comes next, for the same reason.
    """
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    mark = item.get_closest_marker("processes")
    if mark is not None:
        return int(mark.kwargs.get("ends_workers", False)) - int(mark.kwargs.get("warm", False))
    return 3 if item.get_closest_marker("long") is None else 2


def pytest_collection_finish() -> None:
    """Leave the modules and tests that are there by now out of every later search for garbage, half a second each."""
    linecache.clearcache()  # each example in a docstring looks whether any of these sources has changed
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)  # tests leave little too
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Take half as many workers again as there are cores, unless told otherwise: some wait for a browser or a disk."""
    return int(os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS") or (3 * cpu_count() + 1) // 2)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Compile all kernels before the workers start: else each of them compiles what both need first.

    A worker has its share of the cores, for BLAS and for kernels: threads of several workers spin while they wait for
    each other, which took a sixth of the time of tests of labels, and a tenth of that of ratings.
    """
    from cofactor import warm_up

    gc.enable()  # this process collects nothing itself
    n_workers = config.getoption("numprocesses") or 1
    for name in ("OPENBLAS_NUM_THREADS", "COFACTOR_NUM_THREADS"):
        os.environ.setdefault(name, str(max(1, cpu_count() // n_workers)))
    warmth = warm_up(n_jobs=n_workers)
    if warmth.n_models:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(f"compiled the loops of {warmth.n_models} models in {warmth.seconds:.0f} s")
