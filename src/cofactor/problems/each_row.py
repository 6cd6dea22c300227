"""Rows of a factorization whose columns are fixed: small problems, none of which depends on another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.penalties import L2, AroundL2, Penalty, RowL2
from cofactor.problems.observed import ObservedProblem
from cofactor.solvers.lbfgs import Floats, Indices, lbfgs_each

#: A row is solved when a step promises to lower its objective by less than half this share of what it was at the start.
_TOL = 1e-8

_LEAST_CURVATURE = 0.1  # of parameters that no rating and no penalty depends on


def minimise_rows(
    problem: ObservedProblem, start: Mapping[str, NDArray[Any]], max_iter: int
) -> tuple[dict[str, NDArray[Any]], int]:
    """Minimise J by each row alone, where what belongs to columns is fixed.

    Parameters
    ----------
    problem : ObservedProblem
        Smooth; its free arrays are some of U, b and own, with ridge penalties.
    start : mapping from str to ndarray
        Where the free arrays begin.
    max_iter : int
        Most iterations.

    Returns
    -------
    arrays : dict from str to ndarray
        The free arrays. Those of a row have the same bits whatever the other rows are.
    n_unsolved : int
        Number of rows that were not solved within so many iterations.
    """
    rows = EachRow(problem, start)
    theta, _, solved = lbfgs_each(
        rows, rows.start(), max_iter=max_iter, tol=_TOL, rounding=float(np.finfo(problem.dtype).eps)
    )
    return rows.arrays_at(theta), int(np.count_nonzero(~solved))


class EachRow:
    """The rows of an `ObservedProblem`, as `lbfgs_each` takes them: a vector of parameters for each row.

    Parameters
    ----------
    problem, start
        See `minimise_rows`.
    """

    def __init__(self, problem: ObservedProblem, start: Mapping[str, NDArray[Any]]) -> None:
        if not problem.smooth or not {*problem.layout.shapes} <= {"U", "b", "own"}:
            raise InvalidInputError("rows are problems of their own where U, b and own alone are free, without kinks")
        self.problem = problem
        self._arrays = problem.arrays(problem.pack(start))
        self._slopes = problem.layout.views(np.zeros(problem.size, problem.dtype))
        self._columns: dict[str, slice] = {}
        at = 0
        for name, array in self._slopes.items():
            width = array[:1].size
            self._columns[name], at = slice(at, at + width), at + width
        self._weights = {name: _weights(problem.penalties.get(name), len(a)) for name, a in self._slopes.items()}
        curvatures = problem.curvatures_of_rows()
        each = [curvatures[name].reshape(len(weights), -1) + weights for name, weights in self._weights.items()]
        self._scale = 1 / np.maximum(np.hstack(each).astype(np.float64), _LEAST_CURVATURE)

    def start(self) -> Floats:
        """Return where the rows begin."""
        return self._joined(self._arrays, slice(None))

    def arrays_at(self, theta: Floats) -> dict[str, NDArray[Any]]:
        """Return the free arrays at points, one for each row."""
        self._set(theta, slice(None))
        return {name: np.array(self._arrays[name]) for name in self._columns}

    def evaluate(self, theta: Floats, which: Indices) -> tuple[Floats, Floats]:
        """Return objectives (b,) and gradients (b, p) of some rows."""
        self._set(theta, which)
        values = self.problem.losses_of(which, self._arrays, self._slopes)
        gradients = self._joined(self._slopes, which)
        for name, columns in self._columns.items():
            rest = theta[:, columns]
            penalty = self.problem.penalties.get(name)
            if isinstance(penalty, AroundL2):
                rest = rest - penalty.given[which].reshape(rest.shape)
            pull = self._weights[name][which] * rest
            gradients[:, columns] += pull
            values = values + 0.5 * np.einsum("bp,bp->b", pull, rest)
        return values, gradients

    def scaled(self, gradient: Floats, which: Indices) -> Floats:
        """Return gradients, each number divided by a guess of its curvature."""
        return gradient * self._scale[which]

    def _set(self, theta: Floats, which: Indices | slice) -> None:
        for name, columns in self._columns.items():
            array = self._arrays[name]
            array[which] = theta[:, columns].reshape(-1, *array.shape[1:])

    def _joined(self, arrays: Mapping[str, NDArray[Any]], which: Indices | slice) -> Floats:
        parts = [arrays[name][which] for name in self._columns]
        return np.hstack([part.reshape(len(part), -1) for part in parts], dtype=np.float64)


def _weights(penalty: Penalty | None, n: int) -> Floats:
    """Return the weights (n, 1) of a ridge penalty of rows."""
    if penalty is None:
        return np.zeros((n, 1))
    if isinstance(penalty, RowL2):
        return (penalty.alpha * np.asarray(penalty.shares, dtype=np.float64))[:, None]
    if not isinstance(penalty, L2):
        raise InvalidInputError(f"{type(penalty).__name__} is no ridge penalty of each row")
    return np.full((n, 1), penalty.alpha)
