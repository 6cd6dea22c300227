"""Bayesian personalized ranking: items that a user interacted with above all others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import make_generator, number
from cofactor.kernels.random import fold
from cofactor.kernels.sgd import rank_pairs
from cofactor.kernels.threads import parallel_for
from cofactor.model.estimator import learned, param
from cofactor.model.progress import Monitor
from cofactor.ratings.interaction_model import FitInput
from cofactor.ratings.ranking.base import ImplicitFactorModel
from cofactor.ratings.ranking.held_out import HeldOut, Trials, Tuned, climb

#: Where "auto" begins, and by what it goes on.
_FIRST, _STEP = 0.03, 2.0


class BPR(ImplicitFactorModel):
    r"""Factors by which the items that a user interacted with stand above all others.

    .. math::

        J = -\sum_{(u,j) \in \Omega} w_{uj}\, E_k \log \sigma(y_{uj} - y_{uk})
        + \tfrac{\alpha}{2} (\ldots), \qquad y_{uj} = U_u \cdot V_j + b_j, \qquad x_{uj} = y_{uj} + \log m_j

    over items k without an interaction of the user, drawn at random in proportion to :math:`m_k`, the number of users
    who interacted with them; each step of stochastic gradients shrinks the rows it moves by :math:`\alpha`. Where J is
    least without the penalty, a user interacts with j rather than k with the odds :math:`e^{x_{uj} - x_{uk}}`, for
    :math:`e^{y_{uj}}` is how much more often the user interacts with j than j is drawn. So the penalty draws scores x
    to popularity, and items are told from those that are hard to tell them from. Steps are taken one after the other,
    so that the result depends on nothing but the seed.

    Parameters
    ----------
    n_factors : int, default=64
        Number d of factors.
    alpha : float or "auto", default="auto"
        Weight of the penalty, at least 0 and at most 1. "auto" holds out a tenth of the interactions of each user, and
        halves or doubles alpha from .03 on while these come to stand higher in lists, by the mean of
        1 / log2(1 + rank), after half as many steps of twice the length.
    learning_rate : float, default=0.1
        Length of the first steps; it falls linearly to a tenth of that.
    max_iter : int, default=80
        Number of passes: as many steps as there are interactions.
    {counts}
    {random_state}
        It is the seed of the start, of all steps, and of what is held out.
    {callback}
    {verbose}

    Attributes
    ----------
    U_, V_ : ndarray of shape (n_users, d) and (n_items, d), float32
        Factors.
    item_bias_ : ndarray of shape (n_items,), float32
        :math:`b_j + \log m_j`, of :math:`m_j = .5` where nobody interacted with an item.
    alpha_ : float
        That of the fit.
    n_iter_ : int
        Number of passes.
    users_, items_, ratings_, popularity_, updates_
        See `ImplicitModel`.

    Notes
    -----
    nDCG@10 of held-out interactions (80/20 of each user, all unseen items ranked, one split; the last four chose
    nothing), with the same number of items drawn evenly, biases that are penalized, and alpha = .01, and as it is but
    for 16 factors and steps of .05 at first. The defaults, 64 and .1, were chosen on a validation part of four of
    these; on the split of `benchmarks/shops.py` nDCG@10 is .439 for .438 on ML-100K, .340 for .323 on latest-small,
    .385 for .341 on Steam, .081 for .056 on Flixster, and .099 for .078 on Douban.

    ============  ==========  ======  ======  =====
    set           Popularity  evenly  "auto"  alpha
    ============  ==========  ======  ======  =====
    ML-100K       .223        .399    .434    .03
    latest-small  .190        .249    .319    .03
    Steam         .170        .212    .328    .015
    made-up shop  .151        .144    .167    .06
    BookCrossing  .040        .034    .060    .03
    Epinions      .042        .097    .104    .03
    Flixster      .013        .042    .052    .03
    Douban        .009        .071    .082    .03
    ============  ==========  ======  ======  =====

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

    alpha: float | str = param(number(low=0, high=1, also=["auto"]), default="auto", kw_only=False)
    n_factors: int = param(default=64)
    learning_rate: float = param(number(low=0, inclusive=False, high=1), default=0.1)
    max_iter: int = param(default=80)

    alpha_: float = learned()
    n_iter_: int = learned()
    seed_: int = learned()

    def _fit(self, given: FitInput) -> None:
        interactions, generator, alpha = given.ratings, make_generator(self.random_state), self.alpha
        self.seed_ = int(generator.integers(2**31))
        if isinstance(alpha, str):
            alpha = self.tune(HeldOut.of(interactions, self.seed_), given.monitor)[0]["alpha"]
        self.alpha_ = float(alpha)
        U, V, _ = self._start(interactions, self._rank(interactions), generator)
        self._solve(given, U, V, self._log_counts, self.max_iter)

    def tune(self, held_out: HeldOut, monitor: Monitor) -> Tuned:
        """See `ImplicitModel`."""
        passes: dict[str, Any] = {}
        if isinstance(self.alpha, str):  # half as many steps of twice the length tell
            passes = {"max_iter": -(-self.max_iter // 2), "learning_rate": min(2 * self.learning_rate, 1.0)}

        def learn(alpha: float) -> NDArray[np.float32]:
            settings = {"alpha": alpha, "callback": None, "verbose": 0, **passes}
            return self._log_interactions_without(held_out, **settings)

        trials = Trials(held_out, learn, monitor)
        if isinstance(self.alpha, str) and len(held_out.users):
            climb(lambda alpha: trials.gain(alpha=alpha) if alpha <= 1 else -np.inf, _FIRST, 1 / _STEP)
        else:
            trials.gain(alpha=_FIRST if isinstance(self.alpha, str) else float(self.alpha))
        return Tuned(trials.best, trials.table)

    @property
    def _log_counts(self) -> NDArray[np.float32]:
        """The logarithm of how many users interacted with each item in training, of .5 where nobody did."""
        return np.asarray(np.log(np.maximum(self._support()[0], 0.5)), dtype=np.float32)

    def _solve(self, given: FitInput, U: NDArray[Any], V: NDArray[Any], c: NDArray[Any], max_iter: int) -> None:
        interactions, own = given.ratings, c - self._log_counts
        pattern = (
            interactions.row_of_entry,
            interactions.indptr,
            interactions.indices,
            self._strengths(interactions),
            interactions.indices,
        )
        for k in range(max_iter):
            loss = self._pass(pattern, k, max_iter, (U, V, own), True)
            given.monitor.note("", k + 1, max_iter, loss)
            if given.monitor.stopped:
                break
        self._set_factors(U, V, own + self._log_counts)
        self.n_iter_ = k + 1

    def _pass(
        self,
        pattern: tuple[NDArray[Any], ...],
        k: int,
        n: int,
        arrays: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
        moves_items: bool,
    ) -> float:
        rate, key = self.learning_rate * (1 - 0.9 * k / n), fold(self.seed_, k)
        n_steps = len(pattern[0])
        return float(
            rank_pairs(key, n_steps, np.float32(rate), np.float32(self.alpha_), *pattern, *arrays, moves_items)
        )

    def _fold_in(self, given: FitInput) -> None:
        """Take steps for each user alone, with the same random numbers: no row depends on who else is new."""
        interactions = given.ratings
        U = np.zeros((len(interactions.users), self.V_.shape[1]), dtype=np.float32)
        weights, first = self._strengths(interactions), np.zeros_like(interactions.row_of_entry)
        others = np.repeat(np.arange(len(self.V_), dtype=np.int32), self._support()[0].astype(np.int64))
        c = self.item_bias_ - self._log_counts

        def user(i: int) -> None:
            own = slice(interactions.indptr[i], interactions.indptr[i + 1])
            n = own.stop - own.start
            pattern = first[:n], np.array([0, n]), interactions.indices[own], weights[own], others
            for k in range(self.max_iter):
                self._pass(pattern, k, self.max_iter, (U[i : i + 1], self.V_, c), False)

        parallel_for(user, len(U))
        self.U_ = U

    def log_interactions(self, scores: NDArray[Any]) -> NDArray[np.float32]:
        """Return the scores: differences of them are logarithmic odds already."""
        return np.asarray(scores, dtype=np.float32)
