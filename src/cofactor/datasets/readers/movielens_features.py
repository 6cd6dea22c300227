"""What MovieLens knows of its users and films."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets import registry
from cofactor.datasets.readers.movielens import rows_of
from cofactor.datasets.readers.side_features import SideTable
from cofactor.errors import InvalidInputError, Place
from cofactor.text import did_you_mean

__all__ = ["SETS_WITH_FEATURES", "load_side_features"]

#: The files of users, and their columns after the id.
_USERS = {
    "ml-100k": ("u.user", ("age", "gender", "occupation")),
    "ml-1m": ("users.dat", ("gender", "age", "occupation")),
}

#: Their names in the registry.
SETS_WITH_FEATURES = ("ml-100k", "ml-1m", "ml-latest-small")
_ID = re.compile(r"\s*[0-9]{1,18}\s*")
_YEAR = re.compile(r"\(([12][0-9]{3})(?:[-–][12][0-9]{3})?\)\s*$")  # at the end of a title

#: Genres of the columns of u.item, whose names stand in u.genre.
_GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)


def load_side_features(
    name: str, data_home: str | os.PathLike[str] | None = None, *, download: bool = True
) -> tuple[SideTable | None, SideTable]:
    """Load what a MovieLens data set knows of its users and films, for models that take features.

    Parameters
    ----------
    name : {"ml-100k", "ml-1m", "ml-latest-small"}
        Name in the registry.
    data_home, download
        As in `load_movielens`.

    Returns
    -------
    users : tuple (ids, columns), or None
        Age, gender and occupation of each user: in 100K the age as a number, in 1M one of seven groups, whose lower end
        stands for it, and the number of the occupation as a text. latest-small knows nothing of its users.
    items : tuple (ids, columns)
        The year of each film, from its date or its title, the mean of all where there is none; and for each genre 1 or
        0. "unknown" and "(no genres listed)" are none.

    Raises
    ------
    DatasetNotFoundError
        If the set, or its file of users or films, is not there and cannot be downloaded.
    ValueError
        If `name` is unknown, or a file is malformed; the message names the line.

    Examples
    --------
    >>> from cofactor.datasets import load_side_features
    >>> (users, columns), (films, about) = load_side_features("ml-100k")
    >>> users[:2].tolist(), {key: column[:2].tolist() for key, column in columns.items()}
    ([1, 2], {'age': [24.0, 53.0], 'gender': ['M', 'F'], 'occupation': ['technician', 'other']})
    >>> [key for key, column in about.items() if key == "year" or column[0]]
    ['year', 'Animation', "Children's", 'Comedy']
    """
    if name not in SETS_WITH_FEATURES:
        advice = did_you_mean(name, SETS_WITH_FEATURES)
        raise InvalidInputError(
            "no data set with features of users and items", argument="name", found=name, advice=advice
        )
    folder = registry.fetch(name) if data_home is None and download else registry.locate(name, data_home)
    users = None
    if name in _USERS:
        file, columns = _USERS[name]
        users = _users(_existing(folder, file, name), columns)
    return users, _films(registry.find_file(name, "titles", folder))


def _existing(folder: Path, file: str, name: str) -> Path:
    """Return where the file is, perhaps compressed."""
    found = next((path for path in (folder / file, folder / f"{file}.gz") if path.is_file()), None)
    if found is None:
        raise registry.DatasetNotFoundError(f"data set {name!r}: no {file} in {folder}; put it there")
    return found


def _users(path: Path, names: Sequence[str]) -> SideTable:
    ids, cells = _table(path, 1 + len(names))
    columns = {name: _texts(row[1 + k] for row in cells) for k, name in enumerate(names)}
    columns["age"] = np.array([float(age) for age in columns["age"]])
    return ids, columns


def _films(path: Path) -> SideTable:
    """Read films: of 100K the date stands in the third column, and genres are columns; of others both are texts."""
    by_columns = path.name.startswith("u.item")
    ids, cells = _table(path, 5 + len(_GENRES) if by_columns else 3)
    if by_columns:
        years = [row[2][-4:] for row in cells]
        genres = [{name for name, flag in zip(_GENRES, row[5:], strict=False) if flag == "1"} for row in cells]
    else:
        found = [_YEAR.search(row[1]) for row in cells]
        years = [match[1] if match else "" for match in found]
        genres = [set(row[2].split("|")) for row in cells]
    known = np.array([float(year) if year.isdigit() else np.nan for year in years])
    columns: dict[str, NDArray[Any]] = {"year": np.where(np.isnan(known), np.nanmean(known), known)}
    for genre in sorted(set().union(*genres) - {"unknown", "(no genres listed)"}):
        columns[genre] = np.array([float(genre in own) for own in genres])
    return ids, columns


def _table(path: Path, n_columns: int) -> tuple[NDArray[np.int64], list[list[str]]]:
    """Return ids and rows, each of which must have so many cells."""
    ids, cells = [], []
    for line, row in rows_of(path):
        if len(row) < n_columns or not _ID.fullmatch(row[0]):
            found = [cell[:40] for cell in row[:2]]
            message = f"expected an id and {n_columns - 1} more columns, found {found}"
            raise InvalidInputError(message, place=Place(str(path), line))
        ids.append(int(row[0]))
        cells.append([cell.strip() for cell in row])
    return np.array(ids, dtype=np.int64), cells


def _texts(values: Iterable[str]) -> NDArray[np.object_]:
    return np.array(list(values), dtype=object)
