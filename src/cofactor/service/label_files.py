"""Files of features and labels, and of features alone."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor import datasets
from cofactor.columns import normalize_header
from cofactor.datasets import LabelDataset
from cofactor.datasets.formats import FORMATS, Source, open_data
from cofactor.datasets.readers.label_columns import positions_of
from cofactor.datasets.readers.matrices import generic_names
from cofactor.datasets.table import TableOptions, header_or_numbers, ids_of
from cofactor.errors import Argument, InputWarning, InvalidInputError, Place
from cofactor.files import display_name
from cofactor.schema import Words, keep_features
from cofactor.service.base import about, unknown_file
from cofactor.text import plural, shorten

_NUMBERED = re.compile(r"c\d+")  #: names which readers give to the columns of a table without header
#: Options which not every format has.
_NOT_EVERYWHERE = ("encoding", "sep", "header", "zero_based")
_OF_COLUMNS = ("drop", "id", "max_values", "text", "label_sep", "max_words", "ngrams")
_OF_TAGS = ("tags", "tag", "labels", "topics", "keywords", "categories", "genres")  # names of columns that list tags
_FEW_WORDS = 3  # free text has more, on average
_OF_FILES = ("drop", "id", "text", "label_sep")  # those of them that say which columns of a file are what


def read_label_file(file: str, options: Mapping[str, Any]) -> LabelDataset:
    """Read features and labels from a file, from standard input, or from a known data set.

    Parameters
    ----------
    file : str
        Path, ``-``, or name of a data set, in this order.
    options : mapping from str to object
        labels, label_sep, xml, text, max_words, ngrams, drop, id, max_values, format, aligned, zero_based, sep, header
        and encoding.
    """
    return _complete(_load(open_data(file), options, _columns(options)), file)


def read_labels_for(file: str, model: Any, options: Mapping[str, Any]) -> LabelDataset:
    """Read features and labels as the file to which a model was fitted, if it holds the schema of its columns.

    Parameters
    ----------
    file : str
        Path, ``-``, or name of a data set.
    model : LabelModel
        Fitted.
    options : mapping from str to object
        As in `read_label_file`.
    """
    schema = getattr(model, "schema_", None)
    if schema is None:
        return read_label_file(file, options)
    return _complete(_load(open_data(file), options, _columns(options), schema=schema), file)


def _complete(data: LabelDataset, file: str) -> LabelDataset:
    """Return data that can be learned from; refuse others."""
    place = Place(display_name(file))
    if not data.n_labels:
        advice = () if data.schema is None else ("say with ", Argument("labels"), " which columns they are")
        raise InvalidInputError("has no labels", advice=advice, place=place)
    if not data.n_features:
        raise InvalidInputError("has no features, since all its columns are labels or dropped", place=place)
    if not data.n_instances:
        raise InvalidInputError("holds no instances", place=place)
    return data


def _columns(options: Mapping[str, Any]) -> Any:
    """Return what the readers take as labels."""
    if options["xml"] is None:
        return options["labels"]
    if options["labels"] is not None:
        both = (Argument("labels"), " and ", Argument("xml"))
        raise InvalidInputError((*both, " both say which columns are labels: give one of them"))
    return Path(options["xml"])


def read_features(file: str, model: Any, options: Mapping[str, Any], labels: NDArray[Any]) -> LabelDataset:
    """Read the features of new instances, in the order of those that a model was fitted to.

    The file may have columns of labels, or not: columns which are labels of the model are left out. A model that knows
    the schema of its columns has them read by it, so that no option need be given again.

    Parameters
    ----------
    file : str
        Path, ``-``, or name of a data set.
    model : LabelModel or transformer
        Fitted to features.
    options : mapping from str to object
        drop, id, format, zero_based, sep, header and encoding.
    labels : ndarray of shape (L,)
        Names of labels, which are no features.

    Returns
    -------
    LabelDataset
        Without labels.
    """
    # A value that did not occur in training makes no feature, so that there may be any number of them.
    whole, extra = {**options, "aligned": None, "max_values": None}, dict[str, Any]()
    found = open_data(file)
    kind = _format_of(found, options)
    named = kind not in ("mat", "libsvm", "known")
    if named:
        schema = getattr(model, "schema_", None)
        extra = {"max_values": sys.maxsize} if schema is None else {"schema": schema}
        if schema is None:
            keep_features(tuple(map(str, getattr(model, "feature_names_in_", ()))), options["drop"], options["id"])
    if kind == "libsvm" and found.has_sizes:
        refuse_sizes(model, file)
    elif kind == "libsvm":
        bases = index_base(model, options["zero_based"]), "auto"
        extra = {"n_features": model.n_features_in_, "zero_based": bases}  # and any labels
        whole["zero_based"] = None
    data = _load(found, whole, () if named else None, **extra)
    if kind == "libsvm" and counts_from_zero(labels, "y") is not None:
        _warn_of_new_labels(data, labels, file)
    if not data.n_instances:
        raise InvalidInputError("holds no instances", place=Place(display_name(file)))
    if "schema" in extra:
        return data
    X = align_features(data, model, labels if named else ())
    names = tuple(map(str, getattr(model, "feature_names_in_", data.feature_names)))
    return replace(data, X=X, Y=data.Y[:, :0], feature_names=names, label_names=(), schema=None)


def read_texts(
    file: str, labels: NDArray[Any], options: Mapping[str, Any]
) -> tuple[list[str], NDArray[np.int64] | NDArray[np.object_] | None]:
    """Read a column of texts, and the ids of the rows if there is a column of them.

    Parameters
    ----------
    file : str
        Path, or ``-``.
    labels : ndarray of shape (L,)
        Names of labels, which are no texts.
    options : mapping from str to object
        text, drop, id, sep, header and encoding.
    """
    header, encoding = header_or_numbers(options["header"]), options["encoding"] or "utf-8"
    table = open_data(file).table(TableOptions(header, "texts", options["sep"], encoding, long_cells=True))
    names = table.names or generic_names("c", table.n_columns)
    left_out = {*map(str, labels), *options["drop"], options["id"]}
    wanted = [options["text"]] if options["text"] else [name for name in names if name not in left_out]
    if len(wanted) != 1:
        there = f"has {plural(len(wanted), 'column')} that may hold the texts"
        shown = f" ({shorten(wanted)})" if wanted else ""
        raise InvalidInputError(there + shown, advice=("say which with ", Argument("text")), place=Place(table.file))
    at = positions_of(names, wanted, table.file, "column", Argument("text"))
    id_at = positions_of(names, [options["id"]] if options["id"] else [], table.file, "column", Argument("id"))
    table.load([*at, *id_at])
    cells = table.words(at[0], gaps=True)
    return [cells.values[code] for code in cells.codes.tolist()], ids_of(table, id_at[0], "auto") if id_at else None


def options_of_posts(file: str, options: Mapping[str, Any]) -> tuple[str | Argument, ...]:
    """Return the options by which a table of texts with tags is read, in words; none where it does not look like one.

    Parameters
    ----------
    file : str
        Path.
    options : mapping from str to object
        sep, header and encoding.
    """
    header, encoding = header_or_numbers(options["header"]), options["encoding"] or "utf-8"
    found = open_data(file)
    if found.kind != "file":
        return ()
    with suppress(InvalidInputError):  # of a column of another type: it is no table of posts
        table = found.table(TableOptions(header, "texts and tags", options["sep"], encoding, long_cells=True))
        names = table.names or ()
        table.load(range(len(names)))
        cells = {name: table.cells(j, gaps=True) for j, name in enumerate(names)}
        words = {name: [one for one in some.values if one] for name, some in cells.items() if isinstance(some, Words)}
        tags = next((name for name in words if normalize_header(name) in _OF_TAGS), None)
        texts = [name for name, some in words.items() if name != tags and some and _n_words(some) > _FEW_WORDS]
        if tags is not None and texts:
            sep = next((sep for sep in "|;," if any(sep in cell for cell in words[tags])), "|")
            id = next((name for name in names if normalize_header(name) == "id"), None)
            named = () if id is None else (" ", Argument("id", id))
            return (Argument("labels", tags), " ", Argument("label_sep", sep), " ", Argument("text", texts), *named)
    return ()


def _n_words(cells: Sequence[str]) -> float:
    """Return how many words cells have on average."""
    return sum(len(cell.split()) for cell in cells) / len(cells)


def _warn_of_new_labels(data: LabelDataset, labels: NDArray[Any], file: str) -> None:
    """Warn of labels in a libsvm file that the model does not know; predictions need none."""
    known = set(labels)
    occurring = np.flatnonzero(data.Y.sum(axis=0))
    new = [name for name in np.array(data.label_names, dtype=object)[occurring] if name not in known]
    if new:
        left_out = "is left out" if len(new) == 1 else "are left out"
        message = f"{display_name(file)}: {shorten(new)} did not occur in training, and {left_out}"
        warnings.warn(InputWarning(message), stacklevel=3)


def _load(found: Source, options: Mapping[str, Any], columns: Any, **extra: Any) -> LabelDataset:
    keywords: dict[str, Any] = {"aligned": options["aligned"]} if options["aligned"] else {}
    kind = _format_of(found, options)
    if kind in ("arff", "parquet", "table") and options.get("missing", "error") != "error":
        keywords["missing"] = options["missing"]
    if options.get("weights") is not None:
        keywords["weights"] = options["weights"]
    if kind != "known":
        given = {name: options[name] for name in _OF_COLUMNS if options.get(name) is not None}
        keywords |= {"format": kind, **given, **_for_reader(options, kind, found.path), **extra}
    elif (
        columns is not None
        or options["format"]
        or options.get("weights")
        or any(options.get(name) for name in _OF_FILES)
    ):
        names = (Argument("labels"), ", ", Argument("xml"), ", ", Argument("drop"), ", ", Argument("id"))
        last = (" and ", Argument("format"), " are for files")
        raise InvalidInputError((f"{found.path} is a known data set: ", *names, *last))
    with about(found.path):
        data = datasets.load_labels(found.path, columns, **keywords)
    return replace(data, name=found.name) if found.kind == "stdin" else data


def _for_reader(options: Mapping[str, Any], kind: str, file: str) -> dict[str, Any]:
    """Return the options for the reader of a format; refuse those which it does not have."""
    asked = {name: options[name] for name in _NOT_EVERYWHERE if options[name] is not None}
    takes = {known.name: known.options for known in FORMATS}
    for name in asked:
        if name not in takes[kind]:
            having = " and ".join(known for known in takes if name in takes[known])
            raise InvalidInputError((Argument(name), f" is for {having} files, and {display_name(file)} is {kind}"))
    return asked


def _format_of(found: Source, options: Mapping[str, Any]) -> str:
    """Return the format of a file, as asked for or found; "known" for a known data set of labels."""
    if found.kind == "known" and found.holds == "labels":
        return "known"
    if found.kind in ("missing", "known"):
        raise _unknown(found)
    readable = [known.name for known in FORMATS if known.may_hold_labels]
    return str(options["format"] or (found.format if found.format in readable else "table"))


def _unknown(found: Source) -> InvalidInputError:
    """Return the error for a name that is neither a file nor a data set of labels."""
    if found.holds == "ratings":
        advice = (": leave out ", Argument("task", "labels"), " and options for labels")
        return InvalidInputError((f"{found.path} holds ratings, not labels", *advice))
    return unknown_file(found.path)


def align_features(data: LabelDataset, model: Any, labels: Iterable[Any] = ()) -> Any:
    """Return the features of a file in the order of those that a model was fitted to.

    Parameters
    ----------
    data : LabelDataset
        What was read.
    model : LabelModel or transformer
        Fitted.
    labels : iterable, optional
        Names of columns that are left out, since they are labels.
    """
    known = getattr(model, "feature_names_in_", None)
    if known is None:  # fitted in Python to arrays: positions are all there is
        if data.n_features != model.n_features_in_:
            there = f"has {plural(data.n_features, 'feature')} ({shorten(data.feature_names)})"
            fitted = f"the model was fitted to {model.n_features_in_}, without names"
            advice = "fit it to a frame, so that it knows which are missing"
            raise InvalidInputError(f"{there}, but {fitted}", advice=advice, place=Place(data.name))
        return data.X
    wanted = [str(name) for name in known]
    if all(map(_NUMBERED.fullmatch, (*data.feature_names, *wanted))) and data.n_features == len(wanted):
        return data.X
    left_out = set(map(str, labels))
    keep = [j for j, name in enumerate(data.feature_names) if name not in left_out]
    if len(keep) < data.n_features:
        names = tuple(data.feature_names[j] for j in keep)
        data = replace(data, X=data.X[:, np.array(keep, dtype=np.intp)], feature_names=names)
    return data.align(wanted)


def counts_from_zero(names: Sequence[Any] | NDArray[Any], letter: str) -> bool | None:
    """Return whether the columns of a libsvm file count from 0, judged by their names.

    None where the names are not those which the reader of such files gives.

    Parameters
    ----------
    names : sequence of str
        Of features or labels.
    letter : str
        The letter with which such names begin.

    Examples
    --------
    >>> counts_from_zero(["x1", "x2"], "x"), counts_from_zero(["y0"], "y"), counts_from_zero(["age", "size"], "x")
    (False, True, None)
    """
    first = str(names[0]) if len(names) else ""
    if first not in (f"{letter}0", f"{letter}1") or str(names[-1]) != f"{letter}{int(first[1:]) + len(names) - 1}":
        return None
    return first == f"{letter}0"


def index_base(model: Any, asked: bool | None) -> Any:
    """Return whether features of a libsvm file count from 0, as in training; "auto" if unknown.

    Parameters
    ----------
    model : LabelModel
        Fitted.
    asked : bool, optional
        The option of the user.
    """
    known = counts_from_zero(getattr(model, "feature_names_in_", ()), "x")
    if known is not None and asked is not None and known != asked:
        start = 0 if known else 1
        message = f"the indices of the file to which the model was fitted count from {start}"
        raise InvalidInputError((Argument("zero_based", asked), ": ", message))
    base = known if known is not None else asked
    return "auto" if base is None else base


def refuse_sizes(model: Any, file: str) -> None:
    """Refuse a libsvm file with sizes, whose indices count from 0, for a model whose indices count from 1."""
    if counts_from_zero(getattr(model, "feature_names_in_", ()), "x") is False:
        raise InvalidInputError(
            "has sizes in its first line, so that its indices count from 0, but the model was fitted to a libsvm file "
            "whose indices count from 1",
            place=Place(display_name(file)),
        )


def fillings(data: Any) -> tuple[str, ...]:
    """Say which cells without a value were filled."""
    return () if data.schema is None else data.schema.fillings(data.filled)


def unknown(data: Any) -> tuple[str, ...]:
    """Say how many labels are not known, and what becomes of them."""
    if data.known is None:
        return ()
    n_all = data.known.size
    n = n_all - int(np.count_nonzero(data.known))
    known = "models learn from the others, and measures count these alone"
    return (f"{n:,} of {n_all:,} labels ({n / n_all:.1%}) are not known: {known}",)
