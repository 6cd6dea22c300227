"""The page on adding a method shows the source as it is."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from tests.children import forking

import cofactor
from cofactor.labels.embedding import plst

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adding-a-method.md"


def test_the_listing_is_the_source():
    listing = PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    assert listing == Path(plst.__file__).read_text(encoding="utf-8")


def test_the_page_names_files_that_exist():
    root = Path(cofactor.__file__).parent
    text = PAGE.read_text(encoding="utf-8")
    names = re.findall(r"`((?:labels|model)/\w+\.py)`", text)
    assert len(set(names)) >= 8
    for name in names:
        assert (root / name).is_file()


def run_pytest(arguments: list[str], said: Path) -> None:
    """Run other tests in this process, which was forked for that."""
    file = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.exit(pytest.main(arguments))


@pytest.mark.evidence
@pytest.mark.processes
def test_the_skeleton_passes_the_contract_tests(tmp_path):
    """A reader begins with it: it is registered as the page says, and its tests run."""
    skeleton = PAGE.read_text(encoding="utf-8").split("```python\n")[2].split("```")[0]
    assert "class Mine(LabelModel)" in skeleton
    folder = shutil.copytree(ROOT / "tests" / "contract_labels", tmp_path / "contract_labels")
    (folder / "mine.py").write_text(skeleton, encoding="utf-8")
    models = folder / "models.py"
    registered = """
from cofactor.labels import MODELS
from .mine import Mine

MODELS["Mine"] = Mine
CASES = {"PLST": CASES["PLST"], "Mine": Mine.paper(random_state=0)}  # the others are tested where they stand
"""
    before, cases, after = models.read_text(encoding="utf-8").partition("\n#: Cases that learn")
    models.write_text(before + registered + cases + after, encoding="utf-8")
    arguments = ["-q", "-n", "0", "-p", "no:cacheprovider", "-k", "Mine", str(folder)]
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)]
    process = forking().Process(target=run_pytest, args=([*arguments, *settings], tmp_path / "said"))
    process.start()
    process.join()
    said = (tmp_path / "said").read_text()
    assert process.exitcode == 0, said
    assert int(re.findall(r"(\d+) passed", said)[0]) > 30
