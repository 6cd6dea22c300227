"""Linear autoencoders of interactions in closed form: by items, by users, or by leading singular vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.cooccurrences import co_occurrences, sums_by_lanes, sums_of_rows
from cofactor.kernels.lanes import LANES
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.model.state import check_array
from cofactor.problems.singular import leading_vectors
from cofactor.ratings.blocks import each_block, products_of_rows
from cofactor.ratings.data import Ratings

__all__ = ["check_weights", "closed_form", "weighed_table"]

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


def closed_form(
    interactions: Ratings, values: NDArray[np.float32], solver: str, n_factors: int
) -> Callable[[float], Weights]:
    """Return what gives the weights that a penalty alpha asks for: the part that all alphas share is done once.

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


def _primal(interactions: Ratings, values: NDArray[np.float32]) -> Callable[[float], Weights]:
    r = interactions
    gram = _gram((r.col_indptr, r.col_indices, r.to_csr), (r.indptr, r.indices), values, len(r.items))

    def solve(alpha: float) -> Weights:
        P = _inverse(gram, alpha)
        P /= -np.diag(P).copy()  # column j over P_jj
        np.fill_diagonal(P, 0)
        return {"W": P.astype(np.float32, copy=False)}

    return solve


def _dual(interactions: Ratings, values: NDArray[np.float32]) -> Callable[[float], Weights]:
    r, order = interactions, np.arange(interactions.n_ratings, dtype=np.int32)
    back = np.empty(r.n_ratings, dtype=np.int32)
    back[r.to_csr] = order
    gram = _gram((r.indptr, r.indices, back), (r.col_indptr, r.col_indices), values[r.to_csr], len(r.users))
    B = sparse.csr_array((values, r.indices, r.indptr), shape=r.shape)

    def solve(alpha: float) -> Weights:
        K = _inverse(gram, alpha)
        pulled = B.T @ K  # (items, users): b_jᵀ K
        leverage = np.zeros(len(r.items))
        np.add.at(leverage, r.indices, pulled[r.indices, r.row_of_entry].astype(np.float64) * values)
        return {"K": K, "B": B, "leverage": leverage.astype(K.dtype)}

    return solve


def _low_rank(interactions: Ratings, values: NDArray[np.float32], n_factors: int) -> Callable[[float], Weights]:
    V, squares = leading_vectors(
        lambda Q: _squared_times(interactions, values, Q), interactions.shape, n_factors, np.float32
    )

    def solve(alpha: float) -> Weights:
        kept = squares / (squares + alpha)
        weights = {"V": V, "kept": kept, "leverage": (V * V) @ kept}
        return {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in weights.items()}

    return solve


def _squared_times(interactions: Ratings, values: NDArray[np.float32], Q: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return XᵀX Q, a few columns at a time: X Q has a row for each user."""
    r, out = interactions, np.empty_like(Q)
    row_cuts, column_cuts = (cut_rows(indptr, _ENTRIES_PER_BLOCK) for indptr in (r.indptr, r.col_indptr))
    by_column = values[r.to_csr]

    def sums(cuts: NDArray[Any], indptr: Any, indices: Any, weights: Any, W: Any, into: Any) -> None:
        tables = W.reshape(-1, LANES), into.reshape(-1, LANES)
        parallel_for(lambda k: sums_by_lanes(cuts[k], cuts[k + 1], indptr, indices, weights, *tables), len(cuts) - 1)

    width = -(-min(_COLUMNS, Q.shape[1]) // LANES) * LANES
    part, image = (np.zeros((size, width), dtype=np.float32) for size in (len(r.items), len(r.users)))
    for lo in range(0, Q.shape[1], width):
        here = Q[:, lo : lo + width]
        part[:, : here.shape[1]] = here
        sums(row_cuts, r.indptr, r.indices, values, part, image)
        sums(column_cuts, r.col_indptr, r.col_indices, by_column, image, part)
        out[:, lo : lo + width] = part[:, : here.shape[1]]
    return out


def _gram(columns: Any, rows: Any, values: NDArray[np.float32], size: int) -> NDArray[Any]:
    """Return XᵀX."""
    if size <= _PRECISE:
        X = sparse.csr_array((values.astype(np.float64), rows[1], rows[0]), shape=(len(rows[0]) - 1, size))
        return (X.T @ X).toarray(order="C")
    out = np.empty((size, size), dtype=np.float32)
    cuts = cut_rows(columns[0], _ENTRIES_PER_BLOCK)

    def block(k: int) -> None:
        lo, hi = cuts[k], cuts[k + 1]
        co_occurrences(lo, hi, *columns, *rows, values, values, out[lo:hi])

    parallel_for(block, len(cuts) - 1)
    return out


def _inverse(gram: NDArray[Any], alpha: float) -> NDArray[Any]:
    """Return (gram + alpha I)⁻¹."""
    A = np.array(gram)
    A[np.diag_indices_from(A)] += alpha
    before = A.diagonal().copy()
    try:
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


def weighed_table(
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
