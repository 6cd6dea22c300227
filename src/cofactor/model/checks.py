"""Checks of estimator parameters, made once, at the door of `fit`."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from cofactor.errors import Argument, InvalidInputError, InvalidTypeError


def check_number(
    name: str, value: Any, *, low: float, inclusive: bool = True, high: float = np.inf, whole: bool = False
) -> None:
    """Refuse a parameter which is not a number in its range."""
    kind = Integral if whole else Real
    word = "a whole number" if whole else "a number"
    if low > -np.inf:
        word += f" {'of at least' if inclusive else 'above'} {low:g}"
    if high < np.inf:
        word += f" and at most {high:g}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
        raise InvalidTypeError(f"expected {word}", argument=name, found=value)
    try:
        number = float(value)
    except OverflowError:  # a number of hundreds of digits
        raise InvalidInputError((Argument(name), f": expected {word}, with fewer digits"), argument=name) from None
    if not (number >= low if inclusive else number > low) or not number <= high or not np.isfinite(number):
        raise InvalidInputError(f"expected {word}", argument=name, found=value)


def check_size(name: str, value: Any) -> None:
    """Refuse what is neither a whole number from 1 nor a share above 0 and at most 1."""
    kind: Any = Integral if isinstance(value, Integral) else Real
    word = "a whole number of at least 1, or a share above 0 and at most 1 (1.0: all)"
    if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
        raise InvalidTypeError(f"expected {word}", argument=name, found=value)
    if not (value >= 1 if kind is Integral else 0 < value <= 1):
        raise InvalidInputError(f"expected {word}", argument=name, found=value)


def resolve_size(value: Any, whole: int) -> int:
    """Return the number that a size which `check_size` took stands for: itself, or its share of `whole`, rounded up.

    Examples
    --------
    >>> resolve_size(3, 10), resolve_size(0.25, 10), resolve_size(1.0, 10)
    (3, 3, 10)
    """
    return int(value) if isinstance(value, Integral) else int(np.ceil(value * whole))


def check_choice(name: str, value: Any, choices: Iterable[str], *, or_none: bool = False) -> None:
    """Refuse a parameter which is none of its named choices."""
    known = list(choices)
    if value is None and or_none:
        return
    if not isinstance(value, str) or value not in known:
        expected = ", ".join(map(repr, [*known, None] if or_none else known))
        raise InvalidInputError(f"expected one of {expected}", argument=name, found=value)


def check_flag(name: str, value: Any) -> None:
    """Refuse a parameter which is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidTypeError("expected True or False", argument=name, found=value)


def check_callback(callback: Any) -> None:
    """Refuse what cannot be called with progress."""
    if callback is not None and not callable(callback):
        raise InvalidTypeError("expected a function of one argument, a Progress", argument="callback", found=callback)


def check_verbose(verbose: Any) -> None:
    """Refuse what is neither a whole number from 0 nor True or False."""
    if not isinstance(verbose, bool | np.bool_):
        check_number("verbose", verbose, low=0, whole=True)


def check_jobs(n_jobs: Any) -> None:
    """Refuse what joblib does not understand as a number of jobs."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        kind = InvalidInputError if isinstance(n_jobs, Integral) else InvalidTypeError
        raise kind("expected None or a whole number other than 0 (-1: all cores)", argument="n_jobs", found=n_jobs)


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a random generator for what scikit-learn calls a random state."""
    if random_state is None or isinstance(random_state, int | np.integer | np.random.Generator):
        if isinstance(random_state, int | np.integer) and random_state < 0:
            raise InvalidInputError("a seed must not be negative", argument="random_state", found=random_state)
        return np.random.default_rng(random_state)
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    raise InvalidTypeError(
        "expected None, an integer, a RandomState or a Generator of NumPy", argument="random_state", found=random_state
    )
