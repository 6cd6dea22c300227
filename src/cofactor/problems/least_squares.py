"""Regularized least squares on observed entries, solvable exactly in rows or in columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from cofactor.kernels import normal_equations, observed, rows
from cofactor.kernels.lanes import pad_to_lanes
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.losses import Squared
from cofactor.penalties import L2, RowL2
from cofactor.problems.observed import Entries, ObservedProblem, masses

#: Where rows begin, the columns of their entries, targets, and roots of weights.
Given = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

#: For arrays with another penalty, what makes it of its weight.
Drawn = Mapping[str, Callable[[float], L2]]

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
        self, names: tuple[str, str], counts: np.ndarray, drawn: Drawn | None = None
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
        drawn: Drawn | None = None,
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

    def _update(self, x: np.ndarray, own: tuple[str, str], other: tuple[str, str], given: Given) -> None:
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
            table = normal_equations.lined_up(features, len(self._ridge), offsets, out.dtype)
            solve_rows(given, cuts, table, self._ridge, shares, out)
        else:
            features = with_constant(features, out.shape[1])
            start = (*given, offsets, features, self._ridge, shares, CG_STEPS, out)
            parallel_for(lambda k: rows.ridge_cg(cuts[k], cuts[k + 1], *start), len(cuts) - 1)
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

    def _scores_of(self, centres: np.ndarray, features: np.ndarray, given: Given, cuts: np.ndarray) -> np.ndarray:
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
    given: Given, cuts: np.ndarray, table: np.ndarray, ridge: np.ndarray, shares: np.ndarray, out: np.ndarray
) -> None:
    """Write the minimisers of ridge regressions, one for each row of a sparse matrix.

    Parameters
    ----------
    given : tuple
        Where rows begin, columns, targets, and roots of weights (one for all if there is only one).
    cuts : ndarray
        Blocks of rows: see `cut_rows`.
    table : ndarray
        Rows V_j, and what is taken off the targets: see `lined_up`.
    ridge : ndarray of shape (p,)
        Weights of squares: p = d, or d + 1 for a constant feature beside them.
    shares : ndarray of shape (n_rows,)
        What `ridge` is multiplied by in each row.
    out : ndarray of shape (n_rows, p)
    """
    start = (*given, table, ridge, shares, out)
    parallel_for(lambda k: normal_equations.ridge_exact(cuts[k], cuts[k + 1], *start), len(cuts) - 1)
