"""Items that the same users interacted with: nearest neighbours, and walks from user to item."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import check_callback, number, whole
from cofactor.errors import InvalidInputError
from cofactor.kernels.cooccurrences import co_occurrences
from cofactor.kernels.ranking import keep_best
from cofactor.model.estimator import learned, param
from cofactor.model.progress import Monitor
from cofactor.ratings.blocks import each_block
from cofactor.ratings.data import Ratings
from cofactor.ratings.interaction_model import FitInput, Tags
from cofactor.ratings.ranking.base import POPULARITY_WEIGHT, ImplicitModel, Rows, single_contributions
from cofactor.ratings.ranking.held_out import HeldOut, Trials, Tuned
from cofactor.solvers.result import Callback

#: Of "auto": what it begins with, and to which sides it goes on.
_BETA, _BETAS = 0.4, ((0.6, 0.8), (0.2, 0.0))

_ROWS = 128  # items whose co-occurrences with all others stand in memory at a time, for each thread


class _Neighbours(ImplicitModel):
    """An implicit-feedback model with a few weights for each item, whose scores are sums over a user's items."""

    tags = Tags(similar=True, explain=True)

    n_neighbors: int = param(whole(), default=200, kw_only=False)
    popularity_weight: float | str = param(POPULARITY_WEIGHT, default="auto")

    popularity_weight_: float = learned(check=number(low=0))
    weights_: sparse.csr_array = learned("items items", dtype=np.float32)
    level_: float = learned(check=number(low=0, inclusive=False))

    _floor: ClassVar[float] = 0.1

    @abstractmethod
    def _item_scales(self, interactions: Ratings) -> NDArray[np.float32]:
        """Return a number for each item, by which similarities are scaled."""

    @abstractmethod
    def _similarities(self, together: NDArray[np.float32], own: NDArray[Any], scales: NDArray[Any]) -> NDArray[Any]:
        """Return similarities of items with all others, given their co-occurrences, and the scales of both."""

    @abstractmethod
    def _sides(self, interactions: Ratings) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the values of which co-occurrences are sums of products."""

    def _fit_bytes(self, interactions: Ratings) -> int:
        m = len(interactions.items)
        return 8 * m * min(self.n_neighbors, m)

    def _fit(self, given: FitInput) -> None:
        self._chosen(given, 0)
        self._weigh(given.ratings)

    def refit(self, given: FitInput, before: Self) -> None:
        """See `ImplicitModel`."""
        self._weigh(given.ratings)

    def _weigh(self, interactions: Ratings) -> None:
        """Learn weights."""
        m = len(interactions.items)
        k = min(self.n_neighbors, m)
        nearest, weights = np.zeros((m, k), dtype=np.int32), np.zeros((m, k), dtype=np.float32)
        sides, scales = self._sides(interactions), self._item_scales(interactions)
        pattern = (
            interactions.col_indptr,
            interactions.col_indices,
            interactions.to_csr,
            interactions.indptr,
            interactions.indices,
        )

        def block(lo: int, hi: int) -> None:
            table = np.empty((hi - lo, m), dtype=np.float32)
            co_occurrences(lo, hi, *pattern, *sides, table)
            table = self._similarities(table, scales[lo:hi], scales)
            table[np.arange(hi - lo), np.arange(lo, hi)] = 0
            best, where = np.zeros((hi - lo, k)), np.zeros((hi - lo, k), dtype=np.int64)
            keep_best(table, 0, best, where)  # what is not above zero is no neighbour
            nearest[lo:hi], weights[lo:hi] = where, best

        each_block(block, m, _ROWS)
        kept = sparse.csr_array((weights.ravel(), nearest.ravel(), np.arange(m + 1) * k), shape=(m, m))
        kept.eliminate_zeros()
        self.weights_ = sparse.csr_array(self._oriented(kept))
        self.weights_.sort_indices()
        self.level_ = self._level(interactions)

    def _oriented(self, kept: sparse.csr_array) -> Any:
        """Return weights from a user's items (rows) to the others, given the nearest of each item."""
        return kept

    def _level(self, interactions: Ratings) -> float:
        """Return the mean positive score of users' own items, from their others: what scores are measured by."""
        users = np.flatnonzero(interactions.user_counts)[:1000]
        scores = self._score_range(users.astype(np.int32), 0, len(interactions.items))
        indptr, items, _ = interactions.rows(users)
        found = scores[np.repeat(np.arange(len(users)), np.diff(indptr)), items]
        return float(found[found > 0].mean()) if (found > 0).any() else 1.0

    def _score_range(self, users: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        return self._weighted_sums(self._interaction_rows(users), first, last)

    def contributions(self, user: int, items: NDArray[Any]) -> NDArray[Any]:
        """See `InteractionModel`."""
        return single_contributions(self._weighted_sums, self._interaction_rows(np.array([user])), items)

    def _weighted_sums(self, rows: Rows, first: int, last: int) -> NDArray[Any]:
        indptr, items, values = rows
        shape = (len(indptr) - 1, len(self.items_))
        X = sparse.csr_array((values, items, indptr), shape=shape)
        found = (X @ self.weights_).toarray()
        return found if last - first == shape[1] else found[:, first:last]

    def _check_learned(self) -> None:
        super()._check_learned()
        if not sparse.issparse(self.weights_):
            raise InvalidInputError("weights_ must be sparse")


class ItemKNN(_Neighbours):
    r"""Nearest neighbours of items: those that the same users interacted with.

    .. math::

        s_{uj} = \sum_{i \in N_j} x_{ui} S_{ij}, \qquad
        S_{ij} = \frac{x_i \cdot x_j}{\|x_i\| \|x_j\| + \beta}

    with N_j the k items most similar to j, x = 1 for an interaction, or more for large `counts`, and β the shrinkage.

    Parameters
    ----------
    n_neighbors : int, default=200
        Number k of neighbours of each item.
    shrinkage : float, default=20.0
        β: similarities of items with few users count less.
    {popularity_weight}
    {counts}

    Attributes
    ----------
    weights_ : sparse array of shape (n_items, n_items)
        S, of the neighbours alone; column j has those of j.
    level_ : float
        Mean score of users' own items, by which shares of interactions measure scores.
    popularity_weight_ : float
        That of the fit.
    users_, items_, ratings_, popularity_, updates_
        See `ImplicitModel`.

    References
    ----------
    M. Deshpande and G. Karypis, "Item-based top-N recommendation algorithms", ACM TOIS 22 (1), 2004,
    doi:10.1145/963770.963776.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if u % 2 == i % 2 and (u, i) != (0, 4)]
    >>> ItemKNN(2, shrinkage=0).fit(X).recommend([0], n=1)[0].tolist()
    [[4]]
    """

    shrinkage: float = param(number(low=0), default=20.0)

    def tune(self, held_out: HeldOut, monitor: Monitor) -> Tuned:
        """See `ImplicitModel`."""

        def learn(n_neighbors: int) -> NDArray[np.float32]:
            return self._scores_without(held_out, popularity_weight=0.0)

        trials = Trials(held_out, learn, monitor)
        trials.gain(n_neighbors=self.n_neighbors)
        return self._with_popularity(held_out, trials)

    def _sides(self, interactions: Ratings) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        values = self._strengths(interactions)
        return values, values

    def _item_scales(self, interactions: Ratings) -> NDArray[np.float32]:
        squares = np.bincount(
            interactions.indices, self._strengths(interactions) ** 2, minlength=len(interactions.items)
        )
        return np.sqrt(squares).astype(np.float32)

    def _similarities(self, together: NDArray[np.float32], own: NDArray[Any], scales: NDArray[Any]) -> NDArray[Any]:
        below = own[:, None] * scales + np.float32(self.shrinkage)
        return together / np.where(below > 0, below, 1)

    def _oriented(self, kept: sparse.csr_array) -> Any:
        return kept.T


class RP3beta(_Neighbours):
    r"""Walks of three steps from a user: to an item, to another user who interacted with it, to another item.

    .. math::

        s_{uj} = \sum_{i} x_{ui} W_{ij}, \qquad
        W_{ij} = m_j^{-\beta} \sum_v \Big(\frac{x_{vi}}{m_i}\Big)^{\alpha} \Big(\frac{x_{vj}}{n_v}\Big)^{\alpha}

    with :math:`n_v, m_j` the sums of x for a user and an item, of W the k largest of each row being kept.

    Parameters
    ----------
    n_neighbors : int, default=200
        Number k of items to which a walk goes from another one.
    alpha : float, default=0.7
        Exponent of the probabilities of steps.
    beta : float or "auto", default="auto"
        How much popular items are held back. "auto" goes from .4 up or down by .2 while a tenth of the interactions of
        each user, held out, come to stand higher in lists, by the mean of 1 / log2(1 + rank).
    {popularity_weight}
    {counts}
    {callback}
    {verbose}

    Attributes
    ----------
    weights_ : sparse array of shape (n_items, n_items)
        W.
    beta_, popularity_weight_ : float
        Those of the fit.
    level_ : float
        Mean score of users' own items, by which shares of interactions measure scores.
    users_, items_, ratings_, popularity_, updates_
        See `ImplicitModel`.

    Notes
    -----
    nDCG@10 of held-out interactions (80/20 of each user, one split), with 100 neighbours and β = .6 as before, and by
    default; Epinions and Flixster chose nothing:

    ============  ==========  ==========  =======
    set           Popularity  100 and .6  default
    ============  ==========  ==========  =======
    ML-100K       .223        .400        .404
    latest-small  .190        .268        .318
    Steam         .170        .376        .418
    BookCrossing  .040        .049        .096
    Epinions      .042        .114        .148
    Flixster      .013        .104        .131
    made-up shop  .151        .109        .157
    ============  ==========  ==========  =======

    References
    ----------
    B. Paudel, F. Christoffel, C. Newell and A. Bernstein, "Updatable, accurate, diverse, and scalable recommendations
    for interactive applications", ACM TIIS 7 (1), 2017, doi:10.1145/2955101.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if u % 2 == i % 2 and (u, i) != (0, 4)]
    >>> RP3beta(2).fit(X).recommend([0], n=1)[0].tolist()
    [[4]]
    """

    alpha: float = param(number(low=0, high=10), default=0.7)
    beta: float | str = param(number(low=0, high=10, also=["auto"]), default="auto")
    callback: Callback | None = param(check_callback, default=None)
    verbose: int = param(default=0)

    beta_: float = learned()

    def _fit(self, given: FitInput) -> None:
        self.beta_ = float(self._chosen(given, 0, "beta")[0]["beta"])
        self._weigh(given.ratings)

    def tune(self, held_out: HeldOut, monitor: Monitor) -> Tuned:
        """See `ImplicitModel`."""

        def learn(beta: float) -> NDArray[np.float32]:
            settings: dict[str, Any] = {"beta": beta, "popularity_weight": 0.0, "callback": None, "verbose": 0}
            return self._scores_without(held_out, **settings)

        trials = Trials(held_out, learn, monitor)
        highest = trials.gain(beta=_BETA if isinstance(self.beta, str) else float(self.beta))
        for betas in _BETAS if isinstance(self.beta, str) else ():
            for beta in betas:
                before, highest = highest, max(highest, trials.gain(beta=beta))
                if highest <= before:
                    break
        return self._with_popularity(held_out, trials)

    def _sides(self, interactions: Ratings) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        values = self._strengths(interactions).astype(np.float64)
        rows, columns = interactions.pairs()
        of_users, of_items = np.bincount(rows, values), np.bincount(columns, values)
        left, right = (values / of_items[columns]) ** self.alpha, (values / of_users[rows]) ** self.alpha
        return left.astype(np.float32), right.astype(np.float32)

    def _item_scales(self, interactions: Ratings) -> NDArray[np.float32]:
        masses = np.bincount(interactions.indices, self._strengths(interactions), minlength=len(interactions.items))
        return (np.maximum(masses, 1e-9) ** -self.beta_).astype(np.float32)

    def _similarities(self, together: NDArray[np.float32], own: NDArray[Any], scales: NDArray[Any]) -> NDArray[Any]:
        return together * scales
