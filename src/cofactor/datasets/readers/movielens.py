"""MovieLens 100K, 1M and latest-small, in the files of GroupLens."""

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from cofactor.datasets import registry
from cofactor.datasets.readers.ratings import read_ratings
from cofactor.datasets.readers.text import QUOTES
from cofactor.datasets.types import RatingDataset
from cofactor.errors import InvalidInputError, Place
from cofactor.files import read_bytes, to_utf8

__all__ = ["load_movielens"]

_WHOLE_STARS = np.arange(1.0, 6.0)
_HALF_STARS = np.arange(0.5, 5.5, 0.5)
_SCALES = {"100k": _WHOLE_STARS, "1m": _WHOLE_STARS, "latest-small": _HALF_STARS}
_ITEM = re.compile(r"[0-9]{1,18}")


def load_movielens(
    name: str = "100k",
    data_home: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
) -> RatingDataset:
    """Load a MovieLens data set with the titles of its films.

    Parameters
    ----------
    name : {"100k", "1m", "latest-small"}, default "100k"
        100K: 943 users, 1,682 films, 100,000 ratings. 1M: 6,040 users, 3,706 rated films, 1,000,209
        ratings. latest-small (September 2018): 610 users, 9,724 rated films, 100,836 ratings with half
        stars, ten levels. The names may begin with ``"ml-"``, as in the registry.
    data_home : str or path-like, optional
        Folder to look in, see `cofactor.datasets.locate`; then nothing is downloaded. By default the usual
        places, then the server of GroupLens.
    download : bool, default True
        Whether to download a set which is in none of the usual places.

    Returns
    -------
    RatingDataset
        In the order of the file, with the ids of GroupLens. ``timestamps`` is None if the file has none (some
        copies of 1M are without them). ``item_names`` is empty if the file of titles is missing.

    Raises
    ------
    DatasetNotFoundError
        If the set is not there and cannot be downloaded; the message says which files to put into which folder.
    ValueError
        If `name` is unknown or a file is malformed; the message names the line.

    Notes
    -----
    F. M. Harper, J. A. Konstan: The MovieLens datasets: history and context. ACM Transactions
    on Interactive Intelligent Systems 5(4), 2015. The terms of GroupLens allow research with
    acknowledgement, and neither commercial use nor, for 100K and 1M, redistribution.

    Examples
    --------
    >>> from cofactor.datasets import load_movielens
    >>> data = load_movielens("100k")
    >>> data
    RatingDataset('ml-100k': 100000 ratings, 943 users, 1682 items, scale 1 to 5 in 5 levels)
    >>> data.item_names[1]
    'Toy Story (1995)'
    """
    short = name.removeprefix("ml-")
    if short not in _SCALES:
        raise InvalidInputError(
            "not a known MovieLens set", argument="name", found=name, advice=f"expected one of {', '.join(_SCALES)}"
        )
    full = f"ml-{short}"
    may_download = data_home is None and download
    folder = registry.fetch(full) if may_download else registry.locate(full, data_home)
    ratings = read_ratings(
        registry.find_file(full, "ratings", folder), user=0, item=1, rating=2, ids="int", scale=_SCALES[short]
    )
    titles = registry.find_file(full, "titles", folder, required=False)
    return RatingDataset(
        name=full,
        X=ratings.X,
        y=ratings.y,
        scale=ratings.scale,
        item_names=_read_titles(titles) if titles is not None else {},
        timestamps=ratings.timestamps,
        description=registry.KNOWN[full].description,
    )


def _read_titles(path: Path) -> dict[int, str]:
    """Titles from ``u.item`` (``|``), ``movies.dat`` (``::``) or ``movies.csv`` by item id."""
    return _titles_of(path, rows_of(path))


def rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each line of a file of users or films: ``|``, ``::`` or commas between.

    Parameters
    ----------
    path : Path
        ``u.item``, ``u.user``, ``movies.dat``, ``users.dat`` or ``movies.csv``, perhaps compressed.
    """
    data = read_bytes(path)
    if not path.name.removesuffix(".gz").endswith(".csv"):
        sep = "|" if path.name.startswith("u.") else "::"
        lines = _decode_old(data, path).split("\n")
        yield from ((k, line.split(sep)) for k, line in enumerate(lines, start=1) if line)
        return
    rows = csv.reader(io.StringIO(to_utf8(data, str(path)).decode()), strict=True)
    try:
        next(rows, None)
        yield from ((rows.line_num, row) for row in rows)
    except csv.Error as error:
        raise InvalidInputError(str(error), advice=QUOTES, place=Place(str(path), rows.line_num)) from None


def _decode_old(data: bytes, path: Path) -> str:
    # GroupLens wrote Latin-1; some copies were saved again as UTF-8. Latin-1 with accents is hardly ever valid UTF-8.
    try:
        return to_utf8(data, str(path)).decode()
    except ValueError:
        return to_utf8(data, str(path), "latin-1").decode()


def _titles_of(path: Path, rows: Iterable[tuple[int, list[str]]]) -> dict[int, str]:
    titles: dict[int, str] = {}
    for line, row in rows:
        if len(row) < 2 or not _ITEM.fullmatch(row[0].strip()):
            found = [cell[:40] for cell in row[:2]]
            raise InvalidInputError(f"expected an item id and a title, found {found}", place=Place(str(path), line))
        titles[int(row[0])] = row[1].strip()
    return titles
