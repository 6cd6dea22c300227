"""Regularized least squares in shards of rows: rows are solved with their shard, columns from sums over all shards."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels import normal_equations, vectors
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.penalties import L2, RowL2
from cofactor.problems.least_squares import LeastSquaresProblem, solve_rows
from cofactor.problems.observed import ENTRIES_PER_BLOCK, Entries
from cofactor.problems.penalized import PenalizedProblem
from cofactor.solvers.parts import Answer, Parts, Question

__all__ = ["ColumnsInShards", "LeastSquaresPart", "ShardLeastSquares"]

Arrays = Mapping[str, NDArray[Any]]

#: Bytes that the normal equations of the columns in one question may take. While those of n shards are summed, there
#: are up to log2(n) + 2 of them: at 64 shards 1 GB.
_EQUATIONS = 1 << 27

#: Columns whose equations a thread solves at a time.
_SOLVED = 64


@dataclass(frozen=True)
class ShardLeastSquares:
    """What makes the problem of any shard: see `LeastSquaresProblem`.

    Attributes
    ----------
    open : callable
        ``open(k)`` returns the entries of shard k and the levels of their targets, counted from 1.
    values : ndarray of shape (n_levels + 1,)
        Targets of the levels, in the precision of the fit; the first one is of no level.
    n_factors, alpha, alpha_bias, by_count
        See `LeastSquaresProblem`.
    """

    open: Callable[[int], tuple[Entries, NDArray[Any]]]
    values: NDArray[Any]
    n_factors: int
    alpha: float
    alpha_bias: float | None
    by_count: bool = False

    @property
    def dtype(self) -> np.dtype:
        """Precision of factors and biases."""
        return self.values.dtype

    def of_shard(self, k: int) -> LeastSquaresProblem:
        """Return the problem of a shard, in its own rows and in all columns."""
        entries, levels = self.open(k)
        return LeastSquaresProblem(
            entries,
            self.values[levels],
            self.n_factors,
            self.alpha,
            self.alpha_bias,
            "exact",
            self.dtype,
            self.by_count,
        )

    @property
    def ridge(self) -> NDArray[Any]:
        """Weights of the penalties of a row, or of a column, that of its bias last."""
        weights = [self.alpha] * self.n_factors + ([] if self.alpha_bias is None else [self.alpha_bias])
        return np.array(weights, dtype=self.dtype)

    def shares(self, counts: NDArray[np.int64]) -> NDArray[Any]:
        """Return what the penalties of rows, or columns, with so many entries are multiplied by."""
        return (counts if self.by_count else np.ones(len(counts))).astype(self.dtype)

    def penalties(self, names: tuple[str, str], counts: NDArray[np.int64]) -> dict[str, L2 | RowL2]:
        """Return the penalties of factors and biases of these names, of rows or columns with so many entries."""
        weights = zip(names, (self.alpha, self.alpha_bias), strict=True)
        return {
            name: RowL2(2 * weight, counts) if self.by_count else L2(2 * weight)
            for name, weight in weights
            if weight is not None
        }


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
        """Minimise over the rows, given V and c; return the normal equations of some columns."""
        entries, levels = self.problem.open(self.k)
        ridge, d = self.problem.ridge, self.problem.n_factors
        given = entries.indptr, entries.indices, self.problem.values[levels], np.ones(1, self.problem.dtype)
        out = np.empty((len(entries.indptr) - 1, len(ridge)), self.problem.dtype)
        cuts, shares = cut_rows(entries.indptr, ENTRIES_PER_BLOCK), self.problem.shares(np.diff(entries.indptr))
        solve_rows(given, cuts, question["c"], question["V"], ridge, shares, out)
        self.arrays["U"] = np.ascontiguousarray(out[:, :d])
        if out.shape[1] > d:
            self.arrays["b"] = out[:, d].copy()
        return self._columns(question)

    def _columns(self, question: Question) -> Answer:
        """Return the normal equations of some columns, packed."""
        entries, levels = self.problem.open(self.k)
        starts = np.asarray(entries.col_indptr[question["first"] : question["last"] + 1])
        some, indptr = slice(starts[0], starts[-1]), starts - starts[0]
        targets, roots = self.problem.values[levels[entries.to_csr[some]]], np.ones(1, self.problem.dtype)
        p = len(self.problem.ridge)
        features = normal_equations.table_of(self.arrays["U"], p > self.problem.n_factors)
        sums = np.empty((len(indptr) - 1, normal_equations.packed_size(p)))
        given = indptr, entries.col_indices[some], targets, roots, self.arrays["b"], features, sums
        cuts = cut_rows(indptr, ENTRIES_PER_BLOCK)
        parallel_for(lambda k: normal_equations.pack_equations(cuts[k], cuts[k + 1], p, *given), len(cuts) - 1)
        return {"sums": sums}

    def _losses(self, question: Question) -> Answer:
        """Return losses and penalties of rows, the gradient by V and c, and the square of that by rows."""
        columns, own = ("V", "c"), ("U", "b")[: 1 + (self.problem.alpha_bias is not None)]
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
        own = self.problem.penalties(("U", "b"), np.diff(problem.entries.indptr))
        value = problem.losses(arrays, out)
        slopes = {name: out.get(name, np.empty_like(arrays[name])) for name in own}
        return value + sum(penalty.add_gradient(arrays[name], slopes[name]) for name, penalty in own.items())

    def _arrays(self, question: Question) -> Answer:
        return {name: array.copy() for name, array in self.arrays.items()}


class ColumnsInShards(PenalizedProblem):
    """The objective as a function of V and c; rows are what the parts found last.

    Parameters
    ----------
    parts : Parts
        `LeastSquaresPart` of all shards.
    problem : ShardLeastSquares
    counts : ndarray of shape (m,)
        Number of entries in each column.
    """

    def __init__(self, parts: Parts, problem: ShardLeastSquares, counts: NDArray[np.int64]) -> None:
        self.parts, self.problem, self._shares = parts, problem, problem.shares(counts)
        penalties, n_columns = problem.penalties(("V", "c"), counts), len(counts)
        shapes = {"V": (n_columns, problem.n_factors), "c": (n_columns,)}
        super().__init__({name: shapes[name] for name in penalties}, penalties, True, problem.dtype)
        self._zeros = np.zeros(n_columns, problem.dtype)
        self._squared = 0.0

    def arrays(self, x: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return V and c; zeros for c where there are no biases."""
        return {"c": self._zeros} | self.layout.views(x)

    def value_gradient(self, x: NDArray[Any], gradient: NDArray[Any]) -> float:
        """Return the objective at `x` and these rows, and write its gradient by V and c."""
        answer = self.parts.total({"op": "losses", **self.arrays(x)})
        for name, view in self.layout.views(gradient).items():
            view[...] = answer[name]
        self._squared = float(answer["squared"])
        return float(answer["value"]) + self.add_penalties(x, gradient)

    def certificate(self, x: NDArray[Any], gradient: NDArray[Any]) -> float:
        """Return the norm of the gradient by all arrays, of which those of rows are what they were evaluated at."""
        return float(np.hypot(super().certificate(x, gradient), np.sqrt(self._squared)))

    def update(self, x: NDArray[Any]) -> float:
        """Minimise over rows, then over columns, in place; return the objective there."""
        views, m = self.layout.views(x), self.layout.shapes["V"][0]
        whole = 8 * m * normal_equations.packed_size(len(self.problem.ridge))
        cuts = np.linspace(0, m, -(-whole // _EQUATIONS) + 1).astype(int).tolist()
        question: dict[str, Any] = {"op": "rows", **{name: array.copy() for name, array in self.arrays(x).items()}}
        for first, last in itertools.pairwise(cuts):
            solved = partial(_solved, self.problem.ridge, self._shares[first:last])
            found = self.parts.total(question | {"first": first, "last": last}, solved)["rows"]
            views["V"][first:last] = found[:, : self.problem.n_factors]
            if "c" in views:
                views["c"][first:last] = found[:, -1]
            question = {"op": "columns"}
        answer = self.parts.total({"op": "value", **self.arrays(x)})
        return float(answer["value"]) + self.add_penalties(x, np.empty_like(x))


def _solved(ridge: NDArray[Any], shares: NDArray[Any], answer: Answer) -> Answer:
    """Return the minimisers of columns in place of their normal equations."""
    sums, rows = answer["sums"], np.empty((len(answer["sums"]), len(ridge)), ridge.dtype)
    parallel_for(
        lambda k: normal_equations.solve_packed(
            k * _SOLVED, min((k + 1) * _SOLVED, len(rows)), sums, ridge, shares, rows
        ),
        -(-len(rows) // _SOLVED),
    )
    return {"rows": rows}
