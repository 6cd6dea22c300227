"""Checks of parameters."""

import pytest

from cofactor.errors import InvalidInputError
from cofactor.model.checks import check_number


@pytest.mark.parametrize("digits", [400, 5000])  # beyond floats; and beyond what Python writes
def test_a_number_of_hundreds_of_digits_is_refused_in_our_words(digits):
    with pytest.raises(InvalidInputError, match="n: expected a whole number of at least 1, with fewer digits"):
        check_number("n", 10**digits, low=1, whole=True)
