"""All kinds of a class, so that an error can name the models that can do what one of them cannot."""

from __future__ import annotations

import inspect
import sys
from typing import Any

__all__ = ["kinds_of"]


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
