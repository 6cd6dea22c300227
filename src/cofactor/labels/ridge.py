"""Ridge regression of labels with all settings chosen by exact leave-one-out: the model to begin with.

Predictions have as many principal components of the labels as are worth it. A radial basis kernel is exact for few
instances, and by landmarks for many; sparse features with too many rows and columns for an inverse are solved by
conjugate gradients.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_flag, make_generator, number, one_of, resolve_size, size, whole
from cofactor.chunked import ChunkedTable, batches, is_chunked, is_sparse
from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.kernels.threads import blas_limit
from cofactor.labels.base import Capabilities, LabelModel, TrainingData
from cofactor.labels.class_weights import ClassWeights, check_class_weight, class_weights, resolved_weights
from cofactor.labels.clusters import squared_distances
from cofactor.labels.data import as_labels, check_coding, check_missing, unpack_dataset, with_constant
from cofactor.labels.embedding.code import label_means, principal_bytes, principal_directions
from cofactor.labels.explaining import LinearPart, ScoreParts, VotePart
from cofactor.labels.features import CheckedFeatures, column_means, scaled_rows
from cofactor.labels.filling import known_penalty, known_ridge
from cofactor.labels.leave_one_out import (
    BestAlpha,
    DualRidge,
    PrimalRidge,
    RidgeProblem,
    least_error,
    ridge_problem,
)  # fmt: skip
from cofactor.labels.penalty import exact_penalty, penalty
from cofactor.labels.regression import FeatureSpace, linear
from cofactor.labels.ridge_sums import RidgeSums, joined
from cofactor.labels.scaling import SPARSE, dense_features, share_filled
from cofactor.labels.training_data import sampled
from cofactor.model.commit import committed, learned_names
from cofactor.model.estimator import learned, param
from cofactor.text import shorten
from cofactor.typing import Features, Labels

_CHOOSING_ROWS = 4000  # on which the penalty is chosen
TOLERANCE = 1e-5  # relative residual at which conjugate gradients end; predictions change in the fifth digit
_BLOCK = 1 << 22


def rows_for_penalty(n: int) -> NDArray[np.int64]:
    """Return the rows, 4,000 of a fixed seed, on which a penalty is chosen that holds for all n."""
    return np.sort(np.random.default_rng(0).choice(n, min(_CHOOSING_ROWS, n), replace=False))


def fit_large(
    X: CheckedFeatures, Y: sparse.csr_array, weights: NDArray[np.float64] | None, alpha: float | None = None
) -> tuple[float, NDArray[Any], NDArray[np.float64]]:
    """Return the penalty, coefficients (D, L) and intercepts (L,), by conjugate gradients.

    Notes
    -----
    A penalty that is not given is the best for 4,000 instances of a fixed seed, by exact leave-one-out, and holds for
    all: it stands for the noise of the labels and the size of the coefficients, which do not depend on n.
    """
    if alpha is None:
        few = rows_for_penalty(X.shape[0])
        alpha = ridge_problem(X[few], None if weights is None else weights[few]).best_alpha(Y[few]).alpha
    space = FeatureSpace(X, sample_weight=weights)
    (n, D), L = X.shape, Y.shape[1]
    coef = np.empty((D, L), np.float32 if D * L > 1 << 26 else np.float64)
    intercept, columns = np.empty(L), Y.tocsc()
    height = L if is_chunked(X) else max(1, _BLOCK // min(n, D))
    for block in batches(L, height):
        coef[:, block], intercept[block] = space.ridge(sparse.csr_array(columns[:, block]), alpha, tol=TOLERANCE)
    return alpha, coef, intercept


_MOST = 1000  # labels whose principal components are computed without being asked for
_PARTS = 4  # of the instances: components of three are tried on the fourth
_WORTH = 0.002  # share of the squared error by which fewer components must be better than all
_SURE = 3.0  # standard errors by which fewer components must be better than all


def chosen_code(
    n_components: int | float | str,
    Y: sparse.csr_array,
    weights: NDArray[np.float64] | None,
    rows: NDArray[np.int64],
    held_out: NDArray[Any],
) -> NDArray[np.float64] | None:
    r"""Return orthonormal components V of the labels, on which predictions are projected: :math:`\hat y V V^T`.

    Parameters
    ----------
    n_components : int, float or "auto"
        Their number, or share; "auto" takes as many as give the least squared error.
    Y : csr_array of shape (n, L)
    weights : ndarray of shape (n,), optional
    rows : ndarray of shape (m,)
        Instances that have leave-one-out predictions.
    held_out : ndarray of shape (m, L)
        These predictions.

    Returns
    -------
    ndarray of shape (L, d), or None
        None where all components are taken.

    Notes
    -----
    How many are taken is tried on components of other instances, three quarters of them each: those of all instances
    know the labels of the instance that is left out, so that fewer seem better than they are. The error falls apart
    into one for each component, so all numbers are compared by one product. Fewer than all must be better by two
    thousandths, and by three standard errors.
    """
    L = Y.shape[1]
    d = L if n_components == "auto" else min(resolve_size(n_components, L), L)
    if n_components != "auto":
        return None if d == L else principal_directions(Y, d, weights)
    if not 1 < L <= _MOST or len(rows) < 2 * _PARTS:
        return None
    best = _best_number(Y, weights, rows, held_out)
    return None if best is None else principal_directions(Y, best, weights)


def _best_number(
    Y: sparse.csr_array, weights: NDArray[np.float64] | None, rows: NDArray[np.int64], held_out: NDArray[Any]
) -> int | None:
    """Return the number of components with the least squared error, None if it is not surely less than that of all."""
    (n, L), w = Y.shape, np.ones(len(rows)) if weights is None else weights[rows]
    part = np.random.default_rng(0).permutation(len(rows)) % _PARTS
    taken, left = np.zeros((len(rows), L)), 0.0  # off the squared error of an instance, by the first d components
    for k in range(_PARTS):
        test = part == k
        train = np.ones(n, dtype=bool)
        train[rows[test]] = False
        some = None if weights is None else weights[train]
        V, mean = principal_directions(Y[train], L, some), label_means(Y[train], some)
        true, found = Y[rows[test]].toarray() - mean, held_out[test] - mean
        left += float(w[test] @ ((true - found) ** 2).sum(axis=1))
        taken[test] = (2 * true * found - found**2).sum(axis=1)[:, None]  # what all labels take off
        true, found = true @ V, found @ V
        taken[test, : min(V.shape[1], L - 1)] = np.cumsum(2 * true * found - found**2, axis=1)[:, : L - 1]
    best = int(np.argmax(w @ taken))
    gain = w * (taken[:, best] - taken[:, -1])
    worth = max(_WORTH * left, _SURE * np.sqrt(len(gain)) * float(gain.std()))
    return best + 1 if gain.sum() > worth else None


#: Instances up to which the kernel of all of them is used; beyond, that of all with `_LANDMARKS` of them.
EXACT = 3000

_LANDMARKS = 1000
_CELLS = 1 << 26  # numbers of the kernel of all instances with landmarks: half a gigabyte
_FEWEST = 100  # landmarks that are worth it
_ROWS = 400  # on which widths are compared
_WIDTHS = 2.0 ** np.arange(-3, 3)  # times the squared distance of the median, the inverse of a width


class KernelFit(NamedTuple):
    """A fit with a kernel: scores of x are intercept + Σ_j exp(-gamma ‖x - z_j‖²) coef_j."""

    gamma: float
    instances: NDArray[np.int64]  # (m,), which the landmarks are
    landmarks: NDArray[np.float64]  # (m, D)
    coef: NDArray[np.float64]  # (m, L)
    intercept: NDArray[np.float64]  # (L,)
    alpha: float
    held_out: NDArray[np.float64]  # (n, L), or of some instances


def kernel(X: NDArray[np.float64], Z: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Return exp(-gamma ‖x - z‖²) for rows x of X and z of Z.

    Examples
    --------
    >>> kernel(np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]]), 1.0).round(3)
    array([[1.   , 0.368],
           [0.018, 0.368]])
    """
    values = squared_distances(X, Z)
    values *= -gamma
    return np.asarray(np.exp(values, out=values))


def kernel_contributions(
    similar: NDArray[np.float64], K: NDArray[np.float64], alpha: float, coef: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how much landmarks count for instances, shape (n, m), and their values, (m, L): the sums are similar coef.

    The coefficients themselves explain nothing: where landmarks lie near each other they are large and alternate in
    sign, with terms of thousands for a score of one half. With M = K + δI, landmarks count by the entries of
    similar M⁻¹, and their values are the rows of M coef. If the landmarks are all instances, and δ is the penalty of
    the fit, values are labels minus the intercept. δ is less where δ coef would be above 1: then values are about
    what the kernel fits to the landmarks.

    Parameters
    ----------
    similar : ndarray of shape (n, m)
        Kernel of the instances with the landmarks.
    K : ndarray of shape (m, m)
        Kernel of the landmarks with each other; overwritten.
    alpha : float
        Penalty of the fit, above 0.
    coef : ndarray of shape (m, L)

    Examples
    --------
    >>> counts, values = kernel_contributions(np.array([[0.5, 0.4]]), np.eye(2), 1.0, np.array([[0.3], [-0.2]]))
    >>> counts, values.T
    (array([[0.25, 0.2 ]]), array([[ 0.6, -0.4]]))
    """
    least = 1e-12 * len(K)  # what a file says may be singular
    K[np.diag_indices_from(K)] += max(min(alpha, 1 / max(float(np.abs(coef).max(initial=0.0)), 1e-300)), least)
    return np.ascontiguousarray(scipy.linalg.solve(K, similar.T, assume_a="pos").T), K @ coef


def fit_kernel(
    X: NDArray[np.float64] | ChunkedTable,
    Y: sparse.csr_array,
    weights: NDArray[np.float64] | None = None,
    rows: NDArray[np.int64] | None = None,
) -> KernelFit | None:
    """Fit with the width and the penalty of least squared leave-one-out error.

    Parameters
    ----------
    X : ndarray or ChunkedTable of shape (n, D)
        Features, scaled.
    Y : csr_array of shape (n, L)
    weights : ndarray of shape (n,), optional
    rows : ndarray of int, optional
        Instances that shall have leave-one-out predictions; by default all.

    Returns
    -------
    KernelFit or None
        None if all distances are 0, or there are so many instances that there is no room for 100 landmarks.

    Notes
    -----
    The width is chosen on at most 400 instances of a fixed seed: the kernel is exp(-g ‖x - z‖² / median), with g from
    1/8 to 4. With more than 3,000 instances, their kernel with 1,000 of them, the landmarks, makes new features
    (Nyström): leave-one-out is exact for these features, as if landmarks had not been chosen among the instances.
    """
    n = X.shape[0]
    generator = np.random.default_rng(0)
    few = np.arange(n) if n <= _ROWS else np.sort(generator.choice(n, _ROWS, replace=False))
    distances = squared_distances(X[few], X[few])
    middle = float(np.median(distances[np.triu_indices(len(few), 1)])) if len(few) > 1 else 0.0
    if not middle > 0:
        return None
    some = None if weights is None else weights[few]
    g, place = _best_width(distances / middle, Y[few], some)
    gamma = g / middle
    if n <= EXACT:
        return _exact(X[np.arange(n)] if isinstance(X, ChunkedTable) else X, Y, weights, rows, gamma, place)
    m = min(_LANDMARKS, _CELLS // n)
    if m < _FEWEST:
        return None
    return _by_landmarks(X, np.sort(generator.choice(n, m, replace=False)), Y, weights, rows, gamma, place)


def _best_width(
    distances: NDArray[np.float64], Y: sparse.csr_array, weights: NDArray[np.float64] | None
) -> tuple[float, int]:
    """Return the width of least error and the place of its penalty, by steps from the middle one."""
    known: dict[int, BestAlpha] = {}

    def error(place: int) -> float:
        near = min(known, key=lambda other: abs(other - place), default=None)
        problem = DualRidge(np.exp(-_WIDTHS[place] * distances), weights)
        known[place] = problem.best_alpha(Y, 9 if near is None else known[near].grid_index, (2, 1))
        return known[place].error

    best = least_error(error, 3, (0, len(_WIDTHS) - 1), (1,))
    return float(_WIDTHS[best]), known[best].grid_index


def _exact(
    X: NDArray[np.float64],
    Y: sparse.csr_array,
    weights: NDArray[np.float64] | None,
    rows: NDArray[np.int64] | None,
    gamma: float,
    place: int,
) -> KernelFit:
    table = kernel(X, X, gamma)
    means = table.mean(axis=0) if weights is None else weights @ table / weights.sum()
    problem = DualRidge(table, weights)
    alpha = problem.best_alpha(Y, place, (1,)).alpha
    fitted = problem.at(alpha)
    coef = fitted.coefficients(Y)
    return KernelFit(
        gamma,
        np.arange(len(X)),
        X.copy(),
        coef,
        label_means(Y, weights) - means @ coef,
        alpha,
        fitted.held_out(Y, rows, coef),
    )


def _features(X: Any, Z: NDArray[np.float64], gamma: float, root: NDArray[np.float64]) -> Any:
    """Return the kernel of instances with landmarks times a root; of chunked instances it is computed in each pass."""
    if isinstance(X, ChunkedTable):
        return X.map(lambda part: _features(part, Z, gamma, root), root.shape[1])
    features = np.empty((len(X), root.shape[1]))
    for block in batches(len(X), max(1, _BLOCK // len(Z))):
        features[block] = kernel(X[block], Z, gamma) @ root
    return features


def _by_landmarks(
    X: Any,
    chosen: NDArray[np.int64],
    Y: sparse.csr_array,
    weights: NDArray[np.float64] | None,
    rows: NDArray[np.int64] | None,
    gamma: float,
    place: int,
) -> KernelFit:
    Z = X[chosen]
    squares, basis = scipy.linalg.eigh(kernel(Z, Z, gamma), driver="evd", check_finite=False)
    kept = squares > 1e-10 * squares[-1]
    root = basis[:, kept] / np.sqrt(squares[kept])
    problem = PrimalRidge(_features(X, Z, gamma, root), weights)
    alpha = problem.best_alpha(Y, place, (2, 1)).alpha
    fitted = problem.at(alpha)
    coef = fitted.coefficients(Y)
    held_out = fitted.held_out(Y, rows, coef)
    intercept = label_means(Y, weights) - problem.mean @ coef
    return KernelFit(gamma, chosen, Z, root @ coef, intercept, alpha, held_out)


_KERNELS = ("auto", "linear", "rbf")
_CALIBRATED = 1 << 25  # scores from which calibration and decision are learned: 268 MB
_DOUBLE = 1 << 26  # numbers up to which coefficients are kept in double precision
_SINGLE_WORK = 2e11  # products above which coefficients are computed in single precision, where that is safe


class _Linear(NamedTuple):
    """A linear fit: scores of x are intercept + x coef; leave-one-out predictions of some instances."""

    coef: NDArray[Any]  # (D, L)
    intercept: NDArray[np.float64]  # (L,)
    held_out: NDArray[Any]  # (m, L)


class LabelRidge(LabelModel):
    r"""Ridge regression of all labels, linear and with a kernel, with its settings chosen by exact leave-one-out.

    .. math:: \min_{W, b} \|Y - X W - 1 b^T\|_F^2 + \alpha \|W\|_F^2

    With :math:`H` the matrix that maps labels to their fit, the predictions of all fits that leave one instance out are

    .. math:: \hat y_i^{(-i)} = y_i - \frac{y_i - \hat y_i}{1 - H_{ii}}

    They need no further fit, and everything is chosen and learned from them, in this order: the scale of the features
    (see `Scaling`), α (of 19 values around the mean squared length of an instance), the number of components of the
    labels (projected on fewer, this is `PLST`; with all, ridge regression of each label), and for dense features the
    width of the kernel :math:`e^{-\gamma \|x - x'\|^2}` and how much of its predictions is mixed with the linear ones;
    then how scores become probabilities, and how these become labels. No instances are held out for any of it.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Weight of the penalty of the linear part, above 0.
    kernel : {"auto", "linear", "rbf"}, default="auto"
        Whether a kernel is added: with "auto" where the scaling leaves features dense, that is, for those of which at
        least 30 % are not 0, or with at most 100 columns. On text it never helped.
    n_components : int, float or "auto", default="auto"
        Number of components of the labels, or its share of their number; "auto" takes fewer than all only if the
        squared error falls by it. Beyond 1,000 labels "auto" takes all.
    {scale}
    {threshold}
    {decide_for}
    {missing}
    {class_weight}
    updatable : bool, default=False
        Whether the model keeps sums over its instances, to which `update` adds those of new ones: half a table of
        features × features, 1 MB for 500 features, 100 MB for 5,000, which are the most. Then no kernel is added, and
        "auto" takes all components, since these look at the instances themselves. So it is not the default: a file may
        become ten times as large, and on some dense features a kernel predicts better.
    {random_state}
        It draws the instances whose scores are calibrated, where there are too many of them.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    coef_ : ndarray of shape (D, L)
        Coefficients of the scaled features; of labels that are not constant in training.
    intercept_ : ndarray of shape (L,)
        Scores are X `coef_` + K `dual_coef_` + `intercept_`, with K the kernel of X with the landmarks.
    landmarks_ : ndarray of shape (m, D)
        Scaled instances with which the kernel is formed: all of up to 3,000, a sample of 1,000 beyond (Nyström); no
        rows where there is no kernel.
    instances_ : ndarray of shape (m,)
        Their rows in what `fit` was given.
    instance_ids_ : ndarray of shape (m,) or None
        Their ids, if it was a data set with ids.
    dual_coef_ : ndarray of shape (m, L)
        Coefficients of the landmarks.
    alpha_, kernel_alpha_, gamma_, kernel_share_ : float
        What was chosen: penalties, width, and the share of the kernel in the predictions, 0 to 1.
    n_components_ : int
        Number of components of the labels.
    sums_ : tuple of RidgeSums or None
        Over the instances, where the model is `updatable`.
    refit_due_ : bool
        Whether a tenth or more of the instances came after the fit, so that its choices should be made again.
    n_features_in_, label_names_, constant_, scaling_, decision_
        See `LabelModel`.

    Notes
    -----
    Time: a few inverses of a matrix of the shorter side of X (about n³ multiplications each), a sixth of that of one
    decomposition into eigenvectors. Sparse features with more than 5,000 rows and more than 5,000 columns are not
    inverted: α is chosen by leave-one-out on 4,000 instances, coefficients come from conjugate gradients, and a
    quarter of the instances is held out for calibration. Labels are worked on in blocks, so that no table of
    instances × labels stands in memory beyond the scores that are calibrated.

    A fit to chunks takes all sums over the instances in passes, with the same results but for rounding; up to 20,000
    features have an inverse then. Labels are in memory, sparse.

    Where labels are not known (`missing`, or `mask` of `fit`), or have weights (`class_weight`), α is chosen by its
    error on a fifth of the known labels,
    hidden (on large features as if each unknown label had the mean of the known ones), and each label has a regression
    on its own instances (see `PLST`); there is no kernel and no code, and a quarter of the instances is held out, since
    leave-one-out does not hold then.

    Repeated instances make leave-one-out optimistic: each has its copy among the others. Then so are probabilities.
    It is right for new instances that have such copies too. For others, give each distinct instance once, with its
    number as weight: then it is left out as a whole. A fit warns if more than a tenth of the instances are copies.

    `explain` says of the kernel how much each landmark counts for an instance, times what it speaks for: its label
    minus the intercept, times `kernel_share_` (of more than 3,000 instances, about what the kernel fits to it). With K
    the kernel of the landmarks, k that of an instance with them, and M = K + δI, these are the entries of M⁻¹ k and of
    M `dual_coef_`; δ is `kernel_alpha_`, or less, so that no δ `dual_coef_` is above 1. They sum to k `dual_coef_`,
    whose own terms may be thousands that cancel.

    References
    ----------
    D. M. Allen, "The relationship between variable selection and data augmentation and a method for prediction",
    Technometrics 16, 1974. The calibration follows J. Platt, "Probabilistic outputs for support vector machines", 1999.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> Y = np.column_stack([X[:, 0] > 0, X[:, 0] + X[:, 1] > 1, np.abs(X[:, 2]) > 1])
    >>> model = LabelRidge().fit(X[:150], Y[:150])
    >>> model.score(X[150:], Y[150:]) > 0.8
    True
    >>> model.predict_proba(X[150:]).shape
    (50, 3)

    Instances may come in chunks, which are read again in each of several passes:

    >>> chunks = [(X[:100], Y[:100]), (X[100:150], Y[100:150])]
    >>> np.allclose(LabelRidge().fit(chunks).decision_function(X), model.decision_function(X))
    True
    """

    alpha: float | str = param(penalty(inclusive=False), default="auto", kw_only=False)
    kernel: str = param(one_of(_KERNELS), default="auto")
    n_components: int | float | str = param(size(also=["auto"]), default="auto")
    missing: str = param(check_missing, default="error")
    class_weight: Any = param(check_class_weight, default=None)
    updatable: bool = param(check_flag, default=False)

    coef_: NDArray[Any] = learned("features labels")
    intercept_: NDArray[np.float64] = learned("labels")
    landmarks_: NDArray[np.float64] = learned("landmarks features")
    instances_: NDArray[np.int64] = learned("landmarks", dtype=int)
    dual_coef_: NDArray[np.float64] = learned("landmarks labels")
    alpha_: float = learned(check=number(low=0))
    kernel_alpha_: float = learned(check=number(low=0))
    gamma_: float = learned(check=number(low=0))
    kernel_share_: float = learned(check=number(low=0))
    n_components_: int = learned(check=whole(0))
    instance_ids_: NDArray[Any] | None = learned("landmarks", dtype=object, optional=True)
    sums_: tuple[RidgeSums, ...] | None = learned(kind=RidgeSums, many=True, optional=True)

    def _check_together(self) -> None:
        super()._check_together()
        others = {
            "kernel": self.kernel == "rbf",
            "n_components": self.n_components not in ("auto", 1.0),
            "missing": self.missing != "error",
            "class_weight": self.class_weight is not None,
        }
        wrong = next((name for name, is_given in others.items() if self.updatable and is_given), None)
        if wrong is not None:
            raise InvalidInputError(
                "it looks at single instances, of which sums for updates know nothing",
                argument=wrong,
                found=getattr(self, wrong),
                advice=("leave it out, or ", Argument("updatable")),
            )

    def update(
        self,
        X: Features,
        y: Labels | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        label_names: Iterable[Any] | None = None,
    ) -> Self:
        """Learn from new instances too, as after another day, with the settings of the fit.

        Coefficients and intercepts are those of a fit to all instances with the same scaling and `alpha_`, but for
        rounding. Labels that did not vary until now are learned from where they do. What was chosen and learned from
        held-out instances stays: how features are scaled, `alpha_`, calibration and decision. From where a tenth of the
        instances came after the fit, `refit_due_` is True: then these should be learned anew from all instances, or the
        decision at least, by `fit_threshold`, from instances that are new to the model. Words of a text that did not
        occur in the fit do not count until then.

        Parameters
        ----------
        {features}
            Or a data set without `y`.
        {labels}
            All must be known.
        {sample_weight}
            As in `fit`: an instance of weight 2 counts as two of those that had no weight.
        {label_names}
            They may come in another order. New labels come by `add_labels`.

        Returns
        -------
        self
            An update that fails leaves the model as it was.

        Raises
        ------
        InvalidInputError
            If the model is not `updatable`, or features, labels or weights are not valid, or not those of the fit.

        Notes
        -----
        Nobody remembers single instances: those that are given again count twice. Time: products of the new instances
        alone, and one Cholesky factorization of a matrix of features × features.

        Examples
        --------
        >>> X, Y = np.arange(12.0)[:, None], np.arange(12)[:, None] > 5
        >>> model = LabelRidge(updatable=True).fit(X, Y).update([[2.0], [8.0]], [[True], [True]])
        >>> model.predict([[3.0], [9.0]]).ravel(), model.refit_due_
        (array([False,  True]), True)
        """
        check_is_fitted(self)
        earlier = getattr(self, "sums_", None)  # there are none where no label varied
        if not earlier:
            raise InvalidInputError(
                f"this {type(self).__name__} kept no sums to which new instances could be added",
                advice=("fit it with ", Argument("updatable", True), " to instances among which a label varies"),
            )
        _refuse_space(X)
        D = self.n_features_in_
        with committed(self, keep=learned_names(self)) as fitted, blas_limit(D, D):
            data = fitted._receive(X, y, sample_weight, label_names=label_names, reset=False)
            new = RidgeSums.of(data.features, data.labels, data.weights)
            fitted.sums_ = tuple(sums.plus(new.select({"names": sums.labels})) for sums in earlier)
            n_on = np.bincount(data.labels.indices, minlength=data.labels.shape[1])
            stays = n_on == np.where(self.constant_ > 0, data.n_instances, 0)
            fitted.constant_ = np.where(stays, self.constant_, 0).astype(np.int8)
            fitted._solve_sums()
        return self

    def add_labels(
        self,
        X: Features,
        y: Labels | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        label_names: Iterable[Any] | None = None,
    ) -> Self:
        """Learn labels that the model does not know yet, with the settings of the fit; all others stay what they are.

        Scores are those of a linear ridge regression on the given instances, with the same scaling and `alpha_`. So
        they are those of a fit to all labels, if the instances are those of the fit and that has no kernel. Slope and
        offset of their probabilities are learned from leave-one-out scores of these instances, and so is the cut of a
        label, where each has its own; what all labels share stays.

        Parameters
        ----------
        {features}
            Or a data set without `y`.
        y : array-like, sparse matrix or array, or frame, of shape (n, k)
            The new labels alone; all must be known. Give labels that are known on other instances one by one.
        {sample_weight}
        {label_names}
            They must differ from those that the model has.

        Returns
        -------
        self
            A call that fails leaves the model as it was.

        Raises
        ------
        InvalidInputError
            If a label has no name, or one that the model knows, or does not vary, or features or labels are not valid.

        Notes
        -----
        A model that is `updatable` keeps sums over these instances too, where they are not those of the fit.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> model = LabelRidge(kernel="linear").fit(X, X[:, :2] > 0, label_names=["sea", "sun"])
        >>> model.add_labels(X, X[:, 2:] > 0, label_names=["ski"]).predict([[1.0, -1.0, 1.0]])
        array([[ True, False,  True]])
        """
        check_is_fitted(self)
        X, y, label_names, sample_weight, _ = unpack_dataset(X, y, label_names, sample_weight, None)
        _refuse_space(X)
        _, form, names = as_labels(y, label_names)
        known = sorted(set(map(str, names)) & set(map(str, self.label_names_)))
        if label_names is None and not form.is_frame:
            raise InvalidInputError("new labels need names", argument="label_names", advice="give one for each of them")
        if known:
            raise InvalidInputError(
                f"the model knows {shorten(known)} already",
                argument="label_names",
                advice="update learns of known labels from new instances, and drop_labels forgets them",
            )
        if self.constant_.all():
            raise InvalidInputError("no label varied in the fit, so that it chose nothing", advice="fit all labels")
        settings = self.decision_.fit_settings | {"updatable": bool(self.sums_), "random_state": self.random_state}
        settings["class_weight"] = self.class_weight if isinstance(self.class_weight, str) else None
        part = LabelRidge(self.alpha_, kernel="linear", n_components=1.0, scale="none", **settings)
        features = self._features(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # the model has warned of its own
            part.fit(features, y, sample_weight, label_names=names)
        if part.constant_.any():
            same = shorten(names[part.constant_ != 0].tolist())
            raise InvalidInputError(
                f"{same}: on for all of the instances or for none, so that nothing can be learned",
                argument="y",
                advice="give instances with the label and without it",
            )
        with committed(self, keep=learned_names(self)) as fitted:
            fitted._join(part)
        return self

    def _join(self, part: LabelRidge) -> None:
        """Take in the labels of another fit with the same settings."""
        m, n_labels = len(self.landmarks_), len(part.label_names_)
        self.coef_ = np.hstack([self.coef_, part.coef_.astype(self.coef_.dtype, copy=False)])
        self.intercept_ = np.append(self.intercept_, part.intercept_)
        self.dual_coef_ = np.hstack([self.dual_coef_, np.zeros((m, n_labels))])
        self.n_components_ += n_labels
        if self.sums_ and part.sums_:
            self.sums_ = joined(self.sums_, part.sums_[0], len(self.label_names_))
        self.decision_ = self.decision_.joined(part.decision_)
        self.constant_ = np.append(self.constant_, part.constant_)
        self.form_ = check_coding(part.form_, self.form_)
        self._relabel(self.label_names_.tolist(), part.label_names_.tolist())

    @property
    def refit_due_(self) -> bool:
        """Whether a tenth or more of the instances came after the fit: see `update`."""
        check_is_fitted(self)
        return any(sums.due for sums in getattr(self, "sums_", None) or ())

    def _solve_sums(self) -> None:
        """Set what follows from the sums: coefficients and intercepts of the labels that vary."""
        D, varying = self.n_features_in_, self.constant_ == 0
        coef, intercept = np.zeros((D, len(varying))), np.zeros(len(varying))
        for sums in self.sums_ or ():
            coef[:, sums.labels], intercept[sums.labels] = sums.solve(self.alpha_)
        large = D * np.count_nonzero(varying) > _DOUBLE
        self.coef_ = coef[:, varying].astype(np.float32 if large else np.float64, order="C")
        self.intercept_ = intercept[varying] - 0.5
        self._forget_kernel(D, len(self.intercept_))
        self.n_components_ = len(self.intercept_)

    def _capabilities(self) -> Capabilities:
        # Where a kernel is added, rows of length 1 lost .007 of micro-F1 on scene and .003 on emotions.
        scales = ("standard", "standard-rows") if self.updatable or self.kernel == "linear" else ("standard",)
        return replace(super()._capabilities(), weights="any", chunks=True, scales=scales, separate_labels=True)

    def _resolved_params(self) -> dict[str, Any]:
        return {"alpha": self.alpha_, "n_components": self.n_components_, **resolved_weights(self)}

    def _held_out(self, data: TrainingData) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the leave-one-out scores that the fit kept; see `LabelModel._held_out`."""
        found, data.cache.held_out = data.cache.held_out, None  # so that the caller can free it
        return found or super()._held_out(data)

    def _fit_bytes(self, data: TrainingData) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        d = L if self.n_components == "auto" else min(resolve_size(self.n_components, L), L)
        coefficients = D * L * (4 if D * L > _DOUBLE else 8)
        kept = 12 * D * D if self.updatable else 0  # the table itself, and half of it
        return kept + coefficients + (principal_bytes(n, L, d) if d < L else 0)

    def _fit(self, data: TrainingData) -> None:
        X, Y, weights = data.features, data.labels.astype(np.float64), data.weights
        self._forget_kernel(X.shape[1], Y.shape[1])
        classes, self.sums_ = class_weights(self, data), None
        if self.updatable:
            self._check_updatable(data)
        if data.known is not None or classes is not None:
            self._fit_known(data, np.ones(Y.shape, dtype=bool) if data.known is None else data.known, classes)
            return
        if FeatureSpace.too_large(X):
            alpha = None if self.alpha == "auto" else float(self.alpha)
            self.alpha_, self.coef_, intercept = fit_large(X, Y, weights, alpha)
            self.intercept_, self.n_components_ = intercept - 0.5, Y.shape[1]
            return
        rows = sampled(np.arange(data.n_instances), Y.shape[1], make_generator(self.random_state), _CALIBRATED)
        problem = ridge_problem(X, weights) if data.space is None else data.feature_space().problem()
        self.alpha_ = exact_penalty(data, problem) if self.alpha == "auto" else float(self.alpha)
        coef, intercept, held_out = _fit_linear(problem, X, Y, self.alpha_, rows)
        if self.updatable:
            gram = problem.gram if isinstance(problem, PrimalRidge) else None
            self.sums_ = (RidgeSums.of(X, with_constant(data.labels, self.constant_), weights, gram),)
        added = self._kernel_fit(X, Y, weights, rows)
        dual = self.dual_coef_
        if added is not None:
            share = _share(Y[rows], held_out, added.held_out, None if weights is None else weights[rows])
            if share > 0:
                coef, intercept = (1 - share) * coef, (1 - share) * intercept + share * added.intercept
                dual, held_out = share * added.coef, held_out + share * (added.held_out - held_out)
                self.kernel_share_, self.kernel_alpha_, self.gamma_ = share, added.alpha, added.gamma
                self.landmarks_ = added.landmarks
                self.instances_, self.instance_ids_ = data.instance_ids(added.instances)
        code = None if self.updatable else chosen_code(self.n_components, Y, weights, rows, held_out)
        self.n_components_ = Y.shape[1] if code is None else code.shape[1]
        if code is not None:
            coef, dual = (coef @ code) @ code.T, (dual @ code) @ code.T
            mean = label_means(Y, weights)
            intercept, held_out = (mean + ((part - mean) @ code) @ code.T for part in (intercept, held_out))
        self.coef_, self.dual_coef_, self.intercept_ = coef, dual, intercept - 0.5
        held_out -= 0.5
        data.cache.held_out = rows, held_out

    def _check_updatable(self, data: TrainingData) -> None:
        """Refuse data over which no sums are kept."""
        if (D := data.features.shape[1]) > FeatureSpace.largest:
            raise InvalidInputError(
                f"sums for updates take a table of features × features, and {D:,} features are more than "
                f"{FeatureSpace.largest:,}",
                argument="updatable",
                found=True,
                advice="leave it out and fit again to all instances, or give fewer features",
            )
        if data.known is not None:
            raise InvalidInputError(
                "where labels are not known, each has sums of its own",
                argument="updatable",
                found=True,
                advice="leave it out, or leave out instances whose labels are not all known",
            )

    def _fit_known(self, data: TrainingData, known: NDArray[np.bool_], classes: ClassWeights | None) -> None:
        """Learn each label from its own instances: where it is known, and with weights of its own."""
        space, large = data.feature_space(), FeatureSpace.too_large(data.features)
        if self.alpha == "auto":
            part = data.rows(rows_for_penalty(data.n_instances)) if large else data
            problem = ridge_problem(part.features, part.weights) if large else space.problem()
            alpha = problem.best_alpha(part.expected_labels()).alpha
            alpha = alpha if large else known_penalty(space, data.labels, known, alpha, classes)
        else:
            alpha = float(self.alpha)
        ends: dict[str, Any] = {"tol": TOLERANCE} if large else {}
        coef, intercept = known_ridge(space, data.labels, known, alpha, classes=classes, **ends)
        self.alpha_, self.coef_, self.intercept_ = alpha, coef, intercept - 0.5
        self.n_components_ = data.labels.shape[1]

    def _forget_kernel(self, D: int, L: int) -> None:
        self.landmarks_, self.dual_coef_ = np.zeros((0, D)), np.zeros((0, L))
        self.instances_, self.instance_ids_ = np.zeros(0, dtype=np.int64), None
        self.kernel_share_ = self.kernel_alpha_ = self.gamma_ = 0.0

    def _kernel_fit(
        self, X: CheckedFeatures, Y: sparse.csr_array, weights: NDArray[np.float64] | None, rows: NDArray[Any]
    ) -> KernelFit | None:
        if self.updatable or self.kernel == "linear" or (self.kernel == "auto" and share_filled(X) < SPARSE):
            return None
        return fit_kernel(dense_features(X).astype(np.float64, copy=False), Y, weights, rows)

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        scores = linear(X, self.coef_, self.intercept_)
        m = len(self.landmarks_)
        for rows in batches(X.shape[0], max(1, _BLOCK // max(m, 1))) if m else ():
            scores[rows] += self._kernel(X[rows]) @ self.dual_coef_
        return scores

    def _kernel(self, X: Any) -> NDArray[np.float64]:
        """Return the kernel of scaled features with the landmarks."""
        table = X.toarray() if is_sparse(X) else X
        return kernel(table.astype(np.float64, copy=False), self.landmarks_, self.gamma_)

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        features = LinearPart(X, self.coef_)
        if not len(self.landmarks_):
            return ScoreParts((features,), self.intercept_)
        between = kernel(self.landmarks_, self.landmarks_, self.gamma_)
        counts, values = kernel_contributions(self._kernel(X), between, self.kernel_alpha_, self.dual_coef_)
        everyone = np.broadcast_to(np.arange(len(values)), counts.shape)
        votes = VotePart(everyone, lambda label, row: counts[row] * values[:, label])
        names = self.instances_ if self.instance_ids_ is None else self.instance_ids_
        return ScoreParts((features, votes), self.intercept_, names)

    def _check_learned(self) -> None:
        super()._check_learned()
        if len(getattr(self, "landmarks_", ())) and not self.kernel_alpha_ > 0:
            raise InvalidInputError(f"alpha of the kernel is {self.kernel_alpha_}, expected a number above 0")
        for sums in self.sums_ or ():
            sums.check(self.n_features_in_, len(self.label_names_))


def _refuse_space(X: Any) -> None:
    """Refuse features that were scaled, perhaps by other instances than those of the fit."""
    if isinstance(X, FeatureSpace):
        raise InvalidInputError("new instances come as they are, not as a FeatureSpace", argument="X")


def _fit_linear(
    problem: RidgeProblem, X: CheckedFeatures, Y: sparse.csr_array, alpha: float, rows: NDArray[Any]
) -> _Linear:
    """Fit labels in blocks, so that there is no second table of their size."""
    (n, D), L = X.shape, Y.shape[1]
    heavy = float(len(problem.gram)) ** 2 * L > _SINGLE_WORK
    fitted = problem.at(alpha, problem.precision(alpha) if heavy else np.float64)
    coef = np.empty((D, L), np.float32 if D * L > _DOUBLE else np.float64)
    held_out = np.empty((len(rows), L), np.float32 if len(rows) * L > _BLOCK << 2 else np.float64)
    intercept, mean = label_means(Y, problem.weights), column_means(X, problem.weights)
    columns = Y.tocsc()
    height = L if is_chunked(X) else max(1, _BLOCK // max(n, D))
    for block in batches(L, height):
        some = sparse.csr_array(columns[:, block])
        found = fitted.coefficients(some)
        held_out[:, block] = fitted.held_out(some, rows, found)
        coef[:, block] = np.asarray(X.T @ found) if isinstance(problem, DualRidge) else found
        intercept[block] -= mean @ coef[:, block]  # of all at once, coefficients would be copied in double precision
    return _Linear(coef, intercept, held_out)


def _share(
    Y: sparse.csr_array, first: NDArray[Any], second: NDArray[Any], weights: NDArray[np.float64] | None
) -> float:
    """Return the share of the second predictions with which the mixture has the least squared error, 0 to 1."""
    change = second - first
    if weights is not None:
        first, Y = first * weights[:, None], scaled_rows(Y, weights)
    gain = float(Y.multiply(change).sum()) - float(np.vdot(first, change))
    size = float(np.vdot(change, change if weights is None else change * weights[:, None]))
    return min(max(gain / size, 0.0), 1.0) if size > 0 else 0.0
