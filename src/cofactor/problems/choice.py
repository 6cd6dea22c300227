"""Which items come next, of those that a user has not taken yet: each waits for a time of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.kernels.choice import choices_of_rows
from cofactor.kernels.threads import parallel_for

__all__ = ["Choice", "ChoiceProblem", "among_the_next", "log_shares", "soft_log"]

_STEPS = 50
_HALVINGS = 30
_USERS_PER_BLOCK = 16
_LINEAR = np.float32(16)  # beyond, log(1 + eᵗ) is t, or eᵗ, to float32's precision
_ROUNDS = 60  # of the search for how long a user waits, which needs ten or so
_TINY = 1e-10  # of the trace of the information, so that features which say the same leave it regular
_SPREAD = 0.3  # standard deviation of δ beforehand: with some hundred takes it hardly matters


def soft_log(scores: NDArray[np.floating], floor: float) -> NDArray[np.float32]:
    """Return log(ε log(1 + exp(s / ε))): the logarithm of a score where it is well above ε, and finite everywhere.

    Examples
    --------
    >>> soft_log(np.array([0.5, 0.0, -0.2]), 0.02).round(2).tolist()
    [-0.6899999976158142, -4.28000020980835, -13.90999984741211]
    """
    t = (np.asarray(scores) / floor).astype(np.float32)
    with np.errstate(divide="ignore"):
        out = np.log(np.log1p(np.exp(np.minimum(t, _LINEAR))))
    np.copyto(out, t, where=t < -_LINEAR)  # where log(1 + eᵗ) is eᵗ
    np.copyto(out, np.log(np.maximum(t, 1)), where=t > _LINEAR)  # and where it is t
    return np.asarray(out + np.float32(np.log(floor)), dtype=np.float32)


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


def among_the_next(
    shares: NDArray[np.floating], n_taken: NDArray[np.integer], n_before: ArrayLike = 0
) -> NDArray[np.float64]:
    r"""Return the probability of each item to be among the next that a user takes, one after the other.

    The next is j with the probability :math:`P_j`, and none comes twice. An item that waits for a time of rate
    :math:`P_j` has come by the time t with the probability :math:`1 - e^{-t P_j}`, and t is where these sum to the
    number taken: nearly exact (Rosén 1972).

    If what is to be found is instead a random part q of all that came by the time t, the others being known, then an
    item that is not known is in it with the odds :math:`q (e^{t P_j} - 1)`: the longer it waits, the surer it is that
    it came, and was held out.

    Parameters
    ----------
    shares : ndarray of shape (n, w)
        P of items, of which those left out, with the rest of the sum to 1, each have a small one.
    n_taken : ndarray of shape (n,)
        How many items each user takes next, or are held out.
    n_before : array-like of shape (n,), default=0
        How many are known of those among which they were drawn, so that q is the share of the others; 0 if what is to
        be found comes after all that is known.

    References
    ----------
    B. Rosén, "Asymptotic theory for successive sampling with varying probabilities without replacement", 1972.

    Examples
    --------
    >>> among_the_next(np.array([[0.5, 0.25, 0.25]]), np.array([2])).round(2)
    array([[0.83, 0.59, 0.59]])

    The first is exactly 5/6.
    """
    P, n = np.asarray(shares, dtype=np.float64), np.asarray(n_taken, dtype=np.float64)[:, None]
    rest = np.maximum(1 - P.sum(axis=1, keepdims=True), 0)
    q = n / np.maximum(n + np.reshape(np.asarray(n_before, dtype=np.float64), (-1, 1)), 1)
    log_t = np.log(np.maximum(n, _TINY) / np.maximum(q, _TINY))
    low, high = np.full(n.shape, -30.0), np.full(n.shape, 30.0)  # where all are taken t has no end
    for _ in range(_ROUNDS):
        chances, waited = _chances(np.exp(log_t) * P, q)
        others = q * np.exp(log_t) * rest
        found = chances.sum(axis=1, keepdims=True) + others - n
        np.copyto(low, log_t, where=found < 0)
        np.copyto(high, log_t, where=found >= 0)
        rise = (chances * (1 - chances) * waited).sum(axis=1, keepdims=True) + others
        following = log_t - found / np.maximum(rise, _TINY)
        following = np.where((following > low) & (following < high), following, (low + high) / 2)
        done = np.abs(following - log_t)[n > 0].max(initial=0) < 1e-9
        log_t = following
        if done:
            break
    return np.where(n > 0, _chances(np.exp(log_t) * P, q)[0], 0.0)


def _chances(rates: NDArray[np.float64], q: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P with the odds q(e^λ - 1), and λ / (1 - e^-λ)."""
    came = -np.expm1(-rates)
    waited = np.ones_like(rates)
    np.divide(rates, came, out=waited, where=came > 0)
    return q * came / np.maximum(1 - came + q * came, _TINY), waited


class Choice(NamedTuple):
    """What users choose by: c, δ, and the mean log-likelihood there."""

    weights: NDArray[np.float64]
    exponent: float
    value: float


@dataclass(frozen=True)
class ChoiceProblem:
    r"""Log-likelihood of what users took, with several features of each pair of user and item.

    .. math::

        \ell(c, \delta) = \sum_u \max_{a_u} \Big(\sum_{j \in H_u} \log P_{uj}
            + \sum_{k \notin S_u \cup H_u} \log (1 - P_{uk})\Big) - \frac{\delta^2}{2 \cdot .3^2}, \qquad
        \frac{P_{uj}}{1 - P_{uj}} = q_u (e^{\lambda_{uj}} - 1), \quad
        \lambda_{uj} = e^{a_u + n_u^\delta c \cdot \ell_{uj}}

    with H_u what of the user u was held out, and S_u what else was taken. Each item waits for an exponential time of
    rate λ, and all of S and H are what came in time. So the next to come is j with the probability of a conditional
    logit, :math:`\lambda_{uj} / \sum_k \lambda_{uk}`, and none comes twice: a logit of each choice by itself, whose
    items may repeat, takes the most likely ones for less likely than they are. If H is a random part q of what came,
    an item outside of S is in H with the odds above; if H came after S they are :math:`e^\lambda - 1`, and q = 1. How
    many come belongs to the user alone, and so does :math:`a_u`. The more a user took, the less a feature tells the
    items apart that are still open, so that slopes go with a power of the `activity` n.

    Parameters
    ----------
    features : sequence of ndarray of shape (n, m)
        The features ℓ, one array for each.
    seen : ndarray of shape (n, m), bool
        S.
    chosen : tuple of two ndarray
        Rows and columns of H.
    shares : ndarray of shape (n,), optional
        q, by default 1.
    activity : ndarray of shape (n,), optional
        n, above 0, as a multiple of what is usual; by default 1, which leaves δ at 0.
    """

    features: Sequence[NDArray[np.float32]]
    seen: NDArray[np.bool_]
    chosen: tuple[NDArray[np.intp], NDArray[np.intp]]
    shares: NDArray[np.float64] | None = None
    activity: NDArray[np.float64] | None = None

    @cached_property
    def _tables(self) -> tuple[NDArray[np.float32], NDArray[np.uint8], NDArray[np.float64], NDArray[np.float64]]:
        """Features and marks as kernels take them, q, log n."""
        marks = self.seen.astype(np.uint8)
        marks[self.chosen] = 2
        n = len(marks)
        features = np.ascontiguousarray(np.stack(self.features), dtype=np.float32)
        logs = np.zeros(n) if self.activity is None else np.log(self.activity)
        return features, marks, np.ones(n) if self.shares is None else self.shares.astype(np.float64), logs

    def derivatives(
        self, c: NDArray[np.float64], exponent: float = 0.0
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return the log-likelihood, its gradient, and Fisher's information about c and δ, all per taken item."""
        features, marks, shares, logs = self._tables
        n, K = len(marks), len(c)
        powers = np.exp(exponent * logs)
        slopes = powers[:, None] * c
        values, gradients, curvatures = np.empty(n), np.empty((n, K)), np.empty((n, K, K))
        parallel_for(
            lambda b: choices_of_rows(
                b * _USERS_PER_BLOCK, min((b + 1) * _USERS_PER_BLOCK, n), features, marks, shares, slopes,
                values, gradients, curvatures,
            ),
            -(-n // _USERS_PER_BLOCK),
        )  # fmt: skip
        by_slopes = np.zeros((n, K + 1, K))  # derivatives of the slopes of each user by c and δ
        by_slopes[:, range(K), range(K)] = powers[:, None]
        by_slopes[:, K] = logs[:, None] * slopes
        gradient = np.einsum("nik,nk->i", by_slopes, gradients)
        information = np.einsum("nik,nkl,njl->ij", by_slopes, curvatures, by_slopes, optimize=True)
        gradient[K] -= exponent / _SPREAD**2
        information[K, K] += 1 / _SPREAD**2
        size = max(len(self.chosen[0]), 1)
        value = float(values.sum()) - exponent**2 / (2 * _SPREAD**2)
        return value / size, gradient / size, information / size

    def maximize(self, start: NDArray[np.float64] | None = None, exponent: float = 0.0) -> Choice:
        """Return the best c and δ, by Fisher's scoring with halved steps, and the mean log-likelihood there."""
        c = np.ones(len(self.features)) if start is None else np.array(start, dtype=np.float64)
        at = np.append(c, exponent)
        value, gradient, information = self.derivatives(at[:-1], at[-1])
        for _ in range(_STEPS):
            ridge = _TINY + _TINY * np.trace(information)
            step = np.linalg.solve(ridge * np.eye(len(at)) + information, gradient)
            if gradient @ step < 1e-8:  # twice the rise that a quadratic promises
                break
            for _ in range(_HALVINGS):
                following = self.derivatives(at[:-1] + step[:-1], at[-1] + step[-1])
                if following[0] >= value:
                    break
                step = step / 2
            else:
                break
            at, (value, gradient, information) = at + step, following
        return Choice(at[:-1], float(at[-1]), value)
