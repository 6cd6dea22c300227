"""Compressed sensing of labels: random sums of labels as their code, decoded to few labels.

Sparse vectors are recovered from few measurements, for many of them at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import AUTO, make_generator, number, one_of, whole
from cofactor.chunked import batches
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels.base import Capabilities, LabelModel, TrainingData
from cofactor.labels.embedding.code import Code, CodeModel, coded_by, n_wanted
from cofactor.labels.regression import FeatureSpace
from cofactor.labels.scaling import rows_to_compare
from cofactor.metrics.labels import accuracy
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import learned, param
from cofactor.solvers.linear import nonnegative_least_squares

_BLOCK = 1 << 22  # numbers of the largest array of a block of rows
_RIDGE = 1e-10  # share of the diagonal: columns that depend on others get coefficients of least norm
_PURSUITS = 10  # rounds of CoSaMP

Decoder = Callable[[NDArray[np.float64], NDArray[np.float64], int], NDArray[np.float64]]


def matching_pursuit(A: NDArray[np.float64], Z: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return vectors with k numbers that are not 0, by orthogonal matching pursuit.

    k times the column is taken that correlates most with what is left, and all coefficients are fitted again.

    Parameters
    ----------
    A : ndarray of shape (m, L)
        Measurements.
    Z : ndarray of shape (n, m)
        What was measured.
    k : int
        At most L.

    Returns
    -------
    ndarray of shape (n, L)

    Examples
    --------
    >>> A = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> matching_pursuit(A, np.array([[2.0, 0.0], [1.2, 1.6]]), 1).round(6)
    array([[2., 0., 0.],
           [0., 0., 2.]])
    """
    gram, lengths = A.T @ A, np.linalg.norm(A, axis=0)
    lengths = np.where(lengths > 0, lengths, np.inf)
    V = np.zeros((len(Z), A.shape[1]))
    for rows in _blocks(A, len(Z), k):
        z = Z[rows]
        left, found, products = z, np.empty((len(z), 0), dtype=np.int64), z @ A
        every = np.arange(len(z))[:, None]
        coef = np.empty((len(z), 0))
        for _ in range(k):
            likely = np.abs(left @ A) / lengths
            likely[every, found] = -1.0
            found = np.hstack([found, np.argmax(likely, axis=1)[:, None]])
            coef = _fitted(gram, products, found)
            left = z - _sums_of_columns(A, found, coef)
        V[rows][every, found] = coef
    return V


def cosamp(A: NDArray[np.float64], Z: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return vectors with k numbers that are not 0, by compressive sampling matching pursuit (CoSaMP).

    In each of at most ten rounds the 2 k columns that correlate most with what is left join the k of before; all are
    fitted, and the k largest are kept. A vector is done when what is left falls no more.

    Parameters
    ----------
    A, Z, k
        As for `matching_pursuit`.

    Examples
    --------
    >>> A = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> cosamp(A, np.array([[2.0, 0.0]]), 1).round(6)
    array([[2., 0., 0.]])
    """
    gram, L = A.T @ A, A.shape[1]
    more = min(2 * k, L - k)
    V = np.zeros((len(Z), L))
    for rows in _blocks(A, len(Z), k + more):
        z, block = Z[rows], V[rows]
        products, left = z @ A, z.copy()
        squares = np.einsum("ij,ij->i", z, z)
        active = np.flatnonzero(squares > 0)
        kept = np.empty((len(z), 0), dtype=np.int64)
        for _ in range(_PURSUITS):
            likely = np.abs(left[active] @ A)
            likely[np.arange(len(active))[:, None], kept[active]] = -1.0
            joined = np.hstack([kept[active], _largest(likely, more if kept.shape[1] else min(2 * k, L))])
            coef = _fitted(gram, products[active], joined)
            chosen = _largest(np.abs(coef), k)
            support = np.take_along_axis(joined, chosen, axis=1)
            values = np.take_along_axis(coef, chosen, axis=1)
            rest = z[active] - _sums_of_columns(A, support, values)
            falls = np.einsum("ij,ij->i", rest, rest) < squares[active] * (1 - 1e-9)
            active, support, values, rest = active[falls], support[falls], values[falls], rest[falls]
            if not len(active):
                break
            if not kept.shape[1]:
                kept = np.tile(np.arange(k), (len(z), 1))
            kept[active], left[active] = support, rest
            squares[active] = np.einsum("ij,ij->i", rest, rest)
            block[active] = 0
            block[active[:, None], support] = values
    return V


def lasso(A: NDArray[np.float64], Z: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    r"""Return the minimisers of ½‖z - A v‖² + penalty Σ v over v ≥ 0, since labels are not negative.

    Parameters
    ----------
    A, Z
        As for `matching_pursuit`.
    penalty : float

    Examples
    --------
    >>> lasso(np.eye(2), np.array([[2.0, -1.0]]), 0.5)
    array([[1.5, 0. ]])
    """
    return nonnegative_least_squares(A.T @ A, Z @ A - penalty, tol=1e-6, max_sweeps=500)[0]


DECODERS: dict[str, Decoder] = {"omp": matching_pursuit, "cosamp": cosamp}


def _blocks(A: NDArray[np.float64], n: int, k: int) -> list[slice]:
    """Return blocks of rows whose arrays, of k columns or squares of k for each, stay small."""
    m, L = A.shape
    return list(batches(n, max(1, _BLOCK // max(k * max(m, k), L))))


def _largest(values: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return where the k largest numbers of each row stand."""
    return np.argpartition(-values, k - 1, axis=1)[:, :k]


def _fitted(gram: NDArray[np.float64], products: NDArray[np.float64], found: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the coefficients of least squares of the columns found for each row."""
    grams = gram[found[:, :, None], found[:, None, :]]
    diagonal = np.arange(found.shape[1])
    grams[:, diagonal, diagonal] *= 1 + _RIDGE
    grams[:, diagonal, diagonal] += np.finfo(np.float64).tiny
    solved = np.linalg.solve(grams, np.take_along_axis(products, found, axis=1)[:, :, None])
    return np.asarray(solved[:, :, 0], dtype=np.float64)


def _sums_of_columns(
    A: NDArray[np.float64], found: NDArray[np.int64], coef: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sums of the columns found for each row times their coefficients."""
    return np.asarray(np.matmul(coef[:, None, :], A.T[found])[:, 0])


_SHARES = tuple(10.0 ** np.arange(0, -4.5, -0.5))  # of the penalty of ridge regression
_DRAWS = 20  # until no two labels have the same code


class CompressedSensing(CodeModel):
    r"""Compressed sensing of labels (Hsu, Kakade, Langford & Zhang 2009).

    .. math:: \min_{W, b} \|Y A^\top - X W - 1 b^\top\|_F^2 + \alpha \|W\|_F^2, \qquad
        \hat y = \operatorname{argmin}_{v} \|A v - (x W + b)\|^2 \quad \text{with few } v_l \ne 0

    A is a random matrix of m rows: the code of an instance is the sum of the columns of its labels. What the regression
    predicts is decoded to a vector of few labels, and scores are that vector - ½.

    Parameters
    ----------
    n_components : int or float, default=1.0
        Number m of rows of A, at most that of the labels, or its share of them, in (0, 1]; `paper` takes 50. With 1.0
        and a Hadamard matrix A has all its rows, the next power of two above the number of labels: then the columns
        are orthogonal and the code loses nothing, while as many rows as labels, drawn at random, do.
    alpha : float or "auto", default="auto"
        Weight of the penalty of the regression, at least 0; "auto" takes the one with the least exact leave-one-out
        error of ridge regression of the labels, from which calibrated scores are best. Where `threshold` is a number,
        it takes this or a smaller share of it, whichever has the better accuracy as for `n_nonzero`: that penalty
        draws scores towards 0, away from such a cut. `paper` takes 1.
    decoder : {"omp", "cosamp", "lasso"}, default="cosamp"
        "omp" is orthogonal matching pursuit, "cosamp" takes and drops several labels at a time, "lasso" minimises
        :math:`\tfrac12 \|A v - z\|^2 + \lambda \sum_l v_l` over v ≥ 0.
    n_nonzero : int or "auto", default="auto"
        How many labels "omp" and "cosamp" decode. "auto" takes the mean number of labels of an instance or 1.5 times
        that, rounded, whichever has the better accuracy by exact leave-one-out codes of at most 1,200 instances.
    penalty : float, default=0.1
        λ of "lasso", at least 0.
    matrix : {"hadamard", "gaussian"}, default="hadamard"
        A: rows and columns of a Hadamard matrix, divided by √m, or independent normal numbers of variance 1/m.
    {fit_intercept}
    {scale}
    {missing}
    {threshold}
    {decide_for}
    {random_state}
        It draws A.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    n_nonzero_ : int
        How many labels are decoded; with "lasso" the number of labels.
    alpha_, n_components_, coef_, intercept_, decoder_, offset_
        See `CodeModel`; `decoder_` is A, of shape (m, L), and `offset_` is -½.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    InputWarning
        If m is less than twice the number of labels to decode: then nothing says which they are.

    Notes
    -----
    Decoding works on all instances at a time: it takes k products of codes with A for "omp", and at most ten for
    "cosamp", and small linear systems. With fewer rows than log₂ L, labels have the same code; otherwise A is drawn
    again until no two have.

    References
    ----------
    D. Hsu, S. M. Kakade, J. Langford & T. Zhang, "Multi-label prediction via compressed sensing", NIPS 2009.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X < 4, X < 4, X > 3])
    >>> model = CompressedSensing(alpha=0.1, n_nonzero=2, random_state=0).fit(X, Y)
    >>> model.predict([[0.0], [7.0]]).astype(int)
    array([[0, 1, 1, 0],
           [1, 0, 0, 1]])
    """

    decoder: str = param(one_of([*DECODERS, "lasso"]), default="cosamp")
    n_nonzero: int | str = param(whole(also=[AUTO]), default="auto")
    penalty: float = param(number(low=0), default=0.1)
    matrix: str = param(one_of(["hadamard", "gaussian"]), default="hadamard")

    n_nonzero_: int = learned(check=whole())

    _paper: ClassVar[Mapping[str, Any]] = {"n_components": 50, "alpha": 1.0, "decoder": "omp"}
    _score_parts = LabelModel._score_parts  # scores are no sums

    def _fit_bytes(self, data: TrainingData) -> int:
        n, L = data.labels.shape
        m = self._n_rows(L)
        return super()._fit_bytes(data) + 8 * (m * L + n * m + L * L)

    def _n_rows(self, L: int) -> int:
        """Return the number m of rows of A for so many labels."""
        every = isinstance(self.n_components, float) and self.n_components == 1 and self.matrix == "hadamard"
        return _hadamard_size(L) if every else n_wanted(self.n_components, L)

    def _encode(self, Y: sparse.csr_array, d: int, space: FeatureSpace) -> Code:
        L = Y.shape[1]
        A = _measurements(self._n_rows(L), L, self.matrix, make_generator(self.random_state))
        return Code(_measured(Y, A, space), A, -0.5)

    def _codes_of(self, Y: sparse.csr_array, space: FeatureSpace) -> Any:
        return _measured(Y, self.decoder_, space)

    def _fit(self, data: TrainingData) -> None:
        super()._fit(data)
        L = data.labels.shape[1]
        numbers = (L,) if self.decoder == "lasso" else self._numbers(data)
        self.n_nonzero_ = numbers[0]
        free = self.alpha == AUTO and not isinstance(self.threshold, str)
        space = data.feature_space(self.fit_intercept)
        exact = data.known is None and self.alpha_ > 0 and data.n_instances > 2 and not FeatureSpace.too_large(space.X)
        if exact and (free or len(numbers) > 1):
            self._choose(data, space, _SHARES if free else (1.0,), numbers)
        if self.decoder != "lasso" and self.n_components_ < 2 * self.n_nonzero_ and self.n_components_ < L:
            warnings.warn(
                InputWarning(
                    f"CompressedSensing: {self.n_components_} measurements of labels cannot tell {self.n_nonzero_} of "
                    f"{L} labels apart: raise n_components to {2 * self.n_nonzero_} at least"
                ),
                stacklevel=callers_level(),
            )

    def _numbers(self, data: TrainingData) -> tuple[int, ...]:
        """Return how many labels may be decoded."""
        L = data.labels.shape[1]
        if not isinstance(self.n_nonzero, str):
            return (min(int(self.n_nonzero), L),)
        mean = float(np.average(np.diff(data.labels.indptr), weights=data.weights))
        return tuple(dict.fromkeys(min(max(round(times * mean), 1), L) for times in (1.0, 1.5)))

    def _choose(
        self, data: TrainingData, space: FeatureSpace, shares: tuple[float, ...], numbers: tuple[int, ...]
    ) -> None:
        """Take the share of the penalty and the number of labels that are most accurate by leave-one-out codes."""
        rows, codes = rows_to_compare(data.n_instances), self._codes_of(data.labels, space)
        truth, best, first = data.labels[rows], -1.0, self.alpha_
        for alpha in (share * first for share in shares):
            held_out = space.leave_one_out(alpha).held_out(codes, rows)
            for n_nonzero in numbers:
                found = accuracy(truth, self._decoded_codes(held_out, n_nonzero) > 0.5)
                if found > best:
                    best, self.alpha_, self.n_nonzero_ = found, alpha, n_nonzero
        if self.alpha_ != first:
            self.coef_, self.intercept_ = space.ridge(codes, self.alpha_)

    def _resolved_params(self) -> dict[str, Any]:
        return {**super()._resolved_params(), "n_components": self.n_components, "n_nonzero": self.n_nonzero_}

    def _of_codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        return self._decoded_codes(np.asarray(codes, dtype=np.float64), self.n_nonzero_) + self.offset_

    def _decoded_codes(self, codes: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        """Return vectors of so many labels."""
        if self.decoder == "lasso":
            return lasso(self.decoder_, codes, self.penalty)
        return DECODERS[self.decoder](self.decoder_, codes, number)

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), separate_labels=False)  # they are decoded together

    def _check_learned(self) -> None:
        super()._check_learned()
        if self.n_nonzero_ > self._n_varying:
            raise InvalidInputError(f"n_nonzero_ is {self.n_nonzero_} for {self._n_varying} labels")


def _measured(Y: sparse.csr_array, A: NDArray[np.float64], space: FeatureSpace) -> Any:
    """Return YAᵀ; see `coded_by`."""
    return coded_by(lambda labels: np.asarray(labels @ A.T, dtype=np.float64), Y, len(A), space)


def _hadamard_size(n: int) -> int:
    """Return the least power of two that is not below n."""
    return 1 << (n - 1).bit_length()


def _measurements(m: int, L: int, kind: str, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return A of shape (m, L), with different columns where that is possible.

    Entry (i, j) of a Hadamard matrix is -1 to the number of ones that i and j share in binary.
    """
    if kind == "gaussian":
        return generator.normal(scale=1 / np.sqrt(m), size=(m, L))
    size = _hadamard_size(max(m, L))
    for _ in range(_DRAWS):
        rows, columns = (generator.permutation(size)[:k] for k in (m, L))
        shared = rows[:, None] & columns
        for shift in (32, 16, 8, 4, 2, 1):
            shared ^= shared >> shift  # the last bit is the parity of all
        A = 1.0 - 2.0 * (shared & 1)
        if len(np.unique(A, axis=1).T) == L:
            break
    return A / np.sqrt(m)
