"""Estimators whose parameters, and what a fit learns, are declared once, as fields of their class.

A class says of each parameter what it is by default and which values it may have, and of each learned attribute which
axes it has; the constructor, `get_params`, the checks of a fit, and what a model file holds follow from this::

    class Ridge(Estimator):
        alpha: float = param(number(low=0), default=1.0, kw_only=False)
        solver: str = param(one_of(["exact", "sgd"]), default="exact")

        coef_: Array = learned("labels features")

A subclass that declares a parameter anew gives it another default, and keeps the check unless it gives one. A plain
attribute of the same name takes the parameter away.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.model.docs import fill_docs
from cofactor.model.html import html_of
from cofactor.model.state import is_mapped, packed
from cofactor.text import did_you_mean

#: Raises an error if a value cannot be that of a parameter of this name.
Check = Callable[[str, Any], None]

_NOTHING: Any = inspect.Parameter.empty


@dataclass(frozen=True)
class Param:
    """A parameter of a constructor.

    Attributes
    ----------
    default : object
    check : callable or None
        Called with its name and a value.
    kw_only : bool
        Whether it is given by name alone.
    grid : sequence or callable
        Values that a search tries.
    annotation : object
        Its type, as the class writes it.
    """

    default: Any
    check: Check | None
    kw_only: bool
    grid: Sequence[Any] | Callable[[Any], Sequence[Any]] = ()
    annotation: Any = Any


@dataclass(frozen=True)
class Learned:
    """Something that a fit learns.

    Attributes
    ----------
    axes : tuple of str or None
        What its axes are; None where it is no array. See `learned`.
    dtype : type or None
        Of an array: `float` or `int` for those of any size, None for both, `object` for texts too, or a type of NumPy.
    finite : bool
        Whether an array holds finite numbers alone.
    optional : bool
        Whether it may be None.
    saved : bool
        Whether a file holds it.
    check : callable or None
        Called with its name and a value read from a file.
    default : object
        What it is before a fit, if it is anything.
    kind : type or None
        What it is, if a file does not hold it as it is; see `learned`.
    many : bool
        Whether it is a list or tuple of these.
    """

    axes: tuple[str, ...] | None
    dtype: Any
    finite: bool
    optional: bool
    saved: bool
    check: Check | None
    default: Any
    kind: Any = None
    many: bool = False

    def holds(self, base: type[Any]) -> bool:
        """Return whether it is a list of estimators that derive from a class."""
        return self.many and isinstance(self.kind, type) and issubclass(self.kind, base)

    def to_plain(self, value: Any) -> Any:
        """Return a value in a form that `cofactor.model.state.packed` takes."""
        if value is None or self._is_packed:
            return value
        return [self._state_of(one) for one in value] if self.many else self._state_of(value)

    def from_plain(self, state: Any) -> Any:
        """Return what `to_plain` was given; of several a tuple."""
        if state is None or self._is_packed:
            return state
        if not self.many:
            return self.kind.from_state(state)
        if not isinstance(state, list):
            raise InvalidTypeError(f"expected a list, found a {type(state).__name__}")
        return tuple(None if one is None else self.kind.from_state(one) for one in state)

    def select(self, value: Any, kept: Mapping[str, NDArray[np.int64]]) -> Any:
        """Return what is learned without some of the places along its axes.

        That of another class follows by its own method `select`, if it has one; all else stays as it is.

        Parameters
        ----------
        value : object
        kept : mapping from str to ndarray
            For some axes the places that stay.

        Examples
        --------
        >>> learned("features labels").select(np.eye(3), {"labels": np.array([0, 2])}).tolist()
        [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
        """
        if self.axes is None:
            if self.many and value is not None:
                return tuple(one.select(kept) if hasattr(one, "select") else one for one in value)
            return value.select(kept) if hasattr(value, "select") else value
        for axis, name in enumerate(self.axes):
            if value is not None and name in kept:
                here = (slice(None),) * axis + (kept[name],)
                is_sparse: bool = sparse.issparse(value)
                value = value[here] if is_sparse else np.take(value, kept[name], axis=axis)
        return value

    @property
    def _is_packed(self) -> bool:
        """Whether `cofactor.model.state.packed` takes it as it is, as it does estimators."""
        return self.kind is None or issubclass(self.kind, Estimator)

    def _state_of(self, one: Any) -> Any:
        return None if one is None else self.kind.to_state(one)

    def refuse_wrong(self, name: str, value: Any, lengths: dict[str, int]) -> None:
        """Refuse a value, read from a file, of other axes or another kind than is declared.

        Parameters
        ----------
        name : str
        value : object
        lengths : dict of str to int
            Lengths of axes that are known, by name; those that are not yet are noted in it.
        """
        if value is None:
            if not self.optional:
                raise InvalidInputError(f"{name} must not be None")
            return
        if self.check is not None:
            self.check(name, value)
        if self.kind is not None and self._is_packed:
            found = value if self.many else [value]
            if not (isinstance(found, list) and all(isinstance(one, self.kind) for one in found)):
                raise InvalidInputError(f"{name} must be a {'list, each a ' * self.many}{self.kind.__name__}")
        if self.axes is None:
            return
        is_sparse: bool = sparse.issparse(value)
        table, shape = (value.data, value.shape) if is_sparse else (value, np.shape(value))
        is_array, numbers = isinstance(table, np.ndarray | np.generic), np.asarray(table)
        fits = is_array and len(shape) == len(self.axes)
        for axis, length in zip(self.axes, shape, strict=False):
            fits = fits and _length(axis, lengths, length) == length
        kinds = {float: "f", int: "iu", None: "iuf", object: "Oiuf"}.get(self.dtype)
        fits = fits and (numbers.dtype == self.dtype if kinds is None else numbers.dtype.kind in kinds)
        is_read = numbers.dtype != object and not is_mapped(numbers)  # else all of a file would be
        if fits and self.finite and is_read:
            fits = bool(np.isfinite(numbers).all())
        if not fits:
            wanted = ", ".join(str(lengths.get(axis, axis)) for axis in self.axes)
            found = f"shape {shape}, {numbers.dtype}" if is_array else f"a {type(value).__name__}"
            words = {float: "float", int: "int", None: "numbers", object: "numbers or texts"}
            kind = "finite " * self.finite + (words.get(self.dtype) or np.dtype(self.dtype).name)
            raise InvalidInputError(f"{name} must be {kind} of shape ({wanted}), found {found}")


def _length(axis: str, lengths: dict[str, int], found: int) -> int:
    """Return how long an axis must be; one that is not known yet is as long as it was found."""
    if axis.isdigit():
        return int(axis)
    less = axis.endswith("-1")
    return lengths.setdefault(axis.removesuffix("-1"), found + less) - less


def param(
    check: Check | None = None,
    *,
    default: Any = _NOTHING,
    kw_only: bool = True,
    grid: Sequence[Any] | Callable[[Any], Sequence[Any]] = (),
) -> Any:
    """Declare a parameter in the body of an `Estimator`.

    Parameters
    ----------
    check : callable, optional
        Called by a fit with its name and value; see `cofactor.checks`. By default that of the same parameter of a base
        class, if there is one.
    default : object, optional
        Its value where none is given; by default it must be given.
    kw_only : bool, default=True
        Whether it is given by name alone; the others come first, those of base classes before a class's own.
    grid : sequence or callable, optional
        Values that a search tries, or what gives them for an estimator, see `default_grid`; by default those of the
        same parameter of a base class.

    Examples
    --------
    >>> from cofactor.checks import number
    >>> class Mean(Estimator):
    ...     shrinkage: float = param(number(low=0), default=1.0, kw_only=False)
    ...     verbose: int = param(default=0)
    >>> class Median(Mean):
    ...     shrinkage: float = param(default=3.0)
    >>> Median(verbose=1).get_params()
    {'shrinkage': 3.0, 'verbose': 1}
    >>> Median(-1.0).check_params()
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: shrinkage=-1.0: expected a number of at least 0
    """
    return Param(default, check, kw_only, grid)


def learned(
    axes: str | None = None,
    *,
    dtype: Any = float,
    finite: bool = True,
    optional: bool = False,
    saved: bool = True,
    check: Check | None = None,
    default: Any = _NOTHING,
    kind: Any = None,
    many: bool = False,
    init: Literal[False] = False,
) -> Any:
    """Declare what a fit learns in the body of an `Estimator`.

    Parameters
    ----------
    axes : str, optional
        Of an array or sparse array, the name of each axis, with blanks between. Axes of one name have one length, and
        "levels-1" is one shorter than "levels"; one called by a number is that long. By default it is no array.
    dtype : type or None, default=float
        Of an array: `float` or `int` for those of any size, None for both, `object` for texts too, or a type of NumPy.
    finite : bool, default=True
        Whether all numbers of it are finite.
    optional : bool, default=False
        Whether it may be None.
    saved : bool, default=True
        Whether a file holds it.
    check : callable, optional
        Called with its name, and a value that was read from a file.
    default : object, optional
        What it is before a fit; a property, if it is computed when it is asked for.
    kind : type, optional
        Its class, if it is neither an array, a number, a text, a fitted model, nor made of these:
        ``kind.to_state(value)`` returns what is, and ``kind.from_state(state)`` the value again. Or that of the models
        in a list, which a file holds as they are.
    many : bool, default=False
        Whether it is a list or tuple of this kind, or None in the place of some.
    init : bool
        That it is no parameter, for programs that check types.

    Examples
    --------
    >>> class Mean(Estimator):
    ...     means_: object = learned("items", dtype=np.float64)
    >>> Mean()._learned["means_"].refuse_wrong("means_", np.ones(3), {"items": 2})
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: means_ must be finite float64 of shape (2), found shape (3,), float64
    """
    del init
    names = None if axes is None else tuple(axes.split())
    return Learned(names, dtype, finite, optional, saved, check, default, kind, many)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(param, learned))
class Estimator(BaseEstimator):
    """An estimator of scikit-learn whose parameters, and what it learns, are fields of its class."""

    #: Parameters that the size of a model grows with, beyond that of its data.
    size_params: ClassVar[tuple[str, ...]] = ("n_factors", "n_components", "n_members", "n_sweeps", "n_chains")

    #: By name, in the order of the constructor.
    _params: ClassVar[Mapping[str, Param]] = {}

    #: What a file holds of what a fit learns, by name.
    _learned: ClassVar[Mapping[str, Learned]] = {}

    #: What this class alone declares.
    _declared: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._declared = _taken_from(cls)
        fields = _fields(cls)
        params = {name: field for name, field in fields.items() if isinstance(field, Param)}
        by_place = [name for kind in reversed(cls.__mro__) for name in vars(kind).get("_declared", {})]
        first = [name for name in dict.fromkeys(by_place) if name in params and not params[name].kw_only]
        cls._params = {name: params[name] for name in dict.fromkeys([*first, *params])}
        cls._learned = {name: field for name, field in fields.items() if isinstance(field, Learned) and field.saved}
        if _is_made(cls.__init__):
            cls.__init__ = _constructor(cls)  # type: ignore[method-assign]
        fill_docs(cls)

    def _html_repr(self) -> str:
        """Return what a notebook shows."""
        return html_of(self)

    def check_params(self) -> None:
        """Refuse parameters out of their range, and those that do not go together."""
        for name, field in self._params.items():
            if field.check is not None and hasattr(self, name):  # a constructor of the caller may take others
                field.check(name, getattr(self, name))
        self._check_together()

    def _check_together(self) -> None:
        """Refuse parameters of which each is valid, and which do not go together."""

    def _pack_learned(self, arrays: dict[str, NDArray[Any]], prefix: str = "") -> dict[str, Any]:
        """Return what a file holds of what was learned, if anything was; arrays of it are put among those given."""
        return {
            name: packed(field.to_plain(getattr(self, name)), f"{prefix}{name}", arrays)
            for name, field in self._learned.items()
            if hasattr(self, name)
        }

    def _check_declared(self, lengths: dict[str, int]) -> None:
        """Refuse what was learned, read from a file, if it is not as declared, given lengths of axes that are known."""
        for name, field in self._learned.items():
            field.refuse_wrong(name, getattr(self, name, None), lengths)

    def default_grid(self) -> dict[str, list[Any]]:
        """Return values to try of the parameters that matter most, as `cofactor.evaluation.Search` takes them.

        Returns
        -------
        dict of str to list
            It is empty where there is nothing to search, as in models which choose the weight of their penalty in the
            fit.

        Examples
        --------
        >>> from cofactor.ratings import MMMF, URP
        >>> URP().default_grid()
        {'n_factors': [3, 4, 5], 'alpha': [1.0, 2.0, 4.0]}
        >>> MMMF().default_grid()
        {}
        """
        values = {name: field.grid for name, field in self._params.items()}
        found = {name: list(grid(self) if callable(grid) else grid) for name, grid in values.items()}
        return {name: grid for name, grid in found.items() if grid}

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return names of parameters; scikit-learn would read a signature in each `get_params`, thus in every copy."""
        return sorted(cls._params) if _is_made(cls.__init__) else super()._get_param_names()

    def set_params(self, **params: Any) -> Any:
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
                    advice=f"give an estimator to set its {inner}",
                )
        return super().set_params(**params)


def _taken_from(kind: type[Estimator]) -> dict[str, Param | Learned]:
    """Return the fields that the body of a class declares, and take them out of it."""
    found: dict[str, Param | Learned] = {}
    annotations = inspect.get_annotations(kind)
    for name, field in list(vars(kind).items()):
        if isinstance(field, Param):
            found[name] = replace(field, annotation=annotations.get(name, Any))
            delattr(kind, name)
        elif isinstance(field, Learned):
            found[name] = field
            delattr(kind, name)
            if field.default is not _NOTHING:
                setattr(kind, name, field.default)
    return found


def _fields(kind: type[Estimator]) -> dict[str, Param | Learned]:
    """Return the fields of a class: its own first, then those of its bases that no other attribute hides."""
    found: dict[str, Any] = {}
    hidden: set[str] = set()
    for base in kind.__mro__:
        declared = vars(base).get("_declared", {})
        for name, field in declared.items():
            mine = found.get(name)
            if mine is None and name not in hidden:
                found[name] = field
            elif isinstance(mine, Param) and isinstance(field, Param):
                found[name] = replace(
                    mine,
                    check=mine.check or field.check,
                    kw_only=mine.kw_only and field.kw_only,
                    grid=mine.grid or field.grid,
                )
        hidden |= vars(base).keys() - declared.keys()
    return found


def _is_made(constructor: Any) -> bool:
    """Whether a constructor is made here, rather than written by hand; that of `object` stands for one to be made."""
    return constructor is object.__init__ or hasattr(constructor, "params")


def _constructor(kind: type[Estimator]) -> Callable[..., None]:
    """Return the constructor of a class."""
    params = kind._params
    signature = inspect.Signature(
        [
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY if field.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=field.default,
                    annotation=field.annotation,
                )
                for name, field in params.items()
            ),
        ]
    )

    def construct(self: Any, *args: Any, **given: Any) -> None:
        problem = _unknown(type(self), given)
        if problem:
            raise InvalidTypeError(problem)
        try:
            values = signature.bind(self, *args, **given).arguments
        except TypeError as error:
            raise InvalidTypeError(f"{type(self).__name__}: {error}") from None
        for name, field in params.items():
            setattr(self, name, values.get(name, field.default))

    made: Any = construct
    made.__signature__, made.params = signature, params
    made.__name__, made.__qualname__, made.__module__ = "__init__", f"{kind.__qualname__}.__init__", kind.__module__
    return made


def _unknown(kind: type[Estimator], names: Iterable[str]) -> str:
    """Return what is wrong with the first name that is not a parameter's; nothing if all are."""
    known = kind._get_param_names()
    wrong = next((name for name in names if name.partition("__")[0] not in known), None)
    return "" if wrong is None else f"{kind.__name__} has no parameter {wrong!r}; {did_you_mean(wrong, known)}"
