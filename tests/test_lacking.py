"""Without real data the tests that need them are skipped, and say so; in `.ci/run` they fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: A test with the fixture of the folder, one that loads a set itself, and an example in a docstring.
THREE = ("tests/datasets/test_jester.py", "tests/datasets/test_multilabel.py", "src/cofactor/datasets/load.py")


#: Runs them twice in one process, without and with `--complete`.
RUNS = """
import pytest
for words in ([], ["--complete"]):
    print("ended with", int(pytest.main([*chosen, *words])), flush=True)
"""


@pytest.mark.evidence
def test_what_needs_data_is_skipped_aloud_or_fails(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COFACTOR_", "PYTEST_"))}
    chosen = ["-n", "0", "-q", "--color=no", *THREE, "-k", "binned or genbase_without or load_ratings"]
    found = subprocess.run(
        [sys.executable, "-c", f"chosen = {[*chosen, '-p', 'no:cacheprovider']!r}\n{RUNS}"],
        env=kept | {"XDG_CACHE_HOME": str(tmp_path)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    usual, ended, rest = found.stdout.partition("ended with 0\n")
    complete, failed, _ = rest.partition("ended with 1\n")
    assert ended, found.stdout
    assert failed, found.stdout
    lacking = "3 tests DID NOT RUN: this machine lacks real data (COFACTOR_DATA)"
    assert lacking in usual, usual
    assert lacking not in complete, complete
