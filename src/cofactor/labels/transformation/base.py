"""What models share that make other problems of the labels, and fit copies of an estimator to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.svm import LinearSVC
from sklearn.utils.validation import has_fit_parameter

from cofactor.checks import check_jobs, number
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.learners.base import Learner, SeparateLearners, Subproblem
from cofactor.labels.learners.fitting import check_estimator, fit_tasks, stack_learners
from cofactor.labels.learners.linear import LinearLearner
from cofactor.labels.penalty import ridge_penalty
from cofactor.model.estimator import learned, param


class LearnerModel(LabelModel):
    """A model which fits copies of an estimator to problems that it makes of the labels.

    A subclass has the parameters ``estimator`` and ``n_jobs``, and mostly others beside those below.

    Attributes
    ----------
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    """

    estimator: BaseEstimator | None = param(
        check_estimator, default=None, kw_only=False, grid=lambda model: model._default_estimators()
    )
    n_jobs: int | None = param(check_jobs, default=None)

    cost_: float | None = learned(check=number(low=0, inclusive=False), optional=True)

    _paper: ClassVar[Mapping[str, Any]] = {"estimator": lambda kind, _: kind._of_cost(1.0)}

    def _capabilities(self) -> Capabilities:
        if self.estimator is None:
            return replace(super()._capabilities(), weights="any")
        weights = "any" if has_fit_parameter(self.estimator, "sample_weight") else "whole"
        return replace(super()._capabilities(), weights=weights, scales=("none",))  # it sees the features as they are

    def _default_estimators(self) -> list[BaseEstimator]:
        """Return default estimators of several C, unless the estimator is given."""
        return [] if self.estimator is not None else [self._of_cost(cost) for cost in (0.01, 0.1, 1.0)]

    @staticmethod
    def _of_cost(cost: float) -> BaseEstimator:
        """Return the default estimator with this C."""
        return LinearSVC(C=cost)

    def _cost(self, data: TrainingData) -> float:
        """Return C of the default estimator: its penalty is that of ridge regression of the labels."""
        return 0.5 / ridge_penalty(data)

    def _chosen_estimator(self, data: TrainingData) -> BaseEstimator:
        """Return the estimator that was given, or the default one; note its cost."""
        self.cost_ = None if self.estimator is not None else self._cost(data)
        return self.estimator if self.cost_ is None else self._of_cost(self.cost_)

    def _fit_tasks(
        self,
        estimator: BaseEstimator,
        X: CheckedFeatures,
        tasks: Sequence[Subproblem],
        data: TrainingData,
        generator: np.random.Generator,
        **told: Any,
    ) -> list[Learner]:
        """Return the learner of each task, see `fit_tasks`, which takes what else is given."""
        seeds = generator.integers(np.iinfo(np.int32).max, size=len(tasks))
        return fit_tasks(
            estimator, X, tasks, data.weights, seeds=seeds, n_jobs=self.n_jobs, monitor=data.monitor, **told
        )

    def _fit_binary(
        self,
        estimator: BaseEstimator,
        X: CheckedFeatures,
        problems: Sequence[Subproblem],
        data: TrainingData,
        generator: np.random.Generator,
        *,
        what: str,
    ) -> Learner:
        """Return learners of problems of 0 and 1, some of which may have one class only, or no instances.

        Those score 1 where all there is is 1, -1 where it is 0, and 0 where there is nothing. One at least varies.
        """
        sure = np.full(len(problems), np.nan)
        for p, problem in enumerate(problems):
            target = problem.target
            if not len(target) or target.min() == target.max():
                sure[p] = 2.0 * target[0] - 1 if len(target) else 0.0
        vary = np.flatnonzero(np.isnan(sure)).tolist()
        found = self._fit_tasks(estimator, X, [problems[p] for p in vary], data, generator, what=what)
        varying = iter(found)
        learners = [next(varying) if np.isnan(score) else _constant(score, found[0]) for score in sure.tolist()]
        linear = all(isinstance(one, LinearLearner) for one in learners)
        return stack_learners(learners, len(learners)) if linear else SeparateLearners(learners)

    def _resolved_params(self) -> dict[str, Any]:
        return {} if self.cost_ is None else {"estimator": self._of_cost(self.cost_)}


def _constant(score: float, like: Learner) -> LinearLearner:
    """Return a learner with the same score for all instances, and the settings of another one."""
    coef, known = np.zeros((like.n_features, 1)), np.array([0, 1])
    if isinstance(like, LinearLearner):
        return LinearLearner(coef, np.array([score]), known, link=like.link, binarize=like.binarize)
    return LinearLearner(coef, np.array([score]), known)
