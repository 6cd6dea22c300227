"""What a file is, found from its beginning: the only place that decides it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from cofactor.datasets import registry
from cofactor.datasets.formats import format_of
from cofactor.datasets.readers import svm_text
from cofactor.datasets.readers.text import separator_of
from cofactor.datasets.registry.entries import KnownDataset
from cofactor.datasets.types import Holds
from cofactor.files import GZIP_MAGIC, SHARDS, START, PathLike, display_name, start_of, unpacked

__all__ = ["Found", "sniff"]

#: Suffixes by which a file that is empty, or holds only sizes, is a file of labels.
_LABEL_SUFFIXES = (".arff", ".svm", ".libsvm")


@dataclass(frozen=True)
class Found:
    """What `sniff` found.

    Parameters
    ----------
    path : str
        As it was given.
    kind : {"file", "stdin", "known", "folder", "missing"}
        What `path` names: a file, standard input, a data set of the registry, a folder, or nothing.
    format : str
        Name of the format, one of `cofactor.datasets.formats.FORMATS`: "arff", "libsvm", "mat", "parquet", "table",
        "xml" or "model"; or "shards", for a folder of `cofactor.ratings.ShardedRatings`. Empty if there is no file, or
        its beginning cannot be read.
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
    kind: Literal["file", "stdin", "known", "folder", "missing"]
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


def sniff(path: PathLike) -> Found:
    r"""Say what a file is, by its beginning; nothing of standard input is used up.

    Parameters
    ----------
    path : str or path-like
        A file, ``"-"`` for standard input, or the name of a known data set, in this order.

    Returns
    -------
    Found
        Also for a file that is not there or is damaged: its reader will say what is wrong.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cofactor.datasets.sniff import sniff
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.svm")
    >>> _ = path.write_text("3 3 2\n0,1 2:0.5\n0:1 1:2\n1 0:1\n")
    >>> found = sniff(path)
    >>> found.format, found.holds, found.has_sizes
    ('libsvm', 'labels', True)
    >>> sniff("emotions").holds, sniff("ml-1m").holds, sniff("no-such-file").kind
    ('labels', 'ratings', 'missing')
    >>> folder.cleanup()
    """
    text = os.fspath(path)
    if text != "-" and os.path.isdir(text):
        sharded = os.path.isfile(os.path.join(text, SHARDS))
        return Found(text, "folder", "shards", "ratings") if sharded else Found(text, "folder")
    if text != "-" and not os.path.exists(text):
        known = registry.KNOWN.get(text)
        return Found(text, "missing") if known is None else Found(text, "known", holds=known.task, known=known)
    try:
        packed = start_of(text)
    except OSError:
        return Found(text, "stdin" if text == "-" else "file")
    start = unpacked(packed)
    if not start.strip() and text == "-":
        return Found(text, "stdin")
    if b"\n" not in start and (text == "-" or len(packed) >= START):
        start = start.rpartition(b" ")[0] or start  # the first line goes on: cut it between two words
    return _of_start(text, start, packed.startswith(GZIP_MAGIC))


def _of_start(path: str, start: bytes, compressed: bool) -> Found:
    known = format_of(start)
    first = start.partition(b"\n")[0]
    has_sizes = known.name == "libsvm" and svm_text.sizes_of(first) is not None
    to_look_into = None if path == "-" or compressed else path
    holds = known.holds(start, to_look_into) if callable(known.holds) else known.holds
    nothing = not start.strip() or svm_text.sizes_of(start) is not None
    if nothing and path.lower().removesuffix(".gz").endswith(_LABEL_SUFFIXES):
        holds = "labels"  # so that the reader of labels says that there are no instances
    separator = separator_of(start) if known.name == "table" else None
    return Found(path, "stdin" if path == "-" else "file", known.name, holds, compressed, has_sizes, separator)
