"""Which column is the user, which the item, which the rating, by their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import Any

from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.text import is_number, plural
from cofactor.typing import Frame

Column = str | int

ROLES = ("user", "item", "rating")


def _ids_of(*words: str) -> tuple[str, ...]:
    return tuple(f"{word}{end}" for word in words for end in ("", "id", "key", "code", "no", "number"))


ALIASES: Mapping[str, tuple[str, ...]] = {
    "user": (
        *(*_ids_of("user"), "uid", "users", *_ids_of("customer"), "reviewerid"),
        *_ids_of("visitor", "buyer", "member", "shopper", "client", "account", "subscriber", "consumer", "viewer"),
        *_ids_of("reader", "listener", "guest"),
    ),
    "item": (
        *(*_ids_of("item"), "iid", "items", *_ids_of("movie", "film", "product", "book", "track", "joke")),
        *("asin", "isbn", *_ids_of("sku", "song", "artist", "video", "game", "app", "recipe", "restaurant", "hotel")),
        *(*_ids_of("venue", "anime", "podcast", "beer"), "businessid", "articleid", "contentid", "showid", "courseid"),
    ),
    "rating": (
        *("rating", "ratings", "stars", "score", "overall", "value", "val", "grade", "starrating", "userrating"),
        *("ratingvalue", "reviewscore", "reviewrating"),
    ),
    "timestamp": (
        *("timestamp", "time", "unixtime", "ts", "date", "datetime", "when", "eventtime", "eventdate", "orderdate"),
        *("createdat", "clickedat", "viewedat", "visitedat", "orderedat", "purchasedat", "boughtat", "ratedat"),
    ),
}
#: Names of columns which hold the kind of an event: a view, a cart, a purchase.
KIND_NAMES = ("event", "eventtype", "action", "actiontype", "behavior", "behaviour", "behaviortype", "kind")
#: Names of columns which hold counts: how often a user interacted with an item.
COUNT_NAMES = frozenset(
    {"count", "counts", "cnt", "n", "ntimes", "freq", "frequency", "quantity", "qty", "units"}
    | {
        name
        for event in ("play", "listen", "stream", "click", "view", "visit", "download", "purchase", "order")
        for name in (
            *(f"{start}{event}s" for start in ("", "n", "nb", "num", "number", "numberof", "total")),
            *(f"{event}{end}" for end in ("count", "counts", "cnt")),
        )
    }
)
_KNOWN = frozenset(alias for aliases in ALIASES.values() for alias in aliases)
_MOST_COLUMNS = 4  # user, item, rating, time
_SHOWN = 4  # names of columns in a message
_NAMELESS = ("", "unnamed0")  # as pandas writes an index to CSV, and as it reads it back
_DIGITS_OF_A_TIME = 9  # seconds since 1970, from 1973 on


class ColumnsError(InvalidInputError):
    """No columns of users and items were found, or no number among the ratings: perhaps it is no table of ratings."""


def normalize_header(name: str) -> str:
    """Reduce a column name to its letters and digits, in lower case: 'User_ID' becomes 'userid'."""
    return "".join(ch for ch in name.casefold() if ch.isalnum())


def guess_header(first: Sequence[str], following: Sequence[str], with_rating: bool) -> bool:
    """Whether the first line names columns: it holds no number, and a line of data would hold one."""
    if any(is_number(cell) for cell in first):
        return False
    return with_rating or any(map(_is_known, first)) or any(is_number(cell) for cell in following)


def resolve_columns(
    header: Sequence[str] | None,
    n_columns: int,
    wanted: Mapping[str, Column | None],
    name: str,
    first_row: Sequence[str] = (),
) -> dict[str, int]:
    """Return the positions of the columns for the roles in `wanted`, where None means the default of that role.

    Defaults are the columns whose names are known; where no name is known, the first columns in the order user, item,
    rating, but for the index of a pandas frame, which `has_index` knows by the first row of data. It is an error if one
    of these has the known name of another role.
    """
    usual = {role: k + has_index(header, first_row) for k, role in enumerate(ROLES)}
    found: dict[str, int] = {}
    for role, column in wanted.items():
        if column is not None:
            found[role] = _explicit(header, n_columns, role, column, name)
    for role in wanted:
        position = _by_alias(header, role) if role not in found else None
        if position is not None and position not in found.values():
            found[role] = position
    missing = [role for role in wanted if role not in found]
    in_usual_place = all(found[role] == usual[role] for role in wanted if role in found and role in ROLES)
    places = [usual[role] for role in missing]
    named_otherwise = any(_is_known(cell) for k, cell in enumerate(header or ()) if k in places)
    _refuse_taken(header, wanted, found, missing, name)
    if missing and header is not None and (named_otherwise or not in_usual_place):
        raise _unclear(header, missing, name)
    for role in missing:
        position = usual[role]
        if position >= n_columns or position in found.values():
            known = f" ({', '.join(header)})" if header else ""
            raise InvalidInputError(
                f"no column for the {role}; found {plural(n_columns, 'column')}{known}",
                argument=role,
                advice=("check the separator (", Argument("sep"), "), or give ", Argument(role)),
                place=Place(name),
            )
        found[role] = position
    _check_distinct(found, name)
    return {role: found[role] for role in wanted}


def refuse_other_tables(
    header: Sequence[str] | None, row: Sequence[str], wanted: Mapping[str, Column | None], name: str
) -> None:
    """Refuse tables whose first three columns would be read as users, items and ratings, but are none.

    No column was asked for, and there are more than a table of ratings needs. It is taken for a matrix of users and
    items if at most one of the names is known, and its first row of data holds, after the first cell, only numbers and
    empty cells, and no time; and for a table of features if it has a header which names no user, item or rating.
    """
    if has_index(header, row):
        header, row = (header or ())[1:], row[1:]
    asked = any(column is not None for column in wanted.values())
    if asked or len(row) <= _MOST_COLUMNS:
        return
    numeric = all(not cell or is_number(cell) for cell in row[1:])
    timed = any(map(is_time, row[1:]))
    take = ("if it is a long table, say which columns to take with ", *_arguments(wanted))
    if sum(map(_is_known, header or ())) <= 1 and numeric and not timed:
        raise ColumnsError(
            f"looks like a matrix, one row for each user and one column for each item ({len(row)} columns); "
            "expected a long table, one line for each rating, with user, item and rating. In pandas: "
            "table.melt(table.columns[0], var_name='item', value_name='rating').dropna()",
            advice=take,
            place=Place(name),
        )
    if header is not None and all(_by_alias(header, role) is None for role in ROLES):
        raise ColumnsError(
            f"looks like a table of features: it has {len(header)} columns, none of which is called "
            f"{', '.join(wanted)} or the like ({', '.join(header[:_SHOWN])}, ...)",
            advice=take,
            place=Place(name),
        )


def frame_columns(frame: Frame, *, rating: bool = True) -> dict[str, Any]:
    """Say which columns of a frame are user, item and rating, as `read_ratings` does for a file.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
        With one row for each rating.
    rating : bool, default True
        Whether a column of ratings is wanted as well.

    Returns
    -------
    dict
        Name of the column of each role: "user", "item" and "rating", in this order. Columns are known by name in any
        spelling of case, spaces and underscores (``user``, ``userId``, ``movie_id``, ``stars``, ...); where none is
        known, they are the first ones.

    Raises
    ------
    InvalidInputError
        If some names are known and others are not, in unusual places, or if the frame has a column for each item.

    Examples
    --------
    >>> import pandas as pd
    >>> from cofactor.columns import frame_columns
    >>> frame = pd.DataFrame({"stars": [4.0], "movie_id": [12], "userId": ["ann"]})
    >>> frame_columns(frame)
    {'user': 'userId', 'item': 'movie_id', 'rating': 'stars'}
    """
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    names = table.columns
    header = [str(name) for name in names] if all(isinstance(name, str) for name in names) else None
    wanted: dict[str, Column | None] = dict.fromkeys(ROLES if rating else ROLES[:2])
    try:
        first = [str(cell) for cell in table.row(0)] if len(table) else []
        if first:
            refuse_other_tables(header, first, wanted, "the frame")
        positions = resolve_columns(header, len(names), wanted, "the frame", first)
    except InvalidInputError as error:
        advice = f"name its columns {', '.join(wanted)}"
        raise InvalidInputError(error.problem, argument="X", advice=advice, place=error.place) from None
    return {role: names[position] for role, position in positions.items()}


def check_pair_names(names: Sequence[object]) -> None:
    """Refuse two columns of which the first is called as items are, or the second as users, and the other not so."""
    first, second = names
    header = [str(first), str(second)]
    of_items, of_users = ([has_role(header, place, role) for place in (0, 1)] for role in ("item", "user"))
    if of_items == [True, False] or of_users == [False, True]:
        raise InvalidInputError(
            (Argument("X"), f" has the columns {first!r} and {second!r}, but users come first"),
            advice=f"pass X[[{second!r}, {first!r}]]",
            argument="X",
        )


def names_pairs(names: Sequence[str]) -> bool:
    """Whether some column is called as users are, and another one as items are.

    Examples
    --------
    >>> names_pairs(["userId", "movie_id", "stars"]), names_pairs(["age", "time"])
    (True, False)
    """
    return all(_by_alias(names, role) is not None for role in ("user", "item"))


def has_index(header: Sequence[str] | None, first_row: Sequence[str]) -> bool:
    """Whether the first column is the index of a pandas frame: without a name, and with a whole number.

    Examples
    --------
    >>> has_index(["", "who", "what"], ["0", "ann", "Up"]), has_index(["Unnamed: 0", "u", "i"], ["0", "ann", "Up"])
    (True, True)
    >>> has_index(["", "Up", "Heat"], ["ann", "1", "5"]), has_index(["id", "u", "i"], ["0", "ann", "Up"])
    (False, False)
    """
    nameless = header is not None and len(header) > 2 and normalize_header(header[0]) in _NAMELESS
    return nameless and bool(first_row) and first_row[0].strip().isdecimal()


def names_ratings(header: Sequence[str] | None, first_row: Sequence[str]) -> bool:
    """Whether a table has a column of ratings: by its name, or without header a number in third place that is no time.

    Examples
    --------
    >>> names_ratings(["user", "item", "stars"], ["7", "1", "5"]), names_ratings(None, ["7", "1", "5"])
    (True, True)
    >>> names_ratings(["user", "item", "page"], ["7", "1", "5"]), names_ratings(None, ["7", "1", "881250949"])
    (False, False)
    """
    if header is not None:
        return _by_alias(header, "rating") is not None
    return len(first_row) > 2 and is_number(first_row[2]) and not is_time(first_row[2])


def is_time(cell: str) -> bool:
    """Whether a cell is written as a time: seconds since 1970, from 1973 on, or a date of ISO 8601.

    Examples
    --------
    >>> is_time("881250949"), is_time("2020-12-31"), is_time("5"), is_time("Up")
    (True, True, False, False)
    """
    if cell.isdecimal():
        return len(cell) >= _DIGITS_OF_A_TIME
    try:
        datetime.fromisoformat(cell)
    except ValueError:
        return False
    return True


def why_interactions(
    header: Sequence[str] | None, first_row: Sequence[str], *, timed: bool = False
) -> tuple[str, dict[str, Column]]:
    """Say why a table with such columns holds interactions, not ratings, and which columns hold counts and times.

    Parameters
    ----------
    header : sequence of str or None
        Names of the columns.
    first_row : sequence of str
        Cells of the first row of data.
    timed : bool
        Whether the caller names a column of times.

    Returns
    -------
    why : str
        Empty if the table may hold ratings.
    columns : dict
        "count", "kind" and "timestamp", where names or cells show them.

    Examples
    --------
    >>> why_interactions(["user", "item"], ["ann", "Up"])
    ('there is no column beside users and items', {})
    >>> why_interactions(["who", "what", "plays"], ["ann", "Up", "12"])
    ("there is a column 'plays', and none of ratings", {'count': 'plays'})
    >>> why_interactions(["user", "item", "rating"], ["7", "1", "5"])
    ('', {})
    >>> why_interactions(None, ["7", "1", "881250949"])
    ('there is no column beside users, items and times', {'timestamp': 2})
    """
    if has_index(header, first_row):
        header, first_row = (header or ())[1:], first_row[1:]
    n_columns = len(first_row)
    if _by_alias(header, "rating") is not None:
        return "", {}
    if n_columns == 2:
        return "there is no column beside users and items", {}
    only_times = "there is no column beside users, items and times"
    if n_columns == 3 and timed:
        return only_times, {}
    if header is None:
        return (only_times, {"timestamp": 2}) if n_columns == 3 and is_time(first_row[2]) else ("", {})
    kind = find_kind(header)
    if kind is not None and names_pairs(header):
        return f"there is a column {header[kind]!r} of kinds of events", {"kind": header[kind]}
    count = find_count(header)
    if count is not None:
        return f"there is a column {header[count]!r}, and none of ratings", {"count": header[count]}
    if min(n_columns, len(header)) > 2 and normalize_header(header[2]) in ALIASES["timestamp"] and names_pairs(header):
        return only_times, {}
    if n_columns == len(header) == 3 and is_time(first_row[2]):
        return only_times, {"timestamp": header[2]}
    return "", {}


def find_timestamp(header: Sequence[str] | None, n_columns: int, taken: Iterable[int]) -> int | None:
    """Position of the default column of times, if there is one: by name, or the fourth of four."""
    fourth = 3 if n_columns == 4 else None
    position = fourth if header is None else _by_alias(header, "timestamp")
    return None if position in set(taken) else position


def find_kind(header: Sequence[str] | None) -> int | None:
    """Return the position of the column whose name says that it holds kinds of events.

    Examples
    --------
    >>> find_kind(["timestamp", "visitorid", "event", "itemid"]), find_kind(["user", "item"])
    (2, None)
    """
    names = [normalize_header(cell) for cell in header or ()]
    return next((names.index(name) for name in KIND_NAMES if name in names), None)


def find_count(header: Sequence[str], taken: Iterable[int] = ()) -> int | None:
    """Return the position of the first column whose name says that it holds counts, and that is not taken.

    Examples
    --------
    >>> find_count(["user", "item", "n_plays"]), find_count(["user", "item", "stars"])
    (2, None)
    """
    others = set(taken)
    return next((k for k, name in enumerate(header) if normalize_header(name) in COUNT_NAMES and k not in others), None)


def explicit_timestamp(header: Sequence[str] | None, n_columns: int, column: Column, name: str) -> int:
    """Position of the column of times which the caller named."""
    return _explicit(header, n_columns, "timestamp", column, name)


def _is_known(cell: str) -> bool:
    return normalize_header(cell) in _KNOWN


def find_item_and_value(names: Sequence[str], what: str) -> tuple[int, int] | None:
    """Return the columns of items, and of something that is said of them, by names; None where these do not say it.

    Parameters
    ----------
    names : sequence of str
    what : str
        What the second is called.

    Examples
    --------
    >>> find_item_and_value(["", "film", "boost"], "boost"), find_item_and_value(["boost", "item"], "boost")
    ((1, 2), (1, 0))
    >>> find_item_and_value(["50", "0.7"], "boost") is None
    True
    """
    plain = [normalize_header(name) for name in names]
    item, said = _by_alias(names, "item"), plain.index(what) if what in plain else None
    others = [k for k, name in enumerate(plain) if k not in (item, said) and name not in _NAMELESS]
    if item is not None and said is None and len(others) == 1:
        said = others[0]
    elif item is None and said is not None and others:
        item = others[0]
    return None if item is None or said is None else (item, said)


def has_role(header: Sequence[str] | None, position: int, role: str) -> bool:
    """Whether the column at a position has a known name of a role.

    Examples
    --------
    >>> has_role(["who", "movieId"], 1, "item"), has_role(["who", "movieId"], 0, "user"), has_role(None, 0, "user")
    (True, False, False)
    """
    return header is not None and normalize_header(header[position]) in ALIASES.get(role, ())


def _by_alias(header: Sequence[str] | None, role: str) -> int | None:
    names = [normalize_header(cell) for cell in header or ()]
    return next((names.index(alias) for alias in ALIASES[role] if alias in names), None)


def _explicit(header: Sequence[str] | None, n_columns: int, role: str, column: Column, name: str) -> int:
    if isinstance(column, str):
        if header is None:
            raise InvalidInputError(
                (Argument(role, column), " names a column, but the file has no header"),
                argument=role,
                advice=("give its position counted from 0, for example ", Argument(role, 0)),
                place=Place(name),
            )
        if column not in header:
            known = f"); the columns are {', '.join(header)}"
            raise InvalidInputError(
                (f"no column {column!r} (", Argument(role), known), argument=role, place=Place(name)
            )
        return list(header).index(column)
    if not 0 <= column < n_columns:
        extent = f" is out of range; the file has {plural(n_columns, 'column')}, 0 the first"
        raise InvalidInputError((Argument(role, column), extent), argument=role, place=Place(name))
    return int(column)


def _refuse_taken(
    header: Sequence[str] | None,
    wanted: Mapping[str, Column | None],
    found: Mapping[str, int],
    missing: Sequence[str],
    name: str,
) -> None:
    """Refuse a column that was asked for in one role, and is called as that of another one, which is missing."""
    for role, column in wanted.items():
        other = next((one for one in missing if column is not None and has_role(header, found[role], one)), None)
        if other is not None:
            columns = f" names the column of the {other}s; the columns are {', '.join(header or ())}"
            advice = ("name another one, or that of the ", f"{other}s with ", Argument(other))
            raise InvalidInputError((Argument(role, column), columns), argument=role, advice=advice, place=Place(name))


def _unclear(header: Sequence[str], missing: Sequence[str], name: str) -> InvalidInputError:
    """Return the error for a header in which no name is known for some roles."""
    kind = ColumnsError if {"user", "item"} <= set(missing) else InvalidInputError
    which = f"cannot tell which column holds the {' and the '.join(missing)}"
    advice = ("say which with ", *_arguments(missing))
    return kind(f"{which}; the columns are {', '.join(header)}", argument=missing[0], advice=advice, place=Place(name))


def _arguments(roles: Iterable[str]) -> list[str | Argument]:
    """Return arguments with commas between them, as parts of a message."""
    parts: list[str | Argument] = []
    for role in roles:
        parts += [", ", Argument(role)] if parts else [Argument(role)]
    return parts


def _check_distinct(found: Mapping[str, int], name: str) -> None:
    for first, second in combinations(found, 2):
        if found[first] == found[second]:
            same = f" name the same column (position {found[first]})"
            raise InvalidInputError(
                (Argument(first), " and ", Argument(second), same), argument=second, place=Place(name)
            )
