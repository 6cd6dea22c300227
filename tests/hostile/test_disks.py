"""Disks that are full or cannot be written: a clear line, and whatever was there stays.

As another user than root, on a small file system that is mounted for the test, which only root may do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from tests.brief import brief_demo
from tests.hostile.programs import Ended, Program

from cofactor.datasets import RatingDataset, make_ratings, write_table
from cofactor.evaluation import ResultStore
from cofactor.kernels.cache import user_folder

pytestmark = pytest.mark.processes(warm=True)

N_TRIALS = int(os.environ.get("COFACTOR_HOSTILE", "1"))
NOBODY = 65534
KILOBYTE = 1024
SIZE = 1 << 21  #: of the small disk, in bytes

#: What is run, and how many bytes it needs at most, about.
COMMANDS: dict[str, tuple[list[str], int]] = {
    "fit": (["fit", "ratings.csv", "--alpha", "3", "--out", "model.cofactor"], 60 * KILOBYTE),
    "predict": (["predict", "model.cofactor", "ratings.csv", "--out", "predictions.csv"], 40 * KILOBYTE),
    "compare": (
        ["compare", "ratings.csv", "-m", "als", "-m", "rating-svd", "--splits", "2", "--factors", "3", "--out", "out"],
        200 * KILOBYTE,
    ),
    "reproduce": (["reproduce", "thesis-figure-3.1", "--store", "store"], 60 * KILOBYTE),
    "demo": (["demo", "--offline", "--out", "report"], 300 * KILOBYTE),
}
STORES = {"compare": "out/runs", "reproduce": "store"}
#: What writes to standard output alone.
SAYING = {"evaluate": ["evaluate", "ratings.csv", "-m", "als", "--alpha", "3", "--splits", "2"]}


class Disk:
    """A small file system with ratings, a model, predictions and a store."""

    def __init__(self, folder: Path, data: RatingDataset) -> None:
        self.root, self.work, self.said = folder / "disk", folder / "disk" / "work", folder / "said"
        for place in (self.root, self.said, folder / "home"):
            place.mkdir()
            place.chmod(0o777)
        self.home = folder / "home"
        # Else each program that draws looks for all fonts of this machine, and kernels are compiled again.
        self.fonts = self.home / "fonts"
        (self.home / "kernels").symlink_to(user_folder())
        shutil.copytree(matplotlib.get_cachedir(), self.fonts)
        os.chown(self.fonts, NOBODY, NOBODY)
        self.mount("-t", "tmpfs", "-o", f"size={SIZE},mode=0777", "tmpfs")
        self.work.mkdir()
        write_table(self.work / "ratings.csv", {"user": data.X[:, 0], "item": data.X[:, 1], "rating": data.y})
        for name in ("fit", "predict", "compare", "reproduce"):
            assert self.run(COMMANDS[name][0], user=None).status == 0
        for path in [self.work, *self.work.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)
        shutil.copytree(self.work, folder / "whole")
        self.whole = folder / "whole"

    def mount(self, *arguments: str) -> None:
        done = subprocess.run(["mount", *arguments, str(self.root)], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")

    def run(self, arguments: list[str], *, user: int | None = NOBODY, said: Path | None = None) -> Ended:
        places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "COFACTOR_CACHE", "COFACTOR_DATA"), str(self.home))
        environment = {**places, "MPLCONFIGDIR": str(self.fonts), "COFACTOR_NUM_THREADS": "1"}
        prepare = brief_demo if arguments[0] == "demo" else None
        return Program(arguments, self.work, said or self.said, environment, user, prepare).end(300)

    def fill(self, left: int) -> None:
        """Leave this many bytes free."""
        free = shutil.disk_usage(self.root).free
        with open(self.root / "filler", "wb") as file:
            file.write(bytes(max(free - left, 0)))

    def check(self) -> None:
        """Check that old files are as they were, and new ones are whole: there are none in the making."""
        (self.root / "filler").unlink(missing_ok=True)
        for path in self.whole.rglob("*"):
            now = self.work / path.relative_to(self.whole)
            assert now.exists(), f"{now.name} is gone"
        for store in STORES.values():
            assert len(ResultStore(self.work / store).results()) >= len(ResultStore(self.whole / store))
        odd = [path.name for path in self.work.rglob("*") if path.name.startswith(".") or path.suffix == ".part"]
        assert odd == []

    def unchanged(self, names: set[str]) -> bool:
        return all((self.work / name).read_bytes() == (self.whole / name).read_bytes() for name in names)

    def reset(self) -> None:
        (self.root / "filler").unlink(missing_ok=True)
        shutil.rmtree(self.work)
        shutil.copytree(self.whole, self.work)
        for path in [self.work, *self.work.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)


def check_refused(ended: Ended) -> None:
    """One clear line, after notes and warnings, and a status that says so."""
    assert ended.status in (1, 2), ended
    assert "Traceback" not in ended.err
    lines = [line for line in ended.err.splitlines() if line.startswith("cofactor: error: ")]
    assert len(lines) == 1, ended.err
    assert lines[0] == ended.last


@pytest.fixture(scope="module")
def disk() -> Iterator[Disk]:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a small file system")
    with tempfile.TemporaryDirectory(prefix="cofactor-disk-") as name:  # pytest's folders are open to nobody else
        Path(name).chmod(0o755)
        try:
            yield Disk(Path(name), make_ratings(60, 40, 3, density=0.4, random_state=0))
        finally:
            subprocess.run(["umount", "-l", str(Path(name, "disk"))], capture_output=True)


@pytest.mark.timeout(600 + 100 * N_TRIALS)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.evidence
def test_a_full_disk(disk: Disk, name: str) -> None:
    arguments, needed = COMMANDS[name]
    for seed in range(N_TRIALS):
        disk.reset()
        if name in STORES:
            empty_store(disk, name)
        random = np.random.default_rng(seed)
        disk.fill(int(random.random() * needed) if seed else 0)
        ended = disk.run(arguments)
        if ended.status:
            check_refused(ended)
            assert disk.unchanged({"ratings.csv", "model.cofactor", "predictions.csv"})
        else:
            assert seed > 0
        print(f"{name}, seed {seed}: {ended.status}, {ended.last}", flush=True)
        disk.check()
        if name != "demo":
            assert disk.run(arguments).status == 0  # there is room again


@pytest.mark.parametrize("name", SAYING)
@pytest.mark.evidence
def test_what_writes_nothing_needs_no_disk(disk: Disk, name: str) -> None:
    disk.reset()
    disk.fill(0)
    assert disk.run(SAYING[name]).status == 0


def empty_store(disk: Disk, name: str) -> None:
    """Forget half of what a store holds, so that something is to be stored."""
    keys = [result.key for result in ResultStore(disk.work / STORES[name]).results()]
    for place in (disk.work, disk.whole):
        ResultStore(place / STORES[name]).forget(keys[::2])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("how", ["mounted", "by rights"])
@pytest.mark.evidence
def test_a_disk_that_cannot_be_written(disk: Disk, how: str) -> None:
    disk.reset()
    for name in STORES:  # what is stored already needs nothing written
        empty_store(disk, name)
    written: dict[str, Callable[[], object]] = {
        "mounted": lambda: disk.mount("-o", "remount,ro"),
        "by rights": lambda: [os.chown(path, 0, 0) for path in [disk.root, disk.work, *disk.work.rglob("*")]],
    }
    disk.root.chmod(0o755)
    written[how]()
    try:
        for name, (arguments, _) in COMMANDS.items():
            ended = disk.run(arguments)
            print(f"{name}: {ended.status}, {ended.last}")
            check_refused(ended)
        assert all(disk.run(arguments).status == 0 for arguments in SAYING.values())
    finally:
        if how == "mounted":
            disk.mount("-o", "remount,rw")
        disk.root.chmod(0o777)
    for path in disk.whole.rglob("*"):
        if path.is_file():
            assert (disk.work / path.relative_to(disk.whole)).read_bytes() == path.read_bytes()
