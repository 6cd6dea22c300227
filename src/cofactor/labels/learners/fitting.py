"""Fitting estimators of scikit-learn as learners; which of them a file can hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.features import is_sparse
from cofactor.labels.learners import linear
from cofactor.labels.learners.base import CheckedFeatures, Learner
from cofactor.labels.learners.gaussian import GaussianLearner
from cofactor.labels.learners.linear import LinearLearner
from cofactor.labels.learners.neighbours import NeighbourIndex, NeighboursLearner, is_plain
from cofactor.labels.learners.opaque import OpaqueLearner
from cofactor.labels.learners.trees import FORESTS, TREES, TreesLearner
from cofactor.model.convergence import with_unfinished

__all__ = [
    "SAVABLE",
    "Fitted",
    "check_estimator",
    "check_savable",
    "fit_learner",
    "is_savable",
    "learner_from_state",
    "neighbour_index",
    "takes_sparse",
]

#: What makes a learner of a fitted estimator, by its exact class, since a subclass may score in another way.
_ADAPTERS: dict[type[Any], Callable[[Any, NDArray[np.int64]], Learner]] = {
    **dict.fromkeys(linear.CLASSIFIERS, linear.from_classifier),
    **dict.fromkeys(linear.REGRESSORS, linear.from_regressor),
    **dict.fromkeys(linear.NAIVE_BAYES, linear.from_naive_bayes),
    GaussianNB: GaussianLearner.from_estimator,
    **dict.fromkeys((*TREES, *FORESTS), TreesLearner.from_estimator),
}

#: Estimators of scikit-learn that a file can hold, by class name; all others can be fitted, but not saved.
SAVABLE: dict[str, type[BaseEstimator]] = {kind.__name__: kind for kind in (*_ADAPTERS, KNeighborsClassifier)}

_KINDS: dict[str, type[Learner]] = {
    kind.kind: kind for kind in (LinearLearner, GaussianLearner, TreesLearner, NeighboursLearner)
}


class Fitted(NamedTuple):
    """A learner, and whether its solver converged."""

    learner: Learner
    converged: bool


def is_savable(estimator: Any) -> bool:
    """Whether a file can hold what this estimator learns.

    Examples
    --------
    >>> from sklearn.svm import SVC, LinearSVC
    >>> is_savable(LinearSVC()), is_savable(SVC()), is_savable(KNeighborsClassifier(metric="precomputed"))
    (True, False, False)
    """
    return type(estimator) in _ADAPTERS or (type(estimator) is KNeighborsClassifier and is_plain(estimator))


def check_savable(estimator: Any) -> None:
    """Refuse an estimator of which a file cannot hold what it learns."""
    if is_savable(estimator):
        return
    name = type(estimator).__name__
    if name in SAVABLE:  # nearest neighbours whose settings are functions
        advice = "give the distance and the weights of neighbours by name, without parameters of the distance"
    else:
        advice = f"take one of {', '.join(SAVABLE)}, or keep the model in memory"
    if isinstance(estimator, Pipeline):
        advice = (
            "put the steps that prepare the features before the model, as in "
            "make_pipeline(StandardScaler(), BinaryRelevance(LinearSVC())), which cofactor.save takes"
        )
    raise InvalidTypeError(
        f"what {name} learned cannot be saved safely: to read it would be to run what the file says",
        argument="estimator",
        found=estimator,
        advice=advice,
    )


def check_estimator(name: str, estimator: Any) -> None:
    """Refuse what is not a classifier or regressor of one label, or has a dictionary of class weights.

    Parameters
    ----------
    name : str
        Of the parameter.
    estimator : object
        None stands for the model's own default.

    Raises
    ------
    InvalidInputError, InvalidTypeError
    """
    if estimator is None:
        return
    if isinstance(estimator, type):
        raise InvalidTypeError(
            f"expected an estimator, not its class: {estimator.__name__}()", argument=name, found=estimator
        )
    if not isinstance(estimator, BaseEstimator) or not (is_classifier(estimator) or is_regressor(estimator)):
        raise InvalidTypeError(
            "expected a classifier or regressor of scikit-learn, such as LinearSVC()",
            argument=name,
            found=estimator,
        )
    if not get_tags(estimator).target_tags.single_output:
        raise InvalidTypeError(
            f"expected an estimator of one label, such as LinearSVC(), but {type(estimator).__name__} takes tables of "
            "labels",
            argument=name,
            found=estimator,
        )
    if isinstance(getattr(estimator, "class_weight", None), dict):
        raise InvalidInputError("class_weight of the estimator must be None or 'balanced': one for all labels")


def takes_sparse(estimator: Any) -> bool:
    """Whether an estimator says that it takes sparse features."""
    return bool(get_tags(estimator).input_tags.sparse)


def fit_learner(
    estimator: Any,
    X: CheckedFeatures,
    y: NDArray[Any],
    sample_weight: NDArray[Any] | None = None,
    *,
    seed: int | None = None,
) -> Fitted:
    """Fit a copy of an estimator to classes.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn
        It is not changed. A regressor regresses 1 for a class and 0 for all others.
    X : ndarray or csr_array of shape (n, D)
        Checked features.
    y : ndarray of shape (n,)
        Class of each instance: whole numbers, with at least two different values.
    sample_weight : ndarray of shape (n,), optional
        Weights of the instances, at least 0.
    seed : int, optional
        Replaces each ``random_state`` that is None in the copy, its own and those of its parts.

    Returns
    -------
    learner : Learner
    converged : bool
        False if the estimator gave a ConvergenceWarning, which is not shown; other warnings are.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If the estimator refuses its parameters or the data, or if a number that it learned is not finite.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> learner, _ = fit_learner(DecisionTreeClassifier(), X, np.array([5, 5, 7, 9]), seed=0)
    >>> learner.predict(X), learner.scores(X).shape
    (array([5, 5, 7, 9]), (4, 3))
    """
    y = np.asarray(y)
    if y.ndim != 1 or len(y) != X.shape[0] or y.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"y has shape {y.shape} and dtype {y.dtype}, expected a class of each of {X.shape[0]} rows"
        )
    found = np.unique(y)
    classes = found.astype(np.int64)
    if not np.array_equal(found, classes):
        raise InvalidInputError("y must hold whole numbers, the classes")
    if len(classes) < 2:
        raise InvalidInputError(f"a learner needs instances of two classes at least, found {len(classes)}")
    if type(estimator) is KNeighborsClassifier and is_plain(estimator):
        index = neighbour_index(estimator, X)
        return Fitted(NeighboursLearner(index, np.searchsorted(classes, y), classes), True)
    known = type(estimator) in _ADAPTERS  # spares the slow `is_regressor`
    if type(estimator) in linear.REGRESSORS or (not known and is_regressor(estimator)):
        targets = (y == classes[1]) if len(classes) == 2 else (y[:, None] == classes)
        return _fit_regressor(estimator, X, targets.astype(np.float64), classes, sample_weight, seed)
    model, converged = _fit(estimator, X, y, sample_weight, seed)
    adapter = _ADAPTERS.get(type(model))
    if adapter is None or getattr(model, "multi_class", "auto") == "multinomial":  # of scikit-learn before 1.8
        return Fitted(OpaqueLearner([model], classes, X.shape[1]), converged)
    return Fitted(_finite(adapter(model, classes), model), converged)


def neighbour_index(estimator: KNeighborsClassifier, X: CheckedFeatures) -> NeighbourIndex:
    """Return the index in which a `KNeighborsClassifier` searches; features are copied."""
    rows = X.copy() if not isinstance(X, np.ndarray) else np.array(X, order="C")
    params = estimator.get_params(deep=False)
    params.pop("metric_params")
    with _refused_by(estimator):
        return NeighbourIndex(rows, **params)


def learner_from_state(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Learner:
    """Rebuild a learner from what its `Learner._to_state` returned, after checking all of it.

    Parameters
    ----------
    header : mapping of str to JSON values
    arrays : mapping of str to ndarray

    Raises
    ------
    InvalidInputError
        If a part of the state is missing, out of range or does not fit the other parts.

    Examples
    --------
    >>> learner = LinearLearner(np.ones((2, 1)), np.zeros(1), np.array([0, 1]))
    >>> learner_from_state(*learner._to_state()).scores(np.ones((1, 2)))
    array([2.])
    """
    kind = header.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        known = ", ".join(map(repr, _KINDS))
        raise InvalidInputError(f"the state of a learner: expected one of {known}", argument="kind", found=kind)
    return _KINDS[kind]._from_state(header, arrays)


def _fit_regressor(
    estimator: Any,
    X: CheckedFeatures,
    targets: NDArray[np.float64],
    classes: NDArray[np.int64],
    sample_weight: NDArray[Any] | None,
    seed: int | None,
) -> Fitted:
    """Fit a regressor to 0 and 1; to a column for each class if there are more than two."""
    if type(estimator) in linear.REGRESSORS:
        model, converged = _fit(estimator, X, targets, sample_weight, seed)
        return Fitted(_finite(linear.from_regressor(model, classes), model), converged)
    columns = [targets] if targets.ndim == 1 else list(targets.T)
    models = [_fit(estimator, X, column, sample_weight, seed) for column in columns]
    learner = OpaqueLearner([model for model, _ in models], classes, X.shape[1])
    return Fitted(learner, all(converged for _, converged in models))


def _fit(
    estimator: Any, X: CheckedFeatures, y: NDArray[Any], sample_weight: NDArray[Any] | None, seed: int | None
) -> tuple[Any, bool]:
    """Return a fitted copy of an estimator, and whether it converged."""
    model = clone(estimator)
    if seed is not None:
        model.set_params(**{name: seed for name, value in model.get_params().items() if _is_open_seed(name, value)})
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    with _refused_by(estimator, X):
        _, unfinished = with_unfinished(partial(model.fit, X, y, **weights))
    return model, not unfinished


def _is_open_seed(name: str, value: Any) -> bool:
    return value is None and (name == "random_state" or name.endswith("__random_state"))


@contextmanager
def _refused_by(estimator: Any, X: Any = None) -> Iterator[None]:
    """Turn errors of an estimator into errors of this package."""
    try:
        yield
    except InvalidInputError:
        raise
    except (ValueError, TypeError) as error:
        if isinstance(error, TypeError) and is_sparse(X) and not takes_sparse(estimator):
            advice = "give a dense table, or take an estimator such as LinearSVC(), MultinomialNB() or a tree"
            problem = f"features are sparse, which {type(estimator).__name__} does not take"
            raise InvalidTypeError(problem, advice=advice) from error
        refusal = InvalidTypeError if isinstance(error, TypeError) else InvalidInputError
        raise refusal(f"{type(estimator).__name__} refuses: {error}") from error


def _finite(learner: Learner, model: Any) -> Learner:
    """Return a learner, unless a number in it is not finite."""
    _, arrays = learner._to_state()
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise InvalidInputError(
            f"{type(model).__name__} learned numbers that are not finite",
            advice="scale the features, or raise its smoothing or its penalty",
        )
    return learner
