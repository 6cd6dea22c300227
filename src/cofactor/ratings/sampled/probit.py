r"""What the models share whose levels are scores with normal noise: predictions, and means of the factors.

Factors are posterior means; the draws are first turned into one frame, since each may be in a frame of its own.

With :math:`e_i = (u_i, b_i, 1)` and :math:`f_j = (v_j, 1, c_j)` the score is :math:`x_{ij} = e_i \cdot f_j`, and no
rating tells e, f from :math:`e T, f T^{-T}`. A *frame* is such a T for a draw, the only one, but for rotations, where

- the factors have mean zero over the users, and over the items, of training, so that what belongs to a user or an item
  alone is bias, and the item biases have mean zero;
- they are *balanced*: :math:`u^T u / n = v^T v / m`, so that the singular values of the interaction are shared evenly.

The rotation is that of generalized Procrustes analysis: each draw is turned onto the mean of all, which is found anew
until it stays (Gower 1975), and turned onto its own principal axes in the end.

J. C. Gower, "Generalized Procrustes analysis", Psychometrika 40, 1975, doi:10.1007/BF02291478.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.gibbs import level_probabilities
from cofactor.kernels.ranking import rough_expectations
from cofactor.kernels.threads import library_limit
from cofactor.model.state import check_array
from cofactor.ratings.interaction_model import Tags
from cofactor.ratings.sampled.samples import Draws, evenly_spaced
from cofactor.ratings.scoring import Criterion, Expectation

_Array = NDArray[np.float64]

#: Draws whose mean is the reference, evenly spaced; all are turned onto it.
_REFERENCE_DRAWS = 20

#: The reference is found when its square grows by less than this share.
_TOL = 1e-5
_MOST_TURNS = 50

#: What a file holds of the means.
_SAVED = "frames", "users", "items"

#: Share of the mean square added to Gram matrices, so that factors which are no more than rounding count as zero.
_RANK = 1e-9


class PosteriorMeans:
    r"""Means of samples of factors, each computed when it is asked for.

    The score of a pair is :math:`x_{ij} = U_i \cdot V_j + b_i + c_j` in every draw, which may turn and stretch the
    factors, and move parts of the biases into them, from sweep to sweep: the likelihood does not tell. So each draw is
    centred, balanced, and turned onto the mean of all (see `cofactor.ratings.sampled.probit`); that leaves its
    scores as they are. Features, and who rated what, need nothing of their own: they are part of the prior's means, and
    so of the rows drawn.

    The means are for what asks for one vector a user and item: similarity of items, neighbours, maps, export to other
    software. They are **not** the model: predictions average over draws, and the mean of a product is not the product
    of means. On MovieLens 100K (80 % of the ratings, defaults), :math:`U_i \cdot V_j` from the means had a correlation
    of .998 with the posterior mean of the interaction, and 99.7 % of its size, for `OrdinalProbit`; for `BPMF`, 30
    factors of which half are hardly more than noise, .953 and 95 %. Expected ratings from the means had an RMSE of
    .8719 on the other 20 % for `OrdinalProbit`, where the model's own had .8710; for `BPMF` .897 and .898. They know
    nothing of their uncertainty: for users and items with few ratings they lie near the prior's mean.

    They are valid as far as the chains are: several that have not mixed are averaged all the same. Axes are ordered by
    length; those of nearly equal length may be mixed by another seed, while products of rows, and angles between them,
    stay nearly what they are.

    Parameters
    ----------
    samples : dict of str to ndarray
        Of ``U`` and ``V``, with the biases as one more column if `biased`.
    biased : bool
    shadow : ndarray of shape (n_users,), bool, or None
        Users who are not to make up the frame.
    source : tuple of PosteriorMeans and ndarray of int, or None
        Those whose frames these have, and which of their draws: see `under`.
    """

    def __init__(
        self,
        samples: dict[str, NDArray[np.float32]],
        biased: bool,
        shadow: NDArray[np.bool_] | None,
        source: tuple[PosteriorMeans, NDArray[np.int64]] | None = None,
    ) -> None:
        self.samples, self.biased = samples, biased
        self._shadow, self._source = shadow, source

    def under(self, chosen: NDArray[np.int64], samples: dict[str, NDArray[np.float32]]) -> PosteriorMeans:
        """Return those of other rows, drawn under some of these samples."""
        return PosteriorMeans(samples, self.biased, None, (self, chosen))

    @classmethod
    def from_state(cls, state: dict[str, NDArray[np.float32]]) -> Self:
        """Return what `to_state` returned, nothing of which is computed again; `of_samples` has to follow."""
        means = cls({}, False, None)
        means.frames, means.users, means.items = (state[name] for name in _SAVED)
        return means

    def of_samples(self, samples: dict[str, NDArray[np.float32]], biased: bool) -> None:
        """Take these for the samples that they are means of, or refuse means that do not fit them."""
        (S, n, d), m = samples["U"].shape, samples["V"].shape[1]
        d += 2 - biased
        for name, shape in {"frames": (S, d, d), "users": (n - 1, d), "items": (m - 1, d)}.items():
            check_array(f"{name} of means_", getattr(self, name), shape, np.float32)
        self.samples, self.biased = samples, biased

    def to_state(self) -> dict[str, NDArray[np.float32]]:
        """Return what a file holds of the means."""
        return {name: getattr(self, name) for name in _SAVED}

    @cached_property
    def users(self) -> NDArray[np.float32]:
        """The means of (u, b, 1)."""
        draws = zip(self.samples["U"], self.frames.astype(np.float64), strict=True)
        return _mean(users_extended(rows[:-1], self.biased) @ frame for rows, frame in draws)

    @cached_property
    def items(self) -> NDArray[np.float32]:
        """The means of (v, 1, c)."""
        draws = zip(self.samples["V"], np.linalg.inv(self.frames.astype(np.float64)), strict=True)
        return _mean(items_extended(rows[:-1], self.biased) @ inverse.T for rows, inverse in draws)

    @cached_property
    def frames(self) -> NDArray[np.float32]:
        """The matrices T of the draws, (S, d + 2, d + 2), as they are saved."""
        if self._source is not None:
            fitted, chosen = self._source
            return fitted.frames[chosen]
        n_draws = len(self.samples["U"])
        with library_limit(1, "blas"):
            reference = _reference([self._rows(s) for s in evenly_spaced(n_draws, _REFERENCE_DRAWS)])
            return np.array([self._frame(s, reference) for s in range(n_draws)], dtype=np.float32)

    @cached_property
    def _rated(self) -> list[NDArray[np.bool_]]:
        """Which users, and which items, make up the frame."""
        users, items = (_not_cold(self.samples[name]) for name in "UV")
        return [users if self._shadow is None else users & ~self._shadow, items]

    def _frame(self, draw: int, reference: _Array) -> _Array:
        U, V, frame, (A, B) = self._centred(draw)
        n, m, d = len(U), len(V), len(A)
        onto = A.T @ (U.T @ reference[:n]) / np.sqrt(n) + B.T @ (V.T @ reference[n:]) / np.sqrt(m)
        frame[:, :d] = frame[:, :d] @ _turn(onto)
        return frame

    def _rows(self, draw: int) -> _Array:
        """Return the rows of a draw in its frame but for its rotation, users and items of the same weight."""
        U, V, _, (A, B) = self._centred(draw)
        return np.vstack([U @ A / np.sqrt(len(U)), V @ B / np.sqrt(len(V))])

    def _centred(self, draw: int) -> tuple[_Array, _Array, _Array, tuple[_Array, _Array]]:
        """Return centred factors of users and items, the frame of a draw but for its rotation, and what balances."""
        own, other = (self.samples[name][draw, :-1][rated] for name, rated in zip("UV", self._rated, strict=True))
        d = own.shape[1] - self.biased
        bias = other[:, d].mean(dtype=np.float64) if self.biased else 0.0
        U, V = own[:, :d].astype(np.float64), other[:, :d].astype(np.float64)
        u, v = U.mean(axis=0), V.mean(axis=0)
        U -= u
        V -= v
        A, B = _balanced(U, V)
        frame = np.zeros((d + 2, d + 2))
        frame[:d, :d], frame[d + 1, :d] = A, -u @ A
        frame[:d, d], frame[d + 1, d] = v, bias
        frame[d, d] = frame[d + 1, d + 1] = 1
        return U, V, frame, (A, B)


def _not_cold(rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which rows are not those of a cold user or item, the last one, as they are without ratings."""
    return np.asarray((rows[0, :-1] != rows[0, -1]).any(axis=1))


def _mean(draws: Iterable[_Array]) -> NDArray[np.float32]:
    """Return the mean of draws, one at a time."""
    total, n = np.zeros(()), 0
    with library_limit(1, "blas"):
        for rows in draws:
            total, n = total + rows, n + 1
    return (total / n).astype(np.float32)


def users_extended(rows: NDArray[Any], biased: bool) -> _Array:
    """Return the rows (u, b, 1) of one draw."""
    bias = rows[:, -1:] if biased else np.zeros((len(rows), 1))
    return np.hstack([rows[:, : rows.shape[1] - biased], bias, np.ones((len(rows), 1))]).astype(np.float64)


def items_extended(rows: NDArray[Any], biased: bool) -> _Array:
    """Return the rows (v, 1, c) of one draw."""
    d = rows.shape[1] - biased
    return users_extended(rows, biased)[:, [*range(d), d + 1, d]]


def _balanced(U: _Array, V: _Array) -> tuple[_Array, _Array]:
    """Return A and B, the inverse of its transpose, with UA and VB balanced and on common principal axes."""
    L, M = (np.linalg.cholesky(_gram(rows)) for rows in (U, V))
    P, s, Qt = np.linalg.svd(L.T @ M)
    return np.linalg.solve(L.T, P * np.sqrt(s)), np.linalg.solve(M.T, Qt.T * np.sqrt(s))


def _gram(rows: _Array) -> _Array:
    """Return the mean of the outer products of rows, which has full rank."""
    gram = rows.T @ rows / len(rows)
    mean = np.trace(gram) / len(gram)
    return np.asarray(gram + (_RANK * mean if mean > 0 else 1.0) * np.eye(len(gram)))


def _turn(onto: _Array) -> _Array:
    """Return the orthogonal matrix that brings rows nearest to a reference, given their products RᵀS: Procrustes."""
    P, _, Qt = np.linalg.svd(onto)
    return np.asarray(P @ Qt)


def _reference(draws: list[_Array]) -> _Array:
    """Return the mean of draws, each turned onto it, on its principal axes, the longest first."""
    rows = np.array(draws)
    mean, square = rows[0], 0.0
    for _ in range(_MOST_TURNS):
        mean, before = (rows @ _turn(np.swapaxes(rows, -1, -2) @ mean)).mean(axis=0), square
        square = float((mean * mean).sum())
        if square - before <= _TOL * square:
            break
    mean = mean @ np.linalg.eigh(mean.T @ mean)[1][:, ::-1]
    longest = np.abs(mean).argmax(axis=0)
    return np.asarray(mean * np.sign(mean[longest, np.arange(len(longest))]))


LOG_ROOT = 0.5 * np.log(2 * np.pi)

#: What these models can do.
TAGS = Tags(features=True, shards=True, probabilities=True, similar=True, vectors=True, explain=True, additive=False)


@dataclass(frozen=True)
class ProbitDraws(Draws):
    r"""Samples of scores :math:`x_{ij}` and thresholds with levels by normal noise of precision :math:`\alpha`.

    Attributes
    ----------
    U, V, thresholds : ndarray, float32
        Samples along the first axis; thresholds of each user, or one row for all.
    roots : ndarray of shape (n_samples,)
        :math:`\sqrt\alpha`.
    biased : bool
        Whether the last columns of U and V are biases.
    """

    U: NDArray[np.float32]
    V: NDArray[np.float32]
    thresholds: NDArray[np.float32]
    roots: NDArray[np.float64]
    biased: bool

    def probabilities(
        self, users: NDArray[Any], items: NDArray[Any], samples: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """See `Draws`."""
        out = np.empty((len(users), self.thresholds.shape[2] + 1))
        arrays = self.U, self.V, self.thresholds, self.roots
        level_probabilities(0, len(users), users, items, samples, *arrays, self.biased, out)
        return out

    def coarse_scores(
        self, users: Any, items: NDArray[Any], criterion: Criterion, samples: NDArray[np.int64]
    ) -> NDArray[Any]:
        """See `Draws`."""
        if not isinstance(criterion, Expectation):
            return super().coarse_scores(users, items, criterion, samples)
        return self._expectations(users, items, samples, criterion, self.U, self.thresholds, self.roots[:, None])

    def _expectations(
        self,
        users: Any,
        items: NDArray[Any],
        samples: NDArray[np.int64],
        criterion: Expectation,
        U: NDArray[np.float32],
        thresholds: NDArray[np.float32],
        roots: NDArray[np.float64],
    ) -> NDArray[np.float32]:
        """Return expected ratings of users with such rows, thresholds and roots."""
        items = np.atleast_2d(items)
        out = np.empty((len(users), items.shape[1]), dtype=np.float32)
        arrays = U, self.V, thresholds, roots
        rough_expectations(users, items, samples, *arrays, criterion.weights, self.biased, out)
        return out


def expectation_slopes(
    scores: NDArray[Any], thresholds: NDArray[Any], roots: NDArray[Any], numbers: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the derivatives by the score, (S, k), of the mean of a number that belongs to each level, by samples."""
    z = roots[..., None] * (thresholds[:, None, :] - scores[..., None])
    densities = np.exp(-0.5 * z * z - LOG_ROOT)
    return np.asarray(roots * (densities * np.diff(numbers)).sum(axis=-1))
