"""Equality of `Ratings`, to the bit."""

import numpy as np

from cofactor.ratings import Ratings

ARRAYS = ("indptr", "indices", "levels", "col_indptr", "col_indices", "to_csr", "times", "weights", "scale")


def assert_same(found: Ratings, expected: Ratings) -> None:
    assert found.users == expected.users
    assert found.items == expected.items
    assert found.rating_scale == expected.rating_scale
    for name in ARRAYS:
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert (ours is None) == (theirs is None), name
        if ours is not None:
            assert ours.dtype == theirs.dtype, name
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
