"""Non-negative factorization of the observed entries of a sparse matrix."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from cofactor.kernels.nonnegative import coordinate_rows, multiplicative_rows
from cofactor.kernels.threads import parallel_for
from cofactor.losses import BetaDivergence, Squared
from cofactor.penalties import L2
from cofactor.problems.observed import Entries, ObservedProblem, factor_shapes

#: Least value of a factor where the loss is a divergence: a score of 0 has an infinite loss, and multiplication could
#: never leave 0.
LEAST_FACTOR = 1e-6

#: Sweeps over the coordinates of a row in one update, by `multiplicative`. Multiplication reads the entries in each
#: sweep, coordinate descent only before the first. On MovieLens 100K these numbers take the least time.
_SWEEPS = {True: 2, False: 8}


class NonnegativeProblem(ObservedProblem):
    r"""A loss of non-negative products, with ridge penalties.

    .. math:: J = \sum_{(i,j) \in \Omega} \ell(y_{ij}, U_i \cdot V_j) + \alpha (\|U\|_F^2 + \|V\|_F^2),
        \qquad U, V \ge 0

    Entries that are not observed have no term. `update` renews U, then V, each row on its own; neither raises J.

    Parameters
    ----------
    entries : Entries
        Where the observed entries are.
    targets : ndarray of shape (n_entries,)
        y in row order, not negative.
    n_factors : int
        d.
    alpha : float
        Weight of the penalty, at least 0.
    loss : Squared or BetaDivergence
        ℓ.
    multiplicative : bool
        Whether rows are updated by multiplication; if not, by coordinate descent ("HALS", for the squared loss only).
    fixed : mapping from str to ndarray, optional
        V, or U, for fold-in.
    dtype : dtype, default=float32
        Of the vector of parameters.
    """

    def __init__(
        self,
        entries: Entries,
        targets: np.ndarray,
        n_factors: int,
        alpha: float,
        loss: Squared | BetaDivergence,
        multiplicative: bool,
        fixed: Mapping[str, np.ndarray] | None = None,
        dtype: np.typing.DTypeLike = np.float32,
    ) -> None:
        shapes = factor_shapes(entries, n_factors, fixed)
        # The penalty carries a factor ½ of its own.
        super().__init__(entries, targets, loss, shapes, {name: L2(2 * alpha) for name in shapes}, fixed, dtype)
        self.multiplicative = multiplicative
        # The β-divergence at 2 is half the squared loss.
        self._beta, self._ridge = (loss.beta, 2 * alpha) if isinstance(loss, BetaDivergence) else (2.0, alpha)
        self.least = LEAST_FACTOR if isinstance(loss, BetaDivergence) else 0.0

    @cached_property
    def _targets_by_column(self) -> np.ndarray:
        return self.targets[self.entries.to_csr]

    def update(self, x: np.ndarray) -> None:
        """Renew U, then V, in place."""
        self.update_rows(x)
        self.update_columns(x)

    def update_rows(self, x: np.ndarray, tol: float = 0.0, max_sweeps: int | None = None) -> int:
        """Renew U in place until a sweep moves no row by more than `tol`; return how many rows still moved."""
        arrays, e = self.arrays(x), self.entries
        pattern = (e.indptr, e.indices, self.targets)
        return self._renew(
            self._row_cuts, pattern, arrays["V"], arrays["U"], tol, max_sweeps or _SWEEPS[self.multiplicative]
        )

    def update_columns(self, x: np.ndarray, tol: float = 0.0, max_sweeps: int | None = None) -> int:
        """Renew V likewise."""
        arrays, e = self.arrays(x), self.entries
        pattern = (e.col_indptr, e.col_indices, self._targets_by_column)
        return self._renew(
            self._col_cuts, pattern, arrays["U"], arrays["V"], tol, max_sweeps or _SWEEPS[self.multiplicative]
        )

    def certificate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the distance from stationarity under U, V >= 0."""
        return float(np.linalg.norm(np.where(x > self.least, gradient, np.minimum(gradient, 0))))

    def _renew(
        self,
        cuts: np.ndarray,
        pattern: tuple[np.ndarray, np.ndarray, np.ndarray],
        features: np.ndarray,
        out: np.ndarray,
        tol: float,
        max_sweeps: int,
    ) -> int:
        unfinished = np.zeros(len(cuts) - 1, dtype=np.int64)

        def block(k: int) -> None:
            here, stop = (cuts[k], cuts[k + 1], *pattern, features), (tol, max_sweeps, out)
            if self.multiplicative:
                unfinished[k] = multiplicative_rows(*here, self._ridge, self._beta, self.least, *stop)
            else:
                unfinished[k] = coordinate_rows(*here, self._ridge, *stop)

        parallel_for(block, len(unfinished))
        return int(unfinished.sum())
