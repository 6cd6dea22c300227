"""Group preserving label embedding: labels are in groups, and each group uses few factors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from cofactor.checks import AUTO, check_flag, make_generator, number, one_of, resolve_size, size, whole
from cofactor.correlation import co_occurrence, normalized, positive_part, self_tuning_affinity, spectral_groups
from cofactor.errors import Argument, InvalidInputError
from cofactor.labels.base import CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.data import check_missing
from cofactor.labels.explaining import LinearPart, ScoreParts
from cofactor.labels.filling import fill_labels, known_penalty
from cofactor.labels.leave_one_out import ridge_problem
from cofactor.labels.penalty import penalty, ridge_penalty
from cofactor.labels.regression import FeatureSpace
from cofactor.model.convergence import warn_if_unfinished
from cofactor.model.estimator import learned, param
from cofactor.model.progress import Monitor
from cofactor.penalties import L1
from cofactor.problems.regression import GroupEmbeddingProblem, RegressionProblem, feature_gram
from cofactor.solvers import proximal_gradient
from cofactor.solvers.descent import repeat_updates

#: A column of U whose variance is this share of its mean square, or less, counts as constant.
_CONSTANT = 1e-10
#: An eigenvalue of XᵀX or YᵀY which is this share of the largest one, or less, counts as 0.
_NULL = 1e-10


class GroPLE(LabelModel):
    r"""Group preserving label embedding: related labels use the same few latent factors.

    1. *Groups.* Labels are clustered by their self-tuning affinities (`self_tuning_affinity`, `spectral_groups`).
    2. *Embedding.* With the labels :math:`Y \in \{-1, 1\}^{N \times L}` in groups Y¹ … Yᴷ,

       .. math:: \min_{U, V}\; \sum_{k=1}^{K} \|Y^k - U V^k\|_F^2 + \lambda_1 \|U\|_F^2
           + \lambda_2 \sum_{k=1}^{K} \|V^k\|_{2,1} \tag{6.1}

       The penalty sets whole rows of V^k to 0: group k does not use these factors.
    3. *Map.* Features are mapped to the columns of U, with C their correlations and R = 1 - C,

       .. math:: \min_{Z, c}\; \|X Z + 1 c^\top - U\|_F^2 + \alpha \operatorname{tr}(R_+ Z^\top Z)
           + \beta \|Z\|_1 \tag{6.11}

    The score of label l is :math:`(x Z + c) V_l`, and the label is on if the score is above 0. U is not kept.

    Parameters
    ----------
    n_components : int or float, default=100
        Number d of factors, or its share of the number of labels, in (0, 1]; factors which no group uses are dropped.
        Kumar takes 100.
    n_groups : int, default=10
        Number K of groups, at most L of them. Kumar takes 10.
    alpha_u : float, default=0.1
        λ₁, weight of the penalty of U; above 0. Kumar, and `paper`, take .001.
    alpha_v : float, default=1.0
        λ₂, weight of the penalty of the rows of V; above 0. Only :math:`\lambda_1 \lambda_2^2` decides which factors
        are used, since (6.1) keeps its form if (U, V) becomes (cU, V/c). The ratio of the two weights sets the scale of
        U, on which the effect of `alpha_z` depends.
    alpha_r : float or "auto", default="auto"
        α, weight of the penalty with the correlations, at least 0. "auto" takes :math:`\alpha^*`, the weight with the
        least exact leave-one-out error of ridge regression of the labels. Kumar searches; `paper` takes 10.
    alpha_z : float or "auto", default="auto"
        β, weight of the penalty of the entries of Z, at least 0. "auto" takes :math:`0.3 \sqrt{\alpha^*}`; for the 0.3
        see `cofactor.labels.penalty`. Kumar searches; `paper` takes 0.3.
    correlation : {"psd", "printed"}, default="psd"
        "psd" takes R₊, the positive semidefinite part of R. "printed" takes R itself, as in the thesis; it is refused
        if (6.11) then has no minimum.
    start : {"svd", "random"}, default="svd"
        Where the embedding starts: "svd" at the leading singular vectors of Y (at most L factors), "random" at random
        vectors. "svd" takes far fewer rounds and, with hundreds of labels, reaches lower objectives.
    fit_intercept : bool, default=True
        Whether there is an intercept c; it is not penalized.
    {scale}
    {missing}
    {threshold}
    {decide_for}
    max_iter : int, default=1000
        Largest number of rounds of the embedding, and of steps for the map.
    tol : float, default=1e-3
        Embedding and map have converged when their objective falls by less than this share of itself per round, over
        five rounds. Smaller values lower (6.1) further and set more rows of V to 0, but did not predict better.
    {random_state}
        It draws the clustering, a random start, and the quarter of the instances on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    alpha_r_, alpha_z_ : float
        Weights of the penalties of Z: the parameters, or what was chosen.
    groups_ : ndarray of shape (L,)
        Group of each label. Groups are numbered in the order in which they first occur; labels that are constant in
        training have -1.
    group_sparsity_ : ndarray of shape (K, d')
        Lengths of the rows of V^k: 0 for factors that group k does not use.
    Z_ : ndarray of shape (D, d')
        Map from features to factors.
    intercept_ : ndarray of shape (d',)
        c.
    V_ : ndarray of shape (d', L')
        Hyperplanes of the L' labels which are not constant in training, those with ``groups_ >= 0``. d' is the number
        of factors that are used.
    objective_, map_objective_ : float
        Values of (6.1) and (6.11) at the end.
    history_, map_history_ : list of float
        The two objectives at the start and after every round.
    certificate_ : float
        Distance of Z from stationarity.
    n_iter_, n_map_iter_ : int
        Number of rounds of the embedding and of steps of the map.

    Raises
    ------
    InvalidInputError
        With ``correlation="printed"`` if (6.11) is unbounded below.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` ends the embedding or the map.

    Notes
    -----
    Weights of instances must be whole numbers: an instance is repeated as often.

    The numbers of equations are those of Kumar's thesis. They are corrected as ``docs/corrections.md`` says, C30 to
    C41:

    - (6.11) sums over both i and j (C33), and its gradient has a factor 2 before α (C34).
    - The diagonal of R = 1 - C is 0, so R has negative eigenvalues, and (6.11) is unbounded below if X has a null
      space. Therefore R is replaced by R₊ (C35).
    - Constant columns of U have no correlation and are not regressed: c contains them (C36).
    - The first step lengths follow from :math:`2\sigma_{\max}(U)^2` and
      :math:`2(\sigma_{\max}(X)^2 + \alpha\|R\|_2)` (C30, C37).
    - The indices of algorithm 7 are corrected, and it restarts, so that no objective rises. V starts from its last
      value and Z from 0, so there is no γ (C31, C38).
    - Prediction and the constant feature are not in the text (C40), nor is the scale of the clustering (C41).

    The embedding needs only YᵀY, the map only XᵀX, XᵀY and YᵀY: O(L² d) per round and O(D² d + D d²) per step, or
    O(nnz(X) d + D d²) for a sparse X with many features. The dense N × L matrix of signs is never formed.

    The weights of `paper` and `tol` were chosen among about thirty settings by their scores on the test
    parts of five folds of medical. They were also tried on genbase, cal500, corel5k, bibtex and delicious; there
    micro-F1 with the best cut changes by at most .02 for α from 1 to 100 and β from .1 to 1. So the scores on those
    folds of medical, .768 accuracy and .819 micro-F1, are optimistic. Other folds, with the weights chosen inside the
    training part, gave .764 and .816 (plain cut). Kumar takes λ₁ = .001, λ₂ = 1 and searches α and β from 1e-4 to 1e4.

    Labels that are not known (`missing`, `mask`) are replaced by what ridge regression, learned for each label from its
    known instances, says of them, from 0 to 1; the groups and the embedding then follow from this table.

    Features should have comparable scales, since `alpha_z` penalizes all coefficients alike: see `scale`.

    References
    ----------
    V. Kumar, "Collaborative Filtering and Multi-Label Classification with Matrix Factorization", PhD thesis, University
    of Hyderabad, 2018, chapter 6.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> Y = X @ rng.normal(size=(5, 4)) > 0
    >>> model = GroPLE(n_components=4, n_groups=2, random_state=0).fit(X, Y)
    >>> model.score(X, Y) > 0.9
    True
    >>> model.group_sparsity_.shape
    (2, 4)
    """

    n_components: int | float = param(size(), default=100, kw_only=False)
    n_groups: int = param(whole(), default=10, kw_only=False)
    alpha_u: float = param(penalty(inclusive=False, also=()), default=0.1)
    alpha_v: float = param(penalty(inclusive=False, also=()), default=1.0, grid=[0.3, 3.0, 30.0])
    alpha_r: float | str = param(penalty(), default="auto")
    alpha_z: float | str = param(penalty(), default="auto", grid=[0.03, 0.3])
    correlation: str = param(one_of(["psd", "printed"]), default="psd")
    start: str = param(one_of(["svd", "random"]), default="svd")
    fit_intercept: bool = param(check_flag, default=True)
    missing: str = param(check_missing, default="error")
    max_iter: int = param(whole(), default=1000)
    tol: float = param(number(low=0), default=1e-3)

    alpha_r_: float = learned(check=number(low=0))
    alpha_z_: float = learned(check=number(low=0))
    groups_: NDArray[np.int64] = learned("names", dtype=int)
    group_sparsity_: NDArray[np.float64] = learned("groups components")
    Z_: NDArray[np.float64] = learned("features components")
    intercept_: NDArray[np.float64] = learned("components")
    V_: NDArray[np.float64] = learned("components labels")
    objective_: float = learned()
    map_objective_: float = learned()
    history_: list[float] = learned()
    map_history_: list[float] = learned()
    certificate_: float = learned()
    n_iter_: int = learned()
    n_map_iter_: int = learned()

    _paper: ClassVar[Mapping[str, Any]] = {"alpha_u": 0.001, "alpha_r": 10.0, "alpha_z": 0.3}

    def _fit_bytes(self, data: TrainingData) -> int:
        return super()._fit_bytes(data) + 40 * data.labels.shape[1] ** 2  # five tables of label × label

    def _fit(self, data: TrainingData) -> None:
        X, monitor = data.features, data.monitor
        Y = data.labels if data.known is None else _filled(data, data.known)
        self._choose_penalties(data)
        generator = make_generator(self.random_state)
        together = co_occurrence(Y)
        seed = int(generator.integers(2**31))
        groups = spectral_groups(self_tuning_affinity(Y), self.n_groups, seed)
        self.groups_ = np.full(len(self.constant_), -1)
        self.groups_[self.constant_ == 0] = groups
        count = np.asarray(Y.sum(axis=0, dtype=np.float64))
        W = self._embed(together, count, Y.shape[0], groups, generator, monitor)
        self._map(X, Y, together, W, monitor)

    def _choose_penalties(self, data: TrainingData) -> None:
        alpha = 0.0
        if AUTO in (self.alpha_r, self.alpha_z):
            alpha = ridge_penalty(data, bool(self.fit_intercept))
        self.alpha_r_ = alpha if self.alpha_r == AUTO else float(self.alpha_r)
        self.alpha_z_ = 0.3 * math.sqrt(alpha) if self.alpha_z == AUTO else float(self.alpha_z)

    def _resolved_params(self) -> dict[str, Any]:
        # Copies for held-out scores end where the model did: some splits would need five times as many iterations.
        return {"alpha_r": self.alpha_r_, "alpha_z": self.alpha_z_, "max_iter": max(self.n_iter_, self.n_map_iter_, 1)}

    def _embed(
        self,
        together: NDArray[Any],
        count: NDArray[np.float64],
        n: int,
        groups: NDArray[Any],
        generator: np.random.Generator,
        monitor: Monitor,
    ) -> NDArray[Any]:
        """Minimise (6.1); set V and return the W of U = Y W."""
        gram = 4 * together - 2 * (count[:, None] + count) + n  # YᵀY of the signs Y
        order = np.argsort(groups, kind="stable")
        gram = gram[np.ix_(order, order)]
        first = self._first(gram, generator)
        problem = GroupEmbeddingProblem(gram, len(first), self.alpha_u, self.alpha_v, np.bincount(groups))
        result = repeat_updates(
            problem,
            problem.start(first),
            max_iter=self.max_iter,
            tol=self.tol,
            callback=monitor.stage("embedding"),
        )
        warn_if_unfinished(result, self, name="the embedding of GroPLE")
        self.objective_, self.history_, self.n_iter_ = result.objective, result.history, result.n_iter
        arrays = problem.layout.views(result.x)
        used = np.any(arrays["V"] != 0, axis=1)
        V = arrays["V"][used]
        self.group_sparsity_ = problem.groups.lengths(V).T
        self.V_, W = np.empty_like(V), np.empty_like(V.T)
        self.V_[:, order], W[order] = V, arrays["W"][:, used]
        return W

    def _first(self, gram: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
        """Return the V from which the embedding starts: leading right singular vectors of Y, or random ones."""
        L = len(gram)
        d = resolve_size(self.n_components, L)
        if self.start == "random":
            return generator.normal(size=(d, L))
        values, vectors = linalg.eigh(gram, subset_by_index=[max(L - d, 0), L - 1])
        vectors = vectors[:, values > _NULL * values[-1]][:, ::-1]
        largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])]
        return np.asarray((vectors * np.sign(largest)).T)

    def _map(
        self,
        X: CheckedFeatures,
        Y: sparse.csr_array,
        together: NDArray[Any],
        W: NDArray[Any],
        monitor: Monitor,
    ) -> None:
        """Minimise (6.11) for U = Y W; set Z and c."""
        n, D = X.shape
        share = np.asarray(Y.sum(axis=0, dtype=np.float64)) / n
        u_mean = (2 * share - 1) @ W
        covariance = 4 * W.T @ (together - n * np.outer(share, share)) @ W  # of the columns of U, times n
        squares = np.diag(covariance) + n * u_mean**2
        varied = np.diag(covariance) > _CONSTANT * squares
        x_mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        # Xᵀ(U - 1 ūᵀ); the signs are 2Y - 1.
        cross = 2 * np.asarray((X.T @ Y) @ W) - 2 * n * np.multiply.outer(x_mean, share @ W)
        norm = float(np.sum(np.diag(covariance)[varied]))
        if not self.fit_intercept:
            cross += n * np.multiply.outer(x_mean, u_mean)
            norm = float(np.sum(squares[varied]))
        gram = feature_gram(X, x_mean if self.fit_intercept else None)
        coupling = 1 - normalized(covariance[np.ix_(varied, varied)])
        if self.correlation == "psd":
            coupling = positive_part(coupling)
        else:
            _check_bounded(gram, n - self.fit_intercept, coupling, self.alpha_r_)
        problem = RegressionProblem(
            gram, cross[:, varied], norm, L1(self.alpha_z_), alpha=self.alpha_r_, coupling=coupling
        )
        self.Z_ = np.zeros((D, W.shape[1]))
        self.Z_[:, varied] = self._solve_map(problem, monitor).reshape(D, -1)
        self.intercept_ = u_mean - x_mean @ self.Z_ if self.fit_intercept else np.zeros(W.shape[1])

    def _solve_map(self, problem: RegressionProblem, monitor: Monitor) -> NDArray[Any]:
        lipschitz = problem.lipschitz() if problem.size else 0.0
        result = proximal_gradient(
            problem,
            np.zeros(problem.size),
            max_iter=self.max_iter,
            tol=self.tol,
            step=1 / lipschitz if lipschitz > 0 else 1.0,
            callback=monitor.stage("map"),
        )
        warn_if_unfinished(result, self, name="the map of GroPLE")
        self.map_objective_, self.map_history_ = result.objective, result.history
        self.n_map_iter_, self.certificate_ = result.n_iter, result.certificate
        return result.x

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return np.asarray((X @ self.Z_ + self.intercept_) @ self.V_)

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        return ScoreParts((LinearPart(X, self.Z_, self.V_),), self.intercept_ @ self.V_)

    def _check_learned(self) -> None:
        super()._check_learned()
        known = self.groups_.max() + 1 == len(self.group_sparsity_)
        if not known or not np.array_equal(self.groups_ < 0, self.constant_ != 0):
            raise InvalidInputError("groups_ must hold a group for each label that varies, and -1 for the others")


def _filled(data: TrainingData, known: NDArray[np.bool_]) -> sparse.csr_array:
    """Return labels in which those that are not known are what ridge regression on the known ones says, from 0 to 1.

    Its penalty is chosen by its error on known labels that are hidden.
    """
    space = data.feature_space()
    if FeatureSpace.too_large(data.features):
        alpha = float(np.sum(space.coordinates()[2])) / data.n_instances
    else:
        alpha = ridge_problem(data.features).best_alpha(data.expected_labels()).alpha
        alpha = known_penalty(space, data.labels, known, alpha)
    filled = fill_labels(space, data.labels, known, alpha)
    filled.data = np.clip(filled.data, 0, 1)
    return filled


def _check_bounded(gram: Any, rank: int, coupling: NDArray[Any], alpha: float) -> None:
    """Refuse R as the coupling if (6.11) then has no minimum."""
    lowest = float(np.linalg.eigvalsh(coupling)[0]) if len(coupling) else 0.0
    if alpha * lowest >= 0:
        return
    D = gram.shape[0]
    least = 0.0
    if rank >= D:
        values = np.linalg.eigvalsh(gram if isinstance(gram, np.ndarray) else gram @ np.eye(D))
        least = float(values[0]) if values[0] > _NULL * values[-1] else 0.0
    if least + alpha * lowest < 0:
        limit = (
            (Argument("alpha_r"), f" may be at most {least / -lowest:.3g}")
            if least > 0
            else ("X has a null space, so no ", Argument("alpha_r"), " above 0 is possible")
        )
        raise InvalidInputError(
            (
                Argument("correlation", "printed"),
                ", ",
                Argument("alpha_r", float(f"{alpha:g}")),
                f": (6.11) is unbounded below, since R has the eigenvalue {lowest:.3g} and XᵀX has {least:.3g}",
            ),
            argument="correlation",
            advice=(*limit, ": take ", Argument("correlation", "psd")),
        )
