"""Files as bytes: gzip, standard streams, encodings, and files which are written completely or not at all."""

import codecs
import errno
import gzip
import io
import itertools
import os
import re
import shutil
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.limits import UNPACKED

GZIP_MAGIC = b"\x1f\x8b"
#: The file which says that a folder holds sharded ratings, see `cofactor.ratings.ShardedRatings`.
SHARDS = "manifest.json"
START = 1 << 16  # bytes, by which the format of a file is recognised
_ZIP_MAGIC = b"PK\x03\x04"
_CHUNK = 1 << 20  # bytes unpacked at a time
_counter = itertools.count()

PathLike = str | os.PathLike[str]

_DATABASE = re.compile(r"(sqlite|duckdb|postgres(?:ql)?)://")
#: What is meant to be an address: a scheme, but for the letter of a drive, or words of a connection with a password.
_ADDRESS = re.compile(r"\s*([A-Za-z][\w+.-]+:/|\w+\s*=.*\bpassword\s*=)", re.DOTALL)
_SERVER = re.compile(r"(postgres(?:ql)?://)([^/?]*)(.*)", re.DOTALL)
_HOSTS = re.compile(r"((\[[^]]*\]|[^:\[\]]*)(:\d*)?(,|$))*")
_PASSWORD = re.compile(r"(?<=[?&])(?:ssl)?password=([^&]*)&?")
#: What becomes of a table that exists, in the address of one to write.
IF_EXISTS = re.compile(r"[?&]if_exists=([^&#]*)")
#: Addresses of databases as they were given, by what they are without their passwords.
_given: dict[str, str] = {}


def is_database(path: PathLike) -> bool:
    """Return whether it is the address of a database, such as sqlite:///shop.db, perhaps with a query after #.

    An address of another kind is an error, which does not show it: a password may be in it.
    """
    text = os.fspath(path)
    if _DATABASE.match(text):
        return True
    if _ADDRESS.match(text):
        advice = "an address begins with sqlite:///, duckdb:/// or postgresql://, in lower case"
        raise InvalidInputError("the address is of no known kind", advice=advice)
    return False


def exists(path: PathLike) -> bool:
    """Return whether it is a file or a folder that exists, standard input, or the address of a database."""
    return os.fspath(path) == "-" or is_database(path) or os.path.exists(path)


def without_password(address: str) -> str:
    """Return the address of a database without its password, which `with_password` knows; any other text as it is.

    Examples
    --------
    >>> without_password("postgresql://ann:secret@host/shop?sslmode=require#ratings"), without_password("a.csv")
    ('postgresql://ann@host/shop?sslmode=require#ratings', 'a.csv')
    """
    base, hash_, rest = address.partition("#")
    match = _SERVER.fullmatch(base)
    if match is None:
        return address
    scheme, authority, path = match.groups()
    who, at, hosts = authority.rpartition("@")
    user, _, password = who.partition(":")
    if not _HOSTS.fullmatch(hosts) or "@" in who + path.partition("?")[0] or re.search("%(?![0-9A-Fa-f]{2})", password):
        escapes = "write special characters of a password as %40 for @, %23 for #, %2F for /, %25 for %"
        raise InvalidInputError(
            "the address of the database cannot be read",
            advice=f"{escapes}; or leave it out, and set PGPASSWORD or write it to ~/.pgpass",
        )
    public = scheme + user + at + hosts + _PASSWORD.sub("", path).rstrip("?&")
    if public != base:
        _given[public] = base
    return public + hash_ + rest


def with_password(address: str) -> str:
    """Return an address without fragment as it was given to `without_password`."""
    return _given.get(address, address)


def cache_dir() -> Path:
    """Folder of what is kept to be quick the next time: data sets that were downloaded, and compiled kernels.

    Returns
    -------
    Path
        ``COFACTOR_CACHE``, else the folder which the operating system has for caches: on Linux
        ``$XDG_CACHE_HOME/cofactor`` or ``~/.cache/cofactor``. It need not exist.

    Examples
    --------
    >>> from cofactor.datasets import cache_dir
    >>> cache_dir().is_absolute()
    True
    """
    import platformdirs

    given = os.environ.get("COFACTOR_CACHE")
    return Path(given).absolute() if given else Path(platformdirs.user_cache_dir("cofactor"))


def display_name(path: PathLike) -> str:
    """Name of a file as it appears in messages; of a database its address without password and query."""
    text = os.fspath(path)
    if is_database(text):
        base, _, rest = IF_EXISTS.sub("", without_password(text)).partition("#")
        return base if not rest or re.search(r"\s", rest) else f"{base}#{rest}"
    return "standard input" if text == "-" else text


def data_name(path: PathLike) -> str:
    """Name of the data in a file: that of the file without its folder, "stdin" for standard input."""
    return "stdin" if os.fspath(path) == "-" else Path(display_name(path)).name


def read_bytes(path: PathLike) -> bytes:
    """Read a whole file, or standard input for ``-``, and unpack it if it is gzip-compressed."""
    name = display_name(path)
    if os.fspath(path) == "-":
        data = sys.stdin.buffer.read()
    else:
        _check_file(path)
        data = Path(path).read_bytes()
    # The first bytes decide, not the suffix: standard input has none, and a file may have a wrong one.
    if not data.startswith(GZIP_MAGIC):
        return data
    whole = io.BytesIO()
    with _unpacking(io.BytesIO(data), len(data), name) as stream:
        shutil.copyfileobj(stream, whole, _CHUNK)
    return whole.getvalue()


def _check_file(path: PathLike) -> None:
    if not os.path.exists(path):
        raise FileNotFoundError(f"{display_name(path)}: no such file")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{display_name(path)}: is a folder, expected a file")


class _Counted(io.RawIOBase):
    """The unpacked bytes of a gzip file, which are counted: a few kilobytes may unpack to gigabytes."""

    def __init__(self, unpacked: IO[bytes], size: int, name: str) -> None:
        self.unpacked, self.size, self.name = unpacked, size, name
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n: int = self.unpacked.readinto(buffer)  # type: ignore[attr-defined]
        self.count += n
        UNPACKED.check(self.count, "the gzip file is out of all proportion", Place(self.name), size=self.size)
        return n


@contextmanager
def _unpacking(stream: IO[bytes], size: int, name: str) -> Iterator[IO[bytes]]:
    """Unpack a gzip file of `size` bytes, 0 if that is not known."""
    again = "copy or download it again"
    try:
        with gzip.open(stream) as packed, io.BufferedReader(_Counted(packed, size, name), _CHUNK) as unpacked:  # type: ignore[arg-type]
            yield unpacked
    except EOFError:
        found = f"{size} bytes, no end mark" if size else "no end mark"
        raise InvalidInputError(f"the gzip file is cut short ({found})", advice=again, place=Place(name)) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInputError(f"the gzip file is damaged ({error})", advice=again, place=Place(name)) from None


@contextmanager
def opened(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a plain or gzip-compressed file, or standard input for ``-``, for reading in pieces."""
    if os.fspath(path) != "-":
        _check_file(path)
    packed = start_of(path, len(GZIP_MAGIC)) == GZIP_MAGIC
    with nullcontext(sys.stdin.buffer) if os.fspath(path) == "-" else open(path, "rb") as stream:
        if not packed:
            yield stream
            return
        size = 0 if os.fspath(path) == "-" else os.path.getsize(path)
        with _unpacking(stream, size, display_name(path)) as unpacked:
            yield unpacked


def start_of(path: PathLike, size: int = START) -> bytes:
    """Return the first bytes of a file as they are; those of standard input, for ``-``, can still be read afterwards.

    Returns nothing if standard input cannot be looked at without using it up.

    Raises
    ------
    InvalidInputError
        If it is a named pipe, of which the first bytes would be lost.
    """
    if os.fspath(path) != "-":
        if stat.S_ISFIFO(os.stat(path).st_mode):
            raise InvalidInputError(
                "is a pipe, which can be read only once",
                advice="give it as standard input, with - in its place",
                place=Place(os.fspath(path)),
            )
        with open(path, "rb") as file:
            return file.read(size)
    stream: Any = sys.stdin.buffer
    if hasattr(stream, "peek"):
        return bytes(stream.peek(size)[:size])
    if not stream.seekable():
        return b""
    at = stream.tell()
    start: bytes = stream.read(size)
    stream.seek(at)
    return start


def end_of(path: PathLike, size: int) -> bytes:
    """Return the last bytes of a file as they are, at most `size`."""
    with open(path, "rb") as file:
        file.seek(max(os.path.getsize(path) - size, 0))
        return file.read()


def unpacked(start: bytes) -> bytes:
    """Unpack the beginning of a file if it is gzip-compressed, as far as possible; nothing if it is damaged."""
    if not start.startswith(GZIP_MAGIC):
        return start
    try:
        return zlib.decompressobj(wbits=31).decompress(start)
    except zlib.error:
        return b""


def to_utf8(data: bytes, name: str, encoding: str = "utf-8") -> bytes:
    """Return text as UTF-8 bytes without byte-order mark, with line feeds as the only line ends."""
    if data.startswith(_ZIP_MAGIC):
        raise InvalidInputError(
            "is a zip archive or a spreadsheet, expected text",
            advice="unpack it, or export it as CSV",
            place=Place(name),
        )
    if data.startswith(b"SQLite format 3\0") or data[8:12] == b"DUCK":
        raise InvalidInputError(
            "is a database, expected text",
            advice="give its address: sqlite:///shop.db or duckdb:///shop.duckdb, and the name of a table after #",
            place=Place(name),
        )
    plain = is_utf8(encoding)
    if plain:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InvalidInputError(
                "starts with a UTF-16 mark, expected UTF-8",
                advice=("give ", Argument("encoding", "utf-16")),
                place=Place(name),
            )
        data = data.removeprefix(codecs.BOM_UTF8)
    if not (plain and data.isascii()):
        data = _decode(data, name, encoding)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def is_utf8(encoding: str) -> bool:
    """Return whether this is a name of UTF-8."""
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")


def _decode(data: bytes, name: str, encoding: str) -> bytes:
    """Return text in an encoding as UTF-8."""
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise not_decoded(error, encoding, Place(name, line, f"byte {column}")) from None
    except (LookupError, ValueError) as error:
        raise not_decoded(error, encoding, Place(name)) from None


def not_decoded(error: LookupError | ValueError, encoding: str, place: Place) -> InvalidInputError:
    """Return the error for text which is not in an encoding, at a place, or for an encoding that is none."""
    if isinstance(error, LookupError):
        advice = "try 'utf-8', 'latin-1' or 'cp1252'"
        return InvalidInputError("not known", argument="encoding", found=encoding, advice=advice)
    if isinstance(error, UnicodeDecodeError):
        latin = Argument("encoding", "latin-1")
        return InvalidInputError(
            f"0x{error.object[error.start]:02x} is not valid {encoding}",
            advice=("give the right one with ", Argument("encoding"), ", for example ", latin),
            place=place,
        )
    # Of a few odd encodings, one of which can write halves of characters.
    return InvalidInputError(f"does not fit ({error})", argument="encoding", found=encoding, place=place)


@contextmanager
def replacing(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a binary file for writing, which takes its final name only when the block ends without an error.

    Pipes and devices are written to directly, since a new file in their place would destroy them. Errors while writing,
    such as a full disk, name the file.
    """
    with naming_file(path), _replacing(path) as stream:
        yield stream


@contextmanager
def naming_file(path: PathLike) -> Iterator[None]:
    """Within the block, errors of the system which name no file, such as a full disk, name this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


def is_full(error: BaseException) -> bool:
    """Return whether an error says that a disk is full, or the part of it that is ours."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def _replacing(path: PathLike) -> Iterator[IO[bytes]]:
    target = Path(os.path.realpath(path))  # `resolve` raises where links lead around
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


class Lock:
    """A lock on a file, as long as the object lives: shared by readers, or of one process that removes.

    It is not waited for. File systems without locks give none, nor does Windows.

    Parameters
    ----------
    path : path-like
    shared : bool

    Attributes
    ----------
    held : bool
        Whether nobody else has a lock that excludes it; true where there are no locks.
    """

    def __init__(self, path: PathLike, *, shared: bool) -> None:
        self._handle, self.held = -1, True
        try:
            import fcntl
        except ImportError:  # Windows
            return
        try:
            self._handle = os.open(path, (os.O_RDONLY if shared else os.O_RDWR) | os.O_NOFOLLOW | os.O_NONBLOCK)
            fcntl.flock(self._handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except FileNotFoundError:
            pass
        except BlockingIOError:
            self.held = False
        except OSError:  # no locks here; but what cannot be opened is not to be removed
            self.held = shared or self._handle >= 0

    def release(self) -> None:
        """Hold it no more."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    __del__ = release


@contextmanager
def lock_folder(folder: PathLike) -> Iterator[None]:
    """Be the only process that changes a folder, within the block; refuse to begin while another one does.

    A process that is killed lets go of it. Where file systems have no locks, several processes may begin.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # no locks here
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InvalidInputError(
                    "another process is changing this folder",
                    advice="wait until it has ended",
                    place=Place(display_name(folder)),
                ) from None
        yield
    finally:
        os.close(handle)
