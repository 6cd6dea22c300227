"""What estimators, splitters and data are, as JSON and checksums: the keys of results are made of it."""

from __future__ import annotations

import copyreg
import functools
import hashlib
import json
import pickle
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.evaluation.run.code_facts import Code, closure, facts, is_wrapper, module_of, origin, wrapped

__all__ = ["IndescribableError", "checksum", "described", "named"]

#: Parameters that change what one sees of a fit, or how long it takes, but not its result.
_SILENT = frozenset({"verbose", "n_jobs"})

#: What scikit-learn's ``clone`` keeps of an estimator besides its parameters.
_CLONED = ("_metadata_request", "_sklearn_output_config")

_PLAIN = frozenset({type(None), bool, int, float, str})
_USUAL = (np.float64, np.int64, np.bool_, np.str_)  #: numbers of NumPy that are those of Python
_LONG = 400  #: characters of the description of an object beyond which its checksum stands for it


class IndescribableError(InvalidTypeError):
    """An object of which nobody can tell whether another one is equal to it; the message says where it is."""


def described(value: Any, *, strict: bool = True) -> Any:
    """Return what a parameter is, as JSON can hold it: equal in every process, different where a fit would differ.

    Parameters
    ----------
    value : object
        Estimators are given by their class and parameters (without ``verbose``, ``n_jobs``, and our ``callback``),
        arrays by shape and checksum, other objects by their class and what `pickle` would keep of them. Classes and
        functions of an installed package have its version, all others a checksum of their code and of what that
        uses.
    strict : bool, default=True
        Whether to refuse what cannot be described; otherwise its class stands for it.

    Raises
    ------
    IndescribableError
        If something is in it that cannot be told from others: a generator, an open file, a lock.

    Examples
    --------
    >>> from cofactor.ratings import ALS
    >>> found = described([ALS(2, alpha=8.0), np.ones(3), (1, 2)])
    >>> found[0]["class"], found[0]["alpha"]
    ('cofactor.ratings.factors.als.ALS', 8.0)
    >>> found[1:]
    [{'class': 'numpy.ndarray', 'shape': [3], 'checksum': '011957a7e54015e7'}, {'class': 'tuple', 'items': [1, 2]}]
    >>> described({"levels": {3, 1}, np.log1p: 2.0})["items"][0]
    ['levels', {'class': 'set', 'items': [1, 3]}]
    >>> described({"rows": (k for k in range(3))})
    Traceback (most recent call last):
    ...
    cofactor.evaluation.run.described.IndescribableError: rows: cannot tell one generator from another
    """
    return _Walk(strict).of(value)


def named(function: Callable[..., Any]) -> str:
    """Return name and version of a function; those of this package have but a name, as its version is in each key.

    Examples
    --------
    >>> named(described)
    'cofactor.evaluation.run.described:described'
    """
    name = f"{function.__module__}:{function.__qualname__}"
    ours = module_of(function).partition(".")[0] == "cofactor"
    return name if ours else f"{name} {_digest(described(function))[:16]}"


class _Walk:
    """One walk through an object and all that is in it.

    Parameters
    ----------
    strict : bool
        Whether to refuse what cannot be described.
    code : list, optional
        Functions, classes and modules that are being described. Others which they use are added to it, so that each
        is described once, and may use itself.
    """

    def __init__(self, strict: bool, code: list[Any] | None = None) -> None:
        self.strict = strict
        self.code = code
        self.places: list[str] = []
        self.inside: list[Any] = []  # what holds the object that is described now
        self.known: dict[int, tuple[Code, str]] = {}  # code by its number in memory, and what it is called
        self.whole = False  # whether estimators are described as fitted

    def of(self, value: Any) -> Any:
        """Describe an object."""
        if type(value) in _PLAIN:
            return value
        for k, holder in enumerate(reversed(self.inside)):
            if holder is value:
                return {"class": "cycle", "up": k + 1}
        self.inside.append(value)
        try:
            return next(describe for test, describe in _KINDS if test(self, value))(self, value)
        except IndescribableError:
            raise
        except Exception as error:
            if self.strict:
                place = f"{'.'.join(self.places)}: " if self.places else ""
                raise IndescribableError(f"{place}cannot tell one {type(value).__name__} from another") from error
            return {"class": self.label(type(value))}
        finally:
            self.inside.pop()

    def part(self, name: str, value: Any) -> Any:
        """Describe what an object has under a name."""
        self.places.append(name)
        try:
            return self.of(value)
        finally:
            self.places.pop()

    def parts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.part(name, value) for name, value in values.items()}

    def with_class(self, value: Any, state: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "class": self.label(type(value)),
            **(self.parts(state) if _is_table(state) else {"state": self.of(state)}),
        }

    def label(self, code: Code) -> str:
        """Return the name of a function, class or module with its version, or a checksum where that says too little."""
        module = module_of(code)
        name = module if isinstance(code, ModuleType) else f"{code.__module__}.{code.__qualname__}"
        known = origin(module)
        if known is None:
            known = self.reference(code)
        return f"{name} ({known})" if known else name.removeprefix("builtins.")

    def reference(self, code: Code) -> str:
        if id(code) not in self.known:
            if self.code is None:
                reference = f"code {_digest(self.of_code_used(code))[:16]}"
            else:
                reference = f"code {len(self.code)}"
                self.code.append(code)
            self.known[id(code)] = code, reference
        return self.known[id(code)][1]

    def of_code_used(self, code: Code) -> list[Any]:
        """Describe code, and all other code that it uses and that may change."""
        walk = _Walk(self.strict, code=[])
        walk.places = self.places
        walk.reference(code)
        found = []
        for one in walk.code or ():  # it grows
            strict, lenient = facts(one)
            walk.strict = self.strict
            told = walk.parts(strict)
            walk.strict = False  # locks, loggers and caches of a module need not be told apart
            found.append([told, walk.parts(lenient)])
        return found

    # ------------------------------------------------------------ kinds of objects

    def of_number(self, value: np.generic) -> Any:
        return value.item() if isinstance(value, _USUAL) else {"class": value.dtype.str, "value": str(value)}

    def of_bytes(self, value: bytes) -> Any:
        return {"class": "bytes", "size": len(value), "checksum": hashlib.sha256(value).hexdigest()[:16]}

    def of_list(self, value: list[Any]) -> Any:
        return [self.part(str(k), one) for k, one in enumerate(value)]

    def of_tuple(self, value: tuple[Any, ...]) -> Any:
        return {"class": "tuple", "items": self.of_list(list(value))}

    def of_set(self, value: Any) -> Any:
        return {"class": self.label(type(value)), "items": sorted(map(self.of, value), key=_text)}

    def of_table(self, value: Mapping[Any, Any]) -> Any:
        if _is_table(value):
            return self.parts(value)
        pairs = [[self.of(key), self.part(str(key), one)] for key, one in value.items()]
        return {"class": "dict", "items": sorted(pairs, key=_text)}

    def of_array(self, value: NDArray[Any]) -> Any:
        if value.dtype.names:
            content: Any = {"fields": {name: self.of(np.ascontiguousarray(value[name])) for name in value.dtype.names}}
        elif value.dtype.hasobject:
            content = {"items": self.of_list(value.ravel().tolist())}
        else:
            content = {"checksum": checksum(value)[:16]}
        return {"class": "numpy.ndarray", "shape": list(value.shape), **content}

    def of_sparse(self, value: Any) -> Any:
        return {"class": type(value).__name__, "shape": list(value.shape), "checksum": checksum(value)[:16]}

    def of_frame(self, value: Any) -> Any:
        frame = _frame(value)
        index = nw.maybe_get_index(frame)
        columns = frame.iter_columns() if isinstance(frame, nw.DataFrame) else [frame]
        return {
            "class": self.label(type(value)),
            "columns": [
                [self.of(one.name), self.of(one.to_native().dtype), self.of(one.to_numpy())] for one in columns
            ],
            "index": None if index is None else [self.of(list(index.names)), self.of(index.to_numpy())],
        }

    def of_estimator(self, value: Any) -> Any:
        # Callbacks of others may end a fit, ours only look at it.
        silent = _SILENT | {"callback"} if origin(type(value).__module__) == "" else _SILENT
        kept = {name: part for name, part in value.get_params(deep=False).items() if name not in silent}
        return self.with_class(value, kept | {name: vars(value)[name] for name in _CLONED if name in vars(value)})

    def of_frozen(self, value: Any) -> Any:
        """Describe an estimator whose copies keep what it has learned, and so do those inside of it."""
        self.whole = True
        try:
            return self.of_object(value)
        finally:
            self.whole = False

    def of_code(self, value: Code) -> Any:
        label = self.label(value)
        if isinstance(value, FunctionType) and origin(module_of(value)) is not None and value.__closure__:
            return {"class": "function", "name": label, "closure": self.of_list(closure(value))}
        kind = "function" if isinstance(value, FunctionType) else "class" if isinstance(value, type) else "module"
        return {"class": kind, "name": label}

    def of_wrapper(self, value: Any) -> Any:
        return {"class": self.label(type(value)), **self.parts(wrapped(value))}

    def of_object(self, value: Any) -> Any:
        """Describe any other object by what `pickle` would keep of it."""
        reduce = copyreg.dispatch_table.get(type(value))
        made = cast(Any, reduce(value) if reduce else value.__reduce_ex__(4))
        if isinstance(made, str):
            return self.of_global(value, made)
        maker, arguments, state, items, pairs = (*made, None, None, None)[:5]
        of_class = maker is copyreg.__newobj__ and arguments[0] is type(value)  # type: ignore[attr-defined]
        if of_class and len(arguments) == 1 and items is pairs is None and isinstance(state, dict | None):
            return self.short(self.with_class(value, state or {}))
        facts = {
            "maker": None if of_class else maker,
            "arguments": list(arguments[1:] if of_class else arguments),
            "state": state,
            "items": None if items is None else list(items),
            "pairs": None if pairs is None else list(map(list, pairs)),
        }
        return self.short(self.with_class(value, {name: fact for name, fact in facts.items() if fact is not None}))

    def of_global(self, value: Any, name: str) -> Any:
        """Describe what stands under this name in its module."""
        module = cast(Any, pickle).whichmodule(value, name)
        if functools.reduce(getattr, name.split("."), sys.modules[module]) is not value:
            raise InvalidInputError(f"{module}.{name} is another object")
        return {"class": type(value).__name__, "name": name, "of": self.label(sys.modules[module])}

    def short(self, found: dict[str, Any]) -> Any:
        text = _text(found)
        return found if len(text) <= _LONG else {"class": found["class"], "checksum": _digest(found)[:16]}


_Test = Callable[[_Walk, Any], bool]


def _is_a(*kinds: Any) -> _Test:
    return lambda walk, value: isinstance(value, kinds)


def _is_just(*kinds: type) -> _Test:
    return lambda walk, value: type(value) in kinds


def _is_frozen(walk: _Walk, value: Any) -> bool:
    own = getattr(type(value), "__sklearn_clone__", None)
    return not walk.whole and own not in (None, BaseEstimator.__sklearn_clone__)


#: How kinds of objects are described; the first that fits.
_KINDS: list[tuple[_Test, Callable[[_Walk, Any], Any]]] = [
    (_is_a(np.generic), _Walk.of_number),
    (_is_just(bytes), _Walk.of_bytes),
    (_is_just(list), _Walk.of_list),
    (_is_just(tuple), _Walk.of_tuple),
    (_is_a(set, frozenset), _Walk.of_set),
    (_is_just(dict, MappingProxyType), _Walk.of_table),
    (_is_just(np.ndarray), _Walk.of_array),
    (lambda walk, value: sparse.issparse(value), _Walk.of_sparse),
    (_is_a(FunctionType, type, ModuleType), _Walk.of_code),
    (lambda walk, value: is_wrapper(value), _Walk.of_wrapper),
    (lambda walk, value: _frame(value) is not None, _Walk.of_frame),
    (_is_frozen, _Walk.of_frozen),
    (lambda walk, value: hasattr(value, "get_params") and not walk.whole, _Walk.of_estimator),
    # What NumPy draws from where nobody gave a seed: nothing is told by its state.
    (lambda walk, value: value is check_random_state(None), lambda walk, value: {"class": "numpy.random"}),
    (lambda walk, value: True, _Walk.of_object),
]


def _is_table(value: Mapping[Any, Any]) -> bool:
    """Whether a mapping can be a JSON object beside those which have a class."""
    return "class" not in value and all(type(key) is str for key in value)


def _frame(value: Any) -> Any:
    """Return a frame, or a column of one, as narwhals has it; None for all else."""
    frame = nw.from_native(value, eager_only=True, allow_series=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame | nw.Series) else None


def _text(found: Any) -> str:
    return json.dumps(found, sort_keys=True)


def _digest(found: Any) -> str:
    return hashlib.sha256(_text(found).encode()).hexdigest()


def checksum(*arrays: Any) -> str:
    """Return the SHA-256 of arrays, sparse matrices, lists of ids or frames, taken together.

    Examples
    --------
    >>> checksum(np.arange(3)) == checksum([0, 1, 2]) != checksum([0, 1, 3])
    True
    """
    total = hashlib.sha256()
    for array in arrays:
        table = sparse.csr_array(cast(Any, array)) if sparse.issparse(array) else None
        stored = [np.asarray(array)] if table is None else [table.data, *map(_wide, (table.indices, table.indptr))]
        for part in stored:
            # Objects have no bytes of their own: ids of plain types stand for what they look like.
            content = "\n".join(map(_id, part.ravel().tolist())).encode() if part.dtype.hasobject else part.tobytes()
            total.update(f"{part.dtype.str} {np.shape(array)}\n".encode())
            total.update(content)
    return total.hexdigest()


def _id(value: Any) -> str:
    return repr(value) if type(value) in _PLAIN else _text(described(value, strict=False))


def _wide(indices: NDArray[Any]) -> NDArray[np.int64]:
    """Return indices of a sparse matrix in one type: scipy chooses it by the size."""
    return indices.astype(np.int64)
