"""Synthetic ratings, interactions and labels, of which the truth is known."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cofactor.checks import check_choice, check_number, make_generator
from cofactor.datasets.readers.matrices import generic_names, small_indices
from cofactor.datasets.types import InteractionDataset, LabelDataset, RatingDataset
from cofactor.errors import Argument, InvalidInputError
from cofactor.typing import LABEL_DTYPE, RandomState


@overload
def make_ratings(
    n_users: int = ...,
    n_items: int = ...,
    n_factors: int = ...,
    n_levels: int = ...,
    density: float = ...,
    *,
    start: Literal["factors", "uniform"] = ...,
    max_iter: int = ...,
    random_state: RandomState = ...,
    return_complete: Literal[False] = ...,
) -> RatingDataset: ...
@overload
def make_ratings(
    n_users: int = ...,
    n_items: int = ...,
    n_factors: int = ...,
    n_levels: int = ...,
    density: float = ...,
    *,
    start: Literal["factors", "uniform"] = ...,
    max_iter: int = ...,
    random_state: RandomState = ...,
    return_complete: Literal[True],
) -> tuple[RatingDataset, NDArray[np.float64]]: ...
@overload
def make_ratings(
    n_users: int = ...,
    n_items: int = ...,
    n_factors: int = ...,
    n_levels: int = ...,
    density: float = ...,
    *,
    start: Literal["factors", "uniform"] = ...,
    max_iter: int = ...,
    random_state: RandomState = ...,
    return_complete: bool,
) -> RatingDataset | tuple[RatingDataset, NDArray[np.float64]]: ...
def make_ratings(
    n_users: int = 1000,
    n_items: int = 1000,
    n_factors: int = 5,
    n_levels: int = 5,
    density: float = 0.1,
    *,
    start: Literal["factors", "uniform"] = "factors",
    max_iter: int = 2000,
    random_state: RandomState = None,
    return_complete: bool = False,
) -> RatingDataset | tuple[RatingDataset, NDArray[np.float64]]:
    r"""Sample entries of an integer matrix which low-rank factors reproduce exactly after rounding.

    From a random matrix :math:`Y \in \{1..R\}^{N \times M}` and random factors :math:`U`, the steps

    .. math::
        V = Y^T U (U^T U)^{-1}, \quad Y = [U V^T], \quad U = Y V (V^T V)^{-1}, \quad Y = [U V^T]

    repeat until Y no longer changes; [.] rounds to the nearest integer and clips to 1..R. Then
    ``density * N * M`` entries of Y are drawn without replacement.

    Parameters
    ----------
    n_users, n_items : int, default 1000
        N and M. Ids are 0..N-1 and 0..M-1, so that ``complete[data.X[:, 0], data.X[:, 1]]`` equals
        ``data.y``.
    n_factors : int, default 5
        d, number of columns of U and V; at most min(N, M).
    n_levels : int, default 5
        R, at least 2.
    density : float, default 0.1
        Share of the entries which are sampled, 0 < density <= 1 (at least one entry).
    start : {"factors", "uniform"}, default "factors"
        How Y and U are drawn; the source does not say it, and the result depends on it. ``"factors"``: U has a
        constant column and d - 1 standard normal ones; Y is the product of these normal columns and normal
        factors of the items, cut at its quantiles into R levels of equal frequency. So the complete matrix
        keeps all levels, and its structure has rank d. ``"uniform"``: the entries of Y are uniform on 1..R,
        those of U on [0, 1), independent of each other. Then there is no structure at the start: for
        N = M = 1000 and d = 2, 5, 10 between 89 and 98 % of the variance of the result are the users' means.
        (With normal U, nearly all of Y becomes 1.)
    max_iter : int, default 2000
        Largest number of rounds, each of both steps; with the defaults about 70 are needed.
    random_state : int, Generator, RandomState or None
        Seed; the same seed gives the same data, for any number of BLAS threads.
    return_complete : bool, default False
        Whether to return the complete matrix too.

    Returns
    -------
    data : RatingDataset
        The sampled entries, ordered by user and item.
    complete : ndarray of shape (n_users, n_items), float64
        The complete matrix; only with ``return_complete=True``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If Y still changes after `max_iter` rounds; then it is integer and close to low rank, but not stable.

    Notes
    -----
    Kumar, *Collaborative Filtering and Multi-Label Classification with Matrix Factorization*
    (thesis, Hyderabad 2018), section 3.6.1. The update of U is printed there as :math:`Y (V V^T)^{-1} V`,
    whose sizes do not fit; the form above is the least-squares solution that is meant.

    Examples
    --------
    >>> from cofactor.datasets import make_ratings
    >>> data, complete = make_ratings(60, 50, 2, density=0.2, random_state=0, return_complete=True)
    >>> data
    RatingDataset('synthetic': 600 ratings, 60 users, 50 items, scale 1 to 5 in 5 levels)
    >>> bool((complete[data.X[:, 0], data.X[:, 1]] == data.y).all())
    True
    """
    _check(n_users, n_items, n_factors, n_levels, density, start, max_iter)
    rng = make_generator(random_state)
    from cofactor.kernels.threads import library_limit  # only here, since Numba takes long to import

    # One thread, because the order of sums decides the ties of the rounding and hence everything after.
    with library_limit(1, "blas"):
        begin = _start_from_factors if start == "factors" else _start_uniform
        Y, U = begin(rng, n_users, n_items, n_factors, n_levels)
        n_rounds, stable = _stabilise(Y, U, n_levels, max_iter)
    if not stable:
        _warn_unstable(max_iter)
    n_ratings = max(1, round(density * Y.size))
    cells = np.sort(rng.choice(Y.size, size=n_ratings, replace=False, shuffle=False))
    X = np.column_stack(np.unravel_index(cells, Y.shape)).astype(np.int64)
    data = RatingDataset(
        name="synthetic",
        X=X,
        y=Y.ravel()[cells],
        scale=np.arange(1.0, n_levels + 1),
        description=(
            f"{n_ratings} entries of a {n_users} x {n_items} matrix with levels 1..{n_levels}, made from "
            f"{n_factors} factors in {n_rounds} rounds (start={start!r})"
        ),
    )
    return (data, Y) if return_complete else data


def _start_from_factors(
    rng: np.random.Generator, n_users: int, n_items: int, d: int, n_levels: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    U = rng.standard_normal((n_users, d))
    V = rng.standard_normal((n_items, d))
    U[:, 0] = 1.0  # keeps the mean level, which is not zero, within reach of the factors
    scores = U[:, 1:] @ V[:, 1:].T if d > 1 else U @ V.T
    cuts: NDArray[np.float64] = np.quantile(scores, np.arange(1, n_levels) / n_levels)
    levels = 1.0 + np.searchsorted(cuts, scores.ravel())
    return levels.reshape(scores.shape).astype(np.float64), U


def _start_uniform(
    rng: np.random.Generator, n_users: int, n_items: int, d: int, n_levels: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    Y = rng.integers(1, n_levels + 1, size=(n_users, n_items)).astype(np.float64)
    return Y, rng.random((n_users, d))


def _stabilise(Y: NDArray[np.float64], U: NDArray[np.float64], n_levels: int, max_iter: int) -> tuple[int, bool]:
    """Alternate the steps on `Y` in place until neither changes it; returns rounds, stable or not."""
    product = np.empty_like(Y)

    def round_into_y(left: NDArray[np.float64], right: NDArray[np.float64]) -> bool:
        np.matmul(left, right, out=product)
        np.rint(product, out=product)
        np.clip(product, 1.0, n_levels, out=product)
        if np.array_equal(product, Y):
            return False
        np.copyto(Y, product)
        return True

    for k in range(1, max_iter + 1):
        # The pseudo-inverse is the printed formula, and still defined where factors have lost rank.
        V_t = np.linalg.pinv(U) @ Y
        changed = round_into_y(U, V_t)
        U = Y @ np.linalg.pinv(V_t)
        changed |= round_into_y(U, V_t)
        if not changed:
            return k, True
    return max_iter, False


def _warn_unstable(max_iter: int) -> None:
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"make_ratings: the matrix still changed after max_iter={max_iter} rounds; raise max_iter, or "
        "take fewer factors",
        ConvergenceWarning,
        stacklevel=3,
    )


def _check(
    n_users: int, n_items: int, n_factors: int, n_levels: int, density: float, start: str, max_iter: int
) -> None:
    given = {"n_users": n_users, "n_items": n_items, "n_factors": n_factors, "max_iter": max_iter}
    for name, value in given.items():
        check_number(name, value, low=1, whole=True)
    check_number("n_levels", n_levels, low=2, whole=True)
    if n_factors > min(n_users, n_items):
        raise InvalidInputError(
            f"must not exceed min(n_users, n_items) = {min(n_users, n_items)}", argument="n_factors", found=n_factors
        )
    check_number("density", density, low=0, inclusive=False, high=1)
    check_choice("start", start, ("factors", "uniform"))


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
    counts = apportion(rng.random(n_users) ** -0.5, n_interactions, 1, max(1, int(_MOST * n_items)))
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
    users = np.repeat(np.arange(n_users), apportion(rng.random(n_users) ** -0.5, n_views, 1, n_views))
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


def apportion(weights: NDArray[np.float64], total: int, least: int, most: int) -> NDArray[np.int64]:
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


@dataclass(frozen=True, eq=False)
class LabelTruth:
    """What `make_labels` knows about its labels.

    Parameters
    ----------
    groups : ndarray of shape (L,), int64
        Group of each label.
    correlations : ndarray of shape (L, L), float64
        Correlation of the scores of two labels before noise; 0 between groups.
    coef : ndarray of shape (D, L), float64
        Linear map from features to scores, of rank ``n_groups * n_factors``.
    thresholds : ndarray of shape (L,), float64
        Label l is on where ``(X @ coef)[:, l]``, with noise, exceeds ``thresholds[l]``.

    Examples
    --------
    >>> from cofactor.datasets import make_labels
    >>> data, truth = make_labels(50, 12, 4, n_groups=2, random_state=0)
    >>> truth.groups.tolist()
    [0, 1, 0, 1]
    """

    groups: NDArray[np.int64]
    correlations: NDArray[np.float64]
    coef: NDArray[np.float64]
    thresholds: NDArray[np.float64]


def make_labels(
    n_instances: int = 1000,
    n_features: int = 100,
    n_labels: int = 20,
    *,
    n_groups: int = 4,
    n_factors: int = 3,
    correlation: float = 0.6,
    cardinality: float = 2.0,
    tail: float = 0.0,
    noise: float = 0.1,
    density: float = 1.0,
    random_state: RandomState = None,
) -> tuple[LabelDataset, LabelTruth]:
    r"""Sample features, and labels which depend on them through few factors, in groups.

    .. math::
        S = \sqrt{1-\nu}\, X A B + \sqrt{\nu}\, E, \qquad Y_{il} = 1 \iff S_{il} > \theta_l

    where A maps the features to uncorrelated factors of variance 1, ``n_factors`` for each group of labels, E is
    standard normal, and column l of B is :math:`\sqrt{\rho}\, c_g + \sqrt{1-\rho}\, e_l`, with :math:`c_g` the first
    factor of the group of l and :math:`e_l` a random unit vector in the other ones. So scores of labels of one group
    have the correlation :math:`\rho + (1-\rho)\, e_l \cdot e_m`, those of different groups are independent, and XAB has
    rank ``n_groups * n_factors``.

    Parameters
    ----------
    n_instances, n_features, n_labels : int, default 1000, 100, 20
        N, D and L.
    n_groups : int, default 4
        Number of groups; label l is in group ``l % n_groups``, so that sizes differ by 1 at most.
    n_factors : int, default 3
        Factors of each group; ``n_groups * n_factors`` must not exceed D. With 1, all labels of a group have the same
        score before noise.
    correlation : float, default 0.6
        ρ, 0 to 1.
    cardinality : float, default 2.0
        Mean number of labels of an instance.
    tail : float, default 0.0
        Frequencies fall as (rank of the label)^-tail, as in texts, where many labels are rare; with 0 all are equal.
        The ranks of the labels are random.
    noise : float, default 0.1
        ν, share of the variance of S which features do not explain, 0 to 1.
    density : float, default 1.0
        Share of nonzeros in X. Below 1, X is a CSR array of independent entries, uniform on (0, 1) where they are not
        0; with 1 it is dense, of standard normal entries.
    random_state : int, Generator, RandomState or None
        Seed; the same seed gives the same data for a fixed number of BLAS threads.

    Returns
    -------
    data : LabelDataset
        Each label is on in the ``round(N * frequency)`` instances with the highest scores.
    truth : LabelTruth
        Groups, correlations, coefficients and thresholds.

    Raises
    ------
    TypeError, ValueError
        If an argument is no integer or out of range.

    Examples
    --------
    >>> from cofactor.datasets import make_labels
    >>> data, truth = make_labels(200, 30, 6, n_groups=2, random_state=0)
    >>> data
    LabelDataset('synthetic': 200 instances, 30 features, 6 labels, 2.010 labels per instance, dense)
    >>> truth.groups.tolist()
    [0, 1, 0, 1, 0, 1]
    """
    _check_sizes(n_instances, n_features, n_labels, n_groups, n_factors)
    _check_shares(correlation, noise, density)
    rng = make_generator(random_state)
    frequencies = _frequencies(rng, n_labels, cardinality, tail)
    X, deviation = _features(rng, n_instances, n_features, density)
    groups = np.arange(n_labels) % n_groups
    A = np.linalg.qr(rng.standard_normal((n_features, n_groups * n_factors)))[0]
    B = _directions(rng, groups, n_groups, n_factors, correlation)
    coef = A @ B / deviation
    scores = np.asarray(X @ coef)
    scores -= scores.mean(axis=0)
    noisy = np.sqrt(1 - noise) * scores + np.sqrt(noise) * rng.standard_normal(scores.shape)
    Y, cuts = _highest(noisy, np.rint(n_instances * frequencies).astype(np.int64))
    shift = np.asarray(X @ coef).mean(axis=0)
    data = LabelDataset(
        name="synthetic",
        X=X,
        Y=Y,
        feature_names=generic_names("x", n_features),
        label_names=generic_names("y", n_labels),
        description=f"synthetic, {n_groups} groups of labels, of rank {n_groups * n_factors}",
    )
    # Noise has mean 0, so a cut of S is a cut of the scores without noise, up to their scale.
    thresholds = cuts / np.sqrt(1 - noise) + shift if noise < 1 else np.full(n_labels, np.inf)
    return data, LabelTruth(groups, B.T @ B, coef, thresholds)


def _features(rng: np.random.Generator, n: int, D: int, density: float) -> tuple[Any, float]:
    """X with independent entries, and their standard deviation."""
    if density == 1:
        return rng.standard_normal((n, D)), 1.0
    counts = rng.binomial(D, density, size=n)
    columns = [np.sort(rng.choice(D, size=k, replace=False)) for k in counts.tolist()]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = np.concatenate(columns).astype(np.int64)
    X = small_indices(csr_array((1.0 - rng.random(len(indices)), indices, indptr), (n, D)))
    return X, float(np.sqrt(density / 3 - density**2 / 4))


def _directions(
    rng: np.random.Generator, groups: NDArray[np.int64], n_groups: int, k: int, correlation: float
) -> NDArray[np.float64]:
    """Return B: unit columns, where each group of labels has its own rows."""
    B = np.zeros((n_groups, k, len(groups)))
    own = rng.standard_normal((k - 1, len(groups)))
    own /= np.linalg.norm(own, axis=0) if k > 1 else 1.0
    labels = np.arange(len(groups))
    B[groups, 0, labels] = np.sqrt(correlation) if k > 1 else 1.0
    for j in range(1, k):
        B[groups, j, labels] = np.sqrt(1 - correlation) * own[j - 1]
    return B.reshape(n_groups * k, len(groups))


def _frequencies(rng: np.random.Generator, n_labels: int, cardinality: float, tail: float) -> NDArray[np.float64]:
    check_number("tail", tail, low=0)
    weights = np.arange(1.0, n_labels + 1) ** -tail
    frequencies: NDArray[np.float64] = cardinality * weights / weights.sum()
    if cardinality <= 0 or frequencies.max() > 1:
        raise InvalidInputError(
            ("with ", Argument("tail", tail), f" asks for a label in {frequencies.max():.2f} of the instances"),
            argument="cardinality",
            found=cardinality,
            advice="expected a cardinality above 0, and no frequency above 1",
        )
    return rng.permutation(frequencies)


def _highest(scores: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[csr_array, NDArray[np.float64]]:
    """Labels that are on in the rows with the highest scores, label l in `counts[l]` rows; and the cuts below them."""
    n = len(scores)
    order = np.sort(scores, axis=0)
    labels = np.arange(scores.shape[1])
    below = order[np.clip(n - counts - 1, 0, n - 1), labels]
    above = order[np.clip(n - counts, 0, n - 1), labels]
    cuts = np.where(counts == 0, order[-1], np.where(counts == n, np.nextafter(order[0], -np.inf), (below + above) / 2))
    return small_indices(csr_array((scores > cuts).astype(LABEL_DTYPE))), cuts


def _check_sizes(n_instances: int, n_features: int, n_labels: int, n_groups: int, n_factors: int) -> None:
    given = {
        "n_instances": n_instances,
        "n_features": n_features,
        "n_labels": n_labels,
        "n_groups": n_groups,
        "n_factors": n_factors,
    }
    for name, value in given.items():
        check_number(name, value, low=1, whole=True)
    if n_groups > n_labels:
        raise InvalidInputError(
            ("must not exceed ", Argument("n_labels", n_labels)), argument="n_groups", found=n_groups
        )
    if n_groups * n_factors > n_features:
        raise InvalidInputError(
            (f"n_groups * n_factors = {n_groups * n_factors} must not exceed ", Argument("n_features", n_features)),
            argument="n_features",
        )


def _check_shares(correlation: float, noise: float, density: float) -> None:
    for name, value in (("correlation", correlation), ("noise", noise)):
        check_number(name, value, low=0, high=1)
    check_number("density", density, low=0, inclusive=False, high=1)
