"""Statuses, messages, help, and streams of the program as a whole."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.children import answer_of
from tests.together import together
from typer.testing import CliRunner

import cofactor
from cofactor.cli import fit
from cofactor.cli.app import EXAMPLES, app
from cofactor.cli.errors import explain
from cofactor.errors import InvalidInputError, MissingPackageError
from cofactor.service.options import parse_levels

COMMANDS = ["demo", "doctor", "datasets", "fit", "predict", "recommend", "update", "evaluate"]


@together("command", [*([name] for name in COMMANDS), *(["datasets", n] for n in ("list", "path"))])
def test_help_fits_a_terminal_of_80_columns_and_shows_examples(command: list[str]) -> None:
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "80", "TERM": "dumb"})
    assert result.exit_code == 0
    assert max(len(line) for line in result.output.splitlines()) <= 80
    text = " ".join(result.output.split())
    for example in EXAMPLES.get(command[-1], ()):
        assert example in text


@together("command", sorted(EXAMPLES))
def test_examples_in_the_help_use_options_that_exist(command: str) -> None:
    output = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
    options = set(re.findall(r"(?<!\S)--?[a-z-]+", output.partition("Examples")[0]))
    for example in EXAMPLES[command]:
        used = set(re.findall(r"(?<!\S)--?[a-z-]+", example.rpartition("|")[2]))
        assert used - {"-"} <= options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit"], "Missing argument 'FILE'; see cofactor fit --help"),
        (
            ["reproduce", "--list"],
            "No such option: --list; write cofactor reproduce list; see cofactor reproduce --help",
        ),
        (["fit", "x", "--zzz"], "No such option: --zzz; see cofactor fit --help"),
        (["nonsense"], "No such command 'nonsense'; see cofactor --help"),
    ],
)
def test_wrong_usage_is_one_line(run, arguments: list[str], message: str) -> None:
    assert run(*arguments).error == message


@pytest.mark.processes
def test_status_of_the_process(process, csv: Path) -> None:
    assert process("fit", "nowhere.csv").error.startswith("nowhere.csv: no such file, and no known data set (")
    fitted = process("fit", csv, "--alpha", 3, "--json", "--out", "new.cofactor")
    assert (fitted.status, fitted.err) == (0, "")
    assert fitted.json["users"] == 60


def test_a_bug_keeps_its_traceback(run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        np.zeros(2) + np.zeros(3)

    monkeypatch.setattr("cofactor.service.rating_files.checked_ratings", broken)
    with pytest.raises(ValueError, match="could not be broadcast"):
        run("fit", csv)


def test_only_errors_that_say_what_to_put_right_are_explained() -> None:
    from cofactor.metrics import mean_absolute_error

    def caught(call) -> Exception:
        with pytest.raises((ValueError, TypeError)) as info:
            call()
        return info.value

    assert explain(caught(lambda: mean_absolute_error([1, 2], [1])))
    assert explain(caught(lambda: parse_levels("x"))).startswith("--levels x: 'x' is not a number; write")
    assert explain(caught(lambda: int("x"))) is None
    assert explain(caught(lambda: mean_absolute_error(1, 2, 3))) is None  # type: ignore[call-arg]
    assert explain(KeyError("x")) is None
    assert explain(InvalidInputError("two\nlines")) == "two lines"
    assert explain(MissingPackageError("pyarrow", "Parquet needs", "parquet")).startswith("Parquet needs pyarrow")


def test_errors_of_the_operating_system_name_the_file(run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "model.cofactor")

    monkeypatch.setattr(fit, "save_model", full)
    assert run("fit", csv, "--alpha", 3).error == "model.cofactor: No space left on device"


@pytest.mark.processes
def test_warnings_are_one_line_without_a_place(process, csv: Path) -> None:
    outcome = process("fit", csv, "--alpha", 3, "--param", "max_iter=2", "--out", "x.cofactor")
    (line,) = outcome.err.splitlines()
    assert line.startswith("cofactor: warning: MMMF stopped after 2 iterations")
    assert outcome.status == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["recommend", "MODEL", "--all", "-n", 40, "--include-seen"],
        ["recommend", "MODEL", "--all", "-n", 40, "--include-seen", "--json"],
        ["datasets", "list"],
        ["fit", "--help"],
    ],
)
@pytest.mark.processes
def test_a_reader_who_goes_away_is_no_error(start, model: Path, arguments: list[object]) -> None:
    child = start(*(model if argument == "MODEL" else argument for argument in arguments), PYTHONUNBUFFERED="1")
    child.stdout.close()
    assert child.stderr.read() == b""
    child.end()
    assert child.returncode == 0


ONTO_A_FULL_DISK = """
import io, os, sys
from cofactor.cli import main
os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
sys.stdout, sys.stderr = open(1, "w"), io.StringIO()
answer.send((main(arguments), sys.stderr.getvalue()))
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.evidence
@pytest.mark.processes
def test_a_full_disk_is_named(run, csv: Path, model: Path) -> None:
    assert run("fit", csv, "--alpha", 3, "--out", "/dev/full").error == "/dev/full: No space left on device"
    refused = (2, "cofactor: error: standard output: No space left on device\n")
    assert answer_of(ONTO_A_FULL_DISK, arguments=["predict", str(model), str(csv)]) == refused
    command = f"{sys.executable} -m cofactor --version > /dev/full"  # at the end of the process
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == refused


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.evidence
def test_an_interrupted_fit_leaves_nothing_behind(
    start, data_dir: Path, tmp_path: Path, number: int, status: int
) -> None:
    # alpha="auto" on a million ratings takes minutes.
    child = start("fit", "ml-1m", "--model", "hmf")
    child.let_work()
    assert child.poll() is None, child.stderr.read()
    child.send_signal(number)
    _, err = child.communicate(timeout=240)
    assert child.returncode == status
    assert err.decode() == ("cofactor: interrupted; no file was left half-written\n" if status == 130 else "")
    assert list(tmp_path.iterdir()) == []


def test_python_m_cofactor_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "cofactor", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"cofactor {cofactor.__version__}\n")
