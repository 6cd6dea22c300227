r"""Models on disk: one safetensors file of arrays, with a JSON header that says what they are.

Nothing in a model file is ever unpickled or evaluated: it holds numbers and text, and only classes which the
reader already knows are built from it. The layout, format 2: an ordinary safetensors file, whose metadata has
one entry, ``cofactor``, a JSON object with the members

=============  =======================================================================
``class``      name of the model's class (files written by `save`)
``format``     number of this layout; a reader refuses higher numbers
``version``    version of cofactor which wrote the file, for messages
``summary``    what the model says of itself, for `cofactor info`: title, facts, settings
``same``       names of arrays that equal another array, with its name: equal arrays are stored once
``crc32``      checksum over everything else in the header and over all arrays
*others*       whatever the model wants to keep, such as its parameters
=============  =======================================================================

Because of the checksum a damaged file is refused, and not read as another model. The checksum protects against
accidents, not against forgery.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import numpy as safetensors

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.files import PathLike, replacing
from cofactor.headers import (
    ENTRY,
    FORMAT,
    MAX_HEADER,
    ModelFileError,
    checksum,
    name_of,
    opened,
    places,
    read,
    read_contents,
    refuse,
    version,
)
from cofactor.limits import UNPACKED

_FROM_HERE, _WHOLE = "path from this file", "whole path"  # members of a path in a header
_INTEGERS = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
_DTYPES = frozenset({"bool", "float16", "float32", "float64", "complex64"} | _INTEGERS)

#: What state that does not fit together raises where it is put to use; every other error is a bug.
_MISFITS = (
    ArithmeticError, AttributeError, IndexError, KeyError, MemoryError, RecursionError, TypeError, ValueError,
)  # fmt: skip

_MIN_SHARED = 64  # bytes of an array that is stored only once; the name of a smaller one takes as many

Arrays = dict[str, NDArray[Any]]


class Storable(Protocol):
    """What `save` and `load` need of a model."""

    def _to_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return what belongs into the header, and the arrays."""

    @classmethod
    def _from_state(cls, header: dict[str, Any], arrays: Arrays, models: Mapping[str, Any]) -> Storable:
        """Return the model which `_to_state` described; `models` has the classes of models inside it, by name."""


class Adapter(Protocol):
    """Gives the state of a class of another package, and builds it again from a checked state."""

    def to_state(self, value: Any) -> tuple[dict[str, Any], Arrays]:
        """Return a header which JSON can hold, and arrays; refuse what a file cannot hold safely."""

    def _from_state(self, header: dict[str, Any], arrays: Arrays, models: Mapping[str, Any]) -> Any:
        """Return what `to_state` described; refuse whatever does not fit together."""


def state_of(value: Any, adapters: Mapping[type[Any], Adapter] | None = None) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a fitted model, by its own ``_to_state`` or by an adapter of its class.

    Raises
    ------
    InvalidTypeError
        If there is neither.
    """
    if hasattr(value, "_to_state"):
        header, arrays = value._to_state()
        return header, arrays
    adapter = (adapters or {}).get(type(value))
    if adapter is None:
        raise InvalidTypeError(f"a {type(value).__name__} cannot be saved: its class is not known here")
    return adapter.to_state(value)


def built(name: str, header: dict[str, Any], arrays: Arrays, models: Mapping[str, Any]) -> Any:
    """Return the model of a class in `models` which header and arrays describe."""
    if name not in models:
        raise InvalidInputError(_unknown_class(name, models))
    return models[name]._from_state(header, arrays, models)


def _unknown_class(name: object, models: Mapping[str, Any]) -> str:
    known = ", ".join(sorted(models)) or "none"
    return f"it holds a model of class {name!r}, which is not known here (known: {known})"


def write_model(path: PathLike, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays and a header to one file, whole or not at all.

    The file is written under a temporary name in the same folder, flushed to disk and renamed. If anything
    fails, the temporary file is removed and a file that had this name before stays as it was.

    Parameters
    ----------
    path : path-like
        File to write. Its folder must exist.
    header : mapping of str to JSON values
        None, bool, numbers, strings, `pathlib.Path`, and lists, tuples and mappings of them. NumPy numbers are
        accepted; tuples come back as lists. A path is written as it leads there from the folder of the file, and as it
        is: where the first one leads to nothing, the second comes back. The members ``format``, ``version`` and
        ``crc32`` are set here, whatever `header` says, so that a header which was read can be written again.
    arrays : mapping of str to ndarray
        Arrays of any shape (also empty ones): bool, integers of 8 to 64 bits, float16, float32, float64 or
        complex64. They need not be contiguous.

    Raises
    ------
    TypeError
        If a member of the header has no JSON form, or an array no safetensors form; the message names it.
    ValueError
        If a number in the header is NaN or infinite, or the header is too long.
    FileNotFoundError, IsADirectoryError
        If the folder of `path` does not exist, or `path` is a folder itself.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "model.safetensors")
    >>> write_model(file, {"class": "Mean", "params": {"alpha": 0.5}}, {"mean": np.array([3.5, 2.0])})
    >>> header, arrays = read_model(file)
    >>> header["class"], header["params"], arrays["mean"]
    ('Mean', {'alpha': 0.5}, array([3.5, 2. ]))
    >>> folder.cleanup()
    """
    placed = _placed(header, os.path.dirname(os.path.abspath(path)))
    full = {str(key): value for key, value in _plain(placed, "header").items() if key not in ("crc32", "same")}
    full |= {"format": FORMAT, "version": version()}
    tidy = {_checked_name(name): _tidy(array, name) for name, array in arrays.items()}
    if same := _repetitions(tidy):
        full["same"] = same
        tidy = {name: array for name, array in tidy.items() if name not in same}
    full["crc32"] = _checksum(full, tidy)
    text = json.dumps(full, allow_nan=False)
    if len(text) > MAX_HEADER:
        raise InvalidInputError(f"the header takes {len(text):,} bytes, more than the {MAX_HEADER:,} a reader accepts")
    data = safetensors.save(tidy, metadata={ENTRY: text})
    with replacing(path) as stream:
        stream.write(data)


def read_model(path: PathLike, data: memoryview | None = None) -> tuple[dict[str, Any], Arrays]:
    """Read a file written by `write_model`.

    Parameters
    ----------
    path : path-like
        File to read.
    data : memoryview, optional
        All that is in it, if it was read already.

    Returns
    -------
    header : dict
        The header, with ``format`` and ``version`` as they stand in the file.
    arrays : dict of str to ndarray
        The arrays, sorted by name, writeable, and independent of the file.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file, or `path` is a folder.
    ModelFileError
        If it is a pipe or a device, is cut short or damaged, is not a model file, or was written by a newer version
        in a layout which this one does not know.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "model.safetensors")
    >>> write_model(file, {}, {"U": np.eye(2, dtype=np.float32)})
    >>> read_model(file)[1]
    {'U': array([[1., 0.],
           [0., 1.]], dtype=float32)}
    >>> folder.cleanup()
    """
    name = name_of(path)
    if data is None:
        with opened(name) as stream:
            data = read(stream, name, lambda size: np.empty(size, dtype=np.uint8))  # not filled with zeros
    header, described, held = read_contents(name, data)
    found = arrays_within(np.frombuffer(held, dtype=np.uint8), described)
    arrays = {key: found[key] for key in sorted(found)}
    same = header.pop("same", {})
    if not isinstance(same, dict) or not all(
        isinstance(first, str) and first in found and other not in found for other, first in same.items()
    ):
        refuse(name, "its cofactor header is damaged: 'same' names arrays that are not there, or stand there too")
    copied = sum(arrays[first].nbytes for first in same.values())
    if copied > UNPACKED.most(len(data)):
        refuse(
            name, f"its equal arrays take {copied:,} bytes; if that is right, set {UNPACKED.variable} to this number"
        )
    arrays |= {other: arrays[first].copy() for other, first in same.items()}
    try:
        header = _found(header, os.path.dirname(os.path.abspath(name)))
    except RecursionError as error:
        refuse(name, f"its cofactor header is nested too deeply ({error})")
    return header, {key: arrays[key] for key in sorted(arrays)}


def save(path: PathLike, model: Any, adapters: Mapping[type[Any], Adapter] | None = None) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    path : path-like
        File to write; see `write_model`.
    model : object
        Its method ``_to_state()`` returns the header and the arrays. The name of its class is added as
        member ``class`` of the header.
    adapters : mapping of type to Adapter, optional
        Give the state of objects without that method, by their exact class.

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
        As `write_model`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> class Mean:
    ...     def __init__(self, mean):
    ...         self.mean = mean
    ...
    ...     def _to_state(self):
    ...         return {}, {"mean": self.mean}
    ...
    ...     @classmethod
    ...     def _from_state(cls, header, arrays, models):
    ...         return cls(arrays["mean"])
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "model.safetensors")
    >>> save(file, Mean(np.array([3.5, 2.0])))
    >>> load(file, {"Mean": Mean}).mean
    array([3.5, 2. ])
    >>> folder.cleanup()
    """
    header, arrays = state_of(model, adapters)
    about = {"summary": model._summary()} if hasattr(model, "_summary") else {}
    write_model(path, {**header, **about, "class": type(model).__name__}, arrays)


def load(path: PathLike, registry: Mapping[str, Any]) -> Any:
    """Read a model from a file written by `save`.

    Parameters
    ----------
    path : path-like
        File to read.
    registry : mapping of str to type or Adapter
        What may be built, by name: the model itself, and those inside it. The class method
        ``_from_state(header, arrays, registry)`` builds one.

    Returns
    -------
    object
        An instance of the class which the file names.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelFileError
        If the file cannot be read (see `read_model`), names a class which is not in `registry`, or lacks what
        the class needs.

    Examples
    --------
    See `save`.
    """
    return model_of(path, *read_model(path), registry)


def model_of(path: PathLike, header: dict[str, Any], arrays: Arrays, registry: Mapping[str, Any]) -> Any:
    """Return the model that a file holds, which `read_model` has read; see `load`."""
    name, kind = name_of(path), header.get("class")
    if not isinstance(kind, str) or kind not in registry:
        refuse(name, _unknown_class(kind, registry))
    try:
        return built(kind, header, arrays, registry)
    except _MISFITS as error:
        if isinstance(error, InvalidInputError) and error.place is not None:
            raise  # of another file, which the model needs
        reason = f"no entry {error}" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(f"{name}: does not hold a whole model of class {kind} ({reason})") from error


def _placed(value: Any, folder: str) -> Any:
    """Return a header with its paths as they lead there from a folder, and as they are."""
    if isinstance(value, Path):
        whole = os.path.abspath(value)
        try:
            return {_FROM_HERE: os.path.relpath(whole, folder), _WHOLE: whole}
        except ValueError:  # on another drive
            return {_FROM_HERE: whole, _WHOLE: whole}
    if isinstance(value, Mapping):
        return {key: _placed(part, folder) for key, part in value.items()}
    return [_placed(part, folder) for part in value] if isinstance(value, list | tuple) else value


def _found(value: Any, folder: str) -> Any:
    """Return a header with the paths that `_placed` was given, or to where these are now."""
    if (
        isinstance(value, dict)
        and set(value) == {_FROM_HERE, _WHOLE}
        and all(isinstance(v, str) for v in value.values())
    ):
        here, whole = Path(os.path.normpath(os.path.join(folder, value[_FROM_HERE]))), Path(value[_WHOLE])
        return here if here.exists() or not whole.exists() else whole
    if isinstance(value, dict):
        return {key: _found(part, folder) for key, part in value.items()}
    return [_found(part, folder) for part in value] if isinstance(value, list) else value


def _plain(value: Any, where: str) -> Any:
    """Return a header value as plain Python, or name the part which has no JSON form."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise InvalidInputError(f"{where} is {value}, which JSON cannot hold: put it among the arrays")
        return float(value)
    if isinstance(value, Mapping):
        wrong = [key for key in value if not isinstance(key, str)]
        if wrong:
            raise InvalidTypeError(f"{where} has the key {wrong[0]!r}: keys of a header must be strings")
        return {str(key): _plain(part, f"{where}[{key!r}]") for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, f"{where}[{index}]") for index, part in enumerate(value)]
    advice = "put it among the arrays" if isinstance(value, np.ndarray) else "keep a plain description of it"
    raise InvalidTypeError(f"{where} is a {type(value).__name__}, which JSON cannot hold: {advice}")


def _checked_name(name: str) -> str:
    if not isinstance(name, str):
        raise InvalidTypeError(f"the array name {name!r} is a {type(name).__name__}, expected str")
    if name == "__metadata__":
        raise InvalidInputError("an array cannot be called '__metadata__': safetensors keeps its header there")
    return name


def _tidy(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a contiguous little-endian array: the given one if it is so already."""
    if not isinstance(array, np.ndarray):
        raise InvalidTypeError(f"arrays[{name!r}] is a {type(array).__name__}, expected a NumPy array")
    if array.dtype.name not in _DTYPES:
        raise InvalidTypeError(
            f"arrays[{name!r}] has dtype {array.dtype}, which a model file cannot hold: "
            f"convert it to one of {', '.join(sorted(_DTYPES))}"
        )
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _repetitions(arrays: Arrays) -> dict[str, str]:
    """Return for each array that equals one with an earlier name this name; small arrays are left out."""
    first: dict[tuple[str, tuple[int, ...], int], list[str]] = {}
    same = {}
    for name in sorted(arrays):
        array = arrays[name]
        if array.nbytes < _MIN_SHARED:
            continue
        alike = first.setdefault((array.dtype.name, array.shape, zlib.crc32(array.reshape(-1).view(np.uint8).data)), [])
        for other in alike:
            if array.tobytes() == arrays[other].tobytes():  # to the bit, NaN included
                same[name] = other
                break
        else:
            alike.append(name)
    return same


def _checksum(header: dict[str, Any], arrays: Arrays) -> int:
    """Return the CRC-32 of the contents, which finds any single damaged byte."""
    return checksum(
        header,
        {name: (a.dtype.name, a.shape, a.reshape(-1).view(np.uint8).data) for name, a in arrays.items()},
    )


def arrays_within(data: NDArray[np.uint8], described: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays that lie in bytes, one after the other.

    The package of the format copies each of them, and a file of 430 MB took a third of a second more and twice the
    memory.

    Parameters
    ----------
    data : ndarray of shape (n,), uint8
        What follows the header of the file. The arrays are views of it.
    described : mapping from str to mapping
        Type, shape, and first byte and end of each array, as in the header.

    Raises
    ------
    InvalidInputError
        If the description is not one, or does not say of each byte, once, to which array it belongs.

    Examples
    --------
    >>> data = np.array([1.0, 2.0], dtype="<f4").view(np.uint8)
    >>> arrays_within(data, {"mean": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}})
    {'mean': array([[1.],
           [2.]], dtype=float32)}
    """
    found = places(described, len(data))
    return {name: _aligned(data[one.first : one.end].view(one.code).reshape(one.shape)) for name, one in found.items()}


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.flags.aligned else array.copy()
