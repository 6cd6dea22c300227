"""Multi-label ARFF files: Mulan (labels named by an XML file) and MEKA (``-C n`` in the relation), dense and sparse.

Plain rows are read by Arrow, all others by liac-arff.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cofactor.datasets.readers.arff_header import Attribute, Header, read_header
from cofactor.datasets.readers.arff_rows import Rows, read_rows
from cofactor.datasets.readers.label_columns import (
    LabelColumns,
    check_missing_cells,
    check_words,
    features_as_in,
    first_or_last,
    label_roles,
    positions_of,
)
from cofactor.datasets.readers.matrices import Form, from_entries, in_form, indicator
from cofactor.datasets.readers.xml import read_label_names
from cofactor.datasets.types import LabelDataset
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike, data_name, display_name, read_bytes, to_utf8
from cofactor.limits import CELLS
from cofactor.recipe import Recipe
from cofactor.text import counted

__all__ = ["LabelAttributes", "looks_like_arff", "read_arff"]

#: Which attributes are labels, as `read_arff` takes it.
LabelAttributes: TypeAlias = str | int | PathLike | Sequence[str] | None


def read_arff(
    path: PathLike,
    labels: LabelAttributes = None,
    *,
    drop: Sequence[str] = (),
    id: str | None = None,
    max_values: int | None = None,
    missing: str = "error",
    weights: str | None = None,
    recipe: Recipe | None = None,
    sparse: Form = "auto",
    encoding: str | None = None,
    name: str | None = None,
) -> LabelDataset:
    r"""Read features and labels from a dense or sparse ARFF file.

    Parameters
    ----------
    path : str or path-like
        The file, plain or gzip-compressed; ``"-"`` is standard input.
    labels : optional
        Which attributes are labels:

        * None: those of the Mulan XML file in the same folder, which has the same name, or the same name without its
          last parts (``corel.xml`` for ``corel-train-sparse.arff``); without such a file those of ``-C n`` in the
          relation;
        * a name ending in ``.xml``: a Mulan XML file, see `read_label_names`;
        * an integer as in MEKA: n > 0 the first n attributes, n < 0 the last ones;
        * another string: all attributes whose names begin with it;
        * a sequence of names; an empty one for a file without labels.

        Labels keep the order of the file, or have the order of the sequence. Those of an XML file and of ``-C n`` are
        labels unless they are in `drop`; an integer and a string are for the attributes that are left.
    drop : sequence of str, default ()
        Attributes which are neither features nor labels, such as remarks, or labels of no interest.
    id, max_values, missing, weights, recipe : optional
        As in `read_label_table`. An attribute of strings may be the id. A missing label is written as ``?``.
    sparse : {"auto", True, False}, default "auto"
        Form of X. ``"auto"``: sparse if at most a fifth of its numbers differ from 0, whatever form the file has.
    encoding : str, optional
        Encoding of the file; by default that of the recipe, or utf-8.
    name : str, optional
        Name of the data set; by default the file name.

    Returns
    -------
    LabelDataset
        A nominal attribute whose values are words for off and on (0/1, -1/1, no/yes, false/true, ..., in any order
        and case) becomes one column of 0 and 1; any other one a column ``name=value`` for each declared value.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the file is truncated, malformed, has missing values (``?``) of features, or of labels if these are refused,
        strings outside of `drop` and `id`, an undeclared value of a nominal attribute, a nominal feature of too many
        values, or lacks a label; the message names the file and the line or the label.
    ImportError
        If liac-arff is not installed.

    Warns
    -----
    UserWarning
        If a nominal feature has a value which the recipe does not know: all its columns are 0 in such rows.

    Notes
    -----
    In a sparse row, attributes which are left out are 0; nominal ones have the value which is declared *first*, as in
    Weka.

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
    given = {"encoding": encoding} if encoding is not None else dict(recipe.text) if recipe is not None else {}
    lines = _numbered(to_utf8(read_bytes(path), label, given.get("encoding", "utf-8")).decode())
    header = read_header(lines, label)
    names = [attribute.name for attribute in header.attributes]
    if recipe is not None:
        labels, drop, id = recipe.roles(names, labels, drop, id)
    declared, said = _declared(header, labels, path)
    heavy = [] if weights is None else positions_of(names, [weights], label, "attribute", Argument("weights"))
    drop = (*drop, *(names[j] for j in heavy))
    label_columns, features, id_at = label_roles(names, said, drop, label, id, declared=declared, what="attribute")
    if recipe is not None:
        features = features_as_in(recipe, names, features, label, what="attribute")
    check_missing_cells(missing)
    if any(header.attributes[j].kind != "numeric" for j in heavy):
        raise InvalidInputError("is no attribute of numbers", argument="weights", found=weights, place=Place(label))
    needed = {*features, *heavy, *(() if id_at is None else (id_at,)), *(label_columns if missing == "error" else ())}
    rows = read_rows(header, lines, label_columns, set(range(len(names))) - needed)
    X, feature_names = _features(rows, np.array(features, dtype=np.intp), max_values, recipe is None)
    _check_labels(rows, label_columns)
    Y, _ = _columns(rows, np.array(label_columns, dtype=np.intp), spread=False)
    on, known = indicator(Y, label), rows.known(label_columns)
    if known is not None:
        on = indicator(csr_array(on.multiply(known)), label)
    words = {names[j]: header.attributes[j].values for j in features if header.attributes[j].kind == "nominal"}
    label_names = tuple(names[j] for j in label_columns)
    done = Recipe(tuple(names[j] for j in features), label_names, tuple(drop), id, words, given)
    data = LabelDataset(
        name=name or data_name(path),
        X=in_form(X, sparse, label),
        Y=on,
        feature_names=feature_names,
        label_names=label_names,
        nominal=tuple(filter(done.spread, words)),
        description=f"{counted(rows.n, 'instance')} read from {label}",
        ids=None if id_at is None else _ids(rows, id_at),
        recipe=done,
        known=known,
        weights=_numbers(rows, heavy[0]) if heavy else None,
    )
    if recipe is None:
        return data
    aligned = data.align(recipe.feature_names)
    return replace(data, X=aligned, feature_names=recipe.feature_names, recipe=recipe)


def looks_like_arff(start: bytes) -> bool:
    """Whether a file which begins like this is an ARFF file."""
    for line in map(bytes.strip, start.removeprefix(codecs.BOM_UTF8).split(b"\n")):
        if line and not line.startswith(b"%"):
            return line.split()[0].lower() in (b"@relation", b"@attribute")
    return False


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and content of each line which is neither blank nor a comment."""
    for number, line in enumerate(map(str.strip, text.split("\n")), start=1):
        if line and not line.startswith("%"):
            yield number, line


# --------------------------------------------------------------------------------------- which are labels


def _declared(header: Header, labels: LabelAttributes, path: PathLike) -> tuple[list[int] | None, LabelColumns]:
    """Positions of the labels if the header or an XML file declares them; otherwise None, and what the caller said."""
    said, names = labels, [attribute.name for attribute in header.attributes]
    if labels is None:
        said = _xml_beside(path)
        if said is None:
            return _declared_by_meka(header), None
    elif isinstance(labels, int | np.integer) or (isinstance(labels, Sequence) and not _is_xml(labels)):
        return None, labels
    xml = cast(PathLike, said)
    return sorted(positions_of(names, read_label_names(xml), header.name, "attribute", display_name(xml))), None


def _is_xml(labels: str | Sequence[str]) -> bool:
    return isinstance(labels, str) and labels.lower().endswith((".xml", ".xml.gz"))


def _declared_by_meka(header: Header) -> list[int]:
    count, n = header.meka_labels(), len(header.attributes)
    if count is None:
        raise InvalidInputError(
            "cannot tell which attributes are labels: there is no .xml file of its name beside it and no '-C n' in "
            "the relation",
            argument="labels",
            advice=("say it with ", Argument("labels")),
            place=Place(header.name),
        )
    return first_or_last(count, range(n), n, header.name, "attribute")


def _xml_beside(path: PathLike) -> Path | None:
    """XML file of an ARFF file: it has the same name, or this name cut at its last ``-`` or ``_``, once or more."""
    file = Path(path)
    stem = file.name.removesuffix(".gz").removesuffix(".arff").removesuffix(".ARFF")
    while stem and file.name != "-":
        xml = file.with_name(f"{stem}.xml")
        if xml.is_file():
            return xml
        stem = stem[: max(stem.rfind("-"), stem.rfind("_"), 0)]
    return None


# ------------------------------------------------------------------------------------ columns of X and of Y

#: By first column: the codes of a nominal attribute, and what each code says, 0 or 1; None for a column for each value.
Coded: TypeAlias = dict[int, tuple[NDArray, NDArray | None]]


def _is_spread(attribute: Attribute) -> bool:
    return attribute.kind == "nominal" and attribute.truth is None


def _features(rows: Rows, columns: NDArray[np.intp], most: int | None, is_new: bool) -> tuple[Any, tuple[str, ...]]:
    """X and the names of its columns; `is_new`: no recipe knows them."""
    attributes = [(j, rows.header.attributes[j]) for j in columns.tolist()]
    strings = [attribute for _, attribute in attributes if attribute.kind == "string"]
    if strings:
        names, one = [attribute.name for attribute in strings], len(strings) == 1
        what = "is a string, which cannot be a feature" if one else "are strings, which cannot be features"
        raise InvalidInputError(
            f"the {'attribute' if one else 'attributes'} {', '.join(map(repr, names))} {what}",
            advice=(
                *(f"leave {'it' if one else 'them'} out with ", Argument("drop", names)),
                *(f", or name the rows by {'it' if one else 'one'} with ", Argument("id", names[0])),
            ),
            place=Place(rows.header.name, strings[0].line),
        )
    if is_new:
        spread = [(j, attribute) for j, attribute in attributes if _is_spread(attribute)]
        places = [Place(rows.header.name, attribute.line) for _, attribute in spread]
        sizes = [(one.name, len(np.unique(rows.codes[j])), at) for (j, one), at in zip(spread, places, strict=True)]
        check_words(sizes, rows.n, most, may_be_text=False)
    return _columns(rows, columns, spread=True)


def _ids(rows: Rows, j: int) -> NDArray[Any]:
    """Ids of the rows, from an attribute of any type."""
    attribute = rows.header.attributes[j]
    if j in rows.codes:
        ids = np.array(rows.strings.get(j, attribute.values), dtype=object)[rows.codes[j]]
        gap = np.flatnonzero(ids == "")
        problem = "the id is empty"
    else:
        values = _numbers(rows, j)
        gap = np.flatnonzero((values != np.rint(values)) | (np.abs(values) >= 2.0**53))
        problem = "the id is no whole number"
        ids = values if len(gap) else values.astype(np.int64)
    if len(gap):
        raise InvalidInputError(problem, place=Place(rows.header.name, int(rows.lines[gap[0]])))
    return ids


def _numbers(rows: Rows, j: int) -> NDArray[np.float64]:
    """Return the numbers of an attribute."""
    column, _ = _columns(rows, np.array([j], dtype=np.intp), spread=False)
    return np.asarray(column.toarray() if rows.sparse else column).ravel()


def _check_labels(rows: Rows, columns: Sequence[int]) -> None:
    for attribute in (rows.header.attributes[j] for j in columns):
        if attribute.kind == "string" or _is_spread(attribute):
            found = f"the values {', '.join(attribute.values[:4])}" if attribute.values else "type string"
            raise InvalidInputError(
                f"the label {attribute.name!r} has {found}; expected 0/1, -1/1, no/yes or the like",
                place=Place(rows.header.name, attribute.line),
            )


def _columns(rows: Rows, columns: NDArray[np.intp], spread: bool) -> tuple[Any, tuple[str, ...]]:
    """Columns for some attributes, dense or sparse as the file, and their names; `spread`: one for each value."""
    names: list[str] = []
    target = np.full(len(rows.header.attributes), -1, dtype=np.int32)
    coded: Coded = {}
    for j in columns.tolist():
        attribute = rows.header.attributes[j]
        is_spread = spread and _is_spread(attribute)
        target[j] = len(names)
        if j in rows.codes:
            coded[len(names)] = rows.codes[j], None if is_spread else np.array(attribute.truth)
        names += [f"{attribute.name}={value}" for value in attribute.values] if is_spread else [attribute.name]
    build = _sparse_columns if rows.sparse else _dense_columns
    return build(rows, target, len(names), coded), tuple(names)


def _dense_columns(rows: Rows, target: NDArray[np.int32], width: int, coded: Coded) -> NDArray[np.float64]:
    cells = rows.n * width
    spread = f"values of nominal attributes make {counted(width, 'column')} of {len(target)} attributes"
    CELLS.check(cells, spread, Place(rows.header.name), size=rows.n * len(target))
    result = np.zeros((rows.n, width))
    plain = np.setdiff1d(np.arange(len(target)), rows.textual)
    wanted = np.flatnonzero(target[plain] >= 0)
    result[:, _stretch(target[plain[wanted]])] = rows.numbers[:, _stretch(wanted)]
    for start, (codes, truth) in coded.items():
        if truth is None:
            result[np.arange(rows.n), start + codes] = 1.0
        else:
            result[:, start] = truth[codes]
    return result


def _stretch(columns: NDArray[Any]) -> NDArray[Any] | slice:
    """Return columns as a slice where they follow each other: to copy these is ten times as fast."""
    return slice(columns[0], columns[-1] + 1) if len(columns) and (np.diff(columns) == 1).all() else columns


def _sparse_columns(rows: Rows, target: NDArray[np.int32], width: int, coded: Coded) -> csr_array:
    at = np.repeat(np.arange(rows.n), np.frombuffer(rows.lengths, dtype=np.int64))
    columns = target[np.frombuffer(rows.columns, dtype=np.int32)] if len(rows.columns) else np.zeros(0, dtype=np.int32)
    wanted = columns >= 0
    result = from_entries(rows.n, width, at[wanted], columns[wanted], rows.numbers[wanted])
    for start, (codes, truth) in coded.items():
        on = np.arange(rows.n) if truth is None else np.flatnonzero(truth[codes])
        at_column = start + codes if truth is None else np.full(len(on), start)
        result = result + from_entries(rows.n, width, on, at_column, np.ones(len(on)))
    return result
