"""Which columns of a table of features and labels are labels, which are features."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.text import counted, few, first_repeated

__all__ = ["LabelColumns", "first_or_last", "label_roles", "positions_of", "warn_of_row_names"]

#: Which columns are labels: those whose names begin with a text; the first n, or the last ones for n < 0; or names.
LabelColumns = str | int | Sequence[str] | None

_ROWS_TO_JUDGE = 20  # with fewer rows, all values of a feature may be different by chance


def label_roles(
    names: Sequence[str], labels: LabelColumns, drop: Sequence[str], file: str
) -> tuple[list[int], list[int]]:
    """Positions of labels and of features among the columns of a table, as `read_label_table` takes them."""
    n, place = len(names), Place(file)
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidInputError(f"two columns are named {twice!r}", place=place)
    if labels is None:
        raise InvalidInputError(
            (
                f"which of the {counted(n, 'column')} are labels? Say it with ",
                Argument("labels"),
                ": the beginning of their names, their names, or their number (n: the first n; -n: the last)",
            ),
            argument="labels",
            place=place,
        )
    if isinstance(labels, int | np.integer):
        targets = first_or_last(int(labels), n, file, "column")
    elif isinstance(labels, str):
        targets = [j for j, column in enumerate(names) if labels and column.startswith(labels)]
        if not targets:
            raise InvalidInputError(
                ("no column begins with ", Argument("labels", labels), f"; there are {_some(names)}"), place=place
            )
    else:
        targets = positions_of(names, labels, file, "column", Argument("labels"))
    dropped = positions_of(names, drop, file, "column", Argument("drop"))
    taken = {*targets, *dropped}
    features = [j for j in range(n) if j not in taken]
    if not features:
        raise InvalidInputError(
            f"all {counted(n, 'column')} are labels or dropped; none is left as a feature", place=place
        )
    return targets, features


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def first_or_last(count: int, n: int, file: str, what: str) -> list[int]:
    """Positions of the labels among n columns: the first `count` ones, or the last ones if `count` is negative."""
    if not 0 < abs(count) < n:
        raise InvalidInputError(
            f"{count} labels among {counted(n, what)}; expected 1 to {n - 1}", argument="labels", place=Place(file)
        )
    return list(range(count)) if count > 0 else list(range(n + count, n))


def positions_of(
    present: Sequence[str], names: Sequence[str], file: str, what: str, source: str | Argument
) -> list[int]:
    """Positions of columns by their names; a name which is not there, or is given twice, is an error.

    Parameters
    ----------
    present : sequence of str
        Names of all columns.
    names : sequence of str
        Names of those wanted.
    file : str
        What messages call the file with the columns.
    what : str
        What messages call a column.
    source : str or Argument
        The argument, or the file, which gives the names.
    """
    position = {name: j for j, name in enumerate(present)}
    missing = [name for name in names if name not in position]
    if missing:
        raise InvalidInputError((f"has no {what} {few(missing)}, which ", source, " names"), place=Place(file))
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidInputError((source, f" names {twice!r} twice"))
    return [position[name] for name in names]


def warn_of_row_names(file: str, what: str, name: str, codes: NDArray) -> None:
    """Warn of a nominal feature which has a different value in every row, if there are at least 20 rows.

    The warning points to the caller of the reader, which must call this through one helper.
    """
    if len(codes) < _ROWS_TO_JUDGE or len(np.unique(codes)) < len(codes):
        return
    warnings.warn(
        f"{file}: the {what} {name!r} has another value in every row, so it names the rows and is no feature; "
        f"leave it out with drop=[{name!r}]",
        UserWarning,
        stacklevel=4,
    )
