"""What the key of a result says: the estimator, the splits and the data in words, and the code by a digest.

Code counts by the version of the package that it was installed with. Code that was not installed, such as a checkout of
this package or files of the user, counts by its sources: of a package all of them, else the file at hand.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from collections.abc import Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any, NamedTuple, cast

import joblib
import numpy as np
from joblib.hashing import NumpyHasher
from numpy.typing import NDArray
from scipy import sparse

from cofactor.errors import InvalidTypeError

#: Parameters that change what one sees of a fit, or how long it takes, but not its result.
_SILENT = frozenset({"verbose", "n_jobs"})

#: What scikit-learn's ``clone`` keeps of an estimator besides its parameters.
_CLONED = ("_metadata_request", "_sklearn_output_config")

_PLAIN = frozenset({type(None), bool, int, float, str})
_TABLES = (dict, MappingProxyType)
_USUAL = (np.float64, np.int64, np.bool_, np.str_)  #: types of NumPy whose values are those of Python


class IndescribableError(InvalidTypeError):
    """An object that cannot be distinguished from others in the key of a result; the message says where it is."""


class UnsourcedError(InvalidTypeError):
    """Code without a source file, so that changes of it would not be seen."""


class Described(NamedTuple):
    """What an object is, and which modules it depends on.

    Attributes
    ----------
    value : object
        As JSON can hold it: equal in every process, different where a fit would differ.
    modules : frozenset of str
        Where its classes and functions are written.
    """

    value: Any
    modules: frozenset[str]


def described(value: Any, *, strict: bool = True) -> Described:
    """Return what a parameter is, for the key of a result.

    Parameters
    ----------
    value : object
        Estimators are given by their class and parameters (without ``verbose``, ``n_jobs``, and our ``callback``),
        functions and classes by their names, other objects by their class and `joblib.hash`.
    strict : bool, default=True
        Whether to refuse what cannot be described; otherwise its class stands for it.

    Raises
    ------
    IndescribableError
        If something in it cannot be distinguished from others: a generator, an open file, a lock, a function without
        a name of its own.

    Examples
    --------
    >>> from cofactor.ratings import ALS
    >>> found = described([ALS(2, alpha=8.0), (1, 2)])
    >>> found.value[0]["class"], found.value[0]["alpha"], found.value[1]
    ('cofactor.ratings.factors.als.ALS', 8.0, {'class': 'tuple', 'items': [1, 2]})
    >>> sorted(found.modules)
    ['cofactor.ratings.factors.als']
    >>> described({"rows": (k for k in range(3))})
    Traceback (most recent call last):
    ...
    cofactor.evaluation.keys.IndescribableError: rows: cannot tell one generator from another
    """
    walk = _Walk(strict)
    try:
        return Described(walk.of(value), frozenset(walk.modules))
    except RecursionError as error:
        raise IndescribableError(f"cannot tell one {type(value).__name__} from another: it holds itself") from error


def plain_value(value: Any) -> Any:
    """Return a value as JSON can hold it, for people to read; what it cannot hold stands there by its class.

    Examples
    --------
    >>> plain_value({"alpha": np.float64(2.0), "rows": (k for k in range(3))})
    {'alpha': 2.0, 'rows': {'class': 'generator'}}
    """
    return described(value, strict=False).value


def function_name(function: Any) -> str:
    """Return by which name a function can be imported; refuse one that has none.

    Examples
    --------
    >>> function_name(described)
    'cofactor.evaluation.keys:described'
    """
    _check_name(function)
    return f"{function.__module__}:{function.__qualname__}"


def _check_name(code: Any, place: str = "") -> None:
    """Refuse a function or class that is written inside a function, or has no name."""
    if "<" in code.__qualname__:
        raise IndescribableError(
            f"{place}cannot tell one {code.__qualname__} from another",
            advice="write it at the top of a module, from where it can be imported",
        )


class _Walk:
    """One walk through an object and all that is in it."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.places: list[str] = []
        self.modules: set[str] = set()

    def of(self, value: Any) -> Any:
        """Describe an object."""
        if type(value) in _PLAIN:
            return value
        if isinstance(value, _USUAL):
            return value.item()
        if type(value) is list:
            return [self.part(str(k), one) for k, one in enumerate(value)]
        if type(value) is tuple:
            return {"class": "tuple", "items": self.of(list(value))}
        if type(value) in _TABLES and "class" not in value and all(type(key) is str for key in value):
            return self.parts(value)
        if isinstance(value, FunctionType | type):
            return {"class": "class" if isinstance(value, type) else "function", "name": self.name_of(value)}
        if type(value) is partial:
            return {"class": "partial", **self.parts({"func": value.func, "args": value.args, "with": value.keywords})}
        if hasattr(value, "get_params") and not _is_frozen(value):
            return self.of_estimator(value)
        if isinstance(value, np.random.RandomState) and _has_no_seed(value):
            return {"class": "numpy.random"}
        return self.of_object(value)

    def part(self, name: str, value: Any) -> Any:
        """Describe what an object has under a name."""
        self.places.append(name)
        try:
            return self.of(value)
        finally:
            self.places.pop()

    def parts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.part(name, value) for name, value in values.items()}

    def name_of(self, code: FunctionType | type) -> str:
        """Return the name of a function or class, and note its module; refuse one that has no name of its own."""
        if self.strict:
            _check_name(code, self.place)
        self.modules.add(code.__module__)
        return f"{code.__module__}.{code.__qualname__}".removeprefix("builtins.")

    def of_estimator(self, value: Any) -> Any:
        # Callbacks of others may end a fit, ours only look at it.
        ours = type(value).__module__.partition(".")[0] == "cofactor"
        silent = _SILENT | {"callback"} if ours else _SILENT
        kept = {name: part for name, part in value.get_params(deep=False).items() if name not in silent}
        kept |= {name: vars(value)[name] for name in _CLONED if name in vars(value)}
        return {"class": self.name_of(type(value)), **self.parts(kept)}

    def of_object(self, value: Any) -> Any:
        """Describe any other object by its class, and by what `joblib.hash` makes of it."""
        found: dict[str, Any] = {"class": self.name_of(type(value))}
        if isinstance(value, np.ndarray) or sparse.issparse(value):
            found["shape"] = list(np.shape(cast(Any, value)))
        hasher = _Hasher()
        try:
            digest = hasher.hash(np.ascontiguousarray(value) if type(value) is np.ndarray else value)
        except Exception as error:
            if self.strict:
                raise IndescribableError(f"{self.place}cannot tell one {type(value).__name__} from another") from error
            return found
        self.modules |= hasher.modules
        return found | {"hash": digest}

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"{'.'.join(self.places)}: " if self.places else ""


class _Hasher(NumpyHasher):
    """The hasher of `joblib.hash`, which also notes the modules of all classes and functions that an object holds."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: set[str] = set()

    def save(self, value: Any) -> None:
        module = getattr(value, "__module__", None)
        if isinstance(module, str) and hasattr(value, "__qualname__"):
            self.modules.add(module)
        # joblib sorts what is in a set, but not in a frozenset.
        super().save(("frozenset", set(value)) if type(value) is frozenset else value)


def _has_no_seed(value: np.random.RandomState) -> bool:
    """Whether it is what NumPy draws from without a seed: its state says nothing."""
    from sklearn.utils import check_random_state  # most processes that compute cells need it for nothing else

    return value is check_random_state(None)


def _is_frozen(value: Any) -> bool:
    """Whether the copies of an estimator keep what it has learned."""
    own = getattr(type(value), "__sklearn_clone__", None)
    return own is not None and own.__module__ != "sklearn.base"


# ---------------------------------------------------------------- code

_ALWAYS = ("numpy", "scipy", "scikit-learn", "numba")  #: packages that take part in every result, besides this one
_INSTALLED = {"site-packages", "dist-packages"}


def code_digest(modules: Iterable[str] = (), version: str = "") -> str:
    """Return a digest of the code on which a result depends.

    Parameters
    ----------
    modules : iterable of str
        Names of modules which take part, besides this package and those that it computes with.
    version : str, default=""
        Stands for sources of the user.

    Raises
    ------
    UnsourcedError
        If a module has no source file, and there is no version.

    Examples
    --------
    >>> code_digest() == code_digest(["pathlib", "sklearn.dummy"]) != code_digest(["joblib"])
    True
    """
    tops = {"cofactor", *(name.partition(".")[0] for name in modules)} - sys.stdlib_module_names
    return _digest(frozenset(tops), version)


@cache
def _digest(tops: frozenset[str], version: str) -> str:
    states = [version, *map(importlib.metadata.version, _ALWAYS), *(_state(top, bool(version)) for top in sorted(tops))]
    return hashlib.sha256("\n".join(states).encode()).hexdigest()


def _state(top: str, versioned: bool) -> str:
    """Return what changes with the code of a package, or a module outside of packages."""
    module = sys.modules.get(top)
    folders = list(getattr(module, "__path__", ()))
    place = getattr(module, "__file__", None) or (folders or [None])[0]
    if place is not None and _INSTALLED & set(Path(place).parts):
        installed = getattr(module, "__version__", None) or [
            importlib.metadata.version(name) for name in importlib.metadata.packages_distributions().get(top, ())
        ]
        return f"{top} {installed}"
    if versioned and top != "cofactor":
        return ""
    if place is None:
        where = "this session" if top == "__main__" else f"the module {top}"
        raise UnsourcedError(
            f"{where} has no source file, so that changes of its code would not be seen",
            advice="keep the code in a file and import it, or pass a version, and another one after each change",
        )
    total = hashlib.sha256()
    for file in sorted(file for folder in folders for file in Path(folder).rglob("*.py")) or [Path(place)]:
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return f"{top} {total.hexdigest()}"


# ---------------------------------------------------------------- data


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
    return repr(value) if type(value) in _PLAIN else str(joblib.hash(value))


def _wide(indices: NDArray[Any]) -> NDArray[np.int64]:
    """Return indices of a sparse matrix in one type: scipy chooses it by the size."""
    return indices.astype(np.int64)
