"""The errors that `planted.py` plants by hand still have a place in the sources, and tests to find them."""

from __future__ import annotations

import pytest
from tests.planted import ERRORS, ROOT, Planted


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_a_planted_error_stands_in_one_place(error: Planted) -> None:
    source = (ROOT / "src/cofactor" / error.file).read_text(encoding="utf-8")
    assert source.count(error.old) == 1
    assert error.new != error.old
    assert (ROOT / error.tests.split()[0].partition("::")[0]).exists()
