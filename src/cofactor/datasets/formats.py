"""The formats of files: what each is called, how it is recognised (only here), and who reads it.

A new format is a module in `cofactor.datasets.readers` and one line in `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from cofactor.datasets import registry
from cofactor.datasets.readers import arff, databases, matlab, parquet, svmlight, text
from cofactor.datasets.readers.svmlight import ChunkOptions, ChunkSource
from cofactor.datasets.readers.text import separator_of
from cofactor.datasets.registry import KnownDataset
from cofactor.datasets.table import Choose, Offset, Table, TableChunk, TableOptions
from cofactor.datasets.types import Holds, LabelDataset
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import (
    GZIP_MAGIC,
    SHARDS,
    START,
    PathLike,
    display_name,
    end_of,
    is_database,
    read_bytes,
    start_of,
    unpacked,
    without_password,
)


@dataclass(frozen=True)
class Format:
    """A format of files.

    Parameters
    ----------
    name : str
        What `load_labels` and ``--format`` call it.
    recognises : callable
        From the first 64 KiB of a file, unpacked, to whether the file has this format.
    holds : {"ratings", "labels", "names of labels", "model"} or callable, optional
        What such files hold; None for a table, which may hold ratings or labels. If it depends on the file, a function
        from its first bytes, unpacked, and its path to one of these; the path is None if there is no file which can be
        opened, as for standard input.
    table : callable, optional
        Reads a table, whose columns may be ratings or labels: from the content of a file, its name for messages and
        `TableOptions` to a `Table`.
    table_chunks : callable, optional
        Reads such a table in chunks: see `Source.table_chunks`.
    labels : callable, optional
        Reads a file which says itself what its labels are, as a `LabelDataset`: its arguments are the path, `sparse`,
        `name` and `options`.
    chunks : callable, optional
        Opens a file of features and labels for reading in chunks, from the path and `ChunkOptions`.
    options : tuple of str
        Which options for reading its reader takes, besides `sparse` and `name`.
    """

    name: str
    recognises: Callable[[bytes], bool]
    holds: Holds | Callable[[bytes, str | None], Holds | None] | None = None
    table: Callable[[bytes, str, TableOptions], Table] | None = None
    table_chunks: Callable[[PathLike, TableOptions, Choose, Offset], Iterator[TableChunk]] | None = None
    labels: Callable[..., LabelDataset] | None = None
    chunks: Callable[[PathLike, ChunkOptions], ChunkSource] | None = None
    options: tuple[str, ...] = ()

    @property
    def may_hold_labels(self) -> bool:
        """Whether `load_labels` reads it."""
        return self.labels is not None or "labels" in self.options


def _is_model(start: bytes) -> bool:
    """Whether a file begins as a safetensors file: the length of its header, and the header, which is JSON."""
    return len(start) > 8 and 0 < int.from_bytes(start[:8], "little") < 1 << 32 and start[8:9] == b"{"


def _is_any(start: bytes) -> bool:
    return True


#: Formats that are no tables, and cannot be mistaken for one: what files of them are, and what to do.
_NO_TABLES = {
    "model": ("the file of a model", "cofactor.load reads it"),
    "mat": ("a file of MATLAB", "load_labels reads features and labels from it"),
    "arff": ("an ARFF file", "load_labels reads features and labels from it"),
}

_WORDS = ("max_words", "ngrams")
_TABLE = ("labels", "drop", *_WORDS, "encoding", "sep", "header")

#: All formats. The first one which recognises the beginning of a file is its format; the last one recognises all.
FORMATS: list[Format] = [
    Format("model", _is_model, holds="model"),
    Format("mat", matlab.looks_like_mat, holds="labels", labels=matlab.read_mat),
    Format(
        "parquet",
        parquet.looks_like_parquet,
        holds=parquet.holds,
        table=parquet.read_parquet,
        table_chunks=parquet.chunks,
        chunks=parquet.open_chunks,
        options=("labels", "drop", *_WORDS),
    ),
    Format("arff", arff.looks_like_arff, holds="labels", labels=arff.read_arff, options=("labels", "drop", "encoding")),
    Format("xml", arff.looks_like_mulan, holds="names of labels"),
    Format(
        "libsvm",
        svmlight.looks_like_libsvm,
        holds=svmlight.holds,
        labels=svmlight.read_libsvm,
        chunks=svmlight.open_chunks,
        options=("zero_based", "n_features", "n_labels"),
    ),
    Format("database", lambda start: False, options=("labels", "drop", *_WORDS)),  # recognised by its address
    Format("table", _is_any, table=text.read_text, table_chunks=text.chunks, options=_TABLE),
]


def format_of(start: bytes) -> Format:
    """Return the format of a file which begins with `start`.

    Parameters
    ----------
    start : bytes
        Its first bytes, unpacked.

    Returns
    -------
    Format

    Examples
    --------
    >>> from cofactor.datasets.formats import format_of
    >>> format_of(b"1,3 5:0.2 7:1").name, format_of(b"user,item,rating").name
    ('libsvm', 'table')
    """
    return next(known for known in FORMATS if known.recognises(start))


#: Suffixes by which a file that is empty, or holds only sizes, is a file of labels.
_LABEL_SUFFIXES = (".arff", ".svm", ".libsvm")


@dataclass(frozen=True)
class Source(os.PathLike[str]):
    """What `open_data` found, and how it is read.

    Every reader takes it in the place of a path.

    Parameters
    ----------
    path : str
        As it was given.
    kind : {"file", "stdin", "database", "known", "folder", "missing"}
        What `path` names: a file, standard input, a database, a data set of the registry, a folder, or nothing.
    format : str
        Name of the format, one of `cofactor.datasets.formats.FORMATS`: "arff", "libsvm", "mat", "parquet", "table",
        "database", "xml" or "model"; or "shards", for a folder of `cofactor.ratings.ShardedRatings`. Empty if there is
        no file, or its beginning cannot be read.
    holds : {"ratings", "labels", "names of labels", "model"} or None
        What is in it, if its beginning shows it; None for a table, whose columns may be ratings or labels.
    compressed : bool
        Whether it is packed with gzip.
    has_sizes : bool
        Whether a libsvm file begins with a line of the numbers of instances, features and labels.
    separator : str or None
        What separates the columns of a table of text, as far as its first line shows it.
    known : KnownDataset or None
        The entry of a known data set in the registry.
    """

    path: str
    kind: Literal["file", "stdin", "database", "known", "folder", "missing"]
    format: str = ""
    holds: Holds | None = None
    compressed: bool = False
    has_sizes: bool = False
    separator: str | None = None
    known: KnownDataset | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return display_name(self.path)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"Source({self.name!r}: {self.format or self.kind})"

    def _format(self, start: bytes) -> Format:
        """Return the format; where the beginning could not be looked at, by what was read."""
        return next(known for known in FORMATS if known.name == self.format) if self.format else format_of(start)

    def table(self, options: TableOptions) -> Table:
        """Read it as a table.

        Parameters
        ----------
        options : TableOptions
            How to read it.
        """
        if self.kind == "database":
            return databases.read_query(self.path, options)
        data = read_bytes(self.path)
        parquet.refuse_lost_beginning(data[:START], data[-len(parquet.MAGIC) :], self.name)
        known = self._format(data[:START])
        if known.name in _NO_TABLES:
            what, advice = _NO_TABLES[known.name]
            expected = f"is {what}, expected a table of {options.content}"
            raise InvalidInputError(expected, advice=advice, place=Place(self.name))
        return (known.table or text.read_text)(data, self.name, options)

    def table_chunks(self, options: TableOptions, choose: Choose, after: Offset | None = None) -> Iterator[TableChunk]:
        """Read it as a table in chunks, in bounded memory.

        Parameters
        ----------
        options : TableOptions
            How to read it.
        choose : callable
            From a table of the first rows to the positions of the columns that are wanted, by role.
        after : Offset, optional
            Where to go on; by default from the beginning.

        Yields
        ------
        TableChunk
            Some rows, in their order.
        """
        start = unpacked(start_of(self.path))
        parquet.refuse_lost_beginning(start, end_of(self.path, len(parquet.MAGIC)), self.name)
        yield from (self._format(start).table_chunks or text.chunks)(self.path, options, choose, after or Offset())

    def chunks(self, options: ChunkOptions) -> ChunkSource:
        """Open its features and labels for reading in chunks, in bounded memory.

        Parameters
        ----------
        options : ChunkOptions
            How to read it.
        """
        if self.kind == "missing":
            raise FileNotFoundError(f"{self.path}: no such file")
        start = b"" if self.kind == "database" else unpacked(start_of(self.path))
        place, known = Place(self.name), self._format(start)
        if known.name == "table" and svmlight.may_be_libsvm(start):
            known = next(other for other in FORMATS if other.name == "libsvm")
        if known.chunks is None:
            raise InvalidInputError(
                "is neither libsvm text nor Parquet, the formats read in chunks",
                advice="read a CSV or ARFF file, or a query, whole (load_labels), and write it with write_chunks",
                place=place,
            )
        if (options.labels is not None or options.drop) and "labels" not in known.options:
            raise InvalidInputError(
                (Argument("labels"), " and ", Argument("drop"), " are for Parquet, whose columns have names"),
                place=place,
            )
        return known.chunks(self.path, options)


def open_data(source: PathLike, query: str | None = None) -> Source:
    r"""Say what data are, by the beginning of their file; nothing of standard input is used up.

    Parameters
    ----------
    source : str or path-like
        A file, ``"-"`` for standard input, the address of a database, or the name of a known data set, in this order.
        Addresses are ``sqlite:///shop.db``, ``duckdb:///shop.duckdb`` (four slashes before a whole path) and
        ``postgresql://user@host:5432/shop``; the password of a server may be in the address, or better in PGPASSWORD
        or ~/.pgpass, and appears in no message. After ``#`` the name of a table, or a query, may follow.
    query : str, optional
        A query in SQL, or the name of a table.

    Returns
    -------
    Source
        Also for a file that is not there or is damaged: its reader will say what is wrong. Every function that reads
        a file takes it: `read_ratings`, `read_interactions`, `load_labels`, ...

    Examples
    --------
    >>> import sqlite3, tempfile, pathlib
    >>> from cofactor.datasets import open_data, read_ratings
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.svm")
    >>> _ = path.write_text("3 3 2\n0,1 2:0.5\n0:1 1:2\n1 0:1\n")
    >>> found = open_data(path)
    >>> found.format, found.holds, found.has_sizes
    ('libsvm', 'labels', True)
    >>> open_data("emotions").holds, open_data("ml-1m").holds, open_data("no-such-file").kind
    ('labels', 'ratings', 'missing')

    >>> shop = sqlite3.connect(pathlib.Path(folder.name, "shop.db"))
    >>> _ = shop.execute("create table ratings (customer, film, stars)")
    >>> _ = shop.execute("insert into ratings values ('ann', 7, 5), ('bob', 8, 3)")
    >>> shop.commit()
    >>> query = "select customer as user, film as item, stars as rating from ratings"
    >>> read_ratings(open_data(f"sqlite:///{folder.name}/shop.db", query)).X.tolist()
    [['ann', 7], ['bob', 8]]
    >>> shop.close()
    >>> folder.cleanup()
    """
    if isinstance(source, Source) and query is None:
        return source
    text = os.fspath(source)
    if is_database(text):
        address = without_password(text)
        return Source(address if query is None else f"{address.partition('#')[0]}#{query}", "database", "database")
    if query is not None:
        advice = "give the address of one, such as sqlite:///shop.db"
        raise InvalidInputError((Argument("query"), " is for databases"), advice=advice, place=Place(text))
    if text != "-" and os.path.isdir(text):
        sharded = os.path.isfile(os.path.join(text, SHARDS))
        return Source(text, "folder", "shards", "ratings") if sharded else Source(text, "folder")
    if text != "-" and not os.path.exists(text):
        known = registry.KNOWN.get(text)
        return Source(text, "missing") if known is None else Source(text, "known", holds=known.task, known=known)
    try:
        packed = start_of(text)
    except OSError:
        return Source(text, "stdin" if text == "-" else "file")
    start = unpacked(packed)
    if not start.strip() and text == "-":
        return Source(text, "stdin")
    if b"\n" not in start and (text == "-" or len(packed) >= START):
        start = start.rpartition(b" ")[0] or start  # the first line goes on: cut it between two words
    return _of_start(text, start, packed.startswith(GZIP_MAGIC))


def _of_start(path: str, start: bytes, compressed: bool) -> Source:
    known = format_of(start)
    first = start.partition(b"\n")[0]
    has_sizes = known.name == "libsvm" and svmlight.sizes_of(first) is not None
    to_look_into = None if path == "-" or compressed else path
    holds = known.holds(start, to_look_into) if callable(known.holds) else known.holds
    nothing = not start.strip() or svmlight.sizes_of(start) is not None
    if nothing and path.lower().removesuffix(".gz").endswith(_LABEL_SUFFIXES):
        holds = "labels"  # so that the reader of labels says that there are no instances
    separator = separator_of(start) if known.name == "table" else None
    return Source(path, "stdin" if path == "-" else "file", known.name, holds, compressed, has_sizes, separator)
