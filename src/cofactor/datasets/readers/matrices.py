"""Features and labels of readers as arrays: their form, their codes, the names of their columns."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cofactor.datasets.types import is_sparse
from cofactor.errors import InvalidInputError, Place
from cofactor.limits import CELLS
from cofactor.text import plural
from cofactor.typing import LABEL_DTYPE

Form = Literal["auto"] | bool

#: Largest share of nonzeros at which X is kept sparse by default. An entry of a CSR array takes 12 bytes and an
#: indirect access, one of a dense array 8 bytes; at a fifth the CSR array needs clearly less memory and time.
SPARSE_BELOW = 0.2

_BLOCK = 1 << 22  # entries checked at a time, so that checks need little memory beside the data


def generic_names(letter: str, n: int, first: int = 0) -> tuple[str, ...]:
    """Names for columns which have none: x0, x1, ... for features, y0, y1, ... for labels."""
    return tuple(f"{letter}{k}" for k in range(first, first + n))


def in_form(X: Any, sparse: Form, name: str) -> Any:
    """X as a C-contiguous array or as a CSR array without stored zeros, float64, checked to be finite.

    With ``sparse="auto"`` it is sparse if at most a fifth of its numbers differ from 0, whatever form the file has.
    """
    if sparse not in ("auto", True, False):
        raise InvalidInputError("not known", argument="sparse", found=sparse, advice="expected 'auto', True or False")
    if is_sparse(X):
        X = csr_array(X, copy=True)  # of CSC this sorts the indices as well; the caller's X stays as it was
        X.sum_duplicates()
        X.eliminate_zeros()
        stored, share = X.data.reshape(-1, 1), X.nnz / max(X.shape[0] * X.shape[1], 1)
    else:
        stored, share = X, np.count_nonzero(X) / max(X.size, 1)
    if stored.dtype.kind == "f":
        _check_finite(stored, name)
    if sparse is True or (sparse == "auto" and share <= SPARSE_BELOW):
        return small_indices(csr_array(X).astype(np.float64))  # first sparse, then wide
    if is_sparse(X) and share <= SPARSE_BELOW:
        cells = X.shape[0] * X.shape[1]
        CELLS.check(cells, f"X would take {plural(cells, 'cell')} as a dense array", Place(name), argument="sparse")
    return np.ascontiguousarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def _check_finite(values: NDArray[np.float64], name: str) -> None:
    step = max(_BLOCK // max(values.shape[1], 1), 1)
    if not all(np.isfinite(values[k : k + step]).all() for k in range(0, len(values), step)):
        raise InvalidInputError(
            "a feature is NaN or infinite", advice="replace or drop such values before", place=Place(name)
        )


def small_indices(X: csr_array) -> csr_array:
    """The same array with int32 indices where they suffice."""
    if X.indices.dtype == np.int32 and X.indptr.dtype == np.int32:
        return X
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)


def indicator(values: Any, name: str) -> csr_array:
    """Labels in any of the usual codes (0/1, -1/+1, booleans; dense or sparse) as a CSR array of int32 ones."""
    if is_sparse(values):
        stored = csr_array(values, copy=True)
        stored.sum_duplicates()
        _check_codes(np.unique(stored.data), name)
        on = csr_array((stored.data > 0, stored.indices, stored.indptr), stored.shape)
        on.eliminate_zeros()
    else:
        array = np.asarray(values)
        _check_codes(np.unique(array), name)
        on = csr_array(array > 0)
    return small_indices(on.astype(LABEL_DTYPE))


def _check_codes(found: NDArray, name: str) -> None:
    """Refuse anything but 0/1, -1/+1 and booleans."""
    if found.dtype.kind not in "biuf":
        raise InvalidInputError(f"labels must be numbers or booleans, found {found.dtype}", place=Place(name))
    codes = set(found.tolist())
    if not (codes <= {0, 1} or codes <= {-1, 1}):
        odd = next((code for code in found.tolist() if code not in (-1, 0, 1)), None)
        reason = f"found {odd:g}" if odd is not None else "found -1, 0 and 1 together"
        raise InvalidInputError(f"labels must be 0/1, -1/+1 or booleans, {reason}", place=Place(name))


def from_entries(
    n_rows: int, n_columns: int, rows: NDArray, columns: NDArray, values: NDArray | None = None
) -> csr_array:
    """CSR array from entries which are in the order of rows already; by default the values are ones of int32."""
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    data = np.ones(len(columns), dtype=LABEL_DTYPE) if values is None else values
    result = csr_array((data, columns, indptr), (n_rows, n_columns))
    result.sort_indices()
    return small_indices(result)
