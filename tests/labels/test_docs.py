"""The page on adding a method shows the source as it is."""

import re
from pathlib import Path

import pytest
from tests.skeletons import ROOT, block_of, n_passed

import cofactor
from cofactor.labels.embedding import plst

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


@pytest.mark.evidence
@pytest.mark.processes
def test_the_skeleton_passes_the_contract_tests(tmp_path):
    """A reader begins with it: it is registered as the page says, and its tests run."""
    registered = """
from cofactor.labels import MODELS
from .mine import Mine

MODELS["Mine"] = Mine
CASES = {"PLST": CASES["PLST"], "Mine": Mine.paper(random_state=0)}  # the others are tested where they stand
"""
    insertions = {
        "mine.py": (block_of(PAGE.name, "class Mine(LabelModel)"), ""),
        "models.py": (registered, "\n#: Cases that learn"),
    }
    assert n_passed(ROOT / "tests" / "contract_labels", insertions, "Mine", tmp_path) > 30
