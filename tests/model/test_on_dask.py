"""Tasks side by side on workers of Dask, by joblib's back end: chains, members, stages, and labels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from distributed import Client
from sklearn.naive_bayes import GaussianNB
from tests.clusters import two_workers

import cofactor
from cofactor.datasets import make_labels, make_ratings
from cofactor.errors import InvalidInputError
from cofactor.labels import MLCHMF, BinaryRelevance, ChainCRFEnsemble
from cofactor.ratings import ALS, HMF, MMMF, Ensemble, OrdinalProbit, ShardedRatings, as_ratings
from cofactor.solvers import workers

pytestmark = pytest.mark.processes

LABELS: dict[str, Callable[[], Any]] = {
    "BinaryRelevance": lambda: BinaryRelevance(GaussianNB(), random_state=0),
    "ChainCRFEnsemble": lambda: ChainCRFEnsemble(n_estimators=2, alpha=1.0, random_state=0),
    "MLCHMF": lambda: MLCHMF(3, random_state=0),
}
RATINGS: dict[str, Callable[[], Any]] = {
    "HMF": lambda: HMF(2, alpha=1.0, random_state=0),
    "Ensemble": lambda: Ensemble(MMMF(2, alpha=1.0), n_members=3, random_state=0),
    "chains": lambda: OrdinalProbit(2, n_sweeps=6, burn_in=3, n_chains=2, random_state=0),
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with two_workers() as client:
        yield client


def there(client: Client, fit: Callable[[], Any]) -> Any:
    """Return what a fit returns whose tasks go to the workers; that some did is checked."""
    before = len(client.run_on_scheduler(_tasks))
    with joblib.parallel_config(backend="dask", wait_for_workers_timeout=240):
        found = fit()
    return found, len(client.run_on_scheduler(_tasks)) > before


def _tasks(dask_scheduler: Any) -> list[str]:
    return [key for key, *_ in dask_scheduler.transition_log]


@pytest.mark.parametrize("name", LABELS)
def test_label_models_have_the_same_bits_there(name: str, client: Client) -> None:
    data, _ = make_labels(120, 6, 5, n_groups=2, random_state=0)
    X = np.asarray(data.X) + 0.1
    here = LABELS[name]().fit(X, data.Y)
    found, went = there(client, lambda: LABELS[name]().fit(X, data.Y))
    np.testing.assert_array_equal(found.decision_function(X), here.decision_function(X))
    assert went


@pytest.mark.parametrize("name", RATINGS)
def test_models_of_ratings_have_the_same_bits_there(name: str, client: Client) -> None:
    data = make_ratings(40, 30, 2, random_state=0)
    here = RATINGS[name]().fit(data.X, data.y)
    found, went = there(client, lambda: RATINGS[name]().fit(data.X, data.y))
    np.testing.assert_array_equal(found.predict(data.X), here.predict(data.X))
    assert went


def test_a_worker_without_the_package_is_told(client: Client, tmp_path: Path) -> None:
    data = make_ratings(40, 30, 2, random_state=0)
    ShardedRatings.from_ratings(as_ratings(data.X, data.y), 2).save(tmp_path / "shards")
    sharded = ShardedRatings.open(tmp_path / "shards").on(client)
    client.run(_forget, "cofactor.solvers.workers")
    try:
        with pytest.raises(InvalidInputError, match="cannot import this package.*cofactor.solvers.workers"):
            ALS(2, alpha=1.0).fit(sharded)
    finally:
        client.run(_remember, "cofactor.solvers.workers")


def test_a_worker_of_another_version_is_told(client: Client, tmp_path: Path) -> None:
    data = make_ratings(40, 30, 2, random_state=0)
    ShardedRatings.from_ratings(as_ratings(data.X, data.y), 2).save(tmp_path / "shards")
    client.run(_rename, "0.0.1")
    try:
        with pytest.raises(InvalidInputError, match="a worker has cofactor 0.0.1 and the client has"):
            ALS(2, alpha=1.0).fit(ShardedRatings.open(tmp_path / "shards").on(client))
    finally:
        client.run(_rename, cofactor.__version__)


def _rename(version: str) -> None:
    workers.__version__ = version


def _forget(name: str) -> None:
    sys.modules[f"before {name}"], sys.modules[name] = sys.modules[name], None  # type: ignore[assignment]


def _remember(name: str) -> None:
    sys.modules[name] = sys.modules.pop(f"before {name}")
