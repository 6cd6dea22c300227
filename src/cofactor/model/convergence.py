"""Warnings of an estimator about its fit: the solver ran out of iterations, or nothing would be predicted."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.exceptions import ConvergenceWarning

from cofactor.solvers.result import Result
from cofactor.text import plural

_PASSED_OVER = ("cofactor", "joblib")


def callers_level() -> int:
    """Return the ``stacklevel`` with which the function that asks warns about the code of the user.

    Frames of this package, and those of joblib between them, are passed over.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        frame, level = frame.f_back, level + 1
    return level


_Fitted = TypeVar("_Fitted")

#: The share of the labels of training instances below which a model is said to predict none.
PRACTICALLY_NONE = 0.05


class NothingPredictedWarning(UserWarning):
    """The model predicts practically no label for the training instances (`predicts_none`).

    Where the cut of the scores is chosen afterwards it means nothing; filter it by this category there.
    """


def predicts_none(n_predicted: int, n_on: int) -> bool:
    """Whether a model predicts practically no labels: fewer than a twentieth as many as there are.

    Examples
    --------
    >>> predicts_none(0, 7), predicts_none(21, 2585), predicts_none(409, 1218), predicts_none(0, 0)
    (True, True, False, False)
    """
    return n_predicted < PRACTICALLY_NONE * n_on


def warn_of_unsolved(n_unsolved: int, n: int, model: Any, name: str = "") -> None:
    """Warn the user whose code called a fold-in if some of n rows, each solved alone, were not at their minimum.

    Parameters
    ----------
    n_unsolved, n : int
    model : estimator
        With the parameter `max_iter`.
    name : str, optional
        What to call the model; by default its class.
    """
    if not n_unsolved:
        return
    text = (
        f"{name or type(model).__name__} stopped after {plural(model.max_iter, 'iteration')}, and {n_unsolved:,} of "
        f"{plural(n, 'user', form=',')} had not settled: raise max_iter"
    )
    warnings.warn(text, ConvergenceWarning, stacklevel=callers_level())


def warn_if_unfinished(result: Result, model: Any, name: str = "") -> None:
    """Warn the user whose code called the fit that a solver ended too early, with what to do about it.

    Parameters
    ----------
    result : Result
        What the solver returned.
    model : estimator
        With parameters `max_iter` and `tol`.
    name : str, optional
        What to call the model; by default its class.
    """
    if not result.unfinished:
        return
    stopped = f"{name or type(model).__name__} stopped after {plural(result.n_iter, 'iteration')}"
    if result.n_iter < model.max_iter:  # more of them would not help
        text = f"{stopped}, since {result.message}: check the data for huge values, or raise the weight of the penalty"
    else:
        text = (
            f"{stopped} before its objective had settled (distance from stationarity {result.certificate:.3g}): "
            f"raise max_iter, now {model.max_iter}, or tol, now {model.tol:g}"
        )
    warnings.warn(text, ConvergenceWarning, stacklevel=callers_level())


def with_unfinished(fit: Callable[[], _Fitted]) -> tuple[_Fitted, list[str]]:
    """Return what a function returns, and the warnings of fits in it that ended too early, which are not shown.

    Parameters
    ----------
    fit : callable
        Without arguments. Other warnings that it gives are shown.

    Examples
    --------
    >>> with_unfinished(lambda: warnings.warn("stopped after 3 iterations", ConvergenceWarning))
    (None, ['stopped after 3 iterations'])
    """
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", ConvergenceWarning)
        fitted = fit()
    unfinished = []
    for warning in raised:
        if issubclass(warning.category, ConvergenceWarning):
            unfinished.append(str(warning.message))
        else:
            warnings.warn(warning.message, stacklevel=callers_level())
    return fitted, unfinished
