"""``cofactor predict --scheduler``: the bytes of a prediction in this process, and what goes wrong."""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster
from tests.clusters import two_workers

from cofactor.datasets import make_ratings
from cofactor.errors import InvalidInputError
from cofactor.ratings import OrdinalProbit
from cofactor.service import clusters, rating_service

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = make_ratings(60, 30, 3, n_levels=5, density=0.3, random_state=0)
    path = tmp_path_factory.mktemp("models") / "model.cofactor"
    X = [(f"u{user}", item) for user, item in data.X.tolist()]
    OrdinalProbit(2, n_sweeps=6, burn_in=2, random_state=0).fit(X, data.y).save(path)
    return path


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with two_workers() as client:
        yield client


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = zip(rng.integers(0, 63, 200), rng.integers(0, 30, 200), strict=True)
    path = tmp_path / "pairs.csv"
    path.write_text("user,item\n" + "".join(f"u{user},{item}\n" for user, item in rows))
    return path


def test_workers_write_the_same_bytes(
    run, model: Path, pairs: Path, client: Client, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(rating_service, "_PAIRS_PER_BLOCK", 30)
    asked = ["predict", model, pairs, "--proba"]
    on_workers = ["--scheduler", client.scheduler_info()["address"]]
    for kind in ("parquet", "csv"):
        here, there = (
            run(*asked, "--out", tmp_path / f"a.{kind}"),
            run(*asked, "--out", tmp_path / f"b.{kind}", *on_workers),
        )
        assert (here.status, there.status) == (0, 0)
        assert here.err == there.err.replace(f"b.{kind}", f"a.{kind}")
        assert "pairs with a user or an item that was not in training" in there.err
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    lines = (tmp_path / "b.csv").read_text().splitlines()
    assert [line.rsplit(",", 7)[0] for line in lines] == pairs.read_text().splitlines()
    assert run(*asked).out == (tmp_path / "b.csv").read_text()
    named = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert "predict" in named


def test_a_scheduler_that_goes_leaves_no_file(run, model: Path, pairs: Path, tmp_path: Path, monkeypatch) -> None:
    def lost(client: Client, *arguments: object) -> Iterator[object]:
        given = iter(list(arguments[-1]))

        def blocks() -> Iterator[object]:
            yield next(given)
            heard.append(log.isEnabledFor(logging.ERROR))
            client.close()
            yield next(given)

        return each_on(client, *arguments[:-1], blocks())

    each_on, log = clusters._each_on, logging.getLogger("distributed.client")
    heard: list[bool] = []
    monkeypatch.setattr(rating_service, "_PAIRS_PER_BLOCK", 30)
    monkeypatch.setattr(clusters, "_each_on", lost)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        ended = run("predict", model, pairs, "--out", tmp_path / "a.csv", "--scheduler", cluster.scheduler_address)
    assert "the scheduler is gone; start it again, and give the same command" in ended.error
    assert heard == [False], "the error says all that Dask would write a trace of"
    assert log.isEnabledFor(logging.ERROR)
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.csv"]


def test_what_workers_cannot_do_is_refused(run, model: Path, pairs: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(clusters, "_ANSWERS", 0.3)
    asked = ["predict", model, pairs, "--scheduler", "tcp://127.0.0.1:9"]
    assert "--scheduler: nothing answers at tcp://127.0.0.1:9" in run(*asked).error
    error = run(*asked, "--user-features", pairs).error
    assert "--scheduler and --user-features exclude each other" in error
    error = run("predict", "-", *asked[2:], stdin=model.read_bytes()).error
    assert "--scheduler is for the file of a model" in error
    with pytest.raises(InvalidInputError, match="is not there, or another file, on a worker"):
        clusters._model_of(str(model), 0)
