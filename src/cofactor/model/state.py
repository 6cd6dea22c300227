"""What a model file holds of a model, and the checks made before any of it is believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

_Kind = TypeVar("_Kind")


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
        raise TypeError(f"{name} is a {type(value).__name__}, expected {kind.__name__}")
    return value


def check_array(name: str, array: Any, shape: tuple[int, ...], dtype: Any = None) -> None:
    """Refuse an array of another shape than its place in the model asks for, or not of real numbers."""
    if not isinstance(array, np.ndarray) or array.shape != shape:
        found = f"shape {array.shape}" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
        raise ValueError(f"{name} must have shape {shape}, found {found}")
    if array.dtype not in (np.float32, np.float64) or (dtype is not None and array.dtype != dtype):
        raise ValueError(f"{name} has dtype {array.dtype}, expected {dtype or 'float32 or float64'}")
