"""A column which lists the tags of each row, as labels."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyarrow import compute
from scipy.sparse import csr_array

from cofactor.datasets.readers.matrices import from_entries
from cofactor.datasets.table import ArrowTable, Table, Words, is_text
from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.limits import COLUMNS
from cofactor.text import counted, few

__all__ = ["check_separator", "lists_as_text", "tags_of"]

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
    COLUMNS.check(len(names), f"lists {counted(len(names), 'tag')}", table.column_place(position))
    column = {name: k for k, name in enumerate(names)}
    unseen = sorted(found.difference(column))
    if unseen:
        what = f"{table.column_place(position)}: {few(unseen)} did not occur in training, and "
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
