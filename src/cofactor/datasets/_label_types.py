"""The form in which every loader and reader hands over features and labels."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from cofactor.errors import InvalidInputError
from cofactor.text import counted

Form = Literal["auto"] | bool

#: Largest share of nonzeros at which X is kept sparse by default. An entry of a CSR array takes 12 bytes and an
#: indirect access where a dense one takes 8 bytes; at a fifth both memory and products are clearly on its side.
SPARSE_BELOW = 0.2

_ROWS_TO_JUDGE = 20
_BLOCK = 1 << 22  # entries looked at in one go, so that checks need little memory beside the data


@dataclass(frozen=True, eq=False, repr=False)
class LabelDataset:
    """Features and labels of instances, as any estimator of the label half takes them.

    Parameters
    ----------
    name : str
        Name of the data set, or of the file it was read from.
    X : ndarray of shape (n, D), float64, or csr_array
        Features. Nominal ones with two truth values (0/1, no/yes, ...) are one column of 0 and 1, all other nominal
        ones a column of 0 and 1 for each value, named ``feature=value``.
    Y : csr_array of shape (n, L), int8
        Labels: a stored 1 where a label is on.
    feature_names, label_names : tuple of str
        Names of the columns of X and Y.
    train_rows : ndarray of shape (n,), bool, or None
        The training part of an official split; None where there is none.
    nominal : tuple of str
        Names of the nominal features which were spread over columns ``feature=value``.
    description : str
        Origin and peculiarities, in a sentence or two.

    Raises
    ------
    ValueError
        If the shapes do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from cofactor.datasets import LabelDataset
    >>> Y = csr_array(np.array([[1, 0, 1], [0, 1, 0]], dtype=np.int8))
    >>> LabelDataset("tiny", np.eye(2), Y, ("x0", "x1"), ("sea", "sun", "snow"))
    LabelDataset('tiny': 2 instances, 2 features, 3 labels, 1.500 labels per instance, dense)
    """

    name: str
    X: Any
    Y: csr_array
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    train_rows: NDArray[np.bool_] | None = None
    nominal: tuple[str, ...] = ()
    description: str = ""

    def __post_init__(self) -> None:
        n = self.X.shape[0]
        if self.X.shape != (n, len(self.feature_names)):
            raise InvalidInputError(
                f"X has shape {self.X.shape}, but there are {len(self.feature_names)} feature names"
            )
        if self.Y.shape != (n, len(self.label_names)):
            raise InvalidInputError(
                f"Y has shape {self.Y.shape}, but there are {counted(n, 'instance')} "
                f"and {len(self.label_names)} label names"
            )
        if self.train_rows is not None and self.train_rows.shape != (n,):
            raise InvalidInputError(f"train_rows must have shape ({n},); found {self.train_rows.shape}")

    def __len__(self) -> int:
        return self.n_instances

    @property
    def n_instances(self) -> int:
        """Number of rows of X and Y."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return len(self.feature_names)

    @property
    def n_labels(self) -> int:
        """Number of columns of Y."""
        return len(self.label_names)

    @property
    def cardinality(self) -> float:
        """Mean number of labels of an instance."""
        return self.Y.nnz / max(self.n_instances, 1)

    def take(self, rows: NDArray) -> "LabelDataset":
        """Select instances.

        Parameters
        ----------
        rows : ndarray of int or bool
            Positions, or a mask.

        Returns
        -------
        LabelDataset
            Without an official split.
        """
        return replace(self, X=self.X[rows], Y=self.Y[rows], train_rows=None)

    def split(self) -> tuple["LabelDataset", "LabelDataset"]:
        """Training part and test part of the official split.

        Returns
        -------
        train, test : LabelDataset

        Raises
        ------
        ValueError
            If the data set has none.

        Examples
        --------
        >>> from cofactor.datasets import load_labels
        >>> train, test = load_labels("emotions").split()
        >>> len(train), len(test)
        (391, 202)
        """
        if self.train_rows is None:
            raise InvalidInputError(
                f"data set {self.name!r} has no official split; use folds (sklearn.model_selection.KFold)"
            )
        return self.take(self.train_rows), self.take(~self.train_rows)

    def align(self, feature_names: Sequence[str]) -> Any:
        """X with the columns of another data set, for example of the one a model was trained on.

        Values of a nominal feature which occur in only one of the two files are no reason to refuse it: those which
        this one lacks become columns of zeros, and an instance with a value which the other one lacks gets zeros in
        all columns of that feature, with a warning.

        Parameters
        ----------
        feature_names : sequence of str
            Names of the wanted columns, in the wanted order.

        Returns
        -------
        ndarray or csr_array of shape (n, len(feature_names))

        Raises
        ------
        ValueError
            If a wanted feature is missing, or there is one which is not wanted; the message names it.

        Warns
        -----
        UserWarning
            If an instance has a value of a nominal feature which is not among the wanted columns.
        """
        if tuple(feature_names) == self.feature_names:
            return self.X
        position = {name: k for k, name in enumerate(self.feature_names)}
        prefixes = tuple(f"{name}=" for name in self.nominal)
        missing = [name for name in feature_names if name not in position and not name.startswith(prefixes)]
        if missing:
            raise InvalidInputError(
                f"{self.name}: no feature {_few(missing)}; expected {len(feature_names)} features as trained"
            )
        wanted = set(feature_names)
        spread = tuple(prefix for prefix in prefixes if any(name.startswith(prefix) for name in feature_names))
        unseen = [name for name in self.feature_names if name not in wanted]
        extra = [name for name in unseen if not name.startswith(spread)] if spread else unseen
        if extra:
            raise InvalidInputError(f"{self.name}: feature {_few(extra)} was not there in training")
        columns = np.array([position.get(name, len(position)) for name in feature_names])
        self._warn_of_unseen([name for name in unseen if self.X[:, [position[name]]].sum()])
        if is_sparse(self.X):
            padded = csr_array((self.X.data, self.X.indices, self.X.indptr), (self.n_instances, len(position) + 1))
            return csr_array(padded[:, columns])
        return np.hstack([self.X, np.zeros((self.n_instances, 1), self.X.dtype)])[:, columns]

    def _warn_of_unseen(self, names: list[str]) -> None:
        if names:
            warnings.warn(
                f"{self.name}: {_few(names)} did not occur in training; all columns of this feature are 0 for it",
                UserWarning,
                stacklevel=3,
            )

    def __repr__(self) -> str:
        form = "sparse" if is_sparse(self.X) else "dense"
        sizes = (
            counted(self.n_instances, "instance"),
            counted(self.n_features, "feature"),
            counted(self.n_labels, "label"),
        )
        return f"LabelDataset({self.name!r}: {', '.join(sizes)}, {self.cardinality:.3f} labels per instance, {form})"


def is_sparse(X: Any) -> bool:
    """Whether an array is one of SciPy's sparse arrays or matrices."""
    return bool(issparse(X))


def _few(names: Sequence[str]) -> str:
    """The first three of some names, for a message."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(repr, names[:3])) + more


def generic_names(letter: str, n: int, first: int = 0) -> tuple[str, ...]:
    """Names for columns which have none: x0, x1, ... for features, y0, y1, ... for labels."""
    return tuple(f"{letter}{k}" for k in range(first, first + n))


def in_form(X: Any, sparse: Form, name: str) -> Any:
    """X as a C-contiguous array or as a CSR array without stored zeros, float64, checked to be finite.

    With ``sparse="auto"`` it is sparse if at most a fifth of its numbers differ from 0, whatever form the file has.
    """
    if sparse not in ("auto", True, False):
        raise InvalidInputError(f"sparse={sparse!r} is not known; expected 'auto', True or False")
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
    return np.ascontiguousarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def _check_finite(values: NDArray[np.float64], name: str) -> None:
    step = max(_BLOCK // max(values.shape[1], 1), 1)
    if not all(np.isfinite(values[k : k + step]).all() for k in range(0, len(values), step)):
        raise InvalidInputError(f"{name}: a feature is NaN or infinite; replace or drop such values before")


def small_indices(X: csr_array) -> csr_array:
    """The same array with int32 indices where they suffice."""
    if X.indices.dtype == np.int32 and X.indptr.dtype == np.int32:
        return X
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)


def indicator(values: Any, name: str) -> csr_array:
    """Labels in any of the usual codes (0/1, -1/+1, booleans; dense or sparse) as a CSR array of int8 ones."""
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
    return small_indices(on.astype(np.int8))


def _check_codes(found: NDArray, name: str) -> None:
    """Refuse anything but 0/1, -1/+1 and booleans."""
    if found.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name}: labels must be numbers or booleans, found {found.dtype}")
    codes = set(found.tolist())
    if not (codes <= {0, 1} or codes <= {-1, 1}):
        odd = next((code for code in found.tolist() if code not in (-1, 0, 1)), None)
        reason = f"found {odd:g}" if odd is not None else "found -1, 0 and 1 together"
        raise InvalidInputError(f"{name}: labels must be 0/1, -1/+1 or booleans, {reason}")


def from_entries(
    n_rows: int, n_columns: int, rows: NDArray, columns: NDArray, values: NDArray | None = None
) -> csr_array:
    """CSR array from entries in row order, without sorting them anew; ones of int8 where no values are given."""
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    data = np.ones(len(columns), dtype=np.int8) if values is None else values
    result = csr_array((data, columns, indptr), (n_rows, n_columns))
    result.sort_indices()
    return small_indices(result)


def first_or_last(count: int, n: int, file: str, what: str) -> list[int]:
    """Positions of the labels among n columns: the first ones, or the last ones where their number is negative."""
    if not 0 < abs(count) < n:
        raise InvalidInputError(f"{file}: {count} labels among {counted(n, what)}; expected 1 to {n - 1}")
    return list(range(count)) if count > 0 else list(range(n + count, n))


def positions_of(present: Sequence[str], names: Sequence[str], file: str, what: str, source: str) -> list[int]:
    """Positions of columns by their names; one which is not there, or is named twice, is an error."""
    position = {name: j for j, name in enumerate(present)}
    missing = [name for name in names if name not in position]
    if missing:
        raise InvalidInputError(f"{file}: has no {what} {_few(missing)}, which {source} names")
    if len(set(names)) < len(names):
        raise InvalidInputError(f"{source} names {next(name for name in names if list(names).count(name) > 1)!r} twice")
    return [position[name] for name in names]


def warn_of_row_names(file: str, what: str, name: str, codes: NDArray) -> None:
    """Warn, from a reader's helper, of a nominal feature which has another value in each of at least 20 rows."""
    if len(codes) < _ROWS_TO_JUDGE or len(np.unique(codes)) < len(codes):
        return
    warnings.warn(
        f"{file}: the {what} {name!r} has another value in every row, so it names the rows and is no feature; "
        f"leave it out with drop=[{name!r}]",
        UserWarning,
        stacklevel=4,
    )
