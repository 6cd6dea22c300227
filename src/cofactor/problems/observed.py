"""Factorization of the observed entries of a sparse matrix, in memory or in shards of rows.

In shards L-BFGS works on vectors that live with the shards. In memory vectors are of one piece (`FlatVectors`), since
inner products of rows and of columns apart are rounded otherwise, and a single shard takes 7 % longer (`MMMF` on a
million ratings: 5.05 s of processor time for 4.72).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.kernels import observed, vectors
from cofactor.kernels.axes import axes_of, gram, principal_axes, rotate
from cofactor.kernels.lanes import padded_zeros
from cofactor.kernels.observed import weighted_squares
from cofactor.kernels.threads import cut_rows, n_threads, parallel_for
from cofactor.losses.base import EntryLoss, LossArrays
from cofactor.penalties import L2, AroundL2, CentredL2, Penalty, RowL2
from cofactor.problems.base import Layout, PenalizedProblem
from cofactor.solvers.lbfgs import FlatVectors
from cofactor.solvers.parts import Answer, Part, Parts, Question
from cofactor.solvers.result import Result, Trace

_LEAST_CURVATURE = 0.1  # of parameters that no rating and no penalty depends on
_COPIED = 1 << 18  # numbers that are copied by one thread: to wake another takes as long
_ROTATION_COST = 5  # evaluations of J that a rotation may cost; it costs about d (n + m + d) / n_entries
ENTRIES_PER_BLOCK = 64_000  # scores and slopes of a block of this size stay in a second-level cache


class Entries(Protocol):
    """Sparsity pattern of observed entries, by rows and by columns (`Ratings` is one)."""

    @property
    def indptr(self) -> np.ndarray:
        """Where each row begins among the entries."""

    @property
    def indices(self) -> np.ndarray:
        """Column of each entry."""

    @property
    def col_indptr(self) -> np.ndarray:
        """Where each column begins among the entries by column."""

    @property
    def col_indices(self) -> np.ndarray:
        """Row of each entry by column."""

    @property
    def to_csr(self) -> np.ndarray:
        """Position of each entry by column among the entries by row."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""


class LevelData(Entries, Protocol):
    """Levels of pairs by rows and by columns, as `Ratings` has them."""

    @property
    def levels(self) -> np.ndarray:
        """Level of each entry, 1..R."""


class Shards(Protocol):
    """The entries of any shard, with the levels of their targets, counted from 1."""

    def shard(self, k: int) -> LevelData:
        """Return those of shard k."""

    def of_items(self, k: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the entries of the columns first..last-1 of shard k: offsets from 0 on, rows, and levels."""


class ObservedProblem(PenalizedProblem):
    r"""Objective of a factorization of observed entries, with optional biases and thresholds.

    .. math::

        J = \sum_{(i,j) \in \Omega} \ell(y_{ij}, x_{ij}; \theta_i) + \sum_A p_A(A), \qquad
        x_{ij} = U_i \cdot V_j + b_i + c_j, \qquad \theta_i = \theta_0 + \delta_i

    It is minimised over those of U, V, b, c, θ0 (named `common`), δ (named `own`) which are *free*; the others are
    *fixed* or absent (zero). `p_A` is the penalty of the array A.

    Parameters
    ----------
    entries : Entries
        Where the observed entries are; n rows, m columns.
    targets : ndarray of shape (n_entries,)
        y in row order: ±1, levels 1..R or real numbers, as the loss asks.
    loss : EntryLoss
        The loss ℓ.
    shapes : mapping from str to tuple of int
        The free arrays: any of U (n, d), V (m, d), b (n,), c (m,), common (R-1,), own (n, R-1).
    penalties : mapping from str to Penalty
        Penalties of free arrays; an array without one is not penalized.
    fixed : mapping from str to ndarray, optional
        Arrays held fixed (for fold-in: V, c, common).
    dtype : dtype, default=float32
        Of the vector of parameters.
    weights : ndarray of shape (n_entries,), above 0, or None
        What the loss of each entry is multiplied by, in row order.

    Attributes
    ----------
    layout : Layout
        Where each free array stands in the vector of parameters.
    smooth : bool
        Whether loss and penalties all have gradients.
    """

    def __init__(
        self,
        entries: Entries,
        targets: np.ndarray,
        loss: EntryLoss,
        shapes: Mapping[str, tuple[int, ...]],
        penalties: Mapping[str, Penalty],
        fixed: Mapping[str, np.ndarray] | None = None,
        dtype: np.typing.DTypeLike = np.float32,
        weights: np.ndarray | None = None,
    ) -> None:
        super().__init__(shapes, penalties, loss.smooth, dtype)
        self.entries, self.loss = entries, loss
        self.weights = None if weights is None else weights.astype(self.dtype)
        # Targets as real numbers live in the precision of the scores; levels stay bytes.
        self.targets = targets if loss.target == "ordinal" else np.asarray(targets, dtype=self.dtype)
        n, m = entries.shape
        self._fixed = {name: np.asarray(a, dtype=self.dtype) for name, a in (fixed or {}).items()}
        self._fixed.setdefault("b", np.zeros(n, self.dtype))
        self._fixed.setdefault("c", np.zeros(m, self.dtype))
        given = {name: a.shape for name, a in self._fixed.items()} | dict(shapes)
        n_thresholds = next((given[name][-1] for name in ("common", "own") if name in given), 0)
        _check_shapes(given, n, m, n_thresholds)
        self._tables = {
            name: self._table(name, indptr, given[name][1])
            for name, indptr in (("U", entries.indptr), ("V", entries.col_indptr))
        }
        n_entries = len(entries.indices)
        # Four levels take the room of one more score in a cache.
        self._block = _per_block(n_entries, ENTRIES_PER_BLOCK // (1 + loss.levels(n_thresholds) // 4))
        self._row_cuts = cut_rows(entries.indptr, self._block)
        self._col_cuts = cut_rows(entries.col_indptr, _per_block(n_entries, ENTRIES_PER_BLOCK))
        loss.check_targets(self.targets, n_thresholds)
        self._loss_arrays = LossArrays(
            indptr=entries.indptr,
            targets=self.targets,
            scores=np.empty(n_entries, self.dtype),
            thresholds=np.empty((n, n_thresholds), self.dtype),
            d_scores=np.empty(n_entries, self.dtype),
            d_thresholds=np.empty((n, n_thresholds), self.dtype),
            losses=np.empty(n),
            weights=self.weights,
        )

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return all arrays, free ones as views of `x`, fixed ones as they are."""
        return self._fixed | self.layout.views(x)

    def rotate(self, x: np.ndarray) -> None:
        """Turn the rows of U and V together onto their principal axes, in place; J stays as it is.

        There each factor has its own curvature of J, which hardly depends on the other factors, as
        `inverse_curvatures` assumes. Nothing is done if V or U is fixed, if a penalty depends on the axes, or if it
        would take longer than some evaluations of J.
        """
        free = self.layout.views(x)
        if (
            "U" in free
            and "V" in free
            and turns(self.penalties, free["U"].shape, len(free["V"]), len(self.entries.indices))
        ):
            axes = principal_axes((free["U"], free["V"]))
            rotate(free["U"], axes)
            rotate(free["V"], axes)

    def inverse_curvatures(self, x: np.ndarray) -> np.ndarray:
        """Return a rough guess of 1 / (second derivative of J) for each parameter near x: solvers scale steps by it.

        Every rating adds about 1 to the curvature in a bias or threshold, and about the mean square of the other
        matrix's column to that in a factor; penalties add their weights.
        """
        arrays = self.arrays(x)
        n_row, n_column = masses(self.entries, self.weights)
        squares = {"U": mean_squares(n_column, arrays["V"]), "V": mean_squares(n_row, arrays["U"])}
        return inverse_curvatures(self.layout, self.penalties, n_row, n_column, squares, self.dtype)

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the smooth part of J at `x` and write its gradient."""
        return self.losses(self.arrays(x), self.layout.views(gradient)) + self.add_penalties(x, gradient)

    def losses(self, arrays: Mapping[str, np.ndarray], out: Mapping[str, np.ndarray]) -> float:
        """Return the sum of the losses at these arrays, and write its gradients by those that `out` has."""
        self._set_thresholds(arrays)
        cuts = self._col_cuts
        if "V" in self.layout.shapes:
            V = self._tables["V"]
            size = max(1, _COPIED // max(1, V.shape[1]))
            firsts = range(0, len(V), size)
            parallel_for(
                lambda k: observed.pad_rows(firsts[k], min(firsts[k] + size, len(V)), arrays["V"], V), len(firsts)
            )
        rows = self._row_cuts
        parallel_for(lambda k: self._rows(rows[k], rows[k + 1], arrays, out), len(rows) - 1)
        if "V" in out or "c" in out:
            parallel_for(lambda k: self._columns(k, arrays, out), len(cuts) - 1)
        if "common" in out:
            out["common"][...] = np.add.reduce(self._loss_arrays.d_thresholds, axis=0, dtype=np.float64)
        if "own" in out:
            out["own"][...] = self._loss_arrays.d_thresholds
        return float(np.add.reduce(self._loss_arrays.losses))

    def losses_of(
        self, rows: np.ndarray, arrays: Mapping[str, np.ndarray], out: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """Return the loss of each of some rows, given in their order, and write its gradients by U, b and own there.

        What a row has does not depend on the others.
        """
        self._set_thresholds(arrays, rows)
        sizes = self.entries.indptr[rows + 1] - self.entries.indptr[rows] + 1  # empty rows take time too
        block = np.cumsum(sizes) // self._block
        first = np.flatnonzero((np.diff(rows, prepend=-2) != 1) | (np.diff(block, prepend=-1) != 0))
        cuts = list(zip(rows[first], rows[np.append(first[1:], len(rows)) - 1] + 1, strict=True))
        parallel_for(lambda k: self._rows(*cuts[k], arrays, out), len(cuts))
        if "own" in out:
            out["own"][rows] = self._loss_arrays.d_thresholds[rows]
        return self._loss_arrays.losses[rows]

    def curvatures_of_rows(self) -> dict[str, np.ndarray]:
        """Return what the entries of rows add to second derivatives by U, b and own: see `inverse_curvatures`."""
        e, squares = self.entries, self._tables["V"] ** 2
        weights = np.ones(len(e.indices), self.dtype) if self.weights is None else self.weights
        by_factor, n_row = np.empty((e.shape[0], self._fixed["V"].shape[1]), self.dtype), masses(e, self.weights)[0]
        cuts, in_place = self._row_cuts, (observed.IN_PLACE, weights, weights)

        def block(k: int) -> None:
            observed.accumulate(cuts[k], cuts[k + 1], e.indptr, e.indices, *in_place, squares, by_factor)

        parallel_for(block, len(cuts) - 1)
        return {"U": by_factor, "b": n_row, "own": np.broadcast_to(n_row[:, None], self._loss_arrays.thresholds.shape)}

    def _table(self, name: str, indptr: np.ndarray, d: int) -> np.ndarray:
        """Return what kernels read instead of a matrix of factors; of a fixed one, the rows that have entries."""
        table = padded_zeros(len(indptr) - 1, d, self.dtype)
        if name in self._fixed:
            used = np.flatnonzero(np.diff(indptr))
            table[used, :d] = self._fixed[name][used]
        return table

    def _set_thresholds(self, arrays: Mapping[str, np.ndarray], rows: np.ndarray | slice = slice(None)) -> None:
        thresholds = self._loss_arrays.thresholds
        thresholds[rows] = arrays.get("common", 0)
        if "own" in arrays:
            thresholds[rows] += arrays["own"][rows]

    def _rows(self, lo: int, hi: int, arrays: Mapping[str, np.ndarray], out: Mapping[str, np.ndarray]) -> None:
        """Scores, losses, slopes and the gradients of U and b for one block of rows."""
        e, U, V = self.entries, self._tables["U"], self._tables["V"]
        entries, biases = (lo, hi, e.indptr, e.indices), (arrays["b"], arrays["c"])
        own = arrays["U"] if "U" in self.layout.shapes else U
        observed.scores(*entries, own, U, V, *biases, self._loss_arrays.scores)
        self.loss.evaluate(lo, hi, self._loss_arrays)
        if "U" in out:
            slopes = self._loss_arrays.d_scores
            observed.accumulate(*entries, observed.IN_PLACE, slopes, slopes, V, out["U"])
        if "b" in out:
            observed.row_sums(lo, hi, e.indptr, self._loss_arrays.d_scores, out["b"])

    def _columns(self, block: int, arrays: Mapping[str, np.ndarray], out: Mapping[str, np.ndarray]) -> None:
        """Gradients of V and c for one block of columns, from the slopes that the rows left behind."""
        lo, hi = self._col_cuts[block], self._col_cuts[block + 1]
        e = self.entries
        # The scores are not needed any more: the slopes in column order take their place.
        by_column = (e.to_csr, self._loss_arrays.d_scores, self._loss_arrays.scores)
        if "V" in out:
            U = self._tables["U"]
            observed.accumulate(lo, hi, e.col_indptr, e.col_indices, *by_column, U, out["V"])
        else:
            observed.gather(e.col_indptr[lo], e.col_indptr[hi], *by_column)
        if "c" in out:
            observed.row_sums(lo, hi, e.col_indptr, self._loss_arrays.scores, out["c"])


def _per_block(n_entries: int, most: int) -> int:
    """Return the entries of a block: at most what a cache holds, at least an eighth of it, between them one a thread.

    After each kernel a thread waits for Python's lock: small blocks cost more than they save.
    """
    return min(max(most // 8, n_entries // n_threads()), most)


def masses(entries: Entries, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of the weights in each row and in each column; without weights, the numbers of entries."""
    if weights is None:
        return np.diff(entries.indptr), np.diff(entries.col_indptr)
    n, m = entries.shape
    rows = np.repeat(np.arange(n), np.diff(entries.indptr))
    return np.bincount(rows, weights, n), np.bincount(entries.indices, weights, m)


def factor_shapes(
    entries: Entries, n_factors: int, fixed: Mapping[str, np.ndarray] | None
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of U and V, without those that are fixed."""
    return {name: (n, n_factors) for name, n in zip("UV", entries.shape, strict=True) if name not in (fixed or {})}


def turns(penalties: Mapping[str, Penalty], shape: tuple[int, ...], m: int, n_entries: int) -> bool:
    """Whether U of this shape and the m rows of V may be rotated together, and whether that is worth its time."""
    n, d = shape
    only_ridges = all(isinstance(penalties.get(name, L2(0)), L2) for name in ("U", "V"))
    return only_ridges and d > 1 and d * (d + n + m) < _ROTATION_COST * n_entries


def inverse_curvatures(
    layout: Layout,
    penalties: Mapping[str, Penalty],
    n_row: np.ndarray,
    n_column: np.ndarray,
    squares: Mapping[str, np.ndarray],
    dtype: np.dtype,
) -> np.ndarray:
    """Return a rough guess of 1 / (second derivative of J) for each parameter, see `ObservedProblem`.

    Parameters
    ----------
    layout : Layout
        The parameters.
    penalties : mapping from str to Penalty
    n_row, n_column : ndarray
        Entries, or their weight, in each row and each column.
    squares : mapping from str to ndarray of shape (d,)
        For U and V, the mean square of each column of the other one over the entries.
    dtype : dtype
    """
    entries: dict[str, Callable[[], np.ndarray]] = {
        "U": lambda: n_row[:, None] * squares["U"],
        "V": lambda: n_column[:, None] * squares["V"],
        "b": lambda: n_row, "c": lambda: n_column, "own": lambda: n_row[:, None],
        "common": lambda: np.array([n_row.sum()]),
    }  # fmt: skip
    scale = np.empty(layout.size, dtype)
    for name, view in layout.views(scale).items():
        curvature = np.add(entries[name](), getattr(penalties.get(name), "alpha", 0.0), dtype=np.float64)
        np.maximum(curvature, _LEAST_CURVATURE, out=curvature)
        np.divide(1, curvature, out=view, casting="same_kind")
    return scale


def mean_squares(counts: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return the mean square of each column of A over the observed entries, `counts` for each row of A."""
    return np.asarray(observed.weighted_squares(counts.astype(np.float64), A) / max(1, counts.sum()))


def _check_shapes(given: Mapping[str, tuple[int, ...]], n: int, m: int, n_thresholds: int) -> None:
    """Refuse arrays that do not fit the entries: the kernels do not check their indices."""
    missing = [name for name in ("U", "V") if name not in given]
    if missing:
        raise InvalidInputError(
            f"{missing[0]} is neither free nor fixed: name it in shapes or in fixed (d = 0 for biases alone)"
        )
    d = given["U"][-1]
    expected: dict[str, tuple[int, ...]] = {
        "U": (n, d), "V": (m, d), "b": (n,), "c": (m,), "common": (n_thresholds,), "own": (n, n_thresholds),
    }  # fmt: skip
    for name, shape in given.items():
        if tuple(shape) != expected.get(name):
            raise InvalidInputError(
                f"{name} has shape {tuple(shape)}, expected {expected.get(name)} for {n} rows, {m} columns"
            )


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
        penalties = {
            name: _of_shard(penalty, entries, centre) for name, penalty in self.of_rows.items() if penalty is not None
        }
        shapes = {name: start[name].shape for name in self.of_rows}
        return ObservedProblem(entries, self.targets(entries), self.loss, shapes, penalties, shared, self.dtype)

    def evaluate(
        self, k: int, rows: Arrays, slopes: Mapping[str, NDArray[Any]], question: Question, gradient: bool = True
    ) -> Answer:
        """Return losses and penalties of the rows of a shard, and the gradient by shared arrays if that is wanted.

        The one by arrays of rows is added to `slopes`.
        """
        shared = {name: question[name] for name in question["shared"]}
        problem = self.of_shard(k, rows, shared, question.get("centre"))
        out = {name: np.empty_like(shared[name]) for name in self.of_columns} if gradient else {}
        value = problem.losses({**problem._fixed, **rows}, {**slopes, **out} if gradient else {})
        value += sum(p.add_gradient(rows[name], slopes[name]) for name, p in problem.smooth_penalties.items())
        return out | {"value": np.array(value)}


def _of_shard(penalty: Penalty, entries: Entries, centre: NDArray[Any] | None) -> Penalty:
    """Return the penalty that a shard can know: of its own rows, whose mean over all shards is given to it."""
    if isinstance(penalty, RowL2):
        return RowL2(penalty.alpha, np.diff(entries.indptr))
    if isinstance(penalty, CentredL2):
        assert centre is not None
        return AroundL2(penalty.alpha, centre)
    return penalty


class RowsPart(Part):
    """The arrays of the rows of one shard, and what a model keeps of them.

    Parameters
    ----------
    k : int
        Number of the shard.
    arrays : dict from str to ndarray
    """

    def __init__(self, k: int, arrays: dict[str, NDArray[Any]]) -> None:
        self.k, self.arrays = k, arrays
        self.kept: dict[str, NDArray[Any]] = {}

    @property
    def rows(self) -> dict[str, NDArray[Any]]:
        """The arrays as they are now."""
        return self.arrays

    def _arrays(self, question: Question) -> Answer:
        """Return what ``then`` makes of the number of the shard and all its arrays; copies where there is none."""
        arrays = self.rows | self.kept
        if "then" in question:
            return question["then"](self.k, arrays)
        return {name: array.copy() for name, array in arrays.items()}

    def _keep(self, question: Question) -> Answer:
        """Let ``keep`` make what is kept, and an answer, of the number of the shard and all its arrays."""
        self.kept, answer = question["keep"](self.k, self.rows | self.kept)
        return answer


class UserPart(RowsPart):
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
        super().__init__(k, {})
        self.problem = problem
        self.layout = Layout({name: start[name].shape for name in problem.of_rows})
        self.x = self.layout.pack(start, problem.dtype)
        self.g, self.p, self.x_new, self.g_new = (np.zeros_like(self.x) for _ in range(4))
        self.counts = np.diff(problem.shards.shard(k).indptr)
        self.squares = np.zeros(start["U"].shape[1])
        self.pairs = np.zeros((2 * memory, self.layout.size), problem.dtype)

    @property
    def rows(self) -> dict[str, NDArray[Any]]:
        """The arrays at x."""
        return self.layout.views(self.x)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all vectors, and what is kept."""
        found = {name: getattr(self, name) for name in ("x", "g", "p", "x_new", "g_new", "squares", "pairs")}
        return found | {f"kept {name}": array for name, array in self.kept.items()}

    def restore(self, state: Arrays) -> None:
        """Take all that `state` returned."""
        for name, array in state.items():
            if name.startswith("kept "):
                self.kept[name.removeprefix("kept ")] = array
            else:
                getattr(self, name)[...] = array

    def answer(self, question: Question) -> Answer:
        """Do what follows from the last round, then what the question asks."""
        if question.get("accept"):
            self.x, self.x_new, self.g, self.g_new = self.x_new, self.x, self.g_new, self.g
        if "axes" in question:
            rotate(self.rows["U"], question["axes"])
        return super().answer(question)

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
        return self.problem.evaluate(self.k, self.layout.views(x), self.layout.views(gradient), question)

    def _rescale(self, question: Question) -> Answer:
        self.squares[...] = question["squares"]
        scale, U = self._scale(), self.layout.views(self.x)["U"]
        return {
            "products": np.array(vectors.dot(scale * self.g, self.g)),
            "squares": weighted_squares(self.counts.astype(np.float64), U),
            "sums": self._row_sums(self.g, scale),
        }

    def _gram(self, question: Question) -> Answer:
        return {"gram": gram((self.rows["U"],))}

    def _squared_gradient(self, question: Question) -> Answer:
        return {"squared": np.array(vectors.dot(self.g, self.g))}

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


class SharedColumns(PenalizedProblem):
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
        columns = SharedColumns(problem, {name: shared[name].shape for name in problem.of_columns}, self._losses)
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
