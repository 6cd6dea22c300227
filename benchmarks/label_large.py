"""LabelRidge on large made-up sets, PLST and LEML on 20,000 labels, fits to chunks: CPU seconds and peak memory.

    python benchmarks/label_large.py [NAME ...]      measure some of the sets, and show the rows
    python benchmarks/label_large.py embeddings      PLST and LEML, into docs/benchmarks
    python benchmarks/label_large.py chunks          fits to files larger than the memory they take

Each is a process of its own. `label_costs.py large` writes the first table there. All times are with one BLAS
thread.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import publish, table
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import Ridge

from cofactor.labels import MODELS, PLST, BinaryRelevance, LabelRidge
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


# ---------------------------------------------------------------- chunks

CHUNKED = Size(400_000, 2_000, 100, 0, "")
ROWS = 10_000  # of a chunk
IN_CHUNKS = {
    "LabelRidge(kernel='linear')": lambda: LabelRidge(kernel="linear", random_state=0),
    "PLST()": lambda: PLST(random_state=0),
    "BinaryRelevance(Ridge())": lambda: BinaryRelevance(Ridge(), random_state=0),
    "BinaryRelevance()": lambda: BinaryRelevance(random_state=0),
}


class Files:
    """Features in single precision and labels of two files, of which a chunk is in memory at a time."""

    def __init__(self, folder: str, size: Size) -> None:
        self.folder, self.size, self.n_passes = Path(folder), size, 0

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        self.n_passes += 1
        _, D, L, *_ = self.size
        for at in range(0, self.size.n, ROWS):
            X = np.fromfile(self.folder / "X", np.float32, ROWS * D, offset=4 * at * D)
            Y = np.fromfile(self.folder / "Y", np.uint8, ROWS * L, offset=at * L)
            yield X.reshape(-1, D), sparse.csr_array(Y.reshape(-1, L))

    def write(self) -> None:
        """Write the files."""
        with open(self.folder / "X", "wb") as features, open(self.folder / "Y", "wb") as labels:
            for at in range(0, self.size.n, ROWS):
                X, Y = rules(self.size, min(ROWS, self.size.n - at), seed=at)
                X.tofile(features)
                Y.tofile(labels)


def rules(size: Size, n: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Return standard normal features, and labels that follow linear rules of these and noise; about 3 are on."""
    truth = np.random.default_rng(12345).standard_normal((size.D, size.L), np.float32) / np.sqrt(np.float32(size.D))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, size.D), np.float32)
    return X, (X @ truth + rng.standard_normal((n, size.L), np.float32) > 2.6).astype(np.uint8)


def fit_files(folder: str, name: str) -> dict[str, Any]:
    """Return what a fit of this process to files took, and how good it is on 1,000 further instances."""
    chunks = Files(folder, CHUNKED)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    began = time.process_time()
    model = IN_CHUNKS[name]().fit(chunks)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    X, Y = rules(CHUNKED, N_TEST, seed=CHUNKED.n)
    f1 = float(label_report(Y, model.predict(X))["micro_f1"])
    return {"passes": chunks.n_passes, "seconds": seconds, "before": before, "peak": peak, "micro_f1": f1}


def chunk_rows(names: Iterable[str]) -> list[list[Any]]:
    """Return the rows of the table of fits to files, each measured in a process of its own."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        Files(folder, CHUNKED).write()
        for name in names:
            command = [sys.executable, __file__, "--files", folder, name]
            done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout)
            measured = [f"{found[key]:.2f}" for key in ("before", "peak", "micro_f1")]
            rows.append([name, found["passes"], f"{found['seconds']:.0f}", *measured])
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["--here"]:
        print(json.dumps(fit(given[1], given[2])))
    elif given[:1] == ["--files"]:
        print(json.dumps(fit_files(given[1], given[2])))
    elif given[:1] == ["chunks"]:
        head = ["model", "passes", "CPU s", "GB before the fit", "peak GB", "micro-F1"]
        publish("label costs: chunks", table(head, chunk_rows(given[1:] or IN_CHUNKS)))
    elif given == ["embeddings"]:
        rows = [[name, "30 s, 1 GB", *figures("labels", name)] for name in ("PLST", "LEML")]
        publish("label costs: 20,000 labels", table(["model", "asked", *HEADER[3:]], rows))
    else:
        large_rows(given or SETS)
