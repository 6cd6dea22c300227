"""What a label model learns from: checked once by `fit`, then handed on and never changed; and the cache of a fit.

Data larger than memory come in chunks: checked in a first pass, and read again in others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context

from cofactor.checks import as_weights, resolve_size
from cofactor.chunked import CHUNK_CELLS, ChunkedTable, batches, is_chunked, is_sparse, take_rows
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.labels.data import (
    KnownLabels,
    LabelForm,
    as_known_labels,
    check_coding,
    in_trained_order,
    is_dataset,
    known_shares,
)
from cofactor.labels.features import CheckedFeatures, as_features, canonical, refuse_tiny, scaled_rows
from cofactor.labels.leave_one_out import BestAlpha
from cofactor.labels.regression import FeatureSpace
from cofactor.labels.scaling import Scaling, choose_scaling
from cofactor.limits import FIT
from cofactor.model.progress import Monitor
from cofactor.text import plural, shorten

#: Number of parts of the instances, of which one is held out, or more of them until there are `ENOUGH` instances.
PARTS = 4
ENOUGH = 80

#: Most scores, instances times labels, from which calibration and decision are learned: a quarter of a gigabyte.
BUDGET = 1 << 25


def sampled(
    rows: NDArray[np.int64], n_labels: int, generator: np.random.Generator, budget: int | None = None
) -> NDArray[np.int64]:
    """Return rows, or a random part of them whose scores stay within the budget.

    Examples
    --------
    >>> sampled(np.arange(10), 4, np.random.default_rng(0), budget=12)
    array([5, 6, 9])
    """
    most = max(1, (BUDGET if budget is None else budget) // max(n_labels, 1))
    return rows if len(rows) <= most else np.sort(generator.choice(rows, most, replace=False))


_READ_AT_ONCE = 5000  # instances that come into memory, of those whose features are chunked


@dataclass(eq=False)
class FitCache:
    """What one step of a fit computes and a later one takes up; no part of the model.

    Parameters
    ----------
    spaces : dict of bool to FeatureSpace
        Decompositions of the features, with an intercept and without.
    held_out : tuple of (ndarray of shape (m,), ndarray of shape (m, L)), optional
        Rows, and their scores by models that did not learn from them.
    neighbours : callable, optional
        Returns the nearest other instances of each, the nearest first, shape (n, k).
    """

    spaces: dict[bool, FeatureSpace] = field(default_factory=dict)
    held_out: tuple[NDArray[np.int64], NDArray[Any]] | None = None
    neighbours: Callable[[], NDArray[np.int64]] | None = None


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Checked features and labels, and what else belongs to one fit.

    Parameters
    ----------
    features : ndarray or csr_array of shape (n, D), or ChunkedTable
        C-contiguous, or in canonical CSR form; float32 or float64. Those of a fit to chunks are chunked.
    labels : csr_array of shape (n, L)
        Ones where a label is on. In `LabelModel._fit`, every label is on somewhere and off somewhere.
    weights : ndarray of shape (n,), float64, or None
        Weights of the instances, above 0; None if all are 1.
    monitor : Monitor
        Receives progress.
    space : FeatureSpace or None
        The decomposition of these features, if the caller of `fit` gave one.
    known : ndarray of shape (n, L), bool, or None
        Which labels are known; None if all are. Those that are not are off in `labels`.
    numbers : ndarray of shape (n,), int64, or None
        Which of the instances that `fit` was given these are; None if they are all of them.
    ids : ndarray or None
        What all the instances that `fit` was given are called, if the data say so.
    feature_names : ndarray or None
        What messages call the features.
    ridge : BestAlpha or None
        Best penalty of ridge regression, where scales were compared by it, see `cofactor.labels.penalty`.
    cache : FitCache
        Shared by inputs with the same features and instances.

    Examples
    --------
    >>> data = TrainingData(np.eye(3), sparse.csr_array([[1], [0], [1]]), np.array([1.0, 2.0, 1.0]))
    >>> data.n_instances, data.repeated().n_instances
    (3, 4)
    """

    features: CheckedFeatures
    labels: sparse.csr_array
    weights: NDArray[np.float64] | None = None
    monitor: Monitor = field(default_factory=lambda: Monitor(None, False))
    space: FeatureSpace | None = None
    known: KnownLabels = None
    numbers: NDArray[np.int64] | None = None
    ids: NDArray[Any] | None = None
    feature_names: NDArray[Any] | None = None
    ridge: BestAlpha | None = None
    cache: FitCache = field(default_factory=FitCache, repr=False)

    @property
    def n_instances(self) -> int:
        """Number n of instances."""
        return int(self.labels.shape[0])

    @property
    def mean_weight(self) -> float:
        """Mean of the weights; what a penalty is multiplied by, so that only their ratios count."""
        return 1.0 if self.weights is None else float(self.weights.mean())

    def feature_space(self, fit_intercept: bool = True) -> FeatureSpace:
        """Return the decomposition of the features which the caller gave, or one that is made once for this fit.

        Raises
        ------
        InvalidInputError
            If the given one treats the intercept in another way.
        """
        if self.space is None:
            spaces = self.cache.spaces
            if fit_intercept not in spaces:
                with config_context(assume_finite=True):  # checked already, and warned of
                    space = FeatureSpace(
                        self.features,
                        fit_intercept=fit_intercept,
                        sample_weight=self.weights,
                        feature_names=self.feature_names,
                    )
                spaces[fit_intercept] = space
            return spaces[fit_intercept]
        if self.space.fit_intercept != fit_intercept:
            raise InvalidInputError(
                f"the FeatureSpace given as X has fit_intercept={self.space.fit_intercept}, the model {fit_intercept}",
                advice="give both the same",
            )
        return self.space

    def scaled(self, scaling: Scaling, ridge: BestAlpha | None = None) -> TrainingData:
        """Return the same with scaled features, perhaps with the penalty that was found best for them."""
        return replace(self, features=scaling.apply(self.features), ridge=ridge, cache=FitCache())

    def sizes(self) -> str:
        """Numbers of instances, features and labels, in words for messages."""
        (n, D), L = self.features.shape, self.labels.shape[1]
        return f"{plural(n, 'instance', form=',')}, {plural(D, 'feature', form=',')}, {plural(L, 'label', form=',')}"

    def bytes_of(self, n_components: Any) -> int:
        """Return what components take at least, float32: as many as `n_components` says, 1 for "auto", or as labels."""
        L = self.labels.shape[1]
        if isinstance(n_components, str):
            return 0
        return 4 * (self.features.shape[1] + L) * min(resolve_size(n_components, L), L)

    def rows(self, where: NDArray[Any], monitor: Monitor | None = None) -> TrainingData:
        """Return some of the instances, without the decomposition of all; perhaps with a monitor of their own.

        Of chunked features, up to 5,000 instances come into memory.
        """
        weights = None if self.weights is None else self.weights[where]
        known = None if self.known is None else self.known[where]
        few = is_chunked(self.features) and len(where) <= _READ_AT_ONCE
        features = self.features[where] if few else take_rows(self.features, where)
        return TrainingData(
            features, self.labels[where], weights, monitor or self.monitor, known=known,
            numbers=self.instance_ids(where)[0], ids=self.ids, ridge=self.ridge, feature_names=self.feature_names,
        )  # fmt: skip

    def instance_ids(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any] | None]:
        """Return which of the instances that `fit` was given some rows are, and what these are called, if known."""
        numbers = rows if self.numbers is None else self.numbers[rows]
        return numbers, None if self.ids is None else self.ids[numbers]

    def without_zero_weights(self) -> TrainingData:
        """Return the instances whose weight is above 0."""
        if self.weights is None or self.weights.all():
            return self
        kept = self.rows(np.flatnonzero(self.weights))
        return replace(kept, weights=as_weights(kept.weights, kept.n_instances))

    def of_labels(self, columns: NDArray[Any]) -> TrainingData:
        """Return the same instances with some of their labels."""
        return replace(
            self, labels=self.labels[:, columns], known=None if self.known is None else self.known[:, columns]
        )

    def drop_unlabelled(self) -> TrainingData:
        """Return the instances of which at least one label is known; all of them, if they are decomposed already."""
        if self.known is None or self.space is not None:
            return self
        some = self.known.any(axis=1)
        return self if some.all() else self.rows(np.flatnonzero(some))

    def expected_labels(self) -> sparse.csr_array:
        """Return the labels, with the share of the known instances that have it where a label is not known."""
        if self.known is None:
            return self.labels
        shares = known_shares(self.labels, self.known, self.weights)
        return sparse.csr_array(self.labels + sparse.csr_array(np.where(self.known, 0.0, shares)))

    def repeated(self) -> TrainingData:
        """Return each instance as often as its weight says, a whole number, and no weights."""
        if self.weights is None:
            return self
        n_rows, size = int(self.weights.sum()), self.features.shape[1] + self.labels.shape[1]
        FIT.check(
            8 * n_rows * size,
            (Argument("sample_weight"), f": whole numbers that sum to {n_rows:,} repeat instances as often"),
            size=8 * self.n_instances * size,
        )
        rows = np.repeat(np.arange(self.n_instances), self.weights.astype(np.int64))
        return replace(self.rows(rows), weights=None, ridge=None)

    def without_quarter(self, generator: np.random.Generator) -> tuple[TrainingData, NDArray[np.int64]]:
        """Return the data without a quarter of the instances, and the numbers of these, on which settings are tried."""
        test = np.sort(np.array_split(generator.permutation(self.n_instances), PARTS)[0])
        return self.rows(np.setdiff1d(np.arange(self.n_instances), test)), test

    def scaled_rows(self, table: Any) -> Any:
        """Return a table with each row times the square root of its weight, so that squared errors are weighted."""
        return scaled_rows(table, None if self.weights is None else np.sqrt(self.weights))


def check_lengths(features: CheckedFeatures, labels: sparse.csr_array) -> None:
    """Refuse features and labels if their numbers of instances differ."""
    n, D = features.shape
    if labels.shape[0] != n:
        turned = "; y" if labels.shape[1] == n else "; X" if labels.shape[0] == D else ""
        raise InvalidInputError(
            f"X has {n} rows and y has {labels.shape[0]}{turned and turned + ' seems to be transposed'}: "
            "both must have one row for each instance",
            argument="y",
        )


def check_whole(weights: NDArray[np.float64] | None, model: str) -> None:
    """Refuse weights that are not whole numbers, for a model which repeats instances."""
    if weights is not None and (weights % 1).any():
        raise InvalidInputError(
            f"sample_weight holds {weights[weights % 1 > 0][0]:g}, but {model} repeats instances, so "
            "weights must be whole numbers",
            argument="sample_weight",
            advice="multiply and round them, or take a model that weights errors, such as LabelRidge",
        )


def weights_of(sample_weight: Any, n: int, space: FeatureSpace | None) -> NDArray[np.float64] | None:
    """Return the checked weights of n instances; a space has weights of its own, so none may be given with it."""
    weights = as_weights(sample_weight, n)
    if space is None:
        return weights
    if weights is not None:
        raise InvalidInputError(
            "a FeatureSpace is decomposed with its weights",
            argument="sample_weight",
            advice="give them to FeatureSpace(X, sample_weight=...), and only there",
        )
    return space.weights


def space_for(X: Any, y: Any, *, scale: str, fit_intercept: bool) -> FeatureSpace:
    """Return features decomposed for several fits to the same labels, scaled as each of them would scale them.

    Examples
    --------
    >>> space_for([[0.0, 3.0], [0.0, 4.0]], [[1], [0]], scale="rows", fit_intercept=True).X
    array([[0., 1.],
           [0., 1.]])
    """
    features = as_features(X)
    labels, _, _, known = as_known_labels(y, missing="ignore")
    scaling = choose_scaling(features, TrainingData(features, labels, known=known).expected_labels(), scale=scale)
    return FeatureSpace(features, fit_intercept=fit_intercept, scale=scaling)


_SPARSE = 400  # numbers of a row of sparse features, at most about so many, by which parts are cut


class ChunkedInput(NamedTuple):
    """Checked chunks: features that are read again in each pass, and labels, which are in memory."""

    features: ChunkedTable
    labels: sparse.csr_array
    form: LabelForm
    label_names: NDArray[Any]
    feature_names: NDArray[Any] | None


def are_chunks(X: Any) -> bool:
    """Return whether X, given without labels, is no table but something that yields pairs of tables.

    Examples
    --------
    >>> table = np.eye(2)
    >>> are_chunks([(table, table)]), are_chunks([[0.0, 1.0], [1.0, 0.0]]), are_chunks(table)
    (True, False, False)
    """
    if is_dataset(X) or any(hasattr(X, name) for name in ("shape", "columns")) or isinstance(X, str | bytes | dict):
        return False
    if isinstance(X, list | tuple):  # of numbers, or of rows, it is a table
        first: Any = X[0] if X else ()
        first = first[0] if isinstance(first, list | tuple) and first else first
        return not X or getattr(first, "ndim", 0) == 2
    return isinstance(X, Iterable)


def refuse_labels_beside(X: Any) -> None:
    """Refuse labels that are given beside chunks.

    Examples
    --------
    >>> refuse_labels_beside(np.eye(2))
    >>> refuse_labels_beside([(np.eye(2), np.eye(2))])
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: chunks hold their labels; give pairs (X, y) alone, and leave y out
    """
    listed = isinstance(X, list | tuple) and len(X) > 0
    if (listed or hasattr(X, "label_names")) and are_chunks(X):  # other things may be tables of a kind not known here
        raise InvalidInputError(
            "chunks hold their labels", argument="y", advice="give pairs (X, y) alone, and leave y out"
        )


def read_chunks(chunks: Iterable[Any], label_names: Iterable[Any] | None = None) -> ChunkedInput:
    """Check all chunks, and return features that are read again in each pass, and all labels.

    Parameters
    ----------
    chunks : iterable of (X, Y)
        It is iterated over again and again. Chunks without rows are passed over.
    label_names : iterable, optional
        By default those of `chunks`, as `cofactor.datasets.LabelChunks` has them, or of frames.

    Raises
    ------
    InvalidInputError
        If they can be read only once, there are no instances, or features or labels of a chunk are not valid or not
        those of the first; the message names the chunk, counted from 1.

    Examples
    --------
    >>> found = read_chunks([(np.eye(2), [[1], [0]]), (np.ones((1, 2)), [[1]])])
    >>> found.features.shape, found.labels.toarray().ravel().tolist()
    ((3, 2), [1.0, 0.0, 1.0])
    >>> read_chunks(iter([(np.eye(2), [[1], [0]])]))
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: chunks are read again in each of several passes, but a list_iterator can be read
    only once; give a list, a LabelChunks, or an object whose __iter__ begins anew
    """
    if iter(chunks) is chunks:
        raise InvalidInputError(
            f"chunks are read again in each of several passes, but a {type(chunks).__name__} can be read only once",
            argument="X",
            advice="give a list, a LabelChunks, or an object whose __iter__ begins anew",
        )
    names = getattr(chunks, "label_names", None) if label_names is None else list(label_names)
    first = _First(names)
    for number, chunk in enumerate(chunks, 1):
        try:
            first.add(chunk)
        except InvalidInputError as error:
            raise error.at(Place(f"chunk {number}")) from error
    return first.found(chunks)


class _First:
    """What the first pass finds."""

    def __init__(self, names: Any) -> None:
        self.names = names
        self.form: LabelForm | None = None
        self.label_names: NDArray[Any] = np.empty(0, dtype=object)
        self.feature_names: list[Any] | None = None
        self.n_features: int | None = None
        self.n = self.size = 0
        self.sparse, self.largest = False, 0.0
        self.labels: list[sparse.csr_array] = []

    def add(self, chunk: Any) -> None:
        """Check another chunk, and keep its labels."""
        if not isinstance(chunk, tuple | list) or len(chunk) != 2:
            raise InvalidInputError(
                "expected features and labels, a pair (X, Y)",
                argument="X",
                advice="give a list of pairs, and weights of all instances as sample_weight",
            )
        X, Y = chunk
        columns = _columns(X)
        shape = _shape(X)
        if self.n_features is not None and len(shape) == 2:
            self._compare(shape[1], columns)
        if shape[:1] == _shape(Y)[:1] == (0,):
            return
        features = as_features(X, reset=False)
        labels, form, names, _ = as_known_labels(Y, self.names)
        check_lengths(features, labels)
        if self.form is None:
            self.form, self.label_names = form, names
            self.feature_names, self.n_features = columns, features.shape[1]
        else:
            self.form = check_coding(form, self.form)
            if labels.shape[1] != len(self.label_names):
                raise InvalidInputError(
                    f"y has {labels.shape[1]} labels, that of the first chunk {len(self.label_names)}", argument="y"
                )
            labels = in_trained_order(labels, names if form.is_frame else None, self.label_names)
        values: Any = features.data if is_sparse(features) else features
        self.largest = max(self.largest, float(values.max(initial=0)), -float(values.min(initial=0)))
        self.n, self.size = self.n + features.shape[0], self.size + values.size
        self.sparse |= is_sparse(features)
        self.labels.append(labels)

    def _compare(self, width: int, columns: list[Any] | None) -> None:
        """Refuse other features than those of the first chunk."""
        if width != self.n_features:
            raise InvalidInputError(f"X has {width} features, that of the first chunk {self.n_features}", argument="X")
        if columns != self.feature_names:
            none = ["without a name"] * width
            pairs = zip(columns or none, self.feature_names or none, strict=True)
            one, other = next(pair for pair in pairs if pair[0] != pair[1])
            raise InvalidInputError(
                f"X has the column {shorten([one])} where the first chunk has {shorten([other])}",
                argument="X",
                advice="give all chunks the same columns in the same order",
            )

    def found(self, chunks: Iterable[Any]) -> ChunkedInput:
        """Return what all chunks hold together."""
        if self.form is None or self.n_features is None:
            raise InvalidInputError("the chunks hold no instances", argument="X")
        refuse_tiny(self.largest)
        labels = canonical(sparse.vstack(self.labels, format="csr"))
        shape, L = (self.n, self.n_features), len(self.label_names)
        height = max(1, CHUNK_CELLS // max(L, _SPARSE if self.sparse else self.n_features))
        features = ChunkedTable(
            lambda: _parts(chunks, shape, self.sparse, height), shape, size=self.size, sparse=self.sparse
        )
        names = self.feature_names
        named = None if names is None else np.array(names, dtype=object)
        return ChunkedInput(features, labels, self.form, self.label_names, named)


def _parts(chunks: Iterable[Any], shape: tuple[int, int], as_sparse: bool, height: int) -> Iterator[CheckedFeatures]:
    """Read chunks that were checked, and yield their features, so many rows at a time."""
    n = 0
    for X, _ in chunks:
        if _shape(X)[:1] == (0,):
            continue
        with config_context(assume_finite=True):
            part = as_features(X, reset=False)
        n += part.shape[0]
        if part.shape[1] != shape[1] or n > shape[0]:
            break
        part = sparse.csr_array(part) if as_sparse and not is_sparse(part) else part
        for rows in batches(part.shape[0], height):
            yield part if part.shape[0] <= height else part[rows]
    if n != shape[0]:
        raise InvalidInputError(
            f"the first pass over the chunks gave {shape[0]:,} instances of {shape[1]:,} features, a later one did not",
            argument="X",
            advice="let each pass give the same chunks",
        )


def _shape(table: Any) -> tuple[int, ...]:
    """Return the shape of a table, which may be a list."""
    return tuple(table.shape if hasattr(table, "shape") else np.shape(table))


def _columns(X: Any) -> list[Any] | None:
    """Return the names of features, if X is a frame whose columns are all called by text."""
    columns = getattr(X, "columns", None)
    names = None if columns is None else list(columns)
    return names if names and all(isinstance(name, str) for name in names) else None
