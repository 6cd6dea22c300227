"""Least squares on observed entries through an optional logistic map, with steps for single entries."""

from collections.abc import Mapping

import numpy as np

from cofactor.kernels.entrywise import entry_steps
from cofactor.losses import LogisticSquared, Squared
from cofactor.penalties import RowL2
from cofactor.problems.observed import Entries, ObservedProblem, factor_shapes, masses

_GROWTH = 1.05  # of step lengths from pass to pass


class LinkedProblem(ObservedProblem):
    r"""Squared loss of scores, or of mapped scores, with ridge penalties.

    .. math:: J = \sum_{(i,j) \in \Omega} (y_{ij} - g(U_i \cdot V_j))^2
        + \alpha \Big(\sum_i n_i \|U_i\|^2 + \sum_j m_j \|V_j\|^2\Big)

    with g the identity or the map of `LogisticSquared`, and n_i, m_j the numbers of entries of row i and column j, or
    sums of their weights; 1 without `by_count`.

    Parameters
    ----------
    entries : Entries
        Where the observed entries are.
    targets : ndarray of shape (n_entries,)
        y in row order.
    n_factors : int
        d.
    alpha : float
        Weight of the penalty.
    loss : Squared or LogisticSquared
        The loss, which holds g.
    by_count : bool
        Whether penalties of rows and columns are multiplied by their numbers of entries.
    fixed : mapping from str to ndarray, optional
        V, for fold-in.
    dtype : dtype, default=float32
        Of the vector of parameters.
    weights : ndarray of shape (n_entries,), above 0, or None
        What the loss of each entry is multiplied by, in row order; steps for single entries take none.

    Attributes
    ----------
    n_rows : int
        Number of entries: terms of the sum for `stochastic_gradient`.
    """

    def __init__(
        self,
        entries: Entries,
        targets: np.ndarray,
        n_factors: int,
        alpha: float,
        loss: Squared | LogisticSquared,
        by_count: bool,
        fixed: Mapping[str, np.ndarray] | None = None,
        dtype: np.typing.DTypeLike = np.float32,
        weights: np.ndarray | None = None,
    ) -> None:
        shapes = factor_shapes(entries, n_factors, fixed)
        self._counts = dict(zip("UV", masses(entries, weights), strict=True))
        shares = {name: counts if by_count else np.ones(len(counts)) for name, counts in self._counts.items()}
        penalties = {name: RowL2(2 * alpha, shares[name]) for name in shapes}
        super().__init__(entries, targets, loss, shapes, penalties, fixed, dtype, weights)
        self.n_rows = len(entries.indices)
        self._link = (loss.low, loss.high - loss.low, loss.offset) if isinstance(loss, LogisticSquared) else (0.0,) * 3
        # The penalty of a row is divided among its entries.
        self._ridges = [alpha * shares[name] / np.maximum(self._counts[name], 1) for name in "UV"]

    def stochastic_pass(self, x: np.ndarray, order: np.ndarray, inverse_step: float) -> float:
        """Take a step for each entry of `order`, in place; return 1 / step length of the next pass.

        Steps grow a little from pass to pass, and the solver halves them when a pass raises J. On MovieLens 100K,
        schedules whose steps only become shorter ended farther from the optimum.
        """
        arrays, e = self.layout.views(x), self.entries
        rows = np.repeat(np.arange(e.shape[0], dtype=np.int32), self._counts["U"])
        factors = (arrays["U"], arrays["V"])
        entry_steps(order, rows, e.indices, self.targets, self._link, *factors, *self._ridges, 1 / inverse_step)
        return inverse_step / _GROWTH
