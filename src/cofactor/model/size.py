"""The memory that a fit would take, checked before anything is allocated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cofactor.errors import Argument
from cofactor.limits import FIT


def refuse_too_large(model: Any, n_bytes: int, n_data: int, sizes: Callable[[], str] = str) -> None:
    """Refuse a fit that would take more memory than `cofactor.limits.FIT` allows.

    Parameters
    ----------
    model : estimator
        Its parameters are named in the error.
    n_bytes : int
        What the fit takes at least.
    n_data : int
        Number of ratings, or of numbers and labels, to learn from: large data may make large models.
    sizes : callable, optional
        Returns sizes of the data in words, for the message.

    Raises
    ------
    InvalidInputError
        If it takes more.

    Examples
    --------
    >>> from cofactor.ratings import ALS
    >>> refuse_too_large(ALS(n_factors=10**9), 97 << 30, 1000)
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: n_factors=1000000000: a fit would take at least 97 GiB, and more than
    8,589,934,592 bytes for a fit are refused; if it is right, set the environment variable COFACTOR_MAX_FIT to a larger
    number
    """
    if n_bytes <= FIT.most(8 * n_data):
        return
    params = model.get_params(deep=False)
    names = [name for name in model.size_params if name in params]
    known: list[Any] = [Argument(name, params[name]) for name in names] or [type(model).__name__]
    named = [part for one in known for part in (one, ", ")][:-1]
    words = sizes()
    of = f" on {words}" if words else ""
    FIT.check(n_bytes, (*named, f": a fit{of} would take at least {n_bytes / 2**30:,.3g} GiB"), size=8 * n_data)
