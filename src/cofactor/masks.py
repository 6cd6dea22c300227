"""Masked arrays of NumPy: nothing in this package knows missing entries yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.errors import InvalidInputError


def refuse_masked(values: Any, argument: str) -> None:
    """Refuse a masked array in which something is masked, since what lies under the mask would count as observed.

    Parameters
    ----------
    values : object
        What a user gave; a list or a tuple may hold masked arrays.
    argument : str
        As what they gave it.

    Raises
    ------
    InvalidInputError
        If it is a masked array with a masked entry, or holds one.

    Examples
    --------
    >>> refuse_masked(np.ma.masked_equal([[1, 0], [7, 1]], 7), "y")
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: y is a masked array without a value in row 1, column 0: missing values are not \
supported; leave out its row, or fill it in with y.filled(value)
    """
    found = _first_masked(values)
    if found is None:
        return
    whole = isinstance(values, np.ma.MaskedArray)
    place = ", ".join(f"{axis} {k}" for axis, k in zip(("row", "column", "place"), found, strict=False))
    raise InvalidInputError(
        f"{argument} {'is' if whole else 'holds'} a masked array without a value in {place}: missing values are not "
        "supported",
        argument=argument,
        advice=f"leave out its row, or fill it in with {argument}{'' if whole else f'[{found[0]}]'}.filled(value)",
    )


def _first_masked(values: Any) -> tuple[int, ...] | None:
    """Return the place of the first masked entry of an array, or of a list or tuple of arrays; None without one."""
    if isinstance(values, np.ma.MaskedArray):
        return tuple(np.argwhere(np.ma.getmaskarray(values))[0].tolist()) if np.ma.is_masked(values) else None
    if isinstance(values, list | tuple) and any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, values))):
        for k, member in enumerate(values):
            inner = _first_masked(member)
            if inner is not None:
                return k, *inner
    return None
