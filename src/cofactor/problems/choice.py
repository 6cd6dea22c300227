"""Which items come next, of those that a user has not taken yet: each waits for a time of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.kernels.choice import choices_of_rows, saturate_rows
from cofactor.kernels.threads import parallel_for

__all__ = ["Choice", "ChoiceProblem", "among_the_next", "log_shares", "saturate", "soft_log"]

_STEPS = 50
_HALVINGS = 30
_USERS_PER_BLOCK = 16
_LINEAR = np.float32(16)  # beyond, log(1 + eᵗ) is t, or eᵗ, to float32's precision
_ROUNDS = 60  # of the search for how long a user waits, which needs ten or so
_LONG = 300.0  # a λ beyond which an item has come for sure
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


def saturate(
    utilities: NDArray[np.float32], seen: NDArray[np.bool_], counts: NDArray[np.integer], reach: float
) -> None:
    r"""Replace log λ of each row, up to a constant, by the logarithm of the rate of what never comes with chance 1 - r.

    An item has come with the probability :math:`r (1 - e^{-\lambda})`, as if it waited for a time of the rate
    :math:`\lambda' = -\log(1 - r + r e^{-\lambda})`, which is at most :math:`-\log(1 - r)`.

    Parameters
    ----------
    utilities : ndarray of shape (n, m), float32
        Changed in place, but for users who took nothing.
    seen : ndarray of shape (n, m), bool
        What was taken.
    counts : ndarray of shape (n,)
        How many items each user took, by which the constants are known: :math:`e^{\lambda'} - 1`, the odds that an item
        came, if it is not known, sum to it over what was not seen.
    reach : float
        r: 1 leaves all as it is.

    Examples
    --------
    >>> log_rates = np.log(np.array([[8, 1, 1, 1]], dtype=np.float32))
    >>> saturate(log_rates, np.zeros((1, 4), dtype=bool), np.array([2]), 0.5)
    >>> np.exp(log_shares(log_rates)).round(2).tolist()  # of 8/11 and 1/11
    [[0.4399999976158142, 0.1899999976158142, 0.1899999976158142, 0.1899999976158142]]
    """
    if reach < 1:
        n, known, seen = len(utilities), np.ascontiguousarray(counts, dtype=np.int64), np.ascontiguousarray(seen)
        step = _USERS_PER_BLOCK
        parallel_for(
            lambda b: saturate_rows(b * step, min((b + 1) * step, n), utilities, seen, known, reach), -(-n // step)
        )


def among_the_next(
    shares: NDArray[np.floating], n_taken: NDArray[np.integer], n_before: ArrayLike = 0, reach: float = 1.0
) -> NDArray[np.float64]:
    r"""Return the probability of each item to be among the next that a user takes, one after the other.

    The next is j with the probability :math:`P_j`, and none comes twice. An item that waits for a time of rate
    :math:`P_j` has come by the time t with the probability :math:`1 - e^{-t P_j}`, and t is where these sum to the
    number taken: nearly exact (Rosén 1972).

    If what is to be found is instead a random part q of all that came by the time t, the others being known, then an
    item that is not known is in it with the odds :math:`q R x_j / (1 - R x_j)`, :math:`x_j = 1 - e^{-\lambda_j}`: the
    longer it waits, the surer it is that it came, and was held out. Shares that were learned from the others alone,
    with a reach r, are those of rates :math:`-\log(1 - r x_j)`, see `saturate`. These others being a part 1 - q of
    all, R = r / (1 - q), at most 1.

    Parameters
    ----------
    shares : ndarray of shape (n, w)
        P of items, of which those left out, with the rest of the sum to 1, each have a small one.
    n_taken : ndarray of shape (n,)
        How many items each user takes next, or are held out.
    n_before : array-like of shape (n,), default=0
        How many are known of those among which they were drawn, so that q is the share of the others; 0 if what is to
        be found comes after all that is known.
    reach : float, default=1.0
        r.

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
    known = np.broadcast_to(np.reshape(np.asarray(n_before, dtype=np.float64), (-1, 1)), n.shape)
    rest, q, whole = np.maximum(1 - P.sum(axis=1, keepdims=True), 0), n / np.maximum(n + known, 1), np.ones(n.shape)
    if reach < 1:
        t = _waited(P, rest, known, lambda rates: _odds(rates, np.ones(n.shape)))
        came = np.minimum(-np.expm1(-t * P) / reach, 1 - _TINY)
        P = np.where(known > 0, -np.log1p(-came), P)
        rest = np.where(known > 0, t * rest / reach, rest)
        whole = np.where(known > 0, np.minimum(reach / np.maximum(1 - q, _TINY), 1), whole)

    def chances(rates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        odds, slopes = _odds(rates, whole)
        found = q * odds / (1 + q * odds)
        return found, found * (1 - found) * slopes / np.maximum(odds, _TINY)

    return np.where(n > 0, chances(_waited(P, q * whole * rest, n, chances) * P)[0], 0.0)


def _waited(
    rates: NDArray[np.float64],
    others: NDArray[np.float64],
    n: NDArray[np.float64],
    found: Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> NDArray[np.float64]:
    """Return t by which as many came as should, given how many of each item come, with its slope by log t."""
    total = rates.sum(axis=1, keepdims=True) + others
    log_t = np.log(np.maximum(n, _TINY) / np.maximum(total, _TINY))
    low, high = np.full(n.shape, -30.0), np.full(n.shape, 30.0)  # where all are taken t has no end
    for _ in range(_ROUNDS):
        came, slopes = found(np.exp(log_t) * rates)
        rest = np.exp(log_t) * others
        excess = came.sum(axis=1, keepdims=True) + rest - n
        np.copyto(low, log_t, where=excess < 0)
        np.copyto(high, log_t, where=excess >= 0)
        following = log_t - excess / np.maximum(slopes.sum(axis=1, keepdims=True) + rest, _TINY)
        following = np.where((following > low) & (following < high), following, (low + high) / 2)
        done = np.abs(following - log_t)[n > 0].max(initial=0) < 1e-9
        log_t = following
        if done:
            break
    return np.exp(log_t)


def _odds(rates: NDArray[np.float64], whole: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return R x / (1 - R x), x = 1 - e^-λ, and its derivative by log λ."""
    left = np.exp(-np.minimum(rates, _LONG))
    never = left + (1 - whole) * (1 - left)
    return whole * -np.expm1(-np.minimum(rates, _LONG)) / never, whole * rates * left / never**2


class Choice(NamedTuple):
    """What users choose by: c, δ, and the mean log-likelihood there."""

    weights: NDArray[np.float64]
    exponent: float
    value: float


@dataclass(frozen=True)
class ChoiceProblem:
    r"""Log-likelihood of what users took, with several features of each pair of user and item.

    .. math::

        \ell(c, \delta) = \sum_u \Big(\sum_{j \in H_u} \log P_{uj} + \sum_{k \notin S_u \cup H_u} \log (1 - P_{uk})\Big)
            - \frac{\delta^2}{2 \cdot .3^2}, \quad \sum_{j \notin S_u} P_{uj} = |H_u|, \qquad
        \frac{P_{uj}}{1 - P_{uj}} = \frac{q_u r x_{uj}}{1 - r x_{uj}}, \quad
        x_{uj} = 1 - e^{-\lambda_{uj}}, \quad \lambda_{uj} = e^{a_u + n_u^\delta c \cdot \ell_{uj}}

    with H_u what of the user u was held out, and S_u what else was taken. Each item waits for an exponential time of
    rate λ, and all of S and H are what came in time. So the next to come is j with the probability of a conditional
    logit, :math:`\lambda_{uj} / \sum_k \lambda_{uk}`, and none comes twice: a logit of each choice by itself, whose
    items may repeat, takes the most likely ones for less likely than they are. If H is a random part q of what came,
    an item outside of S is in H with the odds above; if H came after S they have q = 1. A part 1 - r of all pairs never
    comes, however likely it looks, or is not recorded: without it, what is likeliest would be taken for too likely. How
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
    reach : float, default=1.0
        r, above 0 and at most 1.
    """

    features: Sequence[NDArray[np.float32]]
    seen: NDArray[np.bool_]
    chosen: tuple[NDArray[np.intp], NDArray[np.intp]]
    shares: NDArray[np.float64] | None = None
    activity: NDArray[np.float64] | None = None
    reach: float = 1.0

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
                b * _USERS_PER_BLOCK, min((b + 1) * _USERS_PER_BLOCK, n), features, marks, shares, self.reach, slopes,
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
