"""Ridge regression of labels with all settings chosen by exact leave-one-out: the model to begin with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import make_generator, number, one_of, resolve_size, size, whole
from cofactor.errors import InvalidInputError
from cofactor.labels.base import CheckedFeatures, FitInput, LabelModel
from cofactor.labels.class_weights import ClassWeights, check_class_weight, class_weights, settled_weights
from cofactor.labels.embedding.code import label_means
from cofactor.labels.embedding.principal import principal_bytes
from cofactor.labels.explaining import LinearPart, ScoreParts, VotePart
from cofactor.labels.features import column_means, is_sparse, scaled_rows
from cofactor.labels.filling import known_penalty, known_ridge
from cofactor.labels.held_out import sampled
from cofactor.labels.known import check_missing
from cofactor.labels.leave_one_out import DualRidge, RidgeProblem, ridge_problem
from cofactor.labels.penalty import exact_penalty, penalty
from cofactor.labels.regression import linear
from cofactor.labels.ridge.large import TOLERANCE, fit_large, rows_for_penalty, too_large
from cofactor.labels.ridge.rank import chosen_code
from cofactor.labels.ridge.rbf import KernelFit, fit_kernel, kernel, shared_out
from cofactor.labels.scaling import SPARSE, dense_features, share_filled
from cofactor.model.estimator import learned, param
from cofactor.passes import batches, in_parts

__all__ = ["LabelRidge"]

_KERNELS = ("auto", "linear", "rbf")
_BLOCK = 1 << 22  # numbers of a block of a table
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
    n_features_in_, label_names_, constant_, scaling_, calibration_, decision_
        See `LabelModel`.

    Notes
    -----
    Time: a few inverses of a matrix of the shorter side of X (about n³ multiplications each), a sixth of that of one
    decomposition into eigenvectors. Sparse features with more than 6,000 rows and more than 6,000 columns are not
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

    @property
    def _auto_scales(self) -> tuple[str, ...]:
        # Where a kernel is added, rows of length 1 lost .007 of micro-F1 on scene and .003 on emotions.
        return ("standard", "standard-rows") if self.kernel == "linear" else ("standard",)

    @property
    def takes_weights(self) -> str:
        """Which weights the model takes: "any", since sums of squared errors are weighted."""
        return "any"

    @property
    def takes_chunks(self) -> bool:
        """Whether `fit` takes chunks of instances: yes, see `LabelModel.fit`."""
        return True

    def _resolved_params(self) -> dict[str, Any]:
        return {"alpha": self.alpha_, "n_components": self.n_components_, **settled_weights(self)}

    def _held_out(self, data: FitInput) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the leave-one-out scores that the fit kept; see `LabelModel._held_out`."""
        found, data.cache.held_out = data.cache.held_out, None  # so that the caller can free it
        return found or super()._held_out(data)

    def _fit_bytes(self, data: FitInput) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        d = L if self.n_components == "auto" else min(resolve_size(self.n_components, L), L)
        coefficients = D * L * (4 if D * L > _DOUBLE else 8)
        return coefficients + (principal_bytes(n, L, d) if d < L else 0)

    def _fit(self, data: FitInput) -> None:
        X, Y, weights = data.features, data.labels.astype(np.float64), data.weights
        self._forget_kernel(X.shape[1], Y.shape[1])
        classes = class_weights(self, data)
        if data.known is not None or classes is not None:
            self._fit_known(data, np.ones(Y.shape, dtype=bool) if data.known is None else data.known, classes)
            return
        if too_large(X):
            alpha = None if self.alpha == "auto" else float(self.alpha)
            self.alpha_, self.coef_, intercept = fit_large(X, Y, weights, alpha)
            self.intercept_, self.n_components_ = intercept - 0.5, Y.shape[1]
            return
        rows = sampled(np.arange(data.n_instances), Y.shape[1], make_generator(self.random_state), _CALIBRATED)
        problem = ridge_problem(X, weights) if data.space is None else data.feature_space().problem()
        self.alpha_ = exact_penalty(data, problem) if self.alpha == "auto" else float(self.alpha)
        coef, intercept, held_out = _fit_linear(problem, X, Y, self.alpha_, rows)
        added = self._kernel_fit(X, Y, weights, rows)
        dual = self.dual_coef_
        if added is not None:
            share = _share(Y[rows], held_out, added.held_out, None if weights is None else weights[rows])
            if share > 0:
                coef, intercept = (1 - share) * coef, (1 - share) * intercept + share * added.intercept
                dual, held_out = share * added.coef, held_out + share * (added.held_out - held_out)
                self.kernel_share_, self.kernel_alpha_, self.gamma_ = share, added.alpha, added.gamma
                self.landmarks_ = added.landmarks
                self.instances_, self.instance_ids_ = data.called(added.instances)
        code = chosen_code(self.n_components, Y, weights, rows, held_out)
        self.n_components_ = Y.shape[1] if code is None else code.shape[1]
        if code is not None:
            coef, dual = (coef @ code) @ code.T, (dual @ code) @ code.T
            mean = label_means(Y, weights)
            intercept, held_out = (mean + ((part - mean) @ code) @ code.T for part in (intercept, held_out))
        self.coef_, self.dual_coef_, self.intercept_ = coef, dual, intercept - 0.5
        held_out -= 0.5
        data.cache.held_out = rows, held_out

    def _fit_known(self, data: FitInput, known: NDArray[np.bool_], classes: ClassWeights | None) -> None:
        """Learn each label from its own instances: where it is known, and with weights of its own."""
        space, large = data.feature_space(), too_large(data.features)
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
        if self.kernel == "linear" or (self.kernel == "auto" and share_filled(X) < SPARSE):
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
        counts, values = shared_out(self._kernel(X), between, self.kernel_alpha_, self.dual_coef_)
        everyone = np.broadcast_to(np.arange(len(values)), counts.shape)
        votes = VotePart(everyone, lambda label, row: counts[row] * values[:, label])
        names = self.instances_ if self.instance_ids_ is None else self.instance_ids_
        return ScoreParts((features, votes), self.intercept_, names)

    def _check_learned(self) -> None:
        super()._check_learned()
        if len(getattr(self, "landmarks_", ())) and not self.kernel_alpha_ > 0:
            raise InvalidInputError(f"alpha of the kernel is {self.kernel_alpha_}, expected a number above 0")


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
    height = L if in_parts(X) else max(1, _BLOCK // max(n, D))
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
