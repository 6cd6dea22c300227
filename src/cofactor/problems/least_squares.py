"""Regularized least squares on observed entries, solvable exactly in rows or in columns; in memory or in shards.

In shards each part solves its rows, then a share of the columns of all shards. A column needs the factors of all its
rows. They travel to all parts: d + 1 numbers for each row, where sums of their products, shard by shard, would be d² /
2 numbers for each column and shard, most of them over a few entries.

In memory `LeastSquaresProblem` has rows and columns at hand, and takes weights, features and conjugate gradients too:
a single shard has the same factors, and takes a fifth longer (`ALS` on a million ratings: .79 s for .66).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.kernels import observed, vectors
from cofactor.kernels.lanes import pad_to_lanes
from cofactor.kernels.observed import append_columns
from cofactor.kernels.ridge import pad_features, ridge_cg, ridge_exact
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.losses import Squared
from cofactor.penalties import L2, RowL2
from cofactor.problems.observed import (
    Entries,
    LevelData,
    ObservedProblem,
    RowsPart,
    ShardProblem,
    Shards,
    SharedColumns,
    masses,
)
from cofactor.solvers.parts import Answer, Parts, Question

#: Where rows begin, the columns of their entries, targets, and roots of weights.
EntryArrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

#: For arrays with another penalty, what makes it of its weight.
PenaltyFactories = Mapping[str, Callable[[float], L2]]

ENTRIES_PER_BLOCK = 8_000  # of equations, which take so long that threads had better take blocks as they get ready
CG_STEPS = 3  # steps for each row, which start from its last solution (Takács, Pilászy & Tikk 2011)


@dataclass(frozen=True)
class Ridge:
    """Weights of the squares of factors and biases, see `LeastSquaresProblem`."""

    n_factors: int
    alpha: float
    alpha_bias: float | None
    by_count: bool = False

    def weights(self, dtype: np.typing.DTypeLike) -> np.ndarray:
        """Return those of a row, or of a column, that of its bias last."""
        bias = [] if self.alpha_bias is None else [self.alpha_bias]
        return np.array([self.alpha] * self.n_factors + bias, dtype)

    def shares(self, counts: np.ndarray, dtype: np.typing.DTypeLike) -> np.ndarray:
        """Return what they are multiplied by for rows, or columns, with so many entries."""
        return (counts if self.by_count else np.ones(len(counts))).astype(dtype)

    def penalties(
        self, names: tuple[str, str], counts: np.ndarray, drawn: PenaltyFactories | None = None
    ) -> dict[str, L2 | RowL2]:
        """Return the penalties of factors and biases of these names, which carry a factor ½ of their own."""
        weights = zip(names, (self.alpha, self.alpha_bias), strict=True)
        return {
            name: RowL2(2 * float(weight), counts) if self.by_count else (drawn or {}).get(name, L2)(2 * float(weight))
            for name, weight in weights
            if weight is not None
        }


class LeastSquaresProblem(ObservedProblem):
    r"""Squared loss with ridge penalties.

    .. math:: J = \sum_{(i,j) \in \Omega} (y_{ij} - U_i \cdot V_j - b_i - c_j)^2
        + \alpha (\|U\|_F^2 + \|V\|_F^2) + \alpha_b (\|b\|^2 + \|c\|^2)

    or, where `by_count` is set, with n_i ‖U_i‖² and m_j ‖V_j‖² in place of ‖U_i‖² and ‖V_j‖², likewise for the biases:
    the penalty of a row then counts once for each of its entries.
    With columns held fixed each row is a ridge regression of its own, and the other way round. Other penalties may take
    the place of ‖A‖²: a squared distance from centres, the best of which follow from A. Each step takes the centres as
    they are, so that a row is a ridge regression of what its centre leaves; better centres only lower J.

    Parameters
    ----------
    entries : Entries
        Where the observed entries are.
    targets : ndarray of shape (n_entries,)
        y in row order.
    n_factors : int
        d.
    alpha : float
        Weight of the factors' penalty.
    alpha_bias : float or None
        Weight of the biases' penalty; None for no biases.
    row_solver : {"exact", "cg"}
        Normal equations, O(n d² + d³) for a row of n entries, or three conjugate gradient steps, O(n d).
    dtype : dtype, default=float32
        Of the vector of parameters.
    by_count : bool, default=False
        Whether penalties of rows and columns are multiplied by their numbers of entries, or sums of weights.
    drawn : mapping from str to callable, optional
        For arrays with another penalty, what makes it of its weight: an `L2` with `centres`. Not with `by_count`.
    weights : ndarray of shape (n_entries,), above 0, or None
        What the squared error of each entry is multiplied by, in row order.
    """

    def __init__(
        self,
        entries: Entries,
        targets: np.ndarray,
        n_factors: int,
        alpha: float,
        alpha_bias: float | None,
        row_solver: Literal["exact", "cg"],
        dtype: np.typing.DTypeLike = np.float32,
        by_count: bool = False,
        drawn: PenaltyFactories | None = None,
        weights: np.ndarray | None = None,
    ) -> None:
        n, m = entries.shape
        shapes: dict[str, tuple[int, ...]] = {"U": (n, n_factors), "V": (m, n_factors)}
        if alpha_bias is not None:
            shapes |= {"b": (n,), "c": (m,)}
        ridge, (n_row, n_column) = Ridge(n_factors, alpha, alpha_bias, by_count), masses(entries, weights)
        found = ridge.penalties(("U", "b"), n_row, drawn) | ridge.penalties(("V", "c"), n_column, drawn)
        penalties = {name: found[name] for name in shapes}  # in which order they are added up
        super().__init__(entries, targets, Squared(), shapes, penalties, None, dtype, weights)
        self.row_solver, self._ridge = row_solver, ridge.weights(self.dtype)
        self._shares = {name: ridge.shares(counts, self.dtype) for name, counts in (("U", n_row), ("V", n_column))}
        self._cuts = {
            name: cut_rows(indptr, ENTRIES_PER_BLOCK)
            for name, indptr in (("U", entries.indptr), ("V", entries.col_indptr))
        }
        self._roots = np.ones(1, self.dtype) if weights is None else np.sqrt(weights).astype(self.dtype)

    def update_rows(self, x: np.ndarray) -> None:
        """Minimise J over U and b, in place."""
        e = self.entries
        given = e.indptr, e.indices, self.targets, self._roots
        self._update(x, ("U", "b"), ("V", "c"), given)

    @cached_property
    def _by_column(self) -> tuple[np.ndarray, np.ndarray]:
        """Targets and roots of weights in the order of columns."""
        order = self.entries.to_csr
        return self.targets[order], self._roots if self.weights is None else self._roots[order]

    def update_columns(self, x: np.ndarray) -> float:
        """Minimise J over V and c, in place; return J."""
        e = self.entries
        given = e.col_indptr, e.col_indices, *self._by_column
        self._update(x, ("V", "c"), ("U", "b"), given)
        return self._value(x)

    def _update(self, x: np.ndarray, own: tuple[str, str], other: tuple[str, str], given: EntryArrays) -> None:
        arrays, free, cuts = self.arrays(x), self.layout.views(x), self._cuts[own[0]]
        features, current = arrays[other[0]], free[own[0]]
        d, offsets, shares = features.shape[1], arrays[other[1]], self._shares[own[0]]
        out = np.column_stack([current, free[own[1]]]) if own[1] in free else current.copy()
        centres = self._centres(own, free, out.shape)
        if centres is not None:
            out -= centres
            scores = self._scores_of(centres, with_constant(features, out.shape[1]), given, cuts)
            given = (*given[:2], given[2] - scores, given[3])
        if self.row_solver == "exact":
            table = pad_features(features, len(self._ridge), offsets, out.dtype)
            solve_rows(given, cuts, table, self._ridge, shares, out)
        else:
            features = with_constant(features, out.shape[1])
            start = (*given, offsets, features, self._ridge, shares, CG_STEPS, out)
            parallel_for(lambda k: ridge_cg(cuts[k], cuts[k + 1], *start), len(cuts) - 1)
        if centres is not None:
            out += centres
        current[...] = out[:, :d]
        if own[1] in free:
            free[own[1]][...] = out[:, d]

    def _value(self, x: np.ndarray) -> float:
        """Return J at `x`, without its gradient."""
        return self.losses(self.arrays(x), {}) + self.smooth_value(x)

    def _centres(
        self, own: tuple[str, str], free: Mapping[str, np.ndarray], shape: tuple[int, ...]
    ) -> np.ndarray | None:
        """Return what the penalties draw the rows to, the bias last; None for zero."""
        found = {}
        for name in own:
            penalty = self.penalties.get(name)
            centre = penalty.centres(free[name]) if isinstance(penalty, L2) else None
            if centre is not None:
                found[name] = centre
        if not found:
            return None
        out = np.zeros(shape, self.dtype)
        out[:, : free[own[0]].shape[1]] = found.get(own[0], 0)
        if own[1] in free:
            out[:, -1] = found.get(own[1], 0)
        return out

    def _scores_of(self, centres: np.ndarray, features: np.ndarray, given: EntryArrays, cuts: np.ndarray) -> np.ndarray:
        """Return the products of centres with the features of each entry."""
        indptr, indices, *_ = given
        out, tables = np.empty(len(indices), self.dtype), [pad_to_lanes(a) for a in (centres, features)]
        no_biases = [np.zeros(len(a), self.dtype) for a in tables]
        parallel_for(
            lambda k: observed.scores(cuts[k], cuts[k + 1], indptr, indices, tables[0], *tables, *no_biases, out),
            len(cuts) - 1,
        )
        return out


def with_constant(features: np.ndarray, width: int) -> np.ndarray:
    """Return contiguous features of so many columns: a one follows where they have one column less."""
    if features.shape[1] < width:  # a bias is the weight of a constant feature
        return np.column_stack([features, np.ones(len(features), features.dtype)])
    return np.ascontiguousarray(features)


def solve_rows(
    given: EntryArrays, cuts: np.ndarray, table: np.ndarray, ridge: np.ndarray, shares: np.ndarray, out: np.ndarray
) -> None:
    """Write the minimisers of ridge regressions, one for each row of a sparse matrix.

    Parameters
    ----------
    given : tuple
        Where rows begin, columns, targets, and roots of weights (one for all if there is only one).
    cuts : ndarray
        Blocks of rows: see `cut_rows`.
    table : ndarray
        Rows V_j, and what is taken off the targets: see `pad_features`.
    ridge : ndarray of shape (p,)
        Weights of squares: p = d, or d + 1 for a constant feature beside them.
    shares : ndarray of shape (n_rows,)
        What `ridge` is multiplied by in each row.
    out : ndarray of shape (n_rows, p)
    """
    start = (*given, table, ridge, shares, out)
    parallel_for(lambda k: ridge_exact(cuts[k], cuts[k + 1], *start), len(cuts) - 1)


Arrays = Mapping[str, NDArray[Any]]


class LastTable:
    """What `pad_features` made last: all parts of a process answer the same question, one after another.

    Of a million rows with fifty factors it takes an eighth of a second, and parts do not take much longer for the rest.
    """

    def __init__(self) -> None:
        self._of: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None = None

    def __call__(self, features: NDArray[Any], offsets: NDArray[Any], p: int) -> NDArray[Any]:
        """Return the table of these very arrays."""
        if self._of is None or self._of[0] is not features or self._of[1] is not offsets:
            self._of = None  # before there are two of them
            self._of = features, offsets, pad_features(features, p, offsets, features.dtype)
        return self._of[2]

    def __reduce__(self) -> tuple[type[LastTable], tuple[()]]:
        """Travel without it."""
        return LastTable, ()


@dataclass(frozen=True)
class ShardLeastSquares:
    """What makes the problem of any shard: see `LeastSquaresProblem`.

    Attributes
    ----------
    shards : Shards
    values : ndarray of shape (n_levels + 1,)
        Targets of the levels, in the precision of the fit; the first one is of no level.
    bounds : ndarray of shape (n_shards + 1,)
        Where the rows of each shard begin among all rows.
    column_counts : ndarray of shape (n_columns,)
        Number of entries of each column.
    ridge : Ridge
    table : LastTable
        Of the features that parts are asked to solve with.
    """

    shards: Shards
    values: NDArray[Any]
    bounds: NDArray[np.int64]
    column_counts: NDArray[np.int64]
    ridge: Ridge
    table: LastTable = field(default_factory=LastTable, compare=False)

    @property
    def dtype(self) -> np.dtype:
        """Precision of factors and biases."""
        return self.values.dtype

    @cached_property
    def column_cuts(self) -> NDArray[np.int64]:
        """Columns of each part: about as many entries as those of the others."""
        n = len(self.bounds) - 1
        behind = np.cumsum(self.column_counts)
        inner = np.searchsorted(behind, behind[-1] / n * np.arange(1, n))
        return np.concatenate([[0], inner, [len(behind)]]).astype(np.int64)

    def with_ridge(self, alpha: float) -> ShardLeastSquares:
        """Return the problem with another weight of the factors' penalty."""
        return replace(self, ridge=replace(self.ridge, alpha=alpha), table=LastTable())

    @cached_property
    def losses(self) -> ShardProblem:
        """Losses and penalties; shards have counts of their own rows."""
        rows = self.ridge.penalties(("U", "b"), np.zeros(0, np.int64))
        penalties = rows | self.ridge.penalties(("V", "c"), self.column_counts)
        return ShardProblem(self.shards, self.targets, Squared(), penalties, self.dtype)

    def targets(self, entries: LevelData) -> NDArray[Any]:
        """Return the targets of entries."""
        return self.values[entries.levels]


class LeastSquaresPart(RowsPart):
    """The rows of one shard.

    Parameters
    ----------
    k : int
        Number of the shard.
    problem : ShardLeastSquares
    start : mapping from str to ndarray
        U and b at the start.
    """

    def __init__(self, k: int, problem: ShardLeastSquares, start: Arrays) -> None:
        super().__init__(k, {name: start[name].astype(problem.dtype) for name in ("U", "b")})
        self.problem = problem

    def state(self) -> dict[str, NDArray[Any]]:
        """Return U and b."""
        return self.arrays

    def restore(self, state: Arrays) -> None:
        """Take U and b."""
        self.arrays = dict(state)

    def _rows(self, question: Question) -> Answer:
        """Minimise over the rows, given V and c."""
        entries = self.problem.shards.shard(self.k)
        given = entries.indptr, entries.indices, self.problem.targets(entries)
        out, d = self._solved(*given, question["V"], question["c"]), self.problem.ridge.n_factors
        self.arrays["U"] = np.ascontiguousarray(out[:, :d])
        if out.shape[1] > d:
            self.arrays["b"] = out[:, d].copy()
        return {}

    def _columns(self, question: Question) -> Answer:
        """Return the minimisers of some columns given U and b of all rows, and zeros for the others."""
        problem = self.problem
        first, last = problem.column_cuts[self.k : self.k + 2]
        indptr = np.concatenate([[0], np.cumsum(problem.column_counts[first:last])])
        indices, targets = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], problem.dtype)
        places = indptr[:-1].copy()
        for k, first_row in enumerate(problem.bounds[:-1]):
            starts, rows, levels = problem.shards.of_items(k, first, last)
            if (places + np.diff(starts) > indptr[1:]).any():
                raise InvalidInputError("the ratings by item are not as many as were counted", argument="X")
            append_columns(starts, rows, levels, problem.values, first_row, places, indices, targets)
        rows = np.zeros((len(problem.column_counts), problem.ridge.weights(problem.dtype).size), problem.dtype)
        rows[first:last] = self._solved(indptr, indices, targets, question["U"], question["b"])
        return {"rows": rows}

    def _solved(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        targets: NDArray[Any],
        features: NDArray[Any],
        offsets: NDArray[Any],
    ) -> NDArray[Any]:
        """Return the minimisers of rows, or of columns."""
        dtype = self.problem.dtype
        ridge = self.problem.ridge.weights(dtype)
        out = np.empty((len(indptr) - 1, len(ridge)), dtype)
        cuts, shares = cut_rows(indptr, ENTRIES_PER_BLOCK), self.problem.ridge.shares(np.diff(indptr), dtype)
        table = self.problem.table(features, offsets, len(ridge))
        solve_rows((indptr, indices, targets, np.ones(1, dtype)), cuts, table, ridge, shares, out)
        return out

    def _losses(self, question: Question) -> Answer:
        """Return losses and penalties of rows, the gradient by V and c, and the square of that by rows."""
        slopes = self._slopes()
        answer = self.problem.losses.evaluate(self.k, self.arrays, slopes, question)
        squared = sum(vectors.dot(slope.reshape(-1), slope.reshape(-1)) for slope in slopes.values())
        return answer | {"squared": np.array(squared)}

    def _value(self, question: Question) -> Answer:
        """Return losses and penalties of rows."""
        return self.problem.losses.evaluate(self.k, self.arrays, self._slopes(), question, gradient=False)

    def _slopes(self) -> dict[str, NDArray[Any]]:
        """Return zeros for the gradient by the arrays of rows, to which a value alone adds that of penalties."""
        return {name: np.zeros_like(self.arrays[name]) for name in self.problem.losses.of_rows}


class ColumnsInShards(SharedColumns):
    """The objective as a function of V and c; rows are what the parts found last.

    Parameters
    ----------
    parts : Parts
        `LeastSquaresPart` of all shards.
    problem : ShardLeastSquares
    """

    def __init__(self, parts: Parts, problem: ShardLeastSquares) -> None:
        self.parts, self.problem = parts, problem
        n_columns = len(problem.column_counts)
        shapes = {"V": (n_columns, problem.ridge.n_factors), "c": (n_columns,)}
        super().__init__(problem.losses, {name: shapes[name] for name in problem.losses.of_columns}, self._losses)
        self._zeros = np.zeros(n_columns, problem.dtype)
        self._squared = 0.0

    def arrays(self, x: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return V and c; zeros for c where there are no biases."""
        return {"c": self._zeros} | self.layout.views(x)

    def _losses(self, arrays: Arrays) -> Answer:
        """Ask for losses at these arrays and at the rows, and for gradients."""
        answer = self.parts.query(lambda: {"op": "losses", "shared": ("V", "c"), "c": self._zeros, **arrays})
        self._squared = float(answer["squared"])
        return answer

    def certificate(self, x: NDArray[Any], gradient: NDArray[Any]) -> float:
        """Return the norm of the gradient by all arrays, of which those of rows are what they were evaluated at."""
        return float(np.hypot(super().certificate(x, gradient), np.sqrt(self._squared)))

    def update(self, x: NDArray[Any]) -> float:
        """Minimise over rows, then over columns, in place; return the objective there."""
        self.parts.total({"op": "rows", **self.arrays(x)})
        found, views = self.parts.query(self._of_all_rows)["rows"], self.layout.views(x)
        views["V"][...] = found[:, : self.problem.ridge.n_factors]
        if "c" in views:
            views["c"][...] = found[:, -1]
        answer = self.parts.query(lambda: {"op": "value", "shared": ("V", "c"), **self.arrays(x)})
        return float(answer["value"]) + self.smooth_value(x)

    def _of_all_rows(self) -> Question:
        """Return the question for columns, with U and b of all rows."""
        arrays = list(self.parts.each({"op": "arrays"}))
        return {"op": "columns"} | {name: np.concatenate([one[name] for one in arrays]) for name in ("U", "b")}
