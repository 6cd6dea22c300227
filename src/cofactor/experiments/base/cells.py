"""The cells of experiments: with the checksum of their data, which goes into their keys."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from cofactor import published
from cofactor.datasets import DatasetNotFoundError, locate, verify
from cofactor.evaluation import keys
from cofactor.evaluation.running import Cell, cell
from cofactor.evaluation.store import Measures
from cofactor.experiments.base.label_work import label_fold, source_of

__all__ = ["checksum", "label_cell", "printed_cell", "rating_cell"]


def checksum(name: str) -> str:
    """Return the SHA-256 of a data set's files on this machine, or nothing where the set is not there.

    Parameters
    ----------
    name : str
        Name in the registry.

    Examples
    --------
    >>> from cofactor.datasets import locate
    >>> locate("ml-100k").name  # where it is there
    'ml-100k'
    >>> checksum("ml-100k")[:12]
    '06416e597f82'
    """
    try:
        return _checksum(name, locate(name))
    except DatasetNotFoundError:
        return ""


@cache
def _checksum(name: str, folder: Path) -> str:
    files = verify(name).files
    found = [file.found for file in files if file.required and file.found]
    return found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode()).hexdigest()


def rating_cell(
    function: Callable[..., Measures], *, method: str, data: str, split: str, seed: int, **parameters: Any
) -> Cell:
    """Return the cell of a function of `rating_work`; data that are made have no checksum, their recipe says it all."""
    found = "" if parameters.get("made") else checksum(data)
    return cell(function, method=method, data=data, split=split, seed=seed, checksum=found, **parameters)


def printed_cell(function: Callable[..., Measures], method: str, data: str, **parameters: Any) -> Cell:
    """Return the cell of a function which fits a rating model to a printed matrix.

    Examples
    --------
    >>> from cofactor.experiments.kumar.plane import sides
    >>> printed_cell(sides, "BinaryMMMF", "thesis-3.1", threshold=0.1, alpha=0.1).name
    'BinaryMMMF, thesis-3.1'
    """
    numbers = keys.checksum(*map(published.matrix, published.matrices()))
    return cell(function, method=method, data=data, checksum=numbers, **parameters)


def label_cell(method: str, data: str, split: str, seed: int = 0, **parameters: Any) -> Cell:
    """Return the cell of `label_fold` with these arguments.

    Examples
    --------
    >>> label_cell("MLkNN", "emotions", "kfold 1/10").name
    'MLkNN, emotions, kfold 1/10'
    """
    source = source_of(data, parameters.get("aligned"))
    found = checksum(source)
    return cell(label_fold, method=method, data=data, split=split, seed=seed, checksum=found, **parameters)
