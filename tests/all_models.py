"""Fit, predict, fold in and recommend with every model as it comes, read and split a file, and tell what was compiled.

A program of its own too, which needs the package alone: it ends with status 1 if anything was compiled.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numba.core.dispatcher import Dispatcher

from cofactor import labels, ratings
from cofactor.datasets import read_libsvm
from cofactor.evaluation import StratifiedLabelKFold


def compiled_by(names: Iterable[str]) -> list[str]:
    """Return the kernels that were compiled, and not read from disk, with their signatures."""
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _read_and_split()
        for name in names:
            if name in ratings.MODELS:
                _rate(name, rng)
            elif name in ratings.ranking.MODELS:
                X = np.argwhere(rng.random((40, 30)) < 0.5)
                model = ratings.ranking.MODELS[name]().fit(X)
                model.recommend()
                model.fold_in(X[:30], known="replace").recommend([0])
            else:
                _label(name, rng)
    kernels = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]
    return [f"{one.py_func.__qualname__}{signature}" for one in kernels for signature in one.stats.cache_misses]


def _rate(name: str, rng: np.random.Generator) -> None:
    X = np.argwhere(rng.random((40, 30)) < 0.5)
    y = rng.integers(0, 2, len(X)) * 2 - 1 if name == "BinaryMMMF" else rng.integers(1, 6, len(X))
    model = ratings.MODELS[name]()
    params = model.get_params()
    settings = {"n_sweeps": 6, "burn_in": 2, "width": 2, "concentration": 3}  # also of whole numbers
    settings |= {"max_iter": 5, "n_members": 2}
    model.set_params(**{key: value for key, value in settings.items() if key in params})
    if name == "Ensemble":
        model.set_params(estimator=ratings.MMMF(3, 1.0, max_iter=5))
    model.fit(X, y)
    model.predict(X)
    model.recommend([0, 1])
    model.fold_in(X[:30], y[:30], known="replace").recommend([0])


def _label(name: str, rng: np.random.Generator) -> None:
    X = rng.random((60, 9))
    model = {**labels.MODELS, **labels.TRANSFORMERS}[name]()
    params = model.get_params()
    model.set_params(**{key: 5 for key in ("max_iter", "n_estimators") if key in params})
    model.fit(X, X[:, :4] > X[:, 1:5])
    model.predict(X) if hasattr(model, "predict") else model.transform(X)


def _read_and_split() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "labels.svm")
        path.write_text("0,1 1:0.5 3:1\n1 2:1\n" * 20)
        data = read_libsvm(path)
    list(StratifiedLabelKFold(3).split(data.X, data.Y))


def all_names() -> list[str]:
    """Return the names of all models."""
    return [*ratings.MODELS, *ratings.ranking.MODELS, *labels.MODELS, *labels.TRANSFORMERS]


if __name__ == "__main__":
    found = compiled_by(sys.argv[1:] or all_names())
    print(*found, f"{len(found)} kernels were compiled", sep="\n")
    sys.exit(1 if found else 0)
