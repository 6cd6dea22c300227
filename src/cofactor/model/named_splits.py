"""Protocols by name: how ratings, or instances, are split, for evaluation, for searches and for the command line."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import KFold, PredefinedSplit

from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.model.splits import (
    GivenSplits,
    GroupedLabelKFold,
    Holdout,
    NewUsers,
    Parts,
    PerUserHoldout,
    StratifiedLabelKFold,
    StrongGeneralization,
    TimeSplit,
    UserLast,
    WeakGeneralization,
)
from cofactor.text import did_you_mean

Task = Literal["ratings", "labels"]


@dataclass(frozen=True, kw_only=True)
class _Sizes:
    """What splitters are made with."""

    n_splits: int
    random_state: Any
    test_size: float
    test_users: float
    train_rows: Any
    groups: Any
    times: Any


def _kfold(s: _Sizes) -> Any:
    return KFold(s.n_splits, shuffle=True, random_state=s.random_state)


def _holdout(s: _Sizes) -> Any:
    return Holdout(s.test_size, s.n_splits, s.random_state)


_BY_NAME: Mapping[Task, Mapping[str, Callable[[_Sizes], Any]]] = {
    "ratings": {
        "holdout": _holdout,
        "weak": lambda s: WeakGeneralization(s.n_splits, s.random_state),
        "strong": lambda s: StrongGeneralization(s.test_users, s.n_splits, s.random_state),
        "kfold": _kfold,
        "time": lambda s: TimeSplit(s.n_splits, times=s.times, test_size=s.test_size),
        "user-last": lambda s: UserLast(s.test_size, times=s.times),
        "per-user": lambda s: PerUserHoldout(s.test_size, s.n_splits, s.random_state),
        "new-users": lambda s: NewUsers(s.test_users, s.test_size, s.n_splits, s.random_state),
    },
    "labels": {
        "kfold": _kfold,
        "holdout": _holdout,
        "official": lambda s: PredefinedSplit(np.where(s.train_rows, -1, 0)),
        "stratified": lambda s: StratifiedLabelKFold(s.n_splits, random_state=s.random_state),
        "stratified-pairs": lambda s: StratifiedLabelKFold(s.n_splits, order=2, random_state=s.random_state),
        "grouped": lambda s: GroupedLabelKFold(s.n_splits, groups=s.groups, random_state=s.random_state),
        "time": lambda s: TimeSplit(s.n_splits),
    },
}

PROTOCOLS: tuple[str, ...] = tuple(_BY_NAME["ratings"])
"""Names of the ways to split ratings: a random part, one rating of each user, users held out, folds; by time: what came
before from what came next, the last part of each user."""

LABEL_PROTOCOLS: tuple[str, ...] = tuple(_BY_NAME["labels"])
"""Names of the ways to split instances: folds, a random part, the split that came with the data; folds with equal
shares of labels, of pairs of labels, or of whole groups; by the order of rows in time."""

SINGLE = frozenset({"official", "user-last"})
"""Names of the protocols that make one split, whatever number is asked for."""

_BY_TIME = frozenset({"time", "user-last"})

_FOLDING_IN = frozenset({"strong", "new-users"})

FOLDS = frozenset({"kfold", "stratified", "stratified-pairs", "grouped"})
"""Names of the protocols that make folds, of which there must be two."""


def splitter_of(
    protocol: Any,
    task: Task = "ratings",
    *,
    n_splits: int = 3,
    random_state: Any = 0,
    test_size: float = 0.2,
    test_users: float = 0.1,
    n_rows: int | None = None,
    train_rows: Any = None,
    groups: Any = None,
    times: Any = None,
    data: str = "X",
    argument: str = "protocol",
) -> Any:
    """Return the splitter which a protocol stands for.

    Parameters
    ----------
    protocol : str, splitter, or list of pairs
        A name in `PROTOCOLS` or `LABEL_PROTOCOLS`; an object with ``split(X)``, which is returned as it is, but that it
        gets the times if it has none (`TimeSplit`, `UserLast`); or pairs of training and test rows, see `GivenSplits`.
    task : {"ratings", "labels"}, default="ratings"
        What is split.
    n_splits : int, default=3
        Number of splits, or folds; the official split is one, and so is "user-last".
    random_state : int, RandomState instance or None, default=0
        Seed.
    test_size : float or int, default=0.2
        Part, or number, of the rows to hold out ("holdout"), or of those of each user ("user-last", "per-user"), or
        of each new user ("new-users"); part of the rows in each test block ("time", of ratings).
    test_users : float or int, default=0.1
        Part, or number, of the users to hold out ("strong", "new-users").
    n_rows : int, optional
        Number of rows, so that more folds than rows are refused at once.
    train_rows : array of bool, optional
        The training rows of the official split.
    groups : array-like, optional
        The group of each instance ("grouped").
    times : array-like, optional
        The time of each rating ("time", "user-last").
    data : str, default="X"
        What messages call the data.
    argument : str, default="protocol"
        What messages call the protocol.

    Raises
    ------
    InvalidInputError
        If the protocol is unknown, is not one of the task, or cannot be done on so many rows.
    InvalidTypeError
        If it is none of these.

    Examples
    --------
    >>> splitter_of("weak", n_splits=2)
    WeakGeneralization(n_splits=2, random_state=0)
    >>> splitter_of("weak", "labels")
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: protocol='weak' is not for labels; these have kfold, holdout, official,
    stratified, stratified-pairs, grouped, time
    """
    known = _BY_NAME[task]
    protocol = as_protocol(protocol, task, argument)
    if not isinstance(protocol, str):
        if task == "ratings" and times is None and by_times(protocol) and protocol.times is None:
            raise _no_times(type(protocol).__name__, data, argument)
        return _with_times(protocol, times)
    if protocol not in known:
        raise InvalidInputError(_not_known(protocol, task, argument))
    whole = type(n_splits) is int or isinstance(n_splits, np.integer)
    least, most = (2, n_rows) if protocol in FOLDS else (1, None)
    if not whole or n_splits < least or (most is not None and n_splits > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}, the number of rows,"
        message = f"expected a whole number {limits} for {protocol} of {data}"
        raise InvalidInputError(message, argument="n_splits", found=n_splits)
    if protocol == "official" and train_rows is None:
        raise InvalidInputError(
            f"data set {data} has no official split", advice=("choose ", Argument(argument, "kfold"), " or holdout")
        )
    if protocol == "grouped" and groups is None:
        problem = f"data set {data} has no ids that say which instances are of one group"
        raise InvalidInputError(problem, advice=(Argument("id"), " names the column of groups"))
    if task == "ratings" and protocol in _BY_TIME and times is None:
        raise _no_times(protocol, data, argument)
    sizes_of_parts = _Sizes(
        n_splits=int(n_splits), random_state=random_state, test_size=test_size, test_users=test_users,
        train_rows=train_rows, groups=groups, times=times,
    )  # fmt: skip
    return known[protocol](sizes_of_parts)


def as_protocol(given: Any, task: Task = "ratings", argument: str = "protocol") -> Any:
    """Return a name or a splitter as it is, and pairs of training and test rows as a splitter.

    Parameters
    ----------
    given : str, splitter, or list of pairs
    task, argument
        As in `splitter_of`.

    Examples
    --------
    >>> as_protocol("weak"), as_protocol([([0, 1], [2])])
    ('weak', GivenSplits(1))
    """
    if isinstance(given, str) or hasattr(given, "split"):
        return given
    try:
        return GivenSplits(given)
    except InvalidTypeError as error:
        expected = (
            f" must be one of {', '.join(_BY_NAME[task])}, an object with split(X), or pairs of training and test "
        )
        raise InvalidTypeError((Argument(argument), expected, f"rows; found {given!r}")) from error


def kind_of(protocol: Any) -> str:
    """Return what results call a protocol, or a splitter: its name.

    Examples
    --------
    >>> kind_of("weak"), kind_of(KFold(3)), kind_of(GivenSplits([([0], [1])]))
    ('weak', 'KFold', 'given')
    """
    if isinstance(protocol, GivenSplits):
        return "given"
    return protocol if isinstance(protocol, str) else type(protocol).__name__


def _with_times(splitter: Any, times: Any) -> Any:
    """Return the splitter; where it splits by times, and has none, a copy that knows them."""
    if times is None or getattr(splitter, "times", times) is not None:
        return splitter
    splitter = copy.copy(splitter)
    splitter.times = times
    return splitter


def by_times(splitter: Any) -> bool:
    """Whether test parts come after all else.

    Examples
    --------
    >>> by_times(KFold(3))
    False
    """
    return isinstance(splitter, TimeSplit | UserLast)


def _no_times(protocol: str, data: str, argument: str) -> InvalidInputError:
    return InvalidInputError(
        f"{data if data == 'X' else f'data set {data}'} has no times, by which {protocol} splits",
        advice=("give them with ", Argument("time"), ", or choose another ", Argument(argument)),
    )


def _not_known(protocol: str, task: Task, argument: str) -> tuple[str | Argument, ...]:
    """Return the message about a name that is no protocol of the task."""
    known = _BY_NAME[task]
    if any(protocol in names for names in _BY_NAME.values()):
        return Argument(argument, protocol), f" is not for {task}; these have {', '.join(known)}"
    return Argument(argument, protocol), f" is not known; {did_you_mean(protocol, known)}"


def folds_in(protocol: Any) -> bool:
    """Whether the splits hold out users, whom a model meets only by fold-in.

    Examples
    --------
    >>> folds_in("strong"), folds_in(KFold(3))
    (True, False)
    """
    return protocol in _FOLDING_IN if isinstance(protocol, str) else hasattr(protocol, "split_fold_in")


def parts_of(splitter: Any, X: Any, y: Any) -> Iterator[Parts]:
    """Yield training, fold-in (None where there is none) and test rows of each split."""
    if hasattr(splitter, "split_fold_in"):
        yield from splitter.split_fold_in(X, y)
        return
    for train, test in splitter.split(X, y):
        yield train, None, test
