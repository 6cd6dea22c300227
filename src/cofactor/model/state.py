"""What a model file holds of a model, JSON values and arrays, and the checks made before any of it is believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from cofactor.errors import InvalidInputError, InvalidTypeError

_Kind = TypeVar("_Kind")
_PARTS = ("data", "indices", "indptr")  #: of a csr array


def plain(value: Any) -> Any:
    """Return a parameter, or something learned, in a form that JSON can hold."""
    if isinstance(value, BaseEstimator):
        return {"class": type(value).__name__, "params": plain(value.get_params(deep=False))}
    if isinstance(value, Mapping):
        return {k: plain(v) for k, v in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(v) for v in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return None  # a random generator or a callback: the fitted model does not need it


def from_plain(value: Any, models: Mapping[str, type[Any]]) -> Any:
    """Return a parameter from the form that JSON holds."""
    if isinstance(value, dict):
        params = member(value, "params", dict)
        return models[value["class"]](**{k: from_plain(v, models) for k, v in params.items()})
    return value


def member(header: Mapping[str, Any], name: str, kind: type[_Kind]) -> _Kind:
    """Return a member of a header, of the kind it must have."""
    value = header[name]
    if not isinstance(value, kind):
        raise InvalidTypeError(f"{name} is a {type(value).__name__}, expected {kind.__name__}")
    return value


def check_array(name: str, array: Any, shape: tuple[int, ...], dtype: Any = None) -> None:
    """Refuse an array of another shape than its place in the model asks for, or not of real numbers."""
    if not isinstance(array, np.ndarray) or array.shape != shape:
        found = f"shape {array.shape}" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
        raise InvalidInputError(f"{name} must have shape {shape}, found {found}")
    if array.dtype not in (np.float32, np.float64) or (dtype is not None and array.dtype != dtype):
        raise InvalidInputError(f"{name} has dtype {array.dtype}, expected {dtype or 'float32 or float64'}")


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
    if sparse.issparse(value):
        table = sparse.csr_array(cast(Any, value))
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
    raise InvalidTypeError(f"{key} is a {type(value).__name__}, which a model file cannot hold")


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
