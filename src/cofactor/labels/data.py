"""Checks of labels and weights; models see labels in one form, and predictions get the form that was given.

Labels may be unknown: NaN among them, or a mask says which are known. Data sets, and frames with the columns of a
table, are features and labels too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.dependencies import is_pandas_like_dataframe
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import check_sparse, check_text, one_of, refuse_masked
from cofactor.chunked import is_sparse
from cofactor.errors import Argument, InputWarning, InvalidInputError, InvalidTypeError
from cofactor.frames import as_frame
from cofactor.labels.features import (
    CheckedFeatures,
    as_features,
    canonical,
    check_n_features,
    first_entry,
    first_without_number,
    how_to_read,
)
from cofactor.model.convergence import callers_level
from cofactor.schema import Schema
from cofactor.text import did_you_mean, shorten
from cofactor.typing import Labels

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

    def to_state(self) -> dict[str, Any]:
        """Return what a file holds."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: Any) -> LabelForm:
        """Return the form that a file holds."""
        return cls(**state)

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
    return _as_ones(_label_table(Y), names)


@dataclass(frozen=True)
class _GivenLabels:
    """Labels as they were given, of numbers of which some may be NaN: sparse, or an array."""

    values: Any
    container: str  # as `LabelForm` has it
    columns: list[Any] | None  # of a frame


def _as_ones(table: _GivenLabels, names: Iterable[Any] | None) -> tuple[sparse.csr_array, LabelForm, NDArray[Any]]:
    """Return what `as_labels` returns."""
    values = table.values
    if values.shape[1] == 0:
        raise InvalidInputError(f"y has shape {values.shape}: there must be at least one label", argument="y")
    if names is not None and not isinstance(names, Iterable):
        raise InvalidTypeError("expected names, one for each label", argument="label_names", found=names)
    given = table.columns if names is None else list(names)
    labels, signs = _sparse_ones(values, given) if is_sparse(values) else _dense_ones(values, given)
    form = LabelForm(table.container, np.dtype(values.dtype).name, signs)
    return labels, form, checked_names(given, values.shape[1])


def _label_table(Y: Any) -> _GivenLabels:
    """Return y as a table of numbers, in which labels that are missing are NaN."""
    if Y is None:
        raise InvalidInputError("fit requires y to be passed, but the target y is None", argument="y")
    if is_sparse(Y):
        check_sparse(Y, "y")
        table = _GivenLabels(Y, f"{Y.format}_{'array' if isinstance(Y, sparse.sparray) else 'matrix'}", None)
    else:
        given = _opened(Y, "y")
        try:
            table = replace(given, values=_as_numbers(np.asarray(given.values)))
        except (ValueError, TypeError) as error:
            found = first_without_number(given.values)
            but = "" if found is None else f", but holds {found[0]!r} ({place_of_label(*found[1:], given.columns)})"
            raise InvalidInputError(
                f"Unknown label type: y must be a table (n instances, L labels) of 0 and 1{but}; "
                "scikit-learn's MultiLabelBinarizer makes one of lists of label names",
                argument="y",
                advice="take binarizer.fit_transform(y), with label_names=binarizer.classes_",
            ) from error
    shape = table.values.shape
    if len(shape) != 2:
        raise InvalidInputError(
            f"y has shape {shape}, expected a table (n instances, L labels) of 0 and 1"
            + (": pass y.reshape(-1, 1) if it is one label" if len(shape) == 1 else ""),
            argument="y",
        )
    return table


def _opened(table: Any, argument: str) -> _GivenLabels:
    """Return what a frame holds, with NaN for what is missing in it; anything else as it is."""
    refuse_masked(table, argument)
    native = nw.to_native(table, pass_through=True)
    if is_pandas_like_dataframe(native):  # narwhals refuses equal names of columns in words of its own
        missing, values = native.isna().to_numpy(), native.to_numpy()
        if missing.any():
            values = np.where(missing, np.nan, values.astype(object))
        return _GivenLabels(values, "pandas", list(native.columns))
    frame = as_frame(native)
    if frame is None:
        return _GivenLabels(native, "array", None)
    return _GivenLabels(frame.to_numpy(), "polars", frame.columns)


def _as_numbers(table: NDArray[Any]) -> NDArray[Any]:
    """Return a table of numbers, those of a table of Python objects as well."""
    if table.dtype.kind in "biuf":
        return table
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


def checked_names(names: list[Any] | None, n_labels: int) -> NDArray[Any]:
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
            problems = [f"no label {shorten(missing)}"] if missing else []
            problems += [f"label {shorten(extra)} was not there in training"] if extra else []
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


def label_tags(tags: Any) -> Any:
    """Change scikit-learn's description of an estimator: it learns from tables of labels. Return it."""
    tags.input_tags.sparse = True
    tags.target_tags.required = True
    tags.target_tags.multi_output = True
    tags.target_tags.single_output = False
    if tags.classifier_tags is not None:
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
    return tags


class UnpackedData(NamedTuple):
    """What a `cofactor.datasets.LabelDataset` holds, as far as a model learns from it."""

    features: Any
    labels: Any
    label_names: Any
    weights: Any
    mask: Any


def unpack_dataset(X: Any, y: Any, label_names: Any, weights: Any, mask: Any) -> UnpackedData:
    """Return features, labels and what is known of them; of a data set which was given alone, as ``fit(data)``.

    Parameters
    ----------
    X, y, label_names, weights, mask
        What `LabelModel.fit` was given.
    """
    if y is None and is_dataset(X):
        names = X.label_names if label_names is None else label_names
        labels, known = (X.Y, X.known) if mask is None else (X.targets, mask)
        return UnpackedData(X, labels, names, X.weights if weights is None else weights, known)
    return UnpackedData(X, y, label_names, weights, mask)


def is_dataset(X: Any) -> bool:
    """Return whether it is a `LabelDataset`; this module does not load its module, which takes a second."""
    return all(hasattr(X, name) for name in ("X", "targets", "weights", "feature_names", "schema"))


def features_to_score(X: Any, model: Any) -> CheckedFeatures:
    """Return checked features in the order of training.

    Parameters
    ----------
    X : Features or LabelDataset
        A data set, and a frame with the columns of the table which the model was fitted to, are matched by name.
    model : LabelModel
        Fitted.

    Raises
    ------
    InvalidInputError
        If a feature is missing, or was not there in training.
    """
    matched = _matched(X, model)
    if matched is None and hasattr(model, "schema_") and not hasattr(X, "columns"):
        matched = X  # rows of the data it was fitted to, perhaps, which have no names in an array
        _refuse_texts(X, model.schema_)
    if matched is None:
        return as_features(X, model, reset=False)
    check_n_features(matched, model)
    features = as_features(matched, reset=False)
    check_n_features(features, model)  # of lists, which do not say their shape
    return features


def _refuse_texts(X: Any, schema: Schema) -> None:
    """Refuse texts alone: they do not say of which column of the table they are."""
    alone = isinstance(X, Sequence) or len(getattr(X, "shape", ())) == 1  # arrays and series have one axis
    text = next((str(one) for one in X if isinstance(one, str)), None) if alone else None
    if text is not None:
        columns = ", ".join(map(repr, schema.features))
        raise InvalidInputError(
            f"the model was fitted to a table, and these are texts without columns; found {text!r}",
            argument="X",
            advice=f"pass a frame with the columns of training, {columns}",
        )


def _matched(X: Any, model: Any) -> Any:
    """Return the features of a data set, or those that the schema of a model makes of a frame; None for others."""
    names: NDArray[Any] | None = getattr(model, "feature_names_in_", None)
    schema = getattr(model, "schema_", None)
    if is_dataset(X):
        try:
            return X.X if names is None else X.align(names.tolist())
        except InvalidInputError as error:
            advice = error.advice or how_to_read(model)
            raise InvalidInputError(error.problem, argument="X", advice=advice, place=error.place) from None
    columns = getattr(X, "columns", None)
    if schema is None or names is None or columns is None or list(map(str, columns)) == names.tolist():
        return None
    given = set(map(str, columns))
    if not given.intersection(schema.features) and given.intersection(names.tolist()):
        return None  # its features by their names, perhaps in another order: there is a message for it
    from cofactor.datasets import read_label_table  # loads Arrow, which few programs need

    return read_label_table(X, [], schema=schema).X


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
    table = _label_table(Y)
    nan = _nan_in(table.values)
    if mask is None and nan is None:
        return (*_as_ones(table, names), None)
    n, L = table.values.shape
    if n * L > _MOST:
        raise InvalidInputError(
            f"which of {n} × {L} labels are known takes a byte for each, too much memory",
            argument="y",
            advice="give fewer labels or instances at a time",
        )
    known = np.ones((n, L), dtype=bool) if mask is None else _known_of(mask, (n, L), table.columns)
    if nan is not None:
        here = nan & known
        if missing == "error" and here.any():
            _refuse_nan(here, table.columns if names is None else names)
        known &= ~nan
    labels, form, found = _as_ones(replace(table, values=_without_unknown(table, known)), names)
    if labels.nnz == np.count_nonzero(known):
        form = replace(form, signs=None)  # zeros stand for what is not known
    return labels, form, found, None if known.all() else known


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
    given = _opened(mask.toarray() if is_sparse(mask) else mask, "mask")
    table, named = np.asarray(given.values), given.columns
    if table.shape != shape:
        raise InvalidInputError(
            f"mask has shape {table.shape}, expected {shape}: True where a label of y is known", argument="mask"
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


def _without_unknown(table: _GivenLabels, known: NDArray[np.bool_]) -> Any:
    """Return labels in which those that are not known are off."""
    values = table.values
    if is_sparse(values):
        stored = sparse.coo_array(values)
        kept = known[stored.row, stored.col]
        parts = (stored.data[kept], (stored.row[kept], stored.col[kept]))
        settled: Any = sparse.coo_array(parts, shape=stored.shape)
        if (settled.data == -1).any():
            dense = settled.toarray()
            dense[~known] = -1
            settled = sparse.coo_array(dense)
        return settled
    off = -1 if values.dtype.kind in "if" and (known & (values == -1)).any() else 0
    return np.where(known, values, np.asarray(off, dtype=values.dtype))


def check_known(known: NDArray[np.bool_], names: NDArray[Any]) -> None:
    """Refuse labels that are known for no instance: nothing can be learned of them."""
    unknown = np.flatnonzero(~known.any(axis=0))
    if len(unknown):
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise InvalidInputError(
            f"label {names[unknown[0]]!r}{more} is known for no instance",
            argument="y",
            advice="leave it out; in an evaluation, the training part of a split may know nothing of a rare label",
        )


def warn_of_one_sided(labels: sparse.csr_array, known: NDArray[np.bool_], names: NDArray[Any]) -> None:
    """Warn of labels that are known only where they are on: nothing says which instances lack them.

    Labels known only where they are off pass: of a rare label that is usual in a part of the data.
    """
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


def label_positions(labels: Iterable[Any], names: NDArray[Any]) -> NDArray[np.int64]:
    """Return the positions of labels among all names."""
    if isinstance(labels, str):
        labels = [labels]
    known = {name: k for k, name in enumerate(names.tolist())}
    known = {str(name): k for name, k in known.items()} | known  # the command line knows names as texts
    wanted = list(dict.fromkeys(labels))
    for name in wanted:
        if name not in known:
            expected = did_you_mean(str(name), [str(one) for one in names])
            raise InvalidInputError(f"no label of the model: {expected}", argument="labels", found=name)
    return np.array([known[name] for name in wanted], dtype=np.int64)
