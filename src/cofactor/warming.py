"""Compiling all kernels ahead: every model is fitted to a few rows, which compiles the kernels that it calls.

So this module names almost no kernels, and a new model is warmed up as soon as it is in its registry. `RATINGS` and
`LABELS` hold settings that call other kernels than the default settings.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from cofactor.datasets import read_libsvm
from cofactor.interrupts import begin_worker, block_interrupt
from cofactor.kernels import cache, threads
from cofactor.labels import MODELS as LABEL_MODELS
from cofactor.labels import TRANSFORMERS
from cofactor.lazy import gc_disabled
from cofactor.model.splits import StratifiedLabelKFold
from cofactor.progress import on_compile
from cofactor.ratings import MMMF, RatingModel
from cofactor.ratings import MODELS as RATING_MODELS
from cofactor.ratings.ranking import MODELS as RANKING_MODELS

#: Settings of rating models besides the default ones. The precision is the default one: kernels of another precision
#: are compiled when they are first used.
RATINGS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "MMMF": ({"construction": "immediate"}, {"margin": "logistic"}, {"margin": "modified-square"}),
    "ALS": ({"solver": "cg"},),
    "PMF": ({"solver": "sgd"}, {"link": "logistic", "solver": "lbfgs"}),
    "RatingNMF": ({"loss": "kl"}, {"loss": "itakura-saito"}, {"loss": "beta"}),
    "RatingSVD": ({"fill": "item-mean"},),
    "IPMMMF": ({"item_prior": "learned", "alpha_bias": 1.0},),
    "OrdinalProbit": ({"implicit": None}, {"implicit": "sparse"}, {"time": True}),
    "BPMF": ({"precision": 2.0},),
    "URP": ({"concentration": "learn"},),
    "GPLVM": ({"kernel": "sum"},),
    "GibbsMMMF": ({"prior": "fixed", "biases": False}, {"implicit": "low-rank"}),
    "GibbsIPMMMF": ({"prior": "learned", "biases": False},),
    "Ensemble": ({"estimator": MMMF(2, 1.0, max_iter=2)},),
}
#: Settings of implicit-feedback models besides the default ones.
RANKING: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "EASE": ({"solver": "primal"}, {"solver": "dual"}, {"solver": "low-rank"}),
    "ImplicitALS": ({"solver": "cg"},),
}
#: Settings of label models besides the default ones.
LABELS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "OMF": ({"solver": "sgd"},),
    "LEML": ({"loss": "logistic"},),
    "BinaryRelevance": ({"estimator": Ridge()}, {"estimator": DecisionTreeClassifier()}),
}
#: Parameters that make a fit as short as possible; after three iterations solvers do what they do once.
_LEAST = {
    "n_factors": 2, "n_components": 2, "n_groups": 2, "n_implicit": 2, "n_neighbors": 3, "n_members": 2,
    "n_estimators": 2, "max_iter": 4, "n_sweeps": 6, "burn_in": 2,
}  # fmt: skip


class WarmUpResult(NamedTuple):
    """What `warm_up` did."""

    n_models: int
    seconds: float


def warm_up(
    *,
    n_jobs: int | None = None,
    callback: Callable[[int, int, str], None] | None = None,
    models: Sequence[str] | None = None,
    plain: bool = False,
) -> WarmUpResult:
    """Compile the kernels of models, unless that was done before; see `cofactor.warm_up`.

    Parameters
    ----------
    n_jobs, callback
        As in `cofactor.warm_up`.
    models : sequence of str, optional
        Class names of models; by default all.
    plain : bool, default=False
        Leave out what other settings than the default ones need besides.

    Returns
    -------
    WarmUpResult
    """
    start = time.perf_counter()
    n_models = 0
    with compiling(n_jobs=n_jobs, models=models, plain=plain) as steps:
        for n_models, total, name in steps:
            if callback is not None:
                callback(n_models, total, name)
    return WarmUpResult(n_models, time.perf_counter() - start)


@contextmanager
def compiling(
    *, n_jobs: int | None = None, models: Sequence[str] | None = None, plain: bool = False
) -> Iterator[Iterator[tuple[int, int, str]]]:
    """Compile the kernels of models beside the block, in processes that end with it, whatever ends it.

    With one process, or where nothing can be kept on disk, this process compiles them as the steps are asked for.

    Parameters
    ----------
    n_jobs, models, plain
        As in `warm_up`.

    Yields
    ------
    iterator of (int, int, str)
        Waits for each model: how many are done, of how many, and the name of this one. Nothing if all was done before.
    """
    if is_warm() or is_warm(models, plain=plain):
        yield iter(())
        return
    names = [name for name in _names() if models is None or name in models]
    n_processes = 1 if cache.fault() else min(effective_n_jobs(n_jobs), len(names))
    with ExitStack() as stack:
        done = stack.enter_context(_in_processes(names, plain, n_processes)) if n_processes > 1 else _here(names, plain)
        yield _counted(done, len(names), _list(models, plain))


def _counted(done: Iterator[tuple[str, set[str]]], total: int, kept_as: str) -> Iterator[tuple[int, int, str]]:
    """Count models that are done; when all are, keep a list of their kernels."""
    used = set[str]()
    for number, (name, kernels) in enumerate(done, 1):
        used |= kernels
        yield number, total, name
    cache.keep_list(kept_as, used)


def is_warm(models: Sequence[str] | None = None, *, plain: bool = False) -> bool:
    """Return whether the kernels of models, by default of all, were compiled before, and are still on disk."""
    return cache.has_all_of(_list(models, plain))


# ---------------------------------------------------------------- what is run


def _names() -> list[str]:
    """Return the class names of all models.

    Models of ratings share kernels, which processes that run at once would each compile, and share few with those of
    labels: one process begins with ratings, the others with labels. What takes long comes before what does not, so that
    all processes end together. Trees come before forests that consist of them, which would follow at the same moment.
    """
    labels = ("MLDecisionTree", "BinaryRelevance", *LABEL_MODELS, *TRANSFORMERS)
    first = ("OrdinalProbit", *labels, "GPLVM", "MMMF", "IPMMMF", "GibbsIPMMMF")
    return list(dict.fromkeys([*first, *RATING_MODELS, *RANKING_MODELS]))


def _here(names: Sequence[str], plain: bool) -> Iterator[tuple[str, set[str]]]:
    """Run models one after another."""
    for name in names:
        _run(name, plain)
        yield name, cache.names_used()


@contextmanager
def _in_processes(names: Sequence[str], plain: bool, n: int) -> Iterator[Iterator[tuple[str, set[str]]]]:
    """Run models in processes of our own, which can be killed at any time: a file of the cache is whole or not there.

    Those of joblib cannot: it waits for what they have begun, and for ever if it is interrupted twice.
    """
    waiting, answers = SimpleQueue[str](), SimpleQueue[str]()
    for name in names:
        waiting.put(name)
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; from cofactor import warming; warming._serve({os.getpid()}, {plain})"
    )
    processes = []
    try:
        with block_interrupt():
            for _ in range(n):
                pipe = subprocess.PIPE
                processes.append(
                    subprocess.Popen([sys.executable, "-P", "-c", code], stdin=pipe, stdout=pipe, text=True)
                )
        for process in processes:
            Thread(target=_attend, args=(process, waiting, answers), name="cofactor compiling", daemon=True).start()
        yield (_answer(answers.get()) for _ in names)
    finally:
        with block_interrupt():
            for process in processes:
                process.kill()
            for process in processes:
                process.wait()


def _attend(process: subprocess.Popen[str], waiting: SimpleQueue[str], answers: SimpleQueue[str]) -> None:
    """Hand models to a process, one after another, and its answers on; an empty one says that it has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with process.stdin, process.stdout:
            while True:
                name = waiting.get_nowait()
                process.stdin.write(f"{name}\n")
                process.stdin.flush()
                answers.put(process.stdout.readline())
    except Empty:
        return
    except OSError:  # also where it closes the pipe to one that was killed
        answers.put("")


def _answer(line: str) -> tuple[str, set[str]]:
    if not line:
        raise RuntimeError("a process that compiled kernels has ended before it was done")
    name, kernels = json.loads(line)
    return name, set(kernels)


def _serve(parent: int, plain: bool) -> None:
    """Run models whose names stand on standard input; the answers are lines on standard output."""
    begin_worker(parent)
    for line in sys.stdin:
        name = line.strip()
        _run(name, plain)
        print(json.dumps([name, sorted(cache.names_used())]), flush=True)


def _run(name: str, plain: bool) -> None:
    """Fit models of a class to a few rows and call their methods.

    One process runs all settings of a class: several processes would each compile the kernels that these share.
    """
    with gc_disabled(), warnings.catch_warnings(), threads.thread_limit(2), on_compile(lambda: None):
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        if name in RATING_MODELS:
            for settings in _settings(RATINGS, name, plain):
                _run_ratings(_small(RATING_MODELS[name], settings))
        elif name in RANKING_MODELS:
            for settings in _settings(RANKING, name, plain):
                _run_interactions(_small(RANKING_MODELS[name], settings))
        else:
            _run_beside_labels()
            for settings in _settings(LABELS, name, plain):
                for dtype in ("float64", "float32"):
                    _run_labels({**LABEL_MODELS, **TRANSFORMERS}[name], dtype, settings)


def _settings(others: Mapping[str, Sequence[Mapping[str, Any]]], name: str, plain: bool) -> Sequence[Mapping[str, Any]]:
    return ({},) if plain else ({}, *others.get(name, ()))


def _small(kind: type[Any], settings: Mapping[str, Any]) -> Any:
    """Return a model of a class, with parameters that make its fit short."""
    model = kind()
    params = model.get_params(deep=False)
    least: dict[str, Any] = {key: value for key, value in _LEAST.items() if key in params}
    if params.get("alpha") == "auto":
        least["alpha"] = 1.0
    seed = {"random_state": 0} if "random_state" in params else {}
    return model.set_params(**{**least, **seed, **settings})


def _run_ratings(model: RatingModel) -> None:
    levels = (-1.0, 1.0) if type(model).__name__ == "BinaryMMMF" else (1.0, 2.0, 3.0, 4.0, 5.0)
    X = np.array([(u, i, 60 * u + i) for u in range(12) for i in range(10) if (u + 2 * i) % 3])  # with times
    y = np.array(levels)[(X[:, 0] * X[:, 1] + X[:, 1]) % 7 % len(levels)]
    model.fit(X, y)
    for fitted in (model, model.fold_in(X[:20], y[:20], known="replace")):
        fitted.predict(X)
        fitted.decision_function(X)
        fitted.margins(X)
        fitted.recommend(X[:2, 0], 2)
        if hasattr(fitted, "predict_proba"):
            fitted.predict_proba(X)
    model.update(X[:20], y[:20])
    model.complete()


def _run_interactions(model: Any) -> None:
    if "ratings" in model.get_params(deep=False):  # of what it holds, the rest is compiled with the models themselves
        model.set_params(ratings=None)
    X = np.array([(u, i) for u in range(12) for i in range(10) if (u + 2 * i) % 3])
    model.fit(X)
    if type(model).__name__ == "LogisticMF":  # which has others where users times items are many
        clone(model).fit(sparse.csr_array((np.ones(len(X)), X.T), shape=(6000, 6000)))
    for fitted in (model, model.fold_in(X[:20], known="replace")):
        fitted.recommend(n=2)
    model.update(X[:20])


def _run_labels(kind: type[Any], dtype: str, settings: Mapping[str, Any]) -> None:
    i, j = np.arange(24)[:, None], np.arange(5)
    X = ((3 * i + 5 * j + i * j) % 7).astype(dtype)
    Y = (X[:, :4] > X[:, 1:]).astype(int)
    for features in (X, sparse.csr_array(X)):
        model = _small(kind, settings).fit(features, Y)
        for method in ("predict", "decision_function", "predict_proba", "transform"):
            if hasattr(model, method):
                getattr(model, method)(features)


def _run_beside_labels() -> None:
    """Read a file and split it into folds, as whoever tags what a file holds does before a fit."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "labels.svm")
        path.write_text("0,1 1:1\n1 2:.5\n" * 4)
        data = read_libsvm(path)
    list(StratifiedLabelKFold(2).split(data.X, data.Y))


def _list(models: Sequence[str] | None, plain: bool) -> str:
    """Return a name for the list of the kernels of models: a hash of all that it depends on."""
    names = _names() if models is None else sorted(models)
    facts = repr([names, plain, RATINGS, RANKING, LABELS, cache.all_sources()])
    return hashlib.sha256((facts + Path(__file__).read_text(encoding="utf-8")).encode()).hexdigest()[:40]
