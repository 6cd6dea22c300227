"""Which item comes next: a conditional logit over the items that a user has not taken yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ChoiceProblem", "log_shares", "soft_log"]

_NEWTON_STEPS = 50
_HALVINGS = 30
_USERS_PER_BLOCK = 64
_LINEAR = np.float32(16)  # beyond, log(1 + eᵗ) is t, or eᵗ, to float32's precision
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


@dataclass(frozen=True)
class ChoiceProblem:
    r"""Log-likelihood of a conditional logit with several features of each pair.

    .. math::

        \ell(c) = \sum_u \sum_{j \in H_u} \Big(c \cdot \ell_{uj} - \log \sum_{k \notin S_u} e^{c \cdot \ell_{uk}}\Big)

    with H_u what the user u took next and S_u what was taken before. What belongs to the user alone cancels. It is
    concave in c.

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
        """Return the mean of the log-likelihood over choices, its gradient, and its Hessian."""
        rows, columns = self.chosen
        n_chosen = np.bincount(rows, minlength=len(self.seen)).astype(np.float64)
        value, gradient = 0.0, np.array([float(f[rows, columns].sum(dtype=np.float64)) for f in self.features])
        value = float(c @ gradient)
        hessian = np.zeros((len(c), len(c)))
        for lo in range(0, len(self.seen), _USERS_PER_BLOCK):
            part = slice(lo, lo + _USERS_PER_BLOCK)
            weights = n_chosen[part]
            blocks = [f[part] for f in self.features]
            utilities = sum(np.float32(w) * f for w, f in zip(c, blocks, strict=True))
            masked = np.where(self.seen[part], np.float32(-np.inf), utilities)
            highest = masked.max(axis=1)
            highest[~np.isfinite(highest)] = 0
            p = np.exp(masked - highest[:, None])
            total = p.sum(axis=1, dtype=np.float64)
            total[total == 0] = 1
            value -= float(weights @ (highest + np.log(total)))
            p *= (1 / total)[:, None].astype(np.float32)
            weighed = [p * f for f in blocks]
            means = np.array([f.sum(axis=1, dtype=np.float64) for f in weighed])
            gradient -= means @ weights
            for a, f in enumerate(weighed):
                for b in range(a + 1):
                    second = np.einsum("ij,ij->i", f, blocks[b], dtype=np.float64)
                    hessian[a, b] -= weights @ (second - means[a] * means[b])
        hessian += np.tril(hessian, -1).T
        n = max(len(rows), 1)
        return value / n, gradient / n, hessian / n

    def maximize(self, start: NDArray[np.float64] | None = None) -> tuple[NDArray[np.float64], float]:
        """Return the best c, by Newton's method with halved steps, and the mean log-likelihood of a choice there."""
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
