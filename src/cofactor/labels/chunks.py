"""Instances in chunks, for fits to data larger than memory: checked in a first pass, and read again in others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context

from cofactor.errors import InvalidInputError, Place
from cofactor.labels.data import LabelForm, check_coding, in_trained_order
from cofactor.labels.features import CheckedFeatures, as_features, canonical, is_sparse, refuse_tiny
from cofactor.labels.fit_input import check_lengths
from cofactor.labels.known import as_known_labels
from cofactor.labels.tables import is_dataset
from cofactor.passes import CELLS, InPasses, batches
from cofactor.text import few

__all__ = ["ChunkedInput", "are_chunks", "read_chunks", "refuse_labels_beside"]

_SPARSE = 400  # numbers of a row of sparse features, at most about so many, by which parts are cut


class ChunkedInput(NamedTuple):
    """Checked chunks: features that are read again in each pass, and labels, which are in memory."""

    features: InPasses
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
                f"X has the column {few([one])} where the first chunk has {few([other])}",
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
        height = max(1, CELLS // max(L, _SPARSE if self.sparse else self.n_features))
        features = InPasses(
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
