"""Without real data the tests that need them are skipped, and say so; in `.ci/run` they fail."""

from pathlib import Path

import pytest
from tests.children import answer_of

ROOT = Path(__file__).parents[1]
#: A test with the fixture of the folder, one that loads a set itself, and an example in a docstring.
THREE = ("tests/datasets/test_jester.py", "tests/datasets/test_multilabel.py", "src/cofactor/datasets/load.py")
RUN = """
import io, os, pytest, sys
for name in [name for name in os.environ if name.startswith(("COFACTOR_", "PYTEST_"))]:
    del os.environ[name]
os.environ["XDG_CACHE_HOME"] = cache
os.chdir(root)
sys.stdout = sys.stderr = said = io.StringIO()
answer.send((int(pytest.main(words)), said.getvalue()))
"""


@pytest.mark.evidence
@pytest.mark.processes
@pytest.mark.parametrize("complete", [False, True])
def test_what_needs_data_is_skipped_aloud_or_fails(complete: bool, tmp_path: Path) -> None:
    words = ["-n", "0", "-q", "--color=no", *(["--complete"] if complete else []), *THREE]
    chosen = ["-k", "binned or genbase_without or load_ratings", "-p", "no:cacheprovider"]
    status, said = answer_of(RUN, words=[*words, *chosen], root=str(ROOT), cache=str(tmp_path))
    assert status == (1 if complete else 0), said
    assert ("3 tests DID NOT RUN: this machine lacks real data (COFACTOR_DATA)" in said) == (not complete), said
