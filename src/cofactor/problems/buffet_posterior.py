"""The pseudo-posterior of infinite max-margin matrix factorization: users have features, their number learned."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.buffet import draw_features
from cofactor.problems.hinge_posterior import FixedPrior, HingePosterior, HingeUsers, ThresholdPrior
from cofactor.problems.observed import LevelData
from cofactor.problems.priors import Moments, moments
from cofactor.problems.rows import Array
from cofactor.problems.users import UsersHere
from cofactor.samplers import Key, State, Step


class BuffetPosterior(HingePosterior):
    r"""A `HingePosterior` where users' rows are binary, :math:`Z \sim \mathrm{IBP}(a)`, and items' rows weigh them.

    .. math::

        x_{ij} = \sum_k z_{ik} v_{jk} \; (+ c_j), \quad v_{jk} \sim N(0, \sigma^2), \quad c_j \sim N(0, \sigma_c^2)

    where σ = 1, or :math:`\sigma^{-2}, \sigma_c^{-2} \sim \mathrm{Gamma}(1, 1)`. In the state, the columns of Z that
    some user has come first, all others are zero; ``counts`` are the numbers of users who have each feature, and
    ``shares`` the probabilities that one more user has it. With biases, U has one more column of zeros, and V one more
    with the c.

    Parameters
    ----------
    data, n_levels, threshold_prior, c, width, biased
        As in `HingePosterior`.
    n_columns : int
        Largest number of features.
    concentration : float
        a.
    learned : bool
        Whether σ is drawn.
    """

    kept = ("U", "V", "thresholds", "shares", "item_precision", "threshold_mean", "threshold_precision")

    def __init__(
        self,
        data: LevelData,
        n_levels: int,
        threshold_prior: ThresholdPrior,
        *,
        n_columns: int,
        concentration: float,
        learned: bool,
        c: float,
        width: float,
        biased: bool,
    ) -> None:
        p = n_columns + biased
        users = HingeUsers(lambda: data, FixedPrior("user", p), c=c, width=width, biased=biased)
        super().__init__(UsersHere(users), users.items.n, n_levels, FixedPrior("item", p), threshold_prior)
        self.local, self.n, self.biased = users, users.n, biased
        self.n_columns, self.concentration, self.learned = n_columns, float(concentration), learned
        self.steps: Mapping[str, Step] = {
            "thresholds": self.draw_thresholds,
            "users": self.draw_users,
            "items": self.draw_items,
            "item prior": self.draw_item_prior,
            "threshold prior": self.draw_threshold_prior,
        }

    def start(self, key: Key) -> State:
        """Return a state where half of the columns are features that users have at random, with small random weights.

        A start with as few features as the prior expects would keep the chain in a poor mode for a long time.
        """
        state = super().start(key)
        for name in ("user_mean", "user_precision", "user_weights", "user_weight_precision"):
            del state[name]
        for name in ("item_mean", "item_weights", "item_weight_precision"):
            del state[name]
        d = self.n_columns
        state["U"][:] = 0
        state["U"][:, : -(-d // 2)] = key.generator().random((self.n, -(-d // 2))) < 0.5
        state["counts"] = state["U"][:, :d].sum(axis=0)
        state["shares"] = state["counts"] / (self.n + 1)
        return state

    def n_used(self, state: State) -> int:
        """Return how many features at least one user has."""
        return int(np.count_nonzero(state["counts"]))

    def factors(self, state: State) -> tuple[Array, Array]:
        """Return copies of the columns in use, including those of the bias."""
        use = self._columns(state)
        return np.take(state["U"], use, axis=1), np.take(state["V"], use, axis=1)

    def _columns(self, state: State) -> NDArray[np.int64]:
        return np.append(np.arange(self.n_used(state)), np.arange(self.n_columns, self.n_columns + self.biased))

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw the scales of hinges, then thresholds."""
        U, V = self.factors(state)
        self.local.draw_thresholds(state | {"U": U, "V": V}, key)

    def draw_users(self, state: State, key: Key) -> None:
        """Draw the users' features in random order, then put those in use first."""
        users, data, d = self.local, self.local.data, self.n_columns
        U, V, counts = state["U"], state["V"], state["counts"]
        variance = 1 / state["item_precision"][0]
        order = key.generator().permutation(self.n)
        draw_features(
            key.rows(), order, data.indptr, data.indices, users.targets, users.weights, U, V, counts, d,
            self.concentration, variance, self.biased,
        )  # fmt: skip
        first = np.argsort(counts == 0, kind="stable")
        U[:, :d], V[:, :d], counts[:] = U[:, first], V[:, first], counts[first]
        state["shares"][:] = counts / (self.n + 1)
        V[:, self.n_used(state) : d] = 0

    def draw_items(self, state: State, key: Key) -> None:
        """Draw weights and biases of items."""
        users, use = self.local, self._columns(state)
        U, V = self.factors(state)
        precision = np.diag(state["item_precision"][use])
        users.items.draw(key, users.targets, users.weights, U, precision, np.zeros_like(V), self.biased, V)
        state["V"][:, use] = V

    def draw_item_prior(self, state: State, key: Key) -> None:
        """Draw σ given the weights in use, and that of biases."""
        if not self.learned:
            return
        random, tau, V = key.generator(), state["item_precision"], state["V"]
        d, used = self.n_columns, self.n_used(state)
        for columns, in_use in ((slice(0, d), slice(0, used)), (slice(d, None), slice(d, None))):
            some = V[:, in_use]
            tau[columns] = random.gamma(1 + some.size / 2, 1 / (1 + 0.5 * (some**2).sum()))

    def draw_threshold_prior(self, state: State, key: Key) -> None:
        """Draw means and precisions of thresholds, if they are learned."""
        self.thresholds = Moments(self.n, *moments(state["thresholds"]))
        super().draw_threshold_prior(state, key)
