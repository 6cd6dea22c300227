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
    exclude : list, or dict of lists by user
        Ids in the form which the model knows.
    notes : tuple of Text
        How many lines name what the model does not know.
    """
    cells = [[cell.strip() for cell in row] for row in rows_of(file, encoding)]
    lines = [(line, row) for line, row in enumerate(cells, 1) if any(row)]
    if lines and plain(lines[0][1][-1]) in (*ALIASES["item"], "id"):
        lines = lines[1:]
    place = display_name(file)
    if not lines:
        raise InvalidInputError("holds no ids, expected an item, or user and item, in a line", place=Place(place))
    width = len(lines[0][1])
    for line, row in lines:
        if len(row) != width or width > 2 or not all(row):
            message = f"expected {'an item' if width == 1 else 'user and item'}, found {', '.join(row)}"
            raise InvalidInputError(message, place=Place(place, line))
    items = match_ids([row[-1] for _, row in lines], model.items_)
    known = model.items_.index(items) >= 0
    users = match_ids([row[0] for _, row in lines], model.users_) if width == 2 else []
    if users:
        known &= model.users_.index(users) >= 0
    notes: tuple[Text, ...] = ()
    if not known.all():
        many = counted(int((~known).sum()), "line names", "lines name", form=",")
        notes = (f"{place}: {many} what the model does not know, and so does not recommend",)
    if not users:
        return [item for item, there in zip(items, known, strict=True) if there], notes
    found: dict[Any, list[Any]] = {}
    for user, item, there in zip(users, items, known, strict=True):
        if there:
            found.setdefault(user, []).append(item)
    return found, notes
