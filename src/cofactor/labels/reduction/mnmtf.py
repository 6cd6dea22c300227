"""Multi-label informed non-negative matrix tri-factorization (Kimura, Kudo & Sun)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from cofactor import persistence
from cofactor.correlation import co_occurrence
from cofactor.errors import InvalidInputError
from cofactor.labels.base import CheckedFeatures
from cofactor.labels.data import as_labels
from cofactor.labels.features import as_features
from cofactor.labels.fit_input import check_lengths
from cofactor.labels.tags import label_tags
from cofactor.model.callers import callers_level
from cofactor.model.checks import (
    check_callback,
    check_choice,
    check_number,
    check_size,
    check_verbose,
    make_generator,
)
from cofactor.model.commit import committed
from cofactor.model.convergence import warn_if_unfinished
from cofactor.model.docs import fill_docs
from cofactor.model.parameters import refuses_unknown_parameters
from cofactor.model.progress import Monitor
from cofactor.model.size import refuse_too_large
from cofactor.model.state import check_array, member, plain
from cofactor.problems.tri_factorization import TriFactorizationProblem
from cofactor.solvers.multiplicative import repeat_updates
from cofactor.solvers.nnls import nonnegative_least_squares
from cofactor.solvers.result import Callback
from cofactor.typing import Features, Labels, RandomState


@fill_docs
@refuses_unknown_parameters
class MNMTF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
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
        Number J of bases. A float is a share of the number of features, above 0 and at most 1 (the paper takes 0.3).
        None is the number L of labels. More than L bases are not determined: the others stay as they were at the start
        (corrections.md, C56).
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

    #: Whether `fit` takes sparse labels; see `LabelModel`.
    takes_sparse_labels: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        alpha: float = 0.1,
        rule: str = "scale-invariant",
        training_codes: str = "nnls",
        start_scale: float = 0.01,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.rule = rule
        self.training_codes = training_codes
        self.start_scale = start_scale
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Features, y: Labels) -> Self:
        """Learn the bases.

        Parameters
        ----------
        {features}
            Not negative.
        {labels}

        Returns
        -------
        self
        """
        self._check_params()
        with committed(self) as fitted:
            fitted._learn(X, y)
        return self

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
        self._check_params()
        with committed(self) as fitted:
            features, labels = fitted._learn(X, y)
        if self.training_codes == "labels":
            return np.asarray(labels @ self.label_codes_)
        return self._project(features)

    def transform(self, X: Features) -> NDArray[np.float64]:
        """Return the non-negative coefficients of instances on the bases.

        Parameters
        ----------
        {features}
            Not negative.

        Returns
        -------
        ndarray of shape (n, J)
        """
        check_is_fitted(self)
        return self._project(self._features(X, reset=False))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's description of the estimator."""
        tags = label_tags(super().__sklearn_tags__())
        tags.input_tags.positive_only = True
        return tags

    def save(self, path: str | Path) -> None:
        """Write the transformer to a file for `cofactor.load`, which never executes anything from it.

        Parameters
        ----------
        {path}
        """
        check_is_fitted(self)
        persistence.save(path, self)

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return a header which JSON can hold, and arrays."""
        header = {
            "params": {k: plain(v) for k, v in self.get_params(deep=False).items() if k != "callback"},
            "feature_names": [str(name) for name in getattr(self, "feature_names_in_", [])],
            "objective": self.objective_,
            "history": self.history_,
        }
        return header, {"components": self.components_, "label_codes": self.label_codes_}

    @classmethod
    def _from_state(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        """Rebuild a transformer from what `_to_state` returned, and refuse parts that do not fit together."""
        model = cls(**member(header, "params", dict))
        model._check_params()
        model.components_, model.label_codes_ = arrays["components"], arrays["label_codes"]
        J, D = model.components_.shape
        check_array("components", model.components_, (J, D), np.float64)
        check_array("label_codes", model.label_codes_, (len(model.label_codes_), J), np.float64)
        model.n_features_in_ = D
        if names := member(header, "feature_names", list):
            model.feature_names_in_ = np.array(names, dtype=object)
        model.objective_, model.history_ = member(header, "objective", float), member(header, "history", list)
        model.n_iter_ = len(model.history_) - 1
        return model

    def _check_params(self) -> None:
        if self.n_components is not None:
            check_size("n_components", self.n_components)
        check_number("alpha", self.alpha, low=0)
        check_choice("rule", self.rule, ("scale-invariant", "printed"))
        check_choice("training_codes", self.training_codes, ("nnls", "labels"))
        check_number("start_scale", self.start_scale, low=0, inclusive=False)
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)
        check_callback(self.callback)
        check_verbose(self.verbose)

    def _features(self, X: Any, *, reset: bool) -> CheckedFeatures:
        """Return checked features, none below 0."""
        table = as_features(X, self, reset=reset)
        values = table.data if sparse.issparse(table) else table
        lowest = float(values.min(initial=0))
        if lowest < 0:
            raise InvalidInputError(
                f"Negative values in data passed to {type(self).__name__}: X holds {lowest:g}, but features must not "
                "be negative",
                argument="X",
                advice="put sklearn.preprocessing.MinMaxScaler(clip=True) before it, or shift them",
            )
        return table

    def _learn(self, X: Any, y: Any) -> tuple[CheckedFeatures, sparse.csr_array]:
        """Check the data and minimise the objective; return checked features and labels."""
        features = self._features(X, reset=True)
        labels, _, _ = as_labels(y)
        check_lengths(features, labels)
        problem = self._problem(features, labels)
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
        return features, labels

    def _problem(self, X: CheckedFeatures, Y: sparse.csr_array) -> TriFactorizationProblem:
        D, L = X.shape[1], Y.shape[1]
        J = L if self.n_components is None else self.n_components
        if not isinstance(J, int | np.integer):
            J = max(1, round(J * D))
        refuse_too_large(self, 8 * int(J) * (D + L), X.size)
        cross = Y.T @ X
        values = X.data if sparse.issparse(X) else X
        return TriFactorizationProblem(
            np.asarray(cross.toarray() if sparse.issparse(cross) else cross, dtype=np.float64),
            co_occurrence(Y),
            float(np.sum(np.square(values, dtype=np.float64))),
            int(J),
            self.alpha,
            self.rule == "scale-invariant",
        )

    def _project(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return v(x) for each row."""
        B = self.components_
        V, unfinished = nonnegative_least_squares(B @ B.T, np.asarray(X @ B.T))
        if unfinished:
            warnings.warn(
                f"MNMTF: {unfinished} of {len(V)} rows have inexact coefficients, since the bases are nearly linearly "
                "dependent: take a smaller n_components",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )
        return V
