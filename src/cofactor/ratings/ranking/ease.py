"""EASE: each item regressed on all others, in closed form.

Linear autoencoders of interactions have closed forms by items, by users, or by leading singular vectors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.base import clone

from cofactor.checks import check_callback, make_generator, number, one_of, positive_weight, whole
from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.cooccurrences import co_occurrences, sums_by_lanes, sums_of_rows
from cofactor.kernels.lanes import LANES
from cofactor.kernels.threads import library_limit
from cofactor.model.estimator import learned, param
from cofactor.model.progress import Monitor
from cofactor.model.state import check_array, member
from cofactor.problems.singular import leading_vectors
from cofactor.ratings.blocks import each_block, each_cut, products_of_rows
from cofactor.ratings.data import Ratings, entries_of_rows
from cofactor.ratings.interaction_model import FitInput, Tags
from cofactor.ratings.ranking.base import POPULARITY_WEIGHT, ImplicitModel, Rows, single_contributions
from cofactor.ratings.ranking.held_out import HeldOut, Trials, Tuned, climb
from cofactor.solvers.result import Callback
from cofactor.typing import RandomState

#: Rows of XᵀX, or XXᵀ, up to which it is inverted, and the latter used, in double precision: where counts are large,
#: 1 - h is a small difference.
_PRECISE = 2048
_LOST = 0.5  # of a digit: with more than that rounding is all that is left
_WHOLE = 512  # rows of a matrix that is inverted in one piece
_ROWS = 256  # of a product that a thread computes
_ENTRIES_PER_BLOCK = 20_000
_COLUMNS = 64  # of singular vectors at a time: a row of them for each of a million users is 256 MB

#: Weights by name, of one of three forms: ``W``; ``K``, ``B`` and ``leverage``; or ``V``, ``kept`` and ``leverage``.
Weights = Mapping[str, Any]


#: Weights, and the diagonal of P.
Solution: TypeAlias = tuple[Weights, NDArray[np.floating]]


def closed_form(
    interactions: Ratings, values: NDArray[np.float32], solver: str, n_factors: int
) -> Callable[[float], Solution]:
    """Return what gives the solution that a penalty alpha asks for: the part that all alphas share is done once.

    Parameters
    ----------
    interactions : Ratings
    values : ndarray of shape (n_ratings,)
        What each interaction says: the entries of X.
    solver : {"primal", "dual", "low-rank"}
    n_factors : int
        Number of singular vectors, for the last.
    """
    if solver == "primal":
        return _primal(interactions, values)
    return _dual(interactions, values) if solver == "dual" else _low_rank(interactions, values, n_factors)


def _primal(interactions: Ratings, values: NDArray[np.float32]) -> Callable[[float], Solution]:
    r = interactions
    gram = _gram((r.col_indptr, r.col_indices, r.to_csr), (r.indptr, r.indices), values, len(r.items))

    def solve(alpha: float) -> Solution:
        P = _inverse(gram, alpha)
        diagonal = np.diag(P).copy()
        P /= -diagonal  # column j over P_jj
        np.fill_diagonal(P, 0)
        return {"W": P.astype(np.float32, copy=False)}, diagonal

    return solve


def _dual(interactions: Ratings, values: NDArray[np.float32]) -> Callable[[float], Solution]:
    r, order = interactions, np.arange(interactions.n_ratings, dtype=np.int32)
    back = np.empty(r.n_ratings, dtype=np.int32)
    back[r.to_csr] = order
    gram = _gram((r.indptr, r.indices, back), (r.col_indptr, r.col_indices), values[r.to_csr], len(r.users))
    B = sparse.csr_array((values, r.indices, r.indptr), shape=r.shape)

    def solve(alpha: float) -> Solution:
        K = _inverse(gram, alpha)
        pulled = B.T @ K  # (items, users): b_jᵀ K
        leverage = np.zeros(len(r.items))
        np.add.at(leverage, r.indices, pulled[r.indices, r.row_of_entry].astype(np.float64) * values)
        return {"K": K, "B": B, "leverage": leverage.astype(K.dtype)}, (1 - leverage) / alpha

    return solve


def _low_rank(interactions: Ratings, values: NDArray[np.float32], n_factors: int) -> Callable[[float], Solution]:
    V, squares = leading_vectors(
        lambda Q: _squared_times(interactions, values, Q), interactions.shape, n_factors, np.float32
    )

    def solve(alpha: float) -> Solution:
        kept = squares / (squares + alpha)
        weights = {"V": V, "kept": kept, "leverage": (V * V) @ kept}
        single = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in weights.items()}
        return single, (1 - weights["leverage"]) / alpha

    return solve


def _squared_times(interactions: Ratings, values: NDArray[np.float32], Q: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return XᵀX Q, a few columns at a time: X Q has a row for each user."""
    r, out = interactions, np.empty_like(Q)
    by_column = values[r.to_csr]

    def sums(indptr: Any, indices: Any, weights: Any, W: Any, into: Any) -> None:
        table = indptr, indices, weights, W.reshape(-1, LANES), into.reshape(-1, LANES)
        each_cut(lambda lo, hi: sums_by_lanes(lo, hi, *table), indptr, _ENTRIES_PER_BLOCK)

    width = -(-min(_COLUMNS, Q.shape[1]) // LANES) * LANES
    part, image = (np.zeros((size, width), dtype=np.float32) for size in (len(r.items), len(r.users)))
    for lo in range(0, Q.shape[1], width):
        here = Q[:, lo : lo + width]
        part[:, : here.shape[1]] = here
        sums(r.indptr, r.indices, values, part, image)
        sums(r.col_indptr, r.col_indices, by_column, image, part)
        out[:, lo : lo + width] = part[:, : here.shape[1]]
    return out


def _gram(columns: Any, rows: Any, values: NDArray[np.float32], size: int) -> NDArray[Any]:
    """Return XᵀX."""
    if size <= _PRECISE:
        X = sparse.csr_array((values.astype(np.float64), rows[1], rows[0]), shape=(len(rows[0]) - 1, size))
        return (X.T @ X).toarray(order="C")
    out = np.empty((size, size), dtype=np.float32)

    def block(lo: int, hi: int) -> None:
        co_occurrences(lo, hi, *columns, *rows, values, values, out[lo:hi])

    each_cut(block, columns[0], _ENTRIES_PER_BLOCK)
    return out


def _inverse(gram: NDArray[Any], alpha: float) -> NDArray[Any]:
    """Return (gram + alpha I)⁻¹."""
    A = np.array(gram)
    A[np.diag_indices_from(A)] += alpha
    before = A.diagonal().copy()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", linalg.LinAlgWarning)  # what is lost is looked at below
            _invert(A)
        # Their product is 1 / (1 - R²) of what is told from the others; of a singular matrix halves leave rounding.
        if not (before * A.diagonal()).max(initial=0) * np.finfo(A.dtype).eps * np.sqrt(len(A)) < _LOST:
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError:
        raise InvalidInputError(
            ("the co-occurrences with ", Argument("alpha", alpha), " on their diagonal cannot be inverted"),
            argument="alpha",
            advice="take a larger alpha",
        ) from None
    return A


def _invert(A: NDArray[Any]) -> None:
    """Replace a positive definite matrix by its inverse, by halves: nearly all of it is matrix products."""
    if len(A) <= _WHOLE:
        A[...] = linalg.solve(A, np.eye(len(A), dtype=A.dtype), assume_a="pos")
        return
    h = len(A) // 2
    first, between, last = A[:h, :h], A[:h, h:], A[h:, h:]
    _invert(first)
    pulled = np.empty_like(between)
    _each_rows(h, lambda lo, hi: np.matmul(first[lo:hi], between, out=pulled[lo:hi]))
    _add_symmetric(last, -pulled.T, between)  # Schur's complement
    _invert(last)
    _each_rows(h, lambda lo, hi: np.matmul(pulled[lo:hi], last, out=between[lo:hi]))
    _add_symmetric(first, between, pulled.T)
    np.negative(between, out=between)
    A[h:, :h] = between.T


def _add_symmetric(A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> None:
    """Add B C, which is symmetric, to A."""

    def rows(lo: int, hi: int) -> None:
        A[lo:hi, :hi] += B[lo:hi] @ C[:, :hi]

    def mirror(lo: int, hi: int) -> None:
        A[lo:hi, hi:] = A[hi:, lo:hi].T

    _each_rows(len(A), rows)
    _each_rows(len(A), mirror)


def _each_rows(n: int, task: Callable[[int, int], object]) -> None:
    """Let threads work on some rows each: what they compute is the same on any number of them."""
    each_block(task, n, _ROWS)


def multiply_rows(
    weights: Weights, rows: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], first: int, last: int
) -> NDArray[np.float32]:
    """Return X W for rows of X, of the items from `first` to `last` - 1.

    Without W itself, with Q = X (I + BᵀKB) or X V D Vᵀ: x - (x - q) / (1 - h), h being the leverages of items.
    """
    indptr, indices, values = rows
    n = len(indptr) - 1
    if "W" in weights:
        out = np.empty((n, last - first), dtype=np.float32)
        sums_of_rows(0, n, indptr, indices, values, weights["W"], first, out)
        return out
    m = len(weights["leverage"])
    values = values.astype(weights["leverage"].dtype, copy=False)
    X = sparse.csr_array((values, indices, indptr), shape=(n, m))
    if "K" in weights:
        B = weights["B"]
        part = B if last - first == m else B[:, first:last]
        through = np.asarray(part.T @ products_of_rows(np.asarray((X @ B.T).toarray()), weights["K"]).T).T
    else:
        V = weights["V"]
        reduced = np.zeros((n, V.shape[1]), dtype=np.float32)
        sums_of_rows(0, n, indptr, indices, values, V, 0, reduced)
        through = products_of_rows(reduced * weights["kept"], V[first:last])
    leverage = weights["leverage"]
    through /= 1 - leverage[first:last]
    here = (indices >= first) & (indices < last)
    own = indices[here]
    through[np.repeat(np.arange(n), np.diff(indptr))[here], own - first] -= (
        values[here] * leverage[own] / (1 - leverage[own])
    )
    return np.asarray(through, dtype=np.float32)


def _dense(rows: Rows, n_items: int) -> NDArray[np.float32]:
    indptr, indices, values = rows
    return sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, n_items)).toarray()


def scores_without(solution: Solution, whole: Rows, kept: Rows, asked: Rows) -> NDArray[np.float32]:
    r"""Return scores of items that users do not have, by weights which do not know what was held out of each of them.

    For each user alone a row x of X becomes y, so that P becomes
    :math:`P - P U (C + U^\top P U)^{-1} U^\top P` with U = (x, y) and C = diag(-1, 1), by Woodbury's formula. The
    products that it needs are those of P with rows: :math:`(P x)_j = P_{jj} (x - x W)_j`.

    Parameters
    ----------
    solution : tuple of Weights and ndarray
        Of all interactions.
    whole, kept : Rows
        x and y of users: all that each one has, and what was not held out.
    asked : Rows
        The rows that have the scores: y, or what it says by its age.
    """
    weights, diagonal = solution[0], solution[1].astype(np.float32)

    def through(rows: Rows) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        X = _dense(rows, len(diagonal))
        return X, (X - multiply_rows(weights, rows, 0, len(diagonal))) * diagonal

    (x, Px), (y, Py) = through(whole), through(kept)
    Pz = Py if asked is kept else through(asked)[1]
    xx, xy, yy, xz, yz = (
        np.einsum("ij,ij->i", left, right)[:, None] for left, right in ((x, Px), (x, Py), (y, Py), (x, Pz), (y, Pz))
    )
    below = (xx - 1) * (yy + 1) - xy**2
    first, both, second = (yy + 1) / below, -xy / below, (xx - 1) / below
    own = diagonal - first * Px**2 - 2 * both * Px * Py - second * Py**2
    return np.asarray((Px * (first * xz + both * yz) + Py * (both * xz + second * yz) - Pz) / own)


def check_weights(weights: Any, n_items: int) -> None:
    """Refuse weights read from a file which do not fit each other."""
    if not isinstance(weights, dict):
        raise InvalidInputError("the weights must have names")
    m = n_items
    if set(weights) == {"W"}:
        check_array("W", weights["W"], (m, m), np.float32)
        return
    n = np.shape(weights["K"])[0] if np.ndim(weights.get("K", 0)) else _PRECISE + 1
    precision = np.float64 if n <= _PRECISE else np.float32
    check_array("leverage", weights.get("leverage"), (m,), precision)
    if set(weights) == {"K", "B", "leverage"}:
        check_array("K", weights["K"], (n, n), precision)
        if not sparse.issparse(weights["B"]) or cast(Any, weights["B"]).shape != (n, m):
            raise InvalidInputError(f"B must be sparse of shape {(n, m)}")
    elif set(weights) == {"V", "kept", "leverage"}:
        d = np.shape(weights["kept"])[0] if np.ndim(weights["kept"]) else 0
        check_array("kept", weights["kept"], (d,), np.float32)
        check_array("V", weights["V"], (m, d), np.float32)
    else:
        raise InvalidInputError(f"weights of no known form: {sorted(weights)}")


#: Users or items, whichever are fewer, up to which the closed form is exact: each inverse of 9,000 takes a core 7 s.
_EXACT = 10_000

#: Where the search for alpha begins; 200 to 1,000 were best on MovieLens.
_FIRST = 400.0

#: Numbers of singular vectors that are tried.
_RANKS = (64, 128, 256, 512)

#: Rows of a matrix that is inverted in no time; as many items tell which alpha is best.
_FAST = 1500

#: Share of interactions up to which it hardly matters that others' held-out ones are known. Of a tenth it does: on
#: Flixster `Recommender` took to EASE for the sake of it, and nDCG@10 was .008 ± .002 lower.
_LITTLE = 0.02

_LEAST = 0.1  # what the oldest interactions say, with `recency`


class EASE(ImplicitModel):
    r"""Each item regressed on all others: the best simple model of interactions, without a single step of iteration.

    .. math::

        J(W) = \|X - X W\|_F^2 + \alpha \|W\|_F^2, \quad \operatorname{diag} W = 0

    with X = 1 where a user interacted with an item, or more for large `counts`, and 0 elsewhere. With
    :math:`P = (X^T X + \alpha I)^{-1}` the minimiser is :math:`W_{ij} = -P_{ij} / P_{jj}` off the diagonal. Where there
    are fewer users than items, :math:`K = (X X^T + \alpha I)^{-1}` gives the same scores, since
    :math:`\alpha P = I - X^T K X`; and where there are many of both, the leading singular vectors of X do nearly.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Weight of the penalty, above 0. "auto" holds out a tenth of the interactions of each user and doubles or halves
        alpha from 400 on while these come to stand higher in lists, by the mean of 1 / log2(1 + rank): see the notes.
        Before an inverse of more than 1,500 rows it looks at the 1,500 most popular items.
    solver : {"auto", "primal", "dual", "low-rank"}, default="auto"
        Inverse over items, over users, or `n_factors` singular vectors. "auto" takes an inverse where one of both is at
        most 10,000, that over users where items are more than twice as many, and else the vectors.
    n_factors : int or "auto", default="auto"
        Number of singular vectors, for "low-rank". "auto" doubles it from 64 to 512 while what is held out comes to
        stand higher in lists. See the notes.
    recency : float, optional
        Number of interactions after which an interaction says less by the factor e, at least .1, the newest saying 1;
        needs times. Only what is known of users is weighed, not what is learned of items. It is for what comes next:
        what is held out for "auto", and in a `Recommender`, is then the latest fifth of each user, not a random one.
        nDCG@10 of what was liked in the last fifth of each user of MovieLens 100K was .178, and .209 with
        ``recency=10``; of a `Recommender` .204, and .229 with ``[EASE(recency=10), LogisticMF()]``.
    {popularity_weight}
    {counts}
    {random_state}
        It is the seed of what is held out.
    {callback}
    {verbose}

    Attributes
    ----------
    alpha_, popularity_weight_ : float
        Those of the fit; the number of vectors is that of the columns of V.
    solver_ : str
        How it was solved.
    weights_ : dict of str to ndarray
        W; or K, X (as B) and the leverages :math:`1 - \alpha P_{jj}` of items; or V, the kept shares of its columns,
        and leverages.
    users_, items_, ratings_, popularity_, updates_
        See `ImplicitModel`.

    Notes
    -----
    nDCG@10 of held-out interactions (80/20 of each user, all unseen items ranked, one split), with the alpha that
    "auto" chose by places in lists, by the likelihood of a conditional logit before, and with the best of 25 to 1,600;
    the last two chose nothing:

    ============  ====  ==========  ====
    set           auto  likelihood  best
    ============  ====  ==========  ====
    ML-100K       .448  .448        .448
    latest-small  .372  .371        .372
    Steam         .472  .470        .472
    BookCrossing  .107  .103        .111
    made-up shop  .156  .156        .158
    Flixster      .133  .130        .133
    Douban        .159  .152        .162
    ============  ====  ==========  ====

    With 64, 128, 256 and 512 singular vectors instead of inverses, alpha being chosen for each, nDCG@10 was as below
    (another split, lists of 5,000 users): real interactions bear as many vectors as there are, those of three or twenty
    tastes do not.

    ==================  =====  =====  =====  =====  ======
    set                 64     128    256    512    "auto"
    ==================  =====  =====  =====  =====  ======
    ML-100K             .429   .434   .434   .435   .435
    ML-1M               .423   .425   .428   .437   .437
    Steam               .428   .459   .483   .498   .498
    Epinions            .087   .091   .097   .105   .105
    BookCrossing        .068   .079   .088   .101   .101
    Flixster            .106   .118   .130   .134   .134
    Douban              .131   .143   .144   .149   .149
    shop, 5,000 items   .110   .110   .110   .110   .110
    shop, 20,000 items  .104   .105   .105   .104   .104
    ==================  =====  =====  =====  =====  ======

    References
    ----------
    H. Steck, "Embarrassingly shallow autoencoders for sparse data", WWW 2019, doi:10.1145/3308558.3313710.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if u % 2 == i % 2 and (u, i) != (0, 4)]
    >>> model = EASE(alpha=1.0).fit(X)
    >>> items, scores = model.recommend([0], n=2)
    >>> items.tolist()
    [[4, 1]]
    >>> model.fold_in([("new", 1), ("new", 3)]).recommend(["new"], n=1)[0].tolist()
    [[5]]
    """

    tags = Tags(similar=True, explain=True)

    alpha: float | str = param(positive_weight("auto"), default="auto", kw_only=False)
    solver: str = param(one_of(["auto", "primal", "dual", "low-rank"]), default="auto")
    n_factors: int | str = param(whole(also=["auto"]), default="auto")
    recency: float | None = param(number(low=0, inclusive=False, also=[None]), default=None)
    popularity_weight: float | str = param(POPULARITY_WEIGHT, default="auto")
    random_state: RandomState = param(default=None)
    callback: Callback | None = param(check_callback, default=None)
    verbose: int = param(default=0)

    popularity_weight_: float = learned(check=number(low=0))
    alpha_: float = learned(check=number(low=0, inclusive=False))
    solver_: str = learned()
    weights_: Weights = learned()

    @property
    def asks_what_is_next(self) -> bool:
        """See `ImplicitModel`."""
        return self.recency is not None

    def _fit_bytes(self, interactions: Ratings) -> int:
        n, m = interactions.shape
        way = self._way(interactions)
        return 8 * m * min(self._most_factors, n, m) if way == "low-rank" else 12 * (m if way == "primal" else n) ** 2

    def n_operations(self, interactions: Ratings) -> float:
        """See `ImplicitModel`: those of an inverse."""
        way = self._way(interactions)
        return 0.0 if way == "low-rank" else float(interactions.shape[way == "primal"]) ** 3

    def _way(self, interactions: Ratings) -> str:
        n, m = interactions.shape
        if self.solver != "auto":
            return self.solver
        return "low-rank" if min(n, m) > _EXACT else "primal" if m <= min(2 * n, _EXACT) else "dual"

    @property
    def _most_factors(self) -> int:
        return _RANKS[-1] if isinstance(self.n_factors, str) else self.n_factors

    def _fit(self, given: FitInput) -> None:
        self._check_times(given.ratings)
        names = ("alpha", "n_factors") if self._way(given.ratings) == "low-rank" else ("alpha",)
        chosen, solution = self._chosen(given, int(make_generator(self.random_state).integers(2**31)), *names)
        self._solve(given.ratings, float(chosen["alpha"]), chosen.get("n_factors", 0), solution)

    def _solve(self, interactions: Ratings, alpha: float, n_factors: int, weights: Weights | None = None) -> None:
        self.alpha_, self.solver_ = alpha, self._way(interactions)
        if weights is None:
            with library_limit(1, "blas"):
                solve = closed_form(interactions, self._strengths(interactions), self.solver_, n_factors)
                weights = solve(alpha)[0]
        self.weights_ = weights

    def refit(self, given: FitInput, before: Self) -> None:
        """See `ImplicitModel`."""
        self._check_times(given.ratings)
        V = before.weights_.get("V")
        self._solve(given.ratings, before.alpha_, self._most_factors if V is None else V.shape[1])

    def tune(self, held_out: HeldOut, monitor: Monitor) -> Tuned:
        """See `ImplicitModel`.

        Where little was held out, an inverse is that of all interactions, and what was held out is taken from it for
        each user alone: so it is that of the fit. Else it would know more than other models of a `Recommender` do.
        """
        way = self._way(held_out.whole)
        few_out = len(held_out.chosen[0]) <= _LITTLE * held_out.whole.n_ratings
        of_all = way != "low-rank" and few_out  # singular vectors know what was held out
        train = self._knowing(held_out.train)
        whole = self._knowing(held_out.whole) if of_all else train
        interactions = held_out.whole if of_all else held_out.train
        solutions = dict[float, Weights]()

        def tried(first: float, searches: bool, n_factors: int = self._most_factors) -> Trials:
            """Try the first alpha, and go on from there if it is to be chosen."""
            with library_limit(1, "blas"):
                solve = closed_form(interactions, self._strengths(interactions), way, n_factors)

            def learn(alpha: float, **_: int) -> NDArray[np.float32]:
                with library_limit(1, "blas"):
                    solution = solve(alpha)
                if not of_all:
                    train.weights_ = solution[0]
                    return train.scores_in_levels(held_out.users)
                solutions[alpha] = solution[0]
                return whole.for_all_items(held_out.users, lambda some: without(some, solution))

            def gain(alpha: float) -> float:
                return trials.gain(alpha=alpha, **({"n_factors": n_factors} if way == "low-rank" else {}))

            trials = Trials(held_out, learn, monitor)
            if searches:
                climb(gain, first, 2)
            else:
                gain(first)
            return trials

        def without(users: NDArray[Any], solution: Solution) -> NDArray[np.float32]:
            kept = train._weighed_rows(users)
            asked = kept if self.recency is None else train._interaction_rows(users)
            return scores_without(solution, whole._weighed_rows(users), kept, asked)

        searches = isinstance(self.alpha, str) and len(held_out.users) > 0
        first = _FIRST if isinstance(self.alpha, str) else float(self.alpha)
        if way == "low-rank" and isinstance(self.n_factors, str) and len(held_out.users):
            best = tried(first, searches, _RANKS[0])
            for n_factors in _RANKS[1:]:
                more = tried(first, searches, n_factors)
                if more.highest <= best.highest:
                    break
                best = more
        elif searches and way != "low-rank" and held_out.whole.shape[way == "primal"] > _FAST:
            few = clone(self).set_params(solver="primal", popularity_weight=0.0)
            alpha = few.tune(held_out.of_most_popular(_FAST), monitor).settings["alpha"]
            best = tried(alpha, searches=False)
        else:
            best = tried(first, searches)
        return self._with_popularity(held_out, best, solutions.get(best.best["alpha"]))

    def _knowing(self, interactions: Ratings) -> Self:
        """Return an unfitted copy that knows interactions."""
        model = clone(self)
        model._check_times(interactions)
        model.set_interactions(interactions, None)
        return model

    def _check_times(self, interactions: Ratings) -> None:
        if self.recency is not None and interactions.times is None:
            raise InvalidInputError(
                (Argument("recency", self.recency), " needs the time of each interaction"),
                argument="time",
                advice=("give times, or leave ", Argument("recency"), " out"),
            )

    def _fold_in(self, given: FitInput) -> None:
        self._check_times(given.ratings)

    def _weighed_rows(self, users: NDArray[Any]) -> Rows:
        """Return the rows of X of users, as they are learned from."""
        return super()._interaction_rows(users)

    def _interaction_rows(self, users: NDArray[Any]) -> Rows:
        indptr, items, values = self._weighed_rows(users)
        interactions = self.require_ratings(())
        if self.recency is not None and interactions.times is not None:
            _, entries = entries_of_rows(interactions.indptr, users)
            values = values * _recent(indptr, interactions.times[entries], self.recency)
        return indptr, items, values

    def _score_range(self, users: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        return self._weighted_sums(self._interaction_rows(users), first, last)

    def contributions(self, user: int, items: NDArray[Any]) -> NDArray[Any]:
        """See `InteractionModel`."""
        return single_contributions(self._weighted_sums, self._interaction_rows(np.array([user])), items)

    def _weighted_sums(self, rows: Rows, first: int, last: int) -> NDArray[Any]:
        return multiply_rows(self.weights_, rows, first, last)

    def _check_learned(self) -> None:
        super()._check_learned()
        member(vars(self), "solver_", str)
        check_weights(self.weights_, len(self.items_))


def _recent(indptr: NDArray[np.int64], times: NDArray[np.float64], decay: float) -> NDArray[np.float32]:
    """Return what each interaction says, by how many of its user's are newer.

    Examples
    --------
    >>> _recent(np.array([0, 2, 3]), np.array([10.0, 20.0, 5.0]), 1.0).round(2).tolist()
    [0.3700000047683716, 1.0, 1.0]
    """
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((-times, rows))
    rank = np.empty(len(times))
    rank[order] = np.arange(len(times)) - indptr[rows]
    return np.maximum(np.exp(-rank / decay), _LEAST).astype(np.float32)
