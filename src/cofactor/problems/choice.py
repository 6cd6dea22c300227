"""Which items come next, of those that a user has not taken yet: each waits for a time of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ChoiceProblem", "among_the_next", "log_shares", "soft_log"]

_NEWTON_STEPS = 50
_HALVINGS = 30
_USERS_PER_BLOCK = 64
_LINEAR = np.float32(16)  # beyond, log(1 + eᵗ) is t, or eᵗ, to float32's precision
_RARE = 1e-12  # a rate below which 1 - e^-λ is λ
_ROUNDS = 30  # of Newton's method for a user's own number, which needs four or so
_MOST = 20.0  # the logarithm of how many events are expected of a user, at most
_TINY = 1e-10  # of the Hessian's trace, so that features which say the same leave it regular


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


def among_the_next(shares: NDArray[np.floating], n_taken: NDArray[np.integer]) -> NDArray[np.float64]:
    r"""Return the probability of each item to be among the next that a user takes, one after the other.

    The next is j with the probability :math:`P_j`, and none comes twice. An item that waits for a time of rate
    :math:`P_j` has come by the time t with the probability :math:`1 - e^{-t P_j}`, and t is where these sum to the
    number taken: nearly exact (Rosén 1972).

    Parameters
    ----------
    shares : ndarray of shape (n, w)
        P of items, of which those left out, with the rest of the sum to 1, each have a small one.
    n_taken : ndarray of shape (n,)
        How many items each user takes next.

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
    t = np.array(n)
    for _ in range(_ROUNDS):  # from below, since the sum is concave in t; where all are taken it has no end
        came = np.exp(-t * P)
        rise = (P * came).sum(axis=1, keepdims=True) + rest
        t += (n - (1 - came).sum(axis=1, keepdims=True) - t * rest) / np.maximum(rise, _TINY)
    return np.asarray(1 - np.exp(-t * P))


@dataclass(frozen=True)
class ChoiceProblem:
    r"""Log-likelihood of what users took next, with several features of each pair of user and item.

    .. math::

        \ell(c) = \sum_u \max_{a_u} \Big(\sum_{j \in H_u} \log(1 - e^{-\lambda_{uj}})
            - \sum_{k \notin S_u \cup H_u} \lambda_{uk}\Big), \qquad \lambda_{uk} = e^{a_u + c \cdot \ell_{uk}}

    with H_u what the user u took next and S_u what was taken before. Each item waits for an exponential time of rate
    :math:`\lambda`, and those of H are the ones that came in time. So the next to come is j with the probability of a
    conditional logit, :math:`\lambda_{uj} / \sum_k \lambda_{uk}`, and none comes twice: a logit of each choice by
    itself, whose items may repeat, takes the most likely ones for less likely than they are. It is concave in c. How
    many come belongs to the user alone: :math:`a_u` is where the expected number of events of the open items agrees,
    :math:`\sum_{k \notin S_u} \lambda_{uk} = \sum_{j \in H_u} \lambda_{uj} / (1 - e^{-\lambda_{uj}})`.

    Parameters
    ----------
    features : sequence of ndarray of shape (n, m)
        The features ℓ, one array for each.
    seen : ndarray of shape (n, m), bool
        S.
    chosen : tuple of two ndarray
        Rows and columns of H, rows increasing.
    """

    features: Sequence[NDArray[np.float32]]
    seen: NDArray[np.bool_]
    chosen: tuple[NDArray[np.intp], NDArray[np.intp]]

    def derivatives(self, c: NDArray[np.float64]) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean of the log-likelihood over what was taken, its gradient, and its Hessian."""
        rows, columns = self.chosen
        totals, means, spreads = self._open_items(c)
        mine = np.array([f[rows, columns] for f in self.features], dtype=np.float64).T
        events = _Events.of(mine @ c, rows, totals)
        bend = np.zeros_like(means)
        np.add.at(bend, rows, events.bends[:, None] * mine)
        bend -= events.expected[:, None] * means
        own = np.bincount(rows, events.bends, minlength=len(totals)) - events.expected
        gradient = events.weights @ mine - events.expected @ means
        hessian = (events.bends[:, None] * mine).T @ mine - np.tensordot(events.expected, spreads, 1)
        hessian -= (bend / np.minimum(own, -_TINY)[:, None]).T @ bend
        n = max(len(rows), 1)
        return events.value / n, gradient / n, hessian / n

    def _open_items(
        self, c: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return log Σ exp(c · ℓ) over the open items of each user, and the mean of ℓ and of ℓℓᵀ by their shares."""
        n, K = len(self.seen), len(c)
        totals, means, spreads = np.full(n, -np.inf), np.zeros((n, K)), np.zeros((n, K, K))
        for lo in range(0, n, _USERS_PER_BLOCK):
            part = slice(lo, lo + _USERS_PER_BLOCK)
            blocks = [f[part] for f in self.features]
            utilities = sum(np.float32(w) * f for w, f in zip(c, blocks, strict=True))
            masked = np.where(self.seen[part], np.float32(-np.inf), utilities)
            highest = masked.max(axis=1)
            highest[~np.isfinite(highest)] = 0
            p = np.exp(masked - highest[:, None])
            total = p.sum(axis=1, dtype=np.float64)
            total[total == 0] = 1
            totals[part] = highest + np.log(total)
            p *= (1 / total)[:, None].astype(np.float32)
            for a, f in enumerate(blocks):
                weighed = p * f
                means[part, a] = weighed.sum(axis=1, dtype=np.float64)
                for b in range(a + 1):
                    second = np.einsum("ij,ij->i", weighed, blocks[b], dtype=np.float64)
                    spreads[part, a, b] = spreads[part, b, a] = second
        return totals, means, spreads

    def maximize(self, start: NDArray[np.float64] | None = None) -> tuple[NDArray[np.float64], float]:
        """Return the best c, by Newton's method with halved steps, and the mean log-likelihood there."""
        c = np.ones(len(self.features)) if start is None else np.array(start, dtype=np.float64)
        value, gradient, hessian = self.derivatives(c)
        for _ in range(_NEWTON_STEPS):
            ridge = _TINY - _TINY * np.trace(hessian)
            step = np.linalg.solve(ridge * np.eye(len(c)) - hessian, gradient)
            if gradient @ step < 1e-8:  # twice the rise that a quadratic promises
                break
            for _ in range(_HALVINGS):
                following = self.derivatives(c + step)
                if following[0] >= value:
                    break
                step = step / 2
            else:
                break
            c, (value, gradient, hessian) = c + step, following
        return c, value


@dataclass(frozen=True)
class _Events:
    """What came, under the best a_u: log-likelihood, and for each that came λ / (1 - e^-λ) and its slope in log λ.

    ``expected`` is Σ λ over the open items of each user.
    """

    value: float
    weights: NDArray[np.float64]
    bends: NDArray[np.float64]
    expected: NDArray[np.float64]

    @classmethod
    def of(cls, utilities: NDArray[np.float64], rows: NDArray[np.intp], totals: NDArray[np.float64]) -> _Events:
        n = len(totals)
        shares = utilities - totals[rows]
        with np.errstate(divide="ignore"):
            log_expected = np.log(np.bincount(rows, minlength=n))  # were all rates small
        some = np.isfinite(log_expected)
        for _ in range(_ROUNDS):
            weights, bends = _waited(np.exp(shares + log_expected[rows]))
            total = np.maximum(np.bincount(rows, weights, minlength=n), _TINY)
            slope = 1 - np.bincount(rows, bends, minlength=n) / total
            step = np.where(some, (np.log(total) - np.where(some, log_expected, 0)) / np.maximum(slope, 1e-3), 0)
            log_expected = np.minimum(log_expected + step, _MOST)  # of a user who took all there was it has no end
            if np.abs(step).max(initial=0) < 1e-10:
                break
        logs, expected = shares + log_expected[rows], np.exp(log_expected)
        rates = np.exp(logs)
        rare = rates < _RARE
        came = np.where(rare, logs, np.log(-np.expm1(-np.where(rare, 1.0, rates))))
        value = float(np.sum(rates + came) - expected.sum())
        return cls(value, *_waited(rates), expected)


def _waited(rates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return λ / (1 - e^-λ), and its derivative by log λ."""
    weights = np.ones_like(rates)
    np.divide(rates, -np.expm1(-rates), out=weights, where=rates > _RARE)
    return weights, weights * (1 - weights * np.exp(-rates))
