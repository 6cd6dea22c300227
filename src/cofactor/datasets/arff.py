"""Multi-label ARFF files: Mulan (labels named by an XML file) and MEKA (``-C n`` in the relation), dense and sparse.

The rows are read by liac-arff, one at a time, so that no more than one row of Python objects is in memory. On the
machine of the benchmarks it takes 0.5 s for delicious (16,105 rows, 1,483 attributes, sparse), 0.6 s for rcv1subset1
(6,000 rows, 47,337 attributes, sparse) and 1.4 s for Corel16k001 (13,766 rows, 653 attributes, dense): fast enough.
"""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cofactor.datasets._arff_header import Attribute, Header, read_header
from cofactor.datasets._bytes import PathLike, display_name, read_bytes, to_utf8
from cofactor.datasets._label_types import (
    Form,
    LabelDataset,
    from_entries,
    in_form,
    indicator,
    positions_of,
    warn_of_row_names,
)
from cofactor.datasets.mulan_xml import read_label_names
from cofactor.metrics.ratings import counted

__all__ = ["Labels", "read_arff"]

Labels = str | int | PathLike | Sequence[str] | None

_NOT_TEXT = {"0", "1"}


def read_arff(
    path: PathLike,
    labels: Labels = None,
    *,
    drop: Sequence[str] = (),
    sparse: Form = "auto",
    encoding: str = "utf-8",
    name: str | None = None,
) -> LabelDataset:
    r"""Read features and labels from a dense or sparse ARFF file.

    Parameters
    ----------
    path : str or path-like
        The file, plain or gzip-compressed; ``"-"`` is standard input.
    labels : optional
        Which attributes are labels:

        * None: those of the Mulan XML file beside it, which has the same name, or the same up to parts at the end
          (``corel-train-sparse.arff`` goes with ``corel.xml``); without one those of ``-C n`` in the relation;
        * a name ending in ``.xml``: a Mulan XML file, see `read_label_names`;
        * an integer as in MEKA: n > 0 the first n attributes, n < 0 the last ones;
        * another string: all attributes whose names begin with it;
        * a sequence of names; an empty one for a file without labels.

        Labels keep the order of the file, or have the order of the sequence.
    drop : sequence of str, default ()
        Attributes which are neither, such as row names.
    sparse : {"auto", True, False}, default "auto"
        Form of X. ``"auto"``: sparse if at most a fifth of its numbers differ from 0, whatever form the file has.
    encoding : str, default "utf-8"
        Encoding of the file.
    name : str, optional
        Name of the data set; by default the file name.

    Returns
    -------
    LabelDataset
        Nominal attributes whose values are words for off and on (0/1, -1/1, no/yes, false/true, ..., in any order
        and case) become one column of 0 and 1; other nominal ones a column ``name=value`` for each declared value.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the file is truncated, malformed, has missing values (``?``), strings outside of `drop`, an undeclared
        value of a nominal attribute, or lacks a label; the message names the file and the line or the label.
    ImportError
        If liac-arff is not installed.

    Warns
    -----
    UserWarning
        If a nominal feature has another value in each row: it names the rows, and should be dropped.

    Notes
    -----
    In a sparse row, attributes which are left out are 0, nominal ones have the value listed *first*, as Weka has it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cofactor.datasets import read_arff
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.arff")
    >>> _ = path.write_text('''@relation 'beach: -C 2'
    ... @attribute sea {0,1}
    ... @attribute 'sun, or "sol"' {0,1}
    ... @attribute wind numeric
    ... @attribute sky {clear,grey,dark}
    ... @data
    ... 1,0,3.5,grey
    ... 1,1,0,clear
    ... ''')
    >>> data = read_arff(path)
    >>> data.label_names, data.feature_names
    (('sea', 'sun, or "sol"'), ('wind', 'sky=clear', 'sky=grey', 'sky=dark'))
    >>> data.X.tolist(), data.Y.toarray().tolist()
    ([[3.5, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]], [[1, 0], [1, 1]])
    >>> folder.cleanup()
    """
    label = display_name(path)
    text = to_utf8(read_bytes(path), label, encoding).decode()
    lines = _numbered(text)
    header = read_header(lines, label)
    label_columns = _label_columns(header, labels, path)
    dropped = _positions(header, drop, "drop")
    rows = _read_rows(header, lines)
    features = np.setdiff1d(np.arange(len(header.attributes)), [*label_columns, *dropped])
    X, feature_names = _features(rows, features)
    _check_labels(rows, label_columns)
    Y, _ = _columns(rows, np.array(label_columns, dtype=np.intp), spread=False)
    attributes = header.attributes
    return LabelDataset(
        name=name or ("stdin" if label == "standard input" else Path(path).name),
        X=in_form(X, sparse, label),
        Y=indicator(Y, label),
        feature_names=feature_names,
        label_names=tuple(attributes[j].name for j in label_columns),
        nominal=tuple(attributes[j].name for j in features if _is_spread(attributes[j])),
        description=f"{counted(rows.n, 'instance')} read from {label}",
    )


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and content of each line which is neither blank nor a comment."""
    start, number = 0, 0
    while start < len(text):  # not split(), which would hold all lines at once
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        number += 1
        line = text[start:end].strip()
        start = end + 1
        if line and not line.startswith("%"):
            yield number, line


# --------------------------------------------------------------------------------------- which are labels


def _label_columns(header: Header, labels: Labels, path: PathLike) -> list[int]:
    """Positions of the labels among the attributes."""
    n = len(header.attributes)
    if labels is None:
        xml = _xml_beside(path)
        if xml is not None:
            return sorted(_positions(header, read_label_names(xml), display_name(xml)))
        labels = header.meka_labels()
        if labels is None:
            raise ValueError(
                f"{header.name}: cannot tell which attributes are labels: there is no .xml file of its name beside it "
                "and no '-C n' in the relation; say it with labels="
            )
    if isinstance(labels, int | np.integer):
        if not 0 < abs(labels) < n:
            raise ValueError(f"{header.name}: {labels} labels among {counted(n, 'attribute')}; expected 1 to {n - 1}")
        return list(range(labels)) if labels > 0 else list(range(n + labels, n))
    if isinstance(labels, str) and not labels.lower().endswith((".xml", ".xml.gz")):
        found = [j for j, attribute in enumerate(header.attributes) if attribute.name.startswith(labels)]
        if not found or not labels:
            raise ValueError(f"{header.name}: no attribute begins with labels={labels!r}")
        return found
    if not isinstance(labels, Sequence) or isinstance(labels, str):
        return sorted(_positions(header, read_label_names(labels), display_name(labels)))
    return _positions(header, labels, "labels")


def _xml_beside(path: PathLike) -> Path | None:
    """The XML file which goes with an ARFF file: of the same name, or of one shortened at its last ``-`` or ``_``."""
    file = Path(path)
    stem = file.name.removesuffix(".gz").removesuffix(".arff").removesuffix(".ARFF")
    while stem and file.name != "-":
        xml = file.with_name(f"{stem}.xml")
        if xml.is_file():
            return xml
        stem = stem[: max(stem.rfind("-"), stem.rfind("_"), 0)]
    return None


def _positions(header: Header, names: Sequence[str], source: str) -> list[int]:
    return positions_of([attribute.name for attribute in header.attributes], names, header.name, "attribute", source)


# ----------------------------------------------------------------------------------------------- the rows


@dataclass
class _Rows:
    """All rows as entries: numbers by row and attribute, and for each textual attribute the code of its value.

    `codes[j]` counts the values of attribute j in the order of their declaration; where a sparse row leaves it out,
    it is 0. Entries of dense files are there for every row and attribute.
    """

    header: Header
    sparse: bool
    textual: tuple[int, ...]
    lines: array = field(default_factory=lambda: array("q"))
    lengths: array = field(default_factory=lambda: array("q"))
    columns: array = field(default_factory=lambda: array("i"))
    numbers: Any = field(default_factory=lambda: array("d"))
    codes: dict[int, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.lines)


class _Stream:
    """Lines for liac-arff behind a header of its own, with the place where it is."""

    def __init__(self, header: Header, first: tuple[int, str], rest: Iterator[tuple[int, str]], textual: set[int]):
        self.attributes = len(header.attributes)
        self.textual = textual
        self.number, self.line = first
        self.rest = rest

    def __iter__(self) -> Iterator[str]:
        yield "@relation r"
        for j in range(self.attributes):
            yield f"@attribute a{j} {'string' if j in self.textual else 'numeric'}"
        yield "@data"
        yield self.line
        for self.number, self.line in self.rest:
            yield self.line


def _is_textual(attribute: Attribute, sparse: bool) -> bool:
    """Whether values are to be compared as text; those of {0,1} are read as numbers, which is much faster."""
    if attribute.kind == "numeric":
        return False
    plain = set(attribute.values) <= _NOT_TEXT and attribute.kind == "nominal"
    return not plain or (sparse and attribute.values[0] != "0")


def _library() -> ModuleType:
    try:
        return importlib.import_module("arff")
    except ImportError:
        raise ImportError('ARFF files need liac-arff, which is not installed: pip install "cofactor[arff]"') from None


def _read_rows(header: Header, lines: Iterator[tuple[int, str]]) -> _Rows:
    """Read all rows, with the library's errors turned into ones which name the file and the line."""
    library = _library()
    first = next(lines, None)
    if first is None:
        raise ValueError(f"{header.name}: no rows after @data (line {header.last_line}); is the file cut short?")
    sparse = first[1].startswith("{")
    textual = tuple(j for j, attribute in enumerate(header.attributes) if _is_textual(attribute, sparse))
    rows = _Rows(header, sparse, textual)
    stream = _Stream(header, first, lines, set(textual))
    kind = library.LOD_GEN if sparse else library.DENSE_GEN
    try:
        found = library.ArffDecoder().decode(stream, return_type=kind)["data"]
        (_take_sparse if sparse else _take_dense)(rows, found, stream)
    except library.ArffException:
        raise ValueError(_fault(header, stream.number, stream.line, sparse)) from None
    _check_truths(rows)
    return rows


def _take_dense(rows: _Rows, found: Iterator[list], stream: _Stream) -> None:
    textual = set(rows.textual)
    numeric = [j for j in range(stream.attributes) if j not in textual]
    codes = [{value: k for k, value in enumerate(rows.header.attributes[j].values)} for j in rows.textual]
    taken = [array("i") for _ in rows.textual]
    for row in found:
        if isinstance(row, dict) or stream.line.startswith("{"):
            raise ValueError(f"{rows.header.name}, line {stream.number}: a sparse row among dense ones")
        rows.lines.append(stream.number)
        try:
            rows.numbers.extend(row if not textual else [row[j] for j in numeric])
        except TypeError:
            raise ValueError(_missing(rows.header, stream.number, row)) from None
        for j, code, column in zip(rows.textual, codes, taken, strict=True):
            column.append(_code(rows.header, j, code, row[j], stream.number))
    rows.numbers = np.frombuffer(rows.numbers, dtype=np.float64).reshape(rows.n, len(numeric))
    rows.codes = {j: np.array(column) for j, column in zip(rows.textual, taken, strict=True)}


def _take_sparse(rows: _Rows, found: Iterator[dict], stream: _Stream) -> None:
    textual = set(rows.textual)
    codes = {j: {value: k for k, value in enumerate(rows.header.attributes[j].values)} for j in rows.textual}
    taken: list[tuple[int, int, int]] = []
    for row in found:
        rows.lines.append(stream.number)
        line = stream.line
        if "'" not in line and '"' not in line and len(row) != line.count(",") + bool(row):
            raise ValueError(f"{rows.header.name}, line {stream.number}: an index occurs twice")
        if not textual.isdisjoint(row):
            for j in textual.intersection(row):
                taken.append((rows.n - 1, j, _code(rows.header, j, codes[j], row.pop(j), stream.number)))
        rows.lengths.append(len(row))
        rows.columns.extend(row)
        try:
            rows.numbers.extend(row.values())
        except TypeError:
            raise ValueError(_missing(rows.header, stream.number, row)) from None
    rows.numbers = np.frombuffer(rows.numbers, dtype=np.float64)
    rows.codes = {j: np.zeros(rows.n, dtype=np.int32) for j in rows.textual}
    for i, j, code in taken:
        rows.codes[j][i] = code


def _code(header: Header, j: int, codes: dict[str, int], value: str | None, line: int) -> int:
    """Code of a value among the declared ones; strings, which declare none, count from 0."""
    attribute = header.attributes[j]
    if value is None and attribute.kind == "nominal":
        raise ValueError(f"{header.name}, line {line}: the attribute {attribute.name!r} has no value ('?')")
    if attribute.kind == "string":
        return codes.setdefault(str(value), len(codes))
    if value not in codes:
        raise ValueError(
            f"{header.name}, line {line}: the attribute {attribute.name!r} has the value {value!r}, expected one of "
            f"those declared in line {attribute.line}: {', '.join(attribute.values[:6])}"
            + (", ..." if len(attribute.values) > 6 else "")
        )
    return codes[str(value)]


def _missing(header: Header, line: int, row: list | dict) -> str:
    pairs = row.items() if isinstance(row, dict) else enumerate(row)
    j = next(j for j, value in pairs if value is None)
    return (
        f"{header.name}, line {line}: the attribute {header.attributes[j].name!r} has no value ('?'); "
        "replace missing values before"
    )


def _fault(header: Header, line: int, row: str, sparse: bool) -> str:
    """What is wrong with a row which the library refuses."""
    n = len(header.attributes)
    where = f"{header.name}, line {line}"
    quoted = "'" in row or '"' in row
    if sparse:
        for pair in row.strip("{} ").split(",") if row.startswith("{") and row.endswith("}") and not quoted else ():
            index, _, value = pair.strip().partition(" ")
            if not index.isdecimal() or not value.strip() or len(value.split()) > 1:
                return f"{where}: expected 'index value', found {pair.strip()[:40]!r}"
            if int(index) >= n:
                return f"{where}: the index {index} is too large; there are {n} attributes, 0 the first"
            if not _is_number(value):
                return f"{where}: expected a number for {header.attributes[int(index)].name!r}, found {value[:40]!r}"
        return f"{where}: expected a sparse row {{index value, ...}}, found {_ends(row)!r}; is the line cut short?"
    cells = [cell.strip() for cell in row.split(",")]
    if not quoted and len(cells) != n:
        return f"{where}: expected {counted(n, 'value')}, found {len(cells)}; is the line cut short?"
    if not quoted:
        for cell, attribute in zip(cells, header.attributes, strict=True):
            if not _is_number(cell) and attribute.kind == "numeric":
                return f"{where}: expected a number for {attribute.name!r}, found {cell[:40]!r}"
            if not _is_number(cell) and set(attribute.values) <= _NOT_TEXT and attribute.kind == "nominal":
                values = ", ".join(attribute.values)
                return (
                    f"{where}: the attribute {attribute.name!r} has the value {cell[:40]!r}, expected one of {values}"
                )
    return f"{where}: expected {counted(n, 'value')}, found {_ends(row)!r}; is a quotation mark missing?"


def _ends(row: str) -> str:
    """A long row with its middle left out."""
    return row if len(row) <= 60 else f"{row[:30]} ... {row[-25:]}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip() == "?"
    return True


def _check_truths(rows: _Rows) -> None:
    """Refuse numbers which are not among the values of a nominal attribute {0,1}."""
    attributes = rows.header.attributes
    numeric = np.array([a.kind == "numeric" for a in attributes])
    plain = np.setdiff1d(np.arange(len(attributes)), rows.textual)
    if numeric.all():
        return
    columns = np.frombuffer(rows.columns, dtype=np.int32) if rows.sparse else plain
    values = rows.numbers
    allowed = np.array([[not a.values or text in a.values for text in ("0", "1")] for a in attributes])
    right = numeric[columns] | ((values == 0) & allowed[columns, 0]) | ((values == 1) & allowed[columns, 1])
    wrong = np.argwhere(~right)
    if len(wrong):
        k = int(wrong[0][0])
        i = int(np.searchsorted(np.cumsum(rows.lengths), k, side="right")) if rows.sparse else k
        attribute = attributes[int(columns[wrong[0][-1]])]
        raise ValueError(
            f"{rows.header.name}, line {rows.lines[i]}: the attribute {attribute.name!r} has the value "
            f"{values[tuple(wrong[0])]:g}, expected one of {', '.join(attribute.values)}"
        )


# ------------------------------------------------------------------------------------ columns of X and of Y


def _is_spread(attribute: Attribute) -> bool:
    return attribute.kind == "nominal" and attribute.truth is None


def _features(rows: _Rows, columns: NDArray[np.intp]) -> tuple[Any, tuple[str, ...]]:
    """X and the names of its columns."""
    for j in columns:
        attribute = rows.header.attributes[j]
        if attribute.kind == "string":
            raise ValueError(
                f"{rows.header.name}, line {attribute.line}: the attribute {attribute.name!r} is a string, which "
                f"cannot be a feature; leave it out with drop=[{attribute.name!r}]"
            )
        if _is_spread(attribute) and rows.n > 2 and len(set(rows.codes[j].tolist())) == rows.n:
            warn_of_row_names(rows.header.name, "attribute", attribute.name)
    return _columns(rows, columns, spread=True)


def _check_labels(rows: _Rows, columns: Sequence[int]) -> None:
    for j in columns:
        attribute = rows.header.attributes[j]
        if attribute.kind == "string" or _is_spread(attribute):
            found = f"the values {', '.join(attribute.values[:4])}" if attribute.values else "type string"
            raise ValueError(
                f"{rows.header.name}, line {attribute.line}: the label {attribute.name!r} has {found}; expected "
                "0/1, -1/1, no/yes or the like"
            )


def _columns(rows: _Rows, columns: NDArray[np.intp], spread: bool) -> tuple[Any, tuple[str, ...]]:
    """Columns for some attributes, dense or sparse as the file, and their names."""
    attributes = [rows.header.attributes[j] for j in columns]
    spreads = [spread and _is_spread(attribute) for attribute in attributes]
    widths = [len(a.values) if s else 1 for a, s in zip(attributes, spreads, strict=True)]
    starts = np.concatenate([[0], np.cumsum(widths, dtype=np.intp)])
    names = [
        name
        for a, s in zip(attributes, spreads, strict=True)
        for name in ([f"{a.name}={value}" for value in a.values] if s else [a.name])
    ]
    target = np.full(len(rows.header.attributes), -1, dtype=np.int32)
    target[columns] = starts[:-1]
    coded = {
        int(target[j]): (rows.codes[j], None if s else np.array(rows.header.attributes[j].truth))
        for j, s in zip(columns.tolist(), spreads, strict=True)
        if j in rows.codes
    }
    build = _sparse_columns if rows.sparse else _dense_columns
    return build(rows, target, int(starts[-1]), coded), tuple(names)


Coded = dict[int, tuple[NDArray, NDArray | None]]


def _dense_columns(rows: _Rows, target: NDArray[np.int32], width: int, coded: Coded) -> NDArray[np.float64]:
    result = np.zeros((rows.n, width))
    plain = np.setdiff1d(np.arange(len(target)), rows.textual)
    wanted = np.flatnonzero(target[plain] >= 0)
    result[:, target[plain[wanted]]] = rows.numbers[:, wanted]
    for start, (codes, truth) in coded.items():
        if truth is None:
            result[np.arange(rows.n), start + codes] = 1.0
        else:
            result[:, start] = truth[codes]
    return result


def _sparse_columns(rows: _Rows, target: NDArray[np.int32], width: int, coded: Coded) -> csr_array:
    at = np.repeat(np.arange(rows.n), np.frombuffer(rows.lengths, dtype=np.int64))
    columns = target[np.frombuffer(rows.columns, dtype=np.int32)] if len(rows.columns) else np.zeros(0, dtype=np.int32)
    wanted = columns >= 0
    result = from_entries(rows.n, width, at[wanted], columns[wanted], rows.numbers[wanted])
    for start, (codes, truth) in coded.items():
        on = np.arange(rows.n) if truth is None else np.flatnonzero(truth[codes])
        at_column = start + codes if truth is None else np.full(len(on), start)
        result = result + from_entries(rows.n, width, on, at_column, np.ones(len(on)))
    return result
