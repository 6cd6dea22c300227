"""For tests and the examples in docstrings: threads, and what is skipped where real data or a browser are missing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator

# Small products gain nothing from BLAS threads, and lose minutes where other work keeps the cores busy. This must stand
# before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Workers of pytest keep all cores busy; tests of threads say how many they want.
os.environ.setdefault("COFACTOR_NUM_THREADS", "1")
# Tests read data sets that are there, and download none.
os.environ |= dict.fromkeys(("https_proxy", "HTTPS_PROXY"), "http://127.0.0.1:9")

import pytest
from tests.needs import what_lacks

LACKS = "lacking: "  #: begins the reason for which a test was skipped


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --complete."""
    parser.addoption("--complete", action="store_true", help="fail, and skip nothing, without real data or a browser")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip what fails only because this machine lacks something."""
    report = yield
    lacking = what_lacks(call.excinfo.value) if call.excinfo is not None else ""
    if lacking and not item.config.getoption("complete"):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, f"{LACKS}{lacking}")
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    """Say aloud, below all else, what did not run for lack of something."""
    yield
    reasons = (report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    found = Counter(reason.removeprefix(LACKS) for reason in reasons if reason.startswith(LACKS))
    for lacking, n in found.items():
        terminalreporter.write_line(f"{n} tests DID NOT RUN: this machine lacks {lacking}", yellow=True, bold=True)
