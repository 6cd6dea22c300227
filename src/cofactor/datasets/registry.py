"""The known data sets: where they are, how they are downloaded, whether their files are the right ones.

Each set is looked for in

1. ``$COFACTOR_DATA/<folder>``, then ``$COFACTOR_DATA/<last part of the folder>``,
2. ``<cache>/<folder>``, where the cache is the one of the operating system (`cache_dir`),

with folders such as ``movielens/ml-100k``. Files may be plain or gzip-compressed. `fetch` downloads a set which is in
neither place into the cache, if it can be downloaded. What is known of each set stands in ``known.toml``.
"""

import hashlib
import os
import shutil
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol, get_args, overload

from cofactor.errors import InvalidInputError
from cofactor.files import PathLike, cache_dir, read_bytes
from cofactor.text import did_you_mean

DATA_VARIABLE = "COFACTOR_DATA"
# Seconds to connect, and between two parts of the answer: a server which does not answer must not look like a long
# download.
TIMEOUT = (4.0, 8.0)

Role = Literal["ratings", "titles", "data", "test", "labels", "offsets"]
Task = Literal["ratings", "labels"]


@dataclass(frozen=True)
class KnownFile:
    """One file of a data set, in the forms in which it circulates (each also with ``.gz`` appended).

    `sha256` has the checksum of the *unpacked* content by file name; a form without a checksum cannot be verified.
    """

    role: Role
    sha256: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the forms, the usual one first."""
        return tuple(self.sha256)

    @property
    def required(self) -> bool:
        """Whether the set is of no use without it."""
        return self.role != "titles"


@dataclass(frozen=True)
class KnownDataset:
    """A data set of the registry, as ``known.toml`` has it, which also says what its keys mean.

    `url` and `archive_sha256` belong to the zip archive that is downloaded. A set is there if the first of its files
    is. `rows`, `train` and `drop` are of sets of labels.
    """

    name: str
    folder: str
    description: str
    terms: str
    origin: str
    files: tuple[KnownFile, ...]
    url: str | None = None
    archive_sha256: str | None = None
    rows: int = 0
    train: tuple[int, int] | None = None
    drop: tuple[str, ...] = ()

    @property
    def task(self) -> Task:
        """What the set holds."""
        return "labels" if self.rows else "ratings"


def _known() -> dict[str, KnownDataset]:
    with (files("cofactor.datasets") / "known.toml").open("rb") as stream:
        found = tomllib.load(stream)
    known = {}
    for name, entry in found["sets"].items():
        of_role = entry.pop("files")
        entry |= {key: found[key].get(entry[key], entry[key]) for key in ("origin", "terms")}
        archive = entry.pop("archive", None)
        known[name] = KnownDataset(
            name,
            files=tuple(KnownFile(role, of_role[role]) for role in get_args(Role) if role in of_role),
            url=entry["origin"] if archive else None,
            archive_sha256=archive,
            train=tuple(entry.pop("train", ())) or None,
            drop=tuple(entry.pop("drop", ())),
            **entry,
        )
    return known


KNOWN = _known()


class DownloadBar(Protocol):
    """A progress bar of a download, in the form which pooch needs."""

    total: int

    def update(self, n: int, /) -> Any:
        """Report n more bytes."""

    def reset(self) -> Any:
        """Start again."""

    def close(self) -> Any:
        """Finish."""


class DownloadError(OSError):
    """A download failed; the message holds the address and the reason."""


class DatasetNotFoundError(FileNotFoundError):
    """A data set is in none of its places; the message says which files to put into which folder.

    Attributes
    ----------
    missing : str
        That alone, without what there is instead of it.
    """

    def __init__(self, missing: str = "", instead: str = "") -> None:
        super().__init__("; ".join(filter(None, (missing, instead))))
        self.missing = missing


@dataclass(frozen=True)
class DatasetStatus:
    """One line of the list of known data sets; `path` is the folder where it was found.

    Examples
    --------
    >>> from cofactor.datasets import available
    >>> [status.task for status in available() if status.name in ("ml-100k", "emotions")]
    ['ratings', 'labels']
    """

    name: str
    description: str
    path: Path | None
    downloadable: bool
    terms: str
    task: Task


@dataclass(frozen=True)
class FileCheck:
    """Result of checking one file of a data set.

    `status` is "ok", "different" (it has another checksum), "missing", "unreadable" (`detail` says why), or
    "unknown" (a form of the file for which no checksum is known).

    Examples
    --------
    >>> from cofactor.datasets import FileCheck
    >>> FileCheck("u.data", None, "missing", required=True).status
    'missing'
    """

    name: str
    path: Path | None
    status: Literal["ok", "different", "missing", "unreadable", "unknown"]
    required: bool
    expected: str | None = None
    found: str | None = None
    detail: str = ""


@dataclass(frozen=True)
class Verification:
    """Result of `verify`.

    Examples
    --------
    >>> from cofactor.datasets import FileCheck, Verification
    >>> found = FileCheck("u.data", Path("u.data"), "ok", required=True)
    >>> Verification("ml-100k", Path("."), (found, FileCheck("u.item", None, "missing", required=False))).ok
    True
    """

    name: str
    folder: Path
    files: tuple[FileCheck, ...]

    @property
    def ok(self) -> bool:
        """Whether every file has the right checksum, except files which may be missing and are."""
        return all(f.status == "ok" or (f.status == "missing" and not f.required) for f in self.files)


def data_variable_fault() -> str:
    """Say what is wrong with $COFACTOR_DATA: it names a folder that is not there.

    Returns
    -------
    str
        Empty where nothing is wrong, or the variable is not set.

    Examples
    --------
    >>> from cofactor.datasets.registry import data_variable_fault
    >>> data_variable_fault()
    ''
    """
    root = os.environ.get(DATA_VARIABLE)
    return f"{DATA_VARIABLE} is {root}, which is no folder" if root and not Path(root).is_dir() else ""


def available(task: Task | None = None) -> list[DatasetStatus]:
    """List the known data sets and where they are; downloads nothing.

    Parameters
    ----------
    task : {"ratings", "labels"}, optional
        Only the sets of this kind.

    Returns
    -------
    list of DatasetStatus

    Examples
    --------
    >>> from cofactor.datasets import available
    >>> [status.name for status in available("ratings")]
    ['ml-100k', 'ml-1m', 'ml-latest-small', 'jester-1']
    >>> [status.name for status in available("labels")][:4]
    ['emotions', 'scene', 'yeast', 'flags']
    """
    return [
        DatasetStatus(e.name, e.description, _first_folder(e, None), e.url is not None, e.terms, e.task)
        for e in KNOWN.values()
        if task in (None, e.task)
    ]


def locate(name: str, data_home: PathLike | None = None) -> Path:
    """Find the folder which holds the files of a data set; downloads nothing.

    Parameters
    ----------
    name : str
        Name in the registry, such as ``"ml-100k"``.
    data_home : str or path-like, optional
        Folder to look in instead of $COFACTOR_DATA and the cache: laid out like $COFACTOR_DATA, or the
        folder with the files itself.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        If the name is unknown.
    DatasetNotFoundError
        If its main file is in none of the places; the message says which files to put into which folder.

    Examples
    --------
    >>> from cofactor.datasets import locate
    >>> locate("ml-100k").name
    'ml-100k'
    """
    entry = _entry(name)
    folder = _first_folder(entry, data_home)
    if folder is None:
        raise DatasetNotFoundError(_not_found(entry, data_home), _INVENTED[entry.task])
    return folder


def fetch(name: str, *, progress: DownloadBar | None = None) -> Path:
    """Find a data set, and download it into the cache if it is in none of its places.

    The archive is checked against its known sha256 before anything is unpacked; files appear in the cache
    completely or not at all.

    Parameters
    ----------
    name : str
        Name in the registry.
    progress : object, optional
        Progress bar with attribute ``total`` and methods ``update(n)``, ``reset()`` and ``close()``.

    Returns
    -------
    Path
        Folder with the files.

    Raises
    ------
    ValueError
        If the name is unknown.
    DatasetNotFoundError
        If it is not there and could not be downloaded; the message gives the reason, and says which files to
        put into which folder.

    Examples
    --------
    >>> from cofactor.datasets import fetch
    >>> fetch("ml-100k").name
    'ml-100k'
    """
    entry = _entry(name)
    folder = _first_folder(entry, None)
    if folder is not None:
        return folder
    if entry.url is None:
        raise DatasetNotFoundError(_not_found(entry, None), _INVENTED[entry.task])
    try:
        _download(entry, entry.url, progress)
    except DownloadError as error:
        reason = f"and the download failed ({error})"
        raise DatasetNotFoundError(_not_found(entry, None, reason), _INVENTED[entry.task]) from None
    return locate(name)


@overload
def find_file(name: str, role: Role, folder: PathLike | None = None, *, required: Literal[True] = True) -> Path: ...
@overload
def find_file(name: str, role: Role, folder: PathLike | None = None, *, required: bool) -> Path | None: ...
def find_file(name: str, role: Role, folder: PathLike | None = None, *, required: bool = True) -> Path | None:
    """Path of one file of a data set.

    Parameters
    ----------
    name : str
        Name in the registry.
    role : {"ratings", "titles", "data", "test", "labels", "offsets"}
        Which file; sets of ratings have the first two, sets of labels some of the others.
    folder : str or path-like, optional
        Folder of the data set; by default where `locate` finds it.
    required : bool, default True
        Whether a missing file is an error; otherwise the result is then None.

    Returns
    -------
    Path or None

    Raises
    ------
    DatasetNotFoundError
        If the file is missing and required.

    Examples
    --------
    >>> from cofactor.datasets import find_file
    >>> find_file("ml-100k", "titles").name
    'u.item'
    """
    entry = _entry(name)
    place = Path(folder) if folder is not None else locate(name)
    path = _find(entry, role, place)
    if path is None and required:
        names = _alternatives(entry, role)
        raise DatasetNotFoundError(f"data set {name!r}: no {role} in {place}; put {names} there")
    return path


def verify(name: str, data_home: PathLike | None = None) -> Verification:
    """Compare the files of a data set with the known checksums of their unpacked content.

    Parameters
    ----------
    name : str
        Name in the registry.
    data_home : str or path-like, optional
        As in `locate`.

    Returns
    -------
    Verification
        With one `FileCheck` for each file that the loaders read, and ``ok``.

    Raises
    ------
    ValueError
        If the name is unknown.
    DatasetNotFoundError
        If the data set is not there.

    Examples
    --------
    >>> from cofactor.datasets import verify
    >>> verify("ml-100k").ok
    True
    """
    entry = _entry(name)
    folder = locate(name, data_home)
    return Verification(name, folder, tuple(_check_file(entry, f.role, folder) for f in entry.files))


def _check_file(entry: KnownDataset, role: Role, folder: Path) -> FileCheck:
    known = next(f for f in entry.files if f.role == role)
    path = _find(entry, role, folder)
    if path is None:
        return FileCheck(known.names[0], None, "missing", known.required)
    plain = path.name.removesuffix(".gz")
    expected = known.sha256.get(plain) or None
    try:
        found = hashlib.sha256(read_bytes(path)).hexdigest()
    except (OSError, ValueError) as error:
        return FileCheck(path.name, path, "unreadable", known.required, expected, detail=str(error))
    if expected is None:
        return FileCheck(path.name, path, "unknown", known.required, None, found)
    status: Literal["ok", "different"] = "ok" if found == expected else "different"
    return FileCheck(path.name, path, status, known.required, expected, found)


def _entry(name: str) -> KnownDataset:
    if name not in KNOWN:
        raise InvalidInputError(f"data set {name!r} is not known", advice=did_you_mean(name, KNOWN))
    return KNOWN[name]


def _find(entry: KnownDataset, role: Role, folder: Path) -> Path | None:
    for known in entry.files:
        if known.role == role:
            for file_name in known.names:
                for path in (os.path.join(folder, file_name), os.path.join(folder, f"{file_name}.gz")):
                    if os.path.isfile(path):  # cells of experiments ask thousands of times
                        return Path(path)
    return None


def _folders(entry: KnownDataset, data_home: PathLike | None) -> Iterator[Path]:
    """Places of a data set, best first."""
    last = os.path.basename(entry.folder)
    if data_home is not None:
        home = Path(data_home)
        yield from (home / entry.folder, home / last, home)
        return
    if root := os.environ.get(DATA_VARIABLE):
        yield Path(root, entry.folder)
        yield Path(root, last)
    yield cache_dir() / entry.folder


def _first_folder(entry: KnownDataset, data_home: PathLike | None) -> Path | None:
    return next((f for f in _folders(entry, data_home) if _find(entry, entry.files[0].role, f) is not None), None)


def _alternatives(entry: KnownDataset, role: Role) -> str:
    names = next(f.names for f in entry.files if f.role == role)
    return " or ".join(names) + " (plain or .gz)"


#: What there is instead of a data set, on any machine.
_INVENTED: Mapping[str, str] = {
    "ratings": "without it, cofactor demo writes invented ratings to demo-report/movies.csv, and make_movies() makes "
    "them in Python",
    "labels": "without it, cofactor demo labels writes invented texts with tags to demo-labels-report/articles.csv, "
    "and make_labels() and make_articles() make data in Python",
}


def _not_found(entry: KnownDataset, data_home: PathLike | None, reason: str = "") -> str:
    """Message for a missing data set: which files, from where, into which folder."""
    files = " and ".join(f.names[0] for f in entry.files)
    if data_home is not None:
        places = f"{Path(data_home) / entry.folder} or {Path(data_home)}"
    else:
        root = os.environ.get(DATA_VARIABLE)
        if not root:
            where = f"${DATA_VARIABLE}/{entry.folder} ({DATA_VARIABLE} is not set)"
        else:
            where = f"{Path(root) / entry.folder} ({data_variable_fault() or f'{DATA_VARIABLE} is {root}'})"
        places = f"{where} or {cache_dir() / entry.folder}"
    middle = f", {reason}" if reason else ""
    what = f"{files} (plain or .gz) from {entry.origin}"
    return f"data set {entry.name!r} was not found{middle}: put {what} into {places}"


# ------------------------------------------------------------------------------------------------ downloads


def _download(entry: KnownDataset, url: str, progress: DownloadBar | None) -> None:
    """Download the archive of a data set into the cache; a failure leaves no files."""
    target = cache_dir() / entry.folder
    missing = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(f"the folder {target.parent} cannot be made ({error.strerror})") from None
    try:
        with tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as temporary:
            archive, unpacked = Path(temporary, "archive.zip"), Path(temporary, "unpacked")
            _retrieve(url, archive, entry.archive_sha256, progress)
            _unpack(archive, unpacked, entry.name, url)
            target.mkdir(exist_ok=True)
            # The ratings last: if they are there, the others are there too.
            last = {name for file in entry.files if file.role == "ratings" for name in file.names}
            for path in sorted(unpacked.iterdir(), key=lambda path: (path.name in last, path.name)):
                os.replace(path, target / path.name)
    except BaseException:
        for folder in missing:
            if not any(folder.iterdir()):
                folder.rmdir()
        raise


def _retrieve(url: str, path: Path, sha256: str | None, progress: DownloadBar | None) -> None:
    import pooch
    import requests

    try:
        pooch.HTTPDownloader(timeout=TIMEOUT, progressbar=progress or False, chunk_size=1 << 16)(url, str(path), None)
    except requests.exceptions.RequestException as error:
        raise DownloadError(f"{url}: {_reason(error)}") from None
    found = pooch.file_hash(str(path), alg="sha256")
    if found != sha256:
        size = path.stat().st_size
        raise DownloadError(
            f"{url}: the archive has sha256 {found} ({size} bytes), expected {sha256}; "
            "it was changed at the source or on the way, and nothing of it was kept"
        )


def _reason(error: Exception) -> str:
    """Reason of a network error in a few words."""
    import requests

    if isinstance(error, requests.exceptions.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.exceptions.Timeout):
        return f"no answer within {max(TIMEOUT):g} seconds"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke before the archive was complete"
    if isinstance(error, requests.exceptions.ConnectionError):
        return "no connection to the server"
    return f"{type(error).__name__}: {error}"


def _unpack(archive: Path, folder: Path, member_folder: str, url: str) -> None:
    try:
        with zipfile.ZipFile(archive) as source:
            for info in source.infolist():
                parts = PurePosixPath(info.filename).parts
                if info.is_dir() or parts[:1] != (member_folder,) or len(parts) != 2 or ".." in parts:
                    continue
                folder.mkdir(exist_ok=True)
                with source.open(info) as packed, (folder / parts[1]).open("xb") as plain:
                    shutil.copyfileobj(packed, plain)
    except zipfile.BadZipFile as error:
        raise DownloadError(f"{url}: not a readable zip archive ({error})") from None
    if not folder.is_dir():
        raise DownloadError(f"{url}: the archive holds no files in a folder {member_folder!r}")
