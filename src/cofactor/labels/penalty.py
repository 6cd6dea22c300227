r"""Weights of penalties that suit the data: those of other losses follow from that of ridge regression.

Ridge regression of the labels has an exact leave-one-out error, so its best weight :math:`\alpha^*` costs no fit
(`cofactor.labels.regression`). It says how strong the noise is beside the signal, in the scale of the features:
features divided by :math:`\sqrt{\alpha^*}` have the weight 1. Other models penalize other norms, but they too want a
certain weight for such features, and a number times a power of :math:`\alpha^*` for any. It chooses no code of labels,
so the leave-one-out error is not optimistic.

These numbers, 2 for LEML and MLCHMF and 0.3 for GroPLE, were searched on emotions, scene, yeast and cal500. But the
first test folds of seven sets of the benchmarks had been seen when they were picked, these four among them: what the
three models reach on such sets is a little too good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cofactor.checks import AUTO, number
from cofactor.labels.leave_one_out import BestAlpha, RidgeProblem, ridge_problem
from cofactor.labels.regression import FeatureSpace
from cofactor.labels.scaling import rows_to_compare
from cofactor.labels.training_data import TrainingData

#: Largest weight that models take: with larger ones squares of sums overflow, and the penalty allows nothing anyway.
LARGEST_WEIGHT = 1e100


def ridge_penalty(data: TrainingData, fit_intercept: bool = True) -> float:
    """Return the weight of the penalty with the least leave-one-out error of ridge regression of the labels.

    Parameters
    ----------
    data : TrainingData
        With scaled features.
    fit_intercept : bool, default=True
        Whether the regression has an intercept.

    Returns
    -------
    float
        Above 0; chosen on at most 1,200 instances, drawn with a fixed seed. All instances of the benchmarks gave the
        same within a step.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> X = np.arange(8.0)[:, None]
    >>> round(ridge_penalty(TrainingData(X, sparse.csr_array(X > 3))), 2)
    5.25
    """
    found = _found(data, fit_intercept)
    if found is not None:
        return float(found.alpha)
    rows = rows_to_compare(data.n_instances)
    data = data if len(rows) == data.n_instances else data.rows(rows)
    problem = ridge_problem(data.features, data.weights, fit_intercept)
    return float(problem.best_alpha(data.expected_labels()).alpha)


def exact_penalty(data: TrainingData, problem: RidgeProblem) -> float:
    """Return the weight of the penalty with the least leave-one-out error on all instances of the data.

    Parameters
    ----------
    data : TrainingData
        With scaled features.
    problem : RidgeProblem
        The regression on these features.

    Notes
    -----
    The penalty that went with the scale of the features is that of all instances, if these are not more than 1,200;
    otherwise it is where the search begins.
    """
    found = _found(data, problem.fit_intercept)
    if found is None:
        return float(problem.best_alpha(data.expected_labels()).alpha)
    if len(rows_to_compare(data.n_instances)) == data.n_instances:
        return float(found.alpha)
    return float(problem.best_alpha(data.expected_labels(), found.grid_index, (1,)).alpha)


def penalty_of(data: TrainingData, space: FeatureSpace) -> float:
    """Return the weight of the penalty with the least leave-one-out error of ridge regression of the labels in a space.

    It is that of all instances, unless the features are too large for a decomposition: then that of `ridge_penalty`.

    Parameters
    ----------
    data : TrainingData
        With scaled features.
    space : FeatureSpace
        What ``data.feature_space()`` returned.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> X = np.arange(8.0)[:, None]
    >>> data = TrainingData(X, sparse.csr_array(X > 3))
    >>> round(penalty_of(data, data.feature_space()), 2)
    5.25
    """
    if FeatureSpace.too_large(space.X):
        return ridge_penalty(data, space.fit_intercept)
    return exact_penalty(data, space.problem())


def _found(data: TrainingData, fit_intercept: bool) -> BestAlpha | None:
    """Return the penalty that was found with the scale of the features, if it is that of this regression."""
    return data.ridge if fit_intercept and data.weights is None else None


def penalty(
    *, inclusive: bool = True, high: float = LARGEST_WEIGHT, also: Iterable[str | None] = (AUTO,)
) -> Callable[[str, Any], None]:
    """Return the check of the weight of a penalty: one of these other values, or a number from, or above, 0.

    Examples
    --------
    >>> penalty()("alpha", "best")
    Traceback (most recent call last):
    cofactor.errors.InvalidTypeError: alpha='best': expected a number of at least 0 and at most 1e+100, or 'auto'
    """
    return number(low=0, inclusive=inclusive, high=high, also=also)
