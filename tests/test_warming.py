"""Compiling ahead: afterwards no fit, prediction, fold-in or recommendation compiles anything."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cofactor
from cofactor import warming
from cofactor.labels import MODELS as LABEL_MODELS
from cofactor.ratings import MODELS as RATING_MODELS

#: Counts what is compiled, not what is read from disk.
COUNT = """
import gc, json, sys, warnings
import numpy as np
from numba.core.dispatcher import Dispatcher
from cofactor import labels, ratings
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
found = {}
for name in sys.argv[1:]:
    if name in ratings.MODELS:
        X = np.argwhere(rng.random((40, 30)) < 0.5)
        y = rng.integers(0, 2, len(X)) * 2 - 1 if name == "BinaryMMMF" else rng.integers(1, 6, len(X))
        model = ratings.MODELS[name]()
        names = model.get_params()
        model.set_params(**{key: 2 for key in ("max_iter", "n_members") if key in names})
        settings = {"n_sweeps": 6, "burn_in": 2, "width": 2, "concentration": 3}  # also of whole numbers
        model.set_params(**{key: value for key, value in settings.items() if key in names})
        if name == "Ensemble":
            model.set_params(estimator=ratings.MMMF(3, 1.0, max_iter=2))
        model.fit(X, y)
        model.predict(X)
        model.recommend([0, 1])
        model.fold_in(X[:30], y[:30], known="replace").recommend([0])
    else:
        X = rng.random((60, 9))
        model = labels.MODELS[name]()
        names = model.get_params()
        model.set_params(**{key: 2 for key in ("max_iter", "n_estimators") if key in names})
        model.fit(X, X[:, :4] > X[:, 1:5])
        model.predict(X)
    kernels = [o for o in gc.get_objects() if isinstance(o, Dispatcher)]
    missed = [f"{k.py_func.__qualname__}{s}" for k in kernels for s in k.stats.cache_misses]
    found[name] = [text for text in missed if text not in sum(found.values(), [])]
print(json.dumps({name: missed for name, missed in found.items() if missed}))
"""
#: Compiles ahead in a process of its own, which has imported all already.
WARMED = """
import os
from cofactor import warming
child = os.fork()
if child == 0:
    os._exit(warming.warm_up(models=["PLST"]).n_models)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
"""


def compiled_by(*names: str, folder: Path | None = None, before: str = "") -> dict[str, list[str]]:
    """Return what models compile in a new process, by model."""
    environment = os.environ | ({} if folder is None else {"NUMBA_CACHE_DIR": str(folder)})
    code = [sys.executable, "-c", before + COUNT, *names]
    done = subprocess.run(code, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, not to import everything twice")
@pytest.mark.evidence
def test_in_a_new_folder_what_was_warmed_up_compiles_nothing(tmp_path: Path) -> None:
    assert compiled_by("PLST", folder=tmp_path / "warm", before=WARMED) == {}
    assert list((tmp_path / "warm").rglob("*.nbi"))


@pytest.mark.evidence
def test_after_warm_up_no_model_compiles_anything() -> None:
    cofactor.warm_up()
    assert warming.is_warm()
    assert cofactor.warm_up().n_models == 0
    assert compiled_by(*RATING_MODELS, *LABEL_MODELS) == {}


def test_progress_is_told() -> None:
    seen: list[tuple[int, int, str]] = []
    warmth = warming.warm_up(models=["PLST"], callback=lambda *step: seen.append(step))
    assert seen == [(k + 1, warmth.n_models, "PLST") for k in range(warmth.n_models)]


def test_other_sources_are_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    cofactor.warm_up()
    monkeypatch.setattr(warming, "__version__", "another")
    assert not warming.is_warm()


def test_every_setting_is_of_a_model() -> None:
    assert set(warming.RATINGS) <= set(RATING_MODELS)
    assert set(warming.LABELS) <= set(LABEL_MODELS)
