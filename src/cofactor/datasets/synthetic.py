"""Synthetic ratings whose complete matrix is known."""

import warnings
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_choice, check_number, make_generator
from cofactor.datasets.types import RatingDataset
from cofactor.errors import InvalidInputError
from cofactor.typing import RandomState

__all__ = ["make_ratings"]


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
