"""The pseudo-posteriors of max-margin matrix factorization, drawn from step by step, users first.

Users have factors, or binary features whose number is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.hinges import draw_features, draw_hinge_rows
from cofactor.problems.observed import LevelData
from cofactor.problems.priors import (
    LinkedPrior,
    Moments,
    RowPrior,
    RowSquares,
    draw_normal_gamma,
    moments,
    squares_of_columns,
    sums_of_columns,
)
from cofactor.problems.rows import Array, table_of
from cofactor.problems.users import USER_PRIOR, EntryUsers, LocalUsers, Users
from cofactor.samplers import Key, State, Step
from cofactor.solvers.parts import Answer

#: What users are drawn given, besides their own arrays.
_GIVEN = ("V", "threshold_mean", "threshold_precision", *USER_PRIOR)


@dataclass(frozen=True)
class ThresholdPrior:
    r"""Thresholds :math:`\theta_{ir} \sim N(\rho_r, 1 / \tau_r)`, where :math:`\rho_r` begins at ``spacing (r - R/2)``.

    With `learned`, ρ and τ have a normal-gamma prior of this `shape`, `rate` and `strength`, and are drawn.
    """

    spacing: float
    deviation: float
    learned: bool = True
    shape: float = 1.0
    rate: float = 0.1
    strength: float = 0.01

    def start(self, n_levels: int) -> State:
        """Return ρ and τ."""
        return {
            "threshold_mean": self.spacing * (np.arange(1, n_levels) - n_levels / 2),
            "threshold_precision": np.full(n_levels - 1, self.deviation**-2),
        }

    def draw(self, state: State, key: Key, thresholds: Moments) -> None:
        """Draw ρ and τ given the moments of the thresholds of all users."""
        state["threshold_mean"][:], state["threshold_precision"][:] = draw_normal_gamma(
            key.generator(), thresholds, self.shape, self.rate, self.strength
        )


class FixedPrior:
    """Rows N(0, I): a prior without parameters, in place of a `LinkedPrior`.

    Parameters
    ----------
    name : str
        Prefix of the arrays in the state.
    n_columns : int
        Length of a row.
    """

    def __init__(self, name: str, n_columns: int) -> None:
        self.name, self.n_columns = name, n_columns

    def start(self) -> State:
        """Return the arrays that a `LinkedPrior` without features has."""
        return LinkedPrior(self.name, self.n_columns).start()

    def means(self, state: State, n: int) -> NDArray[np.float64]:
        """Return the prior means (n, p) of the rows."""
        return np.zeros((n, self.n_columns))

    def precision(self, state: State) -> NDArray[np.float64]:
        """Return the identity."""
        return np.eye(self.n_columns)

    def shifts(self, state: State, n: int) -> NDArray[np.float64]:
        """Return the prior means again: the precision is one."""
        return self.means(state, n)

    def draw(self, state: State, rows: NDArray[np.float64], key: Key) -> None:
        """Do nothing: this prior has no parameters."""

    def draw_by(self, state: State, key: Key, sums: Answer, squares: RowSquares) -> None:
        """Do nothing, likewise."""

    def row_sums(self, state: State, rows: NDArray[np.float64]) -> Answer:
        """Return nothing: nothing is drawn from it."""
        return {}

    def row_squares(self, state: State, rows: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return nothing, likewise."""
        return np.zeros(0)


class HingeUsers(EntryUsers):
    """Scales of hinges, thresholds and rows of users, drawn given the items and the parameters of all priors.

    Parameters
    ----------
    opened : callable
        Returns their levels.
    prior : LinkedPrior or FixedPrior
        Of their rows.
    c, width : float
        Half the weight of the loss, and ℓ.
    biased : bool
        Whether the last column of rows is a bias.

    Attributes
    ----------
    weights, targets : ndarray of shape (n_entries,)
        Of the ratings, for the draws of rows; drawn with thresholds.
    """

    sampled: ClassVar[tuple[str, ...]] = ("U", "thresholds")
    of_entries: ClassVar[tuple[str, ...]] = ("weights", "targets")

    weights: Any
    targets: Any

    def __init__(
        self, opened: Callable[[], LevelData], prior: LinkedPrior | FixedPrior, *, c: float, width: float, biased: bool
    ) -> None:
        super().__init__(opened, prior)
        self.c, self.width, self.biased = float(c), float(width), biased

    def begin(self, random: np.random.Generator, *start: Array) -> State:
        """Return their part of the state at the start, with small random rows, and these thresholds for all users."""
        [thresholds] = start
        return {
            "U": random.normal(0, 0.1, (self.n, self.prior.n_columns)),
            "thresholds": np.tile(thresholds, (self.n, 1)),
            "value": np.zeros(self.n),
        }

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw the scales of hinges, then thresholds."""
        data, rows, table = self.data, key.rows(), table_of(state["V"], self.biased)
        if self.weights is None:
            self.weights, self.targets = (np.empty(len(data.levels)) for _ in self.of_entries)

        def block(lo: int, hi: int) -> None:
            draw_hinge_rows(
                lo, hi, rows, data.indptr, data.indices, data.levels, state["U"], table,
                state["threshold_mean"], state["threshold_precision"], self.c, self.width, state["thresholds"],
                self.weights, self.targets, state["value"],
            )  # fmt: skip

        self.rows.each(block)

    def draw(self, state: State, key: Key) -> None:
        """Draw rows given scales, thresholds and items."""
        precision, shifts = self.prior.precision(state), self.prior.shifts(state, self.n)
        self.rows.draw(key, self.targets, self.weights, state["V"], precision, shifts, self.biased, state["U"])

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array) -> Answer:
        """Return the equations of the items first..last-1."""
        given = self.targets, self.weights, state["U"], precision, shift, self.biased
        return {"equations": self.items.equations(first, last, *given)}

    def sums(self, state: State) -> Answer:
        """Return sums over rows and over thresholds, and the value of all users."""
        found = self.prior.row_sums(state, state["U"])
        sums = {"thresholds": sums_of_columns(state["thresholds"]), "value": state["value"].sum(keepdims=True)}
        return found | sums | {"n": np.array(len(state["U"]))}

    def squares(self, state: State, mean: Array, threshold_mean: Array) -> Answer:
        """Return sums of squares of rows, and of thresholds, about their means."""
        rows = self.prior.row_squares(state, state["U"], mean)
        return {"rows": rows, "thresholds": squares_of_columns(state["thresholds"], threshold_mean)}


class HingePosterior:
    r"""Max-margin factorization as a distribution: hinges at all thresholds of every user, times priors.

    .. math::

        p \propto \exp\Bigl(-2c \sum_{(i,j) \in \Omega} \sum_{r=1}^{R-1} \max\bigl(0, \ell - T^r_{ij}
        (\theta_{ir} - x_{ij})\bigr)\Bigr) \cdot p(U) \, p(V) \, p(\theta), \quad
        x_{ij} = u_i \cdot v_j \; (+ b_i + c_j)

    A sweep

    1. draws the scales λ, which turn hinges into squares, and given these the thresholds (`thresholds`: weights and
       targets of ratings are valid only after it),
    2. the rows of users given both (`users`), and their prior (`user prior`),
    3. the rows of items and their prior likewise,
    4. means and precisions of the thresholds (`threshold prior`).

    Parameters
    ----------
    users : Users
        Of `HingeUsers`.
    n_items : int
    n_levels : int
        R.
    items : RowPrior
    threshold_prior : ThresholdPrior
    """

    #: Moments of the thresholds of all users.
    thresholds: Moments

    kept: tuple[str, ...] = (
        "U", "V", "thresholds", "user_mean", "user_precision", "user_weights", "item_mean", "item_precision",
        "item_weights", "threshold_mean", "threshold_precision",
    )  # fmt: skip

    def __init__(
        self,
        users: Users,
        n_items: int,
        n_levels: int,
        items: RowPrior,
        threshold_prior: ThresholdPrior,
    ) -> None:
        self.users, self.m, self.n_levels, self.items = users, n_items, n_levels, items
        self.threshold_prior = threshold_prior
        self.kept = tuple(name for name in self.kept if name not in users.elsewhere)
        self.steps: Mapping[str, Step] = {
            "thresholds": lambda state, key: users.do("draw_thresholds", state, key=key),
            "users": lambda state, key: users.do("draw", state, key=key),
            "user prior": self.draw_user_prior,
            "items": self.draw_items,
            "item prior": lambda state, key: self.items.draw(state, state["V"], key),
            "threshold prior": self.draw_threshold_prior,
        }

    def start(self, key: Key) -> State:
        """Return small random factors, and for every user the thresholds that the prior expects."""
        random = key.generator()
        prior = self.threshold_prior.start(self.n_levels)
        users = self.users.begin(random, prior["threshold_mean"])
        return {
            **users,
            "V": random.normal(0, 0.1, (self.m, self.items.n_columns)),
            **prior,
            **self.users.prior.start(),
            **self.items.start(),
        }

    def initialize(self, state: State) -> None:
        """Do nothing: a start is good enough."""

    def log_likelihood(self, state: State) -> float:
        """Return minus the weighted loss, λ integrated out: a log-likelihood, except for its normalization."""
        return float(state["value"].sum())

    def tune(self, state: State, sweep: int) -> None:
        """Do nothing: there is nothing to tune."""

    def draw_user_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of users' rows; find out how thresholds are spread with it."""
        sums = self.users.ask("sums", state, _GIVEN)
        n, mean = int(sums["n"]), sums["thresholds"] / sums["n"]

        def squares(row_mean: Array) -> Array:
            found = self.users.ask("squares", state, USER_PRIOR, mean=row_mean, threshold_mean=mean)
            self.thresholds = Moments(n, mean, found["thresholds"] / n)
            return found["rows"]

        self.users.prior.draw_by(state, key, sums, squares)

    def draw_items(self, state: State, key: Key) -> None:
        """Draw the rows of items given scales, thresholds and users."""
        self.users.draw_items(state, key, self.items)

    def draw_threshold_prior(self, state: State, key: Key) -> None:
        """Draw means and precisions of thresholds, if they are learned."""
        if self.threshold_prior.learned:
            self.threshold_prior.draw(state, key, self.thresholds)


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
        super().__init__(LocalUsers(users), users.items.n, n_levels, FixedPrior("item", p), threshold_prior)
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
