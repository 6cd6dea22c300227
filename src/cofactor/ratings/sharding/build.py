"""Files of ratings into a folder of shards."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.coding import Coding
from cofactor.columns import Column
from cofactor.datasets.readers.rating_batches import BatchOptions
from cofactor.datasets.readers.ratings import Scale
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike, alone, is_full
from cofactor.metrics.scale import as_scale
from cofactor.model.state import plain
from cofactor.ratings import shard_folder
from cofactor.ratings.data import Duplicates
from cofactor.ratings.entries import check_duplicates
from cofactor.ratings.sharded import ShardedRatings
from cofactor.ratings.sharding.building import build_all
from cofactor.ratings.sharding.journal import WORK, Journal, abandon, begin, sources_of
from cofactor.ratings.sharding.reading import Listener, read_all
from cofactor.ratings.sharding.routing import is_shard, plan_of, route

__all__ = ["shard_files"]


def shard_files(
    files: PathLike | Sequence[PathLike],
    folder: PathLike,
    n_shards: int | None = None,
    *,
    duplicates: Duplicates = "error",
    restart: bool = False,
    user: Column | None = None,
    item: Column | None = None,
    rating: Column | None = None,
    timestamp: Column | None = None,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    scale: Scale | None = None,
    drop_rating: float | Sequence[float] | None = None,
    callback: Listener | None = None,
) -> ShardedRatings:
    r"""Make a folder of sharded ratings of files of any size.

    The files are read batch by batch, and written twice as numbers before the shards are built, one after another. On
    the disk this takes up to 18 bytes a rating besides the shards, which take 13; with times 34 and 21. In memory it
    takes about 400 MB, 90 bytes for each rating of a shard, and 90 bytes for each user and item, 200 where ids are text
    (measured with ``cofactor shard``, peak of the whole process).

    A call that was ended before it was done, by a kill, Ctrl-C or a full disk, leaves in the folder what it did. The
    same call goes on there; the result is the same to the bit.

    Parameters
    ----------
    files : path-like or sequence of path-like
        Text (plain or gzip) or Parquet, as for `cofactor.datasets.read_ratings`.
    folder : path-like
        Where the shards go. There must be no such folder, an empty one, or one that an earlier call did not finish.
    n_shards : int, optional
        How many. By default so many that each has at most four million ratings.
    duplicates : {"error", "last", "mean"}, default="error"
        What to do with several ratings of one user for one item: as in `Ratings.from_pairs`, in the order of the files
        and their rows.
    restart : bool, default=False
        Throw away what an earlier call left, and begin anew.
    user, item, rating, timestamp, sep, header, encoding, drop_rating
        As in `cofactor.datasets.read_ratings`, for all files.
    scale : array-like of shape (R,), sequence of str, or Coding, optional
        Likewise; ratings that are words need one. By default the distinct ratings of all files.
    callback : callable, optional
        Called as ``callback(phase, done, total)``: while "reading" with bytes, "routing" with ratings, and "building"
        with shards.

    Returns
    -------
    ShardedRatings
        Of the same ratings as `Ratings.from_pairs` makes of all rows.

    Raises
    ------
    InvalidInputError
        If a file is malformed, or holds what `Ratings` refuses; the message names file and line. If the folder has
        something else in it, or an earlier call had other files or options.
    OSError
        If the disk is full, or cannot be written; the message names a file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cofactor.ratings import shard_files
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "stars.csv")
    >>> _ = path.write_text("user,movie,stars\nann,12,4\nbob,12,3\nann,7,5\n")
    >>> shard_files(path, pathlib.Path(folder.name, "big"), 2)
    ShardedRatings(2 users, 2 items, 3 ratings on 3, 4, 5, in 2 shards)
    >>> folder.cleanup()
    """
    check_duplicates(duplicates)
    coding, levels = _levels_of(scale)
    options = BatchOptions(user, item, rating, timestamp, sep, header, encoding, scale, drop_rating)
    target, listener = Path(folder).resolve(), callback or (lambda *_: None)
    work, sources = target / WORK, sources_of(files)
    if not work.is_dir():
        shard_folder.new_folder(folder).mkdir(exist_ok=True)
    told = {**asdict(options), "scale": levels, "words": None if coding is None else coding.words}
    try:
        with alone(target):
            if (work / shard_folder.MANIFEST).exists():  # all was done but this
                shard_folder.publish(work, target)
            if (target / shard_folder.MANIFEST).exists():
                shutil.rmtree(work, ignore_errors=True)
                return ShardedRatings.open(target)
            journal = begin(target, sources, json.loads(json.dumps(plain(told))), restart=restart)
            return _built(target, journal, options, levels, coding, n_shards, duplicates, listener)
    except KeyboardInterrupt:
        kept = f"interrupted: what was done is kept in {os.fspath(folder)}, and the same command goes on"
        raise KeyboardInterrupt(kept) from None
    except OSError as error:
        if is_full(error):
            error.strerror = f"{error.strerror}; what was done is kept, and the same command goes on when there is room"
        raise


def _built(
    target: Path,
    journal: Journal,
    options: BatchOptions,
    levels: NDArray[np.float64] | None,
    coding: Coding | None,
    n_shards: int | None,
    duplicates: Duplicates,
    listener: Listener,
) -> ShardedRatings:
    """Do what is left to do, and return the result."""
    work = target / WORK
    try:
        encoders = read_all(work, journal, options, listener)
        scale = _scale_of(journal, levels)
    except InvalidInputError:  # files or options must change, and then nothing of it is of use
        abandon(target)
        raise
    _keep_plan(work, journal, {"n_shards": n_shards, "duplicates": duplicates})
    with _telling_what_is_kept(target):
        plan = plan_of(work, journal, encoders, scale, n_shards)
        route(work, journal, plan, listener)
        shards = build_all(work, journal, plan, scale, coding, options, listener)
    counts = shard_folder.item_counts_of(work, shards, len(plan.items))
    shard_folder.write_common(work, plan.items, scale, coding, shards, counts).write(work)
    shard_folder.publish(work, target)
    shutil.rmtree(work)
    return ShardedRatings.open(target)


@contextmanager
def _telling_what_is_kept(target: Path) -> Iterator[None]:
    """Within the block, errors say that what was read is kept, and how to go on."""
    try:
        yield
    except InvalidInputError as error:
        goes_on = "and is not read again where these files are given again with another choice"
        kept = (f"what was read is kept in {target}, {goes_on}; for other files begin anew with ", Argument("restart"))
        raise InvalidInputError(
            error.problem,
            argument=error.argument,
            found=error.found,
            advice=(*error.advice, "; ", *kept) if error.advice else kept,
            place=error.place,
        ) from None


def _levels_of(scale: Any) -> tuple[Coding | None, NDArray[np.float64] | None]:
    """Return what levels stand for, and the levels, where a scale is given."""
    if scale is None:
        return None, None
    if isinstance(scale, Coding):
        if scale.edges:
            raise InvalidInputError("shards need ratings that are levels already, and no bins", argument="scale")
        return scale, as_scale(scale.scale)
    words = np.asarray(scale, dtype=object).ravel().tolist()
    if words and all(isinstance(word, str) for word in words):
        coding = Coding(tuple(range(1, len(words) + 1)), words=tuple(words))
        return coding, as_scale(coding.scale)
    return None, as_scale(scale)


def _scale_of(journal: Journal, levels: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the scale that is given, or the distinct ratings; refuse no ratings, and ratings of one level."""
    if not journal.n_ratings:
        place = Place(", ".join(source.path for source in journal.sources))
        raise InvalidInputError("no ratings, expected lines of user, item and rating", place=place)
    if levels is not None:
        return levels
    if len(journal.values) == 1:
        raise InvalidInputError(
            f"all ratings are {journal.values[0]:g}, so that they say what users took, and not how they liked it",
            advice="shards are of ratings, and takes are learned from in memory: give the file itself to cofactor fit, "
            "or in Python read_takes(file) to a Recommender; or add what users like less",
            place=Place(journal.sources[0].path),
        )
    return as_scale(np.unique(journal.values))


def _keep_plan(work: Path, journal: Journal, plan: dict[str, Any]) -> None:
    """Throw away what was done for another number of shards, or another choice among duplicates."""
    if journal.plan == plan:
        return
    journal.plan, journal.phase, journal.n_routed, journal.shards = plan, "routing", 0, []
    journal.lengths = {name: length for name, length in journal.lengths.items() if not is_shard(name)}
    journal.write(work)
    shutil.rmtree(work / "shards", ignore_errors=True)
