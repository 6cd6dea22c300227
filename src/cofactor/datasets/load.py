"""Known data sets by their names; features and labels also from files of the user."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from cofactor.datasets import registry
from cofactor.datasets.binning import BinBy, Bins
from cofactor.datasets.formats import FORMATS, Format
from cofactor.datasets.readers.arff import LabelAttributes, read_arff
from cofactor.datasets.readers.frames import is_frame
from cofactor.datasets.readers.jester import load_jester
from cofactor.datasets.readers.label_tables import read_label_table
from cofactor.datasets.readers.matlab import read_mat
from cofactor.datasets.readers.matrices import Form, in_form, indicator, stacked
from cofactor.datasets.readers.movielens import load_movielens
from cofactor.datasets.registry.known_labels import KnownLabels
from cofactor.datasets.sniff import sniff
from cofactor.datasets.types import LabelDataset, RatingDataset
from cofactor.errors import Argument, InputWarning, InvalidInputError, Place
from cofactor.files import PathLike, display_name, read_bytes
from cofactor.text import did_you_mean

__all__ = ["Aligned", "load_labels", "load_ratings"]

Aligned = Literal["published", "realigned"] | None

_OFFSETS = "label_offsets.json"
_OF_COLUMNS = ("id", "max_values", "recipe")  # besides labels and drop: what only readers of named columns take
_OF_TABLES = ("text", "max_words", "ngrams", "label_sep")  # what only the reader of tables takes


def load_ratings(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    bins: Bins | None = None,
    bin_by: BinBy = "auto",
    download: bool = True,
) -> RatingDataset:
    """Load a known data set of ratings by its name.

    Parameters
    ----------
    name : {"ml-100k", "ml-1m", "ml-latest-small", "jester-1"}
        Name in the registry.
    data_home, download
        As in `load_movielens`.
    bins, bin_by
        As in `load_jester`; an error for sets which have levels already.

    Returns
    -------
    RatingDataset

    Raises
    ------
    ValueError
        If the name is unknown, names a set of labels, or `bins` does not apply.
    DatasetNotFoundError
        If the set is not there and cannot be downloaded.

    Examples
    --------
    >>> from cofactor.datasets import load_ratings
    >>> load_ratings("ml-latest-small").level_counts().tolist()
    [1370, 2811, 1791, 7551, 5550, 20047, 13136, 26818, 8551, 13211]
    """
    known = [entry.name for entry in registry.KNOWN.values() if entry.task == "ratings"]
    if name in registry.KNOWN and name not in known:
        raise InvalidInputError(
            f"data set {name!r} holds labels, not ratings", advice=f"load it with load_labels({name!r})"
        )
    if name not in known:
        raise InvalidInputError(f"data set {name!r} is not known", advice=did_you_mean(name, known))
    if name == "jester-1":
        return load_jester(data_home, bins, bin_by)
    if bins is not None:
        raise InvalidInputError(
            (Argument("bins"), f" is for continuous ratings; those of {name!r} have levels already"), argument="bins"
        )
    return load_movielens(name, data_home, download=download)


def load_labels(
    name_or_path: PathLike | Any,
    labels: LabelAttributes = None,
    *,
    aligned: Aligned = None,
    sparse: Form = "auto",
    drop: Sequence[str] = (),
    id: str | None = None,
    text: str | Sequence[str] = (),
    label_sep: str | None = None,
    missing: str = "error",
    weights: str | None = None,
    format: str | None = None,
    data_home: PathLike | None = None,
    **options: Any,
) -> LabelDataset:
    r"""Load features and labels of a known data set, by its name, or of a file.

    Parameters
    ----------
    name_or_path : str, path-like, or pandas or polars frame
        Name in the registry, such as ``"emotions"`` (``available("labels")`` lists them), or a file: ARFF, libsvm,
        extreme-classification text, MATLAB, CSV, TSV or Parquet; or a frame, which is read as a table in a file is.
    labels : optional
        Which columns of an ARFF file or a table are labels, see `read_arff` and `read_label_table`; an empty sequence
        for a file without labels. Files of the other formats say it themselves.
    aligned : {"published", "realigned"}, optional
        Only for the sets of rcv1, whose labels are shifted in half of the rows. ``"published"`` takes for all rows
        the columns that the header names, as the literature does. ``"realigned"`` takes the labels of each half from
        the columns where they are. The default is ``"published"`` with a warning.
    sparse : {"auto", True, False}, default "auto"
        Whether X is a CSR array. ``"auto"``: if at most a fifth of its numbers differ from 0, whatever form the
        file has. X is float64 in both forms; ``X.astype(np.float32)`` halves its memory.
    drop : sequence of str, default ()
        Columns of an ARFF file or a table which are neither features nor labels; `labels` is for the others.
    id : str, optional
        The column of an ARFF file or a table which names the rows; it is no feature, and the data have it as ``ids``.
    text : str or sequence of str, default ()
        Columns of free text in a table, whose words become features; see `read_label_table`.
    label_sep : str, optional
        What parts the tags of a row, where one column of a table lists them; see `read_label_table`.
    missing : {"error", "ignore"}, default "error"
        What to do with missing labels of an ARFF file or a table; see `read_label_table`.
    weights : str, optional
        The column of an ARFF file or a table which holds weights of the rows, with which models learn.
    format : {"arff", "mat", "libsvm", "table"}, optional
        Format of a file; by default found from its content.
    data_home : str or path-like, optional
        Folder in which a known set is looked for instead of $COFACTOR_DATA and the cache.
    **options
        Further options of the reader: `read_arff`, `read_mat`, `read_libsvm` or `read_label_table`. Among them is
        `recipe`, which reads an ARFF file or a table as another one was read: the ``recipe`` of its data, or the
        ``recipe_`` of a model which the command line fitted; ``labels=[]`` then gives the features alone.

    Returns
    -------
    LabelDataset

    Raises
    ------
    ValueError
        If the name is unknown, the file malformed (the message names the line), or an option does not apply.
    DatasetNotFoundError
        If a known set is not there; the message says which files to put into which folder.

    Warns
    -----
    UserWarning
        If the labels of the file are known to be shifted and `aligned` does not say what to do.

    Notes
    -----
    Known sets with an official split have ``train_rows``; scene, flags and bibtex are made of their train and test
    files, train first, the others keep the order of their full file. Genbase has no split here, since its two files
    share one protein and lack another; its row names are left out. No split of rcv1subset1..5 is known for certain.

    Examples
    --------
    >>> from cofactor.datasets import load_labels
    >>> load_labels("emotions")
    LabelDataset('emotions': 593 instances, 72 features, 6 labels, 1.868 labels per instance, dense)
    """
    if aligned not in (None, "published", "realigned"):
        raise InvalidInputError(
            "not known", argument="aligned", found=aligned, advice="expected 'published' or 'realigned'"
        )
    columns: dict[str, Any] = {"id": id, "text": text or None, "label_sep": label_sep}
    if missing != "error":
        columns["missing"] = missing
    if weights is not None:
        columns["weights"] = weights
    if is_frame(name_or_path):
        if format is not None or aligned is not None or data_home is not None:
            what = (Argument("format"), ", ", Argument("aligned"), " and ", Argument("data_home"))
            raise InvalidInputError((*what, " are for files and known data sets, not for frames"))
        columns = {**columns, "text": text, "drop": drop, "sparse": sparse}
        return read_label_table(name_or_path, cast(Any, labels), **columns, **options)
    entry = registry.KNOWN.get(os.fspath(name_or_path))
    if entry is None and not os.path.exists(name_or_path) and os.fspath(name_or_path) != "-":
        raise _unknown(name_or_path)
    if entry is not None and not isinstance(entry, KnownLabels):
        raise InvalidInputError(
            f"data set {entry.name!r} holds ratings, not labels", advice=f"load it with load_ratings({entry.name!r})"
        )
    if entry is not None:
        if labels is not None or drop or format is not None or options or any(columns.values()):
            raise InvalidInputError(
                (
                    *(f"{entry.name!r} is a known data set; ", Argument("labels"), ", ", Argument("drop"), ", "),
                    *(Argument("id"), " and ", Argument("format"), " are for files"),
                )
            )
        return _known(entry, aligned, sparse, data_home)
    if data_home is not None:
        raise InvalidInputError(
            (Argument("data_home"), f" is for known data sets; {display_name(name_or_path)} is a file"),
            argument="data_home",
        )
    return _file(name_or_path, labels, aligned, sparse, drop, format, {**options, **columns})


def _unknown(name: PathLike) -> Exception:
    text = os.fspath(name)
    if os.sep in text or Path(text).suffix:
        return FileNotFoundError(f"{text}: no such file")
    known = [status.name for status in registry.available("labels")]
    return InvalidInputError(
        f"data set {text!r} is not known, and there is no such file", advice=did_you_mean(text, known)
    )


# -------------------------------------------------------------------------------------------- known sets


def _known(entry: KnownLabels, aligned: Aligned, sparse: Form, data_home: PathLike | None) -> LabelDataset:
    folder = registry.locate(entry.name, data_home)
    roles = {known.role for known in entry.files}
    main = registry.find_file(entry.name, "data", folder)
    if main.suffix == ".mat":
        data = read_mat(main, sparse=sparse)
    elif "offsets" in roles:
        data = _shifted(entry.name, main, registry.find_file(entry.name, "offsets", folder), aligned, sparse)
    else:
        names = registry.find_file(entry.name, "labels", folder) if "labels" in roles else None
        data = read_arff(main, names, drop=entry.drop, sparse=sparse)
        if "test" in roles:
            test = read_arff(registry.find_file(entry.name, "test", folder), names, drop=entry.drop, sparse=sparse)
            data = _stack(data, test)
    if len(data) != entry.rows:
        raise InvalidInputError(
            f"{len(data)} rows, expected {entry.rows}",
            advice=f"take it from {entry.origin}",
            place=Place(str(main)),
        )
    if entry.folder.endswith("rcv1") and main.suffix == ".mat":
        _check_cut(entry.name, aligned)
    elif aligned is not None and "offsets" not in roles:
        raise InvalidInputError(
            (Argument("aligned"), f" is for the sets of rcv1; the labels of {entry.name!r} are where they should be"),
            argument="aligned",
        )
    train_rows = None if entry.train is None else _mask(len(data), *entry.train)
    return replace(data, name=entry.name, train_rows=train_rows, description=entry.description)


def _mask(n: int, start: int, stop: int) -> NDArray[np.bool_]:
    rows = np.arange(n)
    return (start <= rows) & (rows < stop)


def _stack(first: LabelDataset, second: LabelDataset) -> LabelDataset:
    """Rows of the first, then rows of the second; both must have the same columns."""
    if first.label_names != second.label_names:
        raise InvalidInputError(f"{first.name} and {second.name} have different labels")
    X = stacked([first.X, second.align(first.feature_names)])
    return replace(first, X=X, Y=stacked([first.Y, second.Y]))


# ------------------------------------------------------------------------------------------ shifted labels


def _shifted(name: str, path: Path, offsets: Path, aligned: Aligned, sparse: Form) -> LabelDataset:
    """Read a file of rcv1, with the labels from the columns that the header names, or from where they are.

    In one half of the rows the labels begin before the column that the header names: label j of such a row is in column
    start + j, and its features are the columns before start.
    """
    starts = json.loads(read_bytes(offsets))[name]
    header = starts["header"]
    halves = [(int(key.split("_")[1]), int(key.split("_")[2]) + 1, starts[key]) for key in starts if key != "header"]
    if aligned is None:
        (low, high, start), *_ = [half for half in halves if half[2] != header]
        places = f"{header - start} column{'s' if header - start > 1 else ''}"
        _warn_of_shift(
            f"{name}: as published, the labels of rows {low} to {high - 1} stand {places} before the place that the "
            "header names, so that they are read as other labels. ",
            Argument("aligned", "realigned"),
            " takes them from where they are; ",
            Argument("aligned", "published"),
            " takes them as the literature does, without this warning",
        )
    if aligned != "realigned":
        return read_arff(path, sparse=sparse)
    whole = read_arff(path, (), sparse=True)
    L = whole.n_features - header
    X, Y = [], []
    for low, high, start in halves:
        rows = csr_array(whole.X[low:high])
        features = csr_array(rows[:, :start])
        X.append(csr_array((features.data, features.indices, features.indptr), (high - low, header)))
        Y.append(rows[:, start : start + L])
    return LabelDataset(
        name=path.name,
        X=in_form(vstack(X, format="csr"), sparse, str(path)),
        Y=indicator(vstack(Y, format="csr"), str(path)),
        feature_names=whole.feature_names[:header],
        label_names=whole.feature_names[header:],
        description=f"{whole.description}, labels realigned",
    )


def _check_cut(name: str, aligned: Aligned) -> None:
    if aligned == "realigned":
        raise InvalidInputError(
            f"{name!r} cannot be realigned, since its rows are in another order than those of the files it was made "
            "from",
            argument="aligned",
            advice="use rcv1subset1 to rcv1subset5",
        )
    if aligned is None:
        _warn_of_shift(
            f"{name}: was made from files of rcv1 in which the labels of half of the rows are shifted, and cannot be "
            "realigned. rcv1subset1 with ",
            Argument("aligned", "realigned"),
            " has them right; ",
            Argument("aligned", "published"),
            " takes these as the literature does, without this warning",
        )


def _warn_of_shift(*parts: str | Argument) -> None:
    warnings.warn(InputWarning(parts), stacklevel=5)


# -------------------------------------------------------------------------------------------------- files


def _file(
    path: PathLike,
    labels: LabelAttributes,
    aligned: Aligned,
    sparse: Form,
    drop: Sequence[str],
    format: str | None,
    options: dict[str, Any],
) -> LabelDataset:
    known = _format(path, format)
    file = Place(display_name(path))
    columns = {"labels": labels, "drop": drop, **{name: options.pop(name, None) for name in _OF_COLUMNS}}
    columns |= {name: options.pop(name) for name in ("missing", "weights") if name in options}
    if "labels" not in known.options:
        given = [name for name, value in columns.items() if (value if name == "drop" else value is not None)]
        if given:
            what = (Argument(given[0]), " is for ARFF files and tables, whose columns have names")
            raise InvalidInputError(what, place=file)
        columns = {}
    name = Path(path).name.removesuffix(".gz").removesuffix(".arff")
    offsets = Path(path).with_name(_OFFSETS)
    shifted = known.name == "arff" and not any(columns.values()) and labels is None and offsets.is_file()
    if shifted and name in json.loads(read_bytes(offsets)):
        return _shifted(name, Path(path), offsets, aligned, sparse)
    if aligned is not None:
        raise InvalidInputError(
            (Argument("aligned"), f" is for the sets of rcv1; nothing is known of shifted labels in {file}")
        )
    of_table = {name: options.pop(name) for name in _OF_TABLES if options.get(name) is not None}
    if of_table and known.table is None:
        what = (Argument(next(iter(of_table))), " is for tables: CSV, TSV, Parquet and frames")
        raise InvalidInputError(what, place=file)
    options = {name: value for name, value in options.items() if name not in _OF_TABLES} | of_table
    reader = known.labels or read_label_table
    return reader(path, sparse=sparse, **columns, **options)


def _format(path: PathLike, asked: str | None) -> Format:
    """Format of a file of labels: as asked for, or by its content."""
    readable = {known.name: known for known in FORMATS if known.may_hold_labels}
    if asked is not None:
        if asked not in readable:
            raise InvalidInputError(
                "not known", argument="format", found=asked, advice=f"expected one of {', '.join(readable)}"
            )
        return readable[asked]
    found = sniff(path)
    if found.kind == "stdin" and not found.format:
        raise InvalidInputError(
            "its format cannot be told before reading", advice=("give ", Argument("format")), place=Place(found.name)
        )
    others = {
        "model": "a model of cofactor",
        "xml": "an XML file which names labels",
        "shards": "a folder of sharded ratings",
    }
    if found.format in others:
        raise InvalidInputError(f"is {others[found.format]}, expected features and labels", place=Place(found.name))
    return readable.get(found.format, readable["table"])
