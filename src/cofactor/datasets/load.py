"""Known data sets by their names; features and labels also from files of the user."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cofactor.chunked import vstack
from cofactor.datasets import registry
from cofactor.datasets.formats import FORMATS, Format, open_data
from cofactor.datasets.levels import BinBy, Bins
from cofactor.datasets.readers.arff import LabelAttributes, read_arff
from cofactor.datasets.readers.features import SideTable
from cofactor.datasets.readers.label_tables import read_label_table
from cofactor.datasets.readers.matlab import read_mat
from cofactor.datasets.readers.matrices import Form, in_form, indicator
from cofactor.datasets.readers.ratings import read_ratings
from cofactor.datasets.readers.text import QUOTES, read_text
from cofactor.datasets.registry import KnownDataset
from cofactor.datasets.table import Table, TableOptions, is_frame, numbers_of
from cofactor.datasets.types import LabelDataset, RatingDataset
from cofactor.errors import Argument, InputWarning, InvalidInputError, Place
from cofactor.files import PathLike, display_name, exists, read_bytes, to_utf8
from cofactor.text import did_you_mean

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
    item_names: dict[int, str] = {}
    if titles is not None:
        items, rows = _rows_with_ids(titles, 2, "an item id and a title")
        item_names = {item: row[1] for item, row in zip(items, rows, strict=True)}
    return RatingDataset(
        name=full,
        X=ratings.X,
        y=ratings.y,
        scale=ratings.scale,
        item_names=item_names,
        timestamps=ratings.timestamps,
        description=registry.KNOWN[full].description,
    )


def _rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each line of a file of users or films: ``|``, ``::`` or commas between."""
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


def _rows_with_ids(path: Path, n_columns: int, what: str = "") -> tuple[list[int], list[list[str]]]:
    """Return ids and rows, each of which must have so many cells."""
    ids, cells = [], []
    for line, row in _rows_of(path):
        if len(row) < n_columns or not _ID.fullmatch(row[0]):
            found = [cell[:40] for cell in row[:2]]
            expected = what or f"an id and {n_columns - 1} more columns"
            raise InvalidInputError(f"expected {expected}, found {found}", place=Place(str(path), line))
        ids.append(int(row[0]))
        cells.append([cell.strip() for cell in row])
    return ids, cells


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
        users = _user_features(_existing(folder, file, name), columns)
    return users, _film_features(registry.find_file(name, "titles", folder))


def _existing(folder: Path, file: str, name: str) -> Path:
    """Return where the file is, perhaps compressed."""
    found = next((path for path in (folder / file, folder / f"{file}.gz") if path.is_file()), None)
    if found is None:
        raise registry.DatasetNotFoundError(f"data set {name!r}: no {file} in {folder}; put it there")
    return found


def _user_features(path: Path, names: Sequence[str]) -> SideTable:
    ids, cells = _rows_with_ids(path, 1 + len(names))
    columns = {name: np.array([row[k] for row in cells], dtype=object) for k, name in enumerate(names, start=1)}
    columns["age"] = columns["age"].astype(np.float64)
    return np.array(ids), columns


def _film_features(path: Path) -> SideTable:
    """Read films: of 100K the date stands in the third column, and genres are columns; of others both are texts."""
    by_columns = path.name.startswith("u.item")
    ids, cells = _rows_with_ids(path, 5 + len(_GENRES) if by_columns else 3)
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
    return np.array(ids), columns


_NOT_RATED = 99.0
_LIMITS = (-10.0, 10.0)
_N_JOKES = 100


def load_jester(
    data_home: str | os.PathLike[str] | None = None,
    bins: Bins | None = None,
    bin_by: BinBy = "auto",
) -> RatingDataset:
    """Load part 1 of Jester: 24,983 users, 100 jokes, 1,810,455 continuous ratings from -10 to 10.

    Parameters
    ----------
    data_home : str or path-like, optional
        Folder to look in, see `cofactor.datasets.locate`; by default the usual places.
    bins : int or array-like, optional
        Number of bins, or their edges; the ratings then become the levels 1..R as in `bin_ratings`. By default they
        stay continuous and ``scale`` is None, which methods for levels refuse.
    bin_by : {"auto", "width", "quantile"}, default="auto"
        How to cut, as in `bin_edges`; bins of equal width, the default, go from -10 to 10.

    Returns
    -------
    RatingDataset
        Users 1..24983 (row of the file) and items 1..100 (number of the joke), user by user.

    Raises
    ------
    DatasetNotFoundError
        If the file is in none of the places; the message names them.
    ValueError
        If the file is malformed; the message names the line. If `bins` is invalid.

    Notes
    -----
    K. Goldberg, T. Roeder, D. Gupta, C. Perkins: Eigentaste: a constant time collaborative
    filtering algorithm. Information Retrieval 4(2), 2001. The file has one line per user: the number of
    ratings, then one cell per joke in which 99 stands for "not rated".

    Examples
    --------
    >>> from cofactor.datasets import load_jester
    >>> load_jester(bins=5)
    RatingDataset('jester-1': 1810455 ratings, 24983 users, 100 items, scale 1 to 5 in 5 levels)
    """
    folder = registry.locate("jester-1", data_home)
    table = _jester_table(registry.find_file("jester-1", "ratings", folder))
    counts, *columns = (numbers_of(table, k) for k in range(table.n_columns))
    ratings = np.column_stack(columns)
    rated = ratings != _NOT_RATED
    _check_jester(table, counts, ratings, rated)
    users, items = np.nonzero(rated)
    y = ratings[rated]
    data = RatingDataset(
        name="jester-1",
        X=np.column_stack((users, items)).astype(np.int64) + 1,
        y=y,
        scale=None,
        description=registry.KNOWN["jester-1"].description,
    )
    if bins is None:
        return data
    by_width = isinstance(bins, int | np.integer) and bin_by in ("auto", "width")
    return data.binned(bins, bin_by, limits=_LIMITS if by_width else None)


def _jester_table(path: Path) -> Table:
    """Read the file: a column with the numbers of ratings, and a column for each joke."""
    options = TableOptions(lambda first, second: False, "the ratings of a user", ",")
    table = read_text(read_bytes(path), str(path), options)
    if table.n_columns != _N_JOKES + 1:
        raise InvalidInputError(
            f"expected {_N_JOKES + 1} columns separated by commas, found {table.n_columns}", place=Place(str(path), 1)
        )
    table.load(range(table.n_columns))
    return table


def _check_jester(
    table: Table, counts: NDArray[np.float64], ratings: NDArray[np.float64], rated: NDArray[np.bool_]
) -> None:
    low, high = _LIMITS
    bad = np.argwhere(rated & ~((ratings >= low) & (ratings <= high)))
    if len(bad):
        row, joke = bad[0].tolist()
        raise InvalidInputError(
            f"the rating of joke {joke + 1} is {ratings[row, joke]:g}, "
            f"expected {low:g} to {high:g}, or {_NOT_RATED:g} for not rated",
            place=table.place(row),
        )
    wrong = np.flatnonzero(counts != rated.sum(axis=1))
    if len(wrong):
        row = int(wrong[0])
        raise InvalidInputError(
            f"column 1 counts {counts[row]:g} ratings, but {rated[row].sum()} are there", place=table.place(row)
        )


Aligned = Literal["published", "realigned"] | None

_OFFSETS = "label_offsets.json"
#: Options that only some readers take, and what these read.
_COLUMNS = ("labels", "drop", "id", "max_values", "schema", "missing", "weights")
_ONLY_IN = {
    _COLUMNS: "ARFF files and tables, whose columns have names",
    ("text", "max_words", "ngrams", "label_sep"): "tables: CSV, TSV, Parquet and frames",
}


def load_ratings(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    bins: Bins | None = None,
    bin_by: BinBy = "auto",
    download: bool = True,
) -> RatingDataset:
    """Load a known data set of ratings by its name.

    Parameters
    ----------
    name : {"ml-100k", "ml-1m", "ml-latest-small", "jester-1"}
        Name in the registry.
    data_home, download
        As in `load_movielens`.
    bins, bin_by
        As in `load_jester`; an error for sets which have levels already.

    Returns
    -------
    RatingDataset

    Raises
    ------
    ValueError
        If the name is unknown, names a set of labels, or `bins` does not apply.
    DatasetNotFoundError
        If the set is not there and cannot be downloaded.

    Examples
    --------
    >>> from cofactor.datasets import load_ratings
    >>> load_ratings("ml-latest-small").level_counts().tolist()
    [1370, 2811, 1791, 7551, 5550, 20047, 13136, 26818, 8551, 13211]
    """
    known = [entry.name for entry in registry.KNOWN.values() if entry.task == "ratings"]
    if name in registry.KNOWN and name not in known:
        raise InvalidInputError(
            f"data set {name!r} holds labels, not ratings", advice=f"load it with load_labels({name!r})"
        )
    if name not in known:
        raise InvalidInputError(f"data set {name!r} is not known", advice=did_you_mean(name, known))
    if name == "jester-1":
        return load_jester(data_home, bins, bin_by)
    if bins is not None:
        raise InvalidInputError(
            (Argument("bins"), f" is for continuous ratings; those of {name!r} have levels already"), argument="bins"
        )
    return load_movielens(name, data_home, download=download)


def load_labels(
    name_or_path: PathLike | Any,
    labels: LabelAttributes = None,
    *,
    aligned: Aligned = None,
    sparse: Form = "auto",
    drop: Sequence[str] = (),
    id: str | None = None,
    text: str | Sequence[str] = (),
    label_sep: str | None = None,
    missing: str = "error",
    weights: str | None = None,
    format: str | None = None,
    data_home: PathLike | None = None,
    **options: Any,
) -> LabelDataset:
    r"""Load features and labels of a known data set, by its name, or of a file.

    Parameters
    ----------
    name_or_path : str, path-like, or pandas or polars frame
        Name in the registry, such as ``"emotions"`` (``available("labels")`` lists them), or a file: ARFF, libsvm,
        extreme-classification text, MATLAB, CSV, TSV or Parquet; or a frame, which is read as a table in a file is.
    labels : optional
        Which columns of an ARFF file or a table are labels, see `read_arff` and `read_label_table`; an empty sequence
        for a file without labels. Files of the other formats say it themselves.
    aligned : {"published", "realigned"}, optional
        Only for the sets of rcv1, whose labels are shifted in half of the rows. ``"published"`` takes for all rows
        the columns that the header names, as the literature does. ``"realigned"`` takes the labels of each half from
        the columns where they are. The default is ``"published"`` with a warning.
    sparse : {"auto", True, False}, default "auto"
        Whether X is a CSR array. ``"auto"``: if at most a fifth of its numbers differ from 0, whatever form the
        file has. X is float64 in both forms; ``X.astype(np.float32)`` halves its memory.
    drop : sequence of str, default ()
        Columns of an ARFF file or a table which are neither features nor labels; `labels` is for the others.
    id : str, optional
        The column of an ARFF file or a table which names the rows; it is no feature, and the data have it as ``ids``.
    text : str or sequence of str, default ()
        Columns of free text in a table, whose words become features; see `read_label_table`.
    label_sep : str, optional
        What parts the tags of a row, where one column of a table lists them; see `read_label_table`.
    missing : {"error", "ignore"}, default "error"
        What to do with missing labels of an ARFF file or a table; see `read_label_table`.
    weights : str, optional
        The column of an ARFF file or a table which holds weights of the rows, with which models learn.
    format : {"arff", "mat", "libsvm", "table"}, optional
        Format of a file; by default found from its content.
    data_home : str or path-like, optional
        Folder in which a known set is looked for instead of $COFACTOR_DATA and the cache.
    **options
        Further options of the reader: `read_arff`, `read_mat`, `read_libsvm` or `read_label_table`. Among them is
        `schema`, which reads an ARFF file or a table as another one was read: the ``schema`` of its data, or the
        ``schema_`` of a model which the command line fitted; ``labels=[]`` then gives the features alone.

    Returns
    -------
    LabelDataset

    Raises
    ------
    ValueError
        If the name is unknown, the file malformed (the message names the line), or an option does not apply.
    DatasetNotFoundError
        If a known set is not there; the message says which files to put into which folder.

    Warns
    -----
    UserWarning
        If the labels of the file are known to be shifted and `aligned` does not say what to do.

    Notes
    -----
    Known sets with an official split have ``train_rows``; scene, flags and bibtex are made of their train and test
    files, train first, the others keep the order of their full file. Genbase has no split here, since its two files
    share one protein and lack another; its row names are left out. No split of rcv1subset1..5 is known for certain.

    Examples
    --------
    >>> from cofactor.datasets import load_labels
    >>> load_labels("emotions")
    LabelDataset('emotions': 593 instances, 72 features, 6 labels, 1.868 labels per instance, dense)
    """
    if aligned not in (None, "published", "realigned"):
        raise InvalidInputError(
            "not known", argument="aligned", found=aligned, advice="expected 'published' or 'realigned'"
        )
    given: dict[str, Any] = {"labels": labels, "drop": tuple(drop) or None, "id": id, "text": text or None}
    given |= {"label_sep": label_sep, "missing": None if missing == "error" else missing, "weights": weights, **options}
    given = {name: value for name, value in given.items() if value is not None}
    if is_frame(name_or_path):
        if format is not None or aligned is not None or data_home is not None:
            what = (Argument("format"), ", ", Argument("aligned"), " and ", Argument("data_home"))
            raise InvalidInputError((*what, " are for files and known data sets, not for frames"))
        return read_label_table(name_or_path, sparse=sparse, **given)
    entry = registry.KNOWN.get(os.fspath(name_or_path))
    if entry is None and not exists(name_or_path):
        raise _unknown(name_or_path)
    if entry is not None and entry.task != "labels":
        raise InvalidInputError(
            f"data set {entry.name!r} holds ratings, not labels", advice=f"load it with load_ratings({entry.name!r})"
        )
    if entry is not None:
        if given or format is not None:
            raise InvalidInputError(
                (
                    *(f"{entry.name!r} is a known data set; ", Argument("labels"), ", ", Argument("drop"), ", "),
                    *(Argument("id"), " and ", Argument("format"), " are for files"),
                )
            )
        return _known(entry, aligned, sparse, data_home)
    if data_home is not None:
        raise InvalidInputError(
            (Argument("data_home"), f" is for known data sets; {display_name(name_or_path)} is a file"),
            argument="data_home",
        )
    return _file(name_or_path, aligned, sparse, _format(name_or_path, format), given)


def _unknown(name: PathLike) -> Exception:
    text = os.fspath(name)
    if os.sep in text or Path(text).suffix:
        return FileNotFoundError(f"{text}: no such file")
    known = [status.name for status in registry.available("labels")]
    return InvalidInputError(
        f"data set {text!r} is not known, and there is no such file", advice=did_you_mean(text, known)
    )


# -------------------------------------------------------------------------------------------- known sets


def _known(entry: KnownDataset, aligned: Aligned, sparse: Form, data_home: PathLike | None) -> LabelDataset:
    folder = registry.locate(entry.name, data_home)
    roles = {known.role for known in entry.files}
    main = registry.find_file(entry.name, "data", folder)
    if main.suffix == ".mat":
        data = read_mat(main, sparse=sparse)
    elif "offsets" in roles:
        data = _shifted(entry.name, main, registry.find_file(entry.name, "offsets", folder), aligned, sparse)
    else:
        names = registry.find_file(entry.name, "labels", folder) if "labels" in roles else None
        data = read_arff(main, names, drop=entry.drop, sparse=sparse)
        if "test" in roles:
            test = read_arff(registry.find_file(entry.name, "test", folder), names, drop=entry.drop, sparse=sparse)
            data = _stack(data, test)
    if len(data) != entry.rows:
        raise InvalidInputError(
            f"{len(data)} rows, expected {entry.rows}",
            advice=f"take it from {entry.origin}",
            place=Place(str(main)),
        )
    if entry.folder.endswith("rcv1") and main.suffix == ".mat":
        _check_cut(entry.name, aligned)
    elif aligned is not None and "offsets" not in roles:
        raise InvalidInputError(
            (Argument("aligned"), f" is for the sets of rcv1; the labels of {entry.name!r} are where they should be"),
            argument="aligned",
        )
    train_rows = None if entry.train is None else _mask(len(data), *entry.train)
    return replace(data, name=entry.name, train_rows=train_rows, description=entry.description)


def _mask(n: int, start: int, stop: int) -> NDArray[np.bool_]:
    rows = np.arange(n)
    return (start <= rows) & (rows < stop)


def _stack(first: LabelDataset, second: LabelDataset) -> LabelDataset:
    """Rows of the first, then rows of the second; both must have the same columns."""
    if first.label_names != second.label_names:
        raise InvalidInputError(f"{first.name} and {second.name} have different labels")
    X = vstack([first.X, second.align(first.feature_names)])
    return replace(first, X=X, Y=vstack([first.Y, second.Y]))


# ------------------------------------------------------------------------------------------ shifted labels


def _shifted(name: str, path: Path, offsets: Path, aligned: Aligned, sparse: Form) -> LabelDataset:
    """Read a file of rcv1, with the labels from the columns that the header names, or from where they are.

    In one half of the rows the labels begin before the column that the header names: label j of such a row is in column
    start + j, and its features are the columns before start.
    """
    starts = json.loads(read_bytes(offsets))[name]
    header = starts["header"]
    halves = [(int(key.split("_")[1]), int(key.split("_")[2]) + 1, starts[key]) for key in starts if key != "header"]
    if aligned is None:
        (low, high, start), *_ = [half for half in halves if half[2] != header]
        places = f"{header - start} column{'s' if header - start > 1 else ''}"
        _warn_of_shift(
            f"{name}: as published, the labels of rows {low} to {high - 1} stand {places} before the place that the "
            "header names, so that they are read as other labels. ",
            Argument("aligned", "realigned"),
            " takes them from where they are; ",
            Argument("aligned", "published"),
            " takes them as the literature does, without this warning",
        )
    if aligned != "realigned":
        return read_arff(path, sparse=sparse)
    whole = read_arff(path, (), sparse=True)
    L = whole.n_features - header
    X, Y = [], []
    for low, high, start in halves:
        rows = csr_array(whole.X[low:high])
        features = csr_array(rows[:, :start])
        X.append(csr_array((features.data, features.indices, features.indptr), (high - low, header)))
        Y.append(rows[:, start : start + L])
    return LabelDataset(
        name=path.name,
        X=in_form(vstack(X), sparse, str(path)),
        Y=indicator(vstack(Y), str(path)),
        feature_names=whole.feature_names[:header],
        label_names=whole.feature_names[header:],
        description=f"{whole.description}, labels realigned",
    )


def _check_cut(name: str, aligned: Aligned) -> None:
    if aligned == "realigned":
        raise InvalidInputError(
            f"{name!r} cannot be realigned, since its rows are in another order than those of the files it was made "
            "from",
            argument="aligned",
            advice="use rcv1subset1 to rcv1subset5",
        )
    if aligned is None:
        _warn_of_shift(
            f"{name}: was made from files of rcv1 in which the labels of half of the rows are shifted, and cannot be "
            "realigned. rcv1subset1 with ",
            Argument("aligned", "realigned"),
            " has them right; ",
            Argument("aligned", "published"),
            " takes these as the literature does, without this warning",
        )


def _warn_of_shift(*parts: str | Argument) -> None:
    warnings.warn(InputWarning(parts), stacklevel=5)


# -------------------------------------------------------------------------------------------------- files


def _file(path: PathLike, aligned: Aligned, sparse: Form, known: Format, given: Mapping[str, Any]) -> LabelDataset:
    file, reader = Place(display_name(path)), known.labels or read_label_table
    for names, where in _ONLY_IN.items():
        odd = next((name for name in names if name in given and name not in signature(reader).parameters), None)
        if odd is not None:
            raise InvalidInputError((Argument(odd), f" is for {where}"), place=file)
    name = Path(path).name.removesuffix(".gz").removesuffix(".arff")
    offsets = Path(path).with_name(_OFFSETS)
    if (
        known.name == "arff"
        and given.keys().isdisjoint(_COLUMNS)
        and offsets.is_file()
        and name in json.loads(read_bytes(offsets))
    ):
        return _shifted(name, Path(path), offsets, aligned, sparse)
    if aligned is not None:
        raise InvalidInputError(
            (Argument("aligned"), f" is for the sets of rcv1; nothing is known of shifted labels in {file}")
        )
    return reader(path, sparse=sparse, **given)


def _format(path: PathLike, asked: str | None) -> Format:
    """Format of a file of labels: as asked for, or by its content."""
    readable = {known.name: known for known in FORMATS if known.may_hold_labels}
    if asked is not None:
        if asked not in readable:
            raise InvalidInputError(
                "not known", argument="format", found=asked, advice=f"expected one of {', '.join(readable)}"
            )
        return readable[asked]
    found = open_data(path)
    if found.kind == "stdin" and not found.format:
        raise InvalidInputError(
            "its format cannot be told before reading", advice=("give ", Argument("format")), place=Place(found.name)
        )
    others = {
        "model": "a model of cofactor",
        "xml": "an XML file which names labels",
        "shards": "a folder of sharded ratings",
    }
    if found.format in others:
        raise InvalidInputError(f"is {others[found.format]}, expected features and labels", place=Place(found.name))
    return readable.get(found.format, readable["table"])
