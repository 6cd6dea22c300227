"""Views, carts and purchases together: what an event of each kind counts, learned by which items come to be bought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.errors import Argument, InvalidInputError
from cofactor.frames import as_series
from cofactor.model.progress import Monitor
from cofactor.problems.choice import soft_log
from cofactor.ratings.data import Ratings
from cofactor.ratings.ranking.held_out import HeldOut, Trials, popularity_prior
from cofactor.text import few

__all__ = ["as_kinds", "learned_weights", "target_of", "weights_of_kinds"]

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
            f"no event is of this kind; there are {few(names.tolist())}", argument="target", found=target
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
            f"of these kinds there was no event in training: {few(unknown)}",
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
