"""Multi-label data in MATLAB files, in the layouts in which they circulate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cofactor.datasets.readers.mat5 import Other, read_variables
from cofactor.datasets.readers.matrices import Form, generic_names, in_form, indicator, stacked
from cofactor.datasets.types import LabelDataset
from cofactor.errors import InvalidInputError, Place
from cofactor.files import PathLike, data_name, display_name, read_bytes
from cofactor.text import counted

__all__ = ["looks_like_mat", "read_mat"]

#: Names of the variables of the training part and of the test part, and whether the target is labels × instances where
#: it is square.
_LAYOUTS = (
    (("X", "Y"), ("Xt", "Yt"), False),
    (("train_data", "train_target"), ("test_data", "test_target"), True),
    (("data", "target"), None, True),
)
_HDF5 = b"\x89HDF"


def looks_like_mat(data: bytes) -> bool:
    """Whether the content of a file is that of a MATLAB file of version 5 to 7.3.

    Parameters
    ----------
    data : bytes
        The file, or its beginning.

    Returns
    -------
    bool
    """
    return data.startswith((b"MATLAB", _HDF5))


def read_mat(path: PathLike, *, sparse: Form = "auto", name: str | None = None) -> LabelDataset:
    """Read features and labels from a MATLAB file (version 5 to 7).

    ================================================  ===================================================
    variables                                         labels
    ================================================  ===================================================
    ``X, Y`` and for a test part ``Xt, Yt``           instances × labels, or the other way round
    ``train_data, train_target`` and for a test part  labels × instances (or the other way round, where
    ``test_data, test_target``                        the shape says so)
    ``data, target``                                  the same
    ================================================  ===================================================

    Each may be dense or sparse; labels are 0/1 or -1/+1.

    Parameters
    ----------
    path : str or path-like
        The file; ``"-"`` is standard input.
    sparse : {"auto", True, False}, default "auto"
        As in `read_arff`.
    name : str, optional
        Name of the data set; by default the file name.

    Returns
    -------
    LabelDataset
        Training rows first, then test rows; ``train_rows`` marks the training rows. Features are named x0, x1, ...,
        labels y0, y1, ....

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the file is damaged, is of version 7.3, has none of these layouts, or if shapes or labels are not as above.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from scipy.io import savemat
    >>> from cofactor.datasets import read_mat
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.mat")
    >>> savemat(path, {"train_data": np.eye(3), "train_target": np.array([[1, -1, 1], [-1, -1, 1]])})
    >>> read_mat(path).Y.toarray().tolist()
    [[1, 0], [0, 0], [1, 1]]
    >>> folder.cleanup()
    """
    label = display_name(path)
    variables = _variables(read_bytes(path), label)
    parts, target_first = _layout(variables, label)
    blocks = [_part(variables, *names, target_first, label) for names in parts]
    widths = {(X.shape[1], Y.shape[1]) for X, Y in blocks}
    if len(widths) > 1:
        (D, L), (Dt, Lt) = ((X.shape[1], Y.shape[1]) for X, Y in blocks)
        raise InvalidInputError(
            f"the training part has {D} features and {L} labels, the test part {Dt} and {Lt}", place=Place(label)
        )
    X, Y = (stacked(part) for part in zip(*blocks, strict=True))
    train_rows = np.arange(X.shape[0]) < blocks[0][0].shape[0] if len(blocks) > 1 else None
    return LabelDataset(
        name=name or data_name(path),
        X=in_form(X, sparse, label),
        Y=Y,
        feature_names=generic_names("x", X.shape[1]),
        label_names=generic_names("y", Y.shape[1]),
        train_rows=train_rows,
        description=f"{counted(X.shape[0], 'instance')} read from {label}",
    )


def _variables(data: bytes, name: str) -> Mapping[str, Any]:
    if data.startswith(_HDF5) or b"MATLAB 7.3" in data[:128]:
        raise InvalidInputError(
            "is a MATLAB file of version 7.3", advice="save it with save(..., '-v7')", place=Place(name)
        )
    return read_variables(data, name)


def _layout(variables: Mapping[str, Any], name: str) -> tuple[list[tuple[str, str]], bool]:
    for train, test, target_first in _LAYOUTS:
        if all(key in variables for key in train):
            return ([train, test] if test and all(key in variables for key in test) else [train]), target_first
    found = ", ".join(variables) or "nothing"
    raise InvalidInputError(
        "expected the variables X, Y (and Xt, Yt), or train_data, train_target (and test_data, test_target), "
        f"or data, target; found {found}",
        place=Place(name),
    )


def _part(variables: Mapping[str, Any], x: str, y: str, target_first: bool, name: str) -> tuple[Any, csr_array]:
    """Features and labels of one part, both with instances as rows."""
    X, Y = variables[x], variables[y]
    for key, value in ((x, X), (y, Y)):
        if isinstance(value, Other) or len(value.shape) != 2:
            kind = value.kind if isinstance(value, Other) else value.dtype
            raise InvalidInputError(
                f"{key} has type {kind} and shape {value.shape}, expected a matrix of numbers", place=Place(name)
            )
    n = X.shape[0]
    as_is, turned = Y.shape[0] == n, Y.shape[1] == n
    if not (as_is or turned):
        raise InvalidInputError(
            f"{x} has shape {X.shape} and {y} {Y.shape}; no side of {y} has {n} instances", place=Place(name)
        )
    if turned and (target_first or not as_is):
        Y = Y.T
    return X, indicator(Y, f"{name}, {y}")
