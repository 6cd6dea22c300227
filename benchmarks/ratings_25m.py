"""Twenty-five million made-up ratings in memory: seconds, peak memory and error, beside packages of others.

    python benchmarks/ratings_25m.py FOLDER     the ratings stay in FOLDER
    (pip install implicit cmfrec libmf pyspark; Spark needs Java)

160,000 users, 60,000 items, counts by powers of the rank, levels from factors of rank 10 with noise. A hundredth of the
ratings, drawn at random, is kept apart for the error. Each model is a process of its own with two threads, which reads
arrays from a file and drops them when they are in its own form; its peak is that of the whole process, with Java.
`implicit` weighs what was rated and predicts no ratings. Penalties of ours were chosen by ratings of an eighth of users
that were kept apart; others have those written here, which were not chosen so: their errors say little.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from common import publish, table
from numpy.typing import NDArray
from scipy import sparse
from sharding import make

USERS, ITEMS, RATINGS = 160_000, 60_000, 25_000_000
FACTORS, ROUNDS = 50, 15
THREADS = {"COFACTOR_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "1"}

Data = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]
Read = Callable[[], Data]


def ours(model: Any) -> Any:
    """Return how a model of ours is fitted, and what it predicts."""

    def run(read: Read, test: Data) -> tuple[int, NDArray[Any] | None]:
        from cofactor.ratings import Ratings

        fitted = model().fit(Ratings.from_pairs(*pairs(read())))
        rounds = getattr(fitted, "n_iter_", None) or fitted.n_sweeps
        return int(rounds), fitted.predict(np.column_stack(test[:2]))

    return run


def pairs(data: Data) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return what our models take."""
    return np.column_stack(data[:2]), data[2]


def of_als() -> Any:
    from cofactor.ratings import ALS

    return ALS(FACTORS, alpha=60.0, max_iter=ROUNDS, tol=0.0, random_state=0)


def of_mmmf() -> Any:
    from cofactor.ratings import MMMF

    return MMMF(FACTORS, alpha=100.0, random_state=0)


def of_probit() -> Any:
    from cofactor.ratings import OrdinalProbit

    return OrdinalProbit(10, n_sweeps=100, burn_in=30, random_state=0)


def implicit_als(read: Read, test: Data) -> tuple[int, None]:
    from implicit.cpu.als import AlternatingLeastSquares

    users, items, ratings = read()
    model = AlternatingLeastSquares(FACTORS, iterations=ROUNDS, num_threads=2, random_state=0)
    model.fit(sparse.csr_matrix((ratings, (users, items)), (USERS + 1, ITEMS + 1)), show_progress=False)
    return ROUNDS, None


def cmfrec_als(read: Read, test: Data) -> tuple[int, NDArray[Any]]:
    from cmfrec import CMF

    users, items, ratings = read()
    model = CMF(k=FACTORS, lambda_=5.0, niter=ROUNDS, nthreads=2, use_float=True, random_state=0, verbose=False)
    model.fit(sparse.coo_matrix((ratings, (users, items)), (USERS + 1, ITEMS + 1)))
    return ROUNDS, np.asarray(model.predict(*test[:2]))


def libmf_sgd(read: Read, test: Data) -> tuple[int, NDArray[Any]]:
    from libmf import mf

    rounds = 20
    model = mf.MF(k=FACTORS, nr_iters=rounds, nr_threads=2, eta=0.05, lambda_p2=0.05, lambda_q2=0.05, quiet=True)
    model.fit(np.column_stack(read()).astype(np.float32))
    return rounds, np.asarray(model.predict(np.column_stack(test[:2])))


def spark_als(read: Read, test: Data) -> tuple[int, NDArray[Any]]:
    import pandas as pd
    from pyspark.ml.recommendation import ALS
    from pyspark.sql import SparkSession

    rounds, folder = 2, Path(sys.argv[3])
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "16g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    files = []
    for name, (users, items, ratings) in (("train", read()), ("test", test)):
        files.append(str(folder / f"spark-{name}.parquet"))
        pd.DataFrame({"user": users, "item": items, "rating": ratings}).to_parquet(files[-1])
    model = ALS(rank=FACTORS, maxIter=rounds, regParam=0.05, seed=0, userCol="user", itemCol="item").fit(
        spark.read.parquet(files[0])
    )
    rows = model.transform(spark.read.parquet(files[1])).toPandas()
    found = rows.set_index(["user", "item"])["prediction"].reindex(pd.MultiIndex.from_arrays(test[:2]))
    spark.stop()
    return rounds, found.fillna(float(test[2].mean())).to_numpy()


METHODS: dict[str, Any] = {
    "`ALS`": ours(of_als),
    "`MMMF`": ours(of_mmmf),
    "`OrdinalProbit`, 10 factors": ours(of_probit),
    "implicit ALS, conjugate gradients": implicit_als,
    "cmfrec ALS": cmfrec_als,
    "LIBMF, stochastic gradients": libmf_sgd,
    "Spark ALS, local[2]": spark_als,
}


def split(folder: Path) -> tuple[Data, Data]:
    """Return a training part and a hundredth for the error."""
    path = folder / "25m.parquet"
    if not path.exists():
        make(folder / "25m", USERS, ITEMS, RATINGS)
    columns = pyarrow.parquet.read_table(path)
    arrays = [columns[name].to_numpy() for name in ("user", "item", "rating")]
    apart = np.random.default_rng(1).random(len(arrays[0])) < 0.01
    train, test = tuple(one[~apart] for one in arrays), tuple(one[apart] for one in arrays)
    return train, test  # type: ignore[return-value]


def tree_peak(stop: Any, found: list[float]) -> None:
    """Follow the memory of this process and of those it starts (Java), in GB."""
    import psutil

    me = psutil.Process()
    while not stop.wait(0.1):
        members = [me, *me.children(recursive=True)]
        found.append(sum(one.memory_info().rss for one in members if one.is_running()) / 1e9)


def one(name: str, file: str) -> dict[str, Any]:
    """Return what a model took in this process."""
    import threading

    data = np.load(file)
    read, test = (lambda: tuple(data[f"train{k}"] for k in range(3))), tuple(data[f"test{k}"] for k in range(3))
    stop, memory = threading.Event(), [0.0]
    watcher = threading.Thread(target=tree_peak, args=(stop, memory))
    watcher.start()
    began, busy = time.perf_counter(), time.process_time()
    rounds, predicted = METHODS[name](read, test)
    seconds, used = time.perf_counter() - began, time.process_time() - busy
    stop.set()
    watcher.join()
    error = None if predicted is None else float(np.sqrt(np.mean((predicted - test[2]) ** 2)))
    return {"rounds": rounds, "seconds": seconds, "used": used, "peak": max(memory), "rmse": error}


def run(folder: Path, names: list[str]) -> None:
    """Publish all, or print those named."""
    train, test = split(folder)
    file = folder / "25m.npz"
    np.savez(file, **{f"{part}{k}": a for part, of in (("train", train), ("test", test)) for k, a in enumerate(of)})
    del train, test
    rows, first = [], None
    for name in names or METHODS:
        command = [sys.executable, __file__, "--one", name, str(folder), str(file)]
        done = subprocess.run(command, env=os.environ | THREADS, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        each = found["seconds"] / found["rounds"]
        first = first or each
        error = "–" if found["rmse"] is None else f"{found['rmse']:.4f}"
        rows.append([name, found["rounds"], f"{found['seconds']:.0f}", f"{each:.2f}", f"{each / first:.2f}",
                     f"{found['used']:.0f}", f"{found['peak']:.2f}", error])  # fmt: skip
        print(rows[-1], flush=True)
    header = ["model", "rounds", "s in all", "s a round", "ratio", "CPU s", "peak GB", "RMSE"]
    text = table(header, rows)
    print(text) if names else publish("25 million ratings", text)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(json.dumps(one(sys.argv[2], sys.argv[4])))
    else:
        run(Path(sys.argv[1]), sys.argv[2:])
