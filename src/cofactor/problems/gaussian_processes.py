"""Latent positions of items, on which the ratings of each user are a Gaussian process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cofactor.kernels import gaussian_processes as kernels
from cofactor.kernels.threads import parallel_for
from cofactor.problems.base import PenalizedProblem

#: Users whose gradients are computed at the same time before their steps are taken. It is not the number of threads, so
#: that results do not depend on that, and below the ten or so users whose gradients a momentum of 0.9 mixes anyway.
USERS_AT_ONCE = 8

#: Largest number of ratings of a process; a user with more counts as several while positions are learned.
MOST_RATINGS = 1000

#: Bounds of a parameter, ratings having a variance about one: less noise would leave K singular to single precision.
LEAST, MOST = 1e-3, 1e3
_LOG_BOUNDS = math.log(LEAST), math.log(MOST)

#: Step length of the logarithms of kernel parameters, as a share of that of positions.
KERNEL_STEP = 0.01


class LatentProcesses(PenalizedProblem):
    r"""Positions V of items and a covariance, from ratings which are a Gaussian process of each user.

    .. math::

        J(V, \kappa) = - \sum_i \log N(y_i; 0, K_i) + \tfrac{\alpha}{2} \|V\|_F^2, \qquad
        (K_i)_{jk} = s \, e^{-\gamma \|v_j - v_k\|^2 / 2} + l \, v_j \cdot v_k + b + \sigma^2 [j = k]

    over the items j, k which user i rated. κ = (s, γ, l, b, σ²); some of them may be fixed.

    Parameters
    ----------
    indptr : ndarray of shape (n_users + 1,)
        The entries of user i are ``indptr[i]:indptr[i + 1]``.
    items : ndarray of shape (n_entries,), int32
        Item of each entry.
    targets : ndarray of shape (n_entries,)
        y, with a mean near zero and a variance near one.
    shape : tuple of int
        Number of items and d, the shape of V.
    alpha : float
        α.
    present, free : sequence of bool
        Which of κ are not zero, and which of these are learned.
    momentum : float, default=0.9
        Share of a step that the next one repeats.
    most_ratings : int, default=1000
        A user with more ratings counts as several users in J, which share the ratings in turn.
    dtype : dtype, default=float32
        Of the vector of parameters, and of all sums within a user.

    Attributes
    ----------
    layout : Layout
        Where V and log κ, "kernel", stand in the vector of parameters.
    n_rows : int
        Number of processes.
    smooth : bool
        True.
    """

    def __init__(
        self,
        indptr: np.ndarray,
        items: np.ndarray,
        targets: np.ndarray,
        *,
        shape: tuple[int, int],
        alpha: float,
        present: Sequence[bool],
        free: Sequence[bool],
        momentum: float = 0.9,
        most_ratings: int = MOST_RATINGS,
        dtype: np.typing.DTypeLike = np.float32,
    ) -> None:
        super().__init__({"V": shape, "kernel": (kernels.N_KAPPA,)}, {}, True, dtype)
        self.alpha, self.momentum = float(alpha), float(momentum)
        self.free, self.present = np.array(free), np.array(present)
        self._indptr, order = _processes(indptr, most_ratings)
        self._items, self._targets = items[order], targets[order].astype(self.dtype)
        self.n_rows = len(self._indptr) - 1
        # The penalty of an item is divided among the users who rated it: the step of each includes one share.
        counts = np.maximum(np.bincount(items, minlength=shape[0]), 1)
        self._shares = (self.alpha / counts).astype(self.dtype)
        # This much of the penalty belongs to the users whose steps momentum still adds up.
        self._mixed = self.alpha * np.maximum(1 / counts, min(1, 1 / ((1 - self.momentum) * max(self.n_rows, 1))))
        self._rows = np.empty((len(items), shape[1]), self.dtype)
        self._dlog = np.empty((self.n_rows, kernels.N_KAPPA))
        self._loglik = np.empty(self.n_rows)

    def arrays(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return V, a view of x, and κ."""
        views = self.layout.views(x)
        return views["V"], (np.exp(views["kernel"]) * self.present).astype(self.dtype)

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J and write its gradient."""
        V, kappa = self.arrays(x)
        self._user_gradients(V, kappa, np.arange(self.n_rows))
        views = self.layout.views(gradient)
        total = self.alpha * V.astype(np.float64)
        kernels.add_rows(self._items, -self._rows, total)
        views["V"][...] = total
        views["kernel"][...] = -self._dlog.sum(axis=0) * self.free
        return 0.5 * self.alpha * float(np.square(V, dtype=np.float64).sum()) - float(self._loglik.sum())

    def certificate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the norm of the gradient, summed in double precision."""
        return float(np.sqrt(np.square(gradient, dtype=np.float64).sum()))

    def stochastic_pass(self, x: np.ndarray, order: np.ndarray, inverse_step: float) -> float:
        """Take a step for each process of `order`, in place; the step length stays."""
        views = self.layout.views(x)
        V, logs = views["V"], views["kernel"].astype(np.float64)
        velocity, log_velocity = np.zeros_like(V), np.zeros(len(logs))
        eta = 1 / inverse_step
        # Shorter steps where the penalty is strong, so that it cannot overshoot; for data and penalty alike, so that
        # both are at rest in the same place.
        steps = (eta / (1 + eta * self._mixed / (1 - self.momentum))).astype(self.dtype)
        for lo in range(0, len(order), USERS_AT_ONCE):
            some = order[lo : lo + USERS_AT_ONCE]
            kappa = (np.exp(logs) * self.present).astype(self.dtype)
            self._user_gradients(V, kappa, some)
            kernels.momentum_steps(
                some, self._indptr, self._items, self._rows, self._dlog, self._shares, V, velocity, steps,
                logs, log_velocity, eta * KERNEL_STEP * self.free, self.momentum, *_LOG_BOUNDS,
            )  # fmt: skip
        # The remaining momentum is applied at once: so all users count alike, whatever their place in the order, and a
        # pass of short steps goes along the gradient of J.
        rest = self.momentum / (1 - self.momentum)
        V += rest * velocity
        views["kernel"][...] = np.clip(logs + rest * log_velocity, *_LOG_BOUNDS)
        return inverse_step

    def _user_gradients(self, V: np.ndarray, kappa: np.ndarray, users: np.ndarray) -> None:
        def task(k: int) -> None:
            u = users[k]
            here = slice(self._indptr[u], self._indptr[u + 1])
            items, targets = self._items[here], self._targets[here]
            self._loglik[u] = kernels.user_gradient(V, items, targets, kappa, self._rows[here], self._dlog[u])

        parallel_for(task, len(users))


class HeldOutProcesses(LatentProcesses):
    """Latent processes whose value, for a solver, is not J but how badly they predict held-out ratings.

    The value is the perplexity of held-out ratings: one over the geometric mean of their densities, each given all
    other ratings of its user. So solvers that undo a rise of the value stop before positions fit single ratings.

    Parameters
    ----------
    held_out : tuple of ndarray
        User, item and target of each held-out rating; they are not among the entries.
    **settings
        As of `LatentProcesses`.
    """

    def __init__(
        self,
        indptr: np.ndarray,
        items: np.ndarray,
        targets: np.ndarray,
        *,
        held_out: tuple[np.ndarray, np.ndarray, np.ndarray],
        **settings: Any,
    ) -> None:
        super().__init__(indptr, items, targets, **settings)
        self._user_indptr, self._user_items, self._user_targets = indptr, items, targets.astype(self.dtype)
        self._held_out = held_out

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the perplexity; it is only watched, not minimised by gradients, so the gradient is set to zero."""
        gradient[...] = 0
        V, kappa = self.arrays(x)
        users, items, targets = self._held_out
        losses = np.empty(len(users))
        held_out = users, items, targets, self._user_indptr, self._user_items, self._user_targets

        def block(k: int) -> None:
            lo = k * USERS_AT_ONCE
            hi = min(lo + USERS_AT_ONCE, len(users))
            kernels.held_out_losses(lo, hi, *held_out, V, kappa, losses)

        parallel_for(block, -(-len(users) // USERS_AT_ONCE))
        return float(np.exp(losses.mean()))

    def certificate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the norm of the gradient of J."""
        super().value_gradient(x, gradient)
        return super().certificate(x, gradient)


def _processes(indptr: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets of processes with at most `most` ratings, and the order of the entries they refer to.

    If a user has p processes, each takes every p-th entry: so they have about the same size, and neighbouring items,
    which may be similar, are in different processes. Users without ratings have no process.
    """
    counts = np.diff(indptr)
    pieces = -(-counts // most)
    first = np.concatenate([[0], np.cumsum(pieces)])
    user = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(indptr[-1]) - indptr[user]
    process = first[user] + position % np.maximum(pieces[user], 1)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(process, minlength=first[-1]))])
    return offsets, np.argsort(process, kind="stable")
