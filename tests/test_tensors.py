"""Views of the arrays of a safetensors file: as the package of the format reads them, and nothing that it refuses."""

import json

import numpy as np
import pytest
from safetensors import numpy as safetensors
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.persistence import arrays_within

TYPES = ["?", "i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8", "c8"]


def parted(data: bytes) -> tuple[np.ndarray, dict]:
    """Return what follows the header of a file, and the header."""
    start = 8 + int.from_bytes(data[:8], "little")
    return np.frombuffer(data[start:], np.uint8), json.loads(data[8:start])


def test_arrays_are_those_the_package_reads():
    rng = np.random.default_rng(0)
    shapes = [(), (0,), (3,), (2, 5), (4, 0, 2)]
    arrays = {f"{t}{shape}": np.asarray(9 * rng.random(shape)).astype(t) for t in TYPES for shape in shapes}
    data = safetensors.save(arrays)
    found, expected = arrays_within(*parted(data)), safetensors.load(data)
    assert found.keys() == expected.keys()
    for name, array in found.items():
        assert (array.dtype, array.shape) == (expected[name].dtype, expected[name].shape)
        assert array.tobytes() == expected[name].tobytes()
        assert array.flags.aligned


def test_arrays_are_views_where_they_are_aligned():
    data = np.zeros(13, np.uint8)
    place = {"dtype": "F32", "shape": [2]}
    views = arrays_within(data[:8], {"a": place | {"data_offsets": [0, 8]}})
    assert np.shares_memory(views["a"], data)
    odd = {"b": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}, "a": place | {"data_offsets": [1, 9]}}
    moved = arrays_within(data[:9], odd)["a"]
    assert moved.flags.aligned
    assert not np.shares_memory(moved, data)


@together(
    ("change", "message"),
    [
        ({"dtype": "BF16"}, "'BF16', which NumPy does not have"),
        ({"dtype": ["F32"]}, "which NumPy does not have"),
        ({"shape": [3]}, "a does not fit in its place"),
        ({"shape": [-2]}, "must be whole numbers"),
        ({"shape": [2.0]}, "must be whole numbers"),
        ({"shape": [True, 2]}, "must be whole numbers"),
        ({"shape": 2}, "must be whole numbers"),
        ({"data_offsets": [8, 0]}, "a does not fit in its place"),
        ({"data_offsets": [4, 12]}, "a begins at byte 4, expected 0"),
        ({"data_offsets": [0, 8, 8]}, "a does not fit in its place"),
        ({"data_offsets": [0, 4], "shape": [1]}, "8 bytes of arrays, expected 4"),
        ({"more": 1}, "a lacks its type, shape or place"),
    ],
)
def test_what_does_not_tell_of_each_byte_once_is_refused(change, message):
    described = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | change}
    with pytest.raises(InvalidInputError, match=message):
        arrays_within(np.zeros(8, np.uint8), described)


def test_arrays_that_share_bytes_are_refused():
    one = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    with pytest.raises(InvalidInputError, match="begins at byte 0, expected 8"):
        arrays_within(np.zeros(8, np.uint8), {"a": one, "b": one})
