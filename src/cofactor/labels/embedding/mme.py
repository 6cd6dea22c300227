"""MME: instances and labels, or their sets, embedded with a large margin."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import train_test_split

from cofactor.checks import AUTO, one_of
from cofactor.chunked import is_sparse
from cofactor.errors import InvalidInputError
from cofactor.labels.base import Capabilities, CheckedFeatures, TrainingData
from cofactor.labels.calibration import usable_scores
from cofactor.labels.embedding.leml import LEML, unit_of
from cofactor.labels.transformation.powersets import check_label_sets, distinct_sets, set_margins
from cofactor.metrics.labels import accuracy
from cofactor.model.estimator import learned, param
from cofactor.penalties import L2
from cofactor.problems import LabelSetProblem
from cofactor.solvers import Result, lbfgs

COSTS = ("unit", "root")
_ROOT = 2.0  #: times the penalty with costs "root"; on parts of the training instances of five sets 2 to 4 was best
_TEMPERATURE = 0.25  #: τ; 1 was as accurate on parts of the training instances of emotions, less on medical


class MME(LEML):
    r"""Max-margin embedding of instances and labels: label by label, or by pairs of label sets.

    .. math:: \min_{U, V, b} \; \sum_{il} c_{il} \, h\bigl(z_{il} (x_i U v_l + b_l)\bigr)
        + \frac{\alpha}{2} (\|U\|_F^2 + \|V\|_F^2), \qquad z_{il} = 2 y_{il} - 1

    with the smooth hinge h, and costs c that may count the instances which have a label more. With costs of 1 it is
    `LEML` with ``loss="smooth-hinge"``. With ``form="pairs"`` the losses are

    .. math:: \sum_i \max_k \bigl[\Delta(y_i, t_k) - (x_i U V + b)(y_i - t_k)^\top\bigr]_+

    over the distinct label sets t of training, where Δ is the number of labels in which two sets differ: the own set of
    an instance is to be nearer than each other one. In place of the largest violation stands
    :math:`\tau \log \sum_k e^{\cdot / \tau}`, which is smooth and never below it, with τ = ¼. The score of a label is
    by how much the best set with it exceeds the best one without it, so the plain cut decides for the best set. All is
    minimised by L-BFGS over both factors at once.

    Parameters
    ----------
    n_components : int or float, default=50
        Number d of components, or its share of the number of labels, in (0, 1]; more than labels add nothing.
    alpha : float or "auto", default="auto"
        Weight of the penalties, above 0; "auto" as in `LEML`, and twice that with costs "root", since such losses are
        larger. `paper` takes 1.
    form : {"labels", "pairs"}, default="labels"
        Which losses. "pairs" needs all labels, and takes O(n K L) for each step, with K distinct label sets.
    cost : {"auto", "unit", "root"}, default="auto"
        "unit": all c are 1. "root": an instance with a label costs :math:`\sqrt{n_- / n_+}`, for n₊ instances with it
        and n₋ without. "auto" takes what is more accurate (mean Jaccard of label sets, plain cut) on a quarter of the
        instances, held out. Pairs have none: it is "unit".
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-5
        Converged when the objective falls by less than this share of itself per iteration, over five iterations.
    {scale}
    {missing}
    {threshold}
    {decide_for}
    {random_state}
        It draws the quarters of the instances on which costs are compared, and probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    cost_ : str
        Which costs were taken.
    sets_ : csr_array of shape (K, L')
        With pairs: the distinct label sets of training, of labels that vary.
    alpha_, U_, V_, intercept_, objective_, history_, certificate_, n_iter_
        See `LEML`.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped at `max_iter`.

    Notes
    -----
    The source does not say which costs it took. The form for pairs is the one that the paper on online matrix
    factorization describes.

    References
    ----------
    S. Park & S. Choi, "Max-margin embedding for multi-label learning", Pattern Recognition Letters 34, 2013,
    doi:10.1016/j.patrec.2012.10.016.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X > 3, X < 4])
    >>> MME(2, 0.1, cost="root").fit(X, Y).predict([[0.0], [7.0]]).astype(int)
    array([[0, 0, 1],
           [1, 1, 0]])
    """

    n_components: int | float = param(default=50)
    form: str = param(one_of(["labels", "pairs"]), default="labels")
    cost: str = param(one_of([AUTO, *COSTS]), default="auto")

    cost_: str = learned(check=one_of(COSTS))
    sets_: sparse.csr_array = learned("sets labels", dtype=None, optional=True)

    _paper: ClassVar[Mapping[str, Any]] = {"n_components": 50, "alpha": 1.0}
    loss = "smooth-hinge"
    solver = "lbfgs"
    fit_intercept = True

    def _fit_bytes(self, data: TrainingData) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        return super()._fit_bytes(data) + (n * L + 8 * (D + L) if self.form == "pairs" else 0)

    def _fit(self, data: TrainingData) -> None:
        if self.form == "pairs":
            if data.known is not None:
                raise InvalidInputError(
                    "pairs of label sets need all labels", argument="form", found=self.form, advice="take 'labels'"
                )
            self.cost_ = COSTS[0]
            super()._fit(data)
            return
        self.cost_ = self._chosen_cost(data) if self.cost == AUTO else self.cost
        super()._fit(data)

    def _penalty(self, data: TrainingData) -> float:
        return (_ROOT if self.cost_ == "root" else 1.0) * super()._penalty(data)

    def _chosen_cost(self, data: TrainingData) -> str:
        """Return the costs with which models of three quarters of the instances are more accurate on the others."""
        if data.n_instances < 8:
            return COSTS[0]
        train, rest = train_test_split(np.arange(data.n_instances), test_size=0.25, random_state=0)
        learned, rest_data = data.rows(train), data.rows(rest)
        found = []
        for cost in COSTS:
            model = copy.copy(self).set_params(cost=cost, scale="none", callback=None, verbose=0)
            model.disable_threshold()
            model.fit(learned.features, learned.labels, learned.weights, mask=learned.known)
            scores = usable_scores(model.decision_function(rest_data.features), rest_data.known)
            found.append(accuracy(rest_data.labels, scores > 0))
        return COSTS[int(np.argmax(found))]

    def _positive_weights(self, data: TrainingData) -> NDArray[np.float64] | None:
        if self.cost_ == "unit":
            return None
        weights = np.ones(data.n_instances) if data.weights is None else data.weights
        n_on = data.labels.T @ weights
        n_known = weights.sum() if data.known is None else weights @ data.known
        return np.sqrt((n_known - n_on) / n_on)

    def _descend(self, data: TrainingData, d: int, settings: dict[str, Any]) -> Result:
        if self.form == "labels":
            return super()._descend(data, d, settings)
        rows, own = distinct_sets(data.labels)
        self.sets_ = data.labels[rows]
        start = self._problem(data, d)
        ridge, weights = L2(self.alpha_ / unit_of(data)), None if data.weights is None else data.weights / unit_of(data)
        problem = LabelSetProblem(
            data.features, self.sets_, own, d, {"U": ridge, "V": ridge}, temperature=_TEMPERATURE, weights=weights
        )
        result = lbfgs(problem, start.start().astype(np.float64), **settings)
        arrays = problem.layout.views(result.x)
        self.U_, self.V_, self.intercept_ = arrays["U"].copy(), arrays["V"].copy(), arrays["c"].copy()
        return result

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        scores = super()._scores(X)
        if self.form == "labels":
            return scores
        return set_margins(np.asarray(scores @ self.sets_.T), self.sets_.toarray() > 0)

    def _capabilities(self) -> Capabilities:
        own = super()._capabilities()
        return replace(own, explanations=own.explanations and self.form != "pairs", separate_labels=False)

    def _resolved_params(self) -> dict[str, Any]:
        return {**super()._resolved_params(), "cost": self.cost_}

    def _check_learned(self) -> None:
        super()._check_learned()
        if self.form != "pairs":
            return
        if not is_sparse(self.sets_):
            raise InvalidInputError("expected the label sets of training")
        check_label_sets(self.sets_)
