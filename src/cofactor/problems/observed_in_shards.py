"""The objective of `ObservedProblem` in shards of rows: L-BFGS whose vectors live with the shards.

In memory vectors are of one piece (`FlatVectors`), since inner products of rows and of columns apart are rounded
otherwise, and a single shard takes 7 % longer (`MMMF` on a million ratings: 5.05 s of processor time for 4.72).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels import vectors
from cofactor.kernels.axes import axes_of, gram, rotate
from cofactor.kernels.observed import weighted_squares
from cofactor.losses import EntryLoss
from cofactor.penalties import AroundL2, CentredL2, Penalty
from cofactor.problems.layout import Layout
from cofactor.problems.observed import ObservedProblem, Shards, inverse_curvatures, mean_squares, turns
from cofactor.problems.penalized import PenalizedProblem
from cofactor.solvers.parts import Answer, Parts, Question, made_of
from cofactor.solvers.result import Result, Trace
from cofactor.solvers.vectors import FlatVectors

__all__ = ["ShardProblem", "ShardVectors", "UserPart"]

#: Arrays of rows, which stay with their shard; all others are of columns, which all shards share.
OF_ROWS = ("U", "b", "own")

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class ShardProblem:
    """What makes the problem of any shard: see `ObservedProblem`.

    Attributes
    ----------
    shards : Shards
    targets : callable
        Returns the targets of a shard.
    loss : EntryLoss
    penalties : mapping from str to Penalty or None
        Of all free arrays, those of columns too.
    dtype : dtype
    """

    shards: Shards
    targets: Callable[[Any], NDArray[Any]]
    loss: EntryLoss
    penalties: Mapping[str, Penalty | None]
    dtype: np.dtype

    @property
    def of_rows(self) -> dict[str, Penalty | None]:
        """Penalties of arrays of rows."""
        return {name: penalty for name, penalty in self.penalties.items() if name in OF_ROWS}

    @property
    def of_columns(self) -> dict[str, Penalty | None]:
        """Penalties of shared arrays."""
        return {name: penalty for name, penalty in self.penalties.items() if name not in OF_ROWS}

    def of_shard(self, k: int, start: Arrays, shared: Arrays, centre: NDArray[Any] | None) -> ObservedProblem:
        """Return the problem of a shard in its arrays of rows, given those of columns, and the mean of all rows."""
        entries = self.shards.shard(k)
        penalties = {name: _around(penalty, centre) for name, penalty in self.of_rows.items() if penalty is not None}
        shapes = {name: start[name].shape for name in self.of_rows}
        return ObservedProblem(entries, self.targets(entries), self.loss, shapes, penalties, shared, self.dtype)


def _around(penalty: Penalty, centre: NDArray[Any] | None) -> Penalty:
    """Return the penalty that a shard can know: the mean of all rows is given to it."""
    if isinstance(penalty, CentredL2):
        assert centre is not None
        return AroundL2(penalty.alpha, centre)
    return penalty


class UserPart:
    """The rows of one shard, with their part of all vectors of L-BFGS.

    Questions name an operation in ``op``, and may ask to do one or both of two things before it: ``accept``, to make
    the trial the point; ``axes``, to rotate U. So a round does what follows from the last one, and its own. A move may
    come with a ``direction``, to set p.

    Parameters
    ----------
    k : int
        Number of the shard.
    problem : ShardProblem
    start : mapping from str to ndarray
        The arrays of rows at the start.
    memory : int
        Number of pairs.
    """

    def __init__(self, k: int, problem: ShardProblem, start: Arrays, memory: int) -> None:
        self.k, self.problem = k, problem
        self.layout = Layout({name: start[name].shape for name in problem.of_rows})
        self.x = self.layout.pack(start, problem.dtype)
        self.g, self.p, self.x_new, self.g_new = (np.zeros_like(self.x) for _ in range(4))
        self.counts = np.diff(problem.shards.shard(k).indptr)
        self.squares = np.zeros(start["U"].shape[1])
        self.pairs = np.zeros((2 * memory, self.layout.size), problem.dtype)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all vectors."""
        return {name: getattr(self, name) for name in ("x", "g", "p", "x_new", "g_new", "squares", "pairs")}

    def restore(self, state: Arrays) -> None:
        """Take all vectors."""
        for name, array in state.items():
            getattr(self, name)[...] = array

    def answer(self, question: Question) -> Answer:
        """Do what follows from the last round, then what the question asks."""
        if question.get("accept"):
            self.x, self.x_new, self.g, self.g_new = self.x_new, self.x, self.g_new, self.g
        if "axes" in question:
            rotate(self.layout.views(self.x)["U"], question["axes"])
        return getattr(self, "_" + question["op"])(question)

    def _evaluate(self, question: Question) -> Answer:
        return self._losses(self.x, self.g, question)

    def _move(self, question: Question) -> Answer:
        newest, scale = question["newest"], self._scale()
        if "direction" in question:
            vectors.combine(question["direction"], self.pairs, self.g, scale, self.p)
        vectors.step(self.x, question["t"], self.p, self.x_new)
        answer = self._losses(self.x_new, self.g_new, question)
        products = vectors.products(self.x, self.x_new, self.g, self.g_new, self.pairs, scale, newest)
        s, y = self.pairs[newest], self.pairs[len(self.pairs) // 2 + newest]
        sums = [self._row_sums(s), self._row_sums(y, scale), self._row_sums(self.g_new, scale)]
        slope = np.array(vectors.dot(self.g_new, self.p))
        return answer | {"slope": slope, "products": products, "sums": np.array(sums)}

    def _losses(self, x: NDArray[Any], gradient: NDArray[Any], question: Question) -> Answer:
        """Return losses and the gradient by the shared arrays, and write that by the arrays of rows."""
        shared = {name: question[name] for name in question["shared"]}
        arrays = self.layout.views(x)
        problem = self.problem.of_shard(self.k, arrays, shared, question.get("centre"))
        out = {name: np.empty_like(shared[name]) for name in self.problem.of_columns}
        value = problem.losses(problem.arrays(x), self.layout.views(gradient) | out)
        return out | {"value": np.array(value + problem.add_penalties(x, gradient))}

    def _rescale(self, question: Question) -> Answer:
        self.squares[...] = question["squares"]
        scale, U = self._scale(), self.layout.views(self.x)["U"]
        return {
            "products": np.array(vectors.dot(scale * self.g, self.g)),
            "squares": weighted_squares(self.counts.astype(np.float64), U),
            "sums": self._row_sums(self.g, scale),
        }

    def _gram(self, question: Question) -> Answer:
        return {"gram": gram((self.layout.views(self.x)["U"],))}

    def _squared_gradient(self, question: Question) -> Answer:
        return {"squared": np.array(vectors.dot(self.g, self.g))}

    def _arrays(self, question: Question) -> Answer:
        return made_of(self.layout.views(self.x), self.k, question)

    def _scale(self) -> NDArray[Any]:
        """Return the inverse curvatures at the last question for them: made anew in each round, they need no room."""
        penalties = {name: p for name, p in self.problem.of_rows.items() if p is not None}
        squares = {"U": self.squares}
        return inverse_curvatures(self.layout, penalties, self.counts, self.counts, squares, self.x.dtype)

    def _row_sums(self, vector: NDArray[Any], scale: NDArray[Any] | None = None) -> NDArray[np.float64]:
        """Return the sum of the rows of the array whose mean matters, times `scale` if it is given."""
        own = self.layout.views(vector).get("own")
        if own is None:
            return np.zeros(0)
        own = own if scale is None else self.layout.views(scale)["own"] * own
        return np.asarray(own.sum(axis=0, dtype=np.float64))


class _Columns(PenalizedProblem):
    """The objective as a function of the shared arrays: rows follow from what is asked of the parts."""

    def __init__(self, problem: ShardProblem, shapes: Mapping[str, tuple[int, ...]], ask: Callable[[Arrays], Answer]):
        penalties = {name: p for name, p in problem.of_columns.items() if p is not None}
        super().__init__(shapes, penalties, problem.loss.smooth, problem.dtype)
        self._ask = ask

    def value_gradient(self, x: NDArray[Any], gradient: NDArray[Any]) -> float:
        """Return the objective, and write its gradient by the shared arrays."""
        answer = self._ask(self.layout.views(x))
        for name, view in self.layout.views(gradient).items():
            view[...] = answer[name]
        return float(answer["value"]) + self.add_penalties(x, gradient)


class ShardVectors:
    r"""Vectors whose rows live with the shards, and whose columns live here.

    Every trial is one round: parts move, evaluate their losses, and return the sums that follow: the objective, the
    gradient by the shared arrays V and c, the slope, the inner products of the pair that this trial would make (it is
    stored in place of the oldest one, which no later trial on this line needs).

    A penalty that draws rows :math:`\theta_i` to their mean over all shards asks for this mean before the trial. It is
    known, since :math:`\bar\theta(x + t p)` is linear in the vectors and their sums over rows come with the products.

    Parameters
    ----------
    parts : Parts
        `UserPart` of all shards.
    problem : ShardProblem
    shared : mapping from str to ndarray
        The arrays of columns at the start.
    n_rows : int
        Number of rows in all shards.
    item_counts : ndarray of shape (m,)
        Number of entries in each column.
    row_sum : ndarray of shape (R - 1,)
        Sum over all rows of the array "own" at the start; empty if there is none.
    memory : int
        Number of pairs.
    trace_of : callable
        Returns the trace of a problem.
    """

    def __init__(
        self,
        parts: Parts,
        problem: ShardProblem,
        shared: Arrays,
        n_rows: int,
        item_counts: NDArray[np.int64],
        row_sum: NDArray[np.float64],
        memory: int,
        trace_of: Callable[[PenalizedProblem], Trace],
    ) -> None:
        self.parts, self.problem, self.memory = parts, problem, memory
        self._n_rows, self._item_counts = n_rows, item_counts
        columns = _Columns(problem, {name: shared[name].shape for name in problem.of_columns}, self._losses)
        self.trace = trace_of(columns)
        self.columns, self._of_columns = FlatVectors(columns, columns.pack(shared), memory, self.trace), columns
        free = columns.layout.shapes
        self._fixed = {name: array.astype(problem.dtype) for name, array in shared.items() if name not in free}
        self._pending: dict[str, Any] = {}
        self._op: dict[str, Any] = {}
        self._answer: Answer = {}
        # Sums over rows of what p is a combination of, of p, and of x.
        self._sums = np.zeros((2 * memory + 1, len(row_sum)))
        self._sum_p, self._sum_x = np.zeros(len(row_sum)), row_sum.astype(np.float64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the shared arrays at x, fixed ones too."""
        return self._fixed | self._of_columns.layout.views(self.columns.x)

    def _total(self, **question: Any) -> Answer:
        """Ask all parts, and what is pending with it."""
        question, self._pending = self._pending | question, {}
        return self.parts.total(question)

    def _losses(self, shared: Arrays) -> Answer:
        """Ask for what `_op` says, at these shared arrays."""
        given = self._fixed | {**shared}
        self._answer = self._total(**self._op, **given, shared=tuple(given))
        return self._answer

    def evaluate(self) -> float:
        """Evaluate the gradient at x; return the objective."""
        self._op = {"op": "evaluate", "centre": self._sum_x / self._n_rows}
        return self.columns.evaluate()

    def rescale(self) -> float:
        """Take the scale at x; return g·scale·g."""
        columns, counts = self.columns, self._item_counts
        layout, penalties = self._of_columns.layout, self._of_columns.penalties
        answer = self._total(op="rescale", squares=mean_squares(counts, self.arrays()["V"]))
        squares = {"V": answer["squares"] / max(1, counts.sum())}
        columns.scale = inverse_curvatures(layout, penalties, counts, counts, squares, columns.x.dtype)
        self._sums[-1] = answer["sums"]
        return float(answer["products"]) + vectors.dot(columns.scale * columns.g, columns.g)

    def turn(self) -> None:
        """Turn the rows of U and V together onto their principal axes."""
        V = self.arrays()["V"]
        penalties = {name: p for name, p in self.problem.penalties.items() if p is not None}
        if not turns(penalties, (self._n_rows, V.shape[1]), len(V), int(self._item_counts.sum())):
            return
        axes = axes_of(self._total(op="gram")["gram"] + gram((V,)))
        rotate(V, axes)
        self._pending["axes"] = axes

    def direct(self, coefficients: NDArray[np.float64], newest: int) -> None:
        """Set p."""
        self.columns.direct(coefficients, newest)
        self._pending["direction"] = coefficients
        self._sum_p = coefficients @ self._sums

    def move(self, t: float) -> float:
        """Try x + t p; return the objective there."""
        centre = (self._sum_x + t * self._sum_p) / self._n_rows
        self._op = {"op": "move", "t": t, "newest": self.columns.newest, "centre": centre}
        return self.columns.move(t)

    def slope(self) -> float:
        """Return gradient·p there."""
        return float(self._answer["slope"]) + self.columns.slope()

    def products(self) -> NDArray[np.float64]:
        """Return the products of the pair of the trial, which is stored already."""
        return self._answer["products"] + self.columns.products()

    def accept(self) -> None:
        """Make the trial the point."""
        self.columns.accept()
        self._pending["accept"] = True
        s, y, g = self._answer["sums"]
        newest = self.columns.newest
        self._sums[newest], self._sums[self.memory + newest], self._sums[-1] = s, y, g
        self._sum_x = self._sum_x + s

    def result(self) -> Result:
        """Return the outcome: `x` has the shared arrays alone."""
        of_rows = float(self._total(op="squared_gradient")["squared"])
        found = self.columns.result()
        return replace(found, certificate=float(np.hypot(found.certificate, np.sqrt(of_rows))))
