"""Files of ratings, of pairs, of candidates and of titles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor import datasets
from cofactor.columns import ALIASES, ColumnsError, beside_items, plain
from cofactor.datasets import InteractionDataset, RatingDataset
from cofactor.datasets.formats import FileInfo, sniff
from cofactor.datasets.readers.ratings import read_ratings_or_interactions
from cofactor.errors import Argument, InvalidInputError, Place, Text
from cofactor.files import display_name, read_bytes, to_utf8
from cofactor.limits import MAX_LEVELS
from cofactor.model.splits import pair_numbers
from cofactor.ratings import Ratings, as_ratings
from cofactor.ratings.data import SUSPICIOUS_SHARE, latest_values, refuse_one_level
from cofactor.ratings.features import FeatureTable
from cofactor.ratings.ranking import as_interactions
from cofactor.tasks.matching import match_ids, match_pairs
from cofactor.tasks.places import about
from cofactor.tasks.plain import Loaded
from cofactor.tasks.rating_notes import interaction_notes
from cofactor.tasks.registry import unknown_file
from cofactor.tasks.small_tables import read_small_table
from cofactor.text import counted, some_of

__all__ = [
    "checked_interactions",
    "checked_ratings",
    "read_candidates",
    "read_more",
    "read_new_users",
    "read_rating_file",
    "read_rating_pairs",
    "read_titles",
    "titles_of",
    "with_latest",
]

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
    found, implicit = sniff(file), options["implicit"] or any(one is not None for one in of_interactions)
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
    with _hints():
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


def _unknown(found: FileInfo) -> InvalidInputError:
    """Return the error for a name that is neither a file nor a data set of ratings."""
    if found.holds == "labels":
        advice = (": leave out ", Argument("task", "ratings"), " and options for ratings")
        return InvalidInputError((f"{found.path} holds labels, not ratings", *advice))
    return unknown_file(found.path)


@contextmanager
def _hints() -> Iterator[None]:
    """Within the block, an error about columns adds what the file may hold instead: labels, or interactions."""
    try:
        yield
    except InvalidInputError as error:
        is_none = isinstance(error, ColumnsError)
        in_cell = error.place is not None and error.place.column is not None
        hints: list[str | Argument] = []
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
        words = data.coding if data.coding is not None and data.coding.words else None
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
    note = f"{counted(repeats, 'rating')} of a pair that was rated before: kept is {kept} ({data.description})"
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
        scale = model.scale_ if model.coding_ is None else model.coding_
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
    lines = [line.strip() for line in to_utf8(read_bytes(file), name, encoding).decode().split("\n")]
    texts = [(k, text) for k, text in enumerate(lines, 1) if text]
    if texts and plain(texts[0][1]) in (*ALIASES["item"], "id"):
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
    if what == "title" and sniff(source).kind == "known":
        return {str(item): title for item, title in datasets.load_ratings(source).item_names.items()}
    table = read_small_table(source, encoding, most=2)
    places = beside_items(table.names or next(iter(table.rows), []), what)
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
