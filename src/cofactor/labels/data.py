"""Checks of labels and weights; models see labels in one form, and predictions get the form that was given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.dependencies import is_pandas_like_dataframe
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import check_sparse, check_text
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.frames import as_frame
from cofactor.labels.features import canonical, first_entry, first_without_number, is_sparse
from cofactor.masks import refuse_masked
from cofactor.text import few
from cofactor.typing import Labels

__all__ = [
    "LabelForm",
    "as_labels",
    "check_coding",
    "dense",
    "in_trained_order",
    "place_of_label",
]

_CONTAINERS = ("array", "pandas", "polars")
_FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


@dataclass(frozen=True)
class LabelForm:
    """The form of the labels that a user gave: their container, their dtype, and whether off is written 0 or -1.

    Parameters
    ----------
    container : str
        "array", "pandas", "polars", or a sparse format and kind as in "csr_array" and "csc_matrix".
    dtype : str
        Name of the NumPy dtype.
    signs : bool or None
        Whether labels are written -1 and 1 instead of 0 and 1; None if all are 1, which says neither.

    Examples
    --------
    >>> _, form, names = as_labels([[1, -1], [-1, -1]])
    >>> form
    LabelForm(container='array', dtype='int64', signs=True)
    >>> form.cast(np.array([[False, True]]), names)
    array([[-1,  1]])
    """

    container: str
    dtype: str
    signs: bool | None

    def __post_init__(self) -> None:
        if (
            not isinstance(self.container, str)
            or not isinstance(self.dtype, str)
            or not isinstance(self.signs, bool | None)
        ):
            raise InvalidTypeError(f"labels cannot come back as {self!r}")
        layout, kind = self._layout
        if self.container not in _CONTAINERS and not (layout in _FORMATS and kind in ("array", "matrix")):
            raise InvalidInputError(f"labels cannot come back as {self.container!r}")
        if np.dtype(self.dtype).kind not in "biuf":
            raise InvalidInputError(f"labels cannot have the dtype {self.dtype!r}")

    def cast(self, on: Any, names: NDArray[Any], index: Any = None) -> Any:
        """Return predicted labels in this form.

        Parameters
        ----------
        on : ndarray or csr_array of shape (n, L), bool
            Where a label is on; sparse if the form is.
        names : ndarray of shape (L,)
            Label names: columns of a frame.
        index : optional
            Row labels of a pandas frame.
        """
        dtype = np.dtype(self.dtype)
        layout, kind = self._layout
        if self.is_sparse and not self.signs:
            table = sparse.csr_array(on, dtype=dtype)
            kept: Any = table if kind == "array" else sparse.csr_matrix(table)
            return kept.asformat(layout)
        mask = on.toarray() if is_sparse(on) else on
        values = np.where(mask, 1, -1).astype(dtype) if self.signs else mask.astype(dtype)
        if self.is_sparse:
            return getattr(sparse, self.container)(values)
        if self.container == "array":
            return values
        if self.container == "pandas":
            import pandas as pd

            return pd.DataFrame(values, index=index, columns=names.tolist())
        return nw.from_numpy(values, [str(name) for name in names], backend="polars").to_native()

    @property
    def _layout(self) -> tuple[str, str]:
        """The sparse format, and whether it is an array or a matrix."""
        layout, _, kind = self.container.partition("_")
        return layout, kind

    @property
    def is_frame(self) -> bool:
        """Whether the labels were given as a frame, whose columns are their names."""
        return self.container in ("pandas", "polars")

    @property
    def is_sparse(self) -> bool:
        """Whether the labels were given as a sparse matrix or array."""
        return self.container not in _CONTAINERS


def as_labels(Y: Labels, names: Iterable[Any] | None = None) -> tuple[sparse.csr_array, LabelForm, NDArray[Any]]:
    """Return labels as a sparse array of ones, the form in which they were given, and their names.

    Parameters
    ----------
    Y : array-like, sparse matrix or array, or frame, of shape (n, L)
        0 and 1, False and True, or -1 and 1.
    names : iterable of length L, optional
        Distinct names of the labels; by default the columns of a frame, otherwise 0 to L - 1.

    Returns
    -------
    labels : csr_array of shape (n, L), float32
        1 where a label is on; in canonical form.
    form : LabelForm
        What `LabelForm.cast` needs to give predictions the same form.
    names : ndarray of shape (L,), object

    Raises
    ------
    InvalidInputError
        If Y is not a table of labels (another shape, fractions, NaN, other numbers), or the names do not fit.

    Examples
    --------
    >>> labels, form, names = as_labels([[True, False], [True, True]], ["rock, hard", 'so "pop"'])
    >>> labels.nnz, form.dtype, names.tolist()
    (3, 'bool', ['rock, hard', 'so "pop"'])
    """
    if Y is None:
        raise InvalidInputError("fit requires y to be passed, but the target y is None", argument="y")
    table: Any
    if is_sparse(Y):
        check_sparse(Y, "y")
        table, container, columns = Y, f"{Y.format}_{'array' if isinstance(Y, sparse.sparray) else 'matrix'}", None
    else:
        table, container, columns = _as_table(Y)
    if table.ndim != 2:
        raise InvalidInputError(
            f"y has shape {table.shape}, expected a table (n instances, L labels) of 0 and 1"
            + (": pass y.reshape(-1, 1) if it is one label" if table.ndim == 1 else ""),
            argument="y",
        )
    if table.shape[1] == 0:
        raise InvalidInputError(f"y has shape {table.shape}: there must be at least one label", argument="y")
    if names is not None and not isinstance(names, Iterable):
        raise InvalidTypeError("expected names, one for each label", argument="label_names", found=names)
    given = columns if names is None else list(names)
    labels, signs = _sparse_ones(table, given) if is_sparse(table) else _dense_ones(table, given)
    return labels, LabelForm(container, np.dtype(table.dtype).name, signs), _checked_names(given, table.shape[1])


def _as_table(Y: Any) -> tuple[NDArray[Any], str, list[Any] | None]:
    """Return a dense table of numbers, the name of its container, and the columns if it is a frame."""
    refuse_masked(Y, "y")
    Y, container, columns = nw.to_native(Y, pass_through=True), "array", None
    if is_pandas_like_dataframe(Y):  # narwhals refuses equal names of columns in words of its own
        container, columns, Y = "pandas", list(Y.columns), Y.to_numpy()
    else:
        frame = as_frame(Y)
        if frame is not None:
            container, columns, Y = "polars", frame.columns, frame.to_numpy()
    try:
        table = np.asarray(Y)
        if table.dtype.kind not in "biuf":
            table = _as_numbers(table)
    except (ValueError, TypeError) as error:
        found = first_without_number(Y)
        but = "" if found is None else f", but holds {found[0]!r} ({place_of_label(*found[1:], columns)})"
        raise InvalidInputError(
            f"Unknown label type: y must be a table (n instances, L labels) of 0 and 1{but}; "
            "scikit-learn's MultiLabelBinarizer makes one of lists of label names",
            argument="y",
        ) from error
    return table, container, columns


def _as_numbers(table: NDArray[Any]) -> NDArray[Any]:
    """Return a table of Python objects as a table of numbers."""
    if table.dtype.kind != "O":
        raise InvalidInputError(f"its entries have the dtype {table.dtype}")
    numbers = np.asarray(table.tolist())
    return numbers if numbers.dtype.kind in "biuf" else table.astype(np.float64)


def _dense_ones(table: NDArray[Any], names: list[Any] | None) -> tuple[sparse.csr_array, bool | None]:
    """Return the ones of a dense table, and whether its labels are written -1 and 1; None if it does not say."""
    negative = table == -1 if table.dtype.kind in "if" else np.zeros(table.shape, dtype=bool)
    on = table == 1
    wrong = ~(on | negative | (table == 0))
    if wrong.any():
        _refuse_label(*first_entry(table, wrong), names)
    signs = None if table.dtype.kind in "if" and on.all() else bool(negative.any())
    if signs and not (on | negative).all():
        raise InvalidInputError("y holds -1 and 0: labels are written either 0 and 1, or -1 and 1", argument="y")
    return sparse.csr_array(on, dtype=np.float32), signs


def _sparse_ones(table: Any, names: list[Any] | None) -> tuple[sparse.csr_array, bool]:
    """Return the ones of a sparse table, and whether its labels are written -1 and 1."""
    if table.dtype.kind not in "biuf":
        raise InvalidInputError(f"y has the dtype {table.dtype}: labels must be 0 and 1", argument="y")
    labels = sparse.csr_array(table, copy=True)
    labels.sum_duplicates()
    labels.eliminate_zeros()
    values = labels.data
    wrong = (values != 1) & (values != -1)
    if wrong.any():
        _refuse_label(*first_entry(labels, wrong), names)
    signs = bool((values == -1).any()) if values.dtype.kind in "if" else False
    if signs and labels.nnz < labels.shape[0] * labels.shape[1]:
        raise InvalidInputError("y holds -1 and 0: labels are written either 0 and 1, or -1 and 1", argument="y")
    labels = labels.astype(np.float32)
    if signs:
        labels.data = np.maximum(labels.data, 0)
        labels.eliminate_zeros()
    return labels, signs


def place_of_label(row: int, column: int, names: Any) -> str:
    """Return what messages call a place of y: by the name of the label, where it has one.

    Examples
    --------
    >>> place_of_label(3, 1, ["sea", "sun"]), place_of_label(3, 1, None)
    ("row 3, label 'sun'", 'row 3, label 1')
    """
    return f"row {row}, label {repr(names[column]) if names is not None and column < len(names) else column}"


def _refuse_label(value: Any, row: int, column: int, names: list[Any] | None) -> None:
    raise InvalidInputError(
        f"y holds {value} ({place_of_label(row, column, names)}): labels must be 0 and 1, False and True, or -1 and 1, "
        "with none missing",
        argument="y",
    )


def _checked_names(names: list[Any] | None, n_labels: int) -> NDArray[Any]:
    """Return names as an array of objects which a file can hold: strings and whole numbers."""
    if names is None:
        return np.arange(n_labels).astype(object)
    if len(names) != n_labels:
        raise InvalidInputError(f"there are {len(names)} label names for {n_labels} labels", argument="label_names")
    table = np.empty(n_labels, dtype=object)
    table[:] = [int(k) if isinstance(k, int | np.integer) and not isinstance(k, bool) else str(k) for k in names]
    check_text(table.tolist(), "label names")
    if len(set(table.tolist())) < n_labels:
        twice = next(k for k in table.tolist() if table.tolist().count(k) > 1)
        raise InvalidInputError(f"label names must differ: {twice!r} occurs twice", argument="label_names")
    return table


def check_coding(given: LabelForm, trained: LabelForm) -> LabelForm:
    """Refuse dense numbers in another coding than that of training; return the form that is known from now on.

    Examples
    --------
    >>> (_, zeros, _), (_, signs, _) = as_labels([[0, 1]]), as_labels([[-1, 1]])
    >>> check_coding(signs, zeros)
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: y holds -1 and 1, but until now labels were written 0 and 1; write them as before
    """
    if given.is_sparse or given.dtype == "bool" or given.signs is None:
        return trained
    if trained.signs is None:
        return replace(trained, signs=given.signs)
    if given.signs != trained.signs and not trained.is_sparse and trained.dtype != "bool":
        codes = ("0 and 1", "-1 and 1")
        raise InvalidInputError(
            f"y holds {codes[given.signs]}, but until now labels were written {codes[bool(trained.signs)]}",
            argument="y",
            advice="write them as before",
        )
    return trained


def in_trained_order(labels: sparse.csr_array, names: NDArray[Any] | None, trained: NDArray[Any]) -> sparse.csr_array:
    """Return labels with their columns in the order of training, matched by name where both have names.

    Parameters
    ----------
    labels : csr_array of shape (n, L)
    names : ndarray of shape (L,), or None
        Names of these labels; None matches the columns by position. So do the names 0 to L - 1, here or in `trained`,
        if the others differ, since they are what labels without names are called.
    trained : ndarray of shape (L,)
        Names of the labels in training.

    Raises
    ------
    InvalidInputError
        If there is a label of another name, or one is missing, or there are not L labels.

    Examples
    --------
    >>> labels, _, names = as_labels([[1, 1, 0]], ["r", "q", "p"])
    >>> in_trained_order(labels, names, np.array(["p", "q", "r"])).toarray()
    array([[0., 1., 1.]], dtype=float32)
    """
    wanted = trained.tolist()
    if names is not None:
        given = names.tolist()
        position, known = {name: k for k, name in enumerate(given)}, set(wanted)
        missing = [name for name in wanted if name not in position]
        extra = [name for name in given if name not in known]
        if not missing and not extra:
            return labels if given == wanted else canonical(labels[:, [position[name] for name in wanted]])
        if given != list(range(len(given))) and wanted != list(range(len(wanted))):
            problems = [f"no label {few(missing)}"] if missing else []
            problems += [f"label {few(extra)} was not there in training"] if extra else []
            raise InvalidInputError("; ".join(problems), advice=f"expected {len(wanted)} labels as trained")
    if labels.shape[1] != len(wanted):
        raise InvalidInputError(f"y has {labels.shape[1]} labels, but the model knows {len(wanted)}", argument="y")
    return labels


def dense(Y: sparse.csr_array, dtype: Any = np.float64) -> NDArray[Any]:
    """Return labels as a dense table of 0 and 1, n L numbers in memory.

    Examples
    --------
    >>> dense(as_labels([[0, 1], [1, 1]])[0])
    array([[0., 1.],
           [1., 1.]])
    """
    table = np.zeros(Y.shape, dtype=dtype)
    table[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices] = 1
    return table


def of_all_labels(table: NDArray[Any], constant: NDArray[np.int8], off: Any, on: Any) -> NDArray[Any]:
    """Return what is said of the labels that vary, with `on` and `off` in columns of labels always on, or never.

    Examples
    --------
    >>> of_all_labels(np.array([[0.5]]), np.array([0, 1, -1]), 0.0, 1.0).tolist()
    [[0.5, 1.0, 0.0]]
    """
    if not constant.any():
        return table
    whole = np.tile(np.where(constant > 0, on, off).astype(table.dtype), (len(table), 1))
    whole[:, constant == 0] = table
    return whole


def with_constant(labels: sparse.csr_array, constant: NDArray[np.int8]) -> sparse.csr_array:
    """Return labels that vary with the constant ones put back among them.

    Examples
    --------
    >>> with_constant(sparse.csr_array([[1.0], [0.0]]), np.array([0, 1, -1])).toarray()
    array([[1., 1., 0.],
           [0., 1., 0.]])
    """
    if not constant.any():
        return labels
    on = sparse.csr_array(np.tile(constant > 0, (labels.shape[0], 1)), dtype=labels.dtype)
    places = np.flatnonzero(constant == 0)
    return sparse.csr_array(on + sparse.csr_array((labels.data, places[labels.indices], labels.indptr), shape=on.shape))
