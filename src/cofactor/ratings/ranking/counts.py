"""Interactions: which items users interacted with, read as `Ratings` of one level, from whatever holds them.

Of views, carts and purchases together, what an event of each kind counts is learned by which items come to be bought.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import as_weights, check_sparse
from cofactor.columns import find_count, find_timestamp, names_ratings
from cofactor.datasets.levels import looks_like_ratings
from cofactor.errors import Argument, InvalidInputError
from cofactor.frames import as_frame, as_series, collect
from cofactor.limits import LARGEST
from cofactor.model.progress import Monitor
from cofactor.model.times import the_times
from cofactor.problems.choice import soft_log
from cofactor.ratings.data import Ratings, union
from cofactor.ratings.ids import IdMap
from cofactor.ratings.interactions import (
    FrameRoles,
    Interactions,
    is_data_set,
    place_of_kinds,
    rating_values,
    refuse_none,
    warn_of,
    weights_of_entries,
)
from cofactor.ratings.ranking.held_out import HeldOut, Trials, popularity_prior
from cofactor.text import plural, shorten
from cofactor.typing import Pairs, RatingValues, SparseTable

#: The scale of interactions: level 2 for an item with one, level 1 for an item without; only interactions are stored.
INTERACTED = np.array([0.0, 1.0])
INTERACTED.setflags(write=False)

_SEVERAL = 10  # users, of whom one with more than half of all interactions is unusual


def as_interactions(
    X: Pairs,
    y: RatingValues = None,
    *,
    times: ArrayLike | None = None,
    sample_weight: ArrayLike | SparseTable | None = None,
    items: IdMap | None = None,
    unknown_items: Literal["error", "drop"] = "error",
    kind: ArrayLike | None = None,
    target: str | None = None,
    kind_weights: Mapping[str, float] | None = None,
) -> Ratings:
    """Return interactions as `Ratings` on the scale 0, 1 with all levels 2, counts as weights.

    Parameters
    ----------
    X : array of shape (n, 2), list of pairs, frame, scipy sparse matrix, `Ratings`, or a data set with X and y
        User id and item id of each interaction; a third column holds times. A pair may come several times: its counts
        add up, and its time is the latest. A frame may have a column of counts (count, plays, clicks, ...), and one of
        times; a column of ratings says nothing but that there was an interaction. Entries of a sparse matrix are
        counts. Any rated item of a `Ratings`, of a data set, or of a frame with a column of ratings counts as one
        interaction, however often it was rated.
    y : array-like of shape (n,), optional
        How often each pair occurred, where X does not hold it; 0 is no interaction, but user and item are known then.
    times : array-like of shape (n,), optional
        When, as in `Ratings.from_pairs`.
    sample_weight : array-like of shape (n,), or sparse matrix of the shape of X, optional
        How much each row counts, at least 0; it multiplies counts. Numbers are in the order of ``X.tocoo()``.
    items, unknown_items
        As in `Ratings.from_pairs`.
    kind, target
        As in `ImplicitModel.fit`; a frame may have a column of kinds, called event, event_type, action, behavior or the
        like, and a data set `kinds`.
    kind_weights : mapping of str to float, optional
        What an event of each kind counts; by default it is learned (`learned_weights`). An empty one knows no kinds.

    Returns
    -------
    Ratings
        ``X`` itself if it holds such interactions already.

    Raises
    ------
    InvalidInputError
        If there are no interactions, counts are negative or not finite, or look like ratings.

    Examples
    --------
    >>> interactions = as_interactions([("ann", "Up"), ("bob", "Up"), ("ann", "Up")], [2, 1, 5])
    >>> interactions.shape, interactions.values.tolist(), interactions.weights.tolist()
    ((2, 1), [1.0, 1.0], [7.0, 1.0])
    """
    if isinstance(X, Ratings):
        _check_kinds(kind, target, kind_weights)
        if kind is not None:
            raise InvalidInputError("needs pairs, of which each is an event", argument="kind")
        return _of_ratings(X, y, times, weights_of_entries(X, sample_weight), items)
    if sparse.issparse(X) and all(one is None for one in (y, items, times, sample_weight, kind, target)):
        return _of_sparse(X)
    given = Interactions.read(X, y, times, sample_weight, kind, counts=True)
    _check_kinds(given.kinds, target, kind_weights)
    n, rated = len(given.users), given.says == "ratings"
    if rated or given.values is None:
        counts = np.ones(n)
    else:
        counts = _counts(given.values, n, named=given.says == "counts", matrix=given.shape is not None)
    refuse_none(counts)
    counts = counts if given.weights is None else counts * given.weights
    users, items, rows, columns = given.indexed(items, unknown_items, "interaction")
    if given.kinds is not None:
        names = as_kinds(given.kinds, n)
        if kind_weights is None:
            kind_weights = _weights_of_events(users, items, rows, columns, counts, names, target)
        counts = counts * weights_of_kinds(names, kind_weights)
    kept = (columns >= 0) & (counts > 0)
    if not (counts > 0).any():
        raise _nobody()
    stamped = None if given.times is None else given.times[kept]
    interactions = _added_up(users, items, rows[kept], columns[kept], counts[kept], stamped)
    # Of what was rated again and again, each pair is one interaction.
    once = rated and sample_weight is None
    return replace(interactions, weights=None) if once else replace(interactions, kind_weights=kind_weights or None)


def _check_kinds(kinds: Any, target: str | None, kind_weights: Mapping[str, float] | None) -> None:
    """Refuse kinds that a model does not know, and a target where there are none."""
    if kinds is None and target is not None:
        raise InvalidInputError(
            "there are no kinds of events", argument="target", found=target, advice=("give ", Argument("kind"))
        )
    if kinds is not None and kind_weights is not None and not kind_weights:
        raise InvalidInputError(
            "the model was fitted to events without kinds", argument="kind", advice="leave the kinds out"
        )


def holds_kinds(X: Any) -> bool:
    """Whether a frame has a column of kinds of events, or a data set has kinds.

    Examples
    --------
    >>> import polars as pl
    >>> holds_kinds(pl.DataFrame({"user": [7, 7], "item": ["Up", "Heat"], "event": ["view", "buy"]}))
    True
    """
    if is_data_set(X):
        return getattr(X, "holds_interactions", False) and getattr(X, "kinds", None) is not None
    frame = as_frame(X)
    return frame is not None and place_of_kinds(frame.columns) is not None


def _weights_of_events(
    users: IdMap,
    items: IdMap,
    rows: NDArray[Any],
    columns: NDArray[Any],
    counts: NDArray[np.float64],
    kinds: NDArray[Any],
    target: str | None,
) -> dict[str, float]:
    """Return what events of each kind count."""
    target, events = target_of(kinds, target), _added_up(users, items, rows, columns, np.ones(len(rows)), None)
    pairs = rows.astype(np.int64) * len(items) + columns
    place = np.searchsorted(events.row_of_entry.astype(np.int64) * len(items) + events.indices, pairs)
    of_each: dict[str, Any] = {
        str(name): np.bincount(place, counts * (kinds == name), minlength=events.n_ratings)
        for name in dict.fromkeys(kinds.tolist())
    }
    if not of_each[target].any():
        raise InvalidInputError("all counts of this kind are 0", argument="target", found=target)
    return learned_weights(events, of_each, target)


def joined_interactions(earlier: Ratings, later: Ratings) -> Ratings:
    """Return the interactions of both: counts add up, and a pair has its latest time; times only where both have some.

    Examples
    --------
    >>> earlier, later = as_interactions([("ann", "Up")]), as_interactions([("ann", "Up"), ("bob", "Heat")], [2, 1])
    >>> both = joined_interactions(earlier, later)
    >>> both.shape, both.weights.tolist()
    ((2, 2), [3.0, 1.0])
    """
    users, items = union(earlier.users, later.users), union(earlier.items, later.items)
    parts = (earlier, later)
    rows = np.concatenate([users.index(part.users.ids)[part.row_of_entry] for part in parts])
    columns = np.concatenate([items.index(part.items.ids)[part.indices] for part in parts])
    counts = np.concatenate([_weights(part) for part in parts])
    known = [part.times for part in parts if part.times is not None]
    timed = known and all(part.times is not None or not part.n_ratings for part in parts)
    return _added_up(users, items, rows, columns, counts, np.concatenate(known) if timed else None)


def warn_of_all_again(earlier: Ratings, new: Ratings) -> None:
    """Warn where new interactions hold all earlier ones as well, whose counts are added to themselves.

    Examples
    --------
    >>> day = as_interactions([("ann", "Up")])
    >>> warn_of_all_again(day, as_interactions([("bob", "Up")]))
    """
    if new.n_ratings <= earlier.n_ratings or not earlier.n_ratings:
        return
    both = [ids.index(old.ids) for ids, old in ((new.users, earlier.users), (new.items, earlier.items))]
    rows, columns = both[0][earlier.row_of_entry].astype(np.int64), both[1][earlier.indices]
    if min(rows.min(), columns.min()) < 0:
        return
    pairs = new.row_of_entry.astype(np.int64) * len(new.items) + new.indices
    wanted = rows * len(new.items) + columns
    place = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    if (pairs[place] == wanted).all() and (_weights(new)[place] >= _weights(earlier)).all():
        those = plural(earlier.n_ratings, "interaction", form=",")
        warn_of(f"the update holds all {those} that the model has, and counts add up; give those alone that are new")


def strengths(
    interactions: Ratings, counts: str, entries: NDArray[np.int64] | slice = slice(None)
) -> NDArray[np.float64]:
    """Return how much each interaction says, in the order of the entries by user.

    Parameters
    ----------
    interactions : Ratings
    counts : {"log", "linear", "binary"}
        1 + ln(count), where counts are above 1; the count itself; or 1.
    entries : ndarray or slice, optional
        Of which interactions; by default of all.

    Examples
    --------
    >>> interactions = as_interactions([("ann", "Up"), ("bob", "Up")], [10, 1])
    >>> strengths(interactions, "log").round(2).tolist(), strengths(interactions, "binary").tolist()
    ([3.3, 1.0], [1.0, 1.0])
    """
    weights = (np.broadcast_to(1.0, interactions.n_ratings) if interactions.weights is None else interactions.weights)[
        entries
    ]
    if counts == "linear":
        return weights
    return np.ones(len(weights)) if counts == "binary" else np.where(weights > 1, 1 + np.log(weights), weights)


def warn_of_dominant_user(interactions: Ratings) -> None:
    """Warn where one of several users has most of the interactions.

    Examples
    --------
    >>> warn_of_dominant_user(as_interactions([(u, i) for u in range(20) for i in range(5)]))
    """
    sums = np.bincount(interactions.row_of_entry, _weights(interactions), minlength=len(interactions.users))
    most, whole = int(sums.argmax()), sums.sum()
    if len(sums) >= _SEVERAL and 2 * sums[most] > whole:
        who, share = interactions.users.ids[most], sums[most] / whole
        warn_of(
            f"user {who} has {share:.0%} of all interactions, and other lists follow them; "
            "leave it out if it is a robot"
        )


def _weights(interactions: Ratings) -> NDArray[np.float64]:
    return np.ones(interactions.n_ratings) if interactions.weights is None else interactions.weights


def _of_ratings(X: Ratings, y: Any, times: Any, sample_weight: Any, items: IdMap | None) -> Ratings:
    """Return which items have any rating."""
    if y is not None or times is not None:
        name = "time" if y is None else "y"
        raise InvalidInputError(f"{name} must be None where X is a Ratings, which holds it itself", argument=name)
    X.check_items(items)
    refuse_none(X.values)
    levels = np.full(X.n_ratings, 2, dtype=np.uint8)
    interactions = replace(X, scale=INTERACTED, levels=levels, rating_scale=None)
    if sample_weight is None:
        return X if np.array_equal(X.scale, INTERACTED) and (X.levels == 2).all() else interactions
    weights = as_weights(sample_weight, X.n_ratings, "interaction")
    if weights is None:
        return interactions
    kept = weights > 0
    counts: Any = (weights * _weights(interactions))[kept]
    return replace(interactions.subset(kept), weights=counts)


def _of_sparse(X: Any) -> Ratings:
    """Return the entries of a sparse matrix as interactions, in its order by rows: nothing is sorted without need."""
    check_sparse(X, "X")
    found = X if X.format in ("csr", "csc", "coo") else sparse.coo_array(X)
    n_entries, ones = len(found.data), bool((found.data == 1).all())
    if not ones:
        _counts(found.data, n_entries, matrix=True)
    refuse_none(found.data)
    table = sparse.csr_array(found)
    if table.has_canonical_format:
        kept = table if ones or (table.data != 0).all() else table.copy()
    else:
        kept = table.astype(np.float64)  # a copy
        kept.sum_duplicates()
    if kept is not table:
        kept.eliminate_zeros()
    if not kept.nnz:
        raise _nobody()
    n, m = kept.shape
    indptr, indices = kept.indptr.astype(np.int64), np.array(kept.indices, dtype=np.int32)
    levels = np.full(kept.nnz, 2, dtype=np.uint8)
    interactions = Ratings.from_csr(IdMap.of_range(n), IdMap.of_range(m), INTERACTED, indptr, indices, levels)
    counts: Any = None if ones and kept.nnz == n_entries else kept.data.astype(np.float64)
    return interactions if counts is None or (counts == 1).all() else replace(interactions, weights=counts)


def _nobody() -> InvalidInputError:
    return InvalidInputError("all counts are 0: there are no interactions", argument="y")


def _added_up(
    users: IdMap,
    items: IdMap,
    rows: NDArray[Any],
    columns: NDArray[Any],
    counts: NDArray[np.float64],
    seconds: NDArray[np.float64] | None,
) -> Ratings:
    """Return interactions, each pair once."""
    pairs = rows.astype(np.int64) * len(items) + columns
    interactions = Ratings.from_entries(users, items, rows, columns, np.ones(len(rows)), INTERACTED, "last", seconds)
    if len(pairs) == interactions.n_ratings and (counts == 1).all():
        return interactions
    place = np.searchsorted(interactions.row_of_entry.astype(np.int64) * len(items) + interactions.indices, pairs)
    totals: Any = np.bincount(place, weights=counts, minlength=interactions.n_ratings)
    return replace(interactions, weights=None if (totals == 1).all() else totals)


def _counts(y: Any, n: int, *, named: bool = False, matrix: bool = False) -> NDArray[np.float64]:
    """Return checked counts; `named` if a column's name says that they are such, `matrix` if they are its entries."""
    values = rating_values(y, n)
    negative = np.flatnonzero(values < 0)
    if negative.size:
        raise InvalidInputError(
            f"y holds {plural(negative.size, 'negative count')}, the first of them in row {negative[0]}",
            argument="y",
            advice="leave out pairs without an interaction; of likes and dislikes, or ratings, a rating model learns",
        )
    if values.max(initial=0.0) > LARGEST:
        raise InvalidInputError(
            f"the largest count is {values.max():g}, expected one up to {LARGEST:g}",
            argument="y",
        )
    if not named and looks_like_ratings(values):
        raise _ratings_for_counts(values, matrix)
    return values


def _ratings_for_counts(values: NDArray[np.float64], matrix: bool) -> InvalidInputError:
    """Return the error for what looks like ratings where counts belong: how to pass either."""
    found = ", ".join(f"{one:g}" for one in np.unique(values))
    where, once = ("the entries of X are", "pass X.astype(bool)") if matrix else ("y is to hold", "leave y out")
    pass_counts: tuple[str | Argument, ...] = ("pass them as ", Argument("sample_weight"))
    if matrix:
        pass_counts = ("pass them so: fit(X.astype(bool), sample_weight=X)",)
    else:
        pass_counts = (*pass_counts, ", or in a frame or a Series that is called count, plays, clicks or the like")
    return InvalidInputError(
        f"{where} counts, and these look like ratings: {found}",
        argument="X" if matrix else "y",
        advice=(f"{once}, so that each rated item counts as one interaction; if they are counts, ", *pass_counts),
    )


def counts_apart(X: Any, times: Any = None) -> tuple[Any, Any, Any]:
    """Return the pairs, the counts and the times of a frame of counts, and no ratings, or of a sparse matrix of counts.

    Parameters
    ----------
    X : frame, sparse matrix, or pairs alone
    times : array-like of shape (n,), optional
        Times, where X has none.

    Returns
    -------
    pairs, counts, times
        Counts are None where X holds none, or only ones.

    Raises
    ------
    InvalidInputError
        If the entries of a matrix look like ratings.

    Examples
    --------
    >>> counts_apart(sparse.csr_array([[0, 12], [1, 0]]))[0].tolist()
    [[0, 1], [1, 0]]
    >>> counts_apart([("ann", "Up")])
    ([('ann', 'Up')], None, None)
    """
    X = collect(X)
    if sparse.issparse(X):
        found = sparse.coo_array(cast(Any, X))
        if looks_like_ratings(found.data):
            values = ", ".join(f"{one:g}" for one in np.unique(found.data))
            raise InvalidInputError(
                f"the entries of X may be ratings or counts: {values}",
                argument="X",
                advice="with m = X.tocoo() give np.column_stack((m.row, m.col)), and m.data as y if they are ratings, "
                "as counts if they are counts",
            )
        return np.column_stack((found.row, found.col)), None if (found.data == 1).all() else found.data, times
    frame = as_frame(X)
    names = [] if frame is None else list(map(str, frame.columns))
    if frame is None or find_count(names) is None or names_ratings(names, ()):
        return X, None, times
    roles = FrameRoles.of(frame, counts=True)
    roles.tell(frame)
    return roles.pairs(frame), roles.values(frame), the_times(roles.times(frame), times)


def holds_no_ratings(X: Any, y: Any) -> bool:
    """Whether X and y hold interactions alone: pairs without y, or with one value for all.

    Examples
    --------
    >>> X = [("ann", "Up"), ("bob", "Up")]
    >>> holds_no_ratings(X, None), holds_no_ratings(X, [1, 1]), holds_no_ratings(X, [1, 2])
    (True, True, False)
    """
    values = ratings_in(X, y)
    return values is None or len(set(values)) == 1


def ratings_in(X: Any, y: Any) -> list[Any] | None:
    """Return the ratings that X and y hold, None if they are pairs alone.

    Examples
    --------
    >>> ratings_in([("ann", "Up"), ("bob", "Up")], None), ratings_in([("ann", "Up")], [4])
    (None, [4])
    """
    values: Any = y
    if isinstance(X, Ratings):
        values = X.levels
    elif sparse.issparse(X):
        values = sparse.coo_array(cast(Any, X)).data
    elif is_data_set(X):
        values = None if getattr(X, "holds_interactions", False) else X.y
    elif y is None and (frame := as_frame(X)) is not None:
        names = list(map(str, frame.columns))
        other = find_count(names) is not None or find_timestamp(names, len(names), ()) is not None
        if len(names) == 2 or (other and not names_ratings(names, ())):
            return None
        values = FrameRoles.of(frame).values(frame)
    if values is None or (values is y and find_count([str(getattr(y, "name", ""))]) is not None):
        return None
    column = as_series(values)
    found: list[Any] = np.asarray(values).tolist() if column is None else column.to_list()
    return found


#: Events that a kind has at least which is the target by default.
_ENOUGH = 300

#: What other kinds count at first, and all that they may count.
_FIRST, _WEIGHTS = 0.1, (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)

#: Of the pairs with the target that are held out: it is rare.
_SHARE = 0.3

#: Of the walks that lists are made of: exponents of steps and of popularity, and what popularity adds to the mean.
_STEP, _BETA, _PRIOR, _FLOOR = 0.7, 0.4, 0.1, 0.1

_USERS = 64  # of which walks are in memory at a time


def as_kinds(kinds: ArrayLike, n: int) -> NDArray[Any]:
    """Return the kind of each event as text.

    Examples
    --------
    >>> as_kinds(["view", "buy"], 2).tolist(), as_kinds(np.array([1, 4]), 2).tolist()
    (['view', 'buy'], ['1', '4'])
    """
    if isinstance(kinds, np.ndarray) and kinds.dtype.kind == "U" and kinds.shape == (n,) and (kinds != "").all():
        return kinds
    series = as_series(kinds)
    found = list(kinds) if series is None else series.to_list()  # type: ignore[arg-type]
    if len(found) != n:
        raise InvalidInputError(
            (Argument("kind"), f" holds {len(found):,}, expected one for each of {n:,} events"), argument="kind"
        )
    missing = [row for row, kind in enumerate(found) if kind is None or kind != kind or kind == ""]
    if missing:
        raise InvalidInputError(
            (Argument("kind"), f" is missing in row {missing[0]}"),
            argument="kind",
            advice="leave out events of which it is not known",
        )
    return np.array([str(kind) for kind in found])


def target_of(kinds: NDArray[Any], target: str | None = None) -> str:
    """Return what lists are to be about: the rarest kind that has 300 events, else the one with most events.

    Examples
    --------
    >>> kinds = np.array(["view"] * 900 + ["cart"] * 400 + ["buy"] * 300 + ["gift"] * 9)
    >>> target_of(kinds), target_of(kinds[:9]), target_of(kinds, "cart")
    ('buy', 'view', 'cart')
    """
    names, counts = np.unique(kinds, return_counts=True)
    if target is None:
        order = np.argsort(counts, kind="stable")
        return str(names[next((k for k in order if counts[k] >= _ENOUGH), order[-1])])
    if target not in names:
        raise InvalidInputError(
            f"no event is of this kind; there are {shorten(names.tolist())}", argument="target", found=target
        )
    return target


def weights_of_kinds(kinds: NDArray[Any], weights: Mapping[str, float]) -> NDArray[np.float64]:
    """Return what each event counts.

    Examples
    --------
    >>> weights_of_kinds(np.array(["view", "buy", "view"]), {"buy": 1.0, "view": 0.1}).tolist()
    [0.1, 1.0, 0.1]
    """
    names, number = np.unique(kinds, return_inverse=True)
    unknown = [name for name in names.tolist() if name not in weights]
    if unknown:
        raise InvalidInputError(
            f"of these kinds there was no event in training: {shorten(unknown)}",
            argument="kind",
            advice=f"leave these events out, or rename their kind to one of {', '.join(weights)}",
        )
    return np.array([weights[name] for name in names.tolist()])[number]


def learned_weights(events: Ratings, counts: Mapping[str, NDArray[np.float64]], target: str) -> dict[str, float]:
    """Return what an event of each kind counts, that of the target 1, so that what has it comes to stand high in lists.

    Of the pairs of each user that have the target three tenths are held out, with all their events. Items are ranked by
    walks over the other events (`RP3beta`), and the weight of one kind after the other, the most frequent first, is
    the one of 0, .01, .03, .1, .3 and 1 with the highest mean of 1 / log2(1 + rank).

    Parameters
    ----------
    events : Ratings
        Pairs with any event.
    counts : mapping of str to ndarray
        How many events of a kind each pair has.
    target : str
    """
    aimed = (counts[target] > 0).astype(np.float64)
    held_out = HeldOut.of(replace(events, weights=aimed), 0, share=_SHARE)
    others = sorted((kind for kind in counts if kind != target), key=lambda kind: -counts[kind].sum())
    best = dict.fromkeys(others, _FIRST)
    if not others or not len(held_out.users):
        return {target: 1.0, **best}
    there = _places(events, held_out.train)
    table = np.stack([counts[kind][there] for kind in (target, *others)])

    def learn(**weights: float) -> NDArray[np.float32]:
        values = np.array([1.0, *weights.values()]) @ table
        return _walks(replace(held_out.train, weights=values), held_out.users)

    trials = Trials(held_out, learn, Monitor(None, False))
    for kind in others:
        for weight in _WEIGHTS:
            trials.gain(**{**best, kind: weight})
        best = dict(trials.best)
    return {target: 1.0, **best}


def _places(events: Ratings, some: Ratings) -> NDArray[np.bool_]:
    """Return which entries are among some of them."""
    whole, part = (one.row_of_entry.astype(np.int64) * len(events.items) + one.indices for one in (events, some))
    return np.isin(whole, part, assume_unique=True)


def _walks(events: Ratings, users: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return scores of all items for users: walks to an item, to another user who has it, to another item."""
    events = events.subset(cast(Any, events.weights) > 0)
    weights: Any = events.weights
    values = np.where(weights > 1, 1 + np.log(np.maximum(weights, 1)), weights)
    rows, columns = events.row_of_entry, events.indices
    of_users, of_items = (
        np.maximum(np.bincount(ids, values, minlength=n), 1e-9)
        for ids, n in zip((rows, columns), events.shape, strict=True)
    )

    def table(data: NDArray[Any]) -> sparse.csr_array:
        return sparse.csr_array((data.astype(np.float32), columns, events.indptr), shape=events.shape)

    back = sparse.csr_array(table((values / of_items[columns]) ** _STEP).T)
    there, own = table((values / of_users[rows]) ** _STEP), table(values)[users]
    out = np.empty((len(users), len(events.items)), dtype=np.float32)
    for lo in range(0, len(users), _USERS):
        out[lo : lo + _USERS] = (own[lo : lo + _USERS] @ back @ there).toarray()
    out *= (of_items**-_BETA).astype(np.float32)
    level = float(out[out > 0].mean()) if (out > 0).any() else 1.0
    return soft_log(out / level + _PRIOR * popularity_prior(of_items), _FLOOR)
