"""Folders of shards that are damaged or forged are refused, by the name of a file; appends keep to what is theirs."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from tests.children import answer_of
from tests.hostile.shards import is_sound, seal, some_folder
from tests.ratings.same import assert_same

from cofactor.errors import InvalidInputError
from cofactor.ratings import ALS, Ratings, ShardedRatings, append_files
from cofactor.solvers import Progress

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    some_folder(tmp_path / "big")
    return tmp_path / "big"


@pytest.fixture
def folder_on_disk(pytestconfig: pytest.Config) -> Iterator[Path]:
    """A folder on the disk of this checkout: files in memory, where those of other tests lie, are always read anew."""
    assert pytestconfig.cache is not None
    with TemporaryDirectory(dir=pytestconfig.cache.mkdir("shards")) as name:
        some_folder(Path(name) / "big")
        yield Path(name) / "big"


def forge(folder: Path, change: Change) -> None:
    state = json.loads((folder / "manifest.json").read_text())
    change(state)
    seal(folder, state)


def overwrite(path: Path, change: Callable[[np.ndarray], Any]) -> None:
    """Change an array in its file, which keeps its size."""
    array = np.load(path)
    start = path.stat().st_size - array.nbytes
    change(array)
    with path.open("r+b") as stream:
        stream.seek(start)
        stream.write(array.tobytes())


def test_a_folder_is_sound_as_it_is(folder) -> None:
    assert is_sound(folder)
    seal(folder)
    ShardedRatings.open(folder).verify()


def _twice(state: dict[str, Any]) -> None:
    state["shards"].append(state["shards"][0])


def _one_left_out(state: dict[str, Any]) -> None:
    del state["shards"][1]


def _left_out_and_counted(state: dict[str, Any]) -> None:
    out = state["shards"].pop(1)
    state["level_counts"] = [n - less for n, less in zip(state["level_counts"], out["level_counts"], strict=True)]


def _in_another_order(state: dict[str, Any]) -> None:
    state["shards"].reverse()


def _put(name: str, value: Any) -> Change:
    return lambda state: state["shards"][1].update({name: value})


@pytest.mark.parametrize(
    "change",
    [
        *(_twice, _one_left_out, _left_out_and_counted, _in_another_order),
        *(_put("folder", "/tmp"), _put("folder", "shards/../shards/0001"), _put("folder", "shards/0001/")),
        *(_put("folder", "items/0000"), _put("folder", 7), _put("n_users", 0), _put("n_users", -1)),
        *(_put("n_users", 7.0), _put("n_items", 2**31), _put("n_ratings", 2**70), _put("n_ratings", "7")),
        *(_put("level_counts", [2**70, -(2**70), 0, 0, 0]), _put("level_counts", None), _put("files", {})),
        lambda state: state.update(level_counts=[2**70, 0, 0, 0, 0]),
        lambda state: state.update(level_counts=[n - 1 for n in state["level_counts"]]),
        lambda state: state["level_counts"].reverse(),
        lambda state: state.update(scale=[5, 4, 3, 2, 1]),
        lambda state: state.update(scale=["1", "2", "3", "4", "5"]),
        lambda state: state.update(shards=[]),
        lambda state: state.update(more=1),
        lambda state: state.pop("items"),
        lambda state: state["items"].update(folder="../big/items/0000"),
        lambda state: state["shards"][0]["files"]["levels.npy"].update(bytes=-1),
        lambda state: state["shards"][0]["files"].update({"../a.npy": {"bytes": 1, "crc32": 1}}),
    ],
)
def test_manifests_with_a_right_checksum_that_cannot_be(folder, change) -> None:
    forge(folder, change)
    with pytest.raises(InvalidInputError, match=str(folder)) as caught:
        ShardedRatings.open(folder)
    assert caught.value.advice


def test_a_copy_of_a_shard_under_another_name(folder) -> None:
    shutil.copytree(folder / "shards/0001", folder / "shards/0007")

    def change(state: dict[str, Any]) -> None:
        state["shards"].insert(2, {**state["shards"][1], "folder": "shards/0007"})
        state["level_counts"] = np.sum([shard["level_counts"] for shard in state["shards"]], axis=0).tolist()

    forge(folder, change)
    with pytest.raises(InvalidInputError, match=r"shards/0007/ids.safetensors: .* users that do not increase"):
        ShardedRatings.open(folder)


@pytest.mark.parametrize("count", [0, 1, 10**6])
def test_counts_that_are_not_those_of_the_shards(folder, count) -> None:
    path = folder / "items/0000/counts.npy"
    overwrite(path, lambda counts: counts.fill(count))
    with pytest.raises(InvalidInputError, match=r"counts.npy: its checksum"):
        ShardedRatings.open(folder)
    seal(folder)
    with pytest.raises(InvalidInputError, match=r"counts.npy: are not the counts of all shards"):
        ShardedRatings.open(folder)


@pytest.mark.parametrize("name", ["indptr", "indices", "levels", "col_indptr", "col_indices", "to_csr"])
def test_arrays_with_a_right_checksum_that_are_of_no_ratings(folder, name) -> None:
    path = folder / f"shards/0001/{name}.npy"
    whole = path.read_bytes()
    for change in (
        lambda array: array.__setitem__(-1, 100),
        lambda array: array.__setitem__(0, 0 if name == "levels" else -1),
        lambda array: array.fill(array[-1]),
    ):
        overwrite(path, change)
        seal(folder)
        assert not is_sound(folder)
        with pytest.raises(InvalidInputError, match=r"shards/0001"):
            ShardedRatings.open(folder).shard(1)
        path.write_bytes(whole)


@pytest.mark.parametrize(
    ("written", "changed"),
    [(b"'<i8'", b"'<a8'"), (b"'<i8'", b"'<i3'"), (b"(", b"["), (b"'shape'", b"'shade'"), (b"False", b"[[[[[")],
)
def test_descriptions_of_arrays_that_cannot_be(folder, written, changed) -> None:
    path = next(folder.rglob("indptr.npy"))
    content = path.read_bytes()
    assert content.count(written) == 1
    path.write_bytes(content.replace(written, changed))
    with pytest.raises(InvalidInputError, match=re.escape(str(path))):
        ShardedRatings.open(folder).verify()


@pytest.mark.parametrize("name", ["shards", "shards/0001", "shards/0001/levels.npy", "items/0000", "manifest.json"])
def test_links_are_not_followed(folder, name) -> None:
    opened = ShardedRatings.open(folder)
    outside = folder.with_name("outside")
    shutil.move(folder / name, outside)
    (folder / name).symlink_to(outside)
    with pytest.raises(InvalidInputError, match=rf"{name}: is (a link|no manifest)"):
        ShardedRatings.open(folder)
    if name.endswith(".npy"):
        with pytest.raises(InvalidInputError, match=r"levels.npy: is a link"):
            opened.shard(1)


def test_a_pipe_in_place_of_a_file_is_not_waited_for(folder) -> None:
    opened, path = ShardedRatings.open(folder), folder / "shards/0001/levels.npy"
    path.unlink()
    os.mkfifo(path)
    for call in (lambda: ShardedRatings.open(folder), lambda: opened.shard(1)):
        with pytest.raises(InvalidInputError, match=r"levels.npy: is no regular file"):
            call()


_OVERWRITE = """
import warnings
import numpy as np
from cofactor.ratings import ALS, MMMF, OrdinalProbit, ShardedRatings

def overwrite(_):
    array = np.load(folder + "/shards/0001/indices.npy", mmap_mode="r+")
    array[...] = number
    array.flush()

told = []
settings = {"random_state": 0, "callback": overwrite}
for make in (ALS, MMMF):
    settings["alpha"] = 1.0
    try:
        make(2, **settings).fit(ShardedRatings.open(folder))
    except ValueError as error:
        told.append(str(error))
answer.send(told)
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("place", "number"), [("folder", 2**31 - 1), ("folder", -(2**31)), ("folder", 3), ("folder_on_disk", 3)]
)
def test_arrays_that_are_overwritten_within_a_fit(place, number, request) -> None:
    folder = request.getfixturevalue(place)
    if place == "folder_on_disk":
        time.sleep(2.1)  # so that their checksums are remembered
    told = answer_of(_OVERWRITE, folder=str(folder), number=number)  # a process that crashes sends nothing
    assert len(told) == 2
    assert all("its checksum" in one for one in told)


@pytest.mark.parametrize("place", ["folder", "folder_on_disk"])
def test_ratings_that_change_after_they_were_read(place, request) -> None:
    folder = request.getfixturevalue(place)
    time.sleep(2.1)  # on a disk, what is older than that is not read again to see whether it has changed
    opened = ShardedRatings.open(folder)
    users = np.arange(opened.bounds[1], opened.bounds[2])
    whole = opened.to_ratings()
    for ours, theirs in zip(opened.rows(users), whole.rows(users), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert_same(opened.to_ratings(), whole)  # by now their checksums are known
    overwrite(folder / "shards/0001/levels.npy", lambda levels: levels.__setitem__(0, levels[0] % 5 + 1))
    for call in (lambda: opened.shard(1), lambda: opened.rows(users), lambda: ALS(2, alpha=1.0).fit(opened)):
        with pytest.raises(InvalidInputError, match=r"levels.npy: its checksum"):
            call()


# ------------------------------------------------------------------------------------------------- appends


def appended(folder: Path, user: int = 4, item: int = 500) -> ShardedRatings:
    """Append a rating of a new item, which changes a shard."""
    path = folder.with_name("new.csv")
    path.write_text(f"user,item,rating\n{user},{item},1\n")
    return append_files(path, folder)


def test_what_was_opened_stays_until_it_is_let_go(folder) -> None:
    opened = ShardedRatings.open(folder)
    before = opened.to_ratings()
    opened = ShardedRatings.open(folder)
    for k in range(3):
        appended(folder, item=500 + k)
    assert_same(opened.to_ratings(), before)
    opened.verify()
    assert len(list((folder / "items").iterdir())) == 2  # those in between had nobody who reads them
    del opened
    found = appended(folder, item=600)
    assert len(list((folder / "items").iterdir())) == 1
    assert len(list((folder / "shards").iterdir())) == len(found)
    assert found.n_ratings == before.n_ratings + 4


def test_ratings_are_appended_within_a_fit(folder) -> None:
    def append(progress: Progress) -> bool:
        appended(folder, item=500 + progress.iteration)
        return progress.iteration == 4

    expected, model = (ALS(2, alpha=1.0, random_state=0) for _ in range(2))
    expected.set_params(callback=lambda progress: progress.iteration == 4).fit(ShardedRatings.open(folder))
    model.set_params(callback=append).fit(ShardedRatings.open(folder))
    np.testing.assert_array_equal(model.U_, expected.U_)
    assert ShardedRatings.open(folder).n_ratings > expected.ratings_.n_ratings


def test_where_there_are_no_locks_a_reader_is_told(folder, monkeypatch) -> None:
    opened = ShardedRatings.open(folder)
    opened.source._lock.release()  # as if there had been none
    appended(folder)
    with pytest.raises(InvalidInputError, match=r"is gone: ratings were appended .*; open the folder again"):
        opened.to_ratings()


def test_an_append_removes_nothing_of_others(folder, tmp_path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(folder / "shards/0001", elsewhere)
    theirs = [
        *(folder / "shards/notes/a.txt", folder / "shards/0099/levels.npy", folder / "items/0007/ids.safetensors"),
        *(folder / "shards/0000/mine.txt", folder / "items/0000/mine.txt"),
    ]
    for path in theirs:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    (folder / "shards/link").symlink_to(elsewhere)
    (folder / "items/link").symlink_to(folder / "items/0000")
    appended(folder, user=0)
    assert [path.read_text() for path in theirs] == ["mine"] * len(theirs)
    assert len(list(elsewhere.iterdir())) == 7
    assert (folder / "shards/link").is_symlink()
    assert [path.name for path in (folder / "shards/0000").iterdir()] == ["mine.txt"]


def test_a_forged_earlier_manifest_removes_nothing_through_links(folder, tmp_path) -> None:
    opened = ShardedRatings.open(folder)
    appended(folder, user=0)  # shard 0 is kept for who has it open
    del opened
    elsewhere = tmp_path / "elsewhere"
    shutil.move(folder / "shards/0000", elsewhere)
    (folder / "shards/0000").symlink_to(elsewhere)
    appended(folder, user=0, item=501)
    assert len(list(elsewhere.iterdir())) == 7


def test_many_readers_of_one_folder_share_it(folder) -> None:
    first, second = (ShardedRatings.open(folder) for _ in range(2))
    del first
    appended(folder)
    assert isinstance(second.to_ratings(), Ratings)
