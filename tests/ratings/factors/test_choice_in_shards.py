"""The choice of alpha from shards: what is held out does not depend on the plan, the same bits anywhere and resumed."""

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
from cofactor.model.selection import path
from cofactor.ratings import ALS, HMF, MMMF, Ratings, ShardedRatings, as_ratings
from cofactor.ratings.factors import in_shards
from cofactor.ratings.factors.in_shards import held_out_of, rest_of

MODELS: dict[str, Callable[..., Any]] = {
    "ALS": lambda **more: ALS(3, random_state=0, **more),
    "MMMF": lambda **more: MMMF(3, random_state=0, **more),
    "HMF": lambda **more: HMF(2, random_state=0, **more),
}
#: Exponents of few candidates: three are tried first, then those around the best.
FEW = range(12, 21)
pytestmark = [pytest.mark.processes, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]

#: A fit in a process of its own, which is killed when so many candidates were tried.
KILLED = """
import os, signal
from cofactor.model.selection import path
from cofactor.ratings import ShardedRatings

path.EXPONENTS = exponents

def die(progress):
    if progress.stage.startswith("validation") and progress.iteration == 3:
        os.kill(os.getpid(), signal.SIGKILL)

model.set_params(callback=die).fit(ShardedRatings.open(folder).on(every=0))
"""


def ratings() -> Ratings:
    data = make_ratings(150, 40, 3, n_levels=3, density=0.3, random_state=0)
    return as_ratings(data.X, data.y, scale=[1, 2, 3])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shards") / "big"
    ShardedRatings.from_ratings(ratings(), 3).save(place)
    return place


def parts_of(model: Any) -> list[Any]:
    return model.stages_ if isinstance(model, HMF) else [model]


def assert_same(one: Any, other: Any) -> None:
    for a, b in zip(parts_of(one), parts_of(other), strict=True):
        assert a.alpha_ == b.alpha_
        for name in ("alphas", "errors", "deviations"):
            np.testing.assert_array_equal(getattr(a.validation_, name), getattr(b.validation_, name))
        for name in ("U_", "V_", "item_bias_"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_what_is_held_out_does_not_depend_on_the_plan() -> None:
    data, key, found = ratings(), np.uint64(5), []
    for n in (1, 4, 50):
        sharded = ShardedRatings.from_ratings(data, n)
        held = [held_out_of(shard, int(first), key) for shard, first in zip(sharded, sharded.bounds, strict=False)]
        starts = np.cumsum([0, *(shard.n_ratings for shard in sharded)])
        found.append(np.concatenate([positions + start for (_, positions), start in zip(held, starts, strict=False)]))
    users = data.row_of_entry[found[0]]
    assert (np.unique(users) == np.flatnonzero(data.user_counts >= 2)).all()
    assert len(np.unique(users)) == len(users)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    rest = rest_of(data, 0, key)
    assert rest.n_ratings == data.n_ratings - len(users)
    assert (rest.user_counts[users] == data.user_counts[users] - 1).all()
    keep = np.ones(data.n_ratings, dtype=bool)
    keep[found[0]] = False
    np.testing.assert_array_equal(rest.levels, data.levels[keep])


def test_any_rating_of_a_user_may_be_held_out() -> None:
    data = Ratings.from_pairs([(u, i) for u in range(3000) for i in range(4)], [1, 2] * 6000)
    _, positions = held_out_of(data, 0, np.uint64(1))
    counts = np.bincount(positions % 4, minlength=4)
    assert abs(counts - 750).max() < 4 * np.sqrt(3000 * 3 / 16)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Hold out once, try few candidates, and iterate a few times."""
    monkeypatch.setattr(path, "_REPEATS", 1)
    monkeypatch.setattr(path, "EXPONENTS", FEW)
    return {"max_iter": 2}


@pytest.mark.parametrize("name", ["ALS", "MMMF", "HMF"])  # one for each way to solve, and one for stages
def test_the_same_bits_in_memory_and_from_files(name: str, folder: Path, brief: dict[str, int]) -> None:
    def make() -> Any:
        return MODELS[name](**brief)

    memory = make().fit(ShardedRatings.from_ratings(ratings(), 3))
    assert all(len(part.validation_.alphas) > 4 for part in parts_of(memory))
    files = ShardedRatings.open(folder)
    assert_same(make().fit(files), memory)
    assert not list(folder.glob(".fit-*")), "nothing stays of a choice"


def test_it_agrees_with_the_choice_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other ratings are held out, so errors along alpha agree within what few of them tell."""
    monkeypatch.setattr(path, "EXPONENTS", range(4, 25))  # beyond these nothing is left of the factors
    data = make_ratings(900, 30, 3, n_levels=5, density=0.3, random_state=1)
    data = as_ratings(data.X, data.y, scale=[1, 2, 3, 4, 5])
    whole, some = (MODELS["ALS"](max_iter=30).fit(given) for given in (data, ShardedRatings.from_ratings(data, 2)))
    ours, theirs = some.validation_, whole.validation_
    _, here, there = np.intersect1d(ours.alphas, theirs.alphas, return_indices=True)
    assert len(here) > 5
    noise = np.sqrt(0.25 / 2700 * 2)  # of two shares of wrong levels, of three times 900 ratings
    np.testing.assert_allclose(ours.errors[here], theirs.errors[there], atol=4 * noise)
    nearest = np.abs(np.log(theirs.alphas / some.alpha_)).argmin()
    assert theirs.errors[nearest] < theirs.errors.min() + noise, "errors are flat around the best penalty"


def test_a_chosen_alpha_gives_the_fit_that_is_given_it(folder: Path, tmp_path: Path, brief: dict[str, int]) -> None:
    sharded = ShardedRatings.open(folder)
    chosen = MODELS["MMMF"](**brief).fit(sharded)
    given = MODELS["MMMF"](alpha=chosen.alpha_, **brief).fit(sharded)
    np.testing.assert_array_equal(chosen.U_, given.U_)
    assert given.validation_ is None
    chosen.save(tmp_path / "model.cofactor")
    again = cofactor.load(tmp_path / "model.cofactor")
    np.testing.assert_array_equal(again.validation_.errors, chosen.validation_.errors)


def test_a_killed_choice_goes_on(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> Any:
        return MODELS["ALS"](max_iter=2)

    monkeypatch.setattr(path, "EXPONENTS", FEW)
    whole = make().fit(ShardedRatings.open(folder))
    folder = shutil.copytree(folder, tmp_path / "big", ignore=shutil.ignore_patterns(".fit-*"))
    process = forking().Process(target=exec, args=(KILLED, {"model": make(), "folder": folder, "exponents": FEW}))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    written = {path: os.stat(path).st_mtime_ns for path in folder.rglob("rest/manifest.json")}
    assert len(written) == len(list(folder.glob(".fit-*"))) == 3, "150 users, three splits"
    tried: list[int] = []
    measured = in_shards._Errors.__call__

    def counting(self: Any, k: int, rows: Any) -> Any:
        tried.append(k)
        return measured(self, k, rows)

    monkeypatch.setattr(in_shards._Errors, "__call__", counting)
    assert_same(make().fit(ShardedRatings.open(folder).on(resume=True)), whole)
    assert tried.count(0) == 3 * (len(whole.validation_.alphas) - 3), "three candidates need not be tried again"
    assert not list(folder.glob(".fit-*"))


# ---------------------------------------------------------------- on workers, last: they take CPU time while they wait


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with two_workers() as client:
        yield client


def test_workers_choose_by_the_same_bits(
    folder: Path, client: Client, brief: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path, "EXPONENTS", range(15, 18))
    files = ShardedRatings.open(folder)
    assert_same(MODELS["ALS"](**brief).fit(files.on(client)), MODELS["ALS"](**brief).fit(files))
    assert not list(folder.glob(".fit-*")), "nothing stays of a choice"
