"""The page on adding a method shows the source as it is."""

import re
from pathlib import Path

import cofactor
from cofactor.labels.embedding import plst

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-method.md"


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
