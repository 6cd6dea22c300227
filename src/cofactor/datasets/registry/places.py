"""Where the files of the known data sets are, and whether they are right; see `cofactor.datasets.registry`."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload

from cofactor.datasets.registry.download import DownloadError, Progress, download_archive
from cofactor.datasets.registry.entries import KnownDataset, Role, Task
from cofactor.datasets.registry.known_labels import LABEL_SETS
from cofactor.datasets.registry.known_ratings import RATING_SETS
from cofactor.errors import InvalidInputError
from cofactor.files import PathLike, cache_dir, read_bytes
from cofactor.text import did_you_mean

__all__ = [
    "DATA_VARIABLE",
    "KNOWN",
    "DatasetNotFoundError",
    "DatasetStatus",
    "FileCheck",
    "Verification",
    "available",
    "cache_dir",
    "data_variable_fault",
    "fetch",
    "find_file",
    "locate",
    "verify",
]

DATA_VARIABLE = "COFACTOR_DATA"
KNOWN: dict[str, KnownDataset] = {entry.name: entry for entry in (*RATING_SETS, *LABEL_SETS)}


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


def fetch(name: str, *, progress: Progress | None = None) -> Path:
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
    if entry.url is None or entry.archive_sha256 is None:
        raise DatasetNotFoundError(_not_found(entry, None), _INVENTED[entry.task])
    target = cache_dir() / entry.folder
    last = tuple(n for f in entry.files if f.role == "ratings" for n in f.names)
    try:
        download_archive(entry.url, entry.archive_sha256, entry.member_folder, target, last, progress)
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
    expected = known.sha256.get(plain)
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
