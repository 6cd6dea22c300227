"""What a label model learned, in the two forms a file can hold: JSON values and arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.labels.data import is_sparse
from cofactor.model.state import member

_PARTS = ("data", "indices", "indptr")


def packed(value: Any, key: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a JSON value for something learned; its arrays go to `arrays`, under names which start with `key`.

    Numbers, strings, None, arrays of numbers, csr arrays, and sequences and dictionaries of all these; sequences come
    back as lists.

    Examples
    --------
    >>> arrays = {}
    >>> tree = {"weights": np.eye(2), "children": [None, 3], "name": "root"}
    >>> packed(tree, "tree", arrays)
    {'map': {'weights': {'array': 'tree.weights'}, 'children': [None, 3], 'name': 'root'}}
    >>> unpacked(packed(tree, "tree", arrays), arrays)["children"]
    [None, 3]
    """
    if is_sparse(value):
        table = sparse.csr_array(value)
        arrays |= {f"{key}.{part}": getattr(table, part) for part in _PARTS}
        return {"sparse": key, "shape": [int(k) for k in table.shape]}
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OUS":
        arrays[key] = value
        return {"array": key}
    if isinstance(value, np.ndarray):
        return {"texts": [str(text) for text in value.tolist()]}
    if isinstance(value, Mapping):
        return {"map": {str(k): packed(v, f"{key}.{k}", arrays) for k, v in value.items()}}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Sequence):
        return [packed(v, f"{key}.{k}", arrays) for k, v in enumerate(value)]
    raise TypeError(f"{key} is a {type(value).__name__}, which a model file cannot hold")


def unpacked(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return what `packed` was given."""
    if isinstance(value, list):
        return [unpacked(v, arrays) for v in value]
    if not isinstance(value, dict):
        return value
    if "map" in value:
        return {k: unpacked(v, arrays) for k, v in member(value, "map", dict).items()}
    if "array" in value:
        return arrays[value["array"]]
    if "texts" in value:
        return np.array(value["texts"], dtype=object)
    if "float" in value:
        return float(value["float"])
    n, m = (int(k) for k in member(value, "shape", list))
    table = sparse.csr_array(tuple(arrays[f"{value['sparse']}.{part}"] for part in _PARTS), shape=(n, m))
    table.check_format()
    return table
