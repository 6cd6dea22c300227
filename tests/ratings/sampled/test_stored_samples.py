"""Samples of users that stay in the folder of shards: written by parts, joined in the end, whatever happens."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client
from tests.children import forking
from tests.clusters import two_workers

import cofactor
from cofactor.datasets import make_ratings
from cofactor.errors import InvalidInputError
from cofactor.ratings import BPMF, GibbsMMMF, OrdinalProbit, Ratings, ShardedRatings, as_ratings
from cofactor.samplers import SampleFile
from cofactor.service.sharding import checked_shards

pytestmark = pytest.mark.processes

SHARDS = 3
SWEEPS: dict[str, Any] = {"n_sweeps": 8, "burn_in": 2, "thin": 2, "random_state": 0}
MODELS: dict[str, Callable[..., Any]] = {
    "OrdinalProbit": lambda **more: OrdinalProbit(3, n_implicit=4, **SWEEPS, **more),
    "BPMF": lambda **more: BPMF(3, **SWEEPS, **more),
    "GibbsMMMF": lambda **more: GibbsMMMF(3, n_chains=2, **SWEEPS, **more),
}
models = pytest.mark.parametrize("name", MODELS)

#: A fit in a process of its own, which is killed at an iteration.
KILLED = """
import os, signal
from cofactor.ratings import ShardedRatings

def die(progress):
    if progress.iteration == 7:
        os.kill(os.getpid(), signal.SIGKILL)

model.set_params(callback=die).fit(ShardedRatings.open(folder).on(every=every, users="folder"))
"""


def ratings() -> Ratings:
    data = make_ratings(90, 40, 3, n_levels=5, density=0.3, random_state=0)
    some = as_ratings(data.X, data.y, scale=[1, 2, 3, 4, 5])
    counts = some.user_counts.copy()
    counts[[5, 70]] = 0  # nothing is known of these
    keep = np.repeat(counts > 0, some.user_counts)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return Ratings.from_csr(some.users, some.items, some.scale, indptr, some.indices[keep], some.levels[keep])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of shards, and the samples of fits in memory."""
    place = tmp_path_factory.mktemp("shards") / "big"
    ShardedRatings.from_ratings(ratings(), SHARDS).save(place)
    return place


@pytest.fixture
def folder(place: Path, tmp_path: Path) -> Path:
    """Its own copy for a test."""
    return shutil.copytree(place, tmp_path / "big")


@pytest.fixture(scope="module")
def memory(place: Path) -> dict[str, Any]:
    return {name: make().fit(ShardedRatings.open(place)) for name, make in MODELS.items()}


def assert_same_samples(stored: Any, memory: Any) -> None:
    assert stored.stored_users_ is not None
    assert stored.samples_.keys() == memory.samples_.keys()
    for name, array in memory.samples_.items():
        np.testing.assert_array_equal(stored.samples_[name], array)
    for one, other in zip(stored.chains_, memory.chains_, strict=True):
        assert (one.log_likelihood, one.kept_sweeps) == (other.log_likelihood, other.kept_sweeps)


def nothing_but_users(folder: Path) -> bool:
    return not list(folder.glob(".fit-*"))


@models
def test_samples_are_those_in_memory(name: str, folder: Path, memory: dict[str, Any]) -> None:
    stored = MODELS[name]().fit(ShardedRatings.open(folder).on(users="folder"))
    assert_same_samples(stored, memory[name])
    assert nothing_but_users(folder)
    assert checked_shards(str(folder)).shown["verified"] == "all checksums agree, also those of 1 model"


def test_samples_of_a_user_lie_together(folder: Path) -> None:
    stored = MODELS["OrdinalProbit"]().fit(ShardedRatings.open(folder).on(users="folder"))
    for name, length in (("U", 4), ("thresholds", 4)):
        assert stored.samples_[name].shape == (3, 91, length)
        assert stored.samples_[name].swapaxes(0, 1).flags.c_contiguous
        np.testing.assert_array_equal(stored.samples_[name][:, 70], stored.samples_[name][:, -1])


@pytest.mark.parametrize(("name", "every"), [("OrdinalProbit", 0.0), ("GibbsMMMF", 1000.0)])
def test_a_killed_fit_goes_on(name: str, every: float, folder: Path, memory: dict[str, Any]) -> None:
    given = {"model": MODELS[name](), "folder": folder, "every": every}
    process = forking().Process(target=exec, args=(KILLED, given))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    [kept] = folder.glob(".fit-*/samples")
    assert len(list(kept.glob("*.U.npy"))) == SHARDS
    assert len(list(kept.parent.glob("state-*"))) == (every == 0)
    assert not list(folder.glob("users/*"))
    stored = MODELS[name]().fit(ShardedRatings.open(folder).on(resume=True, users="folder"))
    assert_same_samples(stored, memory[name])
    assert nothing_but_users(folder)


def test_a_full_disk_leaves_what_was_done(
    folder: Path, memory: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_header, written = SampleFile._write_header, []

    def full(room: SampleFile, stream: Any) -> int:
        written.append(room)
        if len(written) > 12:
            raise OSError(28, "No space left on device")
        return write_header(room, stream)

    monkeypatch.setattr(SampleFile, "_write_header", full)
    with pytest.raises(InvalidInputError, match=r"samples/.*: a sample cannot be written: No space left.*resume=True"):
        MODELS["OrdinalProbit"]().fit(ShardedRatings.open(folder).on(users="folder"))
    monkeypatch.undo()
    stored = MODELS["OrdinalProbit"]().fit(ShardedRatings.open(folder).on(users="folder", resume=True))
    assert_same_samples(stored, memory["OrdinalProbit"])


def test_the_size_decides_where_samples_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharded, n_bytes = ShardedRatings.open(folder), 4 * 3 * 90 * (4 + 4)
    monkeypatch.setattr("cofactor.ratings.sharded.MOST_IN_MEMORY", n_bytes)
    assert MODELS["OrdinalProbit"]().fit(sharded).stored_users_ is None
    monkeypatch.setattr("cofactor.ratings.sharded.MOST_IN_MEMORY", n_bytes - 1)
    stored = MODELS["OrdinalProbit"]().fit(sharded)
    assert stored.stored_users_ is not None
    assert MODELS["OrdinalProbit"]().fit(sharded.on(users="memory")).stored_users_ is None
    assert stored._fit_bytes(sharded) < stored._fit_bytes(sharded.on(users="memory"))


def test_where_users_stay_a_chain_cannot_go_on(folder: Path, tmp_path: Path) -> None:
    stored = MODELS["GibbsMMMF"]().fit(ShardedRatings.open(folder).on(users="folder"))
    assert all(not chain.state for chain in stored.chains_)
    stored.save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    assert loaded.chains_[1].samples["U"].shape == (3, 91, 4)
    for model in (stored, loaded, loaded.to_memory()):
        with pytest.raises(
            InvalidInputError, match="last state of chains, which is not kept where users stay in a fol"
        ):
            model.set_params(warm_start=True).fit(ratings())


def test_fewer_samples_go_into_the_file(folder: Path, tmp_path: Path) -> None:
    stored = MODELS["BPMF"]().fit(ShardedRatings.open(folder).on(users="folder"))
    stored.save(tmp_path / "few", n_samples=2)
    shutil.rmtree(folder / "users")
    few = cofactor.load(tmp_path / "few")
    for name, array in stored.samples_.items():
        np.testing.assert_array_equal(few.samples_[name], array[[0, 2]])


def test_a_fit_without_a_sample_says_so(folder: Path) -> None:
    model = OrdinalProbit(3, n_sweeps=8, burn_in=4, random_state=0, callback=lambda progress: progress.iteration == 2)
    with pytest.raises(
        InvalidInputError,
        match="no sample was kept in 2 sweeps, with burn_in=4, where the callback ended the fit; let it go on",
    ):
        model.fit(ShardedRatings.open(folder).on(users="folder"))
    fewer = OrdinalProbit(3, n_sweeps=9, burn_in=2, random_state=0, callback=lambda progress: progress.iteration == 4)
    stored = fewer.fit(ShardedRatings.open(folder).on(users="folder"))
    assert len(stored.samples_["U"]) == len(stored.samples_["V"]) == 2


def test_posterior_means_and_diagnostics_are_those_in_memory(folder: Path, memory: dict[str, Any]) -> None:
    stored = MODELS["GibbsMMMF"]().fit(ShardedRatings.open(folder).on(users="folder"))
    for name in ("U_", "V_", "thresholds_"):
        if hasattr(stored, name):
            np.testing.assert_allclose(getattr(stored, name), getattr(memory["GibbsMMMF"], name), rtol=1e-6)
    for one, other in zip(stored.chains_, memory["GibbsMMMF"].chains_, strict=True):
        np.testing.assert_array_equal(one.samples["V"], other.samples["V"])
        rated = np.flatnonzero(ratings().user_counts)
        np.testing.assert_array_equal(one.samples["U"][:, rated], other.samples["U"][:, rated])


# ---------------------------------------------------------------- on workers, last: they take CPU time while they wait


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with two_workers() as client:
        yield client


@pytest.mark.parametrize("name", ["OrdinalProbit", "GibbsMMMF"])  # of one chain, and of two
def test_samples_are_those_in_memory_on_workers(
    name: str, folder: Path, memory: dict[str, Any], client: Client
) -> None:
    assert_same_samples(MODELS[name]().fit(ShardedRatings.open(folder).on(client, users="folder")), memory[name])
    assert nothing_but_users(folder)


def test_lost_workers_change_nothing(folder: Path, memory: dict[str, Any], client: Client) -> None:
    killed: list[int] = []

    def kill(progress: Any) -> None:
        if progress.iteration == 4:
            killed.append(sorted(client.run(os.getpid).values())[0])
            os.kill(killed[-1], signal.SIGKILL)

    client.wait_for_workers(2)
    there = ShardedRatings.open(folder).on(client, every=0.2, users="folder")
    assert_same_samples(MODELS["OrdinalProbit"](callback=kill).fit(there), memory["OrdinalProbit"])
    assert len(killed) == 1
