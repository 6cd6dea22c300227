"""LabelRidge on large made-up sets, PLST and LEML on 20,000 labels: CPU seconds and peak memory.

    python benchmarks/label_large.py [NAME ...]      measure some of the sets, and show the rows
    python benchmarks/label_large.py embeddings      PLST and LEML, into README.md

Each is a process of its own. `label_costs.py large` writes the first table into README.md. All times are with one BLAS
thread.
"""

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from common import publish, table
from scipy import sparse

from cofactor.labels import MODELS
from cofactor.metrics import label_report

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
N_TEST = 1000
HEADER = ["made-up data", "instances × features × labels", "asked", "CPU s", "peak GB of the process", "micro-F1"]


class Size(NamedTuple):
    """Numbers of instances, features and labels, words of an instance, and what was asked for."""

    n: int
    D: int
    L: int
    words: int
    asked: str


SETS = {
    "text": Size(3_000, 100_000, 50, 80, "15 s"),
    "labels": Size(10_000, 5_000, 20_000, 50, "90 s, 2 GB"),
    "text, conjugate gradients": Size(20_000, 50_000, 100, 80, "–"),
}


def documents(size: Size) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return counts of words whose frequencies follow Zipf's law, and labels that have words of their own.

    An instance has about three labels, frequent ones more often; three words of ten are those of its labels.
    """
    rng, n = np.random.default_rng(0), size.n + N_TEST
    tags = (size.L * rng.random((n, 3)) ** 2).astype(np.int64)
    tags[:, 2] = np.where(rng.random(n) < 0.3, tags[:, 0], tags[:, 2])
    tags[: size.L, 0] = np.arange(min(size.L, n))[: len(tags[: size.L])]  # most labels occur
    extra = np.arange(n, size.L)
    rows = np.concatenate([np.repeat(np.arange(n), 3), rng.integers(size.n, size=len(extra))])
    Y = sparse.csr_array((np.ones(len(rows), np.float32), (rows, np.concatenate([tags.ravel(), extra]))), (n, size.L))
    Y.sum_duplicates()
    Y.data[:] = 1
    general = (size.D * rng.random((n, size.words)) ** 3).astype(np.int64)
    own = rng.integers(0, size.D, size=(size.L, 20))
    of_tags = own[tags[np.arange(n)[:, None], rng.integers(0, 3, (n, size.words))], rng.integers(0, 20, general.shape)]
    words = np.where(rng.random(general.shape) < 0.3, of_tags, general)
    X = sparse.csr_array(
        (np.ones(words.size, np.float32), (np.repeat(np.arange(n), size.words), words.ravel())), (n, size.D)
    )
    X.sum_duplicates()
    return X, Y


def fit(name: str, model_name: str) -> dict[str, Any]:
    """Return what a fit of this process took, and how good it is on 1,000 further instances."""
    size = SETS[name]
    X, Y = documents(size)
    train, test = np.arange(size.n), np.arange(size.n, size.n + N_TEST)
    X_train, Y_train, X_test, Y_test = X[train], Y[train], X[test], Y[test]
    del X, Y
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[model_name](random_state=0).fit(X_train, Y_train)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    f1 = float(label_report(Y_test, model.predict(X_test))["micro_f1"])
    return {"seconds": seconds, "peak": peak, "micro_f1": f1}


def figures(name: str, model_name: str) -> list[str]:
    """Return CPU seconds, peak memory and micro-F1 of a model, measured in a process of its own."""
    command = [sys.executable, __file__, "--here", name, model_name]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    return [f"{found[key]:.2f}" for key in ("seconds", "peak", "micro_f1")]


def large_rows(names: Iterable[str]) -> list[list[str]]:
    """Return the rows of the table, each measured in a process of its own."""
    rows = []
    for name in names:
        size = SETS[name]
        shape = f"{size.n:,} × {size.D:,} × {size.L:,}"
        rows.append([name, shape, size.asked, *figures(name, "LabelRidge")])
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["--here"]:
        print(json.dumps(fit(given[1], given[2])))
    elif given == ["embeddings"]:
        rows = [[name, "30 s, 1 GB", *figures("labels", name)] for name in ("PLST", "LEML")]
        publish("label costs: 20,000 labels", table(["model", "asked", *HEADER[3:]], rows))
    else:
        large_rows(given or SETS)
