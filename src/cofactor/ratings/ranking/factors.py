"""What implicit-feedback models with a row of factors for each user share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_callback, whole
from cofactor.model.estimator import learned, param
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.scores import FactorScores
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.interaction_model import Factored
from cofactor.ratings.merging import RowMerge
from cofactor.ratings.ranking.base import ImplicitModel, strengths_of
from cofactor.ratings.similar import covariance, directions
from cofactor.solvers.result import Callback
from cofactor.typing import RandomState

__all__ = ["ImplicitFactorModel", "own_interactions"]


def own_interactions(model: ImplicitModel, user: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the items of a user, by index, and how much each interaction says."""
    interactions = model._require_ratings(())
    own = slice(interactions.indptr[user], interactions.indptr[user + 1])
    return interactions.indices[own], strengths_of(model, interactions, own).astype(np.float64)


class ImplicitFactorModel(Factored, ImplicitModel):
    r"""An implicit-feedback model whose score is :math:`U_i \cdot V_j + c_j`, so that new users are rows solved for.

    Attributes
    ----------
    U_, V_ : ndarray of shape (n_users, d) and (n_items, d), float32
    item_bias_ : ndarray of shape (n_items,), float32
    user_covariance_ : ndarray of shape (d, d)
        Of the U of users in training, by which items are alike; fold-ins keep it.
    """

    n_factors: int | str = param(whole(), default=16, kw_only=False)
    max_iter: int = param(whole(), default=15)
    random_state: RandomState = param(default=None)
    callback: Callback | None = param(check_callback, default=None)
    verbose: int = param(default=0)

    U_: NDArray[np.float32] = learned("users d", dtype=np.float32)
    V_: NDArray[np.float32] = learned("items d", dtype=np.float32)
    item_bias_: NDArray[np.float32] = learned("items", dtype=np.float32)
    user_covariance_: NDArray[np.float64] = learned("d d", dtype=np.float64)

    def _rank(self, interactions: Ratings) -> int:
        """Return the number of factors for such interactions."""
        return int(self.n_factors)

    def _fit_bytes(self, interactions: Ratings) -> int:
        return 4 * sum(interactions.shape) * self._rank(interactions)

    @abstractmethod
    def _solve(self, given: FitInput, U: NDArray[Any], V: NDArray[Any], c: NDArray[Any], max_iter: int) -> None:
        """Learn factors and biases from where they start, in so many rounds at most."""

    def _set_factors(self, U: NDArray[Any], V: NDArray[Any], c: NDArray[Any]) -> None:
        """Set what was learned of users of training, and of items."""
        self.U_, self.V_, self.item_bias_, self.user_covariance_ = U, V, c, covariance(U)

    def _item_directions(self) -> NDArray[np.float64]:
        """See `InteractionModel`: the correlation of scores over the users of training; a fold-in knows it too."""
        return directions(self.V_, self.user_covariance_)

    @abstractmethod
    def _fold_in(self, given: FitInput) -> None:
        """Solve for the rows of users, items held fixed."""

    def _refit(self, given: FitInput, before: Self) -> None:
        """Go on from where the rows stood, new ones from zero; half as many rounds as a fit has do."""
        interactions = given.ratings
        none = np.zeros(0, np.int32)
        users = RowMerge("user", interactions.users, interactions.users.index(before.users_.ids), none)
        items = RowMerge("item", interactions.items, interactions.items.index(before.items_.ids), none)
        U = users.rows(before.U_, before.U_[:0])
        V, c = (items.rows(rows, rows[:0]) for rows in (before.V_, before.item_bias_))
        self._solve(given, U, V, c, max(1, self.max_iter // 2))

    def _start(self, interactions: Ratings, n_factors: int, generator: np.random.Generator) -> tuple[Any, Any, Any]:
        """Return random factors, and no biases."""
        n, m = interactions.shape
        scale = np.float32(0.1 / np.sqrt(n_factors))
        U, V = (scale * generator.standard_normal((k, n_factors), dtype=np.float32) for k in (n, m))
        return U, V, np.zeros(m, dtype=np.float32)

    @property
    def _factor_scores(self) -> FactorScores:
        return FactorScores(self.U_, self.V_, np.zeros(len(self.U_), np.float32), self.item_bias_)

    def _score_range(self, users: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        return self._factor_scores.block(users, np.arange(first, last))
