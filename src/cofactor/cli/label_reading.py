"""Features and labels as they come from the command line."""

from __future__ import annotations

import csv
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli.errors import OPTIONS, InputError, in_options, is_refusal

if TYPE_CHECKING:
    from cofactor.datasets import LabelDataset
    from cofactor.labels import LabelModel

__all__ = ["LabelOptions", "read_features_for", "read_labels_from"]

_STDIN = "standard input"
_NUMBERED = re.compile(r"c\d+")  #: names which readers give to the columns of a table without header
_FOR = {
    "encoding": ("arff", "table"),
    "sep": ("table",),
    "header": ("table",),
    "zero_based": ("libsvm",),
}


@dataclass(frozen=True)
class LabelOptions:
    """How to read a file of features and labels."""

    labels: str | None = None
    xml: str | None = None
    drop: str | None = None
    format: str | None = None
    aligned: str | None = None
    zero_based: bool | None = None
    sep: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"

    def columns(self) -> Any:
        """Return what the readers of the library take as `labels`.

        Examples
        --------
        >>> LabelOptions("is_").columns(), LabelOptions("-6").columns(), LabelOptions('sea,"sun, or sol"').columns()
        ('is_', -6, ['sea', 'sun, or sol'])
        """
        if self.xml is not None:
            if self.labels is not None:
                raise InputError("--labels and --xml both say which columns are labels: give one of them")
            return Path(self.xml)
        if self.labels is None:
            return None
        if re.fullmatch(r"-?\d+", self.labels):
            return int(self.labels)
        return _names(self.labels) if "," in self.labels else self.labels

    def keywords(self, kind: str, file: str) -> dict[str, Any]:
        """Return the options of the reader of this format; refuse those which it does not have."""
        separators = {"tab": "\t", "\\t": "\t", "space": " "}
        found = {
            "encoding": None if self.encoding == "utf-8" else self.encoding,
            "sep": separators.get(self.sep or "", self.sep),
            "header": self.header,
            "zero_based": self.zero_based,
        }
        asked = {name: value for name, value in found.items() if value is not None}
        for name in asked:
            if kind not in _FOR[name]:
                shown = {"zero_based": "--zero-based"}.get(name, f"--{name}")
                raise InputError(f"{shown} is for {' and '.join(_FOR[name])} files, and {_name(file)} is {kind}")
        return asked


def _names(text: str) -> list[str]:
    (cells,) = csv.reader([text], skipinitialspace=True)
    return [cell for cell in cells if cell]


def _name(file: str) -> str:
    return _STDIN if file == "-" else file


def read_labels_from(file: str, options: LabelOptions) -> LabelDataset:
    """Read features and labels from a file, from standard input, or from a known data set.

    Parameters
    ----------
    file : str
        Path, ``-``, or name of a data set, in this order.
    options : LabelOptions
        How to read a file.
    """
    with _one_line_warnings():
        data = _load(file, options, options.columns())
    if not data.n_labels:
        raise InputError(f"{_name(file)}: has no labels: say with --labels which columns they are")
    if not data.n_features:
        raise InputError(f"{_name(file)}: has no features, since all its columns are labels or dropped")
    if not data.n_instances:
        raise InputError(f"{_name(file)}: holds no instances")
    return data


def read_features_for(file: str, model: LabelModel, options: LabelOptions) -> tuple[Any, LabelDataset]:
    """Read the features of new instances, in the order of those the model was fitted to.

    Columns which are labels of the model are left out: the file may be one with labels, or without.

    Returns
    -------
    X : ndarray or csr_array of shape (n, D)
    data : LabelDataset
        What was read.
    """
    from dataclasses import replace

    with _one_line_warnings():
        whole = replace(options, labels=None, xml=None)
        with _path_of(file) as path:
            kind = _format_of(file, path, options)
            unnamed = kind in ("mat", "libsvm") or _is_known(file)
            extent = {"n_features": model.n_features_in_, "n_labels": len(model.label_names_)}
            extra: dict[str, Any] = {}
            if kind == "libsvm":
                has_sizes = _has_sizes(path)
                extra = {} if has_sizes else extent | {"zero_based": _bases(model, options.zero_based)}
                if has_sizes and _base_of(getattr(model, "feature_names_in_", ()), "x") is False:
                    raise InputError(
                        f"{_name(file)}: has sizes in its first line, so that its indices count from 0, but the model "
                        "was fitted to a libsvm file whose indices count from 1"
                    )
                whole = replace(whole, zero_based=options.zero_based if has_sizes else None)
            data = _load(file, whole, None if unnamed else (), path=path, **extra)
        if not data.n_instances:
            raise InputError(f"{_name(file)}: holds no instances")
        return _aligned(data, model, file, named=not unnamed), data


def _base_of(names: Any, letter: str) -> bool | None:
    """Whether columns which were named by their numbers in a libsvm file count from 0; None if they were not.

    Examples
    --------
    >>> _base_of(["x1", "x2"], "x"), _base_of(["y0"], "y"), _base_of(["age", "size"], "x")
    (False, True, None)
    """
    first = str(names[0]) if len(names) else ""
    if first not in (f"{letter}0", f"{letter}1") or str(names[-1]) != f"{letter}{int(first[1:]) + len(names) - 1}":
        return None
    return first == f"{letter}0"


def _bases(model: LabelModel, asked: bool | None) -> tuple[Any, Any]:
    """Return whether indices and labels of a libsvm file count from 0: as in training."""
    known = _base_of(getattr(model, "feature_names_in_", ()), "x")
    if known is not None and asked is not None and known != asked:
        raise InputError(
            f"--{'zero' if asked else 'one'}-based: the indices of the file to which the model was fitted count from "
            f"{0 if known else 1}"
        )
    of_labels = _base_of(model.label_names_, "y")
    index = known if known is not None else asked
    label = of_labels if of_labels is not None else asked
    return "auto" if index is None else index, "auto" if label is None else label


def _aligned(data: LabelDataset, model: LabelModel, file: str, *, named: bool) -> Any:
    """Return the features in the order of the model."""
    import numpy as np

    known = getattr(model, "feature_names_in_", None)
    if known is None:  # fitted in Python to arrays: positions are all there is
        return data.X
    wanted, labels = [str(name) for name in known], {str(name) for name in model.label_names_}
    if all(map(_NUMBERED.fullmatch, (*data.feature_names, *wanted))) and data.n_features == len(wanted):
        return data.X
    keep = [j for j, name in enumerate(data.feature_names) if not (named and name in labels)]
    if len(keep) < data.n_features:
        from dataclasses import replace

        names = tuple(data.feature_names[j] for j in keep)
        data = replace(data, X=data.X[:, np.array(keep, dtype=np.intp)], feature_names=names)
    with _about(file):
        return data.align(wanted)


def _load(file: str, options: LabelOptions, columns: Any, path: str | None = None, **extra: Any) -> LabelDataset:
    from cofactor.datasets import load_labels

    if path is None:
        with _path_of(file) as found:
            return _load(file, options, columns, found, **extra)
    keywords: dict[str, Any] = {"aligned": options.aligned} if options.aligned else {}
    if not _is_known(file):
        kind = _format_of(file, path, options)
        drop = _names(options.drop) if options.drop else ()
        keywords |= {"format": kind, "drop": drop, **options.keywords(kind, file), **extra}
    elif options.drop or options.format or columns is not None:
        raise InputError(f"{file} is a known data set: --labels, --xml, --drop and --format are for files")
    with _about(file, path):
        return load_labels(path, columns, **keywords)


def _is_known(file: str) -> bool:
    from cofactor.datasets import available

    return not os.path.exists(file) and file in {status.name for status in available("labels")}


def _format_of(file: str, path: str, options: LabelOptions) -> str:
    """Return the format of a file: as asked for, or by its content."""
    if options.format is not None or _is_known(file):
        return options.format or "known"
    if not os.path.exists(path):
        from cofactor.datasets import available

        known = [status.name for status in available("labels")]
        if file in {status.name for status in available("ratings")}:
            raise InputError(f"{file} holds ratings, not labels: leave out --task labels and options for labels")
        raise InputError(
            f"{file}: no such file, and no known data set of labels ({', '.join(known[:6])}, ...; "
            "cofactor datasets list shows all)"
        )
    from cofactor.datasets.formats import FORMATS
    from cofactor.datasets.sniff import sniff

    found = sniff(path).format
    return found if found in {known.name for known in FORMATS if known.may_hold_labels} else "table"


def _has_sizes(path: str) -> bool:
    """Whether a libsvm file begins with its numbers of instances, features and labels."""
    from cofactor.datasets.sniff import sniff

    return sniff(path).has_sizes


@contextmanager
def _path_of(file: str) -> Iterator[str]:
    """Yield a file that can be read twice: of standard input a copy."""
    if file != "-":
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="cofactor-") as folder:
        path = Path(folder, _STDIN)
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield str(path)


@contextmanager
def _about(file: str, path: str | None = None) -> Iterator[None]:
    """Within the block, what is refused is the content of this file, whatever copy of it was read."""
    try:
        yield
    except (ValueError, TypeError, FileNotFoundError) as error:
        if isinstance(error, InputError) or not is_refusal(error):
            raise
        message = in_options(str(error).replace(path or file, _name(file)), OPTIONS)
        raise InputError(message) from error


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Within the block, warnings speak of options."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    for warning in found:
        warnings.warn(in_options(str(warning.message), OPTIONS), warning.category, stacklevel=3)
