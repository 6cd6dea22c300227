"""``cofactor fit`` of a folder of shards, in this process and on a scheduler; what goes wrong says what to do."""

from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster

import cofactor
from cofactor.datasets import make_ratings
from cofactor.ratings import ALS, ShardedRatings, as_ratings
from cofactor.tasks import sharding


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = make_ratings(60, 30, 3, n_levels=5, density=0.3, random_state=0)
    place = tmp_path_factory.mktemp("shards") / "big"
    ShardedRatings.from_ratings(as_ratings(data.X, data.y, scale=[1, 2, 3, 4, 5]), 3).save(place)
    return place


def test_a_folder_is_fitted_and_recommended_from(run, folder: Path, tmp_path: Path) -> None:
    out, there = tmp_path / "model.cofactor", ["fit", folder, "-m", "als", "--alpha", "2", "--factors", "3"]
    assert run(*there, "--out", out).status == 0
    same = ALS(3, alpha=2.0, random_state=0).fit(ShardedRatings.open(folder))
    np.testing.assert_array_equal(cofactor.load(out).V_, same.V_)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster, Client(cluster):
        assert run(*there, "--out", out, "--scheduler", cluster.scheduler_address).status == 0
    np.testing.assert_array_equal(cofactor.load(out).V_, same.V_)
    listed = run("recommend", out, "--user", same.users_.ids[0], "-n", "3")
    assert len(listed.out.splitlines()) == 4


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-m", "als"], "--alpha auto is chosen by fits of data in memory"),
        ([], "Recommender learns from ratings in memory alone"),
        (["-m", "ease"], "EASE learns from ratings in memory alone"),
        (["-m", "als", "--alpha", "2", "--scheduler", "tcp://127.0.0.1:9"], "nothing answers at tcp://127.0.0.1:9"),
    ],
)
def test_what_cannot_be_fitted_says_why(
    run, folder: Path, tmp_path: Path, more: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharding, "_ANSWERS", 0.3)
    assert message in run("fit", folder, *more, "--out", tmp_path / "m").error
    assert not (tmp_path / "m").exists()


def test_options_of_folders_are_refused_for_files(run, tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\n1,1,3\n1,2,4\n2,1,5\n")
    error = run("fit", file, "-m", "als", "--alpha", "2", "--resume").error
    assert "--resume is for a folder that cofactor shard made" in error
