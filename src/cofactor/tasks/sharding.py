"""Ratings in shards: made of files, checked, and described."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cofactor.errors import InvalidInputError
from cofactor.ratings import ShardedRatings, shard_files
from cofactor.tasks.plain import Facts
from cofactor.text import counted

__all__ = ["checked_shards", "made_shards"]

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
    listener: Callable[[str, str, float, float], object],
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
    if "-" in files:
        raise InvalidInputError("standard input cannot be read again after a kill: give files, or write one first")

    def tell(phase: str, done: int, total: int) -> None:
        size, unit = _UNITS[phase]
        listener(phase, unit, done / size, total / size)

    reading = {name: options[name] for name in ("user", "item", "rating", "sep", "header", "encoding", "drop_rating")}
    reading |= {"timestamp": options["time"], "scale": options["levels"], "duplicates": options["duplicates"]}
    return _described(shard_files(files, folder, n_shards, restart=restart, callback=tell, **reading), folder)


def checked_shards(folder: str) -> Facts:
    """Read all files of a folder of sharded ratings, refuse it if one is damaged, and describe it."""
    sharded = ShardedRatings.open(folder)
    sharded.verify()
    return _described(sharded, folder)


def _described(sharded: ShardedRatings, folder: str) -> Facts:
    n, m = sharded.shape
    sizes = [ratings.n_ratings for ratings in sharded]
    names = sharded.coding.names() if sharded.coding is not None else [f"{value:g}" for value in sharded.scale]
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
        "shards": f"{counted(len(sizes), 'shard')} of {min(sizes):,} to {max(sizes):,} ratings",
        "size": f"{sharded.n_bytes / 1e6:,.1f} MB, {sharded.n_bytes / sharded.n_ratings:.1f} bytes a rating",
        "folder": folder,
    }
    return Facts("sharded ratings", values, shown)
