"""Values of options as users write them."""

from __future__ import annotations

import pytest
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.service.options import parse_levels


def test_a_range_holds_the_numbers_that_a_file_holds() -> None:
    """0.1 + 2 · 0.1 is not the float of 0.3, which a file of ratings gives."""
    assert parse_levels("0.1:0.9:0.1") == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert parse_levels("-10:-5:0.05")[3:5] == [-9.85, -9.8]


@together(
    ("text", "fault"),
    [
        ("1:5:1:9", "a range has two or three numbers, not 4"),
        ("1:5:2.5", "steps of 2.5 from 1 do not reach 5 exactly"),
        ("5:1", "levels must increase, but 1 is not above 5"),
        ("1:1", "levels must increase, but 1 is not above 1"),
        ("1:5:0", "the step must be above 0, not 0"),
        ("1:5:-1", "the step must be above 0, not -1"),
        ("0:101", "these are 102 levels, but there can be at most 101"),
        ("1:inf", "'inf' is not a number"),
        ("1:1e400", "'1e400' is not a number"),
        ("1:", "a number is missing"),
        ("1-5", "'1-5' is not a number"),
        ("1,nan", "'nan' is not a number"),
        ("1,,3", "a number is missing"),
        ("1,2,2,3", "2 is there twice"),
        ("1,3,2", "levels must increase, but 2 follows 3"),
        ("down,Down", "down is there twice"),
        ("down,2", "'down' is not a number"),
        ("1:1e999999999", "'1e999999999' is beyond the numbers of a scale"),
        ("1e-999999999,1", "'1e-999999999' is beyond the numbers of a scale"),
        ("1:" + 5000 * "9", "'99999999999999999999' is beyond the numbers of a scale"),
        ("5", "there must be at least two levels"),
        (",".join(map(str, range(102))), "these are 102 levels, but there can be at most 101"),
    ],
)
def test_levels_that_are_refused(text: str, fault: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_levels(text)
    advice = "write levels as 1,2,3,4,5, as a range such as 1:5 or 0.5:5:0.5 (from:to:step), or as words: down,up"
    assert str(caught.value) == f"levels={text!r}: {fault}; {advice}"
