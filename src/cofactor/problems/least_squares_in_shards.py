"""Regularized least squares in shards of rows: rows are solved with their shard, columns from sums over all shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels import rows, vectors
from cofactor.kernels.threads import parallel_for
from cofactor.penalties import L2, RowL2
from cofactor.problems.least_squares import LeastSquaresProblem
from cofactor.problems.observed import Entries
from cofactor.problems.penalized import PenalizedProblem
from cofactor.solvers.parts import Answer, Parts, Question

__all__ = ["ColumnsInShards", "LeastSquaresPart", "ShardLeastSquares"]

Arrays = Mapping[str, NDArray[Any]]

#: Bytes that the normal equations of the columns in one question may take.
_EQUATIONS = 1 << 27

#: Columns whose equations a thread solves at a time.
_SOLVED = 64


@dataclass(frozen=True)
class ShardLeastSquares:
    """What makes the problem of any shard: see `LeastSquaresProblem`.

    Attributes
    ----------
    open : callable
        ``open(k)`` returns the entries of shard k and their targets.
    n_factors, alpha, alpha_bias, dtype, by_count
        See `LeastSquaresProblem`.
    """

    open: Callable[[int], tuple[Entries, NDArray[Any]]]
    n_factors: int
    alpha: float
    alpha_bias: float | None
    dtype: np.dtype
    by_count: bool = False

    def of_shard(self, k: int) -> LeastSquaresProblem:
        """Return the problem of a shard, in its own rows and in all columns."""
        entries, targets = self.open(k)
        return LeastSquaresProblem(
            entries, targets, self.n_factors, self.alpha, self.alpha_bias, "exact", self.dtype, self.by_count
        )

    @property
    def ridge(self) -> NDArray[Any]:
        """Weights of the penalties of a row, or of a column, that of its bias last."""
        weights = [self.alpha] * self.n_factors + ([] if self.alpha_bias is None else [self.alpha_bias])
        return np.array(weights, dtype=self.dtype)

    def shares(self, counts: NDArray[np.int64]) -> NDArray[Any]:
        """Return what the penalties of columns with so many entries are multiplied by."""
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
        """Minimise over the rows, given V and c."""
        problem = self.problem.of_shard(self.k)
        x = problem.pack(self.arrays | {"V": question["V"], "c": question["c"]})
        problem.update_rows(x)
        found = problem.layout.views(x)
        self.arrays = {name: found[name].copy() if name in found else self.arrays[name] for name in ("U", "b")}
        return {}

    def _equations(self, question: Question) -> Answer:
        """Return the normal equations of some columns; the first shard counts their penalties."""
        ridges = question["shares"][:, None] * (self.problem.ridge if self.k == 0 else 0 * self.problem.ridge)
        ends = question["first"], question["last"]
        grams, sides = self.problem.of_shard(self.k).normal_equations(self.arrays, *ends, ridges)
        return {"grams": grams, "sides": sides}

    def _losses(self, question: Question) -> Answer:
        """Return losses and penalties of rows, the gradient by V and c, and the square of that by rows."""
        problem, columns = self.problem.of_shard(self.k), ("V", "c")
        own = self.problem.penalties(("U", "b"), np.diff(problem.entries.indptr))
        arrays = self.arrays | {name: question[name] for name in columns}
        out = {name: np.empty_like(arrays[name]) for name in (*own, *columns)}
        value = problem.losses(arrays, out)
        value += sum(penalty.add_gradient(arrays[name], out[name]) for name, penalty in own.items())
        squared = sum(vectors.dot(out[name].reshape(-1), out[name].reshape(-1)) for name in own)
        return {name: out[name] for name in columns} | {"value": np.array(value), "squared": np.array(squared)}

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

    def update(self, x: NDArray[Any]) -> None:
        """Minimise over rows, then over columns, in place."""
        self.parts.total({"op": "rows", **self.arrays(x)})
        views = self.layout.views(x)
        p, m = len(self.problem.ridge), len(views["V"])
        size = max(1, _EQUATIONS // (8 * p * (p + 1)))
        for first in range(0, m, size):
            last = min(first + size, m)
            shares = self._shares[first:last]
            sums = self.parts.total({"op": "equations", "first": first, "last": last, "shares": shares})
            found = np.empty((last - first, p), self.dtype)
            _solve(sums["grams"], sums["sides"], found)
            views["V"][first:last] = found[:, : self.problem.n_factors]
            if "c" in views:
                views["c"][first:last] = found[:, -1]


def _solve(grams: NDArray[Any], sides: NDArray[Any], out: NDArray[Any]) -> None:
    parallel_for(
        lambda k: rows.solve_normal_equations(k * _SOLVED, min((k + 1) * _SOLVED, len(out)), grams, sides, out),
        -(-len(out) // _SOLVED),
    )
