"""Values of options as users write them."""

from __future__ import annotations

import pytest

from cofactor.errors import InvalidInputError
from cofactor.tasks.options import parse_levels


def test_a_range_holds_the_numbers_that_a_file_holds() -> None:
    """0.1 + 2 · 0.1 is not the float of 0.3, which a file of ratings gives."""
    assert parse_levels("0.1:0.9:0.1") == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert parse_levels("-10:10:0.05")[3:5] == [-9.85, -9.8]


@pytest.mark.parametrize(
    "text", ["1:5:1:9", "1:5:2.5", "1:5:3", "5:1", "1:5:0", "1:5:-1", "1:inf", "1:nan", "1:", "1:1"]
)
def test_ranges_that_are_none(text: str) -> None:
    with pytest.raises(InvalidInputError, match="expected increasing numbers such as"):
        parse_levels(text)
