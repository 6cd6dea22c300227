"""``cofactor fit`` of a folder of shards, in this process and on a scheduler; what goes wrong says what to do."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster

import cofactor
from cofactor.datasets import make_ratings
from cofactor.ratings import ALS, OrdinalProbit, ShardedRatings, as_ratings
from cofactor.service import clusters, rating_service, sharding


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = make_ratings(60, 30, 3, n_levels=5, density=0.3, random_state=0)
    place = tmp_path_factory.mktemp("shards") / "big"
    ShardedRatings.from_ratings(as_ratings(data.X, data.y, scale=[1, 2, 3, 4, 5]), 3).save(place)
    return place


def test_a_folder_is_fitted_and_recommended_from(run, folder: Path, tmp_path: Path, monkeypatch) -> None:
    out, there = tmp_path / "model.cofactor", ["fit", folder, "-m", "als", "--alpha", "2", "--factors", "3"]
    assert run(*there, "--out", out).status == 0
    same = ALS(3, alpha=2.0, random_state=0).fit(ShardedRatings.open(folder))
    np.testing.assert_array_equal(cofactor.load(out).V_, same.V_)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster, Client(cluster):
        assert run(*there, "--out", out, "--scheduler", cluster.scheduler_address).status == 0
        monkeypatch.setattr(rating_service, "_ITEMS_PER_BLOCK", 40)
        to_all = ["recommend", out, "--all", "-n", "3", "--exclude", write_lines(tmp_path / "not.txt", "4", "7")]
        there = run(*to_all, "--scheduler", cluster.scheduler_address)
        assert there.out == run(*to_all).out
        assert len(there.out.splitlines()) == 181
        assert "takes no --user" in run(*to_all[:2], "--user", "1", "--scheduler", cluster.scheduler_address).error
    np.testing.assert_array_equal(cofactor.load(out).V_, same.V_)
    listed = run("recommend", out, "--user", same.users_.ids[0], "-n", "3")
    assert len(listed.out.splitlines()) == 4


def test_without_a_model_one_that_needs_no_setting_is_fitted(run, folder: Path, tmp_path: Path) -> None:
    short = ["--param", "n_sweeps=4", "--param", "burn_in=1"]
    assert run("fit", folder, "--out", tmp_path / "model.cofactor", *short).status == 0
    assert isinstance(cofactor.load(tmp_path / "model.cofactor"), OrdinalProbit)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_alpha_is_chosen_and_the_training_error_is_told(run, folder: Path, tmp_path: Path, monkeypatch) -> None:
    brief = ["--param", "max_iter=1"]
    told = run("fit", folder, "-m", "als", "--factors", "2", *brief, "--out", tmp_path / "m", "--json").json
    data, model = ShardedRatings.open(folder).to_ratings(), cofactor.load(tmp_path / "m")
    assert told["alpha"] == model.alpha_ == model.validation_.best
    users, items = data.pairs()
    pairs = np.column_stack([data.users.ids[users], data.items.ids[items]])
    assert told["train_mae"] == pytest.approx(np.abs(model.predict(pairs) - data.values).mean())
    assert told["train_mae_ratings"] == data.n_ratings
    monkeypatch.setattr(sharding, "_MEASURED", 300)
    shown = run("fit", folder, "-m", "als", "--alpha", "2", "--factors", "2", "--out", tmp_path / "m").out
    n_first = ShardedRatings.open(folder).shard(0).n_ratings
    assert f"(of {n_first} ratings)" in " ".join(shown.split())


def test_an_interrupted_fit_says_how_to_go_on(run, folder: Path, tmp_path: Path, monkeypatch) -> None:
    def stop(self: ALS, *more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ALS, "fit", stop)
    ended = run("fit", folder, "-m", "als", "--alpha", "2", "--out", tmp_path / "model.cofactor")
    assert ended.status == 130
    kept = f"interrupted: what was done is kept in {folder}/.fit-*, and the same command with --resume goes on"
    assert kept in ended.err


def test_users_stay_in_the_folder_where_that_is_asked(run, folder: Path, tmp_path: Path) -> None:
    there = ["fit", folder, "-m", "als", "--alpha", "2", "--factors", "3"]
    fitted = run(*there, "--out", tmp_path / "small", "--users", "folder")
    [users] = (folder / "users").iterdir()
    assert f"{users} (0.0 MB), which the model needs".replace(" ", "") in "".join(fitted.out.split())
    assert run(*there, "--out", tmp_path / "whole").status == 0
    lists = []
    for name in ("small", "whole"):
        assert run("recommend", tmp_path / name, "--all", "-n", "3", "--out", tmp_path / f"{name}.parquet").status == 0
        lists.append((tmp_path / f"{name}.parquet").read_bytes())
    assert lists[0] == lists[1]
    with (users / "U_.npy").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    assert "U_.npy: its checksum is not that of the manifest" in run("shard", "--verify", folder).error
    assert "--users disk: expected" in run(*there, "--users", "disk").error


def test_samples_of_users_stay_in_the_folder_where_that_is_asked(run, folder: Path, tmp_path: Path) -> None:
    there = ["fit", folder, "--param", "n_sweeps=6", "--param", "burn_in=2", "--factors", "2"]
    pairs = write_lines(tmp_path / "pairs.csv", "user,item", "1,2", "7,3", "59,29")
    found = []
    for users in ("folder", "memory"):
        assert run(*there, "--out", tmp_path / users, "--users", users).status == 0
        lists = run("recommend", tmp_path / users, "--all", "-n", "3").out
        found.append((lists, run("predict", tmp_path / users, pairs, "--proba").out))
    assert found[0] == found[1]
    assert len(found[0][0].splitlines()) == 181
    assert (tmp_path / "folder").stat().st_size < (tmp_path / "memory").stat().st_size
    shutil.rmtree(folder / "users")
    assert "what was found for users is not there; put the folder" in run("predict", tmp_path / "folder", pairs).error


@pytest.mark.parametrize("command", [["recommend", "--all"], ["predict", "-"], ["similar", "--item", "1"]])
def test_a_folder_is_no_model(run, folder: Path, command: list[str]) -> None:
    error = run(command[0], folder, *command[1:]).error
    assert f"{folder}: is a folder of sharded ratings, and no model; fit one to it: cofactor fit {folder}" in error


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-m", "recommender"], "Recommender learns from ratings in memory alone"),
        (["-m", "als", "--alpha", "2", "--levels", "1,2"], "--levels is for files: shards are as they were read"),
        (["-m", "ease"], "EASE learns from ratings in memory alone"),
        (["-m", "als", "--alpha", "2", "--scheduler", "tcp://127.0.0.1:9"], "nothing answers at tcp://127.0.0.1:9"),
    ],
)
def test_what_cannot_be_fitted_says_why(
    run, folder: Path, tmp_path: Path, more: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "_ANSWERS", 0.3)
    assert message in run("fit", folder, *more, "--out", tmp_path / "m").error
    assert not (tmp_path / "m").exists()


def test_options_of_folders_are_refused_for_files(run, tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\n1,1,3\n1,2,4\n2,1,5\n")
    error = run("fit", file, "-m", "als", "--alpha", "2", "--resume").error
    assert "--resume is for a folder that cofactor shard made" in error


def test_ratings_that_are_gone_are_told_in_one_line(run, folder: Path, tmp_path: Path) -> None:
    big = shutil.copytree(folder, tmp_path / "big", ignore=shutil.ignore_patterns(".fit-*", "users"))
    assert run("fit", big, "-m", "als", "--alpha", "2", "--factors", "2", "--out", tmp_path / "m").status == 0
    big.rename(tmp_path / "elsewhere")
    [line] = run("recommend", tmp_path / "m", "--all").err.splitlines()
    assert f"({big}: no such folder): pass --include-seen, or put the folder back as it was (there, or" in line
    assert run("recommend", tmp_path / "m", "--all", "-n", "2", "--include-seen").err == ""
