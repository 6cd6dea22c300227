"""Features and labels in CSV, TSV and Parquet tables, one row for each instance."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cofactor.datasets.formats import open_data
from cofactor.datasets.readers.features import cells_of
from cofactor.datasets.readers.label_columns import (
    LabelColumns,
    check_missing_cells,
    check_separator,
    features_as_in,
    label_roles,
    lists_as_text,
    positions_of,
    tags_of,
)
from cofactor.datasets.readers.matrices import Form, generic_names, in_form, indicator
from cofactor.datasets.readers.parquet import is_list_layout, read_whole_lists, stored_labels
from cofactor.datasets.table import (
    ArrowTable,
    Table,
    TableOptions,
    header_or_numbers,
    ids_of,
    is_frame,
    label_of,
    numbers_of,
    partly_known_label,
    table_of_frame,
)
from cofactor.datasets.types import LabelDataset
from cofactor.errors import Argument, InputWarning, InvalidInputError, Place
from cofactor.files import PathLike, data_name
from cofactor.schema import PlaceOf, Schema, check_sizes
from cofactor.text import first_repeated, plural, shorten

_NUMBERED = re.compile(r"c\d+")  # names of the columns of a table without header


def read_label_table(
    path: PathLike | Any,
    labels: LabelColumns = None,
    *,
    drop: Sequence[str] = (),
    id: str | None = None,
    max_values: int | None = None,
    text: str | Sequence[str] = (),
    max_words: int | None = None,
    ngrams: int | None = None,
    label_sep: str | None = None,
    missing: str = "error",
    weights: str | None = None,
    schema: Schema | None = None,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    sparse: Form = "auto",
    name: str | None = None,
) -> LabelDataset:
    r"""Read features and labels from a CSV, TSV or Parquet file, or a frame, with one row for each instance.

    Parameters
    ----------
    path : str, path-like, or pandas or polars frame
        Text (plain or gzip) or Parquet; the content decides which, not the suffix. ``"-"`` is standard input.
    labels : str, int or sequence of str
        Which columns are labels: those whose names begin with this string; the first n columns, or the last ones for
        n < 0; or the names. Neither the id nor columns of `drop` and `text` count among these, so that a name which is
        in both is an error. An empty sequence for a file without labels. May be left out for Parquet files which
        `write_chunks` wrote. With `label_sep` the name of the one column which lists the tags of each row.
    drop : sequence of str, default ()
        Columns which are neither features nor labels, such as remarks, or labels of no interest.
    id : str, optional
        The column which names the rows; it is no feature.
    max_values : int, optional
        How many different values a feature of text may have. By default 250, and in a table of 20 or more rows less
        than nine tenths of the rows, since others are free text, or name the rows.
    text : str or sequence of str, default ()
        Columns of free text. The words of such a column (two or more letters and digits, in lower case) which occur in
        at least two rows become features named ``name:word``, with tf-idf values: (1 + ln count) · (1 + ln((1 + n) /
        (1 + rows with the word))), divided by the norm of the row. Beside text, columns of numbers are standardized.
    max_words : int, optional
        How many features each column of text becomes at most: the most frequent words; by default 20,000.
    ngrams : int, optional
        Up to how many words that follow each other are a feature too; by default 1: single words only.
    label_sep : str, optional
        What parts the tags in the column of labels, such as ``"|"``. Each tag becomes a label. Blanks around tags,
        empty tags and repetitions do not count; a row whose cell is empty has no tag. Of a cell such as ``['a', 'b']``,
        as pandas writes lists to CSV, the tags are those of the list. A column of lists of text, in a frame or a
        Parquet file, needs none.
    missing : {"error", "ignore"}, default="error"
        What to do with cells of labels that have no value (see below): refuse them, or leave the label unknown, as
        ``known`` of the data says. Not for tags in one column, where an empty cell means none.
    weights : str, optional
        The column which holds weights of the rows, with which models learn; it is no feature.
    schema : Schema, optional
        The ``schema`` of data which were read before: the features become the same ones, and what was left out or
        named the rows then, does so again. Without `labels` the labels are the same too, unless the file has none of
        them; an empty sequence leaves them out. `sep`, `header` and `encoding` are those that were given then.
    sep : str, optional
        Separator of a text file; by default found from the first line.
    header : bool, optional
        Whether the first line names the columns; by default it does if it holds no number.
    encoding : str, optional
        Encoding of a text file; by default utf-8.
    sparse : {"auto", True, False}, default "auto"
        As in `read_arff`.
    name : str, optional
        Name of the data set; by default the file name.

    Returns
    -------
    LabelDataset
        A column of words with two words for off and on (no/yes, false/true, ...) becomes one column of 0 and 1, any
        other words a column ``name=value`` for each value that occurs, in alphabetical order; its ``schema`` says so,
        and gives another file the same columns. Labels may be 0/1, -1/+1, booleans or such words.

        Missing cells of features are filled, and ``filled`` counts them: those of numbers, and of words for off and on,
        by the median of the column in training; those of other words and of text by zeros. A missing number, or label,
        is written as an empty cell, NA, N/A, NaN, null, None or ?.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the file is empty or malformed, a label is missing, or neither on nor off, a feature has no value in any
        row, a column of words has too many values, a column of text has no words, or holds numbers, or a file has not
        the features of the schema; the message names the line (in Parquet
        files the row) and the column.

    Warns
    -----
    UserWarning
        If a feature has a value, or a row a tag, which the schema does not know: all columns of the feature are 0 in
        such rows, and the tag is left out. Unknown words of free text are left out without a warning.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pandas as pd
    >>> from cofactor.datasets import read_label_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.csv")
    >>> _ = path.write_text('wind,sky,is_sea,"is_sun, or sol"\n3.5,grey,1,0\n0,blue,1,1\n')
    >>> data = read_label_table(path, "is_")
    >>> data.feature_names, data.label_names
    (('wind', 'sky=blue', 'sky=grey'), ('is_sea', 'is_sun, or sol'))
    >>> data.X.tolist(), data.Y.toarray().tolist()
    ([[3.5, 0.0, 1.0], [0.0, 1.0, 0.0]], [[1, 0], [1, 1]])
    >>> folder.cleanup()

    Free text, and tags in one column:

    >>> frame = pd.DataFrame({"body": ["Late flight", "Late meal", "A meal"], "tags": ["time|trip", "time", ""]})
    >>> data = read_label_table(frame, "tags", label_sep="|", text="body")
    >>> data.feature_names, data.label_names, data.Y.toarray().tolist()
    (('body:late', 'body:meal'), ('time', 'trip'), [[1, 1], [1, 0], [0, 0]])
    """
    given = {"sep": sep, "header": header, "encoding": encoding}
    written = {**(schema.text if schema else {}), **{key: value for key, value in given.items() if value is not None}}
    texts = (text,) if isinstance(text, str) else tuple(text)
    _check_options({"text": texts, "max_words": max_words, "ngrams": ngrams}, schema, label_sep)
    check_missing_cells(missing)
    table = _table(path, written)
    title = name or ("frame" if is_frame(path) else data_name(path))
    if isinstance(table, ArrowTable) and schema is None:
        none_wanted = isinstance(labels, Sequence) and len(labels) == 0
        if (labels is None or none_wanted) and is_list_layout(table.table.schema):
            data = read_whole_lists(table.table, table.file, sparse, title)
            return replace(data, Y=data.Y[:, :0], label_names=()) if none_wanted else data
        labels = stored_labels(table.table.schema, drop) if labels is None else labels
    names = _names(table, schema)
    if schema is not None:
        labels, drop, id = schema.roles(names, labels, drop, id)
        label_sep = label_sep or schema.label_sep
    heavy = [] if weights is None else positions_of(names, [weights], table.file, "column", Argument("weights"))
    drop = (*drop, *(names[j] for j in heavy if names[j] not in drop))
    targets, features, id_at = _roles(table, names, labels, drop, id, texts, label_sep)
    if len(targets) == 1:
        table, label_sep = lists_as_text(table, targets[0], label_sep)
    if schema is not None:
        features = features_as_in(schema, names, features, table.file, has_names=table.names is not None)
    table.load([*targets, *features, *heavy, *([] if id_at is None else [id_at])])
    ids = None if id_at is None else ids_of(table, id_at, "auto")
    tags = schema.tags if schema else ()
    Y, known, label_names = _labels(table, names, targets, label_sep, tags, unknown=missing == "ignore")
    columns = {names[j]: j for j in features}
    cells, place = cells_of(table, columns, texts, schema), partial(_place, table, columns)
    if schema is not None:
        found = schema.transform(cells, place)
        _warn_of_new(found.new, cells, schema, place)
    else:
        roles: dict[str, Any] = {
            "labels": tuple(names[j] for j in targets),
            "drop": tuple(drop),
            "id": id,
            "text": written,
        }
        if label_sep is not None and targets:
            roles |= {"label_sep": label_sep, "tags": label_names}
        sizes = {"max_values": max_values, "max_words": max_words, "ngrams": ngrams}
        schema, found = Schema.learn(cells, place, texts=texts, **sizes, **roles)
    X = found.X
    return LabelDataset(
        name=title,
        X=in_form(X, sparse, table.file),
        Y=indicator(np.zeros((X.shape[0], 0)), table.file) if Y is None else Y,
        feature_names=_feature_names(schema, table.file),
        label_names=label_names,
        nominal=tuple(filter(schema.spread, schema.words)),
        description=f"{plural(X.shape[0], 'instance')} read from {table.file}",
        ids=ids,
        schema=schema,
        filled=found.filled,
        known=known,
        weights=numbers_of(table, heavy[0]) if heavy else None,
    )


def _table(path: PathLike | Any, written: Mapping[str, Any]) -> Table:
    """Return the table of a frame or a file, of which `written` says how it is written."""
    sep, encoding = written.get("sep"), written.get("encoding", "utf-8")
    options = TableOptions(
        header_or_numbers(written.get("header")), "features and labels", sep, encoding, long_cells=True
    )
    return table_of_frame(path) or open_data(path).table(options)


def _place(table: Table, columns: Mapping[str, int], name: str, row: int | None = None) -> Place:
    """Return where a column is, or a cell of it."""
    return table.column_place(columns[name]) if row is None else table.place(row, columns[name])


def _warn_of_new(new: Mapping[str, NDArray[Any]], cells: Mapping[str, Any], schema: Schema, place: PlaceOf) -> None:
    """Warn of words that did not occur in training."""
    for name, rows in new.items():
        unseen = sorted(set(cells[name].values).difference(schema.words[name], ("",)))
        text = f"{shorten(unseen)} did not occur in training; all columns of this feature are 0 in "
        warnings.warn(InputWarning(f"{place(name)}: {text}{plural(len(rows), 'row')}"), stacklevel=3)


def _check_options(options: Mapping[str, Any], schema: Schema | None, label_sep: str | None) -> None:
    """Refuse options of text which do not fit together."""
    check_sizes(options["max_words"], options["ngrams"])
    if label_sep is not None:
        check_separator(label_sep)
    given = [name for name, value in options.items() if value]
    if schema is not None and given:
        raise InvalidInputError((Argument(given[0]), " is for training: the schema says what becomes of text"))
    if given and not options["text"]:
        raise InvalidInputError((Argument(given[0]), " is for columns of ", Argument("text")), argument=given[0])


def _roles(
    table: Table,
    names: Sequence[str],
    labels: LabelColumns,
    drop: Sequence[str],
    id: str | None,
    text: Sequence[str],
    label_sep: str | None,
) -> tuple[list[int], list[int], int | None]:
    """Return the positions of labels, features and ids; with `label_sep` there is one column of labels."""
    if label_sep is not None and isinstance(labels, str) and labels in names:
        labels = [labels]  # and not all columns whose names begin so
    targets, features, id_at = label_roles(names, labels, drop, table.file, id, text=text)
    if label_sep is not None and len(targets) > 1:
        what = (Argument("labels"), f" are {plural(len(targets), 'column')}, but with ", Argument("label_sep"))
        raise InvalidInputError((*what, " one column lists all tags"), argument="labels", place=Place(table.file))
    return targets, features, id_at


def _labels(
    table: Table,
    names: Sequence[str],
    targets: Sequence[int],
    label_sep: str | None,
    tags: Sequence[str],
    *,
    unknown: bool,
) -> tuple[csr_array | None, NDArray[np.bool_] | None, tuple[str, ...]]:
    """Return Y, which of it is known, and the names of its columns, from columns of labels or of tags; None if none."""
    if not targets:
        return None, None, ()
    if label_sep is not None and unknown:
        what = (Argument("missing", "ignore"), " is for a column for each label: an empty cell of tags means none")
        raise InvalidInputError(what, argument="missing", place=Place(table.file))
    if label_sep is not None:
        Y, found = tags_of(table, targets[0], label_sep, tags)
        return Y, None, found
    label_names = tuple(names[j] for j in targets)
    if not unknown:
        return indicator(np.column_stack([label_of(table, j) for j in targets]), table.file), None, label_names
    on, known = map(np.column_stack, zip(*(partly_known_label(table, j) for j in targets), strict=True))
    return indicator(on, table.file), None if known.all() else known, label_names


def _feature_names(schema: Schema, file: str) -> tuple[str, ...]:
    """Return the names of the columns of X, which must differ."""
    names = schema.feature_names
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidInputError(f"two features are named {twice!r}", advice="rename a column", place=Place(file))
    return names


def _names(table: Table, schema: Schema | None) -> Sequence[str]:
    """Names of the columns; a table without header may hold just the features of a schema of such a table."""
    fits = table.names is None and schema is not None and table.n_columns == len(schema.features)
    if fits and schema is not None and all(map(_NUMBERED.fullmatch, schema.features)):
        return schema.features
    return table.names or generic_names("c", table.n_columns)
