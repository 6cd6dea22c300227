"""What every estimator is: scikit-learn's, which says in our words what is wrong with the names of its parameters."""

from __future__ import annotations

import inspect
from typing import Any, Self

from sklearn.base import BaseEstimator

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.text import did_you_mean

__all__ = ["Estimator"]


class Estimator(BaseEstimator):
    """scikit-learn's `BaseEstimator`, with errors that name the class a user knows, and the parameter they may mean.

    Python names the class in which a constructor was written, perhaps a base class; scikit-learn lists all parameters.

    Examples
    --------
    >>> class Model(Estimator):
    ...     def __init__(self, alpha=1.0):
    ...         self.alpha = alpha
    >>> Model(alhpa=2.0)
    Traceback (most recent call last):
    cofactor.errors.InvalidTypeError: Model has no parameter 'alhpa'; did you mean alpha?
    >>> Model().set_params(beta=2.0)
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: Model has no parameter 'beta'; expected one of alpha
    """

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Refuse arguments that the constructor does not have; a copy is made without any."""
        problem = _unknown(cls, params)
        if problem:
            raise InvalidTypeError(problem)
        try:
            inspect.signature(cls.__init__).bind_partial(None, *args, **params)
        except TypeError as error:
            raise InvalidTypeError(f"{cls.__name__}: {error}") from None
        return super().__new__(cls)

    def set_params(self, **params: Any) -> Self:
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
            If there is no parameter of a name.
        """
        problem = _unknown(type(self), params)
        if problem:
            raise InvalidInputError(problem)
        return super().set_params(**params)


def _unknown(kind: type[Estimator], params: dict[str, Any]) -> str:
    """Return what is wrong with the first name that is not a parameter's; nothing if all are."""
    known = kind._get_param_names()
    wrong = next((name for name in params if name.partition("__")[0] not in known), None)
    return "" if wrong is None else f"{kind.__name__} has no parameter {wrong!r}; {did_you_mean(wrong, known)}"
