"""Fits of ratings in shards: the same optimum as in memory, the same bits wherever they are carried out and killed."""

from __future__ import annotations

import logging
import shutil
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask import config
from distributed import Client, LocalCluster, Worker
from safetensors import SafetensorError
from tests.children import forking
from tests.clusters import two_workers
from tests.together import together

import cofactor
from cofactor.datasets import make_ratings
from cofactor.errors import InvalidInputError
from cofactor.ratings import (
    ALS,
    BPMF,
    HMF,
    MMMF,
    PMF,
    PMMMF,
    URP,
    BinaryMMMF,
    GibbsMMMF,
    OrdinalProbit,
    Ratings,
    ShardedRatings,
    as_ratings,
)

pytestmark = pytest.mark.processes
SHARDS = 3
MODELS: dict[str, Callable[..., Any]] = {
    "MMMF": lambda **more: MMMF(3, alpha=1.0, random_state=0, **more),
    "MMMF, Kumar's": lambda **more: MMMF(3, alpha=1.0, alpha_bias=None, alpha_thresholds=0, random_state=0, **more),
    "PMMMF": lambda **more: PMMMF(3, alpha=1.0, random_state=0, **more),
    "HMF": lambda **more: HMF(2, alpha=1.0, random_state=0, **more),
    "ALS": lambda **more: ALS(3, alpha=1.0, random_state=0, **more),
    "ALS without biases": lambda **more: ALS(3, alpha=1.0, alpha_bias=None, random_state=0, **more),
    "PMF": lambda **more: PMF(3, alpha=1.3, random_state=0, **more),
    "PMF, weighted": lambda **more: PMF(3, alpha=0.1, weighted=True, random_state=0, **more),
}
SWEEPS: dict[str, Any] = {"n_sweeps": 6, "burn_in": 2, "thin": 2, "random_state": 0}
SAMPLERS: dict[str, Callable[..., Any]] = {
    "OrdinalProbit": lambda **more: OrdinalProbit(3, n_implicit=4, **SWEEPS, **more),
    "BPMF": lambda **more: BPMF(3, **SWEEPS, **more),
    "GibbsMMMF": lambda **more: GibbsMMMF(3, **SWEEPS, **more),
    "OrdinalProbit without features": lambda **more: OrdinalProbit(3, implicit=None, n_chains=2, **SWEEPS, **more),
}

#: A fit in a process of its own, which is killed at an iteration.
KILLED = """
import os, signal
from cofactor.ratings import ShardedRatings

def die(progress):
    if progress.iteration == 5:
        os.kill(os.getpid(), signal.SIGKILL)

model.set_params(callback=die).fit(ShardedRatings.open(folder).on(every=every))
"""


def ratings() -> Ratings:
    data = make_ratings(90, 40, 3, n_levels=5, density=0.3, random_state=0)
    return as_ratings(data.X, data.y, scale=[1, 2, 3, 4, 5])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shards") / "big"
    ShardedRatings.from_ratings(ratings(), SHARDS).save(place)
    return place


def learned(model: Any) -> list[np.ndarray]:
    if hasattr(model, "samples_"):
        named = [model.samples_, *(chain.state for chain in model.chains_)]
        arrays = [array for arrays in named for _, array in sorted(arrays.items())]
        return [*arrays, *(np.array(chain.log_likelihood) for chain in model.chains_)]
    parts = model.stages_ if isinstance(model, HMF) else [model]
    names = ("U_", "V_", "user_bias_", "item_bias_", "thresholds_", "common_thresholds_", "planes_")
    arrays = [np.asarray(getattr(part, name)) for part in parts for name in names if hasattr(part, name)]
    return [*arrays, *(np.array([part.objective_, part.certificate_, *part.history_]) for part in parts)]


def assert_same_bits(one: Any, other: Any) -> None:
    for a, b in zip(learned(one), learned(other), strict=True):
        np.testing.assert_array_equal(a, b)


@together("name", ["MMMF", "MMMF, Kumar's", "PMMMF", "HMF", "ALS", "PMF, weighted"])
def test_the_optimum_is_that_of_a_fit_in_memory(name: str) -> None:
    data, model = ratings(), MODELS[name](tol=1e-7, max_iter=3000)
    whole = model.fit(data).decision_function(list(zip(data.users.ids, np.resize(data.items.ids, 90), strict=True)))
    part = MODELS[name](tol=1e-7, max_iter=3000).fit(ShardedRatings.from_ratings(data, SHARDS))
    found = part.decision_function(list(zip(data.users.ids, np.resize(data.items.ids, 90), strict=True)))
    np.testing.assert_allclose(found, whole, atol=0.05)
    assert part.ratings_.n_ratings == data.n_ratings


@together("name", ["ALS", "ALS without biases", "PMF", "PMF, weighted"])
def test_one_shard_of_als_has_the_bits_of_a_fit_in_memory(name: str) -> None:
    one = MODELS[name]().fit(ShardedRatings.from_ratings(ratings(), 1))
    whole = MODELS[name]().fit(ratings())
    for attribute in ("U_", "V_", "user_bias_", "item_bias_"):
        np.testing.assert_array_equal(getattr(one, attribute), getattr(whole, attribute))
    np.testing.assert_allclose(one.history_, whole.history_, rtol=1e-14)  # penalties are added in another order


def test_what_memory_holds_before_a_fit_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room that was not zero had a signalling NaN once in a thousand runs, and warned."""
    room_like = np.empty_like

    def full_of_signals(like: Any, *rest: Any, **more: Any) -> np.ndarray:
        room = room_like(like, *rest, **more)
        if room.dtype == np.float32:
            room.view(np.int32)[...] = 0x7FA00000
        return room

    monkeypatch.setattr(np, "empty_like", full_of_signals)
    MODELS["PMF, weighted"]().fit(ShardedRatings.from_ratings(ratings(), 2))


@together("name", [name for name in SAMPLERS if name != "OrdinalProbit"])
def test_one_shard_of_a_sampler_has_the_bits_of_a_fit_in_memory(name: str) -> None:
    make, data = SAMPLERS[name], ratings()
    one, whole = make().fit(ShardedRatings.from_ratings(data, 1)), make().fit(data)
    assert_same_bits(one, whole)
    assert one.target_ == whole.target_
    some = make().fit(ShardedRatings.from_ratings(data, SHARDS))
    assert some.target_ == whole.target_
    for name, array in whole.samples_.items():  # sums are rounded in another order
        np.testing.assert_allclose(some.samples_[name], array, rtol=1e-4, atol=1e-4)


def test_features_of_who_rated_what_are_those_in_memory(tmp_path: Path) -> None:
    data, made = ratings(), []
    for given in (data, ShardedRatings.from_ratings(data, SHARDS)):
        made.append(SAMPLERS["OrdinalProbit"]().fit(given))
    for one, other in zip(*(model.links_ for model in made), strict=True):
        np.testing.assert_allclose(one.projection, other.projection, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(one.usual, other.usual, rtol=1e-3, atol=1e-3)
    pairs = list(zip(data.users.ids, np.resize(data.items.ids, 90), strict=True))
    whole, some = (model.decision_function(pairs) for model in made)
    np.testing.assert_allclose(some, whole, atol=0.05)
    made[1].save(tmp_path / "model.cofactor")
    again = cofactor.load(tmp_path / "model.cofactor")
    np.testing.assert_array_equal(again.decision_function(pairs), some)
    new = again.fold_in([("new", item) for item in data.items.ids[:3]], [5, 4, 1])
    assert new.predict_proba([("new", data.items.ids[3])]).shape == (1, 5)
    more = again.set_params(warm_start=True, n_sweeps=2).fit(data)  # the posterior is the same
    assert more.n_iter_ == 8


@pytest.mark.parametrize(("name", "every"), [("MMMF", 0.0), ("ALS", 1000.0)])
def test_a_killed_fit_goes_on(
    name: str, every: float, folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make = MODELS[name]
    whole = make().fit(ShardedRatings.open(folder))
    # Its own copy: a worker that was given up may still write what it keeps of an earlier fit, after that has ended.
    folder = shutil.copytree(folder, tmp_path / "big", ignore=shutil.ignore_patterns(".fit-*"))
    process = forking().Process(target=exec, args=(KILLED, {"model": make(), "folder": folder, "every": every}))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    kept = list(folder.glob(".fit-*"))
    assert kept
    assert all(bool(list(one.glob("state-*"))) == (every == 0) for one in kept)
    with caplog.at_level(logging.INFO, "cofactor"):
        assert_same_bits(make().fit(ShardedRatings.open(folder).on(resume=True)), whole)
    told = [message for message in caplog.messages if message.startswith(f"{name}, ")]
    assert len(told) == len(kept)
    assert all(": goes on after round " in message for message in told)
    assert not list(folder.glob(".fit-*"))


def test_a_fit_that_does_not_resume_begins_anew(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    def stop(progress: Any) -> None:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        MODELS["ALS"](callback=stop).fit(ShardedRatings.open(folder))
    [kept] = folder.glob(".fit-*")
    with caplog.at_level(logging.INFO, "cofactor"):
        ALS(3, alpha=2.0, random_state=0).fit(ShardedRatings.open(folder).on(resume=True))
    told = f"nothing to go on with in {folder}: ALS begins anew; unfinished there, with other settings or ratings: ALS"
    assert caplog.messages == [told]
    assert kept.exists()
    seen: list[int] = []
    MODELS["ALS"](callback=lambda progress: seen.append(progress.iteration)).fit(ShardedRatings.open(folder))
    assert seen[0] == 1
    assert not kept.exists()


def test_an_interrupted_sampler_says_how_to_go_on(folder: Path) -> None:
    def interrupt(progress: Any) -> None:
        if progress.iteration == 4:
            raise KeyboardInterrupt

    whole = SAMPLERS["GibbsMMMF"]().fit(ShardedRatings.open(folder))
    with pytest.raises(KeyboardInterrupt, match="interrupted after 4 sweeps: .* with resume=True"):
        SAMPLERS["GibbsMMMF"](callback=interrupt).fit(ShardedRatings.open(folder))
    assert_same_bits(SAMPLERS["GibbsMMMF"]().fit(ShardedRatings.open(folder).on(resume=True)), whole)


def test_models_of_shards_recommend_predict_and_are_saved(folder: Path, tmp_path: Path) -> None:
    data = ratings()
    model = MODELS["ALS"]().fit(ShardedRatings.open(folder))
    whole = MODELS["ALS"]().fit(data)
    users = data.users.ids[[40, 3, 77]]
    items, _ = model.recommend(users, 5)
    np.testing.assert_array_equal(items, whole.recommend(users, 5)[0])
    model.save(tmp_path / "model.cofactor")
    again = cofactor.load(tmp_path / "model.cofactor")
    np.testing.assert_array_equal(again.recommend(users, 5)[0], items)
    new = again.fold_in([("new", data.items.ids[0]), ("new", data.items.ids[1])], [5, 4])
    assert new.predict([("new", data.items.ids[2])]).shape == (1,)


@pytest.mark.parametrize("name", ["ALS", "MMMF"])
def test_new_ratings_are_merged_with_those_in_shards(name: str, folder: Path) -> None:
    data, model = ratings(), MODELS[name]().fit(ShardedRatings.open(folder))
    users = data.users.ids[[0, 40, 89]]
    X, y = [(user, item) for user in [*users, "new"] for item in data.items.ids[:3]], [5, 4, 1] * 4
    some, whole = model.fold_in(X, y, known="merge"), model.to_memory().fold_in(X, y, known="merge")
    assert some.users_ == whole.users_
    assert some.ratings_.n_ratings == whole.ratings_.n_ratings > 12
    assert_same_bits(some, whole)
    items = [(user, data.items.ids[3]) for user in users]
    some, whole = (one.fold_in_items(items, [5, 4, 1], known="merge") for one in (model, model.to_memory()))
    assert_same_bits(some, whole)


def test_rows_of_some_users_are_those_of_the_whole(folder: Path) -> None:
    data, sharded = ratings(), ShardedRatings.open(folder)
    for users in ([40, 3, 77, 3], []):
        for found, expected in zip(sharded.rows(users), data.rows(users), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_what_cannot_be_done_in_shards_says_so(folder: Path) -> None:
    sharded = ShardedRatings.open(folder)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: URP().fit(sharded), "URP learns from ratings in memory alone"),
        (lambda: OrdinalProbit(implicit="sparse").fit(sharded), "implicit='sparse' needs ratings in memory"),
        (lambda: OrdinalProbit(warm_start=True).fit(sharded), "warm_start=True goes on with ratings in memory"),
        (lambda: OrdinalProbit(time=True).fit(sharded), "time=True needs ratings in memory"),
        (lambda: OrdinalProbit().fit(sharded, user_features={1: [2]}), "take no features and no shadow users"),
        (lambda: MMMF(alpha=1.0, solver="cg").fit(sharded), "take 'lbfgs'"),
        (lambda: ALS(alpha=1.0, solver="cg").fit(sharded), "take 'exact'"),
        (lambda: ALS(alpha=1.0).fit(sharded, np.ones(3)), "ratings in shards hold all that"),
        (lambda: BinaryMMMF(3, alpha=1.0).fit(sharded), "5 distinct ratings but BinaryMMMF takes two"),
        (lambda: ALS(3, alpha=1.0).fit(sharded).complete(), "complete needs the ratings of the model in memory"),
        (lambda: ShardedRatings.from_ratings(ratings(), 2).on(resume=True), "only ratings in a folder"),
        (lambda: ALS(alpha=1.0).fit(sharded.on(resume=True)), "random_state=None: resume=True needs the seed that"),
    ]
    for call, message in cases:
        with pytest.raises(InvalidInputError, match=message):
            call()


def schedule(address: Connection) -> None:
    """Be a scheduler in this process until it is killed."""
    with LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as cluster:
        address.send(cluster.scheduler_address)
        signal.pause()


def test_a_killed_scheduler_is_told_apart_and_the_fit_goes_on(folder: Path) -> None:
    def kill(progress: Any) -> None:
        if progress.iteration == 3:
            scheduler.kill()

    ours, theirs = Pipe(duplex=False)
    scheduler = forking().Process(target=schedule, args=(theirs,))
    scheduler.start()
    with config.set({"distributed.comm.timeouts.connect": "1s"}), Client(ours.recv()) as one:

        async def begin() -> Worker:
            return await Worker(one.scheduler.address, nthreads=1)

        worker = one.sync(begin)
        with pytest.raises(InvalidInputError, match="scheduler is gone; a fit of a folder goes on with resume=True"):
            MODELS["ALS"](callback=kill).fit(ShardedRatings.open(folder).on(one))
        one.loop.add_callback(worker.close)
    scheduler.join()
    gone_on = MODELS["ALS"]().fit(ShardedRatings.open(folder).on(resume=True))
    assert_same_bits(gone_on, MODELS["ALS"]().fit(ShardedRatings.open(folder)))


def test_a_full_disk_says_how_to_go_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(arrays: Any, path: Path) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    with monkeypatch.context() as patched:
        patched.setattr("safetensors.numpy.save_file", full)
        with pytest.raises(OSError, match="No space left on device; what was done is kept"):
            MODELS["ALS"]().fit(ShardedRatings.open(folder))
    gone_on = MODELS["ALS"]().fit(ShardedRatings.open(folder).on(resume=True))
    assert_same_bits(gone_on, MODELS["ALS"]().fit(ShardedRatings.open(folder)))


# ---------------------------------------------------------------- on workers, last: they take CPU time while they wait


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with two_workers() as client:
        yield client


@pytest.mark.parametrize("name", ["MMMF", "ALS", "BPMF"])  # a way to solve each; of samplers see test_stored_samples.py
def test_the_same_bits_in_memory_from_files_and_on_workers(name: str, folder: Path, client: Client) -> None:
    def make() -> Any:  # a few rounds tell as much as all do
        if name in SAMPLERS:
            return SAMPLERS[name]().set_params(n_sweeps=2, burn_in=1, thin=1)
        return MODELS[name](callback=lambda progress: progress.iteration == 2)

    memory = make().fit(ShardedRatings.from_ratings(ratings(), SHARDS))
    files = ShardedRatings.open(folder)
    assert_same_bits(make().fit(files), memory)
    assert_same_bits(make().fit(files.on(client)), memory)
    if name in MODELS:
        assert_same_bits(make().fit(files.on(client, users="folder")), memory)
    assert not list(folder.glob(".fit-*")), "a fit that ended leaves nothing behind"


def test_tasks_have_names_on_the_dashboard(folder: Path, client: Client) -> None:
    MODELS["ALS"](callback=lambda progress: True).fit(ShardedRatings.open(folder).on(client))
    named = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert {"ALS-rows", "ALS-columns", "ALS-value", "ALS-arrays"} <= set(named)
    assert not [name for name in named if "round" in name]
