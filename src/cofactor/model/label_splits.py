"""Ways to split instances with several labels each: labels spread evenly, or groups kept together.

All are splitters of scikit-learn's kind, ``split(X, y, groups)`` and ``get_n_splits()``, and yield sorted row numbers.
The same ``random_state`` gives the same split, on any number of threads.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator

from cofactor.checks import check_number, make_generator
from cofactor.errors import Argument, InvalidInputError
from cofactor.frames import as_frame
from cofactor.kernels.stratify import pair_keys, stratify
from cofactor.model.splits import Rows, check_part, column_of

__all__ = ["GroupedLabelKFold", "StratifiedLabelHoldout", "StratifiedLabelKFold"]

#: Most pairs of labels that stratification of the second order lists: 800 MB in all.
_MOST_PAIRS = 50_000_000


class _LabelSplitter(BaseCrossValidator):
    """Deals units, instances or groups of them, out to parts which should have their share of each label."""

    n_splits: int
    order: int
    random_state: Any

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits; X, y and groups are ignored."""
        return int(self.n_splits)

    @abstractmethod
    def _test_parts(self, labels: sparse.csr_array, groups: Any) -> Iterator[NDArray[np.bool_]]:
        """Yield which rows are for testing."""

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[NDArray[np.bool_]]:
        check_number("n_splits", self.n_splits, low=self._least_splits, whole=True)
        check_number("order", self.order, low=1, high=2, whole=True)
        yield from self._test_parts(_ones(y), groups)

    _least_splits = 2

    def _dealt(
        self,
        labels: sparse.csr_array,
        shares: NDArray[np.float64],
        rng: np.random.Generator,
        weights: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Return the part of each unit; `labels` holds for each on how many of its instances labels are."""
        n = labels.shape[0]
        lot = rng.permutation(n)
        if weights is not None:  # the largest groups first, since later ones can make up for them
            lot = lot[np.argsort(-weights[lot], kind="stable")]
        table = sparse.csr_array(labels[lot])
        by_label = sparse.csc_array(table)
        folds = np.empty(n, np.int64)
        stratify(
            *(np.asarray(part, dtype=np.int64) for part in (table.indptr, table.indices, table.data)),
            *(np.asarray(part, dtype=np.int64) for part in (by_label.indptr, by_label.indices)),
            np.ones(n, np.int64) if weights is None else weights[lot],
            shares,
            rng.random(n),
            folds,
        )
        dealt = np.empty_like(folds)
        dealt[lot] = folds
        return dealt

    def _strata(self, labels: sparse.csr_array) -> sparse.csr_array:
        """Return what is spread evenly: labels, or pairs of labels."""
        return labels if self.order == 1 else _pairs(labels)


class StratifiedLabelKFold(_LabelSplitter):
    """Folds with about the same share of every label: iterative stratification.

    The instances of the label that has the fewest left are dealt out first, each to the fold that lacks most of this
    label; of equal folds to the one that has least of it, then to the one that lacks most instances; then by lot.
    Instances without labels fill up. So a label on k instances is on one of each of k folds, wherever instances of
    other labels leave a choice; among random folds many rare labels have test folds without them, where F1 is not
    defined.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    order : {1, 2}, default=1
        1 spreads labels evenly; 2 spreads pairs of labels that occur together evenly (a label alone is a pair of
        itself), which takes more time and memory: all pairs of all instances are listed.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of instances, and of lots.

    Raises
    ------
    InvalidInputError
        If y is no table of labels, or there are fewer instances than folds.

    Notes
    -----
    Folds may differ by a few instances, since labels count first. That of equal folds the one with least of a label
    comes first is not in the source; it only matters to parts of unequal size, as those of `StratifiedLabelHoldout`.
    An unknown label, NaN, counts as off. Sparse y stays
    sparse: 100,000 instances with ten of 1,000 labels each are split in less than a second, with ``order=2`` in a few.

    References
    ----------
    K. Sechidis, G. Tsoumakas & I. Vlahavas, "On the stratification of multi-label data", ECML PKDD 2011,
    doi:10.1007/978-3-642-23808-6_10; P. Szymański & T. Kajdanowicz, "A network perspective on stratification of
    multi-label data", LIDTA 2017.

    Examples
    --------
    >>> y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    >>> for train, test in StratifiedLabelKFold(2, random_state=0).split(y, y):
    ...     print(y[test].sum(axis=0), len(test))
    [2 1] 3
    [2 1] 3
    """

    def __init__(self, n_splits: int = 5, *, order: int = 1, random_state: Any = None) -> None:
        self.n_splits = n_splits
        self.order = order
        self.random_state = random_state

    def _test_parts(self, labels: sparse.csr_array, groups: Any) -> Iterator[NDArray[np.bool_]]:
        k = int(self.n_splits)
        _check_enough("instances", labels.shape[0], k)
        folds = self._dealt(self._strata(labels), np.full(k, 1 / k), make_generator(self.random_state))
        for fold in range(k):
            yield folds == fold


class StratifiedLabelHoldout(_LabelSplitter):
    """A random part held out, with about its share of every label; see `StratifiedLabelKFold`.

    It has a label that is on in k instances where k · test_size is a half or more, unless instances of other labels
    leave no choice: with a quarter for testing from two instances on, with a fifth from three. A label on fewer is in
    training alone.

    Parameters
    ----------
    test_size : float, default=0.2
        Part of the instances to hold out, above 0 and below 1.
    n_splits : int, default=3
        Number of independent splits.
    order : {1, 2}, default=1
        Whether labels or pairs of labels are spread.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Examples
    --------
    >>> y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    >>> [(train, test)] = StratifiedLabelHoldout(0.5, n_splits=1, random_state=0).split(y, y)
    >>> y[test].sum(axis=0)
    array([2, 1])
    """

    _least_splits = 1

    def __init__(self, test_size: float = 0.2, n_splits: int = 3, *, order: int = 1, random_state: Any = None) -> None:
        self.test_size = test_size
        self.n_splits = n_splits
        self.order = order
        self.random_state = random_state

    def _test_parts(self, labels: sparse.csr_array, groups: Any) -> Iterator[NDArray[np.bool_]]:
        check_part(self.test_size)
        _check_enough("instances", labels.shape[0], 2)
        rng, strata = make_generator(self.random_state), self._strata(labels)
        for _ in range(int(self.n_splits)):
            test = self._dealt(strata, np.array([1 - self.test_size, self.test_size]), rng) == 1
            if test.all() or not test.any():  # of a few instances the rounded part may be nothing
                test[rng.integers(len(test))] ^= True
            yield test


class GroupedLabelKFold(_LabelSplitter):
    """Folds that keep groups of instances together, such as pictures of one patient, and spread labels evenly.

    No group is both in training and in test. Groups are dealt out as instances are by `StratifiedLabelKFold`, the
    largest first, with the counts of their labels; so labels are spread as evenly as the groups allow.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    groups : array-like of shape (n,), optional
        Group of each instance: numbers or strings, none missing. ``split(X, y, groups)`` takes them as well, and these
        count then.
    order : {1, 2}, default=1
        Whether labels or pairs of labels are spread.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Raises
    ------
    InvalidInputError
        If there are no groups, fewer than folds, or not one for each instance.

    Examples
    --------
    >>> y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    >>> patients = ["ann", "ann", "bob", "eve", "bob", "eve"]
    >>> [test for _, test in GroupedLabelKFold(3, random_state=0).split(y, y, patients)]
    [array([3, 5]), array([0, 1]), array([2, 4])]
    """

    def __init__(
        self, n_splits: int = 5, *, groups: ArrayLike | None = None, order: int = 1, random_state: Any = None
    ) -> None:
        self.n_splits = n_splits
        self.groups = groups
        self.order = order
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield sorted training and test rows of each split.

        Parameters
        ----------
        X : array-like, sparse matrix or array, or frame, of shape (n, D)
            Only its number of rows matters.
        y : array-like, sparse matrix or array, or frame, of shape (n, L)
            The labels.
        groups : array-like of shape (n,), optional
            Group of each instance; by default the parameter.
        """
        yield from super().split(X, y, self.groups if groups is None else groups)

    def _test_parts(self, labels: sparse.csr_array, groups: Any) -> Iterator[NDArray[np.bool_]]:
        k = int(self.n_splits)
        n_groups, codes = _numbered(groups, labels.shape[0])
        _check_enough("groups", n_groups, k)
        members = sparse.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), (n_groups, len(codes)))
        weights = np.bincount(codes, minlength=n_groups)
        strata = sparse.csr_array(members @ self._strata(labels))
        folds = self._dealt(strata, np.full(k, 1 / k), make_generator(self.random_state), weights)[codes]
        for fold in range(k):
            yield folds == fold


# ---------------------------------------------------------------- what is split


def _ones(y: Any) -> sparse.csr_array:
    """Return where labels are on, of a table of 0 and 1, or of -1 and 1; what is unknown (NaN) is not on."""
    if y is None:
        raise InvalidInputError("y is missing: labels are spread over the parts, pass them", argument="y")
    table: Any
    if sparse.issparse(y):
        table = y
        if table.ndim != 2:
            raise _no_table(table.shape)
        on: Any = sparse.csr_array(table, copy=True)
        on.sum_duplicates()
        on.data = (on.data > 0).astype(np.int64)
        on.eliminate_zeros()
        return on
    frame = as_frame(y)
    try:
        table = np.asarray(y) if frame is None else frame.to_numpy()
        table = table if table.dtype.kind in "biuf" else table.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"y must be a table of 0 and 1 ({error})", argument="y") from error
    if table.ndim != 2:
        raise _no_table(table.shape)
    return sparse.csr_array(table > 0, dtype=np.int64)


def _no_table(shape: tuple[int, ...]) -> InvalidInputError:
    return InvalidInputError(
        f"y has shape {shape}, expected a table (n instances, L labels)",
        argument="y",
        advice="of one label pass y.reshape(-1, 1), or take scikit-learn's StratifiedKFold",
    )


def _pairs(labels: sparse.csr_array) -> sparse.csr_array:
    """Return which pairs i <= j of labels each row has; columns are the pairs that occur."""
    lengths = np.diff(labels.indptr).astype(np.int64)
    per_row = lengths * (lengths + 1) // 2
    total = int(per_row.sum())
    if total > _MOST_PAIRS:
        raise InvalidInputError(
            f"the instances have {total:,} pairs of labels, and at most {_MOST_PAIRS:,} are listed",
            argument="order",
            found=2,
            advice=(Argument("order", 1), " spreads labels alone"),
        )
    keys = np.empty(total, np.int64)
    ordered = labels.sorted_indices()
    pair_keys(*(np.asarray(part, dtype=np.int64) for part in (ordered.indptr, ordered.indices)), labels.shape[1], keys)
    distinct, numbers = np.unique(keys, return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum(per_row)])
    return sparse.csr_array((np.ones(total, np.int64), numbers, indptr), (labels.shape[0], len(distinct)))


def _numbered(groups: Any, n: int) -> tuple[int, NDArray[np.int64]]:
    """Return the number of groups, and the number of the group of each instance."""
    if groups is None:
        raise InvalidInputError(
            "groups are missing, which say what instances belong together",
            argument="groups",
            advice="give it to the splitter, or to split(X, y, groups)",
        )
    distinct, codes = np.unique(column_of(groups, n, "groups"), return_inverse=True)
    return len(distinct), codes


def _check_enough(what: str, n: int, n_parts: int) -> None:
    if n < n_parts:
        raise InvalidInputError(f"there are {n} {what} for {n_parts} parts", argument="n_splits", advice="take fewer")
