"""Multi-label informed non-negative matrix tri-factorization (Kimura, Kudo & Sun)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import (
    check_callback,
    check_random_state,
    check_verbose,
    make_generator,
    number,
    one_of,
    size,
    whole,
)
from cofactor.correlation import co_occurrence
from cofactor.labels.base import CheckedFeatures
from cofactor.labels.penalty import LARGEST_WEIGHT, penalty
from cofactor.labels.reduction.base import NonnegativeReduction
from cofactor.labels.regression import FeatureSpace
from cofactor.model.commit import committed
from cofactor.model.convergence import warn_if_unfinished
from cofactor.model.estimator import learned, param
from cofactor.model.progress import Monitor
from cofactor.model.size import refuse_too_large
from cofactor.problems.nonnegative import TriFactorizationProblem
from cofactor.solvers.descent import repeat_updates
from cofactor.solvers.result import Callback
from cofactor.typing import Features, Labels, RandomState


class MNMTF(NonnegativeReduction):
    r"""Non-negative features of lower dimension: coefficients on bases which are learned with the labels.

    .. math:: \min_{S, B \ge 0}\; \|X - Y S B\|_F^2
        + \lambda \sum_{j=1}^{J} \|b_j\|^2 \, s_j^\top (D - K) s_j,
        \qquad K = Y^\top Y, \quad D = \operatorname{diag}(K 1)

    The bases b_j are the rows of B, and S holds a code for each label. The features of an instance are approximated by
    the sum of the codes of its labels, times B; labels which occur together have similar codes. Training instances and
    new instances are then represented by their non-negative coefficients on the bases,

    .. math:: v(x) = \operatorname{argmin}_{v \ge 0} \|x - v B\|^2

    MNMTF is a transformer, for use in a `Pipeline` before `MLkNN` or any other classifier. Instances are rows here and
    columns in the paper: B is the paper's Uᵀ, and S is the paper's Sᵀ.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number J of bases, at most the number of instances, or of features if there are fewer. A float is a share of
        the number of features, above 0 and at most 1 (the paper takes 0.3). None is the number L of labels. More than L
        bases are not determined: the others stay as they were at the start (corrections.md, C56).
    alpha : float, default=0.1
        λ.
    rule : {"scale-invariant", "printed"}, default="scale-invariant"
        Weights of the terms of the penalty: ‖b_j‖², or 1 as printed in the paper. A change of scale of B and S makes
        the printed penalty vanish, so its result depends on `start_scale` and `max_iter`; it always takes `max_iter`
        updates.
    training_codes : {"nnls", "labels"}, default="nnls"
        What `fit_transform` returns: with "nnls" v(x), as `transform` does; with "labels" Y S, the sums of the codes of
        the labels. These depend on the true labels, so what a classifier learns from them may not hold for new
        instances.
    start_scale : float, default=0.01
        B starts from random numbers between 0 and 1, S from such numbers times this. Only the printed rule depends on
        it.
    max_iter : int, default=200
        Largest number of updates.
    tol : float, default=1e-4
        The scale-invariant rule has converged when the objective falls by less than this share of itself per update.
    {random_state}
        It draws the start.
    {callback}
    {verbose}

    Attributes
    ----------
    components_ : ndarray of shape (J, D)
        Bases B; with the scale-invariant rule their length is 1.
    label_codes_ : ndarray of shape (L, J)
        Codes S of the labels; zeros for a label that no instance has.
    objective_ : float
        Objective at the end.
    history_ : list of float
        Objective at the start and after every update; it never rises.
    n_iter_ : int
        Number of updates.
    n_features_in_ : int
        Number D of features.

    Raises
    ------
    InvalidInputError
        If features are negative, or y is not a table of labels.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` ends the scale-invariant rule, or the coefficients of some rows cannot be found exactly.

    Notes
    -----
    The paper's equation (3) and algorithm 1 are corrected as ``docs/corrections.md`` says: K and D - K, which the paper
    prints with another size and sign (C52); the denominators of algorithm 1 (C53); the penalty, which vanishes in (3)
    by a change of scale (C54); training rows, which are projected as new rows are (C55).

    Average precision on the Yahoo sets (2,000 instances for training, 3,000 for testing) with `MLkNN`, means of three
    starts: .538 on Arts and .648 on Computers with J = 0.3 D, .564 and .667 with J = L; on the original features it is
    .509 and .634. On Business nothing is gained (.879 and .882; original features: .880). The printed rule gives .501,
    .621 and .872 with J = 0.3 D.

    An update takes O(D L J + D J² + L² J) operations for any number of instances. A projection takes O(nnz(X) J) for
    the inner products, and a few passes over J coefficients for each row.

    References
    ----------
    K. Kimura, M. Kudo & L. Sun, "Dimension reduction using nonnegative matrix tri-factorization in multi-label
    classification", Hokkaido University.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.random((60, 3)) < 0.4
    >>> X = Y @ rng.random((3, 8)) + 0.01 * rng.random((60, 8))
    >>> V = MNMTF(random_state=0, max_iter=1000).fit_transform(X, Y)
    >>> V.shape, bool(V.min() >= 0)
    ((60, 3), True)
    """

    n_components: int | float | None = param(size(also=[None]), default=None, kw_only=False)
    alpha: float = param(penalty(also=()), default=0.1)
    rule: str = param(one_of(["scale-invariant", "printed"]), default="scale-invariant")
    training_codes: str = param(one_of(["nnls", "labels"]), default="nnls")
    start_scale: float = param(number(low=0, inclusive=False, high=LARGEST_WEIGHT), default=0.01)
    max_iter: int = param(whole(), default=200)
    tol: float = param(number(low=0), default=1e-4)
    random_state: RandomState = param(check_random_state, default=None)
    callback: Callback | None = param(check_callback, default=None)
    verbose: int = param(check_verbose, default=0)

    label_codes_: NDArray[np.float64] = learned("labels components")
    objective_: float = learned()
    history_: list[float] = learned()
    n_iter_: int = learned()

    def fit_transform(self, X: Features, y: Labels = None) -> NDArray[np.float64]:
        """Learn the bases and return codes of the training instances: see `training_codes`.

        Parameters
        ----------
        {features}
            Not negative.
        {labels}

        Returns
        -------
        ndarray of shape (n, J)
        """
        self.check_params()
        with committed(self) as fitted:
            features, labels = fitted._learn(X, y)
        if self.training_codes == "labels":
            return np.asarray(labels @ self.label_codes_)
        return self._transformed(features)

    def _fit(self, X: CheckedFeatures, Y: sparse.csr_array, space: FeatureSpace | None) -> None:
        problem = self._problem(X, Y)
        generator = make_generator(self.random_state)
        shapes = problem.layout.shapes
        # Multiplicative updates never leave 0; 1 - u is always above 0.
        start = {name: 1 - generator.random(shape) for name, shape in shapes.items()}
        start["S"] *= self.start_scale
        invariant = problem.scale_invariant
        with Monitor(self.callback, bool(self.verbose), type(self).__name__) as monitor:
            result = repeat_updates(
                problem,
                problem.pack(start),
                max_iter=self.max_iter,
                tol=self.tol if invariant else 0,
                callback=monitor.stage(type(self).__name__),
            )
        if invariant:
            warn_if_unfinished(result, self)
        arrays = problem.layout.views(result.x)
        length = np.linalg.norm(arrays["B"], axis=1) if invariant else np.ones(len(arrays["B"]))
        self.components_ = arrays["B"] / np.where(length > 0, length, 1)[:, None]
        self.label_codes_ = arrays["S"] * length
        self.objective_, self.history_, self.n_iter_ = result.objective, result.history, result.n_iter

    def _problem(self, X: CheckedFeatures, Y: sparse.csr_array) -> TriFactorizationProblem:
        (n, D), L = X.shape, Y.shape[1]
        J = L if self.n_components is None else self.n_components
        if not isinstance(J, int | np.integer):
            J = max(1, round(J * D))
        J = min(int(J), n, D)
        refuse_too_large(self, 8 * J * (D + L), X.size)
        cross = Y.T @ X
        values = X.data if sparse.issparse(X) else X
        return TriFactorizationProblem(
            np.asarray(cross.toarray() if sparse.issparse(cross) else cross, dtype=np.float64),
            co_occurrence(Y),
            float(np.sum(np.square(values, dtype=np.float64))),
            J,
            self.alpha,
            self.rule == "scale-invariant",
        )
