"""Non-negative matrix factorization of the features, by scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from cofactor.checks import AUTO, check_random_state, make_generator, number, resolve_size, size, whole
from cofactor.labels.base import CheckedFeatures
from cofactor.labels.reduction.base import NonnegativeReduction
from cofactor.labels.regression import FeatureSpace
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import learned, param
from cofactor.model.size import refuse_too_large
from cofactor.typing import RandomState

_SHARE, _MOST = 0.3, 100  #: bases of "auto": a share of the features, and their largest number
_FLAT = 1e-5  #: slopes of bases, as a share of the largest inner product, that are rounding errors


class FeatureNMF(NonnegativeReduction):
    r"""Non-negative matrix factorization of the features; it does not look at the labels.

    .. math:: \min_{V, B \ge 0} \|X - V B\|_F^2, \qquad v(x) = \operatorname{argmin}_{v \ge 0} \|x - v B\|^2

    The bases B are those of `sklearn.decomposition.NMF`, divided by their lengths, since distances between coefficients
    depend on these. New features are the non-negative coefficients v(x), for
    training instances as for new ones: what a classifier learns from them holds for both.

    Parameters
    ----------
    n_components : int, float or "auto", default="auto"
        Number J of bases, or its share of the number of features, in (0, 1]; at most the number of instances, or of
        features if there are fewer. "auto" takes 0.3 of the features, but no more than 100: an iteration takes time in
        proportion to J².
    max_iter : int, default=200
        Largest number of iterations.
    tol : float, default=5e-3
        Tolerance of scikit-learn's solver, coordinate descent, which has 1e-4 by itself. On held-out quarters of
        medical ML-kNN was as accurate behind the bases of 5e-3, which take a fifth of the time.
    {random_state}
        It draws the singular vectors from which the bases start (scikit-learn's "nndsvda").

    Attributes
    ----------
    components_ : ndarray of shape (J, D)
        Bases B, of length 1, or 0 where nothing is left for one.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number D of features.

    Raises
    ------
    InvalidInputError
        If features are negative.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` ended the fit, or the coefficients of some rows cannot be found exactly.

    Notes
    -----
    For features that are non-negative by nature, such as counts of words. Standardised features that were shifted lose
    much by it: ML-kNN on emotions had an accuracy of .44 after it, and of .56 without. `MNMTF` learns bases with the
    labels. A row of zeros has the coefficients 0.

    References
    ----------
    D. D. Lee & H. S. Seung, "Learning the parts of objects by non-negative matrix factorization", Nature 401, 1999,
    doi:10.1038/44565.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((30, 2)) @ rng.random((2, 6))
    >>> V = FeatureNMF(2, random_state=0).fit_transform(X)
    >>> V.shape, bool(V.min() >= 0)
    ((30, 2), True)
    """

    n_components: int | float | str = param(size(also=[AUTO]), default=AUTO, kw_only=False)
    max_iter: int = param(whole(), default=200)
    tol: float = param(number(low=0), default=5e-3)
    random_state: RandomState = param(check_random_state, default=None)

    n_iter_: int = learned()

    _supervised: ClassVar[bool] = False

    def _size(self, D: int) -> int:
        """Return how many bases are asked for."""
        if isinstance(self.n_components, str):
            return min(resolve_size(_SHARE, D), _MOST)
        return resolve_size(self.n_components, D)

    def _fit(self, X: CheckedFeatures, Y: sparse.csr_array, space: FeatureSpace | None) -> None:
        n, D = X.shape
        J = min(self._size(D), n, D)
        refuse_too_large(self, 8 * J * (n + D), X.size)
        seed = int(make_generator(self.random_state).integers(np.iinfo(np.int32).max))
        solver = NMF(J, init="nndsvda", tol=self.tol, max_iter=self.max_iter, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # which speaks of no model and no parameter
            V = solver.fit_transform(X)
        if solver.n_iter_ >= self.max_iter and not _is_stationary(X, V, solver.components_):
            warnings.warn(
                f"FeatureNMF stopped after {self.max_iter} iterations: raise max_iter, or tol, now {self.tol:g}",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )
        B = solver.components_.astype(np.float64)
        length = np.linalg.norm(B, axis=1, keepdims=True)
        self.components_, self.n_iter_ = B / np.where(length > 0, length, 1), int(solver.n_iter_)


def _is_stationary(X: CheckedFeatures, V: NDArray[Any], B: NDArray[Any]) -> bool:
    """Whether no basis can improve: the rule of scikit-learn compares with the start, which may be a minimum."""
    cross = np.asarray(X.T @ V).T
    slope = V.T @ V @ B - cross
    slope[(B == 0) & (slope > 0)] = 0
    return bool(np.abs(slope).max() <= _FLAT * np.abs(cross).max())
