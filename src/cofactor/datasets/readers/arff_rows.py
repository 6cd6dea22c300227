"""The rows of an ARFF file as numbers, read by Arrow or liac-arff; errors name the line and what is wrong in it."""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets.readers import arff_plain
from cofactor.datasets.readers.arff_header import Attribute, Header
from cofactor.errors import Argument, InvalidInputError, MissingPackageError, Place
from cofactor.text import counted

_NOT_TEXT = {"0", "1"}


@dataclass
class Rows:
    """All rows: numbers of the numeric attributes, and codes for the values of the textual ones.

    What has no value, and need not have one, has some value, and stands in `unknown`.

    In a dense file `numbers` has a row for each row and a column for each numeric attribute. In a sparse file it is
    one-dimensional, row after row, `lengths` has the number of entries of each row and `columns` their attributes.
    ``codes[j]`` has for each row the position of the value of attribute j among the declared ones, 0 where a sparse
    row leaves it out; ``strings[j]`` has the values of a textual attribute. `lines` has the number of the line of
    each row.
    """

    header: Header
    sparse: bool
    textual: tuple[int, ...]
    lines: Any = field(default_factory=lambda: array("q"))
    lengths: Any = field(default_factory=lambda: array("q"))
    columns: Any = field(default_factory=lambda: array("i"))
    numbers: Any = field(default_factory=lambda: array("d"))
    codes: dict[int, Any] = field(default_factory=dict)
    strings: dict[int, list[str]] = field(default_factory=dict)
    labels: frozenset[int] = frozenset()
    optional: frozenset[int] = frozenset()  # attributes which may have no value ('?')
    unknown: list[tuple[int, int]] = field(default_factory=list)  # rows and attributes where these have none

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def known(self, columns: Sequence[int]) -> NDArray[np.bool_] | None:
        """Return which labels have a value; None if all have one."""
        place = {j: k for k, j in enumerate(columns)}
        gaps = [(i, place[j]) for i, j in self.unknown if j in place]
        if not gaps:
            return None
        known = np.ones((self.n, len(columns)), dtype=bool)
        known[tuple(np.array(gaps).T)] = False
        return known

    def take_gaps(self, row: Any) -> None:
        """Note what has no value ('?') in the row that is read, and need not have one; give it some."""
        pairs = row.items() if isinstance(row, dict) else enumerate(row)
        for j in [j for j, value in pairs if value is None and j in self.optional]:
            values = self.header.attributes[j].values
            some = values[0] if values else "1"  # in whatever code labels are written
            row[j] = some if j in self.textual else float(some)
            self.unknown.append((self.n - 1, j))


class _Stream:
    """The lines which liac-arff reads, after a header written for it; knows which line was the last."""

    def __init__(self, header: Header, numbered: Sequence[tuple[int, str]], textual: set[int]):
        self.attributes = len(header.attributes)
        self.textual = textual
        self.numbered = numbered
        self.number, self.line = numbered[0]

    def __iter__(self) -> Iterator[str]:
        yield "@relation r"
        for j in range(self.attributes):
            yield f"@attribute a{j} {'string' if j in self.textual else 'numeric'}"
        yield "@data"
        for number, line in self.numbered:
            self.number, self.line = number, line
            yield line


def _is_textual(attribute: Attribute, sparse: bool) -> bool:
    """Whether values must be read as text; those of {0,1} are read as numbers, which is much faster."""
    if attribute.kind == "numeric":
        return False
    plain = set(attribute.values) <= _NOT_TEXT and attribute.kind == "nominal"
    return not plain or (sparse and attribute.values[0] != "0")


def _library() -> ModuleType:
    try:
        return importlib.import_module("arff")
    except ImportError:
        raise MissingPackageError("liac-arff", "ARFF files need", "arff") from None


def read_rows(
    header: Header, lines: Iterator[tuple[int, str]], labels: Sequence[int] = (), optional: Iterable[int] = ()
) -> Rows:
    """Read all rows; an error of the library becomes one which names the file and the line.

    `labels` are the attributes of labels, `optional` those which may have no value ('?').
    """
    library = _library()
    first = next(lines, None)
    if first is None:
        raise InvalidInputError(
            f"no rows after @data (line {header.last_line})", advice="is the file cut short?", place=Place(header.name)
        )
    sparse = first[1].startswith("{")
    textual = tuple(j for j, attribute in enumerate(header.attributes) if _is_textual(attribute, sparse))
    rows = Rows(header, sparse, textual, labels=frozenset(labels), optional=frozenset(optional))
    numbered = [first, *lines]
    if not _take_plain(rows, numbered):
        stream = _Stream(header, numbered, set(textual))
        kind = library.LOD_GEN if sparse else library.DENSE_GEN
        try:
            found = library.ArffDecoder().decode(stream, return_type=kind)["data"]
            (_take_sparse if sparse else _take_dense)(rows, found, stream)
        except InvalidInputError:
            raise
        except (library.ArffException, ValueError, IndexError):  # the latter two from its own parts
            raise _fault(header, stream.number, stream.line, sparse) from None
    _check_finite(rows)
    _check_truths(rows)
    return rows


def _take_plain(rows: Rows, numbered: Sequence[tuple[int, str]]) -> bool:
    """Take rows which Arrow can read; False if it cannot."""
    attributes = rows.header.attributes
    if any(attribute.kind == "string" for attribute in attributes) or (rows.sparse and rows.textual):
        return False
    numbers, lines = zip(*numbered, strict=True)
    if rows.sparse:
        entries = arff_plain.sparse_numbers(lines, len(attributes))
        if entries is None:
            return False
        rows.lengths, rows.columns, rows.numbers = entries
    else:
        textual = set(rows.textual)
        values = [attribute.values if j in textual else () for j, attribute in enumerate(attributes)]
        columns = arff_plain.dense_columns(lines, values)
        if columns is None:
            return False
        numeric = [column for j, column in enumerate(columns) if j not in textual]
        rows.numbers = np.column_stack(numeric) if numeric else np.zeros((len(lines), 0))
        rows.codes = {j: columns[j] for j in rows.textual}
    rows.lines = np.array(numbers)
    return True


def _take_dense(rows: Rows, found: Iterator[list], stream: _Stream) -> None:
    textual = set(rows.textual)
    numeric = [j for j in range(stream.attributes) if j not in textual]
    codes = [{value: k for k, value in enumerate(rows.header.attributes[j].values)} for j in rows.textual]
    taken = [array("i") for _ in rows.textual]
    for row in found:
        if stream.line.startswith("{"):
            raise InvalidInputError("a sparse row among dense ones", place=Place(rows.header.name, stream.number))
        rows.lines.append(stream.number)
        if None in row:
            rows.take_gaps(row)
        try:
            rows.numbers.extend(row if not textual else [row[j] for j in numeric])
        except TypeError:
            raise _missing(rows, stream.number, row) from None
        for j, code, column in zip(rows.textual, codes, taken, strict=True):
            column.append(_code(rows, j, code, row[j], stream.number))
    rows.numbers = np.frombuffer(rows.numbers, dtype=np.float64).reshape(rows.n, len(numeric))
    rows.codes = {j: np.array(column) for j, column in zip(rows.textual, taken, strict=True)}
    rows.strings = {j: list(code) for j, code in zip(rows.textual, codes, strict=True)}


def _take_sparse(rows: Rows, found: Iterator[dict], stream: _Stream) -> None:
    textual = set(rows.textual)
    codes = {j: {value: k for k, value in enumerate(rows.header.attributes[j].values)} for j in rows.textual}
    taken: list[tuple[int, int, int]] = []
    for row in found:
        rows.lines.append(stream.number)
        line = stream.line
        if "'" not in line and '"' not in line and len(row) != line.count(",") + bool(row):
            raise InvalidInputError("an index occurs twice", place=Place(rows.header.name, stream.number))
        if None in row.values():
            rows.take_gaps(row)
        if not textual.isdisjoint(row):
            for j in textual.intersection(row):
                taken.append((rows.n - 1, j, _code(rows, j, codes[j], row.pop(j), stream.number)))
        rows.lengths.append(len(row))
        rows.columns.extend(row)
        try:
            rows.numbers.extend(row.values())
        except TypeError:
            raise _missing(rows, stream.number, row) from None
    rows.numbers = np.frombuffer(rows.numbers, dtype=np.float64)
    rows.codes = {j: np.zeros(rows.n, dtype=np.int32) for j in rows.textual}
    rows.strings = {j: list(code) for j, code in codes.items()}
    for i, j, code in taken:
        rows.codes[j][i] = code


def _code(rows: Rows, j: int, codes: dict[str, int], value: str | None, line: int) -> int:
    """Code of a value among the declared ones; strings, which declare none, count from 0."""
    header, attribute = rows.header, rows.header.attributes[j]
    if value is None and attribute.kind == "nominal":
        raise _no_value(rows, line, j)
    if attribute.kind == "string":
        return codes.setdefault("" if value is None else value, len(codes))
    if value not in codes:
        raise InvalidInputError(
            f"the attribute {attribute.name!r} has the value {value!r}, expected one of "
            f"those declared in line {attribute.line}: {', '.join(attribute.values[:6])}"
            + (", ..." if len(attribute.values) > 6 else ""),
            place=Place(header.name, line),
        )
    return codes[str(value)]


def _missing(rows: Rows, line: int, row: list | dict) -> InvalidInputError:
    pairs = row.items() if isinstance(row, dict) else enumerate(row)
    j = next(j for j, value in pairs if value is None)
    return _no_value(rows, line, j)


def _no_value(rows: Rows, line: int, j: int) -> InvalidInputError:
    is_label, name = j in rows.labels, rows.header.attributes[j].name
    return InvalidInputError(
        f"the {'label' if is_label else 'attribute'} {name!r} has no value ('?')",
        advice=(Argument("missing", "ignore"), " learns from the labels that are known")
        if is_label
        else "replace missing values before",
        place=Place(rows.header.name, line),
    )


def _fault(header: Header, line: int, row: str, sparse: bool) -> InvalidInputError:
    """Return the error for a row which the library refuses."""
    problem, advice = _fault_in_sparse(header, row) if sparse else _fault_in_dense(header, row)
    return InvalidInputError(problem, advice=advice, place=Place(header.name, line))


def _fault_in_sparse(header: Header, row: str) -> tuple[str, str]:
    """What is wrong with a sparse row, and advice."""
    n = len(header.attributes)
    plain = row.startswith("{") and row.endswith("}") and "'" not in row and '"' not in row
    for pair in row.strip("{} ").split(",") if plain else ():
        index, _, value = pair.strip().partition(" ")
        if not index.isdecimal() or not value.strip() or len(value.split()) > 1:
            return f"expected 'index value', found {pair.strip()[:40]!r}", ""
        if len(index) > 18 or int(index) >= n:
            return f"the index {index[:40]} is too large", f"there are {n} attributes, 0 the first"
        if not _is_number(value):
            return f"expected a number for {header.attributes[int(index)].name!r}, found {value[:40]!r}", ""
    return f"expected a sparse row {{index value, ...}}, found {_ends(row)!r}", "is the line cut short?"


def _fault_in_dense(header: Header, row: str) -> tuple[str, str]:
    """What is wrong with a dense row, and advice."""
    expected = f"expected {counted(len(header.attributes), 'value')}"
    if "'" in row or '"' in row:
        return f"{expected}, found {_ends(row)!r}", "is a quotation mark missing?"
    cells = [cell.strip() for cell in row.split(",")]
    if len(cells) != len(header.attributes):
        return f"{expected}, found {len(cells)}", "is the line cut short?"
    for cell, attribute in zip(cells, header.attributes, strict=True):
        if not _is_number(cell) and attribute.kind == "numeric":
            return f"expected a number for {attribute.name!r}, found {cell[:40]!r}", ""
        if not _is_number(cell) and set(attribute.values) <= _NOT_TEXT and attribute.kind == "nominal":
            values = ", ".join(attribute.values)
            return f"the attribute {attribute.name!r} has the value {cell[:40]!r}, expected one of {values}", ""
    return f"{expected}, found {_ends(row)!r}", "is a quotation mark missing?"


def _ends(row: str) -> str:
    """A row; the middle of a long one is left out."""
    return row if len(row) <= 60 else f"{row[:30]} ... {row[-25:]}"


def _is_number(cell: str) -> bool:
    """Whether the library takes a cell for a number, or for a missing one."""
    try:
        float(cell)
    except ValueError:
        return cell.strip() == "?"
    return True


def _check_finite(rows: Rows) -> None:
    """Refuse NaN and infinities, which the library takes for numbers."""
    bad = np.argwhere(~np.isfinite(rows.numbers))
    if len(bad):
        raise InvalidInputError(
            f"the value {rows.numbers[tuple(bad[0])]} of "
            f"{rows.header.attributes[_attribute_of(rows, bad[0])].name!r} is no finite number",
            place=Place(rows.header.name, int(rows.lines[_row_of(rows, bad[0])])),
        )


def _row_of(rows: Rows, place: NDArray[np.intp]) -> int:
    """Row of a number, by its place in `Rows.numbers`."""
    return int(np.searchsorted(np.cumsum(rows.lengths), place[0], side="right")) if rows.sparse else int(place[0])


def _attribute_of(rows: Rows, place: NDArray[np.intp]) -> int:
    """Attribute of a number, by its place in `Rows.numbers`."""
    if rows.sparse:
        return int(rows.columns[place[0]])
    return int(np.setdiff1d(np.arange(len(rows.header.attributes)), rows.textual)[place[1]])


def _check_truths(rows: Rows) -> None:
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
        attribute = attributes[_attribute_of(rows, wrong[0])]
        raise InvalidInputError(
            f"the attribute {attribute.name!r} has the value {values[tuple(wrong[0])]:g}, expected one of "
            f"{', '.join(attribute.values)}",
            place=Place(rows.header.name, int(rows.lines[_row_of(rows, wrong[0])])),
        )
