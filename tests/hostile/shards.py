"""Folders of shards damaged by a seed, with checksums made right or in place, and what a fit makes of them."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
import threading
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.forgeries import damaged_json
from tests.hostile.mutations import mutated

from cofactor.errors import InvalidInputError
from cofactor.persistence import read_model
from cofactor.rating_scale import RatingScale
from cofactor.ratings import ALS, BPMF, HMF, MMMF, PMF, OrdinalProbit, Ratings, ShardedRatings

#: Small fits of six models.
MODELS: tuple[Callable[..., Any], ...] = (
    lambda **more: ALS(2, alpha=1.0, max_iter=4, random_state=0, **more),
    lambda **more: PMF(2, alpha=1.0, max_iter=4, random_state=0, **more),
    lambda **more: MMMF(2, alpha=1.0, max_iter=4, random_state=0, **more),
    lambda **more: HMF(2, alpha=1.0, max_iter=3, random_state=0, **more),
    lambda **more: OrdinalProbit(2, n_sweeps=4, burn_in=1, random_state=0, **more),
    lambda **more: BPMF(2, n_sweeps=4, burn_in=1, random_state=0, **more),
)
#: Numbers that something else is replaced with, where arrays hold them.
_NUMBERS = (0, 1, -1, 2, 7, 255, 10**6, 2**31 - 1, -(2**31), 2**62)
#: When damage is done: before the folder is opened, after it, after a shard was read, in a fit, all through a fit.
MOMENTS = ("before", "opened", "read", "fit", "always")


def some_folder(folder: Path, *, text: bool = False, timed: bool = False) -> None:
    """Write a folder of five shards."""
    random = np.random.default_rng(1)
    pairs = np.sort(random.permutation(30 * 12)[:200])
    users, items = (pairs // 12 * 3).tolist(), (pairs % 12 * 5).tolist()
    X = (
        [(f"u{user}", f"ü{item}") for user, item in zip(users, items, strict=True)]
        if text
        else [*zip(users, items, strict=True)]
    )
    times = random.integers(0, 10**9, 200) if timed else None
    ratings = Ratings.from_pairs(X, random.integers(1, 6, 200), scale=[1, 2, 3, 4, 5], times=times)
    ShardedRatings.from_ratings(ratings, 5).save(folder)


def fitted(ratings: ShardedRatings, number: int, **more: Any) -> list[np.ndarray]:
    """Fit one of the models; return what it learned, as it predicts for all pairs and by its users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[number](**more).fit(ratings)
        X = [(user, item) for user in model.users_.ids.tolist()[::3] for item in model.items_.ids.tolist()]
        return [model.predict(X), model.users_.ids, model.items_.ids]


def seal(folder: Path, state: Any = None) -> None:
    """Make the manifest, or another one, right about sizes and checksums."""
    path = folder / "manifest.json"
    if state is None:
        state = json.loads(path.read_text())
        for part in (state["items"], *state["shards"]):
            for name in part["files"]:
                data = (folder / part["folder"] / name).read_bytes()
                part["files"][name] = {"bytes": len(data), "crc32": zlib.crc32(data)}
    if isinstance(state, dict):
        state.pop("crc32", None)
        state["crc32"] = zlib.crc32(json.dumps(state, sort_keys=True).encode())
    path.write_text(json.dumps(state))


def is_sound(folder: Path) -> bool:
    """Whether a folder holds the shards of some ratings, by another way than the package has."""
    try:
        return _is_sound(folder, json.loads((folder / "manifest.json").read_text()))
    except Exception:
        return False


def _is_sound(folder: Path, state: dict[str, Any]) -> bool:
    items, n_levels = _ids(folder, state["items"], "items"), len(state["scale"])
    rating_scale = state["coding"]
    last: list[Any] = []
    item_counts, level_counts = np.zeros(len(items), np.int64), np.zeros(n_levels, np.int64)
    for shard in state["shards"]:
        a = {name[:-4]: np.load(folder / shard["folder"] / name) for name in shard["files"] if name[-4:] == ".npy"}
        users, n = _ids(folder, shard, "users"), len(a["levels"])
        rows = np.repeat(np.arange(len(users)), np.diff(a["indptr"]))
        by_item = np.lexsort((rows, a["indices"]))
        here = np.bincount(a["indices"], minlength=shard["n_items"])
        expected = {
            "indptr": np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(users)))]).astype(np.int64),
            "col_indptr": np.concatenate([[0], np.cumsum(here)]).astype(np.int64),
            "col_indices": rows[by_item].astype(np.int32),
            "to_csr": by_item.astype(np.int32),
        }
        same = all(np.array_equal(a[name], one) and a[name].dtype == one.dtype for name, one in expected.items())
        cells = rows * np.int64(len(items)) + a["indices"]
        increasing = all(one < other for one, other in itertools.pairwise([*last, *users]))
        levels = np.bincount(a["levels"], minlength=n_levels + 1)
        numbers = [shard["n_users"], shard["n_items"], shard["n_ratings"]] == [len(users), len(here), n]
        if not (same and increasing and numbers and (np.diff(cells) > 0).all() and levels[0] == 0):
            return False
        if shard["level_counts"] != levels[1:].tolist() or not np.isfinite(a.get("times", np.zeros(1))).all():
            return False
        item_counts[: len(here)] += here
        level_counts += levels[1:]
        last = users[-1:]
    counts = np.load(folder / state["items"]["folder"] / "counts.npy")
    whole = state["level_counts"] == level_counts.tolist() and np.array_equal(counts, item_counts)
    return whole and (rating_scale is None or RatingScale.of_state(rating_scale).scale == tuple(state["scale"]))


def _ids(folder: Path, part: dict[str, Any], name: str) -> list[Any]:
    header, arrays = read_model(folder / part["folder"] / "ids.safetensors")
    if header["ids"][name]["kind"] == "number":
        return arrays[f"{name}.ids"].tolist()
    ends = np.cumsum(arrays[f"{name}.lengths"]).tolist()
    text = arrays[f"{name}.text"].tobytes()
    return [text[a:b].decode() for a, b in itertools.pairwise([0, *ends])]


def damage(folder: Path, random: np.random.Generator) -> None:
    """Damage a folder in one of many ways."""
    kinds = (_forged_manifest, _forged_array, _overwritten, _overwritten, _changed_bytes, _exchanged, _linked, _misled)
    kinds[int(random.integers(len(kinds)))](folder, random)


def damage_files(folder: Path, random: np.random.Generator) -> None:
    """Damage what an open folder reads."""
    kinds = (_overwritten, _overwritten, _overwritten, _changed_bytes, _swapped)
    kinds[int(random.integers(len(kinds)))](folder, random)


def _forged_manifest(folder: Path, random: np.random.Generator) -> None:
    """Another manifest, with its checksum made right."""
    state = json.loads((folder / "manifest.json").read_text())
    for _ in range(int(random.integers(1, 3))):
        if isinstance(state, dict) and state:
            state = damaged_json(state, random)
    seal(folder, state)


def _misled(folder: Path, random: np.random.Generator) -> None:
    """A manifest that names folders elsewhere, one twice, or not all."""
    state = json.loads((folder / "manifest.json").read_text())
    shards = state["shards"]
    one = shards[int(random.integers(len(shards)))]
    other = shards[int(random.integers(len(shards)))]
    outside = folder.with_name("outside")
    match int(random.integers(8)):
        case 0:
            shards.append(dict(one))
        case 1:
            shards.remove(one)
        case 2:
            shards.reverse()
        case 3:
            shutil.copytree(folder / one["folder"], outside / "0000", dirs_exist_ok=True)
            one["folder"] = str(outside / "0000")
        case 4:
            shutil.copytree(folder / one["folder"], outside / "0000", dirs_exist_ok=True)
            one["folder"] = "shards/../../outside/0000"
        case 5:
            one["level_counts"], state["level_counts"] = ([2**70, -(2**70), 0, 0, 0] for _ in range(2))
        case 6:
            shutil.copytree(folder / one["folder"], folder / "shards" / "0099")
            shards.append({**one, "folder": "shards/0099"})
        case 7:
            one["files"], other["files"] = other["files"], one["files"]
    seal(folder, state)


def _forged_array(folder: Path, random: np.random.Generator) -> None:
    """Other numbers, with checksums made right."""
    _overwritten(folder, random)
    seal(folder)


def _overwritten(folder: Path, random: np.random.Generator) -> None:
    """Other numbers in place, of the same size."""
    path = _one_of(sorted(folder.rglob("*.npy")), random)
    array = np.load(path, mmap_mode="r+" if random.random() < 0.3 else None)
    if not array.size:
        return
    at = random.integers(array.size, size=int(random.integers(1, 4)))
    match int(random.integers(4)):
        case 0:
            number = int(_NUMBERS[int(random.integers(len(_NUMBERS)))])
            array[at] = np.array(number).astype(array.dtype)
        case 1:
            array[at] += np.ones(1, array.dtype)
        case 2:
            array[...] = array[random.permutation(array.size)]
        case 3:
            array[...] = array[int(at[0])]
    if isinstance(array, np.memmap):
        array.flush()
        return
    start = path.stat().st_size - array.nbytes
    with path.open("r+b") as stream:
        stream.seek(start)
        stream.write(array.tobytes())


def _changed_bytes(folder: Path, random: np.random.Generator) -> None:
    """Other bytes, removed, added or cut off."""
    path = _one_of(sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] != "m"), random)
    path.write_bytes(mutated(path.read_bytes(), random))


def _exchanged(folder: Path, random: np.random.Generator) -> None:
    """Files in each other's place, with checksums made right."""
    _swapped(folder, random)
    seal(folder)


def _swapped(folder: Path, random: np.random.Generator) -> None:
    """Files of one name in each other's place."""
    name = ("ids.safetensors", "indptr.npy", "indices.npy", "levels.npy", "to_csr.npy", "col_indices.npy")
    paths = sorted((folder / "shards").rglob(name[int(random.integers(len(name)))]))
    a, b = (_one_of(paths, random) for _ in range(2))
    between = a.with_suffix(".between")
    a.rename(between), b.rename(a) if a != b else None, between.rename(b)


def _linked(folder: Path, random: np.random.Generator) -> None:
    """A file, or a folder, that lies elsewhere, and a link in its place."""
    path = _one_of([path for path in sorted(folder.rglob("*")) if not path.is_symlink()], random)
    outside = folder.with_name("outside")
    shutil.move(path, outside)
    path.symlink_to(outside, target_is_directory=outside.is_dir())


def _one_of(paths: list[Path], random: np.random.Generator) -> Path:
    return paths[int(random.integers(len(paths)))]


class Silent(AssertionError):
    """A fit of damaged data."""


def trial(whole: Path, references: dict[int, list[np.ndarray]], seed: int) -> str:
    """Damage a copy of a folder, and fit a model to it; return what happened, or raise what must not."""
    random = np.random.default_rng(seed)
    number, moment = seed % len(MODELS), MOMENTS[int(random.choice(len(MOMENTS), p=[0.5, 0.15, 0.1, 0.15, 0.1]))]
    with tempfile.TemporaryDirectory(dir=whole.parent, ignore_cleanup_errors=True) as place:
        folder = Path(place, "big")
        shutil.copytree(whole, folder, symlinks=True)
        try:
            found = _outcome(folder, number, moment, random)
        except InvalidInputError as error:
            if str(folder) not in str(error) or not error.advice:
                raise Silent(f"does not name the file, or what to do: {error}") from error
            return f"{moment}: refused"
        expected = references[number]
        if all(np.array_equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True)):
            return f"{moment}: unharmed"
        if moment == "before" and is_sound(folder):
            return f"{moment}: another folder, as sound"
        raise Silent(f"{moment}: a fit of damaged data")


def _outcome(folder: Path, number: int, moment: str, random: np.random.Generator) -> list[np.ndarray]:
    if moment == "before":
        damage(folder, random)
        return fitted(ShardedRatings.open(folder), number)
    ratings = ShardedRatings.open(folder)
    if moment == "always":
        return _under_fire(folder, ratings, number, random)
    if moment == "fit":
        told = itertools.count()
        after = int(random.integers(1, 4))
        return fitted(ratings, number, callback=lambda _: damage_files(folder, random) if next(told) == after else None)
    if moment == "read":
        for shard in ratings:
            assert shard.n_ratings == len(shard.to_csr)
    damage_files(folder, random)
    return fitted(ratings, number)


def _under_fire(folder: Path, ratings: ShardedRatings, number: int, random: np.random.Generator) -> list[np.ndarray]:
    """Fit while a file is overwritten again and again, and now and then whole for a moment."""
    done, path = threading.Event(), _one_of(sorted((folder / "shards").rglob("*.npy")), random)
    before = path.read_bytes()

    def fire() -> None:
        while not done.is_set():
            for data in (bytes(before[:128]) + random.bytes(len(before) - 128), before[:200], before):
                with path.open("r+b") as stream:
                    stream.truncate(len(data))
                    stream.write(data)

    thread = threading.Thread(target=fire)
    thread.start()
    try:
        return fitted(ratings, number)
    finally:
        done.set()
        thread.join()


def references(whole: Path) -> dict[int, list[np.ndarray]]:
    """Return what each model learns from a folder as it is."""
    ratings = ShardedRatings.open(whole)
    return {number: fitted(ratings, number) for number in range(len(MODELS))}


def main(seeds: range) -> dict[str, int]:
    """Try seeds in this process; return how often what happened, and what failed by its seed."""
    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as place:
        for kind in ({}, {"text": True, "timed": True}):
            whole = Path(place, "text" if kind else "numbers")
            some_folder(whole, **kind)
            expected = references(whole)
            for seed in seeds[bool(kind) :: 2]:
                try:
                    what = trial(whole, expected, seed)
                except Exception as error:
                    what = f"FAILED {seed}: {type(error).__name__}: {error}".replace(place, "")
                found[what] = found.get(what, 0) + 1
    return found


if __name__ == "__main__":
    import sys

    first, last, size = (*map(int, sys.argv[1:]), 100)[:3]
    results: dict[str, int] = {}
    for start in range(first, last, size):  # a process for some of them, since any of them may crash
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.write(writer, json.dumps(main(range(start, min(start + size, last)))).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            text = stream.read()
        status = os.waitpid(child, 0)[1]
        for what, n in (json.loads(text) if text else {f"FAILED {start}-: crashed with {status}": 1}).items():
            results[what] = results.get(what, 0) + n
    print(json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False))
