"""Files of items that lists must not hold."""

from __future__ import annotations

from typing import Any

from cofactor.columns import ALIASES, plain
from cofactor.errors import InvalidInputError, Place, Text
from cofactor.files import display_name
from cofactor.ratings.exclusion import Exclusion
from cofactor.tasks.matching import match_ids
from cofactor.tasks.rating_files import rows_of
from cofactor.text import counted

__all__ = ["read_exclusions"]


def read_exclusions(file: str, model: Any, encoding: str) -> tuple[Exclusion, tuple[Text, ...]]:
    """Read items to leave out: one in a line, for all users, or user and item, for each user.

    Parameters
    ----------
    file : str
        Path, or ``-``.
    model : RatingModel, ExposureModel or Recommender
        Fitted; what it does not know is not recommended either.
    encoding : str
        Of the file.

    Returns
    -------
    exclude : list, or dict of lists by user, or None
        Ids in the form which the model knows; None of an empty file.
    notes : tuple of Text
        How many lines name what the model does not know.
    """
    place = display_name(file)
    cells = [[cell.strip() for cell in row] for row in rows_of(file, encoding)]
    lines, item, user = _columns([(line, row) for line, row in enumerate(cells, 1) if any(row)])
    if not lines:
        return None, ()
    width = 1 if user is None else 2
    for line, row in lines:
        if len(row) != width or not all(row):
            expected = "an item" if width == 1 else "user and item, and nothing else"
            raise InvalidInputError(f"expected {expected}, found {', '.join(row)}", place=Place(place, line))
    items = match_ids([row[item] for _, row in lines], model.items_)
    known = model.items_.index(items) >= 0
    users = [] if user is None else match_ids([row[user] for _, row in lines], model.users_)
    if users:
        known &= model.users_.index(users) >= 0
    notes: tuple[Text, ...] = ()
    if not known.all():
        line, row = lines[int(known.argmin())]
        many = counted(int((~known).sum()), "line names", "lines name", form=",")
        first = f"the first is line {line}, {', '.join(row)}"
        notes = (f"{place}: {many} what the model does not know, and so does not recommend: {first}",)
    if not users:
        return [one for one, there in zip(items, known, strict=True) if there], notes
    found: dict[Any, list[Any]] = {}
    for whose, one, there in zip(users, items, known, strict=True):
        if there:
            found.setdefault(whose, []).append(one)
    return found, notes


def _columns(lines: list[tuple[int, list[str]]]) -> tuple[list[tuple[int, list[str]]], int, int | None]:
    """Return the lines below a header if there is one, and which cells are the item and the user."""
    if not lines:
        return [], 0, None
    first = [plain(cell) for cell in lines[0][1]]
    named = {role: [k for k, name in enumerate(first) if name in ALIASES[role]] for role in ("item", "user")}
    if first == ["id"]:
        named["item"] = [0]
    if not (named["item"] or named["user"]):
        return lines, len(first) - 1, 0 if len(first) > 1 else None
    user = named["user"][0] if named["user"] else None
    item = named["item"][0] if named["item"] else next((k for k in range(len(first)) if k != user), 0)
    if user is None and len(first) > 1:
        user = next(k for k in range(len(first)) if k != item)
    return lines[1:], item, user
