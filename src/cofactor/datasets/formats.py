"""The formats of files: what each is called, how it is recognised, and who reads it.

A new format is a module in `cofactor.datasets.readers` and one line in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cofactor.datasets.readers import arff, matlab, parquet, svmlight, xml
from cofactor.datasets.readers.label_tables import read_label_table
from cofactor.datasets.types import LabelDataset

__all__ = ["FORMATS", "Format", "Holds", "format_of"]

#: What the files of a format hold: ratings, labels, names of labels, or a model.
Holds = Literal["ratings", "labels", "names of labels", "model"]


@dataclass(frozen=True)
class Format:
    """A format of files.

    Parameters
    ----------
    name : str
        What `load_labels` and ``--format`` call it.
    recognises : callable
        From the first 64 KiB of a file, unpacked, to whether the file has this format.
    holds : {"ratings", "labels", "names of labels", "model"}, optional
        What such files hold; None for a table, which may hold ratings or labels.
    labels : callable, optional
        Reads a file as a `LabelDataset`: its arguments are the path, `sparse`, `name` and `options`.
    options : tuple of str
        Which options for reading its reader takes, besides `sparse` and `name`.
    """

    name: str
    recognises: Callable[[bytes], bool]
    holds: Holds | None = None
    labels: Callable[..., LabelDataset] | None = None
    options: tuple[str, ...] = ()


def _is_model(start: bytes) -> bool:
    """Whether a file begins as a safetensors file: the length of its header, and the header, which is JSON."""
    return len(start) > 8 and 0 < int.from_bytes(start[:8], "little") < 1 << 32 and start[8:9] == b"{"


def _is_any(start: bytes) -> bool:
    return True


_TABLE = ("labels", "drop", "encoding", "sep", "header")

#: All formats. The first one which recognises the beginning of a file is its format; a table is what nobody knows.
FORMATS: list[Format] = [
    Format("model", _is_model, holds="model"),
    Format("mat", matlab.looks_like_mat, holds="labels", labels=matlab.read_mat),
    Format("parquet", parquet.looks_like_parquet, labels=read_label_table, options=("labels", "drop")),
    Format("arff", arff.looks_like_arff, holds="labels", labels=arff.read_arff, options=("labels", "drop", "encoding")),
    Format("xml", xml.looks_like_mulan, holds="names of labels"),
    Format(
        "libsvm",
        svmlight.looks_like_libsvm,
        holds="labels",
        labels=svmlight.read_libsvm,
        options=("zero_based", "n_features", "n_labels"),
    ),
    Format("table", _is_any, labels=read_label_table, options=_TABLE),
]


def format_of(start: bytes) -> Format:
    """Return the format of a file which begins with `start`.

    Parameters
    ----------
    start : bytes
        Its first bytes, unpacked.

    Returns
    -------
    Format

    Examples
    --------
    >>> from cofactor.datasets.formats import format_of
    >>> format_of(b"1,3 5:0.2 7:1").name, format_of(b"user,item,rating").name
    ('libsvm', 'table')
    """
    return next(known for known in FORMATS if known.recognises(start))
