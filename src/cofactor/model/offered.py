"""What a model can do and what not: methods that are absent under a condition and say why, and who can instead."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, cast

from cofactor.errors import InvalidInputError


def kinds_of(base: type[Any]) -> list[type[Any]]:
    """Return the classes below a class of which there can be instances, each before those below it.

    Models of its package, which are loaded when they are used, are all among them.

    Examples
    --------
    >>> class Base: ...
    >>> class One(Base): ...
    >>> class Another(Base): ...
    >>> class OneMore(One): ...
    >>> [kind.__name__ for kind in kinds_of(Base)]
    ['One', 'OneMore', 'Another']
    """
    list(getattr(sys.modules.get(base.__module__.rpartition(".")[0]), "MODELS", {}).values())  # it loads them
    found = []
    for kind in base.__subclasses__():
        found += [*([] if inspect.isabstract(kind) else [kind]), *kinds_of(kind)]
    return list(dict.fromkeys(found))


class _Offered:
    """A method which exists for an object unless a check of the object raises an error.

    scikit-learn's `available_if` does the same, but shows a text of its own instead of that of the check.
    """

    def __init__(self, fn: Callable[..., Any], check: Callable[[Any], object]) -> None:
        self.fn, self.check = fn, check
        update_wrapper(cast(Any, self), fn)

    def __get__(self, obj: Any, owner: type[Any] | None = None) -> Any:
        if obj is None:
            return self.fn
        try:
            self.check(obj)
        except InvalidInputError as error:
            raise AttributeError(str(error)) from None
        return MethodType(self.fn, obj)


def offered_if(check: Callable[[Any], object]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a method that an object has only if a check of it raises no error.

    Parameters
    ----------
    check : callable
        Takes the object. The text of its AttributeError or `InvalidInputError` is what a caller of the method sees, as
        an AttributeError.

    Examples
    --------
    >>> def is_open(door):
    ...     if not door.open:
    ...         raise AttributeError("the door is closed: open it first")
    >>> class Door:
    ...     open = False
    ...
    ...     @offered_if(is_open)
    ...     def enter(self):
    ...         return "inside"
    >>> hasattr(Door(), "enter")
    False
    >>> Door().enter()
    Traceback (most recent call last):
    AttributeError: the door is closed: open it first
    """
    return lambda fn: _Offered(fn, check)
