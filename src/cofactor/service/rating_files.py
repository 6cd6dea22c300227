"""Files of ratings, of pairs, of candidates, of titles and of features, matched with what a model knows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor import datasets
from cofactor.columns import ALIASES, ColumnsError, find_item_and_value, normalize_header
from cofactor.datasets import InteractionDataset, RatingDataset, load_side_features, read_side_features
from cofactor.datasets.formats import Source, open_data
from cofactor.datasets.load import SETS_WITH_FEATURES
from cofactor.datasets.readers.parquet import refuse_lost_beginning
from cofactor.datasets.readers.ratings import read_ratings_or_interactions
from cofactor.datasets.table import Table, TableOptions
from cofactor.errors import Argument, InvalidInputError, Place, Text
from cofactor.files import START, display_name, read_bytes, to_utf8
from cofactor.limits import MAX_LEVELS
from cofactor.model.splits import pair_numbers
from cofactor.ratings import MODELS, IdMap, Ratings, as_ratings
from cofactor.ratings.data import SUSPICIOUS_SHARE, latest_values, refuse_one_level
from cofactor.ratings.features import FeatureTable, PairQuery, new_rows, takes_features
from cofactor.ratings.ranking import as_interactions
from cofactor.ratings.topn import Exclusion
from cofactor.service.base import about, unknown_file
from cofactor.service.label_files import options_of_posts
from cofactor.service.models import short_names
from cofactor.service.results import Loaded
from cofactor.text import nearest, plural, some_of


@dataclass(frozen=True)
class SmallTable:
    """Rows of cells, all of them text, which need not be equally long.

    Attributes
    ----------
    file : str
        What messages call it.
    names : tuple of str or None
        Of the columns, where the format has names; the first line of a text may hold names, or be data.
    rows : list of list of str
        Cells without blanks around them; a blank line has none.
    """

    file: str
    names: tuple[str, ...] | None
    rows: list[list[str]]

    def numbered(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows that hold something, with their numbers from 1."""
        return ((k, row) for k, row in enumerate(self.rows, 1) if any(row))

    @property
    def one(self) -> str:
        """What messages call a row: a line of a text."""
        return "line" if self.names is None else "row"

    def place(self, number: int) -> Place:
        """Return the place of a row.

        Parameters
        ----------
        number : int
            From 1.
        """
        return Place(self.file, number) if self.names is None else Place(self.file, column=f"row {number}")


def read_small_table(source: str, encoding: str, most: int | None = None, value: str | None = None) -> SmallTable:
    """Read a small table: text, whatever separates its cells, Parquet, or a query of a database.

    Parameters
    ----------
    source : str
        Path, or ``-``. It may be compressed with gzip.
    encoding : str
        Of a text.
    most : int, optional
        Number of columns that are wanted, from the first one on: others of Parquet may have any type.
    value : str, optional
        What stands beside item ids, such as "boost": of Parquet and databases only these two columns are read. A boost
        may be any number.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    InvalidInputError
        If it is damaged, in another encoding, or a column of Parquet holds neither integers nor text.
    """
    file, found = display_name(source), open_data(source)
    if found.format not in ("parquet", "database"):
        content = read_bytes(source)
        refuse_lost_beginning(content[:START], content[-4:], file)
        rows = _cells(to_utf8(content, file, encoding).decode(), file)
        return SmallTable(file, None, [[cell.strip() for cell in row] for row in rows])
    table = found.table(TableOptions(lambda *_: True, "ids"))
    assert table.names is not None
    places: Sequence[int] = range(table.n_columns)[:most]
    if value is not None:
        places = find_item_and_value(table.names, value) or places
    texts = [_texts(table, j, numbers=value == "boost" and k == 1) for k, j in enumerate(places)]
    return SmallTable(file, tuple(table.names[j] for j in places), [list(row) for row in zip(*texts, strict=True)])


def _texts(table: Table, position: int, *, numbers: bool) -> list[str]:
    """Return the cells of a column as text; of ids, or of numbers, which may have a fraction."""
    column = table.cells(position, gaps=True) if numbers else table.words(position, gaps=True)
    if isinstance(column, np.ndarray):
        return ["" if np.isnan(one) else str(one) for one in column.tolist()]
    return [column.values[code] for code in column.codes.tolist()]


def _cells(text: str, file: str) -> list[list[str]]:
    """Return the cells of a text by lines."""
    first, _, _ = text.partition("\n")
    sep = next((sep for sep in ("::", "\t", "|") if sep in first), ";" if ";" in first and "," not in first else ",")
    try:
        return list(csv.reader(io.StringIO(text))) if sep == "," else [line.split(sep) for line in text.splitlines()]
    except csv.Error as error:
        raise InvalidInputError(str(error), advice="is a quotation mark missing?", place=Place(file)) from None


class NotInTrainingError(InvalidInputError):
    """A user or an item was not in training."""


class IdsByText:
    """Ids of a model by their text; made once, where many are looked up.

    Parameters
    ----------
    known : IdMap
        Ids of the model.

    Examples
    --------
    >>> from cofactor.ratings import IdMap
    >>> films = IdsByText(IdMap([7, 8]))
    >>> films.match(7), films.match("8"), films.match("8.0"), films.match("9")
    (7, 8, 8, '9')
    """

    def __init__(self, known: IdMap) -> None:
        ids = known.ids.tolist()
        self._own = {value: value for value in ids}
        self._by_text = {str(value): value for value in ids}
        if known.ids.dtype.kind == "i":
            self._by_text |= {f"{value}.0": value for value in ids}

    def match(self, one: Any) -> Any:
        """Return the id that equals what was given, or else has its text, or what was given where there is none."""
        return self._own.get(one, self._by_text.get(str(one), one))

    def found(self, one: Any, argument: str, advice: str = "") -> Any:
        """Return the id as `match` does; refuse one that is not there.

        Parameters
        ----------
        one : str or number
            What was given.
        argument : str
            Where it was given.
        advice : str, optional
            What to do about one that is not there.
        """
        matched = self.match(one)
        if matched not in self._own:
            raise NotInTrainingError("was not in training", argument=argument, found=one, advice=advice)
        return matched


def match_ids(texts: Sequence[Any] | NDArray[Any], known: IdMap) -> list[Any]:
    """Return for each text the id of the model that has this text, or the text itself where there is none.

    Where all ids of the model are whole numbers, 7.0 is 7: a column with gaps is often written so.

    Parameters
    ----------
    texts : sequence of str
        Ids as a file has them.
    known : IdMap
        Ids of the model.

    Examples
    --------
    >>> from cofactor.ratings import ALS
    >>> model = ALS(n_factors=1, alpha=1.0, random_state=0).fit([(1, 7), (1, 8), (2, 7)], [1, 2, 2])
    >>> match_ids(["7", "8.0", "9"], model.items_)
    [7, 8, '9']
    """
    ids = IdsByText(known)
    return [ids.match(text) for text in texts]


def refuse_new(ids: Sequence[Any], known: IdMap, argument: str) -> None:
    """Refuse ids of users, or items, that were not in training.

    Parameters
    ----------
    ids : sequence
        In the form which the model knows.
    known : IdMap
        Ids of the model.
    argument : {"users", "items"}
        Whose ids.
    """
    places = known.index(ids)
    if (places < 0).any():
        found = ids[int((places < 0).argmax())]
        advice = hint(found, known, "cofactor update takes their ratings into the model" if argument == "users" else "")
        raise NotInTrainingError("was not in training", argument=argument, found=found, advice=advice)


def hint(one: Any, known: IdMap, otherwise: str = "") -> str:
    """Return what to do about an id that is not there: names that are nearly it, and other advice.

    It is for those who have the model; others must not be told who is in it.

    Examples
    --------
    >>> from cofactor.ratings import IdMap
    >>> hint("anna", IdMap(["ann", "bob"]), "leave her out")
    'did you mean ann? Otherwise leave her out'
    >>> hint("zoe", IdMap(["ann", "bob"]), "leave her out")
    'leave her out'
    """
    near = nearest(one, map(str, known.ids)) if isinstance(one, str) and known.ids.dtype.kind in "OU" else []
    if not near:
        return otherwise
    meant = f"did you mean {', '.join(near)}?"
    return f"{meant} Otherwise {otherwise}" if otherwise else meant


def match_pairs(X: NDArray[Any], users: IdMap, items: IdMap) -> NDArray[Any]:
    """Return pairs of user and item with the ids of a model.

    Parameters
    ----------
    X : ndarray of shape (n, 2)
        Ids as a file has them.
    users, items : IdMap
        Ids of the model.
    """
    matched = np.empty(X.shape, dtype=object)
    matched[:, 0] = match_ids(X[:, 0], users)
    matched[:, 1] = match_ids(X[:, 1], items)
    return matched


#: What a file may hold where it seems to be no table of ratings, and how it is read then.
_LABELS = ("if it holds features and labels, which are labels with ", Argument("labels"))
_INTERACTIONS = (
    "if the file says what users interacted with, not how they liked it, read it with ",
    Argument("implicit"),
)

_READING = ("user", "item", "sep", "header", "encoding")


def _reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the options that readers of tables take, by their names there."""
    return {"timestamp": options["time"], **{name: options[name] for name in _READING}}


def read_rating_file(file: str, options: Mapping[str, Any], progress: Any = None) -> tuple[RatingDataset, str]:
    """Read ratings, or interactions, from a file, from standard input, or from a known data set.

    Parameters
    ----------
    file : str
        Path, ``-``, or name of a data set, in this order.
    options : mapping from str to object
        user, item, rating, time, sep, header, encoding, levels, bins, bin_by, drop_rating, implicit and count.
    progress : object, optional
        Progress bar of a download, as `cofactor.datasets.fetch` takes it.

    Returns
    -------
    data : RatingDataset or InteractionDataset
        Ratings have a scale: continuous ones are refused unless the option bins cuts them into levels.
    why : str
        Why these are interactions, where nobody said so; else empty.
    """
    of_interactions = (options["count"], options.get("kind"), options.get("target"))
    found, implicit = open_data(file), options["implicit"] or any(one is not None for one in of_interactions)
    if found.format == "shards":
        raise InvalidInputError(
            "is a folder of sharded ratings, which this command does not take yet",
            advice="give it the files that the shards were made of, or open it in Python with ShardedRatings.open",
            place=Place(file),
        )
    if implicit:
        _refuse_beside_interactions(options)
    if found.kind == "known" and found.holds == "ratings":
        if file != "jester-1":
            datasets.fetch(file, progress=progress)
        if implicit:
            return _as_interactions(datasets.load_ratings(file), options), ""
        return _checked_scale(_known(file, options), file), ""
    if found.kind in ("known", "missing"):
        raise _unknown(found)
    with _hints(file, options):
        if implicit:
            kind = options.get("kind")
            return datasets.read_interactions(file, count=options["count"], kind=kind, **_reading(options)), ""
        scaling = {name: options[name] for name in ("rating", "bins", "bin_by", "drop_rating")}
        data, why = read_ratings_or_interactions(file, scale=options["levels"], **scaling, **_reading(options))
    if not why:
        return _checked_scale(data, file), ""
    if options["levels"] is not None:
        argument = Argument("levels")
        raise InvalidInputError((argument, f" says what ratings there are, but {why}"), place=Place(display_name(file)))
    return data, why


def _refuse_beside_interactions(options: Mapping[str, Any]) -> None:
    """Refuse options of ratings where a file is to be read as interactions."""
    odd = [name for name in ("rating", "levels", "bins", "drop_rating") if options.get(name) is not None]
    if odd:
        asked = Argument("implicit") if options["implicit"] else Argument("count")
        raise InvalidInputError((Argument(odd[0]), " is for ratings, and ", asked, " reads none: leave one out"))


def _as_interactions(data: RatingDataset, options: Mapping[str, Any]) -> InteractionDataset:
    """Return what was rated at all, whatever the ratings."""
    if options["count"] is not None:
        message = f"{data.name} has ratings, and no counts"
        raise InvalidInputError(message, argument="count", found=options["count"], advice="leave it out")
    return InteractionDataset(
        data.name, data.X, np.ones(data.n_ratings), None, data.item_names, data.timestamps, data.description
    )


def checked_interactions(data: RatingDataset, file: str, **kinds: Any) -> Ratings:
    """Return interactions in the form which implicit-feedback models take.

    Parameters
    ----------
    data : InteractionDataset
    file : str
        For messages.
    **kinds
        target and kind_weights, as in `as_interactions`.
    """
    if not data.n_ratings:
        message = "holds no interactions, expected lines of user and item"
        raise InvalidInputError(message, place=Place(display_name(file)))
    with about(file):
        return as_interactions(data, **kinds)


def _known(name: str, options: Mapping[str, Any]) -> RatingDataset:
    """Load a known data set, and cut or restrict it as the options say."""
    data, levels = datasets.load_ratings(name), options["levels"]
    if options["drop_rating"] is not None:
        data = data.without(options["drop_rating"])
    if options["bins"] is not None:
        return data.binned(options["bins"], options["bin_by"])
    if levels is None:
        return data
    if not np.isin(data.y, levels).all():
        raise InvalidInputError(f"does not hold all ratings of {name}", argument="levels", found=levels)
    return replace(data, scale=np.array(levels, dtype=np.float64))


def _unknown(found: Source) -> InvalidInputError:
    """Return the error for a name that is neither a file nor a data set of ratings."""
    if found.holds == "labels":
        advice = (": leave out ", Argument("task", "ratings"), " and options for ratings")
        return InvalidInputError((f"{found.path} holds labels, not ratings", *advice))
    return unknown_file(found.path)


@contextmanager
def _hints(file: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Within the block, an error about columns adds what the file may hold instead: labels, or interactions."""
    try:
        yield
    except InvalidInputError as error:
        is_none = isinstance(error, ColumnsError)
        in_cell = error.place is not None and error.place.column is not None
        hints: list[str | Argument] = []
        if is_none and (posts := options_of_posts(file, options)):
            raise type(error)(
                error.problem, advice=("if it holds texts with tags, add ", *posts), place=error.place
            ) from error
        for hint, there in ((_LABELS, is_none), (_INTERACTIONS, error.argument == "rating" or (is_none and in_cell))):
            if there:
                hints += ["; or, " if error.advice or hints else "", *hint]
        if not hints:
            raise
        advice = (*error.advice, *hints)
        raise type(error)(
            error.problem, argument=error.argument, found=error.found, advice=advice, place=error.place
        ) from error


def _refuse_empty(data: RatingDataset, file: str) -> None:
    """Refuse data without ratings."""
    if not data.n_ratings:
        message = "holds no ratings, expected lines of user, item and rating"
        raise InvalidInputError(message, place=Place(display_name(file)))


def _checked_scale(data: RatingDataset, file: str) -> RatingDataset:
    """Refuse data without ratings, without levels, or all of one level."""
    _refuse_empty(data, file)
    place = Place(display_name(file))
    if data.scale is None:
        found = f"more than {MAX_LEVELS} distinct ones from {data.y.min():g} to {data.y.max():g}"
        advice = (
            f"the ratings are continuous, {found}: cut them into levels with ",
            Argument("bins", 5),
            *_as_counts(data),
            "; or, ",
            *_INTERACTIONS,
        )
        raise InvalidInputError(advice, place=place)
    try:
        distinct = np.unique(data.y)
        words = data.rating_scale if data.rating_scale is not None and data.rating_scale.words else None
        distinct = distinct if words is None else words.named(distinct)
        refuse_one_level(distinct, Argument("bins", 5), ("; or, ", *_INTERACTIONS))
    except InvalidInputError as error:
        raise error.at(place) from None
    return data


def _as_counts(data: RatingDataset) -> tuple[str | Argument, ...]:
    """Return what else to do with numbers that may be counts."""
    if (data.y % 1).any() or data.y.min() < 0:
        return ()
    return ("; or, if they say how often users interacted with something, name their column with ", Argument("count"))


def with_latest(data: RatingDataset) -> tuple[RatingDataset, tuple[Text, ...]]:
    """Give all ratings of one pair the value of its latest one: by time, or without times the last of the file.

    Parameters
    ----------
    data : RatingDataset
        Whose pairs may occur more than once; their order stays.

    Returns
    -------
    data : RatingDataset
    notes : tuple of Text
        Which ratings were kept, if a pair occurs more than once.
    """
    _, pairs = pair_numbers(data.X)
    repeats = len(pairs) - len(np.unique(pairs))
    if not repeats:
        return data, ()
    times = data.timestamps
    kept = (
        "the latest one by its time" if times is not None else "the last one of the file, which has no column of times"
    )
    note = f"{plural(repeats, 'rating')} of a pair that was rated before: kept is {kept} ({data.description})"
    return replace(data, y=latest_values(pairs, data.y, times)), (note,)


def checked_ratings(data: RatingDataset, file: str, duplicates: str) -> Ratings:
    """Return ratings in the form which models take.

    Parameters
    ----------
    data : RatingDataset
        With levels.
    file : str
        For messages.
    duplicates : {"error", "last", "mean"}
        What to do with several ratings of one user for one item.
    """
    if duplicates == "error":
        choices = (Argument("duplicates"), " last or mean")
        _refuse_duplicates(data, file, ("keep one of them, or choose with ", *choices))
    with about(file):
        return as_ratings(data, duplicates=duplicates)  # type: ignore[arg-type]


def _refuse_duplicates(data: RatingDataset, file: str, advice: tuple[str | Argument, ...]) -> None:
    """Refuse ratings of which two have the same pair; the message names the first such rating and the earlier one."""
    _, pairs = pair_numbers(data.X)
    _, first, number = np.unique(pairs, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[number] != np.arange(len(pairs)))
    if not len(again):
        return
    k = int(again[0])
    (user, item), places = data.X[k], f"ratings {first[number][k] + 1:,} and {k + 1:,} of the file"
    if len(again) > len(pairs) * SUSPICIOUS_SHARE:
        share = f"{len(again):,} of {len(pairs):,} ratings repeat a pair"
        advice = (*advice, f"; {share}, so perhaps the columns are wrong: {data.description}")
    raise InvalidInputError(
        (f"user {user} has rated item {item} more than once ({places}): ", *advice), place=Place(display_name(file))
    )


def read_rating_pairs(
    file: str, model: Any, options: Mapping[str, Any]
) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Read pairs of user and item in the form of id which a model knows, and their times if there are any.

    Parameters
    ----------
    file : str
        Path, or ``-``.
    model : RatingModel
        Fitted.
    options : mapping from str to object
        user, item, time, sep, header and encoding.
    """
    whole = model.users_.ids.dtype.kind == model.items_.ids.dtype.kind == "i"
    X, times = datasets.read_timed_pairs(file, ids="each", **_reading(options))
    if not len(X):
        raise InvalidInputError("holds no pairs, expected lines of user and item", place=Place(display_name(file)))
    seconds = None if times is None else times.astype(np.float64)
    return X if whole else match_pairs(X, model.users_, model.items_), seconds


def read_new_users(
    file: str, model: Any, options: Mapping[str, Any], *, interactions: bool = False
) -> tuple[RatingDataset, tuple[Text, ...]]:
    """Read ratings, or interactions, of users to fold in; ids in the form which a model knows.

    Parameters
    ----------
    file : str
        Path, or ``-``.
    model : RatingModel, ImplicitModel or Recommender
        Fitted.
    options : mapping from str to object
        user, item, rating, time, drop_rating, sep, header, encoding, count and perhaps implicit; others are for the
        fold-in.
    interactions : bool, default=False
        Read interactions, whatever the file holds.

    Returns
    -------
    data : RatingDataset or InteractionDataset
        Pairs, ratings, and times if there are any.
    notes : tuple of Text
        What was left out.
    """
    data, place = _read_for(model, file, options, interactions), Place(display_name(file))
    if not data.holds_interactions:
        _refuse_duplicates(data, file, ("keep one of them",))
    items = data.X[:, 1]
    unknown = np.flatnonzero(model.items_.index(items) < 0)
    bad = ", ".join(dict.fromkeys(str(items[k]) for k in unknown[:5]))
    if len(unknown) == len(items):
        raise InvalidInputError(f"holds only items that were not in training: {bad}", place=place)
    if not len(unknown):
        return data, ()
    share = f"{len(unknown):,} of {len(items):,}, such as those of {bad}"
    those = "interactions" if data.holds_interactions else "ratings"
    return data, (f"{place}: {those} of items that were not in training are left out: {share}",)


def read_more(file: str, model: Any, options: Mapping[str, Any], *, interactions: bool = False) -> Loaded:
    """Read new ratings, or interactions, that a model takes in; ids as it knows them, or would have given them.

    Parameters
    ----------
    file, model, interactions
        As in `read_new_users`.
    options : mapping from str to object
        Its options, and duplicates.
    """
    data = _read_for(model, file, options, interactions)
    if data.holds_interactions and not interactions:
        message = "holds no ratings, and the model was fitted to ratings"
        named = ("name their column with ", Argument("rating"))
        advice = (*named, ", or fit a model to interactions with ", Argument("implicit"), ", which takes in others")
        raise InvalidInputError(message, advice=advice, place=Place(display_name(file)))
    X = data.X.copy()
    for side, (known, word) in enumerate(((model.users_, "user"), (model.items_, "item"))):
        if known.ids.dtype.kind == "i":
            X[:, side] = [_whole(one, word, file) for one in X[:, side].tolist()]
    data = replace(data, X=X)
    notes: tuple[Text, ...] = ()
    if interactions:
        ready = checked_interactions(data, file, kind_weights=model.kind_weights_)
        return Loaded(file, data, ready, interaction_notes(data, ready, "", options["duplicates"]))
    if options["duplicates"] == "last":
        data, notes = with_latest(data)
    return Loaded(file, data, checked_ratings(data, file, options["duplicates"]), notes)


def _read_for(model: Any, file: str, options: Mapping[str, Any], interactions: bool) -> RatingDataset:
    """Read ratings on the scale of a model, or interactions, with its ids; there must be some."""
    if interactions or options["count"] is not None or options.get("implicit"):
        data: RatingDataset = datasets.read_interactions(file, ids="str", count=options["count"], **_reading(options))
    else:
        scale = model.scale_ if model.rating_scale_ is None else model.rating_scale_
        wanted = {name: options[name] for name in ("rating", "drop_rating")}
        data, _ = read_ratings_or_interactions(file, scale=scale, ids="str", **wanted, **_reading(options))
    _refuse_empty(data, file)
    return replace(data, X=match_pairs(data.X, model.users_, model.items_))


def _whole(one: Any, word: str, file: str) -> Any:
    """Return a new id as the whole number that all ids of the model are."""
    try:
        return int(one)
    except ValueError:
        message = f"{word} {one!r} is not a whole number, as all {word}s that the model knows are: is it the column?"
        raise InvalidInputError(message, place=Place(display_name(file))) from None


def read_candidates(
    file: str, model: Any, encoding: str, new: FeatureTable | None = None
) -> tuple[list[Any], tuple[Text, ...]]:
    """Read ids of items, one in a line; those that a model does not know are left out.

    Parameters
    ----------
    file : str
        Path, or ``-``.
    model : RatingModel
        Fitted.
    encoding : str
        Of the file.
    new : FeatureTable, optional
        Features of new items, which may be candidates too.

    Returns
    -------
    ids : list
        In the form which the model knows.
    notes : tuple of Text
        What was left out.
    """
    name = display_name(file)
    if open_data(file).kind == "database":
        lines = [row[0] for row in read_small_table(file, encoding, most=1).rows]
    else:
        lines = [line.strip() for line in to_utf8(read_bytes(file), name, encoding).decode().split("\n")]
    texts = [(k, text) for k, text in enumerate(lines, 1) if text]
    if texts and normalize_header(texts[0][1]) in (*ALIASES["item"], "id"):
        texts = texts[1:]
    if not texts:
        raise InvalidInputError("holds no item ids, expected one in a line", place=Place(name))
    ids = match_ids([text for _, text in texts], model.items_)
    known = model.items_.index(ids) >= 0
    if new is not None:
        known |= new.ids.index(ids) >= 0
    if known.all():
        return ids, ()
    line, text = texts[int(known.argmin())]
    if not known.any():
        message = f"item {text!r} was not in training, and no other one: expected items which the model knows"
        raise InvalidInputError(message, place=Place(name, line))
    share = f"{int((~known).sum()):,} of {len(ids):,}, the first is {text!r} in line {line}"
    note = f"{name}: items that were not in training are left out: {share}"
    return [one for one, there in zip(ids, known, strict=True) if there], (note,)


def titles_of(ids: NDArray[Any], source: str, encoding: str) -> tuple[dict[str, str], tuple[Text, ...]]:
    """Return titles by item id, as `read_titles`, and say how many items have none; it is an error if all have none.

    Parameters
    ----------
    ids : ndarray
        Those of the items that are to have titles.
    source, encoding
        As in `read_titles`.
    """
    titles, place = read_titles(source, encoding), Place(display_name(source))
    lacking = sum(not titles.get(str(one)) for one in ids.tolist())
    if lacking == len(ids):
        others = "".join(f", but that of {one!r}" for one in [*titles][-1:])
        message = f"has the title of no item that was in training, such as {some_of(ids, 3)}{others}"
        raise InvalidInputError(message, advice="give a table whose first two columns are id and title", place=place)
    return titles, ((f"{place}: has no title of {lacking:,} of {len(ids):,} items",) if lacking else ())


def read_titles(source: str, encoding: str, what: str = "title") -> dict[str, str]:
    """Return titles, groups or boosts by item id, from a known data set, or a table.

    Columns are found by their names; where these say nothing, they are the first two.

    Parameters
    ----------
    source : str
        Path of a text or of Parquet, or name of a data set.
    encoding : str
        Of a text.
    what : {"title", "group", "boost"}
        What stands beside the ids; data sets have titles alone.
    """
    if what == "title" and open_data(source).kind == "known":
        return {str(item): title for item, title in datasets.load_ratings(source).item_names.items()}
    table = read_small_table(source, encoding, most=2, value=what)
    places = find_item_and_value(table.names or next(iter(table.rows), []), what)
    item, said = (0, 1) if places is None else places
    found: dict[str, str] = {}
    for number, row in table.numbered():
        if len(row) <= max(item, said):
            raise InvalidInputError(f"expected an item id and a {what}, found {row[0]!r}", place=table.place(number))
        if found.setdefault(row[item], row[said]) != row[said]:
            if what != "title":
                message = f"item {row[item]!r} has a second {what}, expected one for each item"
                raise InvalidInputError(message, place=table.place(number))
            found[row[item]] = row[said]
    return found


def interaction_notes(data: RatingDataset, ready: Ratings, why: str, duplicates: str = "error") -> tuple[Text, ...]:
    """Return what to know of a file that is read as interactions: why, if nobody said so, and what became of its rows.

    Parameters
    ----------
    data : InteractionDataset
    ready : Ratings
        As `checked_interactions` returns it.
    why : str
        As `read_rating_file` returns it.
    duplicates : {"error", "last", "mean"}
        What was to become of several ratings of one pair.
    """
    notes: list[Text] = []
    if why:
        counts = "none of ratings" in why
        otherwise = ("; as ratings with ", Argument("bins", 5), ", which makes levels of counts") if counts else ()
        notes.append((f"read as what users interacted with, since {why}", *otherwise))
    if data.description and (why or getattr(data, "kinds", None) is not None):
        notes.append(data.description)
    if ready.kind_weights:
        kinds = ", ".join(f"{kind} {weight:g}" for kind, weight in ready.kind_weights.items())
        notes.append(f"lists are about what comes to a {next(iter(ready.kind_weights))}; events count so: {kinds}")
    if data.n_dropped:
        notes.append(f"{plural(data.n_dropped, 'rating', form=',')} of items rated before: each item counts once")
    zeros = int((data.y == 0).sum())
    if zeros:
        notes.append(f"left out, since there was no interaction: {plural(zeros, 'row', form=',')} with count 0")
    repeats = data.n_ratings - zeros - ready.n_ratings
    if repeats:
        notes.append(
            f"{plural(repeats, 'interaction', form=',')} of a pair that occurred before: counts of a pair add up"
        )
    if duplicates != "error":
        notes.append((Argument("duplicates", duplicates), " is for ratings: counts of interactions add up"))
    return tuple(notes)


def scale_notes(data: RatingDataset, options: Mapping[str, Any]) -> tuple[Text, ...]:
    """Return what to know of ratings left out, and of levels which are bins: meaning, share, and how they were chosen.

    Parameters
    ----------
    data : RatingDataset
        Read with these options.
    options : mapping from str to object
        bins and bin_by.
    """
    notes: tuple[Text, ...] = ()
    if data.n_dropped:
        notes = ((f"{data.n_dropped:,} ratings are left out, as ", Argument("drop_rating"), " says"),)
    if data.rating_scale is None or options["bins"] is None:
        return notes
    shares = data.level_counts() / data.n_ratings
    parts = zip(data.rating_scale.scale, data.rating_scale.names(), shares, strict=True)
    levels = ", ".join(f"{level:g} for {name} ({share * 100:.1f} %)" for level, name, share in parts)
    notes += (f"levels of the ratings: {levels}",)
    if isinstance(options["bins"], int) and options["bin_by"] == "auto" and not _equal_width(data.rating_scale.edges):
        why = "bins of equal width would put more than three quarters of the ratings into one level; these hold"
        notes += ((why, " as many each as can be (for equal width: ", Argument("bin_by", "width"), ")"),)
    return notes


def _equal_width(edges: Sequence[float]) -> bool:
    return np.allclose(edges, np.linspace(edges[0], edges[-1], len(edges)))


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
    rows, item, user = _item_and_user(list(table.numbered()), table.names)
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
        many = plural(int((~known).sum()), f"{table.one} names", f"{table.one}s name", form=",")
        first = f"the first is {table.one} {number}, {', '.join(row)}"
        notes = (f"{table.file}: {many} what the model does not know, and so does not recommend: {first}",)
    if not users:
        return [one for one, there in zip(items, known, strict=True) if there], notes
    found: dict[Any, list[Any]] = {}
    for whose, one, there in zip(users, items, known, strict=True):
        if there:
            found.setdefault(whose, []).append(one)
    return found, notes


def _item_and_user(
    rows: list[tuple[int, list[str]]], names: tuple[str, ...] | None
) -> tuple[list[tuple[int, list[str]]], int, int | None]:
    """Return the rows, without one that names the columns, and which cells are the item and the user."""
    if not rows:
        return [], 0, None
    first = [normalize_header(cell) for cell in names or rows[0][1]]
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


#: Options that name files of features, and the ids of a model which they are about.
SIDES = {"user_features": "users_", "item_features": "items_"}


def features_of(data: Ratings, options: Mapping[str, Any]) -> dict[str, FeatureTable]:
    """Return the features that options name, by the arguments of `fit`.

    Parameters
    ----------
    data : Ratings
        The ratings to which they belong.
    options : mapping from str to object
        user_features and item_features: files, or names of known data sets; encoding.
    """
    sides = (("user_features", data.users), ("item_features", data.items))
    return {
        argument: _read_features(options[argument], argument, ids, options)
        for argument, ids in sides
        if options.get(argument) is not None
    }


def check_taking(models: Mapping[str, Any], features: Mapping[str, FeatureTable]) -> tuple[Text, ...]:
    """Refuse features that no model takes; return a note about those models that do not.

    Parameters
    ----------
    models : mapping from str to RatingModel
        By what messages call them.
    features : mapping from str to FeatureTable
        As `features_of` returns them.
    """
    without = [name for name, model in models.items() if not takes_features(model)]
    if not features or not without:
        return ()
    argument, names = next(iter(features)), ", ".join(without)
    none = "takes" if len(without) == 1 else "take"
    if len(without) == len(models):
        taking = [name for name, kind in short_names(MODELS).items() if kind.tags.features is True]
        others = ", ".join(["recommender", *taking])
        raise InvalidInputError((Argument(argument), f": {names} {none} no features; {others} do"), argument=argument)
    return (f"{names} {none} no features, and is fitted to the ratings alone",)


def side_features(model: Any, argument: str, options: Mapping[str, Any]) -> FeatureTable | None:
    """Return the features of users, or items, that an option names; None without it.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    argument : {"user_features", "item_features"}
        Whose features.
    options : mapping from str to object
        As for `features_of`.
    """
    if options.get(argument) is None:
        return None
    return _read_features(options[argument], argument, getattr(model, SIDES[argument]), options)


def only_new(model: Any, table: FeatureTable) -> FeatureTable:
    """Return the features of those who were not in training; there must be some.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    table : FeatureTable
        As `side_features` returns it.
    """
    new = new_rows(getattr(model, SIDES[table.argument]), table)
    if not new.any():
        whom = "users" if table.argument == "user_features" else "items"
        raise InvalidInputError((Argument(table.argument), f" holds only {whom} that were in training"))
    return table.select(new)


def asked(
    model: Any, X: NDArray[Any], options: Mapping[str, Any], times: NDArray[np.float64] | None = None
) -> PairQuery:
    """Return pairs with the models that know them; those who are new are folded in if files of features have them.

    Parameters
    ----------
    model, X, times
        As `PairQuery.of` takes them.
    options : mapping from str to object
        As for `features_of`.
    """
    tables = users, items = [side_features(model, argument, options) for argument in SIDES]
    matched = X
    for side, table in enumerate(tables):
        if table is not None:
            matched = matched.astype(object)
            matched[:, side] = match_ids(X[:, side], table.ids)
    return PairQuery.of(model, matched, users, items, times)


def _read_features(file: str, argument: str, known: IdMap, options: Mapping[str, Any]) -> FeatureTable:
    """Read features of a file, or of a known data set; ids in the form which is known."""
    with about(file):
        if file in SETS_WITH_FEATURES:
            table = dict(zip(SIDES, load_side_features(file), strict=True))[argument]
            if table is None:
                raise InvalidInputError(f"has no {argument.replace('_', ' ')}")
            ids: Any = [str(one) for one in table[0].tolist()]
            columns = table[1]
        else:
            ids, columns = read_side_features(file, encoding=options.get("encoding") or "utf-8", ids="str")
        return FeatureTable.read((match_ids(ids, known), columns), argument)
