"""libsvm and extreme-classification text: rows read by scikit-learn (speed), or here for lines in errors.

Of plain lines ``1,3 5:0.2 7:1`` scikit-learn makes arrays. It takes ``1.5`` and ``inf`` for labels and NaN for values,
wants indices in order, names no line, and does not know a first line of sizes. So everything else is read word by word,
and an error names its line. Both ways accept the same lines and give the same arrays; either reads some at a time.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import IO, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cofactor.chunked import vstack
from cofactor.datasets.readers.matrices import Form, generic_names, in_form, indicator, small_indices
from cofactor.datasets.types import Holds, LabelDataset, is_sparse
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike, data_name, display_name, opened, replacing
from cofactor.limits import COLUMNS
from cofactor.text import plural
from cofactor.typing import LABEL_DTYPE, Features, Labels

BLOCK_BYTES = 1 << 21

_PLAIN = b"0123456789 \t\r\n,:.-+eE"  # of other signs scikit-learn takes more than we do, such as nan and 1_000
_SIGNED = re.compile(rb"\n[ \t\r]*+[\d,]*+[.eE+-]|[ \t\r][+-]")  # a label or an index which is no plain integer
_LARGEST_INDEX = 2**31 - 2
_MOST_DIGITS = 18  # of a number of rows, features or labels


@dataclass(frozen=True)
class Block:
    """Some rows of a file.

    For each row the number of its labels, the number of its entries and its line; and the labels, the indices and the
    values of all rows, one row after the other.
    """

    n_labels: NDArray[np.int64]
    labels: NDArray[np.int64]
    n_entries: NDArray[np.int64]
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    lines: NDArray[np.int64]


@dataclass(frozen=True)
class Sizes:
    """First line ``N D L`` of the extreme-classification format."""

    n_rows: int
    n_features: int
    n_labels: int


def sizes_of(line: bytes) -> Sizes | None:
    """Sizes if a line holds three numbers, otherwise None; a row of labels and entries never looks like this."""
    words = line.split()
    if len(words) == 3 and all(word.isdigit() and len(word) <= _MOST_DIGITS for word in words):
        return Sizes(*map(int, words))
    return None


def read_blocks(stream: IO[bytes], name: str, size: int = BLOCK_BYTES) -> tuple[Sizes | None, Iterator[Block]]:
    """Return the sizes if the first line has them, and the rows, some at a time.

    In a file with sizes each line is a row, and there must be as many rows as they say; otherwise blank lines are no
    rows.
    """
    first = stream.readline()
    sizes = sizes_of(first)
    found = _blocks(stream, b"" if sizes else first, 2 if sizes else 1, name, size, keep_blank=sizes is not None)
    return sizes, found if sizes is None else _counted(found, sizes.n_rows, name)


def _blocks(stream: IO[bytes], rest: bytes, number: int, name: str, size: int, keep_blank: bool) -> Iterator[Block]:
    parts = [rest]  # of a line which may go on
    while data := stream.read(size):
        cut = data.rfind(b"\n") + 1
        if not cut:
            parts.append(data)
            continue
        whole, parts = b"".join([*parts, data[:cut]]), [data[cut:]]
        yield parse(whole, number, name, keep_blank)
        number += whole.count(b"\n")
    rest = b"".join(parts)
    if rest:
        yield parse(rest, number, name, keep_blank)


def _counted(blocks: Iterator[Block], n_rows: int, name: str) -> Iterator[Block]:
    """Yield the same blocks without the blank lines after the last row; a wrong number of rows is an error."""
    missing = n_rows
    for block in blocks:
        extra = len(block.lines) - missing
        if extra > 0:
            beyond = np.flatnonzero((block.n_labels + block.n_entries)[missing:])
            if len(beyond):
                line = block.lines[missing + beyond[0]]
                raise InvalidInputError(
                    f"more rows than the {n_rows} which the first line announces", place=Place(name, int(line))
                )
            block = replace(
                block,
                n_labels=block.n_labels[:missing],
                n_entries=block.n_entries[:missing],
                lines=block.lines[:missing],
            )
        missing -= len(block.lines)
        yield block
    if missing:
        raise InvalidInputError(
            f"the first line announces {n_rows} rows, found {n_rows - missing}",
            advice="is the file cut short?",
            place=Place(name),
        )


def parse(data: bytes, number: int, name: str, keep_blank: bool) -> Block:
    """Rows of some whole lines; `number` is the number of the first line."""
    if not data.endswith(b"\n"):
        data += b"\n"
    block = _fast(data, number, keep_blank)
    return _careful(data, number, name, keep_blank) if block is None else block


def _fast(data: bytes, number: int, keep_blank: bool) -> Block | None:
    """Parse all lines by scikit-learn, or return None if they have to be looked at one by one."""
    if data.translate(None, _PLAIN) or _SIGNED.search(b"\n" + data):
        return None
    from sklearn.datasets import load_svmlight_file  # only here, since it takes long to import

    lines = np.arange(number, number + data.count(b"\n"))
    try:
        X, found = load_svmlight_file(io.BytesIO(data), multilabel=True, zero_based=True)
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        labels = np.fromiter(chain.from_iterable(found), np.float64, sizes.sum())
    except (ValueError, OverflowError):
        return None
    if len(found) < len(lines) and not keep_blank:
        lines = lines[[bool(line.strip()) for line in data.split(b"\n")[:-1]]]
    largest = max(labels.max(initial=0), X.indices.max(initial=0))
    if len(found) != len(lines) or largest > _LARGEST_INDEX or not np.isfinite(X.data).all():
        return None
    return Block(sizes, labels.astype(np.int64), np.diff(X.indptr), X.indices.astype(np.int64), X.data, lines)


# --------------------------------------------------------------------------------------- the careful way


def _careful(data: bytes, number: int, name: str, keep_blank: bool) -> Block:
    labels: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    counts: list[tuple[int, int, int]] = []
    for at, raw in enumerate(data.split(b"\n")[:-1], start=number):
        place = Place(name, at)
        words = _text(raw, place).partition("#")[0].split()
        if not words and not keep_blank:
            continue
        before = len(labels), len(indices)
        if words and ":" not in words[0]:
            labels += [_integer(word, "label", place) for word in words.pop(0).split(",")]
        for word in words:
            index, colon, value = word.partition(":")
            if not colon:
                raise InvalidInputError(
                    f"expected index:value, found {word[:40]!r}", advice="labels are joined by commas", place=place
                )
            indices.append(_integer(index, "index", place))
            values.append(_number(value, place))
        counts.append((len(labels) - before[0], len(indices) - before[1], at))
    table = np.array(counts, dtype=np.int64).reshape(-1, 3)
    return Block(
        table[:, 0],
        np.array(labels, dtype=np.int64),
        table[:, 1],
        np.array(indices, dtype=np.int64),
        np.array(values, dtype=np.float64),
        table[:, 2],
    )


def _text(raw: bytes, place: Place) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise InvalidInputError("is no text", place=place) from None


def _integer(word: str, what: str, place: Place) -> int:
    if not (word.isascii() and word.isdigit()):
        found = repr(word[:40]) if word else "none"
        article = "an" if what == "index" else "a"
        raise InvalidInputError(f"expected {article} {what}, which is an integer from 0, found {found}", place=place)
    number = int(word[-_MOST_DIGITS:])
    if number > _LARGEST_INDEX or word[:-_MOST_DIGITS].strip("0"):
        raise InvalidInputError(f"the {what} {word[:40]} is larger than {_LARGEST_INDEX}", place=place)
    return number


def _number(word: str, place: Place) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if "_" in word or not math.isfinite(value):
        raise InvalidInputError(f"expected a finite number after the colon, found {word[:40]!r}", place=place)
    return value


#: Whether numbers in a file count from 0 or from 1, or "auto"; a tuple has a value for indices and one for labels.
Base = Literal["auto"] | bool | tuple[Literal["auto"] | bool, Literal["auto"] | bool]


@dataclass
class NumberRange:
    """Smallest and largest number in all rows, and the line of the largest; each for indices, then for labels."""

    least: list[int]
    most: list[int]
    lines: list[int]

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> NumberRange:
        """Extent of some blocks of rows."""
        extent = cls([1, 1], [-1, -1], [0, 0])
        for block in blocks:
            for k, (found, counts) in enumerate(((block.indices, block.n_entries), (block.labels, block.n_labels))):
                if not len(found):
                    continue
                extent.least[k] = min(extent.least[k], int(found.min()))
                at = int(found.argmax())
                if found[at] > extent.most[k]:
                    extent.most[k] = int(found[at])
                    extent.lines[k] = int(block.lines[np.searchsorted(np.cumsum(counts), at, side="right")])
        return extent


@dataclass(frozen=True)
class ColumnLayout:
    """How many features and labels there are, and which number the first one of each has in the file."""

    name: str
    n_features: int
    n_labels: int
    first_index: int
    first_label: int
    names: tuple[Sequence[str], Sequence[str]] | None = None  # of features and labels, if the file has them
    unit: Literal["line", "row"] = "line"  # what messages call a row of the file

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features: those in the file, or by their indices in it."""
        return tuple(self.names[0]) if self.names else generic_names("x", self.n_features, self.first_index)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels: those in the file, or by their numbers in it."""
        return tuple(self.names[1]) if self.names else generic_names("y", self.n_labels, self.first_label)

    def matrices(self, block: Block) -> tuple[csr_array, csr_array]:
        """X and Y of some rows."""
        X = self._matrix(block.n_entries, block.indices, block.values, block.lines, "index")
        ones = np.ones(len(block.labels), dtype=LABEL_DTYPE)
        return X, self._matrix(block.n_labels, block.labels, ones, block.lines, "label")

    def _matrix(
        self,
        counts: NDArray[np.int64],
        numbers: NDArray[np.int64],
        values: NDArray,
        lines: NDArray[np.int64],
        what: Literal["index", "label"],
    ) -> csr_array:
        if what == "index":
            n, first, option = self.n_features, self.first_index, "n_features"
        else:
            n, first, option = self.n_labels, self.first_label, "n_labels"
        columns = numbers - first
        indptr = np.concatenate([[0], np.cumsum(counts)])
        outside = np.flatnonzero((columns < 0) | (columns >= n))
        if len(outside):
            row = np.searchsorted(indptr, outside[0], side="right") - 1
            raise InvalidInputError(
                f"the {what} {numbers[outside[0]]} is outside of {first} to {n + first - 1}",
                advice=("give ", Argument(option), " or ", Argument("zero_based"), " if it is right"),
                place=self._place(lines[row]),
            )
        matrix = small_indices(csr_array((values, columns, indptr), (len(counts), n)))
        matrix.sort_indices()
        equal = np.flatnonzero(matrix.indices[1:] == matrix.indices[:-1])  # an entry and the next one
        rows = np.searchsorted(indptr, equal, side="right") - 1
        twice = np.flatnonzero(indptr[rows + 1] > equal + 1)  # both of them in one row
        if len(twice):
            raise InvalidInputError(
                f"the {what} {matrix.indices[equal[twice[0]]] + first} occurs twice",
                place=self._place(lines[rows[twice[0]]]),
            )
        return matrix

    def _place(self, number: np.int64) -> Place:
        if self.unit == "line":
            return Place(self.name, int(number))
        return Place(self.name, column=f"row {number}")

    def dataset(self, blocks: Iterable[Block], sparse: Form, name: str) -> LabelDataset:
        """Return all rows of a file."""
        X, Y = joined([self.matrices(block) for block in blocks])
        return LabelDataset(
            name=name,
            X=in_form(X, sparse, self.name),
            Y=Y,
            feature_names=self.feature_names,
            label_names=self.label_names,
            description=f"{plural(X.shape[0], 'instance')} read from {self.name}",
        )


def needs_extent(sizes: Sizes | None, n_features: int | None, n_labels: int | None, zero_based: Base) -> bool:
    """Whether the layout is known only after all rows were read."""
    return sizes is None and (n_features is None or n_labels is None or "auto" in _bases(zero_based))


def _bases(zero_based: Base) -> tuple[Literal["auto"] | bool, Literal["auto"] | bool]:
    """Whether indices and labels count from 0."""
    bases = zero_based if isinstance(zero_based, tuple) else (zero_based, zero_based)
    if len(bases) != 2 or any(base not in ("auto", True, False) for base in bases):
        raise InvalidInputError(
            "not known",
            argument="zero_based",
            found=zero_based,
            advice="expected 'auto', True or False, or two of these in a tuple",
        )
    return bases


def resolve_layout(
    name: str,
    sizes: Sizes | None,
    extent: NumberRange | None,
    n_features: int | None,
    n_labels: int | None,
    zero_based: Base,
) -> ColumnLayout:
    """Layout of a file from its sizes, else from what the caller gives, else from the extent of its rows."""
    bases = _bases(zero_based)
    widths = {"n_features": n_features, "n_labels": n_labels}
    for option, given in widths.items():
        if given is not None and given < 0:
            raise InvalidInputError("must be at least 0", argument=option, found=given)
    if sizes is not None:
        for option, given in widths.items():
            announced = getattr(sizes, option)
            if given not in (None, announced):
                raise InvalidInputError(
                    (f"announces {announced} {option[2:]}, but it should be ", Argument(option, given)),
                    argument=option,
                    place=Place(name, 1),
                )
            if given is None:
                COLUMNS.check(announced, f"announces {announced} {option[2:]}", Place(name, 1), argument=option)
        return ColumnLayout(name, sizes.n_features, sizes.n_labels, 0, 0)
    first_index, first_label = (_first(base, extent, k) for k, base in enumerate(bases))
    if n_features is None:
        n_features = _width(name, extent, 0, first_index)
    if n_labels is None:
        n_labels = _width(name, extent, 1, first_label)
    return ColumnLayout(name, n_features, n_labels, first_index, first_label)


def _first(base: Literal["auto"] | bool, extent: NumberRange | None, k: int) -> int:
    """Number of the first feature (k = 0), or label (k = 1)."""
    if base == "auto":
        return 0 if extent is None else extent.least[k]
    return 0 if base else 1


def _width(name: str, extent: NumberRange | None, k: int, first: int) -> int:
    """How many features (k = 0), or labels (k = 1), there are by the extent of the rows."""
    assert extent is not None
    what, option = ("index", "n_features") if k == 0 else ("label", "n_labels")
    proportion = f"the {what} {extent.most[k]} is out of all proportion"
    COLUMNS.check(extent.most[k] + 1 - first, proportion, Place(name, extent.lines[k]), argument=option)
    return extent.most[k] + 1 - first if extent.most[k] >= 0 else 0


#: Features and labels of some instances.
Chunk: TypeAlias = tuple[Any, csr_array]


@dataclass(frozen=True)
class ChunkOptions:
    """How to read a file; the parameters are those of `cofactor.datasets.LabelChunks`."""

    labels: str | Sequence[str] | None = None
    drop: Sequence[str] = ()
    n_features: int | None = None
    n_labels: int | None = None
    zero_based: Base = "auto"


@dataclass(frozen=True)
class ChunkSource:
    """A file which can be read in chunks, any number of times.

    `read` yields X and Y of some rows at a time, if possible of at most as many as it is given.
    """

    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    n_rows: int | None
    read: Callable[[int], Iterator[Chunk]]


def joined(parts: list[Chunk]) -> Chunk:
    """Some chunks as one."""
    X, Y = (vstack(part) for part in zip(*parts, strict=True))
    return X, Y


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
        sizes, found = read_blocks(stream, label)
        blocks = list(found)
    if not sum(len(block.lines) for block in blocks):
        has = "holds no instances, only sizes" if sizes else "is empty"
        raise InvalidInputError(f"the file {has}, expected lines '1,3 5:0.2 ...'", place=Place(label))
    layout = resolve_layout(label, sizes, NumberRange.of(blocks), n_features, n_labels, zero_based)
    return layout.dataset(blocks, sparse, name or data_name(path))


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
    if sizes_of(first) is not None:
        return sizes_of(second) is None  # lines of three numbers are users, items and ratings
    return b"::" not in first and _ROW.fullmatch(first) is not None  # 1::1193::5 of MovieLens looks like it


def holds(start: bytes, path: str | None) -> Holds | None:
    """What a file that begins like libsvm text holds; a line of three numbers alone may also be a rating."""
    return "labels" if b":" in start else None


def may_be_libsvm(start: bytes) -> bool:
    """Whether a file may be libsvm text whose first instances have only labels, or are malformed."""
    first = start.lstrip().partition(b"\n")[0].partition(b"#")[0].strip()
    return not first or b":" in first or _LABELS.fullmatch(first) is not None


def open_chunks(path: PathLike, options: ChunkOptions) -> ChunkSource:
    """Open a libsvm or extreme-classification file for reading in chunks."""
    given = options.n_features, options.n_labels, options.zero_based
    name = display_name(path)
    with opened(path) as stream:
        sizes, blocks = read_blocks(stream, name)
        layout = resolve_layout(name, sizes, NumberRange.of(blocks) if needs_extent(sizes, *given) else None, *given)

    def read(rows: int) -> Iterator[Chunk]:
        with opened(path) as stream:
            yield from map(layout.matrices, read_blocks(stream, name)[1])

    return ChunkSource(layout.feature_names, layout.label_names, sizes.n_rows if sizes else None, read)


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
        rows = plural(features.shape[0], "row")
        raise InvalidInputError((Argument("X"), f" has {rows}, ", Argument("Y"), f" has {on.shape[0]}"), argument="Y")
    return features, on


class LibsvmWriter:
    """Writes rows in blocks; the sizes are filled in at the end."""

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
