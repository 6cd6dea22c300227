"""Checks of parameters."""

from functools import partial

import pytest
from tests.together import together

from cofactor.checks import check_choice, check_number, check_size
from cofactor.errors import InvalidInputError


@together("digits", [400, 5000])  # beyond floats; and beyond what Python writes
def test_a_number_of_hundreds_of_digits_is_refused_in_our_words(digits):
    with pytest.raises(InvalidInputError, match="n: expected a whole number of at least 1, with fewer digits"):
        check_number("n", 10**digits, low=1, whole=True)


@together("check", [partial(check_number, low=0, high=1), check_size])
def test_other_values_are_taken_and_named(check):
    for value in ("auto", None):
        check("x", value, also=["auto", None])
    with pytest.raises(InvalidInputError, match=r"x='abc': expected .*, or 'auto', or None$"):
        check("x", "abc", also=["auto", None])


@together(
    ("value", "message"),
    [
        ("correlated", "x='correlated': expected one of 'given', 'correlation', None; did you mean 'correlation'?"),
        ("none", "x='none': expected one of 'given', 'correlation', None"),
        ([1], r"x=\[1\]: expected one of"),
    ],
)
def test_choices_are_listed_with_the_nearest(value, message):
    with pytest.raises(InvalidInputError, match=r"x='c': expected one of 'a' \(first\), 'b'$"):
        check_choice("x", "c", {"a": "first", "b": int})
    check_choice("x", None, ["given", "correlation", None])
    with pytest.raises(InvalidInputError, match=message.replace("?", "[?]") + "$" * (value != [1])):
        check_choice("x", value, ["given", "correlation", None])
