"""Compiling ahead: afterwards no fit, prediction, fold-in or recommendation compiles anything."""

import os
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
#: Compiles ahead, tells what models compile then, and whether all is there; and again without one kernel.
WARMED = """
import os
from pathlib import Path
os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT), 2)
os.environ["COFACTOR_CACHE"] = folder
from cofactor import warming
from tests.all_models import compiled_by
child = os.fork()
if child == 0:
    os._exit(warming.warm_up(models=names).n_models)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
found = compiled_by(names), warming.is_warm(names)
next(Path(folder).rglob("*.kernel")).unlink()
answer.send((*found, warming.is_warm(names)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, not to import everything twice")
@pytest.mark.evidence
def test_in_a_new_folder_what_was_warmed_up_compiles_nothing(tmp_path: Path) -> None:
    said = tmp_path / "said"
    found = answer_of(WARMED, names=[QUICK], folder=str(tmp_path / "warm"), said=str(said))
    assert found == ([], True, False)
    assert said.read_text() == ""


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
