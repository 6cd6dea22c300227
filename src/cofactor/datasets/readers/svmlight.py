"""libsvm multi-label files and the text format of the extreme-classification repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import IO, Any

import numpy as np
from scipy.sparse import csr_array

from cofactor.datasets.readers import svm_text
from cofactor.datasets.readers.chunked import Chunk, ChunkOptions, joined
from cofactor.datasets.readers.matrices import Form, in_form, indicator
from cofactor.datasets.readers.svm_layout import Base, Extent, needs_extent, settle
from cofactor.datasets.types import Holds, LabelDataset, is_sparse
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike, data_name, display_name, opened, replacing
from cofactor.text import counted
from cofactor.typing import Features, Labels

__all__ = ["looks_like_libsvm", "read_libsvm", "write_libsvm"]

# Possessive (``++``): what was taken is never given back, so that time grows with the length of a line and no faster.
_ROW = re.compile(rb"(\d++(,\d++)*+)?(\s*+\d++:\S++)(\s++\d++:\S++)*+")
_LABELS = re.compile(rb"[\d, \t]+")
_HEADER_WIDTH = 40  # room for three numbers, since the number of rows is known only at the end


def read_libsvm(
    path: PathLike,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: Base = "auto",
    sparse: Form = True,
    name: str | None = None,
) -> LabelDataset:
    r"""Read features and labels from a libsvm multi-label file or an extreme-classification file.

    Each line is an instance: its labels joined by commas, then pairs ``index:value``. An instance without labels begins
    with its first pair. In the extreme-classification format the first line holds sizes, the numbers of instances,
    features and labels; all indices count from 0, and each further line is an instance, also an empty one. Without
    sizes, empty lines are skipped. ``#`` begins a comment.

    Parameters
    ----------
    path : str or path-like
        The file, plain or gzip-compressed; ``"-"`` is standard input.
    n_features, n_labels : int, optional
        Numbers of columns of X and Y, for files without a first line of sizes; by default as many as occur.
    zero_based : {"auto", True, False} or tuple of two of these, default "auto"
        Whether indices and labels count from 0 (True) or from 1 (False). ``"auto"``: from 0 in a file with sizes;
        otherwise from 1 unless a 0 occurs, which is decided separately for indices and for labels. A test file in
        which by chance no 0 occurs would be read differently from its training file: give the value if you know it. A
        tuple has one value for indices and one for labels.
    sparse : {"auto", True, False}, default True
        As in `read_arff`.
    name : str, optional
        Name of the data set; by default the file name.

    Returns
    -------
    LabelDataset
        Features and labels are named by their numbers in the file: x0, x1, ... and y0, y1, ... where these count from
        0, x1, x2, ... and y1, y2, ... where they count from 1. So files which count differently are not confused
        (`LabelDataset.align`).

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If a line is malformed, an index occurs twice or is too large (above 2²⁴, unless the number of columns is
        given), or rows are missing; the message names the line.

    Notes
    -----
    On the machine of the benchmarks 5 million entries a second are read where values have up to 15 digits, a million
    where they have more.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cofactor.datasets import read_libsvm
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.svm")
    >>> _ = path.write_text("3 3 2\n0,1 2:0.5\n0:1 1:2\n1\n")
    >>> data = read_libsvm(path)
    >>> data.X.toarray().tolist(), data.Y.toarray().tolist()
    ([[0.0, 0.0, 0.5], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]], [[1, 1], [0, 0], [0, 1]])
    >>> folder.cleanup()
    """
    label = display_name(path)
    with opened(path) as stream:
        sizes, found = svm_text.read_blocks(stream, label)
        blocks = list(found)
    if not sum(len(block.lines) for block in blocks):
        has = "holds no instances, only sizes" if sizes else "is empty"
        raise InvalidInputError(f"the file {has}, expected lines '1,3 5:0.2 ...'", place=Place(label))
    layout = settle(label, sizes, Extent.of(blocks), n_features, n_labels, zero_based)
    X, Y = joined([layout.matrices(block) for block in blocks])
    return LabelDataset(
        name=name or data_name(path),
        X=in_form(X, sparse, label),
        Y=Y,
        feature_names=layout.feature_names,
        label_names=layout.label_names,
        description=f"{counted(X.shape[0], 'instance')} read from {label}",
    )


def looks_like_libsvm(data: bytes) -> bool:
    """Whether the beginning of a file is that of a libsvm or extreme-classification file.

    Parameters
    ----------
    data : bytes
        First lines of the file, unpacked.

    Returns
    -------
    bool
        True if the first line with content consists of sizes, or of labels and at least one pair ``index:value``.
    """
    lines = (line.partition(b"#")[0].strip() for line in data.split(b"\n"))
    first, second = islice(chain(filter(None, lines), (b"", b"")), 2)
    if svm_text.sizes_of(first) is not None:
        return svm_text.sizes_of(second) is None  # lines of three numbers are users, items and ratings
    return b"::" not in first and _ROW.fullmatch(first) is not None  # 1::1193::5 of MovieLens looks like it


def holds(start: bytes, path: str | None) -> Holds | None:
    """What a file that begins like libsvm text holds; a line of three numbers alone may also be a rating."""
    return "labels" if b":" in start else None


def may_be_libsvm(start: bytes) -> bool:
    """Whether a file may be libsvm text whose first instances have only labels, or are malformed."""
    first = start.lstrip().partition(b"\n")[0].partition(b"#")[0].strip()
    return not first or b":" in first or _LABELS.fullmatch(first) is not None


class LibsvmSource:
    """A libsvm or extreme-classification file, read in pieces."""

    def __init__(self, path: PathLike, options: ChunkOptions) -> None:
        given = options.n_features, options.n_labels, options.zero_based
        self.path = path
        self.name = display_name(path)
        extent = None
        with opened(path) as stream:
            sizes, blocks = svm_text.read_blocks(stream, self.name)
            if needs_extent(sizes, *given):
                extent = Extent.of(blocks)
        self.layout = settle(self.name, sizes, extent, *given)
        self.n_rows: int | None = sizes.n_rows if sizes else None
        self.feature_names = self.layout.feature_names
        self.label_names = self.layout.label_names

    def pieces(self, chunk_rows: int) -> Iterator[Chunk]:
        """Yield X and Y of some lines at a time."""
        with opened(self.path) as stream:
            _, blocks = svm_text.read_blocks(stream, self.name)
            for block in blocks:
                yield self.layout.matrices(block)


def write_libsvm(
    path: PathLike, X: Features, Y: Labels, *, header: bool = True, zero_based: bool | None = None
) -> None:
    r"""Write features and labels so that `read_libsvm` reads them back unchanged.

    Parameters
    ----------
    path : str or path-like
        File to write; it appears when it is complete.
    X : ndarray or sparse array of shape (n, D)
        Features; zeros are left out. Numbers are written with as many digits as they need to be read back unchanged in
        their own precision.
    Y : ndarray or sparse array of shape (n, L)
        Labels, 0/1, -1/+1 or booleans.
    header : bool, default True
        Whether to write the sizes in a first line (the extreme-classification format).
    zero_based : bool, optional
        Whether indices and labels count from 0: always with `header`, by default not without it.

    Raises
    ------
    ValueError
        If X and Y differ in length, Y is no indicator, X is not finite, or `zero_based` contradicts `header`.
    FileNotFoundError
        If the folder does not exist.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from cofactor.datasets import write_libsvm
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.svm")
    >>> write_libsvm(path, np.array([[0, 0.5], [2, 0]]), np.array([[1, 1], [0, 1]]), header=False)
    >>> print(path.read_text(), end="")
    1,2 2:0.5
    2 1:2.0
    >>> folder.cleanup()
    """
    features, on = check_pair(X, Y)
    with replacing(path) as stream:
        writer = LibsvmWriter(stream, features.shape[1], on.shape[1], header, zero_based)
        writer.write(features, on)
        writer.close()


def check_pair(X: Features, Y: Labels) -> tuple[csr_array, csr_array]:
    """X and Y of equal length as CSR arrays, X in its own precision."""
    matrix: Any = X if is_sparse(X) else np.asarray(X)
    features = csr_array(matrix)
    if features.dtype.kind != "f":
        features = features.astype(np.float64)
    if not np.isfinite(features.data).all():
        raise InvalidInputError((Argument("X"), " is NaN or infinite somewhere, which cannot be written"), argument="X")
    on = indicator(Y, "Y")
    if features.shape[0] != on.shape[0]:
        rows = counted(features.shape[0], "row")
        raise InvalidInputError((Argument("X"), f" has {rows}, ", Argument("Y"), f" has {on.shape[0]}"), argument="Y")
    return features, on


class LibsvmWriter:
    """Writes rows in pieces; the sizes are filled in at the end."""

    def __init__(self, stream: IO[bytes], n_features: int, n_labels: int, header: bool, zero_based: bool | None):
        if header and zero_based is False:
            raise InvalidInputError(
                (
                    Argument("zero_based", False),
                    " contradicts ",
                    Argument("header", True),
                    ": after a line of sizes all indices count from 0",
                ),
                argument="zero_based",
            )
        self.stream = stream
        self.widths = n_features, n_labels
        self.header = header
        self.first = 0 if header or zero_based else 1
        self.n_rows = 0
        if header:
            stream.write(b" " * _HEADER_WIDTH + b"\n")

    def write(self, X: csr_array, Y: csr_array) -> None:
        """Write some rows."""
        values = X.data.tolist() if X.dtype == np.float64 else X.data  # Python's floats are float64, and faster
        shown = list(map(str, values))
        indices, labels = (X.indices + self.first).tolist(), (Y.indices + self.first).tolist()
        lines = []
        for (a, b), (c, d) in zip(pairwise(X.indptr.tolist()), pairwise(Y.indptr.tolist()), strict=True):
            pairs = " ".join([f"{j}:{value}" for j, value in zip(indices[a:b], shown[a:b], strict=True)])
            if a == b and c == d and not self.header:
                pairs = f"{self.first}:0"  # a blank line would be no row
            lines.append(",".join(map(str, labels[c:d])) + (" " if pairs and d > c else "") + pairs)
        self.n_rows += len(lines)
        self.stream.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Fill in the sizes."""
        if self.header:
            self.stream.seek(0)
            self.stream.write(f"{self.n_rows} {self.widths[0]} {self.widths[1]}".ljust(_HEADER_WIDTH).encode())
