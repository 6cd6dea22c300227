"""Implicit ALS: least squares over all cells, with an interaction or without."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cofactor.checks import make_generator, number, one_of, positive_weight, whole
from cofactor.errors import Argument, InputWarning
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import learned, param
from cofactor.model.progress import Monitor
from cofactor.problems.implicit import ImplicitProblem
from cofactor.ratings.data import Ratings
from cofactor.ratings.interaction_model import FitInput, Tags
from cofactor.ratings.ranking.base import POPULARITY_WEIGHT, ImplicitFactorModel
from cofactor.ratings.ranking.held_out import HeldOut, Trials, Tuned, climb
from cofactor.ratings.reasons import products
from cofactor.solvers import alternating_least_squares

#: What "auto" begins with, and the steps of its search.
_FEW, _FIRST, _STEP, _LEAST, _DOUBLINGS = 16, 0.1, 10**0.5, 1e-6, 2

_MASS = 8.0  # of all cells, in "auto", as a multiple of that of interactions: the best of 2 to 32, by little

_NOTHING = 1e-3  #: scores below it are no answer, where 1 is wanted of an interaction


class ImplicitALS(ImplicitFactorModel):
    r"""Factors of users and items by least squares over all cells: interactions draw to 1, all else a little to 0.

    .. math::

        J(U, V) = \sum_{(u,j) \in \Omega} w_{uj} (1 - U_u \cdot V_j)^2 + \alpha_0 \sum_{u,j} (U_u \cdot V_j)^2
        + \alpha \Big(\sum_u (n_u + \alpha_0 m) \|U_u\|^2 + \sum_j (m_j + \alpha_0 n) \|V_j\|^2\Big)

    with Ω the interactions, w = 1, or more for large `counts`, and :math:`n_u, m_j` their sums for a user and an item.
    It is the model of Hu, Koren & Volinsky with the penalty that Rendle et al. found to matter: in proportion to how
    much each row is told. It is minimised over users and over items in turn; J never rises.

    Parameters
    ----------
    n_factors : int or "auto", default="auto"
        Number d of factors, never more than there are users or items: further ones add nothing to the products. "auto"
        doubles or halves it from 16 on, to 64 at most, while held-out interactions come to stand higher in lists.
    alpha : float or "auto", default="auto"
        Weight of the penalty, above 0. "auto" holds out a tenth of the interactions of each user, and goes from .1 down
        or up by factors of √10 while these come to stand higher in lists of 16 factors, by the mean of
        1 / log2(1 + rank). It is not the α of Hu et al. by which an interaction outweighs the rest, 1 to 40 there: that
        is 1 / `unobserved`. Where it leaves nothing of the factors, the fit warns.
    unobserved : float or "auto", default="auto"
        Weight :math:`\alpha_0` of all cells: the smaller, the less it says that there was no interaction. "auto" gives
        all cells together 8 times the weight of the interactions, at most 1 each.
    solver : {"exact", "cg"}, default="exact"
        Normal equations for each user and item, or three conjugate gradient steps from the last solution. With 64
        factors on 5 million interactions a round of these took a fifth of the time, and after three rounds J was .1 %
        higher.
    max_iter : int, default=15
        Largest number of rounds.
    tol : float, default=1e-4
        The fit ends when J fell by less than this share of itself per round.
    {popularity_weight}
    {counts}
    {random_state}
        It is the seed of what is held out, and of the start.
    {callback}
    {verbose}

    Attributes
    ----------
    U_, V_ : ndarray of shape (n_users, d) and (n_items, d), float32
        Factors.
    item_bias_ : ndarray of shape (n_items,)
        Zeros.
    alpha_, unobserved_, popularity_weight_ : float
        Those of the fit; the number of factors is that of the columns of U.
    objective_ : float
        J at the end.
    n_iter_ : int
        Number of rounds.
    users_, items_, ratings_, popularity_, updates_
        See `ImplicitModel`.

    Notes
    -----
    nDCG@10 of held-out interactions (80/20 of each user, all unseen items ranked, one split; the last four chose
    nothing). The second model has the settings that are best on MovieLens 100K:

    ============  ==========  ================  ======  ===========
    set           Popularity  d = 16, .01, .4   "auto"  d and alpha
    ============  ==========  ================  ======  ===========
    ML-100K       .223        .434              .435    16, .01
    latest-small  .190        .312              .334    64, .01
    Steam         .172        .246              .367    64, .032
    BookCrossing  .040        .048              .071    64, .032
    Epinions      .045        .078              .124    64, .032
    Flixster      .013        .009              .121    64, .032
    Douban        .009        .080              .124    64, .01
    made-up shop  .149        .149              .152    32, .032
    ============  ==========  ================  ======  ===========

    References
    ----------
    Y. Hu, Y. Koren and C. Volinsky, "Collaborative filtering for implicit feedback datasets", ICDM 2008,
    doi:10.1109/ICDM.2008.22.
    S. Rendle, W. Krichene, L. Zhang and Y. Koren, "Revisiting the performance of iALS on item recommendation
    benchmarks", RecSys 2022, doi:10.1145/3523227.3548486.
    G. Takács, I. Pilászy and D. Tikk, "Applications of the conjugate gradient method for implicit feedback
    collaborative filtering", RecSys 2011, doi:10.1145/2043932.2043987.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if u % 2 == i % 2 and (u, i) != (0, 4)]
    >>> model = ImplicitALS(2, alpha=0.01, random_state=0).fit(X)
    >>> model.recommend([0], n=1)[0].tolist()
    [[4]]
    >>> model.fold_in([("new", 1), ("new", 3)]).recommend(["new"], n=1)[0].tolist()
    [[5]]
    """

    tags = Tags(similar=True, vectors=True, explain=True)

    n_factors: int | str = param(whole(also=["auto"]), default="auto")
    alpha: float | str = param(positive_weight("auto"), default="auto", kw_only=False)
    unobserved: float | str = param(positive_weight("auto"), default="auto")
    solver: str = param(one_of(["exact", "cg"]), default="exact")
    tol: float = param(number(low=0), default=1e-4)
    popularity_weight: float | str = param(POPULARITY_WEIGHT, default="auto")

    popularity_weight_: float = learned(check=number(low=0))
    alpha_: float = learned()
    unobserved_: float = learned()
    objective_: float = learned()
    n_iter_: int = learned()

    def _rank(self, interactions: Ratings) -> int:
        return _FEW if isinstance(self.n_factors, str) else super()._rank(interactions)

    def _fit(self, given: FitInput) -> None:
        interactions, generator = given.ratings, make_generator(self.random_state)
        chosen, _ = self._chosen(given, int(generator.integers(2**31)), "n_factors", "alpha")
        self.alpha_, self.unobserved_ = float(chosen["alpha"]), self._unobserved(interactions)
        n_factors = min(int(chosen["n_factors"]), *interactions.shape)
        self._solve(given, *self._start(interactions, n_factors, generator), self.max_iter)
        while self._says_nothing and isinstance(self.alpha, str) and self.alpha_ > _LEAST:  # though nine tenths bore it
            self.alpha_ /= _STEP
            self._solve(given, *self._start(interactions, n_factors, generator), self.max_iter)

    def tune(self, held_out: HeldOut, monitor: Monitor) -> Tuned:
        """Choose alpha with few factors, then how many."""
        given = FitInput(held_out.train)
        once: dict[str, Any] = {"popularity_weight": 0.0, "callback": None, "verbose": 0}

        def learn(n_factors: int, alpha: float) -> NDArray[np.float32] | None:
            inner = clone(self).set_params(n_factors=n_factors, alpha=alpha, **once)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InputWarning)  # of a penalty that is too large
                inner.learn(given)
            return None if inner._says_nothing else inner.scores_in_levels(held_out.users)

        trials, most = Trials(held_out, learn, monitor), min(given.ratings.shape)
        few, alpha = min(_FEW, most), _FIRST if isinstance(self.alpha, str) else float(self.alpha)
        if isinstance(self.alpha, str) and len(held_out.users):
            while trials.gain(n_factors=few, alpha=alpha) == -np.inf and alpha > _LEAST:
                alpha /= _STEP  # where all cells weigh much, little is too large
            alpha = climb(lambda alpha: trials.gain(n_factors=few, alpha=alpha), alpha, 1 / _STEP)

        def gain(n_factors: float) -> float:
            return trials.gain(n_factors=round(n_factors), alpha=alpha) if 1 <= n_factors <= most else -np.inf

        if not isinstance(self.n_factors, str):
            trials = Trials(held_out, learn, monitor)  # of these alone
            gain(min(self.n_factors, most))
        elif len(held_out.users):
            climb(gain, few, 2, _DOUBLINGS)
        else:
            gain(few)
        return self._with_popularity(held_out, trials)

    def _unobserved(self, interactions: Ratings) -> float:
        """Return the weight of all cells."""
        if not isinstance(self.unobserved, str):
            return float(self.unobserved)
        n, m = interactions.shape
        return min(_MASS * float(self._strengths(interactions).sum(dtype=np.float64)) / max(n * m, 1), 1.0)

    def _solve(self, given: FitInput, U: NDArray[Any], V: NDArray[Any], c: NDArray[Any], max_iter: int) -> None:
        problem = self._problem(given.ratings, V.shape[1], self.solver)
        result = alternating_least_squares(
            problem,
            problem.pack({"U": U, "V": V}),
            max_iter=max_iter,
            tol=self.tol,
            callback=given.monitor.stage(""),
        )
        arrays = {name: np.array(array) for name, array in problem.layout.views(result.x).items()}
        self._set_factors(arrays["U"], arrays["V"], c)
        self.objective_, self.n_iter_ = result.objective, result.n_iter
        if self._says_nothing and (self.alpha_ <= _LEAST or not isinstance(self.alpha, str)):
            found = " is too large a penalty: all factors are nearly 0, and lists mean nothing; "
            advice = "how much an interaction outweighs unobserved cells is said by unobserved, or by counts"
            warnings.warn(InputWarning((Argument("alpha", self.alpha_), found + advice)), stacklevel=callers_level())

    @property
    def _says_nothing(self) -> bool:
        """Whether all scores are nearly 0."""
        highest = np.abs(self.U_).max(initial=0.0) * np.abs(self.V_).max(initial=0.0)
        return bool(highest * self.V_.shape[1] < _NOTHING)

    def _problem(self, interactions: Ratings, d: int, solver: Any) -> ImplicitProblem:
        weights = None if interactions.weights is None else self._strengths(interactions)
        return ImplicitProblem(interactions, weights, d, self.alpha_, self.unobserved_, solver)

    def contributions(self, user: int, items: NDArray[Any]) -> NDArray[Any]:
        """See `InteractionModel`."""
        own, weights = self._own_strengths(user)
        V = self.V_.astype(np.float64)
        ridge = self.alpha_ * (weights.sum() + self.unobserved_ * len(V))
        base = self.unobserved_ * V.T @ V + ridge * np.eye(V.shape[1])
        return products(base, V[own], weights, V[items])[0] * weights

    def _fold_in(self, given: FitInput) -> None:
        interactions = given.ratings
        problem = self._problem(interactions, self.V_.shape[1], "normal")
        x = problem.pack({"U": np.zeros((len(interactions.users), self.V_.shape[1])), "V": self.V_})
        problem.update_rows(x)
        self.U_ = np.array(problem.layout.views(x)["U"])
