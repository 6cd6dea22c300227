"""What the documents say of the code, and the code of the documents: nothing points to what a reader does not have."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORRECTIONS = (ROOT / "docs" / "corrections.md").read_text(encoding="utf-8")
ANCHORS = set(re.findall(r'<a id="(c\d+)"></a>', CORRECTIONS))


def texts() -> list[Path]:
    folders = [ROOT / name for name in ("src", "tests", "benchmarks", "docs")]
    found = [path for folder in folders for kind in ("py", "md", "toml") for path in folder.rglob(f"*.{kind}")]
    return [*found, ROOT / "README.md", ROOT / "CHANGELOG.md"]


def test_every_correction_that_is_cited_is_listed() -> None:
    cited = {}
    citation = re.compile(r"correction(?:s\.md,)?((?:\s*(?:and|to|,)?\s*C\d+a?)+)")
    for path in texts():
        for numbers in citation.findall(path.read_text(encoding="utf-8")):
            for number in re.findall(r"C(\d+)", numbers):
                cited.setdefault(f"c{number}", path.name)
    missing = {anchor: path for anchor, path in cited.items() if anchor not in ANCHORS}
    assert cited
    assert not missing


def test_every_test_that_a_correction_names_exists() -> None:
    names = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", CORRECTIONS)
    assert len(names) > 30
    for path, function in names:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        known = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert not function or function in known, f"{path} has no {function}"


#: Files that whoever has this repository does not have.
@pytest.mark.parametrize("word", ["ERR" + "ATA", "METH" + "ODS-", "REA" + "CH-", "DES" + "IGN"])
def test_nothing_points_outside_the_repository(word: str) -> None:
    pattern = re.compile(rf"\b{word}")
    found = [str(path.relative_to(ROOT)) for path in texts() if pattern.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_every_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`((?:[\w-]+/)+[\w-]+\.py|\w+\.py)`", text))
    assert len(files) > 40
    missing = [name for name in files if not (ROOT / name).exists() and not (ROOT / "src" / "cofactor" / name).exists()]
    assert sorted(missing) == []
