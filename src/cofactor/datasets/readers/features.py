"""Columns of a table as features: what is learned of those of training, and the features made by it.

Free text becomes tf-idf of its words, by scikit-learn. What is known of users, or of items, is read here too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from cofactor.datasets.formats import open_data
from cofactor.datasets.readers.label_columns import check_words
from cofactor.datasets.readers.matrices import generic_names, small_indices
from cofactor.datasets.table import (
    Cells,
    IdMode,
    Table,
    TableOptions,
    Words,
    feature_cells,
    header_or_numbers,
    ids_of,
    numbers_of,
)
from cofactor.errors import Argument, InputWarning, InvalidInputError, Place
from cofactor.files import PathLike
from cofactor.limits import CELLS, COLUMNS, FIT
from cofactor.schema import MOST_WORDS, Schema, Vocabulary, truth_of
from cofactor.text import is_number, plural, shorten

_MOST_NGRAMS = 5
_LETTERS = 6  # of a word, with the blank after it
_BYTES_OF_ONE, _BYTES_OF_RUN = 100, 240  # for a word, and for a run of words, most of which occur once: measured
_LEAST_ROWS = 2  # a word of one row says nothing of any other row


def check_sizes(max_words: int | None, ngrams: int | None) -> tuple[int, int]:
    """Return how many words, and how long runs of words, may become features; refuse others.

    Parameters
    ----------
    max_words : int, optional
        By default `MOST_WORDS`.
    ngrams : int, optional
        By default 1.
    """
    words, longest = MOST_WORDS if max_words is None else max_words, 1 if ngrams is None else ngrams
    if isinstance(words, bool) or not isinstance(words, int | np.integer) or words < 1:
        raise InvalidInputError("expected a whole number from 1", argument="max_words", found=max_words)
    if isinstance(longest, bool) or not isinstance(longest, int | np.integer) or not 1 <= longest <= _MOST_NGRAMS:
        expected = f"expected a whole number from 1 to {_MOST_NGRAMS}"
        raise InvalidInputError(expected, argument="ngrams", found=ngrams)
    return int(words), int(longest)


def learn_vocabulary(
    texts: Words, place: Place, max_words: int | None, ngrams: int | None
) -> tuple[Vocabulary, csr_array]:
    """Return the words of a column of text that become features, and these: what `words_of` makes of the same texts.

    They are the most frequent ones of those words which occur in two or more rows.

    Words are runs of two or more letters and digits, in lower case. There is no list of words to be left out, since
    tf-idf gives frequent words little weight, in any language.

    Parameters
    ----------
    texts : Words
        The cells.
    place : Place
        Where the column is.
    max_words, ngrams : int, optional
        As in `read_label_table`.

    Raises
    ------
    InvalidInputError
        If no word is in two rows.
    """
    words, longest = check_sizes(max_words, ngrams)
    _check_memory(texts, longest, place)
    vectorizer = _vectorizer(longest, min_df=_LEAST_ROWS, max_features=words)
    try:
        found = vectorizer.fit_transform([texts.values[code] for code in texts.codes.tolist()])
    except ValueError:  # there is no word; scikit-learn has several messages for it
        what = "holds no text" if not any(texts.values) else f"has no word that occurs in {_LEAST_ROWS} rows"
        raise InvalidInputError(f"{what}, so that no feature can be made of it", place=place) from None
    known = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
    COLUMNS.check(len(known), f"has {plural(len(known), 'word', form=',')}", place)
    return Vocabulary(tuple(known), tuple(vectorizer.idf_.tolist()), longest), small_indices(csr_array(found))


def _check_memory(texts: Words, ngrams: int, place: Place) -> None:
    """Refuse texts whose runs of words would not fit into memory while they are counted."""
    lengths = np.array([len(cell) for cell in texts.values], dtype=np.int64)
    n_words = int(lengths[texts.codes].sum()) // _LETTERS
    size = n_words * (_BYTES_OF_ONE + _BYTES_OF_RUN * (ngrams - 1))
    runs = "their words" if ngrams == 1 else f"their runs of up to {ngrams} words"
    FIT.check(size, f"to count {runs}, about {n_words:,} words of text take {size:,} bytes", place)


def words_of(texts: Words, known: Vocabulary) -> csr_array:
    """Return tf-idf of the words in each cell, with rows of norm 1, or 0 where no word is known.

    Parameters
    ----------
    texts : Words
        The cells.
    known : Vocabulary
        The words which are features; others are left out.

    Returns
    -------
    csr_array of shape (n, words), float64

    Examples
    --------
    >>> words_of(Words.of(["sea and sun", "", "sea"]), Vocabulary(("sea", "sun"), (3.0, 4.0))).toarray()
    array([[0.6, 0.8],
           [0. , 0. ],
           [1. , 0. ]])
    """
    vectorizer = _vectorizer(known.ngrams, vocabulary={word: k for k, word in enumerate(known.words)})
    vectorizer.idf_ = np.array(known.idf)
    distinct = csr_array(vectorizer.transform(texts.values))
    return small_indices(distinct[texts.codes])


def _vectorizer(ngrams: int, **extra: Any) -> Any:
    """Return the vectorizer that reads all texts; a file of a model cannot change its settings."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes seconds to load, and few tables hold text

    return TfidfVectorizer(ngram_range=(1, ngrams), sublinear_tf=True, **extra)


@dataclass(frozen=True)
class FeatureOptions:
    """How columns become features; the parameters are those of `read_label_table`."""

    text: tuple[str, ...] = ()
    max_values: int | None = None
    max_words: int | None = None
    ngrams: int | None = None


@dataclass(frozen=True)
class _Made:
    """Free text that has become features, and how many of its cells are empty."""

    X: csr_array
    n_gaps: int


# ------------------------------------------------------------------------------------------------- cells


def cells_of(table: Table, names: Sequence[str], features: Sequence[int], text: Sequence[str]) -> dict[int, Cells]:
    """Return the cells of features, by their positions, where no schema knows them; `text` names those of free text."""
    free = set(text)
    return {j: _text_cells(table, j) if names[j] in free else feature_cells(table, j) for j in features}


def _text_cells(table: Table, j: int) -> Words:
    """Return the cells of free text; a column of numbers is none."""
    found = table.cells(j, gaps=True)
    if isinstance(found, Words) and not _all_numbers(found):
        return found
    place = table.column_place(j)
    raise InvalidInputError(
        "holds numbers, which are a feature as they are",
        advice=("leave it out of ", Argument("text")),
        place=place,
    )


def _all_numbers(found: Words) -> bool:
    """Return whether all cells that are not empty are numbers."""
    some = [cell for cell in found.values if cell]
    return bool(some) and all(map(is_number, some))


def cells_as_in(table: Table, names: Sequence[str], features: Sequence[int], schema: Schema) -> dict[int, Cells]:
    """Return the cells of features, by their positions, as a schema has them: numbers, or text."""
    return {j: _as_in(table, j, names[j], schema) for j in features}


def _as_in(table: Table, j: int, name: str, schema: Schema) -> Cells:
    if name in schema.vocabularies or name in schema.words:
        return table.words(j, gaps=True)
    found = feature_cells(table, j)
    if not isinstance(found, Words):
        return found
    if not any(found.values):  # no row has a value
        return np.full(len(found.codes), np.nan)
    if {word.lower() for word in found.values} <= {"", "false", "true"}:  # truth values of a file with types
        truth = {"": np.nan, "false": 0.0, "true": 1.0}
        return np.array([truth[word.lower()] for word in found.values])[found.codes]
    return numbers_of(table, j)  # whose error says which cell is no number


# ---------------------------------------------------------------------------------- what training teaches


def schema_of(
    table: Table, names: Sequence[str], cells: dict[int, Any], options: FeatureOptions, roles: Mapping[str, Any]
) -> Schema:
    """Return how these columns become features, as their cells teach it; cells of text become features already.

    Parameters
    ----------
    table : Table
        What was read.
    names : sequence of str
        Names of all columns.
    cells : dict from int to Cells
        As `cells_of` returns them.
    options : FeatureOptions
        How columns become features.
    roles : mapping from str to object
        The members of the schema which say what the other columns are.
    """
    _check_values(table, names, cells, options)
    words: dict[str, tuple[str, ...]] = {}
    vocabularies, fill, scale = {}, {}, {}
    for j, found in list(cells.items()):
        name, place = names[j], table.column_place(j)
        if name in options.text and isinstance(found, Words):
            vocabularies[name], made = learn_vocabulary(found, place, options.max_words, options.ngrams)
            cells[j] = _Made(made, _count_gaps(found))  # texts are cut into words only once
            continue
        numbers = found
        if isinstance(found, Words):
            words[name] = tuple(sorted(filter(None, found.values)))
            numbers = _truth_values(found, words[name]) if truth_of(words[name]) is not None else np.zeros(1)
        if isinstance(numbers, Words) or np.isnan(numbers).all() or words.get(name) == ():
            what = ("no row has a value; leave it out with ", Argument("drop", [name]))
            raise InvalidInputError(what, place=place)
        if name not in words or truth_of(words[name]) is not None:
            fill[name] = _median(numbers)
        if name not in words and options.text:
            scale[name] = _mean_and_deviation(numbers, fill[name])
    features = tuple(names[j] for j in cells)
    return Schema(features, words=words, vocabularies=vocabularies, fill=fill, scale=scale, **roles)


def _check_values(table: Table, names: Sequence[str], cells: Mapping[int, Cells], options: FeatureOptions) -> None:
    """Refuse words of which there are so many that they are free text."""
    found = {
        j: [word for word in column.values if word]
        for j, column in cells.items()
        if isinstance(column, Words) and names[j] not in options.text
    }
    sizes = [(names[j], len(values), table.column_place(j)) for j, values in found.items() if truth_of(values) is None]
    n_rows = max((len(column.codes) for column in cells.values() if isinstance(column, Words)), default=0)
    check_words(sizes, n_rows, options.max_values)


def _median(numbers: NDArray[np.float64]) -> float:
    """Return the median of those numbers that are there; unlike NumPy's it does not overflow."""
    known = np.sort(numbers[~np.isnan(numbers)])
    low, high = known[(len(known) - 1) // 2], known[len(known) // 2]
    return float(low if low == high else low / 2 + high / 2)


def _mean_and_deviation(numbers: NDArray[np.float64], filler: float) -> tuple[float, float]:
    """Return mean and standard deviation of numbers when missing ones are filled; the latter is 1 where it is 0."""
    filled = np.where(np.isnan(numbers), filler, numbers)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers so large are refused by every model
        mean, deviation = float(filled.mean()), float(filled.std())
    return (mean, deviation or 1.0) if np.isfinite([mean, deviation]).all() else (0.0, 1.0)


def _truth_values(found: Words, words: Sequence[str]) -> NDArray[np.float64]:
    """Return words for off and on as 0 and 1, and NaN where there is none."""
    truth = truth_of(words) or ()
    codes: dict[str, float] = {word.lower(): value for word, value in zip(words, truth, strict=True)}
    return np.array([codes.get(word.lower(), np.nan) for word in found.values])[found.codes]


# -------------------------------------------------------------------------------------- features by a schema


def features_by(
    table: Table, names: Sequence[str], cells: dict[int, Any], schema: Schema
) -> tuple[NDArray[np.float64] | csr_array, dict[str, int]]:
    """Return the features that a schema makes of cells, and how many cells of each column had no value.

    Parameters
    ----------
    table : Table
        What was read.
    names : sequence of str
        Names of all columns.
    cells : dict from int to Cells
        As `schema_of` leaves them, or `cells_as_in` returns them; used up.
    schema : Schema
        How columns become features.

    Returns
    -------
    X : ndarray, or csr_array if there is free text, of shape (n, D), float64
    filled : dict from str to int
        By the names of features that have such cells.
    """
    blocks: list[Any] = []
    dense: list[NDArray[Any]] = []
    filled: dict[str, int] = {}
    width = 0
    for j in list(cells):
        name, found = names[j], cells.pop(j)
        n_gaps = found.n_gaps if isinstance(found, _Made) else _count_gaps(found)
        if n_gaps:
            filled[name] = n_gaps
        if name in schema.vocabularies:
            blocks += [np.column_stack(dense)] if dense else []
            blocks.append(found.X if isinstance(found, _Made) else words_of(found, schema.vocabularies[name]))
            dense = []
            continue
        for column in _columns(table, j, name, found, schema):
            dense.append(column)
            width += 1
            many = f"values of column {name!r} make more than {plural(width, 'column')}"
            CELLS.check(len(column) * width, many, table.column_place(j), size=len(column) * table.n_columns)
    blocks += [np.column_stack(dense)] if dense else []
    if len(blocks) == 1 and not schema.vocabularies:
        return blocks[0].astype(np.float64, copy=False), filled
    return csr_array(hstack([csr_array(block) for block in blocks], format="csr", dtype=np.float64)), filled


def _count_gaps(found: Cells) -> int:
    """Return how many cells have no value."""
    if not isinstance(found, Words):
        return int(np.isnan(found).sum())
    return int((found.codes == found.values.index("")).sum()) if "" in found.values else 0


def _columns(table: Table, j: int, name: str, found: Cells, schema: Schema) -> Iterator[NDArray[Any]]:
    """Yield the column, or the columns, which a schema makes of the cells of a feature that is no free text."""
    if isinstance(found, Words) and schema.spread(name):
        yield from _coded(table, j, found, schema.words[name])
        return
    numbers = _truth(table, j, found, schema.words[name]) if isinstance(found, Words) else found
    gaps = np.isnan(numbers)
    if gaps.any():
        if name not in schema.fill:
            raise InvalidInputError("no value", place=table.place(int(np.argmax(gaps)), j))
        numbers = np.where(gaps, schema.fill[name], numbers)
    mean, deviation = schema.scale.get(name, (0.0, 1.0))
    yield (numbers - mean) / deviation if name in schema.scale else numbers


def _coded(table: Table, j: int, found: Words, words: tuple[str, ...]) -> Iterator[NDArray[np.int8]]:
    """Yield the columns of 0 and 1 for a column of text with these words."""
    unseen = sorted(set(found.values).difference(words, ("",)))
    if unseen:
        rows = int(np.isin(found.codes, [found.values.index(word) for word in unseen]).sum())
        warnings.warn(
            InputWarning(
                f"{table.column_place(j)}: {shorten(unseen)} did not occur in training; all columns of this feature "
                f"are 0 in {plural(rows, 'row')}"
            ),
            stacklevel=5,
        )
    position = {word: k for k, word in enumerate(found.values)}
    for word in words:
        yield (found.codes == position.get(word, -1)).astype(np.int8)


def _truth(table: Table, j: int, found: Words, words: tuple[str, ...]) -> NDArray[np.float64]:
    """Return a column of words for off and on as 0 and 1, and NaN where there is none."""
    some = [word for word in found.values if word]
    if some and truth_of(some) is None:
        row = found.first_row(lambda word: bool(word) and word.lower() not in {known.lower() for known in words})
        assert row is not None
        raise InvalidInputError(
            f"expected {' or '.join(words)} as in training, found {found.at(row)!r}", place=table.place(row, j)
        )
    return _truth_values(found, some)


#: Ids, and columns of numbers and of texts by their names: what `fit` takes as ``user_features`` and ``item_features``.
SideTable = tuple[NDArray[Any], dict[str, NDArray[Any]]]


def read_side_features(
    path: PathLike,
    *,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    ids: IdMode = "auto",
) -> SideTable:
    r"""Read what is known of users, or of items, beside their ratings.

    Parameters
    ----------
    path : str or path-like
        Text (plain or gzip) or Parquet. ``"-"`` is standard input.
    sep : str, optional
        Separator of a text file; by default found from the first line.
    header : bool, optional
        Whether the first line names the columns; by default it does if it holds no number.
    encoding : str, default "utf-8"
        Encoding of a text file.
    ids : {"auto", "int", "str", "each"}, default "auto"
        As in `read_ratings`.

    Returns
    -------
    ids : ndarray of shape (n,)
        The first column.
    columns : dict from str to ndarray
        The others by their names: finite numbers where all cells are numbers; texts, and None for empty cells, where
        none is.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    InvalidInputError
        A ValueError, if there are no features, or a column holds numbers and other cells too; the message names the
        line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "users.csv")
    >>> _ = path.write_text("user,age,trade\nann,25,poet\nbob,31,cook\n")
    >>> ids, columns = read_side_features(path)
    >>> ids.tolist(), {name: column.tolist() for name, column in columns.items()}
    (['ann', 'bob'], {'age': [25.0, 31.0], 'trade': ['poet', 'cook']})
    >>> folder.cleanup()
    """
    table = open_data(path).table(TableOptions(header_or_numbers(header), "an id and features", sep, encoding))
    if table.n_columns < 2:
        message = "has a single column, expected ids in the first one and features in the others"
        raise InvalidInputError(message, place=Place(table.file))
    table.load(range(table.n_columns))
    names = table.names or generic_names("c", table.n_columns)
    return ids_of(table, 0, ids), {names[j]: _column(table, j) for j in range(1, table.n_columns)}


def _column(table: Table, position: int) -> NDArray[Any]:
    """Return finite numbers, or texts with None for empty cells."""
    found = feature_cells(table, position)
    if not isinstance(found, Words):
        gap = np.flatnonzero(np.isnan(found))
        if len(gap):
            raise InvalidInputError(
                "expected a number, found no value",
                place=table.place(int(gap[0]), position),
                advice="fill it in, or leave out the row",
            )
        return found
    if not table.typed and any(map(is_number, found.values)):
        row = found.first_row(lambda cell: not is_number(cell))
        assert row is not None
        raise InvalidInputError(
            f"expected a number as in other rows, found {repr(found.at(row)) if found.at(row) else 'an empty cell'}",
            place=table.place(row, position),
            advice="write a number, or words in all rows",
        )
    words = np.empty(len(found.values), dtype=object)
    words[:] = [word or None for word in found.values]
    return np.asarray(words[found.codes])
