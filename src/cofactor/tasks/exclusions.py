"""Files of items that lists must not hold."""

from __future__ import annotations

from typing import Any

from cofactor.columns import ALIASES, plain
from cofactor.errors import InvalidInputError, Text
from cofactor.ratings.topn import Exclusion
from cofactor.tasks.matching import match_ids
from cofactor.tasks.small_tables import read_small_table
from cofactor.text import counted

__all__ = ["read_exclusions"]


def read_exclusions(file: str, model: Any, encoding: str) -> tuple[Exclusion, tuple[Text, ...]]:
    """Read items to leave out: one in a line or row, for all users, or user and item, for each user.

    Parameters
    ----------
    file : str
        Path, or ``-``.
    model : RatingModel, ImplicitModel or Recommender
        Fitted; what it does not know is not recommended either.
    encoding : str
        Of a text.

    Returns
    -------
    exclude : list, or dict of lists by user, or None
        Ids in the form which the model knows; None of an empty file.
    notes : tuple of Text
        How many rows name what the model does not know.
    """
    table = read_small_table(file, encoding)
    rows, item, user = _columns(list(table.numbered()), table.names)
    if not rows:
        return None, ()
    width = 1 if user is None else 2
    for number, row in rows:
        if len(row) != width or not all(row):
            expected = "an item" if width == 1 else "user and item, and nothing else"
            raise InvalidInputError(f"expected {expected}, found {', '.join(row)}", place=table.place(number))
    items = match_ids([row[item] for _, row in rows], model.items_)
    known = model.items_.index(items) >= 0
    users = [] if user is None else match_ids([row[user] for _, row in rows], model.users_)
    if users:
        known &= model.users_.index(users) >= 0
    notes: tuple[Text, ...] = ()
    if not known.all():
        number, row = rows[int(known.argmin())]
        many = counted(int((~known).sum()), f"{table.one} names", f"{table.one}s name", form=",")
        first = f"the first is {table.one} {number}, {', '.join(row)}"
        notes = (f"{table.file}: {many} what the model does not know, and so does not recommend: {first}",)
    if not users:
        return [one for one, there in zip(items, known, strict=True) if there], notes
    found: dict[Any, list[Any]] = {}
    for whose, one, there in zip(users, items, known, strict=True):
        if there:
            found.setdefault(whose, []).append(one)
    return found, notes


def _columns(
    rows: list[tuple[int, list[str]]], names: tuple[str, ...] | None
) -> tuple[list[tuple[int, list[str]]], int, int | None]:
    """Return the rows, without one that names the columns, and which cells are the item and the user."""
    if not rows:
        return [], 0, None
    first = [plain(cell) for cell in names or rows[0][1]]
    named = {role: [k for k, name in enumerate(first) if name in ALIASES[role]] for role in ("item", "user")}
    if first == ["id"]:
        named["item"] = [0]
    if not (named["item"] or named["user"]):
        return rows, len(first) - 1, 0 if len(first) > 1 else None
    user = named["user"][0] if named["user"] else None
    item = named["item"][0] if named["item"] else next((k for k in range(len(first)) if k != user), 0)
    if user is None and len(first) > 1:
        user = next(k for k in range(len(first)) if k != item)
    return rows if names else rows[1:], item, user
