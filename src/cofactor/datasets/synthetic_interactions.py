"""Synthetic interactions, of millions of users, whose probabilities are known."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cofactor.checks import check_number, make_generator
from cofactor.datasets.types import InteractionDataset
from cofactor.errors import Argument, InvalidInputError
from cofactor.typing import RandomState

__all__ = ["InteractionTruth", "make_events", "make_interactions"]

_DRAWS = 1 << 20  # draws of one chunk of users: 50 MB
_ROUNDS = 30  # of draws for users whose draws hit the same item more than once
_MOST = 0.25  # share of all items that a user interacts with, at most
_FEW = 0.02  # share up to which items are drawn one after the other
_LIKING = 1.5  # standard deviation of log φ between factors
_CURIOUS = 0.5  # share of views that have nothing to do with what a user buys
_CARTED, _BOUGHT = 0.15, 0.4  # of views of what a user may buy, and of carts; where an item does not sell it is less
_SELLING = 2.0  # standard deviation of the logarithm of how well an item that is viewed sells
_NOW, _YEAR, _MINUTE = 1_700_000_000, 31_536_000, 60


@dataclass(frozen=True, eq=False)
class InteractionTruth:
    """What `make_interactions` knows about its interactions.

    Parameters
    ----------
    users : ndarray of shape (n_users, n_factors), float32
        Share of each factor in a user's interactions; rows sum to one.
    items : ndarray of shape (n_factors, n_items), float32
        How likely each item is, for each factor; rows sum to one.

    Examples
    --------
    >>> from cofactor.datasets import make_interactions
    >>> X, truth = make_interactions(100, 50, 500, 3, random_state=0)
    >>> truth.users.shape, truth.items.shape
    ((100, 3), (3, 50))
    """

    users: NDArray[np.float32]
    items: NDArray[np.float32]


def make_interactions(
    n_users: int = 1000,
    n_items: int = 500,
    n_interactions: int = 20_000,
    n_factors: int = 10,
    *,
    tail: float = 0.8,
    random_state: RandomState = None,
) -> tuple[csr_array[Any, Any], InteractionTruth]:
    r"""Sample interactions from a mixture whose users and items both have power laws.

    .. math::

        P(j \mid u) = \sum_k \theta_{uk} \varphi_{kj}, \qquad
        \varphi_{kj} \propto r_j^{-\tau} e^{1.5\, z_{kj}}, \quad \theta_u \sim \mathrm{Dirichlet}(0.2), \quad
        z \sim N(0, 1)

    with r a random order of the items. How many interactions a user has is proportional to a Pareto variable of
    exponent 2: a quarter of all items at most, each item once. It is made in chunks of users: beside the result, memory
    grows with users and items times factors only.

    Parameters
    ----------
    n_users, n_items : int, default 1000 and 500
        Size of the matrix.
    n_interactions : int, default 20000
        Number of interactions, at least one for each user; a few less where users draw the same items again and again.
    n_factors : int, default 10
        Number of factors k.
    tail : float, default 0.8
        Exponent τ of the popularity of items; 0 makes all alike before factors.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    interactions : csr_array of shape (n_users, n_items), float32
        Ones, with int32 indices where they suffice.
    truth : InteractionTruth
        θ and φ: ``truth.users @ truth.items`` are the probabilities of the first interaction.

    Raises
    ------
    InvalidInputError
        If there are fewer interactions than users, or more than a fifth of all cells.

    Examples
    --------
    >>> X, truth = make_interactions(200, 100, 2000, random_state=0)
    >>> X.shape, X.nnz, truth.users.shape
    ((200, 100), 2000, (200, 10))
    """
    for name, value in {"n_users": n_users, "n_items": n_items, "n_factors": n_factors}.items():
        check_number(name, value, low=1, whole=True)
    check_number("n_interactions", n_interactions, low=n_users, whole=True)
    check_number("tail", tail, low=0)
    if n_interactions > 0.2 * n_users * n_items:
        raise InvalidInputError(
            f"expected at most a fifth of the {n_users * n_items:,} cells",
            argument="n_interactions",
            found=n_interactions,
            advice=("lower it, or raise ", Argument("n_items")),
        )
    rng = make_generator(random_state)
    truth = _truth(rng, n_users, n_items, n_factors, tail)
    counts = shared_out(rng.random(n_users) ** -0.5, n_interactions, 1, max(1, int(_MOST * n_items)))
    ladders = np.cumsum(truth.items, axis=1, dtype=np.float64) + np.arange(n_factors)[:, None]
    ladders[:, -1] = np.arange(1, n_factors + 1)
    firsts = np.concatenate([[0], np.cumsum(counts)])
    chunks = np.unique(np.searchsorted(firsts, np.arange(0, n_interactions + _DRAWS, _DRAWS)).clip(max=n_users))
    found, sizes = [], []
    for lo, hi in pairwise(chunks):
        rows, columns = _chunk(rng, truth.users[lo:hi], ladders.ravel(), counts[lo:hi])
        found.append(columns.astype(np.int32))
        sizes.append(np.bincount(rows, minlength=hi - lo))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    indices = np.concatenate(found)
    if len(indices) <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(n_users, n_items)), truth


def make_events(
    n_users: int = 2000,
    n_items: int = 500,
    n_views: int = 40_000,
    n_factors: int = 10,
    *,
    tail: float = 0.8,
    random_state: RandomState = None,
) -> tuple[InteractionDataset, InteractionTruth]:
    r"""Sample the events of a shop: views, of which some are followed by a cart, and of these some by a purchase.

    Half of the views of a user are drawn as the interactions of `make_interactions`, though an item may be viewed
    again. They lead to a cart with probability :math:`.15\, s_j`, and a cart to a purchase with .4, where
    :math:`s_j \le 1` says how well an item sells: the logarithm of s is normal, of standard deviation 2, and cut at 0.
    The other views come from curiosity: of any item with probability proportional to :math:`r_j^{-\tau}`, and without
    consequence. Of a hundred views five lead to a cart, and two to a purchase.

    Parameters
    ----------
    n_users, n_items : int, default 2000 and 500
        Size of the shop.
    n_views : int, default 40000
        Number of views, at least one for each user, within a year.
    n_factors : int, default 10
        Number of factors.
    tail : float, default 0.8
        Exponent τ of the popularity of items.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    events : InteractionDataset
        With ``kinds`` "view", "cart" and "purchase", in the order of time.
    truth : InteractionTruth
        ``truth.users @ truth.items`` are the shares of purchases, items with :math:`s_j` in their rows.

    Examples
    --------
    >>> events, truth = make_events(200, 100, 4000, random_state=0)
    >>> events, sorted(set(events.kinds.tolist()))
    (InteractionDataset('shop': 4231 interactions, 200 users, 100 items), ['cart', 'purchase', 'view'])
    """
    for name, value in {"n_users": n_users, "n_items": n_items, "n_factors": n_factors}.items():
        check_number(name, value, low=1, whole=True)
    check_number("n_views", n_views, low=n_users, whole=True)
    check_number("tail", tail, low=0)
    rng = make_generator(random_state)
    truth = _truth(rng, n_users, n_items, n_factors, tail)
    selling = np.exp(np.minimum(_SELLING * rng.standard_normal(n_items), 0))
    users = np.repeat(np.arange(n_users), shared_out(rng.random(n_users) ** -0.5, n_views, 1, n_views))
    factors = _drawn(rng, np.cumsum(truth.users, axis=1, dtype=np.float64)[users])
    ladders = np.cumsum(truth.items, axis=1, dtype=np.float64) + np.arange(n_factors)[:, None]
    items = np.searchsorted(ladders.ravel(), factors + rng.random(n_views) * (1 - 1e-6), side="right") % n_items
    curious = rng.random(n_views) < _CURIOUS
    popular = np.cumsum((1.0 + rng.permutation(n_items)) ** -tail)
    items[curious] = np.searchsorted(popular, rng.random(int(curious.sum())) * popular[-1], side="right")
    carted = ~curious & (rng.random(n_views) < _CARTED * selling[items])
    bought = carted & (rng.random(n_views) < _BOUGHT)
    times = _NOW + (rng.random(n_views) * _YEAR).astype(np.int64)
    parts = [np.arange(n_views), np.flatnonzero(carted), np.flatnonzero(bought)]
    rows = np.concatenate(parts)
    stamps = np.concatenate([times[part] + k * _MINUTE for k, part in enumerate(parts)])
    order = np.argsort(stamps, kind="stable")
    kinds = np.repeat(np.array(["view", "cart", "purchase"]), list(map(len, parts)))[order]
    X = np.column_stack((users[rows], items[rows]))[order]
    data = InteractionDataset("shop", X, np.ones(len(X)), None, timestamps=stamps[order], kinds=kinds)
    bought_items = truth.items * selling.astype(np.float32)
    return data, InteractionTruth(truth.users, bought_items / bought_items.sum(axis=1, keepdims=True))


def _drawn(rng: np.random.Generator, ladders: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draw a column for each row of cumulated shares."""
    return np.asarray((rng.random(len(ladders))[:, None] * ladders[:, -1:] >= ladders).sum(axis=1))


def _truth(rng: np.random.Generator, n: int, m: int, d: int, tail: float) -> InteractionTruth:
    users = rng.standard_gamma(0.2, size=(n, d), dtype=np.float32) + np.float32(1e-6)
    users /= users.sum(axis=1, keepdims=True)
    log_rate = -tail * np.log(1.0 + rng.permutation(m)) + _LIKING * rng.standard_normal((d, m))
    items = np.exp(log_rate - log_rate.max(axis=1, keepdims=True))
    return InteractionTruth(users, (items / items.sum(axis=1, keepdims=True)).astype(np.float32))


def shared_out(weights: NDArray[np.float64], total: int, least: int, most: int) -> NDArray[np.int64]:
    """Share a total out by weights, between `least` and `most` each; those at the limit leave their share to others."""
    counts = np.full(len(weights), least)
    for _ in range(_ROUNDS):
        missing = total - counts.sum()
        if missing == 0:
            break
        shares = np.cumsum(weights * (counts < most))
        counts += np.diff(np.round(shares / shares[-1] * missing), prepend=0).astype(np.int64)
        counts = np.minimum(counts, most)
    return counts


def _chunk(
    rng: np.random.Generator, shares: NDArray[np.float32], ladder: NDArray[np.float64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return users and items of interactions, sorted; `ladder` has the distributions of items in a row."""
    (n, d), m = shares.shape, len(ladder) // shares.shape[1]
    factors = np.cumsum(shares, axis=1, dtype=np.float64)
    steps = (factors / factors[:, -1:] + np.arange(n)[:, None]).ravel()
    many = counts > _FEW * m
    keys, missing = _first_of_all(rng, shares, ladder, np.where(many, counts, 0)), np.where(many, 0, counts)
    for _ in range(_ROUNDS):
        rows = np.repeat(np.arange(n), missing)
        factor = np.searchsorted(steps, rows + rng.random(len(rows)), side="right") - rows * d
        wanted = factor.clip(0, d - 1) + rng.random(len(rows))
        order = np.argsort(wanted)  # walking along the ladder keeps to the cache
        columns = np.searchsorted(ladder, wanted[order], side="right") % m
        keys = np.sort(np.concatenate([keys, rows[order] * m + columns]), kind="stable")  # runs: merged
        keys = keys[np.diff(keys, prepend=-1) > 0]
        missing = counts - np.bincount(keys // m, minlength=n)
        if not missing.any():
            break
    return keys // m, keys % m


def _first_of_all(
    rng: np.random.Generator, shares: NDArray[np.float32], ladder: NDArray[np.float64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the keys of users with many items: all items in a random order by P, cut off."""
    d = shares.shape[1]
    m = len(ladder) // d
    items = np.diff(ladder.reshape(d, m) - np.arange(d)[:, None], axis=1, prepend=0)
    found = [np.zeros(0, dtype=np.int64)]
    for user in np.flatnonzero(counts):
        waiting = rng.standard_exponential(m) / np.maximum(shares[user] @ items, 1e-300)
        found.append(user * m + np.argpartition(waiting, counts[user] - 1)[: counts[user]])
    return np.concatenate(found)
