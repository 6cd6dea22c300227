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
from cofactor.ratings import MODELS as RATING_MODELS
from cofactor.ratings.ranking import MODELS as RANKING_MODELS

pytestmark = pytest.mark.processes

#: Whose kernels take least to compile.
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
    code = f"names = [{QUICK!r}]\n{WARMED}from tests.all_models import compiled_by\nprint(compiled_by(names))"
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
    code = "from tests.all_models import all_names, compiled_by; answer.send(compiled_by(all_names()))"
    assert answer_of(code) == []


def test_progress_is_told() -> None:
    seen: list[tuple[int, int, str]] = []
    warmth = warming.warm_up(models=["PLST"], callback=lambda *step: seen.append(step))
    assert seen == [(k + 1, warmth.n_models, "PLST") for k in range(warmth.n_models)]


def test_every_setting_is_of_a_model() -> None:
    assert set(warming.RATINGS) <= set(RATING_MODELS)
    assert set(warming.RANKING) <= set(RANKING_MODELS)
    assert set(warming.LABELS) <= set(LABEL_MODELS)
