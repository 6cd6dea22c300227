"""Bayesian personalized ranking: what was taken above what was not."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_number, make_generator
from cofactor.kernels.pairwise import rank_pairs
from cofactor.kernels.random import fold
from cofactor.kernels.threads import parallel_for
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.ranking.base import strengths_of
from cofactor.ratings.ranking.factors import FactorExposure
from cofactor.solvers.result import Callback
from cofactor.typing import RandomState

__all__ = ["BPR"]


class BPR(FactorExposure):
    r"""Factors by which what a user took stands above what they did not.

    .. math::

        J = -\sum_{(u,j) \in \Omega} w_{uj}\, E_k \log \sigma(x_{uj} - x_{uk})
        + \tfrac{\alpha}{2} (\ldots), \qquad x_{uj} = U_u \cdot V_j + c_j

    over random items k that the user did not take; each step of stochastic gradients shrinks the rows it moves by
    :math:`\alpha`. Steps are taken one after the other, so that the result depends on nothing but the seed.

    Parameters
    ----------
    n_factors : int, default=16
        Number d of factors.
    alpha : float, default=0.01
        Weight of the penalty, at least 0.
    learning_rate : float, default=0.05
        Length of the first steps; it falls linearly to a tenth of that.
    max_iter : int, default=80
        Number of passes: as many steps as there are takes.
    {counts}
    {random_state}
        It is the seed of the start and of all steps.
    {callback}
    {verbose}

    Attributes
    ----------
    U_, V_ : ndarray of shape (n_users, d) and (n_items, d), float32
        Factors.
    item_bias_ : ndarray of shape (n_items,), float32
        c.
    n_iter_ : int
        Number of passes.
    users_, items_, ratings_, popularity_, updates_
        See `ExposureModel`.

    References
    ----------
    S. Rendle, C. Freudenthaler, Z. Gantner and L. Schmidt-Thieme, "BPR: Bayesian personalized ranking from implicit
    feedback", UAI 2009.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if u % 2 == i % 2 and (u, i) != (0, 4)]
    >>> model = BPR(n_factors=2, max_iter=300, random_state=0).fit(X)
    >>> model.recommend([0], n=1)[0].tolist()
    [[4]]
    """

    _learned: ClassVar[tuple[str, ...]] = (*FactorExposure._learned, "n_iter_", "seed_")

    n_iter_: int
    seed_: int

    def __init__(
        self,
        n_factors: int = 16,
        alpha: float = 0.01,
        *,
        learning_rate: float = 0.05,
        max_iter: int = 80,
        counts: str = "log",
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_factors = n_factors
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.counts = counts
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _check_params(self) -> None:
        super()._check_params()
        check_number("alpha", self.alpha, low=0, high=1)
        check_number("learning_rate", self.learning_rate, low=0, inclusive=False, high=1)

    def _fit(self, given: FitInput) -> None:
        generator = make_generator(self.random_state)
        self.seed_ = int(generator.integers(2**31))
        self._solve(given, *self._start(given.ratings, self._rank(given.ratings), generator), self.max_iter)

    def _solve(self, given: FitInput, U: NDArray[Any], V: NDArray[Any], c: NDArray[Any], max_iter: int) -> None:
        takes = given.ratings
        pattern = takes.row_of_entry, takes.indptr, takes.indices, strengths_of(self, takes)
        for k in range(max_iter):
            loss = self._pass(pattern, k, max_iter, (U, V, c), True)
            given.monitor.note("", k + 1, max_iter, loss)
            if given.monitor.stopped:
                break
        self.U_, self.V_, self.item_bias_, self.n_iter_ = U, V, c, k + 1

    def _pass(
        self,
        pattern: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]],
        k: int,
        n: int,
        arrays: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
        moves_items: bool,
    ) -> float:
        rate, key = self.learning_rate * (1 - 0.9 * k / n), fold(self.seed_, k)
        n_steps = len(pattern[0])
        return float(rank_pairs(key, n_steps, np.float32(rate), np.float32(self.alpha), *pattern, *arrays, moves_items))

    def _fold_in(self, given: FitInput) -> None:
        """Take steps for each user alone, with the same random numbers: no row depends on who else is new."""
        takes = given.ratings
        U = np.zeros((len(takes.users), self.V_.shape[1]), dtype=np.float32)
        weights, first = strengths_of(self, takes), np.zeros_like(takes.row_of_entry)

        def user(i: int) -> None:
            own = slice(takes.indptr[i], takes.indptr[i + 1])
            n = own.stop - own.start
            pattern = first[:n], np.array([0, n]), takes.indices[own], weights[own]
            for k in range(self.max_iter):
                self._pass(pattern, k, self.max_iter, (U[i : i + 1], self.V_, self.item_bias_), False)

        parallel_for(user, len(U))
        self.U_ = U

    def _log_takes(self, scores: NDArray[Any]) -> NDArray[np.float32]:
        """Return the scores: differences of them are logarithmic odds already."""
        return np.asarray(scores, dtype=np.float32)
