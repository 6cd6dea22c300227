"""Which items come next, of those that a user has not interacted with yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.choice import choices_of_rows
from cofactor.kernels.normal_single import soft_logarithms
from cofactor.kernels.threads import parallel_for

_STEPS = 50
_HALVINGS = 30
_USERS_PER_BLOCK = 16
_MANY, _EACH = 400, 8  # users of whom some are asked first, and each how many-th
_LONG = 1e9  # more of t than any item that is told apart needs
_HALVINGS_OF_T = 50
_TINY = 1e-10  # of the trace of the information, so that features which say the same leave it regular
_SPREAD = 0.3  # standard deviation of δ beforehand: with some hundred interactions it hardly matters


def soft_log(scores: NDArray[np.floating], floor: float, level: float = 1.0) -> NDArray[np.float32]:
    """Return log(ε log(1 + exp(s / ε))): the logarithm of a score where it is well above ε, and finite everywhere.

    s are scores as multiples of a level.

    Examples
    --------
    >>> soft_log(np.array([0.5, 0.0, -0.2]), 0.02).round(2).tolist()
    [-0.6899999976158142, -4.28000020980835, -13.90999984741211]
    """
    scores = np.ascontiguousarray(scores, dtype=np.float32)
    out = np.empty_like(scores)
    soft_logarithms(scores.reshape(-1), np.float32(floor * level), np.float32(np.log(floor)), out.reshape(-1))
    return out


def log_shares(utilities: NDArray[np.floating], seen: NDArray[np.bool_] | None = None) -> NDArray[np.floating]:
    """Return the logarithm of the softmax of each row, in which what was seen has no share (-inf).

    Examples
    --------
    >>> np.exp(log_shares(np.zeros((1, 3)), np.array([[True, False, False]]))).tolist()
    [[0.0, 0.5, 0.5]]
    """
    found = np.array(utilities) if seen is None else np.where(seen, -np.inf, utilities)
    highest = found.max(axis=1, keepdims=True)
    highest[~np.isfinite(highest)] = 0  # a row in which all was seen
    found -= highest
    total = np.exp(found).sum(axis=1, keepdims=True)
    total[total == 0] = 1
    found -= np.log(total)
    return found


def at_knot(feature: NDArray[np.float32], knot: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return a feature, and by how much it is above a knot: sums of multiples have a slope below it and one above.

    Examples
    --------
    >>> [column.tolist() for column in at_knot(np.array([-2.0, 0.5, 3.0], dtype=np.float32), 0.0)]
    [[-2.0, 0.5, 3.0], [0.0, 0.5, 3.0]]
    """
    above = feature - np.float32(knot)
    return feature, np.maximum(above, np.float32(0), out=above)


def inclusion_probabilities(
    shares: NDArray[np.floating], n_chosen: NDArray[np.integer], ordered: bool = False
) -> NDArray[np.float64]:
    r"""Return the probability of each item to be among those that are held out of a user.

    If these are a random part of the user's items, each of them is as likely as the others to be drawn first. So an
    item that is drawn first with the probability :math:`P_j` is among n with n times that, which has to stay below 1:
    :math:`t P_j / (1 + (t P_j)^4)^{1/4}`, which sum to n. That is :math:`\min(1, t P_j)` with a round corner: nothing
    is certain. Exponents from 3 to 6 say about as well what is missing on MovieLens, Douban, Epinions and Steam.

    If they are the user's later items, :math:`t P_j` are odds: :math:`t P_j / (1 + t P_j)` sum to n.

    Parameters
    ----------
    shares : ndarray of shape (n, w)
        P of items, of which those left out, with the rest of the sum to 1, each have a small one.
    n_chosen : ndarray of shape (n,)
        How many are held out of each user.
    ordered : bool, default=False
        Whether they come after all that is known.

    Examples
    --------
    >>> inclusion_probabilities(np.array([[0.6, 0.3, 0.1]]), np.array([2])).round(2)
    array([[0.97, 0.75, 0.28]])
    >>> inclusion_probabilities(np.array([[0.6, 0.3, 0.1]]), np.array([2]), ordered=True).round(2)
    array([[0.83, 0.71, 0.45]])
    """
    P, n = np.asarray(shares, dtype=np.float64), np.asarray(n_chosen, dtype=np.float64)[:, None]
    rest = np.maximum(1 - P.sum(axis=1, keepdims=True), 0)

    def chances(t: NDArray[np.float64]) -> NDArray[np.float64]:
        odds = t * P
        return odds / (1 + odds if ordered else np.sqrt(np.sqrt(1 + np.square(np.square(odds)))))

    low, high = np.ones(n.shape), np.full(n.shape, _LONG)  # of t, as a multiple of n
    for _ in range(_HALVINGS_OF_T):
        middle = np.sqrt(low * high)
        many = chances(n * middle).sum(axis=1, keepdims=True) + n * middle * rest > n
        low, high = np.where(many, low, middle), np.where(many, middle, high)
    return chances(n * low)


class ChoiceWeights(NamedTuple):
    """What users choose by: c, δ, and the mean log-likelihood there."""

    weights: NDArray[np.float64]
    exponent: float
    value: float


@dataclass(frozen=True)
class ChoiceProblem:
    r"""Log-likelihood of the interactions of users, with several features of each pair of user and item.

    .. math::

        \ell(c, \delta) = \sum_u \Big(\sum_{j \in H_u} \log P_{uj} + \sum_{k \notin S_u \cup H_u} \log (1 - P_{uk})\Big)
            - \frac{\delta^2}{2 \cdot .3^2} - \sum_k \frac{\tau_k c_k^2}{2}, \quad
        \log \frac{P_{uj}}{1 - P_{uj}} = a_u + n_u^\delta c \cdot \ell_{uj}, \quad
        \sum_{j \notin S_u} P_{uj} = |H_u|

    with H_u the held-out items of the user u, and S_u the other items of the user. How many come belongs to the user
    alone, and so does :math:`a_u`. The more items a user has, the less a feature tells the items apart that are still
    open, so that slopes go with a power of the `activity` n.

    If H is a random part of what came, an item outside of S is in H with the odds :math:`q \pi / (1 - \pi)`, q the
    share of H in all that came, and π the probability that the item came. So odds are shares of what comes next,
    :math:`e^{c \cdot \ell_j} / \sum_k e^{c \cdot \ell_k}`, whatever q: it is in :math:`a_u`.

    Parameters
    ----------
    features : sequence of ndarray of shape (n, m)
        The features ℓ, one array for each.
    seen : ndarray of shape (n, m), bool
        S.
    chosen : tuple of two ndarray
        Rows and columns of H.
    activity : ndarray of shape (n,), optional
        n, above 0, as a multiple of what is usual; by default 1, which leaves δ at 0.
    precisions : ndarray of shape (n_features,), optional
        τ, by default 0.
    """

    features: Sequence[NDArray[np.float32]]
    seen: NDArray[np.bool_]
    chosen: tuple[NDArray[np.intp], NDArray[np.intp]]
    activity: NDArray[np.float64] | None = None
    precisions: NDArray[np.float64] | None = None

    @cached_property
    def _tables(self) -> tuple[NDArray[np.float32], NDArray[np.uint8], NDArray[np.float64]]:
        """Features and marks as kernels take them, log n."""
        marks = self.seen.astype(np.uint8)
        marks[self.chosen] = 2
        features = np.ascontiguousarray(np.stack(self.features), dtype=np.float32)
        return features, marks, np.zeros(len(marks)) if self.activity is None else np.log(self.activity)

    def derivatives(
        self, c: NDArray[np.float64], exponent: float = 0.0
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return the log-likelihood, its gradient, and Fisher's information about c and δ, all per item of H."""
        features, marks, logs = self._tables
        n, K = len(marks), len(c)
        powers = np.exp(exponent * logs)
        slopes = powers[:, None] * c
        values, gradients, curvatures = np.empty(n), np.empty((n, K)), np.empty((n, K, K))
        parallel_for(
            lambda b: choices_of_rows(
                b * _USERS_PER_BLOCK, min((b + 1) * _USERS_PER_BLOCK, n), features, marks, slopes, values, gradients,
                curvatures,
            ),
            -(-n // _USERS_PER_BLOCK),
        )  # fmt: skip
        by_slopes = np.zeros((n, K + 1, K))  # derivatives of the slopes of each user by c and δ
        by_slopes[:, range(K), range(K)] = powers[:, None]
        by_slopes[:, K] = logs[:, None] * slopes
        gradient = np.einsum("nik,nk->i", by_slopes, gradients)
        information = np.einsum("nik,nkl,njl->ij", by_slopes, curvatures, by_slopes, optimize=True)
        at = np.append(c, exponent)
        precisions = np.append(np.zeros(K) if self.precisions is None else self.precisions, 1 / _SPREAD**2)
        gradient -= precisions * at
        information[range(K + 1), range(K + 1)] += precisions
        size = max(len(self.chosen[0]), 1)
        value = float(values.sum()) - float(precisions @ at**2) / 2
        return value / size, gradient / size, information / size

    def subsample(self, k: int) -> ChoiceProblem:
        """Return what every k-th user says."""
        rows, columns = self.chosen
        here = rows % k == 0
        activity = None if self.activity is None else self.activity[::k]
        features = [feature[::k] for feature in self.features]
        return ChoiceProblem(features, self.seen[::k], (rows[here] // k, columns[here]), activity, self.precisions)

    def maximize(self, start: NDArray[np.float64] | None = None, exponent: float = 0.0) -> ChoiceWeights:
        """Return the best c and δ, by Fisher's scoring with halved steps, and the mean log-likelihood there.

        Of many users an eighth first tells about where that is.
        """
        c = np.ones(len(self.features)) if start is None else np.array(start, dtype=np.float64)
        if len(self.seen) >= _MANY:
            c, exponent, _ = self.subsample(_EACH).maximize(c, exponent)
        at = np.append(c, exponent)
        value, gradient, information = self.derivatives(at[:-1], at[-1])
        for _ in range(_STEPS):
            ridge = _TINY + _TINY * np.trace(information)
            step = np.linalg.solve(ridge * np.eye(len(at)) + information, gradient)
            if gradient @ step < 1e-6:  # twice the rise that a quadratic promises
                break
            for _ in range(_HALVINGS):
                following = self.derivatives(at[:-1] + step[:-1], at[-1] + step[-1])
                if following[0] >= value:
                    break
                step = step / 2
            else:
                break
            at, (value, gradient, information) = at + step, following
        return ChoiceWeights(at[:-1], float(at[-1]), value)
