"""Progress on a terminal, in a notebook, and in a log: what models with verbose=1 and commands show."""

from __future__ import annotations

import io
import itertools
import logging
import re
import sys
from contextlib import redirect_stderr
from pathlib import Path
from types import SimpleNamespace

import pytest

from cofactor.cli import main
from cofactor.datasets import make_labels, make_ratings, write_table
from cofactor.labels import LEML
from cofactor.progress import Compilation, Display, LogLines, describe, on_compile
from cofactor.ratings import ALS, ShardedRatings, as_ratings


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    """Compile what fits here need before any of them is looked at."""
    with on_compile(lambda: None), redirect_stderr(None):
        fit_ratings()
        fit_labels()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the clock is read, two seconds have passed."""
    ticks = itertools.count(0.0, 2.0)
    monkeypatch.setattr("cofactor.progress.time", SimpleNamespace(perf_counter=lambda: next(ticks)))


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def fit_ratings() -> None:
    data = make_ratings(30, 20, 3, random_state=0)
    ALS(2, 1.0, random_state=0, verbose=1, max_iter=100).fit(data.X, data.y)


def fit_labels() -> None:
    data, _ = make_labels(40, 6, 4, n_groups=2, n_factors=2, random_state=0)
    LEML.paper(2, alpha=1.0, random_state=0, verbose=1).fit(data.X, data.Y)


END = re.compile(r"(ALS|LEML): the fit ended after [\d,]+ steps? \(\d+\.\d s\)\n?$")
FITS = pytest.mark.parametrize("fit", [fit_ratings, fit_labels])


@FITS
@pytest.mark.usefixtures("slow")
def test_a_fit_writes_lines_to_the_log(fit, capfd, caplog: pytest.LogCaptureFixture) -> None:
    """It printed one blank line."""
    with caplog.at_level(logging.INFO, "cofactor"):
        fit()
    lines = [record.getMessage() for record in caplog.records if record.name == "cofactor"]
    *states, end = lines
    assert states
    assert all(": iteration " in line and "objective" in line and line.endswith(" s)") for line in states)
    assert len(states) < 8  # of more iterations
    assert END.match(end)
    assert capfd.readouterr() == ("", "")


@FITS
@pytest.mark.usefixtures("slow")
def test_without_logging_lines_are_printed(fit, capfd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.Logger, "hasHandlers", lambda logger: False)
    fit()
    out, err = capfd.readouterr()
    assert out == ""
    *states, end = err.splitlines()
    assert all(line.startswith("cofactor: ") and ": iteration " in line for line in states)
    assert states
    assert END.match(end.removeprefix("cofactor: "))


@FITS
def test_a_short_fit_says_that_it_ended(fit, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "cofactor"):
        fit()
    (line,) = [record.getMessage() for record in caplog.records if record.name == "cofactor"]
    assert END.match(line)


@FITS
@pytest.mark.usefixtures("slow", "notebook")
def test_a_notebook_shows_a_plain_line(fit, capfd) -> None:
    fit()
    out, err = capfd.readouterr()
    states = err.split("\r")
    assert out == ""
    assert "\x1b" not in err
    assert any("iteration " in state for state in states)
    assert states[-2].isspace()  # nothing remains but the end
    assert END.match(states[-1].removeprefix("cofactor: ")) or states[-1] == ""  # pytest may have set up logging
    assert "\n" not in "".join(states[:-1])


@FITS
@pytest.mark.usefixtures("slow")
def test_a_terminal_shows_a_bar(fit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    fit()
    assert "objective" in terminal.getvalue()
    assert "\x1b[?25l" in terminal.getvalue()  # the cursor is hidden while the bar is there


@pytest.mark.usefixtures("slow")
def test_commands_say_in_a_pipe_how_far_they_are(tmp_path: Path, capfd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.Logger, "hasHandlers", lambda logger: False)
    data, file = make_ratings(30, 20, 3, random_state=0), tmp_path / "ratings.csv"
    write_table(file, {"user": data.X[:, 0], "item": data.X[:, 1], "rating": data.y})
    settings = ["-m", "als", "--alpha", "1", "--factors", "2"]
    assert main(["fit", str(file), *settings, "--out", str(tmp_path / "model")]) == 0
    assert re.match(r"cofactor: fitting ALS: iteration \d+, objective \d+ \(\d+ s\)", capfd.readouterr().err)
    assert main(["evaluate", str(file), *settings, "--splits", "3"]) == 0
    assert re.search(r"cofactor: .*, split \d: \d of 9", capfd.readouterr().err)
    assert main(["fit", str(file), *settings, "--out", str(tmp_path / "model"), "--json"]) == 0
    assert capfd.readouterr().err == ""


def test_lines_of_a_log_become_rare(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("cofactor.progress.time", SimpleNamespace(perf_counter=lambda: clock.now))
    log = LogLines(1)
    with caplog.at_level(logging.INFO, "cofactor"):
        for _ in range(7200):
            clock.now += 0.5
            log.update("", "comparing", "", 3, 8)
    seconds = [float(record.getMessage().split("(")[1].split()[0].replace(",", "")) for record in caplog.records]
    assert seconds == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1624, 2224, 2824, 3424]
    assert caplog.records[0].getMessage() == "comparing: 3 of 8 (1 s)"


@pytest.mark.usefixtures("notebook")
def test_a_plain_bar(capfd) -> None:
    with Display(counted=True) as display:
        display.show(text="split 1", done=3, total=12)
    assert capfd.readouterr().err.split("\r")[1].rstrip() == "split 1  [###.........] 3 of 12"


@pytest.mark.usefixtures("notebook")
def test_shards_are_counted_within_a_round(capfd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cofactor.progress._REDRAWN", 0)
    sharded = ShardedRatings.from_ratings(as_ratings([(user, user % 3) for user in range(9)], [1, 2, 3] * 3), 3)
    with Display("fitting") as display:
        model = ALS(2, alpha=1.0, tol=0.3, callback=lambda progress: display.show(*describe(progress)))
        model.fit(sharded)
        assert "shards" not in capfd.readouterr().err, "passes are short"
        monkeypatch.setattr("cofactor.progress._LONG", -1)
        model.fit(sharded)
    states = [state.rstrip() for state in capfd.readouterr().err.split("\r")]
    pattern = r"fitting  \[(\S+)\] (\d) of 3 shards  (iteration 1, objective 3, )?\d+\.\d million ratings/s"
    found = [match for match in (re.fullmatch(pattern, state) for state in states) if match]
    assert [match[2] for match in found[:3]] == ["1", "2", "3"]
    assert any(match[3] for match in found), "the iteration stands beside"


@pytest.mark.usefixtures("notebook")
def test_quiet(capfd) -> None:
    with Display("fitting", quiet=True) as display:
        display.show(done=3, total=12)
    assert capfd.readouterr() == ("", "")


def test_the_last_count_of_a_log_is_told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was told last stayed at 4 of 5."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("cofactor.progress.time", SimpleNamespace(perf_counter=lambda: clock.now))
    with caplog.at_level(logging.INFO, "cofactor"):
        log = LogLines(1)
        for done in (4, 5):
            clock.now += 1.0
            log.update("", "compiling", "", done, 5)
        log.stop()
    assert [record.getMessage() for record in caplog.records] == ["compiling: 4 of 5 (1 s)", "compiling: 5 of 5 (2 s)"]


@pytest.mark.parametrize("kept", [True, False])
def test_compiling_happens_once_only_where_it_is_kept(kept: bool, caplog: pytest.LogCaptureFixture, slow: None) -> None:
    compilation = Compilation(lambda: kept)
    with caplog.at_level(logging.INFO, "cofactor"):
        compilation.begin()
        compilation.end()
    (record,) = caplog.records
    assert ("once on this machine" in record.getMessage()) == kept
