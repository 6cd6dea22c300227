"""Label-space embeddings: labels are encoded as few numbers, which are regressed on the features and decoded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import AUTO, check_flag, make_generator, number, one_of, resolve_size, size, whole
from cofactor.chunked import MappedTable, batches, is_chunked
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.data import check_missing
from cofactor.labels.explaining import LinearPart, ScoreParts
from cofactor.labels.features import scaled_rows
from cofactor.labels.filling import fill_labels
from cofactor.labels.penalty import penalty, penalty_of
from cofactor.labels.regression import FeatureSpace, linear
from cofactor.labels.training_data import sampled
from cofactor.model.estimator import learned, param


class Code(NamedTuple):
    """Encoded labels: codes @ decoder + offset are scores of the labels."""

    codes: Any  # (n, d), an array or MappedTable
    decoder: NDArray[Any]  # (d, L)
    offset: NDArray[np.float64] | float  # (L,)
    solved: NDArray[Any] | None = None  # their coefficients by leave-one-out, if these are known


class CodeModel(LabelModel):
    """Encode labels, regress the codes on the features by ridge regression, decode.

    Subclasses say how labels become codes and how codes become scores (`_encode`). The ridge regression of the codes
    is the same for all of them, with one decomposition of the features (`FeatureSpace`), and so are the choice of its
    penalty and the scores from which probabilities are learned: both are exact leave-one-out.

    A fit to chunks takes all sums over the instances in passes; codes are made of some labels when they are asked for.

    Where labels are not known (`missing`, or `mask` of `fit`), each label has a ridge regression on its own instances,
    by conjugate gradients which the shared decomposition preconditions (`known_ridge`). What it says of the unknown
    labels is filled in, then labels are encoded. So with all components the model is ridge regression of each label on
    the instances for which it is known. Leave-one-out scores of a shared decomposition do not exist then: thresholds
    are learned on a quarter of the instances, held out.

    Attributes
    ----------
    alpha_ : float
        Weight of the penalty: the parameter `alpha`, or the one that was chosen.
    n_components_ : int
        Number d of components: the parameter `n_components`, or fewer if the labels have no more.
    coef_ : ndarray of shape (D, d)
        Coefficients of the ridge regression of the codes.
    intercept_ : ndarray of shape (d,)
        Intercepts of the ridge regression of the codes.
    decoder_ : ndarray of shape (d, L)
        Scores are codes times `decoder_` plus `offset_`. Labels that are constant in training have no column.
    offset_ : ndarray of shape (L,)
        See `decoder_`. If the labels are centred, it is their mean minus the cut.
    """

    n_components: int | float | str = param(size(), default=1.0, kw_only=False, grid=[0.5, 1.0])
    alpha: float | str = param(penalty(), default="auto", kw_only=False, grid=[1.0, 10.0, 100.0, 1000.0])
    fit_intercept: bool = param(check_flag, default=True)
    missing: str = param(check_missing, default="error")

    alpha_: float = learned(check=number(low=0))
    n_components_: int = learned(check=whole(0))
    coef_: NDArray[np.float64] = learned("features components")
    intercept_: NDArray[np.float64] = learned("components")
    decoder_: NDArray[np.float64] = learned("components labels")
    offset_: NDArray[np.float64] = learned("labels")

    _paper: ClassVar[Mapping[str, Any]] = {"n_components": 0.5, "alpha": 1.0}

    @abstractmethod
    def _encode(self, Y: sparse.csr_array, d: int, space: FeatureSpace) -> Code:
        """Return codes of at most d components, and how to decode them to scores with the plain cut 0.

        `space` holds the weights of the instances, if there are any.
        """

    def _capabilities(self) -> Capabilities:
        space = bool(self.fit_intercept)
        own = super()._capabilities()
        return replace(own, weights="any", chunks=True, shared_space=space, separate_labels=True)

    def _fit(self, data: TrainingData) -> None:
        n_labels = data.labels.shape[1]
        space = data.feature_space(self.fit_intercept)
        self.alpha_ = penalty_of(data, space) if self.alpha == AUTO else float(self.alpha)
        labels = data.labels
        if data.known is not None:
            labels = fill_labels(space, labels, data.known, self.alpha_)
        code = self._encode(labels, n_wanted(self.n_components, n_labels), space)
        if self.n_components == AUTO and data.known is None:
            code = self._shortened(code, space)
        self.coef_, self.intercept_ = space.ridge(code.codes, self.alpha_, solved=code.solved)
        self.decoder_ = code.decoder
        self.offset_ = np.broadcast_to(code.offset, n_labels).copy()
        self.n_components_ = len(code.decoder)

    def _shortened(self, code: Code, space: FeatureSpace) -> Code:
        """Return a code without components whose prediction adds more error than it removes."""
        return code

    def _codes_of(self, Y: sparse.csr_array, space: FeatureSpace) -> Any:
        """Return the codes that `_fit` regressed; None if the features had a part in them."""
        return None

    def _resolved_params(self) -> dict[str, Any]:
        return {"alpha": self.alpha_, "n_components": self.n_components_}

    def _held_out(self, data: TrainingData) -> tuple[NDArray[np.int64], NDArray[Any]]:
        space = data.feature_space(self.fit_intercept)
        codes = self._codes_of(data.labels, space)
        if codes is None or self.alpha_ == 0 or data.n_instances < 3 or FeatureSpace.too_large(space.X):
            return super()._held_out(data)
        n, L = data.labels.shape
        rows = sampled(np.arange(n), L, make_generator(self.random_state))
        solved = self.coef_ if space.inverts(self.alpha_) and n >= space.shape[1] else None
        found = space.leave_one_out(self.alpha_).held_out(codes, None if len(rows) == n else rows, solved)
        del space
        data.cache.spaces.clear()  # scores of many labels want the memory of the decomposition
        return rows, self._of_codes(found.astype(np.float32))

    def _of_codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return scores, shape (n, L'), in the precision of the codes."""
        scores = np.asarray(codes @ self.decoder_.astype(codes.dtype, copy=False))
        scores += self.offset_.astype(codes.dtype)
        return scores

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return self._of_codes(linear(X, self.coef_, self.intercept_))

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        part = LinearPart(X, self.coef_, self.decoder_)
        return ScoreParts((part,), self.intercept_ @ self.decoder_ + self.offset_)


def coded_by(
    encode: Callable[[sparse.csr_array], NDArray[Any]], Y: sparse.csr_array, d: int, space: FeatureSpace
) -> Any:
    """Return codes (n, d) of labels; made when they are asked for, where the features are chunked."""
    return MappedTable(Y, encode, d) if is_chunked(space.X) else encode(Y)


def centred_codes(Y: sparse.csr_array, V: NDArray[Any], mean: NDArray[np.float64], space: FeatureSpace) -> Any:
    """Return codes (Y - 1 mean) V, in the precision of V; see `coded_by`."""
    shift = mean.astype(V.dtype) @ V

    def encode(labels: sparse.csr_array) -> NDArray[Any]:
        codes = np.asarray(labels @ V)
        codes -= shift
        return codes

    return coded_by(encode, Y, V.shape[1], space)


def n_wanted(n_components: Any, n_labels: int) -> int:
    """Return how many components are asked for, at most one for each label; 1,000 where a model chooses them."""
    return min(1000 if isinstance(n_components, str) else resolve_size(n_components, n_labels), n_labels)


#: Refuses a coding that is not known.
check_coding = one_of(["-1/1", "0/1"])


def coded_gram(Y: sparse.csr_array, coding: str, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return ZᵀZ of shape (L, L), with the labels Z that `coded` returns, which are not formed.

    Examples
    --------
    >>> coded_gram(sparse.csr_array([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]), "-1/1")
    array([[3., 1.],
           [1., 3.]])
    """
    Y = Y.astype(np.float64)
    gram = np.asarray((Y.T @ scaled_rows(Y, weights)).toarray())
    if coding == "0/1":
        return gram
    on, total = gram.diagonal(), Y.shape[0] if weights is None else weights.sum()
    return np.asarray(4 * gram - 2 * (on[:, None] + on) + total)


def coded(Y: sparse.csr_array, coding: str, space: FeatureSpace) -> tuple[NDArray[np.float64], float]:
    """Return labels in a coding, dense (8 n L bytes), and the negative of the cut between off and on.

    Parameters
    ----------
    Y : csr_array of shape (n, L)
    coding : {"-1/1", "0/1"}
    space : FeatureSpace
        Holds the weights of the instances: rows are multiplied by their square roots.
    """
    Z = np.asarray(Y.toarray(), dtype=np.float64)
    if coding == "-1/1":
        return space.weighted(2 * Z - 1), 0.0
    return space.weighted(Z), -0.5


def scatter(Y: sparse.csr_array, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return YcᵀYc of shape (L, L), with the centred labels Yc; with weights W of the instances, YcᵀWYc.

    Examples
    --------
    >>> scatter(sparse.csr_array([[1.0], [0.0], [0.0]]), np.array([2.0, 1.0, 1.0]))
    array([[1.]])
    """
    if weights is None:
        mean = label_means(Y)
        return (Y.T @ Y).toarray().astype(np.float64) - Y.shape[0] * np.outer(mean, mean)
    mean = label_means(Y, weights)
    return np.asarray((Y.T @ scaled_rows(Y, weights)).toarray() - weights.sum() * np.outer(mean, mean))


def label_means(Y: sparse.csr_array, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return for each label the share of instances which have it, or the share of their weight."""
    if weights is not None:
        return np.asarray(Y.T @ weights, dtype=np.float64) / weights.sum()
    return np.asarray(Y.sum(axis=0, dtype=np.float64)) / Y.shape[0]


def top_eigenvectors(S: NDArray[np.float64], d: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the d largest eigenvalues of a positive semidefinite S, the largest first, and their eigenvectors.

    Eigenvalues which are 0 are left out. The component of each vector with the largest absolute value is positive.

    Examples
    --------
    >>> values, vectors = top_eigenvectors(np.diag([1.0, 3.0, 0.0]), 3)
    >>> values.round(6), vectors.round(6) + 0.0
    (array([3., 1.]), array([[0., 1.],
           [1., 0.],
           [0., 0.]]))
    """
    n = len(S)
    values, vectors = scipy.linalg.eigh(S, subset_by_index=(n - d, n - 1), check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > n * np.finfo(np.float64).eps * max(values[0], np.finfo(np.float64).tiny)
    values, vectors = values[kept], vectors[:, kept]
    largest = np.argmax(np.abs(vectors).round(9), axis=0)
    return values, vectors * np.sign(vectors[largest, np.arange(len(values))])


LARGEST = 3000  #: rows of the largest matrix of which all eigenvectors are computed: some 10 s
_STEPS = 4  #: of subspace iteration
_MORE = 20  #: directions beyond d, which make those up to d more exact
_DOUBLE = 1 << 24  #: numbers up to which they are in double precision, of directions found by subspace iteration
_NULL = {np.float64: 1e-10, np.float32: 1e-5}  #: share of the largest eigenvalue up to which another counts as 0
_BLOCK = 128  #: directions at a time


def principal_directions(
    Y: sparse.csr_array, d: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    r"""Return the first d right singular vectors of the centred labels, with rows weighted by √w.

    Parameters
    ----------
    Y : csr_array of shape (n, L)
    d : int
        Fewer are returned if the centred labels have a lower rank.
    weights : ndarray of shape (n,), optional
        Weights w of the instances.

    Returns
    -------
    ndarray of shape (L, d')
        Orthonormal; the component of each with the largest absolute value is positive.

    Notes
    -----
    With at most 3,000 labels they are eigenvectors of :math:`Y_c^T Y_c`; otherwise, with at most 3,000 instances, they
    follow from those of :math:`Y_c Y_c^T`. Beyond both, subspace iteration on products with the sparse Y finds them
    nearly, at most half as many as there are instances or labels; more than 16 million numbers in single precision.

    References
    ----------
    N. Halko, P. G. Martinsson & J. A. Tropp, "Finding structure with randomness", SIAM Review 53, 2011.

    Examples
    --------
    >>> Y = sparse.csr_array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    >>> principal_directions(Y, 2).round(3)
    array([[ 0.577],
           [ 0.577],
           [-0.577]])
    """
    n, L = Y.shape
    if L <= LARGEST:
        return top_eigenvectors(scatter(Y, weights), d)[1]
    if n <= LARGEST:
        centred = _Centred(Y, weights)
        values, left = top_eigenvectors(centred.gram(), min(d, n))
    else:
        d = min(d, min(n, L) // 2)
        centred = _Centred(Y, weights, np.float32 if L * d > _DOUBLE else np.float64)
        values, left = _top_by_subspace(centred, d)
    return _turned(centred.transposed(left), values)


def right_singular_vectors(A: NDArray[np.float64], d: int) -> NDArray[np.float64]:
    """Return the first d right singular vectors of a dense A, or as many as its rank, from its smaller Gram matrix.

    Examples
    --------
    >>> right_singular_vectors(np.array([[3.0, 0.0, 4.0], [0.0, 1.0, 0.0]]), 1).round(3) + 0.0
    array([[0.6],
           [0. ],
           [0.8]])
    """
    r, L = A.shape
    if r >= L:
        return top_eigenvectors(A.T @ A, min(d, L))[1]
    values, left = top_eigenvectors(A @ A.T, min(d, r))
    return _turned(A.T @ left, values)


def principal_bytes(n: int, L: int, d: int) -> int:
    """Return how many bytes `principal_directions` takes at least.

    Examples
    --------
    >>> principal_bytes(10_000, 20_000, 1_000) / 1e6
    200.0
    """
    side = L if L <= LARGEST else n
    if side <= LARGEST:
        return 8 * (3 * side * side + L * min(d, side))
    d = min(d, min(n, L) // 2)
    return (4 if L * d > _DOUBLE else 8) * (3 * n + L) * d


class _Centred:
    """Products with centred labels whose rows are multiplied by √w, without forming them."""

    def __init__(
        self, Y: sparse.csr_array, weights: NDArray[np.float64] | None, dtype: type[np.floating[Any]] = np.float64
    ) -> None:
        self.Y, self.dtype = Y.astype(dtype), dtype
        self.mean = label_means(Y, weights).astype(dtype)
        self.root = np.ones(Y.shape[0], dtype) if weights is None else np.sqrt(weights).astype(dtype)

    def times(self, V: NDArray[Any]) -> NDArray[Any]:
        out = np.asarray(self.Y @ V)
        out -= self.mean @ V
        out *= self.root[:, None]
        return out

    def transposed(self, U: NDArray[Any]) -> NDArray[Any]:
        out = np.empty((self.Y.shape[1], U.shape[1]), self.dtype)
        for some in batches(U.shape[1], _BLOCK):
            scaled = self.root[:, None] * U[:, some]
            out[:, some] = self.Y.T @ scaled
            out[:, some] -= np.outer(self.mean, scaled.sum(axis=0))
        return out

    def forth_and_back(self, U: NDArray[Any]) -> NDArray[Any]:
        """Return AAᵀU, of which AᵀU is never whole in memory."""
        out = np.empty_like(U)
        for some in batches(U.shape[1], _BLOCK):
            out[:, some] = self.times(self.transposed(U[:, some]))
        return out

    def gram(self) -> NDArray[np.float64]:
        """Return the inner products of its rows."""
        shift = self.Y @ self.mean
        products = (self.Y @ self.Y.T).toarray() - shift[:, None] - shift + self.mean @ self.mean
        return self.root[:, None] * products * self.root


def _top_by_subspace(A: _Centred, d: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return about the d largest eigenvalues of AAᵀ, the largest first, and their eigenvectors."""
    n = len(A.root)
    Q: NDArray[Any] = np.random.default_rng(0).standard_normal((n, min(d + _MORE, n)), A.dtype)
    for _ in range(_STEPS):
        Q = _orthonormal(A.forth_and_back(Q))
    inner = (Q.T @ A.forth_and_back(Q)).astype(np.float64)
    values, turn = top_eigenvectors((inner + inner.T) / 2, d)
    return values.astype(A.dtype), Q @ turn.astype(A.dtype)


def _orthonormal(Z: NDArray[Any]) -> NDArray[Any]:
    """Return an orthonormal basis of the columns, by Cholesky factors where they will do: a third of the time."""
    try:
        R = np.linalg.cholesky((Z.T @ Z).astype(np.float64))
    except np.linalg.LinAlgError:
        R = np.zeros((1, 1))
    sizes = R.diagonal()
    if sizes.min() <= np.finfo(Z.dtype).eps ** 0.4 * sizes.max():  # cond(Z)² would be lost in rounding
        return np.asarray(scipy.linalg.qr(Z, mode="economic", overwrite_a=True, check_finite=False)[0])
    R = R.astype(Z.dtype)
    return np.asarray(scipy.linalg.solve_triangular(R, Z.T, lower=True, overwrite_b=True, check_finite=False).T)


def _turned(V: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return right singular vectors from those times singular values, without those that count as 0, with signs."""
    kept = values > _NULL[V.dtype.type] * values.max(initial=0.0)
    if not kept.all():
        V = V[:, kept]
    for some in batches(V.shape[1], _BLOCK):
        part = V[:, some]
        part /= np.sqrt(values[kept][some])
        largest = np.argmax(np.abs(part).round(9), axis=0)
        part *= np.sign(part[largest, np.arange(part.shape[1])])
    return V
