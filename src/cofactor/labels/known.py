"""Labels of which some are not known: NaN among them, or a mask that says which are known."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.dependencies import is_pandas_like_dataframe
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import one_of
from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.frames import as_frame
from cofactor.labels.data import LabelForm, as_labels, in_trained_order, place_of_label
from cofactor.labels.features import is_sparse
from cofactor.model.convergence import callers_level

__all__ = [
    "KnownLabels",
    "as_known_labels",
    "check_known",
    "check_missing",
    "known_in_order",
    "known_shares",
    "refused_unknown",
    "warn_of_one_sided",
]

#: Most labels, instances times labels, of which some may be unknown: a byte each.
_MOST = 1 << 31

#: Whether each label of a table is known, shape (n, L); None if all are.
KnownLabels = NDArray[np.bool_] | None


#: Refuses a `missing` that is not known.
check_missing = one_of(["error", "ignore"])


def as_known_labels(
    Y: Any, names: Iterable[Any] | None = None, mask: Any = None, *, missing: str = "error"
) -> tuple[sparse.csr_array, LabelForm, NDArray[Any], KnownLabels]:
    """Return labels as `as_labels` does, and which of them are known.

    Parameters
    ----------
    Y : array-like, sparse matrix or array, or frame, of shape (n, L)
        Labels; NaN, or what a frame has for it, where one is not known. In a sparse table what is not stored is off.
    names : iterable of length L, optional
        Names of the labels.
    mask : array-like, sparse matrix or array, or frame, of shape (n, L), optional
        True, or 1, where a label is known; what Y says elsewhere does not count. In a sparse mask what is not stored is
        not known.
    missing : {"error", "ignore"}, default="error"
        Whether NaN among labels that the mask does not leave out is refused.

    Returns
    -------
    labels : csr_array of shape (n, L), float32
        Ones where a label is known to be on.
    form : LabelForm
    names : ndarray of shape (L,), object
    known : ndarray of shape (n, L), bool, or None
        None if all are known.

    Raises
    ------
    InvalidInputError
        If Y is no table of labels, or the mask has another shape or other values.

    Examples
    --------
    >>> labels, _, _, known = as_known_labels([[1, np.nan], [0, 1]], missing="ignore")
    >>> labels.toarray().tolist(), known.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[True, False], [True, True]])
    """
    names = list(names) if isinstance(names, Iterable) else names
    table, columns = (Y, None) if is_sparse(Y) else _with_nan(Y)
    nan = _nan_in(table)
    if mask is None and nan is None:
        return (*as_labels(Y, names), None)
    shape = tuple(np.shape(table))
    if len(shape) != 2 or shape[0] * shape[1] > _MOST:
        if len(shape) == 2:
            raise InvalidInputError(
                f"which of {shape[0]} × {shape[1]} labels are known takes a byte for each, too much memory",
                argument="y",
                advice="give fewer labels or instances at a time",
            )
        as_labels(Y, names)  # it says what is wrong with the shape
    known = np.ones(shape, dtype=bool) if mask is None else _known_of(mask, shape, columns)
    if nan is not None:
        here = nan & known
        if missing == "error" and here.any():
            _refuse_nan(here, columns if names is None else names)
        known &= ~nan
    labels, form, found = as_labels(_without_unknown(Y, table, known), names)
    if labels.nnz == np.count_nonzero(known):
        form = replace(form, signs=None)  # zeros stand for what is not known
    if columns is not None:
        form = LabelForm("pandas" if is_pandas_like_dataframe(Y) else "polars", form.dtype, form.signs)
        found = found if names is not None else as_labels(np.zeros((1, shape[1])), columns)[2]
    return labels, form, found, None if known.all() else known


def _with_nan(Y: Any) -> tuple[Any, list[Any] | None]:
    """Return a dense table in which what is missing is NaN, and the columns if it is a frame."""
    if Y is None:
        return np.zeros(0), None
    native = nw.to_native(Y, pass_through=True)
    if is_pandas_like_dataframe(native):
        missing = native.isna().to_numpy()
        table = native.to_numpy()
        if missing.any():
            table = np.where(missing, np.nan, table.astype(object))
        return _numbers(table), list(native.columns)
    frame = as_frame(Y)
    if frame is not None:
        return _numbers(frame.to_numpy()), list(frame.columns)
    return _numbers(Y), None


def _numbers(table: Any) -> Any:
    """Return a table of floats where that is what its entries are, or None for NaN; otherwise as it is."""
    try:
        found = np.asarray(table)
        return found.astype(np.float64) if found.dtype.kind == "O" else found
    except (TypeError, ValueError):
        return np.zeros(0)  # `as_labels` says what is wrong


def _nan_in(table: Any) -> NDArray[np.bool_] | None:
    """Return where a table is NaN; None if it is nowhere."""
    values = table.data if is_sparse(table) and table.format in ("csr", "csc", "coo") else table
    if is_sparse(values):
        values = sparse.coo_array(values).data
    if getattr(values, "dtype", np.dtype(int)).kind != "f" or not np.isnan(values).any():
        return None
    if not is_sparse(table):
        return np.isnan(table)
    stored = sparse.coo_array(table)
    nan = np.zeros(table.shape, dtype=bool)
    where = np.isnan(stored.data)
    nan[stored.row[where], stored.col[where]] = True
    return nan


def _known_of(mask: Any, shape: tuple[int, ...], columns: list[Any] | None) -> NDArray[np.bool_]:
    """Return a checked mask as a dense table."""
    if is_sparse(mask):
        table, named = np.asarray(mask.toarray()), None
    else:
        table, named = _with_nan(mask)
    if tuple(table.shape) != shape:
        raise InvalidInputError(
            f"mask has shape {tuple(np.shape(mask))}, expected {shape}: True where a label of y is known",
            argument="mask",
        )
    if named is not None and columns is not None and named != columns:
        raise InvalidInputError("mask has other columns than y, or another order of them", argument="mask")
    if table.dtype.kind != "b" and not np.isin(table, (0, 1)).all():
        raise InvalidInputError("mask must hold True and False, or 1 and 0", argument="mask")
    return np.array(table, dtype=bool)


def _refuse_nan(nan: NDArray[np.bool_], names: Any) -> None:
    row, column = np.argwhere(nan)[0]
    raise InvalidInputError(
        f"y holds nan ({place_of_label(row, column, names)}): labels must be 0 and 1, False and True, or -1 and 1",
        argument="y",
        advice=(Argument("missing", "ignore"), " learns from the labels that are known"),
    )


def _without_unknown(Y: Any, table: Any, known: NDArray[np.bool_]) -> Any:
    """Return labels in which those that are not known are off."""
    if is_sparse(Y):
        stored = sparse.coo_array(table)
        kept = known[stored.row, stored.col]
        parts = (stored.data[kept], (stored.row[kept], stored.col[kept]))
        settled: Any = sparse.coo_array(parts, shape=stored.shape)
        if (settled.data == -1).any():
            dense = settled.toarray()
            dense[~known] = -1
            settled = sparse.coo_array(dense)
        return getattr(sparse, f"{Y.format}_{'array' if isinstance(Y, sparse.sparray) else 'matrix'}")(settled)
    off = -1 if table.dtype.kind in "if" and (known & (table == -1)).any() else 0
    return np.where(known, table, np.asarray(off, dtype=table.dtype))


def check_known(known: KnownLabels, names: NDArray[Any]) -> None:
    """Refuse labels that are known for no instance: nothing can be learned of them."""
    if known is None:
        return
    unknown = np.flatnonzero(~known.any(axis=0))
    if len(unknown):
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise InvalidInputError(
            f"label {names[unknown[0]]!r}{more} is known for no instance",
            argument="y",
            advice="leave it out; in an evaluation, the training part of a split may know nothing of a rare label",
        )


def warn_of_one_sided(labels: sparse.csr_array, known: KnownLabels, names: NDArray[Any]) -> None:
    """Warn of labels that are known only where they are on: nothing says which instances lack them.

    Labels known only where they are off pass: of a rare label that is usual in a part of the data.
    """
    if known is None:
        return
    n_known = known.sum(axis=0)
    n_on = np.bincount(labels.indices, minlength=labels.shape[1])
    always = np.flatnonzero((n_on == n_known) & (n_known < len(known)))
    if len(always):
        more = f" (and {len(always) - 1} more)" if len(always) > 1 else ""
        warnings.warn(
            InputWarning(
                f"label {names[always[0]]!r}{more} is known only where it is on, so nothing says which instances lack "
                "it: if it is off, or not recorded, where it is not known, give 0 there (and recorded= to fit)"
            ),
            stacklevel=callers_level(),
        )


def known_in_order(known: KnownLabels, names: NDArray[Any] | None, trained: NDArray[Any]) -> KnownLabels:
    """Return which labels are known with columns in the order of training; see `in_trained_order`."""
    if known is None:
        return None
    return np.asarray(in_trained_order(sparse.csr_array(known), names, trained).toarray(), dtype=bool)


def known_shares(
    labels: sparse.csr_array, known: NDArray[np.bool_], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return for each label the share of its known instances, or of their weight, where it is on; 0 without any.

    Examples
    --------
    >>> known_shares(sparse.csr_array([[1.0], [0.0], [0.0]]), np.array([[True], [True], [False]]))
    array([0.5])
    """
    w = np.ones(len(known)) if weights is None else weights
    total = known.T @ w
    return np.divide(labels.T @ w, total, out=np.zeros(len(total)), where=total > 0)


def refused_unknown(known: NDArray[np.bool_], model: str, names: NDArray[Any]) -> InvalidInputError:
    """Return the error for a model that needs all labels."""
    row, column = np.argwhere(~known)[0]
    return InvalidInputError(
        f"y holds nan, or the mask leaves it out ({place_of_label(row, column, names)}), but {model} needs all labels",
        argument="y",
        advice="take LabelRidge, PLST, LabelPCA, CPLST, FeatureLabelCCA, CSSP, FAiE, LEML, GroPLE, "
        "CompressedSensing, MME, SSJDR or BinaryRelevance",
    )
