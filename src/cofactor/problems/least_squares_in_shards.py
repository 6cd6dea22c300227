"""Regularized least squares in shards of rows: each part solves its rows, then a share of the columns of all shards.

A column needs the factors of all its rows. They travel to all parts: d + 1 numbers for each row, where sums of their
products, shard by shard, would be d² / 2 numbers for each column and shard, most of them over a few entries.

In memory `LeastSquaresProblem` has rows and columns at hand, and takes weights, features and conjugate gradients too:
a single shard has the same factors, and takes a fifth longer (`ALS` on a million ratings: .79 s for .66).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.kernels import vectors
from cofactor.kernels.normal_equations import lined_up
from cofactor.kernels.observed import append_columns
from cofactor.kernels.threads import cut_rows
from cofactor.problems.least_squares import ENTRIES_PER_BLOCK, LeastSquaresProblem, Ridge, solve_rows
from cofactor.problems.observed import Shards
from cofactor.problems.penalized import PenalizedProblem
from cofactor.solvers.parts import Answer, Parts, Question, made_of

__all__ = ["ColumnsInShards", "LeastSquaresPart", "ShardLeastSquares"]

Arrays = Mapping[str, NDArray[Any]]


class LastTable:
    """What `lined_up` made last: all parts of a process answer the same question, one after another.

    Of a million rows with fifty factors it takes an eighth of a second, and parts do not take much longer for the rest.
    """

    def __init__(self) -> None:
        self._of: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None = None

    def __call__(self, features: NDArray[Any], offsets: NDArray[Any], p: int) -> NDArray[Any]:
        """Return the table of these very arrays."""
        if self._of is None or self._of[0] is not features or self._of[1] is not offsets:
            self._of = None  # before there are two of them
            self._of = features, offsets, lined_up(features, p, offsets, features.dtype)
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

    def of_shard(self, k: int) -> LeastSquaresProblem:
        """Return the problem of a shard, in its own rows and in all columns."""
        entries, r = self.shards.shard(k), self.ridge
        given = entries, self.values[entries.levels], r.n_factors, r.alpha, r.alpha_bias
        return LeastSquaresProblem(*given, "exact", self.dtype, r.by_count)


class LeastSquaresPart:
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
        self.k, self.problem = k, problem
        self.arrays = {name: start[name].astype(problem.dtype) for name in ("U", "b")}

    def state(self) -> dict[str, NDArray[Any]]:
        """Return U and b."""
        return self.arrays

    def restore(self, state: Arrays) -> None:
        """Take U and b."""
        self.arrays = dict(state)

    def answer(self, question: Question) -> Answer:
        """Do what the question asks."""
        return getattr(self, "_" + question["op"])(question)

    def _rows(self, question: Question) -> Answer:
        """Minimise over the rows, given V and c."""
        entries = self.problem.shards.shard(self.k)
        given = entries.indptr, entries.indices, self.problem.values[entries.levels]
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
        columns, own = ("V", "c"), ("U", "b")[: 1 + (self.problem.ridge.alpha_bias is not None)]
        out = {name: np.empty_like(array) for name, array in self._with(question).items() if name in (*own, *columns)}
        value = self._evaluated(question, out)
        squared = sum(vectors.dot(out[name].reshape(-1), out[name].reshape(-1)) for name in own)
        return {name: out[name] for name in columns} | {"value": np.array(value), "squared": np.array(squared)}

    def _value(self, question: Question) -> Answer:
        """Return losses and penalties of rows."""
        return {"value": np.array(self._evaluated(question, {}))}

    def _with(self, question: Question) -> dict[str, NDArray[Any]]:
        """Return the arrays of rows, and V and c."""
        return self.arrays | {name: question[name] for name in ("V", "c")}

    def _evaluated(self, question: Question, out: dict[str, NDArray[Any]]) -> float:
        """Return losses and penalties of rows; write the gradient by what `out` has."""
        problem, arrays = self.problem.of_shard(self.k), self._with(question)
        own = self.problem.ridge.penalties(("U", "b"), np.diff(problem.entries.indptr))
        value = problem.losses(arrays, out)
        slopes = {name: out.get(name, np.empty_like(arrays[name])) for name in own}
        return value + sum(penalty.add_gradient(arrays[name], slopes[name]) for name, penalty in own.items())

    def _arrays(self, question: Question) -> Answer:
        return made_of(self.arrays, self.k, question)


class ColumnsInShards(PenalizedProblem):
    """The objective as a function of V and c; rows are what the parts found last.

    Parameters
    ----------
    parts : Parts
        `LeastSquaresPart` of all shards.
    problem : ShardLeastSquares
    """

    def __init__(self, parts: Parts, problem: ShardLeastSquares) -> None:
        self.parts, self.problem = parts, problem
        penalties, n_columns = problem.ridge.penalties(("V", "c"), problem.column_counts), len(problem.column_counts)
        shapes = {"V": (n_columns, problem.ridge.n_factors), "c": (n_columns,)}
        super().__init__({name: shapes[name] for name in penalties}, penalties, True, problem.dtype)
        self._zeros = np.zeros(n_columns, problem.dtype)
        self._squared = 0.0

    def arrays(self, x: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return V and c; zeros for c where there are no biases."""
        return {"c": self._zeros} | self.layout.views(x)

    def value_gradient(self, x: NDArray[Any], gradient: NDArray[Any]) -> float:
        """Return the objective at `x` and these rows, and write its gradient by V and c."""
        answer = self.parts.told(lambda: {"op": "losses", **self.arrays(x)})
        for name, view in self.layout.views(gradient).items():
            view[...] = answer[name]
        self._squared = float(answer["squared"])
        return float(answer["value"]) + self.add_penalties(x, gradient)

    def certificate(self, x: NDArray[Any], gradient: NDArray[Any]) -> float:
        """Return the norm of the gradient by all arrays, of which those of rows are what they were evaluated at."""
        return float(np.hypot(super().certificate(x, gradient), np.sqrt(self._squared)))

    def update(self, x: NDArray[Any]) -> float:
        """Minimise over rows, then over columns, in place; return the objective there."""
        self.parts.total({"op": "rows", **self.arrays(x)})
        found, views = self.parts.told(self._of_all_rows)["rows"], self.layout.views(x)
        views["V"][...] = found[:, : self.problem.ridge.n_factors]
        if "c" in views:
            views["c"][...] = found[:, -1]
        answer = self.parts.told(lambda: {"op": "value", **self.arrays(x)})
        return float(answer["value"]) + self.smooth_value(x)

    def _of_all_rows(self) -> Question:
        """Return the question for columns, with U and b of all rows."""
        arrays = list(self.parts.each({"op": "arrays"}))
        return {"op": "columns"} | {name: np.concatenate([one[name] for one in arrays]) for name in ("U", "b")}
