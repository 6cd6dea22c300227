"""Arrays of a safetensors file as views of its bytes: a large model is in memory once while it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError

__all__ = ["arrays_within"]

#: Names that the format gives to types which NumPy has.
_TYPES = {"BOOL": "?", "C64": "<c8"} | {
    f"{name}{8 * size}": f"<{kind}{size}"
    for name, kind, sizes in (("I", "i", (1, 2, 4, 8)), ("U", "u", (1, 2, 4, 8)), ("F", "f", (2, 4, 8)))
    for size in sizes
}


def arrays_within(data: NDArray[np.uint8], described: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays that lie in bytes, one after the other.

    The package of the format copies each of them, and a file of 430 MB took a third of a second more and twice the
    memory.

    Parameters
    ----------
    data : ndarray of shape (n,), uint8
        What follows the header of the file. The arrays are views of it.
    described : mapping from str to mapping
        Type, shape, and first byte and end of each array, as in the header.

    Raises
    ------
    InvalidInputError
        If the description is not one, or does not say of each byte, once, to which array it belongs.

    Examples
    --------
    >>> data = np.array([1.0, 2.0], dtype="<f4").view(np.uint8)
    >>> arrays_within(data, {"mean": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}})
    {'mean': array([[1.],
           [2.]], dtype=float32)}
    """
    places = {name: _place(name, one) for name, one in described.items()}
    end = 0
    for name, (first, last, _, _) in sorted(places.items(), key=lambda item: item[1][:2]):
        if first != end:
            raise InvalidInputError(f"{name} begins at byte {first}, expected {end}")
        end = last
    if end != len(data):
        raise InvalidInputError(f"there are {len(data)} bytes of arrays, expected {end}")
    return {name: _aligned(data[a:b].view(dtype).reshape(shape)) for name, (a, b, dtype, shape) in places.items()}


def _place(name: str, described: Any) -> tuple[int, int, np.dtype[Any], tuple[int, ...]]:
    """Return the first byte, the end, the type and the shape of an array."""
    if not isinstance(described, Mapping) or described.keys() != {"dtype", "shape", "data_offsets"}:
        raise InvalidInputError(f"{name} lacks its type, shape or place")
    kind, shape, place = described["dtype"], described["shape"], described["data_offsets"]
    if not isinstance(kind, str) or kind not in _TYPES:
        raise InvalidInputError(f"{name} is of type {kind!r}, which NumPy does not have")
    for numbers in (shape, place):
        if not isinstance(numbers, list) or not all(type(number) is int and number >= 0 for number in numbers):
            raise InvalidInputError(f"shape and place of {name} must be whole numbers")
    dtype = np.dtype(_TYPES[kind])
    if len(place) != 2 or place[1] - place[0] != math.prod(shape) * dtype.itemsize:
        raise InvalidInputError(f"{name} does not fit in its place")
    return place[0], place[1], dtype, tuple(shape)


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.flags.aligned else array.copy()
