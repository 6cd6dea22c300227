"""Online matrix factorization: features and labels have common codes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_flag, check_number, make_generator, number, one_of, whole
from cofactor.chunked import is_sparse
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import blas_limit
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.decisions import Decision, check_decision
from cofactor.labels.embedding.code import label_means
from cofactor.labels.explaining import LinearPart, ScoreParts
from cofactor.labels.features import column_means
from cofactor.labels.leave_one_out import DualRidge, ridge_problem
from cofactor.labels.penalty import penalty
from cofactor.labels.training_data import ENOUGH
from cofactor.model.commit import committed, learned_names
from cofactor.model.convergence import NothingPredictedWarning, callers_level, predicts_none, warn_if_unfinished
from cofactor.model.estimator import learned, param
from cofactor.problems.joint import JointLeastSquaresProblem
from cofactor.solvers import Result, alternating_least_squares
from cofactor.solvers.sgd import stochastic_gradient
from cofactor.text import plural
from cofactor.typing import Features, Labels

#: Standard deviation of the random start of stochastic gradients; with 0.1 bibtex and medical need more passes.
_SPREAD = 0.01

#: Instances of a stream whose scores are remembered, unless they are more than `_RECENT_SCORES` scores.
_RECENT = 1000
_RECENT_SCORES = 1 << 22


def _check_share(name: str, value: Any) -> None:
    """Refuse what is not above 0 and below 1: where nothing else would count."""
    check_number(name, value, low=-np.inf)
    if not 0 < value < 1:
        problem = "expected a number above 0 and below 1"
        if value == 0:
            problem = f"labels would not count; {problem}"
        elif value == 1:
            problem = f"features would not count; {problem}"
        raise InvalidInputError(problem, argument=name, found=value)


class OMF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LabelModel):
    r"""Online matrix factorization for space embedding (Otálora-Montenegro, Pérez-Rubiano & González 2013).

    .. math::

        \min_{P, Q, H} \; (1 - a) \|X - H P^\top\|_F^2 + a \|Y - H Q^\top\|_F^2
        + \lambda \left(\|P\|_F^2 + \|Q\|_F^2 + \|H\|_F^2\right)

    with rows as instances, a = `label_weight` and λ = `alpha`: equation (1) of the paper. The code of an instance x is

    .. math:: h = (\xi I + P^\top P)^{-1} P^\top x, \qquad \xi = \texttt{alpha\_predict}

    by equation (2) of the paper. There its scores are Q h - 1/2, since labels are regressed as 0 and 1; the penalties
    shrink Q h towards 0. By default `fit` regresses the labels on the codes of training instances instead (`decoder`).

    Parameters
    ----------
    n_components : int, default=50
        Length s of a code; at most the number of features and labels together.
    label_weight : float, default=0.5
        Weight a of the labels, above 0 and below 1.
    alpha : float, default=0.5
        Weight λ of the penalty, above 0. Values from 0.1 to 1 suit rows of norm 1. The default is a number too, which
        stands beside `sample_weight` as it is: weights of mean 1 suit it.
    decoder : {"ridge", "factors"}, default="ridge"
        How codes become scores. "ridge": by ridge regression of the labels on the codes of the training instances, with
        the penalty of least exact leave-one-out error; it suits the `alpha_predict` of the fit. "factors": Q h - 1/2,
        as in the paper, and in streams.
    alpha_predict : float, optional
        Weight ξ of the penalty of a new instance's code, above 0. The default λ / (1 - a) follows from training; with
        a ≥ 0.9 a smaller weight, such as λ, is usually better.
    solver : {"als", "sgd"}, default="als"
        "als" minimises exactly over codes and matrices in turn (corrections.md, C51). "sgd" takes stochastic gradient
        steps, as `partial_fit` does and `paper`; it takes whole numbers as weights of instances, which are repeated as
        often. Unlike a stream, `fit` looks at the whole objective after each pass: it ends by `tol`, and undoes a pass
        that raised it.
    batch_size : int, default=1
        Instances that share a stochastic step: P and Q move by the sum of their steps.
    normalize : bool, default=True
        Whether rows of X are scaled to norm 1. The defaults of the other parameters were chosen for that.
    fit_intercept : bool, default=True
        Whether X gets a column of ones after scaling. It is approximated like the other columns.
    max_iter : int, default=100
        Largest number of rounds, or of passes over the instances.
    tol : float, default=1e-4
        Converged when the objective falls by less than this share of itself per round, over five rounds.
    eta0 : float, default=3.0
        First step length γ_0 of stochastic gradients. Of 1, 3, 10 and 30, 3 was best after one pass over bibtex and
        corel5k, and close to the best on medical and scene. `paper` takes 1.
    {scale}
    {threshold}
    {decide_for}
    {random_state}
        It draws the start, the order of instances, and the quarter of them on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    P_ : ndarray of shape (D, s)
        Features are approximately codes times the transpose of P.
    bias_ : ndarray of shape (s,)
        The row of P for the column of ones; 0 without that column.
    Q_ : ndarray of shape (L, s)
        Labels are approximately codes times the transpose of Q. Labels that are constant in training have no row.
    decoder_ : ndarray of shape (s, L)
        Scores are codes times `decoder_` plus `offset_`.
    offset_ : ndarray of shape (L,)
        See `decoder_`.
    objective_ : float
        Objective at the end of `fit`.
    history_ : list of float
        Objective at the start and after every round of `fit`.
    certificate_ : float
        Norm of the gradient of the objective with respect to P and Q.
    n_iter_ : int
        Number of rounds of `fit`.
    n_rows_seen_ : int
        Number of instances from which the model learned; `partial_fit` counts repeated instances each time.
    inverse_step_ : float
        1/γ with which the next `partial_fit` starts.
    recent_scores_, recent_labels_ : ndarray and csr_array of shape (m, L)
        Scores that `partial_fit` gave to the last instances before it learned from them, and their labels.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    NothingPredictedWarning
        If the plain cut, or the given number, predicts fewer than a twentieth as many labels as the training instances
        have.
    ConvergenceWarning
        If `max_iter` ends the fit.

    Notes
    -----
    The paper is corrected as ``docs/corrections.md`` says, C43 to C51:

    - The code of a row weights features and labels by 1 - a and a (C45), and is computed before the step of the row,
      not after it (C46).
    - The share of a row in the penalty is λ/n, and it includes λ‖h‖² (C43, C44).
    - Step lengths are γ_t = γ_0 / (1 + γ_0 (λ/n) t) (C47).
    - a multiplies the term of the labels, so high values give the labels more weight (C49).
    - The products PᵀP and QᵀQ are updated by a rank-two rule (C51).

    A step of length 1/‖h‖² would fit the row exactly. No step is longer than 9/10 of that, so long first steps are
    safe.

    References
    ----------
    S. Otálora-Montenegro, S. A. Pérez-Rubiano & F. A. González, "Online matrix factorization for space embedding
    multilabel annotation", CIARP 2013.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> topics = rng.random((200, 3)) < 0.4
    >>> X = topics @ rng.random((3, 20)) + 0.01 * rng.random((200, 20))
    >>> model = OMF(n_components=4, alpha=0.01, random_state=0).fit(X[:150], topics[:150])
    >>> model.transform(X[150:]).shape
    (50, 4)
    >>> model.score(X[150:], topics[150:]) > 0.9
    True

    Instances may come in chunks:

    >>> stream = OMF(n_components=4, alpha=0.01, random_state=0)
    >>> for first in range(0, 150, 50):
    ...     chunk = slice(first, first + 50)
    ...     stream = stream.partial_fit(X[chunk], topics[chunk])
    >>> stream.n_rows_seen_, stream.score(X[150:], topics[150:]) > 0.8
    (150, True)
    """

    n_components: int = param(whole(), default=50, kw_only=False)
    label_weight: float = param(_check_share, default=0.5, kw_only=False, grid=[0.5, 0.9])
    alpha: float = param(penalty(inclusive=False, also=()), default=0.5, kw_only=False, grid=[0.03, 0.1, 0.3, 1.0])
    decoder: str = param(one_of(["ridge", "factors"]), default="ridge")
    alpha_predict: float | None = param(penalty(inclusive=False, also=[None]), default=None)
    solver: str = param(one_of(["als", "sgd"]), default="als")
    normalize: bool = param(check_flag, default=True)
    fit_intercept: bool = param(check_flag, default=True)
    max_iter: int = param(whole(), default=100)
    tol: float = param(number(low=0), default=1e-4)
    eta0: float = param(number(low=0, inclusive=False), default=3.0)
    batch_size: int = param(whole(), default=1)

    P_: NDArray[np.float64] = learned("features components")
    bias_: NDArray[np.float64] = learned("components")
    Q_: NDArray[np.float64] = learned("labels components")
    objective_: float = learned(optional=True)  # as the next three, not by `partial_fit`
    history_: list[float] = learned(optional=True)
    certificate_: float = learned(optional=True)
    n_iter_: int = learned(optional=True)
    n_rows_seen_: int = learned(check=whole())
    inverse_step_: float = learned(check=number(low=0, inclusive=False))
    recent_scores_: NDArray[np.float32] = learned("recent labels", optional=True)
    recent_labels_: sparse.csr_array = learned("recent labels", dtype=None, optional=True)
    decoder_: NDArray[np.float64] = learned("components labels")
    offset_: NDArray[np.float64] = learned("labels")

    _paper: ClassVar[Mapping[str, Any]] = {"decoder": "factors", "solver": "sgd", "eta0": 1.0}

    def partial_fit(
        self,
        X: Features,
        y: Labels,
        sample_weight: ArrayLike | None = None,
        *,
        n_rows: int | None = None,
        label_names: Iterable[Any] | None = None,
    ) -> Self:
        """Learn from more instances, by one stochastic gradient step for each, in the given order.

        The first call sets the numbers of features and labels. A model that was fitted or loaded goes on from what it
        learned. Labels that were constant until now start from 0. Only this chunk of instances needs memory. A call
        takes s² (D + L) operations in addition to those for its rows, so give some hundred rows at a time.

        Parameters
        ----------
        {features}
        {labels}
            Predictions have the form of the first call.
        sample_weight : array-like of shape (n,), optional
            How many steps are taken with each instance, directly after each other: whole numbers, not negative.
        n_rows : int, optional
            Number of distinct instances in the whole stream, among which the penalty is divided. By default the number
            of instances so far, with this chunk. Give it if instances come repeatedly, or if the result must not
            depend on how the stream is cut into chunks (beside the scale, see the notes).
        label_names : iterable of length L, optional
            Names of the labels, by which later calls match them: they may come in another order then. Columns of a
            frame are such names too.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            As in `fit`.

        Notes
        -----
        With ``scale="auto"`` dense features are standardized as the first chunk says, if it has 5 instances or more (if
        not, a warning says so); later chunks change nothing of it. Without, streams over emotions reached a micro-F1 of
        .47, by the first 5 instances .65, and by the first 20 .66; over scene .69, .74 and .74.

        If `threshold` is "auto" or a rule, a chunk is scored before it is learned from, and the last 1,000 of these
        scores say how to decide: they are those of new instances. The first chunk is cut in two halves for that. A
        model that was fitted keeps its decision until there are 100, or as many as it was fitted to. The first
        probabilities are rough: they rest on few instances, whose scores came from a model that knew still less. A
        numeric `threshold` stays as it is.
        What the decoder "ridge" of a fitted model adds to Q, it still adds to the Q of the stream.
        """
        self.check_params()
        check_decision(self.threshold, self.decide_for)
        first = not hasattr(self, "n_features_in_")
        check_number("n_rows", n_rows, low=1, whole=True, also=[None])
        with committed(self, keep=learned_names(self)) as fitted:
            data = fitted._receive(X, y, sample_weight, label_names=label_names, reset=first, weights="whole")
            data = (fitted._with_scaling(data, stream=True) if first else data).repeated()
            for part in _parts(data) if first and isinstance(self.threshold, str) else [data]:
                fitted._test_then_train(part, n_rows)
            if isinstance(self.threshold, str):
                fitted._decide_by_recent(self.threshold)
        return self

    def _test_then_train(self, data: TrainingData, n_rows: int | None) -> None:
        """Learn from more instances, having scored them where the decision is learned from their scores."""
        if isinstance(self.threshold, str) and hasattr(self, "P_"):
            self._remember(self._all_scores(data.features), data.labels)
        self._extend(self._prepared(data.features), data.labels, n_rows)

    def _remember(self, scores: NDArray[Any], labels: sparse.csr_array) -> None:
        """Keep the scores that a stream gave to instances before it learned from them, of the last 1,000 instances."""
        table, known = scores.astype(np.float32), labels
        if hasattr(self, "recent_scores_"):
            table = np.concatenate([self.recent_scores_, table])
            known = sparse.csr_array(sparse.vstack([self.recent_labels_, known], format="csr"))
        kept = slice(-max(1, min(_RECENT, _RECENT_SCORES // table.shape[1])), None)
        self.recent_scores_, self.recent_labels_ = table[kept], sparse.csr_array(known[kept])

    def _decide_by_recent(self, threshold: str) -> None:
        """Learn calibration and decision from what the stream remembers.

        What a fit learned is kept until `ENOUGH` instances are remembered, or half of all that the model learned from:
        the few instances of a first chunk say little, and scores grow while a model learns.
        """
        n = len(self.recent_scores_) if hasattr(self, "recent_scores_") else 0
        if n >= 2 and (self.decision_.calibration is None or n >= min(ENOUGH, self.n_rows_seen_ / 2)):
            recent = self.recent_scores_, self.recent_labels_
            self.decision_ = Decision.learn(threshold, self.decide_for, *recent, names=self.label_names_)

    @property
    def _n_features_out(self) -> int:
        return self.P_.shape[1]

    def transform(self, X: Features) -> NDArray[np.float64]:
        """Return the codes of instances.

        Parameters
        ----------
        {features}

        Returns
        -------
        ndarray of shape (n, s)
        """
        check_is_fitted(self, "P_")
        return self._codes(self._features(X))

    def _capabilities(self) -> Capabilities:
        return replace(
            super()._capabilities(), weights="any" if self.solver == "als" else "whole", separate_labels=True
        )

    def _fit(self, data: TrainingData) -> None:
        # The weighted objective is the one without weights for rows √w (x, y), which have the codes √w h.
        problem = self._problem(*(data.scaled_rows(table) for table in (self._prepared(data.features), data.labels)))
        rng = make_generator(self.random_state)
        settings: dict[str, Any] = {
            "max_iter": self.max_iter,
            "tol": self.tol,
            "callback": data.monitor.stage(self.solver),
        }
        result: Result
        if self.solver == "als":
            with blas_limit(problem.n_rows, self.n_components):  # of the codes, with which all is multiplied
                result = alternating_least_squares(problem, problem.spectral_start(rng), **settings)
        else:
            start = _SPREAD * rng.normal(size=problem.size)
            result = stochastic_gradient(problem, start, eta0=self.eta0, rng=rng, **settings)
        warn_if_unfinished(result, self)
        self._set(problem, result.x)
        if self.decoder == "ridge":
            self._refit_decoder(data)
        self.objective_, self.history_ = result.objective, result.history
        self.certificate_, self.n_iter_ = result.certificate, result.n_iter
        self.n_rows_seen_ = problem.n_rows
        self.inverse_step_ = 1 / self.eta0 + self.alpha * result.n_iter  # a round counts as a pass
        if isinstance(self.threshold, str):
            return
        blocks = self._blocks(data.features)
        found = sum(int(np.count_nonzero(self._scores(block) > float(self.threshold))) for block in blocks)
        if predicts_none(found, data.labels.nnz):
            warnings.warn(
                f"OMF predicts {plural(found, 'label')} for training instances which have {data.labels.nnz:,}, since "
                "its scores are shrunk towards 0: learn a threshold, such as threshold='global'",
                NothingPredictedWarning,
                stacklevel=callers_level(),
            )

    def _refit_decoder(self, data: TrainingData) -> None:
        """Regress the labels on the codes of the instances, as they are computed without their labels."""
        codes, Y, weights = self._codes(data.features), data.labels.astype(np.float64), data.weights
        problem = ridge_problem(codes, weights)  # a `FeatureSpace` would warn of columns that are no features of users
        found = problem.at(problem.best_alpha(Y).alpha).coefficients(Y)
        self.decoder_ = codes.T @ found if isinstance(problem, DualRidge) else found
        self.offset_ = label_means(Y, weights) - column_means(codes, weights) @ self.decoder_ - 0.5

    def _extend(self, X: Any, Y: sparse.csr_array, n_rows: int | None) -> None:
        """Take one step for each row, starting from what the model learned."""
        problem = self._problem(X, Y)
        x = _SPREAD * make_generator(self.random_state).normal(size=problem.size)
        arrays = problem.layout.views(x)
        correction, offset = np.zeros_like(arrays["Q"].T), np.full(Y.shape[1], -0.5)  # of the decoder to Q
        if hasattr(self, "P_"):
            arrays["P"][...] = np.vstack([self.P_, self.bias_]) if self.fit_intercept else self.P_
            arrays["Q"][...] = 0
            varied = self.constant_ == 0
            arrays["Q"][varied] = self.Q_
            correction[:, varied], offset[varied] = self.decoder_ - self.Q_.T, self.offset_
        seen = getattr(self, "n_rows_seen_", 0) + problem.n_rows
        inverse_step = getattr(self, "inverse_step_", 1 / self.eta0)
        order = np.arange(problem.n_rows)
        self.inverse_step_ = problem.stochastic_pass(x, order, inverse_step, seen if n_rows is None else n_rows)
        self.n_rows_seen_, self.constant_ = seen, np.zeros_like(self.constant_)
        self._set(problem, x)
        self.decoder_ += correction
        self.offset_ = offset

    def _problem(self, X: Any, Y: sparse.csr_array) -> JointLeastSquaresProblem:
        s = self.P_.shape[1] if hasattr(self, "P_") else min(self.n_components, X.shape[1] + Y.shape[1])
        return JointLeastSquaresProblem(X, Y, s, self.label_weight, self.alpha, self.batch_size)

    def _set(self, problem: JointLeastSquaresProblem, x: NDArray[np.float64]) -> None:
        """Take P and Q from a vector of parameters."""
        arrays = {name: np.array(view) for name, view in problem.layout.views(x).items()}
        P, self.Q_ = arrays["P"], arrays["Q"]
        self.P_, self.bias_ = (P[:-1], P[-1]) if self.fit_intercept else (P, np.zeros(P.shape[1]))
        self.decoder_, self.offset_ = self.Q_.T.copy(), np.full(len(self.Q_), -0.5)

    def _scaled(self, X: Any) -> Any:
        """Return X with rows of norm 1, if `normalize` is true; rows of zeros stay."""
        return normalize(X) if self.normalize else X

    def _prepared(self, X: Any) -> Any:
        """Return X as it is factorized: scaled, and with a column of ones."""
        X = self._scaled(X)
        if not self.fit_intercept:
            return X
        ones = np.ones((X.shape[0], 1), dtype=X.dtype)
        return sparse.hstack([X, sparse.csr_array(ones)], format="csr") if is_sparse(X) else np.hstack([X, ones])

    def _codes_gram(self) -> NDArray[np.float64]:
        """Return the matrix of the equations whose solutions are codes."""
        xi = self.alpha / (1 - self.label_weight) if self.alpha_predict is None else self.alpha_predict
        return self.P_.T @ self.P_ + np.outer(self.bias_, self.bias_) + xi * np.eye(len(self.bias_))

    def _codes(self, X: CheckedFeatures) -> NDArray[np.float64]:
        gram = self._codes_gram()
        products = np.asarray(self._scaled(X) @ self.P_, dtype=np.float64) + self.bias_
        return np.asarray(np.linalg.solve(gram, products.T).T, dtype=np.float64)

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return self._codes(X) @ self.decoder_ + self.offset_

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        decoder = np.linalg.solve(self._codes_gram(), self.decoder_)
        return ScoreParts((LinearPart(self._scaled(X), self.P_, decoder),), self.bias_ @ decoder + self.offset_)


def _parts(data: TrainingData) -> list[TrainingData]:
    """Return two halves of the instances, so that the second one can be scored before it is learned from."""
    half = np.arange(data.n_instances) < (data.n_instances + 1) // 2
    return [data.rows(np.flatnonzero(rows)) for rows in (half, ~half) if rows.any()]
