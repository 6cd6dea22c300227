"""Which columns of a table or of an ARFF file are labels and which are features, and a column of tags as labels."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from os import PathLike

import numpy as np
import pyarrow as pa
from pyarrow import compute
from scipy.sparse import csr_array

from cofactor.datasets.readers.matrices import from_entries
from cofactor.datasets.table import ArrowTable, Table, is_text
from cofactor.errors import Argument, InputWarning, InvalidInputError, Place
from cofactor.limits import COLUMNS
from cofactor.schema import Schema, Words
from cofactor.text import first_repeated, plural, shorten

#: Which columns are labels: those whose names begin with a text; the first n, or the last ones for n < 0; or names.
LabelColumns = str | int | Sequence[str] | None

_NAMED = 20  # columns in an advice


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
            f"cannot tell which of the {plural(len(left), what)} are labels",
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
        raise InvalidInputError(
            (f"{what} {shorten(both)} cannot be both label (", *roles), argument="drop", place=place
        )
    if ids in targets:
        raise InvalidInputError((f"{what} {id!r} is a label, and cannot be ", Argument("id")), place=place)
    _refuse_both(names, free, {"labels": targets}, place, what)
    taken = set(targets)
    features = [j for j in kept if j not in taken]
    if not features:
        raise InvalidInputError(
            f"all {plural(len(names), what)} are labels or dropped; none is left as a feature", place=place
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
            raise InvalidInputError(
                (f"{what} {shorten(both)} is among those of ", *roles), argument="text", place=place
            )


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
            f"{count} labels among {plural(n, what)}{without}; expected 1 to {n - 1}",
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
            (f"has no {what} {shorten(missing)}, which ", source, " names"), place=Place(file), advice=advice
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
    schema: Schema,
    names: Sequence[str],
    features: Sequence[int],
    file: str,
    *,
    what: str = "column",
    has_names: bool = True,
) -> list[int]:
    """Positions of the features of a schema, in its order; all must be there, and no others, but for its labels.

    Parameters
    ----------
    schema : Schema
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
    known = set(schema.features)
    missing = [name for name in schema.features if name not in position]
    if missing:
        trained = f"no {what} {shorten(missing)}; the model was trained on {plural(len(schema.features), what)}"
        advice = f"add such a {what}: empty cells are filled as in training"
        if not has_names:
            advice = "its first line does not name the columns: put their names there"
        raise InvalidInputError(trained, advice=advice, place=Place(file))
    extra = [name for name in position if name not in known and name not in schema.labels]
    if extra:
        raise InvalidInputError(
            f"{what} {shorten(extra)} was not there in training",
            advice=("leave out what is no feature with ", Argument("drop", extra[:_NAMED])),
            place=Place(file),
        )
    return [position[name] for name in schema.features]


_OTHERS = "|;,/"  #: what else may part tags
_PARTING = "|;,\t"  #: what parts tags that came as lists
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
#: A list of texts, as Python and JSON write it.
_LIST = re.compile(rf"\[\s*+(?:{_QUOTED}\s*+(?:,\s*+{_QUOTED}\s*+)*+)?\]", re.DOTALL)


def check_separator(sep: str) -> None:
    """Refuse what cannot part the tags of a cell."""
    if not isinstance(sep, str) or not sep or "\n" in sep:
        raise InvalidInputError("expected what parts the tags of a cell, such as '|'", argument="label_sep", found=sep)


def tags_of(table: Table, position: int, sep: str, known: Sequence[str] = ()) -> tuple[csr_array, tuple[str, ...]]:
    """Return labels for a column whose cells list tags, and their names.

    Blanks around a tag do not belong to it, a tag that is listed twice counts once, and nothing between two separators
    is no tag. A row with an empty cell has no tag. A cell may also be written as Python and JSON write lists of text.

    Parameters
    ----------
    table : Table
        What was read.
    position : int
        Which column.
    sep : str
        What parts the tags.
    known : sequence of str, optional
        The labels, in their order; others are left out, with a warning. By default all tags, in alphabetical order.
    """
    cells = table.words(position, gaps=True)
    lists = [_listed(cell, sep) for cell in cells.values]
    found = {tag for tags in lists for tag in tags}
    if not found and not known:
        raise InvalidInputError("no row has a tag", place=table.column_place(position))
    if not known:
        _warn_of_separator(table, position, sep, cells)
    names = tuple(known) or tuple(sorted(found))
    COLUMNS.check(len(names), f"lists {plural(len(names), 'tag')}", table.column_place(position))
    column = {name: k for k, name in enumerate(names)}
    unseen = sorted(found.difference(column))
    if unseen:
        what = f"{table.column_place(position)}: {shorten(unseen)} did not occur in training, and "
        is_out = "is left out" if len(unseen) == 1 else "are left out"
        warnings.warn(InputWarning(what + is_out), stacklevel=4)
    at = [sorted(column[tag] for tag in tags if tag in column) for tags in lists]
    sizes = np.array([len(some) for some in at], dtype=np.int64)
    entries = from_entries(
        len(at),
        len(names),
        np.repeat(np.arange(len(at)), sizes),
        np.array([k for some in at for k in some], dtype=np.int32),
    )
    return csr_array(entries[cells.codes]), names


def lists_as_text(table: Table, position: int, sep: str | None) -> tuple[Table, str | None]:
    """Return a table whose column of lists of tags has become text, and what parts the tags; other tables as they are.

    Parameters
    ----------
    table : Table
        What was read.
    position : int
        The column of labels.
    sep : str, optional
        What parts the tags; by default a character that no tag holds.
    """
    if not isinstance(table, ArrowTable):
        return table, sep
    column = table.table.column(position)
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not is_text(kind.value_type):
        return table, sep
    tags = compute.list_flatten(column)
    if tags.null_count:
        raise InvalidInputError("a tag has no value", place=table.column_place(position))
    held = {one for one in _PARTING if compute.any(compute.match_substring(tags, one)).as_py()}
    parting = sep or next((one for one in _PARTING if one not in held), None)
    if parting is None or compute.any(compute.match_substring(tags, parting)).as_py():
        what = "tags hold " + (repr(sep) if sep else "all of " + " ".join(_PARTING.replace("\t", "")) + " and tabs")
        raise InvalidInputError(f"{what}, which would part them", place=table.column_place(position))
    text = compute.binary_join(column.combine_chunks().cast(pa.list_(pa.string())), parting)
    named = table.table.set_column(position, table.table.schema.names[position], text)
    return ArrowTable(table.file, named, table.first), parting


def _listed(cell: str, sep: str) -> list[str]:
    r"""Return the tags of a cell, each once.

    Examples
    --------
    >>> _listed("sea | sun|sea", "|"), _listed("['sea', 'it\\'s', \"sun, sand\"]", "|"), _listed("[]", ",")
    (['sea', 'sun'], ['sea', "it's", 'sun, sand'], [])
    """
    tags = _texts_in(cell) if _LIST.fullmatch(cell) else cell.split(sep)
    return list(dict.fromkeys(filter(None, (tag.strip() for tag in tags))))


def _texts_in(cell: str) -> list[str]:
    """Return the texts of a list."""
    try:
        tags: list[str] = json.loads(cell)
        "".join(tags).encode()  # half of a surrogate pair is no text
        return tags
    except ValueError:
        return [re.sub(r"\\(.)", r"\1", one[1:-1], flags=re.DOTALL) for one in re.findall(_QUOTED, cell, re.DOTALL)]


def _warn_of_separator(table: Table, position: int, sep: str, cells: Words) -> None:
    """Warn if nothing parts the tags of any cell, but another usual separator would."""
    if any(sep in cell or _LIST.fullmatch(cell) for cell in cells.values):
        return
    other = next((one for one in _OTHERS if sum(one in cell for cell in cells.values) > len(cells.values) / 2), None)
    if other is not None:
        what = (
            f"{table.column_place(position)}: no cell holds {sep!r}, so that each is one tag; most hold {other!r}: try "
        )
        warnings.warn(InputWarning((what, Argument("label_sep", other))), stacklevel=4)
