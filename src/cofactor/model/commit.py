"""A fit takes effect whole or not at all, and leaves nothing of an earlier fit behind.

`fit` works on a copy of the model. The copy becomes the model when all went well; after an error, or an interrupt from
the keyboard, the model is what it was::

    def fit(self, X, y):
        self.check_params()
        with committed(self) as fitted:
            fitted._fit(...)
        return self

A fit which goes on from an earlier one names what the copy keeps of it::

    with committed(self, keep=("chains_", "target_")) as fitted:  # a warm start
    with committed(self, keep=learned_names(self)) as fitted:  # partial_fit: everything
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

_Model = TypeVar("_Model")


def learned_names(model: Any) -> list[str]:
    """Return the names of all that a model learned: attributes which end with an underscore.

    Parameters
    ----------
    model : estimator

    Returns
    -------
    list of str

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> learned_names(SimpleNamespace(alpha=1.0, coef_=3, _index_=4, _config=5))
    ['coef_', '_index_']
    """
    return [name for name in vars(model) if name.endswith("_") and not name.endswith("__")]


@contextmanager
def committed(model: _Model, *, keep: Iterable[str] = ()) -> Iterator[_Model]:
    """Yield a copy of a model to be fitted; it replaces the model at the end, unless an error ends the block.

    Parameters
    ----------
    model : estimator
        Its parameters, and whatever does not end with an underscore, are in the copy too.
    keep : iterable of str, optional
        Learned attributes which the copy has from the beginning, for a fit that goes on from there. All others are
        gone from it, so that nothing of an earlier fit remains. The copy is shallow: arrays are replaced in it, never
        changed in place.

    Yields
    ------
    estimator
        The copy, of the same class.

    Examples
    --------
    >>> class Mean:
    ...     def fit(self, values):
    ...         with committed(self) as fitted:
    ...             fitted.count_ = len(values)
    ...             fitted.mean_ = sum(values) / len(values)
    ...         return self
    >>> model = Mean().fit([1, 2, 6])
    >>> model.fit([])
    Traceback (most recent call last):
    ZeroDivisionError: division by zero
    >>> model.count_, model.mean_
    (3, 3.0)
    """
    fitted = copy.copy(model)
    kept = set(keep)
    for name in learned_names(fitted):
        if name not in kept:
            delattr(fitted, name)
    yield fitted
    model.__dict__ = fitted.__dict__
