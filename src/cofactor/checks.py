"""Checks of parameters, weights and masked arrays, made once, at the door."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.limits import LARGEST, SMALLEST
from cofactor.text import nearest


def check_number(
    name: str,
    value: Any,
    *,
    low: float,
    inclusive: bool = True,
    high: float = np.inf,
    whole: bool = False,
    also: Iterable[str | None] = (),
) -> None:
    """Refuse a parameter which is neither a number in its range nor one of these other values.

    Examples
    --------
    >>> check_number("n_neighbors", "auto", low=1, whole=True, also=["auto"])
    >>> check_number("n_neighbors", "all", low=1, whole=True, also=["auto"])
    Traceback (most recent call last):
    cofactor.errors.InvalidTypeError: n_neighbors='all': expected a whole number of at least 1, or 'auto'
    """
    if _is_one_of(value, also):
        return
    kind = Integral if whole else Real
    word = "a whole number" if whole else "a number"
    if low > -np.inf:
        word += f" {'of at least' if inclusive else 'above'} {low:g}"
    if high < np.inf:
        word += f" and at most {high:g}"
    word += _or(also)
    if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
        raise InvalidTypeError(f"expected {word}", argument=name, found=value)
    try:
        number = float(value)
    except OverflowError:  # a number of hundreds of digits
        raise InvalidInputError((Argument(name), f": expected {word}, with fewer digits"), argument=name) from None
    if not (number >= low if inclusive else number > low) or not number <= high or not np.isfinite(number):
        raise InvalidInputError(f"expected {word}", argument=name, found=value)


def number(**range_: Any) -> Callable[[str, Any], None]:
    """Return the check of a parameter that `check_number` makes, with its range and other values."""
    return partial(check_number, **range_)


def whole(low: int = 1, **range_: Any) -> Callable[[str, Any], None]:
    """Return the check of a parameter that is a whole number; see `number`."""
    return number(low=low, whole=True, **range_)


#: The value of a parameter that a fit chooses.
AUTO = "auto"

#: Largest weight of a penalty on factors; above it, squares of gradients leave the range of float32.
MOST_WEIGHT = 1e12


def positive_weight(*also: str | None) -> Callable[[str, Any], None]:
    """Return the check of a weight above 0 and at most `MOST_WEIGHT`, or one of these other values."""
    return number(low=0, inclusive=False, high=MOST_WEIGHT, also=also)


def one_of(choices: Iterable[str | None]) -> Callable[[str, Any], None]:
    """Return the check of a parameter that `check_choice` makes."""
    return partial(check_choice, choices=choices)


def size(**also: Any) -> Callable[[str, Any], None]:
    """Return the check of a parameter that `check_size` makes."""
    return partial(check_size, **also)


def check_text(texts: Iterable[Any], what: str) -> None:
    r"""Refuse half a character, a surrogate of UTF-16 alone, in any of some texts: no file and no answer can hold it.

    Examples
    --------
    >>> check_text(["Amélie 😀", 7], "ids")
    >>> check_text(["Am\udce9lie"], "ids")
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: ids hold 'Am\udce9lie', which has half a character (a lone surrogate); repair
    each text by text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')
    """
    try:
        "".join(text for text in texts if isinstance(text, str)).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        found = next(text for text in texts if isinstance(text, str) and half in text)
        problem = f"{what} hold {found!r}, which has half a character (a lone surrogate)"
        advice = "repair each text by text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        raise InvalidInputError(problem, advice=advice) from None


def check_sparse(matrix: Any, argument: str) -> None:
    """Refuse a sparse matrix of SciPy that leads out of itself: neither its products nor kernels look at the indices.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> matrix = csr_array([[0, 1], [2, 0]])
    >>> matrix.indices[0] = 1000
    >>> check_sparse(matrix, "X")
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: X is a damaged sparse matrix: ...
    """
    kind = type(matrix)
    try:
        if matrix.format in ("csr", "csc"):  # another one with the same arrays, since checking may cut these
            kind((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape).check_format(full_check=True)
            if (np.diff(matrix.indptr) < 0).any():
                raise ValueError("index pointer values must not fall")
        elif matrix.format == "coo":
            kind((matrix.data, (matrix.row, matrix.col)), shape=matrix.shape)
    except (TypeError, ValueError) as error:
        problem = (Argument(argument), f" is a damaged sparse matrix: {error}")
        raise InvalidInputError(problem, argument=argument) from None


def check_size(name: str, value: Any, *, also: Iterable[str | None] = ()) -> None:
    """Refuse what is no whole number from 1, no share above 0 and at most 1, and none of these other values."""
    if _is_one_of(value, also):
        return
    kind: Any = Integral if isinstance(value, Integral) else Real
    word = "a whole number of at least 1, or a share above 0 and at most 1 (1.0: all)" + _or(also)
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


def check_choice(name: str, value: Any, choices: Iterable[str | None]) -> None:
    """Refuse a parameter which is none of its choices. A mapping to texts says what they mean.

    Examples
    --------
    >>> check_choice("best_for", "micr", {"micro": "micro-F1", "macro": "macro-F1"})
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: best_for='micr': expected one of 'micro' (micro-F1), 'macro' (macro-F1); did ...
    """
    known = list(choices)
    if _is_one_of(value, known):
        return
    meant = choices if isinstance(choices, Mapping) else {}
    words = [f"{one!r} ({meant[one]})" if isinstance(meant.get(one), str) else repr(one) for one in known]
    near = nearest(value, filter(None, known))[:1] if isinstance(value, str) else ()
    advice = f"did you mean {near[0]!r}?" if near else ""
    raise InvalidInputError(f"expected one of {', '.join(words)}", argument=name, found=value, advice=advice)


def _is_one_of(value: Any, others: Iterable[str | None]) -> bool:
    """Whether a parameter, which may be anything, is None or a text that is among the others."""
    return (value is None or isinstance(value, str)) and value in others


def _or(others: Iterable[str | None]) -> str:
    return "".join(f", or {other!r}" for other in others)


def check_flag(name: str, value: Any) -> None:
    """Refuse a parameter which is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidTypeError("expected True or False", argument=name, found=value)


def check_callback(name: str, value: Any) -> None:
    """Refuse a parameter that cannot be called with progress."""
    if value is not None and not callable(value):
        raise InvalidTypeError("expected a function of one argument, a Progress", argument=name, found=value)


def check_verbose(name: str, value: Any) -> None:
    """Refuse a parameter that is neither a whole number from 0 nor True or False."""
    if not isinstance(value, bool | np.bool_):
        check_number(name, value, low=0, whole=True)


def check_jobs(name: str, value: Any) -> None:
    """Refuse a parameter that joblib does not understand as a number of jobs."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value == 0):
        kind = InvalidInputError if isinstance(value, Integral) else InvalidTypeError
        raise kind("expected a whole number other than 0 (-1: all cores)", argument=name, found=value)


def check_random_state(name: str, value: Any) -> None:
    """Refuse a parameter of which `make_generator` makes no generator."""
    if not isinstance(value, np.random.RandomState):  # it would draw from this one
        make_generator(value)


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


def as_list(values: Any, name: str) -> Any:
    """Return what can only be walked through, such as a generator or the keys of a dict, as a list; others as they are.

    Parameters
    ----------
    values : object
        What a caller gave as a column, or as rows.
    name : str
        Of the argument.

    Raises
    ------
    InvalidTypeError
        If it is a set, which has no order, or a dict.

    Examples
    --------
    >>> as_list({"ann": 3, "bob": 4}.keys(), "users"), as_list((u for u in "ab"), "users"), as_list(7, "users")
    (['ann', 'bob'], ['a', 'b'], 7)
    """
    if isinstance(values, list | tuple | np.ndarray):  # quickly, as it is asked several times for each list
        return values
    if isinstance(values, set | frozenset):
        problem = f"{name} is a set, which has no order"
        raise InvalidTypeError(problem, argument=name, advice="list it in the order that is meant")
    if isinstance(values, Mapping):
        problem = f"{name} is a {type(values).__name__} with values"
        raise InvalidTypeError(problem, argument=name, advice="pass its keys, or a list")
    known = isinstance(values, Sequence) or hasattr(values, "__array__")
    return list(values) if isinstance(values, Iterable) and not known else values


def refuse_masked(values: Any, argument: str) -> None:
    """Refuse a masked array in which something is masked, since what lies under the mask would count as observed.

    Parameters
    ----------
    values : object
        What a user gave; a list or a tuple may hold masked arrays.
    argument : str
        As what they gave it.

    Raises
    ------
    InvalidInputError
        If it is a masked array with a masked entry, or holds one.

    Examples
    --------
    >>> refuse_masked(np.ma.masked_equal([[1, 0], [7, 1]], 7), "y")
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: y is a masked array without a value in row 1, column 0: missing values are not \
supported; leave out its row, or fill it in with y.filled(value)
    """
    found = _first_masked(values)
    if found is None:
        return
    whole = isinstance(values, np.ma.MaskedArray)
    place = ", ".join(f"{axis} {k}" for axis, k in zip(("row", "column", "place"), found, strict=False))
    raise InvalidInputError(
        f"{argument} {'is' if whole else 'holds'} a masked array without a value in {place}: missing values are not "
        "supported",
        argument=argument,
        advice=f"leave out its row, or fill it in with {argument}{'' if whole else f'[{found[0]}]'}.filled(value)",
    )


def _first_masked(values: Any) -> tuple[int, ...] | None:
    """Return the place of the first masked entry of an array, or of a list or tuple of arrays; None without one."""
    if isinstance(values, np.ma.MaskedArray):
        return tuple(np.argwhere(np.ma.getmaskarray(values))[0].tolist()) if np.ma.is_masked(values) else None
    if isinstance(values, list | tuple) and any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, values))):
        for k, member in enumerate(values):
            inner = _first_masked(member)
            if inner is not None:
                return k, *inner
    return None


def as_weights(sample_weight: ArrayLike | None, n: int, what: str = "instance") -> NDArray[np.float64] | None:
    """Return checked weights of n instances; None if there are none, or if all are 1.

    Parameters
    ----------
    sample_weight : array-like of shape (n,), or None
    n : int
        Number of instances.
    what : str, default="instance"
        What has the weights, for messages.

    Returns
    -------
    ndarray of shape (n,), float64, or None

    Raises
    ------
    InvalidInputError
        If there are not n weights, if one is negative or not finite, if all are 0, or if the
        largest is so large or small that sums of squares are lost in rounding.

    Examples
    --------
    >>> as_weights([2, 0, 1], 3), as_weights([1, 1, 1], 3)
    (array([2., 0., 1.]), None)
    """
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    try:
        weights = np.asarray(sample_weight)
        if weights.dtype.kind == "c":
            raise TypeError("not complex ones")
        weights = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"sample_weight must be numbers ({error})", argument="sample_weight") from error
    if weights.shape != (n,):
        raise InvalidInputError(
            f"sample_weight has shape {weights.shape}, expected ({n},): a weight for each {what}",
            argument="sample_weight",
        )
    bad = np.flatnonzero(~(weights >= 0) | ~np.isfinite(weights))
    if len(bad):
        raise InvalidInputError(
            f"sample_weight holds {weights[bad[0]]:g} ({what} {bad[0]}): weights must be finite and not negative",
            argument="sample_weight",
        )
    if not weights.any():
        raise InvalidInputError("the weights in sample_weight are all zero", argument="sample_weight")
    if not SMALLEST <= weights.max() <= LARGEST:
        raise InvalidInputError(
            f"the largest weight in sample_weight is {weights.max():g}, expected one from {SMALLEST:g} to {LARGEST:g}",
            argument="sample_weight",
            advice="multiply all weights by a number",
        )
    return None if (weights == 1).all() else weights


def relative_weights(weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Return weights divided by the mean of those above 0, for what must not depend on their unit.

    Parameters
    ----------
    weights : ndarray of shape (n,), at least 0, or None

    Examples
    --------
    >>> relative_weights(np.array([1e-8, 3e-8]))
    array([0.5, 1.5])
    """
    return None if weights is None else weights / weights[weights > 0].mean()
