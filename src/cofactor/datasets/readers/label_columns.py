"""Which columns of a table of features and labels are labels, which are features."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import numpy as np

from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.recipe import Recipe
from cofactor.text import counted, few, first_repeated

__all__ = [
    "LabelColumns",
    "check_missing_cells",
    "check_words",
    "features_as_in",
    "first_or_last",
    "label_roles",
    "positions_of",
]

#: Which columns are labels: those whose names begin with a text; the first n, or the last ones for n < 0; or names.
LabelColumns = str | int | Sequence[str] | None

_NAMED = 20  # columns in an advice
_MOST_WORDS = 250  # values of a column of text, where nothing else is said: more than there are countries
_ROWS_TO_JUDGE = 20  # with fewer rows, all values of a feature may be different by chance
_DISTINCT = 0.9  # part of the rows with a value of their own from which on a column names the rows


def label_roles(
    names: Sequence[str],
    labels: LabelColumns,
    drop: Sequence[str],
    file: str,
    id: str | None = None,
    *,
    declared: Sequence[int] | None = None,
    what: str = "column",
    text: Sequence[str] = (),
) -> tuple[list[int], list[int], int | None]:
    """Positions of labels, of features and of ids among the columns of a table, as `read_label_table` takes them.

    Parameters
    ----------
    names : sequence of str
        Names of all columns.
    labels, drop, id
        As in `read_label_table`. A number, or the beginning of names, is for the columns which are neither dropped nor
        the id; columns which are named must be among these.
    file : str
        What messages call the file.
    declared : sequence of int, optional
        Positions of the columns which the file itself says are labels; they count in place of `labels`, without those
        which are dropped.
    what : str, default "column"
        What messages call a column.
    text : sequence of str, default ()
        Features which are free text. A number, or the beginning of names, is not for these either.
    """
    place = Place(file)
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidInputError(f"two {what}s are named {twice!r}", place=place)
    dropped = positions_of(names, drop, file, what, Argument("drop"))
    ids = None if id is None else positions_of(names, [id], file, what, Argument("id"))[0]
    free = set(positions_of(names, text, file, what, Argument("text")))
    _refuse_both(names, free, {"drop": dropped, "id": [] if ids is None else [ids]}, place, what)
    left_out = set(dropped)
    kept = [j for j in range(len(names)) if j != ids and j not in left_out]
    left = [j for j in kept if j not in free]
    if declared is not None:
        targets = [j for j in declared if j not in left_out]
    elif labels is None:
        raise InvalidInputError(
            f"cannot tell which of the {counted(len(left), what)} are labels",
            argument="labels",
            advice=(
                *("say it with ", Argument("labels"), ": the beginning of their names, their names, or their number "),
                "(n: the first n; -n: the last)",
            ),
            place=place,
        )
    elif isinstance(labels, int | np.integer):
        targets = first_or_last(int(labels), left, len(names), file, what)
    elif isinstance(labels, PathLike):
        raise InvalidInputError(
            f"{labels}: a file that names labels goes with ARFF files only",
            argument="labels",
            advice=("say which columns are labels with ", Argument("labels")),
            place=place,
        )
    elif isinstance(labels, str):
        targets = _beginning(labels, names, left, file, what)
    else:
        targets = positions_of(names, labels, file, what, Argument("labels"))
    both = [names[j] for j in targets if j in left_out]
    if both:
        roles = (Argument("labels"), ") and left out (", Argument("drop"), ")")
        raise InvalidInputError((f"{what} {few(both)} cannot be both label (", *roles), argument="drop", place=place)
    if ids in targets:
        raise InvalidInputError((f"{what} {id!r} is a label, and cannot be ", Argument("id")), place=place)
    _refuse_both(names, free, {"labels": targets}, place, what)
    taken = set(targets)
    features = [j for j in kept if j not in taken]
    if not features:
        raise InvalidInputError(
            f"all {counted(len(names), what)} are labels or dropped; none is left as a feature", place=place
        )
    return targets, features, ids


def _refuse_both(
    names: Sequence[str], free: set[int], others: dict[str, Sequence[int]], place: Place, what: str
) -> None:
    """Refuse columns of free text which have another role too."""
    for role, positions in others.items():
        both = [names[j] for j in positions if j in free]
        if both:
            roles = (Argument("text"), " and of ", Argument(role))
            raise InvalidInputError((f"{what} {few(both)} is among those of ", *roles), argument="text", place=place)


def _beginning(start: str, names: Sequence[str], left: Sequence[int], file: str, what: str) -> list[int]:
    """Positions of the labels, whose names begin with a text, among those of the columns that are left."""
    found = [j for j in left if start and names[j].startswith(start)]
    if not found:
        gone = " that is left" if start and any(name.startswith(start) for name in names) else ""
        there = [names[j] for j in left]
        raise InvalidInputError(
            (f"no {what}{gone} begins with ", Argument("labels", start), f"; there are {_some(there)}"),
            argument="labels",
            place=Place(file),
        )
    return found


def _some(names: Sequence[str]) -> str:
    return (", ".join(names[:6]) or "none") + (", ..." if len(names) > 6 else "")


def first_or_last(count: int, left: Sequence[int], n_all: int, file: str, what: str) -> list[int]:
    """Positions of the labels: the first `count` of the columns that are left, or the last if `count` is negative."""
    n = len(left)
    if not 0 < abs(count) < n:
        without = " (without those left out, and the id)" if n < n_all else ""
        raise InvalidInputError(
            f"{count} labels among {counted(n, what)}{without}; expected 1 to {n - 1}",
            argument="labels",
            place=Place(file),
        )
    return list(left[:count] if count > 0 else left[count:])


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
        parted = (name for name in present if "," in name and {part.strip() for part in name.split(",")} & set(missing))
        whole = next(parted, None)
        advice = "" if whole is None else f"there is {whole!r}: between commas, a name with a comma stands in quotes"
        raise InvalidInputError(
            (f"has no {what} {few(missing)}, which ", source, " names"), place=Place(file), advice=advice
        )
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidInputError((source, f" names {twice!r} twice"))
    return [position[name] for name in names]


def check_missing_cells(missing: object) -> None:
    """Refuse a `missing` of a reader that is not known."""
    if missing not in ("error", "ignore"):
        raise InvalidInputError("expected 'error' or 'ignore'", argument="missing", found=missing)


def features_as_in(
    recipe: Recipe,
    names: Sequence[str],
    features: Sequence[int],
    file: str,
    *,
    what: str = "column",
    has_names: bool = True,
) -> list[int]:
    """Positions of the features of a recipe, in its order; all must be there, and no others.

    Parameters
    ----------
    recipe : Recipe
        Of the data of training.
    names : sequence of str
        Names of all columns.
    features : sequence of int
        Positions of those which are neither labels, nor left out, nor the id.
    file, what : str
        What messages call the file, and a column.
    has_names : bool, default True
        Whether the names are those of the file, and not numbers given to its columns.
    """
    position = {names[j]: j for j in features}
    known = set(recipe.features)
    missing = [name for name in recipe.features if name not in position]
    if missing:
        trained = f"no {what} {few(missing)}; the model was trained on {counted(len(recipe.features), what)}"
        header = "its first line does not name the columns: put their names there" if not has_names else ()
        raise InvalidInputError(trained, advice=header, place=Place(file))
    extra = [name for name in position if name not in known]
    if extra:
        raise InvalidInputError(
            f"{what} {few(extra)} was not there in training",
            advice=("leave out what is no feature with ", Argument("drop", extra[:_NAMED])),
            place=Place(file),
        )
    return [position[name] for name in recipe.features]


def check_words(
    words: Sequence[tuple[str, int, Place]], n_rows: int, most: int | None, *, may_be_text: bool = True
) -> None:
    """Refuse features of text with so many values that they are free text, or name the rows; all of them at once.

    Parameters
    ----------
    words : sequence of (str, int, Place)
        Name of each column of text, how many values it has, and where it is.
    n_rows : int
        How many rows there are.
    most : int, optional
        How many values it may have; by default 250, and in a table of 20 or more rows less than nine tenths of the
        rows.
    may_be_text : bool, default True
        Whether the reader makes features of the words of free text.
    """
    limit = _MOST_WORDS if most is None else most
    rowwise = _DISTINCT * n_rows if most is None and n_rows >= _ROWS_TO_JUDGE else np.inf
    found = [one for one in words if one[1] > limit or one[1] >= rowwise]
    if not found:
        return
    names, highest = [name for name, _, _ in found], max(n for _, n, _ in found)
    why = "nearly every row has another one" if highest >= rowwise else f"more than {limit}"
    values = f"{highest:,} different values in {counted(n_rows, 'row', form=',')} ({why}), each of which would be a"
    one, place = len(found) == 1, found[0][2]
    by_words = (f"make features of {'its' if one else 'their'} words with ", Argument("text", names), ", ")
    raise InvalidInputError(
        f"{', '.join(map(repr, names))} {'is text with' if one else 'are text with up to'} {values} feature",
        advice=(
            *(by_words if may_be_text else ()),
            *(f"leave {'it' if one else 'them'} out with ", Argument("drop", names)),
            *(f", name the rows by {'it' if one else 'one'} with ", Argument("id", names[0])),
            *(", or take all values with ", Argument("max_values", highest)),
        ),
        place=place if one else Place(place.file),
    )
