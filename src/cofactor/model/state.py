"""What a model file holds of a model, JSON values and arrays, and the checks made before any of it is trusted.

Models may hold models: an ensemble its members, a chain its learners, a pipeline its steps. `packed` takes them like
anything else that was learned, and `unpacked` builds them again, from classes of a registry only::

    class Mine(LabelModel):
        inner_: PLST = learned()  # a fitted model, or lists and dictionaries of them: this is all there is to do

A class of another kind says the same in two methods::

    def _to_state(self):
        arrays = {}
        header = {"members": packed(self.members_, "members", arrays)}
        return header, arrays

    @classmethod
    def _from_state(cls, header, arrays, models):  # `models`: what may be built, by name; it is handed down
        model = cls()
        model.members_ = unpacked(header["members"], arrays, models)
        return model

Arrays which stand in several models, such as ids of users that members share, are written to a file once
(`cofactor.persistence`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from mmap import mmap
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.limits import COLUMNS
from cofactor.text import plural

if TYPE_CHECKING:
    from cofactor.persistence import Adapter

_Kind = TypeVar("_Kind")
#: What models tell of the course of their fit: numbers, and lists of them.
_COURSE = frozenset(
    f"{part}{name}_" for part in ("", "map_", "label_") for name in ("objective", "certificate", "history", "n_iter")
) | {"n_map_iter_", "n_label_iter_"}
_PARTS = ("data", "indices", "indptr")  #: of a csr array


def to_plain(value: Any) -> Any:
    """Return a parameter, or something learned, in a form that JSON can hold."""
    if isinstance(value, BaseEstimator):
        return {"class": type(value).__name__, "params": to_plain(value.get_params(deep=False))}
    if isinstance(value, Mapping):
        return {k: to_plain(v) for k, v in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return to_plain(asdict(value))
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_plain(v) for v in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return None  # a random generator or a callback: the fitted model does not need it


#: Estimators and lists within each other, as parameters: scikit-learn's `repr` takes twice as long for each more.
_DEEPEST = 8


def from_plain(value: Any, models: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a parameter from the form that JSON holds; estimators in it are of classes in `models`.

    A dict of numbers alone is such a dict, as weights by name are, and so is one that names no class, as a decision's
    cuts and costs are; lists may hold estimators.
    """
    if depth > _DEEPEST:
        raise InvalidInputError(f"its parameters are nested more than {_DEEPEST} deep")
    if isinstance(value, list):
        return [from_plain(one, models, depth + 1) for one in value]
    if isinstance(value, dict) and all(isinstance(number, int | float) for number in value.values()):
        return value
    if isinstance(value, dict) and not value.keys() & {"class", "params"}:
        return {name: from_plain(one, models, depth + 1) for name, one in value.items()}
    if isinstance(value, dict):
        params = member(value, "params", dict)
        kind = models.get(member(value, "class", str))
        if not isinstance(kind, type) or not issubclass(kind, BaseEstimator):
            raise InvalidInputError(f"a parameter is an estimator of class {value['class']!r}, which is not known here")
        return kind(**{k: from_plain(v, models, depth + 1) for k, v in params.items()})
    return value


def member(header: Mapping[str, Any], name: str, kind: type[_Kind]) -> _Kind:
    """Return a member of a header, of the kind it must have."""
    value = header[name]
    if not isinstance(value, kind):
        raise InvalidTypeError(f"{name} is a {type(value).__name__}, expected {kind.__name__}")
    return value


def head_of(model: Any) -> dict[str, Any]:
    """Return what a file says first of an estimator of features: parameters, and how many features of which names."""
    return {
        "params": {k: to_plain(v) for k, v in model.get_params(deep=False).items() if k != "callback"},
        "n_features": int(model.n_features_in_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
    }


def of_head(kind: Any, header: Mapping[str, Any], estimators: Mapping[str, Any]) -> Any:
    """Return an estimator of a class as `head_of` said it, or refuse it; its parameters may be `estimators`."""
    model = kind(**{k: from_plain(v, estimators) for k, v in member(header, "params", dict).items()})
    model.check_params()
    D, names = member(header, "n_features", int), member(header, "feature_names", list)
    if isinstance(D, bool) or not 1 <= D < 1 << 63:
        raise InvalidInputError(f"n_features is {D}, expected a whole number from 1")
    model.n_features_in_ = D
    if names:
        model.feature_names_in_ = np.array(names, dtype=object)
        if model.feature_names_in_.shape != (D,) or len(set(names)) != D:
            raise InvalidInputError(f"feature_names must be {D} distinct names")
    return model


def check_array(name: str, array: Any, shape: tuple[int, ...], dtype: Any = None, *, finite: bool = True) -> None:
    """Refuse an array of another shape than its place in the model asks for, or not of (finite) real numbers.

    Of an array that is mapped from a file the numbers are not looked at, which would read all of it.
    """
    if not isinstance(array, np.ndarray) or array.shape != shape:
        found = f"shape {array.shape}" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
        raise InvalidInputError(f"{name} must have shape {shape}, found {found}")
    if array.dtype not in (np.float32, np.float64) or (dtype is not None and array.dtype != dtype):
        raise InvalidInputError(f"{name} has dtype {array.dtype}, expected {dtype or 'float32 or float64'}")
    if finite and not is_mapped(array) and not np.isfinite(array).all():
        raise InvalidInputError(f"{name} holds a number that is not finite")


def is_mapped(array: NDArray[Any]) -> bool:
    """Return whether an array is mapped from a file, or a view of one that is."""
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.obj if isinstance(base, memoryview) else base.base
    return isinstance(base, mmap)


def check_course(model: Any) -> None:
    """Refuse what was read from a file of the course of a fit, if it is no number, or for a history no list of them."""
    for name in _COURSE.intersection(vars(model)):
        found = getattr(model, name)
        numbers = found if isinstance(found, list) and name.endswith("history_") else [found]
        if isinstance(found, list) != name.endswith("history_") or not all(isinstance(n, int | float) for n in numbers):
            raise InvalidInputError(f"{name} of a fit must be numbers, found a {type(found).__name__}")


def last_length(array: Any) -> int:
    """Return the length of an array's last axis; 0 for anything else that a file may hold in its place."""
    return array.shape[-1] if isinstance(array, np.ndarray) and array.ndim else 0


def packed(
    value: Any, key: str, arrays: dict[str, NDArray[Any]], adapters: Mapping[type[Any], Adapter] | None = None
) -> Any:
    """Return a JSON value for something learned; its arrays go to `arrays`, under names which start with `key`.

    Numbers, strings, None, arrays of numbers, csr arrays, fitted models, and sequences and dictionaries of all these;
    sequences come back as lists.

    Parameters
    ----------
    value : object
    key : str
    arrays : dict of str to ndarray
        Gets the arrays.
    adapters : mapping of type to Adapter, optional
        What is asked for the state of classes that have no ``_to_state``, by exact class.

    Examples
    --------
    >>> arrays = {}
    >>> tree = {"weights": np.eye(2), "children": [None, 3], "name": "root"}
    >>> packed(tree, "tree", arrays)
    {'map': {'weights': {'array': 'tree.weights'}, 'children': [None, 3], 'name': 'root'}}
    >>> unpacked(packed(tree, "tree", arrays), arrays)["children"]
    [None, 3]
    """
    if hasattr(value, "_to_state") or type(value) in (adapters or {}):
        from cofactor.persistence import state_of

        header, inner = state_of(value, adapters)
        arrays |= {f"{key}.{name}": array for name, array in inner.items()}
        return {"model": type(value).__name__, "arrays": f"{key}.", "state": header}
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
        return {"map": {str(k): packed(v, f"{key}.{k}", arrays, adapters) for k, v in value.items()}}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Sequence):
        return [packed(v, f"{key}.{k}", arrays, adapters) for k, v in enumerate(value)]
    raise InvalidTypeError(f"{key} is a {type(value).__name__}, which a model file cannot hold")


def unpacked(value: Any, arrays: Mapping[str, NDArray[Any]], models: Mapping[str, Any] | None = None) -> Any:
    """Return what `packed` was given.

    Parameters
    ----------
    value : JSON value
    arrays : mapping of str to ndarray
    models : mapping of str to class or Adapter, optional
        What may be built, by name; without it no model may stand in the value.

    Raises
    ------
    InvalidInputError
        If a part does not fit the others, or is a model of an unknown class.
    """
    if isinstance(value, list):
        return [unpacked(v, arrays, models) for v in value]
    if not isinstance(value, dict):
        return value
    if "model" in value:
        from cofactor.persistence import built

        prefix = member(value, "arrays", str)
        inner = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        return built(member(value, "model", str), member(value, "state", dict), inner, models or {})
    if "map" in value:
        return {k: unpacked(v, arrays, models) for k, v in member(value, "map", dict).items()}
    if "array" in value:
        return arrays[member(value, "array", str)]
    if "texts" in value:
        return np.array([str(text) for text in member(value, "texts", list)], dtype=object)
    if "float" in value:
        return float(member(value, "float", str))
    n, m = (int(k) for k in member(value, "shape", list))
    parts = tuple(arrays[f"{value['sparse']}.{part}"] for part in _PARTS)
    COLUMNS.check(m, f"{value['sparse']} has {m} columns for {plural(parts[0].size, 'number')}", size=parts[0].nbytes)
    starts = parts[-1]
    if np.any(starts[1:] < starts[:-1]):  # SciPy does not look if the last of these says that nothing is stored
        raise InvalidInputError(f"{value['sparse']} has rows that end before they begin")
    table = sparse.csr_array(parts, shape=(n, m))
    table.check_format(full_check=True)
    return table
