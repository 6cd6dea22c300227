"""What is wrong with the names of an estimator's parameters, in words which name the class that a user knows."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.text import did_you_mean

__all__ = ["refuses_unknown_parameters"]

_Class = TypeVar("_Class", bound=type[BaseEstimator])


def refuses_unknown_parameters(kind: _Class) -> _Class:
    """Let the constructors and `set_params` of a class, and of those below it, say which name is wrong; return it.

    Names are read from a constructor once: scikit-learn reads them anew in each `get_params`, thus in every copy.
    Python names the class in which a constructor was written, perhaps a base class; scikit-learn lists all parameters.
    A base class would do the same, and make every model one class deeper.

    Parameters
    ----------
    kind : type
        An estimator of scikit-learn.

    Examples
    --------
    >>> @refuses_unknown_parameters
    ... class Model(BaseEstimator):
    ...     def __init__(self, alpha=1.0):
    ...         self.alpha = alpha
    >>> Model(alhpa=2.0)
    Traceback (most recent call last):
    cofactor.errors.InvalidTypeError: Model has no parameter 'alhpa'; did you mean alpha?
    >>> Model().set_params(beta=2.0)
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: Model has no parameter 'beta'; expected one of alpha
    """

    def new(cls: type[BaseEstimator], *args: Any, **params: Any) -> Any:
        return _new(cls, *args, **params)

    new.__wrapped__ = kind.__init__  # type: ignore[attr-defined]  # whose signature `help` and scikit-learn show
    kind.__new__ = new  # type: ignore[assignment]
    kind.set_params = _set_params
    kind._get_param_names = classmethod(_param_names)
    return kind


def _param_names(cls: Any) -> list[str]:
    return list(_names(cls, cls.__init__))


@cache
def _names(kind: Any, constructor: Any) -> tuple[str, ...]:
    """Return what scikit-learn reads from a constructor, which another may replace."""
    return tuple(BaseEstimator._get_param_names.__func__(kind))


@cache
def _signature(constructor: Any) -> inspect.Signature:
    return inspect.signature(constructor)


def _new(cls: type[BaseEstimator], *args: Any, **params: Any) -> Any:
    """Refuse arguments that the constructor does not have; a copy is made without any."""
    if not args and not params:
        return object.__new__(cls)
    problem = _unknown(cls, params)
    if problem:
        raise InvalidTypeError(problem)
    try:
        _signature(cls.__init__).bind_partial(None, *args, **params)
    except TypeError as error:
        raise InvalidTypeError(f"{cls.__name__}: {error}") from None
    return object.__new__(cls)


def _set_params(self: BaseEstimator, **params: Any) -> BaseEstimator:
    """Set parameters, those of an estimator that is one of them as ``name__its_name``.

    Parameters
    ----------
    **params
        Values by name.

    Returns
    -------
    self

    Raises
    ------
    InvalidInputError
        If there is no parameter of a name, or it is one of a parameter that is no estimator.
    """
    problem = _unknown(type(self), params)
    if problem:
        raise InvalidInputError(problem)
    for name in params:
        outer, dot, inner = name.partition("__")
        held = params[outer] if outer in params else getattr(self, outer)
        if dot and not hasattr(held, "set_params"):
            raise InvalidInputError(
                f"{outer} is {held!r}, which has no parameters",
                argument=name,
                advice=f"give an estimator, such as LinearSVC(), to set its {inner}",
            )
    return BaseEstimator.set_params(self, **params)


def _unknown(kind: type[BaseEstimator], params: dict[str, Any]) -> str:
    """Return what is wrong with the first name that is not a parameter's; nothing if all are."""
    known = kind._get_param_names()
    wrong = next((name for name in params if name.partition("__")[0] not in known), None)
    return "" if wrong is None else f"{kind.__name__} has no parameter {wrong!r}; {did_you_mean(wrong, known)}"
