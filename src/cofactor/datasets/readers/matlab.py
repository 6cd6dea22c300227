"""Multi-label data in MATLAB files, in the layouts in which they circulate; read here for safety on forged files.

SciPy 1.17 trusts sizes and indices in a file: where these are wrong it reads beside its memory, and ends the process.
Here every number is checked before it is used, and NumPy does not leave its arrays.

A file is a header of 128 bytes, then elements: a tag (type, number of bytes) and content. The element of a variable
holds elements again: flags, shape, name, and numbers; it may be packed by zlib.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from cofactor.chunked import vstack
from cofactor.datasets.readers.matrices import Form, generic_names, in_form, indicator
from cofactor.datasets.types import LabelDataset
from cofactor.errors import InvalidInputError, Place
from cofactor.files import PathLike, data_name, display_name, read_bytes
from cofactor.limits import COLUMNS, UNPACKED
from cofactor.text import plural

_HEADER = 128
_NUMBERS: Final = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _PACKED = 14, 15  # types of elements
_SPARSE, _DENSE = 5, range(6, 16)  # classes of variables: 6 and 7 are floats, 8 to 15 are integers
_CLASSES = {1: "cell", 2: "struct", 3: "object", 4: "char", 16: "function", 17: "object"}
_COMPLEX = 0x0800


@dataclass(frozen=True)
class Other:
    """A variable that is no matrix of real numbers."""

    kind: str
    shape: tuple[int, ...]


class _DamageError(ValueError):
    """What is wrong with a file, for a message."""


@dataclass
class _File:
    """How to read elements, and how many bytes were unpacked so far."""

    name: str
    size: int
    order: str
    unpacked: int = 0


def read_variables(data: bytes, name: str) -> dict[str, Any]:
    """Read all variables of a file.

    Parameters
    ----------
    data : bytes
        The file.
    name : str
        What messages call it.

    Returns
    -------
    dict
        By name an array, a CSC array, or an `Other`.

    Raises
    ------
    InvalidInputError
        If the file is cut short or damaged, or unpacks out of all proportion.
    """
    try:
        orders = {b"IM": "<", b"MI": ">"}
        order = orders.get(data[126:_HEADER])
        if order is None:
            raise _DamageError("no mark of byte order in its header")
        file = _File(name, len(data), order)
        found = (_variable(file, content) for content in _matrices(file, memoryview(data)[_HEADER:]))
        return {key: value for key, value in found if key}  # what functions need has no name
    except _DamageError as damage:
        raise InvalidInputError(
            f"the MATLAB file is damaged or cut short ({damage})", advice="copy it again", place=Place(name)
        ) from None


def _matrices(file: _File, data: memoryview) -> Iterator[memoryview]:
    """Yield the content of each variable, unpacked."""
    for kind, content in _elements(file, data):
        if kind == _PACKED:
            for inner, matrix in _elements(file, _unpacked(file, content)):
                if inner == _MATRIX:
                    yield matrix
        elif kind == _MATRIX:
            yield content


def _unpacked(file: _File, content: memoryview) -> memoryview:
    most = UNPACKED.most(file.size)
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(content, most - file.unpacked + 1)
    except zlib.error as error:
        raise _DamageError(str(error)) from None
    file.unpacked += len(found)
    UNPACKED.check(file.unpacked, "the MATLAB file is out of all proportion", Place(file.name), size=file.size)
    if not stream.eof:
        raise _DamageError("a packed variable has no end")
    return memoryview(found)


def _elements(file: _File, data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield type and content of each element."""
    at = 0
    while at < len(data):
        if len(data) - at < 8:
            raise _DamageError(f"{len(data) - at} bytes where an element begins")
        first, length = np.frombuffer(data, file.order + "u4", 2, at).tolist()
        if first >> 16:  # a small element, all in 8 bytes
            kind, length, start, end = first & 0xFFFF, first >> 16, at + 4, at + 8
            if length > 4:
                raise _DamageError(f"a small element of {length} bytes")
        else:
            kind, start = first, at + 8
            # Content is filled up to whole groups of 8 bytes, but for packed variables, and perhaps at the end.
            end = start + length + (0 if kind == _PACKED else -length % 8)
        if start + length > len(data):
            raise _DamageError(f"an element of {length} bytes where {len(data) - start} are left")
        yield kind, data[start : start + length]
        at = end


def _variable(file: _File, content: memoryview) -> tuple[str, Any]:
    """Return the name and the value of a variable."""
    parts = _elements(file, content)
    flags = _numbers(file, parts, "iu")
    if len(flags) < 1:
        raise _DamageError("a variable without its class")
    kind, is_complex = int(flags[0]) & 0xFF, bool(int(flags[0]) & _COMPLEX)
    if kind == 17:  # which has no shape
        return "", None
    shape = tuple(_numbers(file, parts, "iu").tolist())
    name = bytes(_numbers(file, parts, "iu").astype(np.uint8)).decode("latin-1")
    if len(shape) < 2 or min(shape) < 0:
        raise _DamageError(f"{name} has the shape {shape}")
    if is_complex or kind not in (_SPARSE, *_DENSE):
        return name, Other("complex" if is_complex else _CLASSES.get(kind, f"class {kind}"), shape)
    if kind == _SPARSE:
        return name, _sparse(file, parts, shape, name)
    values = _numbers(file, parts, "iuf")
    if len(values) != math.prod(shape):
        raise _DamageError(f"{name} has the shape {shape} and {len(values)} numbers")
    _check_sides(file, name, shape, len(values))
    return name, values.reshape(shape, order="F")


def _sparse(file: _File, parts: Iterator[tuple[int, memoryview]], shape: tuple[int, ...], name: str) -> csc_array:
    rows, starts = _numbers(file, parts, "iu"), _numbers(file, parts, "iu").astype(np.int64)
    values = _numbers(file, parts, "iuf")
    if len(shape) != 2 or len(starts) != shape[1] + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
        raise _DamageError(f"{name} has the shape {shape}, and its columns do not fit it")
    n = int(starts[-1])  # room may be left after the last entry
    if n > min(len(rows), len(values)):
        raise _DamageError(f"{name} has {min(len(rows), len(values))} entries of {n}")
    rows = rows[:n].astype(np.int64)
    if n and not 0 <= rows.min() <= rows.max() < shape[0]:
        raise _DamageError(f"{name} has an entry outside of its {shape[0]} rows")
    _check_sides(file, name, shape, n)
    return csc_array((values[:n], rows, starts), shape=shape)


def _check_sides(file: _File, name: str, shape: tuple[int, ...], n: int) -> None:
    """Refuse sides which n entries cannot account for: each row and column takes memory, also if it is empty."""
    COLUMNS.check(max(shape), f"{name} has the shape {shape} for {n} entries", Place(file.name), size=n)


def _numbers(file: _File, parts: Iterator[tuple[int, memoryview]], kinds: str) -> NDArray[Any]:
    """Return the numbers of the next element, which must be of one of these kinds."""
    kind, content = next(parts, (0, memoryview(b"")))
    code = _NUMBERS.get(kind)
    if code is None or code[0] not in kinds:
        raise _DamageError(f"an element of type {kind} where numbers are expected" if kind else "a part is missing")
    if len(content) % int(code[1]):
        raise _DamageError(f"{len(content)} bytes for numbers of {code[1]}")
    return np.frombuffer(content, file.order + code).astype(code, copy=False)


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
    X, Y = (vstack(part) for part in zip(*blocks, strict=True))
    train_rows = np.arange(X.shape[0]) < blocks[0][0].shape[0] if len(blocks) > 1 else None
    return LabelDataset(
        name=name or data_name(path),
        X=in_form(X, sparse, label),
        Y=Y,
        feature_names=generic_names("x", X.shape[1]),
        label_names=generic_names("y", Y.shape[1]),
        train_rows=train_rows,
        description=f"{plural(X.shape[0], 'instance')} read from {label}",
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
