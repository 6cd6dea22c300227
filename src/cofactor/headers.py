"""What a model file says of itself, read and checked without NumPy: its header, and where its arrays lie."""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple, NoReturn

from cofactor.errors import InvalidInputError, InvalidTypeError

FORMAT = 2
"""Number of the layout which this version writes, and the only one which it reads."""

ENTRY = "cofactor"  # in the metadata of a safetensors file
MAX_HEADER = 100_000_000  # safetensors itself refuses to read longer headers

#: Names that safetensors gives to types which NumPy has: code and name of each in NumPy.
_TYPES = {"BOOL": ("?", "bool"), "C64": ("<c8", "complex64")} | {
    f"{short}{8 * size}": (f"<{kind}{size}", f"{name}{8 * size}")
    for short, kind, name, sizes in (
        ("I", "i", "int", (1, 2, 4, 8)),
        ("U", "u", "uint", (1, 2, 4, 8)),
        ("F", "f", "float", (2, 4, 8)),
    )
    for size in sizes
}


class ModelFileError(InvalidInputError):
    """A file is not a whole model file which this version of cofactor can read."""


class ArrayPlace(NamedTuple):
    """Where an array lies, and what it is."""

    first: int  #: its first byte
    end: int
    code: str  #: its type, as NumPy reads it
    dtype: str  #: the name of that
    shape: tuple[int, ...]


class Contents(NamedTuple):
    """A whole model file."""

    header: dict[str, Any]  #: of ours, without the checksum
    described: dict[str, Any]  #: the arrays, as safetensors describes them
    data: memoryview  #: their bytes


def version() -> str:
    """Return the version of the package; to look it up takes longer than to read a small file."""
    from cofactor.version import __version__

    return __version__


def name_of(path: str | os.PathLike[str]) -> str:
    """Return a path as text."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidTypeError("expected the path of a model file", argument="path", found=path)
    return os.fspath(path)


def refuse(name: str, reason: str) -> NoReturn:
    """Refuse a file."""
    raise ModelFileError(f"{name}: {reason}") from None


def opened(path: str) -> BinaryIO:
    """Open a model file; what is no file, such as a pipe, is refused without waiting for who writes into it.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file, or it is a folder.
    ModelFileError
        If it is a pipe or a device.
    """
    try:
        return open_regular(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path}: is a folder, expected a model file") from None
    except OSError as error:
        if error.errno != errno.ESPIPE:
            raise
        refuse(path, f"{error.strerror}, expected a model file")


def open_regular(path: str) -> BinaryIO:
    """Open a file to read; a pipe or a device, which is not waited for, is an `OSError` with the number ``ESPIPE``."""
    stream = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(errno.ESPIPE, "is a pipe or a device", path)
    return stream


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read(stream: BinaryIO, name: str, allocate: Callable[[int], Any] = bytearray) -> memoryview:
    """Return all that is in a model file which is open; what cannot be one is refused before it is read.

    Parameters
    ----------
    stream : file
    name : str
        That of the file.
    allocate : callable, default=bytearray
        Returns a buffer of so many bytes.
    """
    _header_length(stream.read(9), name)  # someone may pass a ratings file of many gigabytes
    stream.seek(0)
    data = memoryview(allocate(os.fstat(stream.fileno()).st_size))
    return data[: stream.readinto(data)]  # type: ignore[attr-defined]


def begins_as_model(path: str | os.PathLike[str]) -> bool:
    """Whether a regular file begins as a model file does; an empty one does too."""
    with open(path, "rb") as stream:
        return _is_start(stream.read(9))


def _is_start(start: bytes | memoryview) -> bool:
    """Whether a file that begins so may be a safetensors file: the length of a JSON header, at least "{}", then it."""
    return start[8:9] in (b"", b"{") and (len(start) < 8 or 2 <= int.from_bytes(start[:8], "little") <= MAX_HEADER)


def _header_length(start: bytes | memoryview, name: str) -> int:
    """Return the length of the JSON header with which a safetensors file begins."""
    if not _is_start(start):
        refuse(name, "is not a model file (no safetensors file): cofactor fit, or save of a fitted model, writes one")
    return int.from_bytes(start[:8], "little")


def read_contents(path: str, data: memoryview | None = None) -> Contents:
    """Return what a model file holds; one that is damaged, or that this version may not read, is refused.

    Parameters
    ----------
    path : str
    data : memoryview, optional
        What `read` returned, if the file is not to be read here.
    """
    if data is None:
        with opened(path) as stream:
            data = read(stream, path)
    if len(data) < 8 + max(1, _header_length(data, path)):
        refuse(path, f"is not a whole model file: it ends after {len(data)} bytes, within its header")
    header, described, start = _parse_header(data, path)
    try:
        found = places(described, len(data) - start)
    except (OverflowError, ValueError) as error:
        refuse(path, f"its arrays cannot be read ({error}): it was cut short or damaged")
    arrays = data[start:]
    parts = {name: (one.dtype, one.shape, arrays[one.first : one.end]) for name, one in found.items()}
    if header.pop("crc32", None) != checksum(header, parts):
        refuse(path, "its checksum does not match: it was damaged after it was written")
    return Contents(header, described, arrays)


def checksum(header: Mapping[str, Any], arrays: Mapping[str, tuple[str, Sequence[int], memoryview]]) -> int:
    """Return the CRC-32 of a header and of arrays, by name: type, shape and bytes of each."""
    crc = zlib.crc32(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        dtype, shape, data = arrays[name]
        crc = zlib.crc32(json.dumps([name, dtype, shape]).encode(), crc)
        crc = zlib.crc32(data, crc)
    return crc


def places(described: Mapping[str, Any], n_bytes: int) -> dict[str, ArrayPlace]:
    """Return where arrays lie among bytes that follow a header.

    Raises
    ------
    InvalidInputError
        If the description is not one, or does not say of each byte, once, to which array it belongs.
    """
    found = {name: _place(name, one) for name, one in described.items()}
    end = 0
    for name, one in sorted(found.items(), key=lambda item: item[1][:2]):
        if one.first != end:
            raise InvalidInputError(f"{name} begins at byte {one.first}, expected {end}")
        end = one.end
    if end != n_bytes:
        raise InvalidInputError(f"there are {n_bytes} bytes of arrays, expected {end}")
    return found


def _place(name: str, described: Any) -> ArrayPlace:
    """Return the first byte, the end, the type and the shape of an array."""
    if not isinstance(described, Mapping) or described.keys() != {"dtype", "shape", "data_offsets"}:
        raise InvalidInputError(f"{name} lacks its type, shape or place")
    kind, shape, place = described["dtype"], described["shape"], described["data_offsets"]
    if not isinstance(kind, str) or kind not in _TYPES:
        raise InvalidInputError(f"{name} is of type {kind!r}, which NumPy does not have")
    for numbers in (shape, place):
        if not isinstance(numbers, list) or not all(type(number) is int and number >= 0 for number in numbers):
            raise InvalidInputError(f"shape and place of {name} must be whole numbers")
    code, dtype = _TYPES[kind]
    size = 1 if code == "?" else int(code[-1])
    if len(place) != 2 or place[1] - place[0] != math.prod(shape) * size:
        raise InvalidInputError(f"{name} does not fit in its place")
    return ArrayPlace(place[0], place[1], code, dtype, tuple(shape))


def _parse_header(data: memoryview, name: str) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Return our part of the safetensors header, what it says of arrays, and where these begin.

    A file that this version may not read is refused.
    """
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    outer = _strict_json(data[8:start].tobytes(), name, "its safetensors header")
    metadata = outer.pop("__metadata__", None)
    text = metadata.get(ENTRY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        refuse(name, "is a safetensors file but not a cofactor model: it has no cofactor header")
    header = _strict_json(text, name, "its cofactor header")
    number = header.get("format")
    if type(number) is not int or number < 1:
        refuse(name, f"its cofactor header is damaged: format={number!r}, expected a number from 1")
    if number != FORMAT:
        refuse(
            name,
            f"was written by cofactor {header.get('version')} in format {number}, but this is cofactor "
            f"{version()}, which reads format {FORMAT}: "
            + ("upgrade cofactor" if number > FORMAT else "fit the model and save it again"),
        )
    return header, outer, start


def _strict_json(text: str | bytes, name: str, what: str) -> dict[str, Any]:
    def refuse_constant(constant: str) -> NoReturn:
        raise InvalidInputError(f"{constant} is no JSON number")

    try:
        value = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        refuse(name, f"{what} is not JSON ({error}): the file is damaged, or is not a cofactor model")
    if not isinstance(value, dict):
        refuse(name, f"{what} is not a JSON object: the file is damaged, or is not a cofactor model")
    return value
