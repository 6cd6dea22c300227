"""What estimators, splitters and data are, as JSON and checksums: the keys of results are made of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["checksum", "described"]

#: Parameters that change what one sees of a fit, or how long it takes, but not its result.
_SILENT = frozenset({"callback", "verbose", "n_jobs"})


def described(value: Any) -> Any:
    """Return what a parameter is, as JSON can hold it: equal in every process, different where a fit would differ.

    Parameters
    ----------
    value : object
        Estimators are given by their class and parameters (without ``callback``, ``verbose``, ``n_jobs``), splitters by
        their class and attributes, arrays by shape and checksum, functions by their names.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> described([Ridge(alpha=2.0), np.ones(3)])
    [{'class': 'sklearn.linear_model._ridge.Ridge', 'alpha': 2.0, 'copy_X': True, 'fit_intercept': True,
      'max_iter': None, 'positive': False, 'random_state': None, 'solver': 'auto', 'tol': 0.0001},
     'array of shape (3,), 011957a7e54015e7']
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"array of shape {cast(Any, value).shape}, {checksum(value)[:16]}"
    if isinstance(value, Mapping):
        return {str(key): described(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [described(part) for part in value]
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "get_params"):
        return _with_class(value, value.get_params(deep=False))
    if hasattr(value, "split"):
        return _with_class(value, vars(value))
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _with_class(value: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: described(part) for name, part in parts.items() if name not in _SILENT}
    return {"class": f"{type(value).__module__}.{type(value).__qualname__}", **kept}


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
            # Objects have no bytes of their own: ids of any type stand for what they look like.
            content = part.tobytes() if part.dtype.kind != "O" else "\n".join(map(repr, part.ravel().tolist())).encode()
            total.update(f"{part.dtype.str} {np.shape(array)}\n".encode())
            total.update(content)
    return total.hexdigest()


def _wide(indices: NDArray[Any]) -> NDArray[np.int64]:
    """Return indices of a sparse matrix in one type: scipy chooses it by the size."""
    return indices.astype(np.int64)
