"""Programs killed and interrupted at random moments: nothing is lost, doubled or left behind.

The suite tries a few; ``COFACTOR_HOSTILE=200`` kills 200 and interrupts 200.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.hostile.programs import Ended, Program

from cofactor.datasets import make_ratings, write_table
from cofactor.evaluation import ResultStore

pytestmark = pytest.mark.processes(warm=True)

N_TRIALS = int(os.environ.get("COFACTOR_HOSTILE", "2"))
ALONE = float(os.environ.get("COFACTOR_ALONE", "20"))  #: seconds until all processes have ended; 5 on a quiet machine

COMPARED = ["-m", "als", "-m", "hmf", "--alpha", "5", "--factors", "3", "--splits", "3", "--seeds", "0,1"]
TWO_JOBS = ["--jobs", "2"]
COMMANDS = {
    "fit": ["fit", "ratings.csv", "-m", "hmf", "--factors", "3", "--json"],
    "fit a sampler": ["fit", "ratings.csv", "-m", "ordinal-probit", "--param", "n_sweeps=200", "--json"],
    "compare": ["compare", "ratings.csv", *COMPARED, "--out", "out", "--json"],
    "compare, two jobs": ["compare", "ratings.csv", *COMPARED, "--out", "out", "--json", *TWO_JOBS],
    "reproduce": ["reproduce", "thesis-figure-3.1", "thesis-figure-3.4", "--quick", "--store", "store", "--json"],
}
#: Which is tried when: workers take long to start, and that they end with their parent is told in test_running.py.
TURNS = ["fit", "compare", "fit a sampler", "reproduce", *["compare, two jobs", "compare", "fit a sampler", "fit"] * 4]
# An empty safetensors file.
OLD_MODEL = (2).to_bytes(8, "little") + b"{}"


class Place:
    """A folder in which a command runs again and again, from the same beginning."""

    def __init__(self, name: str, folder: Path, ratings: Path) -> None:
        self.name, self.arguments = name, COMMANDS[name]
        self.work, self.said, self.temporary = folder / "work", folder / "said", folder / "temporary"
        self.ratings = ratings
        self.environment = {
            "TMPDIR": str(self.temporary),
            "JOBLIB_TEMP_FOLDER": str(self.temporary),
            "COFACTOR_NUM_THREADS": "1",
        }
        self.said.mkdir(parents=True)
        self.clear()
        self.right = self.finish()
        assert self.right.status == 0, self.right.err
        self.files, self.kept = self.outcome(), self.stored()
        assert self.kept or self.name.startswith("fit")

    def clear(self) -> None:
        for folder in (self.work, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        shutil.copy(self.ratings, self.work / "ratings.csv")
        (self.work / "model.cofactor").write_bytes(OLD_MODEL)

    def start(self) -> Program:
        return Program(self.arguments, self.work, self.said, self.environment)

    def finish(self) -> Ended:
        """Run the command to its end, with one job: the processes of others take long to start, and change nothing."""
        arguments = [argument for argument in self.arguments if argument not in TWO_JOBS]
        return Program(arguments, self.work, self.said, self.environment).end()

    def outcome(self) -> dict[str, Any]:
        """Return what the command leaves behind that must be the same each time."""
        files = {"model": (self.work / "model.cofactor").read_bytes(), "out": without_times(self.said / "out")}
        return files | {str(path.relative_to(self.work)): b"" for path in self.work.rglob("*") if path.is_file()}

    def stores(self) -> list[Path]:
        return [path for name in ("out/runs", "store") if (path := self.work / name).is_dir()]

    def stored(self) -> dict[str, Any]:
        """Return the measures in the store, by cell, without times."""
        results = [result for path in self.stores() for result in ResultStore(path).results()]
        assert not [result for result in results if result.status == "failed"]
        return {result.key: without_seconds(result.measures) for result in results}

    def sleep(self, program: Program, seed: int) -> None:
        """Sleep until some number of cells are stored, or, half of the times with one job, some moment of the run."""
        random = np.random.default_rng(seed)
        share = float(random.random())
        if self.kept and (self.arguments[-2:] == TWO_JOBS or random.random() < 0.5):
            while program.process.exitcode is None and self.count() < share * len(self.kept):
                time.sleep(0.01)
        else:
            time.sleep(share * self.right.seconds * 1.05)

    def count(self) -> int:
        """Return how many results the store has, while a program writes to it."""
        return sum(len(list(path.glob("*.json"))) for path in self.stores())

    def disturb(self, number: int, seed: int) -> str:
        """Send a signal at some moment, run the command again, and compare; return what happened."""
        self.clear()
        program = self.start()
        self.sleep(program, seed)
        program.send(number)
        ended = program.end(60)
        seconds = program.seconds_until_alone(ALONE)
        assert not program.left()
        assert "Traceback" not in ended.err
        if number == signal.SIGINT:
            assert list(self.temporary.iterdir()) == []
            check_interrupted(ended)
        else:
            assert ended.status in (-signal.SIGKILL, 0)
        model = (self.work / "model.cofactor").read_bytes()
        if ended.status and "fit" in self.name:
            assert model in (OLD_MODEL, self.files["model"])
        if ended.status == 130 and "fit" in self.name:
            assert {path.name for path in self.work.iterdir()} == {"ratings.csv", "model.cofactor"}
        kept = self.stored()
        assert kept.items() <= self.kept.items()
        again = self.finish()
        assert (again.status, "Traceback" in again.err) == (0, False)
        for path in self.work.rglob(".*.part"):
            assert number == signal.SIGKILL
            path.unlink()
        assert self.outcome() == self.files
        assert self.stored() == self.kept
        cells = f", {len(kept)} of {len(self.kept)} cells kept" if self.kept else ""
        return f"ended with {ended.status} after {ended.seconds:.1f} s{cells}, alone after {seconds:.2f} s"


def check_interrupted(ended: Ended) -> None:
    """Exit status 130 and a line that says so, or it had ended before."""
    assert ended.status in (0, 130)
    if ended.status:
        assert ended.last.startswith("cofactor: interrupted")


def without_times(path: Path) -> Any:
    text = path.read_text()
    return without_seconds(json.loads(text)) if text.startswith(("{", "[")) else text


def without_seconds(value: Any) -> Any:
    """Return what JSON holds without times, and without how sure a difference of times is."""
    if isinstance(value, dict):
        return {name: without_seconds(one) for name, one in value.items() if "seconds" not in name}
    return [without_seconds(one) for one in value] if isinstance(value, list) else value


@pytest.fixture
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Place]]:
    """Make the place of a command, which runs there undisturbed first."""
    folder = tmp_path_factory.mktemp("kills")
    data = make_ratings(40, 30, 3, density=0.3, random_state=0)
    write_table(folder / "ratings.csv", {"user": data.X[:, 0], "item": data.X[:, 1], "rating": data.y})
    yield cache(lambda name: Place(name, folder / name.replace(" ", "-"), folder / "ratings.csv"))
    shutil.rmtree(folder)


@pytest.mark.timeout(600 + 120 * N_TRIALS)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="tells which processes run by what Linux says")
@pytest.mark.evidence
def test_programs_ended_at_random_moments(places: Callable[[str], Place]) -> None:
    """Killed and interrupted in one test, which runs each of them undisturbed once."""
    failed = []
    for seed, number in product(range(N_TRIALS), (signal.SIGKILL, signal.SIGINT)):
        name = TURNS[seed % len(TURNS)]
        trial = f"seed {seed}, {name}, {number.name}"
        try:
            happened = places(name).disturb(number, seed)
        except AssertionError as error:
            happened = str(error)
            failed.append(f"{trial}: {happened}")
        print(f"{trial}: {happened}", flush=True)
    assert not failed, "\n".join(failed)
