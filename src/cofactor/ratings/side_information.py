"""Features of users and items on which their factors are regressed: who rated what, and tables of the caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds

from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import library_limit
from cofactor.model.state import check_array, member
from cofactor.problems.priors import principal_axes
from cofactor.problems.singular import PatchedMatrix, leading_by_passes
from cofactor.ratings.data import Ratings
from cofactor.ratings.features import FeatureTable, Standardization, unknown_features
from cofactor.ratings.ids import IdMap
from cofactor.ratings.sharded import ShardedRatings
from cofactor.solvers.parts import Answer, Executor, Part, Question

#: Features of rows, and of one more: dense, sparse, or none.
Features = NDArray[np.float64] | sparse.csr_array | None

#: Added to the number of ratings of a user and of an item, so that a single rating says little.
SHRINKAGE = 10.0

#: Singular values below this share of the largest are rounding.
_RANK = 1e-7

#: Ratings beyond which the singular vectors of the mask are found by passes: of 3 million ratings the Lanczos iteration
#: of ARPACK takes 70 seconds for twenty vectors.
_EXACT = 1 << 22


@dataclass(frozen=True)
class MaskSVD:
    r"""Features of users and items from the pattern of ratings alone: a truncated SVD of the scaled 0/1 mask.

    .. math::

        B_{ij} = \frac{1}{\sqrt{(n_i + 10)(m_j + 10)}} \text{ where i rated j}, \quad B \approx A S Q^T, \quad
        F = \sqrt n A S / S_1, \quad G = \sqrt m Q S / S_1

    with :math:`n_i` and :math:`m_j` the numbers of ratings of user and item.

    Attributes
    ----------
    users : ndarray of shape (n, K)
        F, with orthogonal columns.
    items : ndarray of shape (m, K)
        G, with orthogonal columns.
    projection : ndarray of shape (m, K), float32
        What a rating of an item adds to the features of a new user, before these are divided by
        :math:`\sqrt{n_i + 10}`; it gives users of the training data the features they have.
    item_projection : ndarray of shape (n, K), float32
        What a rating by a user adds to the features of a new item, likewise.
    """

    users: NDArray[np.float64]
    items: NDArray[np.float64]
    projection: NDArray[np.float32]
    item_projection: NDArray[np.float32]

    @classmethod
    def of(cls, ratings: Ratings, n_columns: int) -> MaskSVD:
        """Return them with at most `n_columns` columns: no more than the mask's rank."""
        n, m = ratings.shape
        by_item = 1 / np.sqrt(ratings.item_counts + SHRINKAGE)
        by_user = 1 / np.sqrt(ratings.user_counts + SHRINKAGE)
        values = by_user[ratings.row_of_entry] * by_item[ratings.indices]
        if ratings.n_ratings <= _EXACT:
            A, S, Q = _leading(sparse.csr_array((values, ratings.indices, ratings.indptr), shape=(n, m)), n_columns)
        else:
            B = PatchedMatrix(ratings, values, np.zeros((n, 0)), np.zeros((m, 0)), np.float32)
            S, Q = leading_by_passes(B.squared_times, m, n_columns)
            A = B.times(Q) / S
        share = S / S[0]
        of_users = (np.sqrt(n) / S[0] * by_item[:, None] * Q).astype(np.float32)
        of_items = (np.sqrt(m) / S[0] * by_user[:, None] * A).astype(np.float32)
        return cls(np.sqrt(n) * A * share, np.sqrt(m) * Q * share, of_users, of_items)


def project_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], projection: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the features of rows from the columns where they have ratings."""
    columns, place = np.unique(indices, return_inverse=True)  # of new rows, few
    mask = sparse.csr_array((np.ones(len(indices)), place, indptr), shape=(len(indptr) - 1, len(columns)))
    sums: NDArray[np.float64] = np.asarray(mask @ projection[columns].astype(np.float64))
    return sums / np.sqrt(np.diff(indptr) + SHRINKAGE)[:, None]


@dataclass(frozen=True)
class RowPattern:
    """The rows, users or items, and the columns where each has ratings."""

    ids: IdMap
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    n_columns: int

    @classmethod
    def users(cls, ratings: Ratings) -> RowPattern:
        """Return the users of ratings."""
        return cls(ratings.users, ratings.indptr, ratings.indices, len(ratings.items))

    @classmethod
    def items(cls, ratings: Ratings) -> RowPattern:
        """Return the items of ratings."""
        return cls(ratings.items, ratings.col_indptr, ratings.col_indices, len(ratings.users))

    def restrict_columns(self, chosen: NDArray[np.bool_]) -> RowPattern:
        """Return the rows with ratings in some of the columns only, which are numbered anew."""
        kept = chosen[self.indices]
        before = np.concatenate([[0], np.cumsum(kept)])
        number = (np.cumsum(chosen) - 1).astype(np.int32)
        return RowPattern(self.ids, before[self.indptr], number[self.indices[kept]], int(chosen.sum()))


@dataclass(frozen=True)
class FeatureMap:
    r"""What the features of rows, users or items, are made of: where they have ratings, and a table of the caller.

    Attributes
    ----------
    argument : str
        Name of the table's argument, for messages.
    n_sparse : int
        Number of columns of the mask of ratings, each row of which divided by :math:`\sqrt{n_i}` is part of the
        features; 0 if it is not.
    projection : ndarray of shape (n_columns, K), float32, or None
        What a rating in a column adds to a row's features, before division by :math:`\sqrt{n_i + 10}`.
    usual : ndarray of shape (1 + C, K), float64, or None
        What the mask says on the average of training, and what each feature of the table adds to it, by a ridge
        regression. A new row without ratings counts so: its pattern of ratings is not known yet, while zeros say that
        it was there in training and got no rating.
    standard : Standardization or None
        What the table's columns were in training; each weighs :math:`1 / \sqrt c` if there are c. Columns of categories
        become a feature for each category.
    axes : ndarray of shape (C, K) or None
        What they add to a row's features; None where they are features themselves, or say nothing.
    foreign : bool
        Whether the columns that have ratings now are others than in training: then only rows without ratings have
        features, those of the table.
    """

    argument: str
    n_sparse: int = 0
    projection: NDArray[np.float32] | None = None
    usual: NDArray[np.float64] | None = None
    standard: Standardization | None = None
    axes: NDArray[np.float64] | None = None
    foreign: bool = False

    def among_others(self) -> FeatureMap | None:
        """Return the map where other columns have ratings; None where nothing would be left of the features."""
        if not self.tied:
            return self
        if self.standard is None or not self.standard.n_columns:
            return None
        return replace(self, projection=None, foreign=True)

    @property
    def tied(self) -> bool:
        """Whether features depend on which columns have ratings, so on the columns of training."""
        return self.projection is not None or self.n_sparse > 0

    @property
    def is_described(self) -> bool:
        """Whether features of the caller are among those of the map."""
        return self.standard is not None

    @property
    def n_features(self) -> int:
        """Number K of features."""
        if self.n_sparse:
            return self.n_sparse + (0 if self.standard is None else self.standard.n_columns)
        return _n_columns(self.projection if self.projection is not None else self.axes)

    @classmethod
    def learned(
        cls,
        argument: str,
        pattern: RowPattern,
        table: FeatureTable | None,
        mask: tuple[NDArray[np.float64], NDArray[np.float32]] | None,
        as_sparse: bool,
    ) -> tuple[FeatureMap, Features]:
        """Return the map of rows, and their features: of the mask those given with their projection, or all of it.

        A table and the features of the mask are turned onto common principal axes, to be orthogonal: that leaves the
        model what it is, since the prior of the weights is the same in all directions.
        """
        standard = None if table is None else Standardization.of(table, pattern.ids)
        if as_sparse:
            mapping = cls(argument, pattern.n_columns, standard=standard)
            return mapping, mapping.features(pattern, table)
        features, projection = mask or (None, None)
        own = np.zeros((len(pattern.ids), 0))
        if standard is not None:
            own = standard.rows(table, pattern.ids) * standard.weight
        usual = None if features is None else _expected(features, own)
        if standard is None or not standard.n_columns:
            mapping = cls(argument, projection=projection, usual=usual, standard=standard)
            return mapping, None if features is None else with_cold_row(features)
        joint = own if features is None else np.hstack([features, own])
        axes = principal_axes(joint)
        n_mask = joint.shape[1] - own.shape[1]
        with library_limit(1, "blas"):
            if projection is not None:
                projection = (projection @ axes[:n_mask]).astype(np.float32)
            usual = None if usual is None else usual @ axes[:n_mask]
            return cls(argument, 0, projection, usual, standard, axes[n_mask:]), with_cold_row(joint @ axes)

    def features(self, pattern: RowPattern, table: FeatureTable | None) -> Features:
        """Return the features of other rows, and of one more that has neither ratings nor a row in the table."""
        n = len(pattern.ids)
        if table is not None and self.standard is None:
            raise unknown_features(self.argument)
        own = None if self.standard is None else self.standard.rows(table, pattern.ids) * self.standard.weight
        if self.n_sparse:
            values = np.repeat(1 / np.sqrt(np.maximum(np.diff(pattern.indptr), 1)), np.diff(pattern.indptr))
            indptr = np.append(pattern.indptr, pattern.indptr[-1])
            mask = sparse.csr_array((values, pattern.indices, indptr), shape=(n + 1, self.n_sparse))
            return mask if own is None else sparse.hstack([mask, sparse.csr_array(with_cold_row(own))], format="csr")
        if not self.n_features:
            return None
        found = np.zeros((n, self.n_features))
        if self.projection is not None:
            found = project_rows(pattern.indptr, pattern.indices, self.projection)
        if self.usual is not None:
            quiet = np.diff(pattern.indptr) == 0
            found[quiet] = self.usual[0]
            if own is not None:
                for column, axis in zip(own[quiet].T, self.usual[1:], strict=True):
                    found[quiet] += column[:, None] * axis
        if own is not None and self.axes is not None:
            for column, axis in zip(own.T, self.axes, strict=True):  # BLAS would round a row alone otherwise
                found += column[:, None] * axis
        return with_cold_row(found)

    def with_columns(self, where: NDArray[Any], n_columns: int) -> FeatureMap:
        """Return the map among more columns, `where` those stand that it knows; the others add nothing."""
        if self.n_sparse:
            return replace(self, n_sparse=n_columns)
        if self.projection is None:
            return self
        wide = np.zeros((n_columns, self.projection.shape[1]), dtype=self.projection.dtype)
        wide[where] = self.projection
        return replace(self, projection=wide)

    def to_state(self) -> dict[str, Any]:
        """Return the attributes as a dictionary of arrays and numbers."""
        return {**vars(self), "standard": None if self.standard is None else self.standard.to_state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> FeatureMap:
        """Rebuild it from what `to_state` returned; what does not fit is refused, and `check` has to follow."""
        standard = None if state["standard"] is None else Standardization.from_state(state["standard"])
        foreign = state.get("foreign", False) is True
        given = {name: state[name] for name in ("projection", "usual", "axes")}
        argument, n_sparse = member(state, "argument", str), member(state, "n_sparse", int)
        mapping = cls(argument, n_sparse, standard=standard, foreign=foreign, **given)
        if foreign and (standard is None or mapping.projection is not None or mapping.n_sparse < 0):
            raise InvalidInputError("a link to columns that are not there must have features of its own")
        if mapping.projection is not None:
            check_array(
                "projection", mapping.projection, (*np.shape(mapping.projection)[:1], mapping.n_features), np.float32
            )
        rows = 0 if standard is None else standard.n_columns
        if mapping.usual is not None:
            check_array("usual features", mapping.usual, (1 + rows, mapping.n_features), np.float64)
        if mapping.axes is not None:
            check_array("axes of features", mapping.axes, (rows, mapping.n_features), np.float64)
        return mapping

    def check(self, n_columns: int) -> None:
        """Refuse what was read from a file, if it does not fit so many columns of the mask."""
        if self.n_sparse not in (0, n_columns) and not self.foreign:
            raise InvalidInputError(f"the link has {self.n_sparse} columns of the mask, the model {n_columns}")
        if self.projection is not None and len(self.projection) != n_columns:
            raise InvalidInputError(f"projection has {len(self.projection)} rows, and the model {n_columns} columns")


@dataclass(frozen=True)
class SideInformation:
    """What is known of users and of items besides their ratings.

    Attributes
    ----------
    users : callable
        Returns the features of the users of a shard, and of a cold user after the last one.
    totals : tuple of two ndarray of shape (K,), or None
        Sums over users of the squares of their features, and of these, where they are in shards.
    items : ndarray of shape (m + 1, K), csr_array of that shape, or None
        Features of items, and of a cold one.
    links : tuple of two FeatureMap
        Of users and of items.
    """

    users: Callable[[int], Features]
    totals: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    items: Features
    links: tuple[FeatureMap, FeatureMap]

    @classmethod
    def of(
        cls,
        ratings: Ratings,
        implicit: str | None,
        n_implicit: int,
        tables: tuple[FeatureTable | None, FeatureTable | None],
    ) -> SideInformation:
        """Return what ratings in memory and tables tell.

        Parameters
        ----------
        ratings : Ratings
        implicit : {"low-rank", "sparse", None}
            What becomes of the mask of ratings.
        n_implicit : int
            Number of columns for "low-rank".
        tables : tuple of two FeatureTable or None
            Of users and items.
        """
        users: Any = None
        items: Any = None
        if implicit == "low-rank":
            mask = MaskSVD.of(ratings, n_implicit)
            users, items = (mask.users, mask.projection), (mask.items, mask.item_projection)
        as_sparse = implicit == "sparse"
        of_users, found = FeatureMap.learned("user_features", RowPattern.users(ratings), tables[0], users, as_sparse)
        of_items, others = FeatureMap.learned("item_features", RowPattern.items(ratings), tables[1], items, as_sparse)
        return cls(lambda k: found, None, others, (of_users, of_items))

    @classmethod
    def of_nothing(cls) -> SideInformation:
        """Return that of ratings in shards where nothing tells who rated what."""
        return cls(_none, None, None, (FeatureMap("user_features"), FeatureMap("item_features")))


def _none(k: int) -> None:
    """Return the features of the users of a shard where they have none."""


def with_cold_row(features: NDArray[Any]) -> NDArray[Any]:
    """Return features with a row of zeros more, for a user or an item without ratings."""
    return np.vstack([features, np.zeros(features.shape[1])])


def _expected(features: NDArray[np.float64], own: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the mask's features, and their regression on those of the table, whose means are 0."""
    mean = features.mean(axis=0)
    with library_limit(1, "blas"):
        weights = np.linalg.solve(own.T @ own + np.eye(own.shape[1]), own.T @ (features - mean))
    return np.vstack([mean, weights])


def _n_columns(table: NDArray[Any] | None) -> int:
    """Return the number of columns; 0 for what is no table, as a file may hold."""
    return table.shape[1] if isinstance(table, np.ndarray) and table.ndim == 2 else 0


def _leading(B: sparse.csr_array, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return A, S, Q of the k largest singular values, or of as many as are not rounding; the same every time."""
    small = min(B.shape)
    with library_limit(1, "blas"):
        if k >= small or small <= 100:
            A, S, Qt = np.linalg.svd(B.toarray(), full_matrices=False)
            A, S, Qt = A[:, :k], S[:k], Qt[:k]
        else:
            A, S, Qt = svds(B, k=k, v0=np.ones(small))
            A, S, Qt = A[:, ::-1], S[::-1], Qt[::-1]
    real = S / S[0] > _RANK
    turn = np.sign(Qt[np.arange(len(Qt)), np.abs(Qt).argmax(axis=1)])  # signs are free: largest entry positive
    return (A * turn)[:, real], S[real], (Qt * turn[:, None])[real].T


# ---------------------------------------------------------------- ratings in shards


@dataclass(frozen=True)
class UserFeatures:
    """Features of the users of any shard, see `MaskSVD`, and of a cold user after the last one.

    Attributes
    ----------
    ratings : ShardedRatings
    projection : ndarray of shape (m, K)
    """

    ratings: ShardedRatings
    projection: NDArray[np.float64]

    def __call__(self, k: int) -> NDArray[np.float64]:
        """Return those of shard k."""
        shard = self.ratings.shard(k)
        found = project_rows(shard.indptr, shard.indices, self.projection)
        return with_cold_row(found) if k == len(self.ratings) - 1 else found


class MaskPart(Part):
    """The scaled mask of one shard.

    Parameters
    ----------
    ratings : ShardedRatings
    k : int
        Number of the shard.
    """

    def __init__(self, ratings: ShardedRatings, k: int) -> None:
        self.ratings, self.k = ratings, k

    def _products(self, question: Question) -> Answer:
        """Return Bᵀ B W, in single precision: see `leading_by_passes`."""
        shard = self.ratings.shard(self.k)
        by_item = 1 / np.sqrt(self.ratings.item_counts + SHRINKAGE)
        values = (1 / np.sqrt(shard.user_counts + SHRINKAGE))[shard.row_of_entry] * by_item[shard.indices]
        entries = values.astype(np.float32), shard.indices, shard.indptr
        B = sparse.csr_array(entries, shape=(len(shard.users), len(shard.items)))
        return {"products": np.asarray(B.T @ (B @ question["W"]))}

    def _features(self, question: Question) -> Answer:
        """Return sums over users, and what each of them adds to the features of an item but for a factor."""
        users = UserFeatures(self.ratings, question["projection"])(self.k)
        counts = self.ratings.shard(self.k).user_counts
        of_items = users[: len(counts)] / np.sqrt(counts + SHRINKAGE)[:, None]
        return {"squares": (users**2).sum(axis=0), "sums": users.sum(axis=0), "of_items": of_items.astype(np.float32)}


def decompose_mask(
    ratings: ShardedRatings, n_columns: int, model: Any, in_folder: bool = False
) -> tuple[SideInformation, Executor]:
    """Return what the mask of ratings in shards tells, as `MaskSVD` does, and the parts that found it.

    A round multiplies a block of vectors, where the iteration of ARPACK would take one for each of them.

    Parameters
    ----------
    ratings : ShardedRatings
    n_columns : int
        Number of features, if the mask has such a rank.
    model : estimator
        Whose parameters the work depends on.
    in_folder : bool, default=False
        Whether what a rating by each user says of an item stays in the folder until the parts are done.
    """
    (n, m), parts = ratings.shape, ratings.parts(partial(MaskPart, ratings), model, "mask")

    def multiply(W: NDArray[np.float64]) -> NDArray[np.float32]:
        return parts.total({"op": "products", "W": W.astype(np.float32)})["products"]

    S, Q = leading_by_passes(multiply, m, n_columns)
    by_item = 1 / np.sqrt(ratings.item_counts + SHRINKAGE)
    projection = np.sqrt(n) / S[0] * by_item[:, None] * Q
    squares, sums = np.zeros(len(S)), np.zeros(len(S))
    shape: Any = (n, len(S))
    place = ratings.place(model, "mask") / "of_items.npy" if in_folder else None
    of_items = np.empty(shape, np.float32) if place is None else open_memmap(place, "w+", np.float32, shape)
    for k, answer in enumerate(parts.each({"op": "features", "projection": projection})):
        squares += answer["squares"]
        sums += answer["sums"]
        of_items[ratings.bounds[k] : ratings.bounds[k + 1]] = np.sqrt(m / n) / S * answer["of_items"]
    items = np.sqrt(m) * Q * (S / S[0])
    links = (
        FeatureMap("user_features", projection=projection.astype(np.float32), usual=sums[None] / n),
        FeatureMap("item_features", projection=of_items, usual=items.mean(axis=0)[None]),
    )
    users = UserFeatures(ratings, projection)
    return SideInformation(users, (squares, sums), with_cold_row(items), links), parts
