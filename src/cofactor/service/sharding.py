"""Ratings in shards: made of files, checked, and described."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cofactor.datasets.formats import open_data
from cofactor.errors import Argument, InvalidInputError
from cofactor.model.facts import Facts
from cofactor.ratings import ShardedRatings, append_files, shard_files
from cofactor.ratings.facts import facts_of
from cofactor.ratings.shard_folder import StoredUsers, stored_users_of
from cofactor.service.base import Task, about
from cofactor.service.clusters import client_of
from cofactor.text import plural
from cofactor.typing import Listener

#: The model that is fitted where none is named: no setting of it need be chosen.
USUAL = "ordinal-probit"
#: Ratings whose training error is measured after a fit, whole shards of them.
_MEASURED = 5_000_000
#: Told the name of a phase, the unit in which it is counted, how far it is and how far it goes.
_Listener: TypeAlias = Callable[[str, str, float, float], object]
#: The unit in which each phase is counted, and how many of it are one.
_UNITS: Mapping[str, tuple[float, str]] = {
    "reading": (1e6, "MB"),
    "routing": (1e6, "million ratings"),
    "building": (1.0, "shards"),
}


def made_shards(
    files: Sequence[str],
    folder: str,
    n_shards: int | None,
    options: Mapping[str, Any],
    listener: _Listener,
    *,
    restart: bool = False,
) -> Facts:
    """Make a folder of sharded ratings, and describe it.

    Parameters
    ----------
    files : sequence of str
        Paths.
    folder : str
        Where shards go.
    n_shards : int or None
    options : mapping from str to object
        user, item, rating, time, sep, header, encoding, levels, drop_rating and duplicates.
    listener : callable
        Called with the name of a phase, the unit it is counted in, how far it is and how far it goes.
    restart : bool, default=False
        Throw away what an earlier call left.
    """
    reading = {**_reading(files, options), "scale": options["levels"]}
    made = shard_files(files, folder, n_shards, restart=restart, callback=_teller(listener), **reading)
    return _described(made, folder)


def appended_shards(files: Sequence[str], folder: str, options: Mapping[str, Any], listener: _Listener) -> Facts:
    """Append ratings to a folder of sharded ratings, and describe it.

    Parameters
    ----------
    files, folder, options, listener
        As in `made_shards`.
    """
    if options["levels"] is not None:
        raise InvalidInputError(("the ratings that are there have levels: leave out ", Argument("levels")))
    before = _size_of(ShardedRatings.open(folder))  # which is let go before others take its place
    after = append_files(files, folder, callback=_teller(listener), **_reading(files, options))
    facts = _described(after, folder)
    sizes = zip(("new_ratings", "new_users", "new_items"), _size_of(after), before, strict=True)
    new = {name: size - earlier for name, size, earlier in sizes}
    shown = {"new": ", ".join(f"{number:,} {name.removeprefix('new_')}" for name, number in new.items())}
    return replace(facts, values={**facts.values, **new}, shown={**facts.shown, **shown})


def _size_of(sharded: ShardedRatings) -> tuple[int, int, int]:
    """Return the numbers of ratings, users and items."""
    return sharded.n_ratings, *sharded.shape


def checked_shards(folder: str) -> Facts:
    """Read all files of a folder of shards, and of models there; refuse a damaged one, and describe the folder."""
    sharded = ShardedRatings.open(folder)
    sharded.verify()
    models = list(StoredUsers.all_of(Path(folder)))
    for stored in models:
        stored.verify()
    facts, agree = _described(sharded, folder), "all checksums agree"
    agree += f", also those of {plural(len(models), 'model')}" if models else ""
    return replace(facts, values={**facts.values, "verified": True}, shown={**facts.shown, "verified": agree})


def holds_shards(file: str) -> bool:
    """Whether a path is that of a folder which `made_shards` wrote."""
    return open_data(file).format == "shards"


def fit_shards(
    task: Task,
    model: Any,
    folder: str,
    scheduler: str | None,
    how: Mapping[str, Any],
    listen: Listener | None = None,
) -> tuple[Any, Facts]:
    """Fit a model of ratings to a folder of shards, and describe it.

    Parameters
    ----------
    task : Task
        That of ratings.
    model : RatingModel
        Not fitted.
    folder : str
        Written by `made_shards`.
    scheduler : str or None
        Address of a Dask scheduler whose workers do the work; None for this process.
    how : mapping from str to object
        resume and users, see `ShardedRatings.on`.
    listen : callable, optional
        Told about progress.
    """
    sharded = ShardedRatings.open(folder)
    model.require("shards")
    if listen is not None:
        task.listen(model, listen)
    began = time.perf_counter()
    try:
        with about(folder), client_of(scheduler) as client:
            model.fit(sharded.on(client, **how))
    except KeyboardInterrupt:
        where = Path(folder, ".fit-*")
        kept = f"interrupted: what was done is kept in {where}, and the same command with --resume goes on"
        raise KeyboardInterrupt(kept) from None
    seconds = time.perf_counter() - began
    task.listen(model, None)
    facts = facts_of(model)
    error, n_measured = _training_error(model, sharded)
    values = {**facts.values, "data": folder, "ratings": sharded.n_ratings, "seconds": round(seconds, 3)}
    values |= {"train_mae": error, "train_mae_ratings": n_measured}
    of_some = "" if n_measured == sharded.n_ratings else f" (of {n_measured:,} ratings)"
    shown = {
        **facts.shown,
        "ratings": f"{sharded.n_ratings:,}",
        "seconds": f"{seconds:.2f}",
        "training MAE": f"{error:.4f}{of_some}",
    }
    if stored := stored_users_of(model):
        n_bytes = sum(one.n_bytes for one in stored)
        values["users_folder"] = [str(one.folder) for one in stored]
        shown["users are in"] = f"{', '.join(values['users_folder'])} ({n_bytes / 1e6:,.1f} MB), which the model needs"
    return model, Facts(f"{values['model']} fitted to {folder}", values, shown)


def _reading(files: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return how files are read, by the names of the library."""
    if "-" in files:
        raise InvalidInputError("shards are made of files, which may be read twice, and not of standard input")
    same = ("user", "item", "rating", "sep", "header", "encoding", "drop_rating", "duplicates")
    return {"timestamp": options["time"], **{name: options[name] for name in same}}


def _teller(listener: _Listener) -> Callable[[str, int, int], None]:
    """Return what the library tells how far it is, and which tells it in units for people."""

    def tell(phase: str, done: int, total: int) -> None:
        size, unit = _UNITS[phase]
        listener(phase, unit, done / size, total / size)

    return tell


def _range(sizes: Sequence[int]) -> str:
    """Return how many ratings shards have.

    Examples
    --------
    >>> _range([3]), _range([3, 1200])
    ('3 ratings', '3 to 1,200 ratings')
    """
    least, most = min(sizes), max(sizes)
    return plural(most, "rating", form=",") if least == most else f"{least:,} to {most:,} ratings"


def _training_error(model: Any, sharded: ShardedRatings) -> tuple[float, int]:
    """Return the mean absolute error on the ratings of the fit, or of shards between the first and the last, and of
    how many ratings it is.
    """
    n_shards = max(1, int(len(sharded) * min(1, _MEASURED / sharded.n_ratings)))
    total, n_ratings = 0.0, 0
    for k in np.linspace(0, len(sharded) - 1, n_shards).round().astype(int).tolist():
        shard = sharded.shard(k)
        users, items = shard.pairs()
        X = np.column_stack([shard.users.ids[users], shard.items.ids[items]])
        total -= model.score(X, shard.values) * shard.n_ratings
        n_ratings += shard.n_ratings
    return total / n_ratings, n_ratings


def _described(sharded: ShardedRatings, folder: str) -> Facts:
    n, m = sharded.shape
    sizes = [ratings.n_ratings for ratings in sharded]
    known = sharded.rating_scale
    names = [f"{value:g}" for value in sharded.scale] if known is None else known.names()
    levels = zip(names, sharded.level_counts / max(sharded.n_ratings, 1), strict=True)
    values = {
        "folder": folder,
        "users": n,
        "items": m,
        "ratings": sharded.n_ratings,
        "shards": len(sharded),
        "shard_ratings": sizes,
        "times": sharded.has_times,
        "scale": sharded.scale,
        "level_counts": sharded.level_counts,
        "bytes": sharded.n_bytes,
    }
    shown = {
        "users × items": f"{n:,} × {m:,}",
        "ratings": f"{sharded.n_ratings:,}{', with times' if sharded.has_times else ''}",
        "levels": ", ".join(f"{name} ({share * 100:.1f} %)" for name, share in levels),
        "shards": f"{plural(len(sizes), 'shard')} of {_range(sizes)}",
        "size": f"{sharded.n_bytes / 1e6:,.3g} MB, {sharded.n_bytes / sharded.n_ratings:.1f} bytes a rating",
        "folder": folder,
    }
    return Facts("sharded ratings", values, shown)
