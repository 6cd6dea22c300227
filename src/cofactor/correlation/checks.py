"""Checks of what measures, trees, chains and clusters are given, made at the door."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import refuse_masked
from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.limits import CELLS

Floats = NDArray[np.float64]

_LARGEST = 1e100  #: numbers whose squares, and sums of these, are finite


def is_sparse(table: Any) -> bool:
    """Whether a table is a sparse array or matrix."""
    return bool(sparse.issparse(table))


def dense(table: Any) -> Floats:
    """Return a table as an array in double precision."""
    return np.asarray(table.toarray() if is_sparse(table) else table, dtype=np.float64)


def _refusal(
    name: str, problem: str, advice: str = "", kind: type[InvalidInputError] = InvalidInputError
) -> InvalidInputError:
    """Return an error that names the argument, whose values would be too long."""
    return kind((Argument(name), f": {problem}"), argument=name, advice=advice)


def as_numbers(values: Any, name: str) -> Any:
    """Return an array, or a sparse array without double entries, of numbers; refuse what are none, such as words."""
    refuse_masked(values, name)
    if is_sparse(values):
        array: Any = sparse.csr_array(values)
        if not array.has_canonical_format:
            array = array.copy()
            array.sum_duplicates()
    else:
        try:
            array = np.asarray(values)
            if array.dtype.kind == "O" and not any(isinstance(cell, str | bytes) for cell in array.flat):
                array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise _refusal(name, "expected numbers, and as many in each row", kind=InvalidTypeError) from error
    if array.dtype.kind not in "biuf":
        found = "text" if array.dtype.kind in "USO" else array.dtype.name
        raise _refusal(name, f"expected numbers, found {found}", kind=InvalidTypeError)
    return array


def _refuse_far(array: Any, name: str) -> None:
    """Refuse numbers that are not finite, or so large that sums of their squares are not."""
    values = array.data if is_sparse(array) else array
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
        if not largest <= _LARGEST:
            raise _refusal(name, f"expected finite numbers, up to {_LARGEST:g}")


def _shaped(Y: Any) -> Any:
    """Return a table of numbers with a row and a column at least, and not too many to compare each two of them."""
    table = as_numbers(Y, "Y")
    if table.ndim != 2 or 0 in table.shape:
        raise _refusal("Y", f"expected a table of instances and labels, found shape {table.shape}")
    _check_cells(table.shape[1])
    return table


def _check_cells(L: int) -> None:
    """Refuse too many columns to compare each two of them."""
    CELLS.check(L**2, f"similarities of {L:,} columns are {L**2:,} numbers")


def as_table(Y: Any) -> Any:
    """Return a table of finite numbers."""
    table = _shaped(Y)
    _refuse_far(table, "Y")
    return table


def as_labels(Y: Any) -> Any:
    """Return a table of labels; refuse others than 0 and 1, or False and True.

    Examples
    --------
    >>> as_labels([[1, -1], [-1, 1]])
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: Y: expected labels coded 0 and 1, found -1; take Y > 0 if -1 stands for off
    """
    table = _shaped(Y)
    values = table.data if is_sparse(table) else table
    wrong = np.empty(0) if values.dtype == np.bool_ else values[(values != 0) & (values != 1)]
    if wrong.size:
        advice = "take Y > 0 if -1 stands for off" if np.all(wrong == -1) else ""
        raise _refusal("Y", f"expected labels coded 0 and 1, found {wrong[0]:g}", advice)
    return table


def as_features(X: Any, n_rows: int) -> Any:
    """Return features in double precision; refuse what is no table of them for as many instances."""
    features = as_numbers(X, "X")
    if features.ndim != 2 or features.shape[0] != n_rows or not features.shape[1]:
        raise _refusal("X", f"expected features of the {n_rows} instances of Y, found shape {features.shape}")
    _refuse_far(features, "X")
    return features.astype(np.float64, copy=False)


def as_similarities(C: Any) -> Floats:
    """Return a table of similarities as numbers; refuse any that is not square, finite and symmetric."""
    given = as_numbers(C, "C")
    if given.ndim != 2 or not given.shape[0] or given.shape[0] != given.shape[1]:
        raise _refusal("C", f"expected as many rows as columns, found shape {given.shape}")
    _check_cells(given.shape[0])
    _refuse_far(given, "C")
    table = dense(given)
    if not np.allclose(table, table.T, rtol=1e-9, atol=1e-12 * max(1.0, float(np.abs(table).max()))):
        raise _refusal("C", "expected the same number for (i, j) and (j, i)")
    return table
