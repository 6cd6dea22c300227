"""What all models of chains share: the order of the labels, and how their learners are fitted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold

from cofactor.correlation import MEASURES, measured
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.base import FitInput
from cofactor.labels.learners.base import Learner, Task
from cofactor.labels.learners.chain import Chain, chain_of, with_labels
from cofactor.text import did_you_mean, first_repeated, nearest

__all__ = ["EARLIER", "ORDERS", "chain_bytes", "check_order", "fit_chain", "label_places", "order_of", "refuse_order"]

#: Where the labels before a label come from in training.
EARLIER = ("true", "predicted", "out-of-fold")

#: Names of orders.
ORDERS = ("given", "random", *MEASURES)


def check_order(name: str, order: Any, also: Sequence[str] = ()) -> None:
    """Refuse an order that is neither known by a name, nor a permutation, nor a list of labels.

    Examples
    --------
    >>> check_order("order", [0, 0])
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: order=[0, 0]: expected each of the numbers 0 to 1 once, but 1 is not there; whole
    numbers are positions, whatever labels are called
    """
    if isinstance(order, str) and order in (*ORDERS, *also):
        return
    places = np.asarray(order) if order is not None else np.empty(0)
    truths = isinstance(order, list | tuple) and any(isinstance(place, bool) for place in order)
    if places.ndim != 1 or not len(places) or places.dtype.kind not in "iuU" or truths:
        kind = InvalidInputError if isinstance(order, str) else InvalidTypeError
        known = (*ORDERS, *also)
        raise kind(
            f"expected one of {', '.join(map(repr, known))}, or a list of the positions, or the names, of all labels",
            argument=name,
            found=order,
            advice=_advice(order, places, known),
        )
    if places.dtype.kind == "U":
        repeated = first_repeated(places)
        if repeated is not None:
            raise InvalidInputError(f"{repeated} is there twice", argument=name, found=order)
        return
    missing = np.setdiff1d(np.arange(len(places)), places)
    if len(missing):
        problem = f"expected each of the numbers 0 to {len(places) - 1} once, but {missing[0]} is not there"
        advice = "whole numbers are positions, whatever labels are called"
        raise InvalidInputError(problem, argument=name, found=order, advice=advice)


def _advice(order: Any, places: NDArray[Any], known: Sequence[str]) -> str:
    """Return what to do about an order that is none."""
    if isinstance(order, str):
        return did_you_mean(order, known) if nearest(order, known) else ""
    return "positions are whole numbers" if places.dtype.kind == "f" and places.size else ""


def order_of(model: Any, data: FitInput, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the positions of the labels that vary, among themselves, in the order of a chain.

    Parameters
    ----------
    model : LabelModel
        In a fit. Its parameter `order` holds positions among all labels, or names.
    data : FitInput
        With the labels that vary.
    generator : Generator
        Draws a random order.
    """
    n_labels, order, constant = data.labels.shape[1], model.order, model.constant_
    if not isinstance(order, str):
        if len(order) != len(constant):
            problem = f"it has {len(order)} of {len(constant)} labels"
            raise InvalidInputError(problem, argument="order", found=order)
        return _among_varying(label_places(order, model.label_names_.tolist(), "order"), constant)
    if order == "given":
        return np.arange(n_labels)
    if order == "random":
        return generator.permutation(n_labels)
    similar = measured(order, data.features, data.labels, data.weights)
    return np.argsort(-np.abs(similar).sum(axis=0), kind="stable")


def label_places(given: ArrayLike, names: list[Any], argument: str) -> NDArray[Any]:
    """Return positions of labels, of any shape, which an argument gives as such, or by their names.

    Examples
    --------
    >>> label_places(["sun", "sea"], ["sea", "sand", "sun"], "order")
    array([2, 0])
    """
    places = np.asarray(given)
    if places.dtype.kind != "U":
        return places
    unknown = next((name for name in places.ravel().tolist() if name not in names), None)
    if unknown is not None:
        hint = did_you_mean(unknown, map(str, names))
        if all(isinstance(name, int | np.integer) for name in names):
            hint = "labels have numbers here: their names come from label_names of fit, or from a frame"
        raise InvalidInputError(f"no label is called {unknown!r}", argument=argument, found=given, advice=hint)
    return np.array([names.index(name) for name in places.ravel().tolist()]).reshape(places.shape)


def _among_varying(order: NDArray[Any], constant: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return an order of all labels as one of those that vary.

    Examples
    --------
    >>> _among_varying(np.array([2, 0, 1]), np.array([0, 1, 0]))
    array([1, 0])
    """
    place = np.cumsum(constant == 0) - 1
    return np.asarray(place[order[constant[order] == 0]], dtype=np.int64)


def refuse_order(order: Any, n_labels: int) -> None:
    """Refuse an order read from a file that is no permutation of the labels."""
    if order.dtype.kind not in "iu" or not np.array_equal(np.sort(order), np.arange(n_labels)):
        raise InvalidInputError(f"an order of {n_labels} labels must hold each of them once")


def chain_bytes(data: FitInput, n_chains: int = 1) -> int:
    """Return what chains take at least: coefficients of features and of labels, and the labels of all instances."""
    (n, D), L = data.features.shape, data.labels.shape[1]
    return 8 * n_chains * L * (D + L) + n * L


def fit_chain(
    fit_tasks: Callable[..., list[Learner]],
    estimator: BaseEstimator,
    data: FitInput,
    order: NDArray[np.int64],
    generator: np.random.Generator,
    *,
    earlier: str = "true",
    n_folds: int = 5,
    done: int = 0,
    most: int | None = None,
) -> Chain:
    """Fit the learners of a chain.

    Parameters
    ----------
    fit_tasks : callable
        `LearnerModel._fit_tasks` of the model.
    estimator : BaseEstimator
    data : FitInput
    order : ndarray of shape (T,)
        Labels of the data in the order of the chain.
    generator : Generator
        Draws the seeds of the learners.
    earlier : {"true", "predicted", "out-of-fold"}, default="true"
        Where the labels before a label come from.
    n_folds : int, default=5
        Number of folds of "out-of-fold".
    done, most : int, optional
        How many labels were fitted before these, of how many.
    """
    Y = np.asarray(data.labels[:, order].toarray() > 0, dtype=np.int8, order="F")
    n, T = Y.shape
    D, most = data.features.shape[1], T if most is None else most
    if earlier == "true":
        tasks = [Task(Y[:, t], n_features=D + t) for t in range(T)]
        X = with_labels(data.features, Y[:, :-1])
        return chain_of(fit_tasks(estimator, X, tasks, data, generator, done=done, most=most))
    learners: list[Learner] = []
    before = np.zeros((n, T))
    for t in range(T):
        X, y = with_labels(data.features, before[:, :t]), Y[:, t]
        folds = _folds(y, n_folds) if earlier == "out-of-fold" and t < T - 1 else []
        tasks = [Task(y), *(Task(y[train], train) for train, _ in folds if 0 < y[train].sum() < len(train))]
        first, *others = fit_tasks(estimator, X, tasks, data, generator, what=f"label {done + t + 1} of {most}")
        learners.append(first)
        before[:, t] = first.predict(X) if earlier == "predicted" else 0
        for train, test in folds:
            varies = 0 < y[train].sum() < len(train)
            before[test, t] = others.pop(0).predict(X[test]) if varies else y[train[0]]
    return chain_of(learners)


def _folds(y: NDArray[np.int8], n_folds: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the folds that scikit-learn takes for a label, fewer where fewer instances are on or off."""
    most = min(n_folds, max(int(y.sum()), int(len(y) - y.sum())))
    if most < 2:
        return [(np.arange(len(y)), np.arange(len(y)))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class has fewer members than there are folds
        return list(StratifiedKFold(most).split(np.zeros(len(y)), y))
