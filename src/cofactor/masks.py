"""Masked arrays of NumPy: nothing in this package knows missing entries yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.errors import InvalidInputError

__all__ = ["refuse_masked"]


def refuse_masked(values: Any, argument: str) -> None:
    """Refuse a masked array in which something is masked, since what lies under the mask would count as observed.

    Parameters
    ----------
    values : object
        What a user gave.
    argument : str
        As what they gave it.

    Raises
    ------
    InvalidInputError
        If it is a masked array with a masked entry.

    Examples
    --------
    >>> refuse_masked(np.ma.masked_equal([[1, 0], [7, 1]], 7), "y")
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: y is a masked array without a value in row 1, column 0: missing values are not \
supported; leave out its row, or fill it in with y.filled(value)
    """
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return
    first = np.argwhere(np.ma.getmaskarray(values))[0]
    place = ", ".join(f"{axis} {k}" for axis, k in zip(("row", "column", "place"), first, strict=False))
    raise InvalidInputError(
        f"{argument} is a masked array without a value in {place}: missing values are not supported",
        argument=argument,
        advice=f"leave out its row, or fill it in with {argument}.filled(value)",
    )
