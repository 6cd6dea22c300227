"""Scales of features, and the choice among them by exact leave-one-out errors of ridge regression."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import AUTO, check_choice
from cofactor.chunked import ChunkedTable, is_sparse, zip_chunks
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels.features import CheckedFeatures, SeenFeatures, column_means
from cofactor.labels.leave_one_out import BestAlpha, ridge_problem
from cofactor.limits import CELLS, LARGEST
from cofactor.model.convergence import callers_level
from cofactor.model.state import check_array
from cofactor.text import plural

#: Values of the parameter `scale` beside "auto".
SCALES = ("none", "rows", "tf-idf", "sd", "standard", "standard-rows")

_NARROW = 100  # columns up to which features count as dense in any case

#: Share of numbers that are not 0 below which features count as sparse.
SPARSE = 0.3

_OF_SPARSE = ("none", "rows", "tf-idf", "sd")

#: What dense features choose from.
OF_DENSE = ("standard", "standard-rows")
_CENTRED = ("standard", "standard-rows")
_UNIT_ROWS = ("rows", "tf-idf", "standard-rows")
_ROWS = 1200  # on which the errors are compared
_FIRST = 5  # instances of a stream that say how to standardize; so few already do better than none at all
_FURTHEST = 4.0  # standard deviations
_CONSTANT = 1e-12  # a standard deviation below this share of the mean is rounding errors
_LARGEST_FACTOR = 1e20  # products with features stay in the range of single precision

#: The place of the best scaling, and its penalty, by a hash of what was compared last: several models of the same data
#: ask for the same.
_COMPARED: dict[str, tuple[int, BestAlpha]] = {}
_MOST_COMPARED = 64


@dataclass(frozen=True, eq=False)
class Scaling:
    r"""How features are scaled before a model sees them.

    ===============  ==============================================================================================
    "none"           as they are
    "rows"           each row divided by its Euclidean length; rows of zeros stay
    "tf-idf"         each column times :math:`\ln\frac{1 + n}{1 + n_j} + 1`, where n_j of n rows are not 0; then "rows"
    "sd"             each column divided by its standard deviation, not centred, so that zeros stay zeros
    "standard"       each column centred and divided by its standard deviation, then cut at -4 and 4
    "standard-rows"  "standard", then "rows"
    ===============  ==============================================================================================

    Columns that were constant in training become 0 by "standard"; "sd" divides them by their absolute value.

    Parameters
    ----------
    kind : str
        One of these.
    factor : ndarray of shape (D,), optional
        What columns are multiplied by; None where they are not.
    mean : ndarray of shape (D,), optional
        What is subtracted from the columns before; None where nothing is.

    Examples
    --------
    >>> Scaling("rows").apply(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    kind: str
    factor: NDArray[np.float64] | None = None
    mean: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        check_choice("kind of scale", self.kind, SCALES)

    def apply(self, X: SeenFeatures) -> Any:
        """Return scaled features of the same precision, X itself for "none".

        Sparse X stays sparse, but by "standard" and "standard-rows", which leave no zeros, it becomes dense.

        Raises
        ------
        InvalidInputError
            If sparse X is too large to become dense.
        """
        if self.kind == "none":
            return X
        if isinstance(X, ChunkedTable):
            return X.map(self._applied, sparse=X.sparse and self.mean is None)
        return self._applied(X)

    def _applied(self, X: CheckedFeatures) -> CheckedFeatures:
        if self.mean is not None:
            X = dense_features(X) - self.mean.astype(X.dtype)
        if self.factor is not None:
            X = _times_columns(X, self.factor.astype(X.dtype))
        if self.mean is not None:
            _clip(X, _FURTHEST)
        elif self.kind == "sd":
            _clip(X, LARGEST)
        return _unit_rows(X) if self.kind in _UNIT_ROWS else X

    def to_state(self) -> dict[str, Any]:
        """Return its parts, as `cofactor.model.state.packed` takes them."""
        return {"kind": self.kind, "factor": self.factor, "mean": self.mean}

    @classmethod
    def from_state(cls, parts: Any) -> Scaling:
        """Return the scaling of parts which come from a file."""
        return cls(*(parts.get(name) for name in ("kind", "factor", "mean")))

    def check(self, n_features: int) -> None:
        """Refuse parts, read from a file, that are not those of a scaling of so many features."""
        for name, found, wanted in (
            ("factor", self.factor, self.kind not in ("none", "rows")),
            ("mean", self.mean, self.kind in _CENTRED),
        ):
            if (found is not None) != wanted:
                raise InvalidInputError(f"a scale {self.kind!r} {'needs' if wanted else 'has no'} {name}")
            if found is not None:
                check_array(f"{name} of the scale", found, (n_features,))
                largest = np.abs(found).max(initial=0)
                if largest > (_LARGEST_FACTOR if name == "factor" else LARGEST):
                    raise InvalidInputError(f"the {name} of the scale holds {largest:g}")


def check_scale(name: str, scale: Any) -> None:
    """Refuse what is not a value of the parameter `scale`.

    Examples
    --------
    >>> check_scale("scale", "l2")
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: scale='l2': expected one of 'auto', 'none', 'rows', 'tf-idf', 'sd', 'standard',
    'standard-rows'
    """
    check_choice(name, scale, (AUTO, *SCALES))


def learn_scaling(kind: str, X: CheckedFeatures, weights: NDArray[np.float64] | None = None) -> Scaling:
    """Return the scaling of a kind for features: it learns their means, deviations, or frequencies.

    Parameters
    ----------
    kind : str
        One of `SCALES`.
    X : ndarray or csr_array of shape (n, D)
    weights : ndarray of shape (n,), optional
        Weights of the instances; an instance of weight 2 counts as two.

    Examples
    --------
    >>> learn_scaling("standard", np.array([[0.0, 5.0], [2.0, 5.0]])).apply(np.array([[0.0, 7.0], [90.0, 7.0]]))
    array([[-1.,  0.],
           [ 4.,  0.]])
    """
    return _ColumnStatistics(X, weights).scaling(kind)


def choose_scaling(
    X: CheckedFeatures,
    Y: CheckedFeatures,
    weights: NDArray[np.float64] | None = None,
    *,
    scale: str = AUTO,
    fit_intercept: bool = True,
    of_dense: Sequence[str] = OF_DENSE,
) -> Scaling:
    """Choose the scale with the smallest leave-one-out error of ridge regression, and learn it from all instances.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
        Features.
    Y : ndarray or csr_array of shape (n, L)
        Labels.
    weights : ndarray of shape (n,), optional
        Weights of the instances.
    scale : str, default="auto"
        A kind, which is learned and not compared; with "auto", more than 100 features of which less than 30 % are not
        0 choose from "none", "rows", "tf-idf" and "sd", others from those of `of_dense`.
    fit_intercept : bool, default=True
        Whether the regression has an intercept.
    of_dense : sequence of str, default=("standard", "standard-rows")
        What dense features choose from.

    Returns
    -------
    Scaling

    Notes
    -----
    The squared errors are those on at most 1,200 instances, drawn with a fixed seed, each scale with its best penalty.

    Examples
    --------
    >>> X = np.array([[1.0, 200.0], [2.0, 100.0], [3.0, 300.0], [4.0, 500.0]])
    >>> choose_scaling(X, np.array([[0.0], [0.0], [1.0], [1.0]])).kind
    'standard-rows'
    """
    if scale != AUTO:
        return learn_scaling(scale, X, weights)
    return compared_scalings(X, Y, weights, fit_intercept=fit_intercept, of_dense=of_dense)[0]


def compared_scalings(
    X: CheckedFeatures,
    Y: CheckedFeatures,
    weights: NDArray[np.float64] | None = None,
    *,
    fit_intercept: bool = True,
    of_dense: Sequence[str] = OF_DENSE,
) -> tuple[Scaling, BestAlpha | None]:
    """Return what `choose_scaling` chooses, and its best penalty; None where there was nothing to compare."""
    candidates = candidate_scalings(X, weights, of_dense)
    if X.shape[0] < 3 or len(candidates) == 1:
        return candidates[0], None
    rows = rows_to_compare(X.shape[0])
    some, labels, heavy = X[rows], Y[rows], None if weights is None else weights[rows]
    asked = str(joblib.hash((candidates, some, labels, heavy, fit_intercept)))
    if asked not in _COMPARED:
        found: list[BestAlpha] = []
        for candidate in candidates:
            place = min(found, key=lambda best: best.error).grid_index if found else 9
            found.append(ridge_problem(candidate.apply(some), heavy, fit_intercept).best_alpha(labels, place))
        best = min(range(len(found)), key=lambda k: found[k].error)
        while len(_COMPARED) >= _MOST_COMPARED:
            _COMPARED.pop(next(iter(_COMPARED)), None)
        _COMPARED[asked] = best, found[best]
    best, penalty = _COMPARED[asked]
    return candidates[best], penalty


def candidate_scalings(
    X: CheckedFeatures, weights: NDArray[np.float64] | None = None, of_dense: Sequence[str] = OF_DENSE
) -> list[Scaling]:
    """Return the scalings among which "auto" chooses, learned from all instances; see `choose_scaling`."""
    columns = _ColumnStatistics(X, weights)
    return [columns.scaling(kind) for kind in (_OF_SPARSE if is_wide_sparse(X) else of_dense)]


def is_wide_sparse(X: CheckedFeatures) -> bool:
    """Return whether features are many, and mostly 0, as those of text are."""
    return X.shape[1] > _NARROW and share_filled(X) < SPARSE


def rows_to_compare(n: int) -> NDArray[np.int64]:
    """Return the at most 1,200 of n instances on which they are compared."""
    return np.arange(n) if n <= _ROWS else np.sort(np.random.default_rng(0).choice(n, _ROWS, replace=False))


def _clip(X: CheckedFeatures, furthest: float) -> None:
    values: Any = X.data if is_sparse(X) else X
    np.clip(values, -furthest, furthest, out=values)


def share_filled(X: CheckedFeatures) -> float:
    """Return the share of numbers that are not 0; dense and sparse X have the same."""
    filled = sum(np.count_nonzero(chunk.data if is_sparse(chunk) else chunk) for (chunk,) in zip_chunks(X))
    return float(filled) / max(1, X.shape[0] * X.shape[1])


class _ColumnStatistics:
    """What scalings say of the columns of features; it is learned when it is asked for, once."""

    def __init__(self, X: CheckedFeatures, weights: NDArray[np.float64] | None) -> None:
        self._X, self._weights = X, weights

    def scaling(self, kind: str) -> Scaling:
        """Return the scaling of a kind."""
        if kind in ("none", "rows"):
            return Scaling(kind)
        if kind == "tf-idf":
            n, counts = _frequencies(self._X, self._weights)
            return Scaling(kind, np.log((1 + n) / (1 + counts)) + 1)
        mean, sd = self._moments
        constant = sd <= _CONSTANT * np.abs(mean)
        if kind == "sd":
            size = np.where(constant, np.abs(mean), sd)
            return Scaling(kind, 1 / np.maximum(np.where(size > 0, size, 1.0), 1 / _LARGEST_FACTOR))
        factor = 1 / np.maximum(np.where(constant, 1.0, sd), 1 / _LARGEST_FACTOR)
        return Scaling(kind, np.where(constant, 0.0, factor), mean)

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return _moments(self._X, self._weights)


def _frequencies(X: CheckedFeatures, weights: NDArray[np.float64] | None) -> tuple[float, NDArray[np.float64]]:
    """Return the number of rows, and in how many each column is not 0; both count weights."""
    n, D = X.shape
    counts = np.zeros(D)
    for chunk, some in zip_chunks(X, weights):
        if is_sparse(chunk):
            filled = chunk.data != 0
            each = None if some is None else np.repeat(some, np.diff(chunk.indptr))[filled]
            counts += np.bincount(chunk.indices[filled], each, minlength=D)
        else:
            counts += (np.ones(chunk.shape[0]) if some is None else some) @ (np.asarray(chunk) != 0)
    return float(n if weights is None else weights.sum()), counts


def _moments(
    X: CheckedFeatures, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and standard deviations of the columns, in two passes."""
    n, D = X.shape
    weight = np.ones(n) if weights is None else weights
    total = float(weight.sum())
    mean = column_means(X, weight)
    among, empty = np.zeros(D), np.zeros(D)  # squares of what is stored; weight of what is not
    for chunk, some in zip_chunks(X, weight):
        if is_sparse(chunk):
            each = np.repeat(some, np.diff(chunk.indptr))
            empty += some.sum() - np.bincount(chunk.indices, each, minlength=D)
            among += np.bincount(chunk.indices, each * (chunk.data - mean[chunk.indices]) ** 2, minlength=D)
        else:
            centred = chunk - mean
            among += np.einsum("ij,ij,i->j", centred, centred, some)
    return mean, np.sqrt((among + np.maximum(empty, 0.0) * mean**2) / total)


def dense_features(X: SeenFeatures) -> Any:
    """Return dense features; sparse ones that would take too much memory are refused."""
    if isinstance(X, ChunkedTable):
        return X.map(dense_features, sparse=False)
    if not is_sparse(X):
        return np.asarray(X)
    n, D = X.shape
    CELLS.check(n * D, f"sparse features of {n:,} × {D:,} numbers would become dense", size=8 * X.nnz)
    return X.toarray()


def _times_columns(X: CheckedFeatures, factor: NDArray[Any]) -> CheckedFeatures:
    if not is_sparse(X):
        return X * factor
    return sparse.csr_array((X.data * factor[X.indices], X.indices, X.indptr), shape=X.shape)


def _unit_rows(X: CheckedFeatures) -> CheckedFeatures:
    """Return X with rows of length 1; rows of zeros stay."""
    if is_sparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        squares = np.bincount(rows, X.data.astype(np.float64) ** 2, minlength=X.shape[0])
    else:
        squares = np.square(np.asarray(X), dtype=np.float64).sum(axis=1)
    factor = 1 / np.sqrt(np.where(squares > 0, squares, 1.0))
    if not is_sparse(X):
        return X * factor.astype(X.dtype)[:, None]
    return sparse.csr_array((X.data * factor[rows].astype(X.dtype), X.indices, X.indptr), shape=X.shape)


def stream_scaling(scale: str, X: CheckedFeatures, weights: NDArray[np.float64] | None = None) -> Scaling:
    """Return the scale of features that come in a stream.

    Parameters
    ----------
    scale : str
        "none", "rows", or "auto": that is "standard" by the first instances, if they are 5 or more and their features
        are such as "auto" standardizes in a fit too; otherwise "none". Columns which are constant in them are only
        centred, since they may vary later.
    X : ndarray or csr_array of shape (n, D)
        Features of the first instances.
    weights : ndarray of shape (n,), optional
        Their weights.

    Raises
    ------
    InvalidInputError
        If the scale is one that learns from all instances.

    Warns
    -----
    InputWarning
        If there are fewer than 5 instances of features which "auto" would standardize.

    Examples
    --------
    >>> X = np.arange(60.0).reshape(30, 2)
    >>> stream_scaling("auto", X).kind, stream_scaling("auto", np.eye(200)).kind, stream_scaling("rows", X).kind
    ('standard', 'none', 'rows')
    """
    if scale not in (AUTO, "none", "rows"):
        raise InvalidInputError(
            "it learns from all instances, which partial_fit never sees",
            argument="scale",
            found=scale,
            advice="begin with fit, or take 'auto', 'none' or 'rows'",
        )
    if scale != AUTO or is_wide_sparse(X):
        return Scaling("none" if scale == AUTO else scale)
    if X.shape[0] < _FIRST:
        told = (
            f"the first chunk has {plural(X.shape[0], 'instance')}, too few to standardize its features by: begin with"
        )
        warnings.warn(
            InputWarning(f"{told} {_FIRST} or more, or give features of like size, with scale='none'"),
            stacklevel=callers_level(),
        )
        return Scaling("none")
    learned = learn_scaling("standard", X, weights)
    factor: Any = learned.factor
    return replace(learned, factor=np.where(factor == 0, 1.0, factor))
