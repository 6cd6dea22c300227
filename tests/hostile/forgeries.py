"""Seeded damage to what a model file holds: JSON values and arrays."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

#: Values which something else is replaced with.
ODD: tuple[Any, ...] = (None, True, "", "text", [], {}, [1], {"a": 1}, 0, 1, -1, 3, 0.5, 1e300, 10**13, 2**63, -(2**70))

_DTYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64")


def damaged_json(value: Any, random: np.random.Generator) -> Any:
    """Return a JSON value with one member changed: another number, another kind, gone, repeated, or one from elsewhere.

    The value itself stays as it is, but for the containers on the way to the change.
    """
    paths = _paths(value)
    path = paths[int(random.integers(len(paths)))]
    if not path:
        return _other(value, value, random)
    *way, last = path
    parent = value
    for key in way:
        parent = parent[key]
    kind = int(random.integers(0, 10))
    if kind == 0:
        del parent[last]
    elif kind == 1 and isinstance(parent, list):
        parent.insert(last, parent[last])
    elif kind == 2:
        other = value
        for key in paths[int(random.integers(len(paths)))]:
            other = other[key]
        parent[last] = copy.deepcopy(other)
    else:
        parent[last] = _other(parent[last], value, random)
    return value


def _paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all parts of a JSON value; of long lists only to the first and last ones."""
    found = [here] if here else []
    if isinstance(value, dict):
        for key, part in value.items():
            found += _paths(part, (*here, key))
    elif isinstance(value, list):
        for k in sorted({0, 1, len(value) // 2, len(value) - 1} & set(range(len(value)))):
            found += _paths(value[k], (*here, k))
    return found


def _other(part: Any, whole: Any, random: np.random.Generator) -> Any:
    if isinstance(part, int | float) and not isinstance(part, bool) and random.random() < 0.6:
        numbers = (part + 1, part - 1, -part, 2 * part, part * 10, 0, 1, -1, part + 0.5)
        return numbers[int(random.integers(len(numbers)))]
    # A copy: else a list may be put into itself, and all later trials have it.
    return copy.deepcopy(ODD[int(random.integers(len(ODD)))])


def damaged_arrays(arrays: dict[str, np.ndarray], random: np.random.Generator) -> None:
    """Change one of some arrays: its bytes, numbers, shape or dtype; or leave it out, or put another in its place."""
    names = sorted(arrays)
    if not names:
        return
    name = names[int(random.integers(len(names)))]
    kind = int(random.integers(0, 10))
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = arrays[names[int(random.integers(len(names)))]].copy()
    elif kind <= 4:
        arrays[name] = _other_shape(arrays[name], random)
    elif kind == 5:
        with np.errstate(all="ignore"):
            arrays[name] = arrays[name].astype(_DTYPES[int(random.integers(len(_DTYPES)))])
    else:
        arrays[name] = _other_numbers(arrays[name].copy(), random)


def _other_shape(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if not array.ndim:
        return array.reshape(1)
    axis = int(random.integers(array.ndim))
    n = array.shape[axis]
    shapes = (
        lambda: np.take(array, range(max(n - 1, 0)), axis),
        lambda: np.take(array, range(min(1, n), n), axis),
        lambda: np.concatenate([array, np.take(array, range(max(n - 1, 0), n), axis)], axis),
        lambda: np.concatenate([array, array], axis),
        lambda: np.take(array, range(n // 2), axis),
        lambda: np.take(array, range(0), axis),
        lambda: array.reshape(-1),
        lambda: array[None],
        lambda: np.ascontiguousarray(array.T),
        lambda: array.reshape(-1)[:1].reshape(()) if array.size else array[None],
    )
    return np.ascontiguousarray(shapes[int(random.integers(len(shapes)))]())


def _other_numbers(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if not array.size:
        return array
    flat = array.reshape(-1)
    kind = int(random.integers(0, 4))
    if kind == 0:
        data = flat.view(np.uint8)
        data[random.integers(0, data.size, 4)] = random.integers(0, 256, 4, dtype=np.uint8)
        return array
    if kind == 1:
        return np.ascontiguousarray(random.permutation(flat)).reshape(array.shape)
    values = [0, 1, -1, 2, 1000, 2**31 - 1, -(2**31), 2**63 - 1]
    if array.dtype.kind in "fc":
        values += [np.nan, np.inf, -np.inf, 1e300, -1e-300]
    with np.errstate(all="ignore"):
        chosen = np.array(values[int(random.integers(len(values)))]).astype(array.dtype)
    flat[int(random.integers(flat.size)) if kind == 2 else slice(None)] = chosen
    return array
