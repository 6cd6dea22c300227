"""Compiling ahead: afterwards no fit, prediction, fold-in or recommendation compiles anything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.children import answer_of

import cofactor
from cofactor import warming
from cofactor.labels import MODELS as LABEL_MODELS
from cofactor.labels import TRANSFORMERS
from cofactor.ratings import MODELS as RATING_MODELS
from cofactor.ratings.ranking import MODELS as RANKING_MODELS

pytestmark = pytest.mark.processes

#: Counts what is compiled, not what is read from disk.
COUNT = """
import gc, warnings
import numpy as np
from numba.core.dispatcher import Dispatcher
from cofactor import labels, ratings
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
for name in names:
    if name in ratings.MODELS:
        X = np.argwhere(rng.random((40, 30)) < 0.5)
        y = rng.integers(0, 2, len(X)) * 2 - 1 if name == "BinaryMMMF" else rng.integers(1, 6, len(X))
        model = ratings.MODELS[name]()
        params = model.get_params()
        model.set_params(**{key: 2 for key in ("max_iter", "n_members") if key in params})
        settings = {"n_sweeps": 6, "burn_in": 2, "width": 2, "concentration": 3}  # also of whole numbers
        model.set_params(**{key: value for key, value in settings.items() if key in params})
        if name == "Ensemble":
            model.set_params(estimator=ratings.MMMF(3, 1.0, max_iter=2))
        model.fit(X, y)
        model.predict(X)
        model.recommend([0, 1])
        model.fold_in(X[:30], y[:30], known="replace").recommend([0])
    elif name in ratings.ranking.MODELS:
        X = np.argwhere(rng.random((40, 30)) < 0.5)
        model = ratings.ranking.MODELS[name]().fit(X)
        model.recommend()
        model.fold_in(X[:30], known="replace").recommend([0])
    else:
        X = rng.random((60, 9))
        model = {**labels.MODELS, **labels.TRANSFORMERS}[name]()
        params = model.get_params()
        model.set_params(**{key: 2 for key in ("max_iter", "n_estimators") if key in params})
        model.fit(X, X[:, :4] > X[:, 1:5])
        model.predict(X) if hasattr(model, "predict") else model.transform(X)
kernels = [o for o in gc.get_objects() if isinstance(o, Dispatcher)]
found = [f"{k.py_func.__qualname__}{s}" for k in kernels for s in k.stats.cache_misses]
"""
#: Whose loops take least to compile.
QUICK = "FeatureNMF"
#: Compiles ahead in a process of its own, which has imported all already.
WARMED = """
import os
from cofactor import warming
child = os.fork()
if child == 0:
    os._exit(warming.warm_up(models=names).n_models)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, not to import everything twice")
@pytest.mark.evidence
def test_in_a_new_folder_what_was_warmed_up_compiles_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "warm"
    code = f"names = [{QUICK!r}]\n{WARMED}{COUNT}print(found)"
    code += f"""
from pathlib import Path
before = warming.is_warm(names)
next(Path({str(folder)!r}).rglob("*.kernel")).unlink()
print(before, warming.is_warm(names))"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | {"COFACTOR_CACHE": str(folder)}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\nTrue False\n", "")


@pytest.mark.evidence
def test_after_warm_up_no_model_compiles_anything() -> None:
    cofactor.warm_up()
    assert warming.is_warm()
    assert cofactor.warm_up().n_models == 0
    names = [*RATING_MODELS, *RANKING_MODELS, *LABEL_MODELS, *TRANSFORMERS]
    assert answer_of(f"{COUNT}answer.send(found)", names=names) == []


def test_progress_is_told() -> None:
    seen: list[tuple[int, int, str]] = []
    warmth = warming.warm_up(models=["PLST"], callback=lambda *step: seen.append(step))
    assert seen == [(k + 1, warmth.n_models, "PLST") for k in range(warmth.n_models)]


def test_every_setting_is_of_a_model() -> None:
    assert set(warming.RATINGS) <= set(RATING_MODELS)
    assert set(warming.RANKING) <= set(RANKING_MODELS)
    assert set(warming.LABELS) <= set(LABEL_MODELS)
