"""Contract tests of a model that a page of the documentation shows, registered as the page says."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from tests.children import forking

ROOT = Path(__file__).parents[1]


def block_of(page: str, words: str) -> str:
    """Return the one block of Python on a page below `docs` that has some words."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.S)
    (found,) = (block for block in blocks if words in block)
    return found


def n_passed(tests: Path, insertions: dict[str, tuple[str, str]], name: str, folder: Path) -> int:
    """Run the tests of a model in a copy of a folder, in a process of its own; return how many passed, and none failed.

    Parameters
    ----------
    tests : Path
        The folder.
    insertions : dict of str to (str, str)
        What to put into its files, before what: files that are not there hold this alone.
    name : str
        Words that the names of these tests have.
    folder : Path
        Where to put the copy.
    """
    copy = shutil.copytree(tests, folder / tests.name)
    for file, (text, before) in insertions.items():
        path = copy / file
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        assert before in old, f"{path} has no {before!r}"
        path.write_text(old.replace(before, text + before, 1), encoding="utf-8")
    arguments = ["-q", "-n", "0", "-p", "no:cacheprovider", "-k", name, str(copy)]
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
    process = forking().Process(target=_run, args=([*arguments, *settings], folder / "said"))
    process.start()
    process.join()
    said = (folder / "said").read_text()
    assert process.exitcode == 0, said
    return int(re.findall(r"(\d+) passed", said)[0])


def _run(arguments: list[str], said: Path) -> None:
    """Run other tests in this process, which was forked for that."""
    file = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.exit(pytest.main(arguments))
