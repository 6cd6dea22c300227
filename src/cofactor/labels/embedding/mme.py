"""MME: instances and labels embedded with a large margin, where missing a rare label costs more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from cofactor.labels.base import FitInput
from cofactor.labels.calibration import usable_scores
from cofactor.labels.embedding.leml import LEML
from cofactor.labels.scaling import AUTO
from cofactor.metrics.labels import accuracy
from cofactor.model.checks import check_choice
from cofactor.solvers.result import Callback
from cofactor.typing import RandomState

COSTS = ("unit", "root")


class MME(LEML):
    r"""Max-margin embedding of instances and labels, label by label.

    .. math:: \min_{U, V, b} \; \sum_{il} c_{il} \, h\bigl(z_{il} (x_i U v_l + b_l)\bigr)
        + \frac{\alpha}{2} (\|U\|_F^2 + \|V\|_F^2), \qquad z_{il} = 2 y_{il} - 1

    with the smooth hinge h, and costs c that may count the instances which have a label more. With costs of 1 it is
    `LEML` with ``loss="smooth-hinge"``. It is minimised by L-BFGS over both factors at once.

    Parameters
    ----------
    n_components : int or float, default=50
        Number d of components, or its share of the number of labels, in (0, 1]; more than labels add nothing.
    alpha : float or "auto", default="auto"
        Weight of the penalties, above 0; "auto" as in `LEML`. `paper` takes 1.
    cost : {"auto", "unit", "root"}, default="auto"
        "unit": all c are 1. "root": an instance with a label costs :math:`\sqrt{n_- / n_+}`, for n₊ instances with it
        and n₋ without. "auto" takes what is more accurate (mean Jaccard of label sets, plain cut) on a quarter of the
        instances, held out.
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
    The source does not say which costs it took. The paper on online matrix factorization describes a form for pairs of
    labels instead, which takes O(n²) pairs of instances and label sets; it is not here.

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

    _learned: ClassVar[tuple[str, ...]] = (*LEML._learned, "cost_")
    _paper: ClassVar[Mapping[str, Any]] = {"alpha": 1.0}
    loss = "smooth-hinge"
    solver = "lbfgs"
    fit_intercept = True

    cost_: str

    def __init__(
        self,
        n_components: int | float = 50,
        alpha: float | str = "auto",
        *,
        cost: str = "auto",
        max_iter: int = 500,
        tol: float = 1e-5,
        scale: str = "auto",
        missing: str = "error",
        threshold: float | str = "auto",
        decide_for: str = "micro",
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.cost = cost
        self.max_iter = max_iter
        self.tol = tol
        self.scale = scale
        self.missing = missing
        self.threshold = threshold
        self.decide_for = decide_for
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _check_params(self) -> None:
        super()._check_params()
        check_choice("cost", self.cost, (AUTO, *COSTS))

    def _fit(self, data: FitInput) -> None:
        self.cost_ = self._chosen_cost(data) if self.cost == AUTO else self.cost
        super()._fit(data)

    def _chosen_cost(self, data: FitInput) -> str:
        """Return the costs with which models of three quarters of the instances are more accurate on the others."""
        if data.n_instances < 8:
            return COSTS[0]
        train, rest = train_test_split(np.arange(data.n_instances), test_size=0.25, random_state=0)
        learned, rest_data = data.rows(train), data.rows(rest)
        found = []
        for cost in COSTS:
            params = self.get_params(deep=False) | {
                "cost": cost,
                "scale": "none",
                "threshold": 0,
                "decide_for": "micro",
            }
            model = type(self)(**{**params, "callback": None, "verbose": 0})
            model.fit(learned.features, learned.labels, learned.weights, mask=learned.known)
            scores = usable_scores(model.decision_function(rest_data.features), rest_data.known)
            found.append(accuracy(rest_data.labels, scores > 0))
        return COSTS[int(np.argmax(found))]

    def _positive_weights(self, data: FitInput) -> NDArray[np.float64] | None:
        if self.cost_ == "unit":
            return None
        weights = np.ones(data.n_instances) if data.weights is None else data.weights
        n_on = data.labels.T @ weights
        n_known = weights.sum() if data.known is None else weights @ data.known
        return np.sqrt((n_known - n_on) / n_on)

    def _settled(self) -> dict[str, Any]:
        return {**super()._settled(), "cost": self.cost_}

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "cost_"):
            check_choice("cost_", self.cost_, COSTS)
