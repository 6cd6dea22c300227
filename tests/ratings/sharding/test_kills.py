"""A process that is killed while it shards leaves a folder in which the next one goes on, to the same bits."""

from __future__ import annotations

import os
import re
import resource
import signal
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.children import forking
from tests.ratings.sharding.files import rows, small, write

from cofactor.errors import InvalidInputError
from cofactor.ratings import ShardedRatings, shard_files

pytestmark = pytest.mark.processes


def killed(files: list[Path], folder: Path, phase: str, after: int, options: dict[str, Any]) -> None:
    """Shard in this process, and kill it when a phase has told so often how far it is."""
    small()
    told = 0

    def tell(name: str, done: int, total: int) -> None:
        nonlocal told
        told += name == phase
        if told == after:
            os.kill(os.getpid(), signal.SIGKILL)

    shard_files(files, folder, 5, callback=tell, **options)


def kill(*arguments: Any) -> None:
    process = forking().Process(target=killed, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("files")
    return [
        write(folder / "a.csv", rows(1, timed=True)),
        write(folder / "b.parquet", rows(2, kind="mixed", timed=True)),
        write(folder / "c.csv.gz", rows(3, timed=True)),
    ]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch) -> None:
    small(monkeypatch.setattr)


OPTIONS = {"duplicates": "last"}


@pytest.fixture(scope="module")
def undisturbed(files, tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed") / "big"
    shard_files(files, folder, 5, **OPTIONS)
    return content(folder)


@pytest.mark.parametrize(
    ("phase", "after"),
    [
        *(("reading", 1), ("reading", 30), ("routing", 1), ("routing", 5), ("building", 4), ("building", 6)),
    ],
)
def test_a_killed_process_goes_on_to_the_same_bits(files, undisturbed, tmp_path, phase, after) -> None:
    folder = tmp_path / "big"
    kill(files, folder, phase, after, OPTIONS)
    with pytest.raises(InvalidInputError, match=r"no manifest.json"):
        ShardedRatings.open(folder)
    told = []
    shard_files(files, folder, 5, callback=lambda *state: told.append(state), **OPTIONS)
    assert content(folder) == undisturbed
    if (phase, after) == ("building", 4):
        assert [state for state in told if state[0] != "building"] == []
        assert [state[1] for state in told] == [3, 4, 5]


def test_killed_again_and_again(files, undisturbed, tmp_path) -> None:
    folder = tmp_path / "big"
    for phase, after in (("reading", 20), ("reading", 7), ("reading", 15), ("routing", 2), ("building", 2)):
        kill(files, folder, phase, after, OPTIONS)
    shard_files(files, folder, 5, **OPTIONS)
    assert content(folder) == undisturbed


def test_what_lies_beyond_the_journal_is_cut_off(files, undisturbed, tmp_path) -> None:
    folder = tmp_path / "big"
    kill(files, folder, "reading", 30, OPTIONS)
    for path in (folder / ".sharding").iterdir():
        if path.name != "journal.json":
            path.write_bytes(path.read_bytes() + b"more than was counted")
    shard_files(files, folder, 5, **OPTIONS)
    assert content(folder) == undisturbed


def test_other_files_or_options_are_refused(files, undisturbed, tmp_path) -> None:
    folder = tmp_path / "big"
    kill(files, folder, "routing", 2, OPTIONS)
    with pytest.raises(InvalidInputError, match=r"big: holds the beginning of shards of 3 files and not 2.* restart"):
        shard_files(files[:2], folder, 5, **OPTIONS)
    with pytest.raises(InvalidInputError, match=r"of .*a.csv, and not of .*b.parquet; .* restart"):
        shard_files([files[1], files[0], files[2]], folder, 5, **OPTIONS)
    with pytest.raises(InvalidInputError, match=r"files with user=None and not user='user'.* restart"):
        shard_files(files, folder, 5, user="user", **OPTIONS)
    os.utime(files[0], (1, 1))
    with pytest.raises(InvalidInputError, match=r"of .*a.csv, which has changed since; .* restart"):
        shard_files(files, folder, 5, **OPTIONS)
    shard_files(files, folder, 5, restart=True, **OPTIONS)
    assert content(folder) == undisturbed


def test_another_number_of_shards_needs_no_second_reading(files, undisturbed, tmp_path) -> None:
    folder = tmp_path / "big"
    kill(files, folder, "building", 3, {"duplicates": "mean"})
    told = []
    shard_files(files, folder, 5, callback=lambda *state: told.append(state[0]), **OPTIONS)
    assert "reading" not in told
    assert content(folder) == undisturbed


def limited(files: list[Path], folder: Path, most: int, answer: Connection) -> None:
    """Shard in this process, in which no file can be larger than this; send the error."""
    small()
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        shard_files(files, folder, 5, **OPTIONS)
    except OSError as error:
        answer.send(str(error))


@pytest.mark.parametrize(("most", "name"), [(300, "journal.json"), (1400, "ratings"), (3000, "ratings")])
def test_a_file_that_cannot_be_written_is_named(files, undisturbed, tmp_path, most, name) -> None:
    folder = tmp_path / "big"
    ours, theirs = Pipe(duplex=False)
    process = forking().Process(target=limited, args=(files, folder, most, theirs))
    process.start()
    theirs.close()
    assert re.match(r".*File too large: '.*/" + name, ours.recv())
    process.join()
    shard_files(files, folder, 5, **OPTIONS)
    assert content(folder) == undisturbed


def test_a_full_disk_keeps_what_was_done(files, undisturbed, tmp_path, monkeypatch) -> None:
    from cofactor.ratings import shard_folder

    def full(path: Path, array: np.ndarray) -> None:
        if path.parent.name == "0002" and path.name == "indices.npy":
            raise OSError(28, "No space left on device", str(path))
        return write_array(path, array)

    write_array, folder = shard_folder.write_array, tmp_path / "big"
    monkeypatch.setattr(shard_folder, "write_array", full)
    with pytest.raises(OSError, match="No space left .* kept, .* there is room: .*indices.npy"):
        shard_files(files, folder, 5, **OPTIONS)
    with pytest.raises(InvalidInputError, match=r"no manifest.json"):
        ShardedRatings.open(folder)
    monkeypatch.setattr(shard_folder, "write_array", write_array)
    shard_files(files, folder, 5, **OPTIONS)
    assert content(folder) == undisturbed


def test_what_others_put_there_stays(files, undisturbed, tmp_path) -> None:
    folder = tmp_path / "big"
    kill(files, folder, "building", 3, OPTIONS)
    theirs = [folder / "notes.txt", folder / "shards" / "notes" / "a.txt", folder / "items" / "b.txt"]
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not of the ratings")
    shard_files(files, folder, 5, restart=True, **OPTIONS)
    found = content(folder)
    assert {str(path.relative_to(folder)) for path in theirs} == found.keys() - undisturbed.keys()
    assert undisturbed.items() <= found.items()


def test_what_others_put_there_stays_where_ratings_are_refused(files, tmp_path) -> None:
    folder = tmp_path / "big"
    kill(files, folder, "reading", 30, OPTIONS)
    (folder / "notes.txt").write_text("not of the ratings")
    bad = write(tmp_path / "bad.csv", {"user": [1], "movie": [2], "rating": ["x"]})
    with pytest.raises(InvalidInputError, match=r"bad.csv"):
        shard_files(bad, folder, 5, restart=True, **OPTIONS)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
