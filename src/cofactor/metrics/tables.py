"""Label matrices and scores in the form that the label metrics need: checked, and label sets as sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import refuse_masked
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.text import plural
from cofactor.typing import LABEL_DTYPE


def as_label_sets(labels: Any, name: str = "Y") -> sparse.csr_array:
    """Return the relevant labels of each row as a sparse matrix of ones.

    Parameters
    ----------
    labels : array, sparse matrix or frame of shape (n, L)
        Labels as booleans, as 0 and 1, or as -1 and 1. A sparse matrix is never made dense.
    name : str, default="Y"
        Name of the argument, for messages.

    Returns
    -------
    csr_array of shape (n, L), int32
        Ones only, sorted, without duplicates.

    Raises
    ------
    ValueError
        If the labels are not two-dimensional, are empty, or hold other values, NaN among them.

    Examples
    --------
    >>> as_label_sets([[-1, 1], [1, 1]]).toarray()
    array([[0, 1],
           [1, 1]], dtype=int32)
    """
    if sparse.issparse(labels):
        return _from_sparse(labels, name)
    refuse_masked(labels, name)
    table = np.asarray(labels)
    _check_table(table.shape, name)
    if table.dtype == object:
        table = _as_numbers(table, name)
    on = table if table.dtype == bool else table == 1
    off = ~on if table.dtype == bool else table == 0
    if not (on | off).all() and not (on | (table == -1)).all():
        raise InvalidInputError(_other_values(table.ravel(), name))
    rows, columns = np.nonzero(on)
    starts = np.searchsorted(rows, np.arange(table.shape[0] + 1))
    return sparse.csr_array((np.ones(columns.size, dtype=LABEL_DTYPE), columns, starts), shape=table.shape)


def split_unknown(Y: Any) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return true labels with off where they are NaN, and where they are known; None if there is no NaN.

    Parameters
    ----------
    Y : array, sparse matrix or frame of shape (n, L)
        Of a sparse matrix all labels are known.

    Examples
    --------
    >>> split_unknown([[1.0, np.nan]])
    (array([[1., 0.]]), array([[ True, False]]))
    """
    if sparse.issparse(Y):
        return Y, None
    table = np.asarray(Y)
    if table.dtype == object:
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError):
            return Y, None  # `as_label_sets` says what is wrong
    if table.ndim != 2 or table.dtype.kind != "f" or not np.isnan(table).any():
        return Y, None
    known = ~np.isnan(table)
    return np.where(known, table, -1 if (table == -1).any() else 0), known


def of_known(labels: sparse.csr_array, known: NDArray[np.bool_] | None) -> sparse.csr_array:
    """Return sparse labels without those that are not known, so that they do not count.

    Examples
    --------
    >>> of_known(sparse.csr_array(np.ones((1, 2))), np.array([[True, False]])).toarray()
    array([[1., 0.]])
    """
    if known is None:
        return labels
    kept = labels.copy()
    kept.data = kept.data * known[np.repeat(np.arange(kept.shape[0]), np.diff(kept.indptr)), kept.indices]
    kept.eliminate_zeros()
    return kept


def as_scores(scores: Any, name: str = "scores") -> NDArray[Any]:
    """Return scores as a dense array of floats; infinite ones are allowed, NaN is not.

    Examples
    --------
    >>> as_scores([[1, 2]])
    array([[1., 2.]])
    """
    if sparse.issparse(scores):
        raise InvalidTypeError(
            f"{name} must be dense: every label needs a score before it has a rank, found a sparse matrix",
            argument=name,
        )
    refuse_masked(scores, name)
    table = np.asarray(scores)
    _check_table(table.shape, name)
    if not np.issubdtype(table.dtype, np.floating):
        table = _as_numbers(table, name)
    bad = np.isnan(table)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InvalidInputError(
            f"{name} holds {plural(int(bad.sum()), 'NaN')}, the first in row {row}, column {column}", argument=name
        )
    return table


def check_same_shape(first: tuple[int, ...], second: tuple[int, ...], names: tuple[str, str]) -> None:
    """Require the same rows and labels in both."""
    if first != second:
        raise InvalidInputError(f"{names[0]} has shape {first} but {names[1]} has {second}: they must agree")


def check_columns(first: Any, second: Any, names: tuple[str, str]) -> None:
    """Refuse two frames which have the same columns in another order, since tables are compared by position."""
    ours, theirs = ([str(column) for column in getattr(frame, "columns", ())] for frame in (first, second))
    if ours != theirs and sorted(ours) == sorted(theirs):
        raise InvalidInputError(
            f"{names[0]} and {names[1]} have the same columns in another order",
            argument=names[1],
            advice=f"take {names[1]}[list({names[0]}.columns)]",
        )


def _from_sparse(labels: Any, name: str) -> sparse.csr_array:
    """Return the ones of a sparse label matrix."""
    _check_table(labels.shape, name)
    table = sparse.csr_array(labels, copy=True)
    table.sum_duplicates()
    table.eliminate_zeros()
    values = table.data
    if values.dtype != bool and not (values == 1).all():
        # Where -1 means "off", an entry that is not stored would be neither on nor off.
        if table.nnz != labels.shape[0] * labels.shape[1] or not np.isin(values, (-1, 1)).all():
            raise InvalidInputError(_other_values(np.append(values, 0), name))
        table.data = (values == 1).astype(LABEL_DTYPE)
        table.eliminate_zeros()
    return sparse.csr_array((np.ones(table.nnz, dtype=LABEL_DTYPE), table.indices, table.indptr), shape=table.shape)


def _check_table(shape: tuple[int, ...], name: str) -> None:
    if len(shape) != 2 or 0 in shape:
        raise InvalidInputError(
            f"{name} must be a non-empty array of shape (rows, labels), found shape {shape}", argument=name
        )


def _as_numbers(table: NDArray[Any], name: str) -> NDArray[np.float64]:
    try:
        return table.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} must hold numbers, found values of type {table.dtype}", argument=name
        ) from error


def _other_values(values: NDArray[Any], name: str) -> str:
    found = np.unique(values)
    shown = ", ".join(str(value) for value in found[:5].tolist()) + (", ..." if found.size > 5 else "")
    return f"{name} must hold labels, either 0 and 1 (or booleans) or -1 and 1, found {shown}"
