"""Checks of features; models see them in one form.

Also a check of instances that are copies of others: held-out scores say too much of those that are not.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.utils.validation import check_array, validate_data

from cofactor.checks import check_sparse, refuse_masked
from cofactor.chunked import ChunkedTable, accumulate, batches, is_chunked, is_sparse, vstack, zip_chunks
from cofactor.errors import InputWarning, InvalidInputError, InvalidTypeError
from cofactor.limits import LARGEST, SMALLEST
from cofactor.model.convergence import callers_level
from cofactor.text import shorten
from cofactor.typing import Features

#: Features as models see them: in range, C-contiguous or in canonical CSR form, float32 or float64.
CheckedFeatures: TypeAlias = NDArray[Any] | sparse.csr_array

#: Checked features, in memory or of chunks. What only hands features on, or sums over them, sees both as the former.
SeenFeatures: TypeAlias = CheckedFeatures | ChunkedTable

#: How many times as large as the other features one may be before most models learn from it alone. In public data sets
#: the factor is below 1e5.
_DWARFING = 1e8

#: Features of chunks up to which their principal axes are computed: a minute, and 0.6 GB.
_MOST_AXES = 5000


def column_means(T: CheckedFeatures, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the means of the columns of dense or sparse T, in memory or in parts, weighted."""
    total = None
    for chunk, some in zip_chunks(T, weights):
        total = accumulate(total, chunk.sum(axis=0, dtype=np.float64) if some is None else chunk.T @ some)
    return np.asarray(total, dtype=np.float64).ravel() / (T.shape[0] if weights is None else weights.sum())


def scaled_rows(T: Any, factors: NDArray[np.float64] | None) -> Any:
    """Return dense or sparse T with its rows multiplied by factors; T itself if there are none."""
    if factors is None:
        return T
    column: Any = factors[:, None]
    return T.multiply(column).tocsr() if is_sparse(T) else T * column


def column_squares(X: CheckedFeatures, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted squared lengths of the columns of features, in memory or in parts."""
    total: Any = None
    for chunk, some in zip_chunks(X, weights):
        values: Any = chunk.astype(np.float64, copy=False)
        if is_sparse(values):
            found = np.asarray((values * values).T @ some)
        else:
            found = np.einsum("ij,ij,i->j", values, values, some)  # needs no table of the squares
        total = accumulate(total, found)
    return np.asarray(total)


def cross_products(X: CheckedFeatures, T: Any, weights: NDArray[np.float64] | None) -> tuple[Any, Any]:
    """Return XᵀWT, dense of shape (D, d), and 1ᵀWT of shape (d,), of features and targets in memory or in parts.

    Examples
    --------
    >>> X, T = np.array([[1.0], [2.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> cross_products(X, T, np.array([1.0, 3.0]))
    (array([[7., 6.]]), array([4., 3.]))
    """
    total = sums = None
    for chunk, targets, some in zip_chunks(X, T, weights):
        targets = scaled_rows(targets, some)
        product: Any = chunk.T @ targets
        total = accumulate(total, product.toarray() if is_sparse(product) else product)
        sums = accumulate(sums, np.asarray(targets.sum(axis=0, dtype=np.float64)))
    return total, sums


def squared_lengths(X: CheckedFeatures) -> NDArray[np.float64]:
    """Return the squared length of each row.

    Examples
    --------
    >>> squared_lengths(np.array([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [25.0, 1.0]
    """
    if is_sparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(rows, weights=X.data.astype(np.float64) ** 2, minlength=X.shape[0]).astype(np.float64)
    table: Any = X
    return np.asarray(np.einsum("ij,ij->i", table, table, dtype=np.float64))


def as_features(
    X: Features, estimator: Any = None, *, reset: bool = True, names: Sequence[str] | NDArray[Any] | None = None
) -> CheckedFeatures:
    """Return features as models see them, having checked them.

    Parameters
    ----------
    X : array-like, sparse matrix or array, or frame, of shape (n, D)
        Features; never changed.
    estimator : estimator, optional
        The model or transformer that is given the features.
    reset : bool, default=True
        Whether the estimator notes the number and the names of the features, as in `fit`, or compares them with those
        it noted before, as in `predict`.
    names : sequence of str, optional
        What messages call the columns; by default those of a frame.

    Returns
    -------
    C-contiguous ndarray, or csr_array in canonical form, of shape (n, D)
        float32 if X is, float64 otherwise; X itself if it has this form already.

    Raises
    ------
    InvalidInputError
        If X is not a table of finite numbers from -`LARGEST` to `LARGEST`, or not one that the estimator can take. If a
        cell is wrong, the message says which, with rows and columns counted from 0. To learn from, X must not be so
        small that nothing in it is further from 0 than `SMALLEST`, unless all of it is 0.

    Warns
    -----
    InputWarning
        If X is to be learned from, and one cell is so large that the other features hardly count.

    Examples
    --------
    >>> as_features([[1, 2], [0, 3]])
    array([[1., 2.],
           [0., 3.]])
    """
    seen: Any = X
    if is_chunked(seen):  # checked when it was read first
        return seen
    if estimator is not None and not reset:
        check_n_features(X, estimator)
    refuse_masked(X, "X")
    if is_sparse(X):
        check_sparse(X, "X")
    names = getattr(X, "columns", None) if names is None else names
    form: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
    form["ensure_all_finite"] = False  # scikit-learn's message says neither row nor column
    try:
        table = check_array(X, **form) if estimator is None else validate_data(estimator, X, reset=reset, **form)
    except (TypeError, ValueError, OverflowError) as error:
        raise _refusal_of_features(X, error, names) from error
    if is_sparse(table):
        table = canonical(table)
    table = _aligned(table)
    _check_range(table, reset, names)
    return table


def _aligned(table: Any) -> Any:
    """Return a table whose numbers lie where numbers lie; those received from another machine may not.

    Sums over others are rounded otherwise.
    """
    arrays = (table.data, table.indices, table.indptr) if is_sparse(table) else (table,)
    return table if all(array.flags.aligned for array in arrays) else table.copy()


def check_n_features(X: Any, estimator: Any) -> None:
    """Refuse features of another number than the estimator noted; lists pass, since they do not say their shape."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[1] == estimator.n_features_in_:
        return
    known, columns = getattr(estimator, "feature_names_in_", None), getattr(X, "columns", None)
    advice = "" if known is None or columns is None else _differences(list(columns), known.tolist())
    advice = advice or how_to_read(estimator)
    turned = "; X seems to be transposed" if shape[0] == estimator.n_features_in_ and not advice else ""
    raise InvalidInputError(
        f"X has {shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
        f"features as input{turned}",
        argument="X",
        advice=advice,
    )


def how_to_read(model: Any) -> str:
    """Return how features of other files become those of a model that knows the columns of its table; else nothing."""
    return (
        "read files by the columns of training: load_labels(file, schema=model.schema_)"
        if hasattr(model, "schema_")
        else ""
    )


def _differences(columns: list[Any], known: list[Any]) -> str:
    """Return which columns of a frame are missing, and which were not there in training."""
    there, trained = set(columns), set(known)
    missing = [name for name in known if name not in there]
    extra = [name for name in columns if name not in trained]
    parts = [f"there is no column {shorten(missing)}"] if missing else []
    parts += [f"column {shorten(extra)} was not there in training"] if extra else []
    return ", and ".join(parts)


def canonical(X: Any) -> sparse.csr_array:
    """Return a sparse table as a csr_array in canonical form, without changing the given one."""
    table = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def _check_range(table: CheckedFeatures, reset: bool, names: Any) -> None:
    """Refuse features which are not finite or too large, and when learning those that are too small, as a whole.

    One test sees to all cells, since a comparison with NaN is false.
    """
    if get_config()["assume_finite"]:
        return
    values: NDArray[Any] = table.data if is_sparse(table) else table  # type: ignore[assignment]
    with np.errstate(invalid="ignore"):
        largest = float(max(values.max(initial=0), -values.min(initial=0)))
    if largest == 0 or (SMALLEST if reset else 0) <= largest <= LARGEST:
        if reset and has_huge_cell(table):
            _warn_of_largest(table, names)
        return
    if reset:
        refuse_tiny(largest)
    value, row, column = first_entry(table, ~(np.abs(values) <= LARGEST))
    bounds = "be finite numbers"
    if np.isnan(value):
        name = "NaN"
        advice = "fill in missing values, for example with sklearn.impute.SimpleImputer, or leave out their rows"
    elif np.isinf(value):
        name = "infinity" if value > 0 else "-infinity"
        advice = "replace it by a finite number, or leave out its row"
    else:
        name, bounds = f"{value:g}", f"lie between {-LARGEST:g} and {LARGEST:g}"
        advice = "leave out its row if it is an error, or scale the features, for example with "
        advice += "sklearn.preprocessing.MaxAbsScaler"
    raise InvalidInputError(
        f"X holds {name} ({_place(names, row, column)}): features must {bounds}", argument="X", advice=advice
    )


def check_chunked(n_features: int) -> None:
    """Refuse features of chunks that are too many for a model which needs their principal axes.

    Examples
    --------
    >>> check_chunked(5001)
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: with these settings, a fit to chunks takes 5,000 features at most, not 5,001: it
    needs their principal axes; take LabelRidge() or BinaryRelevance(Ridge())
    """
    if n_features > _MOST_AXES:
        raise InvalidInputError(
            f"with these settings, a fit to chunks takes {_MOST_AXES:,} features at most, not {n_features:,}: it needs "
            "their principal axes",
            argument="X",
            advice="take LabelRidge() or BinaryRelevance(Ridge())",
        )


def refuse_tiny(largest: float) -> None:
    """Refuse features to learn from of which none is further from 0 than a tiny number, unless all are 0."""
    if 0 < largest < SMALLEST:
        raise InvalidInputError(
            f"X holds nothing further from 0 than {largest:g}: squares of such features are lost in rounding",
            argument="X",
            advice="multiply them by a number, such as the inverse of the largest",
        )


def has_huge_cell(table: CheckedFeatures) -> bool:
    """Whether a cell is so large that the other features hardly count: 1e8 times the median of their largest cells."""
    sizes = np.zeros(table.shape[1])
    if is_sparse(table):
        np.maximum.at(sizes, table.indices, np.abs(table.data))
    else:
        dense: Any = table
        np.maximum(dense.max(axis=0), -dense.min(axis=0), out=sizes)
    *others, widest = np.sort(sizes[sizes > 0]).tolist() or [0.0]
    return bool(others) and widest > _DWARFING * float(np.median(others))


def _warn_of_largest(table: CheckedFeatures, names: Any) -> None:
    """Warn of the cell furthest from 0."""
    values: Any = table.data if is_sparse(table) else table
    sizes = np.abs(values)
    value, row, column = first_entry(table, sizes == sizes.max())
    warnings.warn(
        InputWarning(
            f"X holds {value:g} ({_place(names, row, column)}), beside which most models hardly see other features: "
            "leave out its row if it is an error, or scale the features, for example with "
            "sklearn.preprocessing.MaxAbsScaler"
        ),
        stacklevel=callers_level(),
    )


def _refusal_of_features(X: Any, error: Exception, names: Any) -> InvalidInputError:
    """Return our own error for features which scikit-learn refuses: it names the first cell that is not a number."""
    refusal = InvalidTypeError if isinstance(error, TypeError) else InvalidInputError
    found = None if is_sparse(X) else first_without_number(X)
    text = _first_text(X)
    if text is not None:
        advice = (
            "make features of their words: make_pipeline(TfidfVectorizer(), model), of sklearn.pipeline and "
            "sklearn.feature_extraction.text, takes texts"
        )
        return InvalidTypeError(
            f"these are texts, and features must be numbers; found {text!r}", argument="X", advice=advice
        )
    if found is None:
        return refusal(str(error), argument="X")
    value, row, column = found
    place = f"X holds {value!r} ({_place(names, row, column)})"
    if isinstance(value, str | bytes):
        advice = "encode text as numbers, for example with sklearn.preprocessing.OneHotEncoder, or leave out its column"
        return InvalidTypeError(f"{place}: features must be numbers", argument="X", advice=advice)
    advice = "put a number in its place, or leave out its row or column"
    return refusal(f"{place}: features must be numbers ({error})", argument="X", advice=advice)


def _first_text(X: Any) -> str | None:
    """Return the first text of a list, array or series of texts alone; None of others."""
    alone = isinstance(X, list | tuple) or len(getattr(X, "shape", ())) == 1
    return next((str(one)[:80] for one in X if isinstance(one, str)), None) if alone else None


def first_without_number(X: Any) -> tuple[Any, int, int] | None:
    """Return the first cell, row by row, that is not a number, with its row and column; None if there is none."""
    try:
        table = np.asarray(X)
    except ValueError:  # rows of different lengths
        return None
    if table.ndim != 2 or table.dtype.kind not in "OUS":
        return None
    cells = np.asarray(X, dtype=object)  # a list of texts and numbers has become texts alone above
    for (row, column), value in np.ndenumerate(cells):
        if value is None:  # counts as NaN
            continue
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return value, row, column
    return None


def _place(names: Any, row: int, column: int) -> str:
    """Return where a cell is."""
    return f"row {row}, {named_column(column, names)}"


def named_column(column: int, names: Any) -> str:
    """Return what messages call a column: by its name, if there are names.

    Examples
    --------
    >>> named_column(1, ["age", "height"]), named_column(1, None)
    ("column 'height'", 'column 1')
    """
    return f"column {column if names is None else repr(str(list(names)[column]))}"


def first_entry(table: Any, wrong: NDArray[np.bool_]) -> tuple[Any, int, int]:
    """Return the first wrong entry of a table, its row and its column; of a sparse table `wrong` has stored entries."""
    first = int(np.argmax(wrong))
    if is_sparse(table):
        row = int(np.searchsorted(table.indptr, first, side="right")) - 1
        return table.data[first], row, int(table.indices[first])
    row, column = divmod(first, table.shape[1])
    return table[row, column], row, column


_FEWEST = 100  # instances below which copies are not worth a word
_MANY = 0.1  # share of copies from which they are
_CELLS = 1 << 20
_SAME = 1e-12  # share of the largest product up to which two differ by rounding alone


def n_distinct(X: CheckedFeatures, Y: sparse.csr_array) -> int:
    """Return how many instances differ in their features or labels.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
    Y : csr_array of shape (n, L)

    Notes
    -----
    Instances are compared by sums, modulo 2⁶⁴, of random numbers for what each cell holds: two of a million differ and
    count as one in about one of 40 million tables.

    Examples
    --------
    >>> n_distinct(np.array([[0.5, 1.0], [0.5, 1.0], [0.5, 1.0]]), sparse.csr_array([[1.0], [1.0], [0.0]]))
    2
    """
    generator = np.random.default_rng(0)
    total = np.zeros(X.shape[0], dtype=np.uint64)
    for table in (X, Y):
        keys = generator.integers(0, 1 << 64, (table.shape[1],), dtype=np.uint64)
        total += vstack(_sums(chunk, keys) for (chunk,) in zip_chunks(table))
    return len(np.unique(total))


def warn_of_copies(X: CheckedFeatures, Y: sparse.csr_array) -> None:
    """Warn if more than a tenth of 100 instances or more are copies of others.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
    Y : csr_array of shape (n, L)

    Warns
    -----
    InputWarning
        It says how many of them are distinct.
    """
    n = X.shape[0]
    if n < _FEWEST:
        return
    distinct = n_distinct(X, Y)
    if n - distinct > _MANY * n:
        warnings.warn(
            InputWarning(
                f"only {distinct:,} of {n:,} instances are distinct: settings, probabilities and decisions learned "
                "from instances that are left out are too optimistic for new ones without copies; if copies are no "
                "new evidence, give each once, and their number as sample_weight"
            ),
            stacklevel=callers_level(),
        )


def grouped_folds(X: CheckedFeatures, n_parts: int, generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """Deal instances to random parts, copies to the same one, so that the parts do not depend on their order.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
    n_parts : int
        Fewer are returned where there are not two distinct instances for each, to tell one from another.
    generator : Generator

    Returns
    -------
    list of ndarray
        The rows of each part.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [1.0], [3.0], [4.0]])
    >>> [rows.tolist() for rows in grouped_folds(X, 2, np.random.default_rng(0))]
    [[3, 4], [0, 1, 2]]
    """
    n, D = X.shape
    keys = generator.standard_normal((D,))
    blocks = batches(n, max(1, _CELLS // max(1, D)))
    products = np.concatenate([np.asarray(X[rows].astype(np.float64) @ keys) for rows in blocks])
    order = np.argsort(products, kind="stable")
    differ = np.diff(products[order]) > _SAME * np.abs(products).max()
    number = np.empty(n, dtype=np.int64)
    number[order] = np.append(0, np.cumsum(differ))
    n_numbers = int(number.max()) + 1
    parts = np.array_split(generator.permutation(n_numbers), max(1, min(n_parts, n_numbers // 2)))
    return [np.flatnonzero(np.isin(number, part)) for part in parts]


def _sums(table: CheckedFeatures, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return for each row the sum of keys times its numbers, stirred; numbers that are 0 add nothing."""
    n = table.shape[0]
    if is_sparse(table):
        ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mix_bits(table.data) * keys[table.indices])])
        return np.asarray(ends[table.indptr[1:]] - ends[table.indptr[:-1]], dtype=np.uint64)
    dense: Any = table
    sums = np.empty(n, dtype=np.uint64)
    for rows in batches(n, max(1, _CELLS // max(1, len(keys)))):
        sums[rows] = (_mix_bits(dense[rows]) * keys).sum(axis=1, dtype=np.uint64)
    return sums


def _mix_bits(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the bits of numbers as integers whose low bits depend on the high ones; 0 stays 0."""
    bits = (np.asarray(numbers, dtype=np.float64) + 0.0).view(np.uint64)  # -0.0 is 0 too
    bits ^= bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    return bits
