"""Bytes in, bytes out: gzip, standard streams, encodings, and writes which succeed whole or not at all."""

import codecs
import gzip
import itertools
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from cofactor.errors import InvalidInputError

_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_MAGIC = b"PK\x03\x04"
_counter = itertools.count()

PathLike = str | os.PathLike[str]


def display_name(path: PathLike) -> str:
    """Name of a file as it appears in messages."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


def read_bytes(path: PathLike) -> bytes:
    """Read a whole file, or standard input for ``-``, and unpack it if it is gzip-compressed."""
    name = display_name(path)
    if os.fspath(path) == "-":
        data = sys.stdin.buffer.read()
    else:
        if not os.path.exists(path):
            raise FileNotFoundError(f"{name}: no such file")
        if os.path.isdir(path):
            raise IsADirectoryError(f"{name}: is a folder, expected a file")
        data = Path(path).read_bytes()
    # The magic number decides, not the suffix: streams have none, and suffixes lie.
    return _gunzip(data, name) if data.startswith(_GZIP_MAGIC) else data


def _gunzip(data: bytes, name: str) -> bytes:
    try:
        return gzip.decompress(data)
    except EOFError:
        raise InvalidInputError(
            f"{name}: the gzip file is cut short ({len(data)} bytes, no end mark); copy or download it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInputError(f"{name}: the gzip file is damaged ({error}); copy or download it again") from None


def to_utf8(data: bytes, name: str, encoding: str = "utf-8") -> bytes:
    """Return text as UTF-8 bytes without byte-order mark, with line feeds as the only line ends."""
    if data.startswith(_ZIP_MAGIC):
        raise InvalidInputError(
            f"{name}: is a zip archive or a spreadsheet, expected text; unpack it, or export it as CSV"
        )
    is_utf8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    if is_utf8:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InvalidInputError(f"{name}: starts with a UTF-16 mark, expected UTF-8; give encoding='utf-16'")
        data = data.removeprefix(codecs.BOM_UTF8)
    if not (is_utf8 and data.isascii()):
        data = _decode(data, name, encoding).encode()
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def _decode(data: bytes, name: str, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except LookupError:
        raise InvalidInputError(f"encoding={encoding!r} is not known; try 'utf-8', 'latin-1' or 'cp1252'") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise InvalidInputError(
            f"{name}, line {line}, byte {column}: 0x{data[error.start]:02x} is not valid {encoding}; "
            "give the right one with encoding=, for example encoding='latin-1'"
        ) from None


@contextmanager
def replacing(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a binary file which takes its final name only when the block ends without an error.

    Pipes and devices are written to directly, since a new file in their place would destroy them. Errors while writing,
    such as a full disk, name the file.
    """
    try:
        with _replacing(path) as stream:
            yield stream
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


@contextmanager
def _replacing(path: PathLike) -> Iterator[IO[bytes]]:
    target = Path(path).resolve()
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)}: is a folder, expected the name of a file to write")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{os.fspath(path)}: the folder {target.parent} does not exist; make it first")
    if target.exists() and not target.is_file():
        with target.open("wb") as device:
            yield device
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{next(_counter)}.part")
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        os.replace(temporary, target)
    except OSError as error:
        if error.filename == os.fspath(temporary):  # a name which means nothing to the user
            error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        temporary.unlink(missing_ok=True)
