"""``cofactor fit`` of a folder of shards, in this process and on a scheduler; what goes wrong says what to do."""

from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster
from typer.testing import CliRunner

import cofactor
from cofactor.cli.app import app
from cofactor.datasets import make_ratings
from cofactor.ratings import ALS, ShardedRatings, as_ratings

run = CliRunner().invoke


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = make_ratings(60, 30, 3, n_levels=5, density=0.3, random_state=0)
    place = tmp_path_factory.mktemp("shards") / "big"
    ShardedRatings.from_ratings(as_ratings(data.X, data.y, scale=[1, 2, 3, 4, 5]), 3).save(place)
    return place


def test_a_folder_is_fitted_and_recommended_from(folder: Path, tmp_path: Path) -> None:
    out, there = str(tmp_path / "model.cofactor"), ["fit", str(folder), "-m", "als", "--alpha", "2", "--factors", "3"]
    found = run(app, [*there, "--out", out])
    assert found.exit_code == 0, found.output
    model = cofactor.load(out)
    same = ALS(3, alpha=2.0, random_state=0).fit(ShardedRatings.open(folder))
    np.testing.assert_array_equal(model.V_, same.V_)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster, Client(cluster):
        found = run(app, [*there, "--out", out, "--scheduler", cluster.scheduler_address])
    assert found.exit_code == 0, found.output
    np.testing.assert_array_equal(cofactor.load(out).V_, same.V_)
    user = str(same.users_.ids[0])
    listed = run(app, ["recommend", out, "--user", user, "-n", "3"])
    assert listed.exit_code == 0, listed.output
    assert len(listed.stdout.splitlines()) == 4


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-m", "als"], "alpha"),
        ([], "Recommender"),
        (["-m", "ordinal-probit"], "learns from ratings in memory alone"),
        (["-m", "als", "--alpha", "2", "--scheduler", "tcp://127.0.0.1:9"], "nothing answers"),
    ],
)
def test_what_cannot_be_fitted_says_why(folder: Path, tmp_path: Path, more: list[str], message: str) -> None:
    found = run(app, ["fit", str(folder), *more, "--out", str(tmp_path / "m")])
    assert found.exit_code == 2
    assert message in found.output
    assert not (tmp_path / "m").exists()


def test_options_of_folders_are_refused_for_files(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\n1,1,3\n1,2,4\n2,1,5\n")
    found = run(app, ["fit", str(file), "-m", "als", "--alpha", "2", "--resume"])
    assert found.exit_code == 2
    assert "--resume is for a folder that cofactor shard made" in found.output
