"""Without real data the tests that need them are skipped, and say so; in `.ci/run` they fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: A test with the fixture of the folder, one that loads a set itself, and an example in a docstring.
THREE = ("tests/datasets/test_jester.py", "tests/datasets/test_multilabel.py", "src/cofactor/datasets/load.py")


@pytest.mark.evidence
@pytest.mark.parametrize("complete", [False, True])
def test_what_needs_data_is_skipped_aloud_or_fails(complete: bool, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COFACTOR_", "PYTEST_"))}
    words = ["-n", "0", "-q", "--color=no", *(["--complete"] if complete else []), *THREE]
    chosen = ["-k", "binned or genbase_without or load_ratings", "-p", "no:cacheprovider"]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *chosen],
        env=kept | {"XDG_CACHE_HOME": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    said = found.stdout + found.stderr
    assert found.returncode == (1 if complete else 0), said
    assert ("3 tests DID NOT RUN: this machine lacks real data (COFACTOR_DATA)" in said) == (not complete), said
