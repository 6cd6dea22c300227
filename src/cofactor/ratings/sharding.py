"""Files of ratings into a folder of shards: in passes over the data, in bounded memory.

*Reading* turns files into records of numbers, and lists of ids; *routing* writes each record to the file of its shard;
*building* makes the arrays of one shard after another. A journal beside these files says how far that has come: from
there it goes on after a kill.

Ids become numbers in the order in which they come, without a Python object for each row. More ratings, as of another
day, are appended to a folder that is there.
"""

from __future__ import annotations

import json
import os
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NoReturn, Self, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from cofactor.columns import Column
from cofactor.datasets.readers.ratings import BatchOptions, RatingBatch, Scale, rating_batches
from cofactor.datasets.table import Offset, is_text, numpy_of
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike, display_name, is_database, is_full, lock_folder, naming_file, replacing
from cofactor.limits import MAX_LEVELS
from cofactor.metrics.scale import as_scale
from cofactor.model.state import to_plain
from cofactor.rating_scale import RatingScale
from cofactor.ratings import shard_folder
from cofactor.ratings.data import Duplicates, Ratings, check_duplicates, union
from cofactor.ratings.ids import IdMap
from cofactor.ratings.shard_folder import Manifest, StoredShard
from cofactor.ratings.sharded import ShardedRatings, shard_bounds

_INTEGER = "^(-?[1-9][0-9]{0,18}|0)$"  # as `cofactor.datasets.table` reads integers


class IdEncoder:
    """Numbers ids 0, 1, 2, ... as they come.

    As `read_ratings` does, it takes text for integers as long as all ids are written as integers; from the first one on
    that is not, all are text.

    Parameters
    ----------
    role : {"user", "item"}
        What the ids stand for.
    known : pyarrow.Array, optional
        Ids that have numbers already, of type int64 or large_string.

    Examples
    --------
    >>> films = IdEncoder("item")
    >>> films.codes(pa.array([12, 7, 12])).tolist(), films.codes(pa.array(["007", "7"])).tolist()
    ([0, 1, 0], [2, 1])
    >>> films.known.to_pylist()
    ['12', '7', '007']
    """

    def __init__(self, role: str, known: Any = None) -> None:
        self.role = role
        self.known = pa.array([], pa.int64()) if known is None else known
        self._fresh: list[Any] = []

    def __len__(self) -> int:
        return len(self.known)

    def codes(self, column: Any, empty: Callable[[int], NoReturn] | None = None) -> NDArray[np.int32]:
        """Return the number of each id.

        Parameters
        ----------
        column : pyarrow.Array or pyarrow.ChunkedArray
            Integers or text, also as a dictionary. Blanks around text are left out.
        empty : callable, optional
            Raises the error for an empty id in this row.
        """
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        places = numpy_of(encoded.indices)
        used = np.bincount(places, minlength=len(encoded.dictionary)) > 0
        values = encoded.dictionary
        if not used.all():
            values, places = values.filter(pa.array(used)), (np.cumsum(used) - 1)[places]
        if is_text(values.type):
            values = compute.utf8_trim_whitespace(values.cast(pa.large_string()))
            gaps = compute.equal(values, "").to_numpy(zero_copy_only=False)
            if gaps.any() and empty is not None:
                empty(int(np.flatnonzero(gaps[places])[0]))
        return self._codes_of(values)[places]

    def _codes_of(self, values: Any) -> NDArray[np.int32]:
        """Return the numbers of distinct cells; new ones are added."""
        values = self._alike(values)
        found = compute.index_in(values, value_set=self.known)
        if found.null_count:
            new = values.filter(found.is_null()).unique()
            if len(self) + len(new) > np.iinfo(np.int32).max:
                raise InvalidInputError(f"there are more than 2,147,483,647 {self.role}s")
            self.known = pa.concat_arrays([self.known, new])
            self._fresh.append(new)
            found = compute.index_in(values, value_set=self.known)
        return numpy_of(found)

    def _alike(self, values: Any) -> Any:
        """Return cells in the type of the known ids, which become text if these are no integers."""
        if pa.types.is_int64(self.known.type):
            if pa.types.is_int64(values.type):
                return values
            if compute.all(compute.match_substring_regex(values, _INTEGER), min_count=0).as_py():
                with suppress(pa.ArrowInvalid):  # beyond 64 bits
                    return values.cast(pa.int64())
            self.known, self._fresh = self._as_text().known, []
        return values.cast(pa.large_string())

    def _as_text(self) -> IdEncoder:
        """Return the same ids as text."""
        return IdEncoder(self.role, self.known.cast(pa.large_string()))

    def _first_text(self) -> int | None:
        """Return the number of the first id that is written as no integer; None if all are integers."""
        if pa.types.is_int64(self.known.type):
            return None
        numbers = compute.match_substring_regex(self.known, _INTEGER)
        return max(compute.index(numbers, False).as_py(), 0)  # the first one if they are beyond 64 bits

    def sorted(self) -> tuple[IdMap, NDArray[np.int32]]:
        """Return the map of all ids, as `IdMap` sorts them, and where each stands in it, by its number."""
        order = numpy_of(compute.sort_indices(self.known)).astype(np.int64)
        index = np.empty(len(order), dtype=np.int32)
        index[order] = np.arange(len(order), dtype=np.int32)
        ids = self.known.take(pa.array(order))
        if pa.types.is_int64(ids.type):
            return IdMap.of_sorted(numpy_of(ids).copy()), index
        return IdMap.of_sorted(np.fromiter(ids.to_pylist(), dtype=object, count=len(ids))), index

    def sorted_like(
        self, known: Iterator[IdMap], place: Callable[[str, int], Place]
    ) -> tuple[IdMap, NDArray[np.int32]]:
        """Return the map of all ids, in the type of others, and where each stands in it, as `sorted` does.

        Whole numbers are text among text where some known id is written as a whole number too, as in files of which one
        has numbers alone. Where none is, they are of another kind, and refused, as is text among numbers.

        Parameters
        ----------
        known : iterator of IdMap
            Those that are there, in parts; one part at least.
        place : callable
            From "user" or "item" and the number of a new id to where it stands first.
        """
        role, first, odd = self.role, next(known), self._first_text()
        if first.ids.dtype == object and not all(isinstance(one, str) for one in first.ids.tolist()):
            raise InvalidInputError(
                f"the ids of {role}s are of several types, so that nothing can be appended from files"
            )
        if first.ids.dtype == object:
            if odd is None and not any(_has_integers(part.ids) for part in chain([first], known)):
                message = f"{role} {self.known[0].as_py()} is a whole number, and all {role}s that are there are "
                message += f"text, such as {first.ids[0]!r}"
                raise InvalidInputError(message, advice="is it the column?", place=place(role, 0))
            return self._as_text().sorted()
        if odd is not None:
            message = f"{role} {self.known[odd].as_py()!r} is no whole number, as the {role}s are that are there"
            raise InvalidInputError(message, advice="is it the column?", place=place(role, odd))
        return self.sorted()

    def append_to(self, folder: Path, lengths: dict[str, int]) -> None:
        """Write the ids that came since the last call; all of them if they became text, to another file.

        Parameters
        ----------
        folder : Path
        lengths : dict of str to int
            Bytes that count of each file; those of this one are brought up to date.
        """
        name = _file_of(self.role, pa.types.is_int64(self.known.type))
        fresh = self._fresh if name in lengths else [self.known]
        path = folder / name
        with naming_file(path), open(path, "r+b" if name in lengths else "wb") as stream:
            stream.seek(lengths.get(name, 0))
            stream.truncate()
            for part in fresh:
                batch = pa.record_batch([part], names=["ids"])
                with pa.ipc.new_stream(stream, batch.schema) as writer:
                    writer.write_batch(batch)
            stream.flush()
            os.fsync(stream.fileno())
            lengths[name] = stream.tell()
        self._fresh = []

    @classmethod
    def read(cls, role: str, folder: Path, lengths: Mapping[str, int]) -> IdEncoder:
        """Return the encoder that `append_to` has written."""
        names = [_file_of(role, numbers) for numbers in (False, True)]
        name = next((name for name in names if name in lengths), None)  # text comes after numbers
        if name is None:
            return cls(role)
        data = pa.py_buffer((folder / name).read_bytes()[: lengths[name]])
        source, parts = pa.BufferReader(data), []
        while source.tell() < len(data):
            parts += pa.ipc.open_stream(source).read_all().column("ids").chunks
        return cls(role, pa.concat_arrays(parts))


def _has_integers(ids: NDArray[Any]) -> bool:
    """Return whether some of these texts is written as an integer.

    Examples
    --------
    >>> _has_integers(np.array(["ann", "007"], dtype=object)), _has_integers(np.array(["ann", "7"], dtype=object))
    (False, True)
    """
    written = compute.match_substring_regex(pa.array(ids, pa.large_string()), _INTEGER)
    return bool(compute.any(written, min_count=0).as_py())


def _file_of(role: str, numbers: bool) -> str:
    return f"{role}s.{'numbers' if numbers else 'text'}"


READ_CHECKPOINT = 1 << 23  #: ratings between two states of the journal while files are read
ROUTE_CHECKPOINT = 1 << 25  #: likewise while records are routed
CHUNK = 1 << 21  #: records at a time
_USUAL = 1 << 22  # ratings of a shard, where their number is not given
_WORK = ".sharding"  # folder of the spills, the journal and what is built, which is there until all is
_JOURNAL = "journal.json"
_FORMAT = 2
_RATINGS = "ratings"  # the spill of all records
_SHARD = "shard-"  # beginning of the names of those of shards

#: Told what is done, how far, and how far it goes.
Listener: TypeAlias = Callable[[str, int, int], object]


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
    scale : array-like of shape (R,), sequence of str, or RatingScale, optional
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
    rating_scale, levels = _levels_of(scale)
    options = BatchOptions(user, item, rating, timestamp, sep, header, encoding, scale, drop_rating)
    target, listener = Path(folder).resolve(), callback or (lambda *_: None)
    work, sources = target / _WORK, sources_of(files)
    if not work.is_dir():
        shard_folder.new_folder(folder).mkdir(exist_ok=True)
    told = {**asdict(options), "scale": levels, "words": None if rating_scale is None else rating_scale.words}
    try:
        with lock_folder(target):
            if (work / shard_folder.MANIFEST).exists():  # all was done but this
                shard_folder.publish(work, target)
            if (target / shard_folder.MANIFEST).exists():
                shutil.rmtree(work, ignore_errors=True)
                return ShardedRatings.open(target)
            journal = ShardingJournal.begin(target, sources, json.loads(json.dumps(to_plain(told))), restart=restart)
            reading = Reading(work, journal, options, listener)
            return _built(target, reading, levels, rating_scale, {"n_shards": n_shards, "duplicates": duplicates})
    except KeyboardInterrupt:
        kept = f"interrupted: what was done is kept in {os.fspath(folder)}, and the same command goes on"
        raise KeyboardInterrupt(kept) from None
    except OSError as error:
        if is_full(error):
            error.strerror = f"{error.strerror}; what was done is kept, and the same command goes on when there is room"
        raise


def _built(
    target: Path,
    reading: Reading,
    levels: NDArray[np.float64] | None,
    rating_scale: RatingScale | None,
    asked: dict[str, Any],
) -> ShardedRatings:
    """Do what is left to do, and return the result."""
    work, journal = reading.work, reading.journal
    try:
        reading.run()
        scale = _scale_of(journal, levels)
    except InvalidInputError:  # files or options must change, and then nothing of it is of use
        shutil.rmtree(work)
        with suppress(OSError):  # something else is in it
            target.rmdir()
        raise
    _keep_plan(work, journal, asked)
    with _telling_what_is_kept(target):
        plan = Plan.of(reading, scale, rating_scale, asked["n_shards"])
        plan.route()
        shards = plan.build()
    counts = shard_folder.item_counts_of(work, shards, len(plan.items))
    shard_folder.write_common(work, plan.items, scale, rating_scale, shards, counts)
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


def _levels_of(scale: Any) -> tuple[RatingScale | None, NDArray[np.float64] | None]:
    """Return what levels stand for, and the levels, where a scale is given."""
    if scale is None:
        return None, None
    if isinstance(scale, RatingScale):
        if scale.edges:
            raise InvalidInputError("shards need ratings that are levels already, and no bins", argument="scale")
        return scale, as_scale(scale.scale)
    words = np.asarray(scale, dtype=object).ravel().tolist()
    if words and all(isinstance(word, str) for word in words):
        rating_scale = RatingScale(tuple(range(1, len(words) + 1)), words=tuple(words))
        return rating_scale, as_scale(rating_scale.scale)
    return None, as_scale(scale)


def _scale_of(journal: ShardingJournal, levels: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the scale that is given, or the distinct ratings; refuse no ratings, and ratings of one level."""
    if not journal.n_ratings:
        place = Place(", ".join(source.path for source in journal.sources))
        raise InvalidInputError("no ratings, expected lines of user, item and rating", place=place)
    if levels is not None:
        return levels
    if len(journal.values) == 1:
        raise InvalidInputError(
            f"all ratings are {journal.values[0]:g}, so that they say what users interacted with, and not how they "
            "liked it",
            advice="shards are of ratings, and interactions are learned from in memory: give the file itself to "
            "cofactor fit, or in Python read_interactions(file) to a Recommender; or add what users like less",
            place=Place(journal.sources[0].path),
        )
    return as_scale(np.unique(journal.values))


def _keep_plan(work: Path, journal: ShardingJournal, plan: dict[str, Any]) -> None:
    """Throw away what was done for another number of shards, or another choice among duplicates."""
    if journal.plan == plan:
        return
    journal.plan, journal.phase, journal.n_routed, journal.shards = plan, "routing", 0, []
    journal.lengths = {name: length for name, length in journal.lengths.items() if not name.startswith(_SHARD)}
    journal.write(work)
    shutil.rmtree(work / "shards", ignore_errors=True)


@dataclass(frozen=True)
class SourceFile:
    """A file of ratings, as it was when reading began."""

    path: str
    size: int
    modified: int

    @classmethod
    def of(cls, path: PathLike) -> SourceFile:
        """Return it as it is now."""
        if os.path.isdir(path):
            raise IsADirectoryError(f"{os.fspath(path)}: is a folder, expected a file")
        if not os.path.exists(path):
            if is_database(path):
                raise InvalidInputError(
                    "is a database, whose rows may change from one pass over them to the next",
                    advice="write the query to a file first: in DuckDB, copy (select ...) to 'ratings.parquet'",
                    place=Place(display_name(path)),
                )
            raise FileNotFoundError(f"{os.fspath(path)}: no such file")
        status = os.stat(path)
        return cls(os.path.abspath(path), status.st_size, status.st_mtime_ns)


def sources_of(files: PathLike | Sequence[PathLike]) -> list[SourceFile]:
    """Return files as they are now; one, or several."""
    paths = [files] if not isinstance(files, Sequence) or isinstance(files, str) else list(files)
    if not paths:
        raise InvalidInputError("expected at least one file of ratings", argument="files")
    return [SourceFile.of(path) for path in paths]


@dataclass
class ShardingJournal:
    """What is done.

    Attributes
    ----------
    sources : tuple of SourceFile
        What is read.
    options : dict
        How it is read.
    phase : {"reading", "routing", "building"}
    lengths : dict of str to int
        Bytes that count of each file in the working folder.
    starts : list of int
        Ratings before each file that was begun.
    mark : Offset
        How far the last of these was read.
    n_ratings : int
        Ratings that were read.
    values : list of float
        Distinct ratings, in the order in which they came.
    timed : bool or None
        Whether ratings have times; None before the first one.
    plan : dict
        Number of shards, and what becomes of duplicates; empty while files are read.
    n_routed : int
        Ratings that are with their shards.
    shards : list of StoredShard
        Those which are built.
    """

    sources: tuple[SourceFile, ...]
    options: dict[str, Any]
    phase: Literal["reading", "routing", "building"] = "reading"
    lengths: dict[str, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    mark: Offset = field(default_factory=Offset)
    n_ratings: int = 0
    values: list[float] = field(default_factory=list)
    timed: bool | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    n_routed: int = 0
    shards: list[StoredShard] = field(default_factory=list)

    @property
    def record_type(self) -> np.dtype[Any]:
        """How a rating lies in a spill: its user, its item, its level, and its time if there are times."""
        fields: list[tuple[str, Any]] = [("user", "<i4"), ("item", "<i4"), ("level", "u1")]
        return np.dtype(fields + ([("time", "<f8")] if self.timed else []))

    def write(self, work: Path) -> None:
        """Put it on the disk, whole or not at all."""
        with replacing(work / _JOURNAL) as stream:
            stream.write(json.dumps({"format": _FORMAT, **asdict(self)}).encode())

    @classmethod
    def read(cls, work: Path) -> Self:
        """Read it."""
        try:
            state = json.loads((work / _JOURNAL).read_bytes())
            if state.pop("format") != _FORMAT:
                raise ValueError("another format")
            sources = tuple(SourceFile(**one) for one in state.pop("sources"))
            shards = [StoredShard.of_state(one) for one in state.pop("shards")]
            return cls(sources=sources, mark=Offset(**state.pop("mark")), shards=shards, **state)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"does not say how far sharding has come ({error})",
                advice=("begin anew with ", Argument("restart")),
                place=Place(str(work / _JOURNAL)),
            ) from None

    @classmethod
    def begin(cls, folder: Path, sources: Sequence[SourceFile], options: dict[str, Any], *, restart: bool) -> Self:
        """Return the journal of a folder: that of an earlier call, which was ended before it was done, or a new one.

        Parameters
        ----------
        folder : Path
            Where shards are to be.
        sources : sequence of SourceFile
        options : dict
            How they are read, in a form that JSON can hold.
        restart : bool
            Throw away what an earlier call did.
        """
        work = folder / _WORK
        if restart:
            shutil.rmtree(work, ignore_errors=True)
        if (work / _JOURNAL).exists():
            found = cls.read(work)
            if found.n_ratings:
                found._check_same(sources, options, folder)
                return found
        work.mkdir(parents=True, exist_ok=True)
        journal = cls(tuple(sources), options)
        journal.write(work)
        return journal

    def _check_same(self, sources: Sequence[SourceFile], options: dict[str, Any], folder: Path) -> None:
        """Refuse to go on with other files, or to read them otherwise."""
        changed = next(((new, old) for new, old in zip(sources, self.sources, strict=False) if new != old), None)
        if changed is not None:
            new, old = changed
            why = "which has changed since" if new.path == old.path else f"and not of {new.path}"
            what = f"holds the beginning of shards of {old.path}, {why}"
        elif len(sources) != len(self.sources):
            what = f"holds the beginning of shards of {len(self.sources)} files and not {len(sources)}"
        elif options != self.options:
            name = next(name for name in options if options[name] != self.options.get(name))
            what = (
                f"holds the beginning of shards of these files with {Argument(name, self.options.get(name))} and "
                f"not {Argument(name, options[name])}"
            )
        else:
            return
        advice = ("finish them with the same files and options, or begin anew with ", Argument("restart"))
        raise InvalidInputError(what, advice=advice, place=Place(str(folder)))


class Spill:
    """A file of records, which is open for writing at its end.

    Parameters
    ----------
    path : Path
        Made if there is none.
    length : int
        Bytes of it that count; the rest is cut off.
    """

    def __init__(self, path: Path, length: int = 0) -> None:
        self.path = path
        with naming_file(path):
            self._stream = open(path, "r+b" if path.exists() else "w+b", buffering=0)  # noqa: SIM115
            self._stream.truncate(length)
            self._stream.seek(length)
        self.length = length

    def append(self, records: NDArray[Any]) -> None:
        """Write records to the end."""
        data = np.ascontiguousarray(records).view(np.uint8).data
        with naming_file(self.path):
            while len(data):
                written = self._stream.write(data)
                self.length += written or 0
                data = data[written:]

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        with naming_file(self.path):
            os.fsync(self._stream.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


class Reading:
    """The first pass: files become records of numbers, and lists of ids.

    Parameters
    ----------
    work : Path
        Folder of spills.
    journal : ShardingJournal
        Brought up to date, and written.
    options : BatchOptions
    listener : callable
    """

    def __init__(self, work: Path, journal: ShardingJournal, options: BatchOptions, listener: Listener) -> None:
        self.work, self.journal, self.options, self.listener = work, journal, options, listener
        self.users, self.items = (IdEncoder.read(role, work, journal.lengths) for role in ("user", "item"))

    def run(self) -> None:
        """Read what is not read yet of the files."""
        journal = self.journal
        if journal.phase != "reading":
            return
        total, last = sum(source.size for source in journal.sources), journal.n_ratings
        with Spill(self.work / _RATINGS, journal.lengths.get(_RATINGS, 0)) as spill:
            for k, source in enumerate(journal.sources):
                if k < len(journal.starts) - 1:
                    continue
                if k == len(journal.starts):
                    journal.starts.append(journal.n_ratings)
                    journal.mark = Offset()
                before = sum(one.size for one in journal.sources[:k])
                timed = journal.timed if journal.mark.bytes else None
                for batch in rating_batches(source.path, self.options, journal.mark, timed=timed):
                    spill.append(self._records(batch))
                    journal.n_ratings += len(batch.values)
                    journal.mark = batch.after
                    if journal.n_ratings - last >= READ_CHECKPOINT:
                        last = journal.n_ratings
                        self._checkpoint(spill)
                    self.listener("reading", before + min(batch.after.bytes, source.size), total)
            journal.phase = "routing"
            self._checkpoint(spill)

    def records(self) -> NDArray[Any]:
        """Return all records."""
        return np.fromfile(self.work / _RATINGS, self.journal.record_type)

    def chunks(self, first: int = 0) -> Iterator[NDArray[Any]]:
        """Yield the records from one on, some at a time."""
        dtype, n = self.journal.record_type, self.journal.n_ratings
        with (self.work / _RATINGS).open("rb") as stream:
            stream.seek(first * dtype.itemsize)
            for start in range(first, n, CHUNK):
                yield np.fromfile(stream, dtype, min(CHUNK, n - start))

    def place(self, number: int) -> Place:
        """Return where a rating stands, by its number among all that were read; its file is read again."""
        file = int(np.searchsorted(self.journal.starts, number, side="right")) - 1
        path, first = self.journal.sources[file].path, self.journal.starts[file]
        for batch in rating_batches(path, self.options):
            if number < first + len(batch.values):
                return batch.place(number - first)
            first += len(batch.values)
        return Place(path)

    def levels(self, scale: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Return the level of each distinct rating, by its number in records."""
        return (np.searchsorted(scale, self.journal.values) + 1).astype(np.uint8)

    def _checkpoint(self, spill: Spill) -> None:
        """Put everything on the disk, and then the journal which counts it."""
        spill.sync()
        self.journal.lengths[_RATINGS] = spill.length
        for encoder in (self.users, self.items):
            encoder.append_to(self.work, self.journal.lengths)
        self.journal.write(self.work)

    def _records(self, batch: RatingBatch) -> NDArray[np.void]:
        """Return ratings as numbers of users, of items, and of distinct ratings."""
        timed = batch.times is not None
        if self.journal.timed is None:
            self.journal.timed = timed
        if timed != self.journal.timed:
            what = "times" if timed else "no times"
            advice = (
                "ratings have times in all files or in none; say which column holds them with ",
                Argument("timestamp"),
            )
            raise InvalidInputError(f"has {what}, unlike what was read before", advice=advice, place=batch.place(0))
        records = np.empty(len(batch.values), dtype=self.journal.record_type)
        for encoder, column in ((self.users, batch.users), (self.items, batch.items)):
            records[encoder.role] = encoder.codes(column, _empty(batch, encoder.role))
        records["level"] = _level_codes(batch, self.journal.values)
        if timed:
            records["time"] = batch.times
        return records


def _empty(batch: RatingBatch, role: str) -> Callable[[int], NoReturn]:
    def refuse(row: int) -> NoReturn:
        raise InvalidInputError(f"the {role} id is empty", place=batch.place(row, role))

    return refuse


def _level_codes(batch: RatingBatch, known: list[float]) -> NDArray[np.uint8]:
    """Return the number of each rating among the distinct ones, which new ones are added to."""
    values = batch.values
    while True:
        order = np.argsort(known)
        distinct = np.append(np.array(known)[order], np.inf)
        found = np.searchsorted(distinct, values)
        new = distinct[found] != values
        if not new.any():
            return order.astype(np.uint8)[found]
        more = np.unique(values[new])
        if len(known) + len(more) > MAX_LEVELS:
            _refuse_continuous(batch, np.append(known, more), int(np.flatnonzero(new)[0]))
        known += more.tolist()


def _refuse_continuous(batch: RatingBatch, distinct: NDArray[np.float64], row: int) -> NoReturn:
    """Refuse more distinct ratings than a scale may have levels; they may be counts of interactions."""
    found = f"more than {MAX_LEVELS} distinct ones from {distinct.min():g} to {distinct.max():g}"
    levels = "shards need levels: cut them into levels before, with cofactor.datasets.bin_ratings or elsewhere"
    counts = "; or, if they say how often users interacted with something, give the file itself to cofactor fit, with "
    maybe_counts = not (distinct % 1).any() and distinct.min() >= 0
    raise InvalidInputError(
        f"the ratings are continuous, {found}",
        advice=(levels, *((counts, Argument("count", _name_of(batch))) if maybe_counts else ())),
        place=batch.place(row, "rating"),
    )


def _name_of(batch: RatingBatch) -> str | int:
    """Return what the column of ratings is called, or where it stands."""
    position = batch.positions["rating"]
    return position if batch.table.names is None else batch.table.names[position]


@dataclass(frozen=True)
class Plan:
    """The second and third pass: records go to the shards of their users, and become the arrays of these.

    Attributes
    ----------
    reading : Reading
    scale : ndarray of shape (R,)
    rating_scale : RatingScale or None
    users, items : IdMap
    user_index, item_index : ndarray of int32
        Index of each user and item, by its number in records.
    levels : ndarray of uint8
        Level of each distinct rating, likewise.
    bounds : ndarray of int64
        First user of each shard.
    """

    reading: Reading
    scale: NDArray[np.float64]
    rating_scale: RatingScale | None
    users: IdMap
    items: IdMap
    user_index: NDArray[np.int32]
    item_index: NDArray[np.int32]
    levels: NDArray[np.uint8]
    bounds: NDArray[np.int64]

    @classmethod
    def of(cls, reading: Reading, scale: NDArray[Any], rating_scale: RatingScale | None, n_shards: int | None) -> Self:
        """Return the plan of shards of about the same number of ratings."""
        users, user_index = reading.users.sorted()
        items, item_index = reading.items.sorted()
        counts = np.zeros(len(users), dtype=np.int64)
        for records in reading.chunks():
            counts += np.bincount(user_index[records["user"]], minlength=len(users))
        if n_shards is None:
            n_shards = min(len(users), -(-reading.journal.n_ratings // _USUAL))
        bounds = shard_bounds(np.append(0, np.cumsum(counts)), n_shards)
        levels = reading.levels(scale)
        return cls(reading, scale, rating_scale, users, items, user_index, item_index, levels, bounds)

    def route(self) -> None:
        """Write each record that was not routed yet to the spill of its shard, in which users are counted from 0."""
        journal, work = self.reading.journal, self.reading.work
        if journal.phase != "routing":
            return
        last = journal.n_routed
        with ExitStack() as stack:
            paths = [self._spill(k) for k in range(len(self.bounds) - 1)]
            spills = [stack.enter_context(Spill(path, journal.lengths.get(path.name, 0))) for path in paths]

            def checkpoint() -> None:
                for spill in spills:
                    spill.sync()
                    journal.lengths[spill.path.name] = spill.length
                journal.write(work)

            for records in self.reading.chunks(journal.n_routed):
                for spill, part in zip(spills, self._parts(records), strict=True):
                    spill.append(part)
                journal.n_routed += len(records)
                if journal.n_routed - last >= ROUTE_CHECKPOINT:
                    last = journal.n_routed
                    checkpoint()
                self.reading.listener("routing", journal.n_routed, journal.n_ratings)
            journal.phase = "building"
            checkpoint()

    def build(self) -> list[StoredShard]:
        """Build the shards that are not there yet; the spill of each is removed then, and the journal has it."""
        journal, work, n_shards = self.reading.journal, self.reading.work, len(self.bounds) - 1
        for k in range(len(journal.shards), n_shards):
            self.reading.listener("building", k, n_shards)
            name = shard_folder.shard_name(k)
            shutil.rmtree(work / name, ignore_errors=True)
            journal.shards.append(shard_folder.write_shard(work, name, self._ratings(k)))
            journal.write(work)
            self._spill(k).unlink()
        self.reading.listener("building", n_shards, n_shards)
        return journal.shards

    def _spill(self, k: int) -> Path:
        """Return the file of the records of a shard."""
        return self.reading.work / f"{_SHARD}{k:04}"

    def _parts(self, records: NDArray[np.void]) -> list[NDArray[np.void]]:
        """Return the records of each shard, in their order."""
        users = self.user_index[records["user"]]
        narrow = np.uint16 if len(self.bounds) <= np.iinfo(np.uint16).max else np.int64  # NumPy sorts it by counting
        shard = (np.searchsorted(self.bounds, users, side="right") - 1).astype(narrow)
        order = np.argsort(shard, kind="stable")
        routed = records[order]
        routed["user"] = (users - self.bounds[shard])[order]
        routed["item"] = self.item_index[routed["item"]]
        routed["level"] = self.levels[routed["level"]]
        return np.split(routed, np.searchsorted(shard[order], np.arange(1, len(self.bounds) - 1)))

    def _ratings(self, k: int) -> Ratings:
        """Return the ratings of a shard."""
        records = np.fromfile(self._spill(k), self.reading.journal.record_type)
        try:
            found = Ratings.from_entries(
                self.users.part(int(self.bounds[k]), int(self.bounds[k + 1])),
                self.items,
                records["user"],
                records["item"],
                self.scale[records["level"] - 1],
                self.scale,
                self.reading.journal.plan["duplicates"],
                records["time"] if self.reading.journal.timed else None,
            )
        except InvalidInputError as error:
            if error.argument != "duplicates":
                raise
            self._refuse_duplicates(records, k)
        return replace(found, rating_scale=self.rating_scale)

    def _refuse_duplicates(self, records: NDArray[np.void], k: int) -> NoReturn:
        """Refuse the first pair of the shard that is repeated, saying where in the files it stands."""
        _, second = first_repeated(records["user"], records["item"], len(self.items))
        user, item = self.bounds[k] + records["user"][second], records["item"][second]
        found: list[int] = []
        start = 0
        for chunk in self.reading.chunks():
            same = (self.user_index[chunk["user"]] == user) & (self.item_index[chunk["item"]] == item)
            found += (np.flatnonzero(same) + start).tolist()
            start += len(chunk)
        places = [self.reading.place(one) for one in found[:2]]
        raise InvalidInputError(
            f"user {self.users.ids[user]} has rated item {self.items.ids[item]} before, in {places[0]}",
            advice=("keep one of them, or choose with ", Argument("duplicates"), " last or mean"),
            place=places[1],
        )


def first_repeated(rows: NDArray[Any], columns: NDArray[Any], n_columns: int) -> tuple[int, int]:
    """Return where the first pair that is repeated stands for the first time, and where it comes again."""
    pairs = rows * np.int64(n_columns) + columns
    _, first, number = np.unique(pairs, return_index=True, return_inverse=True)
    again = int(np.flatnonzero(first[number] != np.arange(len(pairs)))[0])
    return int(first[number[again]]), again


_APPENDING = ".appending"
_FULL = 2  # times the mean size of a shard, from which new users behind the last one get a shard of their own


def append_files(
    files: PathLike | Sequence[PathLike],
    folder: PathLike,
    *,
    duplicates: Duplicates = "error",
    user: Column | None = None,
    item: Column | None = None,
    rating: Column | None = None,
    timestamp: Column | None = None,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    drop_rating: float | Sequence[float] | None = None,
    callback: Listener | None = None,
) -> ShardedRatings:
    r"""Append the ratings of files to a folder of sharded ratings.

    Ids stay sorted: a new user goes to the shard of the users whose ids stand around it, so that the folder holds what
    all ratings together make. Shards with new ratings are written anew, all shards where a new item comes before one
    that was there; items with ids above all others, as most numbers of new items are, leave the other shards as they
    are. New users behind the last one get a shard of their own where that is more than twice as large as the others
    otherwise.

    New shards are written beside the old ones, so that a call which is ended before the manifest names them changes
    nothing. Whoever has opened the folder keeps what was opened, also in the middle of a fit: old shards are removed by
    the first call that finds nobody who reads them, this one or a later one. Where a file system has no locks (some
    network file systems, Windows) they are removed at once, and a fit that needs them ends with an error that says so.
    Only what an earlier manifest named is removed. The new ratings, and a shard at a time, must fit into memory.

    Parameters
    ----------
    files : path-like or sequence of path-like
        As in `shard_files`.
    folder : path-like
        Of sharded ratings. Its scale holds; its ids are numbers or text, and new ones must be so too. Text that is
        written as a whole number is one among numbers; a file of numbers alone is text among text of which some is
        written so.
    duplicates : {"error", "last", "mean"}, default="error"
        What to do with several ratings of one user for one item, those which were there come first.
    user, item, rating, timestamp, sep, header, encoding, drop_rating, callback
        As in `shard_files`.

    Returns
    -------
    ShardedRatings
        All ratings.

    Raises
    ------
    InvalidInputError
        If a file is malformed, or holds what `Ratings` refuses, or ids of another kind; the message names file and
        line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cofactor.ratings import append_files, shard_files
    >>> place = tempfile.TemporaryDirectory()
    >>> path, folder = pathlib.Path(place.name, "stars.csv"), pathlib.Path(place.name, "big")
    >>> _ = path.write_text("user,movie,stars\nann,12,4\nbob,12,3\nann,7,5\n")
    >>> _ = shard_files(path, folder, 2)
    >>> _ = path.write_text("user,movie,stars\nbo,13,4\n")
    >>> append_files(path, folder).users
    IdMap('ann', 'bo', 'bob')
    >>> place.cleanup()
    """
    check_duplicates(duplicates)
    target = Path(os.path.realpath(folder))
    scale = _open_scale(ShardedRatings.open(target))  # which is not kept open: it would keep old shards
    options = BatchOptions(user, item, rating, timestamp, sep, header, encoding, scale, drop_rating)
    work = target / _APPENDING
    with lock_folder(target):
        shutil.rmtree(work, ignore_errors=True)
        shard_folder.remove_old(target)
        try:
            work.mkdir()
            journal = ShardingJournal(tuple(sources_of(files)), {})
            _append(target, Reading(work, journal, options, callback or (lambda *_: None)), duplicates)
        finally:
            shutil.rmtree(work, ignore_errors=True)
            shard_folder.remove_old(target)
    return ShardedRatings.open(target)


def _open_scale(ratings: ShardedRatings) -> Any:
    """Return how files of more ratings are read."""
    return ratings.scale.tolist() if ratings.rating_scale is None else ratings.rating_scale


def _append(target: Path, reading: Reading, duplicates: Duplicates) -> None:
    """Append files to a folder that no other process changes.

    All is written in the folder of the spill, and moved once a manifest in the folder names it, which is that of its
    items: what a call leaves that is ended in between is removed by the next one.
    """
    old, manifest, work = ShardedRatings.open(target), Manifest.read(target), reading.work
    reading.run()
    new = _News.of(reading, old)
    shards = new.merged(manifest, shard_folder.next_number(target, "shards"), duplicates)
    made = [shard for shard in shards if (work / shard.folder).exists()]
    kept = [shard for shard in shards if not (work / shard.folder).exists()]
    counts, more = (
        shard_folder.item_counts_of(place, some, len(new.items)) for place, some in ((target, kept), (work, made))
    )
    counts += more
    name = shard_folder.items_name(shard_folder.next_number(target, "items"))
    shard_folder.write_common(work, new.items, old.scale, old.rating_scale, shards, counts, name)
    shard_folder.publish(work, target)


@dataclass(frozen=True)
class _News:
    """Ratings to append.

    Attributes
    ----------
    old : ShardedRatings
        Those that are there.
    reading : Reading
        Which finds the place of a rating.
    users : IdMap
        Those who rated.
    items : IdMap
        All items, those that were there too.
    user_index, item_index, levels : ndarray
        Of each rating, in the order of the files.
    times : ndarray or None
    """

    old: ShardedRatings
    reading: Reading
    users: IdMap
    items: IdMap
    user_index: NDArray[np.int32]
    item_index: NDArray[np.int32]
    levels: NDArray[np.uint8]
    times: NDArray[np.float64] | None

    @classmethod
    def of(cls, reading: Reading, old: ShardedRatings) -> _News:
        """Return the ratings that were read, if they fit to those that are there."""
        journal = reading.journal
        file = Place(journal.sources[0].path)
        if old.shard(0).weights is not None:
            raise InvalidInputError("the ratings that are there have weights, so that none can be appended from files")
        if not journal.n_ratings:
            raise InvalidInputError("no ratings, expected lines of user, item and rating", place=file)
        if journal.timed != old.has_times:
            what = ("no times", "have times") if old.has_times else ("times", "have none")
            raise InvalidInputError(f"has {what[0]}, and the ratings in {old.folder} {what[1]}", place=file)
        records = reading.records()

        def place(role: str, number: int) -> Place:
            return reading.place(int(np.flatnonzero(records[role] == number)[0]))

        of_users = (old.source.users(k) for k in range(len(old)))
        users, user_index = reading.users.sorted_like(of_users, place)
        items, item_index = reading.items.sorted_like(iter([old.items]), place)
        everything = union(old.items, items)
        return cls(
            old,
            reading,
            users,
            everything,
            user_index[records["user"]],
            everything.index(items.ids)[item_index][records["item"]],
            reading.levels(old.scale)[records["level"]],
            records["time"] if old.has_times else None,
        )

    def merged(self, manifest: Manifest, number: int, duplicates: Duplicates) -> list[StoredShard]:
        """Write the shards that change beside the spill, from a number on; return all."""
        old = self.old
        where = self.items.index(old.items.ids)
        moved = bool((where != np.arange(len(where))).any())
        shard_of, behind = self._shards_of_users()
        sizes = np.bincount(shard_of[self.user_index], minlength=len(old))
        if manifest.shards[-1].n_ratings + sizes[-1] > _FULL * old.n_ratings / len(old) and behind.any():
            shard_of = np.where(behind, len(old), shard_of)
        found: list[StoredShard] = []
        for k in range(len(old) + int((shard_of == len(old)).any())):
            chosen = np.flatnonzero(shard_of[self.user_index] == k)
            if k < len(old) and not moved and not len(chosen):
                found.append(manifest.shards[k])
                continue
            before = old.shard(k) if k < len(old) else None
            ratings = self._with(before, where, chosen, shard_of == k, duplicates)
            found.append(shard_folder.write_shard(self.reading.work, shard_folder.shard_name(number), ratings))
            number += 1
        return found

    def _shards_of_users(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the shard to which each user belongs by its id, and whether it stands behind all that are there."""
        ids, n = self.users.ids.tolist(), len(self.old)
        firsts = [self.old.source.users(k).ids[0] for k in range(n)]
        last = self.old.source.users(n - 1).ids[-1]
        shards = [max(bisect_right(firsts, one) - 1, 0) for one in ids]
        return np.array(shards), np.array([one > last for one in ids])

    def _with(
        self,
        before: Ratings | None,
        where: NDArray[np.int32],
        chosen: NDArray[np.intp],
        here: NDArray[np.bool_],
        duplicates: Duplicates,
    ) -> Ratings:
        """Return the ratings of a shard with new ones.

        Parameters
        ----------
        before : Ratings or None
            Those that are there; None for a new shard.
        where : ndarray
            Index among all items of those that were there.
        chosen : ndarray of int
            Which of the new ratings belong here.
        here : ndarray of bool
            Which of the users with new ones do.
        duplicates : {"error", "last", "mean"}
        """
        scale, arriving = self.old.scale, IdMap.of_sorted(self.users.ids[here].copy())
        users = arriving if before is None else union(before.users, arriving)
        index = np.full(len(self.users), -1, dtype=np.int32)
        index[here] = users.index(arriving.ids)
        rows, columns, levels = index[self.user_index[chosen]], self.item_index[chosen], self.levels[chosen]
        times = None if self.times is None else self.times[chosen]
        if before is not None:
            rows = np.concatenate([users.index(before.users.ids)[before.row_of_entry], rows])
            columns = np.concatenate([where[before.indices], columns])
            levels = np.concatenate([before.levels, levels])
            if times is not None and before.times is not None:
                times = np.concatenate([before.times, times])
        try:
            found = Ratings.from_entries(users, self.items, rows, columns, scale[levels - 1], scale, duplicates, times)
        except InvalidInputError as error:
            if error.argument != "duplicates":
                raise
            self._refuse_duplicates(users, rows, columns, chosen)
        return replace(found, rating_scale=self.old.rating_scale)

    def _refuse_duplicates(
        self, users: IdMap, rows: NDArray[Any], columns: NDArray[Any], chosen: NDArray[np.intp]
    ) -> NoReturn:
        """Refuse the first new rating of a pair that was rated before: where it stands, and whether it was there."""
        first, again = first_repeated(rows, columns, len(self.items))
        n_before = len(rows) - len(chosen)
        where, advice = "", "leave it out"
        if first < n_before:
            where = ", among the ratings that are there"
            advice = "the file may have been appended already; if not, leave it out"
        raise InvalidInputError(
            f"user {users.ids[rows[again]]} has rated item {self.items.ids[columns[again]]} before{where}",
            advice=(f"{advice}, or choose with ", Argument("duplicates"), " last or mean"),
            place=self.reading.place(int(chosen[again - n_before])),
        )
